//! Same behaviour of concurrent sessions as PostgreSQL 15: each spec under `tests/isolation` is played, step by
//! step and interleaving by interleaving, on a private PostgreSQL and on Thalweg. What every step answers must be
//! equal: rows, tags, errors with SQLSTATE, detail and hint; and which steps wait, for how long.

mod client;
mod spec;
mod tester;

use std::path::{Path, PathBuf};

use crate::servers::Server;
use crate::{known_differences, repository};
use spec::Spec;
use tester::Tester;

/// What happened in each permutation of one spec.
type Played = Vec<Vec<String>>;

fn play(specs: &[(String, Spec)], socket: &Path) -> Vec<Played> {
    let played = specs.iter().map(|(_, spec)| {
        let mut tester = Tester::new(spec, socket);
        spec.permutations().iter().map(|turns| tester.run(turns)).collect()
    });
    played.collect()
}

fn specs(folder: PathBuf) -> Vec<(String, Spec)> {
    // One spec alone, for whoever looks into it.
    let only = std::env::var("THALWEG_SPEC").ok();
    let mut files: Vec<_> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|e| e == "spec"))
        .filter(|path| only.as_ref().is_none_or(|only| path.ends_with(only)))
        .collect();
    files.sort();
    let named = files.iter().map(|path| {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        (name, Spec::parse(&std::fs::read_to_string(path).unwrap()))
    });
    named.collect()
}

#[test]
fn interleavings_behave_as_on_postgresql_15() {
    let Some(postgres) = Server::postgres("isolation-postgres") else {
        let required = std::env::var_os("THALWEG_REQUIRE_PG").is_some();
        assert!(!required, "PostgreSQL 15 is not installed (Debian: postgresql-15)");
        eprintln!("NOT COMPARED: PostgreSQL 15 is not installed");
        return;
    };
    let thalweg = Server::thalweg("isolation-thalweg");
    let specs = specs(repository().join("tests/isolation"));
    let (expected, actual) = std::thread::scope(|scope| {
        let expected = scope.spawn(|| play(&specs, &postgres.socket()));
        let actual = play(&specs, &thalweg.socket());
        (expected.join().unwrap(), actual)
    });
    let mut known = known_differences(&repository(), ".spec:");
    let (mut compared, mut complaints) = (0, Vec::new());
    for (((name, spec), expected), actual) in specs.iter().zip(expected).zip(actual) {
        let turns = spec.permutations();
        for (number, (expected, actual)) in expected.iter().zip(&actual).enumerate() {
            compared += 1;
            let place = format!("{name}:{}", number + 1);
            match (expected == actual, known.remove(&place)) {
                (true, None) | (false, Some(_)) => {}
                (true, Some(_)) => complaints.push(format!("{place} agrees: take it off the list")),
                (false, None) => complaints.push(format!(
                    "--- {place} permutation {}\nPostgreSQL 15:\n  {}\nThalweg:\n  {}",
                    spec.written(&turns[number]),
                    expected.join("\n  "),
                    actual.join("\n  ")
                )),
            }
        }
    }
    if std::env::var_os("THALWEG_SPEC").is_none() {
        let gone = known.keys().map(|place| format!("there is no permutation {place}"));
        complaints.extend(gone);
    }
    println!("{compared} interleavings compared");
    assert!(
        complaints.is_empty(),
        "{} of {compared} interleavings:\n{}",
        complaints.len(),
        complaints.join("\n")
    );
}
