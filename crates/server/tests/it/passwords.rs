//! Clients that show who they are by a password, through another implementation of SCRAM than ours.

use postgres_protocol::authentication::sasl::{ChannelBinding, ScramSha256};
use server::config::Config;
use server::{Authentication, Options, Rules};
use sql::session::Session;

use super::client::Client;
use super::{House, open, options};

const SASL: u32 = 10;
const CONTINUE: u32 = 11;
const FINAL: u32 = 12;

const REFUSED: &str = "FATAL 28P01 password authentication failed for user";

/// A server that asks everybody for a password.
fn house() -> House {
    guarded(options())
}

pub fn guarded(options: Options) -> House {
    let options = Options { rules: Rules::of(Authentication::Scram), ..options };
    let database = open(&options.data, "me");
    Session::give_first_password(database.cluster(), "a word").unwrap();
    House::over(database, options)
}

fn ask(client: &mut Client, user: &str) {
    let mut packet = Vec::new();
    let parameters = [("user", user), ("database", "postgres")];
    wire::startup::put_session(&mut packet, wire::startup::PROTOCOL_3_0, parameters);
    client.send(&packet);
    let (code, mechanisms) = client.next_request().unwrap();
    assert_eq!((code, &mechanisms[..]), (SASL, &b"SCRAM-SHA-256\0\0"[..]));
}

/// Logs in, or tells why not.
fn log_in(client: &mut Client, user: &str, password: &str) -> Result<(), String> {
    ask(client, user);
    let mut scram = ScramSha256::new(password.as_bytes(), ChannelBinding::unsupported());
    let first = scram.message().to_vec();
    client.request(|r| r.sasl_initial("SCRAM-SHA-256", Some(&first)));
    let (code, said) = client.next_request()?;
    assert_eq!(code, CONTINUE);
    scram.update(&said).unwrap();
    client.request(|r| r.sasl_response(scram.message()));
    let (code, said) = client.next_request()?;
    assert_eq!(code, FINAL);
    scram.finish(&said).expect("the server knows the password, too");
    let told = client.until_ready();
    assert!(told.starts_with("R\n") && told.ends_with("Z I"), "{told}");
    Ok(())
}

#[test]
fn who_knows_the_password_is_let_in_and_nobody_else() {
    let house = house();
    let address = house.server().addresses()[0];
    for mut client in [house.stranger(), Client::tcp(address)] {
        log_in(&mut client, "me", "a word").unwrap();
        assert_eq!(client.query("select current_user"), "T current_user\nD me\nC SELECT 1\nZ I");
    }
    let refused =
        |user: &str, password: &str| log_in(&mut Client::tcp(address), user, password).unwrap_err();
    assert_eq!(refused("me", "another word"), format!("{REFUSED} \"me\""));
    assert_eq!(refused("me", ""), format!("{REFUSED} \"me\""));
    // Nothing tells who is there.
    assert_eq!(refused("nobody", "a word"), format!("{REFUSED} \"nobody\""));
    assert_eq!(refused("pg_database_owner", ""), format!("{REFUSED} \"pg_database_owner\""));
}

#[test]
fn passwords_are_changed_and_taken_away() {
    let house = house();
    let mut me = house.stranger();
    log_in(&mut me, "me", "a word").unwrap();
    let again = |password: &str| log_in(&mut house.stranger(), "me", password);
    let changed = "C ALTER ROLE\nZ I";
    assert_eq!(me.query("alter role me password 'other'"), changed);
    assert!(again("a word").is_err());
    again("other").unwrap();
    // What the client has worked out itself: the verifier of "pencil".
    let verifier = "SCRAM-SHA-256$4096:W22ZaJ0SNY7soEsUEjb6gQ==$WG5d8oPm3OtcPnkdi4Uo7BkeZkBFzpcXkuLmtbsT4qY=:\
                    wfPLwcE6nTWhTAmQ7tl2KeoiWGPlZqQxSrmfPwDl2dU=";
    assert_eq!(
        me.query(&format!("alter user current_user with encrypted password '{verifier}'")),
        changed
    );
    again("pencil").unwrap();
    assert_eq!(me.query("begin"), "C BEGIN\nZ T");
    assert_eq!(me.query("alter role me password 'never'"), "C ALTER ROLE\nZ T");
    assert_eq!(me.query("rollback"), "C ROLLBACK\nZ I");
    again("pencil").unwrap();
    let md5 = "md5d97d5a9bb0aaed1ae4b93c6f4ae5c2fd";
    assert_eq!(me.query(&format!("alter role me password '{md5}'")), changed);
    assert!(again("pencil").is_err());
    let cleared = "NOTICE 00000 empty string is not a valid password, clearing password";
    assert_eq!(me.query("alter role me password ''"), format!("{cleared}\n{changed}"));
    assert!(again("").is_err());
    assert_eq!(me.query("alter role me password 'back'"), changed);
    again("back").unwrap();
    assert_eq!(me.query("alter role me password null"), changed);
    assert!(again("back").is_err());
    assert_eq!(
        me.query("alter role nobody password 'x'"),
        "ERROR 42704 role \"nobody\" does not exist\nZ I"
    );
    assert_eq!(
        me.query("select rolpassword from pg_authid where rolname = 'me'"),
        "T rolpassword\nD null\nC SELECT 1\nZ I"
    );
}

#[test]
fn a_client_may_be_asked_for_its_first_word_and_go_on_at_once() {
    let house = house();
    let mut client = house.stranger();
    ask(&mut client, "me");
    client.request(|r| r.sasl_initial("SCRAM-SHA-256", None));
    assert_eq!(client.next_request().unwrap(), (CONTINUE, Vec::new()));
    let mut scram = ScramSha256::new(b"a word", ChannelBinding::unsupported());
    let first = scram.message().to_vec();
    client.request(|r| r.sasl_response(&first));
    let (_, said) = client.next_request().unwrap();
    scram.update(&said).unwrap();
    // A query right behind the proof is served once it is granted.
    client.request(|r| {
        r.sasl_response(scram.message());
        r.query("select 1");
    });
    let (code, _) = client.next_request().unwrap();
    assert_eq!(code, FINAL);
    assert!(client.until_ready().ends_with("Z I"));
    assert_eq!(client.until_ready(), "T ?column?\nD 1\nC SELECT 1\nZ I");
}

#[test]
fn proofs_that_are_none_are_refused_and_others_undisturbed() {
    let house = house();
    let refused = |write: &dyn Fn(&mut wire::frontend::Requests)| {
        let mut client = house.stranger();
        ask(&mut client, "me");
        client.request(write);
        let told = client.until_ready();
        client.expect_end();
        told
    };
    assert_eq!(
        refused(&|r| r.query("select 1")),
        "FATAL 08P01 expected SASL response, got message type 81"
    );
    assert_eq!(
        refused(&|r| r.sasl_initial("SCRAM-SHA-1", Some(b"n,,n=,r=a"))),
        "FATAL 08P01 client selected an invalid SASL authentication mechanism"
    );
    // Without encryption there is nothing to be bound to.
    assert_eq!(
        refused(&|r| r.sasl_initial("SCRAM-SHA-256-PLUS", Some(b"p=tls-server-end-point,,n=,r=a"))),
        "FATAL 08P01 client selected an invalid SASL authentication mechanism"
    );
    assert_eq!(
        refused(&|r| r.sasl_initial("SCRAM-SHA-256", Some(b"\xff\xff"))),
        "FATAL 08P01 malformed SCRAM message"
    );
    assert!(refused(&|r| r.sasl_response(b"x")).starts_with("FATAL 08P01"));
    // Who says goodbye is not told anything.
    assert_eq!(refused(&|r| r.terminate()), "");
    let mut silent = house.stranger();
    ask(&mut silent, "me");
    silent.send(b"p\x00\x01\x00\x00");
    assert!(silent.until_ready().starts_with("FATAL 08P01"), "longer than a proof may be");
    // Of what can be no proof nothing more is waited for, or kept.
    let mut long = house.stranger();
    ask(&mut long, "me");
    long.send(b"Q\x3f\xff\xff\xfe");
    assert_eq!(long.until_ready(), "FATAL 08P01 expected SASL response, got message type 81");
    long.expect_end();
    log_in(&mut house.stranger(), "me", "a word").unwrap();
}

/// Who is asked for a proof and gives none holds no session, and is let go when its time is over.
#[test]
fn clients_that_prove_nothing_are_let_go() {
    let soon = std::time::Duration::from_secs(3);
    let house = guarded(Options { authentication_timeout: soon, max_connections: 20, ..options() });
    let mut waiting: Vec<_> = (0..20).map(|_| house.stranger()).collect();
    waiting.iter_mut().for_each(|client| ask(client, "me"));
    log_in(&mut house.stranger(), "me", "a word").unwrap();
    waiting.iter_mut().for_each(Client::expect_end);
}

#[test]
fn rules_of_a_file_count_and_are_read_again() {
    let mut config = Config::new();
    config.set("hba_file", "../rules").unwrap();
    let options = options();
    std::fs::create_dir_all(&options.data).unwrap();
    let write = |text: &str| std::fs::write(options.data.join("../rules"), text).unwrap();
    let load = || config.options(options.data.clone()).map(|options| options.rules);
    write("local postgres me trust\nhost all me samehost scram-sha-256\n");
    let database = open(&options.data, "me");
    Session::give_first_password(database.cluster(), "a word").unwrap();
    let house = House::over(database, Options { rules: load().unwrap(), ..options.clone() });
    let address = house.server().addresses()[0];
    house.stranger().start("me");
    let elsewhere = [("user", "me"), ("database", "template1")];
    assert_eq!(
        house.stranger().try_start(&elsewhere),
        "FATAL 28000 no pg_hba.conf entry for host \"[local]\", user \"me\", database \"template1\", no encryption"
    );
    log_in(&mut Client::tcp(address), "me", "a word").unwrap();
    let mut there = house.client();
    write("local all all trust\nhost all all 127.0.0.1/8 reject\nhost all all all trust\n");
    house.server().reload(&config);
    assert!(house.stranger().try_start(&elsewhere).ends_with("Z I"));
    assert_eq!(
        Client::tcp(address).try_start(&[("user", "me")]),
        "FATAL 28000 pg_hba.conf rejects connection for host \"127.0.0.1\", user \"me\", database \"me\", no encryption"
    );
    assert!(there.query("select 1").ends_with("Z I"), "who is in stays");
    // Who is in a role is as the catalogs say at that moment.
    there.query("create role staff; create role ann login");
    write("local all +staff trust\nlocal samerole all trust\n");
    house.server().reload(&config);
    let ann = [("user", "ann"), ("database", "postgres")];
    assert!(house.stranger().try_start(&ann).starts_with("FATAL 28000 no pg_hba.conf entry"));
    there.query("grant staff to ann");
    assert!(house.stranger().try_start(&ann).ends_with("Z I"));
    there.query("revoke staff from ann; create role postgres; grant postgres to ann");
    assert!(house.stranger().try_start(&ann).ends_with("Z I"));
    there.query("revoke postgres from ann");
    assert!(house.stranger().try_start(&ann).starts_with("FATAL 28000 no pg_hba.conf entry"));
    // What can't be understood lets nobody in who was not let in before.
    write("local all all trust\nhost all all all trusted\n");
    house.server().reload(&config);
    assert!(Client::tcp(address).try_start(&[("user", "me")]).starts_with("FATAL 28000"));
    let fault = load().unwrap_err().to_string();
    assert!(fault.ends_with("rules: line 2: the method \"trusted\" is not supported"), "{fault}");
    std::fs::remove_file(options.data.join("../rules")).unwrap();
    assert!(load().unwrap_err().to_string().contains("the rules cannot be read"));
}
