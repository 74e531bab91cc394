//! The operating system's users.

use std::ffi::CStr;

/// Longest entry of the user database that is read.
const ENTRY_BYTES_MAX: usize = 64 << 10;

/// The name of the user with this number, if there is one.
pub fn name_of(uid: u32) -> Option<String> {
    let mut entry = std::mem::MaybeUninit::<libc::passwd>::uninit();
    let mut found = std::ptr::null_mut();
    let mut text = vec![0 as libc::c_char; 1024];
    loop {
        // SAFETY: every pointer leads to memory that is ours and as large as is said, and outlives
        // the call.
        let result = unsafe {
            libc::getpwuid_r(uid, entry.as_mut_ptr(), text.as_mut_ptr(), text.len(), &mut found)
        };
        if result != libc::ERANGE || text.len() >= ENTRY_BYTES_MAX {
            break;
        }
        text.resize(text.len() * 2, 0);
    }
    if found.is_null() {
        return None;
    }
    // SAFETY: `found` is not null, so `entry` was filled and its name is a string within `text`,
    // which is still there.
    let name = unsafe { CStr::from_ptr((*found).pw_name) };
    name.to_str().ok().map(str::to_owned)
}

/// The user that runs this process.
pub fn current() -> u32 {
    // SAFETY: geteuid has no arguments and cannot fail.
    unsafe { libc::geteuid() }
}
