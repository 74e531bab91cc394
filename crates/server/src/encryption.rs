//! TLS: the server's certificate and key, and what clients can bind their proofs to.

use std::fs::{self, Metadata};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::Arc;

use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::NoServerSessionStorage;
use rustls::version::{TLS12, TLS13};
use rustls::{ServerConfig, ServerConnection};
use sha2::{Digest, Sha256, Sha384, Sha512};

use crate::config::Config;
use crate::users;

/// The protocol's name among those that TLS can carry.
const ALPN: &[u8] = b"postgresql";

/// The settings that decide it.
pub(crate) const SETTINGS: &[&str] =
    &["ssl", "ssl_cert_file", "ssl_key_file", "ssl_min_protocol_version"];

/// What new connections are encrypted by.
pub struct Encryption {
    config: Arc<ServerConfig>,
    /// The sum of the server's certificate, which `tls-server-end-point` binds to; `None` where the certificate's
    /// signature is of a kind that has no sum of its own.
    pub(crate) end_point: Option<Vec<u8>>,
}

impl Encryption {
    /// What a configuration asks for; `None`: connections are not encrypted. Relative names are those of files in the
    /// data directory.
    ///
    /// # Errors
    /// One sentence: what is wrong with which file.
    pub(crate) fn load(config: &Config, data: &Path) -> Result<Option<Arc<Encryption>>, String> {
        if !config.value("ssl").as_bool() {
            return Ok(None);
        }
        let file = |name| data.join(config.value(name).as_text());
        let (certificate_file, key_file) = (file("ssl_cert_file"), file("ssl_key_file"));
        let chain = certificates(&certificate_file)?;
        let end_point = chain.first().and_then(|certificate| end_point(certificate));
        let key = private_key(&key_file)?;
        let versions = match config.value("ssl_min_protocol_version").as_text() {
            "TLSv1.3" => &[&TLS13][..],
            _ => &[&TLS13, &TLS12][..],
        };
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let mut tls = ServerConfig::builder_with_provider(provider)
            .with_protocol_versions(versions)
            .map_err(|fault| format!("TLS cannot be used: {fault}"))?
            .with_no_client_auth()
            .with_single_cert(chain, key)
            .map_err(|fault| {
                let (certificate, key) = (certificate_file.display(), key_file.display());
                format!("the certificate {certificate} with the key {key} cannot be used: {fault}")
            })?;
        tls.alpn_protocols = vec![ALPN.to_vec()];
        // No client of this protocol comes back to a session of TLS.
        tls.send_tls13_tickets = 0;
        tls.session_storage = Arc::new(NoServerSessionStorage {});
        Ok(Some(Arc::new(Encryption { config: Arc::new(tls), end_point })))
    }

    /// A connection's state before its first byte.
    ///
    /// # Errors
    /// Those of `rustls`: no random bytes.
    pub(crate) fn begin(&self) -> Result<ServerConnection, rustls::Error> {
        ServerConnection::new(Arc::clone(&self.config))
    }
}

/// Whether a client that encrypts from the first byte on has said that it means this protocol, as it must: what it says
/// could be meant for a server of another kind.
pub(crate) fn means_us(connection: &ServerConnection) -> bool {
    connection.alpn_protocol() == Some(ALPN)
}

fn certificates(file: &Path) -> Result<Vec<CertificateDer<'static>>, String> {
    let failed = |fault: &dyn std::fmt::Display| {
        format!("the certificate {} cannot be read: {fault}", file.display())
    };
    let chain = CertificateDer::pem_file_iter(file).map_err(|fault| failed(&fault))?;
    let chain: Vec<_> = chain.collect::<Result<_, _>>().map_err(|fault| failed(&fault))?;
    if chain.is_empty() { Err(failed(&"there is none in it")) } else { Ok(chain) }
}

fn private_key(file: &Path) -> Result<PrivateKeyDer<'static>, String> {
    let failed = |fault: &dyn std::fmt::Display| {
        format!("the private key {} cannot be read: {fault}", file.display())
    };
    let metadata = fs::metadata(file).map_err(|fault| failed(&fault))?;
    if !is_private(&metadata) {
        return Err(format!(
            "the private key {} can be read by others: its permissions must be 0600 or less, or 0640 or less if root \
             owns it",
            file.display()
        ));
    }
    PrivateKeyDer::from_pem_file(file).map_err(|fault| failed(&fault))
}

/// Whether nobody else can read a file, but a group that root has given it to.
fn is_private(metadata: &Metadata) -> bool {
    let forbidden = match metadata.uid() {
        0 => 0o037,
        owner if owner == users::current() => 0o077,
        _ => 0o777,
    };
    metadata.mode() & forbidden == 0
}

/// RFC 5929's `tls-server-end-point`: the certificate's sum by the function that its signature uses, but by SHA-256 where
/// that is MD5 or SHA-1.
fn end_point(certificate: &[u8]) -> Option<Vec<u8>> {
    // Behind the last byte of the object identifier's arcs that name RSA's (PKCS 1) and ECDSA's signatures.
    const RSA: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01];
    const ECDSA_SHA1: &[u8] = &[0x2a, 0x86, 0x48, 0xce, 0x3d, 0x04, 0x01];
    const ECDSA: &[u8] = &[0x2a, 0x86, 0x48, 0xce, 0x3d, 0x04, 0x03];
    let identifier = signature_algorithm(certificate)?;
    let (last, arcs) = identifier.split_last()?;
    Some(match (arcs, last) {
        (RSA, 4 | 5 | 11) | (ECDSA, 2) => Sha256::digest(certificate).to_vec(),
        (RSA, 12) | (ECDSA, 3) => Sha384::digest(certificate).to_vec(),
        (RSA, 13) | (ECDSA, 4) => Sha512::digest(certificate).to_vec(),
        _ if identifier == ECDSA_SHA1 => Sha256::digest(certificate).to_vec(),
        _ => return None,
    })
}

/// The object identifier of a certificate's signature: `SEQUENCE { body, SEQUENCE { identifier, … }, … }`.
fn signature_algorithm(certificate: &[u8]) -> Option<&[u8]> {
    const SEQUENCE: u8 = 0x30;
    const IDENTIFIER: u8 = 0x06;
    let (certificate, _) = element(certificate, SEQUENCE)?;
    let (_body, rest) = element(certificate, SEQUENCE)?;
    let (algorithm, _) = element(rest, SEQUENCE)?;
    element(algorithm, IDENTIFIER).map(|(identifier, _)| identifier)
}

/// Splits an element of this kind off DER: what is in it, and what follows.
fn element(der: &[u8], kind: u8) -> Option<(&[u8], &[u8])> {
    let (head, rest) = der.split_first_chunk::<2>()?;
    let (size, rest) = match (head[0] == kind).then_some(head[1])? {
        short @ 0..0x80 => (usize::from(short), rest),
        long => {
            let (size, rest) = rest.split_at_checked(usize::from(long & 0x7f))?;
            let all = |size: usize, byte: &u8| size.checked_mul(256)?.checked_add((*byte).into());
            (size.iter().try_fold(0, all)?, rest)
        }
    };
    rest.split_at_checked(size)
}

/// Only its name: a key belongs into no log.
impl std::fmt::Debug for Encryption {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Encryption")
    }
}
