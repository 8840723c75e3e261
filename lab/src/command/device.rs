//! `brisk lab`: emulated flash devices of this machine.

pub(crate) mod arguments;
pub(crate) mod phone;
mod phone_view;
mod view;

use std::path::Path;
use std::process::ExitCode;

use self::arguments::{Args, BackendName, Command, Down, FaultArgs, Switch, Up};
use crate::device::{Backend, FaultOrder, Lab, NewDevice};
use crate::flash::Preset;
use anyhow::Context as _;
use brisk_command::json::{Document, Json};
use brisk_command::terminal::{remark, spinner, step};
use brisk_command::{for_each, print};
use brisk_core::units::format_bytes;
use serde_json::json;

pub(crate) fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let run_dir = brisk_api::run_dir(args.run_dir.clone());
    let lab = Lab::new(&run_dir);
    match &args.command {
        Command::Up(up) => make(&lab, up, &run_dir)?,
        Command::List { json } => {
            lab.check_access()?;
            let devices = lab.list();
            json.show(&Document::new("lab_list", json!({ "devices": devices })), || view::list(&devices))?;
        }
        Command::Presets { json } => presets(json)?,
        Command::Ctl(ctl) => {
            let timed = ctl.time.map(|time| time == Switch::On);
            let status = lab.change(&ctl.device, &ctl.set, timed, ctl.reset_counters)?;
            let only_shows = ctl.set.is_empty() && ctl.time.is_none() && !ctl.reset_counters;
            let text = || if only_shows { view::status(&status) } else { String::new() };
            ctl.json.show(&Document::new("lab_device", &status), text)?;
        }
        Command::Fault(fault) => fail(&lab, fault)?,
        Command::Down(down) => return remove(&lab, down),
        Command::Phone(args) => return phone::run(args, &run_dir),
        Command::Serve { dir } => crate::device::serve(dir)?,
        Command::StreamProcess => {
            brisk_bench::stream_process::serve(std::io::stdin(), std::io::stdout().lock()).context("cannot answer")?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn make(lab: &Lab, up: &Up, run_dir: &Path) -> anyhow::Result<()> {
    let new = NewDevice {
        preset: up.preset.clone(),
        set: up.set.clone(),
        size_bytes: up.size,
        seed: up.seed,
        timed: up.time == Switch::On,
        scheduler: up.scheduler.clone(),
        backend: match up.backend {
            BackendName::Auto => Backend::Auto,
            BackendName::Fuse => Backend::Fuse,
            BackendName::Ublk => Backend::Ublk,
        },
        server: brisk_lab(run_dir, &["serve"])?,
        take_down: brisk_lab(run_dir, &["down", "--force"])?,
    };
    let spinner = spinner();
    let made = lab.up(&new, |what| {
        step(what);
        spinner.set_message(brisk_core::text::one_line(what).into_owned());
    });
    spinner.finish_and_clear();
    let (status, repaired) = made?;
    for sentence in &repaired.leftovers {
        brisk_program::notice!("repaired: {sentence}");
    }
    up.json.show(&Document::new("lab_device", &status), || format!("{}\n", status.device))?;
    if !up.json.is_printed() {
        remark(view::made(&status).trim_end());
    }
    Ok(())
}

/// The command line of this program's `lab WORDS` for the same lab.
pub(crate) fn brisk_lab(run_dir: &Path, words: &[&str]) -> anyhow::Result<Vec<String>> {
    let program = std::env::current_exe().context("cannot find the program file of brisk")?;
    let program = program.to_str().context("the path of the program file of brisk is not UTF-8")?;
    let run_dir = std::path::absolute(run_dir).context("cannot find the lab's directory")?;
    let run_dir = run_dir.to_str().context("the path of the lab's directory is not UTF-8")?;
    Ok([program, "lab", "--run-dir", run_dir].iter().chain(words).map(|&word| word.to_owned()).collect())
}

fn presets(json: &Json) -> anyhow::Result<()> {
    let presets = Preset::builtin_names().into_iter().map(Preset::builtin).collect::<Result<Vec<_>, _>>()?;
    let documents: Vec<_> = presets
        .iter()
        .map(|preset| {
            let parameters: serde_json::Map<_, _> =
                preset.parameters().into_iter().map(|p| (p.name.to_owned(), p.value.into())).collect();
            json!({
                "name": preset.name,
                "title": preset.title,
                "note": preset.note.trim(),
                "queue_depth_requests": preset.queue_depth_requests(),
                "parameters": parameters,
            })
        })
        .collect();
    json.show(&Document::new("lab_presets", json!({ "presets": documents })), || view::presets(&presets))
}

fn fail(lab: &Lab, fault: &FaultArgs) -> anyhow::Result<()> {
    let order = if fault.power_cut {
        let seed = fault.seed.map_or_else(|| lab.seed(&fault.device), Ok)?;
        FaultOrder::PowerCut { seed }
    } else if fault.power_on {
        FaultOrder::PowerOn
    } else if let Some((offset_bytes, len_bytes)) = fault.read_error {
        FaultOrder::ReadError { offset_bytes, len_bytes }
    } else if let Some((offset_bytes, len_bytes)) = fault.timeout {
        FaultOrder::Timeout {
            offset_bytes,
            len_bytes,
            for_ms: fault.hang.map(|hang| u64::try_from(hang.as_millis()).unwrap_or(u64::MAX)),
        }
    } else {
        FaultOrder::Clear
    };
    if let Some(pages) = lab.fault(&fault.device, order)? {
        let lost = match pages {
            1 => "1 page".to_owned(),
            n => format!("{n} pages ({})", format_bytes(n * 4096)),
        };
        print(&format!("power cut: {lost} lost what was written to them last\n"))?;
    }
    Ok(())
}

/// Goes through all devices even when one cannot be removed.
fn remove(lab: &Lab, down: &Down) -> anyhow::Result<ExitCode> {
    let mut devices = down.devices.clone();
    if down.all {
        for sentence in lab.repair(&mut |_: &str| {})?.leftovers {
            brisk_program::notice!("repaired: {sentence}");
        }
        devices = lab.list().into_iter().map(|listed| listed.id.to_string()).collect();
    }
    Ok(for_each(&devices, |device| lab.down(device, down.force)))
}
