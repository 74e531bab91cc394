//! Ranges of an index: from values to bytes of keys.

use std::ops::Bound;

use storage::btree::{Bounds, Direction, Scan};

use crate::bind::tree::Expr;
use crate::catalog::IndexDef;
use crate::error::Result;
use crate::func::like;
use crate::plan::RANGES_MAX;
use crate::plan::node::{KeyCondition, KeyRange, KeyTest, KeyValue};
use crate::types::keycode::{VALUE_MARKER, after_prefix};
use crate::types::{Datum, compare};

use super::Cx;
use super::eval::eval;
use super::key_filter::{Interval, KeyFilter, TestedKeys};

/// Lower bound (included) and upper bound (excluded) in key bytes; an empty upper bound is none.
pub(super) struct Encoded {
    low: Vec<u8>,
    high: Vec<u8>,
}

/// What is to be scanned.
pub(super) struct Ranges {
    /// The next one last.
    pub left: Vec<Encoded>,
    /// What entries must meet besides, in all of them.
    pub filter: Option<KeyFilter>,
}

impl Encoded {
    /// Takes in a range that begins inside of this one, or before it ends.
    fn swallows(&mut self, next: &Encoded) -> bool {
        let overlap = self.high.is_empty() || next.low < self.high;
        if overlap && !self.high.is_empty() && (next.high.is_empty() || next.high > self.high) {
            self.high = next.high.clone();
        }
        overlap
    }

    /// The lower end: all of the key that a hash index is asked for.
    pub fn low(&self) -> &[u8] {
        &self.low
    }

    /// Likewise, for good.
    pub fn into_low(self) -> Vec<u8> {
        self.low
    }

    /// The entries behind `prefix` whose next column has one of these codes.
    fn of_codes(prefix: &[u8], codes: &Interval) -> Encoded {
        Encoded { low: [prefix, &codes.low].concat(), high: [prefix, &codes.high].concat() }
    }

    /// Leaves what is within `bounds` as well; `None`: nothing.
    fn within(mut self, bounds: Encoded) -> Option<Encoded> {
        self.low = self.low.max(bounds.low);
        if self.high.is_empty() || bounds.high < self.high {
            self.high = bounds.high;
        }
        (self.low < self.high).then_some(self)
    }

    /// As what codes of one column may be.
    fn into_interval(self) -> Interval {
        Interval { low: self.low, high: self.high, is_point: false }
    }

    /// A scan of the range.
    pub fn scan(&self, backward: bool, with_keys: bool) -> Scan {
        let direction = if backward { Direction::Backward } else { Direction::Forward };
        let high = match self.high.is_empty() {
            true => Bound::Unbounded,
            false => Bound::Excluded(self.high.as_slice()),
        };
        let bounds = Bounds { low: Bound::Included(self.low.as_slice()), high };
        Scan::new(bounds, direction, with_keys)
    }
}

/// Evaluates ranges of an index and puts them into scan order.
pub(super) fn encode_ranges(
    index: &IndexDef,
    ranges: &[KeyRange],
    backward: bool,
    cx: &mut Cx<'_>,
) -> Result<Ranges> {
    let mut encoded = Vec::with_capacity(ranges.len());
    let mut tested = TestedKeys::default();
    for range in ranges {
        encode_range(index, range, cx, &mut encoded, &mut tested)?;
    }
    assert!(ranges.len() <= 1 || tested.is_empty(), "what one range tests, the others don't");
    if tested.is_contradictory() {
        encoded.clear();
    }
    if ranges.len() > 1 || encoded.len() > 1 {
        encoded.sort_by(|a, b| a.low.cmp(&b.low));
        // Each entry is read once, however many ranges it lies in.
        encoded.dedup_by(|next, range| {
            next.low == range.low && next.high == range.high || range.swallows(next)
        });
    }
    if !backward {
        encoded.reverse();
    }
    let filter = tested.into_filter(index, backward);
    Ok(Ranges { left: encoded, filter })
}

/// Evaluates a range; what is to be tested between its bounds goes to `tested`.
fn encode_range(
    index: &IndexDef,
    range: &KeyRange,
    cx: &mut Cx<'_>,
    out: &mut Vec<Encoded>,
    tested: &mut TestedKeys,
) -> Result<()> {
    for test in &range.tests {
        let Some(set) = set_of(index, test, cx)? else { return Ok(()) };
        tested.add(test.column, set);
    }
    let (mut prefixes, mut fixed) = (vec![Vec::new()], 0);
    let can_be_tested = || {
        let mut keys = index.keys.iter().take(range.equal.len() + 1);
        keys.all(|key| key.code().code_length().is_some())
    };
    for (column, value) in range.equal.iter().enumerate() {
        let values = key_values(index, column, value, cx)?;
        // Lists multiply. Beyond some number the later ones are looked for in the entries instead.
        let few = prefixes.len() * values.len() <= RANGES_MAX;
        if fixed == column && (few || values.len() == 1 || prefixes.len() == 1 || !can_be_tested())
        {
            let code = index.keys[column].code();
            let mut longer = Vec::with_capacity(prefixes.len() * values.len());
            for prefix in &prefixes {
                for value in &values {
                    let mut key: Vec<u8> = prefix.clone();
                    code.encode(value, &mut key);
                    longer.push(key);
                }
            }
            (prefixes, fixed) = (longer, fixed + 1);
        } else {
            tested.add(column, points(index, column, &values));
        }
    }
    let column = range.equal.len();
    let (lower, upper) = match &range.pattern {
        None => (bound(range.lower.as_ref(), cx)?, bound(range.upper.as_ref(), cx)?),
        Some(pattern) => match eval(pattern, &[], cx)? {
            Datum::Null => return Ok(()),
            pattern => {
                let start = like::literal_start(pattern.as_text());
                let end = like::after_start(&start).map(|end| (Datum::text(end), false));
                (Some(Some((Datum::text(start), true))), Some(end))
            }
        },
    };
    let (Some(mut lower), Some(mut upper)) = (lower, upper) else { return Ok(()) };
    if fixed < column && (lower.is_some() || upper.is_some()) {
        let (lower, upper) = (lower.take(), upper.take());
        let within = encode_bounds(index, column, Vec::new(), lower.as_ref(), upper.as_ref());
        let Some(within) = within else { return Ok(()) };
        tested.add(column, vec![within.into_interval()]);
    }
    // What else is said of the column at which the range begins bounds it, too.
    let codes = if fixed == column { tested.take_interval(column) } else { None };
    for prefix in prefixes {
        let bounded = codes.as_ref().map(|codes| Encoded::of_codes(&prefix, codes));
        let range = encode_bounds(index, column, prefix, lower.as_ref(), upper.as_ref());
        out.extend(match bounded {
            Some(bounded) => range.and_then(|range| range.within(bounded)),
            None => range,
        });
    }
    Ok(())
}

/// What a test lets through of its column's codes; `None`: nothing.
fn set_of(index: &IndexDef, test: &KeyTest, cx: &mut Cx<'_>) -> Result<Option<Vec<Interval>>> {
    let column = test.column;
    let (lower, upper) = match &test.what {
        KeyCondition::Value(value) => {
            let values = key_values(index, column, value, cx)?;
            return Ok((!values.is_empty()).then(|| points(index, column, &values)));
        }
        KeyCondition::NotNull => {
            let (low, high) = (vec![VALUE_MARKER], vec![VALUE_MARKER + 1]);
            return Ok(Some(vec![Interval { low, high, is_point: false }]));
        }
        KeyCondition::Lower(value, included) => (Some((value, *included)), None),
        KeyCondition::Upper(value, included) => (None, Some((value, *included))),
    };
    let mut eval_bound = |bound: Option<(&Expr, bool)>| match bound {
        None => Ok(Some(None)),
        Some((expr, included)) => bound_value(expr, included, cx),
    };
    let (Some(lower), Some(upper)) = (eval_bound(lower)?, eval_bound(upper)?) else {
        return Ok(None);
    };
    let within = encode_bounds(index, column, Vec::new(), lower.as_ref(), upper.as_ref());
    Ok(within.map(|within| vec![within.into_interval()]))
}

/// The codes of single values, in key order.
fn points(index: &IndexDef, column: usize, values: &[Datum]) -> Vec<Interval> {
    let code = index.keys[column].code();
    let point = |value: &Datum| {
        let mut low = Vec::new();
        code.encode(value, &mut low);
        let high = after_prefix(&low).unwrap_or_default();
        Interval { low, high, is_point: true }
    };
    let mut points: Vec<Interval> = values.iter().map(point).collect();
    points.sort_by(|a, b| a.low.cmp(&b.low));
    points.dedup_by(|a, b| a.low == b.low);
    points
}

/// The values that a column may have; none where nothing can be equal.
fn key_values(
    index: &IndexDef,
    column: usize,
    value: &KeyValue,
    cx: &mut Cx<'_>,
) -> Result<Vec<Datum>> {
    match value {
        KeyValue::IsNull => Ok(vec![Datum::Null]),
        KeyValue::Is(expr) => Ok(match eval(expr, &[], cx)? {
            Datum::Null => Vec::new(),
            value => vec![value],
        }),
        KeyValue::AnyOf(expr) => any_values(index, column, expr, cx),
    }
}

/// Distinct non-null elements of an array.
fn any_values(index: &IndexDef, column: usize, expr: &Expr, cx: &mut Cx<'_>) -> Result<Vec<Datum>> {
    let Datum::Array(array) = eval(expr, &[], cx)? else { return Ok(Vec::new()) };
    let ty = index.keys[column].ty.id;
    let mut values: Vec<Datum> = array.elements.iter().filter(|v| !v.is_null()).cloned().collect();
    values.sort_by(|a, b| compare(ty, a, b));
    values.dedup_by(|a, b| compare(ty, a, b).is_eq());
    Ok(values)
}

/// Key bytes of a range on `column` below a prefix; `None` when no key can lie in it.
fn encode_bounds(
    index: &IndexDef,
    column: usize,
    prefix: Vec<u8>,
    lower: Option<&(Datum, bool)>,
    upper: Option<&(Datum, bool)>,
) -> Option<Encoded> {
    let after = |key: &[u8]| after_prefix(key).unwrap_or_default();
    if lower.is_none() && upper.is_none() {
        let high = after(&prefix);
        return Some(Encoded { low: prefix, high });
    }
    let code = index.keys[column].code();
    let key_of = |value: &Datum| {
        let mut key = prefix.clone();
        code.encode(value, &mut key);
        key
    };
    // In key order a descending column's upper bound comes first.
    let (first, last) = if code.descending { (upper, lower) } else { (lower, upper) };
    let values_only = |nulls_first_side: bool| {
        // Nulls never meet a comparison: the range begins or ends where values do.
        let mut key = prefix.clone();
        if nulls_first_side {
            key.push(VALUE_MARKER);
        } else {
            key.push(VALUE_MARKER + 1);
        }
        key
    };
    let low = match first {
        None => values_only(true),
        Some((value, true)) => key_of(value),
        Some((value, false)) => after(&key_of(value)),
    };
    let high = match last {
        None => values_only(false),
        Some((value, true)) => after(&key_of(value)),
        Some((value, false)) => key_of(value),
    };
    (high.is_empty() || low < high).then_some(Encoded { low, high })
}

/// A bound's value: `None` when it is null (nothing matches), `Some(None)` when there is no bound.
type BoundValue = Option<Option<(Datum, bool)>>;

fn bound(bound: Option<&(Expr, bool)>, cx: &mut Cx<'_>) -> Result<BoundValue> {
    let Some((expr, included)) = bound else { return Ok(Some(None)) };
    bound_value(expr, *included, cx)
}

fn bound_value(expr: &Expr, included: bool, cx: &mut Cx<'_>) -> Result<BoundValue> {
    match eval(expr, &[], cx)? {
        Datum::Null => Ok(None),
        value => Ok(Some(Some((value, included)))),
    }
}
