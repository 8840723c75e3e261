//! What was given to the proof, checked before anything is made: a wrong file is refused at once and not after the
//! phone was built.

use std::io::Read as _;
use std::path::{Path, PathBuf};

use crate::study::prove::arguments::Args;
use anyhow::{Context as _, bail};
use brisk_daemon::config::{Config, Devices, Order};
use brisk_daemon::{engines, profiles};
use brisk_profile::store::PROFILES;
use brisk_sense::Sense;

use super::variants::{self, Variant};
use crate::study::briskd;

#[derive(Debug)]
pub(super) struct Input {
    /// The daemon's program.
    pub(super) briskd: PathBuf,
    /// Text of the configuration, which the daemon understands; empty for its defaults.
    pub(super) config: String,
    /// Directory of the profiles, absolute.
    pub(super) profiles: PathBuf,
    /// Who is at work in the conditions.
    pub(super) variants: Vec<Variant>,
    /// Whether launch prefetch is in one of them.
    pub(super) prefetches: bool,
}

/// Checks program, configuration and profiles.
///
/// # Errors
/// The first that the daemon could not use.
pub(super) fn check(args: &Args, sense: &Sense) -> anyhow::Result<Input> {
    let variants = variants::of(&args.engines)?;
    let briskd = briskd::find(args.briskd.as_deref())?;
    let (config, text) = match &args.config {
        Some(path) => configuration(path, sense)?,
        None => Default::default(),
    };
    let is_named = args.profiles != Path::new(PROFILES);
    let directory = std::path::absolute(&args.profiles)?;
    check_profiles(&directory, &config, is_named)?;
    let order = match (&config.engines.order, args.engines.is_empty()) {
        (_, false) => args.engines.clone(),
        (Order::Auto, true) => variants::UNNAMED.map(str::to_owned).to_vec(),
        (Order::These(names), true) => names.clone(),
    };
    let prefetches = order.iter().any(|name| name == brisk_engine::prefetch::NAME);
    Ok(Input { briskd, config: text, profiles: directory, variants, prefetches })
}

/// A configuration that the daemon understands, with its text. The proof replaces the list of devices by the phone's.
fn configuration(path: &Path, sense: &Sense) -> anyhow::Result<(Config, String)> {
    let (config, text) = Config::load(path, false).map_err(|error| {
        let is_json = text_of(path).trim_start().starts_with('{');
        let error = anyhow::Error::from(error);
        if is_json {
            error.context("the configuration is JSON, briskd reads TOML (see: brisk config default)")
        } else {
            error
        }
    })?;
    if let Devices::These(names) = &config.daemon.devices {
        let known = sense.block_device_names()?;
        if let Some(name) = names.iter().find(|name| !known.contains(&name.replace('/', "!"))) {
            bail!(
                "{}: devices: this machine has no disk '{name}'; leave 'devices' out, the proof manages the phone's \
                 device alone",
                path.display()
            );
        }
    }
    for knob in config.fixed.keys().filter(|knob| knob.device().is_some()) {
        brisk_program::warn!("brisk: [fixed] {knob} has no effect here: the proof manages the phone's device alone");
    }
    Ok((config, text))
}

/// The beginning of a file that is not a configuration, for a hint.
fn text_of(path: &Path) -> String {
    let mut begin = Vec::new();
    let is_file = path.metadata().is_ok_and(|metadata| metadata.is_file());
    if let Some(file) = std::fs::File::open(path).ok().filter(|_| is_file) {
        let _ = file.take(1024).read_to_end(&mut begin);
    }
    String::from_utf8_lossy(&begin).into_owned()
}

/// Checks that the daemon can read the profiles in `directory`. The default directory may be missing, and what is
/// spoilt in it is left out, as the daemon does.
fn check_profiles(directory: &Path, config: &Config, is_named: bool) -> anyhow::Result<()> {
    if !directory.is_dir() {
        if is_named {
            bail!("there is no directory {}: it is to hold what was measured on devices", directory.display());
        }
        return Ok(());
    }
    let unreadable = || format!("cannot read the profiles in {}", directory.display());
    for folder in std::fs::read_dir(directory).with_context(unreadable)? {
        let folder = folder.with_context(unreadable)?.path();
        if folder.is_dir() {
            let folders = || format!("cannot read the profiles in {}", folder.display());
            for file in std::fs::read_dir(&folder).with_context(folders)? {
                let file = file.with_context(folders)?.path();
                if file.is_file() {
                    std::fs::File::open(&file)
                        .with_context(|| format!("cannot read the profile {}", file.display()))?;
                }
            }
        }
    }
    let (_, complaints) = engines::Engines::new(config, &profiles::read(directory));
    match complaints.first() {
        Some(complaint) if is_named => {
            bail!("a profile in {} cannot be used: {complaint}", directory.display())
        }
        _ => {
            let place = directory.display();
            complaints.iter().for_each(|complaint| {
                brisk_program::warn!("brisk: warning: a profile in {place} is left out: {complaint}")
            });
            Ok(())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_spoilt_profile_is_refused_where_its_directory_was_named() {
        let dir = tempfile::tempdir().expect("a directory");
        std::fs::create_dir(dir.path().join("smartio")).expect("made");
        std::fs::write(dir.path().join("smartio/some-model.toml"), "not = [").expect("written");
        let config = Config::default();
        let said = check_profiles(dir.path(), &config, true).expect_err("it is spoilt").to_string();
        assert!(said.contains("some-model.toml"), "{said}");
        check_profiles(dir.path(), &config, false).expect("the daemon leaves it out");
        check_profiles(&dir.path().join("none"), &config, false).expect("nothing was measured");
    }
}
