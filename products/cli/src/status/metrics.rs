//! A status as OpenMetrics text (OpenMetrics 1.0, the text format): counters end in `_total`, units are the last word, and the
//! text ends with `# EOF`.

use std::fmt::Write as _;

use brisk_core::app::Tolerance;
use brisk_daemon::control::protocol::{Estimate, Saved, Status};

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
        ("brisk_settings_taken_over", "Settings that were changed externally", counts.changed_externally as f64),
        ("brisk_actions", "One-shot actions done", counts.actions as f64),
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
    for (tolerance, name) in Tolerance::ALL {
        let count = status.apps.iter().filter(|app| app.tolerance == tolerance).count();
        let _ = writeln!(text, "brisk_apps{{tolerance=\"{name}\"}} {count}");
    }
    family(&mut text, "brisk_setting", "gauge", None, "Settings that brisk requests: 1 when in force");
    for setting in &status.settings {
        let (resolved, knob) = (&setting.resolved, setting.knob().to_string());
        let (value, engine) = (resolved.what.value.as_str(), resolved.engine.as_str());
        let labels = [("knob", knob.as_str()), ("value", value), ("engine", engine), ("rule", resolved.rule.name())];
        let labels: Vec<String> = labels.iter().map(|(name, value)| format!("{name}=\"{}\"", escaped(value))).collect();
        let _ = writeln!(text, "brisk_setting{{{}}} {}", labels.join(","), u8::from(setting.is_in_force()));
    }
    family(&mut text, "brisk_setting_age_seconds", "gauge", Some("seconds"), "Time since a setting has its value");
    for setting in &status.settings {
        let age_s = status.at_unix_ms.saturating_sub(setting.since_unix_ms) as f64 / 1000.0;
        let _ =
            writeln!(text, "brisk_setting_age_seconds{{knob=\"{}\"}} {age_s}", escaped(&setting.knob().to_string()));
    }
    saved(&mut text, status);
    text += "# EOF\n";
    text
}

/// What was saved: gauges, as more that is seen may make them less. What is not known yet has no sample.
fn saved(text: &mut String, status: &Status) {
    type Of = fn(&Saved) -> Option<Estimate>;
    type Count = fn(&Saved) -> u64;
    let estimates: [(&str, &str, &str, f64, Of); 3] = [
        ("brisk_read_delay_saved_seconds", "seconds", "What compared reads took less", 1e6, |s| s.read_delay_us),
        ("brisk_write_delay_saved_seconds", "seconds", "What compared writes took less", 1e6, |s| s.write_delay_us),
        ("brisk_energy_saved_joules", "joules", "Modelled energy that compared requests took less", 1e6, |s| {
            s.energy_uj
        }),
    ];
    let labels =
        |saved: &Saved| format!("device=\"{}\",engines=\"{}\"", escaped(&saved.device), escaped(&saved.engines));
    for (name, unit, help, divisor, of) in estimates {
        let help = format!("{help} since the daemon began, with the ends of the 95 % interval. {}", status.saved_how);
        family(text, name, "gauge", Some(unit), &help);
        for saved in &status.saved {
            let Some(Estimate { value, low, high }) = of(saved) else { continue };
            for (bound, value) in [("value", value), ("low", low), ("high", high)] {
                let _ = writeln!(text, "{name}{{{},bound=\"{bound}\"}} {}", labels(saved), value as f64 / divisor);
            }
        }
    }
    let counters: [(&str, &str, Count); 4] = [
        ("brisk_reads", "Reads under settings of brisk", |s| s.reads),
        ("brisk_reads_compared", "Reads of which like was seen without settings of brisk", |s| s.reads_compared),
        ("brisk_writes", "Writes under settings of brisk", |s| s.writes),
        ("brisk_writes_compared", "Writes of which like was seen without settings of brisk", |s| s.writes_compared),
    ];
    for (name, help, of) in counters {
        family(text, name, "counter", None, help);
        for saved in &status.saved {
            let _ = writeln!(text, "{name}_total{{{}}} {}", labels(saved), of(saved));
        }
    }
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
    use brisk_core::action::Setting;
    use brisk_core::arbiter::{Resolved, Rule};
    use brisk_core::outcome::Outcome;
    use brisk_core::reason::Reason;
    use brisk_core::state::SettingState;
    use brisk_daemon::control::protocol::Counts;

    #[test]
    fn every_sample_belongs_to_the_family_before_it() {
        let resolved = Resolved {
            what: Setting::new("io_priority/a\"b\\c".parse().expect("a knob"), "idle"),
            engine: "smartio".into(),
            rule: Rule::OnlyRequest,
            reason: Reason::rule("test"),
            over: vec![],
        };
        let outcome = Some(Outcome::Unchanged);
        let setting = SettingState { resolved, original: None, since_unix_ms: 0, outcome };
        let counts = Counts { rounds: 7, ..Counts::default() };
        let estimate = Estimate { value: 1_500_000, low: -1, high: 2_000_000 };
        let saved = Saved { device: "sda".into(), read_delay_us: Some(estimate), reads: 9, ..Saved::default() };
        let status = Status { settings: vec![setting], counts, saved: vec![saved], ..Status::default() };
        let text = text(&status);
        assert!(
            text.contains("brisk_read_delay_saved_seconds{device=\"sda\",engines=\"\",bound=\"value\"} 1.5\n"),
            "{text}"
        );
        assert!(text.contains("brisk_reads_total{device=\"sda\",engines=\"\"} 9\n"), "{text}");
        assert!(!text.contains("brisk_energy_saved_joules{"), "{text}");
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
