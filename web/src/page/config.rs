//! The configuration: its text to edit, what a change of it differs in, and what the daemon says of it. A page of its
//! own, which works without a script and on which nothing changes by itself.

use maud::{Markup, html};

use super::page;
use crate::diff::{Line, diff};
use crate::texts::{self, Language};

/// A text of the main file, as the daemon has it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Text {
    pub(crate) path: String,
    pub(crate) text: String,
    pub(crate) version: String,
}

/// What is shown beside the text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Step {
    /// The text of the file.
    Edit,
    /// Another text, which can be used; what is not there at present.
    Checked { other: String, warnings: Vec<String> },
    /// Another text, and why it was not taken.
    Refused { other: String, why: String },
    /// It is written.
    Saved { warnings: Vec<String> },
}

/// The page; without a text it says why.
pub(crate) fn whole(language: Language, token: &str, text: &Result<Text, String>, step: &Step) -> String {
    let say = |text| language.say(text);
    let body = html! {
        header {
            h1.brand { a href="/" { b { "brisk" } } }
            nav aria-label=(say(texts::CONTENTS)) { ul { li { a href="/" { (say(texts::TO_PAGE)) } } } }
        }
        main id="content" {
            h2 { (say(texts::CONFIG)) }
            @match text {
                Ok(text) => (edit(language, token, text, step)),
                Err(why) => p.caution role="alert" { (why) },
            }
        }
    };
    page(language, say(texts::CONFIG), None, &body)
}

fn edit(language: Language, token: &str, text: &Text, step: &Step) -> Markup {
    let say = |text| language.say(text);
    let (other, is_checked) = match step {
        Step::Edit | Step::Saved { .. } => (text.text.as_str(), false),
        Step::Checked { other, .. } => (other.as_str(), true),
        Step::Refused { other, .. } => (other.as_str(), false),
    };
    let lines = diff(&text.text, other);
    html! {
        p.how { (language.fill(texts::CONFIG_HOW, &[&text.path])) }
        @match step {
            Step::Saved { warnings } => {
                p.good role="status" { (say(texts::CONFIG_SAVED)) }
                (listed(warnings))
            }
            Step::Refused { why, .. } => p.caution role="alert" lang="en" { (why) },
            Step::Checked { warnings, .. } => {
                p.good role="status" {
                    (say(if lines.is_empty() { texts::CONFIG_SAME } else { texts::CONFIG_USABLE }))
                }
                (listed(warnings))
            }
            Step::Edit => {}
        }
        @if !lines.is_empty() {
            h3 id="diff-title" { (say(texts::CONFIG_DIFF)) }
            div.scroll tabindex="0" role="group" aria-labelledby="diff-title" {
                pre.diff { @for line in &lines { (shown(language, *line)) } }
            }
        }
        form.config method="post" action="/config" {
            input type="hidden" name="token" value=(token);
            input type="hidden" name="version" value=(text.version);
            p { label for="config-text" { (say(texts::CONFIG_TEXT)) } }
            // A line break after the tag is none of the text.
            textarea id="config-text" name="text" rows="24" spellcheck="false" autocomplete="off" { "\n" (other) }
            p {
                button.strong[!is_checked] name="do" value="check" { (say(texts::CONFIG_CHECK)) } " "
                @if is_checked && !lines.is_empty() {
                    button.strong name="do" value="save" { (say(texts::CONFIG_SAVE)) } " "
                }
                a href="/config" { (say(texts::CONFIG_DISCARD)) }
            }
        }
    }
}

fn listed(warnings: &[String]) -> Markup {
    html! { @if !warnings.is_empty() { ul.warnings lang="en" { @for warning in warnings { li { (warning) } } } } }
}

fn shown(language: Language, line: Line<'_>) -> Markup {
    match line {
        Line::Same(text) => html! { "  " (text) "\n" },
        Line::Removed(text) => html! { del { "- " (text) } "\n" },
        Line::Added(text) => html! { ins { "+ " (text) } "\n" },
        Line::Gap(count) => html! { span.how { (language.fill(texts::LINES_LEFT_OUT, &[&count])) } "\n" },
    }
}
