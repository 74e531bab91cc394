//! Who has to show what to be let in: PostgreSQL's rules of host-based authentication, the first that fits counts.

mod read;
#[cfg(test)]
mod tests;

use std::net::{IpAddr, SocketAddr};
use std::path::Path;
use std::sync::Arc;

use sql::error::{SqlError, SqlState};

use crate::config::Config;
use crate::options::Authentication;

/// The settings that decide it while a server runs.
pub(crate) const SETTINGS: &[&str] = &["hba_file"];

/// How a client shows who it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Method {
    /// Not at all.
    Trust,
    /// Whatever it shows, it is refused.
    Reject,
    /// It knows the role's password.
    Scram,
    /// The operating system's user that runs it has the role's name.
    Peer,
}

/// A client as rules see it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stranger<'s> {
    pub user: &'s str,
    pub database: &'s str,
    /// Where it comes from over TCP, and which address of ours it has come to; `None`: the unix socket.
    pub from: Option<(SocketAddr, Option<IpAddr>)>,
    pub is_encrypted: bool,
}

/// Rules in their order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rules(Arc<[Rule]>);

#[derive(Clone, Debug, PartialEq, Eq)]
struct Rule {
    way: Way,
    databases: Vec<Name>,
    users: Vec<Name>,
    /// Empty for the unix socket.
    addresses: Addresses,
    method: Method,
}

/// How a client comes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    /// By the unix socket.
    Local,
    /// Over TCP.
    Host,
    /// Likewise, encrypted by TLS.
    Encrypted,
    /// Likewise, not so.
    Open,
    /// As nobody can here: encrypted by GSSAPI, for replication.
    Never,
}

/// Whom a rule means.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Name {
    All,
    /// The database that has the user's name.
    SameUser,
    /// The databases that have the name of a role that the user is in.
    SameRole,
    /// Who is in this role.
    In(String),
    /// Nobody: sessions of replication.
    Nobody,
    Is(String),
}

/// Where a client comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Addresses {
    All,
    /// An address of the server's own.
    SameHost,
    /// The first so many bits are these.
    Net(IpAddr, u8),
}

impl Rules {
    /// Those of `hba_file`, or where there is none what `authentication` stands for.
    ///
    /// # Errors
    /// One sentence: which line of the file can't be understood.
    pub(crate) fn load(config: &Config, data: &Path) -> Result<Rules, String> {
        match config.value("hba_file").as_text() {
            "" => Ok(Rules::of(Authentication::of(config))),
            name => {
                let file = data.join(name);
                let failed = |why: String| format!("{}: {why}", file.display());
                let text = std::fs::read_to_string(&file)
                    .map_err(|fault| failed(format!("the rules cannot be read: {fault}")))?;
                read::rules(&text).map(Rules::from).map_err(failed)
            }
        }
    }

    /// Those that count once a configuration was read again, where a server was started with these: `authentication` waits
    /// for the next start.
    ///
    /// # Errors
    /// As [`Rules::load`].
    pub(crate) fn reload(&self, config: &Config, data: &Path) -> Result<Rules, String> {
        let methods = [Authentication::Peer, Authentication::Scram, Authentication::Trust];
        let is_of_no_file = methods.iter().any(|method| *self == Rules::of(*method));
        match config.value("hba_file").as_text() {
            "" if is_of_no_file => Ok(self.clone()),
            _ => Rules::load(config, data),
        }
    }

    /// The same for all who come by the same way.
    pub fn of(authentication: Authentication) -> Rules {
        let (local, host) = match authentication {
            Authentication::Peer => (Method::Peer, Method::Scram),
            Authentication::Scram => (Method::Scram, Method::Scram),
            Authentication::Trust => (Method::Trust, Method::Trust),
        };
        let rule = |way, method| {
            let all = || vec![Name::All];
            Rule { way, databases: all(), users: all(), addresses: Addresses::All, method }
        };
        Rules::from(vec![rule(Way::Local, local), rule(Way::Host, host)])
    }

    fn from(rules: Vec<Rule>) -> Rules {
        Rules(rules.into())
    }

    /// What a client has to show. `is_in` says whether the role that it asks for is another, or in that.
    ///
    /// # Errors
    /// `28000`: no rule is for it, or one that refuses it; those of `is_in`.
    pub(crate) fn method(
        &self,
        stranger: &Stranger<'_>,
        is_in: &dyn Fn(&str) -> Result<bool, SqlError>,
    ) -> Result<Method, SqlError> {
        let refused = |why: &str| {
            let Stranger { user, database, .. } = stranger;
            let from = stranger
                .from
                .map_or("[local]".to_owned(), |(from, _)| plain(from.ip()).to_string());
            let how = if stranger.is_encrypted { "SSL encryption" } else { "no encryption" };
            let place = format!("host \"{from}\", user \"{user}\", database \"{database}\", {how}");
            Err(SqlError::new(
                SqlState::INVALID_AUTHORIZATION_SPECIFICATION,
                format!("{why} {place}"),
            ))
        };
        for rule in self.0.iter() {
            if rule.fits(stranger, is_in)? {
                return match rule.method {
                    Method::Reject => refused("pg_hba.conf rejects connection for"),
                    method => Ok(method),
                };
            }
        }
        refused("no pg_hba.conf entry for")
    }
}

impl Rule {
    fn fits(
        &self,
        stranger: &Stranger<'_>,
        is_in: &dyn Fn(&str) -> Result<bool, SqlError>,
    ) -> Result<bool, SqlError> {
        let Stranger { user, database, from, is_encrypted } = *stranger;
        let by_way = match (self.way, from) {
            (Way::Local, None) => true,
            (Way::Local, Some(_)) | (Way::Never, _) | (_, None) => false,
            (Way::Host, Some(_)) => true,
            (Way::Encrypted, Some(_)) => is_encrypted,
            (Way::Open, Some(_)) => !is_encrypted,
        };
        if !by_way || !from.is_none_or(|(from, to)| self.addresses.have(from.ip(), to)) {
            return Ok(false);
        }
        let is = |name: &Name, text: &str| match name {
            Name::All => Ok(true),
            Name::SameUser => Ok(database == user),
            Name::SameRole => is_in(database),
            Name::In(role) => is_in(role),
            Name::Nobody => Ok(false),
            Name::Is(name) => Ok(name == text),
        };
        let any = |names: &[Name], text: &str| {
            names.iter().try_fold(false, |any, name| Ok::<_, SqlError>(any || is(name, text)?))
        };
        Ok(any(&self.databases, database)? && any(&self.users, user)?)
    }
}

impl Addresses {
    fn have(self, from: IpAddr, to: Option<IpAddr>) -> bool {
        let from = plain(from);
        match self {
            Addresses::All => true,
            Addresses::SameHost => from.is_loopback() || to.map(plain) == Some(from),
            Addresses::Net(net, bits) => match (net, from) {
                (IpAddr::V4(net), IpAddr::V4(from)) => {
                    begin_alike(u128::from(net.to_bits()), u128::from(from.to_bits()), 32 - bits)
                }
                (IpAddr::V6(net), IpAddr::V6(from)) => {
                    begin_alike(net.to_bits(), from.to_bits(), 128 - bits)
                }
                _ => false,
            },
        }
    }
}

/// Whether two addresses are the same but for the last bits.
fn begin_alike(a: u128, b: u128, last: u8) -> bool {
    a.checked_shr(last.into()).unwrap_or(0) == b.checked_shr(last.into()).unwrap_or(0)
}

/// An address of the old kind as such, where it is written as one of the new.
fn plain(address: IpAddr) -> IpAddr {
    address.to_canonical()
}
