//! The only reader of the machine.
//!
//! Everything that brisk knows about a machine it learns here, from the text files of the kernel: /proc and /sys. The
//! parsers are `brisk-formats`' and pure; a *reader*, a method of [`Sense`], knows the path. [`Sense`] holds the root
//! directory of the paths, so that a tree captured on another machine takes the place of this one.
//!
//! What is read is reported as it stands; what it means is for others to say. An error names path, line and field.

mod activity;
mod app_pages;
mod block;
mod cgroup_meter;
mod cgroups;
mod closing;
mod dalvik;
mod desktop_entries;
mod error;
mod extents;
mod granted;
mod group_io;
mod identity;
mod kept;
mod launch_files;
mod local_time;
mod loops;
mod machine;
mod network;
mod oomd;
mod opened_files;
mod packages;
mod page_map;
mod power;
mod process_files;
mod queue;
mod readers;
mod resident;
mod rights;
mod sampler;
mod screen;
mod storage;
mod watch;
mod zram;

pub use activity::Hierarchies;
pub use block::{BlockDevice, Located, Mmc, Partition};
pub use brisk_formats::{
    AddressRange, AppGroups, BlockChange, Capability, DalvikHeap, DeviceNumber, Inhibitor, KernelVersion, MappedFile,
    Mount, PageRun, PageState, PowerRail, Pressure, ProcessMemory, ProcessStat, ProcessStatus, Resource, Schedulers,
    SmapsRollup, Swap, WearTenths, device_name,
};
pub use cgroup_meter::CgroupMeter;
pub use cgroups::{CgroupV1, CgroupV2, Cgroups};
pub use error::{Error, Result};
pub use granted::Right;
pub use identity::{Identity, Medium};
pub use launch_files::FILES_MAX;
pub use local_time::LocalTime;
pub use loops::LoopBacking;
pub use machine::Sense;
pub use oomd::OomdPreference;
pub use opened_files::{Opened, OpenedFiles, TAKEN_MAX};
pub use page_map::ProcessPages;
pub use power::{PowerSupply, PowercapZone};
pub use queue::BlockQueue;
pub use rights::MissingRights;
pub use sampler::{SampleChoice, Sampler};
pub use screen::{Backlight, Connector};
pub use storage::{Claim, Stack, Storage, Use};
pub use watch::{
    BlockWatch, FrontWatch, Group, GroupChange, GroupWatch, PressureWatch, ProcessSession, QueueWatch, SessionChange,
    SessionWatch, TableWatch,
};
pub use zram::{Zram, Zswap};
