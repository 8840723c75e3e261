//! Lines, words and numbers in the kernel's text.
//!
//! Kernel text is ASCII with the exception of names that people or makers chose (mount points, models), which may hold
//! any byte. So the cutting is done on bytes, and only what must be a number has to be text.

use std::str::FromStr;

use crate::ParseError;

/// The lines of `bytes` that are not blank, each with its number from 1.
pub(crate) fn lines(bytes: &[u8]) -> impl Iterator<Item = Words<'_>> {
    bytes
        .split(|&byte| byte == b'\n')
        .enumerate()
        .filter(|(_, line)| !line.iter().copied().all(is_blank))
        .map(|(index, line)| Words { line: index + 1, rest: line })
}

/// The words of one line, read from left to right.
#[derive(Debug, Clone)]
pub(crate) struct Words<'a> {
    /// Number of the line from 1.
    pub(crate) line: usize,
    pub(crate) rest: &'a [u8],
}

impl<'a> Words<'a> {
    pub(crate) fn next_word(&mut self) -> Option<&'a [u8]> {
        let start = self.rest.iter().position(|&byte| !is_blank(byte))?;
        let rest = &self.rest[start..];
        let end = rest.iter().position(|&byte| is_blank(byte)).unwrap_or(rest.len());
        let (word, rest) = rest.split_at(end);
        self.rest = rest;
        Some(word)
    }

    /// The next word, which the line must have.
    pub(crate) fn word(&mut self, field: &'static str) -> Result<&'a [u8], ParseError> {
        self.next_word().ok_or(ParseError::MissingField { line: self.line, field })
    }

    /// The next word as a number, which the line must have.
    pub(crate) fn number<T: FromStr>(&mut self, field: &'static str) -> Result<T, ParseError> {
        let word = self.word(field)?;
        number(self.line, field, word)
    }

    /// The next word as a number; `None` at the end of the line.
    pub(crate) fn optional_number<T: FromStr>(&mut self, field: &'static str) -> Result<Option<T>, ParseError> {
        self.next_word().map(|word| number(self.line, field, word)).transpose()
    }
}

/// What stands between two words. The kernel escapes these in names, and no other white space.
fn is_blank(byte: u8) -> bool {
    byte == b' ' || byte == b'\t'
}

/// `word` as a number.
pub(crate) fn number<T: FromStr>(line: usize, field: &'static str, word: &[u8]) -> Result<T, ParseError> {
    std::str::from_utf8(word).ok().and_then(|text| text.parse().ok()).ok_or_else(|| ParseError::BadField {
        line,
        field,
        text: text(word),
    })
}

/// A file that holds one number and nothing else.
pub fn only_number<T: FromStr>(field: &'static str, bytes: &[u8]) -> Result<T, ParseError> {
    number(1, field, bytes.trim_ascii())
}

/// A file or word that holds one number in hexadecimal, with or without `0x`.
pub fn only_hex(line: usize, field: &'static str, word: &[u8]) -> Result<u32, ParseError> {
    let bare = word.trim_ascii();
    let bare = bare.strip_prefix(b"0x").unwrap_or(bare);
    std::str::from_utf8(bare)
        .ok()
        .and_then(|text| u32::from_str_radix(text, 16).ok())
        .ok_or_else(|| ParseError::BadField { line, field, text: text(word) })
}

/// A file that holds 0 or 1.
pub fn only_flag(field: &'static str, bytes: &[u8]) -> Result<bool, ParseError> {
    only_number::<u64>(field, bytes).map(|value| value != 0)
}

/// Bytes as text without white space at the ends; bytes that are no text become the replacement character.
pub fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes.trim_ascii()).into_owned()
}

/// Undoes escapes: `read` gives the byte that the three characters behind a backslash stand for. A backslash that
/// begins no escape stays.
pub(crate) fn unescape(word: &[u8], read: impl Fn(&str) -> Option<u8>) -> Vec<u8> {
    let mut out = Vec::with_capacity(word.len());
    let mut rest = word;
    while let Some((&first, after)) = rest.split_first() {
        let escape = after.get(..3).filter(|_| first == b'\\').and_then(|escape| std::str::from_utf8(escape).ok());
        let (byte, behind) = escape.and_then(&read).map_or((first, after), |byte| (byte, &after[3..]));
        out.push(byte);
        rest = behind;
    }
    out
}

/// Undoes the octal escapes (`\040` for a space) with which the kernel keeps names in one word: fs/seq_file.c,
/// `mangle_path`.
pub(crate) fn unescape_octal(word: &[u8]) -> Vec<u8> {
    let is_octal = |digits: &&str| digits.bytes().all(|digit| (b'0'..=b'7').contains(&digit));
    unescape(word, |digits| Some(digits).filter(is_octal).and_then(|digits| u8::from_str_radix(digits, 8).ok()))
}

/// Splits a path from the kernel's mark of a deleted file. A file whose name really ends so counts as deleted.
pub(crate) fn split_deleted(path: &[u8]) -> (&[u8], bool) {
    match path.strip_suffix(b" (deleted)") {
        Some(path) => (path, true),
        None => (path, false),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn words_are_read_from_left_to_right() {
        let mut words = lines(b"\n  a\t12  \n").next().expect("one line");
        assert_eq!(words.line, 2);
        assert_eq!(words.word("name"), Ok(&b"a"[..]));
        assert_eq!(words.number::<u8>("count"), Ok(12));
        assert_eq!(words.optional_number::<u8>("more"), Ok(None));
        assert_eq!(words.word("last"), Err(ParseError::MissingField { line: 2, field: "last" }));
    }

    #[test]
    fn what_is_no_number_is_shown() {
        assert_eq!(
            only_number::<u8>("f", b"300\n"),
            Err(ParseError::BadField { line: 1, field: "f", text: "300".into() })
        );
        assert_eq!(only_hex(1, "f", b"0x1f\n"), Ok(31));
        assert!(only_hex(1, "f", b"0x\n").is_err());
        assert_eq!(text(b"caf\xe9 "), "caf\u{fffd}");
    }

    #[test]
    fn octal_escapes_are_undone_and_others_kept() {
        for (escaped, plain) in [
            (&br"/mnt/a\040b"[..], &b"/mnt/a b"[..]),
            (br"\134040", br"\040"),
            (br"\777", br"\777"),
            (br"\04", br"\04"),
            (br"tail\", br"tail\"),
            (br"\011\012", b"\t\n"),
        ] {
            assert_eq!(unescape_octal(escaped), plain);
        }
    }

    proptest! {
        #[test]
        fn what_the_kernel_escapes_comes_back(name in prop::collection::vec(any::<u8>(), 0..40)) {
            let mut escaped = Vec::new();
            for &byte in &name {
                if b" \t\n\\#".contains(&byte) {
                    escaped.extend(format!("\\{byte:03o}").bytes());
                } else {
                    escaped.push(byte);
                }
            }
            prop_assert_eq!(unescape_octal(&escaped), name);
        }
    }
}
