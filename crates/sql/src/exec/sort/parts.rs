//! Sorting in memory that can be ended meanwhile: in parts, that are merged.

use std::cmp::Ordering;

use crate::error::Result;
use crate::exec::breathe;
use crate::steps::Steps;

/// Rows that are sorted without a look at whether the session is to go on.
const AT_ONCE: usize = 1 << 18;

/// Sorts, stably. Where it fails the rows are gone.
pub(super) fn sort<T>(rows: &mut Vec<T>, compare: &impl Fn(&T, &T) -> Ordering) -> Result<()> {
    sort_parts(rows, compare, AT_ONCE)
}

pub(super) fn sort_parts<T>(
    rows: &mut Vec<T>,
    compare: &impl Fn(&T, &T) -> Ordering,
    at_once: usize,
) -> Result<()> {
    if rows.len() <= at_once {
        rows.sort_by(compare);
        return Ok(());
    }
    for part in rows.chunks_mut(at_once) {
        part.sort_by(compare);
        breathe()?;
    }
    let mut starts = (at_once..rows.len()).step_by(at_once);
    if starts.all(|start| compare(&rows[start - 1], &rows[start]).is_le()) {
        return Ok(());
    }
    let mut all = std::mem::take(rows).into_iter();
    let next_part =
        || Some(all.by_ref().take(at_once).collect()).filter(|p: &Vec<T>| !p.is_empty());
    let mut parts: Vec<Vec<T>> = std::iter::from_fn(next_part).collect();
    while parts.len() > 1 {
        let mut old = std::mem::take(&mut parts).into_iter();
        while let Some(left) = old.next() {
            parts.push(match old.next() {
                Some(right) => merged(left, right, compare)?,
                None => left,
            });
        }
    }
    *rows = parts.pop().unwrap_or_default();
    Ok(())
}

/// The rows of both, which are sorted and not empty; of equal ones those on the left come first.
fn merged<T>(
    mut left: Vec<T>,
    mut right: Vec<T>,
    compare: &impl Fn(&T, &T) -> Ordering,
) -> Result<Vec<T>> {
    if compare(&left[left.len() - 1], &right[0]).is_le() {
        left.append(&mut right);
        return Ok(left);
    }
    if compare(&right[right.len() - 1], &left[0]).is_lt() {
        right.append(&mut left);
        return Ok(right);
    }
    let mut rows = Vec::with_capacity(left.len() + right.len());
    let (mut left, mut right, mut steps) = (left.into_iter(), right.into_iter(), Steps::default());
    while let (Some(a), Some(b)) = (left.as_slice().first(), right.as_slice().first()) {
        let next = if compare(b, a).is_lt() { right.next() } else { left.next() };
        rows.extend(next);
        steps.next()?;
    }
    rows.extend(left);
    rows.extend(right);
    Ok(rows)
}
