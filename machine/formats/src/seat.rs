//! A seat of logind, as it keeps it in /run/systemd/seats: one assignment a line (systemd: src/login/logind-seat.c,
//! `seat_save`; elogind likewise).

/// The user of the session that is active on the seat; `None` while none is.
#[must_use]
pub fn parse_active_user(bytes: &[u8]) -> Option<u32> {
    let text = std::str::from_utf8(bytes).ok()?;
    text.lines().find_map(|line| line.strip_prefix("ACTIVE_UID="))?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seat_tells_whose_session_is_active() {
        let seat =
            "# This is private data. Do not parse.\nIS_SEAT0=1\nCAN_MULTI_SESSION=1\nACTIVE=c2\nACTIVE_UID=1000\n";
        assert_eq!(parse_active_user(seat.as_bytes()), Some(1000));
        for none in ["IS_SEAT0=1\n", "ACTIVE_UID=\n", "ACTIVE_UID=-1\n", "", "\u{fffd}ACTIVE_UID=5"] {
            assert_eq!(parse_active_user(none.as_bytes()), None, "{none}");
        }
        assert_eq!(parse_active_user(b"\xff"), None);
    }
}
