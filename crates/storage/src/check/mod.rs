//! Verification across rooms: every structure by itself (their own `check`), and that heap and indexes agree.
//!
//! Run it on tables that nobody writes meanwhile: right after a start, or under a lock.

use crate::error::Result;
use crate::heap::{HeapRel, Line, RowBuf};
use crate::index::Index;
use crate::sequence::SequenceRel;
use crate::txlog::TxLog;
use base::{BlockNo, Fork, Tid};
use std::collections::BTreeMap;

/// Everything found wrong, a sentence each.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Report {
    /// The sentences.
    pub faults: Vec<String>,
    /// Pages of status logs looked at.
    pub status_pages: u64,
    /// Rows looked at.
    pub rows: u64,
    /// Index entries looked at.
    pub entries: u64,
}

/// What an index has of a row.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Content {
    /// The key.
    pub key: Vec<u8>,
    /// What the entry carries beside it.
    pub carried: Vec<u8>,
}

impl From<Vec<u8>> for Content {
    fn from(key: Vec<u8>) -> Content {
        Content { key, carried: Vec::new() }
    }
}

/// What an index should have of a row.
#[derive(Clone, Debug)]
pub struct Expected {
    /// Key, and what is carried.
    pub content: Content,
    /// Whether, in a unique index, no other live row may have the key: not if it has nulls that are distinct.
    pub alone: bool,
}

impl From<Content> for Expected {
    fn from(content: Content) -> Expected {
        Expected { content, alone: true }
    }
}

/// What an index should have of a row; `None` if it does not have it (a partial index).
///
/// # Errors
/// A sentence: it can't be worked out.
pub type ExpectedOf<'k> = dyn Fn(&[u8]) -> std::result::Result<Option<Expected>, String> + 'k;

/// An index of a table, and what it should contain.
pub struct Indexed<'k> {
    /// The index.
    pub index: &'k Index,
    /// What it should have of a row.
    pub expected_of: &'k ExpectedOf<'k>,
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
        let mut entries: BTreeMap<Tid, Vec<Content>> = BTreeMap::new();
        let mut count = 0;
        indexed.index.check(&mut |fault| report.faults.push(fault), &mut |key, carried, tid| {
            let content = Content { key: key.to_vec(), carried: carried.to_vec() };
            entries.entry(tid).or_default().push(content);
            count += 1;
        })?;
        report.entries += count;
        agree(heap, indexed, entries, report)?;
    }
    Ok(())
}

/// Verifies the files of the status logs: every sector of every page. Syncs nothing; may run beside anything.
pub fn status_logs(txlog: &TxLog, report: &mut Report) -> Result<()> {
    report.status_pages += txlog.check(&mut |fault| report.faults.push(fault))?;
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
    mut entries: BTreeMap<Tid, Vec<Content>>,
    report: &mut Report,
) -> Result<()> {
    let index = indexed.index.relation().id();
    let mut live: BTreeMap<Vec<u8>, Tid> = BTreeMap::new();
    for block in (0..heap.relation().blocks(Fork::Main)?).map(BlockNo) {
        for (i, line) in heap.lines(block)?.into_iter().enumerate() {
            let root = Tid { block, offset: i as u16 + 1 };
            let found = entries.remove(&root).unwrap_or_default();
            let mut complain = |what: String| {
                report.faults.push(format!("index {index}, row {root}: {what}"));
            };
            match line {
                Line::Dead => {}
                Line::None if found.is_empty() => {}
                Line::None => complain("an entry leads to what is no row".into()),
                Line::Root(_) => {
                    report.rows += 1;
                    if let Some(key) = entries_fault(heap, indexed, root, &found, &mut complain)?
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

/// Compares a row's versions with the entries by which the index leads to it; the live version's key, if that must be
/// alone.
///
/// An entry has the key of some version, and carries what that one has. Not always of each: an index that was built when the row had
/// several knows the newest one's only.
fn entries_fault(
    heap: &HeapRel,
    indexed: &Indexed<'_>,
    root: Tid,
    found: &[Content],
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
        let expected = match (indexed.expected_of)(buf.bytes()) {
            Ok(expected) => expected,
            // One that went before there was the index need not have been worked out ever.
            Err(_) if !version.live => continue,
            Err(why) => {
                complain(format!("its key can't be worked out: {why}"));
                return Ok(None);
            }
        };
        let expected = expected.map(|of| {
            let key = indexed.index.bytes_of(of.content.key);
            Expected { content: Content { key, ..of.content }, ..of }
        });
        if version.live {
            live.clone_from(&expected);
        }
        of_versions.extend(expected.map(|of| of.content));
    }
    let has_key = |all: &[Content], key: &[u8]| all.iter().any(|of| of.key == key);
    // A B-tree's order allows no two; a hash index's pages know nothing of each other.
    if (1..found.len()).any(|at| has_key(&found[..at], &found[at].key)) {
        complain("two entries of one key lead to it".into());
    }
    if !found.iter().all(|entry| has_key(&of_versions, &entry.key)) {
        complain("an entry has another row's key".into());
    } else if !found.iter().all(|entry| of_versions.contains(entry)) {
        complain("an entry carries what its row does not have".into());
    }
    if let Some(Expected { content: live, .. }) = &live
        && indexed.complete
    {
        if found.is_empty() {
            complain("no entry leads to it".into());
        } else if !has_key(found, &live.key) {
            complain("no entry has its newest version's key".into());
        } else if !found.contains(live) {
            complain("no entry carries what its newest version has".into());
        }
    }
    Ok(live.filter(|live| live.alone).map(|live| live.content.key))
}

#[cfg(test)]
mod tests;
