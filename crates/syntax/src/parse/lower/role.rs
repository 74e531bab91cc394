//! Roles and privileges.

use pg_raw_parse::Node;
use pg_raw_parse::list::{CastNodeList, NodeList};
use pg_raw_parse::nodes as pg;
use pg_raw_parse::raw::{DropBehavior, GrantTargetType, RoleStmtType};

use super::name::{name, opt_name, opt_role, required_role, roles, string, strings};
use super::object::object_kind;
use super::{Lower, Lowered, loc, missing, unexpected, unsupported, untyped};
use crate::ast::*;

impl Lower {
    pub(super) fn grant(&self, node: &pg::GrantStmt) -> Lowered<Grant> {
        let kind = object_kind(node.objtype);
        let objects = untyped(node.objects());
        let on = match node.targtype {
            GrantTargetType::ACL_TARGET_OBJECT => GrantTarget::Objects {
                kind,
                names: self.each(objects, |lower, object| lower.object_name(kind, object))?,
            },
            GrantTargetType::ACL_TARGET_ALL_IN_SCHEMA => {
                GrantTarget::AllInSchemas { kind, schemas: strings(objects)? }
            }
            _ => GrantTarget::Defaults { kind },
        };
        Ok(Grant {
            grant: node.is_grant,
            privileges: privileges(untyped(node.privileges()))?,
            on,
            grantees: roles(untyped(node.grantees()))?,
            grant_option: node.grant_option,
            granted_by: opt_role(node.grantor())?,
            cascade: node.behavior == DropBehavior::DROP_CASCADE,
        })
    }

    pub(super) fn grant_role(&self, node: &pg::GrantRoleStmt) -> Lowered<GrantRole> {
        // Each granted role is parsed as a privilege's name.
        let granted = privileges(node.granted_roles())?.into_iter().map(|role| role.name);
        Ok(GrantRole {
            grant: node.is_grant,
            roles: granted.collect::<Option<_>>().ok_or_else(|| missing("role"))?,
            members: roles(node.grantee_roles())?,
            options: self.options(node.opt())?,
            granted_by: opt_role(node.grantor())?,
            cascade: node.behavior == DropBehavior::DROP_CASCADE,
        })
    }

    pub(super) fn alter_default_privileges(
        &self,
        node: &pg::AlterDefaultPrivilegesStmt,
    ) -> Lowered<AlterDefaultPrivileges> {
        let (mut for_roles, mut schemas) = (Vec::new(), Vec::new());
        for option in node.options() {
            match (option.defname(), option.arg()) {
                (Some("roles"), Node::NodeList(list)) => for_roles = roles(list)?,
                (Some("schemas"), Node::NodeList(list)) => schemas = strings(list)?,
                (_, other) => return unexpected("ALTER DEFAULT PRIVILEGES", other),
            }
        }
        let grant = self.grant(node.action().ok_or_else(|| missing("action"))?)?;
        Ok(AlterDefaultPrivileges { roles: for_roles, schemas, grant })
    }

    pub(super) fn create_role(&self, node: &pg::CreateRoleStmt) -> Lowered<CreateRole> {
        Ok(CreateRole {
            flavour: match node.stmt_type {
                RoleStmtType::ROLESTMT_USER => RoleFlavour::User,
                RoleStmtType::ROLESTMT_GROUP => RoleFlavour::Group,
                _ => RoleFlavour::Role,
            },
            name: name(node.role())?,
            options: role_options(node.options())?,
        })
    }

    /// ALTER ROLE; `ALTER GROUP … ADD USER` is the same node and means GRANT.
    pub(super) fn alter_role(&self, node: &pg::AlterRoleStmt) -> Lowered<Statement> {
        let role = required_role(node.role())?;
        let options = role_options(node.options())?;
        if let [RoleOption { kind: RoleOptionKind::Members(members), .. }] = &options[..] {
            let RoleKind::Name(group) = role.kind else {
                return unsupported("ALTER GROUP of a role that is not named", role.loc);
            };
            return Ok(Statement::GrantRole(Box::new(GrantRole {
                grant: node.action > 0,
                roles: vec![group],
                members: members.clone(),
                options: Vec::new(),
                granted_by: None,
                cascade: false,
            })));
        }
        Ok(Statement::AlterRole(Box::new(AlterRole { role, options })))
    }

    pub(super) fn alter_role_set(&self, node: &pg::AlterRoleSetStmt) -> Lowered<AlterRoleSet> {
        Ok(AlterRoleSet {
            role: opt_role(node.role())?,
            database: opt_name(node.database()),
            set: self.required_set(node.setstmt())?,
        })
    }
}

fn privileges(list: &NodeList) -> Lowered<Vec<Privilege>> {
    list.iter()
        .map(|node| match node {
            Node::AccessPriv(privilege) => Ok(Privilege {
                name: opt_name(privilege.priv_name()),
                columns: strings(untyped(privilege.cols()))?,
            }),
            other => unexpected("a list of privileges", other),
        })
        .collect()
}

fn role_options(list: &CastNodeList<pg::DefElem>) -> Lowered<Vec<RoleOption>> {
    list.iter().map(role_option).collect()
}

fn role_option(node: &pg::DefElem) -> Lowered<RoleOption> {
    let at = loc(node.location);
    let flag = || matches!(node.arg(), Node::Boolean(flag) if flag.boolval);
    let integer = || match node.arg() {
        Node::Integer(integer) => Ok(i64::from(integer.ival)),
        other => unexpected("a role's options", other),
    };
    let members = || match node.arg() {
        Node::NodeList(list) => roles(list),
        other => unexpected("a role's options", other),
    };
    let kind = match node.defname().unwrap_or("") {
        "superuser" => RoleOptionKind::Superuser(flag()),
        "createdb" => RoleOptionKind::CreateDb(flag()),
        "createrole" => RoleOptionKind::CreateRole(flag()),
        "inherit" => RoleOptionKind::Inherit(flag()),
        "canlogin" => RoleOptionKind::Login(flag()),
        "isreplication" => RoleOptionKind::Replication(flag()),
        "bypassrls" => RoleOptionKind::BypassRls(flag()),
        "connectionlimit" => RoleOptionKind::ConnectionLimit(integer()?),
        "password" => RoleOptionKind::Password(match node.arg() {
            Node::None => None,
            text => Some(string(text)?),
        }),
        "validUntil" => RoleOptionKind::ValidUntil(string(node.arg())?),
        "addroleto" => RoleOptionKind::InRole(members()?),
        "rolemembers" => RoleOptionKind::Members(members()?),
        "adminmembers" => RoleOptionKind::Admins(members()?),
        "sysid" => RoleOptionKind::SysId(integer()?),
        other => return unsupported(&format!("role option \"{other}\""), at),
    };
    Ok(RoleOption { kind, loc: at })
}
