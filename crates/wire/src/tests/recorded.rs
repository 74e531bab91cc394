//! What PostgreSQL 15 sent in one recorded conversation: queries, errors with every kind of
//! field, COPY both ways, the extended protocol, a function call, broken messages.

use super::{encode_again, replies, requests};
use crate::backend::{Message, Replies};
use crate::{Error, Format, frame, frontend};

const RECORDED: &[u8] = include_bytes!("postgres15.bin");

#[test]
fn what_postgres_sent_is_understood_and_written_again_byte_for_byte() {
    let mut at = 0;
    for message in replies(RECORDED).unwrap() {
        let mut out = Replies::new();
        encode_again(&mut out, &message);
        let theirs = &RECORDED[at..RECORDED.len().min(at + out.len())];
        assert_eq!(out.as_bytes(), theirs, "{message:?}");
        at += out.len();
    }
    assert_eq!(at, RECORDED.len());
}

#[test]
fn the_recording_holds_the_rarer_messages() {
    let messages = replies(RECORDED).unwrap();
    let holds = |is: fn(&Message<'_>) -> bool| messages.iter().any(is);
    assert!(holds(|m| matches!(m, Message::NegotiateProtocolVersion { version: 0x30000, .. })));
    assert!(holds(|m| matches!(m, Message::NotificationResponse { channel: "ch", .. })));
    assert!(holds(|m| matches!(m, Message::CopyInResponse(f) if f.columns.count() == 3)));
    assert!(holds(|m| matches!(m, Message::FunctionCallResponse(Some(_)))));
    assert!(holds(|m| matches!(m, Message::PortalSuspended)));
    assert!(holds(|m| matches!(m, Message::EmptyQueryResponse)));
    assert!(holds(|m| matches!(m, Message::NoData)));
}

/// The faults that the recorded server was made to complain of, in order; what we say of the
/// same bytes has the same SQLSTATE and the same words.
#[test]
fn broken_messages_get_postgres_words() {
    let theirs: Vec<(String, String)> = replies(RECORDED)
        .unwrap()
        .iter()
        .filter_map(|message| match message {
            Message::ErrorResponse(f) => Some((f.sqlstate().into(), f.message().into())),
            _ => None,
        })
        .collect();
    let same = |error: Error| (error.sqlstate().to_owned(), error.to_string());
    let ours = |bytes: &[u8]| same(requests(bytes).unwrap_err());
    let mut two_formats = frontend::Requests::new();
    two_formats.bind("", "", &[Format::Text; 2], &[None], &[]);

    let expected = [
        ours(b"Q\0\0\0\x0fselect '\xff'\0"),
        ours(b"D\0\0\0\x07Xx\0"),
        ours(b"Q\0\0\0\x0cselect 1"),
        ours(b"Q\0\0\0\x0eselect 1\0z"),
        ours(two_formats.as_bytes()),
        ours(b"C\0\0\0\x04"),
        same(frame::split(b"!").unwrap_err()),
    ];
    let mut theirs = theirs.iter();
    for error in &expected {
        assert!(theirs.any(|t| t == error), "PostgreSQL did not say {error:?} here");
    }
}
