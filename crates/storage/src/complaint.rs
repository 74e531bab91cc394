//! What the log is told of errors in the background.

use crate::error::Error;
use base::clock::{self, Instant};
use std::sync::Mutex;
use std::time::Duration;

/// Tells of an error that `who` met in the background, where nobody is waiting for an answer, and that it will meet
/// again or get over when it tries anew. A simulated disk gives cause for none but a lack of room. The same is said once in
/// ten seconds.
pub(crate) fn complain(who: &str, error: &Error) {
    let expected = error.is_log_refused() || matches!(error, Error::ShuttingDown);
    assert!(expected || !base::sim::active(), "{who}: {error}");
    let what = format!("{who}: {error}");
    if SAID.lock().expect("no code panics under it").is_new(what.clone(), clock::now()) {
        base::log!("{what}");
    }
}

/// How long the same complaint is not repeated.
const SILENCE: Duration = Duration::from_secs(10);

static SAID: Mutex<Said> = Mutex::new(Said(Vec::new()));

/// What was complained of a short time ago, and when.
struct Said(Vec<(String, Instant)>);

impl Said {
    /// Notes it, unless it was said a short time ago.
    fn is_new(&mut self, what: String, now: Instant) -> bool {
        self.0.retain(|(_, at)| now < at.after(SILENCE));
        let is_new = self.0.iter().all(|(said, _)| *said != what);
        if is_new {
            self.0.push((what, now));
        }
        is_new
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_is_said_again_after_a_while_and_something_else_at_once() {
        let (mut said, begin) = (Said(Vec::new()), Instant(1));
        let mut say = |what: &str, wait| said.is_new(what.to_owned(), begin.after(wait));
        assert!(say("cleaner: full", Duration::ZERO));
        assert!(say("warmer: full", Duration::ZERO));
        assert!(!say("cleaner: full", SILENCE / 2));
        assert!(say("cleaner: broken", SILENCE / 2));
        assert!(say("cleaner: full", SILENCE));
        assert!(!say("cleaner: broken", SILENCE));
    }
}
