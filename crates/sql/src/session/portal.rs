//! Portals: a bound statement being run, all at once or piece by piece.

use std::collections::BTreeMap;
use std::sync::Arc;

use storage::txn::{Hold, Snapshot};

use crate::error::{Result, SqlError, sql_error};
use crate::exec::spill::{RowReader, RowStore};
use crate::exec::watch::Profile;
use crate::exec::{self, Cx, Modify, Running, State};
use crate::plan::node::Node;
use crate::types::scalar::{check_text, room};
use crate::types::{Datum, Encoding, IoContext, Oid, TimestampTz, TypeId, output, send};

use super::backend::Backend;
use super::client::{Client, Field, Format, Formats};
use super::held::HeldRows;
use super::prepare::{Planned, Prepared, Verb};
use super::standing::StandingPortal;
use super::within::Given;
use super::{Session, Status};

/// What Bind makes of a statement.
pub struct Portal {
    /// The prepared statement, for those that are not planned.
    pub statement: Arc<syntax::ast::Statement>,
    pub text: Arc<str>,
    pub planned: Option<Arc<Planned>>,
    /// The result's columns when the statement is not planned.
    pub fields: Option<Arc<[Field]>>,
    pub params: Vec<Datum>,
    /// Their types when the statement is not planned.
    pub given_types: Vec<TypeId>,
    pub formats: Formats,
    pub run: Option<Box<Run>>,
    /// Everything has been delivered.
    pub done: bool,
    /// What Execute is told then if the statement is not planned: its tag, for no rows.
    pub last_tag: Box<str>,
    /// Its rows if it is not planned and was asked for some of them.
    pub(super) held: Option<Box<HeldRows>>,
    /// A cursor: more than the protocol's portals can do.
    pub cursor: Option<super::cursor::Cursor>,
    /// How many savepoints were open when it was made: it goes with those that it came after.
    pub level: usize,
    /// When Bind made it.
    pub made: TimestampTz,
}

impl Portal {
    /// One of which nothing is known but the statement; `level` is how many savepoints are open.
    pub(super) fn new(
        statement: Arc<syntax::ast::Statement>,
        text: Arc<str>,
        level: usize,
    ) -> Portal {
        Portal {
            statement,
            text,
            planned: None,
            fields: None,
            params: Vec::new(),
            given_types: Vec::new(),
            formats: Formats::default(),
            run: None,
            done: false,
            last_tag: Box::default(),
            held: None,
            cursor: None,
            level,
            made: TimestampTz(0),
        }
    }

    /// What running the statement needs to know if it is not planned.
    pub(super) fn given(&self) -> Given {
        Given { types: self.given_types.clone(), values: self.params.clone() }
    }

    /// The result's columns; `None` where it has none.
    pub(super) fn result(&self) -> Option<&[Field]> {
        match &self.planned {
            Some(planned) => planned.fields.as_deref(),
            None => self.fields.as_deref(),
        }
    }

    /// It only reads, and nothing was asked of it.
    fn is_to_read(&self) -> bool {
        let reads = |p: &Arc<Planned>| p.verb == Verb::Select && !p.plan.changes();
        !self.done && self.run.is_none() && self.planned.as_ref().is_some_and(reads)
    }

    /// What SQL is to see of it.
    pub(super) fn standing(&self) -> StandingPortal {
        StandingPortal { statement: self.text.clone(), made: self.made }
    }

    /// Nothing more can be asked of it: a FETCH failed, or it is done and has no rows to tell of.
    pub(super) fn is_over(&self) -> bool {
        self.cursor.as_ref().is_some_and(|cursor| cursor.failed)
            || (self.done && self.result().is_none())
    }

    /// Bind gives formats for all columns alike, or for each; what has no columns needs none.
    pub(super) fn check_formats(&self) -> Result<()> {
        match (self.formats.count(), self.result()) {
            (Some(formats), Some(columns)) if formats != columns.len() => Err(sql_error!(
                PROTOCOL_VIOLATION,
                "bind message has {formats} result formats but query has {} columns",
                columns.len()
            )),
            _ => Ok(()),
        }
    }
}

/// A session's portals. The unnamed one, which nearly every statement goes through, has a place of its own.
#[derive(Default)]
pub struct Portals {
    unnamed: Option<Portal>,
    named: BTreeMap<Box<str>, Portal>,
}

impl Portals {
    #[inline]
    pub fn get(&self, name: &str) -> Option<&Portal> {
        if name.is_empty() { self.unnamed.as_ref() } else { self.named.get(name) }
    }

    #[inline]
    pub fn insert(&mut self, name: &str, portal: Portal) {
        if name.is_empty() {
            self.unnamed = Some(portal);
        } else {
            self.named.insert(name.into(), portal);
        }
    }

    #[inline]
    pub fn remove(&mut self, name: &str) -> Option<Portal> {
        if name.is_empty() { self.unnamed.take() } else { self.named.remove(name) }
    }

    /// The names of those that `which` accepts.
    pub fn names_where(&self, which: impl Fn(&Portal) -> bool) -> Vec<Box<str>> {
        let unnamed = self.unnamed.iter().filter(|portal| which(portal)).map(|_| Box::default());
        let named = self.named.iter().filter(|(_, portal)| which(portal));
        unnamed.chain(named.map(|(name, _)| name.clone())).collect()
    }

    /// What those with a name read, until they are closed, as in PostgreSQL: who uses the unnamed one is done with it when
    /// the next command comes. What changes rows is run to its end at once, and a cursor that has outlived its
    /// transaction has its rows with it.
    pub fn relations_in_use(&self) -> Vec<Oid> {
        let kept = |portal: &Portal| portal.cursor.as_ref().is_some_and(|cursor| cursor.kept);
        let open = self.named.values().filter(|portal| !kept(portal));
        let plans = open.filter_map(|portal| portal.planned.as_ref());
        plans.filter(|p| !p.plan.changes()).flat_map(|planned| planned.relations()).collect()
    }

    /// A savepoint was released: what was made under it belongs to the one around it.
    pub fn release(&mut self, savepoint: usize) {
        for portal in self.unnamed.iter_mut().chain(self.named.values_mut()) {
            portal.level = portal.level.min(savepoint);
        }
    }

    fn is_empty(&self) -> bool {
        self.unnamed.is_none() && self.named.is_empty()
    }
}

/// A plan between its first row and its last.
pub struct Run {
    operators: Operators,
    state: State,
    snapshot: Snapshot,
    /// Keeps the snapshot in force between two Executes.
    hold: Option<Hold>,
    /// It was run to its end, and these rows are left to be told.
    collected: Option<(RowStore, RowReader)>,
}

enum Operators {
    Rows(Running),
    Modify(Box<Modify>),
}

impl Run {
    /// Starts a plan; nothing is read yet.
    ///
    /// # Errors
    /// `25006` if it writes, and the transaction must not.
    pub fn start(backend: &mut Backend, planned: &Planned, params: Vec<Datum>) -> Result<Run> {
        Run::watched(backend, planned, params, None)
    }

    /// Starts a plan whose nodes are watched.
    pub fn watched(
        backend: &mut Backend,
        planned: &Planned,
        params: Vec<Datum>,
        profile: Option<Arc<Profile>>,
    ) -> Result<Run> {
        backend.admit(planned)?;
        let mut state = State::new(&planned.plan, params);
        let operators = exec::watch::with(profile.as_ref(), || match &planned.plan.root {
            Node::Modify(modify) => Operators::Modify(Box::new(Modify::new(modify.clone()))),
            root => Operators::Rows(exec::run(root)),
        });
        state.profile = profile;
        let snapshot = backend.txn.statement_snapshot();
        Ok(Run { operators, state, snapshot, hold: None, collected: None })
    }

    /// Sees by this snapshot, which is in force.
    pub fn look_at(&mut self, snapshot: Snapshot) {
        self.snapshot = snapshot;
    }

    /// The next row, or `None` at the end.
    pub fn next<'r>(&'r mut self, backend: &mut Backend) -> Result<Option<&'r [Datum]>> {
        if self.collected.is_none() {
            return self.step(backend);
        }
        let (rows, reader) = self.collected.as_mut().expect("it was looked at");
        Ok(if reader.next(rows)? { Some(reader.row(rows)) } else { None })
    }

    fn step<'r>(&'r mut self, backend: &mut Backend) -> Result<Option<&'r [Datum]>> {
        backend.snapshot = self.snapshot;
        let mut cx = Cx { state: &mut self.state, host: backend };
        let operator: &mut dyn exec::Operator = match &mut self.operators {
            Operators::Rows(running) => &mut **running,
            Operators::Modify(modify) => &mut **modify,
        };
        if operator.next(&mut cx)? {
            return Ok(Some(operator.row()));
        }
        cx.run_unread_changes()?;
        Ok(None)
    }

    /// Runs it to its end; its rows are told from now on.
    fn collect(&mut self, backend: &mut Backend) -> Result<()> {
        let mut rows = RowStore::new(&backend.temp, backend.values.hot.work_mem_bytes);
        while let Some(row) = self.step(backend)? {
            rows.push(row)?;
        }
        self.collected = Some((rows, RowReader::default()));
        Ok(())
    }

    /// How many rows a change has changed so far.
    pub fn changed(&self) -> Option<u64> {
        match &self.operators {
            Operators::Modify(modify) => Some(modify.count),
            Operators::Rows(_) => None,
        }
    }

    /// The statement rests: others may come before its next row. Rows that are collected need no snapshot.
    pub fn rest(&mut self, backend: &mut Backend) {
        if self.hold.is_none() && self.collected.is_none() {
            self.hold = Some(backend.txn.hold(self.snapshot));
        }
    }

    /// The snapshot is not needed any more.
    pub fn finish(&mut self, backend: &mut Backend) {
        if let Some(hold) = self.hold.take() {
            backend.txn.drop_hold(hold);
        }
    }
}

/// A reply with more bytes than this is handed over between two rows, however few they are.
pub const RELIEVE_BYTES: usize = 8 << 20;

/// Appends a value as the client wants it.
#[inline]
pub(super) fn put_value(
    id: TypeId,
    value: &Datum,
    format: Format,
    io: &IoContext<'_>,
    buffer: &mut Vec<u8>,
) -> Result<()> {
    let at = buffer.len();
    match format {
        Format::Text => output(id, value, io, buffer)?,
        Format::Binary => send(id, value, io.names, buffer)?,
    }
    room(buffer.len() - at, 0)?;
    let encoding = io.format.client_encoding;
    if encoding.is_plain() { Ok(()) } else { recode(encoding, id, format, at, buffer) }
}

/// What stands in the buffer from `at` on, in the client's character set.
#[cold]
fn recode(
    encoding: Encoding,
    id: TypeId,
    format: Format,
    at: usize,
    buffer: &mut Vec<u8>,
) -> Result<()> {
    let value = buffer.split_off(at);
    match format {
        Format::Text => encoding.encode(check_text(&value)?, buffer),
        Format::Binary => {
            buffer.extend(encoding.encode_binary(id, &value)?);
            Ok(())
        }
    }
}

/// Writes one row to the client. How many bytes wait to be sent, if it has a value to tell by.
pub fn send_row(
    backend: &Backend,
    client: &mut dyn Client,
    fields: &[Field],
    formats: &Formats,
    row: &[Datum],
) -> Result<usize> {
    let mut waiting = 0;
    client.begin_row(fields.len());
    for (i, (field, value)) in fields.iter().zip(row).enumerate() {
        if value.is_null() {
            client.null_value();
            continue;
        }
        client.begin_value();
        let buffer = client.buffer();
        put_value(field.type_id, value, formats.of(i), &backend.io(), buffer)?;
        waiting = buffer.len();
        client.end_value();
    }
    client.end_row()?;
    Ok(waiting)
}

impl Session {
    /// Delivers up to `max_rows` (0: all) rows of a planned portal, without ending the message.
    /// Answers the number of rows and whether that was the end.
    pub(super) fn deliver(
        &mut self,
        portal: &mut Portal,
        max_rows: u64,
        client: &mut dyn Client,
    ) -> Result<(u64, bool)> {
        let planned = portal.planned.clone().expect("the caller checks that it is planned");
        if portal.run.is_none() {
            let params = std::mem::take(&mut portal.params);
            portal.run = Some(Box::new(Run::start(&mut self.backend, &planned, params)?));
        }
        let run = portal.run.as_mut().expect("just started");
        if max_rows > 0 && planned.fields.is_some() {
            self.run_changes(run, &planned)?;
        }
        let mut rows = 0;
        loop {
            if max_rows > 0 && rows == max_rows && planned.fields.is_some() {
                run.rest(&mut self.backend);
                self.backend.txn.release_statement();
                self.tell_everything();
                return Ok((rows, false));
            }
            let Some(row) = run.next(&mut self.backend)? else { break };
            let waiting = match &planned.fields {
                Some(fields) => send_row(&self.backend, client, fields, &portal.formats, row)?,
                None => 0,
            };
            rows += 1;
            if rows % 64 == 0 || waiting > RELIEVE_BYTES {
                client.relieve(self.backend.txn.must_be_durable())?;
            }
        }
        // Of what is told in pieces, each piece counts for itself.
        if let Some(changed) = run.changed().filter(|_| run.collected.is_none()) {
            rows = changed;
        }
        run.finish(&mut self.backend);
        portal.done = true;
        self.finish_statement()?;
        if planned.fields.is_some() {
            self.tell_everything();
        }
        Ok((rows, true))
    }

    /// A portal that only reads sees what there is now, whenever it is asked for it.
    ///
    /// # Errors
    /// `25006` if it locks rows, and the transaction must not.
    pub(super) fn begin_reading(&mut self, portal: &mut Portal) -> Result<()> {
        let Some(planned) = portal.planned.clone().filter(|_| portal.is_to_read()) else {
            return Ok(());
        };
        self.backend.admit(&planned)?;
        self.had_query = true;
        let params = std::mem::take(&mut portal.params);
        let mut run = Run::start(&mut self.backend, &planned, params)?;
        run.rest(&mut self.backend);
        self.backend.txn.release_statement();
        portal.run = Some(Box::new(run));
        Ok(())
    }

    /// Something else may be done before the client asks for what it has bound last. In PostgreSQL each portal that
    /// reads has its snapshot from Bind; that without a name, which nearly always is asked next, gets it here.
    #[inline]
    pub fn pause(&mut self) {
        if self.portals.unnamed.as_ref().is_some_and(Portal::is_to_read) {
            self.begin_reading_unnamed();
        }
    }

    #[cold]
    fn begin_reading_unnamed(&mut self) {
        if self.backend.txn.state() != storage::txn::TxnState::Active {
            return;
        }
        let Some(mut portal) = self.portals.remove("") else { return };
        // What may not be run is refused when it is to be.
        let _ = self.begin_reading(&mut portal);
        self.portals.insert("", portal);
    }

    /// Runs what changes rows to its end: what it changes does not hang on how many of its rows the client asks for.
    pub(super) fn run_changes(&mut self, run: &mut Run, planned: &Planned) -> Result<()> {
        if planned.plan.changes() && run.collected.is_none() {
            run.collect(&mut self.backend)?;
            run.finish(&mut self.backend);
            self.finish_statement()?;
        }
        Ok(())
    }

    /// What follows every statement that was run: its snapshot goes, what comes next sees what it
    /// did, and foreign keys look into it.
    pub(super) fn finish_statement(&mut self) -> Result<()> {
        self.backend.txn.release_statement();
        if self.backend.txn.state() == storage::txn::TxnState::Active {
            self.backend.txn.next_command()?;
        }
        self.react_to_statement()
    }

    /// Sends notices that statements left.
    #[inline]
    pub(super) fn flush_notices(&mut self, client: &mut dyn Client) {
        if !self.backend.notices.is_empty() || self.backend.values.has_untold() {
            self.send_notices(client);
        }
    }

    fn send_notices(&mut self, client: &mut dyn Client) {
        // Settings are told before the client rests; these two have their effect at once.
        if self.backend.values.has_untold() {
            self.show_application();
            client.spells_in(self.client_encoding());
        }
        for notice in std::mem::take(&mut self.backend.notices) {
            client.notice(&notice);
        }
    }

    /// Portals end with their transaction; those that a failed one leaves are gone at once. Cursors
    /// WITH HOLD that have kept their rows stay.
    pub(super) fn drop_portals(&mut self) {
        self.drop_portals_if(|_| true);
    }

    /// Those that were made under the savepoint with this place in the list go with it.
    pub(super) fn drop_portals_since(&mut self, savepoint: usize) {
        self.drop_portals_if(|portal| portal.level > savepoint);
    }

    fn drop_portals_if(&mut self, which: impl Fn(&Portal) -> bool) {
        if self.portals.is_empty() {
            return;
        }
        let goes =
            |p: &Portal| which(p) && !p.cursor.as_ref().is_some_and(|cursor| cursor.is_kept());
        for name in self.portals.names_where(goes) {
            self.close_portal(&name);
        }
    }

    /// Describes a prepared statement: parameter types and result columns.
    ///
    /// # Errors
    /// `25P02` if it has columns, and the transaction has failed, as in PostgreSQL: to look columns up takes one. What has
    /// none may be described: clients do that to ROLLBACK.
    pub fn describe_statement(&mut self, name: &str) -> Result<(Vec<TypeId>, Option<Vec<Field>>)> {
        if self.prepared(name)?.planned.is_some() && self.refuse_if_failed().is_ok() {
            self.begin_if_idle();
            self.current_plan(name)?;
        }
        let prepared = self.prepared(name)?;
        let fields = match &prepared.planned {
            Some(planned) => planned.fields.as_deref(),
            None => prepared.fields.as_deref(),
        };
        let described = (prepared.params.clone(), fields.map(<[Field]>::to_vec));
        if described.1.is_some() {
            self.refuse_if_failed()?;
        }
        Ok(described)
    }

    /// Describes a portal: its result's columns and their formats, or `None`.
    ///
    /// # Errors
    /// As those of [`Session::describe_statement`].
    pub fn describe_portal(&mut self, name: &str) -> Result<Option<(Vec<Field>, Formats)>> {
        let Some(portal) = self.portals.get(name) else { return Err(no_portal(name)) };
        let Some(fields) = portal.result() else { return Ok(None) };
        self.refuse_if_failed()?;
        Ok(Some((fields.to_vec(), portal.formats.clone())))
    }

    /// The statement of that name; the empty name is the unnamed one.
    pub(super) fn prepared(&mut self, name: &str) -> Result<&mut Prepared> {
        match self.statements.get_mut(name) {
            Some(prepared) => Ok(prepared),
            None if name.is_empty() => {
                Err(sql_error!(UNDEFINED_PSTATEMENT, "unnamed prepared statement does not exist"))
            }
            None => Err(sql_error!(
                UNDEFINED_PSTATEMENT,
                "prepared statement \"{name}\" does not exist"
            )),
        }
    }

    /// In a failed transaction only its end may be run.
    pub(super) fn refuse_portal_if_failed(&self, statement: &syntax::ast::Statement) -> Result<()> {
        if self.status() == Status::Failed && !super::utility::ends_transaction(statement) {
            return self.refuse_if_failed();
        }
        Ok(())
    }
}

pub(super) fn no_portal(name: &str) -> SqlError {
    sql_error!(UNDEFINED_CURSOR, "portal \"{name}\" does not exist")
}

pub(super) fn cannot_be_run(name: &str) -> SqlError {
    sql_error!(OBJECT_NOT_IN_PREREQUISITE_STATE, "portal \"{name}\" cannot be run")
}
