//! Storage handles beside the definitions that they belong to, opened when first used.

use std::fmt;
use std::sync::OnceLock;

use crate::error::Result;

/// A handle that is opened once.
pub struct Handle<T>(OnceLock<T>);

impl<T> Default for Handle<T> {
    fn default() -> Handle<T> {
        Handle(OnceLock::new())
    }
}

impl<T> fmt::Debug for Handle<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.get().is_some() { "open" } else { "closed" })
    }
}

impl<T> Handle<T> {
    /// The handle, if somebody has opened it.
    pub fn get(&self) -> Option<&T> {
        self.0.get()
    }

    /// The handle; `open` makes it when nobody has. Two that come at once may both open; one is kept.
    #[inline]
    pub fn get_or_open(&self, open: impl FnOnce() -> Result<T>) -> Result<&T> {
        if let Some(handle) = self.0.get() {
            return Ok(handle);
        }
        let made = open()?;
        Ok(self.0.get_or_init(|| made))
    }
}
