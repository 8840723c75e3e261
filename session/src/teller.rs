//! What is told, and when. A desktop may move an app to its group after it has a window, so the daemon is told a few
//! times of one that it does not know; a daemon that does not answer is told again until it does.
//!
//! Properties: `each_window_is_told_once`; `an_app_without_a_group_is_told_some_times`;
//! `a_daemon_that_does_not_answer_is_told_until_it_does`.

use std::time::Duration;

use crate::LONG;
use crate::front::Front;

/// Times that an app is told that the daemon does not know.
const UNKNOWN_TRIES: u32 = 5;
const UNKNOWN_AGAIN: Duration = Duration::from_secs(2);
/// A daemon that did not answer.
const NONE_AGAIN: Duration = Duration::from_secs(10);

/// What the daemon said.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Answer {
    /// The window is of an app that it knows.
    Known,
    Unknown,
    /// It did not answer.
    None,
}

#[derive(Debug, Default)]
pub(crate) struct Teller {
    told: Option<Front>,
    tries: u32,
}

impl Teller {
    /// Whether the daemon is to be told.
    pub(crate) fn is_due(&self, front: &Front) -> bool {
        self.told.as_ref() != Some(front) || self.tries > 0
    }

    /// Takes in the answer, where it was told; the time after which it may have to be told again.
    pub(crate) fn told(&mut self, front: Front, answer: Option<Answer>) -> Duration {
        let Some(answer) = answer else { return LONG };
        if self.told.as_ref() != Some(&front) {
            self.tries = UNKNOWN_TRIES;
        }
        let is_window = front != Front::Nothing;
        (self.told, self.tries) = match answer {
            Answer::None => (None, 0),
            Answer::Unknown if is_window => (Some(front), self.tries.saturating_sub(1)),
            Answer::Known | Answer::Unknown => (Some(front), 0),
        };
        match answer {
            Answer::None => NONE_AGAIN,
            _ if self.tries > 0 => UNKNOWN_AGAIN,
            _ => LONG,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn window(id: u64) -> Front {
        Front::Window { id, pid: None, app_id: "foot".to_owned() }
    }

    /// Times that a front is told when the daemon says this each time, at most ten.
    fn times(teller: &mut Teller, front: &Front, answer: Answer) -> usize {
        let due = (0..10).take_while(|_| {
            let is_due = teller.is_due(front);
            teller.told(front.clone(), is_due.then_some(answer));
            is_due
        });
        due.count()
    }

    #[test]
    fn each_window_is_told_once() {
        let mut teller = Teller::default();
        for front in [window(1), window(2), Front::Nothing, window(1)] {
            assert_eq!(times(&mut teller, &front, Answer::Known), 1, "{front:?}");
        }
        assert_eq!(times(&mut teller, &Front::Nothing, Answer::Unknown), 1);
        assert_eq!(teller.told(Front::Nothing, None), LONG);
    }

    #[test]
    fn an_app_without_a_group_is_told_some_times() {
        let mut teller = Teller::default();
        assert_eq!(times(&mut teller, &window(1), Answer::Unknown), UNKNOWN_TRIES as usize);
        assert_eq!(times(&mut teller, &window(2), Answer::Unknown), UNKNOWN_TRIES as usize);
        assert_eq!(teller.told(window(3), Some(Answer::Unknown)), UNKNOWN_AGAIN);
        assert_eq!(times(&mut teller, &window(3), Answer::Known), 1);
    }

    #[test]
    fn a_daemon_that_does_not_answer_is_told_until_it_does() {
        let mut teller = Teller::default();
        assert_eq!(times(&mut teller, &window(1), Answer::None), 10);
        assert_eq!(teller.told(window(1), Some(Answer::None)), NONE_AGAIN);
        assert_eq!(times(&mut teller, &window(1), Answer::Known), 1);
    }
}
