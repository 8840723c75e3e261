//! Files that a user names: read up to a limit, and replaced as a whole; and the reader of tables ([`table`]).
//!
//! Every command takes names of files, and a name may be mistyped: a device without end, a FIFO without a writer, an
//! image of a disk. Every result replaces an earlier one, and a disk may be full. The rules for both are here, once.
//!
//! Properties, each with a test of the same name:
//! - a file beyond the limit is refused before it is read;
//! - what is not a regular file is refused without opening it;
//! - a file that grows while it is read is refused at the limit;
//! - a replacement that fails leaves the earlier file as it was;
//! - a replaced file keeps its mode, owner and attributes;
//! - links that lead to a replaced file stay.

mod attributes;
mod read;
mod replace;
pub mod table;

pub use read::{Error, TEXT_BYTES_MAX, drop_ins, open, read, read_stream, read_text};
pub use replace::{InPlace, Replacement, check_directory, replace, replace_regular};
