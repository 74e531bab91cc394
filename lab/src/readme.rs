//! What a record has to say, in the READMEs of its experiments: the part from "Result" to "Verdict" is written anew,
//! and a verdict that is still open, or that was written by this, becomes the record's finding. What people have written
//! into a verdict stays.

use crate::experiments::{Experiment, THROUGHPUT};
use crate::grid::grids;
use crate::model::{Record, Results};
use crate::report::sentence;
use crate::statistics::cell;
use crate::table::short;
use std::fmt::Write;
use std::path::Path;

const RESULT: &str = "**Result.** ";
const VERDICT: &str = "**Verdict.** ";
const OPEN: &str = "Open.";
/// Behind it and a record's name, up to `-->`: which record people wrote of in a verdict, so that a stale one is found.
#[cfg(test)]
const WRITTEN_OF: &str = "<!-- of ";
/// Around a sentence that is this program's, so that the next record's takes its place.
const GENERATED: &str = "<!-- generated -->";
const END: &str = "<!-- end -->";

/// Writes the READMEs under `base`, the lab's folder, of what the record in `record/NAME` there has, or of those of its
/// experiments that are `asked` for; which experiments' it has changed, and why it has left others as they are.
///
/// # Errors
/// A README that can't be read or written, or has no such parts.
pub fn write(
    record: &Record,
    name: &str,
    asked: &[String],
    base: &Path,
) -> Result<(Vec<String>, Vec<String>), String> {
    let (mut written, mut kept) = (Vec::new(), Vec::new());
    let all = asked.is_empty() || asked.iter().any(|name| name == "all");
    let wanted =
        |results: &&Results| !results.runs.is_empty() && (all || asked.contains(&results.name));
    for results in record.experiments.iter().filter(wanted) {
        let Ok(e) = Experiment::find(&results.name) else { continue };
        let path = base.join(e.name).join("README.md");
        let failed = |what: &dyn std::fmt::Display| format!("{}: {what}", path.display());
        let old = std::fs::read_to_string(&path).map_err(|fault| failed(&fault))?;
        let (there, here) = (cores_of(&old), record.machine.cores);
        if let Some(there) = there.filter(|there| *there > here) {
            kept.push(format!(
                "{}: its table is of {there} cores and stays, this is of {here}",
                e.name
            ));
            continue;
        }
        let new = renewed(&old, e, results, record, name)
            .ok_or_else(|| failed(&"there is no Result followed by a Verdict"))?;
        std::fs::write(&path, new).map_err(|fault| failed(&fault))?;
        written.push(e.name.to_owned());
    }
    Ok((written, kept))
}

/// Cores of the machine that a README's table is of.
fn cores_of(readme: &str) -> Option<usize> {
    let (_, result) = readme.split_once(RESULT)?;
    let (_, rest) = result.lines().next()?.split_once(", ")?;
    rest.split_once(" cores")?.0.parse().ok()
}

fn renewed(
    old: &str,
    e: &Experiment,
    results: &Results,
    record: &Record,
    name: &str,
) -> Option<String> {
    let (before, rest) = old.split_once(RESULT)?;
    let (_, verdict) = rest.split_once(VERDICT)?;
    let verdict = judged(verdict, &sentence(e, results));
    Some(format!("{before}{RESULT}{}\n\n{VERDICT}{verdict}", result(e, results, record, name)))
}

/// A verdict with this sentence in it, where it is open or has such a one.
fn judged(old: &str, sentence: &str) -> String {
    let rest = match old.strip_prefix(OPEN) {
        Some(rest) => Some(rest),
        None => old.strip_prefix(GENERATED).and_then(|old| Some(old.split_once(END)?.1)),
    };
    match rest {
        Some(rest) => format!("{GENERATED}{sentence}{END}{rest}"),
        None => old.to_owned(),
    }
}

/// The part behind the word "Result".
fn result(e: &Experiment, results: &Results, record: &Record, name: &str) -> String {
    let measure = Experiment::find(&results.name).map_or(THROUGHPUT, |e| e.measure);
    let form = if record.request.long { "long" } else { "short" };
    let rounds = results.runs.iter().map(|run| run.round + 1).max().unwrap_or(0);
    let (cores, when) = (record.machine.cores, &record.started[..10.min(record.started.len())]);
    let partial = match results.runs.len() < results.planned {
        true => format!(", partial: {} of {} runs", results.runs.len(), results.planned),
        false => String::new(),
    };
    let mut text = format!(
        "{when}, {cores} cores, {form} form ([record](../record/{name}/record.json){partial}): medians of {rounds}\n\
         interleaved repetitions, {} (least–greatest).\n\n",
        measure.label
    );
    let targets = results.targets();
    let heads: String = targets.iter().map(|target| format!(" {target} |")).collect();
    writeln!(text, "| | {} |{heads}", e.axis).expect("strings take writes");
    writeln!(text, "|---|---|{}", "---|".repeat(targets.len())).expect("strings take writes");
    for variant in results.variants() {
        for x in results.xs() {
            let shown = |target: &&str| {
                let spread = cell(results, target, variant, x, measure.figure)?;
                let [median, least, most] = [spread.median, spread.min, spread.max].map(short);
                Some(format!("{median} ({least}–{most})"))
            };
            let cells: Vec<Option<String>> = targets.iter().map(shown).collect();
            if cells.iter().any(Option::is_some) {
                let cells: String = cells
                    .into_iter()
                    .map(|cell| format!(" {} |", cell.unwrap_or_default()))
                    .collect();
                writeln!(text, "| {variant} | {x} |{cells}").expect("strings take writes");
            }
        }
    }
    let checks = (e.checks)(results);
    if !checks.is_empty() {
        text.push('\n');
    }
    for check in checks {
        writeln!(text, "- {}", check.text()).expect("strings take writes");
    }
    for grid in grids(results) {
        write!(text, "\n{}", grid.markdown()).expect("strings take writes");
    }
    text.trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_result_is_written_anew_and_what_people_wrote_stays() {
        let record = crate::tests::record(200.0, 100.0);
        let results = &record.experiments[0];
        let e = Experiment::find(&results.name).unwrap();
        let first =
            "# x\n\n**Method.** m.\n\n**Result.** None is recorded yet.\n\n**Verdict.** Open.\n";
        let once = renewed(first, e, results, &record, "then").unwrap();
        assert!(once.starts_with("# x\n\n**Method.** m.\n\n**Result.** "), "{once}");
        assert!(
            once.contains("(../record/then/record.json") && once.contains("| thalweg |"),
            "{once}"
        );
        assert!(!once.contains("None is recorded") && !once.contains("Open."), "{once}");
        let judged = once.split_once(VERDICT).unwrap().0.to_owned() + "**Verdict.** Ours.\n";
        let again = renewed(&judged, e, results, &record, "later").unwrap();
        assert!(again.ends_with("\n\n**Verdict.** Ours.\n"), "{again}");
        assert!(again.contains("record/later/") && !again.contains("record/then/"), "{again}");
        let other = crate::tests::record(300.0, 100.0);
        let changed = renewed(&once, e, &other.experiments[0], &other, "later").unwrap();
        assert!(once.contains("2.00 times") && changed.contains("3.00 times"), "{changed}");
        assert!(!changed.contains("2.00 times"), "a verdict of the record before: {changed}");
        let more = format!("{}And more.\n", once.replace(&format!("{END}\n"), &format!("{END} ")));
        let again = renewed(&more, e, &other.experiments[0], &other, "later").unwrap();
        assert!(again.ends_with(&format!("3.00 times the better PostgreSQL.{END} And more.\n")));
        assert_eq!(renewed("nothing", e, results, &record, "x"), None);
    }

    /// More cores than the new record's: what no such machine can measure again soon stays.
    #[test]
    fn a_table_of_a_larger_machine_stays() {
        let scratch = bench::servers::Scratch::new("lab-results").unwrap();
        let mut record = crate::tests::record(200.0, 100.0);
        record.machine.cores = 2;
        let path = scratch.path().join("s4-hash/README.md");
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        let old = format!("{RESULT}2026-11-27, 16 cores, short form: x\n\n{VERDICT}Ours.\n");
        std::fs::write(&path, &old).unwrap();
        let write = |record: &Record, asked: &[&str]| {
            let asked: Vec<String> = asked.iter().map(|&name| name.to_owned()).collect();
            write(record, "now", &asked, scratch.path()).unwrap()
        };
        let (written, kept) = write(&record, &[]);
        assert!(written.is_empty() && kept[0].contains("16 cores and stays"), "{kept:?}");
        assert_eq!(std::fs::read_to_string(&path).unwrap(), old);
        record.machine.cores = 32;
        assert_eq!(write(&record, &["ceiling"]), (Vec::new(), Vec::new()), "not asked for");
        assert_eq!(write(&record, &["s4-hash"]).0, ["s4-hash"]);
        assert!(std::fs::read_to_string(&path).unwrap().contains(", 32 cores,"));
    }

    /// What people wrote under "Verdict" is of the record that the table above it is of: who puts in another table is to read it
    /// again.
    #[test]
    fn verdicts_that_people_wrote_are_of_the_record_above() {
        let lab = bench::record::checkout().join("lab");
        for e in crate::experiments::ALL {
            let text = std::fs::read_to_string(lab.join(e.name).join("README.md")).unwrap();
            let (result, verdict) = text.split_once(VERDICT).unwrap();
            let (_, result) = result.split_once(RESULT).unwrap();
            let (_, link) = result.split_once("](../record/").unwrap();
            let record = link.split('/').next().unwrap();
            let own = verdict.strip_prefix(GENERATED).and_then(|rest| rest.split_once(END));
            let people = own.map_or(verdict, |(_, rest)| rest).trim();
            let of = people.split_once(WRITTEN_OF).and_then(|(_, rest)| rest.split_once(" -->"));
            let of = of.map(|(name, _)| name);
            assert!(people.is_empty() || of == Some(record), "{}: of {of:?}, not {record}", e.name);
        }
    }

    /// Experiments that have no record yet. A new one comes in here, and goes when it has one.
    const WITHOUT_RECORD: [&str; 0] = [];

    /// So that none is forgotten.
    #[test]
    fn experiments_without_a_record_are_known() {
        let lab = bench::record::checkout().join("lab");
        let without = |e: &&Experiment| {
            let text = std::fs::read_to_string(lab.join(e.name).join("README.md")).unwrap();
            text.contains("None is recorded yet")
        };
        let all = crate::experiments::ALL.iter();
        let names: Vec<&str> = all.filter(without).map(|e| e.name).collect();
        assert_eq!(
            names, WITHOUT_RECORD,
            "whose README tells of no record, and who is known for it"
        );
    }

    /// The READMEs' own: each is what its record says now.
    #[test]
    fn generated_verdicts_are_those_of_their_records() {
        let lab = bench::record::checkout().join("lab");
        let mut seen = 0;
        for e in crate::experiments::ALL {
            let text = std::fs::read_to_string(lab.join(e.name).join("README.md")).unwrap();
            let Some((_, verdict)) = text.split_once(&format!("{VERDICT}{GENERATED}")) else {
                continue;
            };
            let (_, link) = text.split_once("([record](../").unwrap();
            let record = Record::load(&lab.join(link.split_once(')').unwrap().0)).unwrap();
            let results = record.experiments.iter().find(|r| r.name == e.name).unwrap();
            assert_eq!(verdict.split_once(END).unwrap().0, sentence(e, results), "{}", e.name);
            seen += 1;
        }
        assert!(seen >= 4, "{seen}");
    }
}
