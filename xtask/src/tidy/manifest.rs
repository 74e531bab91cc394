//! Manifests, as far as rules look into them: entries with their sections, and dependencies.

/// One `key = value`, wherever it stands.
#[derive(Debug)]
pub(super) struct Entry {
    /// `target.'cfg(loom)'.dependencies` is three parts.
    pub section: Vec<String>,
    pub key: Vec<String>,
    /// All of its lines, as one.
    pub value: String,
}

/// What a manifest says of one dependency, in however many places.
#[derive(Debug)]
pub(super) struct Dependency {
    /// What it is called there.
    pub name: String,
    /// What it is, if that is something else.
    pub package: Option<String>,
    pub features: Vec<String>,
    /// For tests and measurements alone.
    pub is_dev: bool,
}

impl Dependency {
    pub fn package(&self) -> &str {
        self.package.as_deref().unwrap_or(&self.name)
    }
}

/// Reads a manifest.
pub(super) fn entries(text: &str) -> Vec<Entry> {
    let (mut section, mut found) = (Vec::new(), Vec::new());
    let mut lines = text.lines().map(without_comment);
    while let Some(line) = lines.next() {
        if line.starts_with('[') {
            section = parts(line.trim_matches(['[', ']']));
            continue;
        }
        let masked = masked(line);
        let Some(at) = masked.find('=') else { continue };
        let mut value = line[at + 1..].trim().to_owned();
        while is_open(&value) {
            let Some(more) = lines.next() else { break };
            value.push(' ');
            value.push_str(more);
        }
        found.push(Entry { section: section.clone(), key: parts(&line[..at]), value });
    }
    found
}

/// The value of an entry.
pub(super) fn value<'e>(entries: &'e [Entry], section: &str, key: &str) -> Option<&'e str> {
    let is_it = |entry: &&Entry| entry.section == [section] && entry.key == [key];
    entries.iter().find(is_it).map(|entry| &*entry.value)
}

/// All dependencies, of every kind and target; those of the workspace, too, where it has a list.
pub(super) fn dependencies(entries: &[Entry]) -> Vec<Dependency> {
    let mut found: Vec<Dependency> = Vec::new();
    for entry in entries {
        let Some(at) = entry.section.iter().position(|part| part.ends_with("dependencies")) else {
            continue;
        };
        let is_dev = entry.section[at] == "dev-dependencies";
        let path: Vec<&String> = entry.section[at + 1..].iter().chain(&entry.key).collect();
        let (name, rest) = path.split_first().expect("an entry has a key");
        let known = found.iter().position(|d| d.name == **name && d.is_dev == is_dev);
        let at = known.unwrap_or_else(|| {
            let (name, features) = ((*name).clone(), Vec::new());
            found.push(Dependency { name, package: None, features, is_dev });
            found.len() - 1
        });
        let dependency = &mut found[at];
        let (package, features) = match rest {
            [] => (field(&entry.value, "package"), field(&entry.value, "features")),
            [key] if *key == "package" => (Some(&*entry.value), None),
            [key] if *key == "features" => (None, Some(&*entry.value)),
            _ => (None, None),
        };
        let package = package.and_then(|value| quoted(value).next().map(str::to_owned));
        dependency.package = package.or(dependency.package.take());
        dependency.features.extend(features.into_iter().flat_map(quoted).map(str::to_owned));
    }
    found
}

/// What is between double quotes.
pub(super) fn quoted(text: &str) -> impl Iterator<Item = &str> {
    text.split('"').skip(1).step_by(2)
}

/// The value of a key of an inline table: a string or a list.
fn field<'v>(value: &'v str, key: &str) -> Option<&'v str> {
    let masked = masked(value);
    let is_key = |at: &usize| {
        let before = masked[..*at].chars().next_back();
        let behind = masked[at + key.len()..].trim_start();
        before.is_some_and(|c| c == '{' || c == ',' || c == ' ') && behind.starts_with('=')
    };
    let at = masked.match_indices(key).map(|(at, _)| at).find(is_key)? + key.len();
    let begin = at + masked[at..].find(['"', '['])?;
    let end = match masked.as_bytes()[begin] {
        b'[' => masked[begin..].find(']')?,
        _ => masked[begin + 1..].find('"')? + 1,
    };
    Some(&value[begin..=begin + end])
}

fn without_comment(line: &str) -> &str {
    let end = masked(line).find('#').unwrap_or(line.len());
    line[..end].trim()
}

/// The same with spaces for what is between quotes.
fn masked(text: &str) -> String {
    let mut within = None;
    let mask = |c: char| match within {
        Some(quote) if c == quote => {
            within = None;
            c
        }
        Some(_) if c.is_ascii() => ' ',
        Some(_) => c,
        None => {
            within = Some(c).filter(|c| matches!(c, '"' | '\''));
            c
        }
    };
    text.chars().map(mask).collect()
}

fn is_open(value: &str) -> bool {
    let masked = masked(value);
    masked.matches(['[', '{']).count() > masked.matches([']', '}']).count()
}

/// The parts of a dotted key, without quotes.
fn parts(path: &str) -> Vec<String> {
    let masked = masked(path);
    let (mut found, mut begin) = (Vec::new(), 0);
    let ends = masked.match_indices('.').map(|(at, _)| at).chain([path.len()]);
    for end in ends {
        found.push(path[begin..end].trim().trim_matches(['"', '\'']).to_owned());
        begin = end + 1;
    }
    found
}
