//! What the cache held is there again after a restart.
//!
//! An engine that is to keep warm ([`Engine::keep_warm`]) notes at its end which pages the cache holds, and reads
//! them at its next start in the background, in the order of the files, neighbours by one read and the next ones ahead, as
//! long as frames are free. The note is a
//! hint: what does not verify, is gone or has changed since is passed over.

use super::Engine;
use crate::buffer::{Pool, ReadAhead};
use crate::error::{Error, Result, complain};
use base::disk::Open;
use base::env::Background;
use base::latch::Latch;
use base::rank::Rank;
use base::{BlockNo, Fork, RelId};
use std::fmt::Write;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex};

/// The note, and its name while it is written.
pub(super) const PATH: &str = "warm.pages";
const NEW_PATH: &str = "warm.pages.new";
/// The note's first line.
const HEAD: &str = "thalweg warm pages 1";

/// The state of an engine that keeps warm.
pub(super) struct Warmth {
    keeps: AtomicBool,
    stopping: Arc<AtomicBool>,
    loaded: Arc<AtomicU64>,
    background: Mutex<Option<Background>>,
    /// Held while a note is written: one at a time.
    writing: Latch<()>,
}

impl Default for Warmth {
    fn default() -> Warmth {
        Warmth {
            keeps: AtomicBool::default(),
            stopping: Arc::default(),
            loaded: Arc::default(),
            background: Mutex::default(),
            writing: Latch::new(Rank::Outer, ()),
        }
    }
}

/// Neighbours in one fork.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Run {
    rel: RelId,
    rank: Rank,
    fork: Fork,
    first: u32,
    blocks: u32,
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
    /// Begins to read what the cache held when the directory was closed, and will note it at the end of this
    /// run. Once.
    pub fn keep_warm(&self) {
        self.warmth.keeps.store(true, Relaxed);
        let runs = match self.read_note() {
            Ok(runs) if !runs.is_empty() => runs,
            // It is a hint.
            _ => return,
        };
        let pool = Arc::clone(&self.pool);
        let stopping = Arc::clone(&self.warmth.stopping);
        let loaded = Arc::clone(&self.warmth.loaded);
        let work = move || load(&pool, &runs, &stopping, &loaded);
        let background = self.env.spawn("warmer", work);
        *self.warmth.background.lock().expect("no code panics under it") = Some(background);
    }

    /// Pages that were read because the cache had held them.
    pub fn warmed(&self) -> u64 {
        self.warmth.loaded.load(Relaxed)
    }

    /// Notes which pages the cache holds now; how many.
    pub fn note_residents(&self) -> Result<usize> {
        let mut pages: Vec<_> =
            self.pool.residents().flatten().map(|p| (p.rel, p.fork, p.block)).collect();
        pages.retain(|(rel, ..)| rel.is_logged());
        pages.sort_unstable();
        let mut text = format!("{HEAD}\n");
        let follows = |a: &(RelId, Fork, BlockNo), b: &(RelId, Fork, BlockNo)| {
            (a.0, a.1, a.2.0 + 1) == (b.0, b.1, b.2.0)
        };
        for run in pages.chunk_by(follows) {
            let (rel, fork, first) = run[0];
            let Some(rank) = self.pool.rank_of(rel) else { continue };
            Run { rel, rank, fork, first: first.0, blocks: run.len() as u32 }.write(&mut text);
        }
        self.write_note(&text).map_err(|e| Error::io("write", PATH, e))?;
        Ok(pages.len())
    }

    fn write_note(&self, text: &str) -> std::io::Result<()> {
        let disk = &self.env.disk;
        let _alone = self.warmth.writing.lock();
        if disk.exists(NEW_PATH)? {
            disk.remove(NEW_PATH)?;
        }
        let file = disk.open(NEW_PATH, Open::CreateNew)?;
        file.write_at(text.as_bytes(), 0)?;
        file.sync()?;
        disk.rename_over(NEW_PATH, PATH)
    }

    fn read_note(&self) -> std::io::Result<Vec<Run>> {
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
        self.warmth.stopping.store(true, Relaxed);
        let background = self.warmth.background.lock().expect("no code panics under it").take();
        background.into_iter().for_each(Background::join);
        if self.warmth.keeps.load(Relaxed)
            && let Err(error) = self.note_residents()
        {
            complain("the cache's pages could not be noted", &error);
        }
    }
}

fn load(pool: &Arc<Pool>, runs: &[Run], stopping: &AtomicBool, loaded: &AtomicU64) {
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
            if stopping.load(Relaxed) || pool.stats().free <= reserve {
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
            loaded.fetch_add(1, Relaxed);
        }
        // Whoever dropped it meanwhile may have been done before its pages came: nobody else would remove them.
        if matches!(pool.files().exists(run.rel), Ok(false)) {
            let _ = pool.drop_relation(run.rel);
        }
    }
}
