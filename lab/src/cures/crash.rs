//! Power cuts under a solution, in the guest: what was acknowledged before the cut is compared with what is there
//! afterwards.
//!
//! Three processes write files and two databases on new devices until all devices lose their power at once, at a seeded
//! moment; of what the devices hold in their volatile memory any subset is lost, and requests in flight are torn. Then
//! the file systems are mounted again, and `c/crash.c` checks what each part of the data promised
//! ([`crate::cures::solution::Promise`]); the file system's own check follows. A cut in which no device lost a page
//! finds nothing at risk and does not count. Of a stripe every fifth cut takes one device alone: what is read then has
//! to be right, or an error; since the other one is written meanwhile, the file systems are made anew after it.

use std::path::Path;

use crate::results::{CureCrash, CureCrashPart};
use crate::vm::console;
use crate::vm::image::Wanted;
use crate::vm::lab::Lab;
use crate::vm::plan::FUNCTIONS;
use crate::vm::{Watch, sources::Source};
use serde::Deserialize;

use crate::cures::guest::{CURES, Error, Files, MEMORY_BYTES, bed, cards, wanted_of};
use crate::cures::solution::{Beside, FileSystem, Promise, Solution};

/// Functions of the guest for power cuts.
const CRASH: &str = include_str!("guest/crash.sh");
/// Most cuts of a boot: an early end of the run leaves whole boots.
const CUTS_MAX: u32 = 100;
/// Cuts after which file systems are made anew. Without its cleaner nilfs2 fills up.
const FRESH_EVERY: (u32, u32) = (25, 5);
/// Latest moment of a cut in us, and the pause between two transactions. An order with a bound shows in several times
/// the bound.
const LOAD: (u32, u32) = (600_000, 500);
const LOAD_ORDERED: (u32, u32) = (9_000_000, 20_000);
/// Estimated time of the guest for a cut in s, for the time limit alone.
const CUT_S: f64 = 20.0;
/// A volatile cache of 1 MiB, and flash so slow that it is hardly ever empty.
const CACHE: [(&str, &str); 3] = [("buffer_pages", "256"), ("program_ns", "1600000"), ("power_cut", "1")];

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Cuts<'a> {
    /// Preset of the card; it needs a volatile cache.
    pub preset: &'a str,
    pub solution: &'static Solution,
    /// Number of cuts that find something at risk.
    pub count: u32,
    /// Seed of moments and losses.
    pub seed: u64,
}

/// The boots that these cuts take, in order.
#[must_use]
pub fn boots<'a>(cuts: &Cuts<'a>) -> Vec<Cuts<'a>> {
    let boots = cuts.count.div_ceil(CUTS_MAX);
    (0..boots)
        .map(|boot| {
            let count = CUTS_MAX.min(cuts.count - boot * CUTS_MAX);
            // Seeds of cuts follow each other: none is used twice.
            Cuts { count, seed: cuts.seed.wrapping_mul(1_000_003).wrapping_add(u64::from(boot) * 1_000), ..*cuts }
        })
        .collect()
}

/// Makes the cuts of one boot.
///
/// # Errors
/// When the boot cannot be made, or the run is cancelled. A boot whose result is not valid is a failure in the outcome.
pub fn run(lab: &Lab, source: &Source, boot: &Cuts<'_>, watch: Watch<'_>) -> Result<CureCrash, Error> {
    let solution = boot.solution;
    let folder = source.work().join(format!("crash-{}-{}-{}", std::process::id(), solution.name, boot.seed));
    let mut files = Files::new(&folder)?;
    files.program("crash", crate::cures::CRASH)?;
    files.write("brisk_sync.so", brisk_sync::library::PRELOAD)?;
    let mut wanted = wanted_of(std::iter::once(solution), &files);
    add_checkers(&mut wanted, solution);
    let script = script(boot, &source.scenarios().join("devices"))?;
    let name = format!("{}-crash-{}-{}", lab.kernel.series, solution.name, boot.seed);
    let estimate_s = CUT_S * f64::from(boot.count);
    let (text, log) = match lab.console(&name, &script, &wanted, MEMORY_BYTES, 1, estimate_s, watch, |_| {}) {
        Ok(booted) => booted,
        Err(error @ (crate::vm::Error::TimeLimit { .. } | crate::vm::Error::Failed { .. })) => {
            return Ok(CureCrash { failure: Some(error.to_string()), ..empty(solution, boot.preset) });
        }
        Err(error) => return Err(error.into()),
    };
    let mut crash = judge(solution, boot.preset, &text);
    if let Some(why) = &mut crash.failure {
        why.push_str(&format!(" (console {})", log.file_name().unwrap_or_default().to_string_lossy()));
    }
    Ok(crash)
}

fn add_checkers(wanted: &mut Wanted, solution: &Solution) {
    for kind in solution.file_systems() {
        let program = match kind {
            FileSystem::Ext4 => ("e2fsck", "e2fsprogs"),
            FileSystem::F2fs => ("fsck.f2fs", "f2fs-tools"),
            FileSystem::Btrfs => ("btrfs", "btrfs-progs"),
            FileSystem::Nilfs2 => continue,
        };
        if !wanted.programs.contains(&program) {
            wanted.programs.push(program);
        }
    }
    if !wanted.programs.iter().any(|(program, _)| *program == "e2fsck") {
        // The databases' own file system beside it is ext4.
        wanted.programs.push(("e2fsck", "e2fsprogs"));
    }
}

fn script(boot: &Cuts<'_>, devices: &Path) -> Result<String, Error> {
    let solution = boot.solution;
    let cards = cards(boot.preset, solution, devices)?;
    let names: Vec<&str> = cards.iter().map(|card| card.name).collect();
    let is_striped = matches!(solution.beside, Some(Beside::Twin { .. } | Beside::Other { .. }));
    let is_nilfs = solution.file_systems().any(|kind| kind == FileSystem::Nilfs2);
    let is_ordered = solution.promises.iter().any(|promise| matches!(promise, Promise::Ordered { .. }));
    let (moment_us, pause_us) = if is_ordered { LOAD_ORDERED } else { LOAD };
    let fresh_every = if is_nilfs { FRESH_EVERY.1 } else { FRESH_EVERY.0 };
    let lines = bed(solution);
    let checks: Vec<String> = lines
        .iter()
        .filter_map(|line| line.strip_prefix("file_system "))
        .filter_map(|rest| rest.rsplit_once(' '))
        .map(|(kind_and_device, _)| format!("whole {kind_and_device}"))
        .collect();
    let mut text = format!("{FUNCTIONS}\n{CURES}\n{CRASH}\nsettle\ndmesg -n 1\n");
    text += &format!("bed() {{\n{}\n}}\ncheck_all() {{\n{}\n}}\n", lines.join("\n"), checks.join("\n"));
    text += &format!("devices='{}'\npulls={}\n", names.join(" "), if is_striped { "flash1" } else { "" });
    text += &format!("rules='{}'\n", solution.rules().unwrap_or_default().trim_end());
    text += &format!("settings='{}'\nload='moment={moment_us} pause={pause_us}'\n", solution.settings);
    text += "case_begin 0\n";
    for card in &cards {
        let mut device = card.device.clone();
        for (name, value) in CACHE {
            match device.fields.iter_mut().find(|(field, _)| field == name) {
                // A memory without a volatile cache stays so.
                Some(_) if device_is_safe(&card.device) => {}
                Some((_, field)) => value.clone_into(field),
                None => device.fields.push((name.to_owned(), value.to_owned())),
            }
        }
        let fields: Vec<String> = device.fields.iter().map(|(name, value)| format!("{name}={value}")).collect();
        text += &format!("card {} {} {}\n", card.name, device.depth_requests, fields.join(","));
    }
    text += &format!("cuts {} {} {fresh_every}\ncase_end\nfinish\n", boot.count, boot.seed);
    Ok(text)
}

fn device_is_safe(device: &crate::vm::device::Device) -> bool {
    device.fields.iter().any(|(name, value)| name == "write_cache" && value == "0")
}

#[derive(Debug, Deserialize)]
struct Line {
    cut: Option<Cut>,
    unmountable: Option<String>,
    unclean: Option<String>,
    pulled: Option<Pulled>,
}

#[derive(Debug, Deserialize)]
struct Cut {
    lost_pages: u64,
    parts: Vec<FoundPart>,
}

#[derive(Debug, Deserialize)]
struct FoundPart {
    part: String,
    acknowledged: u64,
    lost: u64,
    age_us: u64,
    damage: Option<String>,
}

#[derive(Debug, Deserialize)]
struct Pulled {
    right: u64,
    errors: u64,
    wrong: u64,
}

/// Nothing was cut yet.
fn empty(solution: &Solution, preset: &str) -> CureCrash {
    let part = |(place, name): (usize, &str)| {
        let promise = solution.promises[place];
        CureCrashPart {
            part: name.to_owned(),
            promise: promise.name().to_owned(),
            bound_s: if let Promise::Ordered { seconds } = promise { Some(f64::from(seconds)) } else { None },
            acknowledged: 0,
            lost: 0,
            cuts_with_loss: 0,
            oldest_s: 0.0,
            damaged: 0,
            broken: 0,
        }
    };
    CureCrash {
        preset: preset.to_owned(),
        solution: solution.name.to_owned(),
        cuts: 0,
        without_risk: 0,
        lost_pages: 0,
        unmountable: 0,
        unclean: 0,
        is_checked: solution.file_systems().all(|kind| kind != FileSystem::Nilfs2),
        pulled: 0,
        pulled_right: 0,
        pulled_errors: 0,
        pulled_wrong: 0,
        parts: ["files", "index", "kept"].into_iter().enumerate().map(part).collect(),
        example: None,
        failure: None,
    }
}

/// The console of a boot, held against what the solution promises.
fn judge(solution: &Solution, preset: &str, text: &str) -> CureCrash {
    let mut crash = empty(solution, preset);
    for line in text.lines() {
        let Some(at) = line.find("@ {") else { continue };
        let Ok(line) = serde_json::from_str::<Line>(line[at + 2..].trim()) else { continue };
        if let Some(cut) = line.cut {
            crash.lost_pages += cut.lost_pages;
            if cut.lost_pages > 0 {
                crash.cuts += 1;
            } else {
                crash.without_risk += 1;
            }
            for found in cut.parts {
                add(&mut crash, &found);
            }
        }
        if let Some(why) = line.unmountable {
            crash.cuts += 1;
            crash.unmountable += 1;
            crash.example.get_or_insert(why);
        }
        if let Some(why) = line.unclean {
            crash.unclean += 1;
            crash.example.get_or_insert(why);
        }
        if let Some(pulled) = line.pulled {
            crash.pulled += 1;
            crash.pulled_right += pulled.right;
            crash.pulled_errors += pulled.errors;
            crash.pulled_wrong += pulled.wrong;
        }
    }
    let console = console::parse(text);
    let of_case = console.cases.first().and_then(|case| case.failed.clone());
    let of_kernel = console.complaints.first().map(|words| format!("the kernel complains: {words}"));
    let of_end = (!console.ended).then(|| "the guest ended early".to_owned());
    crash.failure = of_case.or_else(|| console.failed.first().cloned()).or(of_kernel).or(of_end);
    crash
}

fn add(crash: &mut CureCrash, found: &FoundPart) {
    let Some(part) = crash.parts.iter_mut().find(|part| part.part == found.part) else { return };
    let age_s = found.age_us as f64 / 1e6;
    part.acknowledged += found.acknowledged;
    part.lost += found.lost;
    part.cuts_with_loss += u32::from(found.lost > 0);
    part.oldest_s = part.oldest_s.max(age_s);
    part.damaged += u32::from(found.damage.is_some());
    let is_broken = match part.promise.as_str() {
        "nothing" => false,
        "whole" => found.damage.is_some(),
        "ordered" => found.damage.is_some() || age_s > part.bound_s.unwrap_or_default(),
        _ => found.damage.is_some() || found.lost > 0,
    };
    part.broken += u32::from(is_broken);
    if is_broken {
        let words = found.damage.clone().unwrap_or_else(|| format!("{} acknowledged are gone", found.lost));
        crash.example.get_or_insert(format!("{}: {words}", found.part));
    }
}

/// The sums of several boots of the same solution on the same card; none gives none.
#[must_use]
pub fn sum(boots: Vec<CureCrash>) -> Option<CureCrash> {
    boots.into_iter().reduce(|mut all, more| {
        all.cuts += more.cuts;
        all.without_risk += more.without_risk;
        all.lost_pages += more.lost_pages;
        all.unmountable += more.unmountable;
        all.unclean += more.unclean;
        all.pulled += more.pulled;
        all.pulled_right += more.pulled_right;
        all.pulled_errors += more.pulled_errors;
        all.pulled_wrong += more.pulled_wrong;
        for (part, other) in all.parts.iter_mut().zip(more.parts) {
            part.acknowledged += other.acknowledged;
            part.lost += other.lost;
            part.cuts_with_loss += other.cuts_with_loss;
            part.oldest_s = part.oldest_s.max(other.oldest_s);
            part.damaged += other.damaged;
            part.broken += other.broken;
        }
        all.example = all.example.or(more.example);
        all.failure = all.failure.or(more.failure);
        all
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cures::solution::{SOLUTIONS, find};

    fn cuts(solution: &str) -> Cuts<'static> {
        Cuts { preset: "galaxy-s5-emmc", solution: find(solution).expect("it is there"), count: 120, seed: 7 }
    }

    fn script_of(solution: &str) -> String {
        script(&cuts(solution), Path::new("/nowhere")).expect("valid")
    }

    #[test]
    fn every_solution_has_a_script_with_devices_that_lose_what_they_hold() {
        for solution in SOLUTIONS {
            let text = script_of(solution.name);
            assert!(text.contains("card flash0 4 pages=131072,") && text.contains(",power_cut=1\n"), "{text}");
            assert!(text.contains("buffer_pages=256") && text.ends_with("case_end\nfinish\n"));
        }
        // The memory of phase-change cells has no volatile cache.
        let pcm = script_of("pcm_writes");
        let line = pcm.lines().find(|line| line.starts_with("card pcm0")).expect("a line");
        assert!(line.contains("buffer_pages=4,") && line.contains("write_cache=0") && line.ends_with("power_cut=1"));
    }

    #[test]
    fn each_file_system_is_checked_and_of_a_stripe_one_device_is_pulled() {
        assert!(script_of("baseline").contains("check_all() {\nwhole ext4 /dev/flash0\n}"));
        let nilfs = script_of("nilfs2_databases");
        assert!(nilfs.contains("whole ext4 /dev/mapper/data\nwhole nilfs2 /dev/mapper/databases\n"));
        assert!(nilfs.contains("\ncuts 120 7 5\n"));
        assert!(script_of("pcm_databases").contains("whole ext4 /dev/flash0\nwhole ext4 /dev/pcm0\n"));
        assert!(script_of("pcm_databases").contains("devices='flash0 pcm0'\npulls=\n"));
        assert!(script_of("raid0_4k").contains("devices='flash0 flash1'\npulls=flash1\n"));
        assert!(script_of("selective_sync_ordered").contains("load='moment=9000000 pause=20000'"));
    }

    #[test]
    fn boots_share_no_seed_and_make_all_cuts() {
        let all = boots(&cuts("wal"));
        assert_eq!(all.iter().map(|boot| boot.count).collect::<Vec<_>>(), [100, 20]);
        for (one, next) in all.iter().zip(&all[1..]) {
            assert!(one.seed + u64::from(2 * CUTS_MAX + 10) < next.seed);
        }
    }

    fn cut(lost_pages: u64, kept: &str) -> String {
        let whole =
            |part: &str| format!("{{\"part\":\"{part}\",\"acknowledged\":10,\"lost\":0,\"age_us\":0,\"damage\":null}}");
        let kept = format!("{{\"part\":\"kept\",\"acknowledged\":20,{kept}}}");
        let parts = [whole("files"), whole("index"), kept].join(",");
        format!("@ {{\"cut\":{{\"lost_pages\":{lost_pages},\"parts\":[{parts}]}}}}\r\n")
    }

    fn judged(solution: &str, lines: &[String]) -> CureCrash {
        let text = format!(
            "@ {{\"case\":0}}\n{}@ {{\"case_end\":true}}\n@ {{\"dmesg\":0}}\n@ {{\"end\":true}}\n",
            lines.concat()
        );
        judge(find(solution).expect("it is there"), "galaxy-s5-emmc", &text)
    }

    const NONE: &str = "\"lost\":0,\"age_us\":0,\"damage\":null";
    const LATE: &str = "\"lost\":3,\"age_us\":4000000,\"damage\":null";
    const TOO_LATE: &str = "\"lost\":9,\"age_us\":6000000,\"damage\":null";
    const DAMAGED: &str = "\"lost\":0,\"age_us\":0,\"damage\":\"no prefix\"";

    #[test]
    fn a_cut_is_held_against_what_the_solution_promises() {
        for (solution, expected) in
            [("baseline", 3), ("selective_sync_ordered", 2), ("wal_normal", 1), ("sync_off", 0), ("raid0_4k", 3)]
        {
            let crash = judged(solution, &[NONE, LATE, TOO_LATE, DAMAGED].map(|kept| cut(5, kept)));
            assert_eq!(crash.parts[2].broken, expected, "{solution}");
            let kept = &crash.parts[2];
            assert_eq!((crash.cuts, kept.acknowledged, kept.lost, kept.cuts_with_loss), (4, 80, 12, 2));
            assert_eq!((kept.oldest_s, kept.damaged, crash.parts[0].broken), (6.0, 1, 0));
            assert_eq!(crash.example.is_some(), expected > 0);
        }
    }

    #[test]
    fn a_cut_without_anything_at_risk_does_not_count() {
        let crash = judged("baseline", &[cut(0, NONE), cut(2, NONE)]);
        assert_eq!((crash.cuts, crash.without_risk, crash.lost_pages), (1, 1, 2));
        // But what it breaks is broken.
        assert_eq!(judged("baseline", &[cut(0, LATE)]).parts[2].broken, 1);
    }

    #[test]
    fn file_systems_that_do_not_mount_or_are_not_clean_and_wrong_data_are_kept() {
        let lines = ["@ {\"unmountable\":\"mount failed\"}\n", "@ {\"unclean\":\"ext4: bad\"}\n"].map(str::to_owned);
        let crash =
            judged("raid0_4k", &[lines.concat(), "@ {\"pulled\":{\"right\":7,\"errors\":5,\"wrong\":1}}\n".to_owned()]);
        assert_eq!((crash.unmountable, crash.unclean, crash.cuts), (1, 1, 1));
        assert_eq!((crash.pulled, crash.pulled_right, crash.pulled_errors, crash.pulled_wrong), (1, 7, 5, 1));
        assert_eq!(crash.example.as_deref(), Some("mount failed"));
        let sums = sum(vec![crash.clone(), crash]).expect("two");
        assert_eq!((sums.unmountable, sums.pulled_errors), (2, 10));
    }

    #[test]
    fn a_boot_that_failed_says_why() {
        let failed = judged("baseline", &["@ {\"failed\":\"no device\"}\n".to_owned()]);
        assert_eq!(failed.failure.as_deref(), Some("no device"));
        let early = judge(find("baseline").expect("it is there"), "x", "@ {\"case\":0}\n");
        assert_eq!(early.failure.as_deref(), Some("the guest ended early"));
        assert_eq!(judged("baseline", &[cut(1, NONE)]).failure, None);
    }
}
