//! Finds what is not pure in a source, by its tokens.

use super::*;

/// A word, or one character of punctuation.
pub(crate) fn tokens(source: &str) -> Vec<String> {
    let mut tokens = Vec::new();
    let mut rest = source.chars().peekable();
    while let Some(c) = rest.next() {
        match c {
            '/' if rest.peek() == Some(&'/') => while rest.next().is_some_and(|c| c != '\n') {},
            '/' if rest.peek() == Some(&'*') => {
                let mut last = ' ';
                rest.next();
                for c in rest.by_ref() {
                    if last == '*' && c == '/' {
                        break;
                    }
                    last = c;
                }
            }
            '"' => {
                while let Some(c) = rest.next() {
                    match c {
                        '\\' => drop(rest.next()),
                        '"' => break,
                        _ => {}
                    }
                }
            }
            // A character literal; a lifetime has no quote after its first letter.
            '\'' => {
                let mut ahead = rest.clone();
                let first = ahead.next();
                if first == Some('\\') || ahead.next() == Some('\'') {
                    if rest.next() == Some('\\') {
                        rest.next();
                    }
                    while rest.next().is_some_and(|c| c != '\'') {}
                }
            }
            c if c.is_alphanumeric() || c == '_' => {
                let mut word = String::from(c);
                while let Some(&next) = rest.peek().filter(|c| c.is_alphanumeric() || **c == '_') {
                    word.push(next);
                    rest.next();
                }
                tokens.push(word);
            }
            c if c.is_whitespace() => {}
            c => tokens.push(c.to_string()),
        }
    }
    tokens
}

/// The tokens without those of items under `#[cfg(test)]`.
pub(crate) fn without_tests(tokens: &[String]) -> Vec<String> {
    const CFG_TEST: [&str; 7] = ["#", "[", "cfg", "(", "test", ")", "]"];
    let mut kept = Vec::new();
    let mut at = 0;
    while at < tokens.len() {
        if tokens[at..].len() >= CFG_TEST.len() && tokens[at..].iter().zip(CFG_TEST).all(|(token, want)| token == want)
        {
            let mut depth = 0;
            at += CFG_TEST.len();
            while at < tokens.len() {
                let token = tokens[at].as_str();
                at += 1;
                match token {
                    "{" => depth += 1,
                    "}" if depth == 1 => break,
                    "}" => depth -= 1,
                    ";" if depth == 0 => break,
                    _ => {}
                }
            }
        } else {
            kept.push(tokens[at].clone());
            at += 1;
        }
    }
    kept
}

/// All paths that begin at `tokens[0]`, with groups in braces spelled out.
pub(crate) fn paths(prefix: &str, tokens: &[String], at: &mut usize, found: &mut Vec<String>) {
    let token = |at: usize| tokens.get(at).map_or("", String::as_str);
    if token(*at) == "{" {
        *at += 1;
        while *at < tokens.len() && token(*at) != "}" {
            paths(prefix, tokens, at, found);
            while !matches!(token(*at), "," | "}" | "") {
                *at += 1;
            }
            if token(*at) == "," {
                *at += 1;
            }
        }
        *at += 1;
        return;
    }
    let path = if prefix.is_empty() { token(*at).to_owned() } else { format!("{prefix}::{}", token(*at)) };
    *at += 1;
    if token(*at) == ":" && token(*at + 1) == ":" {
        *at += 2;
        paths(&path, tokens, at, found);
    } else {
        found.push(path);
    }
}

/// What in this source is not pure.
pub(crate) fn impurities(source: &str) -> Vec<String> {
    let tokens = without_tests(&tokens(source));
    let mut wrong = Vec::new();
    for (at, token) in tokens.iter().enumerate() {
        if token == "std" {
            let mut found = Vec::new();
            paths("", &tokens, &mut { at }, &mut found);
            for path in found {
                let glob = path.strip_suffix("::*");
                let impure = |bad: &&str| {
                    let under = |outer: &str, inner: &str| {
                        inner == outer || inner.strip_prefix(outer).is_some_and(|rest| rest.starts_with("::"))
                    };
                    under(bad, &path) || glob.is_some_and(|module| under(module, bad))
                };
                wrong.extend(IMPURE_PATHS.iter().find(|bad| impure(bad)).map(|_| path.clone()));
            }
        }
        if IMPURE_MACROS.contains(&token.as_str()) && tokens.get(at + 1).is_some_and(|next| next == "!") {
            wrong.push(format!("{token}!"));
        }
    }
    wrong
}
