//! READ ONLY transactions: what they refuse.
//!
//! A plan that writes to more than temporary relations is not begun: [`super::portal::Run`] asks, whatever runs it, and
//! so does who sends something to the client beforehand, or goes the short way. Statements that are not planned, and
//! functions that write, ask for themselves.

use syntax::ast::LockStrength;

use crate::bind::query::{Cte, CteQuery, Modify, ModifyAction, Query, RelKind, Statement as Bound};
use crate::bind::tree::Expr;
use crate::bind::walk;
use crate::catalog::TableDef;
use crate::error::{Result, bail};

use super::backend::Backend;
use super::prepare::Planned;

impl Backend {
    /// Refuses a plan that writes to what it must not.
    #[inline]
    pub(super) fn refuse_if_read_only(&self, planned: &Planned) -> Result<()> {
        match planned.writes {
            Some(what) => self.must_not_be_read_only(what),
            None => Ok(()),
        }
    }

    /// Refuses what a READ ONLY transaction does not do.
    pub(super) fn must_not_be_read_only(&self, what: &str) -> Result<()> {
        if self.read_only {
            bail!(READ_ONLY_SQL_TRANSACTION, "cannot execute {what} in a read-only transaction");
        }
        Ok(())
    }
}

/// What a statement that writes to more than temporary relations is called; `None` for others. To lock rows is to write.
pub(super) fn written_as(bound: &Bound) -> Option<&'static str> {
    let mut writes = Writes::default();
    match bound {
        Bound::Query(query) => writes.of_query(query),
        Bound::Modify(modify) => writes.of_change(modify),
    }
    if !writes.lasting {
        return None;
    }
    Some(match bound {
        Bound::Query(_) => match writes.lock {
            Some(LockStrength::Update) => "SELECT FOR UPDATE",
            Some(LockStrength::NoKeyUpdate) => "SELECT FOR NO KEY UPDATE",
            Some(LockStrength::Share) => "SELECT FOR SHARE",
            Some(LockStrength::KeyShare) => "SELECT FOR KEY SHARE",
            None => "SELECT",
        },
        Bound::Modify(modify) => match modify.action {
            ModifyAction::Insert { .. } => "INSERT",
            ModifyAction::Update { .. } => "UPDATE",
            ModifyAction::Delete => "DELETE",
        },
    })
}

/// What was found in a statement so far, at whatever depth.
#[derive(Default)]
struct Writes {
    /// Something else than temporary relations is written to.
    lasting: bool,
    /// How the first rows that are locked are.
    lock: Option<LockStrength>,
}

impl Writes {
    fn to(&mut self, table: &TableDef) {
        self.lasting |= table.persistence != base::Persistence::Temporary;
    }

    fn of_query(&mut self, query: &Query) {
        for lock in &query.locking {
            if let RelKind::Table(table) = &query.rels[usize::from(lock.rel)].kind {
                self.lock.get_or_insert(lock.strength);
                self.to(table);
            }
        }
        for rel in &query.rels {
            if let RelKind::Subquery(query) = &rel.kind {
                self.of_query(query);
            }
        }
        query.ctes.iter().for_each(|cte| self.of_cte(cte));
        // Those of the queries within were, or will be, looked through with them.
        walk::query_exprs(query, 0, &mut |expr, depth| {
            if depth == 0 {
                self.of_expr(expr);
            }
        });
    }

    fn of_cte(&mut self, cte: &Cte) {
        match &cte.query {
            CteQuery::Plain(query) => self.of_query(query),
            CteQuery::Recursive { first, again, .. } => {
                self.of_query(first);
                self.of_query(again);
            }
            CteQuery::Modify(modify) => self.of_change(modify),
        }
    }

    fn of_change(&mut self, modify: &Modify) {
        self.to(&modify.table);
        self.of_query(&modify.query);
        modify.ctes.iter().for_each(|cte| self.of_cte(cte));
        if let ModifyAction::Update { sets } = &modify.action {
            sets.iter().for_each(|(_, value)| self.of_expr(value));
        }
        modify.returning.iter().for_each(|target| self.of_expr(&target.expr));
    }

    fn of_expr(&mut self, expr: &Expr) {
        if let Expr::SubLink(link) = expr {
            self.of_query(&link.query);
        }
        walk::each_child(expr, &mut |child| self.of_expr(child));
    }
}
