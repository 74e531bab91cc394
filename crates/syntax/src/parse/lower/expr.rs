//! Expressions.

use pg_raw_parse::Node;
use pg_raw_parse::const_val::ConstValue;
use pg_raw_parse::list::NodeList;
use pg_raw_parse::nodes as pg;
use pg_raw_parse::raw::{A_Expr_Kind, BoolExprType, BoolTestType, CoercionForm, MinMaxOp};
use pg_raw_parse::raw::{NullTestType, SQLValueFunctionOp, SubLinkType};

use super::name::{name, operator, opt_name, qualified, string, strings};
use super::{Lower, Lowered, literal, loc, missing, unexpected, unsupported, untyped};
use crate::ast::*;

impl Lower {
    /// An expression that must be there.
    pub(super) fn expr(&self, node: Node<'_>) -> Lowered<Expr> {
        self.nested(|| self.expr_here(node))
    }

    /// The left side of an operator: in `a + b + c` a chain goes on there.
    fn left_side(&self, node: Node<'_>) -> Lowered<Expr> {
        match node {
            Node::A_Expr(expr) if expr.kind == A_Expr_Kind::AEXPR_OP => {
                self.linked(|| self.plain_operator(expr))
            }
            other => self.expr(other),
        }
    }

    /// An expression that may be absent.
    pub(super) fn opt_expr(&self, node: Node<'_>) -> Lowered<Option<Expr>> {
        match node {
            Node::None => Ok(None),
            node => self.expr(node).map(Some),
        }
    }

    pub(super) fn exprs(&self, list: &NodeList) -> Lowered<Vec<Expr>> {
        self.each(list, Self::expr)
    }

    fn expr_here(&self, node: Node<'_>) -> Lowered<Expr> {
        match node {
            Node::ColumnRef(column) => column_ref(column),
            Node::A_Const(constant) => self.constant(constant),
            Node::ParamRef(param) => Ok(Expr::Param(ParamRef {
                number: u32::try_from(param.number).unwrap_or(u32::MAX),
                loc: loc(param.location),
            })),
            Node::A_Expr(expr) => self.operator_expr(expr),
            Node::BoolExpr(expr) => self.bool_expr(expr),
            Node::NullTest(test) => Ok(Expr::IsNull(Box::new(IsNullExpr {
                arg: self.expr(test.arg())?,
                negated: test.nulltesttype == NullTestType::IS_NOT_NULL,
                loc: loc(test.location),
            }))),
            Node::BooleanTest(test) => self.bool_test(test),
            Node::FuncCall(call) => Ok(Expr::Func(Box::new(self.func_call(call)?))),
            Node::TypeCast(cast) => Ok(Expr::Cast(Box::new(CastExpr {
                arg: self.expr(cast.arg())?,
                target: self.required_type(cast.type_name())?,
                loc: loc(cast.location),
            }))),
            Node::CollateClause(clause) => Ok(Expr::Collate(Box::new(CollateExpr {
                arg: self.expr(clause.arg())?,
                collation: qualified(clause.collname(), clause.location)?,
                loc: loc(clause.location),
            }))),
            Node::SubLink(link) => self.sub_link(link),
            Node::CaseExpr(case) => self.case(case),
            Node::RowExpr(row) => Ok(Expr::Row(Box::new(RowExpr {
                args: self.exprs(row.args())?,
                explicit: row.row_format == CoercionForm::COERCE_EXPLICIT_CALL,
                loc: loc(row.location),
            }))),
            Node::A_Indirection(access) => Ok(Expr::Indirection(Box::new(IndirectionExpr {
                arg: self.expr(access.arg())?,
                steps: self.indirection(access.indirection())?,
            }))),
            Node::SetToDefault(default) => Ok(Expr::Default(loc(default.location))),
            Node::CurrentOfExpr(cursor) => {
                Ok(Expr::CurrentOf(Box::new(CursorRef { name: name(cursor.cursor_name())? })))
            }
            other => self.listed_expr(other),
        }
    }

    /// Expressions that are a keyword and a list, and those that have no tree here.
    fn listed_expr(&self, node: Node<'_>) -> Lowered<Expr> {
        let list = |args: &NodeList, at: i32| -> Lowered<Box<ArgList>> {
            Ok(Box::new(ArgList { args: self.exprs(args)?, loc: loc(at) }))
        };
        match node {
            Node::CoalesceExpr(expr) => Ok(Expr::Coalesce(list(expr.args(), expr.location)?)),
            Node::MinMaxExpr(expr) if expr.op == MinMaxOp::IS_GREATEST => {
                Ok(Expr::Greatest(list(expr.args(), expr.location)?))
            }
            Node::MinMaxExpr(expr) => Ok(Expr::Least(list(expr.args(), expr.location)?)),
            Node::A_ArrayExpr(expr) => Ok(Expr::Array(list(expr.elements(), expr.location)?)),
            Node::GroupingFunc(expr) => Ok(Expr::Grouping(list(expr.args(), expr.location)?)),
            Node::SQLValueFunction(function) => sql_value(function),
            Node::XmlExpr(expr) => unsupported("XML", loc(expr.location)),
            Node::XmlSerialize(expr) => unsupported("XMLSERIALIZE", loc(expr.location)),
            Node::JsonIsPredicate(expr) => unsupported("IS JSON", loc(expr.location)),
            Node::JsonParseExpr(expr) => unsupported("JSON()", loc(expr.location)),
            Node::JsonScalarExpr(expr) => unsupported("JSON_SCALAR", loc(expr.location)),
            Node::JsonSerializeExpr(expr) => unsupported("JSON_SERIALIZE", loc(expr.location)),
            Node::JsonObjectConstructor(expr) => unsupported("JSON_OBJECT", loc(expr.location)),
            Node::JsonArrayConstructor(expr) => unsupported("JSON_ARRAY", loc(expr.location)),
            Node::JsonArrayQueryConstructor(expr) => unsupported("JSON_ARRAY", loc(expr.location)),
            Node::JsonFuncExpr(expr) => unsupported("SQL/JSON query functions", loc(expr.location)),
            Node::JsonObjectAgg(_) => unsupported("JSON_OBJECTAGG", Loc::NONE),
            Node::JsonArrayAgg(_) => unsupported("JSON_ARRAYAGG", Loc::NONE),
            Node::MergeSupportFunc(expr) => unsupported("MERGE_ACTION", loc(expr.location)),
            other => unexpected("an expression", other),
        }
    }

    fn constant(&self, node: &pg::A_Const) -> Lowered<Expr> {
        let value = match node.val() {
            None => Literal::Null,
            Some(ConstValue::Integer(value)) => Literal::Integer(value.into()),
            Some(ConstValue::Float(text)) => literal::number(text),
            Some(ConstValue::Boolean(value)) => Literal::Bool(value),
            Some(ConstValue::String(text)) => Literal::String(text.into()),
            Some(ConstValue::BitString(text)) => Literal::Bits(text.into()),
            Some(ConstValue::Unrecognized(_)) => return Err(missing("constant")),
            Some(_) => return Err(missing("constant")),
        };
        Ok(Expr::Const(Const { value, loc: loc(node.location) }))
    }

    fn operator_expr(&self, node: &pg::A_Expr) -> Lowered<Expr> {
        let at = loc(node.location);
        match node.kind {
            A_Expr_Kind::AEXPR_OP => self.plain_operator(node),
            A_Expr_Kind::AEXPR_OP_ANY | A_Expr_Kind::AEXPR_OP_ALL => {
                let any = node.kind == A_Expr_Kind::AEXPR_OP_ANY;
                Ok(Expr::Quantified(Box::new(QuantifiedExpr {
                    op: operator(node.name(), node.location)?,
                    quantifier: if any { Quantifier::Any } else { Quantifier::All },
                    left: self.expr(node.lexpr())?,
                    array: self.expr(node.rexpr())?,
                })))
            }
            A_Expr_Kind::AEXPR_DISTINCT | A_Expr_Kind::AEXPR_NOT_DISTINCT => {
                Ok(Expr::IsDistinct(Box::new(IsDistinctExpr {
                    left: self.expr(node.lexpr())?,
                    right: self.expr(node.rexpr())?,
                    negated: node.kind == A_Expr_Kind::AEXPR_NOT_DISTINCT,
                    loc: at,
                })))
            }
            A_Expr_Kind::AEXPR_NULLIF => Ok(Expr::NullIf(Box::new(NullIfExpr {
                left: self.expr(node.lexpr())?,
                right: self.expr(node.rexpr())?,
                loc: at,
            }))),
            A_Expr_Kind::AEXPR_IN => Ok(Expr::InList(Box::new(InListExpr {
                arg: self.expr(node.lexpr())?,
                list: match node.rexpr() {
                    Node::NodeList(list) => self.exprs(list)?,
                    other => return unexpected("IN", other),
                },
                negated: operator(node.name(), -1)?.symbol.as_ref() == "<>",
                loc: at,
            }))),
            A_Expr_Kind::AEXPR_LIKE => self.like(node, LikeKind::Like),
            A_Expr_Kind::AEXPR_ILIKE => self.like(node, LikeKind::ILike),
            A_Expr_Kind::AEXPR_SIMILAR => self.like(node, LikeKind::SimilarTo),
            _ => self.between(node),
        }
    }

    fn plain_operator(&self, node: &pg::A_Expr) -> Lowered<Expr> {
        let op = operator(node.name(), node.location)?;
        Ok(match node.lexpr() {
            Node::None => Expr::Unary(Box::new(UnaryExpr { op, arg: self.expr(node.rexpr())? })),
            left => Expr::Binary(Box::new(BinaryExpr {
                op,
                left: self.left_side(left)?,
                right: self.expr(node.rexpr())?,
            })),
        })
    }

    fn between(&self, node: &pg::A_Expr) -> Lowered<Expr> {
        let (negated, symmetric) = match node.kind {
            A_Expr_Kind::AEXPR_BETWEEN => (false, false),
            A_Expr_Kind::AEXPR_NOT_BETWEEN => (true, false),
            A_Expr_Kind::AEXPR_BETWEEN_SYM => (false, true),
            A_Expr_Kind::AEXPR_NOT_BETWEEN_SYM => (true, true),
            _ => return unexpected("an operator expression", Node::A_Expr(node)),
        };
        let Node::NodeList(bounds) = node.rexpr() else {
            return unexpected("BETWEEN", node.rexpr());
        };
        Ok(Expr::Between(Box::new(BetweenExpr {
            arg: self.expr(node.lexpr())?,
            low: self.expr(bounds.get(0).unwrap_or(Node::None))?,
            high: self.expr(bounds.get(1).unwrap_or(Node::None))?,
            negated,
            symmetric,
            loc: loc(node.location),
        })))
    }

    /// The grammar wraps the pattern in a function where there is an ESCAPE (and always for SIMILAR
    /// TO); here the two stand side by side.
    fn like(&self, node: &pg::A_Expr, kind: LikeKind) -> Lowered<Expr> {
        let wrapper = if kind == LikeKind::SimilarTo { "similar_to_escape" } else { "like_escape" };
        let (pattern, escape) = match node.rexpr() {
            Node::FuncCall(call) if qualified(call.funcname(), -1)?.is_pg_catalog(wrapper) => (
                self.expr(call.args().get(0).unwrap_or(Node::None))?,
                call.args().get(1).map(|escape| self.expr(escape)).transpose()?,
            ),
            plain => (self.expr(plain)?, None),
        };
        Ok(Expr::Like(Box::new(LikeExpr {
            kind,
            negated: operator(node.name(), -1)?.symbol.starts_with('!'),
            arg: self.expr(node.lexpr())?,
            pattern,
            escape,
            loc: loc(node.location),
        })))
    }

    fn bool_expr(&self, node: &pg::BoolExpr) -> Lowered<Expr> {
        let at = loc(node.location);
        if node.boolop == BoolExprType::NOT_EXPR {
            let arg = self.expr(node.args().first().unwrap_or(Node::None))?;
            return Ok(Expr::Not(Box::new(NotExpr { arg, loc: at })));
        }
        let expr = Box::new(BoolExpr { args: self.exprs(node.args())?, loc: at });
        Ok(if node.boolop == BoolExprType::AND_EXPR { Expr::And(expr) } else { Expr::Or(expr) })
    }

    fn bool_test(&self, node: &pg::BooleanTest) -> Lowered<Expr> {
        let (value, negated) = match node.booltesttype {
            BoolTestType::IS_TRUE => (Some(true), false),
            BoolTestType::IS_NOT_TRUE => (Some(true), true),
            BoolTestType::IS_FALSE => (Some(false), false),
            BoolTestType::IS_NOT_FALSE => (Some(false), true),
            BoolTestType::IS_UNKNOWN => (None, false),
            _ => (None, true),
        };
        let arg = self.expr(node.arg())?;
        Ok(Expr::IsBool(Box::new(IsBoolExpr { arg, value, negated, loc: loc(node.location) })))
    }

    fn case(&self, node: &pg::CaseExpr) -> Lowered<Expr> {
        let whens = self.each(node.args(), |lower, when| match when {
            Node::CaseWhen(when) => Ok(CaseWhen {
                when: lower.expr(when.expr())?,
                then: lower.expr(when.result())?,
                loc: loc(when.location),
            }),
            other => unexpected("CASE", other),
        })?;
        Ok(Expr::Case(Box::new(CaseExpr {
            arg: self.opt_expr(node.arg())?,
            whens,
            default: self.opt_expr(node.defresult())?,
            loc: loc(node.location),
        })))
    }

    fn sub_link(&self, node: &pg::SubLink) -> Lowered<Expr> {
        let kind = match node.sub_link_type {
            SubLinkType::EXISTS_SUBLINK => SubLinkKind::Exists,
            SubLinkType::EXPR_SUBLINK => SubLinkKind::Scalar,
            SubLinkType::ARRAY_SUBLINK => SubLinkKind::Array,
            SubLinkType::ANY_SUBLINK => SubLinkKind::Any {
                left: self.expr(node.testexpr())?,
                op: match node.oper_name() {
                    none if none.is_empty() => None,
                    some => Some(operator(some, node.location)?),
                },
            },
            SubLinkType::ALL_SUBLINK => SubLinkKind::All {
                left: self.expr(node.testexpr())?,
                op: operator(node.oper_name(), node.location)?,
            },
            _ => return unexpected("a sub-select", Node::SubLink(node)),
        };
        let query = self.select_node(node.subselect())?;
        Ok(Expr::SubLink(Box::new(SubLink { kind, query, loc: loc(node.location) })))
    }

    pub(super) fn func_call(&self, node: &pg::FuncCall) -> Lowered<FuncCall> {
        let args = self.each(node.args(), |lower, arg| match arg {
            Node::NamedArgExpr(named) => Ok(FuncArg {
                name: opt_name(named.name()),
                value: lower.expr(named.arg())?,
                loc: loc(named.location),
            }),
            plain => Ok(FuncArg { name: None, value: lower.expr(plain)?, loc: Loc::NONE }),
        })?;
        Ok(FuncCall {
            name: qualified(node.funcname(), node.location)?,
            args,
            star: node.agg_star,
            distinct: node.agg_distinct,
            variadic: node.func_variadic,
            order_by: self.sort_list(untyped(node.agg_order()))?,
            within_group: node.agg_within_group,
            filter: self.opt_expr(node.agg_filter())?,
            over: node.over().map(|window| self.over(window)).transpose()?,
            sql_syntax: node.funcformat == CoercionForm::COERCE_SQL_SYNTAX,
            loc: loc(node.location),
        })
    }

    fn over(&self, window: &pg::WindowDef) -> Lowered<Over> {
        Ok(match window.name() {
            Some(name) => Over::Named(name.into(), loc(window.location)),
            None => Over::Spec(self.window(window)?),
        })
    }

    pub(super) fn indirection(&self, list: &NodeList) -> Lowered<Vec<Indirection>> {
        self.each(list, |lower, step| {
            Ok(match step {
                Node::A_Star(_) => Indirection::Star,
                Node::A_Indices(index) if index.is_slice => Indirection::Slice {
                    lower: lower.opt_expr(index.lidx())?,
                    upper: lower.opt_expr(index.uidx())?,
                },
                Node::A_Indices(index) => Indirection::Index(lower.expr(index.uidx())?),
                field => Indirection::Field(string(field)?),
            })
        })
    }
}

fn column_ref(node: &pg::ColumnRef) -> Lowered<Expr> {
    let fields = node.fields();
    let at = loc(node.location);
    let names = |count: usize| fields.iter().take(count).map(string).collect::<Lowered<Vec<_>>>();
    Ok(match fields.len().checked_sub(1).and_then(|last| fields.get(last)) {
        Some(Node::A_Star(_)) => Expr::Star(StarRef { path: names(fields.len() - 1)?, loc: at }),
        _ => Expr::Column(ColumnRef { path: strings(fields)?, loc: at }),
    })
}

fn sql_value(node: &pg::SQLValueFunction) -> Lowered<Expr> {
    let kind = match node.op {
        SQLValueFunctionOp::SVFOP_CURRENT_DATE => SqlValueKind::CurrentDate,
        SQLValueFunctionOp::SVFOP_CURRENT_TIME | SQLValueFunctionOp::SVFOP_CURRENT_TIME_N => {
            SqlValueKind::CurrentTime
        }
        SQLValueFunctionOp::SVFOP_CURRENT_TIMESTAMP
        | SQLValueFunctionOp::SVFOP_CURRENT_TIMESTAMP_N => SqlValueKind::CurrentTimestamp,
        SQLValueFunctionOp::SVFOP_LOCALTIME | SQLValueFunctionOp::SVFOP_LOCALTIME_N => {
            SqlValueKind::LocalTime
        }
        SQLValueFunctionOp::SVFOP_LOCALTIMESTAMP | SQLValueFunctionOp::SVFOP_LOCALTIMESTAMP_N => {
            SqlValueKind::LocalTimestamp
        }
        SQLValueFunctionOp::SVFOP_CURRENT_ROLE => SqlValueKind::CurrentRole,
        SQLValueFunctionOp::SVFOP_CURRENT_USER => SqlValueKind::CurrentUser,
        SQLValueFunctionOp::SVFOP_USER => SqlValueKind::User,
        SQLValueFunctionOp::SVFOP_SESSION_USER => SqlValueKind::SessionUser,
        SQLValueFunctionOp::SVFOP_CURRENT_CATALOG => SqlValueKind::CurrentCatalog,
        _ => SqlValueKind::CurrentSchema,
    };
    let precision = Some(node.typmod).filter(|typmod| *typmod >= 0);
    Ok(Expr::SqlValue(Box::new(SqlValueExpr { kind, precision, loc: loc(node.location) })))
}
