//! Stores and sorters on a simulated disk.

use std::io;
use std::sync::{Arc, Mutex};

use base::disk::sim::{Access, SimDisk};
use base::disk::{Disk, Open};
use base::ids::{BlockNo, Tid};

use super::*;
use crate::error::SqlState;
use crate::exec::sort::KeyOrder;
use crate::types::{Array, Datum, Numeric, Record, TypeId};

const LITTLE: usize = 16 << 10;

fn space(disk: &SimDisk) -> (Arc<TempFiles>, Arc<TempSpace>) {
    let disk: Arc<dyn Disk> = Arc::new(disk.clone());
    let files = TempFiles::open(&disk).unwrap();
    let space = TempSpace::new(&files, &Arc::default());
    (files, space)
}

fn row(i: i64) -> Vec<Datum> {
    vec![Datum::Int8(i), Datum::text("v".repeat((i * 37 % 200) as usize)), Datum::Null]
}

fn shown(row: &[Datum]) -> String {
    format!("{row:?}")
}

#[test]
fn rows_come_back_in_their_order_and_from_any_place() {
    let (files, space) = space(&SimDisk::new());
    let mut store = RowStore::new(&space, LITTLE);
    let mut reader = RowReader::default();
    for i in 0..2000 {
        store.push(&row(i)).unwrap();
        // Rows can be read while more are put in.
        if i % 3 == 0 {
            assert!(reader.next(&store).unwrap());
            assert_eq!(shown(reader.row(&store)), shown(&row(i / 3)));
        }
    }
    assert_eq!((store.len(), files.count()), (2000, 1));
    for i in [0, 1999, 64, 63, 65, 1000, 999, 1001, 50] {
        reader.seek(i);
        assert!(reader.next(&store).unwrap());
        assert_eq!(shown(reader.row(&store)), shown(&row(i as i64)));
    }
    reader.seek(2000);
    assert!(!reader.next(&store).unwrap());
    assert!(space.take_peak() as usize <= LITTLE);
    drop(store);
    assert_eq!(files.count(), 0);
}

#[test]
fn values_of_every_kind_survive_a_file() {
    let (_, space) = space(&SimDisk::new());
    let mut store = RowStore::new(&space, 0);
    let texts = vec![Datum::text("a"), Datum::Null, Datum::text("long ".repeat(9000))];
    let array = Datum::Array(Arc::new(Array::with_lower(TypeId::TEXT, -3, texts)));
    let fields = vec![(TypeId::INT4, Datum::Int4(-1)), (TypeId::TEXT_ARRAY, array.clone())];
    let record = Record::new(TypeId::RECORD, fields);
    let values = vec![
        Datum::Bool(true),
        Datum::Char(200),
        Datum::Int2(-2),
        Datum::Float8(-0.0),
        Datum::Float4(f32::NAN),
        Datum::Numeric(Numeric::NAN),
        Datum::Numeric(Numeric::INFINITY),
        Datum::Uuid([7; 16]),
        Datum::text(""),
        Datum::bytea(&[0; 70_000]),
        array,
        Datum::Record(Arc::new(record)),
        Datum::Null,
    ];
    store.push(&values).unwrap();
    store.push(&[]).unwrap();
    store.push(&values).unwrap();
    let mut reader = RowReader::default();
    for expected in [&values[..], &[], &values] {
        assert!(reader.next(&store).unwrap());
        assert_eq!(shown(reader.row(&store)), shown(expected));
    }
    assert!(!reader.next(&store).unwrap());
}

#[test]
fn sorting_is_stable_through_many_merges() {
    let (files, space) = space(&SimDisk::new());
    for (top, count) in [(None, 9000), (Some(20), 3000), (Some(700), 9000)] {
        let order = vec![KeyOrder { ty: TypeId::INT8, desc: true, nulls_first: false }];
        let mut sorter = Sorter::new(&space, LITTLE, order, top);
        let key = |i: i64| i * 7919 % 97;
        for i in 0..count {
            sorter.push(&mut vec![Datum::Int8(key(i))], &row(i)).unwrap();
        }
        let mut expected: Vec<i64> = (0..count).collect();
        expected.sort_by_key(|i| std::cmp::Reverse(key(*i)));
        expected.truncate(top.unwrap_or(usize::MAX));
        let mut sorted = sorter.finish().unwrap();
        for i in expected {
            assert!(sorted.next().unwrap());
            assert_eq!(shown(sorted.row()), shown(&row(i)));
            assert_eq!(sorted.keys()[0].as_int8(), key(i));
        }
        assert_eq!(sorted.usage() == Usage::Sort { top: true }, top == Some(20));
        assert!(top.is_some() || !sorted.next().unwrap());
    }
    assert!(space.take_peak() as usize <= 2 * LITTLE);
    assert_eq!(files.count(), 0);
}

/// Values of a type around every border that its short form has.
fn borders(ty: TypeId) -> Vec<Datum> {
    let longs =
        [i64::MIN, i64::MIN + 1, -(1 << 40), -1, 0, 1, 2, 3, 1 << 40, i64::MAX - 1, i64::MAX];
    let doubles =
        [f64::NEG_INFINITY, -1e300, -1.5, -0.0, 0.0, 5e-324, 1.5, f64::INFINITY, f64::NAN];
    let texts =
        ["", " ", "a", "a ", "a\t", "ab", "abcdefgh", "abcdefgh ", "abcdefghi", "\u{10ffff}"];
    let mut values: Vec<Datum> = match ty {
        TypeId::BOOL => vec![Datum::Bool(false), Datum::Bool(true)],
        TypeId::INT2 => [i16::MIN, -1, 0, 1, i16::MAX].map(Datum::Int2).into(),
        TypeId::INT4 => [i32::MIN, -1, 0, 1, i32::MAX].map(Datum::Int4).into(),
        TypeId::INT8 | TypeId::XID8 => longs.map(Datum::Int8).into(),
        TypeId::FLOAT4 => doubles.map(|v| Datum::Float4(v as f32)).into(),
        TypeId::FLOAT8 => doubles.map(Datum::Float8).into(),
        TypeId::OID => [0, 1, u32::MAX].map(|v| Datum::Oid(crate::types::Oid(v))).into(),
        TypeId::BYTEA => texts.map(|v| Datum::bytea(v.as_bytes())).into(),
        TypeId::UUID => [[0; 16], [7; 16], [255; 16]].map(Datum::Uuid).into(),
        TypeId::NUMERIC => vec![Datum::Numeric(Numeric::NAN), Datum::Numeric(Numeric::INFINITY)],
        _ => texts.map(Datum::text).into(),
    };
    values.push(Datum::Null);
    values
}

#[test]
fn short_forms_of_keys_agree_with_the_keys() {
    let types = [
        TypeId::BOOL,
        TypeId::INT2,
        TypeId::INT4,
        TypeId::INT8,
        TypeId::XID8,
        TypeId::FLOAT4,
        TypeId::FLOAT8,
        TypeId::OID,
        TypeId::BYTEA,
        TypeId::UUID,
        TypeId::NUMERIC,
        TypeId::TEXT,
        TypeId::BPCHAR,
    ];
    for ty in types {
        let values = borders(ty);
        for (desc, nulls_first) in [(false, false), (false, true), (true, false), (true, true)] {
            let order = KeyOrder { ty, desc, nulls_first };
            for (a, b) in values.iter().flat_map(|a| values.iter().map(move |b| (a, b))) {
                let short = order.prefix(a).cmp(&order.prefix(b));
                assert!(short.is_eq() || short == order.compare(a, b), "{order:?} {a:?} {b:?}");
            }
        }
    }
}

#[test]
fn entries_come_by_key_and_address() {
    let (_, space) = space(&SimDisk::new());
    let mut sorter = KeySorter::new(&space, LITTLE);
    let entry = |i: u32| {
        let key = format!("{:05}", i * 7919 % 1009).into_bytes();
        (key, Tid { block: BlockNo(i * 31 % 4001), offset: 1 })
    };
    let mut expected: Vec<_> = (0..4000).map(entry).collect();
    for (key, tid) in &expected {
        sorter.push(key, *tid).unwrap();
    }
    expected.sort_by(|a, b| a.0.cmp(&b.0).then(a.1.to_u64().cmp(&b.1.to_u64())));
    let mut sorted = sorter.finish().unwrap();
    for (key, tid) in &expected {
        assert_eq!(sorted.next_entry().unwrap(), Some((&key[..], *tid)));
    }
    assert_eq!(sorted.next_entry().unwrap(), None);
}

/// Puts rows into a store until it refuses one.
fn fill(space: &Arc<TempSpace>) -> SqlState {
    let mut store = RowStore::new(space, LITTLE);
    let refused = (0..100_000).find_map(|i| store.push(&row(i)).err());
    refused.expect("there is a limit").fields().sqlstate
}

#[test]
fn a_full_disk_and_the_limit_end_the_statement_only() {
    let disk = SimDisk::new();
    let (files, space) = space(&disk);
    space.set_limit(200 << 10);
    assert_eq!(fill(&space), SqlState::CONFIGURATION_LIMIT_EXCEEDED);
    assert_eq!(files.count(), 0);
    space.set_limit(u64::MAX);
    let left = Mutex::new(20);
    disk.set_fault(Some(Box::new(move |access, _, _| {
        let mut left = left.lock().unwrap();
        *left -= u32::from(access == Access::Write);
        (*left == 0).then(|| io::Error::from(io::ErrorKind::StorageFull))
    })));
    assert_eq!(fill(&space), SqlState::DISK_FULL);
    disk.set_fault(None);
    assert_eq!(files.count(), 0);
}

#[test]
fn names_are_gone_at_once_and_leftovers_at_the_next_start() {
    let disk = SimDisk::new();
    let (_, space) = space(&disk);
    let mut store = RowStore::new(&space, 0);
    store.push(&row(1)).unwrap();
    assert_eq!(disk.list("base/pgsql_tmp").unwrap(), Vec::<String>::new());
    disk.open("base/pgsql_tmp/pgsql_tmp7", Open::CreateNew).unwrap();
    self::space(&disk);
    assert_eq!(disk.list("base/pgsql_tmp").unwrap(), Vec::<String>::new());
}
