//! The words that sessions share, packed and padded.

use std::sync::Mutex;
use std::sync::atomic::AtomicU64;

/// A slot that nobody has.
pub const EMPTY: u64 = u64::MAX;

/// The words that sessions share.
pub trait Words: Sync {
    /// Where the next record goes, in bytes, where nothing is locked; elsewhere a copy of what is under the lock.
    fn position(&self) -> &AtomicU64;
    /// What inserting is locked by: where the next record goes.
    fn locked(&self) -> &Mutex<u64>;
    /// Lower bounds of what is not copied yet, or [`EMPTY`].
    fn slot(&self, number: usize) -> &AtomicU64;
    /// How many bounds there are.
    fn slots(&self) -> usize;
    /// How far the log is asked to be written.
    fn requested(&self) -> &Mutex<u64>;
    /// How far it is written.
    fn written(&self) -> &AtomicU64;
    /// New ones: nothing inserted, no slot taken.
    fn new() -> Box<Self>;
}

macro_rules! words {
    ($(#[$doc:meta])* $name:ident, $place:ident $(, $align:literal)?) => {
        $(#[repr(align($align))])?
        struct $place<T>(T);

        $(const _: () = assert!(
            align_of::<$place<AtomicU64>>() == $align && size_of::<$place<AtomicU64>>() == $align
        );)?

        $(#[$doc])*
        #[repr(C, align(64))]
        pub struct $name<const SLOTS: usize> {
            position: $place<AtomicU64>,
            locked: $place<Mutex<u64>>,
            slots: [$place<AtomicU64>; SLOTS],
            requested: $place<Mutex<u64>>,
            written: $place<AtomicU64>,
        }

        impl<const SLOTS: usize> Words for $name<SLOTS> {
            fn position(&self) -> &AtomicU64 {
                &self.position.0
            }
            fn locked(&self) -> &Mutex<u64> {
                &self.locked.0
            }
            fn slot(&self, number: usize) -> &AtomicU64 {
                &self.slots[number % SLOTS].0
            }
            fn slots(&self) -> usize {
                SLOTS
            }
            fn requested(&self) -> &Mutex<u64> {
                &self.requested.0
            }
            fn written(&self) -> &AtomicU64 {
                &self.written.0
            }
            fn new() -> Box<$name<SLOTS>> {
                Box::new($name {
                    position: $place(AtomicU64::new(0)),
                    locked: $place(Mutex::new(0)),
                    slots: std::array::from_fn(|_| $place(AtomicU64::new(EMPTY))),
                    requested: $place(Mutex::new(0)),
                    written: $place(AtomicU64::new(0)),
                })
            }
        }
    };
}

words!(
    /// One behind the other from the beginning of a line.
    PackedWords, Packed
);
words!(
    /// Each on a line.
    Words64, Aligned64, 64
);
words!(
    /// Each on two lines, which x86 fetches in pairs.
    Words128, Aligned128, 128
);
words!(
    /// Each on four lines.
    Words256, Aligned256, 256
);

// The slots that two sessions prefer are really on the line of the word that both add to.
const _: () = assert!(std::mem::offset_of!(PackedWords<8>, position) == 0);
const _: () = assert!(std::mem::offset_of!(PackedWords<8>, slots) + 2 * 8 <= 64);
