//! Removal of a device, with a live or a dead server.
//!
//! Only resources of this device are changed: a loop device whose backing file, as reported by the kernel, is in this
//! device's directory, or a ublk device with its mark; file systems and swap (also files) on that block device, only
//! with force; the mount in that directory. The order matters: settings while the block device exists, the loop device
//! while its file can be named, block device and mount while the server answers, the directory last.
//!
//! Without force, a device that is in use is refused before anything is changed, and the refusal can be repeated.

use std::fs::File;
use std::io::ErrorKind;
use std::path::Path;
use std::time::{Duration, Instant};

use brisk_act::{BlockQueue, Journal, Paths};
use brisk_core::causes::in_one_line;
use brisk_profile::lab_client::control::{Connection, FaultOrder, ServerCommand};
use brisk_profile::lab_client::state::{Record, StateDir, Transport};
use brisk_sense::Sense;

use crate::device::backend::own_ublk_devices;
use crate::device::error::{Error, Result, io as failed};
use crate::device::{fuse, loopdev, ublk};

#[derive(Clone, Copy)]
pub(crate) struct Machine<'a> {
    pub(crate) sense: &'a Sense,
    pub(crate) paths: &'a Paths,
}

/// Time limit of the kernel for releasing an unused resource.
const RELEASE_TIMEOUT: Duration = Duration::from_secs(5);
const POLL_INTERVAL: Duration = Duration::from_millis(5);
/// Between two attempts to detach a device that was open.
const CLAIM_INTERVAL: Duration = Duration::from_millis(50);

/// Removes all resources of a device; with `force` even when it is in use. Returns messages on obstacles.
pub(crate) fn take_down(machine: Machine<'_>, dir: &StateDir, force: bool) -> Result<Vec<String>> {
    let mut words = Vec::new();
    let Some(_one_at_a_time) = dir.lock_changes().map_err(failed("lock the device"))? else { return Ok(words) };
    let (dead, mut client) = match server(dir)? {
        Server::Dead(lock) => (Some(lock), None),
        Server::Answers(client) => (None, Some(client)),
    };
    let way = dir.way();
    match way {
        Transport::Fuse => remove_loop_device(machine, dir, force, dead.is_some(), &mut words)?,
        Transport::Ublk { mark } => stop_ublk_device(machine, dir, mark, force, client.as_mut(), &mut words)?,
    }
    end(dir, client, dead)?;
    if let Transport::Ublk { mark } = way {
        remove_ublk_device(mark, &mut words)?;
    }
    dir.remove().map_err(failed(format!("remove {}", dir.path().display())))?;
    Ok(words)
}

/// Detaches the loop device and unmounts its file.
fn remove_loop_device(
    machine: Machine<'_>,
    dir: &StateDir,
    force: bool,
    is_dead: bool,
    words: &mut Vec<String>,
) -> Result<()> {
    let force = force || is_dead;
    let file = dir.backing_file();
    let carriers = loopdev::carriers(machine.sense, &file)?;
    let file_system = dir.load().and_then(|record| record.file_system);
    for name in &carriers {
        release(machine, name, file_system, force, is_dead, words)?;
    }
    let unmounted = unmounted_carrier(machine, dir)?;
    if let Some(name) = &unmounted {
        release(machine, name, file_system, force, is_dead, words)?;
    }
    // An unused device is released by the kernel when the last of these is dropped.
    let mut claimed = Vec::new();
    if !force {
        for name in carriers.iter().chain(&unmounted) {
            claimed.push(claim(machine, name, file_system)?);
        }
    }
    restore_queue(machine, dir, unmounted.as_deref(), words)?;
    drop(claimed);
    if force {
        for name in carriers.iter().chain(&unmounted) {
            loopdev::detach(name, file_system).map_err(failed(format!("detach /dev/{name}")))?;
        }
    }
    let gone = || {
        loopdev::carriers(machine.sense, &file).is_ok_and(|left| left.is_empty())
            && unmounted_carrier(machine, dir).is_ok_and(|left| left.is_none())
    };
    if !wait_until(gone) {
        let device = carriers.first().map_or_else(String::new, |name| format!("/dev/{name}"));
        words.push(format!("{device} is still open in some process and goes away when that process closes it"));
    }
    unmount(dir, force)
}

/// Takes an unused loop device out of use: no process can open it from here on, and it is detached when the result is
/// dropped. One that is open stays as it is, after a time in which a program that only examines new devices has closed
/// it.
fn claim(machine: Machine<'_>, name: &str, file_system: Option<u64>) -> Result<File> {
    let deadline = Instant::now() + RELEASE_TIMEOUT;
    loop {
        let users = loopdev::users(machine.sense, name)?;
        // Not tried while a user is known, as each attempt stops the device's queue for a moment.
        if users.is_empty()
            && let Some(claimed) =
                loopdev::detach_if_unused(name, file_system).map_err(failed(format!("detach /dev/{name}")))?
        {
            return Ok(claimed);
        }
        if Instant::now() >= deadline {
            let by =
                if users.is_empty() { "a process that is not visible from here".to_owned() } else { users.join(", ") };
            return Err(Error::Busy {
                device: loopdev::node(name).display().to_string(),
                by: Some(format!("open in {by}")),
                remedy: "close it first, or remove it with --force".to_owned(),
            });
        }
        std::thread::sleep(CLAIM_INTERVAL);
    }
}

/// Whether `name` is the loop device that the device of `record` had, and carries nothing else by now.
pub(crate) fn had_loop_device(sense: &Sense, record: &Record, name: &str) -> bool {
    record.loop_name.as_deref() == Some(name)
        && match (sense.loop_backing(name), record.file_system) {
            (Ok(None), _) => true,
            (Ok(Some(_)), Some(number)) => loopdev::carries_unmounted(sense, name, number).unwrap_or(false),
            _ => false,
        }
}

/// Stops the ublk device, which removes its block device. Pending requests complete at once. A process that has the
/// block device open, which the kernel does not report, gets errors from then on.
fn stop_ublk_device(
    machine: Machine<'_>,
    dir: &StateDir,
    mark: u64,
    force: bool,
    client: Option<&mut Connection>,
    words: &mut Vec<String>,
) -> Result<()> {
    let own = own_ublk_devices(mark)?;
    if let Some(client) = client {
        for own in own.iter().filter(|own| own.live) {
            release(machine, &own.name(), None, force, false, words)?;
        }
        client.order(&ServerCommand::Fault(FaultOrder::Clear))?;
        client.order(&ServerCommand::Set { parameters: Vec::new(), timed: Some(false), reset_counters: false })?;
    }
    restore_queue(machine, dir, None, words)?;
    for own in own {
        ublk::Control::open()?.stop(own)?;
        release_vanished(machine, dir, own, words)?;
    }
    Ok(())
}

/// Unmounts file systems from a block device that the kernel removed when its server died.
fn release_vanished(machine: Machine<'_>, dir: &StateDir, own: ublk::Own, words: &mut Vec<String>) -> Result<()> {
    let Some(device) = dir.load().and_then(|record| record.ublk_number) else { return Ok(()) };
    let node = loopdev::node(&own.name());
    // The number may have been reused, but not while a file system of the removed device has it.
    let vanished = machine.sense.block_device(&own.name()).is_err();
    for mount in
        machine.sense.mounts()?.iter().filter(|mount| vanished && mount.device == device && mount.source == node)
    {
        fuse::unmount(&mount.mount_point, true).map_err(failed(format!("unmount {}", mount.mount_point.display())))?;
        words.push(format!("{} was unmounted from {}", node.display(), mount.mount_point.display()));
    }
    Ok(())
}

/// Removes the ublk device after its server has ended.
fn remove_ublk_device(mark: u64, words: &mut Vec<String>) -> Result<()> {
    for own in own_ublk_devices(mark)? {
        if !ublk::Control::open()?.delete(own)? {
            words.push(format!(
                "/dev/{} is still open in some process and goes away when that process closes it",
                own.name()
            ));
        }
    }
    Ok(())
}

/// The loop device that is still attached to the lab's file after an external unmount.
fn unmounted_carrier(machine: Machine<'_>, dir: &StateDir) -> Result<Option<String>> {
    let Some((name, file_system)) = dir.load().and_then(|record| record.loop_name.zip(record.file_system)) else {
        return Ok(None);
    };
    Ok(loopdev::carries_unmounted(machine.sense, &name, file_system)?.then_some(name))
}

/// State of a device's server.
enum Server {
    /// Dead; this process now holds its lock.
    Dead(File),
    Answers(Connection),
}

/// Determines whether the server is alive. A server that holds its lock but does not listen is about to start or to
/// end, which is resolved soon by waiting. A server that does not answer is an error: the kernel must not wait for it
/// either.
fn server(dir: &StateDir) -> Result<Server> {
    let mut found = Err(Error::NoSuchDevice(dir.id.to_string()));
    wait_until(|| {
        found = match dir.lock_if_free().map_err(failed("lock the lab server")) {
            Ok(Some(lock)) => Ok(Server::Dead(lock)),
            Ok(None) => answering_server(dir).map(Server::Answers),
            Err(error) => Err(error),
        };
        !matches!(&found, Err(Error::Client(brisk_profile::lab_client::Error::Io { source, .. }))
            if matches!(source.kind(), ErrorKind::NotFound | ErrorKind::ConnectionRefused))
    });
    found
}

fn answering_server(dir: &StateDir) -> Result<Connection> {
    let mut client = Connection::open(&dir.socket())?;
    client.status().map_err(|error| {
        let pid = dir.load().and_then(|record| record.server_pid).map_or_else(|| "?".to_owned(), |pid| pid.to_string());
        let remedy = format!("end it with: kill -9 {pid}, and repeat this command");
        Error::Server { id: dir.id, reason: format!("{}; {remedy}", in_one_line(&error)) }
    })?;
    Ok(client)
}

/// Ensures that the block device is unused.
fn release(
    machine: Machine<'_>,
    name: &str,
    file_system: Option<u64>,
    force: bool,
    is_dead: bool,
    words: &mut Vec<String>,
) -> Result<()> {
    let held = |name| loopdev::is_held(name, file_system).map_err(failed(format!("examine /dev/{name}")));
    if !held(name)? {
        return Ok(());
    }
    let node = loopdev::node(name);
    let device = machine.sense.block_device(name)?.device;
    let mounts: Vec<_> = machine.sense.mounts()?.into_iter().filter(|mount| mount.device == device).collect();
    let is_on_it = |area: &Path| area == node || mounts.iter().any(|mount| area.starts_with(&mount.mount_point));
    let mut areas: Vec<_> = machine.sense.swaps().unwrap_or_default().into_iter().map(|swap| swap.path).collect();
    areas.retain(|area| is_on_it(area));
    if !force {
        let by = match mounts.first() {
            Some(mount) => format!("mounted on {}", mount.mount_point.display()),
            None if !areas.is_empty() => "as swap".to_owned(),
            None => "by a device or process with exclusive access".to_owned(),
        };
        let remedy = "release it first (umount, swapoff), or remove it with --force".to_owned();
        return Err(Error::Busy { device: node.display().to_string(), by: Some(by), remedy });
    }
    // Swap files before their mounts: without a path they could not be switched off.
    for area in &areas {
        words.push(match swap_off(area) {
            Ok(()) => format!("swap on {} was disabled", area.display()),
            // Nothing that is in it can be had any more.
            Err(error) if is_dead => format!("{}; it stays until this machine restarts", in_one_line(&error)),
            Err(error) => return Err(error),
        });
    }
    for mount in &mounts {
        fuse::unmount(&mount.mount_point, true).map_err(failed(format!("unmount {}", mount.mount_point.display())))?;
        words.push(format!("{} was unmounted from {}", node.display(), mount.mount_point.display()));
    }
    Ok(())
}

fn swap_off(area: &Path) -> Result<()> {
    use std::os::unix::ffi::OsStrExt as _;
    let path = std::ffi::CString::new(area.as_os_str().as_bytes()).expect("a path of the kernel holds no zero byte");
    // SAFETY: the path is a string that outlives the call.
    match unsafe { libc::swapoff(path.as_ptr()) } {
        0 => Ok(()),
        _ => Err(failed(format!("disable swap on {}", area.display()))(std::io::Error::last_os_error())),
    }
}

/// Restores the settings of the queue, also of the `unmounted` device, whose file has no path any more. Settings that
/// were changed externally stay and are reported; the queue of a ublk device may have been removed with its server.
fn restore_queue(machine: Machine<'_>, dir: &StateDir, unmounted: Option<&str>, words: &mut Vec<String>) -> Result<()> {
    let Some(pid) = dir.load().and_then(|record| record.server_pid) else { return Ok(()) };
    let mut journal = match Journal::of_process(&dir.journal_name(), pid, machine.paths) {
        Ok(journal) => journal,
        // The server is dead and had changed no setting.
        Err(brisk_act::Error::NoProcess { .. }) => return Ok(()),
        Err(error) => return Err(error.into()),
    };
    if let Some(name) = unmounted {
        journal.vouch_for(&BlockQueue::new(&machine.paths.sysfs, name));
    }
    let may_be_gone = dir.way() != Transport::Fuse;
    for left in journal.restore()?.left.into_iter().filter(|left| left.found.is_some() || !may_be_gone) {
        words.push(format!("{} of {} was left as it is: {}", left.knob, left.device, left.reason));
    }
    Ok(())
}

fn unmount(dir: &StateDir, lazily: bool) -> Result<()> {
    let mount_point = dir.mount_point();
    // The loop driver closes its file slightly after the device is removed.
    let mut outcome = Ok(());
    wait_until(|| {
        outcome = fuse::unmount(&mount_point, lazily);
        outcome.is_ok()
    });
    outcome.map_err(failed(format!("unmount {}", mount_point.display())))
}

/// Ends a live server and waits until its lock is released.
fn end(dir: &StateDir, client: Option<Connection>, dead: Option<File>) -> Result<()> {
    let Some(mut client) = client else {
        drop(dead);
        return Ok(());
    };
    client.order(&ServerCommand::Exit)?;
    if wait_until(|| !dir.exists() || dir.lock_if_free().is_ok_and(|lock| lock.is_some())) {
        Ok(())
    } else {
        Err(Error::Server { id: dir.id, reason: "it did not end on request".to_owned() })
    }
}

fn wait_until(mut condition: impl FnMut() -> bool) -> bool {
    let deadline = Instant::now() + RELEASE_TIMEOUT;
    loop {
        if condition() {
            return true;
        }
        if Instant::now() >= deadline {
            return false;
        }
        std::thread::sleep(POLL_INTERVAL);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_loop_device_is_known_by_its_name_until_it_carries_something_else() {
        let root = tempfile::tempdir().expect("temporary directory");
        let sense = Sense::new(root.path());
        let record = |name: &str| Record {
            schema_version: brisk_profile::lab_client::state::SCHEMA_VERSION,
            preset: String::new(),
            identity: None,
            set: Vec::new(),
            size_bytes: 0,
            seed: 0,
            take_down: Vec::new(),
            server_pid: None,
            way: Transport::Fuse,
            loop_name: Some(name.to_owned()),
            file_system: None,
            ublk_number: None,
            ready: true,
        };
        // It was detached by another program.
        assert!(had_loop_device(&sense, &record("loop7"), "loop7"));
        assert!(!had_loop_device(&sense, &record("loop7"), "loop8"));
        let place = root.path().join("sys/block/loop7/loop");
        std::fs::create_dir_all(&place).expect("made");
        std::fs::write(place.join("backing_file"), "/of/another\n").expect("written");
        assert!(!had_loop_device(&sense, &record("loop7"), "loop7"));
    }
}
