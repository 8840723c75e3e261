//! What of the heads of documents leaves. Every struct that is read is taken apart by name, so that a new field does
//! not compile until it is decided here whether it leaves the device: `_` says that it does not.

use crate::kind::{Document, Kinds};
use crate::results::{BlockDevice, Environment, Header};

use super::text::{Day, Name, Release, Word};
use super::{Kind, Known, Machine, RESULTS_MAX, SCHEMA_VERSION, Storage, Submission, SubmissionError, Taken};

type Result<T> = std::result::Result<T, SubmissionError>;

pub(super) fn submission(kinds: Kinds, documents: &[Document], known: &Known<'_>) -> Result<Submission> {
    if !(1..=RESULTS_MAX).contains(&documents.len()) {
        return Err(SubmissionError::Count(documents.len()));
    }
    let mut heads = Vec::new();
    for document in documents {
        if document.taken().is_none() {
            return Err(SubmissionError::Kind(document.kind(), kinds.submitted().join(", ")));
        }
        heads.push(Head::of(document, known)?);
    }
    let first = heads[0].clone();
    if let Some(other) = heads.iter().find(|head| head.storage != first.storage) {
        let name = |head: &Head| head.storage.model.as_str().to_owned();
        return Err(SubmissionError::Devices(name(&first), name(other)));
    }
    let damaged = |kind| move |what| SubmissionError::Value { kind, what };
    let taken = documents.iter().filter_map(|one| Some(one.taken()?.map_err(damaged(one.kind()))));
    let mut results = taken.collect::<Result<Vec<Taken>>>()?;
    // The same results have the same id in any order of files.
    results.sort_by_cached_key(|result| serde_json::to_string(result).unwrap_or_default());
    let newest = heads.into_iter().max_by(|a, b| a.day.cmp(&b.day)).unwrap_or(first);
    let Head { day, brisk_version, machine, storage } = newest;
    Ok(Submission { schema_version: SCHEMA_VERSION, day, brisk_version, machine, storage, results })
}

/// What a head tells.
#[derive(Debug, Clone)]
struct Head {
    day: Day,
    brisk_version: Release,
    machine: Machine,
    storage: Storage,
}

impl Head {
    fn of(document: &Document, known: &Known<'_>) -> Result<Self> {
        let kind = document.kind();
        let Header {
            started,
            environment,
            schema_version: _,
            duration_s: _,
            io_engine: _,
            seed: _,
            written_bytes: _,
            warnings: _,
        } = document.header();
        let Environment {
            brisk_version,
            kernel,
            architecture,
            cpus,
            device,
            commit: _,
            path: _,
            file_system: _,
            mount_options: _,
            disks,
        } = environment;
        let several = || if disks.is_empty() { String::new() } else { format!(" but several: {}", disks.join(", ")) };
        let device = device.as_ref().ok_or_else(|| SubmissionError::NoDevice(kind, several()))?;
        let damaged = |what: String| SubmissionError::Value { kind, what };
        let version = Release::of(brisk_version).ok_or_else(|| damaged(format!("version {brisk_version}")))?;
        let machine = Machine {
            model: known.machine.and_then(|model| Name::of(model, known.private)),
            kernel: Release::of(kernel).ok_or_else(|| damaged(format!("kernel {kernel}")))?,
            architecture: Word::of(architecture).ok_or_else(|| damaged(format!("architecture {architecture}")))?,
            cpus: (*cpus).clamp(1, 256),
        };
        let day = Day::of(started).ok_or_else(|| SubmissionError::Started(started.clone()))?;
        Ok(Self { day, brisk_version: version, machine, storage: storage(device, known)? })
    }
}

fn storage(device: &BlockDevice, known: &Known<'_>) -> Result<Storage> {
    let BlockDevice {
        name,
        kind: of_device,
        model,
        firmware: of_firmware,
        size_bytes,
        lab_preset,
        partition: _,
        rotational: _,
        scheduler: _,
        schedulers_available: _,
        queue_depth_requests: _,
        read_ahead_kib: _,
        max_request_kib: _,
        write_cache: _,
        logical_block_bytes: _,
    } = device;
    let kind = known.kind.or_else(|| lab_preset.as_deref().map(Kind::of_preset));
    let kind = kind.or_else(|| Kind::named(of_device.as_deref()?)).or_else(|| Kind::of_name(name));
    let text = lab_preset.as_deref().or(model.as_deref()).unwrap_or_default();
    // Firmware stands in the name where brisk keeps profiles by it.
    let (text, in_name) = match text.rsplit_once(", firmware ") {
        Some((model, firmware)) => (model, Some(firmware)),
        None => (text, None),
    };
    let firmware = of_firmware.as_deref().or(known.firmware).or(in_name).filter(|_| lab_preset.is_none());
    let unnamed = || Name::of("unnamed", &[]).expect("a word");
    Ok(Storage {
        model: Name::of(text, &[]).unwrap_or_else(unnamed),
        firmware: firmware.and_then(|firmware| Name::of(firmware, &[])),
        kind: kind.ok_or_else(|| SubmissionError::NoKind(name.clone()))?,
        size_gib: u32::try_from(size_bytes.div_ceil(1 << 30).max(1).next_power_of_two())
            .unwrap_or(1 << 20)
            .min(1 << 20),
        emulated: lab_preset.is_some(),
    })
}

impl Kind {
    /// The kind with this name, as `brisk` has it.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        let all = [Self::Emmc, Self::Sd, Self::Ufs, Self::Nvme, Self::Usb, Self::Virtual, Self::Disk];
        all.into_iter().find(|kind| kind.name() == name)
    }

    /// Its name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Emmc => "emmc",
            Self::Sd => "sd",
            Self::Ufs => "ufs",
            Self::Nvme => "nvme",
            Self::Usb => "usb",
            Self::Virtual => "virtual",
            Self::Disk => "disk",
        }
    }

    /// What a preset of the laboratory stands for, by its name.
    fn of_preset(preset: &str) -> Self {
        let words: Vec<&str> = preset.split('-').collect();
        let has = |word: &str| words.contains(&word);
        match () {
            () if has("emmc") => Self::Emmc,
            () if has("sd") => Self::Sd,
            () if has("ufs") => Self::Ufs,
            () => Self::Virtual,
        }
    }

    /// What the kernel's name tells: not whether an mmcblk is a card.
    fn of_name(name: &str) -> Option<Self> {
        let begins = |stem: &str| name.starts_with(stem);
        match () {
            () if begins("nvme") => Some(Self::Nvme),
            () if ["vd", "xvd", "loop", "zram", "ram", "nbd", "ublk"].into_iter().any(begins) => Some(Self::Virtual),
            () => None,
        }
    }
}
