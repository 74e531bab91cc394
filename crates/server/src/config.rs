//! The configuration: what the file in the data directory and the command line say.
//!
//! The file has lines of the form `name = value`, the equals sign may be missing, `#` starts a
//! comment, and a value with blanks stands in single quotes, in which a quote is doubled. The
//! command line wins over the file, and the file over the defaults.

use std::collections::BTreeMap;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, ToSocketAddrs};
use std::path::{Path, PathBuf};
use std::time::Duration;

use base::disk::SyncMethod;
use sql::session::Session;
use sql::settings::{self, Context, Setting, Value};
use storage::EngineConfig;
use storage::buffer::{HugePages, Policy, Reach, TornPages};
use storage::txlog::slru::ALL_LOGS;
use storage::txlog::{LogBuffers, TxLogConfig, TxLogStart};
use storage::wal::{Compression, WalIo};

use crate::StartError;
use crate::encryption::Encryption;
use crate::hba::Rules;
use crate::options::Options;

/// The file's name within the data directory.
pub const FILE_NAME: &str = "thalweg.conf";

/// What settings count in.
pub(crate) const PAGE_BYTES: usize = 8192;
const MIB: u64 = 1 << 20;

/// Values of settings that somebody has chosen; the others have their defaults.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Config {
    /// By the table's spelling of their names.
    from_file: BTreeMap<&'static str, Value>,
    from_command_line: BTreeMap<&'static str, Value>,
    /// What the machine suggests where nobody has chosen.
    from_machine: BTreeMap<&'static str, Value>,
    /// Where a new directory's ids begin, if not at the beginning.
    first: Option<(TxLogStart, u64)>,
}

impl Config {
    /// A configuration that says nothing.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets a value from the command line.
    ///
    /// # Errors
    /// A setting that does not exist, cannot be chosen, or does not take the value.
    pub fn set(&mut self, name: &str, value: &str) -> Result<(), StartError> {
        let (name, value) = read_setting(name, value)?;
        self.from_command_line.insert(name, value);
        Ok(())
    }

    /// From now on sizes that nobody chooses follow the machine's: for a server that has it to itself, not for a
    /// database within another program.
    pub fn fit_to_machine(&mut self) {
        self.from_machine.insert("shared_buffers", Value::Integer(crate::memory::buffers()));
    }

    /// Has the ids of a new directory begin here, and the numbers of multixacts' members at every start: for tests,
    /// which begin beyond 32 bits.
    pub fn begin_ids_at(&mut self, first: TxLogStart, first_member: u64) {
        self.first = Some((first, first_member));
    }

    /// Reads the file in the data directory; none is as good as an empty one, unless there was one before: that it is
    /// gone takes back nothing of what it said.
    ///
    /// # Errors
    /// A file that cannot be read, naming the line that is wrong. What was read before stays.
    pub fn read_file(&mut self, data: &Path) -> Result<(), StartError> {
        let path = data.join(FILE_NAME);
        let text = match std::fs::read_to_string(&path) {
            Ok(text) => text,
            Err(fault)
                if fault.kind() == std::io::ErrorKind::NotFound && self.from_file.is_empty() =>
            {
                String::new()
            }
            Err(fault) => {
                return Err(StartError::new(format!("cannot read {}: {fault}", path.display())));
            }
        };
        let mut values = BTreeMap::new();
        for (number, line) in text.lines().enumerate() {
            let wrong = |what: StartError| {
                StartError::new(format!("{}, line {}: {what}", path.display(), number + 1))
            };
            if let Some((name, value)) = parse_line(line).map_err(wrong)? {
                let (name, value) = read_setting(name, &value).map_err(wrong)?;
                values.insert(name, value);
            }
        }
        self.from_file = values;
        Ok(())
    }

    /// The value of a setting.
    ///
    /// # Panics
    /// If the table has no such setting.
    pub fn value(&self, name: &str) -> Value {
        let chosen = self.from_command_line.get(name).or_else(|| self.from_file.get(name));
        let chosen = chosen.or_else(|| self.from_machine.get(name));
        chosen.cloned().unwrap_or_else(|| settings::find(name).expect("a known setting").default())
    }

    /// What somebody has chosen, with the values that hold.
    pub fn chosen(&self) -> impl Iterator<Item = (&'static Setting, Value)> {
        let names = self.from_file.keys().chain(self.from_command_line.keys());
        let names: std::collections::BTreeSet<_> = names.copied().collect();
        names.into_iter().map(|name| {
            (settings::find(name).expect("only known settings are kept"), self.value(name))
        })
    }

    /// Settings whose values differ between this configuration and a later one.
    pub fn changes<'c>(
        &'c self,
        later: &'c Config,
    ) -> impl Iterator<Item = (&'static Setting, Value)> + 'c {
        settings::TABLE.iter().filter_map(|setting| {
            let value = later.value(setting.name);
            (value != self.value(setting.name)).then_some((setting, value))
        })
    }

    /// What a server over this data directory is started with.
    ///
    /// # Errors
    /// An address that cannot be resolved; a certificate, a key or a file of rules that cannot be used.
    pub fn options(&self, data: PathBuf) -> Result<Options, StartError> {
        let number = |name| self.value(name).as_integer();
        let port = number("port") as u16;
        let cores = || std::thread::available_parallelism().map_or(1, usize::from);
        let socket_dir = self.value("unix_socket_directories").as_text().to_owned();
        let encryption = Encryption::load(self, &data).map_err(StartError::new)?;
        let rules = Rules::load(self, &data).map_err(StartError::new)?;
        Ok(Options {
            listen: addresses(self.value("listen_addresses").as_text(), port)?,
            socket_dir: (!socket_dir.is_empty()).then(|| PathBuf::from(socket_dir)),
            port,
            data,
            workers: match number("worker_threads") {
                0 => cores(),
                chosen => chosen as usize,
            },
            busy_poll: Duration::from_micros(number("worker_busy_poll") as u64),
            core_affinity: self.value("worker_core_affinity").as_bool(),
            connection_affinity: self.value("worker_connection_affinity").as_bool(),
            max_connections: number("max_connections") as usize,
            reserved_connections: number("superuser_reserved_connections") as usize,
            rules,
            encryption,
            authentication_timeout: Duration::from_secs(number("authentication_timeout") as u64),
            session_settings: self.session_settings(),
        })
    }

    /// The sizes and choices that storage is opened with.
    pub fn engine(&self) -> EngineConfig {
        let number = |name| self.value(name).as_integer() as usize;
        let mut buffers = LogBuffers::default();
        for log in ALL_LOGS {
            buffers.0[log as usize] = number(log.setting());
        }
        let defaults = EngineConfig::default();
        let shared_buffers = number("shared_buffers");
        let TxLogConfig { first, first_member, .. } = defaults.txlog;
        let (first, first_member) = self.first.unwrap_or((first, first_member));
        EngineConfig {
            shared_buffers,
            huge_pages: match self.value("huge_pages").as_text() {
                "off" => HugePages::Off,
                "on" => HugePages::On,
                _ => HugePages::Try,
            },
            torn_pages: self.torn_pages(),
            wal_compression: self.wal_compression(),
            flush_after: self.flush_after(),
            replacement: match self.value("buffer_replacement").as_text() {
                "clock" => Policy::Clock,
                "clock_lruk" => {
                    let window = number("buffer_correlation_window") as u64;
                    Policy::ClockLruk { window: Duration::from_millis(window) }
                }
                _ => Policy::Probation,
            },
            direct_io: self.value("direct_io").as_text() == "data",
            reach: Reach {
                reads: number("maintenance_io_concurrency") as u32,
                pages: number("io_combine_limit") as u32,
            },
            wal_buffers: (number("wal_buffers") * PAGE_BYTES).next_power_of_two(),
            wal_insert_slots: match number("wal_insert_slots") {
                0 => defaults.wal_insert_slots,
                chosen => chosen,
            },
            wal_segment_bytes: number("wal_segment_size").next_power_of_two() as u64 * MIB,
            wal_sync_method: self.wal_sync_method(),
            wal_io: self.wal_io(),
            min_wal_bytes: number("min_wal_size") as u64 * MIB,
            max_wal_bytes: number("max_wal_size") as u64 * MIB,
            checkpoint_timeout: Duration::from_secs(number("checkpoint_timeout") as u64),
            recovery_prefetch: self.value("recovery_prefetch").as_text() != "off",
            recovery_workers: match number("recovery_workers") {
                0 => defaults.recovery_workers,
                chosen => chosen,
            },
            txlog: TxLogConfig {
                buffers,
                shared_buffers,
                track_commit_timestamp: self.value("track_commit_timestamp").as_bool(),
                first,
                first_member,
                ..defaults.txlog
            },
            ..defaults
        }
    }

    /// `pg_prewarm.autoprewarm_interval`, if `pg_prewarm.autoprewarm` is on.
    pub(crate) fn keeps_warm(&self) -> Option<Duration> {
        let interval = self.value("pg_prewarm.autoprewarm_interval").as_integer();
        let is_wanted = self.value("pg_prewarm.autoprewarm").as_bool();
        is_wanted.then(|| Duration::from_secs(interval as u64))
    }

    /// `torn_page_protection`.
    pub fn torn_pages(&self) -> TornPages {
        match self.value("torn_page_protection").as_text() {
            "full_page_writes" => TornPages::FullPageWrites,
            "off" => TornPages::Off,
            _ => TornPages::DoubleWrite,
        }
    }

    /// `track_wal_io_timing`.
    pub fn tracks_wal_io_timing(&self) -> bool {
        self.value("track_wal_io_timing").as_bool()
    }

    /// `wal_compression`.
    pub fn wal_compression(&self) -> Compression {
        match self.value("wal_compression").as_text() {
            "lz4" | "on" => Compression::Lz4,
            "zstd" => Compression::Zstd,
            _ => Compression::Off,
        }
    }

    /// `bgwriter_flush_after`, in pages.
    pub fn flush_after(&self) -> u32 {
        self.value("bgwriter_flush_after").as_integer() as u32
    }

    /// `wal_sync_method`.
    pub fn wal_sync_method(&self) -> SyncMethod {
        match self.value("wal_sync_method").as_text() {
            "open_datasync" => SyncMethod::OpenDatasync,
            "io_uring" => SyncMethod::IoUring,
            _ => SyncMethod::Fdatasync,
        }
    }

    /// `wal_io`.
    pub fn wal_io(&self) -> WalIo {
        let all = [WalIo::File, WalIo::Mmap, WalIo::Pmem, WalIo::PmemEmulated];
        let chosen = self.value("wal_io");
        all.into_iter().find(|io| io.name() == chosen.as_text()).unwrap_or_default()
    }

    /// Settings of sessions that somebody has chosen.
    pub fn session_settings(&self) -> Vec<(&'static str, String)> {
        self.chosen()
            .filter(|(setting, _)| is_of_sessions(setting))
            .map(|(setting, value)| (setting.name, setting.show(&value)))
            .collect()
    }
}

/// The file that a new data directory begins with: every setting, none of them chosen.
pub fn template() -> String {
    let mut text = String::from(
        "# Settings of this Thalweg directory, each with its default.\n\
         # A running server reads this file again on SIGHUP.\n",
    );
    for setting in settings::TABLE.iter().filter(|s| s.context != Context::Internal) {
        let value = quoted(&setting.show(&setting.default()));
        let restart = if setting.context == Context::Start { " (at the start)" } else { "" };
        let Setting { name, summary, .. } = setting;
        text.push_str(&format!("\n# {summary}{restart}\n#{name} = {value}\n"));
    }
    text
}

/// A value as the file writes it.
pub fn quoted(value: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.' | '/');
    if !value.is_empty() && value.chars().all(plain) {
        value.to_owned()
    } else {
        format!("'{}'", value.replace('\'', "''"))
    }
}

fn read_setting(name: &str, value: &str) -> Result<(&'static str, Value), StartError> {
    let told = |error: sql::error::SqlError| {
        let hint = error.fields().hint.as_ref().map(|hint| format!(" ({hint})"));
        StartError::new(format!("{}{}", error.message(), hint.unwrap_or_default()))
    };
    let setting = settings::get(name).map_err(told)?;
    if setting.context == Context::Internal {
        return Err(StartError::new(format!("parameter \"{name}\" cannot be changed")));
    }
    let parsed = setting.parse(value).map_err(told)?;
    if is_of_sessions(setting) {
        // What no session could begin with would keep everybody out.
        Session::check_startup(setting.name, value).map_err(told)?;
    }
    Ok((setting.name, parsed))
}

fn is_of_sessions(setting: &Setting) -> bool {
    matches!(setting.context, Context::User | Context::Superuser)
}

/// Name and value of a line, if it has any.
fn parse_line(line: &str) -> Result<Option<(&str, String)>, StartError> {
    let line = line.trim_start();
    if line.is_empty() || line.starts_with('#') {
        return Ok(None);
    }
    let end = line.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_' || c == '.'));
    let (name, rest) = line.split_at(end.unwrap_or(line.len()));
    let rest = rest.trim_start();
    let rest = rest.strip_prefix('=').unwrap_or(rest).trim_start();
    let wrong = || StartError::new(format!("syntax error near \"{}\"", line.trim_end()));
    let (value, rest) = match rest.strip_prefix('\'') {
        Some(quoted) => unquote(quoted).ok_or_else(wrong)?,
        None => {
            let end = rest.find(|c: char| c.is_whitespace() || c == '#').unwrap_or(rest.len());
            let (value, rest) = rest.split_at(end);
            (value.to_owned(), rest)
        }
    };
    let rest = rest.trim_start();
    let complete = !name.is_empty() && (rest.is_empty() || rest.starts_with('#'));
    if complete { Ok(Some((name, value))) } else { Err(wrong()) }
}

/// What stands in quotes, the opening one already taken, and what follows.
fn unquote(text: &str) -> Option<(String, &str)> {
    let mut value = String::new();
    let mut rest = text;
    loop {
        let (piece, behind) = rest.split_once('\'')?;
        value.push_str(piece);
        match behind.strip_prefix('\'') {
            Some(more) => {
                value.push('\'');
                rest = more;
            }
            None => return Some((value, behind)),
        }
    }
}

/// Addresses out of a list separated by commas; `*` stands for all there are.
fn addresses(list: &str, port: u16) -> Result<Vec<SocketAddr>, StartError> {
    let mut found = Vec::new();
    for host in list.split(',').map(str::trim).filter(|host| !host.is_empty()) {
        if host == "*" {
            found.push((Ipv4Addr::UNSPECIFIED, port).into());
            found.push((Ipv6Addr::UNSPECIFIED, port).into());
            continue;
        }
        let host = host.trim_start_matches('[').trim_end_matches(']');
        let resolved = (host, port).to_socket_addrs().map_err(|fault| {
            StartError::new(format!("cannot find the address to listen on, {host}: {fault}"))
        })?;
        // Loopback is one place to the user; its IPv6 half is missing on many machines.
        let resolved = resolved.filter(|address| host != "localhost" || address.is_ipv4());
        found.extend(resolved);
    }
    found.dedup();
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_the_file_are_names_and_values() {
        let line = |text| parse_line(text).map(|l| l.map(|(n, v)| (n.to_owned(), v)));
        let is = |name: &str, value: &str| Ok(Some((name.to_owned(), value.to_owned())));
        assert_eq!(line("  # nothing"), Ok(None));
        assert_eq!(line("port = 5433 # mine"), is("port", "5433"));
        assert_eq!(line("work_mem 4MB"), is("work_mem", "4MB"));
        assert_eq!(line("search_path='it''s, b'"), is("search_path", "it's, b"));
        assert_eq!(line("listen_addresses = ''"), is("listen_addresses", ""));
        for wrong in ["port = 1 2", "= 5", "x = 'open", "port 5'"] {
            assert!(line(wrong).is_err() || line(wrong) == is("port", "5'"), "{wrong}");
        }
    }

    #[test]
    fn storage_gets_what_the_settings_say() {
        let mut config = Config::new();
        let (mut engine, default) = (config.engine(), EngineConfig::default());
        for log in ALL_LOGS {
            let banks = |of: &EngineConfig| of.txlog.buffers.banks(log, of.shared_buffers);
            assert_eq!(banks(&engine), banks(&default), "{}", log.name());
        }
        engine.txlog.buffers = default.txlog.buffers;
        assert_eq!(
            format!("{engine:?}"),
            format!("{default:?}"),
            "the table's defaults are storage's"
        );
        for (name, value) in [
            ("shared_buffers", "64MB"),
            ("buffer_replacement", "clock_lruk"),
            ("buffer_correlation_window", "2s"),
            ("wal_buffers", "3MB"),
            ("max_wal_size", "4GB"),
            ("transaction_buffers", "1MB"),
            ("torn_page_protection", "off"),
            ("huge_pages", "off"),
        ] {
            config.set(name, value).unwrap();
        }
        let engine = config.engine();
        assert_eq!((engine.shared_buffers, engine.wal_buffers), (8192, 4 << 20));
        let window = Duration::from_secs(2);
        assert_eq!(engine.replacement, Policy::ClockLruk { window });
        assert_eq!(engine.max_wal_bytes, 4 << 30);
        assert_eq!(engine.txlog.buffers.0[storage::txlog::LogKind::Xact as usize], 128);
        assert_eq!(engine.torn_pages, TornPages::Off);
        assert_eq!(engine.huge_pages, HugePages::Off);
    }

    #[test]
    fn what_the_machine_suggests_gives_way_to_what_is_chosen() {
        let mut config = Config::new();
        assert_eq!(config.engine().shared_buffers, 16_384);
        config.fit_to_machine();
        assert!((16_384..=2 << 20).contains(&config.engine().shared_buffers));
        assert_eq!(config.chosen().count(), 0);
        config.set("shared_buffers", "1MB").unwrap();
        assert_eq!(config.engine().shared_buffers, 128);
    }

    #[test]
    fn the_template_chooses_nothing_and_can_be_read() {
        for line in template().lines() {
            assert_eq!(parse_line(line), Ok(None));
            if let Some(setting) = line.strip_prefix('#').filter(|l| !l.starts_with(' ')) {
                let (name, value) = parse_line(setting).unwrap().unwrap();
                let (name, value) = read_setting(name, &value).unwrap();
                assert_eq!(value, settings::find(name).unwrap().default(), "{name}");
            }
        }
    }

    #[test]
    fn addresses_are_of_both_kinds() {
        let listed = |list| addresses(list, 7).unwrap();
        let all: Vec<SocketAddr> = vec!["0.0.0.0:7".parse().unwrap(), "[::]:7".parse().unwrap()];
        assert_eq!(listed("*"), all);
        assert_eq!(listed("0.0.0.0, ::"), all);
        assert!(listed(" ").is_empty());
    }

    #[test]
    fn the_command_line_wins_over_the_file() {
        let data = std::env::temp_dir().join(format!("thalweg-config-{}", std::process::id()));
        std::fs::create_dir_all(&data).unwrap();
        std::fs::write(data.join(FILE_NAME), "port = 1\nmax_connections = 7\n").unwrap();
        let mut config = Config::new();
        config.set("PORT", "2").unwrap();
        config.read_file(&data).unwrap();
        let options = config.options(data.clone()).unwrap();
        assert_eq!((options.port, options.max_connections), (2, 7));
        assert_eq!(options.listen, ["127.0.0.1:2".parse().unwrap()]);
        std::fs::write(data.join(FILE_NAME), "\nmax_connections = many\n").unwrap();
        let fault = config.read_file(&data).unwrap_err().to_string();
        assert!(fault.contains("thalweg.conf, line 2: invalid value for parameter"), "{fault}");
        assert_eq!(config.value("max_connections").as_integer(), 7);
        let fault = config.set("server_version", "1").unwrap_err();
        assert_eq!(fault.to_string(), "parameter \"server_version\" cannot be changed");
        std::fs::remove_dir_all(&data).unwrap();
    }

    #[test]
    fn what_a_file_said_outlives_it() {
        let data = std::env::temp_dir().join(format!("thalweg-gone-{}", std::process::id()));
        std::fs::create_dir_all(&data).unwrap();
        let mut config = Config::new();
        config.read_file(&data).unwrap();
        assert_eq!(config.chosen().count(), 0);
        let path = data.join(FILE_NAME);
        std::fs::write(&path, "max_connections = 7\n").unwrap();
        config.read_file(&data).unwrap();
        std::fs::remove_file(&path).unwrap();
        let fault = config.read_file(&data).unwrap_err().to_string();
        assert!(fault.starts_with(&format!("cannot read {}: ", path.display())), "{fault}");
        assert_eq!(config.value("max_connections").as_integer(), 7);
        std::fs::write(&path, "").unwrap();
        config.read_file(&data).unwrap();
        assert_eq!(config.chosen().count(), 0, "an empty one says nothing");
        std::fs::remove_dir_all(&data).unwrap();
    }

    #[test]
    fn what_no_session_could_begin_with_is_refused() {
        let data = std::env::temp_dir().join(format!("thalweg-meaning-{}", std::process::id()));
        std::fs::create_dir_all(&data).unwrap();
        let mut config = Config::new();
        for (name, value) in [
            ("TimeZone", "Mars/Olympus"),
            ("DateStyle", "stardate"),
            ("default_tablespace", "nosuch"),
            ("default_table_access_method", "nosuch"),
        ] {
            let wrong = format!("invalid value for parameter \"{name}\": \"{value}\"");
            assert_eq!(config.set(name, value).unwrap_err().to_string(), wrong);
            std::fs::write(data.join(FILE_NAME), format!("\n{name} = '{value}'\n")).unwrap();
            let fault = config.read_file(&data).unwrap_err().to_string();
            assert!(fault.ends_with(&format!("{FILE_NAME}, line 2: {wrong}")), "{fault}");
        }
        assert_eq!(config.chosen().count(), 0);
        std::fs::remove_dir_all(&data).unwrap();
    }
}
