//! The rooms of storage are used in one order, which its README tells.

use super::source::{self, code, is_test};
use super::{Finding, relative};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

const SOURCES: &str = "crates/storage/src/";
const README: &str = "crates/storage/README.md";

/// Who may use what comes later: the ends or beginnings of files, and what they use. The README names them.
const EXCEPTIONS: &[(&str, &str)] = &[
    ("redo.rs", "recovery"),
    ("btree/free.rs", "heap::fsm"),
    ("hash/", "heap::fsm"),
    ("heap/liveness.rs", "btree"),
    ("hash/", "btree::IndexCleaning"),
    ("wal/switch.rs", "recovery"),
    ("recovery/checkpoint.rs", "engine::oids"),
];

pub(super) fn check(root: &Path, files: &[PathBuf], findings: &mut Vec<Finding>) {
    let readme = fs::read_to_string(root.join(README)).unwrap_or_default();
    let Some(order) = order(&readme) else {
        let what = "tells no order of use".to_owned();
        return findings.push(Finding { place: README.to_owned(), what });
    };
    let mut unused: BTreeSet<_> = EXCEPTIONS.iter().collect();
    for path in files {
        let shown = relative(root, path);
        let Some(within) = shown.strip_prefix(SOURCES) else { continue };
        let text = fs::read_to_string(path).unwrap_or_default();
        for (line, used) in uses_later(within, &text, &order) {
            let is_meant = |(by, what): &&(&str, &str)| {
                (within.starts_with(by) || within.ends_with(by)) && is_within(&used, what)
            };
            match EXCEPTIONS.iter().find(is_meant) {
                Some(exception) => drop(unused.remove(exception)),
                None => findings.push(Finding {
                    place: format!("{shown}:{line}"),
                    what: format!("uses {used}, whose room does not come before this one"),
                }),
            }
        }
    }
    for (by, what) in unused {
        let what = format!("the exception of {by}, which uses {what}, is no longer needed");
        findings.push(Finding { place: README.to_owned(), what });
    }
}

fn is_within(path: &str, stem: &str) -> bool {
    path.strip_prefix(stem).is_some_and(|rest| rest.is_empty() || rest.starts_with("::"))
}

/// The place of each room in the sentence `Order of use: a ← {b, c} ← d.`
pub(super) fn order(readme: &str) -> Option<BTreeMap<String, usize>> {
    let (_, behind) = readme.split_once("Order of use:")?;
    let (sentence, _) = behind.split_once('.')?;
    let rooms = sentence.split('←').enumerate().flat_map(|(place, rooms)| {
        let rooms = rooms.split([',', '{', '}']).map(str::trim).filter(|room| !room.is_empty());
        rooms.map(move |room| (room.to_owned(), place))
    });
    Some(rooms.collect())
}

/// What a file (`ROOM/…`) uses of rooms that do not come before its own, each with its line. Tests may use anything.
pub(super) fn uses_later(
    within: &str,
    text: &str,
    order: &BTreeMap<String, usize>,
) -> Vec<(usize, String)> {
    let room = within.split('/').next().unwrap_or_default().trim_end_matches(".rs");
    let Some(own) = order.get(room).filter(|_| !is_test(within)) else { return Vec::new() };
    let text = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
    let mut found: Vec<(usize, String)> = Vec::new();
    let plain = text.lines().map(code).enumerate();
    for (i, line) in plain {
        let paths = line.match_indices("crate::").map(|(at, stem)| &line[at + stem.len()..]);
        let paths = paths.map(|path| path.split(ends).next().unwrap_or_default());
        // A group has an entry for each of its paths below.
        let whole = paths.filter(|path| !path.ends_with("::"));
        found.extend(whole.map(|path| (i + 1, path.to_owned())));
    }
    for (line, tree) in source::grouped_imports(text) {
        let paths = source::paths(&tree).into_iter();
        let own = paths.filter_map(|path| path.strip_prefix("crate::").map(str::to_owned));
        found.extend(own.map(|path| (line, path)));
    }
    found.retain(|(_, path)| {
        let used = path.split(':').next().unwrap_or_default();
        used != room && order.get(used).is_some_and(|place| place >= own)
    });
    found.sort();
    found.dedup();
    found
}

/// Whether a path ends before the character.
fn ends(c: char) -> bool {
    !c.is_alphanumeric() && c != '_' && c != ':'
}
