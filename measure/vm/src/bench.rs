//! The whole comparison as data (`kernel/bench.toml`): which scenarios, how long, which rows, and what is aimed at in each.

use std::collections::BTreeMap;
use std::path::Path;

use serde::Deserialize;

use crate::aims::Aim;
use crate::case::Setup;
use crate::error::{Error, Result};
use crate::scenario::Scenario;
use crate::schedulers::plain;

/// Everything that is compared.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Bench {
    /// The scheduler that the aims are about.
    pub judged: String,
    /// Scenarios, those first that tell most.
    #[serde(rename = "part")]
    pub parts: Vec<Part>,
}

/// One scenario.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Part {
    /// Its name.
    pub scenario: String,
    /// Whether it belongs to the short run.
    #[serde(default)]
    short: bool,
    /// Lengths of loads over those in its file.
    #[serde(default = "one")]
    pub scale: f64,
    /// Schedulers; all of the table where none is named.
    #[serde(default)]
    pub schedulers: Vec<String>,
    /// Settings that a search tries of each scheduler; no search where absent.
    #[serde(default)]
    pub search_budget: Option<usize>,
    /// More rows.
    #[serde(default)]
    also: Vec<Also>,
    /// What is aimed at.
    #[serde(default, rename = "aim")]
    pub aims: Vec<Aim>,
}

/// A row.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
struct Also {
    scheduler: String,
    settings: BTreeMap<String, String>,
}

fn one() -> f64 {
    1.0
}

impl Part {
    /// Its further rows.
    #[must_use]
    pub fn also(&self) -> Vec<Setup> {
        let setup = |also: &Also| Setup { scheduler: also.scheduler.clone(), settings: also.settings.clone() };
        self.also.iter().map(setup).collect()
    }
}

impl Bench {
    /// Reads it.
    ///
    /// # Errors
    /// When the text is none; the words say where.
    pub fn parse(text: &str) -> std::result::Result<Self, String> {
        let bench: Self = toml::from_str(text).map_err(|error| error.to_string())?;
        if bench.parts.is_empty() {
            return Err("it has no [[part]]".to_owned());
        }
        for (place, part) in bench.parts.iter().enumerate() {
            let wrong = |why: String| format!("part '{}': {why}", part.scenario);
            if bench.parts[..place].iter().any(|other| other.scenario == part.scenario) {
                return Err(wrong("it stands twice".to_owned()));
            }
            if !(0.01..=100.0).contains(&part.scale) {
                return Err(wrong(format!("scale {} is not from 0.01 to 100", part.scale)));
            }
            if part.search_budget == Some(0) {
                return Err(wrong("a search tries at least one setting".to_owned()));
            }
            for (name, value) in part.also.iter().flat_map(|also| &also.settings) {
                plain(name).and_then(|()| plain(value)).map_err(wrong)?;
            }
        }
        Ok(bench)
    }

    /// Reads the file.
    ///
    /// # Errors
    /// When it cannot be read or is none.
    pub fn read(path: &Path) -> Result<Self> {
        let text = std::fs::read_to_string(path).map_err(Error::io("read", path))?;
        Self::parse(&text).map_err(|why| Error::BadFile { path: path.to_owned(), why })
    }

    /// The parts of these names, each with its scenario out of `folder`; where none is named the short ones, or all.
    ///
    /// # Errors
    /// When a name is none of a part, or a scenario cannot be read.
    pub fn parts(&self, names: &[String], all: bool, folder: &Path) -> Result<Vec<(&Part, Scenario)>> {
        if let Some(name) = names.iter().find(|name| self.parts.iter().all(|part| part.scenario != **name)) {
            let known: Vec<&str> = self.parts.iter().map(|part| part.scenario.as_str()).collect();
            return Err(Error::BadOption(format!(
                "kernel/bench.toml has no part '{name}': it has {}",
                known.join(", ")
            )));
        }
        let wanted = |part: &&Part| match names {
            [] => all || part.short,
            names => names.contains(&part.scenario),
        };
        let wanted = self.parts.iter().filter(wanted);
        wanted.map(|part| Ok((part, Scenario::find(folder, &part.scenario)?))).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schedulers::Schedulers;

    #[test]
    fn the_bench_in_the_tree_is_valid_and_its_aims_meet_loads_and_sides() {
        let bench = Bench::parse(include_str!("../../../kernel/bench.toml")).expect("valid");
        let table = Schedulers::parse(include_str!("../../../kernel/schedulers.toml")).expect("valid");
        table.get(&bench.judged).expect("the judged one is known");
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../kernel/scenarios");
        for (part, scenario) in bench.parts(&[], true, &folder).expect("scenarios") {
            for name in part.schedulers.iter().chain(part.also.iter().map(|also| &also.scheduler)) {
                table.get(name).expect("known");
            }
            for aim in &part.aims {
                let words = format!("{}: {}", part.scenario, aim.words);
                let mut loads = scenario.loads.iter().filter(|load| load.name.starts_with(&aim.loads));
                assert!(loads.any(|load| load.sides().iter().any(|side| side.to_string() == aim.side)), "{words}");
                assert!(["", "peers"].contains(&aim.against.as_str()) || table.get(&aim.against).is_ok(), "{words}");
                assert!(aim.at_most > 0.0, "{words}");
            }
        }
        assert!(!bench.parts(&[], false, &folder).expect("scenarios").is_empty(), "the short run measures something");
    }

    #[test]
    fn slips_are_named() {
        let part = "judged = \"bfq\"\n[[part]]\nscenario = \"smoke\"\n";
        for (text, word) in [
            ("judged = \"bfq\"".to_owned(), "part"),
            (part.to_owned() + "[[part]]\nscenario = \"smoke\"", "twice"),
            (part.to_owned() + "scale = 0", "scale"),
            (part.to_owned() + "search_budget = 0", "search"),
            (part.to_owned() + "also = [{ scheduler = \"bfq\", settings = { x = \"1; reboot\" } }]", "plain"),
            (
                part.to_owned() + "[[part.aim]]\nwords = \"w\"\nside = \"read\"\nfigure = \"beauty\"\nat_most = 1",
                "beauty",
            ),
        ] {
            let why = Bench::parse(&text).expect_err(&text);
            assert!(why.contains(word), "{text}: {why}");
        }
        let bench = Bench::parse(part).expect("valid");
        assert!(bench.parts(&["smok".to_owned()], false, Path::new("/nowhere")).is_err());
    }
}
