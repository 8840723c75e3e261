//! Commands of brisk as children, one after the other, each with a process group of its own.
//!
//! The terminal's Ctrl-C reaches this program alone, which passes it on once and waits: what a measurement has made
//! (groups, files) is removed by the measurement itself.

use std::io::Read as _;
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use anyhow::{Context as _, bail};
use brisk_command::lab;
use brisk_program::child::{Signal, end_with_parent};
use rustix::process::{Pid, kill_process};

/// How often the stop flag is polled.
const POLL: Duration = Duration::from_millis(100);

/// How a command ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ended {
    /// With this exit code.
    Code(i32),
    /// It was asked to, as this program was.
    Stopped,
}

/// Runs a command of brisk and waits for it; its error output goes to that of this program.
///
/// # Errors
/// When it cannot be started.
pub(super) fn run(words: &[String], stop: &AtomicBool) -> anyhow::Result<Ended> {
    wait(start(words, Stdio::null())?, stop)
}

/// The same, with what it printed.
///
/// # Errors
/// When it cannot be started, or its output cannot be read.
pub(super) fn printed(words: &[String], stop: &AtomicBool) -> anyhow::Result<(Ended, String)> {
    let mut child = start(words, Stdio::piped())?;
    let mut text = String::new();
    if let Some(mut output) = child.stdout.take() {
        output.read_to_string(&mut text).with_context(|| format!("cannot read what '{}' printed", words.join(" ")))?;
    }
    Ok((wait(child, stop)?, text))
}

fn start(words: &[String], output: Stdio) -> anyhow::Result<Child> {
    let program = program(words)?;
    let mut command = Command::new(&program);
    command.args(&words[1..]).stdin(Stdio::null()).stdout(output).process_group(0);
    end_with_parent(&mut command, Signal::TERM);
    command.spawn().with_context(|| format!("cannot run {}", program.display()))
}

fn wait(mut child: Child, stop: &AtomicBool) -> anyhow::Result<Ended> {
    let mut asked = false;
    loop {
        if let Some(status) = child.try_wait().context("cannot wait for a command")? {
            let code = status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or_default());
            return Ok(if asked { Ended::Stopped } else { Ended::Code(code) });
        }
        if !asked && stop.load(Ordering::Relaxed) {
            asked = true;
            if let Some(pid) = Pid::from_raw(child.id().cast_signed()) {
                // Where it has ended meanwhile, the next round sees that.
                let _ = kill_process(pid, Signal::INT);
            }
        }
        std::thread::sleep(POLL);
    }
}

/// The program of a command: this one, or `brisk` beside it.
fn program(words: &[String]) -> anyhow::Result<PathBuf> {
    let own = std::env::current_exe().context("cannot tell where this program is")?;
    if words.first().is_none_or(|word| word != "brisk") {
        bail!("'{}' is no command of brisk", words.join(" "));
    }
    if lab::called(&words[1..]).is_some() {
        return Ok(own);
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    let beside = own.parent().map(|dir| dir.join("brisk")).into_iter();
    let mut places = beside.chain(std::env::split_paths(&path).map(|dir| dir.join("brisk")));
    places.find(|place| Path::is_file(place)).with_context(|| {
        format!(
            "'{}' needs the program brisk, which is neither beside {} nor in PATH: install the package brisk, or in a \
             source tree run: make build",
            words.join(" "),
            own.display()
        )
    })
}
