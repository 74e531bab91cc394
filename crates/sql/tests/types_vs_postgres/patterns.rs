//! `to_char`, `to_number`, `to_date`, `to_timestamp`.

use sql::types::TypeId;

use crate::Comparison;
use crate::calls::call;

use TypeId as T;

const NUMBER_PATTERNS: &[&str] = &[
    "9",
    "99",
    "999",
    "9999999",
    "0",
    "00",
    "0999",
    "9990",
    "999.99",
    "999D99",
    "0.99",
    "9.9",
    "0.0",
    "FM999",
    "FM999.99",
    "FM0.99",
    "FM9.9",
    "FM990.99",
    "FM9990.009",
    "9,999",
    "9G999",
    "9,999.99",
    "FM9,999,999",
    "S999",
    "999S",
    "S9.99",
    "9.99S",
    "SG999",
    "999SG",
    "MI999",
    "999MI",
    "PL999",
    "999PL",
    "FM999MI",
    "FMPL999",
    "999PR",
    "FM999PR",
    "9.99PR",
    "L999",
    "999L",
    "RN",
    "FMRN",
    "rn",
    "999th",
    "999TH",
    "FM9th",
    "9V9",
    "99V99",
    "9.99EEEE",
    "9EEEE",
    "99.9EEEE",
    "B999",
    "B9.9",
    "\"text\"999",
    "99 99",
    "9x9",
    "999.",
    ".99",
    "FM.99",
    "D99",
    "",
    "FM",
    "9.9.9",
    "S9S",
    "S9MI",
    "9PR9",
    "V9.9",
    "EEEE9",
    "FM9EEEE",
    "9EEEEEEEE",
    "99999.0000",
    "FM99999.0000",
    "0,000",
    "FM0,000",
    "0009999.990000",
    "SG99PL",
    "999 \"a\\\"b\" 9",
    "999,999,999.999",
    "FM999,999,999.999",
    "PL9MI",
    "9.99MI",
    "0G000D0",
];

const NUMBERS: &[&str] = &[
    "0",
    "1",
    "-1",
    "12",
    "-12.5",
    "485",
    "1234.5678",
    "-0.1",
    "0.05",
    "0.999",
    "99999",
    "-123456",
    "4000",
];

fn numbers(c: &mut Comparison) {
    for pattern in NUMBER_PATTERNS {
        for number in NUMBERS {
            call(c, "to_char", &[(T::NUMERIC, number), (T::TEXT, pattern)]);
            call(c, "to_char", &[(T::FLOAT8, number), (T::TEXT, pattern)]);
            call(c, "to_char", &[(T::FLOAT4, number), (T::TEXT, pattern)]);
            if !number.contains('.') {
                call(c, "to_char", &[(T::INT4, number), (T::TEXT, pattern)]);
                call(c, "to_char", &[(T::INT8, number), (T::TEXT, pattern)]);
            }
        }
        for special in ["NaN", "Infinity", "-Infinity"] {
            if !pattern.to_ascii_lowercase().contains("rn") {
                call(c, "to_char", &[(T::NUMERIC, special), (T::TEXT, pattern)]);
                call(c, "to_char", &[(T::FLOAT8, special), (T::TEXT, pattern)]);
            }
        }
    }
    for (text, pattern) in [
        ("12,454.8-", "99G999D9S"),
        ("-34,338,492", "99G999G999"),
        ("$1,234.56", "L9,999.99"),
        ("12.5", "99.9"),
        ("-12", "S99"),
        ("12-", "99S"),
        ("<12>", "99PR"),
        ("+12", "99"),
        ("-12", "99"),
        ("1 2", "99"),
        ("abc", "999"),
        ("", "999"),
        ("12", ""),
        ("123.456", "999.99"),
        ("12345", "999"),
        ("0.5", "9.9"),
        (".5", "9.9"),
        ("5.", "9.9"),
        ("1,2,3", "9,9,9"),
        ("12", "9V9"),
        ("12", "RN"),
        ("1e5", "9EEEE"),
        ("-0.01", "9.99"),
        ("-.01", "9.99"),
        (".0", "99999999.99999999"),
        ("0", "99.99"),
        (" 12", "99"),
        ("12 ", "99"),
        ("-12.3", "MI99.9"),
        ("12.3-", "99.9MI"),
        ("+12.3", "PL99.9"),
        ("1st", "9th"),
        ("42nd", "99th"),
        ("x12", "x99"),
        ("12x", "99x"),
        ("00123", "99999"),
        ("$1234.56", "L99,999.99"),
        ("1234.56", "L99,999.99"),
    ] {
        call(c, "to_number", &[(T::TEXT, text), (T::TEXT, pattern)]);
    }
}

const DATE_PATTERNS: &[&str] = &[
    "YYYY-MM-DD HH24:MI:SS",
    "YYYY-MM-DD HH12:MI:SS AM",
    "DD Mon YYYY",
    "Day, DD Month YYYY",
    "DAY Dy dy D",
    "FMDay, FMDD FMMonth",
    "DDD",
    "FMDDD",
    "IYYY-IW-ID",
    "IDDD",
    "Q CC WW W",
    "J",
    "MS US",
    "FF1 FF2 FF3 FF4",
    "FF5 FF6",
    "SSSS SSSSS",
    "Y,YYY YYY YY Y",
    "IYY IY I",
    "RM rm FMRM",
    "HH HH12 HH24",
    "A.M. p.m. AM pm",
    "B.C. AD bc a.d.",
    "DDth Month YYYY",
    "DDTH",
    "FMDDth FMMMth",
    "HH24th",
    "TZ tz OF TZH TZM",
    "TZH:TZM",
    "\"today is\" Day",
    "YYYY\"y\"MM\"m\"",
    "MON mon MONTH month",
    "TMDay TMMonth TMMON",
    "yyyy-mm-dd",
    "FMHH:FMMI",
    "YYYYMMDD",
    "FX YYYY",
    "",
    "Dth",
    "Qth",
    "YYYYTH",
    "x\\\"y",
    "MIth SSth",
    "WWth IWth",
    "CCth",
    "YYYY-MM-DD\"T\"HH24:MI:SS.USOF",
];

fn dates_out(c: &mut Comparison) {
    for pattern in DATE_PATTERNS {
        for moment in [
            "2024-03-05 04:05:06.789",
            "1999-12-31 23:59:59.999999",
            "0044-03-15 12:00 BC",
            "2021-01-03 00:00",
            "0001-01-01 00:30",
            "12345-06-07 13:14:15",
            "2000-11-11 11:11:11.000012",
            "infinity",
        ] {
            call(c, "to_char", &[(T::TIMESTAMP, moment), (T::TEXT, pattern)]);
            call(c, "to_char", &[(T::TIMESTAMPTZ, moment), (T::TEXT, pattern)]);
        }
        for span in
            ["1 year 2 mons 3 days 04:05:06.789", "-13 mons -40 days -4:05:06.5", "0", "100:00"]
        {
            call(c, "to_char", &[(T::INTERVAL, span), (T::TEXT, pattern)]);
        }
    }
}

const READ_PATTERNS: &[(&str, &str)] = &[
    ("05 Dec 2000", "DD Mon YYYY"),
    ("2000-12-05", "YYYY-MM-DD"),
    ("20001205", "YYYYMMDD"),
    ("2000 12 5", "YYYY MM DD"),
    ("5/12/2000", "DD/MM/YYYY"),
    ("December 5 2000", "Month DD YYYY"),
    ("2000-341", "YYYY-DDD"),
    ("2000-49", "YYYY-WW"),
    ("2000-49-2", "IYYY-IW-ID"),
    ("2000-341", "IYYY-IDDD"),
    ("J2451884", "\"J\"J"),
    ("2451884", "J"),
    ("99", "YY"),
    ("69", "YY"),
    ("70", "YY"),
    ("995", "YYY"),
    ("5", "Y"),
    ("2,000", "Y,YYY"),
    ("20 99", "CC YY"),
    ("20", "CC"),
    ("44 BC", "YYYY BC"),
    ("44 AD", "YYYY AD"),
    ("2000-13-01", "YYYY-MM-DD"),
    ("2000-02-30", "YYYY-MM-DD"),
    ("abc", "YYYY"),
    ("2000", "MM"),
    ("", "YYYY"),
    ("2000-1-1 10:20:30", "YYYY-MM-DD HH24:MI:SS"),
    ("2000-1-1 10:20 PM", "YYYY-MM-DD HH12:MI PM"),
    ("2000-1-1 13:20 PM", "YYYY-MM-DD HH12:MI PM"),
    ("2000-1-1 12 AM", "YYYY-MM-DD HH AM"),
    ("2000-1-1 25:00", "YYYY-MM-DD HH24:MI"),
    ("1.5", "SS.MS"),
    ("1.25", "SS.MS"),
    ("1.025", "SS.US"),
    ("12:34:56.789", "HH24:MI:SS.FF3"),
    ("86399", "SSSS"),
    ("2000-1-1 +05:30", "YYYY-MM-DD TZH:TZM"),
    ("2000-1-1 -08", "YYYY-MM-DD TZH"),
    ("2000-1-1 +16", "YYYY-MM-DD TZH"),
    ("2000 UTC", "YYYY TZ"),
    ("XII 2000", "RM YYYY"),
    ("iv 2000", "rm YYYY"),
    ("Mon 2000", "Dy YYYY"),
    ("Foo 2000", "Mon YYYY"),
    ("2000 Jun", "YYYY MON"),
    ("2000/Jun-5", "YYYY/Mon-DD"),
    ("2000  Jun", "YYYY Mon"),
    ("2000Jun", "YYYYMon"),
    ("2000 Jun", "YYYYMon"),
    ("2000-Jun", "YYYY Mon"),
    ("1-1-2000", "FMDD-FMMM-YYYY"),
    ("1st Jan", "DDth Mon"),
    ("2000 1 2", "FXYYYY MM DD"),
    ("2000 01 02", "FXYYYY MM DD"),
    ("2000-01-02x", "YYYY-MM-DD"),
    ("2000 2001", "YYYY YYYY"),
    ("2000 49 12", "YYYY IW MM"),
    ("2 2000", "Q YYYY"),
    ("3 2000", "W YYYY"),
    ("99999999999", "YYYY"),
    ("-44", "YYYY"),
    ("-5 1", "YYYY MM"),
    ("2000..12", "YYYY.MM"),
    ("2000 12", "YYYY..MM"),
    ("12", "\"x\"DD"),
    ("x12", "\"x\"DD"),
    ("2020-2-29", "YYYY-MM-DD"),
    ("366", "DDD"),
    ("2021-366", "YYYY-DDD"),
    ("10 20", "HH24 HH24"),
    ("0", "YYYY"),
    ("2000 0 0", "YYYY MM DD"),
    ("19:00 2000", "SS:MI YYYY"),
    ("2000-06-15 Thursday", "YYYY-MM-DD Day"),
    ("20-20", "YY-MM"),
    ("5874898-01-01", "YYYY-MM-DD"),
    ("1 4 1902", "Q MM YYYY"),
    ("20000-1116", "YYYY-MMDD"),
    ("9-1116", "Y-MMDD"),
    ("95-1116", "YY-MMDD"),
];

fn dates_in(c: &mut Comparison) {
    for (text, pattern) in READ_PATTERNS {
        call(c, "to_date", &[(T::TEXT, text), (T::TEXT, pattern)]);
        call(c, "to_timestamp", &[(T::TEXT, text), (T::TEXT, pattern)]);
    }
}

pub fn run(c: &mut Comparison) {
    numbers(c);
    dates_out(c);
    dates_in(c);
    c.set("SET timezone = 'America/St_Johns'");
    c.ours.format.time_zone = sql::types::TimeZone::named("America/St_Johns").unwrap();
    dates_out(c);
    dates_in(c);
    c.set("SET timezone = 'UTC'");
    c.ours.format.time_zone = sql::types::TimeZone::utc();
}
