//! Tests over the documents: each command that they and the help texts show is one that this version accepts, and each
//! link leads to a file.

use std::path::{Path, PathBuf};

use brisk_command::lab;
use clap::{Command, CommandFactory as _};

fn tree() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..").canonicalize().expect("the tree is the folder above this crate")
}

/// README, CONTRIBUTING and the pages of `docs`, by path.
fn pages() -> Vec<(PathBuf, String)> {
    let tree = tree();
    let mut paths = vec![tree.join("README.md"), tree.join("CONTRIBUTING.md"), tree.join("ARCHITECTURE.md")];
    for folder in ["docs", "docs/how"] {
        let entries = std::fs::read_dir(tree.join(folder)).expect("the folder of documents is there");
        paths.extend(entries.map(|entry| entry.expect("it can be read").path()));
    }
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "md"));
    paths.into_iter().map(|path| (path.clone(), std::fs::read_to_string(path).expect("a page is text"))).collect()
}

/// The lines of a page's shell examples, with lines that end in a backslash joined to the next one.
fn examples(page: &str) -> Vec<String> {
    let mut inside = false;
    let mut lines = Vec::new();
    for line in page.replace("\\\n", " ").lines() {
        if let Some(language) = line.strip_prefix("```") {
            inside = language == "sh";
        } else if inside {
            lines.push(line.to_owned());
        }
    }
    lines
}

/// The commands of a shell line: words, without comments and redirections; what a substitution results in is one word.
fn commands(line: &str) -> Vec<Vec<String>> {
    let mut line = line.to_owned();
    while let Some((before, rest)) = line.split_once("$(") {
        line = format!("{before}0{}", rest.split_once(')').map_or("", |(_, after)| after));
    }
    let mut commands = vec![Vec::new()];
    for word in shlex::split(&line).unwrap_or_default() {
        if !word.starts_with(['>', '<', '|', '&']) {
            commands.last_mut().expect("it has one").push(word.trim_end_matches(';').to_owned());
        }
        if word.ends_with(';') || ["|", "&", "&&"].contains(&word.as_str()) {
            commands.push(Vec::new());
        }
    }
    commands.retain(|words| !words.is_empty());
    commands
}

/// The command line of these words, where this program has it: of `brisk`, or of `brisk-lab`.
fn parser(words: &[String]) -> Option<Command> {
    let is_lab = env!("CARGO_PKG_NAME") == "brisk-lab";
    match words[0].as_str() {
        "brisk" if lab::called(&words[1..]).is_some() == is_lab => Some(super::command()),
        "briskd" if !is_lab => Some(brisk_daemon::command::Arguments::command()),
        _ => None,
    }
}

/// Why this version does not accept a command of an example, if so.
fn refusal(words: &[String]) -> Option<String> {
    let error = parser(words)?.try_get_matches_from(words).err()?;
    Some(format!("{}: {error}", words.join(" ")))
}

#[test]
fn every_command_in_the_documents_is_accepted() {
    let mut refused = Vec::new();
    let mut seen = 0;
    for (path, text) in pages() {
        for words in examples(&text).iter().flat_map(|line| commands(line)) {
            seen += usize::from(parser(&words).is_some());
            refused.extend(refusal(&words).map(|why| format!("{}: {why}", path.display())));
        }
    }
    assert!(refused.is_empty(), "{}", refused.join("\n"));
    assert!(seen > 10, "only {seen} commands were found");
}

#[test]
fn every_command_in_the_examples_of_help_texts_is_accepted() {
    fn check(command: &Command, refused: &mut Vec<String>) {
        let text = command.get_after_help().map(ToString::to_string).unwrap_or_default();
        let lines = text.lines().filter(|line| line.starts_with("  "));
        refused.extend(lines.flat_map(commands).filter_map(|words| refusal(&words)));
        command.get_subcommands().for_each(|subcommand| check(subcommand, refused));
    }
    let mut refused = Vec::new();
    check(&super::command(), &mut refused);
    check(&brisk_daemon::command::Arguments::command(), &mut refused);
    assert!(refused.is_empty(), "{}", refused.join("\n"));
}

#[test]
fn every_link_of_the_documents_leads_to_a_file() {
    let mut broken = Vec::new();
    for (path, text) in pages() {
        let links = text.split("](").skip(1).filter_map(|rest| rest.split(')').next());
        for link in links.filter(|link| !link.contains("://") && !link.starts_with('#')) {
            let file = link.split('#').next().unwrap_or(link);
            if !path.parent().is_some_and(|folder| folder.join(file).exists()) {
                broken.push(format!("{}: {link}", path.display()));
            }
        }
    }
    assert!(broken.is_empty(), "{}", broken.join("\n"));
}

#[test]
fn what_a_line_of_an_example_holds() {
    let words = |line| commands(line).iter().map(|words| words.join(" ")).collect::<Vec<_>>();
    assert_eq!(words("brisk status; brisk apps   # live"), ["brisk status", "brisk apps"]);
    assert_eq!(
        words("brisk launch --vs 'gnumeric --no-splash' -- gnumeric &"),
        ["brisk launch --vs gnumeric --no-splash -- gnumeric"]
    );
    assert_eq!(words("# nothing"), Vec::<String>::new());
}
