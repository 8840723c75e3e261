//! `brisk profile`: what each setting of a device costs, for the engine SmartStorage.

use std::path::Path;
use std::process::ExitCode;

use anyhow::bail;
use brisk_command::lab;
use brisk_command::profile::{Args, keep, known, options};
use brisk_command::session::Session;
use brisk_profile::Error;
use brisk_profile::run::{self as profile, Measured, Options};
use brisk_report::results::Document;

use crate::bench::place;

pub(crate) fn run(args: &Args) -> anyhow::Result<ExitCode> {
    if args.preset.is_some() || args.in_guest {
        return lab::hand_over("profile --virtual");
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
    let known = if args.held_out { Some(known(&options, &device_of(&session, &options)?)?) } else { None };
    match measure(&session, &options) {
        Ok(measured) => {
            let document = Document::from(keep(known, &options, measured)?);
            session.finish(document, &args.outputs).map(|()| ExitCode::SUCCESS)
        }
        Err(Error::Stopped | Error::Bench(brisk_bench::Error::Stopped)) => {
            brisk_program::notice!("brisk: the measurements so far are kept: the same command continues from there");
            Ok(session.was_stopped())
        }
        Err(error) => Err(error.into()),
    }
}

fn measure(session: &Session, options: &Options) -> brisk_profile::Result<Measured> {
    let progress = |done: f64, doing: &str| session.show(done, doing);
    let control = brisk_bench::Control { stop: session.stop_flag(), progress: &progress };
    let outcome = profile::run(&session.sense(), &session.paths(), options, &control);
    session.clear();
    outcome
}

fn device_of(session: &Session, options: &Options) -> brisk_profile::Result<String> {
    Ok(profile::device_of(&session.sense(), &options.path, options.destroy_data)?.model)
}
