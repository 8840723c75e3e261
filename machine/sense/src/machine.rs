//! A machine whose /proc and /sys lie under one root directory.

use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use brisk_formats::{ParseError, fields};

use crate::error::{Absent as _, Error, Result};

/// Room that a read begins with: most files of the kernel are shorter.
const ROOM_BYTES: usize = 4096;
/// Larger files of the kernel are not read: users can make some of any size, such as the mappings of a process.
const FILE_BYTES_MAX: u64 = 4 << 20;

/// Reads a machine whose /proc and /sys lie under one root directory.
///
/// Cheap to make and to clone; holds no open file and caches nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sense {
    root: PathBuf,
}

impl Default for Sense {
    fn default() -> Self {
        Self::new("/")
    }
}

impl Sense {
    /// A reader below `root`: `/` for this machine, or a directory that holds a captured `proc` and `sys`.
    #[must_use]
    pub fn new(root: impl Into<PathBuf>) -> Self {
        Self { root: root.into() }
    }

    /// Where `path`, absolute on the machine, lies below the root.
    #[must_use]
    pub fn path(&self, path: impl AsRef<Path>) -> PathBuf {
        let path = path.as_ref();
        self.root.join(path.strip_prefix("/").unwrap_or(path))
    }

    /// The bytes of the file at `path`.
    pub(crate) fn read(&self, path: impl AsRef<Path>) -> Result<Vec<u8>> {
        let path = self.path(path);
        read_whole(&path).map_err(|source| Error::reading(path, source))
    }

    /// The bytes of a file that not every kernel has, or has only for some devices.
    ///
    /// `None` when it is missing or when the driver says that this device has no such attribute.
    pub(crate) fn read_optional(&self, path: impl AsRef<Path>) -> Result<Option<Vec<u8>>> {
        self.read(path).or_absent()
    }

    /// The whole file at `path`, parsed.
    pub(crate) fn parse<T>(
        &self,
        path: impl AsRef<Path>,
        parser: impl FnOnce(&[u8]) -> std::result::Result<T, ParseError>,
    ) -> Result<T> {
        parser(&self.read(&path)?).map_err(|source| Error::Parse { path: self.path(path), source })
    }

    /// As [`Sense::parse`], for a file that may be missing.
    pub(crate) fn parse_optional<T>(
        &self,
        path: impl AsRef<Path>,
        parser: impl FnOnce(&[u8]) -> std::result::Result<T, ParseError>,
    ) -> Result<Option<T>> {
        self.parse(path, parser).or_absent()
    }

    /// As [`Sense::parse_optional`], where a parser may find nothing in a file that is there.
    pub(crate) fn parse_optional_flat<T>(
        &self,
        path: impl AsRef<Path>,
        parser: impl FnOnce(&[u8]) -> std::result::Result<Option<T>, ParseError>,
    ) -> Result<Option<T>> {
        Ok(self.parse_optional(path, parser)?.flatten())
    }

    /// The one line of text that a file of /sys holds, without white space at its ends; `None` when missing or empty.
    pub(crate) fn text_optional(&self, path: impl AsRef<Path>) -> Result<Option<String>> {
        Ok(self.read_optional(path)?.map(|bytes| fields::text(&bytes)).filter(|text| !text.is_empty()))
    }

    /// The same of a lesser fact, which never hides the thing that it is of: `None` too when it is not readable.
    pub(crate) fn text_if_any(&self, path: impl AsRef<Path>) -> Option<String> {
        self.text_optional(path).ok().flatten()
    }

    /// The number that a file of this name in `dir` holds; `None` when it is missing.
    pub(crate) fn number_optional<T: FromStr>(&self, dir: impl AsRef<Path>, file: &'static str) -> Result<Option<T>> {
        self.parse_optional(dir.as_ref().join(file), |bytes| fields::only_number(file, bytes))
    }

    /// The number that a file of this name in `dir` holds.
    pub(crate) fn number<T: FromStr>(&self, dir: impl AsRef<Path>, file: &'static str) -> Result<T> {
        self.parse(dir.as_ref().join(file), |bytes| fields::only_number(file, bytes))
    }

    /// The names in a directory, sorted; empty when the directory is missing.
    pub(crate) fn names_in(&self, path: impl AsRef<Path>) -> Result<Vec<String>> {
        let path = self.path(path);
        let entries = match std::fs::read_dir(&path) {
            Ok(entries) => entries,
            Err(source) if source.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(source) => return Err(Error::reading(path, source)),
        };
        let mut names = Vec::new();
        for entry in entries {
            let entry = entry.map_err(|source| Error::reading(path.clone(), source))?;
            names.push(entry.file_name().to_string_lossy().into_owned());
        }
        names.sort_by(|a, b| natural(a).cmp(&natural(b)));
        Ok(names)
    }
}

/// Reads a file of the kernel: such files say that they are empty, so `fs::read` begins with 32 bytes and needs twice
/// as many calls.
fn read_whole(path: &Path) -> std::io::Result<Vec<u8>> {
    let mut bytes = Vec::with_capacity(ROOM_BYTES);
    // Without a limit the size would be asked for.
    std::fs::File::open(path)?.take(FILE_BYTES_MAX + 1).read_to_end(&mut bytes)?;
    let is_whole = bytes.len() as u64 <= FILE_BYTES_MAX;
    is_whole.then_some(bytes).ok_or_else(|| std::io::ErrorKind::FileTooLarge.into())
}

/// A key that puts `loop2` before `loop10`.
fn natural(name: &str) -> (&str, u64, &str) {
    let digits = name.find(|c: char| c.is_ascii_digit()).unwrap_or(name.len());
    let (stem, number) = name.split_at(digits);
    let end = number.find(|c: char| !c.is_ascii_digit()).unwrap_or(number.len());
    (stem, number[..end].parse().unwrap_or(u64::MAX), number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_stay_below_the_root() {
        let sense = Sense::new("/fixture");
        assert_eq!(sense.path("/proc/stat"), Path::new("/fixture/proc/stat"));
        assert_eq!(sense.path("proc/stat"), Path::new("/fixture/proc/stat"));
        assert_eq!(Sense::default().path("/proc/stat"), Path::new("/proc/stat"));
    }

    #[test]
    fn names_are_ordered_as_people_count() {
        let mut names = ["loop10", "loop2", "dm-1", "loop", "sda", "loop2p1"];
        names.sort_by(|a, b| natural(a).cmp(&natural(b)));
        assert_eq!(names, ["dm-1", "loop2", "loop2p1", "loop10", "loop", "sda"]);
    }
}
