//! Invariants of storage: its READMEs number them, and assertions, checks and tests cite them.

use super::{Exceptions, Finding, relative};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// Where they are kept, and where they may be cited.
const ROOMS: &str = "crates/storage/";
const CITED_IN: &[&str] = &["crates/storage/", "sim/"];

pub(super) fn check(
    root: &Path,
    files: &[PathBuf],
    exceptions: &mut Exceptions,
    findings: &mut Vec<Finding>,
) {
    let read = |path: &PathBuf| fs::read_to_string(path).unwrap_or_default();
    let (mut readmes, mut sources) = (Vec::new(), Vec::new());
    for path in files {
        let shown = relative(root, path);
        if shown.starts_with(ROOMS) && shown.ends_with("/README.md") {
            readmes.push((shown, read(path)));
        } else if shown.ends_with(".rs") && CITED_IN.iter().any(|dir| shown.starts_with(dir)) {
            sources.push((shown, read(path)));
        }
    }
    let told = found(&readmes, &sources, |id, readme| {
        exceptions.covers("invariant", &format!("{readme}:{id}"))
    });
    findings.extend(told);
}

/// An invariant's letters are its room's alone, something cites it, and what is cited is there.
pub(super) fn found(
    readmes: &[(String, String)],
    sources: &[(String, String)],
    mut is_excused: impl FnMut(&str, &str) -> bool,
) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut told = |place: &str, what: String| {
        findings.push(Finding { place: place.to_owned(), what });
    };
    // Each with its README, and whether it is cited.
    let mut known: BTreeMap<&str, (&str, bool)> = BTreeMap::new();
    let mut owners: BTreeMap<&str, &str> = BTreeMap::new();
    for (readme, text) in readmes {
        for id in numbered(text) {
            let owner = owners.entry(letters(id)).or_insert(readme);
            if owner != readme {
                told(readme, format!("{id}: {} numbers its invariants by that, too", owner));
            } else if known.insert(id, (readme, false)).is_some() {
                told(readme, format!("there are two invariants {id}"));
            }
        }
    }
    for (place, text) in sources {
        for (i, line) in text.lines().enumerate() {
            for id in line.split(|c: char| !c.is_alphanumeric() && c != '_') {
                match known.get_mut(id) {
                    Some((_, is_cited)) => *is_cited = true,
                    None if is_id(id) && owners.contains_key(letters(id)) => {
                        told(&format!("{place}:{}", i + 1), format!("there is no invariant {id}"));
                    }
                    None => {}
                }
            }
        }
    }
    for (id, (readme, is_cited)) in known {
        if !is_cited && !is_excused(id, readme) {
            told(readme, format!("no assertion, check or test cites {id}"));
        }
    }
    findings
}

/// The invariants of a README: what stands at the beginning of an item of a list, as in `- **H2** …`.
pub(super) fn numbered(readme: &str) -> Vec<&str> {
    let item = |line| {
        let (id, _) =
            str::strip_prefix(line, "- **").or(line.strip_prefix("* **"))?.split_once("**")?;
        is_id(id).then_some(id)
    };
    readme.lines().filter_map(item).collect()
}

/// One or two capital letters, and a number.
fn is_id(word: &str) -> bool {
    let (letters, number) = (letters(word), &word[letters(word).len()..]);
    matches!(letters.len(), 1 | 2) && matches!(number.len(), 1 | 2) && number.parse::<u8>().is_ok()
}

/// The capital letters at its beginning.
fn letters(word: &str) -> &str {
    &word[..word.bytes().take_while(u8::is_ascii_uppercase).count()]
}
