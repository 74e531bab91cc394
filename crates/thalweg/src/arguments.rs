//! The command line.

use std::fmt::Write;
use std::net::SocketAddr;
use std::path::PathBuf;

use server::config::{Config, quoted};
use sql::settings::{Context, TABLE};

/// What the command line asks for.
pub enum Command {
    Help,
    Version,
    Serve { data: PathBuf, superuser: Option<String>, config: Config },
}

/// Reads the command line, the program's name not included.
///
/// # Errors
/// What is wrong with it, in one sentence.
pub fn read(mut arguments: impl Iterator<Item = String>) -> Result<Command, String> {
    match arguments.next().as_deref() {
        None | Some("--help" | "-h" | "help") => Ok(Command::Help),
        Some("--version" | "-V") => Ok(Command::Version),
        Some("serve") => serve(arguments),
        Some(other) => Err(format!("there is no command \"{other}\"")),
    }
}

fn serve(mut arguments: impl Iterator<Item = String>) -> Result<Command, String> {
    let (mut data, mut superuser, mut config) = (None, None, Config::new());
    while let Some(argument) = arguments.next() {
        let (name, value) = match argument.split_once('=') {
            Some((name, value)) => (name.to_owned(), Some(value.to_owned())),
            None => (argument, None),
        };
        if matches!(&*name, "--help" | "-h") {
            return Ok(Command::Help);
        }
        let mut value =
            || value.clone().or_else(|| arguments.next()).ok_or(format!("{name} needs a value"));
        match &*name {
            "--data" => data = Some(PathBuf::from(value()?)),
            "--superuser" => superuser = Some(value()?),
            "--listen" => listen(&mut config, &value()?)?,
            "--socket-dir" => set(&mut config, "unix_socket_directories", &value()?)?,
            "--auth" => set(&mut config, "authentication", &value()?)?,
            "--set" => {
                let assignment = value()?;
                let (name, value) = assignment
                    .split_once('=')
                    .ok_or_else(|| format!("--set takes name=value, not \"{assignment}\""))?;
                set(&mut config, name.trim(), value.trim())?;
            }
            other => return Err(format!("there is no option \"{other}\"")),
        }
    }
    let data = data.ok_or("--data DIR says where the data are, and is missing")?;
    Ok(Command::Serve { data, superuser, config })
}

fn set(config: &mut Config, name: &str, value: &str) -> Result<(), String> {
    config.set(name, value).map_err(|fault| fault.to_string())
}

/// `ADDR:PORT`, where the address may be left out or `localhost`.
fn listen(config: &mut Config, text: &str) -> Result<(), String> {
    let wrong = || format!("--listen takes ADDR:PORT, not \"{text}\"");
    let (host, port) = text.rsplit_once(':').ok_or_else(wrong)?;
    let known = host.is_empty() || host == "localhost" || host == "*";
    if !known && text.parse::<SocketAddr>().is_err() {
        return Err(wrong());
    }
    port.parse::<u16>().map_err(|_| wrong())?;
    set(config, "listen_addresses", if host.is_empty() { "localhost" } else { host })?;
    set(config, "port", port)
}

/// What `--help` prints.
pub fn help() -> String {
    let mut text = String::from(
        "\
Thalweg, an SQL database that speaks PostgreSQL's protocol

usage: thalweg serve --data DIR [options]

  --data DIR          the data directory; created if it is not there
  --listen ADDR:PORT  where to listen for TCP (default 127.0.0.1:5432)
  --socket-dir DIR    where the unix socket goes (default /tmp)
  --superuser NAME    the role that a new data directory begins with
                      (default: the operating system's user)
  --auth peer|trust   peer: the unix socket is open to the role named like the operating
                      system's user, TCP is refused; trust: everybody is believed
  --set NAME=VALUE    a setting; DIR/thalweg.conf holds such lines too

Settings, with their defaults:
",
    );
    for setting in TABLE.iter().filter(|setting| setting.context != Context::Internal) {
        let default = quoted(&setting.show(&setting.default()));
        let when = match setting.context {
            Context::Start => " Takes effect at the start.",
            Context::Reload => " Takes effect at SIGHUP.",
            _ => "",
        };
        // Writing to a string does not fail.
        let _ = writeln!(text, "  {} = {default}\n      {}{when}", setting.name, setting.summary);
    }
    text
}
