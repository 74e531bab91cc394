//! Pages that go past the system's cache: every miss is a read of the device, through the workers' rings.

use std::sync::Arc;

use server::config::Config;
use server::{Database, Options, Server};

use crate::client::Client;
use crate::{options, set_buffers, small};

/// Small sizes, and direct I/O where the file system can.
fn direct() -> Config {
    let mut config = small();
    config.set("shared_buffers", "1MB").unwrap();
    set_buffers(&mut config);
    config.set("direct_io", "data").unwrap();
    config
}

const SUMS: &str = "select count(*), sum(a), sum(length(b)) from big";
const FOUND: &str = "T count,sum,sum\nD 6000,18003000,1200000\nC SELECT 1\nZ I";

fn fill(client: &mut Client) {
    let made = "create table big (a int, b text); \
                insert into big select i, repeat('x', 200) from generate_series(1, 6000) i; \
                create index on big (a)";
    assert!(!client.query(made).contains("ERROR"));
}

/// Has a server of its own do this. None where the file system does no direct I/O: then that is what was said.
fn with_server(
    options: &Options,
    config: &Config,
    work: impl Fn(&dyn Fn() -> Client),
) -> Option<()> {
    let database = match Database::open(&options.data, "me", config) {
        Ok(database) => Arc::new(database),
        Err(fault) => {
            let fault = fault.to_string();
            assert!(fault.contains("does no direct I/O"), "{fault}");
            eprintln!("skipped: {fault}");
            return None;
        }
    };
    let server = Server::start(Arc::clone(&database), options.clone()).unwrap();
    let socket = options.socket_dir.as_ref().unwrap().join(".s.PGSQL.5432");
    work(&|| {
        let mut client = Client::unix(&socket);
        client.start("me");
        client
    });
    server.shutdown();
    database.close().unwrap();
    Some(())
}

#[test]
fn data_larger_than_the_cache_are_read_and_written_past_the_systems() {
    let options = options();
    if with_server(&options, &direct(), read_and_write).is_some() {
        // What was written is found again, with and without the system's cache.
        let found = "T count,sum,sum\nD 6000,18003000,1200060\nC SELECT 1\nZ I";
        for config in [direct(), small()] {
            with_server(&options, &config, |client| assert_eq!(client().query(SUMS), found));
        }
    }
    std::fs::remove_dir_all(options.socket_dir.unwrap()).unwrap();
}

fn read_and_write(connect: &dyn Fn() -> Client) {
    let mut client = connect();
    fill(&mut client);
    assert_eq!(client.query("show direct_io"), "T direct_io\nD data\nC SHOW\nZ I");
    assert_eq!(client.query(SUMS), FOUND);
    // Many at a time, whatever they read ahead; some are canceled while a read is under way.
    std::thread::scope(|scope| {
        for n in 0..4 {
            let mut client = connect();
            scope.spawn(move || {
                client.query(&format!("set effective_io_concurrency = {}", [0, 1, 16, 256][n % 4]));
                for round in 0..4 {
                    assert_eq!(client.query(SUMS), FOUND);
                    let key = (n * 1311 + round * 77) % 6000 + 1;
                    let row = client.query(&format!("select a from big where a = {key}"));
                    assert_eq!(row, format!("T a\nD {key}\nC SELECT 1\nZ I"));
                    client.query("set statement_timeout = '2ms'");
                    let told = client.query(SUMS);
                    assert!(told == FOUND || told.contains("57014"), "{told}");
                    client.query("set statement_timeout = 0");
                }
            });
        }
    });
    assert_eq!(client.query("vacuum big"), "C VACUUM\nZ I");
    assert_eq!(client.query("analyze big"), "C ANALYZE\nZ I");
    client.query("update big set b = b || 'y' where a % 100 = 0");
    client.query("checkpoint");
}
