//! A client that shows what it is told as short lines.

use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustls::{ClientConfig, ClientConnection, StreamOwned};
use wire::backend::{Authentication, Message, Status};
use wire::frame::{self, Split};
use wire::frontend::{Execute, Requests, Target};
use wire::startup;

trait Stream: Read + Write + Send {
    fn wait_for(&self, limit: Duration);
    fn say_no_more(&self) -> std::io::Result<()>;
}

impl Stream for UnixStream {
    fn wait_for(&self, limit: Duration) {
        self.set_read_timeout(Some(limit)).unwrap();
    }

    fn say_no_more(&self) -> std::io::Result<()> {
        self.shutdown(Shutdown::Write)
    }
}

impl Stream for TcpStream {
    fn wait_for(&self, limit: Duration) {
        self.set_read_timeout(Some(limit)).unwrap();
    }

    fn say_no_more(&self) -> std::io::Result<()> {
        self.shutdown(Shutdown::Write)
    }
}

/// What a client says and hears encrypted.
type Encrypted = StreamOwned<ClientConnection, TcpStream>;

impl Stream for Encrypted {
    fn wait_for(&self, limit: Duration) {
        self.sock.wait_for(limit);
    }

    fn say_no_more(&self) -> std::io::Result<()> {
        self.sock.say_no_more()
    }
}

pub struct Client {
    stream: Box<dyn Stream>,
    /// What came and was not looked at yet.
    input: Vec<u8>,
    /// From BackendKeyData.
    pub process: i32,
    pub key: u32,
    /// The last error's or notice's; empty if it had none.
    pub hint: String,
}

/// Longer than anything that a test waits for.
const PATIENCE: Duration = Duration::from_secs(60);

impl Client {
    pub fn unix(path: &Path) -> Client {
        let stream = UnixStream::connect(path).unwrap();
        Client::over(Box::new(stream))
    }

    pub fn tcp(address: SocketAddr) -> Client {
        let stream = TcpStream::connect(address).unwrap();
        Client::over(Box::new(stream))
    }

    /// A client that encrypts what it says through `stream`, to a server whose certificate it knows.
    pub fn encrypted(stream: TcpStream, config: &Arc<ClientConfig>) -> Client {
        let name = "localhost".try_into().unwrap();
        let connection = ClientConnection::new(Arc::clone(config), name).unwrap();
        Client::over(Box::new(StreamOwned::new(connection, stream)))
    }

    fn over(stream: Box<dyn Stream>) -> Client {
        stream.wait_for(PATIENCE);
        Client { stream, input: Vec::new(), process: 0, key: 0, hint: String::new() }
    }

    pub fn send(&mut self, bytes: &[u8]) {
        self.stream.write_all(bytes).unwrap();
    }

    pub fn try_send(&mut self, bytes: &[u8]) -> std::io::Result<()> {
        self.stream.write_all(bytes)
    }

    pub fn request(&mut self, write: impl FnOnce(&mut Requests)) {
        let mut requests = Requests::new();
        write(&mut requests);
        self.send(requests.as_bytes());
    }

    /// Starts a session and expects it to be granted.
    pub fn start(&mut self, user: &str) {
        let told = self.try_start(&[("user", user), ("database", "postgres")]);
        assert!(told.ends_with("Z I"), "{told}");
    }

    /// Asks for a session and tells what came of it.
    pub fn try_start(&mut self, parameters: &[(&str, &str)]) -> String {
        let mut packet = Vec::new();
        startup::put_session(&mut packet, startup::PROTOCOL_3_0, parameters.iter().copied());
        self.send(&packet);
        self.until_ready()
    }

    /// A simple query and all that is answered.
    pub fn query(&mut self, text: &str) -> String {
        self.request(|r| r.query(text));
        self.until_ready()
    }

    /// Everything up to ReadyForQuery, or up to the end where there is none.
    pub fn until_ready(&mut self) -> String {
        let mut lines = Vec::new();
        while let Some(line) = self.next() {
            let ready = line.starts_with("Z ");
            lines.push(line);
            if ready {
                break;
            }
        }
        lines.join("\n")
    }

    /// The next message; none where the server has hung up.
    pub fn next(&mut self) -> Option<String> {
        loop {
            if let Some(line) = self.in_hand() {
                return Some(line);
            }
            if self.receive() == 0 {
                assert!(self.input.is_empty(), "the server hung up within a message");
                return None;
            }
        }
    }

    /// The messages that are there after reading once.
    pub fn one_read(&mut self) -> Vec<String> {
        assert!(self.input.is_empty(), "something has come that nobody looked at");
        assert!(self.receive() > 0, "the server has hung up");
        std::iter::from_fn(|| self.in_hand()).collect()
    }

    /// The first message of what has come, if it is whole.
    fn in_hand(&mut self) -> Option<String> {
        let Split::Frame(frame) = frame::split_reply(&self.input).unwrap() else { return None };
        let message = Message::decode(frame).unwrap();
        if let Message::BackendKeyData { process, key } = message {
            (self.process, self.key) = (process, key);
        }
        if let Message::ErrorResponse(f) | Message::NoticeResponse(f) = &message {
            self.hint = f.get(b'H').unwrap_or_default().to_owned();
        }
        let line = show(&message);
        let size = frame.size();
        self.input.drain(..size);
        Some(line)
    }

    /// Waits for what comes and reads once; 0 where the server has hung up.
    fn receive(&mut self) -> usize {
        let mut piece = [0; 16 << 10];
        loop {
            match self.stream.read(&mut piece) {
                Ok(count) => {
                    self.input.extend_from_slice(&piece[..count]);
                    return count;
                }
                Err(fault)
                    if matches!(
                        fault.kind(),
                        std::io::ErrorKind::ConnectionReset | std::io::ErrorKind::UnexpectedEof
                    ) =>
                {
                    self.input.clear();
                    return 0;
                }
                // A read with a time limit that was stopped and went on ends so.
                Err(fault) if fault.kind() == std::io::ErrorKind::Interrupted => {}
                Err(fault) => panic!("{fault}"),
            }
        }
    }

    /// What the server asks for next to know who this is, as it stands in the message behind the code; or what it says
    /// instead.
    pub fn next_request(&mut self) -> Result<(u32, Vec<u8>), String> {
        loop {
            if let Split::Frame(frame) = frame::split_reply(&self.input).unwrap() {
                if frame.tag != b'R' {
                    return Err(self.until_ready());
                }
                let (code, said) = frame.body.split_first_chunk().unwrap();
                let request = (u32::from_be_bytes(*code), said.to_vec());
                let size = frame.size();
                self.input.drain(..size);
                return Ok(request);
            }
            if self.receive() == 0 {
                return Err("hung up".to_owned());
            }
        }
    }

    /// One byte that is no message, as the answer to a request for encryption.
    pub fn next_byte(&mut self) -> u8 {
        let mut byte = [0];
        self.stream.read_exact(&mut byte).unwrap();
        byte[0]
    }

    /// Whether nothing comes for so long.
    pub fn is_silent(&mut self, long: Duration) -> bool {
        self.stream.wait_for(long);
        let mut piece = [0; 16 << 10];
        let read = self.stream.read(&mut piece);
        self.stream.wait_for(PATIENCE);
        match read {
            Err(fault) if fault.kind() == std::io::ErrorKind::WouldBlock => true,
            Err(fault) => panic!("{fault}"),
            Ok(count) => {
                self.input.extend_from_slice(&piece[..count]);
                false
            }
        }
    }

    /// Says no more, and tells all that comes until the server hangs up, which it does in time.
    pub fn last_words(&mut self) -> Vec<String> {
        // The server may have hung up before.
        let _ = self.stream.say_no_more();
        let begun = Instant::now();
        let mut lines = Vec::new();
        while let Some(line) = self.next() {
            assert!(begun.elapsed() < PATIENCE, "it never hangs up: {line}");
            lines.push(line);
        }
        lines
    }

    /// Expects the server to hang up without another word.
    pub fn expect_end(&mut self) {
        assert_eq!(self.next(), None);
    }
}

/// Prepares, binds, describes and executes the unnamed statement; no Sync yet.
pub fn extended(requests: &mut Requests, query: &str, parameters: &[Option<&[u8]>], max: u32) {
    requests.parse("", query, &[]);
    requests.bind("", "", &[], parameters, &[]);
    requests.describe(Target::Portal(""));
    requests.execute(Execute { portal: "", rows_max: max });
}

/// A message in short: its letter and what is in it.
fn show(message: &Message<'_>) -> String {
    match *message {
        Message::Authentication(Authentication::Ok) => "R".into(),
        Message::BackendKeyData { .. } => "K".into(),
        Message::BindComplete => "2".into(),
        Message::CloseComplete => "3".into(),
        Message::CommandComplete(tag) => format!("C {tag}"),
        Message::CopyData(data) => format!("d {}", String::from_utf8_lossy(data).trim_end()),
        Message::CopyDone => "c".into(),
        Message::CopyInResponse(formats) => format!("G {}", formats.columns.count()),
        Message::CopyOutResponse(formats) => format!("H {}", formats.columns.count()),
        Message::DataRow(values) => {
            let values: Vec<_> = (values.iter())
                .map(|v| v.map_or("null".into(), |v| String::from_utf8_lossy(v).into_owned()))
                .collect();
            format!("D {}", values.join(","))
        }
        Message::EmptyQueryResponse => "I".into(),
        Message::ErrorResponse(f) | Message::NoticeResponse(f) => {
            let routine = f.get(b'R').map(|routine| format!(" [{routine}]")).unwrap_or_default();
            format!("{} {} {}{routine}", f.get(b'S').unwrap(), f.sqlstate(), f.message())
        }
        Message::NegotiateProtocolVersion { version, options } => {
            format!("v {version:x} {:?}", options.iter().collect::<Vec<_>>())
        }
        Message::NoData => "n".into(),
        Message::NotificationResponse { process, channel, payload } => {
            format!("A {process} {channel} {payload}")
        }
        Message::ParameterDescription(types) => format!("t {}", types.iter().count()),
        Message::ParameterStatus { name, value } => format!("S {name}={value}"),
        Message::ParseComplete => "1".into(),
        Message::PortalSuspended => "s".into(),
        Message::ReadyForQuery(status) => match status {
            Status::Idle => "Z I".into(),
            Status::InTransaction => "Z T".into(),
            Status::Failed => "Z E".into(),
        },
        Message::RowDescription(fields) => {
            format!("T {}", fields.iter().map(|f| f.name).collect::<Vec<_>>().join(","))
        }
        ref other => format!("{other:?}"),
    }
}
