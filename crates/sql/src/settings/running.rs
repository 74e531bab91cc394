//! Values of settings that are the server's, not a session's: what `SHOW` tells of them in every session.

use super::{Context, Setting, Value};
use std::collections::BTreeMap;
use std::sync::Mutex;

/// What the running server goes by; settings that nobody chose have their defaults.
#[derive(Default)]
pub struct Running(Mutex<BTreeMap<&'static str, Value>>);

impl Running {
    /// Says what a setting is.
    ///
    /// # Panics
    /// If it is one of sessions.
    pub fn set(&self, setting: &'static Setting, value: Value) {
        assert!(is_servers(setting), "\"{}\" is a setting of sessions", setting.name);
        self.0.lock().expect("no code panics under it").insert(setting.name, value);
    }

    /// What a setting of the server is; none for those of sessions.
    pub fn get(&self, setting: &Setting) -> Option<Value> {
        let chosen = || self.0.lock().expect("no code panics under it").get(setting.name).cloned();
        is_servers(setting).then(|| chosen().unwrap_or_else(|| setting.default()))
    }
}

fn is_servers(setting: &Setting) -> bool {
    matches!(setting.context, Context::Start | Context::Reload)
}
