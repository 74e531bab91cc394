//! What experiments' figures have to be: each figure on a line, with its bound where there is one.

use crate::model::{Results, Run, figure};
use crate::statistics::{Spread, cell, places};
use crate::table::short;

use super::setups::DEFAULT_POLICY;

/// A figure that an experiment is made for.
#[derive(Clone, Debug, PartialEq)]
pub struct Check {
    pub what: String,
    pub value: f64,
    pub bound: Option<Bound>,
}

/// What a figure has to be.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Bound {
    AtMost(f64),
    Below(f64),
    AtLeast(f64),
}

impl Check {
    /// For a table and a page.
    pub fn text(&self) -> String {
        let what = &self.what;
        let Some(bound) = self.bound else { return format!("{what}: {}", short(self.value)) };
        let (words, limit, holds) = match bound {
            Bound::AtMost(limit) => ("at most", limit, self.value <= limit),
            Bound::Below(limit) => ("below", limit, self.value < limit),
            Bound::AtLeast(limit) => ("at least", limit, self.value >= limit),
        };
        let verdict = if holds { "holds" } else { "MISSED" };
        let value = beside(self.value, limit);
        format!("{what}: {value} ({words} {limit}: {verdict})")
    }
}

/// A figure with so many digits that it is seen on which side of its bound it lies.
fn beside(value: f64, limit: f64) -> String {
    let told = short(value);
    if value == limit || value.abs() >= 10.0 || told.parse() != Ok(limit) {
        return told;
    }
    let longer = (3..8).map(|digits| format!("{value:.digits$}"));
    longer.into_iter().find(|told| told.parse() != Ok(limit)).unwrap_or(told)
}

/// Of experiments that ask for nothing.
pub fn none(_: &Results) -> Vec<Check> {
    Vec::new()
}

fn median(results: &Results, target: &str, variant: &str, x: u32, figure: &str) -> Option<f64> {
    Some(cell(results, target, variant, x, figure)?.median)
}

fn check(what: String, value: Option<f64>, bound: Option<Bound>) -> Option<Check> {
    value.filter(|value| value.is_finite()).map(|value| Check { what, value, bound })
}

/// What the bare loop of syncs is called in a record.
pub const DEVICE: &str = "device";
/// And its one variant.
pub const BARE: &str = "bare write and fdatasync";

/// Commits per sync, syncs against what the disk allows, and what one client waits for.
pub fn commits(results: &Results) -> Vec<Check> {
    let device = |threads| median(results, DEVICE, BARE, threads, figure::TPS);
    let most = results.xs().last().copied().unwrap_or(0);
    let mut checks = Vec::new();
    for threads in [1, 8] {
        checks.extend(check(
            format!("syncs a second, bare loop of {threads}"),
            device(threads),
            None,
        ));
    }
    for load in results.variants().into_iter().filter(|variant| *variant != BARE) {
        let of = |target: &str, x, figure: &str| median(results, target, load, x, figure);
        for target in ["thalweg", "pg15", "pg18"] {
            // Of each transaction there is one commit.
            let syncs = of(target, most, figure::FSYNCS);
            let what = format!("{load}, {most} clients, {target}: commits per sync");
            checks.extend(check(what, syncs.map(|syncs| 1.0 / syncs), None));
            let rate = syncs.zip(of(target, most, figure::TPS)).map(|(syncs, tps)| syncs * tps);
            let share = rate.zip(device(1)).map(|(rate, device)| rate / device);
            let what =
                format!("{load}, {most} clients, {target}: syncs over what one bare loop has");
            checks.extend(check(what, share, None));
            for (name, what) in [
                (figure::FUTEX, "futex calls per commit"),
                (figure::OWN_SWITCHES, "the server's context switches per commit"),
            ] {
                let what = format!("{load}, {most} clients, {target}: {what}");
                checks.extend(check(what, of(target, most, name), None));
            }
            // Of one client, both are what one takes.
            let one = |tps: Option<f64>| tps.map(|tps| 1.0 / tps);
            let floor = one(device(1)).zip(one(of("canned", 1, figure::TPS))).map(|(a, b)| a + b);
            let over = one(of(target, 1, figure::TPS)).zip(floor).map(|(took, floor)| took / floor);
            let what = format!(
                "{load}, one client, {target}: commit over a bare sync and the ceiling's round trips"
            );
            let bound = (target == "thalweg").then_some(Bound::AtMost(1.15));
            checks.extend(check(what, over, bound));
        }
    }
    checks
}

/// One variant's throughput over another's at the axis' last place.
fn over(results: &Results, one: &str, other: &str, bound: Bound) -> Option<Check> {
    let x = *results.xs().last()?;
    let of = |variant| median(results, "thalweg", variant, x, figure::TPS);
    let ratio = of(one).zip(of(other)).map(|(one, other)| one / other);
    check(format!("{one}, over {other}, {x} clients"), ratio, Some(bound))
}

/// A hash index beside a B-tree of the same server, beside PostgreSQL's, and with more clients than serve it best.
pub fn hash_index(results: &Results) -> Vec<Check> {
    let of = |target, variant, x| median(results, target, variant, x, figure::TPS);
    let ours = |variant, x| of("thalweg", variant, x);
    let mut checks = Vec::new();
    for x in results.xs() {
        let over = ours("hash", x).zip(ours("B-tree", x)).map(|(hash, tree)| hash / tree);
        let what = format!("hash over B-tree, {x} clients");
        checks.extend(check(what, over, Some(Bound::AtLeast(0.97))));
    }
    let Some(&most) = results.xs().last() else { return checks };
    for peer in ["pg15", "pg18"] {
        let over = ours("hash", most).zip(of(peer, "hash", most)).map(|(ours, peer)| ours / peer);
        let what = format!("hash over {peer}'s, {most} clients");
        checks.extend(check(what, over, (most >= 128).then_some(Bound::AtLeast(3.0))));
    }
    // No fall after the peak, but for what repetitions scatter.
    let peak = results.xs().into_iter().filter_map(|x| ours("hash", x)).reduce(f64::max);
    let left = ours("hash", most).zip(peak).map(|(last, peak)| last / peak);
    let what = format!("hash, {most} clients over the best of fewer or as many");
    checks.extend(check(what, left, Some(Bound::AtLeast(0.95))));
    checks
}

/// The hash index under its own protocol beside a B-tree and beside the seed's protocols, each where it is least ahead.
pub fn hash_protocols(results: &Results) -> Vec<Check> {
    let mut checks = Vec::new();
    for load in results.variants().iter().filter_map(|name| name.strip_prefix("B-tree, ")) {
        // A single thread has nobody to wait for: which lock it takes says nothing of what they cost threads.
        let over_tree = if load.starts_with("look-ups") { 1.2 } else { 1.0 };
        for (one, other, least_threads, bound) in [
            ("hash, built", "B-tree", 1, over_tree),
            ("hash, built", "hash, patch", 1, 1.0),
            ("hash, patch", "hash, master", 2, 1.0),
        ] {
            let of = |who: &str, x| {
                median(results, "thalweg", &format!("{who}, {load}"), x, figure::TPS)
            };
            let at = |x: u32| Some((of(one, x)? / of(other, x)?, x));
            let ratios = results.xs().into_iter().filter(|x| *x >= least_threads).filter_map(at);
            let Some((least, x)) = ratios.min_by(|a, b| a.0.total_cmp(&b.0)) else { continue };
            let what = format!("{load}: {one}, over {other}, least, with {x} threads");
            checks.extend(check(what, Some(least), Some(Bound::AtLeast(bound))));
        }
    }
    checks
}

/// Pages that a transaction reads in, at most, where the cache holds the data: next to none but what the tables grow by.
const READ_IN: f64 = 0.1;

/// Pages that each transaction reads in, of every server and in the run that read most, where the cache is said to hold the
/// data: for the variants of which `fits` says so.
fn read_in(results: &Results, fits: impl Fn(&str) -> bool) -> Vec<Check> {
    let mut checks = Vec::new();
    for (variant, x) in places(results).filter(|(variant, _)| fits(variant)) {
        for target in results.targets() {
            let runs = runs_of(results, (target, variant, x)).filter(|run| run.seconds > 0);
            let pages =
                runs.filter_map(|run| per_transaction(run, figure::ALLOCATED)).reduce(f64::max);
            let what = format!(
                "{variant}, {x} {}, {target}: pages read in per transaction, in any run",
                results.axis
            );
            checks.extend(check(what, pages, Some(Bound::AtMost(READ_IN))));
        }
    }
    checks
}

/// What one run has of a figure that is of the whole of it, for each transaction.
fn per_transaction(run: &Run, name: &str) -> Option<f64> {
    let of = |name| run.figures.get(name).copied();
    Some(of(name)? / (of(figure::TPS)? * f64::from(run.seconds)))
}

/// That no server of them reads pages in.
pub fn ceiling(results: &Results) -> Vec<Check> {
    read_in(results, |_| true)
}

/// Whether a variant's name says that the cache holds the data.
fn says_it_fits(variant: &str) -> bool {
    variant.ends_with(", fits") || variant.ends_with(", in memory")
}

/// What the double-write area costs, log bytes of each protection, and that data fits where it is said to.
pub fn protection(results: &Results) -> Vec<Check> {
    let mut checks = Vec::new();
    for (place, least) in [("fits", 0.90), ("does not fit", 0.75)] {
        let (ours, none) = (format!("doublewrite, {place}"), format!("no protection, {place}"));
        checks.extend(over(results, &ours, &none, Bound::AtLeast(least)));
    }
    let x = results.xs().last().copied().unwrap_or(0);
    for target in results.targets() {
        for variant in results.variants() {
            let bytes = median(results, target, variant, x, figure::WAL_BYTES);
            let what = format!("log bytes per transaction, {target}, {variant}, {x} clients");
            checks.extend(check(what, bytes, None));
        }
    }
    checks.extend(read_in(results, says_it_fits));
    checks
}

/// What the double-write area gains over images of pages, and what it costs; and that data fits where it is said to.
pub fn after_checkpoint(results: &Results) -> Vec<Check> {
    let mut checks = Vec::new();
    for (place, least) in [("fits", 0.90), ("does not fit", 0.75)] {
        let named = |protection: &str| format!("{protection}, {place}");
        let ours = named("doublewrite");
        checks.extend(over(results, &ours, &named("full-page images"), Bound::AtLeast(1.2)));
        checks.extend(over(results, &ours, &named("no protection"), Bound::AtLeast(least)));
    }
    checks.extend(read_in(results, says_it_fits));
    checks
}

/// Commits' tail beside PostgreSQL's and beside bare syncs under the same load.
pub fn commit_latency(results: &Results) -> Vec<Check> {
    let Some(&x) = results.xs().last() else { return Vec::new() };
    let of = |target: &str, figure: &str| median(results, target, "", x, figure);
    let mut checks = Vec::new();
    for (other, most) in [("pg15", 1.0), ("bare-sync", 3.0)] {
        let ratio = of("thalweg", figure::P999).zip(of(other, figure::P999)).map(|(a, b)| a / b);
        let what = format!("p99.9 of thalweg over {other}'s");
        checks.extend(check(what, ratio, Some(Bound::AtMost(most))));
    }
    for target in results.targets() {
        for (name, what) in [
            (figure::P50, "p50"),
            (figure::P99, "p99"),
            (figure::P999, "p99.9"),
            (figure::MAX, "longest"),
            (figure::WORST_SECOND, "p99 of the worst second"),
        ] {
            checks.extend(check(format!("{target}, {what}, ms"), of(target, name), None));
        }
    }
    checks
}

/// Transactions that paced clients start a second.
pub const PACE: u32 = 125;

/// What the seed measured: that paced clients get through, latencies beside PostgreSQL's, whether what the cache does is
/// the same from run to run, who writes pages, and what of the data the system holds, too.
pub fn steady(results: &Results) -> Vec<Check> {
    let mut checks = Vec::new();
    for variant in results.variants() {
        for x in results.xs() {
            for target in results.targets() {
                let who = format!("{variant}, {x} clients, {target}");
                let cell = (target, variant, x);
                checks.extend(met_rate(results, cell, &who));
                checks.extend(same_pages(results, cell, &who));
                checks.extend(written_by(results, variant, x, target));
                let held = median(results, target, variant, x, figure::HELD_SHARE);
                let what = format!("{who}: share of the data in the system's cache");
                checks.extend(check(what, held, None));
                let what = format!("{who}: MiB that memory to be written moved by");
                checks.extend(check(what, dirty_mib(results, target, variant, x), None));
            }
            checks.extend(over_the_better(results, variant, x));
            checks.extend(dirty_beyond(results, variant, x));
        }
    }
    checks
}

/// A server, a variant and a place.
type Place<'r> = (&'r str, &'r str, u32);

/// The runs of a place.
fn runs_of<'r>(results: &'r Results, place: Place<'r>) -> impl Iterator<Item = &'r Run> {
    results.runs.iter().filter(move |r| (&*r.target, &*r.variant, r.x) == place)
}

/// Whether all that was started was done. pgbench starts transactions at random times, and does not tell how many: of so many by
/// chance, a run has three deviations fewer one time in a thousand.
fn met_rate(results: &Results, place: Place<'_>, who: &str) -> Option<Check> {
    let rate = |run: &Run| Some((run.figures.get(figure::TPS)? / f64::from(PACE), run.seconds));
    let rates = runs_of(results, place).filter_map(rate);
    let (least, seconds) = rates.min_by(|a, b| a.0.total_cmp(&b.0))?;
    let by_chance = 3.0 / f64::from(PACE * seconds.max(1)).sqrt();
    let bound = Bound::AtLeast(((1.0 - by_chance) * 1000.0).round() / 1000.0);
    check(format!("{who}: rate of the slowest run over the wanted"), Some(least), Some(bound))
}

/// Whether what the cache does for a transaction is the same from run to run.
fn same_pages(results: &Results, place: Place<'_>, who: &str) -> Vec<Check> {
    let of = |(name, what): (&str, &str)| {
        let pages: Vec<f64> =
            runs_of(results, place).filter_map(|run| per_transaction(run, name)).collect();
        let spread = Spread::of(&pages).filter(|spread| spread.count > 1);
        let off = spread.map(|s| (s.max - s.median).max(s.median - s.min) / s.median);
        let bound = (place.0 == "thalweg").then_some(Bound::AtMost(0.05));
        check(format!("{who}: {what} per transaction, furthest run from the median"), off, bound)
    };
    [(figure::ALLOCATED, "pages read in"), (figure::CLEANED, "pages cleaned")]
        .into_iter()
        .filter_map(of)
        .collect()
}

/// Who writes pages.
pub fn written(results: &Results) -> Vec<Check> {
    let mut checks = Vec::new();
    for (variant, x) in places(results) {
        for target in results.targets() {
            checks.extend(written_by(results, variant, x, target));
        }
    }
    checks
}

/// Pages that a server's cleaner, its checkpointer and its sessions wrote in a run. What PostgreSQL's cleaner leaves, the others
/// write; a session of Thalweg's never does.
fn written_by(results: &Results, variant: &str, x: u32, target: &str) -> Vec<Check> {
    let who = match variant {
        "" => format!("{x} clients, {target}"),
        variant => format!("{variant}, {x} clients, {target}"),
    };
    let told = |what: &str, pages, bound| check(format!("{who}: {what}"), pages, bound);
    let of = |name| median(results, target, variant, x, name);
    // Not the median: one page in one run is one too many.
    let by_sessions = cell(results, target, variant, x, figure::BY_SESSIONS).map(|s| s.max);
    let bound = (target == "thalweg").then_some(Bound::AtMost(0.0));
    let all = [
        told("pages cleaned", of(figure::CLEANED), None),
        told("pages written by the checkpointer", of(figure::CHECKPOINTED), None),
        told("pages written by sessions, in any run", by_sessions, bound),
    ];
    // Records from before it was asked tell of the cleaner alone, which says nothing beside another server.
    all.into_iter().flatten().filter(|_| by_sessions.is_some()).collect()
}

/// MiB between the 95th and the 5th percentile of the machine's dirty memory, over the run.
fn dirty_mib(results: &Results, target: &str, variant: &str, x: u32) -> Option<f64> {
    median(results, target, variant, x, figure::DIRTY_SPREAD).map(|kib| kib / 1024.0)
}

/// By how much more dirty memory moves under Thalweg than under the better PostgreSQL. A difference, since both may be next
/// to nothing; a MiB is two rounds of what `bgwriter_flush_after` lets gather.
fn dirty_beyond(results: &Results, variant: &str, x: u32) -> Option<Check> {
    let of = |target| dirty_mib(results, target, variant, x);
    let better = [of("pg15"), of("pg18")].into_iter().flatten().reduce(f64::min);
    let beyond = of("thalweg").zip(better).map(|(ours, theirs)| (ours - theirs).max(0.0));
    let what = format!(
        "{variant}, {x} clients: MiB that memory to be written moves by more than under the better PostgreSQL"
    );
    check(what, beyond, Some(Bound::AtMost(1.0)))
}

/// Clients from which on the seed's latencies were not only no worse, but better.
const MANY: u32 = 32;

/// Thalweg's average, tail and longest over the better PostgreSQL's.
fn over_the_better(results: &Results, variant: &str, x: u32) -> Vec<Check> {
    let ratio = |name: &str| {
        let of = |target| median(results, target, variant, x, name);
        let better = [of("pg15"), of("pg18")].into_iter().flatten().reduce(f64::min);
        of("thalweg").zip(better).map(|(ours, theirs)| ours / theirs)
    };
    let asked = if x >= MANY { Bound::Below(1.0) } else { Bound::AtMost(1.0) };
    let figures = [
        (figure::MEAN, "average", Some(asked)),
        (figure::P99, "p99", Some(asked)),
        (figure::MAX, "longest", None),
    ];
    let of = |(name, what, bound)| {
        let what = format!("{variant}, {x} clients: {what} latency over the better PostgreSQL's");
        check(what, ratio(name), bound)
    };
    figures.into_iter().filter_map(of).collect()
}

/// Each policy beside `clock`: latencies and pages read in by paced clients, throughput of TPC-C.
pub fn policies(results: &Results) -> Vec<Check> {
    let mut checks = written(results);
    for variant in results.variants() {
        let (policy, load) = variant.split_once(", ").unwrap_or((variant, ""));
        if policy == "clock" {
            continue;
        }
        let clock = super::variant("clock", load);
        // Less than a twentieth is within what repetitions scatter by.
        let asked = |bound| (policy == DEFAULT_POLICY).then_some(bound);
        for x in results.xs() {
            for (name, what, bound) in [
                (figure::TPS, "transactions per second", asked(Bound::AtLeast(0.95))),
                (figure::MEAN, "average latency", asked(Bound::AtMost(1.05))),
                (figure::P99, "p99", asked(Bound::AtMost(1.05))),
                (figure::MAX, "longest", None),
                (figure::ALLOCATED, "pages read in per transaction", asked(Bound::AtMost(1.05))),
            ] {
                let of = |variant| {
                    let value = median(results, "thalweg", variant, x, name)?;
                    let tps = median(results, "thalweg", variant, x, figure::TPS)?;
                    Some(if name == figure::ALLOCATED { value / tps } else { value })
                };
                let ratio = of(variant).zip(of(&clock)).map(|(one, clock)| one / clock);
                checks.extend(check(
                    format!("{variant}, {x} clients: {what} over clock's"),
                    ratio,
                    bound,
                ));
            }
        }
    }
    checks
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiments::variant;
    use crate::model::{Record, Request};
    use crate::tests::run;

    fn results(runs: &[(&str, &str, [f64; 4])]) -> Results {
        let mut record = Record::begin(Request::default());
        let results = record.results("s3-latency", "clients", 0);
        for (round, (target, variant, [tps, mean, p99, pages])) in runs.iter().enumerate() {
            let mut one = run(target, variant, 8, round as u32, *tps);
            for (name, value) in [
                (figure::MEAN, mean),
                (figure::P99, p99),
                (figure::ALLOCATED, pages),
                (figure::CLEANED, pages),
            ] {
                one.figures.insert(name.to_owned(), *value);
            }
            results.runs.push(one);
        }
        record.experiments.remove(0)
    }

    /// Of every server, the run that read most, and only where data is said to fit.
    #[test]
    fn where_data_fits_next_to_nothing_is_read_in() {
        let results = results(&[
            ("thalweg", "doublewrite, fits", [100.0, 1.0, 1.0, 2.0]),
            ("thalweg", "doublewrite, fits", [100.0, 1.0, 1.0, 4.0]),
            ("pg15", "full-page images, fits", [100.0, 1.0, 1.0, 80.0]),
            ("pg15", "full-page images, does not fit", [100.0, 1.0, 1.0, 300.0]),
        ]);
        let told: Vec<String> = read_in(&results, says_it_fits).iter().map(Check::text).collect();
        let what = "clients, thalweg: pages read in per transaction, in any run: 0.02 (at most 0.1: holds)";
        assert_eq!(told[0], format!("doublewrite, fits, 8 {what}"));
        assert!(told[1].starts_with("full-page images, fits, 8 clients, pg15:"), "{told:?}");
        assert!(told[1].ends_with("0.40 (at most 0.1: MISSED)") && told.len() == 2, "{told:?}");
    }

    /// What a check says, by the beginning of its sentence.
    fn told(checks: &[Check], begins: &str) -> String {
        let found = checks.iter().find(|check| check.what.starts_with(begins));
        found.unwrap_or_else(|| panic!("{begins}: {checks:?}")).text()
    }

    #[test]
    fn a_steady_load_is_judged_by_rate_latency_and_what_the_cache_did() {
        let results = results(&[
            ("thalweg", "uniform", [125.0, 0.8, 2.0, 1000.0]),
            ("thalweg", "uniform", [100.0, 0.8, 2.2, 880.0]),
            ("pg15", "uniform", [125.0, 1.0, 3.0, 900.0]),
            ("pg18", "uniform", [125.0, 1.2, 2.0, 900.0]),
        ]);
        let checks = steady(&results);
        let who = "uniform, 8 clients";
        let ours = |what: &str| told(&checks, &format!("{who}, thalweg: {what}"));
        assert!(ours("rate").ends_with("0.80 (at least 0.81: MISSED)"), "{checks:?}");
        assert!(ours("pages cleaned").ends_with("0.048 (at most 0.05: holds)"), "{checks:?}");
        assert!(told(&checks, &format!("{who}, pg15: rate")).ends_with("holds)"));
        let over = |what: &str| told(&checks, &format!("{who}: {what}"));
        assert!(over("average").ends_with("0.80 (at most 1: holds)"), "{checks:?}");
        assert!(over("p99").ends_with("1.05 (at most 1: MISSED)"), "{checks:?}");
    }

    /// A figure that misses its bound does not read as if it were the same.
    #[test]
    fn near_a_bound_there_are_more_digits() {
        let bound = Some(Bound::AtLeast(0.97));
        let told = |value| Check { what: "x".to_owned(), value, bound }.text();
        assert_eq!(told(0.9699), "x: 0.9699 (at least 0.97: MISSED)");
        assert_eq!(told(0.97), "x: 0.97 (at least 0.97: holds)");
        assert_eq!(told(0.96), "x: 0.96 (at least 0.97: MISSED)");
    }

    #[test]
    fn many_clients_are_to_wait_less_than_under_postgresql() {
        let same = [125.0, 1.0, 2.0, 1000.0];
        let mut results = results(&[("thalweg", "uniform", same), ("pg15", "uniform", same)]);
        let told = |results: &Results, x| {
            told(&steady(results), &format!("uniform, {x} clients: average"))
        };
        assert!(told(&results, 8).ends_with("1.00 (at most 1: holds)"));
        results.runs.iter_mut().for_each(|run| run.x = 32);
        assert!(told(&results, 32).ends_with("1.00 (below 1: MISSED)"));
    }

    #[test]
    fn dirty_memory_is_to_be_as_flat_as_under_postgresql() {
        let flat = |ours: f64| {
            let of = [125.0, 1.0, 2.0, 1000.0];
            let mut results = results(&[
                ("thalweg", "uniform", of),
                ("pg15", "uniform", of),
                ("pg18", "uniform", of),
            ]);
            for (run, kib) in results.runs.iter_mut().zip([ours, 5000.0, 1000.0]) {
                run.figures.insert(figure::DIRTY_SPREAD.to_owned(), kib);
            }
            told(&steady(&results), "uniform, 8 clients: MiB that memory")
        };
        assert!(flat(500.0).ends_with("(at most 1: holds)"), "{}", flat(500.0));
        assert!(flat(2000.0).ends_with("holds)"), "{}", flat(2000.0));
        assert!(flat(30_000.0).ends_with("MISSED)"), "{}", flat(30_000.0));
    }

    /// Of each kind of operation by itself, where the ratio is least; and what one thread does is no contention.
    #[test]
    fn protocols_are_judged_where_they_are_least_ahead() {
        let mut record = Record::begin(Request::default());
        let results = record.results("s4-protocols", "threads", 0);
        for (variant, one, many) in [
            ("B-tree, look-ups of integers", 10.0, 20.0),
            ("hash, built, look-ups of integers", 20.0, 22.0),
            ("hash, patch, look-ups of integers", 8.0, 9.0),
            ("hash, master, look-ups of integers", 9.0, 3.0),
        ] {
            for (x, tps) in [(1, one), (16, many)] {
                results.runs.push(run("thalweg", variant, x, 0, tps));
            }
        }
        let checks: Vec<String> = hash_protocols(results).iter().map(Check::text).collect();
        assert_eq!(
            checks,
            [
                "look-ups of integers: hash, built, over B-tree, least, with 16 threads: 1.10 (at least 1.2: MISSED)",
                "look-ups of integers: hash, built, over hash, patch, least, with 16 threads: 2.44 (at least 1: holds)",
                "look-ups of integers: hash, patch, over hash, master, least, with 16 threads: 3.00 (at least 1: holds)",
            ]
        );
    }

    #[test]
    fn policies_are_judged_beside_clock_in_the_same_load() {
        let of = |policy, load| variant(policy, load);
        let results = results(&[
            ("thalweg", &of("clock", "uniform"), [125.0, 1.0, 4.0, 1000.0]),
            ("thalweg", &of(DEFAULT_POLICY, "uniform"), [125.0, 0.5, 5.0, 900.0]),
            ("thalweg", "clock", [100.0, 1.0, 4.0, 1000.0]),
            ("thalweg", DEFAULT_POLICY, [200.0, 1.0, 4.0, 1900.0]),
            ("thalweg", "clock_lruk", [50.0, 1.0, 4.0, 1000.0]),
        ]);
        let checks = policies(&results);
        let uniform = |what: &str| told(&checks, &format!("probation, uniform, 8 clients: {what}"));
        assert!(uniform("average").ends_with("0.50 (at most 1.05: holds)"), "{checks:?}");
        assert!(uniform("p99").ends_with("1.25 (at most 1.05: MISSED)"), "{checks:?}");
        let tpcc = told(&checks, "probation, 8 clients: pages read in");
        assert!(tpcc.ends_with("0.95 (at most 1.05: holds)"), "{checks:?}");
        let seeds = told(&checks, "clock_lruk, 8 clients: transactions");
        assert!(seeds.ends_with(": 0.50"), "nothing is asked of it: {checks:?}");
        assert!(checks.iter().all(|check| !check.what.starts_with("clock,")));
    }

    /// Of Thalweg's sessions not one page in any run; of PostgreSQL's it is told.
    #[test]
    fn sessions_are_to_write_no_page() {
        let of = [125.0, 1.0, 2.0, 1000.0];
        let mut results = results(&[
            ("thalweg", "", of),
            ("thalweg", "", of),
            ("pg15", "", of),
            ("pg18", "", of),
        ]);
        let with = |results: &mut Results, pages: [f64; 3]| {
            for (run, pages) in results.runs.iter_mut().zip(pages) {
                run.figures.insert(figure::BY_SESSIONS.to_owned(), pages);
                run.figures.insert(figure::CHECKPOINTED.to_owned(), 20.0);
            }
        };
        assert!(written(&results).is_empty(), "nobody told of them");
        with(&mut results, [0.0, 0.0, 700.0]);
        let ours =
            |results: &Results| told(&written(results), "8 clients, thalweg: pages written by s");
        assert!(ours(&results).ends_with("in any run: 0.00 (at most 0: holds)"));
        let texts: Vec<String> = written(&results).iter().map(Check::text).collect();
        let theirs = &texts[3..];
        assert_eq!(
            theirs,
            [
                "8 clients, pg15: pages cleaned: 1000",
                "8 clients, pg15: pages written by the checkpointer: 20.0",
                "8 clients, pg15: pages written by sessions, in any run: 700",
            ],
            "and nothing of pg18, which told nothing"
        );
        with(&mut results, [0.0, 1.0, 700.0]);
        assert!(ours(&results).ends_with("1.00 (at most 0: MISSED)"));
        let steady = told(&steady(&results), "8 clients, thalweg: pages written by s");
        assert!(steady.ends_with("MISSED)"), "{steady}");
    }
}
