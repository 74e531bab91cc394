//! What GRANT and REVOKE name.

use storage::lock::LockMode;
use syntax::ast::{GrantTarget, ObjectKind, ObjectName, QualifiedName, TypeName};

use crate::catalog::rights::Class;
use crate::catalog::store::schema::catalog_by_oid;
use crate::error::{Result, SqlError, bail, sql_error};
use crate::func;
use crate::types::{Oid, TypeId};

use super::Ddl;
use crate::catalog::ddl::drop::relation_ref;

/// The kind of object that a statement is about.
pub(super) fn kind_of(on: &GrantTarget) -> ObjectKind {
    match on {
        GrantTarget::Objects { kind, .. }
        | GrantTarget::AllInSchemas { kind, .. }
        | GrantTarget::Defaults { kind } => *kind,
    }
}

/// What guards objects of that kind.
pub(super) fn class_of(kind: ObjectKind) -> Result<Class> {
    Ok(match kind {
        ObjectKind::Table => Class::Table,
        ObjectKind::Sequence => Class::Sequence,
        ObjectKind::Database => Class::Database,
        ObjectKind::Schema => Class::Schema,
        ObjectKind::Function | ObjectKind::Procedure | ObjectKind::Routine => Class::Function,
        ObjectKind::Language => Class::Language,
        ObjectKind::Type | ObjectKind::Domain => Class::Type,
        ObjectKind::Tablespace => Class::Tablespace,
        _ => {
            return Err(SqlError::unsupported(
                "privileges on this kind of object are not supported",
            ));
        }
    })
}

/// As messages call the kind.
pub(super) fn word(kind: ObjectKind) -> &'static str {
    match kind {
        ObjectKind::Table => "relation",
        ObjectKind::Sequence => "sequence",
        ObjectKind::Database => "database",
        ObjectKind::Schema => "schema",
        ObjectKind::Procedure => "procedure",
        ObjectKind::Routine => "routine",
        ObjectKind::Language => "language",
        ObjectKind::Type => "type",
        ObjectKind::Domain => "domain",
        ObjectKind::Tablespace => "tablespace",
        _ => "function",
    }
}

impl Ddl<'_> {
    /// The objects that a statement is about.
    pub(super) fn granted_objects(&mut self, on: &GrantTarget, class: Class) -> Result<Vec<Oid>> {
        match on {
            GrantTarget::Objects { kind, names } => {
                names.iter().map(|name| self.granted_object(*kind, class, name)).collect()
            }
            GrantTarget::AllInSchemas { schemas, .. } => {
                let mut objects = Vec::new();
                for schema in schemas {
                    let schema =
                        self.catalog.usable_schema(self.txn(), schema)?.ok_or_else(|| {
                            sql_error!(UNDEFINED_SCHEMA, "schema \"{schema}\" does not exist")
                        })?;
                    objects.extend(self.all_in(schema, class)?);
                }
                Ok(objects)
            }
            GrantTarget::Defaults { .. } => Err(SqlError::internal("defaults are no objects")),
        }
    }

    fn all_in(&self, schema: Oid, class: Class) -> Result<Vec<Oid>> {
        let (txn, store) = (self.txn(), self.store());
        let found = match class {
            Class::Table => store.scan(txn, "pg_class", |row| {
                row.oid("relnamespace") == schema
                    && matches!(row.letter("relkind"), b'r' | b'v' | b'm')
            })?,
            Class::Sequence => store.scan(txn, "pg_class", |row| {
                row.oid("relnamespace") == schema && row.letter("relkind") == b'S'
            })?,
            _ => store.scan(txn, "pg_proc", |row| row.oid("pronamespace") == schema)?,
        };
        Ok(found.iter().map(|found| found.row.oid("oid")).collect())
    }

    fn granted_object(&mut self, kind: ObjectKind, class: Class, name: &ObjectName) -> Result<Oid> {
        match (class, name) {
            (Class::Table | Class::Sequence, ObjectName::Name(name)) => self.granted_relation(name),
            (Class::Function, ObjectName::Routine { name, args }) => {
                self.granted_function(kind, name, args.as_deref())
            }
            (Class::Type, ObjectName::Type(name)) => Ok(self.host.type_of(name)?.id.oid()),
            (Class::Type, ObjectName::Name(name)) => {
                let name = TypeName {
                    name: name.clone(),
                    modifiers: Vec::new(),
                    array_bounds: Vec::new(),
                    set_of: false,
                    percent_type: false,
                    loc: name.loc,
                };
                Ok(self.host.type_of(&name)?.id.oid())
            }
            (_, ObjectName::Name(name)) => self.granted_by_name(class, name.last()),
            _ => bail!(SYNTAX_ERROR, "this object has another kind of name"),
        }
    }

    fn granted_relation(&mut self, name: &QualifiedName) -> Result<Oid> {
        let reference = relation_ref(name);
        self.refuse_other_database(&reference)?;
        let path = self.host.search_path()?;
        let (txn, schema) = (self.host.txn(), reference.schema.as_deref());
        let found = txn.briefly(|| self.catalog.resolve(txn, &path, schema, &reference.name))?;
        let oid = found.ok_or_else(|| self.no_relation(&reference))?;
        // A lock that keeps it from being dropped or altered meanwhile, and nobody from using it.
        if catalog_by_oid(oid).is_none() {
            self.catalog.lock(self.host.txn(), oid, LockMode::AccessShare)?;
        }
        Ok(oid)
    }

    fn granted_by_name(&self, class: Class, name: &str) -> Result<Oid> {
        let oid = self.catalog.object_named(self.txn(), class, name)?;
        if class == Class::Language && matches!(name, "c" | "internal") {
            return Err(sql_error!(WRONG_OBJECT_TYPE, "language \"{name}\" is not trusted")
                .with_detail(
                    "GRANT and REVOKE are not allowed on untrusted languages, because only \
                     superusers can use untrusted languages.",
                ));
        }
        Ok(oid)
    }

    fn granted_function(
        &mut self,
        kind: ObjectKind,
        name: &QualifiedName,
        args: Option<&[TypeName]>,
    ) -> Result<Oid> {
        let (own, word) = (name.last(), word(kind));
        if let Some(schema) = name.schema() {
            self.catalog.usable_schema(self.txn(), schema)?;
        }
        let of_system = name.schema().is_none_or(|schema| schema == "pg_catalog");
        let functions = func::functions(own).map(|f| (f.oid, f.args));
        let aggregates = func::aggregates(own).map(|a| (a.oid, a.args));
        let all: Vec<(Oid, &[TypeId])> =
            functions.chain(aggregates).filter(|_| of_system).collect();
        let shown = name.parts.join(".");
        let Some(args) = args else {
            return match all[..] {
                [(oid, _)] => Ok(oid),
                [] => bail!(UNDEFINED_FUNCTION, "could not find a {word} named \"{shown}\""),
                _ => Err(sql_error!(AMBIGUOUS_FUNCTION, "{word} name \"{shown}\" is not unique")
                    .with_hint(format!(
                        "Specify the argument list to select the {word} unambiguously."
                    ))),
            };
        };
        let mut types = Vec::with_capacity(args.len());
        for arg in args {
            types.push(self.host.type_of(arg)?.id);
        }
        let found = all.iter().find(|(_, of)| **of == *types);
        found.map(|(oid, _)| *oid).ok_or_else(|| {
            let types: Vec<String> =
                types.iter().map(|id| crate::bind::display(crate::bind::Ty::of(*id))).collect();
            sql_error!(UNDEFINED_FUNCTION, "{word} {shown}({}) does not exist", types.join(", "))
        })
    }
}
