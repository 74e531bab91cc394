//! The syntax tree: what a statement says, before anything is known about what its names mean.
//!
//! The content follows PostgreSQL's raw parse tree, because the grammar is PostgreSQL's and its
//! documentation explains it; the shape is Rust's: an `Option` where PostgreSQL has a NULL pointer,
//! an enum where it has a tag and fields that only some tags use, a `bool` or an enum where it has
//! flag bits. Everything is owned, and nothing refers to the text.
//!
//! * A node that can be the subject of an error message has a [`Loc`], from which the client's caret
//!   is drawn. Locations never make two trees differ.
//! * Names are folded and truncated as the lexer does it; nothing here is looked up.
//! * Any tree that [`crate::parse()`] returns has at most [`crate::MAX_DEPTH`] levels of nesting, or
//!   [`crate::MAX_CHAIN`] links of a chain, so that plain recursion (dropping and cloning included) needs a bounded stack; what that bound is, the
//!   crate's README says.

mod dml;
mod expr;
mod index;
mod loc;
mod name;
mod object;
mod select;
mod session;
mod table;

pub use dml::*;
pub use expr::*;
pub use index::*;
pub use loc::*;
pub use name::*;
pub use object::*;
pub use select::*;
pub use session::*;
pub use table::*;

/// One SQL statement.
#[derive(Clone, Debug, PartialEq)]
pub enum Statement {
    Select(Box<Select>),
    Insert(Box<Insert>),
    Update(Box<Update>),
    Delete(Box<Delete>),

    CreateTable(Box<CreateTable>),
    CreateTableAs(Box<CreateTableAs>),
    AlterTable(Box<AlterTable>),
    CreateIndex(Box<CreateIndex>),
    Reindex(Box<Reindex>),
    CreateSequence(Box<CreateSequence>),
    AlterSequence(Box<AlterSequence>),
    CreateSchema(Box<CreateSchema>),
    CreateDatabase(Box<CreateDatabase>),
    AlterDatabase(Box<AlterDatabase>),
    DropDatabase(Box<DropDatabase>),
    CreateView(Box<CreateView>),
    RefreshMaterializedView(Box<RefreshMaterializedView>),
    Drop(Box<DropObjects>),
    Rename(Box<Rename>),
    AlterObjectSchema(Box<AlterObjectSchema>),
    AlterOwner(Box<AlterOwner>),
    Comment(Box<Comment>),
    CreateFunction(Box<CreateFunction>),
    CreateExtension(Box<CreateExtension>),
    CreateCollation(Box<CreateCollation>),
    /// ALTER COLLATION … REFRESH VERSION.
    RefreshCollation(QualifiedName),
    CreateType(Box<CreateType>),
    AlterEnum(Box<AlterEnum>),
    CreateDomain(Box<CreateDomain>),
    CreateStatistics(Box<CreateStatistics>),

    Grant(Box<Grant>),
    GrantRole(Box<GrantRole>),
    AlterDefaultPrivileges(Box<AlterDefaultPrivileges>),
    CreateRole(Box<CreateRole>),
    AlterRole(Box<AlterRole>),
    AlterRoleSet(Box<AlterRoleSet>),
    DropRole(Box<DropRole>),
    ReassignOwned(Box<ReassignOwned>),
    DropOwned(Box<DropOwned>),

    Transaction(Box<Transaction>),
    Set(Box<SetVariable>),
    /// `SHOW name`; `SHOW ALL` has the name `all`.
    Show(Name),
    SetConstraints(Box<SetConstraints>),
    /// `ALTER SYSTEM SET …`.
    AlterSystem(Box<SetVariable>),
    Prepare(Box<Prepare>),
    Execute(Box<Execute>),
    /// `None` is DEALLOCATE ALL.
    Deallocate(Option<Name>),
    DeclareCursor(Box<DeclareCursor>),
    Fetch(Box<Fetch>),
    /// `None` is CLOSE ALL.
    CloseCursor(Option<Name>),
    Copy(Box<CopyStatement>),
    Explain(Box<Explain>),
    Truncate(Box<Truncate>),
    LockTable(Box<LockTable>),
    Vacuum(Box<Vacuum>),
    Cluster(Box<Cluster>),
    /// Options exist only in grammars newer than PostgreSQL 15.
    Checkpoint(Vec<DefOption>),
    Listen(Name),
    Notify(Box<Notify>),
    /// `None` is UNLISTEN *.
    Unlisten(Option<Name>),
    Discard(Discard),
    Do(Box<DoBlock>),
    Call(Box<Call>),
    /// LOAD 'library'.
    Load(Box<str>),

    /// Any other command, by the command tag that PostgreSQL gives it (`CREATE TRIGGER`, `MERGE`):
    /// recognised, so that it can be refused by name.
    Unsupported(&'static str),
}
