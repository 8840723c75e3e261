//! The daemon's program, for what measures it.

use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail};
use brisk_program::child::{Signal, end_with_parent};

/// Time limit of a program for its version.
const VERSION_TIMEOUT: Duration = Duration::from_secs(10);
const POLL_INTERVAL: Duration = Duration::from_millis(5);

/// The daemon's program: the one that was named, or that beside this program or in PATH.
///
/// # Errors
/// When there is none, or it is another program.
pub(crate) fn find(chosen: Option<&Path>) -> anyhow::Result<PathBuf> {
    if let Some(path) = chosen {
        if !path.is_file() {
            bail!("{} is no program", path.display());
        }
        check_program(path)?;
        return Ok(path.to_owned());
    }
    let in_own_dir = std::env::current_exe().ok().and_then(|own| Some(own.parent()?.join("briskd")));
    let path = std::env::var_os("PATH").unwrap_or_default();
    let in_path = std::env::split_paths(&path).map(|dir| dir.join("briskd"));
    let mut places = in_own_dir.into_iter().chain(in_path);
    let found = places.find(|place| place.is_file()).context(
        "briskd is neither in the directory of this program nor in PATH: it is measured (build it: cargo build \
         --release --workspace; or name it with --briskd)",
    )?;
    check_program(&found)?;
    Ok(found)
}

/// Checks that a program says that it is briskd.
fn check_program(program: &Path) -> anyhow::Result<()> {
    let mut command = Command::new(program);
    command.arg("--version").stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
    end_with_parent(&mut command, Signal::KILL);
    let mut child = command.spawn().with_context(|| format!("cannot run {}", program.display()))?;
    let deadline = Instant::now() + VERSION_TIMEOUT;
    let ended = loop {
        let ended = child.try_wait().with_context(|| format!("cannot run {}", program.display()))?;
        if ended.is_some() || Instant::now() >= deadline {
            break ended.is_some();
        }
        std::thread::sleep(POLL_INTERVAL);
    };
    if !ended {
        child.kill().and_then(|()| child.wait()).with_context(|| format!("cannot end {}", program.display()))?;
    }
    let mut said = Vec::new();
    if let Some(output) = child.stdout.take() {
        // What cannot be read is not what briskd says.
        let _ = output.take(1024).read_to_end(&mut said);
    }
    let said = String::from_utf8_lossy(&said);
    if !said.starts_with("briskd ") {
        let said = said.lines().next().unwrap_or_default();
        bail!("{} is not briskd: asked for its --version, it said '{said}'", program.display());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_daemon_is_reported() {
        assert!(find(Some(Path::new("/no/such/briskd"))).is_err());
    }

    #[test]
    fn another_program_is_not_the_daemon() {
        let said = check_program(Path::new("/bin/cat")).expect_err("cat").to_string();
        assert!(said.contains("/bin/cat is not briskd"), "{said}");
    }
}
