//! Typed expressions back to SQL text: stored defaults and constraints, EXPLAIN, `\d`.

use syntax::deparse::{literal, quote_ident};

use crate::types::{Datum, IoContext, TypeId, fill_in, output_string};

use super::tree::{
    ArrayArg, Call, Collate, Comparison, Const, Expr, Shape, SubLinkKind, SubscriptStep, Ty,
    WindowFunc,
};
use super::types::display;

/// What the text needs beyond the expression.
pub struct Deparser<'a> {
    pub io: &'a IoContext<'a>,
    /// The name of a column, slot or parameter.
    pub name: &'a dyn Fn(&Expr) -> String,
    /// Everything on one line, as EXPLAIN has it.
    pub one_line: bool,
    /// IN has its list, and is no comparison with an array's elements: what is stored is to be bound again as what it was.
    pub keeps_lists: bool,
}

impl Deparser<'_> {
    /// The expression's text. Casts that nobody wrote are left out at the top.
    pub fn expr(&self, expr: &Expr) -> String {
        let mut out = String::new();
        self.put(expr, false, &mut out);
        out
    }

    fn list(&self, exprs: &[Expr], out: &mut String) {
        for (i, expr) in exprs.iter().enumerate() {
            if i > 0 {
                out.push_str(", ");
            }
            self.put(expr, true, out);
        }
    }

    fn put(&self, expr: &Expr, implicit: bool, out: &mut String) {
        match expr {
            Expr::Const(c) => self.constant(c, out),
            Expr::Param(p) => out.push_str(&format!("${}", p.index + 1)),
            Expr::Var(_) | Expr::Slot(_) | Expr::Exec(_) | Expr::Element(_) => {
                out.push_str(&(self.name)(expr));
            }
            // Only the names of the record's fields are added there.
            Expr::Call(call) if std::ptr::eq(call.func, &crate::func::NAMED) => {
                self.put(&call.args[0], implicit, out);
            }
            Expr::Call(call) => self.call(call, implicit, out),
            Expr::And(args) => self.infix(args, " AND ", out),
            Expr::Or(args) => self.infix(args, " OR ", out),
            Expr::Not(arg) => {
                out.push_str("(NOT ");
                self.put(arg, false, out);
                out.push(')');
            }
            Expr::IsNull(n) => {
                out.push('(');
                self.put(&n.arg, true, out);
                out.push_str(if n.negated { " IS NOT NULL)" } else { " IS NULL)" });
            }
            Expr::IsBool(n) => {
                out.push('(');
                self.put(&n.arg, false, out);
                out.push_str(if n.negated { " IS NOT " } else { " IS " });
                out.push_str(match n.value {
                    Some(true) => "TRUE",
                    Some(false) => "FALSE",
                    None => "UNKNOWN",
                });
                out.push(')');
            }
            Expr::Case(_) => self.case(expr, out),
            Expr::Coalesce(l) => self.words("COALESCE", &l.args, out),
            Expr::MinMax(m) => {
                self.words(if m.greatest { "GREATEST" } else { "LEAST" }, &m.args, out);
            }
            Expr::Distinct(d) => {
                let words = if d.negated { "IS NOT DISTINCT FROM" } else { "IS DISTINCT FROM" };
                self.binary(&d.equal, words, out);
            }
            Expr::NullIf(n) => self.words("NULLIF", &n.equal.args, out),
            Expr::ArrayOp(_) => self.array_op(expr, out),
            Expr::Array(a)
                if self.one_line
                    && !a.nested
                    && a.elements.iter().all(|e| matches!(e, Expr::Const(_))) =>
            {
                self.constant_list(&a.elements, out);
            }
            Expr::Array(a) => {
                out.push_str("ARRAY[");
                self.list(&a.elements, out);
                out.push(']');
            }
            Expr::Row(row) => self.words("ROW", &row.args, out),
            Expr::RowCompare(_) => self.row_compare(expr, out),
            Expr::Subscript(_) => self.subscript(expr, out),
            Expr::Field(f) => {
                out.push('(');
                self.put(&f.arg, true, out);
                out.push_str(&format!(").f{}", f.field + 1));
            }
            Expr::Relabel(r) => self.cast(&r.arg, r.ty, r.explicit, implicit, out),
            Expr::Collate(c) => self.collate(c, implicit, out),
            Expr::SortKey(key) => self.put(&key.arg, implicit, out),
            Expr::Narrow(narrow) => self.put(&narrow.arg, implicit, out),
            Expr::ViaText(v) => self.cast(&v.arg, v.ty, v.explicit, implicit, out),
            Expr::ArrayCast(a) => self.cast(&a.arg, a.ty, a.explicit, implicit, out),
            Expr::Aggregate(_) | Expr::Window(_) => self.aggregate(expr, out),
            Expr::Grouping(g) => self.words("GROUPING", &g.args, out),
            Expr::SubLink(link) => out.push_str(match link.kind {
                SubLinkKind::Exists => "EXISTS(SubPlan)",
                _ => "(SubPlan)",
            }),
            Expr::SubPlan(plan) => {
                let hashed = if plan.plan.hashed.is_some() { "hashed " } else { "" };
                out.push_str(&format!("({hashed}SubPlan {})", plan.id + 1));
            }
            Expr::SqlValue(v) => {
                out.push_str(&v.written.to_ascii_uppercase());
                if v.ty.modifier >= 0 {
                    out.push_str(&format!("({})", v.ty.modifier));
                }
            }
            Expr::NextValue(n) => out.push_str(&format!("nextval('{}'::regclass)", n.sequence)),
            Expr::SetToDefault(_) => out.push_str("DEFAULT"),
            Expr::CurrentOf(c) => out.push_str(&format!("CURRENT OF {}", quote_ident(&c.cursor))),
        }
    }

    /// EXPLAIN shows the clause at constants, and elsewhere a cast, as PostgreSQL does.
    fn collate(&self, collate: &Collate, implicit: bool, out: &mut String) {
        let arg = &collate.arg;
        let constant = matches!(arg, Expr::Const(_) | Expr::Param(_));
        if self.one_line && !constant {
            return self.cast(arg, Ty::of(arg.type_id()), true, implicit, out);
        }
        let (open, close) = if self.one_line { ("", "") } else { ("(", ")") };
        out.push_str(open);
        self.put(arg, true, out);
        out.push_str(" COLLATE ");
        let oid = collate.collation.oid;
        match self.io.names.object_name(TypeId::REGCOLLATION, oid) {
            Ok(Some(name)) => out.push_str(&name),
            _ => {
                let (schema, name) = (quote_ident(&collate.schema), quote_ident(&collate.name));
                out.push_str(&format!("{schema}.{name}"));
            }
        }
        out.push_str(close);
    }

    fn row_compare(&self, expr: &Expr, out: &mut String) {
        let Expr::RowCompare(r) = expr else { return };
        let side = |n: usize| -> String {
            let parts = r.columns.iter().map(|(equal, _)| {
                let mut part = String::new();
                self.put(&equal.args[n], true, &mut part);
                part
            });
            parts.collect::<Vec<_>>().join(", ")
        };
        let symbol = match r.op {
            Comparison::Lt => "<",
            Comparison::Le => "<=",
            Comparison::Eq => "=",
            Comparison::Ge => ">=",
            Comparison::Gt => ">",
            Comparison::Ne => "<>",
        };
        out.push_str(&format!("(ROW({}) {symbol} ROW({}))", side(0), side(1)));
    }

    fn subscript(&self, expr: &Expr, out: &mut String) {
        let Expr::Subscript(s) = expr else { return };
        self.operand(&s.arg, out);
        for step in &s.steps {
            out.push('[');
            match step {
                SubscriptStep::Index(index) => self.put(index, false, out),
                SubscriptStep::Slice(lower, upper) => {
                    lower.iter().for_each(|e| self.put(e, false, out));
                    out.push(':');
                    upper.iter().for_each(|e| self.put(e, false, out));
                }
            }
            out.push(']');
        }
        if let Some(value) = &s.assigned {
            out.push_str(" := ");
            self.put(value, false, out);
        }
    }

    fn array_op(&self, expr: &Expr, out: &mut String) {
        let Expr::ArrayOp(op) = expr else { return };
        out.push('(');
        self.put(&op.left, true, out);
        if let ArrayArg::List(list) = &op.right
            && self.keeps_lists
            && list.len() > 1
            && matches!((&*op.symbol, op.all), ("=", false) | ("<>", true))
        {
            self.words(if op.all { " NOT IN " } else { " IN " }, list, out);
            out.push(')');
            return;
        }
        out.push_str(&format!(" {} {} (", op.symbol, if op.all { "ALL" } else { "ANY" }));
        match &op.right {
            ArrayArg::Array(array) => self.put(array, true, out),
            ArrayArg::List(list) => self.constant_list(list, out),
        }
        out.push_str("))");
    }

    fn infix(&self, args: &[Expr], word: &str, out: &mut String) {
        out.push('(');
        for (i, arg) in args.iter().enumerate() {
            if i > 0 {
                out.push_str(word);
            }
            self.put(arg, false, out);
        }
        out.push(')');
    }

    fn words(&self, word: &str, args: &[Expr], out: &mut String) {
        out.push_str(word);
        out.push('(');
        self.list(args, out);
        out.push(')');
    }

    fn binary(&self, call: &Call, symbol: &str, out: &mut String) {
        out.push('(');
        match &call.args[..] {
            [left, right] => {
                self.put(left, true, out);
                out.push_str(&format!(" {symbol} "));
                self.put(right, true, out);
            }
            [arg] => {
                out.push_str(&format!("{symbol} "));
                self.put(arg, true, out);
            }
            _ => {}
        }
        out.push(')');
    }

    fn call(&self, call: &Call, implicit: bool, out: &mut String) {
        match &call.shape {
            Shape::Operator(symbol) => self.binary(call, symbol, out),
            Shape::ImplicitCast => self.cast(&call.args[0], call.ty, false, implicit, out),
            Shape::ExplicitCast => self.cast(&call.args[0], call.ty, true, implicit, out),
            Shape::SqlSyntax if self.in_words(call, out) => {}
            Shape::Function | Shape::SqlSyntax => {
                out.push_str(&quote_ident(call.func.name));
                out.push('(');
                let args = match super::json::has_columns(call.func.source) {
                    true => &call.args[..call.func.args.len()],
                    false => &call.args[..],
                };
                let last = args.len().wrapping_sub(1);
                for (i, arg) in args.iter().enumerate() {
                    if i > 0 {
                        out.push_str(", ");
                    }
                    if i == last && call.variadic {
                        out.push_str("VARIADIC ");
                    }
                    // What a variadic call gathered is shown as it was written.
                    match arg {
                        Expr::Array(a) if i == last && call.func.variadic && !call.variadic => {
                            self.list(&a.elements, out);
                        }
                        Expr::Row(r) if i == last && call.func.variadic => self.list(&r.args, out),
                        arg => self.put(arg, true, out),
                    }
                }
                out.push(')');
            }
        }
    }

    /// A function that was written in SQL's own syntax, as far as PostgreSQL shows it so.
    fn in_words(&self, call: &Call, out: &mut String) -> bool {
        if let ("extract", [Expr::Const(Const { value: Datum::Text(field), .. }), from]) =
            (call.func.name, &call.args[..])
        {
            out.push_str(&format!("EXTRACT({field} FROM "));
            self.put(from, false, out);
            out.push(')');
            return true;
        }
        let pieces: &[(&str, usize)] = match (call.func.name, call.args.len()) {
            ("timezone", 2) => &[("(", 1), (" AT TIME ZONE ", 0), (")", 9)],
            ("overlay", 3) => &[("OVERLAY(", 0), (" PLACING ", 1), (" FROM ", 2), (")", 9)],
            ("overlay", 4) => {
                &[("OVERLAY(", 0), (" PLACING ", 1), (" FROM ", 2), (" FOR ", 3), (")", 9)]
            }
            ("position", 2) => &[("POSITION((", 1), (") IN (", 0), ("))", 9)],
            ("substring", 2) => &[("SUBSTRING(", 0), (" FROM ", 1), (")", 9)],
            ("substring", 3) => &[("SUBSTRING(", 0), (" FROM ", 1), (" FOR ", 2), (")", 9)],
            ("btrim", 1) => &[("TRIM(BOTH FROM ", 0), (")", 9)],
            ("ltrim", 1) => &[("TRIM(LEADING FROM ", 0), (")", 9)],
            ("rtrim", 1) => &[("TRIM(TRAILING FROM ", 0), (")", 9)],
            ("btrim", 2) => &[("TRIM(BOTH ", 1), (" FROM ", 0), (")", 9)],
            ("ltrim", 2) => &[("TRIM(LEADING ", 1), (" FROM ", 0), (")", 9)],
            ("rtrim", 2) => &[("TRIM(TRAILING ", 1), (" FROM ", 0), (")", 9)],
            _ => return false,
        };
        for (words, arg) in pieces {
            out.push_str(words);
            if let Some(arg) = call.args.get(*arg) {
                self.put(arg, false, out);
            }
        }
        true
    }

    fn cast(&self, arg: &Expr, ty: Ty, explicit: bool, implicit: bool, out: &mut String) {
        if !explicit && !implicit {
            return self.put(arg, false, out);
        }
        match arg {
            Expr::Const(c) if matches!(c.value, Datum::Text(_)) || c.value.is_null() => {
                let untyped = Const { ty: Ty::UNKNOWN, ..c.clone() };
                self.constant(&untyped, out);
            }
            arg => {
                out.push('(');
                self.put(arg, false, out);
                out.push(')');
            }
        }
        out.push_str("::");
        out.push_str(&self.type_text(ty));
    }

    /// A type as a cast names it.
    fn type_text(&self, ty: Ty) -> String {
        let text = display(ty);
        let name = |id| self.io.names.enum_name(id).ok().flatten();
        fill_in(&text, name).unwrap_or(text)
    }

    /// An operand that must bind more tightly than what follows.
    fn operand(&self, expr: &Expr, out: &mut String) {
        match expr {
            Expr::Var(_) | Expr::Slot(_) | Expr::Param(_) => self.put(expr, true, out),
            other => {
                out.push('(');
                self.put(other, true, out);
                out.push(')');
            }
        }
    }

    fn case(&self, expr: &Expr, out: &mut String) {
        let Expr::Case(case) = expr else { return };
        // A row is compared with a sub-select's: PostgreSQL shows no more.
        if let ([], Some(row)) = (&case.whens[..], &case.arg) {
            return self.put(row, true, out);
        }
        let (line, indented) = if self.one_line { (" ", " ") } else { ("\n", "\n    ") };
        out.push_str(if self.one_line { "CASE" } else { "\nCASE" });
        if let Some(arg) = &case.arg {
            out.push(' ');
            self.put(arg, true, out);
        }
        for (when, then) in &case.whens {
            out.push_str(indented);
            out.push_str("WHEN ");
            match (when, &case.arg) {
                // The comparison with the subject is not shown.
                (Expr::Call(call), Some(_)) if call.args.len() == 2 => {
                    self.put(&call.args[1], true, out);
                }
                _ => self.put(when, false, out),
            }
            out.push_str(" THEN ");
            self.put(then, true, out);
        }
        out.push_str(indented);
        out.push_str("ELSE ");
        match &case.default {
            Some(default) => self.put(default, true, out),
            None => {
                let null = Const { value: Datum::Null, ty: case.ty, loc: syntax::ast::Loc::NONE };
                self.constant(&null, out);
            }
        }
        out.push_str(line);
        out.push_str("END");
    }

    fn aggregate(&self, expr: &Expr, out: &mut String) {
        let (name, args, star, distinct) = match expr {
            Expr::Aggregate(a) => (a.agg.name, &a.args, a.star, a.distinct),
            Expr::Window(w) => match w.func {
                WindowFunc::Aggregate(agg) => (agg.name, &w.args, w.star, false),
                WindowFunc::Function(func) => (func.name, &w.args, w.star, false),
            },
            _ => return,
        };
        out.push_str(&quote_ident(name));
        out.push('(');
        if distinct {
            out.push_str("DISTINCT ");
        }
        if star {
            out.push('*');
        }
        self.list(args, out);
        out.push(')');
        if let Expr::Window(_) = expr {
            out.push_str(" OVER (?)");
        }
    }

    /// An IN list: an array constant when all its members are constants.
    fn constant_list(&self, list: &[Expr], out: &mut String) {
        let element = list.first().map_or(TypeId::TEXT, Expr::type_id);
        let texts: Option<Vec<String>> = list
            .iter()
            .map(|expr| match expr {
                Expr::Const(c) if c.value.is_null() => Some("NULL".to_owned()),
                Expr::Const(c) => output_string(c.ty.id, &c.value, self.io).ok().map(quote_element),
                _ => None,
            })
            .collect();
        match texts.filter(|_| self.one_line) {
            Some(texts) => {
                let body = texts.join(",").replace('\'', "''");
                out.push_str(&format!("'{{{body}}}'::{}[]", self.type_text(Ty::of(element))));
            }
            None => {
                out.push_str("ARRAY[");
                self.list(list, out);
                out.push(']');
            }
        }
    }

    fn constant(&self, c: &Const, out: &mut String) {
        let id = c.ty.id;
        if c.value.is_null() {
            out.push_str("NULL");
            if id != TypeId::UNKNOWN {
                out.push_str("::");
                out.push_str(&self.type_text(c.ty));
            }
            return;
        }
        let text = match output_string(id, &c.value, self.io) {
            Ok(text) => text,
            Err(_) => format!("{:?}", c.value),
        };
        let number = matches!(id, TypeId::INT4 | TypeId::NUMERIC);
        if number && text.bytes().all(|b| b.is_ascii_digit() || b == b'.') {
            // `5` by itself is an integer: a numeric needs its point to stay one.
            if id == TypeId::INT4 || text.contains('.') {
                out.push_str(&text);
                return;
            }
        }
        if id == TypeId::BOOL {
            out.push_str(if text == "t" { "true" } else { "false" });
            return;
        }
        out.push_str(&literal(&text));
        if id != TypeId::UNKNOWN {
            out.push_str("::");
            out.push_str(&self.type_text(c.ty));
        }
    }
}

fn quote_element(text: String) -> String {
    let plain = !text.is_empty()
        && !text.eq_ignore_ascii_case("null")
        && !text.contains(['"', '\\', '{', '}', ',', ' ', '\t', '\n']);
    if plain { text } else { format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\"")) }
}
