//! The page and its plots.

use super::*;
use crate::model::Sample;
use crate::tests::{counted, record, run};
use bench::servers::Scratch;

#[test]
fn the_page_needs_nothing_but_itself() {
    let scratch = Scratch::new("lab-page").unwrap();
    let page = write(&record(2000.0, 1000.0), scratch.path()).unwrap();
    let text = std::fs::read_to_string(page).unwrap();
    for outside in ["src=", "<link", "@import", "url("] {
        assert!(!text.contains(outside), "{outside}");
    }
    assert!(text.contains("prefers-color-scheme:dark"));
    assert!(text.contains("hash against B-tree, 64 clients: no difference on any."), "{text}");
    assert!(text.contains("Thalweg is faster everywhere: 2.00 times the better PostgreSQL."));
    assert!(text.contains("transactions per second"));
    assert!(!text.contains("class=\"partial\""));
    let png = std::fs::read(scratch.path().join("s4-hash-tps.png")).unwrap();
    assert_eq!(&png[..8], b"\x89PNG\r\n\x1a\n");
}

#[test]
fn a_partial_record_says_so() {
    let scratch = Scratch::new("lab-partial").unwrap();
    let mut record = record(2000.0, 1000.0);
    record.stopped = Some("interrupted <here>".to_owned());
    record.experiments[0].planned += 5;
    let page = write(&record, scratch.path()).unwrap();
    let text = std::fs::read_to_string(page).unwrap();
    assert!(text.contains("Partial: interrupted &lt;here&gt;."));
    assert!(text.contains("24 of 29 runs."));
}

#[test]
fn what_was_counted_is_drawn_and_told() {
    let results = counted();
    let e = Experiment::find(&results.name).unwrap();
    let charts = charts::charts(e, &results);
    let named = |name: &str| charts.iter().find(|chart| chart.name == name).unwrap();
    let counts = named("s4-hash-counts-hash");
    let chart::Form::Bars(groups) = &counts.form else { panic!("bars") };
    let shared = groups.iter().position(|group| group == "shared lines").unwrap() as f64;
    let ours = counts.series.iter().find(|series| series.label == "thalweg").unwrap();
    assert_eq!(ours.points.iter().find(|point| point.x == shared).unwrap().y, 12.0);
    assert!(counts.series.iter().all(|series| series.label != "pg15"), "it told nothing");
    let holds = named("s4-hash-holds");
    assert_eq!(holds.form, chart::Form::Bars(vec!["leaf, alone".to_owned()]));
    assert_eq!((holds.series[0].points[0].y, holds.series[0].points[0].high), (100.0, 640.0));
    let mut record = record(200.0, 100.0);
    record.experiments[0] = results;
    let scratch = Scratch::new("lab-counted").unwrap();
    let text = std::fs::read_to_string(write(&record, scratch.path()).unwrap()).unwrap();
    assert!(text.contains("<h3>Per transaction, 64 clients</h3>"));
    assert!(text.contains("<td>leaf, alone</td><td>3.00</td><td>100</td><td>640</td>"), "{text}");
    let lines = crate::table::table(&record.experiments[0]);
    assert!(lines.contains("\nPer transaction, 64 clients\n"), "{lines}");
}

#[test]
fn every_colour_of_a_plot_has_a_dark_form() {
    let e = Experiment::find("s4-hash").unwrap();
    let record = record(2000.0, 1000.0);
    let known: Vec<String> = colours::all()
        .map(|c| c.light)
        .map(|[r, g, b]| format!("#{r:02X}{g:02X}{b:02X}"))
        .collect();
    let charts = charts::charts(e, &record.experiments[0]);
    assert!(charts.len() >= 2, "throughput and the seed's ratios");
    for chart in charts {
        let svg = chart.svg().unwrap();
        let label = chart.y_label.replace('\'', "&apos;");
        assert!(svg.contains(&label), "the axis has its label: {label}");
        for (at, _) in svg.match_indices("=\"#") {
            let used = &svg[at + 2..at + 9];
            assert!(known.iter().any(|colour| colour == used), "{used}");
        }
    }
}

#[test]
fn one_place_becomes_bars_and_samples_become_courses() {
    let e = Experiment::find("s3-latency").unwrap();
    let mut record = record(1.0, 1.0);
    let results = record.results("s3-latency", "clients", 2);
    for (target, p99) in [("thalweg", 2.0), ("pg15", 8.0)] {
        let mut run = run(target, "uniform", 8, 0, 125.0);
        run.figures.insert(figure::P99.to_owned(), p99);
        let sample =
            |at| Sample { at_s: f64::from(at), dirty_kib: Some(2048.0), ..Sample::default() };
        run.samples = (1..4).map(sample).collect();
        results.runs.push(run);
    }
    let charts = charts::charts(e, results);
    assert!(matches!(charts[0].form, chart::Form::Bars(_)));
    assert!(charts[0].finding.contains("4.00 times"), "{}", charts[0].finding);
    let courses = charts.iter().filter(|c| c.form == chart::Form::Course);
    let names: Vec<&str> = courses.map(|c| c.name.as_str()).collect();
    assert_eq!(names, ["s3-latency-dirty-over-time-uniform"], "what nobody told is not drawn");
}

/// What the thread of seed S3 said of averages is drawn beside our average over the better PostgreSQL's, the lower one.
#[test]
fn averages_are_drawn_beside_what_the_thread_said_of_them() {
    let e = Experiment::find("s3-latency").unwrap();
    let mut record = record(1.0, 1.0);
    let results = record.results(e.name, e.axis, 6);
    for x in [1, 32] {
        for (target, mean) in [("thalweg", 1.0), ("pg15", 4.0), ("pg18", 2.0)] {
            let mut run = run(target, "uniform", x, 0, 125.0);
            run.figures.insert(figure::MEAN.to_owned(), mean);
            results.runs.push(run);
        }
    }
    let charts = charts::charts(e, results);
    let beside = charts.iter().find(|chart| chart.name == "s3-latency-seed").unwrap();
    let curves: Vec<(&str, Vec<f64>)> = (beside.series.iter())
        .map(|s| (s.label.as_str(), s.points.iter().map(|point| point.y).collect()))
        .collect();
    assert_eq!(
        curves,
        [
            ("thalweg / PostgreSQL uniform", vec![0.5, 0.5]),
            ("S3 patch / its master, less than this", vec![0.5, 0.25]),
        ]
    );
    assert!(beside.y_label.starts_with("average latency over its own"), "{}", beside.y_label);
    assert!(beside.finding.contains("lower is better"), "{}", beside.finding);
}

/// As many ways to make the log durable as there are can't be told apart as lines.
#[test]
fn many_variants_become_bars_with_no_room_for_what_is_not_there() {
    let e = Experiment::find("s5-wal-io").unwrap();
    let mut record = record(1.0, 1.0);
    let results = record.results(e.name, e.axis, 40);
    let base = "full-page images, fits";
    for x in [8, 32] {
        for way in 0..9 {
            results.runs.push(run(
                "thalweg",
                &format!("way {way}, fits"),
                x,
                0,
                f64::from(way + 1),
            ));
        }
        results.runs.push(run("thalweg", base, x, 0, 5.0));
        results.runs.push(run("pg15", base, x, 0, 2.0));
    }
    let charts = charts::charts(e, results);
    let chart::Form::Bars(groups) = &charts[0].form else { panic!("{:?}", charts[0].form) };
    assert_eq!(groups.len(), 10);
    assert!(charts[0].title.ends_with("32 clients"), "{}", charts[0].title);
    assert_eq!(charts[0].series.iter().map(|s| s.points.len()).sum::<usize>(), 11);
    let beside = charts.iter().find(|c| c.name == "s5-wal-io-seed").unwrap();
    let chart::Form::Bars(groups) = &beside.form else { panic!("{:?}", beside.form) };
    assert_eq!(groups.len(), 9 + e.seeds.len(), "the baseline is not over itself");
    let seed = beside.series.iter().find(|s| s.label == "the seed").unwrap();
    assert_eq!(seed.points.len(), e.seeds.len());
    for chart in [&charts[0], beside] {
        assert!(chart.svg().unwrap().contains("way 8"));
    }
}

/// One run of Thalweg's and one of PostgreSQL's.
fn beside(results: &mut Results, variant: &str, (x, round): (u32, u32), ours: f64, theirs: f64) {
    results.runs.push(run("thalweg", variant, x, round, ours));
    results.runs.push(run("pg15", variant, x, round, theirs));
}

#[test]
fn who_is_faster_where_is_said_in_a_sentence() {
    let e = Experiment::find("ceiling").unwrap();
    let mut record = record(1.0, 1.0);
    let results = record.results("ceiling", "clients", 4);
    for round in 0..2 {
        for (x, ours) in [(8, 150.0), (64, 400.0)] {
            beside(results, "point reads", (x, round), ours, 100.0);
            results.runs.push(run("pg18", "point reads", x, round, 80.0));
        }
        // One repetition alone is not ahead of anything.
        let said = match round {
            0 => "One repetition cannot tell; medians: 1.50 to 4.00 times the",
            _ => "Thalweg is faster everywhere: 1.50 to 4.00 times the",
        };
        assert_eq!(finding::sentence(e, results), format!("{said} better PostgreSQL."));
    }
    // A repetition of ours that is slower than one of theirs takes the claim back.
    results.runs[0].figures.insert(figure::TPS.to_owned(), 50.0);
    assert!(finding::sentence(e, results).starts_with("Thalweg is faster in 1 of 2, beyond"));
    results.runs[0].figures.insert(figure::TPS.to_owned(), 150.0);
    results.runs.push(run("thalweg", "point reads", 8, 2, 99.0));
    assert!(finding::sentence(e, results).starts_with("Thalweg is faster in 1 of 2, beyond"));
    // So does PostgreSQL where it is ahead.
    for run in results.runs.iter_mut().filter(|run| run.target == "thalweg" && run.x == 64) {
        run.figures.insert(figure::TPS.to_owned(), 90.0);
    }
    let said = finding::sentence(e, results);
    assert!(said.starts_with("Thalweg is faster in 0 of 2 and slower in 1, beyond"), "{said}");
}

/// Many times as good by the median, and too few repetitions for it: no contradiction to what the plot beside it shows.
#[test]
fn medians_that_are_ahead_are_not_called_no_difference() {
    let e = Experiment::find("scale-cores").unwrap();
    let mut record = record(1.0, 1.0);
    let results = record.results(e.name, e.axis, 16);
    for round in 0..2 {
        for (x, ours) in [(1, 400.0), (16, 120.0)] {
            beside(results, "TPC-B", (x, round), ours, [10.0, 190.0][round as usize]);
        }
    }
    let said = finding::sentence(e, results);
    assert!(said.starts_with("Medians are ahead, but repetitions scatter too much"), "{said}");
    for run in results.runs.iter_mut().filter(|run| run.target == "thalweg" && run.x == 16) {
        run.figures.insert(figure::TPS.to_owned(), 90.0);
    }
    let said = finding::sentence(e, results);
    assert!(
        said.starts_with("No difference beyond what repetitions scatter; medians: 0.90 "),
        "{said}"
    );
}

/// What one of both was not measured in is no part of "everywhere"; nor is what was planned and nobody measured.
#[test]
fn everywhere_is_said_of_all_cells_only() {
    let e = Experiment::find("scale-clients").unwrap();
    let mut record = record(1.0, 1.0);
    let results = record.results(e.name, e.axis, 8);
    for round in 0..2 {
        for x in [8, 64] {
            beside(results, "", (x, round), 200.0, 100.0);
        }
    }
    let times = "2.00 times the better PostgreSQL.";
    assert_eq!(finding::sentence(e, results), format!("Thalweg is faster everywhere: {times}"));
    let all = |n: usize| {
        format!("Thalweg is faster in all {n} that PostgreSQL was measured in, too: {times}")
    };
    results.planned = 12;
    assert_eq!(finding::sentence(e, results), all(2));
    results.planned = 8;
    results.runs.retain(|run| run.target != "pg15" || run.x != 64);
    assert_eq!(finding::sentence(e, results), all(1));
}

/// In the words of what decides; and where there is only Thalweg, its ways are compared.
#[test]
fn sentences_have_the_words_of_what_decides() {
    let mut record = record(1.0, 1.0);
    let e = Experiment::find("per-transaction").unwrap();
    let results = record.results(e.name, e.axis, 4);
    let with = |target: &str, variant: &str, round, figure: &str, value| {
        let mut run = run(target, variant, 64, round, 100.0);
        run.figures.insert(figure.to_owned(), value);
        run
    };
    for round in 0..2 {
        for (target, us) in [("thalweg", 10.0), ("pg15", 30.0)] {
            results.runs.push(with(target, "point reads", round, figure::SERVER_CPU, us));
        }
    }
    let said = "Thalweg takes less of a processor everywhere: the better PostgreSQL's is 3.00 times as high.";
    assert_eq!(finding::sentence(e, results), said);
    // Of latencies, and not of how many transactions a paced load starts.
    let e = Experiment::find("s3-policies").unwrap();
    let results = record.results(e.name, e.axis, 4);
    for round in 0..2 {
        for (policy, ms) in [("clock", 10.0), ("probation", 5.0)] {
            let variant = format!("{policy}, uniform");
            results.runs.push(with("thalweg", &variant, round, figure::P99, ms));
        }
    }
    let said = "probation, uniform against clock, 64 clients, 99th percentile of latency, milliseconds: \
                thalweg -50 %.";
    assert_eq!(finding::sentence(e, results), said);
}

#[test]
fn waits_are_shares_of_the_sessions_seen_at_the_last_place() {
    let mut record = record(1.0, 1.0);
    let results = &mut record.experiments[0];
    assert!(!waits(results).contains("table"), "nobody told of any");
    let last = results.runs.iter_mut().find(|r| r.x == 64).unwrap();
    let seen = |pairs: &[(&str, u32)]| {
        let waits = pairs.iter().map(|(wait, n)| ((*wait).to_owned(), *n)).collect();
        Sample { waits: Some(waits), ..Sample::default() }
    };
    let asleep = seen(&[]);
    last.samples = vec![
        seen(&[("running", 1), ("IO:WALSync", 2)]),
        seen(&[("IO:WALSync", 1)]),
        asleep.clone(),
        Sample::default(),
    ];
    let text = waits(results);
    let told = "<td>IO:WALSync 75 %, running 25 %</td><td>nobody at work in 1 of 3 looks</td>";
    assert!(text.contains(told), "{text}");
    let last = results.runs.iter_mut().find(|r| r.x == 64).unwrap();
    last.samples = vec![asleep; 2];
    let text = waits(results);
    assert!(text.contains("<td></td><td>nobody at work in 2 of 2 looks</td>"), "{text}");
}

#[test]
fn ways_in_process_are_compared_with_their_baseline_beside_the_seed() {
    let e = Experiment::find("s2-wal-padding").unwrap();
    let mut record = record(1.0, 1.0);
    let results = record.results(e.name, e.axis, 8);
    for round in 0..2 {
        for x in [2, 80] {
            let wobble = f64::from(round);
            for (variant, tps) in [
                ("one lock, packed", 1000.0),
                ("one lock, padded", 1000.5),
                ("locked reservation, packed", 2000.0),
                ("locked reservation, padded", 2400.0),
                ("reservation, packed", 3000.0),
                ("reservation, padded", 6000.0),
            ] {
                results.runs.push(run("thalweg", variant, x, round, tps + wobble));
            }
        }
    }
    let said = "Against packed, 80 sessions: one lock, padded no difference; \
                locked reservation, padded +20 %; reservation, padded +100 %.";
    assert_eq!(finding::sentence(e, results), said);
    let charts = charts::charts(e, results);
    assert_eq!(charts[0].series.len(), 6, "as many as there are colours");
    let seed = charts.iter().find(|c| c.name == "s2-wal-padding-seed").unwrap();
    let labels: Vec<&str> = seed.series.iter().map(|s| s.label.as_str()).collect();
    let ours = ["one lock, padded", "locked reservation, padded", "reservation, padded"];
    let ours = ours.map(|way| format!("{way} / packed"));
    let theirs = ["S2 padding / its master", "S2 flexlock, padding / its flexlock"];
    assert_eq!(labels, [&ours[..], &theirs.map(str::to_owned)].concat());
    assert!((seed.series[2].points[0].y - 2.0).abs() < 0.01, "over its own, not the first");
    assert_eq!(seed.form, chart::Form::Lines(["2", "32", "80"].map(str::to_owned).to_vec()));
}

/// A sentence of twenty clauses says nothing.
#[test]
fn of_many_changes_the_largest_are_told() {
    let e = Experiment::find("s4-hash").unwrap();
    let mut record = record(1.0, 1.0);
    let results = record.results("s2-wal-padding", e.axis, 8);
    for round in 0..2 {
        for (way, tps) in [100.0, 150.0, 120.0, 50.0, 100.1, 90.0].into_iter().enumerate() {
            let variant = if way == 0 { "B-tree".to_owned() } else { format!("way {way}") };
            results.runs.push(run("thalweg", &variant, 8, round, tps + 0.1 * f64::from(round)));
        }
    }
    let said = "Against B-tree, 8 clients: way 1 +50 %; way 3 -50 %; 2 others between; \
                no difference for 1.";
    assert_eq!(finding::costs(e, results).as_deref(), Some(said));
}

#[test]
fn loads_far_apart_have_a_chart_each() {
    let e = Experiment::find("ceiling").unwrap();
    let mut record = record(1.0, 1.0);
    let results = record.results(e.name, e.axis, 8);
    for round in 0..2 {
        for (load, ours, theirs) in [("reads", 40_000.0, 20_000.0), ("writes", 900.0, 300.0)] {
            results.runs.push(run("thalweg", load, 64, round, ours));
            results.runs.push(run("pg15", load, 64, round, theirs));
        }
    }
    let charts = charts::charts(e, results);
    let told: Vec<_> = charts.iter().map(|c| (c.name.as_str(), c.finding.as_str())).collect();
    assert_eq!(
        told,
        [
            (
                "ceiling-tps-reads",
                "Thalweg is faster everywhere: 2.00 times the better PostgreSQL."
            ),
            (
                "ceiling-tps-writes",
                "Thalweg is faster everywhere: 3.00 times the better PostgreSQL."
            ),
        ]
    );
    results.runs.iter_mut().filter(|r| r.variant == "writes").for_each(|r| {
        r.figures.insert(figure::TPS.to_owned(), 10_000.0);
    });
    assert_eq!(charts::charts(e, results).len(), 1, "one axis serves both");
}

/// Every curve beside a seed says over what it is a ratio; names of bars have room, the longest too; and of thirty ways some
/// courses are drawn, of several servers.
#[test]
fn plots_of_many_ways_can_be_read() {
    for e in crate::experiments::ALL {
        assert!(e.seeds.iter().all(|curve| curve.label.contains(" / ")), "{}", e.name);
    }
    let folder = bench::record::checkout().join("lab/record/2026-11-23T0747Z-long");
    let record = Record::load(&folder).unwrap();
    let results = &record.experiments[0];
    let e = Experiment::find(&results.name).unwrap();
    let charts = charts::charts(e, results);
    let mut longest = 0;
    for chart in &charts {
        let chart::Form::Bars(groups) = &chart.form else { continue };
        for group in groups {
            let lines = chart::wrapped(group, chart::BAR_NAME);
            longest = longest.max(group.chars().count());
            assert!(lines.len() <= 2, "{group}");
            for line in lines {
                let room = chart::bar_left(groups) - 10.0;
                assert!(line.chars().count() as f64 * chart::CHARACTER <= room, "{line}");
            }
        }
    }
    assert!(longest > chart::BAR_NAME, "the longest has two lines");
    let beside = charts.iter().find(|chart| chart.name == "s5-wal-io-seed").unwrap();
    let chart::Form::Bars(groups) = &beside.form else { panic!("bars") };
    assert!(groups.iter().all(|group| group.contains(" / ")), "{groups:?}");
    let courses: Vec<_> = charts.iter().filter(|chart| chart.form == chart::Form::Course).collect();
    assert_eq!(courses.len(), 4, "of {} ways", results.variants().len());
    let servers = |chart: &&&chart::Chart| {
        chart.series.iter().filter(|series| !series.label.is_empty()).count() > 1
    };
    assert!(courses.iter().all(|chart| servers(&chart)));
}

/// More ways than colours: each load by itself, and what all lines of a chart have in common is its title's.
#[test]
fn ways_beyond_the_colours_have_a_chart_for_each_load() {
    let e = Experiment::find("s4-protocols").unwrap();
    let mut record = record(1.0, 1.0);
    let results = record.results(e.name, e.axis, 32);
    for round in 0..2 {
        for x in [1, 16] {
            for load in ["look-ups of integers", "inserts of integers"] {
                for (index, tps) in [
                    ("B-tree", 100.0),
                    ("hash, built", 400.0),
                    ("hash, patch", 200.0),
                    ("hash, master", 100.0),
                ] {
                    let tps = tps * (1.0 + 0.001 * f64::from(round));
                    results.runs.push(run("thalweg", &format!("{index}, {load}"), x, round, tps));
                }
            }
        }
    }
    let charts = charts::charts(e, results);
    let names: Vec<&str> = charts.iter().map(|chart| chart.name.as_str()).collect();
    let [lookups, inserts] =
        ["look-ups", "inserts"].map(|what| format!("s4-protocols-tps-{what}-of-integers"));
    assert_eq!(names, [lookups.as_str(), inserts.as_str(), "s4-protocols-seed"]);
    let labels: Vec<&str> = charts[0].series.iter().map(|series| series.label.as_str()).collect();
    assert_eq!(labels, ["B-tree", "hash, built", "hash, patch", "hash, master"]);
    let said = "Against hash, master, 16 threads: B-tree no difference; hash, built +300 %; hash, patch +100 %.";
    assert_eq!(charts[0].finding, said);
    assert!(charts[2].ratio, "one is marked");
}

/// What is said of ways whose two repetitions are three times apart.
fn said_of_scattered(ways: &[(&str, f64)]) -> String {
    let e = Experiment::find("s4-hash").unwrap();
    let mut record = record(1.0, 1.0);
    let results = record.results("s2-wal-padding", e.axis, 4);
    for (round, scatter) in [0.5, 1.5].into_iter().enumerate() {
        for (variant, tps) in ways {
            results.runs.push(run("thalweg", variant, 8, round as u32, tps * scatter));
        }
    }
    finding::costs(e, results).unwrap()
}

/// Repetitions that scatter by more than what is seen leave it open, and do not call it nothing; nor of many ways, where one
/// of another magnitude is certain.
#[test]
fn what_is_seen_and_not_certain_is_called_unsure() {
    let said = said_of_scattered(&[("B-tree", 100.0), ("hash", 140.0)]);
    assert_eq!(said, "hash against B-tree, 8 clients: thalweg +40 % (unsure).");
    let mut ways =
        [("B-tree", 100.0), ("a", 140.0), ("b", 170.0), ("c", 101.0), ("d", 160.0), ("e", 150.0)];
    let many = "Against B-tree, 8 clients: b +70 % (unsure); a +40 % (unsure); 2 others between; \
                no difference for 1.";
    assert_eq!(said_of_scattered(&ways), many);
    ways[1].1 = 1e10;
    let certain = "Against B-tree, 8 clients: a +9999999900 %; no difference for 1; unsure for 3.";
    assert_eq!(said_of_scattered(&ways), certain);
}

/// Repetitions of a server are one line with a band, and minutes have no more points than can be seen.
#[test]
fn courses_are_one_line_for_each_server() {
    let e = Experiment::find("commit-latency").unwrap();
    let mut record = record(1.0, 1.0);
    let results = record.results(e.name, e.axis, 6);
    let course = |seconds: u32, round: u32| {
        let sample = |at| Sample {
            at_s: f64::from(at),
            tps: Some(100.0 + 50.0 * f64::from(round)),
            ..Sample::default()
        };
        (1..=seconds).map(sample).collect::<Vec<_>>()
    };
    for (target, seconds) in [("thalweg", 10), ("pg15", 10)] {
        for round in 0..3 {
            let mut run = run(target, "", 16, round, 1.0);
            run.samples = course(seconds, round);
            results.runs.push(run);
        }
    }
    let of = |results: &Results| {
        let mut charts = charts::charts(e, results).into_iter();
        charts.find(|chart| chart.form == chart::Form::Course).unwrap()
    };
    let chart = of(results);
    let labels: Vec<&str> = chart.series.iter().map(|series| series.label.as_str()).collect();
    assert_eq!(labels, ["thalweg", "pg15"]);
    let point = chart.series[0].points[3];
    assert_eq!((point.x, point.y, point.low, point.high), (4.0, 150.0, 100.0, 200.0));
    assert!(chart.svg().unwrap().contains("opacity=\"0.18\""), "the band");
    results.runs.iter_mut().for_each(|run| run.samples = course(400, 0));
    let long = of(results);
    assert!(long.series.iter().all(|series| series.points.len() <= 82), "{}", long.finding);
    assert!(long.finding.contains("medians of 5 seconds each"), "{}", long.finding);
}

/// Rows that nobody told anything for, and charts of them alone, are left out.
#[test]
fn what_nobody_counted_has_no_place() {
    let mut results = counted();
    for run in &mut results.runs {
        run.figures.remove(figure::LATCHES);
        run.figures.retain(|name, _| !name.starts_with(figure::HOLDS));
        if run.variant == "B-tree" {
            run.figures.remove(figure::FUTEX);
            run.figures.remove(figure::SHARED_LINES);
        }
    }
    let e = Experiment::find(&results.name).unwrap();
    let charts = charts::charts(e, &results);
    let counts: Vec<_> = charts.iter().filter(|chart| chart.name.contains("-counts-")).collect();
    let [counts] = counts[..] else { panic!("of the one load that has any: {counts:?}") };
    let rows = ["futex calls", "shared lines"].map(str::to_owned).to_vec();
    assert_eq!(counts.form, chart::Form::Bars(rows));
    assert!(charts.iter().all(|chart| !chart.name.ends_with("-holds")), "none was held");
}

/// The longest title there is has two lines, above which nothing lies.
#[test]
fn long_titles_have_two_lines() {
    let mut record = record(2.0, 1.0);
    let mut results = record.experiments.remove(0);
    results.runs.iter_mut().for_each(|run| {
        run.figures.insert(figure::SERVER_CPU.to_owned(), 1.0);
    });
    let e = Experiment::find("s5-wal-io").unwrap();
    let charts = charts::charts(e, &results);
    let long = charts.iter().find(|chart| chart.name.ends_with(figure::SERVER_CPU)).unwrap();
    let svg = long.svg().unwrap();
    assert!(!svg.contains(&long.title), "in one line");
    let lines = chart::wrapped(&long.title, chart::TITLE_LINE);
    assert!(
        lines.len() == 2 && lines.iter().all(|line| svg.contains(&line.replace('\'', "&apos;")))
    );
}

/// Savepoints of four ways on two servers, over clients.
fn savepoints() -> Results {
    let mut record = record(1.0, 1.0);
    let results = record.results("s1-subtrans", "clients", 2 * 3 * 2 * 4 * 2);
    for round in 0..3 {
        for x in [8, 128] {
            for pools in ["", "four-times pools, "] {
                for load in ["control", "savepoints"] {
                    for (target, tps) in [("thalweg", 300.0), ("pg15", 100.0), ("pg18", 90.0)] {
                        let tps = tps + f64::from(x + round);
                        results.runs.push(run(target, &format!("{pools}{load}"), x, round, tps));
                    }
                }
            }
        }
    }
    record.experiments.swap_remove(1)
}

/// A line over the clients for each server, and not bars of the last place; harm and gain stand apart, each with its sentence.
#[test]
fn too_many_lines_for_one_chart_have_one_for_each_variant() {
    let e = Experiment::find("s1-subtrans").unwrap();
    let charts = charts::charts(e, &savepoints());
    let names: Vec<&str> = charts.iter().map(|chart| chart.name.as_str()).collect();
    assert!(names.contains(&"s1-subtrans-tps-control"), "{names:?}");
    assert!(names.contains(&"s1-subtrans-tps-four-times-pools--savepoints"), "{names:?}");
    let labels: Vec<&str> = charts[0].series.iter().map(|series| series.label.as_str()).collect();
    assert_eq!(labels, ["thalweg", "pg15", "pg18"]);
    assert!(matches!(charts[0].form, chart::Form::Lines(_)));
    let seed = charts.iter().find(|chart| chart.name == "s1-subtrans-seed").unwrap();
    let chart::Form::Bars(groups) = &seed.form else { panic!("bars") };
    assert_eq!((seed.headings.as_slice(), groups.len()), (&[0, 3][..], 6), "{groups:?}");
    assert!(groups[0].starts_with("Ours") && groups[3].starts_with("The thread's"));
    assert!(seed.svg().unwrap().contains("Below 1 is what they cost"));
}

/// What charts of parts say adds up to what the section says; and no name ends in nothing.
#[test]
fn parts_are_judged_by_the_whole() {
    let e = Experiment::find("s1-multixact").unwrap();
    let mut record = record(1.0, 1.0);
    let results = record.results(e.name, e.axis, 0);
    for round in 0..3 {
        for x in [1, 8, 64, 128] {
            for pools in ["", "four-times pools"] {
                let scatter = if pools.is_empty() && x < 64 { 0.5 } else { 0.01 };
                for (target, tps) in [("thalweg", 200.0), ("pg15", 100.0)] {
                    let tps = tps * (1.0 + scatter * (f64::from((round + x) % 3) - 1.0));
                    results.runs.push(run(target, pools, x, round, tps));
                }
            }
        }
    }
    let ahead = |said: &str, cells: usize| -> usize {
        let number =
            said.split(" in ").nth(1).and_then(|rest| rest.split(' ').next()?.parse().ok());
        number.unwrap_or(if said.contains("everywhere") { cells } else { 0 })
    };
    let said = finding::sentence(e, results);
    let all = ahead(&said, 8);
    assert!(0 < all && all < 8, "{said}");
    let charts = charts::charts(e, results);
    let tps: Vec<_> = charts.iter().filter(|c| c.name.contains("-tps")).collect();
    let names: Vec<&str> = tps.iter().map(|chart| chart.name.as_str()).collect();
    assert_eq!(names, ["s1-multixact-tps", "s1-multixact-tps-four-times-pools"]);
    assert!(
        tps[0].title.ends_with("behind a savepoint: transactions per second"),
        "{}",
        tps[0].title
    );
    assert_eq!(tps.iter().map(|chart| ahead(&chart.finding, 4)).sum::<usize>(), all);
}

/// A ceiling below what it is to be above of.
#[test]
fn what_is_above_the_ceiling_is_told() {
    let mut record = record(1.0, 1.0);
    let results = record.results("ceiling", "clients", 0);
    for (target, x, tps) in
        [("thalweg", 1, 30.0), ("canned", 1, 20.0), ("thalweg", 64, 90.0), ("canned", 64, 100.0)]
    {
        results.runs.push(run(target, "reads", x, 0, tps));
    }
    let told = "The canned replies are no ceiling of: thalweg, reads, 1 client (1.50 times).";
    assert_eq!(finding::above_the_ceiling(results).as_deref(), Some(told));
    results.runs.retain(|run| run.x == 64);
    assert_eq!(finding::above_the_ceiling(results), None);
}

/// The disk knows no clients and no transactions.
#[test]
fn the_bare_loop_has_its_own_words() {
    let e = Experiment::find("wal-commits").unwrap();
    let mut record = record(1.0, 1.0);
    let results = record.results(e.name, e.axis, 0);
    for x in [1, 8] {
        results.runs.push(run("device", crate::experiments::BARE, x, 0, 1000.0));
        results.runs.push(run("thalweg", "TPC-B", x, 0, 100.0));
    }
    let charts = charts::charts(e, results);
    let bare = charts.iter().find(|chart| chart.name.ends_with("fdatasync")).unwrap();
    let (x, y) = (bare.x_label.as_str(), bare.y_label.as_str());
    assert_eq!((x, y), ("threads", "syncs per second"));
    assert!(bare.title.ends_with(": syncs per second"), "{}", bare.title);
}
