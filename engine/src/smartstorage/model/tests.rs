use super::*;
use crate::smartstorage::config::Config;
use crate::smartstorage::pattern::{Window, tests::rates};

/// A device of three settings. A workload of reads is cheapest under `none`, one of writes under `bfq`.
pub(crate) fn model() -> Model {
    let own = Setting::new("mq-deadline", 256);
    let cell = |setting: &Setting, reads: f64, writes: f64, uj: f64, us: f64| Cell {
        setting: setting.clone(),
        pattern: Window::of(&rates(reads, writes, us / 1e3), 1.0).pattern(),
        request_uj_mean: uj,
        read_us_mean: (reads > 0.0).then_some(us),
        write_us_mean: (writes > 0.0).then_some(us),
        rounds: BTreeMap::new(),
        high: None,
    };
    let workload = |name: &str, reads, writes, none: (f64, f64), bfq: (f64, f64)| Workload {
        name: name.to_owned(),
        cells: vec![
            cell(&own, reads, writes, 100.0, 200.0),
            cell(&Setting::new("none", 128), reads, writes, none.0, none.1),
            cell(&Setting::new("bfq", 4), reads, writes, bfq.0, bfq.1),
        ],
    };
    Model {
        version: MODEL_VERSION,
        device: "TEST".to_owned(),
        kind: "emmc".to_owned(),
        meter: "test".to_owned(),
        workloads: vec![
            workload("reads", 1000.0, 10.0, (70.0, 180.0), (90.0, 150.0)),
            workload("writes", 10.0, 1000.0, (110.0, 200.0), (60.0, 190.0)),
            workload("slow", 100.0, 100.0, (50.0, 400.0), (99.5, 200.0)),
        ],
        own,
    }
}

fn best(reads: f64, writes: f64, delay_share: f64) -> Option<String> {
    let pattern = Window::of(&rates(reads, writes, 0.2), 1.0).pattern();
    let model = model();
    let advice = model.advise(Config::default().criteria(), &model.own, &pattern, delay_share).expect("workloads");
    advice.costs.first().map(|(setting, _)| setting.to_string())
}

#[test]
fn the_nearest_workload_gives_the_setting() {
    assert_eq!(best(900.0, 12.0, 0.0).as_deref(), Some("none/128"));
    assert_eq!(best(8.0, 1100.0, 0.0).as_deref(), Some("bfq/4"));
}

#[test]
fn the_objective_changes_the_choice() {
    assert_eq!(best(900.0, 12.0, 1.0).as_deref(), Some("bfq/4"));
}

#[test]
fn energy_is_not_saved_at_the_cost_of_delay() {
    // none would halve the energy and double the delay.
    assert_eq!(best(100.0, 100.0, 0.0).as_deref(), Some("bfq/4"));
}

#[test]
fn a_setting_is_safe_that_was_worse_for_no_workload() {
    let criteria = Config::default().criteria();
    let safe = |model: &Model, delay_share| model.safe(criteria, delay_share).map(|(safe, _)| safe.to_string());
    // none is dearer for writes, and slow for the third; bfq is neither.
    assert_eq!(safe(&model(), 0.0).as_deref(), Some("bfq/4"));
    let mut slower = model();
    slower.workloads[0].cells[2].read_us_mean = Some(203.0);
    assert_eq!(safe(&slower, 0.0), None);
    let mut dearer = model();
    dearer.workloads[1].cells[2].request_uj_mean = 100.1;
    assert_eq!(safe(&dearer, 0.0), None);
    // Where delay alone counts, energy does not.
    assert_eq!(safe(&dearer, 1.0).as_deref(), Some("bfq/4"));
}

#[test]
fn an_unknown_pattern_has_the_costs_of_the_safe_setting_or_none() {
    let pattern = Pattern { read_bytes_mean: 1e6, ..Window::of(&rates(30_000.0, 0.0, 3.0), 1.0).pattern() };
    let mut model = model();
    let advised =
        |model: &Model| model.advise(Config::default().criteria(), &model.own, &pattern, 0.0).expect("workloads");
    let advice = advised(&model);
    assert!(!advice.is_known && advice.distance > model.reach(), "{advice:?}");
    assert_eq!(advice.costs.iter().map(|(s, _)| s.to_string()).collect::<Vec<_>>(), ["bfq/4", "mq-deadline/256"]);
    model.workloads[1].cells[2].request_uj_mean = 101.0;
    assert!(advised(&model).costs.is_empty());
}

#[test]
fn a_saving_that_cannot_be_told_from_none_is_none() {
    let pattern = Window::of(&rates(900.0, 12.0, 0.2), 1.0).pattern();
    let cost = |high: f64| {
        let mut model = model();
        let cell = &mut model.workloads[0].cells[1];
        cell.rounds = (0..).zip([0.6, 0.7, 1.2].map(|energy| Ratio { energy, delay: 0.9 })).collect();
        cell.high = Some(Ratio { energy: high, delay: 0.95 });
        let config = Config { neighbours: 1, ..Config::default() };
        let advice = model.advise(config.criteria(), &model.own, &pattern, 0.0).expect("workloads");
        advice.costs.iter().find(|(setting, _)| setting.scheduler == "none").expect("there").1
    };
    assert!((cost(0.9) - 0.7).abs() < 1e-9 && (cost(1.2) - 1.0).abs() < 1e-9, "{} {}", cost(0.9), cost(1.2));
}

#[test]
fn several_neighbours_share_the_say() {
    let pattern = Window::of(&rates(300.0, 100.0, 0.2), 1.0).pattern();
    let model = model();
    let cost = |neighbours: usize| {
        let config = Config { neighbours, slower_share_max: 1.0, ..Config::default() };
        let advice = model.advise(config.criteria(), &model.own, &pattern, 0.0).expect("workloads");
        advice.costs.iter().find(|(s, _)| s.scheduler == "none").expect("there").1
    };
    // Between the 0.5 of the nearest and the 0.7 of the next.
    assert!(cost(1) < cost(2) && cost(2) < 0.7, "{} {}", cost(1), cost(2));
}

#[test]
fn a_model_is_for_its_device_of_any_firmware() {
    let models = [model()];
    let found = |name: &str| Model::for_device(&models, &Device { model: name.to_owned(), ..Device::default() });
    assert_eq!((found("TEST"), found("OTHER"), found("")), (Some(&models[0]), None, None));
    assert_eq!(found("TEST, firmware 0x7"), Some(&models[0]));
}

#[test]
fn a_model_that_cannot_be_is_refused_with_the_reason() {
    assert_eq!(model().check(), Ok(()));
    let mut lacks = model();
    lacks.workloads[1].cells.remove(0);
    let mut nan = model();
    nan.workloads[0].cells[1].request_uj_mean = f64::NAN;
    for (bad, word) in [
        (Model { version: 9, ..model() }, "version 9"),
        (Model { workloads: vec![], ..model() }, "no workload"),
        (lacks, "writes lacks the setting mq-deadline/256"),
        (nan, "reads under none/128"),
    ] {
        let error = bad.check().expect_err(word).to_string();
        assert!(error.contains(word), "{error}");
    }
}

#[test]
fn a_model_survives_json() {
    let value = serde_json::to_value(model()).expect("JSON");
    assert_eq!(serde_json::from_value::<Model>(value).expect("the same"), model());
}
