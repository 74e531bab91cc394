//! Plans by text with the constants lifted out: what spares the simple protocol from parsing and
//! planning the same statement again and again.
//!
//! One cache per session: no line is shared between cores, and what a session sees (search path,
//! its own transaction's changes) is its own. A plan is checked before each use by whoever runs it.

use std::sync::Arc;

use base::hash::HashMap;
use syntax::ast::Statement;
use syntax::lift::Lifter;

use crate::session::Planned;

/// Plans kept. An application has few texts; one that builds ever new ones must not fill memory.
const PLANS_MAX: usize = 256;

/// What is kept for a text.
#[derive(Clone)]
pub enum Known {
    Plan(Arc<Planned>),
    /// A command that begins or ends a transaction.
    Command(Arc<Statement>),
    /// Which indexes serve it depends on its constants: it is planned each time, as it is written.
    AsWritten,
}

/// See the module's description.
#[derive(Default)]
pub struct PlanCache {
    /// Buffers of the lexer, kept from text to text.
    pub lifter: Lifter,
    plans: HashMap<Box<[u8]>, Known>,
}

impl PlanCache {
    /// What is kept for texts with this key.
    #[inline]
    pub fn find(&self, key: &[u8]) -> Option<Known> {
        self.plans.get(key).cloned()
    }

    /// Keeps something, in the place of what was kept for the same key.
    pub fn keep(&mut self, key: &[u8], known: Known) {
        if self.plans.len() >= PLANS_MAX && !self.plans.contains_key(key) {
            // Rare enough that starting over is cheaper than keeping an order of use.
            self.plans.clear();
        }
        self.plans.insert(key.into(), known);
    }

    /// DISCARD PLANS.
    pub fn clear(&mut self) {
        self.plans.clear();
    }
}
