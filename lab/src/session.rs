//! A session of the lab's own with a server that may stop answering. The client library waits for ever, and so does its
//! closing: it works on a thread of its own, which is left behind with a server that is silent.

use crate::interrupt;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

/// What connecting and a first answer may take, each.
pub const ANSWER: Duration = Duration::from_secs(10);
/// What a statement may take that is work for a server: to empty a table, or a checkpoint.
pub const WORK: Duration = Duration::from_secs(120);

/// How often somebody who waits looks whether that is still wanted.
const LOOK: Duration = Duration::from_millis(50);

/// What a statement came to.
pub type Rows = Vec<postgres::SimpleQueryMessage>;

/// Why there is no answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// A sentence.
    pub why: String,
    /// Whether nothing at all was said.
    pub silent: bool,
}

impl From<Refusal> for String {
    fn from(refusal: Refusal) -> String {
        refusal.why
    }
}

/// An open session.
pub struct Session {
    /// For sentences.
    place: String,
    statements: Sender<String>,
    answers: Receiver<Result<Rows, String>>,
    /// It did not answer once: an answer that comes now would be to another statement.
    lost: Option<Refusal>,
}

impl Session {
    /// Connects.
    ///
    /// # Errors
    /// What the server said, or that it said nothing within [`ANSWER`].
    pub fn open(mut config: postgres::Config, place: &str) -> Result<Session, Refusal> {
        config.connect_timeout(ANSWER);
        let (statements, asked) = channel::<String>();
        let (tell, answers) = channel();
        std::thread::spawn(move || serve(&config, &asked, &tell));
        let mut session = Session { place: place.to_owned(), statements, answers, lost: None };
        // Who can't be reached is told by the library, a moment before.
        let late = || {
            let seconds = ANSWER.as_secs();
            format!("{place} accepted the connection but did not answer within {seconds} s")
        };
        session.answer(ANSWER + Duration::from_millis(500), late)?;
        Ok(session)
    }

    /// The answer to one statement.
    ///
    /// # Errors
    /// What the server said, or that it said nothing within that time.
    pub fn ask(&mut self, statement: &str, within: Duration) -> Result<Rows, Refusal> {
        if let Some(lost) = &self.lost {
            return Err(lost.clone());
        }
        // If nobody takes it, nobody answers, which is told below.
        let _ = self.statements.send(statement.to_owned());
        let late =
            format!("{} did not answer '{statement}' within {} s", self.place, within.as_secs());
        self.answer(within, || late)
    }

    fn answer(&mut self, within: Duration, late: impl FnOnce() -> String) -> Result<Rows, Refusal> {
        let give_up = Instant::now() + within;
        let said = |why| Refusal { why, silent: false };
        loop {
            let left = give_up.saturating_duration_since(Instant::now());
            match self.answers.recv_timeout(left.min(LOOK)) {
                Ok(answer) => return answer.map_err(said),
                Err(RecvTimeoutError::Timeout) if !left.is_zero() => {
                    interrupt::check().map_err(said)?;
                }
                Err(RecvTimeoutError::Timeout) => {
                    let refusal = Refusal { why: late(), silent: true };
                    self.lost = Some(refusal.clone());
                    return Err(refusal);
                }
                Err(RecvTimeoutError::Disconnected) => {
                    return Err(said("the session has ended".to_owned()));
                }
            }
        }
    }
}

/// Connects, and answers until nobody asks any more.
fn serve(config: &postgres::Config, asked: &Receiver<String>, tell: &Sender<Result<Rows, String>>) {
    let mut client = match config.connect(postgres::NoTls) {
        Ok(client) => client,
        // Where nobody listens any more, nobody needs to be told, here and below.
        Err(why) => return tell.send(Err(said(&why))).unwrap_or_default(),
    };
    let _ = tell.send(Ok(Vec::new()));
    for statement in asked {
        let answer = client.simple_query(&statement).map_err(|why| said(&why));
        if tell.send(answer).is_err() {
            break;
        }
    }
}

/// What a server said, without the client library's frame around it.
fn said(error: &postgres::Error) -> String {
    match error.as_db_error() {
        Some(refusal) => format!("{} ({})", refusal.message(), refusal.code().code()),
        None => match std::error::Error::source(error) {
            Some(reason) => format!("{error}: {reason}"),
            None => error.to_string(),
        },
    }
}

/// The first column of the first row, as a number.
pub fn number(rows: &Rows) -> Option<f64> {
    rows.iter().find_map(|message| match message {
        postgres::SimpleQueryMessage::Row(row) => row.get(0)?.parse().ok(),
        _ => None,
    })
}
