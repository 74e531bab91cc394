use std::cmp::Ordering;

use proptest::prelude::*;

use super::*;
use crate::types::array::Dimension;
use crate::types::jsonb::Json;
use crate::types::{
    Array, Collation, Date, Numeric, Oid, Time, TimeTz, Timestamp, TimestampTz, compare, equals,
    is_equal,
};

fn text() -> impl Strategy<Value = String> {
    prop_oneof!["[ab \u{1}-\u{5}]{0,5}", "\\PC{0,8}"]
}

fn numeric() -> impl Strategy<Value = Datum> {
    let finite = (-9_999_999i64..9_999_999, -12i32..12, 0usize..3).prop_map(|(m, e, zeros)| {
        let text = format!("{m}.{}e{e}", "0".repeat(zeros));
        Datum::Numeric(Numeric::parse(&text).unwrap())
    });
    prop_oneof![
        8 => finite,
        1 => Just(Datum::Numeric(Numeric::NAN)),
        1 => Just(Datum::Numeric(Numeric::INFINITY)),
        1 => Just(Datum::Numeric(Numeric::NEG_INFINITY)),
    ]
}

fn float() -> impl Strategy<Value = f64> {
    prop_oneof![
        any::<f64>(),
        -3.0..3.0f64,
        Just(0.0),
        Just(-0.0),
        Just(f64::NAN),
        Just(f64::INFINITY)
    ]
}

fn array() -> impl Strategy<Value = Datum> {
    (prop::collection::vec(prop::option::of(0i32..4), 0..4), -1i32..2).prop_map(|(items, lower)| {
        let elements: Vec<Datum> = items.into_iter().map(Datum::from).collect();
        Datum::from(Array::with_lower(TypeId::INT4, lower, elements))
    })
}

fn inet() -> impl Strategy<Value = Datum> {
    let bits = prop_oneof![0u8..4, 28u8..33];
    (any::<bool>(), prop_oneof![Just(0u8), Just(10), any::<u8>()], 0u8..3, bits).prop_map(
        |(is_v6, first, last, bits)| {
            let mut address = [0; 16];
            let length = if is_v6 { 16 } else { 4 };
            (address[0], address[length - 1]) = (first, last);
            Datum::Inet(Inet::new(&address[..length], bits))
        },
    )
}

/// Values so deep in each other, small ones so that equal ones occur.
fn json(depth: u32) -> BoxedStrategy<Json> {
    let text =
        || prop_oneof![Just("".into()), Just("a".into()), Just("b".into()), Just("aa".into())];
    let scalar = prop_oneof![
        Just(Json::Null),
        any::<bool>().prop_map(Json::Bool),
        text().prop_map(Json::String),
        prop_oneof![Just("1"), Just("1.0"), Just("-2.5"), Just("1e9"), Just("0")]
            .prop_map(|number| Json::Number(Numeric::parse(number).unwrap())),
    ];
    if depth == 0 {
        return scalar.boxed();
    }
    let inner = || json(depth - 1);
    prop_oneof![
        scalar,
        prop::collection::vec(inner(), 0..3).prop_map(Json::Array),
        prop::collection::vec((text(), inner()), 0..3).prop_map(Json::object),
    ]
    .boxed()
}

/// A type and a strategy for its values, close together so that equal ones occur.
fn values_of(type_id: TypeId) -> BoxedStrategy<Datum> {
    match type_id {
        TypeId::BOOL => any::<bool>().prop_map(Datum::from).boxed(),
        TypeId::CHAR => any::<u8>().prop_map(Datum::Char).boxed(),
        TypeId::INT2 => any::<i16>().prop_map(Datum::from).boxed(),
        TypeId::INT4 => prop_oneof![any::<i32>(), -3..3].prop_map(Datum::from).boxed(),
        TypeId::INT8 | TypeId::XID8 => any::<i64>().prop_map(Datum::from).boxed(),
        TypeId::FLOAT4 => float().prop_map(|v| Datum::Float4(v as f32)).boxed(),
        TypeId::FLOAT8 => float().prop_map(Datum::from).boxed(),
        TypeId::NUMERIC => numeric().boxed(),
        TypeId::TEXT | TypeId::BPCHAR => text().prop_map(Datum::from).boxed(),
        TypeId::BYTEA => {
            prop::collection::vec(prop_oneof![Just(0u8), Just(1), Just(0xff), any::<u8>()], 0..5)
                .prop_map(|v| Datum::bytea(&v))
                .boxed()
        }
        TypeId::DATE => any::<i32>().prop_map(|v| Datum::Date(Date(v))).boxed(),
        TypeId::TIMESTAMP => any::<i64>().prop_map(|v| Datum::Timestamp(Timestamp(v))).boxed(),
        TypeId::TIMESTAMPTZ => {
            any::<i64>().prop_map(|v| Datum::TimestampTz(TimestampTz(v))).boxed()
        }
        TypeId::TIMETZ => (0i64..100, -3i32..3)
            .prop_map(|(t, z)| {
                let time = Time(t * 1_000_000);
                Datum::TimeTz(TimeTz { time, zone_west_s: z * 50 })
            })
            .boxed(),
        TypeId::INTERVAL => (-2i32..3, -70i32..70, any::<i64>())
            .prop_map(|(months, days, micros)| {
                Datum::Interval(Interval { months, days, micros: micros / 1_000_000 })
            })
            .boxed(),
        TypeId::INET => inet().boxed(),
        TypeId::JSONB => json(2).prop_map(|v| Datum::Jsonb(v.to_stored().unwrap())).boxed(),
        TypeId::UUID => any::<[u8; 16]>().prop_map(Datum::Uuid).boxed(),
        TypeId::OID => any::<u32>().prop_map(|v| Datum::Oid(Oid(v))).boxed(),
        TypeId::INT4_ARRAY => array().boxed(),
        other => unreachable!("no strategy for {other:?}"),
    }
}

const TYPES: [TypeId; 22] = [
    TypeId::BOOL,
    TypeId::CHAR,
    TypeId::INT2,
    TypeId::INT4,
    TypeId::INT8,
    TypeId::XID8,
    TypeId::FLOAT4,
    TypeId::FLOAT8,
    TypeId::NUMERIC,
    TypeId::TEXT,
    TypeId::BPCHAR,
    TypeId::BYTEA,
    TypeId::DATE,
    TypeId::TIMESTAMP,
    TypeId::TIMESTAMPTZ,
    TypeId::TIMETZ,
    TypeId::INTERVAL,
    TypeId::UUID,
    TypeId::INET,
    TypeId::JSONB,
    TypeId::OID,
    TypeId::INT4_ARRAY,
];

fn column_and_pair() -> impl Strategy<Value = (KeyColumn, Datum, Datum)> {
    (prop::sample::select(&TYPES[..]), any::<bool>(), any::<bool>()).prop_flat_map(
        |(type_id, descending, nulls_first)| {
            let value = || prop_oneof![9 => values_of(type_id), 1 => Just(Datum::Null)].boxed();
            (
                Just(KeyColumn { descending, nulls_first, ..KeyColumn::ascending(type_id) }),
                value(),
                value(),
            )
        },
    )
}

fn sql_order(column: &KeyColumn, a: &Datum, b: &Datum) -> Ordering {
    match (a.is_null(), b.is_null()) {
        (false, false) => {
            let order = compare(column.type_id, a, b);
            if column.descending { order.reverse() } else { order }
        }
        (a, b) => {
            if column.nulls_first {
                b.cmp(&a)
            } else {
                a.cmp(&b)
            }
        }
    }
}

fn key(columns: &[KeyColumn], values: &[Datum]) -> Vec<u8> {
    let mut out = Vec::new();
    encode_key(columns, values, &mut out);
    out
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn bytes_order_as_values((column, a, b) in column_and_pair()) {
        let (x, y) = (key(&[column], std::slice::from_ref(&a)), key(&[column], std::slice::from_ref(&b)));
        prop_assert_eq!(x.cmp(&y), sql_order(&column, &a, &b));
        prop_assert_eq!(x == y, equals(column.type_id, &a, &b));
        if x == y {
            prop_assert_eq!(hash64(&[column], &[a]), hash64(&[column], &[b]));
        } else {
            prop_assert!(!x.starts_with(&y) && !y.starts_with(&x), "codes delimit themselves");
        }
    }

    #[test]
    fn composite_bytes_order_by_columns(
        (c1, a1, b1) in column_and_pair(),
        (c2, a2, b2) in column_and_pair(),
    ) {
        let columns = [c1, c2];
        let order = sql_order(&c1, &a1, &b1).then(sql_order(&c2, &a2, &b2));
        prop_assert_eq!(key(&columns, &[a1, a2]).cmp(&key(&columns, &[b1, b2])), order);
    }

    #[test]
    fn lossless_codes_give_values_back((column, a, b) in column_and_pair()) {
        if column.is_lossless() {
            let columns = [column, KeyColumn { descending: !column.descending, ..column }];
            let decoded = decode_key(&columns, &key(&columns, &[a.clone(), b.clone()]));
            prop_assert!(is_equal(&decoded[0], &a) && is_equal(&decoded[1], &b));
            prop_assert_eq!(format!("{:?}", decoded), format!("{:?}", [a, b]));
        }
    }
}

/// Types with texts in them, and rules to compare those by.
fn ruled_column_and_value() -> impl Strategy<Value = (KeyColumn, Datum)> {
    let rules = |deterministic| Collation::icu(Oid(1), "de", deterministic).unwrap().rules();
    let texts = || {
        prop::collection::vec(prop::option::of(text()), 0..4).prop_map(|items| {
            let elements = items.into_iter().map(|item| item.map_or(Datum::Null, Datum::from));
            Datum::from(Array::with_lower(TypeId::TEXT, 1, elements.collect()))
        })
    };
    let value = prop_oneof![
        text().prop_map(|value| (TypeId::TEXT, Datum::from(value))),
        texts().prop_map(|value| (TypeId::TEXT_ARRAY, value)),
    ];
    let rules = prop::sample::select(vec![None, rules(true), rules(false)]);
    (value, rules, any::<bool>()).prop_map(|((type_id, value), rules, descending)| {
        (KeyColumn { rules, descending, ..KeyColumn::ascending(type_id) }, value)
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4000))]

    #[test]
    fn codes_are_passed_as_long_as_they_are(
        (plain, value, other) in column_and_pair(),
        (ruled, ruled_value) in ruled_column_and_value(),
    ) {
        for (column, value) in [(plain, value), (ruled, ruled_value)] {
            let length = column.code_length().expect("only records have none");
            let own = key(&[column], std::slice::from_ref(&value));
            prop_assert_eq!(length.of(&own), own.len());
            // Whatever follows.
            for descending in [false, true] {
                let next = KeyColumn { descending, ..plain };
                let both = key(&[column, next], &[value.clone(), other.clone()]);
                prop_assert_eq!(length.of(&both), own.len());
            }
        }
    }
}

#[test]
fn arrays_compare_elements_before_shape() {
    let array = |dims: Vec<Dimension>, n: i32| {
        Datum::from(Array {
            element_type: TypeId::INT4,
            dims,
            elements: (0..n).map(Datum::from).collect(),
        })
    };
    let flat = array(vec![Dimension { len: 4, lower: 1 }], 4);
    let square = array(vec![Dimension { len: 2, lower: 1 }; 2], 4);
    let column = [KeyColumn::ascending(TypeId::INT4_ARRAY)];
    assert_eq!(compare(TypeId::INT4_ARRAY, &flat, &square), Ordering::Less);
    assert!(key(&column, &[flat]) < key(&column, &[square]));
}

#[test]
fn the_hash_is_part_of_the_format() {
    assert_eq!(
        hash64(&[KeyColumn::ascending(TypeId::INT4)], &[Datum::Int4(1)]),
        17_952_794_488_726_909_771
    );
}

#[test]
fn prefixes_end_before_the_next_key() {
    assert_eq!(after_prefix(&[1, 0xff, 0xff]), Some(vec![2]));
    assert_eq!(after_prefix(&[0xff]), None);
}
