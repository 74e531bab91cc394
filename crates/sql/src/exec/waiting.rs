//! What somebody was doing who waited for another transaction in vain.

use base::ids::Tid;

use crate::error::SqlError;

/// Makes an error of storage the client's; where it ended a wait for another transaction, with what that was for: `doing` as
/// in "while updating tuple (0,1) in relation …".
pub(crate) fn waiting<'a>(
    doing: &'static str,
    tid: Tid,
    relation: &'a str,
) -> impl FnOnce(storage::Error) -> SqlError + 'a {
    move |error| told(error, doing, tid, relation)
}

#[cold]
fn told(error: storage::Error, doing: &str, tid: Tid, relation: &str) -> SqlError {
    let waited = matches!(error, storage::Error::Awaited(_));
    let error = SqlError::from(error);
    if !waited {
        return error;
    }
    let Tid { block, offset } = tid;
    error.with_context(format!("while {doing} ({},{offset}) in relation \"{relation}\"", block.0))
}
