//! Plans by text with the constants lifted out: what spares the simple protocol from parsing and
//! planning the same statement again and again.
//!
//! Each session has a cache, and looks into what the sessions of its thread share ([`shared`]) for what it has not. A
//! plan is checked before each use by whoever runs it.

mod shared;

pub use shared::Scope;

use std::sync::Arc;

use base::hash::HashMap;
use syntax::ast::Statement;
use syntax::lift::Lifter;

use crate::catalog::store::Instance;
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
    /// Which index serves it may depend on its constants, or they are read by the settings and the time: it is planned
    /// each time, as it is written. By this plan that was seen.
    AsWritten(Arc<Planned>),
}

/// Where a plan is wanted.
#[derive(Clone, Copy)]
pub struct Place<'a> {
    pub scope: Scope,
    /// Whose catalogs tell whether a plan is out of date.
    pub instance: &'a Instance,
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

impl Known {
    fn serves(&self, place: Place<'_>) -> bool {
        match self {
            Known::Plan(planned) | Known::AsWritten(planned) => planned.serves(place),
            Known::Command(_) => true,
        }
    }
}

impl KnownText {
    fn serves(&self, place: Place<'_>) -> bool {
        self.planned.as_ref().is_none_or(|planned| planned.serves(place))
    }
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
    pub fn find(&mut self, place: Place<'_>, key: &[u8]) -> Option<Known> {
        if let Some(known) = self.plans.get(key).filter(|known| known.serves(place)) {
            return Some(known.clone());
        }
        let known = shared::find(place.scope, key).filter(|known| known.serves(place))?;
        self.insert(key, known.clone());
        Some(known)
    }

    /// Keeps something, in the place of what was kept for the same key.
    pub fn keep(&mut self, scope: Scope, key: &[u8], known: Known) {
        let is_own = matches!(
            &known,
            Known::Plan(planned) | Known::AsWritten(planned) if planned.is_local()
        );
        if !is_own {
            shared::keep(scope, key, known.clone());
        }
        self.insert(key, known);
    }

    fn insert(&mut self, key: &[u8], known: Known) {
        if self.plans.len() >= PLANS_MAX && !self.plans.contains_key(key) {
            // Rare enough that starting over is cheaper than keeping an order of use.
            self.plans.clear();
        }
        self.plans.insert(key.into(), known);
    }

    /// What is kept for this text with these declared types.
    #[inline]
    pub fn text(&mut self, place: Place<'_>, text: &str, types: &[Oid]) -> Option<KnownText> {
        let serves = |known: &KnownText| *known.types == *types && known.serves(place);
        if let Some(known) = self.texts.get(text).filter(|known| serves(known)) {
            return Some(known.clone());
        }
        let known = shared::text(place.scope, text).filter(serves)?;
        self.insert_text(text, known.clone());
        Some(known)
    }

    /// Keeps a prepared text. Not one with quotes: what stands in them is read by the settings and at the
    /// time of each preparation.
    pub fn keep_text(&mut self, scope: Scope, text: &str, known: KnownText) {
        let momentary = known.planned.as_ref().is_some_and(|planned| planned.is_momentary());
        if text.len() > TEXT_BYTES_MAX || has_quotes(text) || momentary {
            return;
        }
        if !known.planned.as_ref().is_some_and(|planned| planned.is_local()) {
            shared::keep_text(scope, text, known.clone());
        }
        self.insert_text(text, known);
    }

    fn insert_text(&mut self, text: &str, known: KnownText) {
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
