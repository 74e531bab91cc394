//! Manifests, as far as rules look into them.

use toml::{Table, Value};

/// What a manifest says of one dependency.
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

/// The value at a path of keys.
pub(super) fn value<'m>(manifest: &'m Table, path: [&str; 2]) -> Option<&'m Value> {
    manifest.get(path[0])?.get(path[1])
}

/// The strings of a list; none where there is no list.
pub(super) fn strings(list: Option<&Value>) -> impl Iterator<Item = &str> {
    list.and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str)
}

/// All dependencies, of every kind and target; those of the workspace, too, where it has a list.
pub(super) fn dependencies(manifest: &Table) -> Vec<Dependency> {
    let targets = manifest.get("target").and_then(Value::as_table);
    let targets = targets.into_iter().flat_map(Table::values);
    let inner = targets.chain(manifest.get("workspace")).filter_map(Value::as_table);
    let mut found = Vec::new();
    for table in std::iter::once(manifest).chain(inner) {
        for kind in ["dependencies", "build-dependencies", "dev-dependencies"] {
            let listed = table.get(kind).and_then(Value::as_table).into_iter().flatten();
            found.extend(listed.map(|(name, said)| Dependency {
                name: name.clone(),
                package: said.get("package").and_then(Value::as_str).map(str::to_owned),
                features: strings(said.get("features")).map(str::to_owned).collect(),
                is_dev: kind == "dev-dependencies",
            }));
        }
    }
    found
}
