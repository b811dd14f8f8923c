//! What a record is and how anyone checks it.
