//! What a context has used: pages found, read and dirtied, log written. For people, who ask of one statement.
//!
//! Every context (a thread or a fiber) has counts of its own, which only it writes: a count is a load and a store
//! of memory that nobody shares. Whoever wants to know what a piece of work used takes the difference of
//! [`so_far`] before and after it, on the context that does it.

use crate::clock::{self, Instant};
use crate::park;
use crate::sync::unmodelled::{AtomicU8, AtomicU64, Ordering::Relaxed};
use std::ops::{Add, Sub};
use std::time::Duration;

macro_rules! uses {
    ($($(#[$doc:meta])* $variant:ident $field:ident;)*) => {
        /// What is counted.
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        #[repr(usize)]
        pub enum Use {
            $($(#[$doc])* $variant,)*
        }

        const USES: usize = [$(Use::$variant,)*].len();

        /// Counts of a context, or what lies between two of them.
        #[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
        pub struct Usage {
            $($(#[$doc])* pub $field: u64,)*
        }

        impl Usage {
            fn of(counts: &Counts) -> Usage {
                Usage { $($field: counts.uses[Use::$variant as usize].load(Relaxed),)* }
            }
        }

        impl Sub for Usage {
            type Output = Usage;

            fn sub(self, before: Usage) -> Usage {
                Usage { $($field: self.$field.wrapping_sub(before.$field),)* }
            }
        }

        impl Add for Usage {
            type Output = Usage;

            fn add(self, more: Usage) -> Usage {
                Usage { $($field: self.$field.wrapping_add(more.$field),)* }
            }
        }
    };
}

uses! {
    /// Pages found in memory.
    Hit hit;
    /// Pages read from files.
    Read read;
    /// Pages that became dirty.
    Dirtied dirtied;
    /// The same three of temporary tables.
    LocalHit local_hit;
    /// Read.
    LocalRead local_read;
    /// Dirtied.
    LocalDirtied local_dirtied;
    /// Bytes of temporary files read.
    TempRead temp_read;
    /// Bytes of temporary files written.
    TempWritten temp_written;
    /// Nanoseconds of waiting for pages that are read.
    ReadNs read_ns;
    /// Log records inserted.
    WalRecords wal_records;
    /// Images of pages in them.
    WalImages wal_images;
    /// Bytes of them.
    WalBytes wal_bytes;
}

/// What a context works as.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[repr(u8)]
pub enum Role {
    /// A client's session, or whoever embeds the engine.
    #[default]
    Client,
    /// Background vacuum.
    Vacuum,
    /// The page cleaner.
    Cleaner,
    /// The checkpointer.
    Checkpointer,
    /// Redo, and what opening the engine needs.
    Startup,
}

impl Role {
    /// All of them, in their order.
    pub const ALL: [Role; 5] =
        [Role::Client, Role::Vacuum, Role::Cleaner, Role::Checkpointer, Role::Startup];
}

/// A context's counts. All relaxed: only the context itself looks at them.
#[derive(Default)]
pub(crate) struct Counts {
    uses: [AtomicU64; USES],
    role: AtomicU8,
}

/// The current context used `by` more.
#[inline]
pub fn count(what: Use, by: u64) {
    park::with_current(|me| {
        let count = &me.counts.uses[what as usize];
        // Not an addition in one step: nobody else writes it.
        count.store(count.load(Relaxed).wrapping_add(by), Relaxed);
    });
}

/// What the current context has used since it was made.
pub fn so_far() -> Usage {
    park::with_current(|me| Usage::of(&me.counts))
}

/// Measures a piece of work, on the context that does it.
#[derive(Clone, Copy, Debug)]
pub struct Meter {
    begun: Instant,
    cpu: CpuTime,
    used: Usage,
}

/// What a piece of work has cost.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Cost {
    /// From beginning to end.
    pub elapsed: Duration,
    /// Of the thread that it ran on, with what else ran there meanwhile.
    pub cpu: CpuTime,
    /// Pages and log.
    pub used: Usage,
}

/// Time of a processor.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct CpuTime {
    /// In the program.
    pub user: Duration,
    /// In the system on its behalf.
    pub system: Duration,
}

impl Meter {
    /// Begins now.
    pub fn start() -> Meter {
        Meter { begun: clock::now(), cpu: CpuTime::of_thread(), used: so_far() }
    }

    /// What has been spent since.
    pub fn read(&self) -> Cost {
        let cpu = CpuTime::of_thread();
        Cost {
            elapsed: clock::now().since(self.begun),
            cpu: CpuTime {
                // A fiber that was moved has another thread's.
                user: cpu.user.saturating_sub(self.cpu.user),
                system: cpu.system.saturating_sub(self.cpu.system),
            },
            used: so_far() - self.used,
        }
    }
}

impl CpuTime {
    /// What the current thread has had; none in a simulation, whose time is its own.
    fn of_thread() -> CpuTime {
        if crate::sim::active() {
            return CpuTime::default();
        }
        let mut usage = std::mem::MaybeUninit::<libc::rusage>::uninit();
        // SAFETY: `usage` is a place for the answer that lives.
        if unsafe { libc::getrusage(libc::RUSAGE_THREAD, usage.as_mut_ptr()) } != 0 {
            return CpuTime::default();
        }
        // SAFETY: the call has filled it in.
        let usage = unsafe { usage.assume_init() };
        let time = |of: libc::timeval| {
            Duration::from_micros(of.tv_sec.unsigned_abs() * 1_000_000 + of.tv_usec.unsigned_abs())
        };
        CpuTime { user: time(usage.ru_utime), system: time(usage.ru_stime) }
    }
}

/// What the current context works as.
pub fn role() -> Role {
    let role = park::with_current(|me| me.counts.role.load(Relaxed));
    Role::ALL[usize::from(role)]
}

/// Until it is dropped, the context works as something else.
#[must_use = "the role is given back when this is dropped"]
pub struct Acting(Role);

/// From now on the current context works as `role`.
pub fn act_as(role: Role) -> Acting {
    Acting(replace(role))
}

fn replace(role: Role) -> Role {
    let before = park::with_current(|me| me.counts.role.swap(role as u8, Relaxed));
    Role::ALL[usize::from(before)]
}

impl Drop for Acting {
    fn drop(&mut self) {
        replace(self.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_context_counts_its_own_use() {
        let before = so_far();
        count(Use::Hit, 2);
        count(Use::WalBytes, 100);
        std::thread::spawn(|| count(Use::Hit, 1000)).join().unwrap();
        let used = so_far() - before;
        assert_eq!(used, Usage { hit: 2, wal_bytes: 100, ..Usage::default() });
    }

    #[test]
    fn a_meter_reads_what_was_spent_since_it_was_started() {
        count(Use::Hit, 5);
        let meter = Meter::start();
        count(Use::Hit, 3);
        let first = meter.read();
        assert_eq!(first.used, Usage { hit: 3, ..Usage::default() });
        let mut hash = 1u64;
        while meter.read().cpu == CpuTime::default() {
            hash = std::hint::black_box(hash.wrapping_mul(3));
        }
        let second = meter.read();
        assert!(second.elapsed >= first.elapsed && second.used == first.used);
    }

    #[test]
    fn a_role_is_given_back() {
        assert_eq!(role(), Role::Client);
        {
            let _acting = act_as(Role::Vacuum);
            assert_eq!(role(), Role::Vacuum);
        }
        assert_eq!(role(), Role::Client);
    }
}
