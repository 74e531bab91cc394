//! Functions, operators, casts and aggregates over numbers; the helpers for all of them.

use sql::func;
use sql::types::{Datum, TypeId, TypeMod, format_type, type_info};

use crate::ours::answer;
use crate::server::Answer;
use crate::{Comparison, inputs, literal};

type Args<'a> = [(TypeId, &'a str)];

/// The text that stands for null among arguments.
pub const NULL: &str = "\u{1}null";

fn typed_literal(type_id: TypeId, text: &str) -> String {
    let name = format_type(type_id, TypeMod::NONE);
    if text == NULL { format!("NULL::{name}") } else { format!("{}::{name}", literal(text)) }
}

/// The arguments as values; `None`, and the answer compared, when one does not read.
fn values(c: &mut Comparison, args: &Args<'_>) -> Result<Vec<Datum>, Answer> {
    args.iter()
        .map(|(type_id, text)| {
            if *text == NULL {
                return Ok(Datum::Null);
            }
            c.ours.read(*type_id, TypeMod::NONE, text).map_err(|error| answer(Err(error)))
        })
        .collect()
}

/// A call of a function whose declared types are the arguments'.
pub fn call(c: &mut Comparison, name: &str, args: &Args<'_>) {
    let types: Vec<TypeId> = args.iter().map(|(type_id, _)| *type_id).collect();
    let result = c.ours.function(name, &types).result;
    call_declared(c, name, &types, result, args);
}

/// A call of a polymorphic function.
pub fn call_declared(
    c: &mut Comparison,
    name: &str,
    declared: &[TypeId],
    result: TypeId,
    args: &Args<'_>,
) {
    let function = c.ours.function(name, declared);
    let types: Vec<TypeId> = args.iter().map(|(type_id, _)| *type_id).collect();
    let ours = match values(c, args) {
        Err(error) => error,
        Ok(values) => {
            let value = c.ours.call(function, &types, result, &values);
            let shown = if function.returns_set {
                let info = type_info(result).unwrap();
                // A set is compared as an array, and no rows as an empty one.
                let array = if info.is_array() { result } else { info.array };
                value.and_then(|value| c.ours.write(array, &value))
            } else {
                value.and_then(|value| c.ours.write(result, &value))
            };
            answer(shown)
        }
    };
    let list: Vec<String> = args.iter().map(|(t, text)| typed_literal(*t, text)).collect();
    let call = format!("pg_catalog.\"{name}\"({})", list.join(", "));
    let sql = if function.returns_set {
        format!("SELECT ARRAY(SELECT {call})")
    } else {
        format!("SELECT {call}")
    };
    c.compare("functions", &sql, ours);
}

/// An operator by its symbol and operand types; one operand for prefix operators.
pub fn operator(c: &mut Comparison, symbol: &str, args: &Args<'_>) {
    let (left, right) = match args {
        [right] => (TypeId::INVALID, right.0),
        [left, right] => (left.0, right.0),
        _ => panic!("one or two operands"),
    };
    let operator = func::operators(symbol)
        .find(|op| op.left == left && op.right == right)
        .unwrap_or_else(|| panic!("no operator {left:?} {symbol} {right:?}"));
    let types: Vec<TypeId> = args.iter().map(|(type_id, _)| *type_id).collect();
    let ours = match values(c, args) {
        Err(error) => error,
        Ok(values) => {
            let value = c.ours.call(operator.func, &types, operator.result, &values);
            answer(value.and_then(|value| c.ours.write(operator.result, &value)))
        }
    };
    let list: Vec<String> = args.iter().map(|(t, text)| typed_literal(*t, text)).collect();
    let sql = match &list[..] {
        [right] => format!("SELECT {symbol} {right}"),
        [left, right] => format!("SELECT {left} {symbol} {right}"),
        _ => unreachable!("one or two operands"),
    };
    c.compare("operators", &sql, ours);
}

pub fn cast(c: &mut Comparison, source: TypeId, target: TypeId, typmod: TypeMod, text: &str) {
    let ours = answer(c.ours.cast(source, target, typmod, text));
    let sql = format!("SELECT {}::{}", typed_literal(source, text), format_type(target, typmod));
    c.compare("casts", &sql, ours);
}

fn aggregate(c: &mut Comparison, name: &str, type_id: TypeId, texts: &[Option<&str>]) {
    let rows: Vec<Vec<Option<&str>>> = texts.iter().map(|text| vec![*text]).collect();
    let ours = answer(c.ours.aggregate(name, &[type_id], &rows));
    let list: Vec<String> =
        texts.iter().map(|text| typed_literal(type_id, text.unwrap_or(NULL))).collect();
    let array = format_type(type_info(type_id).unwrap().array, TypeMod::NONE);
    let sql = format!("SELECT {name}(x) FROM unnest(ARRAY[{}]::{array}) x", list.join(", "));
    c.compare("aggregates", &sql, ours);
}

pub fn run(c: &mut Comparison) {
    integers(c);
    floats(c);
    casts(c);
    aggregates(c);
    series(c);
    hashes(c);
    orders(c);
}

/// Arithmetic in arbitrary precision, the slowest of all and so a family of its own.
pub fn run_numerics(c: &mut Comparison) {
    numerics(c);
    random_numerics(c);
}

const INT2: &[&str] = &["0", "1", "-1", "7", "-7", "32767", "-32768", "16", "-13"];
const INT4: &[&str] = &["0", "1", "-1", "2147483647", "-2147483648", "12345", "-77", "32", "31"];
const INT8: &[&str] =
    &["0", "1", "-1", "9223372036854775807", "-9223372036854775808", "4294967296", "-99", "63"];

fn integers(c: &mut Comparison) {
    use TypeId as T;
    let sets = [(T::INT2, INT2), (T::INT4, INT4), (T::INT8, INT8)];
    for (left, left_texts) in sets {
        for (right, right_texts) in sets {
            for symbol in ["+", "-", "*", "/", "=", "<>", "<", "<=", ">", ">="] {
                for a in left_texts {
                    for b in right_texts {
                        operator(c, symbol, &[(left, a), (right, b)]);
                    }
                }
            }
        }
        for a in left_texts {
            for b in left_texts {
                for symbol in ["%", "&", "|", "#"] {
                    operator(c, symbol, &[(left, a), (left, b)]);
                }
                if left != T::INT2 {
                    call(c, "gcd", &[(left, a), (left, b)]);
                    call(c, "lcm", &[(left, a), (left, b)]);
                }
            }
            for shift in ["0", "1", "5", "15", "31", "32", "63", "-1"] {
                operator(c, "<<", &[(left, a), (T::INT4, shift)]);
                operator(c, ">>", &[(left, a), (T::INT4, shift)]);
            }
            for symbol in ["-", "+", "@", "~"] {
                operator(c, symbol, &[(left, a)]);
            }
        }
    }
}

const FLOATS: &[&str] = &[
    "0",
    "-0",
    "1",
    "-1",
    "0.5",
    "2",
    "-2.5",
    "1e300",
    "-1e300",
    "1e-300",
    "NaN",
    "Infinity",
    "-Infinity",
    "1e-160",
    "3",
    "100",
];

fn floats(c: &mut Comparison) {
    use TypeId as T;
    for a in FLOATS {
        for b in FLOATS {
            for symbol in ["+", "-", "*", "/", "=", "<", ">=", "^"] {
                operator(c, symbol, &[(T::FLOAT8, a), (T::FLOAT8, b)]);
            }
            call(c, "atan2", &[(T::FLOAT8, a), (T::FLOAT8, b)]);
            if !a.contains('e') && !b.contains('e') {
                for symbol in ["+", "-", "*", "/", "="] {
                    operator(c, symbol, &[(T::FLOAT4, a), (T::FLOAT4, b)]);
                    operator(c, symbol, &[(T::FLOAT4, a), (T::FLOAT8, b)]);
                    operator(c, symbol, &[(T::FLOAT8, a), (T::FLOAT4, b)]);
                }
            }
        }
    }
    let angles = [
        "0", "30", "45", "60", "90", "120", "180", "-30", "270", "360", "405", "0.5", "-1", "1",
        "NaN", "Infinity", "2.5", "1e10",
    ];
    for angle in angles {
        for name in [
            "sqrt", "cbrt", "exp", "ln", "log", "ceil", "floor", "round", "trunc", "sign", "abs",
            "degrees", "radians", "sind", "cosd", "tand", "cotd", "asind", "acosd", "atand",
            "asin", "acos", "acosh", "atanh",
        ] {
            call(c, name, &[(T::FLOAT8, angle)]);
        }
    }
    for operand in ["-1", "0", "0.5", "5", "9.99", "10", "11", "NaN"] {
        for (low, high) in [("0", "10"), ("10", "0"), ("5", "5"), ("0", "Infinity")] {
            for count in ["4", "0", "2147483647"] {
                for type_id in [T::FLOAT8, T::NUMERIC] {
                    call(
                        c,
                        "width_bucket",
                        &[(type_id, operand), (type_id, low), (type_id, high), (T::INT4, count)],
                    );
                }
            }
        }
    }
}

const NUMERICS: &[&str] = &[
    "0",
    "0.00",
    "1",
    "-1",
    "1.0",
    "2",
    "-2.5",
    "3.3333",
    "10",
    "0.1",
    "0.0001",
    "-0.00001",
    "12.456",
    "99999999",
    "300",
    "1e20",
    "-1e20",
    "1e-20",
    "12345678901234567890.0987654321",
    "NaN",
    "Infinity",
    "-Infinity",
    "0.9999999999",
    "1.0000000001",
    "7e50",
];

fn numerics(c: &mut Comparison) {
    use TypeId as T;
    for a in NUMERICS {
        for b in NUMERICS {
            for symbol in ["+", "-", "*", "/", "%", "=", "<", ">", "<=", "^"] {
                operator(c, symbol, &[(T::NUMERIC, a), (T::NUMERIC, b)]);
            }
            call(c, "log", &[(T::NUMERIC, a), (T::NUMERIC, b)]);
            call(c, "div", &[(T::NUMERIC, a), (T::NUMERIC, b)]);
            call(c, "gcd", &[(T::NUMERIC, a), (T::NUMERIC, b)]);
            call(c, "lcm", &[(T::NUMERIC, a), (T::NUMERIC, b)]);
        }
        for name in [
            "sqrt",
            "exp",
            "ln",
            "log",
            "ceil",
            "floor",
            "abs",
            "sign",
            "trunc",
            "round",
            "scale",
            "min_scale",
            "trim_scale",
        ] {
            call(c, name, &[(T::NUMERIC, a)]);
        }
        for scale in ["0", "2", "-1", "-3", "10", "-20", "2000", "-2000"] {
            call(c, "round", &[(T::NUMERIC, a), (T::INT4, scale)]);
            call(c, "trunc", &[(T::NUMERIC, a), (T::INT4, scale)]);
        }
    }
    for n in ["-1", "0", "1", "5", "20", "100", "2000"] {
        call(c, "factorial", &[(T::INT8, n)]);
    }
}

fn random_numerics(c: &mut Comparison) {
    use TypeId as T;
    for _ in 0..300 {
        let (a, b) = (inputs::random_numeric(c), inputs::random_numeric(c));
        for symbol in ["+", "-", "*", "/", "%", "<"] {
            operator(c, symbol, &[(T::NUMERIC, &a), (T::NUMERIC, &b)]);
        }
        let small = format!("{}", (c.below(4000) as f64 - 2000.0) / 256.0);
        operator(c, "^", &[(T::NUMERIC, &a), (T::NUMERIC, &small)]);
        let whole = (c.below(40) as i64 - 20).to_string();
        operator(c, "^", &[(T::NUMERIC, &a), (T::NUMERIC, &whole)]);
        for name in ["sqrt", "ln", "trim_scale", "floor", "ceil"] {
            call(c, name, &[(T::NUMERIC, &a)]);
        }
        call(c, "exp", &[(T::NUMERIC, &small)]);
        let scale = (c.below(30) as i64 - 10).to_string();
        call(c, "round", &[(T::NUMERIC, &a), (T::INT4, &scale)]);
        cast(c, T::NUMERIC, T::FLOAT8, TypeMod::NONE, &a);
        cast(c, T::NUMERIC, T::FLOAT4, TypeMod::NONE, &a);
        cast(c, T::NUMERIC, T::INT8, TypeMod::NONE, &a);
    }
}

fn casts(c: &mut Comparison) {
    use TypeId as T;
    let numbers = [
        "0",
        "1",
        "-1",
        "0.5",
        "1.5",
        "2.5",
        "-2.5",
        "32767.4",
        "32767.5",
        "-32768.5",
        "2147483647.4",
        "2147483647.5",
        "9223372036854775807",
        "1e18",
        "1e19",
        "NaN",
        "Infinity",
        "1e-10",
        "123456.789",
        "3.4e38",
        "1e300",
        "16777217",
    ];
    for text in numbers {
        for source in [T::FLOAT4, T::FLOAT8, T::NUMERIC] {
            for target in [T::INT2, T::INT4, T::INT8, T::FLOAT4, T::FLOAT8, T::NUMERIC] {
                if source != target {
                    cast(c, source, target, TypeMod::NONE, text);
                }
            }
        }
        cast(c, T::NUMERIC, T::NUMERIC, TypeMod::for_numeric(6, 2), text);
    }
    for text in
        ["0", "1", "-1", "32767", "-32768", "2147483647", "4294967295", "127", "128", "-129"]
    {
        for target in [T::INT2, T::INT4, T::FLOAT4, T::FLOAT8, T::NUMERIC, T::OID] {
            cast(c, T::INT8, target, TypeMod::NONE, text);
        }
        for target in [T::INT2, T::INT8, T::BOOL, T::CHAR, T::NUMERIC] {
            cast(c, T::INT4, target, TypeMod::NONE, text);
        }
    }
    for text in ["", "abc", "abcdef ", "ä ö ü", "abc   "] {
        for n in [1, 3, 5] {
            for target in [T::VARCHAR, T::BPCHAR] {
                cast(c, T::TEXT, target, TypeMod::for_length(n), text);
            }
        }
        cast(c, T::BPCHAR, T::TEXT, TypeMod::NONE, text);
        cast(c, T::TEXT, T::NAME, TypeMod::NONE, text);
        cast(c, T::TEXT, T::CHAR, TypeMod::NONE, text);
    }
    for moment in
        ["2024-03-10 02:30:15.123456", "1999-12-31 23:59:59.999999", "infinity", "0044-01-01 BC"]
    {
        for target in [T::DATE, T::TIME, T::TIMESTAMPTZ] {
            cast(c, T::TIMESTAMP, target, TypeMod::NONE, moment);
        }
        for target in [T::DATE, T::TIME, T::TIMETZ, T::TIMESTAMP] {
            cast(c, T::TIMESTAMPTZ, target, TypeMod::NONE, moment);
        }
        cast(c, T::TIMESTAMP, T::TIMESTAMP, TypeMod(2), moment);
    }
    for date in ["2024-02-29", "infinity", "5874897-12-31"] {
        cast(c, T::DATE, T::TIMESTAMP, TypeMod::NONE, date);
        cast(c, T::DATE, T::TIMESTAMPTZ, TypeMod::NONE, date);
    }
    cast(c, T::INTERVAL, T::TIME, TypeMod::NONE, "1 day -04:05:06");
    cast(c, T::TIME, T::INTERVAL, TypeMod::NONE, "04:05:06");
    for text in ["t", "f"] {
        cast(c, T::BOOL, T::INT4, TypeMod::NONE, text);
        cast(c, T::BOOL, T::TEXT, TypeMod::NONE, text);
    }
}

fn aggregates(c: &mut Comparison) {
    use TypeId as T;
    let integers: &[Option<&str>] =
        &[Some("1"), Some("2"), None, Some("32767"), Some("-5"), Some("7"), Some("7")];
    let reals: &[Option<&str>] = &[Some("1.5"), Some("-2.25"), None, Some("100"), Some("0.001")];
    let special: &[Option<&str>] = &[Some("1"), Some("NaN"), Some("Infinity")];
    let spans: &[Option<&str>] = &[Some("1 day"), Some("02:03:04"), None, Some("1 mon 5 sec")];
    for name in [
        "sum",
        "avg",
        "max",
        "min",
        "variance",
        "var_pop",
        "var_samp",
        "stddev",
        "stddev_pop",
        "stddev_samp",
    ] {
        for type_id in [T::INT2, T::INT4, T::INT8, T::NUMERIC, T::FLOAT4, T::FLOAT8] {
            aggregate(c, name, type_id, integers);
            aggregate(c, name, type_id, &[]);
            aggregate(c, name, type_id, &[Some("3")]);
            aggregate(c, name, type_id, &[None, None]);
        }
        for type_id in [T::NUMERIC, T::FLOAT4, T::FLOAT8] {
            aggregate(c, name, type_id, reals);
            aggregate(c, name, type_id, special);
            aggregate(c, name, type_id, &[Some("0.1"), Some("0.10"), Some("0.100")]);
        }
        for _ in 0..20 {
            let texts: Vec<String> = (0..8).map(|_| inputs::random_numeric(c)).collect();
            let texts: Vec<Option<&str>> = texts.iter().map(|text| Some(text.as_str())).collect();
            aggregate(c, name, T::NUMERIC, &texts);
        }
    }
    for name in ["sum", "avg", "max", "min"] {
        aggregate(c, name, T::INTERVAL, spans);
    }
    aggregate(c, "sum", T::INT4, &[Some("2147483647"), Some("2147483647")]);
    aggregate(c, "sum", T::INT8, &[Some("9223372036854775807"), Some("1")]);
    aggregate(c, "sum", T::FLOAT8, &[Some("1e308"), Some("1e308")]);
    for name in ["bool_and", "bool_or", "every"] {
        aggregate(c, name, T::BOOL, &[Some("t"), None, Some("f")]);
        aggregate(c, name, T::BOOL, &[]);
    }
    for name in ["bit_and", "bit_or", "bit_xor"] {
        for type_id in [T::INT2, T::INT4, T::INT8] {
            aggregate(c, name, type_id, integers);
        }
    }
    for name in ["max", "min"] {
        aggregate(c, name, T::TEXT, &[Some("b"), Some("a"), Some("ä"), None]);
        aggregate(c, name, T::TIMESTAMP, &[Some("2024-01-01"), Some("infinity")]);
        aggregate(c, name, T::DATE, &[Some("2024-01-01"), Some("-infinity")]);
    }
    pairs(c);
}

/// Aggregates of two columns.
fn pairs(c: &mut Comparison) {
    let rows = [("1", "2"), ("2", "3.5"), ("3.25", "-1"), ("10", "7"), ("4", "4")];
    for name in [
        "corr",
        "covar_pop",
        "covar_samp",
        "regr_avgx",
        "regr_avgy",
        "regr_count",
        "regr_intercept",
        "regr_r2",
        "regr_slope",
        "regr_sxx",
        "regr_sxy",
        "regr_syy",
    ] {
        for n in 0..=rows.len() {
            let ours_rows: Vec<Vec<Option<&str>>> =
                rows[..n].iter().map(|(y, x)| vec![Some(*y), Some(*x)]).collect();
            let types = [TypeId::FLOAT8, TypeId::FLOAT8];
            let ours = answer(c.ours.aggregate(name, &types, &ours_rows));
            let list: Vec<String> =
                rows[..n].iter().map(|(y, x)| format!("({y}::float8, {x}::float8)")).collect();
            let from = if n == 0 {
                "(SELECT 1::float8, 1::float8 WHERE false) v(y, x)".to_owned()
            } else {
                format!("(VALUES {}) v(y, x)", list.join(", "))
            };
            c.compare("aggregates", &format!("SELECT {name}(y, x) FROM {from}"), ours);
        }
    }
}

fn series(c: &mut Comparison) {
    use TypeId as T;
    for (start, stop, step) in [
        ("1", "5", "1"),
        ("5", "1", "-2"),
        ("1", "5", "-1"),
        ("1", "5", "0"),
        ("3", "3", "1"),
        ("2147483646", "2147483647", "1"),
        ("-3", "3", "2"),
    ] {
        for type_id in [T::INT4, T::INT8, T::NUMERIC] {
            call(c, "generate_series", &[(type_id, start), (type_id, stop), (type_id, step)]);
            call(c, "generate_series", &[(type_id, start), (type_id, stop)]);
        }
    }
    for (start, stop, step) in [("1.5", "3", "0.25"), ("NaN", "3", "1"), ("1", "Infinity", "1")] {
        call(c, "generate_series", &[(T::NUMERIC, start), (T::NUMERIC, stop), (T::NUMERIC, step)]);
    }
    for step in ["1 day", "1 mon", "-1 mon", "0", "11:00"] {
        for type_id in [T::TIMESTAMP, T::TIMESTAMPTZ] {
            call(
                c,
                "generate_series",
                &[(type_id, "2024-01-31"), (type_id, "2024-04-05"), (T::INTERVAL, step)],
            );
        }
    }
}

fn hashes(c: &mut Comparison) {
    use TypeId as T;
    for text in ["", "a", "hello world", "the quick brown fox jumps", "äöü"] {
        call(c, "hashtext", &[(T::TEXT, text)]);
        call(c, "hashbpchar", &[(T::BPCHAR, text)]);
        call(c, "md5", &[(T::TEXT, text)]);
    }
    for n in ["0", "1", "-1", "12345"] {
        call(c, "hashint2", &[(T::INT2, n)]);
        call(c, "hashint4", &[(T::INT4, n)]);
        call(c, "hashint8", &[(T::INT8, n)]);
        call(c, "hashfloat8", &[(T::FLOAT8, n)]);
        call(c, "hashfloat4", &[(T::FLOAT4, n)]);
        call(c, "hash_numeric", &[(T::NUMERIC, n)]);
        call(c, "hash_numeric", &[(T::NUMERIC, &format!("{n}.5"))]);
    }
    call(c, "hashint8", &[(T::INT8, "123456789012345")]);
    call(c, "hash_numeric", &[(T::NUMERIC, "12345678901234567890.123456789")]);
    call(c, "uuid_hash", &[(T::UUID, "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11")]);
    call(c, "timestamp_hash", &[(T::TIMESTAMP, "2024-01-01")]);
    call(c, "interval_hash", &[(T::INTERVAL, "1 day")]);
}

/// Comparisons of the types that do nothing else.
fn orders(c: &mut Comparison) {
    use TypeId as T;
    let sets: &[(TypeId, &[&str])] = &[
        (T::BOOL, &["t", "f"]),
        (T::CHAR, &["a", "b", "\\303"]),
        (T::BYTEA, &["", "a", "ab", "\\x00", "\\xff"]),
        (
            T::UUID,
            &["a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11", "00000000-0000-0000-0000-000000000000"],
        ),
        (T::OID, &["0", "1", "4294967295"]),
        (T::BPCHAR, &["a", "a ", "b", "ab", ""]),
        (T::NAME, &["a", "b", "ä"]),
        (T::TEXT, &["a", "B", "b", "ä", "", "a "]),
        (T::TIMETZ, &["04:05+00", "05:05+01", "04:05-01", "03:05-01"]),
        (T::INTERVAL, &["1 mon", "30 days", "29 days 24:00", "1 day", "24:00"]),
        (T::PG_LSN, &["0/0", "FFFFFFFF/0", "7FFFFFFF/1"]),
        (T::TID, &["(0,1)", "(0,2)", "(1,0)"]),
    ];
    for (type_id, texts) in sets {
        for a in *texts {
            for b in *texts {
                for symbol in ["=", "<>", "<", "<=", ">", ">="] {
                    operator(c, symbol, &[(*type_id, a), (*type_id, b)]);
                }
            }
        }
    }
}
