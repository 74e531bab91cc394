//! From text to plans: parsing, binding, planning; when a plan may be used again.

use base::sync::unmodelled::{AtomicU32, AtomicU64, Ordering};
use std::sync::Arc;

use base::Xid;
use storage::lock::LockMode;
use syntax::ast::{self, Statement};

use crate::bind::needs::Needs;
use crate::bind::query::{Modify, ModifyAction, Query, Statement as Bound, Target};
use crate::bind::{Binder, Params, Ty};
use crate::cache::{KnownText, Place, Scope};
use crate::catalog::store::Instance;
use crate::error::{Result, sql_error};
use crate::plan::{self, Plan};
use crate::types::{Oid, TypeId, type_info};

use super::Session;
use super::client::Field;
use super::read_only::written_as;
use super::simple::is_of_the_moment;
use super::standing::Uses;
use super::unready::Unready;

/// What the tag of a finished statement says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verb {
    Select,
    Insert,
    Update,
    Delete,
}

/// A statement ready to run, as long as nothing that it uses has changed.
pub struct Planned {
    pub plan: Arc<Plan>,
    pub verb: Verb,
    /// The types of its parameters (or lifted constants).
    pub params: Vec<TypeId>,
    /// Its result's columns; `None` for a change without RETURNING.
    pub fields: Option<Arc<[Field]>>,
    /// Relations that it uses, with the locks that running it takes.
    tables: Vec<(Oid, LockMode)>,
    /// Who made indexes that only snapshots may use that see it; without those that every snapshot sees.
    makers: Vec<Xid>,
    /// A state of the catalogs in which it holds: the one that it was made in, or a later one.
    version: AtomicU64,
    /// It holds in no other: names in it may lead to what other sessions make and drop by themselves.
    only_then: bool,
    scope: Scope,
    /// Made in a transaction that had changed catalogs, or could not use an index yet: not for another
    /// one.
    local: bool,
    /// Made of constants that were read by the settings and the time of its making: not for another preparation.
    momentary: bool,
    /// What it is called if it writes to more than temporary relations.
    pub writes: Option<&'static str>,
    /// What whoever runs it must be allowed.
    pub(super) needs: Needs,
    /// Why it can't be run, if it can't.
    pub(super) unready: Option<Unready>,
    /// The role that it was found to be allowed to last; the largest number is nobody.
    allowed: AtomicU32,
    /// The short way, when it is about one row.
    pub point: Option<super::point::Point>,
}

/// A prepared statement, by either way of preparing.
pub struct Prepared {
    pub text: Arc<str>,
    /// `None`: the text held no statement.
    pub statement: Option<Arc<Statement>>,
    /// The types that a client of the extended protocol declared; `None`: it was prepared by SQL.
    pub declared: Option<Arc<[Oid]>>,
    /// Parameter types as declared (zero: open) and then as inferred.
    pub params: Vec<TypeId>,
    pub planned: Option<Arc<Planned>>,
    /// The result's columns when it is not a planned statement (SHOW, EXPLAIN, FETCH, …).
    pub fields: Option<Arc<[Field]>>,
    /// How often it was run, if it has a name.
    pub uses: Option<Uses>,
}

impl Prepared {
    /// Counts one more run.
    #[inline]
    pub fn count_use(&self) {
        if let Some(uses) = &self.uses {
            uses.count();
        }
    }
}

impl Planned {
    /// Whether it may be for sessions of this place.
    #[inline]
    pub fn serves(&self, place: Place<'_>) -> bool {
        self.scope == place.scope && self.is_current(place.instance)
    }

    /// Whether nothing that it was made of has changed since, as far as all sessions are concerned.
    #[inline]
    pub fn is_current(&self, instance: &Instance) -> bool {
        // Relaxed: it holds in that state, whoever found that out.
        let version = self.version.load(Ordering::Relaxed);
        version == instance.version() || (!self.only_then && self.still_holds(version, instance))
    }

    #[cold]
    fn still_holds(&self, version: u64, instance: &Instance) -> bool {
        let now = instance.holds(version, self.relations());
        if let Some(now) = now {
            // Relaxed: see `is_current`.
            self.version.store(now, Ordering::Relaxed);
        }
        now.is_some()
    }

    /// The relations that it uses.
    pub fn relations(&self) -> impl Iterator<Item = Oid> {
        self.tables.iter().map(|(oid, _)| *oid)
    }

    /// Whether it was found to be allowed to a role. What could be otherwise now would have outdated it.
    #[inline]
    pub(super) fn is_allowed_to(&self, role: Oid) -> bool {
        // Relaxed: whoever found it out, it holds as long as the plan does.
        self.allowed.load(Ordering::Relaxed) == role.0
    }

    pub(super) fn is_allowed_from_now_on(&self, role: Oid) {
        // Relaxed: see `is_allowed_to`.
        self.allowed.store(role.0, Ordering::Relaxed);
    }

    /// Has the owners' rights of the relations count, whoever runs it.
    pub(super) fn by_owners(mut self) -> Planned {
        self.needs.by_owners();
        self
    }

    /// Whether nobody but the session that made it may run it.
    pub fn is_local(&self) -> bool {
        self.local
    }

    /// Whether it serves only what it was made for: see [`Binder::is_momentary`].
    pub fn is_momentary(&self) -> bool {
        self.momentary
    }

    /// Writes the command tag for so many rows in the place of what `tag` holds.
    pub fn write_tag(&self, rows: u64, tag: &mut String) {
        tag.clear();
        tag.push_str(match self.verb {
            Verb::Select => "SELECT ",
            Verb::Insert => "INSERT 0 ",
            Verb::Update => "UPDATE ",
            Verb::Delete => "DELETE ",
        });
        tag.push_str(itoa::Buffer::new().format(rows));
    }
}

/// Is it a statement that the planner plans?
pub fn is_plannable(statement: &Statement) -> bool {
    match statement {
        Statement::Select(select) => !is_select_into(select),
        Statement::Insert(_) | Statement::Update(_) | Statement::Delete(_) => true,
        _ => false,
    }
}

/// `SELECT … INTO t`; of a set operation the first query says it.
pub fn is_select_into(select: &ast::Select) -> bool {
    let mut body = &select.body;
    while let ast::SelectBody::SetOp(op) = body {
        body = &op.left.body;
    }
    matches!(body, ast::SelectBody::Core(core) if core.into.is_some())
}

impl Session {
    /// Binds and plans; what it uses is locked from here on.
    pub(super) fn plan(&mut self, statement: &Statement, params: Params) -> Result<Planned> {
        let version = self.backend.catalog.version();
        let scope = self.backend.scope();
        self.backend.forget_used();
        let mut params = params;
        let bound = self.backend.with_catalog(|catalog| {
            let mut binder = Binder::new(catalog, &mut params);
            let bound = binder.statement(statement)?;
            binder.check_params()?;
            Ok::<_, crate::error::SqlError>((bound, binder.is_momentary()))
        });
        self.backend.txn.release_statement();
        let (bound, momentary) = bound?;
        let only_then = momentary || self.backend.may_meet_others_temporary();
        let plan = plan::plan(&bound, self.backend.indexes()?)?;
        let point = super::point::Point::of(&plan);
        #[cfg(test)]
        let point = point.filter(|_| !self.detours);
        let local = self.backend.catalog.is_changed() || !self.backend.unusable.is_empty();
        #[cfg(test)]
        let local = local || self.detours;
        let needs = Needs::of(&bound);
        Ok(Planned {
            plan: Arc::new(plan),
            verb: verb_of(&bound),
            fields: fields_of(&bound).map(Arc::from),
            params: params.types,
            tables: std::mem::take(&mut self.backend.used),
            makers: std::mem::take(&mut self.backend.makers),
            version: AtomicU64::new(version),
            only_then,
            scope,
            local,
            momentary,
            writes: written_as(&bound),
            unready: Unready::of(&bound, &needs),
            needs,
            allowed: AtomicU32::new(u32::MAX),
            point,
        })
    }

    /// May the plan be run as it is? Takes the locks that running it needs.
    pub(super) fn revalidate(&mut self, planned: &Planned) -> Result<bool> {
        let backend = &self.backend;
        if planned.local || planned.scope != backend.scope() || backend.catalog.is_changed() {
            return Ok(false);
        }
        // Locked first, so that nothing changes between the look at the version and the run.
        for (oid, mode) in &planned.tables {
            backend.catalog.lock(&backend.txn, *oid, *mode)?;
        }
        for maker in &planned.makers {
            if !backend.txn.will_see(*maker)? {
                return Ok(false);
            }
        }
        Ok(planned.is_current(&backend.instance))
    }

    /// The plan of a prepared statement, made anew if it is out of date; `None` if it is not planned.
    pub(super) fn current_plan(&mut self, name: &str) -> Result<Option<Arc<Planned>>> {
        let prepared = self.prepared(name)?;
        let before = prepared.planned.clone();
        if let Some(planned) = &before
            && self.revalidate(planned)?
        {
            return Ok(before);
        }
        let prepared = self.prepared(name)?;
        let Some(statement) = prepared.statement.clone().filter(|s| is_plannable(s)) else {
            return Ok(None);
        };
        let planned = match self.plan_of_others(name)? {
            Some(planned) => planned,
            None => self.plan_anew(name, &statement)?,
        };
        let told = match &before {
            Some(before) => before.fields.clone(),
            None => self.prepared(name)?.fields.clone(),
        };
        let has_been_told = before.is_some() || told.is_some();
        if has_been_told && !same_columns(&told, &planned.fields) {
            // Drivers know by the routine that preparing anew helps.
            let message = "cached plan must not change result type";
            return Err(sql_error!(FEATURE_NOT_SUPPORTED, "{message}")
                .with_routine("RevalidateCachedQuery"));
        }
        let prepared = self.prepared(name)?;
        prepared.params = planned.params.clone();
        prepared.planned = Some(planned.clone());
        Ok(Some(planned))
    }

    /// A plan for a prepared statement that another session of this thread made since.
    fn plan_of_others(&mut self, name: &str) -> Result<Option<Arc<Planned>>> {
        let place = self.backend.place();
        let prepared = self.statements.get(name).expect("the caller has it");
        let Some(types) = &prepared.declared else { return Ok(None) };
        let params = prepared.params.clone();
        let Some(known) = self.plans.text(place, &prepared.text, types) else { return Ok(None) };
        match known.planned {
            Some(planned) if planned.params == params && self.revalidate(&planned)? => {
                Ok(Some(planned))
            }
            _ => Ok(None),
        }
    }

    /// Its parameters keep the types that they have; who prepares the text now may find others.
    fn plan_anew(&mut self, name: &str, statement: &Arc<Statement>) -> Result<Arc<Planned>> {
        let prepared = self.prepared(name)?;
        let (own, declared) = (prepared.params.clone(), prepared.declared.clone());
        let as_declared = match &declared {
            None => None,
            Some(types) => {
                let types = types.iter().map(|oid| TypeId(oid.0)).collect();
                match self.plan(statement, Params::open(types)) {
                    Err(error) if is_of_the_moment(&error) => return Err(error),
                    planned => planned.ok().filter(|planned| planned.params == own),
                }
            }
        };
        let Some(planned) = as_declared else {
            return Ok(Arc::new(self.plan(statement, Params::open(own))?));
        };
        let planned = Arc::new(planned);
        let prepared = self.statements.get(name).expect("the caller has it");
        if let Some(types) = &prepared.declared {
            let known = KnownText {
                types: types.clone(),
                text: prepared.text.clone(),
                statement: statement.clone(),
                params: planned.params.as_slice().into(),
                planned: Some(planned.clone()),
            };
            self.plans.keep_text(planned.scope, &known.text.clone(), known);
        }
        Ok(planned)
    }
}

fn same_columns(a: &Option<Arc<[Field]>>, b: &Option<Arc<[Field]>>) -> bool {
    match (a, b) {
        (None, None) => true,
        (Some(a), Some(b)) => {
            a.len() == b.len()
                && a.iter().zip(b.iter()).all(|(x, y)| {
                    x.type_id == y.type_id && x.type_mod == y.type_mod && x.name == y.name
                })
        }
        _ => false,
    }
}

fn verb_of(bound: &Bound) -> Verb {
    match bound {
        Bound::Query(_) => Verb::Select,
        Bound::Modify(modify) => match modify.action {
            ModifyAction::Insert { .. } => Verb::Insert,
            ModifyAction::Update { .. } => Verb::Update,
            ModifyAction::Delete => Verb::Delete,
        },
    }
}

fn fields_of(bound: &Bound) -> Option<Vec<Field>> {
    match bound {
        Bound::Query(query) => Some(query_fields(query)),
        Bound::Modify(modify) => modify_fields(modify),
    }
}

fn query_fields(query: &Query) -> Vec<Field> {
    query.visible().map(field_of).collect()
}

fn modify_fields(modify: &Modify) -> Option<Vec<Field>> {
    let returning = &modify.returning;
    (!returning.is_empty()).then(|| returning.iter().map(field_of).collect())
}

fn field_of(target: &Target) -> Field {
    let ty = target.expr.ty();
    let (table, column) = target.origin.unwrap_or((Oid::INVALID, 0));
    Field {
        name: target.name.clone(),
        table,
        column,
        type_id: ty.id,
        type_len: type_info(ty.id).map_or(-1, |info| info.len),
        type_mod: ty.modifier,
        collation: crate::bind::collate::of(&target.expr),
        nameless: target.nameless,
    }
}

/// A result column that comes from no table.
pub fn plain_field(name: &str, type_id: TypeId) -> Field {
    Field {
        name: name.into(),
        table: Oid::INVALID,
        column: 0,
        type_id,
        type_len: type_info(type_id).map_or(-1, |info| info.len),
        type_mod: -1,
        collation: Ty::of(type_id).collation(),
        nameless: false,
    }
}
