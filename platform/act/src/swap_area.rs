//! Swap areas that stay until they are undone: a file or a partition on flash, compressed memory (zram) before it, and a unit of systemd, or a
//! line of fstab, that switches them on after a restart.
//!
//! What is made is on disk in a record before it is made, so that an interrupted set-up is undone like a complete one. The number of
//! a zram device holds until the next restart only, and is recorded with the kernel's boot id. Compressed memory is filled first
//! ([`ZRAM_PRIORITY`] above [`FLASH_PRIORITY`]); areas of others stay as they are.
//!
//! Properties: `what_is_made_is_undone`; `a_set_up_that_fails_leaves_nothing`; `a_file_that_is_there_is_not_touched`.

mod boot;
mod error;
mod kernel;

use std::fs;
use std::io;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use rustix::fs::{FallocateFlags, fallocate};
use serde::{Deserialize, Serialize};

pub use error::SwapAreaError;

type Result<T> = std::result::Result<T, SwapAreaError>;

/// Priorities of swapon(2): the highest is filled first.
pub const ZRAM_PRIORITY: i32 = 100;
/// That of the area on flash.
pub const FLASH_PRIORITY: i32 = 10;

/// Where things are; other directories than those of the machine are for tests.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SwapPlaces {
    /// What was made.
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
            record: "/var/lib/brisk/swap.json".into(),
            units: "/etc/systemd/system".into(),
            fstab: "/etc/fstab".into(),
            has_systemd: Path::new("/run/systemd/system").is_dir(),
            program,
        }
    }
}

/// What is to be made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SwapPlan {
    /// The area on flash.
    pub area: FlashArea,
    /// Compressed memory before it.
    pub zram_bytes: Option<u64>,
}

/// An area on flash.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "kind")]
pub enum FlashArea {
    /// A new file, which is removed by undo.
    File {
        /// Its path.
        path: PathBuf,
        /// Its size.
        size_bytes: u64,
    },
    /// A partition, whose content is lost.
    Partition {
        /// Its device node.
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

/// What was made, as it is recorded.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Record {
    schema_version: u32,
    #[serde(flatten)]
    plan: SwapPlan,
    /// The zram device, and the boot in which it has that number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    zram: Option<Zram>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Zram {
    number: u32,
    boot_id: String,
}

/// Swap areas of brisk.
#[derive(Debug, Clone)]
pub struct SwapAreas {
    places: SwapPlaces,
}

impl SwapAreas {
    /// Those at these places.
    #[must_use]
    pub fn new(places: SwapPlaces) -> Self {
        Self { places }
    }

    /// What was set up; `None` when nothing is.
    ///
    /// # Errors
    /// When the record cannot be read or understood.
    pub fn made(&self) -> Result<Option<SwapPlan>> {
        Ok(self.load()?.map(|record| record.plan))
    }

    /// Makes the areas, and what switches them on after a restart; switches them on at once unless `later`. A failure leaves nothing.
    ///
    /// # Errors
    /// When something is set up already, the file exists, the file system has no room, or the kernel refuses an area.
    pub fn set_up(&self, plan: &SwapPlan, later: bool) -> Result<()> {
        if self.load()?.is_some() {
            return Err(SwapAreaError::AlreadySetUp { record: self.places.record.clone() });
        }
        if let FlashArea::File { path, .. } = &plan.area
            && fs::symlink_metadata(path).is_ok()
        {
            return Err(SwapAreaError::Exists { path: path.clone() });
        }
        self.save(&Record { schema_version: 1, plan: plan.clone(), zram: None })?;
        let made = make(&plan.area)
            .and_then(|()| boot::add(&self.places, &plan.area))
            .and_then(|()| if later { Ok(()) } else { self.start() });
        // The failure is what the caller has to know; what cannot be removed stays recorded.
        match &made {
            Ok(()) => {}
            // Another program has made it since the check.
            Err(SwapAreaError::Exists { .. }) => drop(remove(&self.places.record)),
            Err(_) => drop(self.undo()),
        }
        made
    }

    /// Switches on what was set up and is not on, such as after a restart.
    ///
    /// # Errors
    /// When nothing is set up, or the kernel refuses an area; the others are on.
    pub fn start(&self) -> Result<()> {
        let mut record = self.load()?.ok_or_else(|| self.nothing())?;
        let zram = match record.plan.zram_bytes {
            Some(size_bytes) => self.start_zram(&mut record, size_bytes),
            None => Ok(()),
        };
        let area = record.plan.area.path();
        let flash = if kernel::is_on(area)? { Ok(()) } else { kernel::switch_on(area, FLASH_PRIORITY) };
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
        format(&device)?;
        kernel::switch_on(&device, ZRAM_PRIORITY)
    }

    /// Switches all areas off, and removes what was made; gives what was set up. Pages in the areas are read back first.
    ///
    /// # Errors
    /// When nothing is set up, memory does not suffice for what is in an area, or something cannot be removed: that stays recorded.
    pub fn undo(&self) -> Result<SwapPlan> {
        let record = self.load()?.ok_or_else(|| self.nothing())?;
        let area = record.plan.area.path();
        // Nothing is removed as long as an area is on.
        if kernel::is_on(area)? {
            kernel::switch_off(area)?;
        }
        if let Some(zram) = record.zram.as_ref()
            && kernel::boot_id().is_ok_and(|boot_id| boot_id == zram.boot_id)
        {
            kernel::remove_zram(zram.number)?;
        }
        boot::remove_all(&self.places, &record.plan.area)?;
        if let FlashArea::File { path, .. } = &record.plan.area {
            remove(path)?;
        }
        remove(&self.places.record)?;
        Ok(record.plan)
    }

    fn nothing(&self) -> SwapAreaError {
        SwapAreaError::NothingSetUp { record: self.places.record.clone() }
    }

    fn load(&self) -> Result<Option<Record>> {
        let path = &self.places.record;
        match fs::read(path) {
            Ok(bytes) => serde_json::from_slice(&bytes)
                .map(Some)
                .map_err(|source| SwapAreaError::Damaged { path: path.clone(), source }),
            Err(source) if source.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(source) => Err(failed("read", path)(source)),
        }
    }

    fn save(&self, record: &Record) -> Result<()> {
        let path = &self.places.record;
        if let Some(dir) = path.parent() {
            fs::create_dir_all(dir).map_err(failed("make", dir))?;
        }
        let text = serde_json::to_string_pretty(record).map_err(io::Error::from).map_err(failed("write", path))?;
        write_whole(path, &(text + "\n"))
    }
}

/// Makes the area on flash, switched off.
fn make(area: &FlashArea) -> Result<()> {
    let path = area.path();
    if let FlashArea::File { size_bytes, .. } = area {
        let file = fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(path);
        let file = file.map_err(|source| match source.kind() {
            io::ErrorKind::AlreadyExists => SwapAreaError::Exists { path: path.to_owned() },
            _ => failed("make", path)(source),
        })?;
        fallocate(&file, FallocateFlags::empty(), 0, *size_bytes).map_err(|errno| match errno {
            rustix::io::Errno::NOSPC => SwapAreaError::NoRoom { path: path.to_owned(), size_bytes: *size_bytes },
            _ => failed("allocate blocks for", path)(errno.into()),
        })?;
        file.sync_all().map_err(failed("write", path))?;
    }
    format(path)
}

/// Writes the header of an area.
fn format(path: &Path) -> Result<()> {
    let made = std::process::Command::new("mkswap").arg("--quiet").arg(path).output();
    let made = made.map_err(|source| SwapAreaError::NoProgram { name: "mkswap", source })?;
    if made.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&made.stderr);
    let why = said.lines().next_back().unwrap_or("mkswap gave no reason").to_owned();
    Err(SwapAreaError::NotFormatted { path: path.to_owned(), why })
}

fn remove(path: &Path) -> Result<()> {
    match fs::remove_file(path) {
        Err(source) if source.kind() != io::ErrorKind::NotFound => Err(failed("remove", path)(source)),
        _ => Ok(()),
    }
}

/// Replaces a file as a whole: after a power cut it has the old content or the new one.
fn write_whole(path: &Path, text: &str) -> Result<()> {
    let mut name = path.as_os_str().to_owned();
    name.push(".brisk-new");
    let new = PathBuf::from(name);
    let write = || {
        let mut file = fs::OpenOptions::new().write(true).create(true).truncate(true).mode(0o644).open(&new)?;
        io::Write::write_all(&mut file, text.as_bytes())?;
        file.sync_all()?;
        fs::rename(&new, path)
    };
    write().map_err(failed("write", path))
}

fn failed(what: &'static str, path: &Path) -> impl FnOnce(io::Error) -> SwapAreaError {
    let path = path.to_owned();
    move |source| SwapAreaError::File { what, path, source }
}
