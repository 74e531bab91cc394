//! Functions, and those that SQL writes in words.

use std::borrow::Cow;

use super::expr::{Printed, Printer};
use super::ident::{literal, quote_ident, unqualified_builtin};
use crate::ast::*;

impl Printer {
    pub(super) fn call(&mut self, call: &FuncCall) -> Printed {
        let plain = !call.star
            && !call.distinct
            && !call.within_group
            && call.order_by.is_empty()
            && call.filter.is_none()
            && call.over.is_none();
        if !plain {
            return None;
        }
        if call.sql_syntax && self.in_words(call)? {
            return Some(());
        }
        self.push(&unqualified_builtin(&call.name));
        self.push("(");
        for (index, arg) in call.args.iter().enumerate() {
            if index > 0 {
                self.push(", ");
            }
            if call.variadic && index + 1 == call.args.len() {
                self.push("VARIADIC ");
            }
            if let Some(name) = &arg.name {
                self.push(&quote_ident(name));
                self.push(" => ");
            }
            self.expr(&arg.value)?;
        }
        self.push(")");
        Some(())
    }

    /// Prints pieces of text and arguments by turns.
    fn pieces(&mut self, pieces: &[(&str, &Expr)], end: &str) -> Printed {
        for (text, arg) in pieces {
            self.push(text);
            self.expr(arg)?;
        }
        self.push(end);
        Some(())
    }

    /// A function written in SQL's own syntax; false if it is none that is known.
    fn in_words(&mut self, call: &FuncCall) -> Option<bool> {
        let args: Vec<&Expr> = call.args.iter().map(|arg| &arg.value).collect();
        let trim = match call.name.last() {
            "btrim" => Some("TRIM(BOTH"),
            "ltrim" => Some("TRIM(LEADING"),
            "rtrim" => Some("TRIM(TRAILING"),
            _ => None,
        };
        match (call.name.last(), &args[..]) {
            ("extract", [field, from]) => {
                self.push("EXTRACT(");
                // A word if it can be one.
                let field = text_of(field)?;
                match quote_ident(field) {
                    Cow::Borrowed(word) => self.push(word),
                    Cow::Owned(_) => self.push(&literal(field)),
                }
                self.pieces(&[(" FROM ", from)], ")")?;
            }
            ("timezone", [zone, time]) => {
                self.pieces(&[("(", time), (" AT TIME ZONE ", zone)], ")")?;
            }
            ("timezone", [time]) => self.pieces(&[("(", time)], " AT LOCAL)")?,
            ("overlaps", [a, b, c, d]) => {
                self.pieces(&[("((", a), (", ", b), (") OVERLAPS (", c), (", ", d)], "))")?;
            }
            ("is_normalized", [text]) => self.pieces(&[("(", text)], " IS NORMALIZED)")?,
            ("is_normalized", [text, form]) => {
                let end = format!(" IS {} NORMALIZED)", text_of(form)?);
                self.pieces(&[("(", text)], &end)?;
            }
            ("normalize", [text]) => self.pieces(&[("NORMALIZE(", text)], ")")?,
            ("normalize", [text, form]) => {
                let end = format!(", {})", text_of(form)?);
                self.pieces(&[("NORMALIZE(", text)], &end)?;
            }
            ("pg_collation_for", [arg]) => self.pieces(&[("COLLATION FOR (", arg)], ")")?,
            ("overlay", [text, with, from]) => {
                self.pieces(&[("OVERLAY(", text), (" PLACING ", with), (" FROM ", from)], ")")?;
            }
            ("overlay", [text, with, from, len]) => {
                let pieces =
                    [("OVERLAY(", *text), (" PLACING ", with), (" FROM ", from), (" FOR ", len)];
                self.pieces(&pieces, ")")?;
            }
            ("position", [text, part]) => {
                self.pieces(&[("POSITION((", part), (") IN (", text)], "))")?;
            }
            ("substring", [text, from]) => {
                self.pieces(&[("SUBSTRING(", text), (" FROM ", from)], ")")?;
            }
            ("substring", [text, from, len]) => {
                self.pieces(&[("SUBSTRING(", text), (" FROM ", from), (" FOR ", len)], ")")?;
            }
            (_, [text]) if let Some(trim) = trim => {
                self.push(trim);
                self.pieces(&[(" FROM ", text)], ")")?;
            }
            (_, [text, chars]) if let Some(trim) = trim => {
                self.push(trim);
                self.pieces(&[(" ", chars), (" FROM ", text)], ")")?;
            }
            _ => return Some(false),
        }
        Some(true)
    }

    pub(super) fn sql_value(&mut self, value: &SqlValueExpr) {
        self.push(match value.kind {
            SqlValueKind::CurrentDate => "CURRENT_DATE",
            SqlValueKind::CurrentTime => "CURRENT_TIME",
            SqlValueKind::CurrentTimestamp => "CURRENT_TIMESTAMP",
            SqlValueKind::LocalTime => "LOCALTIME",
            SqlValueKind::LocalTimestamp => "LOCALTIMESTAMP",
            SqlValueKind::CurrentRole => "CURRENT_ROLE",
            SqlValueKind::CurrentUser => "CURRENT_USER",
            SqlValueKind::User => "USER",
            SqlValueKind::SessionUser => "SESSION_USER",
            SqlValueKind::CurrentCatalog => "CURRENT_CATALOG",
            SqlValueKind::CurrentSchema => "CURRENT_SCHEMA",
        });
        if let Some(precision) = value.precision {
            self.push(&format!("({precision})"));
        }
    }
}

/// The word in a string literal, typed or not: a field of EXTRACT, a normalization form.
fn text_of(expr: &Expr) -> Option<&str> {
    match expr {
        Expr::Const(Const { value: Literal::String(text), .. }) => Some(text),
        Expr::Cast(cast) => text_of(&cast.arg),
        _ => None,
    }
}
