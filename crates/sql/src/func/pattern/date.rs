//! Date and time patterns taken apart.

use crate::error::Result;
use crate::steps::Steps;

/// One element of a pattern.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Node {
    Field(Field),
    /// Punctuation, which matches any punctuation.
    Separator(char),
    Space(char),
    /// A letter, a digit or a quoted character.
    Literal(char),
}

/// A keyword with its modifiers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Field {
    pub key: Key,
    /// As the keyword's table spells it.
    pub name: &'static str,
    /// `FM`: no padding.
    pub fill_mode: bool,
    /// `TM`: the locale's names, which are English ones without padding.
    pub localized: bool,
    pub ordinal: Option<Ordinal>,
}

/// `TH` or `th`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ordinal {
    Upper,
    Lower,
}

/// How a name is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Case {
    Upper,
    Title,
    Lower,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Key {
    /// `AD` or `BC`; with points.
    Era {
        points: bool,
        lower: bool,
    },
    Meridian {
        points: bool,
        lower: bool,
    },
    Century,
    DayName(Case),
    DayShort(Case),
    DayOfYear,
    IsoDayOfYear,
    Day,
    DayOfWeek,
    IsoDayOfWeek,
    /// Digits of the second's fraction.
    Fraction(u8),
    Fixed,
    Hour24,
    Hour12,
    IsoWeek,
    Week,
    WeekOfMonth,
    /// Digits of the year shown.
    Year(u8),
    IsoYear(u8),
    YearWithComma,
    Julian,
    Minute,
    Month,
    MonthName(Case),
    MonthShort(Case),
    RomanMonth {
        lower: bool,
    },
    Millisecond,
    Microsecond,
    Offset,
    Quarter,
    SecondOfDay,
    Second,
    ZoneHour,
    ZoneMinute,
    ZoneName {
        lower: bool,
    },
}

/// Which convention a field belongs to; the two do not mix.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Convention {
    Any,
    Gregorian,
    IsoWeek,
}

impl Key {
    pub fn convention(self) -> Convention {
        match self {
            Key::DayOfYear
            | Key::Day
            | Key::DayOfWeek
            | Key::Month
            | Key::MonthName(_)
            | Key::MonthShort(_)
            | Key::RomanMonth { .. }
            | Key::Week
            | Key::WeekOfMonth
            | Key::Year(_)
            | Key::YearWithComma => Convention::Gregorian,
            Key::IsoDayOfYear | Key::IsoDayOfWeek | Key::IsoWeek | Key::IsoYear(_) => {
                Convention::IsoWeek
            }
            _ => Convention::Any,
        }
    }

    /// Whether the field is made of digits, so that one before it has to know its own width.
    pub fn is_digits(self) -> bool {
        !matches!(
            self,
            Key::Era { .. }
                | Key::Meridian { .. }
                | Key::DayName(_)
                | Key::DayShort(_)
                | Key::MonthName(_)
                | Key::MonthShort(_)
                | Key::RomanMonth { .. }
                | Key::Fixed
                | Key::Offset
                | Key::ZoneName { .. }
                | Key::ZoneHour
        )
    }
}

const UPPER: bool = false;
const LOWER: bool = true;

/// Keywords, longer ones before their beginnings.
const KEYS: &[(&str, Key)] = &[
    ("A.D.", Key::Era { points: true, lower: UPPER }),
    ("A.M.", Key::Meridian { points: true, lower: UPPER }),
    ("AD", Key::Era { points: false, lower: UPPER }),
    ("AM", Key::Meridian { points: false, lower: UPPER }),
    ("B.C.", Key::Era { points: true, lower: UPPER }),
    ("BC", Key::Era { points: false, lower: UPPER }),
    ("CC", Key::Century),
    ("DAY", Key::DayName(Case::Upper)),
    ("DDD", Key::DayOfYear),
    ("DD", Key::Day),
    ("DY", Key::DayShort(Case::Upper)),
    ("Day", Key::DayName(Case::Title)),
    ("Dy", Key::DayShort(Case::Title)),
    ("D", Key::DayOfWeek),
    ("FF1", Key::Fraction(1)),
    ("FF2", Key::Fraction(2)),
    ("FF3", Key::Fraction(3)),
    ("FF4", Key::Fraction(4)),
    ("FF5", Key::Fraction(5)),
    ("FF6", Key::Fraction(6)),
    ("FX", Key::Fixed),
    ("HH24", Key::Hour24),
    ("HH12", Key::Hour12),
    ("HH", Key::Hour12),
    ("IDDD", Key::IsoDayOfYear),
    ("ID", Key::IsoDayOfWeek),
    ("IW", Key::IsoWeek),
    ("IYYY", Key::IsoYear(4)),
    ("IYY", Key::IsoYear(3)),
    ("IY", Key::IsoYear(2)),
    ("I", Key::IsoYear(1)),
    ("J", Key::Julian),
    ("MI", Key::Minute),
    ("MM", Key::Month),
    ("MONTH", Key::MonthName(Case::Upper)),
    ("MON", Key::MonthShort(Case::Upper)),
    ("MS", Key::Millisecond),
    ("Month", Key::MonthName(Case::Title)),
    ("Mon", Key::MonthShort(Case::Title)),
    ("OF", Key::Offset),
    ("P.M.", Key::Meridian { points: true, lower: UPPER }),
    ("PM", Key::Meridian { points: false, lower: UPPER }),
    ("Q", Key::Quarter),
    ("RM", Key::RomanMonth { lower: false }),
    ("SSSSS", Key::SecondOfDay),
    ("SSSS", Key::SecondOfDay),
    ("SS", Key::Second),
    ("TZH", Key::ZoneHour),
    ("TZM", Key::ZoneMinute),
    ("TZ", Key::ZoneName { lower: false }),
    ("US", Key::Microsecond),
    ("WW", Key::Week),
    ("W", Key::WeekOfMonth),
    ("Y,YYY", Key::YearWithComma),
    ("YYYY", Key::Year(4)),
    ("YYY", Key::Year(3)),
    ("YY", Key::Year(2)),
    ("Y", Key::Year(1)),
    ("a.d.", Key::Era { points: true, lower: LOWER }),
    ("a.m.", Key::Meridian { points: true, lower: LOWER }),
    ("ad", Key::Era { points: false, lower: LOWER }),
    ("am", Key::Meridian { points: false, lower: LOWER }),
    ("b.c.", Key::Era { points: true, lower: LOWER }),
    ("bc", Key::Era { points: false, lower: LOWER }),
    ("cc", Key::Century),
    ("day", Key::DayName(Case::Lower)),
    ("ddd", Key::DayOfYear),
    ("dd", Key::Day),
    ("dy", Key::DayShort(Case::Lower)),
    ("d", Key::DayOfWeek),
    ("ff1", Key::Fraction(1)),
    ("ff2", Key::Fraction(2)),
    ("ff3", Key::Fraction(3)),
    ("ff4", Key::Fraction(4)),
    ("ff5", Key::Fraction(5)),
    ("ff6", Key::Fraction(6)),
    ("fx", Key::Fixed),
    ("hh24", Key::Hour24),
    ("hh12", Key::Hour12),
    ("hh", Key::Hour12),
    ("iddd", Key::IsoDayOfYear),
    ("id", Key::IsoDayOfWeek),
    ("iw", Key::IsoWeek),
    ("iyyy", Key::IsoYear(4)),
    ("iyy", Key::IsoYear(3)),
    ("iy", Key::IsoYear(2)),
    ("i", Key::IsoYear(1)),
    ("j", Key::Julian),
    ("mi", Key::Minute),
    ("mm", Key::Month),
    ("month", Key::MonthName(Case::Lower)),
    ("mon", Key::MonthShort(Case::Lower)),
    ("ms", Key::Millisecond),
    ("of", Key::Offset),
    ("p.m.", Key::Meridian { points: true, lower: LOWER }),
    ("pm", Key::Meridian { points: false, lower: LOWER }),
    ("q", Key::Quarter),
    ("rm", Key::RomanMonth { lower: true }),
    ("sssss", Key::SecondOfDay),
    ("ssss", Key::SecondOfDay),
    ("ss", Key::Second),
    ("tzh", Key::ZoneHour),
    ("tzm", Key::ZoneMinute),
    ("tz", Key::ZoneName { lower: true }),
    ("us", Key::Microsecond),
    ("ww", Key::Week),
    ("w", Key::WeekOfMonth),
    ("y,yyy", Key::YearWithComma),
    ("yyyy", Key::Year(4)),
    ("yyy", Key::Year(3)),
    ("yy", Key::Year(2)),
    ("y", Key::Year(1)),
];

/// Punctuation that separates fields.
pub(super) fn is_separator(c: char) -> bool {
    c.is_ascii_graphic() && !c.is_ascii_alphanumeric()
}

/// Takes a pattern apart; any text is one.
///
/// # Errors
/// `54000` for a pattern that is too long, or that the statement is cancelled.
pub(super) fn parse(text: &str) -> Result<Vec<Node>> {
    super::check_pattern(text)?;
    let mut nodes = Vec::new();
    let mut rest = text;
    let mut steps = Steps::default();
    while !rest.is_empty() {
        steps.next()?;
        let (mut fill_mode, mut localized) = (false, false);
        if let Some(after) = rest.strip_prefix("FM").or_else(|| rest.strip_prefix("fm")) {
            (fill_mode, rest) = (true, after);
        } else if let Some(after) = rest.strip_prefix("TM").or_else(|| rest.strip_prefix("tm")) {
            (localized, rest) = (true, after);
        }
        if let Some(&(name, key)) = KEYS.iter().find(|(name, _)| rest.starts_with(name)) {
            rest = &rest[name.len()..];
            let mut ordinal = None;
            if let Some(after) = rest.strip_prefix("TH") {
                (ordinal, rest) = (Some(Ordinal::Upper), after);
            } else if let Some(after) = rest.strip_prefix("th") {
                (ordinal, rest) = (Some(Ordinal::Lower), after);
            } else if let Some(after) = rest.strip_prefix("SP") {
                // Spelling out is accepted and does nothing.
                rest = after;
            }
            nodes.push(Node::Field(Field { key, name, fill_mode, localized, ordinal }));
        } else if let Some(quoted) = rest.strip_prefix('"') {
            rest = quoted_text(quoted, &mut nodes);
        } else if !rest.is_empty() {
            let escaped = rest.strip_prefix('\\').filter(|after| after.starts_with('"'));
            let from = escaped.unwrap_or(rest);
            let c = from.chars().next().expect("a backslash is followed by a quote");
            nodes.push(if is_separator(c) {
                Node::Separator(c)
            } else if c.is_ascii_whitespace() || c == '\x0b' {
                Node::Space(c)
            } else {
                Node::Literal(c)
            });
            rest = &from[c.len_utf8()..];
        }
    }
    Ok(nodes)
}

/// Characters up to the closing quote, backslash escaping any.
fn quoted_text<'a>(text: &'a str, nodes: &mut Vec<Node>) -> &'a str {
    let mut chars = text.char_indices().peekable();
    while let Some((i, c)) = chars.next() {
        match c {
            '"' => return &text[i + 1..],
            '\\' if chars.peek().is_some() => {
                let (_, escaped) = chars.next().expect("just seen");
                nodes.push(Node::Literal(escaped));
            }
            _ => nodes.push(Node::Literal(c)),
        }
    }
    ""
}

/// Roman months, December first.
pub(super) const ROMAN_MONTHS: [&str; 12] =
    ["XII", "XI", "X", "IX", "VIII", "VII", "VI", "V", "IV", "III", "II", "I"];
