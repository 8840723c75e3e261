//! Scripts of user actions in an app, as TOML files.
//!
//! ```toml
//! app = "mousepad"
//! command = ["mousepad"]        # if missing: the running app
//! window = "Mousepad"           # part of the title or class of its window
//!
//! [[step]]
//! name = "open the dialog"
//! do = { key = "ctrl+o" }
//!
//! [[step]]
//! name = "it is there"
//! do = { assert_window = "Open File" }
//! ```
//!
//! Every input step ends with the next stable state of the screen, and the time until then is its latency; with
//! `measure = false` it is not reported. Places are relative to the app's newest window, from its upper left corner.

use std::path::Path;

use serde::Deserialize;

use crate::launch::error::{Error, Result};

#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Script {
    pub app: String,
    /// Program and arguments; empty for a running app.
    #[serde(default)]
    pub command: Vec<String>,
    /// Part of the title or class of the app's window.
    #[serde(default)]
    pub window: Option<String>,
    #[serde(rename = "step")]
    pub steps: Vec<Step>,
}

#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Step {
    /// Name for the report; by default the action as text.
    #[serde(default)]
    pub name: Option<String>,
    #[serde(rename = "do")]
    pub action: Action,
    /// Whether its latency is reported.
    #[serde(default = "yes")]
    pub measure: bool,
}

fn yes() -> bool {
    true
}

#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Action {
    /// Presses a key with modifiers, by X names: `Return`, `ctrl+o`.
    Key(String),
    Text(String),
    /// Clicks a button of the pointer.
    Click(Click),
    /// Turns the wheel over the middle of the window, by clicks; positive is down.
    Scroll(i32),
    /// Waits until the screen is stable.
    WaitSettled,
    /// Fails unless a window with this in its title or class exists.
    AssertWindow(String),
    /// Fails when a window with this in its title or class exists.
    AssertNoWindow(String),
}

#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Click {
    /// Place in the window, each coordinate from 0 to 1.
    pub at: (f64, f64),
    /// 1 left, 2 middle, 3 right.
    #[serde(default = "left")]
    pub button: u8,
}

fn left() -> u8 {
    1
}

impl Action {
    /// Text for the report.
    #[must_use]
    pub fn words(&self) -> String {
        match self {
            Self::Key(key) => format!("key {key}"),
            Self::Text(text) => format!("text \"{}\"", text.escape_debug()),
            Self::Click(click) => {
                format!("click {} at {:.0} %, {:.0} %", click.button, click.at.0 * 100.0, click.at.1 * 100.0)
            }
            Self::Scroll(clicks) => format!("scroll {clicks}"),
            Self::WaitSettled => "wait until settled".to_owned(),
            Self::AssertWindow(text) => format!("window \"{}\" is there", text.escape_debug()),
            Self::AssertNoWindow(text) => format!("window \"{}\" is not there", text.escape_debug()),
        }
    }

    /// Whether it is an input, which has a latency.
    #[must_use]
    pub fn is_input(&self) -> bool {
        !matches!(self, Self::WaitSettled | Self::AssertWindow(_) | Self::AssertNoWindow(_))
    }
}

/// Built-in scripts: name and text.
pub const SHIPPED: &[(&str, &str)] = &[
    ("evince", include_str!("scripts/evince.toml")),
    ("galculator", include_str!("scripts/galculator.toml")),
    ("gnome-mines", include_str!("scripts/gnome-mines.toml")),
    ("gnumeric", include_str!("scripts/gnumeric.toml")),
    ("libreoffice-writer", include_str!("scripts/libreoffice-writer.toml")),
    ("mousepad", include_str!("scripts/mousepad.toml")),
    ("xterm", include_str!("scripts/xterm.toml")),
];

/// Loads a script file, or one of [`SHIPPED`] by name.
///
/// # Errors
/// When there is none, or it is invalid; the message has the line.
pub fn load(name: &str) -> Result<Script> {
    if let Some((_, text)) = SHIPPED.iter().find(|(shipped, _)| *shipped == name) {
        return parse(text, name);
    }
    let bad = |reason: String| Error::Script { place: name.to_owned(), reason };
    let text =
        brisk_program::files::read_text(Path::new(name), brisk_program::files::TEXT_BYTES_MAX).map_err(|error| {
            if !error.is_missing() {
                return Error::File(error);
            }
            let names: Vec<&str> = SHIPPED.iter().map(|(name, _)| *name).collect();
            bad(format!("there is no such file, and no script of that name comes with brisk ({})", names.join(", ")))
        })?;
    parse(&text, name)
}

/// Parses a script; `place` names it in messages.
///
/// # Errors
/// When it is not TOML, has unknown keys, or is invalid.
pub fn parse(text: &str, place: &str) -> Result<Script> {
    let script: Script = toml::from_str(text).map_err(|error| Error::Script {
        place: match error.span() {
            Some(span) => {
                format!("{place}, line {}", text.as_bytes()[..span.start].iter().filter(|b| **b == b'\n').count() + 1)
            }
            None => place.to_owned(),
        },
        reason: error.message().to_owned(),
    })?;
    let bad = |reason: String| Err(Error::Script { place: place.to_owned(), reason });
    if script.app.is_empty() {
        return bad("app is empty: give the name for the report".to_owned());
    }
    if !script.steps.iter().any(|step| step.action.is_input() && step.measure) {
        return bad("no step has a latency: give at least one key, text, click or scroll".to_owned());
    }
    for (number, step) in script.steps.iter().enumerate() {
        let number = number + 1;
        match &step.action {
            Action::Click(click) if !(1..=3).contains(&click.button) => {
                return bad(format!("step {number} clicks button {}; there are 1, 2 and 3", click.button));
            }
            Action::Click(click) if [click.at.0, click.at.1].iter().any(|share| !(0.0..=1.0).contains(share)) => {
                return bad(format!("step {number} clicks outside of the window; at = [0.5, 0.5] is its middle"));
            }
            Action::Key(text) | Action::Text(text) | Action::AssertWindow(text) | Action::AssertNoWindow(text)
                if text.is_empty() =>
            {
                return bad(format!("step {number} is empty"));
            }
            Action::Scroll(0) => return bad(format!("step {number} scrolls by nothing")),
            _ => {}
        }
    }
    Ok(script)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn shipped_scripts_are_valid() {
        assert!(SHIPPED.len() >= 6);
        for (name, text) in SHIPPED {
            let script = parse(text, name).expect(name);
            assert!(!script.command.is_empty() && script.window.is_some(), "{name}");
            assert!(script.steps.iter().filter(|step| step.action.is_input() && step.measure).count() >= 3, "{name}");
        }
    }

    #[test]
    fn mistakes_are_reported_with_their_line() {
        for (text, reason) in [
            ("app = \"x\"\n", "step"),
            ("app = \"x\"\nstep = []\n", "no step has a latency"),
            ("app = \"x\"\n[[step]]\ndo = { press = \"a\" }\n", "line 3"),
            ("app = \"x\"\n[[step]]\ndo = { key = \"a\" }\nspeed = 3\n", "line 4"),
            ("app = \"\"\n[[step]]\ndo = { key = \"a\" }\n", "app is empty"),
            ("app = \"x\"\n[[step]]\ndo = { click = { at = [0.5, 1.5] } }\n", "outside of the window"),
            ("app = \"x\"\n[[step]]\ndo = { click = { at = [0.5, 0.5], button = 9 } }\n", "button 9"),
            ("app = \"x\"\n[[step]]\ndo = { scroll = 0 }\n", "by nothing"),
            ("app = \"x\"\n[[step]]\ndo = \"wait_settled\"\n", "no step has a latency"),
        ] {
            let error = parse(text, "a.toml").expect_err(text).to_string();
            assert!(error.contains(reason) && error.contains("a.toml"), "{error}");
        }
        assert!(load("no-such-script").expect_err("none").to_string().contains("mousepad"));
    }

    proptest! {
        #[test]
        fn no_text_makes_the_parser_panic(text in "\\PC{0,80}") {
            let _ = parse(&text, "x");
        }
    }
}
