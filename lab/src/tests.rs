//! What has no folder of its own: the record, the comparison, the seeds' table, the command line.

use crate::compare::{Change, Verdict, changes, report, verdict};
use crate::evidence::{Pair, Variance};
use crate::experiments::{ALL, Experiment, Kind};
use crate::latencies::Latencies;
use crate::model::{Record, Request, Results, Run, Sample, Skipped, commit_in, figure};
use crate::options::{self, Order};
use crate::seeds;
use crate::statistics::Spread;
use crate::target::Wanted;
use bench::servers::Scratch;
use std::collections::BTreeMap;

pub fn run(target: &str, variant: &str, x: u32, round: u32, tps: f64) -> Run {
    Run {
        target: target.to_owned(),
        variant: variant.to_owned(),
        x,
        round,
        seconds: 2,
        figures: BTreeMap::from([(figure::TPS.to_owned(), tps)]),
        samples: Vec::new(),
    }
}

/// Hash look-ups of two servers, three rounds, around these throughputs.
pub fn record(ours: f64, theirs: f64) -> Record {
    let mut record = Record::begin(Request::default());
    record.stopped = None;
    let results = record.results("s4-hash", "clients", 24);
    for round in 0..3 {
        let wobble = 1.0 + 0.02 * (f64::from(round) - 1.0);
        for x in [8, 64] {
            for variant in ["B-tree", "hash"] {
                results.runs.push(run("thalweg", variant, x, round, ours * wobble));
                results.runs.push(run("pg15", variant, x, round, theirs * wobble));
            }
        }
    }
    record
}

/// The same, and what a build that counts tells of it, with the most clients.
pub fn counted() -> Results {
    let mut record = record(200.0, 100.0);
    let mut results = record.experiments.remove(0);
    let figures = BTreeMap::from([
        (figure::FUTEX.to_owned(), 0.5),
        (figure::LATCHES.to_owned(), 4.0),
        (figure::SHARED_LINES.to_owned(), 12.0),
        (format!("{}leaf, alone", figure::HOLDS), 3.0),
        (format!("{}leaf, alone", figure::HOLD_MEAN), 100.0),
        (format!("{}leaf, alone", figure::HOLD_P99), 640.0),
        (format!("{}leaf, alone", figure::HOLD_MAX), 5120.0),
        (format!("{}outer, alone", figure::HOLDS), 0.0001),
    ]);
    let ours = |run: &&mut Run| run.target == "thalweg" && run.x == 64;
    for run in results.runs.iter_mut().filter(ours) {
        run.figures.extend(figures.clone());
    }
    results
}

#[test]
fn a_record_survives_its_file_and_what_is_unknown_is_absent() {
    let scratch = Scratch::new("lab-record").unwrap();
    let mut before = record(1000.0, 500.0);
    let results = before.results("s4-hash", "clients", 24);
    results.runs[0].samples.push(Sample { at_s: 1.0, fsyncs: Some(0.0), ..Sample::default() });
    results.skipped.push(Skipped {
        target: "pg18".to_owned(),
        variant: String::new(),
        x: None,
        round: None,
        why: "not there".to_owned(),
    });
    let file = before.save(scratch.path()).unwrap();
    assert_eq!(Record::load(&file).unwrap(), before);
    assert_eq!(Record::load(scratch.path()).unwrap(), before);
    let text = std::fs::read_to_string(file).unwrap();
    assert!(text.contains("\"fsyncs\": 0.0"), "zero means zero");
    assert!(!text.contains("wal_bytes") && !text.contains("null"), "what is unknown is absent");
}

#[test]
fn the_median_of_an_even_number_lies_between() {
    assert_eq!(Spread::of(&[4.0, 1.0, 2.0, 9.0]).unwrap().median, 3.0);
    assert_eq!(Spread::of(&[4.0, 1.0, 9.0]).unwrap().median, 4.0);
    assert_eq!(Spread::of(&[]), None);
}

#[test]
fn the_program_that_is_measured_tells_what_it_is() {
    assert_eq!(commit_in("thalweg 0.1.0 (commit 0123abc-dirty)\n"), Some("0123abc-dirty"));
    assert_eq!(commit_in("thalweg 0.1.0\n"), None);
    let scratch = Scratch::new("lab-program").unwrap();
    let program = scratch.path().join("thalweg");
    let of = |said: &str| {
        // By another process: a file that any of this one's children still has open can't be executed.
        let file = program.display().to_string();
        let lines = format!("'#!/bin/sh' \"echo '{said}'\"");
        bench::record::shell(&format!("printf '%s\\n' {lines} >'{file}' && chmod +x '{file}'"));
        let record = Record::begin(Request::default()).measures(&program);
        (record.commit, record.program.unwrap())
    };
    let (commit, sum) = of("thalweg 0.1.0 (commit 0123abc)");
    assert_eq!(commit.as_deref(), Some("0123abc"));
    assert_eq!(sum.len(), 16);
    let (commit, other) = of("thalweg 0.1.0");
    assert_eq!(commit, None, "and not what the checkout has now");
    assert_ne!(sum, other);
}

/// Who goes on with a record has to have what it was made with, as far as both tell.
#[test]
fn a_record_tells_what_has_part_in_it() {
    let scratch = Scratch::new("lab-parts").unwrap();
    let place = |name: &str| scratch.path().join(name);
    std::fs::write(place("canned"), "one").unwrap();
    let script = place("postgres").display().to_string();
    let lines = "'#!/bin/sh' 'echo \"postgres (PostgreSQL) 15.9\"'";
    bench::record::shell(&format!("printf '%s\\n' {lines} >'{script}' && chmod +x '{script}'"));
    let of = || {
        let named = [("canned", "canned"), ("pg15", "postgres"), ("pg18", "gone")];
        let named = named.map(|(name, file)| (name.to_owned(), place(file)));
        Record::begin(Request::default()).uses(&named)
    };
    let before = of();
    assert_eq!(before.programs["pg15"], "postgres (PostgreSQL) 15.9");
    assert_eq!(
        (before.programs["canned"].len(), before.programs.contains_key("pg18")),
        (16, false)
    );
    assert!(before.has_programs_of(&of()));
    std::fs::write(place("canned"), "another").unwrap();
    assert!(!before.has_programs_of(&of()) && !of().has_programs_of(&before));
}

#[test]
fn what_is_no_record_is_refused() {
    let scratch = Scratch::new("lab-no-record").unwrap();
    let file = scratch.path().join("other.json");
    std::fs::write(&file, "{}").unwrap();
    assert!(Record::load(&file).unwrap_err().contains("is no record of the lab"));
    let mut newer = record(1.0, 1.0);
    newer.format = 99;
    newer.save(scratch.path()).unwrap();
    assert!(Record::load(scratch.path()).unwrap_err().contains("has format 99"));
}

#[test]
fn a_record_agrees_with_itself() {
    let a = record(1000.0, 500.0);
    let (text, worse) = report(&a, &a).unwrap();
    assert_eq!(worse, 0);
    assert!(text.ends_with("\nno difference: 4 cells agree within their spread\n"), "{text}");
}

#[test]
fn what_lies_within_the_repetitions_is_no_difference() {
    let (a, b) = (record(1000.0, 500.0), record(1030.0, 490.0));
    assert!(changes(&a, &b).iter().all(|c| c.verdict == Verdict::Same));
}

#[test]
fn a_change_beyond_the_repetitions_is_told_with_its_direction() {
    let (a, b) = (record(1000.0, 500.0), record(800.0, 600.0));
    let (text, worse) = report(&a, &b).unwrap();
    assert_eq!(worse, 4);
    assert!(text.contains("\ncontrols: 4 better, 0 worse of 4 cells\n"), "{text}");
    assert!(text.ends_with("\n0 better, 4 worse of 4 cells\n"), "{text}");
    // Where only PostgreSQL is slower, the machine is, and nothing of ours.
    let (text, worse) = report(&a, &record(1000.0, 250.0)).unwrap();
    assert_eq!((worse, text.matches("control, worse\n").count()), (0, 4), "{text}");
    assert!(!text.contains("WORSE") && text.contains("PostgreSQL itself changed"), "{text}");
    let pair = pair(&[0.9, 1.0, 1.1], &[1.9, 2.0, 2.1]);
    assert_eq!(verdict(&pair, true, &[]), Verdict::Worse);
    assert_eq!(verdict(&pair, false, &[]), Verdict::Better);
}

/// What is printed is what is judged by: beyond it is no difference no more, and no claim yet.
#[test]
fn what_is_beyond_the_printed_spread_is_unsure() {
    let a = record(1000.0, 500.0);
    let of = |ours: f64| changes(&a, &record(ours, 500.0)).into_iter().next().unwrap();
    let chance = of(1000.0).chance;
    assert!((0.03..0.06).contains(&chance), "{chance}");
    // The least that is ever claimed is five percent.
    let least = (1.0 + chance).max(1.05);
    assert_eq!(of(1000.0 * (least - 0.002)).verdict, Verdict::Same);
    let one = [("thalweg", "hash", 8)];
    let mut b = a.clone();
    let only = |run: &&mut Run| one.contains(&(&*run.target, &*run.variant, run.x));
    for run in b.experiments[0].runs.iter_mut().filter(only) {
        *run.figures.get_mut(figure::TPS).unwrap() *= least + 0.01;
    }
    let (text, worse) = report(&a, &b).unwrap();
    assert_eq!(worse, 0);
    let said = format!("%)  beyond ±{:.0} %, unsure, better\n", chance * 100.0);
    assert_eq!(text.matches(&said).count(), 1, "{text}");
    let last = "\nno difference: 3 cells agree within their spread; \
                1 beyond their spread, unsure: 1 better, 0 worse\n";
    assert!(text.ends_with(last), "{text}");
}

/// Two cells among others that scatter by a twentieth.
fn pair(a: &[f64], b: &[f64]) -> Pair {
    let of = |values: &[f64]| (0..).zip(values.iter().map(|value| value.ln())).collect();
    Pair { a: of(a), b: of(b), noise: Variance::of(0.05 * 0.05, 20.0) }
}

/// Cells of two servers, two variants and thirty places whose repetitions scatter as they do where nothing else runs;
/// `ours`: how much faster than the other.
fn scattered(rng: &mut fastrand::Rng, rounds: u32, ours: f64) -> Record {
    let mut record = Record::begin(Request::default());
    let results = record.results("s4-hash", "clients", 0);
    // The sum of twelve even chances is as good as normal, with a deviation of one.
    let mut normal = || (0..12).map(|_| rng.f64()).sum::<f64>() - 6.0;
    for round in 0..rounds {
        for x in 1..=30 {
            for variant in ["B-tree", "hash"] {
                for (target, base) in [("thalweg", ours), ("pg15", 1.0)] {
                    let deviation = if x % 2 == 0 { 0.03 } else { 0.08 };
                    let tps = 1000.0 * f64::from(x) * base * (1.0 + deviation * normal());
                    results.runs.push(run(target, variant, x, round, tps));
                }
            }
        }
    }
    record
}

/// A against A: another run of the same. 20 pairs of records of 120 cells each, by seed.
#[test]
fn two_runs_of_the_same_do_not_differ() {
    for rounds in [2, 3, 5] {
        let claimed: usize = (0..20)
            .map(|seed| {
                let mut rng = fastrand::Rng::with_seed(seed);
                let (a, b) = (scattered(&mut rng, rounds, 1.0), scattered(&mut rng, rounds, 1.0));
                let e = Experiment::find("s4-hash").unwrap();
                let said = crate::report::sentence(e, &a.experiments[0]);
                assert!(said.starts_with("No difference"), "{rounds} rounds, seed {seed}: {said}");
                claimed(&changes(&a, &b)).count()
            })
            .sum();
        assert_eq!(claimed, 0, "{rounds} rounds: of 2400 cells");
    }
}

fn claimed(changes: &[Change]) -> impl Iterator<Item = &Change> {
    changes.iter().filter(|c| matches!(c.verdict, Verdict::Better | Verdict::Worse))
}

fn kept(name: &str) -> Record {
    let folder = bench::record::checkout().join("lab/record").join(name);
    Record::load(&folder).unwrap()
}

/// Another run of what a record measured: each repetition is the cell's mean and what one of the server's repetitions in that
/// experiment was off its own, by any cell (`whole`: by the same cell in another round, so that what a round's cells
/// have in common stays so), in the direction that it was or the other.
fn again(record: &Record, rng: &mut fastrand::Rng, rounds: u32, whole: bool) -> Record {
    let mut drawn = record.clone();
    for (results, of) in drawn.experiments.iter_mut().zip(&record.experiments) {
        results.runs.clear();
        let mut order = [0, 1, 2];
        rng.shuffle(&mut order);
        let signs = [(); 3].map(|()| if rng.bool() { 1.0 } else { -1.0 });
        for round in 0..rounds {
            for first in of.runs.iter().filter(|run| run.round == 0) {
                let mut run = first.clone();
                run.round = round;
                for (figure, value) in &mut run.figures {
                    let mean = |variant: &str, x| {
                        let all = of.values(&run.target, variant, x, figure);
                        all.iter().map(|v| v.ln()).sum::<f64>() / all.len() as f64
                    };
                    let off = |of: &Run| of.figures[figure].ln() - mean(&of.variant, of.x);
                    // What is left of three is smaller than what they were drawn from.
                    let scale = 1.5_f64.sqrt();
                    let same = |other: &&Run| {
                        let cell = (&*other.variant, other.x) == (&*run.variant, run.x);
                        other.target == run.target
                            && other.figures.get(figure).is_some_and(|value| *value > 0.0)
                            && (!whole || cell && other.round == order[round as usize])
                    };
                    let pool: Vec<&Run> = of.runs.iter().filter(same).collect();
                    let Some(from) = rng.choice(&pool) else { continue };
                    let sign = if whole { signs[round as usize] } else { 1.0 };
                    *value = (mean(&run.variant, run.x) + sign * scale * off(from)).exp();
                }
                results.runs.push(run);
            }
        }
    }
    drawn
}

/// Every record of three repetitions, with the figures that are compared alone.
fn of_three_repetitions() -> Vec<(&'static str, Record)> {
    let names = [
        "2026-11-22T0254Z-short",
        "2026-11-22T0303Z-short",
        "2026-11-22T0314Z-short",
        "2026-11-23T0226Z-long",
        "2026-11-23T0747Z-long",
        "2026-11-23T1009Z-long",
        "2026-11-24T0901Z-short",
    ];
    let of = |name| {
        let mut record = kept(name);
        for run in record.experiments.iter_mut().flat_map(|e| &mut e.runs) {
            run.samples.clear();
            let compared = [figure::TPS, figure::SERVER_CPU, figure::P99];
            run.figures.retain(|name, _| compared.contains(&&**name));
        }
        (name, record)
    };
    names.map(of).into_iter().collect()
}

/// A against A, by what real runs scattered: of a hundred pairs of records one may have a cell that is claimed to differ.
#[test]
fn records_of_the_same_do_not_differ() {
    let mut rng = fastrand::Rng::with_seed(7);
    let (mut pairs, mut wrong) = (0, Vec::new());
    for (name, record) in of_three_repetitions() {
        for (rounds, whole) in [(2, false), (3, false), (3, true)] {
            for _ in 0..DRAWS {
                let [a, b] = [(); 2].map(|()| again(&record, &mut rng, rounds, whole));
                let changes = changes(&a, &b);
                pairs += 1;
                if let Some(change) = claimed(&changes).next() {
                    wrong.push((name, rounds, whole, change.clone()));
                }
            }
        }
        // Rounds of one record beside each other.
        let without = |round: u32| {
            let mut part = record.clone();
            part.experiments.iter_mut().for_each(|e| e.runs.retain(|run| run.round != round));
            part
        };
        for (one, other) in [(0, 1), (0, 2), (1, 2)] {
            let changes = changes(&without(one), &without(other));
            let claimed: Vec<&Change> = claimed(&changes).collect();
            assert!(claimed.is_empty(), "{name}: {claimed:?}");
        }
    }
    assert!(wrong.len() * 100 <= pairs, "{} of {pairs}: {wrong:?}", wrong.len());
}

/// Draws of each record; more of them tell more exactly how often.
const DRAWS: usize = 20;

/// Two whole short runs of one build, hours apart: of ours no cell is claimed to differ, and of what is unsure it is said to which
/// side.
#[test]
fn two_real_runs_of_one_build_do_not_differ() {
    let (a, b) = (kept("2026-11-26T0841Z-short"), kept("2026-11-26T1356Z-short"));
    assert_eq!(a.program, b.program);
    let (text, worse) = report(&a, &b).unwrap();
    let last = text.lines().next_back().unwrap();
    assert_eq!(worse, 0, "{last}");
    assert!(last.starts_with("no difference: 17") && last.contains(" unsure: "), "{last}");
    assert!(text.contains("Neither record tells scale and settings"), "{text}");
}

/// The figure that decides, halved or doubled, in one cell alone: where the others stay as they were, nothing but its own scatter
/// tells. It is never called no difference.
#[test]
fn a_single_cell_of_half_the_throughput_is_seen() {
    for (name, record) in of_three_repetitions() {
        let ours = |run: &&Run| run.target == "thalweg" && run.round == 0;
        let runs = record.experiments.iter().flat_map(|e| e.runs.iter().map(move |run| (e, run)));
        let cells = runs.filter(|(_, run)| ours(run));
        let (mut all, mut seen) = (0, 0);
        for (e, cell) in cells.filter(|(e, _)| !e.name.starts_with("s2-")) {
            let mut b = record.clone();
            let results = b.results(&e.name, &e.axis, 0);
            let its = |run: &&mut Run| {
                (&run.target, &run.variant, run.x) == (&cell.target, &cell.variant, cell.x)
            };
            let measure = Experiment::find(&e.name).unwrap().measure;
            let factor = if measure.lower_is_better { 2.0 } else { 0.5 };
            results.runs.iter_mut().filter(its).for_each(|run| {
                *run.figures.get_mut(measure.figure).unwrap() *= factor;
            });
            let changes = changes(&record, &b);
            let told: Vec<&Change> =
                changes.iter().filter(|c| c.verdict != Verdict::Same).collect();
            assert!(told.iter().all(|c| c.figure == measure.figure), "{name}: {told:?}");
            assert!(!told.is_empty(), "{name}: {} is no difference", cell.variant);
            all += 1;
            seen += usize::from(claimed(&changes).any(|c| c.verdict == Verdict::Worse));
        }
        // In the first three repetitions are half as far apart themselves: it is unsure there.
        let scatters = name.starts_with("2026-11-22");
        assert!(scatters || seen * 10 >= all * 8, "{name}: {seen} of {all}");
    }
}

/// In the short form, with two repetitions and with three.
#[test]
fn half_the_throughput_is_worse() {
    for (name, cells, at_least) in
        [("2026-11-22T2128Z-short", 43, 39), ("2026-11-24T0901Z-short", 24, 24)]
    {
        let a = kept(name);
        let mut b = a.clone();
        let runs = b.experiments.iter_mut().flat_map(|e| &mut e.runs);
        runs.for_each(|run| *run.figures.get_mut(figure::TPS).unwrap() /= 2.0);
        let changes = changes(&a, &b);
        let tps: Vec<&Change> = changes.iter().filter(|c| c.figure == figure::TPS).collect();
        let worse = tps.iter().filter(|c| c.verdict == Verdict::Worse).count();
        assert_eq!(tps.len(), cells, "{name}");
        assert!(worse >= at_least, "{name}: {worse} of {cells}");
        let others = changes.iter().filter(|c| c.figure != figure::TPS);
        assert!(others.clone().count() > 0 && others.clone().all(|c| c.verdict == Verdict::Same));
        let (text, count) = report(&a, &b).unwrap();
        let ours = tps.iter().filter(|c| c.target == "thalweg" && c.verdict == Verdict::Worse);
        assert!(count == ours.count() && text.contains("PostgreSQL itself changed"), "{text}");
    }
}

/// What costs more for the same throughput is worse, too.
#[test]
fn processor_time_and_the_tail_are_compared_as_well() {
    let a = kept("2026-11-24T0901Z-short");
    let mut b = a.clone();
    for run in b.experiments.iter_mut().flat_map(|e| &mut e.runs) {
        *run.figures.get_mut(figure::SERVER_CPU).unwrap() *= 1.5;
        *run.figures.get_mut(figure::P99).unwrap() *= 8.0;
    }
    let changes = changes(&a, &b);
    let count = |figure, verdict| {
        changes.iter().filter(|c| c.figure == figure && c.verdict == verdict).count()
    };
    assert_eq!(count(figure::TPS, Verdict::Same), 24);
    assert_eq!(count(figure::SERVER_CPU, Verdict::Worse), 24);
    assert!(count(figure::P99, Verdict::Worse) >= 20, "{}", count(figure::P99, Verdict::Worse));
}

#[test]
fn what_is_half_as_fast_again_is_seen_with_two_repetitions() {
    let mut rng = fastrand::Rng::with_seed(1);
    let (a, b) = (scattered(&mut rng, 2, 1.0), scattered(&mut rng, 2, 1.5));
    let better = changes(&a, &b).iter().filter(|c| c.verdict == Verdict::Better).count();
    assert!(better >= 50, "{better} of 60 cells");
}

#[test]
fn one_repetition_alone_cannot_tell() {
    for (a, b) in [(&[1.0][..], &[2.0, 2.1][..]), (&[1.0, 1.1], &[2.0]), (&[1.0], &[9.0])] {
        assert_eq!(verdict(&pair(a, b), false, &[]), Verdict::Unknown, "{a:?} {b:?}");
    }
    let single = |ours: f64| {
        let mut record = record(ours, 500.0);
        record.experiments[0].runs.retain(|run| run.round == 0);
        record
    };
    let (text, worse) = report(&single(1000.0), &single(500.0)).unwrap();
    assert_eq!(worse, 0);
    assert!(text.ends_with("\none repetition can't tell of 4\n"), "{text}");
    assert!(text.contains("(a single repetition)  one repetition can't tell"), "{text}");
    assert!(!text.contains("no difference"), "{text}");
}

/// A server that stopped working is no silence: of ours it is worse, of others it is told.
#[test]
fn what_the_second_record_lacks_is_told_and_ours_is_worse() {
    let mut a = record(1000.0, 500.0);
    a.request.experiments = vec!["s4-hash".to_owned()];
    a.request.targets = vec!["thalweg".to_owned(), "pg15".to_owned()];
    let without = |target: &str, why: Option<&str>| {
        let mut b = a.clone();
        let results = &mut b.experiments[0];
        results.runs.retain(|run| (&*run.target, &*run.variant) != (target, "hash"));
        results.skipped.extend(why.map(|why| Skipped {
            target: target.to_owned(),
            variant: "hash".to_owned(),
            x: None,
            round: None,
            why: why.to_owned(),
        }));
        b
    };
    let (text, worse) = report(&a, &without("thalweg", Some("it died"))).unwrap();
    assert_eq!((worse, text.matches("B lacks it: it died").count()), (2, 2), "{text}");
    assert!(text.ends_with("2 cells agree within their spread; B lacks 2\n"), "{text}");
    let (text, worse) = report(&a, &without("pg15", Some("it died"))).unwrap();
    assert!(
        text.contains("\ncontrols: no difference: 2 cells agree within their spread; B lacks 2\n")
    );
    assert_eq!((worse, text.matches("B lacks it: it died").count()), (0, 2), "{text}");
    // The other server was asked there.
    let (text, worse) = report(&a, &without("thalweg", None)).unwrap();
    assert_eq!(worse, 2, "{text}");
    assert!(text.contains("no reason is recorded"), "{text}");
    // Some of its repetitions are there.
    let mut b = without("pg15", None);
    let hash = |run: &&Run| (&*run.target, &*run.variant) == ("pg15", "hash");
    b.experiments[0].runs.extend(a.experiments[0].runs.iter().filter(hash).take(3).cloned());
    let (text, _) = report(&a, &b).unwrap();
    assert!(!text.contains("B lacks"), "as many as were planned, for all that is known: {text}");
    b.experiments[0].skipped = without("pg15", Some("it died")).experiments[0].skipped.clone();
    let (text, _) = report(&a, &b).unwrap();
    assert!(text.contains("of 3 repetitions: it died"), "{text}");
    // Cut off before it came to an experiment, and not asked for it at all.
    let mut b = a.clone();
    b.experiments.clear();
    b.stopped = Some("interrupted".to_owned());
    let (text, worse) = report(&a, &b).unwrap();
    assert_eq!(worse, 4, "{text}");
    assert!(text.contains("the record is partial: interrupted"), "{text}");
    b.request.experiments = vec!["ceiling".to_owned()];
    assert!(report(&a, &b).is_err());
    let mut b = without("thalweg", None);
    b.request.targets = vec!["pg15".to_owned()];
    assert_eq!(report(&a, &b).unwrap().1, 0, "not asked for");
}

/// Runs of another length or on more rows tell nothing of what changed.
#[test]
fn records_of_different_questions_are_refused() {
    let a = record(1000.0, 500.0);
    let refused = |change: &dyn Fn(&mut Record)| {
        let mut b = a.clone();
        change(&mut b);
        report(&a, &b).unwrap_err()
    };
    let told = refused(&|b| b.experiments[0].runs.iter_mut().for_each(|run| run.seconds = 8));
    assert!(told.contains("s4-hash: short form, scale 10, runs of 2 s in A,"), "{told}");
    assert!(told.ends_with("runs of 8 s in B"), "{told}");
    assert!(refused(&|b| b.request.scale = Some(20)).ends_with("scale 20, runs of 2 s in B"));
    assert!(refused(&|b| b.request.long = true).contains("long form, scale 10"));
    // By what the records tell, not by today's list; which of two old ones is not known.
    let told = |scale: u32, cache: &str| {
        let mut record = a.clone();
        record.experiments[0].scale = Some(scale);
        record.experiments[0].settings =
            BTreeMap::from([(String::new(), vec![format!("shared_buffers={cache}")])]);
        record
    };
    let [small, large] = [told(10, "512MB"), told(50, "512MB")];
    assert!(report(&small, &large).unwrap_err().contains("scale 10, runs of 2 s in A"));
    let why = report(&small, &told(10, "16MB")).unwrap_err();
    assert!(
        why.ends_with("s4-hash, all servers: shared_buffers=512MB in A, shared_buffers=16MB in B")
    );
    assert!(!report(&small, &small).unwrap().0.contains("today's list"));
    assert!(report(&small, &a).unwrap().0.contains("\nB does not tell scale and settings"));
    // What is asked for by hand is no other question.
    let mut b = a.clone();
    b.request.scale = Some(10);
    b.request.clients = Some(vec![8, 64]);
    assert!(report(&a, &b).is_ok());
    // In process, where both forms are alike, and where they are not.
    let in_process = |name: &str, long: bool| {
        let mut record = record(1.0, 1.0);
        record.request.long = long;
        record.experiments[0].name = name.to_owned();
        record
    };
    let compared = |name: &str| report(&in_process(name, false), &in_process(name, true)).is_ok();
    assert!(compared("log-paths") && !compared("s2-wal-padding"));
}

#[test]
fn another_server_of_the_same_name_is_told() {
    let mut a = record(1000.0, 500.0);
    a.request.targets = vec!["pg15".to_owned(), "mine=postgres://me@here:5432/d".to_owned()];
    let mut b = a.clone();
    assert!(!report(&a, &b).unwrap().0.contains("Another server"));
    b.request.targets[1] = "mine=postgres://me@there:5432/d".to_owned();
    let (text, _) = report(&a, &b).unwrap();
    let told = "mine is postgres://me@here:5432/d in A and postgres://me@there:5432/d in B.";
    assert!(text.contains(&format!("\nAnother server: {told}\n")), "{text}");
}

#[test]
fn records_without_a_common_cell_are_not_compared() {
    let mut other = record(1.0, 1.0);
    other.experiments.clear();
    assert!(report(&record(1.0, 1.0), &other).unwrap_err().contains("nothing in common"));
}

#[test]
fn the_seeds_table_reads_as_published() {
    let figures = seeds::figures();
    assert_eq!(figures.len(), 128);
    let e = Experiment::find("s4-hash").unwrap();
    let (clients, ratio) = *e.seeds[0].points().last().unwrap();
    assert_eq!(clients, 80);
    assert!((ratio - 291_224.012_066 / 88_412.736_416).abs() < 1e-9);
}

#[test]
fn every_published_curve_is_in_the_table() {
    for e in ALL {
        for curve in e.seeds {
            assert!(curve.points().len() >= 2, "{}: {}", e.name, curve.label);
        }
    }
}

#[test]
fn a_wrong_line_of_the_seeds_table_is_told() {
    let heading = "seed,experiment,variant,clients,value\n";
    assert!(seeds::parse("clients,tps\n").is_err());
    for line in ["S1,a,b,1", "S1,a,b,one,2", "S1,a,b,1,0"] {
        let fault = seeds::parse(&format!("{heading}{line}\n")).unwrap_err();
        assert!(fault.contains(line), "{fault}");
    }
}

#[test]
fn pgbench_logs_become_percentiles_of_the_whole_and_of_each_second() {
    let lines = "0 1 1000 0 100 5\n1 1 3000 0 100 900\n0 2 500000 0 101 7 20\n1 2 failed 0 101 9\n";
    let latencies = Latencies::parse(lines.lines());
    let mut figures = BTreeMap::new();
    latencies.figures(&mut figures);
    assert!((figures[figure::P50] - 3.0).abs() < 0.01, "{figures:?}");
    assert!((figures[figure::MAX] - 500.0).abs() < 0.5, "{figures:?}");
    assert!((latencies.second(0).unwrap().max - 3.0).abs() < 0.01);
    assert!((latencies.second(1).unwrap().p50 - 500.0).abs() < 0.5);
    assert!(latencies.second(2).is_none());
}

#[test]
fn targets_are_names_or_urls() {
    assert_eq!(Wanted::parse("pg15"), Ok(Wanted::Own("pg15".to_owned())));
    let Ok(Wanted::Url { name, url }) = Wanted::parse("mine=postgres://me:pw@db.example:6432/shop")
    else {
        panic!("a URL names a server");
    };
    assert_eq!((name.as_str(), url.host.as_str(), url.port), ("mine", "db.example", 6432));
    assert_eq!((url.user.as_str(), url.database.as_str()), ("me", "shop"));
    assert_eq!(url.password.as_deref(), Some("pw"));
    for wrong in ["oracle", "mine=mysql://x", "mine=postgres://u@h:port/d", "mine=postgres://@/d"] {
        assert!(Wanted::parse(wrong).is_err(), "{wrong}");
    }
    // Records tell servers apart by their names.
    for taken in ["thalweg", "pg15", "canned", "device", ""] {
        let why = Wanted::parse(&format!("{taken}=postgres://u@h/d")).unwrap_err();
        assert_eq!(why, format!("a server given by URL can't be called '{taken}'"));
    }
}

/// The usage and the parser: whatever one has, the other knows.
#[test]
fn what_is_understood_is_described_and_the_other_way_round() {
    let source = include_str!("options.rs");
    let between = |begin: &str, end: &str| {
        let rest = source.split_once(begin).unwrap().1;
        rest.split_once(end).unwrap().0
    };
    let arms = between("match option.as_str()", "name if").lines();
    let arms = arms.filter_map(|line| line.trim().strip_prefix('"')?.split_once("\" =>"));
    let parsed: Vec<&str> = arms.map(|(name, _)| name).collect();
    assert!(parsed.len() > 8, "{parsed:?}");
    let (synopsis, described) = options::USAGE.split_once("\n\n").unwrap();
    for option in &parsed {
        assert!(synopsis.contains(&format!("[{option}")), "{option} is not in the synopsis");
        assert!(described.contains(option), "{option} is not described");
    }
    let named = options::USAGE.split(|c: char| !c.is_ascii_alphanumeric() && c != '-');
    for option in named.filter(|word| word.starts_with("--") && word.len() > 2) {
        let known = parsed.contains(&option) || ["--help", "--features"].contains(&option);
        assert!(known, "{option} is no option");
    }
    for (order, arguments) in [
        ("list", ""),
        ("report", " a"),
        ("results", " a"),
        ("compare", " a b"),
        ("pack", " a"),
        ("build", " a"),
    ] {
        let line = format!("{order}{arguments}").split(' ').map(str::to_owned).collect();
        assert!(options::parse(line).is_ok(), "{order}");
        assert!(synopsis.contains(&format!("lab {order}")), "{order}");
        assert!(described.contains(&format!("\n  {order} ")), "{order} is not described");
    }
    for name in Wanted::all().iter().map(Wanted::name) {
        assert!(described.contains(name), "{name} is a target");
    }
}

/// As README says which they are.
#[test]
fn the_list_marks_what_only_reads() {
    let marked = |e: &&Experiment| e.line().contains(" [read-only] ");
    let names: Vec<&str> = ALL.iter().filter(marked).map(|e| e.name).collect();
    assert_eq!(names, ["scale-clients"]);
    let readme = include_str!("../README.md");
    assert!(readme.contains("only those marked read-only run there (`scale-clients`;"));
}

/// What is dropped in databases of others: it has names that nobody else's have, and both documents tell them.
#[test]
fn tables_that_are_dropped_are_named() {
    let readme = include_str!("../README.md");
    for e in ALL {
        let Kind::Load(plan) = &e.kind else { continue };
        for table in plan.tables() {
            assert!(table.starts_with("pgbench_"), "{}: {table}", e.name);
            assert!(options::USAGE.contains(table) && readme.contains(table), "{table}");
        }
        let made = plan.prepare.iter().filter(|statement| statement.starts_with("CREATE TABLE"));
        assert_eq!(made.count(), plan.tables().count());
    }
}

#[test]
fn the_command_line_is_understood_or_refused() {
    let words = |text: &str| text.split(' ').map(str::to_owned).collect::<Vec<_>>();
    let Ok(Order::Run(run)) =
        options::parse(words("run s4-hash --target pg15 --rounds 2 --resume"))
    else {
        panic!("a run was asked for");
    };
    assert_eq!(run.request.experiments, ["s4-hash"]);
    assert_eq!((run.request.rounds, run.request.seconds), (Some(2), None));
    assert_eq!(run.request.targets, ["pg15"]);
    assert!(run.resume);
    let Ok(Order::Run(run)) = options::parse(words("run --target mine=postgres://me:secret@h/d"))
    else {
        panic!("a run was asked for");
    };
    assert_eq!(run.request.targets, ["mine=postgres://me@h:5432/d"]);
    for help in ["--help", "-h", "run --help", "compare --help"] {
        assert!(matches!(options::parse(words(help)), Ok(Order::Help)), "{help}");
    }
    let twice = "run --target a=postgres://u@h/d --target a=postgres://u@i/d";
    for wrong in [twice, "run --target pg15 --target pg15"] {
        let Err(why) = options::parse(words(wrong)) else { panic!("{wrong}") };
        assert!(why.starts_with("two targets are called"), "{why}");
    }
    for wrong in ["run --rounds 0", "run --rounds", "run --fast", "compare a", "dance"] {
        assert!(options::parse(words(wrong)).is_err(), "{wrong}");
    }
}
