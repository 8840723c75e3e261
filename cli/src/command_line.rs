//! Tests over the command line of a program as a whole, `brisk` and `brisk-lab`: what all commands have in common.

use std::any::TypeId;
use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use brisk_command::lab;
use clap::{Arg, Command};

/// Whether this is brisk-lab.
const IS_LAB: bool = matches!(env!("CARGO_PKG_NAME").as_bytes(), b"brisk-lab");

/// The command line of this program, under the name that people call.
fn whole() -> Command {
    let mut command = super::command().name("brisk");
    command.build();
    command
}

/// The subcommands of `command` that this program runs.
fn own<'a>(command: &'a Command, path: &str) -> impl Iterator<Item = &'a Command> {
    let words: Vec<String> = path.split(' ').skip(1).filter(|word| !word.is_empty()).map(str::to_owned).collect();
    command.get_subcommands().filter(move |one| {
        let words: Vec<String> = words.iter().cloned().chain([one.get_name().to_owned()]).collect();
        one.get_name() != "help" && (IS_LAB || lab::called(&words).is_none())
    })
}

/// A paragraph for a command and each of its subcommands: arguments, their defaults and values.
fn describe(command: &Command, path: &str, lines: &mut String) {
    let path = format!("{path}{}", command.get_name());
    lines.push_str(&path);
    // Options of all commands stand with the first.
    let of_all = ["quiet", "verbose", "color"];
    let is_shown = |one: &&Arg| {
        let id = one.get_id().as_str();
        !["help", "version"].contains(&id) && (path == "brisk" || !of_all.contains(&id))
    };
    for argument in command.get_arguments().filter(is_shown) {
        *lines += &format!("\n    {argument}");
        if !argument.get_action().takes_values() {
            continue;
        }
        let possible = argument.get_possible_values();
        if !possible.is_empty() {
            let names: Vec<_> = possible.iter().map(|value| value.get_name()).collect();
            *lines += &format!(" {{{}}}", names.join(","));
        }
        let defaults: Vec<_> = argument.get_default_values().iter().map(|value| value.to_string_lossy()).collect();
        if !defaults.is_empty() {
            *lines += &format!(" = {}", defaults.join(","));
        }
    }
    lines.push('\n');
    let mut subcommands: Vec<_> = own(command, &path).collect();
    subcommands.sort_by_key(|subcommand| subcommand.get_name());
    subcommands.iter().for_each(|subcommand| describe(subcommand, &format!("{path} "), lines));
}

#[test]
fn no_default_in_a_help_text_is_a_long_number_of_bytes() {
    fn check(command: &Command) {
        for value in command.get_arguments().flat_map(|argument| argument.get_default_values()) {
            let text = value.to_string_lossy();
            let long = text.len() > 5 && text.bytes().all(|byte| byte.is_ascii_digit());
            assert!(!long, "{}: write {text} with a unit", command.get_name());
        }
        command.get_subcommands().for_each(check);
    }
    check(&whole());
}

#[test]
fn the_command_line_is_as_written_down() {
    let mut lines = String::new();
    describe(&whole(), "", &mut lines);
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/command_line.txt");
    snapbox::assert_data_eq!(lines, snapbox::Data::read_from(&file, None));
}

/// Calls `visit` with each command of the tree, and its words.
fn each(command: &Command, path: &str, visit: &mut dyn FnMut(&str, &Command)) {
    let path = format!("{path} {}", command.get_name()).trim_start().to_owned();
    visit(&path, command);
    own(command, &path).for_each(|subcommand| each(subcommand, &path, visit));
}

/// Options with different values in different commands, and why.
const OF_DIFFERENT_KINDS: &[(&str, &str)] = if IS_LAB {
    &[
        ("virtual", "profile: a device in a virtual machine; of apps: the size of a virtual screen"),
        ("kernel", "kernel test boots several, the others one"),
    ]
} else {
    &[]
};

#[test]
fn every_duration_has_one_form() {
    let mut count = 0;
    each(&whole(), "", &mut |path, command| {
        for argument in command.get_arguments() {
            let names: Vec<&str> =
                argument.get_value_names().unwrap_or_default().iter().map(|name| name.as_str()).collect();
            let is_duration = argument.get_value_parser().type_id() == TypeId::of::<Duration>();
            assert_eq!(is_duration, names == ["TIME"], "{path} {argument}: {names:?}");
            let has_own_unit = names.iter().any(|name| ["SECONDS", "MINUTES", "HOURS", "MS"].contains(name));
            assert!(!has_own_unit, "{path} {argument} counts in a unit of its own: {names:?}");
            count += usize::from(is_duration);
        }
    });
    assert!(count > 5, "{count} durations");
}

#[test]
fn an_option_has_one_kind_of_value_everywhere() {
    let mut kinds: BTreeMap<String, BTreeMap<String, Vec<String>>> = BTreeMap::new();
    each(&whole(), "", &mut |path, command| {
        for argument in command.get_arguments() {
            let Some(long) = argument.get_long() else { continue };
            let names: Vec<String> =
                argument.get_value_names().unwrap_or_default().iter().map(ToString::to_string).collect();
            kinds.entry(long.to_owned()).or_default().entry(names.join(" ")).or_default().push(path.to_owned());
        }
    });
    assert!(kinds.len() > 50, "{} options", kinds.len());
    kinds.retain(|_, names| names.len() > 1);
    let is_exception = |long: &str| OF_DIFFERENT_KINDS.iter().any(|(known, _)| *known == long);
    let differing: Vec<_> = kinds.iter().filter(|(long, _)| !is_exception(long)).collect();
    assert!(differing.is_empty(), "options with different values: {differing:#?}");
    let stale: Vec<_> = OF_DIFFERENT_KINDS.iter().filter(|(known, _)| !kinds.contains_key(*known)).collect();
    assert!(stale.is_empty(), "exceptions that are none: {stale:?}");
}

/// Commands without `--json`, and why: each other one prints results, which programs read too.
const WITHOUT_JSON: &[(&str, &str)] = if IS_LAB {
    &[("brisk swap generate", "writes a trace; brisk swap show --json has its facts")]
} else {
    &[
        ("brisk web", "shows a page; brisk status --json has its facts"),
        ("brisk man", "writes files"),
        ("brisk completions", "prints a script for a shell"),
        ("brisk monitor export", "is for programs already: a table, a trace or metrics"),
        ("brisk sync run", "becomes the app"),
    ]
};

fn has_optional_value(option: &clap::Arg) -> bool {
    option.get_num_args().is_some_and(|range| (range.min_values(), range.max_values()) == (0, 1))
}

#[test]
fn an_optional_value_is_written_with_an_equals_sign() {
    // Else the option would take the word after it, which is an app, a device or a document.
    each(&whole(), "", &mut |path, command| {
        for option in command.get_arguments().filter(|one| !one.is_positional() && has_optional_value(one)) {
            assert!(option.is_require_equals_set(), "{path} {option}");
        }
    });
}

#[test]
fn every_command_that_shows_results_has_json() {
    let mut lacking = Vec::new();
    let mut exceptions: Vec<&str> = WITHOUT_JSON.iter().map(|(path, _)| *path).collect();
    each(&whole(), "", &mut |path, command| {
        let is_group = command.get_subcommands().next().is_some() && !command.is_args_conflicts_with_subcommands_set();
        if is_group || command.is_hide_set() {
            return;
        }
        let json = command.get_arguments().find(|one| one.get_long() == Some("json"));
        match json {
            Some(json) => {
                // --json, and --json=FILE.
                assert!(has_optional_value(json), "{path} --json");
                assert!(!WITHOUT_JSON.iter().any(|(known, _)| *known == path), "{path} has --json by now");
            }
            None if WITHOUT_JSON.iter().any(|(known, _)| *known == path) => {}
            None => lacking.push(path.to_owned()),
        }
        exceptions.retain(|known| *known != path);
    });
    assert!(lacking.is_empty(), "without --json, and not in the list of exceptions: {lacking:?}");
    assert!(exceptions.is_empty(), "exceptions that are no commands: {exceptions:?}");
}

#[test]
fn every_command_for_people_is_in_the_help() {
    let mut hidden = Vec::new();
    each(&whole(), "", &mut |path, command| {
        if command.is_hide_set() {
            hidden.push(path.to_owned());
        }
    });
    hidden.sort_unstable();
    // Those that brisk and packages start themselves.
    let own = ["compare", "man", "phone inside", "phone write", "profile", "report", "submit"];
    let own: Vec<String> = own.into_iter().map(|name| format!("brisk {name}")).collect();
    assert_eq!(hidden, if IS_LAB { &own[..] } else { &[] });
}

/// Each command of brisk-lab as `brisk` lists it, so that one text stands in both.
#[test]
fn brisk_lists_the_commands_of_brisk_lab() {
    let whole = whole();
    let about = |words: &[&str]| {
        let found = words.iter().try_fold(&whole, |command, word| command.find_subcommand(word));
        found.and_then(Command::get_about).map(ToString::to_string)
    };
    for (words, listed) in lab::COMMANDS {
        assert_eq!(about(words).as_deref(), Some(*listed), "{words:?}");
    }
    let mut more = Vec::new();
    each(&whole, "", &mut |path, command| {
        let words: Vec<&str> = path.split(' ').skip(1).collect();
        let is_group = command.get_subcommands().next().is_some();
        more.extend(
            (IS_LAB && !is_group && !command.is_hide_set() && lab::called(&words).is_none()).then(|| path.to_owned()),
        );
    });
    assert!(more.is_empty(), "not in brisk_command::lab::COMMANDS: {more:?}");
}

#[test]
fn the_section_of_measurements_and_those_of_the_daemon_are_all() {
    let text = brisk_daemon::config::Config::default().to_text();
    let daemon: toml::Table = text.parse().expect("TOML");
    let mut known: Vec<&str> = brisk_command::defaults::SECTIONS.to_vec();
    let mut expected: Vec<&str> = daemon.keys().map(String::as_str).chain(["bench"]).collect();
    known.sort_unstable();
    expected.sort_unstable();
    assert_eq!(known, expected);
}
