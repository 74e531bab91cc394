//! When a table is due for upkeep: so many rows and a share of the table, as PostgreSQL's `autovacuum_…` settings
//! and the tables' storage parameters of the same names say.

use base::latch::Latch;
use base::rank::Rank;
use std::time::Duration;

/// A number of rows and a share of the table's.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Threshold {
    /// Rows, whatever the table's size.
    pub rows: u64,
    /// Times the rows of the table.
    pub share: f64,
}

impl Threshold {
    /// How many rows may have changed of a table of so many.
    pub(super) fn of(self, live: u64) -> u64 {
        // Saturates: a float beyond the range is the largest number.
        self.rows.saturating_add((self.share * live as f64) as u64)
    }
}

/// What makes tables due.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Limits {
    /// `autovacuum`: whether anything does.
    pub enabled: bool,
    /// Versions that ended, for vacuum: `autovacuum_vacuum_threshold`, `…_scale_factor`.
    pub ended: Threshold,
    /// Rows inserted, for vacuum: `autovacuum_vacuum_insert_threshold`, `…_scale_factor`. `None`: inserts do not.
    pub inserted: Option<Threshold>,
    /// Rows changed, for ANALYZE: `autovacuum_analyze_threshold`, `…_scale_factor`.
    pub changed: Threshold,
    /// Between two rounds of ANALYZE in a table whose size stays about the same: `autovacuum_naptime`.
    pub nap: Duration,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            enabled: true,
            ended: Threshold { rows: 50, share: 0.1 },
            inserted: Some(Threshold { rows: 1000, share: 0.2 }),
            changed: Threshold { rows: 50, share: 0.1 },
            nap: Duration::from_secs(60),
        }
    }
}

/// What a table says itself: its storage parameters. `None`: as all others.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct OwnLimits {
    /// `autovacuum_enabled`.
    pub enabled: Option<bool>,
    /// `autovacuum_vacuum_threshold`.
    pub ended_rows: Option<u64>,
    /// `autovacuum_vacuum_scale_factor`.
    pub ended_share: Option<f64>,
    /// `autovacuum_vacuum_insert_threshold`; the inner `None` is -1: inserts do not.
    pub inserted_rows: Option<Option<u64>>,
    /// `autovacuum_vacuum_insert_scale_factor`.
    pub inserted_share: Option<f64>,
    /// `autovacuum_analyze_threshold`.
    pub changed_rows: Option<u64>,
    /// `autovacuum_analyze_scale_factor`.
    pub changed_share: Option<f64>,
}

impl OwnLimits {
    /// What counts for the table, where `all` is for the others.
    pub(super) fn over(self, all: Limits) -> Limits {
        let mixed = |rows: Option<u64>, share: Option<f64>, all: Threshold| Threshold {
            rows: rows.unwrap_or(all.rows),
            share: share.unwrap_or(all.share),
        };
        let default = Limits::default().inserted.expect("inserts count by default");
        let inserts = match (self.inserted_rows, all.inserted) {
            (Some(None), _) | (None, None) => None,
            (Some(rows), all) => Some(mixed(rows, self.inserted_share, all.unwrap_or(default))),
            (None, Some(all)) => Some(mixed(None, self.inserted_share, all)),
        };
        Limits {
            // Nobody looks at tables at all where it is switched off for all.
            enabled: all.enabled && self.enabled.unwrap_or(true),
            ended: mixed(self.ended_rows, self.ended_share, all.ended),
            inserted: inserts,
            changed: mixed(self.changed_rows, self.changed_share, all.changed),
            nap: all.nap,
        }
    }
}

/// What counts for all tables of an engine; may change at any time.
pub struct SharedLimits(Latch<Limits>);

impl Default for SharedLimits {
    fn default() -> SharedLimits {
        SharedLimits(Latch::new(Rank::Leaf, Limits::default()))
    }
}

impl SharedLimits {
    /// As they are.
    pub fn get(&self) -> Limits {
        *self.0.lock()
    }

    /// From now on.
    pub fn set(&self, to: Limits) {
        *self.0.lock() = to;
    }
}

/// What is to be done to a table now.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Due {
    /// VACUUM.
    pub vacuum: bool,
    /// ANALYZE, after so long; `None`: not due.
    pub analyze: Option<Duration>,
}

#[cfg(test)]
mod tests {
    use super::{Limits, OwnLimits, Threshold};

    #[test]
    fn a_table_s_own_limits_come_before_those_of_all() {
        let all = Limits::default();
        assert_eq!(OwnLimits::default().over(all), all);
        let own =
            OwnLimits { changed_rows: Some(7), ended_share: Some(0.0), ..OwnLimits::default() };
        let both = own.over(all);
        assert_eq!(both.changed, Threshold { rows: 7, share: 0.1 });
        assert_eq!(both.ended, Threshold { rows: 50, share: 0.0 });
        assert_eq!(both.changed.of(1000), 107);
        assert_eq!(Threshold { rows: 1, share: 100.0 }.of(u64::MAX), u64::MAX);
        // Inserts: switched off for the table, off for all, and on again for the table.
        let off = OwnLimits { inserted_rows: Some(None), ..OwnLimits::default() };
        assert_eq!(off.over(all).inserted, None);
        let none = Limits { inserted: None, ..all };
        assert_eq!(OwnLimits::default().over(none).inserted, None);
        let on = OwnLimits { inserted_rows: Some(Some(5)), ..OwnLimits::default() };
        assert_eq!(on.over(none).inserted, Some(Threshold { rows: 5, share: 0.2 }));
        // Off for all is off.
        let on = OwnLimits { enabled: Some(true), ..OwnLimits::default() };
        assert!(!on.over(Limits { enabled: false, ..all }).enabled);
        let off = OwnLimits { enabled: Some(false), ..OwnLimits::default() };
        assert!(!off.over(all).enabled);
    }
}
