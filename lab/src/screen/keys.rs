//! Names of keys: `Return`, `ctrl+o`, `alt+F4`, `a`, `é`.
//!
//! A key is a name of an X keysym (without its `XK_`; media keys as `XF86AudioMute`) or a character. Modifiers come
//! before it, joined with `+`: `ctrl`, `shift`, `alt`, `super`, `altgr`. `ctrl++` is Control with the plus key.
//!
//! Properties: no text makes the parser panic; every character but those that Unicode reserves has a keysym.

use std::collections::HashMap;
use std::sync::OnceLock;

use xkeysym::Keysym;

use crate::screen::interface::{Error, Result};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Modifier {
    Shift,
    Control,
    Alt,
    Super,
    AltGr,
}

impl Modifier {
    fn parse(word: &str) -> Option<Self> {
        Some(match word.to_ascii_lowercase().as_str() {
            "shift" => Self::Shift,
            "ctrl" | "control" => Self::Control,
            "alt" => Self::Alt,
            "super" | "win" | "meta" => Self::Super,
            "altgr" => Self::AltGr,
            _ => return None,
        })
    }

    pub(crate) fn keysym(self) -> Keysym {
        match self {
            Self::Shift => Keysym::Shift_L,
            Self::Control => Keysym::Control_L,
            Self::Alt => Keysym::Alt_L,
            Self::Super => Keysym::Super_L,
            Self::AltGr => Keysym::ISO_Level3_Shift,
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Chord {
    pub(crate) modifiers: Vec<Modifier>,
    pub(crate) keysym: Keysym,
}

/// Parses a key with its modifiers.
pub(crate) fn chord(text: &str) -> Result<Chord> {
    let refuse = |reason: String| Error::Input { input: format!("key '{text}'"), reason };
    let (modifiers, key) = match text.strip_suffix('+') {
        Some("") => ("", "+"),
        Some(before) => match before.strip_suffix('+') {
            Some(modifiers) => (modifiers, "+"),
            None => return Err(refuse("a key has to follow the last '+'".into())),
        },
        None => text.rsplit_once('+').unwrap_or(("", text)),
    };
    let mut held = Vec::new();
    for word in modifiers.split('+').filter(|_| !modifiers.is_empty()) {
        let modifier = Modifier::parse(word)
            .ok_or_else(|| refuse(format!("'{word}' is not a modifier; use ctrl, shift, alt, super or altgr")))?;
        if !held.contains(&modifier) {
            held.push(modifier);
        }
    }
    let keysym = named(key).ok_or_else(|| {
        refuse(format!("'{key}' is not the name of a key; see keysymdef.h without XK_, such as Return"))
    })?;
    Ok(Chord { modifiers: held, keysym })
}

/// The keys that type `text`; line feed is Return.
pub(crate) fn typed(text: &str) -> Result<Vec<Keysym>> {
    text.chars()
        .map(|character| {
            of_character(character).ok_or_else(|| Error::Input {
                input: format!("text {text:?}"),
                reason: format!("no key gives {character:?}"),
            })
        })
        .collect()
}

fn of_character(character: char) -> Option<Keysym> {
    match character {
        '\n' | '\r' => Some(Keysym::Return),
        _ => Some(Keysym::from_char(character)).filter(|keysym| *keysym != Keysym::NoSymbol),
    }
}

fn named(key: &str) -> Option<Keysym> {
    let mut characters = key.chars();
    if let (Some(character), None) = (characters.next(), characters.next()) {
        return of_character(character);
    }
    names().get(key).copied()
}

/// All names of keysyms. The table of `xkeysym` maps numbers to names; it is inverted once, over the assigned ranges
/// (xkbcommon-keysyms.h).
fn names() -> &'static HashMap<String, Keysym> {
    static NAMES: OnceLock<HashMap<String, Keysym>> = OnceLock::new();
    NAMES.get_or_init(|| {
        let plain = 0..=0xffff;
        let unicode = 0x0100_0000..=0x0100_3000;
        let vendors = 0x1008_0000..=0x1008_ffff;
        let mut names = HashMap::new();
        for keysym in plain.chain(unicode).chain(vendors).map(Keysym::new) {
            let name = match keysym.name().and_then(|name| name.split_once("XK_")) {
                Some(("", name)) => name.to_owned(),
                Some((vendor @ "XF86", name)) => format!("{vendor}{name}"),
                _ => continue,
            };
            // The first number is the older and usual one.
            names.entry(name).or_insert(keysym);
        }
        // Further names of a number; the table has only the first.
        for (alias, name) in [
            ("Page_Up", "Prior"),
            ("Page_Down", "Next"),
            ("KP_Page_Up", "KP_Prior"),
            ("KP_Page_Down", "KP_Next"),
            ("quoteright", "apostrophe"),
            ("quoteleft", "grave"),
        ] {
            if let Some(keysym) = names.get(name).copied() {
                names.entry(alias.to_owned()).or_insert(keysym);
            }
        }
        names.remove("NoSymbol");
        names.remove("VoidSymbol");
        names
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn parts(text: &str) -> (Vec<Modifier>, u32) {
        let chord = chord(text).unwrap();
        (chord.modifiers, chord.keysym.raw())
    }

    #[test]
    fn usual_names_of_keys_are_parsed() {
        use Modifier::*;
        let table: &[(&str, &[Modifier], u32)] = &[
            ("Return", &[], 0xff0d),
            ("a", &[], 0x61),
            ("A", &[], 0x41),
            ("é", &[], 0xe9),
            ("€", &[], 0x20ac),
            ("字", &[], 0x0100_5b57),
            ("ctrl+o", &[Control], 0x6f),
            ("Control+o", &[Control], 0x6f),
            ("alt+F4", &[Alt], 0xffc1),
            ("shift+Tab", &[Shift], 0xff09),
            ("ctrl+shift+Escape", &[Control, Shift], 0xff1b),
            ("ctrl+ctrl+a", &[Control], 0x61),
            ("super+space", &[Super], 0x20),
            ("+", &[], 0x2b),
            ("ctrl++", &[Control], 0x2b),
            ("plus", &[], 0x2b),
            ("Page_Down", &[], 0xff56),
            ("Next", &[], 0xff56),
            ("KP_Page_Up", &[], 0xff9a),
            ("KP_Enter", &[], 0xff8d),
            ("XF86AudioMute", &[], 0x1008_ff12),
            ("ISO_Left_Tab", &[], 0xfe20),
        ];
        for (text, modifiers, keysym) in table {
            assert_eq!(parts(text), (modifiers.to_vec(), *keysym), "{text}");
        }
    }

    #[test]
    fn invalid_keys_are_refused_with_a_reason() {
        for (text, reason) in [
            ("", "'' is not the name"),
            ("Retrun", "'Retrun' is not the name"),
            ("ctrl+", "has to follow"),
            ("hyper+a", "'hyper' is not a modifier"),
            ("NoSymbol", "is not the name"),
            ("return", "'return' is not the name"),
        ] {
            let error = chord(text).unwrap_err().to_string();
            assert!(error.contains(reason), "{text}: {error}");
        }
    }

    #[test]
    fn text_is_typed_with_return_and_tab() {
        let keysyms = typed("a\tB\n").unwrap();
        assert_eq!(keysyms, [Keysym::a, Keysym::Tab, Keysym::B, Keysym::Return]);
    }

    proptest! {
        #[test]
        fn no_text_makes_the_parser_panic(text in ".{0,20}") {
            let _ = chord(&text);
            let _ = typed(&text);
        }

        #[test]
        fn a_character_s_keysym_gives_the_character_again(character in "[ -~¡-ÿĀ-ſА-я一-龥😀-😿]") {
            let character = character.chars().next().unwrap();
            prop_assert_eq!(of_character(character).unwrap().key_char(), Some(character));
        }
    }
}
