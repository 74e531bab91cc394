//! The figures that the seeds' threads published, as ratios to their own baseline: what another machine of
//! another time measured is comparable in no other way.

use crate::experiments::Measure;

const TABLE: &str = include_str!("../data/seeds.csv");

/// One published figure.
#[derive(Clone, Debug, PartialEq)]
pub struct Figure {
    pub seed: String,
    pub experiment: String,
    pub variant: String,
    pub clients: u32,
    /// Transactions per second; of a ratio that was published in words (S3's), the ratio, and of its baseline 1.
    pub value: f64,
}

/// All of them.
pub fn figures() -> Vec<Figure> {
    parse(TABLE).expect("the table was checked when it was put here")
}

/// Lines `seed,experiment,variant,clients,value` behind a heading.
pub fn parse(text: &str) -> Result<Vec<Figure>, String> {
    let mut lines = text.lines();
    if lines.next() != Some("seed,experiment,variant,clients,value") {
        return Err("the seeds' table has another heading".to_owned());
    }
    lines.filter(|line| !line.trim().is_empty()).map(line).collect()
}

fn line(line: &str) -> Result<Figure, String> {
    let wrong = || format!("the seeds' table has a line '{line}'");
    let fields: Vec<&str> = line.split(',').collect();
    let &[seed, experiment, variant, clients, value] = &fields[..] else { return Err(wrong()) };
    Ok(Figure {
        seed: seed.to_owned(),
        experiment: experiment.to_owned(),
        variant: variant.to_owned(),
        clients: clients.parse().map_err(|_| wrong())?,
        value: value.parse().ok().filter(|value| *value > 0.0).ok_or_else(wrong)?,
    })
}

/// A published curve over a published baseline: each an experiment and a variant of the table.
#[derive(Clone, Copy)]
pub struct Published {
    pub label: &'static str,
    /// What of ours is to be seen beside it: of all curves of an experiment the same.
    pub measure: Measure,
    pub of: (&'static str, &'static str),
    pub over: (&'static str, &'static str),
}

impl Published {
    /// Clients, and how many times the baseline at the same number of clients.
    pub fn points(&self) -> Vec<(u32, f64)> {
        let all = figures();
        let at = |(experiment, variant): (&str, &str), clients: u32| {
            let same = |f: &&Figure| {
                (&*f.experiment, &*f.variant, f.clients) == (experiment, variant, clients)
            };
            all.iter().find(same).map(|f| f.value)
        };
        let mut clients: Vec<u32> = all.iter().map(|f| f.clients).collect();
        clients.sort_unstable();
        clients.dedup();
        let point = |n: u32| Some((n, at(self.of, n)? / at(self.over, n)?));
        clients.into_iter().filter_map(point).collect()
    }
}
