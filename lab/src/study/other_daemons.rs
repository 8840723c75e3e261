//! Daemons on this machine that manage the device of an emulated phone and are not the one under measurement.
//!
//! Such a briskd changes the device's settings during launches that are to be without brisk, and keeps the measured
//! daemon from changing them: a proof is refused, other measurements warn. Every running briskd has the lock file of
//! its run folder open; by this it is found, whatever its run folder is, and asked over its socket there. A default
//! configuration leaves devices of emulated phones alone.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::phone::Phone;
use crate::results::Warning;
use brisk_api::{Client, ClientError, SOCKET, Status};
use brisk_core::causes::in_one_line;
use brisk_daemon::config::{Config, Devices};
use brisk_sense::Sense;

/// Name of the lock file in a run folder, and as the kernel shows it when the folder was removed.
const LOCK: [&str; 2] = ["briskd.lock", "briskd.lock (deleted)"];

/// Time for a daemon that has just started to open its socket, or that ends to be gone.
const START_TIMEOUT: Duration = Duration::from_secs(3);
const POLL_INTERVAL: Duration = Duration::from_millis(20);

/// A warning for each daemon that manages the device of `phone`, for reports.
///
/// # Errors
/// As [`of_phone`].
pub(crate) fn warnings(sense: &Sense, phone: &Phone) -> anyhow::Result<Vec<Warning>> {
    let warning = |text: String| Warning { code: "other_daemon".to_owned(), text: format!("{text}.") };
    Ok(of_phone(sense, phone)?.into_iter().map(warning).collect())
}

/// A sentence on each daemon that manages the device of `phone`, or cannot be asked, with the remedy; not on one whose
/// run folder is the phone's own.
///
/// # Errors
/// When the phone has no device, or the processes of the machine cannot be listed.
pub(crate) fn of_phone(sense: &Sense, phone: &Phone) -> anyhow::Result<Vec<String>> {
    let disk = phone.device()?.file_name().unwrap_or_default().to_string_lossy().into_owned();
    of_device(sense, &disk, &phone.daemon_dir())
}

/// The same for a disk and a run folder.
fn of_device(sense: &Sense, disk: &str, own: &Path) -> anyhow::Result<Vec<String>> {
    let own = own.canonicalize().unwrap_or_else(|_| own.to_owned());
    let mut found = Vec::new();
    for pid in sense.process_ids()? {
        let Some(lock) = lock_of(sense, pid) else { continue };
        let Some(run_dir) = lock.parent().filter(|run_dir| *run_dir != own) else { continue };
        found.extend(conflict(sense, pid, run_dir, disk));
    }
    Ok(found)
}

/// The lock file that a process has open.
fn lock_of(sense: &Sense, pid: u32) -> Option<PathBuf> {
    // A process that ends meanwhile has no files.
    let files = sense.open_files(pid).ok().flatten().unwrap_or_default();
    files.into_iter().find(|file| LOCK.iter().any(|name| file.file_name() == Some(OsStr::new(name))))
}

/// Why the daemon `pid` is in the way; `None` when it leaves `disk` alone.
fn conflict(sense: &Sense, pid: u32, run_dir: &Path, disk: &str) -> Option<String> {
    let who = format!("briskd (process {pid}, run folder {})", run_dir.display());
    // By the process's own root, as the daemon may have another view of the file system.
    let root = PathBuf::from(format!("/proc/{pid}/root"));
    let inside = |path: &Path| root.join(path.strip_prefix("/").unwrap_or(path));
    let ask = || {
        Client::connect(&inside(run_dir).join(SOCKET))
            .or_else(|_| Client::connect(&run_dir.join(SOCKET)))
            .and_then(|mut client| client.call::<Status>("GetStatus", &[], "status"))
    };
    let deadline = Instant::now() + START_TIMEOUT;
    let asked = loop {
        let asked = ask();
        let may_start = matches!(asked, Err(ClientError::NotRunning { .. } | ClientError::Broken { .. }));
        if !may_start || lock_of(sense, pid).is_none() || Instant::now() >= deadline {
            break asked;
        }
        std::thread::sleep(POLL_INTERVAL);
    };
    let status = match asked {
        Ok(status) => status,
        // It ended while it was asked.
        Err(_) if lock_of(sense, pid).is_none() => return None,
        Err(error) => {
            return Some(format!(
                "{who} may manage {disk}, the phone's device, and cannot be asked ({}); end it: kill {pid}",
                in_one_line(&error)
            ));
        }
    };
    let listed = || {
        let config = Config::load(&inside(Path::new(&status.config_path)), true).ok();
        config.is_some_and(|(config, _)| match config.daemon.devices {
            Devices::These(names) => names.iter().any(|name| name == disk),
            Devices::Auto => false,
        })
    };
    let manages = status.devices.iter().any(|device| device.name == disk) || listed();
    (manages && !status.dry_run).then(|| {
        format!(
            "{who} manages {disk} too, which is the phone's device, so that its settings would be measured as well; \
             end it (kill {pid}), or take {disk} out of 'devices' in {} and run brisk config reload",
            status.config_path
        )
    })
}

#[cfg(test)]
mod tests {
    use std::io::{BufRead as _, BufReader, Read as _};
    use std::process::{Child, Command, Stdio};

    use super::*;

    /// Set for this test program when it is to be a daemon: its folder.
    const DAEMON: &str = "BRISK_TEST_DAEMON";

    #[test]
    #[ignore = "runs a daemon until another test ends it"]
    fn daemon_of_another() {
        let dir = PathBuf::from(std::env::var(DAEMON).expect("set by the test that starts this"));
        let options = brisk_daemon::daemon::Options {
            config_path: dir.join("brisk.toml"),
            or_default: false,
            run_dir: dir.join("run"),
            profiles_dir: dir.join("profiles"),
            learned_dir: dir.join("learned"),
            memory_group: None,
            dry_run: dir.join("dry").exists(),
            once: false,
            foreground: false,
        };
        let daemon = brisk_daemon::daemon::Daemon::start(options).expect("it starts");
        std::thread::spawn(|| {
            let _ = std::io::stdin().read(&mut [0]);
            std::process::exit(0);
        });
        println!("\nstarted");
        daemon.run().expect("it ends");
    }

    /// A daemon of another run folder whose configuration lists `devices`; killed when dropped.
    struct Daemon(Child);

    impl Daemon {
        fn start(dir: &Path, devices: &str) -> Self {
            let record = dir.join("record");
            let config = format!(
                "[daemon]\ndevices = {devices}\nsocket_group = \"\"\nrecord = {{ path = {record:?}, max_bytes = 0 }}\n\
                 [engines]\norder = []\n"
            );
            std::fs::write(dir.join("brisk.toml"), config).expect("written");
            let mut command = Command::new(std::env::current_exe().expect("this program"));
            command.args(["--ignored", "--exact", "study::other_daemons::tests::daemon_of_another", "--nocapture"]);
            command.env(DAEMON, dir).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
            let mut child = command.spawn().expect("it starts");
            let mut lines = BufReader::new(child.stdout.take().expect("a pipe")).lines().map_while(Result::ok);
            let _limit = brisk_requires::killed_late(child.id(), "a daemon that starts");
            assert!(lines.any(|line| line == "started"), "the daemon starts");
            Self(child)
        }
    }

    impl Drop for Daemon {
        fn drop(&mut self) {
            let _ = self.0.kill();
            let _ = self.0.wait();
        }
    }

    fn of(disk: &str, pid: u32, own: &Path) -> Vec<String> {
        let mut found = of_device(&Sense::default(), disk, own).expect("processes are listed");
        // Other tests and people may run daemons.
        found.retain(|what| what.contains(&format!("process {pid},")));
        found
    }

    #[test]
    fn a_daemon_that_lists_the_device_is_named_with_its_process_and_a_remedy() {
        brisk_requires::requires!(Root);
        let dir = tempfile::tempdir().expect("a directory");
        let none = Path::new("/no/such/folder");
        // No such device exists yet: it would be managed as soon as it comes.
        let daemon = Daemon::start(dir.path(), "[\"loop7654\"]");
        let pid = daemon.0.id();
        let said = of("loop7654", pid, none);
        let remedy = format!("(kill {pid})");
        assert!(said.len() == 1 && said[0].contains(&remedy) && said[0].contains("brisk config reload"), "{said:?}");
        assert_eq!(of("loop7655", pid, none), [""; 0], "another device");
        assert_eq!(of("loop7654", pid, &dir.path().join("run")), [""; 0], "the measured daemon itself");
        std::fs::remove_file(dir.path().join("run").join(SOCKET)).expect("a socket");
        let said = of("loop7654", pid, none);
        assert!(said.len() == 1 && said[0].contains("cannot be asked"), "{said:?}");
        // As an earlier version left one whose phone it removed.
        std::fs::remove_dir_all(dir.path().join("run")).expect("a folder");
        assert_eq!(of("loop7654", pid, none), said);
    }

    #[test]
    fn a_daemon_that_leaves_the_device_alone_is_in_no_ones_way() {
        brisk_requires::requires!(Root);
        let none = Path::new("/no/such/folder");
        let dir = tempfile::tempdir().expect("a directory");
        let daemon = Daemon::start(dir.path(), "[]");
        assert_eq!(of("loop7654", daemon.0.id(), none), [""; 0]);
        drop(daemon);
        let dir = tempfile::tempdir().expect("a directory");
        std::fs::write(dir.path().join("dry"), "").expect("written");
        let daemon = Daemon::start(dir.path(), "[\"loop7654\"]");
        assert_eq!(of("loop7654", daemon.0.id(), none), [""; 0], "a dry run changes nothing");
    }
}
