//! Memory of a phone: a limit for all that runs in it, and where it swaps to.
//!
//! The processes of a phone are in one memory group with a limit, each app in a group below it, so that the files and heaps of all
//! compete as on a device with that much memory. Swap is a file on the phone's own flash, where it competes with the
//! files of apps, or compressed memory (zram), or zram before the file.
//!
//! What differs from a device: reclaim is done by the processes that reach the limit, not by kswapd ahead of need; the kernel's
//! own memory is outside of the limit; zram takes memory of this machine, so a measurement has to lower the limit by what it
//! holds ([`crate::Phone::charge_zram`]).
//!
//! Swap areas are the kernel's, not a group's: where another area is in use, pages could go there, and a phone with swap is
//! refused. Properties: what is made here is recorded before it is made, and removed with the phone, also after a kill.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use brisk_core::units::format_bytes;
use brisk_sense::Sense;
use serde::{Deserialize, Serialize};

use crate::error::{Error, Result, io as failed};
use crate::group::remove_tree;

/// Least limit: the session bus and one small app.
const LIMIT_MIN_BYTES: u64 = 64 << 20;
/// Least swap area.
const SWAP_MIN_BYTES: u64 = 16 << 20;

/// Where a phone swaps to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SwapKind {
    /// Nowhere.
    None,
    /// A file on its flash.
    Flash,
    /// Compressed memory.
    Zram,
    /// Compressed memory, and the file when that is full.
    ZramFlash,
}

impl SwapKind {
    /// Whether it has a file on the flash.
    #[must_use]
    pub fn has_file(self) -> bool {
        matches!(self, Self::Flash | Self::ZramFlash)
    }

    /// Whether it has compressed memory.
    #[must_use]
    pub fn has_zram(self) -> bool {
        matches!(self, Self::Zram | Self::ZramFlash)
    }
}

/// Memory of a phone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct MemorySpec {
    /// Memory for all that runs in the phone.
    pub limit_bytes: u64,
    /// Where it swaps to.
    pub swap: SwapKind,
    /// Size of each swap area.
    pub swap_bytes: u64,
}

impl MemorySpec {
    /// Refuses sizes that cannot work, and machines that cannot do it.
    ///
    /// # Errors
    /// When the limit or swap area is too small, the machine has no memory controller of version 1, swap areas of others are in
    /// use, or the kernel has no zram.
    pub fn check(&self) -> Result<()> {
        if self.limit_bytes < LIMIT_MIN_BYTES {
            let reason = format!("the limit is too small: at least {}", format_bytes(LIMIT_MIN_BYTES));
            return Err(Error::Memory { reason });
        }
        controller(&Sense::default())?;
        self.check_areas(&[])
    }

    /// Refuses swap that this kernel cannot make, or that pages of others share. `own` are areas of this phone, which will go.
    pub(crate) fn check_areas(&self, own: &[Option<&Path>]) -> Result<()> {
        let too_small = || Error::Memory {
            reason: format!("the swap area is too small: at least {}", format_bytes(SWAP_MIN_BYTES)),
        };
        if self.swap == SwapKind::None {
            return Ok(());
        }
        if self.swap_bytes < SWAP_MIN_BYTES {
            return Err(too_small());
        }
        let sense = Sense::default();
        let areas = sense.swaps().map_err(|_| Error::Memory { reason: "this kernel has no swap".to_owned() })?;
        let is_own = |path: &Path| own.iter().flatten().any(|own| *own == path);
        let names: Vec<_> =
            areas.iter().filter(|area| !is_own(&area.path)).map(|area| area.path.display().to_string()).collect();
        if !names.is_empty() {
            let reason = format!(
                "swap areas of others are in use ({}), to which its pages could go: switch them off with swapoff, or \
                 choose --swap none",
                names.join(", ")
            );
            return Err(Error::Memory { reason });
        }
        if self.swap.has_zram() && !sense.path("/sys/class/zram-control/hot_add").exists() {
            return Err(Error::Memory { reason: "this kernel has no zram (CONFIG_ZRAM)".to_owned() });
        }
        Ok(())
    }
}

/// Where the memory controller is mounted.
fn controller(sense: &Sense) -> Result<PathBuf> {
    let groups = sense.cgroups()?;
    let reason = match groups.v1_with("memory") {
        Some(v1) => return Ok(v1.mount_point.clone()),
        None if groups.v2_with("memory").is_some() => {
            "the memory controller of this machine is in control groups of version 2, and phones with a limit need version 1"
        }
        None => "no memory controller is mounted (mount -t cgroup -o memory none /sys/fs/cgroup/memory)",
    };
    Err(Error::Memory { reason: reason.to_owned() })
}

/// A memory group of version 1.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MemoryGroup {
    dir: PathBuf,
}

impl MemoryGroup {
    /// The directory that a group of this name will have.
    pub(crate) fn place(name: &str) -> Result<PathBuf> {
        Ok(controller(&Sense::default())?.join(name))
    }

    /// Makes the group at `dir`, or reuses it.
    pub(crate) fn make(dir: &Path) -> Result<Self> {
        match fs::create_dir(dir) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
                Err(failed(format!("make the memory group {}", dir.display()))(error))
            }
            _ => Ok(Self { dir: dir.to_owned() }),
        }
    }

    /// The group at a directory, which may not exist.
    pub(crate) fn at(dir: &Path) -> Self {
        Self { dir: dir.to_owned() }
    }

    /// Its directory.
    #[must_use]
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// The group of one app below it.
    ///
    /// # Errors
    /// When it cannot be made.
    pub fn child(&self, name: &str) -> Result<Self> {
        Self::make(&self.dir.join(name))
    }

    /// Sets the limit; `None` is none.
    ///
    /// # Errors
    /// When the kernel refuses: more is in use and cannot be reclaimed.
    pub fn set_limit(&self, limit_bytes: Option<u64>) -> Result<()> {
        let value = limit_bytes.map_or_else(|| "-1".to_owned(), |bytes| bytes.to_string());
        let action = format!("set the memory limit of {} to {value}", self.dir.display());
        fs::write(self.dir.join("memory.limit_in_bytes"), value).map_err(failed(action))
    }

    /// Memory that is charged to it and its children.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn usage_bytes(&self) -> Result<u64> {
        self.number("memory.usage_in_bytes")
    }

    /// The limit in force.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn limit_bytes(&self) -> Result<u64> {
        self.number("memory.limit_in_bytes")
    }

    /// Files in the page cache that are charged to it and its children, without shared memory.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn file_bytes(&self) -> Result<u64> {
        let path = self.dir.join("memory.stat");
        let text = fs::read_to_string(&path).map_err(failed(format!("read {}", path.display())))?;
        let of = |name: &str| {
            let value = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' ')?.parse::<u64>().ok());
            value.ok_or_else(|| Error::Memory { reason: format!("{} has no {name}", path.display()) })
        };
        Ok(of("total_inactive_file")? + of("total_active_file")?)
    }

    /// The processes of its children, each with the name of its group.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn processes_by_child(&self) -> Result<Vec<(u32, String)>> {
        let entries = fs::read_dir(&self.dir).map_err(failed(format!("read {}", self.dir.display())))?;
        let mut found = Vec::new();
        for entry in entries.filter_map(std::result::Result::ok) {
            // A file, or a group that has gone meanwhile.
            let Ok(text) = fs::read_to_string(entry.path().join("cgroup.procs")) else { continue };
            let name = entry.file_name().to_string_lossy().into_owned();
            found.extend(text.lines().filter_map(|line| Some((line.parse().ok()?, name.clone()))));
        }
        Ok(found)
    }

    /// Times that its limit was reached and nothing could be reclaimed in time.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn limit_hits(&self) -> Result<u64> {
        self.number("memory.failcnt")
    }

    fn number(&self, file: &str) -> Result<u64> {
        let path = self.dir.join(file);
        let text = fs::read_to_string(&path).map_err(failed(format!("read {}", path.display())))?;
        text.trim().parse().map_err(|_| Error::Memory { reason: format!("{} has '{}'", path.display(), text.trim()) })
    }

    /// Moves a process into the group; memory that it has stays charged where it is.
    ///
    /// # Errors
    /// When the process is gone, or the kernel refuses.
    pub fn add(&self, pid: u32) -> Result<()> {
        let action = format!("move process {pid} into {}", self.dir.display());
        fs::write(self.dir.join("cgroup.procs"), pid.to_string()).map_err(failed(action))
    }

    /// Has the kernel free all that can be freed of it: files from the page cache, anonymous pages to swap.
    ///
    /// # Errors
    /// When the kernel refuses.
    pub fn reclaim_all(&self) -> Result<()> {
        let action = format!("reclaim the memory of {}", self.dir.display());
        match fs::write(self.dir.join("memory.force_empty"), "0") {
            // Part of it is in use at this moment.
            Err(error) if error.raw_os_error() == Some(libc::EBUSY) => Ok(()),
            done => done.map_err(failed(action)),
        }
    }

    /// Removes it with its children, if it exists; its processes have ended.
    pub(crate) fn remove(&self) -> Result<()> {
        // What its ended processes left in the page cache, here and below, goes to the parent otherwise.
        if self.dir.exists() {
            let _ = fs::write(self.dir.join("memory.force_empty"), "0");
        }
        match remove_tree(&self.dir) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                Err(failed(format!("remove the memory group {}", self.dir.display()))(error))
            }
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use brisk_requires::requires;
    use std::process::{Child, Command, Stdio};

    /// A process that is in the group before it starts `command`.
    fn run_in(group: &MemoryGroup, command: &str) -> Child {
        let script = format!("echo $$ >'{}/cgroup.procs' && {command}", group.dir().display());
        let mut shell = Command::new("sh");
        shell.args(["-c", &script]).stdout(Stdio::null()).stderr(Stdio::null());
        shell.spawn().expect("sh starts")
    }

    #[test]
    fn sizes_that_cannot_work_are_refused() {
        let spec = |limit_bytes, swap, swap_bytes| MemorySpec { limit_bytes, swap, swap_bytes };
        let said = |spec: MemorySpec| spec.check().expect_err("refused").to_string();
        assert!(said(spec(1 << 20, SwapKind::None, 0)).contains("the limit is too small: at least 64 MiB"));
        assert!(said(spec(1 << 30, SwapKind::Flash, 4096)).contains("the swap area is too small: at least 16 MiB"));
    }

    #[test]
    fn the_limit_holds_for_all_apps_together_and_the_group_goes_with_its_apps() {
        requires!(Root, MemoryV1);
        let name = format!("brisk-phone-test-{}", std::process::id());
        let phone = MemoryGroup::make(&MemoryGroup::place(&name).expect("mounted")).expect("made");
        phone.set_limit(Some(64 << 20)).expect("set");
        let dir = tempfile::tempdir_in(std::env::current_dir().expect("here")).expect("temporary directory");
        let mut children = Vec::new();
        for app in ["a", "b"] {
            let group = phone.child(app).expect("made");
            let file = dir.path().join(app);
            // Files in the page cache are charged like heaps, and the limit has them reclaimed.
            children.push(run_in(&group, &format!("dd if=/dev/zero of='{}' bs=1M count=60", file.display())));
        }
        for child in &mut children {
            assert!(child.wait().expect("ended").success());
        }
        assert!(phone.limit_hits().expect("read") > 0);
        assert!(phone.usage_bytes().expect("read") <= 64 << 20);
        phone.child("a").and_then(|group| group.reclaim_all()).expect("reclaimed");
        phone.remove().expect("removed");
        assert!(!phone.dir().exists());
        phone.remove().expect("gone is removed");
    }
}
