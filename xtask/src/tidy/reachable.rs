//! Dead files: sources, tests among them, that no `mod` line reaches.

use super::source::code;
use super::{Finding, relative};
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// Reports the files of `members` (folders of the root) that nothing builds.
pub(super) fn check(root: &Path, members: &[&str], files: &[PathBuf], findings: &mut Vec<Finding>) {
    let known: BTreeSet<&PathBuf> = files.iter().collect();
    for path in files.iter().filter(|path| path.extension().is_some_and(|e| e == "rs")) {
        let shown = relative(root, path);
        let within = members.iter().find_map(|dir| shown.strip_prefix(dir)?.strip_prefix('/'));
        if within.is_some_and(is_root)
            || parents(path).iter().any(|(parent, name)| {
                known.contains(parent)
                    && declares(&fs::read_to_string(parent).unwrap_or_default(), name)
            })
        {
            continue;
        }
        let what = "no `mod` line reaches this file".to_owned();
        findings.push(Finding { place: shown, what });
    }
}

/// Whether Cargo builds a file by itself, by its path within a package.
pub(super) fn is_root(path: &str) -> bool {
    let parts: Vec<&str> = path.split('/').collect();
    let programs = [&["src", "bin"][..], &["tests"], &["examples"], &["benches"]];
    let is_program = |of: &&[&str]| {
        let rest = parts.strip_prefix(*of);
        rest.is_some_and(|rest| matches!(rest, [_] | [_, "main.rs"]))
    };
    matches!(parts[..], ["build.rs"] | ["src", "lib.rs" | "main.rs"])
        || programs.iter().any(is_program)
}

/// The files that may declare a module which lies in this one, each with the module's name.
fn parents(path: &Path) -> Vec<(PathBuf, String)> {
    let dir = path.parent().expect("a file has a folder");
    let stem = path.file_stem().and_then(|s| s.to_str()).unwrap_or_default();
    let (name, home) = match stem {
        "mod" => (dir.file_name().and_then(|s| s.to_str()), dir.parent()),
        _ => (Some(stem), Some(dir)),
    };
    let (Some(name), Some(home)) = (name, home) else { return Vec::new() };
    let homes = ["mod.rs", "lib.rs", "main.rs"].map(|file| home.join(file));
    let homes = homes.into_iter().chain([home.with_extension("rs")]);
    homes.map(|parent| (parent, name.to_owned())).collect()
}

/// Whether a text has the line `mod NAME;`, with whatever visibility.
pub(super) fn declares(text: &str, name: &str) -> bool {
    let wanted = format!("mod {name};");
    text.lines().any(|line| {
        let before = code(line).trim_end().strip_suffix(&*wanted);
        before.is_some_and(|before| before.is_empty() || before.ends_with([' ', ')']))
    })
}
