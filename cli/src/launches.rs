//! What the engine for launch prefetch knows of an app, for `brisk explain` and `brisk status`. Values in, text out.

use std::fmt::Write as _;

use brisk_api::{AppLaunches, Launches, Prefetched, Readiness};
use brisk_core::text::one_line;
use brisk_core::units::format_bytes;

use crate::status::moment;

/// The lines of the apps that are there.
pub(crate) fn explain(launches: &Launches) -> String {
    if !launches.active {
        return "  nothing is read ahead of launches: add \"prefetch\" to [engines] order, as the first\n".to_owned();
    }
    if launches.apps.is_empty() {
        return "  no launch of it was seen yet, so that nothing is read ahead of the next one\n".to_owned();
    }
    launches.apps.iter().map(lines).collect()
}

/// The first line for apps that do not run; `None` where there is none.
pub(crate) fn explain_absent(launches: &Launches) -> Option<String> {
    let ids: Vec<_> = launches.apps.iter().map(|app| one_line(&app.id)).collect();
    (!ids.is_empty()).then(|| format!("{} does not run\n", ids.join(", ")))
}

fn lines(app: &AppLaunches) -> String {
    let mut text = String::new();
    let exactly = if app.exact { "exactly" } else { "not exactly yet" };
    let _ = writeln!(
        text,
        "  of {} launches {} were learned, {exactly}; the next one is expected to use {} of {} files, {} of which \
         other apps use too",
        app.launches,
        app.learned,
        format_bytes(app.planned_bytes),
        app.files,
        format_bytes(app.shared_bytes),
    );
    text += &readiness(&app.ready);
    if let (Some(hit), wasted) = hit_percent(app.used_bytes, app.asked_bytes) {
        let _ = writeln!(
            text,
            "  {} were read ahead so far, {} of them from the device; launches used {hit:.0} %, {} were wasted",
            format_bytes(app.asked_bytes),
            format_bytes(app.read_bytes),
            format_bytes(wasted),
        );
    }
    text
}

/// Whether the app is ready before it is launched, since when, or why not.
fn readiness(ready: &Readiness) -> String {
    let read = format_bytes(ready.read_bytes);
    match (ready.since_unix_ms, &ready.why_not) {
        (Some(since_unix_ms), _) => {
            format!("  ready: in memory since {}; {read} were read for that\n", moment(since_unix_ms))
        }
        (None, Some(why_not)) => format!("  not ready before it is opened: {why_not}\n"),
        (None, None) => String::new(),
    }
}

/// The line of `brisk status` on apps that are ready before they are launched.
pub(crate) fn ready(of: &Prefetched) -> Option<String> {
    let (day, most) = (format_bytes(of.ready_day_bytes), format_bytes(of.ready_day_max_bytes));
    let waits = of.ready_waits.as_ref().map_or_else(String::new, |why| format!("; waits: {why}"));
    let apps = if of.ready_apps == 1 { "app" } else { "apps" };
    (of.ready_day_max_bytes > 0)
        .then(|| format!("{} {apps} in memory before the tap; {day} of {most} read today{waits}", of.ready_apps))
}

/// The line of `brisk status`.
pub(crate) fn sums(of: &Prefetched) -> String {
    let apps = format!("{} apps known", of.apps);
    match hit_percent(of.used_bytes, of.asked_bytes) {
        (Some(hit), wasted) => format!(
            "{apps}; {} read ahead of {} launches, {hit:.0} % of it used, {} wasted",
            format_bytes(of.asked_bytes),
            of.launches,
            format_bytes(wasted)
        ),
        (None, _) => format!("{apps}; nothing read ahead yet"),
    }
}

/// Percent of the bytes that were used, where any were asked for, and the others.
fn hit_percent(used_bytes: u64, asked_bytes: u64) -> (Option<f64>, u64) {
    let percent = (asked_bytes > 0).then(|| used_bytes as f64 * 100.0 / asked_bytes as f64);
    (percent, asked_bytes.saturating_sub(used_bytes))
}

#[cfg(test)]
mod tests {
    use brisk_core::reason::Reason;

    use super::*;

    fn app() -> AppLaunches {
        AppLaunches {
            id: "org.gnome.Evince".to_owned(),
            launches: 30,
            learned: 9,
            exact: true,
            files: 120,
            planned_bytes: 26 << 20,
            shared_bytes: 20 << 20,
            asked_bytes: 200 << 20,
            read_bytes: 100 << 20,
            used_bytes: 180 << 20,
            ready: Readiness::default(),
        }
    }

    fn explained(app: AppLaunches) -> String {
        explain(&Launches { active: true, apps: vec![app] })
    }

    #[test]
    fn an_app_is_told_with_its_hit_rate() {
        let text = explained(app());
        for part in ["30 launches 9", "26 MiB of 120 files", "90 %", "20 MiB were wasted"] {
            assert!(text.contains(part), "{part}: {text}");
        }
        let new = AppLaunches { asked_bytes: 0, exact: false, ..app() };
        let text = explained(new);
        assert!(text.contains("not exactly yet") && !text.contains("read ahead so far"), "{text}");
    }

    #[test]
    fn an_app_is_ready_or_the_reason_is_told() {
        let ready = Readiness { since_unix_ms: Some(1_795_312_800_000), why_not: None, read_bytes: 12 << 20 };
        let text = explained(AppLaunches { ready, ..app() });
        assert!(text.contains("  ready: in memory since 2026-11-2") && text.contains("12 MiB were read"), "{text}");
        let why_not = Some(Reason::rule("little_memory_is_free").number("free_mib", 20.0));
        let text = explained(AppLaunches { ready: Readiness { why_not, ..Readiness::default() }, ..app() });
        assert!(text.contains("  not ready before it is opened: little memory is free (free_mib 20)\n"), "{text}");
        let mut of = Prefetched { ready_apps: 1, ready_day_bytes: 30 << 20, ..Prefetched::default() };
        assert_eq!(super::ready(&of), None, "it is switched off");
        of.ready_day_max_bytes = 512 << 20;
        let line = "1 app in memory before the tap; 30 MiB of 512 MiB read today";
        assert_eq!(super::ready(&of).as_deref(), Some(line));
        of.ready_waits = Some(Reason::rule("storage_is_busy"));
        assert_eq!(super::ready(&of), Some(format!("{line}; waits: storage is busy")));
    }

    #[test]
    fn what_does_not_run_or_is_not_known_is_said() {
        let none = |active| explain(&Launches { active, apps: Vec::new() });
        assert!(none(false).contains("[engines] order") && none(true).contains("no launch of it was seen"));
        let known = Launches { active: true, apps: vec![app()] };
        assert_eq!(explain_absent(&known).as_deref(), Some("org.gnome.Evince does not run\n"));
        assert_eq!(explain_absent(&Launches::default()), None);
    }

    #[test]
    fn the_sum_of_all_apps_is_one_line() {
        let of = Prefetched { apps: 2, ..Prefetched::default() };
        assert_eq!(sums(&of), "2 apps known; nothing read ahead yet");
        let read = Prefetched { asked_bytes: 10 << 20, used_bytes: 9 << 20, launches: 3, ..of };
        assert!(
            sums(&read).ends_with("10 MiB read ahead of 3 launches, 90 % of it used, 1 MiB wasted"),
            "{}",
            sums(&read)
        );
    }
}
