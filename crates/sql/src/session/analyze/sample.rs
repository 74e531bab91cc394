//! Rows of a table for ANALYZE: those of randomly chosen pages, and of these at random if they are too many.

use storage::heap::{HeapRel, HeapScan, Open};
use storage::vacuum::Pace;

use crate::catalog::TableDef;
use crate::error::Result;
use crate::session::backend::Backend;
use crate::toast;
use crate::types::Datum;
use crate::types::row::{RowView, ValueKind};

/// What was taken.
pub(super) struct Sample {
    /// In the order of the table.
    pub rows: Vec<Vec<Datum>>,
    /// Rows of the table, by the pages that were read.
    pub total: f64,
    pub pages: u32,
    pub sampled_pages: usize,
    /// Rows on those, and versions there that have ended.
    pub live: u64,
    /// See there.
    pub dead: u64,
    /// Changes of transactions that have not ended, in the whole table, by the pages that were read.
    pub open: Open,
}

/// At most so many rows, from at most as many pages.
pub(super) fn take(
    b: &Backend,
    heap: &HeapRel,
    table: &TableDef,
    most: usize,
    pace: &mut Pace<'_>,
) -> Result<Sample> {
    let pages = heap.relation().blocks(base::Fork::Main)?;
    let mut random = fastrand::Rng::with_seed(u64::from(table.oid.0) << 32 | u64::from(pages));
    let blocks = choose(pages, most, &mut random);
    let sampled_pages = blocks.len();
    let scan = HeapScan::some(heap, b.txn.fresh_snapshot(), blocks)?;
    let mut scan = scan.reading_ahead(heap, b.values.hot.maintenance_reach);
    let mut rows: Vec<(usize, Vec<Datum>)> = Vec::new();
    let (mut seen, mut left) = (0usize, scan.blocks_left());
    loop {
        // Not amid a page: what its rows have out of line is there as long as the snapshot that saw them.
        if scan.is_between_pages() && scan.blocks_left() < left {
            left = scan.blocks_left();
            // A sample keeps nothing from being cleaned.
            b.txn.release_statement();
            pace.rest()?;
            scan.go_on_with(b.txn.fresh_snapshot());
        }
        let Some(row) = scan.next(heap, &b.txn)? else { break };
        let at = if rows.len() < most { rows.len() } else { random.usize(..=seen) };
        if at < most {
            let values = values_of(table, row.bytes)?;
            match rows.get_mut(at) {
                Some(row) => *row = (seen, values),
                None => rows.push((seen, values)),
            }
        }
        seen += 1;
    }
    rows.sort_unstable_by_key(|(order, _)| *order);
    let all = |met: f64| match sampled_pages {
        0 => 0.0,
        read => (met / read as f64 * f64::from(pages) + 0.5).floor(),
    };
    let Open { inserted, ended } = scan.open();
    let open = Open { inserted: all(inserted as f64) as u64, ended: all(ended as f64) as u64 };
    let total = all(seen as f64);
    let rows = rows.into_iter().map(|(_, row)| row).collect();
    let (live, dead) = (seen as u64, scan.dead());
    Ok(Sample { rows, total, pages, sampled_pages, live, dead, open })
}

/// A row's values. Texts and byte strings that are out of line are not read: others, too wide to be kept, are there for
/// them.
fn values_of(table: &TableDef, row: &[u8]) -> Result<Vec<Datum>> {
    static WIDE: [u8; 2048] = [b'x'; 2048];
    let wide = |column: usize| match table.desc.kind(column) {
        ValueKind::Text => Some(Datum::text(str::from_utf8(&WIDE).expect("it is ASCII"))),
        ValueKind::Bytea => Some(Datum::bytea(&WIDE)),
        _ => None,
    };
    let external = table.desc.externals(row);
    let is_left = |column: usize| {
        external.iter().any(|(part, _)| usize::from(part.column) == column)
            && wide(column).is_some()
    };
    let row = toast::inlined(table, row, |column| !is_left(column))?;
    let view = RowView::new(&table.desc, &row);
    let value = |column| match is_left(column) {
        true => wide(column).expect("it was looked at"),
        false => view.get(column),
    };
    Ok((0..table.columns.len()).map(value).collect())
}

/// So many of the first `pages` numbers, ascending, each as likely as any other.
fn choose(pages: u32, most: usize, random: &mut fastrand::Rng) -> Vec<u32> {
    let (mut chosen, mut wanted) = (Vec::new(), most.min(pages as usize));
    for block in 0..pages {
        if random.u32(..pages - block) < wanted as u32 {
            chosen.push(block);
            wanted -= 1;
        }
    }
    chosen
}
