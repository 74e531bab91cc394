//! What SQL itself can see of a session's cursors, portals and prepared statements: WHERE CURRENT OF, `pg_cursors`,
//! `pg_prepared_statements`.
//!
//! The query of a cursor that may be used so reads two more columns for each table in its FROM, behind its
//! own: the row's address and the table's OID.

use base::sync::unmodelled::{AtomicU64, Ordering};
use std::collections::BTreeMap;
use std::sync::Arc;

use syntax::ast::{self, Expr, FromItem, Loc, SelectBody, Statement};

use crate::bind::tree::CurrentOf;
use crate::catalog::TableDef;
use crate::error::{Result, bail};
use crate::plan::node::Node;
use crate::types::{Array, Datum, Oid, TimestampTz, TypeId};

/// Those of one session.
#[derive(Default)]
pub struct Standing {
    pub cursors: BTreeMap<Box<str>, StandingCursor>,
    /// Portals that clients have made by message, those that have names; beside another that is executed the one that
    /// has none, too.
    pub portals: BTreeMap<Box<str>, StandingPortal>,
    /// When the portal without a name was made, where it is the one that is executed: it is of the session's text.
    pub unnamed_runs: Option<TimestampTz>,
    pub statements: BTreeMap<Box<str>, StandingStatement>,
    /// What open cursors and portals read, while a command runs that must not change it under them.
    pub in_use: Vec<Oid>,
}

/// A cursor as others see it.
pub struct StandingCursor {
    pub statement: Arc<str>,
    pub hold: bool,
    /// WITH HOLD, and its transaction has committed.
    pub kept: bool,
    pub binary: bool,
    pub scrolls: bool,
    pub made: TimestampTz,
    pub targets: Targets,
    /// How many of a row's values are the query's own.
    pub own: usize,
    /// The row that it is on.
    pub row: Option<Arc<[Datum]>>,
}

/// A portal that a client has made by message, as others see it.
pub struct StandingPortal {
    pub statement: Arc<str>,
    pub made: TimestampTz,
}

/// How often a prepared statement was run, whoever counts.
#[derive(Clone, Default)]
pub struct Uses(Arc<AtomicU64>);

impl Uses {
    #[inline]
    pub fn count(&self) {
        // Relaxed, and in two steps: only the session itself counts.
        self.0.store(self.get() + 1, Ordering::Relaxed);
    }

    fn get(&self) -> u64 {
        // Relaxed: see `count`.
        self.0.load(Ordering::Relaxed)
    }
}

/// A prepared statement as others see it.
pub struct StandingStatement {
    pub text: Arc<str>,
    pub params: Vec<TypeId>,
    pub made: TimestampTz,
    /// By PREPARE, not by message.
    pub from_sql: bool,
    pub uses: Uses,
}

/// The tables that WHERE CURRENT OF may name.
#[derive(Debug, Default)]
pub struct Targets {
    tables: Vec<Oid>,
    /// Its query locks rows: only those that it locks count.
    locks: bool,
}

impl Targets {
    /// What a cursor with this plan stands on.
    pub(super) fn of(root: &Node) -> Targets {
        if let Some(tables) = locked(root) {
            return Targets { tables, locks: true };
        }
        Targets { tables: scanned(root).map(|table| table.oid).into_iter().collect(), locks: false }
    }
}

/// The tables whose rows the plan locks, if it does.
fn locked(node: &Node) -> Option<Vec<Oid>> {
    match node {
        Node::LockRows(lock) => Some(lock.tables.iter().map(|locked| locked.table.oid).collect()),
        Node::Project(project) => locked(&project.input),
        Node::Filter(filter) | Node::Gate(filter) => locked(&filter.input),
        Node::Limit(limit) => locked(&limit.input),
        _ => None,
    }
}

/// The one table whose rows the plan gives one by one. PostgreSQL wants them unsorted, too.
fn scanned(node: &Node) -> Option<&Arc<TableDef>> {
    match node {
        Node::SeqScan(scan) => Some(&scan.table),
        Node::IndexScan(scan) => Some(&scan.table),
        Node::BitmapHeapScan(scan) => Some(&scan.table),
        Node::Choice(choice) => Some(&choice.table),
        Node::TidScan(scan) => Some(&scan.table),
        Node::Project(project) => scanned(&project.input),
        Node::Filter(filter) | Node::Gate(filter) => scanned(&filter.input),
        Node::Limit(limit) => scanned(&limit.input),
        Node::Sort(sort) => scanned(&sort.input),
        _ => None,
    }
}

/// Could PostgreSQL run the plan backwards? Then a cursor scrolls without being told to.
pub(super) fn scans_backward(node: &Node) -> bool {
    match node {
        Node::SeqScan(_)
        | Node::IndexScan(_)
        | Node::Choice(_)
        | Node::TidScan(_)
        | Node::FunctionScan(_)
        | Node::Values(_)
        | Node::CteScan(_)
        | Node::Materialize(_)
        | Node::Sort(_) => true,
        Node::Project(project) => scans_backward(&project.input),
        Node::Filter(filter) | Node::Gate(filter) => scans_backward(&filter.input),
        Node::Limit(limit) => scans_backward(&limit.input),
        Node::Append(inputs) => inputs.iter().all(scans_backward),
        _ => false,
    }
}

/// The query with the addresses of its rows behind its own columns, and how many columns that is; `None` for
/// one whose rows are no tables' rows.
pub(super) fn with_addresses(query: &Statement) -> Option<(Statement, usize)> {
    let Statement::Select(select) = query else { return None };
    let SelectBody::Core(core) = &select.body else { return None };
    let plain = core.distinct.is_none() && core.group_by.is_empty() && core.having.is_none();
    let mut names = Vec::new();
    core.from.iter().for_each(|item| table_names(item, &mut names));
    if !plain || names.is_empty() || (select.locking.is_empty() && core.from.len() > 1) {
        return None;
    }
    let mut select = select.clone();
    let SelectBody::Core(core) = &mut select.body else { return None };
    for name in &names {
        for column in ["ctid", "tableoid"] {
            let path = vec![name.clone(), column.into()];
            let value = Expr::Column(ast::ColumnRef { path, loc: Loc::NONE });
            core.targets.push(ast::Target { value, alias: None, loc: Loc::NONE });
        }
    }
    Some((Statement::Select(select), names.len() * 2))
}

fn table_names(item: &FromItem, names: &mut Vec<ast::Name>) {
    match item {
        FromItem::Table(table) => names.push(match &table.alias {
            Some(alias) => alias.name.clone(),
            None => table.relation.name.clone(),
        }),
        FromItem::Join(join) => {
            table_names(&join.left, names);
            table_names(&join.right, names);
        }
        FromItem::Subquery(_) | FromItem::Function(_) => {}
    }
}

impl Standing {
    /// The address of the row that a cursor stands on, for WHERE CURRENT OF.
    pub fn current_of(&self, current: &CurrentOf) -> Result<Datum> {
        let (name, table) = (&current.cursor, &current.table_name);
        let Some(cursor) = self.cursors.get(name) else {
            bail!(UNDEFINED_CURSOR, "cursor \"{name}\" does not exist");
        };
        if cursor.kept {
            bail!(INVALID_CURSOR_STATE, "cursor \"{name}\" is held from a previous transaction");
        }
        let times = cursor.targets.tables.iter().filter(|oid| **oid == current.table).count();
        match (cursor.targets.locks, times) {
            (_, 1) => {}
            (true, 0) => bail!(
                INVALID_CURSOR_STATE,
                "cursor \"{name}\" does not have a FOR UPDATE/SHARE reference to table \"{table}\""
            ),
            (true, _) => bail!(
                INVALID_CURSOR_STATE,
                "cursor \"{name}\" has multiple FOR UPDATE/SHARE references to table \"{table}\""
            ),
            (false, _) => bail!(
                INVALID_CURSOR_STATE,
                "cursor \"{name}\" is not a simply updatable scan of table \"{table}\""
            ),
        }
        let Some(row) = &cursor.row else {
            bail!(INVALID_CURSOR_STATE, "cursor \"{name}\" is not positioned on a row");
        };
        let mut pairs = row[cursor.own.min(row.len())..].chunks_exact(2);
        let found = pairs.find(|pair| matches!(&pair[1], Datum::Oid(oid) if *oid == current.table));
        Ok(found.map_or(Datum::Null, |pair| pair[0].clone()))
    }

    /// The rows of `pg_cursors`, while a text is run.
    pub fn all_cursors(&self, running: &str) -> Vec<Vec<Datum>> {
        let portal = |name: &str, statement: &str, made: TimestampTz| {
            let (name, statement) = (Datum::text(name), Datum::text(statement));
            vec![name, statement, false.into(), false.into(), false.into(), made.into()]
        };
        let unnamed = self.unnamed_runs.map(|made| portal("", running, made));
        let portals = self.portals.iter().map(|(name, of)| portal(name, &of.statement, of.made));
        let cursors = self.cursors.iter().map(|(name, cursor)| {
            vec![
                Datum::text(&**name),
                Datum::text(&*cursor.statement),
                cursor.hold.into(),
                cursor.binary.into(),
                cursor.scrolls.into(),
                cursor.made.into(),
            ]
        });
        cursors.chain(portals).chain(unnamed).collect()
    }

    /// The rows of `pg_prepared_statements`.
    pub fn all_statements(&self) -> Vec<Vec<Datum>> {
        let rows = self.statements.iter().map(|(name, statement)| {
            let types = statement.params.iter().map(|id| Datum::Oid(Oid(id.0))).collect();
            // Told as PostgreSQL would have planned: with the values the first five times.
            let uses = statement.uses.get();
            let custom = if statement.params.is_empty() { 0 } else { uses.min(5) };
            vec![
                Datum::text(&**name),
                Datum::text(&*statement.text),
                statement.made.into(),
                Datum::from(Array::from_elements(TypeId::REGTYPE, types)),
                statement.from_sql.into(),
                ((uses - custom) as i64).into(),
                (custom as i64).into(),
            ]
        });
        rows.collect()
    }
}
