//! The way back, for a device whose server lives and for one whose server is dead.
//!
//! Only what is this device's own is touched: a loop device whose backing file, by the kernel's word, is in this device's
//! directory, or a ublk device that bears its mark; file systems and swap on that block device, and only by force; the
//! mount in that directory. Order matters: settings while the block device still stands, the loop device while its file
//! can still be named, block device and mount while the server can still answer, the directory last.

use std::fs::File;
use std::io::ErrorKind;
use std::path::Path;
use std::time::{Duration, Instant};

use brisk_act::{BlockQueue, Journal};
use brisk_core::causes::in_one_line;
use brisk_lab_client::control::{Connection, FaultOrder, Order};
use brisk_lab_client::state::{StateDir, Way};

use crate::backend::own_ublk_devices;
use crate::error::{Error, Result, io as failed};
use crate::lab::Lab;
use crate::{fuse, loopdev, ublk};

/// How long the kernel may take to let go of something that nobody uses.
const PATIENCE: Duration = Duration::from_secs(5);
const LOOK_AGAIN_AFTER: Duration = Duration::from_millis(5);

/// Removes everything of a device; with `force` also when it is in use. Gives sentences on what was in the way.
pub(crate) fn take_down(lab: &Lab, dir: &StateDir, force: bool) -> Result<Vec<String>> {
    let mut words = Vec::new();
    let Some(_one_at_a_time) = dir.lock_changes().map_err(failed("look after the device"))? else { return Ok(words) };
    let (dead, mut client) = match server(dir)? {
        Server::Dead(lock) => (Some(lock), None),
        Server::Answers(client) => (None, Some(client)),
    };
    let way = dir.way();
    match way {
        Way::Fuse => take_loop_device_away(lab, dir, force || dead.is_some(), &mut words)?,
        Way::Ublk { mark } => take_ublk_device_away(lab, dir, mark, force, client.as_mut(), &mut words)?,
    }
    end(dir, client, dead)?;
    if let Way::Ublk { mark } = way {
        remove_ublk_device(mark, &mut words)?;
    }
    dir.remove().map_err(failed(format!("remove {}", dir.path().display())))?;
    Ok(words)
}

/// Detaches the loop device and unmounts its file.
fn take_loop_device_away(lab: &Lab, dir: &StateDir, force: bool, words: &mut Vec<String>) -> Result<()> {
    let file = dir.backing_file();
    let carriers = loopdev::carriers(&lab.sense, &file)?;
    for name in &carriers {
        release(lab, name, force, words)?;
    }
    let unmounted = unmounted_carrier(lab, dir)?;
    if let Some(name) = &unmounted {
        release(lab, name, force, words)?;
    }
    restore_queue(lab, dir, unmounted.as_deref(), words)?;
    for name in carriers.iter().chain(&unmounted) {
        loopdev::detach(name).map_err(failed(format!("detach /dev/{name}")))?;
    }
    let gone = || {
        loopdev::carriers(&lab.sense, &file).is_ok_and(|left| left.is_empty())
            && unmounted_carrier(lab, dir).is_ok_and(|left| left.is_none())
    };
    if !wait_until(gone) {
        let device = carriers.first().map_or_else(String::new, |name| format!("/dev/{name}"));
        if !force {
            let remedy =
                "a process has it open; it goes away when that process closes it (see: fuser -v DEVICE)".to_owned();
            return Err(Error::Busy { device, by: None, remedy });
        }
        words.push(format!("{device} is still open in some process and goes away when that process closes it"));
    }
    unmount(dir, force)
}

/// Stops the ublk device, which takes its block device away. What still waits for the device comes to its end at once; a
/// process that merely has the block device open, which no kernel call tells, gets errors from then on.
fn take_ublk_device_away(
    lab: &Lab,
    dir: &StateDir,
    mark: u64,
    force: bool,
    client: Option<&mut Connection>,
    words: &mut Vec<String>,
) -> Result<()> {
    let own = own_ublk_devices(mark)?;
    if let Some(client) = client {
        for own in own.iter().filter(|own| own.live) {
            release(lab, &own.name(), force, words)?;
        }
        client.order(&Order::Fault(FaultOrder::Clear))?;
        client.order(&Order::Set { parameters: Vec::new(), timed: Some(false), reset_counters: false })?;
    }
    restore_queue(lab, dir, None, words)?;
    for own in own {
        ublk::Control::open()?.stop(own)?;
        release_vanished(lab, dir, own, words)?;
    }
    Ok(())
}

/// Unmounts file systems from a block device that the kernel took away when its server died.
fn release_vanished(lab: &Lab, dir: &StateDir, own: ublk::Own, words: &mut Vec<String>) -> Result<()> {
    let Some(device) = dir.load().and_then(|record| record.ublk_number) else { return Ok(()) };
    let node = loopdev::node(&own.name());
    // The number may be someone else's by now, but not while the file system of the vanished device has it.
    let vanished = lab.sense.block_device(&own.name()).is_err();
    for mount in lab.sense.mounts()?.iter().filter(|mount| vanished && mount.device == device && mount.source == node) {
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

/// The loop device that still carries the lab's file although somebody took the mount away.
fn unmounted_carrier(lab: &Lab, dir: &StateDir) -> Result<Option<String>> {
    let Some((name, file_system)) = dir.load().and_then(|record| record.loop_name.zip(record.file_system)) else {
        return Ok(None);
    };
    Ok(loopdev::carries_unmounted(&lab.sense, &name, file_system)?.then_some(name))
}

/// The server of a device.
enum Server {
    /// It is dead; its lock is ours now.
    Dead(File),
    /// It lives.
    Answers(Connection),
}

/// Finds out whether the server lives. One that nobody can talk to although it has its lock has not begun to listen yet, or is
/// about to end, as it does when its maker died: that shows soon. A server that does not answer is an error: the kernel must
/// not be made to wait for it either.
fn server(dir: &StateDir) -> Result<Server> {
    let mut found = Err(Error::NoSuchDevice(dir.id.to_string()));
    wait_until(|| {
        found = match dir.lock_if_free().map_err(failed("look after the lab server")) {
            Ok(Some(lock)) => Ok(Server::Dead(lock)),
            Ok(None) => answering_server(dir).map(Server::Answers),
            Err(error) => Err(error),
        };
        !matches!(&found, Err(Error::Client(brisk_lab_client::Error::Io { source, .. }))
            if matches!(source.kind(), ErrorKind::NotFound | ErrorKind::ConnectionRefused))
    });
    found
}

fn answering_server(dir: &StateDir) -> Result<Connection> {
    let mut client = Connection::open(&dir.socket())?;
    client.status().map_err(|error| {
        let pid = dir.load().and_then(|record| record.server_pid).map_or_else(|| "?".to_owned(), |pid| pid.to_string());
        let remedy = format!("end it with: kill -9 {pid}, and give this command again");
        Error::Server { id: dir.id, reason: format!("{}; {remedy}", in_one_line(&error)) }
    })?;
    Ok(client)
}

/// Makes sure that nobody holds the block device.
fn release(lab: &Lab, name: &str, force: bool, words: &mut Vec<String>) -> Result<()> {
    let held = |name| loopdev::is_held(name).map_err(failed(format!("look at /dev/{name}")));
    if !held(name)? {
        return Ok(());
    }
    let node = loopdev::node(name);
    let device = lab.sense.block_device(name)?.device;
    let mounts: Vec<_> = lab.sense.mounts()?.into_iter().filter(|mount| mount.device == device).collect();
    let swaps = lab.sense.swaps().unwrap_or_default().into_iter().any(|swap| swap.path == node);
    if !force {
        let by = match mounts.first() {
            Some(mount) => format!("mounted on {}", mount.mount_point.display()),
            None if swaps => "as swap".to_owned(),
            None => "by a device or process that holds it alone".to_owned(),
        };
        let remedy = "release it first (umount, swapoff), or remove it all the same with --force".to_owned();
        return Err(Error::Busy { device: node.display().to_string(), by: Some(by), remedy });
    }
    for mount in &mounts {
        fuse::unmount(&mount.mount_point, true).map_err(failed(format!("unmount {}", mount.mount_point.display())))?;
        words.push(format!("{} was unmounted from {}", node.display(), mount.mount_point.display()));
    }
    if swaps {
        swap_off(&node)?;
        words.push(format!("swap on {} was switched off", node.display()));
    }
    Ok(())
}

fn swap_off(node: &Path) -> Result<()> {
    use std::os::unix::ffi::OsStrExt as _;
    let path = std::ffi::CString::new(node.as_os_str().as_bytes()).expect("a device path holds no zero byte");
    // SAFETY: the path is a string that outlives the call.
    match unsafe { libc::swapoff(path.as_ptr()) } {
        0 => Ok(()),
        _ => Err(failed(format!("switch swap on {} off", node.display()))(std::io::Error::last_os_error())),
    }
}

/// Undoes what was set on the queue, also of the `unmounted` device, whose file has no path any more. What someone else
/// changed stays, and is told; the queue of a ublk device may have gone with its server.
fn restore_queue(lab: &Lab, dir: &StateDir, unmounted: Option<&str>, words: &mut Vec<String>) -> Result<()> {
    let Some(pid) = dir.load().and_then(|record| record.server_pid) else { return Ok(()) };
    let mut journal = match Journal::of_process(&dir.journal_name(), pid, &lab.paths) {
        Ok(journal) => journal,
        // The server is dead and nothing was changed on its behalf.
        Err(brisk_act::Error::NoProcess { .. }) => return Ok(()),
        Err(error) => return Err(error.into()),
    };
    if let Some(name) = unmounted {
        journal.vouch_for(&BlockQueue::new(&lab.paths.sysfs, name));
    }
    let may_be_gone = dir.way() != Way::Fuse;
    for left in journal.restore()?.left.into_iter().filter(|left| left.found.is_some() || !may_be_gone) {
        words.push(format!("{} of {} was left as it is: {}", left.knob, left.device, left.reason));
    }
    Ok(())
}

fn unmount(dir: &StateDir, lazily: bool) -> Result<()> {
    let mount_point = dir.mount_point();
    // The loop driver closes its file a moment after the device is gone.
    let mut outcome = Ok(());
    wait_until(|| {
        outcome = fuse::unmount(&mount_point, lazily);
        outcome.is_ok()
    });
    outcome.map_err(failed(format!("unmount {}", mount_point.display())))
}

/// Ends a living server and waits until the kernel has let go of its lock.
fn end(dir: &StateDir, client: Option<Connection>, dead: Option<File>) -> Result<()> {
    let Some(mut client) = client else {
        drop(dead);
        return Ok(());
    };
    client.order(&Order::Exit)?;
    if wait_until(|| !dir.exists() || dir.lock_if_free().is_ok_and(|lock| lock.is_some())) {
        Ok(())
    } else {
        Err(Error::Server { id: dir.id, reason: "it was told to end and has not".to_owned() })
    }
}

fn wait_until(mut condition: impl FnMut() -> bool) -> bool {
    let deadline = Instant::now() + PATIENCE;
    loop {
        if condition() {
            return true;
        }
        if Instant::now() >= deadline {
            return false;
        }
        std::thread::sleep(LOOK_AGAIN_AFTER);
    }
}
