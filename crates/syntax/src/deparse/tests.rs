use super::*;

#[test]
fn names_are_quoted_as_quote_ident_does() {
    for (name, wanted) in [
        ("abc", "abc"),
        ("a_1", "a_1"),
        ("_a", "_a"),
        ("Abc", "\"Abc\""),
        ("a b", "\"a b\""),
        ("1a", "\"1a\""),
        ("a$", "\"a$\""),
        ("é", "\"é\""),
        ("", "\"\""),
        ("a\"b", "\"a\"\"b\""),
        ("select", "\"select\""),
        ("int", "\"int\""),
        ("values", "\"values\""),
        ("left", "\"left\""),
        ("name", "name"),
        ("text", "text"),
        ("abort", "abort"),
    ] {
        assert_eq!(quote_ident(name), wanted);
    }
}

#[test]
fn literals_double_their_quotes_and_nothing_else() {
    assert_eq!(literal("it's \\ x"), "'it''s \\ x'");
}
