//! Where records and read rows live: SQLite.
