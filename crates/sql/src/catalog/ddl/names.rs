//! Names that the system picks: `t_a_key`, `t_pkey`, `t_a_seq`, `t_check1`.

use crate::catalog::store::SessionCatalog;
use crate::error::Result;
use crate::types::{Datum, Oid};
use storage::txn::Txn;

/// Longest name, in bytes.
const NAME_BYTES_MAX: usize = 63;

/// `table_column_label`, its parts cut (the longer one first) so that it fits.
pub fn object_name(table: &str, column: Option<&str>, label: &str) -> String {
    let overhead = label.len() + 1 + column.map_or(0, |_| 1);
    let room = NAME_BYTES_MAX.saturating_sub(overhead);
    let (mut first, mut second) = (table.len(), column.map_or(0, str::len));
    while first + second > room {
        if first > second {
            first -= 1;
        } else {
            second -= 1;
        }
    }
    let cut = |text: &str, mut bytes: usize| {
        while !text.is_char_boundary(bytes) {
            bytes -= 1;
        }
        text[..bytes].to_owned()
    };
    match column {
        Some(column) => format!("{}_{}_{label}", cut(table, first), cut(column, second)),
        None => format!("{}_{label}", cut(table, first)),
    }
}

/// As [`object_name`], with a number behind the label while the name is taken by a relation of the schema.
pub fn free_relation_name(
    catalog: &SessionCatalog,
    txn: &Txn,
    schema: Oid,
    table: &str,
    column: Option<&str>,
    label: &str,
) -> Result<String> {
    numbered(label, |label| {
        let name = object_name(table, column, label);
        Ok(catalog.relation_oid(txn, schema, &name)?.is_none().then_some(name))
    })
}

/// Likewise among the constraints of a table.
pub fn free_constraint_name(
    catalog: &SessionCatalog,
    txn: &Txn,
    table_oid: Oid,
    table: &str,
    column: Option<&str>,
    label: &str,
    taken: &[Box<str>],
) -> Result<String> {
    numbered(label, |label| {
        let name = object_name(table, column, label);
        let index = "pg_constraint_conrelid_contypid_conname_index";
        let key = [Datum::Oid(table_oid), Datum::Oid(Oid::INVALID), Datum::text(name.as_str())];
        let stored = catalog.instance.store.find_one(txn, "pg_constraint", index, &key)?;
        let free = stored.is_none() && !taken.iter().any(|t| **t == *name);
        Ok(free.then_some(name))
    })
}

fn numbered(
    label: &str,
    mut attempt: impl FnMut(&str) -> Result<Option<String>>,
) -> Result<String> {
    if let Some(name) = attempt(label)? {
        return Ok(name);
    }
    for number in 1.. {
        if let Some(name) = attempt(&format!("{label}{number}"))? {
            return Ok(name);
        }
    }
    unreachable!("some number is free")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_parts_are_cut_the_longer_first() {
        assert_eq!(object_name("t", Some("a"), "key"), "t_a_key");
        assert_eq!(object_name("t", None, "pkey"), "t_pkey");
        let long = "x".repeat(63);
        let name = object_name(&long, Some("col"), "seq");
        assert_eq!(name.len(), 63);
        assert!(name.ends_with("_col_seq"));
    }
}
