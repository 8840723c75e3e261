//! Aims of a comparison, as data, and whether they are reached.
//!
//! An aim names a side and a figure, and a bound: for the figure itself (a slowdown, a longest latency), or for its
//! cost relative to others (`against`), where the cost of a rate is its inverse. "At most 3 % worse than the best" is a
//! cost of at most 1.03 relative to the least of the others. An aim also states which settings of the judged scheduler
//! count: its defaults, given ones, or any that keep a share of the best write throughput. A peer counts with its best
//! settings.
//!
//! Properties, each with a test: an aim without a figure is not reached; settings that starve writes prove nothing; a
//! peer's best row counts.

use crate::results::{KernelAim, KernelAimed, KernelFigure, KernelMeasure, KernelRow, KernelScenario, KernelVerdict};
use serde::Deserialize;

use crate::vm::schedulers::{self, Settings};

#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Aim {
    pub words: String,
    /// Prefix of the names of its loads; all where absent.
    #[serde(default)]
    pub loads: String,
    pub side: String,
    pub figure: KernelFigure,
    /// Schedulers to compare with; none where empty, all but the judged one for `peers`.
    #[serde(default)]
    pub against: String,
    /// Bound of the figure, or of its cost relative to the others'.
    pub at_most: f64,
    /// Least throughput of the other sides, in percent of the best of all rows; then all settings count, otherwise only
    /// the defaults.
    #[serde(default)]
    pub others_percent: Option<f64>,
    /// Whether the judged scheduler must also keep the peer's throughput of the other sides (less 1 %, the noise of
    /// repeats).
    #[serde(default)]
    pub equal: bool,
    /// Settings of the judged scheduler that count without `others_percent`; its defaults where empty.
    #[serde(default)]
    pub settings: Settings,
}

/// Share of a peer's throughput that counts as kept.
const EQUAL: f64 = 0.99;

/// The result of `scheduler` in a scenario.
#[must_use]
pub fn judge(aim: &Aim, scheduler: &str, scenario: &KernelScenario) -> KernelAim {
    let places = (0..scenario.loads.len()).filter(|place| scenario.loads[*place].name.starts_with(&aim.loads));
    let loads = places
        .filter(|place| {
            let rows = scenario.rows.iter().filter_map(|row| row.loads.get(*place));
            scenario.rows.is_empty() || rows.clone().count() == 0 || rows.clone().any(|of| of.side(&aim.side).is_some())
        })
        .map(|place| judge_load(aim, scheduler, scenario, place))
        .collect();
    KernelAim {
        words: aim.words.clone(),
        scenario: scenario.name.clone(),
        scheduler: scheduler.to_owned(),
        side: aim.side.clone(),
        figure: aim.figure,
        at_most: aim.at_most,
        relative: !aim.against.is_empty(),
        loads,
    }
}

fn judge_load(aim: &Aim, scheduler: &str, scenario: &KernelScenario, place: usize) -> KernelAimed {
    let unknown = |why: &str| KernelAimed {
        load: scenario.loads[place].name.clone(),
        settings: String::new(),
        found: None,
        peer: None,
        peer_found: None,
        value: None,
        value_worst: None,
        verdict: KernelVerdict::Unknown,
        why: Some(why.to_owned()),
    };
    let of = |row: &KernelRow| row.loads.get(place).map(|measure| throughput(measure, &aim.side));
    let best = scenario.rows.iter().filter_map(of).fold(0.0, f64::max);
    let leaves = |row: &KernelRow, least: f64| of(row).is_some_and(|left| left >= least);
    let least = best * aim.others_percent.unwrap_or(0.0) / 100.0;
    let cost = |row: &KernelRow| {
        let figure = aim.figure.of(row.loads.get(place)?.side(&aim.side)?)?;
        Some(if aim.figure == KernelFigure::Requests { 1.0 / figure.median } else { figure.median })
    };
    let cheapest = |rows: Vec<&'_ KernelRow>| -> Option<usize> {
        let costs = rows.iter().filter_map(|row| Some((cost(row)?, *row)));
        let row = costs.min_by(|a, b| a.0.total_cmp(&b.0))?.1;
        scenario.rows.iter().position(|other| std::ptr::eq(other, row))
    };
    let peer = if aim.against.is_empty() {
        None
    } else {
        let is_peer = |row: &&KernelRow| match aim.against.as_str() {
            "peers" => row.scheduler != scheduler,
            name => row.scheduler == name,
        };
        let peers = scenario.rows.iter().filter(is_peer).filter(|row| leaves(row, least));
        let Some(peer) = cheapest(peers.collect()) else { return unknown("no peer has a figure") };
        Some(&scenario.rows[peer])
    };
    let least = match peer.and_then(of) {
        Some(left) if aim.equal => least.max(left * EQUAL),
        _ => least,
    };
    let is_given = |row: &KernelRow| !row.tuned && row.settings == aim.settings;
    let own = |row: &&KernelRow| row.scheduler == scheduler && (aim.others_percent.is_some() || is_given(row));
    let judged = scenario.rows.iter().filter(own).filter(|row| leaves(row, least));
    let Some(judged) = cheapest(judged.collect()) else {
        let some = scenario.rows.iter().any(|row| own(&row) && cost(row).is_some());
        return unknown(if some { "no setting keeps enough throughput of the others" } else { "it has no figure" });
    };
    let judged = &scenario.rows[judged];
    let summary = |row: &KernelRow| row.loads.get(place).and_then(|of| aim.figure.of(of.side(&aim.side)?));
    let (found, peer_found) = (summary(judged), peer.and_then(summary));
    let rate = aim.figure == KernelFigure::Requests;
    // The worse end of a rate's interval is the lower one.
    let value = found.map(|of| match peer_found {
        Some(peer) if rate => (peer.median / of.median, peer.high / of.low),
        Some(peer) => (of.median / peer.median, of.high / peer.low),
        None => (of.median, if rate { of.low } else { of.high }),
    });
    KernelAimed {
        load: scenario.loads[place].name.clone(),
        settings: schedulers::words(&judged.settings),
        found,
        peer: peer.map(|row| format!("{} {}", row.scheduler, schedulers::words(&row.settings)).trim_end().to_owned()),
        peer_found,
        value: value.map(|(value, _)| value),
        value_worst: value.map(|(_, worst)| worst),
        verdict: match value {
            Some((value, _)) if value <= aim.at_most => KernelVerdict::Reached,
            Some(_) => KernelVerdict::Missed,
            None => KernelVerdict::Unknown,
        },
        why: None,
    }
}

/// Throughput of all other sides, in bytes a second.
fn throughput(measure: &KernelMeasure, side: &str) -> f64 {
    measure.sides.iter().filter(|of| of.side != side).map(|of| of.bytes_per_s.median).sum()
}

#[cfg(test)]
mod tests {
    use crate::results::{KernelDevice, KernelFidelity, KernelLoad, KernelSide};
    use brisk_core::stats::Summary;

    use super::*;

    fn side(side: &str, delay: f64, bytes: f64) -> KernelSide {
        let of = |value: f64| Summary::of(&[value * 0.99, value, value * 1.01]).expect("numbers");
        KernelSide {
            side: side.to_owned(),
            jobs: 1,
            delay_us_mean: of(delay),
            delay_us_p50: of(delay),
            delay_us_p99: of(2.0 * delay),
            delay_us_max: of(3.0 * delay),
            requests_per_s: of(bytes / 4096.0),
            bytes_per_s: of(bytes),
            job_s: None,
            slowdown: Some(of(delay / 100.0)),
        }
    }

    fn row(scheduler: &str, settings: &[(&str, &str)], delay: f64, bytes: f64) -> KernelRow {
        let settings = settings.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        let sides = vec![side("read", delay, 1e6), side("write", 1.0, bytes)];
        let loads = vec![KernelMeasure { load: "l".to_owned(), sides }];
        KernelRow { scheduler: scheduler.to_owned(), tuned: false, settings, tried: 0, loads }
    }

    fn scenario(rows: Vec<KernelRow>) -> KernelScenario {
        KernelScenario {
            name: "s".to_owned(),
            title: String::new(),
            question: String::new(),
            device: KernelDevice {
                preset: "p".to_owned(),
                changed: Default::default(),
                size_bytes: 1,
                depth_requests: 1,
                queues: 1,
                file_system: None,
            },
            seeds: vec![1, 2, 3],
            scale: 1.0,
            write_min_percent: 90.0,
            loads: vec![KernelLoad { name: "l".to_owned(), words: String::new() }],
            rows,
            refused: Vec::new(),
            fidelity: KernelFidelity {
                lateness_ns_mean: 0.0,
                lateness_ns_bound: 0.0,
                repeat_percent: 0.0,
                repeat_percent_bound: 0.0,
                repeat_percent_of_jobs: 0.0,
                boots: 1,
                cases: 1,
                kept: 0,
            },
        }
    }

    fn aim(text: &str) -> Aim {
        toml::from_str(&format!("words = \"w\"\nside = \"read\"\n{text}")).expect("an aim")
    }

    fn judged(aim: &Aim, rows: Vec<KernelRow>) -> KernelAimed {
        judge(aim, "smartio", &scenario(rows)).loads.remove(0)
    }

    #[test]
    fn settings_that_starve_writes_prove_nothing() {
        let aim = aim("figure = \"slowdown\"\nat_most = 2.0\nothers_percent = 90");
        let starving = row("smartio", &[], 100.0, 10e6);
        let fair = row("smartio", &[("share", "90")], 300.0, 95e6);
        let peer = row("none", &[], 900.0, 100e6);
        let found = judged(&aim, vec![peer.clone(), starving.clone(), fair.clone()]);
        assert_eq!((found.verdict, found.settings.as_str()), (KernelVerdict::Missed, "share=90"));
        assert!((found.value.expect("a figure") - 3.0).abs() < 1e-9);
        assert!(found.value_worst.expect("a figure") > 3.0);
        let found = judged(&aim, vec![peer, starving]);
        assert_eq!(found.verdict, KernelVerdict::Unknown);
        assert!(found.why.expect("a reason").contains("keeps"));
    }

    #[test]
    fn a_peer_counts_with_its_best_run_at_equal_throughput() {
        let aim = aim("figure = \"delay_mean\"\nagainst = \"peers\"\nat_most = 0.5\nothers_percent = 80\nequal = true");
        let rows = vec![
            row("bfq", &[], 900.0, 100e6),
            row("bfq", &[("x", "1")], 500.0, 85e6),
            row("kyber", &[], 100.0, 20e6),
            row("smartio", &[("share", "85")], 240.0, 86e6),
            row("smartio", &[("share", "80")], 10.0, 81e6),
        ];
        let found = judged(&aim, rows);
        assert_eq!(found.peer.as_deref(), Some("bfq x=1"), "kyber's writes starve");
        assert_eq!(found.settings, "share=85", "less than the peer leaves is not equal");
        assert_eq!(found.verdict, KernelVerdict::Reached);
    }

    #[test]
    fn an_aim_may_be_about_given_settings() {
        let rows = || vec![row("smartio", &[], 300.0, 9e7), row("smartio", &[("share", "10")], 110.0, 3e7)];
        let with = |settings: &str| judged(&aim(&format!("figure = \"slowdown\"\nat_most = 1.2{settings}")), rows());
        assert_eq!(with("").verdict, KernelVerdict::Missed);
        assert_eq!(with("\nsettings = { share = \"10\" }").verdict, KernelVerdict::Reached);
        assert_eq!(with("\nsettings = { share = \"20\" }").verdict, KernelVerdict::Unknown);
    }

    #[test]
    fn rates_cost_their_inverse_and_only_the_defaults_count() {
        let aim = aim("figure = \"requests\"\nagainst = \"none\"\nat_most = 1.03");
        let rows = |ours: f64| {
            let mut rows = vec![row("none", &[], 1.0, 1.0), row("smartio", &[], 1.0, 1.0)];
            rows.push(row("smartio", &[("a", "1")], 1.0, 1.0));
            let of = |value: f64| Summary::of(&[value]).expect("a number");
            rows[1].loads[0].sides[0].requests_per_s = of(ours);
            rows[0].loads[0].sides[0].requests_per_s = of(100.0);
            rows
        };
        assert_eq!(judged(&aim, rows(98.0)).verdict, KernelVerdict::Reached);
        assert_eq!(judged(&aim, rows(96.0)).verdict, KernelVerdict::Missed);
    }

    #[test]
    fn an_aim_without_a_figure_is_not_reached() {
        let aim = aim("figure = \"delay_mean\"\nagainst = \"bfq\"\nat_most = 9");
        assert_eq!(judged(&aim, vec![row("none", &[], 1.0, 1.0)]).verdict, KernelVerdict::Unknown);
        assert_eq!(judged(&aim, vec![row("smartio", &[], 1.0, 1.0)]).verdict, KernelVerdict::Unknown);
        assert_eq!(judged(&aim, vec![row("bfq", &[], 1.0, 1.0)]).verdict, KernelVerdict::Unknown);
    }
}
