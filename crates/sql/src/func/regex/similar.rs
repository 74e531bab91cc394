//! SQL's `SIMILAR TO` patterns as regular expressions.

use crate::error::{Result, bail, sql_error};

/// The regular expression for a pattern; `escape` of `None` means the backslash, an empty one
/// means no escape character.
pub(super) fn to_regex(pattern: &str, escape: Option<&str>) -> Result<String> {
    let escape = match escape {
        None => Some('\\'),
        Some(text) => {
            let mut chars = text.chars();
            match (chars.next(), chars.next()) {
                (None, _) => None,
                (Some(only), None) => Some(only),
                _ => {
                    return Err(sql_error!(INVALID_ESCAPE_SEQUENCE, "invalid escape string")
                        .with_hint("Escape string must be empty or one character."));
                }
            }
        }
    };
    // The group keeps alternatives inside the anchors. Two escaped quotes split the pattern into
    // three: the first part matches as little as it can, the middle is what `substring` returns.
    let mut out = String::from("^(?:");
    let mut after_escape = false;
    let mut in_brackets = false;
    let mut separators = 0;
    for c in pattern.chars() {
        if after_escape {
            if c == '"' && !in_brackets {
                match separators {
                    0 => out.push_str("){1,1}?("),
                    1 => out.push_str("){1,1}(?:"),
                    _ => bail!(
                        INVALID_USE_OF_ESCAPE_CHARACTER,
                        "SQL regular expression may not contain more than two \
                         escape-double-quote separators"
                    ),
                }
                separators += 1;
            } else {
                // A letter escaped so might mean something to the engine; SQL says it does not.
                out.push('\\');
                out.push(c);
            }
            after_escape = false;
        } else if Some(c) == escape {
            after_escape = true;
        } else if in_brackets {
            if c == '\\' {
                out.push('\\');
            }
            out.push(c);
            in_brackets = c != ']';
        } else {
            match c {
                '[' => {
                    out.push('[');
                    in_brackets = true;
                }
                '%' => out.push_str(".*"),
                '_' => out.push('.'),
                '(' => out.push_str("(?:"),
                '\\' | '.' | '^' | '$' => {
                    out.push('\\');
                    out.push(c);
                }
                _ => out.push(c),
            }
        }
    }
    out.push_str(")$");
    Ok(out)
}
