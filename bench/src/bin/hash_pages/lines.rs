//! Cache lines of the page that each search reads, and each insertion reads and writes.

use crate::Options;
use crate::pages::{Ask, Books, FILLS, Fill};
use crate::ways::{Layout, WAYS, Way};
use base::Tid;
use bench::record::table_head;
use fastrand::Rng;
use std::fmt::Write;
use storage::page::lines;

/// Lines read, in the mean.
fn look_up(books: &Books, way: &Way, ask: Ask, random: &mut Rng, count: usize) -> f64 {
    let mut tids = Vec::new();
    let (mut read, mut found) = (0, 0);
    for probe in books.probes(random, way.layout, ask, books.count, count) {
        tids.clear();
        lines::take();
        (way.find)(books.of(way.layout).view(probe.page), probe.hash, &mut tids);
        read += lines::take().read.count_ones();
        found += tids.len();
    }
    books.assert_found(way, ask, count, found);
    f64::from(read) / count as f64
}

/// Lines read or written, lines written, and bytes written, in the mean.
fn insert(books: &mut Books, layout: Layout, random: &mut Rng, count: usize) -> [f64; 3] {
    let mut sums = [0; 3];
    for probe in books.probes(random, layout, Ask::Absent, books.count, count) {
        let mut page = books.of_mut(layout).page_mut(probe.page);
        lines::take();
        layout.insert()(&mut page, probe.hash, Tid::from_u64(1));
        let touched = lines::take();
        sums[0] += u64::from((touched.read | touched.written).count_ones());
        sums[1] += u64::from(touched.written.count_ones());
        sums[2] += touched.words_written * 8;
    }
    sums.map(|sum| sum as f64 / count as f64)
}

fn fill_tables(options: &Options, books: &mut Books, fill: Fill) -> String {
    let mut text = format!("\n## {}\n\n", fill.name);
    let seed = options.seeds.first().copied().unwrap_or(1);
    books.refill(fill, seed);
    let mut random = Rng::with_seed(seed);
    table_head(
        &mut text,
        ["lines read"].into_iter().chain(fill.asks().iter().map(|ask| ask.name())),
    );
    for way in WAYS.iter().filter(|way| !way.is_plain) {
        write!(text, "| {} |", way.name).expect("strings take writes");
        for ask in fill.asks() {
            let read = look_up(books, way, *ask, &mut random, options.lookups);
            write!(text, " {read:.2} |").expect("strings take writes");
        }
        text.push('\n');
    }
    if fill.entries < 400 {
        text.push('\n');
        table_head(&mut text, ["inserts", "lines touched", "lines written", "bytes written"]);
        for layout in Layout::ALL {
            let [touched, written, bytes] = insert(books, layout, &mut random, options.inserts);
            let name = layout.name();
            writeln!(text, "| {name} | {touched:.1} | {written:.1} | {bytes:.0} |")
                .expect("strings take writes");
        }
    }
    text
}

pub fn measure(options: &Options) -> Result<(), String> {
    let mut books = Books::new(options.pages)?;
    println!(
        "The page's lines of 64 bytes, {} of which the page has: means of {} look-ups and {} inserts.",
        storage::page::PAGE_BYTES / 64,
        options.lookups,
        options.inserts
    );
    for fill in FILLS {
        print!("{}", fill_tables(options, &mut books, fill));
    }
    Ok(())
}
