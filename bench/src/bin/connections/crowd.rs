//! Many connections, some of them at work: each of those sends its next request when the last is answered.

use crate::client::{Client, Refusal};
use std::io;
use std::os::fd::AsRawFd;
use std::path::Path;
use std::time::{Duration, Instant};

/// Rows that are asked for.
pub const ROWS: u32 = 100_000;

/// Connects `count` clients; each has asked once, so that nothing about them is still to be made.
pub fn open(socket: &Path, count: usize) -> Result<Vec<Client>, Refusal> {
    let one = |_| {
        let mut client = connect_in_time(socket)?;
        client.prepare("SELECT v FROM points WHERE id = $1")?;
        client.ask(1)?;
        client.finish()?;
        Ok(client)
    };
    (0..count).map(one).collect()
}

/// Connects; waits a while for the server to notice that others have left.
fn connect_in_time(socket: &Path) -> Result<Client, Refusal> {
    let give_up = Instant::now() + Duration::from_secs(60);
    loop {
        match Client::connect(socket) {
            Err(full) if full.code == "53300" && Instant::now() < give_up => {
                std::thread::sleep(Duration::from_millis(10));
            }
            done => return done,
        }
    }
}

/// What a while of work came to.
pub struct Work {
    /// Requests answered per second.
    pub per_second: f64,
    /// Times to an answer, ascending, microseconds.
    micros: Vec<u32>,
}

impl Work {
    /// The time that this share of the answers took at most, milliseconds.
    pub fn quantile_ms(&self, share: f64) -> f64 {
        let at = ((self.micros.len() as f64 * share) as usize).min(self.micros.len() - 1);
        f64::from(self.micros[at]) / 1000.0
    }
}

/// Keeps every client at work for `time`, from this one thread.
pub fn work(clients: &mut [Client], time: Duration) -> Result<Work, Refusal> {
    let poll = Poll::new()?;
    for (i, client) in clients.iter().enumerate() {
        client.socket.set_nonblocking(true)?;
        poll.add(&client.socket, i as u64)?;
    }
    let mut micros = Vec::new();
    let begun = Instant::now();
    for client in clients.iter_mut() {
        client.ask(fastrand::u32(1..=ROWS))?;
    }
    let mut running = clients.len();
    let mut ready = Vec::new();
    while running > 0 {
        poll.wait(&mut ready)?;
        for i in ready.drain(..) {
            let client = &mut clients[i as usize];
            if client.take()? {
                micros.push(client.sent.elapsed().as_micros() as u32);
                if begun.elapsed() < time {
                    client.ask(fastrand::u32(1..=ROWS))?;
                } else {
                    running -= 1;
                }
            }
        }
    }
    let per_second = micros.len() as f64 / begun.elapsed().as_secs_f64();
    clients.iter().try_for_each(|client| client.socket.set_nonblocking(false))?;
    micros.sort_unstable();
    Ok(Work { per_second, micros })
}

/// The system's list of sockets that have something to read.
struct Poll(libc::c_int);

impl Poll {
    fn new() -> io::Result<Poll> {
        // SAFETY: takes no memory of ours.
        let fd = unsafe { libc::epoll_create1(libc::EPOLL_CLOEXEC) };
        if fd < 0 { Err(io::Error::last_os_error()) } else { Ok(Poll(fd)) }
    }

    fn add(&self, socket: &impl AsRawFd, name: u64) -> io::Result<()> {
        let mut event = libc::epoll_event { events: libc::EPOLLIN as u32, u64: name };
        // SAFETY: both descriptors are open, and the event is ours and only read.
        let done = unsafe {
            libc::epoll_ctl(self.0, libc::EPOLL_CTL_ADD, socket.as_raw_fd(), &raw mut event)
        };
        if done < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
    }

    /// Waits for at least one; their names go to `ready`.
    fn wait(&self, ready: &mut Vec<u64>) -> io::Result<()> {
        let mut events = [libc::epoll_event { events: 0, u64: 0 }; 128];
        // SAFETY: the array is ours, and its length is passed.
        let count = unsafe {
            libc::epoll_wait(self.0, events.as_mut_ptr(), events.len() as libc::c_int, 60_000)
        };
        match count {
            0 => Err(io::Error::new(io::ErrorKind::TimedOut, "no answer within a minute")),
            c if c < 0 => Err(io::Error::last_os_error()),
            c => {
                ready.extend(events[..c as usize].iter().map(|event| event.u64));
                Ok(())
            }
        }
    }
}

impl Drop for Poll {
    fn drop(&mut self) {
        // SAFETY: the descriptor is ours and used by nobody any more.
        unsafe { libc::close(self.0) };
    }
}
