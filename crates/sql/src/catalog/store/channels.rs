//! LISTEN and NOTIFY: who listens on which channel, and what was told to them and is not with their clients yet.
//!
//! Nothing of it outlives the server: who listens is connected. A notification goes to the listeners' mail when its
//! transaction has committed, in the order of commits, and from there to the client as soon as that is in no
//! transaction; not before the commit is durable, as all that a client is told.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use base::ids::Lsn;
use base::latch::Latch;
use base::rank::Rank;
use base::sync::unmodelled::{AtomicUsize, Ordering};

use crate::types::Oid;

/// Bytes of notifications that wait for their listeners, of all together.
const QUEUE_BYTES_MAX: usize = 1 << 30;
/// Bytes of notifications that a session is given at a time: it has no use for more than its client takes.
const BATCH_BYTES: usize = 64 << 10;
/// What a notification takes besides its texts.
const LETTER_BYTES: usize = 64;

/// Tells the server that a session has mail.
type Post = dyn Fn(i32) + Send + Sync;

/// Listeners of one channel, by process number.
type Listeners = BTreeMap<i32, Arc<Mail>>;

/// The channels of all databases.
pub struct Channels {
    listeners: Latch<BTreeMap<(Oid, Arc<str>), Listeners>>,
    bytes: Arc<AtomicUsize>,
    post: Latch<Option<Arc<Post>>>,
}

/// What somebody told a channel.
#[derive(Clone, Debug)]
pub struct Notification {
    /// The session that did.
    pub process: i32,
    pub channel: Arc<str>,
    pub payload: Arc<str>,
    /// Must be durable before anybody learns of it.
    pub gate: Lsn,
}

impl Notification {
    fn bytes(&self) -> usize {
        LETTER_BYTES + self.payload.len()
    }
}

/// A session's notifications, and the channels that it listens on.
pub struct Mail {
    letters: Latch<VecDeque<Notification>>,
    /// How many there are, to be asked without the latch.
    waiting: AtomicUsize,
    channels: Latch<BTreeSet<Arc<str>>>,
    /// Of all sessions.
    bytes: Arc<AtomicUsize>,
}

/// What a transaction asks for.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Asked {
    Listen(Arc<str>),
    Unlisten(Arc<str>),
    UnlistenAll,
    Notify { channel: Arc<str>, payload: Arc<str> },
}

/// A session, to the channels.
#[derive(Clone)]
pub struct Listener {
    pub database: Oid,
    pub process: i32,
    pub mail: Arc<Mail>,
}

impl Mail {
    pub fn is_empty(&self) -> bool {
        // Acquire: pairs with the release in `put`.
        self.waiting.load(Ordering::Acquire) == 0
    }

    /// The first that have come, some dozens of kilobytes at most.
    pub fn take(&self) -> Vec<Notification> {
        let (mut taken, mut bytes) = (Vec::new(), 0);
        let mut letters = self.letters.lock();
        while bytes < BATCH_BYTES
            && let Some(letter) = letters.pop_front()
        {
            bytes += letter.bytes();
            taken.push(letter);
        }
        self.waiting.store(letters.len(), Ordering::Release);
        self.bytes.fetch_sub(bytes, Ordering::Relaxed);
        taken
    }

    /// Drops what waits of channels that the session has left.
    fn forget(&self, of: impl Fn(&Notification) -> bool) {
        let mut letters = self.letters.lock();
        let bytes: usize =
            letters.iter().filter(|letter| of(letter)).map(Notification::bytes).sum();
        letters.retain(|letter| !of(letter));
        self.waiting.store(letters.len(), Ordering::Release);
        self.bytes.fetch_sub(bytes, Ordering::Relaxed);
    }

    /// The channels that the session listens on, in order.
    pub fn channels(&self) -> Vec<Arc<str>> {
        self.channels.lock().iter().cloned().collect()
    }

    fn put(&self, letter: Notification) {
        // Relaxed here and below: a sum to compare with a limit.
        self.bytes.fetch_add(letter.bytes(), Ordering::Relaxed);
        let mut letters = self.letters.lock();
        letters.push_back(letter);
        self.waiting.store(letters.len(), Ordering::Release);
    }
}

impl Default for Channels {
    fn default() -> Channels {
        Channels {
            listeners: Latch::new(Rank::Outer, BTreeMap::new()),
            bytes: Arc::default(),
            post: Latch::new(Rank::Leaf, None),
        }
    }
}

impl Channels {
    /// Says how a session's server is told that there is mail for it, by process number.
    pub fn set_post(&self, post: impl Fn(i32) + Send + Sync + 'static) {
        *self.post.lock() = Some(Arc::new(post));
    }

    /// Of a session that has had none.
    pub fn new_mail(&self) -> Arc<Mail> {
        Arc::new(Mail {
            letters: Latch::new(Rank::Leaf, VecDeque::new()),
            waiting: AtomicUsize::new(0),
            channels: Latch::new(Rank::Leaf, BTreeSet::new()),
            bytes: Arc::clone(&self.bytes),
        })
    }

    /// What share of the room for notifications is taken, from 0 to 1.
    pub fn usage(&self) -> f64 {
        self.bytes.load(Ordering::Relaxed) as f64 / QUEUE_BYTES_MAX as f64
    }

    /// Does what a transaction asked for that has just committed: first it is settled who listens, as in PostgreSQL.
    pub fn settle(&self, own: &Listener, asked: Vec<Asked>, gate: Lsn) {
        let mut told = BTreeSet::new();
        let (notify, listen): (Vec<_>, Vec<_>) =
            asked.into_iter().partition(|asked| matches!(asked, Asked::Notify { .. }));
        for asked in listen {
            self.change(own, &asked);
        }
        let listeners = self.listeners.lock();
        for asked in notify {
            let Asked::Notify { channel, payload } = asked else { continue };
            let key = (own.database, Arc::clone(&channel));
            for (process, mail) in listeners.get(&key).into_iter().flatten() {
                let (channel, payload) = (Arc::clone(&channel), Arc::clone(&payload));
                mail.put(Notification { process: own.process, channel, payload, gate });
                told.insert(*process);
            }
        }
        drop(listeners);
        // It looks by itself when it is done.
        told.remove(&own.process);
        let post = self.post.lock().clone();
        if let Some(post) = post {
            told.into_iter().for_each(|process| post(process));
        }
    }

    fn change(&self, own: &Listener, asked: &Asked) {
        match asked {
            Asked::Listen(channel) => {
                own.mail.channels.lock().insert(Arc::clone(channel));
                let key = (own.database, Arc::clone(channel));
                let mut listeners = self.listeners.lock();
                listeners.entry(key).or_default().insert(own.process, Arc::clone(&own.mail));
            }
            Asked::Unlisten(channel) => {
                if own.mail.channels.lock().remove(channel) {
                    self.leave(own, channel);
                    own.mail.forget(|letter| letter.channel == *channel);
                }
            }
            Asked::UnlistenAll => {
                self.leave_all(own);
                own.mail.forget(|_| true);
            }
            Asked::Notify { .. } => {}
        }
    }

    fn leave(&self, own: &Listener, channel: &Arc<str>) {
        let key = (own.database, Arc::clone(channel));
        let mut listeners = self.listeners.lock();
        if let Some(of_channel) = listeners.get_mut(&key) {
            of_channel.remove(&own.process);
            if of_channel.is_empty() {
                listeners.remove(&key);
            }
        }
    }

    /// The session listens no more.
    pub fn leave_all(&self, own: &Listener) {
        let channels = std::mem::take(&mut *own.mail.channels.lock());
        channels.iter().for_each(|channel| self.leave(own, channel));
    }

    /// The session ends; what it was told and has not taken is gone.
    pub fn close(&self, own: &Listener) {
        self.leave_all(own);
        while !own.mail.take().is_empty() {}
    }
}
