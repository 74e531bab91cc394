//! The memory of the frames' pages: one anonymous mapping, zeroed lazily by the system.
//!
//! Large pages come in two kinds: *reserved* ones, of which the administrator has set so many aside (`vm.nr_hugepages`), and
//! *transparent* ones, which the system makes as it goes where a mapping is aligned and has asked.

use super::HugePages;
use crate::page::{PAGE_BYTES, PageWords};
use std::io;
use std::ptr::{self, NonNull};

/// The system's large page; the mapping is aligned to it so that transparent ones can back it.
const HUGE_BYTES: usize = 2 << 20;

/// Memory of `count` pages.
pub(super) struct Pages {
    first: NonNull<PageWords>,
    count: usize,
    mapping: NonNull<libc::c_void>,
    mapped_bytes: usize,
}

// SAFETY: the mapping is plain memory of atomics.
unsafe impl Send for Pages {}
// SAFETY: as above.
unsafe impl Sync for Pages {}

impl Pages {
    /// Maps zeroed memory for `count` pages.
    ///
    /// # Errors
    /// The system's refusal; with [`HugePages::On`] also where it has not as many large pages set aside.
    pub fn new(count: usize, huge: HugePages) -> io::Result<Pages> {
        let bytes = count * PAGE_BYTES;
        if huge != HugePages::Off {
            match Pages::reserved(count, bytes.next_multiple_of(HUGE_BYTES)) {
                Err(refusal) if huge == HugePages::On => return Err(refusal),
                Err(_) => {}
                pages => return pages,
            }
        }
        let align = if bytes >= HUGE_BYTES { HUGE_BYTES } else { PAGE_BYTES };
        let mapped_bytes = bytes + align;
        let mapping = map(mapped_bytes, libc::MAP_NORESERVE)?;
        let skip = mapping.cast::<u8>().align_offset(align);
        // SAFETY: `skip` < `align`, and `align` bytes were mapped beyond what is used.
        let first = unsafe { mapping.cast::<u8>().add(skip) };
        if align == HUGE_BYTES {
            let advice = match huge {
                HugePages::Off => libc::MADV_NOHUGEPAGE,
                HugePages::Try | HugePages::On => libc::MADV_HUGEPAGE,
            };
            // SAFETY: advice about our own mapping; refusal is harmless.
            unsafe { libc::madvise(first.cast(), bytes, advice) };
        }
        Ok(Pages::of(mapping, first, count, mapped_bytes))
    }

    /// In large pages that were set aside; all of them are the mapping's from now on, so that none is missing later.
    fn reserved(count: usize, bytes: usize) -> io::Result<Pages> {
        let mapping = map(bytes, libc::MAP_HUGETLB | libc::MAP_HUGE_2MB)?;
        Ok(Pages::of(mapping, mapping.cast(), count, bytes))
    }

    fn of(mapping: *mut libc::c_void, first: *mut u8, count: usize, mapped_bytes: usize) -> Pages {
        let nonnull = "a successful mapping is not at address zero";
        Pages {
            first: NonNull::new(first.cast()).expect(nonnull),
            count,
            mapping: NonNull::new(mapping).expect(nonnull),
            mapped_bytes,
        }
    }

    /// The memory of page `index`.
    #[inline]
    pub fn get(&self, index: u32) -> &PageWords {
        assert!((index as usize) < self.count, "a frame's index is in range");
        // SAFETY: in range, aligned, zeroed at first (valid atomics), and unmapped only by Drop. Nobody
        // makes any other kind of reference to it.
        unsafe { self.first.add(index as usize).as_ref() }
    }
}

impl Drop for Pages {
    fn drop(&mut self) {
        // SAFETY: exactly what was mapped; references were borrowed from self and are gone.
        unsafe { libc::munmap(self.mapping.as_ptr(), self.mapped_bytes) };
    }
}

/// A fresh mapping.
fn map(bytes: usize, flags: libc::c_int) -> io::Result<*mut libc::c_void> {
    let flags = flags | libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
    let protection = libc::PROT_READ | libc::PROT_WRITE;
    // SAFETY: a fresh anonymous private mapping touches no existing memory.
    let mapping = unsafe { libc::mmap(ptr::null_mut(), bytes, protection, flags, -1, 0) };
    if mapping == libc::MAP_FAILED {
        return Err(io::Error::last_os_error());
    }
    Ok(mapping)
}

#[cfg(test)]
#[cfg(not(loom))]
mod tests {
    use super::*;
    use crate::page::{PageMut, PageView};

    /// Two large pages, and a bit.
    const COUNT: usize = 2 * HUGE_BYTES / PAGE_BYTES + 1;

    /// What the system says of the mapping that `pages` lie in, by the head of a line.
    fn told(pages: &Pages, head: &str) -> String {
        let all = std::fs::read_to_string("/proc/self/smaps").unwrap();
        let place = pages.first.addr().get();
        let is_in = |line: &str| {
            let range = line.split(' ').next().and_then(|range| range.split_once('-'));
            let number = |digits| usize::from_str_radix(digits, 16).ok();
            range.is_some_and(|(from, to)| {
                number(from).zip(number(to)).is_some_and(|(from, to)| (from..to).contains(&place))
            })
        };
        let lines = all.lines().skip_while(|line| !is_in(line)).skip(1);
        lines.filter_map(|line| line.strip_prefix(head)).map(str::trim).next().unwrap().to_owned()
    }

    fn set_aside() -> usize {
        let all = std::fs::read_to_string("/proc/meminfo").unwrap();
        let line = all.lines().find_map(|line| line.strip_prefix("HugePages_Free:"));
        line.map_or(0, |number| number.trim().parse().unwrap())
    }

    fn use_all(pages: &Pages) {
        let value = |index| PageView::new(pages.get(index)).get_u64(4096);
        for index in 0..COUNT as u32 {
            assert_eq!(value(index), 0);
            PageMut::new(pages.get(index)).put_u64(4096, u64::from(index) + 1);
        }
        (0..COUNT as u32).for_each(|index| assert_eq!(value(index), u64::from(index) + 1));
    }

    #[test]
    fn large_pages_are_asked_for_unless_they_are_off() {
        let off = Pages::new(COUNT, HugePages::Off).unwrap();
        let tried = Pages::new(COUNT, HugePages::Try).unwrap();
        use_all(&off);
        use_all(&tried);
        if std::fs::exists("/sys/kernel/mm/transparent_hugepage").unwrap() {
            let says = |pages, flag| told(pages, "VmFlags:").split(' ').any(|f| f == flag);
            assert!(says(&off, "nh") && !says(&off, "hg"));
            assert!(says(&tried, "hg") || says(&tried, "ht"));
        }
    }

    #[test]
    fn those_set_aside_are_taken_where_there_are_enough() {
        let free = set_aside();
        let pages = Pages::new(COUNT, HugePages::On);
        // Others may take some at the same time.
        if free == 0 {
            let refusal = pages.err().map(|refusal| refusal.kind());
            assert_eq!(refusal, Some(io::ErrorKind::OutOfMemory));
        } else if let Ok(pages) = pages {
            assert!(told(&pages, "VmFlags:").split(' ').any(|flag| flag == "ht"));
            use_all(&pages);
        }
    }
}
