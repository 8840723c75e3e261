//! `brisk sync advise`: which files an app waits for in syncs.

use std::ffi::OsString;
use std::fmt::Write as _;
use std::io::Read as _;
use std::path::Path;
use std::process::{Command, ExitCode};

use anyhow::{Context as _, bail};
use brisk_command::json::{Document, Json};
use brisk_sync::advice::{Advice, Nature, advise};
use brisk_sync::library::{LOG_VARIABLE, RULES_VARIABLE};
use brisk_sync::program::ignores_preloading;
use serde_json::json;

use super::policies::homes;

/// How SQLite databases begin (<https://sqlite.org/fileformat.html>, sect. 1.3).
const SQLITE_MAGIC: &[u8; 16] = b"SQLite format 3\0";

const AFTER_HELP: &str = "\
The command runs with all syncs as ever; a preloaded library measures them. Its classes are guesses: read what a power \
cut could lose before you write a policy. Syncs of io_uring and of static programs, and writes to files that were \
opened with O_SYNC, are not measured.

Example: brisk sync advise -- evince paper.pdf
Exit codes: 0 shown, 2 not possible; a command that fails is reported, and what was seen is shown.";

/// Arguments.
#[derive(Debug, clap::Args)]
#[command(after_help = AFTER_HELP)]
pub(super) struct Args {
    #[command(flatten)]
    json: Json,
    /// The command with its arguments
    #[arg(last = true, required = true, num_args = 1.., value_name = "COMMAND")]
    words: Vec<OsString>,
}

pub(super) fn run(args: &Args) -> anyhow::Result<ExitCode> {
    args.json.check(&[])?;
    let dir = tempfile::tempdir().context("cannot make a directory for the log")?;
    let log = dir.path().join("syncs");
    std::fs::write(&log, "").context("cannot make the log")?;
    let library = super::library(dir.path())?;
    let (program, arguments) = args.words.split_first().context("no command")?;
    if let Some(why) = ignores_preloading(Path::new(program), std::env::var_os("PATH").as_deref()) {
        bail!("{why}: its syncs cannot be seen");
    }
    let mut command = Command::new(program);
    command
        .args(arguments)
        .env("LD_PRELOAD", super::preload(&library))
        .env(LOG_VARIABLE, &log)
        .env_remove(RULES_VARIABLE);
    let status = command.status().with_context(|| format!("cannot start {}", program.display()))?;
    if !status.success() {
        brisk_command::terminal::remark(&format!("{} failed: {status}", program.display()));
    }
    let text = std::fs::read(&log).context("cannot read the log")?;
    let cache = homes()?.cache;
    let found = advise(&String::from_utf8_lossy(&text), |path| nature(Path::new(path), &cache));
    let document = json!({ "success": status.success(), "files": found });
    args.json.show(&Document::new("sync_advice", document), || shown(&found))?;
    Ok(ExitCode::SUCCESS)
}

fn nature(path: &Path, cache: &Path) -> Nature {
    if path.starts_with(cache) {
        return Nature::Cache;
    }
    let mut head = [0; SQLITE_MAGIC.len()];
    let is_file = path.metadata().is_ok_and(|about| about.is_file());
    let is_database = is_file
        && std::fs::File::open(path).and_then(|mut file| file.read_exact(&mut head)).is_ok()
        && head == *SQLITE_MAGIC;
    if is_database { Nature::Database } else { Nature::Other }
}

fn shown(found: &[Advice]) -> String {
    if found.is_empty() {
        return "no syncs: there is nothing to gain\n".to_owned();
    }
    let mut text = String::new();
    for one in found {
        let path = if one.path.is_empty() { "(mapped memory, or a file without a path)" } else { &one.path };
        let ms = |us: u64| us as f64 / 1000.0;
        let _ = writeln!(text, "{path}\n    {} syncs, waited {:.1} ms", one.syncs, ms(one.waited_us));
        let _ = writeln!(text, "    {}: {}; saves at most {:.1} ms", one.class.name(), one.reason, ms(one.gain_us_max));
        let _ = writeln!(text, "    a power cut can lose: {}", one.risk);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn databases_are_known_by_how_they_begin() {
        let dir = tempfile::tempdir().expect("a directory");
        let file = |name: &str, content: &[u8]| {
            let path = dir.path().join(name);
            std::fs::write(&path, content).expect("a file");
            path
        };
        let cache = dir.path().join("cache");
        let of = |path: &Path| nature(path, &cache);
        assert_eq!(of(&file("a", b"SQLite format 3\0 and more")), Nature::Database);
        assert_eq!(of(&file("b", b"SQLite format 3")), Nature::Other);
        assert_eq!((of(&dir.path().join("absent")), of(dir.path())), (Nature::Other, Nature::Other));
        assert_eq!(of(&cache.join("x")), Nature::Cache);
    }
}
