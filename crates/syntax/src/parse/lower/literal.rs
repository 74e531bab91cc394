//! Numbers as the lexer leaves them: text, when they do not fit 32 bits.

use crate::ast::Literal;

/// Reads the text of a numeric token: decimal, or an integer in base 2, 8 or 16, with underscores
/// between digits, perhaps with a minus sign folded into it.
pub(crate) fn number(text: &str) -> Literal {
    let (negative, digits) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    let digits: String = digits.chars().filter(|c| *c != '_').collect();
    let decimal = match radix(&digits) {
        Some((radix, digits)) => to_decimal(digits, radix),
        None => digits,
    };
    let text = if negative { format!("-{decimal}") } else { decimal };
    match text.parse::<i64>() {
        Ok(value) => Literal::Integer(value),
        Err(_) => Literal::Numeric(text.into()),
    }
}

fn radix(digits: &str) -> Option<(u32, &str)> {
    let radix = match digits.as_bytes() {
        [b'0', b'x' | b'X', ..] => 16,
        [b'0', b'o' | b'O', ..] => 8,
        [b'0', b'b' | b'B', ..] => 2,
        _ => return None,
    };
    Some((radix, &digits[2..]))
}

/// The decimal text of an integer of any length.
fn to_decimal(digits: &str, radix: u32) -> String {
    // Little-endian, nine decimal digits per element.
    const BASE: u64 = 1_000_000_000;
    let mut limbs: Vec<u64> = vec![0];
    for digit in digits.chars().filter_map(|c| c.to_digit(radix)) {
        let mut carry = u64::from(digit);
        for limb in &mut limbs {
            let value = *limb * u64::from(radix) + carry;
            *limb = value % BASE;
            carry = value / BASE;
        }
        if carry > 0 {
            limbs.push(carry);
        }
    }
    let mut text = limbs.last().map_or(String::new(), u64::to_string);
    for limb in limbs.iter().rev().skip(1) {
        text.push_str(&format!("{limb:09}"));
    }
    text
}
