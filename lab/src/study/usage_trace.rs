//! Files of usage traces.

use std::path::Path;

use crate::memory::day::UsageTrace;
use brisk_command::tables;

/// Largest text of a trace.
pub(crate) const TEXT_BYTES_MAX: u64 = 1 << 30;

pub(crate) fn read(file: &Path) -> anyhow::Result<UsageTrace> {
    tables::read(file, "a usage trace", TEXT_BYTES_MAX, &[UsageTrace::LAYOUT], UsageTrace::parse)
}
