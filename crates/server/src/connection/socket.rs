//! The two kinds of socket, as one; each in two halves, because the task reads and its worker writes.

use std::io;
use std::net::SocketAddr;
use std::os::fd::{AsRawFd, RawFd};
use std::pin::Pin;
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpStream, UnixStream, tcp, unix};

/// A socket that was accepted and not yet given to a worker.
pub(crate) enum Accepted {
    Unix(std::os::unix::net::UnixStream),
    Tcp(std::net::TcpStream, SocketAddr),
}

/// Who is at the other end, as far as the system knows.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Peer {
    /// A process on this machine, run by this user.
    Local { uid: u32 },
    /// Somebody on the network.
    Remote(SocketAddr),
}

/// What a client sends.
pub(crate) enum Reader {
    Unix(unix::OwnedReadHalf),
    Tcp(tcp::OwnedReadHalf),
}

/// What a client is sent. Dropping it tells the client that nothing more will come.
pub(crate) enum Writer {
    Unix(unix::OwnedWriteHalf),
    Tcp(tcp::OwnedWriteHalf),
}

/// Most bytes that one read takes.
pub(crate) const READ_BYTES: usize = 16 << 10;

/// Registers an accepted socket with this thread's runtime.
pub(crate) fn open(accepted: Accepted) -> io::Result<(Reader, Writer, Peer)> {
    match accepted {
        Accepted::Unix(socket) => {
            let stream = UnixStream::from_std(socket)?;
            let uid = stream.peer_cred()?.uid();
            let (reader, writer) = stream.into_split();
            Ok((Reader::Unix(reader), Writer::Unix(writer), Peer::Local { uid }))
        }
        Accepted::Tcp(socket, address) => {
            socket.set_nodelay(true)?;
            keep_alive(&socket)?;
            let (reader, writer) = TcpStream::from_std(socket)?.into_split();
            Ok((Reader::Tcp(reader), Writer::Tcp(writer), Peer::Remote(address)))
        }
    }
}

impl Reader {
    /// Appends what has come to `into`, using its spare room. Zero bytes: the client has hung up.
    ///
    /// A read that leaves room free tells the runtime that there is no more, so the next one waits
    /// for the socket without asking it once in vain.
    pub(crate) fn poll_read(
        &mut self,
        context: &mut Context<'_>,
        into: &mut Vec<u8>,
    ) -> Poll<io::Result<usize>> {
        let mut room = ReadBuf::uninit(into.spare_capacity_mut());
        debug_assert!(room.remaining() > 0, "a read without room looks like a client that left");
        let polled = match self {
            Reader::Unix(half) => Pin::new(half).poll_read(context, &mut room),
            Reader::Tcp(half) => Pin::new(half).poll_read(context, &mut room),
        };
        std::task::ready!(polled)?;
        let count = room.filled().len();
        let len = into.len() + count;
        // SAFETY: `count` bytes behind the old end were filled by the read.
        unsafe { into.set_len(len) };
        Poll::Ready(Ok(count))
    }
}

impl Writer {
    pub(crate) fn descriptor(&self) -> RawFd {
        match self {
            Writer::Unix(half) => half.as_ref().as_raw_fd(),
            Writer::Tcp(half) => half.as_ref().as_raw_fd(),
        }
    }

    /// Writes as much as there is room for; none: [`io::ErrorKind::WouldBlock`].
    pub(crate) fn try_write(&self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Writer::Unix(half) => half.try_write(bytes),
            Writer::Tcp(half) => half.try_write(bytes),
        }
    }

    /// Like [`Writer::try_write`], but has the task woken when there is room.
    pub(crate) fn poll_write(
        &mut self,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        match self {
            Writer::Unix(half) => Pin::new(half).poll_write(context, bytes),
            Writer::Tcp(half) => Pin::new(half).poll_write(context, bytes),
        }
    }

    /// Tells the client that nothing more will come.
    pub(crate) fn poll_shutdown(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self {
            Writer::Unix(half) => Pin::new(half).poll_shutdown(context),
            Writer::Tcp(half) => Pin::new(half).poll_shutdown(context),
        }
    }
}

/// Lets the system notice, in hours, that a client's machine is gone.
fn keep_alive(socket: &std::net::TcpStream) -> io::Result<()> {
    let on: libc::c_int = 1;
    // SAFETY: the descriptor is open as long as `socket` is borrowed, and the option's value is an
    // integer of the size that is passed.
    let result = unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_KEEPALIVE,
            (&raw const on).cast(),
            size_of::<libc::c_int>() as libc::socklen_t,
        )
    };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}
