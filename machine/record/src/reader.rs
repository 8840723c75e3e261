//! Reads a record from its start to its end, around damage.

use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::path::{Path, PathBuf};

use brisk_core::snapshot::Snapshot;
use serde::Serialize;

use crate::delta;
use crate::error::{Error, Result};
use crate::format::FORMAT;
use crate::frame::{self, FRAME_BYTES_MAX, Kind};
use crate::item::Item;

/// What a reader could not use so far.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Lost {
    /// Frames that are damaged: each may have been several.
    pub damaged_frames: u64,
    pub damaged_bytes: u64,
    /// Samples that are whole, but differ from one that is lost.
    pub orphaned_samples: u64,
    /// Bytes at the end that a crash cut off.
    pub cut_off_bytes: u64,
    /// Frames of a kind that only later versions of brisk know. That is no damage.
    pub unknown_frames: u64,
}

impl Lost {
    /// Whether anything is missing that was once written.
    #[must_use]
    pub fn is_damage(&self) -> bool {
        let Self { damaged_frames, damaged_bytes: _, orphaned_samples, cut_off_bytes, unknown_frames: _ } = self;
        *damaged_frames > 0 || *orphaned_samples > 0 || *cut_off_bytes > 0
    }

    /// Of two records together.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self {
            damaged_frames: self.damaged_frames + other.damaged_frames,
            damaged_bytes: self.damaged_bytes + other.damaged_bytes,
            orphaned_samples: self.orphaned_samples + other.orphaned_samples,
            cut_off_bytes: self.cut_off_bytes + other.cut_off_bytes,
            unknown_frames: self.unknown_frames + other.unknown_frames,
        }
    }
}

/// Gives the items of a record one after the other.
#[derive(Debug)]
pub struct Reader<R> {
    input: R,
    path: PathBuf,
    lost: Lost,
    /// Whether the last byte was a zero that ended nothing.
    in_zeros: bool,
    /// The last snapshot and its number, if deltas may follow.
    last: Option<(u16, Snapshot)>,
    /// The item that was found while looking for the first.
    first: Option<Item>,
}

impl Reader<BufReader<File>> {
    /// Opens the record at `path`.
    ///
    /// # Errors
    /// When there is no such file, it is no record, or one of a later format.
    pub fn open(path: &Path) -> Result<Self> {
        Self::new(BufReader::new(brisk_program::files::open(path)?), path)
    }
}

impl<R: BufRead> Reader<R> {
    /// Reads a record from `input`; `path` is its name in messages.
    ///
    /// # Errors
    /// When not one frame of it is whole, its format is later, or it cannot be read.
    pub fn new(input: R, path: &Path) -> Result<Self> {
        let mut reader =
            Self { input, path: path.to_owned(), lost: Lost::default(), in_zeros: false, last: None, first: None };
        let head = reader.chunk()?;
        let format = head.as_deref().and_then(frame::format_of);
        match format {
            Some(format) if format != FORMAT => return Err(Error::Newer { path: reader.path, format }),
            Some(_) => {}
            // Perhaps the head alone is damaged; then whole frames follow.
            None => reader.damaged(head.map_or(0, |head| head.len())),
        }
        reader.first = reader.next_item()?;
        if reader.first.is_none() && format.is_none() && reader.lost.unknown_frames == 0 {
            return Err(Error::NotARecord { path: reader.path });
        }
        Ok(reader)
    }

    /// What could not be used so far; complete once the reader gave its last item.
    #[must_use]
    pub fn lost(&self) -> Lost {
        self.lost
    }

    /// The next item; `None` at the end.
    fn next_item(&mut self) -> Result<Option<Item>> {
        while let Some(chunk) = self.chunk()? {
            if std::mem::replace(&mut self.in_zeros, chunk.is_empty()) && chunk.is_empty() {
                // What a power cut left of a block that never reached the disk: zeros, one after the other.
                self.lost.damaged_bytes += 1;
                continue;
            }
            let Some((kind, payload)) = frame::decode(&chunk) else {
                self.damaged(chunk.len().max(1));
                continue;
            };
            let Some(kind) = Kind::of(kind) else {
                self.lost.unknown_frames += 1;
                continue;
            };
            let item = match kind {
                Kind::Session => {
                    self.last = None;
                    serde_json::from_slice(&payload).ok().map(Item::Session)
                }
                Kind::End => serde_json::from_slice(&payload).ok().map(Item::End),
                Kind::Event | Kind::Configuration | Kind::Scene | Kind::Decided => {
                    match of_the_daemon(kind, &payload) {
                        Some(item) => Some(item),
                        // Whole, so written that way: an event or a setting that only a later brisk knows.
                        None => {
                            self.lost.unknown_frames += 1;
                            continue;
                        }
                    }
                }
                Kind::Key | Kind::Delta => match self.snapshot(kind, &payload) {
                    Sample::Whole(snapshot) => Some(Item::Snapshot(snapshot)),
                    Sample::Orphan => {
                        self.lost.orphaned_samples += 1;
                        continue;
                    }
                    Sample::Damaged => None,
                },
            };
            match item {
                Some(item) => return Ok(Some(item)),
                None => self.damaged(chunk.len()),
            }
        }
        Ok(None)
    }

    fn snapshot(&mut self, kind: Kind, payload: &[u8]) -> Sample {
        let Some((number, payload)) = payload.split_first_chunk() else { return Sample::Damaged };
        let number = u16::from_le_bytes(*number);
        let last = self.last.take();
        let snapshot = if kind == Kind::Key {
            postcard::from_bytes(payload).ok()
        } else {
            match last {
                Some((before, last)) if before.wrapping_add(1) == number => delta::decode(&last, payload),
                _ => return Sample::Orphan,
            }
        };
        let Some(snapshot) = snapshot else { return Sample::Damaged };
        self.last = Some((number, snapshot.clone()));
        Sample::Whole(Box::new(snapshot))
    }

    fn damaged(&mut self, bytes: usize) {
        self.lost.damaged_frames += 1;
        self.lost.damaged_bytes += bytes as u64;
    }

    /// The bytes up to the next zero byte, without it; `None` at the end. Longer ones than a frame may be are skipped
    /// as damage, as is what stands behind the last zero byte.
    fn chunk(&mut self) -> Result<Option<Vec<u8>>> {
        let mut chunk = Vec::new();
        let mut too_long_bytes = 0;
        loop {
            let buffer = match self.input.fill_buf() {
                Ok(buffer) => buffer,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(source) => return Err(Error::Read { path: self.path.clone(), source }),
            };
            if buffer.is_empty() {
                self.lost.cut_off_bytes += (chunk.len() + too_long_bytes) as u64;
                return Ok(None);
            }
            let end = buffer.iter().position(|&byte| byte == 0);
            let part = &buffer[..end.unwrap_or(buffer.len())];
            if chunk.len() + part.len() > FRAME_BYTES_MAX {
                too_long_bytes += chunk.len() + part.len();
                chunk.clear();
            } else {
                chunk.extend(part);
            }
            let used = part.len() + usize::from(end.is_some());
            self.input.consume(used);
            if end.is_none() {
                continue;
            }
            if too_long_bytes > 0 {
                self.damaged(too_long_bytes + chunk.len());
                too_long_bytes = 0;
                chunk.clear();
                continue;
            }
            return Ok(Some(chunk));
        }
    }
}

fn of_the_daemon(kind: Kind, payload: &[u8]) -> Option<Item> {
    match kind {
        Kind::Event => serde_json::from_slice(payload).ok().map(Item::Event),
        Kind::Configuration => serde_json::from_slice(payload).ok().map(Item::Configuration),
        Kind::Scene => serde_json::from_slice(payload).ok().map(Item::Scene),
        Kind::Decided => serde_json::from_slice(payload).ok().map(Item::Decided),
        Kind::Session | Kind::Key | Kind::Delta | Kind::End => None,
    }
}

/// What a frame of a snapshot gave.
enum Sample {
    Whole(Box<Snapshot>),
    /// The one that it differs from is lost.
    Orphan,
    Damaged,
}

impl<R: BufRead> Iterator for Reader<R> {
    type Item = Result<Item>;

    fn next(&mut self) -> Option<Self::Item> {
        match self.first.take() {
            Some(item) => Some(Ok(item)),
            None => self.next_item().transpose(),
        }
    }
}
