//! Runs experiments: starts servers, interleaves repetitions, keeps what was measured after each run.

mod load;
mod paths;
mod probes;
mod sampler;
mod tpcc;

#[cfg(test)]
mod tests;

use crate::experiments::{Experiment, Kind, Plan, Setup, variant};
use crate::interrupt;
use crate::model::{Record, Results, Run, Skipped};
use crate::progress::Progress;
use crate::statistics::is_postgres;
use crate::target::{Instance, MOST_PROCESSES, Wanted};
use bench::servers::{Places, Scratch};
use load::Amount;
use std::path::{Path, PathBuf};

/// Space that a run is begun with at least.
pub const FREE_BYTES: u64 = 1 << 30;
/// What a run costs besides its own time, and what a server costs; seconds, for the estimate of the time left.
const EACH_RUN_S: f64 = 1.5;
const EACH_SERVER_S: f64 = 5.0;
/// What one in-process round takes.
const PATHS_S: f64 = 15.0;
const PATHS_ROUNDS: u32 = 2;

/// A run of the lab.
pub struct Lab {
    pub record: Record,
    /// Where the record is kept.
    pub folder: PathBuf,
    pub places: Places,
    pub targets: Vec<Wanted>,
    /// Bytes that the disk must have left for a run to begin: [`FREE_BYTES`].
    pub least_free: u64,
}

/// One run of one load that is to be made.
#[derive(Clone, Debug, PartialEq)]
pub struct Cell {
    pub target: String,
    pub setup: usize,
    pub load: usize,
    pub clients: u32,
    pub x: u32,
    pub round: u32,
}

impl Lab {
    /// Measures what was asked for and is not there yet. Whatever ends it, the record tells what was reached.
    pub fn run(&mut self, finished: &dyn Fn(&Results)) -> Result<(), String> {
        let chosen = Experiment::chosen(&self.record.request.experiments)?;
        let mut progress = Progress::new(chosen.iter().map(|e| self.weight(e)).sum());
        let mut ended = Ok(());
        for experiment in chosen {
            let begun = std::time::Instant::now();
            ended = self.experiment(experiment, &mut progress);
            progress.note(&format!("{}: {:.0} s", experiment.name, begun.elapsed().as_secs_f64()));
            progress.clear();
            if let Some(results) =
                self.record.experiments.iter().find(|r| r.name == experiment.name)
            {
                finished(results);
            }
            if ended.is_err() {
                break;
            }
        }
        self.record.stopped = ended.as_ref().err().cloned();
        // Why a run ended comes before what that kept from being written.
        let saved = self.record.save(&self.folder);
        ended.and(saved.map(drop))
    }

    fn experiment(&mut self, e: &Experiment, progress: &mut Progress) -> Result<(), String> {
        interrupt::check()?;
        let scratch = Scratch::new("lab")?;
        match &e.kind {
            Kind::Load(plan) | Kind::Tpcc(plan) => self.servers(e, plan, &scratch, progress),
            Kind::Paths(program) => self.paths(e, program, scratch.path(), progress),
        }
    }

    /// Seconds that an experiment takes, about.
    fn weight(&self, e: &Experiment) -> f64 {
        let (Kind::Load(plan) | Kind::Tpcc(plan)) = &e.kind else {
            return PATHS_S * f64::from(self.record.request.rounds.unwrap_or(PATHS_ROUNDS));
        };
        let seconds = self.record.request.seconds.unwrap_or(self.form(plan).seconds);
        let cells = self.cells(e, plan);
        let mut servers: Vec<(&str, usize)> = cells.iter().map(|c| (&*c.target, c.setup)).collect();
        servers.sort_unstable();
        servers.dedup();
        cells.len() as f64 * (f64::from(seconds) + EACH_RUN_S)
            + servers.len() as f64 * EACH_SERVER_S
    }

    fn form<'a>(&self, plan: &'a Plan) -> &'a crate::experiments::Form {
        plan.form(self.record.request.long)
    }

    /// Every run of an experiment, in order: repetitions outermost, so that what changes while it lasts shows
    /// in the spread; servers innermost, so that it shows in all of them.
    pub fn cells(&self, e: &Experiment, plan: &Plan) -> Vec<Cell> {
        let (form, request) = (self.form(plan), &self.record.request);
        let clients: Vec<u32> = request.clients.clone().unwrap_or_else(|| form.clients.to_vec());
        let mut cells = Vec::new();
        for round in 0..request.rounds.unwrap_or(form.rounds) {
            for &clients in &clients {
                for load in 0..plan.loads.len() {
                    for target in self.suitable(e, plan) {
                        let setups = setups(plan, target);
                        for (setup, Setup { cores, .. }) in setups.iter().enumerate() {
                            let x = cores.map_or(clients, |n| n as u32);
                            let target = target.name().to_owned();
                            cells.push(Cell { target, setup, load, clients, x, round });
                        }
                    }
                }
            }
        }
        cells
    }

    /// Targets that an experiment may be run on.
    fn suitable<'a>(
        &'a self,
        e: &'a Experiment,
        plan: &'a Plan,
    ) -> impl Iterator<Item = &'a Wanted> {
        self.targets.iter().filter(move |wanted| match wanted {
            Wanted::Own(name) => plan.targets.contains(&name.as_str()),
            Wanted::Url { .. } => match e.kind {
                // Cores and settings of others are not the lab's to choose.
                Kind::Load(_) if e.axis == "clients" => e.read_only || self.record.request.writes,
                _ => false,
            },
        })
    }

    fn servers(
        &mut self,
        e: &Experiment,
        plan: &Plan,
        scratch: &Scratch,
        progress: &mut Progress,
    ) -> Result<(), String> {
        let cells = self.cells(e, plan);
        let planned = cells.len();
        if planned == 0 {
            let why = "no target that was given may be used for this experiment";
            progress.note(&format!("{}: {why}", e.name));
        }
        self.record.results(e.name, e.axis, planned);
        let wanted = |lab: &mut Lab, cell: &Cell| {
            let name = name(plan, &lab.targets, cell);
            let results = lab.record.results(e.name, e.axis, planned);
            !results.has(&cell.target, &name, cell.x, cell.round)
                && !results.is_skipped(&cell.target, &name, cell.x)
        };
        let mut instances = self.start_all(e, plan, &cells, scratch, progress, &wanted)?;
        for cell in &cells {
            interrupt::check()?;
            let seconds = self.record.request.seconds.unwrap_or(self.form(plan).seconds);
            let weight = f64::from(seconds) + EACH_RUN_S;
            if wanted(self, cell) {
                let at = instances
                    .iter()
                    .position(|(setup, i)| *setup == cell.setup && i.target == cell.target);
                // One that did not start is among those skipped.
                if let Some(at) = at {
                    let instance = &mut instances[at].1;
                    self.cell(e, plan, cell, instance, scratch.path(), progress)?;
                    self.record.save(&self.folder)?;
                }
            }
            progress.advance(weight);
        }
        Ok(())
    }

    /// Starts what still has something to do. What fails to start is noted and left out.
    fn start_all(
        &mut self,
        e: &Experiment,
        plan: &Plan,
        cells: &[Cell],
        scratch: &Scratch,
        progress: &mut Progress,
        wanted: &dyn Fn(&mut Lab, &Cell) -> bool,
    ) -> Result<Vec<(usize, Instance)>, String> {
        let mut instances = Vec::new();
        for target in self.targets.clone() {
            for (number, setup) in setups(plan, &target).iter().enumerate() {
                let has_work = cells.iter().any(|cell| {
                    cell.target == target.name() && cell.setup == number && wanted(self, cell)
                });
                if !has_work {
                    continue;
                }
                progress.say(&format!("{}: starting {} {}", e.name, target.name(), setup.name));
                self.enough_space(scratch.path())?;
                match self.start(e, plan, &target, setup, scratch.path()) {
                    Ok(instance) => instances.push((number, instance)),
                    Err(why) => {
                        interrupt::check()?;
                        self.enough_space(scratch.path())?;
                        progress.note(&format!("{}: {}: {why}", e.name, target.name()));
                        for load in plan.loads {
                            let variant = variant(&setup.name, load.name);
                            self.skip(e, target.name(), &variant, setup.cores, &why);
                        }
                    }
                }
                progress.advance(EACH_SERVER_S);
            }
        }
        Ok(instances)
    }

    fn start(
        &self,
        e: &Experiment,
        plan: &Plan,
        target: &Wanted,
        setup: &Setup,
        work: &Path,
    ) -> Result<Instance, String> {
        let scale = self.record.request.scale.unwrap_or(self.form(plan).scale);
        let tpcc = matches!(e.kind, Kind::Tpcc(_));
        match target {
            Wanted::Own(name) => {
                let tables = if tpcc { 0 } else { scale };
                if tpcc {
                    tpcc::build(&self.places)?;
                }
                let instance = Instance::start(name, plan, setup, tables, &self.places, work)?;
                if tpcc {
                    tpcc::prepare(&tpcc::program(&self.places), &instance, scale)?;
                }
                Ok(instance)
            }
            Wanted::Url { name, url } => {
                let writes = self.record.request.writes;
                Instance::of_url(name, url, plan, scale, writes, &self.places.pg15)
            }
        }
    }

    fn cell(
        &mut self,
        e: &Experiment,
        plan: &Plan,
        cell: &Cell,
        instance: &mut Instance,
        work: &Path,
        progress: &mut Progress,
    ) -> Result<(), String> {
        let request = &self.record.request;
        let amount = Amount {
            clients: cell.clients,
            seconds: request.seconds.unwrap_or(self.form(plan).seconds),
            scale: request.scale.unwrap_or(self.form(plan).scale),
        };
        let load = &plan.loads[cell.load];
        let name = variant(&instance.setup.name, load.name);
        progress.say(&format!("{} {} {name} {} {}", e.name, cell.target, cell.x, e.axis));
        if let Some(why) = impossible(cell, instance) {
            self.skip(e, &cell.target, &name, Some(cell.x as usize), &why);
            return Ok(());
        }
        self.enough_space(work)?;
        let measured = match e.kind {
            Kind::Tpcc(_) => tpcc::run(&tpcc::program(&self.places), instance, &amount),
            _ => load::run(instance, load, &amount, work),
        };
        match measured {
            Ok((figures, samples)) => {
                let seconds = amount.seconds;
                let (target, variant) = (cell.target.clone(), name);
                let (x, round) = (cell.x, cell.round);
                let run = Run { target, variant, x, round, seconds, figures, samples };
                progress.result(&run);
                self.record.results(e.name, e.axis, 0).runs.push(run);
            }
            Err(why) => {
                interrupt::check()?;
                self.enough_space(work)?;
                if let Some(ended) = instance.server.as_mut().and_then(|server| server.ended()) {
                    instance.given_up = Some(ended);
                }
                let why = instance.given_up.clone().unwrap_or(why);
                progress.note(&format!("{}: {} {name}: {why}", e.name, cell.target));
                self.skip(e, &cell.target, &name, Some(cell.x as usize), &why);
            }
        }
        Ok(())
    }

    fn paths(
        &mut self,
        e: &Experiment,
        program: &str,
        work: &Path,
        progress: &mut Progress,
    ) -> Result<(), String> {
        let rounds = self.record.request.rounds.unwrap_or(PATHS_ROUNDS);
        if !self.targets.contains(&Wanted::Own("thalweg".to_owned())) {
            return Ok(());
        }
        for round in 0..rounds {
            interrupt::check()?;
            progress.say(&format!("{} round {}", e.name, round + 1));
            let results = self.record.results(e.name, e.axis, 0);
            let known = results.runs.iter().any(|run| run.round == round);
            if !known && results.skipped.is_empty() {
                match paths::run(&self.places, program, work, round) {
                    Ok(runs) => {
                        let results = self.record.results(e.name, e.axis, 0);
                        results.runs.extend(runs);
                        results.planned = results.runs.len() / (round as usize + 1);
                        results.planned *= rounds as usize;
                    }
                    Err(why) => {
                        interrupt::check()?;
                        progress.note(&format!("{}: {why}", e.name));
                        self.skip(e, "thalweg", "", None, &why);
                    }
                }
                self.record.save(&self.folder)?;
            }
            progress.advance(PATHS_S);
        }
        Ok(())
    }

    /// An error when the disk is nearly full: better no run than a spoilt one.
    fn enough_space(&self, work: &Path) -> Result<(), String> {
        let free = crate::disk::free_bytes(work)?;
        if free < self.least_free {
            return Err(format!(
                "{} has only {} MiB left; the lab wants {} to go on",
                work.display(),
                free >> 20,
                self.least_free >> 20
            ));
        }
        Ok(())
    }

    fn skip(&mut self, e: &Experiment, target: &str, variant: &str, x: Option<usize>, why: &str) {
        let (target, variant) = (target.to_owned(), variant.to_owned());
        let (x, why) = (x.map(|x| x as u32), why.to_owned());
        let results = self.record.results(e.name, e.axis, 0);
        results.skipped.push(Skipped { target, variant, x, why });
    }
}

/// The ways to set up a target; servers of others are as they are.
fn setups(plan: &Plan, target: &Wanted) -> Vec<Setup> {
    match target {
        Wanted::Own(name) => (plan.setups)(name),
        Wanted::Url { .. } => vec![Setup::default()],
    }
}

fn name(plan: &Plan, targets: &[Wanted], cell: &Cell) -> String {
    let target = targets.iter().find(|t| t.name() == cell.target).expect("cells are of targets");
    variant(&setups(plan, target)[cell.setup].name, plan.loads[cell.load].name)
}

/// Why a cell is not even tried.
fn impossible(cell: &Cell, instance: &Instance) -> Option<String> {
    if is_postgres(&cell.target) && cell.clients > MOST_PROCESSES {
        return Some(format!(
            "a process for each connection: the lab opens {MOST_PROCESSES} at most"
        ));
    }
    instance.given_up.clone()
}
