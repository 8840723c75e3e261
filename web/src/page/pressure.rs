//! What is in front, and pressure on storage and memory: now, over the last minutes, and over the last day.

use brisk_api::PressureSpan;
use brisk_core::app::{App, Role};
use brisk_report::declare::{Areas, Axis, Chart, Dimension, Law, Measure, Row, Texture, Tone, dimension, shown};
use brisk_report::measures::unit::NUMBER;
use maud::{Markup, html};

use super::{Block, View};
use crate::feed::{Machine, Point};
use crate::texts::{self, Text};

const WHAT: Dimension = dimension("what");
const WHEN: Measure = shown("when", NUMBER);
const SHARE: Measure = shown("share", NUMBER);
/// What a chart of shares holds at the least, so that a still machine does not look busy.
const PERCENT_MIN: f64 = 5.0;
const HOUR_MS: u64 = 3_600_000;

pub(super) fn blocks(view: &View<'_>) -> Vec<Block> {
    let Ok(machine) = &view.seen.daemon else { return Vec::new() };
    vec![Block::new("now", now(view, machine)), Block::new("minutes", minutes(view)), Block::new("day", day(view))]
}

fn now(view: &View<'_>, machine: &Machine) -> Markup {
    let (pressure, last) = (&view.seen.pressure, view.seen.minutes.last());
    let share = |of: fn(&Point) -> Option<f64>, total: Option<u64>| match (total, last.and_then(of)) {
        (None, _) => (view.say(texts::NOT_COUNTED).to_owned(), None),
        (Some(_), None) => ("…".to_owned(), None),
        (Some(_), Some(percent)) => (view.language.percent(percent), Some(percent)),
    };
    let (storage, storage_percent) = share(|point| point.storage_percent, pressure.storage_us);
    let (memory, memory_percent) = share(|point| point.memory_percent, pressure.memory_us);
    let of_all = |some: u64, all: u64| {
        let text = view.language.fill(texts::OF_ALL, &[&view.language.bytes(some), &view.language.bytes(all)]);
        (text, Some(some as f64 * 100.0 / all.max(1) as f64))
    };
    // Steps of a thousandth: a figure that changes all the time tells less.
    let step = (pressure.total_bytes >> 10).max(1);
    let stepped = |bytes: u64| bytes / step * step;
    let available = pressure.available_bytes.map(|bytes| of_all(stepped(bytes), pressure.total_bytes));
    let (available, available_percent) = available.unwrap_or((view.say(texts::NOT_COUNTED).to_owned(), None));
    let used = pressure.swap_total_bytes.saturating_sub(pressure.swap_free_bytes);
    let (swap, swap_percent) = match pressure.swap_total_bytes {
        0 => (view.say(texts::NO_SWAP).to_owned(), None),
        all => of_all(stepped(used), all),
    };
    let short = machine.apps.survey.short_bytes;
    let launching: Vec<&str> = machine.status.apps.iter().filter(|app| app.launching).map(App::shown).collect();
    html! {
        section.tiles id="now" aria-labelledby="now-title" {
            h2 id="now-title" { (view.say(if view.is_record { texts::AT_MOMENT } else { texts::NOW })) }
            dl {
                div.tile { dt { (view.say(texts::IN_FRONT)) } dd { (front(view, machine)) } }
                @if !launching.is_empty() {
                    div.tile { dt { (view.say(texts::LAUNCHING)) } dd { (launching.join(", ")) } }
                }
                (tile(view, texts::STORAGE, &storage, storage_percent, "read"))
                (tile(view, texts::MEMORY, &memory, memory_percent, "write"))
                (tile(view, texts::AVAILABLE, &available, available_percent, "plain"))
                (tile(view, texts::SWAPPED, &swap, swap_percent, "plain"))
                @if short > 0 {
                    div.tile.alert {
                        dt { (view.say(texts::HAS_MEMORY)) }
                        dd { (view.language.fill(texts::TO_FREE, &[&view.language.bytes(short)])) }
                    }
                }
            }
        }
    }
}

/// A figure with its bar, of which 100 is the whole.
fn tile(view: &View<'_>, name: Text, value: &str, percent: Option<f64>, tone: &str) -> Markup {
    html! {
        div.tile {
            dt { (view.say(name)) }
            dd {
                (value)
                @if let Some(percent) = percent {
                    svg class=(format!("gauge {tone}")) viewBox="0 0 100 4" preserveAspectRatio="none"
                        aria-hidden="true" {
                        rect.all width="100" height="4" {}
                        rect.some width=(format!("{:.1}", percent.clamp(0.0, 100.0))) height="4" {}
                    }
                }
            }
        }
    }
}

fn front(view: &View<'_>, machine: &Machine) -> Markup {
    let of_people = machine.status.apps.iter().filter(|app| app.activity.role == Role::App);
    let (mut front, mut is_told) = (Vec::new(), false);
    for app in of_people {
        is_told |= app.activity.focused.is_some();
        if app.activity.focused == Some(true) {
            front.push(app.shown());
        }
    }
    html! {
        @if !front.is_empty() {
            strong { (front.join(", ")) }
        } @else if is_told || machine.status.apps.is_empty() {
            (view.say(texts::NOTHING_IN_FRONT))
        } @else {
            span.how { (view.say(texts::UNKNOWN_FRONT)) }
        }
    }
}

/// What an app is called where there is no space for its group.
trait Shown {
    fn shown(&self) -> &str;
}

impl Shown for App {
    fn shown(&self) -> &str {
        if self.id.is_empty() { brisk_core::group::name(&self.group) } else { &self.id }
    }
}

/// Areas of both shares, one below the other: they overlap in time, so that their sum says nothing.
fn pair(view: &View<'_>, id: &str, x: &Axis, spans: &[(f64, f64, [Option<f64>; 2])]) -> Markup {
    let most = spans.iter().flat_map(|(.., shares)| shares).flatten().copied().fold(PERCENT_MIN, f64::max);
    let chart = |at: usize, name: Text, tone: Tone| -> Option<Chart> {
        let mut rows = Vec::new();
        let mut row = |when: f64, percent: f64| {
            rows.push(Row::at(WHAT, view.say(name)).put(WHEN, when).put(SHARE, percent));
        };
        let mut before = f64::NEG_INFINITY;
        for (from, to, shares) in spans {
            let percent = shares[at]?;
            // What was not seen is empty.
            if before.is_finite() && from - before > (to - from).max(1.0) {
                row(before + 0.001, 0.0);
                row(from - 0.001, 0.0);
            }
            row(from + 0.002, percent);
            row(*to, percent);
            before = *to;
        }
        let y = Axis::new("%", Law::Linear, view.language.tick());
        let areas = Areas {
            x: WHEN.into(),
            y: SHARE.into(),
            layer: WHAT.into(),
            holds: vec![most],
            unnamed: true,
            ..Areas::default()
        };
        Some(areas.draw(view.say(name), [x.clone(), y], &rows, |_| (tone, Texture::Full)))
    };
    html! {
        @for (at, name, tone) in [(0, texts::STORAGE, Tone::Read), (1, texts::MEMORY, Tone::Write)] {
            @if let Some(chart) = chart(at, name, tone) {
                h4 { (view.say(name)) }
                (brisk_report::chart(&chart, &format!("{id}{at}")))
            }
        }
    }
}

fn minutes(view: &View<'_>) -> Markup {
    let points = &view.seen.minutes;
    let end_ns = points.last().map_or(0, |point| point.at_ns);
    let ago_s = |point: &Point| -(end_ns.saturating_sub(point.at_ns) as f64 / 1e9);
    let spans: Vec<_> = points
        .windows(2)
        .map(|two| (ago_s(&two[0]), ago_s(&two[1]), [two[1].storage_percent, two[1].memory_percent]))
        .collect();
    let ago = |minutes: u32| (-60.0 * f64::from(minutes), view.language.fill(texts::MINUTES_AGO, &[&minutes]));
    let x = Axis {
        fixed: vec![ago(5), ago(4), ago(3), ago(2), ago(1), (0.0, view.say(texts::NOW_TICK).to_owned())],
        ..Axis::new("", Law::Window, view.language.tick())
    };
    html! {
        div.panelled id="minutes" {
            h3 { (view.say(texts::LAST_MINUTES)) }
            p.how { (view.say(texts::SHARE_OF_TIME)) }
            (pair(view, "minutes", &x, &spans))
        }
    }
}

fn day(view: &View<'_>) -> Markup {
    let day = &view.seen.day;
    let begin = |span: &PressureSpan| span.until_unix_ms.saturating_sub((span.length_s * 1e3) as u64);
    let ends = day.first().zip(day.last()).map(|(first, last)| (begin(first), last.until_unix_ms));
    let Some((from, until)) = ends.filter(|(from, until)| until.saturating_sub(*from) > 60_000) else {
        return html! { div.panelled id="day" { h3 { (view.say(texts::DAY)) } p.how { (view.say(texts::NO_DAY)) } } };
    };
    let ago_s = |unix_ms: u64| -(until.saturating_sub(unix_ms) as f64 / 1e3);
    let spans: Vec<_> = day
        .iter()
        .map(|span| (ago_s(begin(span)), ago_s(span.until_unix_ms), [span.storage_percent, span.memory_percent]))
        .collect();
    let tick = |unix_ms: u64| (ago_s(unix_ms), view.language.moment(unix_ms, view.now_unix_ms));
    // Whole hours of local time fall together with those of UTC nearly everywhere.
    let each_ms = (until - from).div_ceil(4).div_ceil(HOUR_MS) * HOUR_MS;
    let between = (from / HOUR_MS + 1..).map(|hour| hour * HOUR_MS).step_by((each_ms / HOUR_MS) as usize);
    let apart = (until - from) / 12;
    let between = between.take_while(|at| at + apart < until).filter(|at| *at > from + apart);
    let mut fixed = vec![tick(from)];
    fixed.extend(between.map(tick));
    fixed.push((0.0, view.say(texts::NOW_TICK).to_owned()));
    let x = Axis { fixed, ..Axis::new("", Law::Window, view.language.tick()) };
    html! {
        div.panelled id="day" {
            h3 { (view.language.fill(texts::LAST_DAY, &[&view.moment(from)])) }
            p.how { (view.say(texts::SHARE_OF_TIME)) }
            (pair(view, "day", &x, &spans))
        }
    }
}
