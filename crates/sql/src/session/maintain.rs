//! VACUUM and ANALYZE.

use base::usage::Meter;
use storage::buffer::Relation;
use storage::lock::{LockMode, LockTag, WaitPolicy};
use storage::vacuum::{Alone, IndexCleanup, Options, Pace};
use syntax::ast::{DefOption, OptionValue, Vacuum, VacuumRelation};

use crate::catalog::rights::DATABASE_OWNER;
use crate::catalog::store::locked_alone;
use crate::catalog::store::schema::catalog_by_oid;
use crate::catalog::{TableDef, TableKind, parameters};
use crate::error::{Result, SqlError, SqlState, bail, sql_error};
use crate::exec::Host;
use crate::options::boolean;
use crate::types::Oid;

use super::Session;
use super::analyze::{note_vacuumed, renew};
use super::upkeep_told::{By, cpu, sampled, vacuumed};

/// What a statement asks for.
#[derive(Default)]
struct Wanted {
    analyze: bool,
    verbose: bool,
    full: bool,
    /// Pages that the visibility map calls all visible, too.
    every_page: bool,
    /// Whether index entries of dead rows go, if the statement says.
    index_cleanup: Option<IndexCleanup>,
    /// Whether empty pages at the end are given back, if the statement says.
    truncate: Option<bool>,
    skip_locked: bool,
    /// What rows have out of line is not looked at.
    leaves_toast: bool,
}

/// The most contexts that a vacuum may be told to use beside its own.
const PARALLEL_MAX: i32 = 1024;

/// A table, and the columns to be analyzed: all, if none are named.
struct Target {
    oid: Oid,
    /// As the statement names it; it names none to mean all.
    name: Option<Box<str>>,
    columns: Vec<Box<str>>,
    /// What it is instead, if it is none.
    other: Option<Box<str>>,
}

impl Session {
    pub(super) fn vacuum(&mut self, vacuum: &Vacuum) -> Result<String> {
        let tag = if vacuum.vacuum { "VACUUM" } else { "ANALYZE" };
        let wanted = Wanted::of(vacuum, tag)?;
        if vacuum.vacuum {
            self.refuse_block("VACUUM")?;
        }
        let targets = self.targets(&vacuum.relations)?;
        // Each a transaction of its own where that can be: what is done for one stays, and its locks go, whatever
        // comes of the next.
        let apart = targets.len() > 1 && !self.is_in_block() && !self.had_query;
        for (at, target) in targets.iter().enumerate() {
            if at > 0 && apart {
                self.next_transaction()?;
            }
            self.keep_up(target, &wanted, vacuum.vacuum)?;
        }
        Ok(tag.to_owned())
    }

    /// VACUUM or ANALYZE of one table.
    fn keep_up(&mut self, target: &Target, wanted: &Wanted, cleans: bool) -> Result<()> {
        let doing = if cleans { "vacuum" } else { "analyze" };
        if let Some(name) = &target.other {
            self.skip_other(name, doing);
            return Ok(());
        }
        if cleans {
            let mode = match wanted.full {
                true => LockMode::AccessExclusive,
                false => LockMode::ShareUpdateExclusive,
            };
            let Some(table) = self.lock_target(target, wanted, mode, doing)? else { return Ok(()) };
            match wanted.full && !table.is_catalog() {
                true => self.compact_table(&table, wanted)?,
                false => {
                    self.clean_table(&table, wanted)?;
                    self.clean_toast(&table, wanted)?;
                }
            }
            if wanted.analyze {
                self.next_transaction()?;
            }
        }
        if wanted.analyze {
            let mode = LockMode::ShareUpdateExclusive;
            let table = self.lock_target(target, wanted, mode, "analyze")?;
            if let Some(table) = table.filter(|table| !table.is_catalog()) {
                self.analyze_table(&table, &target.columns, wanted.verbose)?;
            }
        }
        Ok(())
    }

    fn targets(&mut self, named: &[VacuumRelation]) -> Result<Vec<Target>> {
        let mut targets = Vec::new();
        for one in named {
            // Without a lock: each is waited for, or passed by, when it is its turn.
            let Some(table) = self.backend.relation_named(&one.relation)? else {
                return Err(self.backend.no_relation(&one.relation));
            };
            let columns = one.columns.iter().map(|name| (**name).into()).collect();
            let other = !(table.kind.is_heap() || table.kind == TableKind::Toast);
            let other = other.then(|| table.name.clone());
            let name = Some((*one.relation.name).into());
            targets.push(Target { oid: table.oid, name, columns, other });
        }
        if named.is_empty() {
            let all = self.every_table()?.into_iter();
            let unnamed = |oid| Target { oid, name: None, columns: Vec::new(), other: None };
            targets.extend(all.map(unnamed));
        }
        Ok(targets)
    }

    /// All tables and materialized views, system tables among them, but for temporary ones.
    fn every_table(&self) -> Result<Vec<Oid>> {
        let backend = &self.backend;
        let classes = backend.instance.store.scan(&backend.txn, "pg_class", |row| {
            matches!(row.letter("relkind"), b'r' | b'm') && row.letter("relpersistence") != b't'
        })?;
        Ok(classes.iter().map(|found| found.row.oid("oid")).collect())
    }

    /// Locks a table, so that indexes are not added or dropped meanwhile, and other vacuums stay away; as it is
    /// under the lock. None: it is gone, or locked by another and to be skipped. Of one that was named that is told.
    fn lock_target(
        &mut self,
        target: &Target,
        wanted: &Wanted,
        mode: LockMode,
        doing: &str,
    ) -> Result<Option<std::sync::Arc<TableDef>>> {
        let backend = &mut self.backend;
        // Looking the name up must not keep those waiting who have the lock, and wait for older snapshots to go.
        backend.txn.release_statement();
        let free = if wanted.skip_locked {
            backend.catalog.try_lock(&backend.txn, target.oid, mode)?
        } else {
            backend.catalog.lock(&backend.txn, target.oid, mode)?;
            true
        };
        // It may have been dropped before.
        let (table, state, why) = if free {
            let table = backend.catalog.table(&backend.txn, target.oid)?;
            (table, SqlState::UNDEFINED_TABLE, "relation no longer exists")
        } else {
            (None, SqlState::LOCK_NOT_AVAILABLE, "lock not available")
        };
        if let (None, Some(name)) = (&table, &target.name) {
            let text = format!("skipping {doing} of \"{name}\" --- {why}");
            backend.notice("WARNING", SqlError::new(state, text));
        }
        let table = table.filter(|table| table.kind.is_heap());
        match table {
            Some(table) if !self.may_keep_up(&table, doing)? => Ok(None),
            table => Ok(table),
        }
    }

    /// Who owns neither the table nor the database is told that it is passed over.
    fn may_keep_up(&mut self, table: &TableDef, doing: &str) -> Result<bool> {
        let backend = &mut self.backend;
        let is_shared = catalog_by_oid(table.oid).is_some_and(|catalog| catalog.shared);
        let rights = backend.catalog.rights(&backend.txn)?;
        if rights.has_rights_of(table.owner) || (!is_shared && rights.has_rights_of(DATABASE_OWNER))
        {
            return Ok(true);
        }
        let who = match table.is_catalog() {
            _ if is_shared => "superuser",
            true => "superuser or database owner",
            false => "table or database owner",
        };
        let text = format!("skipping \"{}\" --- only {who} can {doing} it", table.name);
        backend.notice("WARNING", sql_error!(WARNING, "{text}"));
        Ok(false)
    }

    /// What is no table is passed over.
    fn skip_other(&mut self, name: &str, doing: &str) {
        let text =
            format!("skipping \"{name}\" --- cannot {doing} non-tables or special system tables");
        self.backend.notice("WARNING", sql_error!(WARNING, "{text}"));
    }

    /// VACUUM FULL: writes a table anew.
    fn compact_table(&mut self, table: &TableDef, wanted: &Wanted) -> Result<()> {
        if !wanted.verbose {
            return crate::catalog::ddl::compact(&mut self.backend, table.oid);
        }
        let name = table.qualified();
        self.inform(format!("vacuuming \"{name}\""));
        let meter = Meter::start();
        let heap = self.backend.heap(table)?;
        let (pages, dead) = (heap.relation().blocks(base::Fork::Main)?, heap.dirt().dead);
        crate::catalog::ddl::compact(&mut self.backend, table.oid)?;
        let anew = self.backend.catalog.table(&self.backend.txn, table.oid)?;
        let rows = anew.map_or(0.0, |table| table.stored_rows);
        let text = format!(
            "\"{name}\": found {dead} removable, {rows:.0} nonremovable row versions in {pages} pages"
        );
        // It has waited until nobody sees any that has ended.
        let detail = format!("0 dead row versions cannot be removed yet.\n{}.", cpu(&meter.read()));
        let told = sql_error!(SUCCESSFUL_COMPLETION, "{text}").with_detail(detail);
        self.backend.notice("INFO", told);
        Ok(())
    }

    /// Likewise for the large values that went with them.
    fn clean_toast(&mut self, table: &TableDef, wanted: &Wanted) -> Result<()> {
        let Some(toast) = table.toast.as_ref().filter(|_| !wanted.leaves_toast) else {
            return Ok(());
        };
        let backend = &mut self.backend;
        backend.catalog.lock(&backend.txn, toast.oid, LockMode::ShareUpdateExclusive)?;
        self.clean_table(toast, wanted)
    }

    /// Removes a table's dead rows and their index entries.
    fn clean_table(&mut self, table: &TableDef, wanted: &Wanted) -> Result<()> {
        let name = format!("{}.{}", self.backend.database, table.qualified());
        if wanted.verbose {
            self.inform(format!("vacuuming \"{name}\""));
        }
        let meter = Meter::start();
        let backend = &self.backend;
        // This transaction's own snapshot must not keep alive what nobody else sees.
        backend.txn.release_statement();
        let store = &backend.instance.store;
        let mut trees = Vec::with_capacity(table.indexes.len());
        for index in &table.indexes {
            trees.push(store.tree(index)?.clone());
        }
        let tag = LockTag::Relation { db: backend.instance.database.0, rel: table.oid.0 };
        let (locks, files) = (backend.txn.manager().locks(), store.engine.files());
        let take = || locked_alone(&backend.txn, tag);
        let give = || {
            backend.txn.locks().unlock(tag, LockMode::AccessExclusive);
        };
        let cut = |rel: &Relation, blocks| files.truncate(rel, base::Fork::Main, blocks);
        let waited_for = || locks.is_waited_for(&tag);
        let alone = Alone { take: &take, give: &give, waited_for: &waited_for, cut: &cut };
        let cuts = wanted.truncate.unwrap_or_else(|| parameters::cuts_tail(&table.parameters));
        let options = Options {
            alone: (cuts && table.kind.is_heap() && !table.is_catalog()).then_some(&alone),
            every_page: wanted.every_page,
            index_cleanup: wanted
                .index_cleanup
                .unwrap_or_else(|| parameters::index_cleanup(&table.parameters)),
            reach: Some(backend.values.hot.maintenance_reach),
            pid: backend.pid,
            ..Options::default()
        };
        let report = storage::vacuum::vacuum(backend.heap(table)?, &trees, &options)?;
        if !table.is_catalog() {
            // What was never counted stays so.
            let rows = report.rows.map_or(f64::from(table.stored_rows), |rows| rows as f64);
            note_vacuumed(&self.backend, table, rows, report.pages - report.pages_removed)?;
        }
        if wanted.verbose {
            if report.pages_removed > 0 {
                let left = report.pages - report.pages_removed;
                let cut = format!("truncated {} to {left} pages", report.pages);
                self.inform(format!("table \"{}\": {cut}", table.name));
            }
            let timed = self.backend.values.hot.times_io;
            let told = vacuumed(By::Statement, &name, table, &report, &meter.read(), timed);
            self.inform(told);
        }
        Ok(())
    }

    /// Looks at a sample of a table's rows, for the planner.
    fn analyze_table(&mut self, table: &TableDef, named: &[Box<str>], verbose: bool) -> Result<()> {
        let name = table.qualified();
        if verbose {
            self.inform(format!("analyzing \"{name}\""));
        }
        let mut columns = Vec::new();
        for name in named {
            let Some(at) = table.column(name) else {
                bail!(
                    UNDEFINED_COLUMN,
                    "column \"{name}\" of relation \"{}\" does not exist",
                    table.name
                );
            };
            if columns.contains(&(at as u16)) {
                bail!(
                    DUPLICATE_COLUMN,
                    "column \"{name}\" of relation \"{}\" appears more than once",
                    table.name
                );
            }
            columns.push(at as u16);
        }
        if named.is_empty() {
            columns = table.live().map(|(at, _)| at as u16).collect();
        }
        let mut pace = Pace::new(None);
        let counted = renew(&mut self.backend, table, &columns, &mut pace, WaitPolicy::Block)?;
        counted.note(self.backend.heap(table)?, false);
        if verbose {
            self.inform(sampled(&table.name, &counted));
        }
        Ok(())
    }

    /// What VERBOSE asked for.
    pub(super) fn inform(&mut self, text: String) {
        self.backend.notice("INFO", sql_error!(SUCCESSFUL_COMPLETION, "{text}"));
    }
}

impl Wanted {
    fn of(vacuum: &Vacuum, tag: &str) -> Result<Wanted> {
        let mut wanted = Wanted { analyze: !vacuum.vacuum, ..Wanted::default() };
        // There is nothing to give them to: a vacuum is one context.
        let mut parallel = 0;
        for option in &vacuum.options {
            let on = || boolean(option);
            match (&*option.name, vacuum.vacuum) {
                ("verbose", _) => wanted.verbose = on()?,
                ("skip_locked", _) => wanted.skip_locked = on()?,
                ("analyze", true) => wanted.analyze = on()?,
                ("full", true) => wanted.full = on()?,
                // Whatever everybody sees is frozen on the way.
                ("freeze" | "disable_page_skipping", true) => wanted.every_page |= on()?,
                ("index_cleanup", true) => {
                    wanted.index_cleanup = Some(match () {
                        () if is_auto(option) => IndexCleanup::Auto,
                        () if on()? => IndexCleanup::On,
                        () => IndexCleanup::Off,
                    });
                }
                ("truncate", true) => wanted.truncate = Some(on()?),
                ("process_toast", true) => wanted.leaves_toast = !on()?,
                ("parallel", true) => parallel = workers(option)?,
                (other, _) => {
                    let error = sql_error!(SYNTAX_ERROR, "unrecognized {tag} option \"{other}\"");
                    return Err(crate::bind::at(error, option.loc));
                }
            }
        }
        if wanted.full && parallel > 0 {
            bail!(FEATURE_NOT_SUPPORTED, "VACUUM FULL cannot be performed in parallel");
        }
        let columns = vacuum.relations.iter().any(|one| !one.columns.is_empty());
        if columns && !wanted.analyze {
            bail!(
                FEATURE_NOT_SUPPORTED,
                "ANALYZE option must be specified when a column list is provided"
            );
        }
        if wanted.full && vacuum.options.iter().any(|o| &*o.name == "disable_page_skipping") {
            bail!(
                FEATURE_NOT_SUPPORTED,
                "VACUUM option DISABLE_PAGE_SKIPPING cannot be used with FULL"
            );
        }
        if wanted.full && wanted.leaves_toast {
            bail!(FEATURE_NOT_SUPPORTED, "PROCESS_TOAST required with VACUUM FULL");
        }
        Ok(wanted)
    }
}

/// What PARALLEL says.
///
/// # Errors
/// `42601`.
fn workers(option: &DefOption) -> Result<i32> {
    let wrong = |text: String| sql_error!(SYNTAX_ERROR, "{text}");
    let given = match &option.value {
        None => {
            let text = format!("parallel option requires a value between 0 and {PARALLEL_MAX}");
            return Err(crate::bind::at(wrong(text), option.loc));
        }
        Some(OptionValue::Integer(number)) => *number,
        Some(_) => return Err(wrong(format!("{} requires an integer value", option.name))),
    };
    let number = i32::try_from(given).unwrap_or(-1);
    if !(0..=PARALLEL_MAX).contains(&number) {
        let text = format!("parallel workers for vacuum must be between 0 and {PARALLEL_MAX}");
        return Err(crate::bind::at(wrong(text), option.loc));
    }
    Ok(number)
}

/// INDEX_CLEANUP AUTO, or without a word.
fn is_auto(option: &DefOption) -> bool {
    match &option.value {
        None => true,
        Some(OptionValue::String(word)) => word.eq_ignore_ascii_case("auto"),
        Some(_) => false,
    }
}
