//! Arguments of `brisk profile`, and what a measurement on a device and one in a virtual machine share.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::bail;
use brisk_bench::work_file::Size;
use brisk_engine::smartstorage::Model;
use brisk_profile::meter::MeterKind;
use brisk_profile::results::ProfileReport;
use brisk_profile::run::{DEPTHS_REQUESTS, Measured, Options};
use brisk_profile::workload::{self, Workload};
use brisk_profile::{fio, recording, report, store};
use clap::ValueEnum;

use crate::output::Outputs;
use crate::{duration, size, tables};

const AFTER_HELP: &str = "\
Examples:
  brisk profile                                   # the device that holds your data, below 15 minutes
  brisk profile --device sdb --destroy-data       # a disk that is not in use
  brisk profile --workloads mine.fio              # with further workloads of your own
  brisk profile --held-out                        # how well the profile chooses for workloads that are not in it
  brisk profile --virtual galaxy-s5-emmc          # an emulated device in the kernel lab's virtual machine

With --virtual nothing of this machine is measured or changed: time is that of the virtual machine, which counts \
instructions, so that the figures repeat on any machine, however busy. It works from a source tree of brisk, as brisk \
kernel does, and starts from the beginning each time. The same command continues a run that was stopped (Ctrl-C). Only \
root can set a device's scheduler; all settings are restored. Exit codes: 0 measured, 2 not possible, 130 stopped by \
Ctrl-C.";

/// Limits of --cell and --budget.
const CELL_LEAST: Duration = Duration::from_millis(100);
const CELL_MOST: Duration = Duration::from_secs(600);
const MINUTE: Duration = Duration::from_secs(60);
const DAY: Duration = Duration::from_secs(86_400);

/// Arguments of `brisk profile`.
#[derive(Debug, clap::Args)]
#[command(after_help = AFTER_HELP)]
pub struct Args {
    /// Directory on the device, or a block device [default: where your data lives]
    pub path: Option<PathBuf>,
    /// A block device by its name, such as mmcblk1 or loop3, instead of a path
    #[arg(long, value_name = "DEVICE", conflicts_with = "path")]
    pub device: Option<PathBuf>,
    /// Measure a block device and destroy all data on it
    #[arg(long)]
    pub destroy_data: bool,
    /// Measure this preset of `brisk phone presets` in a virtual machine and in virtual time, instead of a device
    #[arg(long = "virtual", value_name = "PRESET", conflicts_with_all = ["path", "device", "destroy_data", "meter"])]
    pub preset: Option<String>,
    /// Series of the virtual machine's kernel [default: 6.12]
    #[arg(long, value_name = "SERIES")]
    pub kernel: Option<String>,
    /// Source tree of brisk, for --virtual [default: the one that this directory is in]
    #[arg(long, value_name = "DIR")]
    pub source: Option<PathBuf>,
    /// Time that the virtual machine may take on this machine [default: a minute for each second of the guest, and 15
    /// minutes]
    #[arg(long, value_name = "TIME", value_parser = duration::parse)]
    pub time_limit: Option<Duration>,
    /// Speak to the host of the virtual machine
    #[arg(long, hide = true)]
    pub in_guest: bool,
    /// More workloads: a job file of fio, of which each option is honoured, named as without effect, or refused; or a
    /// recording, a table with the columns time_s, rw, offset_bytes, size_bytes; - is standard input
    #[arg(long, value_name = "FILE")]
    pub workloads: Vec<PathBuf>,
    /// Measure workloads that no profile holds, and report how well the profile chooses for them; the profile does not
    /// change
    #[arg(long)]
    pub held_out: bool,
    /// Queue depths to try
    #[arg(long, value_name = "REQUESTS,...", value_delimiter = ',', default_values_t = DEPTHS_REQUESTS)]
    pub depths: Vec<u32>,
    /// Schedulers to try [default: all of this kernel]
    #[arg(long, value_name = "NAME,...", value_delimiter = ',')]
    pub schedulers: Vec<String>,
    /// Time of each workload under each setting, in each round
    #[arg(long, value_name = "TIME", default_value = "400ms", value_parser = duration::between(CELL_LEAST, CELL_MOST))]
    pub cell: Duration,
    /// Rounds: more of them average out other load on the machine; fewer than three give no interval
    #[arg(long, value_name = "N", default_value_t = 4, value_parser = clap::value_parser!(u32).range(1..=100))]
    pub rounds: u32,
    /// Time that all may take: rounds beyond the third are left out where they would take longer
    #[arg(long, value_name = "TIME", default_value = "14m", value_parser = duration::between_with_unit(MINUTE, DAY))]
    pub budget: Duration,
    /// More workloads, drawn at random from the seed
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = clap::value_parser!(u32).range(0..=200))]
    pub drawn: u32,
    /// Size of the work file
    #[arg(long, value_name = "SIZE", value_parser = size, default_value = "256M")]
    pub size: u64,
    /// What counts the energy [default: the model for an emulated device; else rapl, rails, battery or modelled, what
    /// there is]
    #[arg(long, value_enum, value_name = "METER")]
    pub meter: Option<MeterName>,
    /// Seed of arrivals, addresses, data and order
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,
    /// Directory of the profiles
    #[arg(long, value_name = "DIR", default_value = store::PROFILES)]
    pub profiles: PathBuf,
    /// Where the results go.
    #[command(flatten)]
    pub outputs: Outputs,
}

/// What counts the energy.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum MeterName {
    /// Energy counters of the processors
    Rapl,
    /// Energy counters of supply rails, as some phones have
    Rails,
    /// The gauge of a battery that discharges
    Battery,
    /// Counted operations and processor time, times assumed energies
    Modelled,
}

/// The options of the measurement: workloads of files are read.
///
/// # Errors
/// When a file of workloads cannot be read or understood, or names a workload twice.
pub fn options(args: &Args, path: PathBuf) -> anyhow::Result<Options> {
    let mut workloads = if args.held_out { workload::held_out() } else { workload::reference() };
    workloads.extend(workload::drawn(args.seed, args.drawn));
    for file in &args.workloads {
        let text = brisk_program::files::table::read(file, recording::FILE_BYTES_MAX)?;
        // By its content, as standard input and pipes have no ending; by that where there is no content to tell.
        let is_recording = recording::is_table(&text) || file.extension().is_some_and(|ending| ending == "csv");
        let of_file = if is_recording {
            tables::note_ignored(file, &text, &[recording::LAYOUT]);
            vec![recording::parse(file, &text, args.cell)?]
        } else {
            let jobs = fio::read(file, &text)?;
            jobs.notes.iter().for_each(|note| brisk_program::notice!("brisk: note: {note}"));
            jobs.workloads
        };
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
        cell: args.cell,
        rounds: args.rounds,
        budget: args.budget,
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

/// The profile that is to be judged: asked for before minutes of measuring.
///
/// # Errors
/// When there is none, or it is damaged.
pub fn known(options: &Options, device: &str) -> anyhow::Result<Model> {
    match store::load(&options.profiles, device)? {
        Some(known) => Ok(known),
        None => bail!("there is no profile of {device} to judge: make it with `brisk profile` first"),
    }
}

/// Keeps the profile, or judges the one that there is.
///
/// # Errors
/// When the file cannot be written.
pub fn keep(known: Option<Model>, options: &Options, measured: Measured) -> brisk_profile::Result<ProfileReport> {
    let file = store::file_of(&options.profiles, &measured.model.device);
    if let Some(known) = known {
        return report::of_judgement(&known, measured, options, &file);
    }
    store::save(&options.profiles, &measured.model)?;
    let limit_bytes = store::FILE_BYTES_MAX;
    if std::fs::metadata(&file).is_ok_and(|metadata| metadata.len() > limit_bytes) {
        brisk_program::warn!(
            "brisk: warning: {} is larger than the {} KiB that briskd reads of a profile: measure fewer workloads or \
             rounds",
            file.display(),
            limit_bytes >> 10
        );
    }
    Ok(report::of_profile(measured, options, Some(&file)))
}
