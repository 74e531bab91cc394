//! Collations as values are compared by them: an OID, and the rules behind it where they are not the order of bytes.
//!
//! Rules are made once per process and locale and live as long as it does, so that a collation is two words that
//! are copied, and whoever has none of them looks at nothing but whether there are any.

mod case;
mod locale;

#[cfg(test)]
mod tests;

use std::cmp::Ordering;
use std::sync::{LazyLock, Mutex, PoisonError};

use base::hash::HashMap;
use icu_collator::CollatorBorrowed;
use icu_locale_core::LanguageIdentifier;

use super::Oid;
use crate::error::Result;

/// What `pg_collation.collversion` says of collations made by this program: sort keys of another version may be
/// others. A test knows the keys that go with it.
pub const RULES_VERSION: &str = "icu4x-2.4";

/// The order and equality of texts. Two are the same if their OIDs are.
#[derive(Clone, Copy, Debug, Default)]
pub struct Collation {
    pub oid: Oid,
    rules: Option<&'static Rules>,
}

impl PartialEq for Collation {
    fn eq(&self, other: &Collation) -> bool {
        self.oid == other.oid
    }
}

impl Eq for Collation {}

impl Collation {
    /// Of types that have none, and where none could be told.
    pub const NONE: Collation = Collation::bytes(Oid::INVALID);
    /// The database's.
    pub const DEFAULT: Collation = Collation::bytes(Oid(100));
    pub const C: Collation = Collation::bytes(Oid(950));
    pub const POSIX: Collation = Collation::bytes(Oid(951));

    /// Nothing says which: what is compared by it fails.
    pub const UNCLEAR: Collation = Collation::bytes(Oid(u32::MAX));

    /// One that orders texts as their bytes are ordered.
    pub const fn bytes(oid: Oid) -> Collation {
        Collation { oid, rules: None }
    }

    /// One of an ICU locale.
    pub fn icu(oid: Oid, locale: &str, deterministic: bool) -> Result<Collation> {
        Ok(Collation { oid, rules: Some(Rules::of(locale, deterministic)?) })
    }

    pub fn is_valid(self) -> bool {
        self.oid.is_valid()
    }

    pub fn is_unclear(self) -> bool {
        self == Collation::UNCLEAR
    }

    /// What texts are compared by; `None`: by their bytes.
    #[inline]
    pub fn rules(self) -> Option<&'static Rules> {
        self.rules
    }

    /// Its rules if texts of different bytes may be equal by them.
    pub fn loose(self) -> Option<&'static Rules> {
        self.rules.filter(|rules| !rules.deterministic)
    }
}

/// How texts are ordered that are not ordered by their bytes.
pub struct Rules {
    locale: Box<str>,
    /// Texts are equal only if their bytes are; these decide where the rest leaves it open.
    deterministic: bool,
    collator: CollatorBorrowed<'static>,
    language: LanguageIdentifier,
}

impl std::fmt::Debug for Rules {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Rules({}, {})", self.locale, self.deterministic)
    }
}

/// One object per locale: see the module's description.
impl PartialEq for Rules {
    fn eq(&self, other: &Rules) -> bool {
        std::ptr::eq(self, other)
    }
}

impl Eq for Rules {}

type Known = Mutex<HashMap<(Box<str>, bool), &'static Rules>>;

/// All rules that were ever asked for.
static KNOWN: LazyLock<Known> = LazyLock::new(Known::default);

impl Rules {
    fn of(locale: &str, deterministic: bool) -> Result<&'static Rules> {
        let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
        let key = (Box::from(locale), deterministic);
        if let Some(rules) = known.get(&key) {
            return Ok(rules);
        }
        let (collator, language) = locale::open(locale)?;
        let locale = locale.into();
        let rules = Box::leak(Box::new(Rules { locale, deterministic, collator, language }));
        known.insert(key, rules);
        Ok(rules)
    }

    pub fn is_deterministic(&self) -> bool {
        self.deterministic
    }

    pub fn compare(&self, a: &str, b: &str) -> Ordering {
        let order = self.collator.compare(a, b);
        if self.deterministic { order.then_with(|| a.cmp(b)) } else { order }
    }

    pub fn equals(&self, a: &str, b: &str) -> bool {
        a == b || (!self.deterministic && self.collator.compare(a, b).is_eq())
    }

    /// Appends bytes whose order is that of texts by the rules alone. None of them is zero.
    pub fn write_key(&self, text: &str, out: &mut Vec<u8>) {
        let Ok(()) = self.collator.write_sort_key_to(text, out);
    }
}
