//! The databases in a directory: made if they are not there, opened, closed in order.

use std::fs::Permissions;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::Arc;

use base::Env;
use base::disk::real::RealDisk;
use sql::catalog::store::Cluster;
use sql::settings::{self, Context, Value};
use storage::buffer::TornPages;
use storage::wal::{Wal, WalIo};
use storage::{Engine, EngineConfig};

use crate::StartError;
use crate::config::{self, Config, PAGE_BYTES};

/// An open directory.
pub struct Database {
    engine: Arc<Engine>,
    cluster: Arc<Cluster>,
}

impl Database {
    /// Opens the database in `data`, recovering it if it was not closed in order. Where there is none,
    /// makes one that belongs to `superuser`.
    ///
    /// # Errors
    /// A directory that is in use, belongs to something else or another version, or cannot be read or
    /// written; one sentence says which.
    pub fn open(data: &Path, superuser: &str, config: &Config) -> Result<Database, StartError> {
        let env = Env::new(Arc::new(RealDisk::new(data)));
        Database::open_in(&env, data, superuser, config)
    }

    /// As [`Database::open`], through a disk of the caller's choice whose root is `data`.
    ///
    /// # Errors
    /// As there.
    pub fn open_in(
        env: &Env,
        data: &Path,
        superuser: &str,
        config: &Config,
    ) -> Result<Database, StartError> {
        let database = Database::at_rest(env, data, superuser, config)?;
        database.cluster.start_vacuum(|complaint| base::log!("{complaint}"));
        Ok(database)
    }

    /// As [`Database::open`], for who verifies what is there: nothing changes a table behind its back.
    ///
    /// # Errors
    /// As there.
    pub fn open_at_rest(
        data: &Path,
        superuser: &str,
        config: &Config,
    ) -> Result<Database, StartError> {
        let env = Env::new(Arc::new(RealDisk::new(data)));
        Database::at_rest(&env, data, superuser, config)
    }

    fn at_rest(
        env: &Env,
        data: &Path,
        superuser: &str,
        config: &Config,
    ) -> Result<Database, StartError> {
        let failed = |fault: &dyn std::fmt::Display| {
            StartError::new(format!("cannot open the data directory {}: {fault}", data.display()))
        };
        let open_files_max = crate::limits::relation_files();
        let sizes = EngineConfig { open_files_max, ..config.engine() };
        let is_new = !Engine::exists(env).map_err(|e| failed(&e))?;
        if is_new {
            let failed = |fault: &dyn std::fmt::Display| {
                let data = data.display();
                StartError::new(format!("cannot make a data directory of {data}: {fault}"))
            };
            Engine::create(&sizes, env).map_err(|e| failed(&e))?;
            write_first_config(data).map_err(|e| failed(&e))?;
        }
        let engine = Engine::open(&sizes, env).map_err(|e| failed(&e))?;
        let made = if is_new { Cluster::create(&engine, superuser) } else { Ok(()) };
        match made.and_then(|()| Cluster::open(&engine)) {
            Ok(cluster) => {
                if let Some(every) = config.keeps_warm() {
                    engine.keep_warm(every);
                }
                if config.wal_io() == WalIo::PmemEmulated {
                    base::log!(
                        "wal_io = pmem_emulated only emulates persistent memory: nothing is durable here"
                    );
                }
                engine.wal().set_timed(config.tracks_wal_io_timing());
                let database = Database { engine, cluster };
                database.show(config, &[Context::Start, Context::Reload]);
                database.cluster.set_session_settings(config.session_settings());
                if let Err(error) = database.cluster.drop_left_temporaries() {
                    let told = error.message();
                    base::log!("temporary relations of earlier sessions are left: {told}");
                }
                Ok(database)
            }
            Err(fault) => {
                if let Err(second) = engine.shutdown() {
                    base::log!("the storage engine did not close in order: {second}");
                }
                let hint = fault.fields().hint.as_ref().map(|hint| format!(" ({hint})"));
                Err(failed(&format!("{}{}", fault.message(), hint.unwrap_or_default())))
            }
        }
    }

    /// Closes it in order, so that the next start has nothing to recover. No session may be left.
    ///
    /// # Errors
    /// The directory is then as after a crash, and the next start recovers it.
    pub fn close(&self) -> Result<(), StartError> {
        self.engine.shutdown().map_err(|fault| {
            StartError::new(format!("the database was not closed in order: {fault}"))
        })
    }

    /// Takes over what a configuration that was read again says about storage. What storage refuses stays as
    /// it is, and the log says why.
    pub(crate) fn reload(&self, config: &Config) {
        self.engine.set_wal_compression(config.wal_compression());
        self.engine.pool().set_flush_after(config.flush_after());
        self.engine.wal().set_timed(config.tracks_wal_io_timing());
        self.reload_checkpoints(config);
        let changed = [
            ("torn_page_protection", self.engine.set_torn_pages(config.torn_pages())),
            ("wal_sync_method", self.engine.wal().set_sync_method(config.wal_sync_method())),
        ];
        let changed = changed.map(|(name, done)| {
            let setting = settings::find(name).expect("a known setting");
            (setting, self.cluster.running.get(setting), done)
        });
        self.show(config, &[Context::Reload]);
        self.cluster.limit_upkeep();
        self.cluster.set_session_settings(config.session_settings());
        for (setting, was, done) in changed {
            if let (Err(fault), Some(was)) = (done, was) {
                base::log!("{} stays as it is: {fault}", setting.name);
                self.cluster.running.set(setting, was);
            }
        }
    }

    fn reload_checkpoints(&self, config: &Config) {
        let engine = config.engine();
        let (min, max) = (engine.min_wal_bytes, engine.max_wal_bytes);
        if let Err(fault) = self.engine.set_checkpoints(min, max, engine.checkpoint_timeout) {
            base::log!("log files that are more than enough could not be removed: {fault}");
        }
    }

    /// Has every session show these settings as they are.
    fn show(&self, config: &Config, of: &[Context]) {
        for setting in settings::TABLE.iter().filter(|setting| of.contains(&setting.context)) {
            self.cluster.running.set(setting, config.value(setting.name));
        }
        // The pool's own: a change that was asked for may have been refused.
        let logged_whole = self.engine.pool().torn_pages() == TornPages::FullPageWrites;
        let setting = settings::find("full_page_writes").expect("a known setting");
        self.cluster.running.set(setting, Value::Bool(logged_whole));
        // The log's own, whatever is configured: a directory keeps its segments' size, and the ring's is rounded up.
        let wal = self.engine.wal();
        let mebibytes = wal.epoch().segment_bytes >> 20;
        let pages = wal.buffer_bytes() / PAGE_BYTES as u64;
        let wal = [("wal_segment_size", mebibytes), ("wal_buffers", pages)];
        // Whole banks, and what 0 stands for.
        let status_logs = self.engine.txns().txlog().buffers();
        let status_logs = status_logs.map(|(log, pages)| (log.setting(), pages as u64));
        for (name, value) in wal.into_iter().chain(status_logs) {
            let setting = settings::find(name).expect("a known setting");
            self.cluster.running.set(setting, Value::Integer(value as i64));
        }
    }

    /// Storage.
    pub fn engine(&self) -> &Arc<Engine> {
        &self.engine
    }

    /// What sessions are opened on.
    pub fn cluster(&self) -> &Arc<Cluster> {
        &self.cluster
    }

    pub(crate) fn wal(&self) -> &Wal {
        self.engine.wal()
    }
}

/// Nobody else may look into a new directory, and its configuration says what could be chosen.
fn write_first_config(data: &Path) -> io::Result<()> {
    std::fs::set_permissions(data, Permissions::from_mode(0o700))?;
    let path = data.join(config::FILE_NAME);
    if path.exists() { Ok(()) } else { std::fs::write(path, config::template()) }
}
