//! Set-returning functions, in FROM and in the target list.

use std::sync::Arc;

use crate::bind::query::FunctionCall;
use crate::bind::tree::{Call, Expr};
use crate::error::Result;
use crate::func::{Body, Rows};
use crate::plan::node;
use crate::types::{Datum, TypeId};

use super::eval::{eval, invoke};
use super::{Cx, Operator, Running, run};

/// Evaluates the arguments and starts a set-returning call; `None` for a strict one with a null argument.
fn start_set(call: &Call, row: &[Datum], cx: &mut Cx<'_>) -> Result<Option<Rows>> {
    let values = call.args.iter().map(|a| eval(a, row, cx)).collect::<Result<Vec<_>>>()?;
    if call.func.strict && values.iter().any(Datum::is_null) {
        return Ok(None);
    }
    let types: Vec<TypeId> = call.args.iter().map(Expr::type_id).collect();
    match call.func.body {
        Body::Set(body) => {
            cx.with_context(&types, call.ty.id, |context| body(context, &values)).map(Some)
        }
        Body::Session => cx.host.call_set(call.func, &values).map(Some),
        _ => {
            let value = invoke(call.func, &values, &types, call.ty.id, cx)?;
            Ok(Some(Box::new(std::iter::once(Ok(value)))))
        }
    }
}

/// Functions side by side in FROM; shorter ones are filled up with nulls.
pub struct FunctionScan {
    plan: Arc<node::FunctionScan>,
    sets: Option<Vec<Option<Rows>>>,
    row: Vec<Datum>,
    count: i64,
}

impl FunctionScan {
    pub fn new(plan: Arc<node::FunctionScan>) -> FunctionScan {
        FunctionScan { plan, sets: None, row: Vec::new(), count: 0 }
    }

    fn start(&self, cx: &mut Cx<'_>) -> Result<Vec<Option<Rows>>> {
        let start = |call: &FunctionCall, cx: &mut Cx<'_>| match &call.expr {
            Expr::Call(inner) if call.set => start_set(inner, &[], cx),
            other => {
                let value = eval(other, &[], cx)?;
                Ok(Some(Box::new(std::iter::once(Ok(value))) as Rows))
            }
        };
        self.plan.calls.iter().map(|call| start(call, cx)).collect()
    }
}

/// Appends one call's value to the row, spread over its columns.
fn spread(call: &FunctionCall, value: Option<Datum>, row: &mut Vec<Datum>) {
    let width = usize::from(call.width);
    match value {
        Some(Datum::Record(record)) if call.record => {
            row.extend(record.fields.iter().take(width).map(|(_, field)| field.clone()));
        }
        Some(value) if !call.record => row.push(value),
        _ => row.extend(std::iter::repeat_n(Datum::Null, width)),
    }
}

impl Operator for FunctionScan {
    fn next(&mut self, cx: &mut Cx<'_>) -> Result<bool> {
        let mut sets = match self.sets.take() {
            Some(sets) => sets,
            None => self.start(cx)?,
        };
        cx.breathe()?;
        self.row.clear();
        let mut any = false;
        for (call, set) in self.plan.calls.iter().zip(&mut sets) {
            let value = set.as_mut().and_then(Iterator::next).transpose()?;
            any |= value.is_some();
            if value.is_none() {
                *set = None;
            }
            spread(call, value, &mut self.row);
        }
        self.sets = Some(sets);
        self.count += 1;
        if self.plan.ordinality {
            self.row.push(Datum::Int8(self.count));
        }
        Ok(any)
    }

    fn row(&self) -> &[Datum] {
        &self.row
    }

    fn rescan(&mut self, _: &mut Cx<'_>) -> Result<()> {
        self.sets = None;
        self.count = 0;
        Ok(())
    }
}

/// A target list with set-returning calls: each input row becomes as many rows as its longest set.
pub struct ProjectSet {
    plan: Arc<node::Project>,
    input: Running,
    /// For the current input row: its sets, by target; `None` entries have ended.
    sets: Option<Vec<Option<Rows>>>,
    row: Vec<Datum>,
}

impl ProjectSet {
    pub fn new(plan: Arc<node::Project>) -> ProjectSet {
        let input = run(&plan.input);
        ProjectSet { plan, input, sets: None, row: Vec::new() }
    }

    fn start(&self, cx: &mut Cx<'_>) -> Result<Vec<Option<Rows>>> {
        let row = self.input.row();
        let start = |expr: &Expr, cx: &mut Cx<'_>| match expr {
            Expr::Call(call) if call.func.returns_set => start_set(call, row, cx),
            _ => Ok(None),
        };
        self.plan.exprs.iter().map(|expr| start(expr, cx)).collect()
    }
}

impl Operator for ProjectSet {
    fn next(&mut self, cx: &mut Cx<'_>) -> Result<bool> {
        loop {
            cx.breathe()?;
            let mut sets = match self.sets.take() {
                Some(sets) => sets,
                None => {
                    if !self.input.next(cx)? {
                        return Ok(false);
                    }
                    self.start(cx)?
                }
            };
            self.row.clear();
            let mut any = false;
            for (expr, set) in self.plan.exprs.iter().zip(&mut sets) {
                if !matches!(expr, Expr::Call(call) if call.func.returns_set) {
                    self.row.push(eval(expr, self.input.row(), cx)?);
                    continue;
                }
                let value = set.as_mut().and_then(Iterator::next).transpose()?;
                any |= value.is_some();
                if value.is_none() {
                    *set = None;
                }
                self.row.push(value.unwrap_or(Datum::Null));
            }
            if any {
                self.sets = Some(sets);
                return Ok(true);
            }
        }
    }

    fn row(&self) -> &[Datum] {
        &self.row
    }

    fn rescan(&mut self, cx: &mut Cx<'_>) -> Result<()> {
        self.sets = None;
        self.input.rescan(cx)
    }
}
