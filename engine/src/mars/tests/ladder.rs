//! The ladder of the engine's trial on the model of a phone: from the installation to acting or resting, in hours of
//! use and half hours that count.
//!
//! What is applied follows the arms of the trial, as in the daemon: blocks of half an hour, the first five minutes of
//! which count for nothing, and in which what reads back is not held out; and scans for what is held out are left out.
//! The daemon's own part of it (which requests, which events, which counters) has its tests there.

use brisk_core::action::Action;
use brisk_core::decision::Request;
use brisk_core::random::mix;
use brisk_core::trial::{Arm, Ended, Ladder, Phase, Plan, Span, Sums, Trial, Why};

use super::phone::{Phone, Totals};
use super::whole::{Load, TOTAL_PAGES, load};
use super::*;

/// The trial of the engine on a phone.
#[derive(Debug)]
pub(super) struct Tried {
    plan: Plan,
    trial: Trial,
    seed: u64,
    began_ns: Option<u64>,
    now_ns: u64,
    /// Returns so far where the block begins to count.
    from: Option<(u64, f64)>,
    is_used: bool,
    is_touched: bool,
    episodes: u32,
    /// Each phase, when it began, and how many episodes had ended then.
    steps: Vec<(Phase, Why, f64, u32)>,
    began_all_ns: u64,
}

impl Tried {
    pub(super) fn new(seed: u64, now_ns: u64) -> Self {
        Self {
            plan: Mars::trial(&Config::default()).expect("it is tried"),
            trial: Trial::new(Ladder::Auto, 0),
            seed: mix(seed),
            began_ns: None,
            now_ns,
            from: None,
            is_used: false,
            is_touched: false,
            episodes: 0,
            steps: vec![(Phase::Observing, Why::default(), 0.0, 0)],
            began_all_ns: now_ns,
        }
    }

    pub(super) fn arm(&self) -> Arm {
        self.trial.arm(Ladder::Auto, self.seed)
    }

    /// Whether the trial drops this action at this moment.
    pub(super) fn drops(&self, once: &Once) -> bool {
        let reads_back = matches!(once, Once::PageIn { .. } | Once::MapIn { .. } | Once::ReadAhead { .. });
        let is_washing_out = self.from.is_none() && self.arm() == Arm::HeldOut;
        self.arm() != Arm::On && !once.only_restores() && !(reads_back && is_washing_out)
    }

    pub(super) fn go_on(&mut self, now_ns: u64, requests: &[Request], events: &[EventKind], totals: &Totals) {
        let Span::Time { block_s, wash_out_s } = self.plan.span else { unreachable!("by blocks of time") };
        self.now_ns = now_ns;
        let began_ns = *self.began_ns.get_or_insert(now_ns);
        if self.from.is_none() && now_ns >= began_ns + wash_out_s * S_NS {
            self.from = Some((now_ns, totals.return_us));
        }
        let counts = |request: &Request| !matches!(&request.action, Action::Once(once) if once.only_restores());
        self.is_touched |= requests.iter().any(counts);
        let is_use = |kind: &EventKind| matches!(kind, EventKind::Focused { .. });
        self.is_used |= self.from.is_some() && events.iter().any(is_use);
        if now_ns < began_ns + block_s * S_NS {
            return;
        }
        let (from_ns, from_us) = self.from.take().expect("longer than its first minutes");
        if self.is_touched && self.is_used {
            let value = (totals.return_us - from_us) / ((now_ns - from_ns) as f64 / 1e3);
            let before = self.trial.phase;
            let ended = Ended::Counts { value, sums: Sums { episodes: 1, ..Sums::default() } };
            self.trial.take(&self.plan, Ladder::Auto, self.seed, &ended, now_ns / 1_000_000);
            self.episodes += 1;
            if self.trial.phase != before {
                let hours = (now_ns - self.began_all_ns) as f64 / 3.6e12;
                self.steps.push((self.trial.phase, self.trial.why, hours, self.episodes));
            }
        }
        (self.began_ns, self.is_used, self.is_touched) = (Some(now_ns), false, false);
    }
}

/// The load on a phone with the engine on trial, until it acts or rests; at most so many hours of use.
fn climb(load: &Load, seed: u64, hours_max: f64) -> Tried {
    let mut phone = Phone::new(Some(Config::default()), TOTAL_PAGES, &load.profiles);
    phone.tried = Some(Tried::new(seed, phone.now_ns()));
    let mut nth = 0;
    loop {
        // The returns of the load again and again: what the apps touch goes on drifting within it.
        let one = &load.returns[nth % load.returns.len()];
        phone.returns(one.app, &one.touched, one.dwell_s);
        nth += 1;
        let tried = phone.tried.as_ref().expect("given");
        let is_over = matches!(tried.trial.phase, Phase::Acting | Phase::Resting);
        if is_over || (tried.now_ns - tried.began_all_ns) as f64 / 3.6e12 > hours_max {
            return phone.tried.take().expect("given");
        }
    }
}

#[test]
fn in_full_memory_it_comes_to_act_within_a_day_of_use() {
    let tried = climb(&load(0, 400, |_| true), 5, 24.0);
    assert_eq!((tried.trial.phase, tried.trial.why), (Phase::Acting, Why::Gains), "{:?}", tried.steps);
}

/// The table of `docs/how/trial.md`.
#[test]
#[ignore = "takes minutes: prints a table"]
fn the_table_of_ladders() {
    // Of 64 returns so many begin with memory full.
    for (kind, full) in [("full", 64), ("full by turns", 32), ("tight", 0)] {
        for seed in 0..4 {
            let tried = climb(&load(seed, 400, |at| at % 64 < full), seed, 60.0);
            let effect = tried.trial.effect().map(|effect| (effect.ratio, effect.low, effect.high));
            println!("{kind}, seed {seed}: {:?}, pairs {}, {effect:.2?}", tried.steps, tried.trial.pairs());
        }
    }
}
