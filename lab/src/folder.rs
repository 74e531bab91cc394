//! A record's directory. One lab at a time writes to it: two that go on with the same record would each write it
//! anew without the other's runs.

use crate::model::{CUT_OFF, Record};
use std::fs::{File, TryLockError};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// The file in it that is locked as long as a lab writes there; the lock goes with the process.
const LOCK: &str = "lock";

/// A directory that is ours for now.
#[derive(Debug)]
pub struct Folder {
    path: PathBuf,
    _lock: File,
}

impl Folder {
    /// Makes a new one under `out`, called `name`, or that with a number.
    pub fn create(out: &Path, name: &str) -> Result<Folder, String> {
        let failed = |path: &Path, e| format!("{} can't be made: {e}", path.display());
        std::fs::create_dir_all(out).map_err(|e| failed(out, e))?;
        let mut path = out.join(name);
        let mut number = 1;
        while let Err(e) = std::fs::create_dir(&path) {
            if e.kind() != ErrorKind::AlreadyExists {
                return Err(failed(&path, e));
            }
            number += 1;
            path = out.join(format!("{name}-{number}"));
        }
        Folder::lock(&path)?.ok_or_else(|| format!("{} was taken", path.display()))
    }

    /// The newest one under `out` that holds a partial record of what is asked for now and that no other lab
    /// writes to; with that record.
    pub fn resumable(out: &Path, fresh: &Record) -> Option<(Record, Folder)> {
        let entries = std::fs::read_dir(out).ok()?.flatten();
        let mut paths: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
        paths.sort();
        paths.into_iter().rev().find_map(|path| {
            let wanted = |record: &Record| record.stopped.is_some() && same(record, fresh);
            Record::load(&path).ok().filter(wanted)?;
            let folder = Folder::lock(&path).ok()??;
            // Whoever held the lock until now may have finished it meanwhile.
            let mut record = Record::load(&path).ok().filter(wanted)?;
            record.stopped = Some(CUT_OFF.to_owned());
            // What failed is tried again.
            record.experiments.iter_mut().for_each(|results| results.skipped.clear());
            Some((record, folder))
        })
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Takes a directory, unless another lab has it.
    fn lock(path: &Path) -> Result<Option<Folder>, String> {
        let name = path.join(LOCK);
        let failed = |e| format!("{} can't be locked: {e}", name.display());
        let lock = File::create(&name).map_err(failed)?;
        match lock.try_lock() {
            Ok(()) => Ok(Some(Folder { path: path.to_owned(), _lock: lock })),
            Err(TryLockError::WouldBlock) => Ok(None),
            Err(TryLockError::Error(e)) => Err(failed(e)),
        }
    }
}

/// Whether a record is of what another one is to be of.
fn same(record: &Record, other: &Record) -> bool {
    record.request == other.request
        && record.machine.is(&other.machine)
        && record.has_programs_of(other)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Request, Skipped};
    use bench::servers::Scratch;
    use std::time::{Duration, Instant};

    /// What is found when the lock is free. Children that other tests start hold all our files until they are
    /// another program, a moment after the folder was dropped here.
    fn found(out: &Path, fresh: &Record) -> (Record, Folder) {
        let give_up = Instant::now() + Duration::from_secs(60);
        loop {
            if let Some(found) = Folder::resumable(out, fresh) {
                return found;
            }
            assert!(Instant::now() < give_up, "nothing to go on with in {}", out.display());
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    fn asked(target: &str) -> Record {
        Record::begin(Request { targets: vec![target.to_owned()], ..Request::default() })
    }

    #[test]
    fn a_record_that_is_being_written_is_left_alone() {
        let scratch = Scratch::new("lab-two-at-once").unwrap();
        let fresh = asked("thalweg");
        let first = Folder::create(scratch.path(), "a").unwrap();
        fresh.save(first.path()).unwrap();
        assert!(Folder::resumable(scratch.path(), &fresh).is_none(), "its lab is at work");
        let second = Folder::create(scratch.path(), "a").unwrap();
        assert_ne!(first.path(), second.path());
        fresh.save(second.path()).unwrap();
        let path = first.path().to_owned();
        drop(first);
        let (_, again) = found(scratch.path(), &fresh);
        assert_eq!(again.path(), path, "the newer one is still being written");
    }

    #[test]
    fn only_what_is_partial_and_asked_for_again_is_gone_on_with() {
        let scratch = Scratch::new("lab-resumable").unwrap();
        let path = scratch.path();
        let mut record = asked("mine=postgres://me@here:5432/d");
        record.stopped = Some("interrupted".to_owned());
        record.programs.insert("lab".to_owned(), "0123456789abcdef".to_owned());
        record.results("s4-hash", "clients", 8).skipped.push(Skipped {
            target: "pg18".to_owned(),
            variant: String::new(),
            x: None,
            round: None,
            why: "no network".to_owned(),
        });
        let folder = Folder::create(path, "a").unwrap();
        record.save(folder.path()).unwrap();
        drop(folder);
        let mut rebuilt = record.clone();
        rebuilt.program = Some("0123456789abcdef".to_owned());
        assert!(Folder::resumable(path, &rebuilt).is_none(), "another program");
        let mut rebuilt = record.clone();
        rebuilt.programs.insert("lab".to_owned(), "fedcba9876543210".to_owned());
        assert!(Folder::resumable(path, &rebuilt).is_none(), "another lab");
        let mut larger = record.clone();
        larger.machine.memory_kib += 1 << 20;
        assert!(Folder::resumable(path, &larger).is_none(), "another machine");
        let elsewhere = asked("mine=postgres://me@there:5432/d");
        assert!(Folder::resumable(path, &elsewhere).is_none(), "another server of this name");
        // What was fetched or built since tells nothing of before, and a kernel takes a little more or less for itself.
        let mut fresh = record.clone();
        fresh.programs.insert("pg18".to_owned(), "postgres (PostgreSQL) 18.4".to_owned());
        fresh.machine.memory_kib += 4;
        let (again, folder) = found(path, &fresh);
        assert!(again.experiments[0].skipped.is_empty(), "what failed is tried again");
        assert_eq!(again.stopped.as_deref(), Some(CUT_OFF));
        record.stopped = None;
        record.save(folder.path()).unwrap();
        drop(folder);
        assert!(Folder::resumable(path, &record).is_none(), "it is whole");
    }
}
