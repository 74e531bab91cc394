//! CREATE and REFRESH MATERIALIZED VIEW.
//!
//! A materialized view is a table to whoever stores, reads or indexes rows, and a view to whoever asks what it is made
//! of: its query is stored as a view's is ([`super::view`]). Its rows change by REFRESH alone, which runs the query as
//! the view's owner. A plain one is a rewrite: new storage is filled, and exchanged for the old when the transaction
//! commits. CONCURRENTLY is in [`super::refresh`].

use std::sync::Arc;

use base::rank::Rank;
use storage::heap::Freeze;
use storage::lock::LockMode;
use syntax::ast::{CreateTableAs, Persistence, RefreshMaterializedView, Statement};

use crate::bind::Query;
use crate::bind::query::CteQuery;
use crate::catalog::parameters::{self, Of};
use crate::catalog::{AccessMethod, IndexDef, TableDef, TableKind};
use crate::error::{Result, SqlError, bail, sql_error};
use crate::toast;
use crate::types::Datum;

use super::Ddl;
use super::create_table::{check_access_method, persistence};
use super::rework::{BATCH_BYTES, Batch};
use super::view::Used;

/// The tag of a CREATE that runs no query.
pub(super) const CREATED: &str = "CREATE MATERIALIZED VIEW";

/// Whether a query has INSERT, UPDATE or DELETE in its WITH.
pub(super) fn changes_rows(query: &Query) -> bool {
    query.ctes.iter().any(|cte| matches!(cte.query, CteQuery::Modify(_)))
}

impl Ddl<'_> {
    pub(super) fn create_materialized_view(&mut self, create: &CreateTableAs) -> Result<String> {
        let into = &create.into;
        let (bound, columns, record) = self.host.bind_view(&create.query)?;
        let used = Used::of(&record);
        self.must_last(create, &bound, &used)?;
        let Some((schema, lasts)) = self.place_as(create)? else { return Ok(CREATED.to_owned()) };
        if lasts == Persistence::Temporary {
            let text = "cannot create temporary table within security-restricted operation";
            bail!(INSUFFICIENT_PRIVILEGE, "{text}");
        }
        check_access_method(into.access_method.as_deref())?;
        self.check_tablespace_of_relation(into.tablespace.as_deref())?;
        let columns = self.named_columns(create, columns)?;
        let parameters = parameters::read(Of::Table, &into.options)?;
        let is_own = |other: &Statement| matches!(other, Statement::CreateTableAs(other) if **other == *create);
        let text = self.view_text(&is_own, &record)?;
        self.must_mean_the_same(&text, &bound)?;
        let oid = self.new_oid()?;
        let (name, lasts) = (&into.relation.name, persistence(lasts));
        self.new_table(oid, name, schema, lasts, &columns, TableKind::MaterializedView)?;
        self.write_query(oid, &text, &used)?;
        self.depend_on_schema(oid, schema)?;
        let is_populated = ("relispopulated", Datum::Bool(!into.no_data));
        self.update_class(oid, &[("relhasrules", Datum::Bool(true)), is_populated])?;
        if !parameters.is_empty() {
            self.set_parameters(oid, &parameters)?;
        }
        self.changed(oid)?;
        if into.no_data {
            return Ok(CREATED.to_owned());
        }
        let table = self.table(oid)?;
        let rows = self.host.fill_from_query(&table, &create.query)?;
        Ok(format!("SELECT {rows}"))
    }

    /// Its query is to be run again, by whoever may, at any time: an error for one that can't.
    fn must_last(&self, create: &CreateTableAs, query: &Query, used: &Used) -> Result<()> {
        let refused = if changes_rows(query) {
            "materialized views must not use data-modifying statements in WITH"
        } else if self.names_temporary(used)? {
            "materialized views must not use temporary tables or views"
        } else if create.into.persistence == Persistence::Unlogged {
            "materialized views cannot be unlogged"
        } else {
            return Ok(());
        };
        Err(SqlError::unsupported(refused))
    }

    pub(super) fn refresh(&mut self, refresh: &RefreshMaterializedView) -> Result<()> {
        let mode = match refresh.concurrently {
            true => LockMode::Exclusive,
            false => LockMode::AccessExclusive,
        };
        let view = self.view_to_refresh(refresh, mode)?;
        match (refresh.concurrently, refresh.no_data) {
            (true, _) => self.refresh_concurrently(&view),
            (_, true) => self.unpopulate(&view),
            _ => self.fill_anew(&view),
        }
    }

    /// The view, locked, if it can be refreshed as the statement wants it.
    fn view_to_refresh(
        &mut self,
        refresh: &RefreshMaterializedView,
        mode: LockMode,
    ) -> Result<Arc<TableDef>> {
        let view = self.open(&refresh.relation, mode)?;
        let name = &view.name;
        if !view.kind.is_heap() && view.kind != TableKind::Toast {
            bail!(WRONG_OBJECT_TYPE, "\"{name}\" is not a table or materialized view");
        }
        self.must_own(&view)?;
        if view.kind != TableKind::MaterializedView {
            bail!(FEATURE_NOT_SUPPORTED, "\"{name}\" is not a materialized view");
        }
        if refresh.concurrently {
            must_be_comparable(&view, refresh.no_data)?;
        }
        self.must_not_be_in_use(&view, "REFRESH MATERIALIZED VIEW")?;
        Ok(view)
    }

    /// WITH NO DATA: no rows, and none to be read until the next REFRESH.
    fn unpopulate(&mut self, view: &TableDef) -> Result<()> {
        self.empty(view)?;
        self.update_class(view.oid, &[("relispopulated", Datum::Bool(false))])?;
        self.changed(view.oid)
    }

    /// New storage with the rows that the query has now. As in PostgreSQL whoever comes sees them, also with an older
    /// snapshot: it has nothing else to see any more.
    fn fill_anew(&mut self, view: &TableDef) -> Result<()> {
        self.new_storage(view.oid, view.storage, view.persistence, Rank::HeapPage)?;
        self.update_class(view.oid, &[("relispopulated", Datum::Bool(true))])?;
        self.toast_anew(view)?;
        self.changed(view.oid)?;
        let table = self.table(view.oid)?;
        let mut batch = Batch::default();
        self.host.each_row_of(&table, &mut |host, row| {
            // It opens the heap of large values, too.
            host.heap(&table)?;
            let target = toast::Target { table: &table, txn: host.txn(), freeze: Freeze::Yes };
            batch.add(&target, row)?;
            match batch.bytes() >= BATCH_BYTES {
                true => batch.store(host.heap(&table)?, host.txn(), Freeze::Yes),
                false => Ok(()),
            }
        })?;
        batch.store(self.host.heap(&table)?, self.host.txn(), Freeze::Yes)?;
        self.rebuild_indexes(view.oid)
    }
}

/// What REFRESH … CONCURRENTLY needs: rows that are there, and a key to tell them by.
fn must_be_comparable(view: &TableDef, no_data: bool) -> Result<()> {
    if !view.populated {
        let text = "CONCURRENTLY cannot be used when the materialized view is not populated";
        bail!(FEATURE_NOT_SUPPORTED, "{text}");
    }
    if no_data {
        bail!(SYNTAX_ERROR, "CONCURRENTLY and WITH NO DATA options cannot be used together");
    }
    if !view.indexes.iter().any(|index| tells_rows(index)) {
        let (schema, name) = (&*view.schema_name, &*view.name);
        let name = format!(
            "{}.{}",
            syntax::deparse::quote_ident(schema),
            syntax::deparse::quote_ident(name)
        );
        return Err(sql_error!(
            OBJECT_NOT_IN_PREREQUISITE_STATE,
            "cannot refresh materialized view \"{name}\" concurrently"
        )
        .with_hint(
            "Create a unique index with no WHERE clause on one or more columns of the materialized view.",
        ));
    }
    Ok(())
}

/// Whether all rows without nulls in the index's columns differ in these.
pub(super) fn tells_rows(index: &IndexDef) -> bool {
    index.unique
        && index.immediate
        && index.valid
        && index.method == AccessMethod::BTree
        && !index.has_expressions()
}
