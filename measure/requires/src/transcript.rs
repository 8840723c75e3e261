//! Transcripts: what a program says to command lines that are written down, as a text that a test holds against the
//! file.

use std::fmt::Write as _;
use std::process::Output;

/// The transcript of the command lines in `written`: each line `$ PROGRAM WORDS`, below it what went to the two
/// outputs, and the exit code. Comments stay; what else is written, an earlier transcript, is passed over. `names` has
/// words for places that differ from run to run: `{d}` in a command line stands for such a place, and takes its place
/// in what is said.
///
/// # Panics
/// When a program was ended by a signal.
pub fn transcript(written: &str, names: &[(&str, &str)], mut run: impl FnMut(&[String]) -> Output) -> String {
    let mut text = String::new();
    for line in written.lines() {
        if line.starts_with('#') {
            let is_first = text.is_empty() || text.lines().all(|line| line.starts_with('#'));
            let _ = writeln!(text, "{}{line}", if is_first { "" } else { "\n" });
        }
        let Some(command) = line.strip_prefix("$ ") else { continue };
        let mut words: Vec<String> = command.split(' ').skip(1).map(str::to_owned).collect();
        for (name, place) in names {
            words.iter_mut().for_each(|word| *word = word.replace(name, place));
        }
        let output = run(&words);
        let mut said: String = [&output.stdout, &output.stderr].map(|text| String::from_utf8_lossy(text)).concat();
        for (name, place) in names {
            said = said.replace(place, name);
        }
        let code = output.status.code().expect("no signal ended it");
        let _ = writeln!(text, "\n$ {command}\n{}\n? {code}", said.trim_end());
    }
    text
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    #[test]
    fn a_transcript_has_what_was_said_and_stays_as_it_is() {
        let shell = |words: &[String]| Command::new("sh").arg("-c").arg(words.join(" ")).output().expect("a shell");
        let written = "# Head.\n$ x echo {d}/a; echo b >&2; exit 3\nan earlier answer\n? 0\n# Part.\n$ x true\n";
        let first = transcript(written, &[("{d}", "/place")], shell);
        assert_eq!(
            first,
            "# Head.\n\n$ x echo {d}/a; echo b >&2; exit 3\n{d}/a\nb\n? 3\n\n# Part.\n\n$ x true\n\n? 0\n"
        );
        assert_eq!(transcript(&first, &[("{d}", "/place")], shell), first);
    }
}
