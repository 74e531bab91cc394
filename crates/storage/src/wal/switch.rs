//! Finishing a segment before it is full, and where a position lies.

use super::record::{HEADER_BYTES, MAX_RECORD_BYTES, RECORD_ALIGN, Record, record_bound};
use super::{Kind, Wal, segment};
use crate::error::{Error, Result};
use crate::recovery::{Control, ControlFile};
use base::disk::Open;
use base::{Lsn, Xid};

/// What one filler carries at most.
const FILL_BYTES: usize = MAX_RECORD_BYTES - 1024;

impl Wal {
    /// Ends the current segment: whatever is inserted from now on lies in a later one, and all up to there is
    /// durable when this returns. Answers the segment's end. Nothing happens where a segment has just begun.
    ///
    /// The rest is filled with records that say nothing. Others may insert meanwhile; then less is to be filled,
    /// and the last filler reaches a little beyond.
    pub fn switch(&self) -> Result<Lsn> {
        let begun = self.position();
        let current = self.route.epoch.segment_of(begun);
        if begun == self.route.epoch.start_of(current) {
            self.flush(begun);
            return Ok(begun);
        }
        let _window = base::sim::window("log-switched");
        let end = self.route.epoch.start_of(current + 1);
        let zeros = vec![0; FILL_BYTES];
        loop {
            let at = self.position();
            if at >= end {
                break;
            }
            let left = (end.0 - at.0) as usize;
            let fill =
                left.saturating_sub(HEADER_BYTES.next_multiple_of(RECORD_ALIGN)).min(FILL_BYTES);
            let mut claim = self.claim(record_bound(1, 0, fill))?;
            let record = Record::new(Kind::FILLER, Xid::INVALID).data(&zeros[..fill]);
            self.insert(&mut claim, &record);
        }
        self.flush(end);
        Ok(end)
    }

    /// The file that the byte before `lsn` lies in, and where in it `lsn` is. On a segment's first byte the file is
    /// the one before, as PostgreSQL has it.
    pub fn place_of(&self, lsn: Lsn) -> (String, u64) {
        let number = self.route.epoch.segment_of(Lsn(lsn.0.saturating_sub(1)));
        (segment::file_name(self.route.epoch.timeline, number), self.route.epoch.file_offset(lsn))
    }

    /// What the directory's control file says now, and when it was written, as in [`LogFile`].
    pub fn control(&self) -> Result<(Control, Option<i64>)> {
        let disk = self.store.disk();
        let path = crate::recovery::control::PATH;
        let file = disk.open(path, Open::Existing).map_err(|e| Error::io("open", path, e))?;
        let modified = file.modified_micros().map_err(|e| Error::io("stat", path, e))?;
        Ok((ControlFile::read(&**disk)?, modified))
    }

    /// The files of the log's directory, spares included, by name.
    pub fn files(&self) -> Result<Vec<LogFile>> {
        let disk = self.store.disk();
        let mut files = Vec::new();
        for name in segment::names(&**disk)? {
            let path = format!("{}/{name}", segment::DIRECTORY);
            let file = match disk.open(&path, Open::Existing) {
                Ok(file) => file,
                // Renamed or removed since.
                Err(e) if e.kind() == std::io::ErrorKind::NotFound => continue,
                Err(e) => return Err(Error::io("open", path, e)),
            };
            let bytes = file.len().map_err(|e| Error::io("stat", &*path, e))?;
            let modified_micros =
                file.modified_micros().map_err(|e| Error::io("stat", &*path, e))?;
            files.push(LogFile { name, bytes, modified_micros });
        }
        Ok(files)
    }
}

/// A file of the log's directory.
pub struct LogFile {
    /// Its name there.
    pub name: String,
    /// Its length, with the header.
    pub bytes: u64,
    /// When it was written last, wall-clock microseconds since 1970, where the disk knows.
    pub modified_micros: Option<i64>,
}
