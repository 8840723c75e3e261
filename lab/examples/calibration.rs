//! Prints the calibration as Markdown: `lab/src/flash/CALIBRATION.md`.

#![allow(clippy::print_stdout, reason = "an example shows what it found")]

fn main() -> Result<(), Box<dyn std::error::Error>> {
    print!("{}", brisk_lab::flash::calibration::markdown()?);
    Ok(())
}
