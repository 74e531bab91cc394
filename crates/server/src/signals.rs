//! Signals from outside, as values.

use std::future::poll_fn;
use std::io;
use std::task::Poll;

use tokio::runtime::{Builder, Runtime};
use tokio::signal::unix::{Signal as Stream, SignalKind, signal};

/// What a signal asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Signal {
    /// SIGTERM or SIGINT: end cleanly.
    Stop,
    /// SIGHUP: read the configuration again.
    Reload,
}

/// The signals that this process listens to, from its making on.
pub struct Signals {
    runtime: Runtime,
    streams: [(Signal, Stream); 3],
}

/// Sends this process the signal to read its configuration again; false if the system refuses. To be used only
/// where [`Signals`] listen.
pub fn ask_for_reload() -> bool {
    // SAFETY: plain system calls.
    unsafe { libc::kill(libc::getpid(), libc::SIGHUP) == 0 }
}

impl Signals {
    /// Takes over SIGTERM, SIGINT and SIGHUP.
    ///
    /// # Errors
    /// A system that refuses.
    pub fn listen() -> io::Result<Signals> {
        let runtime = Builder::new_current_thread().enable_io().build()?;
        let streams = {
            let _inside = runtime.enter();
            [
                (Signal::Stop, signal(SignalKind::terminate())?),
                (Signal::Stop, signal(SignalKind::interrupt())?),
                (Signal::Reload, signal(SignalKind::hangup())?),
            ]
        };
        Ok(Signals { runtime, streams })
    }

    /// Waits for the next.
    pub fn wait(&mut self) -> Signal {
        let Signals { runtime, streams } = self;
        runtime.block_on(poll_fn(|context| {
            for (meaning, stream) in streams.iter_mut() {
                if stream.poll_recv(context).is_ready() {
                    return Poll::Ready(*meaning);
                }
            }
            Poll::Pending
        }))
    }
}
