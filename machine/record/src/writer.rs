//! Writes a record: one frame, one write.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Read, Seek, SeekFrom};
use std::os::unix::fs::{FileExt, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use brisk_core::event::Event;
use brisk_core::snapshot::Snapshot;

use crate::delta;
use crate::error::{Error, Result};
use crate::format::{FORMAT, MAGIC};
use crate::frame::{self, Kind};
use crate::item::{self, Configuration, Decided, End, Scene, Session};
use crate::parts::older_part;

/// A key comes at least with each of so many snapshots: that much a lost one can cost.
const KEY_EVERY: u32 = 60;

/// How a file is searched for its last zero byte.
const BLOCK_BYTES: u64 = 1 << 16;

/// What a writer has written.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Written {
    pub samples: u64,
    /// Bytes of this session, in all its files.
    pub bytes: u64,
    /// Files that were filled and set aside.
    pub parts: u64,
    /// Bytes that an earlier session had left unfinished at the end of the file, and that are gone now.
    pub dropped_bytes: u64,
}

/// Writes one session to a record.
#[derive(Debug)]
pub struct Writer {
    path: PathBuf,
    file: File,
    length_bytes: u64,
    size_bytes_max: Option<u64>,
    session: Session,
    number: u16,
    /// The last snapshot, and how many deltas may still follow its key.
    last: Option<(Snapshot, u32)>,
    /// Frames of what holds until it is replaced: configuration, scene, decision.
    holding: [Vec<u8>; 3],
    written: Written,
}

impl Writer {
    /// Begins a session in the record at `path`: a new file, or behind what an existing record holds. With
    /// `size_bytes_max` the file and its older part together stay below that, if a single sample does.
    ///
    /// # Errors
    /// When the file is not a record, of another format, written by another process, or cannot be written.
    pub fn begin(path: &Path, session: Session, size_bytes_max: Option<u64>) -> Result<Self> {
        let (file, length_bytes, dropped_bytes) = open(path)?;
        let mut writer = Self {
            path: path.to_owned(),
            file,
            length_bytes,
            size_bytes_max,
            // A delta of one session hardly ever follows the number of another, should what is between them be lost.
            number: (session.started_unix_ms ^ session.started_unix_ms >> 16) as u16,
            session,
            last: None,
            holding: [const { Vec::new() }; 3],
            written: Written { dropped_bytes, ..Written::default() },
        };
        if length_bytes == 0 {
            writer.append(&frame::head())?;
        }
        let session = item::json_frame(Kind::Session, &writer.session)?;
        writer.append(&session)?;
        Ok(writer)
    }

    /// Adds a sample.
    ///
    /// # Errors
    /// When the disk is full or broken: the record then ends with the sample before, and the next may be tried.
    pub fn snapshot(&mut self, snapshot: &Snapshot) -> Result<()> {
        let mut frame = self.frame_of(snapshot)?;
        if self.is_full(frame.len()) {
            self.set_aside()?;
            frame = self.frame_of(snapshot)?;
        }
        self.append(&frame)?;
        let deltas = self.last.take().map_or(0, |(_, deltas)| deltas);
        self.last = Some((snapshot.clone(), deltas.checked_sub(1).unwrap_or(KEY_EVERY - 1)));
        self.number = self.number.wrapping_add(1);
        self.written.samples += 1;
        Ok(())
    }

    /// Adds an event.
    ///
    /// # Errors
    /// As [`Writer::snapshot`].
    pub fn event(&mut self, event: &Event) -> Result<()> {
        let frame = item::json_frame(Kind::Event, event)?;
        self.add(&frame)
    }

    /// Adds the configuration that holds from here on.
    ///
    /// # Errors
    /// As [`Writer::snapshot`].
    pub fn configuration(&mut self, configuration: &Configuration) -> Result<()> {
        self.hold(0, item::json_frame(Kind::Configuration, configuration)?)
    }

    /// Adds what is there from here on.
    ///
    /// # Errors
    /// As [`Writer::snapshot`].
    pub fn scene(&mut self, scene: &Scene) -> Result<()> {
        self.hold(1, item::json_frame(Kind::Scene, scene)?)
    }

    /// Adds what was decided on the snapshot before.
    ///
    /// # Errors
    /// As [`Writer::snapshot`].
    pub fn decided(&mut self, decided: &Decided) -> Result<()> {
        self.hold(2, item::json_frame(Kind::Decided, decided)?)
    }

    fn hold(&mut self, place: usize, frame: Vec<u8>) -> Result<()> {
        // First of all, so that a new file begins with it although the disk may be full now.
        self.holding[place] = frame;
        if self.is_full(self.holding[place].len()) {
            return self.set_aside();
        }
        let frame = std::mem::take(&mut self.holding[place]);
        let appended = self.append(&frame);
        self.holding[place] = frame;
        appended
    }

    fn add(&mut self, frame: &[u8]) -> Result<()> {
        if self.is_full(frame.len()) {
            self.set_aside()?;
        }
        self.append(frame)
    }

    /// Ends the session; what was written is on the disk then.
    ///
    /// # Errors
    /// When the disk is full or broken.
    pub fn end(mut self, end: &End) -> Result<Written> {
        let frame = item::json_frame(Kind::End, end)?;
        self.append(&frame)?;
        self.file.sync_data().map_err(|source| self.failed(source))?;
        Ok(self.written)
    }

    #[must_use]
    pub fn written(&self) -> Written {
        self.written
    }

    fn frame_of(&mut self, snapshot: &Snapshot) -> Result<Vec<u8>> {
        let number = self.number.to_le_bytes();
        let difference = match &self.last {
            Some((last, 1..)) => delta::encode(last, snapshot),
            _ => None,
        };
        if let Some(difference) = difference {
            return frame::encode(Kind::Delta as u8, &[&number, &difference[..]].concat());
        }
        self.last = None;
        let key = postcard::to_stdvec(snapshot).expect("a snapshot in memory has a form in postcard");
        frame::encode(Kind::Key as u8, &[&number, &key[..]].concat())
    }

    /// Whether the file with `more_bytes` would pass half of the limit, and holds a sample that makes setting it aside
    /// worth while.
    fn is_full(&self, more_bytes: usize) -> bool {
        let half_bytes = self.size_bytes_max.map_or(u64::MAX, |max| max / 2);
        self.length_bytes + more_bytes as u64 > half_bytes && self.written.samples > 0
    }

    /// Renames the file, so that a new one can begin; the part that had that name is gone.
    fn set_aside(&mut self) -> Result<()> {
        let older = older_part(&self.path);
        if older.exists() {
            head_of(&older)?;
        }
        std::fs::rename(&self.path, &older).map_err(|source| self.failed(source))?;
        let (file, length_bytes, _) = open(&self.path)?;
        (self.file, self.length_bytes, self.last) = (file, length_bytes, None);
        self.session.part += 1;
        self.written.parts += 1;
        self.append(&frame::head())?;
        let session = item::json_frame(Kind::Session, &self.session)?;
        self.append(&session)?;
        let holding = self.holding.concat();
        self.append(&holding)
    }

    fn append(&mut self, bytes: &[u8]) -> Result<()> {
        if let Err(source) = self.file.write_all_at(bytes, self.length_bytes) {
            // A partial write is truncated, so that no incomplete frame stands at the end. If that fails too, the
            // next session drops it.
            let _ = self.file.set_len(self.length_bytes);
            return Err(self.failed(source));
        }
        self.length_bytes += bytes.len() as u64;
        self.written.bytes += bytes.len() as u64;
        Ok(())
    }

    fn failed(&self, source: io::Error) -> Error {
        Error::Write { path: self.path.clone(), samples: self.written.samples, source }
    }
}

/// Opens or makes the file and takes it for this process; the length of what is whole, and how much was dropped behind.
fn open(path: &Path) -> Result<(File, u64, u64)> {
    let failed = |source| Error::Open { path: path.to_owned(), source };
    if path.metadata().is_ok_and(|metadata| !metadata.is_file()) {
        return Err(Error::NotAFile { path: path.to_owned() });
    }
    // It tells of apps and times; whoever makes it may open it to others.
    let mut options = OpenOptions::new();
    let options = options.read(true).write(true).create(true).truncate(false).mode(0o600);
    let file = options.open(path).map_err(failed)?;
    match file.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => return Err(Error::InUse { path: path.to_owned() }),
        // A file system without locks: another writer cannot be detected.
        Err(TryLockError::Error(error)) if error.kind() == io::ErrorKind::Unsupported => {}
        Err(TryLockError::Error(error)) => return Err(failed(error)),
    }
    let length_bytes = file.metadata().map_err(failed)?.len();
    if length_bytes == 0 {
        return Ok((file, 0, 0));
    }
    head_of(path)?;
    let whole_bytes = whole(&file, length_bytes).map_err(failed)?;
    if whole_bytes < length_bytes {
        file.set_len(whole_bytes).map_err(failed)?;
    }
    Ok((file, whole_bytes, length_bytes - whole_bytes))
}

/// Makes sure that the file is a record of this format.
fn head_of(path: &Path) -> Result<()> {
    let mut head = Vec::new();
    File::open(path)
        .and_then(|file| file.take(MAGIC.len() as u64 + 11).read_to_end(&mut head))
        .map_err(|source| Error::Open { path: path.to_owned(), source })?;
    let end = head.iter().position(|&byte| byte == 0).unwrap_or(0);
    match frame::format_of(&head[..end]) {
        Some(FORMAT) => Ok(()),
        Some(format) => Err(Error::Newer { path: path.to_owned(), format }),
        None => Err(Error::NotARecord { path: path.to_owned() }),
    }
}

/// The length up to the last zero byte, which ends the last whole frame.
fn whole(mut file: &File, length_bytes: u64) -> io::Result<u64> {
    let mut end_bytes = length_bytes;
    let mut block = Vec::new();
    while end_bytes > 0 {
        let start_bytes = end_bytes.saturating_sub(BLOCK_BYTES);
        file.seek(SeekFrom::Start(start_bytes))?;
        block.clear();
        file.take(end_bytes - start_bytes).read_to_end(&mut block)?;
        if let Some(at) = block.iter().rposition(|&byte| byte == 0) {
            return Ok(start_bytes + at as u64 + 1);
        }
        end_bytes = start_bytes;
    }
    Ok(0)
}
