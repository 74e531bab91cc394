//! How fast upkeep goes: in the background it rests as long as it works, and gives way.

use crate::error::{Error, Result};
use base::clock::{self, Instant};
use base::interrupt::Interrupt;
use base::wait_event::{self, Event};
use std::time::Duration;

/// Pages between two rests.
const REST_EVERY: u32 = 64;
/// Shortest and longest rest.
const REST_MIN: Duration = Duration::from_millis(1);
const REST_MAX: Duration = Duration::from_millis(50);

/// The pace of one piece of upkeep.
pub struct Pace<'o> {
    /// Set for background work: whether somebody waits for the table.
    waited_for: Option<&'o dyn Fn() -> bool>,
    pages: u32,
    since: Instant,
    /// Work was ended because somebody waits.
    pub gave_way: bool,
}

impl<'o> Pace<'o> {
    /// In the background where it is told by what to know that somebody waits for the table; else without rests.
    pub fn new(waited_for: Option<&'o dyn Fn() -> bool>) -> Pace<'o> {
        Pace { waited_for, pages: 0, since: clock::now(), gave_way: false }
    }

    /// Whether it is background work.
    pub(super) fn is_background(&self) -> bool {
        self.waited_for.is_some()
    }

    /// Called before each page, with nothing latched. An error ends the work.
    pub fn rest(&mut self) -> Result<()> {
        base::interrupt::check()?;
        base::park::checkpoint();
        self.pages += 1;
        let Some(waited_for) = self.waited_for else { return Ok(()) };
        if !self.pages.is_multiple_of(REST_EVERY) {
            return Ok(());
        }
        if waited_for() {
            self.gave_way = true;
            return Err(Error::Interrupted(Interrupt::Cancel));
        }
        let worked = clock::now().since(self.since);
        let _waiting = wait_event::during(Event::VacuumDelay);
        base::park::sleep(worked.clamp(REST_MIN, REST_MAX));
        self.since = clock::now();
        Ok(())
    }
}
