//! The area on flash: examined, made, found by its UUID, removed.

use std::fs::{self, File};
use std::io::{self, Read as _};
use std::os::unix::fs::{FileTypeExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use brisk_formats::parse_swap_uuid;
use rustix::fs::{CWD, FallocateFlags, RenameFlags, fallocate, renameat_with};
use rustix::io::Errno;

use super::{FlashArea, Result, SwapAreaError, failed, parent, takes_file};

/// Links to devices by the UUIDs of what is on them.
const BY_UUID: &str = "/dev/disk/by-uuid";
/// All block devices of the kernel.
const DEVICES: &str = "/sys/class/block";

/// What stands against an area.
pub(super) fn check(area: &FlashArea) -> Result<()> {
    match area {
        FlashArea::File { path, .. } => {
            if path.to_str().is_none() {
                return Err(SwapAreaError::BadName { path: path.clone() });
            }
            for path in [path, &unfinished(path)] {
                if fs::symlink_metadata(path).is_ok() {
                    return Err(SwapAreaError::Exists { path: path.clone() });
                }
            }
            takes_file(path)
        }
        FlashArea::Partition { path } => claim(path, false).map(drop),
    }
}

/// Opens a device that nothing uses: it is neither mounted, nor swap, nor part of another device (O_EXCL of open(2)).
fn claim(path: &Path, for_writing: bool) -> Result<File> {
    let flags = libc::O_EXCL | libc::O_NONBLOCK;
    let opened = File::options().read(true).write(for_writing).custom_flags(flags).open(path);
    opened.map_err(|source| match source.raw_os_error() {
        Some(libc::EBUSY) => SwapAreaError::InUse { path: path.to_owned() },
        _ => failed("open", path)(source),
    })
}

/// Makes the area, switched off. `before_mark` records that it may bear its UUID from then on.
pub(super) fn make(area: &FlashArea, uuid: &str, before_mark: impl FnOnce() -> Result<()>) -> Result<()> {
    match area {
        FlashArea::File { path, size_bytes } => {
            let new = unfinished(path);
            allocate(&new, *size_bytes).map_err(|error| error.of_file(&new, path))?;
            before_mark()?;
            format(&new, uuid)?;
            // Nothing is replaced that came there meanwhile.
            renameat_with(CWD, &new, CWD, path, RenameFlags::NOREPLACE).map_err(|errno| match errno {
                Errno::EXIST => SwapAreaError::Exists { path: path.clone() },
                _ => failed("make", path)(errno.into()),
            })?;
            let dir = parent(path);
            File::open(dir).and_then(|dir| dir.sync_all()).map_err(failed("write", dir))
        }
        FlashArea::Partition { path } => {
            drop(claim(path, true)?);
            before_mark()?;
            format(path, uuid)
        }
    }
}

fn allocate(path: &Path, size_bytes: u64) -> Result<()> {
    let file = File::options().write(true).create_new(true).mode(0o600).open(path);
    let file = file.map_err(|source| match source.kind() {
        io::ErrorKind::AlreadyExists => SwapAreaError::Exists { path: path.to_owned() },
        _ => failed("make", path)(source),
    })?;
    fallocate(&file, FallocateFlags::empty(), 0, size_bytes).map_err(|errno| match errno {
        Errno::NOSPC | Errno::DQUOT => SwapAreaError::NoRoom { path: path.to_owned(), size_bytes },
        _ => failed("allocate blocks for", path)(errno.into()),
    })?;
    file.sync_all().map_err(failed("write", path))
}

/// The name of a file until it is an area.
pub(super) fn unfinished(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".unfinished");
    name.into()
}

/// Writes the header of an area.
pub(super) fn format(path: &Path, uuid: &str) -> Result<()> {
    let made = std::process::Command::new("mkswap").args(["--quiet", "--uuid", uuid]).arg(path).output();
    let made = made.map_err(|source| SwapAreaError::NoProgram { name: "mkswap", source })?;
    let not = |why: String| Err(SwapAreaError::NotFormatted { path: path.to_owned(), why });
    if !made.status.success() {
        let said = String::from_utf8_lossy(&made.stderr);
        return not(said.lines().next_back().unwrap_or("mkswap gave no reason").to_owned());
    }
    match uuid_of(path) {
        Ok(Some(found)) if found == uuid => Ok(()),
        _ => not("mkswap has not given it the UUID that it was told".to_owned()),
    }
}

/// The UUID of the swap area in a file or on a device; `None` where there is no area.
pub(super) fn uuid_of(path: &Path) -> io::Result<Option<String>> {
    let kind = fs::metadata(path)?.file_type();
    if !kind.is_file() && !kind.is_block_device() {
        return Ok(None);
    }
    let file = File::options().read(true).custom_flags(libc::O_NONBLOCK).open(path)?;
    let mut page = Vec::new();
    file.take(rustix::param::page_size() as u64).read_to_end(&mut page)?;
    Ok(parse_swap_uuid(&page))
}

/// Where the area is now: a device is looked for by the name that the user gave, by its UUID, and among all devices.
///
/// # Errors
/// When no file or device bears its UUID.
pub(super) fn find(area: &FlashArea, uuid: &str) -> Result<PathBuf> {
    let is_it = |path: &Path| uuid_of(path).is_ok_and(|found| found.as_deref() == Some(uuid));
    let path = area.path();
    if is_it(path) {
        return Ok(fs::canonicalize(path).unwrap_or_else(|_| path.to_owned()));
    }
    let others = matches!(area, FlashArea::Partition { .. }).then(|| {
        let devices = fs::read_dir(DEVICES).into_iter().flatten().flatten();
        let nodes = devices.map(|device| brisk_formats::device_node(&device.file_name().to_string_lossy()));
        std::iter::once(Path::new(BY_UUID).join(uuid)).chain(nodes)
    });
    let found = others.into_iter().flatten().find(|path| is_it(path));
    let found = found.map(|path| fs::canonicalize(&path).unwrap_or(path));
    found.ok_or_else(|| SwapAreaError::NotFound {
        path: path.to_owned(),
        uuid: uuid.to_owned(),
        is_another: fs::symlink_metadata(path).is_ok(),
    })
}

/// Takes the mark of an area from a device, which is switched off.
pub(super) fn unmark(device: &Path, uuid: &str) -> Result<()> {
    use std::os::unix::fs::FileExt as _;
    let file = claim(device, true)?;
    let mut page = vec![0; rustix::param::page_size()];
    file.read_exact_at(&mut page, 0).map_err(failed("read", device))?;
    // It may have become another disk since it was found.
    if parse_swap_uuid(&page).as_deref() != Some(uuid) {
        return Err(SwapAreaError::NotFound { path: device.to_owned(), uuid: uuid.to_owned(), is_another: true });
    }
    // The first KiB is of a boot loader, where there is one.
    let behind_boot = page.len() - 1024;
    file.write_all_at(&vec![0; behind_boot], 1024).and_then(|()| file.sync_all()).map_err(failed("write", device))
}
