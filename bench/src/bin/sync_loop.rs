//! What a disk allows: each thread writes a block of a file of its own, made before, and has it synced, again and again.
//! Nothing that makes every commit durable by a sync of its own gets through more.
//!
//! `cargo run --release -p bench --bin sync_loop -- [--threads 1,8] [--seconds 2] [--directory DIRECTORY]`

use bench::options::{self, Words};
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};

const USAGE: &str = "usage: sync_loop [--threads 1,8] [--seconds 2] [--directory DIRECTORY]";
const BLOCK_BYTES: usize = 4096;
/// As a segment of a log.
const FILE_BLOCKS: u64 = 4096;

/// A thread's file, written and synced once, so that a sync has no more to do than what was written since.
fn made(path: &Path) -> std::io::Result<File> {
    let file = File::create(path)?;
    file.write_all_at(&vec![0; BLOCK_BYTES * FILE_BLOCKS as usize], 0)?;
    file.sync_all()?;
    Ok(file)
}

/// How long one takes, in nanoseconds, of so many threads.
fn nanos(directory: &Path, threads: usize, seconds: u64) -> std::io::Result<f64> {
    let paths: Vec<PathBuf> = (0..threads)
        .map(|n| directory.join(format!("sync-loop-{}-{n}", std::process::id())))
        .collect();
    let files = paths.iter().map(|path| made(path)).collect::<std::io::Result<Vec<File>>>();
    let begun = Instant::now();
    let done = files.and_then(|files| {
        std::thread::scope(|scope| {
            let one = |file: File| {
                move || -> std::io::Result<u64> {
                    let mut done = 0;
                    while begun.elapsed() < Duration::from_secs(seconds) {
                        let block = done % FILE_BLOCKS;
                        file.write_all_at(&[1; BLOCK_BYTES], block * BLOCK_BYTES as u64)?;
                        file.sync_data()?;
                        done += 1;
                    }
                    Ok(done)
                }
            };
            let working: Vec<_> = files.into_iter().map(|file| scope.spawn(one(file))).collect();
            let done = working.into_iter().map(|w| w.join().expect("a thread does not panic"));
            done.sum::<std::io::Result<u64>>()
        })
    });
    let took = begun.elapsed().as_nanos() as f64;
    paths.iter().for_each(|path| drop(std::fs::remove_file(path)));
    Ok(took * threads as f64 / done?.max(1) as f64)
}

fn measure() -> Result<(), String> {
    let (mut threads, mut seconds, mut directory) = (vec![1, 8], 2, std::env::temp_dir());
    let mut words = Words::of_process(USAGE);
    while let Some(option) = words.option() {
        match option.as_str() {
            "--threads" => threads = words.numbers()?,
            "--seconds" => seconds = words.number()?,
            "--directory" => directory = words.value()?.into(),
            _ => return Err(words.unknown()),
        }
    }
    print!("bare write and fdatasync");
    for threads in threads {
        let failed = |e: std::io::Error| format!("{}: {e}", directory.display());
        let ns = nanos(&directory, threads, seconds).map_err(failed)?;
        print!("  {threads} {} {ns:.0} ns", if threads == 1 { "thread" } else { "threads" });
    }
    println!();
    Ok(())
}

fn main() -> ExitCode {
    options::end("sync_loop", measure())
}
