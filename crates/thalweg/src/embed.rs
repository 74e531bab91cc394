//! The embedding API: a database in the calling program.

use std::path::Path;

use base::Lsn;
use server::StartError;
use server::config::Config;
use sql::error::{Result, SqlError};
use sql::session::{Client, CopyInput, Field, Format, Formats, Notice, Session, Status};
use sql::types::Encoding;

/// An open database.
pub struct Database {
    inner: server::Database,
    /// How closing it went has been told.
    closed: bool,
}

impl Database {
    /// Opens the database in a directory, or makes one there that belongs to the role `superuser`.
    ///
    /// # Errors
    /// A directory that is in use, belongs to something else, or cannot be read or written.
    pub fn open(
        data: impl AsRef<Path>,
        superuser: &str,
        config: &Config,
    ) -> std::result::Result<Database, StartError> {
        let inner = server::Database::open(data.as_ref(), superuser, config)?;
        Ok(Database { inner, closed: false })
    }

    /// A connection to one of its databases; `postgres` is there from the beginning. Its texts are strings:
    /// `client_encoding` is UTF8 and can't be set to another one.
    ///
    /// # Errors
    /// `3D000` where there is no such database, `55000` where it takes no sessions, `28000` no such role.
    pub fn connect(&self, database: &str, user: &str) -> Result<Connection<'_>> {
        let mut session = Session::open(self.inner.cluster(), database, user)?;
        session.stay_with_utf8()?;
        Ok(Connection { database: self, session })
    }

    /// Closes it in order, as dropping it does, and tells how that went; the borrow checker sees to it that no connection
    /// is left.
    ///
    /// # Errors
    /// The directory is then as after a crash, and the next opening recovers it.
    pub fn close(mut self) -> std::result::Result<(), StartError> {
        self.closed = true;
        self.inner.close()
    }
}

/// What is dropped is closed, too: nothing of it may go on writing in a directory that somebody else may open then.
impl Drop for Database {
    fn drop(&mut self) {
        if !self.closed
            && let Err(fault) = self.inner.close()
        {
            base::log!("{fault}");
        }
    }
}

/// One session. Dropping it rolls back what it has not committed.
pub struct Connection<'d> {
    database: &'d Database,
    session: Session,
}

/// What one statement answered.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Answer {
    /// The columns' names; empty for a statement that returns no rows.
    pub columns: Vec<String>,
    /// Values as text, `None` for null.
    pub rows: Vec<Vec<Option<String>>>,
    /// What was done: `SELECT 1`, `INSERT 0 3`, `CREATE TABLE`.
    pub tag: String,
    /// What `COPY … TO STDOUT` gave.
    pub copied: Vec<u8>,
}

/// What somebody told a channel (NOTIFY).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Notification {
    /// The process number of the session that did, as `pg_backend_pid()` tells it.
    pub process: i32,
    pub channel: String,
    /// Empty where none was given.
    pub payload: String,
}

impl Connection<'_> {
    /// Runs every statement of a text and returns their answers, once all that they tell is durable.
    ///
    /// # Errors
    /// That of the first statement that failed, with PostgreSQL's SQLSTATE.
    pub fn query(&mut self, text: &str) -> Result<Vec<Answer>> {
        let mut gathered = Gathered::default();
        let result = self.session.simple_query(text, &mut gathered);
        self.rest();
        result.map(|()| gathered.answers)
    }

    /// Prepares one statement under a name, for [`Connection::execute`]; its parameters are `$1` and so on.
    ///
    /// # Errors
    /// What is wrong with the statement; `42P05` where the name is taken.
    pub fn prepare(&mut self, name: &str, text: &str) -> Result<()> {
        let parsed = self.session.parse(name, text, &[]);
        self.done(parsed)
    }

    /// Runs a prepared statement with these parameter values, as text, and returns its answer, once all that it tells
    /// is durable. Outside of BEGIN and COMMIT it is a transaction of its own.
    ///
    /// # Errors
    /// That of the statement, with PostgreSQL's SQLSTATE; `26000` where nothing was prepared under the name.
    pub fn execute(&mut self, name: &str, values: &[Option<&str>]) -> Result<Answer> {
        let mut gathered = Gathered::default();
        let values: Vec<Option<&[u8]>> = values.iter().map(|v| v.map(str::as_bytes)).collect();
        let text = Formats::default();
        let bound = self.session.bind("", name, &values, &text, text.clone());
        let ran = bound.and_then(|()| {
            if let Some((fields, formats)) = self.session.describe_portal("")? {
                gathered.row_description(&fields, &formats);
            }
            self.session.execute("", 0, &mut gathered)
        });
        self.done(ran)?;
        Ok(gathered.answers.pop().unwrap_or_default())
    }

    /// Ends a step of the extended protocol as a client's Sync does, and waits for what it tells.
    fn done(&mut self, result: Result<()>) -> Result<()> {
        if let Err(error) = &result {
            self.session.fail(error);
        }
        let synced = self.session.sync();
        self.rest();
        result.and(synced)
    }

    /// What others have told the channels that this connection listens on (LISTEN) since it was last asked, in order,
    /// once it is durable. Nothing within a transaction.
    pub fn notifications(&mut self) -> Vec<Notification> {
        if self.session.status() != Status::Idle {
            return Vec::new();
        }
        let mut told = Vec::new();
        while self.session.has_mail() {
            told.append(&mut self.session.take_mail());
        }
        if let Some(gate) = told.iter().map(|letter| letter.gate).max() {
            self.database.inner.engine().wal().flush(gate);
        }
        let shown = told.into_iter().map(|letter| Notification {
            process: letter.process,
            channel: letter.channel.to_string(),
            payload: letter.payload.to_string(),
        });
        shown.collect()
    }

    /// Waits for what the session has told.
    fn rest(&mut self) {
        // Nobody keeps track of settings here.
        let _changed = self.session.rest();
        // An error, too, may tell of what others have done.
        self.database.inner.engine().wal().flush(self.session.must_be_durable());
    }
}

/// Gathers answers in memory.
#[derive(Default)]
struct Gathered {
    answers: Vec<Answer>,
    /// The statement's answer so far.
    current: Answer,
    /// The value being written.
    value: Vec<u8>,
}

impl Gathered {
    fn row(&mut self) -> &mut Vec<Option<String>> {
        self.current.rows.last_mut().expect("a row was begun")
    }

    fn complete(&mut self, tag: &str) {
        tag.clone_into(&mut self.current.tag);
        self.answers.push(std::mem::take(&mut self.current));
    }
}

impl Client for Gathered {
    fn row_description(&mut self, fields: &[Field], _formats: &Formats) {
        self.current.columns = fields.iter().map(|field| field.name.to_string()).collect();
    }

    fn begin_row(&mut self, columns: usize) {
        self.current.rows.push(Vec::with_capacity(columns));
    }

    fn begin_value(&mut self) {
        self.value.clear();
    }

    fn buffer(&mut self) -> &mut Vec<u8> {
        &mut self.value
    }

    fn end_value(&mut self) {
        let text = String::from_utf8(std::mem::take(&mut self.value));
        let text = text.expect("values are asked for as text, and text is UTF-8");
        self.row().push(Some(text));
    }

    fn null_value(&mut self) {
        self.row().push(None);
    }

    fn end_row(&mut self) -> Result<()> {
        Ok(())
    }

    fn command_complete(&mut self, tag: &str) {
        self.complete(tag);
    }

    fn empty_query(&mut self) {}

    fn portal_suspended(&mut self) {}

    fn notice(&mut self, _notice: &Notice) {}

    fn spells_in(&mut self, _encoding: Encoding) {}

    fn copy_out(&mut self, _columns: usize, _format: Format) {}

    fn copy_data(&mut self, bytes: &[u8]) -> Result<()> {
        self.current.copied.extend_from_slice(bytes);
        Ok(())
    }

    fn copy_out_done(&mut self) {}

    fn copy_in(&mut self, _columns: usize, _format: Format) -> Result<()> {
        Err(SqlError::unsupported("COPY FROM STDIN needs a client that sends data")
            .with_hint("Use INSERT, or COPY through a server."))
    }

    fn copy_read(&mut self, _buffer: &mut Vec<u8>) -> Result<CopyInput> {
        Ok(CopyInput::Fail("no data can be sent here".to_owned()))
    }

    fn relieve(&mut self, _durable: Lsn) -> Result<()> {
        Ok(())
    }
}
