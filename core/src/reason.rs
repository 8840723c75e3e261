//! Why an engine, a classifier or the arbiter decided as it did: a rule and the values that it compared.

use std::borrow::Cow;
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::text::one_line;

/// Why a value, class or note is as it is: data that is rendered for people and compared by tests.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Reason {
    /// Name of the rule that held.
    pub rule: Cow<'static, str>,
    /// The values that it compared.
    #[serde(default)]
    pub facts: Vec<Fact>,
}

/// One value that a rule compared.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Fact {
    /// Name, with its unit as the last word, such as `reads_per_s`.
    pub name: Cow<'static, str>,
    /// The value.
    pub value: Value,
}

/// A number or a word.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Value {
    /// A number.
    Number(f64),
    /// A word.
    Word(String),
}

impl Reason {
    /// A rule without facts.
    #[must_use]
    pub fn rule(rule: &'static str) -> Self {
        Self { rule: Cow::Borrowed(rule), facts: Vec::new() }
    }

    /// The same with a number.
    #[must_use]
    pub fn number(mut self, name: &'static str, value: f64) -> Self {
        self.facts.push(Fact { name: Cow::Borrowed(name), value: Value::Number(value) });
        self
    }

    /// The same with a word.
    #[must_use]
    pub fn word(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.facts.push(Fact { name: Cow::Borrowed(name), value: Value::Word(value.into()) });
        self
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&one_line(&self.rule).replace('_', " "))?;
        for (i, fact) in self.facts.iter().enumerate() {
            f.write_str(if i == 0 { " (" } else { ", " })?;
            match &fact.value {
                Value::Number(number) => write!(f, "{} {}", one_line(&fact.name), (number * 100.0).round() / 100.0)?,
                Value::Word(word) => write!(f, "{} {}", one_line(&fact.name), one_line(word))?,
            }
        }
        if self.facts.is_empty() { Ok(()) } else { f.write_str(")") }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reason_reads_as_words_with_its_facts() {
        let reason = Reason::rule("nearest_rate_proportion").number("rp", 0.791_3).word("benchmark", "AnTuTu");
        assert_eq!(reason.to_string(), "nearest rate proportion (rp 0.79, benchmark AnTuTu)");
        assert_eq!(Reason::rule("default").to_string(), "default");
        assert_eq!(Reason::rule("x").word("app", "a\n\x1b[2J").to_string(), "x (app a\\n\\u001b[2J)");
    }
}
