//! EXPLAIN: the plan as PostgreSQL would print it.

mod cost;
mod creating;
mod entries;
mod gate;
mod options;
mod scans;
mod used;
mod with;

use std::sync::Arc;

use base::usage::{self, Usage};
use syntax::ast::{self, Statement};

use crate::bind::Ty;
use crate::bind::deparse::Deparser;
use crate::bind::tree::{Column, Expr, SortExpr};
use crate::bind::walk;
use crate::error::{Result, SqlError};
use crate::exec::spill::Usage as Memory;
use crate::exec::watch::{Profile, Watched};
use crate::exec::{Cx, State, choose};
use crate::plan::node::{
    Aggregate, Choice, ConflictPlan, HashJoin, JoinType, Modify, ModifyAction, NestLoop, Node,
    ScanColumn, WindowAgg,
};
use crate::types::{Datum, TypeId};
use syntax::deparse::quote_ident;

use super::backend::Backend;
use super::client::Client;
use super::portal::Run;
use super::prepare::{is_plannable, plain_field};
use super::{Session, names};
use cost::{Cost, Costs};
use entries::EntryNames;
use options::{Options, changed_settings};
use used::Show;
use with::{own_names, quoted};

/// Bytes of a sorted row beside its values.
const SORT_ROW_BYTES: u64 = 24;
/// Less than this PostgreSQL tells of no sort.
const SORT_KIB_MIN: u64 = 25;

impl Session {
    pub(super) fn explain(
        &mut self,
        explain: &ast::Explain,
        client: &mut dyn Client,
        described: bool,
    ) -> Result<String> {
        let Options { analyze, costs, timing, summary, settings, mut show } = Options::of(explain)?;
        show.times = self.backend.values.hot.times_io;
        let before = usage::so_far();
        let begun = base::clock::now();
        if let Statement::RefreshMaterializedView(_) = &*explain.statement {
            let told = "Utility statements have no plan structure".to_owned();
            return self.send_plan(vec![told], client, described);
        }
        let created = creating::created(&explain.statement)?;
        if let Some(create) = &created
            && !self.would_create(create)?
        {
            return self.send_plan(Vec::new(), client, described);
        }
        let query = created.as_ref().map_or(&*explain.statement, |create| &*create.query);
        let (planned, params) = match query {
            Statement::Execute(execute) => self.prepared_call(execute)?,
            statement if is_plannable(statement) => self.plan_within(statement)?,
            // What they run; nothing is made.
            Statement::DeclareCursor(declare) if !analyze => self.plan_within(&declare.query)?,
            _ => {
                return Err(SqlError::unsupported(
                    "EXPLAIN of this statement is not supported yet",
                ));
            }
        };
        self.backend.permit(&planned)?;
        self.backend.must_be_explained(&planned)?;
        let planning = base::clock::now().since(begun);
        let planning_used = usage::so_far() - before;
        let before = usage::so_far();
        let mut profile = None;
        let begun = base::clock::now();
        if analyze {
            let watched = Arc::new(Profile::default());
            profile = Some(watched.clone());
            let values = params.clone();
            match created {
                Some(create) if planned.fields.is_some() => {
                    self.create_watched(create, &planned, values, watched)?;
                }
                _ => {
                    let mut run = Run::watched(&mut self.backend, &planned, values, Some(watched))?;
                    while run.next(&mut self.backend)?.is_some() {}
                }
            }
        }
        let elapsed = base::clock::now().since(begun);
        let used = usage::so_far() - before;
        let mut printed = |qualified: bool| {
            let mut printer = Printer {
                backend: &mut self.backend,
                state: State::new(&planned.plan, params.clone()),
                lines: Vec::new(),
                params: &params,
                costs,
                timing,
                profile: profile.clone(),
                elapsed_ns: elapsed.as_nanos() as u64,
                used,
                show,
                shown: None,
                sub_plans: Vec::new(),
                names: EntryNames::new(qualified),
            };
            printer.node(&planned.plan.root, 0);
            printer.with_queries(&planned.plan);
            used::put_in_place(&mut printer.lines);
            (printer.lines, printer.names.taken.len() + usize::from(is_insert(&planned.plan.root)))
        };
        // Columns are qualified where there is more than one entry.
        let (mut lines, entries) = printed(false);
        if entries > 1 {
            (lines, _) = printed(true);
        }
        lines.extend(changed_settings(&self.backend.values).filter(|_| settings));
        if show.buffers {
            used::of_planning(show, &planning_used, &mut lines);
        }
        if summary.unwrap_or(analyze) {
            lines.push(format!("Planning Time: {:.3} ms", planning.as_secs_f64() * 1e3));
            if analyze {
                lines.push(format!("Execution Time: {:.3} ms", elapsed.as_secs_f64() * 1e3));
            }
        }
        self.send_plan(lines, client, described)
    }

    fn send_plan(
        &mut self,
        lines: Vec<String>,
        client: &mut dyn Client,
        described: bool,
    ) -> Result<String> {
        let fields = [plain_field("QUERY PLAN", TypeId::TEXT)];
        let rows: Vec<Vec<Datum>> = lines.into_iter().map(|line| vec![Datum::text(line)]).collect();
        self.send_rows(&fields, &rows, client, described)?;
        Ok("EXPLAIN".to_owned())
    }
}

struct Printer<'a> {
    backend: &'a mut Backend,
    /// Where ways are chosen by parameters.
    state: State,
    lines: Vec<String>,
    /// Shown in the parameters' places, as PostgreSQL plans with them.
    params: &'a [Datum],
    costs: bool,
    timing: bool,
    /// What the nodes did, if they were run.
    profile: Option<Arc<Profile>>,
    elapsed_ns: u64,
    /// What the whole plan used.
    used: Usage,
    show: Show,
    /// The projection or filter that the next node is shown with: its rows are the ones that count.
    shown: Option<&'a Node>,
    /// The sub-selects that are shown, of which several expressions may have something.
    sub_plans: Vec<u16>,
    names: EntryNames,
}

/// What the slots of a node's row are called.
type Names = Vec<String>;

impl<'a> Printer<'a> {
    /// A node's first line.
    fn head(&mut self, depth: usize, text: String, node: &'a Node) {
        let shown = self.shown.take().unwrap_or(node);
        let mut line = text;
        if self.costs {
            let cost = Costs { backend: &*self.backend }.of(shown);
            line.push_str(&in_brackets(cost));
        }
        self.did(&mut line, shown);
        self.line(depth, line);
        self.used(depth, shown);
    }

    fn line(&mut self, depth: usize, text: String) {
        let line =
            if depth == 0 { text } else { format!("{}->  {text}", " ".repeat(depth * 6 - 4)) };
        self.lines.push(line);
    }

    /// What a node did, when the plan was run.
    fn did(&self, line: &mut String, node: &Node) {
        let Some(profile) = &self.profile else { return };
        match (profile.of(node), node) {
            // The root of a change is not watched.
            (None, Node::Modify(_)) => {
                let elapsed = self.elapsed_ns as f64;
                self.actual(line, 1, 0.0, (elapsed, elapsed));
            }
            (watched, _) => self.watched(line, watched.as_deref()),
        }
    }

    fn watched(&self, line: &mut String, watched: Option<&Watched>) {
        let Some(watched) = watched else { return self.actual(line, 0, 0.0, (0.0, 0.0)) };
        let loops = Watched::get(&watched.loops);
        let each = |counter| Watched::get(counter) as f64 / loops.max(1) as f64;
        let times = (each(&watched.first_ns), each(&watched.total_ns));
        self.actual(line, loops, each(&watched.rows), times);
    }

    fn actual(&self, line: &mut String, loops: u64, rows: f64, times_ns: (f64, f64)) {
        if loops == 0 {
            line.push_str(" (never executed)");
            return;
        }
        let (first, total) = (times_ns.0 / 1e6, times_ns.1 / 1e6);
        let time = match self.timing {
            true => format!("time={first:.3}..{total:.3} "),
            false => String::new(),
        };
        line.push_str(&format!(" (actual {time}rows={rows:.0} loops={loops})"));
    }

    /// How a sort went. What one in memory needed is told by the rows that came out and the
    /// estimate of a row's width, and as at least [`SORT_KIB_MIN`].
    fn sorted(&mut self, depth: usize, node: &Node) {
        let done = self.profile.as_ref().and_then(|profile| profile.of(node));
        let Some(done) = done.filter(|done| Watched::get(&done.loops) > 0) else { return };
        if let Some(Memory::ExternalMerge { disk_bytes }) = done.memory() {
            let kib = disk_bytes.div_ceil(1024);
            self.detail(depth, "Sort Method", &format!("external merge  Disk: {kib}kB"));
            return;
        }
        let each = Watched::get(&done.rows) / Watched::get(&done.loops);
        let width = Costs { backend: &*self.backend }.of(node).width;
        let bytes = each * (u64::from(width) + SORT_ROW_BYTES);
        let kib = bytes.div_ceil(1024).max(SORT_KIB_MIN);
        let method = match done.memory() {
            Some(Memory::Sort { top: true }) => "top-N heapsort",
            _ => "quicksort",
        };
        self.detail(depth, "Sort Method", &format!("{method}  Memory: {kib}kB"));
    }

    /// How many rows a node's own condition dropped.
    fn removed(&mut self, depth: usize, node: &Node, below: Option<&Node>) {
        let Some(profile) = &self.profile else { return };
        let of = |node: &Node| {
            profile.of(node).map_or((0, 0), |watched| {
                (Watched::get(&watched.removed), Watched::get(&watched.loops))
            })
        };
        let (all, loops) = of(node);
        let own = all.saturating_sub(below.map_or(0, |below| of(below).0));
        if own > 0 {
            let each = own as f64 / loops.max(1) as f64;
            self.detail(depth, "Rows Removed by Filter", &format!("{each:.0}"));
        }
    }

    fn detail(&mut self, depth: usize, label: &str, text: &str) {
        self.lines.push(format!("{}{label}: {text}", " ".repeat(depth * 6 + 2)));
    }

    fn text(&self, expr: &Expr, names: &Names) -> String {
        let io = self.backend.io();
        let name = |expr: &Expr| match expr {
            Expr::Slot(slot) => {
                names.get(usize::from(slot.slot)).cloned().unwrap_or_else(|| "?".to_owned())
            }
            Expr::Exec(slot) => self.names.outer(slot.slot),
            _ => "?".to_owned(),
        };
        let deparser = Deparser { io: &io, name: &name, one_line: true, keeps_lists: false };
        if self.params.is_empty() {
            return deparser.expr(expr);
        }
        let mut expr = expr.clone();
        put_values(&mut expr, self.params);
        deparser.expr(&expr)
    }

    fn filter(&mut self, depth: usize, label: &str, expr: Option<&Expr>, names: &Names) {
        if let Some(expr) = expr {
            let mut text = self.text(expr, names);
            if !text.starts_with('(') {
                text = format!("({text})");
            }
            self.detail(depth, label, &text);
        }
    }

    /// The sub-selects in a node's expressions, below the node.
    fn sub_selects(&mut self, exprs: &'a [Expr], depth: usize, names: &Names) {
        for expr in exprs {
            self.sub_select(expr, depth, names);
        }
    }

    fn sub_select(&mut self, expr: &'a Expr, depth: usize, names: &Names) {
        if let Expr::SubPlan(plan) = expr
            && !self.sub_plans.contains(&plan.id)
        {
            self.sub_plans.push(plan.id);
            for (slot, value) in &plan.args {
                let text = self.text(value, names);
                self.names.set_outer(*slot, text);
            }
            self.sub_plan(&format!("SubPlan {}", plan.id + 1), &plan.plan.root, depth);
            if let Some(members) = &plan.plan.members {
                self.sub_plan(&format!("SubPlan {}, hashed", plan.id + 1), &members.root, depth);
            }
        }
        walk::each_child(expr, &mut |child| self.sub_select(child, depth, names));
    }

    fn sub_plan(&mut self, label: &str, root: &'a Node, depth: usize) {
        self.lines.push(format!("{}{label}", " ".repeat(depth * 6 + 2)));
        let (shown, mark) = (self.shown.take(), self.lines.len());
        self.node(root, depth + 1);
        self.lines[mark..].iter_mut().for_each(|line| line.insert_str(0, "  "));
        self.shown = shown;
    }

    /// Prints a node and what is below it; the names of its row's slots.
    fn node(&mut self, node: &'a Node, depth: usize) -> Names {
        match node {
            // Conditions and projections belong to the node below, as PostgreSQL shows it.
            Node::Filter(filter) => {
                self.shown.get_or_insert(node);
                let mark = self.lines.len() + 1;
                let names = self.node(&filter.input, depth);
                let own = own_names(&filter.input);
                let of_filter = own.as_ref().unwrap_or(&names);
                // Among the node's own lines, before its inputs.
                let below = self.inputs_from(mark, depth);
                self.between(below, |p| {
                    p.filter(depth, "Filter", Some(&filter.condition), of_filter);
                    p.removed(depth, node, Some(&filter.input));
                });
                self.sub_select(&filter.condition, depth, &names);
                names
            }
            Node::Gate(gate) => self.gate(node, gate, depth),
            Node::Renew(renew) => {
                self.shown.get_or_insert(node);
                self.node(&renew.input, depth)
            }
            Node::Project(project) => {
                self.shown.get_or_insert(node);
                let names = self.node(&project.input, depth);
                self.sub_selects(&project.exprs, depth, &names);
                project.exprs.iter().map(|expr| self.text(expr.bare(), &names)).collect()
            }
            Node::ProjectSet(project) => {
                self.head(depth, "ProjectSet".to_owned(), node);
                let names = self.node(&project.input, depth + 1);
                project.exprs.iter().map(|expr| self.text(expr, &names)).collect()
            }
            Node::NestLoop(join) => self.nest_loop(node, join, depth),
            Node::HashJoin(join) => self.hash_join(node, join, depth),
            Node::Materialize(input) => {
                self.head(depth, "Materialize".to_owned(), node);
                self.node(input, depth + 1)
            }
            Node::Sort(sort) => {
                self.head(depth, "Sort".to_owned(), node);
                let mark = self.lines.len();
                let names = self.node(&sort.input, depth + 1);
                let keys = self.sort_keys(&sort.keys, &names);
                self.between(mark, |p| {
                    p.detail(depth, "Sort Key", &keys);
                    p.sorted(depth, node);
                });
                names
            }
            Node::Limit(limit) => {
                self.head(depth, "Limit".to_owned(), node);
                self.node(&limit.input, depth + 1)
            }
            Node::Unique(unique) => {
                self.head(depth, "Unique".to_owned(), node);
                self.node(&unique.input, depth + 1)
            }
            Node::Aggregate(agg) => self.aggregate(node, agg, depth),
            Node::Window(window) => self.window(node, window, depth),
            Node::Append(inputs) => {
                self.head(depth, "Append".to_owned(), node);
                let mut first = None;
                for input in inputs.iter() {
                    let names = self.node(input, depth + 1);
                    first.get_or_insert(names);
                }
                first.unwrap_or_default()
            }
            Node::SetOp(op) => {
                let words = format!("HashSetOp {:?}{}", op.op, if op.all { " All" } else { "" });
                self.head(depth, words, node);
                let names = self.node(&op.left, depth + 1);
                self.node(&op.right, depth + 1);
                names
            }
            Node::RecursiveUnion(union) => {
                self.head(depth, "Recursive Union".to_owned(), node);
                let names = self.node(&union.first, depth + 1);
                self.node(&union.again, depth + 1);
                names
            }
            Node::LockRows(lock) => {
                self.head(depth, "LockRows".to_owned(), node);
                self.node(&lock.input, depth + 1)
            }
            Node::Modify(modify) => self.modify(node, modify, depth),
            Node::Choice(choice) => {
                let chosen = self.chosen(choice);
                self.node(chosen, depth)
            }
            leaf => self.leaf(leaf, depth),
        }
    }

    fn modify(&mut self, node: &'a Node, modify: &'a Modify, depth: usize) -> Names {
        let verb = match &modify.action {
            ModifyAction::Insert { .. } => "Insert",
            ModifyAction::Update { .. } => "Update",
            ModifyAction::Delete { .. } => "Delete",
        };
        self.head(depth, format!("{verb} on {}", quote_ident(&modify.table.name)), node);
        if let ModifyAction::Insert { on_conflict: Some(conflict) } = &modify.action {
            self.conflict(depth, conflict);
        }
        self.node(&modify.input, depth + 1);
        Vec::new()
    }

    /// The way that was taken, or would be now.
    fn chosen(&mut self, choice: &'a Choice) -> &'a Node {
        let was_run = |node: &Node| {
            let watched = self.profile.as_ref().and_then(|profile| profile.of(node));
            watched.is_some_and(|watched| Watched::get(&watched.loops) > 0)
        };
        let taken = choice.ways.iter().position(|(_, node)| was_run(node));
        let mut cx = Cx { state: &mut self.state, host: self.backend };
        // The first is always possible.
        let at = taken.or_else(|| choose(choice, &mut cx).ok()).unwrap_or(0);
        &choice.ways[at].1
    }

    /// Nodes without inputs.
    fn leaf(&mut self, node: &'a Node, depth: usize) -> Names {
        match node {
            Node::OneRow(filter) => {
                self.head(depth, "Result".to_owned(), node);
                self.one_time_filter(depth, filter.as_deref());
                Vec::new()
            }
            Node::Values(rows) => {
                let single = rows.len() == 1;
                let head = if single { "Result" } else { "Values Scan on \"*VALUES*\"" };
                self.head(depth, head.to_owned(), node);
                let width = rows.first().map_or(0, Vec::len);
                (1..=width).map(|i| format!("column{i}")).collect()
            }
            Node::SeqScan(scan) => {
                let (on, entry) = self.names.enter(&scan.table.name, &scan.alias);
                self.head(depth, format!("Seq Scan on {on}"), node);
                let names = scan_names(&scan.table, &scan.outputs);
                self.scan_filter(depth, node, &scan.filter, names, &entry)
            }
            Node::IndexScan(scan) => self.index_scan(node, scan, depth),
            Node::BitmapHeapScan(scan) => self.bitmap_scan(node, scan, depth),
            Node::TidScan(scan) => {
                let (on, entry) = self.names.enter(&scan.table.name, &scan.alias);
                self.head(depth, format!("Tid Scan on {on}"), node);
                let names = scan_names(&scan.table, &scan.outputs);
                let text = self.text(&scan.tids, &names);
                match &scan.tids {
                    Expr::CurrentOf(_) => self.detail(depth, "TID Cond", &text),
                    tids if tids.type_id() == TypeId::TID => {
                        self.detail(depth, "TID Cond", &format!("(ctid = {text})"));
                    }
                    _ => self.detail(depth, "TID Cond", &format!("(ctid = ANY ({text}))")),
                }
                self.scan_filter(depth, node, &scan.filter, names, &entry)
            }
            Node::FunctionScan(scan) => {
                let name = match scan.calls.first().map(|call| &call.expr) {
                    Some(Expr::Call(call)) => call.func.name,
                    _ => "function",
                };
                let (on, entry) = self.names.enter(name, &scan.alias);
                self.head(depth, format!("Function Scan on {on}"), node);
                self.names.qualify(&entry, quoted(&scan.columns))
            }
            Node::CteScan(scan) => self.kept_scan("CTE Scan", depth, node, scan),
            Node::WorkScan(scan) => self.kept_scan("WorkTable Scan", depth, node, scan),
            _ => Vec::new(),
        }
    }

    fn conflict(&mut self, depth: usize, conflict: &ConflictPlan) {
        let action = if conflict.update.is_some() { "UPDATE" } else { "NOTHING" };
        self.detail(depth, "Conflict Resolution", action);
        let names: Vec<_> = conflict.arbiters.iter().map(|i| quote_ident(&i.name)).collect();
        if !names.is_empty() {
            self.detail(depth, "Conflict Arbiter Indexes", &names.join(", "));
        }
    }

    fn nest_loop(&mut self, node: &'a Node, join: &'a NestLoop, depth: usize) -> Names {
        let word = if join.kind == JoinType::Inner { "" } else { " Join" };
        self.head(depth, format!("Nested Loop{}{word}", join_words(join.kind)), node);
        let mark = self.lines.len();
        let mut names = self.node(&join.outer, depth + 1);
        for (slot, value) in &join.parameters {
            let text = self.text(value, &names);
            self.names.set_outer(*slot, text);
        }
        let inner = self.node(&join.inner, depth + 1);
        names.resize(usize::from(join.outer_width), "?".to_owned());
        let both: Names = names.iter().chain(&inner).cloned().collect();
        self.between(mark, |p| p.filter(depth, "Join Filter", join.condition.as_ref(), &both));
        if inner_hidden(join.kind) { names } else { both }
    }

    fn hash_join(&mut self, node: &'a Node, join: &'a HashJoin, depth: usize) -> Names {
        self.head(depth, format!("Hash{} Join", join_words(join.kind)), node);
        let mark = self.lines.len();
        let mut names = self.node(&join.outer, depth + 1);
        self.hash_table(depth + 1, node, join);
        let inner = self.node(&join.inner, depth + 2);
        names.resize(usize::from(join.outer_width), "?".to_owned());
        let both: Names = names.iter().chain(&inner).cloned().collect();
        let conditions: Vec<String> = join
            .outer_keys
            .iter()
            .zip(&join.inner_keys)
            .map(|(l, r)| format!("({} = {})", self.text(l, &names), self.text(r, &inner)))
            .collect();
        let condition = match &conditions[..] {
            [only] => only.clone(),
            all => format!("({})", all.join(" AND ")),
        };
        self.between(mark, |p| {
            p.detail(depth, "Hash Cond", &condition);
            p.filter(depth, "Join Filter", join.condition.as_ref(), &both);
        });
        if inner_hidden(join.kind) { names } else { both }
    }

    fn aggregate(&mut self, node: &'a Node, agg: &'a Aggregate, depth: usize) -> Names {
        let head = if agg.keys.is_empty() { "Aggregate" } else { "HashAggregate" };
        self.head(depth, head.to_owned(), node);
        let mark = self.lines.len();
        let names = self.node(&agg.input, depth + 1);
        let keys: Vec<String> = agg.keys.iter().map(|e| self.text(e, &names)).collect();
        if !keys.is_empty() {
            let text = keys.join(", ");
            self.between(mark, |p| {
                p.detail(depth, "Group Key", &text);
                p.grouped(depth, node);
            });
        }
        let calls = agg
            .calls
            .iter()
            .map(|call| self.text(&Expr::Aggregate(Box::new(call.clone())), &names));
        keys.iter().cloned().chain(calls.collect::<Vec<_>>()).collect()
    }

    fn window(&mut self, node: &'a Node, window: &'a WindowAgg, depth: usize) -> Names {
        self.head(depth, "WindowAgg".to_owned(), node);
        let mut names = self.node(&window.input, depth + 1);
        for call in &window.calls {
            names.push(self.text(&Expr::Window(Box::new(call.clone())), &names));
        }
        names
    }

    /// Where the lines of a node's inputs begin.
    fn inputs_from(&self, mark: usize, depth: usize) -> usize {
        let arrow = format!("{}->", " ".repeat(depth * 6 + 2));
        let found = self.lines.iter().skip(mark).position(|line| line.starts_with(&arrow));
        found.map_or(self.lines.len(), |at| mark + at)
    }

    /// Puts lines between a node's head and its inputs.
    fn between(&mut self, mark: usize, f: impl FnOnce(&mut Self)) {
        let below = self.lines.split_off(mark);
        f(self);
        self.lines.extend(below);
    }

    fn sort_keys(&self, keys: &[SortExpr], names: &Names) -> String {
        let keys = keys.iter().map(|key| {
            let mut text = self.text(&key.expr, names);
            let computed = |c: char| !(c.is_alphanumeric() || matches!(c, '_' | '.' | '"'));
            if text.contains(computed) {
                text = format!("({text})");
            }
            if key.collation.is_valid() && key.collation != sorted_type(&key.expr).collation() {
                let name = names::collation_name(self.backend, key.collation.oid);
                let name = name.ok().flatten().unwrap_or_default();
                text.push_str(&format!(" COLLATE {name}"));
            }
            if key.desc {
                text.push_str(" DESC");
            }
            match (key.desc, key.nulls_first) {
                (false, true) => text.push_str(" NULLS FIRST"),
                (true, false) => text.push_str(" NULLS LAST"),
                _ => {}
            }
            text
        });
        keys.collect::<Vec<_>>().join(", ")
    }

    /// The condition of a scan, and what it sorted out; what the nodes above call the scan's columns.
    fn scan_filter(
        &mut self,
        depth: usize,
        node: &Node,
        filter: &'a Option<Expr>,
        names: Names,
        entry: &str,
    ) -> Names {
        self.filter(depth, "Filter", filter.as_ref(), &names);
        self.removed(depth, node, None);
        let names = self.names.qualify(entry, names);
        if let Some(filter) = filter {
            self.sub_select(filter, depth, &names);
        }
        names
    }

    /// The inner side of a hash join, as it stands in memory.
    fn hash_table(&mut self, depth: usize, node: &Node, join: &HashJoin) {
        let mut line = "Hash".to_owned();
        if self.costs {
            line.push_str(&in_brackets(Costs { backend: &*self.backend }.hash(join)));
        }
        self.did(&mut line, &join.inner);
        self.line(depth, line);
        self.used(depth, &join.inner);
        if let Some(Memory::Hash { batches, buckets, peak_bytes, .. }) = self.memory(node) {
            let kib = peak_bytes.div_ceil(1024);
            let text = format!("{buckets}  Batches: {batches}  Memory Usage: {kib}kB");
            self.detail(depth, "Buckets", &text);
        }
    }

    fn memory(&self, node: &Node) -> Option<Memory> {
        self.profile.as_ref()?.of(node)?.memory()
    }

    /// What a table of groups took.
    fn grouped(&mut self, depth: usize, node: &Node) {
        let Some(Memory::Hash { batches, peak_bytes, disk_bytes, .. }) = self.memory(node) else {
            return;
        };
        let mut text = format!("{batches}  Memory Usage: {}kB", peak_bytes.div_ceil(1024));
        if disk_bytes > 0 {
            text.push_str(&format!("  Disk Usage: {}kB", disk_bytes / 1024));
        }
        self.detail(depth, "Batches", &text);
    }
}

/// The type of what is sorted by.
fn sorted_type(key: &Expr) -> Ty {
    match key {
        Expr::SortKey(key) => key.arg.ty(),
        other => other.ty(),
    }
}

fn is_insert(node: &Node) -> bool {
    matches!(node, Node::Modify(modify) if matches!(modify.action, ModifyAction::Insert { .. }))
}

fn in_brackets(cost: Cost) -> String {
    let Cost { startup, total, rows, width } = cost;
    format!("  (cost={startup:.2}..{total:.2} rows={rows:.0} width={width})")
}

/// Values in the places of parameters.
fn put_values(expr: &mut Expr, params: &[Datum]) {
    if let Expr::Param(param) = expr
        && let Some(value) = params.get(usize::from(param.index))
    {
        *expr = Expr::constant(value.clone(), param.ty);
        return;
    }
    walk::each_child_mut(expr, &mut |child| put_values(child, params));
}

fn scan_names(table: &crate::catalog::TableDef, outputs: &[ScanColumn]) -> Names {
    outputs
        .iter()
        .map(|output| match output.column {
            Column::User(i) => quote_ident(&table.columns[usize::from(i)].name).into_owned(),
            Column::Ctid => "ctid".to_owned(),
            Column::TableOid => "tableoid".to_owned(),
            Column::Xmin => "xmin".to_owned(),
            Column::Xmax => "xmax".to_owned(),
            Column::Cmin => "cmin".to_owned(),
            Column::Cmax => "cmax".to_owned(),
            Column::Whole => format!("{}.*", table.name),
        })
        .collect()
}

fn inner_hidden(kind: JoinType) -> bool {
    matches!(kind, JoinType::Semi | JoinType::Anti | JoinType::NullAwareAnti)
}

fn join_words(kind: JoinType) -> &'static str {
    match kind {
        JoinType::Inner => "",
        JoinType::Left => " Left",
        JoinType::Right => " Right",
        JoinType::Full => " Full",
        JoinType::Semi => " Semi",
        JoinType::Anti | JoinType::NullAwareAnti => " Anti",
    }
}
