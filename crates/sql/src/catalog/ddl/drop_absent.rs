//! DROP of kinds of objects that nobody can make here: there is none of that name, which is a notice with IF EXISTS.

use storage::lock::LockMode;
use syntax::ast::{DropObjects, Name, ObjectKind, ObjectName, QualifiedName, TypeName};

use crate::catalog::TableKind;
use crate::error::{Result, SqlError, SqlState, sql_error};
use crate::func;

use super::Ddl;
use super::drop::relation_ref;

impl Ddl<'_> {
    /// The tag of a statement that drops what can't be there.
    pub(super) fn drop_absent(&mut self, drop: &DropObjects) -> Result<String> {
        let word = match drop.kind {
            ObjectKind::Domain => "domain",
            ObjectKind::Function => "function",
            ObjectKind::Procedure => "procedure",
            ObjectKind::Routine => "routine",
            ObjectKind::Aggregate => "aggregate",
            ObjectKind::Trigger => "trigger",
            ObjectKind::Rule => "rule",
            ObjectKind::Policy => "policy",
            _ => return Err(refused()),
        };
        for name in &drop.names {
            match name {
                ObjectName::Type(name) => self.absent_type(drop, name)?,
                ObjectName::Routine { name, args } => {
                    self.absent_routine(drop, word, name, args.as_deref())?;
                }
                ObjectName::Of { relation, name } => {
                    self.absent_part(drop, word, relation, name)?;
                }
                _ => return Err(refused()),
            }
        }
        Ok(format!("DROP {}", word.to_uppercase()))
    }

    /// A type that nobody can drop, or that is not there.
    pub(super) fn absent_type(&mut self, drop: &DropObjects, name: &TypeName) -> Result<()> {
        if self.lacks_schema(drop, &name.name)? {
            return Ok(());
        }
        let shown = name.name.last();
        if let Some(known) = built_in(&name.name).filter(|_| name.array_bounds.is_empty()) {
            if drop.kind == ObjectKind::Domain {
                return Err(sql_error!(WRONG_OBJECT_TYPE, "\"{}\" is not a domain", known.name));
            }
            let shown = crate::types::format_type(known.id, crate::types::TypeMod::NONE);
            return Err(required_by_the_system(&format!("type {shown}")));
        }
        if let Some(table) = self.find(&relation_ref(&name.name), LockMode::AccessShare)? {
            if drop.kind == ObjectKind::Domain {
                return Err(sql_error!(WRONG_OBJECT_TYPE, "\"{shown}\" is not a domain"));
            }
            let owner = self.relation_words(&table)?;
            return Err(sql_error!(
                DEPENDENT_OBJECTS_STILL_EXIST,
                "cannot drop type {shown} because {owner} requires it"
            )
            .with_hint(format!("You can drop {owner} instead.")));
        }
        let shown = type_words(name);
        let text = format!("type \"{shown}\" does not exist");
        self.missing::<()>(drop, SqlState::UNDEFINED_OBJECT, text).map(drop_value)
    }

    fn absent_routine(
        &mut self,
        drop: &DropObjects,
        word: &str,
        name: &QualifiedName,
        args: Option<&[TypeName]>,
    ) -> Result<()> {
        if self.lacks_schema(drop, name)? {
            return Ok(());
        }
        let own = name.last();
        if name.schema().is_none_or(|schema| schema == "pg_catalog")
            && (func::functions(own).next().is_some() || func::aggregates(own).next().is_some())
        {
            return Err(refused());
        }
        let shown = name.parts.join(".");
        let Some(args) = args else {
            let text = match (drop.if_exists, drop.kind) {
                (false, ObjectKind::Procedure) => {
                    format!("could not find a procedure named \"{shown}\"")
                }
                (false, _) => format!("could not find a function named \"{shown}\""),
                (true, _) => format!("{word} {shown}() does not exist"),
            };
            return self.missing::<()>(drop, SqlState::UNDEFINED_FUNCTION, text).map(drop_value);
        };
        let mut types = Vec::with_capacity(args.len());
        for arg in args {
            if self.lacks_schema(drop, &arg.name)? {
                return Ok(());
            }
            match (self.host.type_of(arg), drop.if_exists) {
                (Ok(_), true) => types.push(type_words(arg)),
                (Ok(ty), false) => types.push(crate::bind::display(ty)),
                (Err(_), true) => {
                    let text = format!("type \"{}\" does not exist", type_words(arg));
                    let state = SqlState::UNDEFINED_OBJECT;
                    return self.missing::<()>(drop, state, text).map(drop_value);
                }
                // Without the place, as in PostgreSQL.
                (Err(error), false) => {
                    return Err(SqlError::new(error.fields().sqlstate, error.message()));
                }
            }
        }
        // An aggregate of no arguments is written so.
        let nothing = drop.kind == ObjectKind::Aggregate && types.is_empty() && !drop.if_exists;
        let separator = if drop.if_exists { "," } else { ", " };
        let listed = if nothing { "*".to_owned() } else { types.join(separator) };

        let text = format!("{word} {shown}({listed}) does not exist");
        self.missing::<()>(drop, SqlState::UNDEFINED_FUNCTION, text).map(drop_value)
    }

    /// A trigger, rule or policy of a relation.
    fn absent_part(
        &mut self,
        drop: &DropObjects,
        word: &str,
        relation: &QualifiedName,
        name: &Name,
    ) -> Result<()> {
        if self.lacks_schema(drop, relation)? {
            return Ok(());
        }
        let reference = relation_ref(relation);
        let Some(found) = self.find(&reference, LockMode::AccessExclusive)? else {
            let shown = relation.parts.join(".");
            let text = format!("relation \"{shown}\" does not exist");
            return self.missing::<()>(drop, SqlState::UNDEFINED_TABLE, text).map(drop_value);
        };
        let is_of_view = found.kind.has_query() || found.kind == TableKind::Virtual;
        if is_of_view && drop.kind == ObjectKind::Rule && &**name == "_RETURN" {
            let view = self.relation_words(&found)?;
            return Err(sql_error!(
                DEPENDENT_OBJECTS_STILL_EXIST,
                "cannot drop rule _RETURN on {view} because {view} requires it"
            )
            .with_hint(format!("You can drop {view} instead.")));
        }
        let of = if drop.if_exists || drop.kind == ObjectKind::Rule { "relation" } else { "table" };
        let text = format!("{word} \"{name}\" for {of} \"{}\" does not exist", found.name);
        self.missing::<()>(drop, SqlState::UNDEFINED_OBJECT, text).map(drop_value)
    }

    /// Whether the schema that a name says is missing, which IF EXISTS takes with a notice.
    fn lacks_schema(&mut self, drop: &DropObjects, name: &QualifiedName) -> Result<bool> {
        let Some(schema) = name.schema() else { return Ok(false) };
        if self.catalog.named_schema(self.host.txn(), schema)?.is_some() {
            return Ok(false);
        }
        let text = format!("schema \"{schema}\" does not exist");
        self.missing::<()>(drop, SqlState::UNDEFINED_SCHEMA, text)?;
        Ok(true)
    }
}

fn drop_value(_: Option<()>) {}

fn built_in(name: &QualifiedName) -> Option<&'static crate::types::TypeInfo> {
    let of_system = name.schema().is_none_or(|schema| schema == "pg_catalog");
    if of_system { crate::types::type_by_name(name.last()) } else { None }
}

/// A type's name as the statement has it, words of the grammar aside.
fn type_words(name: &TypeName) -> String {
    let brackets = "[]".repeat(name.array_bounds.len().min(1));
    format!("{}{brackets}", name.name.parts.join("."))
}

fn required_by_the_system(what: &str) -> SqlError {
    sql_error!(
        DEPENDENT_OBJECTS_STILL_EXIST,
        "cannot drop {what} because it is required by the database system"
    )
}

fn refused() -> SqlError {
    sql_error!(FEATURE_NOT_SUPPORTED, "this kind of DROP is not supported")
}
