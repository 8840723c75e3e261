//! How the kernel serves a block device: /sys/block/NAME/queue (Documentation/ABI/stable/sysfs-block).

use brisk_core::knob::SHARED_TUNABLE;
use brisk_formats::{Schedulers, fields, parse_schedulers};
use serde::{Deserialize, Serialize};

use crate::block::checked_name;
use crate::error::Result;
use crate::machine::Sense;

/// Settings and limits of a request queue.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BlockQueue {
    /// Kernel name of the device.
    pub name: String,
    /// I/O schedulers.
    pub schedulers: Schedulers,
    /// Requests that the queue holds for each direction or scheduler (`nr_requests`); `None` where requests are not
    /// queued (device mapper, zram, ...).
    pub depth_requests: Option<u32>,
    /// Read-ahead of sequential reads of files.
    pub read_ahead_kib: u64,
    /// Largest request that the kernel will issue.
    pub max_request_kib: u64,
    /// Largest request that the hardware takes.
    pub max_hardware_request_kib: u64,
    /// Whether the kernel takes it for a rotating disk.
    pub rotational: bool,
    /// `write back` (the device has a volatile cache and is sent flushes) or `write through`; `None` before Linux 4.7.
    pub write_cache: Option<String>,
    /// Whether the device takes forced unit access; `None` before Linux 4.10.
    pub fua: Option<bool>,
    /// Smallest unit that the device addresses.
    pub logical_block_bytes: u32,
    /// Unit that the device can write without reading it first.
    pub physical_block_bytes: u32,
    /// Smallest request that performs well.
    pub minimum_io_bytes: u64,
    /// Request size that performs best; 0 when the device does not say.
    pub optimal_io_bytes: u64,
    /// Target of the write-back throttle, 0 when off; `None` when the kernel or the scheduler has none.
    pub writeback_throttle_us: Option<u64>,
    /// Unit of discard; 0 when there is no discard.
    pub discard_granularity_bytes: u64,
    /// Largest discard; 0 when there is none.
    pub discard_max_bytes: u64,
    /// How far requests are joined: 0 fully, 1 simple cases only, 2 never.
    pub no_merges: u32,
    /// Where completions run: 0 anywhere, 1 on the group of processors that asked, 2 on the one that asked; `None`
    /// where requests are not queued.
    pub completion_affinity: Option<u32>,
    /// Whether the counters of /proc/diskstats count.
    pub counts_io: bool,
}

impl Sense {
    /// The request queue of the whole device `name`, from /sys/block/NAME/queue.
    ///
    /// # Errors
    /// When there is no such device or its files are not readable or not understood.
    pub fn block_queue(&self, name: &str) -> Result<BlockQueue> {
        let dir = format!("/sys/block/{}/queue", checked_name(name)?);
        let file = |file: &str| format!("{dir}/{file}");
        let number = |name| self.number(&dir, name);
        let small = |name| self.number(&dir, name);
        let flag = |name: &'static str| self.parse(file(name), |bytes| fields::only_flag(name, bytes));
        Ok(BlockQueue {
            name: name.to_owned(),
            schedulers: self.parse_optional(file("scheduler"), parse_schedulers)?.unwrap_or_default(),
            depth_requests: self.number_optional(&dir, "nr_requests")?,
            read_ahead_kib: number("read_ahead_kb")?,
            max_request_kib: number("max_sectors_kb")?,
            max_hardware_request_kib: number("max_hw_sectors_kb")?,
            rotational: flag("rotational")?,
            write_cache: self.text_if_any(file("write_cache")),
            fua: self.parse(file("fua"), |bytes| fields::only_flag("fua", bytes)).ok(),
            logical_block_bytes: small("logical_block_size")?,
            physical_block_bytes: small("physical_block_size")?,
            minimum_io_bytes: number("minimum_io_size")?,
            optimal_io_bytes: number("optimal_io_size")?,
            writeback_throttle_us: self.number_optional(&dir, "wbt_lat_usec")?,
            discard_granularity_bytes: number("discard_granularity")?,
            discard_max_bytes: number("discard_max_bytes")?,
            no_merges: small("nomerges")?,
            completion_affinity: self.number_optional(&dir, "rq_affinity")?,
            counts_io: flag("iostats")?,
        })
    }

    /// The tunables of the scheduler in force on the whole device `name` with their values, from
    /// /sys/block/NAME/queue/iosched, and from Linux 7.0 the `async_depth` of /sys/block/NAME/queue, which all
    /// schedulers share; those that can only be written are left out.
    ///
    /// # Errors
    /// When the name cannot be one, or the directory is not readable.
    pub fn scheduler_tunables(&self, name: &str) -> Result<Vec<(String, String)>> {
        let queue = format!("/sys/block/{}/queue", checked_name(name)?);
        let mut tunables = Vec::new();
        for tunable in self.names_in(format!("{queue}/iosched"))? {
            if let Some(value) = self.text_if_any(format!("{queue}/iosched/{tunable}")) {
                tunables.push((tunable, value));
            }
        }
        // Without a scheduler nothing obeys it.
        if !tunables.is_empty()
            && !tunables.iter().any(|(tunable, _)| tunable == SHARED_TUNABLE)
            && let Some(value) = self.text_if_any(format!("{queue}/{SHARED_TUNABLE}"))
        {
            tunables.push((SHARED_TUNABLE.to_owned(), value));
            tunables.sort();
        }
        Ok(tunables)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_schedulers_share_is_a_tunable_while_one_is_in_force() {
        let root = tempfile::tempdir().expect("a directory");
        let queue = root.path().join("sys/block/mmcblk0/queue");
        std::fs::create_dir_all(queue.join("iosched")).expect("made");
        std::fs::write(queue.join("async_depth"), "64\n").expect("written");
        let sense = Sense::new(root.path());
        assert_eq!(sense.scheduler_tunables("mmcblk0").expect("readable"), []);
        std::fs::write(queue.join("iosched/fifo_batch"), "16\n").expect("written");
        let tunables = sense.scheduler_tunables("mmcblk0").expect("readable");
        assert_eq!(tunables, [("async_depth", "64"), ("fifo_batch", "16")].map(|(a, b)| (a.to_owned(), b.to_owned())));
        // As kernels before 7.0 have it.
        std::fs::write(queue.join("iosched/async_depth"), "8\n").expect("written");
        assert_eq!(sense.scheduler_tunables("mmcblk0").expect("readable")[0].1, "8");
    }

    #[test]
    fn tunables_are_those_of_the_scheduler_in_force() {
        let root = tempfile::tempdir().expect("a directory");
        let dir = root.path().join("sys/block/mmcblk0/queue/iosched");
        std::fs::create_dir_all(&dir).expect("made");
        std::fs::write(dir.join("fifo_batch"), "16\n").expect("written");
        std::fs::write(dir.join("writes_starved"), "2\n").expect("written");
        let sense = Sense::new(root.path());
        let tunables = sense.scheduler_tunables("mmcblk0").expect("readable");
        assert_eq!(
            tunables,
            [("fifo_batch", "16"), ("writes_starved", "2")].map(|(a, b)| (a.to_owned(), b.to_owned()))
        );
        assert_eq!(sense.scheduler_tunables("sda").expect("none is none"), []);
        assert!(sense.scheduler_tunables("../sda").is_err());
    }
}
