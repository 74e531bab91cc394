//! The `thalweg` program.

mod arguments;
mod serve;

use std::process::ExitCode;

use arguments::Command;

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
            print!("{}", arguments::help());
            Ok(())
        }
        Command::Version => {
            println!("thalweg {}", env!("CARGO_PKG_VERSION"));
            Ok(())
        }
        Command::Serve { data, superuser, config } => serve::run(data, superuser, config),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(fault) => {
            eprintln!("thalweg: {fault}");
            ExitCode::FAILURE
        }
    }
}
