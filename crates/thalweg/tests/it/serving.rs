//! `thalweg serve` as who starts it sees it: what it says, and what signals do.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixStream;

use super::check;
use super::running::{Running, has_clients, until};

/// A port of this machine that nobody uses at the moment.
fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

#[test]
fn it_greets_in_three_lines_and_warns_of_trust() {
    let port = free_port();
    let listen = format!("127.0.0.1:{port}");
    let mut server = Running::start_with("greeting", &["--auth", "trust", "--listen", &listen]);
    let greeting = server.greeting();
    let lines: Vec<&str> = greeting.lines().collect();
    let data = server.data();
    let home = data.parent().unwrap().display();
    assert_eq!(lines.len(), 3, "{greeting}");
    let first = format!("Thalweg {} serves {} (", env!("CARGO_PKG_VERSION"), data.display());
    assert!(lines[0].starts_with(&first) && lines[0].ends_with(" workers)"), "{greeting}");
    assert_eq!(lines[1], format!("  psql -h {home} -p {port} -U me postgres"));
    assert_eq!(
        lines[2],
        format!(
            "  psql -h 127.0.0.1 -p {port} -U me postgres    WARNING: --auth trust believes \
             everybody who can reach {listen}"
        )
    );
    server.signal("-TERM");
    assert!(server.ends());
}

#[test]
fn it_warns_of_trust_where_only_the_socket_is_there() {
    let arguments = ["--auth", "trust", "--set", "listen_addresses="];
    let mut server = Running::start_with("trusted-socket", &arguments);
    let greeting = server.greeting();
    let lines: Vec<&str> = greeting.lines().collect();
    assert_eq!(lines.len(), 3, "{greeting}");
    let warning = "    WARNING: --auth trust believes everybody on this machine";
    assert!(lines[1].ends_with(warning), "{greeting}");
    assert_eq!(lines[2], "  no TCP: listen_addresses is empty");
    server.signal("-TERM");
    assert!(server.ends());
}

#[test]
fn without_word_of_how_clients_are_known_those_of_the_network_need_a_password() {
    let port = free_port();
    let listen = format!("127.0.0.1:{port}");
    let file = std::env::temp_dir().join(format!("thalweg-password-{port}"));
    std::fs::write(&file, "a word, & another\nsomething else\n").unwrap();
    let password_file = file.to_str().unwrap();
    let arguments = ["--listen", &listen, "--password-file", password_file];
    let mut server = Running::start_with("default-greeting", &arguments);
    std::fs::remove_file(&file).unwrap();
    let greeting = server.greeting();
    let lines: Vec<&str> = greeting.lines().collect();
    assert_eq!(lines.len(), 3, "{greeting}");
    let last = format!(
        "  psql -h 127.0.0.1 -p {port} -U me postgres    with the password that ALTER ROLE has set"
    );
    assert_eq!(lines[2], last);
    assert!(!greeting.contains("WARNING"), "{greeting}");
    if has_clients() {
        let ask = |password: &str, question: &str| {
            let place =
                format!("host=127.0.0.1 port={port} user=me dbname=postgres password='{password}'");
            server.program("psql", &["-XqAtc", question, &place])
        };
        let knows = ask("a word, & another", "alter role me password 'new'; select 1");
        assert_eq!(String::from_utf8_lossy(&knows.stdout), "1\n", "{knows:?}");
        for wrong in ["a word, & another", "something else", "New"] {
            let refused = ask(wrong, "select 1");
            let complaint = String::from_utf8_lossy(&refused.stderr).into_owned();
            let told = "FATAL:  password authentication failed for user \"me\"";
            assert!(!refused.status.success() && complaint.contains(told), "{complaint}");
        }
        assert!(ask("new", "select 1").status.success());
        let told = "password authentication failed for user \"me\" from 127.0.0.1:";
        let log = server.log();
        let line = log.lines().find(|line| line.contains(told)).unwrap_or_default();
        assert!(line.ends_with(": the password is another"), "{log}");
    }
    server.signal("-TERM");
    assert!(server.ends());
}

#[test]
fn psql_encrypts_and_knows_whom_it_talks_to() {
    if !has_clients() {
        return;
    }
    let port = free_port();
    let files = std::env::temp_dir().join(format!("thalweg-certificate-{port}"));
    std::fs::create_dir_all(&files).unwrap();
    let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    let file = |name: &str, text: &str| {
        let path = files.join(name);
        std::fs::write(&path, text).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let certificate = file("server.crt", &made.cert.pem());
    let key = file("server.key", &made.signing_key.serialize_pem());
    let password = file("password", "a word\n");
    let (listen, certified, keyed) = (
        format!("127.0.0.1:{port}"),
        format!("ssl_cert_file={certificate}"),
        format!("ssl_key_file={key}"),
    );
    let set = ["--set", "ssl=on", "--set", &certified, "--set", &keyed];
    let arguments = [&["--listen", &listen, "--password-file", &password][..], &set].concat();
    let mut server = Running::start_with("encrypted", &arguments);
    let ask = |more: &str| {
        let place = format!(
            "host=localhost hostaddr=127.0.0.1 port={port} user=me dbname=postgres password='a word' \
             sslrootcert={certificate} {more}"
        );
        server.program("psql", &["-XqAt", "-c", "\\conninfo", "-c", "show ssl", &place])
    };
    for more in ["sslmode=verify-full channel_binding=require", "sslmode=prefer"] {
        let told = ask(more);
        let said = String::from_utf8_lossy(&told.stdout).into_owned();
        assert!(
            said.contains("SSL connection (protocol: TLSv1.3") && said.ends_with("on\n"),
            "{told:?}"
        );
    }
    let open = ask("sslmode=disable");
    let said = String::from_utf8_lossy(&open.stdout).into_owned();
    assert!(open.status.success() && !said.contains("SSL connection"), "{open:?}");
    server.signal("-TERM");
    assert!(server.ends());
    std::fs::remove_dir_all(&files).unwrap();
}

#[test]
fn sigint_ends_it_in_order_and_sessions_with_it() {
    if !has_clients() {
        return;
    }
    let mut server = Running::start("sigint");
    server.ask("create table t (a int); insert into t values (1)");
    std::thread::scope(|threads| {
        let sleeper = threads.spawn(|| {
            server.program(
                "psql",
                &["-XqAtc", "begin; insert into t values (2); select pg_sleep(60)"],
            )
        });
        until("it sleeps", || {
            server.ask("select count(*) from pg_stat_activity where wait_event = 'PgSleep'") == "1"
        });
        server.signal("-INT");
        let told = sleeper.join().unwrap();
        let complaint = String::from_utf8_lossy(&told.stderr).into_owned();
        assert!(
            complaint.contains("terminating connection due to administrator command"),
            "{complaint}"
        );
    });
    assert!(server.ends(), "{}", server.log());
    assert!(server.log().ends_with("ended cleanly\n"), "{}", server.log());
    let (sound, told, complaints) = check(&server.data());
    assert!(sound, "{told}{complaints}");
    server.start_again();
    assert!(!server.log().contains("recovered"), "{}", server.log());
    assert_eq!(server.ask("select a from t"), "1");
}

#[test]
fn sighup_has_the_configuration_read_again() {
    if !has_clients() {
        return;
    }
    let server = Running::start("sighup");
    assert_eq!(server.ask("show work_mem"), "4MB");
    let file = server.data().join("thalweg.conf");
    std::fs::write(&file, "work_mem = 7MB\ncheckpoint_timeout = 77s\n").unwrap();
    server.signal("-HUP");
    until("it has read the file", || server.ask("show work_mem") == "7MB");
    assert_eq!(server.ask("show checkpoint_timeout"), "77s");
    assert!(server.log().contains("checkpoint_timeout = 77s"), "{}", server.log());
    std::fs::write(&file, "work_mem = much\n").unwrap();
    server.signal("-HUP");
    until("it complains", || server.log().contains("the configuration stays as it is"));
    assert_eq!(server.ask("show work_mem"), "7MB");
}

#[test]
fn serializable_is_refused_where_it_would_be_everybodys_default() {
    let data = super::Scratch::new("serializable");
    let data = data.0.join("data");
    let set = "default_transaction_isolation=serializable";
    let output = super::thalweg(&["serve", "--data", data.to_str().unwrap(), "--set", set]);
    let complaint = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(!output.status.success());
    assert!(complaint.contains("isolation level SERIALIZABLE is not supported yet"), "{complaint}");
    assert!(!data.exists());
}

#[test]
fn serializable_is_refused_where_a_session_begins_with_it() {
    if !has_clients() {
        return;
    }
    let server = Running::start("serializable-session");
    let options = "dbname=postgres options='-c default_transaction_isolation=serializable'";
    let refused = server.program("psql", &["-XqAtc", "select 1", options]);
    let complaint = String::from_utf8_lossy(&refused.stderr).into_owned();
    let told = "FATAL:  isolation level SERIALIZABLE is not supported yet";
    assert!(!refused.status.success() && complaint.contains(told), "{complaint}");
    let weaker = options.replace("serializable", "repeatable\\\\ read");
    assert_eq!(
        server.done("psql", &["-XqAtc", "show transaction_isolation", &weaker]),
        "repeatable read\n"
    );
}

#[test]
fn unlogged_sequences_begin_anew_after_a_crash() {
    if !has_clients() {
        return;
    }
    let mut server = Running::start("unlogged-sequences");
    server.ask(
        "create unlogged table u (a serial, b int generated always as identity (start 7), c int); \
         create unlogged sequence s start 5; create unlogged sequence never; \
         create unlogged sequence altered start 3; \
         insert into u (c) select generate_series(1, 40); \
         select nextval('s'), nextval('altered'); checkpoint; select nextval('s')",
    );
    server.signal("-KILL");
    assert!(!server.ends());
    // Nobody has asked them for anything yet.
    let (sound, told, complaints) = check(&server.data());
    assert!(sound, "{told}{complaints}");
    server.start_again();
    server.ask("alter sequence altered maxvalue 100");
    assert_eq!(server.ask("insert into u (c) values (1) returning a, b"), "1|7");
    assert_eq!(server.ask("select nextval('s'), nextval('altered'), last_value from s"), "5|3|5");
    assert_eq!(server.ask("select setval('never', 9)"), "9");
    server.signal("-TERM");
    assert!(server.ends());
    let (sound, told, complaints) = check(&server.data());
    assert!(sound, "{told}{complaints}");
    server.start_again();
    assert_eq!(server.ask("select nextval('s'), nextval('never')"), "6|10");
}

#[test]
fn unlogged_tables_are_empty_after_a_crash_and_keep_their_rows_otherwise() {
    if !has_clients() {
        return;
    }
    let mut server = Running::start("unlogged");
    server.ask(
        "create unlogged table u (a int primary key, b text); create index on u (b); \
         create table l (a int primary key); \
         insert into u select g, g::text from generate_series(1, 2000) g; \
         insert into l select g from generate_series(1, 2000) g",
    );
    let counts = "select (select count(*) from u), (select count(*) from l)";
    server.signal("-INT");
    assert!(server.ends());
    server.start_again();
    assert_eq!(server.ask(counts), "2000|2000");
    server.ask("checkpoint; insert into u values (2001, 'x'); insert into l values (2001)");
    server.signal("-KILL");
    assert!(!server.ends());
    server.start_again();
    assert!(server.log().contains("recovered after an unclean end"), "{}", server.log());
    assert_eq!(server.ask(counts), "0|2001");
    // It is as good as new, its indexes with it.
    server.ask("insert into u values (1, 'again')");
    assert_eq!(server.ask("set enable_seqscan = off; select a from u where b = 'again'"), "1");
    server.signal("-TERM");
    assert!(server.ends());
    let (sound, told, complaints) = check(&server.data());
    assert!(sound, "{told}{complaints}");
}

/// A wrong key and a right one are answered alike: the connection ends, and nothing of it is left.
#[test]
fn requests_to_cancel_leave_nothing_open() {
    let running = Running::start("cancel-requests");
    let before = running.sockets();
    let request: Vec<u8> =
        [16_u32, 80_877_102, 1, 2].into_iter().flat_map(u32::to_be_bytes).collect();
    for _ in 0..50 {
        let mut connection = UnixStream::connect(running.socket()).unwrap();
        connection.write_all(&request).unwrap();
        assert_eq!(connection.read(&mut [0]).unwrap(), 0, "the server ends the connection");
    }
    until("their sockets are closed", || running.sockets() == before);
}
