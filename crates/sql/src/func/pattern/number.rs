//! Number patterns taken apart.

use crate::error::{Result, SqlError, sql_error};
use crate::steps::Steps;

/// One element of a pattern.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Node {
    Key(Key),
    /// A character that is no pattern, or quoted.
    Literal(char),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Key {
    Comma,
    Point,
    Zero,
    Nine,
    Blank,
    /// `D`: the locale's point.
    LocalePoint,
    Scientific,
    FillMode,
    /// `G`: the locale's separator of groups.
    Group,
    Currency,
    Minus,
    Plus,
    /// `PR`: angle brackets around negative numbers.
    Bracket,
    Roman {
        upper: bool,
    },
    /// `S`: the sign where it stands.
    Sign,
    /// `SG`.
    PlusMinus,
    Ordinal {
        upper: bool,
    },
    Multiply,
}

/// Where the `S` sign goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SignPlace {
    None,
    Before,
    After,
}

/// A pattern and what follows from all of it.
#[derive(Clone, Debug)]
pub(super) struct Pattern {
    pub nodes: Vec<Node>,
    /// Digits before the point.
    pub pre: i32,
    /// Digits after the point.
    pub post: i32,
    pub sign: SignPlace,
    /// `pre` when the `S` was met.
    pub pre_at_sign: i32,
    /// Digits that `V` shifts by.
    pub multiply: i32,
    /// Position of the first zero, from 1; 0 for none before the point.
    pub zero_start: i32,
    /// Digits up to the last zero.
    pub zero_end: i32,
    pub has_zero: bool,
    pub has_point: bool,
    pub has_sign: bool,
    pub fill_mode: bool,
    pub bracket: bool,
    pub minus: bool,
    pub plus: bool,
    pub roman: bool,
    pub has_multiply: bool,
    pub scientific: bool,
    pub blank: bool,
}

/// Patterns by their spelling, longer ones before their beginnings.
const KEYS: &[(&str, Key)] = &[
    (",", Key::Comma),
    (".", Key::Point),
    ("0", Key::Zero),
    ("9", Key::Nine),
    ("B", Key::Blank),
    ("D", Key::LocalePoint),
    ("EEEE", Key::Scientific),
    ("FM", Key::FillMode),
    ("G", Key::Group),
    ("L", Key::Currency),
    ("MI", Key::Minus),
    ("PL", Key::Plus),
    ("PR", Key::Bracket),
    ("RN", Key::Roman { upper: true }),
    ("SG", Key::PlusMinus),
    ("S", Key::Sign),
    ("TH", Key::Ordinal { upper: true }),
    ("V", Key::Multiply),
    ("b", Key::Blank),
    ("d", Key::LocalePoint),
    ("eeee", Key::Scientific),
    ("fm", Key::FillMode),
    ("g", Key::Group),
    ("l", Key::Currency),
    ("mi", Key::Minus),
    ("pl", Key::Plus),
    ("pr", Key::Bracket),
    ("rn", Key::Roman { upper: false }),
    ("sg", Key::PlusMinus),
    ("s", Key::Sign),
    ("th", Key::Ordinal { upper: false }),
    ("v", Key::Multiply),
];

#[cold]
fn refused(message: &str) -> SqlError {
    sql_error!(SYNTAX_ERROR, "{message}")
}

impl Pattern {
    pub fn parse(text: &str) -> Result<Pattern> {
        super::check_pattern(text)?;
        let mut pattern = Pattern {
            nodes: Vec::new(),
            pre: 0,
            post: 0,
            sign: SignPlace::None,
            pre_at_sign: 0,
            multiply: 0,
            zero_start: 0,
            zero_end: 0,
            has_zero: false,
            has_point: false,
            has_sign: false,
            fill_mode: false,
            bracket: false,
            minus: false,
            plus: false,
            roman: false,
            has_multiply: false,
            scientific: false,
            blank: false,
        };
        let mut rest = text;
        let mut steps = Steps::default();
        while !rest.is_empty() {
            steps.next()?;
            let key = KEYS.iter().find(|(spelling, _)| rest.starts_with(spelling));
            if let Some((spelling, key)) = key {
                pattern.note(*key)?;
                pattern.nodes.push(Node::Key(*key));
                rest = &rest[spelling.len()..];
            } else if let Some(quoted) = rest.strip_prefix('"') {
                rest = pattern.quoted(quoted);
            } else {
                // A backslash makes a quote ordinary.
                let rest_after = rest.strip_prefix('\\').filter(|after| after.starts_with('"'));
                let from = rest_after.unwrap_or(rest);
                let c = from.chars().next().expect("a backslash is followed by a quote");
                pattern.nodes.push(Node::Literal(c));
                rest = &from[c.len_utf8()..];
            }
        }
        Ok(pattern)
    }

    /// Characters up to the closing quote, backslash escaping any.
    fn quoted<'a>(&mut self, text: &'a str) -> &'a str {
        let mut chars = text.char_indices();
        while let Some((i, c)) = chars.next() {
            match c {
                '"' => return &text[i + 1..],
                '\\' => {
                    if let Some((_, escaped)) = chars.next() {
                        self.nodes.push(Node::Literal(escaped));
                    }
                }
                _ => self.nodes.push(Node::Literal(c)),
            }
        }
        ""
    }

    fn note(&mut self, key: Key) -> Result<()> {
        if self.scientific && key != Key::Scientific {
            return Err(refused("\"EEEE\" must be the last pattern used"));
        }
        match key {
            Key::Nine => {
                if self.bracket {
                    return Err(refused("\"9\" must be ahead of \"PR\""));
                }
                if self.has_multiply {
                    self.multiply += 1;
                } else if self.has_point {
                    self.post += 1;
                } else {
                    self.pre += 1;
                }
            }
            Key::Zero => {
                if self.bracket {
                    return Err(refused("\"0\" must be ahead of \"PR\""));
                }
                if !self.has_zero && !self.has_point {
                    self.has_zero = true;
                    self.zero_start = self.pre + 1;
                }
                if self.has_point {
                    self.post += 1;
                } else {
                    self.pre += 1;
                }
                self.zero_end = self.pre + self.post;
            }
            Key::Blank => {
                if self.pre == 0 && self.post == 0 && !self.has_zero {
                    self.blank = true;
                }
            }
            Key::LocalePoint | Key::Point => {
                if self.has_point {
                    return Err(refused("multiple decimal points"));
                }
                if self.has_multiply {
                    return Err(refused("cannot use \"V\" and decimal point together"));
                }
                self.has_point = true;
            }
            Key::FillMode => self.fill_mode = true,
            Key::Sign => self.note_sign()?,
            Key::Minus => {
                if self.has_sign {
                    return Err(refused("cannot use \"S\" and \"MI\" together"));
                }
                self.minus = true;
            }
            Key::Plus => {
                if self.has_sign {
                    return Err(refused("cannot use \"S\" and \"PL\" together"));
                }
                self.plus = true;
            }
            Key::PlusMinus => {
                if self.has_sign {
                    return Err(refused("cannot use \"S\" and \"SG\" together"));
                }
                self.minus = true;
                self.plus = true;
            }
            Key::Bracket => {
                if self.has_sign || self.plus || self.minus {
                    return Err(refused(
                        "cannot use \"PR\" and \"S\"/\"PL\"/\"MI\"/\"SG\" together",
                    ));
                }
                self.bracket = true;
            }
            Key::Roman { .. } => self.roman = true,
            Key::Multiply => {
                if self.has_point {
                    return Err(refused("cannot use \"V\" and decimal point together"));
                }
                self.has_multiply = true;
            }
            Key::Scientific => self.note_scientific()?,
            Key::Comma | Key::Group | Key::Currency | Key::Ordinal { .. } => {}
        }
        Ok(())
    }

    fn note_sign(&mut self) -> Result<()> {
        if self.has_sign {
            return Err(refused("cannot use \"S\" twice"));
        }
        if self.plus || self.minus || self.bracket {
            return Err(refused("cannot use \"S\" and \"PL\"/\"MI\"/\"SG\"/\"PR\" together"));
        }
        self.has_sign = true;
        if self.has_point {
            self.sign = SignPlace::After;
        } else {
            self.sign = SignPlace::Before;
            self.pre_at_sign = self.pre;
        }
        Ok(())
    }

    fn note_scientific(&mut self) -> Result<()> {
        if self.scientific {
            return Err(refused("cannot use \"EEEE\" twice"));
        }
        let others = self.blank
            || self.fill_mode
            || self.has_sign
            || self.bracket
            || self.minus
            || self.plus
            || self.roman
            || self.has_multiply;
        if others {
            return Err(refused("\"EEEE\" is incompatible with other formats").with_detail(
                "\"EEEE\" may only be used together with digit and decimal point patterns.",
            ));
        }
        self.scientific = true;
        Ok(())
    }
}
