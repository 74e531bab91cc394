//! The control file: what a start must know before it can read the log.
//!
//! ```text
//! control := copy at 0, copy at 4096
//! copy    := magic u64 | version u32 | zero u32 | sequence u64 | page bytes u32 | state u32
//!          | system id u64 | timeline u32 | epoch u32 | segment bytes u64
//!          | redo u64 | checkpoint u64 | checkpoint time i64
//!          | next xid u64 | next relation u32 | next oid u32 | next multixact u64 | next member u64 | crc u32
//! ```
//!
//! An update writes and syncs one copy, then the other. A crash leaves one of them whole; bit rot in one is
//! repaired from the other at the next update.

use crate::error::{Error, Result};
use crate::page::PAGE_BYTES;
use crate::txlog::{MultiXactId, TxLogStart};
use crate::wal::LogShape;
use base::crc::crc32c;
use base::disk::{Disk, File, Open};
use base::wait_event::{self, Event};
use base::{Lsn, Xid};
use std::io;
use std::sync::Arc;

/// Its name.
pub const PATH: &str = "control";
/// Its name while a directory is being made.
pub const NEW_PATH: &str = "control.new";
/// What this program writes and reads.
pub const FORMAT_VERSION: u32 = 3;

const MAGIC: u64 = u64::from_le_bytes(*b"THALWEG\0");
const COPY_STRIDE: u64 = 4096;
const ENCODED_BYTES: usize = 116;

/// Whether the engine was closed in order.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum State {
    /// The log ends with the shutdown's checkpoint; nothing needs redo.
    Clean,
    /// The engine runs, or ran when the machine stopped.
    Running,
}

/// The next numbers to hand out, no lower than anything that the log before the redo point made use of.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Counters {
    /// Transaction ids.
    pub next_xid: Xid,
    /// Counter part of relation ids.
    pub next_rel: u32,
    /// Object ids.
    pub next_oid: u32,
    /// Multixact ids.
    pub next_multixact: u64,
    /// Multixact member offsets.
    pub next_member: u64,
}

/// The control file's content.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Control {
    /// How it was left.
    pub state: State,
    /// Identity and segment size of the log.
    pub shape: LogShape,
    /// The run that wrote this.
    pub epoch: u32,
    /// Where redo begins.
    pub redo: Lsn,
    /// Start of the checkpoint record that said so; zero in a directory that never had one.
    pub checkpoint: Lsn,
    /// When it was, wall-clock microseconds since 1970.
    pub checkpoint_micros: i64,
    /// As of the redo point or later.
    pub counters: Counters,
}

/// The open control file.
pub struct ControlFile {
    file: Arc<dyn File>,
    sequence: u64,
    content: Control,
}

impl ControlFile {
    /// Makes the file of a new directory, whole before it has its name: it says that there is a directory.
    pub fn create(disk: &dyn Disk, content: Control) -> Result<ControlFile> {
        let file = disk.open(NEW_PATH, Open::Create);
        let file = file.map_err(|e| Error::io("create", NEW_PATH, e))?;
        let mut control = ControlFile { file, sequence: 0, content };
        control.write(content)?;
        disk.rename_new(NEW_PATH, PATH).map_err(|e| Error::io("rename", NEW_PATH, e))?;
        disk.sync_dir("").map_err(|e| Error::io("sync", ".", e))?;
        Ok(control)
    }

    /// Reads the file. A directory without one, of another version, or with both copies damaged is refused.
    pub fn open(disk: &dyn Disk) -> Result<ControlFile> {
        let file = match disk.open(PATH, Open::Existing) {
            Ok(file) => file,
            Err(e) if e.kind() == io::ErrorKind::NotFound => {
                let why = "the directory is not a Thalweg data directory: it has no control file";
                return Err(Error::Refused(why.into()));
            }
            Err(e) => return Err(Error::io("open", PATH, e)),
        };
        let mut best: Option<(u64, Control)> = None;
        let mut complaint = None;
        for copy in 0..2 {
            let mut bytes = [0; ENCODED_BYTES];
            let read = file.read_at(&mut bytes, copy * COPY_STRIDE);
            read.map_err(|e| Error::io("read", PATH, e))?;
            match decode(&bytes) {
                Ok(found) if best.is_none_or(|(sequence, _)| sequence < found.0) => {
                    best = Some(found);
                }
                Ok(_) => {}
                Err(why) => complaint = Some(why),
            }
        }
        match (best, complaint) {
            (Some((sequence, content)), _) => Ok(ControlFile { file, sequence, content }),
            (None, complaint) => Err(complaint.expect("a copy is good or complained about")),
        }
    }

    /// Reads what the file says, also while an engine is running on the directory.
    pub fn read(disk: &dyn Disk) -> Result<Control> {
        ControlFile::open(disk).map(|file| file.content)
    }

    /// What it says.
    pub fn content(&self) -> &Control {
        &self.content
    }

    /// Replaces the content, durably.
    pub fn write(&mut self, content: Control) -> Result<()> {
        self.sequence += 1;
        let bytes = encode(&content, self.sequence);
        let _waiting = wait_event::during(Event::ControlFileSync);
        for copy in 0..2 {
            let written = self.file.write_at(&bytes, copy * COPY_STRIDE);
            written.map_err(|e| Error::io("write", PATH, e))?;
            self.file.sync().map_err(|e| Error::io("sync", PATH, e))?;
        }
        self.content = content;
        Ok(())
    }
}

fn encode(c: &Control, sequence: u64) -> [u8; ENCODED_BYTES] {
    let mut out = Vec::with_capacity(ENCODED_BYTES);
    let mut put = |bytes: &[u8]| out.extend_from_slice(bytes);
    put(&MAGIC.to_le_bytes());
    put(&FORMAT_VERSION.to_le_bytes());
    put(&0u32.to_le_bytes());
    put(&sequence.to_le_bytes());
    put(&(PAGE_BYTES as u32).to_le_bytes());
    put(&u32::from(c.state == State::Clean).to_le_bytes());
    put(&c.shape.system_id.to_le_bytes());
    put(&c.shape.timeline.to_le_bytes());
    put(&c.epoch.to_le_bytes());
    put(&c.shape.segment_bytes.to_le_bytes());
    put(&c.redo.0.to_le_bytes());
    put(&c.checkpoint.0.to_le_bytes());
    put(&c.checkpoint_micros.to_le_bytes());
    put(&c.counters.encode());
    let crc = crc32c(&out);
    out.extend_from_slice(&crc.to_le_bytes());
    out.try_into().expect("the fields add up")
}

/// Reads one copy: its sequence number and content, or why not.
fn decode(bytes: &[u8; ENCODED_BYTES]) -> std::result::Result<(u64, Control), Error> {
    let u32_at = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four"));
    let u64_at = |at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().expect("eight"));
    if u64_at(0) != MAGIC {
        return Err(Error::damaged(PATH, None, "it does not begin as control files do"));
    }
    if u32_at(8) != FORMAT_VERSION {
        return Err(Error::Refused(format!(
            "the data directory has format version {}, this program reads version {FORMAT_VERSION}",
            u32_at(8)
        )));
    }
    if crc32c(&bytes[..ENCODED_BYTES - 4]) != u32_at(ENCODED_BYTES - 4) {
        return Err(Error::damaged(PATH, None, "its checksum is wrong"));
    }
    if u32_at(24) != PAGE_BYTES as u32 {
        return Err(Error::Refused(format!(
            "the data directory has pages of {} bytes, this program uses {PAGE_BYTES}",
            u32_at(24)
        )));
    }
    let control = Control {
        state: if u32_at(28) == 1 { State::Clean } else { State::Running },
        shape: LogShape { system_id: u64_at(32), timeline: u32_at(40), segment_bytes: u64_at(48) },
        epoch: u32_at(44),
        redo: Lsn(u64_at(56)),
        checkpoint: Lsn(u64_at(64)),
        checkpoint_micros: u64_at(72) as i64,
        counters: Counters::decode(&bytes[80..]).expect("the copy is long enough"),
    };
    Ok((u64_at(16), control))
}

impl Counters {
    /// Where the status logs go on.
    pub fn transactions(&self) -> TxLogStart {
        let next_multixact = MultiXactId(self.next_multixact);
        TxLogStart { next_xid: self.next_xid, next_multixact }
    }

    /// Bytes of the encoded counters.
    pub const BYTES: usize = 32;

    /// As they lie in the control file and in checkpoint records.
    pub fn encode(&self) -> [u8; Counters::BYTES] {
        let mut out = [0; Counters::BYTES];
        out[0..8].copy_from_slice(&self.next_xid.0.to_le_bytes());
        out[8..12].copy_from_slice(&self.next_rel.to_le_bytes());
        out[12..16].copy_from_slice(&self.next_oid.to_le_bytes());
        out[16..24].copy_from_slice(&self.next_multixact.to_le_bytes());
        out[24..32].copy_from_slice(&self.next_member.to_le_bytes());
        out
    }

    /// Reads them back from the front of `bytes`.
    pub fn decode(bytes: &[u8]) -> Option<Counters> {
        let bytes = bytes.get(..Counters::BYTES)?;
        let u32_at = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four"));
        let u64_at = |at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().expect("eight"));
        Some(Counters {
            next_xid: Xid(u64_at(0)),
            next_rel: u32_at(8),
            next_oid: u32_at(12),
            next_multixact: u64_at(16),
            next_member: u64_at(24),
        })
    }

    /// Each number the higher of both.
    pub fn max(&self, other: &Counters) -> Counters {
        Counters {
            next_xid: self.next_xid.max(other.next_xid),
            next_rel: self.next_rel.max(other.next_rel),
            next_oid: self.next_oid.max(other.next_oid),
            next_multixact: self.next_multixact.max(other.next_multixact),
            next_member: self.next_member.max(other.next_member),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use base::disk::sim::SimDisk;

    fn sample(epoch: u32) -> Control {
        Control {
            state: State::Running,
            shape: LogShape { system_id: 99, timeline: 1, segment_bytes: 1 << 24 },
            epoch,
            redo: Lsn(1 << 25),
            checkpoint: Lsn((1 << 25) + 64),
            checkpoint_micros: -5,
            counters: Counters {
                next_xid: Xid(77),
                next_rel: 16400,
                next_oid: 16500,
                next_multixact: 9,
                next_member: 10,
            },
        }
    }

    #[test]
    fn one_damaged_copy_is_survived_and_two_are_told() {
        let disk = SimDisk::new();
        let mut file = ControlFile::create(&disk, sample(1)).unwrap();
        file.write(sample(2)).unwrap();
        for copy in 0..2 {
            for at in 0..ENCODED_BYTES as u64 {
                disk.corrupt(PATH, copy * COPY_STRIDE + at, |b| b[0] ^= 4);
                assert_eq!(*ControlFile::open(&disk).unwrap().content(), sample(2));
                disk.corrupt(PATH, copy * COPY_STRIDE + at, |b| b[0] ^= 4);
            }
        }
        disk.corrupt(PATH, 60, |b| b[0] ^= 1);
        disk.corrupt(PATH, COPY_STRIDE + 60, |b| b[0] ^= 1);
        assert!(matches!(ControlFile::open(&disk), Err(Error::Damaged { .. })));
    }

    #[test]
    fn every_crash_of_an_update_leaves_the_old_or_the_new() {
        let disk = SimDisk::new();
        let mut file = ControlFile::create(&disk, sample(1)).unwrap();
        let before = disk.operations();
        file.write(sample(2)).unwrap();
        let mut crashes = disk.crashes();
        for at in before..=disk.operations() {
            crashes.advance_to(at);
            for seed in 0..50 {
                let left = crashes.image(&mut fastrand::Rng::with_seed(seed));
                let epoch = ControlFile::open(&left).unwrap().content().epoch;
                assert!(epoch == 1 || epoch == 2);
                assert!(at < disk.operations() || epoch == 2);
            }
        }
    }

    #[test]
    fn other_versions_and_other_directories_are_refused_by_name() {
        let disk = SimDisk::new();
        let refused = ControlFile::open(&disk).err().unwrap().to_string();
        assert!(refused.contains("not a Thalweg data directory"), "{refused}");
        drop(ControlFile::create(&disk, sample(1)).unwrap());
        disk.corrupt(PATH, 8, |b| b[0] = 99);
        disk.corrupt(PATH, COPY_STRIDE + 8, |b| b[0] = 99);
        let refused = ControlFile::open(&disk).err().unwrap().to_string();
        assert!(refused.contains("format version 99"), "{refused}");
    }
}
