//! `brisk trial --html`: one page for the owner of a device. Values in, markup out.
//!
//! It leads with what each engine gains here, worse ones first. Then an article for each engine: for each of its
//! subjects a picture of the pairs with the confidence sequence, and what both arms waited for.

use brisk_api::{Effect, EngineTrial, Figure, Ladder, Phase, StageOfTrial, SubjectTrial, Trials};
use brisk_command::terminal::plain;
use brisk_core::trial::{REST_DAYS, evidence};
use brisk_report::declare::{self, Column, Dots, Lines, Look, Measure, Row, Section, Table};
use brisk_report::declare::{Axis, Chart, Dimension, Fill, Glyph, Law, Marker, Tone, columns, dimension, shown, words};
use brisk_report::format::{self, number, plural};
use brisk_report::measures::unit::{MS, NUMBER};
use jiff::Timestamp;

use super::view::{engine, is_worse, since};

/// Subjects of an engine that have a picture; a table has all.
const PICTURES: usize = 8;
/// Ratios beyond this factor are drawn at the edge.
const FACTOR_MAX: f64 = 16.0;

const ENGINE: Dimension = dimension("engine");
const SUBJECT: Dimension = dimension("of");
const PHASE: Dimension = dimension("phase");
const PAIR: Dimension = dimension("pair");
const LINE: Dimension = dimension("line");
const CAUSE: Dimension = dimension("waits for");
const EMPTY: Dimension = dimension("");

const SINCE: Measure = words("since");
const WHY: Measure = words("why");
const GAIN: Measure = words("waits, times as long");
const SUBJECTS: Measure = words("tried on");
const PAIRS: Measure = words("pairs");
const APPLIED: Measure = words("what is applied");
const LEFT: Measure = words("left when");
const RATIO: Measure = shown("ratio", NUMBER);
const LABEL: Measure = words("label");
const ACTED: Measure = shown("engine acts", MS);
const HELD_OUT: Measure = shown("held out", MS);
const ARMS: Measure = words("episodes: acting, held out");
const READ: Measure = words("read in each: acting, held out");
const ENDED: Measure = words("apps ended: acting, held out");

/// The whole page.
pub(super) fn html(trials: &Trials, kernel: &str, now_unix_ms: u64) -> String {
    let mut sections = vec![overview(trials, kernel, now_unix_ms)];
    sections.extend(trials.engines.iter().map(|of| article(of, trials.on, now_unix_ms)));
    let footer = "Ranges hold with 95 %, at whatever time you look. Times are what the kernel counts for the groups of \
                  apps (pressure stall information): waits for storage, memory and processor overlap, so they do not \
                  add up. The page needs nothing from outside, and names apps that are used on this device.";
    brisk_report::html_of_state("What each engine gains here", &sections, footer)
}

/// What an engine is for, as a question that its trial answers.
fn question(name: &str) -> &'static str {
    match name {
        "prefetch" => "Do apps open faster when what a launch reads is read ahead, in one go?",
        "smartio" => "Do apps wait less when their reads go before background writes?",
        "smartstorage" => "Is the storage faster with the scheduler and queue depth that suit the present load?",
        "mars" => "Do apps wait less when memory of those in the background is written to swap early?",
        "iram" => "Do apps wait less when memory is freed before the next one needs it?",
        _ => "Do apps wait less with it?",
    }
}

fn overview(trials: &Trials, kernel: &str, now_unix_ms: u64) -> Section {
    let known = trials.engines.iter().filter_map(|of| Some((of, of.effect?)));
    let rows: Vec<Row> = known.map(|(of, effect)| dot(&of.engine, effect)).collect();
    let machine =
        vec![("Device", format!("kernel {kernel}, brisk {}", env!("CARGO_PKG_VERSION"))), ("Made", made(now_unix_ms))];
    let figure = |title: &str, caption: &str| declare::Figure::new(title, caption);
    let gains = figure(
        "What each engine gains",
        "Waits with the engine as a multiple of waits without it: 1 is no difference, left of it apps wait less. The \
         line is the range in which the true value lies; with several apps or disks it is that of all that act.",
    )
    .effects(trials.engines.iter().filter_map(|of| of.effect).map(meaning))
    .chart("", dots("What each engine gains", &rows));
    let line = |of: &EngineTrial| {
        let row = Row::at(ENGINE, of.engine.as_str())
            .by(PHASE, if of.ladder == Ladder::Off { "off" } else { of.phase.words() })
            .put(SINCE, of.since_unix_ms.map(|at| since(at, now_unix_ms)))
            .put(WHY, if of.ladder == Ladder::Off { "switched off by a person" } else { of.why.words() })
            .put(SUBJECTS, tried_on(of));
        match of.effect {
            Some(effect) => row.judge(GAIN, meaning(effect), &range(&effect)),
            None => row.put(GAIN, "not known yet"),
        }
    };
    let lines: Vec<Row> = trials.engines.iter().map(line).collect();
    let table = figure("Engines", "Where each engine stands, since when and why.").table(Table::of(
        "Engines",
        &lines,
        columns![ENGINE, PHASE, GAIN, WHY, SINCE, SUBJECTS],
    ));
    let ladder = figure(
        "How an engine is tried",
        "Two adjacent launches, or stretches of time, make a pair. A coin decides in which of them the engine is held \
         out: it decides as ever, and nothing of it is applied. Both are compared.",
    )
    .table(Table::of("Phases", &phases(), columns![PHASE, APPLIED, LEFT]));
    Section::new("What brisk gains here", "Does each engine pay on this device, in daily use?", sentences(trials))
        .picture(gains)
        .figures([table.open(), ladder.open()])
        .facts(machine)
}

/// The moment at which the page was made, in UTC.
fn made(now_unix_ms: u64) -> String {
    let at = i64::try_from(now_unix_ms).ok().and_then(|ms| Timestamp::from_millisecond(ms).ok());
    at.map_or_else(String::new, |at| format::instant(&at.to_string()))
}

/// The phases in words.
fn phases() -> Vec<Row> {
    let rest = format!("{REST_DAYS} days have passed, or a package, the kernel or the device is another");
    [
        ("observing", "nothing: the engine learns", "it had something to do"),
        ("on trial", "in one of two, by a coin", "gain or harm is certain, or no gain was found"),
        ("acting", "in nine of ten", "harm is certain, or the gain is not found again"),
        ("resting", "nothing: it did not pay here, and was undone", rest.as_str()),
    ]
    .map(|(phase, applied, left)| Row::at(PHASE, phase).put(APPLIED, applied).put(LEFT, left))
    .to_vec()
}

/// What came out, what is worse first.
fn sentences(trials: &Trials) -> Vec<String> {
    let with_effect = |of: &EngineTrial| of.effect.zip(of.figure);
    let mut said = Vec::new();
    for of in trials.engines.iter().filter(|of| is_worse(of)) {
        let Some((effect, figure)) = with_effect(of) else { continue };
        said.push(format!(
            "Worse: {} acts although it makes things worse here: {}. 'brisk trial {} auto' has its evidence \
             decide.",
            of.engine,
            compared(figure, &effect),
            of.engine
        ));
    }
    let acts = |of: &&EngineTrial| of.phase == Phase::Acting && of.ladder != Ladder::Off;
    for of in trials.engines.iter().filter(acts).filter(|of| !is_worse(of)) {
        match with_effect(of) {
            Some((effect, figure)) if effect.high < 1.0 => {
                said.push(format!("{} gains: {}.", format::sentence(&of.engine), compared(figure, &effect)));
            }
            _ => said.push(format!("{} acts; what it gains is not certain yet.", format::sentence(&of.engine))),
        }
    }
    let rest: Vec<&EngineTrial> = trials.engines.iter().filter(|of| of.phase == Phase::Resting).collect();
    for of in rest.iter().filter(|of| of.ladder != Ladder::Off) {
        said.push(format!("{} rests: {}.", format::sentence(&of.engine), of.why.words()));
    }
    let wait = |phase: Phase| {
        let of = trials.engines.iter().filter(|of| of.phase == phase && of.ladder != Ladder::Off);
        of.map(|of| of.engine.clone()).collect::<Vec<_>>()
    };
    for (phase, end) in [
        (Phase::OnTrial, "on trial: half of the time held out, for comparison"),
        (Phase::Observing, "observing: nothing is changed yet"),
    ] {
        let names = wait(phase);
        if !names.is_empty() {
            let verb = if names.len() == 1 { "is" } else { "are" };
            said.push(format!("{} {verb} {end}.", format::sentence(&format::list(&names))));
        }
    }
    if said.is_empty() {
        said.push("No engine is tried, so nothing is known.".to_owned());
    }
    said
}

fn compared(figure: Figure, effect: &Effect) -> String {
    format!("{} {} times as long", figure.words(), range(effect))
}

fn range(Effect { ratio, low, high, .. }: &Effect) -> String {
    format!("{ratio:.2} ({low:.2} to {high:.2})")
}

fn tried_on(of: &EngineTrial) -> String {
    let all = [(of.acting, "acting"), (of.on_trial, "on trial"), (of.observing, "observing"), (of.resting, "resting")];
    let some = all.iter().filter(|(count, _)| *count > 0).map(|(count, phase)| format!("{count} {phase}"));
    some.collect::<Vec<_>>().join(", ")
}

/// What an effect means: certain where its range excludes 1.
fn meaning(effect: Effect) -> declare::Effect {
    match effect {
        Effect { high, .. } if high < 1.0 => declare::Effect::Improved,
        Effect { low, .. } if low > 1.0 => declare::Effect::Regressed,
        _ => declare::Effect::Unclear,
    }
}

/// A value with its range, drawn by what it means.
fn dot(name: &str, effect: Effect) -> Row {
    let summary = brisk_core::stats::Summary {
        count: effect.pairs.max(2) as usize,
        median: effect.ratio,
        low: effect.low,
        high: effect.high,
        confidence: 0.95,
        min: effect.low,
        max: effect.high,
        variation: 0.0,
    };
    let label = Some(format!("{}, {}", range(&effect), plural(effect.pairs.into(), "pair")));
    Row::at(ENGINE, name).put(RATIO, summary).figure(LABEL, label).look(meaning(effect).look())
}

fn dots(title: &str, rows: &[Row]) -> Chart {
    let ends = rows.iter().filter_map(|row| row.range(RATIO)).flat_map(|(low, high)| [low, high]);
    let x = axis("waits, times as long", ends);
    let levels = declare::level(1.0, "no difference");
    let dots = Dots { name: ENGINE.into(), value: RATIO.into(), label: LABEL.into(), levels, ..Dots::default() };
    dots.draw(title, x, rows)
}

/// Powers of two around 1, in words: as far as these values need.
fn axis(label: &str, values: impl Iterator<Item = f64>) -> Axis {
    let far = values.map(|value| value.ln().abs()).filter(|far| far.is_finite()).fold(0.0, f64::max);
    let most = (far / std::f64::consts::LN_2).ceil().clamp(1.0, FACTOR_MAX.log2()) as i32;
    let tick = |power: i32| match power {
        0 => (1.0, "1".to_owned()),
        below if below < 0 => (2f64.powi(below), format!("1/{}", 1 << -below)),
        above => (2f64.powi(above), (1 << above).to_string()),
    };
    Axis { fixed: (-most..=most).map(tick).collect(), ..Axis::new(label, Law::Log2, format::tick) }
}

/// All of one engine.
fn article(of: &EngineTrial, is_on: bool, now_unix_ms: u64) -> Section {
    let mut subjects: Vec<&SubjectTrial> = of.subjects.iter().collect();
    subjects.sort_by_key(|subject| std::cmp::Reverse(subject.stages.iter().map(|one| one.ratios.len()).sum::<usize>()));
    let pictured = subjects.iter().take(PICTURES).filter(|subject| episodes(subject) > 0);
    let figures = pictured.map(|subject| pictures(of.figure, subject, now_unix_ms));
    let lines: Vec<Row> = subjects.iter().map(|subject| line(subject, now_unix_ms)).collect();
    let all = declare::Figure::new("Each app, disk or machine", "").table(Table::of(
        "Each of them",
        &lines,
        columns![SUBJECT, PHASE, GAIN, WHY, SINCE, PAIRS, ARMS, READ, ENDED],
    ));
    let effects: Vec<Row> = subjects.iter().filter_map(|one| Some(dot(&one.subject, one.effect?))).collect();
    let section = Section::new(
        of.engine.as_str(),
        question(&of.engine),
        vec![format!("{}.", format::sentence(&plain(&engine(of, is_on, now_unix_ms))))],
    );
    let section = if effects.len() > 1 {
        section.picture(
            declare::Figure::new("What it gains for each", "Left of 1 the engine shortens waits.")
                .effects(subjects.iter().filter_map(|one| one.effect).map(meaning))
                .chart("", dots("What it gains for each", &effects)),
        )
    } else {
        section
    };
    section.figures(figures.chain(std::iter::once(if lines.len() > 1 { all } else { all.open() })))
}

fn episodes(of: &SubjectTrial) -> u64 {
    of.acted.episodes + of.held_out.episodes
}

fn line(of: &SubjectTrial, now_unix_ms: u64) -> Row {
    let each = |sums: &brisk_api::Sums| format!("{:.1} MiB", sums.read_mib / sums.episodes.max(1) as f64);
    let row = Row::at(SUBJECT, of.subject.as_str())
        .by(PHASE, of.phase.words())
        .put(SINCE, since(of.since_unix_ms, now_unix_ms))
        .put(WHY, of.why.words())
        .put(PAIRS, of.pairs.to_string())
        .put(ARMS, format!("{}, {}", of.acted.episodes, of.held_out.episodes))
        .put(READ, format!("{}, {}", each(&of.acted), each(&of.held_out)))
        .put(ENDED, format!("{}, {}", of.acted.ended_apps, of.held_out.ended_apps));
    match of.effect {
        Some(effect) => row.judge(GAIN, meaning(effect), &range(&effect)),
        None => row.put(GAIN, "not known yet"),
    }
}

/// Pairs and waits of one subject.
fn pictures(figure: Option<Figure>, of: &SubjectTrial, now_unix_ms: u64) -> declare::Figure {
    let mut caption = format!(
        "{} since {}: {}. ",
        format::sentence(of.phase.words()),
        since(of.since_unix_ms, now_unix_ms),
        of.why.words()
    );
    caption += match (figure, of.effect) {
        (Some(figure), Some(effect)) if effect.low > 1.0 => format!("Worse: {}.", compared(figure, &effect)),
        (Some(figure), Some(effect)) => format!("{}.", format::sentence(&compared(figure, &effect))),
        _ => "What it gains is not known yet.".to_owned(),
    }
    .as_str();
    let mut drawn = declare::Figure::new(of.subject.as_str(), caption);
    if of.stages.iter().map(|stage| stage.ratios.len()).sum::<usize>() > 1 {
        let tone = of.effect.map_or(Tone::Unclear, |effect| meaning(effect).tone());
        drawn = drawn
            .key(Tone::Plain, Glyph::Single, "one pair: the engine acts, over held out")
            .key(tone, Glyph::Solid, "estimate by all pairs so far")
            .key(tone, Glyph::Dashed, "range in which the true value lies, 95 %")
            .chart("Pairs", pairs(&of.stages, tone));
    }
    drawn
        .key(Tone::Plain, Glyph::Bar(Fill::Full), "engine acts")
        .key(Tone::Plain, Glyph::Bar(Fill::Hollow), "held out")
        .chart("What apps waited for", waits(figure, of))
}

/// The ratio of each pair, and what was known after it.
fn pairs(stages: &[StageOfTrial], tone: Tone) -> Chart {
    let (mut rows, mut events, mut before) = (Vec::new(), Vec::new(), 0);
    let held = |ratio: f64| ratio.clamp(1.0 / FACTOR_MAX, FACTOR_MAX);
    let look = Look { tone, marker: Marker::Circle, ..Look::PLAIN };
    for stage in stages {
        if before > 0 {
            events.push((f64::from(before) + 0.5, "next phase".to_owned()));
        }
        for (ratio, known) in stage.ratios.iter().zip(evidence::course(&stage.ratios, stage.alpha)) {
            before += 1;
            // A line for each stage: its evidence begins anew.
            let row = |line: &str, ratio: f64, look: Look| {
                let name = if line == "pairs" { line.to_owned() } else { format!("{line}{}", events.len()) };
                Row::at(PAIR, before).by(LINE, name).put(RATIO, held(ratio)).look(look)
            };
            let points = Look::PLAIN.scattered();
            rows.push(row("pairs", *ratio, points));
            if let Some(known) = known {
                rows.push(row("estimate", known.ratio, look));
                rows.push(row("low", known.low, look.dashed(true)));
                rows.push(row("high", known.high, look.dashed(true)));
            }
        }
    }
    let all: Vec<f64> = rows.iter().filter_map(|row| row.number(RATIO)).collect();
    let axes = [Axis::new("pair", Law::Window, format::tick), axis("waits, times as long", all.into_iter())];
    let levels = declare::level(1.0, "no difference");
    let lines = Lines { x: PAIR.into(), y: RATIO.into(), series: LINE.into(), levels, events, ..Lines::default() };
    lines.draw("Pairs and what is known after each", axes, &rows)
}

/// What both arms waited for, an episode or a minute of it.
fn waits(figure: Option<Figure>, of: &SubjectTrial) -> Chart {
    let by_launch = figure == Some(Figure::StorageWait);
    let each = |sums: &brisk_api::Sums, wait_s: f64| {
        let over = if by_launch { sums.episodes as f64 } else { sums.length_s / 60.0 };
        (over > 0.0).then(|| wait_s * 1e3 / over)
    };
    let cause = |name: &str, tone: Tone, wait_s: fn(&brisk_api::Sums) -> f64| {
        Row::at(CAUSE, name)
            .put(ACTED, each(&of.acted, wait_s(&of.acted)))
            .put(HELD_OUT, each(&of.held_out, wait_s(&of.held_out)))
            .look(Look { tone, ..Look::PLAIN })
    };
    let rows = [
        cause("storage", Tone::Read, |sums| sums.storage_s),
        cause("memory", Tone::Write, |sums| sums.memory_s),
        cause("processor", Tone::Plain, |sums| sums.processor_s),
    ];
    let what = if by_launch { "ms of waiting in a launch" } else { "ms of waiting in a minute" };
    let y = Axis::new(what, Law::Linear, format::tick);
    let group: [Column; 2] = [CAUSE.into(), EMPTY.into()];
    let measures = [(ACTED, Fill::Full), (HELD_OUT, Fill::Hollow)];
    declare::bars("What apps waited for", y, &rows, group, &measures, |_, ms| number(ms))
}

#[cfg(test)]
mod tests {
    use super::*;
    use brisk_api::Sums;
    use brisk_core::random::Random;
    use brisk_core::trial::{Evidence, Why};

    const NOW_MS: u64 = 1_795_000_000_000;
    const ALPHA: f64 = 0.02;

    /// Pairs around a ratio, as launches on a busy device spread.
    fn stage(ratio: f64, pairs: usize, seed: u64) -> StageOfTrial {
        let mut random = Random(seed);
        let mut unit = || random.below(1_000) as f64 / 1_000.0 - 0.5;
        let ratios = (0..pairs).map(|_| ratio * (0.9 * (unit() + unit())).exp()).collect();
        StageOfTrial { ratios, alpha: ALPHA }
    }

    fn subject(name: &str, phase: Phase, why: Why, stages: Vec<StageOfTrial>) -> SubjectTrial {
        let mut evidence = Evidence::default();
        stages.last().into_iter().flat_map(|stage| &stage.ratios).for_each(|ratio| evidence.add(ratio.ln()));
        let effect = evidence.effect(ALPHA);
        let ratio = effect.map_or(1.0, |effect| effect.ratio);
        let sums = |episodes: u64, storage_s: f64| Sums {
            episodes,
            length_s: 2.5 * episodes as f64,
            storage_s: storage_s * episodes as f64,
            memory_s: 0.02 * episodes as f64,
            processor_s: 0.31 * episodes as f64,
            read_mib: 58.0 * episodes as f64,
            ..Sums::default()
        };
        SubjectTrial {
            subject: name.to_owned(),
            phase,
            since_unix_ms: NOW_MS - 3 * 86_400_000,
            why,
            pairs: evidence.pairs() as u64,
            effect,
            acted: sums(60, 1.1 * ratio),
            held_out: sums(34, 1.1),
            stages,
            ..SubjectTrial::default()
        }
    }

    fn trial(name: &str, ladder: Ladder, figure: Figure, subjects: Vec<SubjectTrial>) -> EngineTrial {
        let count = |phase: Phase| subjects.iter().filter(|one| one.phase == phase).count() as u64;
        let first = subjects.first();
        EngineTrial {
            engine: name.to_owned(),
            tried: true,
            ladder,
            phase: first.map_or(Phase::Observing, |one| one.phase),
            since_unix_ms: first.map(|one| one.since_unix_ms),
            why: first.map_or(Why::New, |one| one.why),
            figure: Some(figure),
            effect: first.and_then(|one| one.effect),
            acting: count(Phase::Acting),
            on_trial: count(Phase::OnTrial),
            observing: count(Phase::Observing),
            resting: count(Phase::Resting),
            subjects,
        }
    }

    fn sample() -> Trials {
        let prefetch = vec![
            subject("app org.gnome.Evince", Phase::Acting, Why::Gains, vec![stage(0.6, 14, 3), stage(0.62, 34, 9)]),
            subject("app <b>liar</b>", Phase::Resting, Why::NotShown, vec![stage(1.0, 32, 5)]),
            subject("app mpv", Phase::OnTrial, Why::Learned, vec![stage(0.9, 3, 7)]),
        ];
        let disk = subject("disk BGND3R", Phase::OnTrial, Why::Learned, vec![stage(0.85, 60, 4)]);
        let worse = subject("machine", Phase::Acting, Why::Person, vec![stage(1.3, 40, 6)]);
        let engines = vec![
            trial("prefetch", Ladder::Auto, Figure::StorageWait, prefetch),
            trial("smartio", Ladder::Auto, Figure::StorageShare, vec![disk]),
            trial("mars", Ladder::On, Figure::StallShare, vec![worse]),
            trial("iram", Ladder::Auto, Figure::StallShare, Vec::new()),
        ];
        Trials { on: true, engines }
    }

    #[test]
    fn what_is_worse_leads_and_is_called_so() {
        let said = sentences(&sample());
        assert!(said[0].starts_with("Worse: mars acts although it makes things worse here: apps wait"), "{said:?}");
        assert!(said[1].starts_with("Prefetch gains: launches wait for storage 0."), "{said:?}");
        assert_eq!(
            said[2..],
            [
                "Smartio is on trial: half of the time held out, for comparison.",
                "Iram is observing: nothing is changed yet."
            ]
        );
        assert_eq!(sentences(&Trials::default()), ["No engine is tried, so nothing is known."]);
    }

    #[test]
    fn the_page_has_each_engine_each_subject_and_no_markup_of_their_names() {
        let page = html(&sample(), "6.12.0", NOW_MS);
        for name in ["prefetch", "smartio", "mars", "iram", "app org.gnome.Evince", "app &lt;b&gt;liar", "disk BGND3R"]
        {
            assert!(page.contains(name), "{name}");
        }
        assert!(!page.contains("<b>liar") && !page.contains("NaN"), "{page}");
        assert!(page.contains(brisk_report::MARK));
        assert!(page.contains("Worse: apps wait for storage and memory 1."));
    }

    #[test]
    fn pictures_have_each_pair_and_what_was_known_after_it() {
        let Chart::Lines(chart) = pairs(&[stage(0.6, 14, 3), stage(0.62, 34, 9)], Tone::Better) else {
            panic!("pairs are lines");
        };
        let points = |line: &str| -> Vec<usize> {
            let of = chart.series.iter().filter(|series| series.points[0].words.starts_with(line));
            of.map(|series| series.points.len()).collect()
        };
        assert_eq!(points("pairs"), [48]);
        // Two stages, each with three lines that begin once both ends are known.
        assert_eq!(points("estimate").len(), 2);
        assert!(chart.series.iter().all(|series| series.scattered == series.points[0].words.starts_with("pairs")));
        assert_eq!(chart.events.len(), 1);
    }

    #[test]
    fn an_axis_has_1_in_its_middle_and_holds_what_is_far_off_at_its_edge() {
        let ticks = |values: &[f64]| -> Vec<String> {
            axis("", values.iter().copied()).fixed.into_iter().map(|(_, words)| words).collect()
        };
        assert_eq!(ticks(&[0.6, 1.1]), ["1/2", "1", "2"]);
        assert_eq!(ticks(&[0.2]), ["1/8", "1/4", "1/2", "1", "2", "4", "8"]);
        assert_eq!(ticks(&[1e9, 0.0]).len(), 9);
        assert_eq!(ticks(&[]), ["1/2", "1", "2"]);
    }
}
