//! Looking up columns, from the innermost query outwards.

use syntax::ast::{ColumnRef, Loc, Name, StarRef};

use crate::catalog::{NamedColumn, Star, StarForm};
use crate::error::{Result, SqlError, bail, sql_error};
use crate::types::{Collation, TypeId};

use super::query::RelKind;
use super::scope::{NsColumn, NsItem, var_of};
use super::tree::{Column, Expr, Ty, Var};
use super::{Binder, at, walk};

impl Binder<'_, '_> {
    /// `a`, `t.a`, `s.t.a`, `c.s.t.a`.
    pub(super) fn column(&mut self, reference: &ColumnRef) -> Result<Expr> {
        let loc = reference.loc;
        match &reference.path[..] {
            [name] => {
                if let Some((expr, alias)) = self.unqualified(name, loc)? {
                    if let (Some(record), Some(alias)) = (&mut self.catalog.record, alias) {
                        record.columns.push(NamedColumn { loc, alias });
                    }
                    return Ok(expr);
                }
                // A bare table name is its row.
                if let Some((level, item)) = self.find_item(None, name, loc)? {
                    return self.whole_row(&item, level, loc);
                }
                Err(self.no_column(None, name, loc))
            }
            [table, name] => match self.find_item(None, table, loc)? {
                Some((level, item)) => self.item_column(&item, level, name, loc),
                None => Err(self.no_table(None, table, loc)),
            },
            [schema, table, name] => match self.find_item(Some(schema), table, loc)? {
                Some((level, item)) => self.item_column(&item, level, name, loc),
                None => Err(self.no_table(Some(schema), table, loc)),
            },
            [database, schema, table, name] => {
                if **database != *self.catalog.database_name() {
                    return Err(at(
                        sql_error!(
                            FEATURE_NOT_SUPPORTED,
                            "cross-database references are not implemented: {database}.{schema}.{table}.{name}"
                        ),
                        loc,
                    ));
                }
                match self.find_item(Some(schema), table, loc)? {
                    Some((level, item)) => self.item_column(&item, level, name, loc),
                    None => Err(self.no_table(Some(schema), table, loc)),
                }
            }
            parts => Err(at(
                sql_error!(
                    SYNTAX_ERROR,
                    "improper qualified name (too many dotted names): {}",
                    parts.join(".")
                ),
                loc,
            )),
        }
    }

    /// The columns that `*` or `t.*` stands for, with their names.
    pub(super) fn star(&mut self, star: &StarRef) -> Result<Vec<(Box<str>, Expr)>> {
        let found = self.columns_of_star(star)?;
        if self.catalog.record.is_some() {
            let is_table = star.path.is_empty() && star.loc.offset().is_none();
            let (loc, form) = match self.scope().rels.first() {
                Some(table) if is_table => (table.loc, StarForm::Table),
                _ => (star.loc, StarForm::Plain),
            };
            self.record_star(loc, form, &found);
        }
        Ok(found)
    }

    /// Notes what a star at this place stands for, if a view's query is bound for its own sake.
    pub(super) fn record_star(&mut self, loc: Loc, form: StarForm, found: &[(Name, Expr)]) {
        let scopes = &self.scopes;
        let named = |(name, expr): &(Name, Expr)| match expr {
            Expr::Var(var) => {
                let scope = &scopes[scopes.len() - 1 - usize::from(var.level)];
                (Some(scope.rels[usize::from(var.rel)].alias.clone()), name.clone())
            }
            _ => (None, name.clone()),
        };
        if let Some(record) = &mut self.catalog.record {
            record.stars.push(Star { loc, form, columns: found.iter().map(named).collect() });
        }
    }

    fn columns_of_star(&mut self, star: &StarRef) -> Result<Vec<(Box<str>, Expr)>> {
        if star.path.is_empty() {
            return self.bare_star(star.loc);
        }
        let (level, item) = self.starred(star)?;
        Ok(shown(&item, level, star.loc))
    }

    /// `rel.*` where one value is wanted: the whole row.
    pub(super) fn starred_row(&mut self, star: &StarRef) -> Result<Expr> {
        let (level, item) = self.starred(star)?;
        self.whole_row(&item, level, star.loc)
    }

    /// A relation's row; of a function that yields no records, what it yields.
    fn whole_row(&self, item: &NsItem, level: u16, loc: Loc) -> Result<Expr> {
        let Some(rel) = item.rel else {
            return Err(at(SqlError::unsupported("whole-row reference to a join"), loc));
        };
        let depth = self.scopes.len() - 1 - usize::from(level);
        if let RelKind::Function { calls, ordinality: false } =
            &self.scopes[depth].rels[usize::from(rel)].kind
            && let [call] = &calls[..]
            && !call.record
        {
            return Ok(raise(&item.columns[0].expr, level, loc));
        }
        Ok(raise(&var_of(rel, Column::Whole, Ty::of(TypeId::RECORD)), level, loc))
    }

    /// What stands before `.*`.
    fn starred(&mut self, star: &StarRef) -> Result<(u16, NsItem)> {
        let loc = star.loc;
        let (schema, table) = match &star.path[..] {
            [table] => (None, table),
            [schema, table] => (Some(&**schema), table),
            [_, schema, table] => (Some(&**schema), table),
            parts => bail!(
                SYNTAX_ERROR,
                "improper qualified name (too many dotted names): {}",
                parts.join(".")
            ),
        };
        match self.find_item(schema, table, loc)? {
            Some(found) => Ok(found),
            None => Err(self.no_table(schema, table, loc)),
        }
    }

    fn bare_star(&mut self, loc: Loc) -> Result<Vec<(Box<str>, Expr)>> {
        let items = &self.scope().items;
        if items.is_empty() {
            return Err(at(
                sql_error!(SYNTAX_ERROR, "SELECT * with no tables specified is not valid"),
                loc,
            ));
        }
        Ok(items.iter().filter(|i| i.unqualified).flat_map(|i| shown(i, 0, loc)).collect())
    }

    /// The column of that name, and what stands before it in a view's text if another one could come to have the name.
    fn unqualified(&self, name: &str, loc: Loc) -> Result<Option<(Expr, Option<Name>)>> {
        for (level, scope) in self.scopes.iter().rev().enumerate() {
            let mut found: Option<(&NsItem, &NsColumn)> = None;
            for item in &scope.items {
                if !item.unqualified || (item.lateral_only && !scope.lateral_active) {
                    continue;
                }
                for column in item.columns.iter().filter(|c| !c.hidden && *c.name == *name) {
                    if found.is_some() {
                        return Err(ambiguous(name, loc));
                    }
                    check_lateral(item, loc)?;
                    found = Some((item, column));
                }
            }
            let level = level as u16;
            if let Some((item, column)) = found {
                let alias = match &self.catalog.record {
                    Some(_) => self.alias_of(level, item, column),
                    None => None,
                };
                return Ok(Some((raise(&column.expr, level, loc), alias)));
            }
            // A system column belongs to the only entry that has it.
            if let Some(column) = system_column(name) {
                let mut items = scope.items.iter().filter(|i| {
                    i.unqualified
                        && i.rel.is_some_and(|rel| scope.rels[usize::from(rel)].has_system())
                });
                if let (Some(item), None) = (items.next(), items.next()) {
                    return Ok(Some((system_var(item, level, column, loc), None)));
                }
            }
        }
        Ok(None)
    }

    /// The name by which a column is told from all that may ever stand beside it; `None` if it is alone, or has none.
    fn alias_of(&self, level: u16, item: &NsItem, column: &NsColumn) -> Option<Name> {
        let scope = &self.scopes[self.scopes.len() - 1 - usize::from(level)];
        if level == 0 && scope.rels.len() == 1 {
            return None;
        }
        let has_it = |other: &&NsItem| {
            let is_it = |c: &NsColumn| {
                !c.hidden && c.name == column.name && walk::same(&c.expr, &column.expr)
            };
            other.qualified && other.columns.iter().any(is_it)
        };
        let named = Some(item).filter(has_it).or_else(|| scope.items.iter().find(has_it))?;
        match self.find_item(None, &named.alias, Loc::NONE) {
            Ok(Some((at, found))) if at == level && found.rel == named.rel => {
                Some(named.alias.clone())
            }
            _ => None,
        }
    }

    /// The FROM item of that name, and how many levels out it is.
    pub(super) fn find_item(
        &self,
        schema: Option<&str>,
        name: &str,
        loc: Loc,
    ) -> Result<Option<(u16, NsItem)>> {
        for (level, scope) in self.scopes.iter().rev().enumerate() {
            let mut found: Option<&NsItem> = None;
            for item in &scope.items {
                if !item.qualified
                    || *item.alias != *name
                    || (item.lateral_only && !scope.lateral_active)
                {
                    continue;
                }
                if let Some(schema) = schema
                    && item.table.as_ref().is_none_or(|(own, _)| **own != *schema)
                {
                    continue;
                }
                if found.is_some() {
                    return Err(at(
                        sql_error!(AMBIGUOUS_ALIAS, "table reference \"{name}\" is ambiguous"),
                        loc,
                    ));
                }
                check_lateral(item, loc)?;
                found = Some(item);
            }
            if let Some(item) = found {
                return Ok(Some((level as u16, item.clone())));
            }
        }
        Ok(None)
    }

    fn item_column(&self, item: &NsItem, level: u16, name: &str, loc: Loc) -> Result<Expr> {
        let mut matches = item.columns.iter().filter(|c| !c.hidden && *c.name == *name);
        match (matches.next(), matches.next()) {
            (Some(column), None) => Ok(raise(&column.expr, level, loc)),
            (Some(_), Some(_)) => Err(ambiguous(name, loc)),
            (None, _) => {
                let scope = &self.scopes[self.scopes.len() - 1 - usize::from(level)];
                if let (Some(column), Some(rel)) = (system_column(name), item.rel)
                    && scope.rels[usize::from(rel)].has_system()
                {
                    return Ok(system_var(item, level, column, loc));
                }
                Err(self.no_column(Some(&item.alias), name, loc))
            }
        }
    }

    #[cold]
    fn no_column(&self, table: Option<&str>, name: &str, loc: Loc) -> SqlError {
        let error = match table {
            Some(table) => sql_error!(UNDEFINED_COLUMN, "column {table}.{name} does not exist"),
            None => sql_error!(UNDEFINED_COLUMN, "column \"{name}\" does not exist"),
        };
        at(self.with_column_hint(error, table, name), loc)
    }

    /// PostgreSQL's two kinds of hint: the column is there but out of reach, or one is spelled alike.
    fn with_column_hint(&self, error: SqlError, table: Option<&str>, name: &str) -> SqlError {
        let mut nearest: Vec<(usize, String)> = Vec::new();
        for scope in self.scopes.iter().rev() {
            for item in scope.items.iter().filter(|item| item.rel.is_some()) {
                let penalty = match table {
                    Some(table) if *item.alias != *table => distance(table, &item.alias),
                    _ => 0,
                };
                for column in item.columns.iter().filter(|c| !c.hidden) {
                    if *column.name == *name && penalty == 0 && table.is_none() {
                        return error.with_detail(format!(
                            "There is a column named \"{name}\" in table \"{}\", but it cannot be referenced from this part of the query.",
                            item.alias
                        ));
                    }
                    let unlike = distance(name, &column.name);
                    let d = unlike + penalty;
                    // More than half of it would be a guess.
                    if unlike <= name.len() / 2 && d <= 3 {
                        nearest.push((d, format!("{}.{}", item.alias, column.name)));
                    }
                }
            }
        }
        nearest.sort_by_key(|(d, _)| *d);
        let Some(best) = nearest.first().map(|(d, _)| *d) else { return error };
        nearest.retain(|(d, _)| *d == best);
        match &nearest[..] {
            [(_, only)] => {
                error.with_hint(format!("Perhaps you meant to reference the column \"{only}\"."))
            }
            [(_, one), (_, two)] => error.with_hint(format!(
                "Perhaps you meant to reference the column \"{one}\" or the column \"{two}\"."
            )),
            _ => error,
        }
    }

    #[cold]
    fn no_table(&self, schema: Option<&str>, table: &str, loc: Loc) -> SqlError {
        let full = match schema {
            Some(schema) => format!("{schema}.{table}"),
            None => table.to_owned(),
        };
        for scope in self.scopes.iter().rev() {
            for item in &scope.items {
                let Some(rel) = item.rel else { continue };
                if *item.alias == *table {
                    return at(
                        sql_error!(
                            UNDEFINED_TABLE,
                            "invalid reference to FROM-clause entry for table \"{full}\""
                        )
                        .with_detail(format!(
                            "There is an entry for table \"{table}\", but it cannot be referenced from this part of the query."
                        )),
                        loc,
                    );
                }
                let entry = &scope.rels[usize::from(rel)];
                if let RelKind::Table(def) = &entry.kind
                    && *def.name == *table
                    && *item.alias != *table
                {
                    return at(
                        sql_error!(
                            UNDEFINED_TABLE,
                            "invalid reference to FROM-clause entry for table \"{full}\""
                        )
                        .with_hint(format!(
                            "Perhaps you meant to reference the table alias \"{}\".",
                            item.alias
                        )),
                        loc,
                    );
                }
            }
        }
        at(sql_error!(UNDEFINED_TABLE, "missing FROM-clause entry for table \"{full}\""), loc)
    }
}

fn check_lateral(item: &NsItem, loc: Loc) -> Result<()> {
    if item.lateral_only && !item.lateral_ok {
        return Err(at(
            sql_error!(
                INVALID_COLUMN_REFERENCE,
                "invalid reference to FROM-clause entry for table \"{}\"",
                item.alias
            )
            .with_detail("The combining JOIN type must be INNER or LEFT for a LATERAL reference."),
            loc,
        ));
    }
    Ok(())
}

fn ambiguous(name: &str, loc: Loc) -> SqlError {
    at(sql_error!(AMBIGUOUS_COLUMN, "column reference \"{name}\" is ambiguous"), loc)
}

/// The same expression as seen from `level` queries further in, with its place in the text.
pub(super) fn raise(expr: &Expr, level: u16, loc: Loc) -> Expr {
    let mut expr = expr.clone();
    raise_in_place(&mut expr, level, loc);
    expr
}

fn raise_in_place(expr: &mut Expr, level: u16, loc: Loc) {
    if let Expr::Var(var) = expr {
        var.level += level;
        var.loc = loc;
    }
    walk::each_child_mut(expr, &mut |child| raise_in_place(child, level, loc));
}

fn shown(item: &NsItem, level: u16, loc: Loc) -> Vec<(Box<str>, Expr)> {
    let visible = item.columns.iter().filter(|c| !c.hidden);
    visible.map(|c| (c.name.clone(), raise(&c.expr, level, loc))).collect()
}

fn system_var(item: &NsItem, level: u16, column: Column, loc: Loc) -> Expr {
    let id = match column {
        Column::Ctid => TypeId::TID,
        Column::TableOid => TypeId::OID,
        Column::Cmin | Column::Cmax => TypeId::CID,
        _ => TypeId::XID,
    };
    let rel = item.rel.expect("only range-table entries have system columns");
    Expr::Var(Var { level, rel, column, ty: Ty::of(id), collation: Collation::NONE, loc })
}

/// The system column of that name.
pub fn system_column(name: &str) -> Option<Column> {
    Some(match name {
        "ctid" => Column::Ctid,
        "tableoid" => Column::TableOid,
        "xmin" => Column::Xmin,
        "xmax" => Column::Xmax,
        "cmin" => Column::Cmin,
        "cmax" => Column::Cmax,
        _ => return None,
    })
}

/// Levenshtein distance.
fn distance(a: &str, b: &str) -> usize {
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.bytes().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, y) in b.bytes().enumerate() {
            let cost = diagonal + usize::from(x != y);
            diagonal = row[j + 1];
            row[j + 1] = cost.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[b.len()]
}
