//! The extended protocol: Parse, Bind, Execute, Close.

use std::sync::Arc;

use syntax::ast::Statement;

use crate::bind::Params;
use crate::error::{Result, bail};
use crate::exec::spill::RowStore;
use crate::types::scalar::check_text;
use crate::types::{Datum, Oid, TypeId, TypeMod, input, receive};

use super::Session;
use super::client::{Client, Format, Formats};
use super::held::{HeldRows, Holder};
use super::portal::{Portal, cannot_be_run, no_portal};
use super::prepare::{Prepared, Verb, is_plannable};
use super::simple::begins_or_ends;
use super::within::Given;
use crate::cache::KnownText;

impl Session {
    /// Parse: a statement under a name; the empty name is taken again and again.
    pub fn parse(&mut self, name: &str, sql: &str, types: &[Oid]) -> Result<()> {
        let parsed = self.parse_text(name, sql, types);
        parsed.map_err(|error| super::placed(self.backend.name_types(error), sql))
    }

    fn parse_text(&mut self, name: &str, sql: &str, types: &[Oid]) -> Result<()> {
        self.start_message();
        self.show_running(sql);
        if !name.is_empty() && self.statements.contains_key(name) {
            bail!(DUPLICATE_PSTATEMENT, "prepared statement \"{name}\" already exists");
        }
        if name.is_empty() {
            // Gone even if no other takes its place.
            self.statements.remove(name);
        }
        let mut prepared = match self.known_text(sql, types)? {
            Some(prepared) => prepared,
            None => self.prepare_text(sql, types)?,
        };
        if !name.is_empty() {
            self.stand(name, &mut prepared, false);
        }
        self.statements.insert(name.into(), prepared);
        Ok(())
    }

    /// A text that was prepared before, for the same types, and whose plan still holds.
    fn known_text(&mut self, sql: &str, types: &[Oid]) -> Result<Option<Prepared>> {
        let Some(known) = self.plans.text(self.backend.place(), sql, types) else {
            return Ok(None);
        };
        self.refuse_portal_if_failed(&known.statement)?;
        if let Some(planned) = &known.planned {
            self.begin_if_idle();
            if !self.revalidate(planned)? {
                return Ok(None);
            }
        }
        Ok(Some(Prepared {
            text: known.text,
            statement: Some(known.statement),
            declared: Some(known.types),
            params: known.params.to_vec(),
            planned: known.planned,
            fields: None,
            uses: None,
        }))
    }

    fn prepare_text(&mut self, sql: &str, types: &[Oid]) -> Result<Prepared> {
        let mut parsed = crate::catalog::parse(sql)?;
        if parsed.len() > 1 {
            bail!(SYNTAX_ERROR, "cannot insert multiple commands into a prepared statement");
        }
        let statement = parsed.pop().map(|parsed| Arc::new(parsed.statement));
        if let Some(statement) = &statement {
            self.refuse_portal_if_failed(statement)?;
        }
        let mut prepared = Prepared {
            text: Arc::from(sql),
            statement,
            declared: Some(types.into()),
            params: types.iter().map(|oid| TypeId(oid.0)).collect(),
            planned: None,
            fields: None,
            uses: None,
        };
        if let Some(statement) = prepared.statement.clone() {
            if is_plannable(&statement) {
                self.begin_if_idle();
                let planned = self.plan(&statement, Params::open(prepared.params.clone()))?;
                prepared.params = planned.params.clone();
                prepared.planned = Some(Arc::new(planned));
            } else {
                prepared.fields = self.utility_fields(&statement);
                // Planning is only worth while where there are parameters; those begin with it.
                if sql.contains('$') {
                    prepared.params = self.infer_within(&statement, prepared.params)?;
                }
            }
            if prepared.planned.is_some() || begins_or_ends(&statement) {
                let known = KnownText {
                    types: types.into(),
                    text: prepared.text.clone(),
                    statement,
                    params: prepared.params.as_slice().into(),
                    planned: prepared.planned.clone(),
                };
                self.plans.keep_text(self.backend.scope(), sql, known);
            }
        }
        Ok(prepared)
    }

    /// Bind: a portal for a prepared statement with these parameter values.
    pub fn bind(
        &mut self,
        portal: &str,
        statement: &str,
        params: &[Option<&[u8]>],
        formats: &Formats,
        result_formats: Formats,
    ) -> Result<()> {
        self.backend.statement_start = super::stamp();
        self.go_on();
        if !portal.is_empty() && self.portals.get(portal).is_some() {
            bail!(DUPLICATE_CURSOR, "cursor \"{portal}\" already exists");
        }
        let start = self.backend.statement_start;
        self.prepared(statement)?;
        let text = &self.statements[statement].text;
        super::show_prepared(self.board, &mut self.shown, text, start);
        let mut made = self.make_portal(statement, params, formats, result_formats);
        if !portal.is_empty()
            && let Ok(bound) = &mut made
            && let Err(error) = self.begin_reading(bound)
        {
            made = Err(error);
        }
        match made {
            Ok(mut bound) => {
                bound.made = start;
                if portal.is_empty() {
                    // The one before may hold a snapshot.
                    self.close_portal(portal);
                } else {
                    self.backend.standing.portals.insert(portal.into(), bound.standing());
                }
                self.portals.insert(portal, bound);
                Ok(())
            }
            Err(error) => {
                let text = self.prepared(statement)?.text.clone();
                Err(super::placed(self.backend.name_types(error), &text))
            }
        }
    }

    fn make_portal(
        &mut self,
        name: &str,
        params: &[Option<&[u8]>],
        formats: &Formats,
        result_formats: Formats,
    ) -> Result<Portal> {
        let prepared = &self.statements[name];
        let Some(statement) = prepared.statement.clone() else {
            prepared.count_use();
            return Ok(self.empty_portal());
        };
        self.refuse_portal_if_failed(&statement)?;
        if params.len() != prepared.params.len() {
            bail!(
                PROTOCOL_VIOLATION,
                "bind message supplies {} parameters, but prepared statement \"{name}\" requires {}",
                params.len(),
                prepared.params.len()
            );
        }
        let planned = if is_plannable(&statement) {
            self.begin_if_idle();
            self.current_plan(name)?
        } else {
            None
        };
        // As PostgreSQL: here begins what reads, and with its first rows what changes.
        if let Some(planned) = &planned
            && self.backend.read_only
            && planned.verb == Verb::Select
            && !planned.plan.changes()
        {
            self.backend.refuse_if_read_only(planned)?;
        }
        let mut values = std::mem::take(&mut self.spare_params);
        let prepared = &self.statements[name];
        let given_types = match is_plannable(&statement) {
            true => Vec::new(),
            false => prepared.params.clone(),
        };
        for (i, (bytes, id)) in params.iter().zip(&prepared.params).enumerate() {
            values.push(self.parameter(i, *bytes, *id, formats.of(i))?);
        }
        prepared.count_use();
        // What EXECUTE and FETCH name is known only now.
        let fields = match &*statement {
            Statement::Execute(_) | Statement::Fetch(_) => self.utility_fields(&statement),
            _ => prepared.fields.clone(),
        };
        let portal = Portal {
            planned,
            fields,
            params: values,
            given_types,
            formats: result_formats,
            ..Portal::new(statement, prepared.text.clone(), self.savepoints.len())
        };
        portal.check_formats()?;
        Ok(portal)
    }

    fn empty_portal(&self) -> Portal {
        let statement = Arc::new(Statement::Unsupported(""));
        Portal::new(statement, Arc::from(""), self.savepoints.len())
    }

    fn parameter(
        &self,
        i: usize,
        bytes: Option<&[u8]>,
        id: TypeId,
        format: Format,
    ) -> Result<Datum> {
        let Some(bytes) = bytes else { return Ok(Datum::Null) };
        let io = self.backend.io();
        let encoding = io.format.client_encoding;
        match format {
            Format::Text if encoding.is_plain() => {
                check_text(bytes).and_then(|text| input(id, TypeMod::NONE, text, &io))
            }
            Format::Text => {
                encoding.decode(bytes).and_then(|text| input(id, TypeMod::NONE, &text, &io))
            }
            Format::Binary if encoding.is_plain() => receive(id, TypeMod::NONE, bytes, &io),
            Format::Binary => encoding
                .decode_binary(id, bytes)
                .and_then(|bytes| receive(id, TypeMod::NONE, &bytes, &io)),
        }
        .map_err(|error| match error.fields().context {
            Some(_) => error,
            None => error.with_context(format!("unnamed portal parameter ${}", i + 1)),
        })
    }

    /// Execute: up to `max_rows` rows of a portal, 0 for all.
    pub fn execute(&mut self, name: &str, max_rows: u32, client: &mut dyn Client) -> Result<()> {
        let Some(portal) = self.portals.get(name) else {
            // It may have gone with what failed.
            self.refuse_if_failed()?;
            return Err(no_portal(name));
        };
        if portal.text.is_empty() && portal.planned.is_none() {
            self.end_statement();
            client.empty_query();
            return Ok(());
        }
        self.refuse_portal_if_failed(&portal.statement)?;
        base::interrupt::check().map_err(crate::error::interrupted)?;
        if portal.is_over() {
            return Err(cannot_be_run(name));
        }
        self.go_on();
        if !name.is_empty() {
            self.pause();
        }
        // Not before: what was refused stays as it was.
        let mut portal = self.portals.remove(name).expect("it was looked at");
        let start = self.backend.statement_start;
        super::show_prepared(self.board, &mut self.shown, &portal.text, start);
        self.backend.query_text = portal.text.clone();
        self.commits_at_once = false;
        self.show_unnamed(name, &portal);
        let result = self.execute_portal(name, &mut portal, max_rows, client);
        // A transaction's end drops portals; this one may go with it.
        let ended = super::utility::ends_transaction(&portal.statement) || self.commits_at_once;
        let survives = result.is_ok() && !ended;
        self.portals.insert(name, portal);
        if !survives {
            self.close_portal(name);
        }
        self.end_statement();
        self.flush_notices(client);
        let backend = &self.backend;
        result.map_err(|error| super::placed(backend.name_types(error), &backend.query_text))
    }

    /// The portal without a name comes and goes with nearly every statement: what SQL is to know of it is noted when SQL
    /// may ask.
    #[inline]
    fn show_unnamed(&mut self, name: &str, running: &Portal) {
        let standing = &mut self.backend.standing;
        standing.unnamed_runs = name.is_empty().then_some(running.made);
        match self.portals.get("").filter(|_| !name.is_empty()) {
            Some(rests) => standing.portals.insert(Box::default(), rests.standing()),
            None => standing.portals.remove(""),
        };
    }

    fn execute_portal(
        &mut self,
        name: &str,
        portal: &mut Portal,
        max_rows: u32,
        client: &mut dyn Client,
    ) -> Result<()> {
        let by_cursor = portal.planned.is_some() && portal.cursor.is_some();
        if portal.done && !by_cursor {
            match &portal.planned {
                Some(planned) => planned.write_tag(0, &mut self.tag),
                None => (*portal.last_tag).clone_into(&mut self.tag),
            }
            client.command_complete(&self.tag);
            return Ok(());
        }
        let Some(planned) = portal.planned.clone() else {
            return match portal.held {
                Some(_) => self.deliver_held(portal, max_rows, client),
                None => self.execute_unplanned(portal, max_rows, client),
            };
        };
        self.begin_if_idle();
        self.had_query = true;
        self.backend.admit(&planned)?;
        if let Some(point) = &planned.point
            && portal.run.is_none()
            && max_rows == 0
            && !by_cursor
        {
            let (params, formats) = (&mut portal.params, &portal.formats);
            let rows = self.run_point(point, &planned, params, formats, client)?;
            if let Some(rows) = rows {
                portal.done = true;
                portal.params.clear();
                self.spare_params = std::mem::take(&mut portal.params);
                self.complete(&planned, rows, client);
                return Ok(());
            }
        }
        let (rows, ended) = match by_cursor {
            true => self.deliver_by_cursor(name, portal, max_rows, client)?,
            false => self.deliver(portal, u64::from(max_rows), client)?,
        };
        if ended {
            self.complete(&planned, rows, client);
        } else {
            client.portal_suspended();
        }
        Ok(())
    }

    fn execute_unplanned(
        &mut self,
        portal: &mut Portal,
        max_rows: u32,
        client: &mut dyn Client,
    ) -> Result<()> {
        if let Statement::Transaction(command) = &*portal.statement {
            let tag = self.transaction(command)?;
            portal.done = true;
            self.flush_notices(client);
            client.command_complete(tag);
            return Ok(());
        }
        let statement = portal.statement.clone();
        self.begin_for(&statement)?;
        self.wanted_formats = portal.formats.clone();
        self.given = portal.given();
        let tag = match portal.fields.is_some() && max_rows > 0 {
            true => self.run_held(portal, &statement, client),
            false => self.utility(&statement, client, true),
        };
        self.given = Given::default();
        self.wanted_formats = Formats::default();
        let tag = tag?;
        if self.commits_at_once {
            self.commit_implicit()?;
        }
        if portal.fields.is_some() {
            portal.last_tag = for_rows(&tag, 0);
        }
        self.flush_notices(client);
        if portal.held.is_some() {
            return self.deliver_held(portal, max_rows, client);
        }
        portal.done = true;
        client.command_complete(&tag);
        Ok(())
    }

    /// Runs a statement that is not planned, and holds its rows.
    fn run_held(
        &mut self,
        portal: &mut Portal,
        statement: &Statement,
        client: &mut dyn Client,
    ) -> Result<String> {
        let rows = RowStore::new(&self.backend.temp, self.backend.values.hot.work_mem_bytes);
        let mut holder = Holder::new(client, rows);
        let tag = self.utility(statement, &mut holder, true)?;
        portal.held = Some(Box::new(HeldRows::new(holder.rows)));
        Ok(tag)
    }

    fn deliver_held(
        &mut self,
        portal: &mut Portal,
        max_rows: u32,
        client: &mut dyn Client,
    ) -> Result<()> {
        let held = portal.held.as_mut().expect("the caller checks that there are rows");
        let durable = self.backend.txn.must_be_durable();
        let (rows, ended) = held.deliver(max_rows, durable, client)?;
        if !ended {
            client.portal_suspended();
            return Ok(());
        }
        portal.held = None;
        portal.done = true;
        client.command_complete(&for_rows(&portal.last_tag, rows));
        Ok(())
    }

    /// Close of a statement.
    pub fn close_statement(&mut self, name: &str) {
        self.statements.remove(name);
        if !name.is_empty() {
            self.backend.standing.statements.remove(name);
        }
    }

    /// Close of a portal.
    pub fn close_portal(&mut self, name: &str) {
        let standing = &mut self.backend.standing;
        standing.cursors.remove(name);
        standing.portals.remove(name);
        if name.is_empty() {
            standing.unnamed_runs = None;
        }
        if let Some(mut portal) = self.portals.remove(name)
            && let Some(run) = &mut portal.run
        {
            run.finish(&mut self.backend);
        }
    }
}

/// A command's tag, with this number in the place of how many rows it tells of, if it does.
fn for_rows(tag: &str, rows: u64) -> Box<str> {
    let words = tag.trim_end_matches(|c: char| c.is_ascii_digit());
    if words.len() < tag.len() { format!("{words}{rows}").into() } else { tag.into() }
}
