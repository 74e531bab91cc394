//! Settings that clients are told about: once they have changed, right before the next command may come.

use crate::House;
use crate::client::extended;

#[test]
fn a_setting_that_changed_is_told_when_the_message_is_over() {
    let house = House::new();
    let mut me = house.client();
    assert_eq!(
        me.query("set timezone = 'Asia/Tokyo'; set datestyle = 'German'; select 1"),
        "C SET\nC SET\nT ?column?\nD 1\nC SELECT 1\nS DateStyle=German, DMY\nS TimeZone=Asia/Tokyo\nZ I"
    );
    assert_eq!(me.query("set timezone = 'Asia/Tokyo'"), "C SET\nZ I", "it is as it was");
    assert_eq!(me.query("set timezone = 'UTC'; set timezone = 'Asia/Tokyo'"), "C SET\nC SET\nZ I");
    assert_eq!(
        me.query("begin; set local timezone = 'UTC'"),
        "C BEGIN\nC SET\nS TimeZone=UTC\nZ T"
    );
    assert_eq!(me.query("commit"), "C COMMIT\nS TimeZone=Asia/Tokyo\nZ I");
    assert_eq!(
        me.query("select set_config('timezone', 'UTC', false)"),
        "T set_config\nD UTC\nC SELECT 1\nS TimeZone=UTC\nZ I"
    );
}

#[test]
fn what_an_error_undoes_is_told_with_it() {
    let house = House::new();
    let mut me = house.client();
    let error = "ERROR 22012 division by zero";
    // Nobody was told of it.
    assert_eq!(
        me.query("set client_encoding = 'LATIN1'; select 1/0"),
        format!("C SET\nT ?column?\n{error}\nZ I")
    );
    for (set, now, before) in [
        ("client_encoding = 'LATIN1'", "client_encoding=LATIN1", "client_encoding=UTF8"),
        ("timezone = 'UTC'", "TimeZone=UTC", "TimeZone="),
        ("datestyle = 'SQL, DMY'", "DateStyle=SQL, DMY", "DateStyle=ISO, MDY"),
        ("intervalstyle = 'iso_8601'", "IntervalStyle=iso_8601", "IntervalStyle=postgres"),
    ] {
        me.query("set timezone = 'Asia/Tokyo'");
        for (end, ended) in [
            ("select 1/0", format!("T ?column?\n{error}\n")),
            ("rollback", "C ROLLBACK\n".to_owned()),
            ("rollback to a", "C ROLLBACK\n".to_owned()),
        ] {
            let begun = me.query(&format!("begin; savepoint a; set {set}"));
            assert_eq!(begun, format!("C BEGIN\nC SAVEPOINT\nC SET\nS {now}\nZ T"));
            let told = me.query(end);
            assert!(told.starts_with(&format!("{ended}S {before}")), "{set}, {end}: {told}");
            assert!(!me.query("rollback").contains("\nS "), "it has been told");
        }
    }
}

#[test]
fn what_an_error_undoes_is_told_at_sync() {
    let house = House::new();
    let mut me = house.client();
    me.request(|r| {
        extended(r, "set client_encoding = 'LATIN1'", &[], 0);
        r.flush();
        extended(r, "select chr(233)", &[], 0);
        extended(r, "select 1/0", &[], 0);
        r.sync();
    });
    let set = "1\n2\nn\nC SET\n1\n2\nT chr\nD \u{fffd}\nC SELECT 1\n";
    let error = "1\n2\nT ?column?\nERROR 22012 division by zero\n";
    assert_eq!(me.until_ready(), format!("{set}{error}Z I"));
    assert_eq!(me.query("select chr(233)"), "T chr\nD é\nC SELECT 1\nZ I");
    me.query("begin; set client_encoding = 'LATIN1'");
    me.request(|r| {
        extended(r, "select 1/0", &[], 0);
        r.sync();
    });
    assert_eq!(me.until_ready(), format!("{error}S client_encoding=UTF8\nZ E"));
    me.query("rollback");
    me.request(|r| {
        extended(r, "set client_encoding = 'LATIN1'", &[], 0);
        r.sync();
    });
    assert_eq!(me.until_ready(), "1\n2\nn\nC SET\nS client_encoding=LATIN1\nZ I");
}

#[test]
fn texts_are_spelled_as_is_set_at_once() {
    let house = House::new();
    let mut me = house.client();
    let spelled =
        "begin; set client_encoding = 'LATIN1'; select chr(233); rollback; select chr(233)";
    assert_eq!(
        me.query(spelled),
        "C BEGIN\nC SET\nT chr\nD \u{fffd}\nC SELECT 1\nC ROLLBACK\nT chr\nD é\nC SELECT 1\nZ I"
    );
    // Column names and messages, too: what LATIN1 lacks is a question mark in them.
    let told = me.query("set client_encoding = 'LATIN1'; select 1 as \"€\"; select '€'::int");
    assert!(told.starts_with("C SET\nT ?\nD 1\nC SELECT 1\n"), "{told}");
    assert!(told.ends_with("\"?\"\nZ I"), "{told}");
    assert_eq!(me.query("select 1 as \"€\""), "T €\nD 1\nC SELECT 1\nZ I");
}
