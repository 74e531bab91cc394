//! EXPLAIN ANALYZE: what each node of a plan did.
//!
//! While a [`Profile`] is in force ([`with`]), [`super::run`] puts a watch around each operator that it makes.
//! Making operators never parks, so that the profile in force can be the thread's.

use base::sync::unmodelled::{AtomicU64, Ordering};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use base::usage::{self, Usage};

use crate::error::Result;
use crate::plan::node::Node;
use crate::types::Datum;

use super::spill::Usage as Memory;
use super::{Cx, Operator, Running};

thread_local! {
    static IN_FORCE: RefCell<Option<Arc<Profile>>> = const { RefCell::new(None) };
}

/// What the nodes of one plan did, by the node's place in memory.
#[derive(Debug, Default)]
pub struct Profile(Mutex<BTreeMap<usize, Arc<Watched>>>);

/// What one node did. Only the execution itself writes it, so every access is relaxed.
#[derive(Debug, Default)]
pub struct Watched {
    /// How often it was started.
    pub loops: AtomicU64,
    pub rows: AtomicU64,
    /// Nanoseconds to the first row of each start, and to the last.
    pub first_ns: AtomicU64,
    pub total_ns: AtomicU64,
    /// Rows that conditions dropped, here and below.
    pub removed: AtomicU64,
    /// Rows that bitmap scans tested again and dropped, here and below.
    pub rechecked: AtomicU64,
    /// Rows that index-only scans looked at in the table, here and below.
    pub heap_fetches: AtomicU64,
    /// Pages and log used, here and below.
    used: Mutex<Usage>,
    /// How it got on with its memory, the last time.
    memory: Mutex<Option<Memory>>,
}

impl Watched {
    pub fn get(counter: &AtomicU64) -> u64 {
        counter.load(Ordering::Relaxed)
    }

    pub fn memory(&self) -> Option<Memory> {
        *self.memory.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Pages and log that it and what is below it used.
    pub fn used(&self) -> Usage {
        *self.used.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn add(counter: &AtomicU64, more: u64) {
        counter.fetch_add(more, Ordering::Relaxed);
    }
}

impl Profile {
    /// What a node did; `None` for one that was never made.
    pub fn of(&self, node: &Node) -> Option<Arc<Watched>> {
        self.of_part(std::ptr::from_ref(node).addr())
    }

    /// What a part of a node did that is no operator ([`part`]), by its place in memory.
    pub fn of_part(&self, place: usize) -> Option<Arc<Watched>> {
        let nodes = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        nodes.get(&place).cloned()
    }

    fn enter(&self, place: usize) -> Arc<Watched> {
        let mut nodes = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        nodes.entry(place).or_default().clone()
    }
}

/// Runs a part of a node that is no operator; `run` answers what it made, and of how many rows. It is watched under its
/// place in memory if there is a profile.
pub(super) fn part<R>(
    place: usize,
    cx: &mut Cx<'_>,
    run: impl FnOnce(&mut Cx<'_>) -> Result<(R, u64)>,
) -> Result<R> {
    let Some(watched) = cx.state.profile.as_ref().map(|profile| profile.enter(place)) else {
        return run(cx).map(|(made, _)| made);
    };
    Watched::add(&watched.loops, 1);
    let (used, begun) = (usage::so_far(), base::clock::now());
    let made = run(cx);
    let spent = base::clock::now().since(begun).as_nanos() as u64;
    Watched::add(&watched.first_ns, spent);
    Watched::add(&watched.total_ns, spent);
    let mut all = watched.used.lock().unwrap_or_else(PoisonError::into_inner);
    *all = *all + (usage::so_far() - used);
    drop(all);
    let (made, rows) = made?;
    Watched::add(&watched.rows, rows);
    Ok(made)
}

/// Makes operators by `make`, watched if there is a profile.
pub fn with<R>(profile: Option<&Arc<Profile>>, make: impl FnOnce() -> R) -> R {
    let before = IN_FORCE.replace(profile.cloned());
    let made = make();
    IN_FORCE.set(before);
    made
}

/// The operator, watched if a profile is in force.
pub(super) fn watched(node: &Node, operator: Running) -> Running {
    let watched = IN_FORCE
        .with_borrow(|profile| Some(profile.as_ref()?.enter(std::ptr::from_ref(node).addr())));
    match watched {
        None => operator,
        Some(watched) => {
            let used = Usage::default();
            Box::new(Watch { operator, watched, started: false, spent_ns: 0, met: false, used })
        }
    }
}

struct Watch {
    operator: Running,
    watched: Arc<Watched>,
    started: bool,
    /// Since it was started.
    spent_ns: u64,
    /// It has given a row since it was started.
    met: bool,
    used: Usage,
}

impl Operator for Watch {
    fn next(&mut self, cx: &mut Cx<'_>) -> Result<bool> {
        if !self.started {
            self.started = true;
            Watched::add(&self.watched.loops, 1);
        }
        let (removed, used) = (cx.state.removed, usage::so_far());
        let (rechecked, heap_fetches) = (cx.state.rechecked, cx.state.heap_fetches);
        let begun = base::clock::now();
        let found = self.operator.next(cx);
        let spent = base::clock::now().since(begun).as_nanos() as u64;
        self.spent_ns += spent;
        Watched::add(&self.watched.total_ns, spent);
        Watched::add(&self.watched.removed, cx.state.removed - removed);
        Watched::add(&self.watched.rechecked, cx.state.rechecked - rechecked);
        Watched::add(&self.watched.heap_fetches, cx.state.heap_fetches - heap_fetches);
        self.used = self.used + (usage::so_far() - used);
        if matches!(found, Ok(true)) {
            Watched::add(&self.watched.rows, 1);
        }
        if !std::mem::replace(&mut self.met, true) {
            Watched::add(&self.watched.first_ns, self.spent_ns);
        }
        found
    }

    fn row(&self) -> &[Datum] {
        self.operator.row()
    }

    fn rescan(&mut self, cx: &mut Cx<'_>) -> Result<()> {
        (self.started, self.spent_ns, self.met) = (false, 0, false);
        self.tell_usage();
        self.operator.rescan(cx)
    }

    fn repeat(&mut self, cx: &mut Cx<'_>) -> Result<()> {
        (self.started, self.spent_ns, self.met) = (false, 0, false);
        self.tell_usage();
        self.operator.repeat(cx)
    }
}

impl Watch {
    fn tell_usage(&mut self) {
        let used = std::mem::take(&mut self.used);
        let mut all = self.watched.used.lock().unwrap_or_else(PoisonError::into_inner);
        *all = *all + used;
        drop(all);
        if let Some(usage) = self.operator.usage() {
            *self.watched.memory.lock().unwrap_or_else(PoisonError::into_inner) = Some(usage);
        }
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.tell_usage();
    }
}
