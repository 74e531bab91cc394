//! Locales of ICU collations: BCP 47 tags with `-u-` extensions, and ICU's older form with keywords behind an `@`.

use icu_collator::options::{AlternateHandling, CaseLevel, CollatorOptions, MaxVariable, Strength};
use icu_collator::{CollatorBorrowed, CollatorPreferences};
use icu_locale_core::extensions::unicode::{Key, Value};
use icu_locale_core::{LanguageIdentifier, Locale};

use crate::error::{Result, SqlError, sql_error};

/// The kinds of collation that there are rules of; a locale that has none of a kind has its standard one.
const KINDS: &[&str] = &[
    "compat", "dict", "ducet", "emoji", "eor", "phonebk", "phonetic", "pinyin", "standard",
    "stroke", "trad", "unihan", "zhuyin",
];

/// The names that keywords and their values have in the older form, and those in tags. Keywords of no concern to
/// collations are not among them.
const KEYWORDS: &[(&str, &str, Pairs)] = &[
    (
        "collation",
        "co",
        &[("dictionary", "dict"), ("phonebook", "phonebk"), ("traditional", "trad")],
    ),
    (
        "colstrength",
        "ks",
        &[
            ("primary", "level1"),
            ("secondary", "level2"),
            ("tertiary", "level3"),
            ("quaternary", "level4"),
            ("quarternary", "level4"),
            ("identical", "identic"),
        ],
    ),
    ("colalternate", "ka", &[("non-ignorable", "noignore")]),
    ("colbackwards", "kb", YES_NO),
    ("colcaselevel", "kc", YES_NO),
    ("colcasefirst", "kf", &[("no", "false")]),
    ("colnormalization", "kk", YES_NO),
    ("colnumeric", "kn", YES_NO),
    ("colreorder", "kr", &[]),
    ("kv", "kv", &[]),
    ("va", "va", &[]),
];

type Pairs = &'static [(&'static str, &'static str)];

const YES_NO: Pairs = &[("yes", "true"), ("no", "false")];

/// The collator of a locale, and its language.
pub(super) fn open(locale: &str) -> Result<(CollatorBorrowed<'static>, LanguageIdentifier)> {
    let mut parsed: Locale = tag(locale).parse().map_err(|_| bad(locale))?;
    let is_posix =
        |(key, value): (&Key, &Value)| key.as_str() == "va" && value.to_string() == "posix";
    // The rules are there under the variant's name.
    if parsed.extensions.unicode.keywords.iter().any(is_posix) {
        parsed = format!("{}-posix", parsed.id).parse().map_err(|_| bad(locale))?;
    }
    let options = options(&parsed, locale)?;
    let collator = CollatorBorrowed::try_new(CollatorPreferences::from(&parsed), options)
        .map_err(|_| bad(locale))?;
    Ok((collator, parsed.id))
}

/// The locale as a BCP 47 tag.
fn tag(locale: &str) -> String {
    let (base, keywords) = locale.split_once('@').unwrap_or((locale, ""));
    let mut tag = match base {
        "" | "root" => "und".to_owned(),
        base => base.replace('_', "-"),
    };
    let mut extension = Vec::new();
    for keyword in keywords.split(';') {
        let (name, value) = keyword.split_once('=').unwrap_or((keyword, ""));
        let name = name.trim().to_ascii_lowercase();
        let known = KEYWORDS.iter().find(|(old, new, _)| *old == name || *new == name);
        if let Some((_, key, values)) = known {
            let value = value.trim().to_ascii_lowercase();
            let new = values.iter().find(|(old, _)| *old == value);
            extension.push(format!("-{key}-{}", new.map_or(&*value, |(_, new)| new)));
        }
    }
    if !extension.is_empty() {
        if !tag.contains("-u-") {
            tag.push_str("-u");
        }
        tag.push_str(&extension.concat());
    }
    tag
}

/// What a locale's extension says that the collator is told apart from the locale.
fn options(parsed: &Locale, locale: &str) -> Result<CollatorOptions> {
    let mut options = CollatorOptions::default();
    for (key, value) in parsed.extensions.unicode.keywords.iter() {
        let value = value.to_string();
        let value = if value.is_empty() { "true" } else { &value };
        match (key.as_str(), value) {
            ("ks", "level1") => options.strength = Some(Strength::Primary),
            ("ks", "level2") => options.strength = Some(Strength::Secondary),
            ("ks", "level3") => options.strength = Some(Strength::Tertiary),
            ("ks", "level4") => options.strength = Some(Strength::Quaternary),
            ("ks", "identic") => options.strength = Some(Strength::Identical),
            ("ka", "noignore") => {
                options.alternate_handling = Some(AlternateHandling::NonIgnorable);
            }
            ("ka", "shifted") => options.alternate_handling = Some(AlternateHandling::Shifted),
            ("kc", "true") => options.case_level = Some(CaseLevel::On),
            ("kc", "false") => options.case_level = Some(CaseLevel::Off),
            ("kv", "space") => options.max_variable = Some(MaxVariable::Space),
            ("kv", "punct") => options.max_variable = Some(MaxVariable::Punctuation),
            ("kv", "symbol") => options.max_variable = Some(MaxVariable::Symbol),
            ("kv", "currency") => options.max_variable = Some(MaxVariable::Currency),
            // These the collator finds in the locale.
            ("kn", "true" | "false") | ("kf", "upper" | "lower" | "false") => {}
            ("co", kind) if KINDS.contains(&kind) => {}
            // Texts are always compared as if normalized.
            ("kk", "true" | "false") => {}
            ("kb", "false") if !is_canadian(parsed) => {}
            ("kb", "true") if is_canadian(parsed) => {}
            ("co" | "kb" | "kr" | "kh" | "vt", _) => {
                return Err(sql_error!(
                    FEATURE_NOT_SUPPORTED,
                    "ICU locale \"{locale}\" is not supported"
                )
                .with_detail(format!("There are no rules for \"{key}-{value}\".")));
            }
            ("ks" | "ka" | "kc" | "kv" | "kn" | "kf" | "kk", _) => return Err(bad(locale)),
            _ => {}
        }
    }
    Ok(options)
}

/// The one locale whose rules look at accents from the end.
fn is_canadian(locale: &Locale) -> bool {
    locale.id.language.as_str() == "fr"
        && locale.id.region.is_some_and(|region| region.as_str() == "CA")
}

fn bad(locale: &str) -> SqlError {
    sql_error!(
        INVALID_PARAMETER_VALUE,
        "could not open collator for locale \"{locale}\": U_ILLEGAL_ARGUMENT_ERROR"
    )
}
