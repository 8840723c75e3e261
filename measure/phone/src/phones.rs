//! Phones of this machine: brought up, found, taken down.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use brisk_lab::{Backend, Lab, Listed as LabListed, NewDevice};
use brisk_sense::Sense;
use serde::Serialize;

use crate::error::{Error, Result, io as failed};
use crate::image::{check_image, steps::tool};
use crate::phone::Phone;
use crate::state::{Record, SCHEMA_VERSION, StateDir};
use crate::whatif::Variant;
use crate::{room, take_down, whatif};

/// What a new phone is to be.
#[derive(Debug, Clone)]
pub struct NewPhone {
    /// Preset of its flash: a built-in one's name, or the path of a file.
    pub preset: String,
    /// Parameters that differ from the preset, by name.
    pub set: Vec<(String, String)>,
    /// Size of its flash.
    pub size_bytes: u64,
    /// I/O scheduler; absent: as the lab chooses.
    pub scheduler: Option<String>,
    /// Image of its root.
    pub image: PathBuf,
    /// Apps in the image, by name; none where that is not known.
    pub apps: Vec<String>,
    /// As [`NewDevice::server`].
    pub server: Vec<String>,
    /// As [`NewDevice::take_down`].
    pub take_down: Vec<String>,
    /// Whether it stays when this process ends. One that does not goes with the [`Phone`], or is cleared up by the next
    /// command when this process is killed.
    pub keep: bool,
}

/// A phone, as `list` shows it.
#[derive(Debug, Clone, Serialize)]
pub struct Listed {
    /// Number.
    pub id: u32,
    /// Preset of its flash.
    pub preset: String,
    /// Block device.
    pub device: Option<PathBuf>,
    /// Size of its flash.
    pub size_bytes: u64,
    /// Where its root is.
    pub root: PathBuf,
    /// Its apps.
    pub apps: Vec<String>,
    /// What is changed for a what-if study.
    pub variant: Variant,
    /// Processes that run in it.
    pub processes: usize,
    /// Why it cannot be used.
    pub trouble: Option<String>,
}

/// Whether a phone can be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Condition {
    /// It can.
    Fit,
    /// Somebody is at it.
    Making,
    /// It never can again, and why.
    Broken(String),
}

impl Condition {
    fn trouble(self) -> Option<String> {
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
    /// Those whose state is under `run_dir`, normally `/run/brisk`, as that of the lab that has their flash.
    #[must_use]
    pub fn new(run_dir: &Path) -> Self {
        let run_dir = std::path::absolute(run_dir).unwrap_or_else(|_| run_dir.to_owned());
        Self { lab: Lab::new(&run_dir), run_dir }
    }

    /// The lab that has their flash.
    #[must_use]
    pub fn lab(&self) -> &Lab {
        &self.lab
    }

    /// Checks what can be known before anything is made: rights, tools, preset, sizes, memory.
    ///
    /// # Errors
    /// The first thing that stands against it.
    pub fn check(&self, new: &NewPhone) -> Result<()> {
        let image_bytes = check_image(&new.image)?;
        if new.size_bytes < image_bytes {
            return Err(Error::Size { size_bytes: new.size_bytes, least_bytes: image_bytes });
        }
        self.check_flash(new)
    }

    /// As [`Self::check`], as far as it does not need the image: for before that is built.
    ///
    /// # Errors
    /// The first thing that stands against it.
    pub fn check_flash(&self, new: &NewPhone) -> Result<()> {
        if !rustix::process::geteuid().is_root() {
            return Err(Error::NotRoot);
        }
        tool("resize2fs", "fits the image to the device", "e2fsprogs")?;
        if Sense::default().cgroups()?.v2.is_none() {
            return Err(Error::NoCgroup2);
        }
        Ok(self.lab.check(&new.device(0))?)
    }

    /// Makes a phone. Gives sentences on what was cleared up on the way.
    ///
    /// # Errors
    /// When a check fails, a part of it cannot be made, or `stop` is raised; then nothing of it is left.
    pub fn up(
        &self,
        new: &NewPhone,
        stop: &AtomicBool,
        progress: &mut dyn FnMut(&str),
    ) -> Result<(Phone, Vec<String>)> {
        self.check(new)?;
        let repaired = self.repair()?;
        let (dir, lock) = StateDir::create(&self.run_dir)?;
        let record = Record {
            schema_version: SCHEMA_VERSION,
            image: new.image.clone(),
            apps: new.apps.clone(),
            preset: new.preset.clone(),
            size_bytes: new.size_bytes,
            mark: fresh_mark(),
            device: None,
            group: None,
            buses: Vec::new(),
            variant: Variant::Baseline,
            keep: new.keep,
            ready: false,
        };
        let mut phone = Phone::begun(self.clone(), dir, record, Some(lock));
        phone.make(new, stop, progress)?;
        if new.keep {
            phone.keep();
        }
        Ok((phone, repaired))
    }

    /// All phones, by number. Broken ones are not repaired here.
    ///
    /// # Errors
    /// When the directory may not be read.
    pub fn list(&self) -> Result<Vec<Listed>> {
        StateDir::all(&self.run_dir)?.iter().map(|dir| self.listed(dir)).collect()
    }

    fn listed(&self, dir: &StateDir) -> Result<Listed> {
        let record = dir.load();
        let trouble = self.condition(dir, record.as_ref())?.trouble();
        let processes = crate::processes::inside(dir.path())?.len();
        let known = record.as_ref();
        Ok(Listed {
            id: dir.id,
            preset: known.map_or_else(String::new, |record| record.preset.clone()),
            device: known.and_then(|record| record.device.clone()),
            size_bytes: known.map_or(0, |record| record.size_bytes),
            root: known.map_or_else(|| dir.root(), |record| whatif::root(dir, record)),
            apps: known.map_or_else(Vec::new, |record| record.apps.clone()),
            variant: known.map_or(Variant::Baseline, |record| record.variant),
            processes,
            trouble,
        })
    }

    pub(crate) fn condition(&self, dir: &StateDir, record: Option<&Record>) -> Result<Condition> {
        let broken = |why: &str| Ok(Condition::Broken(why.to_owned()));
        let owned = dir.lock_if_free().map_err(failed("look after the phone"))?.is_none();
        let Some(record) = record.filter(|record| record.ready) else {
            return if owned { Ok(Condition::Making) } else { broken("whoever made it was ended") };
        };
        if !owned && !record.keep {
            return broken("whoever it belonged to was ended");
        }
        let Some(device) = self.lab_device(record.mark) else {
            return broken("its flash device is gone");
        };
        if let Some(trouble) = device.trouble {
            return Ok(Condition::Broken(format!("its flash device is out of order: {trouble}")));
        }
        if room::mount_on(&dir.root())?.is_none() {
            return broken("its root is not mounted any more");
        }
        Ok(Condition::Fit)
    }

    /// The lab device with this mark.
    pub(crate) fn lab_device(&self, mark: u64) -> Option<LabListed> {
        let has_mark = |listed: &LabListed| self.lab.seed(&listed.id.to_string()).is_ok_and(|seed| seed == mark);
        self.lab.list().into_iter().find(has_mark)
    }

    /// The phone of this number; without one the only phone there is.
    ///
    /// # Errors
    /// When there is none, more than one, or it cannot be used.
    pub fn find(&self, id: Option<&str>) -> Result<Phone> {
        let dir = self.dir(id)?;
        let record = dir.load();
        if let Some(trouble) = self.condition(&dir, record.as_ref())?.trouble() {
            return Err(Error::Trouble { id: dir.id, trouble });
        }
        let record = record.ok_or_else(|| Error::NoSuchPhone(dir.id.to_string()))?;
        Ok(Phone::begun(self.clone(), dir, record, None))
    }

    fn dir(&self, id: Option<&str>) -> Result<StateDir> {
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

    /// Takes a phone down: ends what runs in it, unmounts, removes its flash. Gives sentences on what was in the way.
    ///
    /// # Errors
    /// When there is none, somebody outside uses its files and `force` is not set, or something of it cannot be removed.
    pub fn down(&self, id: &str, force: bool) -> Result<Vec<String>> {
        take_down::take_down(self, &self.dir(Some(id))?, force)
    }

    /// Takes down phones that cannot be used any more: half made, without their owner, without their flash.
    ///
    /// # Errors
    /// When one cannot be taken down.
    pub fn repair(&self) -> Result<Vec<String>> {
        let mut words = Vec::new();
        for dir in StateDir::all(&self.run_dir)? {
            if let Condition::Broken(trouble) = self.condition(&dir, dir.load().as_ref())? {
                words.push(format!("phone {} was removed: {trouble}", dir.id));
                words.extend(take_down::take_down(self, &dir, true)?);
            }
        }
        words.extend(self.lab.repair(&mut |_: &str| {})?.leftovers);
        Ok(words)
    }
}

impl NewPhone {
    /// Its flash, untimed until the image is on it.
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

/// A number that no other phone has.
fn fresh_mark() -> u64 {
    let mut bytes = [0; 8];
    // Linux fills so few bytes whole, once its generator runs.
    let filled = File::open("/dev/urandom").and_then(|mut file| std::io::Read::read_exact(&mut file, &mut bytes));
    match filled {
        Ok(()) => u64::from_ne_bytes(bytes),
        Err(_) => {
            let now = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
            u64::from(std::process::id()) << 32 | now.tv_nsec.unsigned_abs()
        }
    }
}
