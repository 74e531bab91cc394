//! A client of the protocol as plain as can be, so that thousands of them cost the driver little.

use std::io::{ErrorKind, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Instant;

/// What the server refused, or a fault of the socket.
#[derive(Debug)]
pub struct Refusal {
    /// `SQLSTATE`; empty for faults of the socket.
    pub code: String,
    /// In words.
    pub message: String,
}

impl From<std::io::Error> for Refusal {
    fn from(fault: std::io::Error) -> Refusal {
        Refusal { code: String::new(), message: fault.to_string() }
    }
}

impl From<Refusal> for String {
    fn from(refusal: Refusal) -> String {
        format!("{} {}", refusal.code, refusal.message).trim().to_owned()
    }
}

/// One connection.
pub struct Client {
    pub socket: UnixStream,
    /// Bytes that have come and belong to no complete message yet.
    inbox: Vec<u8>,
    /// When the running request was sent.
    pub sent: Instant,
}

impl Client {
    /// Connects and waits until the server takes queries.
    pub fn connect(socket: &Path) -> Result<Client, Refusal> {
        let socket = UnixStream::connect(socket)?;
        let mut client = Client { socket, inbox: Vec::new(), sent: Instant::now() };
        let mut packet = vec![0, 3, 0, 0];
        packet.extend_from_slice(b"user\0postgres\0database\0postgres\0\0");
        let len = packet.len() as u32 + 4;
        client.socket.write_all(&[&len.to_be_bytes()[..], &packet].concat())?;
        client.finish()?;
        Ok(client)
    }

    /// Runs a simple query to its end.
    pub fn query(&mut self, sql: &str) -> Result<(), Refusal> {
        self.send_query(sql)?;
        self.finish()
    }

    /// Sends a simple query.
    pub fn send_query(&mut self, sql: &str) -> Result<(), Refusal> {
        let mut bytes = Vec::new();
        message(&mut bytes, b'Q', &[sql.as_bytes(), b"\0"]);
        Ok(self.socket.write_all(&bytes)?)
    }

    /// Prepares the statement that [`Client::ask`] runs: one parameter, one integer.
    pub fn prepare(&mut self, sql: &str) -> Result<(), Refusal> {
        let mut bytes = Vec::new();
        message(&mut bytes, b'P', &[b"point\0", sql.as_bytes(), b"\0", &[0, 0]]);
        message(&mut bytes, b'S', &[]);
        self.socket.write_all(&bytes)?;
        self.finish()
    }

    /// Sends one execution of the prepared statement.
    pub fn ask(&mut self, key: u32) -> Result<(), Refusal> {
        let mut bytes = Vec::with_capacity(64);
        // One format code (binary), one parameter of four bytes; results as text.
        let one_int4 = [0, 1, 0, 1, 0, 1, 0, 0, 0, 4];
        message(&mut bytes, b'B', &[b"\0point\0", &one_int4, &key.to_be_bytes(), &[0, 0]]);
        message(&mut bytes, b'E', &[b"\0", &[0; 4]]);
        message(&mut bytes, b'S', &[]);
        self.sent = Instant::now();
        Ok(self.socket.write_all(&bytes)?)
    }

    /// Takes what has come; whether the server is ready for the next request. Reads once.
    pub fn take(&mut self) -> Result<bool, Refusal> {
        let mut chunk = [0; 8192];
        match self.socket.read(&mut chunk) {
            Ok(0) => Err(std::io::Error::from(ErrorKind::UnexpectedEof).into()),
            Ok(count) => {
                self.inbox.extend_from_slice(&chunk[..count]);
                self.digest()
            }
            Err(fault) if fault.kind() == ErrorKind::WouldBlock => Ok(false),
            Err(fault) => Err(fault.into()),
        }
    }

    /// Waits for the end of the running request.
    pub fn finish(&mut self) -> Result<(), Refusal> {
        while !self.take()? {}
        // Idle connections of the driver keep no buffer.
        self.inbox = Vec::new();
        Ok(())
    }

    fn digest(&mut self) -> Result<bool, Refusal> {
        let (mut at, mut ready) = (0, false);
        while let Some(head) = self.inbox.get(at..at + 5) {
            let len = u32::from_be_bytes([head[1], head[2], head[3], head[4]]) as usize;
            let Some(body) = self.inbox.get(at + 5..at + 1 + len) else { break };
            match head[0] {
                b'E' => return Err(refusal(body)),
                b'Z' => ready = true,
                _ => {}
            }
            at += 1 + len;
        }
        self.inbox.drain(..at);
        Ok(ready)
    }
}

fn message(into: &mut Vec<u8>, tag: u8, parts: &[&[u8]]) {
    let len: usize = 4 + parts.iter().map(|p| p.len()).sum::<usize>();
    into.push(tag);
    into.extend_from_slice(&(len as u32).to_be_bytes());
    parts.iter().for_each(|part| into.extend_from_slice(part));
}

fn refusal(body: &[u8]) -> Refusal {
    let field = |wanted: u8| {
        let mut fields = body.split(|b| *b == 0);
        let found = fields.find(|f| f.first() == Some(&wanted));
        found.map(|f| String::from_utf8_lossy(&f[1..]).into_owned()).unwrap_or_default()
    };
    Refusal { code: field(b'C'), message: field(b'M') }
}
