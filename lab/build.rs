//! Builds the C parts of the laboratory: each in the folder it belongs to.

#[path = "src/cures/build.rs"]
mod cures;
#[path = "src/flash/build.rs"]
mod flash;
#[path = "src/probes/build.rs"]
mod probes;

fn main() {
    cures::build();
    flash::build();
    probes::build();
    println!("cargo:rerun-if-changed=build.rs");
}
