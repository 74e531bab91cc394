//! FROM: tables, sub-selects, functions, joins.

use pg_raw_parse::Node;
use pg_raw_parse::list::NodeList;
use pg_raw_parse::nodes as pg;
use pg_raw_parse::raw;

use super::name::{alias, name, qualified, relation, strings};
use super::{Lower, Lowered, loc, unexpected, unsupported, untyped};
use crate::ast::*;

impl Lower {
    pub(super) fn sources(&self, list: &NodeList) -> Lowered<Vec<FromItem>> {
        self.each(list, Self::source)
    }

    pub(super) fn source(&self, node: Node<'_>) -> Lowered<FromItem> {
        self.nested(|| match node {
            Node::RangeVar(range) => Ok(FromItem::Table(Box::new(FromTable {
                relation: relation(range)?,
                alias: alias(range.alias())?,
                sample: None,
            }))),
            Node::RangeTableSample(sample) => self.sample(sample),
            Node::RangeSubselect(sub) => Ok(FromItem::Subquery(Box::new(FromSubquery {
                lateral: sub.lateral,
                query: self.select_node(sub.subquery())?,
                alias: alias(sub.alias())?,
            }))),
            Node::RangeFunction(function) => self.function_source(function),
            Node::JoinExpr(join) => self.join(join),
            Node::RangeTableFunc(table) => unsupported("XMLTABLE", loc(table.location)),
            Node::JsonTable(table) => unsupported("JSON_TABLE", loc(table.location)),
            other => unexpected("FROM", other),
        })
    }

    fn sample(&self, node: &pg::RangeTableSample) -> Lowered<FromItem> {
        let Node::RangeVar(range) = node.relation() else {
            return unexpected("TABLESAMPLE", node.relation());
        };
        let sample = TableSample {
            method: qualified(node.method(), node.location)?,
            args: self.exprs(node.args())?,
            repeatable: self.opt_expr(node.repeatable())?,
            loc: loc(node.location),
        };
        Ok(FromItem::Table(Box::new(FromTable {
            relation: relation(range)?,
            alias: alias(range.alias())?,
            sample: Some(sample),
        })))
    }

    fn function_source(&self, node: &pg::RangeFunction) -> Lowered<FromItem> {
        let calls = self.each(node.functions(), |lower, pair| {
            let Node::NodeList(pair) = pair else { return unexpected("ROWS FROM", pair) };
            let column_defs = match pair.get(1) {
                Some(Node::NodeList(columns)) => lower.function_columns(columns)?,
                _ => Vec::new(),
            };
            let call = lower.expr(pair.get(0).unwrap_or(Node::None))?;
            Ok(each_unnested(FromCall { call, column_defs }))
        })?;
        let calls: Vec<FromCall> = calls.into_iter().flatten().collect();
        Ok(FromItem::Function(Box::new(FromFunction {
            lateral: node.lateral,
            with_ordinality: node.ordinality,
            rows_from: node.is_rowsfrom || calls.len() > 1,
            calls,
            alias: alias(node.alias())?,
            column_defs: self.function_columns(untyped(node.coldeflist()))?,
        })))
    }

    fn function_columns(&self, list: &NodeList) -> Lowered<Vec<FunctionColumn>> {
        self.each(list, |lower, column| match column {
            Node::ColumnDef(column) => Ok(FunctionColumn {
                name: name(column.colname())?,
                type_name: lower.required_type(column.type_name())?,
                collation: column
                    .coll_clause()
                    .map(|clause| qualified(clause.collname(), clause.location))
                    .transpose()?,
                loc: loc(column.location),
            }),
            other => unexpected("a column definition list", other),
        })
    }

    fn join(&self, node: &pg::JoinExpr) -> Lowered<FromItem> {
        let condition = if node.is_natural {
            JoinCondition::Natural
        } else if !node.using_clause().is_empty() {
            JoinCondition::Using {
                columns: strings(untyped(node.using_clause()))?,
                alias: alias(node.join_using_alias())?,
            }
        } else {
            self.opt_expr(node.quals())?.map_or(JoinCondition::None, JoinCondition::On)
        };
        Ok(FromItem::Join(Box::new(Join {
            kind: match node.jointype {
                raw::JoinType::JOIN_LEFT => JoinKind::Left,
                raw::JoinType::JOIN_RIGHT => JoinKind::Right,
                raw::JoinType::JOIN_FULL => JoinKind::Full,
                _ => JoinKind::Inner,
            },
            left: self.source(node.larg())?,
            right: self.source(node.rarg())?,
            condition,
            alias: alias(node.alias())?,
        })))
    }
}

/// `unnest(a, b)` stands for `unnest(a), unnest(b)` beside each other, as the standard has it; that is what PostgreSQL
/// makes of it, and only in FROM.
fn each_unnested(call: FromCall) -> Vec<FromCall> {
    let several = |func: &FuncCall| {
        func.name.parts.len() == 1
            && *func.name.parts[0] == *"unnest"
            && func.args.len() > 1
            && func.order_by.is_empty()
            && !(func.star || func.distinct || func.variadic || func.within_group)
            && func.filter.is_none()
            && func.over.is_none()
    };
    match call.call {
        Expr::Func(func) if several(&func) && call.column_defs.is_empty() => {
            let one = |arg: &FuncArg| {
                let alone = FuncCall { args: vec![arg.clone()], ..(*func).clone() };
                FromCall { call: Expr::Func(Box::new(alone)), column_defs: Vec::new() }
            };
            func.args.iter().map(one).collect()
        }
        other => vec![FromCall { call: other, column_defs: call.column_defs }],
    }
}
