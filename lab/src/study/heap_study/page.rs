//! Its page.

use crate::results::{HeapAlpha, HeapApp, HeapOrder, HeapStudyReport, HeapThreshold};

use super::columns::*;
use brisk_report::declare::*;
use brisk_report::format;

const AIM: &str = "Coverage for each head-room";
/// Coverage and head-room that the project aims at, in percent.
const COVERED_AIM: f64 = 99.5;
const HEAD_ROOM_AIM: f64 = 15.0;
/// Published for alpha 0, 1, 2, 3 (5.4.3).
const PUBLISHED: [(f64, f64); 4] = [(0.0, 45.47), (1.0, 81.14), (2.0, 96.05), (3.0, 98.39)];
/// Shares of the time, of which the hundredth counts.
pub(super) const COVERED: Unit = unit::of("percent", covered, format::tick);
/// Apps of which the page says how alike their runs begin.
const ALIKE_MAX: usize = 5;
/// Rows of the tables by app that a terminal shows.
const TERMINAL_ROWS: usize = 24;

fn covered(percent: f64) -> String {
    if percent.abs() <= 1e3 { format!("{percent:.2} %") } else { format::percent(percent) }
}

pub(super) fn section(report: &HeapStudyReport) -> Section {
    let apps = format::plural(report.apps.len() as u64, "app");
    let question =
        format!("How well are the memory needs of {apps} predicted, and what do thresholds above them cover?");
    let table = &report.table;
    let need = match table.columns.as_str() {
        "growth" => "anonymous memory and swap".to_owned(),
        "dumpsys" => "heap in use (dumpsys meminfo)".to_owned(),
        "rss" => "resident memory of a process".to_owned(),
        other => other.to_owned(),
    };
    let runs: f64 = report.apps.iter().map(|app| app.runs as f64).sum();
    let short = match table.short_runs {
        0 => String::new(),
        short => format!(", and {} too short", format::plural(short, "run")),
    };
    let (sampled, every) = (format::seconds(table.sampled_s), format::seconds(table.interval_s));
    let alike = |app: &HeapApp| Some(format!("{} {:.2}", app.app, app.begin_correlation?.median));
    let alike: Vec<String> = report.apps.iter().filter_map(alike).take(ALIKE_MAX).collect();
    let facts = vec![
        ("Table", table.name.clone()),
        ("Need", need),
        ("Runs", format!("{}{short}", format::tally(runs))),
        ("Values", format!("sampled every {sampled}, evaluated every {every}")),
        ("Begins of runs alike", alike.join(", ")),
    ];
    let facts = facts.into_iter().filter(|(_, text): &(&str, String)| !text.is_empty()).collect::<Vec<_>>();
    let mut section = Section::new("Heap study", question, verdict(report))
        .facts(facts)
        .on(Some(table.name.clone()))
        .figures([thresholds(report), alphas(&report.alphas), orders(&report.apps)]);
    section.machine = Some(vec![("Values", "the recorded system".to_owned())]);
    section
}

fn of_rule<'a>(thresholds: &'a [HeapThreshold], rule: &str) -> Option<&'a HeapThreshold> {
    thresholds.iter().find(|one| one.rule == rule)
}

fn verdict(report: &HeapStudyReport) -> Vec<String> {
    let mut said = Vec::new();
    let words = |one: &HeapThreshold| {
        let head_room = format::percent(one.head_room_percent_of_sum);
        format!("{} of the time with {head_room} of head-room", covered(one.covered_percent))
    };
    if let Some(adaptive) = of_rule(&report.thresholds, "adaptive") {
        let met = match (adaptive.covered_percent >= COVERED_AIM, adaptive.head_room_percent_of_sum < HEAD_ROOM_AIM) {
            (true, true) => "meets the aim of",
            (false, true) => "misses the coverage in the aim of",
            (true, false) => "misses the head-room in the aim of",
            (false, false) => "misses the aim of",
        };
        said.push(format!("Adaptive thresholds cover {}, which {met} 99.5 % with less than 15 %.", words(adaptive)));
        // How far from it the last value alone stays, whatever was known.
        let bound = of_rule(&report.thresholds, "hindsight").filter(|_| !met.starts_with("meets"));
        said.extend(bound.map(|one| format!("The best margin above the last value in hindsight: {}.", words(one))));
    }
    for (rule, name) in
        [("persistence", "The last value and its margin"), ("paper", "The paper's thresholds"), ("fixed", "128 MB")]
    {
        said.extend(of_rule(&report.thresholds, rule).map(|one| format!("{name}: {}.", words(one))));
    }
    said.extend(together(&report.apps));
    if said.is_empty() {
        said.push("Nothing was evaluated: it takes two runs of an app.".to_owned());
    }
    said
}

/// Whether values of this run and of an earlier one together predict better than either alone, over the same samples.
fn together(apps: &[HeapApp]) -> Option<String> {
    let least = |app: &HeapApp, among: fn(&&HeapOrder) -> bool| {
        app.orders.iter().filter(among).filter_map(|order| order.rmse_common_bytes).min_by(f64::total_cmp)
    };
    let compared: Vec<(&HeapApp, bool)> = apps
        .iter()
        .filter_map(|app| {
            let both = least(app, |order| order.past > 0 && order.historical > 0)?;
            let past = least(app, |order| order.historical == 0)?;
            let historical = least(app, |order| order.past == 0)?;
            Some((app, both < past && both < historical))
        })
        .collect();
    if compared.is_empty() {
        return None;
    }
    let not: Vec<String> = compared.iter().filter(|(_, better)| !better).map(|(app, _)| app.app.clone()).collect();
    let of = compared.len();
    Some(match not.len() {
        0 => {
            "Values of a run and of an earlier one together predict better than either alone, for all apps.".to_owned()
        }
        no => format!(
            "Values of a run and of an earlier one together predict better than either alone for {} of {of} apps{}.",
            of - no,
            if no <= 6 { format!(", not for {}", format::list(&not)) } else { String::new() }
        ),
    })
}

fn rule_row(row: Row, one: &HeapThreshold) -> Row {
    row.by(RULE, one.rule.clone())
        .put(COVERED_MEASURE, one.covered_percent)
        .put(HEAD_ROOM, one.head_room_percent_of_sum)
        .put(MEDIAN_HEAD_ROOM, one.head_room_percent_median)
        .put(MEAN_HEAD_ROOM, one.head_room_percent_mean)
        .put(LARGEST_SHORTFALL, one.shortfall_bytes_max)
        .put(RUNS_BEYOND_IT, format!("{} of {}", one.runs_beyond, one.runs))
        .put(VALUES, one.values)
}

fn thresholds(report: &HeapStudyReport) -> Figure {
    let all: Vec<Row> =
        report.thresholds.iter().map(|one| rule_row(Row::at(OF, format!("{} apps", report.apps.len())), one)).collect();
    let by_app: Vec<Row> = report
        .apps
        .iter()
        .flat_map(|app| app.thresholds.iter().map(|one| rule_row(Row::at(APP, app.app.clone()), one)))
        .collect();
    let mut rules: Vec<&str> = Vec::new();
    let aims: Vec<Row> = report
        .aims
        .iter()
        .map(|aim| {
            let known = rules.iter().position(|rule| *rule == aim.rule);
            let nth = known.unwrap_or_else(|| {
                rules.push(&aim.rule);
                rules.len() - 1
            });
            Row::at(RULE, aim.rule.clone())
                .look(Look::nth(nth))
                .put(AIM_MEASURE, aim.aim_percent)
                .put(COVERED_MEASURE, aim.covered_percent)
                .put(HEAD_ROOM, aim.head_room_percent_of_sum)
                .put(MEDIAN_HEAD_ROOM, aim.head_room_percent_median)
        })
        .collect();
    let axes =
        [Axis::new("head-room, %", Law::Linear, format::tick), Axis::new("time covered, %", Law::Window, format::tick)];
    let lines = Lines {
        x: HEAD_ROOM.into(),
        y: COVERED_MEASURE.into(),
        series: RULE.into(),
        named: RULE.into(),
        levels: level(COVERED_AIM, "aim"),
        ..Lines::default()
    };
    let caption = "A threshold is set when the value before it is known, and learned from other runs. Head-room: sum \
                   of the thresholds over the sum of the needs, less 1; median and mean of threshold / need - 1, where \
                   a need of almost nothing in the first second of a launch counts as much as any. Hindsight is the \
                   least margin above the last value that covers 99.5 % of all runs of an app: a bound for what knows \
                   no more, and no rule that could be used. Points: aims from 95 to 99.9 %.";
    let columns = columns![
        RULE,
        COVERED_MEASURE,
        HEAD_ROOM,
        MEDIAN_HEAD_ROOM,
        MEAN_HEAD_ROOM,
        LARGEST_SHORTFALL,
        RUNS_BEYOND_IT,
        VALUES
    ];
    Figure::new("Thresholds", caption)
        .chart(AIM, lines.draw(AIM, axes, &aims))
        .table(Table::of("Thresholds over all apps", &all, columns).dispensable(columns![VALUES, MEAN_HEAD_ROOM]))
        .table(Table::of(
            "Coverage that was asked for",
            &aims,
            columns![RULE, AIM_MEASURE, COVERED_MEASURE, HEAD_ROOM, MEDIAN_HEAD_ROOM],
        ))
        .table(
            Table::of("Thresholds by app", &by_app, &[columns![APP], columns].concat())
                .dispensable(columns![VALUES, MEAN_HEAD_ROOM, LARGEST_SHORTFALL])
                .first_in_terminal(TERMINAL_ROWS),
        )
        .open()
}

fn alphas(alphas: &[HeapAlpha]) -> Figure {
    let row = |one: &HeapAlpha| {
        let published = PUBLISHED.iter().find(|(alpha, _)| *alpha == one.alpha).map(|(_, percent)| *percent);
        Row::at(ALPHA, Place { text: format::tick(one.alpha), number: Some(one.alpha) })
            .put(COVERED_MEASURE, one.covered_percent)
            .put(PUBLISHED_MEASURE, published)
            .put(MEDIAN_HEAD_ROOM, one.head_room_percent_median)
            .put(VALUES, one.values)
    };
    let rows: Vec<Row> = alphas.iter().map(row).collect();
    let caption = "Prediction by equation 5.1 with the orders of the least error, and alpha times that error (5.3), \
                   without the default of \
                   the first three seconds. The dissertation prints four figures for alpha 0 to 4; they fit 0 to 3.";
    Figure::new("Coverage by alpha", caption).table(Table::of(
        "Coverage by alpha",
        &rows,
        columns![ALPHA, COVERED_MEASURE, PUBLISHED_MEASURE, MEDIAN_HEAD_ROOM, VALUES],
    ))
}

fn orders(apps: &[HeapApp]) -> Figure {
    let caption = "Root of the mean squared error of equation 5.1, by ten-fold cross-validation: p values of the run, \
                   q of an earlier run of the same app. After table 5.2 of the dissertation; the least of an app is \
                   named in its row. An order with more values begins later in a launch, so only errors from the \
                   fourth value on are of the same values.";
    let table = |title, of: fn(&HeapOrder) -> Option<f64>| {
        Table::of(title, &order_rows(apps, of), columns![APP, P, Q[0], Q[1], Q[2], Q[3], Q[4], LEAST])
            .dispensable(columns![Q[4], Q[3]])
            .first_in_terminal(TERMINAL_ROWS)
    };
    Figure::new("Errors by p and q", caption)
        .table(table("Error of predictions", |order| order.rmse_bytes))
        .table(table("Error from the fourth value on", |order| order.rmse_common_bytes))
}

/// A row for each app and p.
fn order_rows(apps: &[HeapApp], error: fn(&HeapOrder) -> Option<f64>) -> Vec<Row> {
    let of_app = |app: &HeapApp| -> Vec<Row> {
        let least = app.orders.iter().filter_map(error).min_by(f64::total_cmp);
        let mut pasts: Vec<u32> = app.orders.iter().map(|order| order.past).collect();
        pasts.dedup();
        let row = |past: u32| {
            let of = |q: u32| error(app.orders.iter().find(|order| (order.past, order.historical) == (past, q))?);
            let row = Row::at(APP, app.app.clone()).by(P, past);
            let row = Q.into_iter().zip(0..).fold(row, |row, (measure, q)| row.put(measure, of(q)));
            let is_here = (0..Q.len() as u32).any(|q| least.is_some() && of(q) == least);
            row.put(LEAST, least.filter(|_| is_here))
        };
        pasts.into_iter().map(row).collect()
    };
    apps.iter().flat_map(of_app).collect()
}
