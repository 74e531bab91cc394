//! The inside of a hash index's page: the search and the insertion that are built, interpolation among sorted entries, beside
//! others, above all fingerprints that are compared in bulk (`ways/`). In memory, one thread, without buffer, latches and log.
//!
//! Tables of processor nanoseconds for each look-up and insert: on so many pages that nearly each is one that the caches do
//! not have, and on 16 that they have; look-ups of keys that are there and of others. Each operation is followed by a full
//! fence, so that none runs into the next: what is around a page in the index keeps them apart, too. Rounds are short, and ways
//! take turns in each. A build with the feature `lab-hash-lines` tells instead how many of the page's lines each reads and
//! writes. `bench/hash_pages.sh` makes both and records what they print.

#[cfg(feature = "lab-hash-lines")]
mod lines;
mod pages;
#[cfg(not(feature = "lab-hash-lines"))]
mod times;
mod ways;

use bench::options::{self, Words};
use std::process::ExitCode;

const USAGE: &str = "\
usage: hash_pages [--pages 131072] [--seeds 1,2,3] [--rounds 5] [--lookups 100000] [--inserts 50000]
       hash_pages --circumstances";

pub struct Options {
    /// For each layout; memory is five times so many of 8 KiB.
    pages: u32,
    /// Keys differ from seed to seed.
    seeds: Vec<u64>,
    /// With each seed.
    rounds: usize,
    /// Of each way in a round.
    lookups: usize,
    inserts: usize,
    /// Only date, machine and commit are printed.
    circumstances: bool,
}

fn options() -> Result<Options, String> {
    let mut options = Options {
        pages: 131_072,
        seeds: vec![1, 2, 3],
        rounds: 5,
        lookups: 100_000,
        inserts: 50_000,
        circumstances: false,
    };
    let mut words = Words::of_process(USAGE);
    while let Some(option) = words.option() {
        match option.as_str() {
            "--pages" => options.pages = words.number()?,
            "--seeds" => options.seeds = words.numbers()?,
            "--rounds" => options.rounds = words.number()?,
            "--lookups" => options.lookups = words.number()?,
            "--inserts" => options.inserts = words.number()?,
            "--circumstances" => options.circumstances = true,
            _ => return Err(words.unknown()),
        }
    }
    Ok(options)
}

#[cfg(feature = "lab-hash-lines")]
use lines::measure;
#[cfg(not(feature = "lab-hash-lines"))]
use times::measure;

fn run(options: &Options) -> Result<(), String> {
    if options.circumstances {
        println!("{}", bench::record::circumstances());
        return Ok(());
    }
    measure(options)
}

fn main() -> ExitCode {
    options::end("hash_pages", options().and_then(|options| run(&options)))
}
