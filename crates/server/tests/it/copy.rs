//! COPY both ways, with clients that are slow, give up or vanish.

use std::time::Duration;

use crate::House;

#[test]
fn data_are_copied_in() {
    let house = House::new();
    let mut me = house.client();
    me.request(|r| r.query("copy t from stdin"));
    assert_eq!(me.next().unwrap(), "G 1");
    me.request(|r| {
        r.copy_data(b"1\n2");
        r.copy_data(b"\n3\n");
        r.flush();
        r.copy_done();
    });
    assert_eq!(me.until_ready(), "C COPY 3\nZ I");
}

#[test]
fn a_zero_byte_is_no_text() {
    let house = House::new();
    let mut me = house.client();
    let options =
        [("", "a\0b"), ("", "a\\000b"), ("", "a\\x00"), (" csv", "\"a\0b\""), (" csv", "a\0b")];
    for (option, value) in options {
        me.request(|r| {
            r.query(&format!("copy words from stdin{option}"));
            r.copy_data(format!("fine\n{value}\n").as_bytes());
            r.copy_done();
        });
        let told = me.until_ready();
        let expected = "ERROR 22021 invalid byte sequence for encoding \"UTF8\": 0x00\nZ I";
        assert!(told.ends_with(expected), "{value:?}{option}: {told}");
    }
    let count = "select count(*) from words";
    assert_eq!(me.query(count), "T count\nD 0\nC SELECT 1\nZ I");
}

#[test]
fn data_sent_along_with_the_query_are_copied_in() {
    let house = House::new();
    let mut me = house.client();
    me.request(|r| {
        r.query("copy t from stdin");
        r.copy_data(b"1\n");
        r.copy_done();
        r.query("select 5");
    });
    assert_eq!(me.until_ready(), "G 1\nC COPY 1\nZ I");
    assert_eq!(me.until_ready(), "T ?column?\nD 5\nC SELECT 1\nZ I");
}

#[test]
fn much_data_is_copied_in() {
    let house = House::new();
    let mut me = house.client();
    me.request(|r| r.query("copy words from stdin"));
    assert_eq!(me.next().unwrap(), "G 1");
    let line = b"some words that make up a line of a certain length\n";
    for _ in 0..100 {
        me.request(|r| (0..1000).for_each(|_| r.copy_data(line)));
    }
    me.request(|r| {
        r.copy_done();
        r.query("select 5");
    });
    assert_eq!(me.until_ready(), "C COPY 100000\nZ I");
    assert_eq!(me.until_ready(), "T ?column?\nD 5\nC SELECT 1\nZ I");
}

#[test]
fn a_client_may_give_up_its_copy() {
    let house = House::new();
    let mut me = house.client();
    me.request(|r| {
        r.query("copy t from stdin");
        r.copy_data(b"1\n");
        r.copy_fail("no more");
    });
    assert_eq!(me.until_ready(), "G 1\nERROR 57014 COPY from stdin failed: no more\nZ I");
}

#[test]
fn data_behind_an_error_are_ignored() {
    let house = House::new();
    let mut me = house.client();
    me.request(|r| {
        r.query("copy t from stdin");
        r.copy_data(b"bad\n");
        (0..500).for_each(|_| r.copy_data(b"1\n"));
        r.copy_done();
        r.query("select 5");
    });
    assert_eq!(
        me.until_ready(),
        "G 1\nERROR 22P02 invalid input syntax for type integer: \"bad\"\nZ I"
    );
    assert_eq!(me.until_ready(), "T ?column?\nD 5\nC SELECT 1\nZ I");
}

#[test]
fn another_message_during_copy_ends_the_session() {
    let house = House::new();
    let mut me = house.client();
    me.request(|r| {
        r.query("copy t from stdin");
        r.query("select 1");
    });
    assert_eq!(
        me.until_ready(),
        "G 1\nFATAL 08P01 unexpected message type 0x51 during COPY from stdin"
    );
}

#[test]
fn a_client_that_vanishes_during_copy_disturbs_nobody() {
    let house = House::new();
    let mut other = house.client();
    for _ in 0..20 {
        let mut me = house.client();
        me.request(|r| {
            r.query("begin; copy t from stdin");
            r.copy_data(b"1\n");
        });
        assert_eq!(me.next().unwrap(), "C BEGIN");
        drop(me);
        assert_eq!(other.query("select 1"), "T ?column?\nD 1\nC SELECT 1\nZ I");
    }
}

/// Also where no transaction block holds it back: the rows are its own until CopyDone.
#[test]
fn a_copy_whose_client_vanishes_leaves_no_rows_and_no_locks() {
    let house = House::new();
    let mut other = house.client();
    let whole = b"d\0\0\0\x081\n2\n".as_slice();
    let cut_in_its_data = b"d\0\0\0\x081\n2\nd\0\0\0\x083\n".as_slice();
    let cut_in_its_header = b"d\0\0\0\x081\n2\nd\0\0".as_slice();
    for begin in ["", "begin; "] {
        for (sent, heard) in [whole, cut_in_its_data, cut_in_its_header]
            .into_iter()
            .flat_map(|sent| [(sent, true), (sent, false)])
        {
            let mut me = house.client();
            me.request(|r| r.query(&format!("{begin}copy t from stdin")));
            while heard && me.next().unwrap() != "G 1" {}
            me.send(sent);
            drop(me);
            house.until_alone(&mut other);
            let told = other.query("select count(*) from t");
            assert_eq!(told, "T count\nD 0\nC SELECT 1\nZ I", "{begin}{sent:?}");
            other.query("set lock_timeout = '30s'");
            let told = other.query("begin; lock table t in access exclusive mode; commit");
            assert_eq!(told, "C BEGIN\nC LOCK TABLE\nC COMMIT\nZ I", "{begin}{sent:?}");
        }
    }
}

#[test]
fn data_are_copied_out_no_faster_than_they_are_taken() {
    let house = House::new();
    let mut me = house.client();
    me.request(|r| r.query("copy (select generate_series(1, 300000)) to stdout"));
    std::thread::sleep(Duration::from_millis(100));
    assert_eq!(me.next().unwrap(), "H 1");
    for row in 1..=300_000 {
        assert_eq!(me.next().unwrap(), format!("d {row}"));
    }
    assert_eq!(me.until_ready(), "c\nC COPY 300000\nZ I");
}

#[test]
fn a_client_that_vanishes_while_it_is_sent_to_disturbs_nobody() {
    let house = House::new();
    let mut other = house.client();
    for query in [
        "copy (select generate_series(1, 100000000)) to stdout",
        "select generate_series(1, 100000000)",
    ] {
        let mut me = house.client();
        me.request(|r| r.query(query));
        me.next().unwrap();
        drop(me);
        assert_eq!(other.query("select 1"), "T ?column?\nD 1\nC SELECT 1\nZ I");
    }
}
