//! Swap areas that stay until they are undone: a file or a partition on flash, compressed memory (zram) before it, and
//! a unit of systemd, or a line of fstab, that switches them on after a restart.
//!
//! [`SwapAreas::check`] finds out what stands against a set-up, and gives the [`Prepared`] one: a dry run ends there,
//! so that it says what a set-up would. What is made is on disk in a record before it is made, so that an interrupted
//! set-up is undone like a complete one. An area has a UUID of its own, and nothing is switched off, removed or
//! overwritten that does not bear it: names of devices move. The number of a zram device holds until the next restart
//! only, and is recorded with the kernel's boot id. Compressed memory is filled first ([`ZRAM_PRIORITY`] above
//! [`FLASH_PRIORITY`]); areas of others stay as they are.
//!
//! Properties: `what_is_made_is_undone`; `a_set_up_that_fails_leaves_nothing`; `a_file_that_is_there_is_not_touched`;
//! `an_undo_goes_on_after_a_step_that_fails`; `a_disk_that_has_the_name_now_is_left_alone`.

mod area;
mod boot;
mod error;
pub mod kernel;
mod record;
mod undo;

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

pub use boot::AtBoot;
pub use error::{LeftArea, SwapAreaError};
use record::{Mark, Record, Zram};
pub use undo::Undone;

type Result<T> = std::result::Result<T, SwapAreaError>;

/// Priorities of swapon(2): the highest is filled first.
pub const ZRAM_PRIORITY: i32 = 100;
/// That of the area on flash.
pub const FLASH_PRIORITY: i32 = 10;
/// What is kept of the areas that were made on this machine.
pub const SWAP_RECORD: &str = "/var/lib/brisk/swap.json";

/// Where things are; other directories than those of the machine are for tests.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SwapPlaces {
    pub record: PathBuf,
    /// Directory of the administrator's units.
    pub units: PathBuf,
    /// Table of file systems.
    pub fstab: PathBuf,
    /// Whether systemd starts the machine.
    pub has_systemd: bool,
    /// The program that the unit starts.
    pub program: PathBuf,
}

impl SwapPlaces {
    /// Those of this machine, with `program` as the command `brisk`.
    #[must_use]
    pub fn of_this_machine(program: PathBuf) -> Self {
        Self {
            record: SWAP_RECORD.into(),
            units: "/etc/systemd/system".into(),
            fstab: "/etc/fstab".into(),
            has_systemd: Path::new("/run/systemd/system").is_dir(),
            program,
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SwapPlan {
    pub area: FlashArea,
    /// Compressed memory before it.
    pub zram_bytes: Option<u64>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "kind")]
pub enum FlashArea {
    /// A new file, which is removed by undo.
    File { path: PathBuf, size_bytes: u64 },
    /// A partition, whose content is lost.
    Partition {
        /// Its device node, or a link to it that stays when kernel names move.
        path: PathBuf,
    },
}

impl FlashArea {
    /// The file or device node.
    #[must_use]
    pub fn path(&self) -> &Path {
        match self {
            Self::File { path, .. } | Self::Partition { path } => path,
        }
    }
}

/// A set-up that nothing stands against, as far as can be found out without making it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Prepared {
    plan: SwapPlan,
    at_boot: AtBoot,
    /// Checks that this user has no right to make.
    unchecked: Vec<PathBuf>,
}

impl Prepared {
    /// What will be made.
    #[must_use]
    pub fn plan(&self) -> &SwapPlan {
        &self.plan
    }

    /// What will switch the areas on after a restart.
    #[must_use]
    pub fn at_boot(&self) -> &AtBoot {
        &self.at_boot
    }

    /// Devices and directories that only root can examine.
    #[must_use]
    pub fn unchecked(&self) -> &[PathBuf] {
        &self.unchecked
    }
}

#[derive(Debug, Clone)]
pub struct SwapAreas {
    places: SwapPlaces,
}

impl SwapAreas {
    #[must_use]
    pub fn new(places: SwapPlaces) -> Self {
        Self { places }
    }

    /// What was set up; `None` when nothing is.
    ///
    /// # Errors
    /// When the record cannot be read or understood.
    pub fn made(&self) -> Result<Option<SwapPlan>> {
        Ok(record::load(&self.places.record)?.and_then(|record| record.plan()))
    }

    /// Refuses a second set-up.
    ///
    /// # Errors
    /// When something is set up, or the record cannot be read or understood.
    pub fn check_none(&self) -> Result<()> {
        match record::load(&self.places.record)? {
            Some(_) => Err(SwapAreaError::AlreadySetUp { record: self.places.record.clone() }),
            None => Ok(()),
        }
    }

    /// Examines whether a set-up is possible, without making anything: by trying, not by mode bits.
    ///
    /// # Errors
    /// When something is set up already, the file exists, the device is in use, or its directory or that of the record
    /// cannot be written.
    pub fn check(&self, plan: SwapPlan) -> Result<Prepared> {
        self.check_none()?;
        let mut unchecked = Vec::new();
        let may_be_unknown = !rustix::process::geteuid().is_root();
        let mut tried = |path: &Path, tried: Result<()>| match tried {
            Err(error) if may_be_unknown && error.is_denied() => {
                unchecked.push(path.to_owned());
                Ok(())
            }
            tried => tried,
        };
        let record = &self.places.record;
        tried(record, directory(record).map_err(|(dir, source)| SwapAreaError::NoRecord { dir, source }))?;
        tried(plan.area.path(), area::check(&plan.area))?;
        let at_boot = boot::choose(&self.places, &plan.area, &mut tried)?;
        Ok(Prepared { plan, at_boot, unchecked })
    }

    /// Makes the areas, and what switches them on after a restart; switches them on at once unless `later`. A failure
    /// leaves nothing.
    ///
    /// # Errors
    /// When something was set up since the check, the file system has no room, or the kernel refuses an area; with what
    /// could not be removed again, which stays recorded.
    pub fn set_up(&self, prepared: &Prepared, later: bool) -> Result<()> {
        let Prepared { plan, at_boot, .. } = prepared;
        if later && let AtBoot::Nothing { why } = at_boot {
            return Err(SwapAreaError::NeverOn { why: why.clone() });
        }
        let made_dir = record::make_directory(&self.places.record)?;
        let _turn = self.turn()?;
        self.check_none()?;
        let mut record = Record::new(plan, at_boot.clone(), made_dir)?;
        let made = self.save(&record).and_then(|()| self.make(&mut record, plan, later));
        let Err(failure) = made else { return Ok(()) };
        let left = self.undo_recorded(record).left;
        if left.is_empty() { Err(failure) } else { Err(SwapAreaError::Incomplete { failure: Box::new(failure), left }) }
    }

    fn make(&self, record: &mut Record, plan: &SwapPlan, later: bool) -> Result<()> {
        let uuid = record.uuid.clone();
        area::make(&plan.area, &uuid, || {
            record.mark = Mark::Begun;
            self.save(record)
        })?;
        record.mark = Mark::Made;
        self.save(record)?;
        boot::add(&self.places, record)?;
        if later { Ok(()) } else { self.start_recorded(record) }
    }

    /// Switches on what was set up and is not on, such as after a restart.
    ///
    /// # Errors
    /// When nothing is set up, its disk is not there, or the kernel refuses an area; the others are on.
    pub fn start(&self) -> Result<()> {
        let mut record = self.recorded()?;
        let _turn = self.turn()?;
        self.start_recorded(&mut record)
    }

    fn start_recorded(&self, record: &mut Record) -> Result<()> {
        let zram = match record.zram_bytes {
            Some(size_bytes) => self.start_zram(record, size_bytes),
            None => Ok(()),
        };
        let flash = match &record.area {
            Some(area) => area::find(area, &record.uuid).and_then(|found| {
                if kernel::is_on(&found)? { Ok(()) } else { kernel::switch_on(&found, FLASH_PRIORITY) }
            }),
            None => Ok(()),
        };
        zram.and(flash)
    }

    fn start_zram(&self, record: &mut Record, size_bytes: u64) -> Result<()> {
        let boot_id = kernel::boot_id()?;
        let number = match &record.zram {
            Some(zram) if zram.boot_id == boot_id => zram.number,
            _ => {
                let number = kernel::add_zram()?;
                record.zram = Some(Zram { number, boot_id });
                self.save(record)?;
                number
            }
        };
        let device = kernel::zram(number);
        if kernel::is_on(&device)? {
            return Ok(());
        }
        kernel::size_zram(number, size_bytes)?;
        area::format(&device, &record.zram_uuid)?;
        kernel::switch_on(&device, ZRAM_PRIORITY)
    }

    /// Switches all areas off, and removes what was made, step by step: what cannot be removed is named, stays
    /// recorded, and the other steps are made. Pages in the areas are read back first.
    ///
    /// # Errors
    /// When nothing is set up, the record cannot be understood, or another set-up is at work.
    pub fn undo(&self) -> Result<Undone> {
        let record = self.recorded()?;
        let _turn = self.turn()?;
        Ok(self.undo_recorded(record))
    }

    fn recorded(&self) -> Result<Record> {
        let nothing = || SwapAreaError::NothingSetUp { record: self.places.record.clone() };
        record::load(&self.places.record)?.ok_or_else(nothing)
    }

    fn save(&self, record: &Record) -> Result<()> {
        record::save(&self.places.record, record)
    }

    /// Keeps other set-ups of this machine out until it is dropped: a lock on the directory of the record.
    fn turn(&self) -> Result<Turn> {
        let dir = parent(&self.places.record);
        let file = File::open(dir).map_err(failed("open", dir))?;
        match file.try_lock() {
            Ok(()) => Ok(Turn(file)),
            Err(fs::TryLockError::WouldBlock) => Err(SwapAreaError::Busy),
            Err(fs::TryLockError::Error(source)) => Err(failed("lock", dir)(source)),
        }
    }
}

/// The right to make and remove areas.
struct Turn(File);

impl Drop for Turn {
    fn drop(&mut self) {
        // Not only closed: a program that another thread starts has the file too, until it runs.
        let _ = self.0.unlock();
    }
}

/// Whether a file can be made at `path`, in a directory that is there or can be made.
fn directory(path: &Path) -> std::result::Result<(), (PathBuf, io::Error)> {
    let dir = parent(path);
    let there = dir.ancestors().find(|dir| dir.is_dir()).unwrap_or(dir);
    brisk_program::files::check_directory(there).map_err(|source| (there.to_owned(), source))
}

/// The same, as an error of the file.
fn takes_file(path: &Path) -> Result<()> {
    directory(path).map_err(|(dir, source)| failed("make a file in", &dir)(source))
}

/// The directory of a file.
fn parent(path: &Path) -> &Path {
    path.parent().filter(|dir| !dir.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

fn remove(path: &Path) -> Result<()> {
    match fs::remove_file(path) {
        Err(source) if matches!(source.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => Ok(()),
        removed => removed.map_err(failed("remove", path)),
    }
}

fn failed(what: &'static str, path: &Path) -> impl FnOnce(io::Error) -> SwapAreaError {
    let path = path.to_owned();
    move |source| SwapAreaError::File { what, path, source }
}
