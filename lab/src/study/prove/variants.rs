//! What is at work in the conditions of a proof: nothing, brisk, and each of its engines alone where several were
//! named.

use std::path::Path;

use crate::phone::WriterSpec;
use crate::results::Condition;
use crate::results::conditions::{self, IDLE, WRITERS};
use anyhow::{Context as _, bail};
use brisk_daemon::engines::NAMES;

use crate::study::suite::bed::condition;

/// Brisk as it was asked for, in names of conditions.
const BRISK: &str = "brisk";
/// Engines of a configuration that names none: those that act on the load that is measured.
pub(super) const UNNAMED: [&str; 2] = ["smartio", "smartstorage"];

/// Who is at work in a condition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Variant {
    /// `brisk`, or the name of an engine that is alone.
    pub(super) name: String,
    /// Its engines; `None`: those of the configuration.
    pub(super) engines: Option<Vec<String>>,
}

/// Brisk with the engines that `named` lists, or with those of the configuration, before each of several alone.
///
/// # Errors
/// A name that no engine has, or that is there twice.
pub(super) fn of(named: &[String]) -> anyhow::Result<Vec<Variant>> {
    for (place, name) in named.iter().enumerate() {
        if !NAMES.contains(&name.as_str()) {
            bail!("--engines: there is no engine '{name}'; there are {}", NAMES.join(", "));
        }
        if named[..place].contains(name) {
            bail!("--engines names {name} twice");
        }
    }
    let all = Variant { name: BRISK.to_owned(), engines: (!named.is_empty()).then(|| named.to_vec()) };
    let alone = named.iter().filter(|_| named.len() > 1);
    let alone = alone.map(|name| Variant { name: name.clone(), engines: Some(vec![name.clone()]) });
    Ok(std::iter::once(all).chain(alone).collect())
}

/// The conditions, each with the place of who is at work in it: both loads, without brisk and then with each of
/// `variants`.
pub(super) fn conditions(variants: &[Variant], spec: &WriterSpec) -> Vec<(Condition, Option<usize>)> {
    let loads = [
        (IDLE, "nothing else happens", None),
        (WRITERS, "apps are installed and accounts synced meanwhile", Some(spec)),
    ];
    let of_load = |(load, text, writer)| {
        let with = variants.iter().enumerate().map(move |(place, variant)| {
            let (name, text) = (conditions::with(load, &variant.name), format!("{text}, {}", words(variant)));
            (condition(&name, &text, writer), Some(place))
        });
        std::iter::once((condition(load, text, writer), None)).chain(with)
    };
    loads.into_iter().flat_map(of_load).collect()
}

fn words(variant: &Variant) -> String {
    match &variant.engines {
        None => "brisk is at work".to_owned(),
        Some(engines) if variant.name == BRISK => format!("brisk is at work ({})", engines.join(", ")),
        Some(_) => format!("the engine {} of brisk alone is at work", variant.name),
    }
}

/// What a configuration of the proof has beside the person's.
#[derive(Debug, Clone)]
pub(super) struct Place<'a> {
    /// The phone's disk, the only device.
    pub(super) disk: &'a str,
    pub(super) record: &'a Path,
    /// The section of launch prefetch, where that is at work.
    pub(super) prefetch: Option<&'a toml::Table>,
}

/// The configuration of one variant: the person's, with what the proof decides.
///
/// # Errors
/// When `chosen` is not TOML, or its sections are no tables.
pub(super) fn configure(chosen: &str, place: &Place<'_>, variant: &Variant) -> anyhow::Result<String> {
    let mut table: toml::Table = chosen.parse().context("the configuration is not TOML")?;
    let list = |names: &[String]| toml::Value::Array(names.iter().cloned().map(toml::Value::String).collect());
    let daemon = section(&mut table, "daemon")?;
    daemon.insert("devices".to_owned(), list(&[place.disk.to_owned()]));
    let mut kept = toml::Table::new();
    kept.insert("path".to_owned(), toml::Value::String(place.record.to_string_lossy().into_owned()));
    kept.insert("max_bytes".to_owned(), toml::Value::Integer(64 << 20));
    daemon.insert("record".to_owned(), toml::Value::Table(kept));
    let engines = section(&mut table, "engines")?;
    if let Some(named) = &variant.engines {
        engines.insert("order".to_owned(), list(named));
    } else if !engines.get("order").is_some_and(toml::Value::is_array) {
        engines.insert("order".to_owned(), list(&UNNAMED.map(str::to_owned)));
    }
    // The proof holds out whole launches itself: of those with brisk, all are.
    engines.insert("trial".to_owned(), toml::Value::Boolean(false));
    if let Some(prefetch) = place.prefetch {
        table.insert(brisk_engine::prefetch::NAME.to_owned(), toml::Value::Table(prefetch.clone()));
    }
    Ok(table.to_string())
}

fn section<'a>(table: &'a mut toml::Table, name: &str) -> anyhow::Result<&'a mut toml::Table> {
    let section = table.entry(name).or_insert_with(|| toml::Value::Table(toml::Table::new()));
    section.as_table_mut().with_context(|| format!("[{name}] of the configuration is not a table"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use brisk_daemon::config::{Config, Devices};

    fn named(names: &[&str]) -> anyhow::Result<Vec<Variant>> {
        of(&names.iter().map(|&name| name.to_owned()).collect::<Vec<_>>())
    }

    #[test]
    fn several_engines_are_measured_together_and_each_alone_and_one_engine_once() {
        let names = |of: &[&str]| named(of).expect("engines").into_iter().map(|one| one.name).collect::<Vec<_>>();
        assert_eq!(names(&[]), ["brisk"]);
        assert_eq!(names(&["prefetch"]), ["brisk"]);
        assert_eq!(names(&["prefetch", "smartio"]), ["brisk", "prefetch", "smartio"]);
        let said = named(&["smartio", "fast"]).expect_err("no engine").to_string();
        assert!(said.contains("'fast'") && said.contains("smartstorage"), "{said}");
        assert!(named(&["mars", "mars"]).expect_err("twice").to_string().contains("mars twice"));
    }

    #[test]
    fn each_load_is_measured_without_brisk_and_with_each_variant_and_nothing_else_differs() {
        let variants = named(&["prefetch", "smartio"]).expect("engines");
        let all = conditions(&variants, &WriterSpec::default());
        let (loaded, idle): (Vec<_>, Vec<_>) = all.iter().partition(|(condition, _)| condition.writer.is_some());
        assert_eq!((loaded.len(), idle.len()), (4, 4));
        for of_load in [idle, loaded] {
            let (without, place) = of_load[0];
            assert_eq!(*place, None);
            for (place, (with, who)) in of_load[1..].iter().enumerate() {
                let variant = &variants[place];
                assert_eq!(*who, Some(place));
                assert_eq!(without.writer, with.writer);
                assert_eq!(with.name, format!("{}_with_{}", without.name, variant.name));
                assert!(with.text.starts_with(&without.text), "{with:?}");
                assert_eq!(with.text.ends_with("of brisk alone is at work"), variant.name != BRISK, "{with:?}");
            }
        }
    }

    #[test]
    fn the_phone_is_the_only_device_and_a_variant_has_its_engines_whatever_the_configuration_lists() {
        let chosen = "[daemon]\ndevices = [\"sda\"]\n[engines]\norder = []\n[prefetch]\nstreams = 3\n";
        let prefetch: toml::Table = "streams = 7\n".parse().expect("TOML");
        let place = Place { disk: "loop7", record: Path::new("/record"), prefetch: Some(&prefetch) };
        for variant in named(&["prefetch", "smartio"]).expect("engines") {
            let text = configure(chosen, &place, &variant).expect("TOML");
            let config = Config::parse(&text).expect("valid");
            assert_eq!(config.daemon.devices, Devices::These(vec!["loop7".to_owned()]));
            assert_eq!(config.daemon.record.path.to_str(), Some("/record"));
            assert_eq!(
                Some(config.engines.names()),
                variant.engines.as_ref().map(|names| names.iter().map(String::as_str).collect())
            );
            assert_eq!((config.engines.trial, config.prefetch.streams), (false, 7));
        }
        let text = configure(chosen, &Place { prefetch: None, ..place }, &named(&[]).expect("none")[0]).expect("TOML");
        let config = Config::parse(&text).expect("valid");
        assert_eq!((config.engines.names().len(), config.prefetch.streams), (0, 3));
    }
}
