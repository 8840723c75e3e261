//! Prints the calibration as Markdown: `measure/flash/CALIBRATION.md`.

#![allow(clippy::print_stdout, reason = "an example shows what it found")]

fn main() -> Result<(), Box<dyn std::error::Error>> {
    print!("{}", brisk_flash::calibration::markdown()?);
    Ok(())
}
