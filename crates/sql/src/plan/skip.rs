//! What it takes to skip: to read, of a range of an index, only what conditions on columns behind a gap leave under each
//! value of the columns before (`exec::key_filter`). PostgreSQL 18's estimate (`btcostestimate`).

use crate::bind::tree::Expr;
use crate::catalog::{IndexDef, KeySource, TableDef};
use crate::types::Datum;

use super::cost::Reading;
use super::estimate::range_share;
use super::node::{KeyCondition, KeyRange, KeyTest, KeyValue};

/// The conditions that are tested on one key column.
#[derive(Clone, Copy, Debug)]
pub struct Tested {
    pub column: usize,
    /// Share of rows that they keep.
    pub share: f64,
    /// To how many values they come down, if they are equalities.
    pub values: Option<f64>,
}

/// The range without its tests.
#[derive(Clone, Copy, Debug)]
pub struct Base {
    /// Key columns with an equality.
    pub equal: usize,
    /// Share of rows within the bounds of the column behind them, if it has some.
    pub range: Option<f64>,
    pub whole: Reading,
    /// Of the table.
    pub rows: f64,
    /// Of the index.
    pub pages: f64,
}

/// What is read by skipping: a descent for each value of the columns that lack an equality, one more for where such a
/// column begins, and the less of the entries. As far as the columns' values are known, and their number is below that
/// of the index's pages. `None` if no column is skipped.
pub fn skipping(
    table: &TableDef,
    index: &IndexDef,
    base: Base,
    tested: &[Tested],
) -> Option<Reading> {
    let Reading { mut share, mut lookups } = base.whole;
    let (mut column, mut kept, mut skips) = (base.equal, base.range, false);
    'columns: for test in tested.iter().filter(|test| test.column >= base.equal) {
        while column < test.column {
            let Some(KeySource::Column(at)) = index.keys.get(column).map(|key| &key.source) else {
                break 'columns;
            };
            let Some(all) = table.distinct_values(*at, base.rows) else { break 'columns };
            let values = match kept.take() {
                Some(kept) => (all * kept).round().max(1.0),
                None => all + 1.0,
            };
            if lookups * values > base.pages {
                break 'columns;
            }
            (lookups, column, skips) = (lookups * values, column + 1, true);
        }
        share *= test.share;
        match test.values {
            Some(values) => {
                lookups = (lookups * values).min(base.pages.max(1.0));
                column += 1;
            }
            None => kept = Some(kept.unwrap_or(1.0) * test.share),
        }
    }
    let most = (base.pages / 3.0).ceil();
    skips.then(|| Reading { share, lookups: lookups.min(most).max(base.whole.lookups) })
}

/// The tests of a range, column by column.
pub fn tests_of(table: &TableDef, index: &IndexDef, tests: &[KeyTest], rows: f64) -> Vec<Tested> {
    let same_column = tests.chunk_by(|a, b| a.column == b.column);
    same_column.map(|same| of_column(table, index, same, rows)).collect()
}

fn of_column(table: &TableDef, index: &IndexDef, tests: &[KeyTest], rows: f64) -> Tested {
    let column = tests[0].column;
    let keys = &index.keys[column..];
    let (mut range, mut share, mut values) = (KeyRange::default(), 1.0, None::<f64>);
    for test in tests {
        match &test.what {
            KeyCondition::Value(value) => {
                let one = KeyRange { equal: vec![value.clone()], ..KeyRange::default() };
                share *= range_share(table, keys, &one, rows).unwrap_or(0.005);
                values = Some(values.unwrap_or(f64::INFINITY).min(looked_up(value)));
            }
            KeyCondition::NotNull => {}
            KeyCondition::Lower(value, included) => range.lower = Some((value.clone(), *included)),
            KeyCondition::Upper(value, included) => range.upper = Some((value.clone(), *included)),
        }
    }
    let bounds = [&range.lower, &range.upper].into_iter().flatten().count();
    if bounds > 0 {
        let unknown = if bounds == 2 { 0.005 } else { 1.0 / 3.0 };
        share *= range_share(table, keys, &range, rows).unwrap_or(unknown);
    }
    Tested { column, share, values }
}

/// How many keys are looked up for one of a range.
pub fn looked_up(key: &KeyValue) -> f64 {
    match key {
        KeyValue::AnyOf(Expr::Array(array)) => array.elements.len() as f64,
        KeyValue::AnyOf(Expr::Const(c)) => match &c.value {
            Datum::Array(array) => array.elements.len() as f64,
            _ => 10.0,
        },
        KeyValue::AnyOf(_) => 10.0,
        KeyValue::Is(_) | KeyValue::IsNull => 1.0,
    }
}
