//! Data directories: new ones, ones that are open elsewhere, ones that are none of ours.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use server::Database;
use server::config::{Config, FILE_NAME};

use crate::{House, open, options};

fn refused(data: &Path) -> String {
    match Database::open(data, "me", &Config::new()) {
        Ok(_) => panic!("{} was opened", data.display()),
        Err(fault) => {
            let fault = fault.to_string();
            assert!(!fault.contains('\n'), "one sentence: {fault}");
            fault
        }
    }
}

#[test]
fn a_new_directory_is_private_and_has_a_configuration() {
    let house = House::new();
    let data = house.dir.join("data");
    let mode = std::fs::metadata(&data).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o700);
    let mut config = Config::new();
    config.read_file(&data).unwrap();
    assert_eq!(config, Config::new(), "the first configuration chooses nothing");
}

#[test]
fn a_directory_in_use_is_refused() {
    let house = House::new();
    let data = house.dir.join("data");
    let expected = format!(
        "cannot open the data directory {}: another server is using the data directory",
        data.display()
    );
    assert_eq!(refused(&data), expected);
    assert!(house.client().query("select 1").ends_with("Z I"));
}

#[test]
fn a_directory_of_something_else_is_refused_and_untouched() {
    let data = options().data;
    std::fs::create_dir_all(&data).unwrap();
    std::fs::write(data.join("letter.txt"), "dear reader").unwrap();
    let fault = refused(&data);
    assert!(fault.ends_with("the directory is not empty: it contains \"letter.txt\""), "{fault}");
    assert_eq!(std::fs::read(data.join("letter.txt")).unwrap(), b"dear reader");
    assert!(!data.join(FILE_NAME).exists());
    std::fs::remove_dir_all(data.parent().unwrap()).unwrap();
}

#[test]
fn a_closed_directory_opens_again_with_nothing_to_recover() {
    let data = options().data;
    open(&data, "me").close().unwrap();
    let again = open(&data, "me");
    assert!(again.engine().recovery().is_none());
    again.close().unwrap();
    std::fs::remove_dir_all(data.parent().unwrap()).unwrap();
}

#[test]
fn an_unreadable_configuration_is_named() {
    let house = House::new();
    let data = house.dir.join("data");
    std::fs::write(data.join(FILE_NAME), "port = 5432\nshared_bufers = 1GB\n").unwrap();
    let fault = Config::new().read_file(&data).unwrap_err().to_string();
    assert_eq!(
        fault,
        format!(
            "{}, line 2: unrecognized configuration parameter \"shared_bufers\"",
            data.join(FILE_NAME).display()
        )
    );
}
