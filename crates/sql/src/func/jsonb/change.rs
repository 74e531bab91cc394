//! Values made of others: `||`, `-`, `#-`, `jsonb_set` and its kin.

use std::sync::Arc;

use base::hash::HashSet;

use super::{path_index, stored, texts, tree};
use crate::error::{Result, SqlError, SqlState, bail, sql_error};
use crate::func::bodies::{Bodies, scalars};
use crate::types::Datum;
use crate::types::jsonb::{Json, MAX_ELEMENTS, position, too_many_elements};

pub(super) const BODIES: Bodies = scalars! {
    "jsonb_concat" => |_, a| stored(&concatenate(tree(&a[0])?, tree(&a[1])?));
    "jsonb_delete" => |_, a| without_keys(&a[0], &[Some(a[1].as_text())]);
    "jsonb_delete_array" => |_, a| without_keys(&a[0], &texts(a[1].as_array())?);
    "jsonb_delete_idx" => |_, a| without_index(&a[0], a[1].as_int4());
    "jsonb_delete_path" => |_, a| at_path(&a[0], &a[1], "delete path in", Change::Delete);
    "jsonb_set" => |_, a| {
        let change = Change::Set { value: tree(&a[2])?, create: a[3].as_bool() };
        at_path(&a[0], &a[1], "set path in", change)
    };
    "jsonb_set_lax" => |_, a| set_lax(a);
    "jsonb_insert" => |_, a| {
        let change = Change::Insert { value: tree(&a[2])?, after: a[3].as_bool() };
        at_path(&a[0], &a[1], "set path in", change)
    };
    "jsonb_strip_nulls" => |_, a| stored(&without_nulls(tree(&a[0])?));
};

/// `jsonb_set` that is told what an SQL null means.
fn set_lax(args: &[Datum]) -> Result<Datum> {
    if [0, 1, 3].iter().any(|at: &usize| args[*at].is_null()) {
        return Ok(Datum::Null);
    }
    if args[4].is_null() {
        return Err(SqlError::new(SqlState::INVALID_PARAMETER_VALUE, TREATMENTS));
    }
    let set = |value| {
        let change = Change::Set { value, create: args[3].as_bool() };
        at_path(&args[0], &args[1], "set path in", change)
    };
    if !args[2].is_null() {
        return set(tree(&args[2])?);
    }
    match args[4].as_text().as_str() {
        "raise_exception" => Err(sql_error!(
            NULL_VALUE_NOT_ALLOWED,
            "JSON value must not be null"
        )
        .with_detail(
            "Exception was raised because null_value_treatment is \"raise_exception\".",
        )
        .with_hint(
            "To avoid, either change the null_value_treatment argument or ensure that an SQL NULL is not passed.",
        )),
        "use_json_null" => set(Json::Null),
        "delete_key" => at_path(&args[0], &args[1], "delete path in", Change::Delete),
        "return_target" => Ok(args[0].clone()),
        _ => Err(SqlError::new(SqlState::INVALID_PARAMETER_VALUE, TREATMENTS)),
    }
}

const TREATMENTS: &str = "null_value_treatment must be \"delete_key\", \"return_target\", \"use_json_null\", or \"raise_exception\"";

/// Two objects make one; else each that is no array is an array of itself.
fn concatenate(a: Json, b: Json) -> Json {
    let elements = |value| match value {
        Json::Array(elements) => elements,
        other => vec![other],
    };
    match (a, b) {
        (Json::Object(mut pairs), Json::Object(others)) => {
            pairs.extend(others);
            Json::object(pairs)
        }
        (a, b) => {
            let mut all = elements(a);
            all.extend(elements(b));
            Json::Array(all)
        }
    }
}

fn without_keys(value: &Datum, keys: &[Option<&str>]) -> Result<Datum> {
    let keys: HashSet<&str> = keys.iter().copied().flatten().collect();
    let is_named = |text: &str| keys.contains(text);
    match tree(value)? {
        Json::Object(mut pairs) => {
            pairs.retain(|(key, _)| !is_named(key));
            stored(&Json::Object(pairs))
        }
        Json::Array(mut elements) => {
            elements.retain(|element| !matches!(element, Json::String(text) if is_named(text)));
            stored(&Json::Array(elements))
        }
        _ => bail!(INVALID_PARAMETER_VALUE, "cannot delete from scalar"),
    }
}

fn without_index(value: &Datum, index: i32) -> Result<Datum> {
    match tree(value)? {
        Json::Array(mut elements) => {
            if let Some(at) = position(elements.len(), index.into()) {
                elements.remove(at);
            }
            stored(&Json::Array(elements))
        }
        Json::Object(_) => {
            bail!(INVALID_PARAMETER_VALUE, "cannot delete from object using integer index")
        }
        _ => bail!(INVALID_PARAMETER_VALUE, "cannot delete from scalar"),
    }
}

fn without_nulls(value: Json) -> Json {
    match value {
        Json::Object(pairs) => {
            let kept = pairs.into_iter().filter(|(_, value)| *value != Json::Null);
            Json::Object(kept.map(|(key, value)| (key, without_nulls(value))).collect())
        }
        Json::Array(elements) => Json::Array(elements.into_iter().map(without_nulls).collect()),
        scalar => scalar,
    }
}

/// What is done at the end of a path.
pub(super) enum Change {
    Delete,
    /// By a subscript: what is missing on the way is made.
    Assign {
        value: Json,
    },
    Set {
        value: Json,
        create: bool,
    },
    Insert {
        value: Json,
        after: bool,
    },
}

impl Change {
    /// What is put where the path ends at nothing.
    fn created(&self) -> Option<&Json> {
        match self {
            Change::Delete | Change::Set { create: false, .. } => None,
            Change::Set { value, .. } | Change::Insert { value, .. } | Change::Assign { value } => {
                Some(value)
            }
        }
    }
}

fn at_path(value: &Datum, path: &Datum, what: &str, change: Change) -> Result<Datum> {
    let path = texts(path.as_array())?;
    let mut tree = tree(value)?;
    if tree.is_scalar() {
        bail!(INVALID_PARAMETER_VALUE, "cannot {what} scalar");
    }
    let is_empty = match &tree {
        Json::Array(elements) => elements.is_empty(),
        Json::Object(pairs) => pairs.is_empty(),
        _ => false,
    };
    if path.is_empty() || (is_empty && change.created().is_none()) {
        return Ok(value.clone());
    }
    apply(&mut tree, &path, 0, &change)?;
    stored(&tree)
}

pub(super) fn apply(
    value: &mut Json,
    path: &[Option<&str>],
    level: usize,
    change: &Change,
) -> Result<()> {
    let step = path[level].ok_or_else(|| null_step(level))?;
    let is_last = level + 1 == path.len();
    match value {
        Json::Object(pairs) => {
            let found = pairs.iter().position(|(key, _)| **key == *step);
            match (found, change) {
                (Some(at), _) if !is_last => apply(&mut pairs[at].1, path, level + 1, change)?,
                (Some(at), Change::Delete) => {
                    pairs.remove(at);
                }
                (Some(at), Change::Set { value, .. } | Change::Assign { value }) => {
                    pairs[at].1 = value.clone();
                }
                (Some(_), Change::Insert { .. }) => return Err(key_exists()),
                (None, _) => {
                    if let Some(created) = created(path, level, change)? {
                        pairs.push((Arc::from(step), created));
                        *value = Json::object(std::mem::take(pairs));
                    }
                }
            }
        }
        Json::Array(elements) => {
            let index = path_index(step).ok_or_else(|| no_index(level, step))?;
            match position(elements.len(), index.into()) {
                Some(at) if !is_last => apply(&mut elements[at], path, level + 1, change)?,
                Some(at) => change_element(elements, at, change),
                None => {
                    let Some(created) = created(path, level, change)? else { return Ok(()) };
                    let fills = matches!(change, Change::Assign { .. });
                    match usize::try_from(index) {
                        Ok(at) if fills => put_at(elements, at, created)?,
                        Ok(_) => elements.push(created),
                        Err(_) if fills => return Err(out_of_range(level, index)),
                        Err(_) => elements.insert(0, created),
                    }
                }
            }
        }
        _ if matches!(change, Change::Assign { .. }) => return Err(no_parts()),
        _ => {}
    }
    Ok(())
}

/// What is put where the path finds nothing at this level; nothing, mostly, where it goes on.
fn created(path: &[Option<&str>], level: usize, change: &Change) -> Result<Option<Json>> {
    let Some(value) = change.created() else { return Ok(None) };
    let rest = &path[level + 1..];
    if rest.is_empty() {
        return Ok(Some(value.clone()));
    }
    if !matches!(change, Change::Assign { .. }) {
        return Ok(None);
    }
    let mut made = value.clone();
    let mut filled = 0;
    for step in rest.iter().rev() {
        let step = step.ok_or_else(|| null_step(level))?;
        made = match path_index(step) {
            Some(index) => {
                let (mut elements, at) = (Vec::new(), usize::try_from(index).unwrap_or(0));
                filled += at;
                if filled > MAX_ELEMENTS {
                    return Err(too_many_elements());
                }
                put_at(&mut elements, at, made)?;
                Json::Array(elements)
            }
            None => Json::Object(vec![(Arc::from(step), made)]),
        };
    }
    Ok(Some(made))
}

/// Puts an element behind the others, nulls between.
fn put_at(elements: &mut Vec<Json>, at: usize, element: Json) -> Result<()> {
    if at >= MAX_ELEMENTS {
        return Err(too_many_elements());
    }
    elements.resize(at, Json::Null);
    elements.push(element);
    Ok(())
}

fn change_element(elements: &mut Vec<Json>, at: usize, change: &Change) {
    match change {
        Change::Delete => {
            elements.remove(at);
        }
        Change::Set { value, .. } | Change::Assign { value } => elements[at] = value.clone(),
        Change::Insert { value, after } => elements.insert(at + usize::from(*after), value.clone()),
    }
}

#[cold]
fn no_parts() -> SqlError {
    sql_error!(INVALID_PARAMETER_VALUE, "cannot replace existing key")
        .with_detail("The path assumes key is a composite object, but it is a scalar value.")
}

#[cold]
fn out_of_range(level: usize, index: i32) -> SqlError {
    sql_error!(
        INVALID_PARAMETER_VALUE,
        "path element at position {} is out of range: {index}",
        level + 1
    )
}

#[cold]
fn null_step(level: usize) -> SqlError {
    sql_error!(NULL_VALUE_NOT_ALLOWED, "path element at position {} is null", level + 1)
}

#[cold]
fn no_index(level: usize, step: &str) -> SqlError {
    sql_error!(
        INVALID_TEXT_REPRESENTATION,
        "path element at position {} is not an integer: \"{step}\"",
        level + 1
    )
}

#[cold]
fn key_exists() -> SqlError {
    sql_error!(INVALID_PARAMETER_VALUE, "cannot replace existing key")
        .with_hint("Try using the function jsonb_set to replace key value.")
}
