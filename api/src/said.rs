//! A sentence with its form: English with places for values (`{0} ended`), and its values. Who shows it in another
//! language looks the form up, and never has to take an English sentence to pieces.

use std::borrow::Cow;
use std::fmt;

use brisk_core::reason::Reason;
use brisk_core::text::one_line;
use serde::{Deserialize, Serialize};

/// A sentence.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Said {
    /// The form, which is what the sentence is known by.
    pub form: Cow<'static, str>,
    /// What stands in its places.
    #[serde(default)]
    pub values: Vec<Part>,
}

/// What stands in a place.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Part {
    /// A name, a number or a message of the system.
    Text(String),
    /// A part of the sentence with a form of its own.
    Said(Said),
    /// Why an engine decided so.
    Reason(Reason),
}

impl Said {
    /// The sentence of this form.
    #[must_use]
    pub fn new(form: &'static str, values: Vec<Part>) -> Self {
        Self { form: Cow::Borrowed(form), values }
    }

    /// Writes `form`, in whichever language it is, with the values as `show` has them.
    pub fn fill(form: &str, values: &[Part], mut show: impl FnMut(&Part) -> String) -> String {
        let (mut filled, mut rest) = (String::new(), form);
        while let Some((before, after)) = rest.split_once('{') {
            filled += before;
            let (place, others) = after.split_once('}').unwrap_or((after, ""));
            if let Some(value) = place.parse::<usize>().ok().and_then(|place| values.get(place)) {
                filled += &show(value);
            }
            rest = others;
        }
        filled + rest
    }
}

impl fmt::Display for Said {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&Self::fill(&self.form, &self.values, ToString::to_string))
    }
}

impl fmt::Display for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Text(text) => f.write_str(&one_line(text)),
            Self::Said(said) => said.fmt(f),
            Self::Reason(reason) => reason.fmt(f),
        }
    }
}

/// A sentence: its form, and what stands in its places.
macro_rules! say {
    ($form:literal $(, $value:expr)* $(,)?) => {
        $crate::said::Said::new($form, vec![$($crate::said::Part::from(&$value)),*])
    };
}
pub(crate) use say;

impl From<&Said> for Part {
    fn from(said: &Said) -> Self {
        Self::Said(said.clone())
    }
}

impl From<&Reason> for Part {
    fn from(reason: &Reason) -> Self {
        Self::Reason(reason.clone())
    }
}

/// What is shown as it is.
macro_rules! texts {
    ($($of:ty),+) => { $(impl From<&$of> for Part {
        fn from(value: &$of) -> Self {
            Self::Text(value.to_string())
        }
    })+ };
}
texts!(String, &str, &String, u64, &u64, &u32, usize, brisk_core::knob::Knob, &brisk_core::knob::Knob);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_in_a_sentence_begins_no_line_and_commands_no_terminal() {
        assert_eq!(say!("{0} ended", "a\nb\x1b[2J\u{202e}").to_string(), "a\\nb\\u001b[2J\\u202e ended");
    }

    #[test]
    fn a_sentence_reads_as_its_form_and_comes_back_from_json() {
        let reason = Reason::rule("reads_wait").number("in_flight", 3.0);
        let said = say!("{1} is {0}: {2}", "bfq", String::from("queue {0}"), say!("because {0}", reason));
        assert_eq!(said.to_string(), "queue {0} is bfq: because reads wait (in_flight 3)");
        let json = serde_json::to_string(&said).expect("JSON");
        assert_eq!(serde_json::from_str::<Said>(&json).expect("the same"), said);
    }
}
