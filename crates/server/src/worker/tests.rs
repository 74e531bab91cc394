use std::io::Read;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::time::Duration;

use super::{Door, Order, Worker};
use crate::Database;
use crate::config::Config;
use crate::connection::Accepted;
use crate::shared::Shared;

/// Longer than anything that a test waits for.
const PATIENCE: Duration = Duration::from_secs(60);

#[test]
fn a_client_that_came_just_before_the_end_is_told_of_it() {
    let dir = std::env::temp_dir().join(format!("thalweg-worker-{}", std::process::id()));
    std::fs::create_dir_all(&dir).unwrap();
    let mut config = Config::new();
    for (name, value) in [("shared_buffers", "8MB"), ("authentication_timeout", "600s")] {
        config.set(name, value).unwrap();
    }
    let data = dir.join("data");
    let database = Arc::new(Database::open(&data, "me", &config).unwrap());
    let door = Arc::new(Door::default());
    let options = config.options(data).unwrap();
    let shared = Shared::new(Arc::clone(&database), options, vec![Arc::clone(&door)]);
    let shared = Arc::new(shared.unwrap());
    let (mut client, accepted) = UnixStream::pair().unwrap();
    client.set_read_timeout(Some(PATIENCE)).unwrap();
    // The worker finds both at its first look.
    door.expect_one();
    door.order(Order::Serve(Accepted::Unix(accepted)));
    door.order(Order::Shutdown);
    let worker = Worker::start(0, Arc::clone(&shared), door).unwrap();
    let mut told = Vec::new();
    client.read_to_end(&mut told).unwrap();
    let told = String::from_utf8_lossy(&told);
    assert!(told.contains("57P01"), "{told}");
    worker.join().unwrap();
    drop(shared);
    database.close().unwrap();
    std::fs::remove_dir_all(&dir).unwrap();
}
