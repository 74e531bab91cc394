//! Dependency direction: base → {storage, syntax, wire} → sql → server → thalweg; nothing uses the rest.

use super::manifest::{self, Dependency, Entry};
use super::{Finding, relative};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

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
    pub entries: Vec<Entry>,
}

/// The workspace's own manifest, and its members.
pub(super) fn workspace(root: &Path) -> (Vec<Entry>, Vec<Member>) {
    let read = |dir: &str| {
        let text = fs::read_to_string(root.join(dir).join("Cargo.toml"));
        manifest::entries(&text.unwrap_or_default())
    };
    let own = read("");
    let dirs = manifest::value(&own, "workspace", "members").unwrap_or_default();
    let member = |dir: &str| {
        let entries = read(dir);
        let package = manifest::value(&entries, "package", "name").unwrap_or_default();
        let package = manifest::quoted(package).next().unwrap_or(dir).to_owned();
        Member { dir: dir.to_owned(), package, entries }
    };
    let members = manifest::quoted(dirs).map(member).collect();
    (own, members)
}

pub(super) fn check(root: &Path, own: &[Entry], members: &[Member], findings: &mut Vec<Finding>) {
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
    own: &[Entry],
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
        for used in manifest::dependencies(&member.entries).iter().filter(|used| !used.is_dev) {
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
