//! The `thalweg` program.

mod arguments;
mod serve;
mod waldump;

use std::fmt;
use std::io::Write;
use std::path::Path;
use std::process::ExitCode;

use arguments::Command;
use waldump::Fault;

fn main() -> ExitCode {
    let command = match arguments::read(std::env::args().skip(1)) {
        Ok(command) => command,
        Err(fault) => {
            eprintln!("thalweg: {fault}\nTry \"thalweg --help\".");
            return ExitCode::from(2);
        }
    };
    let result = match command {
        Command::Help => {
            show(format_args!("{}", arguments::help()));
            Ok(())
        }
        Command::Version => {
            show(format_args!("thalweg {}{}\n", env!("CARGO_PKG_VERSION"), commit()));
            Ok(())
        }
        Command::Serve(arguments) => serve::run(arguments),
        Command::Check { data } => check(&data),
        Command::WalDump(task) => dump(&task),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(fault) => {
            eprintln!("thalweg: {fault}");
            ExitCode::FAILURE
        }
    }
}

/// Writes to standard output. Whoever has closed its other end has read what he wanted to; what was found is told by the
/// status, too.
fn show(text: fmt::Arguments<'_>) {
    let _ = std::io::stdout().lock().write_fmt(text);
}

/// What it was built from, if whoever built it said so, as the Makefile does.
fn commit() -> String {
    let commit = option_env!("THALWEG_COMMIT").filter(|commit| !commit.is_empty());
    commit.map(|commit| format!(" (commit {commit})")).unwrap_or_default()
}

/// `thalweg waldump`: shows the log, to whoever reads it as long as he does.
fn dump(task: &waldump::arguments::Task) -> Result<(), String> {
    let mut out = std::io::BufWriter::new(std::io::stdout().lock());
    let done = waldump::run(task, &mut out).and_then(|()| out.flush().map_err(Fault::from));
    match done {
        Err(Fault::Log(why)) => {
            // What was found before the fault comes first.
            let _ = out.flush();
            Err(why)
        }
        Err(Fault::Output(fault)) if fault.kind() != std::io::ErrorKind::BrokenPipe => {
            Err(format!("the output cannot be written: {fault}"))
        }
        _ => Ok(()),
    }
}

/// `thalweg check`: tells what was looked at, and fails if anything was wrong.
fn check(data: &Path) -> Result<(), String> {
    let checked = thalweg::check(data).map_err(|fault| fault.to_string())?;
    for fault in &checked.faults {
        show(format_args!("{fault}\n"));
    }
    show(format_args!(
        "{} pages; {} tables with {} rows, {} indexes with {} entries, {} sequences\n",
        checked.pages,
        checked.tables,
        checked.rows,
        checked.indexes,
        checked.entries,
        checked.sequences
    ));
    match checked.faults.len() {
        0 => Ok(()),
        count => Err(format!("{count} faults in {}", data.display())),
    }
}
