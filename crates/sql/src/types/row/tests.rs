use std::sync::Arc;

use super::*;
use crate::types::datetime::Interval;
use crate::types::{Array, Datum, Numeric, Record, TypeId};

fn encode(desc: &RowDesc, values: &[Datum]) -> Vec<u8> {
    let mut out = Vec::new();
    desc.encode(values, &mut out).unwrap();
    out
}

fn show(values: &[Datum]) -> String {
    format!("{values:?}")
}

#[test]
fn pgbench_account_is_read_at_fixed_offsets() {
    let desc = RowDesc::new([ValueKind::Int4, ValueKind::Int4, ValueKind::Int4, ValueKind::Text]);
    let filler = " ".repeat(84);
    let row = encode(&desc, &[7.into(), 1.into(), (-5).into(), filler.as_str().into()]);
    assert_eq!(row.len(), 2 + 12 + 1 + 84);
    let view = RowView::new(&desc, &row);
    assert_eq!(view.get(2).as_int4(), -5);
    assert_eq!(view.get(3).as_text().as_str(), filler);
}

#[test]
fn nulls_take_no_room_and_short_rows_show_the_missing_value() {
    let old = RowDesc::new([ValueKind::Int8, ValueKind::Text, ValueKind::Int2]);
    let row = encode(&old, &[Datum::Null, "abc".into(), 3i16.into()]);
    assert_eq!(row.len(), 2 + 1 + 4 + 2);
    let new = RowDesc::with_missing([
        (ValueKind::Int8, Datum::Null),
        (ValueKind::Text, Datum::Null),
        (ValueKind::Int2, Datum::Null),
        (ValueKind::Int4, 42.into()),
        (ValueKind::Text, Datum::Null),
    ]);
    let view = RowView::new(&new, &row);
    let mut all = vec![Datum::Null; 5];
    view.decode_prefix(&mut all);
    let alone: Vec<Datum> = (0..5).map(|i| view.get(i)).collect();
    assert_eq!(show(&all), show(&alone));
    assert_eq!(show(&all), "[Null, Text(\"abc\"), Int2(3), Int4(42), Null]");
    assert!(view.is_null(0) && view.is_null(4) && !view.is_null(3));
}

#[test]
fn large_values_are_compressed_and_huge_rows_refused() {
    let desc = RowDesc::new([ValueKind::Text, ValueKind::Numeric]);
    let long = "abcdefgh".repeat(4000);
    let n = Numeric::parse("-12345678901234567890123456789.00010").unwrap();
    let row = encode(&desc, &[long.as_str().into(), n.clone().into()]);
    assert!(row.len() < 1000);
    let view = RowView::new(&desc, &row);
    assert_eq!(view.get(0).as_text().as_str(), long);
    assert_eq!(view.get(1).as_numeric().to_string(), n.to_string());

    let mut seed = 1u32;
    let noise: String = (0..30_000)
        .map(|_| {
            seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            char::from(b' ' + (seed >> 25) as u8 % 90)
        })
        .collect();
    let error = desc.encode(&[noise.into(), Datum::Null], &mut Vec::new()).unwrap_err();
    assert_eq!(error.sqlstate().as_str(), "54000");
}

#[test]
fn what_is_larger_than_a_value_is_refused() {
    let piece = Datum::from("x".repeat(100 << 20));
    let array =
        |count: usize| Datum::from(Array::from_elements(TypeId::TEXT, vec![piece.clone(); count]));
    let numbers = |count: usize| vec![Datum::Interval(Interval::ZERO); count];
    check_size(&array(10)).unwrap();
    let error = check_size(&array(11)).unwrap_err().to_string();
    assert_eq!(error, "54000: array size exceeds the maximum allowed (1073741823)");
    let fields = |count| Record::new(TypeId::RECORD, vec![(TypeId::TEXT, piece.clone()); count]);
    check_size(&Datum::Record(Arc::new(fields(10)))).unwrap();
    let error = check_size(&Datum::Record(Arc::new(fields(11)))).unwrap_err();
    assert_eq!(error.sqlstate().as_str(), "54000");
    check_size(&Array::from_elements(TypeId::INTERVAL, numbers(1000)).into()).unwrap();
}

#[test]
fn a_value_is_no_larger_than_was_counted() {
    let texts = ["a".to_owned(), "b".repeat(126), "c".repeat(127), String::new()];
    let mut elements: Vec<Datum> = texts.map(Datum::from).into();
    elements.push(Datum::Null);
    let array = Datum::from(Array::from_elements(TypeId::TEXT, elements.clone()));
    let numbers = Array::with_lower(TypeId::INT8, 3, (0..5).map(Datum::Int8).collect());
    let numbers = Datum::from(numbers);
    let numeric = Datum::from(Numeric::parse("-123456789.000001").unwrap());
    elements.extend([array.clone(), numbers.clone(), numeric.clone(), Datum::Bool(true)]);
    let fields = elements.into_iter().map(|value| (TypeId::TEXT, value)).collect();
    let record = Datum::Record(Arc::new(Record::new(TypeId::RECORD, fields)));
    for value in [array, numbers, numeric, record] {
        let mut bytes = Vec::new();
        ValueKind::of_datum(&value).unwrap().encode(&value, &mut bytes);
        let (Stored::Plain(stored), _) = read_varlen(&bytes) else { panic!("it is short") };
        assert_eq!(size::bytes_max(&value), stored.len(), "{value:?}");
    }
}
