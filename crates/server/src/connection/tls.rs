//! A socket's bytes, encrypted. Reader and writer share one state; see [`super::socket`] for when each is called.

use std::cell::RefCell;
use std::io::{self, BufRead, ErrorKind, Read, Write};
use std::rc::Rc;

use rustls::ServerConnection;
use socket2::Socket;

/// Both halves' part in it.
pub(super) type Shared = Rc<RefCell<Tls>>;

/// Most bytes that are encrypted as one.
const RECORD_BYTES: usize = 16 << 10;

/// An encrypted connection.
pub(super) struct Tls {
    connection: ServerConnection,
    /// Bytes at the front of what is to be sent that are encrypted, and told as sent once all of that has left.
    taken: usize,
}

impl Tls {
    pub(super) fn new(connection: ServerConnection) -> Tls {
        Tls { connection, taken: 0 }
    }

    pub(super) fn connection(&self) -> &ServerConnection {
        &self.connection
    }

    /// Appends decrypted bytes to `into`, as far as it has spare room: how many, 0 at the end; none are there where it
    /// would block.
    pub(super) fn take(&mut self, into: &mut Vec<u8>) -> io::Result<usize> {
        let mut reader = self.connection.reader();
        let there = match reader.fill_buf() {
            // A client that leaves without saying so leaves all the same.
            Err(fault) if fault.kind() == ErrorKind::UnexpectedEof => return Ok(0),
            there => there?,
        };
        let count = there.len().min(into.spare_capacity_mut().len());
        into.extend_from_slice(&there[..count]);
        reader.consume(count);
        Ok(count)
    }

    /// Reads once from the socket and decrypts it; how many bytes have come.
    ///
    /// # Errors
    /// [`ErrorKind::WouldBlock`]: nothing was there. [`ErrorKind::InvalidData`]: it is not what may come; the client is
    /// told, if it has room.
    pub(super) fn receive(&mut self, mut socket: &Socket) -> io::Result<usize> {
        let count = self.connection.read_tls(&mut Retried(&mut socket))?;
        let processed = self.connection.process_new_packets();
        // What this has made it say (keys, an alarm) waits for no reply. What does not fit now leaves with the next.
        match self.send(socket) {
            Err(fault) if fault.kind() != ErrorKind::WouldBlock => return Err(fault),
            _ => {}
        }
        match processed {
            Ok(_) => Ok(count),
            Err(fault) => Err(io::Error::new(ErrorKind::InvalidData, fault)),
        }
    }

    /// Reads from what a client has sent before it was known to encrypt.
    pub(super) fn receive_from(&mut self, mut bytes: &[u8]) -> io::Result<()> {
        while !bytes.is_empty() {
            if self.connection.read_tls(&mut bytes)? == 0 {
                return Err(ErrorKind::InvalidData.into());
            }
            let processed = self.connection.process_new_packets();
            processed.map_err(|fault| io::Error::new(ErrorKind::InvalidData, fault))?;
        }
        Ok(())
    }

    /// Encrypts and sends from the front of `bytes`; how many have left. Whoever was told that it would block comes back with
    /// the same bytes in front.
    pub(super) fn write(&mut self, bytes: &[u8], socket: &Socket) -> io::Result<usize> {
        if self.taken == 0 {
            // Not more than one record, so that what leaves is told soon.
            let some = &bytes[..bytes.len().min(RECORD_BYTES)];
            self.taken = self.connection.writer().write(some)?;
        }
        if self.taken > bytes.len() {
            // What was to be sent was given up meanwhile: the stream has a hole.
            return Err(ErrorKind::BrokenPipe.into());
        }
        self.send(socket)?;
        Ok(std::mem::take(&mut self.taken))
    }

    /// Sends what is encrypted.
    ///
    /// # Errors
    /// [`ErrorKind::WouldBlock`]: something is left.
    pub(super) fn send(&mut self, mut socket: &Socket) -> io::Result<()> {
        while self.connection.wants_write() {
            self.connection.write_tls(&mut Retried(&mut socket))?;
        }
        Ok(())
    }

    /// Says that nothing more will come.
    pub(super) fn close(&mut self, socket: &Socket) {
        self.connection.send_close_notify();
        // A client that takes nothing more learns it from the socket.
        let _ = self.send(socket);
    }
}

/// Goes on where a signal has interrupted, and sends without one where the client is gone.
struct Retried<'s, 'a>(&'s mut &'a Socket);

impl Read for Retried<'_, '_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        loop {
            match self.0.read(into) {
                Err(fault) if fault.kind() == ErrorKind::Interrupted => {}
                read => return read,
            }
        }
    }
}

impl Write for Retried<'_, '_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        super::socket::send(self.0, bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
