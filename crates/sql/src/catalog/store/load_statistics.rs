//! What ANALYZE has written down of a table, as the planner works with it.

use std::sync::Arc;

use storage::txn::Txn;

use crate::catalog::ColumnDef;
use crate::catalog::statistics::{COMMON, CORRELATION, ColumnStatistics, HISTOGRAM, Statistics};
use crate::error::Result;
use crate::types::{Datum, Oid};

use super::Store;
use super::row::CatalogRow;

impl Store {
    /// The statistics of a table with these columns.
    pub(super) fn load_statistics(
        &self,
        txn: &Txn,
        table: Oid,
        columns: &[ColumnDef],
    ) -> Result<Statistics> {
        let key = [Datum::Oid(table)];
        let rows = self.find(txn, "pg_statistic", "pg_statistic_relid_att_inh_index", &key)?;
        let mut all = Statistics::default();
        for found in &rows {
            let at = (found.row.int2("staattnum") as u16).wrapping_sub(1);
            let Some(column) = columns.get(usize::from(at)).filter(|column| !column.dropped) else {
                continue;
            };
            all.insert(at, Arc::new(of_column(&found.row, column)));
        }
        Ok(all)
    }
}

fn of_column(row: &CatalogRow, column: &ColumnDef) -> ColumnStatistics {
    let mut of = ColumnStatistics {
        nulls: row.get("stanullfrac").as_float4().into(),
        width: row.int4("stawidth") as u32,
        distinct: row.get("stadistinct").as_float4().into(),
        ..ColumnStatistics::default()
    };
    for slot in 1..=5 {
        let kind = row.int2(&format!("stakind{slot}"));
        if kind == CORRELATION {
            if let Datum::Array(numbers) = row.get(&format!("stanumbers{slot}"))
                && let Some(Datum::Float4(number)) = numbers.elements.first()
            {
                of.correlation = f64::from(*number);
            }
            continue;
        }
        // A column may have got another type or collation since.
        if row.oid(&format!("stacoll{slot}")) != column.collation.oid {
            continue;
        }
        let values = match row.get(&format!("stavalues{slot}")) {
            Datum::Array(array) if array.element_type == column.ty.id => array,
            _ => continue,
        };
        match (kind, row.get(&format!("stanumbers{slot}"))) {
            (COMMON, Datum::Array(shares)) => {
                let shares = shares.elements.iter().map(|share| f64::from(share.as_float4()));
                of.common = values.elements.iter().cloned().zip(shares).collect();
            }
            (HISTOGRAM, _) => of.bounds.clone_from(&values.elements),
            _ => {}
        }
    }
    of
}
