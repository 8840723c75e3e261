//! What a change means for the person at the device: its sign, its colour and its mark, the same in tables, charts and
//! words.
//!
//! Improved is blue, regressed is red, all else is grey: two colours that people with the common colour blindnesses
//! tell apart (a test simulates them). A sign stands next to each verdict, so no reader needs the colour.

use brisk_core::stats::Summary;

use crate::format;
use crate::measures::Measure;
use crate::ratio::Judgement;
use crate::rows::{Look, Row};
use crate::section::{Figure, Glyph};
use crate::svg::{Marker, Tone};
use crate::vocabulary::EFFECT;

/// What a change means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effect {
    /// For the better, and the interval excludes no change.
    Improved,
    /// For the worse, and the interval excludes no change.
    Regressed,
    /// The interval includes no change.
    Unclear,
    /// Too few runs, or nothing to judge by.
    NotJudged,
}

impl Effect {
    /// The sign in front of a verdict.
    pub fn sign(self) -> char {
        match self {
            Self::Improved => '✓',
            Self::Regressed => '✗',
            Self::Unclear => '≈',
            Self::NotJudged => '?',
        }
    }

    /// The word where nothing more is to be said.
    pub fn words(self) -> &'static str {
        match self {
            Self::Improved => "improved",
            Self::Regressed => "regressed",
            Self::Unclear => "no significant difference",
            Self::NotJudged => "too few runs",
        }
    }

    /// The sign and the word: `✓ improved`.
    pub fn signed(self, words: &str) -> String {
        format!("{} {words}", self.sign())
    }

    /// The colour.
    pub fn tone(self) -> Tone {
        match self {
            Self::Improved => Tone::Better,
            Self::Regressed => Tone::Worse,
            Self::Unclear | Self::NotJudged => Tone::Unclear,
        }
    }

    fn marker(self) -> Marker {
        match self {
            Self::Improved => Marker::Circle,
            Self::Regressed => Marker::Square,
            Self::Unclear | Self::NotJudged => Marker::Diamond,
        }
    }

    /// How a row of this verdict is drawn.
    pub fn look(self) -> Look {
        Look { tone: self.tone(), marker: self.marker(), ..Look::PLAIN }
    }
}

impl Judgement {
    /// What it means where the ratio is one of times, or of another quantity of which less is better.
    pub fn effect(self) -> Effect {
        match self {
            Self::Longer => Effect::Regressed,
            Self::Shorter => Effect::Improved,
            Self::NoDifference => Effect::Unclear,
            Self::OnePair | Self::Nothing => Effect::NotJudged,
        }
    }

    /// The same where more is better.
    pub fn effect_of_gain(self) -> Effect {
        match self {
            Self::Longer => Effect::Improved,
            Self::Shorter => Effect::Regressed,
            _ => self.effect(),
        }
    }
}

impl Figure {
    /// The same with an entry of the legend for each of these verdicts, each once, the worst first.
    pub fn effects(self, effects: impl IntoIterator<Item = Effect>) -> Self {
        let found: Vec<Effect> = effects.into_iter().collect();
        let all = [Effect::Regressed, Effect::Improved, Effect::Unclear, Effect::NotJudged];
        all.into_iter().filter(|effect| found.contains(effect)).fold(self, |figure, effect| {
            figure.key(effect.tone(), Glyph::Point(effect.marker()), effect.signed(effect.words()))
        })
    }
}

/// What `one` means against `base`: their intervals have to be those of enough runs, and not to touch.
fn against(one: &Summary, base: &Summary, more_is_better: bool) -> Effect {
    match (format::apart(one, base), format::sure(one) && format::sure(base)) {
        (true, _) if (one.median > base.median) == more_is_better => Effect::Improved,
        (true, _) => Effect::Regressed,
        (false, true) => Effect::Unclear,
        (false, false) => Effect::NotJudged,
    }
}

/// The rows with the verdict on a measure, against the first of them, in `effect` and in their look. The first is the
/// base.
pub fn against_first(rows: Vec<Row>, measure: Measure, more_is_better: bool) -> Vec<Row> {
    let base = rows.first().and_then(|row| row.summary(measure).copied());
    let judged = |(n, row): (usize, Row)| {
        let found = row.summary(measure).copied().zip(base).filter(|_| n > 0);
        let Some((one, base)) = found else { return row.look(Look::PLAIN) };
        let effect = against(&one, &base, more_is_better);
        row.look(effect.look()).judge(EFFECT, effect, effect.words())
    };
    rows.into_iter().enumerate().map(judged).collect()
}
