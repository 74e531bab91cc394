//! One tarball with everything that `lab run` needs on another x86-64 Linux machine, offline: for `scale-cores`, for what is
//! measured in process, and for others whose client is pgbench.

use crate::experiments::{ALL, Paths};
use crate::process::{self, Limits};
use crate::runner;
use bench::servers::{Places, Scratch, output};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

/// What travels anywhere.
const MOST_BYTES: u64 = 60 << 20;
/// Set by the pack's script.
const UNPACKED: &str = "LAB_PACK";
/// Debian's directory of PostgreSQL 15. In the pack there are [`LAUNCHER`]s, and the programs behind them in `usr/real`, where the
/// way from them to their other files is Debian's: it is by that way that they find them.
const PG_LIB: &str = "usr/lib/postgresql/15";
const REAL_LIB: &str = "usr/real/lib/postgresql/15";
const PG_SHARE: &str = "usr/share/postgresql/15";
const REAL_SHARE: &str = "usr/real/share/postgresql/15";
const PG_PROGRAMS: [&str; 4] = ["postgres", "initdb", "pgbench", "psql"];
/// Belongs to the machine it runs on, kernel and loader: never taken along.
const LOADERS: &[&str] =
    &["ld-linux", "libc.so", "libm.so", "libpthread", "libdl", "librt", "libresolv", "linux-vdso"];
/// What our own programs load besides; every machine with a C library of GNU's has it.
const RUNTIME: &str = "libgcc_s.so";

const SCRIPT: &str = r#"#!/bin/sh
# Runs the lab from where this lies: ./run.sh [scale-cores]. Records go to ./record.
here=$(cd "$(dirname "$0")" && pwd)
export LAB_PACK="$here"
if ! "$here/bin/lab" list >/dev/null 2>&1; then
    echo "This machine's C library is too old for the pack, it has no libgcc, or it is no x86-64 Linux." >&2
    exit 1
fi
[ $# -gt 0 ] || set -- scale-cores
exec "$here/bin/lab" run "$@" --out "$here/record"
"#;

/// The pack's libraries are for PostgreSQL's programs alone: the machine's own, `sh` and `taskset` among them, have theirs.
const LAUNCHER: &str = r#"#!/bin/sh
# PostgreSQL 15's program of this name, with the pack's libraries.
usr=$(cd "${0%/*}/../../../.." && pwd)
exec env LD_LIBRARY_PATH="${usr%/usr}/lib" "$usr/real/lib/postgresql/15/bin/${0##*/}" "$@"
"#;

/// Where a pack was unpacked, if this program runs from one.
pub fn unpacked() -> Option<PathBuf> {
    std::env::var_os(UNPACKED).map(PathBuf::from)
}

/// A pack's programs.
pub fn places(pack: &Path) -> Places {
    Places {
        programs: pack.join("bin"),
        pg15: pack.join(PG_LIB).join("bin"),
        cache: pack.join("cache"),
    }
}

/// Makes the tarball.
pub fn pack(from: &Places, file: &Path) -> Result<(), String> {
    let scratch = Scratch::new("lab-pack")?;
    let pack = scratch.path().join("thalweg-lab");
    let lab = std::env::current_exe().map_err(|e| e.to_string())?;
    let mut programs = vec![("lab".to_owned(), lab)];
    let in_process = runner::in_process(ALL).into_iter().map(Paths::file);
    let built = ["thalweg", "canned", "sync_loop"].map(str::to_owned).into_iter().chain(in_process);
    programs.extend(built.map(|name| (name.clone(), from.programs.join(name))));
    for (name, program) in &programs {
        let copy = copy_as(program, &pack.join("bin"), name)?;
        output(Command::new("strip").arg(&copy))?;
    }
    postgres(from, &pack)?;
    if !postgres_18(from, &pack)? {
        eprintln!(
            "PostgreSQL 18 is not in the pack: it is fetched when the lab first runs beside it, and was not yet \
             (lab run ceiling --target pg18)"
        );
    }
    libraries(&pack)?;
    write(&pack.join("run.sh"), SCRIPT)?;
    output(Command::new("chmod").args(["-R", "a+rX"]).arg(&pack))?;
    output(Command::new("chmod").arg("a+x").arg(pack.join("run.sh")))?;
    let mut tar = Command::new("tar");
    tar.arg("-cJf").arg(file).arg("-C").arg(scratch.path()).arg("thalweg-lab").env("XZ_OPT", "-T0");
    let made = process::run(tar, Limits::minutes(20)).and_then(|_| size(file, MOST_BYTES));
    if made.is_err() {
        // Half a pack, or one that is refused, is not to be taken for one.
        let _ = std::fs::remove_file(file);
    }
    println!("{}: {:.1} MiB", file.display(), made? as f64 / f64::from(1 << 20));
    Ok(())
}

/// The bytes of a pack, unless they are too many.
fn size(file: &Path, most: u64) -> Result<u64, String> {
    let bytes = std::fs::metadata(file).map_err(|e| format!("{}: {e}", file.display()))?.len();
    let mib = |bytes: u64| bytes as f64 / f64::from(1 << 20);
    match bytes > most {
        true => Err(format!(
            "the pack would have {:.1} MiB, and {:.0} are the most",
            mib(bytes),
            mib(most)
        )),
        false => Ok(bytes),
    }
}

/// PostgreSQL 15.
fn postgres(from: &Places, pack: &Path) -> Result<(), String> {
    let home = from.pg15.parent().ok_or("PostgreSQL's programs are in no directory")?;
    let launchers = pack.join(PG_LIB).join("bin");
    std::fs::create_dir_all(&launchers).map_err(|e| e.to_string())?;
    for program in PG_PROGRAMS {
        copy(&from.pg15.join(program), &pack.join(REAL_LIB).join("bin"))?;
        write(&launchers.join(program), LAUNCHER)?;
        output(Command::new("chmod").arg("a+x").arg(launchers.join(program)))?;
    }
    let entries = std::fs::read_dir(home.join("lib")).map_err(|e| e.to_string())?;
    for library in entries.flatten().map(|entry| entry.path()) {
        let is_library = library.extension().is_some_and(|e| e == "so");
        if is_library && !library.ends_with("llvmjit.so") {
            copy(&library, &pack.join(REAL_LIB).join("lib"))?;
        }
    }
    let share = pack.join(REAL_SHARE);
    std::fs::create_dir_all(share.parent().expect("it has one")).map_err(|e| e.to_string())?;
    output(Command::new("cp").arg("-rL").arg(Path::new("/").join(PG_SHARE)).arg(&share))?;
    Ok(())
}

/// PostgreSQL 18, if it was fetched; whether it was.
fn postgres_18(from: &Places, pack: &Path) -> Result<bool, String> {
    let native = from.cache.join("pg18/package/native");
    let fetched = native.join(".linked").exists();
    if fetched {
        let place = pack.join("cache/pg18/package");
        std::fs::create_dir_all(&place).map_err(|e| e.to_string())?;
        output(Command::new("cp").arg("-a").arg(&native).arg(&place))?;
    }
    Ok(fetched)
}

/// What PostgreSQL's programs and the libraries that they open load, but for what belongs to the machine. Our own are to load
/// nothing else.
fn libraries(pack: &Path) -> Result<(), String> {
    for library in wanted(&pack.join("bin"))? {
        let name = library.file_name().unwrap_or_default().to_string_lossy();
        if !name.starts_with(RUNTIME) {
            return Err(format!("a program of ours loads {name}, which the pack does not give it"));
        }
    }
    let real = pack.join(REAL_LIB);
    for library in [wanted(&real.join("bin"))?, wanted(&real.join("lib"))?].concat() {
        copy(&library, &pack.join("lib"))?;
    }
    Ok(())
}

/// What everything in a folder loads, each once.
fn wanted(folder: &Path) -> Result<Vec<PathBuf>, String> {
    let entries =
        std::fs::read_dir(folder).map_err(|e| format!("{}: {e}", folder.display()))?.flatten();
    let mut wanted = BTreeSet::new();
    for file in entries {
        wanted.extend(loaded(&output(Command::new("ldd").arg(file.path()))?));
    }
    Ok(wanted.into_iter().collect())
}

/// Paths in what `ldd` prints: `NAME => PATH (ADDRESS)`.
fn loaded(text: &str) -> Vec<PathBuf> {
    let paths = text.lines().filter_map(|line| {
        let (name, rest) = line.trim().split_once(" => ")?;
        let known = LOADERS.iter().any(|loader| name.starts_with(loader));
        (!known).then(|| PathBuf::from(rest.split(' ').next().unwrap_or(rest)))
    });
    paths.filter(|path| path.is_absolute()).collect()
}

fn copy(file: &Path, folder: &Path) -> Result<PathBuf, String> {
    let name = file.file_name().and_then(|name| name.to_str());
    copy_as(file, folder, name.ok_or_else(|| format!("{} is no file", file.display()))?)
}

fn copy_as(file: &Path, folder: &Path, name: &str) -> Result<PathBuf, String> {
    let place = folder.join(name);
    let copied = std::fs::create_dir_all(folder).and_then(|()| std::fs::copy(file, &place));
    copied.map_err(|e| format!("{}: {e}", file.display()))?;
    Ok(place)
}

fn write(file: &Path, text: &str) -> Result<(), String> {
    std::fs::write(file, text).map_err(|e| format!("{}: {e}", file.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What was fetched by half is not taken along, and whoever packs is told.
    #[test]
    fn postgresql_18_is_packed_where_it_was_fetched_whole() {
        let scratch = Scratch::new("lab-pack-18").unwrap();
        let from = places(&scratch.path().join("from"));
        let native = from.cache.join("pg18/package/native");
        let to = scratch.path().join("to");
        assert_eq!(postgres_18(&from, &to), Ok(false));
        std::fs::create_dir_all(native.join("bin")).unwrap();
        assert_eq!(postgres_18(&from, &to), Ok(false));
        std::fs::write(native.join(".linked"), "").unwrap();
        assert_eq!(postgres_18(&from, &to), Ok(true));
        assert!(to.join("cache/pg18/package/native/bin").exists());
    }

    #[test]
    fn a_pack_that_is_too_large_is_refused() {
        let scratch = Scratch::new("lab-pack-size").unwrap();
        let file = scratch.path().join("pack.tar.xz");
        assert!(size(&file, 3).unwrap_err().contains("pack.tar.xz"));
        std::fs::write(&file, "1234").unwrap();
        assert_eq!(size(&file, 4), Ok(4));
        assert!(size(&file, 3).unwrap_err().starts_with("the pack would have"));
    }

    /// The programs behind them, with their words, and with the pack's libraries, which nobody else is told of.
    #[test]
    fn launchers_start_what_is_behind_them() {
        let scratch = Scratch::new("lab-pack-launcher").unwrap();
        let (launchers, real) =
            (scratch.path().join(PG_LIB).join("bin"), scratch.path().join(REAL_LIB).join("bin"));
        std::fs::create_dir_all(&launchers).unwrap();
        std::fs::create_dir_all(&real).unwrap();
        let (launcher, real) = (launchers.join("psql"), real.join("psql"));
        write(&launcher, LAUNCHER).unwrap();
        // By another process: a file that any child of this one still has open can't be executed.
        let script = "'#!/bin/sh' 'echo \"$LD_LIBRARY_PATH|$0|$1|$2\"'";
        let file = real.display();
        bench::record::shell(&format!("printf '%s\\n' {script} >'{file}' && chmod a+x '{file}'"));
        let told = output(Command::new("sh").arg(&launcher).args(["a b", "$c"])).unwrap();
        let libraries = scratch.path().join("lib");
        assert_eq!(told, format!("{}|{file}|a b|$c\n", libraries.display()));
        assert!(!SCRIPT.contains("LD_LIBRARY_PATH"));
    }

    #[test]
    fn the_machines_own_libraries_stay_where_they_are() {
        let text = "\tlinux-vdso.so.1 (0x00007f8d5edd1000)\n\
                    \tlibpq.so.5 => /usr/lib/libpq.so.5 (0x1)\n\
                    \tlibgone.so.1 => not found\n\
                    \tlibc.so.6 => /lib/libc.so.6 (0x2)\n\t/lib64/ld-linux-x86-64.so.2 (0x3)\n";
        assert_eq!(loaded(text), [PathBuf::from("/usr/lib/libpq.so.5")]);
    }
}
