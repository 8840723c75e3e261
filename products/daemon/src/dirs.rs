//! Where the daemon's files are: all paths that it has without being told derive from here.
//!
//! | what | in general | of a daemon with a run directory of its own |
//! |---|---|---|
//! | configuration | `/etc/brisk/brisk.toml` | the same |
//! | lock, socket, journals | `/run/brisk` | that directory |
//! | record, what was learned | `/var/lib/brisk` | that directory |
//! | profiles of devices, which the daemon only reads | `/var/lib/brisk/profiles` | the same |
//!
//! So a second daemon, such as a dry run beside the service, writes nothing that the first one has.

use std::path::{Path, PathBuf};

use crate::config::{Config, Record};

/// Where lock, socket and journals are.
pub const RUN: &str = "/run/brisk";
/// What stays after a restart.
pub const STATE: &str = "/var/lib/brisk";
/// Profiles of devices.
pub const PROFILES: &str = "/var/lib/brisk/profiles";
/// Name of the record, and of the folder of what was learned.
const RECORD: &str = "daemon.brisk";
const LEARNED: &str = "learned";

/// Where lock, socket and journals are: as chosen, else as the environment says (`BRISK_RUN_DIR`), else [`RUN`].
#[must_use]
pub fn run_dir(chosen: Option<PathBuf>) -> PathBuf {
    let of_environment = || std::env::var_os("BRISK_RUN_DIR").filter(|dir| !dir.is_empty()).map(PathBuf::from);
    chosen.or_else(of_environment).unwrap_or_else(|| RUN.into())
}

/// What stays after a restart of the daemon with this run directory.
#[must_use]
pub fn state(run_dir: &Path) -> &Path {
    if run_dir == Path::new(RUN) { Path::new(STATE) } else { run_dir }
}

/// Where what engines have learned is.
#[must_use]
pub fn learned(run_dir: &Path) -> PathBuf {
    state(run_dir).join(LEARNED)
}

/// The record of the daemon with this run directory. A path in a configuration that was named on the command line is meant for this
/// daemon, and any other for that of the service.
#[must_use]
pub fn record(config: &Config, run_dir: &Path, config_is_named: bool) -> Record {
    let Record { path, max_bytes } = config.daemon.record.clone();
    let is_for_service = !config_is_named || path == Record::default().path;
    let path = if is_for_service && run_dir != Path::new(RUN) { state(run_dir).join(RECORD) } else { path };
    Record { path, max_bytes }
}

/// The record of the service.
pub(crate) fn record_of_service() -> PathBuf {
    Path::new(STATE).join(RECORD)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_daemon_with_a_directory_of_its_own_has_all_that_it_writes_there() {
        let own = Path::new("/tmp/own");
        let with = |path: &str| {
            let mut config = Config::default();
            config.daemon.record.path = path.into();
            config
        };
        let path = |config: &Config, run_dir: &Path, is_named| record(config, run_dir, is_named).path;
        let default = Config::default();
        assert_eq!(learned(own), own.join("learned"));
        assert_eq!(path(&default, own, false), own.join("daemon.brisk"));
        assert_eq!(path(&default, own, true), own.join("daemon.brisk"));
        // The service's configuration names the service's record.
        assert_eq!(path(&with("/srv/day.brisk"), own, false), own.join("daemon.brisk"));
        assert_eq!(path(&with("/srv/day.brisk"), own, true), Path::new("/srv/day.brisk"));
        // The service.
        let run = Path::new(RUN);
        assert_eq!(learned(run), Path::new("/var/lib/brisk/learned"));
        assert_eq!(path(&default, run, false), Path::new("/var/lib/brisk/daemon.brisk"));
        assert_eq!(path(&with("/srv/day.brisk"), run, false), Path::new("/srv/day.brisk"));
        assert!(Path::new(PROFILES).starts_with(STATE));
    }
}
