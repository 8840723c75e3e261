//! From totals to rates.

use serde::{Deserialize, Serialize};

use super::{
    AppTotals, CpuTotals, DiskTotals, FlushTotals, IoTotals, NetTotals, PagingTotals, PressureTotals, Snapshot,
    StallTotals,
};

/// What happened between two snapshots.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Interval {
    /// How long it was.
    pub elapsed_ns: u64,
    /// How far the clock on the wall ran ahead of time meanwhile: it was set, or the machine was suspended.
    pub wall_step_ms: i64,
    /// Processors.
    pub cpu: CpuShares,
    /// Reclaim and swap.
    pub paging: PagingRates,
    /// Time that tasks stood still.
    pub pressure: PressureShares,
    /// Disks that were there all the time.
    pub disks: Vec<DiskRates>,
    /// Interfaces that were there all the time.
    pub nets: Vec<NetRates>,
    /// Apps that were there all the time.
    pub apps: Vec<AppRates>,
}

/// Shares of the time of all processors; they add up to 100, or are all zero when no tick passed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct CpuShares {
    /// All but idle and iowait.
    pub busy_percent: f64,
    /// Programs, those of low priority included.
    pub user_percent: f64,
    /// The kernel, interrupts included.
    pub system_percent: f64,
    /// Nothing to do, with storage requests outstanding.
    pub iowait_percent: f64,
    /// Taken by other guests of the host.
    pub steal_percent: f64,
    /// Nothing to do.
    pub idle_percent: f64,
}

/// Reclaim and swap.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct PagingRates {
    /// Pages brought back from swap.
    pub swap_in_pages_per_s: f64,
    /// Pages written to swap.
    pub swap_out_pages_per_s: f64,
    /// Faults that had to wait for storage.
    pub major_faults_per_s: f64,
    /// Anonymous pages that came back soon after they were reclaimed.
    pub refault_anon_pages_per_s: Option<f64>,
    /// Pages of files that came back soon after they were reclaimed.
    pub refault_file_pages_per_s: Option<f64>,
    /// Pages looked at by the kernel's own thread.
    pub scan_kswapd_pages_per_s: Option<f64>,
    /// Pages looked at by tasks that had to wait for memory.
    pub scan_direct_pages_per_s: Option<f64>,
    /// Pages reclaimed by the kernel's own thread.
    pub steal_kswapd_pages_per_s: Option<f64>,
    /// Pages reclaimed by tasks that had to wait for memory.
    pub steal_direct_pages_per_s: Option<f64>,
}

/// Share of the time in which tasks stood still.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct StallShares {
    /// At least one.
    pub some_percent: f64,
    /// All that had work.
    pub full_percent: Option<f64>,
}

/// The three resources.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct PressureShares {
    /// A processor.
    pub cpu: Option<StallShares>,
    /// Storage.
    pub io: Option<StallShares>,
    /// Memory.
    pub memory: Option<StallShares>,
}

/// Requests of one kind.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct IoRates {
    /// Requests completed.
    pub requests_per_s: f64,
    /// Bytes moved.
    pub bytes_per_s: f64,
    /// Their mean size; `None` when there was none.
    pub size_bytes_mean: Option<f64>,
    /// Their mean time from queueing to completion; `None` when there was none.
    pub latency_ms_mean: Option<f64>,
}

/// Flushes of a disk's cache.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct FlushRates {
    /// Flushes completed.
    pub requests_per_s: f64,
    /// Their mean time; `None` when there was none.
    pub latency_ms_mean: Option<f64>,
}

/// Requests that became part of another before they were issued.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct MergeRates {
    /// Reads.
    pub reads_per_s: f64,
    /// Writes.
    pub writes_per_s: f64,
}

/// One disk or partition.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct DiskRates {
    /// Kernel name.
    pub name: String,
    /// Reads.
    pub read: IoRates,
    /// Writes.
    pub write: IoRates,
    /// Discards.
    pub discard: Option<IoRates>,
    /// Flushes.
    pub flush: Option<FlushRates>,
    /// Merged requests, where both moments know them; for engines, and in no document.
    #[serde(skip)]
    pub merged: Option<MergeRates>,
    /// Share of the time with at least one request in flight. A device that serves several at once has room at 100.
    pub busy_percent: f64,
    /// Mean number of requests that were waiting or in flight; `None` when the kernel's sum cannot be right.
    pub depth_requests_mean: Option<f64>,
    /// Requests in flight at the end.
    pub in_flight_requests: u64,
}

/// One network interface.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct NetRates {
    /// Its name.
    pub name: String,
    /// Received.
    pub receive_bytes_per_s: f64,
    /// Received.
    pub receive_packets_per_s: f64,
    /// Sent.
    pub transmit_bytes_per_s: f64,
    /// Sent.
    pub transmit_packets_per_s: f64,
}

/// One app.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct AppRates {
    /// The name of its group.
    pub name: String,
    /// Time on processors; 100 is one processor in full.
    pub cpu_percent: Option<f64>,
    /// Memory charged to it at the end.
    pub memory_bytes: Option<u64>,
    /// Sum of what its processes have in memory at the end, where `memory_bytes` is not known.
    pub rss_bytes: Option<u64>,
    /// Its tasks waited for storage.
    pub io_pressure: Option<StallShares>,
    /// Its tasks waited for memory.
    pub memory_pressure: Option<StallShares>,
}

impl Snapshot {
    /// What happened since `previous`; `None` when that is not earlier, as after a restart of the machine.
    #[must_use]
    pub fn since(&self, previous: &Self) -> Option<Interval> {
        let elapsed_ns = self.at_ns.checked_sub(previous.at_ns).filter(|&elapsed| elapsed > 0)?;
        let span = Span { elapsed_s: elapsed_ns as f64 / 1e9 };
        let wall_ms = i128::from(self.wall_unix_ms) - i128::from(previous.wall_unix_ms);
        let wall_step_ms = wall_ms - i128::from(elapsed_ns / 1_000_000);
        Some(Interval {
            elapsed_ns,
            wall_step_ms: i64::try_from(wall_step_ms).unwrap_or(if wall_step_ms < 0 { i64::MIN } else { i64::MAX }),
            cpu: cpu(&self.cpu, &previous.cpu),
            paging: span.paging(&self.paging, &previous.paging),
            pressure: span.pressure(&self.pressure, &previous.pressure),
            disks: both(&self.disks, &previous.disks, |disk| &disk.name, |now, then| span.disk(now, then)),
            nets: both(&self.nets, &previous.nets, |net| &net.name, |now, then| span.net(now, then)),
            apps: both(
                &self.apps,
                &previous.apps,
                |app| &app.name,
                |now, then| span.app(now, then, self.cpu.processors.max(1)),
            ),
        })
    }
}

/// The rates of what both snapshots have; usually they have the same, in the same order.
fn both<T, R>(now: &[T], then: &[T], name: impl Fn(&T) -> &str, rates: impl Fn(&T, &T) -> Option<R>) -> Vec<R> {
    let earlier = |index: usize, wanted: &str| {
        let there = then.get(index).filter(|one| name(one) == wanted);
        there.or_else(|| then.iter().find(|one| name(one) == wanted))
    };
    let pairs = now.iter().enumerate().filter_map(|(index, one)| Some((one, earlier(index, name(one))?)));
    pairs.filter_map(|(now, then)| rates(now, then)).collect()
}

/// What a total grew by; `None` when it began anew.
fn grown(now: u64, then: u64) -> Option<u64> {
    now.checked_sub(then)
}

/// As [`grown`], for sums in ms that the kernel prints with 32 bits: from the upper half to the lower half is a wrap.
fn grown_ms(now: u64, then: u64) -> Option<u64> {
    const WRAP: u64 = 1 << 32;
    let wrapped = || ((WRAP / 2..WRAP).contains(&then) && now < WRAP / 2).then(|| now + (WRAP - then));
    grown(now, then).or_else(wrapped)
}

fn cpu(now: &CpuTotals, then: &CpuTotals) -> CpuShares {
    // A state that ran backwards (iowait does, now and then) had no time.
    let state = |of: fn(&CpuTotals) -> u64| of(now).saturating_sub(of(then)) as f64;
    let user = state(|cpu| cpu.user_us) + state(|cpu| cpu.nice_us);
    let system = state(|cpu| cpu.system_us) + state(|cpu| cpu.irq_us) + state(|cpu| cpu.softirq_us);
    let (iowait, steal, idle) = (state(|cpu| cpu.iowait_us), state(|cpu| cpu.steal_us), state(|cpu| cpu.idle_us));
    let total = user + system + iowait + steal + idle;
    let share = |part: f64| if total > 0.0 { (part / total * 100.0).min(100.0) } else { 0.0 };
    CpuShares {
        busy_percent: share(user + system + steal),
        user_percent: share(user),
        system_percent: share(system),
        iowait_percent: share(iowait),
        steal_percent: share(steal),
        idle_percent: share(idle),
    }
}

/// The time between two snapshots.
struct Span {
    elapsed_s: f64,
}

impl Span {
    fn rate(&self, now: u64, then: u64) -> Option<f64> {
        Some(grown(now, then)? as f64 / self.elapsed_s)
    }

    /// A time over the elapsed time, in percent. The kernel adds some of these up late, so one may seem too long.
    fn share(&self, part_s: f64) -> f64 {
        (part_s / self.elapsed_s * 100.0).min(100.0)
    }

    fn stall(&self, now: Option<StallTotals>, then: Option<StallTotals>) -> Option<StallShares> {
        let (now, then) = (now?, then?);
        let share = |now, then| Some(self.share(grown(now, then)? as f64 / 1e6));
        Some(StallShares {
            some_percent: share(now.some_us, then.some_us)?,
            full_percent: now.full_us.zip(then.full_us).and_then(|(now, then)| share(now, then)),
        })
    }

    fn pressure(&self, now: &PressureTotals, then: &PressureTotals) -> PressureShares {
        PressureShares {
            cpu: self.stall(now.cpu, then.cpu),
            io: self.stall(now.io, then.io),
            memory: self.stall(now.memory, then.memory),
        }
    }

    fn paging(&self, now: &PagingTotals, then: &PagingTotals) -> PagingRates {
        // These count from boot and never begin anew while time goes forward.
        let rate = |of: fn(&PagingTotals) -> u64| self.rate(of(now), of(then)).unwrap_or(0.0);
        let known = |of: fn(&PagingTotals) -> Option<u64>| self.rate(of(now)?, of(then)?);
        PagingRates {
            swap_in_pages_per_s: rate(|paging| paging.swap_in_pages),
            swap_out_pages_per_s: rate(|paging| paging.swap_out_pages),
            major_faults_per_s: rate(|paging| paging.major_faults),
            refault_anon_pages_per_s: known(|paging| paging.refault_anon_pages),
            refault_file_pages_per_s: known(|paging| paging.refault_file_pages),
            scan_kswapd_pages_per_s: known(|paging| paging.scan_kswapd_pages),
            scan_direct_pages_per_s: known(|paging| paging.scan_direct_pages),
            steal_kswapd_pages_per_s: known(|paging| paging.steal_kswapd_pages),
            steal_direct_pages_per_s: known(|paging| paging.steal_direct_pages),
        }
    }

    fn io(&self, now: &IoTotals, then: &IoTotals) -> Option<IoRates> {
        let requests = grown(now.requests, then.requests)?;
        let bytes = grown(now.bytes, then.bytes)?;
        Some(IoRates {
            requests_per_s: requests as f64 / self.elapsed_s,
            bytes_per_s: bytes as f64 / self.elapsed_s,
            size_bytes_mean: (requests > 0).then(|| bytes as f64 / requests as f64),
            latency_ms_mean: mean_ms(requests, now.time_ms, then.time_ms),
        })
    }

    fn flush(&self, now: FlushTotals, then: FlushTotals) -> Option<FlushRates> {
        let requests = grown(now.requests, then.requests)?;
        Some(FlushRates {
            requests_per_s: requests as f64 / self.elapsed_s,
            latency_ms_mean: mean_ms(requests, now.time_ms, then.time_ms),
        })
    }

    /// `None` when the device began to count anew: another one has taken the name.
    fn disk(&self, now: &DiskTotals, then: &DiskTotals) -> Option<DiskRates> {
        let busy_ms = grown_ms(now.busy_ms, then.busy_ms)?;
        Some(DiskRates {
            name: now.name.clone(),
            read: self.io(&now.read, &then.read)?,
            write: self.io(&now.write, &then.write)?,
            discard: match now.discard.zip(then.discard) {
                Some((now, then)) => Some(self.io(&now, &then)?),
                None => None,
            },
            flush: match now.flush.zip(then.flush) {
                Some((now, then)) => Some(self.flush(now, then)?),
                None => None,
            },
            merged: now.merged.zip(then.merged).and_then(|(now, then)| {
                Some(MergeRates {
                    reads_per_s: self.rate(now.reads, then.reads)?,
                    writes_per_s: self.rate(now.writes, then.writes)?,
                })
            }),
            busy_percent: self.share(busy_ms as f64 / 1e3),
            depth_requests_mean: grown_ms(now.queue_ms, then.queue_ms).map(|ms| ms as f64 / 1e3 / self.elapsed_s),
            in_flight_requests: now.in_flight_requests,
        })
    }

    fn net(&self, now: &NetTotals, then: &NetTotals) -> Option<NetRates> {
        Some(NetRates {
            name: now.name.clone(),
            receive_bytes_per_s: self.rate(now.receive_bytes, then.receive_bytes)?,
            receive_packets_per_s: self.rate(now.receive_packets, then.receive_packets)?,
            transmit_bytes_per_s: self.rate(now.transmit_bytes, then.transmit_bytes)?,
            transmit_packets_per_s: self.rate(now.transmit_packets, then.transmit_packets)?,
        })
    }

    /// `None` when the group was made anew under the same name.
    fn app(&self, now: &AppTotals, then: &AppTotals, processors: u64) -> Option<AppRates> {
        let cpu_percent = match now.cpu_us.zip(then.cpu_us) {
            Some((now, then)) => {
                let used_s = grown(now, then)? as f64 / 1e6;
                Some((used_s / self.elapsed_s).min(processors as f64) * 100.0)
            }
            None => None,
        };
        Some(AppRates {
            name: now.name.clone(),
            cpu_percent,
            memory_bytes: now.memory_bytes,
            rss_bytes: now.rss_bytes,
            io_pressure: self.stall(now.io_pressure, then.io_pressure),
            memory_pressure: self.stall(now.memory_pressure, then.memory_pressure),
        })
    }
}

/// Mean time of `requests`; `None` without requests, or when their sum of times ran backwards.
fn mean_ms(requests: u64, now_ms: u64, then_ms: u64) -> Option<f64> {
    let time_ms = grown_ms(now_ms, then_ms)?;
    (requests > 0).then(|| time_ms as f64 / requests as f64)
}
