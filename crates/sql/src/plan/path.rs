//! Ways to the rows of one table, and which of them costs least.
//!
//! A [`Path`] names the conditions that it goes by, not their values. So it can be weighed when the statement is
//! planned, and again when it is run and its parameters are known ([`super::node::Choice`]).

use std::sync::Arc;

use crate::bind::tree::{ArrayArg, Expr};
use crate::bind::walk;
use crate::catalog::{IndexDef, KeySource, TableDef};
use crate::types::Datum;

use super::cost::{self, Access, Bitmap, Cost, Heap, Settings};
use super::estimate::{self, Columns};

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
    pub ranges: Vec<Vec<Clause>>,
    /// Share of rows that bounds keep which are no condition's own.
    pub bounds: f64,
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
    pub clauses: Vec<Clause>,
    /// As in [`IndexPath`].
    pub bounds: f64,
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
                let access = self.access(&leaf.index, &leaf.clauses, leaf.bounds);
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
        let mut all = Access { share: 0.0, lookups: 0.0, ..self.access(&path.index, &[], 1.0) };
        for clauses in &path.ranges {
            let one = self.access(&path.index, clauses, path.bounds);
            all.share += one.share;
            all.lookups += one.lookups;
            all.conditions = one.conditions;
        }
        all.share = all.share.min(1.0);
        all.lookups = all.lookups.max(1.0);
        // Of several ranges the conditions say again what the ranges say.
        let answered = |at: usize| {
            path.ranges.len() == 1 && path.ranges[0].iter().any(|clause| clause.at == at)
        };
        let rest = self.conditions.iter().enumerate().filter(|(at, _)| !answered(*at));
        let rest = rest.map(|(_, condition)| operators_of(condition)).sum();
        let correlation = self.correlation(&path.index);
        cost::index_scan(self.settings, self.heap, &all, correlation, path.only, rest)
    }

    fn access(&self, index: &IndexDef, clauses: &[Clause], bounds: f64) -> Access {
        let pages = (self.index_pages)(index);
        let entries = Access::entries_of(index.predicate.is_some(), pages, self.heap.rows);
        let of = clauses.iter().map(|clause| clause.of(self.conditions));
        let share = estimate::share_of(of.clone(), self.heap.rows, self.columns) * bounds;
        let share = share.min(entries / self.heap.rows.max(1.0));
        let lookups = of.map(lookups).product();
        let conditions = clauses.len() as f64;
        Access { method: index.method, pages, entries, share, lookups, conditions }
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

fn elements(array: &ArrayArg) -> f64 {
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
