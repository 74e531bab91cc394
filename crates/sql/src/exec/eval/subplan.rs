//! Sub-selects inside expressions.

use crate::bind::tree::{Call, SubLinkKind, SubPlan};
use crate::error::{Result, sql_error};
use crate::exec::spill::{RowReader, RowStore, check_held, values_bytes};
use crate::exec::{Cx, Running};
use crate::func::{Accumulator, Arrays};
use crate::plan::node::Members;
use crate::types::{Array, Datum, TypeId, type_info};

use super::hashed_rows::HashedRows;
use super::{eval as value_of, invoke_pair};

/// What an execution keeps of one sub-plan.
pub(in crate::exec) struct SubplanState {
    operator: Running,
    started: bool,
    /// The value of a sub-plan that depends on nothing outside (not for ANY and ALL), and the last one of a row's source.
    value: Option<Datum>,
    /// Likewise its rows, for ANY and ALL; of an EXISTS those of its [`Members`].
    rows: Option<Kept>,
    spent: Spent,
}

/// What looking for single rows of an EXISTS has cost so far.
#[derive(Default)]
struct Spent {
    /// Rows that did not meet its conditions, in all, and the most for one row that asked.
    dropped: u64,
    most: u64,
    /// There are more rows than may be hashed.
    too_many: bool,
}

/// Hashing a row costs so many times what dropping it does.
const HASHING: f64 = 4.0;

impl Spent {
    /// Whether hashing all rows, which reads about so many, would have cost no more.
    fn is_too_much(&self, rows: f64) -> bool {
        let rows = rows.max(self.most as f64).max(1.0);
        !self.too_many && self.dropped as f64 >= HASHING * rows
    }
}

/// A sub-plan's rows, to be compared with again and again.
enum Kept {
    Hashed(HashedRows),
    /// As far as somebody has read; `whole`: that is all.
    Stored {
        rows: RowStore,
        whole: bool,
    },
}

pub(super) fn eval(subplan: &SubPlan, row: &[Datum], cx: &mut Cx<'_>) -> Result<Datum> {
    let at = usize::from(subplan.id);
    let mut state = cx.state.subplans[at].take().unwrap_or_else(|| SubplanState {
        operator: cx.run(&subplan.plan.root),
        started: false,
        value: None,
        rows: None,
        spent: Spent::default(),
    });
    let result = eval_with(subplan, &mut state, row, cx);
    cx.state.subplans[at] = Some(state);
    result
}

fn eval_with(
    subplan: &SubPlan,
    state: &mut SubplanState,
    row: &[Datum],
    cx: &mut Cx<'_>,
) -> Result<Datum> {
    if let SubLinkKind::Quantified { tests, all } = &subplan.kind {
        let lefts =
            tests.iter().map(|t| value_of(&t.args[0], row, cx)).collect::<Result<Vec<_>>>()?;
        if subplan.plan.once {
            if state.rows.is_none() {
                state.rows = Some(kept_rows(subplan, state, row, cx)?);
            }
            return quantified_over(subplan, tests, *all, &lefts, state, cx);
        }
        start(subplan, state, row, cx)?;
        return quantified(tests, *all, &lefts, &mut state.operator, cx);
    }
    if let Some(members) = &subplan.plan.members {
        return exists(subplan, members, state, row, cx).map(Datum::Bool);
    }
    let row_again = matches!(subplan.kind, SubLinkKind::Row { again: true });
    if let Some(value) = state.value.as_ref().filter(|_| subplan.plan.once || row_again) {
        return Ok(value.clone());
    }
    start(subplan, state, row, cx)?;
    let value = match subplan.kind {
        SubLinkKind::Exists => Datum::Bool(state.operator.next(cx)?),
        SubLinkKind::Scalar | SubLinkKind::Row { .. } => scalar(&mut state.operator, cx)?,
        SubLinkKind::Array { nested: true } => stacked(subplan, &mut state.operator, cx)?,
        _ => array(subplan, &mut state.operator, cx)?,
    };
    if subplan.plan.once || matches!(subplan.kind, SubLinkKind::Row { .. }) {
        state.value = Some(value.clone());
    }
    Ok(value)
}

/// The rows of a sub-plan: all in a hash table if that can answer what is asked of them, and memory holds it; else to be
/// read as they are asked for.
fn kept_rows(
    subplan: &SubPlan,
    state: &mut SubplanState,
    row: &[Datum],
    cx: &mut Cx<'_>,
) -> Result<Kept> {
    start(subplan, state, row, cx)?;
    let Some(keys) = &subplan.plan.hashed else {
        return Ok(Kept::Stored { rows: cx.row_store(), whole: false });
    };
    let rows = cx.collect(&mut state.operator)?;
    let hashed = HashedRows::of(&rows, keys, cx)?;
    Ok(hashed.map_or(Kept::Stored { rows, whole: true }, Kept::Hashed))
}

/// Whether an EXISTS has a row for the one at hand: looked for alone as long as that is cheap, then among all of them.
fn exists(
    subplan: &SubPlan,
    members: &Members,
    state: &mut SubplanState,
    row: &[Datum],
    cx: &mut Cx<'_>,
) -> Result<bool> {
    set_args(subplan, row, cx)?;
    if state.rows.is_none() && state.spent.is_too_much(members.rows) {
        let rows = HashedRows::read(&mut *cx.run(&members.root), &members.keys, cx)?;
        state.spent.too_many = rows.is_none();
        state.rows = rows.map(Kept::Hashed);
    }
    if let Some(Kept::Hashed(rows)) = &state.rows {
        return Ok(rows.contain(&[], &members.keys, cx)? == Some(true));
    }
    start_over(state, cx)?;
    let before = cx.state.removed;
    let found = state.operator.next(cx)?;
    let dropped = cx.state.removed - before;
    state.spent.dropped += dropped;
    state.spent.most = state.spent.most.max(dropped);
    Ok(found)
}

/// Sets the correlated values and starts the operator over.
fn start(
    subplan: &SubPlan,
    state: &mut SubplanState,
    row: &[Datum],
    cx: &mut Cx<'_>,
) -> Result<()> {
    set_args(subplan, row, cx)?;
    start_over(state, cx)
}

fn set_args(subplan: &SubPlan, row: &[Datum], cx: &mut Cx<'_>) -> Result<()> {
    for (slot, expr) in &subplan.args {
        cx.state.exec[usize::from(*slot)] = value_of(expr, row, cx)?;
    }
    Ok(())
}

fn start_over(state: &mut SubplanState, cx: &mut Cx<'_>) -> Result<()> {
    if std::mem::replace(&mut state.started, true) {
        state.operator.rescan(cx)?;
    }
    Ok(())
}

fn scalar(operator: &mut Running, cx: &mut Cx<'_>) -> Result<Datum> {
    if !operator.next(cx)? {
        return Ok(Datum::Null);
    }
    let value = operator.row()[0].clone();
    if operator.next(cx)? {
        return Err(sql_error!(
            CARDINALITY_VIOLATION,
            "more than one row returned by a subquery used as an expression"
        ));
    }
    Ok(value)
}

fn array(subplan: &SubPlan, operator: &mut Running, cx: &mut Cx<'_>) -> Result<Datum> {
    let mut elements = Vec::new();
    let mut bytes = 0;
    while operator.next(cx)? {
        let element = &operator.row()[..1];
        bytes += values_bytes(element);
        check_held(bytes, "An array")?;
        elements.extend_from_slice(element);
    }
    Ok(Array::from_elements(element_of(subplan), elements).into())
}

/// What the array that ARRAY(SELECT …) makes is an array of.
fn element_of(subplan: &SubPlan) -> TypeId {
    type_info(subplan.ty.id).map_or(TypeId::UNKNOWN, |info| info.element)
}

/// The rows' arrays as one of a dimension more.
fn stacked(subplan: &SubPlan, operator: &mut Running, cx: &mut Cx<'_>) -> Result<Datum> {
    let element = element_of(subplan);
    let mut arrays = Arrays::of(element);
    while operator.next(cx)? {
        arrays.push(&operator.row()[0])?;
        check_held(arrays.memory(), "An array")?;
    }
    Ok(arrays.stacked().unwrap_or_else(|| Array::empty(element)).into())
}

/// One row's verdict: whether all tests hold; `None` when a null leaves it open.
fn verdict(
    tests: &[Call],
    lefts: &[Datum],
    row: &[Datum],
    cx: &mut Cx<'_>,
) -> Result<Option<bool>> {
    let mut open = false;
    for (test, left) in tests.iter().zip(lefts) {
        let right = value_of(&test.args[1], row, cx)?;
        match invoke_pair(test, left, &right, cx)? {
            Datum::Bool(true) => {}
            Datum::Bool(false) => return Ok(Some(false)),
            _ => open = true,
        }
    }
    Ok(if open { None } else { Some(true) })
}

/// Folds verdicts as ANY and ALL do.
struct Fold {
    all: bool,
    open: bool,
}

impl Fold {
    /// The final answer, when this verdict decides it.
    fn take(&mut self, verdict: Option<bool>) -> Option<Datum> {
        match verdict {
            Some(holds) if holds != self.all => Some(Datum::Bool(holds)),
            Some(_) => None,
            None => {
                self.open = true;
                None
            }
        }
    }

    fn end(self) -> Datum {
        if self.open { Datum::Null } else { Datum::Bool(self.all) }
    }
}

fn quantified(
    tests: &[Call],
    all: bool,
    lefts: &[Datum],
    operator: &mut Running,
    cx: &mut Cx<'_>,
) -> Result<Datum> {
    let mut fold = Fold { all, open: false };
    while operator.next(cx)? {
        let verdict = verdict(tests, lefts, operator.row(), cx)?;
        if let Some(answer) = fold.take(verdict) {
            return Ok(answer);
        }
    }
    Ok(fold.end())
}

fn quantified_over(
    subplan: &SubPlan,
    tests: &[Call],
    all: bool,
    lefts: &[Datum],
    state: &mut SubplanState,
    cx: &mut Cx<'_>,
) -> Result<Datum> {
    let (rows, whole) = match (&mut state.rows, &subplan.plan.hashed) {
        (Some(Kept::Hashed(rows)), Some(keys)) => {
            let found = rows.contain(lefts, keys, cx)?;
            return Ok(found.map_or(Datum::Null, |found| Datum::Bool(found != all)));
        }
        (Some(Kept::Stored { rows, whole }), _) => (rows, whole),
        _ => unreachable!("rows are kept, and hashed by keys"),
    };
    let mut fold = Fold { all, open: false };
    let mut reader = RowReader::default();
    loop {
        cx.breathe()?;
        if !reader.next(rows)? {
            if *whole || !state.operator.next(cx)? {
                *whole = true;
                return Ok(fold.end());
            }
            rows.push(state.operator.row())?;
            continue;
        }
        if let Some(answer) = fold.take(verdict(tests, lefts, reader.row(rows), cx)?) {
            return Ok(answer);
        }
    }
}
