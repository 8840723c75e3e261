//! The phones of this machine: parameters, checks, list, condition.

use std::path::{Path, PathBuf};

use crate::device::{Backend, Lab, Listed as LabListed, NewDevice};
use brisk_sense::{Capability, Sense};
use serde::Serialize;

use crate::phone::error::{Error, Result, io as failed};
use crate::phone::image::{LEAST_BYTES, check_image, steps::tool};
use crate::phone::memory::MemorySpec;
use crate::phone::mounts;
use crate::phone::state::{Record, StateDir};
use crate::phone::variant::Variant;

/// Rights that a phone and its image take: mounts and block devices.
pub(crate) const RIGHTS: &[Capability] = &[Capability::SysAdmin];

/// Parameters of a new phone.
#[derive(Debug, Clone)]
pub struct NewPhone {
    /// Preset of its flash: a built-in name, or the path of a file.
    pub preset: String,
    /// Parameters that override the preset, by name.
    pub set: Vec<(String, String)>,
    pub size_bytes: u64,
    /// I/O scheduler; by default the lab's choice.
    pub scheduler: Option<String>,
    /// Limit of its memory, and its swap; by default neither.
    pub memory: Option<MemorySpec>,
    pub image: PathBuf,
    /// Names of the apps in the image; empty if unknown.
    pub apps: Vec<String>,
    /// As [`NewDevice::server`].
    pub server: Vec<String>,
    /// As [`NewDevice::take_down`].
    pub take_down: Vec<String>,
    /// Whether it stays when this process ends. Otherwise it ends with the [`crate::phone::Phone`]; after a kill of
    /// this process, the next command removes it.
    pub keep: bool,
}

#[derive(Debug, Clone, Serialize)]
pub struct Listed {
    pub id: u32,
    pub preset: String,
    pub device: Option<PathBuf>,
    pub size_bytes: u64,
    pub root: PathBuf,
    pub apps: Vec<String>,
    /// Limit of its memory, and its swap.
    pub memory: Option<MemorySpec>,
    pub variant: Variant,
    /// Number of processes in it.
    pub processes: usize,
    /// Why it cannot be used, if so.
    pub trouble: Option<String>,
}

/// Usability of a phone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Condition {
    Fit,
    /// Being created or removed by another process.
    Making,
    /// Permanently unusable, with the reason.
    Broken(String),
}

impl Condition {
    pub(crate) fn trouble(self) -> Option<String> {
        match self {
            Self::Fit => None,
            Self::Making => Some("is being made".to_owned()),
            Self::Broken(why) => Some(why),
        }
    }
}

/// The phones of one run directory.
#[derive(Debug, Clone)]
pub struct Phones {
    pub(crate) run_dir: PathBuf,
    pub(crate) lab: Lab,
}

impl Phones {
    /// The phones with state in `run_dir`, normally `/run/brisk`; the lab uses the same directory.
    #[must_use]
    pub fn new(run_dir: &Path) -> Self {
        let run_dir = std::path::absolute(run_dir).unwrap_or_else(|_| run_dir.to_owned());
        Self { lab: Lab::new(&run_dir), run_dir }
    }

    /// The lab of their flash devices.
    #[must_use]
    pub fn lab(&self) -> &Lab {
        &self.lab
    }

    /// Checks the preconditions of a new phone: rights, tools, preset, sizes, memory.
    ///
    /// # Errors
    /// The first precondition that fails.
    pub fn check(&self, new: &NewPhone) -> Result<()> {
        let image_bytes = check_image(&new.image)?;
        if new.size_bytes < image_bytes {
            return Err(Error::Size { size_bytes: new.size_bytes, least_bytes: image_bytes });
        }
        self.check_flash(new)
    }

    /// The checks of [`Self::check`] that do not need the image, for use before it is built. A size that no image fits
    /// is refused where none is chosen yet.
    ///
    /// # Errors
    /// The first precondition that fails.
    pub fn check_flash(&self, new: &NewPhone) -> Result<()> {
        Sense::default().require_rights("a phone", RIGHTS)?;
        if new.image.as_os_str().is_empty() && new.size_bytes < LEAST_BYTES {
            return Err(Error::Size { size_bytes: new.size_bytes, least_bytes: LEAST_BYTES });
        }
        tool("resize2fs", "fits the image to the device", "e2fsprogs")?;
        if Sense::default().cgroups()?.v2.is_none() {
            return Err(Error::NoCgroup2);
        }
        new.memory.as_ref().map_or(Ok(()), MemorySpec::check)?;
        Ok(self.lab.check(&new.device(0))?)
    }

    /// All phones, by number. Does not repair broken ones.
    ///
    /// # Errors
    /// When the directory cannot be read.
    pub fn list(&self) -> Result<Vec<Listed>> {
        StateDir::all(&self.run_dir)?.iter().map(|dir| self.listed(dir)).collect()
    }

    fn listed(&self, dir: &StateDir) -> Result<Listed> {
        let record = dir.load();
        let trouble = self.condition(dir, record.as_ref())?.trouble();
        let processes = crate::phone::processes::inside(dir.path())?.len();
        let known = record.as_ref();
        Ok(Listed {
            id: dir.id,
            preset: known.map_or_else(String::new, |record| record.preset.clone()),
            device: known.and_then(|record| record.device.clone()),
            size_bytes: known.map_or(0, |record| record.size_bytes),
            root: known.map_or_else(|| dir.root(), |record| dir.app_root(record)),
            apps: known.map_or_else(Vec::new, |record| record.apps.clone()),
            memory: known.and_then(|record| record.memory.as_ref()).map(|memory| memory.spec),
            variant: known.map_or(Variant::Baseline, |record| record.variant),
            processes,
            trouble,
        })
    }

    pub(crate) fn condition(&self, dir: &StateDir, record: Option<&Record>) -> Result<Condition> {
        let broken = |why: &str| Ok(Condition::Broken(why.to_owned()));
        let owned = dir.lock_if_free().map_err(failed("lock the phone"))?.is_none();
        let Some(record) = record.filter(|record| record.ready) else {
            return if owned { Ok(Condition::Making) } else { broken("the process that made it was killed") };
        };
        if !owned && !record.keep {
            return broken("the process that owned it was killed");
        }
        let Some(device) = self.lab_device(record.mark) else {
            return broken("its flash device is gone");
        };
        if let Some(trouble) = device.trouble {
            return Ok(Condition::Broken(format!("its flash device is out of order: {trouble}")));
        }
        if mounts::mount_on(&dir.root())?.is_none() {
            return broken("its root is no longer mounted");
        }
        Ok(Condition::Fit)
    }

    /// The lab device with this mark.
    pub(crate) fn lab_device(&self, mark: u64) -> Option<LabListed> {
        let has_mark = |listed: &LabListed| self.lab.seed(&listed.id.to_string()).is_ok_and(|seed| seed == mark);
        self.lab.list().into_iter().find(has_mark)
    }

    pub(crate) fn dir(&self, id: Option<&str>) -> Result<StateDir> {
        let dirs = StateDir::all(&self.run_dir)?;
        match id {
            Some(id) => {
                dirs.into_iter().find(|dir| dir.id.to_string() == id).ok_or_else(|| Error::NoSuchPhone(id.to_owned()))
            }
            None => {
                let count = dirs.len();
                dirs.into_iter().next().filter(|_| count == 1).ok_or(Error::WhichPhone { count })
            }
        }
    }
}

impl NewPhone {
    /// Its lab device, untimed until the image is on it.
    pub(crate) fn device(&self, mark: u64) -> NewDevice {
        NewDevice {
            preset: self.preset.clone(),
            set: self.set.clone(),
            size_bytes: self.size_bytes,
            seed: mark,
            timed: false,
            scheduler: self.scheduler.clone(),
            backend: Backend::Auto,
            server: self.server.clone(),
            take_down: self.take_down.clone(),
        }
    }
}
