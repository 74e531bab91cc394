//! Pages in an order of their own: what the reference policies are made of. Clear before fast.

use base::hash::HashMap;
use std::collections::BTreeMap;

/// A list ordered by the time of entry, with a position for each page.
#[derive(Default)]
pub struct Timed {
    at: HashMap<u64, u64>,
    order: BTreeMap<u64, u64>,
    now: u64,
}

impl Timed {
    pub fn len(&self) -> usize {
        self.at.len()
    }

    pub fn has(&self, page: u64) -> bool {
        self.at.contains_key(&page)
    }

    /// Puts the page at the young end.
    pub fn push(&mut self, page: u64) {
        self.remove(page);
        self.now += 1;
        self.at.insert(page, self.now);
        self.order.insert(self.now, page);
    }

    pub fn remove(&mut self, page: u64) -> bool {
        match self.at.remove(&page) {
            Some(time) => self.order.remove(&time).is_some(),
            None => false,
        }
    }

    /// Takes the oldest.
    pub fn pop(&mut self) -> Option<u64> {
        let (_, page) = self.order.pop_first()?;
        self.at.remove(&page);
        Some(page)
    }

    pub fn oldest(&self) -> Option<u64> {
        self.order.first_key_value().map(|(_, page)| *page)
    }
}
