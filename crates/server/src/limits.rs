//! What the system allows this process.

/// Descriptors that are neither connections nor relation files kept open: segments, relation files with writes that no sync
/// covers yet, files of sorts and joins, sockets, standard streams.
const OTHER_FILES: u64 = 512;

/// What each worker watches its connections, rings and calls with.
const FILES_OF_WORKER: u64 = 6;

/// Clients without a session that there is room for where files are short.
const STRANGERS: usize = 16;

/// Relation files kept open where the system allows that.
const RELATION_FILES: usize = 1000;

/// So few connections are let in however few files are allowed.
const CONNECTIONS_MIN: u64 = 16;

/// Raises the number of files this process may have open as far as it may. To be called before a database is opened, whose
/// share that number decides.
pub fn raise_open_files() {
    let Some(limit) = open_files() else { return };
    let wanted = libc::rlimit { rlim_cur: limit.rlim_max, ..limit };
    // SAFETY: `wanted` is ours and outlives the call, which only reads it. Where it is refused the limit stays.
    unsafe { libc::setrlimit(libc::RLIMIT_NOFILE, &wanted) };
}

/// How many relation files may be kept open.
pub(crate) fn relation_files() -> usize {
    open_files().map_or(RELATION_FILES, |limit| share_of_relations(limit.rlim_cur))
}

/// Raises the number of open files, and lowers `max_connections` if that is not enough for so many. Returns how many
/// clients there may be, with those that have no session yet.
pub(crate) fn fit_connections(max_connections: &mut usize, workers: usize) -> usize {
    raise_open_files();
    let Some(libc::rlimit { rlim_cur: allowed, .. }) = open_files() else {
        return clients_max(*max_connections, usize::MAX);
    };
    let room = room_for_connections(allowed, workers);
    let sessions = room_for_sessions(room);
    if sessions < *max_connections {
        base::log!(
            "the system allows {allowed} open files: at most {sessions} connections instead of \
             {max_connections}"
        );
        *max_connections = sessions;
    }
    clients_max(*max_connections, room)
}

/// Some are left for clients without a session: a request to cancel is to be heard though there is none left.
fn room_for_sessions(room: usize) -> usize {
    room.saturating_sub(STRANGERS).max(room / 2)
}

/// As in PostgreSQL twice as many as may have sessions, if there is room.
fn clients_max(max_connections: usize, room: usize) -> usize {
    max_connections.saturating_mul(2).min(room)
}

fn open_files() -> Option<libc::rlimit> {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: `limit` is ours and outlives the call, which fills it.
    (unsafe { libc::getrlimit(libc::RLIMIT_NOFILE, &mut limit) } == 0).then_some(limit)
}

/// A quarter of what is allowed.
fn share_of_relations(allowed: u64) -> usize {
    usize::try_from(allowed / 4).map_or(RELATION_FILES, |quarter| quarter.min(RELATION_FILES))
}

fn room_for_connections(allowed: u64, workers: usize) -> usize {
    let others =
        OTHER_FILES + FILES_OF_WORKER * workers as u64 + share_of_relations(allowed) as u64;
    let room = allowed.saturating_sub(others).max(CONNECTIONS_MIN);
    usize::try_from(room).unwrap_or(usize::MAX)
}

#[cfg(test)]
mod tests {
    use super::{clients_max, room_for_connections, room_for_sessions, share_of_relations};

    #[test]
    fn all_files_kept_open_and_all_connections_fit_what_is_allowed() {
        let of = |allowed| (share_of_relations(allowed), room_for_connections(allowed, 2));
        assert_eq!(of(1024), (256, 244));
        assert_eq!(of(4096), (1000, 2572));
        assert_eq!(of(256), (64, 16), "it starts, and may refuse");
        assert_eq!(of(u64::MAX).0, 1000);
        assert_eq!(room_for_connections(4096, 100), 1984);
        assert_eq!((room_for_sessions(2572), room_for_sessions(16)), (2556, 8));
        assert_eq!((clients_max(100, 2584), clients_max(2000, 2584)), (200, 2584));
    }
}
