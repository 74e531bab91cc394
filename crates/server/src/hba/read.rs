//! Reading `pg_hba.conf`: a line for each rule, of words that blanks separate, and commas where there are several.

use std::net::IpAddr;

use super::{Addresses, Method, Name, Rule, Way};

/// A word, and whether it stood in quotes: keywords do not.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Word {
    text: String,
    is_quoted: bool,
}

impl Word {
    /// What it says, if it may be a keyword.
    fn keyword(&self) -> Option<&str> {
        (!self.is_quoted).then_some(&*self.text)
    }
}

/// The words between two blanks.
type Field = Vec<Word>;

/// The rules that a file has.
///
/// # Errors
/// One sentence: which line is wrong, and why.
pub(super) fn rules(text: &str) -> Result<Vec<Rule>, String> {
    let mut rules = Vec::new();
    let mut lines = text.lines().enumerate();
    while let Some((number, line)) = lines.next() {
        let mut whole = line.to_owned();
        // A backslash at its end joins it to the next.
        while let Some(joined) = whole.strip_suffix('\\').map(str::to_owned) {
            whole = joined + lines.next().map_or("", |(_, more)| more);
        }
        let rule = fields(&whole)
            .and_then(|fields| if fields.is_empty() { Ok(None) } else { rule(&fields).map(Some) });
        rules.extend(rule.map_err(|why| format!("line {}: {why}", number + 1))?);
    }
    Ok(rules)
}

fn rule(fields: &[Field]) -> Result<Rule, String> {
    let mut fields = fields.iter();
    let mut next = |what: &str| fields.next().ok_or_else(|| format!("it ends before {what}"));
    let way = way(single(next("the connection type")?)?)?;
    let databases = next("the databases")?.iter().map(database).collect::<Result<_, _>>()?;
    let users = next("the users")?.iter().map(user).collect::<Result<_, _>>()?;
    let addresses = match way {
        Way::Local => Addresses::All,
        _ => {
            let word = single(next("the address")?)?;
            match addresses(word)? {
                Some(addresses) => addresses,
                None => {
                    let mask = single(next("the mask")?)?;
                    masked(address(&word.text)?, &mask.text)?
                }
            }
        }
    };
    let method = method(single(next("the method")?)?, way)?;
    if let Some(option) = fields.next().and_then(|option| option.first()) {
        return Err(format!("the option \"{}\" is not supported", option.text));
    }
    Ok(Rule { way, databases, users, addresses, method })
}

fn single(field: &Field) -> Result<&Word, String> {
    match &field[..] {
        [word] => Ok(word),
        _ => Err("there is a list where one word belongs".to_owned()),
    }
}

fn way(word: &Word) -> Result<Way, String> {
    Ok(match &*word.text {
        "local" => Way::Local,
        "host" | "hostnogssenc" => Way::Host,
        "hostssl" => Way::Encrypted,
        "hostnossl" => Way::Open,
        "hostgssenc" => Way::Never,
        other => return Err(format!("there is no connection type \"{other}\"")),
    })
}

fn database(word: &Word) -> Result<Name, String> {
    Ok(match word.keyword() {
        Some("all") => Name::All,
        Some("sameuser") => Name::SameUser,
        Some("replication") => Name::Nobody,
        Some("samerole" | "samegroup") => Name::SameRole,
        Some(file) if file.starts_with('@') => return Err(unsupported(word)),
        _ => Name::Is(word.text.clone()),
    })
}

fn user(word: &Word) -> Result<Name, String> {
    Ok(match word.keyword() {
        Some("all") => Name::All,
        Some(file) if file.starts_with('@') => return Err(unsupported(word)),
        Some(role) if role.starts_with('+') => Name::In(role[1..].to_owned()),
        _ => Name::Is(word.text.clone()),
    })
}

fn unsupported(word: &Word) -> String {
    format!("\"{}\" is not supported", word.text)
}

/// The addresses that one word means; `None` where a mask has to follow.
fn addresses(word: &Word) -> Result<Option<Addresses>, String> {
    match word.keyword() {
        Some("all") => return Ok(Some(Addresses::All)),
        Some("samehost") => return Ok(Some(Addresses::SameHost)),
        Some("samenet") => return Err(unsupported(word)),
        _ => {}
    }
    let Some((net, bits)) = word.text.split_once('/') else { return Ok(None) };
    let net = address(net)?;
    let most = if net.is_ipv4() { 32 } else { 128 };
    let bits = bits.parse().ok().filter(|bits| *bits <= most);
    let bits =
        bits.ok_or_else(|| format!("\"{}\" has no number of bits that it can have", word.text))?;
    Ok(Some(Addresses::Net(net, bits)))
}

fn address(text: &str) -> Result<IpAddr, String> {
    text.parse().map_err(|_| format!("\"{text}\" is no address; names of hosts are not supported"))
}

fn masked(net: IpAddr, mask: &str) -> Result<Addresses, String> {
    let wrong = || format!("\"{mask}\" is no mask for \"{net}\"");
    let (ones, zeros) = match (net, mask.parse().map_err(|_| wrong())?) {
        (IpAddr::V4(_), IpAddr::V4(mask)) => {
            (mask.to_bits().leading_ones(), mask.to_bits().count_zeros())
        }
        (IpAddr::V6(_), IpAddr::V6(mask)) => {
            (mask.to_bits().leading_ones(), mask.to_bits().count_zeros())
        }
        _ => return Err(wrong()),
    };
    let bits = if net.is_ipv4() { 32 } else { 128 };
    if ones + zeros != bits { Err(wrong()) } else { Ok(Addresses::Net(net, ones as u8)) }
}

fn method(word: &Word, way: Way) -> Result<Method, String> {
    Ok(match &*word.text {
        "trust" => Method::Trust,
        "reject" => Method::Reject,
        // What PostgreSQL does, too, where the password is kept as SCRAM wants it.
        "scram-sha-256" | "md5" => Method::Scram,
        "peer" if way == Way::Local => Method::Peer,
        "peer" => return Err("\"peer\" is for local connections only".to_owned()),
        _ => return Err(format!("the method {}", unsupported(word))),
    })
}

/// Splits a line; what follows a `#` is none of it.
fn fields(line: &str) -> Result<Vec<Field>, String> {
    let mut fields = vec![Field::new()];
    // A comma has come since the last word.
    let mut goes_on = false;
    let mut rest = line.trim_start();
    while let Some(first) = rest.chars().next().filter(|first| *first != '#') {
        if first == ',' {
            (goes_on, rest) = (true, rest[1..].trim_start());
            continue;
        }
        let (word, behind) = word(rest)?;
        if !goes_on && !fields.last().is_some_and(Field::is_empty) {
            fields.push(Field::new());
        }
        fields.last_mut().expect("there is one from the beginning").push(word);
        goes_on = false;
        rest = behind.trim_start();
    }
    fields.retain(|field| !field.is_empty());
    Ok(fields)
}

/// The word at the front, and what is behind it.
fn word(line: &str) -> Result<(Word, &str), String> {
    let mut word = Word { text: String::new(), is_quoted: line.starts_with('"') };
    let mut within = false;
    let mut characters = line.char_indices().peekable();
    while let Some((at, character)) = characters.next() {
        match character {
            '"' if within && characters.next_if(|(_, next)| *next == '"').is_some() => {
                word.text.push('"');
            }
            '"' => within = !within,
            ',' | '#' if !within => return Ok((word, &line[at..])),
            blank if !within && blank.is_whitespace() => return Ok((word, &line[at..])),
            other => word.text.push(other),
        }
    }
    if within { Err("a quotation mark has no other".to_owned()) } else { Ok((word, "")) }
}
