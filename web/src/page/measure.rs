//! Measurements: the one that runs, with how far it is and a button to stop it, or what the last one said; and buttons
//! to begin one.

use brisk_api::{Job, JobEnd, JobKind};
use maud::{Markup, html};

use super::{Parts, View};
use crate::feed::Machine;
use crate::texts::{self, Text};

pub(super) fn add(view: &View<'_>, machine: &Machine, parts: &mut Parts) {
    let job = view.seen.job.as_ref();
    let runs = job.is_some_and(|job| job.ended_unix_ms.is_none());
    parts.block("job", html! { div id="job" aria-live="polite" { @if let Some(job) = job { (shown(view, job)) } } });
    parts.block("job-start", html! { div id="job-start" { @if !runs && !view.is_record { (begin(view, machine)) } } });
}

fn title(kind: JobKind) -> Text {
    match kind {
        JobKind::Tune => texts::JOB_TUNE,
        JobKind::Bench => texts::JOB_BENCH,
        JobKind::Profile => texts::JOB_PROFILE,
    }
}

fn shown(view: &View<'_>, job: &Job) -> Markup {
    let name = view.say(title(job.job));
    let of = job.device.as_deref().map_or_else(|| name.to_owned(), |device| format!("{name}: {device}"));
    let end = job.end.map(|end| match end {
        JobEnd::Done => texts::JOB_DONE,
        JobEnd::Failed => texts::JOB_FAILED,
        JobEnd::Stopped => texts::JOB_STOPPED,
    });
    let at = view.moment(job.ended_unix_ms.unwrap_or(job.started_unix_ms));
    html! {
        div.job {
            p { b { (of) } ", " @match end {
                Some(end) => (view.language.fill(end, &[&at])),
                None => (view.language.fill(texts::JOB_RUNS, &[&at])),
            } }
            @if end.is_none() {
                @match job.done_percent {
                    Some(percent) => progress max="100" value=(format!("{percent:.0}")) aria-label=(name) {},
                    None => progress aria-label=(name) {},
                }
                p.how { (view.english(if job.doing.is_empty() { "…" } else { &job.doing })) }
                (view.form(&[("do", "stop")], None, &html! { button { (view.say(texts::JOB_STOP)) } }))
            }
            @if !job.said.is_empty() {
                details id="job-said" open[job.end == Some(JobEnd::Failed)] {
                    summary { (view.say(texts::JOB_SAID)) }
                    div.scroll tabindex="0" role="group" aria-label=(view.say(texts::JOB_SAID)) {
                        pre lang="en" { @for line in &job.said { (line) "\n" } }
                    }
                }
            }
        }
    }
}

/// Buttons for each disk that is managed, or for the system's storage.
fn begin(view: &View<'_>, machine: &Machine) -> Markup {
    let disks = &machine.status.devices;
    let buttons = |device: Option<&str>| {
        let kinds = JobKind::ALL.into_iter().filter(|kind| device.is_some() || *kind == JobKind::Bench);
        let inside = html! {
            div.buttons role="group" aria-label=(device.unwrap_or(view.say(texts::JOB_SYSTEM))) {
                @for kind in kinds { button name="job" value=(kind.name()) { (view.say(title(kind))) } }
            }
        };
        let mut fields = vec![("do", "job")];
        fields.extend(device.map(|device| ("device", device)));
        view.form(&fields, Some(texts::JOB_ASK), &inside)
    };
    html! {
        p.how { (view.say(texts::JOB_HOW)) }
        @if disks.is_empty() { p { (view.say(texts::JOB_SYSTEM)) } (buttons(None)) }
        @for disk in disks {
            p { b { (disk.name) } " " span.how { (disk.model) } }
            (buttons(Some(&disk.name)))
        }
    }
}
