//! Documents: every relative link leads somewhere, and nothing is left to be filled in.

use super::{Finding, relative, walk};
use std::fs;
use std::path::Path;

pub(super) fn check(root: &Path, members: &[&str], findings: &mut Vec<Finding>) {
    let mut files = Vec::new();
    for top in members.iter().chain(&["docs", "tests"]) {
        walk(&root.join(top), &mut files);
    }
    if let Ok(entries) = fs::read_dir(root) {
        files.extend(entries.flatten().map(|e| e.path()).filter(|p| p.is_file()));
    }
    files.retain(|p| p.extension().is_some_and(|e| e == "md"));
    files.sort();
    for path in files {
        let text = fs::read_to_string(&path).unwrap_or_default();
        for link in links(&text) {
            let target = link.split('#').next().unwrap_or_default();
            let outside =
                target.is_empty() || target.contains("://") || target.starts_with("mailto:");
            let home = path.parent().expect("a file has a folder");
            if !outside && !home.join(target).exists() {
                findings.push(Finding {
                    place: relative(root, &path),
                    what: format!("the link to '{target}' leads nowhere"),
                });
            }
        }
        for blank in blanks(&text) {
            findings.push(Finding {
                place: relative(root, &path),
                what: format!("'{blank}' was never filled in"),
            });
        }
    }
}

/// Places like `@FIGURES@`, which a script was to put something into.
pub(super) fn blanks(text: &str) -> Vec<String> {
    let pieces: Vec<&str> = text.split('@').collect();
    // What is before the first and behind the last is between no two.
    let between = pieces.get(1..pieces.len() - 1).unwrap_or_default();
    let is_name = |piece: &&&str| {
        !piece.is_empty() && piece.chars().all(|c| c.is_ascii_uppercase() || c == '_')
    };
    between.iter().filter(is_name).map(|name| format!("@{name}@")).collect()
}

/// Targets of `[text](target)` outside code blocks.
pub(super) fn links(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut code = false;
    for line in text.lines() {
        if line.trim_start().starts_with("```") {
            code = !code;
        }
        if code || line.starts_with("    ") {
            continue;
        }
        let mut rest = line;
        while let Some(start) = rest.find("](") {
            rest = &rest[start + 2..];
            let Some(end) = rest.find(')') else { break };
            found.push(rest[..end].trim().to_owned());
            rest = &rest[end..];
        }
    }
    found
}
