//! How much log which kinds of records take: what `thalweg waldump --stats` and `pg_get_wal_stats` show.

use super::kind::{Kind, Room};
use super::view::RecordView;
use std::collections::BTreeMap;

/// What some records come to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Total {
    /// How many.
    pub records: u64,
    /// Their bytes without images and padding.
    pub record_bytes: u64,
    /// Bytes of whole pages in them.
    pub image_bytes: u64,
}

/// Totals of records, by kind.
#[derive(Clone, Debug, Default)]
pub struct Summary(BTreeMap<u8, Total>);

impl Total {
    /// All bytes, without padding.
    pub fn bytes(&self) -> u64 {
        self.record_bytes + self.image_bytes
    }

    fn add(&mut self, other: &Total) {
        self.records += other.records;
        self.record_bytes += other.record_bytes;
        self.image_bytes += other.image_bytes;
    }
}

impl Summary {
    /// Counts a record.
    pub fn count(&mut self, record: &RecordView<'_>) {
        let (all, without_images) = record.lengths();
        let one = Total {
            records: 1,
            record_bytes: without_images as u64,
            image_bytes: (all - without_images) as u64,
        };
        self.0.entry(record.kind.0).or_default().add(&one);
    }

    /// Of all records.
    pub fn all(&self) -> Total {
        self.sum(|_| true)
    }

    /// Of each room, those without records included.
    pub fn by_room(&self) -> impl Iterator<Item = (String, Total)> {
        Room::all().map(|room| (room.name().to_owned(), self.sum(|kind| kind.room() == Some(room))))
    }

    /// Of each kind that has records.
    pub fn by_kind(&self) -> impl Iterator<Item = (String, Total)> {
        self.0.iter().map(|(code, total)| {
            let room = Kind(*code).room().map_or("unknown", Room::name);
            (format!("{room}/{}", Kind(*code).operation()), *total)
        })
    }

    fn sum(&self, which: impl Fn(Kind) -> bool) -> Total {
        let mut sum = Total::default();
        self.0.iter().filter(|(code, _)| which(Kind(**code))).for_each(|(_, one)| sum.add(one));
        sum
    }
}

/// `part` of `of` in percent; of nothing, nothing.
pub fn percent(part: u64, of: u64) -> f64 {
    if of == 0 { 0.0 } else { 100.0 * part as f64 / of as f64 }
}
