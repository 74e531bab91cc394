//! Sequences, schemas, databases, views, roles, privileges, and all that is dropped, renamed or
//! commented on by kind and name.

use super::{Constraint, Select, SetVariable, Statement, TypeName};
use super::{DefOption, Expr, Loc, Name, Persistence, QualifiedName, RelationRef, RoleSpec};

#[derive(Clone, Debug, PartialEq)]
pub struct CreateSequence {
    pub relation: RelationRef,
    pub persistence: Persistence,
    pub if_not_exists: bool,
    pub options: Vec<SequenceOption>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct AlterSequence {
    pub relation: RelationRef,
    pub if_exists: bool,
    pub options: Vec<SequenceOption>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct SequenceOption {
    pub kind: SequenceOptionKind,
    pub loc: Loc,
}

#[derive(Clone, Debug, PartialEq)]
pub enum SequenceOptionKind {
    As(TypeName),
    Increment(i64),
    /// `None` is NO MINVALUE.
    MinValue(Option<i64>),
    /// `None` is NO MAXVALUE.
    MaxValue(Option<i64>),
    Start(i64),
    /// Without a value: at the start value.
    Restart(Option<i64>),
    Cache(i64),
    Cycle(bool),
    /// `None` is OWNED BY NONE.
    OwnedBy(Option<QualifiedName>),
    /// `SEQUENCE NAME n`, of identity columns.
    SequenceName(QualifiedName),
    /// `LOGGED` or `UNLOGGED`.
    Logged(bool),
}

/// One step of `ALTER COLUMN … SET GENERATED … SET INCREMENT … RESTART`.
#[derive(Clone, Debug, PartialEq)]
pub enum AlterSequenceStep {
    /// `SET GENERATED ALWAYS` (true) or `BY DEFAULT`.
    Generated {
        always: bool,
    },
    Option(SequenceOption),
}

#[derive(Clone, Debug, PartialEq)]
pub struct CreateSchema {
    /// Absent with AUTHORIZATION alone: the role's name.
    pub name: Option<Name>,
    pub authorization: Option<RoleSpec>,
    pub if_not_exists: bool,
    pub elements: Vec<Statement>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct CreateDatabase {
    pub name: Name,
    pub options: Vec<DefOption>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct DropDatabase {
    pub name: Name,
    pub if_exists: bool,
    /// `WITH (FORCE)`.
    pub force: bool,
}

#[derive(Clone, Debug, PartialEq)]
pub struct AlterDatabase {
    pub name: Name,
    pub action: AlterDatabaseAction,
}

#[derive(Clone, Debug, PartialEq)]
pub enum AlterDatabaseAction {
    Options(Vec<DefOption>),
    Set(Box<SetVariable>),
    RefreshCollation,
}

#[derive(Clone, Debug, PartialEq)]
pub struct CreateView {
    pub relation: RelationRef,
    pub persistence: Persistence,
    pub columns: Vec<Name>,
    pub query: Select,
    pub replace: bool,
    pub options: Vec<DefOption>,
    pub check_option: Option<CheckOption>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CheckOption {
    Local,
    Cascaded,
}

/// Kinds of things that DROP, ALTER … RENAME, COMMENT and GRANT name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ObjectKind {
    AccessMethod,
    Aggregate,
    Cast,
    Collation,
    Column,
    Attribute,
    Conversion,
    Database,
    Domain,
    DomainConstraint,
    EventTrigger,
    Extension,
    ForeignDataWrapper,
    ForeignServer,
    ForeignTable,
    Function,
    Index,
    Language,
    LargeObject,
    MaterializedView,
    Operator,
    OperatorClass,
    OperatorFamily,
    ParameterAcl,
    Policy,
    Procedure,
    Publication,
    Role,
    Routine,
    Rule,
    Schema,
    Sequence,
    Statistics,
    Subscription,
    Table,
    TableConstraint,
    Tablespace,
    Transform,
    Trigger,
    TextSearchConfiguration,
    TextSearchDictionary,
    TextSearchParser,
    TextSearchTemplate,
    Type,
    UserMapping,
    View,
    Other,
}

/// The name of a thing, in the shape that its kind has.
#[derive(Clone, Debug, PartialEq)]
pub enum ObjectName {
    /// Relations, schemas, databases, roles, …
    Name(QualifiedName),
    /// A thing of a relation: a column, constraint, trigger, rule or policy.
    Of { relation: QualifiedName, name: Name },
    /// Functions, procedures, aggregates, operators; arguments `None` if none are written.
    Routine { name: QualifiedName, args: Option<Vec<TypeName>> },
    /// Types and domains.
    Type(TypeName),
    /// A shape that is recognised and not modelled (casts, transforms, operator classes, …).
    Other,
}

#[derive(Clone, Debug, PartialEq)]
pub struct DropObjects {
    pub kind: ObjectKind,
    pub names: Vec<ObjectName>,
    pub if_exists: bool,
    pub cascade: bool,
    pub concurrently: bool,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Rename {
    pub kind: ObjectKind,
    /// For a column or an attribute: the kind of the relation that it belongs to.
    pub relation_kind: Option<ObjectKind>,
    pub object: ObjectName,
    pub new_name: Name,
    pub if_exists: bool,
    pub cascade: bool,
}

#[derive(Clone, Debug, PartialEq)]
pub struct AlterObjectSchema {
    pub kind: ObjectKind,
    pub object: ObjectName,
    pub new_schema: Name,
    pub if_exists: bool,
}

#[derive(Clone, Debug, PartialEq)]
pub struct AlterOwner {
    pub kind: ObjectKind,
    pub object: ObjectName,
    pub new_owner: RoleSpec,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Comment {
    pub kind: ObjectKind,
    pub object: ObjectName,
    /// `None` is NULL: remove it.
    pub text: Option<Box<str>>,
}

/// GRANT or REVOKE of privileges on objects.
#[derive(Clone, Debug, PartialEq)]
pub struct Grant {
    /// False: REVOKE.
    pub grant: bool,
    /// Empty: ALL PRIVILEGES.
    pub privileges: Vec<Privilege>,
    pub on: GrantTarget,
    pub grantees: Vec<RoleSpec>,
    /// WITH GRANT OPTION, or REVOKE's GRANT OPTION FOR.
    pub grant_option: bool,
    pub granted_by: Option<RoleSpec>,
    pub cascade: bool,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Privilege {
    /// In lower case; `None` is ALL PRIVILEGES on the columns.
    pub name: Option<Name>,
    pub columns: Vec<Name>,
}

#[derive(Clone, Debug, PartialEq)]
pub enum GrantTarget {
    Objects {
        kind: ObjectKind,
        names: Vec<ObjectName>,
    },
    AllInSchemas {
        kind: ObjectKind,
        schemas: Vec<Name>,
    },
    /// ALTER DEFAULT PRIVILEGES.
    Defaults {
        kind: ObjectKind,
    },
}

/// GRANT or REVOKE of membership in roles.
#[derive(Clone, Debug, PartialEq)]
pub struct GrantRole {
    pub grant: bool,
    pub roles: Vec<Name>,
    pub members: Vec<RoleSpec>,
    pub options: Vec<DefOption>,
    pub granted_by: Option<RoleSpec>,
    pub cascade: bool,
}

#[derive(Clone, Debug, PartialEq)]
pub struct AlterDefaultPrivileges {
    /// `FOR ROLE …`, `IN SCHEMA …`.
    pub roles: Vec<RoleSpec>,
    pub schemas: Vec<Name>,
    pub grant: Grant,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RoleFlavour {
    Role,
    User,
    Group,
}

#[derive(Clone, Debug, PartialEq)]
pub struct CreateRole {
    /// USER may log in by default.
    pub flavour: RoleFlavour,
    pub name: Name,
    pub options: Vec<RoleOption>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct AlterRole {
    pub role: RoleSpec,
    pub options: Vec<RoleOption>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct RoleOption {
    pub kind: RoleOptionKind,
    pub loc: Loc,
}

#[derive(Clone, Debug, PartialEq)]
pub enum RoleOptionKind {
    Superuser(bool),
    CreateDb(bool),
    CreateRole(bool),
    Inherit(bool),
    Login(bool),
    Replication(bool),
    BypassRls(bool),
    ConnectionLimit(i64),
    /// `None` is PASSWORD NULL.
    Password(Option<Box<str>>),
    ValidUntil(Box<str>),
    /// IN ROLE, or IN GROUP.
    InRole(Vec<RoleSpec>),
    /// ROLE or USER: members.
    Members(Vec<RoleSpec>),
    /// ADMIN: members who may grant.
    Admins(Vec<RoleSpec>),
    SysId(i64),
}

/// `ALTER ROLE … SET …`; no role is ALL.
#[derive(Clone, Debug, PartialEq)]
pub struct AlterRoleSet {
    pub role: Option<RoleSpec>,
    pub database: Option<Name>,
    pub set: SetVariable,
}

#[derive(Clone, Debug, PartialEq)]
pub struct DropRole {
    pub roles: Vec<RoleSpec>,
    pub if_exists: bool,
}

/// CREATE FUNCTION or PROCEDURE, as far as it takes to refuse it well.
#[derive(Clone, Debug, PartialEq)]
pub struct CreateFunction {
    pub name: QualifiedName,
    pub procedure: bool,
    pub replace: bool,
    pub returns: Option<TypeName>,
    pub language: Option<Name>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct CreateExtension {
    pub name: Name,
    pub if_not_exists: bool,
    pub options: Vec<DefOption>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct CreateCollation {
    pub name: QualifiedName,
    pub if_not_exists: bool,
    /// `FROM` another one, and the place of the word.
    pub from: Option<QualifiedName>,
    pub options: Vec<DefOption>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct CreateType {
    pub name: QualifiedName,
    pub kind: CreateTypeKind,
}

#[derive(Clone, Debug, PartialEq)]
pub enum CreateTypeKind {
    Composite,
    Enum(Vec<Box<str>>),
    Range,
    Base,
}

/// `ALTER TYPE … ADD VALUE` and `RENAME VALUE`.
#[derive(Clone, Debug, PartialEq)]
pub struct AlterEnum {
    pub name: QualifiedName,
    pub change: EnumChange,
}

#[derive(Clone, Debug, PartialEq)]
pub enum EnumChange {
    Add { label: Box<str>, if_not_exists: bool, place: LabelPlace },
    Rename { old: Box<str>, new: Box<str> },
}

/// Where a new label comes.
#[derive(Clone, Debug, PartialEq)]
pub enum LabelPlace {
    Last,
    Before(Box<str>),
    After(Box<str>),
}

#[derive(Clone, Debug, PartialEq)]
pub struct CreateDomain {
    pub name: QualifiedName,
    pub type_name: TypeName,
    pub collation: Option<QualifiedName>,
    pub constraints: Vec<Constraint>,
}

/// `CREATE STATISTICS`.
#[derive(Clone, Debug, PartialEq)]
pub struct CreateStatistics {
    pub name: Option<QualifiedName>,
    pub kinds: Vec<Name>,
    pub exprs: Vec<Expr>,
    pub relation: RelationRef,
    pub if_not_exists: bool,
}
