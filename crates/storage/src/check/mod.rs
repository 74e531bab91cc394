//! Verification across rooms: every structure by itself (their own `check`), and that heap and indexes agree.
//!
//! Run it on tables that nobody writes meanwhile: right after a start, or under a lock.

use crate::error::Result;
use crate::heap::{HeapRel, Line, RowBuf};
use crate::index::Index;
use crate::sequence::SequenceRel;
use base::{BlockNo, Fork, Tid};
use std::collections::BTreeMap;

/// Everything found wrong, a sentence each.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Report {
    /// The sentences.
    pub faults: Vec<String>,
    /// Rows looked at.
    pub rows: u64,
    /// Index entries looked at.
    pub entries: u64,
}

/// A row's key in an index; `None` if the index does not have it (a partial index).
pub type KeyOf<'k> = dyn Fn(&[u8]) -> Option<Vec<u8>> + 'k;

/// An index of a table, and what it should contain.
pub struct Indexed<'k> {
    /// The index.
    pub index: &'k Index,
    /// The key of a row in it.
    pub key_of: &'k KeyOf<'k>,
    /// Whether two live rows may not have the same key.
    pub unique: bool,
    /// Whether it must have an entry for every row; what is there must be right in any case.
    pub complete: bool,
}

/// Verifies a table: the heap, its indexes, and that each index has an entry for every row that may be seen,
/// under its key, and no entry that leads to another row.
pub fn table(heap: &HeapRel, indexes: &[Indexed<'_>], report: &mut Report) -> Result<()> {
    heap.check(&mut |fault| report.faults.push(fault))?;
    for indexed in indexes {
        let mut entries: BTreeMap<Tid, Vec<Vec<u8>>> = BTreeMap::new();
        let mut count = 0;
        indexed.index.check(&mut |fault| report.faults.push(fault), &mut |key, tid| {
            entries.entry(tid).or_default().push(key.to_vec());
            count += 1;
        })?;
        report.entries += count;
        agree(heap, indexed, entries, report)?;
    }
    Ok(())
}

/// Verifies a sequence.
pub fn sequence(sequence: &SequenceRel, report: &mut Report) -> Result<()> {
    sequence.check(&mut |fault| report.faults.push(fault))
}

/// Compares the rows of a heap with the entries of an index, by TID.
fn agree(
    heap: &HeapRel,
    indexed: &Indexed<'_>,
    mut entries: BTreeMap<Tid, Vec<Vec<u8>>>,
    report: &mut Report,
) -> Result<()> {
    let index = indexed.index.relation().id();
    let mut live: BTreeMap<Vec<u8>, Tid> = BTreeMap::new();
    for block in (0..heap.relation().blocks(Fork::Main)?).map(BlockNo) {
        for (i, line) in heap.lines(block)?.into_iter().enumerate() {
            let root = Tid { block, offset: i as u16 + 1 };
            let keys = entries.remove(&root).unwrap_or_default();
            let mut complain = |what: String| {
                report.faults.push(format!("index {index}, row {root}: {what}"));
            };
            match line {
                Line::Dead => {}
                Line::None if keys.is_empty() => {}
                Line::None => complain("an entry leads to what is no row".into()),
                Line::Root(_) => {
                    report.rows += 1;
                    if let Some(key) = entries_fault(heap, indexed, root, &keys, &mut complain)?
                        && indexed.unique
                        && let Some(other) = live.insert(key, root)
                    {
                        complain(format!("its key is unique, but row {other} has it, too"));
                    }
                }
            }
        }
    }
    for root in entries.keys() {
        report.faults.push(format!("index {index}: an entry leads to {root}, where no line is"));
    }
    Ok(())
}

/// Compares a row's versions with the keys under which the index leads to it; the live version's key.
///
/// An entry has the key of some version. Not always of each: an index that was built when the row had
/// several knows the newest one's only.
fn entries_fault(
    heap: &HeapRel,
    indexed: &Indexed<'_>,
    root: Tid,
    keys: &[Vec<u8>],
    complain: &mut dyn FnMut(String),
) -> Result<Option<Vec<u8>>> {
    let mut buf = RowBuf::new();
    let mut of_versions = Vec::new();
    let mut live = None;
    for version in heap.versions(root)? {
        if !heap.fetch_version(version.tid, &mut buf)? {
            complain("its version is not there".into());
            return Ok(None);
        }
        let key = (indexed.key_of)(buf.bytes()).map(|key| indexed.index.bytes_of(key));
        if version.live {
            live.clone_from(&key);
        }
        of_versions.extend(key);
    }
    if !keys.iter().all(|key| of_versions.contains(key)) {
        complain("an entry has another row's key".into());
    }
    if let Some(key) = &live
        && indexed.complete
    {
        if keys.is_empty() {
            complain("no entry leads to it".into());
        } else if !keys.contains(key) {
            complain("no entry has its newest version's key".into());
        }
    }
    Ok(live)
}

#[cfg(test)]
mod tests;
