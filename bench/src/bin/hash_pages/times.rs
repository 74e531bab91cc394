//! Nanoseconds.

use crate::Options;
use crate::pages::{Ask, Books, FILLS, Fill, Probe};
use crate::ways::{Layout, WAYS, Way};
use base::Tid;
use bench::cpu::thread_nanos;
use bench::record::{median, table_head};
use fastrand::Rng;
use std::fmt::Write;
use std::sync::atomic::{Ordering::SeqCst, fence};
use storage::page::{PageBuf, PageBytes};

/// Pages that the caches have: 128 KiB.
const FEW: u32 = 16;
/// Inserts into each of the few pages before they are what they were again.
const FEW_INSERTS: usize = 16;
/// Look-ups before those that count.
const WARM_UP: usize = 4096;

/// Whether the caches have the pages.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Reach {
    Cache,
    Memory,
}

impl Reach {
    const BOTH: [Reach; 2] = [Reach::Cache, Reach::Memory];

    fn name(self) -> &'static str {
        match self {
            Reach::Cache => "cache",
            Reach::Memory => "memory",
        }
    }

    fn pages(self, books: &Books) -> u32 {
        match self {
            Reach::Cache => FEW.min(books.count),
            Reach::Memory => books.count,
        }
    }
}

/// Nanoseconds of each round.
#[derive(Default)]
struct Rounds(Vec<f64>);

impl Rounds {
    fn told(&self) -> String {
        let of =
            |pick: fn(f64, f64) -> f64| self.0.iter().copied().reduce(pick).unwrap_or(f64::NAN);
        let middle = median(self.0.iter().copied()).unwrap_or(f64::NAN);
        format!("{middle:.0} ({:.0}–{:.0})", of(f64::min), of(f64::max))
    }
}

/// Looks probes up; nanoseconds for each, and TIDs found.
fn look_up(books: &Books, way: &Way, probes: &[Probe], tids: &mut Vec<Tid>) -> (f64, usize) {
    let (pages, mut found) = (books.of(way.layout), 0);
    let began = thread_nanos();
    for probe in probes {
        tids.clear();
        (way.find)(pages.view(probe.page), probe.hash, tids);
        found += tids.len();
        fence(SeqCst);
    }
    ((thread_nanos() - began) as f64 / probes.len() as f64, found)
}

fn look_up_round(
    books: &Books,
    way: &Way,
    (ask, reach): (Ask, Reach),
    (random, count): (&mut Rng, usize),
) -> f64 {
    let mut tids = Vec::new();
    // Others for each way, so that none finds what another has brought into the caches.
    let mut probes = |count| books.probes(random, way.layout, ask, reach.pages(books), count);
    look_up(books, way, &probes(WARM_UP), &mut tids);
    let (nanos, found) = look_up(books, way, &probes(count), &mut tids);
    books.assert_found(way, ask, count, found);
    nanos
}

/// Inserts new keys all over the pages: each gets few.
fn insert_round(books: &mut Books, layout: Layout, random: &mut Rng, count: usize) -> f64 {
    let probes = books.probes(random, layout, Ask::Absent, books.count, count);
    insert_all(books, layout, &probes) as f64 / count as f64
}

/// Inserts them; how long that takes, in nanoseconds.
fn insert_all(books: &mut Books, layout: Layout, probes: &[Probe]) -> u64 {
    let insert = layout.insert();
    let pages = books.of_mut(layout);
    let began = thread_nanos();
    for probe in probes {
        insert(&mut pages.page_mut(probe.page), probe.hash, Tid::from_u64(1));
        fence(SeqCst);
    }
    thread_nanos() - began
}

/// Inserts a few keys into each of the few pages, over and over.
fn insert_few_round(books: &mut Books, layout: Layout, random: &mut Rng, count: usize) -> f64 {
    let few = Reach::Cache.pages(books);
    let before: Vec<PageBuf> = (0..few)
        .map(|page| {
            let mut bytes = PageBytes::new();
            books.of(layout).view(page).to_bytes(&mut bytes);
            PageBuf::from_bytes(&bytes)
        })
        .collect();
    let batch = few as usize * FEW_INSERTS;
    let (mut nanos, mut done) = (0, 0);
    while done < count {
        let mut probes = books.probes(random, layout, Ask::Absent, few, batch);
        probes.iter_mut().enumerate().for_each(|(at, probe)| probe.page = at as u32 % few);
        nanos += insert_all(books, layout, &probes);
        done += batch;
        let pages = books.of_mut(layout);
        for (page, before) in (0..few).zip(&before) {
            pages.page_mut(page).copy_from(before.view());
        }
    }
    nanos as f64 / done as f64
}

fn insert_into(
    books: &mut Books,
    layout: Layout,
    reach: Reach,
    random: &mut Rng,
    count: usize,
) -> f64 {
    match reach {
        Reach::Cache => insert_few_round(books, layout, random, count),
        Reach::Memory => insert_round(books, layout, random, count),
    }
}

/// One fill's rounds, of all seeds.
fn fill_tables(options: &Options, books: &mut Books, fill: Fill, text: &mut String) {
    let cases: Vec<(Ask, Reach)> = Reach::BOTH
        .iter()
        .flat_map(|reach| fill.asks().iter().map(move |ask| (*ask, *reach)))
        .collect();
    let of_cases = || cases.iter().map(|_| Rounds::default()).collect();
    let mut looked: Vec<Vec<Rounds>> = WAYS.iter().map(|_| of_cases()).collect();
    let mut inserted: Vec<[Rounds; 2]> = Layout::ALL.iter().map(|_| Default::default()).collect();
    // Half a page's room is for what the rounds insert.
    let inserts = fill.entries < 400;
    for &seed in &options.seeds {
        books.refill(fill, seed);
        let mut random = Rng::with_seed(seed);
        for round in 0..options.rounds {
            for (at, case) in cases.iter().enumerate() {
                for number in 0..WAYS.len() {
                    let number = (number + round) % WAYS.len();
                    let nanos =
                        look_up_round(books, &WAYS[number], *case, (&mut random, options.lookups));
                    looked[number][at].0.push(nanos);
                }
            }
        }
        for round in 0..if inserts { options.rounds } else { 0 } {
            for (at, reach) in Reach::BOTH.into_iter().enumerate() {
                for number in 0..Layout::ALL.len() {
                    let number = (number + round) % Layout::ALL.len();
                    let layout = Layout::ALL[number];
                    let nanos = insert_into(books, layout, reach, &mut random, options.inserts);
                    inserted[number][at].0.push(nanos);
                }
            }
        }
    }
    writeln!(text, "\n## {}\n", fill.name).expect("strings take writes");
    let name = |case: &(Ask, Reach)| format!("{}: {}", case.1.name(), case.0.name());
    table_head(text, ["look-ups, ns".to_owned()].into_iter().chain(cases.iter().map(name)));
    for (way, rounds) in WAYS.iter().zip(&looked) {
        row(text, way.name, rounds);
    }
    if inserts {
        text.push('\n');
        table_head(text, ["inserts, ns", "cache", "memory"]);
        for (layout, rounds) in Layout::ALL.iter().zip(&inserted) {
            row(text, layout.name(), rounds);
        }
    }
}

fn row(text: &mut String, name: &str, rounds: &[Rounds]) {
    let told: Vec<String> = rounds.iter().map(Rounds::told).collect();
    writeln!(text, "| {name} | {} |", told.join(" | ")).expect("strings take writes");
}

pub fn measure(options: &Options) -> Result<(), String> {
    let mut books = Books::new(options.pages)?;
    println!(
        "{} pages of 8 KiB in each layout (\"memory\"), or {FEW} of them (\"cache\"); {} seeds of {} rounds with {} look-ups and {} \
         inserts of each way in turn. Processor nanoseconds of an operation and the fence behind it: median of all rounds (least–most).",
        options.pages,
        options.seeds.len(),
        options.rounds,
        options.lookups,
        options.inserts,
    );
    for fill in FILLS {
        let mut text = String::new();
        fill_tables(options, &mut books, fill, &mut text);
        print!("{text}");
    }
    Ok(())
}
