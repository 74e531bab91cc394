//! Functions that need the session or the catalogs.

use storage::lock::{LockMode, LockScope, LockTag, WaitPolicy};

use crate::catalog::ddl::{self, DdlHost};
use crate::catalog::foreign_key::Action;
use crate::catalog::rights::role_row;
use crate::catalog::store::row::CatalogRow;
use crate::catalog::{IndexDef, KeySource, TableDef, TableKind, opclass, parameters};
use crate::error::{Result, SqlError, SqlState, bail, sql_error};
use crate::func::{Function, Rows};
use crate::types::{Array, Datum, Names, Oid, Record, TypeId, TypeMod, input};

use std::sync::Arc;
use syntax::deparse::quote_ident;

use super::backend::Backend;
use super::identity::is_of_identity;
use super::{names, sequence, setting_functions};

/// Calls a function whose body is the session's.
pub fn call(b: &mut Backend, func: &'static Function, args: &[Datum]) -> Result<Datum> {
    let name = func.name;
    for room in [
        super::xacts::call,
        sequence::call_record,
        super::wal::call_record,
        super::control::call,
        super::walinspect::call,
        super::buffers::call_record,
        super::privileges::call,
    ] {
        if let Some(value) = room(b, func, args)? {
            return Ok(value);
        }
    }
    for room in [
        sequence::call,
        of_session,
        of_catalogs,
        of_locks,
        super::definitions::call,
        super::activity::call,
        // First: the next takes every figure of an OID to be a relation's.
        super::database_figures::call,
        super::statistics::call,
        super::bases::call,
        super::notify::call,
        super::amcheck::call,
        super::buffers::call,
        super::signal::call,
        super::wal::call,
    ] {
        if let Some(value) = room(b, name, args)? {
            return Ok(value);
        }
    }
    Err(SqlError::unsupported(format!("function {name} is not supported yet")))
}

fn of_session(b: &mut Backend, name: &str, args: &[Datum]) -> Result<Option<Datum>> {
    Ok(Some(match name {
        "current_schema" => names::current_schema(b)?.into(),
        "current_schemas" => schemas(b, args[0].as_bool())?,
        "current_database" => Datum::text(&*b.database),
        "current_user" | "getpgusername" => names::role_name(b, b.user_oid())?,
        "session_user" => names::role_name(b, b.values.identity.session.oid)?,
        "version" => Datum::text(format!(
            "PostgreSQL {} on {}-{}, compiled by rustc, 64-bit",
            b.values.show("server_version").unwrap_or_default(),
            std::env::consts::ARCH,
            std::env::consts::OS
        )),
        "pg_backend_pid" => b.pid.into(),
        "current_query" => Datum::text(&*b.query_text),
        "current_setting" => setting_functions::current_setting(b, args)?,
        "set_config" => {
            if args[0].is_null() {
                bail!(NULL_VALUE_NOT_ALLOWED, "SET requires parameter name");
            }
            let (name, local) = (args[0].as_text(), !args[2].is_null() && args[2].as_bool());
            match &args[1] {
                Datum::Null if is_of_identity(name) => b.set_identity(name, None, local)?,
                Datum::Null => {
                    b.may_set(name)?;
                    b.values.reset(name, local)?;
                }
                value => setting_functions::set_config(b, name, value.as_text(), local)?,
            }
            b.show(name).into()
        }
        "now" | "transaction_timestamp" => b.transaction_start.into(),
        "statement_timestamp" => b.statement_start.into(),
        "clock_timestamp" => super::stamp().into(),
        "pg_sleep" => {
            sleep(args[0].as_float8())?;
            Datum::VOID
        }
        "pg_sleep_for" => {
            let span = args[0].as_interval();
            let days = f64::from(span.months) * 30.0 + f64::from(span.days);
            sleep(days * 86_400.0 + span.micros as f64 / 1e6)?;
            Datum::VOID
        }
        "pg_sleep_until" => {
            sleep(args[0].as_timestamptz().0.saturating_sub(super::stamp().0) as f64 / 1e6)?;
            Datum::VOID
        }
        "pg_is_in_recovery" => false.into(),
        "txid_current" | "pg_current_xact_id" => (b.txn.assign_top()?.0 as i64).into(),
        "pg_postmaster_start_time" => b.instance.cluster()?.started.into(),
        _ => return Ok(None),
    }))
}

fn of_catalogs(b: &mut Backend, name: &str, args: &[Datum]) -> Result<Option<Datum>> {
    let oid = |i: usize| args[i].as_oid();
    Ok(Some(match name {
        "pg_get_userbyid" => user_by_id(b, oid(0))?,
        "pg_table_is_visible" => table_is_visible(b, oid(0))?,
        "pg_collation_is_visible" => match names::collation_name(b, oid(0))? {
            Some(name) => names::is_bare(&name).into(),
            None => Datum::Null,
        },
        "pg_type_is_visible" => b.type_is_visible(oid(0))?.into(),
        "pg_function_is_visible"
        | "pg_operator_is_visible"
        | "pg_opclass_is_visible"
        | "pg_opfamily_is_visible"
        | "pg_conversion_is_visible"
        | "pg_ts_config_is_visible"
        | "pg_ts_dict_is_visible"
        | "pg_ts_parser_is_visible"
        | "pg_ts_template_is_visible"
        | "pg_statistics_obj_is_visible" => true.into(),
        "row_security_active" => false.into(),

        "format_type" => format_type(b, args)?,
        "pg_get_function_result" => result_type(oid(0)).map_or(Datum::Null, Datum::text),
        "pg_get_function_arguments" | "pg_get_function_identity_arguments" => {
            arguments(oid(0)).map_or(Datum::Null, Datum::text)
        }
        "pg_database_size" => super::database::size(b, &args[0])?,
        "pg_relation_filepath" => match names::table_by_oid(b, oid(0))? {
            Some(table) => Datum::text(format!("base/{}", table.storage.0)),
            None => Datum::Null,
        },
        "pg_partition_root" => Datum::Null,
        "pg_relation_is_publishable" => true.into(),
        "pg_get_expr" => match names::table_by_oid(b, oid(1))? {
            Some(table) => {
                let pretty = args.get(2).is_some_and(Datum::as_bool);
                Datum::text(shown(b, args[0].as_text(), &table, pretty))
            }
            None => args[0].clone(),
        },
        "pg_get_indexdef" => index_definition(b, args)?,
        "pg_get_constraintdef" => constraint_definition(b, oid(0), args.get(1))?,
        "pg_get_viewdef" => match &args[0] {
            Datum::Text(_) => {
                let view = object(b, TypeId::REGCLASS, &args[0])?;
                super::definitions::view(b, view.as_oid())?
            }
            view => super::definitions::view(b, view.as_oid())?,
        },
        "pg_get_partkeydef"
        | "pg_get_triggerdef"
        | "pg_get_ruledef"
        | "pg_get_statisticsobjdef_columns"
        | "pg_get_statisticsobjdef" => Datum::Null,
        "obj_description" => description(b, oid(0), 0, args.get(1))?,
        "col_description" => {
            description(b, oid(0), args[1].as_int4(), Some(&Datum::text("pg_class")))?
        }
        "shobj_description" => shared_description(b, oid(0))?,
        "pg_client_encoding" => Datum::text(b.values.format.client_encoding.name()),
        "pg_tablespace_location" => Datum::text(""),
        "pg_my_temp_schema" => b.catalog.temporary().unwrap_or_default().into(),
        "pg_is_other_temp_schema" => names::is_anothers_temporary(b, oid(0))?.into(),
        "regclass" => object(b, TypeId::REGCLASS, &args[0])?,
        "to_regclass" => object_if_any(b, TypeId::REGCLASS, &args[0])?,
        "to_regtype" => object_if_any(b, TypeId::REGTYPE, &args[0])?,
        "to_regnamespace" => object_if_any(b, TypeId::REGNAMESPACE, &args[0])?,
        "to_regrole" => object_if_any(b, TypeId::REGROLE, &args[0])?,
        "to_regproc" => object_if_any(b, TypeId::REGPROC, &args[0])?,
        "to_regprocedure" => object_if_any(b, TypeId::REGPROCEDURE, &args[0])?,
        // As through a unix socket; addresses are not told.
        "inet_client_addr" | "inet_server_addr" | "inet_client_port" | "inet_server_port" => {
            Datum::Null
        }
        "to_regoper" => object_if_any(b, TypeId::REGOPER, &args[0])?,
        "to_regoperator" => match object(b, TypeId::REGOPERATOR, &args[0]) {
            Err(error) if error.sqlstate() == SqlState::UNDEFINED_FUNCTION => Datum::Null,
            found => found?,
        },
        "to_regcollation" => object_if_any(b, TypeId::REGCOLLATION, &args[0])?,
        "pg_relation_filenode" => match names::table_by_oid(b, oid(0))? {
            Some(table) => Oid(table.storage.0).into(),
            None => Datum::Null,
        },
        "pg_relation_size" => relation_bytes(b, oid(0), Sized::Relation)?,
        "pg_table_size" => relation_bytes(b, oid(0), Sized::Table)?,
        "pg_total_relation_size" => relation_bytes(b, oid(0), Sized::Total)?,
        "pg_indexes_size" => index_bytes(b, oid(0))?,
        _ => return Ok(None),
    }))
}

/// The object that a text names.
fn object(b: &Backend, alias: TypeId, text: &Datum) -> Result<Datum> {
    input(alias, TypeMod::NONE, text.as_text(), &b.io())
}

/// Likewise; null where there is none.
fn object_if_any(b: &Backend, alias: TypeId, text: &Datum) -> Result<Datum> {
    match object(b, alias, text) {
        Err(error) if matches!(error.sqlstate().class(), "42" | "3F") => Ok(Datum::Null),
        found => found,
    }
}

fn of_locks(b: &mut Backend, name: &str, args: &[Datum]) -> Result<Option<Datum>> {
    Ok(Some(match name {
        "pg_advisory_lock" => advisory(b, args, LockMode::Exclusive, LockScope::Session)?,
        "pg_advisory_xact_lock" => advisory(b, args, LockMode::Exclusive, LockScope::Transaction)?,
        "pg_advisory_lock_shared" => advisory(b, args, LockMode::Share, LockScope::Session)?,
        "pg_advisory_xact_lock_shared" => {
            advisory(b, args, LockMode::Share, LockScope::Transaction)?
        }
        "pg_try_advisory_lock" => try_advisory(b, args, LockMode::Exclusive, LockScope::Session)?,
        "pg_try_advisory_xact_lock" => {
            try_advisory(b, args, LockMode::Exclusive, LockScope::Transaction)?
        }
        "pg_try_advisory_lock_shared" => {
            try_advisory(b, args, LockMode::Share, LockScope::Session)?
        }
        "pg_try_advisory_xact_lock_shared" => {
            try_advisory(b, args, LockMode::Share, LockScope::Transaction)?
        }
        "pg_advisory_unlock" => unlock_advisory(b, args, LockMode::Exclusive),
        "pg_advisory_unlock_shared" => unlock_advisory(b, args, LockMode::Share),
        "pg_advisory_unlock_all" => {
            b.txn.locks().unlock_all(|tag| matches!(tag, LockTag::Advisory { .. }));
            Datum::VOID
        }
        _ => return Ok(None),
    }))
}

/// What a function yields, in words.
pub(super) fn result_type(function: Oid) -> Option<String> {
    match crate::func::function(function) {
        Some(f) if f.returns_set => Some(format!("SETOF {}", type_name(f.result))),
        Some(f) => Some(type_name(f.result)),
        None => crate::func::aggregate(function).map(|aggregate| type_name(aggregate.result)),
    }
}

/// The types of a function's arguments.
pub(super) fn arguments(function: Oid) -> Option<String> {
    let list = match crate::func::function(function) {
        Some(f) => f.args,
        None => crate::func::aggregate(function)?.args,
    };
    let list: Vec<String> = list.iter().map(|id| type_name(*id)).collect();
    Some(list.join(", "))
}

fn type_name(id: TypeId) -> String {
    crate::types::format_type(id, crate::types::TypeMod::NONE)
}

/// `format_type(type, modifier)`.
fn format_type(b: &Backend, args: &[Datum]) -> Result<Datum> {
    let Datum::Oid(oid) = args[0] else { return Ok(Datum::Null) };
    let id = TypeId(oid.0);
    if crate::types::type_info(id).is_some() || !oid.is_valid() {
        let modifier = match args.get(1) {
            // Without any modifier the type is shown by its SQL name alone.
            Some(Datum::Null) if id == TypeId::BPCHAR => return Ok(Datum::text("character")),
            Some(Datum::Int4(n)) => crate::types::TypeMod(*n),
            _ => crate::types::TypeMod::NONE,
        };
        let text = crate::types::format_type(id, modifier);
        if !id.is_made() {
            return Ok(Datum::text(text));
        }
    }
    let named = names::of_object(b, TypeId::REGTYPE, oid)?;
    Ok(Datum::text(named.unwrap_or_else(|| "???".to_owned())))
}

/// Calls a set-returning function whose body is the session's.
pub fn call_set(b: &mut Backend, func: &'static Function, args: &[Datum]) -> Result<Rows> {
    let types: Vec<TypeId> = func.columns.iter().map(|(_, id)| *id).collect();
    let as_record = move |values: Vec<Datum>| {
        let fields = types.iter().copied().zip(values).collect();
        Datum::Record(Arc::new(Record::new(TypeId::RECORD, fields)))
    };
    if let Some(rows) = super::walinspect::call_set(b, func.name, args)? {
        return Ok(Box::new(rows.map(move |row| row.map(&as_record))));
    }
    let rows = match func.name {
        "pg_show_all_settings" => setting_functions::all_settings(b)?,
        "pg_lock_status" => super::activity::locks(b),
        "pg_stat_get_activity" => super::activity::sessions(b, &args[0])?,
        "pg_stat_get_slru" => super::activity::status_logs(b)?,
        "pg_stat_get_io" => super::buffers::io(b)?,
        "pg_stat_get_recovery_prefetch" => super::resets::recovery_prefetch(b)?,
        "pg_buffercache_pages" => super::buffers::cached(b)?,
        "pg_buffercache_usage_counts" => super::buffers::usage_counts(b)?,
        "pg_stat_get_progress_info" => super::statistics::progress(b, &args[0])?,
        "pg_get_multixact_members" => super::xacts::call_set(b, func.name, args)?,
        "pg_listening_channels" => return Ok(super::notify::listening(b)),
        "pg_snapshot_xip" | "txid_snapshot_xip" => {
            let ids = super::xacts::running(args)?;
            return Ok(Box::new(ids.into_iter().map(Ok)));
        }
        "aclexplode" => super::privileges::exploded(b, &args[0])?,
        "pg_ls_waldir" => super::wal::files(b)?,
        "pg_get_keywords" => super::keywords::all(),
        "pg_timezone_names" => super::zones::names(b),
        "pg_timezone_abbrevs" => super::zones::abbreviations(b),
        "pg_cursor" => b.standing.all_cursors(&b.query_text),
        "pg_prepared_statement" => b.standing.all_statements(),
        "pg_available_extensions" => ddl::available_extensions(),
        "pg_available_extension_versions" => ddl::available_extension_versions(),
        // No table is a partition, or has any.
        "pg_partition_ancestors" | "pg_partition_tree" => Vec::new(),
        name => {
            return Err(SqlError::unsupported(format!("function {name} is not supported yet")));
        }
    };
    Ok(Box::new(rows.into_iter().map(move |values: Vec<Datum>| Ok(as_record(values)))))
}

/// Waits until the time is over or an interrupt comes: a token that an earlier wait left behind ends nothing.
fn sleep(seconds: f64) -> Result<()> {
    let seconds = if seconds.is_nan() { 0.0 } else { seconds.clamp(0.0, 1e9) };
    let wanted = std::time::Duration::from_secs_f64(seconds);
    let until = base::clock::now().after(wanted);
    while base::clock::now() < until {
        base::interrupt::check().map_err(crate::error::interrupted)?;
        let _waiting = base::wait_event::during(base::wait_event::Event::PgSleep);
        base::park::park_until(Some(until));
    }
    base::interrupt::check().map_err(crate::error::interrupted)
}

fn schemas(b: &Backend, implicit: bool) -> Result<Datum> {
    let path = b.search_path()?;
    let store = &b.instance.store;
    let mut names = Vec::new();
    for oid in &path.schemas[if implicit { 0 } else { path.unnamed }..] {
        names.push(Datum::text(store.schema_name(&b.txn, *oid)?));
    }
    Ok(Array::from_elements(TypeId::NAME, names).into())
}

fn user_by_id(b: &Backend, oid: Oid) -> Result<Datum> {
    Ok(match role_row(&b.instance.store, &b.txn, oid)? {
        Some(found) => Datum::text(found.row.text("rolname")),
        None => Datum::text(format!("unknown (OID={oid})")),
    })
}

fn table_is_visible(b: &Backend, oid: Oid) -> Result<Datum> {
    let key = [Datum::Oid(oid)];
    let row = b.instance.store.find_one(&b.txn, "pg_class", "pg_class_oid_index", &key)?;
    let Some(row) = row else { return Ok(Datum::Null) };
    let path = b.search_path()?;
    let found = b.catalog.resolve(&b.txn, &path, None, row.row.text("relname"))?;
    Ok((found == Some(oid)).into())
}

pub(super) fn serial_sequence(b: &Backend, table: &str, column: &str) -> Result<Datum> {
    let oid = names::relation(b, table)?;
    let Some(def) = names::table_by_oid(b, oid)? else { return Ok(Datum::Null) };
    let Some(position) = def.column(column) else {
        bail!(UNDEFINED_COLUMN, "column \"{column}\" of relation \"{}\" does not exist", def.name);
    };
    let owned = b.instance.store.owned_sequence(&b.txn, oid, position as i16 + 1)?;
    let Some(sequence) = owned else { return Ok(Datum::Null) };
    Ok(match names::table_by_oid(b, sequence)? {
        Some(def) => {
            Datum::text(format!("{}.{}", quote_ident(&def.schema_name), quote_ident(&def.name)))
        }
        None => Datum::Null,
    })
}

/// The index and its table.
pub(super) fn find_index(
    b: &Backend,
    oid: Oid,
) -> Result<Option<(std::sync::Arc<TableDef>, std::sync::Arc<IndexDef>)>> {
    let key = [Datum::Oid(oid)];
    let row = b.instance.store.find_one(&b.txn, "pg_index", "pg_index_indexrelid_index", &key)?;
    let Some(row) = row else { return Ok(None) };
    let Some(table) = names::table_by_oid(b, row.row.oid("indrelid"))? else { return Ok(None) };
    let index = table.index(oid).cloned();
    Ok(index.map(|index| (table, index)))
}

/// A stored expression as this session shows it; pretty: without the parentheses that it does not need.
fn shown(b: &mut Backend, text: &str, table: &std::sync::Arc<TableDef>, pretty: bool) -> String {
    let shown = b.shown_expr(text, table);
    if !pretty {
        return shown;
    }
    let parsed = b.with_catalog(|catalog| catalog.parse_stored_expr(&shown));
    let pretty =
        parsed.ok().and_then(|e| syntax::deparse::expr(&e, syntax::deparse::Style::Pretty));
    pretty.unwrap_or(shown)
}

/// `pg_get_indexdef(index [, column, pretty])`.
fn index_definition(b: &mut Backend, args: &[Datum]) -> Result<Datum> {
    let Some((table, index)) = find_index(b, args[0].as_oid())? else { return Ok(Datum::Null) };
    let column = args.get(1).map_or(0, Datum::as_int4);
    let pretty = args.get(2).is_some_and(Datum::as_bool);
    let predicate = index.predicate.as_deref().map(|text| shown(b, text, &table, pretty));
    let mut key_text = |source: &KeySource| match source {
        KeySource::Column(i) => quote_ident(&table.columns[usize::from(*i)].name).into_owned(),
        KeySource::Expr(text) => {
            let shown = shown(b, text, &table, pretty);
            if b.is_call(text, &table) { shown } else { format!("({shown})") }
        }
    };
    if column > 0 {
        return Ok(match index.keys.get(column as usize - 1) {
            Some(key) => Datum::text(key_text(&key.source)),
            None => {
                let included = index.included.get(column as usize - 1 - index.keys.len());
                let name = included.map(|i| quote_ident(&table.columns[usize::from(*i)].name));
                Datum::text(&*name.unwrap_or_default())
            }
        });
    }
    let mut texts: Vec<String> = index.keys.iter().map(|key| key_text(&key.source)).collect();
    for (text, key) in texts.iter_mut().zip(&index.keys) {
        let own = match &key.source {
            KeySource::Column(at) => table.columns[usize::from(*at)].collation,
            KeySource::Expr(expr) => DdlHost::index_key(b, &table, expr)?.1,
        };
        if key.collation.is_valid()
            && key.collation != own
            && let Some(name) = names::collation_name(b, key.collation.oid)?
        {
            text.push_str(&format!(" COLLATE {name}"));
        }
    }
    let keys: Vec<String> = index
        .keys
        .iter()
        .zip(texts)
        .map(|(key, mut text)| {
            if let Some(class) = opclass::by_oid(key.class)
                && opclass::default_for(index.method, key.ty.id).is_none_or(|d| d.oid != class.oid)
            {
                text.push_str(&format!(" {}", class.name));
            }
            if key.desc {
                text.push_str(" DESC");
            }
            match (key.desc, key.nulls_first) {
                (false, true) => text.push_str(" NULLS FIRST"),
                (true, false) => text.push_str(" NULLS LAST"),
                _ => {}
            }
            text
        })
        .collect();
    let of = match b.object_name(TypeId::REGCLASS, table.oid)? {
        Some(name) if pretty => name,
        _ => format!("{}.{}", quote_ident(&table.schema_name), quote_ident(&table.name)),
    };
    let mut text = format!(
        "CREATE {}INDEX {} ON {of} USING {} ({})",
        if index.unique { "UNIQUE " } else { "" },
        quote_ident(&index.name),
        index.method.name(),
        keys.join(", ")
    );
    text.push_str(&include_clause(&table, &index));
    if index.unique && index.nulls_not_distinct {
        text.push_str(" NULLS NOT DISTINCT");
    }
    if !index.parameters.is_empty() {
        text.push_str(&format!(" WITH ({})", parameters::shown(&index.parameters)));
    }
    if let Some(predicate) = predicate {
        text.push_str(&format!(" WHERE {predicate}"));
    }
    Ok(Datum::text(text))
}

/// ` INCLUDE (a, b)`, or nothing.
fn include_clause(table: &TableDef, index: &IndexDef) -> String {
    if index.included.is_empty() {
        return String::new();
    }
    let name = |column: &u16| quote_ident(&table.columns[usize::from(*column)].name).into_owned();
    let names: Vec<String> = index.included.iter().map(name).collect();
    format!(" INCLUDE ({})", names.join(", "))
}

/// `pg_get_constraintdef`.
fn constraint_definition(b: &mut Backend, oid: Oid, pretty: Option<&Datum>) -> Result<Datum> {
    let key = [Datum::Oid(oid)];
    let row =
        b.instance.store.find_one(&b.txn, "pg_constraint", "pg_constraint_oid_index", &key)?;
    let Some(found) = row else { return Ok(Datum::Null) };
    let row = &found.row;
    let Some(table) = names::table_by_oid(b, row.oid("conrelid"))? else { return Ok(Datum::Null) };
    let columns = || {
        let names: Vec<String> = row
            .int2s("conkey")
            .iter()
            .filter_map(|n| table.columns.get((*n as usize).wrapping_sub(1)))
            .map(|column| quote_ident(&column.name).into_owned())
            .collect();
        names.join(", ")
    };
    let index = table.index(row.oid("conindid"));
    let included = || index.map(|index| include_clause(&table, index)).unwrap_or_default();
    Ok(match row.letter("contype") {
        kind @ (b'p' | b'u') => {
            let word = match index {
                _ if kind == b'p' => "PRIMARY KEY",
                Some(index) if index.nulls_not_distinct => "UNIQUE NULLS NOT DISTINCT",
                _ => "UNIQUE",
            };
            let timing = timing_definition(row);
            Datum::text(format!("{word} ({}){}{timing}", columns(), included()))
        }
        b'c' => {
            let pretty = pretty.is_some_and(Datum::as_bool);
            let shown = shown(b, row.text("conbin"), &table, pretty);
            let heirs = if row.bool("connoinherit") { " NO INHERIT" } else { "" };
            let validity = if row.bool("convalidated") { "" } else { " NOT VALID" };
            Datum::text(format!("CHECK ({shown}){heirs}{validity}"))
        }
        b'f' => {
            let Some(referenced) = names::table_by_oid(b, row.oid("confrelid"))? else {
                return Ok(Datum::Null);
            };
            Datum::text(foreign_key_definition(b, row, &table, &referenced)?)
        }
        _ => Datum::Null,
    })
}

fn foreign_key_definition(
    b: &Backend,
    row: &CatalogRow,
    table: &TableDef,
    referenced: &TableDef,
) -> Result<String> {
    let list = |table: &TableDef, column: &str| {
        let numbers = row.int2s(column);
        let columns = numbers.iter().filter_map(|n| table.columns.get(*n as usize - 1));
        let names: Vec<String> = columns.map(|c| quote_ident(&c.name).into_owned()).collect();
        names.join(", ")
    };
    let mut text = format!(
        "FOREIGN KEY ({}) REFERENCES {}({})",
        list(table, "conkey"),
        b.object_name(TypeId::REGCLASS, referenced.oid)?.unwrap_or_default(),
        list(referenced, "confkey")
    );
    if row.letter("confmatchtype") == b'f' {
        text.push_str(" MATCH FULL");
    }
    for (column, when) in [("confupdtype", "UPDATE"), ("confdeltype", "DELETE")] {
        let action = Action::from_letter(row.letter(column));
        if action != Action::NoAction {
            text.push_str(&format!(" ON {when} {}", action.words()));
        }
    }
    if !row.int2s("confdelsetcols").is_empty() {
        text.push_str(&format!(" ({})", list(table, "confdelsetcols")));
    }
    text.push_str(timing_definition(row));
    if !row.bool("convalidated") {
        text.push_str(" NOT VALID");
    }
    Ok(text)
}

/// When a constraint is checked.
fn timing_definition(row: &CatalogRow) -> &'static str {
    match (row.bool("condeferrable"), row.bool("condeferred")) {
        (true, true) => " DEFERRABLE INITIALLY DEFERRED",
        (true, false) => " DEFERRABLE",
        (false, _) => "",
    }
}

fn description(b: &Backend, object: Oid, sub: i32, class: Option<&Datum>) -> Result<Datum> {
    let store = &b.instance.store;
    let rows = store.scan(&b.txn, "pg_description", |row| {
        row.oid("objoid") == object && row.int4("objsubid") == sub
    })?;
    let class = match class {
        Some(Datum::Text(name)) => crate::catalog::store::schema::catalogs()
            .iter()
            .find(|c| *c.name == **name)
            .map(|c| c.oid),
        _ => None,
    };
    let found = rows.iter().find(|f| class.is_none_or(|oid| f.row.oid("classoid") == oid));
    Ok(match found {
        Some(found) => Datum::text(found.row.text("description")),
        None => Datum::Null,
    })
}

fn shared_description(b: &Backend, object: Oid) -> Result<Datum> {
    let rows =
        b.instance.store.scan(&b.txn, "pg_shdescription", |row| row.oid("objoid") == object)?;
    Ok(match rows.first() {
        Some(found) => Datum::text(found.row.text("description")),
        None => Datum::Null,
    })
}

const BLOCK_BYTES: i64 = 8192;

/// What a size is asked of.
#[derive(Clone, Copy, PartialEq)]
enum Sized {
    /// The relation itself.
    Relation,
    /// With what a table has of large values.
    Table,
    /// And with its indexes.
    Total,
}

fn relation_bytes(b: &Backend, oid: Oid, of: Sized) -> Result<Datum> {
    use crate::exec::Host;
    if let Some((_, index)) = find_index(b, oid)? {
        let blocks = b.tree(&index)?.relation().blocks(base::Fork::Main)?;
        return Ok((i64::from(blocks) * BLOCK_BYTES).into());
    }
    let Some(table) = names::table_by_oid(b, oid)? else { return Ok(Datum::Null) };
    match table.kind {
        TableKind::Table | TableKind::MaterializedView | TableKind::Toast => {}
        TableKind::Sequence => return Ok(Datum::Int8(BLOCK_BYTES)),
        _ => return Ok(Datum::Int8(0)),
    }
    let mut bytes = i64::from(b.heap(&table)?.relation().blocks(base::Fork::Main)?) * BLOCK_BYTES;
    if of != Sized::Relation
        && let Some(pieces) = table.toast_rows()
    {
        bytes += i64::from(pieces.relation().blocks(base::Fork::Main)?) * BLOCK_BYTES;
    }
    if of == Sized::Total {
        bytes += index_bytes(b, oid)?.as_int8();
    }
    Ok(bytes.into())
}

fn index_bytes(b: &Backend, oid: Oid) -> Result<Datum> {
    use crate::exec::Host;
    let Some(table) = names::table_by_oid(b, oid)? else { return Ok(Datum::Null) };
    let mut bytes = 0;
    for index in &table.indexes {
        let blocks = b.tree(index)?.relation().blocks(base::Fork::Main)?;
        bytes += i64::from(blocks) * BLOCK_BYTES;
    }
    Ok(bytes.into())
}

fn advisory_tag(b: &Backend, args: &[Datum]) -> LockTag {
    let db = b.catalog.database.0;
    match args {
        [key] => LockTag::advisory(db, key.as_int8()),
        [first, second, ..] => LockTag::advisory_pair(db, first.as_int4(), second.as_int4()),
        [] => LockTag::advisory(db, 0),
    }
}

fn advisory(b: &Backend, args: &[Datum], mode: LockMode, scope: LockScope) -> Result<Datum> {
    b.txn.locks().lock(advisory_tag(b, args), mode, scope, WaitPolicy::Block)?;
    Ok(Datum::VOID)
}

fn try_advisory(b: &Backend, args: &[Datum], mode: LockMode, scope: LockScope) -> Result<Datum> {
    match b.txn.locks().lock(advisory_tag(b, args), mode, scope, WaitPolicy::Never) {
        Ok(_) => Ok(true.into()),
        Err(storage::Error::LockNotAvailable) => Ok(false.into()),
        Err(other) => Err(other.into()),
    }
}

fn unlock_advisory(b: &mut Backend, args: &[Datum], mode: LockMode) -> Datum {
    let held = b.txn.locks().unlock(advisory_tag(b, args), mode);
    if !held {
        b.notice("WARNING", sql_error!(WARNING, "you don't own a lock of type {mode}"));
    }
    held.into()
}
