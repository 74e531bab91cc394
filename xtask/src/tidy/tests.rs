use super::crates::dependencies;
use super::docs::{blanks, links};
use super::features::{in_makefile, in_manifest};
use super::source::long_functions;
use super::{Exceptions, source};
use std::collections::BTreeMap;

#[test]
fn a_long_function_is_found_and_a_short_one_is_not() {
    let body = "    let x = 1;\n".repeat(120);
    let text = format!("fn short() {{\n}}\n\npub(crate) fn long() {{\n{body}}}\n");
    let found = long_functions(&text);
    assert_eq!(found.len(), 1);
    assert_eq!((found[0].0, found[0].1.as_str(), found[0].2), (4, "long", 122));
    let wanted = "    fn wanted();\n".repeat(120);
    let text = format!("trait Host {{\n{wanted}}}\nimpl X {{\n    fn short() {{\n    }}\n}}\n");
    assert!(long_functions(&text).is_empty());
}

#[test]
fn a_function_without_a_body_is_as_long_as_its_signature() {
    let more = "    fn other(&self);\n".repeat(120);
    let text = format!(
        "trait T {{\n    fn short(\n        &self,\n    ) -> u8;\n{more}    fn with() {{\n    }}\n}}\n"
    );
    assert!(long_functions(&text).is_empty());
}

#[test]
fn bans_hold_in_engine_code_only() {
    let text = "use std::collections::HashMap;\n// std::fs in a comment is fine\n";
    let mut none = Exceptions(BTreeMap::new());
    let mut found = Vec::new();
    source::check("crates/storage/src/x.rs", text, &mut none, &mut found);
    assert_eq!(found.len(), 1);
    found.clear();
    source::check("crates/server/src/x.rs", text, &mut none, &mut found);
    assert!(found.is_empty());
}

#[test]
fn bans_see_into_groups_of_imports() {
    let places = |text: &str| -> Vec<String> {
        let mut none = Exceptions(BTreeMap::new());
        let mut found = Vec::new();
        source::check("crates/storage/src/x.rs", text, &mut none, &mut found);
        let lines = found.iter().map(|f| f.place.trim_start_matches("crates/storage/src/x.rs:"));
        lines.map(str::to_owned).collect()
    };
    assert_eq!(places("use std::collections::{BTreeMap, HashMap};\n"), ["1"]);
    assert_eq!(places("\nuse std::{\n    fs, // The machine's.\n    io,\n};\n"), ["2"]);
    assert_eq!(places("pub use std::{sync::{Arc, atomic::{AtomicBool, Ordering}}, io};\n"), ["1"]);
    assert_eq!(places("use std::thread::{self, sleep};\n"), ["1"]);
    assert_eq!(places("use std::collections::{HashMap, HashSet as Set};\n"), ["1", "1"]);
    // Told once, as by the line itself.
    assert_eq!(places("use std::sync::atomic::{AtomicBool, Ordering};\n"), ["1"]);
    assert_eq!(places("use std::hash::{BuildHasher, RandomState};\n"), ["1"]);
    let fine = "use std::collections::{BTreeMap, hash_map};\nuse base::hash::{HashMap, HashSet};\n\
                use std::os::unix::{fs::FileExt, net};\nuse std::{io, mem};\n";
    assert!(places(fine).is_empty());
}

#[test]
fn what_was_to_be_filled_in_is_found() {
    let text = "me@example.org, @FIGURES@ and\n@LAST_PART@\n`@Override@` @ @@ user@HOST";
    assert_eq!(blanks(text), ["@FIGURES@", "@LAST_PART@"]);
    assert!(blanks("").is_empty());
}

#[test]
fn an_exception_must_be_used() {
    let rule = ("file-length".to_owned(), "a.rs".to_owned());
    let mut exceptions = Exceptions(BTreeMap::from([(rule, false)]));
    assert_eq!(exceptions.unused().len(), 1);
    assert!(exceptions.covers("file-length", "a.rs"));
    assert!(exceptions.unused().is_empty());
}

#[test]
fn manifests_and_links_are_read() {
    let manifest =
        "[dependencies]\nbase.workspace = true\nlibc = \"0.2\"\n[dev-dependencies]\nsql = 1\n";
    assert_eq!(dependencies(manifest), ["base", "libc"]);
    assert_eq!(links("see [a](b.md#c) and [d](e)\n```\n[x](y)\n```"), ["b.md#c", "e"]);
}

#[test]
fn no_release_has_a_feature_of_the_laboratory() {
    let plain = "[features]\n# For the laboratory.\nlab-wal-packed = [\"storage/lab-wal-packed\"]\n\
                 [dependencies]\nstorage = { path = \"x\", features = [\"std\"] }\n";
    assert!(in_manifest(plain).is_empty());
    let default = "[features]\ndefault = [\"storage/lab-wal-packed\"]\n";
    assert_eq!(in_manifest(default).len(), 1);
    let traced = "[dependencies]\nstorage = { path = \"x\", features = [\"page-trace\"] }\n";
    assert_eq!(in_manifest(traced).len(), 1);
    let made = "serve: deps\n\t$(RELEASE) -p thalweg \\\n\t\t--features lab-wal-locked\n";
    assert_eq!(in_makefile(made).len(), 1);
    assert!(in_makefile("serve: deps\n\t$(RELEASE) -p thalweg\n").is_empty());
}
