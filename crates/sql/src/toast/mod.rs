//! Large values: what a row has no room for is kept in pieces in a heap beside the table, and the row says where.
//!
//! PostgreSQL's TOAST, with its thresholds and its place in the catalogs (`pg_class.reltoastrelid`, schema `pg_toast`),
//! and with other bytes. Each table that may have long rows has a second heap, without an index. A value is cut into
//! pieces of [`PIECE_BYTES`], four to a page, which are rows of that heap. What stands in the table's row
//! ([`External`]) names the only piece, or else a *list*: a row with the places of up to [`LIST_PLACES`] pieces and of
//! the list behind it. Places stay as long as the row version that leads to them, so no index is needed:
//!
//! - Pieces are inserted by the transaction that stores the row, before the row, and deleted by the one that deletes
//!   the row or gives the column another value, after it has. A version that anybody's snapshot sees was not deleted
//!   by a transaction before that snapshot, so its pieces weren't either, and vacuum leaves them alone by the same
//!   horizon. Whoever rolls back takes back both.
//! - An update that leaves the column alone leaves the pieces where they are: the new version leads to the same.
//! - Nobody else ever changes or moves a piece. VACUUM FULL and other rewrites read the rows, and store them and
//!   their large values anew.
//!
//! Pieces are read by place, whoever sees them: that the row is visible has been found out, and observed
//! (`storage::txn`), before anybody asks for its values. Rows come out of the heap with what stands for the values;
//! [`inlined`] puts those that are wanted back in, so a scan that does not ask for a large column does not read it.

use std::borrow::Cow;
use std::ops::Range;

use base::ids::Tid;
use storage::buffer::Ring;
use storage::heap::{Freeze, HeapRel, Outcome, RowBuf};
use storage::txn::Txn;

use crate::bind::Ty;
use crate::catalog::{ColumnDef, TableDef};
use crate::error::{Result, SqlError, interrupted, sql_error};
use crate::types::row::{
    External, MAX_ROW_BYTES, ValueKind, check_size, has_external, inline_value, must_fit,
    replace_parts,
};
use crate::types::{Datum, TypeId};

mod check;

pub use check::check;

/// Bytes of a piece: four rows of so many fill a page.
const PIECE_BYTES: usize = 2000;
/// Rows that are longer have their longest values moved out until they are not: `toast_tuple_target`'s default, less
/// what PostgreSQL's row headers take.
const ROW_TARGET: usize = 2000;
/// Values that are shorter stay: what stands for them would hardly be.
const VALUE_MIN: usize = 64;
/// Bytes of a place in a list.
const PLACE_BYTES: usize = 6;
/// Places of a list, beside that of the list behind it.
pub const LIST_PLACES: usize = PIECE_BYTES / PLACE_BYTES - 1;
/// Pieces that are stored between two points where others may have their turn.
const BATCH: usize = 64;

/// Where a table's large values go.
pub struct Target<'a> {
    pub table: &'a TableDef,
    pub txn: &'a Txn,
    pub freeze: Freeze,
}

impl Target<'_> {
    /// Appends the row of these values to `out`, short enough for a page. Those of the columns in `kept` (ascending) are
    /// where that says. What was stored out of line for it is added to `stored`.
    ///
    /// # Errors
    /// `54000` for a value that is too large, and where none is left that could be moved; what storage says.
    pub fn encode(
        &self,
        values: &[Datum],
        kept: &[(u16, External)],
        stored: &mut Vec<External>,
        out: &mut Vec<u8>,
    ) -> Result<()> {
        values.iter().try_for_each(check_size)?;
        let start = out.len();
        self.table.desc.encode_any(values, kept, out);
        if let Some(heap) = self.table.toast_rows()
            && let target = row_target(self.table)
            && out.len() - start > target
        {
            let shorter = self.shorten(heap, &out[start..], target, stored)?;
            out.truncate(start);
            out.extend_from_slice(&shorter);
        }
        must_fit(out.len() - start)
    }

    /// The row with its longest values moved out, as many as it takes.
    fn shorten(
        &self,
        heap: &HeapRel,
        row: &[u8],
        target: usize,
        stored: &mut Vec<External>,
    ) -> Result<Vec<u8>> {
        let mut parts = self.table.desc.parts(row);
        parts.retain(|part| part.at.len() >= VALUE_MIN);
        parts.sort_by_key(|part| std::cmp::Reverse(part.at.len()));
        let mut length = row.len();
        let mut moved: Vec<(Range<usize>, Vec<u8>)> = Vec::new();
        for part in parts {
            if length <= target {
                break;
            }
            let Some((bytes, raw_len)) = inline_value(&row[part.at.clone()]) else { continue };
            let external = self.store(heap, bytes, raw_len)?;
            stored.push(external);
            let mut short = Vec::new();
            external.write(&mut short);
            length -= part.at.len() - short.len();
            moved.push((part.at, short));
        }
        moved.sort_by_key(|(at, _)| at.start);
        let external = has_external(row) || !moved.is_empty();
        Ok(replace_parts(row, &moved, external))
    }

    /// Stores a value's bytes in pieces.
    fn store(&self, heap: &HeapRel, bytes: &[u8], raw_len: u32) -> Result<External> {
        let mut ring = (bytes.len() > BATCH * PIECE_BYTES)
            .then(|| Ring::for_bulk_write(heap.relation().owner()));
        let mut places = Vec::with_capacity(bytes.len().div_ceil(PIECE_BYTES));
        let pieces: Vec<&[u8]> = bytes.chunks(PIECE_BYTES).collect();
        for batch in pieces.chunks(BATCH) {
            heap.multi_insert(self.txn, batch, self.freeze, ring.as_mut(), &mut places)?;
            breathe()?;
        }
        let external =
            |place, whole| External { place, whole, stored_len: bytes.len() as u32, raw_len };
        if let [only] = places[..] {
            return Ok(external(only, true));
        }
        let mut next = Tid::INVALID;
        for list in places.chunks(LIST_PLACES).rev() {
            let mut row = Vec::with_capacity(PLACE_BYTES * (list.len() + 1));
            for place in std::iter::once(&next).chain(list) {
                row.extend_from_slice(&place.to_u64().to_le_bytes()[..PLACE_BYTES]);
            }
            let mut at = Vec::with_capacity(1);
            heap.multi_insert(self.txn, &[&row], self.freeze, ring.as_mut(), &mut at)?;
            next = at[0];
        }
        Ok(external(next, false))
    }
}

/// Deletes what rows that the transaction has deleted, or given other values, had out of line.
pub fn delete(table: &TableDef, txn: &Txn, gone: &[External]) -> Result<()> {
    each_piece(table, gone, |heap, place| match heap.delete(txn, place, None)? {
        Outcome::Done { .. } => Ok(()),
        other => Err(SqlError::internal(format!("deleting piece {place} ended with {other:?}"))),
    })
}

/// Takes back what the command at hand has stored for a row that it could not store.
pub fn take_back(table: &TableDef, txn: &Txn, stored: &[External]) -> Result<()> {
    each_piece(table, stored, |heap, place| Ok(heap.take_back(txn, place)?))
}

/// Calls `each` with the place of every piece and list of these values. A list is read before it comes.
fn each_piece(
    table: &TableDef,
    of: &[External],
    each: impl Fn(&HeapRel, Tid) -> Result<()>,
) -> Result<()> {
    let Some(heap) = table.toast_rows() else { return Ok(()) };
    for external in of {
        let mut buf = RowBuf::new();
        let mut pieces = Pieces::of(external);
        while let Some(place) = pieces.next(heap, &mut buf)? {
            each(heap, place)?;
            breathe()?;
        }
        pieces.lists.iter().try_for_each(|list| each(heap, *list))?;
    }
    Ok(())
}

/// The row with those of its values in it that are wanted. Others that are out of line may not be looked at.
#[inline]
pub fn inlined<'r>(
    table: &TableDef,
    row: &'r [u8],
    wanted: impl Fn(usize) -> bool,
) -> Result<Cow<'r, [u8]>> {
    match has_external(row) {
        false => Ok(Cow::Borrowed(row)),
        true => fetch(table, row, &wanted).map(Cow::Owned),
    }
}

/// The row with all of its values in it.
#[inline]
pub fn whole<'r>(table: &TableDef, row: &'r [u8]) -> Result<Cow<'r, [u8]>> {
    inlined(table, row, |_| true)
}

/// As [`inlined`]; what is out of line and not wanted is empty instead, where that is a value of the type.
#[inline]
pub fn inlined_or_empty<'r>(
    table: &TableDef,
    row: &'r [u8],
    wanted: impl Fn(usize) -> bool,
) -> Result<Cow<'r, [u8]>> {
    if !has_external(row) {
        return Ok(Cow::Borrowed(row));
    }
    let can_be_empty =
        |column: usize| matches!(table.desc.kind(column), ValueKind::Text | ValueKind::Bytea);
    let row = fetch(table, row, &|column| wanted(column) || !can_be_empty(column))?;
    const EMPTY: u8 = 1;
    let rest = table.desc.externals(&row).into_iter().map(|(part, _)| (part.at, vec![EMPTY]));
    Ok(Cow::Owned(replace_parts(&row, &rest.collect::<Vec<_>>(), false)))
}

#[cold]
fn fetch(table: &TableDef, row: &[u8], wanted: &dyn Fn(usize) -> bool) -> Result<Vec<u8>> {
    let all = table.desc.externals(row);
    let count = all.len();
    let mut parts = Vec::new();
    let mut stored = Vec::new();
    for (part, external) in all.into_iter().filter(|(p, _)| wanted(usize::from(p.column))) {
        read(table, &external, &mut stored)?;
        let mut value = Vec::with_capacity(stored.len() + 8);
        external.write_inline(&stored, &mut value);
        parts.push((part.at, value));
    }
    Ok(replace_parts(row, &parts, parts.len() < count))
}

/// Reads what is stored of a value.
fn read(table: &TableDef, external: &External, stored: &mut Vec<u8>) -> Result<()> {
    let heap = table.toast_rows().ok_or_else(|| missing(table, external, "it has no heap"))?;
    stored.clear();
    stored.reserve(external.stored_len as usize);
    let (mut lists, mut piece) = (RowBuf::new(), RowBuf::new());
    let mut pieces = Pieces::of(external);
    while let Some(place) = pieces.next(heap, &mut lists)? {
        if !heap.fetch_version(place, &mut piece)? {
            return Err(missing(table, external, &format!("there is no piece {place}")));
        }
        stored.extend_from_slice(piece.bytes());
        breathe()?;
    }
    match stored.len() == external.stored_len as usize {
        true => Ok(()),
        false => Err(missing(table, external, &format!("{} bytes were found", stored.len()))),
    }
}

fn missing(table: &TableDef, external: &External, why: &str) -> SqlError {
    sql_error!(
        DATA_CORRUPTED,
        "a large value of table \"{}\", {} bytes at {}, can't be read: {why}",
        table.name,
        external.stored_len,
        external.place
    )
}

/// The places of a value's pieces, in order.
struct Pieces {
    /// The list that comes next.
    list: Option<Tid>,
    /// Those that were read.
    lists: Vec<Tid>,
    /// Places of the last one, the next one last.
    places: Vec<Tid>,
}

impl Pieces {
    fn of(external: &External) -> Pieces {
        let places = if external.whole { vec![external.place] } else { Vec::new() };
        let list = (!external.whole).then_some(external.place);
        Pieces { list, lists: Vec::new(), places }
    }

    fn next(&mut self, heap: &HeapRel, buf: &mut RowBuf) -> Result<Option<Tid>> {
        if self.places.is_empty()
            && let Some(list) = self.list.take()
        {
            if !heap.fetch_version(list, buf)? {
                return Err(sql_error!(
                    DATA_CORRUPTED,
                    "the list of pieces {list} of a large value is missing"
                ));
            }
            self.lists.push(list);
            let place = |bytes: &[u8]| {
                let mut word = [0; 8];
                word[..PLACE_BYTES].copy_from_slice(bytes);
                Tid::from_u64(u64::from_le_bytes(word))
            };
            let mut places = buf.bytes().chunks_exact(PLACE_BYTES).map(place);
            self.list = places.next().filter(|next| *next != Tid::INVALID);
            self.places = places.collect();
            self.places.reverse();
        }
        Ok(self.places.pop())
    }
}

fn breathe() -> Result<()> {
    base::park::checkpoint();
    base::interrupt::check().map_err(interrupted)
}

/// From how many bytes on a table's rows have values moved out.
fn row_target(table: &TableDef) -> usize {
    let given = table.parameters.iter().find_map(|line| line.strip_prefix("toast_tuple_target="));
    // PostgreSQL's pages have room for somewhat longer rows than ours.
    given.and_then(|text| text.trim().parse().ok()).unwrap_or(ROW_TARGET).min(MAX_ROW_BYTES)
}

/// Whether rows of these columns may be longer than what is kept in the table itself.
pub fn is_needed(columns: impl Iterator<Item = Ty>) -> bool {
    columns
        .map(width_max)
        .try_fold(0usize, |sum, width| Some(sum + width?))
        .is_none_or(|sum| sum > ROW_TARGET)
}

/// The types of columns that are there.
pub fn types_of(columns: &[ColumnDef]) -> impl Iterator<Item = Ty> {
    columns.iter().filter(|column| !column.dropped).map(|column| column.ty)
}

/// Bytes of the longest value; `None` if there is no such.
fn width_max(ty: Ty) -> Option<usize> {
    /// Of a character, and of what precedes a value.
    const CHARACTER: usize = 4;
    const LENGTH: usize = 4;
    /// What a modifier of lengths is more than the length.
    const OFFSET: i32 = 4;
    if ty.id == TypeId::NAME {
        return Some(64);
    }
    match ValueKind::of_type(ty.id)?.fixed_width() {
        Some(width) => Some(width as usize),
        None if matches!(ty.id, TypeId::VARCHAR | TypeId::BPCHAR) && ty.modifier > OFFSET => {
            Some((ty.modifier - OFFSET) as usize * CHARACTER + LENGTH)
        }
        // A thousand digits at most.
        None if ty.id == TypeId::NUMERIC && ty.modifier > OFFSET => Some(512),
        None => None,
    }
}
