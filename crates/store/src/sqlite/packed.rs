//! Many rows in one: handing over a row takes longer than copying what is in it, so a page of blobs
//! comes as one blob, with the positions and lengths of its parts.
//!
//! SQLite steps through the rows once for all aggregates of a statement, so the parts of one stand
//! in the order of the other, whichever that is.

use sqlx::Row as _;
use sqlx::sqlite::SqliteRow;

use super::error::StoreError;

/// What packs the column `bytes`, given as `places!("bytes")`: positions and lengths.
macro_rules! places {
    ($bytes:literal) => {
        concat!("group_concat(position || ':' || length(", $bytes, "))")
    };
}

/// What packs the column `bytes`, given as `blob!("bytes")`: the blobs, nothing between them.
macro_rules! blob {
    ($bytes:literal) => {
        concat!("CAST(group_concat(", $bytes, ", '') AS BLOB)")
    };
}

pub(super) use {blob, places};

/// Blobs by position.
#[derive(Debug)]
pub(super) struct Packed {
    places: Vec<(u64, usize)>,
    bytes: Vec<u8>,
}

impl Packed {
    /// From a row that has [`places`] and [`blob`] of a column of `table` from its column `first` on.
    ///
    /// # Errors
    /// The two are not of the same rows, which no database of ours can make.
    pub(super) fn read(
        row: &SqliteRow,
        first: usize,
        table: &'static str,
    ) -> Result<Packed, StoreError> {
        let places: Option<&str> = row.try_get(first)?;
        let bytes: Option<Vec<u8>> = row.try_get(first + 1)?;
        let bad = || StoreError::BadValue {
            table,
            what: "blobs that are not as long as they are".to_owned(),
        };
        let places = places.map_or(Some(Vec::new()), |places| {
            places.split(',').map(place).collect()
        });
        let packed = Packed {
            places: places.ok_or_else(bad)?,
            bytes: bytes.unwrap_or_default(),
        };
        let length: usize = packed.places.iter().map(|(_, length)| length).sum();
        if length == packed.bytes.len() {
            Ok(packed)
        } else {
            Err(bad())
        }
    }

    /// How many there are.
    pub(super) fn len(&self) -> usize {
        self.places.len()
    }

    /// The blobs in the order in which they were packed, with their positions.
    pub(super) fn iter(&self) -> impl Iterator<Item = (u64, &[u8])> {
        let mut rest = self.bytes.as_slice();
        self.places.iter().map_while(move |(position, length)| {
            let (blob, behind) = rest.split_at_checked(*length)?;
            rest = behind;
            Some((*position, blob))
        })
    }
}

fn place(text: &str) -> Option<(u64, usize)> {
    let (position, length) = text.split_once(':')?;
    Some((position.parse().ok()?, length.parse().ok()?))
}
