//! A loop device of a test's own.

use brisk_act::{Actuator, Paths};
use brisk_core::action::Setting;
use std::collections::BTreeMap;
use std::fs;
use std::os::fd::AsRawFd as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};

pub(crate) const LOOP_CTL_ADD: libc::c_ulong = 0x4C80;
pub(crate) const LOOP_CTL_REMOVE: libc::c_ulong = 0x4C81;

/// Tells a child that it is one, and for which device or group.
pub(crate) const CHILD_OF: &str = "BRISK_ACT_TEST_OF";
pub(crate) const JOURNALS: &str = "BRISK_ACT_TEST_JOURNALS";

/// A loop device of this test's own.
pub(crate) struct Loop {
    pub(crate) number: u32,
    pub(crate) dir: tempfile::TempDir,
}

impl Loop {
    pub(crate) fn new() -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let dir = tempfile::tempdir().expect("temporary directory");
        let number = 1000 + std::process::id() % 15_000 * 64 + NEXT.fetch_add(1, Ordering::Relaxed);
        // No other test attaches it meanwhile.
        let _lock = brisk_requires::loop_control().expect("/dev/loop-control");
        control(LOOP_CTL_ADD, number).expect("a loop device");
        let new = Self { number, dir };
        let file = new.dir.path().join("disk");
        fs::File::create(&file).and_then(|disk| disk.set_len(16 << 20)).expect("a file");
        let status = Command::new("losetup").arg(new.node()).arg(&file).status().expect("losetup");
        assert!(status.success());
        new
    }

    pub(crate) fn name(&self) -> String {
        format!("loop{}", self.number)
    }

    pub(crate) fn node(&self) -> PathBuf {
        Path::new("/dev").join(self.name())
    }

    pub(crate) fn paths(&self) -> Paths {
        Paths::with_run_dir(self.dir.path().join("run"))
    }

    pub(crate) fn actuator(&self) -> Actuator {
        Actuator::new(&self.paths(), "briskd", false).expect("a journal")
    }

    pub(crate) fn journals(&self) -> usize {
        fs::read_dir(self.paths().journal).map_or(0, Iterator::count)
    }

    pub(crate) fn file(&self, name: &str) -> PathBuf {
        Path::new("/sys/block").join(self.name()).join("queue").join(name)
    }

    pub(crate) fn set(&self, name: &str, value: &str) {
        fs::write(self.file(name), value).expect("a setting");
    }

    pub(crate) fn get(&self, name: &str) -> String {
        let text = fs::read_to_string(self.file(name)).expect("a setting");
        let chosen = text.split_whitespace().find(|word| word.starts_with('['));
        chosen.map_or_else(|| text.trim().to_owned(), |word| word.trim_matches(['[', ']']).to_owned())
    }

    /// Every setting that shows.
    pub(crate) fn all(&self) -> BTreeMap<String, String> {
        let plain = ["scheduler", "nr_requests", "read_ahead_kb", "max_sectors_kb", "wbt_lat_usec", "write_cache"];
        let tunables = fs::read_dir(self.file("iosched")).into_iter().flatten().flatten();
        let tunables = tunables.map(|file| format!("iosched/{}", file.file_name().to_str().expect("UTF-8")));
        plain.into_iter().map(str::to_owned).chain(tunables).map(|name| (name.clone(), self.get(&name))).collect()
    }

    pub(crate) fn targets(&self, settings: &[(&str, &str)]) -> Vec<Setting> {
        let knob = |setting: &str| format!("queue/{}/{setting}", self.name()).parse().expect("a knob");
        settings.iter().map(|(setting, value)| Setting::new(knob(setting), *value)).collect()
    }

    pub(crate) fn unplug(&self) {
        let _ = Command::new("losetup").arg("-d").arg(self.node()).stderr(Stdio::null()).status();
        // The driver lets go of its file a moment after losetup has ended.
        let is_busy = |error: std::io::Error| error.raw_os_error() == Some(libc::EBUSY);
        brisk_requires::until("the end of a loop device", || {
            !control(LOOP_CTL_REMOVE, self.number).is_err_and(is_busy)
        });
    }
}

impl Drop for Loop {
    fn drop(&mut self) {
        self.unplug();
    }
}

pub(crate) fn control(request: libc::c_ulong, number: u32) -> std::io::Result<()> {
    let control = fs::OpenOptions::new().read(true).write(true).open("/dev/loop-control")?;
    // SAFETY: both requests take a number and touch no memory of ours; the file is open.
    let failed = unsafe { libc::ioctl(control.as_raw_fd(), request, libc::c_ulong::from(number)) };
    if failed < 0 { Err(std::io::Error::last_os_error()) } else { Ok(()) }
}
