//! What brisk can do to a machine.
//!
//! A *setting* ([`Setting`]) is a knob with a value: in force for as long as an engine requests it; the knob gets its
//! original value, the one from before brisk, afterwards.
//! A *one-shot action* ([`Once`]) happens once. Some leave a state behind that has to be undone when brisk ends: a
//! frozen group is thawed (undone by the journal, `machine/act/src/undo.rs`; [`Once::undo`] names the opposite action).
//! `brisk-act` journals it, like a setting.
//!
//! Properties: `each_action_either_favours_an_app_or_takes_from_it`; `what_undoes_an_action_is_its_opposite`.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::group;
use crate::knob::Knob;
use crate::launch::{Piece, PrefetchFile};
use crate::pages::MappedFile;

/// One thing that an engine can ask for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Action {
    /// A knob is to have this value until it is released.
    Set(Setting),
    /// This is to happen once.
    Once(Once),
}

/// A knob and its value, as the kernel shows it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Setting {
    /// The knob.
    pub knob: Knob,
    /// The value.
    pub value: String,
}

impl Setting {
    /// A setting of this knob.
    #[must_use]
    pub fn new(knob: Knob, value: impl Into<String>) -> Self {
        Self { knob, value: value.into() }
    }
}

/// A range of the address space of a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct AddressRange {
    /// The process.
    pub pid: u32,
    /// First address; a multiple of the page size.
    pub start: u64,
    /// Length; a multiple of the page size.
    pub size_bytes: u64,
}

/// A range of the content of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(from = "(u64, u64)", into = "(u64, u64)")]
pub struct FileRange {
    /// Its begin in the file.
    pub offset_bytes: u64,
    /// Its length.
    pub size_bytes: u64,
}

impl From<(u64, u64)> for FileRange {
    fn from((offset_bytes, size_bytes): (u64, u64)) -> Self {
        Self { offset_bytes, size_bytes }
    }
}

impl From<FileRange> for (u64, u64) {
    fn from(range: FileRange) -> Self {
        (range.offset_bytes, range.size_bytes)
    }
}

/// Ranges of one file.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct FileRanges {
    /// The file. Another one that has its path by now is not read.
    pub file: MappedFile,
    /// The ranges, ascending.
    pub ranges: Vec<FileRange>,
}

/// Actions that happen once: each with its name, as in records, and with what it has beside the control group.
macro_rules! once {
    ($(#[$about:meta])* $of:ident { $($(#[$doc:meta])* $action:ident = $name:literal {
        $($(#[$of_field:meta])* $field:ident: $type:ty,)*
    })+ }) => {
        $(#[$about])*
        #[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(tag = "action")]
        pub enum $of {
            $(
                $(#[$doc])*
                #[serde(rename = $name)]
                $action {
                    /// Key of the control group ([`crate::group`]).
                    group: String,
                    $($(#[$of_field])* $field: $type,)*
                },
            )+
        }

        impl $of {
            /// The control group that it acts on.
            #[must_use]
            pub fn group(&self) -> &str {
                match self {
                    $(Self::$action { group, .. })|+ => group,
                }
            }

            /// Name of the action, as in records.
            #[must_use]
            pub fn name(&self) -> &'static str {
                match self {
                    $(Self::$action { .. } => $name),+
                }
            }
        }
    };
}

once! {
    /// An action that happens once, on the control group of an app. The order is that of execution: apps run again
    /// first, then memory is freed, and read back last. Freeing and reading take time: the actions of an app that
    /// returns (`Thaw`, `PageIn`, `ReadAhead`) end the page-outs that are under way, of all apps, and what was not
    /// written of them is dropped.
    Once {
        /// Its processes run again.
        Thaw = "thaw" {}
        /// Its processes stop running.
        Freeze = "freeze" {}
        /// Its processes are asked to end (SIGTERM), and killed when they have not ended in time. Asked again, they
        /// have the lesser time.
        EndApp = "end_app" {
            /// Time between the two.
            grace_ms: u64,
        }
        /// A process of the group and all that it has started are asked to end, and killed when they have not ended in
        /// time: in a terminal or session, whose shell stays.
        EndProcess = "end_process" {
            /// The process.
            pid: u32,
            /// When it started, in ticks after boot: a later process of its number is another one.
            start_ticks: u64,
            /// Time between the two.
            grace_ms: u64,
        }
        /// The page cache of the group is freed; anonymous memory stays.
        DropPageCache = "drop_page_cache" {}
        /// Memory of the group is reclaimed, whichever the kernel takes.
        Reclaim = "reclaim" {
            /// How much.
            size_bytes: u64,
        }
        /// Ranges of its memory are written to swap (MADV_PAGEOUT).
        PageOut = "page_out" {
            /// The ranges, in the order of writing; none: all private memory that is no file's.
            ranges: Vec<AddressRange>,
        }
        /// Ranges of files that it maps are read into the page cache.
        ReadAhead = "read_ahead" {
            /// The files, in the order of reading.
            files: Vec<FileRanges>,
        }
        /// What a launch is expected to use of files is read ahead of it, in this order.
        Prefetch = "prefetch" {
            /// Number of threads that ask for it, 1 to 16.
            streams: u8,
            /// Their I/O class and level, as ionice(1) takes them.
            priority: String,
            /// The files.
            files: Vec<PrefetchFile>,
            /// Ranges of them, in the order of reading.
            pieces: Vec<Piece>,
        }
        /// What a launch of an app that does not run is expected to use of files is read, before anyone asks for it.
        /// The group is the id of the app.
        MakeReady = "make_ready" {
            /// The most that is read from the device.
            most_bytes: u64,
            /// The files.
            files: Vec<PrefetchFile>,
            /// Ranges of them, in the order of reading.
            pieces: Vec<Piece>,
        }
        /// What is read ahead of a launch, or to make an app ready, ends between two requests.
        EndPrefetch = "end_prefetch" {}
        /// Ranges of its memory are read back from swap (MADV_WILLNEED).
        PageIn = "page_in" {
            /// The ranges, in the order of reading.
            ranges: Vec<AddressRange>,
        }
        /// Ranges of its memory are mapped again, read from swap where they are there (process_vm_readv): they are in
        /// memory as if the app had touched them, so that they can be written out to other slots.
        MapIn = "map_in" {
            /// The ranges, in the order of reading.
            ranges: Vec<AddressRange>,
        }
    }
}

/// Whether brisk ends apps when memory is short.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Ends {
    /// While no other program does: systemd-oomd, earlyoom, nohang, lmkd.
    #[default]
    Auto,
    /// Not at all.
    Never,
    /// Whatever else runs.
    Always,
}

impl Once {
    /// Whether the app gets something by it: time to run, memory, a longer life, or the device for itself. All other
    /// actions take that away.
    #[must_use]
    pub fn favours_the_app(&self) -> bool {
        matches!(
            self,
            Self::Thaw { .. }
                | Self::PageIn { .. }
                | Self::MapIn { .. }
                | Self::ReadAhead { .. }
                | Self::Prefetch { .. }
                | Self::MakeReady { .. }
                | Self::EndPrefetch { .. }
        )
    }

    /// Whether it does nothing but end what an earlier action left behind.
    #[must_use]
    pub fn only_restores(&self) -> bool {
        matches!(self, Self::Thaw { .. } | Self::EndPrefetch { .. })
    }

    /// Whether it ends an app, or a part of one.
    #[must_use]
    pub fn ends(&self) -> bool {
        matches!(self, Self::EndApp { .. } | Self::EndProcess { .. })
    }

    /// Time from the request to end to the kill, of one that ends.
    #[must_use]
    pub fn grace_ms(&self) -> Option<u64> {
        match self {
            Self::EndApp { grace_ms, .. } | Self::EndProcess { grace_ms, .. } => Some(*grace_ms),
            _ => None,
        }
    }

    /// The same with another such time.
    #[must_use]
    pub fn with_grace_ms(mut self, shorter_ms: u64) -> Self {
        if let Self::EndApp { grace_ms, .. } | Self::EndProcess { grace_ms, .. } = &mut self {
            *grace_ms = shorter_ms;
        }
        self
    }

    /// Whether it writes memory to swap.
    #[must_use]
    pub fn swaps_out(&self) -> bool {
        matches!(self, Self::Reclaim { .. } | Self::PageOut { .. })
    }

    /// What has to be done when brisk ends, if anything.
    #[must_use]
    pub fn undo(&self) -> Option<Self> {
        match self {
            Self::Freeze { group } => Some(Self::Thaw { group: group.clone() }),
            _ => None,
        }
    }

    /// The same without what makes it long, for events and views: of `Prefetch` and `MakeReady` one range, as long as
    /// all together.
    #[must_use]
    pub fn in_short(&self) -> Self {
        match self {
            Self::Prefetch { group, streams, priority, pieces, .. } => Self::Prefetch {
                group: group.clone(),
                streams: *streams,
                priority: priority.clone(),
                files: Vec::new(),
                pieces: vec![Piece { file: 0, offset_bytes: 0, size_bytes: sum_bytes(pieces) }],
            },
            Self::MakeReady { group, most_bytes, pieces, .. } => Self::MakeReady {
                group: group.clone(),
                most_bytes: *most_bytes,
                files: Vec::new(),
                pieces: vec![Piece { file: 0, offset_bytes: 0, size_bytes: sum_bytes(pieces) }],
            },
            other => other.clone(),
        }
    }
}

fn sum_bytes(pieces: &[Piece]) -> u64 {
    pieces.iter().map(|piece| piece.size_bytes).fold(0, u64::saturating_add)
}

impl fmt::Display for Once {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.name().replace('_', " "), group::name(self.group()))?;
        match self {
            Self::PageOut { ranges, .. } if ranges.is_empty() => f.write_str(" (all of it)"),
            Self::PageIn { ranges, .. } | Self::PageOut { ranges, .. } | Self::MapIn { ranges, .. } => {
                let size_bytes: u64 = ranges.iter().map(|range| range.size_bytes).fold(0, u64::saturating_add);
                write!(f, " ({} ranges, {} KiB)", ranges.len(), size_bytes >> 10)
            }
            Self::ReadAhead { files, .. } => {
                let ranges = files.iter().flat_map(|file| &file.ranges);
                let size_bytes: u64 = ranges.map(|range| range.size_bytes).fold(0, u64::saturating_add);
                write!(f, " ({} files, {} KiB)", files.len(), size_bytes >> 10)
            }
            Self::Prefetch { pieces, .. } | Self::MakeReady { pieces, .. } => {
                write!(f, " ({} KiB)", sum_bytes(pieces) >> 10)
            }
            Self::Reclaim { size_bytes, .. } => write!(f, " ({} KiB)", size_bytes >> 10),
            Self::EndApp { grace_ms, .. } => write!(f, " (killed after {grace_ms} ms)"),
            Self::EndProcess { pid, grace_ms, .. } => write!(f, " (process {pid}, killed after {grace_ms} ms)"),
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Any action on one of a few groups.
    pub(crate) fn any_once() -> impl Strategy<Value = Once> {
        (0..13usize, prop::sample::select(&["a", "b", "c"][..]), 1..4u64).prop_map(|(which, group, size)| {
            let group = group.to_owned();
            let ranges = vec![AddressRange { pid: 7, start: 4096, size_bytes: size * 4096 }];
            match which {
                0 => Once::Thaw { group },
                2 => Once::PageIn { group, ranges },
                4 => Once::Freeze { group },
                5 => Once::PageOut { group, ranges },
                6 => Once::Reclaim { group, size_bytes: size << 20 },
                7 => Once::DropPageCache { group },
                8 => Once::MapIn { group, ranges },
                9 => {
                    let file = MappedFile { device: 1, inode: 2, path: "/usr/bin/x".to_owned() };
                    let ranges = vec![FileRange { offset_bytes: 0, size_bytes: size * 4096 }];
                    Once::ReadAhead { group, files: vec![FileRanges { file, ranges }] }
                }
                10 => {
                    let file = MappedFile { device: 1, inode: 2, path: "/usr/bin/x".to_owned() };
                    let files = vec![PrefetchFile { file, version: (1, 9000).into() }];
                    let pieces = vec![Piece { file: 0, offset_bytes: 0, size_bytes: size * 4096 }];
                    Once::Prefetch { group, streams: 4, priority: "best-effort 5".to_owned(), files, pieces }
                }
                11 => {
                    let pieces = vec![Piece { file: 0, offset_bytes: 0, size_bytes: size * 4096 }];
                    Once::MakeReady { group, most_bytes: size << 20, files: Vec::new(), pieces }
                }
                1 => Once::EndPrefetch { group },
                3 => Once::EndProcess { group, pid: 7, start_ticks: 9, grace_ms: size * 1000 },
                _ => Once::EndApp { group, grace_ms: size * 1000 },
            }
        })
    }

    #[test]
    fn each_action_either_favours_an_app_or_takes_from_it() {
        let group = "a".to_owned();
        let favours = |once: Once| once.favours_the_app();
        assert!(favours(Once::Thaw { group: group.clone() }) && !favours(Once::Freeze { group: group.clone() }));
        assert!(favours(Once::PageIn { group: group.clone(), ranges: vec![] }));
        assert!(favours(Once::ReadAhead { group: group.clone(), files: vec![] }));
        assert!(
            !favours(Once::EndApp { group: group.clone(), grace_ms: 1 }) && !favours(Once::DropPageCache { group })
        );
    }

    #[test]
    fn an_action_reads_as_words() {
        let ranges = vec![AddressRange { pid: 1, start: 0, size_bytes: 8192 }; 2];
        let text = Once::PageOut { group: "7/user.slice/app-x-1.scope".to_owned(), ranges }.to_string();
        assert_eq!(text, "page out app-x-1.scope (2 ranges, 16 KiB)");
        let all = Once::PageOut { group: "app-x-1.scope".to_owned(), ranges: Vec::new() };
        assert_eq!(all.to_string(), "page out app-x-1.scope (all of it)");
    }

    proptest! {
        #[test]
        fn what_undoes_an_action_is_its_opposite(once in any_once()) {
            if let Some(undo) = once.undo() {
                prop_assert_eq!(undo.group(), once.group());
                prop_assert_ne!(undo.favours_the_app(), once.favours_the_app());
            }
        }

        #[test]
        fn a_short_action_reads_as_the_whole_one(once in any_once()) {
            prop_assert_eq!(once.in_short().to_string(), once.to_string());
            prop_assert_eq!(once.in_short().in_short(), once.in_short());
        }

        #[test]
        fn every_action_is_read_back_from_its_record(once in any_once()) {
            let text = serde_json::to_value(&once).expect("JSON");
            prop_assert_eq!(text["action"].as_str(), Some(once.name()));
            prop_assert_eq!(serde_json::from_value::<Once>(text).expect("the same"), once);
        }
    }
}
