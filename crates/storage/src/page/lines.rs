//! For the laboratory: which cache lines of a page this thread touches, word by word, as they are read and written. Such
//! a build's times mean nothing.

use std::cell::Cell;

/// Words of a cache line.
const LINE_WORDS: usize = 8;

/// What was touched of one page; a bit for each of its 128 lines.
#[derive(Clone, Copy, Default)]
pub struct Touched {
    /// Lines of which a word was read.
    pub read: u128,
    /// Lines of which a word was written.
    pub written: u128,
    /// Words written, each as often as it was.
    pub words_written: u64,
}

thread_local! {
    static TOUCHED: Cell<Touched> = const {
        Cell::new(Touched { read: 0, written: 0, words_written: 0 })
    };
}

/// What was touched since this was last called.
pub fn take() -> Touched {
    TOUCHED.take()
}

#[inline]
pub(super) fn note_read(word: usize) {
    let mut touched = TOUCHED.get();
    touched.read |= 1 << (word / LINE_WORDS);
    TOUCHED.set(touched);
}

#[inline]
pub(super) fn note_write(word: usize) {
    let mut touched = TOUCHED.get();
    touched.written |= 1 << (word / LINE_WORDS);
    touched.words_written += 1;
    TOUCHED.set(touched);
}
