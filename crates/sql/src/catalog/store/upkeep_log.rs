//! What the log is told of background vacuum and ANALYZE: whatever took as long as `log_autovacuum_min_duration` says, the
//! table's storage parameter of that name or else the setting.

use std::sync::Arc;
use std::time::Duration;

use base::usage::Cost;
use storage::vacuum::Report;

use crate::catalog::{TableDef, parameters};
use crate::error::Result;
use crate::session::upkeep_told::{self, By};
use crate::settings;
use crate::types::{Datum, Oid};

use super::Cluster;
use super::cleaning::begin;
use super::opened::Owner;

/// Where the log's lines go.
pub(super) type Log = Arc<dyn Fn(&str) + Send + Sync>;

/// One table's upkeep.
pub(super) struct Done<'d> {
    pub table: &'d TableDef,
    pub owner: Owner,
    pub cost: Cost,
}

impl Done<'_> {
    /// Tells of a vacuum.
    pub fn vacuumed(&self, cluster: &Cluster, log: &Log, report: &Report) -> Result<()> {
        let Some(name) = self.name_if_due(cluster)? else { return Ok(()) };
        let timed = times_io(cluster);
        let told = upkeep_told::vacuumed(By::Worker, &name, self.table, report, &self.cost, timed);
        log(&told);
        Ok(())
    }

    /// Tells of an ANALYZE.
    pub fn analyzed(&self, cluster: &Cluster, log: &Log) -> Result<()> {
        let Some(name) = self.name_if_due(cluster)? else { return Ok(()) };
        log(&upkeep_told::analyzed(&name, &self.cost, times_io(cluster)));
        Ok(())
    }

    /// The table's full name, if this is to be told.
    fn name_if_due(&self, cluster: &Cluster) -> Result<Option<String>> {
        let limit = parameters::log_after(&self.table.parameters).unwrap_or_else(|| limit(cluster));
        if limit.is_none_or(|limit| self.cost.elapsed < limit) {
            return Ok(None);
        }
        let table = self.table.qualified();
        let database = database_name(cluster, self.owner)?;
        Ok(Some(database.map_or_else(|| table.clone(), |name| format!("{name}.{table}"))))
    }
}

/// What holds for tables that do not say. `None`: nothing is logged.
fn limit(cluster: &Cluster) -> Option<Duration> {
    let setting = settings::find("log_autovacuum_min_duration").expect("a known setting");
    let value = cluster.running.get(setting).expect("a setting of the server");
    u64::try_from(value.as_integer()).ok().map(Duration::from_millis)
}

/// Whether sessions that nobody tells otherwise have times told.
fn times_io(cluster: &Cluster) -> bool {
    let setting = settings::find("track_io_timing").expect("a known setting");
    let configured = cluster.session_settings();
    let given = configured.iter().find(|(name, _)| *name == setting.name);
    let given = given.and_then(|(_, text)| setting.parse(text).ok());
    given.unwrap_or_else(|| setting.default()).as_bool()
}

/// The name of the table's database; none of a table of all databases.
fn database_name(cluster: &Cluster, owner: Owner) -> Result<Option<String>> {
    if owner.database == Oid::INVALID {
        return Ok(None);
    }
    let txn = begin(cluster, owner)?;
    let key = [Datum::Oid(owner.database)];
    let found = cluster.shared.find_one(&txn, "pg_database", "pg_database_oid_index", &key)?;
    Ok(found.map(|found| found.row.text("datname").to_owned()))
}
