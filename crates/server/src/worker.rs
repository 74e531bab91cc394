//! A worker: one thread, one runtime for its sockets, one scheduler for its fibers.
//!
//! A connection's task starts the fiber of a request itself and most requests are done before that
//! call returns: then reading, working and writing are one turn of one task. What is left over, the
//! fibers that parked and were unparked, that used up their time slice or whose deadline has come,
//! is run by the *driver*, which gives the sockets their turn after each stretch.
//!
//! Other threads reach a worker only through its [`Door`].

use base::sync::unmodelled::{AtomicBool, AtomicUsize, Ordering};
use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::io;
use std::rc::{Rc, Weak};
use std::sync::{Arc, Mutex, mpsc};
use std::time::Duration;

use base::Lsn;
use base::clock::{self, Instant};
use base::disk::real::ring::{self, ThreadRing};
use base::fiber::{self, Scheduler};
use base::interrupt::Interrupt;
use base::park::Context;
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;
use tokio::runtime::{Builder, LocalOptions};
use tokio::sync::Notify;

use crate::affinity::{MOVE_MAX, Member, Move, Near};
use crate::busy_poll::BusyPoll;
use crate::connection::{Accepted, Connection, Guest, Link, Peer, READ_BYTES};
use crate::gate::Gate;
use crate::outgoing::Outgoing;
use crate::own_core::OwnCore;
use crate::shared::Shared;
use storage::wal::DurableWatch;

/// Fibers run this long before the sockets get their turn.
const STRETCH: Duration = Duration::from_nanos(fiber::TIME_SLICE_NS / 2);

thread_local! {
    /// The worker of this thread, for the runtime to tell it that it is about to sleep.
    static OWN: RefCell<Weak<Worker>> = const { RefCell::new(Weak::new()) };
}

/// How long a session that is to end waits before it looks again whether there is a fiber for that.
pub(crate) const FIBER_PAUSE: Duration = Duration::from_millis(10);

/// Most buffers that a worker keeps for reuse.
const POOL_MAX: usize = 256;
/// A buffer that has grown beyond this is not kept.
const POOLED_BYTES_MAX: usize = 8 * READ_BYTES;

/// What other threads ask of a worker.
pub(crate) enum Order {
    /// Serve this client.
    Serve(Accepted),
    /// Go on with this client of another worker's.
    Adopt(Box<Guest>),
    /// Have this session served by another worker, if it can go by then.
    Move(Move, Option<Instant>),
    /// Cancel what this session runs.
    Cancel(i32),
    /// Others have told this session something.
    Mail(i32),
    /// End this session.
    Terminate(i32),
    /// End all sessions, and then the worker.
    Shutdown,
}

/// A worker's door: how other threads reach it.
#[derive(Default)]
pub(crate) struct Door {
    orders: Mutex<Vec<Order>>,
    /// Its worker has ended; changes under the lock of the orders.
    is_closed: AtomicBool,
    notify: Notify,
    /// Somebody has called since the driver last looked.
    called: AtomicBool,
    /// Connections that it has, or is about to have.
    load: AtomicUsize,
}

impl Door {
    /// Wakes the worker's driver.
    fn call(&self) {
        // Relaxed here and where it is read: a hint, for a worker that is awake; `notify` is what counts.
        self.called.store(true, Ordering::Relaxed);
        self.notify.notify_one();
    }

    /// Hands in an order and wakes the worker.
    pub(crate) fn order(&self, order: Order) {
        self.orders.lock().expect("no code panics under it").push(order);
        self.call();
    }

    /// Hands a connection in, unless the worker has ended.
    pub(crate) fn hand_in(&self, guest: Box<Guest>) -> Result<(), Box<Guest>> {
        let mut orders = self.orders.lock().expect("no code panics under it");
        if self.is_closed.load(Ordering::Relaxed) {
            return Err(guest);
        }
        self.expect_one();
        orders.push(Order::Adopt(guest));
        drop(orders);
        self.call();
        Ok(())
    }

    /// Ends all handing in, unless there is something that was handed in.
    fn close(&self) -> bool {
        let orders = self.orders.lock().expect("no code panics under it");
        // Relaxed: the lock orders it.
        self.is_closed.store(orders.is_empty(), Ordering::Relaxed);
        orders.is_empty()
    }

    /// Counts a connection that is about to be handed in.
    pub(crate) fn expect_one(&self) {
        // Relaxed here and below: a number to compare workers by, nothing hangs on it.
        self.load.fetch_add(1, Ordering::Relaxed);
    }

    /// Connections that it has, or is about to have.
    pub(crate) fn load(&self) -> usize {
        self.load.load(Ordering::Relaxed)
    }
}

/// What a fiber is needed for.
#[derive(Clone, Copy)]
pub(crate) enum Need {
    /// A session's end, which waits for no other session.
    End,
    /// A session that others wait for.
    LetGo,
    Other,
}

pub(crate) struct Worker {
    pub(crate) shared: Arc<Shared>,
    pub(crate) scheduler: Scheduler,
    /// Its number, from 0.
    pub(crate) number: usize,
    door: Arc<Door>,
    gate: RefCell<Gate>,
    watch: Arc<DurableWatch>,
    pool: RefCell<Vec<Vec<u8>>>,
    outgoing: Outgoing,
    pub(crate) busy_poll: BusyPoll,
    own_core: OwnCore,
    near: RefCell<Near>,
    /// Sessions by process number.
    sessions: RefCell<BTreeMap<i32, Rc<Link>>>,
    /// Connections that have no session yet.
    strangers: RefCell<Vec<Rc<Link>>>,
    /// When the driver wakes by itself.
    alarm: Cell<Option<Instant>>,
    ending: Cell<bool>,
}

impl Worker {
    /// Starts a worker's thread.
    pub(crate) fn start(
        number: usize,
        shared: Arc<Shared>,
        door: Arc<Door>,
    ) -> io::Result<std::thread::JoinHandle<()>> {
        let (tell, told) = mpsc::channel();
        let thread = std::thread::Builder::new()
            .name(format!("worker {number}"))
            .stack_size(sql::session::THREAD_STACK_BYTES)
            .spawn(move || {
                let runtime = Builder::new_current_thread()
                    .enable_io()
                    .enable_time()
                    .on_thread_park(before_sleep)
                    .build_local(LocalOptions::default());
                let (runtime, result) = match runtime {
                    Ok(runtime) => (Some(runtime), Ok(())),
                    Err(fault) => (None, Err(fault)),
                };
                tell.send(result).expect("the starting thread waits for it");
                if let Some(runtime) = runtime {
                    let worker = Rc::new(Worker::new(number, shared, door));
                    OWN.set(Rc::downgrade(&worker));
                    runtime.block_on(async {
                        worker.open_ring();
                        worker.drive().await;
                    });
                    worker.shared.wal().unwatch_durable(&worker.watch);
                }
            })?;
        told.recv().expect("the thread tells how it started")?;
        Ok(thread)
    }

    fn new(number: usize, shared: Arc<Shared>, door: Arc<Door>) -> Self {
        let (woken, durable) = (Arc::clone(&door), Arc::clone(&door));
        let watch = shared.wal().watch_durable(move |_| durable.call());
        let busy_poll = BusyPoll::new(shared.options.busy_poll, Arc::clone(&shared.pollers));
        let workers = shared.doors().len();
        let own_core = OwnCore::new(number, workers, shared.options.core_affinity);
        Worker {
            shared,
            scheduler: Scheduler::new(fiber::Order::Fifo, move || woken.call()),
            number,
            door,
            gate: RefCell::default(),
            watch,
            pool: RefCell::default(),
            outgoing: Outgoing::new(),
            busy_poll,
            own_core,
            near: RefCell::default(),
            sessions: RefCell::default(),
            strangers: RefCell::default(),
            alarm: Cell::new(None),
            ending: Cell::new(false),
        }
    }

    /// Has this worker's fibers read through a ring of its own, where the system grants one; else threads read for
    /// them.
    fn open_ring(&self) {
        let opened = ThreadRing::open().and_then(|ring| {
            // SAFETY: the ring owns its bell, open and the same until it is dropped.
            let watched = unsafe { AsyncFd::register_with_interest(ring, Interest::READABLE) };
            watched.map_err(io::Error::from)
        });
        match opened {
            // It ends with the runtime, when no fiber is left.
            Ok(ring) => drop(tokio::task::spawn_local(reap(ring))),
            Err(fault) if self.number == 0 => {
                base::log!("threads read pages, because io_uring can't be used: {fault}");
            }
            Err(_) => {}
        }
    }

    /// Runs what is not run at once, until the worker is told to end and its last session has.
    async fn drive(self: &Rc<Self>) {
        loop {
            self.door.called.store(false, Ordering::Relaxed);
            self.take_orders();
            self.open_gate();
            self.send_postponed();
            if self.run_stretch() {
                // Back of the queue, behind whatever the sockets have brought meanwhile.
                tokio::task::yield_now().await;
                continue;
            }
            if self.ending.get() && self.door.load() == 0 && self.door.close() {
                return;
            }
            let deadline = self.scheduler.next_deadline();
            self.alarm.set(deadline);
            match deadline {
                None => self.door.notify.notified().await,
                Some(at) => {
                    let wait = at.since(clock::now());
                    // Elapsed or notified, both mean another round.
                    let _ = tokio::time::timeout(wait, self.door.notify.notified()).await;
                }
            }
            self.alarm.set(None);
        }
    }

    /// Runs ready fibers for a stretch; tells whether more are ready.
    fn run_stretch(&self) -> bool {
        let begun = clock::now();
        while self.scheduler.run(1) {
            if clock::now().since(begun) >= STRETCH {
                return true;
            }
        }
        false
    }

    fn take_orders(self: &Rc<Self>) {
        let orders =
            std::mem::take(&mut *self.door.orders.lock().expect("no code panics under it"));
        for order in orders {
            match order {
                Order::Serve(accepted) => self.serve(accepted),
                Order::Adopt(guest) => self.adopt(guest),
                Order::Move(moving, until) => {
                    if let Some(link) = self.sessions.borrow().get(&moving.session) {
                        link.destination.set(Some((moving.to, until)));
                    }
                }
                Order::Cancel(process) => match self.sessions.borrow().get(&process) {
                    Some(link) => link.interrupt(Interrupt::Cancel),
                    None => self.shared.send_after(process, order),
                },
                Order::Mail(process) => match self.sessions.borrow().get(&process) {
                    Some(link) => link.wake_task(),
                    None => self.shared.send_after(process, order),
                },
                Order::Terminate(process) => match self.sessions.borrow().get(&process) {
                    Some(link) => terminate(link),
                    None => self.shared.send_after(process, order),
                },
                Order::Shutdown => self.terminate_all(),
            }
        }
    }

    fn serve(self: &Rc<Self>, accepted: Accepted) {
        if self.ending.get() {
            self.left();
            return;
        }
        let worker = Rc::clone(self);
        tokio::task::spawn_local(async move {
            match Connection::open(&worker, accepted) {
                Ok(connection) => worker.attend(connection).await,
                Err(fault) => base::log!("could not take a connection: {fault}"),
            }
            worker.left();
        });
    }

    /// Serves the connection to its end, or until another worker does.
    async fn attend(self: &Rc<Self>, connection: Connection) {
        if let Some((to, guest)) = connection.serve().await
            && let Err(guest) = self.shared.hand_on(to, guest)
        {
            // The other has ended, as this one is about to: here the session ends in good order.
            self.door.expect_one();
            self.adopt(guest);
        }
    }

    fn adopt(self: &Rc<Self>, guest: Box<Guest>) {
        let process = guest.process;
        self.shared.affinity.arrived(process);
        // At once, so that who is looked for by the next order is found.
        match Connection::adopt(self, guest) {
            Ok(connection) => {
                if self.ending.get()
                    && let Some(link) = self.sessions.borrow().get(&process)
                {
                    terminate(link);
                }
                let worker = Rc::clone(self);
                tokio::task::spawn_local(async move {
                    worker.attend(connection).await;
                    worker.left();
                });
            }
            Err((guest, fault)) => {
                base::log!("could not take a connection over: {fault}");
                self.dismiss(guest);
            }
        }
    }

    /// Ends a session that nobody can serve, as when its client vanishes.
    fn dismiss(self: &Rc<Self>, guest: Box<Guest>) {
        let worker = Rc::clone(self);
        // At once: orders for it would be passed on to this worker, over and over.
        self.shared.leave(guest.process);
        tokio::task::spawn_local(async move {
            while worker.make_room(Need::End).is_err() {
                tokio::time::sleep(FIBER_PAUSE).await;
            }
            let ending = Rc::clone(&worker);
            worker.start_fiber(move || {
                drop(guest);
                ending.shared.leave_place();
                ending.left();
            });
            worker.fibers_ran();
        });
    }

    /// Sees to it that a fiber can be started. Two are kept back where no more can be made: who waits for another
    /// session must not take the last that this session may need, to end or to let others go on.
    ///
    /// # Errors
    /// The system has no memory for a stack.
    pub(crate) fn make_room(&self, need: Need) -> io::Result<()> {
        let Err(fault) = self.scheduler.make_room(3) else { return Ok(()) };
        match need {
            Need::Other => Err(fault),
            Need::LetGo => self.scheduler.make_room(2),
            Need::End => self.scheduler.make_room(1),
        }
    }

    /// Starts a fiber, for which [`Worker::make_room`] has seen that there is one; most are done when this returns.
    pub(crate) fn start_fiber(&self, job: impl FnOnce() + 'static) -> Context {
        self.scheduler.start(job).expect("an idle fiber was seen")
    }

    /// A client has sent something.
    pub(crate) fn heard(&self, link: &Rc<Link>) {
        self.busy_poll.heard(link);
        if !self.shared.affinity.is_watching() {
            return;
        }
        let Some(place) = link.place.get() else { return };
        let groups = self.near.borrow_mut().heard(place);
        if let Some(groups) = groups {
            let moves = self.shared.affinity.counted(self.number, &groups);
            let until = clock::now().after(MOVE_MAX);
            for moving in moves {
                self.shared.doors()[moving.from].order(Order::Move(moving, Some(until)));
            }
        }
    }

    /// Replies are about to leave: sends one of them by itself if it may show whom it wakes.
    pub(crate) fn look_whom_replies_wake(&self, links: &[Rc<Link>]) {
        if !self.shared.affinity.is_watching() {
            return;
        }
        let wanting = |link: &Rc<Link>| {
            link.place.get().filter(|place| self.near.borrow_mut().wants_look(*place))
        };
        let found = links.iter().find_map(|link| Some((link, wanting(link)?)));
        // One look at most: it costs more than a reply.
        let Some((link, place)) = found else { return };
        let Some(before) = self.near.borrow_mut().before_reply(place) else { return };
        link.flush(self, None);
        let found = self.near.borrow_mut().after_reply(place, &before);
        if let Some((member, thread)) = found {
            self.shared.affinity.found(member.session, thread);
        }
    }

    /// One connection fewer.
    fn left(&self) {
        self.door.load.fetch_sub(1, Ordering::Relaxed);
        if self.ending.get() {
            self.door.notify.notify_one();
        }
    }

    /// Whether the server is to end.
    pub(crate) fn is_ending(&self) -> bool {
        self.ending.get()
    }

    fn terminate_all(&self) {
        self.ending.set(true);
        let sessions = self.sessions.borrow();
        for link in sessions.values().chain(self.strangers.borrow().iter()) {
            terminate(link);
        }
    }

    /// A connection that has no session yet.
    pub(crate) fn add_stranger(&self, link: &Rc<Link>) {
        self.strangers.borrow_mut().push(Rc::clone(link));
        if self.ending.get() {
            // Its task was waiting for its first turn when all others were told.
            terminate(link);
        }
    }

    /// The connection has a session, or is gone.
    pub(crate) fn remove_stranger(&self, link: &Rc<Link>) {
        self.strangers.borrow_mut().retain(|known| !Rc::ptr_eq(known, link));
    }

    pub(crate) fn add_session(&self, process: i32, link: &Rc<Link>, peer: Peer) {
        self.sessions.borrow_mut().insert(process, Rc::clone(link));
        let moves = self.shared.affinity.is_on() && !link.is_encrypted();
        let household = peer.household().filter(|_| moves);
        let member = household.map(|household| Member { household, session: process });
        let place = member.and_then(|member| self.near.borrow_mut().enter(member));
        link.place.set(place);
        if let Some(place) = place.filter(|_| self.shared.affinity.has_found(process)) {
            self.near.borrow_mut().knows_thread(place);
        }
    }

    pub(crate) fn remove_session(&self, process: i32) {
        let link = self.sessions.borrow_mut().remove(&process);
        if let Some(place) = link.and_then(|link| link.place.take()) {
            self.near.borrow_mut().leave(place);
        }
    }

    /// To be called after fibers ran outside the driver: sees to it that it knows of what is left.
    pub(crate) fn fibers_ran(&self) {
        let due = self.scheduler.next_deadline();
        let sooner = due.is_some() && self.alarm.get().is_none_or(|alarm| due < Some(alarm));
        if sooner || self.scheduler.has_ready() {
            self.door.notify.notify_one();
        }
    }

    /// Sends the connection's replies soon, with those of others. Those that may not leave yet are asked the
    /// log for at once.
    pub(crate) fn postpone(&self, link: &Rc<Link>) {
        if link.outbox.borrow().is_empty() {
            return;
        }
        let durable = self.shared.wal().durable();
        let may_leave = !link.outbox.borrow_mut().sendable(durable).is_empty();
        if !may_leave {
            link.flush(self, None);
        } else if self.outgoing.add(link) {
            self.send_postponed();
        }
    }

    /// Sends what was postponed; to be called before anything that may take long.
    pub(crate) fn send_postponed(&self) {
        self.outgoing.send(self);
    }

    /// Has the connection's replies sent once the log is durable up to `lsn`.
    pub(crate) fn gate(&self, lsn: Lsn, link: &Rc<Link>) {
        if link.gated.replace(lsn) == lsn {
            return;
        }
        self.gate.borrow_mut().add(lsn, Rc::clone(link));
        let wal = self.shared.wal();
        // Nobody else is kept waiting meanwhile.
        let is_durable = self.busy_poll.has_lone_client() && wal.is_quiet() && wal.flush_here(lsn);
        if is_durable || wal.want_durable(&self.watch, lsn) {
            self.door.notify.notify_one();
        }
    }

    /// Has the replies sent that may leave now, and asks again for the rest.
    fn open_gate(&self) {
        let wal = self.shared.wal();
        while let Some(lsn) = self.gate.borrow_mut().open(wal.durable(), &self.outgoing) {
            if !wal.want_durable(&self.watch, lsn) {
                return;
            }
        }
    }

    /// An empty buffer with room for one read.
    pub(crate) fn buffer(&self) -> Vec<u8> {
        self.pool.borrow_mut().pop().unwrap_or_else(|| Vec::with_capacity(READ_BYTES))
    }

    /// Takes a buffer back that nobody needs any more.
    pub(crate) fn reuse(&self, mut buffer: Vec<u8>) {
        let mut pool = self.pool.borrow_mut();
        if (READ_BYTES..=POOLED_BYTES_MAX).contains(&buffer.capacity()) && pool.len() < POOL_MAX {
            buffer.clear();
            pool.push(buffer);
        }
    }
}

/// Ends reads whenever some are complete while the thread sleeps; [`Scheduler::run`] does while it is awake.
async fn reap(ring: AsyncFd<ThreadRing>) {
    while let Ok(mut ready) = ring.readable().await {
        ring::reap();
        ready.clear_ready();
    }
}

/// The runtime has nothing to do on this thread.
fn before_sleep() {
    if let Some(worker) = OWN.with_borrow(Weak::upgrade) {
        worker.send_postponed();
        worker.near.borrow_mut().pause();
        worker.own_core.settle(worker.busy_poll.has_lone_client());
        // Relaxed: see `Door::call`.
        worker.busy_poll.look(|| worker.door.called.load(Ordering::Relaxed) || ring::is_ready());
    }
}

/// Ends a session: at once if it is idle, else as soon as what it runs has noticed.
fn terminate(link: &Link) {
    link.terminated.set(true);
    link.interrupt(Interrupt::Terminate);
    link.wake_task();
}

#[cfg(test)]
mod tests;
