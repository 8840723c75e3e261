//! What was measured on devices, by `brisk profile` and `brisk study`: files of the engines, one for each model of
//! device.

use std::collections::BTreeMap;
use std::path::Path;

/// Larger files are none of ours, and left out.
pub const FILE_BYTES_MAX: u64 = 256 << 10;
/// A record holds all of them in one piece.
const ALL_BYTES_MAX: usize = 512 << 10;

/// Texts of all finished files (`.toml`, `.json`) in the folders of `dir`, by folder and name: `smartio/MODEL.toml`.
/// What cannot be read is left out, and so is what is beyond half a megabyte in all.
#[must_use]
pub fn read(dir: &Path) -> BTreeMap<String, String> {
    let mut found: Vec<(String, std::path::PathBuf)> = Vec::new();
    for folder in std::fs::read_dir(dir).into_iter().flatten().flatten() {
        for file in std::fs::read_dir(folder.path()).into_iter().flatten().flatten() {
            let (folder, name) = (folder.file_name(), file.file_name());
            if let (Some(folder), Some(name)) = (folder.to_str(), name.to_str())
                && !name.starts_with('.')
                && (name.ends_with(".toml") || name.ends_with(".json"))
            {
                found.push((format!("{folder}/{name}"), file.path()));
            }
        }
    }
    found.sort();
    let mut files = BTreeMap::new();
    let mut bytes = 0;
    for (name, path) in found {
        if let Ok(text) = brisk_program::files::read_text(&path, FILE_BYTES_MAX) {
            bytes += name.len() + text.len();
            if bytes > ALL_BYTES_MAX {
                brisk_program::warn!(
                    "briskd: {} holds more than {ALL_BYTES_MAX} bytes; {name} and later ones are left out",
                    dir.display()
                );
                break;
            }
            files.insert(name, text);
        }
    }
    files
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_known_by_folder_and_name() {
        let dir = tempfile::tempdir().expect("a directory");
        std::fs::create_dir_all(dir.path().join("smartio")).expect("made");
        std::fs::write(dir.path().join("smartio/a b.toml"), "x = 1\n").expect("written");
        std::fs::write(dir.path().join("smartio/.tmp"), "half").expect("written");
        std::fs::write(dir.path().join("smartio/large.json"), vec![b'x'; 300 << 10]).expect("written");
        std::fs::write(dir.path().join("smartio/half.unfinished"), "half").expect("written");
        std::fs::write(dir.path().join("loose"), "x").expect("written");
        let expected = BTreeMap::from([("smartio/a b.toml".to_owned(), "x = 1\n".to_owned())]);
        assert_eq!(read(dir.path()), expected);
        assert_eq!(read(&dir.path().join("none")), BTreeMap::new());
    }
}
