//! What the buffer cache's paths cost, in nanoseconds: hot holds, reads without a latch, hits spread over
//! many pages, misses. One line for each path and number of threads; the median of several rounds.
//!
//! `cargo run --release -p bench --bin buffer_paths [-- SECONDS_PER_ROUND]`

use base::disk::real::RealDisk;
use base::env::Env;
use base::rank::Rank;
use base::{BlockNo, Fork, RelId};
use bench::cpu::thread_nanos;
use std::hint::black_box;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};
use storage::buffer::{Config, Optimistic, Pool, Relation};
use storage::page::PageKind;
use storage::relfile::RelFiles;

const FRAMES: usize = 4096;
const RESIDENT: u32 = 2048;
const ON_DISK: u32 = 4 * FRAMES as u32;
const ROUNDS: usize = 5;
const BURST: u64 = 256;

/// A path under test: one step with a running number and a generator state.
type Step = fn(&Relation, &mut u64);

fn next(state: &mut u64) -> u64 {
    *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    *state >> 33
}

fn spread(state: &mut u64, below: u32) -> BlockNo {
    BlockNo((next(state) % u64::from(below)) as u32)
}

const PATHS: &[(&str, Step)] = &[
    ("loop alone", |_, state| {
        black_box(next(state));
    }),
    ("read, one hot page", |rel, _| {
        let page = rel.read(Fork::Main, BlockNo(7)).expect("resident");
        black_box(page.get_u64(64));
    }),
    ("optimistic, one hot page", |rel, _| {
        let seen = rel.optimistic(Fork::Main, BlockNo(7), |page| Some(page.get_u64(64)));
        assert!(matches!(black_box(seen), Optimistic::Ok(_)));
    }),
    ("pin, one hot page", |rel, _| {
        black_box(&rel.pin(Fork::Main, BlockNo(7)).expect("resident"));
    }),
    ("write, one hot page", |rel, _| {
        let mut page = rel.write(Fork::Main, BlockNo(7)).expect("resident");
        page.mark_dirty();
        page.put_u64(64, 1);
    }),
    ("read, 2048 pages", |rel, state| {
        let page = rel.read(Fork::Main, spread(state, RESIDENT)).expect("resident");
        black_box(page.get_u64(64));
    }),
    ("optimistic, 2048 pages", |rel, state| {
        let seen =
            rel.optimistic(Fork::Main, spread(state, RESIDENT), |page| Some(page.get_u64(64)));
        black_box(seen);
    }),
    ("read, data four times the cache", |rel, state| {
        let page = rel.read(Fork::Main, spread(state, ON_DISK)).expect("readable");
        black_box(page.get_u64(64));
    }),
    ("write, data four times the cache", |rel, state| {
        let mut page = rel.write(Fork::Main, spread(state, ON_DISK)).expect("readable");
        page.mark_dirty();
        page.put_u64(64, 1);
    }),
];

/// Nanoseconds per step and thread: of processor time, which other programs hardly disturb, and of the wall
/// clock.
fn round(rel: &Relation, step: Step, threads: u64, time: Duration) -> (f64, f64) {
    let (stop, steps) = (AtomicBool::new(false), AtomicU64::new(0));
    let busy = AtomicU64::new(0);
    let start = Instant::now();
    std::thread::scope(|scope| {
        for seed in 0..threads {
            let (stop, steps, busy) = (&stop, &steps, &busy);
            scope.spawn(move || {
                let (mut state, mut done) = (seed + 1, 0);
                let began = thread_nanos();
                while !stop.load(Ordering::Relaxed) {
                    for _ in 0..BURST {
                        step(rel, &mut state);
                    }
                    done += BURST;
                }
                steps.fetch_add(done, Ordering::Relaxed);
                busy.fetch_add(thread_nanos() - began, Ordering::Relaxed);
            });
        }
        std::thread::sleep(time);
        stop.store(true, Ordering::Relaxed);
    });
    let steps = steps.into_inner() as f64;
    let wall = start.elapsed().as_nanos() as f64 * threads as f64 / steps;
    (busy.into_inner() as f64 / steps, wall)
}

fn main() {
    let seconds: f64 = std::env::args().nth(1).map_or(0.4, |s| s.parse().expect("seconds"));
    let dir = std::env::temp_dir().join(format!("thalweg-buffer-paths-{}", std::process::id()));
    let env = Env::new(Arc::new(RealDisk::new(&dir)));
    env.disk.create_dir("").expect("a temporary directory");
    let files = Arc::new(RelFiles::open(Arc::clone(&env.disk), 100).expect("a directory"));
    let config = Config { frames: FRAMES, ..Config::default() };
    let pool = Pool::open(&env, config, files).expect("a pool");
    let rel = pool.create_relation(RelId(5), Rank::HeapPage).expect("a relation");
    for _ in 0..ON_DISK {
        let mut page = rel.extend(Fork::Main).expect("space");
        page.mark_dirty();
        page.init(PageKind::Heap, 0);
    }
    for _ in 0..8 {
        for block in 0..RESIDENT {
            drop(rel.read(Fork::Main, BlockNo(block)).expect("readable"));
        }
    }
    println!("ns per operation and thread         1: cpu      wall    2: cpu      wall");
    for (name, step) in PATHS {
        print!("{name:<32}");
        for threads in [1, 2] {
            let time = Duration::from_secs_f64(seconds);
            let all: Vec<_> = (0..ROUNDS).map(|_| round(&rel, *step, threads, time)).collect();
            let median = |figure: fn(&(f64, f64)) -> f64| {
                let mut figures: Vec<f64> = all.iter().map(figure).collect();
                figures.sort_by(f64::total_cmp);
                figures[ROUNDS / 2]
            };
            print!("{:>10.1}{:>10.1}", median(|r| r.0), median(|r| r.1));
        }
        println!();
    }
    println!("{:?}", pool.stats());
    pool.stop();
    std::fs::remove_dir_all(dir).expect("our own directory");
}
