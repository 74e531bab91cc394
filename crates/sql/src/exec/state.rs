//! What operators and expressions reach while they run.

use std::sync::Arc;

use storage::buffer::Reach;
use storage::heap::HeapRel;
use storage::index::Index;
use storage::txn::{Snapshot, Txn};

use crate::bind::tree::{CurrentOf, Expr, SqlValue};
use crate::catalog::{IndexDef, TableDef};
use crate::error::{Result, check_stack, sql_error};
use crate::func::{Context, Function, Rows, SessionInfo};
use crate::plan::node::{Node, Plan};
use crate::types::{Datum, IoContext, Oid, TimestampTz, TypeId};

use super::spill::{Helpers, RowReader, RowStore, TempSpace};
use super::watch::{self, Profile};
use super::{Event, Running, run};

/// What an index with expressions computes, over the table's columns as slots from 0.
#[derive(Debug)]
pub struct IndexExprs {
    /// One per key column.
    pub keys: Vec<Expr>,
    /// A partial index holds the rows for which this is true.
    pub predicate: Option<Expr>,
}

/// The session, to a running plan.
pub trait Host: SessionInfo {
    fn txn(&self) -> &Txn;
    /// The rows of a table.
    fn heap<'t>(&self, table: &'t TableDef) -> Result<&'t HeapRel>;
    /// The entries of an index.
    fn tree<'t>(&self, index: &'t IndexDef) -> Result<&'t Index>;
    /// The bound key expressions and condition of an index that has any.
    fn index_exprs(&mut self, index: &IndexDef) -> Result<Arc<IndexExprs>>;
    /// What text input and output depend on.
    fn io(&self) -> IoContext<'_>;
    /// The statement's snapshot.
    fn snapshot(&self) -> &Snapshot;
    fn transaction_start(&self) -> TimestampTz;
    fn statement_start(&self) -> TimestampTz;
    /// Whether a concurrent update is followed to its newest version (READ COMMITTED) or is a `40001`.
    fn follows_updates(&self) -> bool;
    /// A function that needs the session or the catalogs.
    fn call(&mut self, func: &'static Function, args: &[Datum]) -> Result<Datum>;
    /// Likewise, returning a set.
    fn call_set(&mut self, func: &'static Function, args: &[Datum]) -> Result<Rows>;
    fn sql_value(&mut self, value: &SqlValue) -> Result<Datum>;
    /// The columns (from 0) of a table that messages may tell values of; `None`: all.
    fn readable(&self, table: &TableDef) -> Option<Vec<u16>>;
    fn next_value(&mut self, sequence: Oid) -> Result<i64>;
    /// The address of the row that a cursor is on.
    fn current_of(&self, current: &CurrentOf) -> Result<Datum>;
    /// Something for foreign keys to look into when the statement is done.
    fn note(&mut self, event: Event);
    /// What a changed row must be visible by, beside the statement's snapshot.
    fn shown_by(&self) -> Option<Snapshot>;
    /// Bytes that one operator may hold before it puts rows into a temporary file (`work_mem`).
    fn work_mem_bytes(&self) -> usize;
    /// Likewise for hash tables (`work_mem` times `hash_mem_multiplier`).
    fn hash_mem_bytes(&self) -> usize;
    /// Likewise for building an index (`maintenance_work_mem`).
    fn maintenance_mem_bytes(&self) -> usize;
    /// Who helps to sort an index's entries (`max_parallel_maintenance_workers`), no more than there are cores.
    fn sort_helpers(&self) -> Option<Helpers>;
    /// How far scans read ahead.
    fn reach(&self) -> Reach;
    /// Likewise those that build indexes.
    fn maintenance_reach(&self) -> Reach;
    /// Where temporary files are made.
    fn temp(&self) -> &Arc<TempSpace>;
}

/// The state of one execution; lives as long as its operators.
#[derive(Default)]
pub struct State {
    pub params: Vec<Datum>,
    /// What [`crate::bind::tree::Expr::Exec`] refers to.
    pub exec: Vec<Datum>,
    pub(super) subplans: Vec<Option<super::eval::SubplanState>>,
    pub(super) lists: Vec<super::eval::List>,
    pub(super) ctes: Vec<Cte>,
    pub(super) work_tables: Vec<Option<Arc<RowStore>>>,
    /// The subject of the innermost `CASE x WHEN` or array cast.
    pub(super) element: Datum,
    /// EXPLAIN ANALYZE watches.
    pub profile: Option<Arc<Profile>>,
    /// How many rows conditions of scans have dropped.
    pub(super) removed: u64,
    /// How many rows of pages that were to be tested again did not pass.
    pub(super) rechecked: u64,
    /// How many rows index-only scans have looked at in the table.
    pub(super) heap_fetches: u64,
    /// The next call was written with VARIADIC; taken by [`Cx::with_context`].
    pub(super) variadic: bool,
}

/// A CTE's rows, made when first asked for.
pub(super) enum Cte {
    Pending(Arc<Node>),
    Running,
    /// Run as far as somebody has read.
    Open(Box<Growing>),
    Done(Arc<RowStore>),
}

/// A CTE that is run as its readers go on.
pub(super) struct Growing {
    operator: Running,
    rows: RowStore,
}

impl Growing {
    /// Puts the row that the reader comes to into `row`; false at the end.
    fn next(
        &mut self,
        cx: &mut Cx<'_>,
        reader: &mut RowReader,
        row: &mut Vec<Datum>,
    ) -> Result<bool> {
        if !reader.next(&self.rows)? {
            check_stack()?;
            if !self.operator.next(cx)? {
                return Ok(false);
            }
            self.rows.push(self.operator.row())?;
            if self.rows.len().is_multiple_of(1024) {
                breathe()?;
            }
            let found = reader.next(&self.rows)?;
            assert!(found, "one was added");
        }
        row.clear();
        row.extend_from_slice(reader.row(&self.rows));
        Ok(true)
    }
}

impl State {
    /// The state to run `plan` with these parameter values.
    pub fn new(plan: &Plan, params: Vec<Datum>) -> State {
        State {
            params,
            exec: vec![Datum::Null; usize::from(plan.exec_slots)],
            subplans: (0..plan.subplans).map(|_| None).collect(),
            lists: (0..plan.lists).map(|_| super::eval::List::New).collect(),
            ctes: plan.ctes.iter().cloned().map(Cte::Pending).collect(),
            work_tables: vec![None; usize::from(plan.work_tables)],
            element: Datum::Null,
            variadic: false,
            profile: None,
            removed: 0,
            rechecked: 0,
            heap_fetches: 0,
        }
    }
}

/// Everything a running operator is given.
pub struct Cx<'a> {
    pub state: &'a mut State,
    pub host: &'a mut dyn Host,
}

impl Cx<'_> {
    /// Makes operators in the midst of an execution.
    pub(super) fn run(&self, node: &Node) -> Running {
        watch::with(self.state.profile.as_ref(), || run(node))
    }

    /// Runs `f` with what function bodies are given.
    #[inline]
    pub(super) fn with_context<R>(
        &mut self,
        arg_types: &[TypeId],
        result_type: TypeId,
        f: impl FnOnce(&mut Context<'_>) -> R,
    ) -> R {
        let mut context = Context {
            transaction_start: self.host.transaction_start(),
            statement_start: self.host.statement_start(),
            arg_types,
            result_type,
            variadic: std::mem::take(&mut self.state.variadic),
            session: &mut *self.host,
        };
        f(&mut context)
    }

    /// A place where a long execution may be cancelled or give way to others.
    #[inline]
    pub(super) fn breathe(&mut self) -> Result<()> {
        breathe()
    }

    /// An empty store for rows, of `work_mem`.
    pub(super) fn row_store(&self) -> RowStore {
        RowStore::new(self.host.temp(), self.host.work_mem_bytes())
    }

    /// All rows of an operator, kept.
    pub(super) fn collect(&mut self, input: &mut Running) -> Result<RowStore> {
        check_stack()?;
        let mut rows = self.row_store();
        let mut count = 0u32;
        while input.next(self)? {
            rows.push(input.row())?;
            count = count.wrapping_add(1);
            if count.is_multiple_of(1024) {
                self.breathe()?;
            }
        }
        Ok(rows)
    }

    /// Runs the INSERT, UPDATE and DELETE of WITH whose rows nobody has read, once the statement's rows are at their end;
    /// the last first, as what comes later may have what it reads of earlier ones run by then.
    #[inline]
    pub fn run_unread_changes(&mut self) -> Result<()> {
        for at in (0..self.state.ctes.len()).rev() {
            let is_change = |node: &Node| matches!(node, Node::Modify(_));
            if matches!(&self.state.ctes[at], Cte::Pending(node) if is_change(node)) {
                self.read_cte(at as u16, &mut RowReader::default(), &mut Vec::new())?;
            }
        }
        Ok(())
    }

    /// Moves a reader of a CTE's rows on, to a row that is put into `row`, and runs the CTE as far as that takes; what changes
    /// rows is run to its end. All rows there are, once that is known: the reader goes on with them.
    pub(super) fn read_cte(
        &mut self,
        id: u16,
        reader: &mut RowReader,
        row: &mut Vec<Datum>,
    ) -> Result<Option<Arc<RowStore>>> {
        let at = usize::from(id);
        let mut growing = match std::mem::replace(&mut self.state.ctes[at], Cte::Running) {
            Cte::Pending(node) if matches!(*node, Node::Modify(_)) => {
                let rows = self.collect(&mut self.run(&node))?;
                return Ok(Some(self.cte_done(at, Arc::new(rows))));
            }
            Cte::Pending(node) => {
                let (operator, rows) = (self.run(&node), self.row_store());
                Box::new(Growing { operator, rows })
            }
            Cte::Open(growing) => growing,
            Cte::Done(rows) => return Ok(Some(self.cte_done(at, rows))),
            Cte::Running => {
                return Err(sql_error!(INTERNAL_ERROR, "CTE {id} refers to itself"));
            }
        };
        if growing.next(self, reader, row)? {
            self.state.ctes[at] = Cte::Open(growing);
            return Ok(None);
        }
        Ok(Some(self.cte_done(at, Arc::new(growing.rows))))
    }

    /// Whoever reads the CTE next finds that it has not been run.
    pub(super) fn forget_cte(&mut self, id: u16, plan: &Arc<Node>) {
        self.state.ctes[usize::from(id)] = Cte::Pending(Arc::clone(plan));
    }

    fn cte_done(&mut self, at: usize, rows: Arc<RowStore>) -> Arc<RowStore> {
        self.state.ctes[at] = Cte::Done(rows.clone());
        rows
    }
}

/// See [`Cx::breathe`].
#[inline]
pub(super) fn breathe() -> Result<()> {
    base::park::checkpoint();
    base::interrupt::check().map_err(crate::error::interrupted)
}
