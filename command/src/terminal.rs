//! The terminal in front of a person: how much is said, colours, and signs that the locale may lack.
//!
//! Texts for people are written with styles and Unicode signs. [`shown`], through which [`crate::print`] and all else
//! that writes to the terminal goes, removes the styles where colour is not wanted (`--color`, `NO_COLOR`,
//! `CLICOLOR_FORCE`, no terminal), replaces the signs where the locale is not UTF-8, and writes what would act on the
//! terminal as text ([`brisk_core::text`]): names of others are in most texts. So this file is the only one that knows
//! either. Documents for programs go through [`crate::print_exactly`].

use std::borrow::Cow;
use std::ffi::OsStr;
use std::io::IsTerminal as _;
use std::sync::OnceLock;

use brisk_core::text::{self, Style, styled};
use brisk_report::{Meaning, View};
use indicatif::{ProgressBar, ProgressStyle};

/// Options that all commands have, with the same meaning.
#[derive(Debug, Clone, Copy, Default, clap::Args)]
#[command(next_help_heading = "Options of all commands")]
pub struct Options {
    /// Print results, warnings and errors only: no progress, no remarks
    #[arg(short, long, global = true, conflicts_with = "verbose")]
    quiet: bool,
    /// Also print each step and what was read for it
    #[arg(short, long, global = true)]
    verbose: bool,
    /// Colour in texts; auto: on a terminal, unless NO_COLOR is set
    #[arg(long, global = true, value_name = "WHEN", value_enum, default_value_t)]
    color: When,
}

/// When texts have colour.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum When {
    #[default]
    Auto,
    Always,
    Never,
}

/// The choice of this process; the default until [`Options::apply`].
static CHOSEN: OnceLock<Options> = OnceLock::new();

impl Options {
    /// Makes them those of this process. Later calls change nothing.
    ///
    /// # Errors
    /// When both quiet and verbose are wanted: one before the subcommand and one after it, where clap does not see
    /// both.
    pub fn apply(self) -> anyhow::Result<()> {
        if self.quiet && self.verbose {
            anyhow::bail!("--quiet and --verbose exclude each other: give one of them");
        }
        let choice = match self.color {
            When::Auto => anstream::ColorChoice::Auto,
            When::Always => anstream::ColorChoice::Always,
            When::Never => anstream::ColorChoice::Never,
        };
        choice.write_global();
        CHOSEN.get_or_init(|| self);
        Ok(())
    }
}

fn chosen() -> Options {
    CHOSEN.get().copied().unwrap_or_default()
}

/// Whether only results, warnings and errors are printed (`--quiet`).
#[must_use]
pub fn is_quiet() -> bool {
    chosen().quiet
}

/// Whether each step is printed (`--verbose`).
#[must_use]
pub fn is_verbose() -> bool {
    chosen().verbose
}

/// Prints a remark to standard error, unless that is unwanted (`--quiet`): what was repaired, where something is kept.
pub fn remark(text: &str) {
    if !is_quiet() {
        log(brisk_program::log::Level::Info, text);
    }
}

/// Writes a text to standard error, with colours and signs that the terminal has. What cannot be written is lost.
pub fn log(level: brisk_program::log::Level, text: &str) {
    let has_colour = anstream::AutoStream::choice(&std::io::stderr()) != anstream::ColorChoice::Never;
    brisk_program::log::styled_line(level, &for_locale(text), has_colour);
}

/// Prints a step to standard error where that is wanted (`--verbose`).
pub fn step(text: &str) {
    if is_verbose() {
        log(brisk_program::log::Level::Info, text);
    }
}

/// A text as standard output is to get it: with colours and signs that the terminal has, and nothing else in it acts on
/// the terminal.
#[must_use]
pub fn shown(text: &str) -> String {
    let has_colour = anstream::AutoStream::choice(&std::io::stdout()) != anstream::ColorChoice::Never;
    text::rendered(&for_locale(text), has_colour).into_owned()
}

/// In force, complete, improved.
#[must_use]
pub fn good(text: &str) -> String {
    styled(Style::Good, text)
}

/// Degraded, pending, warned of.
#[must_use]
pub fn caution(text: &str) -> String {
    styled(Style::Caution, text)
}

/// Missing, refused, regressed.
#[must_use]
pub fn bad(text: &str) -> String {
    styled(Style::Bad, text)
}

/// The title of a table or section.
#[must_use]
pub fn heading(text: &str) -> String {
    styled(Style::Heading, text)
}

/// Of less interest than the rest.
#[must_use]
pub fn faint(text: &str) -> String {
    styled(Style::Faint, text)
}

/// `text` without styles.
#[must_use]
pub fn plain(text: &str) -> String {
    text::rendered(text, false).into_owned()
}

/// The first `width` characters of a line; styles take no width, and end with the line.
#[must_use]
pub fn cut(line: &str, width: usize) -> String {
    let mut count = 0;
    let fits = |character: &char| {
        let is_style = text::is_style(*character);
        count += usize::from(!is_style);
        is_style || count <= width
    };
    line.chars().filter(fits).collect()
}

/// How this terminal shows documents: its width, and the colours of what a text means.
#[must_use]
pub fn view() -> View {
    let style = |meaning: Meaning, text: &str| match meaning {
        Meaning::Heading => heading(text),
        Meaning::Warning => caution(text),
        Meaning::Improved => good(text),
        Meaning::Regressed => bad(text),
    };
    View { width: crate::terminal_width(), style: Some(style) }
}

/// Whether the locale of a process with these variables has UTF-8: the first of LC_ALL, LC_CTYPE and LANG that is set
/// names it (setlocale(3)); where none is, the locale is C, which has ASCII.
pub(crate) fn is_utf8(variable: impl Fn(&str) -> Option<std::ffi::OsString>) -> bool {
    let mut names = ["LC_ALL", "LC_CTYPE", "LANG"].into_iter();
    let locale = names.find_map(|name| variable(name).filter(|value| !value.is_empty())).unwrap_or_default();
    let charset = locale.to_string_lossy().to_ascii_lowercase();
    charset.contains("utf-8") || charset.contains("utf8")
}

fn has_utf8() -> bool {
    static HAS: OnceLock<bool> = OnceLock::new();
    *HAS.get_or_init(|| is_utf8(|name| std::env::var_os(name)))
}

/// `text` with signs that the locale has.
#[must_use]
pub fn for_locale(text: &str) -> Cow<'_, str> {
    if has_utf8() || text.is_ascii() { Cow::Borrowed(text) } else { Cow::Owned(ascii(text)) }
}

/// The signs of brisk's texts in ASCII. Bars keep their length; a sign that gets longer takes the room from the blanks
/// after it, so columns stay in line. Other characters, such as those of names, are the user's and stay.
#[must_use]
pub(crate) fn ascii(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    // Characters by which the line is longer than it was.
    let (mut longer, mut blanks) = (0, 0);
    for character in text.chars() {
        match character {
            '\n' => (longer, blanks) = (0, 0),
            ' ' => {
                blanks += 1;
                // One blank stays between columns.
                if blanks > 1 && longer > 0 {
                    longer -= 1;
                    continue;
                }
            }
            _ => blanks = 0,
        }
        match sign(character) {
            Some(sign) => {
                out.push_str(sign);
                longer += sign.len() - 1;
            }
            None => out.push(character),
        }
    }
    out
}

fn sign(character: char) -> Option<&'static str> {
    Some(match character {
        '─' | '–' | '—' | '·' | '−' => "-",
        '━' => "=",
        '│' => "|",
        '█' | '▇' | '▉' | '▊' => "#",
        '▆' => "*",
        '▅' | '▋' => "+",
        '▄' | '▌' => "=",
        '▃' | '▍' => "-",
        '▂' | '▎' => ":",
        '▁' | '▏' => ".",
        '…' => "...",
        '±' => "+-",
        'µ' | 'μ' => "u",
        '×' => "x",
        '÷' => "/",
        '≤' => "<=",
        '≥' => ">=",
        '≈' => "~",
        '✓' => "+",
        '✗' => "!",
        '→' => "->",
        '’' | '‘' => "'",
        '“' | '”' => "\"",
        _ => return None,
    })
}

/// A progress bar on a terminal; nothing elsewhere, with `--quiet`, or with `--verbose`, which prints the steps
/// instead.
pub(crate) fn bar(steps: u64) -> ProgressBar {
    let style = ProgressStyle::with_template("{bar:30} {percent:>3} %  {elapsed}  {msg}");
    match style {
        Ok(style) if shows_progress() => {
            let style = if has_utf8() { style } else { style.progress_chars("#-") };
            ProgressBar::new(steps).with_style(style)
        }
        _ => ProgressBar::hidden(),
    }
}

/// A sign that turns while something of unknown length happens, where a progress bar would show.
#[must_use]
pub fn spinner() -> ProgressBar {
    if !shows_progress() {
        return ProgressBar::hidden();
    }
    let spinner = ProgressBar::new_spinner();
    if !has_utf8() {
        spinner.set_style(ProgressStyle::default_spinner().tick_chars("|/-\\ "));
    }
    spinner.enable_steady_tick(std::time::Duration::from_millis(100));
    spinner
}

fn shows_progress() -> bool {
    let dumb = std::env::var_os("TERM").is_some_and(|term| term == OsStr::new("dumb"));
    std::io::stderr().is_terminal() && !dumb && !is_quiet() && !is_verbose()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_variable_that_is_set_names_the_locale() {
        let locale = |all: &[(&str, &str)]| {
            is_utf8(|name| all.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).into()))
        };
        assert!(locale(&[("LANG", "de_DE.UTF-8")]) && locale(&[("LC_ALL", "C.utf8"), ("LANG", "C")]));
        assert!(locale(&[("LC_ALL", ""), ("LC_CTYPE", "en_US.UTF-8"), ("LANG", "C")]));
        assert!(!locale(&[("LC_ALL", "C"), ("LANG", "de_DE.UTF-8")]) && !locale(&[("LANG", "de_DE.ISO-8859-1")]));
        assert!(!locale(&[]));
    }

    #[test]
    fn signs_become_ascii_and_columns_stay_in_line() {
        let text =
            "Footprint · /data\n━━━━━\n  8 MiB   2.40 ±2 %    2.35 to 2.45  ████▌ then ÷4.00…\n 64 MiB  187 µs  ≤ 3×";
        let plain = ascii(text);
        assert!(plain.is_ascii(), "{plain}");
        let lines: Vec<&str> = plain.lines().collect();
        assert_eq!(lines[1], "=====");
        assert_eq!(lines[2], "  8 MiB   2.40 +-2 %   2.35 to 2.45  ####= then /4.00...");
        assert_eq!(ascii("naïve.txt"), "naïve.txt");
    }

    #[test]
    fn every_sign_of_a_report_has_one_in_ascii() {
        for text in [
            include_str!("../../report/src/format.rs"),
            include_str!("../../report/src/table.rs"),
            include_str!("../../report/src/effect.rs"),
        ] {
            assert!(
                ascii(text).is_ascii(),
                "{:?}",
                ascii(text).chars().filter(|one| !one.is_ascii()).collect::<String>()
            );
        }
    }

    #[test]
    fn styles_take_no_width_and_end_with_the_line() {
        let end = good("x").chars().last().expect("a mark");
        let line = format!("{} is {}", good("scheduler"), bad("missing"));
        assert_eq!(plain(&line), "scheduler is missing");
        for width in [0, 3, 12, 14, 99] {
            let cut = cut(&line, width);
            assert_eq!(plain(&cut), plain(&line).chars().take(width).collect::<String>());
            assert!(cut.ends_with(end), "{cut:?}");
        }
    }
}
