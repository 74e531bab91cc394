//! Command numbers, and the pairs of them that one header field can't hold.
//!
//! A row version inserted and ended by one transaction needs both command numbers, and its header has room
//! for one. It gets a *combo id* instead, an index into a table that only the transaction has: nobody else
//! ever looks at the command numbers of a running transaction.

use super::session::Txn;
use super::tuple::{Flags, TupleHeader};
use crate::error::{Error, Result};
use base::hash::HashMap;

/// A version's inserting and ending command.
type Pair = (u32, u32);

/// A transaction's combo ids.
#[derive(Default)]
pub(super) struct Combos {
    pairs: Vec<Pair>,
    ids: HashMap<Pair, u32>,
}

impl Combos {
    pub(super) fn clear(&mut self) {
        if !self.pairs.is_empty() {
            self.pairs.clear();
            self.ids.clear();
        }
    }

    fn id_of(&mut self, pair: Pair) -> u32 {
        *self.ids.entry(pair).or_insert_with(|| {
            self.pairs.push(pair);
            (self.pairs.len() - 1) as u32
        })
    }

    fn pair(&self, id: u32) -> Pair {
        *self
            .pairs
            .get(id as usize)
            .expect("a combo id is looked up by the transaction that made it")
    }
}

impl Txn {
    #[inline]
    pub(super) fn current_cid(&self) -> u32 {
        self.cid.get()
    }

    /// The command number to write into rows.
    #[inline]
    pub fn command(&self) -> u32 {
        self.cid_used.set(true);
        self.cid.get()
    }

    /// The command has ended: what it wrote is visible to the next. Costs nothing if it wrote nothing.
    pub fn next_command(&self) -> Result<()> {
        if self.cid_used.replace(false) {
            if self.cid.get() == u32::MAX - 1 {
                let words = "cannot have more than 2^32-2 commands in a transaction";
                return Err(Error::LimitExceeded(words.into()));
            }
            self.cid.set(self.cid.get() + 1);
        }
        Ok(())
    }

    /// What to write into the `cid` field of a version that this command ends, and whether it is a combo
    /// id ([`Flags::COMBO`]).
    pub fn ending_cid(&self, header: &TupleHeader) -> (u32, bool) {
        let cid = self.command();
        if header.flags.has(Flags::XMIN_COMMITTED) || !self.is_mine(header.xmin) {
            return (cid, false);
        }
        let pair = (self.cmin(header), cid);
        (self.combos.borrow_mut().id_of(pair), true)
    }

    /// The command that inserted a version; `xmin` is this transaction.
    #[inline]
    pub fn cmin(&self, header: &TupleHeader) -> u32 {
        if header.flags.has(Flags::COMBO) {
            self.combos.borrow().pair(header.cid).0
        } else {
            header.cid
        }
    }

    /// The command that ended a version; `xmax` is this transaction.
    #[inline]
    pub fn cmax(&self, header: &TupleHeader) -> u32 {
        if header.flags.has(Flags::COMBO) {
            self.combos.borrow().pair(header.cid).1
        } else {
            header.cid
        }
    }
}
