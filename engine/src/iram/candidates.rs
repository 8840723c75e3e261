//! From which apps memory may be taken, and in which order (dissertation 5.5).
//!
//! Never, in any mode and by any step: from an app that is spared ([`brisk_core::app::spare`]), or at Foreground or
//! above. From a likely next app neither: the dissertation
//! protects the nine likeliest; adaptive mode protects as many of them as fit into `protected_max_percent` of the
//! memory, likeliest first, since on a small device nine apps may be all that run. Only apps are ended: a service
//! manager starts its services again.
//!
//! *Paper*: from the lowest to the highest importance. Section 5.5 lists: level 1 Empty and Background; 2 these and
//! system caches; 3 Empty, Background, Service, Perceptible, Visible, Foreground and system caches (5.3 says the same
//! in other words). Here level 3 ends at Visible, without what plays or may play: that and an app in front is never
//! ended. *Adaptive*: by expected cost, least
//! first:
//!
//! ```text
//! cost = chance that the app is the next one x time of its relaunch / memory that it has
//! ```
//!
//! Of a terminal or session not all is ended: the process that has grown most goes, with what it started, and shell and
//! terminal stay ([`Candidate::branch`]). What the person told earlyoom or systemd-oomd (`--prefer`, `--avoid`,
//! `ManagedOOMPreference=`) holds for ends: such apps go first, last, or never.
//!
//! Properties: `of_a_terminal_the_process_that_grows_ends_and_never_the_shell`;
//! `preferences_of_other_killers_order_the_ends`; `from_the_app_in_front_and_above_nothing_is_taken`;
//! `a_holder_of_an_inhibitor_keeps_everything`; `an_app_that_is_not_known_to_be_silent_keeps_everything`;
//! `what_the_configuration_protects_keeps_everything`; `brisk_itself_keeps_everything`;
//! `a_likely_next_app_keeps_everything`; `protected_apps_fit_into_their_share`; `a_larger_chance_never_comes_first`.

use std::collections::BTreeMap;

use crate::kit::check::share_bytes;
use brisk_core::action::{Ends, Once};
use brisk_core::app::spare::{self, Taking};
use brisk_core::app::{App, Branch, EndOrder, Role};
use brisk_core::reason::Reason;
use brisk_core::snapshot::{AppTotals, MemoryLevels};
pub use brisk_core::survey::Step;

use crate::iram::config::{Config, Mode};
use crate::iram::importance::{self, Importance, Rated};
use crate::kit::predict::NEXT_APPS;

/// Chance that is assumed at the least: also an app that was never used may be the next one.
const CHANCE_MIN: f64 = 0.001;
/// The end of a process of a terminal frees at least this much, or is not worth it.
const BRANCH_BYTES_MIN: u64 = 16 << 20;

/// An app with what decides about it.
#[derive(Debug, Clone, PartialEq)]
pub struct Candidate<'a> {
    pub app: &'a App,
    pub rated: Rated,
    /// Memory charged to its group, or else resident in its processes; `None` when unknown.
    pub memory_bytes: Option<u64>,
    /// Whether its group has the memory controller.
    pub has_controller: bool,
    /// Chance that it is the next app, from 0 to 1.
    pub chance: f64,
    /// Its place among all known apps, the likeliest being 0; `None` for one that was never used.
    pub rank: Option<usize>,
    /// Time that its relaunch takes.
    pub relaunch_s: f64,
    /// Why nothing is taken from it; `None` when something may be.
    pub spared: Option<Reason>,
}

impl Candidate<'_> {
    /// Expected cost of taking its memory, in seconds of waiting for each MiB.
    #[must_use]
    pub fn cost_s_per_mib(&self) -> f64 {
        let memory_mib = self.memory_bytes.unwrap_or(0).max(1) as f64 / (1 << 20) as f64;
        self.chance.max(CHANCE_MIN) * self.relaunch_s / memory_mib
    }

    /// Whether `step` may be done to it.
    #[must_use]
    pub fn allows(&self, config: &Config, step: Step) -> bool {
        if self.spared.is_some() || self.memory_bytes.is_none() {
            return false;
        }
        match step {
            Step::FreeCaches => self.allows(config, Step::Reclaim) && self.rank.is_none_or(|rank| rank >= NEXT_APPS),
            Step::Reclaim => config.reclaim && self.has_controller && self.rated.level >= Importance::Service,
            Step::PageOut => !self.has_controller && self.may_be_paged_out(config),
            Step::Freeze => {
                let may = spare::spared(self.app, Taking::Freeze).is_none();
                config.freeze && may && self.rated.level >= Importance::Background
            }
            Step::End => self.may_end(config) && self.rated.level >= lowest_ended(config),
        }
    }

    /// Whether the configuration, preferences and what it is let it be ended, whatever its importance.
    fn may_end(&self, config: &Config) -> bool {
        let has_something = self.app.activity.branches.is_none() || self.branch().is_some();
        config.ends != Ends::Never && has_something && spare::spared(self.app, Taking::End).is_none()
    }

    /// What of a terminal or session is ended; `None` of another app, and where shell and terminal are all that is
    /// there.
    #[must_use]
    pub fn branch(&self) -> Option<&Branch> {
        let branches = self.app.activity.branches.iter().flatten();
        let may_end = |branch: &&Branch| {
            let is_kept = branch.preference.as_ref().is_some_and(|of| of.order == EndOrder::Never);
            branch.memory_bytes >= BRANCH_BYTES_MIN && !is_kept
        };
        let order = |branch: &&Branch| end_place(branch.preference.as_ref().map(|preference| preference.order));
        // What grows will be larger yet: in as much time again it has as much more.
        let weight = |branch: &Branch| branch.memory_bytes.saturating_add(branch.growth_bytes);
        branches.filter(may_end).min_by_key(|branch| (order(branch), std::cmp::Reverse(weight(branch)), branch.pid))
    }

    #[must_use]
    pub fn end(&self, grace_ms: u64) -> Once {
        let group = self.app.group.clone();
        match self.branch() {
            Some(&Branch { pid, start_ticks, .. }) => Once::EndProcess { group, pid, start_ticks, grace_ms },
            None => Once::EndApp { group, grace_ms },
        }
    }

    /// Memory that its end frees; `None` when unknown.
    #[must_use]
    pub fn end_frees_bytes(&self) -> Option<u64> {
        self.branch().map(|branch| branch.memory_bytes).or(self.memory_bytes)
    }

    /// Its place among those that may be ended, by preferences alone.
    #[must_use]
    pub fn end_place(&self) -> u8 {
        end_place(self.app.activity.end_order())
    }

    /// Whether it may be ended for a launch that will not fit, also when it was in front a moment ago: the kernel would
    /// end an app that it does not choose by that.
    #[must_use]
    pub fn may_end_for_launch(&self, config: &Config) -> bool {
        let may = self.may_end(config) && self.spared.is_none() && self.memory_bytes.is_some();
        may && self.rated.reason.rule == importance::FRONT_LATELY
    }

    /// Whether its processes' memory may be paged out, also where its group has the memory controller.
    #[must_use]
    pub fn may_be_paged_out(&self, config: &Config) -> bool {
        let may = self.spared.is_none() && self.memory_bytes.is_some();
        config.reclaim && may && self.rated.level >= Importance::Service
    }

    /// The expected cost, as facts.
    #[must_use]
    pub fn facts(&self, rule: &'static str) -> Reason {
        Reason::rule(rule)
            .word("app", &self.app.id)
            .word("level", self.rated.level.name())
            .number("chance_percent", self.chance * 100.0)
            .number("relaunch_s", self.relaunch_s)
            .number("memory_mib", self.memory_bytes.unwrap_or(0) as f64 / (1 << 20) as f64)
    }

    /// The same of its end: which process, and by which preference.
    #[must_use]
    pub fn facts_of_end(&self, rule: &'static str) -> Reason {
        let mib = |bytes: u64| bytes as f64 / (1 << 20) as f64;
        let mut reason = self.facts(rule);
        let branch = self.branch();
        if let Some(branch) = branch {
            let of = reason.word("process", &branch.name).number("pid", f64::from(branch.pid));
            reason = of.number("process_mib", mib(branch.memory_bytes)).number("growth_mib", mib(branch.growth_bytes));
        }
        let preference = branch.and_then(|branch| branch.preference.as_ref()).or(self.app.activity.preference.as_ref());
        preference.map_or(reason.clone(), |preference| reason.word("preference", &preference.by))
    }
}

fn end_place(order: Option<EndOrder>) -> u8 {
    match order {
        Some(EndOrder::First) => 0,
        None => 1,
        Some(EndOrder::Last) => 2,
        Some(EndOrder::Never) => 3,
    }
}

/// The most important level that may be ended.
fn lowest_ended(config: &Config) -> Importance {
    match config.mode {
        Mode::Paper if config.aggression_level >= 3 => Importance::Visible,
        _ => Importance::Background,
    }
}

/// What is known of an app that runs besides what it shows itself.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Outlook {
    /// Chance that it is the next app.
    pub chance: f64,
    /// Its place among all known apps, the likeliest being 0; `None` for one that was never used.
    pub rank: Option<usize>,
    /// Time that its relaunch takes; `None` when unknown.
    pub relaunch_s: Option<f64>,
}

/// Time of a relaunch that was never seen: small files are read at 20 MB/s, and an app needs half a second in any case
/// (measured: 0.8 s to more than 40 s from eMMC, for apps of 30 to 600 MB).
fn presumed_relaunch_s(memory_bytes: u64) -> f64 {
    0.5 + memory_bytes as f64 / 20e6
}

/// All apps, each with what decides about it, in the order in which they would be taken from: those that are spared
/// come last. `outlook` knows an app by its user and id.
#[must_use]
pub fn all<'a>(
    config: &Config,
    now_ns: u64,
    apps: &'a [App],
    totals: &[AppTotals],
    memory: &MemoryLevels,
    outlook: impl Fn(&str) -> Outlook,
) -> Vec<Candidate<'a>> {
    let totals: BTreeMap<&str, &AppTotals> = totals.iter().map(|app| (app.name.as_str(), app)).collect();
    let candidate = |app: &'a App| {
        let of = totals.get(app.group.as_str());
        let memory_bytes = of.and_then(|of| of.memory_bytes.or(of.rss_bytes));
        let Outlook { chance, rank, relaunch_s } = outlook(&app.owned_id());
        let rated = importance::rate(app, now_ns);
        Candidate {
            spared: spared(app, &rated),
            rated,
            memory_bytes,
            has_controller: of.is_some_and(|of| of.memory_bytes.is_some()),
            chance,
            rank,
            relaunch_s: relaunch_s.unwrap_or_else(|| presumed_relaunch_s(memory_bytes.unwrap_or(0))),
            app,
        }
    };
    let mut all: Vec<Candidate<'a>> = apps.iter().map(candidate).collect();
    protect_next(config, memory, &mut all);
    let by_group = |a: &Candidate<'_>, b: &Candidate<'_>| a.app.group.cmp(&b.app.group);
    match config.mode {
        Mode::Paper => all.sort_by(|a, b| {
            let level = b.rated.level.cmp(&a.rated.level);
            level.then(a.chance.total_cmp(&b.chance)).then_with(|| by_group(a, b))
        }),
        Mode::Adaptive => all.sort_by(|a, b| {
            let cost = a.cost_s_per_mib().total_cmp(&b.cost_s_per_mib());
            cost.then(b.memory_bytes.cmp(&a.memory_bytes)).then_with(|| by_group(a, b))
        }),
    }
    // Stable: the order within both halves stays.
    all.sort_by_key(|one| one.spared.is_some());
    all
}

/// Why nothing may be taken from an app, whatever is predicted.
fn spared(app: &App, rated: &Rated) -> Option<Reason> {
    let by_level = || rated.level.is_untouchable().then(|| rated.reason.clone());
    spare::spared(app, Taking::Memory).or_else(by_level)
}

/// Protects the likely next apps. Groups of one app stand and fall together.
fn protect_next(config: &Config, memory: &MemoryLevels, all: &mut [Candidate<'_>]) {
    let mut next: BTreeMap<(usize, String), (f64, u64)> = BTreeMap::new();
    for one in all.iter().filter(|one| one.app.activity.role == Role::App) {
        let Some(rank) = one.rank.filter(|rank| *rank < config.protected_apps) else { continue };
        let of = next.entry((rank, one.app.owned_id())).or_insert((one.chance, 0));
        of.1 = of.1.saturating_add(one.memory_bytes.unwrap_or(0));
    }
    let mut rest_bytes = match config.mode {
        Mode::Paper => u64::MAX,
        Mode::Adaptive => share_bytes(memory.total_bytes, config.protected_max_percent),
    };
    let mut protected: BTreeMap<String, Reason> = BTreeMap::new();
    for ((rank, id), (chance, memory_bytes)) in next {
        let Some(rest) = rest_bytes.checked_sub(memory_bytes) else { break };
        rest_bytes = rest;
        let reason = Reason::rule("likely_next").number("rank", rank as f64 + 1.0);
        protected.insert(id, reason.number("chance_percent", chance * 100.0));
    }
    for one in all.iter_mut().filter(|one| one.spared.is_none() && one.app.activity.role == Role::App) {
        one.spared = protected.get(&one.app.owned_id()).cloned();
    }
}

#[cfg(test)]
mod tests;
