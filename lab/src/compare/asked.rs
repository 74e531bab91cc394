//! What both records were asked, and what the second has no answer to.

use crate::experiments::{DEVICE, Experiment, Kind};
use crate::model::{Record, Results, Skipped};
use crate::statistics::places;

/// A cell of A of which B, asked for it, has nothing, or less, since something failed.
#[derive(Clone, Debug)]
pub struct Lacking {
    pub what: String,
    pub target: String,
    pub why: String,
}

/// All of them: a server that stopped working would be gone from the comparison without a word.
pub fn lacking(a: &Record, b: &Record) -> Vec<Lacking> {
    let mut all = Vec::new();
    for of_a in &a.experiments {
        let of_b = b.experiments.iter().find(|e| e.name == of_a.name);
        for target in of_a.targets().into_iter().filter(|target| asks(b, &of_a.name, target)) {
            for (variant, x) in places(of_a) {
                let Some(why) = missing(a, b, (of_a, of_b), (target, variant, x)) else { continue };
                let comma = if variant.is_empty() { "" } else { ", " };
                let what = format!("{}: {target}, {variant}{comma}{x} {}", of_a.name, of_a.axis);
                all.push(Lacking { what, target: target.to_owned(), why });
            }
        }
    }
    all
}

/// Why B has not what A has of a cell; nothing where it has, or was not asked.
fn missing(
    a: &Record,
    b: &Record,
    (of_a, of_b): (&Results, Option<&Results>),
    (target, variant, x): (&str, &str, u32),
) -> Option<String> {
    let count = |results: &Results| {
        let same = |r: &&crate::model::Run| (&*r.target, &*r.variant, r.x) == (target, variant, x);
        results.runs.iter().filter(same).count()
    };
    let (in_a, in_b) = (count(of_a), of_b.map_or(0, count));
    let skipped = of_b.and_then(|results| skip_of(results, target, variant, x));
    // What nobody has there was not planned, unless B came to its end before.
    let cut_off = b.stopped.as_ref().filter(|_| alike(a, b));
    let planned = cut_off.is_some() || of_b.is_some_and(|results| has_place(results, variant, x));
    if in_b >= in_a || (in_b > 0 && skipped.is_none()) || (!planned && skipped.is_none()) {
        return None;
    }
    let why = match (skipped, cut_off) {
        (Some(skipped), _) => skipped.why.clone(),
        (None, Some(why)) => format!("the record is partial: {why}"),
        (None, None) => "no reason is recorded".to_owned(),
    };
    Some(if in_b == 0 { why } else { format!("{in_b} of {in_a} repetitions: {why}") })
}

/// Whether a record was asked for an experiment on a target.
fn asks(record: &Record, experiment: &str, target: &str) -> bool {
    let request = &record.request;
    let of_it = |asked: &String| asked.split('=').next() == Some(target);
    let experiments = &request.experiments;
    experiments.iter().any(|asked| asked == "all" || asked == experiment)
        && (target == DEVICE || request.targets.iter().any(of_it))
}

/// Whether both were asked for the same places.
fn alike(a: &Record, b: &Record) -> bool {
    let of = |record: &Record| {
        let asked = record.request.clone();
        let rounds = asked.rounds.is_some();
        (asked.long, asked.clients, asked.loads, rounds, asked.writes, record.machine.cores)
    };
    of(a) == of(b)
}

/// Whether anything was tried at a place.
fn has_place(results: &Results, variant: &str, x: u32) -> bool {
    let tried = |s: &Skipped| s.variant == variant && s.x.is_none_or(|skipped| skipped == x);
    results.runs.iter().any(|run| (&*run.variant, run.x) == (variant, x))
        || results.skipped.iter().any(tried)
}

/// What tells why a cell is not there: its own words, or those of a program that measures all of them in process.
fn skip_of<'r>(results: &'r Results, target: &str, variant: &str, x: u32) -> Option<&'r Skipped> {
    let of = |wanted: &str| results.skipped.iter().find(|s| s.is_of(target, wanted, x));
    of(variant).or_else(|| of("").filter(|skipped| skipped.x.is_none()))
}

/// What keeps two records from being compared: other questions. Of a form, a scale, or a duration of their own.
pub fn differences(a: &Record, b: &Record) -> Vec<String> {
    let mut found = Vec::new();
    for of_a in &a.experiments {
        let Some(of_b) = b.experiments.iter().find(|e| e.name == of_a.name) else { continue };
        // Without runs there is nothing that differs.
        if of_a.runs.is_empty() || of_b.runs.is_empty() {
            continue;
        }
        let [in_a, in_b] =
            [(a, of_a), (b, of_b)].map(|(record, results)| question(record, results));
        if in_a != in_b {
            found.push(format!("{}: {in_a} in A, {in_b} in B", of_a.name));
        }
        for (of, in_a) in &of_a.settings {
            let Some(in_b) = of_b.settings.get(of).filter(|in_b| *in_b != in_a) else { continue };
            let of = if of.is_empty() { "all servers" } else { of };
            let [in_a, in_b] = [in_a, in_b].map(|settings| settings.join(" "));
            found.push(format!("{}, {of}: {in_a} in A, {in_b} in B", of_a.name));
        }
    }
    found
}

/// That a record is from before scale and settings were written down.
pub fn untold(a: &Record, b: &Record) -> Option<String> {
    let lacks = |record: &Record, other: &Record| {
        let common = |results: &&Results| other.experiments.iter().any(|e| e.name == results.name);
        let mut all = record.experiments.iter().filter(common);
        all.any(|results| !results.runs.is_empty() && results.settings.is_empty())
    };
    let who = match (lacks(a, b), lacks(b, a)) {
        (false, false) => return None,
        (true, true) => "Neither record tells",
        (true, false) => "A does not tell",
        (false, true) => "B does not tell",
    };
    Some(format!(
        "{who} scale and settings of all its experiments: where they are missing, they are taken for those of today's list."
    ))
}

/// How an experiment was asked: the form, the scale, how long each run took.
fn question(record: &Record, results: &Results) -> String {
    let long = record.request.long;
    let mut seconds: Vec<u32> = results.runs.iter().map(|run| run.seconds).collect();
    seconds.sort_unstable();
    seconds.dedup();
    let seconds = seconds.iter().map(u32::to_string).collect::<Vec<_>>().join(" and ");
    let form = if long { "long form" } else { "short form" };
    match Experiment::find(&results.name).map(|e| &e.kind) {
        Ok(Kind::Load(plan) | Kind::Tpcc(plan)) => {
            let scale = results.scale.or(record.request.scale);
            let scale = scale.unwrap_or(plan.form(long).scale);
            format!("{form}, scale {scale}, runs of {seconds} s")
        }
        // It may be asked alike in both forms, and does not count the seconds.
        Ok(Kind::Paths(paths)) => match results.settings.get("") {
            Some(told) => told.join(" "),
            None => paths.round(long).arguments.join(" "),
        },
        Err(_) => format!("{form}, runs of {seconds} s"),
    }
}

/// Servers given by URL that have one name in both records, and are not the same.
pub fn moved(a: &Record, b: &Record) -> Vec<String> {
    let urls = |record: &Record| {
        let of = |target: &String| {
            target.split_once('=').map(|(name, url)| (name.to_owned(), url.to_owned()))
        };
        record.request.targets.iter().filter_map(of).collect::<Vec<_>>()
    };
    let theirs = urls(b);
    let other = |(name, url): (String, String)| {
        let (_, there) = theirs.iter().find(|(other, place)| *other == name && *place != url)?;
        Some(format!("{name} is {url} in A and {there} in B"))
    };
    urls(a).into_iter().filter_map(other).collect()
}
