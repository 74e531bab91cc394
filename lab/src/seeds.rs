//! The figures that the seeds' threads published, as ratios to their own baseline: what another machine of
//! another time measured is comparable in no other way.

const TABLE: &str = include_str!("../data/seeds.csv");

/// One published figure.
#[derive(Clone, Debug, PartialEq)]
pub struct Figure {
    pub seed: String,
    pub experiment: String,
    pub variant: String,
    pub clients: u32,
    pub tps: f64,
}

/// All of them.
pub fn figures() -> Vec<Figure> {
    parse(TABLE).expect("the table was checked when it was put here")
}

/// Lines `seed,experiment,variant,clients,tps` behind a heading.
pub fn parse(text: &str) -> Result<Vec<Figure>, String> {
    let mut lines = text.lines();
    if lines.next() != Some("seed,experiment,variant,clients,tps") {
        return Err("the seeds' table has another heading".to_owned());
    }
    lines.filter(|line| !line.trim().is_empty()).map(line).collect()
}

fn line(line: &str) -> Result<Figure, String> {
    let wrong = || format!("the seeds' table has a line '{line}'");
    let fields: Vec<&str> = line.split(',').collect();
    let &[seed, experiment, variant, clients, tps] = &fields[..] else { return Err(wrong()) };
    Ok(Figure {
        seed: seed.to_owned(),
        experiment: experiment.to_owned(),
        variant: variant.to_owned(),
        clients: clients.parse().map_err(|_| wrong())?,
        tps: tps.parse().ok().filter(|tps| *tps > 0.0).ok_or_else(wrong)?,
    })
}

/// A published curve: how many times its baseline a variant reached.
#[derive(Clone, Debug, PartialEq)]
pub struct Curve {
    pub label: String,
    /// Clients and ratio.
    pub points: Vec<(u32, f64)>,
}

/// The curves of one experiment over its baseline at the same number of clients.
pub fn curves(experiment: &str, baseline: &str) -> Vec<Curve> {
    let all = figures();
    let here: Vec<&Figure> = all.iter().filter(|f| f.experiment == experiment).collect();
    let base = |clients| {
        here.iter().find(|f| f.variant == baseline && f.clients == clients).map(|f| f.tps)
    };
    let mut curves: Vec<Curve> = Vec::new();
    for figure in &here {
        let Some(base) = base(figure.clients).filter(|_| figure.variant != baseline) else {
            continue;
        };
        let label = format!("{}: {} / {baseline}", figure.seed, figure.variant);
        let point = (figure.clients, figure.tps / base);
        match curves.iter_mut().find(|c| c.label == label) {
            Some(curve) => curve.points.push(point),
            None => curves.push(Curve { label, points: vec![point] }),
        }
    }
    curves
}
