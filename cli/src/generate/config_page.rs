//! The man page of the configuration, brisk.toml(5), from the one list of its keys: the defaults with their comments,
//! which `brisk config default` prints.

use brisk_command::man::{Edition, Page, block, escape};
use brisk_daemon::config::DEFAULT_TEXT;

const NAME: &str = "brisk.toml";

pub(super) fn page(edition: &Edition) -> Page {
    let mut text = edition.title(NAME, "5");
    text += ".SH NAME\nbrisk.toml \\- configuration of brisk\n";
    text += ".SH SYNOPSIS\n.I /etc/brisk/brisk.toml\n.br\n.I /etc/brisk/brisk.d/*.toml\n.br\n";
    text += ".I \\(ti/.config/brisk/brisk.toml\n";
    text += ".SH DESCRIPTION\nConfigures\n.BR briskd (8),\nand in the section [bench] the defaults of measurements, \
             which users may \
             also have in files of their own. The format is TOML; a missing file means defaults.\n.PP\n";
    text += &body(DEFAULT_TEXT);
    text += ".SH \"SEE ALSO\"\n.BR briskd (8),\n.BR brisk\\-config (1)\n";
    Page { name: format!("{NAME}.5"), text }
}

/// What a comment is about.
enum Of {
    File,
    Section(String),
    Keys(Vec<String>),
}

/// The comments with what follows them.
fn parts(defaults: &str) -> Vec<(Vec<&str>, Of)> {
    let mut parts: Vec<(Vec<&str>, Of)> = Vec::new();
    let mut comment: Vec<&str> = Vec::new();
    let mut lines = defaults.lines();
    while let Some(line) = lines.next() {
        if let Some(text) = line.strip_prefix('#') {
            comment.push(text.strip_prefix(' ').unwrap_or(text));
        } else if line.starts_with('[') {
            parts.push((std::mem::take(&mut comment), Of::Section(line.to_owned())));
        } else if line.contains('=') {
            let mut entry = line.to_owned();
            // A list over several lines.
            while entry.ends_with(['[', ',']) {
                let Some(more) = lines.next() else { break };
                let blank = if entry.ends_with('[') || more == "]" { "" } else { " " };
                entry = format!("{entry}{blank}{}", more.trim());
            }
            match parts.last_mut() {
                Some((_, Of::Keys(keys))) if comment.is_empty() => keys.push(entry),
                _ => parts.push((std::mem::take(&mut comment), Of::Keys(vec![entry]))),
            }
        } else if parts.is_empty() && !comment.is_empty() {
            parts.push((std::mem::take(&mut comment), Of::File));
        }
    }
    parts
}

/// The sections with their keys.
fn body(defaults: &str) -> String {
    let mut roff = String::new();
    for (comment, of) in parts(defaults) {
        match of {
            Of::File => {}
            Of::Section(name) => roff += &format!(".SH {}\n", escape(&name)),
            Of::Keys(keys) => {
                for (nth, entry) in keys.iter().enumerate() {
                    let (key, value) = entry.split_once('=').unwrap_or((entry, ""));
                    let tag = if nth == 0 { "TP" } else { "TQ" };
                    roff += &format!(".{tag}\n\\fB{}\\fR = {}\n", escape(key.trim()), escape(value.trim()));
                }
            }
        }
        roff += &prose(&comment);
    }
    roff
}

/// A comment as text; examples in it, which are settings, stay as they are.
fn prose(comment: &[&str]) -> String {
    let mut roff = String::new();
    for run in comment.chunk_by(|a, b| is_example(a) == is_example(b)) {
        if is_example(run[0]) {
            roff += &block(&run.join("\n"));
        } else {
            run.iter().for_each(|line| roff.push_str(&format!("{}\n", escape(line))));
        }
    }
    roff
}

fn is_example(line: &str) -> bool {
    line.starts_with('"') && line.contains(" = ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_have_the_comment_before_them_and_sections_theirs() {
        let text = "# Head.\n\n[a]\n# One.\none = 1\n# Two and three.\ntwo = [\n    \"x\",\n    \"y\",\n]\nthree = \
                    3\n\n# Section b:\n# \"k\" = 1\n[b]\n";
        assert_eq!(
            body(text),
            "Head.\n.SH [a]\n.TP\n\\fBone\\fR = 1\nOne.\n.TP\n\\fBtwo\\fR = [\"x\", \"y\",]\n.TQ\n\\fBthree\\fR = \
             3\nTwo and three.\n\
             .SH [b]\nSection b:\n.PP\n.nf\n.RS 4\n\"k\" = 1\n.RE\n.fi\n"
        );
    }
}
