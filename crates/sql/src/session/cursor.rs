//! SQL cursors: DECLARE, FETCH, MOVE, CLOSE.
//!
//! A cursor that scrolls keeps the rows that it has read, so that it can go back to them; others keep none
//! (`forward`). One WITH HOLD reads the rest when its transaction commits.

mod forward;

use std::sync::Arc;

use syntax::ast::{DeclareCursor, Fetch, FetchDirection, Statement};

use crate::error::{Result, SqlError, SqlState, bail};
use crate::exec::spill::{RowReader, RowStore};
use crate::types::Datum;

use super::Session;
use super::backend::Backend;
use super::client::{Client, Field, Format, Formats};
use super::portal::{Portal, RELIEVE_BYTES, Run, cannot_be_run, send_row};
use super::prepare::{Planned, is_plannable};
use super::simple::is_of_the_moment;
use super::standing::{StandingCursor, Targets, scans_backward, with_addresses};
use super::transaction::no_block;

/// What a cursor adds to a portal.
#[derive(Default)]
pub struct Cursor {
    /// Rows read so far; of one that only goes forward those that its transaction's commit left to be read.
    rows: Option<RowStore>,
    reader: RowReader,
    /// How many went by where none are kept, and the one that it is on.
    passed: usize,
    current: Vec<Datum>,
    /// There are no more.
    complete: bool,
    /// 0 before the first row, n on row n, one more after the last.
    position: usize,
    hold: bool,
    /// WITH HOLD, and its transaction has committed.
    pub(super) kept: bool,
    /// It can't go back: NO SCROLL was written, or nothing, and its plan could not.
    forward_only: bool,
    /// A FETCH failed: nothing more can be read.
    pub(super) failed: bool,
}

impl Cursor {
    /// How many rows were read so far.
    fn known(&self) -> usize {
        match self.forward_only {
            true => self.passed,
            false => self.rows.as_ref().map_or(0, RowStore::len),
        }
    }

    fn is_on_row(&self) -> bool {
        (1..=self.known()).contains(&self.position)
    }

    /// The row that it is on, if it is on one.
    fn current(&mut self) -> Result<Option<&[Datum]>> {
        if !self.is_on_row() {
            return Ok(None);
        }
        if self.forward_only {
            return Ok(Some(&self.current));
        }
        self.row(self.position).map(Some)
    }

    /// The row with this number, from 1, which was read.
    fn row(&mut self, number: usize) -> Result<&[Datum]> {
        let rows = self.rows.as_ref().expect("a row was read");
        self.reader.seek(number - 1);
        let found = self.reader.next(rows)?;
        assert!(found, "row {number} was read");
        Ok(self.reader.row(rows))
    }

    /// Does it outlive transactions?
    pub fn is_kept(&self) -> bool {
        self.kept
    }
}

/// Numbers of rows, from `first` to before `end`, in one or the other direction.
struct Wanted {
    first: usize,
    end: usize,
    backward: bool,
}

impl Wanted {
    fn rows(&self) -> u64 {
        self.end.saturating_sub(self.first) as u64
    }
}

impl Iterator for Wanted {
    type Item = usize;

    fn next(&mut self) -> Option<usize> {
        if self.first >= self.end {
            return None;
        }
        if self.backward {
            self.end -= 1;
            return Some(self.end);
        }
        self.first += 1;
        Some(self.first - 1)
    }
}

/// Who gets the rows of a FETCH; nobody gets those of a MOVE.
struct Told<'a> {
    client: &'a mut dyn Client,
    fields: &'a [Field],
    formats: &'a Formats,
    is_move: bool,
    rows: u64,
}

impl Told<'_> {
    fn tell(&mut self, backend: &Backend, row: &[Datum]) -> Result<()> {
        if self.is_move {
            return Ok(());
        }
        let waiting = send_row(backend, self.client, self.fields, self.formats, row)?;
        self.rows += 1;
        if self.rows.is_multiple_of(64) || waiting > RELIEVE_BYTES {
            self.client.relieve(backend.txn.must_be_durable())?;
        }
        Ok(())
    }
}

impl Session {
    pub(super) fn declare(&mut self, declare: &DeclareCursor) -> Result<String> {
        refuse_locking(declare)?;
        if !declare.hold && !self.is_in_block() {
            return Err(no_block("DECLARE CURSOR"));
        }
        if self.portals.get(&declare.name).is_some() {
            bail!(DUPLICATE_CURSOR, "cursor \"{}\" already exists", declare.name);
        }
        if !matches!(&*declare.query, Statement::Select(_)) || !is_plannable(&declare.query) {
            bail!(INVALID_CURSOR_DEFINITION, "cursor must be declared on a query");
        }
        let mut portal = self.cursor_portal(&declare.query)?;
        if portal.planned.as_ref().is_some_and(|planned| planned.plan.changes_in_with()) {
            bail!(
                FEATURE_NOT_SUPPORTED,
                "DECLARE CURSOR must not contain data-modifying statements in WITH"
            );
        }
        let root = &portal.planned.as_ref().expect("a query is planned").plan.root;
        let scrolls = declare.scroll.unwrap_or_else(|| scans_backward(root));
        let targets = Targets::of(root);
        portal.formats = Formats::all(if declare.binary { Format::Binary } else { Format::Text });
        portal.cursor =
            Some(Cursor { hold: declare.hold, forward_only: !scrolls, ..Cursor::default() });
        let planned = portal.planned.clone().expect("a query is planned");
        let standing = StandingCursor {
            statement: portal.text.clone(),
            hold: declare.hold,
            kept: false,
            binary: declare.binary,
            scrolls,
            made: self.backend.statement_start,
            targets,
            own: planned.fields.as_ref().map_or(0, |fields| fields.len()),
            row: None,
        };
        // The cursor sees what its declaration saw.
        let mut run = Run::start(&mut self.backend, &planned, portal.params.clone())?;
        run.rest(&mut self.backend);
        portal.run = Some(Box::new(run));
        self.portals.insert(&declare.name, portal);
        self.backend.standing.cursors.insert(declare.name.clone(), standing);
        Ok("DECLARE CURSOR".to_owned())
    }

    /// A portal for a cursor's query, which also reads where its tables' rows are if it can.
    fn cursor_portal(&mut self, query: &Statement) -> Result<Portal> {
        let text = self.backend.query_text.clone();
        if let Some((addressed, added)) = with_addresses(query)
            && let Some(planned) = self.planned_or_not(&addressed)?
            && let Some(fields) = planned.fields.clone()
        {
            let own = fields[..fields.len() - added].to_vec();
            let mut planned = planned;
            planned.fields = Some(Arc::from(own));
            // Where its rows are is not read for anybody.
            let Backend { catalog, txn, .. } = &self.backend;
            if !catalog.rights(txn)?.superuser {
                planned.needs = self.plan(query, self.given.params())?.needs;
            }
            return Ok(self.portal_of(Arc::new(planned), query, &text));
        }
        self.portal_for(query, &text)
    }

    /// The plan, unless there is none: not unless somebody else stood in the way just now.
    fn planned_or_not(&mut self, query: &Statement) -> Result<Option<Planned>> {
        match self.plan(query, self.given.params()) {
            Err(error) if is_of_the_moment(&error) => Err(error),
            planned => Ok(planned.ok()),
        }
    }

    pub(super) fn fetch(
        &mut self,
        fetch: &Fetch,
        client: &mut dyn Client,
        described: bool,
    ) -> Result<String> {
        let Some(mut portal) = self.portals.remove(&fetch.cursor) else {
            bail!(UNDEFINED_CURSOR, "cursor \"{}\" does not exist", fetch.cursor);
        };
        let result = match portal.is_over() {
            false => self.fetch_from(&mut portal, fetch, client, described),
            true => Err(cannot_be_run(&fetch.cursor)),
        };
        if result.is_err()
            && let Some(cursor) = &mut portal.cursor
        {
            cursor.failed = true;
        }
        let shown = self.show_current(&fetch.cursor, &mut portal);
        self.portals.insert(&fetch.cursor, portal);
        let count = result?;
        shown?;
        Ok(format!("{} {count}", if fetch.is_move { "MOVE" } else { "FETCH" }))
    }

    /// Others may ask which row the cursor is on: WHERE CURRENT OF does.
    fn show_current(&mut self, name: &str, portal: &mut Portal) -> Result<()> {
        if let Some(standing) = self.backend.standing.cursors.get_mut(name)
            && let Some(cursor) = &mut portal.cursor
        {
            standing.row = None;
            standing.row = cursor.current()?.map(Arc::from);
        }
        Ok(())
    }

    fn fetch_from(
        &mut self,
        portal: &mut Portal,
        fetch: &Fetch,
        client: &mut dyn Client,
        described: bool,
    ) -> Result<u64> {
        let fields = match &portal.planned {
            Some(planned) => planned.fields.clone(),
            None => portal.fields.clone(),
        };
        let fields = fields.unwrap_or_else(|| Arc::from(Vec::new()));
        let of_protocol = || Cursor { forward_only: true, ..Cursor::default() };
        portal.cursor.get_or_insert_with(of_protocol);
        // A cursor that was not declared BINARY gives what this FETCH is asked for.
        let formats = match portal.formats == Formats::all(Format::Binary) {
            true => portal.formats.clone(),
            false => self.wanted_formats.clone(),
        };
        if !fetch.is_move && !described {
            client.row_description(&fields, &formats);
        }
        let (fields, formats, is_move) = (&*fields, &formats, fetch.is_move);
        let mut told = Told { client, fields, formats, is_move, rows: 0 };
        let count = self.go(portal, fetch.direction, &mut told)?;
        self.tell_everything();
        Ok(count)
    }

    /// Moves a cursor in a direction, and tells the rows that it yields. How many there were.
    fn go(
        &mut self,
        portal: &mut Portal,
        direction: FetchDirection,
        told: &mut Told<'_>,
    ) -> Result<u64> {
        if portal.cursor.as_ref().is_some_and(|cursor| cursor.forward_only) {
            return self.go_forward(portal, direction, told);
        }
        let wanted = self.wanted_rows(portal, direction)?;
        let count = wanted.rows();
        if told.is_move {
            return Ok(count);
        }
        let cursor = portal.cursor.as_mut().expect("the portal has a cursor");
        for number in wanted {
            told.tell(&self.backend, cursor.row(number)?)?;
        }
        Ok(count)
    }

    /// As [`Session::deliver`], of a portal that FETCH reads, too: each goes on where the other left it.
    pub(super) fn deliver_by_cursor(
        &mut self,
        name: &str,
        portal: &mut Portal,
        max_rows: u32,
        client: &mut dyn Client,
    ) -> Result<(u64, bool)> {
        let planned = portal.planned.clone().expect("the caller checks that it is planned");
        let fields = planned.fields.as_deref().unwrap_or(&[]);
        let formats = portal.formats.clone();
        let most = (max_rows > 0).then_some(i64::from(max_rows));
        let mut told = Told { client, fields, formats: &formats, is_move: false, rows: 0 };
        let count = self.go(portal, FetchDirection::Forward(most), &mut told)?;
        self.show_current(name, portal)?;
        self.finish_statement()?;
        self.tell_everything();
        let cursor = portal.cursor.as_ref().expect("the portal has a cursor");
        Ok((count, cursor.position > cursor.known()))
    }

    /// The numbers of the rows that a direction yields, in its order; the cursor, which scrolls, is moved.
    fn wanted_rows(&mut self, portal: &mut Portal, direction: FetchDirection) -> Result<Wanted> {
        let position = portal.cursor.as_ref().expect("the portal has a cursor").position;
        match direction {
            FetchDirection::Forward(Some(n)) if n < 0 => {
                self.wanted_rows(portal, FetchDirection::Backward(Some(-n)))
            }
            FetchDirection::Backward(Some(n)) if n < 0 => {
                self.wanted_rows(portal, FetchDirection::Forward(Some(-n)))
            }
            FetchDirection::Forward(Some(0)) | FetchDirection::Backward(Some(0)) => {
                self.single(portal, position)
            }
            FetchDirection::Forward(count) => {
                let until = count.map(|n| position.saturating_add(n as usize));
                let available = self.read_to(portal, until)?;
                let end = until.map_or(available, |until| until.min(available));
                let cursor = portal.cursor.as_mut().expect("the portal has a cursor");
                let ran_out = until.is_none_or(|until| until > available);
                cursor.position = if ran_out { available + 1 } else { end };
                Ok(Wanted { first: position + 1, end: end + 1, backward: false })
            }
            FetchDirection::Backward(count) => {
                let first = match count {
                    Some(n) => position.saturating_sub(n as usize),
                    None => 0,
                };
                let cursor = portal.cursor.as_mut().expect("the portal has a cursor");
                cursor.position = first;
                // All the way back is before the first row.
                let lowest = if count.is_none() { 1 } else { first.max(1) };
                Ok(Wanted { first: lowest, end: position, backward: true })
            }
            FetchDirection::Absolute(n) if n < 0 => {
                let all = self.read_to(portal, None)?;
                self.single(portal, (all + 1).saturating_sub(n.unsigned_abs() as usize))
            }
            FetchDirection::Absolute(n) => self.single(portal, n as usize),
            FetchDirection::Relative(n) => {
                let distance = n.unsigned_abs() as usize;
                let target = match n < 0 {
                    true => position.saturating_sub(distance),
                    false => position.saturating_add(distance),
                };
                self.single(portal, target)
            }
        }
    }

    fn single(&mut self, portal: &mut Portal, target: usize) -> Result<Wanted> {
        let available = self.read_to(portal, Some(target))?;
        let cursor = portal.cursor.as_mut().expect("the portal has a cursor");
        cursor.position = target.min(available + 1);
        let there = (1..=available).contains(&target);
        Ok(Wanted { first: target, end: target + usize::from(there), backward: false })
    }

    /// Reads on until row `until` (or the end); how many rows there are up to there.
    fn read_to(&mut self, portal: &mut Portal, until: Option<usize>) -> Result<usize> {
        self.start_if_new(portal)?;
        let cursor = portal.cursor.as_mut().expect("the portal has a cursor");
        while !cursor.complete && until.is_none_or(|until| cursor.known() < until) {
            let Some(run) = portal.run.as_mut() else {
                cursor.complete = true;
                break;
            };
            match run.next(&mut self.backend)? {
                Some(row) => {
                    let kept = cursor.rows.get_or_insert_with(|| {
                        RowStore::new(&self.backend.temp, self.backend.values.hot.work_mem_bytes)
                    });
                    kept.push(row)?;
                }
                None => {
                    run.finish(&mut self.backend);
                    portal.run = None;
                    portal.done = true;
                    cursor.complete = true;
                }
            }
        }
        self.backend.txn.release_statement();
        // At most what was asked for, so that callers can tell the end from a pause.
        let known = cursor.known();
        Ok(until.map_or(known, |until| until.min(known)))
    }

    /// There is something to read from, if there is anything left to read.
    fn start_if_new(&mut self, portal: &mut Portal) -> Result<()> {
        let cursor = portal.cursor.as_mut().expect("the portal has a cursor");
        cursor.complete |= portal.done;
        if portal.run.is_none() && !cursor.complete {
            portal.run = Some(Box::new(self.start_fetching(portal)?));
        }
        Ok(())
    }

    /// Starts a portal of the protocol, of which nothing was asked before.
    fn start_fetching(&mut self, portal: &mut Portal) -> Result<Run> {
        let Some(planned) = portal.planned.clone() else {
            return Err(SqlError::unsupported(
                "FETCH from a portal of this statement is not supported",
            ));
        };
        if planned.fields.is_none() {
            return Err(SqlError::internal("unsupported portal strategy"));
        }
        let params = std::mem::take(&mut portal.params);
        let mut run = Run::start(&mut self.backend, &planned, params)?;
        self.run_changes(&mut run, &planned)?;
        run.rest(&mut self.backend);
        Ok(run)
    }

    /// At commit: cursors WITH HOLD read what is left of their rows.
    pub(super) fn keep_held_cursors(&mut self) -> Result<()> {
        let held = |p: &Portal| p.cursor.as_ref().is_some_and(|c| c.hold && !c.kept && !c.failed);
        let names = self.portals.names_where(held);
        for name in names {
            let mut portal = self.portals.remove(&name).expect("listed just now");
            let read = self.read_to(&mut portal, None);
            if read.is_ok() {
                portal.cursor.as_mut().expect("filtered for cursors").kept = true;
                portal.level = 0;
                if let Some(standing) = self.backend.standing.cursors.get_mut(&name) {
                    standing.kept = true;
                }
            }
            // One that failed goes with the transaction.
            self.portals.insert(&name, portal);
            read?;
        }
        Ok(())
    }

    pub(super) fn close_cursor(&mut self, name: Option<&str>) -> Result<String> {
        match name {
            Some(name) => {
                if self.portals.get(name).is_none() {
                    bail!(UNDEFINED_CURSOR, "cursor \"{name}\" does not exist");
                }
                self.close_portal(name);
                Ok("CLOSE CURSOR".to_owned())
            }
            None => {
                let names = self.portals.names_where(|_| true);
                names.iter().for_each(|name| self.close_portal(name));
                Ok("CLOSE CURSOR ALL".to_owned())
            }
        }
    }
}

/// A cursor that locks its rows moves forward, within its transaction.
fn refuse_locking(declare: &DeclareCursor) -> Result<()> {
    let Statement::Select(select) = &*declare.query else { return Ok(()) };
    let Some(locking) = select.locking.first() else { return Ok(()) };
    let words = crate::bind::locking::words(locking.strength);
    let (state, what, which) = if declare.hold {
        (SqlState::FEATURE_NOT_SUPPORTED, "DECLARE CURSOR WITH HOLD", "Holdable")
    } else if declare.scroll == Some(true) {
        (SqlState::FEATURE_NOT_SUPPORTED, "DECLARE SCROLL CURSOR", "Scrollable")
    } else if declare.insensitive {
        (SqlState::INVALID_CURSOR_DEFINITION, "DECLARE INSENSITIVE CURSOR", "Insensitive")
    } else {
        return Ok(());
    };
    let verdict = if state == SqlState::FEATURE_NOT_SUPPORTED { "supported" } else { "valid" };
    Err(SqlError::new(state, format!("{what} ... {words} is not {verdict}"))
        .with_detail(format!("{which} cursors must be READ ONLY.")))
}
