//! The frames' memory, and what the system says of it.

use crate::buffer::HugePages;
use crate::buffer::memory::Pages;
use crate::page::{PAGE_BYTES, PageMut, PageView};
use std::io;

const HUGE_BYTES: usize = 2 << 20;

/// Two large pages, and a bit.
const COUNT: usize = 2 * HUGE_BYTES / PAGE_BYTES + 1;

/// What the system says of the mapping that `pages` lie in, by the head of a line.
fn told(pages: &Pages, head: &str) -> String {
    let all = std::fs::read_to_string("/proc/self/smaps").unwrap();
    let place = std::ptr::from_ref(pages.get(0)).addr();
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
