//! Clients that are broken or mean harm, and sessions that panic.

use wire::frontend::{Execute, Requests, Target};

use crate::House;
use crate::client::{Client, extended};

const ONE: &str = "T ?column?\nD 1\nC SELECT 1\nZ I";

#[test]
fn broken_messages_cost_the_message_or_the_connection() {
    let house = House::new();
    let mut me = house.client();
    me.send(b"Q\0\0\0\x0cselect 1");
    assert_eq!(me.until_ready(), "ERROR 08P01 invalid string in message\nZ I");
    me.send(b"Q\0\0\0\x0fselect '\xff'\0");
    assert_eq!(
        me.until_ready(),
        "ERROR 22021 invalid byte sequence for encoding \"UTF8\": 0xff\nZ I"
    );
    me.send(b"D\0\0\0\x07Xx\0");
    assert_eq!(me.next().unwrap(), "ERROR 08P01 invalid DESCRIBE message subtype 88");
    me.request(|r| r.sync());
    assert_eq!(me.until_ready(), "Z I");
    me.request(|r| r.function_call(1, &[], &[], wire::Format::Text));
    assert_eq!(me.until_ready(), "ERROR 0A000 function calls by message are not supported\nZ I");
    me.request(|r| {
        r.copy_data(b"nobody asked");
        r.query("select 1");
    });
    assert_eq!(me.until_ready(), ONE);
    me.send(b"!\0\0\0\x04");
    assert_eq!(me.until_ready(), "FATAL 08P01 invalid frontend message type 33");
    let mut me = house.client();
    me.send(b"Q\xff\xff\xff\xff");
    assert_eq!(me.until_ready(), "FATAL 08P01 invalid message length");
    let mut me = house.client();
    me.request(|r| r.password("out of the blue"));
    assert_eq!(me.until_ready(), "FATAL 08P01 invalid frontend message type 112");
}

/// A message of this kind with anything in it, and the length that it has.
fn message(tag: u8, body: &[u8]) -> Vec<u8> {
    let length = (body.len() as u32 + 4).to_be_bytes();
    [&[tag][..], &length, body].concat()
}

/// In either format, as in PostgreSQL: a text's binary form is its bytes.
#[test]
fn parameters_that_are_no_text_are_refused_and_the_session_goes_on() {
    let house = House::new();
    let mut me = house.client();
    let texts: [&[u8]; 5] = [b"\0", b"a\0b", b"\xff", b"caf\xe9", b"\xed\xa0\x80"];
    for text in texts {
        for format in [wire::Format::Text, wire::Format::Binary] {
            me.request(|r| {
                r.parse("", "select $1::text", &[]);
                r.bind("", "", &[format], &[Some(text)], &[]);
                r.execute(Execute { portal: "", rows_max: 0 });
                r.sync();
            });
            let told = me.until_ready();
            let refused = told.strip_prefix("1\nERROR 22021 invalid byte sequence for encoding ");
            assert!(refused.is_some_and(|rest| rest.ends_with("\nZ I")), "{text:x?}: {told}");
            assert_eq!(me.query("select 1"), ONE);
        }
    }
    // Bytes are no text, and may be anything, but in the text format they are written as one.
    for (format, expected) in [
        (wire::Format::Binary, "1\n2\nD \\x00ff\nC SELECT 1\nZ I"),
        (wire::Format::Text, "1\nERROR 22021 invalid byte sequence for encoding "),
    ] {
        me.request(|r| {
            r.parse("", "select $1::bytea", &[]);
            r.bind("", "", &[format], &[Some(b"\0\xff")], &[]);
            r.execute(Execute { portal: "", rows_max: 0 });
            r.sync();
        });
        let told = me.until_ready();
        assert!(told.starts_with(expected), "{told}");
    }
}

#[test]
fn strings_that_are_no_text_cost_their_message() {
    let house = House::new();
    let mut me = house.client();
    // What is behind a string's zero is read as what comes next, and is too much or too little for that.
    me.send(&message(b'Q', b"select '\0'\0"));
    assert_eq!(me.until_ready(), "ERROR 08P01 invalid message format\nZ I");
    assert_eq!(me.query("select 1"), ONE);
    let broken: [(u8, &[u8], &str); 15] = [
        (b'P', b"\xff\0select 1\0\0\0", "22021"),
        (b'P', b"\0select '\xff'\0\0\0", "22021"),
        (b'P', b"\0select '\0'\0\0\0", "08P01"),
        (b'P', b"s", "08P01"),
        (b'B', b"\xff\0\0\0\0\0\0\0\0", "22021"),
        (b'B', b"\0\xff\0\0\0\0\0\0\0", "22021"),
        (b'B', b"p", "08P01"),
        (b'D', b"S\xff\0", "22021"),
        (b'D', b"P\xff\0", "22021"),
        (b'D', b"Ss\0t\0", "08P01"),
        (b'E', b"\xff\0\0\0\0\0", "22021"),
        (b'E', b"p\0\0\0", "08P01"),
        (b'C', b"S\xff\0", "22021"),
        (b'C', b"P\xff\0", "22021"),
        (b'C', b"Ss\0t\0", "08P01"),
    ];
    for (tag, body, code) in broken {
        let what = format!("{} {body:x?}", char::from(tag));
        me.send(&message(tag, body));
        let told = me.next().unwrap();
        assert!(told.starts_with(&format!("ERROR {code} ")), "{what}: {told}");
        // Passed over, like everything up to Sync.
        me.request(|r| {
            r.parse("", "select 2", &[]);
            r.sync();
        });
        assert_eq!(me.until_ready(), "Z I", "{what}");
        assert_eq!(me.query("select 1"), ONE, "{what}");
    }
}

#[test]
fn first_packets_with_strings_that_are_no_text_are_refused() {
    let house = House::new();
    let broken: [(&[u8], &str); 4] = [
        (b"user\0me\0database\0post\xffgres\0\0", "22021"),
        (b"user\0\xff\0database\0postgres\0\0", "22021"),
        (b"user\0me\0database\0post\0gres\0\0", "08P01"),
        (b"user\0me\0database\0postgres", "08P01"),
    ];
    for (parameters, code) in broken {
        let length = (parameters.len() as u32 + 8).to_be_bytes();
        let packet = [&length[..], b"\0\x03\0\0", parameters].concat();
        let mut me = house.stranger();
        me.send(&packet);
        // One line, and the server hangs up.
        let told = me.until_ready();
        let is_refusal = told.contains(&format!(" {code} ")) && told.lines().count() == 1;
        assert!(is_refusal, "{parameters:x?}: {told}");
        assert_eq!(house.client().query("select 1"), ONE);
    }
}

#[test]
fn copied_data_that_are_no_text_are_refused_and_the_session_goes_on() {
    let house = House::new();
    let mut me = house.client();
    let values: [&[u8]; 3] = [b"\xff", b"caf\xe9", b"\xed\xa0\x80"];
    for bytes in values {
        let lines = [&b"fine\n"[..], bytes, b"\n"].concat();
        // No flags and no extension; a row of one field; the end.
        let row = [0, 1, 0, 0, 0, bytes.len() as u8];
        let binary = [&b"PGCOPY\n\xff\r\n\0"[..], &[0; 8], &row, bytes, &[0xff, 0xff]].concat();
        for (options, data) in [("", &lines), (" csv", &lines), (" (format binary)", &binary)] {
            me.request(|r| {
                r.query(&format!("copy words from stdin{options}"));
                r.copy_data(data);
                r.copy_done();
            });
            let told = me.until_ready();
            let refused = told.starts_with("G 1\nERROR 22021 invalid byte sequence for encoding ");
            assert!(refused && told.ends_with("\nZ I"), "{bytes:x?}{options}: {told}");
            assert_eq!(me.query("select 1"), ONE);
        }
    }
    assert_eq!(me.query("select count(*) from words"), "T count\nD 0\nC SELECT 1\nZ I");
}

#[test]
fn clients_that_vanish_before_their_reply_disturb_nobody() {
    let house = House::new();
    let mut other = house.client();
    for round in 0..100 {
        let mut me = house.client();
        me.request(|r| match round % 4 {
            0 => r.query("insert into t values (1)"),
            1 => r.query("begin; insert into t values (1); end; delete from t"),
            2 => r.query("select pg_sleep(0.01)"),
            _ => (0..50).for_each(|_| extended(r, "select 1", &[], 0)),
        });
        drop(me);
        if round % 10 == 0 {
            assert_eq!(other.query("select 1"), ONE);
        }
    }
    house.until_alone(&mut other);
}

/// A transaction whose client is gone before it hears of the commit is there or not, but whole, and holds nothing.
#[test]
fn a_commit_nobody_hears_of_is_whole_or_not_there() {
    let house = House::new();
    let mut other = house.client();
    for round in 0..100 {
        let mut me = house.client();
        let insert = format!("insert into t values ({round})");
        me.request(|r| match round % 5 {
            0 => r.query(&format!("{insert}, ({round})")),
            1 => r.query(&format!("{insert}; {insert}")),
            2 => r.query(&format!("begin; {insert}; {insert}; commit")),
            3 => {
                r.query(&format!("begin; {insert}; {insert}"));
                r.query("commit");
            }
            _ => {
                extended(r, &insert, &[], 0);
                extended(r, &insert, &[], 0);
                r.sync();
            }
        });
        // None, or long enough for some of them to be in the middle of it.
        std::thread::sleep(std::time::Duration::from_micros(round / 5 % 4 * 200));
        drop(me);
    }
    house.until_alone(&mut other);
    let halves = "select a, count(*) from t group by a having count(*) <> 2";
    assert_eq!(other.query(halves), "T a,count\nC SELECT 0\nZ I");
    assert_eq!(other.query("select count(*) > 0 from t"), "T ?column?\nD t\nC SELECT 1\nZ I");
    other.query("set lock_timeout = '30s'");
    let told = other.query("begin; lock table t in access exclusive mode; commit");
    assert_eq!(told, "C BEGIN\nC LOCK TABLE\nC COMMIT\nZ I");
}

/// Whether its transaction was at an end or not. A statement that runs is finished first, as in PostgreSQL.
#[test]
fn locks_are_free_after_a_client_vanished_before_its_reply() {
    let house = House::new();
    let mut other = house.client();
    assert_eq!(other.query("insert into t values (1)"), "C INSERT 0 1\nZ I");
    // The table is locked before a row is: the other, who updates, would be in a deadlock with one that came late.
    let left_behind = [
        "update t set a = a + 1",
        "begin; select pg_advisory_lock(1); lock table t in exclusive mode; update t set a = a + 1",
        "begin; update t set a = a + 1; commit; begin; delete from t; rollback; update t set a = 5",
        "begin; delete from t; select pg_sleep(0.2)",
        "select pg_advisory_lock(1); begin; savepoint s; update t set a = 7; rollback to s",
    ];
    for round in 0..20 {
        let mut me = house.client();
        me.request(|r| r.query(left_behind[round % left_behind.len()]));
        if round >= left_behind.len() {
            // Long enough for most of them to be in the middle of it.
            std::thread::sleep(std::time::Duration::from_millis(round as u64));
        }
        drop(me);
        other.query("set lock_timeout = '30s'");
        let told = other.query("begin; lock table t in access exclusive mode; commit");
        assert_eq!(told, "C BEGIN\nC LOCK TABLE\nC COMMIT\nZ I", "round {round}");
        assert_eq!(other.query("update t set a = 1"), "C UPDATE 1\nZ I", "round {round}");
        crate::timers::until("its locks are gone", || {
            let own = "select pg_try_advisory_lock(1), pg_advisory_unlock(1)";
            other.query(own).contains("D t,t")
        });
    }
}

/// A generator of its own, so that a failing round fails again.
struct Xorshift(u64);

impl Xorshift {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as usize % limit
    }
}

/// That nothing the client has still to hear tells of a broken invariant, and that it comes to an end.
fn assert_sane_end(me: &mut Client, what: &str) {
    for line in me.last_words() {
        let told = ["ERROR", "FATAL", "PANIC", "WARNING"].iter().any(|s| line.starts_with(s));
        assert!(!(told && line.contains(" XX")), "{what}: {line}");
    }
}

#[test]
fn mutated_conversations_disturb_nobody() {
    let house = House::new();
    let mut other = house.client();
    let mut corpus = Requests::new();
    extended(&mut corpus, "select $1", &[Some(b"5"), None], 3);
    corpus.close(Target::Statement(""));
    corpus.flush();
    corpus.sync();
    corpus.query("begin; select generate_series(1, 20)");
    corpus.query("copy t from stdin");
    corpus.copy_data(b"1\n2\n");
    corpus.copy_done();
    corpus.execute(Execute { portal: "", rows_max: 0 });
    corpus.query("drop table if exists nosuch");
    corpus.sync();
    corpus.terminate();
    for seed in 1..=400 {
        let mut random = Xorshift(seed * 0x9e37_79b9);
        let mut bytes = corpus.as_bytes().to_vec();
        for _ in 0..=random.below(3) {
            let at = random.below(bytes.len());
            match random.below(4) {
                0 => bytes[at] = random.below(256) as u8,
                1 => bytes[at] ^= 1 << random.below(8),
                2 => drop(bytes.remove(at)),
                _ => bytes.truncate(at + 1),
            }
        }
        let mut me = house.client();
        // The server may hang up in the middle.
        let _ = me.try_send(&bytes);
        // Some hang up at once.
        if seed % 4 != 0 {
            assert_sane_end(&mut me, &format!("seed {seed}"));
        }
        if seed % 20 == 0 {
            assert_eq!(other.query("select 1"), ONE, "after seed {seed}");
        }
    }
    house.until_alone(&mut other);
}

/// A body of up to 40 bytes: any, but most of them what numbers, names, formats and short statements are made of.
fn random_body(random: &mut Xorshift) -> Vec<u8> {
    const TELLING: &[u8] = b"\0\0\0\0\0\0\0\x01\x02\x04SPa1; ";
    let length = random.below(41);
    let byte = |_| match random.below(4) {
        0 => random.below(256) as u8,
        _ => TELLING[random.below(TELLING.len())],
    };
    (0..length).map(byte).collect()
}

/// Each message is of a kind that there is and as long as it says, so the stream stays in step, and what is behind the
/// framing meets them: mutated conversations seldom get so far.
#[test]
fn messages_of_random_content_disturb_nobody() {
    const TAGS: &[u8] = b"BBBCDDEEFHPPPQQSXcdfp";
    let house = House::new();
    let mut other = house.client();
    assert!(other.query("begin; insert into t values (7)").ends_with("Z T"));
    for seed in 1..=400 {
        let mut random = Xorshift(seed * 0x9e37_79b9);
        let mut requests = Requests::new();
        match random.below(5) {
            0 => requests.query("begin"),
            1 => requests.query("copy words from stdin"),
            2 => requests.query("begin; copy words from stdin (format binary)"),
            // Names that random ones meet.
            3 => {
                requests.parse("a", "select $1, $2::int", &[]);
                extended(&mut requests, "select generate_series(1, 9)", &[], 2);
            }
            _ => {}
        }
        let mut bytes = requests.as_bytes().to_vec();
        for _ in 0..=random.below(8) {
            let tag = TAGS[random.below(TAGS.len())];
            bytes.extend(message(tag, &random_body(&mut random)));
        }
        bytes.extend(message(b'S', b""));
        let mut me = house.client();
        // The server may hang up in the middle.
        let _ = me.try_send(&bytes);
        assert_sane_end(&mut me, &format!("seed {seed}"));
        if seed % 10 == 0 {
            let told = other.query("select count(*) from t where a = 7");
            assert_eq!(told, "T count\nD 1\nC SELECT 1\nZ T", "after seed {seed}");
        }
    }
    assert_eq!(other.query("commit"), "C COMMIT\nZ I");
    house.until_alone(&mut other);
}

/// The longest message there may be, and one byte more: the first is waited for, and nobody waits with it.
#[test]
fn messages_of_a_gigabyte_that_never_come_disturb_nobody() {
    let house = House::new();
    let mut other = house.client();
    let mut too_long = house.client();
    too_long.send(b"Q\x3f\xff\xff\xffselect 1");
    assert_eq!(too_long.until_ready(), "FATAL 08P01 invalid message length");
    let mut waited_for: Vec<Client> = (0..8).map(|_| house.client()).collect();
    for client in &mut waited_for {
        client.send(b"Q\x3f\xff\xff\xfeselect 1");
        assert_eq!(other.query("select 1"), ONE);
    }
    assert_eq!(waited_for[0].last_words(), Vec::<String>::new());
    assert_eq!(other.query("select 1"), ONE);
    drop((too_long, waited_for));
    house.until_alone(&mut other);
}

#[test]
fn an_expression_a_hundred_thousand_deep_is_refused() {
    let house = House::new();
    let mut me = house.client();
    let sum = format!("select 1{}", "+1".repeat(100_000));
    assert_eq!(me.query(&sum), "ERROR 54001 stack depth limit exceeded\nZ I");
    me.request(|r| {
        extended(r, &sum, &[], 0);
        r.sync();
    });
    assert_eq!(me.until_ready(), "ERROR 54001 stack depth limit exceeded\nZ I");
    assert_eq!(me.query("select 1"), ONE);
}

#[test]
fn a_client_that_vanishes_while_it_waits_for_a_lock_leaves_the_queue() {
    let house = House::new();
    let mut holder = house.client();
    holder.query("insert into t values (1)");
    assert!(holder.query("begin; update t set a = 2").ends_with("Z T"));
    let mut me = house.client();
    me.request(|r| r.query("begin; update t set a = 3"));
    crate::timers::until("a session waits", || house.waiting() == 1);
    drop(me);
    assert_eq!(holder.query("commit"), "C COMMIT\nZ I");
    assert_eq!(house.client().query("update t set a = a"), "C UPDATE 1\nZ I");
}

#[test]
fn garbage_instead_of_a_first_packet_disturbs_nobody() {
    let house = House::new();
    for seed in 1..=100 {
        let mut random = Xorshift(seed * 0x9e37_79b9);
        let bytes: Vec<u8> = (0..random.below(200)).map(|_| random.below(256) as u8).collect();
        let mut me = house.stranger();
        let _ = me.try_send(&bytes);
        if seed % 4 != 0 {
            assert_sane_end(&mut me, &format!("seed {seed}"));
        }
    }
    let mut other = house.client();
    assert_eq!(other.query("select 1"), ONE);
    house.until_alone(&mut other);
}
