//! Reading whole files, up to a limit.

use std::fs::{File, FileType};
use std::io::{self, ErrorKind, Read};
use std::os::unix::fs::{FileTypeExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use brisk_core::units::format_bytes;
use thiserror::Error;

/// Limit for what a person writes: configurations, presets, scripts, job files. The largest that ships with brisk has
/// 20 KiB.
pub const TEXT_BYTES_MAX: u64 = 1 << 20;

/// Why a file was not read.
#[derive(Debug, Error)]
pub enum Error {
    #[error("cannot read {}", .path.display())]
    Io { path: PathBuf, source: io::Error },
    #[error("{} is {kind}: name a regular file{}", .path.display(), remedy(.kind))]
    NotRegular { path: PathBuf, kind: &'static str },
    #[error(
        "{} has {}, and at most {} are read of such a file: name another one",
        .path.display(),
        size(.size_bytes, .limit_bytes),
        format_bytes(*.limit_bytes)
    )]
    TooLarge {
        path: PathBuf,
        /// Its size; `None` where it is unknown.
        size_bytes: Option<u64>,
        limit_bytes: u64,
    },
    #[error("{} is not a text: byte {at} (line {line}) is not UTF-8", .path.display())]
    NotText { path: PathBuf, at: usize, line: usize },
    #[error("{} is packed: give what `{by}` unpacks, as in <({by} FILE)", .path.display())]
    Packed { path: PathBuf, by: &'static str },
}

impl Error {
    /// That byte `at` of `bytes` is not UTF-8.
    pub(crate) fn not_text(path: &Path, bytes: &[u8], at: usize) -> Self {
        let line = 1 + bytes.iter().take(at).filter(|byte| **byte == b'\n').count();
        Self::NotText { path: path.to_owned(), at, line }
    }

    /// Whether there is no such file.
    #[must_use]
    pub fn is_missing(&self) -> bool {
        matches!(self, Self::Io { source, .. } if source.kind() == ErrorKind::NotFound)
    }

    /// As an error of the system, for crates that report those.
    #[must_use]
    pub fn into_io(self) -> io::Error {
        match self {
            Self::Io { source, .. } => source,
            other => io::Error::new(ErrorKind::InvalidInput, other.to_string()),
        }
    }
}

fn remedy(kind: &str) -> &'static str {
    if kind == "a directory" { "" } else { ", or copy what it delivers into one" }
}

fn size(size_bytes: &Option<u64>, limit_bytes: &u64) -> String {
    match size_bytes {
        Some(bytes) => format_bytes(*bytes),
        None => format!("more than {}", format_bytes(*limit_bytes)),
    }
}

/// Opens a regular file for reading. Nothing else is opened: a FIFO would block, and opening a device may have effects.
///
/// # Errors
/// [`Error::Io`], [`Error::NotRegular`].
pub fn open(path: &Path) -> Result<File, Error> {
    let failed = |source| Error::Io { path: path.to_owned(), source };
    let refused = |kind| Error::NotRegular { path: path.to_owned(), kind };
    if let Some(kind) = other_kind(std::fs::metadata(path).map_err(failed)?.file_type()) {
        return Err(refused(kind));
    }
    // It may have been exchanged for a FIFO meanwhile.
    let file = File::options().read(true).custom_flags(libc::O_NONBLOCK).open(path).map_err(failed)?;
    match other_kind(file.metadata().map_err(failed)?.file_type()) {
        Some(kind) => Err(refused(kind)),
        None => Ok(file),
    }
}

/// The bytes of a regular file of at most `limit_bytes`.
///
/// # Errors
/// As [`open`], and [`Error::TooLarge`].
pub fn read(path: &Path, limit_bytes: u64) -> Result<Vec<u8>, Error> {
    let file = open(path)?;
    let size_bytes = file.metadata().map_or(0, |metadata| metadata.len());
    if size_bytes > limit_bytes {
        return Err(Error::TooLarge { path: path.to_owned(), size_bytes: Some(size_bytes), limit_bytes });
    }
    read_stream(file, path, limit_bytes)
}

/// The text of a regular file of at most `limit_bytes`.
///
/// # Errors
/// As [`read`], and [`Error::NotText`].
pub fn read_text(path: &Path, limit_bytes: u64) -> Result<String, Error> {
    let bytes = read(path, limit_bytes)?;
    String::from_utf8(bytes).map_err(|error| Error::not_text(path, error.as_bytes(), error.utf8_error().valid_up_to()))
}

/// The drop-in files of the configuration at `path`, in the order of the bytes of their names: of /etc/brisk/brisk.toml
/// those in /etc/brisk/brisk.d that end in .toml; none where that folder is missing.
///
/// # Errors
/// [`Error::Io`] when the folder cannot be read.
pub fn drop_ins(path: &Path) -> Result<Vec<PathBuf>, Error> {
    let folder = path.with_extension("d");
    let failed = |source| Error::Io { path: folder.clone(), source };
    let entries = match std::fs::read_dir(&folder) {
        Ok(entries) => entries,
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => return Ok(Vec::new()),
        Err(error) => return Err(failed(error)),
    };
    let mut found =
        entries.map(|entry| entry.map(|entry| entry.path())).collect::<Result<Vec<_>, _>>().map_err(failed)?;
    let is_hidden = |path: &PathBuf| path.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b"."));
    found.retain(|path| path.extension().is_some_and(|extension| extension == "toml") && !is_hidden(path));
    found.sort();
    Ok(found)
}

/// All bytes of `input`, such as standard input, when these are at most `limit_bytes`; `path` is its name in messages.
///
/// # Errors
/// [`Error::Io`], [`Error::TooLarge`].
pub fn read_stream(input: impl Read, path: &Path, limit_bytes: u64) -> Result<Vec<u8>, Error> {
    let mut bytes = Vec::new();
    let read = input.take(limit_bytes.saturating_add(1)).read_to_end(&mut bytes);
    read.map_err(|source| Error::Io { path: path.to_owned(), source })?;
    if bytes.len() as u64 > limit_bytes {
        return Err(Error::TooLarge { path: path.to_owned(), size_bytes: None, limit_bytes });
    }
    Ok(bytes)
}

/// What a file is, unless it is a regular one.
fn other_kind(kind: FileType) -> Option<&'static str> {
    match kind {
        kind if kind.is_file() => None,
        kind if kind.is_dir() => Some("a directory"),
        kind if kind.is_fifo() => Some("a pipe (FIFO)"),
        kind if kind.is_socket() => Some("a socket"),
        kind if kind.is_block_device() => Some("a block device"),
        _ => Some("a character device"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_beyond_the_limit_is_refused_before_it_is_read() {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("sparse");
        // A terabyte that takes no space: reading it would take minutes.
        File::create(&path).and_then(|file| file.set_len(1 << 40)).expect("a sparse file");
        let error = read(&path, 4096).expect_err("too large");
        assert!(matches!(error, Error::TooLarge { size_bytes: Some(size), .. } if size == 1 << 40), "{error}");
        let words = error.to_string();
        assert!(words.contains("has 1 TiB") && words.contains("at most 4 KiB") && words.contains("sparse"), "{words}");
        std::fs::write(&path, [b'x'; 4096]).expect("written");
        assert_eq!(read(&path, 4096).expect("exactly the limit").len(), 4096);
    }

    #[test]
    fn what_is_not_a_regular_file_is_refused_without_opening_it() {
        let dir = tempfile::tempdir().expect("a directory");
        let fifo = dir.path().join("fifo");
        rustix::fs::mknodat(rustix::fs::CWD, &fifo, rustix::fs::FileType::Fifo, 0o600.into(), 0).expect("a FIFO");
        let socket = dir.path().join("socket");
        let _listens = std::os::unix::net::UnixListener::bind(&socket).expect("a socket");
        for (path, kind) in [
            (fifo.as_path(), "a pipe (FIFO)"),
            (&socket, "a socket"),
            (dir.path(), "a directory"),
            (Path::new("/dev/zero"), "a character device"),
        ] {
            let error = read(path, 4096).expect_err("refused");
            assert!(matches!(&error, Error::NotRegular { kind: found, .. } if *found == kind), "{error}");
        }
        assert!(read(&dir.path().join("missing"), 1).expect_err("missing").is_missing());
    }

    #[test]
    fn a_file_that_grows_while_it_is_read_is_refused_at_the_limit() {
        let error = read_stream(io::repeat(b'x'), Path::new("-"), 1000).expect_err("endless");
        assert!(error.to_string().contains("more than 1000 B"), "{error}");
        assert_eq!(read_stream(&[7; 10][..], Path::new("-"), 10).expect("ten"), [7; 10]);
    }

    #[test]
    fn drop_in_files_are_read_in_the_order_of_their_names() {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("brisk.toml");
        assert_eq!(drop_ins(&path).expect("no folder"), Vec::<PathBuf>::new());
        let folder = dir.path().join("brisk.d");
        std::fs::create_dir(&folder).expect("made");
        for name in ["90-b.toml", "10-z.toml", "README", "50.toml~", ".hidden.toml", "B.toml"] {
            std::fs::write(folder.join(name), "").expect("written");
        }
        let expected = ["10-z.toml", "90-b.toml", "B.toml"].map(|name| folder.join(name));
        assert_eq!(drop_ins(&path).expect("read"), expected);
        // /dev/null stands for no file, and has no folder.
        assert_eq!(drop_ins(Path::new("/dev/null")).expect("none"), Vec::<PathBuf>::new());
    }

    #[test]
    fn bytes_that_are_no_text_are_named() {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("bytes");
        std::fs::write(&path, b"abc\xffdef").expect("written");
        assert!(read_text(&path, 100).expect_err("no text").to_string().contains("byte 3"));
        std::fs::write(&path, "größe").expect("written");
        assert_eq!(read_text(&path, 100).expect("text"), "größe");
    }
}
