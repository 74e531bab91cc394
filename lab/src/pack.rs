//! One tarball with everything that `lab run scale-cores` needs on another x86-64 Linux machine, offline.

use crate::process::{self, Limits};
use bench::servers::{Places, Scratch, output};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

/// What travels anywhere.
const MOST_BYTES: u64 = 60 << 20;
/// Set by the pack's script.
const UNPACKED: &str = "LAB_PACK";
/// Debian's directories: PostgreSQL finds its other files by the way from its programs to them.
const PG_LIB: &str = "usr/lib/postgresql/15";
const PG_SHARE: &str = "usr/share/postgresql/15";
/// Belongs to the machine it runs on, kernel and loader: never taken along.
const LOADERS: &[&str] =
    &["ld-linux", "libc.so", "libm.so", "libpthread", "libdl", "librt", "libresolv", "linux-vdso"];

const SCRIPT: &str = r#"#!/bin/sh
# Runs the lab from where this lies: ./run.sh [scale-cores]. Records go to ./record.
here=$(cd "$(dirname "$0")" && pwd)
export LAB_PACK="$here" LD_LIBRARY_PATH="$here/lib"
if ! "$here/bin/lab" list >/dev/null 2>&1; then
    echo "This machine's C library is too old for the pack, or it is no x86-64 Linux." >&2
    exit 1
fi
[ $# -gt 0 ] || set -- scale-cores
exec "$here/bin/lab" run "$@" --out "$here/record"
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
    let mut programs = vec![("lab", lab)];
    let built = ["thalweg", "canned", "wal_padding", "wal_paths"];
    programs.extend(built.map(|name| (name, from.programs.join(name))));
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
    process::run(tar, Limits::minutes(20))?;
    let bytes = std::fs::metadata(file).map_err(|e| format!("{}: {e}", file.display()))?.len();
    println!("{}: {:.1} MiB", file.display(), bytes as f64 / f64::from(1 << 20));
    if bytes > MOST_BYTES {
        return Err(format!("the pack is larger than {} MiB", MOST_BYTES >> 20));
    }
    Ok(())
}

/// PostgreSQL 15.
fn postgres(from: &Places, pack: &Path) -> Result<(), String> {
    let home = from.pg15.parent().ok_or("PostgreSQL's programs are in no directory")?;
    for program in ["postgres", "initdb", "pgbench", "psql"] {
        copy(&from.pg15.join(program), &pack.join(PG_LIB).join("bin"))?;
    }
    let entries = std::fs::read_dir(home.join("lib")).map_err(|e| e.to_string())?;
    for library in entries.flatten().map(|entry| entry.path()) {
        let is_library = library.extension().is_some_and(|e| e == "so");
        if is_library && !library.ends_with("llvmjit.so") {
            copy(&library, &pack.join(PG_LIB).join("lib"))?;
        }
    }
    let share = pack.join(PG_SHARE);
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

/// What the programs load, but for what belongs to the machine.
fn libraries(pack: &Path) -> Result<(), String> {
    let mut wanted = BTreeSet::new();
    for folder in [pack.join("bin"), pack.join(PG_LIB).join("bin")] {
        let entries = std::fs::read_dir(&folder).map_err(|e| e.to_string())?;
        for program in entries.flatten() {
            wanted.extend(loaded(&output(Command::new("ldd").arg(program.path()))?));
        }
    }
    for library in wanted {
        copy(&library, &pack.join("lib"))?;
    }
    Ok(())
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
    fn the_machines_own_libraries_stay_where_they_are() {
        let text = "\tlinux-vdso.so.1 (0x00007f8d5edd1000)\n\
                    \tlibpq.so.5 => /usr/lib/libpq.so.5 (0x1)\n\
                    \tlibgone.so.1 => not found\n\
                    \tlibc.so.6 => /lib/libc.so.6 (0x2)\n\t/lib64/ld-linux-x86-64.so.2 (0x3)\n";
        assert_eq!(loaded(text), [PathBuf::from("/usr/lib/libpq.so.5")]);
    }
}
