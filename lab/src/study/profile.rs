//! `brisk profile --virtual PRESET`: the same measurement in the kernel lab's virtual machine, on its flash device and
//! in its time.
//!
//! The program that runs there is this one, with the same options and `--in-guest`; the measured figures come back over
//! the console, and are judged and kept here, under a name of their own.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Instant;

use crate::results::{Document, Warning};
use crate::vm::device::{Device, DeviceSpec};
use crate::vm::lab::Lab as Guests;
use crate::vm::program::{self, Program, outcome_lines, progress_line};
use crate::vm::sources::Source;
use crate::vm::{Error, Watch};
use anyhow::{Context as _, bail};
use brisk_command::duration;
use brisk_command::profile::{Args, keep, known, options};
use brisk_command::session::Session;
use brisk_profile::run::{self as profile, Measured, Options};

/// Series of the guest's kernel, unless another is asked for.
const KERNEL: &str = "6.12";
/// Memory of the guest: of its kernel, this program and the page cache.
const MEMORY_BYTES: u64 = 512 << 20;
/// Smallest device; it is twice the size of the work file, so that its mapping has room.
const DEVICE_MIN_BYTES: u64 = 1 << 30;
/// Schedulers of stock kernels.
const SCHEDULERS: [&str; 3] = ["mq-deadline", "kyber", "bfq"];
/// Progress is printed in steps of this share, since each line takes the guest's time.
const STEP: f64 = 0.005;

/// The name of an emulated device among profiles: its figures are not those of a device of the lab, nor of a real one.
fn name_of(preset: &str) -> String {
    format!("virtual {preset}")
}

/// Runs it: on the host, or in the guest.
pub(crate) fn run(args: &Args) -> anyhow::Result<ExitCode> {
    match (&args.preset, args.in_guest, &args.device) {
        (Some(preset), false, _) => on_host(args, preset),
        (_, true, Some(device)) => in_guest(&options(args, Path::new("/dev").join(device))?),
        _ => bail!("this measures in a virtual machine: it needs --virtual PRESET"),
    }
}

fn on_host(args: &Args, preset: &str) -> anyhow::Result<ExitCode> {
    args.outputs.check(Path::new("."))?;
    let here = std::env::current_dir().context("cannot tell where this is")?;
    let target = std::env::var_os("CARGO_TARGET_DIR").filter(|dir| !dir.is_empty()).map(PathBuf::from);
    let source = Source::find(args.source.as_deref().unwrap_or(&here), target)?;
    let options = options(args, PathBuf::from(preset))?;
    let program = program(args, &options, device(args, preset, &source)?)?;
    let known = if args.held_out { Some(known(&options, &name_of(preset))?) } else { None };
    let session = Session::begin()?;
    let (started, begun) = (jiff::Timestamp::now(), Instant::now());
    let outcome = measure(&session, args, &source, &program);
    session.clear();
    let mut measured = match outcome {
        Ok(measured) => measured,
        Err(error) if matches!(error.downcast_ref(), Some(Error::Stopped)) => return Ok(session.was_stopped()),
        Err(error) => return Err(error),
    };
    measured.model.device = name_of(preset);
    measured.model.kind = crate::preset::kind_of_preset(preset).to_owned();
    let header = &mut measured.header;
    header.started = started.to_string();
    header.duration_s = begun.elapsed().as_secs_f64();
    header.environment.path = "a virtual machine, in virtual time".to_owned();
    if let Some(device) = &mut header.environment.device {
        device.lab_preset = Some(preset.to_owned());
    }
    if cfg!(debug_assertions) {
        header.warnings.push(Warning {
            code: "debug_build".to_owned(),
            text: "This brisk was built without optimisation: what its own processor time takes is too large in all \
                   energies. Measure with a release build."
                .to_owned(),
        });
    }
    let report = keep(known, &options, measured)?;
    args.outputs.write(&Document::from(report))?;
    Ok(ExitCode::SUCCESS)
}

fn device(args: &Args, preset: &str, source: &Source) -> anyhow::Result<Device> {
    let size_bytes = DEVICE_MIN_BYTES.max(args.size.saturating_mul(2));
    let spec: DeviceSpec = DeviceSpec {
        preset: preset.to_owned(),
        size: size_bytes.to_string(),
        depth_requests: None,
        queues: 1,
        set: Default::default(),
    };
    spec.resolve(&source.scenarios().join("devices")).map_err(|why| anyhow::anyhow!("--virtual {preset}: {why}"))
}

/// This program with the same options, and what it needs.
fn program(args: &Args, options: &Options, device: Device) -> anyhow::Result<Program> {
    let mut schedulers = SCHEDULERS.map(str::to_owned).to_vec();
    schedulers.extend(args.schedulers.iter().filter(|name| *name != "none").cloned());
    schedulers.dedup();
    let depths: Vec<String> = args.depths.iter().map(ToString::to_string).collect();
    let mut words: Vec<String> =
        ["profile", "--device", program::DEVICE, "--destroy-data", "--in-guest"].map(str::to_owned).to_vec();
    let mut option = |name: &str, value: String| words.extend([name.to_owned(), value]);
    option("--depths", depths.join(","));
    option("--cell", duration::written(args.cell));
    option("--rounds", args.rounds.to_string());
    option("--budget", duration::written(args.budget));
    option("--drawn", args.drawn.to_string());
    option("--size", args.size.to_string());
    option("--seed", args.seed.to_string());
    option("--profiles", "/run/profiles".to_owned());
    if !args.schedulers.is_empty() {
        option("--schedulers", args.schedulers.join(","));
    }
    let mut files = Vec::new();
    for (number, path) in args.workloads.iter().enumerate() {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let name = format!("{number}-{name}");
        option("--workloads", format!("{}/{name}", program::FILES));
        files.push((name, path.clone()));
    }
    if args.held_out {
        words.push("--held-out".to_owned());
    }
    let cells = options.workloads.len() * (args.depths.len() * (SCHEDULERS.len() + 1) + 1);
    Ok(Program {
        name: format!("profile-{}", device.preset),
        path: std::env::current_exe().context("cannot tell where this program is")?,
        arguments: words,
        files,
        device,
        schedulers,
        memory_bytes: MEMORY_BYTES,
        estimate_s: cells as f64 * f64::from(args.rounds) * args.cell.as_secs_f64(),
    })
}

fn measure(session: &Session, args: &Args, source: &Source, program: &Program) -> anyhow::Result<Measured> {
    let progress = |done: f64, doing: &str| session.show(done, doing);
    let watch = Watch { stop: session.stop_flag(), progress: &progress };
    let mut guests = Guests::prepare(source, args.kernel.as_deref().unwrap_or(KERNEL), watch)?;
    guests.time_limit = args.time_limit;
    let ran = program::run(&guests, program, watch)?;
    match serde_json::from_str(&ran.outcome) {
        Ok(measured) => Ok(measured),
        Err(error) => bail!("what the guest measured came back damaged ({error}); its console: {}", ran.log.display()),
    }
}

fn in_guest(options: &Options) -> anyhow::Result<ExitCode> {
    let session = Session::begin()?;
    let shown = std::cell::Cell::new(f64::NEG_INFINITY);
    let progress = |done: f64, doing: &str| {
        if done - shown.get() >= STEP || done < shown.get() {
            shown.set(done);
            // A console that fails shows again when the outcome is written.
            let _ = brisk_command::print_exactly(&format!("{}\n", progress_line(done, doing)));
        }
    };
    let control = brisk_bench::Control { stop: session.stop_flag(), progress: &progress };
    let measured = profile::run(&session.sense(), &session.paths(), options, &control)?;
    let text = serde_json::to_string(&measured).context("cannot write what was measured as JSON")?;
    let mut out = std::io::stdout().lock();
    for line in outcome_lines(&text) {
        writeln!(out, "{line}").context("cannot write to the console")?;
    }
    Ok(ExitCode::SUCCESS)
}
