//! What a run of the lab leaves: one JSON file that describes itself. A value that a server can't tell is
//! absent; zero means zero.

use crate::statistics::is_postgres;
use bench::servers::output;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Version of the format.
pub const FORMAT: u32 = 1;
/// The record's name in its directory.
pub const FILE: &str = "record.json";
/// By so much the memory of one machine may differ.
const MEMORY_KIB: u64 = 64 << 10;
/// Why a record is partial as long as nothing better is known.
pub const CUT_OFF: &str = "cut off, or still running";

/// One run of the lab.
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq)]
pub struct Record {
    pub format: u32,
    /// Date and time of the beginning, UTC.
    pub started: String,
    /// Commit that Thalweg's program was built from, if it tells.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub commit: Option<String>,
    /// The first digits of the SHA-256 of that program.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub program: Option<String>,
    /// The same of every program that has part in it, the lab's own too; of PostgreSQL's its version.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub programs: BTreeMap<String, String>,
    pub machine: Machine,
    /// File system and device that servers' directories were on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data_on: Option<String>,
    /// When something was measured: a record that was gone on with has several.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sittings: Vec<Sitting>,
    /// What was asked for; what resumes takes it from here.
    pub request: Request,
    /// Why the record is partial; absent when it is whole.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stopped: Option<String>,
    pub experiments: Vec<Results>,
}

/// Date and time, UTC.
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq)]
pub struct Sitting {
    pub begun: String,
    /// When it was written last.
    pub ended: String,
}

/// Where it ran.
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq)]
pub struct Machine {
    pub processor: String,
    pub cores: usize,
    pub memory_kib: u64,
    pub kernel: String,
}

/// What was asked for.
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq, Default)]
pub struct Request {
    pub experiments: Vec<String>,
    /// Names; servers given by URL with their place, as `NAME=URL`.
    pub targets: Vec<String>,
    /// The long form; else the short one.
    pub long: bool,
    /// Instead of the form's own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seconds: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rounds: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub clients: Option<Vec<u32>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scale: Option<u32>,
    /// Beginnings of the names of loads; without it all of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub loads: Option<Vec<String>>,
    /// Whether servers given by URL may be written to.
    #[serde(default)]
    pub writes: bool,
}

/// One experiment's results.
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq)]
pub struct Results {
    pub name: String,
    /// What `x` counts: `clients`, `cores`, `threads`.
    pub axis: String,
    /// Runs that a whole record has.
    pub planned: usize,
    /// Of pgbench's tables, or warehouses. Absent, as the next two, in records from before it was asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scale: Option<u32>,
    /// What all servers were started with, by the empty name, and besides each server of a setup; of what is measured in process,
    /// what it was told.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub settings: BTreeMap<String, Vec<String>>,
    /// Seconds, of all sittings, servers' starts included.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub took_s: Option<f64>,
    /// What could not be measured, and why.
    pub skipped: Vec<Skipped>,
    pub runs: Vec<Run>,
}

/// Something that could not be measured.
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq)]
pub struct Skipped {
    pub target: String,
    pub variant: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub x: Option<u32>,
    /// The one repetition that failed; without it nothing more of these was tried.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub round: Option<u32>,
    pub why: String,
}

/// One measured run.
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq)]
pub struct Run {
    pub target: String,
    pub variant: String,
    pub x: u32,
    pub round: u32,
    pub seconds: u32,
    /// Figures of the whole run by name; see [`figure`].
    pub figures: BTreeMap<String, f64>,
    /// Over time, about once a second.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub samples: Vec<Sample>,
}

/// Names of figures. Those "per transaction" say so in the report.
pub mod figure {
    /// Transactions (or operations) per second.
    pub const TPS: &str = "tps";
    /// Processor time of the server per transaction, microseconds, user and kernel.
    pub const SERVER_CPU: &str = "server_cpu_us";
    /// Processor time of the client per transaction, microseconds.
    pub const CLIENT_CPU: &str = "client_cpu_us";
    /// Context switches of the machine per transaction.
    pub const SWITCHES: &str = "switches";
    /// Bytes of log per transaction.
    pub const WAL_BYTES: &str = "wal_bytes";
    /// Syncs of the log per transaction.
    pub const FSYNCS: &str = "fsyncs";
    /// Syncs of the log and of tables' and indexes' files per transaction.
    pub const ALL_FSYNCS: &str = "all_fsyncs";
    /// Pages that the background writer or cleaner wrote, in the run.
    pub const CLEANED: &str = "buffers_cleaned";
    /// Pages that the checkpointer wrote, likewise.
    pub const CHECKPOINTED: &str = "buffers_checkpointed";
    /// Pages that sessions wrote themselves, likewise.
    pub const BY_SESSIONS: &str = "buffers_by_sessions";
    /// Pages that got a place in the cache, in the run.
    pub const ALLOCATED: &str = "buffers_allocated";
    /// Bytes of tables' and indexes' files that the system's cache holds after the run, in MiB.
    pub const HELD_TWICE: &str = "system_cache_mib";
    /// The same over the bytes of those files.
    pub const HELD_SHARE: &str = "system_cache_share";
    /// The machine's memory that is written to files and not on disk yet: its 95th percentile over the run less the 5th, KiB.
    pub const DIRTY_SPREAD: &str = "dirty_kib_spread";
    /// The average.
    pub const MEAN: &str = "latency_ms_mean";
    pub const P50: &str = "latency_ms_p50";
    pub const P90: &str = "latency_ms_p90";
    pub const P99: &str = "latency_ms_p99";
    pub const P999: &str = "latency_ms_p999";
    pub const MAX: &str = "latency_ms_max";
    /// The 99th percentile of the second in which it was highest.
    pub const WORST_SECOND: &str = "latency_ms_worst_second";
    /// Transactions that the client beside has done since the server was started, or since it was itself.
    pub const BESIDE: &str = "beside_done";
    /// Futex calls of the server per transaction, counted in an extra run.
    pub const FUTEX: &str = "futex_calls";
    /// Context switches of the server's own threads per transaction, likewise.
    pub const OWN_SWITCHES: &str = "server_switches";
    /// Instructions of the server in user mode per transaction, likewise, where the processor counts them.
    pub const INSTRUCTIONS: &str = "instructions";
    /// Times that a context of the server parked, per transaction, in a build that counts.
    pub const PARKS: &str = "parks";
    /// Latches that it took, likewise.
    pub const LATCHES: &str = "latches";
    /// Those of them that it had to wait for.
    pub const LATCH_WAITS: &str = "latch_waits";
    /// Atomics that it wrote, but for pages' contents, likewise; what of that hit a line of which another thread had a copy,
    /// and such lines of pages' contents.
    pub const WRITES: &str = "atomic_writes";
    pub const SHARED_LINES: &str = "shared_lines";
    pub const PAGE_LINES: &str = "page_lines";
    /// With the name of a kind of latch behind it: how often one is held per transaction, likewise.
    pub const HOLDS: &str = "holds: ";
    /// How long, on average, in nanoseconds.
    pub const HOLD_MEAN: &str = "hold_ns_mean: ";
    /// What 99 of 100 holds are shorter than.
    pub const HOLD_P99: &str = "hold_ns_p99: ";
    /// What all of them are shorter than.
    pub const HOLD_MAX: &str = "hold_ns_max: ";
}

/// What was seen at one time of a run. Rates are per second since the sample before.
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq, Default)]
pub struct Sample {
    /// Seconds since the run began.
    pub at_s: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tps: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub latency_ms_p50: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub latency_ms_p99: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub latency_ms_max: Option<f64>,
    /// Cores that the server kept busy.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub server_cpu: Option<f64>,
    /// Cores that the client kept busy.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub client_cpu: Option<f64>,
    /// Context switches of the machine.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub switches: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wal_bytes: Option<f64>,
    /// Syncs of the log.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fsyncs: Option<f64>,
    /// And of tables' and indexes' files.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub all_fsyncs: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub buffers_cleaned: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub buffers_checkpointed: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub buffers_by_sessions: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub buffers_allocated: Option<f64>,
    /// Memory of the machine that is written to files and not yet on disk.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dirty_kib: Option<f64>,
    /// Sessions at work by what they wait for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waits: Option<BTreeMap<String, u32>>,
}

impl Record {
    /// An empty one, begun now, partial until it is said to be whole.
    pub fn begin(request: Request) -> Record {
        let shell = bench::record::shell;
        let number = |command: &str| shell(command).parse().ok();
        Record {
            format: FORMAT,
            started: bench::record::date(),
            commit: None,
            program: None,
            programs: BTreeMap::new(),
            machine: Machine {
                processor: shell("grep -m1 'model name' /proc/cpuinfo | cut -d: -f2"),
                cores: std::thread::available_parallelism().map_or(1, usize::from),
                memory_kib: number("awk '/MemTotal/ {print $2}' /proc/meminfo").unwrap_or(0),
                kernel: shell("uname -r"),
            },
            data_on: None,
            sittings: Vec::new(),
            request,
            stopped: Some(CUT_OFF.to_owned()),
            experiments: Vec::new(),
        }
    }

    /// That measuring begins, or goes on.
    pub fn sit_down(&mut self) {
        let place = std::env::temp_dir().display().to_string();
        let told =
            bench::record::shell(&format!("df --output=fstype,source '{place}' | tail -n 1"));
        let told = told.split_whitespace().collect::<Vec<_>>().join(" on ");
        self.data_on = Some(told).filter(|told| !told.is_empty());
        let now = bench::record::date();
        self.sittings.push(Sitting { begun: now.clone(), ended: now });
    }

    /// Writes it as [`Record::save`] does, and that it was measured until now.
    pub fn keep(&mut self, folder: &Path) -> Result<PathBuf, String> {
        if let Some(sitting) = self.sittings.last_mut() {
            sitting.ended = bench::record::date();
        }
        self.save(folder)
    }

    /// That this program of Thalweg's is what is measured.
    pub fn measures(mut self, program: &Path) -> Record {
        let version = output(Command::new(program).arg("--version")).unwrap_or_default();
        self.commit = commit_in(&version).map(str::to_owned);
        self.program = sum(program);
        self
    }

    /// That these have part in it: of what is no PostgreSQL's the sum counts. What is not there has none.
    pub fn uses(mut self, programs: &[(String, PathBuf)]) -> Record {
        let told = |(name, path): &(String, PathBuf)| {
            let told = if is_postgres(name) { version(path) } else { sum(path) };
            Some((name.clone(), told?))
        };
        self.programs = programs.iter().filter_map(told).collect();
        self
    }

    /// Whether both are of the same programs, as far as both tell.
    pub fn has_programs_of(&self, other: &Record) -> bool {
        let same = |(name, told): (&String, &String)| {
            other.programs.get(name).is_none_or(|there| there == told)
        };
        (&self.commit, &self.program) == (&other.commit, &other.program)
            && self.programs.iter().all(same)
    }

    /// Reads a record: the file, or its directory.
    pub fn load(path: &Path) -> Result<Record, String> {
        let file = if path.is_dir() { path.join(FILE) } else { path.to_owned() };
        let text =
            std::fs::read_to_string(&file).map_err(|e| format!("{}: {e}", file.display()))?;
        let record: Record = serde_json::from_str(&text)
            .map_err(|e| format!("{} is no record of the lab: {e}", file.display()))?;
        if record.format != FORMAT {
            return Err(format!(
                "{} has format {}, and this lab reads {FORMAT}",
                file.display(),
                record.format
            ));
        }
        Ok(record)
    }

    /// Writes it to its directory; a reader sees the old one or the new one, whole.
    pub fn save(&self, folder: &Path) -> Result<PathBuf, String> {
        let file = folder.join(FILE);
        let text = serde_json::to_string_pretty(self).map_err(|e| e.to_string())?;
        write_whole(&file, text.as_bytes())?;
        Ok(file)
    }

    /// The results of an experiment, empty if there are none yet; `planned` is 0 where it is not known.
    pub fn results(&mut self, name: &str, axis: &str, planned: usize) -> &mut Results {
        let at = self.experiments.iter().position(|e| e.name == name).unwrap_or_else(|| {
            self.experiments.push(Results {
                name: name.to_owned(),
                axis: axis.to_owned(),
                planned,
                scale: None,
                settings: BTreeMap::new(),
                took_s: None,
                skipped: Vec::new(),
                runs: Vec::new(),
            });
            self.experiments.len() - 1
        });
        // Whoever only looks for them does not know how many runs there are to be.
        if planned > 0 {
            self.experiments[at].planned = planned;
        }
        &mut self.experiments[at]
    }
}

impl Skipped {
    /// Whether it is of this cell.
    pub fn is_of(&self, target: &str, variant: &str, x: u32) -> bool {
        (&*self.target, &*self.variant) == (target, variant)
            && self.x.is_none_or(|skipped| skipped == x)
    }

    /// The place on the axis and the repetition, for a sentence.
    pub fn place(&self, axis: &str) -> String {
        let x = self.x.map(|x| format!(" {x} {axis}")).unwrap_or_default();
        let round = self.round.map(|round| format!(" round {}", round + 1)).unwrap_or_default();
        x + &round
    }
}

impl Results {
    /// Whether this was measured already.
    pub fn has(&self, target: &str, variant: &str, x: u32, round: u32) -> bool {
        let same = |r: &Run| (&*r.target, &*r.variant, r.x, r.round) == (target, variant, x, round);
        self.runs.iter().any(same)
    }

    /// Whether this was found impossible, or has failed in this round.
    pub fn is_skipped(&self, target: &str, variant: &str, x: u32, round: u32) -> bool {
        self.skipped
            .iter()
            .any(|s| s.is_of(target, variant, x) && s.round.is_none_or(|r| r == round))
    }

    /// Whether one repetition of this failed already.
    pub fn has_failed(&self, target: &str, variant: &str, x: u32) -> bool {
        self.skipped.iter().any(|s| s.is_of(target, variant, x))
    }

    /// The values of one figure in the rounds of one cell.
    pub fn values(&self, target: &str, variant: &str, x: u32, figure: &str) -> Vec<f64> {
        let these = |r: &&Run| r.target == target && r.variant == variant && r.x == x;
        self.runs.iter().filter(these).filter_map(|r| r.figures.get(figure).copied()).collect()
    }

    /// Targets in the order of their first run.
    pub fn targets(&self) -> Vec<&str> {
        in_order(self.runs.iter().map(|r| &*r.target))
    }

    /// Variants in the order of their first run.
    pub fn variants(&self) -> Vec<&str> {
        in_order(self.runs.iter().map(|r| &*r.variant))
    }

    /// Values of the axis, ascending.
    pub fn xs(&self) -> Vec<u32> {
        let mut xs: Vec<u32> = self.runs.iter().map(|r| r.x).collect();
        xs.sort_unstable();
        xs.dedup();
        xs
    }
}

/// The first digits of the SHA-256 of a file, if it is there.
fn sum(file: &Path) -> Option<String> {
    output(Command::new("sha256sum").arg(file)).ok()?.get(..16).map(str::to_owned)
}

/// What PostgreSQL says that it is. The libraries of one that is not installed lie beside it.
fn version(program: &Path) -> Option<String> {
    let mut command = Command::new(program);
    command.arg("--version").env("LD_LIBRARY_PATH", program.parent()?.with_file_name("lib"));
    Some(output(&mut command).ok()?.trim().to_owned())
}

impl Machine {
    /// Whether it is the same one: a kernel does not keep the same memory for itself at each start.
    pub fn is(&self, other: &Machine) -> bool {
        let all_but_memory = |machine: &Machine| Machine { memory_kib: 0, ..machine.clone() };
        self.memory_kib.abs_diff(other.memory_kib) <= MEMORY_KIB
            && all_but_memory(self) == all_but_memory(other)
    }
}

/// The commit in what `thalweg --version` prints, `thalweg 0.1.0 (commit 0123abc)`.
pub fn commit_in(version: &str) -> Option<&str> {
    version.trim().split_once("(commit ")?.1.strip_suffix(')')
}

fn in_order<'a>(names: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let mut seen = Vec::new();
    names.for_each(|name| {
        if !seen.contains(&name) {
            seen.push(name);
        }
    });
    seen
}

/// Writes a file beside its place and moves it there.
pub fn write_whole(file: &Path, bytes: &[u8]) -> Result<(), String> {
    let failed = |e: std::io::Error| format!("{} can't be written: {e}", file.display());
    let beside = file.with_extension("unfinished");
    if let Some(folder) = file.parent() {
        std::fs::create_dir_all(folder).map_err(failed)?;
    }
    let written = std::fs::write(&beside, bytes).and_then(|()| std::fs::rename(&beside, file));
    written.map_err(|e| {
        let _ = std::fs::remove_file(&beside);
        failed(e)
    })
}
