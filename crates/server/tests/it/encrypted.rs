//! Clients that encrypt what they say, by another side of TLS than the server's.

use std::fs;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use postgres_protocol::authentication::sasl::{ChannelBinding, ScramSha256};
use rustls::pki_types::CertificateDer;
use rustls::{ClientConfig, RootCertStore};
use server::Options;
use server::config::Config;
use sha2::{Digest, Sha256};
use socket2::{Domain, Socket, Type};
use wire::startup;

use super::client::Client;
use super::{House, options, passwords};

/// A server that can encrypt, and the certificate that it shows.
struct Safe {
    house: House,
    certificate: CertificateDer<'static>,
}

/// Writes a certificate and its key into a data directory.
fn certify(data: &Path) -> CertificateDer<'static> {
    let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    fs::create_dir_all(data.parent().unwrap()).unwrap();
    let key = data.parent().unwrap().join("server.key");
    fs::write(data.parent().unwrap().join("server.crt"), made.cert.pem()).unwrap();
    fs::write(&key, made.signing_key.serialize_pem()).unwrap();
    fs::set_permissions(&key, fs::Permissions::from_mode(0o600)).unwrap();
    made.cert.der().clone()
}

/// A configuration with the files beside the data directory.
fn config() -> Config {
    let mut config = Config::new();
    let files = [("ssl_cert_file", "../server.crt"), ("ssl_key_file", "../server.key")];
    for (name, value) in files.into_iter().chain([("ssl", "on")]) {
        config.set(name, value).unwrap();
    }
    config
}

fn safe(options: Options) -> Safe {
    // The directory that relative names start from must be there.
    fs::create_dir_all(&options.data).unwrap();
    let certificate = certify(&options.data);
    let encryption = config().options(options.data.clone()).unwrap().encryption;
    assert!(encryption.is_some());
    let house = passwords::guarded(Options { encryption, ..options });
    Safe { house, certificate }
}

impl Safe {
    fn address(&self) -> SocketAddr {
        self.house.server().addresses()[0]
    }

    fn tcp(&self) -> TcpStream {
        TcpStream::connect(self.address()).unwrap()
    }

    /// What a client knows that trusts this certificate alone.
    fn trust(&self, protocols: &[&[u8]]) -> Arc<ClientConfig> {
        trust(&self.certificate, protocols)
    }

    /// A client that has asked for encryption and got it.
    fn client(&self) -> Client {
        Client::encrypted(granted(self.tcp()), &self.trust(&[]))
    }

    /// Likewise, logged in.
    fn session(&self) -> Client {
        let mut client = self.client();
        log_in(&mut client, &self.certificate).unwrap();
        client
    }
}

fn trust(certificate: &CertificateDer<'static>, protocols: &[&[u8]]) -> Arc<ClientConfig> {
    let mut roots = RootCertStore::empty();
    roots.add(certificate.clone()).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ClientConfig::builder_with_provider(provider);
    let builder = builder.with_safe_default_protocol_versions().unwrap();
    let mut config = builder.with_root_certificates(roots).with_no_client_auth();
    config.alpn_protocols = protocols.iter().map(|protocol| protocol.to_vec()).collect();
    Arc::new(config)
}

/// Asks for encryption, which is granted.
fn granted(mut stream: TcpStream) -> TcpStream {
    assert_eq!(asked(&mut stream), b'S');
    stream
}

fn asked(stream: &mut (impl Read + Write)) -> u8 {
    let mut request = Vec::new();
    startup::put_ssl_request(&mut request);
    stream.write_all(&request).unwrap();
    let mut answer = [0];
    stream.read_exact(&mut answer).unwrap();
    answer[0]
}

/// Logs in with a proof that is bound to this certificate.
fn log_in(client: &mut Client, certificate: &CertificateDer<'_>) -> Result<(), String> {
    let mut packet = Vec::new();
    let parameters = [("user", "me"), ("database", "postgres")];
    startup::put_session(&mut packet, startup::PROTOCOL_3_0, parameters);
    client.send(&packet);
    let (_, mechanisms) = client.next_request().unwrap();
    assert_eq!(mechanisms, b"SCRAM-SHA-256-PLUS\0SCRAM-SHA-256\0\0");
    let end_point = Sha256::digest(certificate).to_vec();
    let mut scram = ScramSha256::new(b"a word", ChannelBinding::tls_server_end_point(end_point));
    let first = scram.message().to_vec();
    client.request(|r| r.sasl_initial("SCRAM-SHA-256-PLUS", Some(&first)));
    let (_, said) = client.next_request()?;
    scram.update(&said).unwrap();
    client.request(|r| r.sasl_response(scram.message()));
    let (_, said) = client.next_request()?;
    scram.finish(&said).unwrap();
    assert!(client.until_ready().ends_with("Z I"));
    Ok(())
}

const ONE: &str = "T ?column?\nD 1\nC SELECT 1\nZ I";

#[test]
fn clients_encrypt_and_bind_their_proofs_to_it() {
    let safe = safe(options());
    assert_eq!(safe.session().query("select 1"), ONE);
    // Somebody between the two has another certificate.
    let refused = log_in(&mut safe.client(), &CertificateDer::from(vec![1, 2, 3]));
    assert_eq!(refused.unwrap_err(), "FATAL 28000 SCRAM channel binding check failed");
    // Nobody has to encrypt, and who comes by the unix socket can't.
    let mut packet = Vec::new();
    startup::put_session(&mut packet, startup::PROTOCOL_3_0, [("user", "me")]);
    let mut open = Client::tcp(safe.address());
    open.send(&packet);
    assert_eq!(open.next_request().unwrap().1, b"SCRAM-SHA-256\0\0");
    let mut local = std::os::unix::net::UnixStream::connect(safe.house.socket()).unwrap();
    assert_eq!(asked(&mut local), b'N');
}

#[test]
fn long_answers_and_long_questions_are_encrypted_whole() {
    let safe = safe(options());
    let mut client = safe.session();
    let long = "x".repeat(3 << 20);
    assert_eq!(
        client.query(&format!("select length('{long}')")),
        format!("T length\nD {}\nC SELECT 1\nZ I", 3 << 20)
    );
    // It is sent more than any socket holds before it takes the first byte.
    client.request(|r| r.query("select repeat(i::text, 1000) from generate_series(1, 20000) i"));
    std::thread::sleep(Duration::from_millis(300));
    let answer = client.until_ready();
    let rows = answer.lines().filter(|line| line.starts_with("D ")).count();
    assert!(rows == 20_000 && answer.ends_with("C SELECT 20000\nZ I"), "{rows}");
    for (number, line) in answer.lines().filter_map(|line| line.strip_prefix("D ")).enumerate() {
        assert!(line == (number + 1).to_string().repeat(1000), "row {number}");
    }
    assert!(client.query("create table kept (i int, word text)").starts_with("C "));
    client.request(|r| r.query("copy kept from stdin"));
    assert_eq!(client.next().unwrap(), "G 2");
    for i in 0..20_000 {
        client.request(|r| r.copy_data(format!("{i}\t{}\n", "y".repeat(100)).as_bytes()));
    }
    client.request(|r| r.copy_done());
    assert_eq!(client.until_ready(), "C COPY 20000\nZ I");
    assert_eq!(
        client.query("select sum(i), sum(length(word)) from kept"),
        "T sum,sum\nD 199990000,2000000\nC SELECT 1\nZ I"
    );
}

#[test]
fn many_clients_are_served_encrypted_and_not_side_by_side() {
    let safe = safe(options());
    let mut clients: Vec<_> = (0..12).map(|_| safe.session()).collect();
    for round in 0..50 {
        for (number, client) in clients.iter_mut().enumerate() {
            client.request(|r| r.query(&format!("select {}", number * 1000 + round)));
        }
        for (number, client) in clients.iter_mut().enumerate() {
            let answer = client.until_ready();
            let expected = format!("T ?column?\nD {}\nC SELECT 1\nZ I", number * 1000 + round);
            assert_eq!(answer, expected);
        }
    }
    // A request to cancel may come either way.
    let mut asleep = clients.pop().unwrap();
    asleep.request(|r| r.query("select pg_sleep(60)"));
    std::thread::sleep(Duration::from_millis(100));
    let mut cancel = Vec::new();
    startup::put_cancel(&mut cancel, asleep.process, asleep.key);
    let mut canceler = safe.client();
    canceler.send(&cancel);
    canceler.expect_end();
    let answer = asleep.until_ready();
    assert_eq!(answer, "T pg_sleep\nERROR 57014 canceling statement due to user request\nZ I");
    clients[0].request(|r| r.terminate());
    clients[0].expect_end();
}

#[test]
fn who_encrypts_from_the_first_byte_on_says_what_for() {
    let safe = safe(options());
    let config = safe.trust(&[b"postgresql"]);
    let mut client = Client::encrypted(safe.tcp(), &config);
    log_in(&mut client, &safe.certificate).unwrap();
    assert_eq!(client.query("select 1"), ONE);
    for protocols in [&[][..], &[&b"http/1.1"[..]]] {
        let mut other = Client::encrypted(safe.tcp(), &safe.trust(protocols));
        let mut packet = Vec::new();
        startup::put_session(&mut packet, startup::PROTOCOL_3_0, [("user", "me")]);
        if other.try_send(&packet).is_ok() {
            assert!(other.last_words().is_empty());
        }
    }
    // It can be said where it is asked for, too; and asked for only once.
    let mut client = Client::encrypted(granted(safe.tcp()), &config);
    let mut request = Vec::new();
    startup::put_ssl_request(&mut request);
    client.send(&request);
    assert_eq!(
        client.until_ready(),
        "FATAL 0A000 unsupported frontend protocol 1234.5679: server supports 3.0 to 3.0"
    );
}

#[test]
fn what_comes_unencrypted_or_is_no_encryption_is_refused() {
    let soon = Duration::from_secs(3);
    let safe = safe(Options { authentication_timeout: soon, ..options() });
    // Put between the request and what is encrypted, to be taken for it.
    let mut request = Vec::new();
    startup::put_ssl_request(&mut request);
    startup::put_session(&mut request, startup::PROTOCOL_3_0, [("user", "me")]);
    let mut stream = safe.tcp();
    stream.write_all(&request).unwrap();
    let mut told = Vec::new();
    stream.read_to_end(&mut told).unwrap();
    let told = String::from_utf8_lossy(&told).into_owned();
    assert!(told.starts_with('S') && told.contains("unencrypted data after SSL request"), "{told}");
    let ends = |stream: &mut TcpStream| {
        let mut rest = Vec::new();
        // Reset, where what it said was not read.
        let _ = stream.read_to_end(&mut rest);
    };
    let mut silent: Vec<_> = (0..5).map(|_| granted(safe.tcp())).collect();
    for noise in [&b"GET / HTTP/1.1\r\n\r\n"[..], b"\x16\x03\x01\x00\x05hello", &[0x16; 4096]] {
        let mut stream = granted(safe.tcp());
        stream.write_all(noise).unwrap();
        ends(&mut stream);
        let mut at_once = safe.tcp();
        at_once.write_all(noise).unwrap();
        at_once.shutdown(std::net::Shutdown::Write).unwrap();
        ends(&mut at_once);
    }
    let mut half = granted(safe.tcp());
    half.write_all(b"\x16\x03\x01\x02\x00").unwrap();
    assert_eq!(safe.session().query("select 1"), ONE, "others are not disturbed");
    silent.iter_mut().for_each(ends);
    ends(&mut half);
}

/// What was to be sent is given up where the client breaks the encryption; what comes later must not take its place.
#[test]
fn who_breaks_the_encryption_while_much_waits_for_it_harms_nobody() {
    let safe = safe(options());
    let mut watcher = safe.session();
    // A client that reads nothing, and asks until an answer of 150 KB has to wait for room.
    let lazy = || {
        let socket = Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
        socket.set_recv_buffer_size(16 << 10).unwrap();
        socket.connect(&safe.address().into()).unwrap();
        let stream = granted(socket.into());
        let mut client = Client::encrypted(stream.try_clone().unwrap(), &safe.trust(&[]));
        log_in(&mut client, &safe.certificate).unwrap();
        assert!(client.query("listen news").ends_with("Z I"));
        (stream, client)
    };
    // Whether it is answered soon, into the socket or what waits before it.
    let ask = |client: &mut Client, watcher: &mut Client| {
        let question =
            format!("select state_change from pg_stat_activity where pid = {}", client.process);
        let before = watcher.query(&question);
        client.request(|r| r.query("select repeat('x', 150000)"));
        (0..200).any(|_| {
            std::thread::sleep(Duration::from_millis(10));
            watcher.query(&question) != before
        })
    };
    let (stream, mut client) = lazy();
    let fits = (0..200).take_while(|_| ask(&mut client, &mut watcher)).count();
    assert!((6..200).contains(&fits), "{fits}");
    drop((stream, client));
    // The same again, but for some that had to wait: the session is idle, and much waits for its client. How much the sockets
    // hold is not always the same.
    for fewer in 1..6 {
        let (mut stream, mut client) = lazy();
        for _ in fewer..fits {
            ask(&mut client, &mut watcher);
        }
        assert!(watcher.query("notify news, 'something'").ends_with("Z I"));
        let broken = b"\x17\x03\x03\x00\x20 this is not what was agreed on before, by no means";
        stream.write_all(broken).unwrap();
        let mut rest = Vec::new();
        let _ = stream.read_to_end(&mut rest);
        assert_eq!(watcher.query("select 1"), ONE);
    }
    assert_eq!(safe.session().query("select 1"), ONE);
}

#[test]
fn a_server_that_ends_waits_for_no_keys() {
    let mut safe = safe(options());
    let mut half = granted(safe.tcp());
    half.write_all(b"\x16\x03\x01\x02\x00").unwrap();
    let _silent = granted(safe.tcp());
    assert_eq!(safe.session().query("select 1"), ONE);
    let begun = std::time::Instant::now();
    safe.house.shutdown();
    assert!(begun.elapsed() < options().authentication_timeout / 2);
}

#[test]
fn certificates_are_changed_while_it_runs() {
    let safe = safe(options());
    let data = safe.house.dir.join("data");
    let mut before = safe.session();
    let certificate = certify(&data);
    safe.house.server().reload(&config());
    let after = Safe { certificate, ..safe };
    assert_eq!(after.session().query("select 1"), ONE);
    assert_eq!(before.query("select 1"), ONE, "who has keys goes on with them");
    // What can't be used changes nothing.
    let key = after.house.dir.join("server.key");
    fs::set_permissions(&key, fs::Permissions::from_mode(0o644)).unwrap();
    let refused = |what: &str| {
        let fault = config().options(data.clone()).unwrap_err().to_string();
        assert!(fault.contains(what), "{fault}");
    };
    refused("can be read by others");
    let mut wanted = config();
    wanted.set("ssl_min_protocol_version", "TLSv1.3").unwrap();
    after.house.server().reload(&wanted);
    let shown = after.session().query("show ssl_min_protocol_version");
    assert!(shown.contains("TLSv1.2"), "{shown}");
    fs::set_permissions(&key, fs::Permissions::from_mode(0o600)).unwrap();
    fs::write(after.house.dir.join("server.crt"), "nothing of the kind").unwrap();
    refused("there is none in it");
    fs::remove_file(&key).unwrap();
    certify(&after.house.dir.join("elsewhere").join("data"));
    fs::copy(after.house.dir.join("elsewhere/server.crt"), after.house.dir.join("server.crt"))
        .unwrap();
    refused("the private key");
    // It can be switched off.
    after.house.server().reload(&Config::new());
    assert_eq!(asked(&mut after.tcp()), b'N');
}
