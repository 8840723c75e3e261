//! What a phone would be like with less storage in the way: the what-if study of Revisiting storage (5.1, figure 13) and of the
//! user-perceived latency paper (figures 2 and 3).
//!
//! A phone is in one variant at a time, and every variant can be undone. Setting one ends the apps, because files that are
//! open would stay where they were. While it is set, the flash takes no time, and what is written meanwhile is on the flash
//! before its time runs again.
//!
//! | variant | what changes |
//! |---|---|
//! | cache in RAM | memory over `~/.cache`, with its content |
//! | databases in RAM | the user's SQLite files and LevelDB directories are in memory |
//! | all in RAM | apps have their root directory on a copy of everything in memory |
//! | sync off | fsync and its relatives do nothing, by a library that is preloaded into apps |
//! | no journal | ext4 without its journal |
//!
//! What apps write to a copy in memory is gone when the variant is.

mod databases;
pub(crate) mod memory;

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result, io as failed};
use crate::image::steps::tool;
use crate::phone::{Phone, run};
use crate::processes;
use crate::room;
use crate::state::{Record, StateDir};

/// The library that does nothing, built from `preload/nosync.c`.
const NOSYNC: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/nosync.so"));
/// Where it is in the phone: in memory.
const NOSYNC_PLACE: &str = "/run/brisk/nosync.so";

/// One way to take storage out of the way.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Variant {
    /// The phone as it is.
    #[default]
    Baseline,
    /// The user's `~/.cache` in memory.
    CacheInRam,
    /// The user's SQLite and LevelDB databases in memory.
    DatabasesInRam,
    /// All files in memory.
    AllInRam,
    /// Requests to sync do nothing.
    SyncOff,
    /// The file system has no journal.
    NoJournal,
}

impl Variant {
    /// All, the baseline first.
    pub const ALL: [Self; 6] =
        [Self::Baseline, Self::CacheInRam, Self::DatabasesInRam, Self::AllInRam, Self::SyncOff, Self::NoJournal];

    /// Its name in results.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Baseline => "baseline",
            Self::CacheInRam => "cache_in_ram",
            Self::DatabasesInRam => "databases_in_ram",
            Self::AllInRam => "all_in_ram",
            Self::SyncOff => "sync_off",
            Self::NoJournal => "no_journal",
        }
    }

    /// What it is, in a sentence.
    #[must_use]
    pub fn text(self) -> &'static str {
        match self {
            Self::Baseline => "the phone as it is",
            Self::CacheInRam => "the user's ~/.cache is in memory",
            Self::DatabasesInRam => "the user's SQLite and LevelDB databases are in memory",
            Self::AllInRam => "all files are in memory",
            Self::SyncOff => "requests to write through to storage do nothing",
            Self::NoJournal => "the ext4 file system has no journal",
        }
    }
}

/// Where apps have their root directory.
pub(crate) fn root(dir: &StateDir, record: &Record) -> PathBuf {
    if record.variant == Variant::AllInRam { dir.ram() } else { dir.root() }
}

/// What an app's environment has besides the usual.
pub(crate) fn environment(variant: Variant) -> Vec<(OsString, OsString)> {
    let preload = (variant == Variant::SyncOff).then(|| ("LD_PRELOAD".into(), NOSYNC_PLACE.into()));
    preload.into_iter().collect()
}

impl Phone {
    /// Brings the phone into a variant, from whichever it is in. Apps that run are ended.
    ///
    /// # Errors
    /// When something of the old variant cannot be undone, or of the new one cannot be done: what the phone is like is then
    /// not known, and setting a variant again or taking it down is the way on.
    pub fn set_variant(&mut self, variant: Variant, progress: &mut dyn FnMut(&str)) -> Result<()> {
        // A baseline is noted when it is reached; anything else before, and may be half of it.
        if variant == Variant::Baseline && self.record.variant == Variant::Baseline {
            return Ok(());
        }
        let dir = self.dir.clone();
        let Some(_one_at_a_time) = dir.lock_changes().map_err(failed("look after the phone"))? else {
            return Err(Error::NoSuchPhone(dir.id.to_string()));
        };
        self.end_apps()?;
        self.set_timed(false)?;
        let changed = self.change(variant, progress);
        let changed = changed.and(self.write_out());
        // Also when it failed, so that nothing is measured without the flash's time.
        let timed = self.set_timed(true);
        changed.and(timed.map(drop))
    }

    fn change(&mut self, variant: Variant, progress: &mut dyn FnMut(&str)) -> Result<()> {
        progress(&format!("undoing: {}", self.record.variant.name()));
        self.undo()?;
        self.record.variant = Variant::Baseline;
        self.save()?;
        progress(&format!("setting: {}", variant.name()));
        // Noted before it is done, so that half of it can be undone as well.
        self.record.variant = variant;
        self.save()?;
        self.apply(variant)
    }

    fn apply(&mut self, variant: Variant) -> Result<()> {
        let root = self.dir.root();
        match variant {
            Variant::Baseline => Ok(()),
            Variant::CacheInRam => memory::over(&room::inside(&root, room::HOME).join(".cache")),
            Variant::DatabasesInRam => databases::move_out(&room::inside(&root, room::HOME), &root).map(drop),
            Variant::AllInRam => {
                let ram = self.dir.ram();
                memory::copy_all(&root, &ram)?;
                self.furnish(&ram)
            }
            Variant::SyncOff => {
                let place = room::inside(&root, NOSYNC_PLACE);
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
            Variant::CacheInRam => room::strip(&room::inside(&root, room::HOME).join(".cache"), false).map(drop),
            Variant::DatabasesInRam => databases::move_back(&room::inside(&root, room::HOME), &root),
            Variant::AllInRam => {
                self.end_buses_in(&self.dir.ram())?;
                room::strip(&self.dir.ram(), false).map(drop)
            }
            Variant::SyncOff => match fs::remove_file(room::inside(&root, NOSYNC_PLACE)) {
                Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                    Err(failed("remove the library that turns syncs off")(error))
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

    /// Does something to the device while its file system is not mounted.
    fn with_unmounted(&mut self, work: impl FnOnce(&Path, &Path) -> Result<()>) -> Result<()> {
        let dir = self.dir.clone();
        self.end_buses_in(dir.path())?;
        room::strip(&self.dir.root(), false)?;
        let done = work(self.device()?, &self.record.image);
        // Also when it failed: a phone that is mounted can be used on.
        let mounted = self.mount();
        done.and(mounted)
    }
}

/// A full check of the file system, which may repair what is safe to repair.
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
    fn a_variant_is_named_in_results_as_on_disk() {
        for variant in Variant::ALL {
            let text = serde_json::to_string(&variant).expect("JSON");
            assert_eq!(text, format!("\"{}\"", variant.name()));
        }
    }

    #[test]
    fn only_sync_off_preloads_something() {
        for variant in Variant::ALL {
            assert_eq!(!environment(variant).is_empty(), variant == Variant::SyncOff, "{variant:?}");
        }
    }

    #[test]
    fn the_preloaded_library_takes_syncs_away() {
        let dir = tempfile::tempdir().expect("temporary directory");
        let library = dir.path().join("nosync.so");
        fs::write(&library, NOSYNC).expect("written");
        // dd fails to sync a pipe, which has no storage; with the library it does not even ask.
        let synced = |preload: bool| {
            let mut command = Command::new("sh");
            command.args(["-c", "echo x | (dd of=/dev/stdout conv=fsync status=none | cat >/dev/null; exit 0); echo x | dd conv=fsync status=none of=/proc/self/fd/1 2>&1 | cat"]);
            if preload {
                command.env("LD_PRELOAD", &library);
            }
            String::from_utf8(command.output().expect("the shell runs").stdout).expect("text")
        };
        assert!(synced(false).contains("fsync failed"), "{}", synced(false));
        assert_eq!(synced(true), "x\n");
    }
}
