//! Statements that are not planned: transactions, settings, prepared statements, cursors, DDL,
//! COPY, EXPLAIN, maintenance.

use std::sync::Arc;

use storage::lock::LockTag;
use syntax::ast::{self, Discard, SetAction, SetVariable, Statement, Transaction};

use crate::bind::needs::Needs;
use crate::bind::{Binder, ExprKind, Params, Ty};
use crate::catalog::ddl;
use crate::catalog::rights::{CHECKPOINTER, READ_ALL_SETTINGS};
use crate::error::{Result, SqlError, SqlState, bail, sql_error};
use crate::settings;
use crate::types::{Datum, TypeId};

use super::Session;
use super::backend::Executed;
use super::client::{Client, Field};
use super::command::{called, form};
use super::identity::{SECRET, is_of_identity};
use super::notify;
use super::portal::{Portal, send_row};
use super::prepare::{Prepared, Verb, is_plannable, is_select_into, plain_field};
use super::standing::{StandingStatement, Uses};

/// Does it end a transaction, or take part of one back?
pub fn ends_transaction(statement: &Statement) -> bool {
    matches!(statement, Statement::Transaction(t) if matches!(
        **t,
        Transaction::Commit { .. } | Transaction::Rollback { .. } | Transaction::RollbackTo(_)
    ))
}

impl Session {
    /// Transaction commands begin (or not) what they need themselves; all others run inside one.
    pub(super) fn begin_for(&mut self, statement: &Statement) -> Result<()> {
        if matches!(statement, Statement::Transaction(_)) {
            return Ok(());
        }
        self.begin_if_idle();
        Ok(())
    }

    /// Runs a statement that is not planned; its command tag. `described`: the client knows the
    /// result's columns already.
    pub(super) fn utility(
        &mut self,
        statement: &Statement,
        client: &mut dyn Client,
        described: bool,
    ) -> Result<String> {
        let is_transaction = matches!(statement, Statement::Transaction(_));
        if !is_transaction {
            self.backend.standing.in_use = self.portals.relations_in_use();
        }
        let tag = self.dispatch(statement, client, described);
        self.backend.standing.in_use = Vec::new();
        // Left where the table was not made: it is not the next one's.
        self.backend.executed = None;
        let tag = tag?;
        if !is_transaction && self.backend.txn.state() == storage::txn::TxnState::Active {
            self.finish_statement()?;
        }
        Ok(tag)
    }

    fn dispatch(
        &mut self,
        statement: &Statement,
        client: &mut dyn Client,
        described: bool,
    ) -> Result<String> {
        use Statement::{DeclareCursor, Explain, Prepare};
        // They plan, and see what is there now.
        self.had_query |= matches!(statement, DeclareCursor(_) | Explain(_) | Prepare(_));
        match statement {
            Statement::Transaction(command) => Ok(self.transaction(command)?.to_owned()),
            Statement::Set(set) => self.set(set),
            Statement::Show(name) => self.show_setting(name, client, described),
            Statement::Discard(what) => self.discard(*what),
            Statement::Prepare(prepare) => self.prepare(prepare),
            Statement::Execute(execute) => self.execute_prepared(execute, client, described),
            Statement::Deallocate(name) => self.deallocate(name.as_deref()),
            Statement::DeclareCursor(declare) => self.declare(declare),
            Statement::Fetch(fetch) => self.fetch(fetch, client, described),
            Statement::CloseCursor(name) => self.close_cursor(name.as_deref()),
            Statement::Copy(copy) => self.copy(copy, client),
            Statement::Explain(explain) => self.explain(explain, client, described),
            Statement::LockTable(lock) => self.lock_table(lock),
            Statement::Vacuum(vacuum) => self.vacuum(vacuum),
            Statement::Checkpoint(_) => {
                if !self.backend.has_rights_of(CHECKPOINTER)? {
                    bail!(
                        INSUFFICIENT_PRIVILEGE,
                        "must be superuser or have privileges of pg_checkpoint to do CHECKPOINT"
                    );
                }
                self.backend.instance.store.engine.checkpoint()?;
                Ok("CHECKPOINT".to_owned())
            }
            Statement::CreateTableAs(create) if create.materialized_view => {
                if !self.given.types.is_empty() {
                    let text = "materialized views may not be defined using bound parameters";
                    return Err(SqlError::unsupported(text));
                }
                self.define(statement)
            }
            Statement::CreateTableAs(create) => self.create_table_as(&create.query, statement),
            Statement::SetConstraints(set) => self.set_constraints(set).map(str::to_owned),
            Statement::Listen(channel) => {
                notify::listen(&mut self.backend, channel)?;
                Ok("LISTEN".to_owned())
            }
            Statement::Unlisten(channel) => {
                notify::unlisten(&mut self.backend, channel.as_deref())?;
                Ok("UNLISTEN".to_owned())
            }
            Statement::Notify(told) => {
                let payload = told.payload.as_deref().unwrap_or_default();
                notify::notify(&mut self.backend, &told.channel, payload)?;
                Ok("NOTIFY".to_owned())
            }
            Statement::Select(select) if is_select_into(select) => {
                self.backend.must_not_be_read_only("SELECT INTO")?;
                let create = Statement::CreateTableAs(Box::new(select_into(select)?));
                self.dispatch(&create, client, described)
            }
            Statement::CreateDatabase(_) => {
                self.refuse_block("CREATE DATABASE")?;
                self.define(statement)
            }
            Statement::DropDatabase(_) => {
                self.refuse_block("DROP DATABASE")?;
                self.define(statement)
            }
            Statement::AlterRoleSet(alter) => {
                self.refuse_if_cannot_write(statement)?;
                self.alter_role_setting(alter)?;
                Ok("ALTER ROLE".to_owned())
            }
            Statement::AlterDatabase(alter) => {
                self.refuse_if_cannot_write(statement)?;
                match self.alter_database(alter)? {
                    Some(tag) => Ok(tag),
                    None => self.define(statement),
                }
            }
            Statement::CreateIndex(create) if create.concurrently => {
                self.create_index_concurrently(create, statement)
            }
            Statement::Drop(drop) if drop.concurrently && drop.kind == ast::ObjectKind::Index => {
                self.drop_index_concurrently(drop, statement)
            }
            Statement::Reindex(reindex) => self.reindex(reindex, statement),
            Statement::Unsupported(what) => {
                Err(SqlError::unsupported(format!("{what} is not supported")))
            }
            other => self.define(other),
        }
    }

    /// CREATE TABLE AS, whose query may be a prepared one.
    fn create_table_as(&mut self, query: &Statement, statement: &Statement) -> Result<String> {
        match query {
            Statement::Execute(execute) => {
                let (planned, params) = self.prepared_call(execute)?;
                if planned.verb != Verb::Select {
                    bail!(WRONG_OBJECT_TYPE, "prepared statement is not a SELECT");
                }
                self.backend.executed = Some(Executed { planned, params, profile: None });
            }
            query => self.plan_to_fill(query)?,
        }
        self.define(statement)
    }

    pub(super) fn refuse_if_cannot_write(&self, statement: &Statement) -> Result<()> {
        match statement {
            // Indexes that are built anew hold what they held.
            Statement::Reindex(_) => Ok(()),
            _ => self.backend.must_not_be_read_only(&called(statement)),
        }
    }

    /// A statement that changes the catalogs.
    pub(super) fn define(&mut self, statement: &Statement) -> Result<String> {
        self.refuse_if_cannot_write(statement)?;
        self.define_anyway(statement)
    }

    /// Likewise, in a READ ONLY transaction, too.
    pub(super) fn define_anyway(&mut self, statement: &Statement) -> Result<String> {
        self.had_query = true;
        match ddl::execute(&mut self.backend, statement) {
            Some(result) => result,
            None => Err(SqlError::unsupported(format!("{} is not supported yet", form(statement)))),
        }
    }

    /// BEGIN, COMMIT and their kin; the command tag.
    pub(super) fn transaction(&mut self, command: &Transaction) -> Result<&'static str> {
        Ok(match command {
            Transaction::Begin { modes, start } => {
                self.begin(modes)?;
                if *start { "START TRANSACTION" } else { "BEGIN" }
            }
            Transaction::Commit { chain } => self.commit(*chain)?,
            Transaction::Rollback { chain } => {
                self.rollback(*chain)?;
                "ROLLBACK"
            }
            Transaction::Savepoint(name) => {
                self.savepoint(name)?;
                "SAVEPOINT"
            }
            Transaction::Release(name) => {
                self.release(name)?;
                "RELEASE"
            }
            Transaction::RollbackTo(name) => {
                self.rollback_to(name)?;
                "ROLLBACK"
            }
            Transaction::Prepare(_)
            | Transaction::CommitPrepared(_)
            | Transaction::RollbackPrepared(_) => {
                return Err(SqlError::new(
                    SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE,
                    "prepared transactions are disabled",
                )
                .with_hint("Set max_prepared_transactions to a nonzero value."));
            }
        })
    }

    fn set(&mut self, set: &SetVariable) -> Result<String> {
        let local = set.local;
        if local {
            self.warn_outside_block("SET LOCAL");
        }
        match &set.action {
            SetAction::Value { name, values, .. } => {
                let text = super::set::joined(name, values)?;
                self.set_value(name, &text, local)?;
            }
            SetAction::Default { name } => self.reset(name, local)?,
            SetAction::FromCurrent { name } => {
                settings::get(name)?;
            }
            SetAction::Reset { name } => {
                self.reset(name, local)?;
                return Ok("RESET".to_owned());
            }
            SetAction::ResetAll => {
                self.backend.values.reset_all();
                return Ok("RESET".to_owned());
            }
            SetAction::Transaction(modes) => {
                self.warn_outside_block("SET TRANSACTION");
                self.set_modes(modes)?;
            }
            SetAction::SessionCharacteristics(modes) => self.characteristics(modes)?,
            SetAction::TransactionSnapshot(name) => {
                if local {
                    let text = "SET LOCAL TRANSACTION SNAPSHOT is not implemented";
                    bail!(FEATURE_NOT_SUPPORTED, "{text}");
                }
                self.warn_outside_block("SET TRANSACTION");
                self.import_snapshot(name)?;
            }
        }
        Ok("SET".to_owned())
    }

    fn reset(&mut self, name: &str, local: bool) -> Result<()> {
        if is_of_identity(name) {
            return self.backend.set_identity(name, None, local);
        }
        self.backend.may_set(name)?;
        self.backend.values.reset(name, local)
    }

    /// Settings that are more than a value.
    pub(super) fn set_value(&mut self, name: &str, text: &str, local: bool) -> Result<()> {
        match &*name.to_ascii_lowercase() {
            "transaction_isolation" => {
                let level = match text.to_ascii_lowercase().as_str() {
                    "read committed" => ast::IsolationLevel::ReadCommitted,
                    "read uncommitted" => ast::IsolationLevel::ReadUncommitted,
                    "repeatable read" => ast::IsolationLevel::RepeatableRead,
                    "serializable" => ast::IsolationLevel::Serializable,
                    _ => bail!(
                        INVALID_PARAMETER_VALUE,
                        "invalid value for parameter \"transaction_isolation\": \"{text}\""
                    ),
                };
                self.set_modes(&[ast::TransactionMode::Isolation(level, ast::Loc::NONE)])
            }
            "transaction_read_only" => {
                let on = settings::get("transaction_read_only")?.parse(text)?.as_bool();
                self.set_modes(&[ast::TransactionMode::ReadOnly(on, ast::Loc::NONE)])
            }
            "session_authorization" | "role" => self.backend.set_identity(name, Some(text), local),
            lower => {
                self.backend.may_set(name)?;
                self.backend.values.set(name, text, local)?;
                let Some(setting) = settings::find(lower) else { return Ok(()) };
                // Who asks for what is so anyway gets it.
                let asked = *self.backend.values.get(lower) != setting.default();
                if let Some(why) = setting.without_effect().filter(|_| asked) {
                    let told = sql_error!(SUCCESSFUL_COMPLETION, "{lower} has no effect");
                    self.backend.notice("NOTICE", told.with_detail(why));
                }
                Ok(())
            }
        }
    }

    fn characteristics(&mut self, modes: &[ast::TransactionMode]) -> Result<()> {
        for mode in modes {
            match mode {
                ast::TransactionMode::Isolation(level, _) => {
                    let word = match level {
                        ast::IsolationLevel::ReadUncommitted => "read uncommitted",
                        ast::IsolationLevel::ReadCommitted => "read committed",
                        ast::IsolationLevel::RepeatableRead => "repeatable read",
                        ast::IsolationLevel::Serializable => "serializable",
                    };
                    self.backend.values.set("default_transaction_isolation", word, false)?;
                }
                ast::TransactionMode::ReadOnly(on, _) => {
                    let word = if *on { "on" } else { "off" };
                    self.backend.values.set("default_transaction_read_only", word, false)?;
                }
                ast::TransactionMode::Deferrable(..) => {}
            }
        }
        Ok(())
    }

    fn show_setting(
        &mut self,
        name: &str,
        client: &mut dyn Client,
        described: bool,
    ) -> Result<String> {
        if name.eq_ignore_ascii_case("all") {
            let fields = show_all_fields();
            let may_see = self.backend.has_rights_of(READ_ALL_SETTINGS)?;
            let mut rows: Vec<Vec<Datum>> = self
                .backend
                .values
                .all()
                .filter(|(setting, _)| may_see || !SECRET.contains(&setting.name))
                .map(|(setting, _)| {
                    vec![
                        Datum::text(setting.name),
                        Datum::text(self.backend.show(setting.name).unwrap_or_default()),
                        Datum::text(setting.summary),
                    ]
                })
                .collect();
            rows.sort_by_key(|row| row[0].as_text().to_ascii_lowercase());
            self.send_rows(&fields, &rows, client, described)?;
            return Ok("SHOW".to_owned());
        }
        self.backend.may_show(name)?;
        let value = match self.backend.show(name) {
            Some(value) => value,
            None => {
                settings::get(name)?;
                String::new()
            }
        };
        let fields = [show_field(name)];
        self.send_rows(&fields, &[vec![Datum::text(value)]], client, described)?;
        Ok("SHOW".to_owned())
    }

    /// Sends a small result.
    pub(super) fn send_rows(
        &mut self,
        fields: &[Field],
        rows: &[Vec<Datum>],
        client: &mut dyn Client,
        described: bool,
    ) -> Result<()> {
        let formats = self.wanted_formats.clone();
        if !described {
            client.row_description(fields, &formats);
        }
        for row in rows {
            send_row(&self.backend, client, fields, &formats, row)?;
        }
        self.tell_everything();
        Ok(())
    }

    fn discard(&mut self, what: Discard) -> Result<String> {
        let tag = match what {
            Discard::All => {
                self.refuse_block("DISCARD ALL")?;
                self.close_cursor(None)?;
                self.backend.standing.in_use.clear();
                self.backend.set_identity("session_authorization", None, false)?;
                self.backend.values.reset_all();
                self.statements.retain(|name, _| name.is_empty());
                self.backend.standing.statements.clear();
                notify::unlisten(&mut self.backend, None)?;
                self.backend.txn.locks().unlock_all(|tag| matches!(tag, LockTag::Advisory { .. }));
                self.plans.clear();
                self.discard_temporary()?;
                self.discard_sequences();
                "DISCARD ALL"
            }
            Discard::Plans => {
                self.plans.clear();
                for prepared in self.statements.values_mut() {
                    // What the client may still ask for: its result is what it was.
                    if let Some(planned) = prepared.planned.take() {
                        prepared.fields = planned.fields.clone();
                    }
                }
                "DISCARD PLANS"
            }
            Discard::Sequences => {
                self.discard_sequences();
                "DISCARD SEQUENCES"
            }
            Discard::Temp => {
                self.discard_temporary()?;
                "DISCARD TEMP"
            }
        };
        Ok(tag.to_owned())
    }

    fn discard_sequences(&mut self) {
        self.backend.currvals.clear();
        self.backend.last_sequence = None;
    }

    fn prepare(&mut self, prepare: &ast::Prepare) -> Result<String> {
        if self.statements.contains_key(&prepare.name) {
            bail!(DUPLICATE_PSTATEMENT, "prepared statement \"{}\" already exists", prepare.name);
        }
        let types = self.backend.with_catalog(|catalog| {
            let mut params = Params::none();
            let mut binder = Binder::new(catalog, &mut params);
            prepare.types.iter().map(|t| Ok(binder.type_name(t)?.id)).collect::<Result<Vec<_>>>()
        })?;
        let statement = Arc::new((*prepare.statement).clone());
        let mut prepared = Prepared {
            declared: None,
            text: self.backend.query_text.clone(),
            statement: Some(statement.clone()),
            params: types.clone(),
            planned: None,
            fields: None,
            uses: None,
        };
        if !is_plannable(&statement) {
            return Err(SqlError::unsupported("PREPARE of this statement is not supported yet"));
        }
        let planned = self.plan(&statement, Params::open(types))?;
        prepared.params = planned.params.clone();
        prepared.planned = Some(Arc::new(planned));
        self.stand(&prepare.name, &mut prepared, true);
        self.statements.insert(prepare.name.clone(), prepared);
        Ok("PREPARE".to_owned())
    }

    /// Shows a prepared statement to SQL.
    pub(super) fn stand(&mut self, name: &str, prepared: &mut Prepared, from_sql: bool) {
        let uses = Uses::default();
        prepared.uses = Some(uses.clone());
        let statement = StandingStatement {
            text: prepared.text.clone(),
            params: prepared.params.clone(),
            made: self.backend.statement_start,
            from_sql,
            uses,
        };
        self.backend.standing.statements.insert(name.into(), statement);
    }

    fn execute_prepared(
        &mut self,
        execute: &ast::Execute,
        client: &mut dyn Client,
        described: bool,
    ) -> Result<String> {
        let (planned, params) = self.prepared_call(execute)?;
        self.backend.admit(&planned)?;
        if let Some(fields) = &planned.fields
            && !described
        {
            client.row_description(fields, &self.wanted_formats);
        }
        let statement = Arc::new(Statement::Execute(Box::new(execute.clone())));
        let text = self.backend.query_text.clone();
        let mut portal = Portal {
            planned: Some(planned.clone()),
            params,
            formats: self.wanted_formats.clone(),
            ..Portal::new(statement, text, self.savepoints.len())
        };
        let (rows, _) = self.deliver(&mut portal, 0, client)?;
        let mut tag = String::new();
        planned.write_tag(rows, &mut tag);
        Ok(tag)
    }

    /// The plan and the parameter values of an EXECUTE.
    pub(super) fn prepared_call(
        &mut self,
        execute: &ast::Execute,
    ) -> Result<(Arc<super::Planned>, Vec<Datum>)> {
        // Its arguments are looked at by the transaction's snapshot.
        self.had_query = true;
        let types = self.prepared(&execute.name)?.params.clone();
        let Some(planned) = self.current_plan(&execute.name)? else {
            return Err(SqlError::internal("a prepared statement without a plan"));
        };
        if execute.args.len() != types.len() {
            return Err(sql_error!(
                SYNTAX_ERROR,
                "wrong number of parameters for prepared statement \"{}\"",
                execute.name
            )
            .with_detail(format!(
                "Expected {} parameters but got {}.",
                types.len(),
                execute.args.len()
            )));
        }
        let mut values = Vec::with_capacity(types.len());
        for (i, (arg, id)) in execute.args.iter().zip(&types).enumerate() {
            values.push(self.evaluate(arg, *id, i)?);
        }
        self.prepared(&execute.name)?.count_use();
        Ok((planned, values))
    }

    /// The value of an expression without columns, converted to a type.
    fn evaluate(&mut self, expr: &ast::Expr, id: TypeId, position: usize) -> Result<Datum> {
        let bound = self.backend.with_catalog(|catalog| {
            let mut params = Params::none();
            let mut binder = Binder::new(catalog, &mut params);
            binder.parameter_value(expr, Ty::of(id), position, ExprKind::Execute)
        })?;
        self.backend.must_be_allowed(&Needs::of_expr(&bound))?;
        self.backend.snapshot = self.backend.txn.statement_snapshot();
        let mut state = crate::exec::State::default();
        let mut cx = crate::exec::Cx { state: &mut state, host: &mut self.backend };
        crate::exec::eval(&bound, &[], &mut cx)
    }

    fn deallocate(&mut self, name: Option<&str>) -> Result<String> {
        match name {
            Some(name) => {
                self.prepared(name)?;
                self.close_statement(name);
                Ok("DEALLOCATE".to_owned())
            }
            None => {
                self.statements.retain(|name, _| name.is_empty());
                self.backend.standing.statements.clear();
                Ok("DEALLOCATE ALL".to_owned())
            }
        }
    }

    /// The result's columns of a statement that is not planned, for Describe, as far as they are known now: what EXECUTE
    /// and FETCH name may come later.
    pub(super) fn utility_fields(&self, statement: &Statement) -> Option<Arc<[Field]>> {
        match statement {
            Statement::Show(name) if name.eq_ignore_ascii_case("all") => {
                Some(Arc::from(show_all_fields()))
            }
            Statement::Show(name) => Some(Arc::from(vec![show_field(name)])),
            Statement::Explain(_) => Some(Arc::from(vec![plain_field("QUERY PLAN", TypeId::TEXT)])),
            Statement::Execute(execute) => {
                let prepared = self.statements.get(&*execute.name);
                prepared.and_then(|p| match &p.planned {
                    Some(planned) => planned.fields.clone(),
                    None => p.fields.clone(),
                })
            }
            Statement::Fetch(fetch) if !fetch.is_move => {
                let portal = self.portals.get(&fetch.cursor);
                portal.and_then(|p| p.planned.as_ref()).and_then(|p| p.fields.clone())
            }
            _ => None,
        }
    }
}

fn show_field(name: &str) -> Field {
    let name = settings::find(name).map_or(name, |setting| setting.name);
    plain_field(name, TypeId::TEXT)
}

fn show_all_fields() -> Vec<Field> {
    ["name", "setting", "description"].map(|name| plain_field(name, TypeId::TEXT)).into()
}

/// `SELECT … INTO t` as CREATE TABLE t AS SELECT ….
pub(super) fn select_into(select: &ast::Select) -> Result<ast::CreateTableAs> {
    let mut query = select.clone();
    let mut body = &mut query.body;
    while let ast::SelectBody::SetOp(op) = body {
        body = &mut op.left.body;
    }
    let into = match body {
        ast::SelectBody::Core(core) => core.into.take(),
        _ => None,
    };
    let Some(into) = into else { return Err(SqlError::internal("SELECT INTO without INTO")) };
    Ok(ast::CreateTableAs {
        into,
        query: Box::new(Statement::Select(Box::new(query))),
        materialized_view: false,
        if_not_exists: false,
    })
}
