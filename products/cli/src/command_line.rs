//! Tests over the command line as a whole: what all commands have in common.

use std::any::TypeId;
use std::time::Duration;

use clap::{Arg, Command, CommandFactory as _};

use crate::Cli;

fn whole() -> Command {
    let mut command = Cli::command();
    command.build();
    command
}

/// A paragraph for a command and each of its subcommands: arguments, their defaults and values.
fn describe(command: &Command, path: &str, lines: &mut String) {
    let path = format!("{path}{}", command.get_name());
    lines.push_str(&path);
    let is_shown = |one: &&Arg| !["help", "version"].contains(&one.get_id().as_str());
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
    let mut subcommands: Vec<_> = command.get_subcommands().filter(|one| one.get_name() != "help").collect();
    subcommands.sort_by_key(|subcommand| subcommand.get_name());
    subcommands.iter().for_each(|subcommand| describe(subcommand, &format!("{path} "), lines));
}

#[test]
fn the_command_line_is_as_written_down() {
    let mut lines = String::new();
    describe(&whole(), "", &mut lines);
    snapbox::assert_data_eq!(lines, snapbox::file!["../tests/command_line.txt"]);
}

/// Calls `visit` with each command of the tree, and its words.
fn each(command: &Command, path: &str, visit: &mut dyn FnMut(&str, &Command)) {
    let path = format!("{path} {}", command.get_name()).trim_start().to_owned();
    visit(&path, command);
    let subcommands = command.get_subcommands().filter(|one| one.get_name() != "help");
    subcommands.for_each(|subcommand| each(subcommand, &path, visit));
}

#[test]
fn every_duration_has_one_form() {
    let mut count = 0;
    each(&whole(), "", &mut |path, command| {
        for argument in command.get_arguments() {
            let names: Vec<&str> = argument.get_value_names().unwrap_or_default().iter().map(|name| name.as_str()).collect();
            let is_duration = argument.get_value_parser().type_id() == TypeId::of::<Duration>();
            assert_eq!(is_duration, names == ["TIME"], "{path} {argument}: {names:?}");
            let has_own_unit = names.iter().any(|name| ["SECONDS", "MINUTES", "HOURS", "MS"].contains(name));
            assert!(!has_own_unit, "{path} {argument} counts in a unit of its own: {names:?}");
            count += usize::from(is_duration);
        }
    });
    assert!(count > 10, "{count} durations");
}
