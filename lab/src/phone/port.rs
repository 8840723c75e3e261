//! What a phone says on its serial port.
//!
//! Lines `@ {...}` are events, lines `> ...` and `! ...` output and error output of the command that was begun last;
//! all others are the kernel's, and kept in the log alone.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// What a command printed inside.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Output {
    pub name: String,
    /// Its exit code; absent when the phone ended before.
    pub code: Option<i64>,
    pub text: String,
    pub errors: String,
}

/// All that a phone said.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Port {
    pub outputs: Vec<Output>,
    /// Facts about the machine, by name.
    pub facts: Map<String, Value>,
    pub failed: Option<String>,
    /// Whether its plan came to the end.
    pub ended: bool,
}

impl Port {
    /// Takes a line; returns the step that begins with it.
    pub fn take(&mut self, line: &str) -> Option<String> {
        let line = line.trim_end_matches('\r');
        if let Some(text) = line.strip_prefix("> ").or_else(|| (line == ">").then_some("")) {
            self.output(|output| &mut output.text, text);
            return None;
        }
        if let Some(text) = line.strip_prefix("! ").or_else(|| (line == "!").then_some("")) {
            self.output(|output| &mut output.errors, text);
            return None;
        }
        // The firmware's output shares the first line.
        let (_, json) = line.split_once("@ {")?;
        let Ok(Value::Object(event)) = serde_json::from_str(&format!("{{{json}")) else {
            self.failed.get_or_insert_with(|| format!("a line of the phone is damaged: {line}"));
            return None;
        };
        self.event(event)
    }

    fn output(&mut self, of: fn(&mut Output) -> &mut String, text: &str) {
        if let Some(output) = self.outputs.last_mut().filter(|output| output.code.is_none()) {
            let all = of(output);
            all.push_str(text);
            all.push('\n');
        }
    }

    fn event(&mut self, event: Map<String, Value>) -> Option<String> {
        let text = |name: &str| event.get(name).and_then(Value::as_str).map(str::to_owned);
        if let Some(why) = text("failed") {
            self.failed.get_or_insert(why);
        } else if let Some(name) = text("begin") {
            self.outputs.push(Output { name: name.clone(), ..Output::default() });
            return Some(name);
        } else if let Some(code) = event.get("code").and_then(Value::as_i64) {
            if let Some(output) = self.outputs.last_mut() {
                output.code = Some(code);
            }
        } else if event.contains_key("end") {
            self.ended = true;
        } else if let Some(step) = text("step") {
            return Some(step);
        } else {
            self.facts.extend(event);
        }
        None
    }

    /// Why it did not come to its end, if so.
    #[must_use]
    pub fn trouble(&self) -> Option<String> {
        let unfinished = || (!self.ended).then(|| "it ended before its plan".to_owned());
        self.failed.clone().or_else(unfinished)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const GOOD: &str = "SeaBIOS\u{1b}[2J@ {\"step\":\"boot\"}\r\n[    1.0] kernel\n@ {\"begin\":\"evince\"}\n> {\n\
        >  \"a\": 1\n>\n! said > this\n@ {\"code\":0}\n> of nothing\n@ {\"lateness_ns\":12}\n@ {\"end\":true}\n";

    fn all(text: &str) -> (Port, Vec<String>) {
        let mut port = Port::default();
        let steps = text.lines().filter_map(|line| port.take(line)).collect();
        (port, steps)
    }

    #[test]
    fn outputs_facts_and_steps_are_taken_apart() {
        let (port, steps) = all(GOOD);
        assert_eq!(steps, ["boot", "evince"]);
        let output = &port.outputs[0];
        assert_eq!((output.text.as_str(), output.errors.as_str()), ("{\n \"a\": 1\n\n", "said > this\n"));
        assert_eq!((output.code, port.facts["lateness_ns"].as_u64(), port.trouble()), (Some(0), Some(12), None));
    }

    #[test]
    fn a_phone_that_fails_or_does_not_end_is_in_trouble() {
        assert!(all("@ {\"step\":\"x\"}").0.trouble().expect("no end").contains("before its plan"));
        let failed = "@ {\"failed\":\"no flash\"}\n@ {\"failed\":\"later\"}\n@ {\"end\":true}";
        assert_eq!(all(failed).0.trouble().as_deref(), Some("no flash"));
        assert!(all("@ {\"step\":\n@ {\"end\":true}").0.trouble().expect("damaged").contains("damaged"));
    }

    proptest! {
        #[test]
        fn no_line_makes_the_reader_panic(text in "\\PC{0,200}", cut in 0usize..GOOD.len()) {
            let _ = all(&text);
            let _ = all(GOOD.get(..cut).unwrap_or_default());
        }
    }
}
