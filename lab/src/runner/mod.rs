//! Runs experiments: starts servers, interleaves repetitions, keeps what was measured after each run.

mod counts;
mod load;
mod paths;
mod probes;
mod sampler;
mod tpcc;

#[cfg(test)]
mod tests;

use crate::experiments::{BARE, DEVICE, Experiment, Kind, Load, Plan, Setup, variant};
use crate::interrupt;
use crate::model::{Record, Request, Results, Run, Skipped};
use crate::progress::Progress;
use crate::statistics::is_postgres;
use crate::target::{Instance, MOST_PROCESSES, Wanted};
use bench::servers::{Places, Scratch};
use load::Amount;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// Space that a run is begun with at least.
pub const FREE_BYTES: u64 = 1 << 30;
/// What a run costs besides its own time, and what a server costs; seconds, for the estimate of the time left.
const EACH_RUN_S: f64 = 1.5;
const EACH_SERVER_S: f64 = 5.0;
/// What the bare loop of syncs takes with one number of threads.
const BARE_S: f64 = 2.5;
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
    /// With which others it runs at the same time.
    pub batch: u32,
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
            Kind::Paths(program, arguments) => {
                self.paths(e, (program, arguments), scratch.path(), progress)
            }
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
        let counted = cells.iter().filter(|cell| self.counts(plan, cell)).count();
        let rounds = self.record.request.rounds.unwrap_or(self.form(plan).rounds);
        let bare = plan.bare.len() as f64 * f64::from(rounds) * BARE_S;
        cells.len() as f64 * (f64::from(seconds) + EACH_RUN_S)
            + counted as f64 * (counts::SECONDS as f64 + EACH_RUN_S)
            + bare
            + servers.len() as f64 * EACH_SERVER_S
    }

    fn form<'a>(&self, plan: &'a Plan) -> &'a crate::experiments::Form {
        plan.form(self.record.request.long)
    }

    /// Every run of an experiment, in order: repetitions outermost, so that what changes while it lasts shows
    /// in the spread; servers innermost, so that it shows in all of them.
    pub fn cells(&self, e: &Experiment, plan: &Plan) -> Vec<Cell> {
        let form = self.form(plan);
        let clients: Vec<u32> =
            self.record.request.clients.clone().unwrap_or_else(|| form.clients.to_vec());
        let targets: Vec<(&Wanted, Vec<Setup>)> =
            self.suitable(e, plan).map(|target| (target, setups(plan, target))).collect();
        let all = targets.iter().flat_map(|(_, setups)| setups);
        let batches: BTreeSet<u32> = all.map(|setup| setup.batch).collect();
        let mut cells = Vec::new();
        for batch in batches {
            self.batch(plan, &clients, &targets, batch, &mut cells);
        }
        cells
    }

    /// Those of one batch.
    fn batch(
        &self,
        plan: &Plan,
        clients: &[u32],
        targets: &[(&Wanted, Vec<Setup>)],
        batch: u32,
        cells: &mut Vec<Cell>,
    ) {
        let (form, request) = (self.form(plan), &self.record.request);
        for round in 0..request.rounds.unwrap_or(form.rounds) {
            for &clients in clients {
                for load in (0..plan.loads.len()).filter(|at| is_asked(request, &plan.loads[*at])) {
                    for (target, setups) in targets {
                        for (setup, how) in setups.iter().enumerate() {
                            if how.batch != batch || (how.long_only && !request.long) {
                                continue;
                            }
                            let x = how.cores.map_or(clients, |n| n as u32);
                            let target = target.name().to_owned();
                            cells.push(Cell { target, setup, load, clients, x, round, batch });
                        }
                    }
                }
            }
        }
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
        let rounds = self.record.request.rounds.unwrap_or(self.form(plan).rounds);
        let bare = if cells.is_empty() { 0 } else { plan.bare.len() * rounds as usize };
        let planned = cells.len() + bare;
        if planned == 0 {
            let why = "no target and load that were asked for go with this experiment";
            progress.note(&format!("{}: {why}", e.name));
        }
        self.record.results(e.name, e.axis, planned);
        let wanted = |lab: &mut Lab, cell: &Cell| {
            let name = name(plan, &lab.targets, cell);
            let results = lab.record.results(e.name, e.axis, planned);
            !results.has(&cell.target, &name, cell.x, cell.round)
                && !results.is_skipped(&cell.target, &name, cell.x)
        };
        // Each batch's servers end before the next one's start.
        for cells in cells.chunk_by(|a, b| a.batch == b.batch) {
            let mut instances = self.start_all(e, plan, cells, scratch, progress, &wanted)?;
            self.rounds(e, plan, cells, &mut instances, scratch, progress, &wanted)?;
        }
        Ok(())
    }

    /// The runs of one batch.
    #[allow(clippy::too_many_arguments, reason = "everything that a batch is made of")]
    fn rounds(
        &mut self,
        e: &Experiment,
        plan: &Plan,
        cells: &[Cell],
        instances: &mut [(usize, Instance)],
        scratch: &Scratch,
        progress: &mut Progress,
        wanted: &dyn Fn(&mut Lab, &Cell) -> bool,
    ) -> Result<(), String> {
        let mut round = None;
        for cell in cells {
            interrupt::check()?;
            if round.replace(cell.round) != Some(cell.round) && cell.batch == 0 {
                self.bare(e, plan, cell.round, scratch.path(), progress)?;
            }
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

    /// What the disk allows, of each number of threads, once a round.
    fn bare(
        &mut self,
        e: &Experiment,
        plan: &Plan,
        round: u32,
        work: &Path,
        progress: &mut Progress,
    ) -> Result<(), String> {
        for &threads in plan.bare {
            progress.say(&format!("{} {BARE} {threads}", e.name));
            let results = self.record.results(e.name, e.axis, 0);
            if !results.has(DEVICE, BARE, threads, round)
                && !results.is_skipped(DEVICE, BARE, threads)
            {
                let threads_text = threads.to_string();
                let arguments = ["--threads", threads_text.as_str()];
                match paths::run(&self.places, ("sync_loop", &arguments), work, round) {
                    Ok(runs) => {
                        let of_device = |run: Run| Run { target: DEVICE.to_owned(), ..run };
                        let results = self.record.results(e.name, e.axis, 0);
                        results.runs.extend(runs.into_iter().map(of_device));
                    }
                    Err(why) => {
                        interrupt::check()?;
                        progress.note(&format!("{}: {BARE}: {why}", e.name));
                        self.skip(e, DEVICE, BARE, Some(threads as usize), &why);
                    }
                }
            }
            progress.advance(BARE_S);
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
        let request = self.record.request.clone();
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
                        for load in plan.loads.iter().filter(|load| is_asked(&request, load)) {
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

    /// Whether what a cell's transactions cost is counted, too: in the short form only with the most clients. The
    /// ceiling's cost nothing that anybody asks for.
    fn counts(&self, plan: &Plan, cell: &Cell) -> bool {
        let form = self.form(plan);
        let clients = self.record.request.clients.as_deref().unwrap_or(form.clients);
        let place = self.record.request.long || clients.last() == Some(&cell.clients);
        plan.counts && place && cell.round == 0 && cell.target != "canned"
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
            Ok((mut figures, samples)) => {
                if self.counts(plan, cell) {
                    progress.say(&format!("{} {} {name}: counting", e.name, cell.target));
                    match counts::run(instance, load, &amount, work) {
                        Ok(counted) => figures.extend(counted),
                        Err(why) => progress.note(&format!("{}: {}: {why}", e.name, cell.target)),
                    }
                    interrupt::check()?;
                    progress.advance(counts::SECONDS as f64 + EACH_RUN_S);
                }
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
        program: (&str, &[&str]),
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

/// Whether a load is among those that were asked for.
fn is_asked(request: &Request, load: &Load) -> bool {
    let name = load.name.to_lowercase();
    let wanted = request.loads.as_ref();
    wanted.is_none_or(|wanted| wanted.iter().any(|of| name.starts_with(&of.to_lowercase())))
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
