//! Text values: up to 22 bytes inline, longer ones shared.

use std::borrow::Borrow;
use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

/// The longest string held without an allocation.
pub const INLINE_MAX: usize = 22;

/// An immutable UTF-8 string, 24 bytes, whose clone never copies more than those.
///
/// `Datum` hides its own discriminant in this type's, which is why the discriminant, the length
/// and the bytes must stay in this order and size.
#[derive(Clone)]
pub struct Text(Repr);

#[derive(Clone)]
enum Repr {
    /// `buf[..len]` is UTF-8.
    Inline {
        len: u8,
        buf: [u8; INLINE_MAX],
    },
    Shared(Arc<str>),
}

impl Text {
    /// The empty string.
    pub const EMPTY: Text = Text(Repr::Inline { len: 0, buf: [0; INLINE_MAX] });

    pub fn new(text: &str) -> Text {
        if text.len() <= INLINE_MAX {
            let mut buf = [0; INLINE_MAX];
            buf[..text.len()].copy_from_slice(text.as_bytes());
            Text(Repr::Inline { len: text.len() as u8, buf })
        } else {
            Text(Repr::Shared(Arc::from(text)))
        }
    }

    pub fn as_str(&self) -> &str {
        match &self.0 {
            // SAFETY: `new` is the only constructor of `Inline` besides `EMPTY`, and it copies
            // exactly `len` bytes from a `&str`; nothing mutates a `Text`.
            Repr::Inline { len, buf } => unsafe {
                std::str::from_utf8_unchecked(buf.get_unchecked(..usize::from(*len)))
            },
            Repr::Shared(text) => text,
        }
    }
}

impl Deref for Text {
    type Target = str;
    fn deref(&self) -> &str {
        self.as_str()
    }
}

impl Borrow<str> for Text {
    fn borrow(&self) -> &str {
        self
    }
}

impl AsRef<str> for Text {
    fn as_ref(&self) -> &str {
        self
    }
}

impl From<&str> for Text {
    fn from(text: &str) -> Text {
        Text::new(text)
    }
}

impl From<String> for Text {
    fn from(text: String) -> Text {
        if text.len() <= INLINE_MAX { Text::new(&text) } else { Text(Repr::Shared(text.into())) }
    }
}

impl PartialEq for Text {
    fn eq(&self, other: &Text) -> bool {
        self.as_str() == other.as_str()
    }
}

impl Eq for Text {}

impl PartialEq<str> for Text {
    fn eq(&self, other: &str) -> bool {
        self.as_str() == other
    }
}

impl PartialEq<&str> for Text {
    fn eq(&self, other: &&str) -> bool {
        self.as_str() == *other
    }
}

impl PartialOrd for Text {
    fn partial_cmp(&self, other: &Text) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Text {
    fn cmp(&self, other: &Text) -> std::cmp::Ordering {
        self.as_str().cmp(other.as_str())
    }
}

impl std::hash::Hash for Text {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.as_str().hash(state);
    }
}

impl fmt::Display for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self)
    }
}

impl fmt::Debug for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self.as_str(), f)
    }
}
