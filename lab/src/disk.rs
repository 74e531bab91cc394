//! Room on disk.

use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// Bytes that an ordinary user may still write where `path` is.
fn free_bytes(path: &Path) -> Result<u64, String> {
    let name = std::ffi::CString::new(path.as_os_str().as_bytes()).map_err(|e| e.to_string())?;
    // SAFETY: the structure is plain numbers, for which zeroes are values.
    let mut found: libc::statvfs = unsafe { std::mem::zeroed() };
    // SAFETY: the name ends in a zero byte, and the structure is ours; both outlive the call.
    if unsafe { libc::statvfs(name.as_ptr(), &raw mut found) } != 0 {
        return Err(format!("{}: {}", path.display(), std::io::Error::last_os_error()));
    }
    Ok(found.f_bavail * found.f_frsize)
}

/// An error where less than so many bytes are left.
pub fn has_room(path: &Path, least: u64) -> Result<(), String> {
    let free = free_bytes(path)?;
    if free >= least {
        return Ok(());
    }
    Err(format!(
        "{} has only {} MiB left; the lab wants {} to go on",
        path.display(),
        free >> 20,
        least >> 20
    ))
}
