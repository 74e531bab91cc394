//! Several databases: who is let into which, and what becomes of sessions whose database goes.

use std::sync::Arc;

use server::{Options, Server};

use crate::client::Client;
use crate::{House, options};

/// What a client is told that asks for a session on a database.
fn asks(house: &House, database: &str) -> String {
    house.stranger().try_start(&[("user", "me"), ("database", database)])
}

fn connected(house: &House, database: &str) -> Client {
    let mut client = house.stranger();
    let told = client.try_start(&[("user", "me"), ("database", database)]);
    assert!(told.ends_with("Z I"), "{told}");
    client
}

#[test]
fn a_session_gets_the_database_that_it_names_or_none() {
    let mut house = House::new();
    let mut me = house.client();
    assert_eq!(asks(&house, "shop"), "FATAL 3D000 database \"shop\" does not exist");
    assert_eq!(
        asks(&house, "template0"),
        "FATAL 55000 database \"template0\" is not currently accepting connections"
    );
    assert_eq!(me.query("create database shop"), "C CREATE DATABASE\nZ I");
    let mut shop = connected(&house, "shop");
    assert_eq!(
        shop.query("select current_database()"),
        "T current_database\nD shop\nC SELECT 1\nZ I"
    );
    assert_eq!(shop.query("create table only_here (a int)"), "C CREATE TABLE\nZ I");
    assert!(shop.query("select * from t").starts_with("ERROR 42P01"));
    assert!(me.query("select * from only_here").starts_with("ERROR 42P01"));
    assert_eq!(
        me.query("begin; create database within"),
        "C BEGIN\nERROR 25001 CREATE DATABASE cannot run inside a transaction block\nZ E"
    );
    me.query("rollback");
    assert_eq!(me.query("alter database shop allow_connections false"), "C ALTER DATABASE\nZ I");
    assert!(asks(&house, "shop").starts_with("FATAL 55000"));
    assert!(shop.query("select 1").ends_with("Z I"), "who is in stays in");
    me.query("alter database shop allow_connections true");
    drop((me, shop));

    // And with another server over the same directory.
    house.shutdown();
    let options = Options { socket_dir: Some(house.dir.clone()), ..options() };
    house.server = Some(Server::start(Arc::clone(&house.database), options).unwrap());
    assert!(connected(&house, "shop").query("select * from only_here").ends_with("Z I"));
    let mut me = house.client();
    // The session before is on its way out, and is waited for.
    assert_eq!(me.query("alter database shop rename to store"), "C ALTER DATABASE\nZ I");
    assert!(asks(&house, "shop").starts_with("FATAL 3D000"));
    drop(connected(&house, "store"));
    assert_eq!(me.query("drop database store"), "C DROP DATABASE\nZ I");
    assert!(asks(&house, "store").starts_with("FATAL 3D000"));
}

#[test]
fn force_ends_the_sessions_of_the_database_that_goes() {
    let house = House::new();
    let mut me = house.client();
    me.query("create database doomed");
    let mut idle = connected(&house, "doomed");
    let mut busy = connected(&house, "doomed");
    busy.request(|r| r.query("select pg_sleep(600)"));
    let mut bystander = house.client();
    assert_eq!(me.query("drop database doomed with (force)"), "C DROP DATABASE\nZ I");
    let told = "FATAL 57P01 terminating connection due to administrator command";
    assert_eq!(idle.until_ready(), told);
    assert!(busy.until_ready().ends_with(told));
    assert!(bystander.query("select 1").ends_with("Z I"));
}

#[test]
fn a_session_begins_with_what_its_database_says() {
    let house = House::new();
    let mut config = server::config::Config::new();
    config.set("datestyle", "ISO, DMY").unwrap();
    config.set("timezone", "Europe/Paris").unwrap();
    house.server().reload(&config);
    let mut me = house.client();
    me.query("create database shop");
    assert_eq!(
        me.query("alter database shop set timezone = 'Asia/Tokyo'"),
        "C ALTER DATABASE\nZ I"
    );
    me.query("alter database shop set application_name = 'the shop'");
    let told = house.stranger().try_start(&[
        ("user", "me"),
        ("database", "shop"),
        ("application_name", "mine"),
    ]);
    for line in ["S DateStyle=ISO, DMY", "S TimeZone=Asia/Tokyo", "S application_name=mine"] {
        assert!(told.contains(line), "{line} is not in {told}");
    }
    let mut shop = connected(&house, "shop");
    shop.query("set timezone = 'UTC'");
    shop.query("reset timezone");
    assert!(shop.query("show timezone").contains("D Asia/Tokyo"));
    me.query("alter database shop reset all");
    assert!(connected(&house, "shop").query("show timezone").contains("D Europe/Paris"));
}
