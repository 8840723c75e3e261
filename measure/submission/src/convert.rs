//! Documents to submissions. Every struct that is read is taken apart by name, so that a new field does not compile
//! until it is decided here whether it leaves the device: `_` says that it does not.

use brisk_core::stats::Summary;
use brisk_report::results as from;
use brisk_report::results::{Document, Environment, Header};

use crate::kinds::{
    Bench, Concurrency, ConcurrencyPoint, Frontier, FrontierPoint, Gain, Job, Launch, LaunchSet, Profile, ProfileBest,
    Prove, Slowdown, SlowdownRow, Spread, Submitted, Sync,
};
use crate::number::{MAX, rounded};
use crate::text::{Day, Name, Release, Word};
use crate::{Kind, Known, Machine, RESULTS_MAX, SCHEMA_VERSION, Storage, Submission, SubmissionError};

type Result<T> = std::result::Result<T, SubmissionError>;

/// Apps whose names may leave: those of the emulated phone (`lab/src/phone/apps.toml`).
pub(crate) const APPS: [&str; 11] = [
    "chromium",
    "lowriter",
    "gnumeric",
    "evince",
    "mousepad",
    "gimp",
    "dino",
    "mpv",
    "gnome-mines",
    "galculator",
    "xterm",
];

pub(crate) fn submission(documents: &[Document], known: &Known<'_>) -> Result<Submission> {
    if !(1..=RESULTS_MAX).contains(&documents.len()) {
        return Err(SubmissionError::Count(documents.len()));
    }
    let mut heads = Vec::new();
    for document in documents {
        if !crate::KINDS.contains(&document.kind()) {
            return Err(SubmissionError::Kind(document.kind()));
        }
        heads.push(Head::of(document, known)?);
    }
    let first = heads[0].clone();
    if let Some(other) = heads.iter().find(|head| head.storage != first.storage) {
        let name = |head: &Head| head.storage.model.as_str().to_owned();
        return Err(SubmissionError::Devices(name(&first), name(other)));
    }
    let mut results = documents.iter().map(submitted).collect::<Result<Vec<_>>>()?;
    // The same results have the same id in any order of files.
    results.sort_by_cached_key(|result| serde_json::to_string(result).unwrap_or_default());
    let newest = heads.into_iter().max_by(|a, b| a.day.cmp(&b.day)).unwrap_or(first);
    let Head { day, brisk_version, machine, storage } = newest;
    Ok(Submission { schema_version: SCHEMA_VERSION, day, brisk_version, machine, storage, results })
}

/// What a head tells.
#[derive(Debug, Clone)]
struct Head {
    day: Day,
    brisk_version: Release,
    machine: Machine,
    storage: Storage,
}

impl Head {
    fn of(document: &Document, known: &Known<'_>) -> Result<Self> {
        let kind = document.kind();
        let Header {
            started,
            environment,
            schema_version: _,
            duration_s: _,
            io_engine: _,
            seed: _,
            written_bytes: _,
            warnings: _,
        } = document.header();
        let Environment {
            brisk_version,
            kernel,
            architecture,
            cpus,
            device,
            commit: _,
            path: _,
            file_system: _,
            mount_options: _,
            disks,
        } = environment;
        let several = || if disks.is_empty() { String::new() } else { format!(" but several: {}", disks.join(", ")) };
        let device = device.as_ref().ok_or_else(|| SubmissionError::NoDevice(kind, several()))?;
        let damaged = |what: String| SubmissionError::Value { kind, what };
        let version = Release::of(brisk_version).ok_or_else(|| damaged(format!("version {brisk_version}")))?;
        let machine = Machine {
            model: known.machine.and_then(|model| Name::of(model, known.private)),
            kernel: Release::of(kernel).ok_or_else(|| damaged(format!("kernel {kernel}")))?,
            architecture: Word::of(architecture).ok_or_else(|| damaged(format!("architecture {architecture}")))?,
            cpus: (*cpus).clamp(1, 256),
        };
        let day = Day::of(started).ok_or_else(|| SubmissionError::Started(started.clone()))?;
        Ok(Self { day, brisk_version: version, machine, storage: storage(document, device, known)? })
    }
}

fn storage(document: &Document, device: &from::BlockDevice, known: &Known<'_>) -> Result<Storage> {
    let from::BlockDevice {
        name,
        kind: of_device,
        model,
        firmware: of_firmware,
        size_bytes,
        lab_preset,
        partition: _,
        rotational: _,
        scheduler: _,
        schedulers_available: _,
        queue_depth_requests: _,
        read_ahead_kib: _,
        max_request_kib: _,
        write_cache: _,
        logical_block_bytes: _,
    } = device;
    let of_profile = match document {
        Document::Profile(report) => Some(report.device_kind.as_str()),
        _ => None,
    };
    let kind = known.kind.or_else(|| Kind::named(of_profile?)).or_else(|| lab_preset.as_deref().map(Kind::of_preset));
    let kind = kind.or_else(|| Kind::named(of_device.as_deref()?)).or_else(|| Kind::of_name(name));
    let text = lab_preset.as_deref().or(model.as_deref()).unwrap_or_default();
    // Firmware stands in the name where brisk keeps profiles by it.
    let (text, in_name) = match text.rsplit_once(", firmware ") {
        Some((model, firmware)) => (model, Some(firmware)),
        None => (text, None),
    };
    let firmware = of_firmware.as_deref().or(known.firmware).or(in_name).filter(|_| lab_preset.is_none());
    let unnamed = || Name::of("unnamed", &[]).expect("a word");
    Ok(Storage {
        model: Name::of(text, known.private).unwrap_or_else(unnamed),
        firmware: firmware.and_then(|firmware| Name::of(firmware, known.private)),
        kind: kind.ok_or_else(|| SubmissionError::NoKind(name.clone()))?,
        size_gib: u32::try_from(size_bytes.div_ceil(1 << 30).max(1).next_power_of_two())
            .unwrap_or(1 << 20)
            .min(1 << 20),
        emulated: lab_preset.is_some(),
    })
}

impl Kind {
    /// The kind with this name, as `brisk` has it.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        let all = [Self::Emmc, Self::Sd, Self::Ufs, Self::Nvme, Self::Usb, Self::Virtual, Self::Disk];
        all.into_iter().find(|kind| kind.name() == name)
    }

    /// Its name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Emmc => "emmc",
            Self::Sd => "sd",
            Self::Ufs => "ufs",
            Self::Nvme => "nvme",
            Self::Usb => "usb",
            Self::Virtual => "virtual",
            Self::Disk => "disk",
        }
    }

    /// What a preset of the laboratory stands for, by its name.
    fn of_preset(preset: &str) -> Self {
        let words: Vec<&str> = preset.split('-').collect();
        let has = |word: &str| words.contains(&word);
        match () {
            () if has("emmc") => Self::Emmc,
            () if has("sd") => Self::Sd,
            () if has("ufs") => Self::Ufs,
            () => Self::Virtual,
        }
    }

    /// What the kernel's name tells: not whether an mmcblk is a card.
    fn of_name(name: &str) -> Option<Self> {
        let begins = |stem: &str| name.starts_with(stem);
        match () {
            () if begins("nvme") => Some(Self::Nvme),
            () if ["vd", "xvd", "loop", "zram", "ram", "nbd", "ublk"].into_iter().any(begins) => Some(Self::Virtual),
            () => None,
        }
    }
}

fn submitted(document: &Document) -> Result<Submitted> {
    let take = Taker { kind: document.kind() };
    Ok(match document {
        Document::Bench(report) => Submitted::Bench(take.bench(report)?),
        Document::Slowdown(report) => Submitted::Slowdown(take.slowdown(report)?),
        Document::Concurrency(report) => Submitted::Concurrency(take.concurrency(report)?),
        Document::Frontier(report) => Submitted::Frontier(take.frontier(report)?),
        Document::Profile(report) => Submitted::Profile(take.profile(report)?),
        Document::Launch(report) => Submitted::Launch(take.launch(report)?),
        Document::Prove(report) => Submitted::Prove(take.prove(report)?),
        other => return Err(SubmissionError::Kind(other.kind())),
    })
}

/// Codes of warnings; their texts stay.
fn codes(header: &Header) -> Vec<Word> {
    let mut codes: Vec<Word> = header.warnings.iter().filter_map(|warning| Word::of(&warning.code)).collect();
    codes.sort();
    codes.dedup();
    codes.truncate(32);
    codes
}

fn app(name: &str) -> Word {
    let known = APPS.into_iter().find(|app| *app == name).unwrap_or("other");
    Word::of(known).expect("names of apps are words")
}

/// Takes values of a document of one kind, which its errors name.
struct Taker {
    kind: &'static str,
}

impl Taker {
    fn damaged(&self, what: String) -> SubmissionError {
        SubmissionError::Value { kind: self.kind, what }
    }

    fn number(&self, field: &str, value: f64) -> Result<f64> {
        rounded(value).ok_or_else(|| self.damaged(format!("{field} {value}")))
    }

    fn percent(&self, field: &str, value: f64) -> Result<f64> {
        // Counters of /proc/stat may be a tick apart.
        self.number(field, value.clamp(0.0, 100.0))
    }

    /// A ratio within what the schema has for ratios.
    fn ratio(&self, field: &str, value: f64) -> Result<f64> {
        if value > 1e6 { Err(self.damaged(format!("{field} {value}"))) } else { self.number(field, value) }
    }

    fn word(&self, field: &str, text: &str) -> Result<Word> {
        Word::of(text).ok_or_else(|| self.damaged(format!("{field} \"{text}\"")))
    }

    fn spread(&self, field: &str, summary: &Summary) -> Result<Spread> {
        let Summary { count, median, low, high, confidence: _, min: _, max: _, variation: _ } = *summary;
        let count = u32::try_from(count).unwrap_or(u32::MAX).clamp(1, 100_000);
        let [median, low, high] = [median, low, high].map(|value| self.number(field, value));
        Ok(Spread { count, median: median?, low: low?, high: high? })
    }

    fn within<T>(&self, field: &str, most: usize, list: Vec<T>) -> Result<Vec<T>> {
        if list.len() > most { Err(self.damaged(format!("{} {field}", list.len()))) } else { Ok(list) }
    }

    fn count(&self, field: &str, value: u64, most: u64) -> Result<u64> {
        if (1..=most).contains(&value) { Ok(value) } else { Err(self.damaged(format!("{field} {value}"))) }
    }

    fn small(&self, field: &str, value: u32, most: u32) -> Result<u32> {
        if (1..=most).contains(&value) { Ok(value) } else { Err(self.damaged(format!("{field} {value}"))) }
    }

    fn bench(&self, report: &from::BenchReport) -> Result<Bench> {
        let from::BenchReport {
            header,
            budget,
            cache,
            jobs,
            syncs,
            work_bytes: _,
            block_sweep: _,
            depth_sweep: _,
            verdict: _,
        } = report;
        let from::CacheCheck { verdict, asked_bytes: _, device_bytes: _, text: _ } = cache;
        let jobs = jobs.iter().map(|job| self.job(job)).collect::<Result<Vec<_>>>()?;
        let syncs = syncs.iter().map(|sync| self.sync(sync)).collect::<Result<Vec<_>>>()?;
        Ok(Bench {
            budget: self.word("budget", budget)?,
            cache: *verdict,
            warnings: codes(header),
            jobs: self.within("jobs", 64, jobs)?,
            syncs: self.within("syncs", 8, syncs)?,
        })
    }

    fn job(&self, job: &from::JobResult) -> Result<Job> {
        let from::JobResult {
            pattern,
            direction,
            block_bytes,
            depth_requests,
            bandwidth_bytes_per_s,
            latency,
            iowait_percent,
            requests_per_s: _,
            cpu_us_per_request: _,
            cpu_busy_percent: _,
            runs: _,
        } = job;
        let from::Latency { p50_us, p95_us, p99_us, count: _, mean_us: _, max_us: _, percentiles_us: _ } = latency;
        Ok(Job {
            pattern: *pattern,
            direction: *direction,
            block_bytes: self.count("block_bytes", *block_bytes, 1 << 30)?,
            depth_requests: self.small("depth_requests", *depth_requests, 4096)?,
            bandwidth_bytes_per_s: self.spread("bandwidth_bytes_per_s", bandwidth_bytes_per_s)?,
            latency_us_p50: self.number("latency_us_p50", *p50_us)?,
            latency_us_p95: self.number("latency_us_p95", *p95_us)?,
            latency_us_p99: self.number("latency_us_p99", *p99_us)?,
            iowait_percent: self.percent("iowait_percent", *iowait_percent)?,
        })
    }

    fn sync(&self, sync: &from::SyncResult) -> Result<Sync> {
        let from::SyncResult { call, block_bytes, latency } = sync;
        Ok(Sync {
            call: self.word("call", call)?,
            block_bytes: self.count("block_bytes", *block_bytes, 1 << 30)?,
            latency_us_p50: self.number("latency_us_p50", latency.p50_us)?,
            latency_us_p99: self.number("latency_us_p99", latency.p99_us)?,
        })
    }

    fn slowdown(&self, report: &from::SlowdownReport) -> Result<Slowdown> {
        let from::SlowdownReport { header, block_bytes, rows, stream_bytes: _ } = report;
        let rows = rows.iter().map(|row| self.slowdown_row(row)).collect::<Result<Vec<_>>>()?;
        Ok(Slowdown {
            warnings: codes(header),
            block_bytes: self.count("block_bytes", *block_bytes, 1 << 30)?,
            rows: self.within("rows", 16, rows)?,
        })
    }

    fn slowdown_row(&self, row: &from::SlowdownRow) -> Result<SlowdownRow> {
        let from::SlowdownRow {
            pattern,
            streams,
            read_alone_us,
            write_alone_us,
            read_slowdown,
            write_slowdown,
            read_beside_us: _,
            write_beside_us: _,
            read_peers_us: _,
            write_peers_us: _,
            runs: _,
        } = row;
        Ok(SlowdownRow {
            pattern: *pattern,
            streams: self.small("streams", *streams, 4096)?,
            read_alone_us: self.spread("read_alone_us", read_alone_us)?,
            write_alone_us: self.spread("write_alone_us", write_alone_us)?,
            read_slowdown: self.spread("read_slowdown", read_slowdown)?,
            write_slowdown: self.spread("write_slowdown", write_slowdown)?,
        })
    }

    fn concurrency(&self, report: &from::ConcurrencyReport) -> Result<Concurrency> {
        let from::ConcurrencyReport { header, block_bytes, points, stream_bytes: _, parameters: _ } = report;
        let points = points.iter().map(|point| {
            let from::ConcurrencyPoint { pattern, direction, streams, speedup, serial_s: _, concurrent_s: _ } = point;
            Ok(ConcurrencyPoint {
                pattern: *pattern,
                direction: *direction,
                streams: self.small("streams", *streams, 4096)?,
                speedup: self.spread("speedup", speedup)?,
            })
        });
        let points = points.collect::<Result<Vec<_>>>()?;
        Ok(Concurrency {
            warnings: codes(header),
            block_bytes: self.count("block_bytes", *block_bytes, 1 << 30)?,
            points: self.within("points", 64, points)?,
        })
    }

    fn frontier(&self, report: &from::FrontierReport) -> Result<Frontier> {
        let from::FrontierReport {
            header,
            write_min_percent,
            points,
            found,
            chosen,
            block_bytes: _,
            trial_s: _,
            loads: _,
            refused: _,
            restored: _,
        } = report;
        let mut taken = Vec::new();
        for point in points {
            let is_chosen = chosen.as_ref() == Some(&point.label);
            if point.on_frontier || is_chosen || point.label == *found {
                taken.push(self.frontier_point(point, is_chosen)?);
            }
        }
        Ok(Frontier {
            warnings: codes(header),
            write_min_percent: self.percent("write_min_percent", *write_min_percent)?,
            points: self.within("points", 64, taken)?,
        })
    }

    fn frontier_point(&self, point: &from::FrontierPoint, chosen: bool) -> Result<FrontierPoint> {
        let from::FrontierPoint {
            scheduler,
            settings,
            priorities,
            loads,
            read_ratio,
            write_percent,
            label: _,
            on_frontier: _,
        } = point;
        let settings = settings.iter().map(|(knob, value)| Ok((self.word("knob", knob)?, self.word(knob, value)?)));
        let settings: std::collections::BTreeMap<Word, Word> = settings.collect::<Result<_>>()?;
        let trials = loads.iter().map(|load| load.read_us.count).min().unwrap_or(1);
        if settings.len() > 16 {
            return Err(self.damaged(format!("{} settings of a point", settings.len())));
        }
        Ok(FrontierPoint {
            scheduler: self.word("scheduler", scheduler)?,
            settings,
            priorities: *priorities,
            read_ratio: self.ratio("read_ratio", *read_ratio)?,
            write_percent: self.ratio("write_percent", *write_percent)?,
            trials: u32::try_from(trials).unwrap_or(u32::MAX).clamp(1, 100_000),
            chosen,
        })
    }

    fn profile(&self, report: &from::ProfileReport) -> Result<Profile> {
        let from::ProfileReport {
            header,
            meter,
            rounds,
            workloads,
            device_model: _,
            device_kind: _,
            own: _,
            cell_s: _,
            taken_over_cells: _,
            judged: _,
            held_out: _,
            profile: _,
        } = report;
        let mut best = Vec::new();
        for (place, workload) in workloads.iter().enumerate() {
            let Some(cell) = workload.cells.iter().find(|cell| cell.setting == workload.best) else { continue };
            best.push(ProfileBest {
                workload: u32::try_from(place).unwrap_or(1000).min(1000),
                scheduler: self.word("scheduler", &cell.setting.scheduler)?,
                queue_depth_requests: self.small("queue_depth_requests", cell.setting.queue_depth_requests, 100_000)?,
                energy_ratio: self.ratio("energy_ratio", cell.energy_ratio)?,
                delay_ratio: self.ratio("delay_ratio", cell.delay_ratio)?,
            });
        }
        Ok(Profile {
            warnings: codes(header),
            meter: self.word("meter", &meter.name)?,
            rounds: (*rounds).clamp(1, 100_000),
            best: self.within("workloads", 128, best)?,
        })
    }

    fn launch(&self, report: &from::LaunchReport) -> Result<Launch> {
        let from::LaunchReport {
            header,
            app: name,
            sets,
            command: _,
            phone: _,
            screen: _,
            idle_limit_ms: _,
            comparisons: _,
        } = report;
        let mut taken = Vec::new();
        // Of two command lines, neither is the app's launch as such.
        let first = sets.first().map(|set| set.label.clone());
        for set in sets.iter().filter(|set| Some(&set.label) == first.as_ref()) {
            if let Some(settled) = set.stage(from::Stage::Settled) {
                let storage_ms = set.split.as_ref().map(storage_ms);
                taken.push(LaunchSet {
                    temperature: set.temperature,
                    settled_ms: self.spread("settled_ms", settled)?,
                    storage_ms: storage_ms.map(|ms| self.number("storage_ms", ms.min(1e9))).transpose()?,
                });
            }
        }
        Ok(Launch { warnings: codes(header), app: app(name), sets: self.within("sets", 8, taken)? })
    }

    fn prove(&self, report: &from::ProveReport) -> Result<Prove> {
        let from::ProveReport {
            header,
            gains,
            phone: _,
            conditions: _,
            apps: _,
            storage: _,
            settings: _,
            set_ups: _,
            config: _,
        } = report;
        let gains = gains.iter().map(|gain| {
            let from::Gain {
                app: name,
                temperature,
                loaded_ratio,
                idle_ratio,
                added_ms: _,
                gone_percent: _,
                engines: _,
            } = gain;
            let spread = |field, ratio: &Option<Summary>| ratio.as_ref().map(|one| self.spread(field, one)).transpose();
            Ok(Gain {
                app: app(name),
                temperature: *temperature,
                loaded_ratio: spread("loaded_ratio", loaded_ratio)?,
                idle_ratio: spread("idle_ratio", idle_ratio)?,
            })
        });
        let gains = gains.collect::<Result<Vec<_>>>()?;
        Ok(Prove { warnings: codes(header), gains: self.within("gains", 64, gains)? })
    }
}

/// Time of a split that was spent on storage.
fn storage_ms(split: &from::Split) -> f64 {
    use from::Cause::{Storage, StorageRead, StorageWrite, SwapIn};
    let is_storage = |part: &&from::Part| matches!(part.cause, Storage | StorageRead | StorageWrite | SwapIn);
    split.parts.iter().filter(is_storage).map(|part| part.time_ms).sum::<f64>().min(MAX)
}
