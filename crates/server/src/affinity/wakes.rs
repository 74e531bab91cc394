//! Which thread of a client's process waits at a connection.
//!
//! A thread that waits for answers sleeps, and the first reply wakes it, within the call that sends it. So while
//! workers learn who belongs together, they send some replies by themselves, and look before and after at what the threads
//! of the client's process do. One that slept on is not the connection's. One that woke up may be, or another worker woke it
//! in that moment; so it takes several wakes, and hardly a reply that it slept through. Where the system does not show the
//! client's threads, or they serve its connections by turns, nothing is learnt here.

use std::fs::{self, File};
use std::os::unix::fs::FileExt;

/// So many wakes of a thread are enough...
const WAKES_MIN: u32 = 10;
/// ...if it has slept through one reply for so many at most.
const WAKES_FOR_EACH_SLEEP: u32 = 10;
/// So many looks are taken at most for one connection.
const LOOKS_MAX: u32 = 300;
/// A connection is looked at from its so-manieth reply on: many have only few.
const REPLIES_BEFORE: u32 = 64;
/// Of a process with more threads nothing is learnt.
const THREADS_MAX: usize = 32;

/// A client's process.
pub(super) struct Process {
    threads: Vec<Thread>,
}

struct Thread {
    number: i32,
    stat: File,
    schedstat: File,
}

/// What a thread does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Doing {
    Awake,
    /// Asleep, after so many turns on a processor.
    Asleep(u64),
}

/// How often a thread slept before a reply, and then...
#[derive(Default, Debug)]
struct Seen {
    woke: u32,
    slept_on: u32,
}

impl Process {
    /// None where its threads are not shown, or are too many.
    pub fn open(process: i32) -> Option<Process> {
        let mut threads = Vec::new();
        for entry in fs::read_dir(format!("/proc/{process}/task")).ok()? {
            let entry = entry.ok()?;
            let number = entry.file_name().to_str()?.parse().ok()?;
            if threads.len() == THREADS_MAX {
                return None;
            }
            let [stat, schedstat] = ["stat", "schedstat"].map(|f| File::open(entry.path().join(f)));
            // One that has ended meanwhile waits for nothing.
            if let (Ok(stat), Ok(schedstat)) = (stat, schedstat) {
                threads.push(Thread { number, stat, schedstat });
            }
        }
        Some(Process { threads })
    }

    /// What its threads do, in the order of its list.
    pub fn look(&self) -> Vec<Doing> {
        self.threads.iter().map(|thread| thread.doing().unwrap_or(Doing::Awake)).collect()
    }

    /// The system's number of the thread at this place.
    pub fn number(&self, place: usize) -> i32 {
        self.threads[place].number
    }
}

impl Thread {
    /// None once it has ended.
    fn doing(&self) -> Option<Doing> {
        // Number, name (16 bytes at most) and state stand at the beginning.
        let mut bytes = [0; 48];
        let length = self.stat.read_at(&mut bytes, 0).ok()?;
        let bracket = bytes[..length].iter().rposition(|byte| *byte == b')')?;
        if !bytes[bracket..].starts_with(b") S") {
            return Some(Doing::Awake);
        }
        let mut bytes = [0; 80];
        let length = self.schedstat.read_at(&mut bytes, 0).ok()?;
        // Time run, time waited, turns.
        let turns = std::str::from_utf8(&bytes[..length]).ok()?.split_ascii_whitespace().nth(2)?;
        Some(Doing::Asleep(turns.parse().ok()?))
    }
}

/// What is known of a connection.
#[derive(Default)]
pub(super) struct Wakes {
    replies: u32,
    looks: u32,
    /// By place in the process' list.
    seen: Vec<Seen>,
    is_known: bool,
}

impl Wakes {
    /// Of a connection whose thread is known.
    pub fn known() -> Wakes {
        Wakes { is_known: true, ..Wakes::default() }
    }

    /// A reply is about to leave: whether to look whom it wakes.
    pub fn wants_look(&mut self) -> bool {
        if self.is_known || self.looks == LOOKS_MAX {
            return false;
        }
        self.replies += 1;
        self.replies > REPLIES_BEFORE
    }

    /// What the threads did before a reply left and after. Tells the connection's thread, by place, once it is known.
    pub fn looked(&mut self, before: &[Doing], after: &[Doing]) -> Option<usize> {
        self.looks += 1;
        if self.seen.len() != before.len() {
            self.seen = before.iter().map(|_| Seen::default()).collect();
        }
        for ((seen, before), after) in self.seen.iter_mut().zip(before).zip(after) {
            match before {
                Doing::Awake => {}
                Doing::Asleep(_) if before == after => seen.slept_on += 1,
                Doing::Asleep(_) => seen.woke += 1,
            }
        }
        let fits = |seen: &Seen| {
            seen.woke >= WAKES_MIN && seen.woke >= seen.slept_on * WAKES_FOR_EACH_SLEEP
        };
        let mut fitting = (0..self.seen.len()).filter(|at| fits(&self.seen[*at]));
        let found = fitting.next().filter(|_| fitting.next().is_none());
        self.is_known = found.is_some();
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Write};
    use std::os::unix::net::UnixStream;
    use std::sync::mpsc;
    use std::time::Duration;

    #[test]
    fn a_reply_shows_whom_it_wakes() {
        let (mut ours, mut theirs) = UnixStream::pair().unwrap();
        let (tell, told) = mpsc::channel();
        let client = std::thread::spawn(move || {
            // SAFETY: a call without arguments.
            tell.send(unsafe { libc::gettid() }).unwrap();
            while let Ok(1) = theirs.read(&mut [0]) {
                theirs.write_all(&[0]).unwrap();
            }
        });
        let number = told.recv().unwrap();
        // While other tests have many threads, it is not looked at.
        let process = (0..1000).find_map(|_| {
            base::park::sleep(Duration::from_millis(5));
            Process::open(std::process::id() as i32)
        });
        let process = process.expect("this process is shown");
        let mut wakes = Wakes { replies: REPLIES_BEFORE, ..Wakes::default() };
        let mut found = None;
        while found.is_none() && wakes.wants_look() {
            // As between two questions.
            base::park::sleep(Duration::from_millis(2));
            let before = process.look();
            ours.write_all(&[0]).unwrap();
            ours.read_exact(&mut [0]).unwrap();
            found = wakes.looked(&before, &process.look());
        }
        drop(ours);
        client.join().unwrap();
        assert_eq!(found.map(|place| process.number(place)), Some(number), "{:?}", wakes.seen);
    }

    #[test]
    fn who_sleeps_through_replies_is_not_waited_for() {
        const ON: Doing = Doing::Awake;
        const OFF: Doing = Doing::Asleep(1);
        let mut wakes = Wakes::default();
        assert!((0..REPLIES_BEFORE).all(|_| !wakes.wants_look()), "many have only few");
        assert!(wakes.wants_look());
        // The second ran in between; the third is woken by others, now and then.
        for n in 1..WAKES_MIN {
            let third = if n % 3 == 0 { OFF } else { ON };
            assert_eq!(wakes.looked(&[OFF, OFF, OFF], &[OFF, Doing::Asleep(2), third]), None);
        }
        assert_eq!(wakes.looked(&[ON, ON, OFF], &[OFF, ON, ON]), None, "it was awake");
        assert_eq!(wakes.looked(&[ON, OFF, OFF], &[ON, ON, ON]), Some(1));
        assert!(!wakes.wants_look());
        // Two threads by turns.
        let mut wakes = Wakes { replies: REPLIES_BEFORE, ..Wakes::default() };
        while wakes.wants_look() {
            let after = if wakes.looks.is_multiple_of(2) { [ON, OFF] } else { [OFF, ON] };
            assert_eq!(wakes.looked(&[OFF, OFF], &after), None);
        }
        assert_eq!(wakes.looks, LOOKS_MAX);
    }
}
