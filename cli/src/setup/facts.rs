//! What a set-up depends on, as this machine shows it.

use std::path::Path;
use std::process::Command;

use anyhow::Context as _;
use brisk_act::SwapPlaces;
use brisk_api::init::Init;
use brisk_api::{ClientError, Status};
use brisk_core::units::format_bytes;
use brisk_sense::{Resource, Sense};
use serde_json::Value;

use crate::status::Socket;

/// Where desktops name their sessions.
const SESSIONS: [&str; 2] = ["/usr/share/wayland-sessions", "/usr/share/xsessions"];
/// The program of the session, in the folder of this one.
const SESSION_PROGRAM: &str = "brisk-session";
/// Where systems keep what the kernel is started with, those first that have no other.
const COMMAND_LINES: [&str; 6] = [
    "/boot/firmware/cmdline.txt",
    "/boot/cmdline.txt",
    "/boot/armbianEnv.txt",
    "/boot/extlinux/extlinux.conf",
    "/etc/kernel/cmdline",
    "/etc/default/grub",
];

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
    /// Whether it starts with the machine; `None` without systemd.
    pub(super) is_enabled: Option<bool>,
    pub(super) swap: Swap,
    /// Whether the timer of the service that measures is on; `None` without timers.
    pub(super) is_timer_on: Option<bool>,
    /// What is not measured yet, by device; `None` where the daemon does not tell.
    pub(super) due: Option<Vec<String>>,
    pub(super) has_session_program: bool,
    pub(super) has_desktop: bool,
    pub(super) has_scheduler: bool,
    pub(super) has_emmc: bool,
    /// Words that the kernel has to be started with, for what it counts only then.
    pub(super) kernel_lacks: Vec<&'static str>,
    /// The file that these words stand in.
    pub(super) command_line: Option<&'static str>,
    /// Other programs that end apps.
    pub(super) other_killers: Vec<String>,
}

impl Facts {
    pub(super) fn read(socket: &Socket) -> anyhow::Result<Self> {
        let status: Result<Status, _> = socket.connect().and_then(|mut daemon| daemon.call("GetStatus", &[], "status"));
        let is_running = !matches!(status, Err(ClientError::NotRunning { .. }));
        let status = status.ok();
        let (sense, init) = (Sense::default(), Init::of_machine());
        let devices = status.as_ref().map(|status| status.devices.clone()).unwrap_or_default();
        let due = devices.iter().filter(|device| device.due().next().is_some());
        let due = due.map(|device| format!("{}: {}", device.name, device.due().collect::<Vec<_>>().join(", ")));
        let due = status.is_some().then(|| due.collect());
        let queues = sense.storage()?;
        let schedulers = queues.devices().iter().filter_map(|device| sense.block_queue(&device.name).ok());
        let own = std::env::current_exe().context("cannot find this program")?;
        let killers = status.iter().flat_map(|status| &status.memory_programs).filter(|program| program.ends_apps);
        Ok(Self {
            init,
            is_running,
            is_enabled: (init == Init::Systemd).then(|| systemctl(&["is-enabled", "briskd"])),
            swap: swap()?,
            is_timer_on: (init == Init::Systemd).then(|| systemctl(&["is-enabled", "brisk-tune.timer"])),
            due,
            has_session_program: own.with_file_name(SESSION_PROGRAM).exists(),
            has_desktop: SESSIONS
                .iter()
                .any(|dir| std::fs::read_dir(dir).is_ok_and(|mut files| files.next().is_some())),
            has_scheduler: schedulers.flat_map(|queue| queue.schedulers.available).any(|name| name == "smartio"),
            has_emmc: devices.iter().any(|device| device.kind == "emmc"),
            kernel_lacks: kernel_lacks(&sense)?,
            command_line: COMMAND_LINES.into_iter().find(|file| Path::new(file).exists()),
            other_killers: killers.map(|program| program.name.clone()).collect(),
        })
    }
}

/// What kernels of small boards have and leave off: Raspberry Pi OS's starts without the controller of memory, and some
/// build pressure so that it waits for a word.
fn kernel_lacks(sense: &Sense) -> anyhow::Result<Vec<&'static str>> {
    let groups = sense.cgroups()?;
    let counts_memory = groups.v2_with("memory").is_some() || groups.v1_with("memory").is_some();
    let has_pressure = sense.pressure(Resource::Memory).is_ok();
    Ok([("cgroup_enable=memory", counts_memory), ("psi=1", has_pressure)]
        .into_iter()
        .filter_map(|(word, is_there)| (!is_there).then_some(word))
        .collect())
}

fn systemctl(words: &[&str]) -> bool {
    Command::new("systemctl").args(words).arg("--quiet").status().is_ok_and(|status| status.success())
}

/// What 'brisk swap setup' says that it would make.
fn swap() -> anyhow::Result<Swap> {
    let own = std::env::current_exe().context("cannot find this program")?;
    if SwapPlaces::of_this_machine(own.clone()).record.exists() {
        return Ok(Swap::Made);
    }
    let output =
        Command::new(own).args(["swap", "setup", "--dry-run", "--json"]).output().context("cannot run brisk")?;
    let complaint = String::from_utf8_lossy(&output.stderr);
    match serde_json::from_slice(&output.stdout).ok().filter(|_| output.status.success()) {
        Some(plan) => Ok(Swap::Proposed(words(&plan))),
        None => Ok(Swap::Not(complaint.trim().trim_start_matches("brisk: ").replace('\n', " "))),
    }
}

/// The plan in plain words.
fn words(plan: &Value) -> String {
    let size = |name: &str| plan[name].as_u64().map(format_bytes);
    let path = plan["area"]["path"].as_str().unwrap_or("a file");
    let area = size("size_bytes").unwrap_or_default();
    let compressed = size("zram_bytes")
        .map_or_else(String::new, |size| format!(", and {size} of compressed memory (zram), which is filled first"));
    let wear = match size("written_bytes_per_day") {
        Some(size) => format!("wear: this machine swapped out {size} a day since its start"),
        None => "what goes to flash wears it: 'brisk monitor' shows how much that is".to_owned(),
    };
    format!("a swap area of {area} in {path}{compressed}; {wear}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_plan_for_swap_is_said_in_a_sentence() {
        let area = json!({ "kind": "file", "path": "/swapfile" });
        let unknown = json!({ "area": area, "size_bytes": 2u64 << 30, "zram_bytes": 512u64 << 20 });
        assert_eq!(
            words(&unknown),
            "a swap area of 2 GiB in /swapfile, and 512 MiB of compressed memory (zram), which is filled first; what \
             goes to flash wears it: 'brisk monitor' shows how much that is"
        );
        let known = json!({ "area": area, "size_bytes": 1u64 << 30, "written_bytes_per_day": 1u64 << 20 });
        assert_eq!(
            words(&known),
            "a swap area of 1 GiB in /swapfile; wear: this machine swapped out 1 MiB a day since its start"
        );
    }
}
