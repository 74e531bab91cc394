//! How a client shows who it is: by the operating system's user, or by knowing the role's password.

use sql::error::{Severity, SqlError, SqlState};
use sql::password::{Exchange, Refusal};
use sql::session::Session;
use wire::frame::{self, Split};
use wire::frontend::Message;

use super::{Seat, startup};
use crate::connection::Peer;
use crate::hba::{Method, Stranger};
use crate::report;
use crate::users;

/// A client that has said who it is, and is asked to prove it.
pub(super) struct Proving {
    exchange: Exchange,
    /// What the client has chosen of what was offered.
    mechanism: Option<&'static str>,
    user: String,
    peer: Peer,
    /// Why it will fail, whatever the client knows; to the log.
    in_vain: Option<&'static str>,
    /// Its first packet, for the session that it will have.
    pub(super) packet: Vec<u8>,
}

/// Longest length of a message of a proof, as in PostgreSQL.
const PROOF_BYTES_MAX: usize = 1024;

/// Whether a client that was asked for a proof has sent a whole message, or begun one that can be none of a proof: nobody
/// waits for more of that, or makes room for it.
pub(crate) fn is_answered(input: &[u8]) -> bool {
    match input.first() {
        None => false,
        Some(b'p' | b'X') => match frame::split(input) {
            Ok(Split::Need(size)) => size > 1 + PROOF_BYTES_MAX,
            _ => true,
        },
        Some(_) => true,
    }
}

/// What becomes of a client that says that it is `user`.
pub(super) enum Claim {
    /// It is.
    Granted,
    /// It has to know the password; it was asked for a proof.
    ToProve,
}

/// Lets a client in, refuses it, or asks for a proof.
pub(super) fn claim(
    seat: &mut Seat,
    (user, database): (&str, &str),
    packet: &[u8],
) -> Result<Claim, SqlError> {
    let from = match seat.peer {
        Peer::Local { .. } => None,
        Peer::Remote(address) => Some((address, seat.link.own_address())),
    };
    let stranger = Stranger { user, database, from, is_encrypted: seat.encryption.is_some() };
    let is_in = |role: &str| Session::is_in(seat.worker.shared.database.cluster(), user, role);
    match (seat.worker.shared.rules().method(&stranger, &is_in)?, seat.peer) {
        (Method::Trust, _) => Ok(Claim::Granted),
        (Method::Peer, Peer::Local { uid, .. }) => is_run_by(uid, user).map(|()| Claim::Granted),
        (Method::Scram, _) => {
            let proving = Box::new(ask(seat, user, packet)?);
            seat.replies.authentication_sasl(proving.exchange.mechanisms().iter().copied());
            seat.proving = Some(proving);
            Ok(Claim::ToProve)
        }
        (Method::Reject | Method::Peer, _) => {
            Err(startup::refusal(format!("authentication failed for user \"{user}\"")))
        }
    }
}

/// Whether the operating system's user has the role's name.
fn is_run_by(uid: u32, user: &str) -> Result<(), SqlError> {
    let name = users::name_of(uid);
    if name.as_deref() == Some(user) {
        return Ok(());
    }
    let who = name.unwrap_or_else(|| format!("user {uid}"));
    // Escaped: what a client sends must not look like a line of the log.
    base::log!("{who} asked to be {user:?}, which peer authentication refuses");
    Err(startup::refusal(format!("Peer authentication failed for user \"{user}\"")).with_hint(
        "The unix socket is open to the role that has the operating system user's name; others come over TCP, \
         with a password.",
    ))
}

fn ask(seat: &Seat, user: &str, packet: &[u8]) -> Result<Proving, SqlError> {
    let shared = &seat.worker.shared;
    let fatal = |error: SqlError| error.with_severity(Severity::Fatal);
    let known = Session::password_of(shared.database.cluster(), user).map_err(fatal)?;
    let in_vain = known.as_ref().err().copied();
    let end_point = seat.encryption.as_ref().and_then(|by| by.end_point.clone());
    let exchange = Exchange::new(known.ok(), shared.secret(), user, end_point).map_err(fatal)?;
    Ok(Proving {
        exchange,
        mechanism: None,
        user: user.to_owned(),
        peer: seat.peer,
        in_vain,
        packet: packet.to_vec(),
    })
}

/// Serves the message at the front of the seat's input, which should be part of a proof.
pub(super) fn run(seat: &mut Seat) {
    let input = std::mem::take(&mut seat.input);
    let mut proving = seat.proving.take().expect("a proof was asked for");
    match message(&input) {
        // It has no password to give, or has to ask somebody for it first.
        Ok(frame) if frame.tag == b'X' => seat.closing = true,
        Ok(frame) => {
            seat.input = input[frame.size()..].to_vec();
            match answer(seat, &mut proving, frame) {
                Ok(true) => startup::open_proved(seat, &proving.packet),
                Ok(false) => seat.proving = Some(proving),
                Err(error) => seat.complain(&error.with_severity(Severity::Fatal)),
            }
        }
        Err(error) => seat.complain(&error.with_severity(Severity::Fatal)),
    }
    seat.hand_over();
}

/// The message that [`is_answered`] has found.
fn message(input: &[u8]) -> Result<frame::Frame<'_>, SqlError> {
    let tag = *input.first().expect("something has come");
    if !matches!(tag, b'p' | b'X') {
        return Err(report::violation(format!("expected SASL response, got message type {tag}")));
    }
    match frame::split(input) {
        Ok(Split::Frame(frame)) => Ok(frame),
        Ok(Split::Need(_)) => Err(report::violation("invalid message length")),
        Err(fault) => Err(report::broken(&fault)),
    }
}

/// Answers one message of a proof; whether that was the last.
fn answer(
    seat: &mut Seat,
    proving: &mut Proving,
    frame: frame::Frame<'_>,
) -> Result<bool, SqlError> {
    let broken = |fault| report::broken(&fault);
    let Message::Authentication(message) = Message::decode(frame).map_err(broken)? else {
        let found = frame.tag;
        return Err(report::violation(format!("expected SASL response, got message type {found}")));
    };
    let message = match &proving.mechanism {
        Some(_) => Some(message.sasl_response()),
        None => {
            let initial = message.sasl_initial().map_err(broken)?;
            choose(proving, initial.mechanism)?;
            initial.response
        }
    };
    let (exchange, mechanism) = (&mut proving.exchange, proving.mechanism.unwrap_or_default());
    let (said, is_last) = match message {
        // A client may leave its first message out, and be asked for it by an empty one.
        None => (Ok(String::new()), false),
        Some(message) if exchange.has_begun() => (exchange.last(message), true),
        Some(message) => (exchange.first(mechanism, message), false),
    };
    let said = said.map_err(|why| refused(proving, why))?;
    match is_last {
        true => seat.replies.authentication_sasl_final(said.as_bytes()),
        false => seat.replies.authentication_sasl_continue(said.as_bytes()),
    }
    Ok(is_last)
}

/// The client chooses among the mechanisms.
fn choose(proving: &mut Proving, name: &str) -> Result<(), SqlError> {
    let offered = proving.exchange.mechanisms().iter();
    proving.mechanism = offered.copied().find(|offered| *offered == name);
    match proving.mechanism {
        Some(_) => Ok(()),
        None => Err(report::violation("client selected an invalid SASL authentication mechanism")),
    }
}

fn refused(proving: &Proving, why: Refusal) -> SqlError {
    let user = &proving.user;
    match why {
        Refusal::Malformed(detail) => {
            report::violation("malformed SCRAM message").with_detail(detail)
        }
        Refusal::Binding(detail) => {
            startup::refusal("SCRAM channel binding negotiation error").with_detail(detail)
        }
        Refusal::Unbound => startup::refusal("SCRAM channel binding check failed"),
        Refusal::Password => {
            let why = proving.in_vain.unwrap_or("the password is another");
            base::log!(
                "password authentication failed for user {user:?} from {}: {why}",
                proving.peer
            );
            let message = format!("password authentication failed for user \"{user}\"");
            SqlError::new(SqlState::INVALID_PASSWORD, message)
        }
    }
}
