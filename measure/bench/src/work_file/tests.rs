use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;

use brisk_sense::Sense;

use super::*;
use crate::engine::EngineKind;

fn prepare(dir: &Path, size: Size, stop: &AtomicBool) -> Result<(Place, WorkFile)> {
    let control = Control { stop, progress: &|_, _| {} };
    let place = Place::find(&Sense::default(), dir, false)?;
    let engine = Engine::choose(Some(EngineKind::Calls))?;
    let work = WorkFile::prepare(&place, size, &engine, 5, &control)?;
    Ok((place, work))
}

fn exactly(wanted_bytes: u64) -> Size {
    Size { wanted_bytes, exact: true, patience: None }
}

#[test]
fn the_file_has_no_name_and_no_holes() {
    let dir = tempfile::tempdir().expect("a directory");
    // Not a multiple of the large blocks of the preparation.
    let (_, work) = prepare(dir.path(), exactly((5 << 20) + 8192), &AtomicBool::new(false)).expect("prepared");
    assert_eq!(std::fs::read_dir(dir.path()).expect("listed").count(), 0, "the work file has a name");
    assert_eq!((work.size_bytes, work.written_bytes), ((5 << 20) + 8192, (5 << 20) + 8192));
    let readable = std::fs::File::open(format!("/proc/self/fd/{}", work.file.as_raw_fd())).expect("opened again");
    let mut content = vec![0; work.size_bytes as usize];
    readable.read_exact_at(&mut content, 0).expect("read");
    for (index, sector) in content.chunks(512).enumerate() {
        let address = u64::from_le_bytes(sector[..8].try_into().expect("eight bytes"));
        assert_eq!(address, index as u64 * 512, "a sector was never written, or not by this address");
    }
}

#[test]
fn impossible_sizes_are_refused() {
    for size_bytes in [0, 1, 512, 5000] {
        let error = check_size(size_bytes).expect_err("refused").to_string();
        assert!(error.contains(&size_bytes.to_string()), "{error}");
    }
    assert!(check_size(4096).is_ok());
}

#[test]
fn more_than_the_free_space_is_refused_with_the_figures() {
    let dir = tempfile::tempdir().expect("a directory");
    let error = prepare(dir.path(), exactly(1 << 60), &AtomicBool::new(false)).expect_err("refused");
    assert!(matches!(error, Error::NoSpace { needed_bytes, .. } if needed_bytes == 1 << 60), "{error}");
}

#[test]
fn an_inexact_size_shrinks_to_the_free_space() {
    let size = |wanted_bytes, exact| Size { wanted_bytes, exact, patience: None };
    let (mib, reserve) = (1u64 << 20, 16u64 << 20);
    for (size, free, fits) in [
        (size(128 * mib, false), 1024 * mib, Some(128 * mib)),
        (size(128 * mib, false), 100 * mib, Some(84 * mib)),
        (size(128 * mib, false), 40 * mib, None),
        (size(128 * mib, true), 100 * mib, None),
        (size(128 * mib, true), 144 * mib, Some(128 * mib)),
        (size(4096, true), 8 * mib, None),
    ] {
        assert_eq!(fit(size, free, reserve), fits, "{size:?} in {free}");
    }
    assert_eq!(reserve_bytes(0), RESERVE_MIN_BYTES);
    assert_eq!(reserve_bytes(u64::MAX), RESERVE_MAX_BYTES);
}

#[test]
fn patience_cuts_only_an_inexact_size() {
    let dir = tempfile::tempdir().expect("a directory");
    let size = Size { wanted_bytes: 64 << 20, exact: false, patience: Some(Duration::ZERO) };
    let (_, work) = prepare(dir.path(), size, &AtomicBool::new(false)).expect("prepared");
    assert_eq!(work.size_bytes, CUT_SHORT_MIN_BYTES);
    let (_, work) = prepare(dir.path(), Size { exact: true, ..size }, &AtomicBool::new(false)).expect("prepared");
    assert_eq!(work.size_bytes, 64 << 20);
}

#[test]
fn a_set_stop_flag_ends_the_preparation_and_leaves_no_file() {
    let dir = tempfile::tempdir().expect("a directory");
    assert!(matches!(prepare(dir.path(), exactly(8 << 20), &AtomicBool::new(true)), Err(Error::Stopped)));
    assert_eq!(std::fs::read_dir(dir.path()).expect("listed").count(), 0);
}

#[test]
fn an_evicted_file_is_not_in_memory() {
    let dir = tempfile::tempdir().expect("a directory");
    let stop = AtomicBool::new(false);
    let control = Control { stop: &stop, progress: &|_, _| {} };
    let sense = Sense::default();
    let place = Place::find(&sense, dir.path(), false).expect("a place");
    if place.memory(&sense).expect("read").is_some() {
        let reason = format!("{} lives in memory", dir.path().display());
        return brisk_requires::skip(brisk_requires::Capability::Disk, reason);
    }
    let engine = Engine::choose(Some(EngineKind::Calls)).expect("always there");
    let work = WorkFile::prepare_as(&place, exactly(4 << 20), &engine, 1, &control, Access::Evicted).expect("prepared");
    assert!(
        resident_bytes(&work.file, work.size_bytes).expect("asked") > 0,
        "nothing was cached, so nothing is tested"
    );
    assert_eq!(work.evict(&place).expect("evicted"), 0);
}

/// A file system of 24 MiB; root only; unmounted when dropped.
struct SmallFileSystem(PathBuf);

impl SmallFileSystem {
    fn mount(options: &str) -> Option<Self> {
        brisk_requires::available(&[brisk_requires::Capability::Mount])?;
        let dir = tempfile::tempdir().expect("a directory").keep();
        let data = std::ffi::CString::new(options).expect("no zero byte");
        let flags = rustix::mount::MountFlags::empty();
        rustix::mount::mount("tmpfs", &dir, "tmpfs", flags, Some(data.as_c_str())).expect("mounted");
        Some(Self(dir))
    }
}

impl Drop for SmallFileSystem {
    fn drop(&mut self) {
        let _ = rustix::mount::unmount(&self.0, rustix::mount::UnmountFlags::DETACH);
        let _ = std::fs::remove_dir(&self.0);
    }
}

#[test]
fn a_full_and_a_read_only_file_system_are_refused() {
    if let Some(small) = SmallFileSystem::mount("size=24m") {
        let go = AtomicBool::new(false);
        assert!(matches!(prepare(&small.0, exactly(64 << 20), &go), Err(Error::NoSpace { .. })));
        assert!(prepare(&small.0, exactly(4 << 20), &go).is_ok());
    }
    if let Some(frozen) = SmallFileSystem::mount("size=24m,ro") {
        let error = prepare(&frozen.0, exactly(4 << 20), &AtomicBool::new(false)).expect_err("refused");
        assert!(matches!(error, Error::ReadOnly(_)), "{error}");
    }
}
