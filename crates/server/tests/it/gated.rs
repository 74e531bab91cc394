//! What is not durable yet is not told, to nobody and in no way; and so a crash takes nothing back that was.
//!
//! The log is held up on its way to the disk: commits are made and seen by others, but none is durable. Whoever's
//! answer rests on such a commit waits. Then the machine stops, which is: another server opens the directory as it
//! is on the disk at that moment.

use std::path::Path;
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

use base::Env;
use server::Database;

use crate::activity::until;
use crate::client::Client;
use crate::moody::{Access, Mood, Moody};
use crate::{House, options, small};

/// Long enough for an answer that is only on its way.
const SILENCE: Duration = Duration::from_millis(50);

/// Of a session whose statement is done and whose reply waits for the log.
const GATED: &str = "active,IO,WALSync";

/// Whether the log's writes are held up.
#[derive(Default)]
struct Weir {
    held: Mutex<bool>,
    changed: Condvar,
}

impl Weir {
    fn hold(&self, held: bool) {
        *self.held.lock().unwrap() = held;
        self.changed.notify_all();
    }

    fn pass(&self) {
        let held = self.held.lock().unwrap();
        drop(self.changed.wait_while(held, |held| *held).unwrap());
    }
}

/// Lets everything pass in the end, whatever that is.
struct Release(Arc<Weir>);

impl Drop for Release {
    fn drop(&mut self) {
        self.0.hold(false);
    }
}

/// A directory as it is now.
pub fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let to = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy(&entry.path(), &to);
        } else {
            std::fs::copy(entry.path(), to).unwrap();
        }
    }
}

/// A session with a statement under way whose answer must wait.
fn asks(house: &House, first: &str, then: &str) -> Client {
    let mut client = house.client();
    if !first.is_empty() {
        let told = client.query(first);
        assert!(!told.contains("ERROR"), "{told}");
    }
    client.request(|r| r.query(then));
    client
}

#[test]
fn nobody_is_told_what_a_crash_takes_back() {
    let options = options();
    let home = options.socket_dir.clone().unwrap();
    let data = home.join("data");
    let weir = Arc::new(Weir::default());
    let (mood, passing) = (Mood::default(), Arc::clone(&weir));
    mood.turn(move |access, path, _| {
        if path.starts_with("wal") && matches!(access, Access::Write | Access::Sync) {
            passing.pass();
        }
        None
    });
    let env = Env::new(Arc::new(Moody::new(&data, &mood)));
    let mut config = small();
    // Always: no page that was changed is written before its log is, and whoever needs its frame waits as long.
    config.set("shared_buffers", "8MB").unwrap();
    let database = Arc::new(Database::open_in(&env, &data, "me", &config).unwrap());
    let house = House::over(database, options);
    let _release = Release(Arc::clone(&weir));
    let mut me = house.client();
    for statement in [
        "create table parent (id int primary key, v int)",
        "create table child (id int primary key, p int references parent)",
        "insert into parent values (1, 0), (2, 0), (3, 0)",
    ] {
        let told = me.query(statement);
        assert!(!told.contains("ERROR"), "{told}");
    }
    let mut hearer = house.client();
    hearer.query("listen news");
    // It waits for a row before the log is held up, and gets it while it is.
    let mut holder = house.client();
    holder.query("begin; update parent set v = 1 where id = 3");
    let handed = asks(&house, "", "update parent set v = v + 10 where id = 3 returning v");

    weir.hold(true);
    holder.request(|r| r.query("commit"));
    let writer = asks(
        &house,
        "",
        "insert into parent values (7, 7); insert into child values (1, 2); notify news, 'seven'",
    );
    let mut waiting = vec![
        ("the commit itself", holder),
        ("a commit's own client", writer),
        ("a row that was handed over", handed),
    ];
    // Nobody is told that these have committed, but what they wait for can be seen.
    let doing = "state, wait_event_type, wait_event";
    waiting.iter().for_each(|(_, client)| until(&mut me, doing, client.process, GATED));
    let others = [
        ("a row read", "", "select * from parent where id = 7"),
        ("a row not there any more", "", "select v from parent where id = 3"),
        ("a duplicate key", "", "insert into parent values (7, 8)"),
        ("DO NOTHING", "", "insert into parent values (7, 8) on conflict do nothing"),
        ("a referenced row", "", "delete from parent where id = 2"),
        (
            "RETURNING in a transaction",
            "begin",
            "update parent set v = v + 1 where id = 7 returning v",
        ),
        ("a transaction that only reads", "begin read only", "select count(*) from parent"),
        ("NOWAIT", "begin", "select v from parent where id = 7 for key share nowait"),
    ];
    for (what, first, then) in others {
        let client = asks(&house, first, then);
        // One after the other: who inserts a key waits for a transaction that has the row.
        until(&mut me, doing, client.process, GATED);
        waiting.push((what, client));
    }
    assert!(hearer.is_silent(SILENCE), "a notification came before its commit was durable");
    for (what, client) in &mut waiting {
        assert!(client.is_silent(SILENCE), "{what} was told before it was durable");
    }
    // What rests on nothing of this is answered.
    assert!(me.query("select 1").contains("\nD 1\n"));

    // The machine stops.
    let image = home.join("image");
    copy(&data, &image);
    let found = Database::open(&image, "me", &small()).unwrap();
    {
        let found = Arc::new(found);
        let mut options = crate::options();
        options.data = image;
        let after = House::over(Arc::clone(&found), options);
        let mut client = after.client();
        let told = client.query("select id, v from parent order by id");
        assert_eq!(told, "T id,v\nD 1,0\nD 2,0\nD 3,0\nC SELECT 3\nZ I");
        assert_eq!(client.query("select count(*) from child"), "T count\nD 0\nC SELECT 1\nZ I");
    }

    // It did not stop after all: everybody is told.
    weir.hold(false);
    for (what, client) in &mut waiting {
        let told = client.until_ready();
        assert!(told.contains("\nZ ") || told.starts_with("Z "), "{what}: {told}");
    }
    assert!(hearer.next().unwrap().ends_with(" news seven"));
}
