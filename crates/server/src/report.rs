//! Errors, from the engine's form to the protocol's.

use sql::error::{ErrorFields, Severity, SqlError, SqlState};
use sql::session::Notice;
use wire::backend::{self, Replies, Report};

/// Appends an ErrorResponse.
pub(crate) fn error(replies: &mut Replies, error: &SqlError) {
    let fields = error.fields();
    if concerns_operator(fields.sqlstate.as_str()) {
        base::log!("ERROR {}: {}", fields.sqlstate.as_str(), fields.message);
    }
    let severity = match fields.severity {
        Severity::Error => backend::Severity::Error,
        Severity::Fatal => backend::Severity::Fatal,
        Severity::Panic => backend::Severity::Panic,
    };
    put(replies, severity, fields);
}

/// Whether an error tells of the machine rather than of the statement: the disk, a cache or files too few, damage,
/// broken invariants.
fn concerns_operator(sqlstate: &str) -> bool {
    matches!(sqlstate, "53000" | "53100")
        || sqlstate.starts_with("58")
        || sqlstate.starts_with("XX")
}

/// Appends an ErrorResponse that ends the session.
pub(crate) fn fatal(replies: &mut Replies, error: SqlError) {
    put(replies, backend::Severity::Fatal, error.fields());
}

/// Appends a NoticeResponse.
pub(crate) fn notice(replies: &mut Replies, notice: &Notice) {
    let severity = match notice.severity {
        "WARNING" => backend::Severity::Warning,
        "INFO" => backend::Severity::Info,
        "LOG" => backend::Severity::Log,
        "DEBUG" => backend::Severity::Debug,
        _ => backend::Severity::Notice,
    };
    put(replies, severity, notice.fields.fields());
}

fn put(replies: &mut Replies, severity: backend::Severity, fields: &ErrorFields) {
    let sqlstate = fields.sqlstate;
    replies.report(&Report {
        detail: fields.detail.as_deref(),
        hint: fields.hint.as_deref(),
        context: fields.context.as_deref(),
        position: fields.position,
        internal_position: fields.internal.as_ref().map(|(_, at)| *at),
        internal_query: fields.internal.as_ref().map(|(query, _)| query.as_str()),
        schema: fields.schema.as_deref(),
        table: fields.table.as_deref(),
        column: fields.column.as_deref(),
        data_type: fields.data_type.as_deref(),
        constraint: fields.constraint.as_deref(),
        routine: fields.routine,
        ..Report::new(severity, sqlstate.as_str(), &fields.message)
    });
}

/// What a client's broken message costs it, or what can't be told it.
pub(crate) fn broken(fault: &wire::Error) -> SqlError {
    let state = SqlState::parse(fault.sqlstate()).expect("the codec's codes are well formed");
    let mut error = SqlError::new(state, fault.to_string());
    if let Some(detail) = fault.detail() {
        error = error.with_detail(detail);
    }
    if fault.is_fatal() { error.with_severity(Severity::Fatal) } else { error }
}

/// `53300`: there is no place for another client.
pub(crate) fn too_many_clients() -> SqlError {
    let message = "sorry, too many clients already";
    SqlError::new(SqlState::TOO_MANY_CONNECTIONS, message).with_severity(Severity::Fatal)
}

/// `53200`: the system has no memory for the stack that a request needs.
pub(crate) fn no_stack(fault: &std::io::Error) -> SqlError {
    SqlError::new(SqlState::OUT_OF_MEMORY, "out of memory")
        .with_detail(format!("There is no stack for another request: {fault}."))
        .with_severity(Severity::Fatal)
}

/// `08P01`: no message can begin where the client's bytes have ended.
pub(crate) fn lost_synchronization() -> SqlError {
    violation("terminating connection because protocol synchronization was lost")
        .with_severity(Severity::Fatal)
}

/// `08P01`, and the session goes on.
pub(crate) fn violation(message: impl Into<String>) -> SqlError {
    SqlError::new(SqlState::PROTOCOL_VIOLATION, message)
}
