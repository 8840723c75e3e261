//! The settings of a block device's queue (kernel: Documentation/ABI/stable/sysfs-block).
//!
//! Settings depend on one another: a change of scheduler resets `nr_requests` and its tunables and may switch
//! write-back throttling; `nr_requests` resets `async_depth`, and `max_sectors_kb` the read-ahead; under the scheduler
//! `none` a write to `nr_requests` resizes the *driver tags* themselves, which then stay that small through later
//! changes of scheduler, although `nr_requests` shows something else. So who changes one journals every other that it
//! may disturb ([`BlockQueue::disturbed_by`]), and puts it back ([`settle`]). The two requests that a scheduler has on
//! a driver with one tag come back only with the scheduler, chosen anew.

use std::fs::{self, OpenOptions};
use std::io::{ErrorKind, Write as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use brisk_core::knob::{QueueSetting, SHARED_TUNABLE};
use brisk_formats::{parse_schedulers, sysfs_name};

use crate::{Error, Journal};

/// Fewest tags that the kernel leaves a queue (BLKDEV_MIN_RQ).
const TAGS_MIN: u32 = 4;

/// Retries of a write to a busy queue, and the time between them: one second in all.
const BUSY_TRIES: u32 = 500;
const BUSY_PAUSE: Duration = Duration::from_millis(2);

/// How often settings are written again that others among them have disturbed.
const SETTLE_ROUNDS: u32 = 3;

/// The queue of one block device.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BlockQueue {
    device_dir: PathBuf,
    /// Whether a write waits while the queue is busy.
    waits: bool,
}

impl BlockQueue {
    /// The queue of `device` (a kernel name such as `loop3`) under the sysfs root (`/sys`). Nothing is touched yet.
    #[must_use]
    pub fn new(sysfs: &Path, device: &str) -> Self {
        Self::at(&sysfs.join("block").join(sysfs_name(device)))
    }

    pub(crate) fn at(device_dir: &Path) -> Self {
        Self { device_dir: device_dir.to_owned(), waits: true }
    }

    /// The same queue for callers that may not wait: a write to a busy queue fails at once ([`Error::is_busy`]).
    pub(crate) fn without_waiting(self) -> Self {
        Self { waits: false, ..self }
    }

    pub(crate) fn device_dir(&self) -> &Path {
        &self.device_dir
    }

    pub(crate) fn exists(&self) -> bool {
        self.device_dir.join("queue").is_dir()
    }

    /// Whether the device has nothing to read or write: a loop device without a file, a reader without a card.
    pub(crate) fn is_empty(&self) -> bool {
        fs::read_to_string(self.device_dir.join("size")).is_ok_and(|sectors| sectors.trim() == "0")
    }

    /// Tells this queue from that of another device of the same name: a device that is plugged in again gets a new
    /// directory, and sysfs does not soon give its number out again.
    pub(crate) fn instance(&self) -> Option<u64> {
        fs::metadata(self.device_dir.join("queue")).ok().map(|dir| dir.ino())
    }

    /// The file behind a loop device, which tells whether it is still the same one.
    pub(crate) fn backing_file(&self) -> Option<String> {
        fs::read_to_string(self.device_dir.join("loop/backing_file")).ok().map(|text| text.trim_end().to_owned())
    }

    /// The scheduler in force.
    ///
    /// # Errors
    /// When the device or its file is missing.
    pub fn scheduler(&self) -> Result<String, Error> {
        self.get(&QueueSetting::Scheduler)
    }

    /// All schedulers that this kernel offers for the device.
    ///
    /// # Errors
    /// When the device or its file is missing.
    pub fn schedulers(&self) -> Result<Vec<String>, Error> {
        let text = read(&self.path(&QueueSetting::Scheduler))?;
        Ok(parse_schedulers(text.as_bytes()).unwrap_or_default().available)
    }

    /// The value in force, as the kernel prints it; of [`QueueSetting::DriverTags`] what `nr_requests` shows.
    ///
    /// # Errors
    /// When the device or its file is missing, the kernel refuses (`wbt_lat_usec` without throttling), or it is the
    /// tunable of a scheduler that is not in force.
    pub fn get(&self, setting: &QueueSetting) -> Result<String, Error> {
        if let QueueSetting::Tunable { scheduler, name } = setting {
            let in_force = self.scheduler()?;
            if in_force != *scheduler {
                return Err(Error::NotInForce { scheduler: scheduler.clone(), in_force, name: name.clone() });
            }
        }
        let path = self.path(setting);
        let text = match (read(&path), setting) {
            (Err(Error::Read { source, .. }), QueueSetting::Tunable { scheduler, name })
                if source.kind() == ErrorKind::NotFound && self.exists() =>
            {
                let has = self.tunables().iter().filter_map(tunable_name).collect::<Vec<_>>().join(", ");
                return Err(Error::NoTunable { scheduler: scheduler.clone(), name: name.clone(), has });
            }
            (text, _) => text?,
        };
        Ok(if *setting == QueueSetting::Scheduler { in_force(&text) } else { text.trim().to_owned() })
    }

    /// Tunables of the scheduler in force.
    pub(crate) fn tunables(&self) -> Vec<QueueSetting> {
        let Ok(scheduler) = self.scheduler() else { return Vec::new() };
        let mut names: Vec<QueueSetting> = fs::read_dir(self.device_dir.join("queue/iosched"))
            .into_iter()
            .flatten()
            .flatten()
            .filter_map(|file| Some(QueueSetting::tunable(&scheduler, file.file_name().to_str()?)))
            .collect();
        let shared = QueueSetting::tunable(&scheduler, SHARED_TUNABLE);
        // Without a scheduler nothing obeys it.
        if !names.is_empty() && !names.contains(&shared) && self.path(&shared).exists() {
            names.push(shared);
        }
        names.sort();
        names
    }

    /// A setting, and all that a change of it may reset.
    pub(crate) fn disturbed_by(&self, setting: &QueueSetting) -> Vec<QueueSetting> {
        let mut disturbed = vec![setting.clone()];
        match setting {
            QueueSetting::DriverTags | QueueSetting::Scheduler => {
                disturbed.extend([QueueSetting::Scheduler, QueueSetting::NrRequests, QueueSetting::WbtLatUsec]);
                disturbed.extend(self.tunables());
            }
            QueueSetting::NrRequests => disturbed.extend(self.tunables()),
            QueueSetting::Tunable { .. } => {
                disturbed.extend(self.tunables().into_iter().filter(|other| follows(other, setting)));
            }
            // Both make the kernel work its limits out again, and with them the read-ahead.
            QueueSetting::MaxSectorsKb | QueueSetting::WriteCache => disturbed.push(QueueSetting::ReadAheadKb),
            QueueSetting::ReadAheadKb | QueueSetting::WbtLatUsec => {}
        }
        disturbed.sort();
        disturbed.dedup();
        disturbed
    }

    /// Requests that the driver accepts with its full number of tags.
    ///
    /// # Errors
    /// When the kernel does not tell: before Linux 4.9, and for devices that queue no requests.
    pub(crate) fn driver_tags_full(&self) -> Result<u32, Error> {
        let dir = self.device_dir.join("mq");
        let queues = fs::read_dir(&dir).into_iter().flatten().flatten();
        let tags =
            queues.filter_map(|queue| fs::read_to_string(queue.path().join("nr_tags")).ok()?.trim().parse().ok());
        tags.min().ok_or(Error::NoTags { dir })
    }

    /// Requests that the driver accepts now, as far as sysfs tells: under `none` what is in force shows, under a
    /// scheduler only what the driver came with.
    pub(crate) fn driver_tags_shown(&self) -> Result<u32, Error> {
        let full = self.driver_tags_full();
        if self.scheduler()? != "none" {
            return full;
        }
        self.get(&QueueSetting::NrRequests)?.parse().or(full)
    }

    /// Chooses the I/O scheduler.
    ///
    /// # Errors
    /// When this kernel does not offer it (the message lists what it offers) or the journal cannot be written.
    pub fn set_scheduler(&mut self, journal: &mut Journal, name: &str) -> Result<(), Error> {
        journal.change(self, &QueueSetting::Scheduler, |queue| {
            queue.put(&QueueSetting::Scheduler, name)?;
            queue.expect(&QueueSetting::Scheduler, name)
        })
    }

    /// Sets how many requests the scheduler holds, or, under `none`, the driver. Gives the number in force: the kernel
    /// leaves at least 4.
    ///
    /// # Errors
    /// When the kernel refuses the number or the journal cannot be written.
    pub fn set_nr_requests(&mut self, journal: &mut Journal, depth_requests: u32) -> Result<u32, Error> {
        if self.scheduler()? == "none" {
            return self.set_driver_tags(journal, depth_requests);
        }
        self.set_number(journal, &QueueSetting::NrRequests, depth_requests.into())
            .map(|n| u32::try_from(n).unwrap_or(u32::MAX))
    }

    /// Sets how many requests the driver accepts at once, under any scheduler, which stays. Gives the number in force.
    ///
    /// # Errors
    /// When the kernel refuses the number (more than the driver has), does not tell how many there were, or the journal
    /// cannot be written.
    pub fn set_driver_tags(&mut self, journal: &mut Journal, depth_requests: u32) -> Result<u32, Error> {
        let depth_requests = at_least_min(depth_requests);
        journal.change(self, &QueueSetting::DriverTags, |queue| queue.put_driver_tags(depth_requests, None))?;
        journal.note_driver_tags(self, Some(depth_requests))?;
        Ok(depth_requests)
    }

    /// Sets the read-ahead of buffered reads. Gives the value in force.
    ///
    /// # Errors
    /// As for [`Self::set_nr_requests`].
    pub fn set_read_ahead_kb(&mut self, journal: &mut Journal, read_ahead_kb: u64) -> Result<u64, Error> {
        self.set_number(journal, &QueueSetting::ReadAheadKb, read_ahead_kb)
    }

    /// Sets the largest request. Gives the value in force.
    ///
    /// # Errors
    /// As for [`Self::set_nr_requests`]; also when the device cannot take requests that large.
    pub fn set_max_sectors_kb(&mut self, journal: &mut Journal, max_sectors_kb: u64) -> Result<u64, Error> {
        self.set_number(journal, &QueueSetting::MaxSectorsKb, max_sectors_kb)
    }

    /// Sets the target of write-back throttling; zero switches it off. Gives the value in force.
    ///
    /// # Errors
    /// As for [`Self::set_nr_requests`]; also when this kernel has no throttling for the device.
    pub fn set_wbt_lat_usec(&mut self, journal: &mut Journal, target_us: u64) -> Result<u64, Error> {
        self.set_number(journal, &QueueSetting::WbtLatUsec, target_us)
    }

    fn set_number(&mut self, journal: &mut Journal, setting: &QueueSetting, value: u64) -> Result<u64, Error> {
        journal.change(self, setting, |queue| queue.put(setting, &value.to_string()))?;
        let found = self.get(setting)?;
        found.parse().map_err(|_| Error::NotTaken { path: self.path(setting), requested: value.to_string(), found })
    }

    /// Writes a setting, unless it has the value already.
    pub(crate) fn put(&self, setting: &QueueSetting, value: &str) -> Result<(), Error> {
        // Whose tunable does not exist now is found out before another scheduler's file of that name is written.
        let now = self.get(setting);
        match now {
            Err(error @ (Error::NotInForce { .. } | Error::NoTunable { .. })) => return Err(error),
            Ok(now) if now == value => return Ok(()),
            _ => {}
        }
        if *setting == QueueSetting::NrRequests && self.comes_only_with_the_scheduler(value) {
            return self.choose_scheduler_anew();
        }
        let path = self.path(setting);
        let write = || {
            let mut file = OpenOptions::new().write(true).truncate(true).open(&path)?;
            file.write_all(value.as_bytes())
        };
        let mut written = write();
        // The kernel takes the lock of a queue without waiting for some settings; it is free again within milliseconds.
        for _ in 0..if self.waits { BUSY_TRIES } else { 0 } {
            match &written {
                Err(error) if error.kind() == ErrorKind::ResourceBusy => std::thread::sleep(BUSY_PAUSE),
                _ => break,
            }
            written = write();
        }
        written.map_err(|source| Error::Write {
            hint: self.hint(setting),
            path: path.clone(),
            value: value.to_owned(),
            source,
        })
    }

    /// Whether a scheduler begins with so few requests, and cannot be given them again: it takes twice the driver's
    /// tags, and a card reader has one, but the kernel takes none below [`TAGS_MIN`].
    fn comes_only_with_the_scheduler(&self, requests: &str) -> bool {
        let Ok(requests) = requests.parse::<u32>() else { return false };
        requests < TAGS_MIN
            && self.driver_tags_full().is_ok_and(|full| full * 2 == requests)
            && self.scheduler().is_ok_and(|scheduler| scheduler != "none")
    }

    /// Chooses the scheduler in force once more, which gives it the number of requests that it begins with. All else
    /// that this resets stays as it is, but for what the kernel derives from that number.
    fn choose_scheduler_anew(&self) -> Result<(), Error> {
        let scheduler = self.scheduler()?;
        let reset = self.tunables().into_iter().chain([QueueSetting::WbtLatUsec]);
        let kept: Vec<(QueueSetting, String)> = reset
            .filter(|setting| !follows(setting, &QueueSetting::NrRequests))
            .filter_map(|setting| Some((setting.clone(), self.get(&setting).ok()?)))
            .collect();
        self.put(&QueueSetting::Scheduler, "none")?;
        self.put(&QueueSetting::Scheduler, &scheduler)?;
        kept.iter().try_for_each(|(setting, value)| self.put(setting, value))
    }

    /// Resizes the driver tags, and leaves the scheduler as it was or, if this works, `then`. The detour over a
    /// neighbour is needed because the kernel ignores a write of the number that it shows, and after a change to `none`
    /// it shows the driver's own number whatever the tags are.
    pub(crate) fn put_driver_tags(&self, depth_requests: u32, then: Option<&str>) -> Result<(), Error> {
        if depth_requests <= TAGS_MIN && self.driver_tags_full().is_ok_and(|full| full == depth_requests) {
            // The driver has no more, and the kernel leaves no fewer: they cannot have changed.
            let _ = then.is_some_and(|name| self.put(&QueueSetting::Scheduler, name).is_ok());
            return Ok(());
        }
        let scheduler = self.scheduler()?;
        let neighbour = if depth_requests > TAGS_MIN { depth_requests - 1 } else { depth_requests + 1 };
        let begun = self
            .put(&QueueSetting::Scheduler, "none")
            .and_then(|()| self.put(&QueueSetting::NrRequests, &neighbour.to_string()))
            .map_err(|error| Error::TagsKept(Box::new(error)));
        let resized = begun
            .and_then(|()| self.put(&QueueSetting::NrRequests, &depth_requests.to_string()))
            .and_then(|()| self.expect(&QueueSetting::NrRequests, &depth_requests.to_string()));
        if then.is_none_or(|name| self.put(&QueueSetting::Scheduler, name).is_err()) {
            let back = self.put(&QueueSetting::Scheduler, &scheduler);
            return resized.and(back);
        }
        resized
    }

    fn expect(&self, setting: &QueueSetting, requested: &str) -> Result<(), Error> {
        let found = self.get(setting)?;
        if found == requested {
            Ok(())
        } else {
            Err(Error::NotTaken { path: self.path(setting), requested: requested.to_owned(), found })
        }
    }

    pub(crate) fn path(&self, setting: &QueueSetting) -> PathBuf {
        let queue = self.device_dir.join("queue");
        match setting {
            QueueSetting::DriverTags => queue.join("nr_requests"),
            QueueSetting::Tunable { name, .. } => {
                let own = queue.join("iosched").join(name);
                let shared = queue.join(name);
                if name == SHARED_TUNABLE && !own.exists() && shared.exists() { shared } else { own }
            }
            // The rest is called as the kernel calls it.
            plain => queue.join(plain.to_string()),
        }
    }

    fn hint(&self, setting: &QueueSetting) -> String {
        match (setting, self.schedulers()) {
            (QueueSetting::Scheduler, Ok(offered)) => format!("this kernel offers {}", offered.join(", ")),
            (QueueSetting::WriteCache, _) => {
                "'write back' or 'write through'; a device without a cache has only the latter".to_owned()
            }
            _ => format!("now {}", self.get(setting).unwrap_or_else(|_| "unreadable".to_owned())),
        }
    }
}

/// Writes the `goals`, which are in the order of [`QueueSetting`], and again those that others disturbed. Gives for
/// each what stands, which the kernel may have rounded.
pub(crate) fn settle(queue: &BlockQueue, goals: &[(QueueSetting, String)]) -> Vec<Result<String, Error>> {
    let goal = |requested: QueueSetting| goals.iter().find(|(s, _)| *s == requested).map(|(_, value)| value.as_str());
    let tags_are_set = goal(QueueSetting::DriverTags).is_some();
    let write = |setting: &QueueSetting, value: &str| match setting {
        QueueSetting::DriverTags => {
            let tags = value.parse().map_err(|_| Error::NotANumber { value: value.to_owned() })?;
            queue.put_driver_tags(tags, goal(QueueSetting::Scheduler)).map(|()| value.to_owned())
        }
        // Under `none` it is the driver's tags.
        QueueSetting::NrRequests if tags_are_set && queue.scheduler()? == "none" => queue.get(setting),
        _ => {
            let before = queue.get(setting).ok();
            queue.put(setting, value)?;
            let stands = queue.get(setting)?;
            if stands != value && before.as_ref() == Some(&stands) {
                let (path, requested) = (queue.path(setting), value.to_owned());
                return Err(Error::NotTaken { path, requested, found: stands });
            }
            Ok(stands)
        }
    };
    let mut found: Vec<Result<String, Error>> = goals.iter().map(|(setting, value)| write(setting, value)).collect();
    for _ in 1..SETTLE_ROUNDS {
        let mut calm = true;
        for ((setting, value), found) in goals.iter().zip(&mut found) {
            let disturbed = *setting != QueueSetting::DriverTags
                && matches!((&*found, queue.get(setting)), (Ok(stands), Ok(now)) if *stands != now);
            if disturbed {
                calm = false;
                *found = write(setting, value);
            }
        }
        if calm {
            break;
        }
    }
    found
}

/// Whether the kernel derives `setting` from `cause`: mq-deadline's `async_depth` from `nr_requests`, and what bfq
/// shows twice.
pub(crate) fn follows(setting: &QueueSetting, cause: &QueueSetting) -> bool {
    let Some(name) = tunable_name(setting) else { return false };
    match cause {
        QueueSetting::NrRequests => name == "async_depth",
        QueueSetting::Tunable { name: cause, .. } => matches!(
            (cause.as_str(), name),
            ("slice_idle", "slice_idle_us")
                | ("slice_idle_us", "slice_idle")
                | ("strict_guarantees", "slice_idle" | "slice_idle_us")
        ),
        _ => false,
    }
}

/// The number of tags that the kernel would make of it.
pub(crate) fn at_least_min(depth_requests: u32) -> u32 {
    depth_requests.max(TAGS_MIN)
}

fn tunable_name(setting: &QueueSetting) -> Option<&str> {
    match setting {
        QueueSetting::Tunable { name, .. } => Some(name),
        _ => None,
    }
}

fn read(path: &Path) -> Result<String, Error> {
    fs::read_to_string(path).map_err(|source| Error::Read { path: path.to_owned(), source })
}

/// The scheduler that the kernel marks; a text without a mark is the choice itself.
fn in_force(text: &str) -> String {
    let marked = parse_schedulers(text.as_bytes()).ok().and_then(|schedulers| schedulers.current);
    marked.unwrap_or_else(|| text.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_chosen_scheduler_stands_in_brackets() {
        assert_eq!(in_force("none [mq-deadline] kyber bfq\n"), "mq-deadline");
        assert_eq!(in_force("[none]\n"), "none");
        assert_eq!(in_force("none\n"), "none");
        assert_eq!(in_force(""), "");
    }

    proptest! {
        #[test]
        fn no_text_makes_the_parser_panic(text in ".*") {
            let _ = in_force(&text);
        }
    }
}
