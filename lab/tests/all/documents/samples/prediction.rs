//! Prediction of the next app.

use brisk_lab::results::PredictionReport;
use serde_json::{Value, json};

use super::on_s5;

const PREDICTED: [u32; 5] = [1, 3, 5, 9, 10];

fn users(factor: f64, way: &str) -> Vec<Value> {
    let launches = if way == "collapsed" { [4_100_u64, 1_260] } else { [6_200, 1_900] };
    let user = |(name, launches): (&str, u64)| {
        let hits = |apps: &u32| {
            let share = 1.0 - (1.0 - factor) * (-f64::from(*apps) / 6.0).exp() * 2.4;
            (share.clamp(0.0, 1.0) * launches as f64).round() as u64
        };
        json!({ "user": name, "launches": launches, "apps": 41,
            "hits": PREDICTED.iter().map(hits).collect::<Vec<_>>() })
    };
    ["u1", "u2"].into_iter().zip(launches).map(user).collect()
}

fn calibration(event: &str, tilt: f64) -> Value {
    let bins = (0..10).map(|bin| {
        let predicted = 4.0 + 10.0 * f64::from(bin);
        json!({ "count": 9_000 >> bin, "predicted_percent": predicted, "observed_percent": predicted * tilt })
    });
    json!({ "event": event, "error_percent": 100.0 * (1.0 - tilt).abs() / 4.0, "bins": bins.collect::<Vec<_>>() })
}

fn result(predictor: &str, way: &str, factor: f64) -> Value {
    let learned = ["adaptive", "paper"].contains(&predictor);
    let tilt = if predictor == "adaptive" { 0.98 } else { 0.8 };
    let events = ["next", "within 10 min", "within 1 h"].map(|event| calibration(event, tilt));
    json!({
        "predictor": predictor, "way": way, "users": users(factor, way),
        "calibration": if learned { events.to_vec() } else { Vec::new() },
        "cost": learned.then(|| json!({ "update_us_p50": 17.4, "update_us_p99": 31.0, "state_bytes_max": 93_184 })),
    })
}

pub fn prediction() -> PredictionReport {
    let predictors = [("adaptive", 0.84), ("paper", 0.76), ("lru", 0.74), ("frequency", 0.63)];
    let results = ["uncollapsed", "collapsed"].into_iter().flat_map(|way| {
        let less = if way == "collapsed" { 0.05 } else { 0.0 };
        predictors.map(|(predictor, factor)| result(predictor, way, factor - less))
    });
    on_s5(json!({
        "trace": {
            "name": "usage.csv.gz", "context": "context.csv.gz", "context_events": 1_471, "joined_rows": 12,
            "users_with_offset": 1,
        },
        "predicted_apps": PREDICTED,
        "results": results.collect::<Vec<_>>(),
    }))
}
