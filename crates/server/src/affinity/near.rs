//! Which of a worker's connections are heard together.

use std::collections::BTreeMap;
use std::time::Duration;

use base::clock::{self, Instant};

use super::groups::{self, Counts};
use super::wakes::{Doing, Process, Wakes};
use super::{Household, Member};

/// So many connections of a worker are counted at most; the others stay where they are.
const MEMBERS_MAX: usize = 64;
/// A count is over after so many questions, and so many for each connection that was heard, whichever is more.
const QUESTIONS_MIN: usize = 2000;
const QUESTIONS_EACH: usize = 500;
/// One that takes longer says nothing: on a worker with so little to do, nobody waits for anybody.
const COUNT_MAX: Duration = Duration::from_secs(2);
/// Every so many questions the clock is looked at.
const LOOK_EVERY: usize = 256;

/// What a worker counts.
#[derive(Default)]
pub(crate) struct Near {
    /// By place.
    members: Vec<Option<Member>>,
    /// By place.
    wakes: Vec<Wakes>,
    /// Clients' processes, as far as their threads are shown; forgotten whenever a connection comes or goes.
    processes: BTreeMap<i32, Option<Process>>,
    counts: Counts,
    /// Questions since the count began.
    questions: usize,
    begun: Option<Instant>,
}

impl Near {
    /// Takes a connection into the count, which begins anew; its place, if there is one left.
    pub(crate) fn enter(&mut self, member: Member) -> Option<usize> {
        let free = self.members.iter().position(Option::is_none);
        let place = free.unwrap_or(self.members.len());
        if place == MEMBERS_MAX {
            return None;
        }
        if free.is_none() {
            self.members.push(None);
            self.wakes.push(Wakes::default());
        }
        self.members[place] = Some(member);
        self.wakes[place] = Wakes::default();
        self.processes.clear();
        self.restart();
        Some(place)
    }

    /// The connection is gone, and the count begins anew.
    pub(crate) fn leave(&mut self, place: usize) {
        self.members[place] = None;
        self.processes.clear();
        self.restart();
    }

    /// Begins to count anew.
    fn restart(&mut self) {
        self.counts.clear(self.members.len());
        self.questions = 0;
        self.begun = None;
    }

    /// The connection's thread is known: nobody need look for it.
    pub(crate) fn knows_thread(&mut self, place: usize) {
        self.wakes[place].give_up();
    }

    /// A reply is about to leave for this place: whether to look whom it wakes.
    pub(crate) fn wants_look(&mut self, place: usize) -> bool {
        self.wakes[place].wants_look()
    }

    /// What the threads of a place's client do, if the reply is to be sent by itself to see whom it wakes.
    pub(crate) fn before_reply(&mut self, place: usize) -> Option<Vec<(i32, Doing)>> {
        let wakes = &mut self.wakes[place];
        let Some(Member { household: Household::Process(process), .. }) = self.members[place]
        else {
            wakes.give_up();
            return None;
        };
        let shown = self.processes.entry(process).or_insert_with(|| Process::open(process));
        let Some(shown) = shown else {
            wakes.give_up();
            return None;
        };
        let doing = shown.look();
        wakes.looks_at(doing.len());
        doing.iter().any(|(_, doing)| *doing != Doing::Awake).then_some(doing)
    }

    /// The reply has left. The connection and the number of its thread, once that is known.
    pub(crate) fn after_reply(
        &mut self,
        place: usize,
        before: &[(i32, Doing)],
    ) -> Option<(Member, i32)> {
        let member = self.members[place]?;
        let Household::Process(process) = member.household else { return None };
        let process = self.processes.get(&process)?.as_ref()?;
        Some((member, self.wakes[place].looked(before, &process.look())?))
    }

    /// The worker is about to sleep: what comes next comes on its own account.
    #[inline]
    pub(crate) fn pause(&mut self) {
        self.counts.pause();
    }

    /// A question has come. The groups of all connections that were active, when the count is over.
    #[inline]
    pub(crate) fn heard(&mut self, place: usize) -> Option<Vec<Vec<Member>>> {
        self.counts.heard(place);
        self.questions += 1;
        if self.questions.is_multiple_of(LOOK_EVERY) { self.look() } else { None }
    }

    fn look(&mut self) -> Option<Vec<Vec<Member>>> {
        let now = clock::now();
        let begun = *self.begun.get_or_insert(now);
        if now.since(begun) > COUNT_MAX {
            self.restart();
            return None;
        }
        if self.questions < QUESTIONS_MIN.max(QUESTIONS_EACH * self.counts.distinct()) {
            return None;
        }
        let groups = self.groups(&self.counts.active(self.questions));
        self.restart();
        Some(groups)
    }

    /// The groups of what was counted among the `active`.
    fn groups(&self, active: &[usize]) -> Vec<Vec<Member>> {
        let member = |place: usize| self.members[place].expect("who is heard has a place");
        let may = |a, b| member(a).household == member(b).household;
        let groups = groups::of(&self.counts, active, may);
        groups.into_iter().map(|group| group.into_iter().map(member).collect()).collect()
    }
}
