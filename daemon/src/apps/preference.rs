//! What a person told other programs that end apps about their order, which brisk honours: `--prefer`, `--avoid` and
//! `--ignore` of earlyoom, and `ManagedOOMPreference=` of systemd-oomd.
//!
//! earlyoom's patterns come from the command line of the one that runs, else from `/etc/default/earlyoom`, and are
//! matched against names of processes, as earlyoom does. systemd writes the preference of a unit to its control group:
//! the extended attributes `user.oomd_avoid` and `user.oomd_omit`, of the system's units `trusted.`, which
//! [`Sense::oomd_preference`] reads; an omitted slice omits all below.
//!
//! Properties, each with a test of the same name: `patterns_are_found_however_they_are_given`;
//! `what_is_ignored_goes_before_what_is_avoided_and_that_before_what_is_preferred`.

use brisk_core::app::{EndOrder, Preference};
use brisk_sense::{OomdPreference, Sense};
use regex_lite::Regex;

/// Where Debian and others keep earlyoom's arguments.
const FILES: &[&str] = &["/etc/default/earlyoom", "/etc/conf.d/earlyoom", "/etc/sysconfig/earlyoom"];
const OPTIONS: &[(&str, EndOrder)] =
    &[("--ignore", EndOrder::Never), ("--avoid", EndOrder::Last), ("--prefer", EndOrder::First)];

#[derive(Debug, Default)]
pub struct Preferences {
    patterns: Vec<(EndOrder, &'static str, Regex)>,
    /// Patterns that cannot be understood, a sentence each.
    pub complaints: Vec<String>,
}

impl Preferences {
    /// Those of this machine; `earlyoom` is its process, where it runs.
    #[must_use]
    pub fn read(sense: &Sense, earlyoom: Option<u32>) -> Self {
        let running = earlyoom.and_then(|pid| sense.command_line(pid).ok().flatten());
        if let Some(arguments) = running.filter(|arguments| !arguments.is_empty()) {
            let arguments: Vec<String> = arguments.iter().map(|word| word.to_string_lossy().into_owned()).collect();
            return Self::of_arguments(&arguments);
        }
        let read =
            |path: &&str| brisk_program::files::read_text(&sense.path(path), brisk_program::files::TEXT_BYTES_MAX).ok();
        FILES.iter().find_map(read).map_or_else(Self::default, |text| Self::of_arguments(&arguments_in(&text)))
    }

    fn of_arguments(arguments: &[String]) -> Self {
        let mut preferences = Self::default();
        let mut words = arguments.iter();
        while let Some(word) = words.next() {
            let (name, value) = word.split_once('=').map_or((word.as_str(), None), |(name, value)| (name, Some(value)));
            // getopt_long takes any beginning of a name that is one option's alone.
            let is_meant = |option: &&(&str, EndOrder)| name.len() > 3 && option.0.starts_with(name);
            let Some(&(option, order)) = OPTIONS.iter().find(is_meant).filter(|_| name != "--ignore-root-user") else {
                continue;
            };
            let Some(pattern) = value.map(str::to_owned).or_else(|| words.next().cloned()) else { continue };
            match Regex::new(&pattern) {
                Ok(regex) => preferences.patterns.push((order, option, regex)),
                Err(error) => preferences.complaints.push(format!(
                    "the pattern '{pattern}' of earlyoom {option} cannot be understood, and is not honoured: {error}"
                )),
            }
        }
        preferences
    }

    /// That of an app or a part of one with processes of these names, the first of which is its oldest; `unit` is what
    /// systemd says of its group. What is ignored goes before what is avoided, and that before what is preferred: of
    /// these, one process says it of all.
    #[must_use]
    pub fn of(&self, names: &[&str], unit: Option<OomdPreference>) -> Option<Preference> {
        let of_unit = unit.map(|unit| {
            let (order, word) = match unit {
                OomdPreference::Omit => (EndOrder::Never, "omit"),
                OomdPreference::Avoid => (EndOrder::Last, "avoid"),
            };
            Preference { order, by: format!("systemd's ManagedOOMPreference={word}") }
        });
        let matching = self.patterns.iter().filter_map(|(order, option, regex)| {
            // Of a browser earlyoom prefers one page: all of it is another matter.
            let names = if *order == EndOrder::First { &names[..names.len().min(1)] } else { names };
            let name = names.iter().find(|name| regex.is_match(name))?;
            Some(Preference { order: *order, by: format!("earlyoom {option}, which matches {name}") })
        });
        let place = |preference: &Preference| match preference.order {
            EndOrder::Never => 0,
            EndOrder::Last => 1,
            EndOrder::First => 2,
        };
        of_unit.into_iter().chain(matching).min_by_key(place)
    }
}

/// The arguments in a file of shell variables: `EARLYOOM_ARGS="-r 60 --avoid '^(a|b)$'"`, which may go over several
/// lines, and be added to (`+=`).
fn arguments_in(text: &str) -> Vec<String> {
    let mut arguments = Vec::new();
    for line in shell_lines(text) {
        let Some((name, value)) = line.split_once('=') else { continue };
        let name = name.trim().trim_start_matches("export ").trim();
        let (name, adds) = name.strip_suffix('+').map_or((name, false), |name| (name, true));
        if !["EARLYOOM_ARGS", "command_args", "OPTIONS"].contains(&name) {
            continue;
        }
        let value = value.trim();
        let unquoted = shlex::split(value).map_or_else(|| value.to_owned(), |words| words.join(" "));
        if !adds {
            arguments.clear();
        }
        arguments.extend(shlex::split(&unquoted).unwrap_or_default());
    }
    arguments
}

/// The lines of a shell's text without comments, where a line goes on behind a backslash and within quotes.
fn shell_lines(text: &str) -> Vec<String> {
    let mut lines = vec![String::new()];
    let (mut quote, mut letters) = (None, text.chars().peekable());
    while let Some(letter) = letters.next() {
        let line = lines.last_mut().filter(|line| !line.is_empty());
        let is_word_begin = line.is_none_or(|line| line.ends_with(char::is_whitespace));
        match (quote, letter) {
            (None | Some('"'), '\\') if letters.next_if_eq(&'\n').is_some() => continue,
            (None, '\n') => {
                lines.push(String::new());
                continue;
            }
            (None, '#') if is_word_begin => {
                while letters.next_if(|letter| *letter != '\n').is_some() {}
                continue;
            }
            (None, '"' | '\'') => quote = Some(letter),
            (Some(open), _) if open == letter => quote = None,
            _ => {}
        }
        let escaped = if letter == '\\' && quote != Some('\'') { letters.next() } else { None };
        let letter = if letter == '\n' { ' ' } else { letter };
        lines.last_mut().into_iter().for_each(|line| line.extend([Some(letter), escaped].into_iter().flatten()));
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &[&str]) -> Vec<String> {
        text.iter().map(|&word| word.to_owned()).collect()
    }

    fn order(preferences: &Preferences, names: &[&str]) -> Option<EndOrder> {
        preferences.of(names, None).map(|preference| preference.order)
    }

    #[test]
    fn patterns_are_found_however_they_are_given() {
        let given: [Vec<String>; 9] = [
            words(&["earlyoom", "-r", "60", "--avoid", "(^|/)(sshd|firefox)$", "--prefer", "^hog"]),
            words(&["earlyoom", "--avoid=(^|/)(sshd|firefox)$", "--prefer=^hog"]),
            words(&["earlyoom", "--avo", "(^|/)(sshd|firefox)$", "--pref", "^hog"]),
            arguments_in("# x\nEARLYOOM_ARGS=\"-r 60 --avoid '(^|/)(sshd|firefox)$' --prefer '^hog'\"\n"),
            arguments_in("EARLYOOM_ARGS='--avoid (^|/)(sshd|firefox)$ --prefer ^hog'"),
            arguments_in("EARLYOOM_ARGS=\"-r 60 \\\n --avoid '(^|/)(sshd|firefox)$' \\\n --prefer '^hog'\"\n"),
            arguments_in("# don't\nEARLYOOM_ARGS=\"-r 60\n --avoid '(^|/)(sshd|firefox)$'\n --prefer '^hog'\"\nX='\n"),
            arguments_in("OPTIONS='--avoid (^|/)(sshd|firefox)$' # it's\nOPTIONS+=\" --prefer '^hog'\"\n"),
            arguments_in(
                "command_args=\"-r 9\"\ncommand_args=--avoid\\ \\(^\\|/\\)\\(sshd\\|firefox\\)$\\ --prefer\\ ^hog",
            ),
        ];
        for arguments in &given {
            let preferences = Preferences::of_arguments(arguments);
            assert_eq!(preferences.complaints, [""; 0], "{arguments:?}");
            assert_eq!(order(&preferences, &["firefox"]), Some(EndOrder::Last), "{arguments:?}");
            assert_eq!(order(&preferences, &["hog-2"]), Some(EndOrder::First), "{arguments:?}");
            assert_eq!(order(&preferences, &["firefox-bin"]), None, "{arguments:?}");
        }
        for none in [&[][..], &["earlyoom"], &["earlyoom", "--avoid"], &["earlyoom", "--ignore-root-user", "x"]] {
            assert_eq!(order(&Preferences::of_arguments(&words(none)), &["x"]), None, "{none:?}");
        }
        let wrong = Preferences::of_arguments(&words(&["earlyoom", "--avoid", "(", "--ignore", "^db$"]));
        assert!(wrong.complaints.len() == 1 && order(&wrong, &["db"]) == Some(EndOrder::Never));
        for pattern in ["[[:alpha:]]*ctim", r"\<victim\>", "^victim$"] {
            let given = Preferences::of_arguments(&arguments_in(&format!("EARLYOOM_ARGS=\"--avoid '{pattern}'\"")));
            assert_eq!(order(&given, &["victim"]), Some(EndOrder::Last), "{pattern}");
        }
        // From the machine: the file, and rather the one that runs.
        let root = tempfile::tempdir().expect("a directory");
        let put = |path: &str, text: &str| {
            let path = root.path().join(path);
            std::fs::create_dir_all(path.parent().expect("a folder")).expect("made");
            std::fs::write(path, text).expect("written");
        };
        put("etc/default/earlyoom", "EARLYOOM_ARGS=\"--avoid '^editor$'\"\n");
        put("proc/40/cmdline", "/usr/bin/earlyoom\0--ignore\0^editor$\0");
        let sense = Sense::new(root.path());
        assert_eq!(order(&Preferences::read(&sense, None), &["editor"]), Some(EndOrder::Last));
        assert_eq!(order(&Preferences::read(&sense, Some(40)), &["editor"]), Some(EndOrder::Never));
    }

    #[test]
    fn what_is_ignored_goes_before_what_is_avoided_and_that_before_what_is_preferred() {
        let preferences =
            Preferences::of_arguments(&words(&["earlyoom", "--prefer", "Web", "--avoid", "fire", "--ignore", "db"]));
        assert_eq!(order(&preferences, &["firefox", "Web Content"]), Some(EndOrder::Last));
        assert_eq!(order(&preferences, &["firefox", "db"]), Some(EndOrder::Never));
        assert_eq!(order(&preferences, &["Web Content"]), Some(EndOrder::First));
        // Only a process of it is preferred.
        assert_eq!(order(&preferences, &["browser", "Web Content"]), None);
        let unit = |names: &[&str], unit| preferences.of(names, Some(unit)).map(|one| (one.order, one.by));
        let systemd = "systemd's ManagedOOMPreference=avoid".to_owned();
        assert_eq!(unit(&["x"], OomdPreference::Avoid), Some((EndOrder::Last, systemd)));
        assert_eq!(unit(&["x"], OomdPreference::Omit).map(|one| one.0), Some(EndOrder::Never));
        assert_eq!(unit(&["db"], OomdPreference::Avoid).map(|one| one.0), Some(EndOrder::Never));
    }
}
