//! Its page.

use crate::results::{PredictionReport, PredictionResult, PredictionWay};
use brisk_core::units::format_bytes;

use super::columns::*;
use brisk_report::declare::*;
use brisk_report::format::{self, shorten};

/// Numbers of predicted apps that have a column; the dissertation protects nine apps.
const COLUMNS: [(u32, Measure); 5] = [(1, OF_1_APP), (3, OF_3_APPS), (5, OF_5_APPS), (9, OF_9_APPS), (10, OF_10_APPS)];
const PROTECTED_APPS: u32 = 9;
/// Predictors that have a column in the table by user.
const PREDICTORS: [Measure; 4] = [ADAPTIVE, PAPER, LRU, FREQUENCY];
/// Events whose chances are checked.
const EVENTS: [Measure; 3] = [NEXT, WITHIN_10_MIN, WITHIN_1_H];

pub(super) fn section(report: &PredictionReport) -> Section {
    let users = report.results.iter().map(|result| result.users.len()).max().unwrap_or(0);
    let question = format!(
        "How often is the next app among those that were predicted, over {}?",
        format::plural(users as u64, "user")
    );
    let trace = &report.trace;
    let mut facts = vec![("Trace", shorten(&trace.name, 60))];
    facts.extend(trace.context.as_ref().map(|name| {
        (
            "Context",
            format!("{}: {} unlocks and notifications", shorten(name, 60), format::tally(trace.context_events as f64)),
        )
    }));
    facts.push(("Joined rows", format::tally(trace.joined_rows as f64)));
    facts.push((
        "Time zones",
        format!("known for {} of {}", trace.users_with_offset, format::plural(users as u64, "user")),
    ));
    // No disk has a part in it; the processor has one in the time of an update.
    let environment = &report.header.environment;
    let machine = format!("{}, {}", environment.architecture, format::plural(environment.cpus.into(), "CPU"));
    let section = Section::new("Prediction of the next app", question, verdict(report))
        .facts(facts)
        .on(Some(shorten(&trace.name, 60)))
        .figures([hits(report), by_user(report), calibration(report), cost(report)]);
    Section { machine: Some(vec![("Machine", machine)]), ..section }
}

/// Place of a number of predicted apps among those of the report.
fn place_of(report: &PredictionReport, apps: u32) -> Option<usize> {
    report.predicted_apps.iter().position(|known| *known == apps)
}

fn name(result: &PredictionResult) -> String {
    match shorten(result.predictor.trim(), 40) {
        name if name.is_empty() => "unnamed".to_owned(),
        name => name,
    }
}

/// Looks of the predictors, by their order.
fn look(report: &PredictionReport, of: &PredictionResult) -> Look {
    let mut names: Vec<&str> = Vec::new();
    for result in &report.results {
        if !names.contains(&result.predictor.as_str()) {
            names.push(&result.predictor);
        }
    }
    Look::nth(names.iter().position(|name| *name == of.predictor).unwrap_or(0))
}

fn of_way(report: &PredictionReport, way: PredictionWay) -> impl DoubleEndedIterator<Item = &PredictionResult> {
    report.results.iter().filter(move |result| result.way == way)
}

fn verdict(report: &PredictionReport) -> Vec<String> {
    let Some(nine) = place_of(report, PROTECTED_APPS) else {
        return vec!["No hits are known for nine predicted apps.".to_owned()];
    };
    let percent = |result: &PredictionResult| result.pooled_percent(nine);
    let best = |way| {
        let known = of_way(report, way).filter(|result| percent(result).is_some());
        // Of equals the first.
        known.rev().max_by(|a, b| percent(a).unwrap_or(0.0).total_cmp(&percent(b).unwrap_or(0.0)))
    };
    let mut said: Vec<String> = PredictionWay::ALL
        .into_iter()
        .filter_map(|way| {
            let best = best(way)?;
            let others: Vec<String> = of_way(report, way)
                .filter(|one| one.predictor != best.predictor)
                .filter_map(|one| Some(format!("{} {}", name(one), format::percent(percent(one)?))))
                .collect();
            let others = if others.is_empty() { String::new() } else { format!(" ({})", others.join(", ")) };
            Some(format!(
                "With nine apps, {} predicts {} of launches, {}{others}.",
                name(best),
                format::percent(percent(best)?),
                way.name()
            ))
        })
        .collect();
    if said.is_empty() {
        return vec!["Nothing was predicted: the document has no launches.".to_owned()];
    }
    said.extend(PredictionWay::ALL.into_iter().filter_map(|way| {
        let best = best(way)?;
        let next = best.calibration.iter().find(|of| of.event == NEXT.name)?;
        Some(format!(
            "The chances that {} gives differ from what came true by {} on average, {}.",
            name(best),
            format::percent(next.error_percent),
            way.name()
        ))
    }));
    said.extend(report.results.iter().find_map(|result| {
        let cost = result.cost.as_ref()?;
        Some(format!(
            "An update of {} takes {} (median), and {} are stored for a user.",
            name(result),
            format::us(cost.update_us_p50),
            format_bytes(cost.state_bytes_max)
        ))
    }));
    said
}

/// Hits by the number of predicted apps.
fn hits(report: &PredictionReport) -> Figure {
    let mut points = Vec::new();
    for result in &report.results {
        for (nth, apps) in report.predicted_apps.iter().enumerate() {
            points.push(
                Row::at(PREDICTED_APPS, *apps)
                    .by(WAY, result.way.name())
                    .by(PREDICTOR, name(result))
                    .look(look(report, result))
                    .put(HITS, result.pooled_percent(nth)),
            );
        }
    }
    let wide = |share: fn(&PredictionResult, usize) -> Option<f64>| -> Vec<Row> {
        let row = |result: &PredictionResult| {
            let row = Row::at(PREDICTOR, name(result)).by(WAY, result.way.name());
            COLUMNS.into_iter().fold(row, |row, (apps, column)| {
                row.put(column, place_of(report, apps).and_then(|nth| share(result, nth)))
            })
        };
        report.results.iter().map(row).collect()
    };
    let columns = columns![PREDICTOR, WAY, OF_1_APP, OF_3_APPS, OF_5_APPS, OF_9_APPS, OF_10_APPS];
    Figure::new(
        "Hits by the number of predicted apps",
        "Share of launches whose app was among the predicted ones; an app never used before is a miss. Pooled over all \
         launches.",
    )
    .charts(&points, WAY, |way, rows| {
        let by = PREDICTOR.into();
        let lines = Lines { x: PREDICTED_APPS.into(), y: HITS.into(), series: by, named: by, ..Lines::default() };
        let axes = [
            Axis::new("predicted apps", Law::Linear, format::tick),
            Axis::new("launches predicted, %", Law::Linear, format::tick),
        ];
        lines.draw(format!("Hits, {way}"), axes, rows)
    })
    .table(Table::of("Hits, pooled over all launches", &wide(PredictionResult::pooled_percent), columns))
    .table(Table::of("Hits, mean over users", &wide(PredictionResult::mean_percent), columns))
    .open()
}

/// Hits of each user with nine apps.
fn by_user(report: &PredictionReport) -> Figure {
    let mut rows: Vec<Row> = Vec::new();
    let nine = place_of(report, PROTECTED_APPS);
    for way in PredictionWay::ALL {
        let users = of_way(report, way).map(|result| result.users.len()).max().unwrap_or(0);
        for user in 0..users {
            let Some(first) = of_way(report, way).find_map(|result| result.users.get(user)) else { continue };
            let row = Row::at(USER, shorten(first.user.trim(), 40))
                .by(WAY, way.name())
                .put(LAUNCHES, first.launches)
                .put(APPS, first.apps);
            rows.push(PREDICTORS.into_iter().fold(row, |row, predictor| {
                let of = of_way(report, way).find(|result| result.predictor == predictor.name);
                let percent = of.and_then(|result| result.users.get(user)?.percent(nine?));
                row.put(predictor, percent)
            }));
        }
    }
    let columns = columns![USER, WAY, LAUNCHES, APPS, ADAPTIVE, PAPER, LRU, FREQUENCY];
    Figure::new("Hits by user", "Share of launches whose app was among nine predicted ones.").table(Table::of(
        "Hits of nine predicted apps, by user",
        &rows,
        columns,
    ))
}

/// Predicted chances against what came true.
fn calibration(report: &PredictionReport) -> Figure {
    let mut points = Vec::new();
    for result in &report.results {
        for bin in result.calibration.iter().filter(|of| of.event == NEXT.name).flat_map(|of| &of.bins) {
            points.push(
                Row::at(PREDICTOR, name(result))
                    .by(WAY, result.way.name())
                    .look(look(report, result))
                    .put(PREDICTED, bin.predicted_percent)
                    .put(OBSERVED, bin.observed_percent)
                    .put(PREDICTIONS, bin.count),
            );
        }
    }
    let error = |result: &PredictionResult, event: Measure| {
        result.calibration.iter().find(|of| of.event == event.name).map(|of| of.error_percent)
    };
    let errors = report.results.iter().filter(|result| !result.calibration.is_empty()).map(|result| {
        let row = Row::at(PREDICTOR, name(result)).by(WAY, result.way.name());
        EVENTS.into_iter().fold(row, |row, event| row.put(event, error(result, event)))
    });
    let errors: Vec<Row> = errors.collect();
    Figure::new(
        "Calibration",
        "Chance that was predicted for the ten likeliest apps, in bins, and the share that came true; on the diagonal \
         chances are right.",
    )
    .charts(&points, WAY, |way, rows| {
        let by = PREDICTOR.into();
        let lines = Lines { x: PREDICTED.into(), y: OBSERVED.into(), series: by, named: by, ..Lines::default() };
        let axes = [
            Axis::new("predicted chance, %", Law::Linear, format::tick),
            Axis::new("came true, %", Law::Linear, format::tick),
        ];
        lines.draw(format!("Calibration, {way}"), axes, rows)
    })
    .table(Table::of(
        "Mean distance of predicted chances from what came true: of the next app, and of a return within a time",
        &errors,
        columns![PREDICTOR, WAY, NEXT, WITHIN_10_MIN, WITHIN_1_H],
    ))
    .table(Table::of(
        "Predicted chances of the next app and what came true",
        &points,
        columns![PREDICTOR, WAY, PREDICTED, OBSERVED, PREDICTIONS],
    ))
}

/// Time and size.
fn cost(report: &PredictionReport) -> Figure {
    let row = |result: &PredictionResult| {
        let cost = result.cost.as_ref()?;
        Some(
            Row::at(PREDICTOR, name(result))
                .by(WAY, result.way.name())
                .put(MEDIAN_UPDATE, cost.update_us_p50)
                .put(P99_OF_UPDATES, cost.update_us_p99)
                .put(STORED, cost.state_bytes_max),
        )
    };
    let rows: Vec<Row> = report.results.iter().filter_map(row).collect();
    let caption = "An update predicts a launch and learns it; what is stored is that of the largest user.";
    Figure::new("Cost", caption).table(Table::of(
        "Cost of predictors",
        &rows,
        columns![PREDICTOR, WAY, MEDIAN_UPDATE, P99_OF_UPDATES, STORED],
    ))
}
