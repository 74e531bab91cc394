//! Reading the log from a position to its end.
//!
//! The end is the first place where no intact record of the segment's epoch starts, unless the next
//! segment's header says that a later run went on from exactly there. If it says that the run went on from
//! *elsewhere*, the log was damaged after it was written: that is an error, not an end.

use super::Wal;
use super::record::{self, HEADER_BYTES, RECORD_ALIGN};
use super::segment::{self, Epoch, LogShape};
use super::view::{RecordView, padded_length};
use crate::error::{Error, Result};
use base::Lsn;
use base::disk::{Disk, File};
use base::wait_event::{self, Event};
use std::sync::Arc;

/// Bytes read at a time.
const WINDOW_BYTES: u64 = 256 * 1024;

/// Reads records in order.
pub struct Reader {
    disk: Arc<dyn Disk>,
    shape: LogShape,
    /// The epoch of the record at `at`.
    epoch: Epoch,
    seed: u32,
    /// Where the next record starts.
    at: Lsn,
    /// Log bytes from `window_start` on.
    window: Vec<u8>,
    window_start: Lsn,
    /// The segment that the window's end lies in.
    file: Arc<dyn File>,
    file_segment: u64,
}

/// Where the log ends, and what the next run's segments must say.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LogEnd {
    /// One past the last record.
    pub at: Lsn,
    /// The epoch that ended here.
    pub epoch: u32,
    /// The epoch's records may begin only here.
    pub resume: Lsn,
    /// What the next epoch's headers call the end of the one before.
    pub previous_end: Lsn,
}

impl Reader {
    /// A reader whose first record starts at `from`.
    pub fn open(disk: Arc<dyn Disk>, shape: LogShape, from: Lsn) -> Result<Reader> {
        let number = from.0 / shape.segment_bytes;
        let Some((file, epoch)) = segment::open(&*disk, &shape, number)? else {
            let path = segment::path(shape.timeline, number);
            return Err(Error::damaged(path, None, format!("the log from {from} on is not there")));
        };
        let seed = record::crc_seed(epoch.timeline, epoch.number);
        Ok(Reader {
            disk,
            shape,
            epoch,
            seed,
            at: from,
            window: Vec::new(),
            window_start: from,
            file,
            file_segment: number,
        })
    }

    /// A reader at the first intact record that starts at `from` or later; `None` if there is none. Any position will
    /// do: a record is known by its checksum, which covers its place.
    pub fn find(disk: Arc<dyn Disk>, shape: LogShape, from: Lsn) -> Result<Option<Reader>> {
        let from = Lsn(from.0.next_multiple_of(RECORD_ALIGN as u64));
        let mut reader = Reader::open(disk, shape, from)?;
        loop {
            if reader.intact_length()?.is_some() {
                return Ok(Some(reader));
            }
            reader.at.0 += RECORD_ALIGN as u64;
            if !reader.fill(HEADER_BYTES as u64)? {
                let next = Lsn((reader.file_segment + 1) * shape.segment_bytes);
                if segment::open(&*reader.disk, &shape, reader.file_segment + 1)?.is_none() {
                    return Ok(None);
                }
                reader = Reader::open(reader.disk, shape, next)?;
            }
        }
    }

    /// After the end of the log: whether intact records of the same run lie behind it, and where. They are what a crash
    /// leaves that kept later writes and lost earlier ones, or what damage cut off.
    pub fn resumes_at(&self) -> Result<Option<Lsn>> {
        let behind = Lsn(self.at.0 + RECORD_ALIGN as u64);
        if segment::open(&*self.disk, &self.shape, self.epoch.segment_of(behind))?.is_none() {
            return Ok(None);
        }
        let found = Reader::find(Arc::clone(&self.disk), self.shape, behind)?;
        let Some(found) = found.filter(|found| found.epoch == self.epoch) else { return Ok(None) };
        // A running engine writes in order: if it has written those behind since the end was read, it has written
        // what lay there, too.
        let mut again = Reader::open(Arc::clone(&self.disk), self.shape, self.at)?;
        Ok(again.intact_length()?.is_none().then_some(found.at))
    }

    /// After the end of the log: the first file that is missing although a later one of the same run is there.
    pub fn missing_file(&self) -> Result<Option<String>> {
        let is_there = |number| -> Result<bool> {
            let found = segment::open(&*self.disk, &self.shape, number)?;
            Ok(found.is_some_and(|(_, epoch)| epoch == self.epoch))
        };
        let mut first = self.epoch.segment_of(self.at);
        while is_there(first)? {
            first += 1;
        }
        for number in segment::numbers(&*self.disk, self.shape.timeline)? {
            // A running engine makes files in order: if this one is new, the one missing is there now.
            if number > first && is_there(number)? && !is_there(first)? {
                return Ok(Some(segment::path(self.shape.timeline, first)));
            }
        }
        Ok(None)
    }

    /// After the end of the log: what stands there instead of an intact record, in a few words, and in which file, from
    /// which byte on.
    pub fn obstacle(&mut self) -> Result<(String, String, u64)> {
        let file = segment::path(self.shape.timeline, self.epoch.segment_of(self.at));
        let what = if !self.fill(HEADER_BYTES as u64)? {
            "nothing".to_owned()
        } else {
            let offset = (self.at.0 - self.window_start.0) as usize;
            let header = self.window[offset..offset + HEADER_BYTES].try_into().expect("as many");
            match padded_length(header) {
                None => {
                    let length = u32::from_le_bytes([header[4], header[5], header[6], header[7]]);
                    format!("a record of invalid length {length}")
                }
                Some(length) if !self.fill(length as u64)? => {
                    format!("a record of {length} bytes that is cut short")
                }
                Some(length) => format!("a record of {length} bytes with an incorrect checksum"),
            }
        };
        Ok((what, file, self.epoch.file_offset(self.at)))
    }

    /// After the end of the log: forgets what was read of what lies behind, so that the next [`Reader::read`] sees what
    /// has been written since.
    pub fn look_again(&mut self) {
        self.window.clear();
        self.window_start = self.at;
    }

    /// The shape of the log that a directory's files are of, by the first intact one of `timeline` (`None`: of any);
    /// `None` if there is none.
    pub fn shape_of_files(disk: &dyn Disk, timeline: Option<u32>) -> Result<Option<LogShape>> {
        for name in segment::names(disk)? {
            let Some((its, number)) = segment::parse_file_name(&name) else { continue };
            if timeline.is_none_or(|wanted| wanted == its)
                && let Some(shape) = segment::shape(disk, its, number)?
            {
                return Ok(Some(shape));
            }
        }
        Ok(None)
    }

    /// The first position that a segment of the directory holds; `None` without segments.
    pub fn first_position(disk: &dyn Disk, shape: LogShape) -> Result<Option<Lsn>> {
        for number in segment::numbers(disk, shape.timeline)? {
            if segment::open(disk, &shape, number)?.is_some() {
                return Ok(Some(Lsn(number * shape.segment_bytes)));
            }
        }
        Ok(None)
    }

    /// Where the next record starts, or the log ends.
    pub fn at(&self) -> Lsn {
        self.at
    }

    /// The next record; `None` at the end of the log.
    pub fn read(&mut self) -> Result<Option<RecordView<'_>>> {
        let length = loop {
            if let Some(length) = self.intact_length()? {
                break length;
            }
            if !self.enter_next_epoch()? {
                return Ok(None);
            }
        };
        let start = self.at;
        self.at = Lsn(start.0 + length as u64);
        let offset = (start.0 - self.window_start.0) as usize;
        let bytes = &self.window[offset..offset + length];
        Ok(RecordView::parse(bytes, start))
    }

    /// Where the log ends. To be asked when [`Reader::read`] has answered `None`.
    pub fn end(&self) -> LogEnd {
        let empty = self.at == self.epoch.start;
        LogEnd {
            at: self.at,
            epoch: self.epoch.number,
            resume: Lsn(self.at.0.next_multiple_of(self.shape.segment_bytes)),
            previous_end: if empty { self.epoch.previous_end } else { self.at },
        }
    }

    /// Length of the record at `at`, padded, if there is an intact one.
    fn intact_length(&mut self) -> Result<Option<usize>> {
        if !self.fill(HEADER_BYTES as u64)? {
            return Ok(None);
        }
        let offset = (self.at.0 - self.window_start.0) as usize;
        let header = self.window[offset..offset + HEADER_BYTES].try_into().expect("twenty bytes");
        let Some(length) = padded_length(header) else { return Ok(None) };
        if !self.fill(length as u64)? {
            return Ok(None);
        }
        let offset = (self.at.0 - self.window_start.0) as usize;
        let bytes = &self.window[offset..offset + length];
        Ok(RecordView::verify(bytes, self.at, self.seed).map(|_| length))
    }

    /// Brings `[at, at + bytes)` into the window; false if the epoch's segments don't go that far.
    fn fill(&mut self, bytes: u64) -> Result<bool> {
        let end = self.at.0 + bytes;
        if self.window_end() < end {
            self.window.drain(..(self.at.0 - self.window_start.0) as usize);
            self.window_start = self.at;
        }
        while self.window_end() < end {
            if !self.extend_window()? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn window_end(&self) -> u64 {
        self.window_start.0 + self.window.len() as u64
    }

    /// Reads on, into the next segment if need be.
    fn extend_window(&mut self) -> Result<bool> {
        let at = self.window_end();
        let number = at / self.shape.segment_bytes;
        if number != self.file_segment {
            match segment::open(&*self.disk, &self.shape, number)? {
                Some((file, epoch)) if epoch == self.epoch => {
                    (self.file, self.file_segment) = (file, number);
                }
                _ => return Ok(false),
            }
        }
        let segment_end = (number + 1) * self.shape.segment_bytes;
        let length = WINDOW_BYTES.min(segment_end - at) as usize;
        let old = self.window.len();
        self.window.resize(old + length, 0);
        let offset = self.epoch.file_offset(Lsn(at));
        let _waiting = wait_event::during(Event::WalRead);
        let read = self.file.read_at(&mut self.window[old..], offset);
        let path = || segment::path(self.shape.timeline, number);
        let n = read.map_err(|e| Error::io("read", path(), e))?;
        self.window.truncate(old + n);
        Ok(n > 0)
    }

    /// Whether a later run went on from here; if so, goes there.
    fn enter_next_epoch(&mut self) -> Result<bool> {
        let resume = Lsn(self.at.0.next_multiple_of(self.shape.segment_bytes));
        let mut number = resume.0 / self.shape.segment_bytes;
        let mut found = segment::open(&*self.disk, &self.shape, number)?;
        if found.as_ref().is_some_and(|(_, epoch)| *epoch == self.epoch) {
            // The end lies on a segment's first byte. A later run would have gone on right here; if one
            // begins behind, this is no end.
            number += 1;
            found = segment::open(&*self.disk, &self.shape, number)?;
        }
        let Some((file, next)) = found else { return Ok(false) };
        if next.number <= self.epoch.number {
            return Ok(false);
        }
        let expected = self.end().previous_end;
        if next.start != resume || next.previous_end != expected {
            let path = segment::path(self.shape.timeline, self.epoch.segment_of(self.at));
            let detail = format!(
                "no intact record at {}, but a later start went on from {}",
                self.at, next.previous_end
            );
            return Err(Error::damaged(path, None, detail));
        }
        self.seed = record::crc_seed(next.timeline, next.number);
        self.epoch = next;
        (self.file, self.file_segment) = (file, number);
        (self.at, self.window_start) = (resume, resume);
        self.window.clear();
        Ok(true)
    }
}

impl Wal {
    /// A reader of what has been written, at the first record from `from` on; `None` if there is none.
    ///
    /// # Errors
    /// [`Error::Damaged`] if the file that `from` lies in is not there any more.
    pub fn reader(&self, from: Lsn) -> Result<Option<Reader>> {
        Reader::find(Arc::clone(self.store.disk()), self.route.epoch.shape(), from)
    }
}

/// Zeroes the log from its end to the end of that segment, and makes it durable: nothing that lies there
/// can ever be read as log again.
pub fn erase_tail(disk: &dyn Disk, shape: &LogShape, end: &LogEnd) -> Result<()> {
    if end.at == end.resume {
        return Ok(());
    }
    let number = end.at.0 / shape.segment_bytes;
    let path = segment::path(shape.timeline, number);
    let Some((file, epoch)) = segment::open(disk, shape, number)? else {
        return Err(Error::damaged(path, None, "the segment vanished while it was read"));
    };
    let from = epoch.file_offset(end.at);
    segment::write_zeros(&*file, from, segment::HEADER_BYTES + shape.segment_bytes, &path)?;
    file.sync().map_err(|e| Error::io("sync", path, e))
}
