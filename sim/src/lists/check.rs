//! Looks a history through for what its levels forbid.
//!
//! Transaction B depends on A if B's value follows A's in a list (*ww*), if B read a list that ends with A's
//! value (*wr*), or if A was over before B began (*real time*); A *anti-depends* on B (*rw*) if A read a list
//! that B then made longer. At READ COMMITTED no circle of dependencies may be (G0, G1c), nor may anybody read
//! what was rolled back (G1a) or what was not all of it (G1b); what had committed when a statement began, the
//! statement reads. At REPEATABLE READ there is besides no circle with a single anti-dependency of such a
//! transaction (G-single, and with it the lost update): what its snapshot lacks came after everything it saw.

use super::ROWS;
use super::history::{End, History, Op, Transaction};
use std::collections::{BTreeMap, BTreeSet};
use storage::txn::Isolation;

/// Who appended a value, where.
struct Append {
    by: usize,
    row: u64,
}

struct Graph<'h> {
    history: &'h History,
    appended: BTreeMap<u32, Append>,
    undone: BTreeSet<u32>,
    /// Dependencies but for those of real time: who depends on the key.
    later: BTreeMap<usize, BTreeSet<usize>>,
    /// Anti-dependencies of REPEATABLE READ: who read, who came behind it.
    anti: Vec<(usize, usize)>,
}

/// Looks through a whole run.
pub fn history(history: &History) -> Result<(), String> {
    let mut graph = Graph::of(history);
    for row in 0..ROWS {
        graph.order(row)?;
    }
    for (number, transaction) in history.transactions.iter().enumerate() {
        graph.reads(number, transaction)?;
    }
    graph.circles()
}

/// After a crash: what was told is there, nothing else is there but what was on its way, and in its order.
pub fn crash(history: &History, found: &[Vec<u32>], at: usize) -> Result<(), String> {
    let graph = Graph::of(history);
    for (row, list) in found.iter().enumerate() {
        if !history.last[row].starts_with(list) {
            return Err(format!("row {row} holds {list:?} after the crash, which never was"));
        }
    }
    for (number, transaction) in history.transactions.iter().enumerate() {
        let told = transaction.told_at.is_some_and(|told| told <= at);
        let appended = transaction.ops.iter().filter_map(|op| match op {
            Op::Append { row, value } => Some((*row, *value)),
            Op::Read { .. } => None,
        });
        let there = |(row, value): (u64, u32)| found[row as usize].contains(&value);
        let there: BTreeSet<bool> = appended.map(there).collect();
        if there.len() > 1 {
            return Err(format!("half of transaction {number} survived the crash"));
        }
        if told && there.contains(&false) {
            return Err(format!("transaction {number} was told committed and is gone"));
        }
        for op in transaction.ops.iter().filter(|_| told) {
            let Op::Read { row, list, .. } = op else { continue };
            let others = list.iter().filter(|value| graph.appended[value].by != number);
            if let Some(lost) = others.clone().find(|value| !found[*row as usize].contains(value)) {
                return Err(format!("value {lost} was shown to {number}, and the crash took it"));
            }
        }
    }
    Ok(())
}

impl<'h> Graph<'h> {
    fn of(history: &'h History) -> Graph<'h> {
        let mut appended = BTreeMap::new();
        for (by, transaction) in history.transactions.iter().enumerate() {
            for op in &transaction.ops {
                if let Op::Append { row, value } = op {
                    appended.insert(*value, Append { by, row: *row });
                }
            }
        }
        let undone = history.undone.iter().copied().collect();
        Graph { history, appended, undone, later: BTreeMap::new(), anti: Vec::new() }
    }

    fn depends(&mut self, on: usize, who: usize) {
        if on != who {
            self.later.entry(on).or_default().insert(who);
        }
    }

    fn transaction(&self, number: usize) -> &'h Transaction {
        &self.history.transactions[number]
    }

    fn committed_at(&self, number: usize) -> Option<u64> {
        match self.transaction(number).end {
            End::Committed(at) => Some(at),
            End::Open | End::RolledBack => None,
        }
    }

    /// A row's versions in the end: nothing of what was rolled back, everything of what was not.
    fn order(&mut self, row: u64) -> Result<(), String> {
        let history = self.history;
        let list = &history.last[row as usize];
        let there: BTreeSet<u32> = list.iter().copied().collect();
        if there.len() < list.len() {
            return Err(format!("row {row} holds a value twice: {list:?}"));
        }
        for value in list {
            let known = self.appended.get(value);
            let known = known.filter(|append| append.row == row && !self.undone.contains(value));
            if known.and_then(|append| self.committed_at(append.by)).is_none() {
                return Err(format!("row {row} holds {value}, which was rolled back"));
            }
        }
        for (value, append) in self.appended.iter().filter(|(_, append)| append.row == row) {
            if self.committed_at(append.by).is_some() && !there.contains(value) {
                return Err(format!("row {row} lost {value}, which was committed"));
            }
        }
        for pair in list.windows(2) {
            let (before, after) = (self.appended[&pair[0]].by, self.appended[&pair[1]].by);
            self.depends(before, after);
        }
        Ok(())
    }

    fn reads(&mut self, number: usize, transaction: &'h Transaction) -> Result<(), String> {
        let mut own: BTreeMap<u64, Vec<u32>> = BTreeMap::new();
        for op in &transaction.ops {
            match op {
                Op::Append { row, value } => own.entry(*row).or_default().push(*value),
                Op::Read { row, list, begun } => {
                    let from = match transaction.level {
                        Isolation::ReadCommitted => *begun,
                        Isolation::RepeatableRead => transaction.begun,
                    };
                    let mine = own.get(row).map_or(&[][..], Vec::as_slice);
                    let said = |what: &str| format!("{number} read {list:?} in row {row}: {what}");
                    let Some(seen) = list.strip_suffix(mine) else {
                        return Err(said("its own values are not at the end"));
                    };
                    self.read(number, *row, seen, from).map_err(|what| said(&what))?;
                }
            }
        }
        Ok(())
    }

    /// One read of others' values.
    fn read(&mut self, number: usize, row: u64, seen: &[u32], from: u64) -> Result<(), String> {
        let order = &self.history.last[row as usize];
        for value in seen {
            let by = self.appended.get(value).filter(|_| !self.undone.contains(value));
            if by.is_none_or(|append| self.committed_at(append.by).is_none()) {
                return Err(format!("{value} was rolled back (G1a)"));
            }
        }
        if !order.starts_with(seen) {
            return Err(format!("the row came to hold {order:?} (G0)"));
        }
        let next = order.get(seen.len()).map(|value| self.appended[value].by);
        let last = seen.last().map(|value| self.appended[value].by);
        if next.is_some() && next == last {
            return Err("and not the rest of the same transaction's values (G1b)".to_owned());
        }
        let missed = order[seen.len()..].iter().find(|value| {
            let by = self.appended[value].by;
            by != number && self.committed_at(by).is_some_and(|at| at < from)
        });
        if let Some(missed) = missed {
            return Err(format!("{missed} had been committed before"));
        }
        if let Some(last) = last {
            self.depends(last, number);
        }
        // The first foreign value behind what was seen.
        let behind = order[seen.len()..].iter().map(|value| self.appended[value].by);
        if self.transaction(number).level == Isolation::RepeatableRead
            && let Some(behind) = behind.into_iter().find(|by| *by != number)
        {
            self.anti.push((number, behind));
        }
        Ok(())
    }

    /// Whom a committed transaction's end, or what it did, comes before.
    fn after(&self, number: usize) -> impl Iterator<Item = usize> {
        let known = self.later.get(&number).into_iter().flatten().copied();
        let end = self.committed_at(number).unwrap_or(u64::MAX);
        let all = self.history.transactions.iter().enumerate();
        known.chain(all.filter(move |(_, t)| t.begun > end).map(|(number, _)| number))
    }

    /// The shortest way of dependencies from one to another.
    fn way(&self, from: usize, to: usize) -> Option<Vec<usize>> {
        let mut came_from = BTreeMap::new();
        let mut next = std::collections::VecDeque::from([from]);
        while let Some(at) = next.pop_front() {
            for follower in self.after(at) {
                if follower == to {
                    let mut way = vec![to, at];
                    let mut step = at;
                    while step != from {
                        step = came_from[&step];
                        way.push(step);
                    }
                    way.reverse();
                    return Some(way);
                }
                // What did not commit has no effect on others.
                if self.committed_at(follower).is_some()
                    && follower != from
                    && !came_from.contains_key(&follower)
                {
                    came_from.insert(follower, at);
                    next.push_back(follower);
                }
            }
        }
        None
    }

    fn circles(&self) -> Result<(), String> {
        for number in 0..self.history.transactions.len() {
            if self.committed_at(number).is_some()
                && let Some(way) = self.way(number, number)
            {
                return Err(format!("transactions {way:?} each depend on the one before (G1c)"));
            }
        }
        for (reader, behind) in &self.anti {
            if let Some(way) = self.way(*behind, *reader) {
                return Err(format!(
                    "{reader} read what came before {behind}, and depends on it by way of {way:?} (G-single)"
                ));
            }
        }
        Ok(())
    }
}
