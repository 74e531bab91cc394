//! Churn: a table is filled by inserts; then clients insert a row and delete the oldest one, for minutes. Its indexes see
//! keys come and go in order, in no order, and over and over. What they take over what they take when they are built anew.

use crate::{OURS, Options, size_mib, started};
use bench::figures::{Figure, check};
use bench::servers::{Peer, Scratch, output};
use std::path::Path;
use std::time::{Duration, Instant};

/// Vacuum comes soon: the size that rows take until then is the table's matter, not the indexes'.
const SETTINGS: &[&str] = &[
    "shared_buffers=512MB",
    "max_wal_size=4GB",
    "max_connections=100",
    "autovacuum_naptime=5s",
    "autovacuum_vacuum_scale_factor=0.05",
];

/// Their definitions, by name.
const INDEXES: [(&str, &str); 6] = [
    ("rows_id", "create unique index rows_id on rows (id)"),
    ("rows_spread", "create index rows_spread on rows (spread)"),
    ("rows_word", "create index rows_word on rows (word)"),
    ("rows_few", "create index rows_few on rows (few)"),
    ("rows_hash", "create index rows_hash on rows using hash (spread)"),
    ("rows_hash_few", "create index rows_hash_few on rows using hash (few)"),
];

/// How often sizes are looked at.
const LOOK: Duration = Duration::from_secs(5);

/// No index may ever be so many times as large as freshly built.
const MOST: f64 = 1.3;

/// What was measured, in a sentence.
pub fn about(options: &Options) -> String {
    format!(
        "Churn: {} rows are inserted into empty indexes; then {} clients insert a row and delete the oldest, {} times a \
         second, {} minutes; vacuum when 5 % of the rows are dead, looked for every 5 s; synchronous_commit off. Sizes over \
         those of the same indexes freshly built.",
        options.churn_rows, options.clients, options.rate, options.minutes
    )
}

/// Keys in no order are drawn from so many.
const SPREAD: u64 = 1_000_000_000_000_000;

const TIMES: &str = "times freshly built";
const FILLED: &str = "filled by inserts";
const MOST_SEEN: &str = "largest while rows came and went";
const AT_THE_END: &str = "at the end";

pub fn measure(options: &Options) -> Result<Vec<Figure>, String> {
    let mut figures = Vec::new();
    for server in &options.servers {
        let before = figures.len();
        let work = Scratch::new("churn")?;
        let mut peer = started(server, work.path(), 54_360, options, SETTINGS)?;
        one(options, &peer, work.path(), &mut figures)?;
        peer.stop();
        figures[before..].iter().for_each(Figure::tell);
    }
    Ok(figures)
}

pub fn checks(figures: &[Figure]) -> Vec<String> {
    let ours = figures.iter().filter(|figure| figure.server == OURS && figure.unit == TIMES);
    ours.map(|figure| check(&figure.what, figure.value, MOST)).collect()
}

/// One server's part.
fn one(
    options: &Options,
    peer: &Peer,
    work: &Path,
    figures: &mut Vec<Figure>,
) -> Result<(), String> {
    let rows = options.churn_rows;
    peer.sql("create table rows (id bigint, spread bigint, word text, few int)")?;
    INDEXES.iter().try_for_each(|(_, definition)| peer.sql(definition))?;
    peer.sql(&format!(
        "insert into rows select g, (random() * {SPREAD})::bigint, md5(g::text)::uuid::text, g % 1000 \
         from generate_series(1::bigint, {rows}) g"
    ))?;
    peer.sql(&format!("create sequence ids start {}", rows + 1))?;
    peer.sql("vacuum analyze rows")?;
    let filled = sizes(peer)?;
    let script = work.join("churn.sql");
    let text = format!(
        "\\set spread random(1, {SPREAD})\n\
         select nextval('ids') as id \\gset\n\
         insert into rows values (:id::bigint, :spread::bigint, md5(:id::bigint::text)::uuid::text, :id::bigint % 1000);\n\
         delete from rows where id = :id::bigint - {rows};\n"
    );
    std::fs::write(&script, text).map_err(|e| format!("{}: {e}", script.display()))?;
    let largest = churn(options, peer, &script)?;
    let done: f64 = peer.value("select last_value from ids")?.parse().unwrap_or(f64::NAN);
    figures.push(Figure::new("rows that came and went", &peer.name, done - rows as f64, "rows"));
    let at_the_end = sizes(peer)?;
    verify(peer)?;
    // As many rows as ever.
    peer.sql("reindex table rows")?;
    let fresh = sizes(peer)?;
    for (when, sizes) in [(FILLED, filled), (MOST_SEEN, largest), (AT_THE_END, at_the_end)] {
        for ((index, _), (size, fresh)) in INDEXES.iter().zip(sizes.iter().zip(&fresh)) {
            let what = format!("{index}: {when}");
            figures.push(Figure::new(what, &peer.name, size / fresh, TIMES));
        }
    }
    Ok(())
}

fn sizes(peer: &Peer) -> Result<Vec<f64>, String> {
    INDEXES.iter().map(|(index, _)| size_mib(peer, index)).collect()
}

/// Lets the clients work; the largest size of each index.
fn churn(options: &Options, peer: &Peer, script: &Path) -> Result<Vec<f64>, String> {
    let seconds = (options.minutes * 60.0).ceil().to_string();
    let mut pgbench = peer.client("pgbench");
    pgbench.args(["-n", "-M", "prepared", "-c", &options.clients.to_string(), "-j", "2"]);
    pgbench.args(["-T", &seconds, "-R", &options.rate.to_string(), "-f"]).arg(script);
    pgbench.env("PGOPTIONS", "-c synchronous_commit=off");
    let mut largest = sizes(peer)?;
    let text = std::thread::scope(|scope| -> Result<String, String> {
        let running = scope.spawn(move || output(&mut pgbench));
        let mut looked = Instant::now();
        while !running.is_finished() {
            std::thread::sleep(Duration::from_millis(100));
            if looked.elapsed() >= LOOK {
                looked = Instant::now();
                let now = sizes(peer)?;
                largest.iter_mut().zip(now).for_each(|(most, now)| *most = most.max(now));
            }
        }
        running.join().map_err(|_| "the clients ended in a panic")?
    })?;
    match bench::pgbench::number_after(&text, "number of failed transactions: ") {
        Some(0.0) => Ok(largest),
        _ => Err(format!("{}: failed transactions: {text}", peer.name)),
    }
}

/// Ours can say whether its indexes are right.
fn verify(peer: &Peer) -> Result<(), String> {
    if peer.name != OURS {
        return Ok(());
    }
    peer.sql("create extension if not exists amcheck")?;
    INDEXES.iter().try_for_each(|(index, definition)| {
        let method = if definition.contains("using hash") { "hash" } else { "bt" };
        peer.sql(&format!("select {method}_index_check('{index}', true)"))
    })
}
