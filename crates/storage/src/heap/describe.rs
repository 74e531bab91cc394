//! Heap records in words. Names of flags are those of `txn::Flags`.

use super::clean::TRUNCATE_LINES;
use super::multi_insert::FROZEN;
use super::prune::Plan;
use crate::txn::Flags;
use crate::wal::fields::{Fields, list, put, with};
use crate::wal::{Kind, RecordView};
use base::{BlockNo, Tid};

/// Appends what a record of this room says; `None` if it does not say what its kind says. Blocks that carry an image
/// have nothing else to tell.
pub fn describe(record: &RecordView<'_>, out: &mut String) -> Option<()> {
    if record.block_count() == 0 {
        return None;
    }
    match record.kind {
        Kind::HEAP_INSERT => with(record, 0, out, |bytes, out| {
            let offset = bytes.u16()?;
            put(out, format_args!("off {offset}, row of {} bytes", bytes.len()));
            Some(())
        }),
        Kind::HEAP_MULTI_INSERT => with(record, 0, out, |bytes, out| {
            let mut offsets = Vec::new();
            while bytes.len() > 0 {
                offsets.push(bytes.u16()?);
                let length = bytes.u16()?;
                bytes.take(length.into())?;
            }
            put(out, format_args!("ntuples {}", offsets.len()));
            list(out, offsets);
            if record.info & FROZEN != 0 {
                out.push_str(", frozen");
            }
            Some(())
        }),
        Kind::HEAP_UPDATE => with(record, 0, out, updated_here),
        Kind::HEAP_MOVE => {
            with(record, 0, out, |bytes, out| {
                let (offset, flags) = (bytes.u16()?, bytes.u16()?);
                put(out, format_args!("new off {offset}"));
                flagged(flags, out);
                put(out, format_args!(", row of {} bytes", bytes.len()));
                Some(())
            })?;
            with(record, 1, out, |bytes, out| {
                let (offset, flags) = (bytes.u16()?, bytes.u16()?);
                let to = Tid { block: BlockNo(bytes.u32()?), offset: bytes.u16()? };
                put(out, format_args!("; old off {offset}"));
                flagged(flags, out);
                put(out, format_args!(", followed by {to}"));
                Some(())
            })
        }
        Kind::HEAP_DELETE => with(record, 0, out, |bytes, out| {
            let (offset, flags) = (bytes.u16()?, bytes.u16()?);
            put(out, format_args!("off {offset}"));
            flagged(flags, out);
            Some(())
        }),
        Kind::HEAP_PRUNE => with(record, 0, out, |bytes, out| {
            pruned(&Plan::read(bytes.0)?, out);
            if record.info & TRUNCATE_LINES != 0 {
                out.push_str(", trailing lines given back");
            }
            Some(())
        }),
        Kind::HEAP_TAKE_BACK => with(record, 0, out, |bytes, out| {
            put(out, format_args!("off {}", bytes.u16()?));
            Some(())
        }),
        Kind::HEAP_ALL_VISIBLE | Kind::HEAP_NOT_VISIBLE => {
            let block = record.blocks().next()?.page.block;
            put(out, format_args!("heap block {block}"));
            Some(())
        }
        _ => None,
    }
}

fn updated_here(bytes: &mut Fields<'_>, out: &mut String) -> Option<()> {
    let (from, to) = (bytes.u16()?, bytes.u16()?);
    let (old_flags, new_flags) = (bytes.u16()?, bytes.u16()?);
    let (prefix, suffix) = (bytes.u16()?, bytes.u16()?);
    put(out, format_args!("off {from}"));
    flagged(old_flags, out);
    put(out, format_args!("; new off {to}"));
    flagged(new_flags, out);
    let length = usize::from(prefix) + bytes.len() + usize::from(suffix);
    put(out, format_args!(", row of {length} bytes"));
    if prefix + suffix > 0 {
        put(out, format_args!(", as before: {prefix} at its front, {suffix} at its end"));
    }
    Some(())
}

fn pruned(plan: &Plan, out: &mut String) {
    put(out, format_args!("nredirected {}", plan.redirected.len()));
    list(out, plan.redirected.iter().map(|(from, to)| format!("{from}->{to}")));
    put(out, format_args!(", ndead {}", plan.dead.len()));
    list(out, &plan.dead);
    put(out, format_args!(", nunused {}", plan.unused.len()));
    list(out, &plan.unused);
    if plan.hint.is_normal() {
        put(out, format_args!(", oldest xmax left {}", plan.hint));
    }
}

/// Flags of a version, by name.
fn flagged(bits: u16, out: &mut String) {
    const NAMES: &[(Flags, &str)] = &[
        (Flags::XMIN_COMMITTED, "XMIN_COMMITTED"),
        (Flags::XMIN_ABORTED, "XMIN_ABORTED"),
        (Flags::XMAX_COMMITTED, "XMAX_COMMITTED"),
        (Flags::XMAX_INVALID, "XMAX_INVALID"),
        (Flags::LOCK_ONLY, "LOCK_ONLY"),
        (Flags::MULTI, "MULTI"),
        (Flags::LOCK_LOW, "LOCK_LOW"),
        (Flags::LOCK_HIGH, "LOCK_HIGH"),
        (Flags::COMBO, "COMBO"),
        (Flags::UPDATED, "UPDATED"),
        (Flags::KEYS_UPDATED, "KEYS_UPDATED"),
        (Flags::HOT_UPDATED, "HOT_UPDATED"),
        (Flags::HEAP_ONLY, "HEAP_ONLY"),
    ];
    let flags = Flags(bits);
    list(out, NAMES.iter().filter(|(flag, _)| flags.has(*flag)).map(|(_, name)| name));
}
