//! Figures of several servers, and the table of their medians.

use crate::record::{median, table_head};
use std::fmt::Write;

/// One measured figure.
#[derive(Clone, PartialEq, Debug)]
pub struct Figure {
    /// A line of the table; with the unit behind it.
    pub what: String,
    /// A column.
    pub server: String,
    pub value: f64,
    pub unit: &'static str,
}

impl Figure {
    /// A server's figure.
    pub fn new(what: impl Into<String>, server: &str, value: f64, unit: &'static str) -> Figure {
        Figure { what: what.into(), server: server.to_owned(), value, unit }
    }

    /// Tells it while measuring goes on.
    pub fn tell(&self) {
        eprintln!("{}: {}: {} {}", self.server, self.what, self.value, self.unit);
    }
}

/// The median of a server's repetitions.
pub fn median_of(figures: &[Figure], what: &str, server: &str) -> Option<f64> {
    let these = figures.iter().filter(|figure| figure.what == what && figure.server == server);
    median(these.map(|figure| figure.value))
}

/// The least of what servers other than this one have, by their medians.
pub fn least_of_others(
    figures: &[Figure],
    what: &str,
    servers: &[String],
    but: &str,
) -> Option<f64> {
    let others = servers.iter().filter(|server| *server != but);
    others.filter_map(|server| median_of(figures, what, server)).reduce(f64::min)
}

/// What has to be at most a bound, as a line.
pub fn check(what: &str, value: f64, most: f64) -> String {
    let verdict = if value <= most { "holds" } else { "MISSED" };
    format!("{what}: {value:.2} (at most {most}: {verdict})")
}

/// What has to be at least a bound, as a line.
pub fn check_least(what: &str, value: f64, least: f64) -> String {
    let verdict = if value >= least { "holds" } else { "MISSED" };
    format!("{what}: {value:.2} (at least {least}: {verdict})")
}

/// The medians: one line for each figure, one column for each server.
pub fn table(figures: &[Figure], servers: &[String]) -> String {
    let mut text = String::new();
    table_head(&mut text, [""].into_iter().chain(servers.iter().map(String::as_str)));
    let mut done: Vec<&str> = Vec::new();
    for figure in figures {
        if done.contains(&figure.what.as_str()) {
            continue;
        }
        done.push(&figure.what);
        write!(text, "| {}, {} |", figure.what, figure.unit).expect("strings take writes");
        for server in servers {
            match median_of(figures, &figure.what, server) {
                Some(median) => write!(text, " {median:.2} |"),
                // It has no such thing.
                None => write!(text, " – |"),
            }
            .expect("strings take writes");
        }
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bound_itself_holds() {
        assert_eq!(check("time", 1.0, 1.0), "time: 1.00 (at most 1: holds)");
        assert_eq!(check("time", 1.01, 1.0), "time: 1.01 (at most 1: MISSED)");
        assert_eq!(check_least("share", 0.8, 0.8), "share: 0.80 (at least 0.8: holds)");
        assert_eq!(check_least("share", 0.79, 0.8), "share: 0.79 (at least 0.8: MISSED)");
    }
}
