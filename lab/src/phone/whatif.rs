//! What-if variants of a phone, each without a part of the storage's cost: the what-if study of Revisiting storage
//! (5.1, figure 13) and of the user-perceived latency paper (figures 2 and 3).
//!
//! A phone is in one variant at a time, and every variant can be undone. Setting one ends the apps, because open files
//! would stay in their old place. During the change the flash is untimed; all writes are on the flash before timing
//! resumes.
//!
//! | variant | change |
//! |---|---|
//! | cache in RAM | memory over `~/.cache`, with its content |
//! | databases in RAM | the user's SQLite files and LevelDB directories are in memory |
//! | all in RAM | the root directory of apps is a copy of all files in memory |
//! | sync off | fsync and related calls do nothing, by a library that is preloaded into apps |
//! | no journal | ext4 without its journal |
//!
//! Data that apps write to a copy in memory is lost with the variant.

mod databases;
pub(crate) mod memory;

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::phone::error::{Error, Result, io as failed};
use crate::phone::image::steps::tool;
use crate::phone::mounts;
use crate::phone::processes;
use crate::phone::running::{Phone, run};
use crate::phone::variant::{NOSYNC_PLACE, Variant};

/// The preload library that disables syncs, built from `preload/nosync.c`.
const NOSYNC: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/nosync.so"));

impl Phone {
    /// Changes to a variant. Running apps are ended.
    ///
    /// # Errors
    /// When the old variant cannot be undone or the new one cannot be applied. The state of the phone is then
    /// undefined; set a variant again, or take it down.
    pub fn set_variant(&mut self, variant: Variant, progress: &mut dyn FnMut(&str)) -> Result<()> {
        // The baseline is recorded when it is reached; any other variant before, as it may be applied partially.
        if variant == Variant::Baseline && self.record.variant == Variant::Baseline {
            return Ok(());
        }
        let dir = self.dir.clone();
        let Some(_one_at_a_time) = dir.lock_changes().map_err(failed("lock the phone"))? else {
            return Err(Error::NoSuchPhone(dir.id.to_string()));
        };
        self.end_apps()?;
        self.set_timed(false)?;
        let changed = self.change(variant, progress);
        let changed = changed.and(self.write_out());
        // Also after a failure, so that no measurement runs untimed.
        let timed = self.set_timed(true);
        changed.and(timed.map(drop))
    }

    fn change(&mut self, variant: Variant, progress: &mut dyn FnMut(&str)) -> Result<()> {
        progress(&format!("undoing: {}", self.record.variant.name()));
        self.undo()?;
        self.record.variant = Variant::Baseline;
        self.save()?;
        progress(&format!("setting: {}", variant.name()));
        // Recorded first, so that a partial change can be undone.
        self.record.variant = variant;
        self.save()?;
        self.apply(variant)
    }

    fn apply(&mut self, variant: Variant) -> Result<()> {
        let root = self.dir.root();
        match variant {
            Variant::Baseline => Ok(()),
            Variant::CacheInRam => memory::over(&mounts::inside(&root, mounts::HOME).join(".cache")),
            Variant::DatabasesInRam => databases::move_out(&mounts::inside(&root, mounts::HOME), &root).map(drop),
            Variant::AllInRam => {
                let ram = self.dir.ram();
                memory::copy_all(&root, &ram)?;
                self.mount_support(&ram)
            }
            Variant::SyncOff => {
                let place = mounts::inside(&root, NOSYNC_PLACE);
                let written =
                    fs::create_dir_all(place.parent().unwrap_or(&place)).and_then(|()| fs::write(&place, NOSYNC));
                written.map_err(failed(format!("write {}", place.display())))
            }
            Variant::NoJournal => self.with_unmounted(|device, image| {
                let tune2fs = tool("tune2fs", "takes the journal away", "e2fsprogs")?;
                run(Command::new(tune2fs).args(["-O", "^has_journal"]).arg(device), image)?;
                check(device, image)
            }),
        }
    }

    fn undo(&mut self) -> Result<()> {
        let root = self.dir.root();
        match self.record.variant {
            Variant::Baseline => Ok(()),
            Variant::CacheInRam => {
                mounts::unmount_all(&mounts::inside(&root, mounts::HOME).join(".cache"), false).map(drop)
            }
            Variant::DatabasesInRam => databases::move_back(&mounts::inside(&root, mounts::HOME), &root),
            Variant::AllInRam => {
                self.end_buses_in(&self.dir.ram())?;
                mounts::unmount_all(&self.dir.ram(), false).map(drop)
            }
            Variant::SyncOff => match fs::remove_file(mounts::inside(&root, NOSYNC_PLACE)) {
                Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                    Err(failed("remove the library that disables syncs")(error))
                }
                _ => Ok(()),
            },
            Variant::NoJournal => self.with_unmounted(|device, image| {
                let tune2fs = tool("tune2fs", "gives the journal back", "e2fsprogs")?;
                run(Command::new(tune2fs).args(["-O", "has_journal"]).arg(device), image)?;
                check(device, image)
            }),
        }
    }

    /// Ends the buses whose root directory is below `dir`.
    fn end_buses_in(&mut self, dir: &Path) -> Result<()> {
        processes::end_inside(dir, &Default::default())?;
        let left: std::collections::BTreeSet<u32> = processes::inside(self.dir.path())?.into_iter().collect();
        self.record.buses.iter().filter(|pid| !left.contains(pid)).for_each(|&pid| processes::reap(pid));
        self.record.buses.retain(|pid| left.contains(pid));
        self.save()
    }

    /// Runs `work` on the device while its file system is unmounted.
    fn with_unmounted(&mut self, work: impl FnOnce(&Path, &Path) -> Result<()>) -> Result<()> {
        let dir = self.dir.clone();
        self.end_buses_in(dir.path())?;
        mounts::unmount_all(&self.dir.root(), false)?;
        let done = work(self.device()?, &self.record.image);
        // Also after a failure: a mounted phone stays usable.
        let mounted = self.mount();
        done.and(mounted)
    }
}

/// A full check of the file system with safe repairs.
fn check(device: &Path, image: &Path) -> Result<()> {
    let e2fsck = tool("e2fsck", "checks the phone's file system", "e2fsprogs")?;
    let mut command = Command::new(e2fsck);
    let status = command.args(["-f", "-p"]).arg(device).output().map_err(failed("run e2fsck"))?;
    // e2fsck(8): 1 is errors corrected.
    match status.status.code() {
        Some(0 | 1) => Ok(()),
        _ => Err(Error::Image {
            path: image.to_owned(),
            reason: format!("e2fsck says: {}", String::from_utf8_lossy(&status.stdout).trim()),
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_variant_has_the_same_name_in_results_and_on_disk() {
        for variant in Variant::ALL {
            let text = serde_json::to_string(&variant).expect("JSON");
            assert_eq!(text, format!("\"{}\"", variant.name()));
        }
    }

    #[test]
    fn only_sync_off_preloads_a_library() {
        for variant in Variant::ALL {
            assert_eq!(!variant.environment().is_empty(), variant == Variant::SyncOff, "{variant:?}");
        }
    }

    #[test]
    fn the_preloaded_library_disables_syncs() {
        let dir = tempfile::tempdir().expect("temporary directory");
        let library = dir.path().join("nosync.so");
        fs::write(&library, NOSYNC).expect("written");
        // dd fails to sync a pipe, which has no storage; with the library the sync succeeds.
        let synced = |preload: bool| {
            let mut command = Command::new("sh");
            command.args([
                "-c",
                "echo x | (dd of=/dev/stdout conv=fsync status=none | cat >/dev/null; exit 0); echo x \
                                 | dd conv=fsync status=none of=/proc/self/fd/1 2>&1 | cat",
            ]);
            if preload {
                command.env("LD_PRELOAD", &library);
            }
            String::from_utf8(command.output().expect("the shell runs").stdout).expect("text")
        };
        assert!(synced(false).contains("fsync failed"), "{}", synced(false));
        assert_eq!(synced(true), "x\n");
    }
}
