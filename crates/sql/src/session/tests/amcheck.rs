//! The functions of amcheck find what is wrong with an index.

use storage::btree::NewEntry;

use super::Bench;
use crate::exec::encode_key;
use crate::session::Session;
use crate::types::Datum;

use base::{BlockNo, Tid};

/// Makes an entry that is not to be, and tells what the check says.
fn spoil(s: &mut Session, index: &str, key: i32, carried: &[u8], tid: Tid) {
    let backend = &s.backend;
    backend.txn.begin(storage::txn::Isolation::ReadCommitted);
    let (catalog, txn) = (&backend.catalog, &backend.txn);
    let public = catalog.schema(txn, "public").unwrap().unwrap();
    let table = catalog.relation_oid(txn, public, "t").unwrap().unwrap();
    let table = catalog.table(txn, table).unwrap().unwrap();
    let index = table.indexes.iter().find(|i| &*i.name == index).unwrap();
    let mut bytes = Vec::new();
    encode_key(index, &[Datum::Int4(key)], &mut bytes);
    let entries = backend.instance.store.tree(index).unwrap();
    entries.insert(NewEntry { key: &bytes, carried, tid }).unwrap();
    backend.txn.abort();
}

#[test]
fn entries_that_lead_astray_are_found() {
    let mut bench = Bench::new();
    bench.run("CREATE TABLE t (a int PRIMARY KEY, b int)");
    bench.run("INSERT INTO t SELECT i, i FROM generate_series(1, 100) i");
    bench.run("CREATE INDEX t_b ON t (b) INCLUDE (a)");
    bench.run("CREATE INDEX t_h ON t USING hash (b)");
    for check in ["bt_index_check('t_b', true)", "hash_index_check('t_h', true)"] {
        let told = bench.run(&format!("SELECT {check}"));
        assert!(told.ends_with("SELECT 1\n"), "{told}");
    }
    let row = Tid { block: BlockNo(0), offset: 7 };
    spoil(&mut bench.session, "t_h", 5000, &[], row);
    let told = bench.run("SELECT hash_index_check('t_h', true)");
    assert!(
        told.contains("XX002: index \"t_h\": ") && told.contains("another row's key"),
        "{told}"
    );
    assert!(bench.run("SELECT hash_index_check('t_h')").ends_with("SELECT 1\n"));
    // Behind the row's own entry, but for another row, and with what that does not have.
    let other = Tid { offset: 9, ..row };
    spoil(&mut bench.session, "t_b", 9000, b"else", other);
    let told = bench.run("SELECT bt_index_check('t_b', true)");
    assert!(told.contains("XX002"), "{told}");
    // The primary key is as it was.
    assert!(bench.run("SELECT bt_index_parent_check('t_pkey', true)").ends_with("SELECT 1\n"));
}

/// Indexes with expressions and conditions are compared with their rows, too, and unique ones with nulls among their
/// keys are no less unique.
#[test]
fn expressions_conditions_and_nulls_are_worked_out() {
    let mut bench = Bench::new();
    bench.run("CREATE TABLE t (a int, b int, c text)");
    bench.run(
        "INSERT INTO t SELECT i, CASE WHEN i % 3 > 0 THEN i END, 'Row ' || i FROM generate_series(1, 300) i",
    );
    bench.run("CREATE INDEX t_e ON t ((a + b), lower(c))");
    bench.run("CREATE INDEX t_p ON t (a) INCLUDE (c) WHERE b > 100");
    bench.run("CREATE INDEX t_h ON t USING hash (upper(c))");
    bench.run("CREATE UNIQUE INDEX t_u ON t (b)");
    bench.run("CREATE UNIQUE INDEX t_n ON t (b, a) NULLS NOT DISTINCT");
    bench.run("UPDATE t SET b = b + 1000 WHERE a % 2 = 0");
    bench.run("DELETE FROM t WHERE a % 10 = 0");
    let checks = [("t_e", "bt"), ("t_p", "bt"), ("t_h", "hash"), ("t_u", "bt"), ("t_n", "bt")];
    for (index, method) in checks {
        let told = bench.run(&format!("SELECT {method}_index_check('{index}', true)"));
        assert!(told.ends_with("SELECT 1\n"), "{index}: {told}");
    }
    // Row 1: a is 1, b is 1, below the condition.
    let row = Tid { block: BlockNo(0), offset: 1 };
    spoil(&mut bench.session, "t_p", 1, b"", row);
    spoil(&mut bench.session, "t_e", 77, b"", row);
    spoil(&mut bench.session, "t_h", 77, b"", row);
    for (index, method) in &checks[..3] {
        let told = bench.run(&format!("SELECT {method}_index_check('{index}', true)"));
        assert!(told.contains("XX002") && told.contains("another row's key"), "{index}: {told}");
        assert!(bench.run(&format!("SELECT {method}_index_check('{index}')")).ends_with("1\n"));
    }
}
