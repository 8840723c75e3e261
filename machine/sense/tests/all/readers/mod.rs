//! Every reader, called once.

use std::path::{Path, PathBuf};

use brisk_sense::{DeviceNumber, Error, Resource, SampleChoice, Sampler, Sense};

/// What to read in addition to the machine.
pub(crate) struct Parts {
    pub(crate) devices: Vec<String>,
    pub(crate) numbers: Vec<DeviceNumber>,
    pub(crate) processes: Vec<u32>,
    pub(crate) group: Option<PathBuf>,
}

/// Calls every reader; the errors, each with the name of its reader.
pub(crate) fn read_all(sense: &Sense, parts: &Parts) -> Vec<(&'static str, Error)> {
    let mut errors = Vec::new();
    macro_rules! read {
        ($($name:ident($($argument:expr),*))*) => {
            $(errors.extend(sense.$name($($argument),*).err().map(|error| (stringify!($name), error)));)*
        };
    }
    read! {
        disk_stats() cpu_stat() cpus_online() mounts() mount_of(Path::new("/data/x")) block_devices() mem_info()
        paging() swaps() cgroups() kernel_release() process_status() lru_gen() zrams() powercap_zones()
        power_supplies() power_rails() process_ids() storage() net_devices() is_loopback("rmnet_data0")
        sysctl("vm.swappiness") front_processes()
    }
    for resource in [Resource::Cpu, Resource::Io, Resource::Memory] {
        read!(pressure(resource));
    }
    for name in &parts.devices {
        read!(block_device(name) block_queue(name) scheduler_tunables(name) loop_backing(name));
    }
    for number in &parts.numbers {
        read!(block_device_of(*number));
    }
    for pid in &parts.processes {
        read!(process_stat(*pid) mapped_files(*pid) process_cgroups(*pid) command_line(*pid) process_user(*pid));
        read!(process_memory(*pid) smaps_rollup(*pid));
    }
    if let Some(group) = &parts.group {
        read!(cgroup_cpu(group) cgroup_pressure(group, Resource::Io));
        read!(cgroup_memory_bytes(group) cgroup_processes(group));
    }
    let choice = SampleChoice { groups: parts.group.iter().cloned().collect(), ..SampleChoice::default() };
    let sample = Sampler::new(sense.clone(), choice).and_then(|mut sampler| sampler.snapshot());
    errors.extend(sample.err().map(|error| ("snapshot", error)));
    errors
}
