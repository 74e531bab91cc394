//! Texts are taken apart as the parser takes them apart.

use super::*;

fn words(text: &str) -> Vec<&str> {
    tokens(text).iter().map(|token| &text[token.start..token.end]).collect()
}

#[test]
fn quotes_and_comments_are_one_piece() {
    assert_eq!(
        words("select \"a \"\" as\", 'it''s' /* as /* x */ */, E'\\'' --'\n, $x$ as $x$.*"),
        ["select", "\"a \"\" as\"", ",", "'it''s'", ",", "E'\\''", ",", "$x$ as $x$", ".", "*"]
    );
}

#[test]
fn the_query_begins_behind_the_first_as_outside_brackets() {
    let text = "create view \"as\" (a, \"as\") as select 1 as b";
    assert_eq!(after_as(text).map(|at| &text[at..]), Some(" select 1 as b"));
}

#[test]
fn an_entry_of_from_ends_with_its_alias() {
    for (entry, rest) in [
        ("b", " where x"),
        ("s.\"b c\" AS d (x, y)", " natural join e"),
        ("only b *", " order by 1"),
        ("(b join c on (true))", " left join d"),
        ("lateral f(1, (2)) with ordinality g", ", h"),
        ("b as left", ")"),
        ("b", ""),
        ("b", ") natural join c"),
        ("f(1)", ") natural join c"),
        ("f(1) as (id int, b text)", " where x"),
        ("rows from (f(1), g(2)) as x(id, c)", " natural join d"),
    ] {
        let text = format!("{entry}{rest}");
        let edits = Edits { tokens: tokens(&text), text: &text, base: 0, all: Vec::new() };
        assert_eq!(edits.end_of_entry(0), entry.len(), "{text}");
    }
}

#[test]
fn the_query_ends_with_its_last_token() {
    for (query, rest) in [
        ("select 1", ""),
        ("select 1 -- as\n as a", " -- the end"),
        ("select 1", " with data"),
        ("select 1", " /* with */ With\nNO Data -- x"),
        ("select \"with\" data", ""),
        ("select 1 as with", " with no data"),
        ("select 1 as no", " with data"),
    ] {
        let text = format!("create materialized view v as {query}{rest}");
        assert_eq!(end_of_query(&text), text.len() - rest.len(), "{text}");
    }
}
