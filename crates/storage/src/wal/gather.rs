//! How long a flush waits for company.
//!
//! A flush costs the machine the same whether it makes one commit durable or twenty, and where the cores are
//! busy it takes them from those who work on the next commits. So when commits come together, the flusher
//! rests after a round: until as many have come as came for the last one, and at most for [`REST_SYNCS`]
//! times as long as a round takes. Now and then it waits for one more than last time; if none comes, it
//! stops asking. It never waits for more than half of those who are writing: there must be enough left to
//! keep the cores busy meanwhile. A commit that comes alone, or after a pause, waits for nobody: nothing is
//! traded against the latency of a single client.

use base::clock::Instant;
use std::time::Duration;

/// The longest rest, in rounds.
const REST_SYNCS: u32 = 20;
/// The longest rest on a disk however slow: what is saved is the round's work, not its waiting.
const REST_MAX: Duration = Duration::from_millis(2);
/// Rounds that take longer are left to the flusher, whoever asks: who flushes can do nothing else meanwhile.
const SLOW: Duration = Duration::from_millis(1);
/// After so many rounds the flusher waits for one commit more.
const PROBE_ROUNDS: u32 = 8;

/// What rounds have shown about how commits come.
#[derive(Default)]
pub(super) struct Gathering {
    /// So many are waited for; 0 and 1: nobody is.
    goal: u64,
    /// Requests that had come when the last round began.
    served: u64,
    rounds: u32,
    /// The mean duration of a round.
    round: Duration,
    /// When the last round ended.
    ended: Option<Instant>,
}

impl Gathering {
    /// For how many requests, counted from the engine's start, to wait and until when, while so many
    /// `writers` have transactions under way; `None` if a round may begin.
    pub fn wanted(&self, writers: u64) -> Option<(u64, Instant)> {
        let rest = (self.round * REST_SYNCS).min(REST_MAX);
        let goal = self.goal.min(writers / 2);
        let ended = self.ended.filter(|_| goal > 1)?;
        Some((self.served + goal, ended.after(rest)))
    }

    /// A round begins, for all of the requests so far.
    pub fn begin(&mut self, requests: u64) {
        let came = requests - self.served;
        self.served = requests;
        self.rounds += 1;
        self.goal = came;
        if came > 1 && self.rounds >= PROBE_ROUNDS {
            self.rounds = 0;
            self.goal += 1;
        }
    }

    /// Whether a round takes so long that nobody should do it who has other work.
    pub fn is_slow(&self) -> bool {
        self.round > SLOW
    }

    /// The round is over.
    pub fn end(&mut self, now: Instant, took: Duration) {
        self.round = (self.round * 7 + took) / 8;
        self.ended = Some(now);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROUND: Duration = Duration::from_micros(50);
    const MANY: u64 = 100;

    fn round(gathering: &mut Gathering, requests: u64) {
        gathering.begin(requests);
        gathering.end(Instant(0), ROUND);
    }

    #[test]
    fn who_comes_alone_waits_for_nobody() {
        let mut gathering = Gathering::default();
        for requests in 1..100 {
            assert!(gathering.wanted(MANY).is_none());
            round(&mut gathering, requests);
        }
    }

    #[test]
    fn as_many_are_awaited_as_came_and_sometimes_one_more() {
        let mut gathering = Gathering::default();
        let mut extra = 0;
        for i in 1..=64 {
            round(&mut gathering, 4 * i);
            let (wanted, _) = gathering.wanted(MANY).expect("four come together");
            extra += wanted - 4 * i - 4;
        }
        assert_eq!(extra, 8);
        // Fewer came before the rest was over: fewer are waited for.
        round(&mut gathering, 4 * 64 + 2);
        assert_eq!(gathering.wanted(MANY).expect("two came").0, 4 * 64 + 4);
        round(&mut gathering, 4 * 64 + 3);
        assert!(gathering.wanted(MANY).is_none());
    }

    #[test]
    fn no_more_are_awaited_than_half_of_those_who_write() {
        let mut gathering = Gathering::default();
        round(&mut gathering, 8);
        assert_eq!(gathering.wanted(12).expect("eight came").0, 8 + 6);
        assert_eq!(gathering.wanted(16).expect("eight came").0, 8 + 8);
        assert!(gathering.wanted(3).is_none());
    }

    #[test]
    fn a_rest_is_some_rounds_long_and_never_longer_than_its_limit() {
        let mut gathering = Gathering::default();
        for i in 1..=200 {
            round(&mut gathering, 2 * i);
        }
        let (_, until) = gathering.wanted(MANY).expect("two come together");
        let rest = until.since(Instant(0));
        assert!(rest > 19 * ROUND && rest <= REST_SYNCS * ROUND, "{rest:?}");
        for i in 201..=400 {
            gathering.begin(2 * i);
            gathering.end(Instant(0), Duration::from_millis(10));
        }
        assert_eq!(gathering.wanted(MANY).expect("two").1, Instant(0).after(REST_MAX));
    }
}
