//! Queries.

use pg_raw_parse::Node;
use pg_raw_parse::list::NodeList;
use pg_raw_parse::nodes as pg;
use pg_raw_parse::raw;
use pg_raw_parse::raw::{
    CTEMaterialize, GroupingSetKind, LimitOption, LockClauseStrength, LockWaitPolicy,
    OnCommitAction, SortByDir, SortByNulls,
};

use super::name::{name, operator, opt_name, persistence, relations, required_relation, strings};
use super::{Lower, Lowered, loc, missing, unexpected, untyped};
use crate::ast::*;

impl Lower {
    pub(super) fn select_node(&self, node: Node<'_>) -> Lowered<Select> {
        match node {
            Node::SelectStmt(select) => self.select(select),
            other => unexpected("a query", other),
        }
    }

    pub(super) fn select(&self, node: &pg::SelectStmt) -> Lowered<Select> {
        self.nested(|| self.select_here(node))
    }

    fn select_here(&self, node: &pg::SelectStmt) -> Lowered<Select> {
        Ok(Select {
            with: self.with(node.with_clause())?,
            body: self.body(node)?,
            order_by: self.sort_list(untyped(node.sort_clause()))?,
            limit: self.opt_expr(node.limit_count())?,
            offset: self.opt_expr(node.limit_offset())?,
            with_ties: node.limit_option == LimitOption::LIMIT_OPTION_WITH_TIES,
            locking: node.locking_clause().iter().map(locking).collect::<Lowered<_>>()?,
        })
    }

    fn body(&self, node: &pg::SelectStmt) -> Lowered<SelectBody> {
        let op = match node.op {
            raw::SetOperation::SETOP_NONE => return self.simple_body(node),
            raw::SetOperation::SETOP_UNION => SetOperator::Union,
            raw::SetOperation::SETOP_INTERSECT => SetOperator::Intersect,
            _ => SetOperator::Except,
        };
        let side = |side: Option<&pg::SelectStmt>| match side {
            // In `a UNION b UNION c` a chain goes on on the left.
            Some(chain) if chain.op != raw::SetOperation::SETOP_NONE => {
                self.linked(|| self.select_here(chain))
            }
            Some(other) => self.select(other),
            None => Err(missing("set operation's side")),
        };
        Ok(SelectBody::SetOp(Box::new(SetOperation {
            op,
            all: node.all,
            left: side(node.larg())?,
            right: side(node.rarg())?,
        })))
    }

    fn simple_body(&self, node: &pg::SelectStmt) -> Lowered<SelectBody> {
        if !node.values_lists().is_empty() {
            let rows = self.each(node.values_lists(), |lower, row| match row {
                Node::NodeList(row) => lower.exprs(row),
                other => unexpected("VALUES", other),
            })?;
            return Ok(SelectBody::Values(Box::new(Values { rows })));
        }
        Ok(SelectBody::Core(Box::new(SelectCore {
            distinct: self.distinct(node.distinct_clause())?,
            targets: self.targets(untyped(node.target_list()))?,
            into: node.into_clause().map(|into| self.target_table(into)).transpose()?,
            from: self.sources(node.from_clause())?,
            filter: self.opt_expr(node.where_clause())?,
            group_by: self.each(node.group_clause(), Self::group_item)?,
            group_distinct: node.group_distinct,
            having: self.opt_expr(node.having_clause())?,
            windows: self.each(node.window_clause(), |lower, window| match window {
                Node::WindowDef(window) => lower.window(window),
                other => unexpected("WINDOW", other),
            })?,
        })))
    }

    /// DISTINCT without ON is a list of one empty pointer.
    fn distinct(&self, list: &NodeList) -> Lowered<Option<Distinct>> {
        Ok(match list.first() {
            None => None,
            Some(Node::None) => Some(Distinct::All),
            Some(_) => Some(Distinct::On(self.exprs(list)?)),
        })
    }

    pub(super) fn targets(&self, list: &NodeList) -> Lowered<Vec<Target>> {
        self.each(list, |lower, target| match target {
            Node::ResTarget(target) => Ok(Target {
                value: lower.expr(target.val())?,
                alias: opt_name(target.name()),
                loc: loc(target.location),
            }),
            other => unexpected("a target list", other),
        })
    }

    pub(super) fn target_table(&self, node: &pg::IntoClause) -> Lowered<IntoClause> {
        Ok(IntoClause {
            relation: required_relation(node.rel())?,
            persistence: persistence(node.rel()),
            columns: strings(node.col_names())?,
            access_method: opt_name(node.access_method()),
            options: self.options(node.options())?,
            on_commit: on_commit(node.on_commit),
            tablespace: opt_name(node.table_space_name()),
            no_data: node.skip_data,
        })
    }

    fn group_item(&self, node: Node<'_>) -> Lowered<GroupItem> {
        let Node::GroupingSet(set) = node else { return self.expr(node).map(GroupItem::Expr) };
        let at = loc(set.location);
        let items = || self.nested(|| self.each(set.content(), Self::group_item));
        Ok(match set.kind {
            GroupingSetKind::GROUPING_SET_EMPTY => GroupItem::Empty(at),
            GroupingSetKind::GROUPING_SET_ROLLUP => GroupItem::Rollup(items()?, at),
            GroupingSetKind::GROUPING_SET_CUBE => GroupItem::Cube(items()?, at),
            GroupingSetKind::GROUPING_SET_SETS => GroupItem::Sets(items()?, at),
            _ => return unexpected("GROUP BY", node),
        })
    }

    pub(super) fn sort_list(&self, list: &NodeList) -> Lowered<Vec<SortBy>> {
        self.each(list, |lower, sort| match sort {
            Node::SortBy(sort) => Ok(SortBy {
                expr: lower.expr(sort.node())?,
                direction: match sort.sortby_dir {
                    SortByDir::SORTBY_ASC => SortDirection::Asc,
                    SortByDir::SORTBY_DESC => SortDirection::Desc,
                    SortByDir::SORTBY_USING => {
                        SortDirection::Using(operator(sort.use_op(), sort.location)?)
                    }
                    _ => SortDirection::Default,
                },
                nulls: nulls(sort.sortby_nulls),
                loc: loc(sort.location),
            }),
            other => unexpected("ORDER BY", other),
        })
    }

    pub(super) fn window(&self, node: &pg::WindowDef) -> Lowered<WindowSpec> {
        Ok(WindowSpec {
            name: opt_name(node.name()),
            base: opt_name(node.refname()),
            partition_by: self.exprs(node.partition_clause())?,
            order_by: self.sort_list(untyped(node.order_clause()))?,
            frame: self.frame(node)?,
            loc: loc(node.location),
        })
    }

    fn frame(&self, node: &pg::WindowDef) -> Lowered<Option<Frame>> {
        let has = |flag: u32| node.frame_options as u32 & flag != 0;
        if !has(raw::FRAMEOPTION_NONDEFAULT) {
            return Ok(None);
        }
        let offset = |node: Node<'_>| self.expr(node).map(Box::new);
        let start = if has(raw::FRAMEOPTION_START_UNBOUNDED_PRECEDING) {
            FrameBound::UnboundedPreceding
        } else if has(raw::FRAMEOPTION_START_UNBOUNDED_FOLLOWING) {
            FrameBound::UnboundedFollowing
        } else if has(raw::FRAMEOPTION_START_OFFSET_PRECEDING) {
            FrameBound::Preceding(offset(node.start_offset())?)
        } else if has(raw::FRAMEOPTION_START_OFFSET_FOLLOWING) {
            FrameBound::Following(offset(node.start_offset())?)
        } else {
            FrameBound::CurrentRow
        };
        let end = if has(raw::FRAMEOPTION_END_UNBOUNDED_FOLLOWING) {
            FrameBound::UnboundedFollowing
        } else if has(raw::FRAMEOPTION_END_UNBOUNDED_PRECEDING) {
            FrameBound::UnboundedPreceding
        } else if has(raw::FRAMEOPTION_END_OFFSET_PRECEDING) {
            FrameBound::Preceding(offset(node.end_offset())?)
        } else if has(raw::FRAMEOPTION_END_OFFSET_FOLLOWING) {
            FrameBound::Following(offset(node.end_offset())?)
        } else {
            FrameBound::CurrentRow
        };
        let units = if has(raw::FRAMEOPTION_ROWS) {
            FrameUnits::Rows
        } else if has(raw::FRAMEOPTION_GROUPS) {
            FrameUnits::Groups
        } else {
            FrameUnits::Range
        };
        let exclude = if has(raw::FRAMEOPTION_EXCLUDE_CURRENT_ROW) {
            FrameExclude::CurrentRow
        } else if has(raw::FRAMEOPTION_EXCLUDE_GROUP) {
            FrameExclude::Group
        } else if has(raw::FRAMEOPTION_EXCLUDE_TIES) {
            FrameExclude::Ties
        } else {
            FrameExclude::NoOthers
        };
        let between = has(raw::FRAMEOPTION_BETWEEN);
        Ok(Some(Frame { units, start, end, between, exclude }))
    }

    pub(super) fn with(&self, node: Option<&pg::WithClause>) -> Lowered<Option<With>> {
        let Some(node) = node else { return Ok(None) };
        let ctes = node.ctes().iter().map(|cte| self.cte(cte)).collect::<Lowered<_>>()?;
        Ok(Some(With { recursive: node.recursive, ctes, loc: loc(node.location) }))
    }

    fn cte(&self, node: &pg::CommonTableExpr) -> Lowered<Cte> {
        Ok(Cte {
            name: name(node.ctename())?,
            columns: strings(node.aliascolnames())?,
            materialized: match node.ctematerialized {
                CTEMaterialize::CTEMaterializeAlways => Some(true),
                CTEMaterialize::CTEMaterializeNever => Some(false),
                _ => None,
            },
            query: Box::new(self.statement(node.ctequery())?),
            search: node.search_clause().map(cte_search).transpose()?,
            cycle: node.cycle_clause().map(|cycle| self.cte_cycle(cycle)).transpose()?,
            loc: loc(node.location),
        })
    }

    fn cte_cycle(&self, node: &pg::CTECycleClause) -> Lowered<Box<CteCycle>> {
        Ok(Box::new(CteCycle {
            columns: strings(node.cycle_col_list())?,
            mark: name(node.cycle_mark_column())?,
            value: self.expr(node.cycle_mark_value())?,
            default: self.expr(node.cycle_mark_default())?,
            path: name(node.cycle_path_column())?,
            loc: loc(node.location),
        }))
    }
}

fn cte_search(node: &pg::CTESearchClause) -> Lowered<CteSearch> {
    Ok(CteSearch {
        columns: strings(node.search_col_list())?,
        breadth_first: node.search_breadth_first,
        set: name(node.search_seq_column())?,
        loc: loc(node.location),
    })
}

fn locking(node: &pg::LockingClause) -> Lowered<Locking> {
    Ok(Locking {
        strength: match node.strength {
            LockClauseStrength::LCS_FORKEYSHARE => LockStrength::KeyShare,
            LockClauseStrength::LCS_FORSHARE => LockStrength::Share,
            LockClauseStrength::LCS_FORNOKEYUPDATE => LockStrength::NoKeyUpdate,
            _ => LockStrength::Update,
        },
        of: relations(node.locked_rels())?,
        wait: match node.wait_policy {
            LockWaitPolicy::LockWaitSkip => LockWait::SkipLocked,
            LockWaitPolicy::LockWaitError => LockWait::NoWait,
            _ => LockWait::Block,
        },
    })
}

pub(super) fn nulls(order: SortByNulls::Type) -> SortNulls {
    match order {
        SortByNulls::SORTBY_NULLS_FIRST => SortNulls::First,
        SortByNulls::SORTBY_NULLS_LAST => SortNulls::Last,
        _ => SortNulls::Default,
    }
}

pub(super) fn on_commit(action: OnCommitAction::Type) -> Option<OnCommit> {
    match action {
        OnCommitAction::ONCOMMIT_PRESERVE_ROWS => Some(OnCommit::PreserveRows),
        OnCommitAction::ONCOMMIT_DELETE_ROWS => Some(OnCommit::DeleteRows),
        OnCommitAction::ONCOMMIT_DROP => Some(OnCommit::Drop),
        _ => None,
    }
}
