//! Dependency direction: base → {storage, syntax, wire} → sql → server → thalweg; nothing uses the rest.

use super::manifest::{self, Dependency};
use super::{Finding, relative};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use toml::{Table, Value};

/// Each member of the workspace with the members that it may depend on.
const MAY_USE: &[(&str, &[&str])] = &[
    ("crates/base", &[]),
    ("crates/storage", &["base"]),
    ("crates/syntax", &["base"]),
    ("crates/wire", &["base"]),
    ("crates/sql", &["base", "storage", "syntax"]),
    ("crates/server", &["base", "storage", "wire", "sql"]),
    ("crates/thalweg", &["base", "storage", "sql", "server"]),
    ("sim", &["base", "storage"]),
    ("bench", &["base", "storage", "syntax", "wire", "sql", "server", "thalweg"]),
    ("lab", &["base", "storage", "syntax", "wire", "sql", "server", "thalweg", "bench"]),
    ("xtask", &[]),
];

/// A member of the workspace.
pub(super) struct Member {
    pub dir: String,
    /// What it is called.
    pub package: String,
    pub manifest: Table,
}

/// The workspace's own manifest, and its members.
pub(super) fn workspace(root: &Path) -> (Table, Vec<Member>) {
    let read = |dir: &str| {
        let text = fs::read_to_string(root.join(dir).join("Cargo.toml"));
        text.unwrap_or_default().parse::<Table>().expect("Cargo has read it")
    };
    let own = read("");
    let member = |dir: &str| {
        let manifest = read(dir);
        let name = manifest::value(&manifest, ["package", "name"]).and_then(Value::as_str);
        let package = name.unwrap_or(dir).to_owned();
        Member { dir: dir.to_owned(), package, manifest }
    };
    let dirs = manifest::strings(manifest::value(&own, ["workspace", "members"]));
    let members = dirs.map(member).collect();
    (own, members)
}

pub(super) fn check(root: &Path, own: &Table, members: &[Member], findings: &mut Vec<Finding>) {
    check_directions(own, members, MAY_USE, findings);
    for room in storage_rooms(root) {
        if !room.join("README.md").exists() {
            findings.push(Finding {
                place: relative(root, &room),
                what: "every folder of storage has a README".to_owned(),
            });
        }
    }
}

/// Every member is in the table, and uses what it may; tests may use anything.
pub(super) fn check_directions(
    own: &Table,
    members: &[Member],
    may_use: &[(&str, &[&str])],
    findings: &mut Vec<Finding>,
) {
    let mut told = |place: &str, what: String| {
        findings.push(Finding { place: format!("{place}/Cargo.toml"), what });
    };
    let shared = manifest::dependencies(own);
    let shared: BTreeMap<&str, &Dependency> = shared.iter().map(|d| (&*d.name, d)).collect();
    for member in members {
        let Some((_, allowed)) = may_use.iter().find(|(dir, _)| *dir == member.dir) else {
            told(&member.dir, "the tidy check does not know what it may depend on".to_owned());
            continue;
        };
        for used in manifest::dependencies(&member.manifest).iter().filter(|used| !used.is_dev) {
            // The workspace may call it something else.
            let package = match shared.get(&*used.name) {
                Some(shared) if used.package.is_none() => shared.package(),
                _ => used.package(),
            };
            let is_ours = members.iter().any(|ours| ours.package == package);
            if is_ours && !allowed.contains(&package) {
                told(&member.dir, format!("depends on {package}: dependencies point one way"));
            }
        }
    }
    for (dir, _) in may_use.iter().filter(|(dir, _)| members.iter().all(|m| m.dir != *dir)) {
        told(dir, "the tidy check knows it, and it is no member of the workspace".to_owned());
    }
}

fn storage_rooms(root: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(root.join("crates/storage/src")) else { return Vec::new() };
    let mut rooms: Vec<_> = entries.flatten().map(|e| e.path()).filter(|p| p.is_dir()).collect();
    rooms.sort();
    rooms
}
