//! Numbers to text by a pattern.

use super::number::{Key, Node, Pattern, SignPlace};
use super::ordinal;
use crate::error::{Result, bail};
use crate::types::numeric::Var;
use crate::types::{Datum, Numeric};

/// A number ready to be laid out: its digits without sign, blanks to put before them.
struct Digits {
    negative: bool,
    text: String,
    /// Positions before the point that the number does not fill.
    spaces: i32,
}

impl Digits {
    /// Fits digits into a pattern; too many before the point become a row of `#`.
    fn fit(negative: bool, text: String, pattern: &Pattern) -> Digits {
        let len = text.find('.').unwrap_or(text.len()) as i32;
        if len > pattern.pre {
            let mut hashes = "#".repeat(pattern.pre as usize);
            hashes.push('.');
            hashes.push_str(&"#".repeat(pattern.post as usize));
            return Digits { negative, text: hashes, spaces: 0 };
        }
        Digits { negative, text, spaces: pattern.pre - len }
    }
}

/// Roman numerals up to this.
const MAX_ROMAN: i64 = 3999;

fn roman(value: i64) -> String {
    if !(1..=MAX_ROMAN).contains(&value) {
        return "#".repeat(15);
    }
    const STEPS: [(i64, &str); 13] = [
        (1000, "M"),
        (900, "CM"),
        (500, "D"),
        (400, "CD"),
        (100, "C"),
        (90, "XC"),
        (50, "L"),
        (40, "XL"),
        (10, "X"),
        (9, "IX"),
        (5, "V"),
        (4, "IV"),
        (1, "I"),
    ];
    let mut rest = value;
    let mut out = String::new();
    for (size, letters) in STEPS {
        while rest >= size {
            out.push_str(letters);
            rest -= size;
        }
    }
    out
}

/// The row of `#` that stands for what has no scientific form.
fn no_scientific(pattern: &Pattern) -> String {
    let mut text: String = "#".repeat((pattern.pre + pattern.post + 6) as usize);
    text.replace_range(0..1, " ");
    text.replace_range(pattern.pre as usize + 1..pattern.pre as usize + 2, ".");
    text
}

fn power_of_ten(n: i32) -> Numeric {
    Var::from_i128(10i128.pow(n.min(38) as u32)).into_numeric().expect("a small power fits")
}

pub(super) fn integer(value: i64, template: &str, narrow: bool) -> Result<Datum> {
    let mut pattern = Pattern::parse(template)?;
    if pattern.roman {
        return Ok(lay_out(&mut pattern, roman_digits(value)).into());
    }
    if pattern.scientific {
        if !narrow {
            return Ok(scientific(&Numeric::from(value), pattern.post).into());
        }
        return Ok(scientific_float(value as f64, pattern.post).into());
    }
    let mut shown = Numeric::from(value);
    if pattern.has_multiply {
        shown = shown.mul(&power_of_ten(pattern.multiply))?;
        let (name, min, max) = if narrow {
            ("integer", i64::from(i32::MIN), i64::from(i32::MAX))
        } else {
            ("bigint", i64::MIN, i64::MAX)
        };
        shown.to_int(name, min, max)?;
        pattern.pre += pattern.multiply;
    }
    let mut text = shown.abs().to_string();
    if pattern.post > 0 {
        text.push('.');
        text.push_str(&"0".repeat(pattern.post as usize));
    }
    let digits = Digits::fit(value < 0, text, &pattern);
    Ok(lay_out(&mut pattern, digits).into())
}

fn roman_digits(value: i64) -> Digits {
    Digits { negative: false, text: roman(value), spaces: 0 }
}

pub(super) fn numeric(value: &Numeric, template: &str) -> Result<Datum> {
    let mut pattern = Pattern::parse(template)?;
    if pattern.roman {
        let rounded = value.round(0)?;
        let whole = rounded.to_int("integer", i64::from(i32::MIN), i64::from(i32::MAX))?;
        return Ok(lay_out(&mut pattern, roman_digits(whole)).into());
    }
    if pattern.scientific {
        if !value.is_finite() {
            return Ok(no_scientific(&pattern).into());
        }
        return Ok(scientific(value, pattern.post).into());
    }
    let mut shown = value.clone();
    if pattern.has_multiply {
        shown = shown.mul(&Numeric::from(10).power(&Numeric::from(pattern.multiply))?)?;
        pattern.pre += pattern.multiply;
    }
    let text = shown.round(pattern.post)?.to_string();
    let (negative, text) = match text.strip_prefix('-') {
        Some(digits) => (true, digits.to_owned()),
        None => (false, text),
    };
    let digits = Digits::fit(negative, text, &pattern);
    check_ordinal(&pattern, &digits)?;
    Ok(lay_out(&mut pattern, digits).into())
}

pub(super) fn float(value: f64, template: &str, significant: i32) -> Result<Datum> {
    let mut pattern = Pattern::parse(template)?;
    if pattern.roman {
        let whole = value.round_ties_even().clamp(-1e9, 1e9) as i64;
        return Ok(lay_out(&mut pattern, roman_digits(whole)).into());
    }
    if pattern.scientific {
        if !value.is_finite() {
            return Ok(no_scientific(&pattern).into());
        }
        return Ok(scientific_float(value, pattern.post).into());
    }
    let mut shown = value;
    if pattern.has_multiply {
        shown *= 10f64.powi(pattern.multiply);
        if significant < 15 {
            shown = f64::from(shown as f32);
        }
        pattern.pre += pattern.multiply;
    }
    // A double has no more digits to show than this.
    let whole_len = fixed(shown.abs(), 0).len() as i32;
    if whole_len >= significant {
        pattern.post = 0;
    } else if whole_len + pattern.post > significant {
        pattern.post = significant - whole_len;
    }
    let text = fixed(shown, pattern.post);
    let (negative, text) = match text.strip_prefix('-') {
        Some(digits) => (true, digits.to_owned()),
        None => (false, text),
    };
    let digits = Digits::fit(negative, text, &pattern);
    check_ordinal(&pattern, &digits)?;
    Ok(lay_out(&mut pattern, digits).into())
}

/// C's `%.*f`.
fn fixed(value: f64, decimals: i32) -> String {
    if value.is_nan() {
        return "NaN".to_owned();
    }
    if value.is_infinite() {
        return if value < 0.0 { "-Infinity" } else { "Infinity" }.to_owned();
    }
    format!("{value:.*}", decimals.max(0) as usize)
}

/// No double has more significant digits than 767.
const DOUBLE_DIGITS: usize = 800;

/// `d.dddde+xx` of a double, with a blank for a positive sign.
fn scientific_float(value: f64, decimals: i32) -> String {
    let decimals = decimals as usize;
    let exact = decimals.min(DOUBLE_DIGITS);
    let text = format!("{:.*e}", exact, value.abs());
    let (mantissa, exponent) = text.split_once('e').expect("scientific form");
    let exponent: i32 = exponent.parse().expect("an exponent is a number");
    let sign = if value.is_sign_negative() { '-' } else { ' ' };
    let zeros = "0".repeat(decimals - exact);
    format!("{sign}{mantissa}{zeros}{}", exponent_text(exponent))
}

fn exponent_text(exponent: i32) -> String {
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("e{sign}{:02}", exponent.abs())
}

/// The same of a numeric, exactly.
fn scientific(value: &Numeric, decimals: i32) -> String {
    let sign = if *value < Numeric::ZERO { '-' } else { ' ' };
    let size = value.abs();
    let mut exponent = 0;
    if let Some(var) = size.var().filter(|var| !var.is_zero()) {
        exponent = var.decimals_before_point() - 1;
    }
    let decimals = decimals as usize;
    let all = size.to_string();
    let mut digits: Vec<u8> =
        all.bytes().filter(|b| *b != b'.').skip_while(|b| *b == b'0').collect();
    let up = digits.get(decimals + 1).is_some_and(|digit| *digit >= b'5');
    digits.resize(decimals + 1, b'0');
    let mut whole = String::new();
    if up && !add_one(&mut digits) {
        // Rounding up to ten is left at that, as PostgreSQL leaves it.
        whole.push('1');
    }
    let digits = String::from_utf8(digits).expect("digits are ASCII");
    whole.push_str(&digits[..1]);
    let point = if decimals > 0 { "." } else { "" };
    format!("{sign}{whole}{point}{}{}", &digits[1..], exponent_text(exponent))
}

/// Adds one to the last of some decimal digits; false: they are all zero now, and one is to be carried.
fn add_one(digits: &mut [u8]) -> bool {
    for digit in digits.iter_mut().rev() {
        if *digit != b'9' {
            *digit += 1;
            return true;
        }
        *digit = b'0';
    }
    false
}

/// The state of laying a number out along the pattern.
struct Layout<'a> {
    pattern: &'a Pattern,
    number: &'a [u8],
    negative: bool,
    spaces: i32,
    out: String,
    /// Index of the next digit.
    at: usize,
    /// Digit positions passed.
    position: i32,
    /// Digit positions in all.
    count: i32,
    /// A digit has been written, so separators are too.
    in_number: bool,
    sign_written: bool,
    /// Index of the last digit to write in fill mode.
    last: Option<usize>,
    zero_start: i32,
    sign_place: SignPlace,
    bracket: bool,
    /// Where the text ends because a digit was asked for beyond those that a double has.
    end: Option<usize>,
}

/// An ordinal's ending needs a number before it.
fn check_ordinal(pattern: &Pattern, digits: &Digits) -> Result<()> {
    let wanted = pattern.nodes.iter().any(|n| matches!(n, Node::Key(Key::Ordinal { .. })));
    let skipped = pattern.roman
        || pattern.has_point
        || digits.negative
        || digits.text.starts_with('#')
        || digits.text.ends_with(|c: char| c.is_ascii_digit());
    if wanted && !skipped {
        bail!(INVALID_TEXT_REPRESENTATION, "\"{}\" is not a number", digits.text);
    }
    Ok(())
}

fn lay_out(pattern: &mut Pattern, digits: Digits) -> String {
    if pattern.roman {
        // Roman numerals heed nothing but fill mode.
        pattern.pre = 0;
        pattern.post = 0;
        pattern.has_point = false;
        pattern.has_zero = false;
        pattern.bracket = false;
        pattern.has_sign = false;
        pattern.plus = false;
        pattern.minus = false;
    }
    let number = digits.text.as_bytes();
    let mut layout = Layout {
        pattern,
        number,
        negative: digits.negative,
        spaces: digits.spaces,
        out: String::new(),
        at: 0,
        position: 0,
        count: pattern.post + pattern.pre - 1,
        in_number: false,
        sign_written: false,
        last: None,
        zero_start: (pattern.zero_start - 1).max(0),
        sign_place: pattern.sign,
        bracket: pattern.bracket,
        end: None,
    };
    layout.prepare();
    for node in &pattern.nodes {
        layout.node(node);
    }
    if let Some(end) = layout.end {
        layout.out.truncate(end);
    }
    layout.out
}

impl Layout<'_> {
    fn prepare(&mut self) {
        let pattern = self.pattern;
        if pattern.plus || pattern.minus {
            // `MI`, `PL` and `SG` write the sign themselves; `PL` alone leaves minus to us.
            self.sign_written = !pattern.plus || pattern.minus;
        } else {
            if !self.negative && self.bracket && pattern.fill_mode {
                self.bracket = false;
            }
            self.sign_written = !self.negative && pattern.fill_mode && !pattern.has_sign;
            if self.sign_place == SignPlace::Before && pattern.pre == pattern.pre_at_sign {
                self.sign_place = SignPlace::After;
            }
        }
        if pattern.fill_mode && pattern.has_point {
            self.last = last_relevant(self.number);
            if let Some(last) = self.last
                && pattern.zero_end > self.spaces
            {
                let zero = (self.number.len() as i32 - 1).min(pattern.zero_end - self.spaces);
                self.last = Some(last.max(zero.max(0) as usize));
            }
        }
        if !self.sign_written && self.spaces == 0 {
            self.count += 1;
        }
    }

    fn node(&mut self, node: &Node) {
        let fill_mode = self.pattern.fill_mode;
        let key = match node {
            Node::Literal(c) => {
                self.out.push(*c);
                return;
            }
            Node::Key(key) => *key,
        };
        match key {
            Key::Nine | Key::Zero | Key::Point | Key::LocalePoint => self.digit(key),
            Key::Comma | Key::Group => {
                if self.in_number {
                    self.out.push(',');
                } else if !fill_mode {
                    self.out.push(' ');
                }
            }
            Key::Currency => self.out.push(' '),
            Key::Roman { upper } => {
                let text = std::str::from_utf8(self.number).expect("letters are ASCII");
                let text = if upper { text.to_owned() } else { text.to_ascii_lowercase() };
                if fill_mode {
                    self.out.push_str(&text);
                } else {
                    self.out.push_str(&format!("{text:>15}"));
                }
            }
            Key::Ordinal { upper } => {
                let skipped = self.pattern.roman
                    || self.number.first() == Some(&b'#')
                    || self.negative
                    || self.pattern.has_point;
                if !skipped {
                    let digits = std::str::from_utf8(self.number).expect("digits are ASCII");
                    let ending = ordinal(digits);
                    if upper {
                        self.out.push_str(&ending.to_ascii_uppercase());
                    } else {
                        self.out.push_str(ending);
                    }
                }
            }
            Key::Minus => self.sign_or_blank('-', self.negative),
            Key::Plus => self.sign_or_blank('+', !self.negative),
            Key::PlusMinus => self.out.push(if self.negative { '-' } else { '+' }),
            Key::Blank
            | Key::Scientific
            | Key::FillMode
            | Key::Bracket
            | Key::Sign
            | Key::Multiply => {}
        }
    }

    fn sign_or_blank(&mut self, sign: char, shown: bool) {
        if shown {
            self.out.push(sign);
        } else if !self.pattern.fill_mode {
            self.out.push(' ');
        }
    }

    /// A lone zero before a point that has digits after it is not shown: `9.9` gives ` .1`.
    fn hides_zero(&self) -> bool {
        !self.pattern.has_zero
            && self.at == 0
            && self.number.first() == Some(&b'0')
            && self.pattern.post != 0
    }

    fn last_is_point(&self) -> bool {
        self.last.is_some_and(|last| self.number.get(last) == Some(&b'.'))
    }

    fn digit(&mut self, key: Key) {
        if self.pattern.roman {
            return;
        }
        let fill_mode = self.pattern.fill_mode;
        self.in_number = false;
        let zero_reached = self.pattern.has_zero && self.zero_start <= self.position;
        let number_reached = self.position >= self.spaces
            || (self.pattern.has_zero && self.zero_start == self.position);
        if !self.sign_written && number_reached && (!self.hides_zero() || self.last_is_point()) {
            self.sign_before();
        }
        if self.position < self.spaces && !zero_reached {
            if !fill_mode {
                self.out.push(' ');
            }
        } else if self.position < self.spaces {
            self.out.push('0');
            self.in_number = true;
        } else {
            self.number_char(key);
        }
        let mut end = self.count + i32::from(self.spaces > 0) + i32::from(self.pattern.has_point);
        if self.last == Some(self.at) {
            end = self.position;
        }
        if self.position + 1 == end {
            if self.sign_written && self.bracket {
                self.out.push(if self.negative { '>' } else { ' ' });
            } else if self.pattern.has_sign && self.sign_place == SignPlace::After {
                self.out.push(if self.negative { '-' } else { '+' });
            }
        }
        self.position += 1;
    }

    fn sign_before(&mut self) {
        if self.pattern.has_sign {
            if self.sign_place == SignPlace::Before {
                self.out.push(if self.negative { '-' } else { '+' });
                self.sign_written = true;
            }
        } else if self.bracket {
            self.out.push(if self.negative { '<' } else { ' ' });
            self.sign_written = true;
        } else if self.negative {
            self.out.push('-');
            self.sign_written = true;
        } else {
            if !self.pattern.fill_mode {
                self.out.push(' ');
            }
            self.sign_written = true;
        }
    }

    fn number_char(&mut self, key: Key) {
        let fill_mode = self.pattern.fill_mode;
        match self.number.get(self.at) {
            Some(b'.') => {
                if !self.last_is_point() || fill_mode {
                    self.out.push('.');
                }
            }
            digit => {
                if self.last.is_some_and(|last| self.at > last) && key != Key::Zero {
                    // Beyond what fill mode shows.
                } else if self.hides_zero() {
                    if !fill_mode {
                        self.out.push(' ');
                    } else if self.last_is_point() {
                        self.out.push('0');
                    }
                } else if let Some(&digit) = digit {
                    self.out.push(char::from(digit));
                    self.in_number = true;
                } else {
                    self.end.get_or_insert(self.out.len());
                    self.in_number = true;
                }
            }
        }
        if self.at < self.number.len() {
            self.at += 1;
        }
    }
}

/// The last digit after the point that is not zero, or the point; `None` without a point.
fn last_relevant(number: &[u8]) -> Option<usize> {
    let point = number.iter().position(|&b| b == b'.')?;
    let nonzero = number.iter().rposition(|&b| b != b'0').unwrap_or(point);
    Some(nonzero.max(point))
}
