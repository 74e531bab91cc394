//! Ways to the rows of one table, and which of them costs least.
//!
//! A [`Path`] names the conditions that it goes by, not their values. So it can be weighed when the statement is
//! planned, and again when it is run and its parameters are known ([`super::node::Choice`]).

use std::sync::Arc;

use crate::bind::tree::{ArrayArg, Expr};
use crate::bind::walk;
use crate::catalog::{IndexDef, KeySource, TableDef};
use crate::types::Datum;

use super::cost::{self, Access, Bitmap, Cost, Heap, Reading, Settings};
use super::estimate::{self, Columns};
use super::skip;

/// One condition of several, or a part of one alternative of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Clause {
    pub at: usize,
    /// Of an OR: which alternative, and which of its parts.
    pub arm: Option<(usize, usize)>,
}

/// A way to a table's rows.
#[derive(Clone, Debug)]
pub enum Path {
    Seq,
    Index(IndexPath),
    Bitmap(Bits<Leaf>),
}

/// Through an index in its order.
#[derive(Clone, Debug)]
pub struct IndexPath {
    pub index: Arc<IndexDef>,
    /// What each range goes by.
    pub ranges: Vec<Terms>,
    pub only: bool,
    /// Its order is the one that is asked for.
    pub sorted: bool,
}

/// A set of row addresses, made from ranges of indexes, each of which `L` describes.
#[derive(Clone, Debug)]
pub enum Bits<L> {
    Index(L),
    And(Vec<Bits<L>>),
    Or(Vec<Bits<L>>),
}

/// The addresses in one range of an index.
#[derive(Clone, Debug)]
pub struct Leaf {
    pub index: Arc<IndexDef>,
    pub terms: Terms,
}

/// What a range of an index goes by.
#[derive(Clone, Debug)]
pub struct Terms {
    /// What bounds it.
    pub bounding: Vec<Clause>,
    /// How many key columns have an equality, the first ones.
    pub equal: usize,
    /// Share of rows that bounds keep which are no condition's own.
    pub bounds: f64,
    /// What is tested in its entries, in the order of key columns.
    pub tested: Vec<TestedClause>,
}

/// A condition that is tested in entries.
#[derive(Clone, Copy, Debug)]
pub struct TestedClause {
    /// The key column that it is about.
    pub column: usize,
    /// It leaves single values.
    pub is_equality: bool,
    pub clause: Clause,
}

impl Terms {
    /// No terms: the whole index.
    pub const NONE: Terms =
        Terms { bounding: Vec::new(), equal: 0, bounds: 1.0, tested: Vec::new() };

    /// All conditions that the range answers.
    pub fn clauses(&self) -> impl Iterator<Item = Clause> + Clone {
        self.bounding.iter().copied().chain(self.tested.iter().map(|tested| tested.clause))
    }
}

/// What paths are weighed by.
pub struct Facts<'a> {
    pub settings: &'a Settings,
    pub table: &'a TableDef,
    pub heap: Heap,
    /// An index's pages.
    pub index_pages: &'a dyn Fn(&IndexDef) -> f64,
    pub conditions: &'a [Expr],
    pub columns: &'a Columns<'a>,
    /// An order is asked for.
    pub ordered: bool,
    /// So many rows are wanted, if not all.
    pub wanted: Option<f64>,
}

impl Clause {
    /// The condition itself.
    pub fn of<'e>(&self, conditions: &'e [Expr]) -> &'e Expr {
        let whole = &conditions[self.at];
        let Some((arm, part)) = self.arm else { return whole };
        let Expr::Or(arms) = whole else { return whole };
        parts(&arms[arm]).get(part).unwrap_or(whole)
    }
}

/// What an alternative is made of.
pub fn parts(arm: &Expr) -> &[Expr] {
    match arm {
        Expr::And(parts) => parts,
        one => std::slice::from_ref(one),
    }
}

impl<L> Bits<L> {
    /// Its ranges, from left to right.
    pub fn leaves<'b>(&'b self, take: &mut dyn FnMut(&'b L)) {
        match self {
            Bits::Index(leaf) => take(leaf),
            Bits::And(parts) | Bits::Or(parts) => {
                parts.iter().for_each(|part| part.leaves(&mut *take));
            }
        }
    }

    /// The same set with its ranges described in another way.
    pub fn map<M, E>(
        &self,
        f: &mut dyn FnMut(&L) -> std::result::Result<M, E>,
    ) -> std::result::Result<Bits<M>, E> {
        let mut all = |parts: &[Bits<L>]| -> std::result::Result<Vec<Bits<M>>, E> {
            parts.iter().map(|part| part.map(&mut *f)).collect()
        };
        Ok(match self {
            Bits::And(parts) => Bits::And(all(parts)?),
            Bits::Or(parts) => Bits::Or(all(parts)?),
            Bits::Index(leaf) => return Ok(Bits::Index(f(leaf)?)),
        })
    }
}

impl Facts<'_> {
    /// Rows that all conditions let through.
    pub fn rows(&self) -> f64 {
        let share = estimate::share_of(self.conditions, self.heap.rows, self.columns);
        (self.heap.rows * share).max(1.0).round()
    }

    /// The best of several paths.
    pub fn best<'p>(&self, paths: impl Iterator<Item = &'p Path>) -> usize {
        let costs: Vec<Cost> = paths.map(|path| self.in_order(path)).collect();
        let least = costs.iter().map(|cost| cost.total).fold(f64::INFINITY, f64::min);
        // Costs that hardly differ are taken for equal, as PostgreSQL does; then it counts how soon rows come.
        let close = |cost: &Cost| cost.total <= least * 1.01;
        let candidates = costs.iter().enumerate().filter(|(_, cost)| close(cost));
        let best = candidates.min_by(|(_, a), (_, b)| {
            let startup = match (a.startup, b.startup) {
                (a, b) if a * 1.01 < b || b * 1.01 < a => a.total_cmp(&b),
                _ => std::cmp::Ordering::Equal,
            };
            startup.then(a.total.total_cmp(&b.total))
        });
        best.map_or(0, |(at, _)| at)
    }

    /// What it costs to have the wanted rows in the wanted order.
    fn in_order(&self, path: &Path) -> Cost {
        let cost = self.cost(path);
        let rows = self.rows();
        let sorts = self.ordered && !matches!(path, Path::Index(index) if index.sorted);
        let cost = match sorts {
            true => cost::sorted(self.settings, cost, rows, self.wanted),
            false => cost,
        };
        let share = self.wanted.map_or(1.0, |wanted| (wanted / rows).clamp(0.0, 1.0));
        Cost { startup: cost.startup, total: cost.startup + share * (cost.total - cost.startup) }
    }

    /// What it costs to have all rows, in whatever order.
    pub fn cost(&self, path: &Path) -> Cost {
        match path {
            Path::Seq => cost::seq_scan(self.settings, self.heap, operators(self.conditions)),
            Path::Index(path) => self.index_scan(path),
            Path::Bitmap(bits) => self.bitmap_scan(bits),
        }
    }

    /// What it costs to have the rows of a bitmap.
    pub fn bitmap_scan(&self, bits: &Bits<Leaf>) -> Cost {
        let bitmap = self.bitmap(bits, self.rows());
        bitmap.heap_scan(self.settings, self.heap, operators(self.conditions))
    }

    /// What a bitmap costs without visiting the table.
    pub fn bitmap(&self, bits: &Bits<Leaf>, rows: f64) -> Bitmap {
        match bits {
            Bits::Index(leaf) => {
                let access = self.access(&leaf.index, &leaf.terms);
                Bitmap::of_index(self.settings, self.heap, &access, rows)
            }
            Bits::And(all) => {
                let all: Vec<Bitmap> = all.iter().map(|part| self.bitmap(part, rows)).collect();
                Bitmap::all_of(self.settings, &all)
            }
            Bits::Or(any) => {
                let not_index = |part: &&Bits<Leaf>| !matches!(part, Bits::Index(_));
                let united = any.iter().skip(1).filter(not_index).count();
                let any: Vec<Bitmap> = any.iter().map(|part| self.bitmap(part, rows)).collect();
                Bitmap::any_of(self.settings, &any, united)
            }
        }
    }

    fn index_scan(&self, path: &IndexPath) -> Cost {
        let mut all = self.access(&path.index, path.ranges.first().unwrap_or(&Terms::NONE));
        for terms in path.ranges.iter().skip(1) {
            let one = self.access(&path.index, terms);
            all.share += one.share;
            all.whole.share += one.whole.share;
            all.whole.lookups += one.whole.lookups;
            all.conditions = one.conditions;
        }
        all.share = all.share.min(1.0);
        all.whole.share = all.whole.share.min(1.0);
        // Of several ranges the conditions say again what the ranges say.
        let answered = |at: usize| {
            path.ranges.len() == 1 && path.ranges[0].clauses().any(|clause| clause.at == at)
        };
        let rest = self.conditions.iter().enumerate().filter(|(at, _)| !answered(*at));
        let rest = rest.map(|(_, condition)| operators_of(condition)).sum();
        let correlation = self.correlation(&path.index);
        cost::index_scan(self.settings, self.heap, &all, correlation, path.only, rest)
    }

    fn access(&self, index: &IndexDef, terms: &Terms) -> Access {
        let (pages, rows) = ((self.index_pages)(index), self.heap.rows);
        let entries = Access::entries_of(index.predicate.is_some(), pages, rows);
        let of = |clause: &Clause| clause.of(self.conditions);
        let share_of = |clauses: &[Clause]| {
            let share = estimate::share_of(clauses.iter().map(of), rows, self.columns);
            (share * terms.bounds).min(entries / rows.max(1.0))
        };
        let all: Vec<Clause> = terms.clauses().collect();
        let lookups = terms.bounding.iter().map(|clause| lookups(of(clause))).product();
        let whole = Reading { share: share_of(&terms.bounding), lookups };
        let skipping = self.skipping(index, terms, whole, pages);
        let (share, conditions) = (share_of(&all), all.len() as f64);
        Access { method: index.method, pages, entries, share, whole, skipping, conditions }
    }

    /// What is read if the scan skips, where the tests of its entries let it.
    fn skipping(
        &self,
        index: &IndexDef,
        terms: &Terms,
        whole: Reading,
        pages: f64,
    ) -> Option<Reading> {
        let of = |clause: &Clause| clause.of(self.conditions);
        let tested = terms.tested.chunk_by(|a, b| a.column == b.column).map(|same| {
            let clauses = same.iter().map(|tested| of(&tested.clause));
            let equal = same.iter().filter(|tested| tested.is_equality);
            let values = equal.map(|tested| lookups(of(&tested.clause))).reduce(f64::min);
            let share = estimate::share_of(clauses, self.heap.rows, self.columns);
            skip::Tested { column: same[0].column, share, values }
        });
        let tested: Vec<skip::Tested> = tested.collect();
        // Of the bounds behind the equalities.
        let range =
            terms.bounding.get(terms.equal..).filter(|range| !range.is_empty()).map(|range| {
                estimate::share_of(range.iter().map(of), self.heap.rows, self.columns)
            });
        let range = range.or((terms.bounds < 1.0).then_some(terms.bounds));
        let base = skip::Base { equal: terms.equal, range, whole, rows: self.heap.rows, pages };
        skip::skipping(self.table, index, base, &tested)
    }

    /// How far the order of an index is the table's, from 0 to 1 (or -1, backwards).
    fn correlation(&self, index: &IndexDef) -> f64 {
        let Some(KeySource::Column(first)) = index.keys.first().map(|key| &key.source) else {
            return 0.0;
        };
        let known = self.table.statistics_of(*first).map_or(0.0, |of| of.correlation);
        if index.keys.len() > 1 { known * 0.75 } else { known }
    }
}

/// How many keys a condition has looked up.
fn lookups(condition: &Expr) -> f64 {
    match condition {
        Expr::ArrayOp(op) => elements(&op.right).max(1.0),
        _ => 1.0,
    }
}

pub(super) fn elements(array: &ArrayArg) -> f64 {
    match array {
        ArrayArg::List(list) => list.len() as f64,
        ArrayArg::Array(Expr::Const(c)) => match &c.value {
            Datum::Array(array) => array.elements.len() as f64,
            _ => 10.0,
        },
        ArrayArg::Array(Expr::Array(array)) => array.elements.len() as f64,
        ArrayArg::Array(_) => 10.0,
    }
}

/// How many operators' work it is to test conditions.
pub fn operators(conditions: &[Expr]) -> f64 {
    conditions.iter().map(operators_of).sum()
}

fn operators_of(condition: &Expr) -> f64 {
    let mut count = match condition {
        Expr::Call(_) => 1.0,
        // Half of the elements are looked at, on average.
        Expr::ArrayOp(op) => return 0.5 * elements(&op.right),
        _ => 0.0,
    };
    walk::each_child(condition, &mut |child| count += operators_of(child));
    count
}
