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
use crate::types::{Oid, TypeId};

/// Plans kept. An application has few texts; one that builds ever new ones must not fill memory.
const PLANS_MAX: usize = 256;

/// What is kept for a text.
#[derive(Clone)]
pub enum Known {
    Plan(Arc<Planned>),
    /// A command that begins or ends a transaction.
    Command(Arc<Statement>),
    /// Which index serves it may depend on its constants: it is planned each time, as it is written.
    AsWritten {
        /// The state of the catalogs in which that was seen.
        version: u64,
    },
}

/// A text that clients of the extended protocol prepare again and again.
#[derive(Clone)]
pub struct KnownText {
    /// The types that were declared for its parameters.
    pub types: Arc<[Oid]>,
    pub text: Arc<str>,
    pub statement: Arc<Statement>,
    /// The types of its parameters.
    pub params: Arc<[TypeId]>,
    /// `None`: a command that begins or ends a transaction.
    pub planned: Option<Arc<Planned>>,
}

/// Longer texts are not kept.
const TEXT_BYTES_MAX: usize = 8 << 10;

/// See the module's description.
#[derive(Default)]
pub struct PlanCache {
    /// Buffers of the lexer, kept from text to text.
    pub lifter: Lifter,
    plans: HashMap<Box<[u8]>, Known>,
    texts: HashMap<Box<str>, KnownText>,
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

    /// What is kept for this text with these declared types.
    #[inline]
    pub fn text(&self, text: &str, types: &[Oid]) -> Option<KnownText> {
        self.texts.get(text).filter(|known| *known.types == *types).cloned()
    }

    /// Keeps a prepared text. Not one with quotes: what stands in them is read by the settings and at the
    /// time of each preparation.
    pub fn keep_text(&mut self, text: &str, known: KnownText) {
        if text.len() > TEXT_BYTES_MAX || has_quotes(text) {
            return;
        }
        if self.texts.len() >= PLANS_MAX && !self.texts.contains_key(text) {
            self.texts.clear();
        }
        self.texts.insert(text.into(), known);
    }

    /// DISCARD PLANS.
    pub fn clear(&mut self) {
        self.plans.clear();
        self.texts.clear();
    }
}

/// Whether a text may hold a quoted constant; `$1` is none, `$$` begins one.
fn has_quotes(text: &str) -> bool {
    let dollar = |(i, b): (usize, u8)| {
        b == b'$' && !text.as_bytes().get(i + 1).is_some_and(u8::is_ascii_digit)
    };
    text.contains('\'') || text.bytes().enumerate().any(dollar)
}
