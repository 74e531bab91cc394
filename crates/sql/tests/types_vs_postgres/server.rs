//! A private PostgreSQL 15: its own directory, socket and port, gone when the test is.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use postgres::{Client, NoTls, SimpleQueryMessage};

const BIN: &str = "/usr/lib/postgresql/15/bin";

pub struct Server {
    dir: PathBuf,
    pub client: Client,
}

/// A value's text, or null, or the error's fields.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    Null,
    Text(String),
    Error { sqlstate: String, message: String, detail: Option<String>, hint: Option<String> },
}

/// Runs a program as an ordinary user, since PostgreSQL refuses to run as root.
fn as_user(program: &str, args: &[&str]) -> Command {
    let is_root =
        Command::new("id").arg("-u").output().is_ok_and(|out| out.stdout.starts_with(b"0\n"));
    let mut command;
    if is_root {
        command = Command::new("setpriv");
        command.args(["--reuid=postgres", "--regid=postgres", "--clear-groups", "--", program]);
    } else {
        command = Command::new(program);
    }
    command.args(args).current_dir("/").stdout(Stdio::null()).stderr(Stdio::null());
    command
}

impl Server {
    /// Starts one; `None`, with a loud word, where PostgreSQL 15 is not installed.
    pub fn start() -> Option<Server> {
        if !Path::new(BIN).join("postgres").exists() {
            assert_ne!(
                std::env::var("THALWEG_REQUIRE_PG").as_deref(),
                Ok("1"),
                "THALWEG_REQUIRE_PG=1, but there is no PostgreSQL 15 in {BIN}"
            );
            eprintln!("NOT COMPARED WITH POSTGRESQL: there is no PostgreSQL 15 in {BIN}");
            return None;
        }
        let dir = std::env::temp_dir().join(format!("thalweg-pg15-{}", std::process::id()));
        std::fs::create_dir_all(&dir).unwrap();
        std::fs::set_permissions(&dir, std::os::unix::fs::PermissionsExt::from_mode(0o777))
            .unwrap();
        let data = dir.join("data");
        let (dir_text, data_text) = (dir.to_str().unwrap(), data.to_str().unwrap());
        let initdb = format!("{BIN}/initdb");
        let made = as_user(
            &initdb,
            &[
                "-D",
                data_text,
                "-U",
                "tester",
                "-A",
                "trust",
                "-E",
                "UTF8",
                "--locale=C.UTF-8",
                "-N",
            ],
        )
        .status()
        .unwrap();
        assert!(made.success(), "initdb failed");
        let started = as_user(
            &format!("{BIN}/pg_ctl"),
            &[
                "-D",
                data_text,
                "-w",
                "-l",
                &format!("{dir_text}/log"),
                "-o",
                &format!("-c listen_addresses= -k {dir_text} -c fsync=off -c timezone=UTC"),
                "start",
            ],
        )
        .status()
        .unwrap();
        assert!(started.success(), "pg_ctl start failed");
        let deadline = Instant::now() + Duration::from_secs(30);
        let options = format!("host={dir_text} user=tester dbname=postgres");
        loop {
            match Client::connect(&options, NoTls) {
                Ok(client) => return Some(Server { dir, client }),
                Err(error) => assert!(Instant::now() < deadline, "{error}"),
            }
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    /// The first column of the first row.
    pub fn ask(&mut self, sql: &str) -> Answer {
        match self.client.simple_query(sql) {
            Ok(messages) => {
                for message in &messages {
                    if let SimpleQueryMessage::Row(row) = message {
                        return row.get(0).map_or(Answer::Null, |text| Answer::Text(text.into()));
                    }
                }
                Answer::Null
            }
            Err(error) => {
                let error = error.as_db_error().unwrap_or_else(|| panic!("{error}: {sql}"));
                Answer::Error {
                    sqlstate: error.code().code().to_owned(),
                    message: error.message().to_owned(),
                    detail: error.detail().map(str::to_owned),
                    hint: error.hint().map(str::to_owned),
                }
            }
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let data = self.dir.join("data");
        let stop = as_user(
            &format!("{BIN}/pg_ctl"),
            &["-D", data.to_str().unwrap(), "-m", "immediate", "-w", "stop"],
        )
        .status();
        if stop.is_ok() {
            // The directory belongs to the server's user, who made it.
            let _ = as_user("/bin/rm", &["-rf", data.to_str().unwrap()]).status();
            let _ = std::fs::remove_dir_all(&self.dir);
        }
    }
}
