//! What completions offer for options of the laboratory, by their names.

use crate::flash::Preset;
use crate::phone::Catalogue;
use brisk_command::completion::{Source, of_machine};

/// Where the values of an option come from.
pub(crate) fn sources(path: &str, option: &str) -> Option<Source> {
    match (path, option) {
        ("brisk study cures", "apps") => Some(|| names(["facebook", "webbench"])),
        (_, "preset" | "presets" | "cut-preset") => Some(|| names(Preset::builtin_names())),
        (_, "apps") | ("brisk phone launch" | "brisk phone latency", "launched" | "app") => {
            Some(|| names(Catalogue::builtin().apps.iter().map(|app| app.name.as_str())))
        }
        ("brisk papers" | "brisk papers run", "rows") => Some(crate::study::papers::names),
        _ => of_machine(path, option),
    }
}

fn names<'a>(names: impl IntoIterator<Item = &'a str>) -> Vec<String> {
    names.into_iter().map(str::to_owned).collect()
}
