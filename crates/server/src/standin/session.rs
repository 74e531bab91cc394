//! A session's statements, portals and transaction.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicI32, Ordering};

use base::Lsn;
use sql::error::{Result, SqlError, SqlState};
use sql::session::{Client, Field, Formats};
use sql::types::{Oid, TypeId};

use storage::txn::{Isolation, Txn};

use super::statement::Statement;
use crate::database::Database;

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Status {
    Idle,
    InTransaction,
    Failed,
}

pub struct Session {
    txn: Txn,
    pid: i32,
    settings: BTreeMap<String, String>,
    status: Status,
    wrote: bool,
    must: Lsn,
    statements: BTreeMap<String, Statement>,
    portals: BTreeMap<String, (Statement, Formats, u64)>,
}

impl Session {
    pub fn open(store: &Arc<Database>, database: &str, user: &str) -> Result<Session> {
        static NEXT: AtomicI32 = AtomicI32::new(1);
        if database == "nosuch" {
            let message = format!("database \"{database}\" does not exist");
            return Err(SqlError::new(SqlState::INVALID_CATALOG_NAME, message));
        }
        let pid = NEXT.fetch_add(1, Ordering::Relaxed);
        let txn = Txn::attach(store.engine().txns(), pid, 1).map_err(broken)?;
        let settings = [
            ("application_name", ""),
            ("client_encoding", "UTF8"),
            ("DateStyle", "ISO, MDY"),
            ("integer_datetimes", "on"),
            ("server_encoding", "UTF8"),
            ("server_version", "15.0 (Thalweg)"),
            ("session_authorization", user),
            ("standard_conforming_strings", "on"),
            ("TimeZone", "Etc/UTC"),
        ];
        Ok(Session {
            txn,
            pid,
            settings: settings.map(|(n, v)| (n.to_owned(), v.to_owned())).into(),
            status: Status::Idle,
            wrote: false,
            must: Lsn::ZERO,
            statements: BTreeMap::new(),
            portals: BTreeMap::new(),
        })
    }

    pub fn set_startup(&mut self, name: &str, value: &str) -> Result<()> {
        self.settings.insert(name.to_owned(), value.to_owned());
        Ok(())
    }

    pub fn reported(&self) -> Vec<(String, String)> {
        self.settings.iter().map(|(n, v)| (n.clone(), v.clone())).collect()
    }

    pub fn pid(&self) -> i32 {
        self.pid
    }

    pub fn cancel_key(&self) -> u32 {
        self.pid as u32 ^ 0x5eed_5eed
    }

    pub fn status(&self) -> Status {
        self.status
    }

    pub fn must_be_durable(&self) -> Lsn {
        self.must
    }

    pub fn simple_query(&mut self, text: &str, client: &mut impl Client) -> Result<()> {
        let mut any = false;
        for part in text.split(';').filter(|part| !part.trim().is_empty()) {
            any = true;
            let statement = Statement::parse(part)?;
            if let Some(fields) = statement.fields() {
                client.row_description(&fields, &Formats::default());
            }
            self.run(&statement, 0, 0, client)?;
        }
        if !any {
            client.empty_query();
        }
        self.commit_implicit()
    }

    fn run(
        &mut self,
        statement: &Statement,
        from: u64,
        max: u64,
        client: &mut impl Client,
    ) -> Result<bool> {
        if self.status == Status::Failed && !matches!(statement, Statement::End { .. }) {
            return Err(SqlError::new(
                SqlState::IN_FAILED_SQL_TRANSACTION,
                "current transaction is aborted, commands ignored until end of transaction block",
            ));
        }
        match statement {
            Statement::Begin => self.status = Status::InTransaction,
            Statement::End { .. } => {
                if self.status == Status::InTransaction && self.wrote {
                    self.commit()?;
                }
                (self.status, self.wrote) = (Status::Idle, false);
            }
            Statement::Write(_) => self.wrote = true,
            Statement::Set { name, value } => {
                self.settings.insert(name.clone(), value.clone());
                client.parameter_status(name, value);
            }
            Statement::Pid => {
                return statement.row(client, &self.pid.to_string()).map(|()| true);
            }
            _ => {}
        }
        statement.run(from, max, client)
    }

    fn commit_implicit(&mut self) -> Result<()> {
        if self.status == Status::Idle && std::mem::take(&mut self.wrote) {
            self.commit()?;
        }
        Ok(())
    }

    fn commit(&mut self) -> Result<()> {
        self.txn.begin(Isolation::ReadCommitted);
        self.txn.xid().map_err(broken)?;
        self.must = self.txn.commit().map_err(broken)?.must_be_durable;
        Ok(())
    }

    pub fn parse(&mut self, name: &str, text: &str, _types: &[Oid]) -> Result<()> {
        let statement = Statement::parse(text)?;
        self.statements.insert(name.to_owned(), statement);
        Ok(())
    }

    pub fn bind(
        &mut self,
        portal: &str,
        statement: &str,
        values: &[Option<&[u8]>],
        _given: &Formats,
        wanted: Formats,
    ) -> Result<()> {
        let statement = self.statement(statement)?.clone().with(values);
        self.portals.insert(portal.to_owned(), (statement, wanted, 0));
        Ok(())
    }

    fn statement(&self, name: &str) -> Result<&Statement> {
        self.statements.get(name).ok_or_else(|| {
            let message = format!("prepared statement \"{name}\" does not exist");
            SqlError::new(SqlState::INVALID_SQL_STATEMENT_NAME, message)
        })
    }

    pub fn describe_statement(&self, name: &str) -> Result<(Vec<TypeId>, Option<Vec<Field>>)> {
        Ok((Vec::new(), self.statement(name)?.fields()))
    }

    pub fn describe_portal(&self, name: &str) -> Result<Option<(Vec<Field>, Formats)>> {
        let (statement, formats, _) = self.portals.get(name).ok_or_else(|| no_portal(name))?;
        Ok(statement.fields().map(|fields| (fields, formats.clone())))
    }

    pub fn execute(
        &mut self,
        portal: &str,
        rows_max: usize,
        client: &mut impl Client,
    ) -> Result<()> {
        let (statement, _, done) = self.portals.get(portal).ok_or_else(|| no_portal(portal))?;
        let (statement, done) = (statement.clone(), *done);
        if !self.run(&statement, done, rows_max as u64, client)? {
            client.portal_suspended();
            if let Some(portal) = self.portals.get_mut(portal) {
                portal.2 += rows_max as u64;
            }
        }
        Ok(())
    }

    pub fn close_statement(&mut self, name: &str) {
        self.statements.remove(name);
    }

    pub fn close_portal(&mut self, name: &str) {
        self.portals.remove(name);
    }

    pub fn sync(&mut self) -> Result<()> {
        self.commit_implicit()?;
        if self.status == Status::Idle {
            self.portals.clear();
        }
        Ok(())
    }

    pub fn fail(&mut self, _error: &SqlError) {
        self.wrote = false;
        if self.status == Status::InTransaction {
            self.status = Status::Failed;
        }
    }
}

fn broken(error: storage::Error) -> SqlError {
    SqlError::internal(error.to_string())
}

fn no_portal(name: &str) -> SqlError {
    SqlError::new(SqlState::INVALID_CURSOR_NAME, format!("portal \"{name}\" does not exist"))
}
