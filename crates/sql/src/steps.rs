//! Loops over large values: places where a statement may be cancelled or give way to others.

use crate::error::{Result, interrupted};

/// A place inside a long loop where the statement may be cancelled or give way to others.
///
/// # Errors
/// What the statement was interrupted by.
#[inline]
pub fn checkpoint() -> Result<()> {
    base::park::checkpoint();
    base::interrupt::check().map_err(interrupted)
}

/// Counts the steps of a loop whose steps are too short to look around at each.
#[derive(Default)]
pub struct Steps(u32);

impl Steps {
    /// Between two looks.
    const STRIDE: u32 = 4096;

    /// # Errors
    /// See [`checkpoint`].
    #[inline]
    pub fn next(&mut self) -> Result<()> {
        self.0 = self.0.wrapping_add(1);
        if self.0.is_multiple_of(Self::STRIDE) { checkpoint() } else { Ok(()) }
    }
}
