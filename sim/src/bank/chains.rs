//! A hash index without a table, of few hashes: its buckets are long chains of pages, which tables of this size
//! do not have. Entries are numbered in their TIDs; those there should be are a range.

use super::indexes::open_hash;
use base::{BlockNo, RelId, Tid};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex};
use storage::buffer::Passage;
use storage::hash::{FILL_PERCENT, HashIndex, key_hash};
use storage::{Engine, Result};

/// Entries that come at a time.
const STEP: u64 = 400;

/// Hashes there are.
const HASHES: u64 = 2;

fn hash(which: u64) -> u64 {
    key_hash(&which.to_le_bytes())
}

/// Which numbers are there.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Span {
    /// Those below have been taken out.
    pub gone_below: u64,
    /// Those from here on are there; of those between, some may be being taken out.
    pub from: u64,
    /// Up to before this one; later ones may be coming in.
    pub to: u64,
}

/// The index, and what is in it.
pub struct Chains {
    index: HashIndex,
    span: Mutex<Span>,
    /// Entries below may be there behind the span's: a try to enter one has failed, perhaps after it was entered.
    tried: AtomicU64,
}

fn hash_of(number: u64) -> u64 {
    // Most have the same, so that two steps fill a page.
    hash(u64::from(number.is_multiple_of(4)))
}

fn tid_of(number: u64) -> Tid {
    Tid { block: BlockNo((number / 100) as u32), offset: (number % 100) as u16 + 1 }
}

fn number_of(tid: Tid) -> u64 {
    u64::from(tid.block.0) * 100 + u64::from(tid.offset) - 1
}

impl Chains {
    /// The index in a relation.
    pub fn open(engine: &Arc<Engine>, rel: RelId) -> Chains {
        let index = open_hash(engine, rel, FILL_PERCENT);
        Chains { index, span: Mutex::default(), tried: AtomicU64::new(0) }
    }

    /// Its relation.
    pub fn id(&self) -> RelId {
        self.index.relation().id()
    }

    fn span(&self) -> Span {
        *self.span.lock().expect("nothing panics under it")
    }

    fn set(&self, span: Span) -> Span {
        *self.span.lock().expect("nothing panics under it") = span;
        span
    }

    /// Adds entries; what is there then.
    pub fn lengthen(&self) -> Result<Span> {
        let mut span = self.span();
        let to = span.to + STEP;
        while span.to < to {
            let was_tried = span.to < self.tried.fetch_max(span.to + 1, Relaxed);
            if !was_tried || !self.has(span.to)? {
                self.index.insert_hash(hash_of(span.to), tid_of(span.to))?;
            }
            span.to += 1;
            self.set(span);
        }
        Ok(span)
    }

    fn has(&self, number: u64) -> Result<bool> {
        let mut tids = Vec::new();
        self.index.lookup_hash(hash_of(number), &mut tids)?;
        Ok(tids.contains(&tid_of(number)))
    }

    /// Takes the oldest out; `begins` hears what is sure to stay. What is there then.
    pub fn shorten(&self, rng: &mut fastrand::Rng, begins: impl FnOnce(Span)) -> Result<Span> {
        let span = self.span();
        let from = rng.u64(span.from..=span.to);
        begins(self.set(Span { from, ..span }));
        self.index.vacuum(
            &mut Passage::for_vacuum(self.index.relation()),
            &mut |tid| number_of(tid) < from,
            &mut || Ok(()),
        )?;
        Ok(self.set(Span { gone_below: from, from, ..span }))
    }

    /// After a crash: the index is sound, and has what was told to be there, each entry once.
    pub fn check(&self, told: Span) -> std::result::Result<Span, String> {
        let (mut faults, mut numbers) = (Vec::new(), Vec::new());
        self.index
            .check(&mut |fault| faults.push(fault), &mut |_, tid| numbers.push(number_of(tid)))
            .map_err(|e| e.to_string())?;
        if let Some(fault) = faults.pop() {
            return Err(fault);
        }
        numbers.sort_unstable();
        if numbers.windows(2).any(|pair| pair[0] == pair[1]) {
            return Err("an entry is there twice".into());
        }
        if numbers.first().is_some_and(|first| *first < told.gone_below) {
            return Err(format!("an entry below {} has come back", told.gone_below));
        }
        let to = numbers.last().map_or(told.to, |last| (last + 1).max(told.to));
        let missing = (told.from..to).find(|number| numbers.binary_search(number).is_err());
        if let Some(missing) = missing {
            return Err(format!("entry {missing} of {told:?} is lost"));
        }
        let (mut tids, mut found) = (Vec::new(), 0);
        for hash in (0..HASHES).map(hash) {
            self.index.lookup_hash(hash, &mut tids).map_err(|e| e.to_string())?;
            found += tids.len();
        }
        if found != numbers.len() {
            return Err(format!("{found} of {} entries are found", numbers.len()));
        }
        Ok(self.set(Span { to, ..told }))
    }
}
