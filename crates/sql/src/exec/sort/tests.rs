//! Parts that are merged against the library's sort.

use base::interrupt::Interrupt;

use super::parts::sort_parts;
use super::sort_rows;
use crate::error::SqlState;

/// Numbers of some kinds, each with its place.
fn numbered(count: usize, kind: impl Fn(usize) -> usize) -> Vec<(usize, usize)> {
    (0..count).map(|i| (kind(i), i)).collect()
}

#[test]
fn parts_are_merged_stably() {
    let mut all = Vec::new();
    for count in [0, 1, 15, 16, 17, 100, 257, 1000, 4099] {
        all.push(numbered(count, |i| i * 7919 % 97));
        all.push(numbered(count, |i| i / 3));
        all.push(numbered(count, |i| count - i));
        all.push(numbered(count, |i| (i * 7919 % 1009) << (i % 3)));
    }
    for rows in all {
        for at_once in [1, 16, 1000] {
            let (mut sorted, mut expected) = (rows.clone(), rows.clone());
            sort_parts(&mut sorted, &|a, b| a.0.cmp(&b.0), at_once).unwrap();
            expected.sort_by_key(|row| row.0);
            assert_eq!(sorted, expected);
        }
    }
}

#[test]
fn many_rows_are_not_sorted_to_the_end_of_a_canceled_statement() {
    let mut rows = numbered(300_000, |i| i * 7919 % 100_003);
    base::park::current().interrupt(Interrupt::Cancel);
    let canceled = sort_rows(&mut rows, |a, b| a.0.cmp(&b.0), None).expect_err("somebody looks");
    base::interrupt::clear_statement();
    assert_eq!(canceled.fields().sqlstate, SqlState::QUERY_CANCELED);
}
