//! Which charts an experiment's results become.

use super::chart::{Chart, Form, Point, Series};
use super::colours::{self, SEED};
use super::finding;
use crate::experiments::{
    BARE, Baseline, Course, Experiment, Kind, Measure, THROUGHPUT, WORST_LATENCY,
};
use crate::grid;
use crate::model::{Results, Sample, figure};
use crate::statistics::{Spread, better_postgres, cell};
use std::collections::{BTreeMap, BTreeSet};

const CPU: Measure = Measure {
    figure: figure::SERVER_CPU,
    label: "server's processor time per transaction, microseconds",
    lower_is_better: true,
};
const INSTRUCTIONS: Measure = Measure {
    figure: figure::INSTRUCTIONS,
    label: "instructions of the server in user mode per transaction",
    lower_is_better: true,
};
const SWITCHES: Measure = Measure {
    figure: figure::SWITCHES,
    label: "context switches of the machine per transaction",
    lower_is_better: true,
};

/// More lines than this are not drawn of several servers.
const MOST_LINES: usize = 8;
/// More variants than this are not drawn as lines.
const MOST_VARIANTS: usize = 4;
/// Nor more ratios than this, the seed's among them.
const MOST_RATIOS: usize = 6;
/// A course over fewer seconds tells nothing.
const LEAST_SAMPLES: usize = 3;

/// So many more than of the others that the others would be pressed to the floor.
const TOO_MANY: [&str; 2] = [figure::INSTRUCTIONS, figure::WRITES];

/// How many times higher one load's figures are than another's, that both can't be read on one axis.
const TOO_FAR: f64 = 8.0;

/// All of them, the one that decides first.
pub fn charts(e: &Experiment, results: &Results) -> Vec<Chart> {
    let mut charts = figure_charts(e, results, e.measure);
    charts.extend(ratios(e, results));
    for measure in [THROUGHPUT, WORST_LATENCY, CPU, SWITCHES] {
        if measure.figure != e.measure.figure {
            charts.extend(figure_charts(e, results, measure));
        }
    }
    charts.extend(counted(e, results));
    charts.extend(instructions(e, results));
    for course in e.over_time {
        charts.extend(courses(e, results, *course));
    }
    charts
}

/// One figure. Loads that are not asked to be compared with each other have a chart each where one would press the
/// other to the floor, or lines of several would cross; and all, where those of several servers are too many for one.
fn figure_charts(e: &Experiment, results: &Results, measure: Measure) -> Vec<Chart> {
    let variants = results.variants();
    let asked = e.own_baseline.is_some() || matches!(e.kind, Kind::Paths(_));
    let highest = |variant: &&str| {
        let runs = results.runs.iter().filter(|run| run.variant == *variant);
        runs.filter_map(|run| run.figures.get(measure.figure)).copied().reduce(f64::max)
    };
    let all: Vec<f64> = variants.iter().filter_map(highest).collect();
    let (least, most) = all.iter().fold((f64::MAX, 0.0_f64), |(l, m), v| (l.min(*v), m.max(*v)));
    if let Some(charts) = crowded(e, results, measure) {
        return charts;
    }
    let over_axis = results.xs().len() > 1;
    let too_many = over_axis && lines(results) > MOST_LINES && variants.len() <= MOST_VARIANTS;
    let together = asked || (!over_axis && most < least * TOO_FAR);
    if variants.len() < 2 || (together && !too_many) {
        return figure_chart(e, results, measure, results).into_iter().collect();
    }
    variants.into_iter().filter_map(|variant| one_variant(e, results, measure, variant)).collect()
}

/// One figure of one variant, which the title names.
fn one_variant(
    e: &Experiment,
    results: &Results,
    measure: Measure,
    variant: &str,
) -> Option<Chart> {
    let mut alone = results.clone();
    alone.runs.retain(|run| run.variant == variant);
    let measure = match variant {
        BARE => Measure { label: "syncs per second", ..measure },
        _ => measure,
    };
    let mut chart = figure_chart(e, &alone, measure, results)?;
    chart.name = named(&chart.name, variant);
    let comma = if variant.is_empty() { "" } else { ", " };
    chart.title = format!("{}{comma}{variant}: {}", e.title, measure.label);
    if variant == BARE {
        chart.x_label = "threads".to_owned();
    }
    for series in &mut chart.series {
        series.label =
            series.label.strip_suffix(variant).unwrap_or(&series.label).trim().to_owned();
    }
    Some(chart)
}

/// How many lines all servers' variants are.
fn lines(results: &Results) -> usize {
    let pairs: BTreeSet<(&str, &str)> =
        results.runs.iter().map(|run| (&*run.target, &*run.variant)).collect();
    pairs.len()
}

/// Ways of one server that are more than there are colours: a chart for each load that they are compared under, which is
/// what stands behind the last comma of their names.
fn crowded(e: &Experiment, results: &Results, measure: Measure) -> Option<Vec<Chart>> {
    let Some(Baseline::First(_)) = e.own_baseline else { return None };
    let variants = results.variants();
    if variants.len() <= colours::NUMBERED || results.targets().len() > 1 || results.xs().len() < 2
    {
        return None;
    }
    let mut loads: Vec<&str> = Vec::new();
    for (_, load) in variants.iter().filter_map(|variant| variant.rsplit_once(", ")) {
        if !loads.contains(&load) {
            loads.push(load);
        }
    }
    let of = |load: &&str| {
        let behind = format!(", {load}");
        let mut alone = results.clone();
        alone.runs.retain(|run| run.variant.ends_with(&behind));
        let mut chart = figure_chart(e, &alone, measure, results)?;
        chart.name = format!("{}-{}", chart.name, slug(load));
        chart.title = format!("{}, {load}: {}", e.title, measure.label);
        chart.finding = chart.finding.replace(&behind, "");
        for series in &mut chart.series {
            series.label = series.label.replace(&behind, "");
        }
        Some(chart)
    };
    Some(loads.iter().filter_map(of).collect())
}

/// A file's name, with that of a variant where it has one.
fn named(what: &str, variant: &str) -> String {
    if variant.is_empty() { what.to_owned() } else { format!("{what}-{}", slug(variant)) }
}

fn slug(variant: &str) -> String {
    variant.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect()
}

/// One figure over the axis, or as bars where the axis has one place; of a part of the `whole`, by which it is judged.
fn figure_chart(
    e: &Experiment,
    results: &Results,
    measure: Measure,
    whole: &Results,
) -> Option<Chart> {
    let xs = results.xs();
    let (targets, variants) = (results.targets(), results.variants());
    let of = |target, variant, x| cell(results, target, variant, x, measure.figure);
    let point = |at: usize, spread: Spread| Point {
        x: at as f64,
        y: spread.median,
        low: spread.min,
        high: spread.max,
    };
    let mut series = Vec::new();
    // Nobody can tell more lines apart: bars then, of the axis' last place.
    let many = variants.len() > MOST_VARIANTS || lines(results) > MOST_LINES;
    let bars = xs.len() == 1 || targets.len() > 1 && many;
    let shown = *xs.last()?;
    for (t, &target) in targets.iter().enumerate() {
        let colour = colours::of_target(target, t);
        if bars {
            let found = variants.iter().enumerate();
            let points: Vec<Point> =
                found.filter_map(|(v, name)| Some(point(v, of(target, name, shown)?))).collect();
            series.push(Series { label: target.to_owned(), colour, dashed: false, points });
            continue;
        }
        for (v, &variant) in variants.iter().enumerate() {
            let found = xs.iter().enumerate();
            let points: Vec<Point> =
                found.filter_map(|(i, x)| Some(point(i, of(target, variant, *x)?))).collect();
            let alone = targets.len() == 1;
            series.push(Series {
                label: label(target, variant, alone),
                colour: if alone { colours::of_number(v) } else { colour },
                dashed: !alone && v > 0,
                points,
            });
        }
    }
    series.retain(|s| !s.points.is_empty());
    if series.is_empty() {
        return None;
    }
    let group = |v: &str| if v.is_empty() { format!("{shown} {}", e.axis) } else { v.to_owned() };
    let form = match bars {
        true => Form::Bars(variants.iter().map(|v| group(v)).collect()),
        false => Form::Lines(xs.iter().map(u32::to_string).collect()),
    };
    let decides = measure.figure == e.measure.figure;
    Some(Chart {
        name: format!("{}-{}", e.name, measure.figure),
        title: match bars && xs.len() > 1 {
            true => format!("{}: {}, {shown} {}", e.title, measure.label, e.axis),
            false => format!("{}: {}", e.title, measure.label),
        },
        finding: if decides {
            finding::sentence_of(e, results, whole)
        } else if measure.lower_is_better {
            "Lower is better.".to_owned()
        } else {
            "Higher is better.".to_owned()
        },
        x_label: e.axis.to_owned(),
        y_label: measure.label.to_owned(),
        form,
        // Paths in process differ by orders of magnitude, and so do latencies.
        log: (measure.figure.starts_with("latency") || matches!(e.kind, Kind::Paths(_))) && !bars,
        ratio: false,
        headings: Vec::new(),
        series,
    })
}

fn label(target: &str, variant: &str, alone: bool) -> String {
    match (alone, variant) {
        (true, variant) => variant.to_owned(),
        (false, "") => target.to_owned(),
        (false, variant) => format!("{target} {variant}"),
    }
}

/// Our ratios beside the seeds', each to its own baseline.
fn ratios(e: &Experiment, results: &Results) -> Option<Chart> {
    let measure = e.seeds.first()?.measure;
    let published: Vec<(&str, Vec<(u32, f64)>)> =
        e.seeds.iter().map(|curve| (curve.label, curve.points())).collect();
    let ours = own_ratios(e, results, measure);
    if e.ratios_say.is_some() || ours.len() + published.len() > MOST_RATIOS {
        return ratio_bars(e, results, &ours);
    }
    let mut xs: Vec<u32> = ours.iter().flat_map(|(_, _, p)| p.iter().map(|(x, _)| *x)).collect();
    let theirs = published.iter().flat_map(|(_, points)| points.iter().map(|(x, _)| *x));
    xs.extend(theirs);
    xs.sort_unstable();
    xs.dedup();
    let place = |x: u32| xs.iter().position(|other| *other == x).map(|at| at as f64);
    let mut series = Vec::new();
    let of_one = ours.iter().all(|(_, target, _)| *target == ours[0].1);
    // Several of one server would all have its colour.
    let numbered = results.targets().len() == 1 || of_one && ours.len() > 1;
    for (number, (label, target, points)) in ours.iter().enumerate() {
        let points = points.iter().filter_map(|(x, s)| {
            Some(Point { x: place(*x)?, y: s.median, low: s.min, high: s.max })
        });
        // As in the other charts, where the baseline has the first colour.
        let colour = match numbered {
            true => colours::of_number(number + 1),
            false => colours::of_target(target, number),
        };
        let (label, points) = (label.clone(), points.collect());
        series.push(Series { label, colour, dashed: false, points });
    }
    for (label, points) in &published {
        let points = points
            .iter()
            .filter_map(|(x, y)| Some(Point { x: place(*x)?, y: *y, low: *y, high: *y }))
            .collect();
        let label = (*label).to_owned();
        series.push(Series { label, colour: SEED, dashed: true, points });
    }
    if ours.is_empty() || series.is_empty() {
        return None;
    }
    let form = Form::Lines(xs.iter().map(u32::to_string).collect());
    Some(ratio_chart(e, results, form, series))
}

/// Ratios as bars, of the axis' last place; of the seeds', the place nearest to it.
fn ratio_bars(e: &Experiment, results: &Results, ours: &[Ratios]) -> Option<Chart> {
    let shown = *results.xs().last()?;
    let mut headings = Vec::new();
    let mut groups: Vec<String> = Vec::new();
    let mut series: Vec<Series> = Vec::new();
    let said = e.ratios_say.map(|said| said.map(str::to_owned));
    let mut head = |groups: &mut Vec<String>, number: usize| {
        if let Some(said) = &said {
            headings.push(groups.len());
            groups.push(said[number].clone());
        }
    };
    head(&mut groups, 0);
    for (number, target) in results.targets().into_iter().enumerate() {
        let mut points = Vec::new();
        for (label, _, ratios) in ours.iter().filter(|(_, of, _)| of == target) {
            let group = label.strip_prefix(target).unwrap_or(label).trim().to_owned();
            let Some((_, s)) = ratios.iter().find(|(x, _)| *x == shown) else { continue };
            let at = groups.iter().position(|known| *known == group).unwrap_or_else(|| {
                groups.push(group);
                groups.len() - 1
            });
            points.push(Point { x: at as f64, y: s.median, low: s.min, high: s.max });
        }
        let colour = colours::of_target(target, number);
        series.push(Series { label: target.to_owned(), colour, dashed: false, points });
    }
    head(&mut groups, 1);
    let mut points = Vec::new();
    for curve in e.seeds {
        let Some((x, y)) = curve.points().into_iter().min_by_key(|(x, _)| x.abs_diff(shown)) else {
            continue;
        };
        points.push(Point { x: groups.len() as f64, y, low: y, high: y });
        groups.push(format!("{}, {x} {}", curve.label, e.axis));
    }
    series.push(Series { label: "the seed".to_owned(), colour: SEED, dashed: false, points });
    series.retain(|s| !s.points.is_empty());
    let chart = ratio_chart(e, results, Form::Bars(groups), series);
    (!ours.is_empty()).then_some(Chart { headings, ..chart })
}

fn ratio_chart(e: &Experiment, results: &Results, form: Form, series: Vec<Series>) -> Chart {
    let measure = e.seeds.first().map_or(THROUGHPUT, |curve| curve.measure);
    let what = match measure.lower_is_better {
        false => "throughput",
        // Without its unit: a ratio has none.
        true => measure.label.split(',').next().unwrap_or(measure.label),
    };
    let better = if measure.lower_is_better { "; lower is better" } else { "" };
    let ratios = format!(
        "Ratios of {what}, each to its own baseline{better}; grey: what the seed's thread published."
    );
    // What they cost is said of the figure that decides.
    let costs = finding::costs(e, results).filter(|_| measure.figure == e.measure.figure);
    Chart {
        name: format!("{}-seed", e.name),
        title: format!("{}: beside the seed (grey)", e.title),
        finding: costs.unwrap_or(ratios),
        x_label: e.axis.to_owned(),
        y_label: match e.own_baseline {
            Some(baseline) => {
                format!("{what} over its own baseline's (ours: {})", baseline.name())
            }
            None => format!("{what} over its own baseline's (ours: the better PostgreSQL)"),
        },
        form,
        log: false,
        ratio: true,
        headings: Vec::new(),
        series,
    }
}

/// Instructions, as bars: they are counted at one place of the axis, if at all, and are so many more than all else that is.
fn instructions(e: &Experiment, results: &Results) -> Option<Chart> {
    let mut those = results.clone();
    those.runs.retain(|run| run.figures.contains_key(figure::INSTRUCTIONS));
    let last = those.xs().last().copied();
    those.runs.retain(|run| Some(run.x) == last);
    figure_chart(e, &those, INSTRUCTIONS, &those)
}

/// What a build that counts tells, at the last place where it did: counts beside the other servers', a chart for each
/// load; and how long latches are held.
fn counted(e: &Experiment, results: &Results) -> Vec<Chart> {
    let Some(x) = grid::counted_at(results) else { return Vec::new() };
    let point = |at: usize, y: f64, high: f64| Point { x: at as f64, y, low: y, high };
    let median = |target: &str, variant: &str, figure: &str| {
        cell(results, target, variant, x, figure).map(|spread| spread.median)
    };
    let mut charts = Vec::new();
    let counting = results.runs.iter().any(|run| run.figures.contains_key(figure::LATCHES));
    for variant in results.variants() {
        // A row for what anybody has told.
        let told =
            |name: &str| results.targets().iter().any(|t| median(t, variant, name).is_some());
        let drawn = grid::COUNTS.into_iter();
        let drawn: Vec<(&str, &str)> =
            drawn.filter(|(name, _)| !TOO_MANY.contains(name) && told(name)).collect();
        let of = |(t, target): (usize, &str)| {
            let counts = drawn.iter().enumerate();
            let counts = counts.filter_map(|(at, (name, _))| {
                let count = median(target, variant, name)?;
                Some(point(at, count, count))
            });
            let (label, colour) = (target.to_owned(), colours::of_target(target, t));
            Series { label, colour, dashed: false, points: counts.collect() }
        };
        let series = results.targets().into_iter().enumerate().map(of);
        charts.push(Chart {
            name: format!("{}-counts-{}", e.name, slug(variant)),
            title: format!("{variant}, {x} {}: what is counted of a transaction", e.axis),
            finding: match counting {
                true => "Lower is better. Only a build of Thalweg that counts tells the last five.",
                false => "Lower is better.",
            }
            .to_owned(),
            x_label: e.axis.to_owned(),
            y_label: "per transaction".to_owned(),
            form: Form::Bars(drawn.iter().map(|(_, head)| (*head).to_owned()).collect()),
            log: false,
            ratio: false,
            headings: Vec::new(),
            series: series.filter(|series| !series.points.is_empty()).collect(),
        });
    }
    let held = grid::held(results, x);
    let mut kinds: Vec<&str> = held.iter().map(|held| held.kind).collect();
    kinds.sort_unstable();
    kinds.dedup();
    let of = |(v, variant): (usize, &str)| {
        let own = held.iter().filter(|held| held.variant == variant);
        let points = own.filter_map(|held| {
            Some(point(kinds.iter().position(|kind| *kind == held.kind)?, held.mean, held.most))
        });
        let (label, colour) = (variant.to_owned(), colours::of_number(v));
        Series { label, colour, dashed: false, points: points.collect() }
    };
    let series = results.variants().into_iter().enumerate().map(of);
    charts.push(Chart {
        name: format!("{}-holds", e.name),
        title: format!("How long latches are held, {x} {}", e.axis),
        finding:
            "A bar and its number are the mean; its line ends where 99 of 100 holds have ended."
                .to_owned(),
        x_label: e.axis.to_owned(),
        y_label: "nanoseconds".to_owned(),
        form: Form::Bars(kinds.iter().map(|kind| (*kind).to_owned()).collect()),
        log: true,
        ratio: false,
        headings: Vec::new(),
        series: series.filter(|series| !series.points.is_empty()).collect(),
    });
    charts.retain(|chart| !chart.series.is_empty());
    charts
}

type Ratios = (String, String, Vec<(u32, Spread)>);

/// Each variant over the experiment's baseline on the same server; without one, ours over the better
/// PostgreSQL.
fn own_ratios(e: &Experiment, results: &Results, measure: Measure) -> Vec<Ratios> {
    let mut all = Vec::new();
    for variant in results.variants() {
        let baseline = e.own_baseline.map(|baseline| baseline.of(variant));
        let targets = match &baseline {
            Some(None) => Vec::new(),
            Some(Some(_)) => results.targets(),
            None => vec!["thalweg"],
        };
        for target in targets {
            let at = |x: u32| -> Option<(u32, Spread)> {
                let ours = cell(results, target, variant, x, measure.figure)?;
                let base = match baseline.iter().flatten().next() {
                    Some(baseline) => cell(results, target, baseline, x, measure.figure)?,
                    None => better_postgres(results, &measure, variant, x)?,
                };
                Some((x, ours.over(base.median)))
            };
            let points: Vec<(u32, Spread)> = results.xs().into_iter().filter_map(at).collect();
            let label = match e.own_baseline {
                // What it is over, so that nobody takes it for a throughput.
                Some(baseline) => format!(
                    "{} / {}",
                    label(target, variant, results.targets().len() == 1),
                    baseline.name()
                ),
                None => format!("{target} / PostgreSQL {variant}"),
            };
            if !points.is_empty() {
                all.push((label.trim().to_owned(), target.to_owned(), points));
            }
        }
    }
    all
}

/// The variants whose courses are drawn: of many, some that several servers have, to be seen beside each other.
fn course_variants(results: &Results) -> Vec<&str> {
    let mut variants = results.variants();
    if variants.len() <= MOST_VARIANTS {
        return variants;
    }
    let of_several = |variant: &&str| {
        let mut runs = results.runs.iter().filter(|run| run.variant == *variant);
        let first = runs.next().map(|run| &run.target);
        runs.any(|run| Some(&run.target) != first)
    };
    let shared: Vec<&str> = variants.iter().copied().filter(of_several).collect();
    if !shared.is_empty() {
        variants = shared;
        variants.truncate(MOST_VARIANTS);
    }
    variants
}

/// More points than this of one line hide each other.
const MOST_POINTS: usize = 80;

/// What was seen at some second by any repetition, in so many seconds that belong together that a line has not too many
/// points: medians with the least and the greatest; and how many seconds.
fn course_points(seen: &[(f64, f64)]) -> (Vec<Point>, usize) {
    let last = seen.iter().map(|(at_s, _)| *at_s).fold(0.0, f64::max);
    let span = (last / MOST_POINTS as f64).ceil().max(1.0);
    let mut groups: BTreeMap<u64, Vec<f64>> = BTreeMap::new();
    for (at_s, value) in seen {
        groups.entry((at_s / span).round() as u64).or_default().push(*value);
    }
    let point = |(number, values): (u64, Vec<f64>)| {
        let Spread { median, min, max, .. } = Spread::of(&values)?;
        Some(Point { x: number as f64 * span, y: median, low: min, high: max })
    };
    (groups.into_iter().filter_map(point).collect(), span as usize)
}

/// Sessions of PostgreSQL tell of their syncs once a second at most: of the first second next to nothing is known.
const TOLD_LATE_S: f64 = 1.5;

/// Reads one value out of a sample.
type Reader = fn(&Sample) -> Option<f64>;

/// Pages, whoever wrote them; nothing where one of them is unknown, which would look like fewer.
fn written(sample: &Sample) -> Option<f64> {
    Some(sample.buffers_cleaned? + sample.buffers_checkpointed? + sample.buffers_by_sessions?)
}

/// What changed while the runs lasted, a line for each server, at the axis' last place; a chart for each variant.
fn courses(e: &Experiment, results: &Results, course: Course) -> Vec<Chart> {
    let Some(&x) = results.xs().last() else { return Vec::new() };
    let (name, label, of): (&str, &str, Reader) = match course {
        Course::Throughput => ("tps", "transactions per second", |s| s.tps),
        Course::Latency => {
            ("latency", "99th percentile of latency, milliseconds", |s| s.latency_ms_p99)
        }
        Course::Dirty => {
            ("dirty", "memory to be written, MiB", |s| s.dirty_kib.map(|kib| kib / 1024.0))
        }
        Course::Cleaned => ("cleaned", "pages cleaned per second", |s| s.buffers_cleaned),
        Course::Written => {
            ("written", "pages written by cleaner, checkpointer and sessions per second", written)
        }
        Course::Fsyncs => ("fsyncs", "syncs of the log per second", |s| s.fsyncs),
    };
    let (from_s, late) = match course {
        Course::Fsyncs => {
            (TOLD_LATE_S, " Without the first, of which PostgreSQL's sessions tell in the second.")
        }
        _ => (0.0, ""),
    };
    let mut charts = Vec::new();
    for variant in course_variants(results) {
        let (mut series, mut spans) = (Vec::new(), 1);
        for (t, target) in results.targets().into_iter().enumerate() {
            let runs = results.runs.iter().filter(|r| {
                r.target == target && r.variant == variant && r.x == x && r.samples.len() > 1
            });
            let read = |s: &Sample| of(s).filter(|_| s.at_s >= from_s).map(|y| (s.at_s, y));
            let seen: Vec<(f64, f64)> =
                runs.flat_map(|run| run.samples.iter().filter_map(read)).collect();
            let (points, several) = course_points(&seen);
            spans = spans.max(several);
            if points.len() >= LEAST_SAMPLES {
                let (label, colour) = (target.to_owned(), colours::of_target(target, t));
                series.push(Series { label, colour, dashed: false, points });
            }
        }
        if series.is_empty() {
            continue;
        }
        let of_variant = if variant.is_empty() { String::new() } else { format!("{variant}, ") };
        charts.push(Chart {
            name: named(&format!("{}-{name}-over-time", e.name), variant),
            title: format!("{}: {label}", e.title),
            finding: match spans {
                1 => format!("{of_variant}{x} {}: medians of each second, and what repetitions scatter.{late}", e.axis),
                _ => format!("{of_variant}{x} {}: medians of {spans} seconds each, and their least and greatest.{late}", e.axis),
            },
            x_label: "seconds since the run began".to_owned(),
            y_label: label.to_owned(),
            form: Form::Course,
            log: course == Course::Latency,
            ratio: false,
            headings: Vec::new(),
            series,
        });
    }
    charts
}
