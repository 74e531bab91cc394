//! A connection that can be asked without waiting for the answer.

use std::io::{ErrorKind, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

use wire::backend::{Message, ReportFields};
use wire::frame::{self, Split};
use wire::frontend::Requests;
use wire::startup;

/// How long a look for an answer may last.
const LOOK: Duration = Duration::from_millis(5);
/// Longer than anything that a test waits for.
const PATIENCE: Duration = Duration::from_secs(60);

pub struct Client {
    stream: UnixStream,
    /// What came and was not looked at yet.
    input: Vec<u8>,
    /// Lines of the answer that is not complete yet.
    answer: Vec<String>,
    pub pid: i32,
}

impl Client {
    /// A session of `postgres` on the database of that name.
    pub fn connect(socket: &Path) -> Client {
        let stream = UnixStream::connect(socket).unwrap();
        let mut client = Client { stream, input: Vec::new(), answer: Vec::new(), pid: 0 };
        let mut packet = Vec::new();
        let parameters = [("user", "postgres"), ("database", "postgres")];
        startup::put_session(&mut packet, startup::PROTOCOL_3_0, parameters);
        client.stream.write_all(&packet).unwrap();
        client.wait();
        client
    }

    /// Sends a query.
    pub fn send(&mut self, sql: &str) {
        let mut requests = Requests::new();
        requests.query(sql);
        self.stream.write_all(requests.as_bytes()).unwrap();
    }

    /// A query and its answer: rows, tags, errors, a line each.
    pub fn query(&mut self, sql: &str) -> Vec<String> {
        self.send(sql);
        self.wait()
    }

    fn wait(&mut self) -> Vec<String> {
        self.look_for(PATIENCE).expect("the server answers in time")
    }

    /// The answer to the query that was sent, if it comes within a moment.
    pub fn look(&mut self) -> Option<Vec<String>> {
        self.look_for(LOOK)
    }

    fn look_for(&mut self, patience: Duration) -> Option<Vec<String>> {
        self.stream.set_read_timeout(Some(patience)).unwrap();
        loop {
            while let Split::Frame(frame) = frame::split_reply(&self.input).unwrap() {
                let message = Message::decode(frame).unwrap();
                if let Message::BackendKeyData { process, .. } = message {
                    self.pid = process;
                }
                let ready = matches!(message, Message::ReadyForQuery(_));
                self.answer.extend(shown(&message));
                let size = frame.size();
                self.input.drain(..size);
                if ready {
                    return Some(arranged(std::mem::take(&mut self.answer)));
                }
            }
            let mut piece = [0; 16 << 10];
            match self.stream.read(&mut piece) {
                Ok(0) => panic!("the server hung up after {:?}", self.answer),
                Ok(count) => self.input.extend_from_slice(&piece[..count]),
                Err(fault)
                    if matches!(fault.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) =>
                {
                    return None;
                }
                Err(fault) if fault.kind() == ErrorKind::Interrupted => {}
                Err(fault) => panic!("{fault}"),
            }
        }
    }
}

/// Where notices stand among the rows is nobody's concern, nor is a heading that no row followed.
fn arranged(answer: Vec<String>) -> Vec<String> {
    let failed = answer.iter().any(|line| line.starts_with("ERROR"));
    let answer = answer.into_iter().filter(|line| !failed || !line.starts_with("= "));
    let (mut notices, rest): (Vec<_>, Vec<_>) =
        answer.partition(|line| line.starts_with("WARNING") || line.starts_with("NOTICE"));
    notices.extend(rest);
    notices
}

/// What is compared of a message.
fn shown(message: &Message<'_>) -> Option<String> {
    Some(match message {
        Message::CommandComplete(tag) => (*tag).to_owned(),
        Message::DataRow(values) => {
            let text = |v: Option<&[u8]>| match v {
                Some(v) => String::from_utf8_lossy(v).into_owned(),
                None => "null".to_owned(),
            };
            format!("| {}", values.iter().map(text).collect::<Vec<_>>().join(" | "))
        }
        Message::RowDescription(fields) => {
            format!("= {}", fields.iter().map(|f| f.name).collect::<Vec<_>>().join(" | "))
        }
        Message::ErrorResponse(fields) | Message::NoticeResponse(fields) => report(fields),
        _ => return None,
    })
}

/// Severity, SQLSTATE, message, detail, hint and context; of the context not where a row lies. A deadlock's detail names processes and transactions by numbers of their
/// own, and begins with whoever looked for it.
fn report(fields: &ReportFields<'_>) -> String {
    let severity = fields.get(b'S').unwrap_or_default();
    let mut text = format!("{severity} {}: {}", fields.sqlstate(), fields.message());
    for (letter, name) in [(b'D', "DETAIL"), (b'H', "HINT")] {
        match fields.get(letter) {
            Some(part) if fields.sqlstate() == "40P01" && name == "DETAIL" => {
                text.push_str(&format!(" {name}: {}", sorted_and_masked(part)));
            }
            Some(part) => text.push_str(&format!(" {name}: {part}")),
            None => {}
        }
    }
    if let Some(context) = fields.get(b'W') {
        let lines: Vec<String> = context.lines().map(masked).collect();
        text.push_str(&format!(" CONTEXT: {}", lines.join("; ")));
    }
    text
}

/// Lines in their order, each number as `N`.
fn sorted_and_masked(detail: &str) -> String {
    let mut lines: Vec<String> = detail.lines().map(masked).collect();
    lines.sort_unstable();
    lines.join("; ")
}

fn masked(line: &str) -> String {
    let mut masked = String::new();
    for letter in line.chars() {
        match letter {
            '0'..='9' if masked.ends_with('N') => {}
            '0'..='9' => masked.push('N'),
            other => masked.push(other),
        }
    }
    masked
}
