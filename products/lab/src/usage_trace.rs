//! Files of usage traces: plain or packed text, read up to a limit.

use std::io::Read as _;
use std::path::Path;

use anyhow::{Context as _, bail};
use brisk_core::units::format_bytes;
use brisk_memory::day::UsageTrace;

/// Largest file of a trace, and what it may unpack to.
const FILE_BYTES_MAX: u64 = 256 << 20;
const TEXT_BYTES_MAX: u64 = 1 << 30;

/// Reads a trace.
pub(crate) fn read(file: &Path) -> anyhow::Result<UsageTrace> {
    UsageTrace::parse(&text(file)?).with_context(|| format!("{} is not a usage trace", file.display()))
}

/// Reads a text, packed by gzip or not.
pub(crate) fn text(file: &Path) -> anyhow::Result<String> {
    let bytes = brisk_files::read(file, FILE_BYTES_MAX)?;
    let bytes = if bytes.starts_with(&[0x1f, 0x8b]) {
        let unpacked = flate2::read::MultiGzDecoder::new(&bytes[..]);
        let failed = || format!("cannot unpack {}", file.display());
        let mut text = Vec::new();
        unpacked.take(TEXT_BYTES_MAX + 1).read_to_end(&mut text).with_context(failed)?;
        if text.len() as u64 > TEXT_BYTES_MAX {
            bail!("{} unpacks to more than {}: cut it", file.display(), format_bytes(TEXT_BYTES_MAX));
        }
        text
    } else {
        bytes
    };
    String::from_utf8(bytes).with_context(|| format!("{} is no text", file.display()))
}
