//! The whole comparison as data (`kernel/bench.toml`): scenarios, lengths, rows, and the aims of each.

use std::collections::BTreeMap;
use std::path::Path;

use serde::Deserialize;

use crate::vm::aims::Aim;
use crate::vm::case::Setup;
use crate::vm::error::{Error, Result};
use crate::vm::scenario::Scenario;
use crate::vm::schedulers::{STOCK, plain};

#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Bench {
    /// The scheduler that the aims are about.
    pub judged: String,
    /// Scenarios, the most important first.
    #[serde(rename = "part")]
    pub parts: Vec<Part>,
}

#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Part {
    pub scenario: String,
    /// Whether it is part of the short run.
    #[serde(default)]
    short: bool,
    /// Scale of the lengths in its file.
    #[serde(default = "one")]
    pub scale: f64,
    /// Schedulers; all of the table by default.
    #[serde(default)]
    pub schedulers: Vec<String>,
    /// Number of settings that a search tries for each scheduler; no search where absent.
    #[serde(default)]
    pub search_budget: Option<usize>,
    /// Additional rows.
    #[serde(default)]
    also: Vec<Also>,
    #[serde(default, rename = "aim")]
    pub aims: Vec<Aim>,
}

#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
struct Also {
    scheduler: String,
    settings: BTreeMap<String, String>,
}

fn one() -> f64 {
    1.0
}

/// Name of all scenarios of hunts together.
const HUNTED: &str = "hunted";

fn counted(files: usize) -> String {
    if files == 1 { "1 file".to_owned() } else { format!("{files} files") }
}

impl Part {
    /// The part of a hunt's scenario: its scheduler and the stock ones, and the aims of its file.
    fn hunted(scenario: &Scenario) -> Self {
        let judged = scenario.judged.iter().filter(|judged| !STOCK.contains(&judged.as_str())).cloned();
        Self {
            scenario: scenario.name.clone(),
            short: false,
            scale: 1.0,
            schedulers: STOCK.iter().map(|name| (*name).to_owned()).chain(judged).collect(),
            search_budget: None,
            also: Vec::new(),
            aims: scenario.aims.clone(),
        }
    }

    /// Its additional rows.
    #[must_use]
    pub fn also(&self) -> Vec<Setup> {
        let setup = |also: &Also| Setup { scheduler: also.scheduler.clone(), settings: also.settings.clone() };
        self.also.iter().map(setup).collect()
    }
}

impl Bench {
    /// Parses a comparison.
    ///
    /// # Errors
    /// When the text is invalid; the message has the place.
    pub fn parse(text: &str) -> std::result::Result<Self, String> {
        let bench: Self = toml::from_str(text).map_err(|error| error.to_string())?;
        if bench.parts.is_empty() {
            return Err("it has no [[part]]".to_owned());
        }
        for (place, part) in bench.parts.iter().enumerate() {
            let wrong = |why: String| format!("part '{}': {why}", part.scenario);
            if bench.parts[..place].iter().any(|other| other.scenario == part.scenario) {
                return Err(wrong("it is listed twice".to_owned()));
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
    /// When the file cannot be read or is invalid.
    pub fn read(path: &Path) -> Result<Self> {
        let text = brisk_program::files::read_text(path, brisk_program::files::TEXT_BYTES_MAX)?;
        Self::parse(&text).map_err(|why| Error::BadFile { path: path.to_owned(), why })
    }

    /// The named parts, each with its scenario from `folder`; without names the short ones, or all. The scenarios of
    /// hunts are parts too, of their names, and all of them together of the name `hunted`; their files have their aims.
    ///
    /// # Errors
    /// When a name is unknown, or a scenario cannot be read.
    pub fn parts(&self, names: &[String], all: bool, folder: &Path) -> Result<Vec<(Part, Scenario)>> {
        let hunted = Scenario::hunted(folder)?;
        let known: Vec<&str> = self.parts.iter().map(|part| part.scenario.as_str()).collect();
        let is_known =
            |name: &str| name == HUNTED || known.contains(&name) || hunted.iter().any(|scenario| scenario.name == name);
        if let Some(name) = names.iter().find(|name| !is_known(name)) {
            return Err(Error::BadOption(format!(
                "kernel/bench.toml has no part '{name}': it has {}; and kernel/scenarios/hunted has {}",
                known.join(", "),
                counted(hunted.len())
            )));
        }
        let wanted = |part: &&Part| match names {
            [] => all || part.short,
            names => names.contains(&part.scenario),
        };
        let wanted = self.parts.iter().filter(wanted);
        let mut parts: Vec<(Part, Scenario)> =
            wanted.map(|part| Ok((part.clone(), Scenario::find(folder, &part.scenario)?))).collect::<Result<_>>()?;
        let named = |scenario: &Scenario| names.iter().any(|name| name == HUNTED || *name == scenario.name);
        let hunted = hunted.into_iter().filter(|scenario| all || named(scenario));
        parts.extend(hunted.map(|scenario| (Part::hunted(&scenario), scenario)));
        Ok(parts)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::vm::schedulers::Schedulers;

    #[test]
    fn the_bench_in_the_tree_is_valid_and_its_aims_meet_loads_and_sides() {
        let bench = Bench::parse(include_str!("../../../kernel/bench.toml")).expect("valid");
        let table = Schedulers::parse(include_str!("../../../kernel/schedulers.toml")).expect("valid");
        table.get(&bench.judged).expect("the judged one is known");
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../kernel/scenarios");
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
    fn scenarios_of_hunts_are_parts_with_their_own_aims() {
        let dir = tempfile::tempdir().expect("a folder");
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../kernel/scenarios");
        std::fs::create_dir(dir.path().join("hunted")).expect("a folder");
        std::fs::copy(folder.join("smoke.toml"), dir.path().join("smoke.toml")).expect("copied");
        let text = std::fs::read_to_string(folder.join("smoke.toml")).expect("read");
        let aim =
            "[[aim]]\nwords = \"w\"\nside = \"read\"\nfigure = \"delay_mean\"\nagainst = \"none\"\nat_most = 2.5\n";
        let file = dir.path().join("hunted/smartio-read-mean-1.toml");
        std::fs::write(&file, format!("judged = \"smartio\"\n{text}\n{aim}")).expect("written");
        let bench = Bench::parse("judged = \"bfq\"\n[[part]]\nscenario = \"smoke\"\nshort = true\n").expect("valid");
        let names = |names: &[&str], all: bool| -> Vec<String> {
            let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
            let parts = bench.parts(&names, all, dir.path()).expect("known");
            parts.iter().map(|(part, scenario)| format!("{} {}", part.scenario, scenario.name)).collect()
        };
        let hunted = "smartio-read-mean-1 smartio-read-mean-1";
        assert_eq!(names(&[], false), ["smoke smoke"], "the short run has none");
        assert_eq!(names(&[], true), ["smoke smoke", hunted]);
        assert_eq!(names(&["hunted"], false), [hunted]);
        assert_eq!(names(&["smartio-read-mean-1"], false), [hunted]);
        let (part, scenario) = bench.parts(&["hunted".to_owned()], false, dir.path()).expect("known").remove(0);
        assert_eq!(part.schedulers, ["none", "mq-deadline", "kyber", "bfq", "smartio"]);
        assert_eq!((part.aims.len(), scenario.judged.as_deref()), (1, Some("smartio")));
        assert!(
            bench.parts(&["smok".to_owned()], false, dir.path()).expect_err("unknown").to_string().contains("1 file")
        );
        // Aims without a scheduler are a mistake.
        std::fs::write(&file, format!("{text}\n{aim}")).expect("written");
        assert!(bench.parts(&["hunted".to_owned()], false, dir.path()).is_err());
    }

    #[test]
    fn mistakes_are_named() {
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
