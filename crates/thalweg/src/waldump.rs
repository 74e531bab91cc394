//! `thalweg waldump`: the log's records, one a line, or how many of each kind there are.
//!
//! It only reads, and needs no lock: a running server's log can be looked at, up to what it has written.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::path::PathBuf;
use std::sync::Arc;

use base::disk::Disk;
use base::disk::real::RealDisk;
use base::{Lsn, RelId, Xid};
use storage::recovery::control::ControlFile;
use storage::wal::{BlockView, Kind, Reader, RecordView};
use storage::{Error, relfile};

/// What to show.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Wanted {
    pub data: PathBuf,
    /// The first record that starts here or later; else from the oldest file on.
    pub from: Option<Lsn>,
    /// Nothing that starts here or later.
    pub to: Option<Lsn>,
    pub kind: Option<String>,
    pub xid: Option<Xid>,
    /// Records that name a page of this relation's files.
    pub relation: Option<RelId>,
    /// So many records.
    pub limit: Option<u64>,
    /// Totals for each kind instead of the records.
    pub stats: bool,
}

/// What records of one kind come to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Total {
    records: u64,
    bytes: u64,
    images: u64,
    image_bytes: u64,
}

/// Why a dump ended early.
#[derive(Debug)]
pub enum Fault {
    /// Nobody reads the output any more.
    Output(io::Error),
    /// The log, in one sentence.
    Log(String),
}

impl From<Error> for Fault {
    fn from(error: Error) -> Fault {
        Fault::Log(error.to_string())
    }
}

impl From<io::Error> for Fault {
    fn from(error: io::Error) -> Fault {
        Fault::Output(error)
    }
}

/// Reads `waldump`'s arguments.
///
/// # Errors
/// What is wrong with them, in one sentence.
pub fn arguments(mut arguments: impl Iterator<Item = String>) -> Result<Wanted, String> {
    let mut wanted = Wanted::default();
    let mut data = None;
    while let Some(argument) = arguments.next() {
        let (name, value) = match argument.split_once('=') {
            Some((name, value)) => (name.to_owned(), Some(value.to_owned())),
            None => (argument, None),
        };
        let mut value =
            || value.clone().or_else(|| arguments.next()).ok_or(format!("{name} needs a value"));
        match &*name {
            "--from" => wanted.from = Some(position(&value()?)?),
            "--to" => wanted.to = Some(position(&value()?)?),
            "--kind" => wanted.kind = Some(kind(value()?)?),
            "--xid" => wanted.xid = Some(Xid(number(&name, &value()?)?)),
            "--relation" => {
                let id = u32::try_from(number(&name, &value()?)?);
                wanted.relation = Some(RelId(id.map_err(|_| "a relation's number has 32 bits")?));
            }
            "--limit" => wanted.limit = Some(number(&name, &value()?)?),
            "--stats" => wanted.stats = true,
            other if other.starts_with("--") => {
                return Err(format!("waldump has no option \"{other}\""));
            }
            _ if data.is_some() => return Err("waldump takes one data directory".into()),
            directory => data = Some(PathBuf::from(directory)),
        }
    }
    wanted.data = data.ok_or("waldump takes the data directory")?;
    Ok(wanted)
}

/// A position as the server shows it.
fn position(text: &str) -> Result<Lsn, String> {
    let halves = text.split_once('/').and_then(|(high, low)| {
        let half = |text| u32::from_str_radix(text, 16).ok().map(u64::from);
        Some(half(high)? << 32 | half(low)?)
    });
    halves.map(Lsn).ok_or_else(|| format!("\"{text}\" is no position in the log, as 0/12AB34C8 is"))
}

fn number(option: &str, text: &str) -> Result<u64, String> {
    text.parse().map_err(|_| format!("{option} takes a number, not \"{text}\""))
}

fn kind(text: String) -> Result<String, String> {
    let known = (0..=u8::MAX).map(|code| Kind(code).name()).filter(|name| *name != "unknown");
    let known: Vec<_> = known.collect();
    match known.contains(&&*text) {
        true => Ok(text),
        false => Err(format!("there is no kind \"{text}\"; there are {}", known.join(", "))),
    }
}

/// Shows what is wanted.
///
/// # Errors
/// A directory that is none, a file that cannot be read, a log that is damaged.
pub fn run(wanted: &Wanted, out: &mut dyn Write) -> Result<(), Fault> {
    let disk: Arc<dyn Disk> = Arc::new(RealDisk::new(&wanted.data));
    let control = ControlFile::read(&*disk)?;
    let from = match wanted.from {
        Some(from) => from,
        None => Reader::first_position(&*disk, control.shape)?
            .ok_or_else(|| Fault::Log("the directory has no log".into()))?,
    };
    let Some(mut reader) = Reader::find(disk, control.shape, from)? else {
        return Err(Fault::Log(format!("there is no record from {from} on")));
    };
    if wanted.from.is_some() && reader.at() != from {
        writeln!(out, "the first record from {from} on is at {}", reader.at())?;
    }
    let mut totals: BTreeMap<u8, Total> = BTreeMap::new();
    let mut shown = 0;
    let mut is_whole = true;
    loop {
        let ended = |at: Lsn| wanted.to.is_some_and(|to| at >= to);
        if ended(reader.at()) || wanted.limit.is_some_and(|limit| shown >= limit) {
            is_whole = false;
            break;
        }
        let Some(record) = reader.read()? else { break };
        // The log may go on in a later segment.
        if ended(record.at.start) {
            is_whole = false;
            break;
        }
        if !is_wanted(wanted, &record) {
            continue;
        }
        shown += 1;
        totals.entry(record.kind.0).or_default().add(&record);
        if !wanted.stats {
            show(&record, out)?;
        }
    }
    if wanted.stats {
        show_totals(&totals, out)?;
    }
    if is_whole { end(&reader, control.checkpoint, out) } else { Ok(()) }
}

/// Tells where the log ends, and fails if it should not end there.
fn end(reader: &Reader, checkpoint: Lsn, out: &mut dyn Write) -> Result<(), Fault> {
    let at = reader.at();
    if let Some(next) = reader.resumes_at()? {
        return Err(Fault::Log(format!(
            "there is no intact record at {at}, but one at {next}: the log was damaged, or a crash lost \
             what was not yet durable (then a start ends the log here)"
        )));
    }
    if at <= checkpoint {
        let why = format!(
            "the log ends at {at}, but the control file knows of a checkpoint at {checkpoint}"
        );
        return Err(Fault::Log(why));
    }
    writeln!(out, "the log ends at {at}")?;
    Ok(())
}

fn is_wanted(wanted: &Wanted, record: &RecordView<'_>) -> bool {
    wanted.kind.as_deref().is_none_or(|kind| record.kind.name() == kind)
        && wanted.xid.is_none_or(|xid| record.xid == xid)
        && wanted.relation.is_none_or(|rel| record.blocks().any(|block| block.page.rel == rel))
}

fn show(record: &RecordView<'_>, out: &mut dyn Write) -> io::Result<()> {
    let bytes = record.at.end.0 - record.at.start.0;
    let (at, kind) = (record.at.start, record.kind.name());
    write!(out, "{at} {kind} {bytes} bytes")?;
    if record.xid.is_normal() {
        write!(out, ", xid {}", record.xid.0)?;
    }
    if record.info != 0 {
        write!(out, ", info {:#04x}", record.info)?;
    }
    for block in record.blocks() {
        write!(out, ", {}:{}", relfile::path(block.page.rel, block.page.fork), block.page.block.0)?;
        write!(out, " ({})", describe(&block))?;
    }
    if !record.data.is_empty() {
        write!(out, ", data {} bytes", record.data.len())?;
    }
    writeln!(out)
}

fn describe(block: &BlockView<'_>) -> String {
    match block.image_how() {
        Some(how) => format!("image {} bytes{how}", block.image_bytes()),
        None if block.will_init => format!("anew, {} bytes", block.bytes.len()),
        None => format!("{} bytes", block.bytes.len()),
    }
}

impl Total {
    fn add(&mut self, record: &RecordView<'_>) {
        self.records += 1;
        self.bytes += record.at.end.0 - record.at.start.0;
        for block in record.blocks().filter(BlockView::has_image) {
            self.images += 1;
            self.image_bytes += block.image_bytes() as u64;
        }
    }
}

fn show_totals(totals: &BTreeMap<u8, Total>, out: &mut dyn Write) -> io::Result<()> {
    let mut all = Total::default();
    for total in totals.values() {
        all.records += total.records;
        all.bytes += total.bytes;
        all.images += total.images;
        all.image_bytes += total.image_bytes;
    }
    let share = |part: u64, of: u64| 100.0 * part as f64 / of.max(1) as f64;
    let mut line = |name: &str, total: &Total| {
        let Total { records, bytes, images, image_bytes } = *total;
        let (many, much) = (share(records, all.records), share(bytes, all.bytes));
        writeln!(
            out,
            "{name:<18} {records:>12} {many:>6.2} {bytes:>14} {much:>6.2} {images:>10} {image_bytes:>14}"
        )
    };
    let mut lines: Vec<_> = totals.iter().collect();
    lines.sort_by_key(|(_, total)| std::cmp::Reverse(total.bytes));
    for (code, total) in lines {
        line(Kind(*code).name(), total)?;
    }
    line("all", &all)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(line: &str) -> Result<Wanted, String> {
        arguments(line.split_whitespace().map(str::to_owned))
    }

    #[test]
    fn arguments_are_read() {
        let wanted =
            read("d --from 1/A0 --to=2/0 --kind commit --xid 77 --limit 5 --stats").unwrap();
        let expected = Wanted {
            data: "d".into(),
            from: Some(Lsn(0x1_0000_00A0)),
            to: Some(Lsn(0x2_0000_0000)),
            kind: Some("commit".into()),
            xid: Some(Xid(77)),
            relation: None,
            limit: Some(5),
            stats: true,
        };
        assert_eq!(wanted, expected);
        assert_eq!(read("d --relation 12").unwrap().relation, Some(RelId(12)));
    }

    #[test]
    fn mistakes_are_told() {
        let fault = |line| read(line).unwrap_err();
        assert_eq!(fault(""), "waldump takes the data directory");
        assert_eq!(fault("a b"), "waldump takes one data directory");
        assert_eq!(fault("a --nosuch"), "waldump has no option \"--nosuch\"");
        assert_eq!(fault("a --from"), "--from needs a value");
        assert!(fault("a --from 12").contains("no position in the log"));
        assert!(fault("a --kind nosuch").contains("checkpoint, next-oid, filler"));
        assert_eq!(fault("a --limit much"), "--limit takes a number, not \"much\"");
    }
}
