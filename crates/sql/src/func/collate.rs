//! Functions under collations: those that compare texts, or look at their letters, exist once more for each
//! collation that is not the order of bytes. The binder puts them where the plain ones would stand, so that
//! these know of no collations.

use std::cmp::Ordering;
use std::sync::{LazyLock, Mutex, PoisonError};

use base::hash::HashMap;

use super::{Aggregate, Body, Context, Function, Order};
use crate::error::{Result, SqlError, SqlState, sql_error};
use crate::types::{Datum, Oid, Rules, TypeId, compare_under};

/// A body that goes by a collation's rules.
pub(super) type Run = fn(&'static Rules, &mut Context<'_>, &[Datum]) -> Result<Datum>;

/// What a function has to do with collations.
#[derive(Clone, Copy)]
enum Kind {
    /// Whether texts are equal: their bytes tell, unless the rules are loose.
    Equality(Run),
    /// Compares, or changes letters, otherwise under each collation.
    Run(Run),
    /// Goes by bytes under all of them.
    Plain,
    /// Goes by bytes; loose rules are refused in these words.
    Bytes(&'static str),
    /// LIKE, which does not even ask whether it is clear what it goes by.
    Like,
    /// As [`Kind::Bytes`], and yields a set.
    Rows(&'static str),
}

const SEARCHES: &str = "substring searches";
const LIKE: &str = "LIKE";
const ILIKE: &str = "ILIKE";
const REGEX: &str = "regular expressions";
const ELEMENTS: &str = "searching arrays";

/// By `prosrc`, and the words of "could not determine which collation to use for …".
fn kind_of(source: &str) -> Option<(Kind, &'static str)> {
    let comparison = |kind| Some((kind, "string comparison"));
    if let Some(kind) = comparison_kind(source) {
        return comparison(kind);
    }
    match source {
        "lower" => {
            Some((Kind::Run(|r, _, a| Ok(r.lower(a[0].as_text()).into())), "lower() function"))
        }
        "upper" => {
            Some((Kind::Run(|r, _, a| Ok(r.upper(a[0].as_text()).into())), "upper() function"))
        }
        "initcap" => {
            Some((Kind::Run(|r, _, a| Ok(r.initcap(a[0].as_text()).into())), "initcap() function"))
        }
        "textlike" | "textnlike" | "namelike" | "namenlike" => Some((Kind::Like, LIKE)),
        "texticlike" | "nameiclike" => Some((Kind::Run(|r, _, a| ilike(r, a, false)), ILIKE)),
        "texticnlike" | "nameicnlike" => Some((Kind::Run(|r, _, a| ilike(r, a, true)), ILIKE)),
        "textpos" | "text_starts_with" | "replace_text" | "split_part" | "text_to_array"
        | "text_to_array_null" => comparison(Kind::Bytes(SEARCHES)),
        "text_to_table" | "text_to_table_null" => comparison(Kind::Rows(SEARCHES)),
        "text_pattern_lt"
        | "text_pattern_le"
        | "text_pattern_gt"
        | "text_pattern_ge"
        | "bttext_pattern_cmp"
        | "bpchar_pattern_lt"
        | "bpchar_pattern_le"
        | "bpchar_pattern_gt"
        | "bpchar_pattern_ge"
        | "btbpchar_pattern_cmp" => comparison(Kind::Plain),
        "array_position"
        | "array_position_start"
        | "array_positions"
        | "array_remove"
        | "array_replace"
        | "arraycontains"
        | "arraycontained"
        | "arrayoverlap" => comparison(Kind::Bytes(ELEMENTS)),
        "hashtext" | "hashbpchar" | "hashname" => {
            Some((Kind::Bytes("string hashing"), "string hashing"))
        }
        _ if is_regex(source) => {
            let kind = match source {
                "regexp_matches"
                | "regexp_matches_no_flags"
                | "regexp_split_to_table"
                | "regexp_split_to_table_no_flags" => Kind::Rows(REGEX),
                _ => Kind::Bytes(REGEX),
            };
            Some((kind, "regular expression"))
        }
        _ => None,
    }
}

fn is_regex(source: &str) -> bool {
    let operators = [
        "textregexeq",
        "textregexne",
        "texticregexeq",
        "texticregexne",
        "nameregexeq",
        "nameregexne",
        "nameicregexeq",
        "nameicregexne",
    ];
    operators.contains(&source)
        || ["regexp_", "textregexreplace", "textregexsubstr"].iter().any(|p| source.starts_with(p))
}

/// The comparisons of one type: equality and its opposite, then the order.
macro_rules! comparisons {
    ($source:expr, $order:path, $eq:pat, $ne:pat, $lt:pat, $le:pat, $gt:pat, $ge:pat, $cmp:pat) => {
        match $source {
            $eq => Some(Kind::Equality(|r, _, a| Ok(Datum::Bool($order(r, a).is_eq())))),
            $ne => Some(Kind::Equality(|r, _, a| Ok(Datum::Bool($order(r, a).is_ne())))),
            $lt => Some(Kind::Run(|r, _, a| Ok(Datum::Bool($order(r, a).is_lt())))),
            $le => Some(Kind::Run(|r, _, a| Ok(Datum::Bool($order(r, a).is_le())))),
            $gt => Some(Kind::Run(|r, _, a| Ok(Datum::Bool($order(r, a).is_gt())))),
            $ge => Some(Kind::Run(|r, _, a| Ok(Datum::Bool($order(r, a).is_ge())))),
            $cmp => Some(Kind::Run(|r, _, a| Ok(Datum::Int4($order(r, a) as i32)))),
            _ => None,
        }
    };
}

fn comparison_kind(source: &str) -> Option<Kind> {
    let of_texts = comparisons!(
        source,
        texts,
        "texteq" | "nameeq" | "nameeqtext" | "texteqname",
        "textne" | "namene" | "namenetext" | "textnename",
        "text_lt" | "namelt" | "namelttext" | "textltname",
        "text_le" | "namele" | "nameletext" | "textlename",
        "text_gt" | "namegt" | "namegttext" | "textgtname",
        "text_ge" | "namege" | "namegetext" | "textgename",
        "bttextcmp" | "btnamecmp" | "btnametextcmp" | "bttextnamecmp"
    );
    let of_padded = comparisons!(
        source,
        padded,
        "bpchareq",
        "bpcharne",
        "bpcharlt",
        "bpcharle",
        "bpchargt",
        "bpcharge",
        "bpcharcmp"
    );
    let of_arrays = comparisons!(
        source,
        arrays,
        "array_eq",
        "array_ne",
        "array_lt",
        "array_le",
        "array_gt",
        "array_ge",
        "btarraycmp"
    );
    of_texts.or(of_padded).or(of_arrays).or_else(|| extreme_kind(source))
}

/// The larger or smaller of two.
fn extreme_kind(source: &str) -> Option<Kind> {
    Some(match source {
        "text_larger" => Kind::Run(|r, _, a| pick(texts(r, a).is_gt(), a)),
        "text_smaller" => Kind::Run(|r, _, a| pick(texts(r, a).is_lt(), a)),
        "bpchar_larger" => Kind::Run(|r, _, a| pick(padded(r, a).is_ge(), a)),
        "bpchar_smaller" => Kind::Run(|r, _, a| pick(padded(r, a).is_le(), a)),
        "array_larger" => Kind::Run(|r, _, a| pick(arrays(r, a).is_gt(), a)),
        "array_smaller" => Kind::Run(|r, _, a| pick(arrays(r, a).is_lt(), a)),
        "width_bucket_array" => Kind::Run(|r, _, a| super::array::width_bucket(Some(r), a)),
        _ => return None,
    })
}

fn pick(first: bool, args: &[Datum]) -> Result<Datum> {
    Ok(args[usize::from(!first)].clone())
}

fn texts(rules: &Rules, args: &[Datum]) -> Ordering {
    rules.compare(args[0].as_text(), args[1].as_text())
}

fn padded(rules: &Rules, args: &[Datum]) -> Ordering {
    compare_under(rules, TypeId::BPCHAR, &args[0], &args[1])
}

fn arrays(rules: &Rules, args: &[Datum]) -> Ordering {
    compare_under(rules, TypeId::TEXT_ARRAY, &args[0], &args[1])
}

fn ilike(rules: &Rules, args: &[Datum], negated: bool) -> Result<Datum> {
    if !rules.is_deterministic() {
        return Err(refused(ILIKE));
    }
    let (text, pattern) = (rules.lower(args[0].as_text()), rules.lower(args[1].as_text()));
    Ok(Datum::Bool(super::like::is_like(&text, &pattern)? != negated))
}

/// What loose rules can't do.
fn refused(what: &str) -> SqlError {
    sql_error!(FEATURE_NOT_SUPPORTED, "nondeterministic collations are not supported for {what}")
}

/// `42P22`: a comparison of which nothing says how.
pub fn unclear_collation(what: &str) -> SqlError {
    SqlError::new(
        SqlState::INDETERMINATE_COLLATION,
        format!("could not determine which collation to use for {what}"),
    )
    .with_hint("Use the COLLATE clause to set the collation explicitly.")
}

/// Whether a function compares records, whose fields have collations of their own.
pub fn compares_records(func: &Function) -> bool {
    func.source == "btrecordcmp"
        || (func.source.starts_with("record_") && func.args == [TypeId::RECORD; 2])
}

/// Functions made for collations, by OID and by what they go by.
type Made<T> = LazyLock<Mutex<HashMap<(Oid, usize), &'static T>>>;

static FUNCTIONS: Made<Function> = LazyLock::new(Mutex::default);
static AGGREGATES: Made<Aggregate> = LazyLock::new(Mutex::default);

fn remember<T>(made: &Made<T>, key: (Oid, usize), make: impl FnOnce() -> T) -> &'static T {
    let mut made = made.lock().unwrap_or_else(PoisonError::into_inner);
    made.entry(key).or_insert_with(|| Box::leak(Box::new(make())))
}

fn number(order: Order) -> usize {
    match order {
        Order::Bytes | Order::Unclear => 0,
        Order::Under(rules) => std::ptr::from_ref(rules).addr(),
    }
}

/// The function that does the same in another order of texts.
pub fn under(func: &'static Function, order: Order) -> &'static Function {
    if matches!(order, Order::Bytes) {
        return func;
    }
    let Some((kind, words)) = kind_of(func.source) else { return func };
    let body = match (order, kind) {
        (Order::Unclear, Kind::Rows(_)) => {
            Body::Set(|_, _| Err(unclear_collation("string comparison")))
        }
        (Order::Unclear, Kind::Like) => return func,
        (Order::Unclear, _) => Body::Refused(unclear_collation, words),
        (Order::Under(rules), Kind::Run(run)) => Body::Under(rules, run),
        (Order::Under(rules), _) if rules.is_deterministic() => return func,
        (Order::Under(rules), Kind::Equality(run)) => Body::Under(rules, run),
        (Order::Under(_), Kind::Like) => Body::Refused(refused, LIKE),
        (Order::Under(_), Kind::Bytes(what)) => Body::Refused(refused, what),
        (Order::Under(_), Kind::Rows(SEARCHES)) => Body::Set(|_, _| Err(refused(SEARCHES))),
        (Order::Under(_), Kind::Rows(_)) => Body::Set(|_, _| Err(refused(REGEX))),
        (Order::Bytes, _) | (Order::Under(_), Kind::Plain) => return func,
    };
    remember(&FUNCTIONS, (func.oid, number(order)), || Function { body, ..func.clone() })
}

/// What groups are shown by whose rows are equal without being the same. Nobody can name it.
pub fn first_value() -> &'static Aggregate {
    static FIRST: Aggregate = Aggregate {
        oid: Oid::INVALID,
        name: "first_value",
        args: &[TypeId::ANY],
        result: TypeId::ANY,
        variadic: false,
        strict: false,
        facts: super::Facts {
            kind: b'a',
            leakproof: false,
            parallel: b's',
            cost: 1.0,
            rows: 0.0,
            variadic_type: TypeId::INVALID,
        },
        start: super::aggregate::first,
        rules: None,
    };
    &FIRST
}

/// Likewise an aggregate: the extremes are those of the order.
///
/// # Errors
/// `42P22` for an extreme when it is not clear which order is meant.
pub fn aggregate_under(agg: &'static Aggregate, order: Order) -> Result<&'static Aggregate> {
    if !matches!(agg.name, "min" | "max") {
        return Ok(agg);
    }
    match order {
        Order::Bytes => Ok(agg),
        Order::Unclear => Err(unclear_collation("string comparison")),
        Order::Under(rules) => Ok(remember(&AGGREGATES, (agg.oid, number(order)), || Aggregate {
            rules: Some(rules),
            ..agg.clone()
        })),
    }
}
