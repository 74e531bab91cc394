use std::collections::BTreeSet;

use base::clock::Instant;

use super::near::Near;
use super::placement::Placement;
use super::{Household, Member};

const HOUSE: Household = Household::Process(7);

fn member(session: i32) -> Member {
    Member { household: HOUSE, session }
}

/// Numbers that look random and are the same each time.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 33) as usize % sides
    }
}

/// The groups that a worker finds when the threads, whose connections have these places, ask on all of them in one go;
/// one question in `late` is missed out, and whose run is next is a matter of chance.
fn groups_of(threads: &[Vec<usize>], late: usize) -> Vec<Vec<i32>> {
    let mut near = Near::default();
    for place in 0..threads.concat().len() {
        near.enter(member(place as i32)).unwrap();
    }
    let mut dice = Dice(1);
    loop {
        let thread = &threads[dice.roll(threads.len())];
        for place in thread {
            if dice.roll(late) != 0
                && let Some(groups) = near.heard(*place)
            {
                return groups.iter().map(|g| g.iter().map(|m| m.session).collect()).collect();
            }
        }
    }
}

fn is_pure(groups: &[Vec<i32>], threads: &[Vec<usize>]) -> bool {
    let of = |session: i32| threads.iter().position(|t| t.contains(&(session as usize)));
    groups.iter().all(|group| group.iter().all(|session| of(*session) == of(group[0])))
}

#[test]
fn connections_that_keep_step_are_grouped_and_others_are_not() {
    for threads in [
        vec![vec![0, 2], vec![1, 3]],
        vec![vec![0, 2, 3], vec![1]],
        vec![(0..12).collect(), (12..16).collect::<Vec<_>>()],
        vec![(0..5).collect(), (5..10).collect(), (10..15).collect::<Vec<_>>()],
    ] {
        let groups = groups_of(&threads, 50);
        assert!(is_pure(&groups, &threads), "{groups:?}");
        assert_eq!(groups.len(), threads.len(), "{groups:?}");
    }
    // All of one thread are one group, in whichever order they come.
    assert_eq!(groups_of(&[vec![3, 1, 0, 2]], 50).len(), 1);
}

/// Threads that wait for something else, too, ask on some of their connections at a time.
#[test]
fn connections_that_are_near_are_grouped_where_nobody_keeps_step() {
    let threads = [(0..8).collect(), (8..16).collect::<Vec<_>>()];
    let mut near = Near::default();
    for place in 0..16 {
        near.enter(member(place)).unwrap();
    }
    let mut dice = Dice(5);
    let groups = loop {
        let thread: &Vec<usize> = &threads[dice.roll(2)];
        let first = dice.roll(8);
        let heard = (0..4).find_map(|next| near.heard(thread[(first + next) % 8]));
        if dice.roll(2) == 0 {
            near.pause();
        }
        if let Some(groups) = heard {
            break groups;
        }
    };
    let groups: Vec<Vec<i32>> =
        groups.iter().map(|g| g.iter().map(|member| member.session).collect()).collect();
    assert!(is_pure(&groups, &threads), "{groups:?}");
    assert!(groups.len() <= 6, "{groups:?}");
}

#[test]
fn who_asks_alone_is_in_no_group() {
    let alone: Vec<Vec<usize>> = (0..8).map(|place| vec![place]).collect();
    assert_eq!(groups_of(&alone, 50).len(), 8);
}

#[test]
fn connections_of_two_processes_are_never_one_group() {
    let mut near = Near::default();
    for session in 0..4 {
        let household = Household::Process(session % 2);
        near.enter(Member { household, session }).unwrap();
    }
    let groups = loop {
        // All of them keep step.
        if let Some(groups) = [0, 1, 2, 3].into_iter().find_map(|place| near.heard(place)) {
            break groups;
        }
    };
    let sessions: Vec<Vec<i32>> =
        groups.iter().map(|g| g.iter().map(|member| member.session % 2).collect()).collect();
    assert_eq!(sessions, [[0, 0], [1, 1]]);
}

/// Workers that have connections of client threads, and see runs of those that they have.
struct World {
    /// By worker.
    sessions: Vec<Vec<i32>>,
    /// By session.
    threads: Vec<usize>,
    /// Most that one group has; a thread's connections look like several groups where there are more.
    most: usize,
}

impl World {
    /// `threads` threads of `each` connections, dealt out to the workers in turn.
    fn new(threads: usize, each: usize, workers: usize, most: usize) -> World {
        let mut dice = Dice(3);
        let mut order: Vec<i32> = (0..(threads * each) as i32).collect();
        for last in (1..order.len()).rev() {
            order.swap(last, dice.roll(last + 1));
        }
        let dealt = |worker| order.iter().skip(worker).step_by(workers).copied().collect();
        World {
            sessions: (0..workers).map(dealt).collect(),
            threads: (0..threads * each).map(|session| session / each).collect(),
            most,
        }
    }

    fn groups(&self, worker: usize) -> Vec<Vec<Member>> {
        let mut sessions = self.sessions[worker].clone();
        sessions.sort_unstable();
        let threads = sessions.chunk_by(|a, b| self.thread(*a) == self.thread(*b));
        let groups = threads.flat_map(|own| own.chunks(self.most));
        groups.map(|group| group.iter().map(|session| member(*session)).collect()).collect()
    }

    fn thread(&self, session: i32) -> usize {
        self.threads[session as usize]
    }

    /// Counts and moves until nothing is left to do; how many exchanges it took.
    fn settle(&mut self, placement: &mut Placement) -> usize {
        let mut exchanges = 0;
        for round in 0.. {
            for worker in 0..self.sessions.len() {
                let moves = placement.counted(worker, &self.groups(worker), Instant(round));
                exchanges += usize::from(!moves.is_empty());
                for moving in moves {
                    self.sessions[moving.from].retain(|session| *session != moving.session);
                    self.sessions[moving.to].push(moving.session);
                    placement.arrived(moving.session);
                }
            }
            if placement.is_done() {
                break;
            }
        }
        exchanges
    }

    /// On how many workers each thread's connections are, on average.
    fn spread(&self) -> f64 {
        let of = |sessions: &Vec<i32>| -> BTreeSet<usize> {
            sessions.iter().map(|session| self.thread(*session)).collect()
        };
        let threads: BTreeSet<usize> = self.threads.iter().copied().collect();
        let pairs: usize = self.sessions.iter().map(|sessions| of(sessions).len()).sum();
        pairs as f64 / threads.len() as f64
    }
}

#[test]
fn threads_are_gathered_and_each_worker_keeps_as_many_connections() {
    for (threads, each, workers, most) in
        [(2, 4, 2, 8), (2, 16, 2, 16), (4, 8, 2, 8), (4, 4, 4, 4), (2, 16, 2, 5), (16, 4, 16, 4)]
    {
        let mut world = World::new(threads, each, workers, most);
        let before: Vec<usize> = world.sessions.iter().map(Vec::len).collect();
        let mut placement = Placement::new(workers);
        let (spread, exchanges) = (world.spread(), world.settle(&mut placement));
        let after: Vec<usize> = world.sessions.iter().map(Vec::len).collect();
        let case = format!("{threads} × {each} on {workers}: {spread} → {}", world.spread());
        eprintln!("{case}, {exchanges} exchanges");
        assert_eq!(before, after, "{case}");
        assert!(world.spread() <= 1.26, "{case}, {exchanges} exchanges");
        assert!(exchanges <= 20 * workers, "{case}, {exchanges} exchanges");
    }
}

#[test]
fn connections_that_belong_to_nobody_else_are_left_alone_soon() {
    let mut world = World::new(32, 1, 2, 1);
    let exchanges = world.settle(&mut Placement::new(2));
    assert!(exchanges <= 6, "{exchanges} exchanges");
}

#[test]
fn what_is_settled_stays_when_a_client_comes_or_goes() {
    let mut world = World::new(2, 8, 2, 8);
    let mut placement = Placement::new(2);
    world.settle(&mut placement);
    placement.forget(world.sessions[0].pop().unwrap());
    placement.begin();
    assert!(world.settle(&mut placement) <= 2);
    assert!(world.spread() <= 1.0, "{}", world.spread());
}

#[test]
fn who_was_told_to_move_is_waited_for_but_not_for_ever() {
    let mut world = World::new(2, 2, 2, 4);
    world.sessions = vec![vec![0, 2], vec![1, 3]];
    let mut placement = Placement::new(2);
    assert!(placement.counted(0, &world.groups(0), Instant(0)).is_empty());
    let moves = placement.counted(1, &world.groups(1), Instant(1));
    assert_eq!(moves.len(), 2);
    // As long as they have not moved, what workers count is of no use.
    for worker in [0, 1] {
        assert!(placement.counted(worker, &world.groups(worker), Instant(2)).is_empty());
    }
    let later = Instant(10_000_000_000);
    placement.counted(0, &world.groups(0), later);
    assert!(!placement.counted(1, &world.groups(1), later).is_empty(), "nobody waits for ever");
}

/// Groups that questions tell are wrong here; whom replies wake is not.
#[test]
fn threads_that_were_found_count_whatever_else_was_seen() {
    let mut world = World::new(2, 4, 2, 8);
    world.sessions = vec![vec![0, 1, 4, 5], vec![2, 3, 6, 7]];
    let threads = std::mem::replace(&mut world.threads, vec![0, 1, 0, 1, 0, 1, 0, 1]);
    let mut placement = Placement::new(2);
    world.settle(&mut placement);
    for (session, thread) in threads.iter().enumerate() {
        assert!(!placement.has_found(session as i32));
        placement.found(session as i32, 100 + *thread as i32);
        assert!(placement.has_found(session as i32));
    }
    assert!(!placement.is_done(), "there is something to do again");
    let exchanges = world.settle(&mut placement);
    assert!((1..=4).contains(&exchanges), "{exchanges} exchanges");
    world.threads = threads;
    assert!(world.spread() <= 1.0, "{}", world.spread());
    placement.forget(3);
    assert!(!placement.has_found(3));
    world.sessions.iter_mut().for_each(|sessions| sessions.retain(|session| *session != 3));
    assert_eq!(world.settle(&mut placement), 0, "the others stay");
}
