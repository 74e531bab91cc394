//! Documents: every relative link leads somewhere.

use super::{Finding, relative, walk};
use std::fs;
use std::path::Path;

pub(super) fn check(root: &Path, findings: &mut Vec<Finding>) {
    let mut files = Vec::new();
    for top in ["crates", "sim", "bench", "lab", "xtask", "docs"] {
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
    }
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
