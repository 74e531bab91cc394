//! How fast upkeep goes: in the background it rests as long as it works, or longer where others work, too, and gives
//! way.

use super::Queue;
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

/// What makes upkeep background work.
#[derive(Clone, Copy)]
pub struct Unhurried<'o> {
    /// Whether somebody waits for the table.
    pub waited_for: &'o dyn Fn() -> bool,
    /// Whose workers share half a core.
    pub queue: &'o Queue,
}

/// The pace of one piece of upkeep.
pub struct Pace<'o> {
    unhurried: Option<Unhurried<'o>>,
    pages: u32,
    since: Instant,
    /// Work was ended because somebody waits.
    pub gave_way: bool,
}

impl<'o> Pace<'o> {
    /// That of background work, or without rests.
    pub fn new(unhurried: Option<Unhurried<'o>>) -> Pace<'o> {
        Pace { unhurried, pages: 0, since: clock::now(), gave_way: false }
    }

    /// Whether it is background work.
    pub(super) fn is_background(&self) -> bool {
        self.unhurried.is_some()
    }

    /// Called before each page, with nothing latched. An error ends the work.
    pub fn rest(&mut self) -> Result<()> {
        base::interrupt::check()?;
        base::park::checkpoint();
        self.pages += 1;
        let Some(Unhurried { waited_for, queue }) = self.unhurried else { return Ok(()) };
        if !self.pages.is_multiple_of(REST_EVERY) {
            return Ok(());
        }
        if waited_for() {
            self.gave_way = true;
            return Err(Error::Interrupted(Interrupt::Cancel));
        }
        let worked = clock::now().since(self.since);
        let _waiting = wait_event::during(Event::VacuumDelay);
        // Of `n` workers each works one part in `2 n` of the time.
        let parts = 2 * queue.at_work().max(1) as u32 - 1;
        base::park::sleep(worked.clamp(REST_MIN, REST_MAX) * parts);
        self.since = clock::now();
        Ok(())
    }
}
