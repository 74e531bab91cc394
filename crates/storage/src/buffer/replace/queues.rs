//! The queues of `probation`: pages that came by uses that count, and pages that rings have brought. A page may go
//! otherwise than from the head of its queue; what it leaves there is not counted, and skipped.

use std::collections::VecDeque;

/// Which queue.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Line {
    /// Of pages that came by uses that count.
    Newcomers,
    /// Of pages that are in a ring, or were.
    Passing,
}

/// A page in one of them.
#[derive(Clone, Copy, Debug)]
pub(super) struct Entry {
    pub frame: u32,
    /// Which of the frame's pages, counted from its first.
    tenant: u32,
    /// How many newcomers had come when it joined the queue.
    since: u32,
}

/// A frame's page.
#[derive(Clone, Copy, Default)]
struct Tenant {
    number: u32,
    line: Option<Line>,
}

#[derive(Default)]
struct Fifo {
    entries: VecDeque<Entry>,
    /// Entries whose pages are waiting here.
    live: usize,
}

/// See the module.
pub(super) struct Queues {
    newcomers: Fifo,
    passing: Fifo,
    tenants: Box<[Tenant]>,
}

/// How many of each queue a sweep is to look at.
pub(super) struct Due {
    passing: usize,
    newcomers: usize,
}

impl Queues {
    pub fn new(frames: u32) -> Queues {
        let tenants = vec![Tenant::default(); frames as usize].into();
        Queues { newcomers: Fifo::default(), passing: Fifo::default(), tenants }
    }

    fn parts(&mut self, line: Line) -> (&mut Fifo, &mut [Tenant]) {
        match line {
            Line::Newcomers => (&mut self.newcomers, &mut self.tenants),
            Line::Passing => (&mut self.passing, &mut self.tenants),
        }
    }

    /// A page came into the frame; without a `line` it is not to queue. `now` newcomers have come so far.
    pub fn came(&mut self, frame: u32, line: Option<Line>, now: u32) {
        self.left(frame);
        let tenant = &mut self.tenants[frame as usize];
        tenant.number = tenant.number.wrapping_add(1);
        let entry = Entry { frame, tenant: tenant.number, since: now };
        if let Some(line) = line {
            self.join(entry, line, now);
        }
    }

    /// The frame's page queues no more; where it did.
    pub fn left(&mut self, frame: u32) -> Option<Line> {
        let line = self.tenants[frame as usize].line.take()?;
        let (fifo, tenants) = self.parts(line);
        fifo.live -= 1;
        // A ring takes the oldest of its pages: what those leave would pile up.
        while fifo.entries.pop_front_if(|entry| !entry.is_live(line, tenants)).is_some() {}
        Some(line)
    }

    /// Puts a page at the end, unless it has left its frame meanwhile.
    pub fn join(&mut self, entry: Entry, line: Line, now: u32) {
        let (fifo, tenants) = self.parts(line);
        let tenant = &mut tenants[entry.frame as usize];
        if tenant.number != entry.tenant {
            return;
        }
        tenant.line = Some(line);
        if fifo.entries.len() >= 2 * tenants.len() {
            fifo.entries.retain(|entry| entry.is_live(line, tenants));
        }
        fifo.entries.push_back(Entry { since: now, ..entry });
        fifo.live += 1;
    }

    /// Takes the oldest page out of a queue.
    pub fn pop(&mut self, line: Line) -> Option<Entry> {
        let (fifo, tenants) = self.parts(line);
        while let Some(entry) = fifo.entries.pop_front() {
            if entry.is_live(line, tenants) {
                tenants[entry.frame as usize].line = None;
                fifo.live -= 1;
                return Some(entry);
            }
        }
        None
    }

    /// What is due while `newcomers_goal` newcomers, and `passing_max` passing pages that are not older than as many
    /// newcomers would be, are left alone.
    pub fn due(&self, newcomers_goal: usize, passing_max: usize, now: u32) -> Due {
        let Queues { newcomers, passing, .. } = self;
        let old = |entry: &Entry| now.wrapping_sub(entry.since) as usize > newcomers_goal;
        // In order of age, since who joins again is as young as who comes.
        let old = passing.entries.partition_point(old);
        Due {
            passing: old.max(passing.live.saturating_sub(passing_max)).min(passing.live),
            newcomers: newcomers.live.saturating_sub(newcomers_goal),
        }
    }

    /// Everything.
    pub fn all(&self) -> Due {
        Due { passing: self.passing.live, newcomers: self.newcomers.live }
    }
}

impl Entry {
    fn is_live(&self, line: Line, tenants: &[Tenant]) -> bool {
        let tenant = tenants[self.frame as usize];
        tenant.number == self.tenant && tenant.line == Some(line)
    }
}

impl Due {
    /// Where the next one is that is due: what passes first.
    pub fn next(&mut self) -> Option<Line> {
        let (left, line) = match self.passing {
            0 => (&mut self.newcomers, Line::Newcomers),
            _ => (&mut self.passing, Line::Passing),
        };
        *left = left.checked_sub(1)?;
        Some(line)
    }
}
