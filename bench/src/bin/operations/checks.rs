//! What is asked of ours of the figures that were measured.

use crate::{OURS, Options, parts, upkeep};
use bench::figures::{self, Figure};

/// Seconds that a start after an orderly stop may take.
const RESTART: f64 = 1.0;
/// MiB by which memory may grow after the first minute of TPC-B: a filled cache takes no more, and a leak of 10 bytes a transaction would
/// show.
const GROWTH: f64 = 16.0;

/// A line for each thing asked for that was measured.
pub fn all(options: &Options, figures: &[Figure]) -> Vec<String> {
    let mut lines = Vec::new();
    lines.extend(beside_postgres(options, figures, &parts::loaded(options)));
    lines.extend(beside_postgres(options, figures, &parts::recovered(options)));
    let ours = |what: &str| figures::median_of(figures, what, OURS);
    let restart = ours(parts::RESTARTED);
    lines.extend(restart.map(|took| figures::check("clean restart, s", took, RESTART)));
    let growth = ours(parts::RESIDENT_EARLY).zip(ours(&parts::resident_late(options)));
    lines.extend(growth.map(|(early, late)| {
        figures::check("growth after the first minute, MiB", late - early, GROWTH)
    }));
    lines.extend(vacuum(options, figures));
    lines.extend(upkeep::checks(options, figures));
    lines
}

/// That ours takes no longer than the better PostgreSQL.
fn beside_postgres(options: &Options, figures: &[Figure], what: &str) -> Option<String> {
    let ours = figures::median_of(figures, what, OURS)?;
    let better = figures::least_of_others(figures, what, &options.servers, OURS)?;
    let what = format!("{what}, over the better PostgreSQL's");
    Some(figures::check(&what, ours / better, 1.0))
}

/// What is asked of the other policies: that VACUUM takes no longer than under `clock` and than PostgreSQL's; the seed's own
/// doubled the former.
fn vacuum(options: &Options, figures: &[Figure]) -> Vec<String> {
    let clock = parts::vacuum_after(options, parts::CLOCK);
    let bounds = [
        (figures::median_of(figures, &clock, OURS), "clock's"),
        (
            figures::least_of_others(figures, &clock, &options.servers, OURS),
            "the better PostgreSQL's",
        ),
    ];
    let mut lines = Vec::new();
    for policy in parts::POLICIES.into_iter().filter(|policy| *policy != parts::CLOCK) {
        let ours = figures::median_of(figures, &parts::vacuum_after(options, policy), OURS);
        for (bound, whose) in bounds {
            if let Some((ours, bound)) = ours.zip(bound) {
                let what = format!("VACUUM under {policy}, over {whose}");
                lines.push(figures::check(&what, ours / bound, 1.0));
            }
        }
    }
    lines
}
