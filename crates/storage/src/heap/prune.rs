//! Pruning: chains lose their dead versions, the space comes back, index entries keep working.
//!
//! Done under the page's exclusive latch alone: nobody ever holds a reference into a page, so there is
//! nobody to wait for (PostgreSQL needs a cleanup lock here). A version is removed only if it is *dead*:
//! ended by a durable commit that every snapshot sees, or made by a transaction that rolled back.

use super::page::{self, set_prune_hint, version};
use crate::page::{LineFlags, LinePointer, PageMut, PageView};
use crate::txn::{Fate, Flags, TupleHeader};
use base::Xid;

/// What pruning does to the line pointers of one page; all that its log record carries.
#[derive(Default, PartialEq, Eq, Debug)]
pub(super) struct Plan {
    /// Roots that from now on stand for a later version.
    pub redirected: Vec<(u16, u16)>,
    /// Rows that are gone entirely; index entries may still point at them.
    pub dead: Vec<u16>,
    /// Versions nobody points at.
    pub unused: Vec<u16>,
    /// The oldest ender of what had to stay.
    pub hint: Xid,
}

impl Plan {
    pub fn is_empty(&self) -> bool {
        self.redirected.is_empty() && self.dead.is_empty() && self.unused.is_empty()
    }
}

/// Looks for what can go. `fate` judges one version.
pub(super) fn plan(page: PageView<'_>, fate: impl FnMut(&TupleHeader) -> Fate) -> Plan {
    let mut planner =
        Planner { page, fate, plan: Plan::default(), seen: [false; page::MAX_LINES as usize + 1] };
    let count = page.line_count().min(page::MAX_LINES);
    for root in 1..=count {
        match page.line(root).flags() {
            LineFlags::Redirect => planner.chain(root),
            LineFlags::Normal if !planner.is_heap_only(root) => planner.chain(root),
            _ => {}
        }
    }
    for offset in 1..=count {
        planner.orphan(offset);
    }
    planner.plan
}

struct Planner<'p, F> {
    page: PageView<'p>,
    fate: F,
    plan: Plan,
    /// Heap-only versions that a chain reached.
    seen: [bool; page::MAX_LINES as usize + 1],
}

impl<F: FnMut(&TupleHeader) -> Fate> Planner<'_, F> {
    fn header(&self, offset: u16) -> Option<TupleHeader> {
        version(self.page, offset).map(|item| page::header(self.page, item))
    }

    fn is_heap_only(&self, offset: u16) -> bool {
        self.header(offset).is_some_and(|h| h.flags.has(Flags::HEAP_ONLY))
    }

    fn judge(&mut self, header: &TupleHeader) -> Fate {
        let fate = (self.fate)(header);
        if matches!(fate, Fate::RecentlyDead | Fate::DeleteInProgress) {
            let hint = &mut self.plan.hint;
            if *hint == Xid::INVALID || header.xmax < *hint {
                *hint = header.xmax;
            }
        }
        fate
    }

    /// Follows the chain from `root` and removes its dead beginning. A version before a dead one is dead
    /// too, even if a snapshot's number alone would not say so: that snapshot sees neither.
    fn chain(&mut self, root: u16) {
        let redirect = self.page.line(root).redirect_to();
        let mut chain = [0u16; page::MAX_LINES as usize];
        let (mut length, mut dead) = (0, 0);
        let mut at = redirect.unwrap_or(root);
        let mut expected_xmin = None;
        while let Some(header) = self.header(at) {
            let linked = expected_xmin.is_none_or(|xmin| header.xmin == xmin);
            let inner = length > 0 || redirect.is_some();
            if !linked || inner != header.flags.has(Flags::HEAP_ONLY) || length == chain.len() {
                break;
            }
            self.seen[usize::from(at)] = true;
            chain[length] = at;
            length += 1;
            match self.judge(&header) {
                Fate::Dead => dead = length,
                Fate::RecentlyDead => {}
                Fate::Live | Fate::InsertInProgress | Fate::DeleteInProgress => break,
            }
            if !header.flags.has(Flags::HOT_UPDATED) {
                break;
            }
            expected_xmin = Some(header.xmax);
            at = header.successor.offset;
        }
        if dead == 0 {
            return;
        }
        let versions = &chain[usize::from(redirect.is_none())..dead];
        self.plan.unused.extend_from_slice(versions);
        if dead < length {
            self.plan.redirected.push((root, chain[dead]));
        } else {
            self.plan.dead.push(root);
        }
    }

    /// A heap-only version that no chain reaches was made by an update that rolled back.
    fn orphan(&mut self, offset: u16) {
        if self.page.line(offset).flags() != LineFlags::Normal || self.seen[usize::from(offset)] {
            return;
        }
        let Some(header) = self.header(offset) else { return };
        if header.flags.has(Flags::HEAP_ONLY) && self.judge(&header) == Fate::Dead {
            self.plan.unused.push(offset);
        }
    }
}

/// Carries a plan out; pruning and its redo. `truncate`: trailing unused line pointers go, too.
pub(super) fn apply(page: &mut PageMut<'_>, plan: &Plan, truncate: bool) {
    for (root, to) in &plan.redirected {
        page.set_line(*root, LinePointer::redirect(*to));
    }
    for offset in &plan.dead {
        page.set_line(*offset, LinePointer::DEAD);
    }
    for offset in &plan.unused {
        page.set_line(*offset, LinePointer::UNUSED);
    }
    if truncate {
        page.truncate_lines();
    }
    page.compact();
    set_prune_hint(page, plan.hint);
}

/// Bytes of a plan in a log record, at most.
pub(super) const PLAN_BYTES_MAX: usize = 14 + page::MAX_LINES as usize * 4;

impl Plan {
    /// For the log.
    pub fn encode(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(64);
        out.extend_from_slice(&self.hint.0.to_le_bytes());
        for count in [self.redirected.len(), self.dead.len(), self.unused.len()] {
            out.extend_from_slice(&(count as u16).to_le_bytes());
        }
        let pairs = self.redirected.iter().flat_map(|(from, to)| [*from, *to]);
        let all = pairs.chain(self.dead.iter().copied()).chain(self.unused.iter().copied());
        all.for_each(|offset| out.extend_from_slice(&offset.to_le_bytes()));
        out
    }

    /// From the log.
    pub fn decode(bytes: &[u8]) -> Plan {
        let (hint, rest) = bytes.split_at(8);
        let hint = u64::from_le_bytes(hint.try_into().expect("split at eight"));
        let mut numbers = rest.chunks_exact(2).map(|pair| u16::from_le_bytes([pair[0], pair[1]]));
        let mut next = || numbers.next().expect("a plan's record is as long as it says");
        let (redirected, dead, unused) = (next(), next(), next());
        Plan {
            redirected: (0..redirected).map(|_| (next(), next())).collect(),
            dead: (0..dead).map(|_| next()).collect(),
            unused: (0..unused).map(|_| next()).collect(),
            hint: Xid(hint),
        }
    }
}
