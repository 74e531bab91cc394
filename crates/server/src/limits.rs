//! What the system allows this process.

/// Descriptors that are not connections: segments and relation files, sockets, standard streams.
const OTHER_FILES: u64 = 512;

/// Raises the number of files this process may have open as far as it may, and lowers
/// `max_connections` if that is not enough for so many.
pub(crate) fn raise_open_files(max_connections: &mut usize) {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: `limit` is ours and outlives both calls, which only read or fill it.
    let allowed = unsafe {
        if libc::getrlimit(libc::RLIMIT_NOFILE, &mut limit) != 0 {
            return;
        }
        let wanted = libc::rlimit { rlim_cur: limit.rlim_max, ..limit };
        if libc::setrlimit(libc::RLIMIT_NOFILE, &wanted) == 0 {
            limit.rlim_max
        } else {
            limit.rlim_cur
        }
    };
    let room = usize::try_from(allowed.saturating_sub(OTHER_FILES).max(16)).unwrap_or(usize::MAX);
    if room < *max_connections {
        base::log!(
            "the system allows {allowed} open files: at most {room} connections instead of \
             {max_connections}"
        );
        *max_connections = room;
    }
}
