//! Children of the lab: run to their end, or ended when somebody interrupts or they take too long.

use crate::interrupt;
use std::io::{ErrorKind, Read};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// How long a child may take.
pub struct Limits(Duration);

impl Limits {
    pub fn seconds(seconds: u64) -> Limits {
        Limits(Duration::from_secs(seconds))
    }

    pub fn minutes(minutes: u64) -> Limits {
        Limits::seconds(60 * minutes)
    }
}

/// What the sentence says of a child that took too long.
pub const TOO_LONG: &str = "did not end within";

/// What a child printed.
pub struct Printed {
    pub out: String,
    pub complaints: String,
    /// How many bytes of `out` had come after so many seconds.
    pub came: Vec<(f64, usize)>,
}

/// A child that runs; ended when this is dropped.
pub struct Running {
    child: Child,
    name: String,
    out: JoinHandle<Heard>,
    complaints: JoinHandle<Heard>,
}

/// What has come out of a pipe, and when.
#[derive(Default)]
struct Heard {
    text: String,
    came: Vec<(f64, usize)>,
}

/// Runs a command to its end.
pub fn run(command: Command, limits: Limits) -> Result<Printed, String> {
    run_beside(command, limits, |_| ())
}

/// Runs a command to its end and does something again and again meanwhile, given the child's number.
pub fn run_beside(
    command: Command,
    limits: Limits,
    mut meanwhile: impl FnMut(u32),
) -> Result<Printed, String> {
    let begun = Instant::now();
    let mut running = start(command)?;
    let pid = running.child.id();
    loop {
        match running.child.try_wait() {
            Ok(Some(status)) if status.success() => return Ok(running.printed()),
            Ok(Some(status)) => {
                let (name, printed) = (running.name.clone(), running.printed());
                return Err(format!("{name}: {}", complaint(&printed.complaints, &status)));
            }
            Ok(None) => {}
            Err(e) => return Err(format!("{}: {e}", running.name)),
        }
        interrupt::check()?;
        if begun.elapsed() > limits.0 {
            let (name, seconds) = (&running.name, limits.0.as_secs());
            return Err(format!("{name} {TOO_LONG} {seconds} s and was ended"));
        }
        meanwhile(pid);
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Starts a command out of the reach of the terminal's keys.
pub fn start(mut command: Command) -> Result<Running, String> {
    let name = command.get_program().to_string_lossy().into_owned();
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0);
    let mut child = command.spawn().map_err(|e| format!("{name}: {e}"))?;
    let out = collect(child.stdout.take().expect("the pipe was asked for"));
    let complaints = collect(child.stderr.take().expect("the pipe was asked for"));
    let name = name.rsplit('/').next().unwrap_or(&name).to_owned();
    Ok(Running { child, name, out, complaints })
}

fn collect(mut pipe: impl Read + Send + 'static) -> JoinHandle<Heard> {
    let begun = Instant::now();
    std::thread::spawn(move || {
        let (mut bytes, mut came) = (Vec::new(), Vec::new());
        let mut piece = [0; 8192];
        loop {
            match pipe.read(&mut piece) {
                Ok(count) if count > 0 => {
                    bytes.extend_from_slice(&piece[..count]);
                    came.push((begun.elapsed().as_secs_f64(), bytes.len()));
                }
                Err(fault) if fault.kind() == ErrorKind::Interrupted => {}
                // What came until a pipe breaks is what there is.
                _ => break,
            }
        }
        Heard { text: String::from_utf8_lossy(&bytes).into_owned(), came }
    })
}

/// The line that says why: the first error, else the last line.
fn complaint(text: &str, status: &std::process::ExitStatus) -> String {
    let lines = || text.lines().map(str::trim).filter(|line| !line.is_empty());
    let error = lines().find(|line| line.contains("ERROR:") || line.contains("FATAL:"));
    let telling = error.or_else(|| lines().find(|line| line.contains("error:")));
    telling
        .or_else(|| lines().next_back())
        .map_or_else(|| format!("ended with {status}"), str::to_owned)
}

impl Running {
    /// An error if it has ended by itself.
    pub fn still_runs(&mut self) -> Result<(), String> {
        match self.child.try_wait() {
            Ok(None) => Ok(()),
            Ok(Some(status)) => Err(format!("{} beside ended with {status}", self.name)),
            Err(e) => Err(format!("{}: {e}", self.name)),
        }
    }

    /// What it has printed; waits for its end.
    fn printed(mut self) -> Printed {
        let take = |from: &mut JoinHandle<Heard>| {
            let handle = std::mem::replace(from, std::thread::spawn(Heard::default));
            handle.join().unwrap_or_default()
        };
        let (out, complaints) = (take(&mut self.out), take(&mut self.complaints));
        Printed { out: out.text, complaints: complaints.text, came: out.came }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if !matches!(self.child.try_wait(), Ok(None)) {
            return;
        }
        signal_group(self.child.id(), libc::SIGINT);
        let give_up = Instant::now() + Duration::from_secs(3);
        while matches!(self.child.try_wait(), Ok(None)) {
            if Instant::now() > give_up {
                signal_group(self.child.id(), libc::SIGKILL);
            }
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}

/// To the child and to what it has started: a script's programs would go on without it.
fn signal_group(pid: u32, signal: libc::c_int) {
    // SAFETY: takes no memory of ours; the child was not waited for yet, so the number is its, and its group's, which it leads.
    unsafe { libc::kill(-pid.cast_signed(), signal) };
}
