//! `thalweg waldump`: the log's records, one a line, or how many of each kind there are.
//!
//! It only reads, and needs no lock: a running server's log can be looked at, up to what it has written.

pub mod arguments;
mod show;
mod source;

use std::io::{self, Write};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

use base::Lsn;
use server::signals::{Signal, Signals};
use storage::Error;
use storage::wal::segment::parse_file_name;
use storage::wal::{BlockView, Reader, RecordView, Room, Summary};

use arguments::{Filter, Shown, Task, Wanted};
use source::Source;

/// How often `--follow` looks for more.
const FOLLOW_EVERY: Duration = Duration::from_secs(1);

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

/// Why reading stopped.
enum Stopped {
    /// There is no more.
    AtEnd,
    /// At a limit that was asked for, or by a signal.
    AsWanted,
}

/// Does what was asked.
///
/// # Errors
/// A directory that is none, a file that cannot be read, a log that is damaged or ends before it was to be left.
pub fn run(task: &Task, out: &mut dyn Write) -> Result<(), Fault> {
    match task {
        Task::Help => out.write_all(arguments::HELP.as_bytes())?,
        Task::ListManagers => {
            for room in Room::all() {
                writeln!(out, "{}", room.name())?;
            }
        }
        Task::Dump(wanted) => dump(wanted, out)?,
    }
    Ok(())
}

fn dump(wanted: &Wanted, out: &mut dyn Write) -> Result<(), Fault> {
    let source = Source::find(&wanted.path, wanted.timeline_meant())?;
    let (start, end) = bounds(wanted, &source)?;
    let found = Reader::find(Arc::clone(&source.disk), source.shape, start)?;
    let Some(mut reader) = found else {
        return Err(Fault::Log(format!("could not find a valid record after {start}")));
    };
    if wanted.start.is_some() && reader.at() != start && wanted.shown != Shown::Nothing {
        let skipped = reader.at().0 - start.0;
        let at = reader.at();
        writeln!(out, "first record is after {start}, at {at}, skipping over {skipped} bytes")?;
    }
    let first = reader.at();
    let mut summary = Summary::default();
    let stopped = records(wanted, &mut reader, end, &mut summary, out);
    match wanted.shown {
        Shown::Managers => {
            show::summary(summary.by_room(), &summary.all(), (first, reader.at()), out)?;
        }
        Shown::Kinds => {
            show::summary(summary.by_kind(), &summary.all(), (first, reader.at()), out)?;
        }
        Shown::Records | Shown::Nothing => {}
    }
    match stopped? {
        Stopped::AsWanted => Ok(()),
        Stopped::AtEnd => {
            let at = judge_end(&mut reader, &source, end)?;
            if wanted.shown != Shown::Nothing {
                writeln!(out, "the log ends at {at}")?;
            }
            Ok(())
        }
    }
}

impl Wanted {
    /// The timeline that was named, be it by a file.
    fn timeline_meant(&self) -> Option<u32> {
        let of_file = || self.files.as_ref().and_then(|(first, _)| parse_file_name(first));
        self.timeline.or_else(|| of_file().map(|(timeline, _)| timeline))
    }
}

/// Where to begin, and where to stop.
fn bounds(wanted: &Wanted, source: &Source) -> Result<(Lsn, Option<Lsn>), Fault> {
    let bytes = source.shape.segment_bytes;
    let Some((first, last)) = &wanted.files else {
        let start = match wanted.start {
            Some(start) => start,
            None => Reader::first_position(&*source.disk, source.shape)?
                .ok_or_else(|| Fault::Log("there is no log".into()))?,
        };
        return Ok((start, wanted.end));
    };
    let number = |name| parse_file_name(name).map_or(0, |(_, number)| number);
    let (from, to) = (Lsn(number(first) * bytes), Lsn((number(last) + 1) * bytes));
    let start = wanted.start.unwrap_or(from);
    if start.0 / bytes != from.0 / bytes {
        let why = format!("start WAL location {start} is not inside file \"{first}\"");
        return Err(Fault::Log(why));
    }
    let end = wanted.end.unwrap_or(to);
    if end < start || end > to {
        return Err(Fault::Log(format!("end WAL location {end} is not inside file \"{last}\"")));
    }
    Ok((start, Some(end)))
}

/// Shows or counts records until the log, or what is wanted of it, ends.
fn records(
    wanted: &Wanted,
    reader: &mut Reader,
    end: Option<Lsn>,
    summary: &mut Summary,
    out: &mut dyn Write,
) -> Result<Stopped, Fault> {
    let stop = if wanted.follow { Some(signals()?) } else { None };
    let ended = |at: Lsn| end.is_some_and(|end| at >= end);
    let mut shown = 0;
    loop {
        if ended(reader.at()) || wanted.limit.is_some_and(|limit| shown >= limit) {
            return Ok(Stopped::AsWanted);
        }
        let Some(record) = reader.read()? else {
            let Some(stop) = &stop else { return Ok(Stopped::AtEnd) };
            out.flush()?;
            if stop.recv_timeout(FOLLOW_EVERY) != Err(RecvTimeoutError::Timeout) {
                return Ok(Stopped::AsWanted);
            }
            reader.look_again();
            continue;
        };
        // The log may go on in a later segment.
        if ended(record.at.start) {
            return Ok(Stopped::AsWanted);
        }
        if !wanted.filter.takes(&record) {
            continue;
        }
        shown += 1;
        match wanted.shown {
            Shown::Records => show::record(&record, wanted.image_details, out)?,
            Shown::Managers | Shown::Kinds => summary.count(&record),
            Shown::Nothing => {}
        }
    }
}

/// Tells of a signal that ends the program, so that what was counted is shown first.
fn signals() -> Result<Receiver<()>, Fault> {
    let refused = |error| Fault::Log(format!("cannot listen to signals: {error}"));
    let mut signals = Signals::listen().map_err(refused)?;
    let (tell, told) = channel();
    let wait = move || {
        while signals.wait() != Signal::Stop {}
        // Nobody listens any more: it has ended anyway.
        let _ = tell.send(());
    };
    thread::Builder::new().name("signals".into()).spawn(wait).map_err(refused)?;
    Ok(told)
}

/// Where the log ends; fails if it should not end there.
fn judge_end(reader: &mut Reader, source: &Source, wanted: Option<Lsn>) -> Result<Lsn, Fault> {
    let at = reader.at();
    let (found, file, offset) = reader.obstacle()?;
    let place = format!("error in WAL record at {at} (file \"{file}\", byte {offset}): {found}");
    if let Some(missing) = reader.missing_file()? {
        return Err(Fault::Log(format!(
            "{place}; file \"{missing}\" is missing, though later ones of the same run are there"
        )));
    }
    if let Some(next) = reader.resumes_at()? {
        return Err(Fault::Log(format!(
            "{place}; but there is an intact one at {next}: the log was damaged, or a crash lost what was not \
             yet durable (then a start ends the log here)"
        )));
    }
    if let Some(checkpoint) = source.checkpoint.filter(|checkpoint| at <= *checkpoint) {
        return Err(Fault::Log(format!(
            "{place}; but the control file knows of a checkpoint at {checkpoint}"
        )));
    }
    if let Some(wanted) = wanted {
        return Err(Fault::Log(format!("the log ends at {at}, before {wanted}: {found}")));
    }
    Ok(at)
}

impl Filter {
    fn takes(&self, record: &RecordView<'_>) -> bool {
        let among = |all: &[Room]| record.kind.room().is_some_and(|room| all.contains(&room));
        let page = |block: &BlockView<'_>| {
            self.relation.is_none_or(|rel| block.page.rel == rel)
                && self.fork.is_none_or(|fork| block.page.fork == fork)
                && self.block.is_none_or(|number| block.page.block == number)
        };
        let any_page = self.relation.is_none() && self.fork.is_none();
        (self.rooms.is_empty() || among(&self.rooms))
            && (self.kinds.is_empty() || self.kinds.contains(&record.kind))
            && self.xid.is_none_or(|xid| record.xid == xid)
            && (any_page || record.blocks().any(|block| page(&block)))
            && (!self.whole_pages || record.blocks().any(|block| block.has_image()))
    }
}
