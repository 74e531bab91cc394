//! A bank on heap and B-tree: concurrent transfers, crashes at every kind of disk operation, and then: what
//! was acknowledged is there, sums are right, structures are sound.

use super::*;
use crate::btree::{BTree, NewEntry};
use crate::heap::{Change, HeapRel, HeapScan, Outcome, RowBuf};
use crate::txn::Isolation;
use base::Tid;
use base::env::Background;
use std::collections::BTreeMap;
use std::sync::Mutex;

const ACCOUNTS: u64 = 40;
const CLIENTS: u64 = 4;
const TRANSFERS: u64 = 25;
/// Ids of the relations, in the order in which they are made.
const RELS: [RelId; 4] = [RelId(1), RelId(2), RelId(3), RelId(4)];

struct Bank {
    engine: Arc<Engine>,
    accounts: HeapRel,
    by_id: BTree,
    history: HeapRel,
    by_number: BTree,
}

impl Bank {
    fn open(engine: Arc<Engine>) -> Bank {
        let heap = |rel| {
            let rel = engine.pool().relation(rel, Rank::HeapPage);
            HeapRel::new(rel, engine.txns(), 90)
        };
        let tree = |rel| BTree::new(engine.pool().relation(rel, Rank::IndexPage), engine.txns());
        Bank {
            accounts: heap(RELS[0]),
            by_id: tree(RELS[1]),
            history: heap(RELS[2]),
            by_number: tree(RELS[3]),
            engine,
        }
    }

    fn create(engine: Arc<Engine>) -> Bank {
        let txn = begin(&engine);
        for (rel, rank) in RELS.iter().zip([Rank::HeapPage, Rank::IndexPage].repeat(2)) {
            let made = engine.create_relation(&txn, Persistence::Permanent, rank).unwrap();
            assert_eq!(made.id(), *rel);
        }
        let bank = Bank::open(engine);
        for id in 0..ACCOUNTS {
            let tid = bank.accounts.insert(&txn, &account(id, 0)).unwrap();
            bank.by_id.insert(NewEntry::plain(&id.to_be_bytes(), tid)).unwrap();
        }
        bank.engine.wal().flush(txn.commit().unwrap().must_be_durable);
        bank
    }

    /// Adds to a balance; waits for whoever has the row.
    fn add(&self, txn: &Txn, id: u64, delta: i64) -> Result<()> {
        let mut tids = Vec::new();
        self.by_id.lookup(&id.to_be_bytes(), &mut tids)?;
        let snapshot = txn.statement_snapshot();
        let mut row = RowBuf::new();
        let mut found = None;
        for tid in tids {
            if self.accounts.fetch(txn, &snapshot, tid, &mut row)? {
                found = Some(row.tid());
                break;
            }
        }
        let mut tid: Tid = found.expect("every account is there");
        let (mut balance, mut turn) = (balance_of(row.bytes()), None);
        loop {
            let new = account(id, balance + delta);
            let change = Change { hot: true, key: false };
            match self.accounts.update(txn, tid, &new, change, turn)? {
                Outcome::Done { tid: new, heap_only } => {
                    if !heap_only {
                        self.by_id.insert(NewEntry::plain(&id.to_be_bytes(), new))?;
                    }
                    break;
                }
                Outcome::Updated { newest, turn: again } => {
                    assert!(self.accounts.fetch_version(newest, &mut row)?);
                    (tid, balance, turn) = (newest, balance_of(row.bytes()), again);
                }
                other => panic!("nobody deletes accounts: {other:?}"),
            }
        }
        txn.release_statement();
        txn.next_command()
    }

    /// One transfer between two accounts, entered into the history under `number`.
    fn transfer(&self, txn: &Txn, number: u64, rng: &mut fastrand::Rng) -> Result<()> {
        let (mut low, mut high) = (rng.u64(..ACCOUNTS), rng.u64(..ACCOUNTS - 1));
        if high >= low {
            high += 1;
        } else {
            std::mem::swap(&mut low, &mut high);
        }
        let amount = rng.i64(1..100);
        if rng.u8(..4) == 0 {
            let level = txn.savepoint();
            self.add(txn, low, 1_000_000)?;
            txn.rollback_to(level);
            txn.release(level);
        }
        self.add(txn, low, -amount)?;
        self.add(txn, high, amount)?;
        let row =
            [number.to_be_bytes(), low.to_be_bytes(), high.to_be_bytes(), amount.to_be_bytes()];
        let tid = self.history.insert(txn, &[&row.concat()[..], &[1; 200]].concat())?;
        self.by_number.insert(NewEntry::plain(&number.to_be_bytes(), tid))
    }

    /// Everything that must hold whenever nobody is at work; answers the transfers that are there.
    fn verify(&self) -> Vec<u64> {
        let mut faults = Vec::new();
        let mut report = |fault: String| faults.push(fault);
        self.accounts.check(&mut report).unwrap();
        self.history.check(&mut report).unwrap();
        let txn = begin(&self.engine);
        let snapshot = txn.statement_snapshot();
        let mut entries: [Vec<(Vec<u8>, Tid)>; 2] = Default::default();
        for (tree, entries) in [&self.by_id, &self.by_number].into_iter().zip(&mut entries) {
            tree.check(&mut report, &mut |key, _, tid| entries.push((key.to_vec(), tid))).unwrap();
        }
        assert!(faults.is_empty(), "{faults:?}");
        let mut balances: BTreeMap<u64, i64> = (0..ACCOUNTS).map(|id| (id, 0)).collect();
        let mut numbers = Vec::new();
        let mut scan = HeapScan::new(&self.history, snapshot).unwrap();
        while let Some(row) = scan.next(&self.history, &txn).unwrap() {
            let field = |i: usize| u64::from_be_bytes(row.bytes[i * 8..][..8].try_into().unwrap());
            numbers.push(field(0));
            *balances.get_mut(&field(1)).unwrap() -= field(3) as i64;
            *balances.get_mut(&field(2)).unwrap() += field(3) as i64;
        }
        let mut row = RowBuf::new();
        let mut reached = |heap: &HeapRel, entries: &[(Vec<u8>, Tid)], key: u64| {
            let with_key = entries.iter().filter(|(k, _)| *k == key.to_be_bytes());
            let mut rows = BTreeMap::new();
            for (_, tid) in with_key {
                if heap.fetch(&txn, &snapshot, *tid, &mut row).unwrap() {
                    rows.insert(row.tid(), row.bytes().to_vec());
                }
            }
            assert_eq!(rows.len(), 1, "key {key} leads to one row");
            rows.into_values().next().expect("just counted")
        };
        for (id, expected) in &balances {
            let found = reached(&self.accounts, &entries[0], *id);
            assert_eq!(balance_of(&found), *expected, "account {id}");
        }
        for number in &numbers {
            assert_eq!(reached(&self.history, &entries[1], *number)[..8], number.to_be_bytes());
        }
        txn.commit().unwrap();
        numbers.sort_unstable();
        assert!(numbers.windows(2).all(|pair| pair[0] != pair[1]), "{numbers:?}");
        numbers
    }
}

fn account(id: u64, balance: i64) -> Vec<u8> {
    [&id.to_be_bytes()[..], &balance.to_be_bytes(), &[7; 120]].concat()
}

fn balance_of(row: &[u8]) -> i64 {
    i64::from_be_bytes(row[8..16].try_into().unwrap())
}

fn bank_config(torn_pages: TornPages) -> EngineConfig {
    EngineConfig {
        shared_buffers: crate::rig::frames(48),
        torn_pages,
        wal_buffers: 2 * wal::BUFFER_BYTES_MIN,
        ..config()
    }
}

/// (operations of the disk, number): durable from then on. Number `u64::MAX` is the bank itself.
pub(super) type Acks = Vec<(usize, u64)>;

pub(super) fn run(disk: &SimDisk, seed: u64, torn_pages: TornPages) -> Acks {
    take_turns(seed);
    let disk = disk.clone();
    sim::run(seed, move || {
        let env = env(&disk);
        let config = bank_config(torn_pages);
        Engine::create(&config, &env).unwrap();
        let engine = Engine::open(&config, &env).unwrap();
        let bank = Arc::new(Bank::create(Arc::clone(&engine)));
        let acks = Arc::new(Mutex::new(vec![(disk.operations(), u64::MAX)]));
        let clients: Vec<Background> = (0..CLIENTS)
            .map(|client| {
                let (bank, disk, acks) = (Arc::clone(&bank), disk.clone(), Arc::clone(&acks));
                env.spawn("client", move || work(&bank, &disk, &acks, client, seed))
            })
            .collect();
        clients.into_iter().for_each(Background::join);
        assert_eq!(bank.verify().len(), acks.lock().unwrap().len() - 1);
        engine.shutdown().unwrap();
        Arc::try_unwrap(acks).unwrap().into_inner().unwrap()
    })
}

fn work(bank: &Bank, disk: &SimDisk, acks: &Mutex<Acks>, client: u64, seed: u64) {
    let mut rng = fastrand::Rng::with_seed(seed * CLIENTS + client);
    let txn = Txn::attach(bank.engine.txns(), client as i32, 1).unwrap();
    for i in 0..TRANSFERS {
        let number = client * TRANSFERS + i;
        txn.begin(Isolation::ReadCommitted);
        bank.transfer(&txn, number, &mut rng).unwrap();
        if rng.u8(..8) == 0 {
            txn.abort();
            continue;
        }
        let lsn = txn.commit().unwrap().must_be_durable;
        bank.engine.wal().flush(lsn);
        acks.lock().unwrap().push((disk.operations(), number));
        if rng.u8(..40) == 0 {
            bank.engine.checkpoint().unwrap();
        }
    }
}

fn recovered(disk: &SimDisk, at: usize, acks: &Acks, torn_pages: TornPages) {
    take_turns(at as u64 / 2);
    let (disk, acks) = (disk.clone(), acks.clone());
    sim::run(at as u64, move || {
        let env = env(&disk);
        let acknowledged = |(since, _): &&(usize, u64)| *since <= at;
        if !acks.first().as_ref().is_some_and(acknowledged) {
            return;
        }
        let engine = Engine::open(&bank_config(torn_pages), &env).unwrap();
        let bank = Bank::open(Arc::clone(&engine));
        let there = bank.verify();
        for (_, number) in acks.iter().skip(1).filter(acknowledged) {
            assert!(there.binary_search(number).is_ok(), "transfer {number} is lost");
        }
        let txn = begin(&engine);
        bank.transfer(&txn, 1_000_000, &mut fastrand::Rng::with_seed(1)).unwrap();
        txn.commit().unwrap();
        assert_eq!(bank.verify().len(), there.len() + 1);
        drop(txn);
        engine.shutdown().unwrap();
    });
}

fn crash_everywhere(seeds: std::ops::Range<u64>, every: usize, torn_pages: TornPages) {
    for seed in seeds {
        let disk = SimDisk::new();
        let acks = run(&disk, seed, torn_pages);
        let mut crashes = disk.crashes();
        let mut rng = fastrand::Rng::with_seed(seed);
        for at in (seed as usize % every..=disk.operations()).step_by(every) {
            crashes.advance_to(at);
            recovered(&crashes.image(&mut rng), at, &acks, torn_pages);
        }
    }
}

#[test]
fn a_bank_survives_crashes_behind_a_double_write_area() {
    crash_everywhere(0..3, 11, TornPages::DoubleWrite);
}

#[test]
fn a_bank_survives_crashes_with_page_images_in_the_log() {
    crash_everywhere(10..13, 11, TornPages::FullPageWrites);
}
