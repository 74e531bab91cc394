//! What `pg_get_keywords` lists: the words of PostgreSQL 15's grammar, which drivers look up to know what to quote.

use crate::types::Datum;

/// Word, category and whether it can be a column's label without AS, separated by tabs.
const WORDS: &str = include_str!("../func/data/keywords.tsv");

pub(super) fn all() -> Vec<Vec<Datum>> {
    WORDS.lines().map(row).collect()
}

fn row(line: &str) -> Vec<Datum> {
    let mut parts = line.split('\t');
    let mut next = || parts.next().expect("three columns");
    let (word, category, bare) = (next(), next(), next() == "t");
    let described = match category {
        "C" => "unreserved (cannot be function or type name)",
        "R" => "reserved",
        "T" => "reserved (can be function or type name)",
        _ => "unreserved",
    };
    vec![
        Datum::text(word),
        Datum::Char(category.as_bytes()[0]),
        Datum::Bool(bare),
        Datum::text(described),
        Datum::text(if bare { "can be bare label" } else { "requires AS" }),
    ]
}
