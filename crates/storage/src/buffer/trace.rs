//! Which pages are used, one after the other, written down for the simulator of replacement policies (`bench/`).
//!
//! In builds with the feature `page-trace` only, which is for the laboratory: every use takes a lock. The file is
//! named by the environment, `THALWEG_PAGE_TRACE`; so many uses are written, `THALWEG_PAGE_TRACE_USES` (2,000,000).
//!
//! ```text
//! file := "THALTRC1" | use*        use := LEB128 of the page's number; pages are numbered in the order of first use
//! ```

use base::PageId;
use base::hash::HashMap;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::sync::{Mutex, OnceLock};

const MAGIC: &[u8; 8] = b"THALTRC1";
const USES: u64 = 2_000_000;

struct Recorder {
    /// `None` once everything is written.
    file: Option<BufWriter<File>>,
    numbers: HashMap<PageId, u64>,
    left: u64,
}

static RECORDER: OnceLock<Option<Mutex<Recorder>>> = OnceLock::new();

/// Writes down that a page is used.
pub(super) fn note(page: PageId) {
    let Some(recorder) = RECORDER.get_or_init(Recorder::open) else { return };
    recorder.lock().expect("no code panics under it").note(page);
}

impl Recorder {
    fn open() -> Option<Mutex<Recorder>> {
        let path = std::env::var_os("THALWEG_PAGE_TRACE")?;
        let uses = std::env::var("THALWEG_PAGE_TRACE_USES").ok();
        let left = uses.map_or(USES, |uses| uses.parse().expect("a number of uses"));
        let mut file = BufWriter::new(File::create(path).expect("a file that can be made"));
        file.write_all(MAGIC).expect("room for the trace");
        let (file, numbers) = (Some(file), HashMap::default());
        Some(Mutex::new(Recorder { file, numbers, left }))
    }

    fn note(&mut self, page: PageId) {
        let Some(file) = &mut self.file else { return };
        let next = self.numbers.len() as u64;
        let mut number = *self.numbers.entry(page).or_insert(next);
        let (mut bytes, mut count) = ([0; 10], 0);
        loop {
            let more = number >= 0x80;
            bytes[count] = number as u8 & 0x7F | u8::from(more) << 7;
            count += 1;
            number >>= 7;
            if !more {
                break;
            }
        }
        file.write_all(&bytes[..count]).expect("room for the trace");
        self.left -= 1;
        if self.left == 0 {
            file.flush().expect("room for the trace");
            self.file = None;
        }
    }
}
