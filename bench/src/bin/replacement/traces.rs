//! Traces: which page is used next, as small models of loads that databases see.

use fastrand::Rng;

/// Number of pages, and the pages used in order.
pub type Trace = (u64, Vec<u64>);

/// Makes a trace of about so many accesses.
type Make = fn(usize) -> Trace;

/// All traces by name.
pub const ALL: &[(&str, Make)] = &[
    ("uniform", uniform),
    ("gauss", gauss),
    ("zipf0.8", |n| zipf(n, 0.8)),
    ("zipf0.99", |n| zipf(n, 0.99)),
    ("zipf1.2", |n| zipf(n, 1.2)),
    ("nurand", nurand),
    ("tpcb", tpcb),
    ("tpcb-zipf", tpcb_zipf),
    ("tpcc", tpcc),
    ("scan-mix", scan_mix),
    ("drift", drift),
    ("loop", looping),
];

const PAGES: u64 = 40_000;

/// Reads a trace that a server has recorded (`storage::buffer::trace` has the format).
///
/// # Errors
/// What is wrong with the file, in words.
pub fn read(path: &str) -> Result<Trace, String> {
    let bytes = std::fs::read(path).map_err(|fault| format!("{path}: {fault}"))?;
    let uses = bytes.strip_prefix(b"THALTRC1").ok_or(format!("{path} is no trace"))?;
    let (mut trace, mut number, mut shift) = (Vec::new(), 0u64, 0);
    for byte in uses {
        if shift > 56 {
            return Err(format!("{path} is damaged"));
        }
        number |= u64::from(byte & 0x7F) << shift;
        shift += 7;
        if byte & 0x80 == 0 {
            trace.push(number);
            (number, shift) = (0, 0);
        }
    }
    // Pages are numbered in the order of first use.
    let pages = trace.iter().max().map_or(0, |most| most + 1);
    Ok((pages, trace))
}

fn uniform(n: usize) -> Trace {
    let mut rng = Rng::with_seed(1);
    (PAGES, (0..n).map(|_| rng.u64(..PAGES)).collect())
}

/// As pgbench's `random_gaussian` with parameter 5: two standard deviations cover 80 % of the range.
fn gauss(n: usize) -> Trace {
    let mut rng = Rng::with_seed(2);
    let mut draw = || {
        let (u, v) = (1.0 - rng.f64(), rng.f64());
        let normal = (-2.0 * u.ln()).sqrt() * (2.0 * std::f64::consts::PI * v).cos();
        let at = 0.5 + normal / 10.0;
        (at.clamp(0.0, 0.999_999) * PAGES as f64) as u64
    };
    (PAGES, (0..n).map(|_| draw()).collect())
}

/// Ranks drawn by Zipf's law, through the cumulated weights.
struct Zipf {
    cumulated: Vec<f64>,
}

impl Zipf {
    fn new(items: u64, exponent: f64) -> Zipf {
        let mut sum = 0.0;
        let weight = |rank: u64| (rank as f64).powf(-exponent);
        let cumulated = (1..=items).map(|rank| {
            sum += weight(rank);
            sum
        });
        Zipf { cumulated: cumulated.collect() }
    }

    fn draw(&self, rng: &mut Rng) -> u64 {
        let total = self.cumulated.last().expect("there are items");
        let at = rng.f64() * total;
        self.cumulated.partition_point(|sum| *sum < at) as u64
    }
}

/// Scatters ranks over pages.
fn scatter(rank: u64, pages: u64) -> u64 {
    rank.wrapping_mul(0x9E37_79B9_7F4A_7C15) % pages
}

fn zipf(n: usize, exponent: f64) -> Trace {
    let mut rng = Rng::with_seed(3);
    let zipf = Zipf::new(PAGES, exponent);
    (PAGES, (0..n).map(|_| zipf.draw(&mut rng)).collect())
}

/// TPC-C's non-uniform numbers, clause 2.1.6.
fn nurand_number(rng: &mut Rng, a: u64, from: u64, to: u64) -> u64 {
    ((rng.u64(0..=a) | rng.u64(from..=to)) + 259 % (a + 1)) % (to - from + 1) + from
}

/// Items picked as TPC-C picks them, 2.5 rows to a page.
fn nurand(n: usize) -> Trace {
    let mut rng = Rng::with_seed(4);
    let draw = |rng: &mut Rng| nurand_number(rng, 8191, 1, 100_000) * 2 / 5;
    (PAGES, (0..n).map(|_| draw(&mut rng)).collect())
}

/// A transaction of TPC-B at page level: for the account, root, inner page and leaf of its index and the heap
/// page, looked at twice by the update and again by the select; the hot small tables; the history's end.
fn tpcb_transaction(account: u64, rng: &mut Rng, history: &mut u64, out: &mut Vec<u64>) {
    const LEAVES: u64 = 6_000;
    const HEAP: u64 = 32_000;
    let (heap, leaf) = (account % HEAP, 1_000_000 + account % HEAP * LEAVES / HEAP);
    let inner = 2_000_000 + (leaf - 1_000_000) / 250;
    for _ in 0..2 {
        out.extend([3_000_000, inner, leaf, heap, heap]);
    }
    let (teller, branch) = (4_000_000 + rng.u64(..40), 5_000_000 + rng.u64(..4));
    out.extend([teller, teller, branch, branch]);
    *history += 1;
    out.push(6_000_000 + *history / 150);
}

fn tpcb_with(n: usize, mut account: impl FnMut(&mut Rng) -> u64) -> Trace {
    let mut rng = Rng::with_seed(5);
    let (mut out, mut history) = (Vec::with_capacity(n + 32), 0);
    while out.len() < n {
        let account = account(&mut rng);
        tpcb_transaction(account, &mut rng, &mut history, &mut out);
    }
    (38_000, out)
}

fn tpcb(n: usize) -> Trace {
    tpcb_with(n, |rng| rng.u64(..32_000))
}

fn tpcb_zipf(n: usize) -> Trace {
    let zipf = Zipf::new(32_000, 0.99);
    tpcb_with(n, move |rng| scatter(zipf.draw(rng), 32_000))
}

/// TPC-C's new orders and payments at page level: hot warehouse and district rows, items and stock by NURand,
/// customers by NURand with their index, orders and lines appended and read again when delivered.
fn tpcc(n: usize) -> Trace {
    const WAREHOUSES: u64 = 8;
    const STOCK: u64 = 3_500;
    const CUSTOMERS: u64 = 1_500;
    let mut rng = Rng::with_seed(6);
    let (mut out, mut orders) = (Vec::with_capacity(n + 64), 0u64);
    while out.len() < n {
        let home = rng.u64(..WAREHOUSES);
        let district = rng.u64(..10);
        out.extend([1_000_000 + home, 1_001_000 + home * 10 + district]);
        let customer = nurand_number(&mut rng, 1023, 1, 3000);
        let place = (district * 3000 + customer) * CUSTOMERS / 30_000;
        out.extend([2_100_000 + place / 60 + home * 30, 2_000_000 + home * CUSTOMERS + place]);
        if rng.u32(..100) < 45 {
            for _ in 0..rng.u32(5..=15) {
                let item = nurand_number(&mut rng, 8191, 1, 100_000) - 1;
                let stock = home * STOCK + item * STOCK / 100_000;
                out.extend([3_000_000 + item / 100, 4_100_000 + stock / 12, 4_000_000 + stock]);
                out.push(4_000_000 + stock);
            }
            orders += 1;
            out.extend([5_000_000 + orders / 100, 6_000_000 + orders / 10]);
        } else if rng.u32(..100) < 8 && orders > 2000 {
            let old = orders - rng.u64(500..1500);
            out.extend([5_000_000 + old / 100, 6_000_000 + old / 10]);
        }
    }
    (WAREHOUSES * (STOCK + CUSTOMERS + 300) + 2_000, out)
}

/// Point reads by Zipf's law, and now and then somebody reads a large table from end to end (without a ring).
fn scan_mix(n: usize) -> Trace {
    let mut rng = Rng::with_seed(7);
    let zipf = Zipf::new(PAGES, 0.9);
    let mut out = Vec::with_capacity(n);
    let mut scanned = None;
    while out.len() < n {
        out.push(scatter(zipf.draw(&mut rng), PAGES));
        match &mut scanned {
            Some(at) if *at < 20_000u64 => {
                out.extend([1_000_000 + *at; 3]);
                *at += 1;
            }
            _ => scanned = (rng.u32(..40_000) == 0).then_some(0),
        }
    }
    (PAGES + 20_000, out)
}

/// Zipf whose favourites move on.
fn drift(n: usize) -> Trace {
    let mut rng = Rng::with_seed(8);
    let zipf = Zipf::new(PAGES, 1.0);
    let page = |(i, rank): (usize, u64)| scatter(rank + i as u64 / 100, PAGES);
    (PAGES, (0..n).map(|_| zipf.draw(&mut rng)).enumerate().map(page).collect())
}

/// The whole table again and again; reported apart, because only luck helps.
fn looping(n: usize) -> Trace {
    (PAGES, (0..n as u64).map(|i| i % PAGES).collect())
}
