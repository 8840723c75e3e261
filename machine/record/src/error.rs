//! Why a record cannot be written or read.

use std::io;
use std::path::PathBuf;

use thiserror::Error;

use crate::format::FORMAT;

pub type Result<T> = std::result::Result<T, Error>;

/// Why a record cannot be written or read.
#[derive(Debug, Error)]
pub enum Error {
    #[error("cannot open {}", .path.display())]
    Open { path: PathBuf, source: io::Error },
    #[error(transparent)]
    File(#[from] brisk_program::files::Error),
    #[error("{} is not a regular file: name a file for the record", .path.display())]
    NotAFile { path: PathBuf },
    #[error(
        "{} is not a record of brisk, which 'brisk monitor --output FILE' writes, or its head is damaged: name another \
         file, or move it away", .path.display()
    )]
    NotARecord { path: PathBuf },
    #[error("{} is a record of format {format}; this brisk knows {FORMAT}: use a newer one", .path.display())]
    Newer { path: PathBuf, format: u32 },
    #[error("{} is being written by another brisk: name another file, or end that one", .path.display())]
    InUse { path: PathBuf },
    #[error("cannot write {}; the {samples} samples before are kept", .path.display())]
    Write { path: PathBuf, samples: u64, source: io::Error },
    #[error("cannot read {}", .path.display())]
    Read { path: PathBuf, source: io::Error },
    #[error("a sample takes {size_bytes} bytes, more than a record holds in one piece: watch fewer devices or groups")]
    TooLarge { size_bytes: usize },
}
