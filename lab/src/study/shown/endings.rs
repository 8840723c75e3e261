//! How launches and steps ended, in words: a time that is not that of a settled screen is never shown as if it were.

use crate::results::Ending;

/// How one ended.
pub(crate) fn words(ending: &Ending) -> String {
    match ending {
        Ending::Settled => "settled".to_owned(),
        Ending::StillWorking => "still working at the cap".to_owned(),
        Ending::Animating => "still changing at the cap".to_owned(),
        Ending::NoWindow => "no window before the cap".to_owned(),
        Ending::Exited { signal: Some(signal), .. } => format!("ended by signal {signal}"),
        Ending::Exited { code: Some(code), .. } => format!("exited with status {code}"),
        Ending::Exited { code: None, signal: None } => "exited".to_owned(),
        Ending::DisplayLost => "display lost".to_owned(),
        Ending::Headless => "done, no screen".to_owned(),
    }
}

/// What that means for the numbers, after `2 of 6 launches` or `the only launch`.
fn meaning(ending: &Ending) -> &'static str {
    match ending {
        Ending::Settled => "settled",
        Ending::StillWorking => "still worked when the cap came: the screen had settled, so that time stands",
        Ending::Animating => "never settled: the screen still changed when the cap came, and the time is the cap's",
        Ending::NoWindow => "showed no window before the cap: there is no time until settled",
        Ending::Exited { .. } => "ended by itself",
        Ending::DisplayLost => "lost the display server: nothing is known about the app",
        Ending::Headless => "had no screen and kept running: times are those of the app's own work",
    }
}

/// A sentence for each ending other than settled, most frequent first; `what` and `which` are `launch` and `(cold)`,
/// say.
pub(crate) fn sentences<'a>(what: &str, which: &str, endings: impl IntoIterator<Item = &'a Ending>) -> Vec<String> {
    let mut all = 0u64;
    let mut counts: Vec<(&Ending, u64)> = Vec::new();
    for ending in endings {
        all += 1;
        match counts.iter_mut().find(|(known, _)| *known == ending) {
            Some((_, count)) => *count += 1,
            None => counts.push((ending, 1)),
        }
    }
    counts.retain(|(ending, _)| **ending != Ending::Settled);
    counts.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    counts
        .into_iter()
        .map(|(ending, count)| {
            let how = match ending {
                Ending::Exited { signal: None, .. } => format!(" ({})", words(ending)),
                _ => String::new(),
            };
            let many = if what.ends_with('h') { format!("{what}es") } else { format!("{what}s") };
            let subject = match (count, all) {
                (1, 1) => format!("The only {what} {which}"),
                _ if count == all => format!("All {all} {many} {which}"),
                _ => format!("{count} of {all} {many} {which}"),
            };
            let meaning = match ending {
                Ending::Exited { signal: Some(_), .. } if count == 1 => format!("was {}", words(ending)),
                Ending::Exited { signal: Some(_), .. } => format!("were {}", words(ending)),
                _ => meaning(ending).to_owned(),
            };
            format!("{} {meaning}{how}.", subject.trim_end())
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_ending_but_settled_is_reported() {
        let two = [Ending::Settled, Ending::Settled];
        assert_eq!(sentences("launch", "(cold)", &two), Vec::<String>::new());
        let mixed = [
            Ending::Settled,
            Ending::Animating,
            Ending::Exited { code: Some(1), signal: None },
            Ending::Animating,
            Ending::Exited { code: None, signal: Some(11) },
        ];
        let said = sentences("launch", "(cold)", &mixed);
        assert_eq!(said.len(), 3);
        assert!(said[0].starts_with("2 of 5 launches (cold) never settled"), "{said:?}");
        assert!(
            said.iter().any(|s| s.contains("status 1")) && said.iter().any(|s| s.contains("signal 11")),
            "{said:?}"
        );
        let killed = Ending::Exited { code: None, signal: Some(9) };
        assert_eq!(sentences("launch", "(warm)", &[killed]), ["The only launch (warm) was ended by signal 9."]);
        assert!(sentences("launch", "", &[Ending::NoWindow])[0].starts_with("The only launch showed no window"));
    }
}
