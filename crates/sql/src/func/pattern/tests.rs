use super::*;
use crate::types::{Datum, Interval, Numeric};

fn number(value: &str, template: &str) -> String {
    match number_out::numeric(&Numeric::parse(value).unwrap(), template) {
        Ok(text) => text.as_text().to_string(),
        Err(error) => error.to_string(),
    }
}

#[test]
fn numbers_are_laid_out_along_the_pattern() {
    assert_eq!(number("-0.1", "99.99"), "  -.10");
    assert_eq!(number("-0.1", "FM9.99"), "-.1");
    assert_eq!(number("0.1", "0.9"), " 0.1");
    assert_eq!(number("12", "9990999.9"), "    0012.0");
    assert_eq!(number("12", "FM9990999.9"), "0012.");
    assert_eq!(number("485", "999"), " 485");
    assert_eq!(number("-485", "999S"), "485-");
    assert_eq!(number("1485", "9,999"), " 1,485");
    assert_eq!(number("148.5", "999.999"), " 148.500");
    assert_eq!(number("485", "RN"), "        CDLXXXV");
    assert_eq!(number("482", "999th"), " 482nd");
    assert_eq!(number("-485", "999PR"), "<485>");
    assert_eq!(number("12.45", "99V9"), " 125");
    assert_eq!(number("0.0004859", "9.99EEEE"), " 4.86e-04");
    assert_eq!(number("1234", "999"), " ###");
    assert_eq!(number("1", "9.9.9"), "42601: multiple decimal points");
}

#[test]
fn numbers_are_read_along_the_pattern() {
    let read = |text: &str, template: &str| {
        number_in::to_number(text, template).unwrap().as_numeric().to_string()
    };
    assert_eq!(read("12,454.8-", "99G999D9S"), "-12454.8");
    assert_eq!(read("$1,234.56", "L9,999.99"), "1234.56");
    assert_eq!(read("-12", "S99"), "-12");
}

#[test]
fn intervals_show_their_own_fields() {
    let interval = Interval { months: 14, days: 3, micros: 4 * 3_600_000_000 };
    let text = date_out::interval(interval, "YYYY MM DD HH24").unwrap();
    assert_eq!(text.as_text().as_str(), "0001 02 03 04");
    assert!(date_out::interval(interval, "Day").is_err());
}

#[test]
fn dates_are_read_along_the_pattern() {
    let read = |text: &str, template: &str| match date_in::to_date(text, template) {
        Ok(Datum::Date(date)) => date.0.to_string(),
        other => format!("{other:?}"),
    };
    assert_eq!(read("05 Dec 2000", "DD Mon YYYY"), "339");
    assert_eq!(read("2000-341", "YYYY-DDD"), "340");
    assert_eq!(read("2000 3 1", "YYYY FMMM DD"), "60");
}

#[test]
fn patterns_that_would_fill_the_memory_are_refused() {
    let long = "x".repeat(40_000_000);
    assert_eq!(number("1", &long), "54000: requested length too large");
    let moment = crate::types::Timestamp(0);
    let refused = date_out::timestamp(moment, &long).unwrap_err();
    assert_eq!(refused.to_string(), "54000: requested length too large");
}
