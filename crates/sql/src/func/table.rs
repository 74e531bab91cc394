//! The tables: facts joined with bodies, once, and the lookups over them.

use std::sync::LazyLock;

use base::hash::HashMap;

use super::bodies::Bodies;
use super::{
    Accumulator, Aggregate, Body, Cast, CastMethod, CastUse, Facts, Function, Operator, Volatility,
};
use crate::types::{Oid, TypeId};

/// All rooms that register bodies.
const ROOMS: &[&[Bodies]] = &[
    super::array::ROOMS,
    super::crypto::ROOMS,
    super::digest::ROOMS,
    super::enums::ROOMS,
    super::float::ROOMS,
    super::hash::ROOMS,
    super::inet::ROOMS,
    super::int::ROOMS,
    super::json::ROOMS,
    super::jsonb::ROOMS,
    super::like::ROOMS,
    super::numeric::ROOMS,
    super::pattern::ROOMS,
    super::plain::ROOMS,
    super::quote::ROOMS,
    super::regex::ROOMS,
    super::series::ROOMS,
    super::session::ROOMS,
    super::system::ROOMS,
    super::text::ROOMS,
];

/// How an aggregate starts.
pub(super) type Start = fn(arg_types: &[TypeId]) -> Box<dyn Accumulator>;

struct Tables {
    functions: &'static [Function],
    functions_by_name: HashMap<&'static str, Vec<&'static Function>>,
    functions_by_oid: HashMap<Oid, &'static Function>,
    aggregates: &'static [Aggregate],
    aggregates_by_name: HashMap<&'static str, Vec<&'static Aggregate>>,
    operators: &'static [Operator],
    operators_by_symbol: HashMap<&'static str, Vec<&'static Operator>>,
    operators_by_oid: HashMap<Oid, &'static Operator>,
    casts: &'static [Cast],
    casts_by_types: HashMap<(TypeId, TypeId), &'static Cast>,
}

/// Built at first use, kept for good: what lookups return lives as long as the process.
static TABLES: LazyLock<Tables> = LazyLock::new(Tables::build);

/// All functions of that name.
pub fn functions(name: &str) -> impl Iterator<Item = &'static Function> + use<> {
    TABLES.functions_by_name.get(name).map_or(&[][..], Vec::as_slice).iter().copied()
}

/// A function by its OID.
pub fn function(oid: Oid) -> Option<&'static Function> {
    TABLES.functions_by_oid.get(&oid).copied()
}

/// All functions, by OID.
pub fn all_functions() -> impl Iterator<Item = &'static Function> {
    TABLES.functions.iter()
}

/// All operators of that symbol, prefix ones included.
pub fn operators(symbol: &str) -> impl Iterator<Item = &'static Operator> + use<> {
    TABLES.operators_by_symbol.get(symbol).map_or(&[][..], Vec::as_slice).iter().copied()
}

/// An operator by its OID.
pub fn operator(oid: Oid) -> Option<&'static Operator> {
    TABLES.operators_by_oid.get(&oid).copied()
}

/// All operators, by OID.
pub fn all_operators() -> impl Iterator<Item = &'static Operator> {
    TABLES.operators.iter()
}

/// The cast from one type to another, if `pg_cast` has one.
pub fn cast(source: TypeId, target: TypeId) -> Option<&'static Cast> {
    TABLES.casts_by_types.get(&(source, target)).copied()
}

/// All casts, by OID.
pub fn all_casts() -> impl Iterator<Item = &'static Cast> {
    TABLES.casts.iter()
}

/// All aggregates of that name.
pub fn aggregates(name: &str) -> impl Iterator<Item = &'static Aggregate> + use<> {
    TABLES.aggregates_by_name.get(name).map_or(&[][..], Vec::as_slice).iter().copied()
}

/// An aggregate by its OID.
pub fn aggregate(oid: Oid) -> Option<&'static Aggregate> {
    TABLES.aggregates.iter().find(|aggregate| aggregate.oid == oid)
}

/// All aggregates, by OID.
pub fn all_aggregates() -> impl Iterator<Item = &'static Aggregate> {
    TABLES.aggregates.iter()
}

/// The registered bodies by `prosrc`.
pub(super) fn bodies() -> HashMap<&'static str, Body> {
    let mut bodies = HashMap::default();
    let rooms = ROOMS.iter().chain(super::datetime::ROOMS);
    for (name, body) in rooms.flat_map(|room| room.iter()).flat_map(|table| table.iter()) {
        let before = bodies.insert(*name, *body);
        assert!(before.is_none(), "the body {name} is registered twice");
    }
    bodies
}

/// The starts of aggregates by `name(types)`.
pub(super) fn starts() -> HashMap<&'static str, Start> {
    super::aggregate::ROOMS.iter().flat_map(|room| room.iter()).copied().collect()
}

/// One line of a data file.
struct Row(std::str::Split<'static, char>);

impl Row {
    fn text(&mut self) -> &'static str {
        self.0.next().expect("the data files have all columns")
    }

    fn number<T: std::str::FromStr>(&mut self) -> T {
        let text = self.text();
        text.parse().unwrap_or_else(|_| panic!("a number in a data file, not {text}"))
    }

    fn oid(&mut self) -> Oid {
        Oid(self.number())
    }

    fn type_id(&mut self) -> TypeId {
        TypeId(self.number())
    }

    fn flag(&mut self) -> bool {
        self.text() == "t"
    }

    fn letter(&mut self) -> u8 {
        self.text().as_bytes()[0]
    }

    /// Types between blanks.
    fn types(&mut self) -> &'static [TypeId] {
        self.list(' ', |word| TypeId(word.parse().expect("an OID in a data file")))
    }

    fn list<T>(&mut self, separator: char, parse: impl FnMut(&'static str) -> T) -> &'static [T] {
        let words = self.text().split(separator).filter(|word| !word.is_empty());
        words.map(parse).collect::<Vec<T>>().leak()
    }
}

fn rows(file: &'static str) -> impl Iterator<Item = Row> {
    file.lines().map(|line| Row(line.split('\t')))
}

impl Tables {
    fn build() -> Tables {
        let bodies = bodies();
        let functions: &[Function] = rows(include_str!("data/pg_proc.tsv"))
            .chain(rows(include_str!("data/own_proc.tsv")))
            .map(|row| read_function(row, &bodies))
            .collect::<Vec<_>>()
            .leak();
        let functions_by_oid: HashMap<Oid, &Function> =
            functions.iter().map(|function| (function.oid, function)).collect();
        let starts = starts();
        let aggregates: &[Aggregate] = rows(include_str!("data/pg_aggregate.tsv"))
            .map(|row| read_aggregate(row, &starts))
            .collect::<Vec<_>>()
            .leak();
        let operators: &[Operator] = rows(include_str!("data/pg_operator.tsv"))
            .map(|row| read_operator(row, &functions_by_oid))
            .collect::<Vec<_>>()
            .leak();
        let casts: &[Cast] = rows(include_str!("data/pg_cast.tsv"))
            .map(|row| read_cast(row, &functions_by_oid))
            .collect::<Vec<_>>()
            .leak();
        Tables {
            functions,
            functions_by_name: group(functions.iter().map(|f| (f.name, f))),
            functions_by_oid,
            aggregates,
            aggregates_by_name: group(aggregates.iter().map(|a| (a.name, a))),
            operators,
            operators_by_symbol: group(operators.iter().map(|op| (op.symbol, op))),
            operators_by_oid: operators.iter().map(|op| (op.oid, op)).collect(),
            casts,
            casts_by_types: casts.iter().map(|c| ((c.source, c.target), c)).collect(),
        }
    }
}

fn group<T>(
    items: impl Iterator<Item = (&'static str, &'static T)>,
) -> HashMap<&'static str, Vec<&'static T>> {
    let mut groups: HashMap<&'static str, Vec<&'static T>> = HashMap::default();
    for (name, item) in items {
        groups.entry(name).or_default().push(item);
    }
    groups
}

/// `oid name prosrc kind args result strict returns_set volatility parallel leakproof cost rows
/// variadic defaults out_types out_names arg_names`.
fn read_function(mut row: Row, bodies: &HashMap<&'static str, Body>) -> Function {
    let oid = row.oid();
    let name = row.text();
    let source = row.text();
    let kind = row.letter();
    let args = row.types();
    let result = row.type_id();
    let strict = row.flag();
    let returns_set = row.flag();
    let volatility = match row.letter() {
        b'i' => Volatility::Immutable,
        b's' => Volatility::Stable,
        _ => Volatility::Volatile,
    };
    let parallel = row.letter();
    let leakproof = row.flag();
    let (cost, row_count) = (row.number(), row.number());
    let variadic_type = row.type_id();
    let defaults = row.list(';', |text| text);
    let out_types = row.types();
    let out_names = row.list(' ', |name| name);
    let arg_names = row.list(' ', |name| name);
    let body = *bodies.get(source).unwrap_or_else(|| panic!("no body for {source}"));
    let is_record = result == TypeId::RECORD;
    let columns: Vec<_> = out_names.iter().copied().zip(out_types.iter().copied()).collect();
    Function {
        oid,
        name,
        args,
        result,
        source,
        defaults,
        variadic: variadic_type.is_valid(),
        strict,
        returns_set,
        volatility,
        columns: if is_record { columns.leak() } else { &[] },
        value_name: if is_record { None } else { out_names.first().copied() },
        arg_names,
        facts: Facts { kind, leakproof, parallel, cost, rows: row_count, variadic_type },
        body,
    }
}

/// `oid symbol left right result function commutator negator merges hashes`.
fn read_operator(mut row: Row, functions: &HashMap<Oid, &'static Function>) -> Operator {
    Operator {
        oid: row.oid(),
        symbol: row.text(),
        left: row.type_id(),
        right: row.type_id(),
        result: row.type_id(),
        func: functions[&row.oid()],
        commutator: row.oid(),
        negator: row.oid(),
        merges: row.flag(),
        hashes: row.flag(),
    }
}

/// `oid source target function context method`.
fn read_cast(mut row: Row, functions: &HashMap<Oid, &'static Function>) -> Cast {
    let (oid, source, target) = (row.oid(), row.type_id(), row.type_id());
    let function = row.oid();
    let allowed = match row.letter() {
        b'i' => CastUse::Implicit,
        b'a' => CastUse::Assignment,
        _ => CastUse::Explicit,
    };
    let method = match row.letter() {
        b'f' => CastMethod::Function(functions[&function]),
        b'b' => CastMethod::Binary,
        _ => CastMethod::InOut,
    };
    Cast { oid, source, target, allowed, method }
}

/// `oid name key args result`.
fn read_aggregate(mut row: Row, starts: &HashMap<&'static str, Start>) -> Aggregate {
    let (oid, name, key) = (row.oid(), row.text(), row.text());
    Aggregate {
        oid,
        name,
        args: row.types(),
        result: row.type_id(),
        variadic: false,
        // These see nulls and decide themselves; PostgreSQL's others skip them one way or another.
        strict: !matches!(
            name,
            "array_agg"
                | "string_agg"
                | "json_agg"
                | "json_object_agg"
                | "jsonb_agg"
                | "jsonb_object_agg"
        ),
        facts: Facts {
            kind: b'a',
            leakproof: false,
            parallel: b's',
            cost: 1.0,
            rows: 0.0,
            variadic_type: TypeId::INVALID,
        },
        rules: None,
        start: *starts.get(key).unwrap_or_else(|| panic!("no start for {key}")),
    }
}
