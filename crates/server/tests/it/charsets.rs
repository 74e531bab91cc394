//! Clients that do not speak UTF-8.

use crate::House;
use crate::client::{Client, extended};

fn start(house: &House, encoding: &str) -> Client {
    let mut me = house.stranger();
    let parameters = [("user", "me"), ("database", "postgres"), ("client_encoding", encoding)];
    let told = me.try_start(&parameters);
    assert!(told.ends_with("Z I"), "{encoding}: {told}");
    me
}

/// A message of one text in whatever bytes it is.
fn send(me: &mut Client, tag: u8, text: &[u8]) {
    let mut message = vec![tag];
    message.extend_from_slice(&(text.len() as u32 + 5).to_be_bytes());
    message.extend_from_slice(text);
    message.push(0);
    me.send(&message);
}

/// A simple query in whatever bytes it is.
fn query(me: &mut Client, text: &[u8]) -> String {
    send(me, b'Q', text);
    me.until_ready()
}

#[test]
fn what_a_client_asks_for_is_told_in_postgresql_s_words() {
    let house = House::new();
    for (asked, told) in
        [("SQL_ASCII", "SQL_ASCII"), ("latin-1", "LATIN1"), ("Windows1252", "WIN1252")]
    {
        let mut me = house.stranger();
        let parameters = [("user", "me"), ("database", "postgres"), ("client_encoding", asked)];
        let started = me.try_start(&parameters);
        assert!(started.contains(&format!("S client_encoding={told}")), "{started}");
        assert_eq!(
            me.query("select pg_client_encoding(), getdatabaseencoding()"),
            format!("T pg_client_encoding,getdatabaseencoding\nD {told},UTF8\nC SELECT 1\nZ I")
        );
    }
    let mut me = house.stranger();
    let parameters = [("user", "me"), ("database", "postgres"), ("client_encoding", "EUC_JP")];
    let told = me.try_start(&parameters);
    assert_eq!(told, "FATAL 0A000 conversion between EUC_JP and UTF8 is not supported");
}

#[test]
fn texts_are_converted_both_ways() {
    let house = House::new();
    let mut me = start(&house, "LATIN1");
    assert_eq!(query(&mut me, b"insert into words values ('caf\xe9')"), "C INSERT 0 1\nZ I");
    // The client shows what is no UTF-8 by this sign.
    assert_eq!(query(&mut me, b"select * from words"), "T word\nD caf\u{fffd}\nC SELECT 1\nZ I");
    let length = "select length(word), octet_length(word) from words where word = $1";
    me.request(|r| {
        extended(r, length, &[Some(b"caf\xe9")], 0);
        r.sync();
    });
    assert_eq!(me.until_ready(), "1\n2\nT length,octet_length\nD 4,5\nC SELECT 1\nZ I");
    let mut other = house.client();
    assert_eq!(other.query("select * from words"), "T word\nD café\nC SELECT 1\nZ I");
}

#[test]
fn copied_data_are_converted_both_ways() {
    let house = House::new();
    let mut me = start(&house, "LATIN9");
    me.request(|r| {
        r.query("copy words from stdin");
        r.copy_data(b"\xa4 5\n");
        r.copy_done();
    });
    assert_eq!(me.until_ready(), "G 1\nC COPY 1\nZ I");
    assert_eq!(me.query("copy words to stdout"), "H 1\nd \u{fffd} 5\nc\nC COPY 1\nZ I");
    let mut other = house.client();
    assert_eq!(other.query("select * from words"), "T word\nD € 5\nC SELECT 1\nZ I");
}

#[test]
fn what_the_client_has_no_character_for_is_an_error() {
    let house = House::new();
    let mut me = start(&house, "LATIN1");
    let error = "ERROR 22P05 character with byte sequence 0xe2 0x82 0xac in encoding \"UTF8\" has no \
                 equivalent in encoding \"LATIN1\"\nZ I";
    assert_eq!(me.query("select 1, chr(8364)"), format!("T ?column?,chr\n{error}"));
    assert!(me.query("copy (select chr(8364)) to stdout").ends_with(error));
    // Messages come through.
    let told = me.query("select chr(8364)::int");
    assert!(told.contains("invalid input syntax for type integer: \"?\""), "{told}");
    assert_eq!(
        me.query("set client_encoding = 'WIN1252'"),
        "C SET\nS client_encoding=WIN1252\nZ I"
    );
    assert_eq!(me.query("select chr(8364)"), "T chr\nD \u{fffd}\nC SELECT 1\nZ I");
    let error = query(&mut me, b"select '\x81'");
    assert_eq!(
        error,
        "ERROR 22P05 character with byte sequence 0x81 in encoding \"WIN1252\" has no equivalent in \
         encoding \"UTF8\"\nZ I"
    );
}

#[test]
fn a_reason_that_cannot_be_read_ends_its_copy_and_no_more() {
    let house = House::new();
    let mut me = start(&house, "WIN1252");
    me.request(|r| r.query("copy words from stdin"));
    assert_eq!(me.next().unwrap(), "G 1");
    send(&mut me, b'f', b"\x81");
    assert_eq!(
        me.until_ready(),
        "ERROR 22P05 character with byte sequence 0x81 in encoding \"WIN1252\" has no equivalent in \
         encoding \"UTF8\"\nZ I"
    );
    assert_eq!(me.query("select 1"), "T ?column?\nD 1\nC SELECT 1\nZ I");
    // Where there is no COPY, nobody reads it.
    send(&mut me, b'f', b"\x81");
    assert_eq!(me.query("select 2"), "T ?column?\nD 2\nC SELECT 1\nZ I");
}

#[test]
fn sql_ascii_is_utf8_that_is_checked() {
    let house = House::new();
    let mut me = start(&house, "SQL_ASCII");
    assert_eq!(me.query("select length('é')"), "T length\nD 1\nC SELECT 1\nZ I");
    assert_eq!(
        query(&mut me, b"select '\xe9'"),
        "ERROR 22021 invalid byte sequence for encoding \"UTF8\": 0xe9 0x27\nZ I"
    );
}
