//! Settings: what they are called, which values they take, and when a change takes effect.
//!
//! [`TABLE`] is the one place where a setting is described. `SHOW`, `SET`, `pg_settings`, the
//! configuration file, `--set` and `--help` all read it. It holds descriptions only; values live
//! where they are used: in the instance those that hold for everybody, in the session its own.

mod entry;
mod running;
mod table;
mod value;

#[cfg(test)]
mod tests;

pub use running::Running;
pub use table::TABLE;
pub use value::Value;

use crate::error::{Result, SqlError, SqlState};

/// One setting.
#[derive(Clone, Debug)]
pub struct Setting {
    /// Its name as `SHOW` writes it; names are found whatever their case.
    pub name: &'static str,
    pub kind: Kind,
    pub context: Context,
    /// What it does, in one sentence.
    pub summary: &'static str,
}

/// Which values a setting takes, and which one it has when nobody says otherwise.
#[derive(Clone, Debug)]
pub enum Kind {
    Bool {
        default: bool,
    },
    Integer {
        default: i64,
        min: i64,
        max: i64,
        unit: Unit,
    },
    Real {
        default: f64,
        min: f64,
        max: f64,
    },
    Text {
        default: &'static str,
    },
    /// One of these words.
    Choice {
        default: &'static str,
        of: &'static [&'static str],
    },
}

/// What an integer setting counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Things.
    Plain,
    /// Bytes, in kibibytes.
    KiB,
    /// Bytes, in pages of 8 kibibytes.
    Pages,
    /// Bytes, in mebibytes.
    MiB,
    Milliseconds,
    Seconds,
}

/// When, and by whom, a setting can be changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Context {
    /// Never: it tells something.
    Internal,
    /// Before the server starts.
    Start,
    /// In the configuration file, which a running server reads again on SIGHUP.
    Reload,
    /// By a superuser, in a session.
    Superuser,
    /// By anybody, in a session.
    User,
}

impl Context {
    /// PostgreSQL's word for it, as in `pg_settings.context`.
    pub fn as_str(self) -> &'static str {
        match self {
            Context::Internal => "internal",
            Context::Start => "postmaster",
            Context::Reload => "sighup",
            Context::Superuser => "superuser",
            Context::User => "user",
        }
    }
}

impl Setting {
    /// Why it changes nothing, as a sentence, if it is only known so that who sets it is not refused.
    pub fn without_effect(&self) -> Option<String> {
        let why = self.summary.strip_prefix("Has no effect")?;
        let why = why.trim_start_matches([':', ',', ' ']);
        let (first, rest) = why.split_at(1);
        Some(first.to_uppercase() + rest)
    }
}

/// Finds a setting by name, whatever its case.
pub fn find(name: &str) -> Option<&'static Setting> {
    TABLE.iter().find(|setting| setting.name.eq_ignore_ascii_case(name))
}

/// Finds a setting by name.
///
/// # Errors
/// `42704` where there is none.
pub fn get(name: &str) -> Result<&'static Setting> {
    find(name).ok_or_else(|| {
        let message = format!("unrecognized configuration parameter \"{name}\"");
        SqlError::new(SqlState::UNDEFINED_OBJECT, message)
    })
}

/// What answers whoever asks for SERIALIZABLE, in whichever way: a weaker level in silence would be a broken promise.
pub fn serializable_refused() -> SqlError {
    SqlError::unsupported("isolation level SERIALIZABLE is not supported yet")
        .with_hint("Use REPEATABLE READ.")
}

impl Setting {
    /// The value it has when nobody says otherwise.
    pub fn default(&self) -> Value {
        match self.kind {
            Kind::Bool { default } => Value::Bool(default),
            Kind::Integer { default, .. } => Value::Integer(default),
            Kind::Real { default, .. } => Value::Real(default),
            Kind::Text { default } | Kind::Choice { default, .. } => Value::Text(default.into()),
        }
    }

    /// Reads a value as `SET` and the configuration file write it.
    ///
    /// # Errors
    /// `22023`, in PostgreSQL's words, for a value of another kind or out of range; `0A000` for SERIALIZABLE, and for
    /// escapes in plain literals.
    pub fn parse(&self, text: &str) -> Result<Value> {
        value::parse(self, text)
    }

    /// Writes a value as `SHOW` does: numbers with the largest unit that needs no fraction.
    pub fn show(&self, value: &Value) -> String {
        value::show(self, value)
    }

    /// The unit in `pg_settings.unit`; none for plain numbers and everything that is no number.
    pub fn unit(&self) -> Option<&'static str> {
        match self.kind {
            Kind::Integer { unit, .. } => unit.name(),
            _ => None,
        }
    }

    /// Which values it takes, as the manual and `--help` tell it: the words, or the range as `SHOW` writes its ends; empty where any text
    /// may be given.
    pub fn values(&self) -> String {
        let shown = |value| self.show(&value);
        match self.kind {
            Kind::Bool { .. } => "on, off".into(),
            Kind::Choice { of, .. } => of.join(", "),
            Kind::Text { .. } => String::new(),
            Kind::Integer { min, max, .. } if max >= i64::from(i32::MAX) => {
                format!("from {}", shown(Value::Integer(min)))
            }
            Kind::Integer { min, max, .. } => {
                format!("{} to {}", shown(Value::Integer(min)), shown(Value::Integer(max)))
            }
            Kind::Real { min, max, .. } if max >= f64::from(i32::MAX) => {
                format!("from {}", shown(Value::Real(min)))
            }
            Kind::Real { min, max, .. } => {
                format!("{} to {}", shown(Value::Real(min)), shown(Value::Real(max)))
            }
        }
    }

    /// The kind in `pg_settings.vartype`.
    pub fn type_name(&self) -> &'static str {
        match self.kind {
            Kind::Bool { .. } => "bool",
            Kind::Integer { .. } => "integer",
            Kind::Real { .. } => "real",
            Kind::Text { .. } => "string",
            Kind::Choice { .. } => "enum",
        }
    }
}
