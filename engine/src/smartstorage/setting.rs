//! A scheduler with a queue depth, and the requests that put it in force.
//!
//! A setting may have more: read-ahead, the target of write-back throttling, and how the kernel treats the device's
//! cache. These concern requests through the page cache, and are searched for after scheduler and depth.
//!
//! *The cache.* `write through` makes the kernel send no flushes at all. On a device that has a volatile cache, a
//! power cut would lose data after a completed fsync. So a setting can only go the safe way: `write back` where the
//! device was found with `write through`, which costs flushes and protects the data if that mode was set by mistake.
//! (The dissertation rebuilt the kernel for its write cache; its batteries were soldered in.)

use std::fmt;

use brisk_core::decision::{Objective, Request};
use brisk_core::device::Device;
use brisk_core::knob::{Knob, QueueSetting};
use brisk_core::reason::Reason;
use serde::{Deserialize, Serialize};

/// Driver tags of a device that does not tell (BLKDEV_DEFAULT_RQ of the kernel).
const TAGS_USUAL_REQUESTS: u32 = 128;

/// A scheduler with a queue depth, written `bfq/4`; what it says more follows, such as `bfq/4 ra512 wbt0`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Setting {
    pub scheduler: String,
    /// Requests that the queue holds (`nr_requests`).
    pub depth_requests: u32,
    /// Read-ahead in KiB; absent: the device's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub read_ahead_kb: Option<u32>,
    /// Target of write-back throttling in us, 0 for none; absent: the device's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wbt_lat_usec: Option<u32>,
    /// Flushes are sent also to a device that was found to get none. Never the other way; see the module.
    #[serde(default, skip_serializing_if = "is_false")]
    pub write_back: bool,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde gives a reference")]
fn is_false(flag: &bool) -> bool {
    !flag
}

impl fmt::Display for Setting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.scheduler, self.depth_requests)?;
        if let Some(kb) = self.read_ahead_kb {
            write!(f, " ra{kb}")?;
        }
        if let Some(us) = self.wbt_lat_usec {
            write!(f, " wbt{us}")?;
        }
        if self.write_back { f.write_str(" write-back") } else { Ok(()) }
    }
}

impl Setting {
    #[must_use]
    pub fn new(scheduler: &str, depth_requests: u32) -> Self {
        Self {
            scheduler: scheduler.to_owned(),
            depth_requests,
            read_ahead_kb: None,
            wbt_lat_usec: None,
            write_back: false,
        }
    }

    /// Whether it is a scheduler with a depth and nothing else.
    #[must_use]
    pub fn is_plain(&self) -> bool {
        *self == Self::new(&self.scheduler, self.depth_requests)
    }

    /// What `device` had before brisk; `None` when that is not known.
    #[must_use]
    pub fn original(device: &Device) -> Option<Self> {
        let depth = device.original(&QueueSetting::NrRequests)?.parse().ok()?;
        Some(Self::new(device.original(&QueueSetting::Scheduler)?, depth))
    }

    /// The requests that put it in force; `None` when the device lacks the scheduler.
    ///
    /// Under `none` no scheduler holds requests: `nr_requests` then *is* the number of driver tags, and would stay in
    /// force under every scheduler that comes later. So that number is requested for by its own name, and only when it
    /// is lower than what the driver has.
    #[must_use]
    pub fn requests(&self, device: &Device, objective: Objective, reason: &Reason) -> Option<Vec<Request>> {
        if !device.has_scheduler(&self.scheduler) {
            return None;
        }
        let request = |setting: QueueSetting, value: String| {
            Request::set(Knob::queue(&device.name, setting), value, objective, reason.clone())
        };
        let depth = self.depth_requests.to_string();
        let mut requests = vec![request(QueueSetting::Scheduler, self.scheduler.clone())];
        if self.scheduler != "none" {
            requests.push(request(QueueSetting::NrRequests, depth));
        } else if self.depth_requests < tags_requests(device) {
            requests.push(request(QueueSetting::DriverTags, depth));
        }
        // What the device does not show it cannot be given.
        let mut more = |setting: QueueSetting, value: Option<String>| {
            if let Some(value) = value.filter(|_| device.original(&setting).is_some()) {
                requests.push(request(setting, value));
            }
        };
        more(QueueSetting::ReadAheadKb, self.read_ahead_kb.map(|kb| kb.to_string()));
        more(QueueSetting::WbtLatUsec, self.wbt_lat_usec.map(|us| us.to_string()));
        let through = device.original(&QueueSetting::WriteCache) == Some("write through");
        more(QueueSetting::WriteCache, (self.write_back && through).then(|| "write back".to_owned()));
        Some(requests)
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

    fn requested(setting: &Setting, device: &Device) -> Option<Vec<String>> {
        let requests = setting.requests(device, Objective::Energy, &Reason::rule("test"))?;
        let settings = requests.iter().filter_map(Request::setting);
        Some(settings.map(|setting| format!("{}={}", setting.knob, setting.value)).collect())
    }

    #[test]
    fn a_depth_under_none_is_the_driver_s() {
        let plain = device(&[("scheduler", "mq-deadline"), ("nr_requests", "256")]);
        let of =
            |scheduler: &str, depth| requested(&Setting::new(scheduler, depth), &plain).expect("offered").join(" ");
        assert_eq!(of("bfq", 4), "queue/mmcblk0/scheduler=bfq queue/mmcblk0/nr_requests=4");
        assert_eq!(of("none", 4), "queue/mmcblk0/scheduler=none queue/mmcblk0/driver_tags=4");
        assert_eq!(of("none", 128), "queue/mmcblk0/scheduler=none");
    }

    #[test]
    fn no_more_tags_are_requested_than_the_driver_has() {
        let none = Setting::new("none", 64);
        for originals in [&[("driver_tags", "64")][..], &[("scheduler", "none"), ("nr_requests", "64")]] {
            assert_eq!(requested(&none, &device(originals)).map(|requests| requests.len()), Some(1));
        }
        assert_eq!(requested(&Setting::new("none", 16), &device(&[("driver_tags", "64")])).map(|w| w.len()), Some(2));
    }

    #[test]
    fn further_settings_are_requested_where_the_device_has_them() {
        let full =
            Setting { read_ahead_kb: Some(512), wbt_lat_usec: Some(0), write_back: true, ..Setting::new("bfq", 4) };
        assert_eq!(full.to_string(), "bfq/4 ra512 wbt0 write-back");
        assert!(!full.is_plain() && Setting::new("bfq", 4).is_plain());
        let of =
            |originals: &[(&str, &str)]| requested(&full, &device(originals)).expect("offered").split_off(2).join(" ");
        assert_eq!(
            of(&[("read_ahead_kb", "128"), ("wbt_lat_usec", "2000"), ("write_cache", "write back")]),
            "queue/mmcblk0/read_ahead_kb=512 queue/mmcblk0/wbt_lat_usec=0"
        );
        assert_eq!(of(&[("write_cache", "write through")]), "queue/mmcblk0/write_cache=write back");
        assert_eq!(of(&[]), "");
    }

    #[test]
    fn no_setting_hides_a_volatile_cache() {
        let text = r#"{"scheduler": "none", "depth_requests": 4, "write_back": false}"#;
        let setting: Setting = serde_json::from_str(text).expect("a setting");
        for cache in ["write back", "write through"] {
            let requests = requested(&setting, &device(&[("write_cache", cache)])).expect("offered");
            assert!(requests.iter().all(|request| !request.contains("write_cache")), "{requests:?}");
        }
    }

    #[test]
    fn a_scheduler_that_the_kernel_lacks_gives_no_request() {
        assert_eq!(requested(&Setting::new("kyber", 4), &device(&[])), None);
    }
}
