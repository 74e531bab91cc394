//! Faults of the disk, for some milliseconds at a time: it has no room, refuses writes, or reads.
//!
//! One seed in eight has them. Whoever is refused something gets an error, and rolls back; so it goes as long as the fault
//! lasts and a little longer, because the engine's contexts try again after a pause. Then everything works again, or the
//! run fails. A crash may come in the midst of it as at any time.
//!
//! A write that is refused may be half done. No sync is refused: the engine ends its process then.

use base::clock::{self, Instant};
use base::disk::sim::{Access, FaultHook, SimDisk};
use base::hash::hash_of;
use base::{park, sim};
use std::io;
use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;
use storage::{Engine, Error};

/// Windows, each from the first refusal to the fault's end.
pub const FULL: &str = "disk full, then crash";
pub const UNWRITTEN: &str = "write error, then crash";
pub const UNREAD: &str = "read error, then crash";

/// How often each fault comes.
const TIMES: usize = 2;
/// Disk operations between two.
const PAUSE: Range<usize> = 20..120;
/// Microseconds that one lasts, and for how long it waits for somebody to meet it.
const LASTS: Range<u64> = 500..5000;
const LASTS_MAX: Duration = Duration::from_millis(30);
const LOOK_EVERY: Duration = Duration::from_micros(200);
/// How long after it its errors are still met: the log's maker tries again after half a second at most.
const AFTERMATH: Duration = Duration::from_millis(600);
/// So many commits show that it is over.
const COMMITS_AFTER: usize = 20;

/// "Input/output error".
const EIO: i32 = 5;

/// What the disk refuses.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Fault {
    /// Whatever takes room.
    Full,
    /// Segments of the log.
    FullForLog,
    /// Writes of relations' pages to their places.
    Places,
    /// Writes to the double-write area.
    DoubleWrite,
    /// Writes to the status logs.
    StatusLogs,
    /// Reads of relations' pages.
    Reads,
}

impl Fault {
    const ALL: [Fault; 6] = [
        Fault::Full,
        Fault::FullForLog,
        Fault::Places,
        Fault::DoubleWrite,
        Fault::StatusLogs,
        Fault::Reads,
    ];

    fn window(self) -> &'static str {
        match self {
            Fault::Full | Fault::FullForLog => FULL,
            Fault::Places | Fault::DoubleWrite | Fault::StatusLogs => UNWRITTEN,
            Fault::Reads => UNREAD,
        }
    }

    fn befalls(self, access: Access, path: &str) -> bool {
        match self {
            Fault::Full => access == Access::Grow,
            Fault::FullForLog => {
                let takes_room = matches!(access, Access::Grow | Access::Directory);
                takes_room && (path == "wal" || path.starts_with("wal/"))
            }
            Fault::Places => access == Access::Write && path.starts_with("base/"),
            Fault::DoubleWrite => access == Access::Write && path == "doublewrite",
            Fault::StatusLogs => access == Access::Write && path.starts_with("txlog/"),
            Fault::Reads => access == Access::Read && path.starts_with("base/"),
        }
    }

    /// Has what seldom happens come to it.
    fn provoke(self, engine: &Engine) -> storage::Result<()> {
        match self {
            Fault::FullForLog => engine.wal().switch().map(drop),
            Fault::StatusLogs => engine.checkpoint(),
            _ => Ok(()),
        }
    }

    /// What the system says. Where writes in place are concerned, too: a file system that writes nothing to the place where
    /// it was needs room for it. Of any other error that its background contexts meet the engine thinks, in a simulation,
    /// that it is to blame itself (`complaint.rs`).
    fn error(self) -> io::Error {
        match self {
            Fault::Reads => io::Error::from_raw_os_error(EIO),
            _ => io::ErrorKind::StorageFull.into(),
        }
    }

    /// Whether it may be the reason of an error.
    fn gives(self, error: &Error) -> bool {
        match self {
            Fault::Reads => error.sqlstate() == "58030",
            // The area may not go as long as it has the only copy of a page.
            Fault::Places => matches!(error.sqlstate(), "53100" | "55000"),
            _ => error.sqlstate() == "53100",
        }
    }
}

/// What a bank knows of them.
#[derive(Default)]
pub struct Faults {
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// One is there, or one is still to come.
    expected: bool,
    /// Those there were, and until when each is the reason of errors.
    met: Vec<(Fault, Instant)>,
    /// Accesses that the present one has refused.
    refused: usize,
    window: Option<sim::Window>,
    /// Commits that there were when the last one was over.
    survived_at: Option<usize>,
}

/// Whether the disk of a seed's world has faults. Not always the same seed of eight: what else a seed decides goes by twos
/// and fours.
pub fn befall(seed: u64) -> bool {
    seed % 8 == (seed / 8 + 3) % 8
}

/// Has them come to the engine's disk, one after another, beside whatever goes on. It writes so many bytes as a whole.
pub fn start(
    faults: &Arc<Faults>,
    engine: &Arc<Engine>,
    disk: &SimDisk,
    sector_bytes: usize,
    seed: u64,
) {
    let mut rng = fastrand::Rng::with_seed(seed ^ 0x6661_756C);
    let mut list = Fault::ALL.repeat(TIMES);
    rng.shuffle(&mut list);
    disk.tear_refused_writes(sector_bytes);
    faults.lock().expected = true;
    let (faults, engine, disk) = (Arc::clone(faults), Arc::clone(engine), disk.clone());
    sim::spawn_local(move || {
        for fault in list {
            // Whoever waits for the engine to try again goes on first.
            let due = sim::operations() + rng.usize(PAUSE);
            while sim::operations() < due {
                park::sleep(LOOK_EVERY);
            }
            bring(&faults, fault, &engine, &disk, &mut rng);
        }
        faults.lock().expected = false;
    });
}

/// Has one come and go.
fn bring(
    faults: &Arc<Faults>,
    fault: Fault,
    engine: &Engine,
    disk: &SimDisk,
    rng: &mut fastrand::Rng,
) {
    faults.begin(fault);
    disk.set_fault(Some(hook(faults, fault, rng)));
    let latest = clock::now().after(LASTS_MAX);
    if let Err(e) = fault.provoke(engine) {
        assert!(faults.excuse(&e), "met by {fault:?}: {e}");
    }
    park::sleep(Duration::from_micros(rng.u64(LASTS)));
    while faults.lock().refused == 0 && clock::now() < latest {
        park::sleep(LOOK_EVERY);
    }
    disk.set_fault(None);
    faults.end();
}

/// Refuses each access that the fault befalls, or some of them, or all to some places.
fn hook(faults: &Arc<Faults>, fault: Fault, rng: &mut fastrand::Rng) -> FaultHook {
    let (faults, mut lots) = (Arc::clone(faults), rng.fork());
    let (odds, by_place, salt) = ([1, 1, 2, 5][rng.usize(..4)], rng.bool(), rng.u64(..));
    // These are few places, and seldom written.
    let odds = if fault == Fault::StatusLogs { 1 } else { odds };
    Box::new(move |access, path, offset| {
        if !fault.befalls(access, path) {
            return None;
        }
        let lot = if by_place { hash_of(&(salt, path, offset)) >> 32 } else { lots.u64(..) };
        lot.is_multiple_of(odds).then(|| faults.refuse(fault))
    })
}

impl Faults {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().expect("nothing panics under it")
    }

    fn begin(&self, fault: Fault) {
        let mut state = self.lock();
        state.refused = 0;
        state.met.push((fault, Instant(u64::MAX)));
    }

    fn refuse(&self, fault: Fault) -> io::Error {
        let mut state = self.lock();
        state.refused += 1;
        state.window.get_or_insert_with(|| sim::window(fault.window()));
        fault.error()
    }

    fn end(&self) {
        let mut state = self.lock();
        state.window = None;
        let (_, until) = state.met.last_mut().expect("it has begun");
        *until = clock::now().after(AFTERMATH);
    }

    /// Whether an error is the disk's, and no reason but to roll back and go on.
    pub fn excuse(&self, error: &Error) -> bool {
        let now = clock::now();
        self.lock().met.iter().any(|(fault, until)| now < *until && fault.gives(error))
    }

    /// Whether the last one is over, and the bank has made some commits of its `commits` since.
    pub fn are_survived(&self, commits: usize) -> bool {
        let mut state = self.lock();
        if state.expected {
            return false;
        }
        commits >= COMMITS_AFTER + *state.survived_at.get_or_insert(commits)
    }
}
