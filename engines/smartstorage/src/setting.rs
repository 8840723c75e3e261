//! A scheduler with a queue depth, and what it takes to put it in force.

use std::fmt;

use brisk_core::decision::{Device, Objective, Reason, Wish};
use brisk_core::knob::{Knob, QueueSetting};
use serde::{Deserialize, Serialize};

/// Driver tags of a device that does not tell (BLKDEV_DEFAULT_RQ of the kernel).
const TAGS_USUAL_REQUESTS: u32 = 128;

/// A scheduler with a queue depth, written `bfq/4`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Setting {
    /// The I/O scheduler.
    pub scheduler: String,
    /// Requests that the queue holds (`nr_requests`).
    pub depth_requests: u32,
}

impl fmt::Display for Setting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.scheduler, self.depth_requests)
    }
}

impl Setting {
    /// A setting.
    #[must_use]
    pub fn new(scheduler: &str, depth_requests: u32) -> Self {
        Self { scheduler: scheduler.to_owned(), depth_requests }
    }

    /// What `device` had before brisk; `None` when that is not known.
    #[must_use]
    pub fn original(device: &Device) -> Option<Self> {
        let depth = device.original(&QueueSetting::NrRequests)?.parse().ok()?;
        Some(Self::new(device.original(&QueueSetting::Scheduler)?, depth))
    }

    /// The wishes that put it in force; `None` when the device lacks the scheduler.
    ///
    /// Under `none` no scheduler holds requests: `nr_requests` then *is* the number of driver tags, and would stay in force
    /// under every scheduler that comes later. So that number is wished for by its own name, and only when it is lower
    /// than what the driver has.
    #[must_use]
    pub fn wishes(&self, device: &Device, objective: Objective, reason: &Reason) -> Option<Vec<Wish>> {
        if !device.has_scheduler(&self.scheduler) {
            return None;
        }
        let wish = |setting: QueueSetting, value: String| Wish {
            knob: Knob::queue(&device.name, setting),
            value,
            objective,
            reason: reason.clone(),
        };
        let depth = self.depth_requests.to_string();
        let mut wishes = vec![wish(QueueSetting::Scheduler, self.scheduler.clone())];
        if self.scheduler != "none" {
            wishes.push(wish(QueueSetting::NrRequests, depth));
        } else if self.depth_requests < tags_requests(device) {
            wishes.push(wish(QueueSetting::DriverTags, depth));
        }
        Some(wishes)
    }
}

/// Requests that the driver took before brisk.
fn tags_requests(device: &Device) -> u32 {
    let number = |setting: &QueueSetting| device.original(setting)?.parse().ok();
    let under_none = || {
        let none = device.original(&QueueSetting::Scheduler) == Some("none");
        number(&QueueSetting::NrRequests).filter(|_| none)
    };
    number(&QueueSetting::DriverTags).or_else(under_none).unwrap_or(TAGS_USUAL_REQUESTS)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn device(originals: &[(&str, &str)]) -> Device {
        Device {
            name: "mmcblk0".to_owned(),
            schedulers: ["none", "mq-deadline", "bfq"].map(str::to_owned).to_vec(),
            originals: originals.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect(),
            ..Device::default()
        }
    }

    fn wished(setting: &Setting, device: &Device) -> Option<Vec<String>> {
        let wishes = setting.wishes(device, Objective::Energy, &Reason::rule("test"))?;
        Some(wishes.iter().map(|wish| format!("{}={}", wish.knob, wish.value)).collect())
    }

    #[test]
    fn a_depth_under_none_is_the_driver_s() {
        let plain = device(&[("scheduler", "mq-deadline"), ("nr_requests", "256")]);
        let of = |scheduler: &str, depth| wished(&Setting::new(scheduler, depth), &plain).expect("offered").join(" ");
        assert_eq!(of("bfq", 4), "queue/mmcblk0/scheduler=bfq queue/mmcblk0/nr_requests=4");
        assert_eq!(of("none", 4), "queue/mmcblk0/scheduler=none queue/mmcblk0/driver_tags=4");
        assert_eq!(of("none", 128), "queue/mmcblk0/scheduler=none");
    }

    #[test]
    fn no_more_tags_are_wished_for_than_the_driver_has() {
        let none = Setting::new("none", 64);
        for originals in [&[("driver_tags", "64")][..], &[("scheduler", "none"), ("nr_requests", "64")]] {
            assert_eq!(wished(&none, &device(originals)).map(|wishes| wishes.len()), Some(1));
        }
        assert_eq!(wished(&Setting::new("none", 16), &device(&[("driver_tags", "64")])).map(|w| w.len()), Some(2));
    }

    #[test]
    fn a_scheduler_that_the_kernel_lacks_gives_no_wish() {
        assert_eq!(wished(&Setting::new("kyber", 4), &device(&[])), None);
    }
}
