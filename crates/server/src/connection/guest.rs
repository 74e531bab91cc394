//! A connection on its way from one worker to another.

use std::sync::Arc;

use socket2::Socket;
use sql::session::Session;

use super::Peer;

/// What is left of a connection that stands between two requests: its session is in no transaction, its client has
/// been sent everything, and no fiber runs for it.
pub(crate) struct Guest {
    pub(super) socket: Arc<Socket>,
    pub(crate) peer: Peer,
    pub(crate) session: Session,
    /// The session's number.
    pub(crate) process: i32,
    /// What the client has sent since; it comes with the connection, so nothing overtakes anything.
    pub(crate) input: Vec<u8>,
}
