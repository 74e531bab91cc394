//! What is measured, how long and how often.

use crate::load::Load;
use std::collections::BTreeSet;

/// Loads that are measured alike.
pub struct Part {
    pub loads: Vec<&'static Load>,
    pub peers: Vec<String>,
    /// Numbers of clients; a load that makes sense with one number only has that.
    pub clients: Vec<u32>,
    pub rounds: usize,
    pub seconds: u32,
}

/// One run to be done.
#[derive(Clone, Copy)]
pub struct Step<'a> {
    pub load: &'static Load,
    pub peer: &'a str,
    pub clients: u32,
    pub seconds: u32,
}

/// What a run takes besides its time: emptying a table, a checkpoint, connecting, ending what ran beside. Seconds.
const AROUND_A_RUN_S: f64 = 1.3;

/// What pairs of a load and its control are made of.
const PAIRS: &[&str] = &["tpcb-savepoints", "tpcb-control", "select-savepoints", "select-control"];
/// With more savepoints, and on more connections.
const MORE: &[&str] =
    &["tpcb-savepoints-1000", "tpcb-control-1000", "tpcb-savepoints-on-8", "tpcb-control-on-8"];
const LOCKERS: &[&str] = &["lock-then-update", "shared-locks"];
const ALL_CLIENTS: &[u32] = &[1, 8, 32, 64, 128];

/// The whole list, with no more of each than it needs: pairs are nine for Thalweg, whose own figures they compare.
pub fn whole() -> Vec<Part> {
    let part = |loads: &[&str], peers: &[&str], clients: &[u32], rounds, seconds| Part {
        loads: loads
            .iter()
            .map(|name| Load::called(name).expect("its name stands there"))
            .collect(),
        peers: peers.iter().map(|&peer| peer.to_owned()).collect(),
        clients: clients.to_vec(),
        rounds,
        seconds,
    };
    let all = &["thalweg", "pg15", "pg18"];
    vec![
        part(PAIRS, &["thalweg"], ALL_CLIENTS, 9, 2),
        part(PAIRS, &["thalweg-large"], &[8, 128], 9, 2),
        part(PAIRS, &["pg15", "pg18"], &[8, 32, 128], 2, 2),
        part(MORE, &["thalweg"], &[8, 128], 9, 2),
        part(LOCKERS, all, ALL_CLIENTS, 3, 2),
        part(LOCKERS, &["thalweg-large", "pg18-large"], &[8, 128], 3, 2),
        part(&["hot-row", "queue"], all, &[], 3, 5),
    ]
}

/// The servers that take part, in the order in which they are named first.
pub fn peers(parts: &[Part]) -> Vec<String> {
    let mut peers: Vec<String> = Vec::new();
    for peer in parts.iter().flat_map(|part| &part.peers) {
        if !peers.contains(peer) {
            peers.push(peer.clone());
        }
    }
    peers
}

/// Every run in its order: all of a number of clients in rounds, so that a load's run has its control's beside it.
/// Every second round goes backwards: neither of the two is always the first.
pub fn steps(parts: &[Part]) -> Vec<Step<'_>> {
    let clients: BTreeSet<u32> = parts.iter().flat_map(Part::all_clients).collect();
    let rounds = parts.iter().map(|part| part.rounds).max().unwrap_or(0);
    let mut steps = Vec::new();
    for clients in clients {
        for round in 0..rounds {
            let mut of_round = Vec::new();
            for part in parts.iter().filter(|part| round < part.rounds) {
                of_round.extend(part.steps_with(clients));
            }
            if round % 2 == 1 {
                of_round.reverse();
            }
            steps.extend(of_round);
        }
    }
    steps
}

/// How long these runs will take about, seconds.
pub fn estimate_s(steps: &[Step]) -> f64 {
    steps.iter().map(|step| f64::from(step.seconds) + AROUND_A_RUN_S).sum()
}

impl Part {
    fn all_clients(&self) -> Vec<u32> {
        self.loads.iter().flat_map(|load| load.clients(&self.clients)).copied().collect()
    }

    /// A round's runs with so many clients.
    fn steps_with(&self, clients: u32) -> Vec<Step<'_>> {
        let mut steps = Vec::new();
        for peer in &self.peers {
            for &load in &self.loads {
                if load.clients(&self.clients).contains(&clients) {
                    steps.push(Step { load, peer, clients, seconds: self.seconds });
                }
            }
        }
        steps
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_whole_list_takes_half_an_hour() {
        let parts = whole();
        let seconds = estimate_s(&steps(&parts));
        // Savepoints in one transaction and starting the servers take some six minutes more.
        assert!((900.0..29.0 * 60.0).contains(&seconds), "{seconds}");
        let loads: BTreeSet<&str> = steps(&parts).iter().map(|step| step.load.name).collect();
        assert_eq!(loads.len(), Load::all().len(), "every load is in it");
    }

    #[test]
    fn a_load_and_its_control_are_neighbours_in_either_order() {
        let parts = whole();
        let steps = steps(&parts);
        let mut first = BTreeSet::new();
        for pair in steps.windows(2) {
            let [a, b] = [&pair[0], &pair[1]];
            if a.load.control == Some(b.load.name) || b.load.control == Some(a.load.name) {
                assert_eq!((a.peer, a.clients), (b.peer, b.clients));
                first.insert(a.load.control.is_some());
            }
        }
        assert_eq!(first.len(), 2);
        for with in steps.iter().filter(|step| step.load.control.is_some()) {
            let same = |s: &&Step| (s.peer, s.clients) == (with.peer, with.clients);
            let count = |name| steps.iter().filter(same).filter(|s| s.load.name == name).count();
            assert_eq!(count(with.load.name), count(with.load.control.unwrap()));
        }
    }
}
