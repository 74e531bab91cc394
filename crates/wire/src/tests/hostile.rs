//! Bytes from somebody who is broken or means harm: never a panic, never a read past the end,
//! never a wait for more than the protocol allows.

use super::requests;
use crate::frame::{self, Split};
use crate::frontend::{Execute, Message, Requests, Target};
use crate::startup;
use crate::{Error, Format, backend, utf8};
use std::hint::black_box;

/// At least one of every message a client sends.
fn corpus() -> Vec<u8> {
    let mut out = Requests::new();
    out.parse("s", "select $1::int, 'ß'", &[23, 0]);
    out.bind("p", "s", &[Format::Text, Format::Binary], &[Some(b"1"), None], &[Format::Binary]);
    out.describe(Target::Portal("p"));
    out.execute(Execute { portal: "p", rows_max: 3 });
    out.close(Target::Statement("s"));
    out.flush();
    out.sync();
    out.query("select 1");
    out.copy_data(b"1\t2\n");
    out.copy_done();
    out.copy_fail("enough");
    out.function_call(1299, &[Format::Binary], &[Some(b"x"), None], Format::Text);
    out.password("secret");
    out.sasl_initial("SCRAM-SHA-256", Some(b"n,,n=,r=x"));
    out.terminate();
    out.as_bytes().to_vec()
}

/// Makes sure that a value is worked out.
fn look<T>(value: T) {
    black_box(value);
}

/// Decodes as far as the bytes make sense and looks at everything inside.
fn chew(mut bytes: &[u8]) {
    while let Ok(Split::Frame(frame)) = frame::split(bytes) {
        if let Ok(message) = Message::decode(frame) {
            match message {
                Message::Parse(parse) => look(parse.types.iter().collect::<Vec<_>>()),
                Message::Bind(bind) => {
                    assert_eq!(bind.parameters.iter().count(), bind.parameters.count().into());
                    (0..9).for_each(|i| look(bind.parameter_formats.of(i)));
                }
                Message::FunctionCall(call) => look(call.arguments.iter().count()),
                Message::Authentication(answer) => {
                    look((answer.password(), answer.sasl_initial()));
                }
                other => look(other),
            }
        }
        bytes = &bytes[frame.size()..];
    }
}

/// The same for bytes that pretend to come from a server.
fn chew_replies(mut bytes: &[u8]) {
    while let Ok(Split::Frame(frame)) = frame::split_reply(bytes) {
        if let Ok(message) = backend::Message::decode(frame) {
            match message {
                backend::Message::DataRow(values) => look(values.iter().count()),
                backend::Message::RowDescription(fields) => {
                    look(fields.iter().count());
                }
                backend::Message::ErrorResponse(fields) => look(fields.iter().count()),
                backend::Message::NegotiateProtocolVersion { options, .. } => {
                    look(options.iter().count());
                }
                other => look(other),
            }
        }
        bytes = &bytes[frame.size()..];
    }
}

fn chew_startup(bytes: &[u8]) {
    if let Ok(startup::Split::Packet(startup::Request::Session(session), size)) =
        startup::split(bytes)
    {
        assert!(size <= bytes.len());
        look(session.parameters().count());
    }
}

#[test]
fn a_stream_cut_anywhere_asks_for_the_rest() {
    let whole = corpus();
    let mut ends = vec![0];
    while let Split::Frame(frame) = frame::split(&whole[ends[ends.len() - 1]..]).unwrap() {
        ends.push(ends[ends.len() - 1] + frame.size());
    }
    assert_eq!(ends.last(), Some(&whole.len()));
    for cut in 0..whole.len() {
        let start = *ends.iter().rfind(|&&end| end <= cut).unwrap();
        let size = ends.iter().find(|&&end| end > cut).unwrap() - start;
        let have = cut - start;
        let need = if have < frame::HEADER_BYTES { frame::HEADER_BYTES } else { size };
        assert_eq!(frame::split(&whole[start..cut]), Ok(Split::Need(need)), "cut at {cut}");
    }
}

/// Shortening a body, with its length made to agree, is an error for each message whose contents
/// have a shape, and a shorter body for those that carry plain bytes.
#[test]
fn a_body_cut_anywhere_is_refused() {
    let whole = corpus();
    let mut rest = &whole[..];
    while let Split::Frame(frame) = frame::split(rest).unwrap() {
        rest = &rest[frame.size()..];
        for cut in 0..frame.body.len() {
            let short = frame::Frame { tag: frame.tag, body: &frame.body[..cut] };
            match (frame.tag, Message::decode(short)) {
                (b'd' | b'p', result) => assert!(result.is_ok()),
                (_, result) => {
                    let error = result.expect_err("a body that ends too early");
                    assert_eq!(error.sqlstate(), "08P01");
                    assert!(!error.is_fatal());
                }
            }
        }
        let longer = [frame.body, b"z"].concat();
        let result = Message::decode(frame::Frame { tag: frame.tag, body: &longer });
        if !matches!(frame.tag, b'd' | b'p' | b'X') {
            assert_eq!(result, Err(Error::TrailingData));
        }
    }
}

#[test]
fn lengths_out_of_range_are_refused_at_once() {
    for length in [0, 3, 10_001, u32::MAX, 0x8000_0000] {
        let header = [&b"S"[..], &length.to_be_bytes()].concat();
        assert_eq!(frame::split(&header), Err(Error::MessageLength), "{length}");
    }
    let header = |length: u32| [&b"Q"[..], &length.to_be_bytes()].concat();
    assert_eq!(frame::split(&header(0x3fff_fffe)), Ok(Split::Need(0x3fff_ffff)));
    assert_eq!(frame::split(&header(0x3fff_ffff)), Err(Error::MessageLength));
    for length in [0, 3, 7, 10_005, u32::MAX, 0x8000_0004] {
        let header = u32::to_be_bytes(length);
        assert_eq!(startup::split(&header), Err(Error::StartupLength), "{length}");
    }
    assert_eq!(startup::split(&u32::to_be_bytes(10_004)), Ok(startup::Split::Need(10_004)));
}

#[test]
fn startup_packets_out_of_shape_are_refused() {
    let packet = |body: &[u8]| {
        let mut bytes = (body.len() as u32 + 4).to_be_bytes().to_vec();
        bytes.extend_from_slice(body);
        bytes
    };
    let refused = |body: &[u8]| startup::split(&packet(body)).unwrap_err();
    assert_eq!(refused(b"\0\x03\0\0"), Error::StartupLayout);
    assert_eq!(refused(b"\0\x03\0\0user\0"), Error::StartupLayout);
    assert_eq!(refused(b"\0\x03\0\0user\0me\0"), Error::StartupLayout);
    assert_eq!(refused(b"\0\x03\0\0user\0me\0\0x"), Error::StartupLayout);
    assert_eq!(refused(b"\0\x03\0\0\xff\0me\0\0").sqlstate(), "22021");
    let latin = packet(b"\0\x03\0\0user\0me\0application_name\0gr\xfcn\0\0");
    let Ok(startup::Split::Packet(startup::Request::Session(session), _)) = startup::split(&latin)
    else {
        panic!("{latin:?}")
    };
    assert_eq!(session.parameter("application_name").as_deref(), Some("gr?n"));
    assert_eq!(refused(b"\x04\xd2\x16\x2e\0\0\0\x01"), Error::StartupLength);
    let old = refused(b"\0\x02\0\0user\0me\0\0");
    assert_eq!(old.to_string(), "unsupported frontend protocol 2.0: server supports 3.0 to 3.0");
    assert_eq!(old.sqlstate(), "0A000");
}

#[test]
fn text_that_is_not_utf8_names_its_bytes() {
    let says = |bytes: &[u8]| utf8(bytes).unwrap_err().to_string();
    let with = |bytes: &str| format!("invalid byte sequence for encoding \"UTF8\": {bytes}");
    assert_eq!(says(b"a\xff"), with("0xff"));
    assert_eq!(says(b"a\xe4b"), with("0xe4 0x62"));
    assert_eq!(says(b"\xf0\x9f\x98"), with("0xf0 0x9f 0x98"));
    assert_eq!(says(b"\xed\xa0\x80z"), with("0xed 0xa0 0x80"));
    assert_eq!(says(b"a\0\xff"), with("0x00"));
    assert_eq!(says(b"\xff\0"), with("0xff"));
    assert_eq!(utf8("größer".as_bytes()), Ok("größer"));
    assert_eq!(requests(b"Q\0\0\0\x07\xe4b\0").unwrap_err().to_string(), with("0xe4 0x62"));
}

/// A generator of its own, so that a failing seed fails again anywhere.
struct Xorshift(u64);

impl Xorshift {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as usize % limit
    }
}

/// Overwrites, removes, doubles and cuts at random places.
fn mutate(bytes: &mut Vec<u8>, random: &mut Xorshift) {
    const TELLING: [u8; 8] = [0, 1, 4, 0x7f, 0x80, 0xc3, 0xfe, 0xff];
    for _ in 0..=random.below(4) {
        if bytes.is_empty() {
            return;
        }
        let at = random.below(bytes.len());
        match random.below(5) {
            0 => bytes[at] = random.below(256) as u8,
            1 => bytes[at] = TELLING[random.below(TELLING.len())],
            2 => drop(bytes.remove(at)),
            3 => bytes.insert(at, bytes[at]),
            _ => bytes.truncate(at),
        }
    }
}

/// The case that runs: one that panics is told by its number.
struct Case(u64);

impl Drop for Case {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("case {0} does harm; WIRE_FUZZ_SEED={0} runs it alone", self.0);
        }
    }
}

/// A case is a pure function of its number. `WIRE_FUZZ_ROUNDS` sets how many there are,
/// `WIRE_FUZZ_SEED` runs the one of that number.
#[test]
fn mutated_messages_do_no_harm() {
    let number = |name: &str| std::env::var(name).ok().map(|n| n.parse::<u64>().unwrap());
    let alone = number("WIRE_FUZZ_SEED").map(|seed| seed..=seed);
    let seeds = alone.unwrap_or(1..=number("WIRE_FUZZ_ROUNDS").unwrap_or(300_000));
    let mut packet = Vec::new();
    let parameters = [("user", "me"), ("database", "größe"), ("_pq_.x", "")];
    startup::put_session(&mut packet, startup::PROTOCOL_3_0, parameters);
    let recorded = include_bytes!("postgres15.bin");
    let corpus = corpus();
    for seed in seeds {
        let _case = Case(seed);
        let mut random = Xorshift(seed);
        random.below(2);
        let mut bytes = corpus.clone();
        mutate(&mut bytes, &mut random);
        chew(&bytes);
        let mut bytes = packet.clone();
        mutate(&mut bytes, &mut random);
        chew_startup(&bytes);
        if seed % 8 == 0 {
            let mut bytes = recorded.to_vec();
            (0..8).for_each(|_| mutate(&mut bytes, &mut random));
            chew_replies(&bytes);
        }
    }
}

/// The limit is 1 MiB here.
#[test]
fn a_reply_beyond_the_limit_is_refused_and_taken_back() {
    const LARGE: usize = 600 << 10;
    let mut out = backend::Replies::new();
    out.parse_complete();
    let before = out.len();
    let mut row = out.data_row();
    row.value(&vec![1; LARGE]);
    row.value(&vec![2; LARGE]);
    let fault = row.finish().unwrap_err();
    assert_eq!(out.len(), before);
    assert_eq!((fault.sqlstate(), &*fault.to_string()), ("54000", "out of memory"));
    // As PostgreSQL tells it of two values of this size.
    let detail = "Cannot enlarge string buffer containing 614410 bytes by 614400 more bytes.";
    assert_eq!(fault.detail().as_deref(), Some(detail));

    let most = (1 << 20) - 7;
    for (size, fits) in [(most, true), (most + 1, false)] {
        let mut row = out.data_row();
        row.write(|buf| buf.resize(buf.len() + size, 0));
        assert_eq!(row.finish().is_ok(), fits, "{size}");
    }
    let before = out.len();
    assert!(out.copy_data(|buf| buf.resize(buf.len() + (1 << 20), 0)).is_err());
    assert_eq!(out.len(), before);
}
