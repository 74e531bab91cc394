//! The thread that samples beside a run. It asks the server under test and may hang with it; then it is left
//! behind.

use super::probes::{Counters, Probes, dirty_kib};
use crate::model::Sample;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

/// A running sampler.
pub struct Sampler {
    /// Process of the client; 0 as long as there is none. Relaxed: a number, nothing handed over with it.
    client_pid: Arc<AtomicU32>,
    end: Sender<()>,
    seen: Receiver<Seen>,
}

/// What a sampler saw.
#[derive(Default)]
pub struct Seen {
    pub samples: Vec<Sample>,
    /// What the counters grew by from the first look to the last.
    pub whole: Counters,
}

const EVERY: Duration = Duration::from_secs(1);
/// What the last look may take.
const PATIENCE: Duration = Duration::from_secs(10);

impl Sampler {
    /// Begins; returns after the first look.
    pub fn begin(mut probes: Probes) -> Sampler {
        let client_pid = Arc::new(AtomicU32::new(0));
        let (end, ended) = channel();
        let (tell, seen) = channel();
        let first = probes.read(None);
        let pid = Arc::clone(&client_pid);
        std::thread::spawn(move || {
            let seen = watch(&mut probes, first, &pid, &ended);
            // Nobody may listen any more.
            let _ = tell.send(seen);
        });
        Sampler { client_pid, end, seen }
    }

    /// Says which process the client is.
    pub fn client(&self, pid: u32) {
        self.client_pid.store(pid, Relaxed);
    }

    /// Takes a last look.
    pub fn end(self) -> Seen {
        let _ = self.end.send(());
        self.seen.recv_timeout(PATIENCE).unwrap_or_default()
    }
}

fn watch(
    probes: &mut Probes,
    first: Counters,
    client_pid: &AtomicU32,
    ended: &Receiver<()>,
) -> Seen {
    let begun = Instant::now();
    let mut samples = Vec::new();
    let (mut before, mut looked) = (first, begun);
    let mut next = begun + EVERY;
    loop {
        let wait = next.saturating_duration_since(Instant::now());
        if ended.recv_timeout(wait) != Err(RecvTimeoutError::Timeout) {
            break;
        }
        let now = probes.read(Some(client_pid.load(Relaxed)).filter(|pid| *pid != 0));
        let seconds = looked.elapsed().as_secs_f64();
        looked = Instant::now();
        // The client began with nothing.
        before.client_cpu_s = before.client_cpu_s.or(now.client_cpu_s.map(|_| 0.0));
        let mut sample = now.since(&before).sample(begun.elapsed().as_secs_f64(), seconds);
        sample.dirty_kib = dirty_kib();
        sample.waits = probes.waits();
        samples.push(sample);
        before = now;
        next += EVERY;
    }
    Seen { samples, whole: probes.read(None).since(&first) }
}
