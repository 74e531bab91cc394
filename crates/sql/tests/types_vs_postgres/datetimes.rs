//! Dates, times and intervals: every style in and out, zones, arithmetic.

use sql::types::context::{DateOrder, DateStyle, IntervalStyle};
use sql::types::{TimeZone, TypeId, TypeMod};

use crate::calls::{call, operator};
use crate::{Comparison, inputs};

const DATES: &[&str] = &[
    "1999-01-08",
    "January 8, 1999",
    "1/8/1999",
    "1/18/1999",
    "18/1/1999",
    "01/02/03",
    "1999-Jan-08",
    "Jan-08-1999",
    "08-Jan-1999",
    "99-Jan-08",
    "08-Jan-99",
    "Jan-08-99",
    "19990108",
    "990108",
    "1999.008",
    "J2451187",
    "January 8, 99 BC",
    "epoch",
    "infinity",
    "-infinity",
    "1999-13-01",
    "1999-02-29",
    "2000-02-29",
    "1999-02-30",
    "0000-01-01",
    "0001-01-01",
    "4714-11-24 BC",
    "4714-11-23 BC",
    "5874897-12-31",
    "5874898-01-01",
    "1999-1-8",
    "1999/01/08",
    "1999 01 08",
    "8 Jan 1999",
    "Jan 8 1999",
    "1999 Jan 8",
    "99 8 Jan",
    "1999-01",
    "1999",
    "Jan",
    "",
    " ",
    "x",
    "2024-060",
    "2024.366",
    "Monday, 8 January 1999",
    "Mon Jan 8 1999",
    "1999-01-08 BC",
    "1999-01-08 AD",
    "2000-W01-1",
    "1999-01-08T04:05:06",
    "20240230",
    "allballs",
    "12:00",
    "2024-1-1 25:00",
    "1-2-3",
    "1-2-03",
    "31-12-1999",
    "12-31-1999",
    "1999-31-12",
    "10-10-10",
    "100-10-10",
    "5-Feb-5",
    "today 1",
    "1999-01-08 j",
    "d 8 m 1 y 1999",
    "y1999m1d8",
    "+1999-01-08",
    "-1999-01-08",
    "1999-01-08-05",
    "1999-01-08+05",
    "J0",
    "J-1",
    "julian 2451187",
    "2024-Feb-30",
    "30 Feb 2024",
    "2024-02-29 extra",
    "99/1/1",
    "1/99/1",
    "1.2.2003",
    "01.02.03",
    "99.01.02",
];

const TIMES: &[&str] = &[
    "04:05:06.789",
    "04:05:06",
    "04:05",
    "040506",
    "0405",
    "04:05 AM",
    "04:05 PM",
    "12:00 AM",
    "12:00 PM",
    "04:05:06.789-8",
    "04:05:06-08:00",
    "04:05-08:00",
    "040506-08",
    "04:05:06 PST",
    "2003-04-12 04:05:06 America/New_York",
    "24:00:00",
    "24:00:01",
    "23:59:60",
    "23:59:59.9999999",
    "25:00",
    "04:60",
    "04:05:61",
    "13:00 PM",
    "13:00 AM",
    "now 1",
    "allballs",
    "04:05:06.7891234567",
    "",
    "x",
    "4:5:6",
    "4",
    "400",
    "4.5",
    "10:",
    ":10",
    "10:20:",
    "10:20:30.",
    "T040506",
    "T04:05:06",
    "04:05:06 EST",
    "04:05:06 America/New_York",
    "04:05:06 UTC",
    "04:05:06 +05:30",
    "04:05:06 +15:59",
    "04:05:06 +16",
    "04:05:06 Etc/GMT+3",
    "4am",
    "4 am",
    "4:05:06.5pm",
    "h4",
    "4h",
    "4:05 mm",
    "04:05:06 zulu",
    "04:05:06Z",
    "04:05:06 dst",
    "04:05:06 EST DST",
    "04.05",
    "040506.5",
    "12345",
    "1234567",
];

const TIMESTAMPS: &[&str] = &[
    "1999-01-08 04:05:06",
    "1999-01-08 04:05:06 -8:00",
    "January 8 04:05:06 1999 PST",
    "1999-01-08T04:05:06Z",
    "1999-01-08t04:05:06+02",
    "19990108T040506",
    "19990108 040506",
    "1999-01-08 04:05:06.123456789",
    "1999-01-08 24:00:00",
    "1999-01-08 24:00:01",
    "1999-01-08 23:59:60",
    "epoch",
    "infinity",
    "-infinity",
    "4714-11-24 00:00:00 BC",
    "4714-11-23 23:59:59 BC",
    "294276-12-31 23:59:59.999999",
    "294277-01-01",
    "1999-01-08",
    "Mon Jan 08 04:05:06 1999",
    "Mon Jan 08 04:05:06.5 1999 EST",
    "1999-01-08 04:05 PM",
    "1999-01-08 04:05:06 BC",
    "2024-03-10 02:30 America/New_York",
    "2024-11-03 01:30 America/New_York",
    "2024-03-31 02:30 Europe/Berlin",
    "1999-01-08 04:05:06 Mars/Olympus",
    "1999-01-08 04:05:06 XYZ",
    "1999-01-08 04:05:06 MSK",
    "2012-01-08 04:05:06 MSK",
    "1999-01-08 04:05:06 +99",
    "",
    "1999-01-08 04",
    "1999-01-08 0405",
    "1999-01-08 04:05:06 +5:30:15",
    "J2451187 04:05:06",
    "J2451187.5",
    "1999.008 04:05:06",
    "04:05:06 1999-01-08",
    "04:05:06 Jan 8 1999",
    "Jan 8 04:05 1999",
    "1999-01-08 allballs",
    "1999-01-08 now",
    "x",
    "1999-01-08 04:05:06 x",
    "1999-01-08  04 : 05",
    "1999-01-08 T256161",
    "1999-01-08 04:05:06.5.5",
    "2024-02-30 00:00",
    "1/2/2024 3:04",
    "2024-01-01 00:00:00 EST5EDT",
    "2024-01-01 00:00:00 <+03>-3",
    "2024-01-01 MET DST",
    "2024-01-01 10:00 CET DST",
    "1999-01-08 04:05:06 +0530",
    "1999-01-08 04:05:06+053",
    "99-01-08 04:05",
    "Thu, 08 Jan 1999 04:05:06 GMT",
    "1999-01-08 04:05:06,5",
    "1999-01-08_04:05:06",
    "20000101 12:34:56.5 PM",
    "0099-01-01",
    "00-01-01",
    "1999-1-8 4:5:6",
    "2024-01-01 12:00 AM",
    "1 second",
    "2024 January 1",
    "year 2024 month 3 day 5",
    "12/31/1999 11:59:59.999999 PM",
];

const INTERVALS: &[&str] = &[
    "1 day",
    "1 year 2 months 3 days 04:05:06",
    "1-2",
    "3 4:05:06",
    "1-2 3 4:05:06",
    "-1-2 +3 -4:05:06",
    "P1Y2M3DT4H5M6S",
    "P0001-02-03T04:05:06",
    "P00010203T040506",
    "PT1.5H",
    "P1.5Y",
    "P1.5M",
    "P1W",
    "P",
    "PT",
    "P1Y1",
    "1.5 years",
    "1.5 months",
    "1.5 days",
    "1.5 weeks",
    "1.5 hours",
    "-1.5 days",
    "1 day ago",
    "-1 day +02:03",
    "1 day -02:03:04.5",
    "@ 1 minute",
    "1 hour 30 min 5 sec",
    "12:34",
    "12:34.5",
    "12:34:56.789",
    "1",
    "1.5",
    "-1",
    "1 century 2 decades",
    "1 millennium",
    "2 mils 3 cent",
    "1 quarter",
    "5 microseconds",
    "5 us",
    "1500 ms",
    "1.23456789 sec",
    "",
    "x",
    "1 x",
    "day",
    "1 day 1 day",
    "1 day 2 hours 1 day",
    "100000000 years",
    "178956970 years 7 months",
    "178956970 years 8 months",
    "2147483647 months",
    "2147483648 months",
    "-2147483648 days",
    "2147483648 days",
    "2562047788:00:54.775807",
    "2562047788:00:54.775808",
    "9223372036854775807 us",
    "9223372036854775808 us",
    "1 day ago 1",
    "ago",
    "0",
    "0 days",
    "1mon 1d 1h",
    "1y2m",
    "1 m",
    "1 mon 1 min",
    "1e3 days",
    "1 day 12",
    "1 12",
    "1-13",
    "1-2-3",
    "- 1 day",
    "+1 day",
    "1 day,2 hours",
    "infinity",
    "1 week 3 days",
    "0.5 month",
    "0.123456 month",
    "-0.5 year",
    "1.9999999 sec",
    "P-1Y-2M",
    "P1Y-2M",
    "PT-1H",
    "P1DT",
    "P1T",
    "p1y",
    "PT1H30",
    "P1Y2M10DT2H30M",
    "-P1Y",
    "00:00:00.0000005",
    "00:00:00.0000015",
    "1 sec 1000000 us",
    "1 min 60 sec",
    "23:60",
    "23:59:61",
    "1 year 1 decade",
    "1 day 25:00:00",
    "3000000000 sec",
    "1 timezone",
    "1 2 3",
];

const INTERVAL_TYPMODS: &[i32] = &[
    // precision only: (0), (3); year, month, day, hour, minute, second, year to month,
    // day to hour, day to minute, day to second, hour to second(2), minute to second
    0x7fff << 16,
    0x7fff << 16 | 3,
    1 << 2 << 16 | 0xffff,
    1 << 1 << 16 | 0xffff,
    1 << 3 << 16 | 0xffff,
    1 << 10 << 16 | 0xffff,
    1 << 11 << 16 | 0xffff,
    1 << 12 << 16 | 0xffff,
    (1 << 2 | 1 << 1) << 16 | 0xffff,
    (1 << 3 | 1 << 10) << 16 | 0xffff,
    (1 << 3 | 1 << 10 | 1 << 11) << 16 | 0xffff,
    (1 << 3 | 1 << 10 | 1 << 11 | 1 << 12) << 16 | 0xffff,
    (1 << 10 | 1 << 11 | 1 << 12) << 16 | 2,
    (1 << 11 | 1 << 12) << 16 | 0xffff,
];

const ZONES: &[&str] = &[
    "UTC",
    "America/New_York",
    "Europe/Berlin",
    "Asia/Kolkata",
    "Australia/Lord_Howe",
    "America/St_Johns",
    "Pacific/Apia",
    "<+03:30>-3:30",
    "EST5EDT,M3.2.0,M11.1.0",
];

pub fn run(c: &mut Comparison) {
    for (style, order, name) in [
        (DateStyle::Iso, DateOrder::Mdy, "ISO, MDY"),
        (DateStyle::Iso, DateOrder::Dmy, "ISO, DMY"),
        (DateStyle::Iso, DateOrder::Ymd, "ISO, YMD"),
        (DateStyle::Sql, DateOrder::Mdy, "SQL, MDY"),
        (DateStyle::Sql, DateOrder::Dmy, "SQL, DMY"),
        (DateStyle::Postgres, DateOrder::Mdy, "Postgres, MDY"),
        (DateStyle::Postgres, DateOrder::Dmy, "Postgres, DMY"),
        (DateStyle::German, DateOrder::Dmy, "German, DMY"),
    ] {
        c.set(&format!("SET datestyle = '{name}'"));
        c.ours.format.date_style = style;
        c.ours.format.date_order = order;
        for zone in ["UTC", "America/New_York"] {
            set_zone(c, zone);
            texts(c);
        }
    }
    c.set("SET datestyle = 'ISO, MDY'");
    c.ours.format.date_style = DateStyle::Iso;
    c.ours.format.date_order = DateOrder::Mdy;
    set_zone(c, "UTC");
    intervals(c);
    random_moments(c);
    set_zone(c, "America/New_York");
    arithmetic(c);
    set_zone(c, "UTC");
    arithmetic(c);
    fields(c);
}

fn set_zone(c: &mut Comparison, zone: &str) {
    c.set(&format!("SET timezone = '{zone}'"));
    c.ours.format.time_zone = TimeZone::named(zone).unwrap();
}

fn texts(c: &mut Comparison) {
    for text in DATES {
        inputs::check(c, TypeId::DATE, TypeMod::NONE, text);
        inputs::check(c, TypeId::TIMESTAMP, TypeMod::NONE, text);
    }
    for text in TIMES {
        inputs::check(c, TypeId::TIME, TypeMod::NONE, text);
        // Without a date the zone's displacement depends on the day, which is today for us both
        // only by accident.
        if c.ours.format.time_zone.name() == "UTC" {
            inputs::check(c, TypeId::TIMETZ, TypeMod::NONE, text);
        }
    }
    for text in TIMESTAMPS {
        if text.contains("now") {
            continue;
        }
        inputs::check(c, TypeId::TIMESTAMP, TypeMod::NONE, text);
        inputs::check(c, TypeId::TIMESTAMPTZ, TypeMod::NONE, text);
        inputs::check(c, TypeId::DATE, TypeMod::NONE, text);
        for precision in [0, 3] {
            inputs::check(c, TypeId::TIMESTAMP, TypeMod(precision), text);
        }
    }
}

fn intervals(c: &mut Comparison) {
    for (style, name) in [
        (IntervalStyle::Postgres, "postgres"),
        (IntervalStyle::PostgresVerbose, "postgres_verbose"),
        (IntervalStyle::SqlStandard, "sql_standard"),
        (IntervalStyle::Iso8601, "iso_8601"),
    ] {
        c.set(&format!("SET intervalstyle = '{name}'"));
        c.ours.format.interval_style = style;
        for text in INTERVALS {
            inputs::check(c, TypeId::INTERVAL, TypeMod::NONE, text);
        }
        for _ in 0..150 {
            let (months, days) = (c.below(40) as i32 - 20, c.below(80) as i32 - 40);
            let micros = c.next() as i64 >> (c.below(50) + 10);
            let text = format!("{months} mons {days} days {micros} us");
            inputs::check(c, TypeId::INTERVAL, TypeMod::NONE, &text);
        }
    }
    c.set("SET intervalstyle = 'postgres'");
    c.ours.format.interval_style = IntervalStyle::Postgres;
    for typmod in INTERVAL_TYPMODS {
        for text in INTERVALS.iter().take(50) {
            inputs::check(c, TypeId::INTERVAL, TypeMod(*typmod), text);
        }
    }
}

/// A moment anywhere between 1850 and 2150, or anywhere at all.
fn random_moment(c: &mut Comparison) -> String {
    let year = if c.below(5) == 0 { 1 + c.below(20_000) } else { 1850 + c.below(300) };
    let (month, day) = (1 + c.below(12), 1 + c.below(28));
    let (hour, minute, second) = (c.below(24), c.below(60), c.below(60));
    let fraction = if c.below(2) == 0 { c.below(1_000_000) } else { 0 };
    format!("{year:04}-{month:02}-{day:02} {hour:02}:{minute:02}:{second:02}.{fraction:06}")
}

fn random_interval(c: &mut Comparison) -> String {
    let (months, days) = (c.below(60) as i64 - 30, c.below(90) as i64 - 45);
    let seconds = c.below(400_000) as i64 - 200_000;
    format!("{months} mons {days} days {seconds} sec")
}

fn random_moments(c: &mut Comparison) {
    for zone in ZONES {
        set_zone(c, zone);
        for _ in 0..120 {
            let text = random_moment(c);
            inputs::check(c, TypeId::TIMESTAMPTZ, TypeMod::NONE, &text);
            inputs::check(c, TypeId::TIMESTAMPTZ, TypeMod::NONE, &format!("{text}+00"));
        }
    }
    set_zone(c, "UTC");
}

fn arithmetic(c: &mut Comparison) {
    use TypeId as T;
    for _ in 0..150 {
        let (a, b) = (random_moment(c), random_moment(c));
        let (span, other) = (random_interval(c), random_interval(c));
        let date = &a[..a.find(' ').unwrap()];
        let days = (c.below(100_000) as i64 - 50_000).to_string();
        let factor = format!("{}", (c.below(2000) as f64 - 1000.0) / 128.0);
        for (type_id, moment) in [(T::TIMESTAMP, &a), (T::TIMESTAMPTZ, &a)] {
            operator(c, "+", &[(type_id, moment), (T::INTERVAL, &span)]);
            operator(c, "-", &[(type_id, moment), (T::INTERVAL, &span)]);
            operator(c, "-", &[(type_id, moment), (type_id, &b)]);
            operator(c, "<", &[(type_id, moment), (T::DATE, date)]);
            call(c, "age", &[(type_id, moment), (type_id, &b)]);
        }
        operator(c, "<=", &[(T::TIMESTAMP, &a), (T::TIMESTAMPTZ, &b)]);
        operator(c, "+", &[(T::DATE, date), (T::INT4, &days)]);
        operator(c, "-", &[(T::DATE, date), (T::DATE, &b[..b.find(' ').unwrap()])]);
        operator(c, "+", &[(T::DATE, date), (T::INTERVAL, &span)]);
        operator(c, "+", &[(T::INTERVAL, &span), (T::INTERVAL, &other)]);
        operator(c, "-", &[(T::INTERVAL, &span), (T::INTERVAL, &other)]);
        operator(c, "<", &[(T::INTERVAL, &span), (T::INTERVAL, &other)]);
        operator(c, "*", &[(T::INTERVAL, &span), (T::FLOAT8, &factor)]);
        operator(c, "/", &[(T::INTERVAL, &span), (T::FLOAT8, &factor)]);
        call(c, "justify_hours", &[(T::INTERVAL, &span)]);
        call(c, "justify_days", &[(T::INTERVAL, &span)]);
        call(c, "justify_interval", &[(T::INTERVAL, &span)]);
        let time = &a[a.find(' ').unwrap() + 1..];
        operator(c, "+", &[(T::TIME, time), (T::INTERVAL, &span)]);
        operator(c, "-", &[(T::TIME, time), (T::INTERVAL, &span)]);
        for zone in ["America/New_York", "+05:30", "EST", "MSK", "Nowhere"] {
            call(c, "timezone", &[(T::TEXT, zone), (T::TIMESTAMP, &a)]);
            call(c, "timezone", &[(T::TEXT, zone), (T::TIMESTAMPTZ, &a)]);
        }
        call(c, "timezone", &[(T::INTERVAL, "-03:30"), (T::TIMESTAMPTZ, &a)]);
        call(c, "date_bin", &[(T::INTERVAL, "17 min"), (T::TIMESTAMP, &a), (T::TIMESTAMP, &b)]);
    }
    for moment in ["infinity", "-infinity"] {
        for (type_id, span) in [(T::TIMESTAMP, "1 day"), (T::TIMESTAMPTZ, "1 mon")] {
            operator(c, "+", &[(type_id, moment), (T::INTERVAL, span)]);
            operator(c, "-", &[(type_id, moment), (type_id, "2024-01-01")]);
        }
        operator(c, "+", &[(T::DATE, moment), (T::INT4, "1")]);
        operator(c, "-", &[(T::DATE, moment), (T::DATE, "2024-01-01")]);
    }
    operator(c, "+", &[(T::DATE, "5874897-12-31"), (T::INT4, "1")]);
    operator(c, "+", &[(T::TIMESTAMP, "294276-12-31"), (T::INTERVAL, "1 day")]);
    operator(c, "/", &[(T::INTERVAL, "1 day"), (T::FLOAT8, "0")]);
    operator(c, "*", &[(T::INTERVAL, "1000000 years"), (T::FLOAT8, "1000")]);
    call(c, "make_date", &[(T::INT4, "2024"), (T::INT4, "2"), (T::INT4, "30")]);
    call(c, "make_date", &[(T::INT4, "-44"), (T::INT4, "3"), (T::INT4, "15")]);
    call(c, "make_date", &[(T::INT4, "0"), (T::INT4, "1"), (T::INT4, "1")]);
    call(c, "make_time", &[(T::INT4, "24"), (T::INT4, "0"), (T::FLOAT8, "0.5")]);
    call(c, "make_time", &[(T::INT4, "8"), (T::INT4, "15"), (T::FLOAT8, "23.5")]);
    for seconds in ["0", "1e9", "-1e12", "1284352323.5", "NaN", "Infinity", "1e18", "-1e30"] {
        call(c, "to_timestamp", &[(T::FLOAT8, seconds)]);
    }
}

const UNITS: &[&str] = &[
    "microseconds",
    "milliseconds",
    "second",
    "minute",
    "hour",
    "day",
    "week",
    "month",
    "quarter",
    "year",
    "decade",
    "century",
    "millennium",
    "dow",
    "doy",
    "isodow",
    "isoyear",
    "julian",
    "epoch",
    "timezone",
    "timezone_hour",
    "timezone_minute",
    "YEAR",
    "Nonsense",
    "yr",
    "mons",
    "",
];

fn fields(c: &mut Comparison) {
    use TypeId as T;
    let mut moments: Vec<String> = (0..25).map(|_| random_moment(c)).collect();
    moments.extend(
        [
            "0044-03-15 BC 12:00",
            "0001-01-01 BC",
            "0001-01-01",
            "2000-12-31 23:59:59.999999",
            "2001-01-01",
            "1900-01-01",
            "infinity",
            "-infinity",
            "2020-12-31",
            "2021-01-03",
        ]
        .map(str::to_owned),
    );
    for moment in &moments {
        for unit in UNITS {
            for type_id in [T::TIMESTAMP, T::TIMESTAMPTZ, T::DATE] {
                call(c, "extract", &[(T::TEXT, unit), (type_id, moment)]);
                if type_id != T::DATE {
                    call(c, "date_part", &[(T::TEXT, unit), (type_id, moment)]);
                    call(c, "date_trunc", &[(T::TEXT, unit), (type_id, moment)]);
                }
            }
        }
    }
    for unit in UNITS {
        for span in ["1 year 2 mons 3 days 04:05:06.789", "-13 mons -40 days", "-4:05:06.5", "0"] {
            call(c, "extract", &[(T::TEXT, unit), (T::INTERVAL, span)]);
            call(c, "date_part", &[(T::TEXT, unit), (T::INTERVAL, span)]);
            call(c, "date_trunc", &[(T::TEXT, unit), (T::INTERVAL, span)]);
        }
        call(c, "extract", &[(T::TEXT, unit), (T::TIME, "04:05:06.789")]);
        call(c, "extract", &[(T::TEXT, unit), (T::TIMETZ, "04:05:06.789-03:30")]);
        call(c, "date_part", &[(T::TEXT, unit), (T::TIMETZ, "04:05:06.789-03:30")]);
    }
    for moment in moments.iter().take(10) {
        for unit in ["hour", "day", "month", "century"] {
            let zone = "Australia/Sydney";
            call(c, "date_trunc", &[(T::TEXT, unit), (T::TIMESTAMPTZ, moment), (T::TEXT, zone)]);
        }
    }
}
