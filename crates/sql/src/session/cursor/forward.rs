//! Cursors that only go forward: NO SCROLL was written, or nothing, and their plans could not go back. Rows are told
//! as they are read, and none is kept but the one that the cursor is on.

use syntax::ast::FetchDirection;

use crate::error::{Result, SqlError, SqlState};
use crate::session::Session;
use crate::session::portal::Portal;

use super::Told;

impl Session {
    /// Moves the cursor in a direction, and tells the rows that it yields. How many there were. It does not stay on a
    /// row and give it again, either; it need not, where nobody wants the row.
    pub(super) fn go_forward(
        &mut self,
        portal: &mut Portal,
        direction: FetchDirection,
        told: &mut Told<'_>,
    ) -> Result<u64> {
        let cursor = portal.cursor.as_ref().expect("the portal has a cursor");
        let (position, on_row) = (cursor.position, cursor.is_on_row());
        match direction {
            FetchDirection::Forward(Some(n)) if n < 0 => {
                self.go_forward(portal, FetchDirection::Backward(Some(-n)), told)
            }
            FetchDirection::Backward(Some(n)) if n < 0 => {
                self.go_forward(portal, FetchDirection::Forward(Some(-n)), told)
            }
            FetchDirection::Forward(Some(0))
            | FetchDirection::Backward(Some(0))
            | FetchDirection::Relative(0) => match on_row && !told.is_move {
                true => Err(only_forward()),
                false => Ok(u64::from(on_row)),
            },
            FetchDirection::Forward(count) => {
                self.pass(portal, count.map(|n| n as usize), Some(told))
            }
            // Nobody wants rows, and there are none.
            FetchDirection::Backward(None) if position == 0 && told.is_move => Ok(0),
            FetchDirection::Absolute(n) if n < 0 => {
                self.pass(portal, None, None)?;
                Err(only_forward())
            }
            FetchDirection::Absolute(0) if position == 0 => Ok(0),
            FetchDirection::Absolute(n) if n as usize > position => {
                self.pass_to(portal, n as usize - position, told)
            }
            FetchDirection::Relative(n) if n > 0 => self.pass_to(portal, n as usize, told),
            _ => Err(only_forward()),
        }
    }

    /// Goes over rows, and tells the last of so many.
    fn pass_to(
        &mut self,
        portal: &mut Portal,
        distance: usize,
        told: &mut Told<'_>,
    ) -> Result<u64> {
        self.pass(portal, Some(distance - 1), None)?;
        self.pass(portal, Some(1), Some(told))
    }

    /// Goes over so many rows, or all that are left, and tells them if anybody wants them. How many there were.
    fn pass(
        &mut self,
        portal: &mut Portal,
        count: Option<usize>,
        mut told: Option<&mut Told<'_>>,
    ) -> Result<u64> {
        self.start_if_new(portal)?;
        let cursor = portal.cursor.as_mut().expect("the portal has a cursor");
        let before = cursor.passed;
        while count.is_none_or(|count| cursor.passed - before < count) {
            let row = match (&cursor.rows, &mut portal.run) {
                (Some(rows), _) => match cursor.reader.next(rows)? {
                    true => Some(cursor.reader.row(rows)),
                    false => None,
                },
                (None, Some(run)) => run.next(&mut self.backend)?,
                (None, None) => None,
            };
            let Some(row) = row else {
                cursor.position = cursor.passed + 1;
                cursor.complete = true;
                portal.done = true;
                if let Some(mut run) = portal.run.take() {
                    run.finish(&mut self.backend);
                }
                break;
            };
            cursor.passed += 1;
            cursor.position = cursor.passed;
            // Those before it are gone by the time that anybody asks which row this is.
            if count == Some(cursor.passed - before) {
                cursor.current.clear();
                cursor.current.extend_from_slice(row);
            }
            if let Some(told) = &mut told {
                told.tell(&self.backend, row)?;
            }
        }
        self.backend.txn.release_statement();
        Ok((cursor.passed - before) as u64)
    }
}

fn only_forward() -> SqlError {
    SqlError::new(SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE, "cursor can only scan forward")
        .with_hint("Declare it with SCROLL option to enable backward scan.")
}
