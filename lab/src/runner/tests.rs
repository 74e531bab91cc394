//! Planning, resuming, and what is read out of the clients' words.

use super::probes::Counters;
use super::sampler::Seen;
use super::*;
use crate::model::{Sample, figure};
use crate::tests::run;
use bench::servers::Patience;
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

fn lab(experiment: &str, targets: &[&str]) -> (Lab, Scratch) {
    let scratch = Scratch::new(&format!("lab-{experiment}-{}", targets.len())).unwrap();
    let request = Request {
        experiments: vec![experiment.to_owned()],
        targets: targets.iter().map(|&t| t.to_owned()).collect(),
        rounds: Some(2),
        seconds: Some(1),
        ..Request::default()
    };
    let targets = targets.iter().map(|t| Wanted::parse(t).unwrap()).collect();
    let nowhere = scratch.path().join("nowhere");
    let places = Places { programs: nowhere.clone(), pg15: nowhere.clone(), cache: nowhere };
    let folder = scratch.path().join("record");
    let record = Record::begin(request);
    (Lab { record, folder, places, targets, least_free: 0 }, scratch)
}

fn plan(experiment: &Experiment) -> &Plan {
    match &experiment.kind {
        Kind::Load(plan) | Kind::Tpcc(plan) => plan,
        Kind::Paths(_) => panic!("it has no servers"),
    }
}

#[test]
fn repetitions_are_interleaved() {
    let (lab, _scratch) = lab("s4-hash", &["thalweg", "pg15"]);
    let e = Experiment::find("s4-hash").unwrap();
    let cells = lab.cells(e, plan(e));
    assert_eq!(cells.len(), 2 * 2 * 2 * 2);
    assert_ne!(cells[0].target, cells[1].target, "servers innermost");
    assert!(cells[..8].iter().all(|c| c.round == 0), "repetitions outermost");
}

/// Whoever is first, and who comes after whom, is not the same each time.
#[test]
fn servers_take_turns() {
    let (lab, _scratch) = lab("s4-hash", &["thalweg", "pg15", "pg18"]);
    let e = Experiment::find("s4-hash").unwrap();
    let cells = lab.cells(e, plan(e));
    let turns: Vec<Vec<&str>> =
        cells.chunks(3).map(|turn| turn.iter().map(|cell| &*cell.target).collect()).collect();
    assert!(turns.iter().all(|turn| turn.contains(&"thalweg") && turn.contains(&"pg18")));
    let first: BTreeSet<&str> = turns.iter().map(|turn| turn[0]).collect();
    assert_eq!(first.len(), 3, "{turns:?}");
    let names: Vec<&str> = turns.concat();
    let before = |pair: &&[&str]| pair[1] == "pg15";
    let before: BTreeSet<&str> = names.windows(2).filter(before).map(|pair| pair[0]).collect();
    assert!(before.len() > 1, "{turns:?}");
    assert_eq!(in_turn(&[1, 2, 3], 0), [1, 2, 3]);
    assert_eq!(in_turn(&[1, 2, 3], 1), [2, 3, 1]);
    assert_eq!(in_turn(&[1, 2, 3], 3), [3, 2, 1]);
    for servers in [&[1, 2][..], &[1, 2, 3, 4]] {
        let first: BTreeSet<i32> =
            (0..servers.len()).map(|turn| in_turn(servers, turn)[0]).collect();
        assert_eq!(first.len(), servers.len(), "each is the first at some time");
    }
    assert!(in_turn::<u8>(&[], 5).is_empty());
}

#[test]
fn loads_can_be_picked_by_the_beginnings_of_their_names() {
    let (mut lab, _scratch) = lab("s3-latency", &["thalweg", "pg15"]);
    let e = Experiment::find("s3-latency").unwrap();
    let all = lab.cells(e, plan(e)).len();
    let mut of = |names: &[&str]| {
        lab.record.request.loads = Some(names.iter().map(|&name| name.to_owned()).collect());
        let cells = lab.cells(e, plan(e)).into_iter();
        cells.map(|cell| plan(e).loads[cell.load].name).collect::<Vec<_>>()
    };
    let zipf = of(&["zipf"]);
    assert!(zipf.len() * 3 == all && zipf.iter().all(|name| *name == "Zipf 1.1"), "{zipf:?}");
    assert_eq!(of(&["uniform", "gauss"]).len() * 3, all * 2);
    assert!(of(&["normal"]).is_empty());
}

/// By the plan's own estimate, on the two cores that the README speaks of; what is left until twenty is for what is slower than
/// seen so far.
#[test]
fn the_short_form_takes_eighteen_minutes_and_the_long_one_two_and_a_half_hours() {
    let minutes = |long: bool| {
        let all = Wanted::all();
        let all: Vec<&str> = all.iter().map(Wanted::name).collect();
        let (mut lab, _scratch) = lab("ceiling", &all);
        lab.record.request = Request { long, ..Request::default() };
        let all = crate::experiments::ALL.iter();
        let fixed = all.filter(|e| e.name != "scale-cores").map(|e| lab.weight(e)).sum::<f64>();
        // Three servers on one core and on two, two loads.
        let cores = Experiment::find("scale-cores").unwrap();
        let form = plan(cores).form(long);
        let runs = f64::from(12 * form.rounds) * (f64::from(form.seconds) + EACH_RUN_S);
        let servers = 6.0 * lab.server_s(cores, plan(cores), "thalweg");
        (fixed + runs + servers) / 60.0
    };
    let (short, long) = (minutes(false), minutes(true));
    assert!((10.0..18.0).contains(&short), "{short} minutes");
    assert!((100.0..150.0).contains(&long), "{long} minutes");
    for e in crate::experiments::ALL {
        let (Kind::Load(plan) | Kind::Tpcc(plan)) = &e.kind else { continue };
        // None where it is measured only when rounds are asked for.
        assert!(plan.long.rounds >= 3 || plan.long.rounds == 0, "{}", e.name);
    }
}

/// The estimate counts what a server takes to be filled, and clients to connect.
#[test]
fn filling_and_connecting_take_their_time() {
    let (mut lab, _scratch) = lab("scale-clients", &["pg15", "thalweg"]);
    let e = Experiment::find("scale-clients").unwrap();
    let weight = |lab: &mut Lab, scale: u32, clients: u32| {
        lab.record.request.scale = Some(scale);
        lab.record.request.clients = Some(vec![clients]);
        lab.weight(e)
    };
    let small = weight(&mut lab, 10, 1);
    assert_eq!(weight(&mut lab, 60, 1), small + 2.0 * 50.0 * EACH_SCALE_S);
    // Two rounds, 8 s for PostgreSQL and 2 s for us.
    assert_eq!(weight(&mut lab, 10, 2000), small + 2.0 * (8.0 + 2.0));
}

/// What is measured in process is Thalweg, and takes no time where that is not asked for.
#[test]
fn the_estimate_has_in_process_what_is_measured() {
    let e = Experiment::find("s4-protocols").unwrap();
    assert_eq!(lab("s4-protocols", &["pg15"]).0.weight(e), 0.0);
    assert_eq!(lab("s4-protocols", &["thalweg"]).0.weight(e), 52.0);
    let mut long = lab("s4-protocols", &["thalweg"]).0;
    long.record.request = Request { long: true, ..Request::default() };
    assert_eq!(long.weight(e), 300.0, "three rounds");
}

/// What is impossible is no part of the plan, so that a record without it is whole; it is told.
#[test]
fn more_clients_than_a_process_each_allows_are_not_planned() {
    let (mut lab, _scratch) = lab("scale-clients", &["pg15"]);
    let e = Experiment::find("scale-clients").unwrap();
    lab.record.request.clients = Some(vec![1000, 10_000]);
    let cells = lab.cells(e, plan(e));
    assert_eq!(cells.len(), 4);
    for cell in cells.iter().filter(|cell| cell.x == 1000) {
        let made = run("pg15", "", cell.x, cell.round, 1.0);
        lab.record.results(e.name, e.axis, 0).runs.push(made);
    }
    lab.run(&|_| ()).unwrap();
    let results = &lab.record.experiments[0];
    assert_eq!((results.planned, results.runs.len()), (2, 2), "no server is started for the rest");
    let text = crate::table::table(results);
    assert!(text.contains("not measured: pg15  10000 clients: a process for each"), "{text}");
    assert!(!text.contains("of 2 runs"), "{text}");
}

#[test]
fn a_build_that_counts_is_wanted_where_the_plan_names_it() {
    let wanted = |experiment: &str, rounds: Option<u32>| {
        let request =
            Request { experiments: vec![experiment.to_owned()], rounds, ..Request::default() };
        wants(&request, &Wanted::all(), "thalweg-counting")
    };
    assert!(wanted("all", None) && wanted("per-transaction", None));
    assert!(!wanted("s4-hash", None));
    let few = [Wanted::parse("pg15").unwrap()];
    let all = Request { experiments: vec!["all".to_owned()], ..Request::default() };
    assert!(!wants(&all, &few, "thalweg-counting"));
}

/// It has no socket yet: nobody would wait for its answer.
#[test]
fn a_server_that_never_listens_is_not_waited_for() {
    let scratch = Scratch::new("lab-deaf").unwrap();
    let path = scratch.path().join("programs");
    std::fs::create_dir(&path).unwrap();
    let program = path.join("thalweg").display().to_string();
    bench::record::shell(&format!(
        "printf '%s\\n' '#!/bin/sh' 'exec sleep 100' >'{program}' && chmod +x '{program}'"
    ));
    let places = Places { programs: path.clone(), pg15: path.clone(), cache: path.clone() };
    let mut server = bench::servers::start("thalweg", &places, scratch.path(), 1, &[]).unwrap();
    let within = Patience { socket: Duration::from_millis(300), answer: Duration::from_secs(10) };
    let begun = Instant::now();
    let why = server.wait_until_answering_while(&|| true, Some(within)).unwrap_err();
    assert_eq!(why, "thalweg did not listen within 0 s");
    assert!(begun.elapsed() < Duration::from_secs(5));
    server.wait_for_the_end(&|| true);
    assert_eq!(crate::target::filling(50, 5), Duration::from_secs(310));
}

#[test]
fn callgrind_is_understood() {
    let told = instructions::told;
    let text =
        "pg15, select-only: 43856 instructions per transaction (500 and 1500 transactions)\n";
    assert_eq!(told(text), Ok(43856.0));
    assert!(told("").unwrap_err().contains("told no number"));
    assert!(
        told("pg15, tpcb-like: -3 instructions per transaction (1 and 3 transactions)").is_err()
    );
}

/// Only the seed's own experiments know pools of four times the size, and PostgreSQL 15 has no setting for them.
#[test]
fn large_pools_are_for_servers_that_have_the_settings() {
    for name in ["s1-subtrans", "s1-multixact"] {
        let (mut lab, _scratch) = lab(name, &["thalweg", "pg15", "pg18"]);
        lab.record.request.long = true;
        let e = Experiment::find(name).unwrap();
        let cells = lab.cells(e, plan(e));
        let large = |target: &str| cells.iter().any(|c| c.target == target && c.setup == 1);
        assert!(large("thalweg") && large("pg18") && !large("pg15"), "{name}");
    }
    let of = |variant: &str| crate::experiments::Baseline::Last("control").of(variant);
    assert_eq!(of("savepoints").as_deref(), Some("control"));
    assert_eq!(of("four-times pools, savepoints").as_deref(), Some("four-times pools, control"));
    assert_eq!((of("control"), of("four-times pools, control")), (None, None));
}

#[test]
fn servers_of_others_are_only_read_unless_allowed() {
    let url = "mine=postgres://u@h:1/d";
    let count = |name: &str, writes: bool| {
        let (mut lab, _scratch) = lab(name, &[url]);
        lab.record.request.writes = writes;
        let e = Experiment::find(name).unwrap();
        lab.cells(e, plan(e)).len()
    };
    assert_eq!(count("s1-subtrans", false), 0);
    assert!(count("s1-subtrans", true) > 0);
    assert!(count("scale-clients", false) > 0);
    assert_eq!(count("s5-wal-io", true), 2, "one setup: it is as it is");
}

#[test]
fn a_peer_that_fails_to_start_is_told_and_left_out() {
    let (mut lab, _scratch) = lab("s4-hash", &["pg15"]);
    lab.run(&|_| ()).unwrap();
    let results = &lab.record.experiments[0];
    assert!(results.runs.is_empty());
    assert_eq!(results.skipped.len(), 2, "one for each load");
    assert!(results.skipped[0].why.contains("PostgreSQL 15 is not in"), "{results:?}");
    // Two clients, loads and rounds each.
    assert_eq!(results.planned, 8);
    let text = crate::table::table(results);
    assert!(text.contains("\n0 of 8 runs\n"), "{text}");
    assert_eq!(lab.record.stopped, None);
    assert_eq!(Record::load(&lab.folder).unwrap(), lab.record);
}

/// In the middle of a run: what was measured is kept, and the record says why there is no more.
#[test]
fn a_disk_that_is_nearly_full_ends_the_run() {
    let (mut lab, _scratch) = lab("s4-hash", &["pg15"]);
    let e = Experiment::find("s4-hash").unwrap();
    let cells = lab.cells(e, plan(e));
    let made = run("pg15", plan(e).loads[cells[0].load].name, cells[0].x, 0, 1.0);
    lab.record.results(e.name, e.axis, cells.len()).runs.push(made);
    lab.least_free = u64::MAX;
    let why = lab.run(&|_| ()).unwrap_err();
    assert!(why.contains("MiB left; the lab wants"), "{why}");
    let kept = Record::load(&lab.folder).unwrap();
    assert_eq!(kept.stopped, Some(why), "partial, to be gone on with");
    assert_eq!((kept.experiments[0].runs.len(), kept.experiments[0].skipped.len()), (1, 0));
}

#[test]
fn a_directory_that_is_there_is_not_taken() {
    let one = Scratch::new("lab-twice").unwrap();
    let other = Scratch::new("lab-twice").unwrap();
    assert_ne!(one.path(), other.path());
    std::fs::write(one.path().join("kept"), "").unwrap();
    drop(other);
    assert!(one.path().join("kept").exists());
}

#[test]
fn what_was_measured_is_not_measured_again() {
    let (mut lab, _scratch) = lab("s4-hash", &["pg15"]);
    let e = Experiment::find("s4-hash").unwrap();
    let cells = lab.cells(e, plan(e));
    for cell in &cells {
        let variant = variant("", plan(e).loads[cell.load].name);
        let made = run("pg15", &variant, cell.x, cell.round, 1.0);
        lab.record.results(e.name, e.axis, cells.len()).runs.push(made);
    }
    // Nothing is left to do, so that no server is started, which could not be.
    lab.run(&|_| ()).unwrap();
    let results = &mut lab.record.experiments[0];
    assert_eq!((results.runs.len(), results.skipped.len()), (cells.len(), 0));
    assert!(!crate::table::table(results).contains("of 8 runs"));
    // One round less: what is missing is tried, and told.
    results.runs.retain(|run| run.round == 0);
    lab.run(&|_| ()).unwrap();
    let page = crate::report::write(&lab.record, &lab.folder).unwrap();
    let text = std::fs::read_to_string(page).unwrap();
    assert!(text.contains("4 of 8 runs."), "{text}");
}

#[test]
fn figures_are_per_transaction_and_only_those_that_were_seen() {
    let whole = Counters {
        server_cpu_s: Some(2.0),
        fsyncs: Some(0.0),
        all_fsyncs: Some(250.0),
        ..Counters::default()
    };
    let seen = Seen { samples: Vec::new(), whole };
    let printed = "number of transactions actually processed: 1000\n\
                   number of failed transactions: 0 (0.000%)\ntps = 500.5 (without …)\n";
    let figures = load::figures(printed, &seen, 1.0).unwrap();
    assert_eq!(figures[figure::TPS], 500.5);
    assert_eq!(figures[figure::SERVER_CPU], 2000.0);
    assert_eq!(figures[figure::CLIENT_CPU], 1000.0);
    assert_eq!((figures[figure::FSYNCS], figures[figure::ALL_FSYNCS]), (0.0, 0.25));
    assert!(!figures.contains_key(figure::WAL_BYTES));
    let failed = printed.replace("failed transactions: 0", "failed transactions: 3");
    assert!(load::figures(&failed, &seen, 1.0).unwrap_err().contains("3 transactions failed"));
    assert!(load::figures("tps = 0", &seen, 1.0).is_err());
}

/// Of a crowd the processor time of the seconds in which all were connected.
#[test]
fn connecting_is_no_transaction() {
    let sample =
        |(at_s, cores): (f64, f64)| Sample { at_s, server_cpu: Some(cores), ..Sample::default() };
    let samples: Vec<Sample> =
        [(1.0, 2.0), (2.0, 1.9), (3.0, 0.5), (4.0, 0.7), (5.0, 0.1)].map(sample).to_vec();
    let of = |connecting_ms: u32| {
        let all = [(figure::TPS.to_owned(), 1000.0), (figure::SERVER_CPU.to_owned(), 9999.0)];
        let mut figures = BTreeMap::from(all);
        let printed = format!("initial connection time = {connecting_ms}.5 ms\n");
        load::without_connecting(&mut figures, &printed, &samples, 4);
        figures.get(figure::SERVER_CPU).copied()
    };
    assert!((of(1500).unwrap() - 600.0).abs() < 1e-9, "{:?}", of(1500));
    assert_eq!(of(3100), None, "no two looks with everybody there");
}

#[test]
fn what_dirty_memory_moves_by_leaves_the_odd_second_out() {
    let samples = |dirty: &[f64]| {
        let sample = |kib: &f64| Sample { dirty_kib: Some(*kib), ..Sample::default() };
        dirty.iter().map(sample).collect::<Vec<_>>()
    };
    let mountain: Vec<f64> = (0..100).map(|second| f64::from(second) * 1000.0).collect();
    assert_eq!(load::dirty_spread(&samples(&mountain)), Some(89_000.0));
    let mut flat = vec![500.0; 100];
    (flat[50], flat[60]) = (90_000.0, 0.0);
    assert_eq!(load::dirty_spread(&samples(&flat)), Some(0.0));
    assert_eq!(load::dirty_spread(&[Sample::default()]), None);
}

#[test]
fn a_counter_that_went_back_says_nothing() {
    let before = Counters { wal_bytes: Some(10.0), switches: Some(5.0), ..Counters::default() };
    let after = Counters { wal_bytes: Some(3.0), switches: Some(9.0), ..Counters::default() };
    let grown = after.since(&before);
    assert_eq!((grown.wal_bytes, grown.switches, grown.fsyncs), (None, Some(4.0), None));
}

#[test]
fn go_tpc_is_understood() {
    let text = "[Current] NEW_ORDER - Takes(s): 1.0, Count: 9, TPM: 1.0\nFinished\n\
        [Summary] NEW_ORDER - Takes(s): 9.9, Count: 120, TPM: 727.3, Sum(ms): 1, Avg(ms): 1, 50th(ms): 10.5, \
        90th(ms): 15.7, 95th(ms): 17.8, 99th(ms): 22.0, 99.9th(ms): 30.4, Max(ms): 44.0\n\
        [Summary] PAYMENT - Takes(s): 10.0, Count: 80, TPM: 500, 50th(ms): 4.2\n";
    let (figures, done) = tpcc::summary(text, 8).unwrap();
    assert_eq!(done, 200.0);
    assert_eq!(figures[figure::TPS], 20.0);
    assert_eq!((figures[figure::P99], figures[figure::P50]), (22.0, 10.5));
    let failed = format!("{text}[Summary] PAYMENT_ERR - Takes(s): 9.0, Count: 2, TPM: 12.0\n");
    assert_eq!(tpcc::summary(&failed, 2).unwrap().1, 200.0, "cut off at the end");
    assert_eq!(tpcc::summary(&failed, 1).unwrap_err(), "2 transactions failed");
    assert!(tpcc::summary("nothing", 8).is_err());
}

/// A second in which nothing got through is told by none of its lines, and is no shorter run.
#[test]
fn seconds_of_go_tpc_are_those_in_which_they_came() {
    let second = |new_orders: u32, payments: u32| {
        format!(
            "[Current] NEW_ORDER - Takes(s): 1.0, Count: {new_orders}, TPM: 5400.1, Sum(ms): 1260.7, Avg(ms): 14.0, \
             50th(ms): 13.1, 90th(ms): 18.9, 95th(ms): 23.1, 99th(ms): 41.9, 99.9th(ms): 41.9, Max(ms): 41.9\n\
             [Current] NEW_ORDER_ERR - Takes(s): 0.1, Count: 1, TPM: 600.0, Sum(ms): 1.0\n\
             [Current] PAYMENT - Takes(s): 0.9, Count: {payments}, TPM: 4866.7, Sum(ms): 591.2, Avg(ms): 8.1\n"
        )
    };
    let (mut text, mut came) = ("maxprocs: Leaving GOMAXPROCS=2\n".to_owned(), vec![(0.02, 31)]);
    for (at_s, [new_orders, payments]) in
        [(1.31, [90, 73]), (2.29, [10, 5]), (5.35, [50, 51]), (6.3, [1, 2])]
    {
        text += &second(new_orders, payments);
        came.push((at_s, text.len()));
    }
    text += "Finished\n[Summary] NEW_ORDER - Takes(s): 8.0, Count: 151, TPM: 1132.5, Sum(ms): 1\n";
    came.push((8.4, text.len()));
    let course = tpcc::course(&text, &came, 9);
    let seconds = [(1.0, 163.0), (2.0, 15.0), (3.0, 0.0), (4.0, 0.0), (5.0, 101.0), (6.0, 3.0)];
    assert_eq!(course[..6], seconds);
    assert_eq!(course[6..], [(7.0, 0.0), (8.0, 0.0)], "nothing until the end");
    assert!(tpcc::course("Finished\n", &[(1.0, 9)], 9).is_empty());
    let sampled = |at_s| Sample { at_s, dirty_kib: Some(1.0), ..Sample::default() };
    let samples = load::with_throughput(vec![sampled(1.01), sampled(2.02)], seconds);
    let told: Vec<_> = samples.iter().map(|s| (s.at_s, s.tps, s.dirty_kib.is_some())).collect();
    assert_eq!(
        told[..3],
        [(1.01, Some(163.0), true), (2.02, Some(15.0), true), (3.0, Some(0.0), false)]
    );
}

#[test]
fn it_is_known_when_a_child_said_what() {
    let mut script = std::process::Command::new("sh");
    script.args(["-c", "echo one; sleep 0.4; echo two"]);
    let printed = crate::process::run(script, crate::process::Limits::minutes(1)).unwrap();
    assert_eq!(printed.out, "one\ntwo\n");
    let [(first, 4), (second, 8)] = printed.came[..] else { panic!("{:?}", printed.came) };
    assert!(second - first > 0.2, "{:?}", printed.came);
}

#[test]
fn lines_of_paths_are_understood_and_others_are_not_taken_for_them() {
    let text = "claim and insert, 64 bytes   1 thread    100.0 ns   2 threads    400.0 ns each\n\
                commit of one client: p50 100.0 µs\n2 threads 5 ns\n";
    let runs = paths::parse(text, 3);
    assert_eq!(runs.len(), 2);
    assert_eq!((runs[0].x, runs[0].figures[figure::TPS]), (1, 1e7));
    assert_eq!((runs[1].x, runs[1].figures[figure::TPS]), (2, 5e6));
    assert_eq!((runs[1].variant.as_str(), runs[1].round), ("claim and insert, 64 bytes", 3));
}

/// The engine's own names have commas, and the baseline is the one bank under the same spread.
#[test]
fn status_lookups_are_understood() {
    let text = "banks, hits without a latch (the engine), Zipf 0.99  1 thread 10.000 ns  2 threads 20.000 ns\n\
                one bank, one latch, Zipf 0.99  1 thread 40.000 ns  2 threads 400.000 ns\n";
    let runs = paths::parse(text, 0);
    assert_eq!(runs.len(), 4);
    assert_eq!((runs[1].x, runs[1].figures[figure::TPS]), (2, 1e8));
    let e = Experiment::find("s1-lookups").unwrap();
    let baseline = e.own_baseline.unwrap().of(&runs[0].variant);
    assert_eq!(baseline.as_deref(), Some(&*runs[2].variant));
}

#[test]
fn time_in_which_clients_connect_is_no_time_to_measure_in() {
    let told = |ms: f64| format!("initial connection time = {ms} ms\ntps = 400.0 (without …)\n");
    assert_eq!(load::missing_s(&told(4300.0), 2, 4), None);
    assert_eq!(load::missing_s(&told(5600.0), 2, 4), Some(7));
    let nothing = "number of transactions actually processed: 0\n";
    assert_eq!(load::missing_s(nothing, 2, 4), Some(8), "nothing in six seconds");
    assert_eq!(load::missing_s("tps = 1", 2, 4), None);
}

/// Scale, settings and time go into the record: another list of experiments may ask otherwise.
#[test]
fn how_it_was_asked_is_written_down() {
    let (mut lab, _scratch) = lab("s5-checkpoint", &["thalweg", "pg15"]);
    let e = Experiment::find("s5-checkpoint").unwrap();
    lab.record.request.scale = Some(7);
    lab.tell_how(e);
    lab.took(e, 1.26);
    lab.took(e, 2.0);
    let results = &lab.record.experiments[0];
    assert_eq!((results.scale, results.took_s), (Some(7), Some(3.3)));
    assert!(results.settings[""].iter().any(|setting| setting == "shared_buffers=512MB"));
    let ours = &results.settings["thalweg doublewrite, does not fit"];
    assert_eq!(ours[..], ["torn_page_protection=doublewrite", "shared_buffers=16MB"]);
    assert!(!results.settings.contains_key("pg15 no protection, fits"), "not asked for");
    let (mut lab, _scratch) = self::lab("s2-wal-padding", &["thalweg"]);
    let e = Experiment::find("s2-wal-padding").unwrap();
    lab.tell_how(e);
    assert_eq!(lab.record.experiments[0].settings[""][0], "chosen");
}
