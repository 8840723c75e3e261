//! Why a record cannot be written or read.

use std::io;
use std::path::PathBuf;

use thiserror::Error;

use crate::format::FORMAT;

/// Result of this crate.
pub type Result<T> = std::result::Result<T, Error>;

/// Why a record cannot be written or read.
#[derive(Debug, Error)]
pub enum Error {
    /// The file cannot be opened or made.
    #[error("cannot open {}", .path.display())]
    Open {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The record cannot be opened, or is no regular file.
    #[error(transparent)]
    File(#[from] brisk_files::Error),
    /// It is a directory, a pipe or a device.
    #[error("{} is not a regular file: name a file for the record", .path.display())]
    NotAFile {
        /// What was named.
        path: PathBuf,
    },
    /// Nothing in the file is of a record.
    #[error(
        "{} is not a record of brisk, which 'brisk monitor --output FILE' writes, or its head is damaged: name another file, or \
         move it away", .path.display()
    )]
    NotARecord {
        /// The file.
        path: PathBuf,
    },
    /// A later brisk has written it.
    #[error("{} is a record of format {format}; this brisk knows {FORMAT}: use a newer one", .path.display())]
    Newer {
        /// The file.
        path: PathBuf,
        /// The version of its format.
        format: u32,
    },
    /// Another process writes it at this moment.
    #[error("{} is being written by another brisk: name another file, or end that one", .path.display())]
    InUse {
        /// The file.
        path: PathBuf,
    },
    /// The disk is full, or broke.
    #[error("cannot write {}; the {samples} samples before are kept", .path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// How many samples of this session are in the record.
        samples: u64,
        /// What the system said.
        source: io::Error,
    },
    /// The disk broke.
    #[error("cannot read {}", .path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// An item is larger than a frame may be.
    #[error("a sample takes {size_bytes} bytes, more than a record holds in one piece: watch fewer devices or groups")]
    TooLarge {
        /// Its size.
        size_bytes: usize,
    },
}
