//! The command line.

use std::fmt::Write;
use std::net::SocketAddr;
use std::path::PathBuf;

use server::config::{Config, quoted};
use sql::settings::{Context, TABLE};

use crate::waldump::arguments::Task;

/// What the command line asks for.
pub enum Command {
    Help,
    Version,
    Serve(Serve),
    Check { data: PathBuf },
    WalDump(Task),
}

/// What `serve` is told.
pub struct Serve {
    pub data: PathBuf,
    /// The role that a new directory begins with.
    pub superuser: Option<String>,
    /// The file with its password.
    pub password_file: Option<PathBuf>,
    pub config: Config,
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
        Some("check") => match (arguments.next(), arguments.next()) {
            (Some(help), None) if matches!(&*help, "--help" | "-h") => Ok(Command::Help),
            (Some(data), None) => Ok(Command::Check { data: PathBuf::from(data) }),
            _ => Err("check takes the data directory, and nothing else".into()),
        },
        Some("waldump") => crate::waldump::arguments::read(arguments).map(Command::WalDump),
        Some(other) => Err(format!("there is no command \"{other}\"")),
    }
}

fn serve(mut arguments: impl Iterator<Item = String>) -> Result<Command, String> {
    let (mut data, mut superuser, mut password_file) = (None, None, None);
    let mut config = Config::new();
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
            "--password-file" => password_file = Some(PathBuf::from(value()?)),
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
    Ok(Command::Serve(Serve { data, superuser, password_file, config }))
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

usage: thalweg serve --data DIR [options]     serve a data directory
       thalweg check DIR                     verify every page and structure of one
       thalweg waldump DIR [options]         show the records of its log (waldump --help)

  --data DIR          the data directory; created if it is not there
  --listen ADDR:PORT  where to listen for TCP (default 127.0.0.1:5432)
  --socket-dir DIR    where the unix socket goes (default /tmp)
  --superuser NAME    the role that a new data directory begins with
                      (default: the operating system's user)
  --password-file F   its password, in the file's first line; it counts where the role has
                      none yet
  --auth METHOD       peer (default): the unix socket is open to the role named like the
                      operating system's user, TCP asks for the role's password;
                      scram-sha-256: both ask for it; trust: everybody is believed
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
        let values = match setting.values() {
            values if values.is_empty() => values,
            values => format!(" ({values})"),
        };
        // Writing to a string does not fail.
        let _ = writeln!(
            text,
            "  {} = {default}{values}\n      {}{when}",
            setting.name, setting.summary
        );
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn serve(line: &str) -> Result<(PathBuf, Option<String>, Config), String> {
        match read(line.split_whitespace().map(str::to_owned))? {
            Command::Serve(serve) => Ok((serve.data, serve.superuser, serve.config)),
            _ => Err("another command".into()),
        }
    }

    #[test]
    fn options_become_settings() {
        let (data, superuser, config) = serve(
            "serve --data d --listen=0.0.0.0:77 --socket-dir /run --superuser me --auth trust \
             --set max_connections=5 --set=work_mem=1MB",
        )
        .unwrap();
        assert_eq!((data, superuser.as_deref()), (PathBuf::from("d"), Some("me")));
        let shown = |name| config.value(name).raw();
        assert_eq!((shown("listen_addresses"), shown("port")), ("0.0.0.0".into(), "77".into()));
        assert_eq!(shown("unix_socket_directories"), "/run");
        assert_eq!(
            (shown("authentication"), shown("max_connections")),
            ("trust".into(), "5".into())
        );
        assert_eq!(shown("work_mem"), "1024");
    }

    #[test]
    fn mistakes_are_told() {
        let fault = |line| serve(line).map(|_| ()).unwrap_err();
        assert!(fault("serve").starts_with("--data DIR"));
        assert_eq!(fault("serve --data d --nosuch 1"), "there is no option \"--nosuch\"");
        assert_eq!(fault("serve --data"), "--data needs a value");
        assert_eq!(fault("serve --data d --listen here"), "--listen takes ADDR:PORT, not \"here\"");
        assert_eq!(
            fault("serve --data d --auth maybe"),
            "invalid value for parameter \"authentication\": \"maybe\" (Available values: peer, \
             scram-sha-256, trust.)"
        );
        assert_eq!(fault("fly"), "there is no command \"fly\"");
    }

    /// The manual's page of settings says what the table says. `UPDATE=1` writes it anew.
    #[test]
    fn the_manual_agrees_with_the_table() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/settings.md");
        if std::env::var_os("UPDATE").is_some() {
            std::fs::write(path, manual()).unwrap();
        }
        assert_eq!(std::fs::read_to_string(path).unwrap(), manual(), "run this test with UPDATE=1");
    }

    fn manual() -> String {
        let mut text = String::from(
            "# Settings\n\n\
             Values stand in `thalweg.conf` in the data directory (`name = value`), or on the command \
             line (`--set\nname=value`), which wins. Those of sessions are also changed by `SET`.\n\n\
             | Name | Default | Values | Unit | Changed | What it does |\n|---|---|---|---|---|---|\n",
        );
        for setting in TABLE.iter() {
            let default = setting.show(&setting.default());
            let unit = setting.unit().unwrap_or_default();
            let values = match (setting.values(), setting.context) {
                (_, Context::Internal) => String::new(),
                (values, _) if values.is_empty() => "any text".into(),
                (values, _) => values,
            };
            let when = match setting.context {
                Context::Internal => "never",
                Context::Start => "at the start",
                Context::Reload => "at SIGHUP",
                Context::Superuser => "by superusers",
                Context::User => "by `SET`",
            };
            let default = if default.is_empty() { String::new() } else { format!("`{default}`") };
            let (name, summary) = (setting.name, setting.summary);
            writeln!(text, "| `{name}` | {default} | {values} | {unit} | {when} | {summary} |")
                .unwrap();
        }
        text
    }
}
