//! Files of a launch: which of their pages it used, where those lie on the device, and what is read ahead of the next
//! one.
//!
//! A file is known by its place on a device ([`MappedFile`]) and its *version*: the time of the last change of its
//! inode and its size. A package that is updated gives the file another inode, or at least another time.
//!
//! Properties: `the_version_of_a_file_is_a_pair_in_records`.

use serde::{Deserialize, Serialize};

use crate::pages::{MappedFile, PageRange};

/// Version of a file.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(from = "(i64, u64)", into = "(i64, u64)")]
pub struct FileVersion {
    /// Last change of the inode (`st_ctime`), ns since 1970.
    pub changed_ns: i64,
    /// Size.
    pub size_bytes: u64,
}

impl From<(i64, u64)> for FileVersion {
    fn from((changed_ns, size_bytes): (i64, u64)) -> Self {
        Self { changed_ns, size_bytes }
    }
}

impl From<FileVersion> for (i64, u64) {
    fn from(version: FileVersion) -> Self {
        (version.changed_ns, version.size_bytes)
    }
}

/// Adjacent pages of a file that lie one after the other on the device.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(from = "(u64, u64, u64)", into = "(u64, u64, u64)")]
pub struct PlacedRange {
    /// The pages.
    pub range: PageRange,
    /// Where the first lies, in pages from the begin of the file system's device.
    pub physical_page: u64,
}

impl From<(u64, u64, u64)> for PlacedRange {
    fn from((first_page, pages, physical_page): (u64, u64, u64)) -> Self {
        Self { range: PageRange { first_page, pages }, physical_page }
    }
}

impl From<PlacedRange> for (u64, u64, u64) {
    fn from(placed: PlacedRange) -> Self {
        (placed.range.first_page, placed.range.pages, placed.physical_page)
    }
}

/// What a launch used of one file. Lists are ascending, and their ranges do not overlap.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct UsedFile {
    /// The file, with its path from the root directory of the app.
    pub file: MappedFile,
    /// Its version.
    pub version: FileVersion,
    /// Pages that the app has mapped, private copies of them included.
    pub used: Vec<PageRange>,
    /// Whether the app opened it and mapped nothing of it: then those of its pages count that are in memory.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub opened: bool,
    /// Where the file lies; empty where the file system does not tell.
    pub placed: Vec<PlacedRange>,
}

/// What a launch used of the files on local block devices.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LaunchFiles {
    /// Size of a page.
    pub page_bytes: u64,
    /// Whether opens were watched during the launch: otherwise files that it read without mapping them are missing.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub opens: bool,
    /// The files, by path.
    pub files: Vec<UsedFile>,
}

/// Whether a file is private: in one of these directories, or below.
#[must_use]
pub fn is_private(path: &str, private: &[String]) -> bool {
    private.iter().any(|dir| {
        let dir = dir.trim_end_matches('/');
        path.strip_prefix(dir).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    })
}

/// A file that is read ahead of a launch.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct PrefetchFile {
    /// The file. Another one that has its path by now is not read.
    pub file: MappedFile,
    /// Its version: a file that was changed since is not read.
    pub version: FileVersion,
}

/// A range of one of the files.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(from = "(u32, u64, u64)", into = "(u32, u64, u64)")]
pub struct Piece {
    /// Place of the file in the list.
    pub file: u32,
    /// Begin of the range in the file.
    pub offset_bytes: u64,
    /// Its length.
    pub size_bytes: u64,
}

impl From<(u32, u64, u64)> for Piece {
    fn from((file, offset_bytes, size_bytes): (u32, u64, u64)) -> Self {
        Self { file, offset_bytes, size_bytes }
    }
}

impl From<Piece> for (u32, u64, u64) {
    fn from(piece: Piece) -> Self {
        (piece.file, piece.offset_bytes, piece.size_bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_version_of_a_file_is_a_pair_in_records() {
        let version = FileVersion { changed_ns: -5, size_bytes: 7 };
        let placed = PlacedRange { range: PageRange { first_page: 1, pages: 2 }, physical_page: 9 };
        let piece = Piece { file: 3, offset_bytes: 4096, size_bytes: 8192 };
        let text = serde_json::to_string(&(version, placed, piece)).expect("JSON");
        assert_eq!(text, "[[-5,7],[1,2,9],[3,4096,8192]]");
        let again: (FileVersion, PlacedRange, Piece) = serde_json::from_str(&text).expect("the same");
        assert_eq!(again, (version, placed, piece));
    }

    #[test]
    fn files_of_people_are_private_and_those_of_packages_are_not() {
        let private =
            |dirs: &[&str], path| is_private(path, &dirs.iter().map(|&dir| dir.to_owned()).collect::<Vec<_>>());
        for path in ["/home/a/x", "/home", "/media/card/z"] {
            assert!(private(&["/home", "/media"], path), "{path}");
        }
        for path in ["/usr/lib/x.so", "/homes/x", "/opt/app/bin"] {
            assert!(!private(&["/home", "/media"], path), "{path}");
        }
        assert!(private(&["/srv/"], "/srv/x") && private(&["/"], "/usr/bin/x"));
    }
}
