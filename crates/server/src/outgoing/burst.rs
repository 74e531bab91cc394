//! Many sends in one call of the system, through io_uring.
//!
//! None of them waits: a socket without room refuses at once, so every send is over when the call returns, and
//! no buffer is used after it.

use std::io;
use std::os::fd::RawFd;

use io_uring::{IoUring, opcode, types};

/// Most sends in one call.
pub(super) const BURST_MAX: usize = 32;

/// What is to be sent where. Empty: nothing.
#[derive(Clone, Copy)]
pub(super) struct Piece<'a> {
    pub socket: RawFd,
    pub bytes: &'a [u8],
}

impl Piece<'_> {
    pub const NONE: Piece<'static> = Piece { socket: -1, bytes: &[] };
}

pub(super) struct Burst {
    ring: IoUring,
}

impl Burst {
    /// # Errors
    /// The system has no io_uring, or does not let this process use it.
    pub fn new() -> io::Result<Burst> {
        // An order that can't be taken does not hold up those behind it, and completions need no interrupt.
        let ring =
            IoUring::builder().setup_submit_all().setup_coop_taskrun().build(BURST_MAX as u32)?;
        Ok(Burst { ring })
    }

    /// Sends at most [`BURST_MAX`] pieces; puts into `sent` how many bytes of each have left, 0 where its socket
    /// has no room or is broken.
    ///
    /// # Errors
    /// The system does not take orders any more; `sent` is right all the same. To be dropped then.
    pub fn send(&mut self, pieces: &[Piece<'_>], sent: &mut [usize]) -> io::Result<()> {
        let mut ordered = 0;
        for (number, piece) in pieces.iter().enumerate().filter(|(_, p)| !p.bytes.is_empty()) {
            let length = piece.bytes.len().min(i32::MAX as usize) as u32;
            let order = opcode::Send::new(types::Fd(piece.socket), piece.bytes.as_ptr(), length)
                .flags(libc::MSG_DONTWAIT | libc::MSG_NOSIGNAL)
                .build()
                .user_data(number as u64);
            // SAFETY: the bytes are borrowed until this function returns. By then each order is complete
            // or was never taken; in that case the caller drops the ring, and the order with it.
            let queued = unsafe { self.ring.submission().push(&order) };
            queued.expect("a call's orders fit into the ring");
            ordered += 1;
        }
        let result = self.submit(ordered);
        let taken = *result.as_ref().unwrap_or_else(|(taken, _)| taken);
        self.collect(taken, sent);
        result.map(drop).map_err(|(_, fault)| fault)
    }

    /// Hands `ordered` orders to the system; how many it has taken, beside the error if not all.
    fn submit(&mut self, ordered: usize) -> Result<usize, (usize, io::Error)> {
        let mut taken = 0;
        while taken < ordered {
            match self.ring.submit() {
                Ok(0) => return Err((taken, io::ErrorKind::WriteZero.into())),
                Ok(count) => taken += count,
                Err(fault) if fault.kind() == io::ErrorKind::Interrupted => {}
                Err(fault) => return Err((taken, fault)),
            }
        }
        Ok(taken)
    }

    /// Takes the results of `taken` orders.
    fn collect(&mut self, taken: usize, sent: &mut [usize]) {
        let mut complete = 0;
        loop {
            for result in self.ring.completion() {
                sent[result.user_data() as usize] = usize::try_from(result.result()).unwrap_or(0);
                complete += 1;
            }
            if complete >= taken {
                return;
            }
            // Not to be expected of sends that don't wait; an interruption only means another look.
            let _ = self.ring.submit_and_wait(1);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read;
    use std::os::fd::AsRawFd;
    use std::os::unix::net::UnixStream;

    #[test]
    fn each_socket_gets_its_bytes_and_a_full_or_closed_one_refuses() {
        let Ok(mut burst) = Burst::new() else {
            base::log!("skipped: this system grants no io_uring");
            return;
        };
        let pairs: Vec<_> = (0..BURST_MAX).map(|_| UnixStream::pair().expect("pair")).collect();
        let texts: Vec<_> = (0..BURST_MAX).map(|i| format!("reply {i}")).collect();
        pairs[3].1.shutdown(std::net::Shutdown::Both).expect("shutdown");
        let filling = vec![0; 1 << 20];
        pairs[5].0.set_nonblocking(true).expect("set");
        while std::io::Write::write(&mut &pairs[5].0, &filling).is_ok() {}
        for _ in 0..3 {
            let mut pieces: Vec<_> = pairs
                .iter()
                .zip(&texts)
                .map(|((socket, _), text)| Piece {
                    socket: socket.as_raw_fd(),
                    bytes: text.as_bytes(),
                })
                .collect();
            pieces[7].bytes = &[];
            let mut sent = [0; BURST_MAX];
            burst.send(&pieces, &mut sent).expect("taken");
            for (i, (_, client)) in pairs.iter().enumerate() {
                let refuses = [3, 5, 7].contains(&i);
                assert_eq!(sent[i], if refuses { 0 } else { texts[i].len() }, "{i}");
                if !refuses {
                    let mut got = vec![0; texts[i].len()];
                    (&mut &*client).read_exact(&mut got).expect("read");
                    assert_eq!(got, texts[i].as_bytes());
                }
            }
        }
    }
}
