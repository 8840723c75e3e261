use super::*;
use crate::workload;
use brisk_engine::smartstorage::pattern::Window;

fn plan() -> Plan {
    Plan {
        version: MODEL_VERSION,
        device: "TEST".to_owned(),
        kernel: "6.18".to_owned(),
        meter: About { kind: MeterKind::Modelled, what: "a".to_owned(), uncertainty: "b".to_owned() },
        own: Setting::new("mq-deadline", 8),
        settings: vec![Setting::new("mq-deadline", 8), Setting::new("bfq", 4)],
        workloads: workload::held_out().into_iter().take(2).collect(),
        cell_ms: 500,
        rounds: 2,
        seed: 1,
    }
}

fn sums(reads: u64, energy_uj: f64) -> Sums {
    Sums {
        energy_uj,
        elapsed_s: 0.5,
        reads,
        writes: 0,
        read_us: reads as f64 * 200.0,
        window: Window::default(),
        ..Sums::default()
    }
}

#[test]
fn a_run_of_the_same_plan_is_continued_and_another_is_not() {
    let dir = tempfile::tempdir().expect("directory");
    let file = store::unfinished_of(dir.path(), "TEST", false);
    let mut first = Unfinished::of(&plan(), &file);
    assert_eq!(first.cells, []);
    first.cells.push((0, 1, 0, sums(10, 5.0)));
    store::write(&file, &first).expect("written");
    let second = Unfinished::of(&plan(), &file);
    assert!(second.has(0, 1, 0) && !second.has(1, 1, 0) && !second.has(0, 0, 0));
    for other in [
        Plan { seed: 2, ..plan() },
        Plan { kernel: "6.19".to_owned(), ..plan() },
        Plan { own: Setting::new("none", 4), ..plan() },
    ] {
        assert_eq!(Unfinished::of(&other, &file).cells, []);
    }
    std::fs::write(&file, "{").expect("written");
    assert_eq!(Unfinished::of(&plan(), &file).cells, []);
}

#[test]
fn cells_are_medians_over_rounds_and_a_setting_that_was_refused_has_none() {
    let run = plan();
    let mut found = Unfinished::default();
    let round = |number, energy_uj| (number, 0, 0, sums(100, energy_uj));
    found.cells = vec![round(0, 3_000.0), round(1, 9_000.0), round(2, 2_900.0), (0, 0, 1, sums(10, 10.0))];
    let (model, rates) = table(&run, &found, "TEST".to_owned(), "emmc".to_owned());
    let cell = &model.workloads[0].cells[0];
    assert_eq!((model.workloads[0].cells.len(), cell.request_uj_mean, cell.read_us_mean), (1, 30.0, Some(200.0)));
    assert_eq!(cell.write_us_mean, None);
    assert_eq!(rates[&(model.workloads[0].name.clone(), run.own.clone())], (200.0, true));
    assert!(model.meter.starts_with("modelled"));
}

#[test]
fn a_workload_of_which_nothing_arrived_is_left_out_of_a_profile_that_can_be_used() {
    let run = plan();
    let cells = vec![(0, 0, 0, sums(0, 0.0)), (0, 0, 1, sums(10, 10.0)), (0, 1, 0, sums(3, 1.0))];
    let found = Unfinished { cells, ..Unfinished::default() };
    let (mut model, _) = table(&run, &found, "TEST".to_owned(), "emmc".to_owned());
    assert!(model.check().is_err());
    let names = take_unmeasured(&mut model);
    assert_eq!(names, [run.workloads[0].name.as_str()]);
    assert_eq!((model.workloads.len(), model.check()), (1, Ok(())));
    assert!(unmeasured(&names).text.contains(&run.workloads[0].name));
}

#[test]
fn a_saturated_workload_is_named() {
    let key = |name: &str| (name.to_owned(), Setting::new("bfq", 4));
    let rates = [(key("mail"), (1.0, true)), (key("sync"), (1.0, false))].into_iter().collect();
    let text = saturated(&rates).text;
    assert!(text.contains("sync") && !text.contains("mail"), "{text}");
}

#[test]
fn drift_of_the_machine_is_no_cost_of_a_setting() {
    // Each round takes a third more than the one before, under both settings; the second one saves a fifth.
    let mut run = plan();
    run.workloads.truncate(1);
    let mut found = Unfinished::default();
    for (round, drift) in [1.0, 1.33, 1.77, 2.35, 3.13].into_iter().enumerate() {
        let round = round as u32;
        found.cells.push((round, 0, 0, sums(100, 1_000.0 * drift)));
        found.cells.push((round, 1, 0, sums(100, 800.0 * drift)));
    }
    // An incomplete round gives no pairs.
    found.cells.push((5, 1, 0, sums(100, 1.0)));
    let (model, _) = table(&run, &found, "TEST".to_owned(), "emmc".to_owned());
    let workload = &model.workloads[0];
    let (energy, delay) = workload.ratios(&Setting::new("bfq", 4), &model.own).expect("measured");
    assert!((energy - 0.8).abs() < 1e-9 && (delay - 1.0).abs() < 1e-9, "{energy} {delay}");
    let cell = workload.cell(&Setting::new("bfq", 4)).expect("measured");
    assert_eq!(cell.rounds.len(), 5);
    assert!(cell.high.is_some_and(|high| (high.energy - 0.8).abs() < 1e-9), "{cell:?}");
    assert_eq!(workload.ratios(&model.own, &model.own), Some((1.0, 1.0)));
}

#[test]
fn rounds_that_differ_cause_a_warning() {
    let spread = |second_uj: f64, rounds: u32| {
        let mut cells = vec![(0, 0, 0, sums(100, 3_000.0)), (1, 0, 0, sums(100, second_uj))];
        cells.truncate(rounds as usize);
        let found = Unfinished { cells, ..Unfinished::default() };
        spread_share(&plan(), &found, |sums| mean(sums.energy_uj, sums.reads))
    };
    assert_eq!(spread(3_000.0, 2), 0.0);
    assert!((spread(4_500.0, 2) - 0.2).abs() < 1e-9);
    assert_eq!(spread(9_000.0, 1), 0.0);
    assert!(is_noisy((0.2, 0.0)) && is_noisy((0.0, 0.2)) && !is_noisy((0.02, 0.05)));
    assert!(noisy((0.2, 0.3)).text.contains("20 % in energy and 30 % in delay"));
}

#[test]
fn another_round_begins_only_when_it_ends_in_time() {
    let minutes = |n: u64| Duration::from_secs(60 * n);
    for (elapsed, cells, more, budget, affordable) in [
        (minutes(0), 0, 1_000, minutes(1), true),
        (minutes(9), 900, 300, minutes(14), true),
        (minutes(9), 900, 600, minutes(14), false),
        (minutes(15), 900, 1, minutes(14), false),
    ] {
        assert_eq!(is_affordable(elapsed, cells, more, budget), affordable, "{elapsed:?} {cells} {more}");
    }
}

#[test]
fn the_guests_measurements_reach_the_host_unchanged() {
    let run = plan();
    let found = Unfinished { cells: vec![(0, 0, 0, sums(100, 3_000.0))], ..Unfinished::default() };
    let (model, rates) = table(&run, &found, "TEST".to_owned(), "emmc".to_owned());
    let environment = crate::results::Environment {
        brisk_version: "0.1.0".to_owned(),
        commit: None,
        kernel: "6.12".to_owned(),
        architecture: "x86_64".to_owned(),
        cpus: 1,
        path: "/dev/flash0".to_owned(),
        file_system: None,
        mount_options: None,
        device: None,
        disks: Vec::new(),
    };
    let header = Header {
        schema_version: crate::results::SCHEMA_VERSION,
        started: "2026-01-01T00:00:00Z".to_owned(),
        duration_s: 1.0,
        environment,
        io_engine: None,
        seed: 1,
        written_bytes: 0,
        warnings: Vec::new(),
    };
    let measured = Measured { model, rates, meter: run.meter, spread_share: (0.0, 0.0), taken_over: 0, header };
    let text = serde_json::to_string(&measured).expect("JSON");
    assert_eq!(serde_json::from_str::<Measured>(&text).expect("the same"), measured);
    assert!(!measured.rates.is_empty());
}
