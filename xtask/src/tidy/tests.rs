use super::crates::{Member, check_directions};
use super::docs::{blanks, links};
use super::features::{in_makefile, turned_on};
use super::manifest::{dependencies, strings, value};
use super::reachable::{declares, is_root};
use super::source::{ignored, long_functions};
use super::{Exceptions, Finding, invariants, rooms, source};
use std::collections::BTreeMap;

fn texts(findings: &[Finding]) -> Vec<String> {
    findings.iter().map(|found| format!("{}: {}", found.place, found.what)).collect()
}

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
    for (place, text) in [
        ("crates/server/src/x.rs", "std::thread::sleep(a);\n"),
        ("crates/storage/src/x.rs", "x.unwrap_or_else(Instant::now);\n"),
    ] {
        source::check(place, text, &mut none, &mut found);
        assert_eq!(found.len(), 1, "{text}");
        found.clear();
    }
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
    let text = "members = []\n[workspace]\nmembers = [\n    \"a\", # \"b\"\n    \"c/d\",\n]\n\
                    [dependencies]\nbase.workspace = true\nlibc = \"0.2\"\n\
                    pages = { path = \"x\", package = \"storage\", default-features = false, features = [\n\
                    \"std\", # \"none\"\n] }\n\
                    [target.'cfg(loom)'.dependencies.loom]\nversion = \"0.7\"\nfeatures = [\"futures\"]\n\
                    [dev-dependencies]\nsql = \"1\"\n[build-dependencies]\nours.package = \"wire\"\n";
    let manifest = table(text);
    let members = strings(value(&manifest, ["workspace", "members"]));
    assert_eq!(members.collect::<Vec<_>>(), ["a", "c/d"]);
    let found = dependencies(&manifest);
    let found: Vec<_> = found.iter().map(|d| (&*d.name, d.package(), d.is_dev)).collect();
    let expected = [
        ("base", "base", false),
        ("libc", "libc", false),
        ("pages", "storage", false),
        ("ours", "wire", false),
        ("sql", "sql", true),
        ("loom", "loom", false),
    ];
    assert_eq!(found, expected);
    let features: Vec<_> = dependencies(&manifest).into_iter().map(|d| d.features).collect();
    assert_eq!(features.concat(), ["std", "futures"]);
    assert_eq!(links("see [a](b.md#c) and [d](e)\n```\n[x](y)\n```"), ["b.md#c", "e"]);
}

fn table(text: &str) -> toml::Table {
    text.parse().unwrap()
}

fn member(dir: &str, manifest: &str) -> Member {
    let package = dir.rsplit('/').next().unwrap().to_owned();
    Member { dir: dir.to_owned(), package, manifest: table(manifest) }
}

#[test]
fn dependencies_point_one_way_under_whatever_name() {
    let may_use: &[(&str, &[&str])] =
        &[("crates/base", &[]), ("crates/storage", &["base"]), ("crates/gone", &[])];
    let found = |own: &str, base: &str| {
        let members = [
            member("crates/base", base),
            member("crates/storage", "[dependencies]\nbase.workspace = true\nlibc = \"1\"\n"),
        ];
        let mut findings = Vec::new();
        check_directions(&table(own), &members, may_use, &mut findings);
        texts(&findings)
    };
    let own = "[workspace.dependencies]\npages = { path = \"x\", package = \"storage\" }\n";
    let gone =
        "crates/gone/Cargo.toml: the tidy check knows it, and it is no member of the workspace";
    assert_eq!(found(own, "[dev-dependencies]\nstorage = \"1\"\n"), [gone]);
    let back = "crates/base/Cargo.toml: depends on storage: dependencies point one way";
    for manifest in [
        "[dependencies]\nstorage.workspace = true\n",
        "[dependencies.storage]\nworkspace = true\n",
        "[dependencies]\nours = { path = \"x\", package = \"storage\" }\n",
        "[target.'cfg(unix)'.dependencies.ours]\npackage = \"storage\"\n",
        "[dependencies]\npages.workspace = true\n",
    ] {
        assert_eq!(found(own, manifest), [back, gone], "{manifest}");
    }
    let mut findings = Vec::new();
    check_directions(&table(""), &[member("new", "")], &[], &mut findings);
    assert_eq!(
        texts(&findings),
        ["new/Cargo.toml: the tidy check does not know what it may depend on"]
    );
}

#[test]
fn no_release_has_a_feature_of_the_laboratory() {
    let found = |own: &str, manifest: &str| {
        let storage = "[features]\nlab-wal-packed = []\nfast = [\n    \"lab-wal-packed\",\n]\n";
        let members = [member("crates/storage", storage), member("crates/sql", manifest)];
        turned_on(&table(own), &members).len()
    };
    let plain = "[features]\n# For the laboratory.\nlab-wal-packed = [\"storage/lab-wal-packed\"]\n\
                 [dependencies]\nstorage = { path = \"x\", features = [\"std\"] }\n";
    assert_eq!(found("", plain), 0);
    for manifest in [
        "[features]\ndefault = [\"storage/lab-wal-packed\"]\n",
        "[features]\ndefault = [\n    \"storage/lab-wal-packed\",\n]\n",
        "[features]\ndefault = [\"quick\"]\nquick = [\"storage?/fast\"]\n",
        "[features]\ndefault = [\"s/fast\"]\n[dependencies.s]\npackage = \"storage\"\n",
        "[dependencies]\nstorage = { path = \"x\", features = [\"page-trace\"] }\n",
        "[dependencies.storage]\nfeatures = [\n    \"fast\",\n]\n",
    ] {
        assert_eq!(found("", manifest), 1, "{manifest}");
    }
    let shared = "[workspace.dependencies]\nstorage = { path = \"x\", features = [\"fast\"] }\n";
    assert_eq!(found(shared, plain), 1);
    let made = "serve: deps\n\t$(RELEASE) -p thalweg \\\n\t\t--features lab-wal-locked\n";
    assert_eq!(in_makefile(made).len(), 1);
    assert!(in_makefile("serve: deps\n\t$(RELEASE) -p thalweg\n").is_empty());
}

#[test]
fn a_test_that_does_not_run_is_found() {
    let text = [
        "#[test]\n#[ignore = \"slow\"]\nfn a() {}\n",
        "#[cfg_attr(\n    not(x),\n    ignore\n)]\nfn b() {}\n",
        "#[cfg_attr(miri, ignore)] fn c() {}\n",
    ];
    assert_eq!(ignored(&text.concat()), [2, 4, 9]);
    let fine = "// #[ignore]\n#[cfg_attr(x, path = \"a.rs\")]\nignore(1);\n";
    assert!(ignored(fine).is_empty());
    let mut found = Vec::new();
    let mut none = Exceptions(BTreeMap::new());
    source::check("crates/x/tests/it/a.rs", "#[ignore]\n", &mut none, &mut found);
    assert_eq!(found.len(), 1);
}

#[test]
fn files_that_nothing_builds_are_told_from_those_that_cargo_finds() {
    for root in [
        "src/lib.rs",
        "src/main.rs",
        "src/bin/a.rs",
        "src/bin/a/main.rs",
        "tests/a.rs",
        "tests/it/main.rs",
        "build.rs",
    ] {
        assert!(is_root(root), "{root}");
    }
    for module in
        ["src/a.rs", "src/a/main.rs", "src/bin/a/b.rs", "tests/it/a.rs", "tests/it/a/main.rs"]
    {
        assert!(!is_root(module), "{module}");
    }
    let text = "mod a;\npub(crate) mod b;\n#[cfg(test)] mod c;\n// mod d;\nmod ff;\n";
    assert!(["a", "b", "ff"].iter().all(|name| declares(text, name)));
    assert!(["d", "f", "e"].iter().all(|name| !declares(text, name)));
}

#[test]
fn rooms_are_used_in_order() {
    let order =
        rooms::order("x\nOrder of use: page ← wal\n← {heap, btree} ← engine. Rooms …").unwrap();
    assert_eq!(order.len(), 5);
    let found = |within: &str, text: &str| rooms::uses_later(within, text, &order);
    let text = "use crate::page::Page;\nuse crate::engine::{Oids, other};\nuse crate::{btree, error, heap};\n\
                let x = crate::btree::y(crate::wal::z);\n// crate::engine\n\
                #[cfg(test)]\nmod tests {\n    use crate::engine::Engine;\n}\n";
    let uses = |found: Vec<(usize, String)>| -> Vec<String> {
        found.into_iter().map(|(line, path)| format!("{line} {path}")).collect()
    };
    assert_eq!(
        uses(found("heap/a.rs", text)),
        ["2 engine::Oids", "2 engine::other", "3 btree", "4 btree::y"]
    );
    assert!(found("engine.rs", text).is_empty() && found("heap/tests/a.rs", text).is_empty());
    assert_eq!(found("wal/a.rs", text).len(), 5);
    assert!(rooms::order("no such sentence").is_none());
}

#[test]
fn invariants_are_cited_and_have_letters_of_their_rooms() {
    let found = |readmes: &[&str], sources: &[&str], excused: &[&str]| {
        let named = |texts: &[&str], name: &str| -> Vec<(String, String)> {
            let texts = texts.iter().enumerate();
            texts.map(|(i, text)| (format!("{i}{name}"), (*text).to_owned())).collect()
        };
        let (readmes, sources) = (named(readmes, ".md"), named(sources, ".rs"));
        texts(&invariants::found(&readmes, &sources, |id, _| excused.contains(&id)))
    };
    let heap =
        "# heap\n- **H1** A version (B1).\n* **H12** Another.\n- **Free list**: no invariant.\n";
    assert_eq!(invariants::numbered(heap), ["H1", "H12"]);
    let sources =
        ["// A version (H1).\n", "assert!(x, \"invariant H12\"); // S3-FIFO, sH2, H_2, UTF8\n"];
    assert!(
        found(&[heap, "- **BF1** A frame.\n"], &[sources[0], sources[1], "/// BF1.\n"], &[])
            .is_empty()
    );
    assert_eq!(found(&[heap], &sources[..1], &[]), ["0.md: no assertion, check or test cites H12"]);
    assert!(found(&[heap], &sources[..1], &["H12"]).is_empty());
    assert_eq!(
        found(&[heap, "- **H2** A hash.\n"], &sources, &[]),
        ["1.md: H2: 0.md numbers its invariants by that, too"]
    );
    assert_eq!(
        found(&["- **H1** a\n- **H1** b\n"], &sources[..1], &[]),
        ["0.md: there are two invariants H1"]
    );
    assert_eq!(
        found(&[heap], &[sources[0], sources[1], "\n// H3.\n"], &[]),
        ["2.rs:2: there is no invariant H3"]
    );
}
