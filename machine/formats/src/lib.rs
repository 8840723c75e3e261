//! The kernel's text formats and names: one parser for each, shared by the reader and the writer of the machine.
//!
//! A parser takes bytes and gives values; it knows no path and reads no file. Each source has one module, named by what
//! the kernel calls it.
//!
//! Properties, each with a test: no bytes make a parser panic (`tests/garbage.rs`); what the kernel renders is read
//! back; fields that newer kernels append are ignored; fields that older kernels lack are `None`; a value that cannot
//! be read is an error with line and field, never a zero.

mod android;
mod backing_file;
mod block;
mod cgroup;
mod cpu;
mod dalvik;
mod diskstats;
mod error;
pub mod fields;
mod file_system;
mod fstab;
mod group_file;
pub mod group_name;
mod inhibitor;
mod kernel;
mod memory;
mod mountinfo;
mod net_dev;
mod net_tcp;
mod page_map;
mod power_rails;
pub mod proc_connector;
mod process;
mod psi;
mod schedulers;
mod seat;
mod smaps_rollup;
mod sound;
mod status;
mod swap_header;
mod swaps;
mod uevent;
mod zram;

pub use android::{AppGroups, Packages, app_groups, is_app_user, parse_packages};
pub use backing_file::parse_backing_file;
pub use block::{DeviceNumber, DeviceNumberError, WearTenths, device_name, device_node, parse_life_time, sysfs_name};
pub use cgroup::{
    CgroupCpu, ProcessCgroup, common_value, parse_cgroup_cpu, parse_cgroup_processes, parse_controllers_v1,
    parse_controllers_v2, parse_frozen, parse_io_stat, parse_oom_kills, parse_populated, parse_process_cgroups,
};
pub use cpu::{parse_cpu_list, parse_cpu_stat};
pub use dalvik::{DalvikHeap, parse_dalvik_heap};
pub use diskstats::{SECTOR_BYTES, parse_disk_stats, parse_stat_of, parse_writes_in_flight};
pub use error::ParseError;
pub use file_system::is_on_block_device;
pub use fstab::{FstabAdded, FstabSwap, add_fstab_swap, fstab_swaps, remove_fstab_swap};
pub use group_file::group_id;
pub use inhibitor::{Inhibitor, parse_inhibitor};
pub use kernel::KernelVersion;
pub use memory::{parse_mem_info, parse_paging};
pub use mountinfo::{Mount, parse_mounts};
pub use net_dev::parse_net_devices;
pub use net_tcp::{parse_connections, parse_tcp_owner};
pub use page_map::{
    AddressRange, PAGE_ENTRY_BYTES, PageRun, PageState, append_page_runs, parse_address_ranges, parse_page_states,
    parse_unswappable,
};
pub use power_rails::{PowerRail, parse_power_rails};
pub use process::{
    BytesMoved, MappedFile, ProcessStat, parse_command_line, parse_mapped_files, parse_process_io,
    parse_process_session, parse_process_stat,
};
pub use psi::{Pressure, Resource, Stall, parse_pressure};
pub use schedulers::{Schedulers, parse_schedulers};
pub use seat::parse_active_user;
pub use smaps_rollup::{SmapsRollup, parse_smaps_rollup};
pub use sound::parse_pcm_owner;
pub use status::{
    Capability, ProcessMemory, ProcessStatus, has_unswappable, parse_process_memory, parse_process_status,
};
pub use swap_header::parse_swap_uuid;
pub use swaps::{Swap, parse_swaps};
pub use uevent::{BlockChange, parse_uevent};
pub use zram::parse_mm_stat;
