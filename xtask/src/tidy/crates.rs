//! Dependency direction: base → {storage, syntax, wire} → sql → server → thalweg; nothing uses the rest.

use super::Finding;
use std::fs;
use std::path::Path;

/// Each crate with the workspace crates it may depend on.
const MAY_USE: &[(&str, &[&str])] = &[
    ("crates/base", &[]),
    ("crates/storage", &["base"]),
    ("crates/syntax", &["base"]),
    ("crates/wire", &["base"]),
    ("crates/sql", &["base", "storage", "syntax"]),
    ("crates/server", &["base", "storage", "wire", "sql"]),
    ("crates/thalweg", &["base", "storage", "sql", "server"]),
    ("xtask", &[]),
];

const OURS: &[&str] = &[
    "base", "storage", "syntax", "wire", "sql", "server", "thalweg", "sim", "bench", "lab", "xtask",
];

pub(super) fn check(root: &Path, findings: &mut Vec<Finding>) {
    for (crate_dir, allowed) in MAY_USE {
        let manifest = root.join(crate_dir).join("Cargo.toml");
        let Ok(text) = fs::read_to_string(&manifest) else {
            findings.push(Finding {
                place: (*crate_dir).to_owned(),
                what: "has no Cargo.toml".to_owned(),
            });
            continue;
        };
        for used in dependencies(&text) {
            if OURS.contains(&used.as_str()) && !allowed.contains(&used.as_str()) {
                findings.push(Finding {
                    place: format!("{crate_dir}/Cargo.toml"),
                    what: format!("depends on {used}: dependencies point one way"),
                });
            }
        }
    }
    for room in storage_rooms(root) {
        if !room.join("README.md").exists() {
            findings.push(Finding {
                place: super::relative(root, &room),
                what: "every folder of storage has a README".to_owned(),
            });
        }
    }
}

/// Names in the sections of normal dependencies (development ones may point anywhere).
pub(super) fn dependencies(manifest: &str) -> Vec<String> {
    let mut names = Vec::new();
    let mut inside = false;
    for line in manifest.lines().map(str::trim) {
        if line.starts_with('[') {
            inside = line.ends_with("dependencies]") && !line.contains("dev-dependencies");
        } else if inside && let Some((name, _)) = line.split_once(['=', '.']) {
            names.push(name.trim().to_owned());
        }
    }
    names
}

fn storage_rooms(root: &Path) -> Vec<std::path::PathBuf> {
    let Ok(entries) = fs::read_dir(root.join("crates/storage/src")) else { return Vec::new() };
    let mut rooms: Vec<_> = entries.flatten().map(|e| e.path()).filter(|p| p.is_dir()).collect();
    rooms.sort();
    rooms
}
