//! The benchmark, the studies of storage, and the profile.

use brisk_core::stats::Summary;
use brisk_core::units::format_bytes;
use brisk_results::{
    BenchReport, ConcurrencyReport, Direction, FootprintReport, FrontierReport, Pattern, ProfileReport, ProfileSetting,
    SchedulerPoint, SchedulersReport, SlowdownReport, SlowdownRow, SlowdownRun,
};

use super::{ENERGY, Measured};
use crate::chart;
use crate::format;
use crate::rows::{BANDWIDTH, COUNT, PERCENT, Place, Row, S, TIMES, US, Value, size};
use crate::section::Facts;

fn load(pattern: Pattern, direction: Direction) -> Row {
    Row::at("load", format::load(pattern, direction))
}

/// The single runs, or their summary where a document has no runs.
fn single<T>(runs: &[T], of: impl Fn(&T) -> Option<f64>, summary: Summary) -> Value {
    match chart::runs(runs.iter().filter_map(of)) {
        none if none.is_empty() => Value::Summary(summary),
        runs => Value::Runs(runs),
    }
}

/// Sizes of requests and streams.
fn sizes(block_bytes: u64, work: (&'static str, u64)) -> Facts {
    vec![("Request size", format_bytes(block_bytes)), (work.0, format_bytes(work.1))]
}

impl Measured for BenchReport {
    fn measured(&self) -> Vec<Row> {
        let jobs = self.jobs.iter().chain(&self.block_sweep).chain(&self.depth_sweep).map(|job| {
            load(job.pattern, job.direction)
                .by("size", size(job.block_bytes))
                .by("depth", job.depth_requests)
                .put(
                    "throughput",
                    BANDWIDTH,
                    single(&job.runs, |run| Some(run.bandwidth_bytes_per_s), job.bandwidth_bytes_per_s),
                )
                .put("mean latency", US, job.latency.mean_us)
                .put("p99 latency", US, job.latency.p99_us)
                .put("longest latency", US, job.latency.max_us)
                .put("CPU/request", US, job.cpu_us_per_request)
                .put("CPUs busy", PERCENT, job.cpu_busy_percent)
        });
        let syncs = self.syncs.iter().map(|sync| {
            Row::at("call", sync.call.clone())
                .by("size", size(sync.block_bytes))
                .put("p50 latency", US, sync.latency.p50_us)
                .put("p99 latency", US, sync.latency.p99_us)
                .put("longest latency", US, sync.latency.max_us)
        });
        jobs.chain(syncs).collect()
    }

    fn mode(&self) -> Facts {
        vec![("Budget", self.budget.clone()), ("Work file", format_bytes(self.work_bytes))]
    }
}

impl Measured for SlowdownReport {
    fn measured(&self) -> Vec<Row> {
        let at = |row: &SlowdownRow, direction| {
            let streams = Place { text: format!("{0} + {0}", row.streams), number: Some(f64::from(row.streams)) };
            load(row.pattern, direction).by("streams", streams)
        };
        let sides = |row: &SlowdownRow| {
            let runs = &row.runs;
            let peers = |of: fn(&SlowdownRun) -> Option<f64>, peers: Option<Summary>| {
                peers.map(|peers| single(runs, of, peers))
            };
            [
                at(row, Direction::Read)
                    .put("latency alone", US, single(runs, |run| Some(run.read_alone_us), row.read_alone_us))
                    .put("latency among peers", US, peers(|run| run.read_peers_us, row.read_peers_us))
                    .put("latency in mixed load", US, single(runs, |run| Some(run.read_beside_us), row.read_beside_us))
                    .put("slowdown", TIMES, row.read_slowdown),
                at(row, Direction::Write)
                    .put("latency alone", US, single(runs, |run| Some(run.write_alone_us), row.write_alone_us))
                    .put("latency among peers", US, peers(|run| run.write_peers_us, row.write_peers_us))
                    .put(
                        "latency in mixed load",
                        US,
                        single(runs, |run| Some(run.write_beside_us), row.write_beside_us),
                    )
                    .put("slowdown", TIMES, row.write_slowdown),
            ]
        };
        self.rows.iter().flat_map(sides).collect()
    }

    fn mode(&self) -> Facts {
        sizes(self.block_bytes, ("Bytes of a stream", self.stream_bytes))
    }
}

impl Measured for ConcurrencyReport {
    fn measured(&self) -> Vec<Row> {
        let row = |point: &brisk_results::ConcurrencyPoint| {
            load(point.pattern, point.direction)
                .by("streams", point.streams)
                .put("serial time", S, point.serial_s)
                .put("concurrent time", S, point.concurrent_s)
                .put("speed-up", TIMES, point.speedup)
        };
        self.points.iter().map(row).collect()
    }

    fn mode(&self) -> Facts {
        sizes(self.block_bytes, ("Bytes of a stream", self.stream_bytes))
    }
}

impl Measured for SchedulersReport {
    fn measured(&self) -> Vec<Row> {
        // Documents from before `wanted_depth_requests`: when a scheduler has several depths, they were asked for.
        let several = |x: &SchedulerPoint| {
            let differs = |y: &SchedulerPoint| y.queue_depth_requests != x.queue_depth_requests;
            self.points.iter().any(|y| y.scheduler == x.scheduler && differs(y))
        };
        let row = |x: &SchedulerPoint| {
            let asked = x.wanted_depth_requests.or_else(|| several(x).then_some(x.queue_depth_requests));
            Row::at("scheduler", x.scheduler.clone())
                .by("mix", format!("{} % {} reads", x.read_percent, format::pattern(x.pattern)))
                .by("queue depth", asked.map_or_else(|| "its own".into(), Place::from))
                .by("load depth", x.depth_requests)
                .put("time of the mix", S, x.response_s)
                .put("read latency", US, x.read_us)
                .put("write latency", US, x.write_us)
        };
        self.points.iter().map(row).collect()
    }

    fn mode(&self) -> Facts {
        sizes(self.block_bytes, ("Bytes of a mix", self.mix_bytes))
    }
}

/// A range of addresses as a place.
fn within(bytes: u64) -> Place {
    Place { text: format!("within {}", format_bytes(bytes)), number: Some(bytes as f64) }
}

impl Measured for FootprintReport {
    fn measured(&self) -> Vec<Row> {
        let row = |point: &brisk_results::FootprintPoint| {
            Row::at("load", "random write").by("range", within(point.range_bytes)).put(
                "throughput",
                BANDWIDTH,
                point.bandwidth_bytes_per_s,
            )
        };
        self.points.iter().map(row).collect()
    }

    fn mode(&self) -> Facts {
        let mut mode = sizes(self.block_bytes, ("Written before a point", self.precondition_bytes));
        mode.push(("Requests of a point", self.requests.to_string()));
        mode
    }
}

impl Measured for FrontierReport {
    fn measured(&self) -> Vec<Row> {
        let points = self.points.iter().flat_map(|point| {
            self.loads.iter().zip(&point.loads).map(|(load, found)| {
                Row::at("load", load.name.clone())
                    .by("setting", if point.label == self.found { "found" } else { &point.label })
                    .put("read latency", US, found.read_us)
                    .put("p99 read latency", US, found.read_us_p99)
                    .put("write throughput", BANDWIDTH, found.write_bytes_per_s)
                    .put("longest write", US, found.write_us_max)
            })
        });
        points.collect()
    }

    fn mode(&self) -> Facts {
        vec![("Request size", format_bytes(self.block_bytes)), ("Length of a trial", format::seconds(self.trial_s))]
    }

    fn setting(&self) -> Facts {
        let found = self.point(&self.found).map_or(&self.found, |point| &point.scheduler);
        vec![("Scheduler found", found.clone())]
    }
}

impl Measured for ProfileReport {
    fn measured(&self) -> Vec<Row> {
        let cells = self.workloads.iter().flat_map(|workload| workload.cells.iter().map(move |cell| (workload, cell)));
        let row = |(workload, cell): (&brisk_results::ProfileWorkload, &brisk_results::ProfileCell)| {
            Row::at("workload", workload.name.clone())
                .by("setting", setting(&cell.setting))
                .put("energy/request", ENERGY, cell.request_uj_mean)
                .put("read latency", US, cell.read_us_mean)
                .put("write latency", US, cell.write_us_mean)
                // Work arrives at a rate of its own.
                .put("requests/s", COUNT, cell.requests_per_s)
        };
        cells.map(row).collect()
    }

    fn mode(&self) -> Facts {
        vec![
            ("Meter", self.meter.name.clone()),
            ("Length of a cell", format::seconds(self.cell_s)),
            ("Rounds", self.rounds.to_string()),
        ]
    }

    fn setting(&self) -> Facts {
        vec![("Profile of", self.device_model.clone())]
    }
}

/// A setting in words; it tells cells of a workload apart.
fn setting(setting: &ProfileSetting) -> String {
    let read_ahead = setting.read_ahead_kb.map_or_else(String::new, |kb| format!(", read-ahead {kb} KiB"));
    let throttling = setting.wbt_lat_usec.map_or_else(String::new, |us| format!(", throttling {us} us"));
    format!("{}, depth {}{read_ahead}{throttling}", setting.scheduler, setting.queue_depth_requests)
}
