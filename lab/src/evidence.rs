//! Whether repetitions of two things differ by more than repetitions do. Changes are of logarithms, so that half and twice
//! are as far from one: a linear share never falls by more than one, however bad it gets.
//!
//! Two or three repetitions of a cell tell next to nothing of how they scatter. So the deviation is pooled: over a server's
//! cells of an experiment, those with a prior of the experiment's other servers, and a cell's own with a prior of that. Cells
//! of one experiment and server that change alike are judged together; what they share for a while, the machine's
//! weather, is measured from round to round.

use crate::model::Results;
use crate::statistics::places;
use std::collections::BTreeMap;

/// A change below this share is never claimed: machines differ by as much from one minute to the next.
const LEAST: f64 = 0.05;
/// How many observations of its own the prior outweighs: cells scatter differently, and the fewer a prior stands for, the more
/// each cell's own counts. Chosen, as the next ones, on records of the same drawn anew from their own residuals (the test
/// beside `compare`): with more of it, or less of them, some were claimed to differ.
const PRIOR: f64 = 10.0;
/// Standard deviations that a cell alone has to be beyond: of six hundred figures that nothing changed one is, once in a hundred
/// records.
const ALONE: f64 = 4.5;
/// Those that the cells of a server have to be beyond together.
const TOGETHER: f64 = 4.5;
/// And each cell of theirs, then.
const WITHIN: f64 = 2.0;

/// What one cell's variance counts at most of what is usual where it is pooled: a cell that went wild says nothing of others.
/// Itself it is judged by all of it.
const OUTLIER: f64 = 40.0;
/// So many cells of a server tell what is usual for it; of fewer all servers' do.
const ENOUGH: usize = 4;

/// Round and logarithm of each repetition.
pub type Cell = Vec<(u32, f64)>;

/// A variance, and of how many free observations.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Variance {
    squares: f64,
    free: f64,
}

impl Variance {
    /// A known one, of so many free observations.
    pub fn of(variance: f64, free: f64) -> Variance {
        Variance { squares: variance * free, free }
    }

    fn value(self) -> f64 {
        if self.free > 0.0 { self.squares / self.free } else { 0.0 }
    }

    /// With more observations of it.
    pub fn add(&mut self, other: Variance) {
        self.squares += other.squares;
        self.free += other.free;
    }

    /// With what is known of others like it.
    fn with_prior(self, prior: Variance) -> Variance {
        let free = PRIOR.min(prior.free);
        Variance { squares: self.squares + free * prior.value(), free: self.free + free }
    }
}

/// How repetitions of one figure scatter.
#[derive(Clone, Debug, Default)]
pub struct Noise {
    servers: BTreeMap<String, Variance>,
    all: Variance,
    /// Of what all cells of a server have in common in a round.
    pub weather: Variance,
}

impl Noise {
    /// Of the cells of these results.
    pub fn of(results: &[&Results], figure: &str) -> Noise {
        let mut noise = Noise::default();
        for results in results {
            let all: Vec<Vec<Cell>> =
                results.targets().iter().map(|target| repeated(results, target, figure)).collect();
            let of_all = usual(all.iter().flatten());
            for (target, cells) in results.targets().into_iter().zip(&all) {
                let limit =
                    OUTLIER * if cells.len() < ENOUGH { of_all } else { usual(cells.iter()) };
                let mut rounds: BTreeMap<u32, Vec<f64>> = BTreeMap::new();
                let mut variance = Variance::default();
                for cell in cells {
                    let Variance { squares, free } = scatter(cell);
                    variance.add(Variance { squares: squares.min(limit * free), free });
                    let middle = mean(cell.iter().map(|(_, value)| *value));
                    for (round, value) in cell {
                        rounds.entry(*round).or_default().push(value - middle);
                    }
                }
                // One cell alone has nothing in common with others.
                if cells.len() > 1 {
                    let common = rounds.values().map(|own| mean(own.iter().copied()).powi(2));
                    let free = rounds.len() as f64 - 1.0;
                    noise.weather.add(Variance { squares: common.sum(), free });
                }
                noise.servers.entry(target.to_owned()).or_default().add(variance);
                noise.all.add(variance);
            }
        }
        noise
    }

    /// Of one server's cells.
    fn server(&self, target: &str) -> Variance {
        let own = self.servers.get(target).copied().unwrap_or_default();
        own.with_prior(self.all)
    }

    /// Of a change from one server's cells to another's, or the same one's.
    pub fn between(&self, one: &str, other: &str) -> Variance {
        let (one, other) = (self.server(one), self.server(other));
        let free = one.free.min(other.free);
        Variance::of(f64::midpoint(one.value(), other.value()), free)
    }
}

/// A server's cells of more than one repetition.
fn repeated(results: &Results, target: &str, figure: &str) -> Vec<Cell> {
    let of = |(variant, x)| logarithms(results, target, variant, x, figure);
    places(results).map(of).filter(|cell| cell.len() > 1).collect()
}

/// The variance that half of the cells have no more than.
fn usual<'c>(cells: impl Iterator<Item = &'c Cell>) -> f64 {
    let mut all: Vec<f64> = cells.map(|cell| scatter(cell).value()).collect();
    all.sort_by(f64::total_cmp);
    all.get(all.len() / 2).copied().unwrap_or(0.0)
}

/// The logarithms of one figure in the rounds of a cell; what is not above zero has none.
pub fn logarithms(results: &Results, target: &str, variant: &str, x: u32, figure: &str) -> Cell {
    let these =
        results.runs.iter().filter(|r| r.target == target && r.variant == variant && r.x == x);
    let value = |run: &crate::model::Run| run.figures.get(figure).copied().filter(|v| *v > 0.0);
    these.filter_map(|run| Some((run.round, value(run)?.ln()))).collect()
}

fn mean(values: impl Iterator<Item = f64>) -> f64 {
    let (sum, count) = values.fold((0.0, 0.0), |(sum, count), value| (sum + value, count + 1.0));
    if count > 0.0 { sum / count } else { 0.0 }
}

fn scatter(cell: &[(u32, f64)]) -> Variance {
    let middle = mean(cell.iter().map(|(_, value)| *value));
    let squares = cell.iter().map(|(_, value)| (value - middle).powi(2)).sum();
    Variance { squares, free: cell.len() as f64 - 1.0 }
}

/// A cell measured twice.
pub struct Pair {
    pub a: Cell,
    pub b: Cell,
    /// How cells like these scatter.
    pub noise: Variance,
}

impl Pair {
    /// Whether both have repetitions: one alone can't tell how far others would be.
    pub fn repeated(&self) -> bool {
        self.a.len() > 1 && self.b.len() > 1
    }

    /// By which share b's mean (of logarithms, as all here) is off a's: this is what is judged.
    pub fn changed(&self) -> f64 {
        self.change().exp_m1()
    }

    fn change(&self) -> f64 {
        let of = |cell: &[(u32, f64)]| mean(cell.iter().map(|(_, value)| *value));
        of(&self.b) - of(&self.a)
    }

    fn variance(&self) -> Variance {
        let mut own = scatter(&self.a);
        own.add(scatter(&self.b));
        own.with_prior(self.noise)
    }

    /// What a variance of the cells makes of the change's.
    fn share(&self) -> f64 {
        1.0 / self.a.len() as f64 + 1.0 / self.b.len() as f64
    }

    fn shift(&self) -> Shift {
        let variance = self.variance();
        Shift {
            mean: self.change(),
            variance: variance.value() * self.share(),
            free: variance.free,
        }
    }

    /// Whether no repetition of one is within the other's range.
    fn apart(&self) -> bool {
        let range = |cell: &[(u32, f64)]| {
            let values = cell.iter().map(|(_, value)| *value);
            values.fold((f64::MAX, f64::MIN), |(low, high), v| (low.min(v), high.max(v)))
        };
        let ((a_low, a_high), (b_low, b_high)) = (range(&self.a), range(&self.b));
        a_high < b_low || b_high < a_low
    }

    /// The share by which repetitions alone change it, in the direction in which it changed, in nineteen of twenty cells: what is
    /// [WITHIN] deviations off.
    pub fn chance(&self) -> f64 {
        self.beyond(WITHIN)
    }

    /// The share from which on a change in that direction is claimed of this cell alone, where its repetitions are apart.
    pub fn claimed(&self) -> f64 {
        let least = if self.change() < 0.0 { 1.0 - 1.0 / (1.0 + LEAST) } else { LEAST };
        self.beyond(ALONE).max(least)
    }

    /// The share that is so many deviations off, in the direction in which it changed.
    fn beyond(&self, deviations: f64) -> f64 {
        let Shift { variance, free, .. } = self.shift();
        if free <= 0.0 {
            return 0.0;
        }
        // The inverse of what tells the deviations.
        let size = deviations * (8.0 * free + 3.0) / (8.0 * free + 1.0);
        let student = (free * ((size * size / free).exp() - 1.0)).sqrt();
        // What is as far below as a half more is above, is a third less.
        let direction = if self.change() < 0.0 { -1.0 } else { 1.0 };
        (direction * student * variance.sqrt()).exp_m1().abs()
    }

    /// Whether it changed by more than that, and by more than is ever claimed: in a record of hundreds of cells some do.
    pub fn is_beyond_chance(&self) -> bool {
        self.change().abs() > LEAST.ln_1p() && self.shift().deviations().abs() >= WITHIN
    }

    /// Whether b is lower or higher than a, by more than repetitions account for: by itself, or as one of those that changed
    /// [together](together).
    pub fn judged(&self, together: &[Shift]) -> std::cmp::Ordering {
        let change = self.change();
        if !self.repeated() || change.abs() <= LEAST.ln_1p() {
            return std::cmp::Ordering::Equal;
        }
        let own = self.shift().deviations();
        let alone = own.abs() >= ALONE && self.apart();
        let all = |shift: &Shift| shift.is_beyond() && shift.mean * change > 0.0;
        match alone || (own.abs() >= WITHIN && together.iter().any(all)) {
            true => change.total_cmp(&0.0),
            false => std::cmp::Ordering::Equal,
        }
    }
}

/// A change of several cells' mean.
#[derive(Clone, Copy, Debug)]
pub struct Shift {
    mean: f64,
    variance: f64,
    free: f64,
}

impl Shift {
    /// How far it is from nothing, in standard deviations of a normal distribution that are as unlikely (Wallace, Bounds on
    /// normal approximations to Student's and the chi-square distributions, 1959).
    fn deviations(&self) -> f64 {
        let (free, square) = (self.free, self.mean * self.mean / self.variance);
        if self.mean == 0.0 || free <= 0.0 {
            return 0.0;
        }
        let size =
            (8.0 * free + 1.0) / (8.0 * free + 3.0) * (free * (square / free).ln_1p()).sqrt();
        size * self.mean.signum()
    }

    fn is_beyond(&self) -> bool {
        self.deviations().abs() >= TOGETHER && self.mean.abs() > LEAST.ln_1p()
    }
}

/// The change of a server's cells in one experiment: their means scatter by the cells' own scatter, and by the weather that
/// they share, whichever is more.
pub fn together(pairs: &[&Pair], weather: Variance) -> Option<Shift> {
    let pairs: Vec<&&Pair> = pairs.iter().filter(|pair| pair.repeated()).collect();
    if pairs.len() < 2 {
        return None;
    }
    let count = pairs.len() as f64;
    let noise = pairs[0].noise;
    let alone = noise.value() / count;
    let share = pairs.iter().map(|pair| pair.share()).fold(0.0, f64::max);
    let (variance, free) = match weather.value() > alone {
        true => (weather.value(), weather.free),
        false => (alone, noise.free),
    };
    let mean = mean(pairs.iter().map(|pair| pair.change()));
    Some(Shift { mean, variance: variance * share, free })
}

/// The change of a server in several experiments, which had their weather each.
pub fn over_all(shifts: &[Shift]) -> Option<Shift> {
    let count = shifts.len() as f64;
    (shifts.len() > 1).then(|| Shift {
        mean: mean(shifts.iter().map(|shift| shift.mean)),
        variance: shifts.iter().map(|shift| shift.variance).sum::<f64>() / (count * count),
        free: shifts.iter().map(|shift| shift.free).fold(f64::MAX, f64::min),
    })
}
