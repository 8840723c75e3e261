//! Which cures of slow storage fit what is known of a device and of an app, and in which order. Pure.
//!
//! A gain is *measured* (the run time of apps under a solution, `brisk suite cures`), a *bound* (time that an app waits
//! in syncs which the cure leaves out), or *modelled* (a factor of the device that the cure can at most take away). The
//! order is that of the gain as a factor; of equal ones the smaller risk comes first. What is in memory alone is a
//! bound of the studies and no cure, so it is not listed.

use brisk_api::init::Init;
use brisk_bench::results::FootprintDrop;
use brisk_core::order::Order as _;

use super::cures::{CureCrash, CureRow};
use brisk_sync::advice::Advice;
use brisk_sync::policy::Class;
use serde::Serialize;

#[derive(Debug, Clone, Default)]
pub(super) struct Evidence {
    /// How services are managed here.
    pub(super) init: Init,
    /// Files for which the app waits in syncs.
    pub(super) waits: Vec<Advice>,
    /// Run times under solutions.
    pub(super) rows: Vec<CureRow>,
    /// Power cuts under solutions.
    pub(super) crashes: Vec<CureCrash>,
    /// Where the throughput of random writes falls.
    pub(super) drops: Vec<FootprintDrop>,
    /// Reads concurrent with writes over reads alone: the largest median.
    pub(super) read_slowdown: Option<f64>,
}

/// Where a gain comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Basis {
    Measured,
    Bound,
    Modelled,
}

/// A cure with its place in the order.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(super) struct Cure {
    pub(super) name: String,
    /// Times as fast; absent where all of the time in question goes.
    pub(super) gain: Option<f64>,
    pub(super) basis: Basis,
    pub(super) of: String,
    pub(super) cost: &'static str,
    pub(super) risk: String,
    /// The command that applies it, and the one that undoes it.
    pub(super) apply: Option<String>,
    pub(super) undo: Option<String>,
    /// What to do where no command does it.
    pub(super) steps: &'static str,
}

struct Solution {
    name: &'static str,
    cost: &'static str,
    /// APP and DATABASE stand for those of the user.
    apply: Option<(&'static str, &'static str)>,
    steps: &'static str,
}

const PARTITION: &str = "Copy the data, make a partition with this file system for it, copy it back, and name it in \
                         /etc/fstab. There is no way back but the same.";
const STRIPE: &str = "mdadm --create /dev/md0 --level=0 --raid-devices=2 over the internal flash and the card, then a \
                      file system on it. When the card fails or is pulled all data is gone, so keep a copy elsewhere.";
const STRIPE_RISK: &str = "all data is lost when one of two devices fails or is pulled; a power cut that reaches one \
                           before the other can damage the file system";
const IN_APP: &str = "The app sets it for each connection, so its authors have to: it is no property of the file.";

const WAYS: &[Solution] = &[
    Solution {
        name: "selective_sync",
        cost: "none",
        apply: Some(("brisk sync on APP", "brisk sync off APP")),
        steps: "",
    },
    Solution {
        name: "selective_sync_ordered",
        cost: "a policy that names the database, which is in WAL mode",
        apply: Some(("brisk sync on APP", "brisk sync off APP")),
        steps: "Before it, write /etc/brisk/sync/APP.toml with a [[database]] of the class ordered; brisk sync check \
                shows its rules.",
    },
    Solution {
        name: "wal",
        cost: "two files beside the database; not on network file systems",
        apply: Some(("sqlite3 DATABASE 'pragma journal_mode=wal'", "sqlite3 DATABASE 'pragma journal_mode=delete'")),
        steps: "End the app before.",
    },
    Solution { name: "wal_normal", cost: "a change of the app", apply: None, steps: IN_APP },
    Solution { name: "rollback_normal", cost: "a change of the app", apply: None, steps: IN_APP },
    Solution { name: "journal_truncate", cost: "a change of the app", apply: None, steps: IN_APP },
    Solution { name: "journal_delete", cost: "a change of the app", apply: None, steps: IN_APP },
    Solution {
        name: "transactions_of_10",
        cost: "a change of the app",
        apply: None,
        steps: "Its authors put several changes into one transaction.",
    },
    Solution {
        name: "sync_off",
        cost: "a policy that names all data",
        apply: None,
        steps: "Not advised: the risk is all data of the app.",
    },
    Solution { name: "f2fs", cost: "a new file system", apply: None, steps: PARTITION },
    Solution { name: "f2fs_databases", cost: "a partition", apply: None, steps: PARTITION },
    Solution {
        name: "nilfs2_databases",
        cost: "a partition, and its cleaner in the background",
        apply: None,
        steps: PARTITION,
    },
    Solution { name: "btrfs", cost: "a new file system", apply: None, steps: PARTITION },
    Solution { name: "raid0_4k", cost: "a second card, a new file system", apply: None, steps: STRIPE },
    Solution { name: "raid0_64k", cost: "a second card, a new file system", apply: None, steps: STRIPE },
    Solution { name: "raid0_4k_unequal", cost: "a card, a new file system", apply: None, steps: STRIPE },
    Solution {
        name: "pcm_databases",
        cost: "hardware",
        apply: None,
        steps: "A file system on the persistent memory, for the databases.",
    },
    Solution {
        name: "pcm_writes",
        cost: "hardware",
        apply: None,
        steps: "dmsetup with the target writecache over card and persistent memory.",
    },
];

/// All cures that something is known of, the best first.
pub(super) fn rank(known: &Evidence, app: Option<&str>) -> Vec<Cure> {
    let mut cures = measured(known, app);
    for cure in bounds(known, app).into_iter().chain(modelled(known)) {
        // What was measured says more than its bound.
        if cures.iter().all(|other| other.name != cure.name) {
            cures.push(cure);
        }
    }
    let order = |cure: &Cure| cure.gain.unwrap_or(f64::INFINITY);
    cures.order_by(|a, b| order(b).total_cmp(&order(a)).then_with(|| is_risky(a).cmp(&is_risky(b))));
    cures
}

fn is_risky(cure: &Cure) -> bool {
    !cure.risk.starts_with("none")
}

fn way(name: &str) -> Option<&'static Solution> {
    WAYS.iter().find(|way| way.name == name)
}

fn cure(way: &Solution, gain: Option<f64>, basis: Basis, of: String, risk: String, app: Option<&str>) -> Cure {
    let named = |text: &str| app.map_or_else(|| text.to_owned(), |app| text.replace("APP", app));
    Cure {
        name: way.name.to_owned(),
        gain,
        basis,
        of,
        cost: way.cost,
        risk,
        apply: way.apply.map(|(apply, _)| named(apply)),
        undo: way.apply.map(|(_, undo)| named(undo)),
        steps: way.steps,
    }
}

/// Solutions with run times, by their least gain: of several apps and cards one may be slower.
fn measured(known: &Evidence, app: Option<&str>) -> Vec<Cure> {
    let mut cures = Vec::new();
    for way in WAYS {
        let gains: Vec<(f64, &CureRow)> = known
            .rows
            .iter()
            .filter(|row| row.solution == way.name)
            .filter_map(|row| Some((row.gain?.median, row)))
            .filter(|(gain, _)| gain.is_finite())
            .collect();
        let Some((least, row)) = gains.iter().min_by(|a, b| a.0.total_cmp(&b.0)) else { continue };
        let places = if gains.len() > 1 { format!(", the least of {}", gains.len()) } else { String::new() };
        let of = format!("the run time of {} on {}{places}", row.workload, row.preset);
        cures.push(cure(way, Some(*least), Basis::Measured, of, risk(&row.risk, way.name, known), app));
    }
    cures
}

/// The risk as it is stated, and what power cuts found.
fn risk(stated: &str, name: &str, known: &Evidence) -> String {
    let Some(crash) = known.crashes.iter().find(|crash| crash.solution == name) else { return stated.to_owned() };
    if crash.is_broken() {
        return format!("a power cut broke what it promises ({}); stated: {stated}", why(crash));
    }
    format!("{stated}; kept in {} power cuts", crash.cuts)
}

fn why(crash: &CureCrash) -> String {
    crash.example.as_ref().or(crash.failure.as_ref()).cloned().unwrap_or_else(|| "see its document".to_owned())
}

/// A solution whose promise a power cut broke.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(super) struct Broken {
    pub(super) name: String,
    pub(super) why: String,
}

/// Solutions whose promise a power cut broke, and which are not among the cures, where their risk says it.
pub(super) fn broken(known: &Evidence, cures: &[Cure]) -> Vec<Broken> {
    let mut all: Vec<Broken> = Vec::new();
    for crash in known.crashes.iter().filter(|crash| crash.is_broken()) {
        let is_told = cures.iter().any(|cure| cure.name == crash.solution)
            || all.iter().any(|other| other.name == crash.solution);
        if !is_told {
            all.push(Broken { name: crash.solution.clone(), why: why(crash) });
        }
    }
    all
}

/// What the app waits for and would not wait for.
fn bounds(known: &Evidence, app: Option<&str>) -> Vec<Cure> {
    let all_us: u64 = known.waits.iter().map(|one| one.waited_us).sum();
    let saved_us =
        |class: Class| -> u64 { known.waits.iter().filter(|one| one.class == class).map(|one| one.gain_us_max).sum() };
    let (cache_us, ordered_us) = (saved_us(Class::Cache), saved_us(Class::Ordered));
    let risk_of = |class: Class| known.waits.iter().find(|one| one.class == class).map(|one| one.risk.clone());
    let one = |name: &str, saved_us: u64, class: Class| {
        let left_us = all_us.saturating_sub(saved_us);
        let gain = (left_us > 0).then(|| all_us as f64 / left_us as f64);
        let of = format!("{:.1} ms in syncs, of which {:.1} ms go", all_us as f64 / 1e3, saved_us as f64 / 1e3);
        let risk = risk(&risk_of(class).unwrap_or_default(), name, known);
        way(name).filter(|_| saved_us > 0).map(|way| cure(way, gain, Basis::Bound, of, risk, app))
    };
    // An ordered database saves the waits of the cache as well: the same policy leaves both out.
    let ordered_too_us = if ordered_us > 0 { cache_us + ordered_us } else { 0 };
    [one("selective_sync", cache_us, Class::Cache), one("selective_sync_ordered", ordered_too_us, Class::Ordered)]
        .into_iter()
        .flatten()
        .collect()
}

/// What the device's own factors allow.
fn modelled(known: &Evidence) -> Vec<Cure> {
    let mut cures = Vec::new();
    // All falls together: beyond the last range.
    let factor: f64 = known.drops.iter().map(|drop| drop.factor).product();
    if let Some(drop) = known.drops.first().filter(|_| factor.is_finite() && factor > 1.0) {
        let range = brisk_core::units::format_bytes(drop.after_range_bytes);
        let of = format!("random writes that spread over more than {range}");
        let names = ["nilfs2_databases", "f2fs_databases", "raid0_4k"];
        for way in names.into_iter().filter_map(way) {
            let (gain, risk) = match way.name {
                // Two devices halve what each has to hold.
                "raid0_4k" => (factor.min(2.0), STRIPE_RISK),
                _ => (factor, "none: what an app was told is durable is"),
            };
            cures.push(cure(way, Some(gain), Basis::Modelled, of.clone(), risk.to_owned(), None));
        }
    }
    if let Some(slowdown) = known.read_slowdown.filter(|slowdown| slowdown.is_finite() && *slowdown > 1.0) {
        cures.push(Cure {
            name: "briskd".to_owned(),
            gain: Some(slowdown),
            basis: Basis::Modelled,
            of: "reads of a launch that is concurrent with writes".to_owned(),
            cost: "writes wait while an app is launched",
            risk: "none: what an app was told is durable is".to_owned(),
            apply: Some(known.init.enable().to_owned()),
            undo: Some(known.init.disable("briskd")),
            steps: "",
        });
    }
    cures
}

#[cfg(test)]
mod tests {
    use brisk_core::stats::Summary;

    use super::*;

    fn row(solution: &str, preset: &str, gain: f64, risk: &str) -> CureRow {
        CureRow {
            workload: "webbench".to_owned(),
            preset: preset.to_owned(),
            solution: solution.to_owned(),
            risk: risk.to_owned(),
            gain: Summary::of(&[gain]),
        }
    }

    fn wait(class: Class, waited_us: u64) -> Advice {
        Advice {
            path: "/x".to_owned(),
            syncs: 1,
            waited_us,
            class,
            reason: String::new(),
            gain_us_max: if class == Class::Durable { 0 } else { waited_us },
            risk: format!("{class:?}"),
        }
    }

    fn names(cures: &[Cure]) -> Vec<&str> {
        cures.iter().map(|cure| cure.name.as_str()).collect()
    }

    #[test]
    fn the_larger_gain_comes_first_and_of_equal_ones_the_smaller_risk() {
        let rows = vec![
            row("wal", "sd-ridata", 1.9, "none: durable"),
            row("selective_sync", "sd-ridata", 2.2, "the index"),
            row("journal_truncate", "sd-ridata", 2.2, "none: durable"),
            row("all_in_ram", "sd-ridata", 9.0, "a bound"),
            row("baseline", "sd-ridata", 1.0, "none: durable"),
        ];
        let cures = rank(&Evidence { rows, ..Evidence::default() }, Some("org.example.Reader"));
        assert_eq!(names(&cures), ["journal_truncate", "selective_sync", "wal"]);
        assert_eq!(cures[1].apply.as_deref(), Some("brisk sync on org.example.Reader"));
        assert_eq!(cures[1].undo.as_deref(), Some("brisk sync off org.example.Reader"));
        assert_eq!((cures[0].apply.as_deref(), cures[0].steps), (None, IN_APP));
    }

    #[test]
    fn of_several_places_the_least_gain_counts() {
        let rows = vec![row("wal", "sd-ridata", 3.0, "none"), row("wal", "sd-kingston", 0.8, "none")];
        let cures = rank(&Evidence { rows, ..Evidence::default() }, None);
        assert_eq!((cures[0].gain, cures[0].basis), (Some(0.8), Basis::Measured));
        assert!(cures[0].of.contains("sd-kingston, the least of 2"), "{}", cures[0].of);
    }

    #[test]
    fn waits_bound_the_gain_of_selective_sync() {
        let waits = vec![wait(Class::Cache, 3_000), wait(Class::Ordered, 4_000), wait(Class::Durable, 3_000)];
        let cures = rank(&Evidence { waits, ..Evidence::default() }, None);
        assert_eq!(names(&cures), ["selective_sync_ordered", "selective_sync"]);
        assert!((cures[0].gain.expect("a factor") - 10.0 / 3.0).abs() < 1e-9);
        assert!((cures[1].gain.expect("a factor") - 10.0 / 7.0).abs() < 1e-9);
        assert!(cures[1].of.contains("10.0 ms in syncs, of which 3.0 ms go"), "{}", cures[1].of);
        // All of them go: no factor.
        let all = rank(&Evidence { waits: vec![wait(Class::Cache, 5)], ..Evidence::default() }, None);
        assert_eq!((all.len(), all[0].gain), (1, None));
        assert!(rank(&Evidence { waits: vec![wait(Class::Durable, 5)], ..Evidence::default() }, None).is_empty());
    }

    #[test]
    fn what_was_measured_replaces_its_bound() {
        let waits = vec![wait(Class::Cache, 9_000), wait(Class::Durable, 1_000)];
        let rows = vec![row("selective_sync", "sd-ridata", 2.2, "the index")];
        let cures = rank(&Evidence { rows, waits, ..Evidence::default() }, None);
        assert_eq!((cures.len(), cures[0].gain, cures[0].basis), (1, Some(2.2), Basis::Measured));
    }

    #[test]
    fn the_devices_factors_bound_what_layouts_and_the_daemon_can_gain() {
        let drop = |after_range_bytes, factor| FootprintDrop { after_range_bytes, factor };
        let drops = vec![drop(8 << 20, 4.0), drop(64 << 20, 1.5)];
        let known = Evidence { drops, read_slowdown: Some(11.0), ..Evidence::default() };
        let cures = rank(&known, None);
        assert_eq!(names(&cures), ["briskd", "nilfs2_databases", "f2fs_databases", "raid0_4k"]);
        assert_eq!(cures.iter().map(|cure| cure.gain.expect("a factor")).collect::<Vec<_>>(), [11.0, 6.0, 6.0, 2.0]);
        assert!(cures[1].of.contains("8 MiB") && cures[1].basis == Basis::Modelled);
        assert!(rank(&Evidence { read_slowdown: Some(1.0), ..Evidence::default() }, None).is_empty());
    }

    #[test]
    fn power_cuts_stand_with_the_risk() {
        let crash: CureCrash = serde_json::from_value(serde_json::json!({
            "preset": "x", "solution": "wal", "cuts": 20, "without_risk": 1, "lost_pages": 9, "unmountable": 0,
            "unclean": 0,
            "is_checked": true, "pulled": 0, "pulled_right": 0, "pulled_errors": 0, "pulled_wrong": 0, "parts": [],
            "example": null,
            "failure": null,
        }))
        .expect("valid");
        let rows = || vec![row("wal", "sd-ridata", 1.9, "none: durable")];
        let of = |crash: CureCrash| {
            rank(&Evidence { rows: rows(), crashes: vec![crash], ..Evidence::default() }, None)[0].risk.clone()
        };
        assert_eq!(of(crash.clone()), "none: durable; kept in 20 power cuts");
        let broken = CureCrash { unclean: 1, example: Some("ext4: bad".to_owned()), ..crash };
        assert!(of(broken.clone()).starts_with("a power cut broke what it promises (ext4: bad)"));
        // Without run times it is no cure, and the broken promise is told once all the same.
        let known = Evidence { crashes: vec![broken.clone(), broken], ..Evidence::default() };
        let cures = rank(&known, None);
        let told = super::broken(&known, &cures);
        assert_eq!((cures.len(), told.len()), (0, 1));
        assert_eq!((told[0].name.as_str(), told[0].why.as_str()), ("wal", "ext4: bad"));
        let known = Evidence { rows: rows(), ..known };
        assert!(super::broken(&known, &rank(&known, None)).is_empty());
    }
}
