//! Rows in their order, in memory as far as they fit.

use std::sync::Arc;

use crate::error::Result;
use crate::types::Datum;

use super::file::SpillFile;
use super::size::row_bytes;
use super::space::TempSpace;
use super::spool::{Place, Spool};

/// Every so many rows in the file the place of one is remembered.
const MARK_ROWS: usize = 64;

/// Rows to be read again, any number of times and from any one on. The first ones are in memory; once the
/// limit is reached all that come go to a temporary file.
pub struct RowStore {
    space: Arc<TempSpace>,
    limit: usize,
    used: usize,
    rows: Vec<Box<[Datum]>>,
    spilled: Option<Spilled>,
}

struct Spilled {
    spool: Spool,
    /// Where the rows numbered 0, 64, 128, … of the file begin.
    marks: Vec<u64>,
}

impl RowStore {
    /// A store that holds up to `limit` bytes of rows in memory.
    pub fn new(space: &Arc<TempSpace>, limit: usize) -> RowStore {
        RowStore { space: space.clone(), limit, used: 0, rows: Vec::new(), spilled: None }
    }

    pub fn len(&self) -> usize {
        self.rows.len() + self.spilled.as_ref().map_or(0, |spilled| spilled.spool.rows() as usize)
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Appends a row.
    pub fn push(&mut self, row: &[Datum]) -> Result<()> {
        let spilled = match &mut self.spilled {
            Some(spilled) => spilled,
            None => {
                self.used += row_bytes(row);
                if self.used <= self.limit {
                    self.rows.push(row.into());
                    return Ok(());
                }
                let file = SpillFile::create(&self.space, self.limit)?;
                self.spilled.insert(Spilled { spool: Spool::new(&file), marks: Vec::new() })
            }
        };
        if (spilled.spool.rows() as usize).is_multiple_of(MARK_ROWS) {
            spilled.marks.push(spilled.spool.bytes());
        }
        spilled.spool.push(&[row])
    }

    /// Whether this row is in memory.
    pub(in crate::exec) fn in_memory(&self, number: usize) -> Option<&[Datum]> {
        self.rows.get(number).map(|row| &**row)
    }

    fn note(&self) {
        if self.used > 0 {
            self.space.note_peak(self.used.min(self.limit));
        }
    }
}

impl Drop for RowStore {
    fn drop(&mut self) {
        self.note();
    }
}

/// A reader of a store: its place, and the row there.
#[derive(Default)]
pub struct RowReader {
    /// How many rows were given or jumped over.
    at: usize,
    place: Place,
    /// Which row of the file `place` reads next.
    place_at: usize,
}

impl RowReader {
    /// Moves to the next row; false when there is none (yet).
    #[inline]
    pub fn next(&mut self, store: &RowStore) -> Result<bool> {
        if self.at < store.rows.len() {
            self.at += 1;
            return Ok(true);
        }
        self.next_spilled(store)
    }

    fn next_spilled(&mut self, store: &RowStore) -> Result<bool> {
        let Some(spilled) = &store.spilled else { return Ok(false) };
        let wanted = self.at - store.rows.len();
        if wanted >= spilled.spool.rows() as usize {
            return Ok(false);
        }
        let mark = wanted / MARK_ROWS * MARK_ROWS;
        if self.place_at > wanted || self.place_at < mark {
            self.place.seek(spilled.marks[mark / MARK_ROWS]);
            self.place_at = mark;
        }
        loop {
            let found = self.place.next(&spilled.spool)?;
            assert!(found, "the rows of a spool are counted");
            self.place_at += 1;
            if self.place_at > wanted {
                self.at += 1;
                return Ok(true);
            }
        }
    }

    /// The row that `next` moved to.
    #[inline]
    pub fn row<'r>(&'r self, store: &'r RowStore) -> &'r [Datum] {
        store.rows.get(self.at - 1).map_or(&self.place.row, |row| row)
    }

    /// The row with this number, from 0, which is there.
    pub fn get<'r>(&'r mut self, store: &'r RowStore, number: usize) -> Result<&'r [Datum]> {
        if self.at != number + 1 {
            self.at = number;
            let found = self.next(store)?;
            assert!(found, "row {number} is there");
        }
        Ok(self.row(store))
    }

    /// How many rows lie between the row at hand and one behind it, if that is behind it.
    pub(in crate::exec) fn distance_to(&self, number: usize) -> Option<usize> {
        (number + 1).checked_sub(self.at)
    }

    /// The next row will be the one with this number, from 0.
    pub fn seek(&mut self, number: usize) {
        self.at = number;
    }
}
