use super::{encode_again, replies, requests};
use crate::backend::{Field, Replies, Report, Severity, Status, Tag};
use crate::frontend::{Bind, Execute, Message, Parse, Requests, Target};
use crate::startup::{self, PROTOCOL_3_0, Request};
use crate::{Error, Format, put_decimal};
use proptest::prelude::*;

fn text() -> impl Strategy<Value = String> {
    "[^\0]{0,24}"
}

fn format() -> impl Strategy<Value = Format> {
    prop_oneof![Just(Format::Text), Just(Format::Binary)]
}

fn value() -> impl Strategy<Value = Option<Vec<u8>>> {
    proptest::option::weighted(0.8, proptest::collection::vec(any::<u8>(), 0..40))
}

/// Values, and formats that fit their number.
fn values_and_formats() -> impl Strategy<Value = (Vec<Option<Vec<u8>>>, Vec<Format>)> {
    proptest::collection::vec(value(), 0..6).prop_flat_map(|values| {
        let formats = prop_oneof![
            Just(Vec::new()),
            proptest::collection::vec(format(), 1),
            proptest::collection::vec(format(), values.len()),
        ];
        (Just(values), formats)
    })
}

proptest! {
    #[test]
    fn bind_comes_back(
        portal in text(),
        statement in text(),
        (values, formats) in values_and_formats(),
        result in proptest::collection::vec(format(), 0..4),
    ) {
        let borrowed: Vec<Option<&[u8]>> = values.iter().map(|v| v.as_deref()).collect();
        let mut out = Requests::new();
        out.bind(&portal, &statement, &formats, &borrowed, &result);
        let messages = requests(out.as_bytes()).unwrap();
        let [Message::Bind(Bind { parameters, parameter_formats, result_formats, .. })] =
            messages[..] else { panic!("{messages:?}") };
        prop_assert_eq!(parameters.iter().collect::<Vec<_>>(), borrowed);
        prop_assert_eq!(parameter_formats.iter().collect::<Vec<_>>(), formats.clone());
        prop_assert_eq!(result_formats.iter().collect::<Vec<_>>(), result);
        for index in 0..values.len() {
            let meant = match formats.len() { 0 => Format::Text, 1 => formats[0], _ => formats[index] };
            prop_assert_eq!(parameter_formats.of(index), meant);
        }
    }

    #[test]
    fn parse_and_query_come_back(
        name in text(), query in text(), types in proptest::collection::vec(any::<u32>(), 0..9),
    ) {
        let mut out = Requests::new();
        out.parse(&name, &query, &types);
        out.query(&query);
        let messages = requests(out.as_bytes()).unwrap();
        let [Message::Parse(Parse { name: n, query: q, types: t }), Message::Query(again)] =
            messages[..] else { panic!("{messages:?}") };
        prop_assert_eq!((n, q, again), (&*name, &*query, &*query));
        prop_assert_eq!(t.iter().collect::<Vec<_>>(), types);
    }

    #[test]
    fn startup_comes_back(
        minor in 0u16..9, pairs in proptest::collection::vec(("[^\0]{1,9}", text()), 0..5),
    ) {
        let mut buf = Vec::new();
        let parameters = pairs.iter().map(|(n, v)| (n.as_str(), v.as_str()));
        startup::put_session(&mut buf, PROTOCOL_3_0 | u32::from(minor), parameters.clone());
        let startup::Split::Packet(Request::Session(session), size) = startup::split(&buf).unwrap()
            else { panic!() };
        prop_assert_eq!(size, buf.len());
        prop_assert_eq!(session.minor, minor);
        prop_assert!(session.parameters().eq(parameters.map(|(n, v)| (n, v.into()))));
        if let Some((name, value)) = pairs.last() {
            let found = session.parameter(name);
            prop_assert_eq!(found.as_deref(), Some(value.as_str()));
        }
    }

    #[test]
    fn rows_come_back(
        rows in proptest::collection::vec(proptest::collection::vec(value(), 0..5), 0..5),
    ) {
        let mut out = Replies::new();
        for row in &rows {
            let mut to = out.data_row();
            for value in row {
                match value { Some(bytes) => to.value(bytes), None => to.null() }
            }
            to.finish().unwrap();
        }
        let messages = replies(out.as_bytes()).unwrap();
        prop_assert_eq!(messages.len(), rows.len());
        let mut again = Replies::new();
        for (message, row) in messages.iter().zip(&rows) {
            let crate::backend::Message::DataRow(values) = message else { panic!("{message:?}") };
            prop_assert!(values.iter().eq(row.iter().map(|v| v.as_deref())));
            encode_again(&mut again, message);
        }
        prop_assert_eq!(again.as_bytes(), out.as_bytes());
    }

    #[test]
    fn reports_come_back(
        message in text(),
        detail in proptest::option::of(text()),
        hint in proptest::option::of(text()),
        position in proptest::option::of(any::<u32>()),
        constraint in proptest::option::of(text()),
    ) {
        let mut out = Replies::new();
        for severity in [Severity::Notice, Severity::Error] {
            out.report(&Report {
                detail: detail.as_deref(),
                hint: hint.as_deref(),
                position,
                constraint: constraint.as_deref(),
                ..Report::new(severity, "23505", &message)
            });
        }
        let decoded = replies(out.as_bytes()).unwrap();
        let mut again = Replies::new();
        decoded.iter().for_each(|m| encode_again(&mut again, m));
        prop_assert_eq!(again.as_bytes(), out.as_bytes());
        let crate::backend::Message::ErrorResponse(fields) = decoded[1] else { panic!() };
        prop_assert_eq!(fields.message(), message);
        prop_assert_eq!(fields.get(b'D'), detail.as_deref());
        prop_assert_eq!(fields.get(b'P').map(str::to_owned), position.map(|p| p.to_string()));
    }

    #[test]
    fn decimals_are_decimals(value in any::<u64>(), shift in 0u32..64) {
        let value = value >> shift;
        let mut buf = Vec::new();
        put_decimal(&mut buf, value);
        prop_assert_eq!(buf, value.to_string().into_bytes());
    }
}

/// One of each message without much inside.
#[test]
fn the_small_requests_come_back() {
    let mut out = Requests::new();
    out.describe(Target::Statement("s"));
    out.describe(Target::Portal(""));
    out.execute(Execute { portal: "p", rows_max: 7 });
    out.close(Target::Statement("s"));
    out.close(Target::Portal("p"));
    out.flush();
    out.sync();
    out.copy_data(b"1\t2\n");
    out.copy_done();
    out.copy_fail("enough");
    out.function_call(1299, &[], &[Some(b"x"), None], Format::Text);
    out.terminate();
    let messages = requests(out.as_bytes()).unwrap();
    assert_eq!(messages.len(), 12);
    assert_eq!(
        messages[..10],
        [
            Message::Describe(Target::Statement("s")),
            Message::Describe(Target::Portal("")),
            Message::Execute(Execute { portal: "p", rows_max: 7 }),
            Message::Close(Target::Statement("s")),
            Message::Close(Target::Portal("p")),
            Message::Flush,
            Message::Sync,
            Message::CopyData(b"1\t2\n"),
            Message::CopyDone,
            Message::CopyFail("enough"),
        ]
    );
    let Message::FunctionCall(call) = messages[10] else { panic!("{:?}", messages[10]) };
    assert_eq!((call.function, call.arguments.count()), (1299, 2));
    assert_eq!(messages[11], Message::Terminate);
}

#[test]
fn authentication_answers_come_back() {
    let mut out = Requests::new();
    out.password("pass word");
    out.sasl_initial("SCRAM-SHA-256", Some(b"n,,n=,r=x"));
    out.sasl_initial("SCRAM-SHA-256", None);
    out.sasl_response(b"c=biws");
    let answers: Vec<_> = requests(out.as_bytes())
        .unwrap()
        .into_iter()
        .map(|m| match m {
            Message::Authentication(a) => a,
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(answers[0].password(), Ok("pass word"));
    let initial = answers[1].sasl_initial().unwrap();
    assert_eq!((initial.mechanism, initial.response), ("SCRAM-SHA-256", Some(&b"n,,n=,r=x"[..])));
    assert_eq!(answers[2].sasl_initial().unwrap().response, None);
    assert_eq!(answers[3].sasl_response(), b"c=biws");
    assert_eq!(answers[3].password(), Err(Error::UnterminatedString));
}

#[test]
fn requests_before_a_session_come_back() {
    let mut buf = Vec::new();
    startup::put_ssl_request(&mut buf);
    startup::put_gss_enc_request(&mut buf);
    startup::put_cancel(&mut buf, -5, 0xdead_beef);
    let mut seen = Vec::new();
    let mut rest = &buf[..];
    while let startup::Split::Packet(request, size) = startup::split(rest).unwrap() {
        seen.push(request);
        rest = &rest[size..];
    }
    assert_eq!(
        seen,
        [Request::Ssl, Request::GssEnc, Request::Cancel { process: -5, key: 0xdead_beef }]
    );
}

#[test]
fn the_small_replies_come_back() {
    let mut out = Replies::new();
    out.authentication_cleartext_password();
    out.authentication_md5_password(*b"salt");
    out.authentication_sasl(["SCRAM-SHA-256-PLUS", "SCRAM-SHA-256"]);
    out.authentication_sasl_continue(b"r=x");
    out.authentication_sasl_final(b"v=y");
    out.close_complete();
    out.copy_both(Format::Binary, 0);
    out.copy_in(Format::Binary, 2);
    out.function_call(None);
    out.negotiate_protocol_version(PROTOCOL_3_0, ["_pq_.a", "_pq_.b"]);
    out.parameter_description(&[23, 25]);
    out.command_complete(Tag::Rows("SELECT", u64::MAX));
    out.row_description([Field {
        name: "a",
        table: 1,
        column: -2,
        type_oid: 23,
        type_size: 4,
        type_modifier: -1,
        format: Format::Binary,
    }]);
    [Status::Idle, Status::InTransaction, Status::Failed]
        .into_iter()
        .for_each(|status| out.ready_for_query(status));
    let mut again = Replies::new();
    replies(out.as_bytes()).unwrap().iter().for_each(|m| encode_again(&mut again, m));
    assert_eq!(again.as_bytes(), out.as_bytes());
}

#[test]
fn a_row_that_is_not_finished_leaves_nothing() {
    let mut out = Replies::new();
    out.parse_complete();
    let before = out.as_bytes().to_vec();
    let mut row = out.data_row();
    row.value(b"half");
    drop(row);
    assert_eq!(out.as_bytes(), before);
}
