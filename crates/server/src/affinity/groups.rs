//! Merging connections that are heard together.
//!
//! Two things are counted, because each fails where the other tells (two pgbench threads on two cores, `-M prepared`):
//!
//! - A thread asks on all of its connections and waits for all of their answers, about: between two questions of one
//!   connection comes one of each other. How often two connections *alternate* is the share of their questions, in the
//!   order in which they came, that followed one of the other: a half by chance, all where they keep step. Point reads:
//!   0.89 to 1.00 within a thread, 0.40 to 0.89 between two. TPC-B, whose statements take longer and wait for each other:
//!   0.55 to 0.76 within, 0.48 to 0.72 between, which says little.
//! - Questions of one thread follow each other closely: how often two connections are *near* each other, beside how often
//!   they would be by chance, the product of how often each is near to anybody (the null model of modularity). TPC-B: 1.2
//!   and more within a thread, below 0.9 between. But a thread that goes through its connections in a fixed order has most
//!   of them never near to each other; and where all keep step, the end of one thread's turn is near the next one's begin.
//!
//! So where connections keep step that decides, else nearness.

/// From here on connections keep step.
const IN_STEP: f64 = 0.85;
/// Two groups are one if they alternate at least this share as much beyond chance as pairs do at best.
const SHARE_MIN: f64 = 0.9;
/// Or if they are near to each other this much more often than by chance...
const LIFT_MIN: f64 = 1.2;
/// ...and by so many standard deviations.
const SIGNIFICANT: f64 = 4.0;
/// How often any two alternate by chance.
const CHANCE: f64 = 0.5;
/// Who was heard less than this share of the mean is not active.
const ACTIVE_SHARE: usize = 8;
/// With so few connections two in a row say more than who else was near.
const FEW: usize = 6;
/// Else a question is counted as near to so many before it.
const WINDOW: usize = 3;

/// What is counted, by place.
#[derive(Default)]
pub(super) struct Counts {
    size: usize,
    /// `size` rows of `size`: how often the one of the row was heard when the one of the column had been since.
    turns: Vec<u32>,
    /// The same for how often two were near; symmetric.
    near: Vec<u32>,
    heard: Vec<u32>,
    /// When each was heard last, in questions.
    last: Vec<u32>,
    now: u32,
    /// Who was heard last, the latest first, back to when the worker slept.
    recent: Vec<usize>,
    /// How many were heard at all.
    distinct: usize,
}

impl Counts {
    /// Forgets everything; there are `size` places from now on.
    pub fn clear(&mut self, size: usize) {
        self.size = size;
        let (squares, lines) =
            ([&mut self.turns, &mut self.near], [&mut self.heard, &mut self.last]);
        for (list, length) in squares
            .map(|list| (list, size * size))
            .into_iter()
            .chain(lines.map(|list| (list, size)))
        {
            list.clear();
            list.resize(length, 0);
        }
        self.recent.clear();
        self.now = 0;
        self.distinct = 0;
    }

    /// How many were heard at all.
    pub fn distinct(&self) -> usize {
        self.distinct
    }

    /// What comes next comes on its own account.
    #[inline]
    pub fn pause(&mut self) {
        self.recent.clear();
    }

    #[inline]
    pub fn heard(&mut self, place: usize) {
        self.now += 1;
        let before = std::mem::replace(&mut self.last[place], self.now);
        let turns = &mut self.turns[place * self.size..][..self.size];
        for (turns, last) in turns.iter_mut().zip(&self.last) {
            *turns += u32::from(*last > before);
        }
        // Itself, just now.
        turns[place] = 0;
        let heard = &mut self.heard[place];
        self.distinct += usize::from(*heard == 0);
        *heard += 1;
        self.note_near(place);
    }

    #[inline]
    fn note_near(&mut self, place: usize) {
        let window = if self.distinct <= FEW { 1 } else { WINDOW };
        for &other in self.recent.iter().take(window).take_while(|other| **other != place) {
            self.near[place * self.size + other] += 1;
            self.near[other * self.size + place] += 1;
        }
        self.recent.truncate(WINDOW - 1);
        self.recent.insert(0, place);
    }

    /// How much two places alternate, from 0 to 1.
    fn alternation(&self, a: usize, b: usize) -> f64 {
        let turns = self.turns[a * self.size + b] + self.turns[b * self.size + a];
        f64::from(turns) / f64::from(self.heard[a] + self.heard[b])
    }

    /// Places that had their share of `questions`.
    pub fn active(&self, questions: usize) -> Vec<usize> {
        let share = questions / (ACTIVE_SHARE * self.distinct.max(1));
        (0..self.size).filter(|&place| self.heard[place] as usize > share).collect()
    }
}

/// The groups of the `active` places, of which only those that `may` are merged.
pub(super) fn of(
    counts: &Counts,
    active: &[usize],
    may: impl Fn(usize, usize) -> bool,
) -> Vec<Vec<usize>> {
    let matrix = |figure: &dyn Fn(usize, usize) -> f64| -> Vec<Vec<f64>> {
        active.iter().map(|&a| active.iter().map(|&b| figure(a, b)).collect()).collect()
    };
    let alternations = matrix(&|a, b| counts.alternation(a, b));
    let best = best_on_average(&alternations);
    let groups: Vec<Vec<usize>> = active.iter().map(|&place| vec![place]).collect();
    let mut merger = if best >= IN_STEP {
        Merger {
            groups,
            weights: vec![1.0; active.len()],
            sums: alternations,
            expected: CHANCE + SHARE_MIN * (best - CHANCE),
            lift_min: 1.0,
            significant: 0.0,
        }
    } else {
        let near = matrix(&|a, b| f64::from(counts.near[a * counts.size + b]));
        Merger {
            groups,
            weights: near.iter().map(|row| row.iter().sum()).collect(),
            expected: by_chance(&near),
            sums: near,
            lift_min: LIFT_MIN,
            significant: SIGNIFICANT,
        }
    };
    while let Some((a, b)) = merger.best(&may) {
        merger.merge(a, b);
    }
    merger.groups
}

/// How much each place alternates with the one that it does the most with, on average.
fn best_on_average(alternations: &[Vec<f64>]) -> f64 {
    let best = |(place, row): (usize, &Vec<f64>)| {
        let others = row.iter().enumerate().filter(|(other, _)| *other != place);
        others.map(|(_, alternation)| *alternation).fold(0.0, f64::max)
    };
    alternations.iter().enumerate().map(best).sum::<f64>() / alternations.len().max(1) as f64
}

/// How often two are near by chance, for each pair of times that they are near to anybody.
fn by_chance(near: &[Vec<f64>]) -> f64 {
    let degrees = near.iter().map(|row| row.iter().sum::<f64>());
    let (sum, squares) = degrees.fold((0.0, 0.0), |(sum, squares), d| (sum + d, squares + d * d));
    let products = (sum * sum - squares) / 2.0;
    if products > 0.0 { sum / 2.0 / products } else { f64::INFINITY }
}

/// Groups on their way to being merged: always the two that have the most to do with each other.
struct Merger {
    groups: Vec<Vec<usize>>,
    /// What each two have to do with each other: a sum over their members, and what it is measured by, the product of
    /// their weights and of `expected`.
    sums: Vec<Vec<f64>>,
    weights: Vec<f64>,
    expected: f64,
    /// How much of that is enough, and by how many standard deviations.
    lift_min: f64,
    significant: f64,
}

impl Merger {
    /// The two to be merged next.
    fn best(&self, may: &impl Fn(usize, usize) -> bool) -> Option<(usize, usize)> {
        let mut best = (self.lift_min, None);
        for a in 0..self.groups.len() {
            for b in 0..a {
                let expected = self.weights[a] * self.weights[b] * self.expected;
                let (sum, lift) = (self.sums[a][b], self.sums[a][b] / expected);
                let is_sure = sum >= expected + self.significant * expected.sqrt();
                if lift > best.0 && is_sure && may(self.groups[a][0], self.groups[b][0]) {
                    best = (lift, Some((a, b)));
                }
            }
        }
        best.1
    }

    /// Merges group `a` into group `b`, which stands before it.
    fn merge(&mut self, a: usize, b: usize) {
        let members = self.groups.swap_remove(a);
        self.groups[b].extend(members);
        let weight = self.weights.swap_remove(a);
        self.weights[b] += weight;
        let row = self.sums.swap_remove(a);
        for (to, from) in self.sums[b].iter_mut().zip(&row) {
            *to += from;
        }
        for other in &mut self.sums {
            let from = other[a];
            other[b] += from;
            other.swap_remove(a);
        }
    }
}
