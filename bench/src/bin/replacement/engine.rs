//! The engine's policies, over frames that are never held and never dirty.

use crate::Cache;
use base::hash::{HashMap, hash_of};
use storage::buffer::Policy;
use storage::buffer::replace::{Candidates, Credit, Replacer, TICKS_PER_WINDOW};

/// Victims that one sweep takes, as the cache's foreground does.
const BATCH: usize = 8;

/// See the module.
pub struct Engine {
    replacer: Replacer,
    credits: Vec<Credit>,
    pages: Vec<Option<u64>>,
    at: HashMap<u64, u32>,
    free: Vec<u32>,
    accesses: usize,
    /// A policy that goes by time sees one tick after this many accesses: its window is a quarter of the
    /// accesses that would fill the cache once.
    tick: usize,
}

struct Sweep<'e> {
    credits: &'e [Credit],
    pages: &'e mut [Option<u64>],
    at: &'e mut HashMap<u64, u32>,
    free: &'e mut Vec<u32>,
}

impl Candidates for Sweep<'_> {
    fn credit(&self, index: u32) -> &Credit {
        &self.credits[index as usize]
    }

    fn is_idle(&self, index: u32) -> bool {
        self.pages[index as usize].is_some()
    }

    fn offer(&mut self, index: u32) -> Option<u64> {
        let page = self.pages[index as usize].take().expect("an idle frame has a page");
        self.at.remove(&page);
        self.free.push(index);
        Some(hash_of(&page))
    }

    fn enough(&self) -> bool {
        self.free.len() >= BATCH
    }
}

impl Engine {
    pub fn new(policy: Policy, frames: usize) -> Engine {
        Engine {
            replacer: Replacer::new(policy, frames as u32),
            credits: (0..frames).map(|_| Credit::new()).collect(),
            pages: vec![None; frames],
            at: HashMap::default(),
            free: (0..frames as u32).rev().collect(),
            accesses: 0,
            tick: (frames / 4 / TICKS_PER_WINDOW as usize).max(1),
        }
    }
}

impl Cache for Engine {
    fn use_page(&mut self, page: u64) -> bool {
        self.accesses += 1;
        if self.accesses.is_multiple_of(self.tick) {
            self.replacer.tick();
        }
        if let Some(index) = self.at.get(&page) {
            self.replacer.hit(&self.credits[*index as usize]);
            return true;
        }
        if self.free.is_empty() {
            let Engine { replacer, credits, pages, at, free, .. } = self;
            let mut hand = replacer.sweep();
            replacer.victims(&mut hand, usize::MAX, &mut Sweep { credits, pages, at, free });
        }
        let index = self.free.pop().expect("a victim was found");
        self.pages[index as usize] = Some(page);
        self.at.insert(page, index);
        self.replacer.loaded(index, &self.credits[index as usize], hash_of(&page), true);
        false
    }
}
