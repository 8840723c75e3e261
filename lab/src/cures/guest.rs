//! Measures in the guest of the kernel lab: cases to a script, its console to figures.
//!
//! A case is a run of one app with one seed on one card under one solution, on a new device. The first case of each
//! boot is repeated at its end and has to take the same time; a case whose device was late has no figures.

use std::path::{Path, PathBuf};

use crate::vm::console;
use crate::vm::device::{Device, DeviceSpec};
use crate::vm::image::Wanted;
use crate::vm::lab::Lab;
use crate::vm::plan::FUNCTIONS;
use crate::vm::refuse::late;
use crate::vm::{Watch, sources::Source, worker_pool};
use brisk_sync::library::PRELOAD;
use serde::Deserialize;

use crate::cures::solution::{Beside, Part, Solution};
use crate::cures::workload::{App, text};

/// Functions of the guest for these cases.
pub(crate) const CURES: &str = include_str!("guest/cures.sh");
/// Capacity of a card in MiB: with room for an area of its own for databases, on which nilfs2 and f2fs fit.
const CARD_MIB: u64 = 512;
/// Capacity of the phase-change memory in MiB (sect. 5.2).
const PCM_MIB: u64 = 16;
/// Memory of the guest: its programs, the page cache, and what the devices hold.
pub(crate) const MEMORY_BYTES: u64 = 1_200 << 20;
const CASES_MAX: usize = 24;
/// Estimated time of the guest for a case in s, for the time limit alone.
const CASE_S: f64 = 60.0;
/// Most difference of a case from its repeat.
const REPEAT_PERCENT_MAX: f64 = 1.0;
const SECTOR_BYTES: u64 = 512;

/// What one boot may not do without an error.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error(transparent)]
    Vm(#[from] crate::vm::Error),
    #[error("{preset}: {why}")]
    Preset { preset: String, why: String },
    #[error("cannot write {path} for the guest")]
    File { path: PathBuf, source: std::io::Error },
    /// A boot whose figures are not valid.
    #[error("{why}; its console: {log}")]
    Refused { why: String, log: PathBuf },
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Case<'a> {
    pub app: App,
    pub seed: u64,
    pub pages: u32,
    pub preset: &'a str,
    pub solution: &'static Solution,
}

#[derive(Debug, Clone, Copy, PartialEq, Default, Deserialize)]
pub struct Ran {
    /// The program's own.
    pub app: AppRan,
    /// Requests at the devices.
    pub traffic: Traffic,
}

/// What `c/app.c` prints.
#[derive(Debug, Clone, Copy, PartialEq, Default, Deserialize)]
pub struct AppRan {
    pub run_ns: u64,
    pub think_ns: u64,
    pub file_ns: u64,
    pub database_ns: u64,
    pub transactions: u64,
}

/// What `guest/cures.sh` counts.
#[derive(Debug, Clone, Copy, PartialEq, Default, Deserialize)]
pub struct Traffic {
    pub sequential_bytes: u64,
    pub random_bytes: u64,
    pub writes: u64,
    pub read_bytes: u64,
}

/// Result of a case: figures, or why there are none.
pub type Outcome = std::result::Result<Ran, String>;

/// Runs all cases, `jobs` guests at a time. `tell` gets the number of cases that have ended, and the words of one.
///
/// # Errors
/// When a boot cannot be made or is refused, or the run is cancelled.
pub fn run(
    lab: &Lab,
    source: &Source,
    cases: &[Case<'_>],
    jobs: usize,
    watch: Watch<'_>,
) -> Result<Vec<Outcome>, Error> {
    let boots: Vec<&[Case<'_>]> = cases.chunks(CASES_MAX).collect();
    let mut done = 0;
    let all = worker_pool::each(
        &boots,
        jobs,
        |place, boot, tell: &dyn Fn(String)| one_boot(lab, source, boot, place, watch.stop, tell),
        |_, words| {
            done += 1;
            (watch.progress)(f64::from(done) / cases.len().max(1) as f64, &words);
        },
    )?;
    watch.check()?;
    Ok(all.into_iter().flatten().collect())
}

fn one_boot(
    lab: &Lab,
    source: &Source,
    cases: &[Case<'_>],
    place: usize,
    stop: &std::sync::atomic::AtomicBool,
    tell: &dyn Fn(String),
) -> Result<Vec<Outcome>, Error> {
    let folder = source.work().join(format!("cures-{}-{place}", std::process::id()));
    let made = files(&folder, cases)?;
    let planned: Vec<&Case<'_>> = cases.iter().chain(cases.first()).collect();
    let script = script(&planned, &source.scenarios().join("devices"))?;
    let first = cases.first().map_or_else(String::new, |case| format!("{}-{}-", case.app.name(), case.preset));
    let name = format!("{}-cures-{first}{place}", lab.kernel.series);
    let watch = Watch { stop, progress: &|_, _| {} };
    let estimate_s = CASE_S * planned.len() as f64;
    let mut at = 0;
    let (text, log) = lab.console(
        &name,
        &script,
        &wanted_of(cases.iter().map(|case| case.solution), &made),
        MEMORY_BYTES,
        1,
        estimate_s,
        watch,
        |line| {
            if line.contains("{\"case_end\":") {
                if let Some(case) = cases.get(at) {
                    tell(case.words());
                }
                at += 1;
            }
        },
    )?;
    outcomes(&text, planned.len()).map_err(|why| Error::Refused { why, log })
}

impl Case<'_> {
    #[must_use]
    pub fn words(&self) -> String {
        format!("{} on {}: {}, seed {}", self.app.name(), self.preset, self.solution.name, self.seed)
    }
}

/// Files for the guest, removed with this.
pub(crate) struct Files {
    folder: PathBuf,
    programs: Vec<String>,
    names: Vec<String>,
}

impl Drop for Files {
    fn drop(&mut self) {
        // Also part of what `cargo clean` removes.
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

impl Files {
    /// None yet.
    pub(crate) fn new(folder: &Path) -> Result<Self, Error> {
        std::fs::create_dir_all(folder).map_err(|source| Error::File { path: folder.to_owned(), source })?;
        Ok(Self { folder: folder.to_owned(), programs: Vec::new(), names: Vec::new() })
    }

    pub(crate) fn program(&mut self, name: &str, content: &[u8]) -> Result<(), Error> {
        self.put(name, content)?;
        self.programs.push(name.to_owned());
        Ok(())
    }

    /// A file, once for each name.
    pub(crate) fn write(&mut self, name: &str, content: &[u8]) -> Result<(), Error> {
        if !self.names.iter().any(|known| known == name) {
            self.put(name, content)?;
            self.names.push(name.to_owned());
        }
        Ok(())
    }

    fn put(&self, name: &str, content: &[u8]) -> Result<(), Error> {
        let path = self.folder.join(name);
        std::fs::write(&path, content).map_err(|source| Error::File { path, source })
    }
}

/// The app, the library, and the steps of all cases.
fn files(folder: &Path, cases: &[Case<'_>]) -> Result<Files, Error> {
    let mut made = Files::new(folder)?;
    made.program("app", crate::cures::APP)?;
    made.write("brisk_sync.so", PRELOAD)?;
    for case in cases {
        let name = case.app.name();
        made.write(&format!("{name}-before"), text(&case.app.preparation()).as_bytes())?;
        made.write(&format!("{name}-{}", case.seed), text(&case.app.steps(case.seed, case.pages)).as_bytes())?;
    }
    Ok(made)
}

/// Content of the initramfs for solutions.
pub(crate) fn wanted_of(solutions: impl Iterator<Item = &'static Solution>, files: &Files) -> Wanted {
    let place = |name: &String| files.folder.join(name);
    let mut wanted = Wanted { own: files.programs.iter().map(place).collect(), ..Wanted::default() };
    wanted.files = files.names.iter().map(|name| (format!("lab/files/{name}"), place(name))).collect();
    // File systems ask for the checksum by an alias, which the guest cannot resolve: it is there before.
    wanted.modules = ["crc32c_generic", "crc32_generic", "brisk_flash"].map(str::to_owned).to_vec();
    for solution in solutions {
        for module in solution.modules() {
            if !wanted.modules.iter().any(|known| known == module) {
                wanted.modules.push(module.to_owned());
            }
        }
        for program in solution.file_systems().map(crate::cures::solution::FileSystem::program) {
            if !wanted.programs.contains(&program) {
                wanted.programs.push(program);
            }
        }
    }
    if wanted.modules.iter().any(|name| name == "dm-mod") {
        wanted.programs.push(("dmsetup", "dmsetup"));
    }
    wanted.modules_if_there.push("mq-deadline".to_owned());
    wanted
}

/// A device of a solution, by its name in the guest.
pub(crate) struct Card {
    pub(crate) name: &'static str,
    pub(crate) device: Device,
}

/// The devices of a solution.
pub(crate) fn cards(preset: &str, solution: &Solution, devices: &Path) -> Result<Vec<Card>, Error> {
    let card = |name, preset: &str, mib| Ok::<_, Error>(Card { name, device: device(preset, mib, devices)? });
    let beside = match solution.beside {
        Some(Beside::Twin { .. }) => Some(card("flash1", preset, CARD_MIB)?),
        Some(Beside::Other { preset, .. }) => Some(card("flash1", preset, CARD_MIB)?),
        Some(Beside::PcmForDatabases | Beside::PcmForWrites) => Some(card("pcm0", "pcm", PCM_MIB)?),
        None => None,
    };
    Ok([Some(card("flash0", preset, CARD_MIB)?), beside].into_iter().flatten().collect())
}

/// A device of a preset, of `mib` MiB, full of data as a card in use.
fn device(preset: &str, mib: u64, devices: &Path) -> Result<Device, Error> {
    // Smaller ones than the lab's own limit are only smaller here.
    let spec = DeviceSpec {
        preset: preset.to_owned(),
        size: format!("{}MiB", mib.max(64)),
        depth_requests: None,
        queues: 1,
        set: Default::default(),
    };
    let mut device = spec.resolve(devices).map_err(|why| Error::Preset { preset: preset.to_owned(), why })?;
    for (name, value) in &mut device.fields {
        match name.as_str() {
            "pages" => *value = (mib << 20 >> 12).to_string(),
            "filled_percent" => *value = "100".to_owned(),
            _ => {}
        }
    }
    Ok(device)
}

fn script(cases: &[&Case<'_>], devices: &Path) -> Result<String, Error> {
    let mut script = format!("{FUNCTIONS}\n{CURES}\nsettle\n");
    for (number, case) in cases.iter().enumerate() {
        script.push_str(&paragraph(number, case, devices)?);
    }
    script.push_str("finish\n");
    Ok(script)
}

fn paragraph(number: usize, case: &Case<'_>, devices: &Path) -> Result<String, Error> {
    let solution = case.solution;
    let mut lines = vec![format!("# {}", case.words()), format!("case_begin {number}")];
    for Card { name, device } in cards(case.preset, solution, devices)? {
        let fields: Vec<String> = device.fields.iter().map(|(name, value)| format!("{name}={value}")).collect();
        lines.push(format!("card {name} {} {}", device.depth_requests, fields.join(",")));
    }
    lines.extend(bed(solution));
    // One argument: the shell keeps its line feeds.
    let rules = solution.rules().unwrap_or_default();
    lines.push(format!("prepare_app {} {}", case.app.name(), solution.settings));
    if solution.beside == Some(Beside::PcmForWrites) {
        // What made the file system would fill the buffer.
        lines.push("try dmsetup message data 0 flush".to_owned());
    }
    lines.push(format!("run_app {} {} '{}' {}", case.app.name(), case.seed, rules.trim_end(), solution.settings));
    lines.push("bed_down\ncase_end\n".to_owned());
    Ok(lines.join("\n"))
}

/// What makes the directories of the app out of the devices.
pub(crate) fn bed(solution: &Solution) -> Vec<String> {
    let sectors = (CARD_MIB << 20) / SECTOR_BYTES;
    let mut lines = Vec::new();
    let mut data = "/dev/flash0".to_owned();
    match solution.beside {
        Some(Beside::Twin { stripe_kib } | Beside::Other { stripe_kib, .. }) => {
            let chunk = u64::from(stripe_kib) * 1024 / SECTOR_BYTES;
            let table = format!("0 {} striped 2 {chunk} /dev/flash0 0 /dev/flash1 0", 2 * sectors);
            lines.push(format!("mapped data '{table}'"));
            data = "/dev/mapper/data".to_owned();
        }
        Some(Beside::PcmForWrites) => {
            lines.push(format!("mapped data '0 {sectors} writecache s /dev/flash0 /dev/pcm0 4096 0'"));
            data = "/dev/mapper/data".to_owned();
        }
        Some(Beside::PcmForDatabases) | None => {}
    }
    if solution.of_databases.is_some() {
        let half = sectors / 2;
        lines.push(format!("mapped data '0 {half} linear {data} 0'"));
        lines.push(format!("mapped databases '0 {half} linear {data} {half}'"));
        data = "/dev/mapper/data".to_owned();
    }
    lines.push(format!("file_system {} {data} /mnt", solution.file_system.name()));
    lines.push("directories".to_owned());
    if let Some(kind) = solution.of_databases {
        lines.push(format!("file_system {} /dev/mapper/databases /other", kind.name()));
        lines.push("databases_in /other".to_owned());
    }
    if solution.beside == Some(Beside::PcmForDatabases) {
        lines.push("file_system ext4 /dev/pcm0 /other".to_owned());
        lines.push("databases_in /other".to_owned());
    }
    for part in Part::ALL.iter().filter(|part| solution.in_ram.contains(part)) {
        lines.push(format!("in_memory {}", part.directory()));
    }
    lines
}

/// The figures of all cases but the last, which repeats the first.
fn outcomes(text: &str, planned: usize) -> Result<Vec<Outcome>, String> {
    let console = console::parse(text);
    if let Some(words) = console.complaints.first() {
        return Err(format!("the kernel complains: {words}"));
    }
    if let Some(words) = console.failed.first() {
        return Err(words.clone());
    }
    if !console.ended || console.cases.len() != planned {
        return Err(format!("the guest ended early, in case {} of {planned}", console.cases.len()));
    }
    let ran = figures(text);
    let mut outcomes: Vec<Outcome> = console
        .cases
        .iter()
        .zip(ran)
        .map(|(case, ran)| match (&case.failed, late(case), ran) {
            (Some(why), ..) => Err(why.clone()),
            (None, Some(why), _) => Err(why),
            (None, None, None) => Err("the guest gave no figures".to_owned()),
            (None, None, Some(ran)) => Ok(ran),
        })
        .collect();
    let repeat = outcomes.pop();
    if let (Some(Ok(first)), Some(Ok(repeat))) = (outcomes.first(), repeat) {
        let percent = 100.0 * (first.app.run_ns as f64 / repeat.app.run_ns.max(1) as f64 - 1.0).abs();
        if percent > REPEAT_PERCENT_MAX {
            return Err(format!("the first case differs from its repeat by {percent:.2} %"));
        }
    }
    Ok(outcomes)
}

/// The lines of figures, case by case.
fn figures(text: &str) -> Vec<Option<Ran>> {
    #[derive(Deserialize)]
    struct Line {
        case: Option<u64>,
        app: Option<AppRan>,
        traffic: Option<Traffic>,
    }
    let mut all: Vec<(Option<AppRan>, Option<Traffic>)> = Vec::new();
    for line in text.lines() {
        let Some(at) = line.find("@ {") else { continue };
        let Ok(line) = serde_json::from_str::<Line>(line[at + 2..].trim()) else { continue };
        if line.case.is_some() {
            all.push((None, None));
        }
        let Some(last) = all.last_mut() else { continue };
        last.0 = line.app.or(last.0);
        last.1 = line.traffic.or(last.1);
    }
    all.into_iter().map(|(app, traffic)| Some(Ran { app: app?, traffic: traffic? })).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cures::solution::{SOLUTIONS, find};

    fn case(solution: &str) -> Case<'static> {
        let solution = find(solution).expect("it is there");
        Case { app: App::Facebook, seed: 3, pages: 8, preset: "sd-ridata", solution }
    }

    fn lines(solution: &str) -> String {
        paragraph(0, &case(solution), Path::new("/nowhere")).expect("valid")
    }

    #[test]
    fn the_same_case_gives_the_same_script_and_every_solution_has_one() {
        for solution in SOLUTIONS {
            let text = lines(solution.name);
            assert_eq!(text, lines(solution.name));
            assert!(text.contains("card flash0 1 pages=131072,") && text.contains(",filled_percent=100"), "{text}");
            assert!(text.ends_with("bed_down\ncase_end\n"), "{text}");
        }
    }

    #[test]
    fn a_solution_becomes_devices_mounts_and_settings() {
        assert!(lines("baseline").contains("run_app facebook 3 '' journal=persist"));
        assert!(lines("raid0_4k").contains("mapped data '0 2097152 striped 2 8 /dev/flash0 0 /dev/flash1 0'"));
        assert!(lines("raid0_4k").contains("\nfile_system ext4 /dev/mapper/data /mnt\n"));
        assert!(
            lines("nilfs2_databases")
                .contains("\nfile_system nilfs2 /dev/mapper/databases /other\ndatabases_in /other\n")
        );
        assert!(lines("pcm_writes").contains("writecache s /dev/flash0 /dev/pcm0 4096 0"));
        assert!(lines("pcm_databases").contains("card pcm0 32 pages=4096,"));
        let in_memory = |text: &str| text.matches("\nin_memory ").count();
        assert_eq!((in_memory(&lines("databases_in_ram")), in_memory(&lines("all_in_ram"))), (2, 3));
        // The rules of the real policy, line feeds kept.
        assert!(
            lines("selective_sync").contains("run_app facebook 3 'brisk-sync 1\nC /mnt/home/.cache/' journal=persist")
        );
        assert!(lines("selective_sync_ordered").contains("\nO5 /mnt/home/.local/share/app/kept.db\n"));
    }

    const RUN: &str = "@ {\"case\":0}\n\
        @ {\"app\":{\"run_ns\":1000,\"think_ns\":1,\"file_ns\":2,\"database_ns\":3,\"transactions\":4,\"files\":1}}\r\n\
        @ {\"traffic\":{\"sequential_bytes\":5,\"random_bytes\":6,\"writes\":7,\"read_bytes\":8}}\n\
        @ {\"counters\":\"case\",\"device\":\"flash0\",\"lateness_mean_ns\":600}\n@ {\"case_end\":true}\n";

    fn console(cases: &[String]) -> String {
        cases.concat() + "@ {\"dmesg\":0}\n@ {\"end\":true}\n"
    }

    fn nth(text: &str, number: usize) -> String {
        text.replace("\"case\":0", &format!("\"case\":{number}"))
    }

    #[test]
    fn figures_come_from_the_lines_of_their_case_and_the_repeat_is_none() {
        let failed = "@ {\"case\":1}\n@ {\"failed\":\"no device\"}\n@ {\"case_end\":true}\n".to_owned();
        let late = nth(RUN, 2).replace(":600}", ":9000}");
        let text = console(&[RUN.to_owned(), failed, late, nth(RUN, 3)]);
        let outcomes = outcomes(&text, 4).expect("reproduced");
        assert_eq!(outcomes.len(), 3);
        let first = outcomes[0].as_ref().expect("figures");
        assert_eq!((first.app.database_ns, first.traffic.random_bytes), (3, 6));
        assert_eq!(outcomes[1].as_ref().expect_err("failed"), "no device");
        assert!(outcomes[2].is_err(), "a late device has no figures");
    }

    #[test]
    fn a_boot_that_is_not_reproduced_or_not_whole_is_refused() {
        let slower = nth(RUN, 1).replace("\"run_ns\":1000", "\"run_ns\":1020");
        let error = outcomes(&console(&[RUN.to_owned(), slower]), 2).expect_err("2 %");
        assert!(error.contains("differs from its repeat by 1.96 %"), "{error}");
        assert!(outcomes(RUN, 2).expect_err("half").contains("ended early"));
        let complaint = format!("[ 1.0] BUG: x\n{}", console(&[RUN.to_owned(), nth(RUN, 1)]));
        assert!(outcomes(&complaint, 2).expect_err("a bug").contains("complains"));
    }
}
