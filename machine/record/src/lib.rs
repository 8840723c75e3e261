//! A record of what was seen and done: compact, bounded, and readable after a crash or a damaged block.
//!
//! A record is a file that only grows. It begins with the words `brisk record 1` (1 is the version of the format) and a
//! zero byte; then come frames. A frame is
//!
//! ```text
//! COBS( kind: 1 byte, payload, CRC-32 of both: 4 bytes, little end first ), then a zero byte
//! ```
//!
//! COBS (consistent overhead byte stuffing) writes bytes without a zero, at one byte more for each 254. So a zero byte
//! is the end of a frame and nothing else: a reader that meets damage goes on behind the next zero, and needs to trust
//! no length. A frame holds 1 MiB at most. A payload of at least 512 bytes is compressed (deflate), which the highest
//! bit of its kind says.
//!
//! | kind | payload |
//! |---|---|
//! | 1 | a [`Session`] in JSON: begins each session, and each file after the first of a long one |
//! | 2 | a *key*: number of the snapshot (16 bits, little end first) and the [`Snapshot`](brisk_core::snapshot::Snapshot) in postcard |
//! | 3 | a *delta*: number of the snapshot, and what differs from the one before (`delta.rs`) |
//! | 4 | an [`End`] in JSON |
//! | 5 | an [`Event`](brisk_core::event::Event) in JSON |
//! | 6 | a [`Configuration`] in JSON |
//! | 7 | a [`Scene`] in JSON |
//! | 8 | a [`Decided`] in JSON |
//!
//! Kinds 5 to 8 are the daemon's: configuration, scene and events stand before the snapshot on which was decided, the
//! decision behind it. Each file of a long session begins with those that hold.
//!
//! Kinds that a reader does not know are skipped and counted, so that later versions of brisk can add some. Changing
//! the layout of a kind, or a row of the table of counters, takes a new version of the format, and a reader refuses
//! another than its own; `tests/all/format.rs` holds a file of it.
//!
//! A key comes with the first snapshot of a file, at least every 60th, and whenever a device or app comes or goes. A
//! delta counts only behind its predecessor, which the number tells.
//!
//! *Bounded*: a writer with a limit renames its file to `NAME.1` when that reaches half of the limit, and goes on in a
//! new one; so the latest half at least is kept. *Crash safe*: a frame is one write; what a crash cut off is found and
//! dropped when the file is opened again. Frames reach the disk when the kernel writes back its cache, at the end at
//! the latest: a power cut loses up to half a minute.
//!
//! Properties: what is written is read back; no bytes make the reader panic or take more memory than one frame; damage
//! costs the frames that it hits and at most the deltas up to the next key, and is reported.

mod delta;
mod error;
mod format;
mod frame;
mod item;
mod parts;
mod reader;
mod writer;

pub use error::{Error, Result};
pub use item::{Configuration, Decided, End, Item, Scene, Session};
pub use parts::{older_part, read_with_older_part, remove, set_damaged_aside};
pub use reader::{Lost, Reader};
pub use writer::{Writer, Written};
