//! What ANALYZE is told of a column: SET STATISTICS (how much to write down), `n_distinct` (how many values there are).

use syntax::ast::ColumnOrNumber;

use crate::catalog::parameters::Of;
use crate::catalog::statistics::{TARGET_DEFAULT, TARGET_MAX};
use crate::catalog::{KeySource, TableDef, TableKind};
use crate::error::{Result, sql_error};
use crate::types::{Array, Datum, Oid, TypeId};

use super::Ddl;
use super::column::SYSTEM_COLUMNS;

impl Ddl<'_> {
    /// ALTER COLUMN … SET STATISTICS.
    pub(super) fn set_statistics(
        &mut self,
        oid: Oid,
        column: &ColumnOrNumber,
        target: Option<i32>,
    ) -> Result<()> {
        let relation = self.table(oid)?;
        if relation.kind != TableKind::Index && matches!(column, ColumnOrNumber::Number(_)) {
            return Err(sql_error!(
                FEATURE_NOT_SUPPORTED,
                "cannot refer to non-index column by number"
            ));
        }
        let mut target = target.unwrap_or(TARGET_DEFAULT);
        if target < TARGET_DEFAULT {
            return Err(sql_error!(
                INVALID_PARAMETER_VALUE,
                "statistics target {target} is too low"
            ));
        }
        if target > TARGET_MAX {
            target = TARGET_MAX;
            let told =
                sql_error!(INVALID_PARAMETER_VALUE, "lowering statistics target to {target}");
            self.host.notice("WARNING", told);
        }
        let number = match column {
            ColumnOrNumber::Name(name) => self.user_column(&relation, name)?,
            ColumnOrNumber::Number(number) => {
                let known =
                    usize::try_from(*number).ok().filter(|at| *at <= relation.columns.len());
                known.filter(|at| *at > 0).map(|at| at as i16).ok_or_else(|| {
                    let name = &relation.name;
                    sql_error!(
                        UNDEFINED_COLUMN,
                        "column number {number} of relation \"{name}\" does not exist"
                    )
                })?
            }
        };
        if relation.kind == TableKind::Index {
            self.must_be_computed(&relation, number)?;
        }
        self.update_attribute(oid, number, &[("attstattarget", Datum::Int4(target))])
    }

    /// Of an index's columns only those have statistics of their own that are no columns of the table.
    fn must_be_computed(&mut self, relation: &TableDef, number: i16) -> Result<()> {
        let table = self.table_of_index(relation.oid)?;
        let table = self.table(table)?;
        let Some(index) = table.index(relation.oid) else { return Ok(()) };
        let at = number as usize - 1;
        let what = match index.keys.get(at).map(|key| &key.source) {
            Some(KeySource::Expr(_)) => return Ok(()),
            Some(KeySource::Column(_)) => "non-expression",
            None => "included",
        };
        let (column, name) = (&relation.columns[at].name, &relation.name);
        let error = sql_error!(
            FEATURE_NOT_SUPPORTED,
            "cannot alter statistics on {what} column \"{column}\" of index \"{name}\""
        );
        Err(match what {
            "included" => error,
            _ => error.with_hint("Alter statistics on table column instead."),
        })
    }

    /// ALTER COLUMN … SET (…) and RESET (…).
    pub(super) fn change_column_options(
        &mut self,
        oid: Oid,
        column: &str,
        change: impl FnOnce(Of, Vec<String>) -> Result<Vec<String>>,
    ) -> Result<()> {
        let relation = self.table(oid)?;
        let number = self.user_column(&relation, column)?;
        let key = [Datum::Oid(oid), Datum::Int2(number)];
        let index = "pg_attribute_relid_attnum_index";
        self.txn().next_command()?;
        let found = self.store().find_one(self.txn(), "pg_attribute", index, &key)?;
        let lines = found.map(|found| found.row.texts("attoptions")).unwrap_or_default();
        let lines: Vec<Datum> = change(Of::Column, lines)?.into_iter().map(Datum::text).collect();
        let lines = match lines.is_empty() {
            true => Datum::Null,
            false => Array::from_elements(TypeId::TEXT, lines).into(),
        };
        self.update_attribute(oid, number, &[("attoptions", lines)])
    }

    /// The number of a column, from 1, that is none of those that every table has.
    fn user_column(&mut self, relation: &TableDef, name: &str) -> Result<i16> {
        if SYSTEM_COLUMNS.contains(&name) && relation.kind.is_heap() {
            return Err(sql_error!(FEATURE_NOT_SUPPORTED, "cannot alter system column \"{name}\""));
        }
        Ok(self.column(relation.oid, name)?.1)
    }
}
