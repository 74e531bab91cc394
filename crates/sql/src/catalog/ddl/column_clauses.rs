//! What the clauses of a column's definition say together: whether it may be null, and which contradict each other.

use syntax::ast::{ColumnDef, ConstraintKind};

use crate::bind::at;
use crate::error::{Result, sql_error};

/// A clause, as far as another one can contradict it.
enum Clause {
    /// NOT NULL, or NULL.
    NotNull(bool),
    Default,
    Identity,
    Generated,
}

impl Clause {
    fn of(kind: &ConstraintKind) -> Option<Clause> {
        match kind {
            ConstraintKind::Null => Some(Clause::NotNull(false)),
            ConstraintKind::NotNull { .. } => Some(Clause::NotNull(true)),
            ConstraintKind::Default(_) => Some(Clause::Default),
            ConstraintKind::Identity { .. } => Some(Clause::Identity),
            ConstraintKind::Generated { .. } => Some(Clause::Generated),
            _ => None,
        }
    }
}

/// What the clauses have said up to one of them.
#[derive(Default)]
struct Said {
    not_null: Option<bool>,
    default: bool,
    identity: bool,
    generated: bool,
}

/// How a message about a clause begins that contradicts those before it.
type Contradiction = &'static str;

impl Said {
    fn take(&mut self, clause: &Clause) -> std::result::Result<(), Contradiction> {
        match clause {
            Clause::NotNull(not_null) => self.take_null(*not_null)?,
            Clause::Default if self.default => return Err("multiple default values specified"),
            Clause::Default => self.default = true,
            Clause::Identity if self.identity => return Err("multiple identity specifications"),
            Clause::Identity => {
                self.identity = true;
                self.take_null(true)?;
            }
            Clause::Generated if self.generated => {
                return Err("multiple generation clauses specified");
            }
            Clause::Generated => self.generated = true,
        }
        match (self.default, self.identity, self.generated) {
            (true, true, _) => Err("both default and identity specified"),
            (true, _, true) => Err("both default and generation expression specified"),
            (_, true, true) => Err("both identity and generation expression specified"),
            _ => Ok(()),
        }
    }

    fn take_null(&mut self, not_null: bool) -> std::result::Result<(), Contradiction> {
        if self.not_null.is_some_and(|said| said != not_null) {
            return Err("conflicting NULL/NOT NULL declarations");
        }
        self.not_null = Some(not_null);
        Ok(())
    }
}

/// Whether a column must not be null. `serial`: its type says as much as DEFAULT and NOT NULL behind all that is written.
///
/// # Errors
/// `42601` for clauses that contradict each other, at the later one.
pub(super) fn check(def: &ColumnDef, table: &str, serial: bool) -> Result<bool> {
    let clash = |contradiction: Contradiction| {
        sql_error!(SYNTAX_ERROR, "{contradiction} for column \"{}\" of table \"{table}\"", def.name)
    };
    let mut said = Said::default();
    for constraint in &def.constraints {
        if let Some(clause) = Clause::of(&constraint.kind) {
            said.take(&clause).map_err(|contradiction| at(clash(contradiction), constraint.loc))?;
        }
    }
    if serial {
        said.take(&Clause::Default).map_err(clash)?;
        said.take(&Clause::NotNull(true)).map_err(clash)?;
    }
    Ok(said.not_null.unwrap_or(false))
}
