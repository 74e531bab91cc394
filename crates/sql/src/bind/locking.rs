//! FOR UPDATE and its kin: which tables' rows a query locks, also those of queries in its FROM.

use syntax::ast::{LockStrength, LockWait, Locking, RelationRef};

use super::at;
use super::query::{Query, RelKind, RowLock};
use crate::error::{Result, bail, sql_error};

/// As it is written.
pub fn words(strength: LockStrength) -> &'static str {
    match strength {
        LockStrength::Update => "FOR UPDATE",
        LockStrength::NoKeyUpdate => "FOR NO KEY UPDATE",
        LockStrength::Share => "FOR SHARE",
        LockStrength::KeyShare => "FOR KEY SHARE",
    }
}

/// Has a finished query lock what its clauses say.
pub(super) fn lock(query: &mut Query, clauses: &[Locking]) -> Result<()> {
    query.for_update = !clauses.is_empty();
    for clause in clauses {
        let how = How { strength: clause.strength, wait: clause.wait };
        how.check(query)?;
        if clause.of.is_empty() {
            how.all(query)?;
        }
        for name in &clause.of {
            how.named(query, name)?;
        }
    }
    Ok(())
}

#[derive(Clone, Copy)]
struct How {
    strength: LockStrength,
    wait: LockWait,
}

impl How {
    /// Refuses what makes rows of its own, to which no row of a table corresponds.
    fn check(self, query: &Query) -> Result<()> {
        let group = query.group.as_ref();
        let what = if query.set_op.is_some() {
            "UNION/INTERSECT/EXCEPT"
        } else if query.distinct.is_some() {
            "DISTINCT clause"
        } else if group.is_some_and(|group| !group.keys.is_empty() || group.sets.len() != 1) {
            "GROUP BY clause"
        } else if query.having.is_some() {
            "HAVING clause"
        } else if group.is_some() {
            "aggregate functions"
        } else if !query.windows.is_empty() {
            "window functions"
        } else if query.has_srf {
            "set-returning functions in the target list"
        } else {
            return Ok(());
        };
        bail!(FEATURE_NOT_SUPPORTED, "{} is not allowed with {what}", words(self.strength))
    }

    /// Every table, those of the queries and views in FROM with them.
    fn all(self, query: &mut Query) -> Result<()> {
        (0..query.rels.len()).try_for_each(|rel| self.one(query, rel))
    }

    /// Does nothing for what is neither table nor query; nor, as PostgreSQL, for a view that is a set operation.
    fn one(self, query: &mut Query, rel: usize) -> Result<()> {
        if query.rels[rel].has_system() {
            self.note(query, rel as u16);
        } else if let RelKind::Subquery(within) = &mut query.rels[rel].kind {
            if within.of_view && within.set_op.is_some() {
                return Ok(());
            }
            self.check(within)?;
            self.all(within)?;
        }
        Ok(())
    }

    fn named(self, query: &mut Query, name: &RelationRef) -> Result<()> {
        let words = words(self.strength);
        let Some(rel) = query.rels.iter().position(|rel| rel.alias == name.name) else {
            let refusal = sql_error!(
                UNDEFINED_TABLE,
                "relation \"{}\" in {words} clause not found in FROM clause",
                name.name
            );
            return Err(at(refusal, name.loc));
        };
        let what = match &query.rels[rel].kind {
            RelKind::Table(_) | RelKind::Subquery(_) => return self.one(query, rel),
            RelKind::Function { .. } => "a function",
            RelKind::Values(_) => "VALUES",
            RelKind::Cte { .. } | RelKind::Recursive { .. } => "a WITH query",
            RelKind::Join => "a join",
            RelKind::Excluded => "EXCLUDED",
        };
        Err(at(sql_error!(FEATURE_NOT_SUPPORTED, "{words} cannot be applied to {what}"), name.loc))
    }

    /// The stronger lock of several prevails, and what waits least.
    fn note(self, query: &mut Query, rel: u16) {
        match query.locking.iter_mut().find(|lock| lock.rel == rel) {
            Some(lock) => {
                lock.strength = lock.strength.max(self.strength);
                lock.wait = lock.wait.max(self.wait);
            }
            None => {
                query.locking.push(RowLock { rel, strength: self.strength, wait: self.wait });
            }
        }
    }
}
