//! What the entries of a plan are called, and their columns.

use std::collections::BTreeMap;

use syntax::deparse::quote_ident;

/// Names given while a plan is printed.
#[derive(Default)]
pub(super) struct EntryNames {
    qualified: bool,
    /// The entries so far.
    pub taken: Vec<String>,
    /// What comes from outside of a node, by exec slot.
    outer: BTreeMap<u16, String>,
}

impl EntryNames {
    /// No entry has a name yet. `qualified`: columns are shown with their entry's name above its scan.
    pub fn new(qualified: bool) -> EntryNames {
        EntryNames { qualified, ..EntryNames::default() }
    }

    /// An entry's name is its own: `a`, and for another `a` in the same plan `a_1`. Answers what is scanned,
    /// as the scan's line tells it, and the name.
    pub fn enter(&mut self, of: &str, alias: &str) -> (String, String) {
        let numbered = (1..).map(|n: u32| format!("{alias}_{n}"));
        let mut names = std::iter::once(alias.to_owned()).chain(numbered);
        let name = names.find(|name| !self.taken.contains(name)).unwrap_or_default();
        self.taken.push(name.clone());
        let on = match name == of {
            true => quote_ident(of).into_owned(),
            false => format!("{} {}", quote_ident(of), quote_ident(&name)),
        };
        (on, quote_ident(&name).into_owned())
    }

    /// A scan's columns, as the nodes above it call them.
    pub fn qualify(&self, entry: &str, mut columns: Vec<String>) -> Vec<String> {
        if self.qualified {
            columns.iter_mut().for_each(|column| *column = format!("{entry}.{column}"));
        }
        columns
    }

    /// What an exec slot is set to.
    pub fn set_outer(&mut self, slot: u16, text: String) {
        self.outer.insert(slot, text);
    }

    /// How a value from outside of the node is shown.
    pub fn outer(&self, slot: u16) -> String {
        self.outer.get(&slot).cloned().unwrap_or_else(|| format!("${slot}"))
    }
}
