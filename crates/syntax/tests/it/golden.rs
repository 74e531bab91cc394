//! Golden files: text in, trees out.
//!
//! A file in `tests/golden` is a list of cases, each `==== ` on a line of its own, the text, `----`,
//! and what parsing gives: one tree per statement, or `ERROR sqlstate position message` with `DETAIL`
//! and `HINT`. Run with `UPDATE_GOLDEN=1` to write what parsing gives now; review the difference.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use crate::sexp;

/// What parsing gives, as the golden files show it.
fn outcome(sql: &str) -> String {
    let mut out = String::new();
    match syntax::parse(sql) {
        Ok(statements) => {
            for parsed in statements {
                let _ = writeln!(out, "{}", sexp::of(&parsed.statement));
            }
        }
        Err(error) => {
            let position = error.position.map_or("-".to_string(), |p| p.to_string());
            let _ = writeln!(out, "ERROR {} {position} {}", error.sqlstate, error.message);
            if let Some(detail) = &error.detail {
                let _ = writeln!(out, "DETAIL {detail}");
            }
            if let Some(hint) = &error.hint {
                let _ = writeln!(out, "HINT {hint}");
            }
        }
    }
    out
}

fn golden_files() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden");
    let mut files: Vec<PathBuf> = std::fs::read_dir(folder)
        .expect("golden files")
        .map(|entry| entry.expect("an entry").path())
        .collect();
    files.sort();
    files
}

#[test]
fn trees_are_as_recorded() {
    let update = std::env::var_os("UPDATE_GOLDEN").is_some();
    let mut wrong = Vec::new();
    for path in golden_files() {
        let recorded = std::fs::read_to_string(&path).unwrap();
        let mut now = String::new();
        for case in recorded.split("====\n").skip(1) {
            let sql = case.split("\n----\n").next().unwrap();
            let sql = sql.strip_suffix('\n').unwrap_or(sql);
            let _ = write!(now, "====\n{sql}\n----\n{}\n", outcome(sql));
        }
        if update {
            std::fs::write(&path, &now).unwrap();
        } else if now != recorded {
            let line = now.lines().zip(recorded.lines()).position(|(a, b)| a != b);
            wrong.push(format!("{} from line {:?}", path.display(), line.map(|line| line + 1)));
        }
    }
    assert!(wrong.is_empty(), "trees differ from the record: {wrong:#?}");
}
