//! Header of every result: machine, place, queue settings, warnings.

use std::path::Path;

use brisk_core::units::format_bytes;
use brisk_sense::Sense;

use crate::cpu::PressureMeter;
use crate::error::Result;
use crate::place::Place;
use crate::results::{BlockDevice, Environment, Header, SCHEMA_VERSION, Warning};

/// Mount options by which a file system compresses.
const COMPRESSING_OPTIONS: [&str; 2] = ["compress", "compress-force"];
/// File systems that compress by default.
const COMPRESSING_FILE_SYSTEMS: [&str; 3] = ["bcachefs", "zfs", "squashfs"];

/// A run from its start; the source of its [`Header`].
#[derive(Debug)]
pub struct Run {
    sense: Sense,
    started: jiff::Timestamp,
    begun: std::time::Instant,
    pressure: PressureMeter,
    environment: Environment,
    warnings: Vec<Warning>,
    seed: u64,
}

impl Run {
    /// Starts a run at `place`.
    ///
    /// # Errors
    /// When /proc or /sys cannot be read.
    pub fn begin(sense: &Sense, place: &Place, seed: u64) -> Result<Self> {
        let environment = environment(sense, place)?;
        let warnings = compression_warning(&environment).into_iter().collect();
        Ok(Self {
            sense: sense.clone(),
            started: jiff::Timestamp::now(),
            begun: std::time::Instant::now(),
            pressure: PressureMeter::start(sense),
            environment,
            warnings,
            seed,
        })
    }

    /// Adds warnings to the result.
    pub fn warn(&mut self, warnings: impl IntoIterator<Item = Warning>) {
        self.warnings.extend(warnings);
    }

    pub(crate) fn elapsed(&self) -> std::time::Duration {
        self.begun.elapsed()
    }

    /// Ends the run. `io_engine` is how this process made requests, if it did; `written_bytes` is what it wrote.
    #[must_use]
    pub fn end(mut self, io_engine: Option<String>, written_bytes: u64) -> Header {
        self.warnings.extend(self.pressure.warning(&self.sense));
        Header {
            schema_version: SCHEMA_VERSION,
            started: self.started.to_string(),
            duration_s: self.begun.elapsed().as_secs_f64(),
            environment: self.environment,
            io_engine,
            seed: self.seed,
            written_bytes,
            warnings: self.warnings,
        }
    }
}

/// Facts of the machine and the place.
///
/// # Errors
/// When /proc or /sys cannot be read.
pub fn environment(sense: &Sense, place: &Place) -> Result<Environment> {
    let device = match &place.device {
        Some(located) => Some(block_device(sense, located)?),
        None => None,
    };
    Ok(Environment {
        brisk_version: env!("CARGO_PKG_VERSION").to_owned(),
        commit: crate::results::commit(),
        kernel: sense.kernel_release()?,
        architecture: std::env::consts::ARCH.to_owned(),
        cpus: sense.cpus_online()?,
        path: place.path.display().to_string(),
        file_system: place.file_system().map(str::to_owned),
        mount_options: place.mount.as_ref().map(|mount| mount_options(&mount.options, &mount.super_options)),
        device,
        disks: place.several(),
    })
}

/// Options of the mount and of the file system, without duplicates.
fn mount_options(of_mount: &[String], of_file_system: &[String]) -> String {
    let mut options: Vec<&str> = of_mount.iter().map(String::as_str).collect();
    for option in of_file_system {
        if !options.contains(&option.as_str()) {
            options.push(option);
        }
    }
    options.join(",")
}

fn block_device(sense: &Sense, located: &brisk_sense::Located) -> Result<BlockDevice> {
    let disk = &located.disk;
    let (queue, identity) = (sense.block_queue(&disk.name)?, sense.identity(disk)?);
    let kib = |value: u64| u32::try_from(value).ok();
    Ok(BlockDevice {
        name: disk.name.clone(),
        partition: located.partition.as_ref().map(|partition| partition.name.clone()),
        kind: Some(identity.kind),
        model: disk.model.clone(),
        firmware: identity.firmware,
        size_bytes: disk.size_bytes,
        rotational: queue.rotational,
        scheduler: queue.schedulers.current,
        schedulers_available: queue.schedulers.available,
        queue_depth_requests: queue.depth_requests,
        read_ahead_kib: kib(queue.read_ahead_kib),
        max_request_kib: kib(queue.max_request_kib),
        write_cache: queue.write_cache,
        logical_block_bytes: queue.logical_block_bytes,
        lab_preset: None,
    })
}

fn compression_warning(environment: &Environment) -> Option<Warning> {
    let by_option = environment.mount_options.iter().flat_map(|options| options.split(',')).find(|option| {
        let name = option.split('=').next().unwrap_or(option);
        COMPRESSING_OPTIONS.contains(&name)
    });
    let by_type = environment.file_system.as_deref().filter(|name| COMPRESSING_FILE_SYSTEMS.contains(name));
    by_option.or(by_type).map(|what| Warning {
        code: "compressing_file_system".to_owned(),
        text: format!(
            "The file system compresses ({what}). The data written here cannot be compressed, so compressible files \
             may do better than these figures."
        ),
    })
}

/// Most loads that a warning lists by name.
const NAMED_LOADS: usize = 3;

/// The warning that the intervals of some of `of` loads stayed too wide.
pub(crate) fn few_repeats(imprecise: &[String], of: usize, width_percent: f64) -> Warning {
    let named = imprecise.iter().take(NAMED_LOADS).map(String::as_str).collect::<Vec<_>>().join(", ");
    let more = if imprecise.len() > NAMED_LOADS { ", ..." } else { "" };
    Warning {
        code: "few_repeats".to_owned(),
        text: format!(
            "Time ran out before the interval of the median was within {width_percent:.0} % for {} of {of} loads \
             ({named}{more}). Allow more time or use a quieter machine.",
            imprecise.len(),
        ),
    }
}

/// The warning that writing loads reached the write limit.
pub(crate) fn write_limit(written_bytes: u64, limit_bytes: u64) -> Warning {
    Warning {
        code: "write_limit".to_owned(),
        text: format!(
            "Loads that write were repeated less often to limit flash wear: {} were written, and the limit is {}. \
             Allow more with --max-written.",
            format_bytes(written_bytes),
            format_bytes(limit_bytes)
        ),
    }
}

/// Directory of the user's data: XDG_DATA_HOME, its default below HOME, HOME, /data (Android), or the current
/// directory. `get` reads an environment variable.
#[must_use]
pub fn data_home(
    get: impl Fn(&str) -> Option<std::ffi::OsString>,
    is_dir: impl Fn(&Path) -> bool,
) -> std::path::PathBuf {
    let absolute = |name: &str| get(name).map(std::path::PathBuf::from).filter(|path| path.is_absolute());
    let home = absolute("HOME");
    [absolute("XDG_DATA_HOME"), home.as_ref().map(|home| home.join(".local/share")), home, Some("/data".into())]
        .into_iter()
        .flatten()
        .find(|path| path.parent().is_some() && is_dir(path))
        .unwrap_or_else(|| ".".into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_data_home_is_the_first_existing_directory() {
        let from = |vars: &[(&str, &str)], dirs: &[&str]| {
            data_home(
                |name| vars.iter().find(|(key, _)| *key == name).map(|(_, value)| (*value).into()),
                |path| dirs.iter().any(|dir| Path::new(dir) == path),
            )
        };
        let home = ("HOME", "/home/a");
        for (vars, dirs, place) in [
            (vec![home, ("XDG_DATA_HOME", "/x")], vec!["/x", "/home/a"], "/x"),
            (vec![home, ("XDG_DATA_HOME", "relative")], vec!["relative", "/home/a"], "/home/a"),
            (vec![home, ("XDG_DATA_HOME", "/gone")], vec!["/home/a", "/home/a/.local/share"], "/home/a/.local/share"),
            (vec![home], vec!["/home/a"], "/home/a"),
            (vec![("HOME", "/")], vec!["/", "/data"], "/data"),
            (vec![], vec![], "."),
        ] {
            assert_eq!(from(&vars, &dirs), Path::new(place), "{vars:?}");
        }
    }

    #[test]
    fn a_compressing_mount_is_named() {
        let environment = |options: &str, kind: &str| Environment {
            brisk_version: String::new(),
            commit: None,
            kernel: String::new(),
            architecture: String::new(),
            cpus: 1,
            path: String::new(),
            file_system: Some(kind.to_owned()),
            mount_options: Some(options.to_owned()),
            device: None,
            disks: Vec::new(),
        };
        assert!(compression_warning(&environment("rw,relatime", "ext4")).is_none());
        let warning = compression_warning(&environment("rw,compress=zstd:3", "btrfs")).expect("named");
        assert!(warning.text.contains("compress=zstd:3"));
        assert!(compression_warning(&environment("rw", "zfs")).is_some());
    }

    #[test]
    fn each_mount_option_is_listed_once() {
        let words = |text: &str| text.split(',').map(str::to_owned).collect::<Vec<_>>();
        assert_eq!(mount_options(&words("rw,noatime"), &words("rw,size=4k")), "rw,noatime,size=4k");
    }
}
