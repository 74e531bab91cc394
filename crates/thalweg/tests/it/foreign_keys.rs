//! pgbench with foreign keys between its tables.

use super::{Running, Scratch, serve};

use std::path::Path;
use std::process::Command;

const PG_BIN: &str = "/usr/lib/postgresql/15/bin";

/// What a client program of PostgreSQL prints.
fn client(program: &str, home: &Path, args: &[&str]) -> std::process::Output {
    let mut command = Command::new(Path::new(PG_BIN).join(program));
    command.arg("-h").arg(home).args(["-U", "me"]).env("PGDATABASE", "postgres").args(args);
    command.output().unwrap()
}

#[test]
fn pgbench_runs_with_foreign_keys() {
    if !Path::new(PG_BIN).join("pgbench").exists() {
        let required = std::env::var_os("THALWEG_REQUIRE_PG").is_some();
        assert!(!required, "PostgreSQL 15 is not installed (Debian: postgresql-15)");
        eprintln!("NOT RUN: PostgreSQL 15 is not installed");
        return;
    }
    let scratch = Scratch::new("foreign-keys");
    let home = &scratch.0;
    let mut command = serve(home, &home.join("data"));
    command.args(["--auth", "trust"]);
    let running = Running::start(command);
    let made = client("pgbench", home, &["-i", "-q", "--foreign-keys"]);
    assert!(made.status.success(), "{made:?}");
    let ran = client("pgbench", home, &["-n", "-M", "prepared", "-c", "8", "-j", "2", "-t", "50"]);
    let said = String::from_utf8_lossy(&ran.stdout);
    assert!(ran.status.success() && said.contains("400/400"), "{ran:?}");
    let sums = "select (select sum(abalance) from pgbench_accounts) = sum(delta), \
                (select sum(bbalance) from pgbench_branches) = sum(delta), count(*) \
                from pgbench_history";
    let sums = client("psql", home, &["-XAtc", sums]);
    assert_eq!(String::from_utf8_lossy(&sums.stdout), "t|t|400\n", "{sums:?}");
    let keys = "select count(*) from pg_constraint where contype = 'f'";
    assert_eq!(client("psql", home, &["-XAtc", keys]).stdout, b"5\n");
    let gone = client("psql", home, &["-XAtc", "delete from pgbench_branches"]);
    assert!(String::from_utf8_lossy(&gone.stderr).contains("violates foreign key"), "{gone:?}");
    drop(running);
}
