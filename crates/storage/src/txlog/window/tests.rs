use super::*;
use crate::txlog::slru::LogKind;
use base::disk::Disk;
use base::disk::sim::SimDisk;
use base::{Env, sim};
use std::sync::Arc;
use std::time::Duration;

/// A window of two pages over an empty spill log.
fn window(disk: &Arc<SimDisk>) -> Window {
    disk.create_dir("txlog").unwrap();
    disk.create_dir(LogKind::Subtrans.directory()).unwrap();
    let (files, no_barrier) = (Arc::clone(disk), Arc::new(|_| ()));
    let spill = Slru::open(LogKind::Subtrans, 1, 0, files, no_barrier).unwrap();
    Window::new(Xid(0), 2, spill)
}

/// A page that is to be spilt when the spill log has been cut off behind it: nobody needs it any more.
#[test]
fn a_page_that_the_window_passes_while_it_leaves_is_gone() {
    let window = window(&Arc::new(SimDisk::new()));
    window.prepare(Xid(0)).unwrap();
    (0..WINDOW_PAGE).for_each(|xid| window.entry(Xid(xid)).store(Entry::ABORTED));
    window.spill.truncate(8).unwrap();
    window.prepare(Xid(2 * WINDOW_PAGE)).unwrap();
    assert_eq!(window.get(Xid(5)).unwrap(), Entry::NOTHING);
}

/// Whoever looks for a page that is just being made finds nothing on it, whichever moment that is.
#[test]
fn a_page_that_comes_while_it_is_looked_for_is_empty() {
    const PAGES: u64 = 12;
    let first = |page: u64| Xid(page * WINDOW_PAGE);
    for seed in 0..40 {
        sim::run(seed, move || {
            let disk = Arc::new(SimDisk::new());
            let window = Arc::new(window(&disk));
            let env = Env::new(disk);
            let looks = || {
                let window = Arc::clone(&window);
                move || {
                    while window.next.load(Ordering::Relaxed) < PAGES {
                        for page in 0..=PAGES {
                            assert_eq!(window.get(first(page)).unwrap(), Entry::NOTHING);
                            base::park::yield_now();
                        }
                    }
                }
            };
            let lookers: Vec<_> = (0..2).map(|_| env.spawn("looker", looks())).collect();
            for page in 0..PAGES {
                window.prepare(first(page)).unwrap();
                base::park::yield_now();
            }
            lookers.into_iter().for_each(base::env::Background::join);
        });
    }
}

/// Whoever looks for a page finds it, wherever it is on its way to the spill log (N1): in the ring, among the stragglers,
/// written out for others that come after.
#[test]
fn a_page_that_leaves_is_found_all_the_while() {
    const PAGES: u64 = 60;
    let first = |page: u64| Xid(page * WINDOW_PAGE);
    for seed in 0..20 {
        sim::run(seed, move || {
            let disk = Arc::new(SimDisk::new());
            let window = Arc::new(window(&disk));
            let env = Env::new(disk);
            // Pages below have their entries.
            let filled = Arc::new(AtomicU64::new(0));
            let looks = || {
                let (window, filled) = (Arc::clone(&window), Arc::clone(&filled));
                move || {
                    while filled.load(Ordering::Relaxed) < PAGES {
                        for page in 0..filled.load(Ordering::Relaxed) {
                            let found = window.get(first(page)).unwrap();
                            assert_eq!(found, Entry::ABORTED, "page {page}");
                        }
                        // Time passes only while all wait.
                        base::park::sleep(Duration::from_micros(10));
                    }
                }
            };
            let lookers: Vec<_> = (0..2).map(|_| env.spawn("looker", looks())).collect();
            let end_of = |page: u64| window.entry(Xid(first(page).0 + WINDOW_PAGE - 1));
            for page in 0..PAGES {
                window.prepare(first(page)).unwrap();
                for xid in first(page).0..first(page + 1).0 {
                    window.entry(Xid(xid)).store(Entry::ABORTED);
                }
                if page % 3 == 0 {
                    end_of(page).store(Entry::running(1));
                }
                filled.store(page + 1, Ordering::Relaxed);
                base::park::yield_now();
                if page % 12 == 11 {
                    (page - 11..=page)
                        .step_by(3)
                        .for_each(|page| end_of(page).store(Entry::ABORTED));
                    window.tidy().unwrap();
                }
            }
            lookers.into_iter().for_each(base::env::Background::join);
        });
    }
}
