//! Texts that may leave a device. Each is built by its `of`, which removes or refuses what is not of its form.

use schemars::JsonSchema;
use serde::Serialize;

macro_rules! text {
    ($(#[$doc:meta])* $name:ident, $pattern:literal) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, JsonSchema)]
        #[serde(transparent)]
        pub struct $name(#[schemars(regex(pattern = $pattern))] String);

        impl $name {
            /// The text.
            #[must_use]
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }
    };
}

text!(
    /// An identifier of brisk or of the kernel: a knob with its value, a code, an architecture. One slash at most, and
    /// not first: no path.
    Word,
    "^[a-z0-9][a-z0-9_.+-]{0,39}(/[a-z0-9_.+-]{1,40})?$"
);
text!(
    /// The name of a model or a firmware revision: at most 64 letters, digits, spaces and `.,()+_-`.
    Name,
    "^[A-Za-z0-9][A-Za-z0-9 .,()+_-]{0,63}$"
);
text!(
    /// A version: two or three numbers.
    Release,
    r"^[0-9]{1,4}\.[0-9]{1,4}(\.[0-9]{1,4})?$"
);
text!(
    /// A day in UTC, as in `2026-10-05`: of this century, and one that the calendar has. Its years without a remainder
    /// by 4 are leap years.
    Day,
    "^20\
     ([0-9]{2}-((0[13578]|1[02])-(0[1-9]|[12][0-9]|3[01])|(0[469]|11)-(0[1-9]|[12][0-9]|30)|02-(0[1-9]|1[0-9]|2[0-8]))\
     |([02468][048]|[13579][26])-02-29)$"
);
text!(
    /// 32 bytes in hexadecimal digits.
    Hex,
    "^[0-9a-f]{64}$"
);

impl Word {
    /// `text` where it is a word; `None` otherwise.
    #[must_use]
    pub fn of(text: &str) -> Option<Self> {
        let (first, second) = text.split_once('/').unwrap_or((text, "x"));
        let is_part = |part: &str| {
            let rest = part.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b"_.+-".contains(&b));
            (1..=40).contains(&part.len()) && rest
        };
        let begins = text.bytes().next().is_some_and(|b| b.is_ascii_lowercase() || b.is_ascii_digit());
        (begins && is_part(first) && is_part(second) && !is_address(text)).then(|| Self(text.to_owned()))
    }
}

impl Name {
    /// What of `text` names a model: without characters of other forms, addresses, paths, labelled serial numbers, and
    /// the `private` words. `None` where nothing is left.
    #[must_use]
    pub fn of(text: &str, private: &[String]) -> Option<Self> {
        let mut kept: Vec<String> = Vec::new();
        let mut words = text.split_whitespace().peekable();
        while let Some(word) = words.next() {
            match serial_label(word) {
                // `SN: 1234`: the next word is the number.
                Some(Label::Alone) => {
                    words.next();
                }
                Some(Label::WithNumber) => {}
                None if is_private(word, private) || is_address(word) || word.contains(['/', '\\', '@']) => {}
                None => {
                    let allowed = |c: char| c.is_ascii_alphanumeric() || ".,()+_-".contains(c);
                    let word: String = word.chars().filter(|c| allowed(*c)).collect();
                    if !word.is_empty() {
                        kept.push(word);
                    }
                }
            }
        }
        let whole = kept.join(" ");
        let whole = whole.trim_start_matches(|c: char| !c.is_ascii_alphanumeric());
        let cut: String = whole.chars().take(64).collect();
        let cut = cut.trim_end().to_owned();
        (!cut.is_empty()).then_some(Self(cut))
    }
}

impl Release {
    /// The first two numbers of a release, such as `6.12` of `6.12.1-name-of-a-machine`; `None` where it begins
    /// otherwise.
    #[must_use]
    pub fn of(text: &str) -> Option<Self> {
        let mut parts = text.split('.').map(|part| {
            let digits: String = part.chars().take_while(char::is_ascii_digit).take(4).collect();
            digits
        });
        let (major, minor) = (parts.next()?, parts.next()?);
        (!major.is_empty() && !minor.is_empty()).then(|| Self(format!("{major}.{minor}")))
    }
}

impl Day {
    /// The day of a time in RFC 3339 and UTC.
    #[must_use]
    pub fn of(started: &str) -> Option<Self> {
        let day = started.get(..10)?;
        let bytes = day.as_bytes();
        let digits = [0, 1, 2, 3, 5, 6, 8, 9].into_iter().all(|at| bytes[at].is_ascii_digit());
        if !(digits && bytes[4] == b'-' && bytes[7] == b'-' && day.starts_with("20")) {
            return None;
        }
        let number = |from: usize| day[from..from + 2].parse::<u32>().unwrap_or(0);
        let days = match number(5) {
            1 | 3 | 5 | 7 | 8 | 10 | 12 => 31,
            4 | 6 | 9 | 11 => 30,
            2 if number(2) % 4 == 0 => 29,
            2 => 28,
            _ => 0,
        };
        (1..=days).contains(&number(8)).then(|| Self(day.to_owned()))
    }
}

impl Hex {
    /// The digits of `bytes`.
    #[must_use]
    pub fn of(bytes: &[u8; 32]) -> Self {
        Self(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
    }
}

enum Label {
    /// The number is the next word.
    Alone,
    /// The number follows in the same word.
    WithNumber,
}

/// Whether a word announces a serial number.
fn serial_label(word: &str) -> Option<Label> {
    let lower = word.to_ascii_lowercase();
    let rest = ["serial", "s/n", "sn:", "sn=", "sn#", "uuid", "imei", "wwn"]
        .iter()
        .find_map(|label| lower.strip_prefix(label));
    let rest = if lower == "sn" { Some("") } else { rest };
    rest.map(|rest| {
        let has_digit = rest.bytes().any(|b| b.is_ascii_digit());
        if has_digit { Label::WithNumber } else { Label::Alone }
    })
}

/// Whether a word is one of these, or has one beside its punctuation. A part of a word is none: SAMSUNG is not sam.
fn is_private(word: &str, private: &[String]) -> bool {
    let is_inner = |one: char| one.is_alphanumeric() || one == '-';
    let is_it = |part: &str| private.iter().any(|name| part.to_lowercase() == name.to_lowercase());
    word.split(|one| !is_inner(one)).any(|part| is_it(part.trim_matches('-')))
}

/// Whether a word has the form of an IPv4, IPv6 or hardware address, of a host in a domain, or of a UUID.
fn is_address(word: &str) -> bool {
    let word = word.trim_matches(|c: char| "()[],;".contains(c));
    let hex = |part: &str| !part.is_empty() && part.len() <= 12 && part.bytes().all(|b| b.is_ascii_hexdigit());
    let dotted: Vec<&str> = word.split('.').collect();
    let is_v4 = dotted.len() == 4 && dotted.iter().all(|part| part.parse::<u8>().is_ok());
    let is_label = |part: &&str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-');
    let is_top = |part: &&str| part.len() > 1 && part.bytes().all(|b| b.is_ascii_alphabetic());
    let is_host = dotted.len() > 2 && dotted.iter().all(is_label) && dotted.last().is_some_and(is_top);
    let by_colon: Vec<&str> = word.split(':').collect();
    let is_colons = by_colon.len() >= 3 && by_colon.iter().all(|part| part.is_empty() || hex(part));
    let by_dash: Vec<&str> = word.split('-').collect();
    let is_mac = by_dash.len() == 6 && by_dash.iter().all(|part| part.len() == 2 && hex(part));
    let is_uuid =
        by_dash.len() == 5 && by_dash.iter().zip([8, 4, 4, 4, 12]).all(|(part, len)| part.len() == len && hex(part));
    is_v4 || is_host || is_colons || is_mac || is_uuid
}
