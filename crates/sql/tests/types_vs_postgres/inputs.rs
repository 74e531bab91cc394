//! Text to value to text, and the binary form, for every type.

use sql::types::{TypeId, TypeMod, format_type, type_info};

use crate::server::Answer;
use crate::{Comparison, literal};

/// A text through a type's input and output, and through its send function.
pub fn check(c: &mut Comparison, type_id: TypeId, typmod: TypeMod, text: &str) {
    let name = format_type(type_id, typmod);
    let ours = c.ours.round_trip(type_id, typmod, text);
    let valid = matches!(ours, Answer::Text(_));
    // A cast to a type with a length is explicit and would cut; the input function, which
    // assignment uses, refuses.
    let info = type_info(type_id).unwrap();
    let sql = if typmod.is_some() {
        format!("SELECT {}({}::cstring, 0, {})", info.input, literal(text), typmod.0)
    } else {
        format!("SELECT {}::{name}", literal(text))
    };
    c.compare("input and output", &sql, ours);
    if valid && !typmod.is_some() && !info.send.is_empty() && info.kind == b'b' {
        let binary = c.ours.binary(type_id, text).unwrap();
        let sql = format!("SELECT encode({}({}::{name}), 'hex')", info.send, literal(text));
        c.compare("binary", &sql, Answer::Text(binary));
    }
}

fn check_all(c: &mut Comparison, types: &[TypeId], texts: &[&str]) {
    for type_id in types {
        for text in texts {
            check(c, *type_id, TypeMod::NONE, text);
        }
    }
}

const INTEGERS: &[&str] = &[
    "0",
    "1",
    "-1",
    " 12 ",
    "+7",
    "32767",
    "32768",
    "-32768",
    "-32769",
    "2147483647",
    "2147483648",
    "-2147483648",
    "-2147483649",
    "9223372036854775807",
    "9223372036854775808",
    "-9223372036854775808",
    "-9223372036854775809",
    "",
    " ",
    "x",
    "1x",
    "1 2",
    "--1",
    "+",
    "-",
    "0x10",
    "1.5",
    "1e3",
    "99999999999999999999x",
    "\t5\n",
    "4294967295",
    "4294967296",
    "1_000",
];

const FLOATS: &[&str] = &[
    "0",
    "-0",
    "1",
    "-1.5",
    ".5",
    "5.",
    "1e10",
    "1E-10",
    "1e15",
    "1e14",
    "123456789012345",
    "1234567890123456",
    "0.0001",
    "0.00001",
    "1e308",
    "1e309",
    "-1e309",
    "1e-400",
    "1e-320",
    "5e-324",
    "1e38",
    "1e39",
    "1e-45",
    "1e-46",
    "3.4028235e38",
    "3.4028236e38",
    "NaN",
    "nan",
    "Infinity",
    "-inf",
    "+Infinity",
    "inf",
    "infinit",
    "1e",
    "e5",
    ".",
    "1.2.3",
    " 42 ",
    "1 2",
    "",
    "  ",
    "0x1p3",
    "0x10",
    "1e23",
    "8.41e21",
    "9007199254740993",
    "2.2250738585072011e-308",
    "123456",
    "1234567",
    "0.1",
    "0.3",
    "1.1e-7",
    "100000",
    "1000000",
    "9.5367431640625e-7",
    "8589973000",
    "33554432",
    "16777216",
    "16777217",
];

const NUMERICS: &[&str] = &[
    "0",
    "-0",
    "0.00",
    "1",
    "-1",
    "1.0",
    "1.50",
    "+3",
    ".5",
    "5.",
    "00012.300",
    "1e3",
    "1.5e-3",
    "1E+5",
    "-1.5e5",
    "12345678901234567890.123456789",
    "0.000000000000000000001",
    "1e-50",
    "1e50",
    "NaN",
    "nan",
    "Infinity",
    "-Infinity",
    "inf",
    "-inf",
    "+inf",
    "",
    " ",
    ".",
    "e5",
    "1e",
    "1e+",
    "1.2.3",
    "x",
    "1x",
    "- 1",
    " 7 ",
    "1e99999",
    "1e131071",
    "1e131072",
    "1e-16383",
    "1e-16384",
    "1e1000000000",
    "1e-1000000000",
    "1e2147483648",
    "10000",
    "99999999",
    "0.0001",
    "0.00010000",
    "100000000.00000001",
];

const BOOLEANS: &[&str] = &[
    "t", "f", "true", "false", "TRUE", " yes ", "no", "y", "n", "on", "off", "of", "o", "1", "0",
    "tr", "fals", "2", "", "truee", "10",
];

const UUIDS: &[&str] = &[
    "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11",
    "{A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11}",
    "a0eebc999c0b4ef8bb6d6bb9bd380a11",
    "a0ee-bc99-9c0b-4ef8-bb6d-6bb9-bd38-0a11",
    "a0ee-bc999c0b4ef8bb6d6bb9bd380a11",
    "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a1",
    "x",
    "{a0eebc999c0b4ef8bb6d6bb9bd380a11",
    "a0eebc999c0b4ef8bb6d6bb9bd380a11}",
    "",
    "a0eebc999c0b4ef8bb6d6bb9bd380a11-",
];

const BYTEAS: &[&str] = &[
    "",
    "abc",
    "\\x",
    "\\xDEADbeef",
    "\\xde ad",
    "\\xd",
    "\\xgg",
    "a\\\\b",
    "\\000\\377",
    "\\400",
    "a\\",
    "\\x 12",
    "ä",
    "\\xä",
    "a\\12",
    "'",
];

const ARRAYS: &[&str] = &[
    "{}",
    "{1,2,3}",
    "{ 1 , 2 }",
    "{{1,2},{3,4}}",
    "{NULL,1}",
    "{null}",
    "{\"1\",2}",
    "[2:4]={1,2,3}",
    "[0:1][1:2]={{1,2},{3,4}}",
    "[1:2]={1}",
    "{1,2",
    "1,2}",
    "{1,,2}",
    "{,1}",
    "{1,}",
    "{{1},{2,3}}",
    "{{1},2}",
    "{1,{2}}",
    "{{}}",
    "{{},{}}",
    "",
    " {1} ",
    "{1}x",
    "{1} x",
    "x{1}",
    "[1:0]={}",
    "[1]={1}",
    "[3]={1,2,3}",
    "[a:b]={1}",
    "[1:2={1,2}",
    "[1:2]{1,2}",
    "[1:2]= {1,2}",
    "[-2:-1]={1,2}",
    "{a}",
    "{1 2}",
    "{\"a\"b}",
    "{a\"b\"}",
    "{{{{{{1}}}}}}",
    "{{{{{{{1}}}}}}}",
    "[+1:2]={1,2}",
    "[:2]={1,2}",
    "{\\1}",
    "{1\\2}",
    "{\"1}",
    "{99999999999}",
];

const TEXT_ARRAYS: &[&str] = &[
    "{a,b}",
    "{\"a b\",\"c,d\"}",
    "{a b , c }",
    "{\"\"}",
    "{NULL,\"NULL\",null}",
    "{\"a\\\"b\"}",
    "{a\\,b}",
    "{\"\\\\\"}",
    "{ä,ö}",
    "{{a,b},{c,d}}",
    "{\\ a,b\\ }",
    "{\" a \"}",
    "{NuLL}",
    "{a\\b}",
    "{\\N\\U\\L\\L}",
];

const JSONS: &[&str] = &[
    "{}",
    "[]",
    "null",
    "true",
    "1",
    "-1.5e10",
    "\"a\"",
    "{\"a\":1,\"b\":[1,2,{}]}",
    " [1 , 2] ",
    "{",
    "[",
    "]",
    "}",
    "{\"a\"}",
    "{\"a\":}",
    "{\"a\":1,}",
    "[1,]",
    "[,1]",
    "{1:2}",
    "tru",
    "01",
    "1.",
    ".5",
    "-",
    "\"a",
    "\"\\x\"",
    "\"\\u12\"",
    "\"\\u0041\"",
    "{} x",
    "[1 2]",
    "{\"a\" 1}",
    "nul",
    "\"a\tb\"",
    "",
    "   ",
    "[[[]]]",
    "{\"a\":{\"b\":{\"c\":null}}}",
    "abc",
    "1 2",
    "{\"a\":1 \"b\":2}",
    "[1,\n2,\n x]",
    "{\"a\": \"this is a long string\", \"b\": \"and another long one here\", x}",
];

const ADDRESSES: &[&str] = &[
    "1.2.3.4",
    "1.2.3.4/24",
    "10.1/16",
    "10/8",
    "10",
    "192.168.1",
    "0.0.0.0/0",
    "255.255.255.255/32",
    "256.1.1.1",
    "1.2.3",
    "1.2.3.4.5",
    "1.2.3.4/33",
    "01.002.3.4",
    "::",
    "::/0",
    "::1",
    "::1/128",
    "::1/129",
    "1:2:3:4:5:6:7:8/64",
    "2001:DB8::/32",
    "::ffff:1.2.3.4",
    "::1.2.3.4/96",
    "1::2::3",
    "1:2",
    ":1",
    "g::",
    "",
    " 1.2.3.4",
    "x",
];

const OIDS: &[&str] = &[
    "0",
    "1",
    "4294967295",
    "4294967296",
    "-1",
    "-2147483648",
    "-2147483649",
    "",
    "x",
    "1x",
    " 5 ",
    "99999999999999999999",
];

pub fn run(c: &mut Comparison) {
    check_all(c, &[TypeId::INT2, TypeId::INT4, TypeId::INT8], INTEGERS);
    check_all(c, &[TypeId::FLOAT4, TypeId::FLOAT8], FLOATS);
    check_all(c, &[TypeId::NUMERIC], NUMERICS);
    check_all(c, &[TypeId::BOOL], BOOLEANS);
    check_all(c, &[TypeId::UUID], UUIDS);
    check_all(c, &[TypeId::BYTEA], BYTEAS);
    check_all(c, &[TypeId::OID], OIDS);
    check_all(c, &[TypeId::JSON, TypeId::JSONB], JSONS);
    check_all(c, &[TypeId::INET, TypeId::CIDR], ADDRESSES);
    check_all(c, &[TypeId::INT4_ARRAY, TypeId::INT8_ARRAY, TypeId::NUMERIC_ARRAY], ARRAYS);
    check_all(c, &[TypeId::TEXT_ARRAY, TypeId::VARCHAR_ARRAY], TEXT_ARRAYS);
    check_all(c, &[TypeId::BOOL_ARRAY], &["{t,f}", "{true,NULL}", "{x}"]);
    check_all(c, &[TypeId::INT2VECTOR, TypeId::OIDVECTOR], &["1 2 3", " 1  2 ", "1 x", "70000"]);
    check_all(c, &[TypeId::CHAR], &["a", "", "abc", "\\303", "\\400", "ä"]);
    check_all(
        c,
        &[TypeId::TID],
        &["(1,2)", "(0,0)", "(1,70000)", "1,2", "(1)", "(4294967295,65535)"],
    );
    check_all(
        c,
        &[TypeId::PG_LSN],
        &["0/0", "16/B374D848", "FFFFFFFF/FFFFFFFF", "G/0", "0", "123456789/0"],
    );
    check_all(c, &[TypeId::XID, TypeId::CID, TypeId::XID8], &["0", "12", "4294967295"]);
    let long = "x".repeat(70);
    let umlauts = "ä".repeat(40);
    check_all(
        c,
        &[TypeId::TEXT, TypeId::VARCHAR, TypeId::NAME],
        &["", "a", " a ", "äöü€😀", "it's", "a\\b", "\t\n", &long, &umlauts],
    );
    lengths(c);
    precisions(c);
    bytea_escape(c);
    float_digits(c);
    random_numbers(c);
}

fn lengths(c: &mut Comparison) {
    for text in ["", "a", "abc", "abcd", "abc  ", "abcde", "äöü", "äöüß", "ab   "] {
        for n in [1, 3, 4, 10] {
            check(c, TypeId::VARCHAR, TypeMod::for_length(n), text);
            check(c, TypeId::BPCHAR, TypeMod::for_length(n), text);
        }
    }
}

fn precisions(c: &mut Comparison) {
    let typmods =
        [(5, 2), (5, 0), (1, 0), (3, 3), (3, 5), (2, -3), (10, 4), (1000, 500), (4, -2), (2, 4)];
    for (precision, scale) in typmods {
        for text in [
            "0",
            "1",
            "-1",
            "12.345",
            "999.995",
            "999.994",
            "0.001234",
            "0.00099999",
            "12345",
            "99499",
            "99500",
            "NaN",
            "Infinity",
            "-Infinity",
            "0.9995",
            "1e400",
            "49",
            "50",
            "0.0005",
        ] {
            check(c, TypeId::NUMERIC, TypeMod::for_numeric(precision, scale), text);
        }
    }
}

fn bytea_escape(c: &mut Comparison) {
    c.set("SET bytea_output = 'escape'");
    c.ours.format.bytea_output = sql::types::context::ByteaOutput::Escape;
    check_all(c, &[TypeId::BYTEA], &["\\x00ff5c41", "abc", "a\\\\b", "\\x7f80"]);
    c.set("RESET bytea_output");
    c.ours.format.bytea_output = sql::types::context::ByteaOutput::Hex;
}

fn float_digits(c: &mut Comparison) {
    for digits in [-15, -10, -5, 0, 1, 2, 3] {
        c.set(&format!("SET extra_float_digits = {digits}"));
        c.ours.format.extra_float_digits = digits;
        for text in
            ["0.1", "1e23", "123456789.123456789", "1e100", "0.000012345", "-7", "1e15", "99999999"]
        {
            check(c, TypeId::FLOAT8, TypeMod::NONE, text);
            if text != "1e100" {
                check(c, TypeId::FLOAT4, TypeMod::NONE, text);
            }
        }
    }
    c.set("RESET extra_float_digits");
    c.ours.format.extra_float_digits = 1;
}

fn random_numbers(c: &mut Comparison) {
    for _ in 0..600 {
        let bits = c.next();
        let value = f64::from_bits(bits);
        if value.is_finite() {
            check(c, TypeId::FLOAT8, TypeMod::NONE, &format!("{value:e}"));
        }
        let value = f32::from_bits(bits as u32);
        if value.is_finite() {
            check(c, TypeId::FLOAT4, TypeMod::NONE, &format!("{value:e}"));
        }
        // Integers beyond 2^53 are where shortest forms meet their bounds.
        let shift = c.below(64);
        check(c, TypeId::FLOAT8, TypeMod::NONE, &(bits >> shift).to_string());
        check(c, TypeId::FLOAT4, TypeMod::NONE, &(bits >> shift).to_string());
        let text = random_numeric(c);
        check(c, TypeId::NUMERIC, TypeMod::NONE, &text);
    }
}

/// A numeric of up to 40 digits on either side of the point.
pub fn random_numeric(c: &mut Comparison) -> String {
    let mut text = String::new();
    if c.below(3) == 0 {
        text.push('-');
    }
    let most = if c.below(4) == 0 { 40 } else { 8 };
    let whole = c.below(most);
    for _ in 0..whole {
        let digit = c.below(10);
        text.push_str(&digit.to_string());
    }
    let most = if c.below(4) == 0 { 40 } else { 6 };
    let fraction = c.below(most);
    if fraction > 0 || whole == 0 {
        text.push('.');
        for _ in 0..fraction.max(1) {
            let digit = if c.below(3) == 0 { 0 } else { c.below(10) };
            text.push_str(&digit.to_string());
        }
    }
    text
}
