//! The catalogs as one statement sees them.

use std::sync::Arc;

use syntax::ast::{self, QualifiedName, RelationRef, SelectBody};

use crate::error::{Result, SqlError, SqlState, sql_error};
use crate::types::{Datum, Oid, TypeId, array_of, type_by_name};

use super::TableDef;
use super::collation::Named;

/// What a relation is looked up for: decides the lock that is taken with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    Read,
    Write,
}

/// Where relations and types come from.
pub trait Lookup {
    /// A relation by name, locked for `access`; without a schema along the search path.
    fn relation(
        &mut self,
        schema: Option<&str>,
        name: &str,
        access: Access,
    ) -> Result<Option<Arc<TableDef>>>;

    /// A type that is not built in.
    fn user_type(&mut self, schema: Option<&str>, name: &str) -> Result<Option<TypeId>>;

    /// The schema of an enum, or the array type of one.
    fn schema_of_type(&mut self, id: TypeId) -> Result<Box<str>>;

    /// Whether there is a schema of that name.
    fn has_schema(&mut self, name: &str) -> Result<bool>;

    /// A collation by name; without a schema along the search path.
    fn collation(&mut self, name: &QualifiedName) -> Result<Named>;

    /// The name of a collation that is there.
    fn collation_name(&mut self, oid: Oid) -> Result<String>;

    /// Likewise quoted, and with its schema if it would not be found without.
    fn collation_label(&mut self, oid: Oid) -> Result<Option<String>>;

    /// How a literal is written that is this value to every session; `None`: as it is. And the relation that it names.
    fn lasting_literal(
        &mut self,
        id: TypeId,
        value: &Datum,
    ) -> Result<(Option<String>, Option<Oid>)>;

    /// Names are those of a text that is stored, from here on or no longer: whether its schemas may be used was asked of who
    /// stored it.
    fn in_stored_text(&mut self, is_so: bool);

    /// Reads a literal as a value of a type.
    fn text_in(&mut self, id: TypeId, modifier: i32, text: &str) -> Result<Datum>;
}

/// The binder's view: a [`Lookup`] with what else names depend on.
pub struct Catalog<'c> {
    pub lookup: &'c mut dyn Lookup,
    pub database: &'c str,
    /// `allow_system_table_mods`.
    pub system_table_mods: bool,
    /// While a view's query is bound for its own sake: what its text says only here and now. What it reads is not opened
    /// then: a view in it is a relation like others, as its own query may be another one tomorrow.
    pub record: Option<Record>,
}

/// What must be written out in a view's text, so that it means the same anywhere and later.
#[derive(Default)]
pub struct Record {
    /// Relations that were named: where, and their schema unless it was written.
    pub relations: Vec<NamedRelation>,
    /// Likewise collations: where the word COLLATE is.
    pub collations: Vec<NamedRelation>,
    /// Likewise enums; those of literals have no place.
    pub types: Vec<NamedRelation>,
    /// Columns that were named alone, where another column could come to have the name.
    pub columns: Vec<NamedColumn>,
    pub stars: Vec<Star>,
    pub naturals: Vec<Natural>,
    /// Literals that are read by settings.
    pub literals: Vec<ReadLiteral>,
    /// Primary keys, by their constraints, that the query groups by to use what they determine.
    pub constraints: Vec<Oid>,
}

impl Record {
    /// Where in the text all of it stands.
    pub fn places(&self) -> Vec<u32> {
        let named = self.relations.iter().chain(&self.collations).chain(&self.types);
        let relations = named.map(|named| named.loc);
        let stars = self.stars.iter().map(|star| star.loc);
        let columns = self.columns.iter().map(|column| column.loc);
        let naturals = self.naturals.iter().map(|natural| natural.loc);
        let literals = self.literals.iter().map(|read| read.loc);
        let all = relations.chain(stars).chain(columns).chain(naturals).chain(literals);
        all.filter_map(|loc| loc.offset()).collect()
    }
}

pub struct NamedRelation {
    pub loc: ast::Loc,
    pub schema: Option<Box<str>>,
    pub oid: Oid,
}

/// A column: where, and the name of its entry of FROM.
pub struct NamedColumn {
    pub loc: ast::Loc,
    pub alias: Box<str>,
}

/// A `*`: where, and the columns that it stands for with their tables' names; a column that JOIN USING merged has
/// none.
pub struct Star {
    pub loc: ast::Loc,
    pub form: StarForm,
    pub columns: Vec<(Option<Box<str>>, Box<str>)>,
}

/// How it is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StarForm {
    /// `*`, `t.*`.
    Plain,
    /// `(t).*`; its place is the bracket's.
    Row,
    /// `TABLE t`; its place is the table's.
    Table,
}

/// NATURAL JOIN: where its right side begins, and the names that the sides share.
pub struct Natural {
    pub loc: ast::Loc,
    pub names: Vec<ast::Name>,
}

/// A literal: where, and how it is written that it means the same to every session.
pub struct ReadLiteral {
    pub loc: ast::Loc,
    pub text: String,
}

/// `42P17` for a view that names itself, or another one that does.
pub fn infinite_recursion(view: &TableDef) -> SqlError {
    sql_error!(
        INVALID_OBJECT_DEFINITION,
        "infinite recursion detected in rules for relation \"{}\"",
        view.name
    )
}

/// A statement stays in its database.
pub fn other_database(name: &RelationRef, catalog: &str) -> SqlError {
    sql_error!(
        FEATURE_NOT_SUPPORTED,
        "cross-database references are not implemented: \"{catalog}.{}.{}\"",
        name.schema.as_deref().unwrap_or(""),
        name.name
    )
}

impl Catalog<'_> {
    pub fn database_name(&self) -> &str {
        self.database
    }

    pub fn allow_system_table_mods(&self) -> bool {
        self.system_table_mods
    }

    /// A relation, locked for reading.
    pub fn relation(&mut self, name: &RelationRef) -> Result<Option<Arc<TableDef>>> {
        self.find(name, Access::Read)
    }

    /// A relation, locked for changing rows.
    pub fn relation_for_write(&mut self, name: &RelationRef) -> Result<Option<Arc<TableDef>>> {
        self.find(name, Access::Write)
    }

    /// A statement stays in its database.
    pub fn must_be_here(&self, name: &RelationRef) -> Result<()> {
        match &name.catalog {
            Some(catalog) if **catalog != *self.database => {
                Err(crate::bind::at(other_database(name, catalog), name.loc))
            }
            _ => Ok(()),
        }
    }

    fn find(&mut self, name: &RelationRef, access: Access) -> Result<Option<Arc<TableDef>>> {
        self.must_be_here(name)?;
        let found = self.lookup.relation(name.schema.as_deref(), &name.name, access);
        let found = found.map_err(|error| match error.sqlstate() {
            SqlState::INSUFFICIENT_PRIVILEGE => crate::bind::at(error, name.loc),
            _ => error,
        })?;
        if let (Some(record), Some(table)) = (&mut self.record, &found) {
            let schema = name.schema.is_none().then(|| table.schema_name.clone());
            record.relations.push(NamedRelation { loc: name.loc, schema, oid: table.oid });
        }
        Ok(found)
    }

    /// A type by name, which stands at this place.
    pub fn type_by_name(
        &mut self,
        schema: Option<&str>,
        name: &str,
        loc: ast::Loc,
    ) -> Result<Option<TypeId>> {
        if matches!(schema, None | Some("pg_catalog"))
            && let Some(info) = type_by_name(name)
        {
            return Ok(Some(info.id));
        }
        let found = self.lookup.user_type(schema, name)?;
        if let Some(id) = found.filter(|id| id.is_made())
            && let Some(record) = &mut self.record
        {
            let schema = match schema {
                Some(_) => None,
                None => Some(self.lookup.schema_of_type(id)?),
            };
            record.types.push(NamedRelation { loc, schema, oid: id.own_enum().oid() });
        }
        Ok(found)
    }

    /// Notes that a view's query has a literal of this type, if it is bound for its own sake.
    pub fn note_type(&mut self, id: TypeId) {
        if let Some(record) = self.record.as_mut().filter(|_| id.is_made()) {
            let oid = id.own_enum().oid();
            record.types.push(NamedRelation { loc: ast::Loc::NONE, schema: None, oid });
        }
    }

    /// The type of arrays of `id`.
    pub fn array_of(&self, id: TypeId) -> Option<TypeId> {
        array_of(id)
    }

    /// Reads a literal.
    pub fn text_in(&mut self, id: TypeId, modifier: i32, text: &str) -> Result<Datum> {
        self.lookup.text_in(id, modifier, text)
    }

    /// Notes how a literal at this place is to be written, if a view's query is bound for its own sake.
    pub fn note_literal(&mut self, id: TypeId, value: &Datum, loc: ast::Loc) -> Result<()> {
        let Some(record) = &mut self.record else { return Ok(()) };
        let (text, relation) = self.lookup.lasting_literal(id, value)?;
        record.literals.extend(text.map(|text| ReadLiteral { loc, text }));
        let named = |oid| NamedRelation { loc: ast::Loc::NONE, schema: None, oid };
        record.relations.extend(relation.map(named));
        Ok(())
    }

    /// Parses a statement that a catalog row holds.
    pub fn parse_stored(&self, text: &str) -> Result<ast::Statement> {
        let mut parsed = parse(text)?;
        match (parsed.pop(), parsed.is_empty()) {
            (Some(only), true) => Ok(only.statement),
            _ => Err(SqlError::internal(format!("stored text is not one statement: {text}"))),
        }
    }

    /// Parses an expression that a catalog row holds.
    pub fn parse_stored_expr(&self, text: &str) -> Result<ast::Expr> {
        let statement = self.parse_stored(&format!("SELECT ({text})"))?;
        if let ast::Statement::Select(select) = statement
            && let SelectBody::Core(core) = select.body
            && let Some(target) = core.targets.into_iter().next()
        {
            return Ok(target.value);
        }
        Err(SqlError::internal(format!("stored text is not an expression: {text}")))
    }
}

/// Parses a text, with enough stack for the parser wherever this runs.
pub fn parse(text: &str) -> Result<Vec<syntax::ParsedStatement>> {
    base::park::on_thread_stack(|| syntax::parse(text)).map_err(|error| {
        let state = SqlState::parse(error.sqlstate).unwrap_or(SqlState::SYNTAX_ERROR);
        let mut out = SqlError::new(state, error.message);
        if let Some(detail) = error.detail {
            out = out.with_detail(detail);
        }
        if let Some(hint) = error.hint {
            out = out.with_hint(hint);
        }
        match error.loc.offset() {
            Some(offset) => out.at(offset),
            None => out,
        }
    })
}
