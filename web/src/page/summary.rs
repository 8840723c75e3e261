//! The first screen: whether brisk works and what it gains, in one sentence and one picture; what is to be looked at;
//! putting everything back; what brisk itself costs.

use brisk_api::{Effect, EngineTrial, Estimate, Ladder, Phase, Saved};
use brisk_core::units::three_digits;
use brisk_report::declare::{self, Axis, Chart, Dimension, Dots, Law, Look, Marker, Measure, Row, Tone};
use brisk_report::declare::{dimension, shown, words};
use brisk_report::measures::unit::NUMBER;
use maud::{Markup, html};

use super::{Block, View};
use crate::feed::{Machine, Unreachable};
use crate::texts::{self, Language, Text};

const ENGINE: Dimension = dimension("engine");
const RATIO: Measure = shown("ratio", NUMBER);
const LABEL: Measure = words("label");
/// Ratios beyond this factor are drawn at the edge.
const FACTOR_MAX: f64 = 16.0;

/// How the first sentence is meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mood {
    Good,
    Neutral,
    Bad,
}

impl Mood {
    fn class(self) -> &'static str {
        match self {
            Self::Good => "good",
            Self::Neutral => "neutral",
            Self::Bad => "bad",
        }
    }
}

/// The first sentence, and what supports it.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Verdict {
    mood: Mood,
    sentence: String,
    points: Vec<String>,
}

/// By how much an effect is less or more waiting, with its range.
pub(super) fn change(language: Language, of: &EngineTrial) -> Option<String> {
    let (Effect { ratio, low, high, .. }, figure) = (of.effect?, of.figure?);
    let (less, more) = language.figure(figure);
    let percent = |ratio: f64| language.percent(((1.0 - ratio) * 100.0).abs());
    let (text, near, far) = match () {
        () if high < 1.0 => (less, high, low),
        () if low > 1.0 => (more, low, high),
        () => return None,
    };
    let words = language.fill(text, &[&percent(ratio)]);
    Some(language.fill(texts::RANGE, &[&words, &percent(near), &percent(far)]))
}

fn acts(of: &EngineTrial) -> bool {
    of.ladder != Ladder::Off && of.phase == Phase::Acting
}

fn verdict(language: Language, machine: &Machine) -> Verdict {
    let (status, trials) = (&machine.status, &machine.trials);
    let engines = &trials.engines;
    let is = |test: fn(Effect) -> bool| move |of: &&EngineTrial| acts(of) && of.effect.is_some_and(test);
    let harm = engines.iter().find(is(|effect| effect.low > 1.0));
    let mut gains: Vec<&EngineTrial> = engines.iter().filter(is(|effect| effect.high < 1.0)).collect();
    let ratio = |of: &EngineTrial| of.effect.map_or(1.0, |effect| effect.ratio);
    gains.sort_by(|a, b| ratio(a).total_cmp(&ratio(b)));
    let phase = |phase: Phase| engines.iter().filter(|of| of.ladder != Ladder::Off && of.phase == phase).count();
    let plain = |text: Text| language.say(text).to_owned();
    let mut points = Vec::new();
    let (mood, sentence) = if status.paused {
        (Mood::Neutral, plain(texts::PAUSED))
    } else if status.dry_run {
        (Mood::Neutral, plain(texts::DRY_RUN))
    } else if engines.is_empty() {
        (Mood::Neutral, plain(texts::NO_ENGINE))
    } else if let Some((harm, words)) = harm.and_then(|of| Some((of, change(language, of)?))) {
        (Mood::Bad, language.fill(texts::HARMS, &[&language.engine(&harm.engine).0, &words]))
    } else if let Some((best, words)) = gains.first().and_then(|of| Some((*of, change(language, of)?))) {
        gains.retain(|of| of.engine != best.engine);
        (Mood::Good, language.fill(texts::GAINS, &[&words]))
    } else if engines.iter().all(|of| of.ladder == Ladder::Off) {
        (Mood::Neutral, plain(texts::ALL_OFF))
    } else if engines.iter().any(acts) {
        (Mood::Good, plain(texts::ACTS_UNKNOWN))
    } else if phase(Phase::OnTrial) > 0 {
        (Mood::Good, language.fill(texts::TRIES, &[&phase(Phase::OnTrial), &engines.len()]))
    } else if phase(Phase::Observing) > 0 {
        (Mood::Neutral, plain(texts::LEARNS))
    } else {
        (Mood::Neutral, plain(texts::ALL_REST))
    };
    if matches!(mood, Mood::Good) {
        let other = |of: &&EngineTrial| {
            Some(language.fill(texts::GAIN_OF, &[&language.engine(&of.engine).0, &change(language, of)?]))
        };
        points.extend(gains.iter().filter_map(other));
    }
    Verdict { mood, sentence, points }
}

/// What was saved since the service began, where that is known.
fn saved(view: &View<'_>, machine: &Machine) -> Vec<String> {
    let (language, since) = (view.language, view.moment(machine.status.started_unix_ms));
    let sum = |of: &dyn Fn(&Saved) -> Vec<Option<Estimate>>| {
        let known = machine.status.saved.iter().flat_map(of).flatten();
        known.reduce(|a, b| Estimate { value: a.value + b.value, low: a.low + b.low, high: a.high + b.high })
    };
    let number = |value: i64| language.number(&three_digits(value.abs() as f64 / 1e6));
    let mut said = Vec::new();
    // Nothing is said of what may as well be nothing.
    let is_certain = |of: &Estimate| of.low > 0 || of.high < 0;
    if let Some(delay) = sum(&|of| vec![of.read_delay_us, of.write_delay_us]).filter(is_certain) {
        let (text, low, high) = match delay.low > 0 {
            true => (texts::SAVED_DELAY, delay.low, delay.high),
            false => (texts::LOST_DELAY, delay.high, delay.low),
        };
        said.push(language.fill(text, &[&since, &number(delay.value), &number(low), &number(high)]));
    }
    if let Some(energy) = sum(&|of| vec![of.energy_uj]).filter(|of| of.low > 0) {
        let values: [&dyn std::fmt::Display; 4] =
            [&since, &number(energy.value), &number(energy.low), &number(energy.high)];
        said.push(language.fill(texts::SAVED_ENERGY, &values));
    }
    if let Some(of) = machine.status.prefetched.as_ref().filter(|of| of.launches > 0) {
        let (asked, used) = (language.bytes(of.asked_bytes), language.bytes(of.used_bytes));
        said.push(language.fill(texts::PREFETCHED, &[&of.launches, &asked, &used]));
    }
    said
}

pub(super) fn blocks(view: &View<'_>) -> Vec<Block> {
    match &view.seen.daemon {
        Ok(machine) => vec![
            Block::new("lead", lead(&verdict(view.language, machine), &saved(view, machine))),
            Block::new("picture", picture(view, machine)),
            Block::new("attention", attention(view, machine)),
            Block::new("back", back(view, machine)),
            Block::new("cost", cost(view, machine)),
        ],
        Err(why) => vec![Block::new("lead", unreachable(view, why))],
    }
}

fn lead(verdict: &Verdict, saved: &[String]) -> Markup {
    html! {
        div id="lead" class=(verdict.mood.class()) data-state="up" {
            p.lead role="status" { (verdict.sentence) }
            @if !verdict.points.is_empty() || !saved.is_empty() {
                ul.points { @for point in verdict.points.iter().chain(saved) { li { (point) } } }
            }
        }
    }
}

fn unreachable(view: &View<'_>, why: &Unreachable) -> Markup {
    let (sentence, how, command, detail) = match why {
        Unreachable::NotRunning(detail) => {
            (texts::NO_DAEMON, Some(texts::NO_DAEMON_HOW), brisk_api::init::Init::of_machine().start(), detail)
        }
        Unreachable::NotAllowed(detail) => {
            (texts::NOT_ALLOWED, Some(texts::NOT_ALLOWED_HOW), "usermod --append --groups brisk $USER", detail)
        }
        Unreachable::Other(detail) => (texts::NO_ANSWER, None, "", detail),
    };
    html! {
        div.bad id="lead" data-state="down" {
            p.lead role="status" { (view.say(sentence)) }
            @if let Some(how) = how { p { (view.say(how)) } p { (view.command(command)) } }
            p.how { (view.english(detail)) }
        }
    }
}

/// What each engine gains, where that is known of one at least; how far the trials are otherwise.
fn picture(view: &View<'_>, machine: &Machine) -> Markup {
    let known: Vec<Row> = machine.trials.engines.iter().filter_map(|of| dot(view.language, of)).collect();
    html! {
        figure.picture id="picture" {
            @if known.is_empty() {
                (progress(view, machine))
            } @else {
                h2 { (view.say(texts::PICTURE_GAINS)) }
                (brisk_report::chart(&gains(view, &known), "gains"))
                figcaption.caption { (view.say(texts::PICTURE_GAINS_HOW)) }
            }
        }
    }
}

fn dot(language: Language, of: &EngineTrial) -> Option<Row> {
    let effect = of.effect?;
    let Effect { ratio, low, high, pairs } = effect;
    let summary = brisk_core::stats::Summary {
        count: usize::try_from(pairs).unwrap_or(usize::MAX).max(2),
        median: ratio,
        low,
        high,
        confidence: 0.95,
        min: low,
        max: high,
        variation: 0.0,
    };
    let number = |value: f64| language.number(&format!("{value:.2}"));
    let label = format!("{} ({}–{})", number(ratio), number(low), number(high));
    let tone = match () {
        () if high < 1.0 => Tone::Better,
        () if low > 1.0 => Tone::Worse,
        () => Tone::Unclear,
    };
    let look = Look { tone, marker: Marker::Circle, ..Look::PLAIN };
    Some(Row::at(ENGINE, language.engine(&of.engine).0).put(RATIO, summary).figure(LABEL, Some(label)).look(look))
}

fn gains(view: &View<'_>, rows: &[Row]) -> Chart {
    let ends = rows.iter().filter_map(|row| row.range(RATIO)).flat_map(|(low, high)| [low, high]);
    let far = ends.map(|end| end.ln().abs()).filter(|far| far.is_finite()).fold(0.0, f64::max);
    let most = (far / std::f64::consts::LN_2).ceil().clamp(1.0, FACTOR_MAX.log2()) as i32;
    let tick = |power: i32| match power {
        below if below < 0 => (2f64.powi(below), format!("1/{}", 1 << -below)),
        above => (2f64.powi(above), (1 << above).to_string()),
    };
    let label = view.say(texts::PICTURE_GAINS_AXIS);
    let x = Axis { fixed: (-most..=most).map(tick).collect(), ..Axis::new(label, Law::Log2, view.language.tick()) };
    let levels = declare::level(1.0, view.say(texts::PICTURE_GAINS_LEVEL));
    let dots = Dots { name: ENGINE.into(), value: RATIO.into(), label: LABEL.into(), levels, ..Dots::default() };
    dots.draw(view.say(texts::PICTURE_GAINS), x, rows)
}

/// Where each engine is on its way: observing, on trial, acting.
fn progress(view: &View<'_>, machine: &Machine) -> Markup {
    const STEPS: [Phase; 3] = [Phase::Observing, Phase::OnTrial, Phase::Acting];
    html! {
        h2 { (view.say(texts::PICTURE_TRIALS)) }
        ul.ladder { @for of in &machine.trials.engines {
            li {
                span.name { (view.language.engine(&of.engine).0) }
                @if of.ladder == Ladder::Off {
                    span.step.none { (view.say(texts::OFF)) }
                } @else if of.phase == Phase::Resting {
                    span.step.none { (view.language.phase(of.phase)) }
                } @else {
                    ol { @for step in STEPS {
                        li.step.past[step < of.phase].present[step == of.phase]
                            aria-current=[(step == of.phase).then_some("step")] { (view.language.phase(step)) }
                    } }
                }
            }
        } }
    }
}

/// What the daemon lacks or does without, and what others do.
fn attention(view: &View<'_>, machine: &Machine) -> Markup {
    let (status, language) = (&machine.status, view.language);
    let mut notes: Vec<Markup> = status.trouble.iter().map(|text| view.english(text)).collect();
    notes.extend(status.changed_externally.iter().map(|one| {
        let text = language.fill(texts::CHANGED, &[&one.knob, &one.found]);
        html! { (text) }
    }));
    notes.extend(status.lacking_rights.iter().map(|one| {
        let text = language.fill(texts::LACKS_RIGHT, &[&one.right, &one.costs]);
        html! { (text) }
    }));
    notes.extend(status.resting.iter().map(|one| {
        let text = language.fill(texts::RESTS, &[&one.crashes, &one.part, &"brisk config reload --retry"]);
        html! { (text) }
    }));
    notes.extend(status.memory_programs.iter().filter(|one| one.ends_apps).map(|one| {
        let text = language.fill(texts::KILLERS, &[&one.name]);
        html! { (text) }
    }));
    html! {
        div id="attention" {
            @if !notes.is_empty() {
                aside.warnings aria-labelledby="attention-title" {
                    h2 id="attention-title" { (view.say(texts::ATTENTION)) }
                    ul { @for note in &notes { li { (note) } } }
                }
            }
        }
    }
}

fn back(view: &View<'_>, machine: &Machine) -> Markup {
    let button = |text: Text| html! { button { (view.say(text)) } };
    html! {
        section.back id="back" aria-labelledby="back-title" {
            h2 id="back-title" { (view.say(texts::BACK)) }
            p.how { (view.say(texts::BACK_HOW)) }
            @if machine.status.paused {
                (view.form(&[("do", "reload")], None, &button(texts::GO_ON)))
            } @else {
                (view.form(&[("do", "reset")], Some(texts::BACK_ASK), &button(texts::BACK)))
            }
        }
    }
}

fn cost(view: &View<'_>, machine: &Machine) -> Markup {
    let (status, language) = (&machine.status, view.language);
    // Steps, as each figure that changes is sent.
    let seconds = language.number(&format!("{:.1}", status.cost.cpu_us as f64 / 1e6));
    let (daemon, page) =
        (language.bytes(status.cost.rss_bytes >> 16 << 16), language.bytes(view.seen.own_bytes >> 19 << 19));
    let since = view.moment(status.started_unix_ms);
    html! {
        div id="cost" {
            p { (language.fill(texts::COST, &[&daemon, &seconds, &since, &page])) }
            p { (language.fill(texts::VERSION, &[&status.brisk_version, &status.config_path])) }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::page::tests::{engine, machine};

    const SAY: Language = Language::English;

    fn effect(ratio: f64, low: f64, high: f64) -> Option<Effect> {
        Some(Effect { ratio, low, high, pairs: 30 })
    }

    fn sentence(engines: Vec<EngineTrial>) -> (Mood, String) {
        let verdict = verdict(SAY, &machine(engines));
        (verdict.mood, verdict.sentence)
    }

    #[test]
    fn what_harms_goes_before_what_gains_and_both_before_what_is_not_known() {
        let gains = engine("prefetch", Phase::Acting, effect(0.62, 0.55, 0.7));
        let less = engine("mars", Phase::Acting, effect(0.9, 0.8, 0.95));
        let harms = engine("iram", Phase::Acting, effect(1.3, 1.1, 1.5));
        let unknown = engine("smartio", Phase::Acting, effect(0.9, 0.7, 1.2));
        let (mood, said) = sentence(vec![less.clone(), gains.clone(), harms, unknown.clone()]);
        assert_eq!(mood, Mood::Bad);
        assert!(
            said.starts_with("An engine makes this device slower: iRAM acts, and apps wait 30\u{a0}% longer"),
            "{said}"
        );
        let all = verdict(SAY, &machine(vec![less, gains, unknown.clone()]));
        let expected = "brisk works: launches wait 38\u{a0}% less for storage (30\u{a0}% to 45\u{a0}%).";
        assert_eq!((all.mood, all.sentence.as_str()), (Mood::Good, expected));
        assert_eq!(all.points.len(), 1);
        assert!(all.points[0].starts_with("MARS: "), "{:?}", all.points);
        assert_eq!(sentence(vec![unknown]).1, "brisk works; what you gain by it is not certain yet.");
    }

    #[test]
    fn what_does_not_act_is_no_gain() {
        let mut off = engine("prefetch", Phase::Acting, effect(0.62, 0.55, 0.7));
        off.ladder = Ladder::Off;
        assert_eq!(sentence(vec![off]).1, "brisk changes nothing: all engines are switched off.");
        let resting = engine("mars", Phase::Resting, effect(0.5, 0.4, 0.6));
        assert_eq!(sentence(vec![resting]).1, "brisk rests: its engines were tried here and did not pay.");
        let trial = engine("mars", Phase::OnTrial, effect(0.5, 0.4, 0.6));
        assert!(sentence(vec![trial]).1.starts_with("brisk is finding out what you gain: 1 of 1"));
        assert!(sentence(Vec::new()).1.contains("names no engine"));
        let mut paused = machine(vec![engine("mars", Phase::Acting, effect(0.5, 0.4, 0.6))]);
        paused.status.paused = true;
        assert!(verdict(SAY, &paused).sentence.starts_with("brisk is paused"));
    }
}
