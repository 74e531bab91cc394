//! The report: one page that needs nothing but itself, and a PNG of each plot.

mod chart;
mod charts;
mod colours;
mod finding;

pub use finding::sentence;

#[cfg(test)]
mod tests;

use crate::experiments::Experiment;
use crate::grid::{Grid, grids};
use crate::model::{Record, Results, figure, write_whole};
use crate::statistics::{Spread, cell};
use crate::table::short;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::{Path, PathBuf};

const STYLE: &str = "
:root{color-scheme:light dark;--ink:#1b1f24;--muted:#5b6570;--line:#d5dae0;--ground:#ffffff;--card:#ffffff;--warn:#9a4a00}
*{box-sizing:border-box}
body{font:16px/1.5 system-ui,sans-serif;color:var(--ink);background:var(--ground);margin:0 auto;max-width:1640px;padding:1.5rem}
h1{font-size:1.6rem;margin:0 0 .3rem}h2{font-size:1.3rem;margin:2.5rem 0 .3rem}h3{font-size:1rem;margin:1rem 0 .3rem}
p{max-width:75ch;margin:.3rem 0}.muted{color:var(--muted)}.partial{color:var(--warn);font-weight:600}
nav a{margin-right:1rem;color:inherit}
.plots{display:grid;grid-template-columns:repeat(auto-fill,minmax(min(100%,700px),1fr));gap:1rem;margin:1rem 0}
figure{margin:0;border:1px solid var(--line);border-radius:8px;padding:.5rem;background:var(--card)}
svg{width:100%;height:auto;display:block}svg text{font-family:system-ui,sans-serif}
.scroll{overflow-x:auto}table{border-collapse:collapse;font-size:.85rem}
td,th{padding:.2rem .6rem;text-align:right;border-bottom:1px solid var(--line);white-space:nowrap}
td:nth-child(-n+2),th:nth-child(-n+2){text-align:left}
";
const DARK: &str = ":root{--ink:#e6e8eb;--muted:#9aa4af;--line:#2d333b;--ground:#14171b;--card:#1a1e23;--warn:#ffb066}";

/// Columns of the table of all figures.
const COLUMNS: &[(&str, &str)] = &[
    (figure::TPS, "per second"),
    (figure::MEAN, "mean ms"),
    (figure::P50, "p50 ms"),
    (figure::P99, "p99 ms"),
    (figure::P999, "p99.9 ms"),
    (figure::MAX, "longest ms"),
    (figure::WORST_SECOND, "worst second's p99 ms"),
    (figure::SERVER_CPU, "server µs"),
    (figure::CLIENT_CPU, "client µs"),
    (figure::SWITCHES, "switches"),
    (figure::WAL_BYTES, "log bytes"),
    (figure::FSYNCS, "syncs of the log"),
    (figure::ALL_FSYNCS, "syncs of log and data"),
    (figure::FUTEX, "futex calls"),
    (figure::OWN_SWITCHES, "server's switches"),
    (figure::INSTRUCTIONS, "instructions"),
    (figure::PARKS, "parks"),
    (figure::LATCHES, "latches"),
    (figure::LATCH_WAITS, "latch waits"),
    (figure::WRITES, "atomic writes"),
    (figure::SHARED_LINES, "shared lines written"),
    (figure::PAGE_LINES, "pages' shared lines written"),
    (figure::CLEANED, "pages cleaned"),
    (figure::CHECKPOINTED, "pages written by the checkpointer"),
    (figure::BY_SESSIONS, "pages written by sessions"),
    (figure::ALLOCATED, "pages read in"),
    (figure::BESIDE, "done beside"),
    (figure::HELD_TWICE, "MiB of data in the system's cache"),
    (figure::HELD_SHARE, "share of the data in the system's cache"),
    (figure::DIRTY_SPREAD, "KiB that memory to be written moved by"),
];

/// Writes the page and the plots into a directory; where the page is.
pub fn write(record: &Record, folder: &Path) -> Result<PathBuf, String> {
    let mut body = String::new();
    for results in &record.experiments {
        let Ok(e) = Experiment::find(&results.name) else { continue };
        section(&mut body, e, results, folder)?;
    }
    let file = folder.join("report.html");
    write_whole(&file, page(record, &body).as_bytes())?;
    Ok(file)
}

fn page(record: &Record, body: &str) -> String {
    let rules: String = colours::all().map(|c| c.rule()).collect();
    let machine = &record.machine;
    let told = |name: &str, value: &Option<String>| {
        value.as_deref().map(|value| format!(", {name} {}", escape(value))).unwrap_or_default()
    };
    let commit = told("commit", &record.commit) + &told("program", &record.program);
    let partial = record.stopped.as_ref().map(|why| {
        format!("<p class=\"partial\">Partial: {}. What is here was measured; what is missing was not.</p>", escape(why))
    });
    let links: String = record
        .experiments
        .iter()
        .map(|r| format!("<a href=\"#{0}\">{0}</a>", escape(&r.name)))
        .collect();
    format!(
        "<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\">\
         <meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\
         <title>Thalweg's lab, {started}</title><style>{STYLE}\
         @media (prefers-color-scheme:dark){{{DARK}{rules}}}</style></head><body>\
         <h1>Thalweg's lab</h1><p class=\"muted\">{started}, {form}{commit}; {processor}, {cores} cores, {memory:.0} GiB, Linux {kernel}{data_on}{sittings}</p>\
         {partial}<p>Repetitions are interleaved; points are medians, bars on them reach from the least to the \
         greatest repetition. Servers have equal memory and durability settings. Context switches and memory to be \
         written are the whole machine's; processor time is user and kernel, per transaction.{few}</p>\
         <nav>{links}</nav>{body}</body></html>\n",
        started = escape(&record.started),
        form = if record.request.long { "long form" } else { "short form" },
        processor = escape(&machine.processor),
        cores = machine.cores,
        memory = machine.memory_kib as f64 / f64::from(1 << 20),
        kernel = escape(&machine.kernel),
        data_on = told("data on", &record.data_on),
        sittings = sittings(record),
        partial = partial.unwrap_or_default(),
        few = if machine.cores < 4 {
            " Curves over many cores need a larger machine: there are none in this record."
        } else {
            ""
        },
    )
}

/// When it was measured, where it was gone on with.
fn sittings(record: &Record) -> String {
    let all = record.sittings.iter();
    let all: Vec<String> =
        all.map(|sitting| escape(&format!("{} to {}", sitting.begun, sitting.ended))).collect();
    if all.len() > 1 { format!("; measured {}", all.join(", ")) } else { String::new() }
}

fn section(
    body: &mut String,
    e: &Experiment,
    results: &Results,
    folder: &Path,
) -> Result<(), String> {
    let mut put = |text: String| body.push_str(&text);
    put(format!("<section id=\"{}\"><h2>{}</h2>", e.name, escape(e.title)));
    put(format!("<p class=\"muted\">{}</p>", escape(e.question)));
    if !results.runs.is_empty() {
        let said = finding::sentence(e, results);
        put(format!("<p><strong>{}</strong></p>", escape(&said)));
        // Where there is no server beside, what variants cost is the finding itself.
        if let Some(costs) = finding::costs(e, results).filter(|costs| *costs != said) {
            put(format!("<p>{}</p>", escape(&costs)));
        }
        if let Some(above) = finding::above_the_ceiling(results) {
            put(format!("<p>{}</p>", escape(&above)));
        }
    }
    let scale = results.scale.map(|scale| format!("Scale {scale}."));
    let took = results.took_s.map(|seconds| format!("It took {:.0} minutes.", seconds / 60.0));
    let how: Vec<String> = scale.into_iter().chain(took).collect();
    if !how.is_empty() {
        put(format!("<p class=\"muted\">{}</p>", how.join(" ")));
    }
    if results.runs.len() < results.planned {
        let (done, planned) = (results.runs.len(), results.planned);
        put(format!("<p class=\"partial\">{done} of {planned} runs.</p>"));
    }
    for skipped in &results.skipped {
        let x = skipped.place(&results.axis);
        let (target, variant) = (escape(&skipped.target), escape(&skipped.variant));
        let why = escape(&skipped.why);
        put(format!("<p class=\"muted\">Not measured: {target} {variant}{x}: {why}</p>"));
    }
    let checks = (e.checks)(results);
    if !checks.is_empty() {
        let lines = checks.iter().map(|check| format!("<li>{}</li>", escape(&check.text())));
        put(format!("<ul>{}</ul>", lines.collect::<String>()));
    }
    put("<div class=\"plots\">".to_owned());
    for chart in charts::charts(e, results) {
        put(format!("<figure>{}</figure>", chart.svg()?));
        chart.png(&folder.join(format!("{}.png", chart.name)))?;
    }
    put("</div>".to_owned());
    grids(results).iter().for_each(|grid| put(html(grid)));
    put(figures(results));
    put(waits(results));
    put("</section>".to_owned());
    Ok(())
}

/// A table that is shown at once.
fn html(grid: &Grid) -> String {
    let row = |(number, row): (usize, &Vec<String>)| {
        let tag = if number == 0 { "th" } else { "td" };
        let cells: String =
            row.iter().map(|cell| format!("<{tag}>{}</{tag}>", escape(cell))).collect();
        format!("<tr>{cells}</tr>")
    };
    let rows: String = grid.rows.iter().enumerate().map(row).collect();
    let title = escape(&grid.title);
    format!("<h3>{title}</h3><div class=\"scroll\"><table>{rows}</table></div>")
}

/// Every figure of every cell, medians with their ranges.
fn figures(results: &Results) -> String {
    let has = |name: &str| results.runs.iter().any(|run| run.figures.contains_key(name));
    let columns: Vec<&(&str, &str)> = COLUMNS.iter().filter(|(name, _)| has(name)).collect();
    let mut text = String::from(
        "<details><summary>All figures</summary><div class=\"scroll\"><table><tr><th>server</th><th>variant</th>",
    );
    write!(text, "<th>{}</th>", escape(&results.axis)).expect("strings take writes");
    columns.iter().for_each(|(_, head)| text.push_str(&format!("<th>{head}</th>")));
    text.push_str("</tr>");
    for variant in results.variants() {
        for x in results.xs() {
            for target in results.targets() {
                if results.values(target, variant, x, figure::TPS).is_empty() {
                    continue;
                }
                let (target_name, variant_name) = (escape(target), escape(variant));
                write!(text, "<tr><td>{target_name}</td><td>{variant_name}</td><td>{x}</td>")
                    .expect("strings take writes");
                for (name, _) in &columns {
                    let spread = cell(results, target, variant, x, name);
                    let shown = spread.map(ranged).unwrap_or_default();
                    write!(text, "<td>{shown}</td>").expect("strings take writes");
                }
                text.push_str("</tr>");
            }
        }
    }
    text.push_str("</table></div></details>");
    text
}

/// What the sessions at work waited for at the axis' last place: of all that were seen once a second, the
/// share of each wait, the most frequent first; and in how many of the looks there was nobody, so that nobody takes the shares
/// of two looks for more than they are. Servers that can't tell are not in it.
fn waits(results: &Results) -> String {
    let mut rows = String::new();
    for variant in results.variants() {
        for target in results.targets() {
            let runs = results.runs.iter().filter(|r| {
                r.target == target && r.variant == variant && results.xs().last() == Some(&r.x)
            });
            let looks: Vec<&BTreeMap<String, u32>> =
                runs.flat_map(|r| &r.samples).filter_map(|s| s.waits.as_ref()).collect();
            let mut seen: BTreeMap<&str, u32> = BTreeMap::new();
            for (wait, count) in looks.iter().copied().flatten() {
                *seen.entry(wait).or_default() += count;
            }
            let all: u32 = seen.values().sum();
            let nobody = looks.iter().filter(|look| look.values().sum::<u32>() == 0).count();
            let mut seen: Vec<(&str, u32)> = seen.into_iter().collect();
            seen.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
            let share = |count: u32| f64::from(count) * 100.0 / f64::from(all);
            let most = seen.iter().take(6).map(|(wait, n)| format!("{wait} {:.0} %", share(*n)));
            let most = escape(&most.collect::<Vec<_>>().join(", "));
            if !looks.is_empty() {
                let (target, variant, of) = (escape(target), escape(variant), looks.len());
                let nobody = format!("nobody at work in {nobody} of {of} looks");
                write!(
                    rows,
                    "<tr><td>{target}</td><td>{variant}</td><td>{most}</td><td>{nobody}</td></tr>"
                )
                .expect("strings take writes");
            }
        }
    }
    if rows.is_empty() {
        return rows;
    }
    let x = results.xs().last().copied().unwrap_or_default();
    format!(
        "<details><summary>What sessions at work waited for, {x} {}</summary><div class=\"scroll\"><table>\
         <tr><th>server</th><th>variant</th><th>share of the sessions seen at work</th><th>looks</th></tr>{rows}</table></div></details>",
        escape(&results.axis)
    )
}

fn ranged(spread: Spread) -> String {
    let [median, min, max] = [spread.median, spread.min, spread.max].map(short);
    if min == max { median } else { format!("{median} ({min}–{max})") }
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
