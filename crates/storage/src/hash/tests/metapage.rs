//! The metapage is left alone.

use super::{check, found, index, tid};
use crate::hash::page::*;
use crate::hash::{FILL_PERCENT, build_order};
use crate::rig::Rig;
use base::Fork;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

/// Who waits for the metapage waits as long as the test holds it. Others are done long before.
const LONG: Duration = Duration::from_secs(60);

/// With the metapage latched alone by somebody else, look-ups and inserts go on, as long as no split is due and the
/// count need not be put down; overflow pages come meanwhile.
#[test]
fn look_ups_and_inserts_do_not_wait_for_the_metapage() {
    const BUILT: u64 = 200_000;
    let rig = Rig::new(2048);
    let index = index(&rig, 1, FILL_PERCENT);
    // Spread evenly over buckets and pages.
    let hash = |number: u64| (number + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15).reverse_bits();
    let mut sorted: Vec<_> = (0..BUILT).map(|number| (hash(number), tid(number))).collect();
    sorted.sort_by_key(|(hash, _)| build_order(*hash));
    let mut builder = index.build(BUILT, FILL_PERCENT).unwrap();
    sorted.into_iter().for_each(|(hash, tid)| builder.push(hash, tid).unwrap());
    builder.finish().unwrap();
    // This handle knows the buckets. One in three inserts is of one hash.
    let buckets = index.directory.buckets();
    let inserted =
        |number: u64| if number.is_multiple_of(3) { hash(0) } else { hash(BUILT + number) };
    let inserts = BUILT / 64 - 32;
    let with_room = u64::from(buckets) * u64::from(index.directory.target()) - BUILT;
    assert!(inserts > 3000 && inserts < with_room, "{inserts} inserts, room for {with_room}");
    let pages = index.relation().blocks(Fork::Main).unwrap();

    let (done, told) = channel();
    std::thread::scope(|scope| {
        let meta = index.relation().write(Fork::Main, META).unwrap();
        let (index, told_done) = (&index, done.clone());
        scope.spawn(move || {
            for number in 0..inserts {
                index.insert_hash(inserted(number), tid(BUILT + number)).unwrap();
                let old = number * 61 % BUILT;
                assert!(found(index, hash(old)).contains(&tid(old)));
                assert!(found(index, inserted(number)).contains(&tid(BUILT + number)));
            }
            told_done.send("inserted").unwrap();
        });
        let outcome = told.recv_timeout(LONG);
        // The latch is one that keeps others out: who does want the metapage waits.
        scope.spawn(move || {
            index.refresh().unwrap();
            done.send("read").unwrap();
        });
        let barred = told.recv_timeout(Duration::from_millis(100));
        drop(meta);
        assert_eq!(outcome, Ok("inserted"), "somebody waited for the metapage");
        assert_eq!(barred, Err(RecvTimeoutError::Timeout));
        assert_eq!(told.recv_timeout(LONG), Ok("read"));
    });
    assert_eq!(index.directory.buckets(), buckets, "no split was due");
    assert!(index.relation().blocks(Fork::Main).unwrap() > pages, "an overflow page has come");
    assert_eq!(check(&index).len() as u64, BUILT + inserts);
}
