//! How sessions begin and end: authentication, limits, cancel, shutdown, memory.

use std::net::{SocketAddr, TcpListener};
use std::time::{Duration, Instant};

use std::sync::Arc;

use server::{Authentication, Server};
use wire::startup;

use crate::client::Client;
use crate::{House, options};

#[test]
fn a_session_is_told_what_it_must_know() {
    let house = House::new();
    let mut me = house.stranger();
    let told =
        me.try_start(&[("user", "me"), ("database", "postgres"), ("application_name", "test")]);
    assert!(told.starts_with("R\nS "), "{told}");
    for line in ["S server_version=15.", "S client_encoding=UTF8", "S application_name=test"] {
        assert!(told.contains(line), "{line} is not in {told}");
    }
    assert!(told.ends_with("K\nZ I"), "{told}");
    assert!(me.process > 0);
}

#[test]
fn sessions_begin_with_what_the_configuration_says() {
    let house = House::new();
    let began_with = |name: &str| {
        let told = house.stranger().try_start(&[
            ("user", "me"),
            ("database", "postgres"),
            ("TimeZone", "Asia/Tokyo"),
        ]);
        told.lines().find(|line| line.starts_with(&format!("S {name}="))).unwrap().to_owned()
    };
    assert_eq!(began_with("DateStyle"), "S DateStyle=ISO, MDY");
    let mut config = server::config::Config::new();
    config.set("datestyle", "ISO, DMY").unwrap();
    config.set("timezone", "Europe/Paris").unwrap();
    house.server().reload(&config);
    assert_eq!(began_with("DateStyle"), "S DateStyle=ISO, DMY");
    assert_eq!(began_with("TimeZone"), "S TimeZone=Asia/Tokyo");
}

#[test]
fn encryption_is_declined_and_the_session_goes_on() {
    let house = House::new();
    let mut me = house.stranger();
    let mut packet = Vec::new();
    startup::put_gss_enc_request(&mut packet);
    me.send(&packet);
    assert_eq!(me.next_byte(), b'N');
    packet.clear();
    startup::put_ssl_request(&mut packet);
    me.send(&packet);
    assert_eq!(me.next_byte(), b'N');
    me.start("me");
}

#[test]
fn encryption_is_declined_once() {
    let house = House::new();
    let (mut tls, mut gss) = (Vec::new(), Vec::new());
    startup::put_ssl_request(&mut tls);
    startup::put_gss_enc_request(&mut gss);
    for (first, other, code) in [(&tls, &gss, 5679), (&gss, &tls, 5680)] {
        let unsupported = format!(
            "FATAL 0A000 unsupported frontend protocol 1234.{code}: server supports 3.0 to 3.0"
        );
        let mut me = house.stranger();
        for packet in [first, other] {
            me.send(packet);
            assert_eq!(me.next_byte(), b'N');
        }
        me.send(first);
        assert_eq!(me.next().as_deref(), Some(&*unsupported));
        me.expect_end();
    }
}

#[test]
fn a_newer_protocol_is_talked_down() {
    let house = House::new();
    let mut me = house.stranger();
    let mut packet = Vec::new();
    let parameters = [("user", "me"), ("database", "postgres"), ("_pq_.compression", "zstd")];
    startup::put_session(&mut packet, startup::PROTOCOL_3_0 | 2, parameters);
    me.send(&packet);
    let told = me.until_ready();
    assert!(told.starts_with("v 30000 [\"_pq_.compression\"]\nR\n"), "{told}");
}

#[test]
fn what_is_no_session_is_refused() {
    let house = House::new();
    let refused = |parameters: &[(&str, &str)]| {
        let mut client = house.stranger();
        let told = client.try_start(parameters);
        client.expect_end();
        told
    };
    assert_eq!(
        refused(&[("database", "postgres")]),
        "FATAL 28000 no PostgreSQL user name specified in startup packet"
    );
    assert_eq!(
        refused(&[("user", "me"), ("database", "nosuch")]),
        "FATAL 3D000 database \"nosuch\" does not exist"
    );
    assert_eq!(
        refused(&[("user", "nosuch"), ("database", "postgres")]),
        "FATAL 28000 role \"nosuch\" does not exist"
    );
    assert_eq!(
        refused(&[("user", "pg_database_owner"), ("database", "postgres")]),
        "FATAL 28000 role \"pg_database_owner\" is not permitted to log in"
    );
    assert_eq!(
        refused(&[("user", "me"), ("database", "postgres"), ("nosuch", "1")]),
        "FATAL 42704 unrecognized configuration parameter \"nosuch\""
    );
    assert_eq!(
        refused(&[("user", "me"), ("replication", "true")]),
        "FATAL 0A000 replication connections are not supported"
    );
    let mut old = house.stranger();
    old.send(b"\0\0\0\x09\0\x02\0\0\0");
    assert_eq!(
        old.next().unwrap(),
        "FATAL 0A000 unsupported frontend protocol 2.0: server supports 3.0 to 3.0"
    );
    old.expect_end();
}

#[test]
fn peers_are_who_the_system_says() {
    let name = server::users::name_of(server::users::current()).unwrap();
    let peers = server::Options { rules: server::Rules::of(Authentication::Peer), ..options() };
    let house = House::of(&name, peers);
    house.stranger().start(&name);
    assert_eq!(
        house.stranger().try_start(&[("user", "somebody")]),
        "FATAL 28000 Peer authentication failed for user \"somebody\""
    );
}

#[test]
fn tcp_works_where_everybody_is_trusted() {
    let house = House::new();
    let mut me = Client::tcp(house.server().addresses()[0]);
    me.start("me");
    assert_eq!(me.query("select 1"), "T ?column?\nD 1\nC SELECT 1\nZ I");
}

#[test]
fn beyond_the_limit_clients_are_refused_and_others_undisturbed() {
    let house = House::with(server::Options { max_connections: 3, ..options() });
    let mut clients: Vec<_> = (0..3).map(|_| house.client()).collect();
    let mut late = house.stranger();
    assert_eq!(late.try_start(&[("user", "me")]), "FATAL 53300 sorry, too many clients already");
    for client in &mut clients {
        assert_eq!(client.query("select 1"), "T ?column?\nD 1\nC SELECT 1\nZ I");
    }
    clients.pop().unwrap().request(|r| r.terminate());
    let again =
        || house.stranger().try_start(&[("user", "me"), ("database", "postgres")]).ends_with("Z I");
    assert!((0..100).any(|_| again() || {
        std::thread::sleep(Duration::from_millis(10));
        false
    }));
}

#[test]
fn clients_that_say_nothing_are_limited_too() {
    let house = House::with(server::Options { max_connections: 4, ..options() });
    let mut me = house.client();
    let mut silent: Vec<_> = (0..100).map(|_| house.stranger()).collect();
    let last = silent.last_mut().unwrap();
    assert_eq!(last.next().unwrap(), "FATAL 53300 sorry, too many clients already");
    last.expect_end();
    assert_eq!(me.query("select 1"), "T ?column?\nD 1\nC SELECT 1\nZ I");
}

#[test]
fn a_query_is_canceled_by_who_knows_the_key() {
    let house = House::new();
    let cancel = |process, key| {
        let mut packet = Vec::new();
        startup::put_cancel(&mut packet, process, key);
        let mut stranger = house.stranger();
        stranger.send(&packet);
        stranger.expect_end();
    };
    let mut me = house.client();
    for query in [
        "select pg_sleep(60)",
        "select count(*) from generate_series(1, 100000) a, generate_series(1, 100000) b",
        "copy t from stdin",
    ] {
        let begun = Instant::now();
        me.request(|r| r.query(query));
        std::thread::sleep(Duration::from_millis(50));
        cancel(me.process, me.key ^ 1);
        std::thread::sleep(Duration::from_millis(50));
        cancel(me.process, me.key);
        let told = me.until_ready();
        let expected = "ERROR 57014 canceling statement due to user request\nZ I";
        assert!(told.ends_with(expected), "{query}: {told}");
        assert!(begun.elapsed() > Duration::from_millis(95), "the wrong key must do nothing");
    }
    // One that comes too late cancels nothing.
    cancel(me.process, me.key);
    std::thread::sleep(Duration::from_millis(20));
    assert_eq!(me.query("select 1"), "T ?column?\nD 1\nC SELECT 1\nZ I");
}

#[test]
fn keys_do_not_follow_from_when_a_session_began() {
    let house = House::new();
    // By chance one may be what is tried; three are not.
    let is_found = |_| {
        let before = base::clock::now().0;
        let me = house.client();
        let after = base::clock::now().0;
        let key_at = |at| base::hash::hash_of(&(me.process, base::clock::Instant(at))) as u32;
        (before..=after).any(|at| key_at(at) == me.key)
    };
    assert!(!(0..3).all(is_found));
}

#[test]
fn shutdown_ends_idle_and_running_sessions() {
    let mut house = House::new();
    let (mut idle, mut asleep, mut busy) = (house.client(), house.client(), house.client());
    let mut silent = house.stranger();
    asleep.request(|r| r.query("select pg_sleep(60)"));
    busy.request(|r| {
        r.query("select count(*) from generate_series(1, 100000) a, generate_series(1, 100000) b")
    });
    std::thread::sleep(Duration::from_millis(50));
    let begun = Instant::now();
    house.shutdown();
    assert!(begun.elapsed() < Duration::from_secs(2), "{:?}", begun.elapsed());
    let goodbye = "FATAL 57P01 terminating connection due to administrator command";
    for client in [&mut idle, &mut asleep, &mut busy, &mut silent] {
        let told = client.until_ready();
        assert!(told.ends_with(goodbye), "{told}");
    }
}

#[test]
fn a_client_that_says_nothing_is_sent_away() {
    let timeout = Duration::from_millis(100);
    let house = House::with(server::Options { authentication_timeout: timeout, ..options() });
    let mut silent = house.stranger();
    let begun = Instant::now();
    silent.expect_end();
    assert!(begun.elapsed() >= timeout);
    let mut me = house.client();
    std::thread::sleep(timeout * 2);
    assert_eq!(me.query("select 1"), "T ?column?\nD 1\nC SELECT 1\nZ I");
}

#[test]
fn a_second_server_is_refused_in_one_sentence() {
    let house = House::new();
    let again = |change: fn(&mut server::Options, &House)| {
        let mut options = options();
        change(&mut options, &house);
        match Server::start(Arc::clone(&house.database), options) {
            Ok(_) => panic!("a second server has started"),
            Err(fault) => fault.to_string(),
        }
    };
    let fault = again(|options, house| options.socket_dir = Some(house.dir.clone()));
    let pid = std::process::id();
    let socket = house.socket();
    assert_eq!(
        fault,
        format!("another server (process {pid}) listens on the socket {}", socket.display())
    );
    let fault = again(|options, house| {
        options.listen = house.server().addresses().to_vec();
    });
    assert!(fault.contains("another program, perhaps another server, uses that port"), "{fault}");
}

#[test]
fn both_kinds_of_address_are_listened_on_at_one_port() {
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let at_port = |host: &str| -> SocketAddr { format!("{host}:{port}").parse().unwrap() };
    let listen = vec![at_port("0.0.0.0"), at_port("[::]")];
    let house = House::with(server::Options { listen, ..options() });
    // Where the system has no IPv6, the other goes on without.
    let kinds = if TcpListener::bind("[::1]:0").is_ok() { 2 } else { 1 };
    assert_eq!(house.server().addresses().len(), kinds);
    for host in ["127.0.0.1", "[::1]"].into_iter().take(kinds) {
        let mut me = Client::tcp(at_port(host));
        me.start("me");
        assert_eq!(me.query("select 1"), "T ?column?\nD 1\nC SELECT 1\nZ I");
    }
}

#[test]
fn an_address_that_is_taken_is_no_obstacle_where_another_is_free() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let listen = vec![taken.local_addr().unwrap(), "127.0.0.1:0".parse().unwrap()];
    let house = House::with(server::Options { listen, ..options() });
    let addresses = house.server().addresses();
    assert_eq!(addresses.len(), 1);
    Client::tcp(addresses[0]).start("me");
}

#[test]
fn what_a_killed_server_left_behind_is_no_obstacle() {
    let options = options();
    let dir = options.socket_dir.clone().unwrap();
    drop(std::os::unix::net::UnixListener::bind(dir.join(".s.PGSQL.5432")).unwrap());
    std::fs::write(dir.join(".s.PGSQL.5432.lock"), "1\n").unwrap();
    let mut house = House::with(options);
    assert_eq!(house.client().query("select 1"), "T ?column?\nD 1\nC SELECT 1\nZ I");
    let lock = std::fs::read_to_string(dir.join(".s.PGSQL.5432.lock")).unwrap();
    assert_eq!(lock.lines().next().unwrap(), std::process::id().to_string());
    house.shutdown();
    assert!(!house.socket().exists());
}

/// How quickly is for `make bench-connections` to say; here, on machines that do other things besides, they must
/// not wait for its end, which is an hour away.
#[test]
fn point_queries_do_not_wait_for_a_long_one() {
    let house = House::with(server::Options { workers: 1, ..options() });
    let mut long = house.client();
    long.request(|r| {
        r.query("select count(*) from generate_series(1, 100000) a, generate_series(1, 100000) b")
    });
    let mut clients: Vec<_> = (0..8).map(|_| house.client()).collect();
    for _ in 0..25 {
        for client in &mut clients {
            assert!(client.query("select 1").ends_with("Z I"));
        }
    }
    let process = long.process;
    clients[0].query(&format!("select pg_cancel_backend({process})"));
    let told = long.until_ready();
    assert!(told.ends_with("ERROR 57014 canceling statement due to user request\nZ I"), "{told}");
}

/// Resident memory of this process, client side included.
fn resident_bytes() -> usize {
    let statm = std::fs::read_to_string("/proc/self/statm").unwrap();
    statm.split(' ').nth(1).unwrap().parse::<usize>().unwrap() * 4096
}

#[test]
fn idle_connections_hold_little_memory() {
    const CONNECTIONS: usize = 1000;
    let house = House::new();
    let mut first: Vec<_> = (0..20).map(|_| house.client()).collect();
    first.iter_mut().for_each(|client| drop(client.query("select 1")));
    let before = resident_bytes();
    let mut clients: Vec<_> = (0..CONNECTIONS).map(|_| house.client()).collect();
    clients.iter_mut().for_each(|client| drop(client.query("select 1")));
    let each = resident_bytes().saturating_sub(before) / CONNECTIONS;
    // Other tests run in this process too, hence the wide margin.
    assert!(each < 100 << 10, "{each} bytes for an idle connection");
    eprintln!("{each} bytes resident for an idle connection, its client included");
}
