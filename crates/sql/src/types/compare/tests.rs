use base::hash::FixedHasher;

use super::*;
use crate::types::Oid;

fn hash(values: &[Datum]) -> u64 {
    let mut hasher = FixedHasher::default();
    values.iter().for_each(|value| hash_datum(value, &mut hasher));
    hasher.finish()
}

#[test]
fn null_is_hashed_as_nothing_common_is() {
    let zeros = [
        Datum::Bool(false),
        Datum::Char(0),
        Datum::Int2(0),
        Datum::Int4(0),
        Datum::Int8(0),
        Datum::Float8(0.0),
        Datum::Oid(Oid(0)),
        Datum::from(""),
    ];
    for zero in zeros {
        assert_ne!(hash(std::slice::from_ref(&zero)), hash(&[Datum::Null]), "{zero:?}");
        let (before, after) = ([Datum::Null, zero.clone()], [zero, Datum::Null]);
        assert_ne!(hash(&before), hash(&after), "{before:?}");
    }
}
