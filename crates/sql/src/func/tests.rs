use super::*;
use crate::types::testing::NoNames;
use crate::types::{TypeMod, input, output_string};

/// A session with default settings and an empty catalog.
pub(crate) struct TestSession {
    format: FormatContext,
    random: RandomSequence,
}

impl TestSession {
    pub fn new() -> TestSession {
        TestSession { format: FormatContext::new(), random: RandomSequence::default() }
    }
}

impl SessionInfo for TestSession {
    fn format(&self) -> &FormatContext {
        &self.format
    }

    fn names(&self) -> &dyn Names {
        &NoNames
    }

    fn setting(&self, _: &str) -> Option<String> {
        None
    }

    fn random(&mut self) -> &mut RandomSequence {
        &mut self.random
    }
}

/// Also writes the names for `data/export.sh`, before the facts for a new body can be there.
#[test]
fn every_body_is_some_functions() {
    if let Ok(path) = std::env::var("THALWEG_BODIES") {
        let bodies = table::bodies();
        let starts = table::starts();
        let mut lines: Vec<String> = bodies.keys().map(|name| format!("body\t{name}\n")).collect();
        lines.extend(starts.keys().map(|name| format!("aggregate\t{name}\n")));
        lines.sort();
        std::fs::write(path, lines.concat()).unwrap();
    }
    let used: Vec<&str> = all_functions().map(|function| function.source).collect();
    let unused: Vec<&str> =
        table::bodies().keys().copied().filter(|name| !used.contains(name)).collect();
    assert_eq!(unused, Vec::<&str>::new());
    assert_eq!(table::starts().len(), all_aggregates().count());
}

/// Calls a function by name with arguments in text form.
fn call(name: &str, args: &[(TypeId, &str)]) -> String {
    let types: Vec<TypeId> = args.iter().map(|(type_id, _)| *type_id).collect();
    let function = functions(name).find(|f| f.args == types).unwrap();
    let mut session = TestSession::new();
    let mut cx = Context {
        transaction_start: TimestampTz(0),
        statement_start: TimestampTz(0),
        arg_types: &types,
        result_type: function.result,
        variadic: false,
        session: &mut session,
    };
    let values: Vec<Datum> = args
        .iter()
        .map(|(type_id, text)| input(*type_id, TypeMod::NONE, text, &cx.io()).unwrap())
        .collect();
    let Body::Scalar(body) = function.body else { panic!("{name} is no scalar function") };
    match body(&mut cx, &values) {
        Ok(Datum::Null) => "NULL".to_owned(),
        Ok(value) => output_string(function.result, &value, &cx.io()).unwrap(),
        Err(error) => error.to_string(),
    }
}

#[test]
fn functions_are_found_and_called() {
    let (int4, text) = (TypeId::INT4, TypeId::TEXT);
    assert_eq!(call("int4pl", &[(int4, "2"), (int4, "3")]), "5");
    assert_eq!(call("int4pl", &[(int4, "2147483647"), (int4, "1")]), "22003: integer out of range");
    assert_eq!(call("upper", &[(text, "straße äö")]), "STRAßE ÄÖ");
    assert_eq!(call("substring", &[(text, "foobar"), (text, "o(.)b")]), "o");
    assert_eq!(
        call("date_trunc", &[(text, "quarter"), (TypeId::TIMESTAMP, "2024-05-17 12:34")]),
        "2024-04-01 00:00:00"
    );
    assert_eq!(
        call("extract", &[(text, "epoch"), (TypeId::INTERVAL, "1 day 00:00:01.5")]),
        "86401.500000"
    );
}

#[test]
fn operators_and_casts_are_found() {
    let plus = operators("+").find(|op| op.left == TypeId::INT4 && op.right == TypeId::INT8);
    assert_eq!(plus.unwrap().func.name, "int48pl");
    let cast = cast(TypeId::INT4, TypeId::INT8).unwrap();
    assert_eq!(cast.allowed, CastUse::Implicit);
    assert!(matches!(cast.method, CastMethod::Function(f) if f.name == "int8"));
    assert_eq!(aggregates("sum").count(), 7);
}

#[test]
fn casts_yield_values_of_their_targets() {
    for cast in super::all_casts() {
        let CastMethod::Function(function) = cast.method else { continue };
        let kinds = [function.result, cast.target].map(crate::types::row::ValueKind::of_type);
        // A smallint's to an oid and its kin looks at what is wanted.
        let is_alike = kinds[0] == kinds[1] || function.source == "i2toi4";
        assert!(is_alike, "{} from {} to {}", function.name, cast.source.0, cast.target.0);
    }
}

#[test]
fn a_pattern_bounds_what_matches_it() {
    use super::like::{after_start, literal_start};
    for (pattern, start) in [
        ("abc%", "abc"),
        ("a\\%b_c", "a%b"),
        ("%a", ""),
        ("", ""),
        ("abc", "abc"),
        ("a\\", "a"),
        ("ä%", "ä"),
    ] {
        assert_eq!(literal_start(pattern), start, "{pattern}");
    }
    let after = |start: &str| after_start(start);
    assert_eq!(after("ab").as_deref(), Some("ac"));
    assert_eq!(after("a\u{d7ff}").as_deref(), Some("a\u{e000}"));
    assert_eq!(after("a\u{10ffff}").as_deref(), Some("b"));
    assert_eq!(after("\u{10ffff}"), None);
    assert_eq!(after(""), None);
    for start in ["a", "a\u{7f}", "\u{7ff}", "\u{ffff}", "b\u{10ffff}"] {
        let end = after(start).expect("there is a later one");
        assert!(end.as_str() > start && format!("{start}\u{10ffff}\u{10ffff}") < end);
    }
}

#[test]
fn a_text_may_have_more_pieces_than_an_array_elements() {
    let function = functions("string_to_table").find(|f| f.args.len() == 2).unwrap();
    let Body::Set(body) = function.body else { panic!("it yields a set") };
    let pieces = |text: String, delimiter: &str| {
        let mut session = TestSession::new();
        let mut cx = Context {
            transaction_start: TimestampTz(0),
            statement_start: TimestampTz(0),
            arg_types: function.args,
            result_type: function.result,
            variadic: false,
            session: &mut session,
        };
        body(&mut cx, &[text.into(), delimiter.into()]).unwrap()
    };
    let first = |text: String, delimiter: &str| -> Vec<String> {
        let pieces = pieces(text, delimiter).take(5);
        pieces.map(|piece| piece.unwrap().as_text().to_string()).collect()
    };
    let many = ",".repeat(crate::types::array::MAX_ELEMENTS + 1);
    assert_eq!(first(many, ","), [""; 5]);
    assert_eq!(first("a,,b,".to_owned(), ","), ["a", "", "b", ""]);
    assert_eq!(first("ä--ö---".to_owned(), "--"), ["ä", "ö", "-"]);
    assert_eq!(first("ab".to_owned(), ""), ["ab"]);
    assert_eq!(first(",".to_owned(), ","), ["", ""]);
    assert_eq!(first(String::new(), ","), [""; 0]);
}
