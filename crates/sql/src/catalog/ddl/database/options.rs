//! The options of CREATE DATABASE and ALTER DATABASE.

use syntax::ast::{DefOption, OptionValue};

use crate::bind::at;
use crate::error::{Result, bail, sql_error};
use crate::options;

/// Options as given; `None` is the default.
#[derive(Default)]
pub(super) struct Options {
    pub template: Option<Box<str>>,
    pub owner: Option<Box<str>>,
    pub encoding: Option<Encoding>,
    pub collate: Option<Box<str>>,
    pub ctype: Option<Box<str>>,
    pub tablespace: Option<Box<str>>,
    pub strategy: Option<Box<str>>,
    pub provider: Option<Box<str>>,
    pub is_template: Option<bool>,
    pub allow_connections: Option<bool>,
    pub connection_limit: Option<i32>,
}

/// A character encoding.
pub(super) enum Encoding {
    Utf8,
    /// Another that PostgreSQL knows.
    Other(Box<str>),
}

/// What CREATE DATABASE knows, and whether ALTER DATABASE does.
const KNOWN: &[(&str, bool)] = &[
    ("template", false),
    ("owner", false),
    ("encoding", false),
    ("locale", false),
    ("lc_collate", false),
    ("lc_ctype", false),
    ("locale_provider", false),
    ("icu_locale", false),
    ("collation_version", false),
    ("tablespace", true),
    ("strategy", false),
    ("oid", false),
    ("is_template", true),
    ("allow_connections", true),
    ("connection_limit", true),
];

impl Options {
    /// Reads the list of CREATE DATABASE, or of ALTER DATABASE.
    pub fn read(list: &[DefOption], alter: bool) -> Result<Options> {
        let mut options = Options::default();
        for (i, option) in list.iter().enumerate() {
            let known = KNOWN.iter().find(|(name, _)| *name == &*option.name);
            if !known.is_some_and(|(_, of_alter)| *of_alter || !alter) {
                let error = sql_error!(SYNTAX_ERROR, "option \"{}\" not recognized", option.name);
                return Err(at(error, option.loc));
            }
            if list[..i].iter().any(|before| before.name == option.name) {
                let error = sql_error!(SYNTAX_ERROR, "conflicting or redundant options");
                return Err(at(error, option.loc));
            }
            options.take(option)?;
        }
        // LOCALE sets both where they are not set by themselves.
        if let Some(locale) = list.iter().find(|option| &*option.name == "locale") {
            let word = text(locale)?;
            options.collate = options.collate.or_else(|| word.clone());
            options.ctype = options.ctype.or(word);
        }
        Ok(options)
    }

    fn take(&mut self, option: &DefOption) -> Result<()> {
        match &*option.name {
            "template" => self.template = text(option)?,
            "owner" => self.owner = text(option)?,
            "encoding" => self.encoding = encoding(option)?,
            "lc_collate" => self.collate = text(option)?,
            "lc_ctype" => self.ctype = text(option)?,
            "tablespace" => self.tablespace = text(option)?,
            "strategy" => self.strategy = text(option)?,
            "locale_provider" => self.provider = text(option)?,
            "is_template" => self.is_template = boolean(option)?,
            "allow_connections" => self.allow_connections = boolean(option)?,
            "connection_limit" => self.connection_limit = limit(option)?,
            "icu_locale" | "collation_version" | "oid" => {
                bail!(FEATURE_NOT_SUPPORTED, "option \"{}\" is not supported", option.name)
            }
            _ => {}
        }
        Ok(())
    }
}

/// A word or a number as text; `None` is DEFAULT.
fn text(option: &DefOption) -> Result<Option<Box<str>>> {
    Ok(match &option.value {
        None => None,
        Some(OptionValue::String(text)) => Some(text.clone()),
        Some(OptionValue::Integer(number)) => Some(number.to_string().into()),
        Some(_) => bail!(SYNTAX_ERROR, "{} requires a parameter", option.name),
    })
}

fn boolean(option: &DefOption) -> Result<Option<bool>> {
    option.value.as_ref().map(|_| options::boolean(option)).transpose()
}

fn limit(option: &DefOption) -> Result<Option<i32>> {
    let number = match &option.value {
        None => return Ok(None),
        Some(OptionValue::Integer(number)) => i32::try_from(*number).ok(),
        Some(_) => None,
    };
    match number {
        Some(limit) if limit >= -1 => Ok(Some(limit)),
        Some(limit) => bail!(INVALID_PARAMETER_VALUE, "invalid connection limit: {limit}"),
        None => bail!(SYNTAX_ERROR, "{} requires an integer value", option.name),
    }
}

/// `pg_database.encoding` of UTF8.
const UTF8: i64 = 6;

/// Server encodings of PostgreSQL, as compared: small letters and digits only.
const OTHER_ENCODINGS: &[&str] = &[
    "sqlascii",
    "eucjp",
    "euccn",
    "euckr",
    "euctw",
    "eucjis2004",
    "muleinternal",
    "latin1",
    "iso88591",
    "latin2",
    "iso88592",
    "latin3",
    "iso88593",
    "latin4",
    "iso88594",
    "latin5",
    "iso88599",
    "latin6",
    "iso885910",
    "latin7",
    "iso885913",
    "latin8",
    "iso885914",
    "latin9",
    "iso885915",
    "latin10",
    "iso885916",
    "win1250",
    "windows1250",
    "win1251",
    "windows1251",
    "win1252",
    "windows1252",
    "win1253",
    "windows1253",
    "win1254",
    "windows1254",
    "win1255",
    "windows1255",
    "win1256",
    "windows1256",
    "win1257",
    "windows1257",
    "win1258",
    "windows1258",
    "win866",
    "alt",
    "win874",
    "windows874",
    "koi8r",
    "koi8",
    "koi8u",
    "iso88595",
    "iso88596",
    "iso88597",
    "iso88598",
];

fn encoding(option: &DefOption) -> Result<Option<Encoding>> {
    let name = match &option.value {
        None => return Ok(None),
        Some(OptionValue::Integer(UTF8)) => return Ok(Some(Encoding::Utf8)),
        Some(OptionValue::Integer(code)) => {
            let error = sql_error!(UNDEFINED_OBJECT, "{code} is not a valid encoding code");
            return Err(at(error, option.loc));
        }
        Some(OptionValue::String(name)) => name,
        Some(_) => bail!(SYNTAX_ERROR, "encoding requires a parameter"),
    };
    let plain: String = name.chars().filter(char::is_ascii_alphanumeric).collect();
    match &*plain.to_ascii_lowercase() {
        "utf8" | "unicode" => Ok(Some(Encoding::Utf8)),
        other if OTHER_ENCODINGS.contains(&other) => Ok(Some(Encoding::Other(name.clone()))),
        _ => {
            let error = sql_error!(UNDEFINED_OBJECT, "{name} is not a valid encoding name");
            Err(at(error, option.loc))
        }
    }
}
