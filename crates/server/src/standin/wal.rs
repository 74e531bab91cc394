//! A log without records: positions that become durable some time after they were asked for.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

use base::Lsn;

/// How long a flush takes.
const FLUSH: Duration = Duration::from_micros(200);

pub struct Wal {
    shared: Arc<Log>,
}

#[derive(Default)]
struct Log {
    position: AtomicU64,
    durable: AtomicU64,
    state: Mutex<State>,
    asked: Condvar,
}

#[derive(Default)]
struct State {
    requested: u64,
    watches: Vec<Arc<DurableWatch>>,
    closed: bool,
}

pub struct DurableWatch {
    wanted: AtomicU64,
    notify: Box<dyn Fn(Lsn) + Send + Sync>,
}

impl Wal {
    pub fn open() -> Wal {
        let shared = Arc::new(Log::default());
        let log = Arc::clone(&shared);
        std::thread::spawn(move || log.flush());
        Wal { shared }
    }

    pub fn durable(&self) -> Lsn {
        Lsn(self.shared.durable.load(Ordering::SeqCst))
    }

    pub fn position(&self) -> Lsn {
        Lsn(self.shared.position.load(Ordering::SeqCst))
    }

    pub fn commit(&self) -> Lsn {
        Lsn(self.shared.position.fetch_add(1, Ordering::SeqCst) + 1)
    }

    pub fn watch_durable(&self, notify: impl Fn(Lsn) + Send + Sync + 'static) -> Arc<DurableWatch> {
        let wanted = AtomicU64::new(u64::MAX);
        let watch = Arc::new(DurableWatch { wanted, notify: Box::new(notify) });
        self.shared.state.lock().expect("unpoisoned").watches.push(Arc::clone(&watch));
        watch
    }

    pub fn unwatch_durable(&self, watch: &Arc<DurableWatch>) {
        let mut state = self.shared.state.lock().expect("unpoisoned");
        state.watches.retain(|known| !Arc::ptr_eq(known, watch));
    }

    pub fn want_durable(&self, watch: &DurableWatch, lsn: Lsn) -> bool {
        if lsn <= self.durable() {
            return true;
        }
        let mut state = self.shared.state.lock().expect("unpoisoned");
        watch.wanted.fetch_min(lsn.0, Ordering::SeqCst);
        state.requested = state.requested.max(lsn.0);
        self.shared.asked.notify_one();
        lsn <= self.durable()
    }
}

impl Drop for Wal {
    fn drop(&mut self) {
        self.shared.state.lock().expect("unpoisoned").closed = true;
        self.shared.asked.notify_one();
    }
}

impl Log {
    fn flush(&self) {
        let mut state = self.state.lock().expect("unpoisoned");
        while !state.closed {
            if state.requested <= self.durable.load(Ordering::SeqCst) {
                state = self.asked.wait(state).expect("unpoisoned");
                continue;
            }
            let reached = self.position.load(Ordering::SeqCst);
            drop(state);
            std::thread::sleep(FLUSH);
            state = self.state.lock().expect("unpoisoned");
            self.durable.store(reached, Ordering::SeqCst);
            for watch in &state.watches {
                if watch.wanted.load(Ordering::SeqCst) <= reached {
                    watch.wanted.store(u64::MAX, Ordering::SeqCst);
                    (watch.notify)(Lsn(reached));
                }
            }
        }
    }
}
