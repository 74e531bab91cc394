//! The printer of expressions.

use std::borrow::Cow;

use super::Style;
use super::ident::{literal, quote_ident, stored_ident, unqualified_builtin};
use super::rewrite::rewrite;
use super::types::type_name;
use crate::ast::*;

/// The text of an expression as `pg_get_expr` gives it.
pub fn expr(expr: &Expr, style: Style) -> Option<String> {
    let mut printer = Printer { out: String::new(), style, indent: 0 };
    printer.expr(expr)?;
    Some(printer.out)
}

/// Where an operand stands: operators of one rank group to the left.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    Left,
    Other,
}

pub(super) struct Printer {
    pub(super) out: String,
    style: Style,
    /// Columns that a CASE inside a CASE is moved in by.
    indent: usize,
}

/// `None`: not an expression that a catalog holds.
pub(super) type Printed = Option<()>;

impl Printer {
    pub(super) fn push(&mut self, text: &str) {
        self.out.push_str(text);
    }

    /// Parentheses that only the plain style has.
    fn grouped(&mut self, inside: impl FnOnce(&mut Self) -> Printed) -> Printed {
        let plain = self.style != Style::Pretty;
        if plain {
            self.out.push('(');
        }
        inside(self)?;
        if plain {
            self.out.push(')');
        }
        Some(())
    }

    /// An operand: the pretty style puts it in parentheses unless it reads well without.
    fn operand(&mut self, node: &Expr, parent: &Expr) -> Printed {
        self.operand_at(node, parent, Place::Other)
    }

    fn operand_at(&mut self, node: &Expr, parent: &Expr, place: Place) -> Printed {
        let node = &*rewrite(node, self.style);
        if self.style != Style::Pretty || reads_alone(node, parent, place) {
            return self.expr(node);
        }
        self.out.push('(');
        self.expr(node)?;
        self.out.push(')');
        Some(())
    }

    pub(super) fn exprs(&mut self, exprs: &[Expr]) -> Printed {
        for (index, expr) in exprs.iter().enumerate() {
            if index > 0 {
                self.push(", ");
            }
            self.expr(expr)?;
        }
        Some(())
    }

    pub(super) fn expr(&mut self, node: &Expr) -> Printed {
        let node: Cow<'_, Expr> = rewrite(node, self.style);
        let node = &*node;
        match node {
            Expr::Column(column) => {
                let quoted = match self.style {
                    Style::Untyped => stored_ident,
                    _ => quote_ident,
                };
                let path: Vec<Cow<'_, str>> = column.path.iter().map(|part| quoted(part)).collect();
                self.push(&path.join("."));
                Some(())
            }
            Expr::Const(constant) => {
                self.constant(&constant.value);
                Some(())
            }
            Expr::Param(param) => {
                self.push(&format!("${}", param.number));
                Some(())
            }
            Expr::Unary(_) | Expr::Binary(_) | Expr::Quantified(_) => self.operator(node),
            Expr::InList(list) => self.grouped(|printer| {
                printer.operand(&list.arg, node)?;
                printer.push(if list.negated { " NOT IN (" } else { " IN (" });
                printer.listed("", &list.list, ")")
            }),
            Expr::And(_) | Expr::Or(_) | Expr::Not(_) => self.boolean(node),
            Expr::IsNull(_) | Expr::IsBool(_) | Expr::IsDistinct(_) => self.test(node),
            Expr::NullIf(nullif) => {
                self.push("NULLIF(");
                self.expr(&nullif.left)?;
                self.push(", ");
                self.expr(&nullif.right)?;
                self.push(")");
                Some(())
            }
            Expr::Coalesce(list) => self.listed("COALESCE(", &list.args, ")"),
            Expr::Greatest(list) => self.listed("GREATEST(", &list.args, ")"),
            Expr::Least(list) => self.listed("LEAST(", &list.args, ")"),
            Expr::Array(list) => self.listed("ARRAY[", &list.args, "]"),
            Expr::Row(row) => self.listed("ROW(", &row.args, ")"),
            Expr::Case(case) => self.case(case),
            Expr::Cast(cast) => self.cast(cast, node),
            Expr::Collate(collate) => self.grouped(|printer| {
                printer.operand(&collate.arg, node)?;
                printer.push(" COLLATE ");
                printer.push(&unqualified_builtin(&collate.collation));
                Some(())
            }),
            Expr::Indirection(access) => self.indirection(access, node),
            Expr::Func(call) => self.call(call),
            Expr::SqlValue(value) => {
                self.sql_value(value);
                Some(())
            }
            _ => None,
        }
    }

    fn listed(&mut self, open: &str, args: &[Expr], close: &str) -> Printed {
        self.push(open);
        self.exprs(args)?;
        self.push(close);
        Some(())
    }

    /// A number is bare if reading it back gives the same type, else a typed string.
    fn constant(&mut self, value: &Literal) {
        let text = match value {
            Literal::Null => "NULL".to_string(),
            Literal::Bool(value) => value.to_string(),
            Literal::Integer(value) => match i32::try_from(*value) {
                Ok(small) if small >= 0 => small.to_string(),
                Ok(small) => format!("'{small}'::integer"),
                Err(_) => format!("'{value}'::bigint"),
            },
            Literal::Numeric(text) if text.starts_with('-') => format!("'{text}'::numeric"),
            Literal::Numeric(text) => text.to_string(),
            Literal::String(text) => literal(text),
            Literal::Bits(text) => {
                let (radix, digits) = text.split_at(text.len().min(1));
                format!("{}'{digits}'", radix.to_ascii_uppercase())
            }
        };
        self.push(&text);
    }

    fn operator_symbol(&mut self, op: &Operator) {
        match &op.schema[..] {
            [] => self.push(&op.symbol),
            [only] if &**only == "pg_catalog" => self.push(&op.symbol),
            path => {
                let path: Vec<Cow<'_, str>> = path.iter().map(|part| quote_ident(part)).collect();
                self.push(&format!("OPERATOR({}.{})", path.join("."), op.symbol));
            }
        }
    }

    fn operator(&mut self, node: &Expr) -> Printed {
        let rows = matches!(node, Expr::Binary(binary)
            if matches!((&binary.left, &binary.right), (Expr::Row(_), Expr::Row(_))));
        if rows && self.style == Style::Pretty {
            self.push("(");
            self.operation(node)?;
            self.push(")");
            return Some(());
        }
        self.grouped(|printer| printer.operation(node))
    }

    /// An operator with its operands.
    fn operation(&mut self, node: &Expr) -> Printed {
        match node {
            Expr::Unary(unary) => {
                const INFIX_ONLY: &[&str] = &["*", "/", "%", "^", "<", ">", "=", "<=", ">=", "<>"];
                if INFIX_ONLY.contains(&&*unary.op.symbol) {
                    // Only its full name can stand before its operand.
                    self.push(&format!("OPERATOR(pg_catalog.{})", unary.op.symbol));
                } else {
                    self.operator_symbol(&unary.op);
                }
                self.push(" ");
                self.operand(&unary.arg, node)
            }
            Expr::Binary(binary) => {
                self.operand_at(&binary.left, node, Place::Left)?;
                self.push(" ");
                self.operator_symbol(&binary.op);
                self.push(" ");
                self.operand(&binary.right, node)
            }
            Expr::Quantified(quantified) => {
                self.operand(&quantified.left, node)?;
                self.push(" ");
                self.operator_symbol(&quantified.op);
                self.push(match quantified.quantifier {
                    Quantifier::Any => " ANY (",
                    Quantifier::All => " ALL (",
                });
                self.operand(&quantified.array, node)?;
                self.push(")");
                Some(())
            }
            _ => None,
        }
    }

    fn boolean(&mut self, node: &Expr) -> Printed {
        self.grouped(|printer| {
            let (args, word) = match node {
                Expr::Not(not) => {
                    printer.push("NOT ");
                    return printer.operand(&not.arg, node);
                }
                Expr::And(list) => (&list.args, " AND "),
                Expr::Or(list) => (&list.args, " OR "),
                _ => return None,
            };
            for (index, arg) in args.iter().enumerate() {
                if index > 0 {
                    printer.push(word);
                }
                printer.operand(arg, node)?;
            }
            Some(())
        })
    }

    /// `IS …`.
    fn test(&mut self, node: &Expr) -> Printed {
        self.grouped(|printer| match node {
            Expr::IsNull(test) => {
                printer.operand(&test.arg, node)?;
                printer.push(if test.negated { " IS NOT NULL" } else { " IS NULL" });
                Some(())
            }
            Expr::IsBool(test) => {
                printer.operand(&test.arg, node)?;
                printer.push(if test.negated { " IS NOT " } else { " IS " });
                printer.push(match test.value {
                    Some(true) => "TRUE",
                    Some(false) => "FALSE",
                    None => "UNKNOWN",
                });
                Some(())
            }
            Expr::IsDistinct(test) => {
                printer.operand(&test.left, node)?;
                printer.push(" IS DISTINCT FROM ");
                printer.operand(&test.right, node)
            }
            _ => None,
        })
    }

    /// On lines of its own, moved in.
    fn case(&mut self, case: &CaseExpr) -> Printed {
        self.line("CASE");
        self.indent += 4;
        if let Some(arg) = &case.arg {
            self.push(" ");
            self.expr(arg)?;
        }
        for when in &case.whens {
            self.line("WHEN ");
            self.expr(&when.when)?;
            self.push(" THEN ");
            self.expr(&when.then)?;
        }
        self.line("ELSE ");
        match &case.default {
            Some(default) => self.expr(default)?,
            None => self.push("NULL"),
        }
        self.indent -= 4;
        self.line("END");
        Some(())
    }

    fn line(&mut self, word: &str) {
        self.out.truncate(self.out.trim_end_matches(' ').len());
        self.out.push('\n');
        self.out.extend(std::iter::repeat_n(' ', self.indent));
        self.push(word);
    }

    fn cast(&mut self, cast: &CastExpr, node: &Expr) -> Printed {
        match &cast.arg {
            // A typed literal, not a conversion.
            Expr::Const(Const { value: value @ (Literal::String(_) | Literal::Null), .. }) => {
                self.constant(value);
            }
            arg => self.grouped(|printer| printer.operand(arg, node))?,
        }
        self.push("::");
        self.push(&type_name(&cast.target)?);
        Some(())
    }

    fn indirection(&mut self, access: &IndirectionExpr, node: &Expr) -> Printed {
        let field_first = matches!(access.steps.first(), Some(Indirection::Field(_)));
        if matches!(access.arg, Expr::Column(_)) && !field_first {
            self.operand(&access.arg, node)?;
        } else {
            self.push("(");
            self.expr(&access.arg)?;
            self.push(")");
        }
        for step in &access.steps {
            match step {
                Indirection::Star => return None,
                Indirection::Field(name) => {
                    self.push(".");
                    self.push(&quote_ident(name));
                }
                Indirection::Index(index) => {
                    self.push("[");
                    self.expr(index)?;
                    self.push("]");
                }
                Indirection::Slice { lower, upper } => {
                    self.push("[");
                    lower.iter().try_for_each(|lower| self.expr(lower))?;
                    self.push(":");
                    upper.iter().try_for_each(|upper| self.expr(upper))?;
                    self.push("]");
                }
            }
        }
        Some(())
    }
}

/// Does `node` read well as an operand of `parent` without parentheses? PostgreSQL's rule, which
/// knows the precedence of `+ - * / %` and of AND, OR, NOT, and trusts nothing else.
fn reads_alone(node: &Expr, parent: &Expr, place: Place) -> bool {
    match node {
        Expr::Column(_) | Expr::Const(_) | Expr::Param(_) | Expr::SqlValue(_) => true,
        Expr::Func(_) | Expr::Coalesce(_) | Expr::Greatest(_) | Expr::Least(_) => true,
        Expr::NullIf(_) | Expr::Array(_) | Expr::Row(_) | Expr::Case(_) => true,
        Expr::Indirection(_) => true,
        Expr::Cast(cast) => reads_alone(&cast.arg, node, Place::Other),
        Expr::Binary(binary) if matches!(parent, Expr::Binary(_)) => {
            arithmetic_reads_alone(binary, parent, place)
        }
        Expr::And(_) | Expr::Not(_) => match parent {
            Expr::And(_) | Expr::Or(_) => true,
            _ => is_enclosed(parent),
        },
        Expr::Or(_) => matches!(parent, Expr::Or(_)) || is_enclosed(parent),
        Expr::Binary(_)
        | Expr::Unary(_)
        | Expr::IsNull(_)
        | Expr::IsBool(_)
        | Expr::IsDistinct(_) => {
            matches!(parent, Expr::And(_) | Expr::Or(_) | Expr::Not(_)) || is_enclosed(parent)
        }
        _ => false,
    }
}

/// Has the parent brackets of its own around its operands?
fn is_enclosed(parent: &Expr) -> bool {
    matches!(
        parent,
        Expr::Func(_)
            | Expr::Indirection(_)
            | Expr::Array(_)
            | Expr::Row(_)
            | Expr::Coalesce(_)
            | Expr::Greatest(_)
            | Expr::Least(_)
            | Expr::NullIf(_)
            | Expr::Case(_)
    )
}

fn arithmetic_reads_alone(inner: &BinaryExpr, parent: &Expr, place: Place) -> bool {
    let Expr::Binary(outer) = parent else { return false };
    let rank = |op: &Operator| match &*op.symbol {
        "+" | "-" => Some(1),
        "*" | "/" | "%" => Some(2),
        _ => None,
    };
    match (rank(&inner.op), rank(&outer.op)) {
        (Some(inner), Some(outer)) if inner == outer => place == Place::Left,
        (Some(inner), Some(outer)) => inner > outer,
        _ => false,
    }
}
