//! What a set-up depends on, as this machine shows it.

use std::path::Path;
use std::process::Command;

use anyhow::Context as _;
use brisk_act::SwapPlaces;
use brisk_api::Status;
use brisk_api::init::Init;
use brisk_sense::Sense;

use crate::status::Socket;

/// Where desktops name their sessions.
const SESSIONS: [&str; 2] = ["/usr/share/wayland-sessions", "/usr/share/xsessions"];
const SESSION_PROGRAM: &str = "/usr/bin/brisk-session";

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Swap {
    /// By brisk, earlier.
    Made,
    /// What 'brisk swap setup' would make.
    Proposed(String),
    /// Why it would make nothing.
    Not(String),
}

#[derive(Debug, Clone, PartialEq)]
pub(super) struct Facts {
    pub(super) init: Init,
    pub(super) is_running: bool,
    pub(super) swap: Swap,
    /// Whether the timer of the service that measures is on; `None` without timers.
    pub(super) is_timer_on: Option<bool>,
    /// What is not measured yet, by device.
    pub(super) due: Vec<String>,
    pub(super) has_session_program: bool,
    pub(super) has_desktop: bool,
    pub(super) has_scheduler: bool,
    pub(super) has_emmc: bool,
    /// Other programs that end apps.
    pub(super) other_killers: Vec<String>,
}

impl Facts {
    pub(super) fn read(socket: &Socket) -> anyhow::Result<Self> {
        let status: Option<Status> =
            socket.connect().and_then(|mut daemon| daemon.call("GetStatus", &[], "status")).ok();
        let (sense, init) = (Sense::default(), Init::of_machine());
        let devices = status.as_ref().map(|status| status.devices.clone()).unwrap_or_default();
        let due = devices.iter().filter(|device| device.due().next().is_some());
        let due = due.map(|device| format!("{}: {}", device.name, device.due().collect::<Vec<_>>().join(", ")));
        let queues = sense.storage()?;
        let schedulers = queues.devices().iter().filter_map(|device| sense.block_queue(&device.name).ok());
        let killers = status.iter().flat_map(|status| &status.memory_programs).filter(|program| program.ends_apps);
        Ok(Self {
            init,
            is_running: status.is_some(),
            swap: swap()?,
            is_timer_on: (init == Init::Systemd).then(|| systemctl(&["is-enabled", "brisk-tune.timer"])),
            due: due.collect(),
            has_session_program: Path::new(SESSION_PROGRAM).exists(),
            has_desktop: SESSIONS
                .iter()
                .any(|dir| std::fs::read_dir(dir).is_ok_and(|mut files| files.next().is_some())),
            has_scheduler: schedulers.flat_map(|queue| queue.schedulers.available).any(|name| name == "smartio"),
            has_emmc: devices.iter().any(|device| device.kind == "emmc"),
            other_killers: killers.map(|program| program.name.clone()).collect(),
        })
    }
}

fn systemctl(words: &[&str]) -> bool {
    Command::new("systemctl").args(words).arg("--quiet").status().is_ok_and(|status| status.success())
}

/// Whether a line says what is made, or what it costs.
fn is_of_plan(line: &str) -> bool {
    line.starts_with('/') || line.starts_with("Wear: ") || line.starts_with("zram: ") && line != "zram: none"
}

/// What 'brisk swap setup' says that it would make.
fn swap() -> anyhow::Result<Swap> {
    let own = std::env::current_exe().context("cannot find this program")?;
    if SwapPlaces::of_this_machine(own.clone()).record.exists() {
        return Ok(Swap::Made);
    }
    let output = Command::new(own).args(["swap", "setup", "--dry-run"]).output().context("cannot run brisk")?;
    let (said, complaint) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    Ok(match output.status.success() {
        true => Swap::Proposed(said.lines().filter(|line| is_of_plan(line)).collect::<Vec<_>>().join(". ")),
        false => Swap::Not(complaint.trim().trim_start_matches("brisk: ").replace('\n', " ")),
    })
}
