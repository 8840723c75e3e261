//! Replacing files as a whole: written under another name, made durable, renamed.
//!
//! A full disk, an error or a power cut before the rename leaves the earlier file; after it the new one is complete.
//! The new file has the mode, owner, access control list, security label and other attributes of the earlier one, and
//! the links that lead to it stay.
//!
//! Where a rename would lose one of these, the content is kept in memory and written into the file itself at the end
//! ([`InPlace`] says why). An error then puts the earlier content back; a power cut at that moment may leave a mixture.

use std::fmt;
use std::fs::{self, File, Metadata};
use std::io::{self, BufWriter, ErrorKind, Read as _, Seek as _, Write};
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, StatxAttributes, StatxFlags, statx};

use crate::files::attributes;

/// The longest part of a file's name that the name of its replacement repeats: names have at most 255 bytes.
const STEM_BYTES_MAX: usize = 200;
/// Links that lead to a file, as many as the kernel follows (path_resolution(7)).
const LINKS_MAX: usize = 40;
/// Names that are tried for the unfinished file.
const NAMES_MAX: u32 = 100;

/// A file that is being written, and replaces the earlier one when it is complete. Dropping it leaves the earlier one.
///
/// A character device, a pipe or a terminal is written directly.
#[derive(Debug)]
pub struct Replacement {
    to: To,
}

#[derive(Debug)]
enum To {
    Directly(BufWriter<File>),
    Beside(Beside),
    Within(Within),
}

/// An unfinished file in the directory of the one that it replaces. Dropping it removes it.
#[derive(Debug)]
struct Beside {
    writer: BufWriter<File>,
    unfinished: PathBuf,
    path: PathBuf,
}

/// A file that keeps its place on disk, and its content-to-be.
#[derive(Debug)]
struct Within {
    file: File,
    content: Vec<u8>,
    why: InPlace,
}

/// Why a file is written in place, and not replaced by a rename.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InPlace {
    /// It has several names (hard links), which a rename would part.
    HardLinks,
    /// A mount point, such as a file that a container has from its host.
    MountPoint,
    /// No file can be made in its directory.
    Directory,
    /// Its owner or attributes cannot be given to another file.
    Attributes,
}

impl fmt::Display for InPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::HardLinks => "it has several names (hard links)",
            Self::MountPoint => "it is a mount point",
            Self::Directory => "no file can be made in its directory",
            Self::Attributes => "its owner or attributes cannot be given to a new file",
        })
    }
}

impl Replacement {
    /// Begins to replace `path`, which need not exist. A link is followed: the file that it points to is replaced.
    ///
    /// # Errors
    /// When `path` is a directory or a block device, or can be written neither beside nor in place.
    pub fn begin(path: &Path) -> io::Result<Self> {
        let earlier = match fs::metadata(path) {
            Ok(metadata) if metadata.is_dir() => return Err(ErrorKind::IsADirectory.into()),
            // The disk that it is would lose its data.
            Ok(metadata) if metadata.file_type().is_block_device() => {
                return Err(io::Error::new(ErrorKind::InvalidInput, "it is a block device: name a file"));
            }
            Ok(metadata) if !metadata.is_file() => {
                return Ok(Self { to: To::Directly(BufWriter::new(File::options().write(true).open(path)?)) });
            }
            Ok(metadata) => Some(metadata),
            Err(error) if error.kind() == ErrorKind::NotFound => None,
            Err(error) => return Err(error),
        };
        let to = match earlier {
            Some(earlier) => over(fs::canonicalize(path)?, &earlier)?,
            None => To::Beside(Beside::make(end_of_links(path)?, 0o666)?),
        };
        Ok(Self { to })
    }

    /// Why the file is written in place; `None` where a rename replaces it.
    #[must_use]
    pub fn in_place(&self) -> Option<InPlace> {
        match &self.to {
            To::Within(within) => Some(within.why),
            _ => None,
        }
    }

    /// Makes it durable, and puts it in the place of the earlier file.
    ///
    /// # Errors
    /// When the disk is full or fails; the earlier file is then unchanged.
    pub fn finish(self) -> io::Result<()> {
        match self.to {
            To::Directly(mut writer) => writer.flush(),
            To::Within(within) => within.finish(),
            To::Beside(beside) => beside.finish(),
        }
    }
}

impl Write for Replacement {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match &mut self.to {
            To::Directly(writer) | To::Beside(Beside { writer, .. }) => writer.write(bytes),
            To::Within(within) => within.content.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match &mut self.to {
            To::Directly(writer) | To::Beside(Beside { writer, .. }) => writer.flush(),
            To::Within(_) => Ok(()),
        }
    }
}

/// How to replace a file that is there.
fn over(path: PathBuf, earlier: &Metadata) -> io::Result<To> {
    let known = statx(rustix::fs::CWD, &path, AtFlags::empty(), StatxFlags::empty()).map(|found| found.stx_attributes);
    let has = |attribute| known.is_ok_and(|known| known.contains(attribute));
    // Neither a rename nor a write changes such a file, not even as root.
    for (attribute, name, flag) in
        [(StatxAttributes::IMMUTABLE, "immutable", 'i'), (StatxAttributes::APPEND, "append-only", 'a')]
    {
        if has(attribute) {
            let text = format!("it is {name}: allow changes with 'chattr -{flag} {}'", path.display());
            return Err(io::Error::new(ErrorKind::PermissionDenied, text));
        }
    }
    if has(StatxAttributes::MOUNT_ROOT) {
        return Within::open(&path, InPlace::MountPoint).map(To::Within);
    }
    if earlier.nlink() > 1 {
        return Within::open(&path, InPlace::HardLinks).map(To::Within);
    }
    // Its content may be secret: only the owner reads it until it has the mode of the earlier one.
    let beside = match Beside::make(path.clone(), 0o600) {
        Ok(beside) => beside,
        Err(error) if is_refused(&error) => {
            return Within::open(&path, InPlace::Directory).map(To::Within).map_err(|_| error);
        }
        Err(error) => return Err(error),
    };
    match attributes::give(&path, earlier, beside.writer.get_ref()) {
        Ok(()) => Ok(To::Beside(beside)),
        Err(_) => Within::open(&path, InPlace::Attributes).map(To::Within),
    }
}

/// Whether a directory takes no new file.
fn is_refused(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem)
}

impl Beside {
    fn make(path: PathBuf, mode: u32) -> io::Result<Self> {
        let mut at = 0;
        loop {
            let unfinished = unfinished(&path, at);
            match File::options().read(true).write(true).create_new(true).mode(mode).open(&unfinished) {
                Ok(file) => return Ok(Self { writer: BufWriter::new(file), unfinished, path }),
                // Of a process that had this number and was killed, or of another thread.
                Err(error) if error.kind() == ErrorKind::AlreadyExists && at < NAMES_MAX => at += 1,
                Err(error) => return Err(error),
            }
        }
    }

    fn finish(mut self) -> io::Result<()> {
        self.writer.flush()?;
        let file = self.writer.get_mut();
        file.sync_all()?;
        match fs::rename(&self.unfinished, &self.path) {
            // It became a mount point meanwhile, or the kernel did not tell.
            Err(error) if error.kind() == ErrorKind::ResourceBusy => {
                let mut within = Within::open(&self.path, InPlace::MountPoint).map_err(|_| error)?;
                file.rewind()?;
                file.read_to_end(&mut within.content)?;
                return within.finish();
            }
            renamed => renamed?,
        }
        // The name may be that of another replacement from now on.
        self.unfinished = PathBuf::new();
        // The new name is durable with its directory; a file system that cannot sync one does it by itself.
        let _ = File::open(folder(&self.path)).and_then(|folder| folder.sync_all());
        Ok(())
    }
}

impl Drop for Beside {
    fn drop(&mut self) {
        if !self.unfinished.as_os_str().is_empty() {
            // Nothing more can be done about a file that stays.
            let _ = fs::remove_file(&self.unfinished);
        }
    }
}

impl Within {
    fn open(path: &Path, why: InPlace) -> io::Result<Self> {
        let file = File::options().read(true).write(true).open(path)?;
        Ok(Self { file, content: Vec::new(), why })
    }

    fn finish(mut self) -> io::Result<()> {
        let mut earlier = Vec::new();
        self.file.read_to_end(&mut earlier)?;
        overwrite(&mut self.file, &self.content).inspect_err(|_| {
            // It has the blocks for this. The first failure is what the caller has to know.
            let _ = overwrite(&mut self.file, &earlier);
        })
    }
}

/// What was there before is cut off last, so that a common beginning stays as it is at each moment.
fn overwrite(file: &mut File, content: &[u8]) -> io::Result<()> {
    file.rewind()?;
    file.write_all(content)?;
    file.set_len(content.len() as u64)?;
    file.sync_all()
}

/// Puts `content` into `path` as a whole.
///
/// # Errors
/// As [`Replacement::begin`] and [`Replacement::finish`].
pub fn replace(path: &Path, content: &[u8]) -> io::Result<()> {
    let mut new = Replacement::begin(path)?;
    new.write_all(content)?;
    new.finish()
}

/// As [`replace`], for files of a program's own: what is there and not a regular file is refused, not written into. A
/// FIFO would block.
///
/// # Errors
/// As [`replace`], and for such a file.
pub fn replace_regular(path: &Path, content: &[u8]) -> io::Result<()> {
    match fs::metadata(path) {
        Ok(metadata) if !metadata.is_file() => {
            Err(io::Error::new(ErrorKind::InvalidInput, "it is not a regular file: remove it"))
        }
        _ => replace(path, content),
    }
}

/// Whether a file can be made in a directory, by making one without a name. Mode bits alone do not tell: file systems
/// are read-only, directories immutable, and root may write everywhere but there.
///
/// # Errors
/// The reason why none can be made.
pub fn check_directory(dir: &Path) -> io::Result<()> {
    let unnamed = File::options().write(true).custom_flags(libc::O_TMPFILE).mode(0o600).open(dir);
    match unnamed {
        // Kernels and file systems without such files.
        Err(error) if matches!(error.raw_os_error(), Some(libc::EOPNOTSUPP | libc::EISDIR | libc::ENOENT)) => {
            Beside::make(dir.join(".brisk-check"), 0o600).map(drop)
        }
        made => made.map(drop),
    }
}

/// The file that links lead to, which is not there.
fn end_of_links(path: &Path) -> io::Result<PathBuf> {
    let mut path = path.to_owned();
    for _ in 0..LINKS_MAX {
        match fs::read_link(&path) {
            Ok(target) => path = folder(&path).join(target),
            Err(_) => return Ok(path),
        }
    }
    Err(io::Error::from_raw_os_error(libc::ELOOP))
}

/// The name of a file that is not complete yet.
fn unfinished(path: &Path, at: u32) -> PathBuf {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let end = (0..=name.len().min(STEM_BYTES_MAX)).rev().find(|at| name.is_char_boundary(*at)).unwrap_or(0);
    let again = if at == 0 { String::new() } else { format!(".{at}") };
    folder(path).join(format!("{}.{}{again}.new", &name[..end], std::process::id()))
}

/// The directory that a file is in.
fn folder(path: &Path) -> &Path {
    path.parent().filter(|dir| !dir.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt as _;

    fn names(dir: &Path) -> Vec<String> {
        let name = |entry: io::Result<fs::DirEntry>| entry.expect("listed").file_name().into_string().expect("UTF-8");
        fs::read_dir(dir).expect("a directory").map(name).collect()
    }

    #[test]
    fn a_replacement_that_is_given_up_leaves_the_earlier_file_as_it_was() {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("page.html");
        replace(&path, b"earlier").expect("new");
        let mut new = Replacement::begin(&path).expect("begun");
        new.write_all(b"half").and_then(|()| new.flush()).expect("written");
        assert_eq!(fs::read(&path).expect("there"), b"earlier");
        drop(new);
        assert_eq!((fs::read(&path).expect("there"), names(dir.path())), (b"earlier".into(), vec!["page.html".into()]));
        replace(&path, b"later").expect("replaced");
        assert_eq!((fs::read(&path).expect("there"), names(dir.path()).len()), (b"later".into(), 1));
    }

    #[test]
    fn a_replaced_file_keeps_its_mode() {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("secret");
        replace(&path, b"a").expect("new");
        for mode in [0o640, 0o600, 0o4755] {
            fs::set_permissions(&path, fs::Permissions::from_mode(mode)).expect("changed");
            replace(&path, b"b").expect("replaced");
            assert_eq!(fs::metadata(&path).expect("there").mode() & 0o7777, mode);
        }
    }

    #[test]
    fn links_that_lead_to_a_replaced_file_stay() {
        let dir = tempfile::tempdir().expect("a directory");
        fs::create_dir(dir.path().join("below")).expect("a directory");
        // Two links, the first relative to its own directory, to a file that is not there yet.
        let (file, first) = (dir.path().join("file"), dir.path().join("first"));
        std::os::unix::fs::symlink("below/second", &first).expect("a link");
        std::os::unix::fs::symlink("../file", dir.path().join("below/second")).expect("a link");
        for content in ["made", "replaced"] {
            replace(&first, content.as_bytes()).expect("written");
            assert!(fs::symlink_metadata(&first).expect("there").is_symlink());
            assert!(fs::symlink_metadata(dir.path().join("below/second")).expect("there").is_symlink());
            assert_eq!(fs::read_to_string(&file).expect("there"), content);
        }
        let circle = dir.path().join("circle");
        std::os::unix::fs::symlink("circle", &circle).expect("a link");
        assert!(replace(&circle, b"x").is_err());
    }

    #[test]
    fn hard_links_stay_together() {
        let dir = tempfile::tempdir().expect("a directory");
        let (file, other) = (dir.path().join("file"), dir.path().join("other"));
        replace(&file, b"a longer text").expect("new");
        fs::hard_link(&file, &other).expect("a link");
        let begun = Replacement::begin(&file).expect("begun");
        assert_eq!((begun.in_place(), begun.finish().is_ok()), (Some(InPlace::HardLinks), true));
        replace(&file, b"short").expect("replaced");
        assert_eq!(fs::read(&other).expect("there"), b"short");
        assert_eq!(fs::metadata(&file).expect("there").nlink(), 2);
        let mut given_up = Replacement::begin(&file).expect("begun");
        given_up.write_all(b"half").and_then(|()| given_up.flush()).expect("written");
        drop(given_up);
        assert_eq!((fs::read(&other).expect("there"), names(dir.path()).len()), (b"short".into(), 2));
    }

    #[test]
    fn two_replacements_at_once_do_not_meet() {
        let dir = tempfile::tempdir().expect("a directory");
        let file = dir.path().join("file");
        let mut both = [(); 2].map(|()| Replacement::begin(&file).expect("begun"));
        for (at, new) in both.iter_mut().enumerate() {
            write!(new, "{at}").expect("written");
        }
        let [first, second] = both;
        first.finish().expect("replaced");
        assert_eq!(fs::read(&file).expect("there"), b"0");
        second.finish().expect("replaced");
        assert_eq!((fs::read(&file).expect("there"), names(dir.path()).len()), (b"1".into(), 1));
    }

    #[test]
    fn a_directory_is_refused() {
        let dir = tempfile::tempdir().expect("a directory");
        assert_eq!(replace(dir.path(), b"x").expect_err("a directory").kind(), ErrorKind::IsADirectory);
        replace(Path::new("/dev/null"), b"x").expect("written directly");
    }

    #[test]
    fn a_name_of_the_greatest_length_can_be_replaced() {
        let dir = tempfile::tempdir().expect("a directory");
        // 253 bytes.
        let path = dir.path().join(format!("{}.html", "ü".repeat(124)));
        replace(&path, b"x").expect("written");
        assert_eq!(fs::read(&path).expect("there"), b"x");
    }
}
