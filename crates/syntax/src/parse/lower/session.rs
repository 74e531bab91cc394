//! Prepared statements, cursors, COPY, EXPLAIN, maintenance, DO and CALL.

use pg_raw_parse::Node;
use pg_raw_parse::nodes as pg;
use pg_raw_parse::raw::{self, DiscardMode, DropBehavior, FetchDirection as RawDirection};

use super::name::{name, opt_name, qualified, relation, relation_name, relations};
use super::name::{required_relation, string, strings};
use super::{Lower, Lowered, missing, unexpected, untyped};
use crate::ast::*;

impl Lower {
    pub(super) fn prepare(&self, node: &pg::PrepareStmt) -> Lowered<Prepare> {
        Ok(Prepare {
            name: name(node.name())?,
            types: self.each(untyped(node.argtypes()), Self::type_node)?,
            statement: Box::new(self.statement(node.query())?),
        })
    }

    pub(super) fn declare_cursor(&self, node: &pg::DeclareCursorStmt) -> Lowered<DeclareCursor> {
        let has = |option: u32| node.options as u32 & option != 0;
        let scroll = if has(raw::CURSOR_OPT_SCROLL) {
            Some(true)
        } else {
            has(raw::CURSOR_OPT_NO_SCROLL).then_some(false)
        };
        Ok(DeclareCursor {
            name: name(node.portalname())?,
            query: Box::new(self.statement(node.query())?),
            binary: has(raw::CURSOR_OPT_BINARY),
            scroll,
            insensitive: has(raw::CURSOR_OPT_INSENSITIVE),
            asensitive: has(raw::CURSOR_OPT_ASENSITIVE),
            hold: has(raw::CURSOR_OPT_HOLD),
        })
    }

    pub(super) fn fetch(&self, node: &pg::FetchStmt) -> Lowered<Fetch> {
        let count = node.how_many;
        // FETCH ALL is the largest `long` there is.
        let counted = Some(count).filter(|count| *count != i64::MAX);
        Ok(Fetch {
            cursor: name(node.portalname())?,
            direction: match node.direction {
                RawDirection::FETCH_FORWARD => FetchDirection::Forward(counted),
                RawDirection::FETCH_BACKWARD => FetchDirection::Backward(counted),
                RawDirection::FETCH_ABSOLUTE => FetchDirection::Absolute(count),
                _ => FetchDirection::Relative(count),
            },
            is_move: node.ismove,
        })
    }

    pub(super) fn copy(&self, node: &pg::CopyStmt) -> Lowered<CopyStatement> {
        let source = match node.relation() {
            Some(range) => {
                CopySource::Table { relation: relation(range)?, columns: strings(node.attlist())? }
            }
            None => CopySource::Query(Box::new(self.statement(node.query())?)),
        };
        Ok(CopyStatement {
            source,
            direction: if node.is_from { CopyDirection::From } else { CopyDirection::To },
            endpoint: match node.filename() {
                None => CopyEndpoint::Client,
                Some(command) if node.is_program => CopyEndpoint::Program(command.into()),
                Some(path) => CopyEndpoint::File(path.into()),
            },
            options: self.typed_options(node.options())?,
            filter: self.opt_expr(node.where_clause())?,
        })
    }

    pub(super) fn explain(&self, node: &pg::ExplainStmt) -> Lowered<Explain> {
        Ok(Explain {
            statement: Box::new(self.statement(node.query())?),
            options: self.typed_options(node.options())?,
        })
    }

    pub(super) fn vacuum(&self, node: &pg::VacuumStmt) -> Lowered<Vacuum> {
        let relations = node.rels().iter().map(|rel| {
            Ok(VacuumRelation {
                relation: required_relation(rel.relation())?,
                columns: strings(rel.va_cols())?,
            })
        });
        Ok(Vacuum {
            vacuum: node.is_vacuumcmd,
            options: self.typed_options(node.options())?,
            relations: relations.collect::<Lowered<_>>()?,
        })
    }

    pub(super) fn cluster(&self, node: &pg::ClusterStmt) -> Lowered<Cluster> {
        Ok(Cluster {
            relation: node.relation().map(relation).transpose()?,
            index: opt_name(node.indexname()),
            options: self.typed_options(node.params())?,
        })
    }

    pub(super) fn truncate(&self, node: &pg::TruncateStmt) -> Lowered<Truncate> {
        Ok(Truncate {
            relations: relations(node.relations())?,
            restart_identity: node.restart_seqs,
            cascade: node.behavior == DropBehavior::DROP_CASCADE,
        })
    }

    pub(super) fn lock_table(&self, node: &pg::LockStmt) -> Lowered<LockTable> {
        // PostgreSQL's lock mode numbers.
        let mode = match node.mode {
            1 => LockMode::AccessShare,
            2 => LockMode::RowShare,
            3 => LockMode::RowExclusive,
            4 => LockMode::ShareUpdateExclusive,
            5 => LockMode::Share,
            6 => LockMode::ShareRowExclusive,
            7 => LockMode::Exclusive,
            _ => LockMode::AccessExclusive,
        };
        Ok(LockTable { relations: relations(node.relations())?, mode, nowait: node.nowait })
    }

    pub(super) fn set_constraints(&self, node: &pg::ConstraintsSetStmt) -> Lowered<SetConstraints> {
        let constraints = self.each(node.constraints(), |_, name| match name {
            Node::RangeVar(range) => relation_name(range),
            Node::NodeList(parts) => qualified(parts, -1),
            other => unexpected("SET CONSTRAINTS", other),
        })?;
        Ok(SetConstraints { constraints, deferred: node.deferred })
    }

    pub(super) fn do_block(&self, node: &pg::DoStmt) -> Lowered<DoBlock> {
        let argument = |wanted: &str| {
            let found = node.args().iter().find(|arg| arg.defname() == Some(wanted));
            found.map(|arg| string(arg.arg())).transpose()
        };
        Ok(DoBlock { language: argument("language")?, body: argument("as")?.unwrap_or_default() })
    }

    pub(super) fn call(&self, node: &pg::CallStmt) -> Lowered<Call> {
        let call = node.funccall().ok_or_else(|| missing("call"))?;
        Ok(Call { call: Expr::Func(Box::new(self.func_call(call)?)) })
    }
}

pub(super) fn discard(target: DiscardMode::Type) -> Discard {
    match target {
        DiscardMode::DISCARD_PLANS => Discard::Plans,
        DiscardMode::DISCARD_SEQUENCES => Discard::Sequences,
        DiscardMode::DISCARD_TEMP => Discard::Temp,
        _ => Discard::All,
    }
}
