//! A private PostgreSQL 15: its own directory, socket and port, gone when the test is.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use postgres::{Client, NoTls, SimpleQueryMessage};

const BIN: &str = "/usr/lib/postgresql/15/bin";

pub struct Server {
    dir: PathBuf,
}

/// One session of it.
pub struct Session {
    client: Client,
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
        // A run that was killed may have left one under the same number.
        let _ = as_user("/bin/rm", &["-rf", dir.to_str().unwrap()]).status();
        std::fs::create_dir_all(&dir).unwrap();
        std::fs::set_permissions(&dir, std::os::unix::fs::PermissionsExt::from_mode(0o777))
            .unwrap();
        let server = Server { dir: dir.clone() };
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
                "-t",
                "120",
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
        Some(server)
    }

    /// Opens a session.
    pub fn connect(&self) -> Session {
        let options = format!("host={} user=tester dbname=postgres", self.dir.display());
        let deadline = Instant::now() + Duration::from_secs(60);
        loop {
            match Client::connect(&options, NoTls) {
                Ok(mut client) => {
                    client.batch_execute(ANSWER).unwrap();
                    return Session { client };
                }
                Err(error) => assert!(Instant::now() < deadline, "{error}"),
            }
            std::thread::sleep(Duration::from_millis(50));
        }
    }
}

impl Session {
    /// Runs a command that answers nothing.
    pub fn set(&mut self, sql: &str) {
        self.client.batch_execute(sql).unwrap();
    }

    /// Each question's first column of its first row. One round trip for all: there are a hundred
    /// thousand questions.
    pub fn ask<'q>(&mut self, questions: impl Iterator<Item = &'q str>) -> Vec<Answer> {
        let list: Vec<String> = questions.map(crate::literal).collect();
        let sql = format!(
            "SELECT (pg_temp.answer(q)).* FROM unnest(ARRAY[{}]::text[]) q",
            list.join(", ")
        );
        let messages = self.client.simple_query(&sql).unwrap_or_else(|e| panic!("{e:?}"));
        let answers: Vec<Answer> = messages.iter().filter_map(answer).collect();
        assert_eq!(answers.len(), list.len());
        answers
    }
}

/// Answers one question within a statement that goes on after errors.
const ANSWER: &str = "
    CREATE TYPE pg_temp.answered AS (
        value text, sqlstate text, message text, detail text, hint text);
    CREATE FUNCTION pg_temp.answer(question text) RETURNS pg_temp.answered LANGUAGE plpgsql AS $$
    DECLARE a pg_temp.answered;
    BEGIN
        -- format writes values with their types' output functions.
        EXECUTE format(
            'SELECT CASE num_nulls(v) WHEN 0 THEN format(''%%s'', v) END FROM (%s OFFSET 0) q(v)',
            question) INTO a.value;
        RETURN a;
    EXCEPTION WHEN OTHERS OR ASSERT_FAILURE THEN
        GET STACKED DIAGNOSTICS a.sqlstate = RETURNED_SQLSTATE, a.message = MESSAGE_TEXT,
            a.detail = PG_EXCEPTION_DETAIL, a.hint = PG_EXCEPTION_HINT;
        RETURN a;
    END $$";

fn answer(message: &SimpleQueryMessage) -> Option<Answer> {
    let SimpleQueryMessage::Row(row) = message else { return None };
    let field = |i: usize| row.get(i).map(str::to_owned);
    let given = |i: usize| field(i).filter(|text| !text.is_empty());
    Some(match (field(1), field(0)) {
        (Some(sqlstate), _) => Answer::Error {
            sqlstate,
            message: field(2).unwrap_or_default(),
            detail: given(3),
            hint: given(4),
        },
        (None, Some(value)) => Answer::Text(value),
        (None, None) => Answer::Null,
    })
}

impl Drop for Server {
    fn drop(&mut self) {
        let data = self.dir.join("data");
        let data = data.to_str().unwrap();
        let stop = ["-D", data, "-m", "immediate", "-w", "-t", "60", "stop"];
        let _ = as_user(&format!("{BIN}/pg_ctl"), &stop).status();
        // The data belongs to the server's user, the directory around it to us.
        let _ = as_user("/bin/rm", &["-rf", data]).status();
        let _ = std::fs::remove_dir_all(&self.dir);
    }
}
