//! `thalweg serve`.

use std::io::{self, Write};
use std::path::Path;
use std::sync::Arc;

use server::config::Config;
use server::signals::{Signal, Signals};
use server::{Authentication, Database, Options, Rules, Server};
use sql::session::Session;
use sql::settings::Context;

use crate::arguments::Serve;

/// Serves the data directory until a signal ends it.
///
/// # Errors
/// Why it could not start, in one sentence.
pub fn run(arguments: Serve) -> Result<(), String> {
    let Serve { data, superuser, password_file, mut config } = arguments;
    let text = |fault: server::StartError| fault.to_string();
    let password = password_file.as_deref().map(first_line).transpose()?;
    server::install_hook();
    let mut signals = Signals::listen().map_err(|e| format!("cannot listen to signals: {e}"))?;
    config.read_file(&data).map_err(text)?;
    config.fit_to_machine();
    let options = config.options(data.clone()).map_err(text)?;
    let superuser = match superuser.or_else(|| server::users::name_of(server::users::current())) {
        Some(name) => name,
        None => return Err("this user has no name: --superuser must give one".to_owned()),
    };
    server::raise_open_files();
    let database = Arc::new(Database::open(&data, &superuser, &config).map_err(text)?);
    database.cluster().set_reload(server::signals::ask_for_reload);
    if let Some(report) = database.engine().recovery() {
        base::log!(
            "recovered after an unclean end: {} log records from {} to {} in {:?}",
            report.records,
            report.from,
            report.to,
            report.took
        );
    }
    if let Some(password) = password
        && let Err(fault) = Session::give_first_password(database.cluster(), &password)
    {
        database.close().map_err(text)?;
        return Err(format!("the password cannot be kept: {}", fault.message()));
    }
    let server = match Server::start(Arc::clone(&database), options.clone()) {
        Ok(server) => server,
        Err(fault) => {
            database.close().map_err(text)?;
            return Err(fault.to_string());
        }
    };
    // Nobody need listen: whoever has closed the other end knows what it wants to.
    let _ = greet(&mut io::stdout().lock(), &server, &options, &superuser);
    tell_counts();
    while signals.wait() == Signal::Reload {
        reload(&server, &mut config, &data);
    }
    base::log!("ending: no more clients, every session is rolled back");
    server.shutdown();
    database.close().map_err(text)?;
    base::log!("ended cleanly");
    Ok(())
}

/// The password in a file: its first line, which must not be empty.
fn first_line(path: &Path) -> Result<String, String> {
    let text = std::fs::read_to_string(path)
        .map_err(|fault| format!("cannot read the password file {}: {fault}", path.display()))?;
    match text.lines().next() {
        None | Some("") => {
            Err(format!("the password file {} begins with no password", path.display()))
        }
        Some(line) => Ok(line.to_owned()),
    }
}

/// For the laboratory: what is counted, five times a second, as the lab reads it (`lab/src/counted.rs`).
fn tell_counts() {
    #[cfg(feature = "lab-counts")]
    std::thread::spawn(|| {
        loop {
            base::log::write_as_is(format_args!("lab-counts: {}.", base::counts::told()));
            std::thread::sleep(std::time::Duration::from_millis(200));
        }
    });
}

/// Tells how to connect, in three lines.
fn greet(
    out: &mut impl Write,
    server: &Server,
    options: &Options,
    superuser: &str,
) -> io::Result<()> {
    let version = env!("CARGO_PKG_VERSION");
    let (data, workers) = (options.data.display(), options.workers);
    writeln!(out, "Thalweg {version} serves {data} ({workers} workers)")?;
    let port = options.port;
    let is = |authentication| options.rules == Rules::of(authentication);
    let addresses = server.addresses();
    match server.socket_path().and_then(Path::parent) {
        Some(dir) => {
            let warning = match is(Authentication::Trust) && addresses.is_empty() {
                true => "    WARNING: --auth trust believes everybody on this machine",
                false => "",
            };
            let dir = dir.display();
            writeln!(out, "  psql -h {dir} -p {port} -U {superuser} postgres{warning}")?;
        }
        None => writeln!(out, "  no unix socket: unix_socket_directories is empty")?,
    }
    let Some(address) = addresses.first() else {
        return writeln!(out, "  no TCP: listen_addresses is empty");
    };
    let how = if is(Authentication::Trust) {
        format!("WARNING: --auth trust believes everybody who can reach {address}")
    } else if is(Authentication::Peer) || is(Authentication::Scram) {
        "with the password that ALTER ROLE has set".to_owned()
    } else {
        "if hba_file lets you in".to_owned()
    };
    writeln!(out, "  psql -h {} -p {port} -U {superuser} postgres    {how}", address.ip())
}

/// Reads the configuration again. What a running server can't change waits for the next start.
fn reload(server: &Server, config: &mut Config, data: &Path) {
    let mut later = config.clone();
    if let Err(fault) = later.read_file(data) {
        return base::log!("the configuration stays as it is: {fault}");
    }
    for (setting, value) in config.changes(&later) {
        let (name, shown) = (setting.name, setting.show(&value));
        match setting.context {
            Context::User | Context::Superuser => {
                base::log!("new sessions begin with {name} = {shown}");
            }
            Context::Reload => base::log!("{name} = {shown}"),
            _ => base::log!("{name} = {shown} takes effect at the next start"),
        }
    }
    server.reload(&later);
    *config = later;
}
