//! The daemon at one moment, as `org.brisk.Daemon.varlink` describes it.

use brisk_core::app::App;
use brisk_core::decision::Note;
use brisk_core::device;
use brisk_core::state::{ActionState, ChangedExternally, SettingState};
pub use brisk_core::survey::{Prefetched, SwapWrites};
use serde::{Deserialize, Serialize};

use crate::resting::Resting;
use crate::rights::LackingRight;
use crate::said::Said;
use crate::trial::Trials;
use crate::tries::Tried;

/// A managed device.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Device {
    /// Kernel name.
    pub name: String,
    /// What it calls itself.
    pub model: String,
    /// Sort of device.
    pub kind: String,
    /// What of [`PARTS`] was measured of it.
    pub measured: Vec<String>,
    /// What was tried and is not known.
    pub tried: Vec<Tried>,
}

/// What `brisk tune` measures of a device.
pub const PARTS: [&str; 3] = ["speeds", "settings", "costs"];

impl Device {
    #[must_use]
    pub fn new(device: &device::Device, measured: Vec<String>, tried: Vec<Tried>) -> Self {
        Self { name: device.name.clone(), model: device.model.clone(), kind: device.kind.clone(), measured, tried }
    }

    /// What of it is to be measured still.
    pub fn due(&self) -> impl Iterator<Item = &'static str> {
        PARTS.into_iter().filter(|part| !self.measured.iter().any(|measured| measured == part))
    }
}

/// Why a disk is not managed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Why {
    /// The device is listed, and there is none of this name.
    Missing,
    /// The device is listed, and has no medium.
    Empty,
    /// Others are listed.
    NotListed,
    /// Nothing is mounted on it or swapped to it.
    NotUsed,
    /// Used by an emulated phone alone.
    Phone,
    /// A file, disc, program or network.
    NotLocal,
    /// The disk says that it rotates.
    Rotating,
    /// The disk may rotate.
    UnknownMedium,
    /// Nothing can be set on its queue.
    NoScheduler,
    /// The kernel's files of its queue are not readable or not understood.
    Unreadable,
}

impl Why {
    /// The reason and what to do about it, to follow the name of the disk.
    #[must_use]
    pub fn text(self) -> &'static str {
        match self {
            Self::Missing => "listed under [daemon] devices, but not there at present; managed from when it appears",
            Self::Empty => "no medium in it",
            Self::NotListed => "not listed under [daemon] devices",
            Self::NotUsed => "no mounted file system and no swap area is on it",
            Self::Phone => "an emulated phone runs on it, with settings of its own",
            Self::NotLocal => {
                "a file, a disc, a program or the network serves it; list it under [daemon] devices to manage it"
            }
            Self::Rotating => "a rotating disk, as it says itself; list it under [daemon] devices to manage it",
            Self::UnknownMedium => {
                "on USB, where the kernel cannot tell flash from a rotating disk; list it under [daemon] devices to \
                 manage it"
            }
            Self::NoScheduler => "its queue has no I/O scheduler",
            Self::Unreadable => "the kernel's files of its queue are not readable or not understood",
        }
    }
}

/// A disk that is not managed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeftAlone {
    /// Kernel name.
    pub name: String,
    /// The reason.
    pub why: Why,
    /// The reason as a sentence, with what to do.
    pub text: String,
}

impl LeftAlone {
    /// The disk of this kernel name.
    #[must_use]
    pub fn new(name: String, why: Why) -> Self {
        Self { name, why, text: why.text().to_owned() }
    }
}

/// Declares counters: the struct, and the name of each as a metric. A row here is all that a new one needs, beside its
/// line in `org.brisk.Daemon.varlink` and what counts.
macro_rules! counts {
    ($(#[$about:meta])* $of:ident { $(#[doc = $help:literal] $name:ident as $metric:literal;)+ }) => {
        $(#[$about])*
        #[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
        #[serde(default)]
        pub struct $of {
            $(#[doc = $help] pub $name: u64,)+
        }

        impl $of {
            /// The name as a metric, the meaning and the value of each.
            #[must_use]
            pub fn each(&self) -> [(&'static str, &'static str, u64); [$($metric),+].len()] {
                [$(($metric, $help.trim_start().trim_end_matches('.'), self.$name)),+]
            }
        }
    };
}

counts! {
    /// What the daemon did since it began.
    Counts {
        /// Times that the daemon woke up.
        wake_ups as "wake_ups";
        /// Times that engines were asked.
        rounds as "rounds";
        /// Events.
        events as "events";
        /// Launches of apps.
        launches as "launches";
        /// Settings written.
        writes as "setting_writes";
        /// Settings that could not be written.
        refusals as "setting_refusals";
        /// One-shot actions done.
        actions as "actions";
        /// Settings that were changed externally.
        changed_externally as "settings_changed_externally";
        /// Scans of the devices.
        device_scans as "device_scans";
    }
}

/// What the daemon itself costs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cost {
    /// Processor time since it began.
    pub cpu_us: u64,
    /// Memory now.
    pub rss_bytes: u64,
}

/// A number with its 95 % interval.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Estimate {
    /// The number; negative where something was lost.
    pub value: i64,
    /// Lower end of the interval.
    pub low: i64,
    /// Upper end of it.
    pub high: i64,
}

/// What the settings of engines have saved on a device since the daemon began.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Saved {
    /// The device.
    pub device: String,
    /// The engines, joined by `+`.
    pub engines: String,
    /// Time for which their settings were in force and the device was sampled.
    pub elapsed_s: u64,
    /// Reads meanwhile.
    pub reads: u64,
    /// Of these, the ones for which like was seen without brisk's settings.
    pub reads_compared: u64,
    /// What those took less in all; `None` until enough was seen.
    pub read_delay_us: Option<Estimate>,
    /// Writes meanwhile.
    pub writes: u64,
    /// Of these, the ones for which like was seen without brisk's settings.
    pub writes_compared: u64,
    /// What those took less in all; `None` until enough was seen.
    pub write_delay_us: Option<Estimate>,
    /// Energy, modelled; `None` until enough was seen.
    pub energy_uj: Option<Estimate>,
    /// Requests that the energy is about.
    pub energy_requests_compared: u64,
}

/// Where the session is recorded.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Record {
    /// The file.
    pub path: String,
    /// Bytes written by this session.
    pub bytes: u64,
    /// Why nothing is recorded at the moment.
    #[serde(default)]
    pub trouble: Option<String>,
}

/// What a sentence of [`Status::trouble`] begins with while the devices cannot be listed.
pub const DEVICES_UNREAD: &str = "cannot read the devices";

/// What shows that an app begins or ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FoundBy {
    /// Control groups, as desktops and Android make them for apps.
    Groups,
    /// Sessions of processes, of apps without a group of their own.
    Sessions,
}

/// Everything at one moment.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Status {
    /// Version of brisk.
    pub brisk_version: String,
    /// The daemon's process.
    pub pid: u32,
    /// When it began.
    pub started_unix_ms: u64,
    /// Now.
    pub at_unix_ms: u64,
    /// Whether it only plans.
    pub dry_run: bool,
    /// Whether everything is as before brisk, until the configuration is read again.
    pub paused: bool,
    /// Where the configuration is.
    pub config_path: String,
    /// Engines that run, in order.
    pub engines: Vec<String>,
    /// Their trials, without subjects.
    #[serde(default)]
    pub trials: Trials,
    /// Managed devices.
    pub devices: Vec<Device>,
    /// The other disks, each with the reason.
    pub left_alone: Vec<LeftAlone>,
    /// Apps that run.
    pub apps: Vec<App>,
    /// What shows that an app begins; empty where nothing does.
    pub found_by: Vec<FoundBy>,
    /// Requested settings, with what became of each.
    pub settings: Vec<SettingState>,
    /// The last one-shot actions, with what became of each.
    #[serde(default)]
    pub actions: Vec<ActionState>,
    /// Messages of engines.
    pub notes: Vec<Note>,
    /// Settings that were changed externally.
    pub changed_externally: Vec<ChangedExternally>,
    /// What the daemon lacks or could not do.
    pub trouble: Vec<String>,
    /// Parts that it does without, since it has died in them.
    #[serde(default)]
    pub resting: Vec<Resting>,
    /// Rights that its service lacks, found by trying.
    #[serde(default)]
    pub lacking_rights: Vec<LackingRight>,
    /// What it did.
    pub counts: Counts,
    /// What it costs.
    pub cost: Cost,
    /// What was saved.
    #[serde(default)]
    pub saved: Vec<Saved>,
    /// How that was measured.
    #[serde(default)]
    pub saved_how: String,
    /// What the engine for swap writes; `None` while it does not run.
    #[serde(default)]
    pub swap_writes: Option<SwapWrites>,
    /// What the engine for launch prefetch has read ahead; `None` while it does not run.
    #[serde(default)]
    pub prefetched: Option<Prefetched>,
    /// Other programs that act when memory is short.
    #[serde(default)]
    pub memory_programs: Vec<MemoryProgram>,
    /// Where it records.
    #[serde(default)]
    pub record: Option<Record>,
}

/// A program that acts when memory is short and runs now.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MemoryProgram {
    /// Its name.
    pub name: String,
    /// Its process.
    pub pid: u32,
    /// Whether it ends apps, so that brisk does not.
    pub ends_apps: bool,
    /// What it does.
    pub does: String,
}

/// Something that happened.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Happening {
    /// When.
    pub at_unix_ms: u64,
    /// `event`, `setting` or `note`.
    pub kind: String,
    /// What, in a sentence.
    pub text: String,
    /// The same with its form, for other languages.
    #[serde(default)]
    pub said: Option<Said>,
}
