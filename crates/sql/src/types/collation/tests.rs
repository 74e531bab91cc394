use super::*;

fn rules(locale: &str, deterministic: bool) -> &'static Rules {
    Collation::icu(Oid(1), locale, deterministic).unwrap().rules().unwrap()
}

fn sorted<'w>(locale: &str, words: &[&'w str]) -> Vec<&'w str> {
    let rules = rules(locale, true);
    let mut words = words.to_vec();
    words.sort_by(|a, b| rules.compare(a, b));
    words
}

#[test]
fn locales_order_words_each_in_its_way() {
    assert_eq!(sorted("de", &["Zaun", "Äpfel", "Apfel", "az"]), ["Apfel", "Äpfel", "az", "Zaun"]);
    let phonebook = ["Ärger", "Adler", "Affe"];
    assert_eq!(sorted("de-u-co-phonebk", &phonebook), ["Adler", "Ärger", "Affe"]);
    assert_eq!(sorted("de@collation=phonebook", &phonebook), ["Adler", "Ärger", "Affe"]);
    assert_eq!(sorted("sv", &["ö", "z", "å", "ä"]), ["z", "å", "ä", "ö"]);
    assert_eq!(sorted("fr-CA", &["coté", "côte"]), ["côte", "coté"]);
    assert_eq!(sorted("fr_CA", &["coté", "côte"]), ["côte", "coté"]);
    assert_eq!(sorted("fr", &["côte", "coté"]), ["coté", "côte"]);
    assert_eq!(sorted("en-u-kn-true", &["a10", "a9"]), ["a9", "a10"]);
    assert_eq!(sorted("en@colNumeric=yes", &["a10", "a9"]), ["a9", "a10"]);
    assert_eq!(sorted("en-u-kf-upper", &["a", "A"]), ["A", "a"]);
    assert_eq!(sorted("en", &["A", "a"]), ["a", "A"]);
}

#[test]
fn only_loose_rules_find_different_texts_equal() {
    let (loose, strict) = (rules("und-u-ks-level2", false), rules("und-u-ks-level2", true));
    assert!(loose.equals("abc", "ABC") && loose.compare("abc", "ABC").is_eq());
    assert!(!strict.equals("abc", "ABC") && strict.compare("abc", "ABC").is_gt());
    assert!(!loose.equals("abc", "äbc"));
    // One letter and its accent, or both in one.
    assert!(rules("und", false).equals("a\u{308}", "ä"));
}

#[test]
fn keys_are_ordered_as_their_texts() {
    let words = [
        "",
        "a",
        "A",
        "ab",
        "ä",
        "z",
        "Z",
        "ß",
        "ss",
        "a b",
        "a-b",
        "10",
        "9",
        "日本",
        "ж",
        "\u{1f600}",
    ];
    for locale in ["und", "de", "sv", "cs", "fr-CA", "en-u-kn-true", "ja", "th"] {
        let rules = rules(locale, false);
        let key = |word: &str| {
            let mut key = Vec::new();
            rules.write_key(word, &mut key);
            assert!(!key.contains(&0), "{locale} {word}");
            key
        };
        for a in words {
            for b in words {
                assert_eq!(rules.compare(a, b), key(a).cmp(&key(b)), "{locale}: {a} {b}");
            }
        }
    }
}

#[test]
fn keys_are_those_of_their_version() {
    let mut all = Vec::new();
    for locale in ["und", "de-u-co-phonebk", "sv", "cs", "fr-CA", "zh", "ja", "en-u-kn-ka-shifted"]
    {
        for word in ["Straße", "côté", "Ärger", "chléb", "日本語", "한국", "a10-b", "Ω≈ç√∫", "ЖУК"]
        {
            rules(locale, true).write_key(word, &mut all);
        }
    }
    // What else would be here comes with another version: indexes have keys in them.
    assert_eq!(
        (RULES_VERSION, xxhash_rust::xxh3::xxh3_64(&all)),
        ("icu4x-2.4", 16_458_095_303_468_846_627)
    );
}

#[test]
fn what_has_no_rules_is_refused() {
    for locale in ["de-u-co-search", "de-u-kr-grek", "en-u-kb-true"] {
        let error = Collation::icu(Oid(1), locale, true).unwrap_err();
        assert_eq!(error.sqlstate(), crate::error::SqlState::FEATURE_NOT_SUPPORTED, "{locale}");
    }
    for locale in ["de-u-ks-level9", "not a locale", "en-u-kn-maybe"] {
        let error = Collation::icu(Oid(1), locale, true).unwrap_err();
        assert_eq!(error.sqlstate(), crate::error::SqlState::INVALID_PARAMETER_VALUE, "{locale}");
    }
}

#[test]
fn case_is_the_languages() {
    let (de, tr, el) = (rules("de", true), rules("tr", true), rules("el", true));
    assert_eq!((de.upper("straße"), de.lower("ÄÖ")), ("STRASSE".to_owned(), "äö".to_owned()));
    assert_eq!(
        (tr.upper("izmir"), tr.lower("ISPARTA")),
        ("İZMİR".to_owned(), "ısparta".to_owned())
    );
    assert_eq!(el.lower("ΣΑΣ"), "σας");
    assert_eq!(de.initcap("hällo WORLD, don't ßa"), "Hällo World, Don't Ssa");
}
