//! The few statements that are known, by how they begin.

use std::time::Duration;

use base::clock;
use base::interrupt;
use base::{Lsn, park};
use sql::error::{Result, SqlError, SqlState};
use sql::session::{Client, CopyInput, Field, Format, Notice};
use sql::types::{Oid, TypeId};

use crate::report;

#[derive(Clone)]
pub enum Statement {
    Begin,
    End {
        tag: &'static str,
    },
    /// A write, by its tag.
    Write(&'static str),
    Set {
        name: String,
        value: String,
    },
    /// One value.
    Constant(String),
    /// The first parameter.
    Parameter,
    Pid,
    Sleep(f64),
    /// Works this many milliseconds without waiting.
    Spin(u64),
    Series(u64),
    DivideByZero,
    Panic,
    Notice(String),
    CopyIn,
    CopyOut(u64),
    Partitions,
}

impl Statement {
    pub fn parse(text: &str) -> Result<Statement> {
        let text = text.trim().trim_end_matches(';').trim();
        let lower = text.to_ascii_lowercase();
        let starts = |start: &str| lower.starts_with(start);
        let inside = |start: &str| lower.strip_prefix(start)?.strip_suffix(')').map(str::to_owned);
        if starts("begin") {
            return Ok(Statement::Begin);
        }
        if starts("end") || starts("commit") {
            return Ok(Statement::End { tag: "COMMIT" });
        }
        if starts("rollback") {
            return Ok(Statement::End { tag: "ROLLBACK" });
        }
        if starts("update") {
            return Ok(Statement::Write("UPDATE 1"));
        }
        if starts("insert") {
            return Ok(Statement::Write("INSERT 0 1"));
        }
        if starts("select o.n") {
            return Ok(Statement::Partitions);
        }
        if starts("select abalance") || starts("select count(*)") {
            return Ok(Statement::Constant("1".to_owned()));
        }
        if let Some(seconds) = inside("select pg_sleep(").and_then(|n| n.parse().ok()) {
            return Ok(Statement::Sleep(seconds));
        }
        if let Some(millis) = inside("select spin(").and_then(|n| n.parse().ok()) {
            return Ok(Statement::Spin(millis));
        }
        if let Some(rows) = inside("select generate_series(1, ").and_then(|n| n.parse().ok()) {
            return Ok(Statement::Series(rows));
        }
        if let Some(rows) = lower.strip_prefix("copy t to stdout ").and_then(|n| n.parse().ok()) {
            return Ok(Statement::CopyOut(rows));
        }
        match &*lower {
            "select pg_backend_pid()" => return Ok(Statement::Pid),
            "select 1/0" => return Ok(Statement::DivideByZero),
            "select panic()" => return Ok(Statement::Panic),
            "copy t from stdin" => return Ok(Statement::CopyIn),
            "select $1" => return Ok(Statement::Parameter),
            _ => {}
        }
        if let Some(text) = text.strip_prefix("notice ") {
            return Ok(Statement::Notice(text.to_owned()));
        }
        if let Some((name, value)) = text.strip_prefix("set ").and_then(|s| s.split_once(" = ")) {
            return Ok(Statement::Set {
                name: name.to_owned(),
                value: value.trim_matches('\'').into(),
            });
        }
        match lower.strip_prefix("select ") {
            Some(number) if number.parse::<i64>().is_ok() => {
                Ok(Statement::Constant(number.to_owned()))
            }
            _ => {
                let word = text.split_whitespace().next().unwrap_or_default();
                let message = format!("syntax error at or near \"{word}\"");
                Err(SqlError::new(SqlState::SYNTAX_ERROR, message).at(1))
            }
        }
    }

    /// The statement with its parameters.
    pub fn with(self, values: &[Option<&[u8]>]) -> Statement {
        match (self, values.first()) {
            (Statement::Parameter, Some(Some(bytes))) => {
                Statement::Constant(String::from_utf8_lossy(bytes).into_owned())
            }
            (other, _) => other,
        }
    }

    pub fn fields(&self) -> Option<Vec<Field>> {
        let field = |name: &str| Field {
            name: name.into(),
            table: Oid(0),
            column: 0,
            type_id: TypeId(23),
            type_len: 4,
            type_mod: -1,
        };
        match self {
            Statement::Constant(_)
            | Statement::Parameter
            | Statement::Pid
            | Statement::Sleep(_)
            | Statement::Spin(_)
            | Statement::Series(_)
            | Statement::DivideByZero
            | Statement::Panic => Some(vec![field("?column?")]),
            Statement::Partitions => Some(vec![field("n"), field("partstrat"), field("count")]),
            _ => None,
        }
    }

    pub fn row(&self, client: &mut impl Client, text: &str) -> Result<()> {
        put_row(client, text);
        client.command_complete("SELECT 1");
        Ok(())
    }

    /// Runs it from row `from` on; false where `max` rows were not all.
    pub fn run(&self, from: u64, max: u64, client: &mut impl Client) -> Result<bool> {
        let tag = match self {
            Statement::Begin => "BEGIN",
            Statement::End { tag } | Statement::Write(tag) => tag,
            Statement::Set { .. } => "SET",
            Statement::Constant(text) => return self.row(client, text).map(|()| true),
            Statement::Parameter | Statement::Pid => return self.row(client, "0").map(|()| true),
            Statement::Sleep(seconds) => {
                sleep(Duration::from_secs_f64(*seconds))?;
                return self.row(client, "").map(|()| true);
            }
            Statement::Spin(millis) => {
                spin(Duration::from_millis(*millis))?;
                return self.row(client, "").map(|()| true);
            }
            Statement::Series(rows) => return series(from, *rows, max, client),
            Statement::DivideByZero => {
                client.begin_row(1);
                client.begin_value();
                return Err(SqlError::new(SqlState::DIVISION_BY_ZERO, "division by zero"));
            }
            Statement::Panic => panic!("asked to"),
            Statement::Notice(text) => {
                let fields = SqlError::new(SqlState::SUCCESSFUL_COMPLETION, text.clone());
                client.notice(&Notice { severity: "NOTICE", fields });
                "NOTICE"
            }
            Statement::CopyIn => return copy_in(client).map(|()| true),
            Statement::CopyOut(rows) => return copy_out(*rows, client).map(|()| true),
            Statement::Partitions => {
                client.begin_row(3);
                for value in [Some("2"), None, Some("0")] {
                    put_value(client, value);
                }
                client.end_row();
                "SELECT 1"
            }
        };
        client.command_complete(tag);
        Ok(true)
    }
}

fn put_value(client: &mut impl Client, text: Option<&str>) {
    let Some(text) = text else { return client.null_value() };
    client.begin_value();
    client.buffer().extend_from_slice(text.as_bytes());
    client.end_value();
}

fn put_row(client: &mut impl Client, text: &str) {
    client.begin_row(1);
    put_value(client, Some(text));
    client.end_row();
}

fn series(from: u64, rows: u64, max: u64, client: &mut impl Client) -> Result<bool> {
    let to = if max == 0 { rows } else { rows.min(from + max) };
    for row in from + 1..=to {
        put_row(client, &row.to_string());
        client.relieve(Lsn::ZERO)?;
        park::checkpoint();
        interrupt::check().map_err(report::interrupted)?;
    }
    if max > 0 && to == from + max {
        return Ok(false);
    }
    client.command_complete(&format!("SELECT {}", to - from));
    Ok(true)
}

fn sleep(wait: Duration) -> Result<()> {
    let until = clock::now().after(wait);
    while clock::now() < until {
        interrupt::check().map_err(report::interrupted)?;
        park::park_until(Some(until));
    }
    Ok(())
}

fn spin(wait: Duration) -> Result<()> {
    let until = clock::now().after(wait);
    while clock::now() < until {
        interrupt::check().map_err(report::interrupted)?;
        park::checkpoint();
    }
    Ok(())
}

fn copy_in(client: &mut impl Client) -> Result<()> {
    client.copy_in(1, Format::Text)?;
    let mut buffer = Vec::new();
    let mut rows = 0;
    loop {
        match client.copy_read(&mut buffer)? {
            CopyInput::Data => {
                rows += buffer.iter().filter(|&&byte| byte == b'\n').count();
                if buffer.windows(3).any(|word| word == b"bad") {
                    let message = "invalid input syntax for type integer: \"bad\"";
                    return Err(SqlError::new(SqlState::INVALID_TEXT_REPRESENTATION, message));
                }
                buffer.clear();
            }
            CopyInput::Done => break,
            CopyInput::Fail(reason) => {
                let message = format!("COPY from stdin failed: {reason}");
                return Err(SqlError::new(SqlState::QUERY_CANCELED, message));
            }
        }
    }
    client.command_complete(&format!("COPY {rows}"));
    Ok(())
}

fn copy_out(rows: u64, client: &mut impl Client) -> Result<()> {
    client.copy_out(1, Format::Text);
    for row in 1..=rows {
        client.copy_data(format!("{row}\n").as_bytes());
        client.relieve(Lsn::ZERO)?;
        park::checkpoint();
    }
    client.copy_out_done();
    client.command_complete(&format!("COPY {rows}"));
    Ok(())
}
