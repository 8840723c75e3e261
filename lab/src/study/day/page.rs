//! Its page.

use crate::results::{Cause, DayPolicy, DayReport, DayRun, DayState, DaySwitch, EndedBy, Ending, Part, Split};
use brisk_core::stats::{self, Summary};
use brisk_core::units::format_bytes;

use super::columns::*;
use super::memory;
use crate::study::shown::{facts, starts};
use brisk_report::causes;
use brisk_report::declare::Texture;
use brisk_report::declare::*;
use brisk_report::format::{self, shorten};

const STRIPS: &str = "The day, switch by switch";

pub(super) fn section(report: &DayReport) -> Section {
    let trace = &report.trace;
    let question = format!(
        "How long does a person wait who uses {} on a phone with {} of memory?",
        format::plural(trace.apps.len() as u64, "app"),
        format_bytes(report.memory.limit_bytes)
    );
    let memory = format!(
        "{}, swap areas of {}",
        format_bytes(report.memory.limit_bytes),
        format_bytes(report.memory.swap_bytes)
    );
    let facts = vec![
        ("Phone", facts::phone(&report.phone)),
        ("Memory", memory),
        ("Trace", trace_words(report)),
        ("Dwell", dwell_words(report)),
        ("Apps", apps_words(report)),
    ];
    Section::new("Day of use", question, verdict(report))
        .cautions(facts::virtual_time(&report.phone))
        .cautions(cautions(report))
        .facts(facts)
        .on(Some(facts::phone_name(&report.phone)))
        .picture(strips(report))
        .figures([
            sums(report),
            by_cause(report),
            memory::over_time(report),
            policies(report),
            starts::figure(&report.phone),
        ])
}

/// The name of a policy.
pub(super) fn name(policy: &DayPolicy) -> String {
    match shorten(policy.name.trim(), 40) {
        name if name.is_empty() => "unnamed".to_owned(),
        name => name,
    }
}

/// The run of a policy that has the sum of waits in the middle, or the nearest below it.
fn middle(policy: &DayPolicy) -> Option<&DayRun> {
    let mut runs: Vec<&DayRun> = policy.runs.iter().filter(|run| !run.switches.is_empty()).collect();
    runs.sort_by(|a, b| a.wait_ms().total_cmp(&b.wait_ms()));
    runs.get(runs.len().saturating_sub(1) / 2).copied()
}

/// Policies with a run.
pub(super) fn measured(report: &DayReport) -> Vec<(&DayPolicy, &DayRun)> {
    report.policies.iter().filter_map(|policy| Some((policy, middle(policy)?))).collect()
}

fn state_word(state: DayState) -> &'static str {
    match state {
        DayState::First => "first launch",
        DayState::Hot => "hot",
        DayState::Swapped => "swapped",
        DayState::Killed => "killed",
        DayState::Failed => "failed",
    }
}

/// Switches that found the app in this state.
fn times(state: DayState) -> Measure {
    match state {
        DayState::First => TIMES_STARTED,
        DayState::Hot => TIMES_HOT,
        DayState::Swapped => TIMES_SWAPPED,
        DayState::Killed => TIMES_KILLED,
        DayState::Failed => TIMES_FAILED,
    }
}

fn state_face(state: DayState) -> (Tone, Texture) {
    match state {
        DayState::First => (Tone::Plain, Texture::Half),
        DayState::Hot => (Tone::Nth(2), Texture::Full),
        DayState::Swapped => (Tone::Read, Texture::Rising),
        DayState::Killed => (Tone::Write, Texture::Full),
        DayState::Failed => (Tone::Plain, Texture::Crossed),
    }
}

/// `1 switch`, `4 switches`.
fn counted(count: u64, one: &str) -> String {
    if count == 1 { format!("1 {one}") } else { format!("{count} {one}es") }
}

fn trace_words(report: &DayReport) -> String {
    let trace = &report.trace;
    let begin = if trace.from_s > 0.0 { format!(" from {} on", format::seconds(trace.from_s)) } else { String::new() };
    let dropped = match trace.dropped_sessions {
        0 => String::new(),
        n => {
            let apps = format::plural(trace.dropped_apps, "other app");
            format!("; {} of {apps} left out", format::plural(n, "session"))
        }
    };
    format!(
        "{}, user {}{begin}: {} in {}{dropped}",
        shorten(&trace.name, 60),
        shorten(&trace.user, 40),
        counted(trace.switches, "switch"),
        format::seconds(trace.span_s)
    )
}

fn dwell_words(report: &DayReport) -> String {
    let trace = &report.trace;
    format!(
        "that of the trace over {}, from {} ({} raised to it) to {} ({} lowered to it)",
        format::number(trace.speed),
        format::ms(trace.dwell_ms_min),
        trace.lengthened,
        format::ms(trace.dwell_ms_max),
        trace.shortened
    )
}

fn apps_words(report: &DayReport) -> String {
    let app = |one: &crate::results::DayApp| {
        format!("{} for {} ({})", shorten(&one.app, 40), shorten(&one.trace_app, 40), counted(one.switches, "switch"))
    };
    report.trace.apps.iter().map(app).collect::<Vec<_>>().join(", ")
}

/// Median over the runs of a policy.
fn over(policy: &DayPolicy, of: impl Fn(&DayRun) -> f64) -> Option<f64> {
    stats::median(&policy.runs.iter().filter(|run| !run.switches.is_empty()).map(of).collect::<Vec<_>>())
}

fn verdict(report: &DayReport) -> Vec<String> {
    let measured = measured(report);
    let Some((base, base_run)) = measured.first() else {
        return vec!["Nothing was measured: the document has no run.".to_owned()];
    };
    let wait = |policy: &DayPolicy| over(policy, DayRun::wait_ms).unwrap_or(f64::NAN);
    let switches = counted(base_run.switches.len() as u64, "switch");
    // What fails to launch waits little: its day is no shorter one.
    let failures = |run: &DayRun| run.count(DayState::Failed);
    let whole = || measured.iter().filter(|(_, run)| failures(run) == 0);
    let best = whole().min_by(|a, b| wait(a.0).total_cmp(&wait(b.0))).filter(|_| failures(base_run) == 0);
    let begin = format!("In {switches} between apps the person waits {} with {}", format::ms(wait(base)), name(base));
    let mut said = vec![match best {
        Some((best, _)) if best.name != base.name => format!(
            "{begin}, and {} with {} ({}).",
            format::ms(wait(best)),
            name(best),
            format::times(wait(best) / wait(base))
        ),
        Some(_) if measured.len() > 1 && whole().count() == measured.len() => {
            format!("{begin}, and longer with each other policy.")
        }
        None => format!("{begin}, and {}.", counted(failures(base_run), "launch") + " failed"),
        Some(_) => format!("{begin}."),
    }];
    said.push(states(&measured));
    said.push(ends(&measured));
    said.extend(longest(&measured));
    said.extend(written(&measured));
    said
}

/// In which states apps were.
fn states(measured: &[(&DayPolicy, &DayRun)]) -> String {
    let of = |(policy, run): &(&DayPolicy, &DayRun)| {
        let counts = [DayState::Hot, DayState::Swapped, DayState::Killed, DayState::Failed];
        let counts = counts.map(|state| (run.count(state), state_word(state)));
        let found: Vec<String> =
            counts.into_iter().filter(|(count, _)| *count > 0).map(|(count, word)| format!("{count} {word}")).collect();
        format!("{} {}", name(policy), if found.is_empty() { "none".to_owned() } else { found.join(", ") })
    };
    format!("Apps that had run before were, with {}.", measured.iter().map(of).collect::<Vec<_>>().join("; with "))
}

/// How many apps ended, and by whom.
fn ends(measured: &[(&DayPolicy, &DayRun)]) -> String {
    let of = |(policy, run): &(&DayPolicy, &DayRun)| {
        let kills = run.kills();
        let by: Vec<String> = kills.iter().map(|(by, apps)| format!("{apps} by {}", end_word(*by))).collect();
        (!kills.is_empty()).then(|| format!("with {} {}", name(policy), by.join(", ")))
    };
    let found: Vec<String> = measured.iter().filter_map(of).collect();
    if found.is_empty() { "No app ended.".to_owned() } else { format!("Apps ended: {}.", found.join("; ")) }
}

fn end_word(by: EndedBy) -> &'static str {
    match by {
        EndedBy::Kernel => "the kernel",
        EndedBy::Brisk => "brisk",
        EndedBy::Itself => "themselves",
    }
}

fn longest(measured: &[(&DayPolicy, &DayRun)]) -> Option<String> {
    let all =
        measured.iter().flat_map(|(policy, run)| run.switches.iter().enumerate().map(move |(n, s)| (policy, n, s)));
    let (policy, n, switch) =
        all.filter(|(.., s)| s.wait_ms.is_finite()).max_by(|a, b| a.2.wait_ms.total_cmp(&b.2.wait_ms))?;
    Some(format!(
        "The longest wait is {} for {} (switch {}, {}) with {}.",
        format::ms(switch.wait_ms),
        shorten(&switch.app, 40),
        n + 1,
        state_word(switch.state),
        name(policy)
    ))
}

fn written(measured: &[(&DayPolicy, &DayRun)]) -> Option<String> {
    let bytes = |run: &DayRun| run.flash().written_bytes as f64;
    let (most, most_run) = measured.iter().max_by(|a, b| bytes(a.1).total_cmp(&bytes(b.1)))?;
    let (least, least_run) = measured.iter().min_by(|a, b| bytes(a.1).total_cmp(&bytes(b.1)))?;
    (bytes(most_run) > bytes(least_run)).then(|| {
        format!(
            "The day writes {} to the flash with {}, and {} with {}.",
            format::bytes(bytes(least_run)),
            name(least),
            format::bytes(bytes(most_run)),
            name(most)
        )
    })
}

/// Reasons to doubt the sums.
fn cautions(report: &DayReport) -> Vec<String> {
    let capped = |switch: &&DaySwitch| matches!(switch.ending, Some(Ending::StillWorking | Ending::Animating));
    let all = || report.policies.iter().flat_map(|policy| &policy.runs).flat_map(|run| &run.switches);
    let (capped, failed) = (all().filter(capped).count(), all().filter(|s| s.state == DayState::Failed).count());
    let mut said = Vec::new();
    if capped > 0 {
        said.push(format!(
            "{} ended at the time limit, so sums of waits are too low by an unknown time.",
            format::plural(capped as u64, "wait")
        ));
    }
    if failed > 0 {
        let why = all().filter_map(|switch| Some((&switch.app, switch.failure.as_ref()?))).next();
        let why =
            why.map_or_else(String::new, |(app, why)| format!(" (first {}: {})", shorten(app, 40), shorten(why, 120)));
        said.push(format!(
            "{} failed{why}; the time until it was given up counts as a wait.",
            counted(failed as u64, "launch")
        ));
    }
    let counts: Vec<usize> = report.policies.iter().filter_map(middle).map(|run| run.switches.len()).collect();
    if counts.windows(2).any(|two| two[0] != two[1]) {
        said.push("The policies have different numbers of switches, so their sums cannot be compared.".to_owned());
    }
    said
}

/// A row for each switch of the middle run of each policy.
fn switch_rows(report: &DayReport) -> Vec<Row> {
    let of = |(policy, run): &(&DayPolicy, &DayRun)| {
        let policy = name(policy);
        let row = move |(n, switch): (usize, &DaySwitch)| {
            let ended: Vec<String> =
                switch.ended.iter().map(|end| format!("{} by {}", shorten(&end.app, 40), end_word(end.by))).collect();
            Row::at(POLICY, policy.clone())
                .by(SWITCH, u32::try_from(n + 1).unwrap_or(u32::MAX))
                .by(APP, shorten(switch.app.trim(), 40))
                .put(STATE, state_word(switch.state))
                .put(WAIT, switch.wait_ms)
                .put(AT, switch.at_s)
                .put(DWELL, switch.dwell_ms)
                .put(READ, switch.waiting.read_bytes)
                .put(WRITTEN, switch.waiting.written_bytes)
                .put(FLASH_BUSY, switch.waiting.busy_ms)
                .put(SWAPPED_IN, switch.swap_in_bytes)
                .put(SWAPPED_OUT, switch.swap_out_bytes)
                .put(AVAILABLE, switch.available_bytes)
                .put(REFAULTS, switch.refault_pages)
                .put(ENDED, ended.join(", "))
                .put(FAILURE, switch.failure.as_ref().map(|why| shorten(why, 120)))
        };
        run.switches.iter().enumerate().map(row).collect::<Vec<_>>()
    };
    measured(report).iter().flat_map(of).collect()
}

fn strips(report: &DayReport) -> Figure {
    let rows = switch_rows(report);
    let labels = measured(report)
        .into_iter()
        .map(|(policy, run)| (name(policy), format!("{} in all", format::ms(run.wait_ms()))));
    let chart = Strips {
        strip: POLICY.into(),
        cell: SWITCH.into(),
        letters: APP.into(),
        value: WAIT.into(),
        state: STATE.into(),
        labels: labels.collect(),
    };
    let face = |word: &str| {
        let state = DayState::ALL.into_iter().find(|state| state_word(*state) == word);
        state_face(state.unwrap_or(DayState::Failed))
    };
    let many = report.policies.iter().any(|policy| policy.runs.len() > 1);
    let caption = format!(
        "Each cell is a switch to an app, coloured by the state that the app was in; the bar above it is the wait \
         until it has answered. Letters are beginnings of the apps' names.{}",
        if many { " Of several rounds, the one with the sum of waits in the middle." } else { "" }
    );
    let present =
        DayState::ALL.into_iter().filter(|state| rows.iter().any(|row| row.text(STATE) == state_word(*state)));
    let figure = present.fold(Figure::new(STRIPS, caption), |figure, state| {
        let (tone, texture) = state_face(state);
        figure.key(tone, Glyph::Part(texture), state_word(state))
    });
    let wait = Axis::new("wait", Law::Log10, format::ms_tick);
    figure.chart("", chart.draw(STRIPS, wait, &rows, face)).table(
        Table::of(
            "All switches",
            &rows,
            columns![
                POLICY,
                SWITCH,
                APP,
                STATE,
                WAIT,
                DWELL,
                READ,
                WRITTEN,
                FLASH_BUSY,
                SWAPPED_IN,
                SWAPPED_OUT,
                AVAILABLE,
                REFAULTS,
                ENDED,
                FAILURE,
            ],
        )
        .noted(
            "Read and written: flash during the wait. Swapped and refaults: of all apps, until the next switch. \
             Available: memory just before the switch.",
        )
        .page_only(),
    )
}

/// Over the runs: an interval, or the value of the only one.
fn value(policy: &DayPolicy, of: impl Fn(&DayRun) -> Option<f64>) -> Option<Value> {
    let values: Vec<f64> = policy.runs.iter().filter(|run| !run.switches.is_empty()).filter_map(of).collect();
    match values[..] {
        // No interval of rounds that agree: counts do.
        [first, ref others @ ..] if others.iter().all(|other| *other == first) => Some(Value::Number(first)),
        _ => Summary::of(&values).map(Value::Summary),
    }
}

/// Share of waits that are below a second, which does not interrupt the flow of thought.
fn within_a_second_percent(waits_ms: &[f64]) -> Option<f64> {
    let below = waits_ms.iter().filter(|ms| **ms < 1e3).count();
    (!waits_ms.is_empty()).then(|| 100.0 * below as f64 / waits_ms.len() as f64)
}

fn sums(report: &DayReport) -> Figure {
    let row = |(n, policy): (usize, &DayPolicy)| {
        let waits = |run: &DayRun| run.switches.iter().map(|switch| switch.wait_ms).collect::<Vec<_>>();
        let later = |run: &DayRun| {
            run.switches.iter().filter(|s| s.state != DayState::First).map(|switch| switch.wait_ms).sum::<f64>()
        };
        let row = Row::at(POLICY, name(policy))
            .put(WAITS, value(policy, |run| Some(run.wait_ms())))
            .put(WITHOUT_FIRST_LAUNCHES, value(policy, |run| Some(later(run))))
            .put(MEDIAN_WAIT, value(policy, |run| stats::median(&waits(run))))
            .put(WITHIN_A_SECOND, value(policy, |run| within_a_second_percent(&waits(run))))
            .put(LONGEST, value(policy, |run| waits(run).into_iter().reduce(f64::max)));
        let row = DayState::ALL
            .into_iter()
            .fold(row, |row, state| row.put(times(state), value(policy, |run| Some(run.count(state) as f64))));
        let kills = middle(policy).map(DayRun::kills).unwrap_or_default();
        let kills = kills.iter().map(|(by, apps)| format!("{apps} by {}", end_word(*by))).collect::<Vec<_>>();
        let available = |run: &DayRun| {
            let before = run.switches.iter().filter_map(|switch| switch.available_bytes);
            stats::median(&before.map(|bytes| bytes as f64).collect::<Vec<_>>())
        };
        row.put(APPS_ENDED, kills.join(", "))
            .put(AVAILABLE, value(policy, available))
            .put(REFAULTS, value(policy, |run| run.refault_pages().map(|pages| pages as f64)))
            .put(SWAPPED_IN, value(policy, |run| Some(run.swapped_bytes().0 as f64)))
            .put(SWAPPED_OUT, value(policy, |run| Some(run.swapped_bytes().1 as f64)))
            .put(FLASH_READ, value(policy, |run| Some(run.flash().read_bytes as f64)))
            .put(FLASH_WRITTEN, value(policy, |run| Some(run.flash().written_bytes as f64)))
            .put(FLASH_BUSY, value(policy, |run| Some(run.flash().busy_ms)))
            .put(PROGRAMMED, value(policy, |run| Some(run.costs.programmed_bytes as f64)))
            .put(ERASES, value(policy, |run| Some(run.costs.erases as f64)))
            .put(DURATION, value(policy, |run| Some(run.duration_s)))
            .look(Look::nth(n))
    };
    let rows: Vec<Row> = report.policies.iter().enumerate().map(row).collect();
    let of = |title, columns| Table::of(title, &rows, columns);
    Figure::new("The day in sums", "Sums over all switches of a run; median over the rounds, where there are several.")
        .table(
            of(
                "Waits by policy",
                columns![
                    POLICY,
                    WAITS,
                    WITHOUT_FIRST_LAUNCHES,
                    MEDIAN_WAIT,
                    WITHIN_A_SECOND,
                    LONGEST,
                    TIMES_STARTED,
                    TIMES_HOT,
                    TIMES_SWAPPED,
                    TIMES_KILLED,
                    TIMES_FAILED,
                    APPS_ENDED,
                ],
            )
            .dispensable(columns![WITHOUT_FIRST_LAUNCHES, MEDIAN_WAIT, TIMES_STARTED]),
        )
        .table(
            of(
                "Costs by policy",
                columns![
                    POLICY,
                    SWAPPED_IN,
                    SWAPPED_OUT,
                    AVAILABLE,
                    REFAULTS,
                    FLASH_READ,
                    FLASH_WRITTEN,
                    FLASH_BUSY,
                    PROGRAMMED,
                    ERASES,
                    DURATION,
                ],
            )
            .noted(
                "Available: memory just before a switch, median. Refaults: pages that were read again soon after they \
                 had been reclaimed. Flash: during waits and dwells. Programmed: what the flash wrote to its cells, \
                 its own moves included (wear).",
            )
            .dispensable(columns![DURATION, ERASES, FLASH_BUSY, PROGRAMMED]),
        )
        .open()
}

/// Sum of the splits of a run.
fn split_of(run: &DayRun) -> Option<Split> {
    let splits: Vec<&Split> = run.switches.iter().filter_map(|switch| switch.split.as_ref()).collect();
    let first = splits.first()?;
    let time = |cause: Cause| {
        let times: Vec<f64> = splits.iter().filter_map(|split| split.time_ms(cause)).collect();
        (!times.is_empty()).then(|| Part { cause, time_ms: times.iter().sum() })
    };
    Some(Split {
        method: first.method,
        wall_ms: splits.iter().map(|split| split.wall_ms).sum(),
        parts: causes::ORDER.into_iter().filter_map(time).collect(),
        lost_events: splits.iter().fold(0, |sum, split| u64::saturating_add(sum, split.lost_events)),
    })
}

fn by_cause(report: &DayReport) -> Figure {
    let title = "What the waits went to";
    let measured = measured(report);
    let splits: Vec<(String, Split)> =
        measured.iter().filter_map(|(policy, run)| Some((name(policy), split_of(run)?))).collect();
    let longest = splits.iter().map(|(_, split)| split.wall_ms).fold(0.0, f64::max);
    let rows: Vec<Row> = splits
        .iter()
        .map(|(policy, split)| {
            causes::put(
                Row::at(POLICY, policy.clone()).put(TIME_MEASURE, split.wall_ms),
                Some(split),
                split.wall_ms,
                longest,
            )
        })
        .collect();
    let columns = [columns![POLICY, WHOLE], causes::columns(&rows).as_slice()].concat();
    Figure::new(title, "Sum of all waits of the day by cause. Dotted are the limits of patience.")
        .causes(&causes::present(&rows))
        .chart("", stacks(title, &rows, Column::Absent, POLICY, [TIME_MEASURE, SPLIT]))
        .table(
            Table::of(title, &rows, columns![POLICY, SPLIT, WHOLE]).noted(causes::letters_note(&rows)).terminal_only(),
        )
        .table(Table::of("Waits by cause", &rows, &columns).page_only())
}

fn policies(report: &DayReport) -> Figure {
    let row = |policy: &DayPolicy| {
        let order: Vec<String> = policy.runs.iter().map(|run| run.position.to_string()).collect();
        Row::at(POLICY, name(policy)).put(WHAT_IT_DOES, shorten(&policy.text, 160)).put(ORDER_OF_RUNS, order.join(", "))
    };
    let rows: Vec<Row> = report.policies.iter().map(row).collect();
    Figure::new("Policies", "Each run begins on the phone with no app running and empty swap areas.").table(Table::of(
        "Policies",
        &rows,
        columns![POLICY, WHAT_IT_DOES, ORDER_OF_RUNS],
    ))
}
