//! Tiles of entries: leaves one behind the other, each with its length before it in two bytes, the
//! more significant first. That is why a leaf has at most 65,535 bytes.

use thiserror::Error;

use super::TILE_WIDTH;

const LENGTH_BYTES: usize = 2;

/// Writes the leaves of a tile.
///
/// # Errors
///
/// [`BundleError::TooLong`] for a leaf that has no length in two bytes.
pub fn write_entries<'a>(
    leaves: impl IntoIterator<Item = &'a [u8]>,
) -> Result<Vec<u8>, BundleError> {
    let mut bytes = Vec::new();
    for (at, leaf) in leaves.into_iter().enumerate() {
        let length = u16::try_from(leaf.len()).map_err(|_| BundleError::TooLong {
            at,
            bytes: leaf.len(),
        })?;
        bytes.extend(length.to_be_bytes());
        bytes.extend(leaf);
    }
    Ok(bytes)
}

/// Reads the leaves of a tile that has `width` of them.
///
/// # Errors
///
/// [`BundleError`] when the bytes hold fewer or more.
pub fn read_entries(bytes: &[u8], width: u16) -> Result<Vec<&[u8]>, BundleError> {
    let mut leaves = Vec::with_capacity(usize::from(width.min(TILE_WIDTH)));
    let mut rest = bytes;
    for at in 0..usize::from(width) {
        let cut = || BundleError::CutShort { at };
        let (length, behind) = rest.split_first_chunk::<LENGTH_BYTES>().ok_or_else(cut)?;
        let length = usize::from(u16::from_be_bytes(*length));
        let (leaf, behind) = behind.split_at_checked(length).ok_or_else(cut)?;
        leaves.push(leaf);
        rest = behind;
    }
    if rest.is_empty() {
        Ok(leaves)
    } else {
        Err(BundleError::Excess { bytes: rest.len() })
    }
}

/// Why bytes are not the entries of a tile.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum BundleError {
    /// A leaf beyond what two bytes can count.
    #[error("entry {at} of the tile has {bytes} bytes, at most 65535 can be written")]
    TooLong {
        /// Place in the tile.
        at: usize,
        /// Bytes of the leaf.
        bytes: usize,
    },
    /// The bytes end within an entry, or before it.
    #[error("the tile ends before its entry {at} does: fetch it again")]
    CutShort {
        /// Place in the tile.
        at: usize,
    },
    /// Bytes behind the last entry.
    #[error("{bytes} bytes are left behind the tile's last entry: fetch the tile of that width")]
    Excess {
        /// How many bytes there are.
        bytes: usize,
    },
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn lengths_have_two_bytes_the_more_significant_first() {
        let long = vec![b'x'; 0x0102];
        let bytes = write_entries([b"ab".as_slice(), b"", &long]).unwrap();
        assert_eq!(&bytes[..8], b"\x00\x02ab\x00\x00\x01\x02");
        assert_eq!(bytes.len(), 8 + long.len());

        let longest = vec![0; 65_535];
        assert_eq!(
            write_entries([longest.as_slice()]).unwrap()[..2],
            [0xff, 0xff]
        );
        let too_long = vec![0; 65_536];
        assert_eq!(
            write_entries([b"".as_slice(), &too_long]),
            Err(BundleError::TooLong {
                at: 1,
                bytes: 65_536
            })
        );
    }

    #[test]
    fn every_cut_and_every_excess_is_noticed() {
        let leaves = [b"one".as_slice(), b"", b"three"];
        let bytes = write_entries(leaves).unwrap();
        assert_eq!(read_entries(&bytes, 3), Ok(leaves.to_vec()));
        for end in 0..bytes.len() {
            assert!(matches!(
                read_entries(&bytes[..end], 3),
                Err(BundleError::CutShort { .. })
            ));
        }
        assert_eq!(
            read_entries(&bytes, 2),
            Err(BundleError::Excess { bytes: 7 })
        );
        assert_eq!(
            read_entries(&bytes, 4),
            Err(BundleError::CutShort { at: 3 })
        );
    }

    proptest! {
        #[test]
        fn leaves_are_read_back(
            leaves in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..300), 0..=256),
        ) {
            let leaves: Vec<&[u8]> = leaves.iter().map(Vec::as_slice).collect();
            let bytes = write_entries(leaves.iter().copied()).unwrap();
            prop_assert_eq!(read_entries(&bytes, leaves.len() as u16), Ok(leaves));
        }
    }
}
