//! EXPLAIN's lines about pages and log: BUFFERS and WAL.

use base::usage::Usage;
use storage::page::PAGE_BYTES;

use crate::exec::watch::Profile;
use crate::plan::node::Node;

use super::Printer;

/// Marks a line that belongs behind the other details of its node, which are printed later.
const LAST: char = '\u{1}';

/// Which of them were asked for.
#[derive(Clone, Copy, Default)]
pub(super) struct Show {
    pub buffers: bool,
    /// Beside buffers: `track_io_timing`.
    pub times: bool,
    pub wal: bool,
}

impl Show {
    /// How long pages were waited for, if that is to be told and they were.
    fn times(self, used: &Usage) -> Option<String> {
        let is_told = self.times && used.read_ns > 0;
        is_told.then(|| format!("shared read={:.3}", used.read_ns as f64 / 1e6))
    }
}

impl Printer<'_> {
    /// The lines of a node that was run, under its others. `whole`: it stands for the whole plan.
    pub(super) fn used(&mut self, depth: usize, node: &Node) {
        let Some(profile) = &self.profile else { return };
        if !self.show.buffers && !self.show.wal {
            return;
        }
        let used = match node {
            // The root of a change is not watched.
            Node::Modify(_) => self.used,
            node => used_by(profile, node),
        };
        self.used_by(depth, &used);
    }

    /// The lines of what was used.
    pub(super) fn used_by(&mut self, depth: usize, used: &Usage) {
        if self.show.buffers
            && let Some(text) = buffers(used)
        {
            self.detail(depth, "Buffers", &format!("{text}{LAST}"));
        }
        if self.show.buffers
            && let Some(text) = self.show.times(used)
        {
            self.detail(depth, "I/O Timings", &format!("{text}{LAST}"));
        }
        if self.show.wal && used.wal_records + used.wal_bytes > 0 {
            let fpi = match used.wal_images {
                0 => String::new(),
                images => format!(" fpi={images}"),
            };
            let text = format!("records={}{fpi} bytes={}", used.wal_records, used.wal_bytes);
            self.detail(depth, "WAL", &format!("{text}{LAST}"));
        }
    }
}

fn used_by(profile: &Profile, node: &Node) -> Usage {
    profile.of(node).map_or_else(Usage::default, |watched| watched.used())
}

/// Moves the lines of [`Printer::used`] behind their nodes' other details.
pub(super) fn put_in_place(lines: &mut Vec<String>) {
    let all = std::mem::take(lines);
    let mut waiting: Vec<String> = Vec::new();
    for line in all {
        let text = line.trim_start();
        if text.ends_with(LAST) {
            waiting.push(line.trim_end_matches(LAST).to_owned());
            continue;
        }
        let is_with = text.starts_with("CTE ") && !text.starts_with("CTE Scan");
        if text.starts_with("->") || text.starts_with("SubPlan ") || is_with {
            lines.append(&mut waiting);
        }
        lines.push(line);
    }
    lines.append(&mut waiting);
}

/// The lines after the plan.
pub(super) fn of_planning(show: Show, used: &Usage, lines: &mut Vec<String>) {
    if let Some(text) = buffers(used) {
        lines.push("Planning:".to_owned());
        lines.push(format!("  Buffers: {text}"));
        if let Some(text) = show.times(used) {
            lines.push(format!("  I/O Timings: {text}"));
        }
    }
}

/// Chunks of temporary files need not have a page's size: what lies in so many pages.
fn pages(bytes: u64) -> u64 {
    bytes.div_ceil(PAGE_BYTES as u64)
}

/// What is not zero; `None` where everything is.
fn buffers(used: &Usage) -> Option<String> {
    let (temp_read, temp_written) = (pages(used.temp_read), pages(used.temp_written));
    let kinds: [(&str, &[(&str, u64)]); 3] = [
        ("shared", &[("hit", used.hit), ("read", used.read), ("dirtied", used.dirtied)]),
        (
            "local",
            &[("hit", used.local_hit), ("read", used.local_read), ("dirtied", used.local_dirtied)],
        ),
        ("temp", &[("read", temp_read), ("written", temp_written)]),
    ];
    let shown = kinds.iter().filter_map(|(kind, counts)| {
        let counts: Vec<String> = counts
            .iter()
            .filter(|(_, count)| *count > 0)
            .map(|(name, count)| format!("{name}={count}"))
            .collect();
        (!counts.is_empty()).then(|| format!("{kind} {}", counts.join(" ")))
    });
    let shown: Vec<String> = shown.collect();
    (!shown.is_empty()).then(|| shown.join(", "))
}
