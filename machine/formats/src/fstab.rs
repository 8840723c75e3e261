//! The table of file systems, /etc/fstab (fstab(5)): entries of swap areas in a text of the administrator.
//!
//! The text is bytes: comments have any encoding, lines any length and end. Only the entry that is added or taken out
//! changes; `taking_out_what_was_added_is_identity`.

use crate::fields::unescape_octal;

/// An entry: what is switched on, such as `/swapfile` or `UUID=...`, and its options.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FstabSwap {
    /// The first field, without escapes.
    pub spec: Vec<u8>,
    pub options: String,
}

/// A text with an entry, and what is needed to take it out again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FstabAdded {
    pub text: Vec<u8>,
    /// Whether the last line had no end and was given one.
    pub ended_last_line: bool,
}

/// The swap areas that the text names, in its order.
#[must_use]
pub fn fstab_swaps(text: &[u8]) -> Vec<FstabSwap> {
    text.split_inclusive(|byte| *byte == b'\n').filter_map(swap_of).collect()
}

/// Adds an entry for `spec` at the end.
#[must_use]
pub fn add_fstab_swap(text: &[u8], spec: &[u8], options: &str) -> FstabAdded {
    let ended_last_line = text.last().is_some_and(|byte| *byte != b'\n');
    let mut new = text.to_vec();
    if ended_last_line {
        new.push(b'\n');
    }
    new.extend(escaped(spec));
    new.extend(format!(" none swap {options} 0 0\n").bytes());
    FstabAdded { text: new, ended_last_line }
}

/// Takes out each entry for `spec`; `None` where there is none. `ended_last_line` as [`add_fstab_swap`] gave it: where
/// nothing was added behind the entry since then, the line before it loses its end again.
#[must_use]
pub fn remove_fstab_swap(text: &[u8], spec: &[u8], ended_last_line: bool) -> Option<Vec<u8>> {
    let lines = text.split_inclusive(|byte| *byte == b'\n');
    let is_it = |line: &[u8]| swap_of(line).is_some_and(|swap| swap.spec == spec);
    let mut was_last = None;
    let mut kept = Vec::new();
    for line in lines {
        let found = is_it(line);
        was_last = if found { Some(true) } else { was_last.map(|_| false) };
        if !found {
            kept.extend(line);
        }
    }
    if was_last? && ended_last_line && kept.last() == Some(&b'\n') {
        kept.pop();
    }
    Some(kept)
}

fn swap_of(line: &[u8]) -> Option<FstabSwap> {
    let mut fields = line.split(|byte| b" \t\r\n".contains(byte)).filter(|field| !field.is_empty());
    let spec = fields.next().filter(|spec| !spec.starts_with(b"#"))?;
    let (_, kind) = (fields.next()?, fields.next()?);
    let options = String::from_utf8_lossy(fields.next().unwrap_or_default()).into_owned();
    (kind == b"swap").then(|| FstabSwap { spec: unescape_octal(spec), options })
}

/// A word for a field: blanks, and what begins a comment or an escape, as octal numbers.
fn escaped(word: &[u8]) -> Vec<u8> {
    let escape = |byte: &u8| match byte {
        b' ' | b'\t' | b'\n' | b'\r' | b'\\' | b'#' => format!("\\{byte:03o}").into_bytes(),
        _ => vec![*byte],
    };
    word.iter().flat_map(escape).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const OPTIONS: &str = "sw,pri=10";

    #[test]
    fn entries_of_swap_are_found_and_others_are_not() {
        let text =
            b"# /a none swap sw 0 0\n\t/b\tnone\tswap\tsw\t0\t0\r\nUUID=1 none swap\n/c\\040d none swap defaults\n\
            /dev/vda / ext4 rw 0 1\n#caf\xe9\nshort\n/e swap ext4 rw 0 0\n/last none swap sw";
        let found = fstab_swaps(text);
        let specs: Vec<_> = found.iter().map(|swap| String::from_utf8_lossy(&swap.spec).into_owned()).collect();
        assert_eq!(specs, ["/b", "UUID=1", "/c d", "/last"]);
        assert_eq!((found[0].options.as_str(), found[1].options.as_str()), ("sw", ""));
    }

    #[test]
    fn an_entry_is_one_line_at_the_end() {
        for (before, after) in [
            (&b""[..], &b"/a\\040b none swap sw,pri=10 0 0\n"[..]),
            (b"x\n", b"x\n/a\\040b none swap sw,pri=10 0 0\n"),
            (b"# caf\xe9", b"# caf\xe9\n/a\\040b none swap sw,pri=10 0 0\n"),
            (b"x\r\n", b"x\r\n/a\\040b none swap sw,pri=10 0 0\n"),
            (b"\0", b"\0\n/a\\040b none swap sw,pri=10 0 0\n"),
        ] {
            assert_eq!(add_fstab_swap(before, b"/a b", OPTIONS).text, after);
        }
    }

    #[test]
    fn what_others_changed_since_then_stays() {
        let added = add_fstab_swap(b"x", b"/a", OPTIONS);
        let followed = [added.text.as_slice(), b"y"].concat();
        assert_eq!(remove_fstab_swap(&followed, b"/a", added.ended_last_line), Some(b"x\ny".to_vec()));
        // Other options, other blanks: it is the entry of this area still.
        assert_eq!(remove_fstab_swap(b"x\n/a\t none swap  pri=5\ny\n", b"/a", true), Some(b"x\ny\n".to_vec()));
        assert_eq!(remove_fstab_swap(b"#/a none swap sw\n/ab none swap sw\n/a / ext4\n", b"/a", true), None);
    }

    proptest! {
        #[test]
        fn taking_out_what_was_added_is_identity(
            text in prop::collection::vec(prop_oneof![prop::sample::select(&b"\n \r#"[..]), any::<u8>()], 0..200),
            spec in prop::collection::vec(any::<u8>(), 1..20),
        ) {
            prop_assume!(!fstab_swaps(&text).iter().any(|swap| swap.spec == spec));
            let added = add_fstab_swap(&text, &spec, OPTIONS);
            prop_assert_eq!(added.text.iter().filter(|byte| **byte == b'\n').count(),
                text.iter().filter(|byte| **byte == b'\n').count() + 1 + usize::from(added.ended_last_line));
            let found = fstab_swaps(&added.text).pop().expect("the entry");
            prop_assert_eq!((&found.spec, found.options.as_str()), (&spec, OPTIONS));
            prop_assert_eq!(remove_fstab_swap(&added.text, &spec, added.ended_last_line), Some(text));
        }
    }
}
