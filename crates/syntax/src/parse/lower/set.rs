//! SET, RESET and transaction modes.

use pg_raw_parse::Node;
use pg_raw_parse::const_val::ConstValue;
use pg_raw_parse::list::NodeList;
use pg_raw_parse::nodes as pg;
use pg_raw_parse::raw::{TransactionStmtKind as Ts, VariableSetKind};

use super::name::name;
use super::{Lower, Lowered, literal, loc, missing, unexpected};
use crate::ast::*;

impl Lower {
    pub(super) fn required_set(&self, node: Option<&pg::VariableSetStmt>) -> Lowered<SetVariable> {
        self.set(node.ok_or_else(|| missing("setting"))?)
    }

    pub(super) fn set(&self, node: &pg::VariableSetStmt) -> Lowered<SetVariable> {
        let name = || name(node.name());
        let action = match node.kind {
            VariableSetKind::VAR_SET_VALUE => SetAction::Value {
                name: name()?,
                values: self.each(node.args(), Self::set_value)?,
                loc: loc(node.location),
            },
            VariableSetKind::VAR_SET_DEFAULT => SetAction::Default { name: name()? },
            VariableSetKind::VAR_SET_CURRENT => SetAction::FromCurrent { name: name()? },
            VariableSetKind::VAR_RESET => SetAction::Reset { name: name()? },
            VariableSetKind::VAR_RESET_ALL => SetAction::ResetAll,
            _ => self.set_multi(node)?,
        };
        Ok(SetVariable { action, local: node.is_local })
    }

    fn set_multi(&self, node: &pg::VariableSetStmt) -> Lowered<SetAction> {
        Ok(match node.name() {
            Some("TRANSACTION") => SetAction::Transaction(transaction_modes(node.args())?),
            Some("SESSION CHARACTERISTICS") => {
                SetAction::SessionCharacteristics(transaction_modes(node.args())?)
            }
            _ => match self.each(node.args(), Self::set_value)?.pop() {
                Some(SetValue::String(snapshot)) => SetAction::TransactionSnapshot(snapshot),
                _ => return Err(missing("snapshot")),
            },
        })
    }

    fn set_value(&self, node: Node<'_>) -> Lowered<SetValue> {
        match node {
            Node::A_Const(constant) => constant_value(constant),
            Node::TypeCast(cast) => {
                let Node::A_Const(constant) = cast.arg() else {
                    return unexpected("SET", cast.arg());
                };
                let SetValue::String(text) = constant_value(constant)? else {
                    return unexpected("SET", cast.arg());
                };
                let type_name = Box::new(self.required_type(cast.type_name())?);
                Ok(SetValue::Interval { text, type_name })
            }
            other => unexpected("SET", other),
        }
    }

    pub(super) fn transaction(&self, node: &pg::TransactionStmt) -> Lowered<Transaction> {
        let savepoint = || name(node.savepoint_name());
        let gid = || name(node.gid());
        Ok(match node.kind {
            Ts::TRANS_STMT_BEGIN | Ts::TRANS_STMT_START => Transaction::Begin {
                modes: transaction_modes(node.options())?,
                start: node.kind == Ts::TRANS_STMT_START,
            },
            Ts::TRANS_STMT_COMMIT => Transaction::Commit { chain: node.chain },
            Ts::TRANS_STMT_ROLLBACK => Transaction::Rollback { chain: node.chain },
            Ts::TRANS_STMT_SAVEPOINT => Transaction::Savepoint(savepoint()?),
            Ts::TRANS_STMT_RELEASE => Transaction::Release(savepoint()?),
            Ts::TRANS_STMT_ROLLBACK_TO => Transaction::RollbackTo(savepoint()?),
            Ts::TRANS_STMT_PREPARE => Transaction::Prepare(gid()?),
            Ts::TRANS_STMT_COMMIT_PREPARED => Transaction::CommitPrepared(gid()?),
            _ => Transaction::RollbackPrepared(gid()?),
        })
    }
}

fn constant_value(constant: &pg::A_Const) -> Lowered<SetValue> {
    Ok(match constant.val() {
        Some(ConstValue::String(text)) => SetValue::String(text.into()),
        Some(ConstValue::Integer(value)) => SetValue::Integer(value.into()),
        Some(ConstValue::Float(text)) => match literal::number(text) {
            Literal::Integer(value) => SetValue::Integer(value),
            _ => SetValue::Numeric(text.into()),
        },
        Some(ConstValue::Boolean(value)) => SetValue::String(value.to_string().into()),
        _ => return unexpected("SET", Node::A_Const(constant)),
    })
}

fn transaction_modes(list: &NodeList) -> Lowered<Vec<TransactionMode>> {
    list.iter()
        .map(|node| match node {
            Node::DefElem(option) => transaction_mode(option),
            other => unexpected("transaction modes", other),
        })
        .collect()
}

fn transaction_mode(option: &pg::DefElem) -> Lowered<TransactionMode> {
    let at = loc(option.location);
    let Node::A_Const(constant) = option.arg() else {
        return unexpected("transaction modes", option.arg());
    };
    let flag = || matches!(constant.val(), Some(ConstValue::Integer(value)) if value != 0);
    Ok(match option.defname() {
        Some("transaction_isolation") => {
            let level = match constant.val() {
                Some(ConstValue::String("read uncommitted")) => IsolationLevel::ReadUncommitted,
                Some(ConstValue::String("read committed")) => IsolationLevel::ReadCommitted,
                Some(ConstValue::String("repeatable read")) => IsolationLevel::RepeatableRead,
                _ => IsolationLevel::Serializable,
            };
            TransactionMode::Isolation(level, at)
        }
        Some("transaction_read_only") => TransactionMode::ReadOnly(flag(), at),
        _ => TransactionMode::Deferrable(flag(), at),
    })
}
