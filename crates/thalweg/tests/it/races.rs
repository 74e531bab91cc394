//! Many clients that enter the same unique keys at once: one winner each, and the others are told of the key.

use super::{Scratch, check, config};

use std::sync::Barrier;

use thalweg::{Connection, Database, SqlError};

const CLIENTS: usize = 64;
const KEYS: usize = 150;

/// What became of a client's attempt.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Outcome {
    Won,
    Lost,
    /// It was first, and took its row back.
    TookBack,
    /// It was refused otherwise than it should be: a panic would leave the others at the barrier.
    Odd,
}

/// Whether who came too late learns of the key, by one index or the other.
fn is_told_of(error: &SqlError, key: usize) -> bool {
    let told = error.fields();
    let (constraint, detail) = match told.constraint.as_deref() {
        Some("race_pkey") => ("race_pkey", format!("Key (a)=({key}) already exists.")),
        _ => ("race_t", format!("Key (t)=(key {key}) already exists.")),
    };
    let message = format!("duplicate key value violates unique constraint \"{constraint}\"");
    told.sqlstate.to_string() == "23505" && told.message == message && told.detail == Some(detail)
}

fn take_back(connection: &mut Connection<'_>, entered: bool) -> Outcome {
    connection.query("ROLLBACK").unwrap();
    if entered { Outcome::TookBack } else { Outcome::Lost }
}

/// Whether the key's first comer enters it before the others may start, and takes it back beside
/// them: in each run there are those who go on behind a row that was taken back.
fn is_entered_ahead(client: usize, key: usize) -> bool {
    client == 0 && key % 4 == 1
}

/// Enters the key in one of three ways.
fn attempt(connection: &mut Connection<'_>, client: usize, key: usize) -> Outcome {
    let values = format!("VALUES ({key}, 'key {key}', {client})");
    let plain = format!("INSERT INTO race {values}");
    match (client + key) % 4 {
        0 => {
            let unless_there = format!("{plain} ON CONFLICT DO NOTHING");
            let tag = connection.query(&unless_there).unwrap().remove(0).tag;
            if tag == "INSERT 0 1" { Outcome::Won } else { Outcome::Lost }
        }
        1 if client.is_multiple_of(8) => {
            let entered = connection.query(&format!("BEGIN; {plain}")).is_ok();
            take_back(connection, entered)
        }
        _ => match connection.query(&plain) {
            Ok(_) => Outcome::Won,
            Err(error) => {
                if is_told_of(&error, key) {
                    return Outcome::Lost;
                }
                eprintln!("key {key}: {error:?}");
                Outcome::Odd
            }
        },
    }
}

/// All keys, one after the other, each when all others are at it, too.
fn race(database: &Database, client: usize, start: &Barrier) -> Vec<Outcome> {
    let mut connection = database.connect("postgres", "me").unwrap();
    let keys = 0..KEYS;
    keys.map(|key| {
        if !is_entered_ahead(client, key) {
            start.wait();
            return attempt(&mut connection, client, key);
        }
        let plain = format!("BEGIN; INSERT INTO race VALUES ({key}, 'key {key}', {client})");
        let entered = connection.query(&plain).is_ok();
        start.wait();
        take_back(&mut connection, entered)
    })
    .collect()
}

#[test]
fn of_many_who_enter_a_key_one_wins() {
    let scratch = Scratch::new("races");
    let data = scratch.database();
    let database = Database::open(&data, "me", &config()).unwrap();
    let mut own = database.connect("postgres", "me").unwrap();
    own.query("CREATE TABLE race (a int PRIMARY KEY, t text, client int)").unwrap();
    own.query("CREATE UNIQUE INDEX race_t ON race (t)").unwrap();
    let start = Barrier::new(CLIENTS);
    let outcomes: Vec<Vec<Outcome>> = std::thread::scope(|scope| {
        let race = |client| {
            let (database, start) = (&database, &start);
            scope.spawn(move || race(database, client, start))
        };
        let clients: Vec<_> = (0..CLIENTS).map(race).collect();
        clients.into_iter().map(|client| client.join().unwrap()).collect()
    });
    let count = |key: usize, what| outcomes.iter().filter(|client| client[key] == what).count();
    for key in 0..KEYS {
        assert_eq!((count(key, Outcome::Won), count(key, Outcome::Odd)), (1, 0), "key {key}");
        if is_entered_ahead(0, key) {
            assert_eq!(outcomes[0][key], Outcome::TookBack, "key {key}");
        }
        let winner = outcomes.iter().position(|client| client[key] == Outcome::Won).unwrap();
        let row = own.query(&format!("SELECT client FROM race WHERE a = {key}")).unwrap().remove(0);
        assert_eq!(row.rows, [[Some(winner.to_string())]], "key {key}");
    }
    let all = own.query("SELECT count(*), count(DISTINCT t) FROM race").unwrap().remove(0);
    let keys = Some(KEYS.to_string());
    assert_eq!(all.rows, [[keys.clone(), keys]]);
    drop(own);
    database.close().unwrap();
    let (sound, told, complaints) = check(&data);
    assert!(sound, "{told}{complaints}");
}
