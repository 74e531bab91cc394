//! The first packet: which session the client wants, and whether it may have it.

use std::borrow::Cow;

use sql::error::{Severity, SqlError, SqlState};
use sql::session::Session;
use wire::startup::{self, PROTOCOL_3_0, Request};

use super::Seat;
use super::login::{self, Claim};
use crate::report;

/// Longest name of a user or database that counts, as everywhere in PostgreSQL.
const NAME_BYTES_MAX: usize = 63;

/// Serves the packet at the front of the seat's input.
pub(super) fn run(seat: &mut Seat) {
    let input = std::mem::take(&mut seat.input);
    match startup::split(&input) {
        Ok(startup::Split::Packet(Request::Session(wanted), size)) => {
            seat.input = input[size..].to_vec();
            match meet(seat, &wanted, &input[..size]) {
                Ok(Claim::Granted) => open(seat, &wanted),
                Ok(Claim::ToProve) => {}
                Err(error) => refuse(seat, error),
            }
        }
        Ok(startup::Split::Packet(request, _)) => {
            seat.complain(&report::broken(&request.unexpected()));
        }
        Ok(startup::Split::Need(_)) => unreachable!("the task waits for a whole packet"),
        Err(fault) => refuse(seat, report::broken(&fault)),
    }
    seat.hand_over();
}

/// Opens the session that a client has asked for by this packet, now that it is known to be who it says.
pub(super) fn open_proved(seat: &mut Seat, packet: &[u8]) {
    match startup::split(packet) {
        Ok(startup::Split::Packet(Request::Session(wanted), _)) => open(seat, &wanted),
        _ => unreachable!("the packet was read before"),
    }
}

/// Nobody goes on from here, so whatever it is ends the connection.
fn refuse(seat: &mut Seat, error: SqlError) {
    seat.complain(&error.with_severity(Severity::Fatal));
}

fn open(seat: &mut Seat, wanted: &startup::Session<'_>) {
    match enter(seat, wanted) {
        Ok(()) => {
            let changed = seat.session().rest();
            debug_assert!(changed.is_empty(), "the client has been told of all settings");
            seat.replies.ready_for_query(wire::backend::Status::Idle);
            seat.is_ready = true;
        }
        Err(error) => refuse(seat, error),
    }
}

/// The role that a client asks to be.
fn user_of<'w>(wanted: &startup::Session<'w>) -> Cow<'w, str> {
    clipped(wanted.parameter("user").unwrap_or_default())
}

/// The database that it asks for; the one of the role's name, if it says nothing.
fn database_of<'w>(wanted: &startup::Session<'w>) -> Cow<'w, str> {
    let database = wanted.parameter("database").filter(|database| !database.is_empty());
    database.map_or_else(|| user_of(wanted), clipped)
}

/// Looks at what a client asks for, and whether it is who it says.
fn meet(seat: &mut Seat, wanted: &startup::Session<'_>, packet: &[u8]) -> Result<Claim, SqlError> {
    let user = user_of(wanted);
    if user.is_empty() {
        return Err(refusal("no PostgreSQL user name specified in startup packet"));
    }
    let replication = wanted.parameter("replication");
    if replication.is_some_and(|value| !matches!(&*value, "false" | "off" | "0")) {
        return Err(SqlError::unsupported("replication connections are not supported"));
    }
    negotiate(seat, wanted);
    login::claim(seat, (&user, &database_of(wanted)), packet)
}

fn enter(seat: &mut Seat, wanted: &startup::Session<'_>) -> Result<(), SqlError> {
    let user = user_of(wanted);
    let database = database_of(wanted);
    if !seat.worker.shared.take_place() {
        return Err(report::too_many_clients());
    }
    let session = open_session(seat, wanted, &database, &user).and_then(|session| {
        if seat.worker.shared.only_for_superusers() && !session.is_superuser() {
            let message = "remaining connection slots are reserved for non-replication superuser \
                           connections";
            return Err(SqlError::new(SqlState::TOO_MANY_CONNECTIONS, message));
        }
        Ok(session)
    });
    let session = session.inspect_err(|_| seat.worker.shared.leave_place())?;
    seat.encoding = session.client_encoding();
    seat.replies.authentication_ok();
    seat.tell_settings(&session.reported());
    let (process, key) = (session.pid(), session.cancel_key().cast_unsigned());
    seat.replies.backend_key_data(process, key);
    seat.worker.shared.enter(process, key, session.role(), seat.worker.number);
    seat.worker.add_session(process, &seat.link, seat.peer);
    if seat.link.place.get().is_some() {
        seat.worker.shared.affinity.begin();
    }
    (seat.session, seat.process) = (Some(session), Some(process));
    Ok(())
}

fn open_session(
    seat: &Seat,
    wanted: &startup::Session<'_>,
    database: &str,
    user: &str,
) -> Result<Session, SqlError> {
    let fatal = |error: SqlError| error.with_severity(Severity::Fatal);
    let shared = &seat.worker.shared;
    let configured = shared.session_settings();
    let mut session = Session::open_with(shared.database.cluster(), database, user, &configured)
        .map_err(fatal)?;
    for (name, value) in wanted.parameters() {
        match name {
            "user" | "database" | "replication" => {}
            "options" => {
                for (name, value) in command_line_options(&value)? {
                    session.set_startup(&name, &value).map_err(fatal)?;
                }
            }
            _ if name.starts_with("_pq_.") => {}
            _ => session.set_startup(name, &value).map_err(fatal)?,
        }
    }
    Ok(session)
}

/// Tells a client that would speak a newer protocol, or knows extensions, what it gets.
fn negotiate(seat: &mut Seat, wanted: &startup::Session<'_>) {
    let unknown = || wanted.parameters().map(|(name, _)| name).filter(|n| n.starts_with("_pq_."));
    if wanted.minor > 0 || unknown().next().is_some() {
        seat.replies.negotiate_protocol_version(PROTOCOL_3_0, unknown());
    }
}

/// `28000`, and the connection ends.
pub(super) fn refusal(message: impl Into<String>) -> SqlError {
    SqlError::new(SqlState::INVALID_AUTHORIZATION_SPECIFICATION, message)
        .with_severity(Severity::Fatal)
}

/// Cuts a name to what counts of it, at a character's border.
fn clipped(name: Cow<'_, str>) -> Cow<'_, str> {
    match name.floor_char_boundary(NAME_BYTES_MAX) {
        end if end == name.len() => name,
        end => Cow::Owned(name[..end].to_owned()),
    }
}

/// Settings out of the startup parameter `options`: `-c name=value` and `--name=value`, words
/// separated by blanks, with a backslash before a blank that belongs to a word.
fn command_line_options(text: &str) -> Result<Vec<(String, String)>, SqlError> {
    let mut settings = Vec::new();
    let mut words = split_words(text).into_iter();
    while let Some(word) = words.next() {
        let assignment = match word.strip_prefix("--") {
            Some(long) => Some(long.to_owned()),
            None if word == "-c" => words.next(),
            None => word.strip_prefix("-c").map(str::to_owned),
        };
        let setting = assignment.as_deref().and_then(|a| a.split_once('='));
        let Some((name, value)) = setting else {
            let error = SqlError::new(
                SqlState::SYNTAX_ERROR,
                format!("invalid command-line argument for server process: {word}"),
            );
            return Err(error.with_severity(Severity::Fatal));
        };
        settings.push((name.replace('-', "_"), value.to_owned()));
    }
    Ok(settings)
}

fn split_words(text: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut characters = text.chars();
    while let Some(character) = characters.next() {
        match character {
            '\\' => word.get_or_insert_default().extend(characters.next()),
            c if c.is_ascii_whitespace() => words.extend(word.take()),
            c => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    words
}

#[cfg(test)]
mod tests {
    use super::command_line_options;

    #[test]
    fn options_of_the_startup_packet_are_settings() {
        let settings = command_line_options(
            r"-c search_path=a,\ b --statement-timeout=5s -cwork_mem=1MB  --x=",
        );
        let settings = settings.unwrap();
        let pairs: Vec<_> = settings.iter().map(|(n, v)| (n.as_str(), v.as_str())).collect();
        assert_eq!(
            pairs,
            [("search_path", "a, b"), ("statement_timeout", "5s"), ("work_mem", "1MB"), ("x", "")]
        );
        assert_eq!(command_line_options("-d 5").unwrap_err().sqlstate().as_str(), "42601");
    }
}
