use super::*;
use crate::types::context::{FormatContext, IoContext};
use crate::types::{Datum, TypeId, testing::NoNames};

fn with_cx<R>(f: impl FnOnce(&IoContext<'_>) -> R) -> R {
    let format = FormatContext::new();
    f(&IoContext { format: &format, now: TimestampTz(0), names: &NoNames })
}

fn timestamp(text: &str) -> String {
    with_cx(|cx| match crate::types::input(TypeId::TIMESTAMP, TypeMod::NONE, text, cx) {
        Ok(value) => crate::types::output_string(TypeId::TIMESTAMP, &value, cx).unwrap(),
        Err(error) => error.to_string(),
    })
}

#[test]
fn timestamps_are_read_in_the_usual_shapes() {
    assert_eq!(timestamp("1999-01-08 04:05:06.789"), "1999-01-08 04:05:06.789");
    assert_eq!(timestamp("January 8, 1999 4:05 PM"), "1999-01-08 16:05:00");
    assert_eq!(timestamp("19990108T040506"), "1999-01-08 04:05:06");
    assert_eq!(timestamp("1/8/99"), "1999-01-08 00:00:00");
    assert_eq!(timestamp("J2451187"), "1999-01-08 00:00:00");
    assert_eq!(timestamp("4713-01-01 BC"), "4713-01-01 00:00:00 BC");
    assert_eq!(timestamp("yesterday"), "1999-12-31 00:00:00");
    assert_eq!(timestamp("infinity"), "infinity");
    assert_eq!(
        timestamp("1999-13-08"),
        "22008: date/time field value out of range: \"1999-13-08\""
    );
    assert_eq!(
        timestamp("nonsense"),
        "22007: invalid input syntax for type timestamp: \"nonsense\""
    );
}

#[test]
fn calendar_round_trips() {
    for days in (-2_451_545..40_000_000).step_by(997) {
        let (y, m, d) = calendar::civil_from_days(days);
        assert_eq!(calendar::days_from_civil(i64::from(y), m, d), days);
    }
    assert_eq!(calendar::civil_from_days(0), (2000, 1, 1));
    assert_eq!(calendar::iso_week(calendar::days_from_civil(2021, 1, 3)), (2020, 53));
}

#[test]
fn interval_text_keeps_its_three_parts() {
    with_cx(|cx| {
        let value = crate::types::input(
            TypeId::INTERVAL,
            TypeMod::NONE,
            "1 year 2 mons -3 days 04:05:06.7",
            cx,
        )
        .unwrap();
        let Datum::Interval(interval) = value else { panic!("{value:?}") };
        assert_eq!((interval.months, interval.days), (14, -3));
        assert_eq!(
            crate::types::output_string(TypeId::INTERVAL, &value, cx).unwrap(),
            "1 year 2 mons -3 days +04:05:06.7"
        );
    });
}
