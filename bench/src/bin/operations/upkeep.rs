//! Whether background vacuum keeps up by itself: paced updates with each server's own settings for it, and what of the
//! tables is dead and how large they and their indexes are meanwhile.

use crate::parts::{figure_after, pgbench};
use crate::{Bench, OURS, Options};
use bench::figures::{self, Figure};
use bench::servers::{Peer, output};
use std::time::{Duration, Instant};

const SETTINGS: &[&str] = &["shared_buffers=128MB", "max_wal_size=1GB", "max_connections=100"];
/// pgbench's scale: small enough that vacuum is due several times in a run.
const SCALE: u32 = 2;
/// How often tables are looked at.
const LOOK: Duration = Duration::from_secs(2);
/// How far sizes may move in the second half of a run. What takes part in it is not due at its half and at its end alike.
const LEVEL: f64 = 1.1;

/// A load: its name, what makes its tables, and its script where it is not pgbench's own.
struct Load {
    name: &'static str,
    prepare: &'static [&'static str],
    script: Option<&'static str>,
}

/// No update of the second leaves the indexes alone.
const LOADS: [Load; 2] = [
    Load { name: "TPC-B", prepare: &[], script: None },
    Load {
        name: "updates of an indexed column",
        prepare: &[
            "create table upkeep (id int primary key, key int, filler text)",
            "insert into upkeep select i, i, repeat('x', 80) from generate_series(1, 100000) i",
            "create index on upkeep (key)",
            "vacuum analyze upkeep",
        ],
        script: Some(
            "\\set id random(1, 100000)\n\\set key random(1, 1000000)\n\
             update upkeep set key = :key where id = :id;\n",
        ),
    },
];

/// What is looked at.
#[derive(Clone, Copy, Default)]
struct Look {
    dead: f64,
    tables_mib: f64,
    indexes_mib: f64,
}

impl Look {
    /// At all tables but the one that only grows.
    fn at(peer: &Peer) -> Result<Look, String> {
        let told = peer.value(
            "select coalesce(sum(n_dead_tup), 0), sum(pg_relation_size(relid)), sum(pg_indexes_size(relid)) \
             from pg_stat_user_tables where relname <> 'pgbench_history'",
        )?;
        let numbers: Vec<f64> = told.split('|').filter_map(|n| n.parse().ok()).collect();
        let [dead, tables, indexes] = numbers[..] else {
            return Err(format!("{}: strange sizes: {told}", peer.name));
        };
        let mib = f64::from(1 << 20);
        Ok(Look { dead, tables_mib: tables / mib, indexes_mib: indexes / mib })
    }

    fn mib(&self) -> f64 {
        self.tables_mib + self.indexes_mib
    }
}

/// See the module.
pub fn measure(options: &Options, server: &str, figures: &mut Vec<Figure>) -> Result<(), String> {
    for load in &LOADS {
        let mut bench = Bench::new(server, SETTINGS)?;
        let peer = &bench.peer;
        match load.script {
            None => {
                output(peer.client("pgbench").args(["-i", "-q", "-s", &SCALE.to_string()]))?;
            }
            Some(_) => load.prepare.iter().try_for_each(|statement| peer.sql(statement))?,
        }
        peer.sql("checkpoint")?;
        let looks = watched(options, peer, load)?;
        let mut add = |what: Name, value, unit| {
            figures.push(Figure::new(what(load.name, options.upkeep_seconds), server, value, unit));
        };
        let (first, last) = (looks[0], looks[looks.len() - 1]);
        let half = looks[looks.len() / 2];
        let most = looks.iter().map(|look| look.dead).fold(0.0, f64::max);
        add(|load, s| format!("{load}, {s} s: most dead rows"), most, "rows");
        add(|load, s| format!("{load}, {s} s: dead rows at the end"), last.dead, "rows");
        add(|load, s| format!("{load}, {s} s: tables at first"), first.tables_mib, "MiB");
        add(|load, s| format!("{load}, {s} s: tables at the end"), last.tables_mib, "MiB");
        add(|load, s| format!("{load}, {s} s: indexes at first"), first.indexes_mib, "MiB");
        add(|load, s| format!("{load}, {s} s: indexes at the end"), last.indexes_mib, "MiB");
        add(level, last.mib() / half.mib(), "times");
        add(growth, last.mib() / first.mib(), "times");
        bench.peer.stop();
    }
    Ok(())
}

/// A figure's name, by load and seconds.
type Name = fn(&str, u32) -> String;

fn level(load: &str, seconds: u32) -> String {
    format!("{load}, {seconds} s: size at the end over half-way")
}

fn growth(load: &str, seconds: u32) -> String {
    format!("{load}, {seconds} s: size at the end over at first")
}

/// Looks at the tables until the load has ended.
fn watched(options: &Options, peer: &Peer, load: &Load) -> Result<Vec<Look>, String> {
    let script = peer.socket_dir.join("upkeep.sql");
    if let Some(text) = load.script {
        std::fs::write(&script, text).map_err(|e| format!("{}: {e}", script.display()))?;
    }
    let script = script.display().to_string();
    let how = if load.script.is_some() { ["-f", script.as_str()] } else { ["-b", "tpcb-like"] };
    let (rate, seconds) = (options.upkeep_rate.to_string(), options.upkeep_seconds.to_string());
    let args = [&how[..], &["-R", &rate, "-T", &seconds]].concat();
    let mut looks = vec![Look::at(peer)?];
    std::thread::scope(|scope| -> Result<(), String> {
        let run = scope.spawn(|| pgbench(peer, "off", &args));
        let mut next = Instant::now();
        while !run.is_finished() {
            next += LOOK;
            while !run.is_finished() && Instant::now() < next {
                std::thread::sleep(Duration::from_millis(100));
            }
            looks.push(Look::at(peer)?);
        }
        let text = run.join().map_err(|_| "the run ended in a panic")??;
        let done = figure_after(&text, "number of transactions actually processed: ")?;
        let wanted = f64::from(options.upkeep_rate) * f64::from(options.upkeep_seconds);
        match done >= 0.9 * wanted {
            true => Ok(()),
            // Then it made less garbage than the others.
            false => Err(format!("{}: {done} transactions of {wanted}", peer.name)),
        }
    })?;
    Ok(looks)
}

/// What is asked of ours: that sizes have come to rest, and how far they have come until then.
pub fn checks(options: &Options, figures: &[Figure]) -> Vec<String> {
    let mut lines = Vec::new();
    for load in &LOADS {
        let name = level(load.name, options.upkeep_seconds);
        if let Some(ours) = figures::median_of(figures, &name, OURS) {
            lines.push(figures::check(&name, ours, LEVEL));
        }
        let name = growth(load.name, options.upkeep_seconds);
        let ours = figures::median_of(figures, &name, OURS);
        let better = figures::least_of_others(figures, &name, &options.servers, OURS);
        if let Some((ours, better)) = ours.zip(better) {
            let what = format!("{name}, over the better PostgreSQL's");
            lines.push(figures::check(&what, ours / better, 1.0));
        }
    }
    lines
}
