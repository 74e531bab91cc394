//! `waldump`'s arguments: `pg_waldump`'s, and a few of our own.

use std::path::{Path, PathBuf};

use base::{BlockNo, Fork, Lsn, RelId, Xid};
use storage::recovery::fork_name;
use storage::wal::segment::parse_file_name;
use storage::wal::{Kind, Room};

/// What `thalweg waldump --help` prints.
pub const HELP: &str = "\
thalweg waldump decodes and displays the write-ahead log

usage: thalweg waldump [OPTION]... [DIR | STARTSEG [ENDSEG]]

DIR is a data directory, its wal, or any directory with copies of log files; STARTSEG and
ENDSEG are such files. A running server's log can be looked at, up to what it has written.

  -b, --bkp-details      tell of each page how its image is kept
  -B, --block=N          with --relation, only records that change block N
  -e, --end=LSN          stop before records that begin at LSN or later
  -f, --follow           at the end of the log, wait for more
  -F, --fork=FORK        only records that change pages of fork FORK: main, fsm, vm
  -k, --kind=KIND        only records of one kind, as MULTI_INSERT; may be given several times
  -n, --limit=N          only the first N records
  -p, --path=DIR         the same as DIR
  -q, --quiet            print nothing but errors
  -r, --rmgr=RMGR        only records of a resource manager; may be given several times;
                         --rmgr=list lists them
  -R, --relation=N       only records that change relation N (pg_relation_filenode)
  -s, --start=LSN        start with the first record that begins at LSN or later
                         (default: the oldest that there is)
  -t, --timeline=N       the timeline to read
  -w, --fullpage         only records with a whole page
  -x, --xid=XID          only records of transaction XID
  -z, --stats[=record]   instead of records, how many there are and what they take
                         (by resource manager, or by kind)
  -?, --help             this

Exit status: 0 if the log could be read to its end or to where it was to be read; 1 if it
is damaged, ends early or cannot be read; 2 if the arguments make no sense.
";

/// What to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Task {
    Help,
    /// Names the resource managers.
    ListManagers,
    Dump(Box<Wanted>),
}

/// What to show.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Wanted {
    /// Where the log's files lie.
    pub path: PathBuf,
    /// The first and the last file to read, by name.
    pub files: Option<(String, String)>,
    pub timeline: Option<u32>,
    /// The first record that starts here or later; else from the oldest file on.
    pub start: Option<Lsn>,
    /// Nothing that starts here or later.
    pub end: Option<Lsn>,
    /// Goes on when more is written.
    pub follow: bool,
    /// So many records.
    pub limit: Option<u64>,
    pub filter: Filter,
    pub shown: Shown,
    /// Tells of each page how its image is kept.
    pub image_details: bool,
}

/// Which records are wanted; what is empty does not matter.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Filter {
    pub rooms: Vec<Room>,
    pub kinds: Vec<Kind>,
    pub xid: Option<Xid>,
    pub relation: Option<RelId>,
    pub fork: Option<Fork>,
    pub block: Option<BlockNo>,
    pub whole_pages: bool,
}

/// In which form.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Shown {
    /// One a line.
    #[default]
    Records,
    /// Totals of each resource manager.
    Managers,
    /// Totals of each kind.
    Kinds,
    /// Not at all.
    Nothing,
}

/// Long and short name of each option that takes a value, and of each that does not.
const WITH_VALUE: &[(&str, char)] = &[
    ("block", 'B'),
    ("end", 'e'),
    ("fork", 'F'),
    ("kind", 'k'),
    ("limit", 'n'),
    ("path", 'p'),
    ("rmgr", 'r'),
    ("relation", 'R'),
    ("start", 's'),
    ("timeline", 't'),
    ("xid", 'x'),
];
const WITHOUT_VALUE: &[(&str, char)] =
    &[("bkp-details", 'b'), ("follow", 'f'), ("quiet", 'q'), ("fullpage", 'w'), ("stats", 'z')];

/// Reads the arguments.
///
/// # Errors
/// What is wrong with them, in one sentence.
pub fn read(arguments: impl Iterator<Item = String>) -> Result<Task, String> {
    let mut arguments = arguments.peekable();
    if arguments.peek().is_none() {
        return Err("no arguments specified".into());
    }
    let (mut wanted, mut places, mut path) = (Wanted::default(), Vec::new(), None);
    while let Some(argument) = arguments.next() {
        if argument == "--" {
            places.extend(arguments.by_ref());
            break;
        }
        for (name, value) in options(&argument, &mut arguments, &mut places)? {
            let value = value.as_deref();
            match (&*name, value) {
                ("help", _) => return Ok(Task::Help),
                ("rmgr", Some("list")) => return Ok(Task::ListManagers),
                ("path", Some(directory)) => path = Some(PathBuf::from(directory)),
                _ => wanted.set(&name, value)?,
            }
        }
    }
    wanted.find(path, places)?;
    wanted.make_sense()?;
    Ok(Task::Dump(Box::new(wanted)))
}

/// The options that one argument stands for, with their values; what is none goes to `places`.
fn options(
    argument: &str,
    rest: &mut impl Iterator<Item = String>,
    places: &mut Vec<String>,
) -> Result<Vec<(String, Option<String>)>, String> {
    let mut needed = |name: &str| rest.next().ok_or_else(|| format!("--{name} needs a value"));
    if let Some(long) = argument.strip_prefix("--") {
        let (name, value) = match long.split_once('=') {
            Some((name, value)) => (name, Some(value.to_owned())),
            None => (long, None),
        };
        let takes_value = WITH_VALUE.iter().any(|(known, _)| *known == name);
        let value = match value {
            None if takes_value => Some(needed(name)?),
            Some(_) if !takes_value && name != "stats" => {
                return Err(format!("option \"--{name}\" doesn't allow an argument"));
            }
            value => value,
        };
        return Ok(vec![(name.to_owned(), value)]);
    }
    let Some(letters) = argument.strip_prefix('-').filter(|letters| !letters.is_empty()) else {
        places.push(argument.to_owned());
        return Ok(Vec::new());
    };
    let mut found = Vec::new();
    for (i, letter) in letters.char_indices() {
        let named = |(_, short): &&(&str, char)| *short == letter;
        if let Some((name, _)) = WITHOUT_VALUE.iter().find(named) {
            found.push(((*name).to_owned(), None));
        } else if letter == '?' {
            found.push(("help".to_owned(), None));
        } else if let Some((name, _)) = WITH_VALUE.iter().find(named) {
            let value = &letters[i + 1..];
            let value = if value.is_empty() { needed(name)? } else { value.to_owned() };
            found.push(((*name).to_owned(), Some(value)));
            break;
        } else {
            return Err(format!("waldump has no option \"-{letter}\""));
        }
    }
    Ok(found)
}

impl Wanted {
    fn set(&mut self, name: &str, value: Option<&str>) -> Result<(), String> {
        let text = value.unwrap_or_default();
        let filter = &mut self.filter;
        match name {
            "bkp-details" => self.image_details = true,
            "follow" => self.follow = true,
            "quiet" => self.shown = Shown::Nothing,
            "fullpage" => filter.whole_pages = true,
            "stats" if self.shown == Shown::Nothing => {}
            "stats" => {
                self.shown = match value {
                    None | Some("rmgr") => Shown::Managers,
                    Some("record") => Shown::Kinds,
                    Some(_) => {
                        return Err(format!("unrecognized value for option --stats: {text}"));
                    }
                };
            }
            "block" => {
                let block = text.parse().ok().filter(|block| *block != u32::MAX);
                filter.block =
                    Some(BlockNo(block.ok_or(format!("invalid block number: \"{text}\""))?));
            }
            "fork" => {
                let fork = Fork::ALL.into_iter().find(|fork| fork_name(*fork) == text);
                filter.fork = Some(fork.ok_or(format!(
                    "invalid fork name: \"{text}\"; valid fork names are main, fsm, and vm"
                ))?);
            }
            "kind" => filter.kinds.extend(kinds(text)?),
            "rmgr" => {
                let room = Room::all().find(|room| room.name().eq_ignore_ascii_case(text));
                filter
                    .rooms
                    .push(room.ok_or(format!("resource manager \"{text}\" does not exist"))?);
            }
            "relation" => {
                let number = text.strip_prefix("base/").unwrap_or(text).parse().ok();
                filter.relation =
                    Some(RelId(number.filter(|number| *number != 0).ok_or(format!(
                        "invalid relation specification: \"{text}\"; expected is the number that \
                     pg_relation_filenode tells"
                    ))?));
            }
            "xid" => {
                let xid =
                    text.parse().map_err(|_| format!("invalid transaction ID: \"{text}\""))?;
                filter.xid = Some(Xid(xid));
            }
            "limit" => {
                let limit =
                    text.parse().map_err(|_| format!("invalid value \"{text}\" for option -n"));
                self.limit = Some(limit?);
            }
            "timeline" => {
                let timeline = text.parse().ok().filter(|timeline| *timeline != 0);
                self.timeline = Some(timeline.ok_or(format!("invalid timeline: \"{text}\""))?);
            }
            "start" => self.start = Some(position("start", text)?),
            "end" => self.end = Some(position("end", text)?),
            other => return Err(format!("waldump has no option \"--{other}\"")),
        }
        Ok(())
    }

    /// Makes out what the arguments that are no options stand for.
    fn find(&mut self, path: Option<PathBuf>, places: Vec<String>) -> Result<(), String> {
        if let Some(one_too_many) = places.get(2) {
            return Err(format!("too many command-line arguments (first is \"{one_too_many}\")"));
        }
        let mut places = places.iter().map(Path::new).peekable();
        self.path = path.clone().unwrap_or_else(|| ".".into());
        if let Some(directory) = places.next_if(|place| place.is_dir() || name_of(place).is_none())
        {
            if path.is_some() || places.peek().is_some() {
                let shown = directory.display();
                return Err(format!("\"{shown}\" is no log file, and only one directory is read"));
            }
            self.path = directory.to_owned();
            return Ok(());
        }
        let Some(first) = places.next() else { return Ok(()) };
        let last = places.next().unwrap_or(first);
        let start = name_of(first).unwrap_or_default();
        let end = name_of(last)
            .ok_or_else(|| format!("\"{}\" is no name of a log file", last.display()))?;
        if end < start {
            return Err(format!("ENDSEG {end} is before STARTSEG {start}"));
        }
        if let (None, Some(parent)) = (path, first.parent())
            && !parent.as_os_str().is_empty()
        {
            self.path = parent.to_owned();
        }
        self.files = Some((start, end));
        Ok(())
    }

    /// Refuses what can't be meant.
    fn make_sense(&self) -> Result<(), String> {
        if self.filter.block.is_some() && self.filter.relation.is_none() {
            return Err("option -B/--block requires option -R/--relation to be specified".into());
        }
        if let (Some(start), Some(end)) = (self.start, self.end)
            && end < start
        {
            return Err(format!("end WAL location {end} is before start WAL location {start}"));
        }
        if self.image_details && self.shown != Shown::Records {
            return Err(
                "--bkp-details tells of records, which --stats and --quiet don't show".into()
            );
        }
        Ok(())
    }
}

/// The name of a log file in a path; `None` if it names none.
fn name_of(path: &Path) -> Option<String> {
    let name = path.file_name()?.to_str()?;
    parse_file_name(name).map(|_| name.to_owned())
}

/// A position as the server shows it.
fn position(which: &str, text: &str) -> Result<Lsn, String> {
    let halves = text.split_once('/').and_then(|(high, low)| {
        let half = |text| u32::from_str_radix(text, 16).ok().map(u64::from);
        Some(half(high)? << 32 | half(low)?)
    });
    halves.map(Lsn).ok_or_else(|| format!("could not parse {which} WAL location \"{text}\""))
}

/// Kinds by name: `MULTI_INSERT`, `Heap/INSERT`, `heap-insert`.
fn kinds(text: &str) -> Result<Vec<Kind>, String> {
    let full = |kind: Kind| format!("{}/{}", kind.room().map_or("", Room::name), kind.operation());
    let found = Kind::all().filter(|kind| {
        let names = [kind.name().to_owned(), kind.operation(), full(*kind)];
        names.iter().any(|name| name.eq_ignore_ascii_case(text))
    });
    let found: Vec<_> = found.collect();
    if found.is_empty() {
        let all: Vec<_> = Kind::all().map(full).collect();
        return Err(format!("kind \"{text}\" does not exist; there are {}", all.join(", ")));
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dump(line: &str) -> Result<Wanted, String> {
        match read(line.split_whitespace().map(str::to_owned))? {
            Task::Dump(wanted) => Ok(*wanted),
            other => Err(format!("{other:?}")),
        }
    }

    #[test]
    fn arguments_are_read_in_every_spelling() {
        let long = dump(
            "/ --start 1/A0 --end=2/0 --kind Transaction/COMMIT --rmgr heap --rmgr=Btree --xid 77 \
             --relation 12 --block 3 --fork vm --fullpage --limit 5 --follow --timeline 2",
        );
        let short = dump(
            "-s1/A0 -e 2/0 -kcommit -rHeap -rBTREE -x 77 -R base/12 -B3 -F vm -wfn5 -t 2 -p /",
        );
        let expected = Wanted {
            path: "/".into(),
            timeline: Some(2),
            start: Some(Lsn(0x1_0000_00A0)),
            end: Some(Lsn(0x2_0000_0000)),
            follow: true,
            limit: Some(5),
            filter: Filter {
                rooms: vec![Room::Heap, Room::BTree],
                kinds: vec![Kind::COMMIT],
                xid: Some(Xid(77)),
                relation: Some(RelId(12)),
                fork: Some(Fork::Visibility),
                block: Some(BlockNo(3)),
                whole_pages: true,
            },
            ..Wanted::default()
        };
        assert_eq!(long, Ok(expected.clone()));
        assert_eq!(short, Ok(expected));
        assert_eq!(dump("/ -k insert").unwrap().filter.kinds.len(), 3);
        assert_eq!(dump("/ -z").unwrap().shown, Shown::Managers);
        assert_eq!(dump("/ --stats=record").unwrap().shown, Shown::Kinds);
        assert_eq!(dump("/ --stats -q").unwrap().shown, Shown::Nothing);
        assert!(dump("/ -b").unwrap().image_details);
        assert_eq!(read(["-?".to_owned()].into_iter()), Ok(Task::Help));
        assert_eq!(read(["--rmgr=list".to_owned()].into_iter()), Ok(Task::ListManagers));
    }

    #[test]
    fn files_are_told_from_directories() {
        let (first, second) = ("000000010000000000000002", "00000001000000000000000A");
        let wanted = dump(&format!("/x/wal/{first} {second}")).unwrap();
        assert_eq!(wanted.path, PathBuf::from("/x/wal"));
        assert_eq!(wanted.files, Some((first.to_owned(), second.to_owned())));
        let wanted = dump(&format!("-p /y {first}")).unwrap();
        assert_eq!((wanted.path, wanted.files), ("/y".into(), Some((first.into(), first.into()))));
        assert_eq!(
            dump(&format!("{second} {first}")).unwrap_err(),
            format!("ENDSEG {first} is before STARTSEG {second}")
        );
        assert_eq!(dump(&format!("{first} x")).unwrap_err(), "\"x\" is no name of a log file");
    }

    #[test]
    fn mistakes_are_told() {
        for (line, told) in [
            ("", "no arguments specified"),
            ("/ /", "\"/\" is no log file, and only one directory is read"),
            ("-p / /", "\"/\" is no log file, and only one directory is read"),
            ("a b c", "too many command-line arguments (first is \"c\")"),
            ("/ --nosuch", "waldump has no option \"--nosuch\""),
            ("/ -y", "waldump has no option \"-y\""),
            ("/ --start", "--start needs a value"),
            ("/ -q=1", "waldump has no option \"-=\""),
            ("/ --quiet=1", "option \"--quiet\" doesn't allow an argument"),
            ("/ --start 12", "could not parse start WAL location \"12\""),
            ("/ --end 0/G", "could not parse end WAL location \"0/G\""),
            ("/ -s 0/9 -e 0/8", "end WAL location 0/8 is before start WAL location 0/9"),
            ("/ -n much", "invalid value \"much\" for option -n"),
            ("/ -r nosuch", "resource manager \"nosuch\" does not exist"),
            ("/ -B 1", "option -B/--block requires option -R/--relation to be specified"),
            ("/ -R 1 -B -1", "invalid block number: \"-1\""),
            ("/ -x me", "invalid transaction ID: \"me\""),
            ("/ -t 0", "invalid timeline: \"0\""),
            ("/ --stats=all", "unrecognized value for option --stats: all"),
            ("/ -bq", "--bkp-details tells of records, which --stats and --quiet don't show"),
        ] {
            assert_eq!(dump(line).unwrap_err(), told, "{line}");
        }
        assert!(dump("/ -F init").unwrap_err().starts_with("invalid fork name: \"init\""));
        assert!(dump("/ -R 1/2/3").unwrap_err().starts_with("invalid relation specification"));
        assert!(dump("/ -k nosuch").unwrap_err().contains("XLOG/CHECKPOINT, XLOG/NEXT_OID"));
    }
}
