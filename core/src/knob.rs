//! What can be set on a machine, under one name each.
//!
//! A [`Knob`] names one setting of one thing; its value is the text that the kernel shows for it. The text form of a
//! knob (`queue/mmcblk0/scheduler`, `queue/mmcblk0/mq-deadline/fifo_batch`, `vm/page-cluster`) is what configurations,
//! records and people use. Of a control group, records and journals have its key ([`Knob::text`]), and people see its
//! name (`io_priority/app-org.gnome.Evince-1.scope`).
//!
//! Properties: every knob is read back from its text; knobs sort in the order in which they are to be written, since
//! some reset others.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// First word of the settings of virtual memory.
const VM: &str = "vm";

/// One setting of one thing.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Knob {
    /// A setting of a block device's queue.
    Queue {
        /// Kernel name of the device.
        device: String,
        /// Which.
        setting: QueueSetting,
    },
    /// A setting of a control group, for all that runs in it.
    Group {
        /// Key of the group ([`crate::group`]).
        group: String,
        /// Which.
        setting: GroupSetting,
    },
    /// I/O priority of the processes of a control group that have none of their own: class and level as ionice(1) takes
    /// them, such as `best-effort 0` or `idle`.
    IoPriority {
        /// Key of the group ([`crate::group`]).
        group: String,
    },
    /// A setting of the kernel's virtual memory, for the whole machine: a whole number.
    Vm {
        /// Which.
        setting: VmSetting,
    },
}

/// Settings that are files of one name: the enum, its names, and what the kernel takes for each. A row here is all that
/// a new one needs, beside what uses it and, for virtual memory, the permission in `packaging/briskd.service`.
macro_rules! files {
    ($(#[$about:meta])* $of:ident { $($(#[$doc:meta])* $setting:ident = $name:literal takes $takes:literal;)+ }) => {
        $(#[$about])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum $of {
            $($(#[$doc])* $setting,)+
        }

        impl $of {
            /// All of them.
            pub const ALL: [Self; [$($name),+].len()] = [$(Self::$setting),+];

            /// Its name: the end of the path of its file.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$setting => $name),+
                }
            }

            /// What the kernel takes for it, in words.
            #[must_use]
            pub const fn takes(self) -> &'static str {
                match self {
                    $(Self::$setting => $takes),+
                }
            }
        }

        impl fmt::Display for $of {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(self.name())
            }
        }
    };
}

files! {
    /// A setting of virtual memory, by the name of its file (kernel: Documentation/admin-guide/sysctl/vm.rst and
    /// Documentation/admin-guide/mm/multigen_lru.rst).
    VmSetting {
        /// A swap-in reads up to 2 to the power of this many pages at once, where neighbouring slots are in use.
        PageCluster = "page-cluster" takes "a number from 0 to 31";
        /// How readily anonymous memory is reclaimed compared with files.
        Swappiness = "swappiness" takes "a number from 0 to 200, or to 100 before Linux 5.8";
        /// How much memory kswapd keeps free, in ten-thousandths of the memory.
        WatermarkScaleFactor = "watermark_scale_factor" takes "a number from 1 to 3000, or to 1000 before Linux 5.18";
        /// Memory that only urgent requests take, in KiB.
        MinFreeKbytes = "min_free_kbytes" takes "a number from 0 to 2147483647";
        /// How readily dentries and inodes are reclaimed compared with pages; 100 is usual.
        VfsCachePressure = "vfs_cache_pressure" takes "a number from 0 to 2147483647";
        /// Time in ms for which the multi-generational LRU keeps the working set in memory, or else the out-of-memory
        /// killer runs; 0 is off.
        LruGenMinTtlMs = "lru_gen/min_ttl_ms" takes "a number of milliseconds";
        /// Dirty pages beyond this percentage of available memory are written back in the background; 0 where
        /// `dirty_background_bytes` says it instead.
        DirtyBackgroundRatio = "dirty_background_ratio"
            takes "a percentage; 0 stands where dirty_background_bytes is set, which is to be 0 for this";
        /// Interval at which old dirty pages are written back; 0 is off.
        DirtyWritebackCentisecs = "dirty_writeback_centisecs" takes "a number of hundredths of a second";
    }
}

files! {
    /// A setting of a control group, by the name of its file.
    GroupSetting {
        /// The I/O class of what is asked for in the group.
        IoPrioClass = "io.prio.class" takes "no-change, promote-to-rt, restrict-to-be or idle";
        /// Its share of a busy device under iocost; 100 is usual.
        IoWeight = "io.weight" takes "a weight from 1 to 10000";
        /// The same under bfq.
        IoBfqWeight = "io.bfq.weight" takes "a weight from 1 to 1000";
        /// Above it the kernel reclaims from the group and slows it.
        MemoryHigh = "memory.high" takes "a number of bytes, or max for no limit";
        /// Below it the kernel reclaims from the group last.
        MemoryLow = "memory.low" takes "a number of bytes, or max for no limit";
        /// Of the first version: when memory is short, the kernel reclaims first from groups above it.
        MemorySoftLimit = "memory.soft_limit_in_bytes" takes "a number of bytes, or -1 for no limit";
        /// Of a kernel with the patch of `kernel/mars`: 1 while the app returns, otherwise 0.
        MemorySwapLaunch = "memory.swap.launch" takes "0 or 1";
    }
}

impl Serialize for GroupSetting {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

impl<'de> Deserialize<'de> for GroupSetting {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let found = Self::ALL.into_iter().find(|setting| setting.name() == text);
        found.ok_or_else(|| serde::de::Error::custom(format!("'{text}' is no setting of a control group")))
    }
}

/// A setting of a block device's queue, in the order in which they are to be written: a resize of the driver tags goes
/// through `none`, and a change of scheduler resets what comes after it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum QueueSetting {
    /// Requests that the driver accepts at once.
    DriverTags,
    /// The I/O scheduler.
    Scheduler,
    /// Requests that the scheduler holds.
    NrRequests,
    /// A tunable of one scheduler, which exists only while that scheduler is in force.
    Tunable {
        /// The scheduler's name.
        scheduler: String,
        /// The tunable's name.
        name: String,
    },
    /// Read-ahead of buffered reads, in KiB.
    ReadAheadKb,
    /// Largest request, in KiB.
    MaxSectorsKb,
    /// Target of write-back throttling in us; `0` is off.
    WbtLatUsec,
    /// How the kernel treats the device's cache: `write back` or `write through`.
    WriteCache,
}

/// The tunable that all schedulers share from Linux 7.0 on, which moved it from `queue/iosched` to `queue`.
pub const SHARED_TUNABLE: &str = "async_depth";

impl QueueSetting {
    const PLAIN: [(Self, &str); 7] = [
        (Self::DriverTags, "driver_tags"),
        (Self::Scheduler, "scheduler"),
        (Self::NrRequests, "nr_requests"),
        (Self::ReadAheadKb, "read_ahead_kb"),
        (Self::MaxSectorsKb, "max_sectors_kb"),
        (Self::WbtLatUsec, "wbt_lat_usec"),
        (Self::WriteCache, "write_cache"),
    ];

    /// A tunable of a scheduler.
    #[must_use]
    pub fn tunable(scheduler: &str, name: &str) -> Self {
        Self::Tunable { scheduler: scheduler.to_owned(), name: name.to_owned() }
    }
}

impl fmt::Display for QueueSetting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tunable { scheduler, name } => write!(f, "{scheduler}/{name}"),
            plain => f.write_str(Self::PLAIN.iter().find(|(setting, _)| setting == plain).map_or("", |(_, name)| name)),
        }
    }
}

impl Knob {
    /// A setting of the queue of `device`.
    #[must_use]
    pub fn queue(device: &str, setting: QueueSetting) -> Self {
        Self::Queue { device: device.to_owned(), setting }
    }

    /// The block device that it belongs to, if it does.
    #[must_use]
    pub fn device(&self) -> Option<&str> {
        match self {
            Self::Queue { device, .. } => Some(device),
            Self::IoPriority { .. } | Self::Group { .. } | Self::Vm { .. } => None,
        }
    }

    /// Key of the group that it belongs to.
    #[must_use]
    pub fn group(&self) -> Option<&str> {
        match self {
            Self::IoPriority { group } | Self::Group { group, .. } => Some(group),
            Self::Queue { .. } | Self::Vm { .. } => None,
        }
    }

    /// Name of the device or key of the group that it belongs to, or `vm`.
    #[must_use]
    pub fn subject(&self) -> &str {
        match self {
            Self::Queue { device, .. } => device,
            Self::IoPriority { group } | Self::Group { group, .. } => group,
            Self::Vm { .. } => VM,
        }
    }

    /// Device and setting, of the queue of a device.
    #[must_use]
    pub fn queue_setting(&self) -> Option<(&str, &QueueSetting)> {
        match self {
            Self::Queue { device, setting } => Some((device, setting)),
            _ => None,
        }
    }

    /// Name of the file that holds it, where brisk writes no more than that file.
    #[must_use]
    pub fn file(&self) -> Option<&'static str> {
        match self {
            Self::Group { setting, .. } => Some(setting.name()),
            Self::Vm { setting } => setting.name().rsplit('/').next(),
            Self::Queue { .. } | Self::IoPriority { .. } => None,
        }
    }

    /// Name of the setting, without device or group.
    #[must_use]
    pub fn setting(&self) -> String {
        match self {
            Self::Queue { setting, .. } => setting.to_string(),
            Self::IoPriority { .. } => "io_priority".to_owned(),
            Self::Group { setting, .. } => setting.to_string(),
            Self::Vm { setting } => setting.to_string(),
        }
    }

    /// The text from which it is read back.
    #[must_use]
    pub fn text(&self) -> String {
        self.group().map_or_else(|| self.to_string(), |group| format!("{}/{group}", self.setting()))
    }

    /// Whether a person who says `text` may mean it.
    #[must_use]
    pub fn is_meant(&self, text: &str) -> bool {
        self.text() == text || self.to_string() == text
    }
}

/// What people call it.
impl fmt::Display for Knob {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            // A slash in a kernel name is a '!' in sysfs.
            Self::Queue { device, setting } => write!(f, "queue/{}/{setting}", device.replace('/', "!")),
            Self::Vm { setting } => write!(f, "{VM}/{setting}"),
            Self::IoPriority { group } | Self::Group { group, .. } => {
                write!(f, "{}/{}", self.setting(), crate::group::name(group))
            }
        }
    }
}

/// A text that names no knob.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "'{0}' names no setting: write queue/DEVICE/NAME ({of_queues}), queue/DEVICE/SCHEDULER/TUNABLE, \
     io_priority/GROUP, {of_groups} or vm/NAME ({of_vm})",
    of_queues = QueueSetting::PLAIN.map(|(_, name)| name).join(", "),
    of_groups = GroupSetting::ALL.map(|setting| format!("{setting}/GROUP")).join(", "),
    of_vm = VmSetting::ALL.map(VmSetting::name).join(", ")
)]
pub struct NotAKnob(pub String);

impl FromStr for Knob {
    type Err = NotAKnob;

    fn from_str(text: &str) -> Result<Self, NotAKnob> {
        let wrong = || NotAKnob(text.to_owned());
        let (kind, rest) = text.split_once('/').ok_or_else(wrong)?;
        match kind {
            "io_priority" if !rest.is_empty() => Ok(Self::IoPriority { group: rest.to_owned() }),
            "queue" => {
                let mut parts = rest.split('/');
                let device = parts.next().filter(|name| !name.is_empty()).ok_or_else(wrong)?.replace('!', "/");
                let parts: Vec<&str> = parts.collect();
                let setting = match parts.as_slice() {
                    [name] => {
                        QueueSetting::PLAIN.into_iter().find(|(_, known)| known == name).map(|(setting, _)| setting)
                    }
                    [scheduler, name] if !scheduler.is_empty() && !name.is_empty() => {
                        Some(QueueSetting::tunable(scheduler, name))
                    }
                    _ => None,
                };
                Ok(Self::Queue { device, setting: setting.ok_or_else(wrong)? })
            }
            VM => {
                let setting = VmSetting::ALL.into_iter().find(|setting| setting.name() == rest);
                Ok(Self::Vm { setting: setting.ok_or_else(wrong)? })
            }
            _ => {
                let setting = GroupSetting::ALL.into_iter().find(|setting| setting.name() == kind);
                let setting = setting.filter(|_| !rest.is_empty()).ok_or_else(wrong)?;
                Ok(Self::Group { group: rest.to_owned(), setting })
            }
        }
    }
}

impl Serialize for Knob {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.text())
    }
}

impl<'de> Deserialize<'de> for Knob {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn settings() -> impl Strategy<Value = QueueSetting> {
        prop_oneof![
            (0..QueueSetting::PLAIN.len()).prop_map(|i| QueueSetting::PLAIN[i].0.clone()),
            ("[a-z-]{1,12}", "[a-z_]{1,12}").prop_map(|(scheduler, name)| QueueSetting::tunable(&scheduler, &name)),
        ]
    }

    #[test]
    fn a_text_that_names_no_knob_is_refused() {
        for text in [
            "",
            "queue",
            "queue/",
            "queue//scheduler",
            "queue/sda",
            "queue/sda/speed",
            "queue/sda/a/b/c",
            "io_priority/",
            "io.weight/",
            "io.max/x",
            "vm",
            "vm/",
            "vm/drop_caches",
            "vm/page-cluster/0",
            "vm/../kernel/panic",
            "vm/min_ttl_ms",
        ] {
            assert_eq!(text.parse::<Knob>(), Err(NotAKnob(text.to_owned())));
        }
    }

    #[test]
    fn what_resets_others_is_written_first() {
        let tunable = QueueSetting::tunable("mq-deadline", "fifo_batch");
        assert!(QueueSetting::DriverTags < QueueSetting::Scheduler);
        assert!(QueueSetting::Scheduler < QueueSetting::NrRequests);
        assert!(QueueSetting::Scheduler < tunable && tunable < QueueSetting::WbtLatUsec);
    }

    #[test]
    fn people_see_the_name_of_a_group() {
        let knob: Knob = "io.weight/7/user.slice/user-1000.slice/app-x-1.scope".parse().expect("a knob");
        assert_eq!(knob.to_string(), "io.weight/app-x-1.scope");
        assert!(knob.is_meant("io.weight/app-x-1.scope") && knob.is_meant(&knob.text()));
        assert!(!knob.is_meant("io.weight/app-y-1.scope"));
    }

    proptest! {
        #[test]
        fn every_knob_is_read_back_from_its_text(
            device in "[a-z0-9/]{1,8}",
            setting in settings(),
            group in "[ -~]{1,20}",
            of_group in prop::sample::select(&GroupSetting::ALL[..]),
            of_vm in prop::sample::select(&VmSetting::ALL[..]),
        ) {
            for knob in [
                Knob::queue(&device, setting),
                Knob::IoPriority { group: group.clone() },
                Knob::Group { group, setting: of_group },
                Knob::Vm { setting: of_vm },
            ] {
                prop_assert!(knob.is_meant(&knob.to_string()));
                prop_assert_eq!(knob.text().parse(), Ok(knob));
            }
        }

        #[test]
        fn no_text_makes_the_parser_panic(text in ".*") {
            let _ = text.parse::<Knob>();
        }
    }
}
