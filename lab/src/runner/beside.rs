//! The one client that repeats something beside a load.

use super::load::write;
use crate::experiments::Beside;
use crate::process::{self, Running};
use crate::session::{self, WORK};
use crate::target::{Instance, Reach};
use std::path::Path;

/// It, at work; ended when this is dropped.
pub struct Companion {
    what: Beside,
    running: Running,
}

impl Companion {
    /// Whether it is still at work.
    ///
    /// # Errors
    /// How it ended.
    pub fn still_runs(&mut self) -> Result<(), String> {
        self.running.still_runs()
    }
}

/// Sees to it that what a load wants beside is at work on a server, and nothing else is. One whose transactions last longer than
/// a run is left at work from the run before.
pub fn arrange(instance: &mut Instance, wanted: Option<Beside>, work: &Path) -> Result<(), String> {
    let goes_on = |at_work: &mut Companion| {
        at_work.what.lasting && Some(at_work.what) == wanted && at_work.still_runs().is_ok()
    };
    if instance.beside.as_mut().is_some_and(goes_on) {
        return Ok(());
    }
    // The one before lets go of its locks first.
    instance.beside = None;
    if let Some(what) = wanted {
        let mut command = instance.reach.client("pgbench");
        command.args(["-n", "-c", "1", "-T", "1000000", "-f"]);
        command.arg(write(work, "beside.sql", what.script)?);
        instance.beside = Some(Companion { what, running: process::start(command)? });
    }
    Ok(())
}

/// After a run: ends one whose transactions are short. How many it has done so far.
pub fn after(instance: &mut Instance) -> Result<Option<f64>, String> {
    let Some(mut companion) = instance.beside.take() else { return Ok(None) };
    companion.still_runs()?;
    let done = done(&instance.reach, companion.what.done)?;
    if companion.what.lasting {
        instance.beside = Some(companion);
    }
    Ok(Some(done))
}

fn done(reach: &Reach, query: &str) -> Result<f64, String> {
    let told = reach.connect()?.ask(query, WORK)?;
    session::number(&told).ok_or_else(|| format!("'{query}' told no number"))
}
