//! The solutions: how storage is set up for an app, and what the app is told.

use std::path::PathBuf;

use brisk_sync::policy::{Homes, Policy};

/// Home directory of the user in a run.
const HOME: &str = "/mnt/home";

/// A part of an app's data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    Files,
    /// The index of the cache, a database.
    Index,
    /// The database that the user would miss.
    Kept,
}

impl Part {
    pub const ALL: [Self; 3] = [Self::Files, Self::Index, Self::Kept];
    pub const DATABASES: [Self; 2] = [Self::Index, Self::Kept];

    /// Its directory: as XDG has it, so that the default policy of selective sync applies.
    #[must_use]
    pub fn directory(self) -> &'static str {
        match self {
            Self::Files => "/mnt/home/.cache/app/files",
            Self::Index => "/mnt/home/.cache/app/index",
            Self::Kept => "/mnt/home/.local/share/app",
        }
    }
}

/// What holds for a part after a power cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Promise {
    /// All that was acknowledged is there.
    Durable,
    /// A prefix of the transactions is there, no older than so many seconds.
    Ordered { seconds: u32 },
    /// A prefix of the transactions is there, of any age.
    Whole,
    /// Nothing: it may be damaged or gone.
    Nothing,
}

impl Promise {
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Durable => "durable",
            Self::Ordered { .. } => "ordered",
            Self::Whole => "whole",
            Self::Nothing => "nothing",
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileSystem {
    Ext4,
    F2fs,
    Btrfs,
    Nilfs2,
}

impl FileSystem {
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Ext4 => "ext4",
            Self::F2fs => "f2fs",
            Self::Btrfs => "btrfs",
            Self::Nilfs2 => "nilfs2",
        }
    }

    /// What makes it, and its package.
    #[must_use]
    pub fn program(self) -> (&'static str, &'static str) {
        match self {
            Self::Ext4 => ("mkfs.ext4", "e2fsprogs"),
            Self::F2fs => ("mkfs.f2fs", "f2fs-tools"),
            Self::Btrfs => ("mkfs.btrfs", "btrfs-progs"),
            Self::Nilfs2 => ("mkfs.nilfs2", "nilfs-tools"),
        }
    }
}

/// A device beside the card.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Beside {
    /// Another one like it, striped with pieces of so many KiB.
    Twin { stripe_kib: u32 },
    /// One of another preset, striped.
    Other { preset: &'static str, stripe_kib: u32 },
    /// 16 MiB of phase-change memory that hold the databases.
    PcmForDatabases,
    /// 16 MiB of phase-change memory that hold what was written last (dm-writecache), for all files.
    PcmForWrites,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Solution {
    pub name: &'static str,
    pub text: &'static str,
    /// What a power cut or a removed card costs, compared with the baseline.
    pub risk: &'static str,
    pub file_system: FileSystem,
    /// Another one for the databases, on a part of the same card.
    pub of_databases: Option<FileSystem>,
    pub in_ram: &'static [Part],
    /// A second device.
    pub beside: Option<Beside>,
    /// SQLite's settings and rows of a transaction, as `c/app.c` takes them.
    pub settings: &'static str,
    /// Policy of selective sync; the empty text is the default one.
    pub policy: Option<&'static str>,
    /// What holds after a power cut, in the order of [`Part::ALL`].
    pub promises: [Promise; 3],
}

/// The baseline: of SQLite's rollback journals the one with which the apps write what the paper's table V says: deleted
/// or truncated journals write twice as much in sequence.
const BASELINE: Solution = Solution {
    name: "baseline",
    text: "everything on the card, ext4, SQLite with a rollback journal that stays, and full syncs",
    risk: "none: what an app was told is durable is",
    file_system: FileSystem::Ext4,
    of_databases: None,
    in_ram: &[],
    beside: None,
    settings: "journal=persist",
    policy: None,
    promises: [Promise::Durable; 3],
};

/// The policy that names all data of the app as cache.
const ALL_CACHE: &str = "[[directory]]\npath = \"$XDG_DATA_HOME/app\"\nclass = \"cache\"\n";
/// The policy that keeps the order of the database that the user would miss.
const ORDERED: &str = "[[database]]\npath = \"$XDG_DATA_HOME/app/kept.db\"\nclass = \"ordered\"\n";

/// Of a stripe over two devices. The second half was seen in 3 of 300 power cuts, in which the devices were cut one
/// after the other: ext4 did not mount, since a block of a committed transaction was missing in its journal. In two of
/// them `e2fsck -fy` found no other damage.
const STRIPE_RISK: &str = "all data is lost when one of two devices fails or is pulled; a power cut that reaches one \
                           before the other can damage the file system";
const NO_LOSS: &str = BASELINE.risk;
const ALL_LOST: &str = "a bound, no cure: the data is lost when the device is switched off";

/// All solutions, the baseline first.
pub const SOLUTIONS: &[Solution] = &[
    BASELINE,
    Solution {
        name: "cache_in_ram",
        text: "files of the cache in memory",
        risk: "the files of the cache are fetched anew after each start",
        in_ram: &[Part::Files],
        promises: [Promise::Nothing, Promise::Durable, Promise::Durable],
        ..BASELINE
    },
    Solution {
        name: "index_in_ram",
        text: "the database of cache class in memory: the bound of selective sync",
        risk: "the index of the cache is made anew after each start",
        in_ram: &[Part::Index],
        promises: [Promise::Durable, Promise::Nothing, Promise::Durable],
        ..BASELINE
    },
    Solution {
        name: "databases_in_ram",
        text: "both databases in memory",
        risk: ALL_LOST,
        in_ram: &Part::DATABASES,
        promises: [Promise::Durable, Promise::Nothing, Promise::Nothing],
        ..BASELINE
    },
    Solution {
        name: "all_in_ram",
        text: "all data in memory",
        risk: ALL_LOST,
        in_ram: &Part::ALL,
        promises: [Promise::Nothing; 3],
        ..BASELINE
    },
    Solution {
        name: "sync_off",
        text: "no file of the app is synced (brisk sync, all its data of the class cache)",
        risk: "a power cut can damage both databases",
        policy: Some(ALL_CACHE),
        promises: [Promise::Nothing; 3],
        ..BASELINE
    },
    Solution {
        name: "selective_sync",
        text: "brisk sync with its default policy: files in ~/.cache are not synced",
        risk: "a power cut can damage the index of the cache, which is then made anew",
        policy: Some(""),
        promises: [Promise::Nothing, Promise::Nothing, Promise::Durable],
        ..BASELINE
    },
    Solution {
        name: "selective_sync_ordered",
        text: "brisk sync: the cache is not synced, the other database is ordered and in WAL mode",
        risk: "as selective_sync, and of the other database the last 5 s can be lost, in order",
        settings: "journal=wal",
        policy: Some(ORDERED),
        promises: [Promise::Nothing, Promise::Nothing, Promise::Ordered { seconds: 5 }],
        ..BASELINE
    },
    Solution {
        name: "journal_truncate",
        text: "SQLite with a rollback journal that is truncated after each transaction",
        risk: NO_LOSS,
        settings: "journal=truncate",
        ..BASELINE
    },
    Solution {
        name: "journal_delete",
        text: "SQLite with a rollback journal that is deleted after each transaction, its default",
        // SQLite syncs the directory after it only with synchronous=EXTRA.
        risk: "a power cut can bring the journal back, which undoes the last transactions, in order",
        settings: "journal=delete",
        promises: [Promise::Durable, Promise::Whole, Promise::Whole],
        ..BASELINE
    },
    Solution {
        name: "wal",
        text: "SQLite with a write-ahead log, a sync for each commit",
        risk: NO_LOSS,
        settings: "journal=wal",
        ..BASELINE
    },
    Solution {
        name: "wal_normal",
        text: "SQLite with a write-ahead log and synchronous=NORMAL",
        risk: "a power cut can lose the last transactions, in order, without a bound of time",
        settings: "journal=wal synchronous=normal",
        promises: [Promise::Durable, Promise::Whole, Promise::Whole],
        ..BASELINE
    },
    Solution {
        name: "rollback_normal",
        text: "SQLite with a rollback journal and synchronous=NORMAL",
        risk: "in rare cases a power cut can damage a database",
        settings: "journal=persist synchronous=normal",
        promises: [Promise::Durable, Promise::Nothing, Promise::Nothing],
        ..BASELINE
    },
    Solution {
        name: "transactions_of_10",
        text: "ten rows a transaction",
        risk: "an app that ends early loses up to nine rows; the app has to be changed",
        settings: "journal=persist batch=10",
        ..BASELINE
    },
    Solution { name: "btrfs", text: "all data on btrfs", risk: NO_LOSS, file_system: FileSystem::Btrfs, ..BASELINE },
    Solution { name: "f2fs", text: "all data on f2fs", risk: NO_LOSS, file_system: FileSystem::F2fs, ..BASELINE },
    Solution {
        name: "f2fs_databases",
        text: "the databases on f2fs, on a part of the card",
        risk: NO_LOSS,
        of_databases: Some(FileSystem::F2fs),
        ..BASELINE
    },
    Solution {
        name: "nilfs2_databases",
        text: "the databases on nilfs2, on a part of the card",
        risk: NO_LOSS,
        of_databases: Some(FileSystem::Nilfs2),
        ..BASELINE
    },
    Solution {
        name: "raid0_4k",
        text: "RAID-0 over two such cards, in pieces of 4 KiB",
        risk: STRIPE_RISK,
        beside: Some(Beside::Twin { stripe_kib: 4 }),
        ..BASELINE
    },
    Solution {
        name: "raid0_64k",
        text: "RAID-0 over two such cards, in pieces of 64 KiB",
        risk: STRIPE_RISK,
        beside: Some(Beside::Twin { stripe_kib: 64 }),
        ..BASELINE
    },
    Solution {
        name: "raid0_4k_unequal",
        text: "RAID-0 over the card and the flash of a Galaxy S5, in pieces of 4 KiB",
        risk: STRIPE_RISK,
        beside: Some(Beside::Other { preset: "galaxy-s5-emmc", stripe_kib: 4 }),
        ..BASELINE
    },
    Solution {
        name: "pcm_databases",
        text: "the databases on 16 MiB of phase-change memory",
        risk: NO_LOSS,
        beside: Some(Beside::PcmForDatabases),
        ..BASELINE
    },
    Solution {
        name: "pcm_writes",
        text: "16 MiB of phase-change memory before the card (dm-writecache), for all writes",
        risk: "all data is lost when the memory fails",
        beside: Some(Beside::PcmForWrites),
        ..BASELINE
    },
];

/// The solution of this name.
#[must_use]
pub fn find(name: &str) -> Option<&'static Solution> {
    SOLUTIONS.iter().find(|solution| solution.name == name)
}

impl Solution {
    /// The rules in the environment of the app, where it has a policy: made of the policy as `brisk sync` does.
    ///
    /// # Panics
    /// When a policy of the table is invalid, which a test excludes.
    #[must_use]
    pub fn rules(&self) -> Option<String> {
        let text = self.policy?;
        let policy = Policy::parse(text).expect("a test parses all of them");
        let home = PathBuf::from(HOME);
        let below = |name: &str| home.join(name);
        let homes = Homes {
            data: below(".local/share"),
            config: below(".config"),
            state: below(".local/state"),
            cache: below(".cache"),
            home: home.clone(),
        };
        Some(policy.rules(&homes).expect("a test makes all of them").encode())
    }

    /// File systems that it takes.
    pub fn file_systems(&self) -> impl Iterator<Item = FileSystem> + use<> {
        [Some(self.file_system), self.of_databases].into_iter().flatten()
    }

    /// Modules of the kernel that it takes beside that of the flash device.
    #[must_use]
    pub fn modules(&self) -> Vec<&'static str> {
        let mut modules: Vec<&str> = self.file_systems().map(FileSystem::name).collect();
        if self.of_databases.is_some() || matches!(self.beside, Some(Beside::Twin { .. } | Beside::Other { .. })) {
            modules.push("dm-mod");
        }
        if self.beside == Some(Beside::PcmForWrites) {
            modules.extend(["dm-mod", "dm-writecache"]);
        }
        modules
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use brisk_sync::policy::Class;

    #[test]
    fn names_are_unique_and_the_baseline_is_first() {
        assert_eq!(SOLUTIONS[0].name, "baseline");
        for (place, solution) in SOLUTIONS.iter().enumerate() {
            assert!(SOLUTIONS[..place].iter().all(|other| other.name != solution.name), "{}", solution.name);
            assert_eq!(find(solution.name), Some(solution));
        }
        assert_eq!(find("raid5"), None);
    }

    #[test]
    fn each_policy_loosens_what_its_solution_says() {
        let class = |solution: &Solution, path: &str| {
            let policy = Policy::parse(solution.policy.expect("a policy")).expect("valid");
            let home = PathBuf::from(HOME);
            let homes = Homes {
                data: home.join(".local/share"),
                config: home.join(".config"),
                state: home.join(".local/state"),
                cache: home.join(".cache"),
                home,
            };
            policy.rules(&homes).expect("rules").class_of(path)
        };
        let (index, kept) = (Part::Index.directory(), Part::Kept.directory());
        for (name, of_kept) in
            [("sync_off", Class::Cache), ("selective_sync", Class::Durable), ("selective_sync_ordered", Class::Ordered)]
        {
            let solution = find(name).expect("it is there");
            for file in ["index.db", "index.db-journal", "index.db-wal"] {
                assert_eq!(class(solution, &format!("{index}/{file}")), Class::Cache, "{name}");
            }
            assert_eq!(class(solution, &format!("{kept}/kept.db")), of_kept, "{name}");
            assert!(solution.rules().expect("rules").starts_with("brisk-sync 1\n"), "{name}");
        }
        assert_eq!(find("baseline").expect("it is there").rules(), None);
    }
}
