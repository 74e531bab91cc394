//! Which cores a thread may run on.

use std::io;

/// A set of cores.
#[derive(Clone, Copy)]
pub struct Cores(libc::cpu_set_t);

impl Cores {
    /// Those that this thread may use; none if the system doesn't tell.
    pub fn of_this_thread() -> Cores {
        // The calling thread.
        Cores::of(0)
    }

    /// Those that the process' first thread may use: what who started the process said.
    pub fn of_process() -> Cores {
        Cores::of(std::process::id().cast_signed())
    }

    fn of(thread: libc::pid_t) -> Cores {
        let mut cores = Cores::none();
        // SAFETY: the set is as large as is said, and outlives the call.
        let result =
            unsafe { libc::sched_getaffinity(thread, size_of_val(&cores.0), &raw mut cores.0) };
        if result == 0 { cores } else { Cores::none() }
    }

    fn none() -> Cores {
        // SAFETY: an array of integers.
        Cores(unsafe { std::mem::zeroed() })
    }

    /// Lets this thread run on these cores only. Threads that it starts inherit that.
    ///
    /// # Errors
    /// The process may use none of them.
    pub fn apply(&self) -> io::Result<()> {
        // SAFETY: 0 is the calling thread; the set is as large as is said, and outlives the call.
        let result = unsafe { libc::sched_setaffinity(0, size_of_val(&self.0), &raw const self.0) };
        if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
    }

    /// Their numbers, ascending.
    pub fn iter(&self) -> impl Iterator<Item = usize> {
        // SAFETY: the number is within the set.
        (0..libc::CPU_SETSIZE as usize).filter(|core| unsafe { libc::CPU_ISSET(*core, &self.0) })
    }

    /// The set of the core that comes `n`th, from 0.
    pub fn nth(&self, n: usize) -> Option<Cores> {
        let core = self.iter().nth(n)?;
        let mut cores = Cores::none();
        // SAFETY: `core` is within the set, see `iter`.
        unsafe { libc::CPU_SET(core, &mut cores.0) };
        Some(cores)
    }
}

/// Lets this thread, a new one, run wherever the process may: who started it may have been kept to a core.
pub fn leave_starters() {
    // Refused, because the process' cores were changed meanwhile: it stays where it is.
    let _ = Cores::of_process().apply();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_of_a_thread_that_is_kept_to_a_core_leaves_it() {
        let kept = || {
            Cores::of_this_thread().nth(0).unwrap().apply().unwrap();
            assert_eq!(Cores::of_this_thread().iter().count(), 1);
            let inherits = || assert_eq!(Cores::of_this_thread().iter().count(), 1);
            std::thread::spawn(inherits).join().unwrap();
            let leaves = || {
                leave_starters();
                assert!(Cores::of_this_thread().iter().eq(Cores::of_process().iter()));
            };
            std::thread::spawn(leaves).join().unwrap();
        };
        std::thread::spawn(kept).join().unwrap();
    }
}
