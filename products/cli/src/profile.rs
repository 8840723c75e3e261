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
use brisk_profile::{Error, fio, report, run as profile, store};
use brisk_results::{Document, ProfileReport};
use brisk_smartstorage::Model;
use clap::ValueEnum;

use crate::bench::session::Session;
use crate::bench::{output::Outputs, place, size};

const AFTER_HELP: &str = "\
Examples:
  brisk profile                                   # the device that holds your data, below 15 minutes
  brisk profile --device loop3 --destroy-data     # a device of the lab, or one that is not in use
  brisk profile --workloads mine.fio              # with workloads of your own besides
  brisk profile --held-out                        # how well the profile chooses for workloads that it does not hold

A run that is stopped (Ctrl-C) is gone on with by the same command. Only root can set a device's scheduler; all settings \
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
    /// More workloads: a job file of fio (rw, rwmixread, bs, iodepth, rate_iops)
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
    let path = match &args.device {
        Some(device) => Path::new("/dev").join(device),
        None => place(args.path.as_ref()),
    };
    args.outputs.check(&path)?;
    let options = options(args, path)?;
    let session = Session::begin()?;
    let lab = Lab::new(session.run_dir());
    let known = if args.held_out { Some(known(&session, &options)?) } else { None };
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
    for file in &args.workloads {
        let text = std::fs::read_to_string(file).with_context(|| format!("cannot read {}", file.display()))?;
        for more in fio::parse(file, &text)? {
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

/// The profile that is to be judged: asked for before minutes of measuring.
fn known(session: &Session, options: &Options) -> anyhow::Result<Model> {
    let device = profile::device_of(&session.sense(), &options.path, options.destroy_data)?.model;
    match store::load(&options.profiles, &device)? {
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
    Ok(report::of_profile(measured, options, Some(&file)))
}
