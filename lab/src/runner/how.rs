//! How an experiment was asked, for its record: scale, settings, and how long it took. Another list of experiments may ask it
//! otherwise.

use super::{Lab, measures_in_process, setups};
use crate::experiments::{Experiment, Kind, Plan};
use std::collections::BTreeMap;

impl Lab {
    /// Writes down what an experiment is asked with; nothing where nothing of it is asked.
    pub(super) fn tell_how(&mut self, e: &Experiment) {
        let (scale, settings) = match &e.kind {
            Kind::Load(plan) | Kind::Tpcc(plan) => {
                if self.cells(e, plan).is_empty() {
                    return;
                }
                let scale = self.record.request.scale.unwrap_or(self.form(plan).scale);
                (Some(scale), self.settings(e, plan))
            }
            Kind::Paths(_) if !measures_in_process(&self.targets) => return,
            Kind::Paths(paths) => {
                let arguments = paths.round(self.record.request.long).arguments;
                let arguments = arguments.iter().map(|&word| word.to_owned()).collect();
                (None, BTreeMap::from([(String::new(), arguments)]))
            }
        };
        let results = self.record.results(e.name, e.axis, 0);
        results.scale = scale;
        results.settings = settings;
    }

    /// What servers are started with: all, and besides each server of a setup.
    fn settings(&self, e: &Experiment, plan: &Plan) -> BTreeMap<String, Vec<String>> {
        let all = plan.settings.iter().map(|&setting| setting.to_owned()).collect();
        let mut settings = BTreeMap::from([(String::new(), all)]);
        let cells = self.cells(e, plan);
        for target in &self.targets {
            for (number, setup) in setups(plan, target).into_iter().enumerate() {
                let its =
                    |cell: &super::Cell| (&*cell.target, cell.setup) == (target.name(), number);
                if !setup.settings.is_empty() && cells.iter().any(its) {
                    let name = format!("{} {}", target.name(), setup.name);
                    settings.insert(name.trim_end().to_owned(), setup.settings);
                }
            }
        }
        settings
    }

    /// Adds what an experiment took now, if there is anything of it.
    pub(super) fn took(&mut self, e: &Experiment, seconds: f64) {
        let results = self.record.experiments.iter_mut().find(|results| results.name == e.name);
        if let Some(results) = results {
            let all = results.took_s.unwrap_or(0.0) + seconds;
            results.took_s = Some((all * 10.0).round() / 10.0);
        }
    }
}
