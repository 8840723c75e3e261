//! Prints the calibration as Markdown: `measure/flash/CALIBRATION.md`.

fn main() -> Result<(), Box<dyn std::error::Error>> {
    print!("{}", brisk_flash::calibration::markdown()?);
    Ok(())
}
