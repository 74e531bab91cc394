//! Command lines of the form `--name value`, and how a run ends.

use std::process::ExitCode;
use std::str::FromStr;

/// The words of a command line, taken one after the other.
pub struct Words {
    usage: &'static str,
    rest: std::vec::IntoIter<String>,
    /// The word that was taken last as an option's name.
    option: String,
}

impl Words {
    /// The words that this process was started with.
    pub fn of_process(usage: &'static str) -> Words {
        Words::new(usage, std::env::args().skip(1).collect())
    }

    /// These words.
    pub fn new(usage: &'static str, words: Vec<String>) -> Words {
        Words { usage, rest: words.into_iter(), option: String::new() }
    }

    /// The next option's name.
    pub fn option(&mut self) -> Option<String> {
        self.option = self.rest.next()?;
        Some(self.option.clone())
    }

    /// The option's value.
    pub fn value(&mut self) -> Result<String, String> {
        let value = self.rest.next();
        value.ok_or_else(|| format!("{} needs a value\n{}", self.option, self.usage))
    }

    /// The option's value as a number.
    pub fn number<N: FromStr>(&mut self) -> Result<N, String> {
        parse(&self.value()?)
    }

    /// The option's value, split at commas.
    pub fn list(&mut self) -> Result<Vec<String>, String> {
        Ok(self.value()?.split(',').map(str::to_owned).collect())
    }

    /// The option's value as numbers with commas between them.
    pub fn numbers<N: FromStr>(&mut self) -> Result<Vec<N>, String> {
        self.list()?.iter().map(|text| parse(text)).collect()
    }

    /// What to say of an option that there isn't.
    pub fn unknown(&self) -> String {
        format!("{} is no option\n{}", self.option, self.usage)
    }
}

fn parse<N: FromStr>(text: &str) -> Result<N, String> {
    text.parse().map_err(|_| format!("'{text}' is no number"))
}

/// Ends a program: what went wrong is one line on standard error.
pub fn end(program: &str, result: Result<(), String>) -> ExitCode {
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("{program}: {message}");
            ExitCode::FAILURE
        }
    }
}
