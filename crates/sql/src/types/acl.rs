//! Access lists: who may do what with an object (`aclitem`, `aclitem[]`).
//!
//! A value of type `aclitem` is kept as text with the roles' OIDs in the place of their names, `#16385=r*w/#10`, so that
//! it outlives names. No role's name stands in an item like this, as one that begins with `#` is quoted. What is
//! shown, and read, has names: `ann=r*w/postgres`.

use super::{Array, Datum, Names, Oid, TypeId};
use crate::error::{Result, bail, sql_error};
use syntax::deparse::quote_ident;

/// A set of privileges.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Privileges(u16);

/// In the order of their bits, which is that in which they are shown.
const LETTERS: &[u8] = b"arwdDxtXUCTcsA";

/// Likewise their words.
const WORDS: [&str; 14] = [
    "INSERT",
    "SELECT",
    "UPDATE",
    "DELETE",
    "TRUNCATE",
    "REFERENCES",
    "TRIGGER",
    "EXECUTE",
    "USAGE",
    "CREATE",
    "TEMPORARY",
    "CONNECT",
    "SET",
    "ALTER SYSTEM",
];

impl Privileges {
    pub const NONE: Privileges = Privileges(0);
    pub const INSERT: Privileges = Privileges(1);
    pub const SELECT: Privileges = Privileges(1 << 1);
    pub const UPDATE: Privileges = Privileges(1 << 2);
    pub const DELETE: Privileges = Privileges(1 << 3);
    pub const TRUNCATE: Privileges = Privileges(1 << 4);
    pub const REFERENCES: Privileges = Privileges(1 << 5);
    pub const TRIGGER: Privileges = Privileges(1 << 6);
    pub const EXECUTE: Privileges = Privileges(1 << 7);
    pub const USAGE: Privileges = Privileges(1 << 8);
    pub const CREATE: Privileges = Privileges(1 << 9);
    pub const TEMPORARY: Privileges = Privileges(1 << 10);
    pub const CONNECT: Privileges = Privileges(1 << 11);
    pub const SET: Privileges = Privileges(1 << 12);
    pub const ALTER_SYSTEM: Privileges = Privileges(1 << 13);
    /// All there are of a table, of a column, of a sequence.
    pub const OF_TABLE: Privileges = Privileges(0x7f);
    pub const OF_COLUMN: Privileges = Privileges(0b10_0111);
    pub const OF_SEQUENCE: Privileges = Privileges(1 << 1 | 1 << 2 | 1 << 8);
    /// Those that only superusers have of a table of the system.
    pub const CHANGES: Privileges = Privileges(0b1_1101 | 1 << 8);

    pub const fn or(self, other: Privileges) -> Privileges {
        Privileges(self.0 | other.0)
    }

    pub const fn and(self, other: Privileges) -> Privileges {
        Privileges(self.0 & other.0)
    }

    pub const fn without(self, other: Privileges) -> Privileges {
        Privileges(self.0 & !other.0)
    }

    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Whether all of `other` are among them.
    pub const fn has(self, other: Privileges) -> bool {
        self.0 & other.0 == other.0
    }

    pub const fn count(self) -> u32 {
        self.0.count_ones()
    }

    /// Each by itself, in the order of their bits.
    pub fn each(self) -> impl Iterator<Item = Privileges> {
        (0..WORDS.len()).map(|bit| Privileges(1 << bit)).filter(move |one| self.has(*one))
    }

    /// The word of one.
    pub fn word(self) -> &'static str {
        WORDS[self.0.trailing_zeros() as usize]
    }

    /// One by its word, in any case.
    pub fn by_word(word: &str) -> Option<Privileges> {
        if word.eq_ignore_ascii_case("temp") {
            return Some(Privileges::TEMPORARY);
        }
        let at = WORDS.iter().position(|known| known.eq_ignore_ascii_case(word))?;
        Some(Privileges(1 << at))
    }

    fn by_letter(letter: u8) -> Option<Privileges> {
        LETTERS.iter().position(|known| *known == letter).map(|bit| Privileges(1 << bit))
    }
}

/// What one role has given another.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct AclItem {
    /// Invalid: everybody.
    pub grantee: Oid,
    pub grantor: Oid,
    pub privileges: Privileges,
    /// Those that the grantee may give to others.
    pub options: Privileges,
}

impl AclItem {
    /// As it is kept.
    pub fn stored(&self) -> String {
        let grantee = match self.grantee.is_valid() {
            true => format!("#{}", self.grantee.0),
            false => String::new(),
        };
        format!("{grantee}={}/#{}", self.letters(), self.grantor.0)
    }

    fn letters(&self) -> String {
        let mut letters = String::new();
        for (bit, letter) in LETTERS.iter().enumerate() {
            let one = Privileges(1 << bit);
            if self.privileges.has(one) {
                letters.push(char::from(*letter));
            }
            if self.options.has(one) {
                letters.push('*');
            }
        }
        letters
    }

    /// What [`AclItem::stored`] has written; `None` for what has names.
    pub fn from_stored(text: &str) -> Option<AclItem> {
        let (grantee, rest) = text.split_once('=')?;
        let (letters, grantor) = rest.split_once('/')?;
        let role = |text: &str| text.strip_prefix('#')?.parse().ok().map(Oid);
        let grantee = if grantee.is_empty() { Oid::INVALID } else { role(grantee)? };
        let (privileges, options) = read_letters(letters).ok()?;
        Some(AclItem { grantee, grantor: role(grantor)?, privileges, options })
    }

    /// As it is shown.
    pub fn shown(&self, names: &dyn Names) -> Result<String> {
        let grantee = match self.grantee.is_valid() {
            true => role_name(names, self.grantee)?,
            false => String::new(),
        };
        Ok(format!("{grantee}={}/{}", self.letters(), role_name(names, self.grantor)?))
    }

    /// Reads what is shown. Who does not say who gave it means the role that made the directory.
    pub fn parse(text: &str, names: &dyn Names) -> Result<AclItem> {
        let role_of = |name: &str| match name.is_empty() {
            true => Ok(Oid::INVALID),
            false => names.object_by_name(TypeId::REGROLE, &quote_ident(name)),
        };
        AclItem::parse_with(text, &role_of)
    }

    /// Likewise, where roles are found by `role_of`.
    pub fn parse_with(text: &str, role_of: &dyn Fn(&str) -> Result<Oid>) -> Result<AclItem> {
        if let Some(stored) = AclItem::from_stored(text) {
            return Ok(stored);
        }
        let (name, mut rest) = read_name(text)?;
        let mut grantee = name;
        if !rest.starts_with('=') && !matches!(&*grantee, "group" | "user") {
            let text = format!("unrecognized key word: \"{grantee}\"");
            return Err(sql_error!(INVALID_TEXT_REPRESENTATION, "{text}")
                .with_hint("ACL key word must be \"group\" or \"user\"."));
        }
        if !rest.starts_with('=') {
            (grantee, rest) = read_name(rest)?;
            if grantee.is_empty() {
                return Err(sql_error!(INVALID_TEXT_REPRESENTATION, "missing name")
                    .with_hint("A name must follow the \"group\" or \"user\" key word."));
            }
        }
        let Some(rest) = rest.strip_prefix('=') else {
            bail!(INVALID_TEXT_REPRESENTATION, "missing \"=\" sign");
        };
        let end = rest.find(|c: char| !c.is_ascii_alphabetic() && c != '*').unwrap_or(rest.len());
        let (privileges, options) = read_letters(&rest[..end])?;
        let grantor = match rest[end..].strip_prefix('/') {
            Some(rest) => {
                let (name, rest) = read_name(rest)?;
                if name.is_empty() {
                    bail!(INVALID_TEXT_REPRESENTATION, "a name must follow the \"/\" sign");
                }
                nothing_more(rest)?;
                role_of(&name)?
            }
            None => {
                nothing_more(&rest[end..])?;
                Oid(10)
            }
        };
        let grantee = if grantee.is_empty() { Oid::INVALID } else { role_of(&grantee)? };
        Ok(AclItem { grantee, grantor, privileges, options })
    }
}

fn nothing_more(rest: &str) -> Result<()> {
    match rest.trim().is_empty() {
        true => Ok(()),
        false => Err(sql_error!(
            INVALID_TEXT_REPRESENTATION,
            "extra garbage at the end of the ACL specification"
        )),
    }
}

fn read_letters(letters: &str) -> Result<(Privileges, Privileges)> {
    let (mut privileges, mut options) = (Privileges::NONE, Privileges::NONE);
    let mut last = Privileges::NONE;
    for letter in letters.bytes() {
        match (letter, Privileges::by_letter(letter)) {
            (b'*', _) => options = options.or(last),
            (_, Some(one)) => {
                privileges = privileges.or(one);
                last = one;
            }
            (_, None) => bail!(
                INVALID_TEXT_REPRESENTATION,
                "invalid mode character: must be one of \"{}\"",
                String::from_utf8_lossy(LETTERS)
            ),
        }
    }
    Ok((privileges, options))
}

/// A role's name at the beginning of a text, which may be quoted, and what follows it.
fn read_name(text: &str) -> Result<(String, &str)> {
    let text = text.trim_start();
    let (mut name, mut quoted) = (String::new(), false);
    let mut chars = text.char_indices().peekable();
    while let Some((at, c)) = chars.next() {
        match c {
            '"' if quoted && chars.next_if(|(_, next)| *next == '"').is_some() => name.push('"'),
            '"' => quoted = !quoted,
            c if quoted || c.is_alphanumeric() || c == '_' => name.push(c),
            _ => return Ok((name, text[at..].trim_start())),
        }
    }
    if quoted {
        return Err(sql_error!(INVALID_TEXT_REPRESENTATION, "unterminated quoted identifier"));
    }
    Ok((name, ""))
}

/// A role's name as items show it: quoted unless it is of letters, digits and underscores.
fn role_name(names: &dyn Names, role: Oid) -> Result<String> {
    let Some(quoted) = names.object_name(TypeId::REGROLE, role)? else {
        return Ok(role.0.to_string());
    };
    let name = match quoted.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')) {
        Some(within) => within.replace("\"\"", "\""),
        None => quoted,
    };
    Ok(match name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_') {
        true => name,
        false => format!("\"{}\"", name.replace('"', "\"\"")),
    })
}

/// What an object's row says of who may do what with it.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Acl {
    pub items: Vec<AclItem>,
}

/// What REVOKE does with what others were given by whom something is taken from.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Behavior {
    Restrict,
    Cascade,
}

/// What counts beside what an access list says.
#[derive(Clone, Copy)]
pub struct Around<'a> {
    /// The object's owner.
    pub owner: Oid,
    /// Whether the first role has all that the second one has.
    pub has_rights_of: &'a dyn Fn(Oid, Oid) -> bool,
}

/// A privilege, and the right to give it to others: what of both.
pub type Both = (Privileges, Privileges);

impl Acl {
    /// As a value of type `aclitem[]`.
    pub fn datum(&self) -> Datum {
        let items = self.items.iter().map(|item| Datum::text(item.stored())).collect();
        Array::from_elements(TypeId::ACLITEM, items).into()
    }

    /// From such a value, whose items may have names where they are of before there were privileges.
    ///
    /// # Errors
    /// It has nulls.
    pub fn from_datum(value: &Datum, names: &dyn Names) -> Result<Acl> {
        let item = |element: &Datum| match element {
            Datum::Text(text) => AclItem::parse(text.as_str(), names),
            _ => Err(sql_error!(NULL_VALUE_NOT_ALLOWED, "ACL arrays must not contain null values")),
        };
        Ok(Acl { items: value.as_array().elements.iter().map(item).collect::<Result<_>>()? })
    }

    /// Gives more.
    pub fn give(&mut self, given: AclItem, around: Around<'_>) -> Result<()> {
        if !given.options.is_empty() {
            self.must_not_go_back(given, around)?;
        }
        let item = self.item_of(given.grantee, given.grantor);
        item.privileges = item.privileges.or(given.privileges);
        item.options = item.options.or(given.options);
        self.items.retain(|item| !item.privileges.or(item.options).is_empty());
        Ok(())
    }

    /// Takes something away, and what its grantee has given on by the right that goes.
    pub fn take(&mut self, taken: AclItem, around: Around<'_>, behavior: Behavior) -> Result<()> {
        let item = self.item_of(taken.grantee, taken.grantor);
        let before = item.options;
        item.privileges = item.privileges.without(taken.privileges);
        item.options = item.options.without(taken.options);
        let gone = before.without(item.options);
        self.items.retain(|item| !item.privileges.or(item.options).is_empty());
        match gone.is_empty() {
            true => Ok(()),
            false => self.follow(taken.grantee, gone, around, behavior),
        }
    }

    fn item_of(&mut self, grantee: Oid, grantor: Oid) -> &mut AclItem {
        let is_it = |item: &AclItem| item.grantee == grantee && item.grantor == grantor;
        let at = self.items.iter().position(is_it).unwrap_or_else(|| {
            let (privileges, options) = Both::default();
            self.items.push(AclItem { grantee, grantor, privileges, options });
            self.items.len() - 1
        });
        &mut self.items[at]
    }

    /// A role has lost the right to give these: what it gave by it goes, too.
    fn follow(
        &mut self,
        role: Oid,
        gone: Privileges,
        around: Around<'_>,
        behavior: Behavior,
    ) -> Result<()> {
        // The owner always may; and maybe another has given it the same, or a role that it is in.
        let gone = gone.without(self.given_on(role, gone, around));
        let depends =
            |item: &&AclItem| item.grantor == role && !item.privileges.and(gone).is_empty();
        while let Some(item) = self.items.iter().find(depends).copied() {
            if behavior == Behavior::Restrict {
                return Err(sql_error!(
                    DEPENDENT_OBJECTS_STILL_EXIST,
                    "dependent privileges exist"
                )
                .with_hint("Use CASCADE to revoke them too."));
            }
            let taken = AclItem { privileges: gone, options: gone, ..item };
            self.take(taken, around, behavior)?;
        }
        Ok(())
    }

    /// Which of these a role may give to others.
    fn given_on(&self, role: Oid, of: Privileges, around: Around<'_>) -> Privileges {
        let is_in = |of: Oid| of == role || (around.has_rights_of)(role, of);
        match is_in(around.owner) {
            true => of,
            false => self.of_roles(is_in).1.and(of),
        }
    }

    /// Nobody gives the right to give on to who it comes from.
    fn must_not_go_back(&self, given: AclItem, around: Around<'_>) -> Result<()> {
        if given.grantor == around.owner {
            return Ok(());
        }
        let mut rest = self.clone();
        let has = |item: &&AclItem| item.grantee == given.grantee && !item.options.is_empty();
        while let Some(item) = rest.items.iter().find(has).copied() {
            rest.take(item, around, Behavior::Cascade)?;
        }
        if !rest.given_on(given.grantor, given.options, around).has(given.options) {
            bail!(
                INVALID_GRANT_OPERATION,
                "grant options cannot be granted back to your own grantor"
            );
        }
        Ok(())
    }

    /// What it becomes when the object gets another owner.
    pub fn with_owner(&self, old: Oid, new: Oid) -> Acl {
        let mut acl = Acl::default();
        let moved = |role: Oid| if role == old { new } else { role };
        for item in &self.items {
            let to = acl.item_of(moved(item.grantee), moved(item.grantor));
            to.privileges = to.privileges.or(item.privileges);
            to.options = to.options.or(item.options);
        }
        acl
    }

    /// Whether a role has something by it, or has given something.
    pub fn names(&self, role: Oid) -> bool {
        self.items.iter().any(|item| item.grantee == role || item.grantor == role)
    }

    /// All items' privileges of roles that `counts` accepts, and of everybody.
    pub fn of_roles(&self, counts: impl Fn(Oid) -> bool) -> Both {
        let own = self.items.iter().filter(|i| !i.grantee.is_valid() || counts(i.grantee));
        own.fold(Both::default(), |(privileges, options), item| {
            (privileges.or(item.privileges), options.or(item.options))
        })
    }
}
