//! What every layer of Thalweg stands on: identifiers, the one way to wait, latches, disk and clock.
//!
//! Three worlds run the same engine code. Operating-system threads (embedding, background work), fibers
//! on worker threads (the server), and a seeded single-threaded scheduler over a simulated disk and clock
//! (`sim`). They differ only in what [`park`] does, in which [`disk::Disk`] is open and in what
//! [`clock::now`] answers.

pub mod clock;
pub mod cores;
pub mod counts;
pub mod crc;
pub mod disk;
pub mod env;
pub mod fiber;
pub mod hash;
pub mod ids;
pub mod interrupt;
pub mod latch;
pub mod log;
pub mod lot;
pub mod memory;
pub mod pad;
pub mod park;
pub mod rank;
pub mod sim;
pub mod sync;
pub mod usage;
pub mod wait_event;

pub use env::Env;
pub use ids::{BlockNo, Csn, Fork, Lsn, LsnRange, PageId, Persistence, RelId, Tid, Xid};
