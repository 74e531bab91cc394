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
/// So many threads are looked at for one connection, before a reply and after; the more a process has, the fewer looks.
const LOOKED_AT_MAX: usize = 600;
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
#[derive(Debug)]
struct Seen {
    number: i32,
    woke: u32,
    slept_on: u32,
}

impl Process {
    /// None where what its threads do is not shown, or they are too many.
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
        (!threads.is_empty()).then_some(Process { threads })
    }

    /// What its threads do, by the system's numbers, always in the same order.
    pub fn look(&self) -> Vec<(i32, Doing)> {
        let look = |thread: &Thread| (thread.number, thread.doing().unwrap_or(Doing::Awake));
        self.threads.iter().map(look).collect()
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
    looked_at: usize,
    seen: Vec<Seen>,
    is_over: bool,
}

impl Wakes {
    /// A reply is about to leave: whether to look whom it wakes.
    pub fn wants_look(&mut self) -> bool {
        if self.is_over {
            return false;
        }
        self.replies += 1;
        self.replies > REPLIES_BEFORE
    }

    /// Nothing is to be learnt, or no more.
    pub fn give_up(&mut self) {
        self.is_over = true;
        self.seen = Vec::new();
    }

    /// So many threads are about to be looked at.
    pub fn looks_at(&mut self, threads: usize) {
        self.looked_at += threads;
        if self.looked_at > LOOKED_AT_MAX {
            self.give_up();
        }
    }

    /// What threads did before a reply left and after. Tells the connection's thread once it is known.
    pub fn looked(&mut self, before: &[(i32, Doing)], after: &[(i32, Doing)]) -> Option<i32> {
        for ((number, before), (_, after)) in before.iter().zip(after) {
            if *before == Doing::Awake {
                continue;
            }
            let at = self.seen.iter().position(|seen| seen.number == *number);
            let at = at.unwrap_or_else(|| {
                self.seen.push(Seen { number: *number, woke: 0, slept_on: 0 });
                self.seen.len() - 1
            });
            match before == after {
                true => self.seen[at].slept_on += 1,
                false => self.seen[at].woke += 1,
            }
        }
        let fits = |seen: &&Seen| {
            seen.woke >= WAKES_MIN && seen.woke >= seen.slept_on * WAKES_FOR_EACH_SLEEP
        };
        let mut fitting = self.seen.iter().filter(fits);
        let found = fitting.next().filter(|_| fitting.next().is_none())?.number;
        self.give_up();
        Some(found)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Write};
    use std::os::unix::net::UnixStream;
    use std::sync::mpsc;
    use std::time::Duration;

    /// A thread that answers what comes, and its number.
    fn client() -> (UnixStream, i32) {
        let (ours, mut theirs) = UnixStream::pair().unwrap();
        let (tell, told) = mpsc::channel();
        std::thread::spawn(move || {
            let own = fs::read_link("/proc/thread-self").unwrap();
            let number: i32 = own.file_name().unwrap().to_str().unwrap().parse().unwrap();
            tell.send(number).unwrap();
            while let Ok(1) = theirs.read(&mut [0]) {
                theirs.write_all(&[0]).unwrap();
            }
        });
        (ours, told.recv().unwrap())
    }

    #[test]
    fn a_reply_shows_whom_it_wakes() {
        let ((mut socket, number), (_other_socket, other)) = (client(), client());
        // While other tests have many threads, it is not looked at.
        let process = (0..1000).find_map(|_| {
            base::park::sleep(Duration::from_millis(5));
            Process::open(std::process::id() as i32)
        });
        let mut process = process.expect("this process is shown");
        // Other tests' do as they like.
        process.threads.retain(|thread| [number, other].contains(&thread.number));
        assert_eq!(process.threads.len(), 2);
        let mut wakes = Wakes { replies: REPLIES_BEFORE, ..Wakes::default() };
        let mut found = None;
        while wakes.wants_look() {
            // As between two questions.
            base::park::sleep(Duration::from_millis(2));
            wakes.looks_at(process.threads.len());
            let before = process.look();
            socket.write_all(&[0]).unwrap();
            socket.read_exact(&mut [0]).unwrap();
            found = wakes.looked(&before, &process.look());
        }
        assert_eq!(found, Some(number), "{:?}", wakes.seen);
    }

    const ON: Doing = Doing::Awake;
    const OFF: Doing = Doing::Asleep(1);

    fn look(wakes: &mut Wakes, before: [Doing; 3], after: [Doing; 3]) -> Option<i32> {
        let [before, after] =
            [before, after].map(|doing| [(7, doing[0]), (8, doing[1]), (9, doing[2])]);
        wakes.looks_at(3);
        wakes.looked(&before, &after)
    }

    #[test]
    fn who_sleeps_through_replies_is_not_waited_for() {
        let mut wakes = Wakes::default();
        assert!((0..REPLIES_BEFORE).all(|_| !wakes.wants_look()), "many have only few");
        assert!(wakes.wants_look());
        // The second ran in between; the third is woken by others, now and then.
        for n in 1..WAKES_MIN {
            let third = if n.is_multiple_of(3) { OFF } else { ON };
            assert_eq!(look(&mut wakes, [OFF; 3], [OFF, Doing::Asleep(2), third]), None);
        }
        assert_eq!(look(&mut wakes, [ON, ON, OFF], [OFF, ON, ON]), None, "it was awake");
        assert_eq!(look(&mut wakes, [ON, OFF, OFF], [ON; 3]), Some(8));
        assert!(!wakes.wants_look());
    }

    #[test]
    fn looks_end_where_nothing_is_learnt() {
        // Two threads by turns.
        let mut wakes = Wakes { replies: REPLIES_BEFORE, ..Wakes::default() };
        let mut looks = 0;
        while wakes.wants_look() {
            let after = if looks % 2 == 0 { [ON, OFF, OFF] } else { [OFF, ON, OFF] };
            assert_eq!(look(&mut wakes, [OFF; 3], after), None);
            looks += 1;
        }
        assert_eq!(looks, LOOKED_AT_MAX / 3 + 1);
    }

    /// A process' list may change; what was seen is of threads, not of places in it.
    #[test]
    fn threads_that_come_and_go_do_not_stand_for_each_other() {
        let mut wakes = Wakes::default();
        for n in 0..WAKES_MIN as i32 {
            assert_eq!(wakes.looked(&[(n, OFF)], &[(n, ON)]), None);
        }
    }
}
