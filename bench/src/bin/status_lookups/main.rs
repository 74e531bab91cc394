//! What became of a transaction, asked over and over: the engine's status log (banks, hits without a latch)
//! beside the caches that the first seed is about: a latch for each bank, one LRU counter over all banks, and
//! one bank with one latch. Look-ups per second over 1 to 16 threads; medians of interleaved rounds.
//!
//! `cargo run --release -p bench --bin status_lookups [-- --rounds 5 --lookups 2000000 --threads 1,2,4,8,16]`; with `--paths` it
//! tells nanoseconds of a thread for each look-up, a line for each cache, as the lab reads them, and records nothing.

mod latched;

use base::Lsn;
use base::disk::real::RealDisk;
use bench::options::{self, Words};
use bench::record::{self, median, table_head};
use bench::servers::Scratch;
use latched::Latched;
use std::fmt::Write;
use std::hint::black_box;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::Barrier;
use std::time::Instant;
use storage::txlog::LogKind;
use storage::txlog::slru::{BANK_SLOTS, PAGE_WORDS, Page, Slru};

/// Transactions that are asked about.
const TRANSACTIONS: u64 = 10_000_000;
/// Transactions of a word of the log.
const PER_WORD: u64 = 32;
const PER_PAGE: u64 = PER_WORD * PAGE_WORDS as u64;
const PAGES: u64 = TRANSACTIONS.div_ceil(PER_PAGE);
/// Banks that hold all pages.
const BANKS: u64 = PAGES.div_ceil(BANK_SLOTS as u64);
/// Ids that a thread asks for, over and over; more than its caches keep of the log.
const KEYS: usize = 1 << 18;

const USAGE: &str = "\
usage: status_lookups [--rounds 5] [--lookups 2000000] [--threads 1,2,4,8,16] [--no-record]
                      [--paths]";

struct Options {
    rounds: usize,
    lookups: u64,
    threads: Vec<usize>,
    record: bool,
    /// Only lines for the lab.
    paths: bool,
}

fn options() -> Result<Options, String> {
    let mut options = Options {
        rounds: 5,
        lookups: 2_000_000,
        threads: vec![1, 2, 4, 8, 16],
        record: true,
        paths: false,
    };
    let mut words = Words::of_process(USAGE);
    while let Some(option) = words.option() {
        match option.as_str() {
            "--rounds" => options.rounds = words.number()?,
            "--lookups" => options.lookups = words.number()?,
            "--threads" => options.threads = words.numbers()?,
            "--no-record" => options.record = false,
            "--paths" => options.paths = true,
            _ => return Err(words.unknown()),
        }
    }
    Ok(options)
}

fn main() -> ExitCode {
    options::end("status_lookups", options().and_then(|options| run(&options)))
}

/// A cache under test.
enum Cache {
    Engine(Box<Slru>),
    Latched(Box<Latched>),
}

impl Cache {
    /// The two bits of a transaction, and the shared lines written for them.
    #[inline]
    fn status(&self, xid: u64) -> (u64, u32) {
        let (page, within) = (xid / PER_PAGE, xid % PER_PAGE);
        let index = (within / PER_WORD) as usize;
        let (word, lines) = match self {
            // A hit writes a line only if its page has not been used for five arrivals; none arrives here.
            Cache::Engine(slru) => {
                (slru.read(page, |words| words.word(index)).expect("every page is here"), 0)
            }
            Cache::Latched(latched) => latched.read(page, index),
        };
        ((word >> (within % PER_WORD * 2)) & 3, lines)
    }
}

/// What a word of the log holds here; every transaction's bits can be told from it.
fn word_of(page: u64, index: u64) -> u64 {
    (page * PAGE_WORDS as u64 + index).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

fn status_of(xid: u64) -> u64 {
    let word = word_of(xid / PER_PAGE, xid % PER_PAGE / PER_WORD);
    (word >> (xid % PER_WORD * 2)) & 3
}

fn engine(directory: &Scratch) -> Result<Cache, String> {
    let disk = Arc::new(RealDisk::new(directory.path()));
    base::disk::Disk::create_dir(&*disk, "txlog").map_err(|e| e.to_string())?;
    let slru = Slru::open(LogKind::Xact, BANKS as usize, 0, disk, Arc::new(|_| ()));
    let slru = slru.map_err(|e| e.to_string())?;
    for page in 0..PAGES {
        let fill = |words: &Page| {
            (0..PAGE_WORDS).for_each(|index| words.set(index, word_of(page, index as u64)));
        };
        slru.begin(page, Lsn::ZERO, fill).map_err(|e| e.to_string())?;
    }
    Ok(Cache::Engine(Box::new(slru)))
}

fn latched(banks: u64, one_counter: bool) -> Cache {
    Cache::Latched(Box::new(Latched::new(banks, PAGES, one_counter, |page| {
        let words = Page::new(PAGE_WORDS);
        (0..PAGE_WORDS).for_each(|index| words.set(index, word_of(page, index as u64)));
        words
    })))
}

/// How the ids that are asked for are spread.
#[derive(Clone, Copy)]
enum Spread {
    Uniform,
    /// The newest most, with exponent 0.99.
    Zipf,
}

impl Spread {
    fn keys(self, seed: u64) -> Vec<u64> {
        let mut rng = fastrand::Rng::with_seed(seed);
        let zipf = |u: f64| {
            let rest = 0.01;
            let n = (TRANSACTIONS as f64).powf(rest) - 1.0;
            TRANSACTIONS - ((n * u + 1.0).powf(1.0 / rest) as u64).clamp(1, TRANSACTIONS)
        };
        (0..KEYS)
            .map(|_| match self {
                Spread::Uniform => rng.u64(..TRANSACTIONS),
                Spread::Zipf => zipf(rng.f64()),
            })
            .collect()
    }
}

/// One round: millions of look-ups per second of all threads together, from the first one's begin to the last
/// one's end.
fn round(cache: &Cache, keys: &[Vec<u64>], lookups: u64) -> Result<f64, String> {
    let ready = Barrier::new(keys.len());
    let each = lookups / keys.len() as u64;
    let ask = |keys: &[u64]| {
        ready.wait();
        let begun = Instant::now();
        let mut sum = 0;
        for at in 0..each {
            sum += cache.status(keys[at as usize % KEYS]).0;
        }
        black_box(sum);
        (begun, Instant::now())
    };
    let times: Vec<(Instant, Instant)> = std::thread::scope(|scope| {
        let threads: Vec<_> = keys.iter().map(|keys| scope.spawn(|| ask(keys))).collect();
        threads.into_iter().filter_map(|thread| thread.join().ok()).collect()
    });
    let begun = times.iter().map(|(begun, _)| *begun).min();
    let ended = times.iter().map(|(_, ended)| *ended).max();
    let (Some(begun), Some(ended)) = (begun, ended) else { return Err("no thread ended".into()) };
    let lookups = each as f64 * times.len() as f64;
    Ok(lookups / (ended - begun).as_secs_f64() / 1e6)
}

/// Makes sure that a cache answers rightly; shared lines written per look-up.
fn verify(cache: &Cache, keys: &[u64]) -> Result<f64, String> {
    let mut lines = 0;
    for &xid in keys {
        let (status, written) = cache.status(xid);
        if status != status_of(xid) {
            return Err(format!("transaction {xid}: {status} instead of {}", status_of(xid)));
        }
        lines += u64::from(written);
    }
    Ok(lines as f64 / keys.len() as f64)
}

fn run(options: &Options) -> Result<(), String> {
    let directory = Scratch::new("status-lookups")?;
    let caches = [
        ("banks, hits without a latch (the engine)", engine(&directory)?),
        ("banks, a latch each", latched(BANKS, false)),
        ("banks, a latch each, one LRU counter", latched(BANKS, true)),
        ("one bank, one latch", latched(1, false)),
    ];
    if options.paths {
        for (name, spread) in [("uniform", Spread::Uniform), ("Zipf 0.99", Spread::Zipf)] {
            paths(options, &caches, name, spread)?;
        }
        return Ok(());
    }
    let mut text = record::heading("Status look-ups in process");
    writeln!(
        text,
        "{TRANSACTIONS} transactions, {PAGES} pages, all in memory; {} look-ups a round; median of {} \
         interleaved rounds (least to most), millions of look-ups per second of all threads together.\n",
        options.lookups, options.rounds
    )
    .expect("strings take writes");
    for (title, spread) in [("Uniform", Spread::Uniform), ("Zipf 0.99", Spread::Zipf)] {
        writeln!(text, "## {title}\n").expect("strings take writes");
        table(&mut text, options, &caches, spread)?;
    }
    drop(directory);
    record::print_and_save("status-lookups", &text, options.record)
}

/// What each thread asks for.
fn asked(options: &Options, spread: Spread) -> Vec<Vec<u64>> {
    let most = options.threads.iter().copied().max().unwrap_or(1);
    (0..most as u64).map(|seed| spread.keys(seed + 1)).collect()
}

/// Millions of look-ups per second by cache, number of threads and round; rounds outermost.
fn measured(
    options: &Options,
    caches: &[(&str, Cache)],
    keys: &[Vec<u64>],
) -> Result<Vec<Vec<Vec<f64>>>, String> {
    let mut results = vec![vec![Vec::new(); options.threads.len()]; caches.len()];
    for _ in 0..options.rounds {
        for (column, &threads) in options.threads.iter().enumerate() {
            for (row, (_, cache)) in caches.iter().enumerate() {
                let rate = round(cache, &keys[..threads], options.lookups)?;
                results[row][column].push(rate);
            }
        }
    }
    Ok(results)
}

/// Lines `CACHE, SPREAD  1 thread X ns  2 threads Y ns …`: medians.
fn paths(
    options: &Options,
    caches: &[(&str, Cache)],
    name: &str,
    spread: Spread,
) -> Result<(), String> {
    let keys = asked(options, spread);
    let results = measured(options, caches, &keys)?;
    for ((cache_name, cache), results) in caches.iter().zip(results) {
        // A wrong answer is worth nothing, however fast.
        verify(cache, &keys[0])?;
        let mut line = format!("{cache_name}, {name}");
        for (threads, values) in options.threads.iter().zip(results) {
            let rate = median(values).ok_or("no round was run")?;
            let plural = if *threads == 1 { "" } else { "s" };
            write!(line, "  {threads} thread{plural} {:.3} ns", *threads as f64 * 1e3 / rate)
                .expect("strings take writes");
        }
        println!("{line}");
    }
    Ok(())
}

fn table(
    text: &mut String,
    options: &Options,
    caches: &[(&str, Cache)],
    spread: Spread,
) -> Result<(), String> {
    let keys = asked(options, spread);
    let results = measured(options, caches, &keys)?;
    let threads = options.threads.iter().map(|threads| format!("{threads} threads"));
    let columns = ["cache".to_owned(), "lines written".to_owned()].into_iter().chain(threads);
    table_head(text, columns);
    for ((name, cache), results) in caches.iter().zip(results) {
        write!(text, "| {name} | {:.2} |", verify(cache, &keys[0])?).expect("strings take writes");
        for values in results {
            let least = values.iter().copied().fold(f64::INFINITY, f64::min);
            let greatest = values.iter().copied().fold(0.0, f64::max);
            let middle = median(values).ok_or("no round was run")?;
            write!(text, " {middle:.1} ({least:.1}–{greatest:.1}) |").expect("strings take writes");
        }
        text.push('\n');
    }
    text.push('\n');
    Ok(())
}
