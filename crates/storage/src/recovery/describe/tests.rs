//! Descriptions of records of every kind with any content. What the rooms' own records say is looked at wherever a
//! test redoes them (`rig`): none may be "unknown".

use super::*;
use base::Lsn;

/// A record's bytes as they lie in the log, its checksum left out.
fn record(kind: Kind, info: u8, blocks: &[Vec<u8>], data: &[u8]) -> Vec<u8> {
    let mut bytes = vec![0; 20];
    bytes[8..16].copy_from_slice(&77u64.to_le_bytes());
    (bytes[16], bytes[17], bytes[18]) = (kind.0, info, blocks.len() as u8);
    for (i, block) in blocks.iter().enumerate() {
        bytes.extend_from_slice(&[9, 0, 0, 0, i as u8, 0, 0, 0, 0]);
        bytes.extend_from_slice(&(block.len() as u16).to_le_bytes());
        bytes.extend_from_slice(block);
    }
    bytes.extend_from_slice(data);
    let length = bytes.len() as u32;
    bytes[4..8].copy_from_slice(&length.to_le_bytes());
    bytes.resize(bytes.len().next_multiple_of(8), 0);
    bytes
}

fn told(kind: Kind, info: u8, blocks: &[Vec<u8>], data: &[u8]) -> String {
    let bytes = record(kind, info, blocks, data);
    describe(&RecordView::parse(&bytes, Lsn(4096)).unwrap())
}

#[test]
fn any_content_of_any_kind_is_described() {
    let mut rng = fastrand::Rng::with_seed(3);
    let mut bytes = |most: usize| -> Vec<u8> {
        // Small numbers, so that counts and lengths often fit.
        let length = rng.usize(..=most);
        (0..length).map(|_| if rng.bool() { 0 } else { rng.u8(..12) }).collect()
    };
    let mut unknown = 0;
    for kind in (0..60).flat_map(|_| Kind::all()) {
        let blocks: Vec<_> = (0..bytes(3).len()).map(|_| bytes(40)).collect();
        let text = told(kind, bytes(1).first().copied().unwrap_or(0), &blocks, &bytes(60));
        unknown += usize::from(text.ends_with("(content unknown)"));
    }
    assert!(unknown > 0, "much of it was nonsense");
    assert_eq!(told(Kind(0xEE), 0, &[], &[]), "(content unknown)");
}

#[test]
fn rooms_without_redo_of_their_own_are_described() {
    let rel = RelId(12).0.to_le_bytes();
    assert_eq!(told(Kind::FILE_CREATE, 0, &[], &rel), "base/12");
    let cut = [&rel[..], &[2], &7u32.to_le_bytes()].concat();
    assert_eq!(told(Kind::FILE_TRUNCATE, 0, &[], &cut), "base/12_vm to 7 blocks");
    let pending = [&rel[..], &99u64.to_le_bytes()].concat();
    assert_eq!(told(Kind::PENDING_FILES, 0, &[], &pending), "nfiles 1 [12 of xid 99]");
    assert_eq!(told(Kind::NEXT_OID, 0, &[], &16_384u32.to_le_bytes()), "below 16384");
    assert_eq!(told(Kind::FILLER, 0, &[], &[0; 24]), "24 bytes");
    assert_eq!(told(Kind::PAGE_IMAGE, Rank::IndexPage as u8, &[], &[]), "of an index");
    assert_eq!(told(Kind::XID_LIMIT, 0, &[], &1024u64.to_le_bytes()), "below 1024");
    let counters = Counters {
        next_xid: base::Xid(5),
        next_rel: 6,
        next_oid: 7,
        next_multixact: 8,
        next_member: 9,
    };
    let text = told(Kind::CHECKPOINT, 0, &[], &counters.encode());
    let expected = "next xid 5; next oid 7; next relation 6; next multi 8; next multi offset 9";
    assert_eq!(text, expected);
    assert_eq!(told(Kind::CHECKPOINT, 0, &[], &[1]), "(content unknown)");
}

#[test]
fn a_commit_is_described_with_its_time_and_what_goes_with_it() {
    // Time, one subtransaction, one relation, two bytes for SQL.
    let time = 1_790_089_200_000_001i64.to_le_bytes();
    let data = [&time[..], &[1, 3], &[1, 12, 0, 0, 0], &[2, 5, 5]].concat();
    assert_eq!(
        told(Kind::COMMIT, 0, &[], &data),
        "2026-09-22 15:00:00.000001 UTC; subxacts: [80]; rels dropped: [12]; inval msgs of 2 bytes"
    );
}
