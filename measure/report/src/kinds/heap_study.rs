//! Predicted memory needs and thresholds (dissertation 5.4 with table 5.2).

use brisk_results::{HeapAlpha, HeapApp, HeapOrder, HeapStudyReport, HeapThreshold};

use crate::declare::*;
use crate::format;

const AIM: &str = "Coverage for each head-room";
/// Coverage and head-room that the project aims at, in percent.
const COVERED_AIM: f64 = 99.5;
const HEAD_ROOM_AIM: f64 = 15.0;
/// Published for alpha 0, 1, 2, 3 (5.4.3).
const PUBLISHED: [(f64, f64); 4] = [(0.0, 45.47), (1.0, 81.14), (2.0, 96.05), (3.0, 98.39)];
/// Shares of the time, of which the hundredth counts.
const COVERED: Unit = Unit { show: covered, tick: format::tick };
/// Rows of the tables by app that a terminal shows.
const TERMINAL_ROWS: usize = 24;

fn covered(percent: f64) -> String {
    if percent.abs() <= 1e3 { format!("{percent:.2} %") } else { format::percent(percent) }
}

impl Kind for HeapStudyReport {
    fn section(&self) -> Section {
        let apps = format::plural(self.apps.len() as u64, "app");
        let question =
            format!("How well are the memory needs of {apps} predicted, and what do thresholds above them cover?");
        let table = &self.table;
        let need = match table.columns.as_str() {
            "growth" => "anonymous memory and swap".to_owned(),
            "dumpsys" => "heap in use (dumpsys meminfo)".to_owned(),
            "rss" => "resident memory of a process".to_owned(),
            other => other.to_owned(),
        };
        let runs: f64 = self.apps.iter().map(|app| app.runs as f64).sum();
        let short = match table.short_runs {
            0 => String::new(),
            short => format!(", and {} too short", format::plural(short, "run")),
        };
        let (sampled, every) = (format::seconds(table.sampled_s), format::seconds(table.interval_s));
        let facts = vec![
            ("Table", table.name.clone()),
            ("Need", need),
            ("Runs", format!("{}{short}", format::tally(runs))),
            ("Values", format!("sampled every {sampled}, evaluated every {every}")),
        ];
        let mut section = Section::new("Heap study", question, verdict(self))
            .facts(facts)
            .on(Some(table.name.clone()))
            .figures([thresholds(self), alphas(&self.alphas), orders(&self.apps)]);
        section.machine = Some(vec![("Values", "the recorded system".to_owned())]);
        section
    }
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
    row.by("rule", one.rule.clone())
        .put("covered", COVERED, one.covered_percent)
        .put("head-room", PERCENT, one.head_room_percent_of_sum)
        .put("median head-room", PERCENT, one.head_room_percent_median)
        .put("mean head-room", PERCENT, one.head_room_percent_mean)
        .put("largest shortfall", BYTES, one.shortfall_bytes_max)
        .say("runs beyond it", format!("{} of {}", one.runs_beyond, one.runs))
        .put("values", TALLY, one.values)
}

fn thresholds(report: &HeapStudyReport) -> Figure {
    let all: Vec<Row> = report
        .thresholds
        .iter()
        .map(|one| rule_row(Row::at("of", format!("{} apps", report.apps.len())), one))
        .collect();
    let by_app: Vec<Row> = report
        .apps
        .iter()
        .flat_map(|app| app.thresholds.iter().map(|one| rule_row(Row::at("app", app.app.clone()), one)))
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
            Row::at("rule", aim.rule.clone())
                .look(Look::nth(nth))
                .put("aim", COVERED, aim.aim_percent)
                .put("covered", COVERED, aim.covered_percent)
                .put("head-room", PERCENT, aim.head_room_percent_of_sum)
                .put("median head-room", PERCENT, aim.head_room_percent_median)
        })
        .collect();
    let axes =
        [Axis::new("head-room, %", Law::Linear, format::tick), Axis::new("time covered, %", Law::Window, format::tick)];
    let lines = Lines {
        x: "head-room",
        y: "covered",
        series: "rule",
        named: "rule",
        levels: level(COVERED_AIM, "aim"),
        ..Lines::default()
    };
    let caption = "A threshold is set when the value before it is known, and learned from other runs. Head-room: sum of the thresholds \
                   over the sum of the needs, less 1; median and mean of threshold / need - 1, where a need of almost nothing in the \
                   first second of a launch counts as much as any. Hindsight is the least margin above the last value that covers 99.5 % of \
                   all runs of an app: a bound for what knows no more, and no rule that could be used. Points: aims from 95 to 99.9 %.";
    let columns =
        "rule | covered | head-room | median head-room | mean head-room | largest shortfall | runs beyond it | values";
    Figure::new("Thresholds", caption)
        .chart(AIM, lines.draw(AIM, axes, &aims))
        .table(Table::of("Thresholds over all apps", &all, columns).dispensable("values | mean head-room"))
        .table(Table::of("Coverage that was asked for", &aims, "rule | aim | covered | head-room | median head-room"))
        .table(
            Table::of("Thresholds by app", &by_app, &format!("app | {columns}"))
                .dispensable("values | mean head-room | largest shortfall")
                .first_in_terminal(TERMINAL_ROWS),
        )
        .open()
}

fn alphas(alphas: &[HeapAlpha]) -> Figure {
    let row = |one: &HeapAlpha| {
        let published = PUBLISHED.iter().find(|(alpha, _)| *alpha == one.alpha).map(|(_, percent)| *percent);
        Row::at("alpha", Place { text: format::tick(one.alpha), number: Some(one.alpha) })
            .put("covered", COVERED, one.covered_percent)
            .put("published", COVERED, published)
            .put("median head-room", PERCENT, one.head_room_percent_median)
            .put("values", TALLY, one.values)
    };
    let rows: Vec<Row> = alphas.iter().map(row).collect();
    let caption = "Prediction by equation 5.1 with the orders of the least error, and alpha times that error (5.3), without the default of \
                   the first three seconds. The dissertation prints four figures for alpha 0 to 4; they fit 0 to 3.";
    Figure::new("Coverage by alpha", caption).table(Table::of(
        "Coverage by alpha",
        &rows,
        "alpha | covered | published | median head-room | values",
    ))
}

fn orders(apps: &[HeapApp]) -> Figure {
    let caption = "Root of the mean squared error of equation 5.1, by ten-fold cross-validation: p values of the run, q of an earlier run of \
                   the same app. After table 5.2 of the dissertation; the least of an app is named in its row. An order with more values \
                   begins later in a launch, so only errors from the fourth value on are of the same values.";
    let table = |title, of: fn(&HeapOrder) -> Option<f64>| {
        Table::of(title, &order_rows(apps, of), "app | p | q = 0 | q = 1 | q = 2 | q = 3 | q = 4 | least")
            .dispensable("q = 4 | q = 3")
            .first_in_terminal(TERMINAL_ROWS)
    };
    Figure::new("Errors by p and q", caption)
        .table(table("Error of predictions", |order| order.rmse_bytes))
        .table(table("Error from the fourth value on", |order| order.rmse_common_bytes))
}

/// A row for each app and p.
fn order_rows(apps: &[HeapApp], error: fn(&HeapOrder) -> Option<f64>) -> Vec<Row> {
    const COLUMNS: [&str; 5] = ["q = 0", "q = 1", "q = 2", "q = 3", "q = 4"];
    let of_app = |app: &HeapApp| -> Vec<Row> {
        let least = app.orders.iter().filter_map(error).min_by(f64::total_cmp);
        let mut pasts: Vec<u32> = app.orders.iter().map(|order| order.past).collect();
        pasts.dedup();
        let row = |past: u32| {
            let of = |q: u32| error(app.orders.iter().find(|order| (order.past, order.historical) == (past, q))?);
            let row = Row::at("app", app.app.clone()).by("p", past);
            let row = COLUMNS.into_iter().zip(0..).fold(row, |row, (name, q)| row.put(name, BYTES, of(q)));
            let is_here = (0..COLUMNS.len() as u32).any(|q| least.is_some() && of(q) == least);
            row.put("least", BYTES, least.filter(|_| is_here))
        };
        pasts.into_iter().map(row).collect()
    };
    apps.iter().flat_map(of_app).collect()
}
