//! `brisk phone`: a whole phone in virtual time.

pub(crate) mod arguments;
mod day;
mod inside;
mod latency;
mod launches;
mod returns;
mod starts;
mod visits;

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Context as _;
use brisk_command::json::{Document, Json};
use brisk_command::session::Session;
use comfy_table::{Table, TableStyle};
use serde_json::json;

use self::arguments::{Args, ImageArgs, ImageChoice, RunArgs, What};
use crate::flash::Preset;
use crate::phone::image::{Images, Made, brisk_packages, versions};
use crate::phone::measure::{self, Conditions};
use crate::phone::plan::Task;
use crate::phone::{App, Catalogue};
use crate::vm::sources::{Kernel, Source};
use crate::vm::{Error, Watch};

pub(crate) fn run(args: &Args) -> anyhow::Result<ExitCode> {
    match &args.what {
        What::Inside(args) => return inside::run(args),
        What::Write { spec } => return Ok(crate::phone::serve_writer(spec).map(|()| ExitCode::SUCCESS)?),
        What::Apps { json } => return apps(json),
        What::Presets { json } => return presets(json),
        _ => {}
    }
    let here = std::env::current_dir().context("cannot tell where this is")?;
    let target = std::env::var_os("CARGO_TARGET_DIR").filter(|dir| !dir.is_empty()).map(PathBuf::from);
    let source = Source::find(args.source.as_deref().unwrap_or(&here), target)?;
    let session = Session::begin()?;
    let outcome = match &args.what {
        What::Launch(args) => launches::run(&source, &session, args),
        What::Run(args) => run_inside(&source, &session, args),
        What::Latency(args) => latency::run(&source, &session, args),
        What::Returns(args) => returns::run(&source, &session, args),
        What::Day(args) => day::run(&source, &session, args),
        What::Image(args) => image(&source, &session, args),
        What::Inside(_) | What::Write { .. } | What::Apps { .. } | What::Presets { .. } => Ok(ExitCode::SUCCESS),
    };
    session.clear();
    match outcome {
        Err(error) if matches!(error.downcast_ref(), Some(Error::Stopped)) => Ok(session.was_stopped()),
        outcome => outcome,
    }
}

fn apps(json: &Json) -> anyhow::Result<ExitCode> {
    let catalogue = Catalogue::builtin();
    json.show(&Document::new("phone_apps", json!({ "apps": catalogue.apps })), || {
        let rows = catalogue.apps.iter().map(|app| {
            let command: String = app.command.join(" ").chars().take(60).collect();
            [app.name.clone(), app.group.clone(), format!("{} MB", app.reads_mb), app.packages.join(" "), command]
        });
        table(["app", "group", "reads when cold", "packages", "command"], rows)
    })?;
    Ok(ExitCode::SUCCESS)
}

fn presets(json: &Json) -> anyhow::Result<ExitCode> {
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
    json.show(&Document::new("phone_presets", json!({ "presets": documents })), || {
        let row =
            |preset: &Preset| [preset.name.clone(), preset.queue_depth_requests().to_string(), preset.title.clone()];
        table(["preset", "queue depth", "what it is"], presets.iter().map(row))
    })?;
    Ok(ExitCode::SUCCESS)
}

fn table<const N: usize>(heading: [&str; N], rows: impl Iterator<Item = [String; N]>) -> String {
    let mut table = Table::new();
    table.load_style(TableStyle::new()).set_header(heading);
    for column in table.column_iter_mut() {
        column.set_padding((0, 2));
    }
    for row in rows {
        table.add_row(row);
    }
    table.lines().fold(String::new(), |text, line| text + line.trim_end() + "\n")
}

/// An image and what it was made from.
struct Ready {
    kernel: Kernel,
    made: Made,
}

/// Fetches the kernel and makes the image, as far as missing.
fn ready(source: &Source, session: &Session, choice: &ImageChoice) -> anyhow::Result<Ready> {
    let progress = |done: f64, doing: &str| session.show(done, doing);
    let watch = Watch { stop: session.stop_flag(), progress: &progress };
    let apps: Vec<&App> = Catalogue::builtin().choose(&choice.apps)?;
    let folder = choice.packages.clone().unwrap_or_else(|| source.dist());
    let packages = brisk_packages(&folder, choice.arch)?;
    let kernel = source.kernel(&choice.arch.kernel_series(&choice.kernel), watch)?;
    let images = Images { source, architecture: choice.arch, kernel: &kernel };
    let made = images.get(&apps, &packages, watch)?;
    Ok(Ready { kernel, made })
}

fn image(source: &Source, session: &Session, args: &ImageArgs) -> anyhow::Result<ExitCode> {
    let Ready { made, .. } = ready(source, session, &args.image)?;
    session.clear();
    let about = &made.about;
    args.json.show(&Document::new("phone_image", about), || {
        let versions = versions(&about.packages);
        let apps: Vec<String> = about
            .apps
            .iter()
            .map(|app| versions.get(app.as_str()).map_or_else(|| app.clone(), |version| format!("{app} {version}")))
            .collect();
        format!(
            "{}\nkernel {}, {} packages, apps: {}\ncontent {}",
            made.memory.display(),
            about.kernel,
            about.packages.len(),
            apps.join(", "),
            about.content
        )
    })?;
    Ok(ExitCode::SUCCESS)
}

fn run_inside(source: &Source, session: &Session, args: &RunArgs) -> anyhow::Result<ExitCode> {
    let phone = &args.phone;
    let flash = phone.flash(&source.path("kernel/scenarios/devices"))?;
    let ready = ready(source, session, &phone.image)?;
    let images = Images { source, architecture: phone.image.arch, kernel: &ready.kernel };
    let conditions = Conditions {
        flash,
        memory_mib: phone.memory_mib(),
        around: phone.surroundings(None),
        brisk: args.brisk.clone(),
        seed: args.seed,
        shift: phone.shift,
        without: phone.without.clone(),
    };
    let log = source.phones().join(format!("run-{}.log", std::process::id()));
    let task = Task { name: "command".to_owned(), command: args.command.clone() };
    let progress = |done: f64, doing: &str| session.show(done, doing);
    let watch = Watch { stop: session.stop_flag(), progress: &progress };
    let port = measure::run(&images, &ready.made, &conditions, &[task], &log, phone.time_limit, watch)?;
    session.clear();
    // It is kept where it tells why there is no result.
    std::fs::remove_file(&log).with_context(|| format!("cannot remove {}", log.display()))?;
    let output = port.outputs.into_iter().next().unwrap_or_default();
    if !output.errors.is_empty() && !args.json.is_printed() {
        brisk_program::notice!("{}", output.errors.trim_end());
    }
    let facts = json!({
        "architecture": phone.image.arch,
        "kernel": ready.kernel.release,
        "image": ready.made.about.content,
        "output": output,
        "phone": port.facts,
    });
    args.json.show_exactly(&Document::new("phone_run", facts), &output.text)?;
    Ok(ExitCode::from(u8::from(output.code != Some(0))))
}
