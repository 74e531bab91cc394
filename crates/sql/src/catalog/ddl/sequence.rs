//! Sequences.

use base::ids::Persistence;
use base::rank::Rank;
use storage::lock::LockMode;
use storage::sequence::{Params, State};
use syntax::ast::{
    AlterSequence, CreateSequence, QualifiedName, SequenceOption, SequenceOptionKind,
};

use crate::bind::Ty;
use crate::catalog::rights::Class;
use crate::catalog::store::builtin::{attribute_row, class_row};
use crate::catalog::store::row::{CatalogRow, RowBuilder};
use crate::catalog::{TableDef, TableKind};
use crate::error::{Result, bail, sql_error};
use crate::types::{Datum, Oid, TypeId};

use super::Ddl;
use super::column::in_other_schema;
use super::create_table::{persistence, persistence_letter};
use super::drop::relation_ref;

/// A sequence's row in `pg_sequence`, worked out.
#[derive(Clone, Copy)]
pub(super) struct Settings {
    type_id: TypeId,
    start: i64,
    params: Params,
    cache: i64,
}

/// What a `pg_sequence` row says.
pub fn params_of(row: &CatalogRow) -> Params {
    Params {
        increment: row.get("seqincrement").as_int8(),
        min: row.get("seqmin").as_int8(),
        max: row.get("seqmax").as_int8(),
        cycle: row.bool("seqcycle"),
    }
}

fn type_range(type_id: TypeId) -> (i64, i64) {
    match type_id {
        TypeId::INT2 => (i64::from(i16::MIN), i64::from(i16::MAX)),
        TypeId::INT4 => (i64::from(i32::MIN), i64::from(i32::MAX)),
        _ => (i64::MIN, i64::MAX),
    }
}

impl Ddl<'_> {
    pub(super) fn create_sequence(&mut self, create: &CreateSequence) -> Result<()> {
        let (schema, lasts) = self.creation_schema(&create.relation, create.persistence)?;
        let name = &create.relation.name;
        if self.name_is_taken(schema, name, create.if_not_exists)? {
            return Ok(());
        }
        let oid = self.new_sequence(name, schema, persistence(lasts), None, &create.options)?;
        self.set_owner(oid, &create.options)
    }

    /// Makes a sequence: rows, storage, first state.
    pub(super) fn new_sequence(
        &mut self,
        name: &str,
        schema: Oid,
        persistence: Persistence,
        type_id: Option<TypeId>,
        options: &[SequenceOption],
    ) -> Result<Oid> {
        let settings = self.settings(type_id, None, options)?;
        let oid = self.new_oid()?;
        let owner = self.host.user();
        let txn = self.host.txn();
        let store = self.store();
        let storage = store.create_storage(txn, persistence, Rank::SequencePage)?;
        let class = class_row(oid, name, schema, b'S', 3)
            .oid("relowner", owner)
            .set("relacl", self.new_acl(Class::Sequence, owner, schema)?)
            .oid("relfilenode", Oid(storage.0))
            .letter("relpersistence", persistence_letter(persistence));
        store.insert(txn, "pg_class", &class.build())?;
        let columns =
            [("last_value", TypeId::INT8), ("log_cnt", TypeId::INT8), ("is_called", TypeId::BOOL)];
        for (i, (column, ty)) in columns.into_iter().enumerate() {
            let ty = Ty::of(ty);
            let row = attribute_row(oid, i as i16 + 1, column, ty, ty.collation());
            let row = row.set("attnotnull", true);
            store.insert(txn, "pg_attribute", &row.build())?;
        }
        store.insert(txn, "pg_sequence", &sequence_row(oid, &settings))?;
        store.sequence(storage).create(settings.start)?;
        self.changed(oid)?;
        Ok(oid)
    }

    /// Applies options over defaults, or over what the sequence had.
    fn settings(
        &mut self,
        type_id: Option<TypeId>,
        old: Option<Settings>,
        options: &[SequenceOption],
    ) -> Result<Settings> {
        let mut ty = old.map(|s| s.type_id).or(type_id).unwrap_or(TypeId::INT8);
        let (mut increment, mut min, mut max, mut start) = (None, None, None, None);
        let (mut cycle, mut cache) = (None, None);
        for (at, option) in options.iter().enumerate() {
            said_once(&options[..at], option)?;
            match &option.kind {
                SequenceOptionKind::As(name) => {
                    ty = self.host.type_of(name)?.id;
                    if !matches!(ty, TypeId::INT2 | TypeId::INT4 | TypeId::INT8) {
                        return Err(sql_error!(
                            INVALID_PARAMETER_VALUE,
                            "sequence type must be smallint, integer, or bigint"
                        ));
                    }
                }
                SequenceOptionKind::Increment(n) => increment = Some(*n),
                SequenceOptionKind::MinValue(n) => min = Some(*n),
                SequenceOptionKind::MaxValue(n) => max = Some(*n),
                SequenceOptionKind::Start(n) => start = Some(*n),
                SequenceOptionKind::Cycle(c) => cycle = Some(*c),
                SequenceOptionKind::Cache(n) => cache = Some(*n),
                _ => {}
            }
        }
        let increment = increment.or(old.map(|s| s.params.increment)).unwrap_or(1);
        if increment == 0 {
            return Err(sql_error!(INVALID_PARAMETER_VALUE, "INCREMENT must not be zero"));
        }
        let (lowest, highest) = type_range(ty);
        if let Some(old) = old.filter(|old| old.type_id != ty) {
            // Bounds that were the old type's own become the new one's.
            let (lowest, highest) = type_range(old.type_id);
            if max.is_none() && old.params.increment > 0 && old.params.max == highest {
                max = Some(None);
            }
            if min.is_none() && old.params.increment < 0 && old.params.min == lowest {
                min = Some(None);
            }
        }
        let ascending = increment > 0;
        let default_min = if ascending { 1 } else { lowest };
        let default_max = if ascending { highest } else { -1 };
        let bound = |given: Option<Option<i64>>, old: Option<i64>, default: i64| match given {
            Some(Some(n)) => n,
            Some(None) => default,
            None => old.unwrap_or(default),
        };
        let min = bound(min, old.map(|s| s.params.min), default_min);
        let max = bound(max, old.map(|s| s.params.max), default_max);
        let type_name = crate::bind::display(Ty::of(ty));
        for (name, value) in [("MAXVALUE", max), ("MINVALUE", min)] {
            if value < lowest || value > highest {
                return Err(sql_error!(
                    INVALID_PARAMETER_VALUE,
                    "{name} ({value}) is out of range for sequence data type {type_name}"
                ));
            }
        }
        if min >= max {
            return Err(sql_error!(
                INVALID_PARAMETER_VALUE,
                "MINVALUE ({min}) must be less than MAXVALUE ({max})"
            ));
        }
        let default_start = if ascending { min } else { max };
        let start = start.or(old.map(|s| s.start)).unwrap_or(default_start);
        if start < min {
            return Err(sql_error!(
                INVALID_PARAMETER_VALUE,
                "START value ({start}) cannot be less than MINVALUE ({min})"
            ));
        }
        if start > max {
            return Err(sql_error!(
                INVALID_PARAMETER_VALUE,
                "START value ({start}) cannot be greater than MAXVALUE ({max})"
            ));
        }
        let cache = cache.or(old.map(|s| s.cache)).unwrap_or(1);
        if cache < 1 {
            return Err(sql_error!(
                INVALID_PARAMETER_VALUE,
                "CACHE ({cache}) must be greater than zero"
            ));
        }
        let cycle = cycle.or(old.map(|s| s.params.cycle)).unwrap_or(false);
        let params = Params { increment, min, max, cycle };
        Ok(Settings { type_id: ty, start, params, cache })
    }

    pub(super) fn alter_sequence(&mut self, alter: &AlterSequence) -> Result<()> {
        let mode = LockMode::ShareRowExclusive;
        let Some(sequence) = self.find(&alter.relation, mode)? else {
            return self.without_relation(&alter.relation, alter.if_exists);
        };
        self.must_own(&sequence)?;
        if sequence.kind != TableKind::Sequence {
            return Err(sql_error!(WRONG_OBJECT_TYPE, "\"{}\" is not a sequence", sequence.name));
        }
        self.change_sequence(sequence.oid, &alter.options)?;
        self.set_owner(sequence.oid, &alter.options)
    }

    /// Applies options to a sequence.
    pub(super) fn change_sequence(
        &mut self,
        sequence: Oid,
        options: &[SequenceOption],
    ) -> Result<()> {
        // Nobody is to be given a value between its being read and its being set again.
        self.catalog.lock(self.host.txn(), sequence, LockMode::ShareRowExclusive)?;
        let sequence = &*self.table(sequence)?;
        let key = [Datum::Oid(sequence.oid)];
        let (txn, store) = (self.txn(), self.store());
        let found = store.find_one(txn, "pg_sequence", "pg_sequence_seqrelid_index", &key)?;
        let found = found.ok_or_else(|| sql_error!(INTERNAL_ERROR, "a sequence without a row"))?;
        let old = Settings {
            type_id: TypeId(found.row.oid("seqtypid").0),
            start: found.row.get("seqstart").as_int8(),
            params: params_of(&found.row),
            cache: found.row.get("seqcache").as_int8(),
        };
        let new = self.settings(None, Some(old), options)?;
        let restart = options.iter().find_map(|option| match &option.kind {
            SequenceOptionKind::Restart(value) => Some(value.unwrap_or(new.start)),
            _ => None,
        });
        let state = match restart {
            Some(last) => State { last, is_called: false },
            None => {
                let rel = self.store().sequence(sequence.storage);
                rel.begin_if_emptied(old.start)?;
                rel.read(self.txn())?
            }
        };
        check_last(state.last, &new.params)?;
        let values = sequence_row(sequence.oid, &new);
        self.store().update(self.txn(), "pg_sequence", &found, &values)?;
        match restart {
            Some(last) => self.renew_sequence(sequence, last),
            None => {
                // What redo goes to lies in the new bounds.
                self.store().sequence(sequence.storage).set(self.txn(), state)?;
                self.changed(sequence.oid)
            }
        }
    }

    /// Begins a sequence anew, in new storage, so that a rollback takes it back.
    fn renew_sequence(&mut self, sequence: &TableDef, first: i64) -> Result<()> {
        let storage =
            self.store().create_storage(self.txn(), sequence.persistence, Rank::SequencePage)?;
        self.store().sequence(storage).create(first)?;
        self.update_class(sequence.oid, &[("relfilenode", Datum::Oid(Oid(storage.0)))])?;
        self.store().drop_storage(self.txn(), sequence.storage)?;
        self.changed(sequence.oid)
    }

    /// OWNED BY.
    fn set_owner(&mut self, sequence: Oid, options: &[SequenceOption]) -> Result<()> {
        for option in options {
            let SequenceOptionKind::OwnedBy(owner) = &option.kind else { continue };
            let Some(owner) = owner else {
                self.must_not_be_of_identity(sequence)?;
                self.forget_owner(sequence)?;
                continue;
            };
            let Some((column, table)) = owner.parts.split_last().filter(|(_, t)| !t.is_empty())
            else {
                return Err(sql_error!(SYNTAX_ERROR, "invalid OWNED BY option")
                    .with_hint("Specify OWNED BY table.column or OWNED BY NONE."));
            };
            let name = QualifiedName { parts: table.to_vec(), loc: owner.loc };
            let table = self.open(&relation_ref(&name), LockMode::AccessShare)?;
            let owned = self.table(sequence)?;
            can_own(&table, &owned)?;
            let at = table.column(column).ok_or_else(|| super::no_column(&table, column))?;
            self.must_not_be_of_identity(sequence)?;
            self.depend_on_column(sequence, table.oid, at as i16 + 1, b'a')?;
        }
        Ok(())
    }

    /// The sequence of an identity column goes with it, whatever else is said.
    fn must_not_be_of_identity(&self, sequence: Oid) -> Result<()> {
        let Some((table, _)) = self.identity_of(sequence)? else { return Ok(()) };
        let name = &self.table(sequence)?.name;
        Err(sql_error!(FEATURE_NOT_SUPPORTED, "cannot change ownership of identity sequence")
            .with_detail(format!("Sequence \"{name}\" is linked to table \"{}\".", table.name)))
    }

    /// TRUNCATE … RESTART IDENTITY.
    pub(super) fn restart_sequence(&mut self, oid: Oid) -> Result<()> {
        self.catalog.lock(self.host.txn(), oid, LockMode::AccessExclusive)?;
        let sequence = self.table(oid)?;
        let key = [Datum::Oid(oid)];
        let found =
            self.store().find_one(self.txn(), "pg_sequence", "pg_sequence_seqrelid_index", &key)?;
        let Some(found) = found else { return Ok(()) };
        self.renew_sequence(&sequence, found.row.get("seqstart").as_int8())
    }
}

/// `42601` for an option that was given before.
fn said_once(before: &[SequenceOption], option: &SequenceOption) -> Result<()> {
    let kind = std::mem::discriminant(&option.kind);
    if before.iter().all(|other| std::mem::discriminant(&other.kind) != kind) {
        return Ok(());
    }
    let error = sql_error!(SYNTAX_ERROR, "conflicting or redundant options");
    Err(crate::bind::at(error, option.loc))
}

/// An error unless a sequence can go with a column of this relation.
fn can_own(relation: &TableDef, sequence: &TableDef) -> Result<()> {
    if !matches!(relation.kind, TableKind::Table | TableKind::View) {
        return Err(sql_error!(
            WRONG_OBJECT_TYPE,
            "sequence cannot be owned by relation \"{}\"",
            relation.name
        )
        .with_detail(relation.kind.not_supported()));
    }
    if sequence.owner != relation.owner {
        bail!(
            OBJECT_NOT_IN_PREREQUISITE_STATE,
            "sequence must have same owner as table it is linked to"
        );
    }
    if sequence.schema != relation.schema {
        return Err(in_other_schema());
    }
    Ok(())
}

/// Where a sequence stands must be within its bounds.
fn check_last(last: i64, params: &Params) -> Result<()> {
    let Params { min, max, .. } = params;
    if last < *min {
        bail!(
            INVALID_PARAMETER_VALUE,
            "RESTART value ({last}) cannot be less than MINVALUE ({min})"
        );
    }
    if last > *max {
        bail!(
            INVALID_PARAMETER_VALUE,
            "RESTART value ({last}) cannot be greater than MAXVALUE ({max})"
        );
    }
    Ok(())
}

fn sequence_row(oid: Oid, settings: &Settings) -> Vec<Datum> {
    RowBuilder::of("pg_sequence")
        .oid("seqrelid", oid)
        .oid("seqtypid", settings.type_id.oid())
        .set("seqstart", settings.start)
        .set("seqincrement", settings.params.increment)
        .set("seqmax", settings.params.max)
        .set("seqmin", settings.params.min)
        .set("seqcache", settings.cache)
        .set("seqcycle", settings.params.cycle)
        .build()
}
