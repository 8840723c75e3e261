//! The list of commands in `brisk --help`: by what a person wants, the most used first.

use std::fmt::Write as _;

use brisk_command::{lab, terminal_width};
use clap::Command;

/// Titles of groups, and the commands in each.
const GROUPS: [(&str, &[&str]); 6] = [
    ("Most used", &["status", "doctor", "explain", "bench", "reset"]),
    ("Is it working", &["trial", "apps", "web", "monitor", "replay"]),
    ("Measure this device", &["study", "profile", "tune"]),
    ("Prove and compare", &["report", "compare", "submit"]),
    ("Make it yours", &["setup", "config", "front", "idle", "forget", "sync", "swap", "completions", "man"]),
    ("Laboratory", &["launch", "latency", "phone", "kernel", "predict", "papers"]),
];

/// Width of a line where no terminal tells.
const COLUMNS: usize = 100;
/// Width of names with the space around them.
const NAME_COLUMNS: usize = 15;

/// `command` with a help that lists its subcommands in groups.
pub(crate) fn grouped(command: Command) -> Command {
    let columns = terminal_width().map_or(COLUMNS, |columns| usize::from(columns).clamp(40, COLUMNS));
    let template = format!(
        "{{about-with-newline}}\n{{usage-heading}} {{usage}}\n\n{}\
         {{options-heading}}{{options}}\n\n\
         'brisk' alone shows the status and the next useful command; 'brisk COMMAND --help' explains a command.\n",
        groups(&command, columns)
    );
    command.help_template(template.replace("{options-heading}", "Options:\n"))
}

fn groups(command: &Command, columns: usize) -> String {
    let (title_style, name_style) = (command.get_styles().get_header(), command.get_styles().get_literal());
    let mut text = String::new();
    for (title, names) in GROUPS {
        let package = match (title, lab::program()) {
            ("Laboratory", None) => format!(" (package {}, not installed)", lab::PROGRAM),
            ("Laboratory", Some(_)) => format!(" (package {})", lab::PROGRAM),
            _ => String::new(),
        };
        let _ = writeln!(text, "{title_style}{title}{title_style:#}{package}:");
        for name in names {
            let about = command.find_subcommand(name).and_then(Command::get_about).map(ToString::to_string);
            let about = brisk_report::wrapped(&about.unwrap_or_default(), columns - NAME_COLUMNS);
            for (at, line) in about.lines().enumerate() {
                let name = if at == 0 { *name } else { "" };
                let _ = writeln!(text, "  {name_style}{name:<13}{name_style:#}{line}");
            }
        }
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_command_is_in_one_group() {
        let command = crate::command();
        let mut listed: Vec<&str> = GROUPS.iter().flat_map(|(_, names)| *names).copied().collect();
        let mut all: Vec<&str> = command.get_subcommands().map(Command::get_name).collect();
        listed.sort_unstable();
        all.sort_unstable();
        assert_eq!(listed, all);
    }

    #[test]
    fn no_line_is_longer_than_the_terminal() {
        let text = groups(&crate::command(), 60);
        let text = clap::builder::StyledStr::from(text).to_string();
        assert!(text.lines().filter(|line| line.starts_with("  ")).all(|line| line.chars().count() <= 60), "{text}");
        assert!(text.starts_with("Most used:\n  status       Show what"), "{text}");
    }
}
