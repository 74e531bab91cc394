//! The experiments: what is asked, with which servers, under which loads. Scripts and the story of each lie
//! in its folder, `lab/NAME`.

mod checks;
mod list;
mod setups;

pub use checks::{BARE, Check, DEVICE};
pub use list::ALL;

use crate::model::{Results, figure};
use crate::seeds::Published;

/// One experiment.
pub struct Experiment {
    /// Its folder's name too.
    pub name: &'static str,
    pub title: &'static str,
    pub question: &'static str,
    /// What the horizontal axis counts.
    pub axis: &'static str,
    pub measure: Measure,
    /// Whether servers that the lab did not start may be asked this.
    pub read_only: bool,
    /// What the seeds' threads published of it.
    pub seeds: &'static [Published],
    /// Our own ratio to draw beside theirs: each variant over another one of the same server; without, ours
    /// over the better PostgreSQL.
    pub own_baseline: Option<Baseline>,
    /// What our ratios say and what the seed's do, where these are not the same: each stands above its own.
    pub ratios_say: Option<[&'static str; 2]>,
    /// What its figures have to be, and others that it is made for.
    pub checks: fn(&Results) -> Vec<Check>,
    /// What is drawn over time.
    pub over_time: &'static [Course],
    pub kind: Kind,
}

/// What variants are compared with.
#[derive(Clone, Copy, Debug)]
pub enum Baseline {
    /// This one.
    Variant(&'static str),
    /// Each with the one whose name ends so, instead of in what stands behind the last comma of its own, or in it all.
    Last(&'static str),
    /// Each with the one whose name begins so, before what stands behind the last comma of its own.
    First(&'static str),
}

impl Baseline {
    /// The variant that this one is compared with, unless it is that itself.
    pub fn of(self, variant: &str) -> Option<String> {
        let baseline = match self {
            Baseline::Variant(name) => name.to_owned(),
            Baseline::Last(word) => {
                let rest = variant.rsplit_once(", ").map_or("", |(rest, _)| rest);
                self::variant(rest, word)
            }
            Baseline::First(words) => {
                let (_, last) = variant.rsplit_once(", ")?;
                format!("{words}, {last}")
            }
        };
        (baseline != variant).then_some(baseline)
    }

    /// For a sentence and an axis.
    pub fn name(self) -> &'static str {
        match self {
            Baseline::Variant(name) | Baseline::Last(name) | Baseline::First(name) => name,
        }
    }
}

/// The figure that decides.
#[derive(Clone, Copy)]
pub struct Measure {
    pub figure: &'static str,
    pub label: &'static str,
    pub lower_is_better: bool,
}

impl Measure {
    /// What whoever is better does, and what whoever is worse is.
    pub fn words(&self) -> (&'static str, &'static str) {
        match self.lower_is_better {
            false => ("is faster", "slower"),
            true if self.figure == figure::SERVER_CPU => ("takes less of a processor", "more"),
            true => ("waits less", "longer"),
        }
    }
}

/// Transactions per second.
pub const THROUGHPUT: Measure =
    Measure { figure: figure::TPS, label: "transactions per second", lower_is_better: false };
/// Where averages hide the story.
pub const WORST_LATENCY: Measure = Measure {
    figure: figure::P99,
    label: "99th percentile of latency, milliseconds",
    lower_is_better: true,
};

/// What one in a thousand waits longer than.
pub const TAIL_LATENCY: Measure = Measure {
    figure: figure::P999,
    label: "99.9th percentile of latency, milliseconds",
    lower_is_better: true,
};
/// What the seed of buffer replacement tells.
pub const AVERAGE_LATENCY: Measure =
    Measure { figure: figure::MEAN, label: "average latency, milliseconds", lower_is_better: true };
/// What it costs whoever runs it.
pub const PROCESSOR: Measure = Measure {
    figure: figure::SERVER_CPU,
    label: "server's processor time per transaction, microseconds",
    lower_is_better: true,
};

/// What a course over time shows.
#[derive(Clone, Copy, PartialEq)]
pub enum Course {
    Throughput,
    Latency,
    Dirty,
    Cleaned,
    Written,
    Fsyncs,
}

/// How it is measured.
pub enum Kind {
    /// pgbench against servers.
    Load(Plan),
    /// go-tpc against servers.
    Tpcc(Plan),
    /// In process.
    Paths(Paths),
}

/// A program of `bench` that measures in process and tells a line for each path.
pub struct Paths {
    pub program: &'static str,
    /// With which of the laboratory's features it is built, where it is not the one that everybody has.
    pub feature: Option<&'static str>,
    pub short: Round,
    pub long: Round,
}

/// How it is asked once.
pub struct Round {
    pub arguments: &'static [&'static str],
    /// What that takes, about.
    pub seconds: u32,
}

impl Paths {
    /// The form that was asked for.
    pub fn round(&self, long: bool) -> &Round {
        if long { &self.long } else { &self.short }
    }

    /// Its file's name: the build with a feature lies beside the other one.
    pub fn file(&self) -> String {
        match self.feature {
            Some(feature) => format!("{}-{feature}", self.program),
            None => self.program.to_owned(),
        }
    }
}

/// Servers and loads.
pub struct Plan {
    /// Servers that it makes sense for, of those that the lab can start.
    pub targets: &'static [&'static str],
    /// Settings for all of them.
    pub settings: &'static [&'static str],
    /// Ways to set up each target; each is a server of its own.
    pub setups: fn(&str) -> Vec<Setup>,
    /// What `pgbench -i` is told besides.
    pub init: &'static [&'static str],
    /// Statements after pgbench's tables are there.
    pub prepare: &'static [&'static str],
    pub loads: &'static [Load],
    /// By so many threads each round, what the disk allows is measured beside: a bare loop of writes and syncs.
    pub bare: &'static [u32],
    /// Whether calls of the system are counted, in an extra run of each place's first round.
    pub counts: bool,
    /// Whether `callgrind` counts instructions, in the long form: the only way where the processor counts none.
    pub instructions: bool,
    pub short: Form,
    pub long: Form,
}

/// A cache in which pgbench's tables of scale 20 have room.
const HOLDS_DATA: &str = "shared_buffers=512MB";

/// How large, how long, how often.
pub struct Form {
    pub scale: u32,
    pub seconds: u32,
    pub rounds: u32,
    pub clients: &'static [u32],
}

/// One way to set up a server.
#[derive(Clone, Default)]
pub struct Setup {
    /// Goes into the variant's name.
    pub name: String,
    pub settings: Vec<String>,
    /// Cores that it may run on, the first ones; then they are the axis, and not the clients.
    pub cores: Option<usize>,
    /// Only those of one number run at the same time, the lowest first.
    pub batch: u32,
    /// Whether its directory lies on a memory file system, where nothing is durable.
    pub in_memory: bool,
    /// Whether the short form leaves it out.
    pub long_only: bool,
}

/// What clients do.
pub struct Load {
    /// Goes into the variant's name.
    pub name: &'static str,
    pub script: Script,
    /// Session settings.
    pub options: &'static str,
    /// Transactions per second that clients start, instead of as many as they can.
    pub pace: Option<u32>,
    /// What one more client repeats beside.
    pub beside: Option<Beside>,
    /// Share of the transactions whose latency is logged.
    pub sampling: f64,
    /// Statements before each run.
    pub before: &'static [&'static str],
}

/// One more client.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Beside {
    pub script: &'static str,
    /// Whether a transaction of its lasts longer than a run: then it goes on between the runs of a server, so that they come
    /// to their end.
    pub lasting: bool,
    /// A query that tells how many of its transactions are done.
    pub done: &'static str,
}

/// A script of pgbench.
#[derive(Clone, Copy)]
pub enum Script {
    /// One of its own.
    BuiltIn(&'static str),
    Text(&'static str),
}

impl Experiment {
    /// For a list: its name, whether servers given by URL are only read by it, and what it asks. What is measured in process asks
    /// no server anything.
    pub fn line(&self) -> String {
        let reads = self.read_only && !matches!(self.kind, Kind::Paths(_));
        let mark = if reads { "[read-only] " } else { "" };
        format!("{:<16} {mark}{}", self.name, self.question)
    }

    /// The experiment of this name.
    pub fn find(name: &str) -> Result<&'static Experiment, String> {
        ALL.iter().find(|e| e.name == name).ok_or_else(|| {
            let known: Vec<&str> = ALL.iter().map(|e| e.name).collect();
            format!("no experiment is called '{name}'; there are {}", known.join(", "))
        })
    }

    /// Those that the names choose; `all` stands for every one.
    pub fn chosen(names: &[String]) -> Result<Vec<&'static Experiment>, String> {
        let mut chosen = Vec::new();
        for name in names {
            match name.as_str() {
                "all" => chosen.extend(ALL),
                name => chosen.push(Experiment::find(name)?),
            }
        }
        Ok(chosen)
    }
}

impl Plan {
    /// The tables that are made before the loads, but for pgbench's own.
    pub fn tables(&self) -> impl Iterator<Item = &'static str> {
        let made =
            self.prepare.iter().filter_map(|statement| statement.strip_prefix("CREATE TABLE "));
        made.filter_map(|rest| rest.split(' ').next())
    }

    /// Whether the cache of a server that is set up so holds pgbench's tables, so that runs begin with all of them in it.
    pub fn holds_data(&self, setup: &Setup) -> bool {
        let is_size = |setting: &&str| setting.starts_with("shared_buffers=");
        let of_setup = setup.settings.iter().map(String::as_str).find(is_size);
        of_setup.or_else(|| self.settings.iter().copied().find(is_size)) == Some(HOLDS_DATA)
    }

    /// The form that was asked for.
    pub fn form(&self, long: bool) -> &Form {
        if long { &self.long } else { &self.short }
    }
}

/// The name of a cell's variant: what of both names there is.
pub fn variant(setup: &str, load: &str) -> String {
    match (setup, load) {
        ("", load) => load.to_owned(),
        (setup, "") => setup.to_owned(),
        (setup, load) => format!("{setup}, {load}"),
    }
}
