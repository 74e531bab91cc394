//! Atomics of the lock-free kernels: the real ones, or loom's when a model is checked (`--cfg loom`).

/// Atomic types and orderings.
#[cfg(not(loom))]
pub mod atomic {
    pub use std::sync::atomic::*;
}

/// Atomic types and orderings, model-checked.
#[cfg(loom)]
pub mod atomic {
    pub use loom::sync::atomic::*;
}

/// Tells the processor that this is a spin loop.
pub fn spin_hint() {
    #[cfg(not(loom))]
    std::hint::spin_loop();
    #[cfg(loom)]
    loom::thread::yield_now();
}
