//! Rules over Rust files: lengths, banned names, tests that do not run.

use super::{Exceptions, Finding};

const FILE_LINES_MAX: usize = 800;
const FUNCTION_LINES_MAX: usize = 100;

/// A name that may not be used, in files under one of `within`, except those under `except`.
struct Ban {
    name: &'static str,
    within: &'static [&'static str],
    except: &'static [&'static str],
    why: &'static str,
}

const ENGINE: &[&str] = &["crates/base/src", "crates/storage/src", "crates/sql/src"];

const BANS: &[Ban] = &[
    Ban {
        name: "collections::HashMap",
        within: ENGINE,
        except: &["crates/base/src/hash.rs"],
        why: "its order depends on a random seed; use base::hash",
    },
    Ban {
        name: "collections::HashSet",
        within: ENGINE,
        except: &["crates/base/src/hash.rs"],
        why: "its order depends on a random seed; use base::hash",
    },
    Ban {
        name: "RandomState",
        within: ENGINE,
        except: &[],
        why: "a random seed makes runs differ; use base::hash",
    },
    Ban {
        name: "std::sync::atomic",
        within: &["crates/base/src", "crates/storage/src", "crates/sql/src", "crates/server/src"],
        except: &[
            "crates/base/src/sync.rs",
            "crates/base/src/counts",
            // In a handler of signals nothing else is called.
            "crates/base/src/disk/real/sigbus.rs",
        ],
        why: "the laboratory does not see it; use base::sync",
    },
    Ban {
        name: "thread::sleep",
        within: &["crates/base/src", "crates/storage/src", "crates/sql/src", "crates/server/src"],
        except: &[],
        why: "blocks a worker; use base::park::sleep, or tokio's timers in server",
    },
    Ban {
        name: "std::fs",
        within: &["crates/storage/src", "crates/sql/src"],
        // Of laboratory builds only, and not the database's.
        except: &["crates/storage/src/buffer/trace.rs"],
        why: "goes around the simulated disk; use base::disk",
    },
    Ban {
        name: "Instant::now",
        within: &["crates/storage/src", "crates/sql/src"],
        except: &[],
        why: "goes around the simulated clock; use base::clock",
    },
    Ban {
        name: "SystemTime",
        within: &["crates/storage/src", "crates/sql/src"],
        except: &[],
        why: "goes around the simulated clock; use base::clock",
    },
    Ban {
        name: "println!",
        within: ENGINE,
        except: &[],
        why: "the engine does not own standard output",
    },
    Ban {
        name: "eprintln!",
        within: &["crates"],
        // Commands that end.
        except: &["crates/thalweg/src/main.rs"],
        why: "panics where standard error can't be written; use base::log",
    },
    Ban {
        name: "async fn",
        within: &["crates/base/src", "crates/storage/src", "crates/sql/src", "crates/wire/src"],
        except: &[],
        why: "engine code is synchronous; it parks",
    },
];

pub(super) fn check(
    path: &str,
    text: &str,
    exceptions: &mut Exceptions,
    findings: &mut Vec<Finding>,
) {
    let lines = text.lines().count();
    if lines > FILE_LINES_MAX && !exceptions.covers("file-length", path) {
        findings.push(Finding {
            place: path.to_owned(),
            what: format!("{lines} lines; more than {FILE_LINES_MAX} is more than one story"),
        });
    }
    for (line, name, length) in long_functions(text) {
        if !exceptions.covers("function-length", &format!("{path}:{name}")) {
            findings.push(Finding {
                place: format!("{path}:{line}"),
                what: format!("fn {name} has {length} lines; the limit is {FUNCTION_LINES_MAX}"),
            });
        }
    }
    for line in ignored(text) {
        let what = "ignore: a test that does not run is no test".to_owned();
        findings.push(Finding { place: format!("{path}:{line}"), what });
    }
    for ban in BANS {
        let applies = ban.within.iter().any(|p| path.starts_with(p))
            && !ban.except.iter().any(|p| path.starts_with(p));
        if !applies || is_test(path) {
            continue;
        }
        for line in lines_with(ban.name, text) {
            if !exceptions.covers(ban.name, path) {
                findings.push(Finding {
                    place: format!("{path}:{line}"),
                    what: format!("{}: {}", ban.name, ban.why),
                });
            }
        }
    }
}

/// Whether a file has tests alone.
pub(super) fn is_test(path: &str) -> bool {
    path.ends_with("tests.rs") || path.ends_with("loom.rs") || path.contains("/tests/")
}

/// Lines, from 1, of attributes that keep a test from running, also under some condition.
pub(super) fn ignored(text: &str) -> Vec<usize> {
    let lines: Vec<&str> = text.lines().map(|line| code(line).trim()).collect();
    let mut found = Vec::new();
    for (i, line) in lines.iter().enumerate() {
        let of_tests = ["#[ignore", "#[cfg_attr("].into_iter().filter_map(|head| line.find(head));
        for at in of_tests {
            if line[..at].contains('"') {
                continue; // a rule about attributes
            }
            let mut attribute = line[at..].to_owned();
            for more in &lines[i + 1..] {
                if attribute.matches('[').count() <= attribute.matches(']').count() {
                    break;
                }
                attribute.push_str(more);
            }
            // What stands behind a condition is an attribute, too.
            let mut parts = attribute.split(['[', '(', ',']).map(str::trim);
            if parts.any(|part| part.split(|c: char| !c.is_alphanumeric()).next() == Some("ignore"))
            {
                found.push(i + 1);
            }
        }
    }
    found
}

/// Lines of the text, from 1, that mention a name, or begin an import that is short for it.
fn lines_with(name: &str, text: &str) -> Vec<usize> {
    let plain = text.lines().enumerate().filter(|(_, line)| mentions(code(line), name));
    let mut lines: Vec<usize> = plain.map(|(i, _)| i + 1).collect();
    for (line, import) in grouped_imports(text) {
        // Otherwise one of its lines is there already.
        if !mentions(&import, name) && paths(&import).iter().any(|path| mentions(path, name)) {
            lines.push(line);
        }
    }
    lines
}

/// A line without its comment.
pub(super) fn code(line: &str) -> &str {
    line.split("//").next().unwrap_or_default()
}

/// Imports with braces, each with its line, from 1, and what is between `use` and the semicolon.
pub(super) fn grouped_imports(text: &str) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    let mut lines = text.lines().enumerate();
    while let Some((i, line)) = lines.next() {
        let Some(tree) = import(code(line)) else { continue };
        let mut tree = tree.to_owned();
        while tree.matches('{').count() > tree.matches('}').count() {
            let Some((_, more)) = lines.next() else { break };
            tree.push(' ');
            tree.push_str(code(more).trim());
        }
        if tree.contains('{') {
            found.push((i + 1, tree));
        }
    }
    found
}

/// What stands behind `use`.
fn import(code: &str) -> Option<&str> {
    let mut rest = code.trim_start();
    for visibility in ["pub ", "pub(crate) ", "pub(super) "] {
        rest = rest.strip_prefix(visibility).unwrap_or(rest);
    }
    rest.strip_prefix("use ")
}

/// The paths that an import is short for: `a::{b, c::{d}}` is `a::b` and `a::c::d`.
pub(super) fn paths(tree: &str) -> Vec<String> {
    let Some((stem, group)) = tree.split_once('{') else { return vec![tree.trim().to_owned()] };
    let group = group.rsplit_once('}').map_or(group, |(inside, _)| inside);
    let mut depth = 0;
    let between = |c: char| {
        depth += i32::from(c == '{') - i32::from(c == '}');
        c == ',' && depth == 0
    };
    let trees = group.split(between).filter(|tree| !tree.trim().is_empty());
    trees.flat_map(paths).map(|path| format!("{}{path}", stem.trim())).collect()
}

/// Whether `name` stands in `code` as a word of its own, not as the tail of a longer one.
fn mentions(code: &str, name: &str) -> bool {
    code.match_indices(name).any(|(at, _)| {
        let before = code[..at].chars().next_back();
        !before.is_some_and(|c| c.is_alphanumeric() || c == '_')
    })
}

/// Functions longer than the limit. Relies on rustfmt: a function ends at the first line that closes a
/// brace at the indentation of its first line. What a trait asks for, without a body, is none.
pub(super) fn long_functions(text: &str) -> Vec<(usize, String, usize)> {
    let lines: Vec<&str> = text.lines().collect();
    let mut found = Vec::new();
    for (i, line) in lines.iter().enumerate() {
        let Some(name) = function_name(line) else { continue };
        // A trait's function without a body ends with its signature.
        let ends = |l: &&&str| l.trim_end().ends_with(['{', '}', ';']);
        if lines[i..].iter().find(ends).is_some_and(|l| l.trim_end().ends_with(';')) {
            continue;
        }
        let indent = line.len() - line.trim_start().len();
        let close = format!("{}}}", " ".repeat(indent));
        let ends_here = lines[i..]
            .iter()
            .position(|l| l.trim_end() == close || (l.starts_with(&close) && l.len() == indent + 1))
            .filter(|_| !line.trim_end().ends_with('}'));
        if let Some(length) = ends_here.map(|n| n + 1)
            && length > FUNCTION_LINES_MAX
        {
            found.push((i + 1, name.to_owned(), length));
        }
    }
    found
}

fn function_name(line: &str) -> Option<&str> {
    let code = line.trim_start();
    let mut rest = code;
    for word in
        ["pub ", "pub(crate) ", "pub(super) ", "const ", "unsafe ", "extern \"C\" ", "async "]
    {
        rest = rest.strip_prefix(word).unwrap_or(rest);
    }
    let name = rest.strip_prefix("fn ")?;
    let end = name.find(|c: char| !c.is_alphanumeric() && c != '_')?;
    Some(&name[..end])
}
