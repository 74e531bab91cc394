//! The connection as a running statement sees it: results become messages in the reply buffer, and
//! COPY's data come out of messages.

use base::Lsn;
use sql::error::{Result, Severity, SqlError, SqlState, interrupted};
use sql::session::{CopyInput, Field, Format, Formats, Notice, Session};
use sql::types::Encoding;
use wire::backend::{OpenRow, Replies, Tag};
use wire::frame::{self, Split};
use wire::frontend::Message;

use super::messages::{Rest, row_fields};
use super::{Seat, charset};
use crate::connection::Link;
use crate::report;
use storage::wal::Wal;

/// Output is handed over once this much has gathered.
pub(super) const RELIEVE_BYTES: usize = 32 << 10;

/// A piece of copied data is copied on in portions of this size at least, if they are there.
const COPY_BYTES: usize = 64 << 10;

pub(super) struct Client<'a, 'b> {
    replies: &'a mut Replies,
    encoding: &'a mut Encoding,
    whole: &'a mut usize,
    row: Option<OpenRow>,
    link: &'a Link,
    wal: &'a Wal,
    rest: &'a mut Rest<'b>,
}

impl<'a, 'b> Client<'a, 'b> {
    /// The seat, divided into the session and what serves it.
    pub(super) fn of(seat: &'a mut Seat, rest: &'a mut Rest<'b>) -> (&'a mut Session, Self) {
        let session = seat.session.as_mut().expect("messages are served to a session");
        let (replies, whole, link) = (&mut seat.replies, &mut seat.whole, &*seat.link);
        let wal = seat.worker.shared.wal();
        let encoding = &mut seat.encoding;
        (session, Client { replies, encoding, whole, row: None, link, wal, rest })
    }

    /// Writes a reply with strings in it.
    fn say(&mut self, write: impl FnOnce(&mut Replies)) {
        charset::say(*self.encoding, self.replies, write);
    }

    /// Hands all replies over, to leave once the log is durable up to `lsn`.
    fn hand_over(&mut self, lsn: Lsn) -> Result<()> {
        debug_assert!(self.row.is_none(), "replies are handed over between rows");
        let sent = self.link.send(self.replies.buffer(), lsn, self.wal.durable());
        *self.whole = 0;
        sent.map_err(interrupted)
    }

    /// The first whole message behind the one being served, waited for if need be.
    fn next_frame(&mut self) -> Result<(u8, std::ops::Range<usize>)> {
        loop {
            match frame::split(self.unread()) {
                Ok(Split::Frame(frame)) => {
                    return Ok((frame.tag, frame::HEADER_BYTES..frame.size()));
                }
                Ok(Split::Need(_)) => self.receive()?,
                Err(fault) => return Err(report::broken(&fault)),
            }
        }
    }

    fn unread(&self) -> &[u8] {
        self.rest.unread()
    }

    /// What CopyFail says.
    fn reason(&self, body: &[u8]) -> Result<String> {
        let tag = b'f';
        let body = charset::incoming(*self.encoding, &frame::Frame { tag, body })?;
        match Message::decode(frame::Frame { tag, body: &body }) {
            Ok(Message::CopyFail(reason)) => Ok(reason.to_owned()),
            Ok(_) => unreachable!("the type says what it is"),
            Err(fault) => Err(report::broken(&fault)),
        }
    }

    /// Waits until the client has sent more.
    ///
    /// # Errors
    /// `08006` where it sends no more, which it may be told: it may still listen.
    fn receive(&mut self) -> Result<()> {
        let more = self.rest.make_room();
        let before = more.len();
        self.link.receive(more).map_err(interrupted)?;
        if more.len() == before {
            let message = "unexpected EOF on client connection with an open transaction";
            return Err(SqlError::new(SqlState::CONNECTION_FAILURE, message));
        }
        Ok(())
    }
}

impl sql::session::Client for Client<'_, '_> {
    fn row_description(&mut self, fields: &[Field], formats: &Formats) {
        self.say(|replies| replies.row_description(row_fields(fields, formats)));
    }

    #[inline]
    fn begin_row(&mut self, _columns: usize) {
        self.row = Some(OpenRow::begin(self.replies.buffer()));
    }

    #[inline]
    fn begin_value(&mut self) {
        let row = self.row.as_mut().expect("a row was begun");
        row.begin_value(self.replies.buffer());
    }

    #[inline]
    fn buffer(&mut self) -> &mut Vec<u8> {
        self.replies.buffer()
    }

    #[inline]
    fn end_value(&mut self) {
        let row = self.row.as_mut().expect("a row was begun");
        row.end_value(self.replies.buffer());
    }

    #[inline]
    fn null_value(&mut self) {
        let row = self.row.as_mut().expect("a row was begun");
        row.null(self.replies.buffer());
    }

    #[inline]
    fn end_row(&mut self) -> Result<()> {
        let row = self.row.take().expect("a row was begun");
        row.end(self.replies.buffer()).map_err(|fault| {
            row.take_back(self.replies.buffer());
            report::broken(&fault)
        })
    }

    fn command_complete(&mut self, tag: &str) {
        self.replies.command_complete(Tag::Done(tag));
    }

    fn empty_query(&mut self) {
        self.replies.empty_query();
    }

    fn portal_suspended(&mut self) {
        self.replies.portal_suspended();
    }

    fn notice(&mut self, notice: &Notice) {
        self.say(|replies| report::notice(replies, notice));
    }

    fn spells_in(&mut self, encoding: Encoding) {
        *self.encoding = encoding;
    }

    fn copy_out(&mut self, columns: usize, format: Format) {
        self.replies.copy_out(wire_format(format), columns);
    }

    fn copy_data(&mut self, bytes: &[u8]) -> Result<()> {
        let written = self.replies.copy_data(|buffer| buffer.extend_from_slice(bytes));
        written.map_err(|fault| report::broken(&fault))
    }

    fn copy_out_done(&mut self) {
        self.replies.copy_done();
    }

    fn copy_in(&mut self, columns: usize, format: Format) -> Result<()> {
        // What came before in the same query string may tell of anything that is in the log by now.
        let lsn = if self.replies.is_empty() { Lsn::ZERO } else { self.wal.position() };
        self.replies.copy_in(wire_format(format), columns);
        self.hand_over(lsn)
    }

    fn copy_read(&mut self, buffer: &mut Vec<u8>) -> Result<CopyInput> {
        let enough = buffer.len() + COPY_BYTES;
        let mut any = false;
        loop {
            // Once there is something, take what else is there and wait for nothing.
            if any
                && (buffer.len() >= enough
                    || !matches!(frame::split(self.unread()), Ok(Split::Frame(f)) if f.tag == b'd'))
            {
                return Ok(CopyInput::Data);
            }
            let (tag, body) = self.next_frame()?;
            let end = body.end;
            let input = match tag {
                b'd' => {
                    buffer.extend_from_slice(&self.unread()[body]);
                    any = true;
                    None
                }
                b'c' => Some(CopyInput::Done),
                b'f' => {
                    let body = self.unread()[body].to_vec();
                    // Before it is known whether it can be read: either way COPY ends here.
                    self.rest.consume(end);
                    return self.reason(&body).map(CopyInput::Fail);
                }
                // A client that does not know what its query is sends these behind every one.
                b'H' | b'S' => None,
                other => {
                    let what =
                        format!("unexpected message type 0x{other:02X} during COPY from stdin");
                    return Err(report::violation(what).with_severity(Severity::Fatal));
                }
            };
            self.rest.consume(end);
            if let Some(input) = input {
                return Ok(input);
            }
        }
    }

    fn relieve(&mut self, durable: Lsn) -> Result<()> {
        if self.replies.len() < RELIEVE_BYTES { Ok(()) } else { self.hand_over(durable) }
    }
}

impl Drop for Client<'_, '_> {
    fn drop(&mut self) {
        // An error in the middle of a row takes it back.
        if let Some(row) = self.row.take() {
            row.take_back(self.replies.buffer());
        }
    }
}

fn wire_format(format: Format) -> wire::Format {
    match format {
        Format::Text => wire::Format::Text,
        Format::Binary => wire::Format::Binary,
    }
}
