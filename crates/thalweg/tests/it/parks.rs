//! Every place that parks, and what `pg_stat_activity` shows of a session that does. A new one fails here until it is
//! entered; that a session never parks without saying for what, debug builds assert at each park (`base::park`).

use base::wait_event::Event;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

/// What shows of whoever parks in a file.
enum Shown {
    /// One of these, named in the file itself.
    Here(&'static [Event]),
    /// One of these, named by the callers in another file.
    By(&'static str, &'static [Event]),
    /// Nothing: only contexts that serve no session park there.
    Background,
}
use Shown::{Background, By, Here};

/// File, calls that park in it, what shows.
const PARKS: &[(&str, usize, Shown)] = &[
    ("server/src/connection/link.rs", 1, Here(&[Event::ClientRead, Event::ClientWrite])),
    ("sql/src/catalog/ddl/database/mod.rs", 1, Here(&[Event::BackendEnd])),
    ("sql/src/catalog/ddl/rework.rs", 1, Here(&[Event::OldSnapshots])),
    ("sql/src/exec/spill/keys/team.rs", 2, Here(&[Event::IndexSort])),
    ("sql/src/session/functions.rs", 1, Here(&[Event::PgSleep])),
    ("sql/src/session/signal.rs", 1, Here(&[Event::BackendEnd])),
    ("storage/src/buffer/ahead.rs", 1, Here(&[Event::DataFileRead])),
    ("storage/src/buffer/cleaner.rs", 1, Background),
    ("storage/src/buffer/free.rs", 1, Here(&[Event::FreeFrame])),
    ("storage/src/buffer/latch.rs", 1, Here(&[Event::BufferContent])),
    ("storage/src/buffer/load.rs", 1, Here(&[Event::BufferPin])),
    (
        "storage/src/buffer/slot.rs",
        1,
        By("storage/src/buffer/load.rs", &[Event::DataFileRead, Event::BufferIo]),
    ),
    ("storage/src/buffer/sync.rs", 1, Background),
    ("storage/src/buffer/write.rs", 2, Here(&[Event::Checkpoint])),
    // An orderly stop.
    ("storage/src/engine.rs", 1, Background),
    ("storage/src/heap/share.rs", 1, Here(&[Event::Retry])),
    (
        "storage/src/lock/wait.rs",
        1,
        By(
            "storage/src/lock/tag.rs",
            &[
                Event::LockRelation,
                Event::LockTuple,
                Event::LockTransaction,
                Event::LockObject,
                Event::LockAdvisory,
            ],
        ),
    ),
    ("storage/src/engine/warm.rs", 1, Background),
    ("storage/src/recovery/checkpoint.rs", 1, Background),
    // Besides the remover itself.
    ("storage/src/recovery/files.rs", 2, Here(&[Event::FilesRemoved])),
    ("storage/src/recovery/lanes.rs", 2, Background),
    // Those who write pages, and redo at a restart point.
    ("storage/src/relfile/inherited.rs", 1, Background),
    (
        "storage/src/txlog/slru/bank.rs",
        1,
        By("storage/src/txlog/slru/config.rs", &[Event::XactBuffer, Event::SubtransBuffer]),
    ),
    ("storage/src/txn/manager.rs", 1, Background),
    ("storage/src/vacuum/mod.rs", 1, Here(&[Event::VacuumTruncate])),
    ("storage/src/vacuum/pace.rs", 1, Here(&[Event::VacuumDelay])),
    ("storage/src/vacuum/queue.rs", 1, Background),
    // Besides the flusher's naps.
    ("storage/src/wal/durable.rs", 3, Here(&[Event::WalSync])),
    ("storage/src/wal/maker.rs", 2, Background),
    (
        "storage/src/wal/space.rs",
        1,
        By("storage/src/wal/mod.rs", &[Event::WalInit, Event::WalSpace]),
    ),
];

const CALLS: [&str; 4] = ["park::park()", "park::park_until(", "park::sleep(", "lot::park_on("];

/// Calls that park, by file; tests left out.
fn parks(directory: &Path, root: &Path, found: &mut BTreeMap<String, usize>) {
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap();
        if path.is_dir() {
            if name != "tests" {
                parks(&path, root, found);
            }
            continue;
        }
        let is_test = name == "loom.rs" || name == "testing.rs" || name.ends_with("tests.rs");
        if !name.ends_with(".rs") || is_test {
            continue;
        }
        let text = fs::read_to_string(&path).unwrap();
        let count: usize = CALLS.iter().map(|call| text.matches(call).count()).sum();
        if count > 0 {
            found.insert(path.strip_prefix(root).unwrap().to_str().unwrap().to_owned(), count);
        }
    }
}

#[test]
fn every_place_that_parks_says_what_it_waits_for() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let mut found = BTreeMap::new();
    for part in ["storage/src", "sql/src", "server/src/connection"] {
        parks(&root.join(part), root, &mut found);
    }
    let listed = PARKS.iter().map(|(file, count, _)| ((*file).to_owned(), *count)).collect();
    assert_eq!(found, listed);
    for (file, _, shown) in PARKS {
        let (by, events) = match shown {
            Here(events) => (*file, *events),
            By(other, events) => (*other, *events),
            Background => continue,
        };
        let text = fs::read_to_string(root.join(by)).unwrap();
        for event in events {
            assert!(text.contains(&format!("Event::{event:?}")), "{by} does not name {event:?}");
            assert!(!event.class().is_empty() && !event.name().is_empty());
        }
    }
}
