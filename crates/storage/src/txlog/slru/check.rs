//! Verification of a durable log's files.

use super::LogKind;
use super::Slru;
use super::config::SEGMENT_PAGES;
use super::error::SlruError;
use super::files::{Inspected, segment_of};
use super::pack::Found;
use std::collections::BTreeSet;

/// A page that is just being written may be read half; not again and again.
const LOOKS: usize = 3;

impl Slru {
    /// Verifies every sector of every page below `end` in the files, to which all that is in memory is written first;
    /// the number of pages. Each fault is a sentence with the file and the place in it. A file that is missing between
    /// others is one; one that is missing before all others can't be told from one that never was. Syncs nothing, so
    /// that no checkpoint takes for durable what is not yet.
    pub fn check(&self, end: u64, fault: &mut dyn FnMut(String)) -> Result<u64, SlruError> {
        self.write_dirty(&|_| true)?;
        let segments: BTreeSet<u64> = self.segments()?.into_iter().collect();
        let first = segments.first().copied().unwrap_or(segment_of(end.saturating_sub(1)));
        let mut pages = 0;
        // A log that did not begin with its first page may have begun within its first segment.
        let mut begun = first == 0 || self.log == LogKind::CommitTs;
        for segment in first..=segment_of(end.saturating_sub(1)) {
            if !segments.contains(&segment) {
                let file = self.files.path(segment);
                fault(format!("transaction log file \"{file}\" is missing"));
                continue;
            }
            let packed = match self.files.find(segment)? {
                Found::Packed(packed) => Some(packed),
                Found::Plain(_) => None,
            };
            let from = (segment * SEGMENT_PAGES).max(self.oldest());
            for page in from..end.min((segment + 1) * SEGMENT_PAGES) {
                let inspected = match &packed {
                    Some(packed) => self.files.inspect_packed(packed.as_ref(), page),
                    None => self.inspect(page)?,
                };
                begun |= !inspected.is_hole || segment > first || page + 1 == end;
                if !begun {
                    continue;
                }
                pages += 1;
                let file = inspected.file;
                for at in inspected.bad_sectors {
                    fault(format!(
                        "transaction log file \"{file}\" is damaged in the sector at byte {at}, which is of page {page}"
                    ));
                }
            }
        }
        Ok(pages)
    }

    fn inspect(&self, page: u64) -> Result<Inspected, SlruError> {
        let mut inspected = self.files.inspect(page)?;
        for _ in 1..LOOKS {
            if inspected.bad_sectors.is_empty() {
                break;
            }
            // Whoever writes it has ended by then.
            self.write_dirty(&|dirty| dirty == page)?;
            inspected = self.files.inspect(page)?;
        }
        Ok(inspected)
    }
}
