//! What is kept of a password: RFC 5802's `StoredKey` and `ServerKey`, in PostgreSQL's spelling.

use std::borrow::Cow;
use std::fmt;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use hmac::{Hmac, Mac};
use sha2::{Digest, Sha256};

/// Bytes of a key, of a sum and of a proof.
pub(super) const KEY_BYTES: usize = 32;
/// Bytes of salt that a new verifier has.
pub(super) const SALT_BYTES: usize = 16;
/// How often a new verifier has its password go round, as PostgreSQL does.
pub(super) const ITERATIONS: u32 = 4096;

const MECHANISM: &str = "SCRAM-SHA-256";

/// `SCRAM-SHA-256$ITERATIONS:SALT$STOREDKEY:SERVERKEY`, the latter three in base 64.
#[derive(Clone, PartialEq, Eq)]
pub struct Verifier {
    pub(super) iterations: u32,
    pub(super) salt: Vec<u8>,
    /// The sum of the key whose owner knows the password.
    pub(super) stored_key: [u8; KEY_BYTES],
    /// The key by which the server shows that it knows this verifier.
    pub(super) server_key: [u8; KEY_BYTES],
}

impl Verifier {
    /// Of a password; takes as long as `iterations` says.
    pub fn of(password: &str, salt: &[u8], iterations: u32) -> Verifier {
        // Passwords that the profile forbids, or makes nothing of, count as they are, as everywhere.
        let prepared = stringprep::saslprep(password).ok().filter(|prepared| !prepared.is_empty());
        let prepared = prepared.unwrap_or(Cow::Borrowed(password));
        let salted = salted(prepared.as_bytes(), salt, iterations);
        Verifier {
            iterations,
            salt: salt.to_vec(),
            stored_key: sum(&keyed(&salted, &[b"Client Key"])),
            server_key: keyed(&salted, &[b"Server Key"]),
        }
    }

    /// Reads one; `None` of anything else.
    pub fn parse(text: &str) -> Option<Verifier> {
        let [mechanism, salted, keys] = *text.split('$').collect::<Vec<_>>() else { return None };
        let (iterations, salt) = salted.split_once(':')?;
        let (stored_key, server_key) = keys.split_once(':')?;
        let key = |text: &str| <[u8; KEY_BYTES]>::try_from(STANDARD.decode(text).ok()?).ok();
        let is_number = iterations.bytes().all(|byte| byte.is_ascii_digit());
        (mechanism == MECHANISM && is_number).then_some(())?;
        Some(Verifier {
            iterations: iterations.parse().ok().filter(|iterations| *iterations > 0)?,
            salt: STANDARD.decode(salt).ok()?,
            stored_key: key(stored_key)?,
            server_key: key(server_key)?,
        })
    }
}

impl fmt::Display for Verifier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [salt, stored, server] =
            [&self.salt[..], &self.stored_key, &self.server_key].map(|b| STANDARD.encode(b));
        write!(f, "{MECHANISM}${}:{salt}${stored}:{server}", self.iterations)
    }
}

/// Says nothing of the keys: they belong into no log.
impl fmt::Debug for Verifier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Verifier").field("iterations", &self.iterations).finish_non_exhaustive()
    }
}

/// RFC 5802's `HMAC`, of the parts one after the other.
pub(super) fn keyed(key: &[u8], parts: &[&[u8]]) -> [u8; KEY_BYTES] {
    let mut mac = Hmac::<Sha256>::new_from_slice(key).expect("a key may be of any length");
    parts.iter().for_each(|part| mac.update(part));
    mac.finalize().into_bytes().into()
}

/// RFC 5802's `H`.
pub(super) fn sum(bytes: &[u8]) -> [u8; KEY_BYTES] {
    Sha256::digest(bytes).into()
}

/// RFC 5802's `Hi`.
fn salted(password: &[u8], salt: &[u8], iterations: u32) -> [u8; KEY_BYTES] {
    let keyed = Hmac::<Sha256>::new_from_slice(password).expect("a key may be of any length");
    let next = |parts: &[&[u8]]| -> [u8; KEY_BYTES] {
        let mut mac = keyed.clone();
        parts.iter().for_each(|part| mac.update(part));
        mac.finalize().into_bytes().into()
    };
    let mut last = next(&[salt, &1_u32.to_be_bytes()]);
    let mut all = last;
    for _ in 1..iterations {
        last = next(&[&last]);
        all.iter_mut().zip(last).for_each(|(all, last)| *all ^= last);
    }
    all
}
