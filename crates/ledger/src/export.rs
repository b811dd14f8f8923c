//! Writes a log, or one interaction of it, as one line file. The format is in [`x811_audit::export`], which reads
//! it.

mod bundle;
mod tiles;
mod writer;

pub use bundle::{BundleError, SubjectBundle};
pub use tiles::{TilesError, write_tiles};
pub use writer::{UpTo, WriteError, write};
