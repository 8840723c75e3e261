//! `brisk report --pages`: a folder with one page for each device and an index of them.

use std::fs::{self, File};
use std::io::{ErrorKind, Read as _};
use std::path::{Path, PathBuf};

use crate::output::replace;
use anyhow::{Context, bail};
use brisk_report::Page;

/// Bytes at the beginning of a file in which a page names what wrote it.
const HEAD_BYTES: u64 = 1024;

/// Writes the pages into `folder`, which is made where it is lacking, and gives their paths. Pages of an earlier run
/// are replaced; another file of the same name is not.
///
/// # Errors
/// When the folder cannot be made, a file there is no page of brisk, or a page cannot be written.
pub(super) fn write(folder: &Path, pages: &[Page]) -> anyhow::Result<Vec<PathBuf>> {
    if folder.exists() && !folder.is_dir() {
        bail!("{} is no folder: give --pages the name of one, which need not exist", folder.display());
    }
    fs::create_dir_all(folder).with_context(|| format!("cannot make the folder {}", folder.display()))?;
    let folder = folder.canonicalize().with_context(|| format!("cannot use the folder {}", folder.display()))?;
    let paths: Vec<PathBuf> = pages.iter().map(|page| folder.join(&page.name)).collect();
    for path in &paths {
        refuse_to_replace_others(path)?;
    }
    for (path, page) in paths.iter().zip(pages) {
        replace(path, page.html.as_bytes())?;
    }
    Ok(paths)
}

/// A folder may hold an index.html that has nothing to do with brisk.
fn refuse_to_replace_others(path: &Path) -> anyhow::Result<()> {
    let read = match File::open(path) {
        Ok(file) => {
            let mut head = Vec::new();
            file.take(HEAD_BYTES).read_to_end(&mut head).map(|_| head)
        }
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        Err(error) => Err(error),
    };
    let head = read.with_context(|| format!("cannot read {}, which a page would replace", path.display()))?;
    if !String::from_utf8_lossy(&head).contains(brisk_report::MARK) {
        bail!("{} is not a page of brisk and stays: give --pages another folder", path.display());
    }
    Ok(())
}
