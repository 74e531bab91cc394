//! How far the vacuum of a table has come, for those who watch. Kept with the table's heap; one vacuum at a time.

use base::sync::unmodelled::{AtomicI32, AtomicU32, AtomicU64, Ordering::Relaxed};

/// What a vacuum is at.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u32)]
pub enum Phase {
    /// Going through the heap, noting dead line pointers.
    Heap = 1,
    /// Taking entries out of the indexes.
    Indexes = 2,
    /// Freeing line pointers.
    Reclaim = 3,
    /// Giving back the empty pages at the end.
    Truncate = 4,
}

/// What somebody sees of a vacuum.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Seen {
    /// Whose it is.
    pub pid: i32,
    /// Whether it is a background worker's.
    pub background: bool,
    /// What it is at.
    pub phase: Phase,
    /// Blocks of the heap when it began.
    pub blocks: u32,
    /// Blocks that it has gone through.
    pub scanned: u32,
    /// Blocks whose line pointers it has freed, in this round.
    pub reclaimed: u32,
    /// Times that the indexes were gone through.
    pub index_passes: u32,
    /// Dead line pointers noted in this round.
    pub dead: u64,
}

/// The board on which a vacuum writes. All relaxed: for people.
#[derive(Default)]
pub(crate) struct Progress {
    /// 0: none is at work.
    phase: AtomicU32,
    pid: AtomicI32,
    background: AtomicU32,
    blocks: AtomicU32,
    scanned: AtomicU32,
    reclaimed: AtomicU32,
    index_passes: AtomicU32,
    dead: AtomicU64,
}

/// A vacuum at work; not any more when it is dropped.
pub(crate) struct Working<'p>(&'p Progress);

impl Drop for Working<'_> {
    fn drop(&mut self) {
        self.0.phase.store(0, Relaxed);
    }
}

impl Progress {
    pub(crate) fn begin(&self, pid: i32, background: bool) -> Working<'_> {
        self.pid.store(pid, Relaxed);
        self.background.store(u32::from(background), Relaxed);
        for counter in [&self.blocks, &self.scanned, &self.reclaimed, &self.index_passes] {
            counter.store(0, Relaxed);
        }
        self.dead.store(0, Relaxed);
        self.enters(Phase::Heap);
        Working(self)
    }

    pub(crate) fn enters(&self, phase: Phase) {
        self.phase.store(phase as u32, Relaxed);
    }

    pub(crate) fn has_blocks(&self, blocks: u32) {
        self.blocks.store(blocks, Relaxed);
    }

    pub(crate) fn scanned(&self, blocks: u32, dead: usize) {
        self.scanned.store(blocks, Relaxed);
        self.dead.store(dead as u64, Relaxed);
    }

    pub(crate) fn indexes_done(&self) {
        self.index_passes.fetch_add(1, Relaxed);
        self.enters(Phase::Reclaim);
    }

    pub(crate) fn reclaimed(&self, blocks: u32) {
        self.reclaimed.store(blocks, Relaxed);
    }

    /// The vacuum that is at work now.
    pub fn seen(&self) -> Option<Seen> {
        let phase = match self.phase.load(Relaxed) {
            1 => Phase::Heap,
            2 => Phase::Indexes,
            3 => Phase::Reclaim,
            4 => Phase::Truncate,
            _ => return None,
        };
        Some(Seen {
            pid: self.pid.load(Relaxed),
            background: self.background.load(Relaxed) != 0,
            phase,
            blocks: self.blocks.load(Relaxed),
            scanned: self.scanned.load(Relaxed),
            reclaimed: self.reclaimed.load(Relaxed),
            index_passes: self.index_passes.load(Relaxed),
            dead: self.dead.load(Relaxed),
        })
    }
}
