//! Builds the C parts of the laboratory: each in the folder it belongs to.

#[path = "src/cures/build.rs"]
mod cures;
#[path = "src/flash/build.rs"]
mod flash;

fn main() {
    cures::build();
    flash::build();
    println!("cargo:rerun-if-changed=build.rs");
}
