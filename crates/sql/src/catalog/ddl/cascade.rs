//! What goes with what is dropped.
//!
//! As in PostgreSQL, all that depends on what is dropped is found before anything goes: without CASCADE it is in the way
//! of the statement, with CASCADE one notice lists it. Dropped is in the order in which it is found, each thing behind
//! all that depends on it; told in the opposite one. Among those that depend on the same the newest are found first.

use std::rc::Rc;
use std::sync::Arc;

use base::hash::HashSet;
use storage::lock::LockMode;
use syntax::deparse::quote_ident;

use crate::catalog::foreign_key::ForeignKey;
use crate::catalog::store::Found;
use crate::catalog::{TableDef, TableKind};
use crate::error::{Result, sql_error};
use crate::types::{Oid, TypeId};

use super::Ddl;
use super::depend::DefaultOf;

/// So many are listed, as in PostgreSQL; the others are counted.
const LISTED_MAX: usize = 100;

/// What becomes of those that depend on what is dropped.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Dependents {
    /// RESTRICT: they are in the way.
    Hold,
    /// CASCADE: they go, and the client is told which.
    Go,
    /// They go without a word.
    GoSilently,
}

impl Dependents {
    pub(super) fn of(cascade: bool) -> Self {
        if cascade { Dependents::Go } else { Dependents::Hold }
    }
}

/// What can be dropped with what depends on it, and what can depend on that.
pub(super) enum Object {
    Schema(Found),
    Collation(Found),
    /// An enum.
    Type(Found),
    /// A table, view of either kind, or sequence.
    Relation(Oid),
    ForeignKey(Arc<ForeignKey>),
    Default(DefaultOf),
}

impl Object {
    pub(super) fn oid(&self) -> Oid {
        match self {
            Object::Schema(found) | Object::Collation(found) => found.row.oid("oid"),
            // By when it was made, as all others.
            Object::Type(found) => TypeId::from(found.row.oid("oid")).made_at(),
            Object::Relation(oid) => *oid,
            Object::ForeignKey(key) => key.oid,
            Object::Default(default) => default.oid,
        }
    }

    /// When it goes: expressions that name a collation or a type go with their tables, all goes before its schema.
    fn turn(&self) -> u8 {
        match self {
            Object::Relation(_) | Object::ForeignKey(_) | Object::Default(_) => 0,
            Object::Collation(_) | Object::Type(_) => 1,
            Object::Schema(_) => 2,
        }
    }
}

/// What depends on something, and what that is called.
pub(super) type User = (Object, Rc<str>);

/// Users that are found through others, each lot behind the one it is found through: by age, the oldest first.
pub(super) fn oldest_first(mut lots: Vec<(Oid, Vec<User>)>) -> Vec<User> {
    lots.sort_by_key(|(through, _)| *through);
    lots.into_iter().flat_map(|(_, users)| users).collect()
}

/// One that goes.
struct Goer {
    object: Object,
    /// What it is called.
    words: Rc<str>,
    /// What it was found to depend on; `None`: the statement is about it.
    on: Option<Rc<str>>,
}

/// Those that go.
#[derive(Default)]
struct Going {
    /// As found.
    all: Vec<Goer>,
    oids: HashSet<Oid>,
    /// Sequences that belong to columns of tables that go.
    owned: HashSet<Oid>,
}

impl Going {
    /// Whether it goes as a part of a table that goes.
    fn is_part(&self, object: &Object) -> bool {
        match object {
            Object::Schema(_) | Object::Collation(_) | Object::Type(_) => false,
            Object::Relation(oid) => self.owned.contains(oid),
            Object::ForeignKey(key) => self.oids.contains(&key.table),
            Object::Default(default) => self.oids.contains(&default.table),
        }
    }

    /// Those that the statement does not name, in words, each with what it depends on.
    fn dependents(&self) -> Vec<(Rc<str>, Rc<str>)> {
        let others = self.all.iter().rev().filter(|goer| !self.is_part(&goer.object));
        others.filter_map(|goer| Some((goer.words.clone(), goer.on.clone()?))).collect()
    }
}

/// A step of the search.
enum Step {
    /// What was found to depend on what these words say.
    Visit(Object, Option<Rc<str>>),
    /// All that depends on it has been found.
    Leave(Goer),
}

impl Ddl<'_> {
    /// Drops these, and what depends on them before them.
    pub(super) fn drop_objects(&mut self, first: Vec<Object>, others: Dependents) -> Result<()> {
        self.drop_for(None, first, others)
    }

    /// Likewise, for a statement that drops `whole`, which they are parts of.
    pub(super) fn drop_for(
        &mut self,
        whole: Option<&str>,
        first: Vec<Object>,
        others: Dependents,
    ) -> Result<()> {
        let named = first.iter().map(Object::oid).collect();
        let steps = first.into_iter().rev().map(|object| Step::Visit(object, None)).collect();
        self.drop_found(whole, steps, &named, others)
    }

    /// Drops what depends on something that is dropped, or on a part of it: `users`, the oldest first.
    pub(super) fn drop_users(
        &mut self,
        whole: &str,
        users: Vec<User>,
        others: Dependents,
    ) -> Result<()> {
        let steps = users.into_iter().map(|(user, on)| Step::Visit(user, Some(on))).collect();
        self.drop_found(Some(whole), steps, &HashSet::default(), others)
    }

    fn drop_found(
        &mut self,
        whole: Option<&str>,
        steps: Vec<Step>,
        named: &HashSet<Oid>,
        others: Dependents,
    ) -> Result<()> {
        let mut going = self.find_going(steps, named, others)?;
        let mut named = going.all.iter().filter(|goer| goer.on.is_none());
        let only = named.next().filter(|_| named.next().is_none()).map(|goer| &*goer.words);
        self.settle(whole.or(only), &going.dependents(), others)?;
        let mut all = std::mem::take(&mut going.all);
        all.sort_by_key(|goer| goer.object.turn());
        for goer in all {
            let is_part = going.is_part(&goer.object);
            self.drop_one(goer.object, is_part)?;
        }
        Ok(())
    }

    /// Finds all that goes with these, under its locks.
    fn find_going(
        &mut self,
        mut steps: Vec<Step>,
        named: &HashSet<Oid>,
        others: Dependents,
    ) -> Result<Going> {
        let mut going = Going::default();
        while let Some(step) = steps.pop() {
            let (object, on) = match step {
                Step::Leave(goer) => {
                    going.all.push(goer);
                    continue;
                }
                Step::Visit(object, on) => {
                    let on = on.filter(|_| !named.contains(&object.oid()));
                    (object, on)
                }
            };
            if !going.oids.insert(object.oid()) {
                continue;
            }
            let looked = self.look_at(&object, others, &mut going.owned)?;
            // Somebody else may have dropped it meanwhile.
            let Some((words, users)) = looked else { continue };
            let words: Rc<str> = words.into();
            steps.push(Step::Leave(Goer { object, words: words.clone(), on }));
            steps.extend(users.into_iter().map(|user| Step::Visit(user, Some(words.clone()))));
        }
        Ok(going)
    }

    /// What it is called, and what depends on it, the oldest first; `None`: it is gone. Relations are locked.
    fn look_at(
        &mut self,
        object: &Object,
        others: Dependents,
        owned: &mut HashSet<Oid>,
    ) -> Result<Option<(String, Vec<Object>)>> {
        if let Object::Relation(oid) = object {
            self.catalog.lock(self.host.txn(), *oid, LockMode::AccessExclusive)?;
        }
        let oid = match object {
            Object::Schema(found) => {
                let words = format!("schema {}", found.row.text("nspname"));
                return Ok(Some((words, self.members_of(found.row.oid("oid"))?)));
            }
            Object::Collation(found) => {
                let words = format!("collation {}", self.shown_collation(&found.row)?);
                return Ok(Some((words, Vec::new())));
            }
            Object::Type(found) => {
                let id = TypeId::from(found.row.oid("oid"));
                self.lock_type(id, LockMode::AccessExclusive)?;
                let words = format!("type {}", self.words_of_type(&found.row)?);
                return Ok(Some((words, Vec::new())));
            }
            Object::Relation(oid) => *oid,
            Object::ForeignKey(key) => key.table,
            Object::Default(default) => default.table,
        };
        let Some(relation) = self.catalog.table(self.host.txn(), oid)? else { return Ok(None) };
        let words = match others {
            Dependents::GoSilently => String::new(),
            _ => self.words(object, &relation)?,
        };
        let users = match object {
            Object::Relation(_) => self.users_of(&relation, owned)?,
            _ => Vec::new(),
        };
        Ok(Some((words, users)))
    }

    /// What depends on a relation, the oldest first, but for what is a part of it; sequences that are go to `owned`, too.
    fn users_of(&mut self, relation: &TableDef, owned: &mut HashSet<Oid>) -> Result<Vec<Object>> {
        let oid = relation.oid;
        let views = self.views_of(oid)?;
        let mut users: Vec<Object> = views.iter().map(|view| Object::Relation(view.oid)).collect();
        let keys = relation.foreign.referring.iter().filter(|key| key.table != oid);
        users.extend(keys.cloned().map(Object::ForeignKey));
        users.extend(self.defaults_with(oid)?.into_iter().map(Object::Default));
        for sequence in self.owned_sequences(oid, None)? {
            owned.insert(sequence);
            users.push(Object::Relation(sequence));
        }
        users.sort_by_key(Object::oid);
        Ok(users)
    }

    /// What is in a schema, the oldest first.
    fn members_of(&self, schema: Oid) -> Result<Vec<Object>> {
        let relations = self.store().scan(self.txn(), "pg_class", |row| {
            row.oid("relnamespace") == schema
                && matches!(row.letter("relkind"), b'r' | b'v' | b'm' | b'S')
        })?;
        let relations = relations.iter().map(|found| Object::Relation(found.row.oid("oid")));
        let mut members: Vec<Object> = relations.collect();
        members.extend(self.collations_in(schema)?.into_iter().map(Object::Collation));
        members.extend(self.enums_in(schema)?.into_iter().map(Object::Type));
        members.sort_by_key(Object::oid);
        Ok(members)
    }

    /// What is a relation, or of one, as messages name it.
    fn words(&mut self, object: &Object, relation: &TableDef) -> Result<String> {
        let of = self.relation_words(relation)?;
        Ok(match object {
            Object::ForeignKey(key) => format!("constraint {} on {of}", key.name),
            Object::Default(default) => {
                let column = &relation.columns[default.number as usize - 1].name;
                format!("default value for column {column} of {of}")
            }
            _ => of,
        })
    }

    /// A relation as messages name it.
    pub(super) fn relation_words(&mut self, relation: &TableDef) -> Result<String> {
        let TableDef { oid, schema_name, name, kind, .. } = relation;
        Ok(format!("{} {}", kind.word(), self.shown_name(*oid, schema_name, name)?))
    }

    /// A relation's name, with its schema's where it would not be found without.
    pub(super) fn shown_name(&mut self, oid: Oid, schema: &str, name: &str) -> Result<String> {
        let path = self.host.search_path()?;
        let is_found = self.catalog.resolve(self.host.txn(), &path, None, name)? == Some(oid);
        Ok(match is_found {
            true => quote_ident(name).into_owned(),
            false => format!("{}.{}", quote_ident(schema), quote_ident(name)),
        })
    }

    /// Tells of what depends on what is dropped, each with what it depends on; or refuses to drop because of it.
    /// `what` is dropped if it is one thing.
    pub(super) fn settle(
        &mut self,
        what: Option<&str>,
        dependents: &[(Rc<str>, Rc<str>)],
        fate: Dependents,
    ) -> Result<()> {
        if dependents.is_empty() || fate == Dependents::GoSilently {
            return Ok(());
        }
        let listed = dependents.iter().take(LISTED_MAX).map(|(words, on)| match fate {
            Dependents::Hold => format!("{words} depends on {on}"),
            _ => format!("drop cascades to {words}"),
        });
        let mut lines: Vec<String> = listed.collect();
        match dependents.len() - lines.len() {
            0 => {}
            1 => lines.push("and 1 other object (see server log for list)".to_owned()),
            more => lines.push(format!("and {more} other objects (see server log for list)")),
        }
        if fate == Dependents::Hold {
            let text = match what {
                Some(what) => format!("cannot drop {what} because other objects depend on it"),
                None => "cannot drop desired object(s) because other objects depend on them".into(),
            };
            return Err(sql_error!(DEPENDENT_OBJECTS_STILL_EXIST, "{text}")
                .with_detail(lines.join("\n"))
                .with_hint("Use DROP ... CASCADE to drop the dependent objects too."));
        }
        let notice = match &lines[..] {
            [only] => sql_error!(SUCCESSFUL_COMPLETION, "{only}"),
            _ => {
                let count = dependents.len();
                sql_error!(SUCCESSFUL_COMPLETION, "drop cascades to {count} other objects")
                    .with_detail(lines.join("\n"))
            }
        };
        self.host.notice("NOTICE", notice);
        Ok(())
    }

    fn drop_one(&mut self, object: Object, is_part: bool) -> Result<()> {
        match object {
            // The table drops them itself.
            Object::Relation(_) | Object::Default(_) if is_part => Ok(()),
            Object::Relation(oid) => {
                // As it is without what depended on it.
                let relation = self.table(oid)?;
                match relation.kind {
                    kind if kind.is_heap() => self.drop_table(&relation),
                    TableKind::Sequence => self.drop_sequence(oid),
                    _ => self.drop_view(&relation),
                }
            }
            // Even if its table is about to go: it must not refer to what is gone until then.
            Object::ForeignKey(key) => self.drop_foreign_key(&key),
            Object::Default(default) => self.drop_default(&default),
            Object::Collation(found) => self.drop_collation(&found, true),
            Object::Type(found) => self.drop_enum(&found, true),
            Object::Schema(found) => {
                self.forget_defaults_in(found.row.oid("oid"))?;
                self.store().delete(self.txn(), "pg_namespace", &found)?;
                self.changed(found.row.oid("oid"))
            }
        }
    }
}
