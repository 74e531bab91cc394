//! One line on the terminal: how far, what now, how long still. Where nobody watches, a line for each result.

use crate::model::{Run, figure};
use std::io::{IsTerminal, Write};
use std::time::Instant;

/// How far a run is.
pub struct Progress {
    whole: f64,
    /// What took its time.
    done: f64,
    /// What took none: a run that goes on has it from before.
    skipped: f64,
    begun: Instant,
    terminal: bool,
    now: String,
}

const BAR: usize = 24;
/// So many seconds at the planned pace the first ones are seen beside: one server that is slow to start is no pace.
const AS_PLANNED_S: f64 = 60.0;

impl Progress {
    /// Of a run that takes `whole` seconds, about.
    pub fn new(whole: f64) -> Progress {
        let terminal = std::io::stderr().is_terminal();
        let now = String::new();
        Progress {
            whole: whole.max(1.0),
            done: 0.0,
            skipped: 0.0,
            begun: Instant::now(),
            terminal,
            now,
        }
    }

    /// What is done now.
    pub fn say(&mut self, what: &str) {
        self.now = what.to_owned();
        if self.terminal {
            let line = self.line(self.begun.elapsed().as_secs_f64());
            eprint!("\r\x1b[K{line}");
            let _ = std::io::stderr().flush();
        }
    }

    /// A result.
    pub fn result(&self, run: &Run) {
        if !self.terminal {
            let tps = run.figures.get(figure::TPS).copied().unwrap_or(f64::NAN);
            eprintln!("{}: {tps:.0} per second", self.line(self.begun.elapsed().as_secs_f64()));
        }
    }

    /// Something that is to stay on the screen.
    pub fn note(&self, what: &str) {
        self.clear();
        eprintln!("{what}");
    }

    /// So many of the seconds are behind us.
    pub fn advance(&mut self, seconds: f64) {
        self.done += seconds;
    }

    /// So many of the seconds need not be spent.
    pub fn skip(&mut self, seconds: f64) {
        self.skipped += seconds;
    }

    /// Empties the line.
    pub fn clear(&self) {
        if self.terminal {
            eprint!("\r\x1b[K");
        }
    }

    /// The line after so many seconds.
    fn line(&self, elapsed_s: f64) -> String {
        let share = ((self.done + self.skipped) / self.whole).min(1.0);
        let full = (share * BAR as f64) as usize;
        let bar: String = (0..BAR).map(|i| if i < full { '█' } else { '·' }).collect();
        format!("{bar} {:3.0} %  {}  {}", share * 100.0, self.left(elapsed_s), self.now)
    }

    /// What is left if it goes on as it went, and the more as planned the less went. What was skipped says nothing of the pace.
    fn left(&self, elapsed_s: f64) -> String {
        let pace = (elapsed_s + AS_PLANNED_S) / (self.done + AS_PLANNED_S);
        let left_s = (self.whole - self.done - self.skipped).max(0.0) * pace;
        match left_s {
            s if s < 90.0 => format!("{s:.0} s left"),
            s => format!("{:.0} min left", s / 60.0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_follows_the_pace() {
        let mut progress = Progress::new(400.0);
        assert_eq!(progress.left(0.0), "7 min left");
        progress.advance(10.0);
        assert_eq!(progress.left(40.0), "9 min left", "and not 26");
        progress.advance(130.0);
        assert_eq!(progress.left(340.0), "9 min left");
        progress.advance(250.0);
        assert_eq!(progress.left(390.0), "10 s left");
        assert!(progress.line(390.0).contains(" 98 %"), "{}", progress.line(390.0));
    }

    /// Runs that are in the record already are behind in no time, and what is left takes its time all the same.
    #[test]
    fn what_was_done_before_is_no_pace() {
        let mut progress = Progress::new(1200.0);
        progress.skip(600.0);
        assert_eq!(progress.left(0.1), "10 min left");
        assert!(progress.line(0.1).contains(" 50 %"), "{}", progress.line(0.1));
        progress.advance(100.0);
        assert_eq!(progress.left(180.0), "12 min left");
    }
}
