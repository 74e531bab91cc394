//! Which worker is to have which connection: what all workers know together.
//!
//! *Threads* are what is taken for one client thread's connections: those at which a reply was found to wake the same
//! one, else groups that workers have seen, joined where they overlap. Where a thread's connections are on several
//! workers, they are *gathered*; else two workers *try* an exchange of threads that have not met yet, because what looks
//! like two of them may be one. Two threads have met when a worker has counted both and did not find them to be one.
//!
//! What is gathered brings every two workers nearer to having threads whole ([`Placement::gain`]); each pair of threads
//! meets once: so it ends.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use base::clock::Instant;

use super::Member;

/// A connection that was told to move and has not within this time is not waited for.
pub(crate) const MOVE_MAX: Duration = Duration::from_millis(300);
/// So many counts in a row that led to no exchange, for each worker, are enough.
const QUIET_ENOUGH: usize = 3;
/// So many exchanges in a row are made at most, for each worker.
const EXCHANGES_MAX: usize = 64;

/// A connection is to go elsewhere.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Move {
    pub session: i32,
    pub from: usize,
    pub to: usize,
}

/// A thread's number; the lowest session in it, or less than zero: the system's number of one that was found.
type Thread = i32;

/// Who of each thread is on a worker.
type ByThread = BTreeMap<Thread, Vec<Member>>;

#[derive(Debug)]
pub(crate) struct Placement {
    /// What each worker has counted last, since it last exchanged anything.
    counted: Vec<Option<Vec<Member>>>,
    /// By session.
    threads: BTreeMap<i32, Thread>,
    met: BTreeSet<(Thread, Thread)>,
    /// Moves that were told and have not been seen to be done.
    moving: Vec<(Move, Instant)>,
    /// Counts in a row without an exchange.
    quiet: usize,
    exchanges: usize,
    /// A group of several was seen since it began.
    has_seen: bool,
}

/// What two workers are to exchange.
struct Exchange {
    /// Goes from the first to the second.
    there: Vec<i32>,
    back: Vec<i32>,
}

impl Placement {
    pub fn new(workers: usize) -> Placement {
        Placement {
            counted: vec![None; workers],
            threads: BTreeMap::new(),
            met: BTreeSet::new(),
            moving: Vec::new(),
            quiet: 0,
            exchanges: 0,
            has_seen: false,
        }
    }

    /// There are new clients: counting is worth while again.
    pub fn begin(&mut self) {
        self.quiet = 0;
        self.exchanges = 0;
        self.has_seen = false;
    }

    /// Whether nothing more is to be learnt.
    pub fn is_done(&self) -> bool {
        let workers = self.counted.len();
        self.quiet >= QUIET_ENOUGH * workers || self.exchanges >= EXCHANGES_MAX * workers
    }

    /// A session's thread, by the system's number.
    pub fn found(&mut self, session: i32, thread: i32) {
        self.separate(session);
        self.threads.insert(session, -thread);
        self.begin();
    }

    /// Whether the session's thread has been found.
    pub fn has_found(&self, session: i32) -> bool {
        self.threads.get(&session).is_some_and(|thread| was_found(*thread))
    }

    /// The session has ended.
    pub fn forget(&mut self, session: i32) {
        self.separate(session);
        self.moving.retain(|(moving, _)| moving.session != session);
    }

    /// The session is in no thread.
    fn separate(&mut self, session: i32) {
        let Some(thread) = self.threads.remove(&session) else { return };
        let mut left = self.threads.iter().filter(|(_, t)| **t == thread).map(|(s, _)| *s);
        match left.next() {
            None => self.met.retain(|(a, b)| *a != thread && *b != thread),
            Some(next) if session == thread => {
                self.threads.values_mut().filter(|t| **t == thread).for_each(|t| *t = next);
                renumber(&mut self.met, |other| if other == thread { next } else { other });
            }
            Some(_) => {}
        }
    }

    /// The session has come to where it was told to go.
    pub fn arrived(&mut self, session: i32) {
        self.moving.retain(|(moving, _)| moving.session != session);
    }

    /// What a worker has counted: its active connections in groups. Returns who is to move.
    pub fn counted(&mut self, worker: usize, groups: &[Vec<Member>], now: Instant) -> Vec<Move> {
        self.moving.retain(|(_, since)| now.since(*since) < MOVE_MAX);
        if self.moving.iter().any(|(moving, _)| moving.from == worker || moving.to == worker) {
            return Vec::new();
        }
        self.learn(groups);
        self.counted[worker] = Some(groups.concat());
        let moves = self.exchange(worker);
        if moves.is_empty() {
            self.quiet += 1;
            return moves;
        }
        self.quiet = 0;
        self.exchanges += 1;
        self.moving.extend(moves.iter().map(|moving| (*moving, now)));
        moves
    }

    /// Joins what was seen to belong together, and notes what was not.
    fn learn(&mut self, groups: &[Vec<Member>]) {
        let mut has_joined = false;
        for group in groups {
            self.has_seen |= group.len() > 1;
            for member in group {
                self.threads.entry(member.session).or_insert(member.session);
            }
            let joined: BTreeSet<Thread> = self.unfound(group).collect();
            if let Some(&first) = joined.first().filter(|_| joined.len() > 1) {
                has_joined = true;
                self.threads
                    .values_mut()
                    .filter(|t| joined.contains(&**t))
                    .for_each(|t| *t = first);
            }
        }
        if has_joined {
            // A thread's number is a session in it.
            renumber(&mut self.met, |thread| self.threads[&thread]);
        }
        let here: BTreeSet<Thread> = groups.iter().filter_map(|g| self.unfound(g).next()).collect();
        for &a in &here {
            self.met.extend(here.range(a + 1..).map(|&b| (a, b)));
        }
    }

    /// What is taken for the threads of those whose thread has not been found.
    fn unfound(&self, group: &[Member]) -> impl Iterator<Item = Thread> {
        group.iter().map(|m| self.threads[&m.session]).filter(|thread| !was_found(*thread))
    }

    /// An exchange of this worker with another that has counted.
    fn exchange(&mut self, worker: usize) -> Vec<Move> {
        let workers = self.counted.len();
        // From the next one on, so that not all turn to the same one.
        let others = (1..workers).map(|step| (worker + step) % workers);
        let others: Vec<usize> = others.filter(|other| self.counted[*other].is_some()).collect();
        let found = [Placement::gather, Placement::attempt].into_iter().find_map(|plan| {
            others.iter().find_map(|&other| Some((other, plan(self, worker, other)?)))
        });
        let Some((other, exchange)) = found else { return Vec::new() };
        self.counted[worker] = None;
        self.counted[other] = None;
        moves(worker, other, &exchange)
    }

    /// By thread, who of it is on the worker.
    fn by_thread(&self, worker: usize) -> ByThread {
        let mut threads = ByThread::new();
        for member in self.counted[worker].iter().flatten() {
            if let Some(thread) = self.threads.get(&member.session) {
                threads.entry(*thread).or_default().push(*member);
            }
        }
        threads
    }

    /// The exchange that gathers the most.
    fn gather(&self, here: usize, there: usize) -> Option<Exchange> {
        let (ours, theirs) = (self.by_thread(here), self.by_thread(there));
        let split = ours.keys().filter(|thread| theirs.contains_key(thread));
        let exchanges = split.flat_map(|thread| {
            let back = fetch(*thread, &ours, &theirs);
            let forth = fetch(*thread, &theirs, &ours);
            [back, forth.map(|e| Exchange { there: e.back, back: e.there })]
        });
        let gains = exchanges.flatten().map(|e| (self.gain(&ours, &theirs, &e), e));
        let best = gains.max_by_key(|(gain, _)| *gain);
        best.filter(|(gain, _)| *gain > 0).map(|(_, exchange)| exchange)
    }

    /// How much an exchange adds to the sum of squares of how many of each thread are on each of the two workers: the
    /// fewer threads a worker's connections belong to, the higher that is.
    fn gain(&self, ours: &ByThread, theirs: &ByThread, exchange: &Exchange) -> i64 {
        let mut coming: BTreeMap<Thread, i64> = BTreeMap::new();
        let sides = [(&exchange.there, -1), (&exchange.back, 1)];
        for (session, by) in
            sides.into_iter().flat_map(|(list, by)| list.iter().map(move |s| (s, by)))
        {
            *coming.entry(self.threads[session]).or_default() += by;
        }
        let added = |(thread, coming): (&Thread, &i64)| {
            let [here, there] = [ours, theirs]
                .map(|side| side.get(thread).map_or(0, |members| members.len() as i64));
            2 * coming * (here - there + coming)
        };
        coming.iter().map(added).sum()
    }

    /// The exchange of two threads by which the most meet that have not met.
    fn attempt(&self, here: usize, there: usize) -> Option<Exchange> {
        if !self.has_seen && self.quiet + self.exchanges >= QUIET_ENOUGH * self.counted.len() {
            return None;
        }
        let (ours, theirs) = (self.by_thread(here), self.by_thread(there));
        // Who of the others each one could be part of and has not met.
        let strangers: Vec<Vec<bool>> = (ours.iter())
            .map(|ours| theirs.iter().map(|theirs| self.are_strangers(ours, theirs)).collect())
            .collect();
        let of_theirs: Vec<usize> =
            (0..theirs.len()).map(|at| strangers.iter().filter(|row| row[at]).count()).collect();
        let mut best: Option<(usize, Exchange)> = None;
        for ((a, members), row) in ours.iter().zip(&strangers) {
            let of_ours = row.iter().filter(|is| **is).count();
            for (((b, others), of_theirs), are) in theirs.iter().zip(&of_theirs).zip(row) {
                // They pass each other, and do not meet.
                let news = of_ours + of_theirs - 2 * usize::from(*are);
                if a == b || news <= best.as_ref().map_or(0, |(most, _)| *most) {
                    continue;
                }
                let size = members.len().min(others.len());
                best =
                    Some((news, Exchange { there: some(members, size), back: some(others, size) }));
            }
        }
        best.map(|(_, exchange)| exchange)
    }

    /// Whether two threads on two workers may be one, and have not met.
    fn are_strangers(&self, a: (&Thread, &Vec<Member>), b: (&Thread, &Vec<Member>)) -> bool {
        let pair = (*a.0.min(b.0), *a.0.max(b.0));
        // Those that were found are what they are.
        let is_open = a.0 != b.0 && !was_found(*a.0) && !was_found(*b.0);
        is_open && a.1[0].household == b.1[0].household && !self.met.contains(&pair)
    }
}

/// Whether it is a thread that was found by whom replies wake.
fn was_found(thread: Thread) -> bool {
    thread < 0
}

/// Gives threads other numbers; those that get the same have nothing to meet any more.
fn renumber(met: &mut BTreeSet<(Thread, Thread)>, number: impl Fn(Thread) -> Thread) {
    let pairs = std::mem::take(met).into_iter().map(|(a, b)| (number(a), number(b)));
    *met = pairs.filter(|(a, b)| a != b).map(|(a, b)| (a.min(b), a.max(b))).collect();
}

/// What brings the thread's connections from `there` to `here`, as far as others of `here` can make room: first of
/// threads that are there too, then of the smallest.
fn fetch(thread: Thread, here: &ByThread, there: &ByThread) -> Option<Exchange> {
    let mut rooms: Vec<_> = here.iter().filter(|(t, _)| **t != thread).collect();
    rooms.sort_by_key(|(t, members)| (!there.contains_key(t), members.len()));
    let leaving = rooms.into_iter().flat_map(|(_, members)| members);
    let wanted = &there[&thread];
    let gone: Vec<i32> = leaving.take(wanted.len()).map(|member| member.session).collect();
    let back = some(wanted, gone.len());
    (!gone.is_empty()).then_some(Exchange { there: gone, back })
}

fn some(members: &[Member], count: usize) -> Vec<i32> {
    members.iter().take(count).map(|member| member.session).collect()
}

fn moves(here: usize, there: usize, exchange: &Exchange) -> Vec<Move> {
    let moving = |from, to| move |session: &i32| Move { session: *session, from, to };
    let forth = exchange.there.iter().map(moving(here, there));
    forth.chain(exchange.back.iter().map(moving(there, here))).collect()
}
