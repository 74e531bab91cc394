//! Same answers as PostgreSQL 15: each script under `tests/scripts` runs through the real psql on a private
//! PostgreSQL and on Thalweg, and what psql prints must be equal, statement by statement — rows, headings,
//! tags, and errors with SQLSTATE, hint and the caret.
//!
//! A script whose first line is `-- servers: name=value …` gets servers of its own, started with these settings.
//!
//! `tests/known-differences.txt` lists the statements that differ today, each with its reason. The list can
//! only shrink: a listed statement that agrees fails the test as an unlisted one that differs does.
//! `THALWEG_SCRIPT=copy.sql` compares one script.

#![allow(clippy::unwrap_used, reason = "in a test every fault is a failure")]

mod isolation;
mod random;
mod segments;
mod servers;

use servers::Server;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

/// Reasons by place, which is `script.sql:line` or `name.spec:permutation`: those of one kind.
fn known_differences(root: &Path, kind: &str) -> BTreeMap<String, String> {
    let text = std::fs::read_to_string(root.join("tests/known-differences.txt")).unwrap();
    let lines = text.lines().filter(|l| !l.trim().is_empty() && !l.starts_with('#'));
    lines
        .map(|line| {
            let (place, reason) = line.split_once(' ').expect("'script:line reason'");
            (place.to_owned(), reason.to_owned())
        })
        .filter(|(place, _)| place.contains(kind))
        .collect()
}

/// What a script wants its servers to be started with.
fn settings_of(script: &str) -> Vec<&str> {
    let first = script.lines().next().unwrap_or_default();
    first.strip_prefix("-- servers: ").unwrap_or_default().split_whitespace().collect()
}

#[test]
fn scripts_print_what_postgresql_15_prints() {
    let root = repository();
    let Some(postgres) = Server::postgres("postgres") else {
        let required = std::env::var_os("THALWEG_REQUIRE_PG").is_some();
        assert!(!required, "PostgreSQL 15 is not installed (Debian: postgresql-15)");
        eprintln!("NOT COMPARED: PostgreSQL 15 is not installed");
        return;
    };
    let thalweg = Server::thalweg("thalweg");
    let mut known = known_differences(&root, ".sql:");
    // One script alone, for whoever looks into it.
    let only = std::env::var("THALWEG_SCRIPT").ok();
    let mut scripts: Vec<_> = std::fs::read_dir(root.join("tests/scripts"))
        .unwrap()
        .map(|e| e.unwrap().path())
        .filter(|p| p.extension().is_some_and(|e| e == "sql"))
        .filter(|p| only.as_ref().is_none_or(|only| p.ends_with(only)))
        .collect();
    scripts.sort();
    let (mut compared, mut complaints) = (0, Vec::new());
    for script in scripts {
        let name = script.file_name().unwrap().to_string_lossy().into_owned();
        let text = std::fs::read_to_string(&script).unwrap();
        let own = match settings_of(&text) {
            settings if settings.is_empty() => None,
            settings => Some((
                Server::postgres_with("postgres-own", &settings).unwrap(),
                Server::thalweg_with("thalweg-own", &settings),
            )),
        };
        let (postgres, thalweg) = own.as_ref().map_or((&postgres, &thalweg), |(p, t)| (p, t));
        let expected = segments::split(&text, &postgres.psql(&script));
        let actual = segments::split(&text, &thalweg.psql(&script));
        for (line, expected) in &expected {
            compared += 1;
            let actual =
                actual.get(line).map_or("(nothing: the script ended early)", String::as_str);
            let place = format!("{name}:{line}");
            let listed = known.remove(&place);
            match (expected == actual, listed) {
                (true, None) | (false, Some(_)) => {}
                (true, Some(_)) => complaints.push(format!("{place} agrees: take it off the list")),
                (false, None) => complaints.push(segments::difference(&place, expected, actual)),
            }
        }
    }
    known.retain(|_, _| only.is_none());
    for (place, _) in known {
        complaints.push(format!("tests/known-differences.txt: there is no statement {place}"));
    }
    println!("{compared} statements compared");
    assert!(
        complaints.is_empty(),
        "{} of {compared} statements:\n{}",
        complaints.len(),
        complaints.join("\n")
    );
}
