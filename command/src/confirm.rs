//! A question before what cannot be taken back without trouble: `[y/N]` on the terminal, `--yes` where there is none.

use std::io::{BufRead as _, IsTerminal as _, Write as _};

use anyhow::{Context as _, bail};

/// Asks `question` on standard error; gives whether the user agrees.
///
/// # Errors
/// When there is no terminal to ask at.
pub fn agrees(question: &str) -> anyhow::Result<bool> {
    let stdin = std::io::stdin();
    if !stdin.is_terminal() {
        bail!("there is no terminal to ask at: give --yes to agree");
    }
    let mut err = std::io::stderr().lock();
    write!(err, "{} [y/N] ", brisk_core::text::harmless(question)).and_then(|()| err.flush()).context("cannot ask")?;
    let mut answer = String::new();
    stdin.lock().read_line(&mut answer).context("cannot read the answer")?;
    Ok(is_yes(&answer))
}

fn is_yes(answer: &str) -> bool {
    ["y", "yes"].contains(&answer.trim().to_lowercase().as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_yes_is_yes() {
        for (answer, expected) in [
            ("y\n", true),
            ("YES\r\n", true),
            (" Yes \n", true),
            ("", false),
            ("\n", false),
            ("n\n", false),
            ("yep\n", false),
        ] {
            assert_eq!(is_yes(answer), expected, "{answer:?}");
        }
    }
}
