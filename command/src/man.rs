//! Man pages, which packages ship, from the command line itself, so that none is older than its program: what
//! clap_mangen makes of it, with the text after its help in the sections that such pages have.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use jiff::Timestamp;
use jiff::tz::TimeZone;

use crate::output::replace;

/// Arguments of `brisk man` and `brisk-lab man`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Directory for the pages, one for each subcommand; it is made when it is not there
    pub dir: PathBuf,
}

#[derive(Debug)]
pub struct Page {
    pub name: String,
    pub text: String,
}

impl Page {
    /// Writes the page into a directory.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn write(&self, dir: &Path) -> anyhow::Result<()> {
        replace(&dir.join(&self.name), self.text.as_bytes())
    }
}

/// What all pages of one run have in common.
#[derive(Debug)]
pub struct Edition {
    date: String,
    source: String,
}

/// Pages that lead on from others.
const SEE_ALSO: &[(&str, &str)] = &[
    ("brisk", "briskd(8), brisk.toml(5)"),
    ("briskd", "brisk(1), brisk-status(1), brisk-config(1), brisk.toml(5)"),
    ("brisk-config", "briskd(8), brisk.toml(5)"),
    ("brisk-tune", "brisk-profile(1), briskd(8)"),
];

impl Edition {
    /// As of `SOURCE_DATE_EPOCH`, so that the same source makes the same pages, or else of today.
    #[must_use]
    pub fn now() -> Self {
        let given = std::env::var("SOURCE_DATE_EPOCH").ok().and_then(|text| text.parse().ok());
        let at = given.and_then(|second| Timestamp::from_second(second).ok()).unwrap_or_else(Timestamp::now);
        let date = at.to_zoned(TimeZone::UTC).date().to_string();
        Self { date, source: format!("brisk {}", env!("CARGO_PKG_VERSION")) }
    }

    /// The first line of a page.
    #[must_use]
    pub fn title(&self, name: &str, section: &str) -> String {
        format!(".TH {name} {section} {} \"{}\"\n", self.date, self.source)
    }
}

/// Writes the pages of the commands that people call into a directory, which is made when it is not there: those that
/// the laboratory runs, or the others.
///
/// # Errors
/// When one cannot be written.
pub fn write_all(dir: &Path, command: clap::Command, of_lab: bool) -> anyhow::Result<()> {
    std::fs::create_dir_all(dir).with_context(|| format!("cannot make the directory {}", dir.display()))?;
    let mut command = command.disable_help_subcommand(true);
    command.build();
    let edition = Edition::now();
    each(command, &mut Vec::new(), &mut |words, command| match crate::lab::called(words).is_some() == of_lab {
        true => of_command(command, "1", &edition)?.write(dir),
        // The program's own page, beside those of what it runs.
        false if of_lab && words.is_empty() => of_command(command.display_name("brisk-lab"), "1", &edition)?.write(dir),
        false => Ok(()),
    })
}

/// Calls `visit` with each command that people call, and its words without the first.
fn each(
    command: clap::Command,
    words: &mut Vec<String>,
    visit: &mut dyn FnMut(&[String], clap::Command) -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    for subcommand in command.get_subcommands().filter(|subcommand| !subcommand.is_hide_set()) {
        words.push(subcommand.get_name().to_owned());
        each(subcommand.clone(), words, visit)?;
        words.pop();
    }
    visit(words, command)
}

/// The page of a command, which was built, without those of its subcommands.
///
/// # Errors
/// When clap_mangen fails.
pub fn of_command(command: clap::Command, section: &str, edition: &Edition) -> anyhow::Result<Page> {
    let name = command.get_display_name().unwrap_or_else(|| command.get_name()).to_owned();
    let after = command.get_after_long_help().or_else(|| command.get_after_help()).map(ToString::to_string);
    let man = clap_mangen::Man::new(command.after_help(None::<&str>).after_long_help(None::<&str>))
        .title(&name)
        .section(section)
        .date(&edition.date)
        .source(&edition.source);
    let mut text = Vec::new();
    man.render(&mut text).context("cannot write a man page")?;
    let text = tidy(&String::from_utf8(text).context("a man page is not UTF-8")?);
    let mut more = after.map_or_else(String::new, |after| sections(&after));
    if let Some((_, others)) = SEE_ALSO.iter().find(|(of, _)| *of == name) {
        let _ = writeln!(more, ".SH \"SEE ALSO\"\n{}", escape(others));
    }
    let end = text.find(".SH VERSION\n").unwrap_or(text.len());
    let text = format!("{}{more}{}", &text[..end], &text[end..]);
    Ok(Page { name: format!("{name}.{section}"), text })
}

/// With vertical space, which breaks by itself, for a blank line between breaks.
fn tidy(text: &str) -> String {
    text.replace(".br\n\n.br\n", ".sp\n")
}

/// The text after the help of a command as sections.
fn sections(after: &str) -> String {
    let (mut notes, mut codes, mut examples) = (String::new(), String::new(), String::new());
    for paragraph in after.split("\n\n").map(|one| one.trim_matches('\n')).filter(|one| !one.trim().is_empty()) {
        if let Some(lines) = paragraph.strip_prefix("Examples:\n") {
            examples += &block(lines);
            continue;
        }
        let (before, exit) = paragraph.split_once("Exit codes: ").unwrap_or((paragraph, ""));
        for (section, more) in [(&mut notes, before), (&mut codes, exit)] {
            let more = flowing(more);
            let goes_on = section.is_empty() || more.is_empty() || more.starts_with(".PP\n");
            let break_before = if goes_on { "" } else { ".PP\n" };
            *section += &format!("{break_before}{more}");
        }
    }
    let section = |title: &str, text: String| {
        // A title begins a paragraph.
        let text = text.strip_prefix(".PP\n").unwrap_or(&text);
        if text.is_empty() { String::new() } else { format!(".SH {title}\n{text}") }
    };
    [section("NOTES", notes), section("\"EXIT STATUS\"", codes), section("EXAMPLES", examples)].concat()
}

/// Text that is filled, with the lines in it that are indented as they are.
fn flowing(text: &str) -> String {
    let mut roff = String::new();
    let lines: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
    for run in lines.chunk_by(|a, b| a.starts_with(' ') == b.starts_with(' ')) {
        if run[0].starts_with(' ') {
            roff += &block(&run.join("\n"));
        } else {
            let paragraph = if roff.is_empty() { "" } else { ".PP\n" };
            let _ = write!(
                roff,
                "{paragraph}{}",
                run.iter().map(|line| format!("{}\n", escape(line.trim()))).collect::<String>()
            );
        }
    }
    roff
}

#[must_use]
pub fn block(lines: &str) -> String {
    let indent = lines.lines().map(|line| line.len() - line.trim_start().len()).min().unwrap_or(0);
    let lines: String = lines.lines().map(|line| format!("{}\n", escape(&line[indent..]))).collect();
    format!(".PP\n.nf\n.RS 4\n{lines}.RE\n.fi\n")
}

/// Text that roff shows as it is.
#[must_use]
pub fn escape(text: &str) -> String {
    let text = text.replace('\\', "\\e").replace('-', "\\-").replace('\'', "\\(aq").replace('`', "\\(ga");
    if text.starts_with('.') { format!("\\&{text}") } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_text_after_a_help_becomes_sections() {
        let text = sections(
            "What it is.\n\nExamples:\n  brisk x 'y'\n  .hidden\n\nIt ends. Exit codes: 0 done, 2 not possible.",
        );
        assert_eq!(
            text,
            ".SH NOTES\nWhat it is.\n.PP\nIt ends.\n.SH \"EXIT STATUS\"\n0 done, 2 not possible.\n.SH EXAMPLES\n\
             .nf\n.RS 4\nbrisk x \\(aqy\\(aq\n\\&.hidden\n.RE\n.fi\n"
        );
        assert_eq!(sections(""), "");
    }

    #[test]
    fn a_blank_line_between_breaks_is_space_and_other_breaks_stay() {
        assert_eq!(tidy("a\n.br\n\n.br\nb\n.br\nc\n"), "a\n.sp\nb\n.br\nc\n");
    }
}
