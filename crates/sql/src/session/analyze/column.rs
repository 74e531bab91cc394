//! What a sample tells of a column: distinct values, the most common ones, a histogram, how far the values lie in
//! the order of the rows. PostgreSQL's formulas.

use crate::types::{Array, Datum, TypeId, ValueOrder};

/// Values longer than this are counted, but kept nowhere.
const WIDTH_MAX: usize = 1024;

/// What the sample was taken from.
#[derive(Clone, Copy)]
pub struct Sampled {
    /// Rows of the sample.
    pub rows: usize,
    /// Rows of the table, as far as is known.
    pub total: f64,
    /// How many values are listed, and parts made, at most.
    pub target: usize,
}

/// What was found.
#[derive(Default, Debug)]
pub struct Found {
    pub nulls: f64,
    pub width: f64,
    pub distinct: f64,
    pub common: Vec<(Datum, f64)>,
    pub bounds: Vec<Datum>,
    pub correlation: Option<f64>,
}

/// A value that occurs more than once.
struct Run {
    first: usize,
    count: usize,
}

/// `values` are those of the sampled rows, in the order of the table; `ordered`: the type has an order.
pub fn examine(values: &[&Datum], order: ValueOrder, ordered: bool, sampled: Sampled) -> Found {
    let ty = order.type_id;
    let mut found = Found::default();
    let (mut bytes, mut too_wide) = (0usize, 0usize);
    let mut kept: Vec<(&Datum, usize)> = Vec::with_capacity(values.len());
    for value in values.iter().filter(|value| !value.is_null()) {
        let width = width_of(value, ty);
        bytes += width;
        if width > WIDTH_MAX {
            too_wide += 1;
        } else {
            kept.push((value, kept.len()));
        }
    }
    let present = kept.len() + too_wide;
    let nulls = sampled.rows - present;
    found.nulls = nulls as f64 / sampled.rows.max(1) as f64;
    if present == 0 {
        let fixed = crate::types::type_info(ty).map_or(0, |info| info.len.max(0));
        found.width = fixed.into();
        return found;
    }
    found.width = bytes as f64 / present as f64;
    if !ordered {
        return found;
    }
    kept.sort_by(|a, b| order.compare(a.0, b.0).then(a.1.cmp(&b.1)));
    let (distinct, runs) = runs_of(&kept, order);
    let several = runs.len();
    let distinct_seen = distinct + too_wide;
    found.distinct = if several == 0 {
        -(1.0 - found.nulls)
    } else if too_wide == 0 && several == distinct {
        distinct as f64
    } else {
        estimated(distinct_seen, several, sampled, found.nulls)
    };
    if found.distinct > 0.1 * sampled.total {
        found.distinct = -(found.distinct / sampled.total);
    }
    let common = common_of(runs, distinct, too_wide, &found, sampled);
    let share = |run: &Run| run.count as f64 / sampled.rows as f64;
    found.common = common.iter().map(|run| (kept[run.first].0.clone(), share(run))).collect();
    found.bounds = bounds_of(&kept, &common, distinct, sampled.target);
    found.correlation = correlation_of(&kept);
    found
}

/// How many different values there are, and those that occur more than once.
fn runs_of(kept: &[(&Datum, usize)], order: ValueOrder) -> (usize, Vec<Run>) {
    let mut runs = Vec::new();
    let (mut distinct, mut first) = (0, 0);
    for run in kept.chunk_by(|a, b| order.compare(a.0, b.0).is_eq()) {
        distinct += 1;
        if run.len() > 1 {
            runs.push(Run { first, count: run.len() });
        }
        first += run.len();
    }
    (distinct, runs)
}

/// Haas and Stokes' estimate of the distinct values of the whole table.
fn estimated(distinct: usize, several: usize, sampled: Sampled, nulls: f64) -> f64 {
    let once = (distinct - several) as f64;
    let d = distinct as f64;
    let n = sampled.rows as f64 * (1.0 - nulls);
    let all = sampled.total * (1.0 - nulls);
    let estimate = if all > 0.0 { (n * d) / ((n - once) + once * n / all) } else { 0.0 };
    (estimate.clamp(d, all.max(d)) + 0.5).floor()
}

/// The values worth listing, the most common first.
fn common_of(
    mut runs: Vec<Run>,
    distinct: usize,
    too_wide: usize,
    found: &Found,
    sampled: Sampled,
) -> Vec<Run> {
    runs.sort_by(|a, b| b.count.cmp(&a.count).then(a.first.cmp(&b.first)));
    let complete = runs.len() == distinct && too_wide == 0 && found.distinct > 0.0;
    let is_all = complete && runs.len() <= sampled.target;
    runs.truncate(sampled.target);
    if is_all || sampled.rows as f64 >= sampled.total || sampled.total <= 1.0 {
        return runs;
    }
    let (rows, total) = (sampled.rows as f64, sampled.total);
    let distinct = if found.distinct < 0.0 { -found.distinct * total } else { found.distinct };
    let mut sum: usize = runs.iter().rev().skip(1).map(|run| run.count).sum();
    while let Some(last) = runs.last() {
        let mut share = (1.0 - sum as f64 / rows - found.nulls).clamp(0.0, 1.0);
        let others = distinct - (runs.len() - 1) as f64;
        if others > 1.0 {
            share /= others;
        }
        let count = last.count as f64;
        let k = total * count / rows;
        let variance = rows * k * (total - k) * (total - rows) / (total * total * (total - 1.0));
        if count > share * rows + 2.0 * variance.max(0.0).sqrt() + 0.5 {
            break;
        }
        runs.pop();
        sum -= runs.last().map_or(0, |run| run.count);
    }
    runs
}

/// Bounds of the parts that the values not listed fall into.
fn bounds_of(
    kept: &[(&Datum, usize)],
    common: &[Run],
    distinct: usize,
    target: usize,
) -> Vec<Datum> {
    let parts = (distinct - common.len()).min(target + 1);
    if parts < 2 {
        return Vec::new();
    }
    let mut listed: Vec<(usize, usize)> =
        common.iter().map(|run| (run.first, run.first + run.count)).collect();
    listed.sort_unstable();
    let mut left = Vec::with_capacity(kept.len());
    let mut at = 0;
    for (first, end) in listed {
        left.extend(kept[at..first].iter().map(|(value, _)| *value));
        at = end;
    }
    left.extend(kept[at..].iter().map(|(value, _)| *value));
    let step = |i: usize| i * (left.len() - 1) / (parts - 1);
    (0..parts).map(|i| left[step(i)].clone()).collect()
}

/// Between the order of the values and that of the rows: 1 for the same, -1 for the reverse.
fn correlation_of(kept: &[(&Datum, usize)]) -> Option<f64> {
    let n = kept.len() as f64;
    if kept.len() < 2 {
        return None;
    }
    let both: f64 = kept.iter().enumerate().map(|(at, (_, row))| at as f64 * *row as f64).sum();
    let sum = (n - 1.0) * n / 2.0;
    let squares = (n - 1.0) * n * (2.0 * n - 1.0) / 6.0;
    Some((n * both - sum * sum) / (n * squares - sum * sum))
}

/// Bytes of an array as PostgreSQL would store it, but for the header that all long values have.
fn array_bytes(array: &Array) -> usize {
    let mut bytes = 12 + 8 * array.dims.len();
    if array.elements.iter().any(Datum::is_null) {
        bytes += array.elements.len().div_ceil(8);
    }
    // With the header the elements begin at a multiple of 8.
    bytes = (bytes + 4).next_multiple_of(8) - 4;
    let info = crate::types::type_info(array.element_type);
    let (len, align) = info.map_or((-1, b'i'), |info| (info.len, info.align));
    let align = match align {
        b'c' => 1,
        b's' => 2,
        b'i' => 4,
        _ => 8,
    };
    let of_element = |element: &Datum| match usize::try_from(len) {
        Ok(len) => len,
        // Always with the long header.
        Err(_) => match width_of(element, array.element_type) {
            short if short <= 127 => short + 3,
            long => long,
        },
    };
    let there = array.elements.iter().filter(|element| !element.is_null());
    bytes + there.map(|element| of_element(element).next_multiple_of(align)).sum::<usize>()
}

/// Bytes of a value as PostgreSQL would store it.
fn width_of(value: &Datum, ty: TypeId) -> usize {
    if let Some(len) = crate::types::type_info(ty).and_then(|info| usize::try_from(info.len).ok()) {
        return len;
    }
    let bytes = match value {
        Datum::Text(text) => text.len(),
        Datum::Bytea(bytes) => bytes.len(),
        Datum::Jsonb(text) => text.len(),
        // A header, and two bytes for each digit of base 10000.
        Datum::Numeric(n) if n.is_finite() => return 3 + 2 * n.parts().digits.len(),
        Datum::Array(array) => array_bytes(array),
        _ => 8,
    };
    // A short value has a header of one byte.
    if bytes < 127 { bytes + 1 } else { bytes + 4 }
}
