//! Text of others on a terminal, and the styles of brisk's own text.
//!
//! *Problem.* Names of programs, control groups, files, windows and devices are chosen by the programs that make them,
//! and a terminal obeys what it is sent: an escape sequence in a name sets its title, moves the cursor or answers in
//! place of the person; a line break forges a line; a mark of direction turns a name around.
//!
//! *Approach.* Text for people is written without escape sequences: styles are marks ([`styled`]) that no keyboard has.
//! [`rendered`] and [`harmless`], one of which every output calls, replace the marks by colours or by nothing and write
//! all else that acts on a terminal as `\u001b`, the form of JSON, so that a JSON text stays one with the same values.
//! A line break in a name cannot be told from one of ours there: [`one_line`] is for names, where they are read and
//! where they are shown.
//!
//! Properties, each with a test of the same name: `nothing_in_a_text_acts_on_a_terminal`;
//! `json_stays_the_same_json`; `a_name_in_a_command_is_one_word`; `styles_are_marks_until_a_text_is_rendered`.

use std::borrow::Cow;

/// How a part of a text looks, by what it means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Style {
    /// In force, complete, improved.
    Good,
    /// Degraded, pending, warned of.
    Caution,
    /// Missing, refused, regressed.
    Bad,
    /// The title of a table or section.
    Heading,
    /// Of less interest than the rest.
    Faint,
}

/// The mark of each style, and what a terminal is sent for it (ECMA-48, SGR). Noncharacters of Unicode: no text that is
/// exchanged has them.
const STYLES: [(char, &str); 5] = [
    ('\u{fdd0}', "\x1b[32m"),
    ('\u{fdd1}', "\x1b[33m"),
    ('\u{fdd2}', "\x1b[31m"),
    ('\u{fdd3}', "\x1b[1m"),
    ('\u{fdd4}', "\x1b[2m"),
];
const STYLE_END: (char, &str) = ('\u{fdd5}', "\x1b[0m");

/// The text with the marks of a style.
#[must_use]
pub fn styled(style: Style, text: &str) -> String {
    if text.is_empty() { String::new() } else { format!("{}{text}{}", STYLES[style as usize].0, STYLE_END.0) }
}

/// Whether it is a mark of a style, which takes no width.
#[must_use]
pub fn is_style(character: char) -> bool {
    ('\u{fdd0}'..=STYLE_END.0).contains(&character)
}

/// Whether a terminal does something else with it than to show it: controls (C0, C1), line and paragraph separators,
/// marks of direction, invisible signs, noncharacters.
#[must_use]
pub fn acts(character: char) -> bool {
    character.is_control()
        || matches!(
            character,
            '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}'
                | '\u{fdd0}'..='\u{fdef}' | '\u{fffe}' | '\u{ffff}'
        )
}

/// A name of others, as a part of a line: nothing in it acts on a terminal, and it has no line break.
#[must_use]
pub fn one_line(name: &str) -> Cow<'_, str> {
    if !name.contains(acts) {
        return Cow::Borrowed(name);
    }
    let mut line = String::with_capacity(name.len() + 16);
    name.chars().for_each(|character| push(&mut line, character));
    Cow::Owned(line)
}

/// A name of others as a word of a command that a person may copy into a shell.
#[must_use]
pub fn shell_word(name: &str) -> String {
    let is_plain = |character: char| character.is_ascii_alphanumeric() || "._-+=:@%/,".contains(character);
    let word = one_line(name);
    if !word.is_empty() && word.chars().all(is_plain) {
        word.into_owned()
    } else {
        format!("'{}'", word.replace('\'', "'\\''"))
    }
}

/// A text with styles as a terminal is to get it: line breaks and tabs stay, styles become colours or nothing, and
/// nothing else in it acts on a terminal.
#[must_use]
pub fn rendered(text: &str, has_colour: bool) -> Cow<'_, str> {
    shown(text, |character| {
        let (_, sent) = STYLES.iter().chain([&STYLE_END]).find(|(mark, _)| *mark == character)?;
        Some(if has_colour { sent } else { "" })
    })
}

/// The same for a text without styles: a document, a line of a log.
#[must_use]
pub fn harmless(text: &str) -> Cow<'_, str> {
    shown(text, |_| None)
}

fn shown(text: &str, style: impl Fn(char) -> Option<&'static str>) -> Cow<'_, str> {
    let stays = |character: char| matches!(character, '\n' | '\t') || !acts(character);
    if text.chars().all(stays) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + 64);
    for character in text.chars() {
        match style(character) {
            Some(sent) => shown.push_str(sent),
            None if stays(character) => shown.push(character),
            None => push(&mut shown, character),
        }
    }
    Cow::Owned(shown)
}

fn push(line: &mut String, character: char) {
    match character {
        '\n' => line.push_str("\\n"),
        '\r' => line.push_str("\\r"),
        '\t' => line.push_str("\\t"),
        _ if acts(character) => line.push_str(&format!("\\u{:04x}", u32::from(character))),
        _ => line.push(character),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOSTILE: &str = "a\x1b[31mb\x1b]0;title\x07c\nd\re\u{9b}2Jf\u{202e}g\u{2066}h\u{200f}i\u{2028}j\x7f\u{fdd2}k";

    #[test]
    fn nothing_in_a_text_acts_on_a_terminal() {
        let line = one_line(HOSTILE);
        assert!(!line.contains(acts), "{line:?}");
        assert_eq!(
            line,
            "a\\u001b[31mb\\u001b]0;title\\u0007c\\nd\\re\\u009b2Jf\\u202eg\\u2066h\\u200fi\\u2028j\\u007f\\ufdd2k"
        );
        for text in [harmless(HOSTILE).into_owned(), rendered(HOSTILE, true).replace(STYLES[2].1, "")] {
            assert!(!text.contains(|one| one != '\n' && acts(one)), "{text:?}");
        }
        for usual in ["", "naïve ✓ — 日本 עברית\tx\n", "\u{200d}"] {
            assert!(matches!(rendered(usual, true), Cow::Borrowed(same) if same == usual), "{usual:?}");
        }
    }

    #[test]
    fn json_stays_the_same_json() {
        let value = serde_json::json!({ HOSTILE: [HOSTILE, 1] });
        let text = serde_json::to_string_pretty(&value).expect("JSON");
        let shown = harmless(&text);
        assert!(!shown.contains(|one| one != '\n' && acts(one)), "{shown:?}");
        let (shown, text): (serde_json::Value, serde_json::Value) =
            (serde_json::from_str(&shown).expect("JSON"), serde_json::from_str(&text).expect("JSON"));
        assert_eq!(shown, text);
    }

    #[test]
    fn a_name_in_a_command_is_one_word() {
        for (name, word) in [
            ("org.gnome.Evince", "org.gnome.Evince"),
            ("", "''"),
            ("a b", "'a b'"),
            ("x; rm -rf ~ #", "'x; rm -rf ~ #'"),
            ("it's $(id)\n", "'it'\\''s $(id)\\n'"),
        ] {
            assert_eq!(shell_word(name), word);
        }
    }

    #[test]
    fn styles_are_marks_until_a_text_is_rendered() {
        let text = format!("{} is {}", styled(Style::Good, "a"), styled(Style::Bad, "b"));
        assert!(!text.contains('\x1b'));
        assert_eq!(rendered(&text, true), "\x1b[32ma\x1b[0m is \x1b[31mb\x1b[0m");
        assert_eq!(rendered(&text, false), "a is b");
        assert_eq!(styled(Style::Faint, ""), "");
        for (style, (mark, _)) in
            [Style::Good, Style::Caution, Style::Bad, Style::Heading, Style::Faint].into_iter().zip(STYLES)
        {
            assert!(styled(style, "x").starts_with(mark) && is_style(mark), "{style:?}");
        }
    }
}
