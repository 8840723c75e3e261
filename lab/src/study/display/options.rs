//! The screen that apps are watched on.

/// Options for the screen.
#[derive(Debug, clap::Args)]
pub(crate) struct Options {
    /// Watch this display: :0, or the name or path of a Wayland socket [default: WAYLAND_DISPLAY, else DISPLAY, else
    /// --virtual]
    #[arg(long, value_name = "DISPLAY", conflicts_with_all = ["virtual_screen", "no_screen"])]
    pub(crate) display: Option<String>,
    /// Watch a virtual screen (Xvfb)
    #[arg(long = "virtual", value_name = "WIDTHxHEIGHT", num_args = 0..=1, require_equals = true,
        default_missing_value = DEFAULT_SIZE, value_parser = size)]
    pub(crate) virtual_screen: Option<(u16, u16)>,
    /// Watch no screen: a program without windows, until its work is done
    #[arg(long, conflicts_with = "virtual_screen")]
    pub(crate) no_screen: bool,
}

/// A phone's screen on its side.
pub(crate) const DEFAULT_SIZE: &str = "1280x720";

/// Reads a size in pixels: width and height.
///
/// # Errors
/// When it is none, in words for clap.
pub(crate) fn size(text: &str) -> Result<(u16, u16), String> {
    let parsed = text.split_once('x').and_then(|(width, height)| Some((width.parse().ok()?, height.parse().ok()?)));
    match parsed {
        Some((width @ 64..=8192, height @ 64..=8192)) => Ok((width, height)),
        Some(_) => Err("width and height are 64 to 8192 pixels".to_owned()),
        None => Err(format!("\"{text}\" is no size: write it as {DEFAULT_SIZE}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read_and_bounded() {
        assert_eq!(size("1280x720"), Ok((1280, 720)));
        for bad in ["1280", "0x10", "10x10", "1280x", "x", "1280x720x24", "99999x720", "-1x5"] {
            assert!(size(bad).is_err(), "{bad}");
        }
    }
}
