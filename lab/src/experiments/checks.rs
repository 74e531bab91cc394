//! What experiments' figures have to be: each figure on a line, with its bound where there is one.

use crate::model::{Results, figure};
use crate::statistics::cell;
use crate::table::short;

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
    AtLeast(f64),
}

impl Check {
    /// For a table and a page.
    pub fn text(&self) -> String {
        let (what, value) = (&self.what, short(self.value));
        let Some(bound) = self.bound else { return format!("{what}: {value}") };
        let (words, limit, holds) = match bound {
            Bound::AtMost(limit) => ("at most", limit, self.value <= limit),
            Bound::AtLeast(limit) => ("at least", limit, self.value >= limit),
        };
        let verdict = if holds { "holds" } else { "MISSED" };
        format!("{what}: {value} ({words} {limit}: {verdict})")
    }
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

/// What the double-write area costs, and log bytes of each protection.
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
    checks
}

/// What the double-write area gains over images of pages, and what it costs.
pub fn after_checkpoint(results: &Results) -> Vec<Check> {
    let mut checks = Vec::new();
    for (place, least) in [("fits", 0.90), ("does not fit", 0.75)] {
        let named = |protection: &str| format!("{protection}, {place}");
        let ours = named("doublewrite");
        checks.extend(over(results, &ours, &named("full-page images"), Bound::AtLeast(1.2)));
        checks.extend(over(results, &ours, &named("no protection"), Bound::AtLeast(least)));
    }
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
