//! When indexes are gone through, and what is told of them.

use super::*;

/// Rows on more than a hundred pages, and a function that deletes some, durably.
fn table(rig: &Rig) -> (Table, Vec<Tid>) {
    let table = Table::new(rig, 1);
    let txn = rig.begin();
    let tids = (0..8000).map(|i| table.insert(&txn, i, i).unwrap()).collect();
    txn.commit().unwrap();
    assert!(table.heap.relation().blocks(Fork::Main).unwrap() > 100);
    (table, tids)
}

fn delete(rig: &Rig, table: &Table, tids: impl Iterator<Item = Tid>) {
    let txn = rig.begin();
    tids.for_each(|tid| drop(table.heap.delete(&txn, tid, None).unwrap()));
    txn.commit().unwrap();
    rig.wal.flush(rig.wal.position());
}

fn clean(table: &Table, index_cleanup: IndexCleanup) -> Report {
    let options = Options { index_cleanup, ..Options::default() };
    let report = vacuum(&table.heap, std::slice::from_ref(&table.index), &options).unwrap();
    table.check();
    report
}

fn scans(report: &Report) -> (IndexScans, u32, u64) {
    (report.index_scans, report.index_passes, report.lines_freed)
}

#[test]
fn few_pages_with_dead_rows_are_no_reason_to_go_through_the_indexes() {
    let rig = Rig::new(256);
    let (table, tids) = table(&rig);
    let first: Vec<Tid> = tids.iter().copied().filter(|tid| tid.block.0 == 0).collect();
    let dead = first.len() as u64;
    delete(&rig, &table, first.into_iter());
    for _ in 0..2 {
        let report = clean(&table, IndexCleanup::Auto);
        assert_eq!(scans(&report), (IndexScans::Bypassed, 0, 0));
        assert_eq!((report.pages_with_dead, report.lines_dead), (1, dead));
    }
    let report = clean(&table, IndexCleanup::On);
    assert_eq!(scans(&report), (IndexScans::Needed, 1, dead));
    assert_eq!((report.pages_with_dead, report.lines_dead), (1, dead));
    let report = clean(&table, IndexCleanup::On);
    assert_eq!(scans(&report), (IndexScans::NotNeeded, 0, 0));
    // More than a fiftieth of the pages.
    let blocks = table.heap.relation().blocks(Fork::Main).unwrap();
    let some = tids.iter().copied().filter(|tid| (1..=blocks / 50 + 1).contains(&tid.block.0));
    delete(&rig, &table, some);
    let report = clean(&table, IndexCleanup::Auto);
    assert_eq!((report.index_scans, report.pages_with_dead), (IndexScans::Needed, blocks / 50 + 1));
}

#[test]
fn entries_stay_where_that_is_asked_for() {
    let rig = Rig::new(256);
    let (table, tids) = table(&rig);
    delete(&rig, &table, tids.iter().copied().step_by(2));
    let report = clean(&table, IndexCleanup::Off);
    assert_eq!(scans(&report), (IndexScans::Bypassed, 0, 0));
    assert_eq!((report.removed, report.lines_dead), (4000, 4000));
    assert_eq!(report.pages_with_dead, report.pages);
    let report = clean(&table, IndexCleanup::Auto);
    assert_eq!(scans(&report), (IndexScans::Needed, 1, 4000));
}

/// A page taken out of a tree is empty at once, and reusable when nobody can be on the way to it.
#[test]
fn pages_of_an_index_are_told_by_what_they_are() {
    let rig = Rig::new(256);
    let (table, tids) = table(&rig);
    let reader = Txn::attach(&rig.txns, 2, 1).unwrap();
    let blocks = table.index.relation().blocks(Fork::Main).unwrap();
    delete(&rig, &table, tids.iter().copied().take(7000));
    // It does not see the rows, but may be on the way to their pages.
    reader.begin(Isolation::RepeatableRead);
    let _ = reader.statement_snapshot();
    let done = clean(&table, IndexCleanup::On).indexes[0];
    assert_eq!((done.blocks, done.removed), (blocks, 7000));
    assert!(done.pages_deleted > u64::from(blocks) / 2, "{done:?}");
    assert_eq!((done.empty, done.reusable), (done.pages_deleted, 0));
    reader.commit().unwrap();
    delete(&rig, &table, tids.iter().copied().skip(7000).take(10));
    let after = clean(&table, IndexCleanup::On).indexes[0];
    assert_eq!((after.blocks, after.removed, after.pages_deleted), (blocks, 10, 0));
    assert_eq!((after.empty, after.reusable), (done.pages_deleted, done.pages_deleted));
}
