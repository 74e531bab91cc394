//! The ceiling: a server that answers pgbench's built-in scripts with canned replies.
//!
//! It does everything a server must do on the wire (messages are split, decoded, and answered
//! with the bytes PostgreSQL 15 would send) and nothing else: no parser, no tables, no
//! transactions. What `pgbench` measures against it is what this machine, its sockets and
//! `pgbench` itself allow; Thalweg's throughput is reported as a share of it.
//!
//! ```text
//! canned [--listen ADDR:PORT] [--socket-dir DIR] [--workers N] [--sync DIR]
//! pgbench -h DIR -p PORT -n -S -M prepared -c 32 -T 5 postgres
//! ```
//!
//! With `--sync` each commit, of a transaction block or of an INSERT or UPDATE outside of one, writes a block of a
//! file of its connection's in that directory and has it synced before it is told: what a server would take that does
//! nothing else, each commit by itself.
//!
//! The form is the one Thalweg's server has: one current-thread tokio runtime per worker,
//! connections dealt out in turn, one read buffer per worker instead of one per connection, one
//! write per batch of messages. A read that does not fill the buffer clears tokio's readiness, so
//! a request costs one `read`, one `write` and its share of an `epoll_wait`. A worker that has one
//! client looks at its socket for a moment before it sleeps.

mod busy_poll;
mod sync;

use busy_poll::BusyPoll;
use std::cell::RefCell;
use std::fs::File;
use std::future::poll_fn;
use std::io::{self, ErrorKind, Read};
use std::mem::ManuallyDrop;
use std::net::{Ipv4Addr, SocketAddr};
use std::os::fd::{AsFd, AsRawFd, FromRawFd};
use std::os::unix::net::UnixListener as StdUnixListener;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicI32, Ordering};
use std::task::Poll;

use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt, ReadBuf};
use tokio::net::{TcpListener, TcpStream, UnixListener, UnixStream};
use tokio::runtime::Builder;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use wire::backend::{Field, Replies, Report, Severity, Status, Tag};
use wire::frontend::{Message, Target};
use wire::startup::{self, Request};
use wire::{Error, Format, frame};

/// Bytes that one read takes from a socket at most.
const READ_BYTES: usize = 64 << 10;

/// A socket on its way to the worker that will serve it.
enum Accepted {
    Unix(std::os::unix::net::UnixStream),
    Tcp(std::net::TcpStream),
}

struct Options {
    /// Where TCP is listened on; the unix socket's name carries the same port.
    listen: SocketAddr,
    socket_dir: String,
    workers: usize,
    /// Where commits are made durable, if they are.
    sync: Option<PathBuf>,
}

fn main() -> io::Result<()> {
    let options = options().unwrap_or_else(|fault| {
        eprintln!(
            "canned: {fault}\nusage: canned [--listen ADDR:PORT] [--socket-dir DIR] [--workers N] [--sync DIR]"
        );
        std::process::exit(2);
    });
    let workers: Vec<UnboundedSender<Accepted>> = (0..options.workers.max(1))
        .map(|n| start_worker(n, options.sync.clone()))
        .collect::<io::Result<_>>()?;
    Builder::new_current_thread().enable_io().build()?.block_on(listen(&options, &workers))
}

fn options() -> Result<Options, String> {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let listen = SocketAddr::from((Ipv4Addr::LOCALHOST, 5432));
    let mut options = Options { listen, socket_dir: "/tmp".into(), workers: cores, sync: None };
    let mut arguments = std::env::args().skip(1);
    while let Some(name) = arguments.next() {
        let value = arguments.next().ok_or_else(|| format!("{name} needs a value"))?;
        let wrong = || format!("{name}: cannot make sense of {value}");
        match &*name {
            "--listen" => options.listen = value.parse().map_err(|_| wrong())?,
            "--socket-dir" => options.socket_dir = value,
            "--sync" => options.sync = Some(value.into()),
            "--workers" => options.workers = value.parse().map_err(|_| wrong())?,
            _ => return Err(format!("unknown option {name}")),
        }
    }
    Ok(options)
}

/// Accepts on both kinds of socket and deals connections out to the workers in turn.
async fn listen(options: &Options, workers: &[UnboundedSender<Accepted>]) -> io::Result<()> {
    let path = Path::new(&options.socket_dir).join(format!(".s.PGSQL.{}", options.listen.port()));
    if let Err(fault) = std::fs::remove_file(&path)
        && fault.kind() != ErrorKind::NotFound
    {
        return Err(fault);
    }
    let unix = StdUnixListener::bind(&path)?;
    unix.set_nonblocking(true)?;
    let unix = UnixListener::from_std(unix)?;
    let tcp = TcpListener::bind(options.listen).await?;
    println!("canned replies on {} and {}", path.display(), options.listen);
    let mut turn = workers.iter().cycle();
    loop {
        let accepted = poll_fn(|context| {
            if let Poll::Ready(result) = unix.poll_accept(context) {
                return Poll::Ready(result.and_then(|(s, _)| s.into_std()).map(Accepted::Unix));
            }
            let result = std::task::ready!(tcp.poll_accept(context));
            Poll::Ready(result.and_then(|(s, _)| s.into_std()).map(Accepted::Tcp))
        });
        let accepted = accepted.await?;
        let worker = turn.next().expect("there is at least one worker");
        worker.send(accepted).map_err(|_| io::Error::other("a worker has ended"))?;
    }
}

fn start_worker(number: usize, sync: Option<PathBuf>) -> io::Result<UnboundedSender<Accepted>> {
    let (sender, receiver) = unbounded_channel();
    let runtime = Builder::new_current_thread().enable_io().build()?;
    std::thread::Builder::new()
        .name(format!("worker {number}"))
        .spawn(move || runtime.block_on(work(receiver, sync)))?;
    Ok(sender)
}

async fn work(mut connections: UnboundedReceiver<Accepted>, sync: Option<PathBuf>) {
    while let Some(accepted) = connections.recv().await {
        let connection = match sync.as_deref().map(sync::Synced::new).transpose() {
            Ok(synced) => Connection { synced: synced.map(Arc::new), ..Connection::default() },
            Err(fault) => {
                eprintln!("canned: {fault}");
                continue;
            }
        };
        tokio::spawn(async move {
            let result = match accepted {
                Accepted::Unix(socket) => match UnixStream::from_std(socket) {
                    Ok(stream) => connection.serve(stream).await,
                    Err(fault) => Err(fault),
                },
                Accepted::Tcp(socket) => {
                    match socket.set_nodelay(true).and_then(|()| TcpStream::from_std(socket)) {
                        Ok(stream) => connection.serve(stream).await,
                        Err(fault) => Err(fault),
                    }
                }
            };
            if let Err(fault) = result {
                eprintln!("canned: {fault}");
            }
        });
    }
}

thread_local! {
    /// What a read fills. Only the bytes of an incomplete message outlive the read, in the
    /// connection's own memory.
    static READ: RefCell<Box<[u8]>> = RefCell::new(vec![0; READ_BYTES].into_boxed_slice());
}

/// What the connection does next.
#[derive(PartialEq)]
enum Next {
    Read,
    Close,
}

#[derive(Default)]
struct Connection {
    started: bool,
    in_transaction: bool,
    /// Where its commits are made durable, if they are, and whether one of what is being answered has to be.
    synced: Option<Arc<sync::Synced>>,
    commits: bool,
    /// Prepared statements by name.
    statements: Vec<(String, Canned)>,
    /// What the unnamed portal runs.
    portal: Option<Canned>,
    /// The front of a message whose rest has not come yet.
    incomplete: Vec<u8>,
    out: Replies,
}

impl Connection {
    async fn serve<S>(mut self, mut stream: S) -> io::Result<()>
    where
        S: AsyncRead + AsyncWrite + AsFd + Unpin,
    {
        let mut busy_poll = BusyPoll::new();
        // What is there is read without the runtime, by the same descriptor: a second one would leave room for half as
        // many clients.
        let number = stream.as_fd().as_raw_fd();
        // SAFETY: `stream` keeps it open until this function ends, and what is not dropped does not close it.
        let mut socket = ManuallyDrop::new(unsafe { File::from_raw_fd(number) });
        loop {
            let next = if busy_poll.look(number) {
                // Who connects to this worker meanwhile is not to wait for this client's end.
                tokio::task::consume_budget().await;
                READ.with_borrow_mut(|buffer| {
                    let count = socket.read(buffer)?;
                    Ok::<Next, io::Error>(self.receive(&buffer[..count]))
                })?
            } else {
                self.read(&mut stream).await?
            };
            if std::mem::take(&mut self.commits)
                && let Some(synced) = &self.synced
            {
                let synced = Arc::clone(synced);
                tokio::task::spawn_blocking(move || synced.commit()).await??;
            }
            if !self.out.is_empty() {
                stream.write_all(self.out.as_bytes()).await?;
                self.out.clear();
            }
            if next == Next::Close {
                return Ok(());
            }
        }
    }

    /// Waits for what comes next, and answers it.
    async fn read<S: AsyncRead + Unpin>(&mut self, stream: &mut S) -> io::Result<Next> {
        poll_fn(|context| {
            READ.with_borrow_mut(|buffer| {
                let mut into = ReadBuf::new(buffer);
                std::task::ready!(Pin::new(&mut *stream).poll_read(context, &mut into))?;
                Poll::Ready(Ok(self.receive(into.filled())))
            })
        })
        .await
    }

    /// Answers what has come; no bytes at all mean that the client has hung up.
    fn receive(&mut self, bytes: &[u8]) -> Next {
        if bytes.is_empty() {
            return Next::Close;
        }
        if self.incomplete.is_empty() {
            return self.answer_all(bytes);
        }
        let mut whole = std::mem::take(&mut self.incomplete);
        whole.extend_from_slice(bytes);
        self.answer_all(&whole)
    }

    fn answer_all(&mut self, mut bytes: &[u8]) -> Next {
        loop {
            let step = if self.started { self.answer_one(bytes) } else { self.start(bytes) };
            match step {
                Ok(Some((size, Next::Read))) => bytes = &bytes[size..],
                Ok(Some((_, Next::Close))) => return Next::Close,
                Ok(None) => {
                    self.incomplete.extend_from_slice(bytes);
                    return Next::Read;
                }
                Err(error) => {
                    let message = error.to_string();
                    self.out.report(&Report::new(Severity::Fatal, error.sqlstate(), &message));
                    return Next::Close;
                }
            }
        }
    }

    fn start(&mut self, bytes: &[u8]) -> Result<Option<(usize, Next)>, Error> {
        static PROCESS: AtomicI32 = AtomicI32::new(1);
        let startup::Split::Packet(request, size) = startup::split(bytes)? else {
            return Ok(None);
        };
        match request {
            Request::Cancel { .. } => return Ok(Some((size, Next::Close))),
            Request::Ssl | Request::GssEnc => self.out.encoded(b"N"),
            Request::Session(_) => {
                self.out.authentication_ok();
                for (name, value) in PARAMETERS {
                    self.out.parameter_status(name, value);
                }
                // Relaxed: the number only has to differ from the others.
                self.out.backend_key_data(PROCESS.fetch_add(1, Ordering::Relaxed), 0);
                self.out.ready_for_query(Status::Idle);
                self.started = true;
            }
        }
        Ok(Some((size, Next::Read)))
    }

    fn answer_one(&mut self, bytes: &[u8]) -> Result<Option<(usize, Next)>, Error> {
        let frame::Split::Frame(frame) = frame::split(bytes)? else { return Ok(None) };
        match Message::decode(frame)? {
            Message::Query(text) => {
                let canned = Canned::of(text);
                canned.describe(&mut self.out);
                self.run(canned);
                self.ready();
            }
            Message::Parse(parse) => {
                self.statements.retain(|(name, _)| name != parse.name);
                self.statements.push((parse.name.to_owned(), Canned::of(parse.query)));
                self.out.parse_complete();
            }
            Message::Bind(bind) => {
                let statement = self.statements.iter().find(|(name, _)| name == bind.statement);
                self.portal = statement.map(|(_, canned)| *canned);
                self.out.bind_complete();
            }
            Message::Describe(Target::Portal(_)) => match self.portal {
                Some(canned) if canned.returns_rows() => canned.describe(&mut self.out),
                _ => self.out.no_data(),
            },
            Message::Execute(_) => self.run(self.portal.unwrap_or(Canned::Other)),
            Message::Sync => self.ready(),
            Message::Terminate => return Ok(Some((frame.size(), Next::Close))),
            // pgbench sends nothing else.
            _ => return Err(Error::UnknownMessageType(frame.tag)),
        }
        Ok(Some((frame.size(), Next::Read)))
    }

    fn ready(&mut self) {
        self.out.ready_for_query(if self.in_transaction {
            Status::InTransaction
        } else {
            Status::Idle
        });
    }

    fn run(&mut self, canned: Canned) {
        match canned {
            Canned::Begin => self.in_transaction = true,
            Canned::End => {
                self.in_transaction = false;
                self.commits = true;
            }
            Canned::Update | Canned::Insert => self.commits |= !self.in_transaction,
            _ => {}
        }
        canned.run(&mut self.out);
    }
}

/// What a server tells every new session, in PostgreSQL 15's words.
const PARAMETERS: [(&str, &str); 13] = [
    ("application_name", "pgbench"),
    ("client_encoding", "UTF8"),
    ("DateStyle", "ISO, MDY"),
    ("default_transaction_read_only", "off"),
    ("in_hot_standby", "off"),
    ("integer_datetimes", "on"),
    ("IntervalStyle", "postgres"),
    ("is_superuser", "on"),
    ("server_encoding", "UTF8"),
    ("server_version", "15.0 (canned)"),
    ("session_authorization", "postgres"),
    ("standard_conforming_strings", "on"),
    ("TimeZone", "Etc/UTC"),
];

/// The statements that pgbench's built-in scripts, and its start, consist of.
#[derive(Clone, Copy)]
enum Canned {
    Begin,
    Select,
    Update,
    Insert,
    End,
    CountBranches,
    Partitions,
    Other,
}

const fn field(name: &str, type_oid: u32, type_size: i16) -> Field<'_> {
    let format = Format::Text;
    Field { name, table: 0, column: 0, type_oid, type_size, type_modifier: -1, format }
}

impl Canned {
    fn of(query: &str) -> Self {
        const STARTS: [(&str, Canned); 8] = [
            ("SELECT abalance", Canned::Select),
            ("UPDATE", Canned::Update),
            ("INSERT", Canned::Insert),
            ("insert", Canned::Insert),
            ("BEGIN", Canned::Begin),
            ("END", Canned::End),
            ("select count(*)", Canned::CountBranches),
            ("select o.n", Canned::Partitions),
        ];
        let found = STARTS.iter().find(|(start, _)| query.starts_with(start));
        found.map_or(Canned::Other, |(_, canned)| *canned)
    }

    fn returns_rows(self) -> bool {
        matches!(self, Canned::Select | Canned::CountBranches | Canned::Partitions)
    }

    fn describe(self, out: &mut Replies) {
        match self {
            Canned::Select => out.row_description([Field {
                table: 16_400,
                column: 3,
                ..field("abalance", 23, 4)
            }]),
            Canned::CountBranches => out.row_description([field("count", 20, 8)]),
            Canned::Partitions => out.row_description([
                field("n", 23, 4),
                field("partstrat", 18, 1),
                field("count", 20, 8),
            ]),
            _ => {}
        }
    }

    fn run(self, out: &mut Replies) {
        let row: &[Option<&[u8]>] = match self {
            Canned::Select => &[Some(b"0")],
            Canned::CountBranches => &[Some(b"10")],
            Canned::Partitions => &[Some(b"2"), None, Some(b"0")],
            _ => &[],
        };
        if !row.is_empty() {
            let mut data = out.data_row();
            for value in row {
                match value {
                    Some(bytes) => data.value(bytes),
                    None => data.null(),
                }
            }
            data.finish().expect("a canned row is short");
        }
        out.command_complete(match self {
            Canned::Begin => Tag::Done("BEGIN"),
            Canned::End => Tag::Done("COMMIT"),
            Canned::Update => Tag::Rows("UPDATE", 1),
            Canned::Insert => Tag::Insert(1),
            Canned::Other => Tag::Done("SET"),
            Canned::Select | Canned::CountBranches | Canned::Partitions => Tag::Rows("SELECT", 1),
        });
    }
}
