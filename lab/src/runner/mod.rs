//! Runs experiments: starts servers, interleaves repetitions, keeps what was measured after each run.

mod beside;
mod counts;
mod how;
mod instructions;
mod load;
mod paths;
mod probes;
mod sampler;
mod tpcc;

#[cfg(test)]
mod tests;

pub use beside::Companion;

use crate::disk::has_room;
use crate::experiments::{BARE, DEVICE, Experiment, Kind, Load, Paths, Plan, Setup, variant};
use crate::interrupt;
use crate::model::{Record, Request, Results, Run, Skipped};
use crate::progress::Progress;
use crate::statistics::is_postgres;
use crate::target::{Instance, MEMORY, MOST_PROCESSES, Wanted};
use bench::servers::{Places, Scratch};
use load::Amount;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// Space that a run is begun with at least.
pub const FREE_BYTES: u64 = 1 << 30;
/// What the record's own file system must have left: a long record with its page and plots takes a tenth.
const RECORD_BYTES: u64 = 64 << 20;
/// What a run costs besides its own time and that in which clients connect; what a server costs to start and stop, and to fill
/// for each unit of scale, by pgbench and by go-tpc; seconds, for the estimate of the time left. Seen on two cores.
const EACH_RUN_S: f64 = 1.0;
const EACH_SERVER_S: f64 = 2.0;
const EACH_SCALE_S: f64 = 0.2;
const EACH_WAREHOUSE_S: f64 = 8.0;
/// What an extra run takes in which something is counted.
const COUNTING_S: f64 = counts::SECONDS as f64 + EACH_RUN_S;
/// What the bare loop of syncs takes with one number of threads.
const BARE_S: f64 = 2.5;
/// Rounds of what is measured in process.
const fn paths_rounds(long: bool) -> u32 {
    if long { 3 } else { 2 }
}

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

/// Whether anything of what is asked for runs on this target.
pub fn wants(request: &Request, targets: &[Wanted], name: &str) -> bool {
    let has_work = |e: &&Experiment| match &e.kind {
        Kind::Load(plan) | Kind::Tpcc(plan) => {
            plan.targets.contains(&name)
                && request.rounds.unwrap_or(plan.form(request.long).rounds) > 0
        }
        Kind::Paths(_) => false,
    };
    let chosen = Experiment::chosen(&request.experiments).unwrap_or_default();
    targets.iter().any(|target| target.name() == name) && chosen.iter().any(has_work)
}

/// What of a request is measured in process.
pub fn wanted_paths(request: &Request, targets: &[Wanted]) -> Vec<&'static Paths> {
    if !measures_in_process(targets) {
        return Vec::new();
    }
    in_process(Experiment::chosen(&request.experiments).unwrap_or_default())
}

/// What of these is measured in process.
pub fn in_process(
    experiments: impl IntoIterator<Item = &'static Experiment>,
) -> Vec<&'static Paths> {
    let of = |e: &'static Experiment| match &e.kind {
        Kind::Paths(paths) => Some(paths),
        _ => None,
    };
    experiments.into_iter().filter_map(of).collect()
}

/// The lab's own programs and servers that have part in what is asked for, and in which experiments of it.
pub fn needed(request: &Request, targets: &[Wanted]) -> BTreeMap<String, Vec<&'static str>> {
    let mut needed: BTreeMap<String, Vec<&'static str>> = BTreeMap::new();
    for e in Experiment::chosen(&request.experiments).unwrap_or_default() {
        let plan = match &e.kind {
            Kind::Paths(paths) => {
                if measures_in_process(targets) {
                    needed.entry(paths.file()).or_default().push(e.name);
                }
                continue;
            }
            Kind::Load(plan) | Kind::Tpcc(plan) => plan,
        };
        let asked = Request { experiments: vec![e.name.to_owned()], ..request.clone() };
        let servers = targets.iter().map(Wanted::name).filter(|name| wants(&asked, targets, name));
        let mut programs: Vec<&str> = Vec::new();
        for server in servers {
            match server {
                "canned" | "bare-sync" => programs.push("canned"),
                "thalweg" | "thalweg-counting" => programs.push(server),
                _ => {}
            }
            if !plan.bare.is_empty() {
                programs.push("sync_loop");
            }
        }
        for program in programs {
            let of = needed.entry(program.to_owned()).or_default();
            if of.last() != Some(&e.name) {
                of.push(e.name);
            }
        }
    }
    needed
}

/// The programs that have part in what is asked for, by name, and where they are: who goes on with it has to have the same.
pub fn programs(request: &Request, targets: &[Wanted], places: &Places) -> Vec<(String, PathBuf)> {
    let names = needed(request, targets).into_keys();
    let of_bench = names.map(|name| (name.clone(), places.programs.join(name)));
    let lab = std::env::current_exe().ok().map(|path| ("lab".to_owned(), path));
    // PostgreSQL 15 has the clients of all of them.
    let theirs = [("pg15", places.pg15.join("postgres")), ("pg18", places.pg18().join("postgres"))];
    let theirs = theirs.map(|(name, path)| (name.to_owned(), path));
    of_bench.chain(lab).chain(theirs).collect()
}

/// Builds the client of TPC-C, and says where it is.
pub fn build_tpcc(places: &Places) -> Result<PathBuf, String> {
    tpcc::build(places)?;
    Ok(tpcc::program(places))
}

/// What is measured in process is Thalweg.
fn measures_in_process(targets: &[Wanted]) -> bool {
    targets.contains(&Wanted::Own("thalweg".to_owned()))
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
            let took_s = begun.elapsed().as_secs_f64();
            progress.note(&format!("{}: {took_s:.0} s", experiment.name));
            self.took(experiment, took_s);
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
        let saved = self.record.keep(&self.folder);
        ended.and(saved.map(drop))
    }

    fn experiment(&mut self, e: &Experiment, progress: &mut Progress) -> Result<(), String> {
        interrupt::check()?;
        self.tell_how(e);
        let scratch = Scratch::new("lab")?;
        match &e.kind {
            Kind::Load(plan) | Kind::Tpcc(plan) => self.servers(e, plan, &scratch, progress),
            Kind::Paths(paths) => self.paths(e, paths, scratch.path(), progress),
        }
    }

    /// Seconds that an experiment takes, about.
    fn weight(&self, e: &Experiment) -> f64 {
        let plan = match &e.kind {
            Kind::Load(plan) | Kind::Tpcc(plan) => plan,
            Kind::Paths(_) if !measures_in_process(&self.targets) => return 0.0,
            Kind::Paths(paths) => {
                let long = self.record.request.long;
                let rounds = self.record.request.rounds.unwrap_or(paths_rounds(long));
                return f64::from(paths.round(long).seconds * rounds);
            }
        };
        let cells = self.cells(e, plan);
        let mut servers: Vec<(&str, usize)> = cells.iter().map(|c| (&*c.target, c.setup)).collect();
        servers.sort_unstable();
        servers.dedup();
        let servers = servers.into_iter().map(|(target, _)| self.server_s(e, plan, target));
        let counted = cells.iter().filter(|cell| self.counts(plan, cell)).count();
        let rounds = self.record.request.rounds.unwrap_or(self.form(plan).rounds);
        let bare = plan.bare.len() as f64 * f64::from(rounds) * BARE_S;
        cells.iter().map(|cell| self.run_s(plan, cell)).sum::<f64>()
            + counted as f64 * COUNTING_S
            + bare
            + servers.sum::<f64>()
            + self.instructions_wanted(plan) as f64 * instructions::EACH_S
    }

    /// Seconds that one run takes, about.
    fn run_s(&self, plan: &Plan, cell: &Cell) -> f64 {
        if impossible(cell).is_some() {
            return 0.0;
        }
        let seconds = self.record.request.seconds.unwrap_or(self.form(plan).seconds);
        let connecting_s = load::usual_connecting_s(&cell.target, cell.clients);
        f64::from(seconds + connecting_s) + EACH_RUN_S
    }

    /// Seconds until a server is started and filled, and stopped again.
    fn server_s(&self, e: &Experiment, plan: &Plan, target: &str) -> f64 {
        let scale = f64::from(self.record.request.scale.unwrap_or(self.form(plan).scale));
        EACH_SERVER_S
            + match e.kind {
                _ if target == "canned" || target == "bare-sync" => 0.0,
                Kind::Tpcc(_) => scale * EACH_WAREHOUSE_S,
                _ => scale * EACH_SCALE_S,
            }
    }

    fn form<'a>(&self, plan: &'a Plan) -> &'a crate::experiments::Form {
        plan.form(self.record.request.long)
    }

    /// Every run of an experiment, in order: repetitions outermost, so that what changes while it lasts shows
    /// in the spread; servers innermost, so that it shows in all of them, each time in another order.
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
        let mut servers: Vec<(&Wanted, usize, &Setup)> = Vec::new();
        for (target, setups) in targets {
            let of = setups.iter().enumerate().map(|(number, setup)| (*target, number, setup));
            servers.extend(of.filter(|(_, _, setup)| {
                setup.batch == batch && (request.long || !setup.long_only)
            }));
        }
        for round in 0..request.rounds.unwrap_or(form.rounds) {
            let mut turn = round as usize;
            for &clients in clients {
                for load in (0..plan.loads.len()).filter(|at| is_asked(request, &plan.loads[*at])) {
                    for (target, setup, how) in in_turn(&servers, turn) {
                        let x = how.cores.map_or(clients, |n| n as u32);
                        let target = target.name().to_owned();
                        cells.push(Cell { target, setup, load, clients, x, round, batch });
                    }
                    turn += 1;
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
        // What is impossible is told, and nobody plans it.
        let planned = cells.iter().filter(|cell| impossible(cell).is_none()).count() + bare;
        if planned == 0 {
            let why = match rounds {
                0 => "it is measured only where --rounds asks for it, in this form",
                _ => "no target and load that were asked for go with this experiment",
            };
            progress.note(&format!("{}: {why}", e.name));
        }
        self.record.results(e.name, e.axis, planned);
        let wanted = |lab: &mut Lab, cell: &Cell| {
            let name = name(plan, &lab.targets, cell);
            let results = lab.record.results(e.name, e.axis, planned);
            !results.has(&cell.target, &name, cell.x, cell.round)
                && !results.is_skipped(&cell.target, &name, cell.x, cell.round)
        };
        // Each batch's servers end before the next one's start.
        for cells in cells.chunk_by(|a, b| a.batch == b.batch) {
            let mut instances = Vec::new();
            let ended = self
                .start_all(e, plan, cells, &mut instances, scratch, progress, &wanted)
                .and_then(|()| {
                    self.rounds(e, plan, cells, &mut instances, scratch, progress, &wanted)
                });
            self.end_all(plan, instances, progress);
            ended?;
        }
        self.instructions(e, plan, &cells, scratch.path(), progress)
    }

    /// Ends the servers, all at the same time, and takes what was made for the runs out of the databases that are given by URL.
    fn end_all(&self, plan: &Plan, instances: Vec<(usize, Instance)>, progress: &Progress) {
        let mut instances: Vec<Instance> = instances.into_iter().map(|(_, one)| one).collect();
        if interrupt::asked() && instances.iter().any(|one| one.server.is_some()) {
            progress.note("interrupted, stopping servers (Ctrl-C again: at once)");
        }
        instances.iter_mut().for_each(Instance::ask_to_stop);
        let written = |one: &&Instance| one.server.is_none() && self.record.request.writes;
        for instance in instances.iter().filter(written) {
            if let Err(why) = instance.clear(plan) {
                progress.note(&format!("{}: tables stay there: {why}", instance.target));
            }
        }
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
            let weight = self.run_s(plan, cell);
            let counting = if self.counts(plan, cell) { COUNTING_S } else { 0.0 };
            let at = instances
                .iter()
                .position(|(setup, i)| *setup == cell.setup && i.target == cell.target);
            if let Some(why) = impossible(cell).filter(|_| wanted(self, cell)) {
                let name = name(plan, &self.targets, cell);
                self.skip(e, &cell.target, &name, Some(cell.x as usize), &why);
            }
            // One that did not start is among those skipped.
            let Some(at) = at.filter(|_| wanted(self, cell)) else {
                progress.skip(weight + counting);
                continue;
            };
            let instance = &mut instances[at].1;
            let takes_s = weight + counting;
            self.cell(e, plan, cell, instance, scratch.path(), (progress, takes_s))?;
            self.record.keep(&self.folder)?;
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
                && !results.is_skipped(DEVICE, BARE, threads, round)
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
                        self.failed(e, (DEVICE, BARE, threads), round, &why);
                    }
                }
                progress.advance(BARE_S);
            } else {
                progress.skip(BARE_S);
            }
        }
        Ok(())
    }

    /// Starts what still has something to do. What fails to start is noted and left out.
    #[allow(clippy::too_many_arguments, reason = "everything that a batch is made of")]
    fn start_all(
        &mut self,
        e: &Experiment,
        plan: &Plan,
        cells: &[Cell],
        instances: &mut Vec<(usize, Instance)>,
        scratch: &Scratch,
        progress: &mut Progress,
        wanted: &dyn Fn(&mut Lab, &Cell) -> bool,
    ) -> Result<(), String> {
        let request = self.record.request.clone();
        for target in self.targets.clone() {
            for (number, setup) in setups(plan, &target).iter().enumerate() {
                let has_work = cells.iter().any(|cell| {
                    (&*cell.target, cell.setup) == (target.name(), number)
                        && impossible(cell).is_none()
                        && wanted(self, cell)
                });
                let weight = self.server_s(e, plan, target.name());
                if !has_work {
                    let planned =
                        |cell: &Cell| cell.target == target.name() && cell.setup == number;
                    progress.skip(if cells.iter().any(planned) { weight } else { 0.0 });
                    continue;
                }
                progress.say(&format!("{}: starting {} {}", e.name, target.name(), setup.name));
                self.enough_space(scratch.path())?;
                let room = match setup.in_memory {
                    true => has_room(Path::new(MEMORY), self.least_free),
                    false => Ok(()),
                };
                let started =
                    room.and_then(|()| self.start(e, plan, &target, setup, scratch.path()));
                match started {
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
                progress.advance(weight);
            }
        }
        Ok(())
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

    /// One run, which takes so many seconds, about.
    fn cell(
        &mut self,
        e: &Experiment,
        plan: &Plan,
        cell: &Cell,
        instance: &mut Instance,
        work: &Path,
        (progress, takes_s): (&mut Progress, f64),
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
        instance.given_up = instance.given_up.take().or_else(|| self.lacks_memory(instance));
        if let Some(why) = instance.given_up.clone() {
            self.skip(e, &cell.target, &name, Some(cell.x as usize), &why);
            progress.skip(takes_s);
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
                }
                let seconds = amount.seconds;
                let (target, variant) = (cell.target.clone(), name);
                let (x, round) = (cell.x, cell.round);
                let run = Run { target, variant, x, round, seconds, figures, samples };
                // Before what is left is told: the run is behind us.
                progress.advance(takes_s);
                progress.result(&run);
                self.record.results(e.name, e.axis, 0).runs.push(run);
            }
            Err(why) => {
                interrupt::check()?;
                self.enough_space(work)?;
                if let Some(ended) = instance.server.as_mut().and_then(|server| server.ended()) {
                    instance.given_up = Some(ended);
                } else if let Some(full) = self.lacks_memory(instance) {
                    instance.given_up = Some(full);
                } else if let Some(silent) = instance.silent() {
                    instance.given_up = Some(format!("{why}; it stopped answering: {silent}"));
                }
                interrupt::check()?;
                let why = instance.given_up.clone().unwrap_or(why);
                progress.advance(takes_s);
                progress.note(&format!("{}: {} {name}: {why}", e.name, cell.target));
                match instance.given_up {
                    Some(_) => self.skip(e, &cell.target, &name, Some(cell.x as usize), &why),
                    None => self.failed(e, (&cell.target, &name, cell.x), cell.round, &why),
                }
            }
        }
        Ok(())
    }

    fn paths(
        &mut self,
        e: &Experiment,
        program: &Paths,
        work: &Path,
        progress: &mut Progress,
    ) -> Result<(), String> {
        let long = self.record.request.long;
        let rounds = self.record.request.rounds.unwrap_or(paths_rounds(long));
        let round_s = f64::from(program.round(long).seconds);
        if !measures_in_process(&self.targets) {
            return Ok(());
        }
        for round in 0..rounds {
            interrupt::check()?;
            progress.say(&format!("{} round {}", e.name, round + 1));
            let results = self.record.results(e.name, e.axis, 0);
            let known = results.runs.iter().any(|run| run.round == round);
            if !known && !results.is_skipped("thalweg", "", 0, round) {
                match paths::round(&self.places, program, long, work, round) {
                    Ok(runs) => {
                        let results = self.record.results(e.name, e.axis, 0);
                        results.planned = runs.len() * rounds as usize;
                        results.runs.extend(runs);
                    }
                    Err(why) => {
                        interrupt::check()?;
                        progress.note(&format!("{}: {why}", e.name));
                        self.failed(e, ("thalweg", "", 0), round, &why);
                    }
                }
                self.record.keep(&self.folder)?;
                progress.advance(round_s);
            } else {
                progress.skip(round_s);
            }
        }
        Ok(())
    }

    /// An error when the disk is nearly full, that of the servers or that of the record: better no run than a spoilt one.
    fn enough_space(&self, work: &Path) -> Result<(), String> {
        let record = self.least_free.min(RECORD_BYTES);
        // The record's folder is made when it is first kept.
        let folder = self.folder.ancestors().find(|place| place.exists()).unwrap_or(work);
        has_room(work, self.least_free)?;
        has_room(folder, record)
    }

    /// Why a server whose directory is memory's is not measured any more. Memory is short on many machines: it ends no run.
    fn lacks_memory(&self, instance: &Instance) -> Option<String> {
        has_room(instance.memory()?, self.least_free).err()
    }

    /// Nothing more of this is tried.
    fn skip(&mut self, e: &Experiment, target: &str, variant: &str, x: Option<usize>, why: &str) {
        self.put(e, (target, variant, x.map(|x| x as u32)), None, why);
    }

    /// One repetition of a cell failed: the others are tried, unless one failed before. In process there are no places.
    fn failed(
        &mut self,
        e: &Experiment,
        (target, variant, x): (&str, &str, u32),
        round: u32,
        why: &str,
    ) {
        let again = self.record.results(e.name, e.axis, 0).has_failed(target, variant, x);
        let x = Some(x).filter(|_| !matches!(e.kind, Kind::Paths(_)));
        self.put(e, (target, variant, x), Some(round).filter(|_| !again), why);
    }

    fn put(
        &mut self,
        e: &Experiment,
        (target, variant, x): (&str, &str, Option<u32>),
        round: Option<u32>,
        why: &str,
    ) {
        let (target, variant, why) = (target.to_owned(), variant.to_owned(), why.to_owned());
        let results = self.record.results(e.name, e.axis, 0);
        results.skipped.push(Skipped { target, variant, x, round, why });
    }
}

/// Servers in the order of one turn: each begins with another one, and once all have begun they go the other way, so that none
/// always finds what the same one has left.
fn in_turn<T: Copy>(servers: &[T], turn: usize) -> Vec<T> {
    let (mut order, count) = (servers.to_vec(), servers.len().max(1));
    order.rotate_left(turn % count);
    if turn / count % 2 == 1 {
        order.reverse();
    }
    order
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

/// Why a cell is not even tried, whatever happens.
fn impossible(cell: &Cell) -> Option<String> {
    let too_many = is_postgres(&cell.target) && cell.clients > MOST_PROCESSES;
    too_many
        .then(|| format!("a process for each connection: the lab opens {MOST_PROCESSES} at most"))
}
