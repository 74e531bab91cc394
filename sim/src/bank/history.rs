//! What a run has told, and what it has done: the promises that a crash must not break.

use super::chains::Span;
use base::Csn;
use base::sim;
use std::collections::{BTreeMap, BTreeSet};

/// What a client was told of a transaction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Told {
    /// It is committed: the client's own, or one whose work it saw. Its history row is there for good.
    Committed(u64),
    /// It is rolled back, or was lost in an earlier crash; its history row must never show.
    RolledBack(u64),
}

/// A reply with the number of disk operations done when it was given.
#[derive(Clone, Copy, Debug)]
pub struct Reply {
    /// What was told.
    pub told: Told,
    /// When, in disk operations.
    pub at: usize,
}

/// A commit that was made; it may be lost again until somebody is told.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Commit {
    /// Its place in the log.
    pub csn: Csn,
    /// Its history row.
    pub id: u64,
    /// Whether its session waits until it is durable.
    pub synchronous: bool,
}

/// What was told of an index by its name.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Promise {
    /// A valid index has it.
    There,
    /// No index has it.
    Gone,
    /// Somebody is at it.
    Nothing,
}

/// All that is known of a run.
#[derive(Clone, Default)]
pub struct History {
    /// How many times the bank was started before.
    pub life: u64,
    /// When the tables and first accounts were durable.
    pub ready_at: usize,
    /// In the order in which they were given.
    pub replies: Vec<Reply>,
    /// This run's commits, told or not: a crash may take the last ones, and none before them.
    pub commits: Vec<Commit>,
    /// What was told of the chains' entries, and when, in disk operations.
    pub chains: Vec<(Span, usize)>,
    /// What was told of indexes, and when, in disk operations.
    pub indexes: Vec<(u64, Promise, usize)>,
    /// The numbers of the sequence that transactions took, by history row; of earlier lives, too.
    pub taken: BTreeMap<u64, i64>,
    /// Every number that was ever given to a history row or an account.
    pub numbers: BTreeSet<u64>,
}

impl History {
    /// A client was told something just now.
    pub fn tell(&mut self, told: Told) {
        self.replies.push(Reply { told, at: sim::operations() });
    }

    /// What is in the chains, from now on.
    pub fn tell_chains(&mut self, span: Span) {
        self.chains.push((span, sim::operations()));
    }

    /// What is so of an index's name, from now on.
    pub fn tell_index(&mut self, name: u64, promise: Promise) {
        self.indexes.push((name, promise, sim::operations()));
    }

    /// What must be so of indexes' names after a crash at disk operation `at`.
    pub fn indexes_by(&self, at: usize) -> BTreeMap<u64, Promise> {
        let told = self.indexes.iter().filter(|(_, _, told_at)| *told_at <= at);
        told.map(|(name, promise, _)| (*name, *promise)).collect()
    }

    /// What is in the chains after a crash at disk operation `at`.
    pub fn chains_by(&self, at: usize) -> Span {
        let told = self.chains.iter().rfind(|(_, told_at)| *told_at <= at);
        told.map_or_else(Span::default, |(span, _)| *span)
    }

    /// The history of the next life, after a crash at disk operation `at`. What was told before it holds all
    /// along; from now on, what was found is there for good, and the rest is gone.
    pub fn next_life(&self, at: usize, found: &BTreeSet<u64>) -> History {
        let mut next = History {
            life: self.life + 1,
            replies: self.told_by(at).map(|told| Reply { told, at: 0 }).collect(),
            numbers: self.numbers.clone(),
            // Which of them are there after the next crash is for that to say: it may come before the first word.
            taken: self.taken.clone(),
            chains: vec![(self.chains_by(at), 0)],
            indexes: self.indexes_by(at).into_iter().map(|(name, told)| (name, told, 0)).collect(),
            ..History::default()
        };
        for &number in &self.numbers {
            next.tell(match found.contains(&number) {
                true => Told::Committed(number),
                false => Told::RolledBack(number),
            });
        }
        next
    }

    /// The largest number of the sequence that a transaction took that is there (`found`).
    pub fn taken_by(&self, found: &BTreeSet<u64>) -> i64 {
        let there = self.taken.iter().filter(|(id, _)| found.contains(id));
        there.map(|(_, number)| *number).max().unwrap_or(0)
    }

    /// What holds after a crash at disk operation `at`.
    pub fn told_by(&self, at: usize) -> impl Iterator<Item = Told> {
        self.replies.iter().filter(move |reply| reply.at <= at).map(|reply| reply.told)
    }
}
