//! Builds: time and size of each index of one large table, all servers' in turn.

use crate::{Options, over_others, size_mib, started};
use bench::figures::{Figure, check};
use bench::servers::{Peer, Scratch};
use std::time::Instant;

const SETTINGS: &[&str] =
    &["shared_buffers=512MB", "max_wal_size=16GB", "checkpoint_timeout=1h", "max_connections=100"];

/// What is built: a name, and what CREATE INDEX says behind the table's.
const INDEXES: [(&str, &str); 9] = [
    ("B-tree, integers in order", "(serial)"),
    ("B-tree, integers in no order", "(spread)"),
    ("B-tree, texts like uuids", "(word)"),
    ("B-tree, 1,000 integers", "(few)"),
    ("B-tree, 100 texts", "(kind)"),
    ("B-tree, 1,000 integers and integers in no order", "(few, spread)"),
    ("hash, integers", "using hash (spread)"),
    ("hash, texts like uuids", "using hash (word)"),
    ("hash, 1,000 integers", "using hash (few)"),
];

/// What was measured, in a sentence.
pub fn about(options: &Options) -> String {
    format!(
        "Builds over {} rows, maintenance_work_mem {}, median of {}.",
        options.rows, options.memory, options.repeats
    )
}

fn seconds(name: &str) -> String {
    format!("{name}: build")
}

fn size(name: &str) -> String {
    format!("{name}: size")
}

pub fn measure(options: &Options) -> Result<Vec<Figure>, String> {
    let work = Scratch::new("indexes")?;
    let mut peers = Vec::new();
    for (port, server) in (54_350..).zip(&options.servers) {
        let peer = started(server, work.path(), port, options, SETTINGS)?;
        let begun = Instant::now();
        load(&peer, options.rows)?;
        eprintln!("{server}: loading took {:.1} s", begun.elapsed().as_secs_f64());
        peers.push(peer);
    }
    let mut figures = Vec::new();
    for _ in 0..options.repeats {
        for (name, definition) in INDEXES {
            for peer in &peers {
                let before = figures.len();
                let begun = Instant::now();
                peer.sql(&format!("create index built on rows {definition}"))?;
                let took = begun.elapsed().as_secs_f64();
                figures.push(Figure::new(seconds(name), &peer.name, took, "s"));
                let mib = size_mib(peer, "built")?;
                figures.push(Figure::new(size(name), &peer.name, mib, "MiB"));
                figures[before..].iter().for_each(Figure::tell);
                peer.sql("drop index built")?;
                // What is left to be written would be the next one's burden.
                peer.sql("checkpoint")?;
            }
        }
    }
    peers.iter_mut().for_each(Peer::stop);
    Ok(figures)
}

/// Ours may take no longer than the faster of the others, and no more room than the smaller.
pub fn checks(options: &Options, figures: &[Figure]) -> Vec<String> {
    let over = |what: String| {
        let over = over_others(options, figures, &what)?;
        Some(check(&format!("{what} over PostgreSQL's"), over, 1.0))
    };
    INDEXES.iter().flat_map(|(name, _)| [seconds(name), size(name)]).filter_map(over).collect()
}

/// Numbers in order; spread over 32 bits, each once; texts like uuids; a thousand integers and a hundred texts that come
/// again and again.
fn load(peer: &Peer, rows: u64) -> Result<(), String> {
    peer.sql("create table rows (serial int, spread bigint, word text, few int, kind text)")?;
    peer.sql(&format!(
        "insert into rows select g, g::bigint * 2654435761 % 4294967291, md5(g::text)::uuid::text, g % 1000, \
         'a kind of row, number ' || g % 100 from generate_series(1, {rows}) g"
    ))?;
    peer.sql("vacuum analyze rows")?;
    peer.sql("checkpoint")
}
