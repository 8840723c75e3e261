//! Properties of the policy, with random inputs.

use brisk_kernel_tests::smartio::*;
use proptest::prelude::*;

const KINDS: [Kind; 4] = [Kind::Urgent, Kind::Own, Kind::Bulk, Kind::Trim];

prop_compose! {
    fn views()(
        now_ns in 0..u64::MAX / 4,
        age_ns in 0..1_000_000_000_u64,
        slice_ns in 1_000_000..1_000_000_000_u64,
        hold_ns in 0..3_000_000_u64,
        ahead in any::<bool>(),
        due_ns in prop_oneof![Just(0), 0..2_000_000_u64],
        spent in any::<bool>(),
        (behind, few) in (any::<bool>(), any::<bool>()),
        debt_ns in 0..1_000_000_000_u64,
        share_percent in 1..=100_u32,
        reads in (0..3_u32, 0..3_u32),
        writes_in_flight in 0..20_u32,
        caps in (1..20_u32, 0..20_u32),
        kind in 0..4_usize,
    ) -> View {
        View {
            now_ns,
            age_ns,
            slice_ns,
            hold_until_ns: if ahead { now_ns + hold_ns } else { now_ns.saturating_sub(hold_ns) },
            awaited_until_ns: 0,
            due_at_ns: if due_ns == 0 { 0 } else { now_ns + due_ns - 1_000_000_u64.min(now_ns) },
            spent,
            behind,
            few,
            debt_ns,
            share_percent,
            reads_waiting: reads.0,
            reads_in_flight: reads.1,
            writes_in_flight,
            cap: caps.0,
            cap_alone: caps.0 + caps.1,
            kind: KINDS[kind],
        }
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

#[test]
fn size_classes_are_powers_of_two() {
    let sizes = [512, 4096, 4097, 8192, 16_384, 65_536, 131_073, 262_144, 524_288, 1_048_576, u32::MAX];
    assert_eq!(sizes.map(|bytes| size(bytes)), [0, 0, 1, 1, 2, 4, 6, 6, 7, 7, 7]);
}

#[test]
fn writes_of_a_serial_device_are_dispatched_one_at_a_time() {
    assert_eq!(cap(WHOLE, 32), 1);
    assert_eq!(cap(WHOLE * 9 / 10, 32), 1, "what is measured varies");
    assert_eq!(cap(WHOLE / 4, 32), 4);
    assert_eq!(cap(WHOLE / 4, 2), 2);
    assert_eq!(cap_alone(WHOLE, 32), 4);
    assert_eq!(cap_alone(0, 32), 32, "what is not known is not limited");
}

proptest! {
    #[test]
    fn a_mean_lies_between_its_past_and_the_sample(old in 1..u32::MAX, sample in 0..u64::from(u32::MAX)) {
        let new = u64::from(mean(old, sample));
        let (low, high) = (u64::from(old).min(sample), u64::from(old).max(sample));
        prop_assert!(new >= low.max(1) && new <= high.max(1), "{new}");
    }

    #[test]
    fn a_sample_with_concurrent_requests_never_lengthens_a_known_service(old in 1..u32::MAX, sample in any::<u64>()) {
        prop_assert!(learn_service(old, sample, false) <= old);
    }

    #[test]
    fn a_pace_within_the_window_stays_and_others_converge(
        old in 1..u32::MAX, least in 0..u64::from(u32::MAX), more in 0..10_000_000_u64,
    ) {
        let (most, was) = (least + more, u64::from(old));
        let new = u64::from(learn_pace(old, least, most));
        match was {
            _ if was < least => prop_assert!(new >= was && new <= least),
            _ if was > most => prop_assert!(new <= was && new >= most),
            _ => prop_assert_eq!(new, was),
        }
    }

    #[test]
    fn samples_of_an_empty_cache_are_forgotten(early in 1..1_000_000_u32, real in 2_000_000..50_000_000_u64) {
        let pace = (0..40).fold(early, |pace, _| learn_pace(pace, real, real + 1_000_000));
        prop_assert!(u64::from(pace) > real * 9 / 10, "{}", pace);
    }

    #[test]
    fn the_nearest_known_size_is_used_for_all(size in 0..8_u32, at in 0..8_usize, value in 1..u32::MAX) {
        let mut table = [0; SIZES];
        prop_assert_eq!(known(&table, size), 0);
        table[at] = value;
        prop_assert_eq!(known(&table, size), value);
    }

    #[test]
    fn device_times_of_larger_sizes_are_in_proportion(size in 0..8_u32, at in 0..8_u32, value in 1..u32::MAX) {
        let mut table = [0; SIZES];
        prop_assert_eq!(scaled(&table, size), 0);
        table[at as usize] = value;
        let expected = if at > size { (value >> (at - size)).max(1) } else { value };
        prop_assert_eq!(scaled(&table, size), expected);
    }

    #[test]
    fn work_over_time_gives_what_a_write_occupies(at_once in 1..64_u64, service in 1000..10_000_000_u64) {
        let measured = occupied(at_once * service * 100, service * 100);
        prop_assert_eq!(measured, (WHOLE / u32::try_from(at_once).expect("few")).max(LEAST));
    }

    #[test]
    fn what_a_write_occupies_is_a_part_of_the_device(
        work in any::<u64>(), elapsed in any::<u64>(),
        old in 0..=WHOLE, passed in any::<bool>(), writes in any::<u32>(), behind in 1..3_u32,
    ) {
        prop_assert!((LEAST..=WHOLE).contains(&occupied(work, elapsed)));
        let learned = learn_passed(old, passed, behind);
        prop_assert!((LEAST..=WHOLE).contains(&learned));
        if old >= LEAST {
            let right = if passed { learned <= old } else { learned >= old };
            prop_assert!(right);
        }
        prop_assert!(!few(writes, 0), "what is not known is not few");
        if few(writes, learned) {
            prop_assert!(writes <= 4 && writes * learned <= WHOLE / 2);
        }
    }

    #[test]
    fn a_device_that_lets_no_read_pass_a_write_gets_one_write_at_a_time(old in 0..=WHOLE, depth in 1..128_u32) {
        let learned = (0..200).fold(old, |learned, _| learn_passed(learned, false, 1));
        prop_assert!(learned > WHOLE / 8 * 7);
        prop_assert_eq!((cap(learned, depth), few(1, learned)), (1, false));
        // Behind two, which were sent together, it stays so.
        prop_assert_eq!(learn_passed(learned, false, 2), learned);
    }

    #[test]
    fn reads_that_pass_show_how_many_units_there_are(units in 1..17_u64, behind in 1..3_u32, seed in any::<u64>()) {
        // Two of two delay every read.
        prop_assume!(behind == 1 || units > 2);
        let mut random = seed;
        let mut sum = 0;
        let mut learned = 0;
        // The share of 1,000 draws alone differs by a third in one run of a thousand where there are many units.
        for i in 0..41_000_u64 {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            // Writes that are sent together are on different units.
            learned = learn_passed(learned, (random >> 33) % units >= u64::from(behind), behind);
            if i >= 1_000 {
                sum += u64::from(learned);
            }
        }
        let (mean, expected) = (sum / 40_000, u64::from(WHOLE) / units);
        prop_assert!(mean.abs_diff(expected) <= expected / 3 + 16, "{mean} for {expected}");
    }

    #[test]
    fn what_a_size_without_an_entry_occupies_follows_the_nearest(
        size in 0..8_u32,
        at in 0..8_u32,
        part in LEAST..=WHOLE,
    ) {
        let mut table = [0; SIZES];
        prop_assert_eq!(occupied_by(&table, size), 0);
        table[at as usize] = part;
        let expected = if at < size { (part << (size - at)).min(WHOLE) } else { part };
        prop_assert_eq!(occupied_by(&table, size), expected);
    }

    #[test]
    fn limits_are_between_one_write_and_the_depth(part in prop_oneof![Just(0), LEAST..=WHOLE], depth in 1..1024_u32) {
        let (mixed, alone) = (cap(part, depth), cap_alone(part, depth));
        prop_assert!(mixed >= 1 && mixed <= depth);
        prop_assert!(alone >= mixed && alone <= depth);
    }

    #[test]
    fn the_share_grows_with_age_up_to_half(
        share in 1..=100_u32,
        age in 0..400_000_000_u64,
        more in 0..100_000_000_u64,
    ) {
        let slice = 100_000_000;
        let (young, old) = (share_percent(share, age, slice), share_percent(share, age + more, slice));
        prop_assert!(share <= young && young <= old && old <= share.max(50));
        if age <= slice / 2 {
            prop_assert_eq!(young, share);
        }
        if age >= slice {
            prop_assert_eq!(young, share.max(50));
        }
    }

    #[test]
    fn expired_writes_have_half_of_the_device_and_more_only_with_a_larger_share(
        cost in 0..50_000_000_u64, share in 1..=100_u32,
    ) {
        let apart = due_ns(cost, share, 100_000_000);
        let got = 100 * cost / apart.max(1);
        match share {
            100 => prop_assert_eq!(apart, 0),
            _ if cost < 10_000 => prop_assert!(apart <= 2 * cost),
            _ => prop_assert!(got.abs_diff(u64::from(share.max(50))) <= 1, "{} percent", got),
        }
        prop_assert!(due_ns(u64::MAX, share, 100_000_000) <= 400_000_000, "nothing is put off without end");
    }

    #[test]
    fn a_debt_is_settled_at_the_predicted_time(debt in 1..1_000_000_000_u64, share in 1..=100_u32) {
        let time = settle_ns(debt, share);
        prop_assert_eq!(debt_ns(debt, time, share), 0);
        prop_assert!(debt_ns(debt, time.saturating_sub(101), share) > 0);
        prop_assert!(!spent(true, 0, share, 400_000, BURST_NS));
    }

    #[test]
    fn with_a_cache_a_share_is_used_up_from_a_burst_on_until_the_debt_is_settled(
        debt in 1..2 * BURST_NS, share in 1..100_u32, cost in 1..10_000_000_u64,
    ) {
        prop_assert_eq!(spent(false, debt, share, cost, BURST_NS), debt >= BURST_NS);
        prop_assert!(spent(true, debt, share, cost, BURST_NS));
    }

    #[test]
    fn bursts_are_for_caches_and_long_enough_to_learn_their_cost(pace in 1..u32::MAX) {
        prop_assert_eq!((burst_ns(false, 0), burst_ns(false, pace)), (0, 0));
        prop_assert_eq!(burst_ns(true, pace), BURST_NS);
        // A window is 20 ms.
        prop_assert!(burst_ns(true, 0) >= 20_000_000);
    }

    #[test]
    fn without_a_cache_a_share_is_used_up_when_the_debt_exceeds_a_write(
        before in any::<bool>(), debt in 0..10_000_000_u64, share in 1..100_u32, cost in 1..10_000_000_u64,
    ) {
        prop_assert_eq!(spent(before, debt, share, cost, 0), debt > cost);
        // The first write always goes, and so does one after each settled debt.
        prop_assert!(!spent(before, debt_ns(debt, settle_ns(debt, share), share), share, cost, 0));
    }

    #[test]
    fn no_time_settles_no_debt(debt in any::<u64>(), elapsed in any::<u64>(), share in 0..=100_u32) {
        prop_assert_eq!(debt_ns(debt, 0, share), debt);
        prop_assert!(debt_ns(debt, elapsed, share) <= debt);
        if debt > 0 && debt < u64::MAX / 200 {
            prop_assert_eq!(settle_ns(debt, 0), NEVER);
        }
    }

    #[test]
    fn a_write_costs_its_service_on_the_part_that_it_occupies(service in 1..u32::MAX, part in LEAST..=WHOLE) {
        prop_assert_eq!(cost_ns(service, part), u64::from(service) * u64::from(part) / u64::from(WHOLE));
        prop_assert_eq!(cost_ns(service, 0), u64::from(service));
        prop_assert!(cost_ns(0, part) > 0);
    }

    #[test]
    fn few_writes_wait_only_for_a_slot(mut view in views()) {
        view.few = true;
        prop_assert!(matches!(judge(&view), Verdict::Go | Verdict::WaitCap));
    }

    #[test]
    fn the_cost_hidden_by_a_cache_is_the_time_since_the_previous_write_without_pauses(
        since in any::<u64>(),
        service in any::<u32>(),
    ) {
        prop_assert_eq!(cost_hidden_ns(since, service), since.min(1_000_000).max(u64::from(service)));
    }

    #[test]
    fn pauses_are_excluded_from_a_window(since in any::<u64>(), took in any::<u64>()) {
        prop_assert_eq!(interval_ns(since, took), since.min(took.max(1_000_000)));
    }

    #[test]
    fn a_pace_more_than_doubles_only_after_two_samples(
        old in 1..1_000_000_u32, sample in 0..10_000_000_u64, before in 0..10_000_000_u64,
    ) {
        let (confirmed, twice) = (confirmed_ns(old, sample, before), 2 * u64::from(old));
        prop_assert!(confirmed <= sample);
        if sample <= twice {
            prop_assert_eq!(confirmed, sample);
        } else {
            prop_assert_eq!(confirmed, if before > twice { sample.min(before) } else { 0 });
        }
        prop_assert_eq!(confirmed_ns(0, sample, before), sample, "the first time it is all that is known");
    }

    #[test]
    fn time_lost_by_reads_raises_a_pace_and_lowers_it_only_without_pauses(
        old in 1..u32::MAX,
        lost in any::<u64>(),
        steady in any::<bool>(),
    ) {
        let new = learn_lost_ns(old, lost, steady);
        let (least, most) = if steady && lost > 0 { (lost.min(u64::from(old)), lost) } else { (u64::from(old), lost) };
        prop_assert!(u64::from(new) >= least && u64::from(new) <= most.max(u64::from(old)));
        if lost > 2 * u64::from(old) {
            prop_assert_eq!(u64::from(new), lost.min(u64::from(u32::MAX)));
        }
        prop_assert_eq!(learn_lost_ns(old, 0, steady), old, "nothing lost tells nothing");
        prop_assert_eq!(learn_lost_ns(0, lost, steady), 0, "what is not known is learned from writes");
    }

    #[test]
    fn the_shortest_read_time_falls_at_once_and_rises_slowly(old in 1..u32::MAX, sample in 1..u64::from(u32::MAX)) {
        let new = learn_base_ns(old, sample);
        if sample <= u64::from(old) {
            prop_assert_eq!(u64::from(new), sample);
        } else {
            prop_assert!(new >= old && u64::from(new - old) <= (sample - u64::from(old)) / 1024);
        }
        prop_assert_eq!(u64::from(learn_base_ns(0, sample)), sample);
    }

    #[test]
    fn small_variations_of_reads_count_as_no_loss(base in 1..10_000_000_u32, more in 0..100_000_000_u64) {
        let took = u64::from(base) + more;
        prop_assert_eq!(lost_ns(base, took), if more > 1_000_000 { more } else { 0 });
    }

    #[test]
    fn a_read_is_quick_by_itself_or_relative_to_the_slowest(
        silence in 0..100_000_000_u64,
        longest in 0..100_000_000_u64,
    ) {
        prop_assert_eq!(quick(silence, longest), silence < 1_000_000 || 2 * silence < longest - longest % 2);
        prop_assert!(quick(silence, longest.max(2 * silence + 2)) && (silence < 1_000_000 || !quick(silence, silence)));
    }

    #[test]
    fn a_discard_as_short_as_a_read_costs_reads_nothing(trim in 1..u32::MAX, read in 0..u32::MAX) {
        let much = u64::from(trim) > u64::from(read) + u64::from(read / 2);
        prop_assert_eq!(trim_cost_ns(trim, read), if much { u64::from(trim) } else { 0 });
        prop_assert!(trim_cost_ns(0, read) > 0, "what is not known is not free");
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
        prop_assert_eq!(hold == 0, hits < 128 || longest == 0);
    }

    #[test]
    fn a_continuous_reader_is_recognised_after_six_reads_and_forgotten_as_fast(hits in 0..=256_u32) {
        let learned = (0..6).fold(hits, |hits, _| learn_hits(hits, 10, 1000));
        prop_assert!(hold_ns(10, learned, 1000) > 0);
        let forgotten = (0..6).fold(hits, |hits, _| learn_hits(hits, 1001, 1000));
        prop_assert_eq!(hold_ns(10, forgotten, 1000), 0);
    }

    #[test]
    fn an_expired_write_waits_only_for_a_slot_when_it_is_its_turn(mut view in views()) {
        view.few = false;
        view.age_ns = view.age_ns.max(view.slice_ns);
        let free = view.writes_in_flight < view.cap_alone;
        let verdict = judge(&view);
        if view.now_ns < view.due_at_ns {
        // Earlier writes have used up the share: it is treated as a younger one.
            prop_assert_eq!(verdict, judge(&View { age_ns: 0, ..view }));
        } else {
            prop_assert_eq!(verdict, if free { Verdict::Go } else { Verdict::WaitCap });
        }
    }

    #[test]
    fn without_reads_writes_are_dispatched_freely(mut view in views()) {
        view.reads_waiting = 0;
        view.reads_in_flight = 0;
        view.hold_until_ns = view.hold_until_ns.min(view.now_ns);
        let free = view.writes_in_flight < view.cap_alone;
        prop_assert_eq!(judge(&view), if free { Verdict::Go } else { Verdict::WaitCap });
    }

    #[test]
    fn synchronous_writes_are_never_held(mut view in views(), own in any::<bool>()) {
        view.kind = if own { Kind::Own } else { Kind::Urgent };
        prop_assert!(matches!(judge(&view), Verdict::Go | Verdict::WaitCap));
    }

    #[test]
    fn deferred_writes_are_held_until_the_given_time(mut view in views(), more in 1..10_000_000_u64) {
        view.awaited_until_ns = view.now_ns + more;
        let verdict = judge(&view);
        prop_assert_eq!(verdict, Verdict::WaitHold);
        prop_assert_eq!(wake_ns(&view, verdict), view.awaited_until_ns);
    }

    #[test]
    fn one_of_several_tags_is_for_reads(all in 2..2_000_u32, percent in 1..=75_u32) {
        let writes = tags(all, percent);
        prop_assert!(writes >= 1 && writes < all);
        prop_assert!(u64::from(all - writes) * 100 >= u64::from(all * percent).min(u64::from(all - 1) * 100));
        prop_assert_eq!(tags(all, 0), all);
    }

    #[test]
    fn slots_are_kept_free_for_an_expected_commit(cap in 1..40_u32, more in 0..40_u32, service in any::<u32>()) {
        let awaited = cap_awaited(cap, cap + more, service);
        prop_assert!(awaited >= 1 && awaited <= cap + more);
        prop_assert_eq!(awaited, if service >= LONG_NS { cap } else { cap + 1.min(more) });
    }

    #[test]
    fn patience_equals_the_device_time_of_others(
        costs in prop::collection::vec(0..200_000_000_u64, 1..50), slice in 1_000_000..1_000_000_000_u64,
    ) {
        let mut patience = 0;
        for cost in &costs {
            let earned = earn_ns(patience, *cost, slice);
            prop_assert_eq!(earned, (patience + cost).min(slice / 2));
            patience = patience_ns(earned, cost / 3);
            prop_assert_eq!(patience, earned.saturating_sub(cost / 3));
        }
    }

    #[test]
    fn with_reads_the_limit_of_writes_in_flight_holds(mut view in views()) {
        view.few = false;
        view.age_ns = 0;
        view.kind = Kind::Bulk;
        view.reads_in_flight += 1;
        view.writes_in_flight = view.writes_in_flight.max(view.cap);
        prop_assert_eq!(judge(&view), Verdict::WaitCap);
    }

    #[test]
    fn a_waiting_write_with_nothing_in_flight_has_a_wake_up_time(mut view in views()) {
        view.writes_in_flight = 0;
        let verdict = judge(&view);
        let wake = wake_ns(&view, verdict);
        match verdict {
            Verdict::Go => {}
            Verdict::WaitCap => prop_assert!(false, "one write always fits"),
            Verdict::WaitHold => prop_assert!(wake > view.now_ns && wake == view.hold_until_ns),
            Verdict::WaitShare => prop_assert!(wake > view.now_ns && wake <= view.now_ns + 1_000_000),
        }
    }

    #[test]
    fn the_same_view_gives_the_same_verdict(view in views()) {
        prop_assert_eq!(judge(&view), judge(&view));
    }
}
