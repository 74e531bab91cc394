//! Features of the laboratory: no release may have one.

use super::Finding;
use std::fs;
use std::path::Path;

/// Crates that a release is built of.
const RELEASED: &[&str] = &[
    "crates/base",
    "crates/storage",
    "crates/syntax",
    "crates/wire",
    "crates/sql",
    "crates/server",
    "crates/thalweg",
];

/// Whether a feature changes what is measured, and nothing that a database needs.
fn is_of_the_laboratory(feature: &str) -> bool {
    feature.starts_with("lab-") || feature == "page-trace"
}

pub(super) fn check(root: &Path, findings: &mut Vec<Finding>) {
    let mut read = |place: &str, check: fn(&str) -> Vec<String>| {
        let text = fs::read_to_string(root.join(place)).unwrap_or_default();
        let found = check(&text).into_iter();
        findings.extend(found.map(|what| Finding { place: place.to_owned(), what }));
    };
    for released in RELEASED {
        read(&format!("{released}/Cargo.toml"), in_manifest);
    }
    for other in ["Cargo.toml", "bench/Cargo.toml", "lab/Cargo.toml", "sim/Cargo.toml"] {
        // Programs beside a release are built with it, and Cargo gives both the same features.
        read(other, in_manifest);
    }
    read("Makefile", in_makefile);
}

/// What a manifest turns on by itself: by default, or in a dependency.
pub(super) fn in_manifest(text: &str) -> Vec<String> {
    let (mut section, mut found) = ("", Vec::new());
    for line in text.lines().map(str::trim).filter(|line| !line.starts_with('#')) {
        if line.starts_with('[') {
            section = line;
            continue;
        }
        let by_default = section == "[features]" && line.starts_with("default");
        let in_dependency = section.contains("dependencies");
        if (by_default || in_dependency) && quoted(line).any(names_one) {
            found.push(format!(
                "'{line}' turns a feature of the laboratory on: releases would have it"
            ));
        }
    }
    found
}

/// Release builds that choose features.
pub(super) fn in_makefile(text: &str) -> Vec<String> {
    let whole = text.replace("\\\n", " ");
    let chooses = |line: &&str| {
        let released = line.contains("$(RELEASE)") || line.contains("--release");
        released && (line.contains("--features") || line.contains("--all-features"))
    };
    let told = |line: &str| format!("'{}' builds a release with features", line.trim());
    whole.lines().filter(chooses).map(told).collect()
}

/// Whether a name, or `CRATE/NAME`, is of the laboratory.
fn names_one(name: &str) -> bool {
    is_of_the_laboratory(name.rsplit('/').next().unwrap_or(name))
}

fn quoted(line: &str) -> impl Iterator<Item = &str> {
    line.split('"').skip(1).step_by(2)
}
