//! Rows that are kept, for operators that are started again.

use std::sync::Arc;

use crate::error::{Result, check_stack};
use crate::plan::node::Node;
use crate::plan::rerun::Rerun;
use crate::types::Datum;

use super::spill::{RowReader, RowStore, Usage};
use super::{Cx, Operator, Running, run};

/// An input's rows, kept as they are read.
pub(super) struct Kept {
    rows: RowStore,
    reader: RowReader,
    /// There are no more than those.
    whole: bool,
}

impl Kept {
    pub fn new(cx: &Cx<'_>) -> Kept {
        Kept { rows: cx.row_store(), reader: RowReader::default(), whole: false }
    }

    /// Moves to the next row; what is not kept yet comes from the input.
    pub fn next<O: Operator + ?Sized>(&mut self, input: &mut O, cx: &mut Cx<'_>) -> Result<bool> {
        if self.reader.next(&self.rows)? {
            return Ok(true);
        }
        if self.whole || !input.next(cx)? {
            self.whole = true;
            return Ok(false);
        }
        self.rows.push(input.row())?;
        if self.rows.len().is_multiple_of(1024) {
            cx.breathe()?;
        }
        let found = self.reader.next(&self.rows)?;
        assert!(found, "one was added");
        Ok(true)
    }

    pub fn row(&self) -> &[Datum] {
        self.reader.row(&self.rows)
    }

    /// The next row will be the first.
    pub fn rewind(&mut self) {
        self.reader.seek(0);
    }
}

/// Keeps the input's rows for later passes. The first one reads no further than is asked for.
pub struct Materialize {
    plan: Arc<Node>,
    input: Running,
    kept: Option<Kept>,
    /// Looked into when it is started again.
    rerun: Option<Rerun>,
}

impl Materialize {
    pub fn new(plan: Arc<Node>) -> Materialize {
        let input = run(&plan);
        Materialize { plan, input, kept: None, rerun: None }
    }
}

impl Operator for Materialize {
    fn next(&mut self, cx: &mut Cx<'_>) -> Result<bool> {
        if self.kept.is_none() {
            check_stack()?;
        }
        self.kept.get_or_insert_with(|| Kept::new(cx)).next(&mut *self.input, cx)
    }

    fn row(&self) -> &[Datum] {
        self.kept.as_ref().expect("next said true").row()
    }

    fn rescan(&mut self, cx: &mut Cx<'_>) -> Result<()> {
        let Some(kept) = &mut self.kept else { return Ok(()) };
        let plan = &self.plan;
        if *self.rerun.get_or_insert_with(|| Rerun::of(plan, &[])) != Rerun::Other {
            kept.rewind();
            return Ok(());
        }
        self.kept = None;
        self.input.rescan(cx)
    }

    fn repeat(&mut self, _: &mut Cx<'_>) -> Result<()> {
        if let Some(kept) = &mut self.kept {
            kept.rewind();
        }
        Ok(())
    }
}

/// An operator that reads all of its input for its first row, or works on it. Once it is started again, and gives the same
/// rows then, it is run for the last time, and they are kept. What is volatile is asked each time.
pub struct Keeping<O> {
    node: Node,
    operator: O,
    /// Looked into when it is started again.
    rerun: Option<Rerun>,
    kept: Option<Kept>,
}

impl<O: Operator> Keeping<O> {
    pub fn new(node: Node, operator: O) -> Keeping<O> {
        Keeping { node, operator, rerun: None, kept: None }
    }
}

impl<O: Operator> Operator for Keeping<O> {
    fn next(&mut self, cx: &mut Cx<'_>) -> Result<bool> {
        match &mut self.kept {
            None => self.operator.next(cx),
            Some(kept) => kept.next(&mut self.operator, cx),
        }
    }

    fn row(&self) -> &[Datum] {
        match &self.kept {
            None => self.operator.row(),
            Some(kept) => kept.row(),
        }
    }

    fn rescan(&mut self, cx: &mut Cx<'_>) -> Result<()> {
        if let Some(kept) = &mut self.kept {
            kept.rewind();
            return Ok(());
        }
        let node = &self.node;
        let rerun = *self.rerun.get_or_insert_with(|| Rerun::of(node, &[]));
        if rerun == Rerun::Same {
            self.kept = Some(Kept::new(cx));
        }
        self.operator.rescan(cx)
    }

    fn usage(&self) -> Option<Usage> {
        self.operator.usage()
    }
}
