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

/// The axis' last place where a build counted.
pub fn counted_at(results: &Results) -> Option<u32> {
    let counting = results.runs.iter().filter(|run| run.figures.contains_key(figure::LATCHES));
    counting.map(|run| run.x).max()
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

/// Kinds of latches that are held often enough in some variant, and on which server that counts.
pub fn held(results: &Results, x: u32) -> Vec<(&str, &str)> {
    let here = || results.runs.iter().filter(move |run| run.x == x);
    let kinds: BTreeSet<(&str, &str)> = here()
        .flat_map(|run| run.figures.iter().map(move |(name, count)| (run, name, *count)))
        .filter(|(_, _, count)| *count >= SELDOM)
        .filter_map(|(run, name, _)| Some((&*run.target, name.strip_prefix(figure::HOLDS)?)))
        .collect();
    kinds.into_iter().collect()
}

fn holds(results: &Results, x: u32) -> Grid {
    let heads = ["", "latch", "times", "mean ns", "99 % under ns", "all under ns", "held ns"];
    let mut rows = vec![heads.map(str::to_owned).to_vec()];
    for variant in results.variants() {
        for (target, kind) in held(results, x) {
            let of = |what: &str| {
                let spread = cell(results, target, variant, x, &format!("{what}{kind}"));
                spread.map(|spread| spread.median)
            };
            let figures = [figure::HOLDS, figure::HOLD_MEAN, figure::HOLD_P99, figure::HOLD_MAX];
            if let [Some(times), Some(mean), Some(most), Some(all)] = figures.map(of)
                && times >= SELDOM
            {
                let mut row = vec![variant.to_owned(), kind.to_owned()];
                row.push(if times < 0.1 { format!("{times:.3}") } else { short(times) });
                row.extend([mean, most, all, times * mean].map(short));
                rows.push(row);
            }
        }
    }
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
    fn where_nobody_counted_there_is_no_table() {
        assert!(grids(&crate::tests::record(200.0, 100.0).experiments[0]).is_empty());
    }
}
