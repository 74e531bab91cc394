//! Lanes that fail.

use super::*;
use crate::btree::{BTree, NewEntry};
use crate::rig::Rig;
use base::disk::sim::SimDisk;
use base::rank::Rank;
use base::{BlockNo, Persistence, Tid, sim};
use std::time::Duration;

/// A restart point must not come to lie behind what a lane that failed has not applied (R7).
#[test]
fn what_a_lane_failed_at_stays_to_be_applied() {
    sim::run(1, || {
        let rig = Rig::new(64);
        let rel = rig.create(1, Persistence::Permanent, Rank::IndexPage);
        let tree = BTree::new(rel, &rig.txns);
        for number in 0..100_u16 {
            let tid = Tid { block: BlockNo(0), offset: number + 1 };
            tree.insert(NewEntry::plain(&number.to_be_bytes(), tid)).unwrap();
        }
        let disk = SimDisk::new();
        let fresh = rig.empty_on(&disk, &[tree.relation().id()]);
        disk.set_fault(Some(Box::new(|_, path, _| {
            path.starts_with("base/1").then(|| std::io::Error::from_raw_os_error(28))
        })));
        let ctx = RedoCtx::new(Arc::clone(&fresh));
        let mut lanes = Lanes::start(&Env::new(Arc::new(disk.clone())), &ctx, 2, false);
        let (mut first, end) = (None, rig.wal.position());
        rig.each_record(|record| {
            if record.blocks().next().is_some() {
                first.get_or_insert(record.at.start);
                lanes.send(record, 0).unwrap();
            }
            true
        });
        let first = first.expect("the tree is logged");
        (0..2).for_each(|i| lanes.hand_over(i).unwrap());
        park::sleep(Duration::from_secs(1));
        assert_eq!(lanes.applied_before(end), first);
        assert!(lanes.settle().is_err());
        assert_eq!(lanes.applied_before(end), first);
        drop(lanes);
        disk.set_fault(None);
        fresh.stop();
    });
}
