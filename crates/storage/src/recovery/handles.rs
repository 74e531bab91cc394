//! Handles of the relations that redo came to lately: a record names few, and the next ones name the same.

use crate::buffer::{Pool, Relation};
use base::RelId;
use base::rank::Rank;
use std::sync::Arc;

/// Places, a power of two: more than the relations of most transactions.
const PLACES: usize = 16;

/// Some handles, each in the place that its relation's number gives.
#[derive(Default)]
pub(super) struct Handles {
    places: [Option<Relation>; PLACES],
    /// How many relations had been dropped when they were got.
    drops: u64,
}

impl Handles {
    /// The handle of a relation whose main fork is latched at `rank`. `drops`: relations dropped so far; handles from
    /// before must not be used.
    pub fn get(&mut self, pool: &Arc<Pool>, rel: RelId, rank: Rank, drops: u64) -> &Relation {
        if self.drops != drops {
            *self = Handles { drops, ..Handles::default() };
        }
        let place = &mut self.places[rel.0 as usize % PLACES];
        if place.as_ref().is_none_or(|known| known.id() != rel) {
            *place = Some(pool.relation(rel, rank));
        }
        let known = place.as_ref().expect("it was put there");
        debug_assert_eq!(known.rank(), rank, "a relation has one kind");
        known
    }
}
