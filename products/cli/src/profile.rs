//! `brisk profile`: what each setting of a device costs, for the engine SmartStorage.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context as _, bail};
use brisk_bench::work_file::Size;
use brisk_lab::Lab;
use brisk_profile::meter::MeterKind;
use brisk_profile::run::{DEPTHS_REQUESTS, Measured, Options};
use brisk_profile::workload::{self, Workload};
use brisk_profile::{Error, fio, recording, report, run as profile, store};
use brisk_results::{Document, ProfileReport};
use brisk_smartstorage::Model;
use clap::ValueEnum;

use crate::bench::session::Session;
use crate::bench::{output::Outputs, place, size};

mod emulated;

const AFTER_HELP: &str = "\
Examples:
  brisk profile                                   # the device that holds your data, below 15 minutes
  brisk profile --device loop3 --destroy-data     # a device of the lab, or one that is not in use
  brisk profile --workloads mine.fio              # with workloads of your own besides
  brisk profile --held-out                        # how well the profile chooses for workloads that it does not hold
  brisk profile --virtual galaxy-s5-emmc          # an emulated device in the kernel lab's virtual machine

With --virtual nothing of this machine is measured or changed: time is that of the virtual machine, which counts \
instructions, so that the figures repeat on any machine, however busy. It works from a source tree of brisk, as brisk kernel does, \
and begins anew each time. A run that is stopped (Ctrl-C) is gone on with by the same command. Only root can set a device's scheduler; all settings \
are put back. Exit codes: 0 measured, 2 not possible, 130 stopped by Ctrl-C.";

/// Arguments of `brisk profile`.
#[derive(Debug, clap::Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Args {
    /// Directory on the device, or a block device [default: where your data lives]
    path: Option<PathBuf>,
    /// A block device by its name, such as mmcblk1 or loop3, instead of a path
    #[arg(long, value_name = "NAME", conflicts_with = "path")]
    device: Option<PathBuf>,
    /// Measure a block device and destroy all data on it
    #[arg(long, alias = "destroy")]
    destroy_data: bool,
    /// Measure this preset of `brisk lab presets` in a virtual machine and in virtual time, instead of a device
    #[arg(long = "virtual", value_name = "PRESET", conflicts_with_all = ["path", "device", "destroy_data", "meter"])]
    preset: Option<String>,
    /// Series of the virtual machine's kernel [default: 6.12]
    #[arg(long, value_name = "SERIES")]
    kernel: Option<String>,
    /// Source tree of brisk, for --virtual [default: the one that this directory is in]
    #[arg(long, value_name = "DIR")]
    source: Option<PathBuf>,
    /// Seconds that the virtual machine may take on this machine [default: a minute for each second of the guest, and 15 minutes]
    #[arg(long, value_name = "SECONDS")]
    time_limit: Option<u64>,
    /// Speak to the host of the virtual machine
    #[arg(long, hide = true)]
    in_guest: bool,
    /// More workloads: a job file of fio (rw, rwmixread, bs, iodepth, rate_iops), or a recording FILE.csv with the columns
    /// time_s, rw, offset_bytes, size_bytes
    #[arg(long, value_name = "FILE")]
    workloads: Vec<PathBuf>,
    /// Measure workloads that no profile holds, and say how well the profile chooses for them; it stays as it is
    #[arg(long)]
    held_out: bool,
    /// Queue depths to try
    #[arg(long, value_name = "REQUESTS,...", value_delimiter = ',', default_values_t = DEPTHS_REQUESTS)]
    depths: Vec<u32>,
    /// Schedulers to try [default: all of this kernel]
    #[arg(long, value_name = "NAME,...", value_delimiter = ',')]
    schedulers: Vec<String>,
    /// Seconds of each workload under each setting, in each round
    #[arg(long, value_name = "SECONDS", default_value_t = 0.4, value_parser = cell)]
    cell: f64,
    /// Rounds; more of them even out what else the machine does, and fewer than three say nothing of that
    #[arg(long, value_name = "N", default_value_t = 4, value_parser = clap::value_parser!(u32).range(1..=100))]
    rounds: u32,
    /// Minutes that all may take: rounds beyond the third are left out where they would take longer
    #[arg(long, value_name = "MINUTES", default_value_t = 14, value_parser = clap::value_parser!(u32).range(1..=1440))]
    budget: u32,
    /// More workloads, drawn at random from the seed
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = clap::value_parser!(u32).range(0..=200))]
    drawn: u32,
    /// Size of the work file
    #[arg(long, value_name = "SIZE", value_parser = size, default_value = "256M")]
    size: u64,
    /// What counts the energy [default: the model for a device of the lab; else rapl, rails, battery or modelled, what there is]
    #[arg(long, value_enum, value_name = "METER")]
    meter: Option<MeterName>,
    /// Seed of arrivals, addresses, data and order
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// Directory of the profiles
    #[arg(long, value_name = "DIR", default_value = store::PROFILES)]
    profiles: PathBuf,
    #[command(flatten)]
    outputs: Outputs,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum MeterName {
    /// Energy counters of the processors
    Rapl,
    /// Energy counters of supply rails, as some phones have
    Rails,
    /// The gauge of a battery that discharges
    Battery,
    /// Counted operations and processor time, times assumed energies
    Modelled,
}

fn cell(text: &str) -> Result<f64, String> {
    let seconds: f64 = text.parse().map_err(|_| "a number of seconds, such as 1 or 2.5".to_owned())?;
    if (0.1..=600.0).contains(&seconds) { Ok(seconds) } else { Err("0.1 to 600 seconds".to_owned()) }
}

/// Runs it.
pub(crate) fn run(args: &Args) -> anyhow::Result<ExitCode> {
    if let Some(preset) = &args.preset {
        return emulated::run(args, preset);
    }
    // Not left to clap: it asks for nothing that a place on this machine excludes.
    let of_virtual = [
        ("--kernel", args.kernel.is_some()),
        ("--source", args.source.is_some()),
        ("--time-limit", args.time_limit.is_some()),
    ];
    if let Some((name, _)) = of_virtual.into_iter().find(|(_, given)| *given) {
        bail!("{name} is for the virtual machine: it needs --virtual PRESET");
    }
    let path = match &args.device {
        Some(device) => Path::new("/dev").join(device),
        None => place(args.path.as_ref()),
    };
    args.outputs.check(&path)?;
    let options = options(args, path)?;
    let session = Session::begin()?;
    let lab = Lab::new(session.run_dir());
    if args.in_guest {
        return emulated::in_guest(&session, &lab, &options);
    }
    let known = if args.held_out { Some(known(&options, &device_of(&session, &options)?)?) } else { None };
    match measure(&session, &lab, &options) {
        Ok(measured) => {
            let document = Document::Profile(Box::new(keep(known, &options, measured)?));
            session.finish(document, &args.outputs).map(|()| ExitCode::SUCCESS)
        }
        Err(Error::Stopped | Error::Bench(brisk_bench::Error::Stopped)) => {
            eprintln!("brisk: what was measured is kept: the same command goes on from there");
            Ok(session.was_stopped())
        }
        Err(error) => Err(error.into()),
    }
}

fn options(args: &Args, path: PathBuf) -> anyhow::Result<Options> {
    let mut workloads = if args.held_out { workload::held_out() } else { workload::reference() };
    workloads.extend(workload::drawn(args.seed, args.drawn));
    for file in &args.workloads {
        let text = std::fs::read_to_string(file).with_context(|| format!("cannot read {}", file.display()))?;
        let is_recording = file.extension().is_some_and(|ending| ending == "csv");
        let cell = Duration::from_secs_f64(args.cell);
        let of_file = if is_recording { vec![recording::parse(file, &text, cell)?] } else { fio::parse(file, &text)? };
        for more in of_file {
            refuse_twice(&workloads, &more)?;
            workloads.push(more);
        }
    }
    Ok(Options {
        path,
        destroy_data: args.destroy_data,
        workloads,
        depths_requests: args.depths.clone(),
        schedulers: args.schedulers.clone(),
        cell: Duration::from_secs_f64(args.cell),
        rounds: args.rounds,
        budget: Duration::from_secs(u64::from(args.budget) * 60),
        size: Size { wanted_bytes: args.size, exact: false, patience: None },
        meter: args.meter.map(|name| match name {
            MeterName::Rapl => MeterKind::Rapl,
            MeterName::Rails => MeterKind::Rails,
            MeterName::Battery => MeterKind::Battery,
            MeterName::Modelled => MeterKind::Modelled,
        }),
        seed: args.seed,
        profiles: args.profiles.clone(),
        held_out: args.held_out,
    })
}

fn refuse_twice(workloads: &[Workload], more: &Workload) -> anyhow::Result<()> {
    if workloads.iter().any(|known| known.name == more.name) {
        bail!("there is a workload '{}' already: give the job another name", more.name);
    }
    Ok(())
}

fn measure(session: &Session, lab: &Lab, options: &Options) -> brisk_profile::Result<Measured> {
    let progress = |done: f64, doing: &str| session.show(done, doing);
    let control = brisk_bench::Control { stop: session.stop_flag(), progress: &progress };
    let outcome = profile::run(&session.sense(), lab, &session.paths(), options, &control);
    session.clear();
    outcome
}

fn device_of(session: &Session, options: &Options) -> brisk_profile::Result<String> {
    Ok(profile::device_of(&session.sense(), &options.path, options.destroy_data)?.model)
}

/// The profile that is to be judged: asked for before minutes of measuring.
fn known(options: &Options, device: &str) -> anyhow::Result<Model> {
    match store::load(&options.profiles, device)? {
        Some(known) => Ok(known),
        None => bail!("there is no profile of {device} to judge: make it with `brisk profile` first"),
    }
}

/// Keeps the profile, or judges the one that there is.
fn keep(known: Option<Model>, options: &Options, measured: Measured) -> brisk_profile::Result<ProfileReport> {
    let file = store::file_of(&options.profiles, &measured.model.device);
    if let Some(known) = known {
        return report::of_judgement(&known, measured, options, &file);
    }
    store::save(&options.profiles, &measured.model)?;
    let limit_bytes = brisk_daemon::profiles::FILE_BYTES_MAX;
    if std::fs::metadata(&file).is_ok_and(|metadata| metadata.len() > limit_bytes) {
        eprintln!(
            "brisk: warning: {} is larger than the {} KiB that briskd reads of a profile: measure fewer workloads or rounds",
            file.display(),
            limit_bytes >> 10
        );
    }
    Ok(report::of_profile(measured, options, Some(&file)))
}
