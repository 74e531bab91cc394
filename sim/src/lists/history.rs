//! What each transaction did and was told.

use base::sim;
use storage::txn::Isolation;

/// A statement's doing.
#[derive(Clone, Debug)]
pub enum Op {
    /// It read a row's list.
    Read { row: u64, list: Vec<u32>, begun: u64 },
    /// It appended a value.
    Append { row: u64, value: u32 },
}

/// How a transaction ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum End {
    /// It was still running when the run ended, or its end is not known.
    Open,
    /// It committed: others could see it from this moment on.
    Committed(u64),
    RolledBack,
}

/// One transaction.
#[derive(Clone, Debug)]
pub struct Transaction {
    pub level: Isolation,
    /// Before its first statement.
    pub begun: u64,
    /// What was not taken back by a savepoint.
    pub ops: Vec<Op>,
    pub end: End,
    /// Its client was told of it after so many disk operations.
    pub told_at: Option<usize>,
}

/// All that happened. Moments are counted: everything runs on one thread, so one is before the other.
#[derive(Clone, Debug, Default)]
pub struct History {
    /// When the rows were durable, in disk operations.
    pub ready_at: usize,
    /// The last moment.
    pub now: u64,
    pub transactions: Vec<Transaction>,
    /// Values whose appending was taken back.
    pub undone: Vec<u32>,
    /// The lists in the end.
    pub last: Vec<Vec<u32>>,
}

/// A stored list.
pub fn values(payload: &[u8]) -> Vec<u32> {
    payload.as_chunks().0.iter().map(|bytes| u32::from_le_bytes(*bytes)).collect()
}

impl History {
    /// The next moment.
    pub fn tick(&mut self) -> u64 {
        self.now += 1;
        self.now
    }

    /// A transaction begins; its place.
    pub fn begin(&mut self, level: Isolation) -> usize {
        let begun = self.tick();
        let (ops, end) = (Vec::new(), End::Open);
        self.transactions.push(Transaction { level, begun, ops, end, told_at: None });
        self.transactions.len() - 1
    }

    /// A client was told of its transaction just now.
    pub fn tell(&mut self, transaction: usize) {
        self.transactions[transaction].told_at = Some(sim::operations());
    }

    /// How many committed.
    pub fn commits(&self) -> usize {
        let committed = |t: &&Transaction| matches!(t.end, End::Committed(_));
        self.transactions.iter().filter(committed).count()
    }

    /// What holds from a crash on: what was told before it, and what was found.
    pub fn after_crash(&self, at: usize, found: Vec<Vec<u32>>) -> History {
        let mut next = self.clone();
        next.ready_at = 0;
        next.last = found;
        for transaction in &mut next.transactions {
            let told = transaction.told_at.is_some_and(|told| told <= at);
            transaction.told_at = told.then_some(0);
        }
        next
    }
}
