//! What is read once a second beside a run: from the system for servers of this machine, from statistics views
//! where a server has them.

use crate::model::Sample;
use crate::session::{self, ANSWER, Session};
use crate::target::Reach;
use bench::servers::cpu;
use std::collections::BTreeMap;

/// Counters that only grow. What can't be told is absent.
#[derive(Clone, Copy, Default, Debug)]
pub struct Counters {
    pub server_cpu_s: Option<f64>,
    pub client_cpu_s: Option<f64>,
    pub switches: Option<f64>,
    pub wal_bytes: Option<f64>,
    pub fsyncs: Option<f64>,
    pub all_fsyncs: Option<f64>,
    pub cleaned: Option<f64>,
    pub checkpointed: Option<f64>,
    pub by_sessions: Option<f64>,
    pub allocated: Option<f64>,
}

/// Ways to ask for a counter; the first that a server understands is used.
const WAL_BYTES: &[&str] = &[
    "select pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')",
    "select wal_bytes from pg_stat_wal",
];
const FSYNCS: &[&str] = &[
    "select wal_sync from pg_stat_wal",
    "select sum(fsyncs) from pg_stat_io where object = 'wal'",
];
/// PostgreSQL 18 has the log's among all others; before it, and on Thalweg, they are apart, and 15 tells of no others.
const ALL_FSYNCS: &[&str] = &[
    "select (select wal_sync from pg_stat_wal) + (select sum(fsyncs) from pg_stat_io)",
    "select sum(fsyncs) from pg_stat_io",
];
const CLEANED: &[&str] = &["select buffers_clean from pg_stat_bgwriter"];
const CHECKPOINTED: &[&str] = &[
    "select buffers_checkpoint from pg_stat_bgwriter",
    "select buffers_written from pg_stat_checkpointer",
];
/// Up to PostgreSQL 16 pages that sessions put at files' ends are among these, later only those that they made room with.
const BY_SESSIONS: &[&str] = &[
    "select buffers_backend from pg_stat_bgwriter",
    "select sum(writes) from pg_stat_io where backend_type = 'client backend' and object = 'relation'",
];
const ALLOCATED: &[&str] = &["select buffers_alloc from pg_stat_bgwriter"];
const WAITS: &[&str] =
    &["select coalesce(wait_event_type || ':' || wait_event, 'running'), count(*) \
     from pg_stat_activity where state = 'active' and pid <> pg_backend_pid() \
     and backend_type = 'client backend' group by 1"];

/// Reads a server.
pub struct Probes {
    pid: Option<u32>,
    session: Option<Session>,
    wal_bytes: Option<&'static str>,
    fsyncs: Option<&'static str>,
    all_fsyncs: Option<&'static str>,
    cleaned: Option<&'static str>,
    checkpointed: Option<&'static str>,
    by_sessions: Option<&'static str>,
    allocated: Option<&'static str>,
    waits: Option<&'static str>,
}

impl Probes {
    /// Of a server: its process, if it is the lab's, and its views, if it has any.
    pub fn new(pid: Option<u32>, reach: Option<&Reach>) -> Probes {
        let mut session = reach.and_then(|reach| reach.connect().ok());
        let mut understood = |ways: &[&'static str]| -> Option<&'static str> {
            let session = session.as_mut()?;
            ways.iter().copied().find(|way| session.ask(way, ANSWER).is_ok())
        };
        let [wal_bytes, fsyncs, all_fsyncs, allocated, waits] =
            [WAL_BYTES, FSYNCS, ALL_FSYNCS, ALLOCATED, WAITS].map(&mut understood);
        let [cleaned, checkpointed, by_sessions] =
            [CLEANED, CHECKPOINTED, BY_SESSIONS].map(&mut understood);
        Probes {
            pid,
            session,
            wal_bytes,
            fsyncs,
            all_fsyncs,
            cleaned,
            checkpointed,
            by_sessions,
            allocated,
            waits,
        }
    }

    /// Reads every counter. The client's processor time is that of its process, if it runs.
    pub fn read(&mut self, client_pid: Option<u32>) -> Counters {
        let usage = self.pid.map(cpu::usage);
        Counters {
            server_cpu_s: usage.map(|u| u.cpu_s),
            client_cpu_s: client_pid.and_then(cpu::of_process),
            switches: Some(cpu::machine_switches() as f64),
            wal_bytes: self.number(self.wal_bytes),
            fsyncs: self.number(self.fsyncs),
            all_fsyncs: self.number(self.all_fsyncs),
            cleaned: self.number(self.cleaned),
            checkpointed: self.number(self.checkpointed),
            by_sessions: self.number(self.by_sessions),
            allocated: self.number(self.allocated),
        }
    }

    fn number(&mut self, query: Option<&str>) -> Option<f64> {
        session::number(&self.session.as_mut()?.ask(query?, ANSWER).ok()?)
    }

    /// Sessions at work by what they wait for.
    pub fn waits(&mut self) -> Option<BTreeMap<String, u32>> {
        let rows = self.session.as_mut()?.ask(self.waits?, ANSWER).ok()?;
        let pair = |row: &postgres::SimpleQueryMessage| match row {
            postgres::SimpleQueryMessage::Row(row) => {
                Some((row.get(0)?.to_owned(), row.get(1)?.parse().ok()?))
            }
            _ => None,
        };
        Some(rows.iter().filter_map(pair).collect())
    }
}

/// KiB of the machine's memory that are written to files and not on disk yet.
pub fn dirty_kib() -> Option<f64> {
    let text = std::fs::read_to_string("/proc/meminfo").ok()?;
    let field = |name: &str| -> Option<f64> {
        let line = text.lines().find_map(|line| line.strip_prefix(name))?;
        line.trim().strip_suffix("kB")?.trim().parse().ok()
    };
    Some(field("Dirty:")? + field("Writeback:")?)
}

impl Counters {
    /// What was added since `before`.
    pub fn since(&self, before: &Counters) -> Counters {
        // A counter that went back belonged to something that is gone.
        let grown = |now: Option<f64>, then: Option<f64>| {
            now.zip(then).map(|(now, then)| now - then).filter(|grown| *grown >= 0.0)
        };
        Counters {
            server_cpu_s: grown(self.server_cpu_s, before.server_cpu_s),
            client_cpu_s: grown(self.client_cpu_s, before.client_cpu_s),
            switches: grown(self.switches, before.switches),
            wal_bytes: grown(self.wal_bytes, before.wal_bytes),
            fsyncs: grown(self.fsyncs, before.fsyncs),
            all_fsyncs: grown(self.all_fsyncs, before.all_fsyncs),
            cleaned: grown(self.cleaned, before.cleaned),
            checkpointed: grown(self.checkpointed, before.checkpointed),
            by_sessions: grown(self.by_sessions, before.by_sessions),
            allocated: grown(self.allocated, before.allocated),
        }
    }

    /// As rates over so many seconds.
    pub fn sample(&self, at_s: f64, seconds: f64) -> Sample {
        let rate = |value: Option<f64>| value.map(|value| value / seconds);
        Sample {
            at_s,
            server_cpu: rate(self.server_cpu_s),
            client_cpu: rate(self.client_cpu_s),
            switches: rate(self.switches),
            wal_bytes: rate(self.wal_bytes),
            fsyncs: rate(self.fsyncs),
            all_fsyncs: rate(self.all_fsyncs),
            buffers_cleaned: rate(self.cleaned),
            buffers_checkpointed: rate(self.checkpointed),
            buffers_by_sessions: rate(self.by_sessions),
            buffers_allocated: rate(self.allocated),
            ..Sample::default()
        }
    }
}
