use std::net::{IpAddr, SocketAddr};

use super::{Rules, Stranger, read};
use crate::options::Authentication;

fn rules(text: &str) -> Rules {
    Rules::from(read::rules(text).unwrap())
}

fn over_tcp<'s>(user: &'s str, database: &'s str, from: &str) -> Stranger<'s> {
    let ip: IpAddr = from.parse().unwrap();
    let here = "192.0.2.1".parse().unwrap();
    Stranger {
        user,
        database,
        from: Some((SocketAddr::new(ip, 1234), Some(here))),
        is_encrypted: false,
    }
}

fn told(rules: &Rules, stranger: &Stranger<'_>) -> String {
    // Everybody is in the role of the same name, and ann in staff.
    let is_in =
        |role: &str| Ok(stranger.user == role || (stranger.user == "ann" && role == "staff"));
    match rules.method(stranger, &is_in) {
        Ok(method) => format!("{method:?}"),
        Err(error) => format!("{} {}", error.sqlstate().as_str(), error.message()),
    }
}

const FILE: &str = r#"
# TYPE  DATABASE        USER            ADDRESS                 METHOD
local   all             postgres                                peer   # the owner
local   sameuser        all                                     trust
host    replication     all             0.0.0.0/0               trust
hostssl app,"all"       web, "o""brien" 10.1.0.0/16             scram-sha-256
hostnossl app           web             10.1.0.0/16             reject
host    app             web             10.2.3.0 255.255.255.128 md5
host    all             all             samehost                trust
host    app             web             2001:db8::/32           \
                                                                trust
hostgssenc all          all             all                     trust
"#;

#[test]
fn the_first_rule_that_fits_counts() {
    let rules = rules(FILE);
    let by_socket = |user, database| {
        told(&rules, &Stranger { user, database, from: None, is_encrypted: false })
    };
    assert_eq!(by_socket("postgres", "app"), "Peer");
    assert_eq!(by_socket("web", "web"), "Trust");
    let nobody = "28000 no pg_hba.conf entry for host";
    assert_eq!(
        by_socket("web", "app"),
        format!("{nobody} \"[local]\", user \"web\", database \"app\", no encryption")
    );
    let tcp = |user, database, from| told(&rules, &over_tcp(user, database, from));
    let encrypted = |user, database, from| {
        told(&rules, &Stranger { is_encrypted: true, ..over_tcp(user, database, from) })
    };
    assert_eq!(encrypted("web", "app", "10.1.255.255"), "Scram");
    assert_eq!(encrypted("o\"brien", "all", "10.1.0.1"), "Scram");
    assert_eq!(
        tcp("web", "app", "10.1.0.1"),
        "28000 pg_hba.conf rejects connection for host \"10.1.0.1\", user \"web\", database \"app\", no encryption"
    );
    assert_eq!(tcp("web", "app", "::ffff:10.2.3.127"), "Scram");
    assert_eq!(
        encrypted("web", "app", "10.2.3.128"),
        format!("{nobody} \"10.2.3.128\", user \"web\", database \"app\", SSL encryption")
    );
    assert_eq!(encrypted("web", "other", "127.0.0.1"), "Trust");
    assert_eq!(encrypted("web", "other", "192.0.2.1"), "Trust");
    assert!(encrypted("web", "other", "10.1.0.1").starts_with(nobody), "all is a name there");
    assert_eq!(tcp("web", "app", "2001:db8:1::1"), "Trust");
    assert!(tcp("web", "app", "2001:db9::1").starts_with(nobody));
    assert!(told(&super::Rules::from(Vec::new()), &over_tcp("a", "b", "::1")).starts_with(nobody));
}

#[test]
fn members_of_roles_are_meant_by_a_plus() {
    let rules =
        rules("local samerole +staff trust\nlocal all +staff peer\nlocal all \"+staff\" reject");
    let by_socket = |user, database| {
        told(&rules, &Stranger { user, database, from: None, is_encrypted: false })
    };
    assert_eq!(by_socket("ann", "staff"), "Trust");
    assert_eq!(by_socket("ann", "ann"), "Trust");
    assert_eq!(by_socket("ann", "other"), "Peer");
    assert_eq!(by_socket("staff", "other"), "Peer");
    assert!(by_socket("bob", "bob").starts_with("28000 no pg_hba.conf entry"));
    assert!(by_socket("+staff", "bob").starts_with("28000 pg_hba.conf rejects"));
}

#[test]
fn every_length_of_a_net_is_compared_as_far_as_it_goes() {
    for (net, from, fits) in [
        ("0.0.0.0/0", "255.1.2.3", true),
        ("1.2.3.4/32", "1.2.3.4", true),
        ("1.2.3.4/32", "1.2.3.5", false),
        ("1.2.3.4/31", "1.2.3.5", true),
        ("::/0", "ff::1", true),
        ("::/0", "1.2.3.4", false),
        ("0.0.0.0/0", "ff::1", false),
        ("ff::1/128", "ff::1", true),
        ("ff::1/128", "ff::2", false),
        ("ff::/127", "ff::1", true),
    ] {
        let rules = rules(&format!("host all all {net} trust"));
        assert_eq!(told(&rules, &over_tcp("a", "b", from)) == "Trust", fits, "{net} {from}");
    }
}

#[test]
fn what_cannot_be_understood_is_told_with_its_line() {
    for (line, why) in [
        ("locale all all trust", "there is no connection type \"locale\""),
        ("local all", "it ends before the users"),
        ("local all all", "it ends before the method"),
        ("local all all peer map=x", "the option \"map=x\" is not supported"),
        ("local all all ldap", "the method \"ldap\" is not supported"),
        ("local,host all all trust", "there is a list where one word belongs"),
        ("local all @admins trust", "\"@admins\" is not supported"),
        ("local @dbs all trust", "\"@dbs\" is not supported"),
        ("host all all peer", "it ends before the mask"),
        ("host all all ::1/128 peer", "\"peer\" is for local connections only"),
        ("host all all 1.2.3.4/33 trust", "\"1.2.3.4/33\" has no number of bits that it can have"),
        ("host all all 1.2.3.4 255.0.255.0 trust", "\"255.0.255.0\" is no mask for \"1.2.3.4\""),
        ("host all all 1.2.3.4 ff:: trust", "\"ff::\" is no mask for \"1.2.3.4\""),
        (
            "host all all example.org trust",
            "\"example.org\" is no address; names of hosts are not supported",
        ),
        ("host all all samenet trust", "\"samenet\" is not supported"),
        ("local all \"all trust", "a quotation mark has no other"),
    ] {
        let text = format!("# a comment\nlocal all all peer\n{line}\n");
        assert_eq!(read::rules(&text).unwrap_err(), format!("line 3: {why}"), "{line}");
    }
}

#[test]
fn without_a_file_one_method_counts_for_each_way() {
    let of = |authentication| {
        let rules = Rules::of(authentication);
        let local = Stranger { user: "a", database: "b", from: None, is_encrypted: false };
        [told(&rules, &local), told(&rules, &over_tcp("a", "b", "8.8.8.8"))]
    };
    assert_eq!(of(Authentication::Peer), ["Peer", "Scram"]);
    assert_eq!(of(Authentication::Scram), ["Scram", "Scram"]);
    assert_eq!(of(Authentication::Trust), ["Trust", "Trust"]);
}
