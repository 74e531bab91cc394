//! Features of the laboratory: no release may have one.

use super::Finding;
use super::crates::Member;
use super::manifest::{self, Dependency};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use toml::{Table, Value};

/// Whether a feature changes what is measured, and nothing that a database needs.
fn is_of_the_laboratory(feature: &str) -> bool {
    feature.starts_with("lab-") || feature == "page-trace"
}

/// Programs beside a release are built with it, and Cargo gives both the same features: so no member may turn one on.
pub(super) fn check(root: &Path, own: &Table, members: &[Member], findings: &mut Vec<Finding>) {
    findings.extend(turned_on(own, members));
    let made = fs::read_to_string(root.join("Makefile")).unwrap_or_default();
    let told = |what| Finding { place: "Makefile".to_owned(), what };
    findings.extend(in_makefile(&made).into_iter().map(told));
}

/// A feature of a package.
type Feature = (String, String);

/// What manifests turn on by themselves, by default or in a dependency, and whatever that turns on in turn.
pub(super) fn turned_on(own: &Table, members: &[Member]) -> Vec<Finding> {
    let mut features: BTreeMap<Feature, Vec<Feature>> = BTreeMap::new();
    // What is turned on, where.
    let mut asked: Vec<(String, Feature)> = Vec::new();
    let mut ask = |place: &str, dependencies: &[Dependency]| {
        for dependency in dependencies {
            let of_it = |name: &String| (dependency.package().to_owned(), name.clone());
            let asks = dependency.features.iter().map(|name| (place.to_owned(), of_it(name)));
            asked.extend(asks);
        }
    };
    ask("Cargo.toml", &manifest::dependencies(own));
    for member in members {
        let dependencies = manifest::dependencies(&member.manifest);
        ask(&format!("{}/Cargo.toml", member.dir), &dependencies);
        let listed = member.manifest.get("features").and_then(Value::as_table);
        for (key, names) in listed.into_iter().flatten() {
            let names = manifest::strings(Some(names));
            let turned_on = names.map(|name| feature(name, &member.package, &dependencies));
            features.insert((member.package.clone(), key.clone()), turned_on.collect());
        }
    }
    for member in members {
        let default = (member.package.clone(), "default".to_owned());
        asked.push((format!("{}/Cargo.toml", member.dir), default));
    }
    let mut found = Vec::new();
    for (place, first) in asked {
        let (mut seen, mut open) = (BTreeSet::new(), vec![first.clone()]);
        while let Some(next) = open.pop() {
            if is_of_the_laboratory(&next.1) {
                let what = format!(
                    "the feature {} of {} turns {}/{} on, which is of the laboratory: releases would have it",
                    first.1, first.0, next.0, next.1
                );
                found.push(Finding { place: place.clone(), what });
            } else if seen.insert(next.clone()) {
                open.extend(features.get(&next).into_iter().flatten().cloned());
            }
        }
    }
    found
}

/// What a name in a list of features means: `NAME`, `CRATE/NAME` or `CRATE?/NAME`.
fn feature(name: &str, package: &str, dependencies: &[Dependency]) -> Feature {
    let Some((of, name)) = name.split_once('/') else {
        return (package.to_owned(), name.to_owned());
    };
    let of = of.trim_end_matches('?');
    let dependency = dependencies.iter().find(|dependency| dependency.name == of);
    (dependency.map_or(of, Dependency::package).to_owned(), name.to_owned())
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
