//! Settings that a search found, kept for later runs: a TOML file for each scenario, kernel and share of writes.

use std::path::{Path, PathBuf};

use crate::vm::compare::{Found, Options};
use crate::vm::scenario::Scenario;
use crate::vm::schedulers::Settings;
use crate::vm::sources::Source;
use anyhow::Context as _;
use brisk_command::output::replace;
use brisk_command::terminal::remark;

/// Where the settings are kept that were found for a scenario, on a kernel, with this share of writes to leave.
pub(super) fn file(source: &Source, series: &str, scenario: &Scenario, options: &Options) -> PathBuf {
    let least = options.write_min_percent.unwrap_or(scenario.write_min_percent);
    source.work().join("tuned").join(series).join(format!("{}-{least}.toml", scenario.name))
}

/// Settings that an earlier search found; none when there was none.
pub(super) fn read(file: &Path) -> anyhow::Result<Found> {
    #[derive(serde::Deserialize)]
    struct One {
        tried: u32,
        settings: Settings,
    }
    let text = match brisk_program::files::read_text(file, brisk_program::files::TEXT_BYTES_MAX) {
        Ok(text) => text,
        Err(error) if error.is_missing() => return Ok(Found::new()),
        Err(error) => return Err(error.into()),
    };
    let all: std::collections::BTreeMap<String, One> = toml::from_str(&text)
        .with_context(|| format!("{} is damaged: remove it, or search again with --search", file.display()))?;
    Ok(all.into_iter().map(|(name, one)| (name, (one.settings, one.tried))).collect())
}

pub(super) fn save(file: &Path, found: &Found) -> anyhow::Result<()> {
    #[derive(serde::Serialize)]
    struct One<'a> {
        tried: u32,
        settings: &'a Settings,
    }
    let all: std::collections::BTreeMap<&String, One<'_>> =
        found.iter().map(|(name, (settings, tried))| (name, One { tried: *tried, settings })).collect();
    let text = toml::to_string(&all).context("cannot write the settings as TOML")?;
    if let Some(dir) = file.parent() {
        std::fs::create_dir_all(dir).with_context(|| format!("cannot make {}", dir.display()))?;
    }
    replace(file, format!("# Found by `brisk kernel compare --tuned --save`.\n{text}").as_bytes())?;
    remark(&format!("kept in {}", file.display()));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_found_is_read_as_it_was_saved() {
        let dir = tempfile::tempdir().expect("a folder");
        let file = dir.path().join("6.12/one.toml");
        assert_eq!(read(&file).expect("nothing yet"), Found::new());
        let settings: Settings = [("nr_requests".to_owned(), "4".to_owned())].into();
        let found: Found =
            [("bfq".to_owned(), (settings, 17)), ("mq-deadline".to_owned(), (Settings::new(), 3))].into();
        save(&file, &found).expect("saved");
        assert_eq!(read(&file).expect("read"), found);
        std::fs::write(&file, "bfq = 7").expect("written");
        assert!(format!("{:#}", read(&file).expect_err("damaged")).contains("--search"));
    }
}
