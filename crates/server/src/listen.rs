//! The sockets a server listens on, and the lock beside the unix one.

use std::fs::{File, OpenOptions, Permissions};
use std::io::{self, ErrorKind, Read, Seek, Write};
use std::net::{SocketAddr, TcpListener};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};

use socket2::{Domain, Protocol, Socket, Type};

use crate::StartError;

/// Connections that may wait to be accepted.
const BACKLOG: i32 = 128;

/// Listens on TCP at these addresses. Of those that can't be listened on the log tells, as long as there is another.
pub(crate) fn tcp(addresses: &[SocketAddr]) -> Result<Vec<TcpListener>, StartError> {
    let (mut listeners, mut faults) = (Vec::new(), Vec::new());
    for address in addresses {
        match bind(*address) {
            Ok(listener) => listeners.push(listener),
            Err(fault) => faults.push(refusal(*address, &fault)),
        }
    }
    if listeners.is_empty() && !faults.is_empty() {
        return Err(faults.swap_remove(0));
    }
    for fault in faults {
        base::log!("{fault}");
    }
    Ok(listeners)
}

fn bind(address: SocketAddr) -> io::Result<TcpListener> {
    let socket = Socket::new(Domain::for_address(address), Type::STREAM, Some(Protocol::TCP))?;
    if address.is_ipv6() {
        // Else `::` would take the port on 0.0.0.0, too.
        socket.set_only_v6(true)?;
    }
    // Connections of a server that has ended, which the system keeps for a while, are no obstacle.
    socket.set_reuse_address(true)?;
    socket.bind(&address.into())?;
    socket.listen(BACKLOG)?;
    socket.set_nonblocking(true)?;
    Ok(socket.into())
}

fn refusal(address: SocketAddr, fault: &io::Error) -> StartError {
    StartError::new(match fault.kind() {
        ErrorKind::AddrInUse => format!(
            "cannot listen on {address}: another program, perhaps another server, uses that port"
        ),
        _ => format!("cannot listen on {address}: {fault}"),
    })
}

/// The unix socket's file and the lock file beside it; both go when this is dropped.
///
/// The lock file has PostgreSQL's name and contents, so PostgreSQL's programs see who owns the
/// socket. What counts for us is the system's lock on it, which no crash can leave behind.
pub(crate) struct SocketFile {
    path: PathBuf,
    lock_path: PathBuf,
    _lock: File,
}

impl SocketFile {
    /// Listens on `.s.PGSQL.PORT` in `dir`.
    pub(crate) fn bind(
        dir: &Path,
        port: u16,
        data: &Path,
    ) -> Result<(SocketFile, UnixListener), StartError> {
        let path = dir.join(format!(".s.PGSQL.{port}"));
        let lock_path = dir.join(format!(".s.PGSQL.{port}.lock"));
        let failed = |what: &Path, fault: io::Error| {
            StartError::new(format!("cannot create the socket {}: {fault}", what.display()))
        };
        let mut lock = take_lock(&lock_path, &path)?;
        refuse_live_server(&path)?;
        write_lock(&mut lock, dir, port, data).map_err(|fault| failed(&lock_path, fault))?;
        match std::fs::remove_file(&path) {
            Err(fault) if fault.kind() != ErrorKind::NotFound => return Err(failed(&path, fault)),
            _ => {}
        }
        let listener = UnixListener::bind(&path).map_err(|fault| failed(&path, fault))?;
        let file = SocketFile { path, lock_path, _lock: lock };
        // Who may be whom is for authentication to say, not for the file system.
        std::fs::set_permissions(&file.path, Permissions::from_mode(0o777))
            .and_then(|()| listener.set_nonblocking(true))
            .map_err(|fault| failed(&file.path, fault))?;
        Ok((file, listener))
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for SocketFile {
    fn drop(&mut self) {
        for path in [&self.path, &self.lock_path] {
            if let Err(fault) = std::fs::remove_file(path) {
                base::log!("could not remove {}: {fault}", path.display());
            }
        }
    }
}

/// Opens and locks the lock file.
fn take_lock(lock_path: &Path, socket_path: &Path) -> Result<File, StartError> {
    let failed = |fault| {
        StartError::new(format!("cannot create the lock file {}: {fault}", lock_path.display()))
    };
    loop {
        let lock = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .mode(0o600)
            .open(lock_path)
            .map_err(failed)?;
        match lock.try_lock() {
            Ok(()) => {}
            Err(std::fs::TryLockError::WouldBlock) => return Err(in_use(socket_path, lock)),
            Err(std::fs::TryLockError::Error(fault)) => return Err(failed(fault)),
        }
        // Its last owner may have removed it between our opening and our locking it.
        let ours = lock.metadata().map_err(failed)?;
        match std::fs::metadata(lock_path) {
            Ok(there) if there.ino() == ours.ino() && there.dev() == ours.dev() => return Ok(lock),
            _ => continue,
        }
    }
}

fn in_use(socket_path: &Path, mut lock: File) -> StartError {
    let mut text = String::new();
    let read = lock.read_to_string(&mut text);
    let pid = read.ok().and_then(|_| text.lines().next().map(str::to_owned)).unwrap_or_default();
    StartError::new(format!(
        "another server (process {pid}) listens on the socket {}",
        socket_path.display()
    ))
}

/// A server that knows no lock of ours may be there too: it answers.
fn refuse_live_server(path: &Path) -> Result<(), StartError> {
    match UnixStream::connect(path) {
        Ok(_) => {
            Err(StartError::new(format!("another server listens on the socket {}", path.display())))
        }
        Err(_) => Ok(()),
    }
}

fn write_lock(lock: &mut File, dir: &Path, port: u16, data: &Path) -> io::Result<()> {
    let started = base::clock::wall_micros() / 1_000_000;
    lock.set_len(0)?;
    lock.rewind()?;
    let pid = std::process::id();
    write!(lock, "{pid}\n{}\n{started}\n{port}\n{}\n", data.display(), dir.display())
}
