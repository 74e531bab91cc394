//! EXPLAIN's lines about scans that go by indexes.

use syntax::deparse::quote_ident;

use crate::bind::tree::Expr;
use crate::catalog::{IndexDef, TableDef};
use crate::exec::spill::Usage as Memory;
use crate::exec::watch::Watched;
use crate::plan::node::{
    BitmapHeapScan, BitmapIndexScan, IndexScan, KeyCondition, KeyRange, KeyValue, Node,
};
use crate::plan::path::Bits;

use super::cost::Costs;
use super::{Names, Printer, in_brackets, scan_names};

impl<'a> Printer<'a> {
    pub(super) fn index_scan(
        &mut self,
        node: &'a Node,
        scan: &'a IndexScan,
        depth: usize,
    ) -> Names {
        let way = if scan.backward { " Backward" } else { "" };
        let index = quote_ident(&scan.index.name);
        let (on, entry) = self.names.enter(&scan.table.name, &scan.alias);
        let only = if scan.only { " Only" } else { "" };
        self.head(depth, format!("Index{only} Scan{way} using {index} on {on}"), node);
        let names = scan_names(&scan.table, &scan.outputs);
        self.index_cond(depth, &scan.table, &scan.index, &scan.ranges, &names);
        let mark = self.lines.len();
        let names = self.scan_filter(depth, node, &scan.filter, names, &entry);
        if scan.only {
            // Before the sub-selects of the filter.
            let below = self.inputs_from(mark, depth);
            self.between(below, |p| p.heap_fetches(depth, node));
        }
        names
    }

    /// How often an index-only scan looked at the table.
    fn heap_fetches(&mut self, depth: usize, node: &Node) {
        let Some(profile) = &self.profile else { return };
        let fetches = profile.of(node).map_or(0, |watched| Watched::get(&watched.heap_fetches));
        self.detail(depth, "Heap Fetches", &fetches.to_string());
    }

    /// What ranges of an index say together.
    fn index_cond(
        &mut self,
        depth: usize,
        table: &TableDef,
        index: &IndexDef,
        ranges: &[KeyRange],
        names: &Names,
    ) {
        let of_ranges: Vec<Vec<String>> =
            ranges.iter().map(|range| self.range_conditions(table, index, range, names)).collect();
        let text = match &of_ranges[..] {
            [conditions] => all_of(conditions),
            ranges => any_of(&ranges.iter().map(|range| all_of(range)).collect::<Vec<_>>()),
        };
        if !text.is_empty() {
            self.detail(depth, "Index Cond", &text);
        }
    }

    /// What a range says, in the order of keys.
    fn range_conditions(
        &self,
        table: &TableDef,
        index: &IndexDef,
        range: &KeyRange,
        names: &Names,
    ) -> Vec<String> {
        let mut conditions: Vec<(usize, String)> = Vec::new();
        let key = |i: usize| match index.keys.get(i) {
            Some(key) => key.source.name(table),
            None => "?".to_owned(),
        };
        for (i, value) in range.equal.iter().enumerate() {
            conditions.push((i, self.value_condition(&key(i), value, names)));
        }
        let next = range.equal.len();
        let bound = |i: usize, symbol: &str, expr: &Expr, inclusive: bool| {
            let equal = if inclusive { "=" } else { "" };
            format!("({} {symbol}{equal} {})", key(i), self.text(expr, names))
        };
        for (end, symbol) in [(&range.lower, ">"), (&range.upper, "<")] {
            if let Some((expr, inclusive)) = end {
                conditions.push((next, bound(next, symbol, expr, *inclusive)));
            }
        }
        for test in &range.tests {
            let i = test.column;
            let text = match &test.what {
                KeyCondition::Value(value) => self.value_condition(&key(i), value, names),
                KeyCondition::NotNull => format!("({} IS NOT NULL)", key(i)),
                KeyCondition::Lower(expr, inclusive) => bound(i, ">", expr, *inclusive),
                KeyCondition::Upper(expr, inclusive) => bound(i, "<", expr, *inclusive),
            };
            conditions.push((i, text));
        }
        conditions.sort_by_key(|(column, _)| *column);
        conditions.into_iter().map(|(_, text)| text).collect()
    }

    fn value_condition(&self, key: &str, value: &KeyValue, names: &Names) -> String {
        match value {
            KeyValue::Is(expr) => format!("({key} = {})", self.text(expr, names)),
            KeyValue::IsNull => format!("({key} IS NULL)"),
            KeyValue::AnyOf(expr) => format!("({key} = ANY ({}))", self.text(expr, names)),
        }
    }

    pub(super) fn bitmap_scan(
        &mut self,
        node: &'a Node,
        scan: &'a BitmapHeapScan,
        depth: usize,
    ) -> Names {
        let (on, entry) = self.names.enter(&scan.table.name, &scan.alias);
        self.head(depth, format!("Bitmap Heap Scan on {on}"), node);
        let names = scan_names(&scan.table, &scan.outputs);
        self.filter(depth, "Recheck Cond", scan.recheck.as_ref(), &names);
        self.rechecked(depth, node);
        let mark = self.lines.len();
        let above = self.scan_filter(depth, node, &scan.filter, names.clone(), &entry);
        // Before the sub-selects of the filter.
        let below = self.inputs_from(mark, depth);
        self.between(below, |p| {
            p.heap_blocks(depth, node);
            p.bits(depth + 1, scan, &scan.bits, &names);
        });
        above
    }

    /// How many rows did not pass when they were tested again.
    fn rechecked(&mut self, depth: usize, node: &Node) {
        let Some(watched) = self.profile.as_ref().and_then(|profile| profile.of(node)) else {
            return;
        };
        let loops = Watched::get(&watched.loops).max(1);
        let count = Watched::get(&watched.rechecked);
        if count > 0 {
            let each = count as f64 / loops as f64;
            self.detail(depth, "Rows Removed by Index Recheck", &format!("{each:.0}"));
        }
    }

    /// Which pages of the table were visited.
    fn heap_blocks(&mut self, depth: usize, node: &Node) {
        let Some(Memory::Pages { exact, lossy }) = self.memory(node) else { return };
        let counts = [("exact", exact), ("lossy", lossy)];
        let shown: Vec<String> = counts
            .iter()
            .filter(|(_, count)| *count > 0)
            .map(|(kind, count)| format!("{kind}={count}"))
            .collect();
        if !shown.is_empty() {
            self.detail(depth, "Heap Blocks", &shown.join(" "));
        }
    }

    /// How the addresses are had.
    fn bits(
        &mut self,
        depth: usize,
        scan: &'a BitmapHeapScan,
        bits: &'a Bits<BitmapIndexScan>,
        names: &Names,
    ) {
        let mut line = match bits {
            Bits::Index(leaf) => format!("Bitmap Index Scan on {}", quote_ident(&leaf.index.name)),
            Bits::And(_) => "BitmapAnd".to_owned(),
            Bits::Or(_) => "BitmapOr".to_owned(),
        };
        if self.costs {
            line.push_str(&in_brackets(Costs { backend: &*self.backend }.bits(scan, bits)));
        }
        let place = std::ptr::from_ref(bits).addr();
        let watched = self.profile.as_ref().map(|profile| profile.of_part(place));
        if let Some(watched) = &watched {
            self.watched(&mut line, watched.as_deref());
        }
        self.line(depth, line);
        if let Some(watched) = watched.flatten() {
            self.used_by(depth, &watched.used());
        }
        match bits {
            Bits::Index(leaf) => {
                self.index_cond(depth, &scan.table, &leaf.index, &leaf.ranges, names);
            }
            Bits::And(parts) | Bits::Or(parts) => {
                parts.iter().for_each(|part| self.bits(depth + 1, scan, part, names));
            }
        }
    }
}

/// Conditions joined by AND, in brackets if they are several.
fn all_of(conditions: &[String]) -> String {
    match conditions {
        [] => String::new(),
        [only] => only.clone(),
        all => format!("({})", all.join(" AND ")),
    }
}

fn any_of(conditions: &[String]) -> String {
    format!("({})", conditions.join(" OR "))
}
