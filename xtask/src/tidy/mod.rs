//! The tidy check: reads the source tree and reports what STYLE.md forbids, and dependencies that point back.

mod crates;
mod docs;
mod features;
mod invariants;
mod manifest;
mod reachable;
mod rooms;
mod source;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// A finding: where, and what is wrong.
struct Finding {
    place: String,
    what: String,
}

/// Rule exceptions by `rule path`, each with its reason.
struct Exceptions(BTreeMap<(String, String), bool>);

impl Exceptions {
    fn read(root: &Path) -> Exceptions {
        let text = fs::read_to_string(root.join("xtask/exceptions.txt")).unwrap_or_default();
        let mut known = BTreeMap::new();
        for line in text.lines().filter(|l| !l.trim().is_empty() && !l.starts_with('#')) {
            let mut words = line.splitn(3, ' ');
            let (rule, path, reason) = (words.next(), words.next(), words.next());
            let (Some(rule), Some(path), Some(_reason)) = (rule, path, reason) else {
                panic!("xtask/exceptions.txt: '{line}' is not 'rule path reason'");
            };
            known.insert((rule.to_owned(), path.to_owned()), false);
        }
        Exceptions(known)
    }

    fn covers(&mut self, rule: &str, path: &str) -> bool {
        match self.0.get_mut(&(rule.to_owned(), path.to_owned())) {
            Some(used) => {
                *used = true;
                true
            }
            None => false,
        }
    }

    fn unused(&self) -> Vec<Finding> {
        let stale = self.0.iter().filter(|(_, used)| !**used);
        stale
            .map(|((rule, path), _)| Finding {
                place: "xtask/exceptions.txt".to_owned(),
                what: format!("the exception '{rule} {path}' is no longer needed"),
            })
            .collect()
    }
}

/// Runs every rule; prints findings.
pub fn run(root: &Path) -> ExitCode {
    let mut exceptions = Exceptions::read(root);
    let mut findings = Vec::new();
    let (own, members) = crates::workspace(root);
    let dirs: Vec<&str> = members.iter().map(|member| &*member.dir).collect();
    let mut files = Vec::new();
    dirs.iter().for_each(|dir| walk(&root.join(dir), &mut files));
    files.sort();
    for path in &files {
        let shown = relative(root, path);
        if shown.ends_with(".rs") {
            let text = fs::read_to_string(path).expect("source files are readable text");
            source::check(&shown, &text, &mut exceptions, &mut findings);
        }
    }
    reachable::check(root, &dirs, &files, &mut findings);
    crates::check(root, &own, &members, &mut findings);
    rooms::check(root, &files, &mut findings);
    invariants::check(root, &files, &mut exceptions, &mut findings);
    docs::check(root, &dirs, &mut findings);
    features::check(root, &own, &members, &mut findings);
    findings.extend(exceptions.unused());
    for f in &findings {
        println!("{}: {}", f.place, f.what);
    }
    println!("tidy: {} files read, {} findings", files.len(), findings.len());
    if findings.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn relative(root: &Path, path: &Path) -> String {
    path.strip_prefix(root).unwrap_or(path).to_string_lossy().into_owned()
}

fn walk(dir: &Path, files: &mut Vec<PathBuf>) {
    let Ok(entries) = fs::read_dir(dir) else { return };
    for entry in entries.flatten() {
        let path = entry.path();
        if path.is_dir() {
            // What is built, or installed for a test.
            if path.file_name().is_some_and(|n| n != "target" && n != "node_modules") {
                walk(&path, files);
            }
        } else {
            files.push(path);
        }
    }
}
