//! A new migration file is compiled in although no Rust source changed.

fn main() {
    println!("cargo::rerun-if-changed=../../migrations");
}
