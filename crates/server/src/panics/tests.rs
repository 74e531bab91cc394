use std::backtrace::Backtrace;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;

use super::{among_harmless, is_ours, nearest_of_ours};

/// What the hook sees of a panic inside the standard library, of which nobody tells the caller: the place, and the
/// nearest that is ours.
#[test]
fn a_panic_of_the_standard_library_counts_for_the_nearest_caller() {
    static SEEN: Mutex<Option<(String, Option<String>)>> = Mutex::new(None);
    let before = std::panic::take_hook();
    let own = std::thread::current().id();
    std::panic::set_hook(Box::new(move |info| {
        if std::thread::current().id() != own {
            return;
        }
        let place = info.location().expect("panics have one").file().to_owned();
        let nearest = nearest_of_ours(&format!("{:#}", Backtrace::force_capture()));
        *SEEN.lock().expect("nobody panics with it") = Some((place, nearest));
    }));
    let failed =
        catch_unwind(AssertUnwindSafe(|| [0u8; 2].repeat(std::hint::black_box(usize::MAX))));
    std::panic::set_hook(before);
    assert!(failed.is_err());
    let (place, nearest) =
        SEEN.lock().expect("nobody panicked with it").take().expect("one was seen");
    assert!(!is_ours(&place), "{place}");
    let nearest = nearest.expect("debug builds know lines");
    assert!(nearest.contains("crates/server/src/panics/tests.rs"), "{nearest}");
    assert!(among_harmless(&nearest));
    assert!(!is_ours("/home/x/.cargo/registry/src/index/chrono-0.4.38/src/naive/date.rs"));
}
