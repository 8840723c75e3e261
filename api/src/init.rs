//! How services are started and stopped on this machine, so that a remedy names a command that is there.
//!
//! Property: `a_remedy_is_of_the_init_that_runs`.

use std::path::Path;

/// What manages services.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Init {
    /// systemd, which runs (sd_booted(3)).
    Systemd,
    /// OpenRC, which has started.
    OpenRc,
    /// Scripts in /etc/init.d.
    Scripts,
    /// Nothing that is known: a container, a chroot, another init.
    #[default]
    Other,
}

impl Init {
    /// The init system of this machine.
    #[must_use]
    pub fn of_machine() -> Self {
        Self::of(Path::new("/"))
    }

    /// The init system of the machine whose files are below `root`.
    #[must_use]
    pub fn of(root: &Path) -> Self {
        let has = |path: &str| root.join(path).exists();
        if has("run/systemd/system") {
            Self::Systemd
        } else if has("run/openrc") {
            Self::OpenRc
        } else if has("etc/init.d/briskd") {
            Self::Scripts
        } else {
            Self::Other
        }
    }

    /// How the daemon is started now.
    #[must_use]
    pub const fn start(self) -> &'static str {
        match self {
            Self::Systemd => "systemctl start briskd",
            Self::OpenRc => "rc-service briskd start",
            Self::Scripts => "service briskd start",
            Self::Other => "briskd &",
        }
    }

    /// How the daemon is started now and with the machine.
    #[must_use]
    pub const fn enable(self) -> &'static str {
        match self {
            Self::Systemd => "systemctl enable --now briskd",
            Self::OpenRc => "rc-update add briskd default && rc-service briskd start",
            Self::Scripts => "update-rc.d briskd enable && service briskd start",
            Self::Other => "briskd &",
        }
    }

    /// How a service is stopped now.
    #[must_use]
    pub fn stop(self, service: &str) -> String {
        match self {
            Self::Systemd => format!("systemctl stop {service}"),
            Self::OpenRc => format!("rc-service {service} stop"),
            Self::Scripts => format!("service {service} stop"),
            Self::Other => format!("kill -TERM $(pidof {service})"),
        }
    }

    /// How a service is stopped, and not started with the machine any more.
    #[must_use]
    pub fn disable(self, service: &str) -> String {
        match self {
            Self::Systemd => format!("systemctl disable --now {service}"),
            Self::OpenRc => format!("rc-service {service} stop && rc-update del {service}"),
            Self::Scripts => format!("service {service} stop && update-rc.d {service} disable"),
            Self::Other => format!("kill -TERM $(pidof {service})"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_remedy_is_of_the_init_that_runs() {
        let root = tempfile::tempdir().expect("a directory");
        let make = |path: &str| std::fs::create_dir_all(root.path().join(path)).expect("made");
        let of = || (Init::of(root.path()).start(), Init::of(root.path()).disable("earlyoom"));
        assert_eq!(of(), ("briskd &", "kill -TERM $(pidof earlyoom)".to_owned()));
        make("etc/init.d/briskd");
        // A directory of systemd is there on others too, for its programs.
        make("run/systemd/seats");
        assert_eq!(of(), ("service briskd start", "service earlyoom stop && update-rc.d earlyoom disable".to_owned()));
        make("run/openrc");
        assert_eq!(of(), ("rc-service briskd start", "rc-service earlyoom stop && rc-update del earlyoom".to_owned()));
        make("run/systemd/system");
        assert_eq!(of(), ("systemctl start briskd", "systemctl disable --now earlyoom".to_owned()));
        assert_eq!(Init::of(root.path()).enable(), "systemctl enable --now briskd");
    }
}
