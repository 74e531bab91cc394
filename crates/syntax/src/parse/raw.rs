//! The calls into libpg_query.

use std::ffi::{CStr, CString};
use std::ptr;

use pg_raw_parse::list::CastNodeList;
use pg_raw_parse::nodes::RawStmt;
use pg_raw_parse::{Owned, raw};

/// What the library tells of an error.
pub(super) struct RawError {
    pub message: String,
    /// 1-based, in characters; 0 if there is none.
    pub position: u32,
}

/// Parses with the library's safe interface, whose errors carry no position; on an error asks again
/// through the raw one. `sql` must hold no NUL byte.
pub(super) fn parse(sql: &str) -> Result<Owned<CastNodeList<RawStmt>>, RawError> {
    match pg_raw_parse::parse(sql) {
        Ok(result) => Ok(result.into_inner()),
        Err(error) => {
            Err(locate(sql).unwrap_or_else(|| RawError { message: error.to_string(), position: 0 }))
        }
    }
}

/// The error that parsing `sql` gives; `None` if it gives none after all.
fn locate(sql: &str) -> Option<RawError> {
    let text = CString::new(sql).ok()?;
    let mode = raw::PgQueryParseMode::PG_QUERY_PARSE_DEFAULT as std::ffi::c_int;
    // SAFETY: `pg_query_init` prepares this thread's state of the library and may be called again
    // and again. The memory context is made, entered, left and deleted here, on one thread, and
    // nothing in between unwinds: the library catches its own errors with setjmp inside
    // `pg_query_raw_parse` and no Rust frame lies between. What the result points to (the error and
    // its strings, the warning buffer) was allocated with malloc, so it outlives the context; the
    // tree does not and is never looked at.
    let result = unsafe {
        raw::pg_query_init();
        let context = raw::AllocSetContextCreateInternal(
            ptr::null_mut(),
            c"syntax error".as_ptr(),
            raw::ALLOCSET_DEFAULT_MINSIZE as raw::Size,
            raw::ALLOCSET_DEFAULT_INITSIZE as raw::Size,
            raw::ALLOCSET_DEFAULT_MAXSIZE as raw::Size,
        );
        let previous = raw::MemoryContextSwitchTo(context);
        let result = raw::pg_query_raw_parse(text.as_ptr(), mode);
        raw::MemoryContextSwitchTo(previous);
        raw::MemoryContextDelete(context);
        result
    };
    if !result.stderr_buffer.is_null() {
        // SAFETY: the library documents that the caller frees this buffer; it came from malloc.
        unsafe { libc::free(result.stderr_buffer.cast()) };
    }
    let error = ptr::NonNull::new(result.error)?;
    // SAFETY: a non-null error is a valid, fully written PgQueryError, ours alone, whose message is
    // a NUL-terminated string; it is read before it is freed.
    unsafe {
        let message = CStr::from_ptr(error.as_ref().message).to_string_lossy().into_owned();
        let position = u32::try_from(error.as_ref().cursorpos).unwrap_or(0);
        raw::pg_query_free_error(error.as_ptr());
        Some(RawError { message, position })
    }
}
