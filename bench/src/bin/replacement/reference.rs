//! Policies from the literature, written for clarity, and the offline optimum.

use crate::Cache;
use crate::lists::Timed;
use base::hash::{HashMap, hash_of};
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// Least recently used.
pub struct Lru {
    list: Timed,
    frames: usize,
}

impl Lru {
    pub fn new(frames: usize) -> Lru {
        Lru { list: Timed::default(), frames }
    }
}

impl Cache for Lru {
    fn use_page(&mut self, page: u64) -> bool {
        let hit = self.list.has(page);
        if !hit && self.list.len() == self.frames {
            self.list.pop();
        }
        self.list.push(page);
        hit
    }
}

/// LRU-2 (O'Neil, O'Neil, Weikum 1993): of the pages not used just now, the one whose last but one
/// uncorrelated use is longest ago goes. Times of pages that left are kept for eight caches' worth of
/// evictions.
pub struct Lru2 {
    /// Last use, last uncorrelated use, the one before.
    uses: HashMap<u64, (u64, u64, u64)>,
    order: BTreeSet<(u64, u64, u64)>,
    history: VecDeque<(u64, u64)>,
    frames: usize,
    now: u64,
}

/// Uses at most this many accesses apart are one use: those of a transaction.
const CORRELATED: u64 = 20;

impl Lru2 {
    pub fn new(frames: usize) -> Lru2 {
        let (uses, order, history) = (HashMap::default(), BTreeSet::new(), VecDeque::new());
        Lru2 { uses, order, history, frames, now: 0 }
    }
}

impl Cache for Lru2 {
    fn use_page(&mut self, page: u64) -> bool {
        self.now += 1;
        let now = self.now;
        let old = self.uses.get(&page).copied();
        let hit = old.is_some_and(|(_, last, before)| self.order.remove(&(before, last, page)));
        if !hit && self.order.len() == self.frames {
            let idle = |(.., page): &&(u64, u64, u64)| now - self.uses[page].0 > CORRELATED;
            let victim = self.order.iter().find(idle).or(self.order.first()).copied();
            let victim = victim.expect("a full cache has pages");
            self.order.remove(&victim);
            self.history.push_back((now, victim.2));
        }
        let times = match old {
            None => (now, now, 0),
            Some((any, last, before)) if now - any <= CORRELATED => (now, last, before),
            Some((_, last, _)) => (now, now, last),
        };
        self.uses.insert(page, times);
        self.order.insert((times.2, times.1, page));
        while self.history.len() > 8 * self.frames {
            let (_, old) = self.history.pop_front().expect("just counted");
            let (_, last, before) = self.uses.get(&old).copied().unwrap_or_default();
            if !self.order.contains(&(before, last, old)) {
                self.uses.remove(&old);
            }
        }
        hit
    }
}

/// ARC (Megiddo, Modha 2003).
pub struct Arc {
    recent: Timed,
    frequent: Timed,
    recent_ghosts: Timed,
    frequent_ghosts: Timed,
    goal: usize,
    frames: usize,
}

impl Arc {
    pub fn new(frames: usize) -> Arc {
        Arc {
            recent: Timed::default(),
            frequent: Timed::default(),
            recent_ghosts: Timed::default(),
            frequent_ghosts: Timed::default(),
            goal: 0,
            frames,
        }
    }

    fn replace(&mut self, in_frequent_ghosts: bool) {
        let recent = self.recent.len();
        if recent > 0 && (recent > self.goal || (in_frequent_ghosts && recent == self.goal)) {
            let page = self.recent.pop().expect("not empty");
            self.recent_ghosts.push(page);
        } else if let Some(page) = self.frequent.pop() {
            self.frequent_ghosts.push(page);
        }
    }

    fn miss(&mut self, page: u64) {
        let (recent, ghosts) = (self.recent.len(), self.recent_ghosts.len());
        if recent + ghosts == self.frames {
            if recent < self.frames {
                self.recent_ghosts.pop();
                self.replace(false);
            } else {
                self.recent.pop();
            }
        } else {
            let all = recent + ghosts + self.frequent.len() + self.frequent_ghosts.len();
            if all >= self.frames {
                if all == 2 * self.frames {
                    self.frequent_ghosts.pop();
                }
                self.replace(false);
            }
        }
        self.recent.push(page);
    }
}

impl Cache for Arc {
    fn use_page(&mut self, page: u64) -> bool {
        if self.recent.remove(page) || self.frequent.has(page) {
            self.frequent.push(page);
            return true;
        }
        let (b1, b2) = (self.recent_ghosts.len(), self.frequent_ghosts.len());
        if self.recent_ghosts.has(page) {
            self.goal = (self.goal + (b2 / b1).max(1)).min(self.frames);
            self.replace(false);
            self.recent_ghosts.remove(page);
            self.frequent.push(page);
        } else if self.frequent_ghosts.has(page) {
            self.goal = self.goal.saturating_sub((b1 / b2).max(1));
            self.replace(true);
            self.frequent_ghosts.remove(page);
            self.frequent.push(page);
        } else {
            self.miss(page);
        }
        false
    }
}

/// Approximate counts that are halved now and then.
struct Sketch {
    counts: Vec<u8>,
    added: usize,
    reset_at: usize,
}

impl Sketch {
    fn new(frames: usize) -> Sketch {
        Sketch {
            counts: vec![0; (16 * frames).next_power_of_two()],
            added: 0,
            reset_at: 10 * frames,
        }
    }

    fn cells(&self, page: u64) -> [usize; 4] {
        let mask = self.counts.len() - 1;
        [1u64, 2, 3, 4].map(|row| (hash_of(&(page, row)) >> 17) as usize & mask)
    }

    fn add(&mut self, page: u64) {
        for cell in self.cells(page) {
            self.counts[cell] = (self.counts[cell] + 1).min(15);
        }
        self.added += 1;
        if self.added == self.reset_at {
            self.counts.iter_mut().for_each(|c| *c /= 2);
            self.added /= 2;
        }
    }

    fn count(&self, page: u64) -> u8 {
        self.cells(page).into_iter().map(|cell| self.counts[cell]).min().expect("four rows")
    }
}

/// W-TinyLFU (Einziger, Friedman, Manes 2017): a window of 1 %, a segmented LRU behind a frequency filter.
pub struct TinyLfu {
    sketch: Sketch,
    window: Timed,
    probation: Timed,
    protected: Timed,
    window_max: usize,
    protected_max: usize,
    frames: usize,
}

impl TinyLfu {
    pub fn new(frames: usize) -> TinyLfu {
        let window_max = (frames / 100).max(1);
        TinyLfu {
            sketch: Sketch::new(frames),
            window: Timed::default(),
            probation: Timed::default(),
            protected: Timed::default(),
            window_max,
            protected_max: (frames - window_max) * 8 / 10,
            frames,
        }
    }

    /// The window's oldest applies for a place in the main part.
    fn admit(&mut self) {
        let candidate = self.window.pop().expect("called when it is over-full");
        if self.probation.len() + self.protected.len() < self.frames - self.window_max {
            return self.probation.push(candidate);
        }
        let Some(victim) = self.probation.oldest() else { return };
        if self.sketch.count(candidate) > self.sketch.count(victim) {
            self.probation.pop();
            self.probation.push(candidate);
        }
    }
}

impl Cache for TinyLfu {
    fn use_page(&mut self, page: u64) -> bool {
        self.sketch.add(page);
        if self.window.has(page) {
            self.window.push(page);
            return true;
        }
        if self.protected.has(page) || self.probation.remove(page) {
            self.protected.push(page);
            if self.protected.len() > self.protected_max {
                let demoted = self.protected.pop().expect("just counted");
                self.probation.push(demoted);
            }
            return true;
        }
        self.window.push(page);
        if self.window.len() > self.window_max {
            self.admit();
        }
        false
    }
}

/// S3-FIFO (Yang and others 2023).
pub struct S3Fifo {
    small: VecDeque<u64>,
    main: VecDeque<u64>,
    ghosts: Timed,
    /// Uses since entry, up to 3.
    counts: HashMap<u64, u8>,
    small_max: usize,
    frames: usize,
}

impl S3Fifo {
    pub fn new(frames: usize) -> S3Fifo {
        S3Fifo {
            small: VecDeque::new(),
            main: VecDeque::new(),
            ghosts: Timed::default(),
            counts: HashMap::default(),
            small_max: (frames / 10).max(1),
            frames,
        }
    }

    fn evict(&mut self) {
        while self.small.len() >= self.small_max || self.main.is_empty() {
            let Some(page) = self.small.pop_front() else { break };
            if self.counts[&page] > 1 {
                self.counts.insert(page, 0);
                self.main.push_back(page);
                continue;
            }
            self.counts.remove(&page);
            self.ghosts.push(page);
            if self.ghosts.len() > self.frames - self.small_max {
                self.ghosts.pop();
            }
            return;
        }
        while let Some(page) = self.main.pop_front() {
            let count = self.counts.get_mut(&page).expect("cached pages are counted");
            if *count == 0 {
                self.counts.remove(&page);
                return;
            }
            *count -= 1;
            self.main.push_back(page);
        }
    }
}

impl Cache for S3Fifo {
    fn use_page(&mut self, page: u64) -> bool {
        if let Some(count) = self.counts.get_mut(&page) {
            *count = (*count + 1).min(3);
            return true;
        }
        if self.counts.len() >= self.frames {
            self.evict();
        }
        self.counts.insert(page, 0);
        if self.ghosts.remove(page) {
            self.main.push_back(page);
        } else {
            self.small.push_back(page);
        }
        false
    }
}

/// Hits of the offline optimum (Belady): the page whose next use is farthest goes, the new one included.
pub fn optimum(trace: &[u64], frames: usize) -> usize {
    let mut next = vec![usize::MAX; trace.len()];
    let mut seen: BTreeMap<u64, usize> = BTreeMap::new();
    for (i, page) in trace.iter().enumerate().rev() {
        if let Some(later) = seen.insert(*page, i) {
            next[i] = later;
        }
    }
    // Cached pages by their next use; a page's key is the position of that use.
    let (mut cached, mut hits) = (BTreeSet::new(), 0);
    for (i, _) in trace.iter().enumerate() {
        hits += usize::from(cached.remove(&i));
        if next[i] != usize::MAX {
            cached.insert(next[i]);
            if cached.len() > frames {
                cached.pop_last();
            }
        }
    }
    hits
}
