//! Atomics that threads share. With the feature `lab-counts` the laboratory's stand in their place, which count shared
//! lines written ([`crate::counts`]); otherwise these are the standard library's themselves.

/// Of the lock-free kernels: loom's when a model is checked (`--cfg loom`).
pub mod atomic {
    #[cfg(not(loom))]
    pub use super::unmodelled::*;
    #[cfg(loom)]
    pub use loom::sync::atomic::*;
}

/// Of everything else: a model that takes it in sees the real ones.
pub mod unmodelled {
    #[cfg(feature = "lab-counts")]
    pub use crate::counts::atomics::*;
    #[cfg(not(feature = "lab-counts"))]
    pub use std::sync::atomic::*;
    #[cfg(not(feature = "lab-counts"))]
    /// A word of a page's content: counted apart from all others.
    pub type PageWord = AtomicU64;
}

/// Tells the processor that this is a spin loop.
pub fn spin_hint() {
    #[cfg(not(loom))]
    std::hint::spin_loop();
    #[cfg(loom)]
    loom::thread::yield_now();
}
