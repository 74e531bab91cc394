//! Members of lists and arrays that are the same for all rows, hashed once.

use std::slice::from_ref;

use crate::bind::tree::{ArrayArg, ArrayOp, Expr};
use crate::error::Result;
use crate::exec::Cx;
use crate::exec::group::{ENTRY_BYTES, KeyMap, hash_of};
use crate::exec::spill::row_bytes;
use crate::plan::MEMBERS_MIN;
use crate::plan::node::HashedList;
use crate::types::Datum;

use super::eval as value_of;

/// How far an execution has come with them.
#[derive(Default)]
pub(in crate::exec) enum List {
    #[default]
    New,
    /// One row was compared with them. Often it is the only one.
    Asked,
    Known(Box<ListMembers>),
}

/// What is known of them.
pub(in crate::exec) enum ListMembers {
    /// The array is null.
    Null,
    /// They are few, or more than memory may hold: each is compared by itself.
    Apart,
    Hashed(Hashed),
}

/// Each of them once.
pub(in crate::exec) struct Hashed {
    members: KeyMap<()>,
    has_null: bool,
}

/// What ANY or ALL gives; `None`, if each member is to be compared by itself.
pub(super) fn eval(
    op: &ArrayOp,
    list: &HashedList,
    row: &[Datum],
    cx: &mut Cx<'_>,
) -> Result<Option<Datum>> {
    let at = usize::from(list.id);
    let Some(kept) = cx.state.lists.get_mut(at) else { return Ok(None) };
    let members = match std::mem::take(kept) {
        List::New => {
            *kept = List::Asked;
            return Ok(None);
        }
        List::Asked => Box::new(ListMembers::of(op, list, cx)?),
        List::Known(members) => members,
    };
    let answer = members.answer(op, list, row, cx);
    cx.state.lists[at] = List::Known(members);
    answer
}

impl ListMembers {
    fn of(op: &ArrayOp, list: &HashedList, cx: &mut Cx<'_>) -> Result<ListMembers> {
        match &op.right {
            ArrayArg::List(members) => {
                let values = members.iter().map(|member| value_of(member, &[], cx));
                let values = values.collect::<Result<Vec<Datum>>>()?;
                ListMembers::hashed(&values, list, cx)
            }
            ArrayArg::Array(array) => match value_of(array, &[], cx)? {
                Datum::Array(array) => ListMembers::hashed(&array.elements, list, cx),
                _ => Ok(ListMembers::Null),
            },
        }
    }

    fn hashed(values: &[Datum], list: &HashedList, cx: &mut Cx<'_>) -> Result<ListMembers> {
        if values.len() < MEMBERS_MIN {
            return Ok(ListMembers::Apart);
        }
        let limit = cx.host.hash_mem_bytes();
        let ty = list.right.type_id();
        let mut hashed = Hashed { members: KeyMap::default(), has_null: false };
        let mut bytes = 0;
        for (i, value) in values.iter().enumerate() {
            if i.is_multiple_of(1024) {
                cx.breathe()?;
            }
            if value.is_null() {
                hashed.has_null = true;
                continue;
            }
            let key = key_of(&list.right, value, cx)?;
            let hash = hash_of(from_ref(&key));
            if hashed.members.find(hash, from_ref(&key), |_| ty).is_some() {
                continue;
            }
            bytes += row_bytes(from_ref(&key)) + ENTRY_BYTES;
            if bytes > limit {
                return Ok(ListMembers::Apart);
            }
            hashed.members.add(hash, Box::new([key]), ());
        }
        Ok(ListMembers::Hashed(hashed))
    }

    fn answer(
        &self,
        op: &ArrayOp,
        list: &HashedList,
        row: &[Datum],
        cx: &mut Cx<'_>,
    ) -> Result<Option<Datum>> {
        let hashed = match self {
            ListMembers::Apart => return Ok(None),
            ListMembers::Null => None,
            ListMembers::Hashed(hashed) => Some(hashed),
        };
        let left = value_of(&op.left, row, cx)?;
        // Where there are members, a null is compared with one.
        let Some(hashed) = hashed.filter(|_| !left.is_null()) else {
            return Ok(Some(Datum::Null));
        };
        let key = key_of(&list.left, &left, cx)?;
        let ty = list.right.type_id();
        let found = hashed.members.find(hash_of(from_ref(&key)), from_ref(&key), |_| ty);
        Ok(Some(match (found, hashed.has_null) {
            (Some(_), _) => Datum::Bool(!op.all),
            (None, true) => Datum::Null,
            (None, false) => Datum::Bool(op.all),
        }))
    }
}

fn key_of(key: &Expr, value: &Datum, cx: &mut Cx<'_>) -> Result<Datum> {
    match key {
        Expr::Slot(_) => Ok(value.clone()),
        key => value_of(key, from_ref(value), cx),
    }
}
