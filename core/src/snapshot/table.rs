//! All counters: this table and nothing else names them.
//!
//! A row is `field: type, step [kernel's name] => rate: type = rule;`. From it the struct, the rate and the exports
//! follow, and the record: its order there is that of the table, so a change of a row is a change of the format
//! (`FORMAT` in `machine/record/src/format.rs`). What kernels may lack is an `Option`.

use serde::{Deserialize, Serialize};

use super::counters::{Counted, Put, Valued, counters, exported, levels, rates, rule, totals};
use super::rates::{Rated, Span};

/// The kernel counts processor time in steps of 10 ms (USER_HZ is 100 on every Linux).
pub const TICK_US: u64 = 10_000;
/// Memory and most storage requests come in pages.
const PAGE_BYTES: u64 = 4096;

counters! {
    /// Where the time of all processors together went.
    #[derive(Copy)]
    CpuTotals =>
    /// Shares of the time of all processors; they add up to 100, or are all zero when no tick passed.
    #[derive(Copy)]
    CpuShares {
        /// Level: how many processors are online.
        processors: u64, 1 =>
            /// All states but idle and iowait.
            busy_percent: f64 = [share_of_cpu user_us nice_us system_us irq_us softirq_us steal_us];
        /// Programs.
        user_us: u64, TICK_US =>
            /// Those of low priority included.
            user_percent: f64 = [share_of_cpu user_us nice_us];
        /// Programs of low priority.
        nice_us: u64, TICK_US;
        /// The kernel.
        system_us: u64, TICK_US =>
            /// Interrupts included.
            system_percent: f64 = [share_of_cpu system_us irq_us softirq_us];
        /// Nothing to do, no storage request outstanding.
        idle_us: u64, TICK_US => idle_percent: f64 = [share_of_cpu idle_us];
        /// Nothing to do, with a storage request of one of the processor's tasks outstanding. May run backwards.
        iowait_us: u64, TICK_US => iowait_percent: f64 = [share_of_cpu iowait_us];
        /// Interrupts.
        irq_us: u64, TICK_US;
        /// Deferred work of interrupts.
        softirq_us: u64, TICK_US;
        /// Used by other guests of the host (steal time).
        steal_us: u64, TICK_US => steal_percent: f64 = [share_of_cpu steal_us];
    }
}

counters! {
    /// What the memory is used for: levels.
    #[derive(Copy)]
    MemoryLevels levels {
        /// All memory that the kernel manages.
        total_bytes: u64, PAGE_BYTES, [b"MemTotal"];
        /// Used for nothing.
        free_bytes: u64, PAGE_BYTES, [b"MemFree"];
        /// What new programs can have without swapping: the kernel's estimate; `None` before Linux 3.14.
        available_bytes: Option<u64>, PAGE_BYTES, [b"MemAvailable"];
        /// Pages of block devices.
        buffers_bytes: u64, PAGE_BYTES, [b"Buffers"];
        /// Pages of files, those of tmpfs included.
        cached_bytes: u64, PAGE_BYTES, [b"Cached"];
        /// Anonymous memory: active and inactive.
        anon_bytes: u64, PAGE_BYTES, [b"Active(anon)" | b"Inactive(anon)"];
        /// Dirty pages: to be written.
        dirty_bytes: u64, PAGE_BYTES, [b"Dirty"];
        /// Being written.
        writeback_bytes: u64, PAGE_BYTES, [b"Writeback"];
        /// All swap.
        swap_total_bytes: u64, PAGE_BYTES, [b"SwapTotal"];
        /// Swap that is not used.
        swap_free_bytes: u64, PAGE_BYTES, [b"SwapFree"];
        /// In memory and still in its swap slot.
        swap_cached_bytes: u64, PAGE_BYTES, [b"SwapCached"];
        /// Pages of files that were not used for the longest time, or once: those that the kernel drops first.
        inactive_file_bytes: Option<u64>, PAGE_BYTES, [b"Inactive(file)"];
    }
}

counters! {
    /// Reclaim and swap. A kernel without swap has moved no pages; other counters are `None` where a kernel has none.
    #[derive(Copy)]
    PagingTotals =>
    /// Reclaim and swap.
    #[derive(Copy)]
    PagingRates {
        /// Pages brought back from swap.
        swap_in_pages: u64, 1, [b"pswpin"] => swap_in_pages_per_s: f64 = per_s;
        /// Pages written to swap.
        swap_out_pages: u64, 1, [b"pswpout"] => swap_out_pages_per_s: f64 = per_s;
        /// Faults that had to wait for storage.
        major_faults: u64, 1, [b"pgmajfault"] => major_faults_per_s: f64 = per_s;
        /// Anonymous pages that came back soon after they were reclaimed (refaults); `None` before Linux 5.9.
        refault_anon_pages: Option<u64>, 1, [b"workingset_refault_anon"]
            => refault_anon_pages_per_s: Option<f64> = known_per_s;
        /// Pages of files that came back soon after they were reclaimed, before Linux 5.9 all pages.
        refault_file_pages: Option<u64>, 1, [b"workingset_refault_file" | b"workingset_refault"]
            => refault_file_pages_per_s: Option<f64> = known_per_s;
        /// Pages scanned by the kernel's own thread.
        scan_kswapd_pages: Option<u64>, 1, [b"pgscan_kswapd"] => scan_kswapd_pages_per_s: Option<f64> = known_per_s;
        /// Pages scanned by tasks that wanted memory and had to wait for it.
        scan_direct_pages: Option<u64>, 1, [b"pgscan_direct"] => scan_direct_pages_per_s: Option<f64> = known_per_s;
        /// Pages reclaimed by the kernel's own thread.
        steal_kswapd_pages: Option<u64>, 1, [b"pgsteal_kswapd"] => steal_kswapd_pages_per_s: Option<f64> = known_per_s;
        /// Pages reclaimed by tasks that wanted memory and had to wait for it.
        steal_direct_pages: Option<u64>, 1, [b"pgsteal_direct"] => steal_direct_pages_per_s: Option<f64> = known_per_s;
    }
}

counters! {
    /// Time that tasks stood still for want of one resource.
    #[derive(Copy)]
    StallTotals =>
    /// Share of the time in which tasks stood still.
    #[derive(Copy)]
    StallShares {
        /// At least one task stood still.
        some_us: u64, 1 => some_percent: f64 = share_us;
        /// All tasks that had work stood still; `None` for processors before Linux 5.13.
        full_us: Option<u64>, 1 => full_percent: Option<f64> = known_share_us;
    }
}

counters! {
    /// Time that tasks stood still, by resource; `None` where the kernel counts no pressure.
    #[derive(Copy)]
    PressureTotals =>
    /// Share of the time in which tasks stood still, by resource.
    #[derive(Copy)]
    PressureShares {
        /// A processor.
        cpu: Option<StallTotals>, 1 => cpu: Option<StallShares> = [part_if_known "cpu"];
        /// Storage.
        io: Option<StallTotals>, 1 => io: Option<StallShares> = [part_if_known "io"];
        /// Memory.
        memory: Option<StallTotals>, 1 => memory: Option<StallShares> = [part_if_known "memory"];
    }
}

counters! {
    /// Requests of one kind.
    #[derive(Copy)]
    IoTotals =>
    /// Requests of one kind.
    #[derive(Copy)]
    IoRates {
        /// Requests completed.
        requests: u64, 1 => requests_per_s: f64 = per_s;
        /// Bytes moved.
        bytes: u64, PAGE_BYTES
            => bytes_per_s: f64 = per_s
            => /** Mean of a request; `None` when there was none. */
            size_bytes_mean: Option<f64> = [mean over requests];
        /// Sum over the requests of the time from queueing to completion; wraps at 2^32.
        time_ms: u64, 1
            => /** Their mean; `None` when there was none. */ latency_ms_mean: Option<f64> = [mean_ms over requests];
    }
}

counters! {
    /// Flushes of a disk's cache.
    #[derive(Copy)]
    FlushTotals =>
    /// Flushes of a disk's cache.
    #[derive(Copy)]
    FlushRates {
        /// Flushes completed.
        requests: u64, 1 => requests_per_s: f64 = per_s;
        /// Sum of their times; wraps at 2^32.
        time_ms: u64, 1
            => /** Their mean; `None` when there was none. */ latency_ms_mean: Option<f64> = [mean_ms over requests];
    }
}

counters! {
    /// One disk or partition.
    DiskTotals =>
    /// One disk or partition.
    DiskRates {
        named "Kernel name, such as `mmcblk0`.";
        /// Reads.
        read: IoTotals, 1 => read: IoRates = [part "read"];
        /// Writes.
        write: IoTotals, 1 => write: IoRates = [part "write"];
        /// Discards; `None` before Linux 4.18.
        discard: Option<IoTotals>, 1 => discard: Option<IoRates> = [part_if_any "discard"];
        /// Flushes; `None` before Linux 5.5.
        flush: Option<FlushTotals>, 1 => flush: Option<FlushRates> = [part_if_any "flush"];
        /// Level: requests issued and not completed.
        in_flight_requests: u64, 1 => in_flight_requests: u64 = level;
        /// Time in which at least one request was in flight; wraps at 2^32.
        busy_ms: u64, 1 =>
            /// Share of the time. A device that serves several requests at once has spare capacity at 100.
            busy_percent: f64 = share_ms;
        /// Sum over time of the requests that were waiting or in flight; wraps at 2^32.
        queue_ms: u64, 1
            => /** Mean number; `None` when the kernel's sum cannot be right. */
            depth_requests_mean: Option<f64> = mean_over_time;
        /// Reads that were merged: became part of another request before they were issued, since they continued it.
        merged_reads: Option<u64>, 1 => merged_reads_per_s: Option<f64> = known_per_s;
        /// Writes that were merged.
        merged_writes: Option<u64>, 1 => merged_writes_per_s: Option<f64> = known_per_s;
        /// Level: writes issued to the device and not completed.
        in_flight_write_requests: Option<u64>, 1;
    }
}

counters! {
    /// One network interface.
    NetTotals =>
    /// One network interface.
    NetRates {
        named "Its name, such as `wlan0`.";
        /// Bytes received.
        receive_bytes: u64, 1 => receive_bytes_per_s: f64 = per_s;
        /// Packets received.
        receive_packets: u64, 1 => receive_packets_per_s: f64 = per_s;
        /// Bytes sent.
        transmit_bytes: u64, 1 => transmit_bytes_per_s: f64 = per_s;
        /// Packets sent.
        transmit_packets: u64, 1 => transmit_packets_per_s: f64 = per_s;
    }
}

counters! {
    /// One app: the tasks of a control group and of the groups below it.
    AppTotals =>
    /// One app.
    AppRates {
        named "The name of its group, such as `app-org.gnome.Evince-4711.scope`.";
        /// Time on processors.
        cpu_us: Option<u64>, 1 => /** 100 is one processor in full. */ cpu_percent: Option<f64> = processors_us;
        /// Level: memory charged to it, page cache included; `None` without the memory controller.
        memory_bytes: Option<u64>, PAGE_BYTES => memory_bytes: Option<u64> = level;
        /// Level: resident memory of its processes where `memory_bytes` is unknown; shared pages count for each.
        rss_bytes: Option<u64>, PAGE_BYTES => rss_bytes: Option<u64> = level;
        /// Its tasks waited for storage.
        io_pressure: Option<StallTotals>, 1 => io_pressure: Option<StallShares> = [part_if_known "io"];
        /// Its tasks waited for memory.
        memory_pressure: Option<StallTotals>, 1 => memory_pressure: Option<StallShares> = [part_if_known "memory"];
        /// Bytes that its tasks read from storage; `None` where the kernel does not count or show them.
        read_bytes: Option<u64>, 1 => read_bytes_per_s: Option<f64> = known_per_s;
        /// Bytes that its tasks wrote, counted when they were written to the page cache.
        write_bytes: Option<u64>, 1 => write_bytes_per_s: Option<f64> = known_per_s;
        /// Level: anonymous memory of its tasks; `None` where it is not sampled.
        anon_bytes: Option<u64>, PAGE_BYTES;
        /// Level: what of it is in swap; `None` where it is not sampled.
        swap_bytes: Option<u64>, PAGE_BYTES;
        /// Time that at least one of its tasks waited for a processor; `None` where the kernel does not count it.
        cpu_stall_us: Option<u64>, 1 => cpu_stall_us_per_s: Option<f64> = known_per_s;
    }
}
