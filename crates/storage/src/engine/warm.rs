//! What the cache held is there again after a restart.
//!
//! An engine that is to keep warm ([`Engine::keep_warm`]) notes from time to time, for the case of a crash, and at its
//! end which pages the cache holds, and reads them at its next start in the background, in the order of the files, neighbours by one read and the next ones ahead, as
//! long as frames are free. The note is a
//! hint: what does not verify, is gone or has changed since is passed over.

use super::Engine;
use crate::buffer::{Pool, ReadAhead};
use crate::complaint::complain;
use crate::error::{Error, Result};
use base::clock;
use base::disk::{Disk, Open};
use base::env::Background;
use base::latch::Latch;
use base::lot;
use base::rank::Rank;
use base::sync::unmodelled::Ordering::{Relaxed, SeqCst};
use base::sync::unmodelled::{AtomicBool, AtomicU64};
use base::{BlockNo, Fork, RelId};
use std::fmt::Write;
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// The note, and its name while it is written.
pub(super) const PATH: &str = "warm.pages";
const NEW_PATH: &str = "warm.pages.new";
/// The note's first line.
const HEAD: &str = "thalweg warm pages 1";

/// The state of an engine that keeps warm.
pub(super) struct Warmth {
    keeps: AtomicBool,
    shared: Arc<Shared>,
    background: Mutex<Option<Background>>,
}

/// What the background shares with everybody else.
struct Shared {
    stopping: AtomicBool,
    loaded: AtomicU64,
    /// Held while a note is written: one at a time.
    writing: Latch<()>,
}

impl Shared {
    /// Waits until it is to stop, `every` at most; whether it is. Without an end where that is zero.
    fn stops_within(&self, every: Duration) -> bool {
        let goes_on = || !self.stopping.load(SeqCst);
        let deadline = (!every.is_zero()).then(|| clock::now().after(every));
        lot::park_on(self.key(), lot::EXCLUSIVE, goes_on, deadline);
        !goes_on()
    }

    fn stop(&self) {
        self.stopping.store(true, SeqCst);
        lot::unpark_all(self.key());
    }

    fn key(&self) -> usize {
        std::ptr::from_ref(&self.stopping).addr()
    }
}

impl Default for Warmth {
    fn default() -> Warmth {
        Warmth {
            keeps: AtomicBool::default(),
            shared: Arc::new(Shared {
                stopping: AtomicBool::default(),
                loaded: AtomicU64::default(),
                writing: Latch::new(Rank::Outer, ()),
            }),
            background: Mutex::default(),
        }
    }
}

/// Neighbours in one fork.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Run {
    pub rel: RelId,
    rank: Rank,
    fork: Fork,
    pub first: u32,
    pub blocks: u32,
}

impl Run {
    fn read(line: &str) -> Option<Run> {
        let mut words = line.split(' ').map(|word| word.parse::<u32>().ok());
        let mut word = || words.next().flatten();
        let (rel, rank, fork, first, blocks) = (word()?, word()?, word()?, word()?, word()?);
        let rank = match rank {
            0 => Rank::HeapPage,
            1 => Rank::IndexPage,
            2 => Rank::SequencePage,
            _ => return None,
        };
        let fork = Fork::from_u8(u8::try_from(fork).ok()?)?;
        Some(Run { rel: RelId(rel), rank, fork, first, blocks })
    }

    fn write(&self, text: &mut String) {
        let rank = match self.rank {
            Rank::HeapPage => 0,
            Rank::IndexPage => 1,
            _ => 2,
        };
        let Run { rel, fork, first, blocks, .. } = self;
        let _ = writeln!(text, "{} {rank} {} {first} {blocks}", rel.0, *fork as u8);
    }
}

impl Engine {
    /// Begins to read what the cache held by the last note, and will note it at the end of this run and, once that
    /// is read, `every` so long (zero: not). Once.
    pub fn keep_warm(&self, every: Duration) {
        self.warmth.keeps.store(true, Relaxed);
        // A hint: if it can't be read, there is none.
        let runs = self.read_note().unwrap_or_default();
        let shared = Arc::clone(&self.warmth.shared);
        let (pool, disk) = (Arc::clone(&self.pool), Arc::clone(&self.env.disk));
        let work = move || {
            load(&pool, &runs, &shared);
            while !shared.stops_within(every) {
                tell(note(&pool, &*disk, &shared.writing));
            }
        };
        let background = self.env.spawn("warmer", work);
        *self.warmth.background.lock().expect("no code panics under it") = Some(background);
    }

    /// Pages that were read because the cache had held them.
    pub fn warmed(&self) -> u64 {
        self.warmth.shared.loaded.load(Relaxed)
    }

    /// Notes which pages the cache holds now; how many.
    pub fn note_residents(&self) -> Result<usize> {
        note(&self.pool, &*self.env.disk, &self.warmth.shared.writing)
    }

    pub(super) fn read_note(&self) -> std::io::Result<Vec<Run>> {
        let disk = &self.env.disk;
        if !disk.exists(PATH)? {
            return Ok(Vec::new());
        }
        let file = disk.open(PATH, Open::Existing)?;
        let mut bytes = vec![0; file.len()? as usize];
        let read = file.read_at(&mut bytes, 0)?;
        bytes.truncate(read);
        let text = String::from_utf8(bytes).unwrap_or_default();
        let mut lines = text.lines();
        if lines.next() != Some(HEAD) {
            return Ok(Vec::new());
        }
        Ok(lines.map_while(Run::read).collect())
    }

    /// Ends the reading, and notes what the cache holds if that is wanted. For the engine's end.
    pub(super) fn cool_down(&self) {
        self.warmth.shared.stop();
        let background = self.warmth.background.lock().expect("no code panics under it").take();
        background.into_iter().for_each(Background::join);
        if self.warmth.keeps.load(Relaxed) {
            tell(self.note_residents());
        }
    }
}

fn tell(noted: Result<usize>) {
    if let Err(error) = noted {
        complain("the cache's pages could not be noted", &error);
    }
}

/// Notes which pages the cache holds; how many.
fn note(pool: &Pool, disk: &dyn Disk, writing: &Latch<()>) -> Result<usize> {
    let mut pages: Vec<_> = pool.residents().flatten().map(|p| (p.rel, p.fork, p.block)).collect();
    pages.retain(|(rel, ..)| rel.is_logged());
    pages.sort_unstable();
    let mut text = format!("{HEAD}\n");
    let follows = |a: &(RelId, Fork, BlockNo), b: &(RelId, Fork, BlockNo)| {
        (a.0, a.1, a.2.0 + 1) == (b.0, b.1, b.2.0)
    };
    for run in pages.chunk_by(follows) {
        let (rel, fork, first) = run[0];
        let Some(rank) = pool.rank_of(rel) else { continue };
        Run { rel, rank, fork, first: first.0, blocks: run.len() as u32 }.write(&mut text);
    }
    let _alone = writing.lock();
    write(disk, &text).map_err(|e| Error::io("write", PATH, e))?;
    Ok(pages.len())
}

fn write(disk: &dyn Disk, text: &str) -> std::io::Result<()> {
    if disk.exists(NEW_PATH)? {
        disk.remove(NEW_PATH)?;
    }
    let file = disk.open(NEW_PATH, Open::CreateNew)?;
    file.write_at(text.as_bytes(), 0)?;
    file.sync()?;
    disk.rename_over(NEW_PATH, PATH)
}

fn load(pool: &Arc<Pool>, runs: &[Run], shared: &Shared) {
    // What others load meanwhile is worth more than the rest of the note.
    let reserve = pool.frame_count() / 8;
    for run in runs {
        if !matches!(pool.files().exists(run.rel), Ok(true)) {
            continue;
        }
        let relation = pool.relation(run.rel, run.rank);
        let mut ahead = ReadAhead::new(&relation, pool.reach());
        let end = run.first.saturating_add(run.blocks);
        for block in run.first..end {
            if shared.stopping.load(Relaxed) || pool.stats().free <= reserve {
                return;
            }
            let there = relation.blocks(run.fork).unwrap_or(0);
            if block >= there {
                break;
            }
            let places = block..end.min(there);
            let at = |place| Some(BlockNo(place));
            let come = match ahead.look(&relation, run.fork, places, None, at) {
                true => relation.read_started(run.fork, BlockNo(block)).map(drop),
                false => relation.pin(run.fork, BlockNo(block)).map(drop),
            };
            if come.is_err() {
                break;
            }
            shared.loaded.fetch_add(1, Relaxed);
        }
        // Whoever dropped it meanwhile may have been done before its pages came: nobody else would remove them.
        if matches!(pool.files().exists(run.rel), Ok(false)) {
            let _ = pool.drop_relation(run.rel);
        }
    }
}
