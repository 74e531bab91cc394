//! Instructions of a server per transaction, counted by `valgrind --tool=callgrind` (`per-transaction/callgrind.sh`), where the
//! processor counts none.

use super::{Cell, Lab};
use crate::experiments::{Experiment, Load, Plan, Script};
use crate::interrupt;
use crate::model::figure;
use crate::process::{self, Limits};
use crate::progress::Progress;
use bench::servers::Places;
use std::path::Path;
use std::process::Command;

/// Whose instructions are counted. A build that counts would count its counting.
const SERVERS: [&str; 3] = ["thalweg", "pg15", "pg18"];
const SCRIPT: &str = "lab/per-transaction/callgrind.sh";
/// Of the shorter of two runs: background work scatters by millions of instructions.
const TRANSACTIONS: u32 = 1000;
/// What one server and one load take.
pub const EACH_S: f64 = 45.0;

impl Lab {
    /// How many servers and loads there are to count.
    pub(super) fn instructions_wanted(&self, plan: &Plan) -> usize {
        let wanted = plan.instructions && self.record.request.long;
        let servers = self.targets.iter().filter(|target| SERVERS.contains(&target.name()));
        if wanted { servers.count() * plan.loads.len() } else { 0 }
    }

    /// Counts them after the runs, into the first run with the most clients of each server and load; what has them already is
    /// left as it is.
    pub(super) fn instructions(
        &mut self,
        e: &Experiment,
        plan: &Plan,
        cells: &[Cell],
        work: &Path,
        progress: &mut Progress,
    ) -> Result<(), String> {
        if self.instructions_wanted(plan) == 0 {
            return Ok(());
        }
        let Some(x) = cells.iter().map(|cell| cell.x).max() else { return Ok(()) };
        for server in SERVERS {
            for load in plan.loads {
                interrupt::check()?;
                let what = format!("{}, instructions by callgrind", load.name);
                let results = self.record.results(e.name, e.axis, 0);
                let is_its = |run: &&mut crate::model::Run| {
                    (&*run.target, &*run.variant, run.x, run.round) == (server, load.name, x, 0)
                };
                let skipped = results.is_skipped(server, &what, x, 0);
                let run = results.runs.iter_mut().find(is_its);
                let Some(run) =
                    run.filter(|run| !skipped && !run.figures.contains_key(figure::INSTRUCTIONS))
                else {
                    progress.skip(EACH_S);
                    continue;
                };
                progress.say(&format!("{} {server} {what}", e.name));
                match counted(&self.places, server, load, work) {
                    Ok(count) => {
                        run.figures.insert(figure::INSTRUCTIONS.to_owned(), count);
                    }
                    Err(why) => {
                        interrupt::check()?;
                        progress.note(&format!("{}: {server} {what}: {why}", e.name));
                        self.skip(e, server, &what, None, &why);
                    }
                }
                progress.advance(EACH_S);
                self.record.keep(&self.folder)?;
            }
        }
        Ok(())
    }
}

fn counted(places: &Places, server: &str, load: &Load, work: &Path) -> Result<f64, String> {
    let Script::BuiltIn(script) = load.script else {
        return Err("only pgbench's own scripts are counted".to_owned());
    };
    let program = bench::record::checkout().join(SCRIPT);
    if !program.exists() {
        return Err(format!("{SCRIPT} is not in this checkout"));
    }
    let mut command = Command::new(program);
    command.args([server, script, &TRANSACTIONS.to_string()]).env("TMPDIR", work);
    command.env("THALWEG", places.programs.join("thalweg"));
    command.env("PG18", places.cache.join("pg18/package/native"));
    told(&process::run(command, Limits::minutes(15))?.out)
}

/// The number in `pg15, select-only: 53124 instructions per transaction (…)`.
pub fn told(text: &str) -> Result<f64, String> {
    let number =
        text.split(": ").nth(1).and_then(|rest| rest.split(' ').next()?.parse::<f64>().ok());
    number
        .filter(|number| *number > 0.0)
        .ok_or_else(|| format!("callgrind.sh told no number: '{}'", text.trim()))
}
