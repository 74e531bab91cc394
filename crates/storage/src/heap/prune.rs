//! Pruning: chains lose their dead versions, the space comes back, index entries keep working.
//!
//! Done under the page's exclusive latch alone: nobody ever holds a reference into a page, so there is
//! nobody to wait for (PostgreSQL needs a cleanup lock here). A version is removed only if it is *dead*:
//! ended by a commit that every snapshot sees, or made by a transaction that rolled back.
//!
//! *Durability.* Losing the end of the log loses the record of the pruning with that of the commit it rests on.
//! But whoever reads the page in between must learn of that commit, to hold back its reply. A version that is
//! followed by one that stays may go at once: the reader finds the follower, whose maker that commit is. The
//! last version of a row that was deleted goes only when the commit is durable.

use super::page::{self, set_prune_hint, version};
use crate::page::{LineFlags, LinePointer, PageMut, PageView};
use crate::txn::{FLAGS_OFFSET, Fate, Flags, TupleHeader};
use crate::wal::fields::Fields;
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

/// Line pointers that a plan may change without the others being gathered.
const HOLES_MAX: usize = 4;

/// Hint bits learnt while planning: where the header's flags lie, and the bits.
pub(super) type Hints = Vec<(usize, Flags)>;

impl Plan {
    pub fn is_empty(&self) -> bool {
        self.redirected.is_empty() && self.dead.is_empty() && self.unused.is_empty()
    }
}

/// Judges versions.
pub(super) trait Judge {
    /// What a version is, by commits that every snapshot sees; and hint bits.
    fn fate(&mut self, header: &TupleHeader) -> (Fate, Flags);
    /// A version told by its hint bits to be there.
    fn met_live(&mut self);
    /// Whether a version that is dead is so durably.
    fn is_durably_dead(&mut self, header: &TupleHeader) -> bool;
}

/// Looks for what can go.
pub(super) fn plan(page: PageView<'_>, judge: impl Judge) -> (Plan, Hints) {
    let mut planner = Planner {
        page,
        judge,
        plan: Plan::default(),
        hints: Hints::new(),
        has_inner: false,
        chain: [0; page::MAX_LINES as usize],
        seen: [false; page::MAX_LINES as usize + 1],
    };
    let count = page.line_count().min(page::MAX_LINES);
    for root in 1..=count {
        match page.line(root).flags() {
            LineFlags::Redirect => planner.chain(root),
            LineFlags::Normal => match planner.flags(root) {
                flags if flags.has(Flags::HEAP_ONLY) => planner.has_inner = true,
                flags if flags.has(PLAINLY_LIVE) => planner.judge.met_live(),
                _ => planner.chain(root),
            },
            _ => {}
        }
    }
    if planner.has_inner {
        for offset in 1..=count {
            planner.orphan(offset);
        }
    }
    (planner.plan, planner.hints)
}

/// Hints of a version that was inserted by a commit and ended by nobody: most versions of most pages.
const PLAINLY_LIVE: Flags = Flags::XMIN_COMMITTED.with(Flags::XMAX_INVALID);

struct Planner<'p, J> {
    page: PageView<'p>,
    judge: J,
    plan: Plan,
    hints: Hints,
    /// Whether there are heap-only versions.
    has_inner: bool,
    /// The versions of the row at hand.
    chain: [u16; page::MAX_LINES as usize],
    /// Heap-only versions that a chain reached.
    seen: [bool; page::MAX_LINES as usize + 1],
}

impl<J: Judge> Planner<'_, J> {
    fn header(&self, offset: u16) -> Option<(usize, TupleHeader)> {
        let item = version(self.page, offset)?;
        Some((item.offset + FLAGS_OFFSET, page::header(self.page, item)))
    }

    fn flags(&self, offset: u16) -> Flags {
        let item = version(self.page, offset);
        item.map_or(Flags::NONE, |item| Flags(self.page.get_u16(item.offset + FLAGS_OFFSET)))
    }

    fn judge(&mut self, flags_at: usize, header: &TupleHeader) -> Fate {
        let (fate, hints) = self.judge.fate(header);
        if hints != Flags::NONE {
            self.hints.push((flags_at, header.flags.with(hints)));
        }
        if matches!(fate, Fate::RecentlyDead | Fate::DeleteInProgress) {
            self.note_left(header);
        }
        fate
    }

    /// A version that ended has to stay for now.
    fn note_left(&mut self, header: &TupleHeader) {
        let hint = &mut self.plan.hint;
        if *hint == Xid::INVALID || header.xmax < *hint {
            *hint = header.xmax;
        }
    }

    /// Follows the chain from `root` and removes its dead beginning. A version before a dead one is dead
    /// too, even if a snapshot's number alone would not say so: that snapshot sees neither.
    fn chain(&mut self, root: u16) {
        let redirect = self.page.line(root).redirect_to();
        let (mut length, mut dead) = (0, 0);
        let mut last_dead = None;
        let mut at = redirect.unwrap_or(root);
        let mut expected_xmin = None;
        while let Some((flags_at, header)) = self.header(at) {
            let linked = expected_xmin.is_none_or(|xmin| header.xmin == xmin);
            let inner = length > 0 || redirect.is_some();
            if !linked || inner != header.flags.has(Flags::HEAP_ONLY) || length == self.chain.len()
            {
                break;
            }
            self.seen[usize::from(at)] = true;
            self.chain[length] = at;
            length += 1;
            match self.judge(flags_at, &header) {
                Fate::Dead => (dead, last_dead) = (length, Some(header)),
                Fate::RecentlyDead => {}
                Fate::Live | Fate::InsertInProgress | Fate::DeleteInProgress => break,
            }
            if !header.flags.has(Flags::HOT_UPDATED) {
                break;
            }
            expected_xmin = Some(header.xmax);
            at = header.successor.offset;
        }
        let Some(last_dead) = last_dead else { return };
        if dead == length && !self.judge.is_durably_dead(&last_dead) {
            self.note_left(&last_dead);
            dead -= 1;
        }
        if dead == 0 {
            return;
        }
        let versions = &self.chain[usize::from(redirect.is_none())..dead];
        self.plan.unused.extend_from_slice(versions);
        if dead < length {
            self.plan.redirected.push((root, self.chain[dead]));
        } else {
            self.plan.dead.push(root);
        }
    }

    /// A heap-only version that no chain reaches was made by an update that rolled back.
    fn orphan(&mut self, offset: u16) {
        if self.page.line(offset).flags() != LineFlags::Normal || self.seen[usize::from(offset)] {
            return;
        }
        let Some((flags_at, header)) = self.header(offset) else { return };
        if header.flags.has(Flags::HEAP_ONLY) && self.judge(flags_at, &header) == Fate::Dead {
            self.plan.unused.push(offset);
        }
    }
}

/// Carries a plan out; pruning and its redo. `truncate`: trailing unused line pointers go, too.
pub(super) fn apply(page: &mut PageMut<'_>, plan: &Plan, truncate: bool) {
    for (root, to) in &plan.redirected {
        page.free_item(*root, LinePointer::redirect(*to));
    }
    for offset in &plan.dead {
        page.free_item(*offset, LinePointer::DEAD);
    }
    for offset in &plan.unused {
        page.free_item(*offset, LinePointer::UNUSED);
    }
    if truncate {
        page.truncate_lines();
    }
    // Looking for the holes of a few costs less than moving the others; for many it does not.
    if plan.redirected.len() + plan.dead.len() + plan.unused.len() > HOLES_MAX {
        page.compact();
    }
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
        Plan::read(bytes).expect("a plan's record is as long as it says")
    }

    /// From bytes that may be anything.
    pub fn read(bytes: &[u8]) -> Option<Plan> {
        let mut bytes = Fields(bytes);
        let hint = Xid(bytes.u64()?);
        let (redirected, dead, unused) = (bytes.u16()?, bytes.u16()?, bytes.u16()?);
        let mut next = || bytes.u16();
        let redirected =
            (0..redirected).map(|_| Some((next()?, next()?))).collect::<Option<_>>()?;
        let dead = (0..dead).map(|_| next()).collect::<Option<_>>()?;
        let unused = (0..unused).map(|_| next()).collect::<Option<_>>()?;
        Some(Plan { redirected, dead, unused, hint })
    }
}
