//! A SCRAM exchange as the server sees it (RFC 5802, RFC 7677; channel binding by RFC 5929's `tls-server-end-point`).
//!
//! ```text
//! client-first   n,,n=,r=NONCE                      or p=tls-server-end-point,,…
//! server-first   r=NONCE+OURS,s=SALT,i=ITERATIONS
//! client-final   c=BINDING,r=NONCE+OURS,p=PROOF
//! server-final   v=SIGNATURE
//! ```
//!
//! Who has no verifier gets a made-up salt and fails at the end, as with a wrong password.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use crate::error::Result;

use super::verifier::{ITERATIONS, KEY_BYTES, SALT_BYTES, Verifier, keyed, sum};

/// The mechanism without, and the one with channel binding.
pub const PLAIN: &str = "SCRAM-SHA-256";
/// See [`PLAIN`].
pub const BINDING: &str = "SCRAM-SHA-256-PLUS";

/// The only way of binding that is known.
const END_POINT: &str = "tls-server-end-point";
/// Random bytes of the server's part of the nonce.
const NONCE_BYTES: usize = 18;

/// Why an exchange ends without a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// The message is none of the protocol: what is wrong with it.
    Malformed(&'static str),
    /// The client and this server disagree on channel binding, perhaps because of somebody between them.
    Binding(&'static str),
    /// What the client's proof is bound to is not this connection's encryption.
    Unbound,
    /// The password is wrong, or there is none.
    Password,
}

/// What the server says next.
pub type Answer = std::result::Result<String, Refusal>;

/// See the module's description.
pub struct Exchange {
    verifier: Verifier,
    /// Whatever the client shows: there is no password.
    doomed: bool,
    /// What the connection is encrypted with, to be bound to; `None` without encryption.
    end_point: Option<Vec<u8>>,
    /// The server's part of the nonce.
    nonce: String,
    begun: Option<Begun>,
}

/// What the first round has settled.
struct Begun {
    /// What the client's last message has to say of binding, in base 64.
    binding: String,
    /// The whole nonce.
    nonce: String,
    /// Both sides' first messages, as they are signed.
    signed: String,
}

impl Exchange {
    /// Before the first message. Without a verifier the salt is made up out of the server's secret and the user's name, so
    /// that it is the same each time.
    ///
    /// # Errors
    /// `XX000`: the system has no random bytes.
    pub fn new(
        verifier: Option<Verifier>,
        secret: &[u8],
        user: &str,
        end_point: Option<Vec<u8>>,
    ) -> Result<Exchange> {
        let mut nonce = [0; NONCE_BYTES];
        super::fill(&mut nonce)?;
        let made_up = keyed(secret, &[user.as_bytes()]);
        Ok(Exchange::with_nonce(verifier, made_up, end_point, STANDARD.encode(nonce)))
    }

    pub(super) fn with_nonce(
        verifier: Option<Verifier>,
        made_up: [u8; 32],
        end_point: Option<Vec<u8>>,
        nonce: String,
    ) -> Exchange {
        let doomed = verifier.is_none();
        let verifier = verifier.unwrap_or_else(|| Verifier {
            iterations: ITERATIONS,
            salt: made_up[..SALT_BYTES].to_vec(),
            stored_key: [0; KEY_BYTES],
            server_key: [0; KEY_BYTES],
        });
        Exchange { verifier, doomed, end_point, nonce, begun: None }
    }

    /// The mechanisms that the client may choose from, the best first.
    pub fn mechanisms(&self) -> &'static [&'static str] {
        if self.end_point.is_some() { &[BINDING, PLAIN] } else { &[PLAIN] }
    }

    /// Whether the first message has come.
    pub fn has_begun(&self) -> bool {
        self.begun.is_some()
    }

    /// Answers the client's first message, of one of [`Exchange::mechanisms`].
    ///
    /// # Errors
    /// [`Refusal::Malformed`], [`Refusal::Binding`].
    pub fn first(&mut self, mechanism: &str, message: &[u8]) -> Answer {
        let message = text(message)?;
        let (flag, rest) = message.split_once(',').ok_or(MALFORMED)?;
        let (identity, bare) = rest.split_once(',').ok_or(MALFORMED)?;
        let binding = self.binding(mechanism, flag, &message[..message.len() - bare.len()])?;
        if !identity.is_empty() {
            return Err(Refusal::Malformed(
                "The client uses authorization identity, but it is not supported.",
            ));
        }
        let mut attributes = bare.split(',');
        match attributes.next() {
            Some(user) if user.starts_with("n=") => {}
            Some(more) if more.starts_with("m=") => {
                return Err(Refusal::Malformed("The client requires an unsupported extension."));
            }
            _ => return Err(MALFORMED),
        }
        let theirs = attributes.next().and_then(|nonce| nonce.strip_prefix("r="));
        let is_printable = |byte: u8| (0x21..=0x7e).contains(&byte);
        let theirs = theirs.filter(|nonce| !nonce.is_empty() && nonce.bytes().all(is_printable));
        let nonce = format!("{}{}", theirs.ok_or(NONCE)?, self.nonce);
        let Verifier { iterations, salt, .. } = &self.verifier;
        let answer = format!("r={nonce},s={},i={iterations}", STANDARD.encode(salt));
        self.begun = Some(Begun { binding, nonce, signed: format!("{bare},{answer}") });
        Ok(answer)
    }

    /// What the client's last message must say of binding.
    fn binding(&self, mechanism: &str, flag: &str, header: &str) -> Answer {
        let bound = match (flag, &self.end_point) {
            ("n" | "y", _) if mechanism == BINDING => {
                return Err(Refusal::Malformed(
                    "The client selected SCRAM-SHA-256-PLUS, but the SCRAM message does not include channel \
                     binding data.",
                ));
            }
            ("y", Some(_)) => {
                return Err(Refusal::Binding(
                    "The client supports SCRAM channel binding but thinks the server does not.  However, this \
                     server does support channel binding.",
                ));
            }
            ("n" | "y", _) => header.as_bytes().to_vec(),
            (flag, Some(end_point)) if mechanism == BINDING => {
                match flag.strip_prefix("p=") {
                    Some(END_POINT) => {}
                    Some(_) => {
                        return Err(Refusal::Malformed("Unsupported SCRAM channel-binding type."));
                    }
                    None => return Err(MALFORMED),
                }
                [header.as_bytes(), end_point].concat()
            }
            (flag, _) if flag.starts_with("p=") => {
                return Err(Refusal::Malformed(
                    "The client selected SCRAM-SHA-256 without channel binding, but the SCRAM message includes \
                     channel binding data.",
                ));
            }
            _ => return Err(MALFORMED),
        };
        Ok(STANDARD.encode(bound))
    }

    /// Answers the client's last message: it has shown that it knows the password.
    ///
    /// # Errors
    /// [`Refusal`] of every kind.
    pub fn last(&self, message: &[u8]) -> Answer {
        let begun = self.begun.as_ref().ok_or(MALFORMED)?;
        let message = text(message)?;
        let (unproved, proof) = message.rsplit_once(",p=").ok_or(MALFORMED)?;
        let mut attributes = unproved.split(',');
        let binding = attributes.next().and_then(|binding| binding.strip_prefix("c="));
        let nonce = attributes.next().and_then(|nonce| nonce.strip_prefix("r="));
        if binding.ok_or(MALFORMED)? != begun.binding {
            return Err(Refusal::Unbound);
        }
        if nonce.ok_or(MALFORMED)? != begun.nonce {
            return Err(NONCE);
        }
        let proof = STANDARD.decode(proof).ok();
        let mut key = proof
            .and_then(|proof| <[u8; KEY_BYTES]>::try_from(proof).ok())
            .ok_or(Refusal::Malformed("Malformed proof in client-final-message."))?;
        let Verifier { stored_key, server_key, .. } = &self.verifier;
        let signed = [begun.signed.as_bytes(), b",", unproved.as_bytes()];
        let signature = keyed(stored_key, &signed);
        key.iter_mut().zip(signature).for_each(|(key, signature)| *key ^= signature);
        if !same(&sum(&key), stored_key) || self.doomed {
            return Err(Refusal::Password);
        }
        Ok(format!("v={}", STANDARD.encode(keyed(server_key, &signed))))
    }
}

const MALFORMED: Refusal =
    Refusal::Malformed("The message's attributes are not those that are expected.");
const NONCE: Refusal = Refusal::Malformed("The nonce is not one that may be there.");

fn text(message: &[u8]) -> std::result::Result<&str, Refusal> {
    std::str::from_utf8(message).map_err(|_| Refusal::Malformed("The message is no text."))
}

/// Takes as long whatever the first difference.
fn same(a: &[u8; KEY_BYTES], b: &[u8; KEY_BYTES]) -> bool {
    std::hint::black_box(a.iter().zip(b).fold(0, |all, (a, b)| all | (a ^ b))) == 0
}
