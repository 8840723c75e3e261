//! `brisk swap replay --lab|--on`: replays in real time, on a block device.

use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use crate::device::{Backend, Lab, NewDevice, SIZE_BYTES_MIN};
use crate::results::{SwapDevice, Warning};
use crate::study::swap::arguments::Replay;
use crate::swap::{Outcome, Settings, Trace, area_bytes, replay_on};
use crate::swap_io::BlockDevice;
use anyhow::{Context as _, bail};
use brisk_bench::place::Place;
use brisk_command::session::{Session, lab_late};
use brisk_profile::lab_client::Client;
use brisk_sense::Sense;

/// Requests under way on a device that is not of the lab: as eMMC hosts with a command queue have at least.
const DEPTH_REQUESTS: u32 = 4;
/// Name of devices that are new for each replay.
const OF_LAB: &str = "a device of the lab";

/// Where replays go.
pub(super) enum Real {
    /// One device, whose content is overwritten.
    Device { path: PathBuf, disk: String, depth_requests: u32 },
    /// A new device of the lab for each replay.
    Lab { lab: Lab, new: Box<NewDevice> },
}

impl Real {
    /// Where the options say; `None` is the model. Devices that must not be used are refused.
    pub(super) fn choose(args: &Replay, session: &Session) -> anyhow::Result<Option<Self>> {
        if let Some(preset) = &args.lab {
            let lab = Lab::new(session.run_dir());
            let new = Box::new(NewDevice {
                preset: preset.clone(),
                set: Vec::new(),
                size_bytes: 0,
                seed: 1,
                timed: true,
                scheduler: None,
                backend: Backend::Auto,
                server: crate::command::device::brisk_lab(session.run_dir(), &["serve"])?,
                take_down: crate::command::device::brisk_lab(session.run_dir(), &["down", "--force"])?,
            });
            lab.check(&NewDevice { size_bytes: SIZE_BYTES_MIN, ..(*new).clone() })?;
            return Ok(Some(Self::Lab { lab, new }));
        }
        let Some(path) = &args.on else { return Ok(None) };
        let metadata = std::fs::metadata(path);
        if metadata.is_ok_and(|metadata| metadata.is_dir()) {
            bail!("{} is a directory: a replay writes to a block device, such as one of brisk lab up", path.display());
        }
        let place = Place::find(&session.sense(), path, args.destroy_data)?;
        let name = place.device.as_ref().map(|located| located.disk.name.clone()).unwrap_or_default();
        let of_lab = Client::new(session.run_dir()).find(&name).and_then(|device| device.status().ok());
        let depth_requests = args.in_flight.or(of_lab.map(|status| status.depth_requests)).unwrap_or(DEPTH_REQUESTS);
        Ok(Some(Self::Device { path: place.path, disk: name, depth_requests }))
    }

    /// What the result says of it.
    pub(super) fn facts(&self) -> SwapDevice {
        match self {
            Self::Device { path, disk, depth_requests } => SwapDevice {
                name: path.display().to_string(),
                depth_requests: *depth_requests,
                scheduler: scheduler(disk),
            },
            Self::Lab { .. } => SwapDevice { name: OF_LAB.to_owned(), depth_requests: 0, scheduler: None },
        }
    }

    /// Replays a trace; adds to `facts` what is known with the device alone. Figures of a replay that was stopped are
    /// those until then.
    pub(super) fn replay(
        &self,
        trace: &Trace,
        way: &Settings,
        stop: &AtomicBool,
        facts: &mut SwapDevice,
        warnings: &mut Vec<Warning>,
    ) -> anyhow::Result<Outcome> {
        let bytes = area_bytes(trace, way);
        let run = |path: &Path, depth_requests: u32| -> anyhow::Result<Outcome> {
            let mut device = BlockDevice::open(path, bytes, depth_requests as usize, stop)?;
            let outcome = replay_on(trace, way, &mut device);
            device.finish()?;
            Ok(outcome)
        };
        match self {
            Self::Device { path, depth_requests, .. } => run(path, *depth_requests),
            Self::Lab { lab, new } => {
                let new = NewDevice { size_bytes: bytes.max(SIZE_BYTES_MIN), ..(**new).clone() };
                let (status, _) = lab.up(&new, |_| {}).context("cannot make a device of the lab for the replay")?;
                let made = Made { lab, device: status.device };
                (facts.depth_requests, facts.scheduler) =
                    (status.depth_requests, scheduler(made.device.trim_start_matches("/dev/")));
                let outcome = run(Path::new(&made.device), status.depth_requests)?;
                let late = lab_late(&lab.change(&made.device, &[], None, false)?);
                if !late.as_ref().is_some_and(|late| warnings.iter().any(|known| known.code == late.code)) {
                    warnings.extend(late);
                }
                made.down()?;
                Ok(outcome)
            }
        }
    }
}

/// A device of the lab that goes with its value.
struct Made<'a> {
    lab: &'a Lab,
    device: String,
}

impl Made<'_> {
    fn down(mut self) -> anyhow::Result<()> {
        let device = std::mem::take(&mut self.device);
        self.lab
            .down(&device, true)
            .with_context(|| format!("cannot take {device} down; try brisk lab down --all --force"))?;
        Ok(())
    }
}

impl Drop for Made<'_> {
    fn drop(&mut self) {
        if !self.device.is_empty() {
            // The next command of the lab removes leftovers.
            let _ = self.lab.down(&self.device, true);
        }
    }
}

fn scheduler(disk: &str) -> Option<String> {
    Sense::default().block_queue(disk).ok()?.schedulers.current
}
