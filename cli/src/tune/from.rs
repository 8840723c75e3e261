//! `brisk tune --from FILE`: starts from the settings that other devices of the same model have found, and keeps them
//! only where a short comparison here agrees; otherwise the ordinary search follows.
//!
//! All that can be refused is refused before anything is measured: file, signature, model, firmware, schedulers,
//! values.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{ExitCode, Stdio};
use std::sync::atomic::Ordering;
use std::time::Duration;

use anyhow::{Context as _, bail};
use brisk_api::LeftAlone;
use brisk_api::dirs;
use brisk_bench::Error;
use brisk_bench::study::Common;
use brisk_bench::study::frontier::{self, Comparison, Given, Verdict};
use brisk_command::json::Document;
use brisk_command::session::Session;
use brisk_command::terminal::remark;
use brisk_core::device::Device;
use brisk_daemon::config::Config;
use brisk_daemon::devices::Disks;
use brisk_sense::Sense;
use serde::Serialize;
use serde_json::json;

use super::budget::until;
use super::fleet::{Evidence, Fleet, FleetProfile, Here, Key, signer};
use super::{Args, Measurement, Stillness, capacity_bytes, place_on};
use crate::study;

/// Larger files are no settings: a profile takes about 600 bytes.
const FILE_BYTES_MAX: u64 = 16 << 20;
const SIGNATURE_BYTES_MAX: u64 = 4 << 10;
const KEYS_MAX: usize = 64;
/// Time of a comparison, the filling of the work file included; longer on a device that is slow to settle.
const BUDGET: Duration = Duration::from_secs(60);
const BUDGET_QUICK: Duration = Duration::from_secs(30);
const BLOCK_BYTES: u64 = 4096;

/// What came of a device.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum FleetVerdict {
    /// The file has no settings for it.
    NoProfile,
    /// Its own settings were measured here before, and stay.
    Present,
    /// The settings would be compared here.
    ToCompare,
    /// The comparison agrees: the settings of the fleet are kept.
    Kept,
    /// The comparison does not agree, and the ordinary search found what is kept now.
    Searched,
    /// Nothing could be measured.
    Failed,
}

/// A device, and what came of it.
#[derive(Debug, Serialize)]
struct Tuned {
    device: String,
    model: String,
    outcome: FleetVerdict,
    /// Why, where the outcome does not say it.
    why: Option<String>,
    /// The settings of the fleet.
    fleet: Option<FleetProfile>,
    /// What the comparison measured.
    measured: Option<Measured>,
    #[serde(skip)]
    given: Option<Given>,
    #[serde(skip)]
    place: Option<PathBuf>,
}

impl Tuned {
    /// Notes that a signal ended it.
    fn stop(&mut self) {
        self.outcome = FleetVerdict::Failed;
        self.why = Some("stopped".to_owned());
    }
}

/// What the comparison measured, and the codes of its warnings.
#[derive(Debug, Clone, Serialize)]
struct Measured {
    agrees: bool,
    pairs: usize,
    read_ratio: Option<f64>,
    read_ratio_low: Option<f64>,
    read_ratio_high: Option<f64>,
    write_percent: Option<f64>,
    warnings: Vec<String>,
}

/// The file, and who signed it.
struct Signed {
    fleet: Fleet,
    key: PathBuf,
}

pub(super) fn run(args: &Args, file: &Path) -> anyhow::Result<ExitCode> {
    let path = args.config.clone().unwrap_or_else(dirs::config);
    let config = Config::load(&path, args.config.is_none())?.0;
    let signed = read(file, args.key.as_deref(), &config.fleet.keys)?;
    let sense = Sense::default();
    let Disks { managed, left_alone } = super::devices_of(&sense, args, || Ok(config.daemon.devices.clone()))?;
    let mut all = Vec::new();
    for device in &managed {
        all.push(planned(&sense, device, &signed.fleet, &config, args)?);
    }
    refuse_without_profile(&all, &left_alone, file, args)?;
    let mut code = ExitCode::SUCCESS;
    if args.check {
        if all.iter().any(|one| one.outcome == FleetVerdict::ToCompare) {
            code = ExitCode::from(1);
        }
    } else if all.iter().any(|one| one.outcome == FleetVerdict::ToCompare) {
        code = measure(&mut all, &signed, &config, args)?;
    }
    let from = json!({ "file": file, "key": signed.key, "made": signed.fleet.made, "emulated": signed.fleet.emulated });
    args.json.show(&Document::new("tune", json!({ "devices": all, "from": from })), || summary(&all, &signed))?;
    Ok(code)
}

/// Reads the file, and verifies its signature.
fn read(file: &Path, key: Option<&Path>, folder: &Path) -> anyhow::Result<Signed> {
    let keys = keys(key, folder)?;
    let content = brisk_program::files::read_text(file, FILE_BYTES_MAX)?;
    let mut beside = file.as_os_str().to_owned();
    beside.push(".minisig");
    let beside = PathBuf::from(beside);
    let signature = brisk_program::files::read_text(&beside, SIGNATURE_BYTES_MAX)
        .with_context(|| format!("{} is not used: its signature is missing", file.display()))?;
    let refused = || format!("{} is not used because of its signature {}", file.display(), beside.display());
    let key = signer(content.as_bytes(), &signature, &keys).with_context(refused)?.file.clone();
    let fleet = Fleet::parse(content.as_bytes()).with_context(|| format!("{} cannot be used", file.display()))?;
    Ok(Signed { fleet, key })
}

/// The key that was named, or those of the folder.
fn keys(named: Option<&Path>, folder: &Path) -> anyhow::Result<Vec<Key>> {
    let one = |path: &Path| Key::parse(path.to_owned(), &brisk_program::files::read_text(path, SIGNATURE_BYTES_MAX)?);
    if let Some(named) = named {
        return Ok(vec![one(named)?]);
    }
    let mut files: Vec<PathBuf> = match fs::read_dir(folder) {
        Ok(entries) => entries.flatten().map(|entry| entry.path()).collect(),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Vec::new(),
        Err(error) => return Err(error).with_context(|| format!("cannot read the keys in {}", folder.display())),
    };
    files.retain(|path| path.extension().is_some_and(|extension| extension == "pub"));
    files.sort();
    files.truncate(KEYS_MAX);
    if files.is_empty() {
        bail!(
            "there is no public key to verify the file with: name the key of its fleet with --key, or put it into {}, \
             with the ending .pub",
            folder.display()
        );
    }
    files.iter().map(|path| one(path)).collect()
}

/// What is to be done for a device.
fn planned(sense: &Sense, device: &Device, fleet: &Fleet, config: &Config, args: &Args) -> anyhow::Result<Tuned> {
    let mut tuned = Tuned {
        device: device.name.clone(),
        model: device.model.clone(),
        outcome: FleetVerdict::NoProfile,
        why: None,
        fleet: None,
        measured: None,
        given: None,
        place: None,
    };
    let profile = match fleet.of(&here(sense, device)?) {
        Ok(profile) => profile,
        Err(why) => {
            tuned.why = Some(why.to_string());
            return Ok(tuned);
        }
    };
    let waits_ms = config.smartio.writes_wait_max_ms;
    let given = Given::parse(&profile.scheduler, &profile.settings, profile.priorities, waits_ms);
    let given = given.with_context(|| format!("the settings for {} are refused", profile.name()))?;
    if !device.schedulers.iter().any(|name| name == given.scheduler()) {
        bail!(
            "the settings for {} are refused: this kernel has no scheduler '{}' for {}, it offers {}",
            profile.name(),
            given.scheduler(),
            device.name,
            device.schedulers.join(", ")
        );
    }
    tuned.fleet = Some(profile.clone());
    tuned.given = Some(given);
    // A damaged file is no measurement: what is found now replaces it, or says why it cannot.
    let kept = study::kept(&args.profiles, &device.model).ok().flatten();
    if kept.is_some_and(|kept| kept.evidence.is_some()) && !args.again {
        tuned.outcome = FleetVerdict::Present;
        return Ok(tuned);
    }
    tuned.outcome = FleetVerdict::ToCompare;
    match place_on(sense, &device.name)? {
        Ok(place) => tuned.place = Some(place),
        Err(why) => tuned.why = Some(format!("cannot be measured: {why}")),
    }
    Ok(tuned)
}

/// A device by the names that submissions have: what `brisk submit` makes of a document about it.
fn here(sense: &Sense, device: &Device) -> anyhow::Result<Here> {
    let disk = sense.block_device(&brisk_formats::sysfs_name(&device.name));
    let disk = disk.with_context(|| format!("{} is gone", device.name))?;
    let identity = sense.identity(&disk)?;
    let model = if identity.is_lab { Some(identity.model.as_str()) } else { disk.model.as_deref() };
    Ok(Here::of(&identity.kind, model, identity.firmware.as_deref(), identity.is_lab))
}

/// Ends where the file has nothing for a device that was named, or for none at all.
fn refuse_without_profile(all: &[Tuned], left_alone: &[LeftAlone], file: &Path, args: &Args) -> anyhow::Result<()> {
    let without: Vec<&Tuned> = all.iter().filter(|one| one.outcome == FleetVerdict::NoProfile).collect();
    if without.is_empty() && !all.is_empty() || args.devices.is_empty() && without.len() < all.len() {
        return Ok(());
    }
    if all.is_empty() {
        let others: Vec<String> = left_alone.iter().map(|one| format!("; {}: {}", one.name, one.why.text())).collect();
        bail!("briskd manages no device here: name one{}", others.concat());
    }
    let why: Vec<String> =
        without.iter().map(|one| format!("{}: {}", one.device, one.why.as_deref().unwrap_or_default())).collect();
    bail!("{} is not used: {}", file.display(), why.join("; "))
}

fn measure(all: &mut [Tuned], signed: &Signed, config: &Config, args: &Args) -> anyhow::Result<ExitCode> {
    let session = Session::begin()?;
    let _still = Stillness::begin(&args.socket)?;
    let mut code = ExitCode::SUCCESS;
    for one in all.iter_mut().filter(|one| one.outcome == FleetVerdict::ToCompare) {
        let (Some(given), Some(place)) = (one.given.clone(), one.place.clone()) else {
            one.outcome = FleetVerdict::Failed;
            code = ExitCode::from(1);
            continue;
        };
        remark(&format!("{}: compares the settings of the fleet with those found, in {}", one.device, place.display()));
        let options = options(&place, config, args);
        let compared =
            session.measure(|sense, control| frontier::confirm(sense, &session.paths(), &options, &given, control));
        let (report, comparison) = match compared {
            Ok(found) => found,
            Err(Error::Stopped) => {
                one.stop();
                return Ok(session.was_stopped());
            }
            Err(error) => {
                return Err(error).with_context(|| format!("{}: settings are as before", one.device));
            }
        };
        report.header.warnings.iter().for_each(|warning| remark(&format!("{}: {}", one.device, warning.text)));
        let codes = report.header.warnings.iter().map(|warning| warning.code.clone()).collect();
        one.measured = Some(measured(&comparison, codes));
        if comparison.verdict == Verdict::Agrees {
            let origin = format!(
                "Of a fleet, made {}, signed by {}; confirmed here by `brisk tune --from`",
                signed.fleet.made,
                signed.key.display()
            );
            study::keep_settings(&report, &session, &args.profiles, &origin)?;
            one.outcome = FleetVerdict::Kept;
            continue;
        }
        one.why = Some(reason(comparison.verdict).to_owned());
        remark(&format!("{}: {}; {}", one.device, reason(comparison.verdict), Measurement::Settings.of()));
        let mut command = Measurement::Settings.command(&place, capacity_bytes(&session.sense(), &one.device), args)?;
        let mut child = command.stdout(Stdio::null()).spawn().context("cannot start brisk")?;
        let (status, _) = until(&mut child, session.stop_flag(), || None::<()>).context("cannot wait for brisk")?;
        if session.stop_flag().load(Ordering::Relaxed) {
            one.stop();
            return Ok(session.was_stopped());
        }
        one.outcome = if status.success() { FleetVerdict::Searched } else { FleetVerdict::Failed };
        if !status.success() {
            code = ExitCode::from(1);
        }
    }
    Ok(code)
}

fn options(place: &Path, config: &Config, args: &Args) -> frontier::Options {
    frontier::Options {
        common: Common {
            path: place.to_owned(),
            destroy_data: false,
            block_bytes: BLOCK_BYTES,
            // The least that gives an interval.
            runs: 6,
            engine: None,
            seed: 1,
        },
        budget: if args.quick { BUDGET_QUICK } else { BUDGET },
        written_bytes_max: None,
        size_bytes: frontier::SIZE_BYTES,
        write_min_percent: config.smartio.write_throughput_min_percent,
        writes_wait_max_ms: config.smartio.writes_wait_max_ms,
        schedulers: Vec::new(),
    }
}

fn measured(comparison: &Comparison, warnings: Vec<String>) -> Measured {
    let ratio = comparison.read_ratio;
    Measured {
        agrees: comparison.verdict == Verdict::Agrees,
        pairs: ratio.map_or(0, |ratio| ratio.count),
        read_ratio: ratio.map(|ratio| ratio.median),
        read_ratio_low: ratio.map(|ratio| ratio.low),
        read_ratio_high: ratio.map(|ratio| ratio.high),
        write_percent: comparison.write_percent,
        warnings,
    }
}

fn reason(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Agrees => "reads are faster here, too",
        Verdict::NoGain => "reads are not faster here for certain",
        Verdict::SlowWrites => "writes lose too much here",
        Verdict::TooFewTrials => "too few trials fitted into the time",
    }
}

fn summary(all: &[Tuned], signed: &Signed) -> String {
    let mut text = format!("Settings of a fleet, made {}, signed by {}\n", signed.fleet.made, signed.key.display());
    for one in all {
        text += &format!("{} ({}): {}\n", one.device, one.model, words(one));
    }
    text
}

fn words(one: &Tuned) -> String {
    let why = one.why.as_deref().unwrap_or_default();
    let measured = one.measured.as_ref().map_or_else(String::new, measured_words);
    let expected = one.fleet.as_ref().map_or_else(String::new, |fleet| expected_words(&fleet.evidence));
    match one.outcome {
        FleetVerdict::NoProfile => why.to_owned(),
        FleetVerdict::Present => "settings found here before stay; --again compares those of the fleet".to_owned(),
        FleetVerdict::ToCompare if one.place.is_none() => why.to_owned(),
        FleetVerdict::ToCompare => format!("would be compared here; {expected}"),
        FleetVerdict::Kept => format!("the settings of the fleet are kept: {measured}; {expected}"),
        FleetVerdict::Searched => {
            format!(
                "the settings of the fleet are not kept: {why} ({measured}; {expected}). An ordinary search followed"
            )
        }
        FleetVerdict::Failed if one.measured.is_some() => {
            format!("the settings of the fleet are not kept: {why} ({measured}), and the ordinary search did not end")
        }
        FleetVerdict::Failed => why.to_owned(),
    }
}

fn measured_words(measured: &Measured) -> String {
    match (measured.read_ratio, measured.read_ratio_low, measured.read_ratio_high, measured.write_percent) {
        (Some(ratio), Some(low), Some(high), Some(writes)) => format!(
            "reads take {ratio:.3} times as long as with the settings found ({low:.3} to {high:.3}, {} pairs), writes \
             keep {writes:.0} %",
            measured.pairs
        ),
        _ => "nothing was measured".to_owned(),
    }
}

fn expected_words(evidence: &Evidence) -> String {
    format!(
        "{:.3} times and {:.0} % on {} devices of the fleet",
        evidence.read_ratio, evidence.write_percent, evidence.devices
    )
}
