//! Making and removing relations' files: what is logged, what redo does, and who may go ahead of whom.
//!
//! ```text
//! FILE_CREATE   := relation u32                                      main data
//! FILE_TRUNCATE := rank u8 (info) | relation u32 | fork u8 | blocks u32
//! PENDING_FILES := (relation u32 | xid u64) …                        with a checkpoint
//! ```
//!
//! A file is made after its record is in the log and under a redo hold, so that redo makes it again if the
//! name did not reach the disk. A file is removed by a background context once the log is durable up to the
//! commit that dropped it, under a hold from before the commit record, so that redo removes it again if the
//! machine stopped between.

use super::ctx::RedoCtx;
use super::redo::rank_of;
use crate::buffer::{Pool, Relation};
use crate::complaint::complain;
use crate::error::{Error, Result, fatal, or_abort};
use crate::txlog::Status;
use crate::txn::{Txn, TxnManager};
use crate::wal::{Kind, Record, RecordView, RedoHold, Wal, record_bound};
use base::clock;
use base::env::{Background, Env};
use base::latch::Latch;
use base::park::{self, Context};
use base::rank::Rank;
use base::sim;
use base::wait_event::{self, Event};
use base::{Fork, Lsn, Persistence, RelId, Xid};
use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, Weak};
use std::time::Duration;

/// Relations' files of a running engine.
pub struct RelationFiles {
    pool: Arc<Pool>,
    wal: Arc<Wal>,
    /// Held while what it hands out is noted with its transaction, so that a checkpoint that has a number as handed out
    /// also has its file as one that may have to go.
    next_rel: Latch<u32>,
    queue: Mutex<Queue>,
    /// Who is told when files are gone. Weak: it owns the closure that owns this.
    txns: OnceLock<Weak<TxnManager>>,
    remover: OnceLock<Context>,
    background: Mutex<Option<Background>>,
}

#[derive(Default)]
struct Queue {
    jobs: VecDeque<Removal>,
    /// The one being done.
    busy: bool,
    stop: bool,
}

/// Files to remove.
struct Removal {
    rels: Vec<RelId>,
    /// Not before the log is durable up to here.
    after: Lsn,
    /// Keeps the redo point before the record that says so.
    hold: Option<RedoHold>,
    /// Keep it out of the records of their pages, since these are leaving the cache.
    pages: Vec<RedoHold>,
}

/// How long until what could not be removed is tried again.
const AGAIN: Duration = Duration::from_secs(1);

impl RelationFiles {
    /// Starts the remover. Ids are handed out from `next_rel`.
    pub fn open(env: &Env, pool: &Arc<Pool>, wal: &Arc<Wal>, next_rel: u32) -> Arc<RelationFiles> {
        let files = Arc::new(RelationFiles {
            pool: Arc::clone(pool),
            wal: Arc::clone(wal),
            next_rel: Latch::new(Rank::RelFile, next_rel),
            queue: Mutex::default(),
            txns: OnceLock::new(),
            remover: OnceLock::new(),
            background: Mutex::default(),
        });
        let theirs = Arc::clone(&files);
        let started = env.spawn("file remover", move || or_abort("file remover", || theirs.run()));
        *files.background.lock().expect("no code panics under it") = Some(started);
        files
    }

    /// The next relation number that will be handed out; no record before has it or a higher one. A checkpoint asks for
    /// it before it asks which files are pending.
    pub fn next_rel(&self) -> u32 {
        *self.next_rel.lock()
    }

    /// Makes an empty relation for the transaction; it goes again if that does not commit. `rank` is that of
    /// its main fork's pages.
    pub fn create(&self, txn: &Txn, persistence: Persistence, rank: Rank) -> Result<Relation> {
        let first = self.number(txn, 1, persistence)?;
        self.make(txn, RelId::new(first, persistence), rank)
    }

    /// Makes permanent relations whose numbers follow each other, one for each rank; the first number.
    pub fn create_run(&self, txn: &Txn, ranks: &[Rank]) -> Result<u32> {
        let count = u32::try_from(ranks.len()).expect("a run is short");
        let first = self.number(txn, count, Persistence::Permanent)?;
        for (number, rank) in (first..).zip(ranks) {
            self.make(txn, RelId::new(number, Persistence::Permanent), *rank)?;
        }
        Ok(first)
    }

    /// Hands out so many numbers, which are the transaction's from now on; the first of them.
    fn number(&self, txn: &Txn, count: u32, persistence: Persistence) -> Result<u32> {
        txn.xid()?;
        let mut next = self.next_rel.lock();
        let first = *next;
        for number in first..first + count {
            txn.file_created(RelId::new(number, persistence))?;
        }
        *next += count;
        Ok(first)
    }

    fn make(&self, txn: &Txn, rel: RelId, rank: Rank) -> Result<Relation> {
        let xid = txn.xid()?;
        if rel.persistence() == Persistence::Temporary {
            return self.pool.create_relation(rel, rank);
        }
        let _hold = self.wal.hold_redo();
        let mut claim = self.wal.claim(record_bound(1, 0, 4))?;
        self.wal
            .insert(&mut claim, &Record::new(Kind::FILE_CREATE, xid).data(&rel.0.to_le_bytes()));
        drop(claim);
        sim::maybe_fall_behind(4);
        self.pool.create_relation(rel, rank)
    }

    /// Cuts a fork to `blocks` blocks, durably before it returns to use. Nobody may use the pages past
    /// them, nor change the others' number.
    pub fn truncate(&self, rel: &Relation, fork: Fork, blocks: u32) -> Result<()> {
        let _hold = rel.id().is_logged().then(|| self.wal.hold_redo());
        if rel.id().is_logged() {
            self.log_cut(rel, fork, blocks)?;
        } else if blocks < rel.blocks(fork)? {
            // Before its pages leave the cache. A file that can't be cut then would keep older ones, under numbers that new
            // blocks get, and no log makes them anew.
            self.pool.files().truncate(rel.id(), fork, blocks)?;
        }
        // Redo cuts again. Without it the file would keep the pages that are not in memory any more, and which of
        // their rows are gone. One that is not logged may have got a page from the cleaner since it was cut.
        let cut = rel.truncate(fork, blocks);
        cut.or_else(|error| fatal(&format!("a cut that has begun failed: {error}")))
    }

    fn log_cut(&self, rel: &Relation, fork: Fork, blocks: u32) -> Result<()> {
        let mut claim = self.wal.claim(record_bound(1, 0, 9))?;
        let mut data = [0; 9];
        data[0..4].copy_from_slice(&rel.id().0.to_le_bytes());
        data[4] = fork as u8;
        data[5..9].copy_from_slice(&blocks.to_le_bytes());
        let record = Record::new(Kind::FILE_TRUNCATE, Xid::INVALID);
        let at = self.wal.insert(&mut claim, &record.info(rel.rank() as u8).data(&data));
        drop(claim);
        // The cut is not undone by a crash that loses the record: rows may have moved to pages before
        // it in the meantime only if the log says so, and then it says this, too.
        self.wal.flush(at.end);
        sim::maybe_fall_behind(4);
        Ok(())
    }

    /// Removes relations once the log is durable up to `after`. Does not wait for it.
    pub fn remove_later(&self, rels: Vec<RelId>, after: Lsn, hold: Option<RedoHold>) {
        self.lock().jobs.push_back(Removal { rels, after, hold, pages: Vec::new() });
        if let Some(remover) = self.remover.get() {
            remover.unpark();
        }
    }

    /// Waits until everything asked for is removed.
    pub fn settle(&self) {
        let _waiting = wait_event::during(Event::FilesRemoved);
        while !self.is_idle() {
            park::sleep(std::time::Duration::from_micros(100));
        }
    }

    fn is_idle(&self) -> bool {
        let queue = self.lock();
        queue.jobs.is_empty() && !queue.busy
    }

    /// Removes what is left to remove and ends the remover.
    pub fn close(&self) {
        self.lock().stop = true;
        if let Some(remover) = self.remover.get() {
            remover.unpark();
        }
        let background = self.background.lock().expect("no code panics under it").take();
        background.into_iter().for_each(Background::join);
    }

    fn lock(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().expect("no code panics under it")
    }

    fn run(&self) {
        let _ = self.remover.set(park::current());
        let mut stuck: Vec<Removal> = Vec::new();
        loop {
            let next = {
                let mut queue = self.lock();
                let next = queue.jobs.pop_front();
                queue.busy = next.is_some();
                if next.is_none() && queue.stop {
                    return;
                }
                next
            };
            match next {
                Some(job) => stuck.extend(self.remove(job)),
                None => {
                    park::park_until((!stuck.is_empty()).then(|| clock::now().after(AGAIN)));
                    stuck = stuck.into_iter().filter_map(|job| self.remove(job)).collect();
                }
            }
        }
    }

    /// Removes the files; those are left that can't be removed now.
    fn remove(&self, mut job: Removal) -> Option<Removal> {
        self.wal.flush(job.after);
        if job.pages.is_empty() {
            job.pages =
                job.rels.iter().filter_map(|rel| self.pool.hold_for_discard(*rel)).collect();
        }
        let mut left = Vec::new();
        for &rel in &job.rels {
            if let Err(e) = self.pool.drop_relation(rel) {
                // Wasted room, from the next start on for good.
                complain(&format!("relation {rel} was dropped, but its files remain"), &e);
                left.push(rel);
            }
        }
        if let Some(txns) = self.txns.get().and_then(Weak::upgrade) {
            txns.files_settled(&job.rels);
        }
        drop(job.hold.take());
        job.rels = left;
        (!job.rels.is_empty()).then_some(job)
    }
}

/// Files whose creation the log has seen and not whether it was for good.
#[derive(Default)]
pub struct PendingFiles(BTreeMap<RelId, Pending>);

/// A file's maker, and the record that says so.
#[derive(Clone, Copy)]
struct Pending {
    xid: Xid,
    at: Lsn,
}

impl PendingFiles {
    /// Redo of this room's records. `next_rel` is raised above the ids seen.
    pub fn redo(
        &mut self,
        ctx: &RedoCtx,
        record: &RecordView<'_>,
        next_rel: &mut u32,
    ) -> Result<()> {
        match record.kind {
            Kind::FILE_CREATE => {
                let rel = RelId(u32_at(record, 0)?);
                ctx.pool().files().create(rel, true)?;
                *next_rel = (*next_rel).max(rel.counter() + 1);
                self.0.insert(rel, Pending { xid: record.xid, at: record.at.start });
                Ok(())
            }
            Kind::FILE_TRUNCATE => {
                ctx.truncate(record, rank_of(record.info).ok_or_else(|| garbled(record))?)
            }
            Kind::PENDING_FILES => {
                for at in (0..record.data.len()).step_by(PENDING_BYTES) {
                    let xid = u64::from(u32_at(record, at + 4)?)
                        | u64::from(u32_at(record, at + 8)?) << 32;
                    let pending = Pending { xid: Xid(xid), at: record.at.start };
                    self.0.entry(RelId(u32_at(record, at)?)).or_insert(pending);
                }
                Ok(())
            }
            _ => Err(garbled(record)),
        }
    }

    /// The files, each with its maker.
    pub fn into_entries(self) -> impl Iterator<Item = (RelId, Xid)> {
        self.0.into_iter().map(|(rel, pending)| (rel, pending.xid))
    }

    /// Forgets those whose makers have committed, and takes out those whose makers have rolled back, to be removed.
    pub fn settle(&mut self, status: impl Fn(Xid) -> Result<Status>) -> Result<Vec<RelId>> {
        let (mut gone, mut open) = (Vec::new(), BTreeMap::new());
        for (rel, pending) in std::mem::take(&mut self.0) {
            match status(pending.xid)? {
                Status::Committed => {}
                Status::Aborted => gone.push(rel),
                Status::Unknown => drop(open.insert(rel, pending)),
            }
        }
        self.0 = open;
        Ok(gone)
    }

    /// The first record that redo must read again to know of all these files.
    pub fn oldest(&self) -> Option<Lsn> {
        self.0.values().map(|pending| pending.at).min()
    }
}

/// Bytes of an entry of a PENDING_FILES record.
const PENDING_BYTES: usize = 12;
/// Entries in one such record.
const PENDING_MAX: usize = 4096;

/// Logs the files of running transactions, in as many records as it takes.
pub fn log_pending(wal: &Wal, created: &[(RelId, Xid)]) -> Result<()> {
    for chunk in created.chunks(PENDING_MAX) {
        let mut bytes = Vec::with_capacity(chunk.len() * PENDING_BYTES);
        for (rel, xid) in chunk {
            bytes.extend_from_slice(&rel.0.to_le_bytes());
            bytes.extend_from_slice(&xid.0.to_le_bytes());
        }
        let mut claim = wal.claim_reserve(record_bound(1, 0, bytes.len()))?;
        wal.insert(&mut claim, &Record::new(Kind::PENDING_FILES, Xid::INVALID).data(&bytes));
    }
    Ok(())
}

/// Lets the transactions' manager have files removed.
pub fn serve(files: &Arc<RelationFiles>, txns: &Arc<TxnManager>) {
    let theirs = Arc::clone(files);
    txns.set_file_remover(Box::new(move |rels, after, hold| {
        theirs.remove_later(rels, after, hold)
    }));
    assert!(files.txns.set(Arc::downgrade(txns)).is_ok(), "files serve one manager");
}

/// A record that its writer can't have written.
pub(crate) fn garbled(record: &RecordView<'_>) -> Error {
    let detail = format!("the {:?} record at {} can't be read", record.kind, record.at.start);
    Error::damaged(crate::wal::segment::DIRECTORY, None, detail)
}

/// Four bytes of a record's main data.
pub(super) fn u32_at(record: &RecordView<'_>, at: usize) -> Result<u32> {
    let bytes = record.data.get(at..at + 4).ok_or_else(|| garbled(record))?;
    Ok(u32::from_le_bytes(bytes.try_into().expect("four bytes")))
}
