//! Cancelling and ending other sessions.

use base::clock;
use base::interrupt::Interrupt;
use std::time::Duration;

use crate::catalog::rights::SIGNAL_BACKEND;
use crate::error::{Result, bail, interrupted, sql_error};
use crate::types::Datum;

use super::backend::Backend;
use super::names;
use base::wait_event::{self, Event};

/// Between two looks whether a session has ended.
const LOOK_EVERY: Duration = Duration::from_millis(10);

/// `pg_cancel_backend(pid)` and `pg_terminate_backend(pid, timeout)`.
pub(super) fn call(b: &mut Backend, name: &str, args: &[Datum]) -> Result<Option<Datum>> {
    let (how, query, verb) = match name {
        "pg_cancel_backend" => (Interrupt::Cancel, "query", "cancel"),
        "pg_terminate_backend" => (Interrupt::Terminate, "process", "terminate"),
        _ => return Ok(None),
    };
    let pid = args[0].as_int4();
    let timeout_ms = args.get(1).map_or(0, Datum::as_int8);
    if timeout_ms < 0 {
        bail!(NUMERIC_VALUE_OUT_OF_RANGE, "\"timeout\" must not be negative");
    }
    let cluster = b.instance.cluster()?;
    let Some(role) = cluster.session_role(pid) else {
        warn(b, format!("PID {pid} is not a PostgreSQL server process"));
        return Ok(Some(false.into()));
    };
    let rights = b.catalog.rights(&b.txn)?;
    let of_superuser = names::is_superuser(b, role)? && !rights.superuser;
    if of_superuser || !(rights.has_rights_of(role) || rights.has_rights_of(SIGNAL_BACKEND)) {
        if of_superuser {
            bail!(INSUFFICIENT_PRIVILEGE, "must be a superuser to {verb} superuser {query}");
        }
        let doing = if how == Interrupt::Cancel { "canceled" } else { "terminated" };
        bail!(
            INSUFFICIENT_PRIVILEGE,
            "must be a member of the role whose {query} is being {doing} or member of \
             pg_signal_backend"
        );
    }
    if pid == b.pid {
        // At once: whoever ends itself gets no answer.
        base::park::current().interrupt(how);
        return Err(interrupted(how));
    }
    let mut sent = cluster.interrupt_session(pid, how);
    if sent && timeout_ms > 0 {
        let give_up = clock::now().after(Duration::from_millis(timeout_ms as u64));
        while sent && cluster.session_role(pid).is_some() {
            if clock::now() >= give_up {
                let text = format!("backend with PID {pid} did not terminate within {timeout_ms}");
                warn(b, format!("{text} milliseconds"));
                sent = false;
            }
            let _waiting = wait_event::during(Event::BackendEnd);
            base::park::sleep(LOOK_EVERY);
            base::interrupt::check().map_err(interrupted)?;
        }
    }
    Ok(Some(sent.into()))
}

fn warn(b: &mut Backend, text: String) {
    b.notice("WARNING", sql_error!(WARNING, "{text}"));
}
