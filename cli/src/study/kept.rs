//! What measurements keep for the daemon: files of settings and of speeds, one for each model of device.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use brisk_api::{Tries, dirs};
use brisk_bench::results::{BenchReport, CacheCheck, CacheVerdict, Direction, Header, JobResult, Pattern};
use brisk_command::output::replace;
use brisk_command::session::Session;
use brisk_command::terminal::remark;
use brisk_core::device::{Device, Speeds};
use brisk_daemon::config::Devices;
use brisk_daemon::devices;
use brisk_daemon::profiles::{self, MeasuredSpeeds, SPEEDS, TRIES};
use brisk_engine::smartio::{self, Profile, file_name, shipped};
use serde::Serialize;

const UNNAMED: &str = "the device reports no model name: give one with --model, the same as `brisk status` shows";

/// Options of a measurement whose outcome can be kept.
#[derive(Debug, clap::Args)]
pub(crate) struct Keep {
    /// Keep the result for this model of device, for briskd
    #[arg(long)]
    save: bool,
    /// The device's model, under which it is kept [default: the name that it reports; of an emulated device its preset]
    #[arg(long, value_name = "NAME", requires = "save")]
    model: Option<String>,
    /// Directory of the profiles
    #[arg(long, value_name = "DIR", default_value_os_t = dirs::profiles(), requires = "save")]
    profiles: PathBuf,
}

/// What the engines' speeds are of.
const PAGE_BYTES: u64 = 4096;

/// Who found settings that no caller says more about.
const FOUND_BY: &str = "Found by `brisk study`";

impl Keep {
    /// Keeps in `profiles`, under the model that the device reports.
    pub(crate) fn under(profiles: &Path) -> Self {
        Self { save: true, model: None, profiles: profiles.to_owned() }
    }

    /// Makes sure that something can be kept in that folder, before minutes are spent.
    pub(crate) fn check(&self, folder: &str) -> anyhow::Result<()> {
        if self.save {
            let dir = self.profiles.join(folder);
            fs::create_dir_all(&dir).with_context(|| format!("cannot make {} to keep the outcome", dir.display()))?;
        }
        Ok(())
    }

    /// The device that was measured, with the model under which the outcome is kept.
    fn device(&self, measured: &Header, session: &Session) -> anyhow::Result<Device> {
        let device = described(measured, session)?;
        let model = self.model.clone().unwrap_or_else(|| device.model.clone());
        anyhow::ensure!(!model.trim().is_empty(), UNNAMED);
        Ok(Device { model, ..device })
    }

    /// Keeps how fast the device is, if that is wanted.
    pub(crate) fn keep_speeds(&self, report: &BenchReport, session: &Session) -> anyhow::Result<()> {
        if !self.save {
            return Ok(());
        }
        let model = self.device(&report.header, session)?.model;
        let speeds = match speeds(&report.cache, &[report.jobs.as_slice(), &report.block_sweep].concat()) {
            Ok(speeds) => speeds,
            Err(why) => anyhow::bail!("the speeds are not kept: {why}"),
        };
        let file = self.profiles.join(SPEEDS).join(file_name(&model));
        let measured = MeasuredSpeeds { model, measured_at: report.header.started.clone(), speeds };
        write(&file, "Measured by `brisk bench --save`", &measured)
    }

    /// Writes what `change` makes of the profile of the device that was measured, if that is wanted. `change` may say
    /// why there is nothing to keep.
    pub(crate) fn keep(
        &self,
        measured: &Header,
        session: &Session,
        change: impl FnOnce(&mut Profile) -> Result<(), &'static str>,
    ) -> anyhow::Result<()> {
        self.keep_of(FOUND_BY, measured, session, change)
    }

    /// The same; `origin` says where it is from.
    pub(crate) fn keep_of(
        &self,
        origin: &str,
        measured: &Header,
        session: &Session,
        change: impl FnOnce(&mut Profile) -> Result<(), &'static str>,
    ) -> anyhow::Result<()> {
        if !self.save {
            return Ok(());
        }
        let Device { model, kind, .. } = self.device(measured, session)?;
        let file = self.profiles.join(smartio::NAME).join(file_name(&model));
        let mut profile = load(&file)?.unwrap_or_else(|| Profile { model, ..shipped(&kind) });
        if let Err(why) = change(&mut profile) {
            brisk_program::info!("no profile is kept: {why}");
            return Ok(());
        }
        write(&file, origin, &profile)
    }
}

fn write(file: &Path, origin: &str, kept: &impl Serialize) -> anyhow::Result<()> {
    let text = toml::to_string(kept).context("cannot write it as TOML")?;
    let origin = origin.replace(char::is_control, " ");
    let text = format!("# {origin}; briskd uses it for devices of this model.\n{text}");
    replace(file, text.as_bytes())?;
    remark(&format!("kept in {}", file.display()));
    Ok(())
}

/// The speeds that engines weigh by, or why these are none.
fn speeds(cache: &CacheCheck, jobs: &[JobResult]) -> Result<Speeds, String> {
    if matches!(cache.verdict, CacheVerdict::Memory | CacheVerdict::Lying) {
        return Err(cache.text.clone());
    }
    let random = |depth: &dyn Fn(u32) -> bool| {
        let is_asked = |job: &&JobResult| {
            (job.pattern, job.direction, job.block_bytes) == (Pattern::Random, Direction::Read, PAGE_BYTES)
                && depth(job.depth_requests)
        };
        let rate = jobs.iter().find(is_asked).map(|job| job.requests_per_s.median);
        rate.filter(|rate| *rate > 0.0).ok_or("random reads of 4 KiB, one and several at a time, were not measured")
    };
    let best_mib_per_s = |direction: Direction| {
        let sequential = jobs.iter().filter(|job| job.pattern == Pattern::Sequential && job.direction == direction);
        sequential.map(|job| job.bandwidth_bytes_per_s.median / f64::from(1 << 20)).fold(0.0, f64::max)
    };
    let (alone, together) = (random(&|depth| depth == 1)?, random(&|depth| depth > 1)?);
    let speeds = Speeds {
        random_read_us: 1e6 / alone,
        read_mib_per_s: best_mib_per_s(Direction::Read),
        write_mib_per_s: best_mib_per_s(Direction::Write),
        parallel_reads: (together / alone).max(1.0),
    };
    speeds.fault().map_or(Ok(speeds), |(name, value)| Err(format!("{name} was {value}")))
}

/// The speeds that were kept for a model of device; `None` where there are none that can be used.
pub(crate) fn speeds_of(profiles: &Path, model: &str) -> Option<MeasuredSpeeds> {
    let file = profiles.join(SPEEDS).join(file_name(model));
    MeasuredSpeeds::parse(&brisk_program::files::read_text(&file, profiles::FILE_BYTES_MAX).ok()?).ok()
}

/// What was tried of a model of device; nothing where the file is missing or damaged, and the parts are tried then.
pub(crate) fn tries_of(profiles: &Path, model: &str) -> Tries {
    let text = brisk_program::files::read_text(&tries_file(profiles, model), profiles::FILE_BYTES_MAX);
    text.ok().and_then(|text| toml::from_str(&text).ok()).unwrap_or_default()
}

/// Keeps what was tried; no file where nothing is to be kept.
pub(crate) fn keep_tries(profiles: &Path, model: &str, tries: &Tries) -> anyhow::Result<()> {
    let file = tries_file(profiles, model);
    if tries.parts.is_empty() {
        return match fs::remove_file(&file) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                Err(error).with_context(|| format!("cannot remove {}", file.display()))
            }
            _ => Ok(()),
        };
    }
    if let Some(dir) = file.parent() {
        fs::create_dir_all(dir).with_context(|| format!("cannot make {}", dir.display()))?;
    }
    let text = toml::to_string(tries).context("cannot write it as TOML")?;
    replace(
        &file,
        format!("# What `brisk tune` tried and does not know; remove it to have it tried anew.\n{text}").as_bytes(),
    )
}

fn tries_file(profiles: &Path, model: &str) -> PathBuf {
    profiles.join(TRIES).join(file_name(model))
}

/// The profile in `file`; `None` when there is none.
pub(crate) fn load(file: &Path) -> anyhow::Result<Option<Profile>> {
    match brisk_program::files::read_text(file, profiles::FILE_BYTES_MAX) {
        Ok(text) => {
            let unusable = || format!("{} cannot be used: remove it to measure anew", file.display());
            toml::from_str(&text).map(Some).with_context(unusable)
        }
        Err(error) if error.is_missing() => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// The device that was measured, in the words by which briskd will know it.
fn described(measured: &Header, session: &Session) -> anyhow::Result<Device> {
    let name = &measured.environment.device.as_ref().context(UNNAMED)?.name;
    let mut described = devices::managed(&session.sense(), &Devices::These(vec![name.clone()]))?;
    described.pop().context(UNNAMED)
}

#[cfg(test)]
mod tests {
    use super::*;
    use brisk_bench::results::Latency;
    use brisk_core::stats::Summary;

    fn direct() -> CacheCheck {
        CacheCheck { verdict: CacheVerdict::Direct, asked_bytes: 1, device_bytes: Some(1), text: "a RAM disk".into() }
    }

    fn jobs() -> Vec<JobResult> {
        let summary = |value: f64| Summary::of(&[value]).expect("a value");
        let latency = || Latency {
            count: 1,
            mean_us: 1.0,
            p50_us: 1.0,
            p95_us: 1.0,
            p99_us: 1.0,
            max_us: 1.0,
            percentiles_us: Vec::new(),
        };
        let job = |pattern, direction, block_kib: u64, depth_requests, requests_per_s: f64| JobResult {
            pattern,
            direction,
            block_bytes: block_kib << 10,
            depth_requests,
            bandwidth_bytes_per_s: summary(requests_per_s * (block_kib << 10) as f64),
            requests_per_s: summary(requests_per_s),
            latency: latency(),
            cpu_us_per_request: 1.0,
            iowait_percent: 0.0,
            cpu_busy_percent: 0.0,
            runs: Vec::new(),
        };
        let (random, sequential) = (Pattern::Random, Pattern::Sequential);
        vec![
            job(random, Direction::Read, 4, 1, 5_000.0),
            job(random, Direction::Read, 4, 32, 20_000.0),
            job(sequential, Direction::Read, 4, 1, 9_000.0),
            job(sequential, Direction::Write, 4, 1, 2_560.0),
            job(sequential, Direction::Read, 1_024, 1, 90.0),
        ]
    }

    #[test]
    fn speeds_are_those_of_pages_and_of_the_longest_reads() {
        let expected =
            Speeds { random_read_us: 200.0, read_mib_per_s: 90.0, write_mib_per_s: 10.0, parallel_reads: 4.0 };
        assert_eq!(speeds(&direct(), &jobs()), Ok(expected));
        let without = |kept: fn(&JobResult) -> bool| {
            let some: Vec<JobResult> = jobs().into_iter().filter(kept).collect();
            speeds(&direct(), &some).expect_err("something is missing")
        };
        assert!(without(|job| job.depth_requests == 1).contains("several at a time"));
        assert_eq!(without(|job| job.direction == Direction::Read), "write_mib_per_s was 0");
    }

    #[test]
    fn a_cache_is_no_device() {
        let of_memory = CacheCheck { verdict: CacheVerdict::Memory, ..direct() };
        assert_eq!(speeds(&of_memory, &jobs()), Err("a RAM disk".to_owned()));
    }
}
