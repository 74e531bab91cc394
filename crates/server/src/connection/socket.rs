//! The two kinds of socket, as one; in two halves, because the task reads and its worker writes.
//!
//! The runtime is asked to tell of what comes, and of room for more only while there is none. A runtime's own
//! streams watch for both from the start; then the system wakes a worker each time that a client takes a
//! reply, to tell it of room that nobody waits for.

use std::cell::RefCell;
use std::io::{self, ErrorKind};
use std::net::{IpAddr, SocketAddr};
use std::os::fd::{AsRawFd, RawFd};
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use rustls::ServerConnection;
use socket2::Socket;
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;
use tokio::time::Sleep;

use super::tls::{self, Tls};
use crate::affinity::Household;
use crate::encryption;

/// A socket that was accepted and not yet given to a worker.
pub(crate) enum Accepted {
    Unix(std::os::unix::net::UnixStream),
    Tcp(std::net::TcpStream, SocketAddr),
}

impl Accepted {
    /// Hangs up on a client that nobody is to serve, with these last words.
    pub(crate) fn turn_away(self, words: &[u8]) {
        let socket = match self {
            Accepted::Unix(socket) => Socket::from(socket),
            Accepted::Tcp(socket, _) => Socket::from(socket),
        };
        // Nothing was sent yet, so there is room. One that is gone already needs no words.
        let _ = socket.send_with_flags(words, libc::MSG_NOSIGNAL | libc::MSG_DONTWAIT);
    }
}

/// Who is at the other end, as far as the system knows.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Peer {
    /// A process on this machine, run by this user.
    Local { uid: u32, process: i32 },
    /// Somebody on the network.
    Remote(SocketAddr),
}

impl std::fmt::Display for Peer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Peer::Local { process, .. } => write!(f, "process {process}"),
            Peer::Remote(address) => write!(f, "{address}"),
        }
    }
}

/// What a client sends.
pub(crate) struct Reader {
    socket: AsyncFd<Arc<Socket>>,
    /// The writer's, too.
    tls: Option<tls::Shared>,
}

/// What a client is sent.
pub(crate) struct Writer {
    socket: Arc<Socket>,
    /// Tells of room; only while there was none.
    room: Option<AsyncFd<Arc<Socket>>>,
    /// When to look again, where the system has no number left to tell of room under.
    later: Option<Pin<Box<Sleep>>>,
    /// The reader's, too.
    tls: Option<tls::Shared>,
}

/// Most bytes that one read takes.
pub(crate) const READ_BYTES: usize = 16 << 10;

/// How soon a full socket is looked at again that the system can't tell of.
const LOOK_AGAIN: Duration = Duration::from_millis(10);

/// Registers an accepted socket with this thread's runtime.
pub(crate) fn open(accepted: Accepted) -> io::Result<(Reader, Writer, Peer)> {
    let (socket, peer) = match accepted {
        Accepted::Unix(socket) => {
            let peer = local_peer(&socket)?;
            (Socket::from(socket), peer)
        }
        Accepted::Tcp(socket, address) => {
            let socket = Socket::from(socket);
            socket.set_tcp_nodelay(true)?;
            // Lets the system notice, in hours, that a client's machine is gone.
            socket.set_keepalive(true)?;
            (socket, Peer::Remote(address))
        }
    };
    socket.set_nonblocking(true)?;
    let (reader, writer) = halves(Arc::new(socket))?;
    Ok((reader, writer, peer))
}

/// Registers a socket with this thread's runtime.
pub(super) fn halves(socket: Arc<Socket>) -> io::Result<(Reader, Writer)> {
    let watched = watch(Arc::clone(&socket), Interest::READABLE)?;
    Ok((
        Reader { socket: watched, tls: None },
        Writer { socket, room: None, later: None, tls: None },
    ))
}

/// Encrypts what goes through both halves from here on; `before` has come already.
pub(super) fn encrypt(
    (reader, writer): (&mut Reader, &mut Writer),
    connection: ServerConnection,
    before: &[u8],
) -> io::Result<()> {
    let mut tls = Tls::new(connection);
    let received = tls.receive_from(before);
    let shared = Rc::new(RefCell::new(tls));
    (reader.tls, writer.tls) = (Some(Rc::clone(&shared)), Some(shared));
    received
}

impl Peer {
    /// Whose questions may come together with this client's; `None` for a client on another machine.
    pub(crate) fn household(self) -> Option<Household> {
        match self {
            Peer::Local { process, .. } => Some(Household::Process(process)),
            Peer::Remote(address) => address.ip().is_loopback().then_some(Household::Loopback),
        }
    }
}

impl Reader {
    /// Whether what comes is encrypted.
    pub(super) fn is_encrypted(&self) -> bool {
        self.tls.is_some()
    }

    /// Goes on with agreeing on keys; whether the client means this protocol for certain.
    pub(super) fn poll_agree(
        &mut self,
        writer: &mut Writer,
        context: &mut Context<'_>,
    ) -> Poll<io::Result<bool>> {
        let tls = Rc::clone(self.tls.as_ref().expect("what is agreed on is for encryption"));
        loop {
            ready!(writer.poll_send_encrypted(context))?;
            if !tls.borrow().connection().is_handshaking() {
                return Poll::Ready(Ok(encryption::means_us(tls.borrow().connection())));
            }
            if ready!(self.poll_receive(&tls, context))? == 0 {
                return Poll::Ready(Err(ErrorKind::UnexpectedEof.into()));
            }
        }
    }

    /// Reads and decrypts what has come; 0 where the client has hung up.
    fn poll_receive(
        &mut self,
        tls: &tls::Shared,
        context: &mut Context<'_>,
    ) -> Poll<io::Result<usize>> {
        loop {
            let mut readiness = ready!(self.socket.poll_read_ready(context))?;
            match tls.borrow_mut().receive(self.socket.get_ref()) {
                Err(fault) if fault.kind() == ErrorKind::WouldBlock => readiness.clear_ready(),
                received => return Poll::Ready(received),
            }
        }
    }

    /// [`Reader::poll_read`], of what is encrypted.
    fn poll_decrypted(
        &mut self,
        context: &mut Context<'_>,
        into: &mut Vec<u8>,
    ) -> Poll<io::Result<usize>> {
        let tls = Rc::clone(self.tls.as_ref().expect("it is encrypted"));
        loop {
            match tls.borrow_mut().take(into) {
                Err(fault) if fault.kind() == ErrorKind::WouldBlock => {}
                taken => return Poll::Ready(taken),
            }
            if ready!(self.poll_receive(&tls, context))? == 0 {
                return Poll::Ready(Ok(0));
            }
        }
    }

    /// The socket, of which this thread's runtime is told no more.
    pub(super) fn into_socket(self) -> Arc<Socket> {
        self.socket.into_inner()
    }

    /// Appends what has come to `into`, using its spare room. Zero bytes: the client has hung up.
    ///
    /// A read that leaves room free has taken all there was, so the next one waits for the socket without
    /// asking it once in vain.
    pub(crate) fn poll_read(
        &mut self,
        context: &mut Context<'_>,
        into: &mut Vec<u8>,
    ) -> Poll<io::Result<usize>> {
        if self.tls.is_some() {
            return self.poll_decrypted(context, into);
        }
        let room = into.spare_capacity_mut();
        let most = room.len();
        debug_assert!(most > 0, "a read without room looks like a client that left");
        let count = loop {
            let mut readiness = ready!(self.socket.poll_read_ready(context))?;
            match self.socket.get_ref().recv(room) {
                Ok(count) => {
                    if 0 < count && count < most {
                        readiness.clear_ready();
                    }
                    break count;
                }
                Err(fault) if fault.kind() == ErrorKind::WouldBlock => readiness.clear_ready(),
                Err(fault) if fault.kind() == ErrorKind::Interrupted => {}
                Err(fault) => return Poll::Ready(Err(fault)),
            }
        };
        let len = into.len() + count;
        // SAFETY: `count` bytes behind the old end were filled by the read.
        unsafe { into.set_len(len) };
        Poll::Ready(Ok(count))
    }
}

impl Writer {
    pub(crate) fn descriptor(&self) -> RawFd {
        self.socket.as_raw_fd()
    }

    /// The address of this machine that the client has come to, over TCP.
    pub(crate) fn own_address(&self) -> Option<IpAddr> {
        self.socket.local_addr().ok()?.as_socket().map(|address| address.ip())
    }

    /// Whether what is written is encrypted.
    pub(crate) fn is_encrypted(&self) -> bool {
        self.tls.is_some()
    }

    /// Writes as much as there is room for; none: [`ErrorKind::WouldBlock`], and the next time the same bytes come first.
    pub(crate) fn try_write(&self, bytes: &[u8]) -> io::Result<usize> {
        match &self.tls {
            None => send(&self.socket, bytes),
            Some(tls) => tls.borrow_mut().write(bytes, &self.socket),
        }
    }

    /// Sends what encryption itself has to say.
    fn poll_send_encrypted(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.poll_until_room(context, |writer| match &writer.tls {
            None => Ok(()),
            Some(tls) => tls.borrow_mut().send(&writer.socket),
        })
    }

    /// Like [`Writer::try_write`], but has the task woken when there is room.
    pub(crate) fn poll_write(
        &mut self,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.poll_until_room(context, |writer| writer.try_write(bytes))
    }

    /// Does what finds no room at times, and has the task woken when there is some.
    fn poll_until_room<T>(
        &mut self,
        context: &mut Context<'_>,
        write: impl Fn(&Writer) -> io::Result<T>,
    ) -> Poll<io::Result<T>> {
        loop {
            match write(self) {
                Err(fault) if fault.kind() == ErrorKind::WouldBlock => {}
                written => {
                    (self.room, self.later) = (None, None);
                    return Poll::Ready(written);
                }
            }
            if let Some(later) = &mut self.later {
                ready!(later.as_mut().poll(context));
                self.later = None;
                continue;
            }
            let room = match &mut self.room {
                Some(room) => room,
                // Under a number of its own: one can be watched once only.
                none => match self.socket.try_clone() {
                    Ok(again) => none.insert(watch(Arc::new(again), Interest::WRITABLE)?),
                    Err(fault) if is_exhausted(&fault) => {
                        self.later = Some(Box::pin(tokio::time::sleep(LOOK_AGAIN)));
                        continue;
                    }
                    Err(fault) => return Poll::Ready(Err(fault)),
                },
            };
            ready!(room.poll_write_ready(context))?.clear_ready();
        }
    }

    /// Tells the client that nothing more will come.
    pub(crate) fn shutdown(&self) -> io::Result<()> {
        if let Some(tls) = &self.tls {
            tls.borrow_mut().close(&self.socket);
        }
        self.socket.shutdown(std::net::Shutdown::Write)
    }
}

/// Sends as much as there is room for; none: [`ErrorKind::WouldBlock`].
pub(super) fn send(socket: &Socket, bytes: &[u8]) -> io::Result<usize> {
    loop {
        match socket.send_with_flags(bytes, libc::MSG_NOSIGNAL) {
            Err(fault) if fault.kind() == ErrorKind::Interrupted => {}
            sent => return sent,
        }
    }
}

/// Whether the process, or the system, has no descriptor left.
fn is_exhausted(fault: &io::Error) -> bool {
    matches!(fault.raw_os_error(), Some(libc::EMFILE | libc::ENFILE))
}

/// Has this thread's runtime tell of `interest`.
fn watch(socket: Arc<Socket>, interest: Interest) -> io::Result<AsyncFd<Arc<Socket>>> {
    // SAFETY: a `Socket` is closed when its last owner is dropped, of which the result is one, and nobody takes
    // the descriptor out of it.
    let watched = unsafe { AsyncFd::register_with_interest(socket, interest) };
    Ok(watched?)
}

/// The process at the other end, and who runs it.
fn local_peer(socket: &std::os::unix::net::UnixStream) -> io::Result<Peer> {
    let mut who = libc::ucred { pid: 0, uid: 0, gid: 0 };
    let mut length = size_of::<libc::ucred>() as libc::socklen_t;
    // SAFETY: the descriptor is open as long as `socket` is borrowed, and the option's value is of the type
    // and the size that are passed.
    let result = unsafe {
        libc::getsockopt(
            socket.as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_PEERCRED,
            (&raw mut who).cast(),
            &raw mut length,
        )
    };
    if result != 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(Peer::Local { uid: who.uid, process: who.pid })
}
