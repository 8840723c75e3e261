//! Presets by name or by file.

use std::path::Path;

use crate::flash::Preset;

/// Why a preset cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error(transparent)]
    File(#[from] brisk_program::files::Error),
    #[error("{path}: {error}")]
    PresetFile { path: String, error: crate::flash::PresetError },
    #[error(transparent)]
    Preset(#[from] crate::flash::PresetError),
}

/// The preset called `name`, or in the file of that path.
///
/// # Errors
/// When the file cannot be read, or it is no valid preset.
pub fn load(name: &str) -> Result<Preset, Error> {
    // Built-in names contain no slash and have no suffix.
    if !name.contains('/') && !name.ends_with(".toml") {
        return Ok(Preset::builtin(name)?);
    }
    let text = brisk_program::files::read_text(Path::new(name), brisk_program::files::TEXT_BYTES_MAX)?;
    Preset::from_toml(&text).map_err(|error| Error::PresetFile { path: name.to_owned(), error })
}

/// Sort of device that a preset stands for, by its name: `emmc`, `ufs`, `sd`, else `virtual`.
#[must_use]
pub fn kind_of_preset(preset: &str) -> &'static str {
    let words: Vec<&str> = preset.split(['-', '/', '.']).collect();
    ["emmc", "ufs", "sd"].into_iter().find(|kind| words.contains(kind)).unwrap_or("virtual")
}

#[cfg(test)]
mod tests {
    use super::*;
    use brisk_core::causes::in_one_line;

    #[test]
    fn a_mistake_in_the_file_of_a_preset_is_told_once_with_its_line() {
        let dir = tempfile::tempdir().expect("a directory");
        let file = dir.path().join("mine.toml");
        std::fs::write(&file, "name = \"x\"\ntitle = [\n").expect("written");
        let said = in_one_line(&load(file.to_str().expect("UTF-8")).expect_err("no preset"));
        assert!(said.starts_with(&format!("{}: line 2: ", file.display())), "{said}");
        assert_eq!(said.matches("array").count(), 1, "{said}");
    }

    #[test]
    fn what_is_no_file_is_refused_as_a_preset() {
        // Without an end, and without a writer.
        let dir = tempfile::tempdir().expect("a directory");
        let fifo = dir.path().join("fifo");
        rustix::fs::mknodat(rustix::fs::CWD, &fifo, rustix::fs::FileType::Fifo, 0o600.into(), 0).expect("a FIFO");
        for path in ["/dev/zero", fifo.to_str().expect("UTF-8")] {
            assert!(matches!(load(path), Err(Error::File(brisk_program::files::Error::NotRegular { .. }))), "{path}");
        }
    }

    #[test]
    fn the_kind_stands_in_the_name() {
        for (preset, kind) in [("galaxy-s5-emmc", "emmc"), ("ufs-3.1", "ufs"), ("sd-ridata", "sd"), ("pcm", "virtual")]
        {
            assert_eq!(kind_of_preset(preset), kind);
        }
    }
}
