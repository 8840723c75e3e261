//! Replacing files as a whole: written under another name, made durable, renamed.
//!
//! A full disk, an error or a power cut before the rename leaves the earlier file; after it the new one is complete.

use std::fs::{self, File};
use std::io::{self, BufWriter, ErrorKind, Write};
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};

/// The longest part of a file's name that the name of its replacement repeats: names have at most 255 bytes.
const STEM_BYTES_MAX: usize = 200;

/// A file that is being written, and replaces the earlier one when it is complete. Dropping it removes what was written.
///
/// A character device, a pipe or a terminal is written directly.
#[derive(Debug)]
pub struct Replacement {
    writer: BufWriter<File>,
    /// The unfinished file, and its name when it is complete.
    names: Option<(PathBuf, PathBuf)>,
}

impl Replacement {
    /// Begins to replace `path`, which need not exist. A link is followed: the file that it points to is replaced.
    ///
    /// # Errors
    /// When `path` is a directory or a block device, or no file can be made beside it.
    pub fn begin(path: &Path) -> io::Result<Self> {
        let earlier = match fs::metadata(path) {
            Ok(metadata) if metadata.is_dir() => return Err(ErrorKind::IsADirectory.into()),
            // The disk that it is would lose its data.
            Ok(metadata) if metadata.file_type().is_block_device() => {
                return Err(io::Error::new(ErrorKind::InvalidInput, "it is a block device: name a file"));
            }
            Ok(metadata) if !metadata.is_file() => {
                return Ok(Self { writer: BufWriter::new(File::options().write(true).open(path)?), names: None });
            }
            Ok(metadata) => Some(metadata),
            Err(error) if error.kind() == ErrorKind::NotFound => None,
            Err(error) => return Err(error),
        };
        let path = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
        let unfinished = unfinished(&path);
        let file = File::create(&unfinished)?;
        let new = Self { writer: BufWriter::new(file), names: Some((unfinished, path)) };
        if let Some(earlier) = earlier {
            let file = new.writer.get_ref();
            // Without the right to change the owner, the new file is the user's own.
            let _ = std::os::unix::fs::fchown(file, Some(earlier.uid()), Some(earlier.gid()));
            file.set_permissions(earlier.permissions())?;
        }
        Ok(new)
    }

    /// Makes it durable, and puts it in the place of the earlier file.
    ///
    /// # Errors
    /// When the disk is full or fails; the earlier file is then unchanged.
    pub fn finish(mut self) -> io::Result<()> {
        self.writer.flush()?;
        let Some((unfinished, path)) = &self.names else { return Ok(()) };
        self.writer.get_ref().sync_all()?;
        fs::rename(unfinished, path)?;
        // The new name is durable with its directory; a file system that cannot sync one does it by itself.
        let _ = File::open(folder(path)).and_then(|folder| folder.sync_all());
        self.names = None;
        Ok(())
    }
}

impl Write for Replacement {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.writer.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.writer.flush()
    }
}

impl Drop for Replacement {
    fn drop(&mut self) {
        if let Some((unfinished, _)) = &self.names {
            // Nothing more can be done about a file that stays.
            let _ = fs::remove_file(unfinished);
        }
    }
}

/// Puts `content` into `path` as a whole.
///
/// # Errors
/// As [`Replacement::begin`] and [`Replacement::finish`].
pub fn replace(path: &Path, content: &[u8]) -> io::Result<()> {
    let mut new = Replacement::begin(path)?;
    new.write_all(content)?;
    new.finish()
}

/// The name of a file that is not complete yet.
fn unfinished(path: &Path) -> PathBuf {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let end = (0..=name.len().min(STEM_BYTES_MAX)).rev().find(|at| name.is_char_boundary(*at)).unwrap_or(0);
    folder(path).join(format!("{}.{}.new", &name[..end], std::process::id()))
}

/// The directory that a file is in.
fn folder(path: &Path) -> &Path {
    path.parent().filter(|dir| !dir.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt as _;

    fn names(dir: &Path) -> Vec<String> {
        let name = |entry: io::Result<fs::DirEntry>| entry.expect("listed").file_name().into_string().expect("UTF-8");
        fs::read_dir(dir).expect("a directory").map(name).collect()
    }

    #[test]
    fn a_replacement_that_is_given_up_leaves_the_earlier_file_as_it_was() {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("page.html");
        replace(&path, b"earlier").expect("new");
        let mut new = Replacement::begin(&path).expect("begun");
        new.write_all(b"half").and_then(|()| new.flush()).expect("written");
        assert_eq!(fs::read(&path).expect("there"), b"earlier");
        drop(new);
        assert_eq!((fs::read(&path).expect("there"), names(dir.path())), (b"earlier".into(), vec!["page.html".into()]));
        replace(&path, b"later").expect("replaced");
        assert_eq!((fs::read(&path).expect("there"), names(dir.path()).len()), (b"later".into(), 1));
    }

    #[test]
    fn a_replaced_file_keeps_its_mode() {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("secret");
        replace(&path, b"a").expect("new");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).expect("changed");
        replace(&path, b"b").expect("replaced");
        assert_eq!(fs::metadata(&path).expect("there").mode() & 0o777, 0o640);
    }

    #[test]
    fn a_link_stays_and_a_directory_is_refused() {
        let dir = tempfile::tempdir().expect("a directory");
        let (file, link) = (dir.path().join("file"), dir.path().join("link"));
        replace(&file, b"a").expect("new");
        std::os::unix::fs::symlink("file", &link).expect("a link");
        replace(&link, b"b").expect("replaced");
        assert!(fs::symlink_metadata(&link).expect("there").is_symlink());
        assert_eq!(fs::read(&file).expect("there"), b"b");
        assert_eq!(replace(dir.path(), b"x").expect_err("a directory").kind(), ErrorKind::IsADirectory);
        replace(Path::new("/dev/null"), b"x").expect("written directly");
    }

    #[test]
    fn a_name_of_the_greatest_length_can_be_replaced() {
        let dir = tempfile::tempdir().expect("a directory");
        // 253 bytes.
        let path = dir.path().join(format!("{}.html", "ü".repeat(124)));
        replace(&path, b"x").expect("written");
        assert_eq!(fs::read(&path).expect("there"), b"x");
    }
}
