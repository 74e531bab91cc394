//! Records and totals as `pg_waldump` prints them.

use std::io::{self, Write};

use base::{Fork, Lsn};
use storage::recovery::{describe, describe_block, fork_name};
use storage::wal::{RecordView, Room, Total, percent};

/// One record on a line; with `details`, each of its pages on a line of its own.
pub fn record(record: &RecordView<'_>, details: bool, out: &mut dyn Write) -> io::Result<()> {
    let (all, without_images) = record.lengths();
    let room = record.kind.room().map_or("unknown", Room::name);
    let start = record.at.start.0;
    write!(
        out,
        "rmgr: {room:<11} len (rec/tot): {without_images:>6}/{all:>6}, tx: {:>10}, lsn: {:X}/{:08X}, desc: {}",
        record.xid.0,
        start >> 32,
        start & 0xFFFF_FFFF,
        record.kind.operation(),
    )?;
    let told = describe(record);
    if !told.is_empty() {
        write!(out, " {told}")?;
    }
    for (i, block) in record.blocks().enumerate() {
        let page = block.page;
        let whole = if block.has_image() { " FPW" } else { "" };
        match page.fork {
            _ if details => write!(out, "\n\t{}", describe_block(i, &block))?,
            Fork::Main => write!(out, ", blkref #{i}: rel {} blk {}{whole}", page.rel, page.block)?,
            fork => {
                let (rel, fork) = (page.rel, fork_name(fork));
                write!(out, ", blkref #{i}: rel {rel} fork {fork} blk {}{whole}", page.block)?;
            }
        }
    }
    writeln!(out)
}

/// Totals, and their sum.
pub fn summary(
    totals: impl Iterator<Item = (String, Total)>,
    all: &Total,
    (from, to): (Lsn, Lsn),
    out: &mut dyn Write,
) -> io::Result<()> {
    writeln!(out, "WAL statistics between {from} and {to}:")?;
    for [name, count, share, record, images, both] in [
        ["Type", "N", "(%)", "Record size", "FPI size", "Combined size"],
        ["----", "-", "---", "-----------", "--------", "-------------"],
    ] {
        writeln!(
            out,
            "{name:<27} {count:>20} {share:>8} {record:>20} {share:>8} {images:>20} {share:>8} {both:>20} {share:>8}"
        )?;
    }
    for (name, total) in totals {
        write!(out, "{name:<27}")?;
        for (part, of) in [
            (total.records, all.records),
            (total.record_bytes, all.record_bytes),
            (total.image_bytes, all.image_bytes),
            (total.bytes(), all.bytes()),
        ] {
            write!(out, " {part:>20} ({:>6.2})", percent(part, of))?;
        }
        writeln!(out)?;
    }
    let line = "--------";
    writeln!(
        out,
        "{:<27} {line:>20} {:8} {line:>20} {:8} {line:>20} {:8} {line:>20}",
        "", "", "", ""
    )?;
    let of_all = |part: u64| format!("[{:.2}%]", percent(part, all.bytes()));
    writeln!(
        out,
        "{:<27} {:>20} {:<9}{:>20} {:<9}{:>20} {:<9}{:>20} {:<6}",
        "Total",
        all.records,
        "",
        all.record_bytes,
        of_all(all.record_bytes),
        all.image_bytes,
        of_all(all.image_bytes),
        all.bytes(),
        "[100%]"
    )
}
