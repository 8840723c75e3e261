//! A status as metrics, by the writer that exports records as well.

use brisk_api::{Estimate, Saved, Status};
use brisk_core::app::Tolerance;

use crate::export::openmetrics::{Dialect, Family, Kind, end};

/// All counters and levels of a daemon that runs.
pub(super) fn text(status: &Status, dialect: Dialect) -> anyhow::Result<String> {
    let mut text = up(true, dialect)?;
    let cpu = ("cpu_us", "Processor time of the daemon", status.cost.cpu_us);
    for (name, help, value) in status.counts.each().into_iter().chain([cpu]) {
        Family::begin(&mut text, dialect, Kind::Counter, ("", name), help)?.sample(&[], value as f64, None)?;
    }
    for (name, help, value) in [
        ("resident_bytes", "Memory of the daemon", status.cost.rss_bytes),
        ("paused", "Whether all settings are as before brisk on request", u64::from(status.paused)),
        ("troubles", "Things that the daemon lacks or could not do", status.trouble.len() as u64),
        ("resting_parts", "Parts that the daemon does without, since it has died in them", status.resting.len() as u64),
    ] {
        Family::begin(&mut text, dialect, Kind::Gauge, ("", name), help)?.sample(&[], value as f64, None)?;
    }
    let help = "Apps that run, by how much delay they tolerate";
    let mut family = Family::begin(&mut text, dialect, Kind::Gauge, ("", "apps"), help)?;
    for (tolerance, name) in Tolerance::ALL {
        let count = status.apps.iter().filter(|app| app.tolerance == tolerance).count();
        family.sample(&[("tolerance", name)], count as f64, None)?;
    }
    let help = "Settings that brisk requests: 1 when in force";
    let mut family = Family::begin(&mut text, dialect, Kind::Gauge, ("", "setting"), help)?;
    for setting in &status.settings {
        let (resolved, knob) = (&setting.resolved, setting.knob().text());
        let (value, engine) = (resolved.what.value.as_str(), resolved.engine.as_str());
        let labels = [("knob", knob.as_str()), ("value", value), ("engine", engine), ("rule", resolved.rule.name())];
        family.sample(&labels, f64::from(u8::from(setting.is_in_force())), None)?;
    }
    let mut family =
        Family::begin(&mut text, dialect, Kind::Gauge, ("", "setting_age_ms"), "Time since a setting has its value")?;
    for setting in &status.settings {
        let age_ms = status.at_unix_ms.saturating_sub(setting.since_unix_ms);
        family.sample(&[("knob", &setting.knob().text())], age_ms as f64, None)?;
    }
    trials(&mut text, status, dialect)?;
    saved(&mut text, status, dialect)?;
    end(&mut text, dialect)?;
    Ok(String::from_utf8_lossy(&text).into_owned())
}

/// The text of a daemon that does not run: counters of its last run would be taken for those of now.
pub(super) fn of_none(dialect: Dialect) -> anyhow::Result<String> {
    let mut text = up(false, dialect)?;
    end(&mut text, dialect)?;
    Ok(String::from_utf8_lossy(&text).into_owned())
}

/// The begin of each text.
fn up(runs: bool, dialect: Dialect) -> anyhow::Result<Vec<u8>> {
    let mut text = Vec::new();
    let help = "Whether the daemon answers";
    Family::begin(&mut text, dialect, Kind::Gauge, ("", "up"), help)?.sample(&[], f64::from(u8::from(runs)), None)?;
    Ok(text)
}

/// What each engine gains, by its trial. What is not known yet has no sample.
fn trials(text: &mut Vec<u8>, status: &Status, dialect: Dialect) -> anyhow::Result<()> {
    let help = "What episodes with an engine take of those without, by its trial, with the ends of the 95 % interval";
    let mut family = Family::begin(text, dialect, Kind::Gauge, ("", "trial_effect_percent"), help)?;
    for (engine, effect) in status.trials.engines.iter().filter_map(|of| Some((&of.engine, of.effect?))) {
        for (bound, value) in [("value", effect.ratio), ("low", effect.low), ("high", effect.high)] {
            family.sample(&[("engine", engine.as_str()), ("bound", bound)], value * 100.0, None)?;
        }
    }
    let help = "Apps, disks or machines in each phase of the trial of an engine";
    let mut family = Family::begin(text, dialect, Kind::Gauge, ("", "trial_subjects"), help)?;
    for of in &status.trials.engines {
        let counts =
            [("observing", of.observing), ("on_trial", of.on_trial), ("acting", of.acting), ("resting", of.resting)];
        for (phase, count) in counts {
            family.sample(&[("engine", of.engine.as_str()), ("phase", phase)], count as f64, None)?;
        }
    }
    Ok(())
}

/// What was saved: gauges, as more that is seen may make them less. What is not known yet has no sample.
fn saved(text: &mut Vec<u8>, status: &Status, dialect: Dialect) -> anyhow::Result<()> {
    type Of = fn(&Saved) -> Option<Estimate>;
    type Count = fn(&Saved) -> u64;
    let estimates: [(&str, &str, Of); 3] = [
        ("read_delay_saved_us", "What compared reads took less", |s| s.read_delay_us),
        ("write_delay_saved_us", "What compared writes took less", |s| s.write_delay_us),
        ("energy_saved_uj", "Modelled energy that compared requests took less", |s| s.energy_uj),
    ];
    for (name, help, of) in estimates {
        let help = format!("{help} since the daemon began, with the ends of the 95 % interval. {}", status.saved_how);
        let mut family = Family::begin(text, dialect, Kind::Gauge, ("", name), &help)?;
        for saved in &status.saved {
            let Some(Estimate { value, low, high }) = of(saved) else { continue };
            for (bound, value) in [("value", value), ("low", low), ("high", high)] {
                let labels = [("device", saved.device.as_str()), ("engines", &saved.engines), ("bound", bound)];
                family.sample(&labels, value as f64, None)?;
            }
        }
    }
    let counters: [(&str, &str, Count); 4] = [
        ("reads", "Reads under settings of brisk", |s| s.reads),
        ("reads_compared", "Reads of which like was seen without settings of brisk", |s| s.reads_compared),
        ("writes", "Writes under settings of brisk", |s| s.writes),
        ("writes_compared", "Writes of which like was seen without settings of brisk", |s| s.writes_compared),
    ];
    for (name, help, of) in counters {
        let mut family = Family::begin(text, dialect, Kind::Counter, ("", name), help)?;
        for saved in &status.saved {
            let labels = [("device", saved.device.as_str()), ("engines", &saved.engines)];
            family.sample(&labels, of(saved) as f64, None)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::export::openmetrics::complaint;
    use brisk_api::{Counts, EngineTrial, Trials};
    use brisk_core::action::Setting;
    use brisk_core::arbiter::{Resolved, Rule};
    use brisk_core::outcome::Outcome;
    use brisk_core::reason::Reason;
    use brisk_core::state::SettingState;

    fn status() -> Status {
        let resolved = Resolved {
            what: Setting::new("io_priority/a\"b\\c".parse().expect("a knob"), "idle"),
            engine: "smartio".into(),
            rule: Rule::OnlyRequest,
            reason: Reason::rule("test"),
            over: vec![],
        };
        let setting = SettingState { resolved, original: None, since_unix_ms: 0, outcome: Outcome::Unchanged };
        let counts = Counts { rounds: 7, ..Counts::default() };
        let estimate = Estimate { value: 1_500_000, low: -1, high: 2_000_000 };
        let saved = Saved { device: "sda".into(), read_delay_us: Some(estimate), reads: 9, ..Saved::default() };
        let saved_how = "compared with \"none\"\nby size".to_owned();
        let effect = Some(brisk_api::Effect { ratio: 0.5, low: 0.25, high: 0.75, pairs: 20 });
        let of = EngineTrial { engine: "prefetch".into(), effect, acting: 3, ..EngineTrial::default() };
        let trials = Trials { on: true, engines: vec![of] };
        Status { trials, settings: vec![setting], counts, saved: vec![saved], saved_how, ..Status::default() }
    }

    #[test]
    fn every_sample_belongs_to_the_family_before_it() {
        let text = text(&status(), Dialect::Openmetrics).expect("written");
        assert!(
            text.contains("brisk_read_delay_saved_seconds{device=\"sda\",engines=\"\",bound=\"value\"} 1.5\n"),
            "{text}"
        );
        assert!(text.contains("brisk_trial_effect_ratio{engine=\"prefetch\",bound=\"low\"} 0.25\n"), "{text}");
        assert!(text.contains("brisk_trial_subjects{engine=\"prefetch\",phase=\"acting\"} 3\n"), "{text}");
        assert!(text.contains("brisk_reads_total{device=\"sda\",engines=\"\"} 9\n"), "{text}");
        assert!(!text.contains("brisk_energy_saved_joules{"), "{text}");
        assert!(text.ends_with("# EOF\n") && text.contains("brisk_rounds_total 7\n"), "{text}");
        assert!(text.contains(r#"knob="io_priority/a\"b\\c""#), "{text}");
        assert_eq!(complaint(&text), None, "{text}");
        let none = of_none(Dialect::Openmetrics).expect("written");
        assert!(none.contains("\nbrisk_up 0\n") && complaint(&none).is_none(), "{none}");
    }

    #[test]
    fn a_textfile_collector_gets_typed_counters() {
        let text = text(&status(), Dialect::Prometheus).expect("written");
        let mut typed = std::collections::BTreeMap::new();
        for line in text.lines() {
            match line.split(' ').collect::<Vec<_>>()[..] {
                ["#", "TYPE", name, kind] => assert!(typed.insert(name, kind).is_none(), "{line}"),
                ["#", "HELP", name, ..] => assert!(!typed.contains_key(name) && line.ends_with('.'), "{line}"),
                _ => {
                    let (name, rest) = line.split_at(line.find(['{', ' ']).expect("a value"));
                    let kind = typed.get(name).unwrap_or_else(|| panic!("{name} has no type"));
                    assert_eq!(*kind == "counter", name.ends_with("_total"), "{line}");
                    let value = rest.rsplit(' ').next().expect("a value, and no time");
                    assert!(value.parse::<f64>().is_ok_and(f64::is_finite), "{line}");
                }
            }
        }
        assert_eq!((typed.get("brisk_rounds_total"), typed.get("brisk_up")), (Some(&"counter"), Some(&"gauge")));
        assert!(text.contains("compared with \"none\"\\nby size.\n") && !text.contains("EOF"), "{text}");
        assert!(text.contains("\nbrisk_rounds_total 7\n") && text.contains("\nbrisk_up 1\n"), "{text}");
    }
}
