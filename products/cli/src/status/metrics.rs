//! A status as OpenMetrics text (OpenMetrics 1.0, the text format): counters end in `_total`, units are the last word, and the
//! text ends with `# EOF`.

use std::fmt::Write as _;

use brisk_daemon::control::protocol::Status;

/// All counters and levels.
pub(super) fn text(status: &Status) -> String {
    let mut text = String::new();
    let counts = &status.counts;
    let counters = [
        ("brisk_wake_ups", "Times that the daemon woke up", counts.wake_ups as f64),
        ("brisk_rounds", "Times that engines were asked", counts.rounds as f64),
        ("brisk_events", "Events", counts.events as f64),
        ("brisk_launches", "Launches of apps", counts.launches as f64),
        ("brisk_setting_writes", "Settings written", counts.writes as f64),
        ("brisk_setting_refusals", "Settings that could not be written", counts.refusals as f64),
        ("brisk_settings_taken_over", "Settings that somebody else took over", counts.taken_over as f64),
    ];
    for (name, help, value) in counters {
        family(&mut text, name, "counter", None, help);
        let _ = writeln!(text, "{name}_total {value}");
    }
    family(&mut text, "brisk_cpu_seconds", "counter", Some("seconds"), "Processor time of the daemon");
    let _ = writeln!(text, "brisk_cpu_seconds_total {}", status.cost.cpu_us as f64 / 1e6);
    family(&mut text, "brisk_resident_bytes", "gauge", Some("bytes"), "Memory of the daemon");
    let _ = writeln!(text, "brisk_resident_bytes {}", status.cost.rss_bytes);
    family(&mut text, "brisk_paused", "gauge", None, "Whether all settings are as before brisk on request");
    let _ = writeln!(text, "brisk_paused {}", u8::from(status.paused));
    family(&mut text, "brisk_troubles", "gauge", None, "Things that the daemon lacks or could not do");
    let _ = writeln!(text, "brisk_troubles {}", status.trouble.len());
    family(&mut text, "brisk_apps", "gauge", None, "Apps that run, by how much delay they tolerate");
    for tolerance in ["interactive", "streaming", "background", "batch"] {
        let count = status.apps.iter().filter(|app| app.tolerance == tolerance).count();
        let _ = writeln!(text, "brisk_apps{{tolerance=\"{tolerance}\"}} {count}");
    }
    family(&mut text, "brisk_setting", "gauge", None, "Settings that brisk wants: 1 when it stands");
    for setting in &status.settings {
        let labels =
            [("knob", &setting.knob), ("value", &setting.value), ("engine", &setting.engine), ("rule", &setting.rule)];
        let labels: Vec<String> = labels.iter().map(|(name, value)| format!("{name}=\"{}\"", escaped(value))).collect();
        let _ = writeln!(text, "brisk_setting{{{}}} {}", labels.join(","), u8::from(setting.outcome == "stands"));
    }
    family(&mut text, "brisk_setting_age_seconds", "gauge", Some("seconds"), "Since when a setting is wanted so");
    for setting in &status.settings {
        let age_s = status.at_unix_ms.saturating_sub(setting.since_unix_ms) as f64 / 1000.0;
        let _ = writeln!(text, "brisk_setting_age_seconds{{knob=\"{}\"}} {age_s}", escaped(&setting.knob));
    }
    text += "# EOF\n";
    text
}

fn family(text: &mut String, name: &str, kind: &str, unit: Option<&str>, help: &str) {
    let _ = writeln!(text, "# TYPE {name} {kind}");
    if let Some(unit) = unit {
        let _ = writeln!(text, "# UNIT {name} {unit}");
    }
    let _ = writeln!(text, "# HELP {name} {help}.");
}

fn escaped(value: &str) -> String {
    value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use brisk_daemon::control::protocol::{Counts, Setting};

    #[test]
    fn every_sample_belongs_to_the_family_before_it() {
        let setting = Setting { knob: "io_priority/a\"b\\c".into(), outcome: "stands".into(), ..Setting::default() };
        let counts = Counts { rounds: 7, ..Counts::default() };
        let text = text(&Status { settings: vec![setting], counts, ..Status::default() });
        assert!(text.ends_with("# EOF\n") && text.contains("brisk_rounds_total 7\n"), "{text}");
        assert!(text.contains(r#"knob="io_priority/a\"b\\c""#), "{text}");
        let (mut family, mut kind) = ("", "");
        for line in text.lines().filter(|line| *line != "# EOF") {
            let words: Vec<&str> = line.split(' ').collect();
            match words.as_slice() {
                ["#", "TYPE", name, of] => (family, kind) = (name, of),
                ["#", "UNIT", name, unit] => assert!(*name == family && name.ends_with(unit), "{line}"),
                ["#", "HELP", name, ..] => assert_eq!(*name, family),
                _ => {
                    let name = line.split(['{', ' ']).next().expect("a name");
                    let expected = if kind == "counter" { format!("{family}_total") } else { family.to_owned() };
                    assert_eq!(name, expected, "{line}");
                }
            }
        }
    }
}
