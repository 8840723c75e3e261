//! The section `[hook]`: a program of the maker of a device that hears of what happens.

use serde::{Deserialize, Serialize};

/// The section.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Hook {
    /// The program with its arguments, as a shell writes them; empty for none.
    pub command: String,
    /// Time that it may take.
    pub timeout_s: u64,
}

impl Default for Hook {
    fn default() -> Self {
        Self { command: String::new(), timeout_s: 10 }
    }
}

/// The longest time.
const TIMEOUT_S_MAX: u64 = 600;

impl Hook {
    /// Program and arguments; none without a hook.
    ///
    /// # Errors
    /// When the program is not named by an absolute path, a quote is not closed, or the time cannot be used.
    pub fn words(&self) -> Result<Vec<String>, String> {
        if !(1..=TIMEOUT_S_MAX).contains(&self.timeout_s) {
            return Err(format!("timeout_s is {}: give 1 to {TIMEOUT_S_MAX} seconds", self.timeout_s));
        }
        let words = shlex::split(&self.command).ok_or("the command has a quote that is not closed")?;
        match words.first() {
            Some(program) if !program.starts_with('/') => {
                Err(format!("'{program}' is no absolute path: no shell looks for the program, begin it with /"))
            }
            _ => Ok(words),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_is_words_with_an_absolute_path() {
        let words = |command: &str| Hook { command: command.to_owned(), ..Hook::default() }.words();
        assert_eq!(words(""), Ok(vec![]));
        let expected = ["/usr/lib/x/report", "--to", "a b", "$HOME;"].map(str::to_owned);
        assert_eq!(words("/usr/lib/x/report --to 'a b' $HOME;"), Ok(expected.to_vec()));
        assert!(words("report").is_err_and(|what| what.contains("absolute")));
        assert!(words("/x 'a").is_err_and(|what| what.contains("quote")));
        assert!(Hook { timeout_s: 0, ..Hook::default() }.words().is_err());
    }
}
