//! What the buffer cache has done and holds: `pg_stat_bgwriter`, `pg_stat_io`, `pg_buffercache`, `pg_prewarm`.

use base::hash::HashMap;
use base::usage::Role;
use base::{BlockNo, Fork};
use storage::buffer::{IoCounts, IoKey, Purpose, ReadAhead, Resident};
use storage::lock::LockMode;

use crate::error::{Result, bail};
use crate::func::Function;
use crate::types::acl::Privileges;
use crate::types::{Datum, Oid, TimestampTz, TypeId};

use super::backend::Backend;
use super::resets::Io;

/// Bytes of a page.
const PAGE_BYTES: i64 = 8192;
/// The tablespace of everything.
const TABLESPACE: Oid = Oid(1663);

/// One of these functions that return a value.
pub(super) fn call(b: &mut Backend, name: &str, args: &[Datum]) -> Result<Option<Datum>> {
    if name == "pg_prewarm" {
        return prewarm(b, args).map(Some);
    }
    let engine = &b.instance.store.engine;
    if name == "autoprewarm_dump_now" {
        super::names::must_be_allowed(b, name)?;
        return Ok(Some(Datum::Int8(engine.note_residents()? as i64)));
    }
    let Some(figure) = name.strip_prefix("pg_stat_get_") else { return Ok(None) };
    if !args.is_empty() {
        return Ok(None);
    }
    let Some(at) = FIGURES.iter().position(|name| *name == figure) else {
        let is_since = figure == "bgwriter_stat_reset_time";
        return Ok(if is_since { Some(since_reset(b)?.1.into()) } else { None });
    };
    let (base, _) = since_reset(b)?;
    let counted = Background::of(b).0[at].saturating_sub(base.0[at]);
    Ok(Some(match figure {
        // Microseconds.
        "checkpoint_write_time" | "checkpoint_sync_time" => Datum::Float8(counted as f64 / 1e3),
        _ => Datum::Int8(counted as i64),
    }))
}

/// The figures of `pg_stat_bgwriter`, in the order of [`Background`].
const FIGURES: [&str; 10] = [
    "bgwriter_timed_checkpoints",
    "bgwriter_requested_checkpoints",
    "checkpoint_write_time",
    "checkpoint_sync_time",
    "bgwriter_buf_written_checkpoints",
    "bgwriter_buf_written_clean",
    "bgwriter_maxwritten_clean",
    "buf_written_backend",
    "buf_fsync_backend",
    "buf_alloc",
];

/// What checkpointer and cleaner have done; times in microseconds.
#[derive(Clone, Copy, Default)]
pub(super) struct Background([u64; FIGURES.len()]);

impl Background {
    /// Since the start.
    pub fn of(b: &Backend) -> Background {
        let engine = &b.instance.store.engine;
        let by = |role: Role| sum(engine.pool().io_stats(), |key| key.role == role);
        let micros = |time: std::time::Duration| time.as_micros() as u64;
        let checkpoints = engine.checkpointer();
        let requested = checkpoints.requested();
        let (checkpointer, client, vacuum) =
            (by(Role::Checkpointer), by(Role::Client), by(Role::Vacuum));
        Background([
            checkpoints.count().saturating_sub(requested),
            requested,
            micros(checkpointer.write_time),
            micros(checkpointer.sync_time),
            checkpointer.writes,
            by(Role::Cleaner).writes,
            // It has no such limit.
            0,
            client.writes + vacuum.writes,
            client.syncs + vacuum.syncs,
            engine.pool().stats().taken,
        ])
    }
}

/// What had been counted at the last reset of `pg_stat_bgwriter`, and when that was.
fn since_reset(b: &Backend) -> Result<(Background, TimestampTz)> {
    let cluster = b.instance.cluster()?;
    Ok((*cluster.resets.bgwriter.lock()).unwrap_or((Background::default(), cluster.started)))
}

fn sum(all: Vec<(IoKey, IoCounts)>, of: impl Fn(&IoKey) -> bool) -> IoCounts {
    all.iter().filter(|(key, _)| of(key)).fold(IoCounts::default(), |sum, (_, counts)| IoCounts {
        reads: sum.reads + counts.reads,
        read_time: sum.read_time + counts.read_time,
        writes: sum.writes + counts.writes,
        write_time: sum.write_time + counts.write_time,
        writebacks: sum.writebacks + counts.writebacks,
        writeback_time: sum.writeback_time + counts.writeback_time,
        extends: sum.extends + counts.extends,
        extend_time: sum.extend_time + counts.extend_time,
        ring_hits: sum.ring_hits + counts.ring_hits,
        evictions: sum.evictions + counts.evictions,
        reuses: sum.reuses + counts.reuses,
        syncs: sum.syncs + counts.syncs,
        sync_time: sum.sync_time + counts.sync_time,
    })
}

/// What `pg_stat_io` counts from, since the start.
pub(super) fn counted(b: &Backend) -> Io {
    let pool = b.instance.store.engine.pool();
    let counts = pool.io_stats();
    let of_rings = |temporary: bool| -> u64 {
        let of_kind = counts.iter().filter(|(key, _)| key.temporary == temporary);
        of_kind.map(|(_, counts)| counts.ring_hits).sum()
    };
    let local = pool.local_hits();
    let hits = pool.hits().saturating_sub(local).saturating_sub(of_rings(false));
    let local_hits = local.saturating_sub(of_rings(true));
    Io { counts, hits, local_hits }
}

/// The rows of `pg_stat_io`. What can't happen is null: nobody but the cleaner and the checkpointer writes pages.
pub(super) fn io(b: &Backend) -> Result<Vec<Vec<Datum>>> {
    let cluster = b.instance.cluster()?;
    let (base, since) =
        cluster.resets.io.lock().clone().unwrap_or((Io::default(), cluster.started));
    let Io { counts: all, hits, local_hits } = counted(b);
    let hits = hits.saturating_sub(base.hits);
    let local_hits = local_hits.saturating_sub(base.local_hits);
    let all = all.into_iter().map(|(key, counts)| {
        let before = base.counts.iter().find(|(of, _)| *of == key);
        (key, before.map_or(counts, |(_, before)| counts.since(before)))
    });
    let rows = all.filter(|(key, _)| exists(key)).map(|(key, counts)| {
        let writes = matches!(key.role, Role::Cleaner | Role::Checkpointer | Role::Startup);
        let reads = !matches!(key.role, Role::Cleaner | Role::Checkpointer);
        let some = |on: bool, value: Datum| if on { value } else { Datum::Null };
        let int = |n: u64| Datum::Int8(n as i64);
        let ms = |time: std::time::Duration| Datum::Float8(time.as_secs_f64() * 1e3);
        let normal = key.purpose == Purpose::Normal;
        let extends = reads && (normal || key.purpose == Purpose::BulkWrite);
        // All roles' hits outside of rings are counted as one.
        let of_clients = key.role == Role::Client && normal;
        vec![
            Datum::text(backend_type(key.role)),
            Datum::text(if key.temporary { "temp relation" } else { "relation" }),
            Datum::text(match key.purpose {
                Purpose::Normal => "normal",
                Purpose::BulkRead => "bulkread",
                Purpose::Vacuum => "vacuum",
                Purpose::BulkWrite => "bulkwrite",
            }),
            some(reads, int(counts.reads)),
            some(reads, ms(counts.read_time)),
            some(writes, int(counts.writes)),
            some(writes, ms(counts.write_time)),
            some(writes && !key.temporary, int(counts.writebacks)),
            some(writes && !key.temporary, ms(counts.writeback_time)),
            some(extends, int(counts.extends)),
            some(extends, ms(counts.extend_time)),
            Datum::Int8(PAGE_BYTES),
            match () {
                () if of_clients => int(if key.temporary { local_hits } else { hits }),
                () if !normal => int(counts.ring_hits),
                () => Datum::Null,
            },
            // Rings take free frames, which the cleaner or others have emptied.
            some(normal, int(counts.evictions)),
            some(!normal, int(counts.reuses)),
            some(writes && normal && !key.temporary, int(counts.syncs)),
            some(writes && normal && !key.temporary, ms(counts.sync_time)),
            since.into(),
        ]
    });
    Ok(rows.collect())
}

/// Can this be? Temporary relations share the cache: whoever evicts and writes pages does so to theirs.
fn exists(key: &IoKey) -> bool {
    match key.role {
        Role::Client => true,
        Role::Vacuum => !key.temporary && matches!(key.purpose, Purpose::Normal | Purpose::Vacuum),
        Role::Cleaner | Role::Checkpointer => key.purpose == Purpose::Normal,
        Role::Startup => key.purpose == Purpose::Normal && !key.temporary,
    }
}

fn backend_type(role: Role) -> &'static str {
    match role {
        Role::Client => "client backend",
        Role::Vacuum => "autovacuum worker",
        Role::Cleaner => "background writer",
        Role::Checkpointer => "checkpointer",
        Role::Startup => "startup",
    }
}

/// The rows of `pg_buffercache`. Storage has one number in all databases; whose it is, is known of this
/// database's and of what all share, else null.
pub(super) fn cached(b: &Backend) -> Result<Vec<Vec<Datum>>> {
    super::names::must_be_allowed(b, "pg_buffercache_pages")?;
    let store = &b.instance.store;
    let own = store.scan(&b.txn, "pg_class", |row| row.oid("relfilenode").is_valid())?;
    let mut database: HashMap<u32, Oid> = HashMap::default();
    for found in &own {
        database.insert(found.row.oid("relfilenode").0, b.catalog.database);
    }
    for table in store.system_tables() {
        let shared = crate::catalog::store::schema::catalog_by_oid(table.oid)
            .is_some_and(|catalog| catalog.shared);
        let of = if shared { Oid::INVALID } else { b.catalog.database };
        let indexes = table.indexes.iter().map(|index| index.storage);
        for storage in indexes.chain([table.storage]) {
            database.insert(storage.0, of);
        }
    }
    let mut rows = Vec::new();
    each_frame(b, |at, page| {
        let mut row = vec![Datum::Int4(at as i32 + 1)];
        match page {
            None => row.resize(9, Datum::Null),
            Some(page) => row.extend([
                Datum::Oid(Oid(page.rel.0)),
                Datum::Oid(TABLESPACE),
                database.get(&page.rel.0).map_or(Datum::Null, |oid| Datum::Oid(*oid)),
                Datum::Int2(page.fork as i16),
                Datum::Int8(page.block.0.into()),
                Datum::Bool(page.dirty),
                Datum::Int2(page.credit as i16),
                Datum::Int4(page.pins as i32),
            ]),
        }
        rows.push(row);
    })?;
    Ok(rows)
}

/// Looks at all frames. There may be millions.
fn each_frame(b: &Backend, mut look: impl FnMut(usize, Option<Resident>)) -> Result<()> {
    for (at, page) in b.instance.store.engine.pool().residents().enumerate() {
        if at % 1024 == 0 {
            base::interrupt::check().map_err(crate::error::interrupted)?;
            base::park::checkpoint();
        }
        look(at, page);
    }
    Ok(())
}

/// Frames: how many, and of those how many differ from the disk and are held.
#[derive(Clone, Copy, Default)]
struct Frames {
    all: i32,
    dirty: i32,
    pinned: i32,
}

impl Frames {
    fn add(&mut self, page: Option<&Resident>) {
        self.all += 1;
        self.dirty += i32::from(page.is_some_and(|page| page.dirty));
        self.pinned += i32::from(page.is_some_and(|page| page.pins > 0));
    }
}

/// Calls `pg_buffercache_summary()`, which gives a record; none where it is another.
pub(super) fn call_record(b: &mut Backend, func: &Function, _: &[Datum]) -> Result<Option<Datum>> {
    if func.name != "pg_buffercache_summary" {
        return Ok(None);
    }
    super::names::must_be_allowed(b, func.name)?;
    let (mut used, mut unused, mut credit) = (Frames::default(), 0, 0);
    each_frame(b, |_, page| match page {
        None => unused += 1,
        Some(page) => {
            used.add(Some(&page));
            credit += u64::from(page.credit);
        }
    })?;
    let mut row = [used.all, unused, used.dirty, used.pinned].map(Datum::Int4).to_vec();
    row.push(match used.all {
        0 => Datum::Null,
        all => Datum::Float8(credit as f64 / f64::from(all)),
    });
    Ok(Some(super::xacts::record(func, row)))
}

/// The rows of `pg_buffercache_usage_counts()`: frames by what their pages are credited with, each credit that there can
/// be. A frame without a page has none.
pub(super) fn usage_counts(b: &Backend) -> Result<Vec<Vec<Datum>>> {
    super::names::must_be_allowed(b, "pg_buffercache_usage_counts")?;
    let most = b.instance.store.engine.pool().credit_max();
    let mut counts = vec![Frames::default(); most as usize + 1];
    each_frame(b, |_, page| {
        let credit = page.as_ref().map_or(0, |page| page.credit.min(most));
        counts[credit as usize].add(page.as_ref());
    })?;
    let row = |(credit, frames): (i32, Frames)| {
        [credit, frames.all, frames.dirty, frames.pinned].map(Datum::Int4).to_vec()
    };
    Ok((0..).zip(counts).map(row).collect())
}

/// `pg_prewarm(relation, mode, fork, first, last)`: how many blocks.
fn prewarm(b: &mut Backend, args: &[Datum]) -> Result<Datum> {
    for (arg, what) in args.iter().zip(["relation", "prewarm type", "relation fork"]) {
        if arg.is_null() {
            bail!(INVALID_PARAMETER_VALUE, "{what} cannot be null");
        }
    }
    let oid = args[0].as_oid();
    // Its length must not change meanwhile, nor may it go.
    b.catalog.lock(&b.txn, oid, LockMode::AccessShare)?;
    let Some(relation) = super::statistics::relation(b, oid)? else {
        let name = super::names::of_object(b, TypeId::REGCLASS, oid)?;
        bail!(
            WRONG_OBJECT_TYPE,
            "relation \"{}\" does not have storage",
            name.unwrap_or_else(|| oid.to_string())
        );
    };
    if let Some(table) = super::names::table_by_oid(b, oid)? {
        b.must_have_any(&table, Privileges::SELECT)?;
    }
    let mode = args[1].as_text().to_string();
    if !matches!(&*mode, "buffer" | "read" | "prefetch") {
        bail!(INVALID_PARAMETER_VALUE, "invalid prewarm type")
    }
    let fork = match &**args[2].as_text() {
        "main" => Fork::Main,
        "fsm" => Fork::FreeSpace,
        "vm" => Fork::Visibility,
        "init" => bail!(UNDEFINED_FILE, "fork \"init\" does not exist for this relation"),
        _ => bail!(INVALID_PARAMETER_VALUE, "invalid fork name"),
    };
    let blocks = i64::from(relation.blocks(fork)?);
    let bound = |arg: &Datum, default: i64, word: &str| {
        let block = if arg.is_null() { default } else { arg.as_int8() };
        if !arg.is_null() && !(0..blocks).contains(&block) {
            bail!(
                INVALID_PARAMETER_VALUE,
                "{word} block number must be between 0 and {}",
                blocks - 1
            );
        }
        Ok(block)
    };
    let first = bound(&args[3], 0, "starting")?;
    let last = bound(&args[4], blocks - 1, "ending")?;
    let reach = b.values.hot.maintenance_reach;
    let (mut ahead, end) = (ReadAhead::new(&relation, reach), last + 1);
    for block in first..end {
        base::interrupt::check().map_err(crate::error::interrupted)?;
        base::park::checkpoint();
        let block = BlockNo(block as u32);
        match &*mode {
            "buffer" => {
                let places = block.0..end as u32;
                let at = |place| Some(BlockNo(place));
                match ahead.look(&relation, fork, places, None, at) {
                    true => drop(relation.read_started(fork, block)?),
                    false => drop(relation.read(fork, block)?),
                }
            }
            // The system's cache then has them, too: reading ahead is what that costs it anyway.
            _ => relation.read_past(fork, block)?,
        }
    }
    Ok(Datum::Int8((last - first + 1).max(0)))
}
