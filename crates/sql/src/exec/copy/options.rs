//! COPY's options, checked as PostgreSQL checks them.

use syntax::ast::{CopyDirection, DefOption, OptionValue};

use crate::error::{Result, SqlError, bail, sql_error};
use crate::options::boolean;
use crate::types::Encoding;

/// Which of the formats.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Text,
    Csv,
    Binary,
}

/// What the first line is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Header {
    No,
    /// Column names, skipped when read.
    Yes,
    /// Column names that must be the table's.
    Match,
}

/// The columns that a FORCE_… option names.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Columns {
    #[default]
    None,
    All,
    Named(Vec<Box<str>>),
}

/// A checked set of options.
#[derive(Clone, Debug)]
pub struct CopyFormat {
    pub kind: Kind,
    pub delimiter: u8,
    /// How a null is written.
    pub null: Vec<u8>,
    pub header: Header,
    pub quote: u8,
    pub escape: u8,
    pub force_quote: Columns,
    pub force_not_null: Columns,
    pub force_null: Columns,
    pub freeze: bool,
    /// Of texts; `None` is the client's.
    pub encoding: Option<Encoding>,
}

/// The options as they were given.
#[derive(Default)]
struct Given {
    format: Option<Kind>,
    delimiter: Option<String>,
    null: Option<String>,
    header: Option<Header>,
    quote: Option<String>,
    escape: Option<String>,
    force_quote: Option<Columns>,
    force_not_null: Option<Columns>,
    force_null: Option<Columns>,
    freeze: Option<bool>,
    encoding: Option<Encoding>,
}

impl CopyFormat {
    /// Checks the options of a statement.
    pub fn from_options(options: &[DefOption], direction: CopyDirection) -> Result<CopyFormat> {
        let mut given = Given::default();
        for option in options {
            given.take(option).map_err(|e| match option.loc.offset() {
                Some(offset) => e.at(offset),
                None => e,
            })?;
        }
        given.check(direction)
    }
}

fn set<T>(place: &mut Option<T>, value: T) -> Result<()> {
    if place.replace(value).is_some() {
        return Err(sql_error!(SYNTAX_ERROR, "conflicting or redundant options"));
    }
    Ok(())
}

fn text(option: &DefOption) -> Result<String> {
    match &option.value {
        Some(OptionValue::String(text)) => Ok(text.to_string()),
        Some(OptionValue::Integer(n)) => Ok(n.to_string()),
        Some(OptionValue::Numeric(n)) => Ok(n.to_string()),
        Some(OptionValue::Bool(b)) => Ok(b.to_string()),
        _ => Err(sql_error!(SYNTAX_ERROR, "{} requires a parameter", option.name)),
    }
}

fn columns(option: &DefOption) -> Result<Columns> {
    match &option.value {
        Some(OptionValue::Star) => Ok(Columns::All),
        Some(OptionValue::List(list)) => {
            let name = |v: &OptionValue| match v {
                OptionValue::String(name) => Ok(name.clone()),
                _ => Err(not_columns(option)),
            };
            Ok(Columns::Named(list.iter().map(name).collect::<Result<_>>()?))
        }
        _ => Err(not_columns(option)),
    }
}

fn not_columns(option: &DefOption) -> SqlError {
    sql_error!(
        INVALID_PARAMETER_VALUE,
        "argument to option \"{}\" must be a list of column names",
        option.name
    )
}

impl Given {
    fn take(&mut self, option: &DefOption) -> Result<()> {
        match &*option.name {
            "format" => {
                let kind = match text(option)?.as_str() {
                    "text" => Kind::Text,
                    "csv" => Kind::Csv,
                    "binary" => Kind::Binary,
                    other => {
                        return Err(sql_error!(
                            INVALID_PARAMETER_VALUE,
                            "COPY format \"{other}\" not recognized"
                        ));
                    }
                };
                set(&mut self.format, kind)
            }
            "freeze" => set(&mut self.freeze, boolean(option)?),
            "delimiter" => set(&mut self.delimiter, text(option)?),
            "null" => set(&mut self.null, text(option)?),
            "header" => {
                let matches = matches!(&option.value, Some(OptionValue::String(s)) if s.eq_ignore_ascii_case("match"));
                let header = match matches {
                    true => Header::Match,
                    false if boolean(option).map_err(|_| bad_header(option))? => Header::Yes,
                    false => Header::No,
                };
                set(&mut self.header, header)
            }
            "quote" => set(&mut self.quote, text(option)?),
            "escape" => set(&mut self.escape, text(option)?),
            "force_quote" => set(&mut self.force_quote, columns(option)?),
            "force_not_null" => set(&mut self.force_not_null, columns(option)?),
            "force_null" => set(&mut self.force_null, columns(option)?),
            "encoding" => {
                let name = text(option)?;
                let encoding = match (Encoding::by_name(&name), Encoding::unsupported(&name)) {
                    (Some(encoding), _) => encoding,
                    (None, Some(name)) => {
                        return Err(sql_error!(
                            FEATURE_NOT_SUPPORTED,
                            "COPY with encoding \"{name}\" is not supported"
                        ));
                    }
                    (None, None) => {
                        return Err(sql_error!(
                            INVALID_PARAMETER_VALUE,
                            "argument to option \"encoding\" must be a valid encoding name"
                        ));
                    }
                };
                set(&mut self.encoding, encoding)
            }
            other => Err(sql_error!(SYNTAX_ERROR, "option \"{other}\" not recognized")),
        }
    }

    /// What binary copies have nothing to do with.
    fn check_binary(&self) -> Result<()> {
        for (given, name) in
            [(self.delimiter.is_some(), "DELIMITER"), (self.null.is_some(), "NULL")]
        {
            if given {
                return Err(sql_error!(SYNTAX_ERROR, "cannot specify {name} in BINARY mode"));
            }
        }
        if self.header.is_some_and(|header| header != Header::No) {
            bail!(FEATURE_NOT_SUPPORTED, "cannot specify HEADER in BINARY mode");
        }
        Ok(())
    }

    fn check(self, direction: CopyDirection) -> Result<CopyFormat> {
        let kind = self.format.unwrap_or(Kind::Text);
        let csv = kind == Kind::Csv;
        let only_csv = |given: bool, what: &str| match given && !csv {
            true => {
                Err(sql_error!(FEATURE_NOT_SUPPORTED, "COPY {what} available only in CSV mode"))
            }
            false => Ok(()),
        };
        if kind == Kind::Binary {
            self.check_binary()?;
        }
        let delimiter =
            one_byte(self.delimiter.as_deref(), if csv { "," } else { "\t" }, "delimiter")?;
        let null = self.null.unwrap_or_else(|| if csv { String::new() } else { "\\N".to_owned() });
        if null.contains(['\r', '\n']) {
            return Err(sql_error!(
                INVALID_PARAMETER_VALUE,
                "COPY null representation cannot use newline or carriage return"
            ));
        }
        if matches!(delimiter, b'\r' | b'\n') {
            return Err(sql_error!(
                INVALID_PARAMETER_VALUE,
                "COPY delimiter cannot be newline or carriage return"
            ));
        }
        if !csv && b"\\.abcdefghijklmnopqrstuvwxyz0123456789".contains(&delimiter) {
            return Err(sql_error!(
                INVALID_PARAMETER_VALUE,
                "COPY delimiter cannot be \"{}\"",
                char::from(delimiter)
            ));
        }
        only_csv(self.quote.is_some(), "quote")?;
        only_csv(self.escape.is_some(), "escape")?;
        only_csv(self.force_quote.is_some(), "force quote")?;
        only_csv(self.force_not_null.is_some(), "force not null")?;
        only_csv(self.force_null.is_some(), "force null")?;
        let quote = one_byte(self.quote.as_deref(), "\"", "quote")?;
        let escape = match self.escape {
            Some(escape) => one_byte(Some(&escape), "\"", "escape")?,
            None => quote,
        };
        if csv && delimiter == quote {
            return Err(sql_error!(
                INVALID_PARAMETER_VALUE,
                "COPY delimiter and quote must be different"
            ));
        }
        let reading = direction == CopyDirection::From;
        let wrong_way = |given: bool, what: &str, way: &str| match given {
            true => Err(sql_error!(
                FEATURE_NOT_SUPPORTED,
                "COPY {what} only available using COPY {way}"
            )),
            false => Ok(()),
        };
        wrong_way(self.force_quote.is_some() && reading, "force quote", "TO")?;
        wrong_way(self.force_not_null.is_some() && !reading, "force not null", "FROM")?;
        wrong_way(self.force_null.is_some() && !reading, "force null", "FROM")?;
        if self.header == Some(Header::Match) && !reading {
            bail!(FEATURE_NOT_SUPPORTED, "cannot use \"match\" with HEADER in COPY TO");
        }
        if null.as_bytes().contains(&delimiter) {
            return Err(sql_error!(
                INVALID_PARAMETER_VALUE,
                "COPY delimiter must not appear in the NULL specification"
            ));
        }
        if csv && null.as_bytes().contains(&quote) {
            return Err(sql_error!(
                INVALID_PARAMETER_VALUE,
                "CSV quote character must not appear in the NULL specification"
            ));
        }
        Ok(CopyFormat {
            kind,
            delimiter,
            null: null.into_bytes(),
            header: self.header.unwrap_or(Header::No),
            quote,
            escape,
            force_quote: self.force_quote.unwrap_or_default(),
            force_not_null: self.force_not_null.unwrap_or_default(),
            force_null: self.force_null.unwrap_or_default(),
            freeze: self.freeze.unwrap_or(false),
            encoding: self.encoding,
        })
    }
}

fn bad_header(option: &DefOption) -> SqlError {
    sql_error!(SYNTAX_ERROR, "{} requires a Boolean value or \"match\"", option.name)
}

fn one_byte(given: Option<&str>, default: &str, what: &str) -> Result<u8> {
    match given.unwrap_or(default).as_bytes() {
        [byte] => Ok(*byte),
        _ => Err(sql_error!(
            INVALID_PARAMETER_VALUE,
            "COPY {what} must be a single one-byte character"
        )),
    }
}
