//! What a record begins with.

pub(crate) const FORMAT: u32 = 1;

/// What a record begins with, before its version.
pub(crate) const MAGIC: &[u8] = b"brisk record ";
