//! One transaction with very many savepoints, none released: what a savepoint costs in time and memory, and whether
//! that grows with their number.

use bench::record::table_head;

use bench::servers::{Peer, output, resident_kib};
use std::fmt::Write as _;
use std::fs::File;
use std::io::{BufWriter, Write as _};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// PostgreSQL keeps some 10 KiB for each open subtransaction, and needs longer for each the more there are: a million
/// would take 10 GiB and hours. Somewhere beyond 40,000 its lock table is full as it is set up by default.
const DEEPEST_POSTGRES: u32 = 25_000;

/// Whether so many savepoints are asked of this server; the size of pools makes no difference here.
pub fn is_for(peer: &str, savepoints: u32) -> bool {
    peer == "thalweg" || (!peer.ends_with(crate::LARGE) && savepoints <= DEEPEST_POSTGRES)
}

/// What a transaction of so many savepoints, each before an insert, took.
pub struct Deep {
    pub peer: String,
    pub savepoints: u32,
    pub time: Duration,
    /// By how much the server's resident memory grew at most.
    pub grown_kib: u64,
}

/// Runs one such transaction, on a server that has just been started.
pub fn run(peer: &mut Peer, savepoints: u32, work: &Path) -> Result<Deep, String> {
    peer.stop();
    peer.restart()?;
    let script = work.join("deep.sql");
    write_script(&script, savepoints).map_err(|e| format!("{}: {e}", script.display()))?;
    let mut psql = peer.client("psql");
    psql.args(["-q", "-X", "-v", "ON_ERROR_STOP=1", "-o", "/dev/null", "-f"]).arg(&script);
    let (before, ended) = (resident_kib(peer.pid())?, AtomicBool::new(false));
    let begun = Instant::now();
    let (done, most) = std::thread::scope(|scope| {
        let watch = scope.spawn(|| {
            let mut most = before;
            while !ended.load(Ordering::Relaxed) {
                most = most.max(resident_kib(peer.pid()).unwrap_or(0));
                std::thread::sleep(Duration::from_millis(20));
            }
            most
        });
        let done = output(&mut psql);
        ended.store(true, Ordering::Relaxed);
        (done, watch.join())
    });
    let time = begun.elapsed();
    done.map_err(|e| format!("{savepoints} savepoints on {}: {e}", peer.name))?;
    let grown_kib = most.map_err(|_| "the watch on memory ended")?.saturating_sub(before);
    Ok(Deep { peer: peer.name.clone(), savepoints, time, grown_kib })
}

fn write_script(path: &Path, savepoints: u32) -> std::io::Result<()> {
    let mut script = BufWriter::new(File::create(path)?);
    writeln!(script, "TRUNCATE test;\nBEGIN;")?;
    for _ in 0..savepoints {
        writeln!(script, "SAVEPOINT s;\nINSERT INTO test VALUES (1);")?;
    }
    // Had one of them been lost, the division would fail.
    writeln!(script, "SELECT 1 / (count(*) = {savepoints})::int FROM test;\nCOMMIT;")?;
    script.flush()
}

/// Adds the table to a record.
pub fn write_table(text: &mut String, runs: &[Deep]) {
    if runs.is_empty() {
        return;
    }
    text.push_str(&format!(
        "\nOne transaction of savepoints, none released, an insert behind each; PostgreSQL is asked for \
         {DEEPEST_POSTGRES} at most:\n\n"
    ));
    let columns = ["server", "savepoints", "s", "µs each", "memory, MiB", "bytes each"];
    table_head(text, columns);
    for run in runs {
        let (seconds, each) = (run.time.as_secs_f64(), f64::from(run.savepoints));
        writeln!(
            text,
            "| {} | {} | {seconds:.1} | {:.1} | {:.0} | {:.0} |",
            run.peer,
            run.savepoints,
            seconds * 1e6 / each,
            run.grown_kib as f64 / 1024.0,
            run.grown_kib as f64 * 1024.0 / each,
        )
        .expect("strings take writes");
    }
}
