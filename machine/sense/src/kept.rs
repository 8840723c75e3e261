//! A file of the kernel that is read again and again: opened once, read from its start each time.
//!
//! The kernel makes the text anew for a read at offset 0, so the bytes are as fresh as those of a file just opened.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use brisk_formats::ParseError;

use crate::error::{Error, Result};
use crate::machine::Sense;

/// Free space that a read begins with; the kernel fills it or ends.
const ROOM_BYTES: usize = 4096;

#[derive(Debug)]
pub(crate) struct Kept {
    path: PathBuf,
    file: File,
    /// Kept with its size, so that a sample allocates nothing here after the first.
    buffer: Vec<u8>,
}

impl Kept {
    /// Opens the file at `path`, absolute on the machine.
    pub(crate) fn open(sense: &Sense, path: impl AsRef<Path>) -> Result<Self> {
        let path = sense.path(path);
        match File::open(&path) {
            Ok(file) => Ok(Self { path, file, buffer: Vec::new() }),
            Err(source) => Err(Error::reading(path, source)),
        }
    }

    pub(crate) fn parse<T>(&mut self, parser: impl FnOnce(&[u8]) -> std::result::Result<T, ParseError>) -> Result<T> {
        let length = self.fill().map_err(|source| Error::reading(self.path.clone(), source))?;
        parser(&self.buffer[..length]).map_err(|source| Error::Parse { path: self.path.clone(), source })
    }

    /// Reads it whole; the number of bytes at the start of the buffer.
    fn fill(&mut self) -> std::io::Result<usize> {
        let mut length = 0;
        loop {
            if self.buffer.len() - length < ROOM_BYTES {
                self.buffer.resize(length + 2 * ROOM_BYTES, 0);
            }
            match self.file.read_at(&mut self.buffer[length..], length as u64) {
                Ok(0) => return Ok(length),
                Ok(more) => length += more,
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use brisk_formats::parse_cpu_stat;

    #[test]
    fn each_read_is_fresh_and_whole() {
        let root = tempfile::tempdir().expect("a directory");
        let path = root.path().join("file");
        let sense = Sense::new(root.path());
        let text = |bytes: &[u8]| Ok(bytes.to_vec());
        std::fs::write(&path, vec![b'x'; 100_000]).expect("a file");
        let mut kept = Kept::open(&sense, "file").expect("is there");
        assert_eq!(kept.parse(text).expect("readable"), vec![b'x'; 100_000]);
        std::fs::write(&path, "short").expect("a file");
        assert_eq!(kept.parse(text).expect("readable"), b"short");
        std::fs::write(&path, "").expect("a file");
        assert_eq!(kept.parse(text).expect("readable"), b"");
        let error = kept.parse(parse_cpu_stat).expect_err("no text");
        assert!(error.to_string().contains(path.to_str().expect("UTF-8")), "{error}");
        assert!(matches!(Kept::open(&sense, "gone"), Err(Error::Missing { .. })));
    }

    #[test]
    fn the_kernel_counts_on_between_two_reads() {
        let mut kept = Kept::open(&Sense::default(), "/proc/self/stat").expect("Linux");
        // The tenth word is the number of faults.
        let faults = |bytes: &[u8]| {
            Ok(String::from_utf8_lossy(bytes)
                .rsplit(") ")
                .next()
                .and_then(|rest| rest.split(' ').nth(7)?.parse::<u64>().ok()))
        };
        let before = kept.parse(faults).expect("readable").expect("a number");
        let touched = vec![1u8; 1 << 20];
        assert!(kept.parse(faults).expect("readable") > Some(before), "{} bytes were touched", touched.len());
    }
}
