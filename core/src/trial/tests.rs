use super::*;
use proptest::prelude::*;

const PLAN: Plan = Plan { scope: Scope::App, span: Span::Launch, figure: Figure::StorageWait, learn: 1 };
const NOW_MS: u64 = 1_795_000_000_000;

fn ended(value: f64) -> Ended {
    Ended::Counts { value, sums: Sums { episodes: 1, ..Sums::default() } }
}

/// One that has learned.
fn on_trial() -> Trial {
    let mut trial = Trial::new(Ladder::Auto, 0);
    assert_eq!(trial.arm(Ladder::Auto, 7), Arm::Observing);
    trial.take(&PLAN, Ladder::Auto, 7, &ended(1.0), NOW_MS);
    assert_eq!((trial.phase, trial.why, trial.since_unix_ms), (Phase::OnTrial, Why::Learned, NOW_MS));
    trial
}

/// So many episodes, in which the engine makes outcomes `ratio` times as large; gives their arms.
fn run(trial: &mut Trial, ladder: Ladder, seed: u64, episodes: usize, ratio: f64) -> Vec<Arm> {
    let mut episode = || {
        let arm = trial.arm(ladder, seed);
        let value = 1e6 * if arm == Arm::On { ratio } else { 1.0 };
        trial.take(&PLAN, ladder, seed, &ended(value), NOW_MS);
        arm
    };
    (0..episodes).map(|_| episode()).collect()
}

#[test]
fn a_gain_climbs_the_ladder_and_harm_leaves_it() {
    let mut trial = on_trial();
    run(&mut trial, Ladder::Auto, 7, 30, 0.6);
    assert_eq!((trial.phase, trial.why), (Phase::Acting, Why::Gains));
    let effect = trial.effect().expect("known");
    assert!(effect.high < 1.0 && (effect.low..effect.high).contains(&0.6), "{effect:?}");
    assert!(trial.acted.episodes > 0 && trial.held_out.episodes > 0);
    run(&mut trial, Ladder::Auto, 7, 200, 1.3);
    // Before the harm is certain, it is certain that there is no gain worth it.
    assert_eq!((trial.phase, trial.why), (Phase::Resting, Why::GainsTooLittle));
    assert_eq!(trial.arm(Ladder::Auto, 7), Arm::Resting);
    let mut harms = on_trial();
    run(&mut harms, Ladder::Auto, 8, 30, 4.0);
    assert_eq!((harms.phase, harms.why), (Phase::Resting, Why::Harms));
    let mut little = on_trial();
    run(&mut little, Ladder::Auto, 9, 200, 1.0);
    assert_eq!(little.phase, Phase::Resting, "nothing is gained");
}

#[test]
fn a_gain_that_fades_is_tried_anew() {
    let mut trial = on_trial();
    run(&mut trial, Ladder::Auto, 7, 30, 0.6);
    assert_eq!(trial.phase, Phase::Acting);
    run(&mut trial, Ladder::Auto, 7, 10 * SHOWN_PAIRS, 0.9);
    assert_eq!(trial.phase, Phase::Acting, "it is still a gain");
    run(&mut trial, Ladder::Auto, 7, 10 * SHOWN_PAIRS, 1.0);
    assert_eq!(trial.phase, Phase::Resting);
}

#[test]
fn a_person_goes_before_evidence() {
    let mut trial = on_trial();
    run(&mut trial, Ladder::Auto, 7, 30, 1.5);
    assert_eq!(trial.phase, Phase::Resting);
    trial.switch(Ladder::On, NOW_MS);
    let arms = run(&mut trial, Ladder::On, 7, 1_500, 1.5);
    assert_eq!((trial.phase, trial.why), (Phase::Acting, Why::Person), "worse, and on");
    assert_eq!(arms.iter().filter(|arm| **arm == Arm::HeldOut).count(), 150);
    assert!(trial.effect().is_some_and(|effect| effect.low > 1.0));
    assert_eq!(trial.arm(Ladder::Off, 7), Arm::Off);
    trial.switch(Ladder::Auto, NOW_MS);
    assert_eq!(trial.phase, Phase::OnTrial);
    let mut named = Trial::new(Ladder::Named, 0);
    run(&mut named, Ladder::Named, 7, 400, 1.0);
    assert_eq!(named.phase, Phase::Acting, "no gain is no harm");
    run(&mut named, Ladder::Named, 7, 400, 1.5);
    assert_eq!((named.phase, named.why), (Phase::Resting, Why::Harms));
}

#[test]
fn what_rests_is_tried_again_after_a_month_or_a_change() {
    let mut rests = on_trial();
    run(&mut rests, Ladder::Auto, 7, 30, 1.5);
    let after = |ms: u64| {
        let mut trial = rests.clone();
        trial.pass(Ladder::Auto, ms);
        trial.phase
    };
    assert_eq!((after(NOW_MS), after(NOW_MS + 29 * DAY_MS)), (Phase::Resting, Phase::Resting));
    assert_eq!(after(NOW_MS + 30 * DAY_MS), Phase::OnTrial);
    assert_eq!(after(u64::MAX), Phase::OnTrial);
    let mut changed = rests.clone();
    changed.take(&PLAN, Ladder::Auto, 7, &Ended::Anew, NOW_MS);
    assert_eq!((changed.phase, changed.why, changed.effect()), (Phase::OnTrial, Why::Changed, None));
}

#[test]
fn a_clock_that_is_not_set_or_is_set_ends_no_rest_and_makes_none_last_for_ever() {
    let rests = |since_ms: u64, clocks_ms: &[u64]| {
        let mut trial = on_trial();
        run(&mut trial, Ladder::Auto, 7, 30, 1.5);
        trial.since_unix_ms = since_ms;
        clocks_ms.iter().for_each(|now_ms| trial.pass(Ladder::Auto, *now_ms));
        trial.phase == Phase::Resting
    };
    let (boot_ms, ahead_ms) = (12_000, NOW_MS + 3_650 * DAY_MS);
    assert!(rests(NOW_MS, &[boot_ms, NOW_MS + DAY_MS, boot_ms, NOW_MS + 29 * DAY_MS]));
    assert!(!rests(NOW_MS, &[boot_ms, NOW_MS + 30 * DAY_MS, boot_ms]));
    // It began by a clock that was ahead, or was not set.
    for since_ms in [ahead_ms, boot_ms] {
        assert!(rests(since_ms, &[NOW_MS, NOW_MS + 29 * DAY_MS]));
        assert!(!rests(since_ms, &[NOW_MS, NOW_MS + 30 * DAY_MS]));
    }
    assert!(rests(boot_ms, &[boot_ms + 29 * DAY_MS, boot_ms]) && !rests(boot_ms, &[boot_ms + 30 * DAY_MS]));
}

#[test]
fn subjects_are_texts() {
    for (subject, text) in [
        (Subject::Machine, "machine"),
        (Subject::Disk("mmcblk0".to_owned()), "disk mmcblk0"),
        (Subject::App("org.gnome.Evince".to_owned()), "app org.gnome.Evince"),
        (Subject::App("1000/org.gnome.Evince".to_owned()), "app 1000/org.gnome.Evince"),
    ] {
        assert_eq!(String::from(subject.clone()), text);
        assert_eq!(Subject::try_from(text.to_owned()), Ok(subject));
    }
    // People see the id.
    assert_eq!(Subject::App("1000/org.gnome.Evince".to_owned()).to_string(), "app org.gnome.Evince");
    assert!(Subject::try_from("phone x".to_owned()).is_err());
}

proptest! {
    #[test]
    fn of_each_pair_one_is_held_out(seed: u64, pairs in 1..20_usize) {
        let mut trial = on_trial();
        // All are alike: nothing is decided before the first check.
        let arms = run(&mut trial, Ladder::Auto, seed, 2 * pairs.min(9), 1.0);
        for pair in arms.chunks(2) {
            prop_assert_eq!(pair.iter().filter(|arm| **arm == Arm::HeldOut).count(), 1);
        }
    }

    #[test]
    fn acting_holds_out_one_of_ten(seed: u64) {
        let mut trial = Trial::new(Ladder::On, 0);
        let arms = run(&mut trial, Ladder::On, seed, 100, 1.0);
        for block in arms.chunks(10) {
            prop_assert_eq!(block.iter().filter(|arm| **arm == Arm::HeldOut).count(), 1);
        }
        prop_assert_eq!(trial.pairs(), 10);
    }

    #[test]
    fn a_void_episode_costs_its_pair(seed: u64, voids in prop::collection::vec(any::<bool>(), 40)) {
        let mut trial = on_trial();
        let (mut open, mut pairs) = (0, 0);
        for void in voids {
            let end = if void { Ended::Void } else { ended(1e6) };
            let pair = trial.take(&PLAN, Ladder::Auto, seed, &end, NOW_MS);
            open = if void { 0 } else { open + 1 };
            prop_assert_eq!(pair.is_some(), open == 2);
            if open == 2 {
                (open, pairs) = (0, pairs + 1);
            }
            if trial.phase != Phase::OnTrial {
                break;
            }
            prop_assert_eq!(trial.pairs(), pairs);
        }
    }

    #[test]
    fn a_trial_is_read_back(seed: u64, episodes in 0..40_usize, ratio in 0.3..2.0_f64) {
        let mut trial = on_trial();
        run(&mut trial, Ladder::Auto, seed, episodes, ratio);
        let text = serde_json::to_string(&trial).expect("JSON");
        let again: Trial = serde_json::from_str(&text).expect("the same");
        let of = |trial: &Trial| (trial.half, trial.block, trial.pairs(), trial.phase, trial.why);
        prop_assert_eq!(of(&again), of(&trial));
        prop_assert!(text.len() < 4_096, "{}", text.len());
    }
}
