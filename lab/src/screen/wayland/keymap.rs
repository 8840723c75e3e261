//! A keyboard for Wayland: the US layout with its usual codes, and spare keys for other symbols. Pure.
//!
//! A virtual keyboard has its own keymap, in the text format of libxkbcommon, and the compositor forwards it to the app
//! before the key. A spare key can therefore be reassigned at any time.

use std::collections::VecDeque;
use std::fmt::Write as _;

use xkeysym::Keysym;

use crate::screen::keys::Modifier;

/// Offset of X key codes from those of Linux (input-event-codes.h).
const XKB_OFFSET: u32 = 8;
/// Codes that do not exist on real keyboards.
const SPARE: std::ops::RangeInclusive<u32> = 195..=246;

/// Characters of adjacent keys without and with Shift, from the code of the first.
const ROWS: &[(u32, &str, &str)] = &[
    (2, "1234567890-=", "!@#$%^&*()_+"),
    (16, "qwertyuiop[]", "QWERTYUIOP{}"),
    (30, "asdfghjkl;'`", "ASDFGHJKL:\"~"),
    (43, "\\zxcvbnm,./", "|ZXCVBNM<>?"),
];

const SINGLE: &[(u32, Keysym)] = &[
    (1, Keysym::Escape),
    (14, Keysym::BackSpace),
    (15, Keysym::Tab),
    (28, Keysym::Return),
    (29, Keysym::Control_L),
    (42, Keysym::Shift_L),
    (54, Keysym::Shift_R),
    (55, Keysym::KP_Multiply),
    (56, Keysym::Alt_L),
    (57, Keysym::space),
    (58, Keysym::Caps_Lock),
    (59, Keysym::F1),
    (60, Keysym::F2),
    (61, Keysym::F3),
    (62, Keysym::F4),
    (63, Keysym::F5),
    (64, Keysym::F6),
    (65, Keysym::F7),
    (66, Keysym::F8),
    (67, Keysym::F9),
    (68, Keysym::F10),
    (71, Keysym::KP_7),
    (72, Keysym::KP_8),
    (73, Keysym::KP_9),
    (74, Keysym::KP_Subtract),
    (75, Keysym::KP_4),
    (76, Keysym::KP_5),
    (77, Keysym::KP_6),
    (78, Keysym::KP_Add),
    (79, Keysym::KP_1),
    (80, Keysym::KP_2),
    (81, Keysym::KP_3),
    (82, Keysym::KP_0),
    (83, Keysym::KP_Decimal),
    (87, Keysym::F11),
    (88, Keysym::F12),
    (96, Keysym::KP_Enter),
    (97, Keysym::Control_R),
    (98, Keysym::KP_Divide),
    (99, Keysym::Print),
    (100, Keysym::ISO_Level3_Shift),
    (102, Keysym::Home),
    (103, Keysym::Up),
    (104, Keysym::Prior),
    (105, Keysym::Left),
    (106, Keysym::Right),
    (107, Keysym::End),
    (108, Keysym::Down),
    (109, Keysym::Next),
    (110, Keysym::Insert),
    (111, Keysym::Delete),
    (113, Keysym::XF86_AudioMute),
    (114, Keysym::XF86_AudioLowerVolume),
    (115, Keysym::XF86_AudioRaiseVolume),
    (119, Keysym::Pause),
    (125, Keysym::Super_L),
    (126, Keysym::Super_R),
    (127, Keysym::Menu),
    (158, Keysym::XF86_Back),
    (159, Keysym::XF86_Forward),
];

/// A key by its Linux code, and whether it needs Shift.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Key {
    pub(super) code: u32,
    pub(super) shift: bool,
}

#[derive(Debug)]
pub(super) struct Keymap {
    keys: Vec<(u32, [Keysym; 2])>,
    lent: VecDeque<(u32, Keysym)>,
}

impl Keymap {
    pub(super) fn new() -> Self {
        let rows = ROWS.iter().flat_map(|(first, plain, shifted)| {
            let symbols = plain.chars().zip(shifted.chars());
            (*first..).zip(symbols.map(|(plain, shifted)| [plain, shifted].map(Keysym::from_char)))
        });
        let single = SINGLE.iter().map(|(code, keysym)| (*code, [*keysym; 2]));
        Self { keys: rows.chain(single).collect(), lent: VecDeque::new() }
    }

    pub(super) fn find(&self, keysym: Keysym) -> Option<Key> {
        let own = self.keys.iter().find_map(|(code, [plain, shifted])| {
            let shift = *plain != keysym;
            (!shift || *shifted == keysym).then_some(Key { code: *code, shift })
        });
        let lent =
            || self.lent.iter().find(|(_, lent)| *lent == keysym).map(|(code, _)| Key { code: *code, shift: false });
        own.or_else(lent)
    }

    /// Assigns a spare key to a symbol; without one, reassigns the key that was assigned first.
    pub(super) fn assign(&mut self, keysym: Keysym) -> Key {
        let lent = |code: &u32| self.lent.iter().any(|(used, _)| used == code);
        let free = SPARE.into_iter().find(|code| !lent(code));
        let first = || self.lent.front().map(|(code, _)| *code);
        let code = free.or_else(first).unwrap_or(*SPARE.start());
        self.lent.retain(|(used, _)| *used != code);
        self.lent.push_back((code, keysym));
        Key { code, shift: false }
    }

    pub(super) fn spare(&self) -> usize {
        SPARE.count() - self.lent.len()
    }

    /// The keymap for libxkbcommon (keymap-format-text-v1).
    pub(super) fn text(&self) -> String {
        let lent = self.lent.iter().map(|(code, keysym)| (*code, [*keysym; 2]));
        let all: Vec<(u32, [Keysym; 2])> = self.keys.iter().copied().chain(lent).collect();
        let mut text = String::from("xkb_keymap {\nxkb_keycodes \"brisk\" {\nminimum = 8;\nmaximum = 255;\n");
        for (code, _) in &all {
            // Writing into a string cannot fail.
            let _ = writeln!(text, "<K{code}> = {};", code + XKB_OFFSET);
        }
        text.push_str("};\nxkb_types \"brisk\" { include \"complete\" };\n");
        text.push_str("xkb_compatibility \"brisk\" { include \"complete\" };\nxkb_symbols \"brisk\" {\n");
        for (code, [plain, shifted]) in &all {
            let symbols = if plain == shifted { vec![plain] } else { vec![plain, shifted] };
            let symbols: Vec<String> = symbols.into_iter().map(|symbol| format!("{:#x}", symbol.raw())).collect();
            let _ = writeln!(text, "key <K{code}> {{ [ {} ] }};", symbols.join(", "));
        }
        for (modifier, codes) in
            [("Shift", [42, 54]), ("Control", [29, 97]), ("Mod1", [56, 56]), ("Mod4", [125, 126]), ("Mod5", [100, 100])]
        {
            let _ = writeln!(text, "modifier_map {modifier} {{ <K{}>, <K{}> }};", codes[0], codes[1]);
        }
        text.push_str("};\n};\n");
        text
    }
}

/// Bit of a modifier in the keyboard state (X11 protocol, KEYBUTMASK; bound to keys by the keymap above).
pub(super) fn mask(modifier: Modifier) -> u32 {
    match modifier {
        Modifier::Shift => 1,
        Modifier::Control => 1 << 2,
        Modifier::Alt => 1 << 3,
        Modifier::Super => 1 << 6,
        Modifier::AltGr => 1 << 7,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn usual_characters_are_where_a_us_keyboard_has_them() {
        let keymap = Keymap::new();
        for (character, code, shift) in [
            ('1', 2, false),
            ('!', 2, true),
            ('=', 13, false),
            ('q', 16, false),
            ('}', 27, true),
            ('A', 30, true),
            ('`', 41, false),
            ('\\', 43, false),
            ('z', 44, false),
            ('?', 53, true),
            (' ', 57, false),
        ] {
            assert_eq!(keymap.find(Keysym::from_char(character)), Some(Key { code, shift }), "{character}");
        }
        let unknown = (' '..='~').filter(|character| keymap.find(Keysym::from_char(*character)).is_none());
        assert_eq!(unknown.collect::<String>(), "");
    }

    #[test]
    fn no_code_has_two_keys() {
        let mut codes: Vec<u32> = Keymap::new().keys.iter().map(|(code, _)| *code).chain(SPARE).collect();
        codes.sort_unstable();
        assert!(codes.windows(2).all(|two| two[0] < two[1]), "{codes:?}");
    }

    #[test]
    fn spare_keys_are_assigned_in_turn_and_the_oldest_is_reassigned() {
        let mut keymap = Keymap::new();
        let symbol = |number: u32| Keysym::new(0x0100_4e00 + number);
        let first = keymap.assign(symbol(0));
        assert_eq!(keymap.find(symbol(0)), Some(first));
        for number in 1..SPARE.count() as u32 {
            keymap.assign(symbol(number));
        }
        assert_eq!(keymap.spare(), 0);
        assert_eq!(keymap.assign(symbol(1_000)), first);
        assert_eq!((keymap.find(symbol(0)), keymap.find(symbol(1_000))), (None, Some(first)));
        assert!(keymap.text().contains("key <K195> { [ 0x10051e8 ] };"), "{}", keymap.text());
    }

    #[test]
    fn every_key_of_the_symbols_has_a_code() {
        let text = Keymap::new().text();
        for line in text.lines().filter(|line| line.starts_with("key <")) {
            let name = &line[4..line.find('>').unwrap() + 1];
            assert!(text.contains(&format!("{name} = ")), "{line}");
        }
    }
}
