use super::*;
use crate::rig::Rig;
use base::Persistence;
use base::rank::Rank;

const UP: Params = Params { increment: 1, min: 1, max: i64::MAX, cycle: false };

fn sequence(rig: &Rig, number: u32, persistence: Persistence, start: i64) -> SequenceRel {
    let rel = rig.create(number, persistence, Rank::SequencePage);
    let sequence = SequenceRel::new(rel, &rig.txns);
    sequence.create(start).unwrap();
    sequence
}

fn take(sequence: &SequenceRel, txn: &Txn, params: &Params, count: usize) -> Vec<i64> {
    (0..count).map(|_| sequence.next(txn, params).unwrap()).collect()
}

#[test]
fn values_go_up_and_down_and_around() {
    let rig = Rig::new(16);
    let txn = rig.begin();
    let up = sequence(&rig, 1, Persistence::Permanent, 1);
    assert_eq!(take(&up, &txn, &UP, 100), (1..=100).collect::<Vec<_>>());
    let down = sequence(&rig, 2, Persistence::Unlogged, -1);
    let params = Params { increment: -2, min: -7, max: -1, cycle: true };
    assert_eq!(take(&down, &txn, &params, 6), [-1, -3, -5, -7, -1, -3]);
    let short = sequence(&rig, 3, Persistence::Permanent, 5);
    let params = Params { max: 6, ..UP };
    assert_eq!(take(&short, &txn, &params, 2), [5, 6]);
    let end = short.next(&txn, &params);
    assert!(matches!(end, Err(Error::SequenceExhausted { ascending: true, bound: 6 })));
    short.set(&txn, State { last: 5, is_called: true }).unwrap();
    assert_eq!(short.next(&txn, &params).unwrap(), 6);
    assert_eq!(short.read(&txn).unwrap(), State { last: 6, is_called: true });
    let edge = sequence(&rig, 4, Persistence::Permanent, i64::MAX);
    assert_eq!(edge.next(&txn, &UP).unwrap(), i64::MAX);
    assert!(edge.next(&txn, &UP).is_err());
}

/// What redo brings back lies behind every value handed out (SQ1), by no more than a record covers.
#[test]
fn no_value_comes_twice_after_a_crash() {
    let rig = Rig::new(16);
    let txn = rig.begin();
    for count in [0, 1, 2, 32, 33, 34, 100] {
        let sequence = sequence(&rig, 10 + count, Persistence::Permanent, 1);
        take(&sequence, &txn, &UP, count as usize);
        let fresh = rig.redone(1, &[sequence.rel.id()]);
        let rel = fresh.relation(sequence.rel.id(), Rank::SequencePage);
        let next = SequenceRel::new(rel, &rig.txns).next(&txn, &UP).unwrap();
        assert!(next > i64::from(count) && next <= i64::from(count) + 1 + i64::from(AHEAD));
        fresh.stop();
    }
}

/// Steps change their size, their direction and their bounds between two records.
#[test]
fn no_value_comes_twice_when_steps_change() {
    let rig = Rig::new(16);
    let txn = rig.begin();
    let by = |increment| Params { increment, min: -1000, ..UP };
    for (number, steps) in [[1, 10, 1], [10, 1, 10], [1, -7, 1], [-1, -7, 40]].iter().enumerate() {
        let number = number as u32;
        let sequence = sequence(&rig, 10 + number, Persistence::Permanent, 1);
        let mut given = Vec::new();
        for increment in steps {
            given.extend(take(&sequence, &txn, &by(*increment), 9));
        }
        let fresh = rig.redone(1, &[sequence.rel.id()]);
        let rel = fresh.relation(sequence.rel.id(), Rank::SequencePage);
        let last = by(steps[2]);
        let next = SequenceRel::new(rel, &rig.txns).next(&txn, &last).unwrap();
        let (given, ascends) = (given.split_off(18), last.increment > 0);
        assert!(given.iter().all(|value| (next > *value) == ascends), "{steps:?}: {next}");
        fresh.stop();
    }
}

/// A reply that tells a value waits for the record that covers it (SQ2).
#[test]
fn a_value_told_is_covered_by_durable_log() {
    let rig = Rig::new(16);
    let txn = rig.begin();
    let sequence = sequence(&rig, 1, Persistence::Permanent, 1);
    sequence.next(&txn, &UP).unwrap();
    assert!(txn.must_be_durable() > Lsn::ZERO);
}

/// Values handed out after the page was written, when redo begins behind the record that had covered them (SQ3).
#[test]
fn no_value_comes_twice_where_redo_begins_behind_the_record() {
    let rig = Rig::new(16);
    let txn = rig.begin();
    let sequence = sequence(&rig, 1, Persistence::Permanent, 1);
    assert_eq!(take(&sequence, &txn, &UP, 1), [1]);
    rig.pool.clean_all().unwrap();
    let redo = rig.pool.min_rec_lsn();
    assert_eq!(take(&sequence, &txn, &UP, 3), [2, 3, 4]);
    let crashed = rig.crashed(redo);
    let rel = crashed.relation(sequence.rel.id(), Rank::SequencePage);
    assert!(SequenceRel::new(rel, &rig.txns).next(&txn, &UP).unwrap() > 4);
    crashed.stop();
}

#[test]
fn a_damaged_page_is_found() {
    let rig = Rig::new(16);
    let sequence = sequence(&rig, 1, Persistence::Permanent, 1);
    let faults = || {
        let mut faults = Vec::new();
        sequence.check(&mut |fault| faults.push(fault)).unwrap();
        faults
    };
    assert_eq!(faults(), <[String; 0]>::default());
    let put = |value| {
        let mut page = sequence.rel.write(base::Fork::Main, BLOCK).unwrap();
        page.mark_dirty();
        page.put_u8(CALLED, value);
    };
    put(2);
    assert!(faults().len() == 1 && faults()[0].contains("the page is damaged"), "{:?}", faults());
    put(0);
    assert_eq!(faults(), <[String; 0]>::default());
    sequence.rel.ensure_blocks(base::Fork::Main, 2).unwrap();
    assert!(faults().len() == 1 && faults()[0].contains("exactly one page"), "{:?}", faults());
}
