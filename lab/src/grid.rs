//! What was counted of transactions, as tables, where a build of Thalweg that counts took part: for the screen, the READMEs
//! and the page.

use crate::model::{Results, figure};
use crate::statistics::cell;
use crate::table::{aligned, short};
use std::collections::BTreeSet;
use std::fmt::Write;

/// A table.
pub struct Grid {
    pub title: String,
    /// The heads first. Two columns of names, then numbers.
    pub rows: Vec<Vec<String>>,
}

/// Counts of each transaction by their names for people.
pub const COUNTS: [(&str, &str); 9] = [
    (figure::FUTEX, "futex calls"),
    (figure::OWN_SWITCHES, "switches"),
    (figure::INSTRUCTIONS, "instructions"),
    (figure::PARKS, "parks"),
    (figure::LATCHES, "latches"),
    (figure::LATCH_WAITS, "latch waits"),
    (figure::WRITES, "atomic writes"),
    (figure::SHARED_LINES, "shared lines"),
    (figure::PAGE_LINES, "pages' lines"),
];

/// A kind of latch that fewer transactions hold is left out.
const SELDOM: f64 = 0.001;

/// All of them; none where no such build took part.
pub fn grids(results: &Results) -> Vec<Grid> {
    let Some(x) = counted_at(results) else { return Vec::new() };
    [counts(results, x), holds(results, x)].into_iter().filter(|grid| grid.rows.len() > 1).collect()
}

/// The axis' last place where a build counted, or if none took part, where calls of the system were counted from outside.
pub fn counted_at(results: &Results) -> Option<u32> {
    let last = |names: &[&str]| {
        let has =
            |run: &&crate::model::Run| names.iter().any(|name| run.figures.contains_key(*name));
        results.runs.iter().filter(has).map(|run| run.x).max()
    };
    last(&[figure::LATCHES])
        .or_else(|| last(&[figure::FUTEX, figure::OWN_SWITCHES, figure::INSTRUCTIONS]))
}

fn counts(results: &Results, x: u32) -> Grid {
    let has = |name: &str| results.runs.iter().any(|run| run.figures.contains_key(name));
    let columns: Vec<(&str, &str)> = COUNTS.into_iter().filter(|(name, _)| has(name)).collect();
    let mut rows = vec![vec![String::new(), "server".to_owned()]];
    rows[0].extend(columns.iter().map(|(_, head)| (*head).to_owned()));
    for variant in results.variants() {
        for target in results.targets() {
            let of = |(name, _): &(&str, &str)| cell(results, target, variant, x, name);
            let cells: Vec<Option<String>> = columns
                .iter()
                .map(|column| of(column).map(|spread| short(spread.median)))
                .collect();
            if cells.iter().any(Option::is_some) {
                let mut row = vec![variant.to_owned(), target.to_owned()];
                row.extend(cells.into_iter().map(Option::unwrap_or_default));
                rows.push(row);
            }
        }
    }
    Grid { title: format!("Per transaction, {x} {}", results.axis), rows }
}

/// How latches of one kind are held by one load, in nanoseconds.
pub struct Holds<'r> {
    pub variant: &'r str,
    pub kind: &'r str,
    /// Per transaction.
    pub times: f64,
    pub mean: f64,
    /// What 99 of 100 are shorter than.
    pub most: f64,
    /// What all are shorter than.
    pub all: f64,
}

/// Of every load, the kinds that it holds often enough.
pub fn held(results: &Results, x: u32) -> Vec<Holds<'_>> {
    let told: BTreeSet<(&str, &str, &str)> = (results.runs.iter().filter(|run| run.x == x))
        .flat_map(|run| run.figures.keys().map(move |name| (run, name)))
        .filter_map(|(run, name)| {
            Some((&*run.variant, &*run.target, name.strip_prefix(figure::HOLDS)?))
        })
        .collect();
    let holds = told.into_iter().filter_map(|(variant, target, kind)| {
        let of = |what: &str| {
            let spread = cell(results, target, variant, x, &format!("{what}{kind}"))?;
            Some(spread.median)
        };
        let [times, mean] = [of(figure::HOLDS)?, of(figure::HOLD_MEAN)?];
        let [most, all] = [of(figure::HOLD_P99)?, of(figure::HOLD_MAX)?];
        Some(Holds { variant, kind, times, mean, most, all })
    });
    let mut often: Vec<Holds<'_>> = holds.filter(|holds| holds.times >= SELDOM).collect();
    let variants = results.variants();
    often.sort_by_key(|holds| variants.iter().position(|variant| *variant == holds.variant));
    often
}

fn holds(results: &Results, x: u32) -> Grid {
    let heads = ["", "latch", "times", "mean ns", "99 % under ns", "all under ns", "ns in all"];
    let mut rows = vec![heads.map(str::to_owned).to_vec()];
    rows.extend(held(results, x).into_iter().map(|held| {
        let times = match held.times {
            times if times < 0.1 => format!("{times:.3}"),
            times => short(times),
        };
        let [mean, most, all] = [held.mean, held.most, held.all].map(short);
        let (variant, kind) = (held.variant.to_owned(), held.kind.to_owned());
        vec![variant, kind, times, mean, most, all, short(held.times * held.mean)]
    }));
    let title = format!("Latches held per transaction, and how long, {x} {}", results.axis);
    Grid { title, rows }
}

impl Grid {
    /// For the screen.
    pub fn text(&self) -> String {
        format!("{}\n{}", self.title, aligned(&self.rows))
    }

    /// For a README.
    pub fn markdown(&self) -> String {
        let mut text = format!("{}:\n\n", self.title);
        for (number, row) in self.rows.iter().enumerate() {
            let cells: String = row.iter().map(|cell| format!(" {cell} |")).collect();
            writeln!(text, "|{cells}").expect("strings take writes");
            if number == 0 {
                writeln!(text, "|{}", "---|".repeat(row.len())).expect("strings take writes");
            }
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Run;
    use crate::tests::counted;

    #[test]
    fn what_was_counted_is_told_of_the_last_place() {
        let [counts, holds] = &grids(&counted())[..] else { panic!("two tables") };
        assert_eq!(counts.title, "Per transaction, 64 clients");
        assert_eq!(counts.rows[0], ["", "server", "futex calls", "latches", "shared lines"]);
        // A row for each load of the server that counts, and none of the other.
        assert_eq!(counts.rows[1], ["B-tree", "thalweg", "0.50", "4.00", "12.0"]);
        assert_eq!(counts.rows.len(), 3);
        // What is next to never held is left out.
        assert_eq!(holds.rows.len(), 3);
        assert_eq!(holds.rows[1], ["B-tree", "leaf, alone", "3.00", "100", "640", "5120", "300"]);
        assert!(
            holds.markdown().contains("\n|---|---|---|---|---|---|---|\n| B-tree | leaf, alone |")
        );
        assert!(holds.text().starts_with(&holds.title));
    }

    #[test]
    fn calls_of_the_system_are_told_where_no_build_counts() {
        let mut results = crate::tests::record(200.0, 100.0).experiments.remove(0);
        let theirs = |run: &&mut Run| run.target == "pg15" && run.x == 64;
        for run in results.runs.iter_mut().filter(theirs) {
            run.figures.insert(figure::FUTEX.to_owned(), 5.0);
            run.figures.insert(figure::OWN_SWITCHES.to_owned(), 17.0);
        }
        let [counts] = &grids(&results)[..] else { panic!("one table") };
        assert_eq!(counts.rows[0], ["", "server", "futex calls", "switches"]);
        assert_eq!(counts.rows[1], ["B-tree", "pg15", "5.00", "17.0"]);
    }

    #[test]
    fn where_nobody_counted_there_is_no_table() {
        assert!(grids(&crate::tests::record(200.0, 100.0).experiments[0]).is_empty());
    }
}
