//! Foreign keys at work (unique ones that are checked late ride along, see [`super::unique`]): when a statement is done (or, deferred, its transaction), what it changed is looked
//! into. A referring row must find the row it refers to, and holds it by KEY SHARE; when a row goes that
//! others refer to, they hinder it, go with it, or are made to refer elsewhere.
//!
//! Looking and changing are statements like any other, made from the tables' names once per session. What
//! they change in turn is looked into before anything that was noted earlier, as if each statement had ended
//! by itself: in a queue, so that no chain of cascades is too long for the stack.
//! What changes rows runs by the rights of their table's owner, who wrote the defaults and conditions that it asks.
//!
//! Under REPEATABLE READ, rows that refer to the one that goes are looked for among all that are committed,
//! not only those that the transaction's snapshot shows: else a row could be left that refers to nothing.
//! One that the snapshot does not show can hinder, but changing it is a `40001`.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use storage::heap::RowBuf;
use storage::lock::LockMode;
use storage::txn::{Isolation, Snapshot, visibility};
use syntax::ast::SetConstraints;
use syntax::deparse::quote_ident;

use crate::bind::Params;
use crate::catalog::TableDef;
use crate::catalog::foreign_key::{Action, ForeignKey};
use crate::error::{Result, SqlError, sql_error};
use crate::exec::{Event, Host};
use crate::types::row::{RowView, write_values};
use crate::types::{Datum, Oid, TypeId, output_string};

use super::Session;
use super::backend::Backend;
use super::identity::DEFINER;
use super::portal::Run;
use super::prepare::Planned;

pub(crate) use sql_of::Rule;

/// What is yet to be looked into.
#[derive(Default)]
pub struct Events {
    /// By the statement at hand.
    waiting: VecDeque<Event>,
    /// At the end of the transaction, in the order in which it came.
    deferred: Vec<Deferred>,
    modes: Modes,
    /// Made, or to be validated, by the statement at hand: the rows that there are must meet them.
    made: Vec<Arc<ForeignKey>>,
    /// See [`crate::exec::Host::shown_by`].
    pub shown_by: Option<Snapshot>,
}

/// A line of what is deferred. It only grows while there are savepoints: a rollback to one cuts it back.
enum Deferred {
    Event(Event),
    /// The event at this place was looked into, by SET CONSTRAINTS.
    Settled(usize),
}

/// What SET CONSTRAINTS has said in this transaction.
#[derive(Clone, Default)]
struct Modes {
    /// Of all that are not named; `None`: as they were declared.
    all: Option<bool>,
    named: BTreeMap<Oid, bool>,
}

/// How much there was when a savepoint was set.
pub(super) struct Mark {
    deferred: usize,
    modes: Modes,
}

impl Events {
    pub fn note(&mut self, event: Event) {
        self.waiting.push_back(event);
    }

    pub fn check(&mut self, key: Arc<ForeignKey>) {
        self.made.push(key);
    }

    /// The statement failed.
    pub(super) fn forget_statement(&mut self) {
        self.waiting.clear();
        self.made.clear();
        self.shown_by = None;
    }

    pub(super) fn mark(&self) -> Mark {
        Mark { deferred: self.deferred.len(), modes: self.modes.clone() }
    }

    pub(super) fn undo_to(&mut self, mark: &Mark) {
        self.forget_statement();
        self.deferred.truncate(mark.deferred);
        self.modes = mark.modes.clone();
    }

    fn defer(&mut self, event: Event) {
        self.deferred.push(Deferred::Event(event));
    }

    /// What is deferred still, with its places.
    fn pending(&self) -> impl Iterator<Item = (usize, &Event)> {
        let settled = settled(&self.deferred);
        self.deferred.iter().enumerate().filter_map(move |(place, line)| match line {
            Deferred::Event(event) if !settled.contains(&place) => Some((place, event)),
            _ => None,
        })
    }

    /// Is something deferred that is about rows of this table?
    pub(super) fn is_pending_on(&self, table: Oid) -> bool {
        self.pending().any(|(_, event)| table_of(event) == table)
    }

    /// Takes all that is deferred still. There are no savepoints, or they do not matter any more.
    fn take_pending(&mut self) -> VecDeque<Event> {
        let all = std::mem::take(&mut self.deferred);
        let settled = settled(&all);
        let event = |(place, line)| match line {
            Deferred::Event(event) if !settled.contains(&place) => Some(event),
            _ => None,
        };
        all.into_iter().enumerate().filter_map(event).collect()
    }

    /// Takes what need not wait any longer; `keep`: it is due again after a rollback to a savepoint.
    fn take_due(&mut self, keep: bool) -> VecDeque<Event> {
        if keep {
            let is_due = |(_, event): &(usize, &Event)| !self.waits_for_commit(event);
            let copy = |(place, event): (usize, &Event)| (Deferred::Settled(place), event.clone());
            let (lines, due): (Vec<_>, VecDeque<_>) =
                self.pending().filter(is_due).map(copy).unzip();
            self.deferred.extend(lines);
            return due;
        }
        let mut due = VecDeque::new();
        for event in self.take_pending() {
            if self.waits_for_commit(&event) {
                self.defer(event);
            } else {
                due.push_back(event);
            }
        }
        due
    }

    pub(super) fn end_transaction(&mut self) {
        *self = Events::default();
    }

    fn waits_for_commit(&self, event: &Event) -> bool {
        let (constraint, deferrable, initially) = match event {
            Event::Refers { key, .. } => (key.oid, key.deferrable, key.initially_deferred),
            Event::Gone { key, new, .. } => {
                let is_check = action(key, new.is_some()) == Action::NoAction;
                (key.oid, key.deferrable && is_check, key.initially_deferred)
            }
            Event::Repeats { index, .. } => {
                (index.constraint.unwrap_or(index.oid), true, index.initially_deferred)
            }
        };
        let said = self.modes.named.get(&constraint).copied().or(self.modes.all);
        deferrable && said.unwrap_or(initially)
    }
}

/// The places of events that were looked into.
fn settled(deferred: &[Deferred]) -> BTreeSet<usize> {
    let settled = deferred.iter().filter_map(|line| match line {
        Deferred::Settled(place) => Some(*place),
        Deferred::Event(_) => None,
    });
    settled.collect()
}

/// The table whose rows an event is about.
fn table_of(event: &Event) -> Oid {
    match event {
        Event::Refers { key, .. } => key.table,
        Event::Gone { key, .. } => key.referenced,
        Event::Repeats { index, .. } => index.table,
    }
}

fn action(key: &ForeignKey, update: bool) -> Action {
    if update { key.on_update } else { key.on_delete }
}

/// Keys that were found, and are held, already.
type Found = BTreeSet<(Oid, Vec<u8>)>;

/// How many of them are remembered at a time.
const FOUND_MAX: usize = 4096;

/// How many rows one of a key's statements found or changed.
fn run_planned(
    backend: &mut Backend,
    planned: &Arc<Planned>,
    params: Vec<Datum>,
    latest: bool,
) -> Result<u64> {
    let mut run = Run::start(backend, planned, params)?;
    if latest && backend.txn.isolation() != Isolation::ReadCommitted {
        let shown_by = backend.txn.statement_snapshot();
        run.look_at(backend.txn.fresh_snapshot());
        backend.events.shown_by = Some(shown_by);
    }
    // One row found is enough to know; a change is made whole before it tells of its end.
    let found = run.next(backend).map(|row| u64::from(row.is_some()));
    backend.events.shown_by = None;
    let rows = run.changed().unwrap_or(found?);
    run.finish(backend);
    Ok(rows)
}

impl Session {
    /// Looks into what the statement has changed, but for what is deferred.
    pub(super) fn react_to_statement(&mut self) -> Result<()> {
        for key in std::mem::take(&mut self.backend.events.made) {
            self.check_new_key(&key)?;
        }
        if self.backend.events.waiting.is_empty() {
            return Ok(());
        }
        let events = std::mem::take(&mut self.backend.events.waiting);
        self.react_to(events, true)
    }

    /// Looks into what was deferred, at the end of the transaction.
    pub(super) fn react_to_transaction(&mut self) -> Result<()> {
        while !self.backend.events.deferred.is_empty() {
            let events = self.backend.events.take_pending();
            self.react_to(events, false)?;
        }
        Ok(())
    }

    fn react_to(&mut self, mut events: VecDeque<Event>, may_defer: bool) -> Result<()> {
        let mut found = Found::new();
        let mut count = 0_u32;
        while let Some(event) = events.pop_front() {
            if may_defer && self.backend.events.waits_for_commit(&event) {
                self.backend.events.defer(event);
                continue;
            }
            count += 1;
            if count.is_multiple_of(64) {
                base::park::checkpoint();
                base::interrupt::check().map_err(crate::error::interrupted)?;
            }
            match &event {
                Event::Refers { key, row } => self.row_must_find(key, *row, &mut found)?,
                Event::Gone { key, old, new } => self.row_is_gone(key, old, new.as_deref())?,
                Event::Repeats { index, row } => self.row_must_be_alone(index, *row)?,
            }
            // What came of it is looked into first.
            while let Some(new) = self.backend.events.waiting.pop_back() {
                events.push_front(new);
            }
        }
        Ok(())
    }

    fn row_must_find(
        &mut self,
        key: &Arc<ForeignKey>,
        row: base::Tid,
        found: &mut Found,
    ) -> Result<()> {
        let Some(values) = self.referring_values(key, row)? else { return Ok(()) };
        let mut encoded = Vec::new();
        write_values(&values, &mut encoded);
        let known = (key.oid, encoded);
        if found.contains(&known) {
            return Ok(());
        }
        if self.run_rule(key, Rule::FindReferenced, &values, false)? == Some(0) {
            return Err(self.finds_nothing(key, &values)?);
        }
        if found.len() < FOUND_MAX {
            found.insert(known);
        }
        Ok(())
    }

    /// The key that a row refers by; `None` when it refers to nothing, or is not there any more.
    fn referring_values(&self, key: &ForeignKey, row: base::Tid) -> Result<Option<Vec<Datum>>> {
        let backend = &self.backend;
        let table = self.table_of(key.table)?;
        let mut stored = RowBuf::new();
        if !backend.instance.store.heap(&table)?.fetch_version(row, &mut stored)? {
            return Ok(None);
        }
        // Briefly: a session that rests in its transaction then holds no vacuum up.
        let is_there = backend.txn.briefly(|| {
            let now = backend.txn.fresh_snapshot();
            visibility::check(&backend.txn, &now, stored.header()).map(|seen| seen.visible)
        })?;
        if !is_there {
            return Ok(None);
        }
        let mut all = vec![Datum::Null; table.columns.len()];
        let row = crate::toast::inlined_or_empty(&table, stored.bytes(), |column| {
            key.columns.iter().any(|c| usize::from(*c) == column)
        })?;
        RowView::new(&table.desc, &row).decode_prefix(&mut all);
        let values: Vec<Datum> = key.columns.iter().map(|c| all[usize::from(*c)].clone()).collect();
        let nulls = values.iter().filter(|v| v.is_null()).count();
        if nulls == 0 {
            return Ok(Some(values));
        }
        if key.full && nulls < values.len() {
            return Err(self
                .violation(key, &table)
                .with_detail("MATCH FULL does not allow mixing of null and nonnull key values."));
        }
        Ok(None)
    }

    fn row_is_gone(
        &mut self,
        key: &Arc<ForeignKey>,
        old: &[Datum],
        new: Option<&[Datum]>,
    ) -> Result<()> {
        let update = new.is_some();
        match action(key, update) {
            Action::NoAction => {
                // Another row may have got the key meanwhile.
                if self.run_rule(key, Rule::FindSame, old, false)? == Some(0) {
                    self.nobody_may_refer(key, old)?;
                }
            }
            Action::Restrict => self.nobody_may_refer(key, old)?,
            Action::Cascade => match new {
                None => {
                    self.run_rule(key, Rule::Delete, old, true)?;
                }
                Some(new) => {
                    let params = [new, old].concat();
                    self.run_rule(key, Rule::Update, &params, true)?;
                }
            },
            Action::SetNull => {
                self.run_rule(key, Rule::SetNull { update }, old, true)?;
            }
            Action::SetDefault => {
                let changed = self.run_rule(key, Rule::SetDefault { update }, old, true)?;
                if changed.is_some_and(|rows| rows > 0)
                    && self.run_rule(key, Rule::FindSame, old, false)? == Some(0)
                {
                    self.nobody_may_refer(key, old)?;
                }
            }
        }
        Ok(())
    }

    fn nobody_may_refer(&mut self, key: &Arc<ForeignKey>, old: &[Datum]) -> Result<()> {
        if self.run_rule(key, Rule::FindReferring, old, true)?.is_none_or(|rows| rows == 0) {
            return Ok(());
        }
        let (referenced, table) = (self.table_of(key.referenced)?, self.table_of(key.table)?);
        let shown = self.key_shown(&referenced, &key.referenced_columns, old);
        let shown = shown.map(|shown| format!(" {shown}")).unwrap_or_default();
        Err(sql_error!(
            FOREIGN_KEY_VIOLATION,
            "update or delete on table \"{}\" violates foreign key constraint \"{}\" on table \"{}\"",
            referenced.name,
            key.name,
            table.name
        )
        .with_detail(format!("Key{shown} is still referenced from table \"{}\".", table.name))
        .with_table(&table.schema_name, &table.name)
        .with_constraint(&key.name))
    }

    fn finds_nothing(&self, key: &ForeignKey, values: &[Datum]) -> Result<SqlError> {
        let (referenced, table) = (self.table_of(key.referenced)?, self.table_of(key.table)?);
        let shown = self.key_shown(&table, &key.columns, values);
        let shown = shown.map(|shown| format!(" {shown}")).unwrap_or_default();
        let detail = format!("Key{shown} is not present in table \"{}\".", referenced.name);
        Ok(self.violation(key, &table).with_detail(detail))
    }

    fn violation(&self, key: &ForeignKey, table: &TableDef) -> SqlError {
        sql_error!(
            FOREIGN_KEY_VIOLATION,
            "insert or update on table \"{}\" violates foreign key constraint \"{}\"",
            table.name,
            key.name
        )
        .with_table(&table.schema_name, &table.name)
        .with_constraint(&key.name)
    }

    /// `(a, b)=(1, x)`, to who may read them.
    pub(super) fn key_shown(
        &self,
        table: &TableDef,
        columns: &[u16],
        values: &[Datum],
    ) -> Option<String> {
        let readable = Host::readable(&self.backend, table);
        if readable.is_some_and(|readable| !columns.iter().all(|c| readable.contains(c))) {
            return None;
        }
        let column = |c: &u16| &table.columns[usize::from(*c)];
        let names: Vec<&str> = columns.iter().map(|c| &*column(c).name).collect();
        let shown: Vec<String> = values
            .iter()
            .zip(columns)
            .map(|(value, c)| self.shown(value, column(c).ty.id))
            .collect();
        Some(format!("({})=({})", names.join(", "), shown.join(", ")))
    }

    fn shown(&self, value: &Datum, type_id: TypeId) -> String {
        match value {
            Datum::Null => "null".to_owned(),
            value => {
                output_string(type_id, value, &self.backend.io()).unwrap_or_else(|_| "?".to_owned())
            }
        }
    }

    fn table_of(&self, oid: Oid) -> Result<Arc<TableDef>> {
        let table = self.backend.catalog.table(&self.backend.txn, oid)?;
        table.ok_or_else(|| SqlError::internal(format!("a foreign key's relation {oid} is gone")))
    }

    /// Runs one of a key's statements; how many rows it found or changed, or `None` where the key is there no more.
    /// `latest`: among all that is committed by now, whatever the isolation level.
    fn run_rule(
        &mut self,
        key: &Arc<ForeignKey>,
        rule: Rule,
        params: &[Datum],
        latest: bool,
    ) -> Result<Option<u64>> {
        let Some(planned) = self.rule(key, rule)? else { return Ok(None) };
        let params = params.to_vec();
        let done = match self.author_of(key, rule)? {
            Some(owner) => self.backend.restricted_to(owner, DEFINER, |backend| {
                run_planned(backend, &planned, params, latest)
            }),
            None => run_planned(&mut self.backend, &planned, params, latest),
        };
        let rows = done.map_err(|error| self.of_rule(error, key, rule))?;
        self.backend.txn.release_statement();
        self.backend.txn.next_command()?;
        Ok(Some(rows))
    }

    /// Who has written the defaults and conditions that a rule asks, if that is not who works here.
    fn author_of(&self, key: &ForeignKey, rule: Rule) -> Result<Option<Oid>> {
        match rule {
            Rule::Update | Rule::SetNull { .. } | Rule::SetDefault { .. } => {}
            Rule::FindReferenced | Rule::FindSame | Rule::FindReferring | Rule::Delete => {
                return Ok(None);
            }
        }
        let owner = self.table_of(key.table)?.owner;
        Ok((owner != self.backend.user_oid()).then_some(owner))
    }

    /// An error of one of a key's statements, with the statement.
    #[cold]
    fn of_rule(&self, error: SqlError, key: &ForeignKey, rule: Rule) -> SqlError {
        let (Ok(table), Ok(referenced)) = (self.table_of(key.table), self.table_of(key.referenced))
        else {
            return error;
        };
        let Ok(collate) = self.collate_clauses(key, &table, &referenced) else { return error };
        let sql = sql_of::statement(key, rule, &table, &referenced, &collate);
        error.with_context(format!("SQL statement \"{sql}\""))
    }

    /// Whether the table's rows meet a new key.
    fn check_new_key(&mut self, key: &Arc<ForeignKey>) -> Result<()> {
        let (table, referenced) = (self.table_of(key.table)?, self.table_of(key.referenced)?);
        let collate = self.collate_clauses(key, &table, &referenced)?;
        let unmet = sql_of::unmet(key, &table, &referenced, &collate);
        let planned = self.plan_text(&unmet, Vec::new())?;
        let mut run = Run::start(&mut self.backend, &planned, Vec::new())?;
        // Rows that this transaction's own snapshot does not show are to meet it, too.
        run.look_at(self.backend.txn.fresh_snapshot());
        let unmet = run.next(&mut self.backend)?.map(<[Datum]>::to_vec);
        run.finish(&mut self.backend);
        self.backend.txn.release_statement();
        match unmet {
            None => Ok(()),
            Some(values) if values.iter().any(Datum::is_null) => Err(self
                .violation(key, &table)
                .with_detail("MATCH FULL does not allow mixing of null and nonnull key values.")),
            Some(values) => Err(self.finds_nothing(key, &values)?),
        }
    }

    fn plan_text(&mut self, sql: &str, types: Vec<TypeId>) -> Result<Planned> {
        let mut parsed = crate::catalog::parse(sql)?;
        let one = parsed.pop().ok_or_else(|| SqlError::internal("a rule is a statement"))?;
        let catalog = self.backend.catalog.clone();
        catalog.in_stored_text(true);
        let planned = self.plan(&one.statement, Params::open(types)).map(Planned::by_owners);
        catalog.in_stored_text(false);
        planned.map_err(|mut error| {
            error.fields_mut().position = None;
            error.with_context(format!("SQL statement \"{sql}\""))
        })
    }

    /// The plan of one of a key's statements. Both tables are locked before they are looked at: while they were waited
    /// for, the key may have been dropped (`None`), and what it names renamed.
    fn rule(&mut self, key: &Arc<ForeignKey>, rule: Rule) -> Result<Option<Arc<Planned>>> {
        if let Some(planned) = self.rules.get(&(key.oid, rule)).cloned()
            && self.revalidate(&planned)?
        {
            return Ok(Some(planned));
        }
        let Backend { catalog, txn, .. } = &self.backend;
        for (oid, mode) in
            [(key.table, LockMode::AccessShare), (key.referenced, LockMode::RowShare)]
        {
            catalog.lock(txn, oid, mode)?;
        }
        let Some(table) = catalog.table(txn, key.table)? else { return Ok(None) };
        if !table.foreign.own.iter().any(|own| own.oid == key.oid) {
            return Ok(None);
        }
        let referenced = self.table_of(key.referenced)?;
        let collate = self.collate_clauses(key, &table, &referenced)?;
        let sql = sql_of::statement(key, rule, &table, &referenced, &collate);
        let types = sql_of::params(key, rule, &table, &referenced);
        let planned = Arc::new(self.plan_text(&sql, types)?);
        self.rules.insert((key.oid, rule), planned.clone());
        Ok(Some(planned))
    }

    /// By column, what has it compared by the referenced column's collation where its own is another one.
    fn collate_clauses(
        &self,
        key: &ForeignKey,
        table: &TableDef,
        referenced: &TableDef,
    ) -> Result<Vec<sql_of::Clause>> {
        let pairs = key.columns.iter().zip(&key.referenced_columns);
        let collations = pairs.map(|(own, other)| {
            let own = table.columns[usize::from(*own)].collation;
            (own, referenced.columns[usize::from(*other)].collation)
        });
        let clauses = collations.map(|(own, other)| {
            if own == other || !own.is_valid() || !other.is_valid() {
                return Ok(sql_of::Clause::default());
            }
            let row = self.backend.instance.store.collation_row(&self.backend.txn, other.oid)?;
            let row = row.ok_or_else(|| SqlError::internal("a column's collation is gone"))?;
            let named = self.backend.catalog.named(&self.backend.txn, &row.row)?;
            let (schema, name) = (quote_ident(&named.schema), quote_ident(&named.name));
            let text = format!(" COLLATE {schema}.{name}");
            Ok(sql_of::Clause { text, loose: other.loose().is_some() })
        });
        clauses.collect()
    }

    /// SET CONSTRAINTS.
    pub(super) fn set_constraints(&mut self, set: &SetConstraints) -> Result<&'static str> {
        self.warn_outside_block("SET CONSTRAINTS");
        let mut named = Vec::new();
        for name in &set.constraints {
            named.extend(super::names::deferrable_constraints(&self.backend, name, set.deferred)?);
        }
        let modes = &mut self.backend.events.modes;
        if set.constraints.is_empty() {
            *modes = Modes { all: Some(set.deferred), named: BTreeMap::new() };
        } else {
            modes.named.extend(named.into_iter().map(|oid| (oid, set.deferred)));
        }
        if !set.deferred {
            let due = self.backend.events.take_due(!self.savepoints.is_empty());
            self.react_to(due, true)?;
        }
        Ok("SET CONSTRAINTS")
    }
}

/// The statements of foreign keys, as text.
mod sql_of {
    use crate::catalog::TableDef;
    use crate::catalog::foreign_key::ForeignKey;
    use crate::types::TypeId;

    const EQUAL: &str = "OPERATOR(pg_catalog.=)";

    /// What is to be done about a key; parameters are the key's values, as the table at hand has them.
    #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
    pub(crate) enum Rule {
        /// The row that a referring row's values lead to, and its KEY SHARE lock.
        FindReferenced,
        /// A row with the same key, by the referenced table's own values.
        FindSame,
        /// A row that refers to the values.
        FindReferring,
        Delete,
        /// Takes the new values and then the old.
        Update,
        SetNull {
            update: bool,
        },
        SetDefault {
            update: bool,
        },
    }

    /// ` COLLATE …` behind a value.
    #[derive(Default)]
    pub(super) struct Clause {
        pub text: String,
        /// Its collation is nondeterministic.
        pub loose: bool,
    }

    pub(super) fn params(
        key: &ForeignKey,
        rule: Rule,
        table: &TableDef,
        referenced: &TableDef,
    ) -> Vec<TypeId> {
        let (of, columns) = match rule {
            Rule::FindReferenced => (table, &key.columns),
            _ => (referenced, &key.referenced_columns),
        };
        let mut types: Vec<TypeId> =
            columns.iter().map(|c| of.columns[usize::from(*c)].ty.id).collect();
        if rule == Rule::Update {
            types.extend_from_within(..);
        }
        types
    }

    pub(super) fn statement(
        key: &ForeignKey,
        rule: Rule,
        table: &TableDef,
        referenced: &TableDef,
        collate: &[Clause],
    ) -> String {
        let own = qualified(table);
        let whole = |what: &str| {
            let set = key.columns.iter().map(|c| format!("{} = {what}", name(table, *c)));
            set.collect::<Vec<_>>().join(", ")
        };
        let part = |what: &str, update: bool| match update || key.delete_columns.is_empty() {
            true => whole(what),
            false => {
                let set = key.delete_columns.iter();
                let set = set.map(|c| format!("{} = {what}", name(table, *c)));
                set.collect::<Vec<_>>().join(", ")
            }
        };
        let refers = |first: usize| {
            condition(table, &key.columns, collate, |name, i| {
                format!("${} {EQUAL} {name}", first + i)
            })
        };
        let is_there = condition(referenced, &key.referenced_columns, &[], |name, i| {
            format!("{name} {EQUAL} ${}", 1 + i)
        });
        match rule {
            Rule::FindReferenced | Rule::FindSame => format!(
                "SELECT 1 FROM ONLY {} x WHERE {is_there} FOR KEY SHARE OF x",
                qualified(referenced)
            ),
            Rule::FindReferring => {
                format!("SELECT 1 FROM ONLY {own} x WHERE {} FOR KEY SHARE OF x", refers(1))
            }
            Rule::Delete => format!("DELETE FROM ONLY {own} WHERE {}", refers(1)),
            Rule::Update => {
                let set = key.columns.iter().enumerate();
                let set = set.map(|(i, c)| format!("{} = ${}", name(table, *c), 1 + i));
                let set = set.collect::<Vec<_>>().join(", ");
                format!("UPDATE ONLY {own} SET {set} WHERE {}", refers(1 + key.columns.len()))
            }
            Rule::SetNull { update } => {
                format!("UPDATE ONLY {own} SET {} WHERE {}", part("NULL", update), refers(1))
            }
            Rule::SetDefault { update } => {
                format!("UPDATE ONLY {own} SET {} WHERE {}", part("DEFAULT", update), refers(1))
            }
        }
    }

    /// The values of a row that finds nothing.
    pub(super) fn unmet(
        key: &ForeignKey,
        table: &TableDef,
        referenced: &TableDef,
        collate: &[Clause],
    ) -> String {
        let own = |c: &u16| format!("fk.{}", name(table, *c));
        let columns: Vec<String> = key.columns.iter().map(own).collect();
        let pairs = columns.iter().zip(&key.referenced_columns).zip(collate);
        let same: Vec<String> = pairs
            .map(|((a, b), collate)| {
                format!("pk.{} {EQUAL} {a}{}", name(referenced, *b), collate.text)
            })
            .collect();
        let nulls: Vec<String> = columns.iter().map(|c| format!("{c} IS NOT NULL")).collect();
        format!(
            "SELECT {} FROM ONLY {} fk LEFT OUTER JOIN ONLY {} pk ON ({}) WHERE pk.{} IS NULL AND ({})",
            columns.join(", "),
            qualified(table),
            qualified(referenced),
            same.join(" AND "),
            name(referenced, key.referenced_columns[0]),
            nulls.join(if key.full { " OR " } else { " AND " })
        )
    }

    /// Of other collations only loose ones find other values.
    fn condition(
        table: &TableDef,
        columns: &[u16],
        collate: &[Clause],
        term: impl Fn(String, usize) -> String,
    ) -> String {
        let terms = columns.iter().enumerate().map(|(i, c)| {
            let collate = collate.get(i).filter(|clause| clause.loose);
            let collate = collate.map_or("", |clause| clause.text.as_str());
            format!("{}{collate}", term(name(table, *c), i))
        });
        terms.collect::<Vec<_>>().join(" AND ")
    }

    fn name(table: &TableDef, column: u16) -> String {
        quoted(&table.columns[usize::from(column)].name)
    }

    fn qualified(table: &TableDef) -> String {
        format!("{}.{}", quoted(&table.schema_name), quoted(&table.name))
    }

    /// In quotes whether it needs them or not: errors show these statements.
    fn quoted(name: &str) -> String {
        format!("\"{}\"", name.replace('"', "\"\""))
    }
}
