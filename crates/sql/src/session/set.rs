//! The session's settings: values, SET and RESET with their undoing, SHOW.

use base::sync::unmodelled::{AtomicU32, Ordering};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;
use storage::buffer::Reach;

use storage::lock::WaitLimits;
use syntax::ast::{SetValue, TypeName};

use crate::error::{Result, SqlError, SqlState, bail, sql_error};
use crate::plan;
use crate::settings::{self, Context, Running, Setting, TABLE, Value};
use crate::types::context::{ByteaOutput, DateOrder, DateStyle, IntervalStyle};
use crate::types::{Encoding, FormatContext, TimeZone};

use super::identity::{Identity, Role};

/// Settings that clients are told about whenever they change.
const REPORTED: &[&str] = &[
    "application_name",
    "client_encoding",
    "DateStyle",
    "default_transaction_read_only",
    "in_hot_standby",
    "integer_datetimes",
    "IntervalStyle",
    "is_superuser",
    "server_encoding",
    "server_version",
    "session_authorization",
    "standard_conforming_strings",
    "TimeZone",
];

/// A session's values.
pub struct Values {
    /// By position in [`TABLE`].
    current: Vec<Value>,
    /// What RESET goes back to.
    defaults: Vec<Value>,
    /// Settings with a dot in their name, that anybody may make.
    custom: BTreeMap<String, String>,
    /// The settings that conversions look at, parsed.
    pub format: FormatContext,
    /// What this transaction has set, oldest first.
    undo: Vec<Undo>,
    /// Moves when `search_path` changes, or a setting that plans are made by.
    pub path_generation: u64,
    /// Reported settings that were set since the client was told: their position in [`TABLE`], what it was told.
    untold: Vec<(usize, Value)>,
    /// The client takes nothing but UTF-8: see [`super::Session::stay_with_utf8`].
    only_utf8: bool,
    /// Whose session it is: settings to SHOW, and not in the table.
    pub identity: Identity,
    first_identity: Identity,
    /// See [`Values::restrict`].
    within: Option<&'static str>,
    /// The name of the session's role that the client was told, where it is another one since.
    untold_user: Option<Arc<str>>,
    /// Where the catalogs are told whose rights statements have.
    user: Arc<AtomicU32>,
    /// What the planner goes by.
    pub planner: plan::Settings,
    /// Settings that every statement or transaction looks at, ready to use.
    pub hot: Hot,
    /// The server's own settings.
    running: Arc<Running>,
}

/// See [`Values::hot`].
#[derive(Clone, Copy)]
pub struct Hot {
    /// `synchronous_commit` is not off.
    pub synchronous: bool,
    pub repeatable_read: bool,
    pub read_uncommitted: bool,
    pub read_only: bool,
    pub work_mem_bytes: usize,
    /// `work_mem` times `hash_mem_multiplier`.
    pub hash_mem_bytes: usize,
    /// How far scans read ahead: `effective_io_concurrency`, `io_combine_limit`.
    pub reach: Reach,
    /// Likewise those of maintenance: `maintenance_io_concurrency`.
    pub maintenance_reach: Reach,
    /// `track_io_timing`.
    pub times_io: bool,
    /// `temp_file_limit`; the largest number is no limit.
    pub temp_limit_bytes: u64,
    /// `statement_timeout`; `None` is for ever.
    pub statement_timeout: Option<Duration>,
    /// `idle_in_transaction_session_timeout`.
    pub idle_in_transaction: Option<Duration>,
    /// `idle_session_timeout`.
    pub idle_session: Option<Duration>,
    /// `lock_timeout` and `deadlock_timeout`.
    pub lock_waits: WaitLimits,
}

struct Undo {
    target: UndoTarget,
    /// SET LOCAL: goes back at commit, too.
    local: bool,
}

/// What was so before [`Values::restrict`].
pub struct Restricted {
    role: Option<Role>,
    within: Option<&'static str>,
    mark: usize,
}

enum UndoTarget {
    Known(usize, Value),
    Custom(String, Option<String>),
    SessionUser(Role),
    Role(Option<Role>),
}

impl UndoTarget {
    /// Whether both are of one setting.
    fn is_of_same(&self, other: &UndoTarget) -> bool {
        match (self, other) {
            (UndoTarget::Known(a, _), UndoTarget::Known(b, _)) => a == b,
            (UndoTarget::Custom(a, _), UndoTarget::Custom(b, _)) => a == b,
            (UndoTarget::SessionUser(_), UndoTarget::SessionUser(_)) => true,
            (UndoTarget::Role(_), UndoTarget::Role(_)) => true,
            _ => false,
        }
    }
}

impl Values {
    /// Values as the instance has them.
    pub fn new(
        defaults: Vec<Value>,
        identity: Identity,
        user: Arc<AtomicU32>,
        running: Arc<Running>,
    ) -> Values {
        let mut values = Values {
            current: defaults.clone(),
            defaults,
            custom: BTreeMap::new(),
            format: FormatContext::new(),
            undo: Vec::new(),
            path_generation: 0,
            untold: Vec::new(),
            only_utf8: false,
            first_identity: identity.clone(),
            identity,
            within: None,
            untold_user: None,
            user,
            running,
            planner: plan::Settings::default(),
            hot: Hot {
                synchronous: true,
                repeatable_read: false,
                read_uncommitted: false,
                read_only: false,
                work_mem_bytes: 4 << 20,
                hash_mem_bytes: 8 << 20,
                reach: Reach::default(),
                maintenance_reach: Reach::default(),
                times_io: false,
                temp_limit_bytes: u64::MAX,
                statement_timeout: None,
                idle_in_transaction: None,
                idle_session: None,
                lock_waits: WaitLimits::default(),
            },
        };
        for i in 0..TABLE.len() {
            values.applied(i);
        }
        values.identity_applied();
        // The client is told all of them when it connects.
        values.untold.clear();
        values
    }

    /// The table's defaults.
    pub fn table_defaults() -> Vec<Value> {
        TABLE.iter().map(Setting::default).collect()
    }

    /// A setting's value, by the name in the table.
    pub fn get(&self, name: &str) -> &Value {
        &self.current[position(name).expect("the table has the setting")]
    }

    pub fn text(&self, name: &str) -> &str {
        self.get(name).as_text()
    }

    /// A setting as SHOW tells it; `None` if there is none of that name.
    pub fn show(&self, name: &str) -> Option<String> {
        if let Some(i) = position(name) {
            return Some(TABLE[i].show(&self.value(i)));
        }
        match &*name.to_ascii_lowercase() {
            "session_authorization" => Some(self.identity.session.name.to_string()),
            "role" => {
                Some(self.identity.role.as_ref().map_or("none", |role| &role.name).to_owned())
            }
            lower => self.custom.get(lower).cloned(),
        }
    }

    /// Everything that SHOW ALL lists: name, value, description.
    pub fn all(&self) -> impl Iterator<Item = (&'static Setting, Value)> {
        TABLE.iter().enumerate().map(|(i, setting)| (setting, self.value(i)))
    }

    /// What holds: for settings of the server, the server's.
    fn value(&self, i: usize) -> Value {
        self.running.get(&TABLE[i]).unwrap_or_else(|| self.current[i].clone())
    }

    /// Sets a value. `local`: for this transaction only.
    pub fn set(&mut self, name: &str, text: &str, local: bool) -> Result<()> {
        let Some(i) = position(name) else { return self.set_custom(name, Some(text), local) };
        let setting = &TABLE[i];
        check_context(setting)?;
        let value = checked(setting, setting.parse(text)?)?;
        if self.only_utf8 && setting.name == "client_encoding" {
            refuse_other_than_utf8(value.as_text())?;
        }
        self.store(i, value, local);
        Ok(())
    }

    /// Makes `client_encoding` UTF8, and refuses to make it anything else from here on.
    pub fn stay_with_utf8(&mut self) -> Result<()> {
        self.only_utf8 = true;
        self.set_startup("client_encoding", Encoding::utf8().name())
    }

    /// Whether a value could be set, for who sets it elsewhere; the setting's own spelling of its name.
    pub fn check(name: &str, text: &str) -> Result<String> {
        let Some(i) = position(name) else {
            let lower = name.to_ascii_lowercase();
            return if lower.contains('.') {
                Ok(lower)
            } else {
                Ok(settings::get(name)?.name.into())
            };
        };
        let setting = &TABLE[i];
        check_context(setting)?;
        checked(setting, setting.parse(text)?)?;
        Ok(setting.name.to_owned())
    }

    /// RESET, and SET … TO DEFAULT.
    pub fn reset(&mut self, name: &str, local: bool) -> Result<()> {
        let Some(i) = position(name) else { return self.set_custom(name, None, local) };
        check_context(&TABLE[i])?;
        self.store(i, self.defaults[i].clone(), local);
        Ok(())
    }

    pub fn reset_all(&mut self) {
        for (i, setting) in TABLE.iter().enumerate() {
            // One that a value for the transaction hides is reset, too.
            let hides =
                |undo: &Undo| matches!(undo.target, UndoTarget::Known(known, _) if known == i);
            let is_set = self.current[i] != self.defaults[i] || self.undo.iter().any(hides);
            if matches!(setting.context, Context::User | Context::Superuser) && is_set {
                self.store(i, self.defaults[i].clone(), false);
            }
        }
        for (name, value) in &mut self.custom {
            let before = Some(std::mem::take(value));
            let target = UndoTarget::Custom(name.clone(), before);
            self.undo.push(Undo { target, local: false });
        }
    }

    /// A value from the startup message: the session's default from now on.
    pub fn set_startup(&mut self, name: &str, text: &str) -> Result<()> {
        self.set(name, text, false)?;
        self.undo.clear();
        // It is among what the client is told when it connects.
        self.untold.clear();
        if let Some(i) = position(name) {
            self.defaults[i] = self.current[i].clone();
        }
        Ok(())
    }

    /// Settings of the session's database, as `name=value`: its defaults from now on. What is not valid any more keeps
    /// nobody from connecting.
    pub fn take_stored(&mut self, settings: &[String]) {
        for (name, value) in settings.iter().filter_map(|setting| setting.split_once('=')) {
            let _ = self.set_startup(name, value);
        }
    }

    /// Whose session it is from now on; it has no other role.
    pub fn set_session_user(&mut self, session: Role, local: bool) {
        let before = self.replace_identity(Identity { session, role: None });
        for target in [UndoTarget::SessionUser(before.session), UndoTarget::Role(before.role)] {
            self.undo.push(Undo { target, local });
        }
    }

    /// The role that the session has from now on.
    pub fn set_role(&mut self, role: Option<Role>, local: bool) {
        let session = self.identity.session.clone();
        let before = self.replace_identity(Identity { session, role });
        self.undo.push(Undo { target: UndoTarget::Role(before.role), local });
    }

    /// Has what is run from here on the rights of a role, who wrote it: it can't take others, and what it sets does not
    /// outlast it. `within` is what messages call that. Names mean what they meant, so plans stay.
    pub fn restrict(&mut self, role: Role, within: &'static str) -> Restricted {
        // Relaxed, as in `identity_applied`.
        self.user.store(role.oid.0, Ordering::Relaxed);
        let role = self.identity.role.replace(role);
        let within = self.within.replace(within);
        Restricted { role, within, mark: self.mark() }
    }

    /// The end of that.
    pub fn unrestrict(&mut self, before: Restricted) {
        self.undo_to(before.mark);
        self.within = before.within;
        self.identity.role = before.role;
        self.user.store(self.identity.current().oid.0, Ordering::Relaxed);
    }

    /// In what messages call it, if what is run may not take other rights than it has.
    pub fn restricted_within(&self) -> Option<&'static str> {
        self.within
    }

    /// Who the session began with.
    pub fn first_identity(&self) -> &Identity {
        &self.first_identity
    }

    fn replace_identity(&mut self, identity: Identity) -> Identity {
        let before = std::mem::replace(&mut self.identity, identity);
        if self.untold_user.is_none() {
            self.untold_user = Some(before.session.name.clone());
        }
        self.identity_applied();
        before
    }

    /// Follows a change of `identity`.
    fn identity_applied(&mut self) {
        let current = self.identity.current();
        // Relaxed: only the session's own thread of execution asks.
        self.user.store(current.oid.0, Ordering::Relaxed);
        let superuser = current.superuser;
        // Names, and the plans that are shared, hang on it.
        self.path_generation += 1;
        if let Some(i) = position("is_superuser") {
            self.replace(i, Value::Bool(superuser));
            self.defaults[i] = Value::Bool(superuser);
        }
    }

    fn set_custom(&mut self, name: &str, text: Option<&str>, local: bool) -> Result<()> {
        let lower = name.to_ascii_lowercase();
        if !lower.contains('.') {
            // As an error about the name.
            settings::get(name)?;
        }
        let before = match text {
            Some(text) => self.custom.insert(lower.clone(), text.to_owned()),
            // What nobody has a default for is empty.
            None => self.custom.insert(lower.clone(), String::new()),
        };
        self.undo.push(Undo { target: UndoTarget::Custom(lower, before), local });
        Ok(())
    }

    fn store(&mut self, i: usize, value: Value, local: bool) {
        let before = self.replace(i, value);
        self.undo.push(Undo { target: UndoTarget::Known(i, before), local });
    }

    /// Puts a value in the place of another, which is returned.
    fn replace(&mut self, i: usize, value: Value) -> Value {
        let before = std::mem::replace(&mut self.current[i], value);
        if REPORTED.contains(&TABLE[i].name) && self.untold.iter().all(|(known, _)| *known != i) {
            self.untold.push((i, before.clone()));
        }
        self.applied(i);
        before
    }

    /// Follows a change of `current[i]` if the planner goes by it.
    fn planned_by(&mut self, i: usize) {
        let (to, value) = (&mut self.planner, &self.current[i]);
        match TABLE[i].name {
            "seq_page_cost" => to.seq_page = value.as_real(),
            "random_page_cost" => to.random_page = value.as_real(),
            "cpu_tuple_cost" => to.cpu_tuple = value.as_real(),
            "cpu_index_tuple_cost" => to.cpu_index_tuple = value.as_real(),
            "cpu_operator_cost" => to.cpu_operator = value.as_real(),
            "effective_cache_size" => to.cache_pages = value.as_integer() as f64,
            "work_mem" => to.work_mem_bytes = value.as_integer() as f64 * 1024.0,
            "enable_seqscan" => to.seqscan = value.as_bool(),
            "enable_indexscan" => to.indexscan = value.as_bool(),
            "enable_indexonlyscan" => to.indexonlyscan = value.as_bool(),
            "enable_bitmapscan" => to.bitmapscan = value.as_bool(),
            "enable_hashjoin" => to.hashjoin = value.as_bool(),
            "enable_nestloop" => to.nestloop = value.as_bool(),
            "enable_sort" => to.sort = value.as_bool(),
            "enable_material" => to.material = value.as_bool(),
            _ => {}
        }
    }

    /// Follows a change of `current[i]`.
    fn applied(&mut self, i: usize) {
        let before = self.planner;
        self.planned_by(i);
        if self.planner != before {
            self.path_generation += 1;
        }
        let setting = &TABLE[i];
        let value = &self.current[i];
        match setting.name {
            "DateStyle" => {
                if let Ok((style, order)) = date_style(value.as_text(), &self.format) {
                    self.format.date_style = style;
                    self.format.date_order = order;
                    self.current[i] = Value::Text(style_words(style, order).into());
                }
            }
            "IntervalStyle" => {
                self.format.interval_style = match value.as_text() {
                    "postgres_verbose" => IntervalStyle::PostgresVerbose,
                    "sql_standard" => IntervalStyle::SqlStandard,
                    "iso_8601" => IntervalStyle::Iso8601,
                    _ => IntervalStyle::Postgres,
                }
            }
            "TimeZone" => {
                if let Some(zone) = time_zone(value.as_text()) {
                    self.format.time_zone = zone;
                }
            }
            "extra_float_digits" => {
                self.format.extra_float_digits = value.as_integer() as i32;
            }
            "bytea_output" => {
                self.format.bytea_output = match value.as_text() {
                    "escape" => ByteaOutput::Escape,
                    _ => ByteaOutput::Hex,
                }
            }
            "client_encoding" => {
                self.format.client_encoding =
                    Encoding::by_name(value.as_text()).expect("the table has encodings' names");
            }
            // Plans made before are not to be used.
            "search_path" => self.path_generation += 1,
            "synchronous_commit" => self.hot.synchronous = value.as_text() != "off",
            "default_transaction_isolation" => {
                self.hot.repeatable_read = value.as_text() == "repeatable read";
                self.hot.read_uncommitted = value.as_text() == "read uncommitted";
            }
            "default_transaction_read_only" => self.hot.read_only = value.as_bool(),
            "statement_timeout" => self.hot.statement_timeout = limit(value),
            "idle_in_transaction_session_timeout" => self.hot.idle_in_transaction = limit(value),
            "idle_session_timeout" => self.hot.idle_session = limit(value),
            "lock_timeout" => self.hot.lock_waits.lock_timeout = limit(value),
            "deadlock_timeout" => {
                self.hot.lock_waits.deadlock_timeout =
                    limit(value).expect("the table's least value is 1");
            }
            "work_mem" | "hash_mem_multiplier" => {
                self.hot.work_mem_bytes = self.get("work_mem").as_integer() as usize * 1024;
                let Value::Real(times) = *self.get("hash_mem_multiplier") else {
                    unreachable!("the table says that it is a real number")
                };
                self.hot.hash_mem_bytes = (self.hot.work_mem_bytes as f64 * times) as usize;
            }
            "effective_io_concurrency" => self.hot.reach.reads = value.as_integer() as u32,
            "maintenance_io_concurrency" => {
                self.hot.maintenance_reach.reads = value.as_integer() as u32;
            }
            "io_combine_limit" => {
                self.hot.reach.pages = value.as_integer() as u32;
                self.hot.maintenance_reach.pages = value.as_integer() as u32;
            }
            "track_io_timing" => self.hot.times_io = value.as_bool(),
            "temp_file_limit" => {
                self.hot.temp_limit_bytes =
                    u64::try_from(value.as_integer()).map_or(u64::MAX, |kib| kib * 1024);
            }
            _ => {}
        }
    }

    /// How much has been set in this transaction, for savepoints.
    pub fn mark(&self) -> usize {
        self.undo.len()
    }

    /// Takes back what was set since the mark.
    pub fn undo_to(&mut self, mark: usize) {
        while self.undo.len() > mark {
            let undo = self.undo.pop().expect("counted just now");
            self.restore(undo.target);
        }
    }

    /// The transaction has committed: what was set LOCAL goes back, the rest stays, also where it was set after a LOCAL one.
    pub fn commit(&mut self) {
        let mut stays: Vec<UndoTarget> = Vec::new();
        for undo in std::mem::take(&mut self.undo).into_iter().rev() {
            let is_known = stays.iter().any(|later| later.is_of_same(&undo.target));
            match (is_known, undo.local) {
                (true, _) => {}
                (false, true) => self.restore(undo.target),
                (false, false) => stays.push(undo.target),
            }
        }
    }

    fn restore(&mut self, target: UndoTarget) {
        match target {
            UndoTarget::Known(i, before) => drop(self.replace(i, before)),
            UndoTarget::SessionUser(session) => {
                let role = self.identity.role.clone();
                self.replace_identity(Identity { session, role });
            }
            UndoTarget::Role(role) => {
                let session = self.identity.session.clone();
                self.replace_identity(Identity { session, role });
            }
            UndoTarget::Custom(name, Some(before)) => {
                self.custom.insert(name, before);
            }
            // Its name stays known.
            UndoTarget::Custom(name, None) => {
                self.custom.insert(name, String::new());
            }
        }
    }

    /// Every reported setting with its value.
    pub fn reported(&self) -> Vec<(&'static str, String)> {
        REPORTED.iter().filter_map(|name| Some((*name, self.show(name)?))).collect()
    }

    /// Whether a reported setting has been set since [`Values::take_untold`].
    #[inline]
    pub fn has_untold(&self) -> bool {
        !self.untold.is_empty() || self.untold_user.is_some()
    }

    /// Reported settings that are not as the client was told, by name. It is told now.
    pub fn take_untold(&mut self) -> Vec<(&'static str, String)> {
        let mut untold = std::mem::take(&mut self.untold);
        untold.retain(|(i, told)| self.current[*i] != *told);
        let user = self.untold_user.take().filter(|told| *told != self.identity.session.name);
        let is_untold = |name: &str| {
            untold.iter().any(|(i, _)| TABLE[*i].name == name)
                || (user.is_some() && name == "session_authorization")
        };
        let names = REPORTED.iter().filter(|name| is_untold(name));
        names.filter_map(|name| Some((*name, self.show(name)?))).collect()
    }
}

/// What a setting in milliseconds allows; 0 is everything.
fn limit(value: &Value) -> Option<Duration> {
    let ms = value.as_integer();
    (ms > 0).then(|| Duration::from_millis(ms.unsigned_abs()))
}

fn position(name: &str) -> Option<usize> {
    TABLE.iter().position(|setting| setting.name.eq_ignore_ascii_case(name))
}

fn check_context(setting: &Setting) -> Result<()> {
    let name = setting.name;
    match setting.context {
        Context::User | Context::Superuser => Ok(()),
        Context::Internal => {
            bail!(CANT_CHANGE_RUNTIME_PARAM, "parameter \"{name}\" cannot be changed")
        }
        Context::Start => bail!(
            CANT_CHANGE_RUNTIME_PARAM,
            "parameter \"{name}\" cannot be changed without restarting the server"
        ),
        Context::Reload => {
            bail!(CANT_CHANGE_RUNTIME_PARAM, "parameter \"{name}\" cannot be changed now")
        }
    }
}

/// What travels as it is may be called SQL_ASCII, too.
fn refuse_other_than_utf8(name: &str) -> Result<()> {
    if Encoding::by_name(name).is_some_and(Encoding::is_plain) {
        return Ok(());
    }
    let message = format!("client_encoding {name} is not supported in an embedded database");
    Err(SqlError::unsupported(message).with_detail("The program's texts are UTF8."))
}

/// Values whose text has a meaning that the table does not know.
fn checked(setting: &Setting, value: Value) -> Result<Value> {
    let Some(detail) = fault_of(setting.name, &value) else { return Ok(value) };
    let text = value.as_text();
    let error = sql_error!(
        INVALID_PARAMETER_VALUE,
        "invalid value for parameter \"{}\": \"{text}\"",
        setting.name
    );
    Err(if detail.is_empty() { error } else { error.with_detail(detail) })
}

/// What is wrong with a value, if something is; empty: there is no more to say of it.
fn fault_of(name: &str, value: &Value) -> Option<String> {
    match name {
        "DateStyle" => date_style(value.as_text(), &FormatContext::new()).err(),
        "TimeZone" => time_zone(value.as_text()).is_none().then(String::new),
        "default_table_access_method" => {
            let text = value.as_text();
            (text != "heap").then(|| format!("Table access method \"{text}\" does not exist."))
        }
        "default_tablespace" => {
            let text = value.as_text();
            let is_there = matches!(text, "" | "pg_default");
            (!is_there).then(|| format!("Tablespace \"{text}\" does not exist."))
        }
        _ => None,
    }
}

/// Reads `ISO, MDY` and its kin; what is not named stays as in `now`.
///
/// # Errors
/// What is wrong with it: another word, or words that contradict each other.
fn date_style(text: &str, now: &FormatContext) -> std::result::Result<Styles, String> {
    let (mut style, mut order) = (None, None);
    let mut contradicts = false;
    for word in text.split(',').map(|word| word.trim().to_ascii_lowercase()) {
        let named = match &*word {
            "iso" => Some(DateStyle::Iso),
            "sql" => Some(DateStyle::Sql),
            "postgres" => Some(DateStyle::Postgres),
            "german" => Some(DateStyle::German),
            _ => None,
        };
        if let Some(named) = named {
            contradicts |= style.is_some_and(|before| before != named);
            style = Some(named);
            continue;
        }
        let named = match &*word {
            "ymd" => DateOrder::Ymd,
            "dmy" | "european" | "euro" => DateOrder::Dmy,
            "mdy" | "us" | "noneuropean" | "noneuro" => DateOrder::Mdy,
            _ => return Err(format!("Unrecognized key word: \"{word}\".")),
        };
        contradicts |= order.is_some_and(|before| before != named);
        order = Some(named);
    }
    if contradicts {
        return Err("Conflicting \"datestyle\" specifications.".to_owned());
    }
    let of_style = (style == Some(DateStyle::German)).then_some(DateOrder::Dmy);
    let order = order.or(of_style).unwrap_or(now.date_order);
    Ok((style.unwrap_or(now.date_style), order))
}

/// How dates are shown, and read.
type Styles = (DateStyle, DateOrder);

fn style_words(style: DateStyle, order: DateOrder) -> String {
    let style = match style {
        DateStyle::Iso => "ISO",
        DateStyle::Sql => "SQL",
        DateStyle::Postgres => "Postgres",
        DateStyle::German => "German",
    };
    let order = match order {
        DateOrder::Ymd => "YMD",
        DateOrder::Dmy => "DMY",
        DateOrder::Mdy => "MDY",
    };
    format!("{style}, {order}")
}

/// A zone by name, or by hours east of UTC.
fn time_zone(text: &str) -> Option<TimeZone> {
    if let Ok(hours) = text.parse::<f64>()
        && hours.abs() <= 24.0
    {
        return Some(TimeZone::fixed_east((hours * 3600.0) as i32));
    }
    TimeZone::named(text)
}

/// The text of SET's values: several only for lists of names.
pub fn joined(name: &str, values: &[SetValue]) -> Result<String> {
    let list = matches!(&*name.to_ascii_lowercase(), "search_path" | "datestyle");
    if values.len() > 1 && !list {
        return Err(SqlError::new(
            SqlState::INVALID_PARAMETER_VALUE,
            format!("SET {name} takes only one argument"),
        ));
    }
    let quote = name.eq_ignore_ascii_case("search_path");
    let words = values.iter().map(|value| match value {
        SetValue::String(text) if quote => syntax::deparse::quote_ident(text).into_owned(),
        SetValue::String(text) | SetValue::Numeric(text) => text.to_string(),
        SetValue::Integer(n) => n.to_string(),
        SetValue::Interval { text, type_name } => interval_hours(text, type_name),
    });
    Ok(words.collect::<Vec<_>>().join(", "))
}

/// `INTERVAL '-08:00' HOUR TO MINUTE` as hours.
fn interval_hours(text: &str, _type_name: &TypeName) -> String {
    let (sign, rest) = match text.strip_prefix('-') {
        Some(rest) => (-1.0, rest),
        None => (1.0, text.strip_prefix('+').unwrap_or(text)),
    };
    let mut parts = rest.split(':').map(|part| part.trim().parse::<f64>().unwrap_or(0.0));
    let hours = parts.next().unwrap_or(0.0) + parts.next().unwrap_or(0.0) / 60.0;
    (sign * hours).to_string()
}
