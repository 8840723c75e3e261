//! Properties of the policy, with random inputs.

use brisk_kernel_tests::smartio::*;
use proptest::prelude::*;

prop_compose! {
    fn views()(
        now_ns in 0..u64::MAX / 4,
        (read_ns, commit_ns) in (0..3_000_000_u64, 0..3_000_000_u64),
        (read_ahead, commit_ahead) in (any::<bool>(), any::<bool>()),
        credit_ns in prop_oneof![Just(0), 0..=CREDIT_NS],
        (writes, bytes) in (0..20_u32, 0..4 * ALONE_BYTES),
        (beside, holding, overtaken) in (any::<bool>(), any::<bool>(), any::<bool>()),
    ) -> View {
        let at = |ahead: bool, ns: u64| if ahead { now_ns + ns } else { now_ns.saturating_sub(ns) };
        let (read_until_ns, commit_until_ns) = (at(read_ahead, read_ns), at(commit_ahead, commit_ns));
        View { now_ns, read_until_ns, commit_until_ns, credit_ns, writes, bytes, beside, holding, overtaken }
    }
}

#[test]
fn the_view_is_laid_out_as_in_the_header() {
    assert_eq!(view_bytes() as usize, size_of::<View>());
}

#[test]
fn one_tag_is_for_all_and_one_of_two_for_reads() {
    assert_eq!([1, 2, 3, 4, 32].map(|all| tags(all, 25)), [1, 1, 2, 3, 24]);
}

proptest! {
    #[test]
    fn a_mean_lies_between_its_past_and_the_sample(old in 1..u32::MAX, sample in 0..u64::from(u32::MAX)) {
        let new = u64::from(mean(old, sample));
        let (low, high) = (u64::from(old).min(sample), u64::from(old).max(sample));
        prop_assert!(new >= low.max(1) && new <= high.max(1), "{new}");
    }

    #[test]
    fn what_is_not_known_is_the_first_sample(sample in any::<u64>()) {
        prop_assert_eq!(u64::from(mean(0, sample)), sample.clamp(1, u32::MAX.into()));
    }

    #[test]
    fn one_of_several_tags_is_for_reads(all in 2..2_000_u32, percent in 1..=75_u32) {
        let writes = tags(all, percent);
        prop_assert!(writes >= 1 && writes < all);
        prop_assert!(u64::from(all - writes) * 100 >= u64::from(all * percent).min(u64::from(all - 1) * 100));
        prop_assert_eq!(tags(all, 0), all);
    }

    #[test]
    fn with_concurrent_reads_or_commits_one_background_write_is_in_the_device(mut view in views()) {
        view.beside = true;
        prop_assert_eq!(judge(&View { writes: view.writes.max(1), ..view }), Verdict::WaitCap);
        prop_assert_eq!(judge(&View { overtaken: true, ..view }), Verdict::WaitCap);
        prop_assert_ne!(judge(&View { writes: 0, overtaken: false, ..view }), Verdict::WaitCap);
    }

    #[test]
    fn without_reads_and_commits_writes_wait_only_while_the_device_has_plenty(mut view in views()) {
        view.beside = false;
        let plenty = view.writes >= ALONE_WRITES && view.bytes >= ALONE_BYTES;
        prop_assert_eq!(judge(&view), if plenty { Verdict::WaitCap } else { Verdict::Go });
    }

    #[test]
    fn without_credit_no_write_is_held(view in views()) {
        prop_assert_ne!(judge(&View { credit_ns: 0, ..view }), Verdict::WaitHold);
        prop_assert_ne!(judge(&View { holding: false, ..view }), Verdict::WaitHold);
    }

    #[test]
    fn a_write_is_held_for_what_is_expected_alone(mut view in views()) {
        (view.beside, view.writes, view.overtaken, view.holding) = (true, 0, false, true);
        view.credit_ns = view.credit_ns.max(1);
        let expected = view.now_ns < view.read_until_ns || view.now_ns < view.commit_until_ns;
        prop_assert_eq!(judge(&view), if expected { Verdict::WaitHold } else { Verdict::Go });
    }

    #[test]
    fn a_held_write_is_judged_anew_when_nothing_is_expected_or_the_credit_is_used(
        mut view in views(), share in 1..=100_u32,
    ) {
        (view.beside, view.writes, view.overtaken, view.holding) = (true, 0, false, true);
        view.credit_ns = view.credit_ns.max(1);
        prop_assume!(judge(&view) == Verdict::WaitHold);
        let wake = wake_ns(&view, share);
        prop_assert!(wake > view.now_ns);
        let elapsed = wake - view.now_ns;
        let later = View { now_ns: wake, credit_ns: credit_ns(view.credit_ns, elapsed, true, true, share), ..view };
        prop_assert_eq!(judge(&later), Verdict::Go);
        // A microsecond before it is held still.
        if elapsed > 1_000 {
            let credit = credit_ns(view.credit_ns, elapsed - 1_000, true, true, share);
            prop_assert_eq!(judge(&View { now_ns: wake - 1_000, credit_ns: credit, ..view }), Verdict::WaitHold);
        }
    }

    #[test]
    fn holds_take_at_most_the_rest_of_the_share_from_writes(
        share in 1..=100_u32,
        turns in prop::collection::vec((0..5_000_000_u64, 0..5_000_000_u64), 1..200),
    ) {
        // A write that runs, and then a hold for as long as there is credit.
        let (mut credit, mut held, mut all) = (0, 0, 0);
        for (ran, wanted) in turns {
            credit = credit_ns(credit, ran, true, false, share);
            let most = if share == 100 { credit } else { credit * 100 / u64::from(share) };
            let hold = wanted.min(most);
            credit = credit_ns(credit, hold, true, true, share);
            (held, all) = (held + hold, all + ran + hold);
        }
        prop_assert!(100 * held <= all * u64::from(100 - share) + 100 * 200, "{} of {}", held, all);
    }

    #[test]
    fn a_writer_that_waits_is_held_for_no_more_than_the_formula_allows(
        share in 1..=100_u32,
        turns in prop::collection::vec(
            (1..2_000_000_u64, prop::collection::vec(0..30_000_000_u64, 0..40), any::<bool>()), 1..400,
        ),
    ) {
        // Writes one after the other, holds where the credit allows them, and reads in these that seem to wait for a
        // cache, as they may be slow by themselves.
        let (mut credit, mut is_holding, mut left, mut held, mut all) = (CREDIT_NS, true, HIDDEN_NS, 0, 0);
        for (ran, reads, is_slow) in turns {
            for took in reads {
                if !is_holding {
                    break;
                }
                let most = if share == 100 { credit } else { credit * 100 / u64::from(share) };
                let hold = took.min(most);
                credit = credit_ns(credit, hold, true, true, share);
                let hidden = if is_slow { hidden_ns(hold, 1, 1).min(left) } else { 0 };
                (credit, left) = ((credit + hidden).min(CREDIT_NS), left - hidden);
                (held, all) = (held + hold, all + hold);
                is_holding = holding(is_holding, credit);
            }
            credit = credit_ns(credit, ran, true, false, share);
            left = if is_holding { left } else { HIDDEN_NS };
            is_holding = holding(is_holding, credit);
            all += ran;
        }
        // 1 + 1.5 (100 - share) / share times the time of its writes, and what one credit and one charge hold at once.
        let ran = (all - held) as f64;
        let rest = f64::from(100 - share) / f64::from(share);
        let at_once = (CREDIT_NS + HIDDEN_NS) as f64 * 100.0 / f64::from(share);
        prop_assert!(held as f64 <= 1.5 * rest * ran + at_once + 1_000.0, "{held} of {all} at {share}");
    }

    #[test]
    fn what_a_read_takes_beyond_twice_its_own_time_for_each_page_is_hidden(
        took in 0..u64::MAX / 4, shortest_ns in any::<u32>(), pages in 1..=8192_u32,
    ) {
        let own = 2 * u64::from(shortest_ns) * u64::from(pages);
        prop_assert_eq!(hidden_ns(took, shortest_ns, pages), took.saturating_sub(own));
        let new = shortest(shortest_ns, took);
        prop_assert!(new > 0 || took == 0);
        prop_assert!(shortest_ns == 0 || u64::from(new) <= u64::from(shortest_ns) + u64::from(shortest_ns) / 1024 + 1);
        prop_assert!(took >= u64::from(shortest_ns) || u64::from(new) <= took);
    }

    #[test]
    fn credit_stays_in_its_range_and_is_earned_only_while_background_writes_are_there(
        credit in 0..=CREDIT_NS, elapsed in any::<u64>(), busy in any::<bool>(), idle in any::<bool>(),
        share in 1..=100_u32,
    ) {
        let new = credit_ns(credit, elapsed, busy, idle, share);
        prop_assert!(new <= CREDIT_NS);
        prop_assert_eq!(credit_ns(credit, 0, busy, idle, share), credit);
        if !busy && !idle && elapsed < u64::MAX / 200 {
            prop_assert_eq!(new, credit);
        }
    }

    #[test]
    fn a_turn_of_holds_begins_with_half_of_the_credit_and_uses_it_up(credit in 0..=CREDIT_NS) {
        prop_assert_eq!(holding(false, credit), credit >= CREDIT_NS / 2);
        prop_assert_eq!(holding(true, credit), credit > 0);
    }

    #[test]
    fn hits_stay_in_their_range(mut hits in 0..=256_u32, pauses in prop::collection::vec(0..2_000_000_u64, 0..300)) {
        for pause in pauses {
            hits = learn_hits(hits, pause, 1_000_000);
            prop_assert!(hits <= 256);
        }
    }

    #[test]
    fn a_hold_is_bounded_and_only_for_continuous_readers(pause in any::<u32>(), hits in 0..=256_u32,
                                                             longest in 0..10_000_000_u64) {
        let hold = hold_ns(pause, hits, longest);
        prop_assert!(hold <= longest);
        prop_assert_eq!(hold == 0, !continuous(hits) || longest == 0);
    }

    #[test]
    fn the_longest_hold_follows_the_length_of_writes_unless_it_is_switched_off(most in 1..10_000_000_u64, write: u32) {
        prop_assert_eq!(hold_most_ns(most, write), most.max(u64::from(write / 4)));
        prop_assert_eq!(hold_most_ns(0, write), 0);
    }

    #[test]
    fn a_continuous_reader_is_recognised_after_six_reads_and_forgotten_as_fast(hits in 0..=256_u32) {
        let learned = (0..6).fold(hits, |hits, _| learn_hits(hits, 10, 1000));
        prop_assert!(continuous(learned));
        let forgotten = (0..6).fold(hits, |hits, _| learn_hits(hits, 1001, 1000));
        prop_assert!(!continuous(forgotten));
    }

    #[test]
    fn the_same_view_gives_the_same_verdict(view in views()) {
        prop_assert_eq!(judge(&view), judge(&view));
    }
}
