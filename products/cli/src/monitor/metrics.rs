//! Every value of an interval by name, as tables and traces have it. The unit is the last word of each name.

use brisk_core::snapshot::{FlushRates, Interval, IoRates, Snapshot, StallShares};

/// What a value belongs to.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Part {
    /// `cpu`, `memory`, `paging`, `pressure`, `disk`, `net` or `app`.
    pub(super) kind: &'static str,
    /// Which disk, interface or app; empty for the machine.
    pub(super) name: String,
}

/// One value of one interval.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Metric {
    pub(super) part: Part,
    pub(super) name: &'static str,
    pub(super) value: f64,
}

/// The names of what a request is measured by: rate, bytes, mean size, mean time.
const READ: [&str; 4] = ["read_requests_per_s", "read_bytes_per_s", "read_size_bytes_mean", "read_latency_ms_mean"];
const WRITE: [&str; 4] =
    ["write_requests_per_s", "write_bytes_per_s", "write_size_bytes_mean", "write_latency_ms_mean"];
const DISCARD: [&str; 4] =
    ["discard_requests_per_s", "discard_bytes_per_s", "discard_size_bytes_mean", "discard_latency_ms_mean"];

/// The values of the interval that ends with `now`; what the machine does not have is left out.
pub(super) fn of(now: &Snapshot, interval: &Interval) -> Vec<Metric> {
    let mut all = Vec::with_capacity(64);
    let mut machine = |kind, values: &[(&'static str, Option<f64>)]| add(&mut all, kind, "", values);
    let cpu = &interval.cpu;
    machine(
        "cpu",
        &[
            ("busy_percent", Some(cpu.busy_percent)),
            ("user_percent", Some(cpu.user_percent)),
            ("system_percent", Some(cpu.system_percent)),
            ("iowait_percent", Some(cpu.iowait_percent)),
            ("steal_percent", Some(cpu.steal_percent)),
        ],
    );
    let memory = &now.memory;
    let bytes = |bytes: u64| Some(bytes as f64);
    machine(
        "memory",
        &[
            ("available_bytes", memory.available_bytes.and_then(bytes)),
            ("free_bytes", bytes(memory.free_bytes)),
            ("cached_bytes", bytes(memory.cached_bytes)),
            ("anon_bytes", bytes(memory.anon_bytes)),
            ("dirty_bytes", bytes(memory.dirty_bytes)),
            ("writeback_bytes", bytes(memory.writeback_bytes)),
            ("swap_used_bytes", bytes(memory.swap_total_bytes.saturating_sub(memory.swap_free_bytes))),
        ],
    );
    let paging = &interval.paging;
    machine(
        "paging",
        &[
            ("swap_in_pages_per_s", Some(paging.swap_in_pages_per_s)),
            ("swap_out_pages_per_s", Some(paging.swap_out_pages_per_s)),
            ("major_faults_per_s", Some(paging.major_faults_per_s)),
            ("refault_anon_pages_per_s", paging.refault_anon_pages_per_s),
            ("refault_file_pages_per_s", paging.refault_file_pages_per_s),
            ("scan_kswapd_pages_per_s", paging.scan_kswapd_pages_per_s),
            ("scan_direct_pages_per_s", paging.scan_direct_pages_per_s),
            ("steal_kswapd_pages_per_s", paging.steal_kswapd_pages_per_s),
            ("steal_direct_pages_per_s", paging.steal_direct_pages_per_s),
        ],
    );
    let pressure = &interval.pressure;
    machine("pressure", &stall(["cpu_some_percent", "cpu_full_percent"], pressure.cpu));
    machine("pressure", &stall(["io_some_percent", "io_full_percent"], pressure.io));
    machine("pressure", &stall(["memory_some_percent", "memory_full_percent"], pressure.memory));
    for disk in &interval.disks {
        add(&mut all, "disk", &disk.name, &io(READ, disk.read));
        add(&mut all, "disk", &disk.name, &io(WRITE, disk.write));
        disk.discard.iter().for_each(|discard| add(&mut all, "disk", &disk.name, &io(DISCARD, *discard)));
        disk.flush.iter().for_each(|rates| add(&mut all, "disk", &disk.name, &flush(*rates)));
        let state = [
            ("busy_percent", Some(disk.busy_percent)),
            ("depth_requests_mean", disk.depth_requests_mean),
            ("in_flight_requests", bytes(disk.in_flight_requests)),
        ];
        add(&mut all, "disk", &disk.name, &state);
    }
    for net in &interval.nets {
        let values = [
            ("receive_bytes_per_s", Some(net.receive_bytes_per_s)),
            ("receive_packets_per_s", Some(net.receive_packets_per_s)),
            ("transmit_bytes_per_s", Some(net.transmit_bytes_per_s)),
            ("transmit_packets_per_s", Some(net.transmit_packets_per_s)),
        ];
        add(&mut all, "net", &net.name, &values);
    }
    for app in &interval.apps {
        let values = [
            ("cpu_percent", app.cpu_percent),
            ("memory_bytes", app.memory_bytes.and_then(bytes)),
            ("rss_bytes", app.rss_bytes.and_then(bytes)),
        ];
        add(&mut all, "app", &app.name, &values);
        add(&mut all, "app", &app.name, &stall(["io_some_percent", "io_full_percent"], app.io_pressure));
        add(&mut all, "app", &app.name, &stall(["memory_some_percent", "memory_full_percent"], app.memory_pressure));
    }
    all
}

fn add(all: &mut Vec<Metric>, kind: &'static str, name: &str, values: &[(&'static str, Option<f64>)]) {
    let part = Part { kind, name: name.to_owned() };
    let known = values.iter().filter_map(|&(name, value)| Some(Metric { part: part.clone(), name, value: value? }));
    all.extend(known);
}

fn stall(names: [&'static str; 2], shares: Option<StallShares>) -> [(&'static str, Option<f64>); 2] {
    [(names[0], shares.map(|shares| shares.some_percent)), (names[1], shares.and_then(|shares| shares.full_percent))]
}

fn io(names: [&'static str; 4], rates: IoRates) -> [(&'static str, Option<f64>); 4] {
    [
        (names[0], Some(rates.requests_per_s)),
        (names[1], Some(rates.bytes_per_s)),
        (names[2], rates.size_bytes_mean),
        (names[3], rates.latency_ms_mean),
    ]
}

fn flush(rates: FlushRates) -> [(&'static str, Option<f64>); 2] {
    [("flush_requests_per_s", Some(rates.requests_per_s)), ("flush_latency_ms_mean", rates.latency_ms_mean)]
}

#[cfg(test)]
mod tests {
    use super::*;
    use brisk_core::snapshot::{AppTotals, DiskTotals, NetTotals};

    #[test]
    fn what_the_machine_lacks_is_left_out_and_names_are_unique() {
        let snapshot = |at_ns| Snapshot {
            at_ns,
            disks: vec![DiskTotals { name: "vda".into(), ..DiskTotals::default() }],
            nets: vec![NetTotals { name: "eth0".into(), ..NetTotals::default() }],
            apps: vec![AppTotals { name: "a".into(), cpu_us: Some(at_ns), ..AppTotals::default() }],
            ..Snapshot::default()
        };
        let now = snapshot(1_000_000_000);
        let all = of(&now, &now.since(&snapshot(0)).expect("later"));
        let has = |kind, name| all.iter().any(|metric| metric.part.kind == kind && metric.name == name);
        assert!(has("app", "cpu_percent") && has("disk", "busy_percent") && has("cpu", "iowait_percent"));
        assert!(!has("memory", "available_bytes") && !has("pressure", "io_some_percent") && !has("app", "rss_bytes"));
        assert!(!has("disk", "read_latency_ms_mean") && !has("disk", "flush_requests_per_s"));
        let mut names: Vec<_> = all.iter().map(|metric| (&metric.part, metric.name)).collect();
        names.sort();
        let count = names.len();
        names.dedup();
        assert_eq!(names.len(), count);
    }
}
