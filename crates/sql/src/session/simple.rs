//! The simple protocol: a text of statements, run one after the other.

use std::sync::Arc;

use syntax::ast::{Statement, Transaction};
use syntax::lift::{Lift, LiftedValue, Lifter};

use crate::bind::Params;
use crate::error::{Result, SqlError, SqlState, sql_error};
use crate::types::{Datum, Numeric, TypeId, TypeMod, input};

use crate::cache::Known;

use super::Session;
use super::client::{Client, Formats};
use super::portal::{Portal, RELIEVE_BYTES, Run, send_row};
use super::prepare::{Planned, is_plannable};

/// Where a statement stands in its message.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    Earlier,
    Last,
}

impl Place {
    fn of(at: usize, count: usize) -> Place {
        if at + 1 == count { Place::Last } else { Place::Earlier }
    }
}

impl Session {
    /// Query: runs every statement of the text. On an error nothing more of it is run, and the
    /// transaction is as the error leaves it.
    pub fn simple_query(&mut self, sql: &str, client: &mut dyn Client) -> Result<()> {
        self.start_message();
        self.show_running(sql);
        self.drop_unnamed();
        let result = self.run_text(sql, client);
        // Messages of the extended protocol have one each.
        self.statements_in_message = 0;
        self.end_statement();
        let result = match result {
            Ok(()) => self.commit_implicit(),
            Err(error) => Err(super::placed(self.backend.name_types(error), sql)),
        };
        self.flush_notices(client);
        if let Err(error) = &result {
            self.end_failed_statement();
            self.count_error(error);
            self.abort_statement();
        }
        result
    }

    /// The unnamed statement and the unnamed portal last until the next of their kind, or a text, comes.
    fn drop_unnamed(&mut self) {
        self.statements.remove("");
        self.close_portal("");
    }

    fn run_text(&mut self, sql: &str, client: &mut dyn Client) -> Result<()> {
        self.statements_in_message = 1;
        if self.block != super::transaction::Block::Failed && self.run_lifted(sql, client)? {
            return Ok(());
        }
        let parsed = crate::catalog::parse(sql)?;
        if parsed.is_empty() {
            client.empty_query();
            return Ok(());
        }
        self.statements_in_message = parsed.len();
        let whole: Arc<str> = Arc::from(sql);
        for (i, one) in parsed.iter().enumerate() {
            self.backend.query_text = whole.clone();
            if i > 0 {
                // How long the client takes for what it was sent is no statement's time, and the next one may have no limit.
                base::interrupt::set_deadline(None);
                client.relieve(self.backend.txn.must_be_durable())?;
                self.limit_statement();
            }
            base::interrupt::check().map_err(crate::error::interrupted)?;
            let place = Place::of(i, parsed.len());
            self.run_statement(&one.statement, place, client)?;
            self.flush_notices(client);
        }
        Ok(())
    }

    /// Runs a text through the plan cache; false if it is not one for it.
    fn run_lifted(&mut self, sql: &str, client: &mut dyn Client) -> Result<bool> {
        let mut lifter = std::mem::take(&mut self.plans.lifter);
        let result = self.run_with(&mut lifter, sql, client);
        self.plans.lifter = lifter;
        result
    }

    fn run_with(
        &mut self,
        lifter: &mut Lifter,
        sql: &str,
        client: &mut dyn Client,
    ) -> Result<bool> {
        let Some(lift) = lifter.lift(sql) else { return Ok(false) };
        let known = match self.plans.find(self.backend.place(), lift.key()) {
            Some(Known::Plan(planned)) => {
                self.begin_if_idle();
                match self.revalidate(&planned)? {
                    true => Some(Known::Plan(planned)),
                    false => self.plan_lifted(&lift, sql)?,
                }
            }
            Some(known) => Some(known),
            None => self.plan_lifted(&lift, sql)?,
        };
        match known {
            None | Some(Known::AsWritten(_)) => return Ok(false),
            Some(Known::Plan(planned)) => {
                let params = self.lifted_values(&lift, &planned)?;
                self.backend.query_text = Arc::from(sql);
                self.run_planned(&planned, params, Place::Last, client)?;
            }
            Some(Known::Command(statement)) => {
                self.backend.query_text = Arc::from(sql);
                self.run_statement(&statement, Place::Last, client)?;
            }
        }
        Ok(true)
    }

    /// Makes a plan for all texts with this key; `None` if this text is not fit for that.
    fn plan_lifted(&mut self, lift: &Lift<'_>, sql: &str) -> Result<Option<Known>> {
        let Ok(mut parsed) = crate::catalog::parse(sql) else { return Ok(None) };
        let (Some(one), true) = (parsed.pop(), parsed.is_empty()) else { return Ok(None) };
        let mut statement = one.statement;
        if lift.is_empty() && begins_or_ends(&statement) {
            let command = Known::Command(Arc::new(statement));
            self.plans.keep(self.backend.scope(), lift.key(), command.clone());
            return Ok(Some(command));
        }
        if !is_plannable(&statement) || !lift.replace(&mut statement) {
            return Ok(None);
        }
        self.begin_if_idle();
        // What can't be bound with its constants lifted is bound as it was written, for the
        // errors' sake too.
        let params = Params { types: vec![TypeId::INVALID; lift.len()], open: false };
        match self.plan(&statement, params) {
            Ok(planned) => {
                let by_constants = planned.plan.by_constants && !lift.is_empty();
                let as_written = by_constants || planned.is_momentary();
                let planned = Arc::new(planned);
                let known = match as_written {
                    true => Known::AsWritten(planned),
                    false => Known::Plan(planned),
                };
                self.plans.keep(self.backend.scope(), lift.key(), known.clone());
                Ok(Some(known))
            }
            Err(error) if is_of_the_moment(&error) => Err(error),
            Err(_) => Ok(None),
        }
    }

    fn lifted_values(&mut self, lift: &Lift<'_>, planned: &Planned) -> Result<Vec<Datum>> {
        let mut values = std::mem::take(&mut self.spare_params);
        let io = self.backend.io();
        for (slot, id) in planned.params.iter().enumerate() {
            values.push(match lift.value(slot) {
                LiftedValue::Integer(n) if *id == TypeId::INT4 => Datum::Int4(n as i32),
                LiftedValue::Integer(n) => Datum::Int8(n),
                LiftedValue::Numeric(text) => Datum::Numeric(
                    // The lexer's numbers are numbers, but may be too large or too long ones.
                    Numeric::parse(text).map_err(|_| {
                        let overflow = sql_error!(
                            NUMERIC_VALUE_OUT_OF_RANGE,
                            "value overflows numeric format"
                        );
                        overflow.at(lift.span(slot).start)
                    })?,
                ),
                LiftedValue::String(text) => input(*id, TypeMod::NONE, text, &io)
                    .map_err(|error| error.at(lift.span(slot).start))?,
            });
        }
        Ok(values)
    }

    /// Runs one statement of a message.
    fn run_statement(
        &mut self,
        statement: &Statement,
        place: Place,
        client: &mut dyn Client,
    ) -> Result<()> {
        self.refuse_portal_if_failed(statement)?;
        if let Statement::Transaction(command) = statement {
            let tag = self.transaction(command)?;
            self.flush_notices(client);
            client.command_complete(tag);
            return Ok(());
        }
        if !is_plannable(statement) {
            self.begin_for(statement)?;
            let tag = self.utility(statement, client, false)?;
            self.before_tag(place)?;
            self.flush_notices(client);
            client.command_complete(&tag);
            return Ok(());
        }
        self.begin_if_idle();
        let planned = Arc::new(self.plan(statement, Params::none())?);
        self.run_planned(&planned, Vec::new(), place, client)
    }

    /// Runs a plan to its end, with its row description and command tag.
    fn run_planned(
        &mut self,
        planned: &Arc<Planned>,
        mut params: Vec<Datum>,
        place: Place,
        client: &mut dyn Client,
    ) -> Result<()> {
        self.had_query = true;
        self.backend.admit(planned)?;
        let formats = Formats::default();
        if let Some(fields) = &planned.fields {
            client.row_description(fields, &formats);
        }
        let rows = match &planned.point {
            Some(point) => self.run_point(point, planned, &mut params, &formats, client)?,
            None => None,
        };
        let rows = match rows {
            Some(rows) => {
                params.clear();
                self.spare_params = params;
                rows
            }
            None => self.run_to_end(planned, params, &formats, client)?,
        };
        self.before_tag(place)?;
        self.complete(planned, rows, client);
        Ok(())
    }

    /// What the session began by itself ends before the last statement's tag is told: if it can't be committed
    /// (deferred constraints), the client must not hear that the statement was done.
    #[inline]
    fn before_tag(&mut self, place: Place) -> Result<()> {
        if place == Place::Earlier {
            return Ok(());
        }
        self.end_statement();
        self.commit_implicit()
    }

    fn run_to_end(
        &mut self,
        planned: &Arc<Planned>,
        params: Vec<Datum>,
        formats: &Formats,
        client: &mut dyn Client,
    ) -> Result<u64> {
        let mut run = Run::start(&mut self.backend, planned, params)?;
        let mut rows = 0;
        while let Some(row) = run.next(&mut self.backend)? {
            let waiting = match &planned.fields {
                Some(fields) => send_row(&self.backend, client, fields, formats, row)?,
                None => 0,
            };
            rows += 1;
            if rows % 64 == 0 || waiting > RELIEVE_BYTES {
                client.relieve(self.backend.txn.must_be_durable())?;
            }
        }
        let changed = run.changed();
        self.finish_statement()?;
        Ok(changed.unwrap_or(rows))
    }

    /// Ends a planned statement's reply.
    pub(super) fn complete(&mut self, planned: &Planned, rows: u64, client: &mut dyn Client) {
        if planned.fields.is_some() {
            self.tell_everything();
        }
        self.flush_notices(client);
        planned.write_tag(rows, &mut self.tag);
        client.command_complete(&self.tag);
    }

    /// A planned query's rows, for commands that use them themselves.
    pub(super) fn portal_for(&mut self, statement: &Statement, text: &str) -> Result<Portal> {
        let planned = Arc::new(self.plan(statement, self.given.params())?);
        Ok(self.portal_of(planned, statement, text))
    }

    /// A portal for what is planned.
    pub(super) fn portal_of(
        &self,
        planned: Arc<Planned>,
        statement: &Statement,
        text: &str,
    ) -> Portal {
        Portal {
            planned: Some(planned),
            params: self.given.values.clone(),
            ..Portal::new(Arc::new(statement.clone()), Arc::from(text), self.savepoints.len())
        }
    }
}

/// Whether an error of planning tells of what else goes on (waits, interruptions, resources), and not of the text: it
/// would be wrong to try another way and wait for the same again.
pub(super) fn is_of_the_moment(error: &SqlError) -> bool {
    matches!(error.sqlstate().class(), "40" | "53" | "55" | "57" | "58")
        || error.sqlstate() == SqlState::DATA_CORRUPTED
}

/// BEGIN, COMMIT, ROLLBACK: not planned, and sent so often that parsing them each time shows.
pub(super) fn begins_or_ends(statement: &Statement) -> bool {
    matches!(statement, Statement::Transaction(t) if matches!(
        **t,
        Transaction::Begin { .. } | Transaction::Commit { .. } | Transaction::Rollback { .. }
    ))
}
