//! Passwords: what is kept of one, and how a client shows that it knows it.
//!
//! The server never has a password but in the statement that sets it, and not even there where the client has worked out
//! the secret itself, as `psql`'s `\password` does. What is kept ([`Verifier`]) lets it check a proof ([`Exchange`]) and
//! prove that it is the server, but not log in anywhere.

mod exchange;
#[cfg(test)]
mod tests;
mod verifier;

pub use exchange::{Exchange, Refusal};
pub use verifier::Verifier;

use crate::error::{Result, sql_error};

/// What `pg_authid` keeps of a password that somebody has set: a verifier made of it, or the text itself if it is one, or
/// is the MD5 sum that older servers kept. `None` where there is nothing to keep: who has it can't log in by password.
///
/// # Errors
/// The system has no random bytes.
pub fn stored(text: &str) -> Result<Option<String>> {
    if is_md5(text) || Verifier::parse(text).is_some() {
        return Ok(Some(text.to_owned()));
    }
    if text.is_empty() {
        return Ok(None);
    }
    let mut salt = [0; verifier::SALT_BYTES];
    fill(&mut salt)?;
    Ok(Some(Verifier::of(text, &salt, verifier::ITERATIONS).to_string()))
}

/// Random bytes that nobody can guess.
///
/// # Errors
/// `XX000`: the system has none.
pub fn fill(bytes: &mut [u8]) -> Result<()> {
    getrandom::fill(bytes)
        .map_err(|error| sql_error!(INTERNAL_ERROR, "the system has no random bytes: {error}"))
}

/// Whether a text is what older servers kept of a password. Nobody can log in with that here.
pub fn is_md5(text: &str) -> bool {
    let sum = text.strip_prefix("md5").unwrap_or_default();
    let is_digit = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
    sum.len() == 32 && sum.bytes().all(is_digit)
}
