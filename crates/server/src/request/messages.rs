//! The protocol's state machine: simple and extended queries, pipelining, errors until Sync.
//!
//! Replies gather in the seat and are handed over where PostgreSQL would flush: at the end of a
//! simple query, at Sync, at Flush, after an error, and where many have gathered. Those of one batch
//! leave together, because the task that sends them gets its turn only when this fiber parks or ends.

use std::panic::{AssertUnwindSafe, catch_unwind};

use sql::error::{Severity, SqlError, SqlState};
use sql::session::{Format, Formats};
use sql::types::Oid;
use wire::backend::Field;
use wire::frame::{self, Split};
use wire::frontend::{Bind, Execute, Message, Parse, Target};

use super::client::{Client, RELIEVE_BYTES};
use super::{Seat, charset};
use crate::report;

/// Serves every whole message that is there.
pub(super) fn run(seat: &mut Seat) {
    let mut input = std::mem::take(&mut seat.input);
    let mut at = 0;
    while !seat.closing {
        let frame = match frame::split(&input[at..]) {
            Ok(Split::Frame(frame)) => frame,
            Ok(Split::Need(_)) => break,
            Err(fault) => {
                seat.complain(&report::broken(&fault));
                seat.hand_over();
                break;
            }
        };
        at += frame.size();
        // Left over from a COPY that has failed: passed over, whatever they say, as in PostgreSQL.
        let is_left_over = matches!(frame.tag, b'd' | b'c' | b'f');
        if is_left_over || (seat.skipping && !matches!(frame.tag, b'S' | b'X')) {
            continue;
        }
        seat.is_ready = false;
        let mut rest = Rest::of(&input[at..]);
        serve(seat, frame, &mut rest);
        if seat.replies.len() >= RELIEVE_BYTES {
            // A pipeline may be as long as its client likes before it asks for what it is told.
            seat.hand_over();
        }
        match rest.more {
            None => at = input.len() - rest.bytes.len(),
            Some(more) => (input, at) = (more, rest.at),
        }
    }
    input.drain(..at);
    seat.input = input;
}

/// What has come behind the message being served. COPY takes its data from there, and may receive
/// more than the batch began with.
pub(super) struct Rest<'b> {
    /// What is left of the batch.
    bytes: &'b [u8],
    /// Takes the place of the whole batch, if COPY had to wait for the client.
    more: Option<Vec<u8>>,
    /// How much of `more` is consumed.
    at: usize,
}

impl<'b> Rest<'b> {
    fn of(bytes: &'b [u8]) -> Self {
        Rest { bytes, more: None, at: 0 }
    }

    /// What nobody has consumed yet.
    pub(super) fn unread(&self) -> &[u8] {
        match &self.more {
            Some(more) => &more[self.at..],
            None => self.bytes,
        }
    }

    pub(super) fn consume(&mut self, count: usize) {
        match &self.more {
            Some(_) => self.at += count,
            None => self.bytes = &self.bytes[count..],
        }
    }

    /// A buffer that begins with what is unread, for more to be appended.
    pub(super) fn make_room(&mut self) -> &mut Vec<u8> {
        let consumed = std::mem::take(&mut self.at);
        let more = self.more.get_or_insert_with(|| std::mem::take(&mut self.bytes).to_vec());
        more.drain(..consumed);
        more
    }
}

/// Serves one message.
fn serve(seat: &mut Seat, frame: frame::Frame<'_>, rest: &mut Rest<'_>) {
    // Which messages belong to the extended protocol decides what an error costs.
    let extended = matches!(frame.tag, b'P' | b'B' | b'D' | b'E' | b'C' | b'H');
    // A simple query ends its own transaction as the error demands.
    let fails = frame.tag != b'Q';
    // Whatever it holds: PostgreSQL goes by the type alone, too.
    seat.skipping &= frame.tag != b'S';
    let body = charset::incoming(seat.encoding, &frame);
    let message = match &body {
        Ok(body) => Message::decode(frame::Frame { tag: frame.tag, body })
            .map_err(|fault| report::broken(&fault)),
        Err(error) => Err(error.clone()),
    };
    let result = match message {
        Ok(message) => guarded(seat, fails, |seat| answer(seat, message, rest)),
        Err(error) => {
            seat.session().fail(&error);
            Err(error)
        }
    };
    seat.heed();
    let Err(error) = result else {
        if matches!(frame.tag, b'Q' | b'S' | b'H') {
            seat.hand_over();
        }
        return;
    };
    seat.complain(&error);
    if seat.link.said_all.get() {
        // It was COPY that wanted more, perhaps in the midst of a message.
        seat.complain(&report::lost_synchronization());
    }
    if extended {
        seat.skipping = true;
    } else if !seat.closing {
        ready(seat);
    }
    seat.hand_over();
}

fn answer(seat: &mut Seat, message: Message<'_>, rest: &mut Rest<'_>) -> Result<(), SqlError> {
    match message {
        Message::Bind(message) => bind(seat, &message)?,
        Message::Describe(target) => describe(seat, target)?,
        Message::Execute(message) => execute(seat, message, rest)?,
        Message::Sync => {
            seat.session().sync()?;
            ready(seat);
        }
        Message::Query(text) => {
            #[cfg(test)]
            super::tests::panic_if_asked(text);
            {
                let (session, mut client) = Client::of(seat, rest);
                session.simple_query(text, &mut client)?;
            }
            ready(seat);
        }
        Message::Parse(message) => parse(seat, &message)?,
        Message::Close(target) => {
            match target {
                Target::Statement(name) => seat.session().close_statement(name),
                Target::Portal(name) => seat.session().close_portal(name),
            }
            seat.replies.close_complete();
        }
        // What else it asks for is done for every message that ends a stretch of replies.
        Message::Flush => seat.session().pause(),
        Message::CopyData(_) | Message::CopyDone | Message::CopyFail(_) => {
            unreachable!("what is left over from a COPY is passed over")
        }
        Message::FunctionCall(_) => {
            return Err(SqlError::unsupported("function calls by message are not supported")
                .with_hint("Call the function in a SELECT."));
        }
        Message::Authentication(_) => {
            return Err(report::violation("invalid frontend message type 112")
                .with_severity(Severity::Fatal));
        }
        Message::Terminate => seat.closing = true,
    }
    Ok(())
}

fn parse(seat: &mut Seat, message: &Parse<'_>) -> Result<(), SqlError> {
    let types: Vec<Oid> = message.types.iter().map(Oid).collect();
    seat.session().parse(message.name, message.query, &types)?;
    seat.replies.parse_complete();
    Ok(())
}

fn bind(seat: &mut Seat, message: &Bind<'_>) -> Result<(), SqlError> {
    let (mut few, mut many) = ([None; PARAMETERS_INLINE], Vec::new());
    let values = inline_or(&mut few, &mut many, message.parameters.iter());
    let (given, wanted) = (formats(&message.parameter_formats), formats(&message.result_formats));
    seat.session().bind(message.portal, message.statement, values, &given, wanted)?;
    seat.replies.bind_complete();
    Ok(())
}

fn formats(sent: &wire::Formats<'_>) -> Formats {
    sent.iter().map(format_of).collect()
}

/// So many parameters are listed without an allocation.
const PARAMETERS_INLINE: usize = 16;

/// The items in one piece: in `few` if they fit there, else in `many`.
fn inline_or<'v, T: Copy>(
    few: &'v mut [T],
    many: &'v mut Vec<T>,
    items: impl Iterator<Item = T>,
) -> &'v [T] {
    let mut count = 0;
    for item in items {
        if count < few.len() {
            few[count] = item;
        } else {
            if count == few.len() {
                many.extend_from_slice(few);
            }
            many.push(item);
        }
        count += 1;
    }
    if count <= few.len() { &few[..count] } else { many }
}

fn format_of(format: wire::Format) -> Format {
    match format {
        wire::Format::Text => Format::Text,
        wire::Format::Binary => Format::Binary,
    }
}

fn describe(seat: &mut Seat, target: Target<'_>) -> Result<(), SqlError> {
    let session = seat.session.as_mut().expect("messages are served to a session");
    match target {
        Target::Statement(name) => {
            let (parameters, fields) = session.describe_statement(name)?;
            let types: Vec<u32> = parameters.iter().map(|id| id.0).collect();
            seat.replies.parameter_description(&types);
            match fields {
                Some(fields) => describe_row(seat, &fields, &Formats::default()),
                None => seat.replies.no_data(),
            }
        }
        Target::Portal(name) => match session.describe_portal(name)? {
            Some((fields, formats)) => describe_row(seat, &fields, &formats),
            None => seat.replies.no_data(),
        },
    }
    Ok(())
}

fn describe_row(seat: &mut Seat, fields: &[sql::session::Field], formats: &Formats) {
    seat.say(|replies| replies.row_description(row_fields(fields, formats)));
}

/// The columns of a result, in the protocol's form.
pub(super) fn row_fields<'f>(
    fields: &'f [sql::session::Field],
    formats: &'f Formats,
) -> impl Iterator<Item = Field<'f>> {
    fields.iter().enumerate().map(|(index, field)| Field {
        name: &field.name,
        table: field.table.0,
        column: field.column,
        type_oid: field.type_id.0,
        type_size: field.type_len,
        type_modifier: field.type_mod,
        format: match formats.of(index) {
            Format::Text => wire::Format::Text,
            Format::Binary => wire::Format::Binary,
        },
    })
}

fn execute(seat: &mut Seat, message: Execute<'_>, rest: &mut Rest<'_>) -> Result<(), SqlError> {
    let (session, mut client) = Client::of(seat, rest);
    session.execute(message.portal, message.rows_max, &mut client)
}

/// Tells the client that the next command may come, and before that what settings have come to: the message may have
/// changed some, and its end changed them back.
fn ready(seat: &mut Seat) {
    let status = seat.status();
    let changed = seat.session().rest();
    seat.encoding = seat.session().client_encoding();
    seat.tell_settings(&changed);
    if status == wire::backend::Status::Idle {
        seat.tell_mail();
    }
    seat.replies.ready_for_query(status);
    seat.is_ready = true;
}

/// Runs `work`, and if it fails, and `fails` says so, fails the session's transaction. If it panics,
/// that is an error of the statement like others, `XX000`, and nobody else notices; the session ends
/// only if its transaction can't be failed either.
///
/// Only code that owns nothing but its session may panic and come here. Everywhere else the panic
/// hook ends the process before the stack unwinds ([`crate::panics`]).
fn guarded(
    seat: &mut Seat,
    fails: bool,
    work: impl FnOnce(&mut Seat) -> Result<(), SqlError>,
) -> Result<(), SqlError> {
    seat.whole = seat.replies.len();
    let worked = catch_unwind(AssertUnwindSafe(|| {
        let result = work(seat);
        if fails && let Err(error) = &result {
            seat.session().fail(error);
        }
        result
    }));
    worked.unwrap_or_else(|payload| {
        // Whatever the statement was writing may be half a message.
        seat.replies.truncate(seat.whole);
        let said = payload.downcast_ref::<String>().map(String::as_str);
        let said = said.or_else(|| payload.downcast_ref::<&str>().copied());
        let error = SqlError::new(SqlState::INTERNAL_ERROR, "internal error: a broken assumption")
            .with_detail(said.unwrap_or("The server's log says which.").to_owned());
        let failed = catch_unwind(AssertUnwindSafe(|| {
            #[cfg(test)]
            super::tests::panic_again_if_asked(said);
            seat.session().recover(&error);
        }));
        if failed.is_ok() {
            return Err(error);
        }
        seat.abandon();
        Err(error.with_severity(Severity::Fatal))
    })
}
