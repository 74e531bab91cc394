//! The standard library's atomics with each use noted (`lines.rs`). An exchange that fails is noted as a write: the
//! processor takes the line for itself all the same.

use super::lines;
use std::sync::atomic;
pub use std::sync::atomic::{Ordering, fence};

/// Whatever reads, writes and exchanges whole values.
macro_rules! noted {
    ($name:ident $(<$of:ident>)?, $std:ty, $value:ty, $written:ident) => {
        /// As in the standard library, noted.
        #[repr(transparent)]
        pub struct $name $(<$of>)? ($std);

        impl $(<$of>)? $name $(<$of>)? {
            /// With this value. Not noted, nor is [`Self::get_mut`]: nobody else sees it.
            pub const fn new(value: $value) -> Self {
                Self(<$std>::new(value))
            }

            /// The value, by whom nobody else sees it.
            pub fn get_mut(&mut self) -> &mut $value {
                self.0.get_mut()
            }

            fn address(&self) -> usize {
                std::ptr::from_ref(self).addr()
            }

            /// Reads.
            #[inline]
            pub fn load(&self, order: Ordering) -> $value {
                lines::read(self.address());
                self.0.load(order)
            }

            /// Writes.
            #[inline]
            pub fn store(&self, value: $value, order: Ordering) {
                lines::$written(self.address());
                self.0.store(value, order);
            }

            /// Writes; the value before.
            #[inline]
            pub fn swap(&self, value: $value, order: Ordering) -> $value {
                lines::$written(self.address());
                self.0.swap(value, order)
            }

            /// Writes `new` if it is `current`; the value before.
            #[inline]
            pub fn compare_exchange(
                &self,
                current: $value,
                new: $value,
                success: Ordering,
                failure: Ordering,
            ) -> Result<$value, $value> {
                lines::$written(self.address());
                self.0.compare_exchange(current, new, success, failure)
            }

            /// As [`Self::compare_exchange`], and may fail without a reason.
            #[inline]
            pub fn compare_exchange_weak(
                &self,
                current: $value,
                new: $value,
                success: Ordering,
                failure: Ordering,
            ) -> Result<$value, $value> {
                lines::$written(self.address());
                self.0.compare_exchange_weak(current, new, success, failure)
            }

            /// Writes what `change` makes of the value, unless that is nothing; the value before.
            pub fn fetch_update(
                &self,
                success: Ordering,
                failure: Ordering,
                mut change: impl FnMut($value) -> Option<$value>,
            ) -> Result<$value, $value> {
                let mut before = self.load(failure);
                while let Some(next) = change(before) {
                    match self.compare_exchange_weak(before, next, success, failure) {
                        Ok(before) => return Ok(before),
                        Err(now) => before = now,
                    }
                }
                Err(before)
            }
        }

        impl $(<$of>)? std::fmt::Debug for $name $(<$of>)? {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                self.0.fmt(f)
            }
        }

        impl $(<$of>)? Default for $name $(<$of>)? {
            fn default() -> Self {
                Self(Default::default())
            }
        }
    };
}

/// What computes with the value in one step.
macro_rules! computing {
    ($name:ident, $value:ty, $written:ident, $($operation:ident)*) => {
        impl $name {
            $(
                /// As in the standard library; the value before.
                #[inline]
                pub fn $operation(&self, value: $value, order: Ordering) -> $value {
                    lines::$written(self.address());
                    self.0.$operation(value, order)
                }
            )*
        }
    };
}

macro_rules! number {
    ($name:ident, $value:ty) => {
        noted!($name, atomic::$name, $value, written);
        computing!($name, $value, written, fetch_add fetch_sub fetch_and fetch_or fetch_max fetch_min);
    };
}

number!(AtomicU8, u8);
number!(AtomicU32, u32);
number!(AtomicU64, u64);
number!(AtomicUsize, usize);
number!(AtomicI32, i32);
number!(AtomicI64, i64);
noted!(AtomicBool, atomic::AtomicBool, bool, written);
computing!(AtomicBool, bool, written, fetch_and fetch_or);
noted!(AtomicPtr<T>, atomic::AtomicPtr<T>, *mut T, written);
noted!(PageWord, atomic::AtomicU64, u64, page_written);
computing!(PageWord, u64, page_written, fetch_or);
