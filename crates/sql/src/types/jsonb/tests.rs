use super::{Json, compare, parse};

fn canonical(text: &str) -> String {
    parse(text).unwrap().to_text().unwrap()
}

#[test]
fn a_value_is_what_it_means() {
    for (written, kept) in [
        (" 1.50 ", "1.50"),
        ("-0", "0"),
        ("1e3", "1000"),
        ("1.5E-3", "0.0015"),
        ("\"a\\u00e4\\ud83d\\ude00\\n\\/\"", "\"aä😀\\n/\""),
        ("[ ]", "[]"),
        ("{ }", "{}"),
        ("[1,[true , null],{\"a\":[]}]", "[1, [true, null], {\"a\": []}]"),
        ("{\"bb\":1,\"c\":2,\"a\":3,\"c\":4}", "{\"a\": 3, \"c\": 4, \"bb\": 1}"),
        ("\"\\u0001\\b\\\"\"", "\"\\u0001\\b\\\"\""),
    ] {
        assert_eq!(canonical(written), kept);
        assert_eq!(canonical(kept), kept);
    }
}

#[test]
fn values_have_postgresqls_order() {
    let ascending = [
        "[]",
        "null",
        "\"\"",
        "\"a\"",
        "\"ab\"",
        "-1",
        "0",
        "1.5",
        "10",
        "false",
        "true",
        "[null]",
        "[true]",
        "[[]]",
        "[1, 1]",
        "[1, 2]",
        "{}",
        "{\"a\": 1}",
        "{\"a\": 2}",
        "{\"b\": 0}",
        "{\"a\": 1, \"b\": 1}",
    ];
    for (i, a) in ascending.iter().enumerate() {
        for (j, b) in ascending.iter().enumerate() {
            assert_eq!(compare(a, b), i.cmp(&j), "{a} and {b}");
        }
    }
    assert!(compare("1.0", "1.00").is_eq());
    assert!(compare("{\"a\": [1.0]}", "{\"a\": [1.00]}").is_eq());
}

#[test]
fn what_no_text_can_hold_is_refused() {
    for (text, state) in [
        ("\"\\u0000\"", "22P05"),
        ("\"\\ud800\"", "22P02"),
        ("\"\\ud800\\ud800\"", "22P02"),
        ("\"\\udc00\"", "22P02"),
        ("\"\\ud800x\"", "22P02"),
        ("[1,]", "22P02"),
    ] {
        assert!(parse(text).unwrap_err().to_string().starts_with(state), "{text}");
    }
}

#[test]
fn values_lie_so_deep_in_each_other_and_no_deeper() {
    let nested = |n: usize| "[".repeat(n) + &"]".repeat(n);
    let deepest = parse(&nested(super::DEPTH_MAX)).unwrap();
    deepest.to_stored().unwrap();
    assert!(parse(&nested(super::DEPTH_MAX + 1)).is_err());
    assert!(Json::Array(vec![deepest]).to_stored().is_err());
}
