//! Two records beside each other: of every cell the figure that decides, the server's processor time and the tail of
//! latency. A difference is claimed only where [repetitions](crate::evidence) do not account for it; everything else is no
//! difference.

mod asked;

use crate::evidence::{Noise, Pair, Shift, Variance, logarithms, over_all, together};
use crate::experiments::{Experiment, PROCESSOR, THROUGHPUT, WORST_LATENCY};
use crate::model::{Record, Results, figure};
use crate::statistics::{Spread, cell, is_postgres, places};
use crate::target::is_control;
use asked::{Lacking, differences, lacking, moved, untold};
use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::fmt::Write;

/// How a cell went.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    Same,
    Better,
    Worse,
    /// Further off than nineteen of twenty cells that nothing changed, and not so far that none of hundreds is.
    Unsure,
    /// One of both has one repetition only, which can't tell how far another would be.
    Unknown,
}

/// One figure of one cell of both records.
#[derive(Clone, Debug)]
pub struct Change {
    pub what: String,
    pub target: String,
    pub figure: &'static str,
    pub a: Spread,
    pub b: Spread,
    pub verdict: Verdict,
    /// The share by which B's mean is off A's, which is judged, and that by which repetitions alone change nineteen of twenty
    /// cells in that direction.
    pub changed: f64,
    pub chance: f64,
    /// From which share on a change in that direction is claimed of the cell alone.
    pub claimed: f64,
    lower_is_better: bool,
}

impl Change {
    /// Whether it changed for the worse, certain or not.
    fn is_for_the_worse(&self) -> bool {
        (self.changed > 0.0) == self.lower_is_better
    }
}

/// How b stands to a.
pub fn verdict(pair: &Pair, lower_is_better: bool, together: &[Shift]) -> Verdict {
    let judged = pair.judged(together);
    match if lower_is_better { judged.reverse() } else { judged } {
        _ if !pair.repeated() => Verdict::Unknown,
        Ordering::Equal if pair.is_beyond_chance() => Verdict::Unsure,
        Ordering::Equal => Verdict::Same,
        Ordering::Greater => Verdict::Better,
        Ordering::Less => Verdict::Worse,
    }
}

/// A cell with its variant and its place on the axis.
type Placed<'r> = (&'r str, u32, Pair);

/// One figure of one experiment's cells that both records have, by server.
struct Compared<'r> {
    of: (&'r Results, &'r Results),
    figure: &'static str,
    lower_is_better: bool,
    noise: Noise,
    servers: Vec<(&'r str, Vec<Placed<'r>>)>,
}

/// What is compared of an experiment: what decides, what it costs, and what the slowest wait.
fn compared<'r>(a: &'r Results, b: &'r Results) -> Vec<Compared<'r>> {
    let decides = Experiment::find(&a.name).map_or(THROUGHPUT, |e| e.measure);
    let mut measures = vec![decides];
    let others = [PROCESSOR, WORST_LATENCY];
    measures.extend(others.into_iter().filter(|other| other.figure != decides.figure));
    let of_measure = |measure: crate::experiments::Measure| {
        let figure = measure.figure;
        let noise = Noise::of(&[a, b], figure);
        let of_server = |target: &'r str| {
            let noise = noise.between(target, target);
            let pair = |(variant, x): (&'r str, u32)| {
                let of = |results| logarithms(results, target, variant, x, figure);
                let pair = Pair { a: of(a), b: of(b), noise };
                (!pair.a.is_empty() && !pair.b.is_empty()).then_some((variant, x, pair))
            };
            (target, places(a).filter_map(pair).collect())
        };
        let servers = a.targets().into_iter().map(of_server).collect();
        Compared { of: (a, b), figure, lower_is_better: measure.lower_is_better, noise, servers }
    };
    measures.into_iter().map(of_measure).collect()
}

/// Every cell that both records have.
pub fn changes(a: &Record, b: &Record) -> Vec<Change> {
    let common = a.experiments.iter().filter_map(|of_a| {
        let of_b = b.experiments.iter().find(|e| e.name == of_a.name)?;
        Some(compared(of_a, of_b))
    });
    let compared: Vec<Compared<'_>> = common.flatten().collect();
    // Weather is the machine's, and not an experiment's: what every one saw of it counts.
    let mut weather: BTreeMap<&str, Variance> = BTreeMap::new();
    for one in &compared {
        weather.entry(one.figure).or_default().add(one.noise.weather);
    }
    let shift = |one: &Compared<'_>, pairs: &[Placed<'_>]| {
        let pairs: Vec<&Pair> = pairs.iter().map(|(_, _, pair)| pair).collect();
        together(&pairs, weather[one.figure])
    };
    let of_server = |figure: &str, target: &str| {
        let same = compared.iter().filter(|one| one.figure == figure);
        let pairs = same.flat_map(|one| one.servers.iter().map(move |server| (one, server)));
        let own = pairs.filter(|(_, (name, _))| *name == target);
        over_all(&own.filter_map(|(one, (_, pairs))| shift(one, pairs)).collect::<Vec<_>>())
    };
    let mut changes = Vec::new();
    for one in &compared {
        for (target, pairs) in &one.servers {
            let shifts = [shift(one, pairs), of_server(one.figure, target)];
            let shifts: Vec<Shift> = shifts.into_iter().flatten().collect();
            changes.extend(pairs.iter().filter_map(|place| change(one, target, place, &shifts)));
        }
    }
    changes
}

fn change(
    one: &Compared<'_>,
    target: &str,
    (variant, x, pair): &Placed<'_>,
    shifts: &[Shift],
) -> Option<Change> {
    let of = |results| cell(results, target, variant, *x, one.figure);
    let comma = if variant.is_empty() { "" } else { ", " };
    let (name, axis, figure) = (&one.of.0.name, &one.of.0.axis, one.figure);
    Some(Change {
        what: format!("{name}: {target}, {variant}{comma}{x} {axis}, {figure}"),
        target: target.to_owned(),
        figure,
        a: of(one.of.0)?,
        b: of(one.of.1)?,
        verdict: verdict(pair, one.lower_is_better, shifts),
        changed: pair.changed(),
        chance: pair.chance(),
        claimed: pair.claimed(),
        lower_is_better: one.lower_is_better,
    })
}

/// The comparison as text, whose last line says it all, and in how many cells B is worse, or has nothing any more.
pub fn report(a: &Record, b: &Record) -> Result<(String, usize), String> {
    let other = differences(a, b);
    if !other.is_empty() {
        return Err(format!("the records were asked different questions: {}", other.join("; ")));
    }
    let (changes, lacking) = (changes(a, b), lacking(a, b));
    if changes.is_empty() && lacking.is_empty() {
        return Err("the records have nothing in common".to_owned());
    }
    let mut text = String::new();
    for (name, record) in [("A", a), ("B", b)] {
        let commit = record.commit.as_deref().unwrap_or("unknown");
        let program = record.program.as_deref().map(|sum| format!(", program {sum}"));
        let program = program.unwrap_or_default();
        let partial = record.stopped.as_ref().map(|why| format!(", partial: {why}"));
        let partial = partial.unwrap_or_default();
        writeln!(text, "{name}: {}, commit {commit}{program}{partial}", record.started)
            .expect("strings take writes");
    }
    for moved in moved(a, b) {
        writeln!(text, "Another server: {moved}.").expect("strings take writes");
    }
    if let Some(untold) = untold(a, b) {
        writeln!(text, "{untold}").expect("strings take writes");
    }
    if !a.machine.is(&b.machine) {
        text.push_str("The machines differ: compare ratios within each, not these.\n");
    }
    text.push_str(&controls(&changes));
    text.push('\n');
    changes.iter().for_each(|change| text.push_str(&line(change)));
    for Lacking { what, why, .. } in &lacking {
        writeln!(text, "{what:<76} B lacks it: {why}").expect("strings take writes");
    }
    let (controls, ours): (Vec<&Change>, Vec<&Change>) =
        changes.iter().partition(|change| is_control(&change.target));
    let gone = lacking.iter().filter(|cell| !is_control(&cell.target)).count();
    text.push('\n');
    if !controls.is_empty() || gone < lacking.len() {
        writeln!(text, "controls: {}", summary(&controls, lacking.len() - gone))
            .expect("strings take writes");
    }
    writeln!(text, "{}", summary(&ours, gone)).expect("strings take writes");
    let worse = ours.iter().filter(|c| c.verdict == Verdict::Worse).count();
    Ok((text, worse + gone))
}

/// What a cell did. What is said of controls is in small letters: it is the machine's.
fn line(change: &Change) -> String {
    let control = is_control(&change.target);
    let percent = change.chance * 100.0;
    let said = match change.verdict {
        Verdict::Same => "no difference",
        Verdict::Better if control => "control, better",
        Verdict::Worse if control => "control, worse",
        Verdict::Better => "BETTER",
        Verdict::Worse => "WORSE",
        Verdict::Unsure => {
            let to = if change.is_for_the_worse() { "worse" } else { "better" };
            &format!("beyond ±{percent:.0} %, unsure, {to}")
        }
        Verdict::Unknown => "one repetition can't tell",
    };
    let chance = match change.verdict {
        Verdict::Unknown => "a single repetition".to_owned(),
        _ => {
            format!("repetitions: ±{percent:.0} %, claimed from {:.0} %", change.claimed * 100.0)
        }
    };
    format!(
        "{:<76} {:>10.1} → {:>10.1}  {:+6.1} % ({chance})  {said}\n",
        change.what,
        change.a.median,
        change.b.median,
        change.changed * 100.0,
    )
}

/// How cells went, and how many B lacks.
fn summary(changes: &[&Change], lacking: usize) -> String {
    let count = |verdict| changes.iter().filter(|c| c.verdict == verdict).count();
    let [same, better, worse] = [Verdict::Same, Verdict::Better, Verdict::Worse].map(count);
    let [unsure, unknown] = [Verdict::Unsure, Verdict::Unknown].map(count);
    let unsure_worse = changes.iter().filter(|c| c.verdict == Verdict::Unsure);
    let unsure_worse = unsure_worse.filter(|c| c.is_for_the_worse()).count();
    let unsure_better = unsure - unsure_worse;
    let mut parts = Vec::new();
    match (better, worse) {
        (0, 0) if same > 0 => {
            parts.push(format!("no difference: {same} cells agree within their spread"));
        }
        (0, 0) => {}
        _ => parts.push(format!("{better} better, {worse} worse of {} cells", changes.len())),
    }
    for (number, what) in [
        (
            unsure,
            format!(
                "{unsure} beyond their spread, unsure: {unsure_better} better, {unsure_worse} worse"
            ),
        ),
        (unknown, format!("one repetition can't tell of {unknown}")),
        (lacking, format!("B lacks {lacking}")),
    ] {
        if number > 0 {
            parts.push(what);
        }
    }
    if parts.is_empty() { "no cells of ours".to_owned() } else { parts.join("; ") }
}

/// PostgreSQL is the same program in both: what it changed by, the machine did.
fn controls(changes: &[Change]) -> String {
    let theirs = changes.iter().filter(|c| is_postgres(&c.target) && c.figure == figure::TPS);
    let (claimed, all): (Vec<&Change>, Vec<&Change>) = (
        theirs.clone().filter(|c| matches!(c.verdict, Verdict::Better | Verdict::Worse)).collect(),
        theirs.collect(),
    );
    let shares: Vec<f64> = all.iter().map(|change| change.changed).collect();
    match Spread::of(&shares) {
        Some(spread) if !claimed.is_empty() => format!(
            "PostgreSQL itself changed in {} of {} cells, in the median by {:+.0} %: the machine was another, or busy. \
             Look at Thalweg's changes beside that.\n",
            claimed.len(),
            all.len(),
            spread.median * 100.0
        ),
        _ => String::new(),
    }
}
