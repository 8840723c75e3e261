//! Where the daemon's files are: all paths that it has without being told derive from here.
//!
//! | what | in general | of a daemon with a run directory of its own |
//! |---|---|---|
//! | configuration | `/etc/brisk/brisk.toml` | the same |
//! | lock, socket, journals | `/run/brisk` | that directory |
//! | record, what was learned | `/var/lib/brisk` | that directory |
//! | profiles of devices, which the daemon only reads | `/var/lib/brisk/profiles` | the same |
//!
//! Systems without these folders, such as Android, name others in the environment: `BRISK_CONFIG` the configuration's
//! file, `BRISK_RUN_DIR` the run directory, `BRISK_STATE_DIR` that of record and what was learned, `BRISK_PROFILES`
//! that of profiles. The run directory has to be on a file system that a restart of the system empties: what it says
//! of settings is of those that the kernel has now.
//!
//! So a second daemon, such as a dry run beside the service, writes nothing that the first one has.

use std::path::{Path, PathBuf};

/// Where lock, socket and journals are.
pub const RUN: &str = "/run/brisk";
/// What stays after a restart.
pub const STATE: &str = "/var/lib/brisk";
/// Profiles of devices.
pub const PROFILES: &str = "/var/lib/brisk/profiles";
/// What `brisk setup` did.
pub const SETUP: &str = "/var/lib/brisk/setup.json";
/// The configuration.
pub const CONFIG: &str = "/etc/brisk/brisk.toml";
/// Name of the socket, in the run directory.
pub const SOCKET: &str = "briskd.varlink";
/// The socket of sessions in it: users of active sessions tell there which app is in front.
pub const SESSION_SOCKET: &str = "session.varlink";
/// Name of the journal, in the run directory.
pub const JOURNAL: &str = "briskd";
/// Folder of what was learned.
const LEARNED: &str = "learned";
/// Name of the record.
const RECORD: &str = "daemon.brisk";

/// Where lock, socket and journals are: as chosen, else as the environment says (`BRISK_RUN_DIR`), else [`RUN`].
#[must_use]
pub fn run_dir(chosen: Option<PathBuf>) -> PathBuf {
    chosen.unwrap_or_else(|| of_environment("BRISK_RUN_DIR", RUN))
}

/// The configuration: as the environment says (`BRISK_CONFIG`), else [`CONFIG`].
#[must_use]
pub fn config() -> PathBuf {
    of_environment("BRISK_CONFIG", CONFIG)
}

/// Profiles of devices: as the environment says (`BRISK_PROFILES`), else [`PROFILES`].
#[must_use]
pub fn profiles() -> PathBuf {
    of_environment("BRISK_PROFILES", PROFILES)
}

fn of_environment(variable: &str, otherwise: impl AsRef<Path>) -> PathBuf {
    std::env::var_os(variable)
        .filter(|path| !path.is_empty())
        .map_or_else(|| otherwise.as_ref().to_owned(), PathBuf::from)
}

/// What stays after a restart of the daemon with this run directory: as the environment says (`BRISK_STATE_DIR`), else
/// [`STATE`], or the run directory where that is not [`RUN`].
fn state(run_dir: &Path) -> PathBuf {
    let otherwise = if run_dir == Path::new(RUN) { Path::new(STATE) } else { run_dir };
    of_environment("BRISK_STATE_DIR", otherwise)
}

/// Where what engines have learned is.
#[must_use]
pub fn learned(run_dir: &Path) -> PathBuf {
    state(run_dir).join(LEARNED)
}

/// Where the session is recorded unless the configuration names another file.
#[must_use]
pub fn record(run_dir: &Path) -> PathBuf {
    state(run_dir).join(RECORD)
}
