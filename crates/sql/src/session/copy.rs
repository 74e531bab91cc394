//! COPY, in and out.

use std::borrow::Cow;
use std::sync::Arc;

use storage::heap::Freeze;
use syntax::ast::{
    self, CopyDirection, CopyEndpoint, CopySource, CopyStatement, Loc, RelationRef, Select,
    Statement, Target,
};

use crate::bind::needs::Needs;
use crate::bind::{Binder, Expr, ExprKind, Params, Ty};
use crate::catalog::{TableDef, TableKind};
use crate::error::{Result, SqlError, bail, sql_error};
use crate::exec::copy::{Columns, CopyFormat, CopyReader, Header, Kind, Record, write_record};
use crate::exec::{Cx, Loader, State, eval, eval_bool};
use crate::plan;
use crate::types::acl::Privileges;
use crate::types::scalar::check_text;
use crate::types::{Datum, Encoding, IoContext, TypeId, TypeMod, input, output, receive};

use super::Session;
use super::client::{Client, CopyInput, Field, Format};
use super::copy_binary::{self, BinaryReader, Next};
use super::portal::{RELIEVE_BYTES, Run};

/// Output gathered before it goes to the client.
const CHUNK_BYTES: usize = 64 * 1024;

impl Session {
    pub(super) fn copy(&mut self, copy: &CopyStatement, client: &mut dyn Client) -> Result<String> {
        match &copy.endpoint {
            CopyEndpoint::Client => {}
            CopyEndpoint::File(_) => {
                return Err(SqlError::unsupported("COPY to or from a file is not supported")
                    .with_hint("Use COPY ... TO STDOUT or FROM STDIN, or psql's \\copy command."));
            }
            CopyEndpoint::Program(_) => {
                return Err(SqlError::unsupported(
                    "COPY to or from an external program is not supported",
                )
                .with_hint("Use psql's \\copy command."));
            }
        }
        let format = CopyFormat::from_options(&copy.options, copy.direction)?;
        self.had_query = true;
        let rows = match copy.direction {
            CopyDirection::To => self.copy_to(copy, format, client)?,
            CopyDirection::From => self.copy_from(copy, format, client)?,
        };
        Ok(format!("COPY {rows}"))
    }

    fn copy_to(
        &mut self,
        copy: &CopyStatement,
        format: CopyFormat,
        client: &mut dyn Client,
    ) -> Result<u64> {
        let statement = match &copy.source {
            CopySource::Query(statement) => (**statement).clone(),
            CopySource::Table { relation, columns } => self.table_query(relation, columns)?,
        };
        let planned = Arc::new(self.plan(&statement, Params::none())?);
        let Some(fields) = planned.fields.clone() else {
            bail!(FEATURE_NOT_SUPPORTED, "COPY query must have a RETURNING clause");
        };
        let force = match &copy.source {
            CopySource::Query(_) => forced_fields(&format.force_quote, &fields)?,
            CopySource::Table { relation, columns } => {
                let table = self.copied_table(relation, false)?;
                let positions = copied_columns(&table, columns)?;
                forced(&format.force_quote, "FORCE_QUOTE", &table, &positions)?
            }
        };
        let mut run = Run::start(&mut self.backend, &planned, Vec::new())?;
        let binary = format.kind == Kind::Binary;
        let own = self.backend.values.format.client_encoding;
        let encoding = format.encoding.unwrap_or(own);
        client.copy_out(fields.len(), if binary { Format::Binary } else { Format::Text });
        let mut out = Vec::new();
        let types: Vec<TypeId> = fields.iter().map(|field| field.type_id).collect();
        if binary {
            copy_binary::write_header(&mut out);
        }
        if format.header != Header::No {
            let names = fields.iter().map(|f| Some(f.name.as_bytes()));
            write_record(&format, names, &|_| false, &mut out);
            client.copy_data(&recoded(encoding, &out)?)?;
            out.clear();
        }
        let mut rows = 0;
        let mut texts: Vec<u8> = Vec::new();
        let mut ends: Vec<Option<usize>> = Vec::new();
        // The row belongs to the running plan: its values are written out before it is run on.
        while let Some(row) = run.next(&mut self.backend)?.map(<[Datum]>::to_vec) {
            if binary {
                copy_binary::write_row(&types, &row, own, &self.backend, &mut out)?;
            } else {
                self.write_texts(&types, &row, &mut texts, &mut ends)?;
                let mut start = 0;
                let values = ends.iter().map(|end| {
                    end.map(|end| {
                        let value = &texts[start..end];
                        start = end;
                        value
                    })
                });
                write_record(&format, values, &|i| force[i], &mut out);
            }
            match binary {
                true => client.copy_data(&out)?,
                false => client.copy_data(&recoded(encoding, &out)?)?,
            }
            let large = out.len() > RELIEVE_BYTES;
            out.clear();
            rows += 1;
            if rows % 64 == 0 || large {
                client.relieve(self.backend.txn.must_be_durable())?;
            }
        }
        run.finish(&mut self.backend);
        if binary {
            copy_binary::write_end(&mut out);
            client.copy_data(&out)?;
        }
        client.copy_out_done();
        self.tell_everything();
        Ok(rows)
    }

    /// Values as text, one behind the other, and where each ends.
    fn write_texts(
        &self,
        types: &[TypeId],
        row: &[Datum],
        texts: &mut Vec<u8>,
        ends: &mut Vec<Option<usize>>,
    ) -> Result<()> {
        texts.clear();
        ends.clear();
        for (type_id, value) in types.iter().zip(row) {
            if value.is_null() {
                ends.push(None);
                continue;
            }
            output(*type_id, value, &self.backend.io(), texts)?;
            ends.push(Some(texts.len()));
        }
        Ok(())
    }

    /// `SELECT columns FROM ONLY table`.
    fn table_query(&mut self, relation: &RelationRef, columns: &[ast::Name]) -> Result<Statement> {
        let table = self.copied_table(relation, false)?;
        let target = |at: &usize| {
            let path = vec![table.columns[*at].name.clone()];
            let value = ast::Expr::Column(ast::ColumnRef { path, loc: Loc::NONE });
            Target { value, alias: None, loc: Loc::NONE }
        };
        let targets = copied_columns(&table, columns)?.iter().map(target).collect();
        let from = ast::FromItem::Table(Box::new(ast::FromTable {
            relation: relation.clone(),
            alias: None,
            sample: None,
        }));
        Ok(Statement::Select(Box::new(Select::plain(targets, from))))
    }

    fn copied_table(&mut self, relation: &RelationRef, write: bool) -> Result<Arc<TableDef>> {
        let found = self.backend.with_catalog(|catalog| match write {
            true => catalog.relation_for_write(relation),
            false => catalog.relation(relation),
        })?;
        let Some(table) = found else {
            return Err(self.backend.no_relation(relation));
        };
        let (verb, way) = if write { ("to", "copy to") } else { ("from", "copy from") };
        match table.kind {
            TableKind::Table => Ok(table),
            TableKind::View => {
                Err(sql_error!(WRONG_OBJECT_TYPE, "cannot {way} view \"{}\"", table.name)
                    .with_hint(if write {
                        "To enable copying to a view, provide an INSTEAD OF INSERT trigger."
                    } else {
                        "Try the COPY (SELECT ...) TO variant."
                    }))
            }
            TableKind::MaterializedView => {
                let name = &table.name;
                let refusal =
                    sql_error!(WRONG_OBJECT_TYPE, "cannot {way} materialized view \"{name}\"");
                Err(match write {
                    true => refusal,
                    false => refusal.with_hint("Try the COPY (SELECT ...) TO variant."),
                })
            }
            TableKind::Sequence => {
                bail!(WRONG_OBJECT_TYPE, "cannot copy {verb} sequence \"{}\"", table.name)
            }
            _ => {
                bail!(WRONG_OBJECT_TYPE, "cannot copy {verb} non-table relation \"{}\"", table.name)
            }
        }
    }

    fn copy_from(
        &mut self,
        copy: &CopyStatement,
        format: CopyFormat,
        client: &mut dyn Client,
    ) -> Result<u64> {
        let CopySource::Table { relation, columns } = &copy.source else {
            bail!(SYNTAX_ERROR, "COPY FROM needs a table");
        };
        let table = self.copied_table(relation, true)?;
        if table.persistence != base::Persistence::Temporary {
            self.backend.must_not_be_read_only("COPY FROM")?;
        }
        let positions: Vec<u16> =
            copied_columns(&table, columns)?.into_iter().map(|at| at as u16).collect();
        let (catalog, txn) = (&self.backend.catalog, &self.backend.txn);
        catalog.must_have_of(txn, &table, Privileges::INSERT, &positions)?;
        let mut load = self.prepare_load(&table, columns, &format, copy.filter.as_ref())?;
        let binary = format.kind == Kind::Binary;
        client.copy_in(load.columns.len(), if binary { Format::Binary } else { Format::Text })?;
        self.backend.snapshot = self.backend.txn.statement_snapshot();
        let result = self.read_rows(&mut load, format, client);
        let rows = result.map_err(|error| with_line(error, &table, load.line))?;
        Ok(rows)
    }

    fn prepare_load(
        &mut self,
        table: &Arc<TableDef>,
        columns: &[ast::Name],
        format: &CopyFormat,
        filter: Option<&ast::Expr>,
    ) -> Result<Load> {
        let positions = copied_columns(table, columns)?;
        let (defaults, checks, generated, filter) = self.backend.with_catalog(|catalog| {
            let mut params = Params::none();
            let mut binder = Binder::new(catalog, &mut params);
            let mut defaults = Vec::new();
            for (i, _) in table.live().filter(|(i, _)| !positions.contains(i)) {
                let expr = binder.default_value(table, i)?;
                defaults.push((i, plan::over_row(table, &expr)?));
            }
            let mut checks = Vec::new();
            for (name, expr) in binder.checks(table)? {
                checks.push((name, plan::over_row(table, &expr)?));
            }
            let mut generated = Vec::new();
            for (i, expr) in binder.generated(table)? {
                generated.push((i, plan::over_row(table, &expr)?));
            }
            let filter = match filter {
                Some(filter) => {
                    let expr = binder.bind_over_table(table, filter, ExprKind::CopyWhere)?;
                    let expr = binder.condition_of(expr, ExprKind::CopyWhere)?;
                    Some((Needs::of_expr(&expr), plan::over_row(table, &expr)?))
                }
                None => None,
            };
            Ok::<_, SqlError>((defaults, checks, generated, filter))
        })?;
        let filter = match filter {
            Some((needs, filter)) => {
                self.backend.must_be_allowed(&needs)?;
                Some(filter)
            }
            None => None,
        };
        let not_null = forced(&format.force_not_null, "FORCE_NOT_NULL", table, &positions)?;
        let null = forced(&format.force_null, "FORCE_NULL", table, &positions)?;
        let freeze = if format.freeze {
            if !self.backend.txn.made_at_this_level(table.storage) {
                return Err(sql_error!(
                    OBJECT_NOT_IN_PREREQUISITE_STATE,
                    "cannot perform COPY FREEZE because the table was not created or truncated in the current subtransaction"
                ));
            }
            Freeze::Yes
        } else {
            Freeze::No
        };
        Ok(Load {
            not_null,
            null,
            columns: positions,
            defaults,
            filter,
            loader: Loader::new(table.clone(), checks, generated, freeze),
            table: table.clone(),
            line: 0,
        })
    }

    fn read_rows(
        &mut self,
        load: &mut Load,
        format: CopyFormat,
        client: &mut dyn Client,
    ) -> Result<u64> {
        let own = self.backend.values.format.client_encoding;
        let mut source = Source::new(format, own);
        let mut state = State::default();
        let mut row = vec![Datum::Null; load.table.columns.len()];
        let mut rows = 0;
        while self.read_row(load, &mut source, client, &mut row)? {
            let mut cx = Cx { state: &mut state, host: &mut self.backend };
            let stored = load.store(&mut row, &mut cx);
            rows += u64::from(stored.map_err(|error| load.placed(error, &source))?);
            if rows % 1024 == 0 {
                base::park::checkpoint();
                base::interrupt::check().map_err(crate::error::interrupted)?;
            }
        }
        let mut cx = Cx { state: &mut state, host: &mut self.backend };
        let stored = load.loader.flush(&mut cx);
        stored.map_err(|error| load.placed(error, &source))?;
        Ok(rows)
    }

    /// Reads the next row; false at the end.
    fn read_row(
        &self,
        load: &mut Load,
        source: &mut Source,
        client: &mut dyn Client,
        row: &mut [Datum],
    ) -> Result<bool> {
        match source {
            Source::Text(text) => {
                if text.header != Header::No {
                    let header = std::mem::replace(&mut text.header, Header::No);
                    if !text.next(load, client)? {
                        return Ok(false);
                    }
                    if header == Header::Match {
                        check_header(load, &text.record)?;
                    }
                }
                if !text.next(load, client)? {
                    return Ok(false);
                }
                self.convert(load, &text.record, row)?;
            }
            Source::Binary { reader, at_end } => {
                load.line += 1;
                loop {
                    match reader.next(*at_end, load.columns.len())? {
                        Next::Row => break,
                        Next::End => return Ok(false),
                        Next::More => *at_end = more(client, reader.input())?,
                    }
                }
                self.receive(load, reader, row)?;
            }
        }
        Ok(true)
    }

    fn receive(&self, load: &Load, reader: &BinaryReader, row: &mut [Datum]) -> Result<()> {
        let io = self.backend.io();
        for (n, i) in load.columns.iter().enumerate() {
            let column = &load.table.columns[*i];
            row[*i] = match reader.field(n) {
                None => Datum::Null,
                Some(bytes) => receive_from(column.ty, bytes, &io).map_err(|error| {
                    let (table, line) = (&load.table.name, load.line);
                    let context = format!("COPY {table}, line {line}, column {}", column.name);
                    error.with_context(context)
                })?,
            };
        }
        Ok(())
    }

    fn convert(&self, load: &Load, record: &Record, row: &mut [Datum]) -> Result<()> {
        if record.len() > load.columns.len() {
            let error = sql_error!(BAD_COPY_FILE_FORMAT, "extra data after last expected column");
            return Err(with_text(error, &load.table, record));
        }
        if let Some(bytes) = record.with_zero() {
            return Err(invalid_record(&load.table, record, bytes));
        }
        let io = self.backend.io();
        for (n, i) in load.columns.iter().enumerate() {
            let column = &load.table.columns[*i];
            if n >= record.len() {
                let error =
                    sql_error!(BAD_COPY_FILE_FORMAT, "missing data for column \"{}\"", column.name);
                return Err(with_text(error, &load.table, record));
            }
            row[*i] = match record.field(n) {
                None => Datum::Null,
                Some(bytes) => {
                    let text = std::str::from_utf8(bytes)
                        .map_err(|_| invalid_record(&load.table, record, bytes))?;
                    input(column.ty.id, TypeMod(column.ty.modifier), text, &io).map_err(
                        |error| {
                            let context = format!(
                                "COPY {}, line {}, column {}: \"{}\"",
                                load.table.name,
                                record.line,
                                column.name,
                                shortened(text)
                            );
                            error.with_context(context)
                        },
                    )?
                }
            };
        }
        Ok(())
    }
}

/// Where the rows of a COPY FROM come from.
enum Source {
    Text(Box<TextSource>),
    Binary { reader: BinaryReader, at_end: bool },
}

struct TextSource {
    reader: CopyReader,
    encoding: Encoding,
    record: Record,
    /// What the first line is, until it was read.
    header: Header,
    at_end: bool,
}

impl Source {
    fn new(format: CopyFormat, own: Encoding) -> Source {
        if format.kind == Kind::Binary {
            return Source::Binary { reader: BinaryReader::default(), at_end: false };
        }
        let (header, encoding) = (format.header, format.encoding.unwrap_or(own));
        let (reader, record) = (CopyReader::new(format), Record::default());
        Source::Text(Box::new(TextSource { reader, encoding, record, header, at_end: false }))
    }
}

impl TextSource {
    /// Reads the next record; false at the end.
    fn next(&mut self, load: &mut Load, client: &mut dyn Client) -> Result<bool> {
        let (not_null, null) = (&load.not_null, &load.null);
        let forced = |i: usize| {
            (not_null.get(i).copied().unwrap_or(false), null.get(i).copied().unwrap_or(false))
        };
        loop {
            let found = self.reader.next(self.at_end, &mut self.record, &forced);
            if found.map_err(|error| with_line(error, &load.table, self.reader.place()))? {
                break;
            }
            if self.at_end || self.reader.ended() {
                if !self.at_end {
                    drain(client)?;
                }
                return Ok(false);
            }
            self.at_end = self.more(load, client)?;
        }
        load.line = self.record.line;
        Ok(true)
    }
}

impl TextSource {
    /// Takes the client's next piece; true at the end.
    fn more(&mut self, load: &Load, client: &mut dyn Client) -> Result<bool> {
        if self.encoding.is_plain() {
            return more(client, self.reader.input());
        }
        let mut piece = Vec::new();
        let at_end = more(client, &mut piece)?;
        // Those that are not plain have one byte a character: none is cut in two.
        let decoded = self.encoding.decode(&piece);
        let text = decoded.map_err(|error| with_line(error, &load.table, load.line + 1))?;
        self.reader.input().extend_from_slice(text.as_bytes());
        Ok(at_end)
    }
}

/// A COPY FROM under way.
struct Load {
    table: Arc<TableDef>,
    /// The table's columns, from 0, in the order of the input's fields.
    columns: Vec<usize>,
    not_null: Vec<bool>,
    null: Vec<bool>,
    /// Columns that the input does not have.
    defaults: Vec<(usize, Expr)>,
    filter: Option<Expr>,
    loader: Loader,
    line: u64,
}

impl Load {
    /// Completes a row and stores it; false if WHERE leaves it out.
    fn store(&mut self, row: &mut [Datum], cx: &mut Cx<'_>) -> Result<bool> {
        for (i, default) in &self.defaults {
            row[*i] = eval(default, &[], cx)?;
        }
        if let Some(filter) = &self.filter
            && !eval_bool(filter, row, cx)?
        {
            return Ok(false);
        }
        self.loader.line = self.line;
        self.loader.push(row, cx)?;
        Ok(true)
    }

    /// Says which line an error about a row is about, and what that says if it is still at hand.
    #[cold]
    fn placed(&self, error: SqlError, source: &Source) -> SqlError {
        match (self.loader.refused, source) {
            (Some(line), _) => with_line(error, &self.table, line),
            (None, Source::Text(text)) if error.fields().context.is_none() => {
                with_text(error, &self.table, &text.record)
            }
            (None, _) => with_line(error, &self.table, self.line),
        }
    }
}

fn check_header(load: &Load, record: &Record) -> Result<()> {
    if record.len() != load.columns.len() {
        bail!(
            BAD_COPY_FILE_FORMAT,
            "wrong number of fields in header line: got {}, expected {}",
            record.len(),
            load.columns.len()
        );
    }
    for (n, i) in load.columns.iter().enumerate() {
        let expected = &load.table.columns[*i].name;
        let got = String::from_utf8_lossy(record.field(n).unwrap_or_default());
        if *got != **expected {
            bail!(
                BAD_COPY_FILE_FORMAT,
                "column name mismatch in header line field {}: got \"{got}\", expected \"{expected}\"",
                n + 1
            );
        }
    }
    Ok(())
}

/// A value in the client's binary form.
fn receive_from(ty: Ty, bytes: &[u8], io: &IoContext<'_>) -> Result<Datum> {
    let encoding = io.format.client_encoding;
    let modifier = TypeMod(ty.modifier);
    match encoding.is_plain() {
        true => receive(ty.id, modifier, bytes, io),
        false => receive(ty.id, modifier, &encoding.decode_binary(ty.id, bytes)?, io),
    }
}

/// Text as it leaves.
#[inline]
fn recoded(encoding: Encoding, text: &[u8]) -> Result<Cow<'_, [u8]>> {
    if encoding.is_plain() {
        return Ok(Cow::Borrowed(text));
    }
    let mut out = Vec::new();
    encoding.encode(check_text(text)?, &mut out)?;
    Ok(Cow::Owned(out))
}

/// The error for a record of which `bytes` are no text: the line may have come so, or its escapes make it so.
#[cold]
fn invalid_record(table: &TableDef, record: &Record, bytes: &[u8]) -> SqlError {
    let place = format!("COPY {}, line {}", table.name, record.line);
    match (check_text(&record.raw), check_text(bytes)) {
        (Err(error), _) => error.with_context(place),
        (Ok(line), Err(error)) => error.with_context(format!("{place}: \"{}\"", shortened(line))),
        (Ok(_), Ok(_)) => SqlError::internal("a record that was text is not"),
    }
}

/// Takes the client's next piece; true at the end.
fn more(client: &mut dyn Client, buffer: &mut Vec<u8>) -> Result<bool> {
    match client.copy_read(buffer)? {
        CopyInput::Data => Ok(false),
        CopyInput::Done => Ok(true),
        CopyInput::Fail(reason) => {
            bail!(QUERY_CANCELED, "COPY from stdin failed: {reason}")
        }
    }
}

/// After the end-of-data mark, whatever else the client sends is thrown away.
fn drain(client: &mut dyn Client) -> Result<()> {
    let mut rest = Vec::with_capacity(CHUNK_BYTES);
    while !more(client, &mut rest)? {
        rest.clear();
    }
    Ok(())
}

/// Where the columns are that a COPY names, or all that it copies if it names none.
fn copied_columns(table: &TableDef, names: &[ast::Name]) -> Result<Vec<usize>> {
    match names.is_empty() {
        true => Ok(table.live().filter(|(_, c)| !c.generated).map(|(i, _)| i).collect()),
        false => positions_of(table, names.iter().map(|name| &**name)),
    }
}

fn positions_of<'n>(table: &TableDef, names: impl Iterator<Item = &'n str>) -> Result<Vec<usize>> {
    let mut positions = Vec::new();
    for name in names {
        let Some(i) = table.column(name) else { return Err(no_column(table, name)) };
        refuse_generated(table, i)?;
        if positions.contains(&i) {
            bail!(DUPLICATE_COLUMN, "column \"{name}\" specified more than once");
        }
        positions.push(i);
    }
    Ok(positions)
}

/// Which of the copied columns an option names.
fn forced(
    columns: &Columns,
    option: &str,
    table: &TableDef,
    copied: &[usize],
) -> Result<Vec<bool>> {
    let Columns::Named(names) = columns else {
        return Ok(vec![*columns == Columns::All; copied.len()]);
    };
    let named = positions_of(table, names.iter().map(|name| &**name))?;
    if let Some(other) = named.iter().find(|i| !copied.contains(i)) {
        let name = &table.columns[*other].name;
        bail!(INVALID_COLUMN_REFERENCE, "{option} column \"{name}\" not referenced by COPY");
    }
    Ok(copied.iter().map(|i| named.contains(i)).collect())
}

/// Which columns of a query FORCE_QUOTE names.
fn forced_fields(columns: &Columns, fields: &[Field]) -> Result<Vec<bool>> {
    let mut force = vec![*columns == Columns::All; fields.len()];
    let Columns::Named(names) = columns else { return Ok(force) };
    for name in names {
        let Some(at) = fields.iter().position(|field| *field.name == **name) else {
            bail!(UNDEFINED_COLUMN, "column \"{name}\" does not exist");
        };
        if std::mem::replace(&mut force[at], true) {
            bail!(DUPLICATE_COLUMN, "column \"{name}\" specified more than once");
        }
    }
    Ok(force)
}

fn refuse_generated(table: &TableDef, column: usize) -> Result<()> {
    let column = &table.columns[column];
    if !column.generated {
        return Ok(());
    }
    Err(sql_error!(INVALID_COLUMN_REFERENCE, "column \"{}\" is a generated column", column.name)
        .with_detail("Generated columns cannot be used in COPY."))
}

fn no_column(table: &TableDef, name: &str) -> SqlError {
    sql_error!(UNDEFINED_COLUMN, "column \"{name}\" of relation \"{}\" does not exist", table.name)
}

/// Says which line an error is about, and what it says.
#[cold]
fn with_text(error: SqlError, table: &TableDef, record: &Record) -> SqlError {
    let place = format!("COPY {}, line {}", table.name, record.line);
    match std::str::from_utf8(&record.raw) {
        Ok(line) => error.with_context(format!("{place}: \"{}\"", shortened(line))),
        Err(_) => error.with_context(place),
    }
}

/// As much of a text as an error's context shows.
fn shortened(text: &str) -> Cow<'_, str> {
    const MOST: usize = 100;
    match text.len() <= MOST {
        true => Cow::Borrowed(text),
        false => Cow::Owned(format!("{}...", &text[..text.floor_char_boundary(MOST)])),
    }
}

/// Says where in the input an error was found.
fn with_line(error: SqlError, table: &TableDef, line: u64) -> SqlError {
    if error.fields().context.is_some() || line == 0 {
        return error;
    }
    error.with_context(format!("COPY {}, line {line}", table.name))
}
