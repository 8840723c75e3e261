//! Commands that read results: `report`, `compare` and `submit`, of `brisk` and of `brisk-lab`.
//!
//! Each program has a list of the kinds that it knows ([`Kinds`]); `brisk-lab` knows those of `brisk` too. Where
//! `brisk` meets another kind, it hands over to `brisk-lab`, as it does for its commands.

pub mod compare;
mod pages;
pub mod report;
pub mod submit;

use std::ffi::CStr;
use std::io::{Seek as _, Write as _};
use std::path::Path;
use std::process::ExitCode;

use anyhow::Context as _;
use brisk_report::{Document, Entry, Kinds, ReadError};

use crate::lab;

/// Most bytes of a file of documents. A launch, whose list of reads is the longest of all documents, takes about 13 KB:
/// 1,000 cold and warm launches of two command lines take 52 MB.
const DOCUMENTS_BYTES_MAX: u64 = 64 << 20;

/// The kinds that `brisk` makes.
pub const KINDS: Kinds = Kinds(OF_DEVICES);
/// The lists of kinds that `brisk` makes, for a program that has more.
pub const OF_DEVICES: &[&[Entry]] =
    &[brisk_bench::results::KINDS, brisk_profile::results::KINDS, brisk_report::results::KINDS];

/// All documents of a file; of standard input for `-`.
///
/// # Errors
/// When it cannot be read, or has something else than documents of these kinds.
pub fn read(kinds: Kinds, file: &Path) -> anyhow::Result<Vec<Document>> {
    let (name, text) = if is_standard(file) {
        let name = Path::new("standard input");
        (name, brisk_program::files::read_stream(std::io::stdin().lock(), name, DOCUMENTS_BYTES_MAX)?)
    } else {
        (file, brisk_program::files::read(file, DOCUMENTS_BYTES_MAX)?)
    };
    let read = brisk_report::parse(kinds, &text).with_context(|| format!("cannot show {}", name.display()));
    if is_standard(file) && read.as_ref().is_err_and(is_of_unknown_kind) {
        put_back(&text).context("cannot hand standard input over")?;
    }
    read
}

/// `outcome` of `command`; where a document is of a kind that this program does not know, that of `brisk-lab`, if it is
/// installed.
///
/// # Errors
/// Those of the command. An unknown kind without `brisk-lab` names its package too.
pub fn or_handed_over(command: &str, outcome: anyhow::Result<ExitCode>) -> anyhow::Result<ExitCode> {
    match outcome {
        Err(error) if is_of_unknown_kind(&error) && lab::program().is_some() => lab::hand_over(command),
        Err(error) if is_of_unknown_kind(&error) => Err(error.context(format!(
            "results of the laboratory need the program {}: install the package {0}, or in a source tree run: make \
             build",
            lab::PROGRAM
        ))),
        outcome => outcome,
    }
}

fn is_of_unknown_kind(error: &anyhow::Error) -> bool {
    error.chain().any(|cause| matches!(cause.downcast_ref::<ReadError>(), Some(ReadError::UnknownKind { .. })))
}

/// Makes `text` the standard input again, for the program that this one becomes.
fn put_back(text: &[u8]) -> std::io::Result<()> {
    const NAME: &CStr = c"documents";
    let mut file = std::fs::File::from(rustix::fs::memfd_create(NAME, rustix::fs::MemfdFlags::CLOEXEC)?);
    file.write_all(text)?;
    file.rewind()?;
    Ok(rustix::stdio::dup2_stdin(&file)?)
}

fn is_standard(path: &Path) -> bool {
    path.as_os_str() == "-"
}
