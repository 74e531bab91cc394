//! What VACUUM and ANALYZE have done and what it has cost, in PostgreSQL's lines: VERBOSE sends them, the log has those
//! of background workers.

use std::fmt::Write as _;

use base::usage::{Cost, CpuTime};
use storage::vacuum::{IndexScans, Report};

use crate::catalog::TableDef;

use super::analyze::Counted;

/// Bytes of a page.
const PAGE_BYTES: f64 = 8192.0;
/// Bytes of a megabyte.
const MB: f64 = 1048576.0;

/// Whose upkeep it is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum By {
    /// A statement.
    Statement,
    /// The background worker.
    Worker,
}

/// A vacuum of the table with this full name. `timed`: whether times of reads are told.
pub(crate) fn vacuumed(
    by: By,
    name: &str,
    table: &TableDef,
    report: &Report,
    cost: &Cost,
    timed: bool,
) -> String {
    let begun = match by {
        By::Statement => "finished vacuuming",
        By::Worker => "automatic vacuum of table",
    };
    let mut text = format!(
        "{begun} \"{name}\": index scans: {}\n\
         pages: {} removed, {} remain, {} scanned ({} of total)\n\
         tuples: {} removed, {} remain, {} are dead but not yet removable\n",
        report.index_passes,
        report.pages_removed,
        report.pages - report.pages_removed,
        report.pages_scanned,
        share(report.pages_scanned, report.pages),
        report.removed,
        report.rows.unwrap_or(report.live),
        report.recently_dead,
    );
    indexes(&mut text, table, report);
    costs(&mut text, cost, timed);
    let used = &cost.used;
    let (records, images, bytes) = (used.wal_records, used.wal_images, used.wal_bytes);
    append(
        &mut text,
        format_args!("WAL usage: {records} records, {images} full page images, {bytes} bytes\n"),
    );
    system(&mut text, cost);
    text
}

/// What VERBOSE tells of a sample.
pub(super) fn sampled(name: &str, counted: &Counted) -> String {
    let Counted { rows, pages, sampled_pages, sampled_rows, live, dead, .. } = counted;
    format!(
        "\"{name}\": scanned {sampled_pages} of {pages} pages, containing {live} live rows and {dead} dead rows; \
         {sampled_rows} rows in sample, {rows} estimated total rows"
    )
}

/// The worker's ANALYZE of the table with this full name.
pub(crate) fn analyzed(name: &str, cost: &Cost, timed: bool) -> String {
    let mut text = format!("automatic analyze of table \"{name}\"\n");
    costs(&mut text, cost, timed);
    system(&mut text, cost);
    text
}

fn append(text: &mut String, line: std::fmt::Arguments<'_>) {
    text.write_fmt(line).expect("a string takes all that is written to it");
}

fn share(part: u32, whole: u32) -> String {
    let share = if whole == 0 { 1.0 } else { f64::from(part) / f64::from(whole) };
    format!("{:.2}%", share * 100.0)
}

fn indexes(text: &mut String, table: &TableDef, report: &Report) {
    let (what, are) = match report.index_scans {
        IndexScans::NotNeeded => ("not needed", "had"),
        IndexScans::Needed => ("needed", "had"),
        IndexScans::Bypassed => ("bypassed", "have"),
    };
    let removed = if report.index_scans == IndexScans::Bypassed { "" } else { " removed" };
    append(
        text,
        format_args!(
            "index scan {what}: {} pages from table ({} of total) {are} {} dead item identifiers{removed}\n",
            report.pages_with_dead,
            share(report.pages_with_dead, report.pages),
            report.lines_dead,
        ),
    );
    if report.index_passes == 0 {
        return;
    }
    for (index, done) in table.indexes.iter().zip(&report.indexes) {
        append(
            text,
            format_args!(
                "index \"{}\": pages: {} in total, {} newly deleted, {} currently deleted, {} reusable\n",
                index.name, done.blocks, done.pages_deleted, done.empty, done.reusable
            ),
        );
    }
}

fn costs(text: &mut String, cost: &Cost, timed: bool) {
    let Cost { elapsed, used, .. } = cost;
    if timed {
        let read = used.read_ns as f64 / 1e6;
        // Nobody writes pages but the page cleaner.
        append(text, format_args!("I/O timings: read: {read:.3} ms, write: 0.000 ms\n"));
    }
    let [hits, misses, dirtied] =
        [used.hit + used.local_hit, used.read + used.local_read, used.dirtied + used.local_dirtied];
    let rate = |pages: u64| match elapsed.as_secs_f64() {
        0.0 => 0.0,
        seconds => pages as f64 * PAGE_BYTES / MB / seconds,
    };
    append(
        text,
        format_args!(
            "avg read rate: {:.3} MB/s, avg write rate: {:.3} MB/s\n\
             buffer usage: {hits} hits, {misses} misses, {dirtied} dirtied\n",
            rate(misses),
            rate(dirtied),
        ),
    );
}

fn system(text: &mut String, cost: &Cost) {
    append(text, format_args!("system usage: {}", cpu(cost)));
}

/// What it has taken.
pub(super) fn cpu(cost: &Cost) -> String {
    let CpuTime { user, system } = cost.cpu;
    let [user, system, elapsed] = [user, system, cost.elapsed].map(|time| time.as_secs_f64());
    format!("CPU: user: {user:.2} s, system: {system:.2} s, elapsed: {elapsed:.2} s")
}
