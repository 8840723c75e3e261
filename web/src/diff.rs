//! What differs between two texts, line by line: the longest common subsequence. Pure.
//!
//! Property: `the_two_sides_are_the_two_texts`.

/// Unchanged lines that are shown around a change.
const CONTEXT: usize = 2;
/// Beyond so many pairs of lines between the first and the last change, all of them count as changed.
const PAIRS_MAX: usize = 4_000_000;

/// A line of a difference.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Line<'a> {
    Same(&'a str),
    Removed(&'a str),
    Added(&'a str),
    /// So many unchanged lines are left out.
    Gap(usize),
}

/// The difference from `before` to `after`, with unchanged lines around changes; empty where there is none.
pub(crate) fn diff<'a>(before: &'a str, after: &'a str) -> Vec<Line<'a>> {
    shortened(&whole(before, after))
}

fn whole<'a>(before: &'a str, after: &'a str) -> Vec<Line<'a>> {
    let (old, new): (Vec<&str>, Vec<&str>) = (before.lines().collect(), after.lines().collect());
    let begin = old.iter().zip(&new).take_while(|(a, b)| a == b).count();
    let (old_rest, new_rest) = (&old[begin..], &new[begin..]);
    let end = old_rest.iter().rev().zip(new_rest.iter().rev()).take_while(|(a, b)| a == b).count();
    let (removed, added) = (&old_rest[..old_rest.len() - end], &new_rest[..new_rest.len() - end]);
    let mut lines: Vec<Line<'_>> = old[..begin].iter().map(|line| Line::Same(line)).collect();
    lines.extend(middle(removed, added));
    lines.extend(old[old.len() - end..].iter().map(|line| Line::Same(line)));
    lines
}

fn middle<'a>(old: &[&'a str], new: &[&'a str]) -> Vec<Line<'a>> {
    if old.len().saturating_mul(new.len()) > PAIRS_MAX {
        return old.iter().map(|line| Line::Removed(line)).chain(new.iter().map(|line| Line::Added(line))).collect();
    }
    // Length of the longest common part of what follows each pair of places.
    let width = new.len() + 1;
    let mut lengths = vec![0_u32; (old.len() + 1) * width];
    for (i, a) in old.iter().enumerate().rev() {
        for (j, b) in new.iter().enumerate().rev() {
            let at = i * width + j;
            lengths[at] = match a == b {
                true => lengths[at + width + 1] + 1,
                false => lengths[at + width].max(lengths[at + 1]),
            };
        }
    }
    let (mut i, mut j, mut lines) = (0, 0, Vec::new());
    while i < old.len() || j < new.len() {
        let at = i * width + j;
        match (old.get(i), new.get(j)) {
            (Some(a), Some(b)) if a == b => {
                lines.push(Line::Same(a));
                (i, j) = (i + 1, j + 1);
            }
            (Some(a), b) if b.is_none() || lengths[at + width] >= lengths[at + 1] => {
                lines.push(Line::Removed(a));
                i += 1;
            }
            (_, Some(b)) => {
                lines.push(Line::Added(b));
                j += 1;
            }
            (_, None) => break,
        }
    }
    lines
}

fn shortened<'a>(lines: &[Line<'a>]) -> Vec<Line<'a>> {
    let is_change = |line: &Line<'_>| !matches!(line, Line::Same(_));
    let is_near = |at: usize| {
        let (from, to) = (at.saturating_sub(CONTEXT), (at + CONTEXT + 1).min(lines.len()));
        lines[from..to].iter().any(is_change)
    };
    let (mut shown, mut left_out) = (Vec::new(), 0);
    for (at, line) in lines.iter().enumerate() {
        if is_near(at) {
            if left_out > 0 {
                shown.push(Line::Gap(std::mem::take(&mut left_out)));
            }
            shown.push(*line);
        } else {
            left_out += 1;
        }
    }
    if left_out > 0 && !shown.is_empty() {
        shown.push(Line::Gap(left_out));
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_changed_line_is_shown_with_what_is_around_it() {
        let before: String = (1..=9).map(|n| format!("{n}\n")).collect();
        let after = before.replace("5\n", "five\nsix\n");
        let expected = [
            Line::Gap(2),
            Line::Same("3"),
            Line::Same("4"),
            Line::Removed("5"),
            Line::Added("five"),
            Line::Added("six"),
            Line::Same("6"),
            Line::Same("7"),
            Line::Gap(2),
        ];
        assert_eq!(diff(&before, &after), expected);
        assert_eq!(diff(&before, &before), []);
        assert_eq!(diff("", "a\n"), [Line::Added("a")]);
    }

    proptest! {
        #[test]
        fn the_two_sides_are_the_two_texts(before in "([ab]\n){0,12}", after in "([abc]\n){0,12}") {
            let lines = whole(&before, &after);
            let side = |leaves: fn(&Line<'_>) -> bool| -> String {
                let kept = lines.iter().filter(|line| !leaves(line));
                kept.map(|line| match line {
                    Line::Same(text) | Line::Removed(text) | Line::Added(text) => format!("{text}\n"),
                    Line::Gap(_) => String::new(),
                }).collect()
            };
            prop_assert_eq!(side(|line| matches!(line, Line::Added(_))), before.clone());
            prop_assert_eq!(side(|line| matches!(line, Line::Removed(_))), after.clone());
        }
    }
}
