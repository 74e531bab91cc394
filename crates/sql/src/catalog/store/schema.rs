//! The catalogs' own shapes: columns and indexes of PostgreSQL 15's system tables, from the list in
//! `data/catalogs.txt`.

use std::sync::OnceLock;

use base::hash::HashMap;

use crate::catalog::FIRST_USER_OID;
use crate::types::{Oid, TypeId, type_by_name};

/// One system table.
#[derive(Debug)]
pub struct CatalogSchema {
    pub name: &'static str,
    pub oid: Oid,
    pub row_type: TypeId,
    /// One for all databases.
    pub shared: bool,
    pub columns: Vec<CatalogColumn>,
    pub indexes: Vec<CatalogIndex>,
}

#[derive(Debug)]
pub struct CatalogColumn {
    pub name: &'static str,
    pub type_id: TypeId,
    pub not_null: bool,
}

#[derive(Debug)]
pub struct CatalogIndex {
    pub name: &'static str,
    pub oid: Oid,
    pub unique: bool,
    pub primary: bool,
    /// Columns from 0.
    pub columns: Vec<u16>,
}

const LIST: &str = include_str!("../data/catalogs.txt");

/// All system tables, by falling importance of being first: `pg_class` leads, then by name.
pub fn catalogs() -> &'static [CatalogSchema] {
    static CATALOGS: OnceLock<Vec<CatalogSchema>> = OnceLock::new();
    CATALOGS.get_or_init(|| {
        let mut all = parse(LIST);
        all.sort_by_key(|c| (c.name != "pg_class", c.name));
        all
    })
}

/// A system table by name. Asked with constants only.
pub fn catalog(name: &str) -> &'static CatalogSchema {
    static BY_NAME: OnceLock<HashMap<&'static str, usize>> = OnceLock::new();
    let by_name = BY_NAME.get_or_init(|| {
        catalogs().iter().enumerate().map(|(i, catalog)| (catalog.name, i)).collect()
    });
    let at = by_name.get(name).expect("the name is one of the list");
    &catalogs()[*at]
}

/// A system table by OID.
pub fn catalog_by_oid(oid: Oid) -> Option<&'static CatalogSchema> {
    // Asked for every lock of every statement.
    if oid >= FIRST_USER_OID {
        return None;
    }
    catalogs().iter().find(|catalog| catalog.oid == oid)
}

impl CatalogSchema {
    /// The number (from 0) of a column that the list has.
    pub fn column(&self, name: &str) -> usize {
        let at = self.columns.iter().position(|column| column.name == name);
        at.expect("the column is one of the list")
    }
}

fn parse(list: &'static str) -> Vec<CatalogSchema> {
    let mut all: Vec<CatalogSchema> = Vec::new();
    for line in list.lines() {
        let words: Vec<&'static str> = line.split_whitespace().collect();
        let oid = |text: &str| Oid(text.parse().expect("OIDs in the list are numbers"));
        match words[..] {
            ["table", name, id, row_type, place] => all.push(CatalogSchema {
                name,
                oid: oid(id),
                row_type: TypeId(oid(row_type).0),
                shared: place == "shared",
                columns: Vec::new(),
                indexes: Vec::new(),
            }),
            ["column", name, type_name, null] => {
                let table = all.last_mut().expect("columns follow their table");
                let type_id = column_type(type_name);
                table.columns.push(CatalogColumn { name, type_id, not_null: null == "notnull" });
            }
            ["index", name, id, kind, columns] => {
                let table = all.last_mut().expect("indexes follow their table");
                let number = |c: &str| c.parse::<u16>().expect("column numbers") - 1;
                table.indexes.push(CatalogIndex {
                    name,
                    oid: oid(id),
                    unique: kind != "plain",
                    primary: kind == "primary",
                    columns: columns.split(',').map(number).collect(),
                });
            }
            _ => unreachable!("the list has only these lines"),
        }
    }
    all
}

/// Types that we don't have stand in the catalogs as text; such columns are always null here.
fn column_type(name: &str) -> TypeId {
    let name = if name == "char" { "char" } else { name };
    type_by_name(name).map_or(TypeId::TEXT, |info| info.id)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_is_read_whole() {
        assert_eq!(catalogs().len(), 62);
        assert_eq!(catalogs()[0].name, "pg_class");
        let class = catalog("pg_class");
        assert_eq!(class.oid, Oid(1259));
        assert_eq!(class.columns.len(), 33);
        assert_eq!(class.columns[class.column("relkind")].type_id, TypeId::CHAR);
        assert_eq!(class.indexes[1].columns, [1, 2]);
        assert!(catalog("pg_database").shared);
    }
}
