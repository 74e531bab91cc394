//! The bank: clients move money between accounts, open and close accounts, through a heap and a unique
//! B-tree each for accounts and for history, beside vacuum, checkpoints, and indexes that come and go.
//! Some transactions roll back, some roll back to a savepoint, some lock rows first, some commit without
//! waiting, some only look.
//!
//! Every transaction that changes balances leaves a history row, so that what must be true after a crash
//! follows from the rows alone: each account has its first balance plus what the history says, and an
//! account exists if it was there at first or opened, and not closed.

mod beside;
mod chains;
mod client;
mod entries;
mod faults;
mod history;
mod indexes;
mod keeper;
mod table;
mod upkeep;
mod verify;

pub use history::History;
use history::Promise;
pub use indexes::Keyed;
pub use table::{Changed, Table, is_conflict};

use crate::enumerate::Scenario;
use base::disk::SyncMethod;
use base::disk::sim::{SECTOR_BYTES, SimDisk};
use base::rank::Rank;
use base::{Env, Persistence, RelId, Xid};
use base::{park, sim};
use beside::Beside;
use chains::Chains;
use client::Client;
use faults::Faults;
use indexes::{HASH_FILL, Index, State, open_hash};
use keeper::Keeper;
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;
use storage::buffer::{HugePages, TornPages};
use storage::lock::LockTag;
use storage::page::PAGE_BYTES;
use storage::sequence::{Params, SequenceRel};
use storage::txlog::{MultiXactId, TxLogConfig, TxLogStart, WINDOW_PAGE, XACT_PAGE};
use storage::txn::{Isolation, Txn, When};
use storage::wal::{Compression, WalIo};
use storage::{Engine, EngineConfig};

/// Accounts there at first, and what each has.
pub const ACCOUNTS: u64 = 40;
/// First balance of an account.
pub const BALANCE: i64 = 1000;
/// What is in all accounts together.
pub const TOTAL: i64 = ACCOUNTS as i64 * BALANCE;
/// Who writes accounts locks this for it, who makes an index keeps writers away.
pub const ACCOUNTS_LOCK: LockTag = LockTag::Relation { db: 1, rel: 1 };

/// How the sequence goes.
pub const UP: Params = Params { increment: 1, min: 1, max: i64::MAX, cycle: false };

/// Who works on the queue locks this: vacuum gives the empty pages at its end back.
pub const QUEUE_LOCK: LockTag = LockTag::Relation { db: 1, rel: 2 };

/// Concurrent clients.
const CLIENTS: u64 = 4;
/// A run goes on until it has so many commits and so many writes to the disk.
const COMMITS_MIN: usize = 200;
const WRITES_MIN: usize = 500;
/// Commits of a life after a crash.
const LATER_COMMITS: usize = 16;

/// The scenario; see the module's description.
pub struct Bank;

/// A small engine: eviction, checkpoints and segment switches happen all the time. Seeds take turns in how
/// torn pages are dealt with and in how the log is written.
pub fn config(seed: u64) -> EngineConfig {
    EngineConfig {
        replacement: storage::buffer::Policy::Probation,
        shared_buffers: frames(seed),
        // Scans are a few pages ahead, which is what they may be in so few frames.
        reach: storage::buffer::Reach::default(),
        huge_pages: HugePages::Try,
        flush_after: [64, 2, 0][seed as usize % 3],
        direct_io: false,
        torn_pages: match seed % 2 {
            0 => TornPages::DoubleWrite,
            _ => TornPages::FullPageWrites,
        },
        wal_compression: Compression::Off,
        wal_buffers: 1 << 20,
        wal_insert_slots: 2,
        wal_segment_bytes: 1 << 18,
        wal_sync_method: SyncMethod::Fdatasync,
        wal_io: match seed / 2 % 2 {
            0 => WalIo::File,
            _ => WalIo::Mmap,
        },
        min_wal_bytes: 1 << 19,
        max_wal_bytes: 1 << 20,
        checkpoint_timeout: Duration::from_millis(20),
        open_files_max: 8,
        recovery_workers: [1, 3, 2][seed as usize % 3],
        recovery_prefetch: seed % 4 != 3,
        restart_every: Duration::from_micros(200),
        progress_every: Duration::from_secs(10),
        txlog: TxLogConfig {
            shared_buffers: 32,
            track_commit_timestamp: seed.is_multiple_of(3),
            first: first_ids(seed),
            first_member: [0, (1 << 32) - 40][(seed % 2) as usize],
            ..TxLogConfig::default()
        },
    }
}

/// Where ids begin: with the first, near the border of a page of each status log, beyond 32 bits, and both.
fn first_ids(seed: u64) -> TxLogStart {
    let (next_xid, next_multixact) = match seed % 4 {
        0 => return TxLogStart::FIRST,
        1 => (XACT_PAGE - 60, WINDOW_PAGE - 3),
        2 => (1 << 40 | 5, 1 << 33 | 5),
        _ => ((1 << 33) - 60, (1 << 32) - 3),
    };
    TxLogStart { next_xid: Xid(next_xid), next_multixact: MultiXactId(next_multixact) }
}

/// Frames of the cache: hardly any, or the fewest that a server can be given.
fn frames(seed: u64) -> usize {
    if seed % 5 == 4 { 16 } else { 32 }
}

/// What the keeper changes the protection of torn pages to, again and again.
fn protections(seed: u64) -> &'static [TornPages] {
    match writes_pages_whole(seed) {
        true => &[TornPages::Off, TornPages::DoubleWrite, TornPages::FullPageWrites],
        false => &[TornPages::DoubleWrite, TornPages::FullPageWrites],
    }
}

/// Whether the disk never writes half a page.
fn writes_pages_whole(seed: u64) -> bool {
    seed % 8 == 7
}

/// The machine, with this disk.
pub fn env(disk: &SimDisk) -> Env {
    Env::new(Arc::new(disk.clone()))
}

/// A session.
pub fn session(engine: &Engine) -> Txn {
    Txn::attach(engine.txns(), 1, 1).expect("sessions can be attached")
}

/// The tables.
pub struct Books {
    /// Balance by account number.
    pub accounts: Table,
    /// What happened.
    pub history: Table,
    /// Unlogged.
    pub notes: Table,
    /// Orders that come and go in batches, so that index pages become empty. With a hash index on the number.
    pub queue: Table,
    /// The accounts' indexes beside the first, by number ([`Index::decode`]).
    pub catalog: Table,
    /// Beside the tables.
    pub chains: Chains,
    /// Transactions take numbers from it.
    pub numbers: SequenceRel,
    /// Of the disk that all this is on.
    pub faults: Arc<Faults>,
}

/// Relation numbers of the queue's hash index, of the chains and of the sequence, after the tables'.
const QUEUE_HASH: u32 = 11;
const CHAINS: u32 = 12;
const NUMBERS: u32 = 13;

/// Relation number, persistence and keys of each table, in the order of [`Books`].
const LAYOUT: [(u32, Persistence, Keyed); 5] = [
    (1, Persistence::Permanent, Keyed::Number),
    (3, Persistence::Permanent, Keyed::Number),
    (5, Persistence::Unlogged, Keyed::Number),
    (7, Persistence::Permanent, Keyed::Ascending),
    (9, Persistence::Permanent, Keyed::Ascending),
];

impl Books {
    /// Makes them, and the first accounts.
    fn set_up(engine: &Arc<Engine>) -> Books {
        let txn = session(engine);
        txn.begin(Isolation::ReadCommitted);
        let tables = LAYOUT.map(|(_, persistence, keyed)| {
            Table::create(engine, &txn, persistence, keyed).expect("relations can be made")
        });
        let (index, sequence) = (Rank::IndexPage, Rank::SequencePage);
        for (number, rank) in [(QUEUE_HASH, index), (CHAINS, index), (NUMBERS, sequence)] {
            let made = engine.create_relation(&txn, Persistence::Permanent, rank);
            assert_eq!(made.expect("relations can be made").id().counter(), number);
        }
        let books = Books::of(engine, tables);
        books.numbers.create(1).expect("there is room");
        for number in 0..ACCOUNTS {
            books.accounts.insert(&txn, number, &BALANCE.to_le_bytes()).expect("accounts are new");
        }
        let done = txn.commit().expect("there is room");
        engine.wal().flush(done.must_be_durable);
        books
    }

    fn of(engine: &Arc<Engine>, [accounts, history, notes, queue, catalog]: [Table; 5]) -> Books {
        let rel = |number| RelId::new(number, Persistence::Permanent);
        let hash = open_hash(engine, rel(QUEUE_HASH), HASH_FILL);
        queue.put_index(Index::fixed(hash, Keyed::Ascending));
        let chains = Chains::open(engine, rel(CHAINS));
        let numbers = engine.pool().relation(rel(NUMBERS), Rank::SequencePage);
        let numbers = SequenceRel::new(numbers, engine.txns());
        let faults = Arc::default();
        Books { accounts, history, notes, queue, catalog, chains, numbers, faults }
    }

    /// Finds them again.
    fn open(engine: &Arc<Engine>) -> storage::Result<Books> {
        let tables = LAYOUT
            .map(|(first, persistence, keyed)| Table::open(engine, first, persistence, keyed));
        let books = Books::of(engine, tables);
        let txn = session(engine);
        txn.begin(Isolation::ReadCommitted);
        let snapshot = txn.statement_snapshot();
        let indexes = books.catalog.all(&txn, snapshot);
        txn.abort();
        for (id, row) in indexes? {
            books.accounts.put_index(Index::decode(engine, id, &row));
        }
        Ok(books)
    }

    /// Removes an index of the accounts, which nobody uses.
    fn remove_index(self: &Arc<Books>, txn: &Txn, index: &Index) -> storage::Result<()> {
        let id = index.id;
        let known = self.catalog.delete(txn, id)?;
        assert!(known.is_some(), "index {id} is in the catalog");
        txn.drop_at_commit(index.storage())?;
        let books = Arc::clone(self);
        txn.on(When::Commit, move || books.accounts.remove_index(id));
        Ok(())
    }

    /// Whether an error is one that clients roll back after, and go on.
    pub fn excuse(&self, error: &storage::Error) -> bool {
        is_conflict(error) || self.faults.excuse(error)
    }

    fn tables(&self) -> [(&'static str, &Table); 5] {
        [
            ("accounts", &self.accounts),
            ("history", &self.history),
            ("notes", &self.notes),
            ("queue", &self.queue),
            ("catalog", &self.catalog),
        ]
    }

    /// All relations there should be.
    fn relations(&self) -> impl Iterator<Item = RelId> {
        self.tables()
            .into_iter()
            .flat_map(|(_, table)| {
                let trees = table.trees().into_iter().map(|tree| tree.relation().id());
                trees.chain([table.heap.relation().id()])
            })
            .chain([self.chains.id(), self.numbers.relation().id()])
    }
}

/// Lets clients work until `enough`, with a keeper beside them.
fn work(
    engine: &Arc<Engine>,
    books: &Arc<Books>,
    seed: u64,
    protections: &'static [TornPages],
    history: History,
    enough: impl Fn(&History) -> bool + 'static,
) -> History {
    let history = Rc::new(RefCell::new(history));
    let enough = Rc::new(enough);
    let left = Rc::new(Cell::new(CLIENTS));
    for number in 0..CLIENTS {
        let mut client = Client::new(engine, books, seed, number, &history);
        let (history, enough) = (Rc::clone(&history), Rc::clone(&enough));
        let left = Rc::clone(&left);
        sim::spawn_local(move || {
            while !enough(&history.borrow()) {
                client.step();
            }
            left.set(left.get() - 1);
        });
    }
    let others = Rc::new(Cell::new(2));
    let mut keeper = Keeper::new(engine, books, seed, protections, &history);
    until_gone(&left, &others, move || keeper.step());
    let mut beside = Beside::new(engine, books, seed, &history);
    until_gone(&left, &others, move || beside.step());
    while others.get() > 0 {
        park::sleep(Duration::from_millis(1));
    }
    history.take()
}

/// Has something done again and again until no client is left.
fn until_gone(clients: &Rc<Cell<u64>>, running: &Rc<Cell<u32>>, mut step: impl FnMut() + 'static) {
    let (clients, running) = (Rc::clone(clients), Rc::clone(running));
    sim::spawn_local(move || {
        while clients.get() > 0 {
            step();
        }
        running.set(running.get() - 1);
    });
}

/// Looks at everything after a crash, and works on if there is `more` to do.
fn live_on(
    engine: &Arc<Engine>,
    seed: u64,
    history: &History,
    at: usize,
    more: bool,
) -> Result<History, String> {
    let books = Books::open(engine).map_err(|e| format!("its catalog can't be read: {e}"))?;
    let books = Arc::new(books);
    let found = verify::check(engine, &books, history, at)?;
    let mut next = history.next_life(at, &found);
    for index in books.accounts.indexes().split_off(1) {
        // What the crash has left of it counts as a window, too.
        drop(sim::window(left_behind(index.state)));
        if index.state == State::Valid {
            next.tell_index(index.name, Promise::There);
        }
    }
    let chains = books.chains.check(history.chains_by(at));
    next.tell_chains(chains.map_err(|fault| format!("chains: {fault}"))?);
    if !more {
        return verify::drop_the_broken(engine, &books).map(|()| next);
    }
    let _window = sim::window("later-life");
    upkeep::start(engine, &books);
    Ok(work(engine, &books, seed ^ at as u64, protections(seed), next, |history| {
        history.commits.len() >= LATER_COMMITS
    }))
}

/// How far an index was when a crash came.
fn left_behind(state: State) -> &'static str {
    match state {
        State::Entered => "left: an index entered",
        State::Ready => "left: an index kept up",
        State::Valid => "left: an index in use",
        State::Dead => "left: an index dead",
    }
}

impl Scenario for Bank {
    type History = History;

    fn run(&self, seed: u64, disk: &SimDisk) -> History {
        let env = env(disk);
        Engine::create(&config(seed), &env).expect("a directory can be made");
        let engine = Engine::open(&config(seed), &env).expect("and opened");
        let books = Arc::new(Books::set_up(&engine));
        upkeep::start(&engine, &books);
        let history = History { ready_at: sim::operations(), ..History::default() };
        if faults::befall(seed) {
            faults::start(&books.faults, &engine, disk, self.sector_bytes(seed), seed);
        }
        let (written, faults) = (disk.clone(), Arc::clone(&books.faults));
        let history = work(&engine, &books, seed, protections(seed), history, move |history| {
            let commits = history.commits.len();
            faults.are_survived(commits) && commits >= COMMITS_MIN && written.writes() >= WRITES_MIN
        });
        engine.shutdown().expect("it closes");
        history
    }

    fn go_on(
        &self,
        seed: u64,
        disk: &SimDisk,
        history: &History,
        at: usize,
        more: bool,
    ) -> Result<History, String> {
        // A restart may bring other settings.
        let config = config(seed + u64::from(at.is_multiple_of(3)));
        let env = env(disk);
        let unready = at < history.ready_at;
        let opening = sim::window("recovery");
        let engine = match Engine::open(&config, &env) {
            Ok(engine) => engine,
            // Before the directory is complete there is nothing to open, but one can be made.
            Err(_) if unready => {
                if !Engine::exists(&env).map_err(|e| e.to_string())? {
                    Engine::create(&config, &env).map_err(|e| format!("can't be made: {e}"))?;
                }
                return Ok(History { ready_at: usize::MAX, ..History::default() });
            }
            Err(e) => return Err(format!("it does not open: {e}")),
        };
        drop(opening);
        let next = match unready {
            true => Ok(History { ready_at: usize::MAX, ..History::default() }),
            false => live_on(&engine, seed, history, at, more),
        };
        let closed = engine.shutdown().map_err(|e| format!("it does not close: {e}"));
        next.and_then(|next| closed.map(|()| next))
    }

    fn commits(&self, history: &History) -> usize {
        history.commits.len()
    }

    fn sector_bytes(&self, seed: u64) -> usize {
        if writes_pages_whole(seed) { PAGE_BYTES } else { SECTOR_BYTES }
    }

    fn windows(&self) -> &'static [&'static str] {
        &[
            "commit-not-flushed",
            "flush-by-committer",
            "heap-inserted",
            "heap-updated-elsewhere",
            "heap-pruned",
            "vacuum",
            "heap-cut",
            "background-vacuum",
            "btree-split",
            "btree-root-split",
            "btree-build",
            "btree-page-deleted",
            "btree-page-reused",
            "btree-bottom-up",
            "btree-merge",
            "btree-shift",
            "hash-split",
            "hash-extent",
            "hash-overflow",
            "hash-page-freed",
            "hash-page-reused",
            "hash-build",
            "double-write",
            "write-in-place",
            "checkpoint",
            "protection-changed",
            "segment-created",
            "segment-reused",
            "log-switched",
            "status-page",
            "commit-times-page",
            "commit-times-removed",
            "recovery",
            "restart-point",
            "redo-behind-restart-point",
            "later-life",
            "index-entered",
            "index-build",
            "index-ready",
            "index-validation",
            "index-validated",
            "index-made",
            "index-swapped",
            "index-rebuilt",
            "index-not-valid",
            "index-dead",
            "index-dropped",
            "left: an index entered",
            "left: an index kept up",
            "left: an index in use",
            "left: an index dead",
            "left: a split open",
            "left: a bucket's split open",
            faults::FULL,
            faults::UNWRITTEN,
            faults::UNREAD,
        ]
    }
}
