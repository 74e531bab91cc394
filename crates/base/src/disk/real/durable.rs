//! A write and its sync in one call of the system.

use super::ring::is_passing;
use crate::disk::SyncMethod;
use io_uring::{IoUring, Probe, opcode, squeue, types};
use std::cell::RefCell;
use std::fs;
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::FileExt;

/// What the orders' completions are known by.
const WRITE: u64 = 1;
const SYNC: u64 = 2;

thread_local! {
    /// The thread's ring, made at the first use.
    static RING: RefCell<Option<IoUring>> = const { RefCell::new(None) };
}

/// Whether the system lets this process use the method.
pub(super) fn check(how: SyncMethod) -> io::Result<()> {
    match how {
        SyncMethod::Fdatasync | SyncMethod::OpenDatasync => Ok(()),
        SyncMethod::IoUring => {
            let ring = IoUring::new(4)?;
            let mut probe = Probe::new();
            ring.submitter().register_probe(&mut probe)?;
            let has = |code| probe.is_supported(code);
            match has(opcode::Write::CODE) && has(opcode::Fsync::CODE) {
                true => Ok(()),
                false => Err(io::ErrorKind::Unsupported.into()),
            }
        }
    }
}

/// Writes all of `bytes` and makes them durable, with the file's length if that changes.
pub(super) fn write(file: &fs::File, bytes: &[u8], offset: u64, how: SyncMethod) -> io::Result<()> {
    match how {
        SyncMethod::Fdatasync => in_two_steps(file, bytes, offset),
        SyncMethod::OpenDatasync => write_through(file, bytes, offset),
        SyncMethod::IoUring => RING.with_borrow_mut(|ring| {
            if ring.is_none() {
                *ring = Some(IoUring::new(4)?);
            }
            linked(ring.as_mut().expect("made above"), file, bytes, offset)
        }),
    }
}

fn in_two_steps(file: &fs::File, bytes: &[u8], offset: u64) -> io::Result<()> {
    file.write_all_at(bytes, offset)?;
    file.sync_data()
}

/// As a file opened with `O_DSYNC` is written.
fn write_through(file: &fs::File, bytes: &[u8], offset: u64) -> io::Result<()> {
    let mut done = 0;
    while done < bytes.len() {
        let rest = &bytes[done..];
        let iov = libc::iovec { iov_base: rest.as_ptr().cast_mut().cast(), iov_len: rest.len() };
        let at = (offset + done as u64) as i64;
        // SAFETY: the vector describes `rest`, which outlives the call and is only read.
        let n = unsafe { libc::pwritev2(file.as_raw_fd(), &iov, 1, at, libc::RWF_DSYNC) };
        match usize::try_from(n) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(n) => done += n,
            Err(_) => {
                let fault = io::Error::last_os_error();
                match fault.raw_os_error() {
                    Some(libc::EINTR) => {}
                    // A file system that can't: known only now, since it is the file's matter.
                    Some(libc::EOPNOTSUPP) => return in_two_steps(file, rest, at as u64),
                    _ => return Err(fault),
                }
            }
        }
    }
    Ok(())
}

/// A write with a sync that waits for it, ordered together.
fn linked(ring: &mut IoUring, file: &fs::File, bytes: &[u8], offset: u64) -> io::Result<()> {
    let length = u32::try_from(bytes.len()).map_err(|_| io::ErrorKind::InvalidInput)?;
    let place = types::Fd(file.as_raw_fd());
    let write = opcode::Write::new(place, bytes.as_ptr(), length).offset(offset).build();
    let write = write.flags(squeue::Flags::IO_LINK).user_data(WRITE);
    let sync = opcode::Fsync::new(place).flags(types::FsyncFlags::DATASYNC).build();
    // SAFETY: the bytes are borrowed until this function returns, and it does so only when both orders are over.
    let queued = unsafe { ring.submission().push_multiple(&[write, sync.user_data(SYNC)]) };
    queued.expect("two orders fit into an empty ring");
    let (mut written, mut synced) = (None, None);
    // The system takes what it has room for; of a pair that it takes one by one the sync waits for nothing.
    let mut apart = false;
    while written.is_none() || synced.is_none() {
        match ring.submit_and_wait(1) {
            Ok(taken) => apart |= taken == 1,
            // The system is short of memory for a moment, or was interrupted: what it has not taken is still in the queue.
            Err(fault) if is_passing(&fault) => std::thread::yield_now(),
            // The orders may be under way, and their bytes must stay.
            Err(fault) => abandon(&fault),
        }
        for done in ring.completion() {
            match done.user_data() {
                WRITE => written = Some(done.result()),
                _ => synced = Some(done.result()),
            }
        }
    }
    let done = match result(written) {
        Err(fault) if is_passing(&fault) => 0,
        done => done?,
    };
    // A short write cancels the sync; one on its own may have met an error that is told once.
    if done == bytes.len() || apart {
        result(synced)?;
    }
    if done < bytes.len() {
        file.write_all_at(&bytes[done..], offset + done as u64)?;
    }
    if done < bytes.len() || apart { file.sync_data() } else { Ok(()) }
}

/// What an order's completion says.
fn result(code: Option<i32>) -> io::Result<usize> {
    match code {
        Some(n) if n >= 0 => Ok(n as usize),
        code => Err(io::Error::from_raw_os_error(-code.unwrap_or(-libc::EIO))),
    }
}

/// Ends the process: what the system does with the bytes of a write is not known any more.
fn abandon(fault: &io::Error) -> ! {
    crate::log!("io_uring does not answer: {fault}");
    std::process::abort()
}
