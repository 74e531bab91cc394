//! The engine's background worker, at the accounts and the queue, as SQL would have it.

use super::{ACCOUNTS_LOCK, Books, QUEUE_LOCK, session};
use base::{Fork, RelId, sim};
use std::sync::Arc;
use storage::buffer::Relation;
use storage::heap::{Limits, Threshold};
use storage::lock::{LockMode, LockScope, LockTag, WaitPolicy};
use storage::txn::{Isolation, Txn};
use storage::vacuum::{Alone, Clean, HandedOver, IndexCleanup, Opened};
use storage::{Engine, Error, Result};

/// Starts it. What makes a table due is little: runs are short.
pub fn start(engine: &Arc<Engine>, books: &Arc<Books>) {
    let few = Threshold { rows: 20, share: 0.05 };
    let limits = Limits { ended: few, inserted: Some(few), ..Limits::default() };
    engine.upkeep_limits().set(limits);
    let mut tables = Vec::new();
    for (table, tag) in [(&books.accounts, ACCOUNTS_LOCK), (&books.queue, QUEUE_LOCK)] {
        let queue = Arc::clone(engine.vacuum_queue());
        let heap = &table.heap;
        heap.tell_when_due(engine.upkeep_limits(), move |rel| queue.push(rel));
        tables.push((heap.relation().id(), tag));
    }
    let faults = Arc::clone(&books.faults);
    let failed = move |rel: RelId, error: &Error| {
        let is_excused = faults.excuse(error);
        assert!(is_excused, "background vacuum of relation {rel} failed: {error}");
    };
    // Weak: the engine has the worker.
    let (theirs, books) = (Arc::downgrade(engine), Arc::clone(books));
    let open = move |rel: RelId, clean: &mut Clean<'_>| {
        let found = tables.iter().find(|(id, _)| *id == rel);
        let (Some(engine), Some((_, tag))) = (theirs.upgrade(), found) else { return Opened::No };
        hand_over(&engine, &books, *tag, clean)
    };
    engine.start_vacuum(2, Box::new(open), Box::new(|_| Opened::No), failed);
}

fn hand_over(engine: &Arc<Engine>, books: &Books, tag: LockTag, clean: &mut Clean<'_>) -> Opened {
    let txn = session(engine);
    txn.begin(Isolation::ReadCommitted);
    let policy = WaitPolicy::Never;
    let scope = LockScope::Transaction;
    if txn.locks().lock(tag, LockMode::ShareUpdateExclusive, scope, policy).is_err() {
        return Opened::Busy;
    }
    let _window = sim::window("background-vacuum");
    let waited_for = || engine.txns().locks().is_waited_for(&tag);
    let table = if tag == QUEUE_LOCK { &books.queue } else { &books.accounts };
    let done = alone_with(engine, &txn, tag, |alone| {
        // As they are under the lock (V4): what was made or dropped before is known.
        let trees = table.trees();
        clean(&HandedOver {
            heap: &table.heap,
            indexes: &trees,
            index_cleanup: IndexCleanup::Auto,
            waited_for: &waited_for,
            alone: (tag == QUEUE_LOCK).then_some(alone),
        });
        Ok(())
    });
    done.expect("nothing in it fails");
    Opened::Yes
}

/// Runs `work` with the means to give empty pages back.
pub fn alone_with(
    engine: &Arc<Engine>,
    txn: &Txn,
    tag: LockTag,
    work: impl FnOnce(&Alone<'_>) -> Result<()>,
) -> Result<()> {
    let mode = LockMode::AccessExclusive;
    let take = || match txn.locks().lock(tag, mode, LockScope::Session, WaitPolicy::Never) {
        Ok(_) => Ok(true),
        Err(Error::LockNotAvailable) => Ok(false),
        Err(other) => Err(other),
    };
    let give = || {
        txn.locks().unlock(tag, mode);
    };
    let waited_for = || engine.txns().locks().is_waited_for(&tag);
    let cut = |rel: &Relation, blocks| engine.files().truncate(rel, Fork::Main, blocks);
    work(&Alone { take: &take, give: &give, waited_for: &waited_for, cut: &cut })
}
