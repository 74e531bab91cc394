//! Sessions that go from one worker to another.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use wire::frontend::{Execute, Target};
use wire::startup;

use crate::House;
use crate::client::{Client, extended};

/// Long enough for anything, also where the machine is busy.
const PATIENCE: Duration = Duration::from_secs(60);

impl House {
    fn worker_of(&self, client: &Client) -> usize {
        self.server().workers_of_sessions()[&client.process]
    }

    fn tell_to_go(&self, client: &Client, to: usize) {
        assert!(self.server().move_session(client.process, to));
    }

    /// Has the session served by the other worker; returns once it is.
    fn carry_over(&self, client: &mut Client) {
        let to = 1 - self.worker_of(client);
        self.tell_to_go(client, to);
        let begun = Instant::now();
        while self.worker_of(client) != to {
            assert!(begun.elapsed() < PATIENCE, "the session does not move");
            assert_eq!(client.query(""), "I\nZ I");
        }
    }
}

#[test]
fn a_session_takes_along_all_that_it_has() {
    let house = House::new();
    let mut me = house.client();
    me.query("create temp table mine (a int); insert into mine values (7)");
    me.query("set application_name = 'traveller'; set work_mem = '2MB'");
    me.query("select pg_advisory_lock(5)");
    me.query("begin; declare c cursor with hold for select generate_series(1, 3); commit");
    me.request(|r| {
        r.parse("st", "select a + $1 from mine", &[]);
        r.sync();
    });
    assert_eq!(me.until_ready(), "1\nZ I");
    for row in 1..=3 {
        house.carry_over(&mut me);
        me.request(|r| {
            r.bind("", "st", &[], &[Some(b"1")], &[]);
            r.describe(Target::Portal(""));
            r.execute(Execute { portal: "", rows_max: 0 });
            r.sync();
        });
        assert_eq!(me.until_ready(), "2\nT ?column?\nD 8\nC SELECT 1\nZ I");
        let shown = me.query("show application_name; show work_mem; fetch c");
        assert!(shown.contains("D traveller") && shown.contains("D 2MB"), "{shown}");
        assert!(shown.contains(&format!("D {row}\nC FETCH 1")), "{shown}");
        let taken = house.client().query("select pg_try_advisory_lock(5)");
        assert!(taken.contains("D f"), "{taken}");
    }
}

#[test]
fn within_a_transaction_a_session_stays() {
    let house = House::new();
    let mut me = house.client();
    let here = house.worker_of(&me);
    me.query("begin; insert into t values (1)");
    house.tell_to_go(&me, 1 - here);
    for _ in 0..100 {
        assert!(me.query("select count(*) from t").contains("D 1"));
        assert_eq!(house.worker_of(&me), here);
    }
    // A statement of the extended protocol before its Sync.
    me.query("commit");
    me.request(|r| {
        extended(r, "select 1", &[], 0);
        r.flush();
    });
    assert_eq!(me.next().as_deref(), Some("1"));
    // After it the session goes on, here or there.
    me.request(|r| r.sync());
    assert!(me.until_ready().ends_with("Z I"));
    assert_eq!(me.query("select 2"), "T ?column?\nD 2\nC SELECT 1\nZ I");
}

/// Sends sessions to and fro until it is told to stop; how often.
fn drive_about(house: &House, processes: &[i32], stop: &AtomicBool) -> usize {
    let mut count = 0;
    while !stop.load(Ordering::Relaxed) {
        let process = processes[count % processes.len()];
        house.server().move_session(process, count / processes.len() % 2);
        count += 1;
        std::thread::sleep(Duration::from_micros(50));
    }
    count
}

/// Transfers between two rows; and whatever else clients send.
fn transfer(client: &mut Client, round: usize) {
    let (from, to) = (round % 8, (round * 5 + 1) % 8);
    client.request(|r| {
        r.query("begin");
        r.query(&format!("update accounts set sum = sum - 1 where id = {from}"));
        r.query(&format!("update accounts set sum = sum + 1 where id = {to}"));
        r.query("commit");
    });
    let answers: Vec<String> = (0..4).map(|_| client.until_ready()).collect();
    let told = |answer: &String| answer.split_whitespace().next().map(str::to_owned).unwrap();
    if answers.iter().any(|answer| told(answer) == "ERROR") {
        assert!(answers.concat().contains("40P01"), "{answers:?}");
        assert_eq!(answers[3], "C ROLLBACK\nZ I");
    } else {
        assert_eq!(
            answers,
            ["C BEGIN\nZ T", "C UPDATE 1\nZ T", "C UPDATE 1\nZ T", "C COMMIT\nZ I"]
        );
    }
}

#[test]
fn sessions_that_are_sent_to_and_fro_lose_nothing() {
    let house = House::new();
    house.client().query("create table accounts (id int primary key, sum int)");
    house.client().query("insert into accounts select i, 100 from generate_series(0, 7) i");
    let mut clients: Vec<Client> = (0..6).map(|_| house.client()).collect();
    let processes: Vec<i32> = clients.iter().map(|client| client.process).collect();
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let driver = scope.spawn(|| drive_about(&house, &processes, &stop));
        let workers: Vec<_> = (clients.iter_mut().enumerate())
            .map(|(number, client)| {
                scope.spawn(move || (0..150).for_each(|round| transfer(client, round + number)))
            })
            .collect();
        workers.into_iter().for_each(|worker| worker.join().unwrap());
        stop.store(true, Ordering::Relaxed);
        assert!(driver.join().unwrap() > 0);
    });
    let sum = house.client().query("select sum(sum) from accounts");
    assert!(sum.contains("D 800"), "{sum}");
    let there = house.client().query("select count(*) from pg_stat_activity where usename = 'me'");
    // The six, and the one that asks.
    assert!(there.contains("D 7"), "{there}");
}

#[test]
fn a_session_that_has_moved_is_found_by_who_cancels_or_ends_it() {
    let house = House::new();
    let mut me = house.client();
    for _ in 0..4 {
        house.carry_over(&mut me);
        me.request(|r| r.query("select pg_sleep(60)"));
        // The cancel may come before the query: then there is nothing to cancel, and it is asked for again.
        let begun = Instant::now();
        loop {
            let mut packet = Vec::new();
            startup::put_cancel(&mut packet, me.process, me.key);
            house.stranger().send(&packet);
            if !me.is_silent(Duration::from_millis(50)) {
                break;
            }
            assert!(begun.elapsed() < PATIENCE, "nothing was canceled");
        }
        let told = me.until_ready();
        assert!(told.contains("ERROR 57014 canceling statement due to user request"), "{told}");
    }
    // Told to go, and ended before it could.
    let other = 1 - house.worker_of(&me);
    house.tell_to_go(&me, other);
    let ended = house.client().query(&format!("select pg_terminate_backend({})", me.process));
    assert!(ended.contains("D t"), "{ended}");
    assert!(me.next().unwrap().starts_with("FATAL 57P01"));
    me.expect_end();
}

#[test]
fn connections_of_one_client_thread_come_together() {
    let house = House::new();
    // Dealt out in turn: each thread has two connections on each worker.
    let mut connections: Vec<Client> = (0..8).map(|_| house.client()).collect();
    let mut second = connections.split_off(4);
    let processes = [&connections, &second]
        .map(|clients| clients.iter().map(|client| client.process).collect::<Vec<i32>>());
    let stop = AtomicBool::new(false);
    let ask = |clients: &mut [Client]| {
        while !stop.load(Ordering::Relaxed) {
            clients.iter_mut().for_each(|client| client.request(|r| r.query("")));
            clients.iter_mut().for_each(|client| drop(client.until_ready()));
        }
    };
    let are_together = || {
        let workers = house.server().workers_of_sessions();
        processes.iter().all(|group| group.iter().all(|p| workers[p] == workers[&group[0]]))
    };
    std::thread::scope(|scope| {
        scope.spawn(|| ask(&mut connections));
        scope.spawn(|| ask(&mut second));
        let begun = Instant::now();
        while !are_together() && begun.elapsed() < PATIENCE {
            std::thread::sleep(Duration::from_millis(10));
        }
        stop.store(true, Ordering::Relaxed);
    });
    assert!(are_together(), "{:?}", house.server().workers_of_sessions());
}
