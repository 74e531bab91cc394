//! UNION, INTERSECT, EXCEPT.

use syntax::ast::{Loc, Select, SelectBody, SetOperation, SetOperator};

use crate::error::{Result, SqlError, check_stack, sql_error};
use crate::types::{Collation, TypeId};

use super::query::{JoinTree, Query, Rel, RelColumn, RelKind, SetNode, SetTree, Target};
use super::scope::{NsColumn, NsItem, var};
use super::tree::{Expr, Slot, Ty};
use super::{Binder, at, coerce, locking};

/// One branch of a set operation while its column types are being agreed on.
struct Branch {
    tree: SetTree,
    /// The first leaf: its column names are the result's.
    first: u16,
    types: Vec<Ty>,
    collations: Vec<Collation>,
}

impl Binder<'_, '_> {
    pub(super) fn set_operation(&mut self, select: &Select, op: &SetOperation) -> Result<Query> {
        let mut query = Query::default();
        let mut branch = self.set_branch(op)?;
        let types = branch.types;
        self.coerce_sides(&mut branch.tree)?;
        for (i, (ty, collation)) in types.iter().zip(&branch.collations).enumerate() {
            let loc = self.leaf_target(branch.first, i).expr.loc();
            let name = self.scope().rels[usize::from(branch.first)].columns[i].name.clone();
            let column = RelColumn { collation: *collation, ..RelColumn::plain(name.clone(), *ty) };
            let mut expr = var(branch.first, i, &column);
            if let Expr::Var(var) = &mut expr {
                var.loc = loc;
            }
            let nameless = self.scope().rels.iter().any(|leaf| leaf.columns[i].nameless);
            query.targets.push(Target { expr, name, junk: false, origin: None, nameless });
        }
        query.from = vec![JoinTree::Rel(branch.first)];
        query.set_op = Some(branch.tree);

        // ORDER BY sees the result's columns only.
        let columns = query
            .targets
            .iter()
            .map(|t| NsColumn { name: t.name.clone(), expr: t.expr.clone(), hidden: false })
            .collect();
        self.scope().items = vec![NsItem {
            alias: "".into(),
            table: None,
            columns,
            rel: None,
            qualified: false,
            unqualified: true,
            lateral_only: false,
            lateral_ok: true,
        }];
        let visible = query.targets.len();
        query.order_by = self.order_by(&select.order_by, &mut query.targets)?;
        if query.targets.len() > visible {
            return Err(at(
                sql_error!(
                    FEATURE_NOT_SUPPORTED,
                    "invalid UNION/INTERSECT/EXCEPT ORDER BY clause"
                )
                .with_detail("Only result column names can be used, not expressions or functions.")
                .with_hint("Add the expression/function to every SELECT, or move the UNION into a FROM clause."),
                query.targets[visible].expr.loc(),
            ));
        }
        self.limits(select, &mut query)?;
        self.finish(&mut query)?;
        locking::lock(&mut query, &select.locking)?;
        Ok(query)
    }

    fn set_branch(&mut self, op: &SetOperation) -> Result<Branch> {
        check_stack()?;
        let words = words(op.op);
        let mut left = self.set_side(&op.left)?;
        let mut right = self.set_side(&op.right)?;
        if left.types.len() != right.types.len() {
            let loc = self.leaf_loc(right.first);
            return Err(at(
                sql_error!(SYNTAX_ERROR, "each {words} query must have the same number of columns"),
                loc,
            ));
        }
        let mut types = Vec::with_capacity(left.types.len());
        for i in 0..left.types.len() {
            let l = self.leaf_expr(left.first, i, left.types[i]);
            let r = self.leaf_expr(right.first, i, right.types[i]);
            // Literals to which neither side gives a type are text, whatever an enclosing operation has beside them.
            types.push(known(self.common_type(&[l, r], words)?));
        }
        self.literals_to(&mut left, &types, words)?;
        self.literals_to(&mut right, &types, words)?;
        if !op.all || op.op != SetOperator::Union {
            for (i, ty) in types.iter().enumerate() {
                let expr = self.leaf_expr(left.first, i, *ty);
                self.check_hashable(&expr)?;
            }
        }
        let collations = self.set_collations(op, &left, &right, &types)?;
        let first = left.first;
        let node = SetNode {
            op: op.op,
            all: op.all,
            types: types.clone(),
            collations: collations.clone(),
            casts: Default::default(),
            left: left.tree,
            right: right.tree,
        };
        Ok(Branch { tree: SetTree::Op(Box::new(node)), first, types, collations })
    }

    /// The collations of a set operation's columns.
    fn set_collations(
        &mut self,
        op: &SetOperation,
        left: &Branch,
        right: &Branch,
        types: &[Ty],
    ) -> Result<Vec<Collation>> {
        let union_all = op.all && op.op == SetOperator::Union;
        let mut collations = Vec::with_capacity(types.len());
        for (i, ty) in types.iter().enumerate() {
            if !ty.collation().is_valid() {
                collations.push(ty.collation());
                continue;
            }
            let sides = [self.side_expr(left, i), self.side_expr(right, i)];
            let collation = self.column_collation(&sides, union_all)?;
            if collation.loose().is_some() && op.op != SetOperator::Union {
                return Err(loose_rows(words(op.op)));
            }
            collations.push(collation);
        }
        Ok(collations)
    }

    /// Column `i` of a side, as far as its collation goes.
    fn side_expr(&mut self, side: &Branch, i: usize) -> Expr {
        let ty = side.types[i];
        if let SetTree::Leaf(rel) = side.tree {
            return self.leaf_expr(rel, i, ty);
        }
        let column = RelColumn { collation: side.collations[i], ..RelColumn::plain("", ty) };
        RelColumn::var_of(&column)
    }

    fn set_side(&mut self, select: &Select) -> Result<Branch> {
        let plain = select.with.is_none()
            && select.order_by.is_empty()
            && select.limit.is_none()
            && select.offset.is_none()
            && select.locking.is_empty();
        if let (true, SelectBody::SetOp(op)) = (plain, &select.body) {
            return self.set_branch(op);
        }
        if let SelectBody::Core(core) = &select.body
            && let Some(into) = &core.into
        {
            let message = "INTO is only allowed on first SELECT of UNION/INTERSECT/EXCEPT";
            return Err(at(sql_error!(SYNTAX_ERROR, "{message}"), into.relation.loc));
        }
        let query = self.select(select, false)?;
        let columns: Vec<RelColumn> = query.visible().map(RelColumn::of_target).collect();
        let types = columns.iter().map(|c| c.ty).collect();
        let collations = columns.iter().map(|c| c.collation).collect();
        let number = self.scope().rels.len() + 1;
        let rel = Rel {
            alias: format!("*SELECT* {number}").into(),
            kind: RelKind::Subquery(Box::new(query)),
            columns,
            lateral: false,
            loc: Loc::NONE,
        };
        let first = self.scope().add_rel(rel);
        Ok(Branch { tree: SetTree::Leaf(first), first, types, collations })
    }

    fn leaf_query(&mut self, rel: u16) -> &mut Query {
        match &mut self.scope().rels[usize::from(rel)].kind {
            RelKind::Subquery(query) => query,
            _ => unreachable!("leaves of set operations are sub-queries"),
        }
    }

    fn leaf_loc(&mut self, rel: u16) -> Loc {
        self.leaf_query(rel).targets.first().map_or(Loc::NONE, |t| t.expr.loc())
    }

    /// Column `i` of a leaf, with the leaf's own expression if it still is a bare literal.
    fn leaf_expr(&mut self, rel: u16, i: usize, ty: Ty) -> Expr {
        let query = self.leaf_query(rel);
        let target = query.visible().nth(i).expect("branches have the same width");
        if target.expr.ty() == ty {
            return target.expr.clone();
        }
        Expr::null(ty)
    }

    /// Has each side of each operation give that operation's types. What a side compares or orders rows by are its own.
    fn coerce_sides(&mut self, tree: &mut SetTree) -> Result<()> {
        let SetTree::Op(node) = tree else { return Ok(()) };
        let SetNode { left, right, casts, types, .. } = &mut **node;
        for (side, casts) in [left, right].into_iter().zip(casts) {
            self.coerce_sides(side)?;
            let own = match side {
                SetTree::Op(within) => within.types.clone(),
                SetTree::Leaf(rel) => {
                    self.coerce_leaf(*rel, types)?;
                    let leaf = self.leaf_query(*rel);
                    leaf.visible().map(|target| target.expr.ty()).collect()
                }
            };
            if own != *types {
                *casts = self.casts_of(&own, types)?;
            }
        }
        Ok(())
    }

    /// Columns of these types as others.
    pub(super) fn casts_of(&mut self, own: &[Ty], types: &[Ty]) -> Result<Vec<Expr>> {
        let mut casts = Vec::with_capacity(own.len());
        for (i, (own, ty)) in own.iter().zip(types).enumerate() {
            let slot = Expr::Slot(Slot { slot: i as u16, ty: *own });
            casts.push(coerce::to_common(self, slot, *ty, "UNION")?);
        }
        Ok(casts)
    }

    /// Gives a leaf's columns these types, where nothing hangs on those that they have.
    fn coerce_leaf(&mut self, rel: u16, types: &[Ty]) -> Result<()> {
        if self.leaf_query(rel).hangs_on_types() {
            return Ok(());
        }
        for (i, ty) in types.iter().enumerate() {
            self.coerce_column(rel, i, *ty, "UNION")?;
        }
        Ok(())
    }

    /// A side's literals of no type become what its own operation has, not what an enclosing one has.
    fn literals_to(&mut self, side: &mut Branch, types: &[Ty], words: &str) -> Result<()> {
        for (i, ty) in types.iter().enumerate() {
            if side.types[i].id == TypeId::UNKNOWN {
                self.coerce_column(side.first, i, *ty, words)?;
                side.types[i] = *ty;
            }
        }
        Ok(())
    }

    fn coerce_column(&mut self, rel: u16, i: usize, ty: Ty, words: &str) -> Result<()> {
        let target = self.leaf_target(rel, i);
        if target.expr.ty() == ty {
            return Ok(());
        }
        let expr = std::mem::replace(&mut target.expr, Expr::bool(true));
        let expr = coerce::to_common(self, expr, ty, words)?;
        self.leaf_target(rel, i).expr = expr;
        self.scope().rels[usize::from(rel)].columns[i].ty = ty;
        Ok(())
    }

    fn leaf_target(&mut self, rel: u16, i: usize) -> &mut Target {
        let targets = &mut self.leaf_query(rel).targets;
        targets.iter_mut().filter(|t| !t.junk).nth(i).expect("branches have the same width")
    }
}

/// Rows that are compared as wholes are compared by their bytes.
pub(super) fn loose_rows(what: &str) -> SqlError {
    SqlError::unsupported(format!("nondeterministic collations are not supported in {what} yet"))
}

fn known(ty: Ty) -> Ty {
    if ty.id == TypeId::UNKNOWN { Ty::TEXT } else { ty }
}

fn words(op: SetOperator) -> &'static str {
    match op {
        SetOperator::Union => "UNION",
        SetOperator::Intersect => "INTERSECT",
        SetOperator::Except => "EXCEPT",
    }
}
