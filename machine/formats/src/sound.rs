//! Whether a stream of a sound card runs, and whose it is: /proc/asound/cardN/pcmN[pc]/subN/status (kernel:
//! sound/core/pcm.c).

use crate::ParseError;
use crate::fields::lines;

/// Reads the text of such a file: the thread that opened the stream, when sound goes through it now; 0 when that is of
/// another namespace. `None` for a stream that is closed or stands still.
///
/// # Errors
/// When a stream runs and names no owner.
pub fn parse_pcm_owner(bytes: &[u8]) -> Result<Option<u32>, ParseError> {
    let mut runs = false;
    for mut words in lines(bytes) {
        match words.next_word() {
            Some(b"state:") => runs = matches!(words.word("state")?, b"RUNNING" | b"DRAINING"),
            Some(b"owner_pid") if runs => {
                let colon = words.word("owner_pid")?;
                let own = colon.strip_prefix(b":").filter(|rest| !rest.is_empty());
                let line = words.line;
                return match own {
                    Some(number) => crate::fields::number(line, "owner_pid", number),
                    None => words.number("owner_pid"),
                }
                .map(Some);
            }
            _ => {}
        }
    }
    if runs { Err(ParseError::MissingLine("owner_pid")) } else { Ok(None) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_running_stream_has_an_owner() {
        let status = |state: &str| {
            format!(
                "state: {state}\nowner_pid   : 2345\ntrigger_time: 100.000000000\ntstamp      : 0.000000000\n\
                 delay       : 3072\navail       : 1024\navail_max   : 1024\n-----\nhw_ptr      : 7\nappl_ptr    : 9\n"
            )
        };
        let owner = |text: &str| parse_pcm_owner(text.as_bytes());
        for state in ["RUNNING", "DRAINING"] {
            assert_eq!(owner(&status(state)), Ok(Some(2345)), "{state}");
        }
        for text in
            [status("PREPARED"), status("PAUSED"), "closed\n".to_owned(), "error -77\n".to_owned(), String::new()]
        {
            assert_eq!(owner(&text), Ok(None), "{text}");
        }
        assert_eq!(owner("state: RUNNING\n"), Err(ParseError::MissingLine("owner_pid")));
        assert!(owner("state: RUNNING\nowner_pid   : many\n").is_err());
    }
}
