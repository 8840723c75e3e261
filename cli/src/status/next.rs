//! The next useful command after a status. Values in, words out.

use brisk_api::ClientError;
use brisk_api::Status;

/// Whether the daemon lacks something or could not do something.
pub(super) fn is_lacking(status: &Status) -> bool {
    let not_recorded = status.record.as_ref().is_some_and(|record| record.trouble.is_some());
    !status.trouble.is_empty() || !status.resting.is_empty() || not_recorded
}

/// The command and its purpose.
pub(super) fn command(status: Result<&Status, &ClientError>) -> (&'static str, &'static str) {
    match status {
        Err(ClientError::NotRunning { .. }) => {
            ("brisk doctor", "what this device offers, before the service is started")
        }
        Err(_) => ("brisk doctor", "what is in the way, with a remedy"),
        Ok(status) if is_lacking(status) => ("brisk doctor", "the remedy for each line with !!"),
        Ok(status) if status.paused => ("brisk config reload", "engines decide again"),
        Ok(status) if status.devices.is_empty() => ("brisk config default", "[daemon] devices names disks to manage"),
        Ok(status) if status.devices.iter().any(|device| device.due().next().is_some()) => {
            ("brisk tune", "measures what engines do not know of this storage yet; the service does, bit by bit")
        }
        Ok(status) if !status.settings.is_empty() => ("brisk explain", "why each setting has its value"),
        Ok(_) => ("brisk bench --quick", "what the storage of this device costs"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use brisk_api::Device;

    #[test]
    fn a_lack_goes_before_a_pause_and_that_before_all_is_well() {
        let device = Device {
            name: "sda".into(),
            model: "KLU".into(),
            kind: "ufs".into(),
            measured: vec!["speeds".into()],
            ..Device::default()
        };
        let well = Status { devices: vec![device], ..Status::default() };
        let paused = Status { paused: true, ..well.clone() };
        let lacking = Status { trouble: vec!["no launches".into()], ..paused.clone() };
        let of = |status: &Status| command(Ok(status)).0;
        assert_eq!(of(&well), "brisk tune");
        let measured = brisk_api::PARTS.map(str::to_owned).to_vec();
        let known = Status { devices: vec![Device { measured, ..well.devices[0].clone() }], ..Status::default() };
        assert_eq!(of(&known), "brisk bench --quick");
        assert_eq!(of(&paused), "brisk config reload");
        assert_eq!(of(&lacking), "brisk doctor");
        assert_eq!(of(&Status::default()), "brisk config default");
        assert_eq!(command(Err(&ClientError::NotRunning { path: "/run/x".into() })).0, "brisk doctor");
    }
}
