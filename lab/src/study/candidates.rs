//! What completions offer for options of the laboratory, by their names.

use crate::flash::Preset;
use crate::phone::Catalogue;
use brisk_command::completion::{Source, of_machine};

use crate::study::suite::arguments::POLICIES;

/// Where the values of an option come from.
pub(crate) fn sources(path: &str, option: &str) -> Option<Source> {
    match (path, option) {
        ("brisk suite cures", "apps") => Some(|| names(["facebook", "webbench"])),
        (_, "preset" | "presets" | "cut-preset") => Some(|| names(Preset::builtin_names())),
        (_, "apps") | ("brisk launch" | "brisk latency", "app") => {
            Some(|| names(Catalogue::builtin().apps.iter().map(|app| app.name.as_str()).chain(["all"])))
        }
        (_, "engines") => Some(|| names(brisk_daemon::engines::NAMES.iter().copied())),
        ("brisk suite relaunch" | "brisk suite day", "policies") => Some(|| names(POLICIES.into_iter().chain(["all"]))),
        ("brisk papers" | "brisk papers run", "rows") => Some(crate::study::papers::names),
        _ => of_machine(path, option),
    }
}

fn names<'a>(names: impl IntoIterator<Item = &'a str>) -> Vec<String> {
    names.into_iter().map(str::to_owned).collect()
}
