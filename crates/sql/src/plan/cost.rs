//! What reading a table costs, one way or another: PostgreSQL's formulas (`costsize.c`, `selfuncs.c`) over its settings.
//!
//! Costs are in units of one page read in order (`seq_page_cost` at its default).

use crate::bind::tree::Ty;
use crate::catalog::{AccessMethod, TableDef};
use crate::types::{TypeId, type_info};
use storage::heap::{TID_PAGE_BYTES, TID_PAGES_MIN};

/// The session's settings that the planner goes by.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Settings {
    pub seq_page: f64,
    pub random_page: f64,
    pub cpu_tuple: f64,
    pub cpu_index_tuple: f64,
    pub cpu_operator: f64,
    /// `effective_cache_size`, in pages.
    pub cache_pages: f64,
    /// `work_mem`.
    pub work_mem_bytes: f64,
    pub seqscan: bool,
    pub indexscan: bool,
    pub indexonlyscan: bool,
    pub bitmapscan: bool,
    pub hashjoin: bool,
    pub nestloop: bool,
    pub sort: bool,
    pub material: bool,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            seq_page: 1.0,
            random_page: 4.0,
            cpu_tuple: 0.01,
            cpu_index_tuple: 0.005,
            cpu_operator: 0.0025,
            cache_pages: 524_288.0,
            work_mem_bytes: 4_194_304.0,
            seqscan: true,
            indexscan: true,
            indexonlyscan: true,
            bitmapscan: true,
            hashjoin: true,
            nestloop: true,
            sort: true,
            material: true,
        }
    }
}

/// What a method that is switched off costs more, so that it is chosen where there is no other.
const DISABLED: f64 = 1.0e10;
/// Pages of a table that was never counted and is smaller.
const UNCOUNTED_PAGES: f64 = 10.0;
/// Bytes of a page that rows may take, and of a row beside its columns.
const PAGE_BYTES: f64 = 8168.0;
const ROW_BYTES: f64 = 28.0;
/// Operators' worth of work on an index's page.
const INDEX_PAGE_WORK: f64 = 50.0;
/// Entries of an index's page, at most about.
const ENTRIES_PER_BLOCK: f64 = 400.0;

/// Before the first row, and in all.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Cost {
    pub startup: f64,
    pub total: f64,
}

impl Cost {
    fn unless(self, enabled: bool) -> Cost {
        let more = if enabled { 0.0 } else { DISABLED };
        Cost { startup: self.startup + more, total: self.total + more }
    }
}

/// A table's size as the planner takes it.
#[derive(Clone, Copy, Debug)]
pub struct Heap {
    pub pages: f64,
    pub rows: f64,
    /// Share of the pages that are not visible to all.
    pub hidden: f64,
}

impl Heap {
    /// Rows per page and pages visible to all as of the last count, pages as of now.
    pub fn of(table: &TableDef, blocks: u32) -> Heap {
        let hidden = 1.0 - f64::from(table.stored_visible.min(blocks)) / f64::from(blocks.max(1));
        let pages = f64::from(blocks);
        if table.stored_rows < 0.0 || table.stored_blocks == 0 {
            let least = if table.stored_rows < 0.0 { UNCOUNTED_PAGES } else { 1.0 };
            let pages = pages.max(least);
            let width: u32 = table.live().map(|(_, column)| type_width(column.ty)).sum();
            let rows = pages * (PAGE_BYTES / (f64::from(width) + ROW_BYTES)).floor();
            return Heap { pages, rows: rows.max(1.0), hidden };
        }
        let density = f64::from(table.stored_rows) / f64::from(table.stored_blocks);
        Heap { pages: pages.max(1.0), rows: (pages * density).max(1.0).round(), hidden }
    }
}

/// What is asked of an index.
#[derive(Clone, Copy, Debug)]
pub struct Access {
    pub method: AccessMethod,
    /// Its pages.
    pub pages: f64,
    /// Its entries.
    pub entries: f64,
    /// Share of the table's rows that it leads to.
    pub share: f64,
    /// All that lies between the bounds.
    pub whole: Reading,
    /// Or less of it, where conditions on later columns let the scan skip.
    pub skipping: Option<Reading>,
    /// Conditions that it answers.
    pub conditions: f64,
}

/// Entries of an index that are read.
#[derive(Clone, Copy, Debug)]
pub struct Reading {
    /// As a share of the table's rows.
    pub share: f64,
    /// How often the index is descended.
    pub lookups: f64,
}

impl Access {
    /// The entries of an index of so many pages over a table of so many rows.
    pub fn entries_of(is_partial: bool, pages: f64, rows: f64) -> f64 {
        if is_partial { rows.min(pages * ENTRIES_PER_BLOCK) } else { rows }
    }

    /// Reading the entries, skipping where that costs less.
    pub fn cost(&self, settings: &Settings, heap: Heap) -> Cost {
        let whole = self.cost_of(self.whole, settings, heap);
        let skipping = self.skipping.map(|reading| self.cost_of(reading, settings, heap));
        skipping.filter(|skipping| skipping.total < whole.total).unwrap_or(whole)
    }

    /// `genericcostestimate`, `btcostestimate`, `hashcostestimate`.
    fn cost_of(&self, reading: Reading, settings: &Settings, heap: Heap) -> Cost {
        let Reading { share, lookups } = reading;
        let each = (share * heap.rows / lookups).round().clamp(1.0, self.entries.max(1.0));
        let leaves = match self.pages > 1.0 && self.entries > 1.0 {
            true => (each * self.pages / self.entries).ceil(),
            false => 1.0,
        };
        let leaves = match lookups > 1.0 {
            true => pages_fetched(settings, leaves * lookups, self.pages, self.pages),
            false => leaves,
        };
        let per_entry = settings.cpu_index_tuple + settings.cpu_operator * self.conditions;
        let mut cost = Cost {
            startup: 0.0,
            total: leaves * settings.random_page + each * lookups * per_entry,
        };
        if self.method == AccessMethod::BTree {
            let comparisons = self.entries.max(1.0).log2().ceil() * settings.cpu_operator;
            // Fan-out of some 300 from the root's level down to the leaves.
            let height = self.pages.max(1.0).log(300.0).ceil();
            let descent = comparisons + (height + 1.0) * INDEX_PAGE_WORK * settings.cpu_operator;
            cost.startup += descent;
            cost.total += descent * lookups;
        }
        cost
    }
}

/// Reading all rows.
pub fn seq_scan(settings: &Settings, heap: Heap, operators: f64) -> Cost {
    let per_row = settings.cpu_tuple + settings.cpu_operator * operators;
    let total = heap.pages * settings.seq_page + heap.rows * per_row;
    Cost { startup: 0.0, total }.unless(settings.seqscan)
}

/// Rows through an index in its order (`cost_index`). `correlation`: of that order with the table's; `operators`: of
/// conditions that the index does not answer.
pub fn index_scan(
    settings: &Settings,
    heap: Heap,
    access: &Access,
    correlation: f64,
    only: bool,
    operators: f64,
) -> Cost {
    let entries = access.cost(settings, heap);
    let found = (access.share * heap.rows).max(1.0).round();
    let hidden = if only { heap.hidden } else { 1.0 };
    let scattered = pages_fetched(settings, found, heap.pages, access.pages);
    let most = (scattered * hidden).ceil() * settings.random_page;
    let together = ((access.share * heap.pages).ceil() * hidden).ceil();
    let least = match together {
        0.0 => 0.0,
        pages => settings.random_page + (pages - 1.0) * settings.seq_page,
    };
    let pages = most + correlation * correlation * (least - most);
    let rows = found * (settings.cpu_tuple + settings.cpu_operator * operators);
    let cost = Cost { startup: entries.startup, total: entries.total + pages + rows };
    cost.unless(settings.indexscan)
}

/// A bitmap and what making it costs.
#[derive(Clone, Copy, Debug)]
pub struct Bitmap {
    pub total: f64,
    /// Share of the table's rows.
    pub share: f64,
}

impl Bitmap {
    /// From an index (`cost_bitmap_tree_node`); `rows`: that the whole condition lets through.
    pub fn of_index(settings: &Settings, heap: Heap, access: &Access, rows: f64) -> Bitmap {
        let entries = access.cost(settings, heap).total;
        Bitmap { total: entries + 0.1 * settings.cpu_operator * rows, share: access.share }
    }

    /// What is in all of them.
    pub fn all_of(settings: &Settings, parts: &[Bitmap]) -> Bitmap {
        let work = 100.0 * settings.cpu_operator * (parts.len() as f64 - 1.0);
        let total = parts.iter().map(|part| part.total).sum::<f64>() + work;
        Bitmap { total, share: parts.iter().map(|part| part.share).product() }
    }

    /// What is in any of them; `united`: how many bitmaps are added to another rather than made in it.
    pub fn any_of(settings: &Settings, parts: &[Bitmap], united: usize) -> Bitmap {
        let work = 100.0 * settings.cpu_operator * united as f64;
        let total = parts.iter().map(|part| part.total).sum::<f64>() + work;
        Bitmap { total, share: parts.iter().map(|part| part.share).sum::<f64>().min(1.0) }
    }

    /// Visiting its rows (`cost_bitmap_heap_scan`).
    pub fn heap_scan(&self, settings: &Settings, heap: Heap, operators: f64) -> Cost {
        let mut found = (self.share * heap.rows).max(1.0).round();
        let fetched = 2.0 * heap.pages * found / (2.0 * heap.pages + found);
        let exact_most = (settings.work_mem_bytes / TID_PAGE_BYTES as f64).floor();
        let exact_most = exact_most.max(TID_PAGES_MIN as f64);
        let of_heap = fetched.min(heap.pages);
        if exact_most < of_heap {
            let lossy = (of_heap - exact_most / 2.0).max(0.0);
            let lossy_share = lossy / of_heap;
            let rows = self.share * (1.0 - lossy_share) * heap.rows + lossy_share * heap.rows;
            found = rows.max(1.0).round();
        }
        let pages = if fetched >= heap.pages { heap.pages } else { fetched.ceil() };
        let per_page = match pages >= 2.0 {
            true => {
                let less = settings.random_page - settings.seq_page;
                settings.random_page - less * (pages / heap.pages).sqrt()
            }
            false => settings.random_page,
        };
        let per_row = settings.cpu_tuple + settings.cpu_operator * operators;
        let total = self.total + pages * per_page + found * per_row;
        Cost { startup: self.total, total }.unless(settings.bitmapscan)
    }
}

/// Sorting so many rows, all of them read before.
pub fn sorted(settings: &Settings, input: Cost, rows: f64, wanted: Option<f64>) -> Cost {
    let kept = wanted.map_or(rows, |wanted| (2.0 * wanted).min(rows));
    let work = 2.0 * settings.cpu_operator * rows * kept.max(2.0).log2();
    let startup = input.total + work;
    Cost { startup, total: startup + settings.cpu_operator * rows }.unless(settings.sort)
}

/// Pages of a table that so many of its rows, fetched in no order, take to be read, where the cache is shared with an
/// index of `index_pages` (Mackert and Lohman; `index_pages_fetched`).
fn pages_fetched(settings: &Settings, rows: f64, pages: f64, index_pages: f64) -> f64 {
    let pages = pages.max(1.0);
    let cached = (settings.cache_pages * pages / (pages + index_pages).max(1.0)).ceil().max(1.0);
    let scattered = 2.0 * pages * rows / (2.0 * pages + rows);
    if pages <= cached {
        return if scattered >= pages { pages } else { scattered.ceil() };
    }
    let limit = 2.0 * pages * cached / (2.0 * pages - cached);
    let fetched = match rows <= limit {
        true => scattered,
        false => cached + (rows - limit) * (pages - cached) / pages,
    };
    fetched.ceil()
}

/// Bytes that a value of the type takes on average, as PostgreSQL supposes.
pub fn type_width(ty: Ty) -> u32 {
    let len = type_info(ty.id).map_or(-1, |info| info.len);
    if let Ok(len) = u32::try_from(len) {
        return len;
    }
    // The most bytes that so many characters take.
    let most = match ty.id {
        TypeId::VARCHAR | TypeId::BPCHAR => u32::try_from(ty.modifier - 4).ok().map(|n| n * 4 + 4),
        _ => None,
    };
    match most {
        Some(most) if ty.id == TypeId::BPCHAR || most <= 32 => most,
        Some(most) => 32 + (most.min(1000) - 32) / 2,
        None => 32,
    }
}
