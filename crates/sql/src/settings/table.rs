//! The table of settings, by subject in the files beside this one, put in the order of their names.

mod cache;
mod foreign;
mod log;
mod planner;
mod server;
mod session;
mod upkeep;

use super::Setting;
use std::sync::LazyLock;

/// Largest value of settings that PostgreSQL keeps in a signed 32-bit number.
const INT_MAX: i64 = i32::MAX as i64;

/// Every setting, by name without regard to case.
pub static TABLE: LazyLock<Vec<Setting>> = LazyLock::new(|| {
    let mut all = [
        cache::SETTINGS,
        foreign::SETTINGS,
        log::SETTINGS,
        planner::SETTINGS,
        server::SETTINGS,
        session::SETTINGS,
        upkeep::SETTINGS,
    ]
    .concat();
    all.sort_by_cached_key(|setting| setting.name.to_ascii_lowercase());
    all
});
