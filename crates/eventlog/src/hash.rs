//! One SHA-256 value, and the two ways this crate makes one.
//!
//! A record hash is the link of the hash chain and the leaf hash of the Merkle tree at once
//! (record.md section 1), so there is one type for both.

use std::fmt;
use std::str::FromStr;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use sha2::block_api::compress256;
use sha2::{Digest, Sha256};
use thiserror::Error;

/// Bytes in a hash.
pub const HASH_BYTES: usize = 32;

/// Bytes in a block of SHA-256 (FIPS 180-4 section 5.2.1).
const BLOCK_BYTES: usize = 64;

/// What follows the message in its last block (FIPS 180-4 section 5.1.1).
const END_MARK: u8 = 0x80;

/// Bits of the 65 bytes that are hashed for a node; they stand at the end of its last block.
const NODE_BITS: u16 = 8 * 65;

/// Where SHA-256 begins (FIPS 180-4 section 5.3.3).
const INITIAL_STATE: [u32; 8] = [
    0x6a09_e667,
    0xbb67_ae85,
    0x3c6e_f372,
    0xa54f_f53a,
    0x510e_527f,
    0x9b05_688c,
    0x1f83_d9ab,
    0x5be0_cd19,
];

/// A SHA-256 value. Written as 64 lower-case hex digits (record.md section 1), but in C2SP formats.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Hash([u8; HASH_BYTES]);

impl Hash {
    /// What `prev` holds at position 0: 64 zeros (record.md section 1).
    pub const ZERO: Self = Self([0; HASH_BYTES]);

    /// Wraps 32 bytes that are already a hash.
    #[must_use]
    pub const fn from_bytes(bytes: [u8; HASH_BYTES]) -> Self {
        Self(bytes)
    }

    /// The 32 bytes.
    #[must_use]
    pub const fn as_bytes(&self) -> &[u8; HASH_BYTES] {
        &self.0
    }

    /// `SHA-256(0x00 ‖ leaf)`: the record hash, RFC 6962 section 2.1.
    #[must_use]
    pub fn of_leaf(leaf: &[u8]) -> Self {
        Self::of_parts(&[&[0x00], leaf])
    }

    /// `SHA-256(0x01 ‖ left ‖ right)`: an inner node of the tree, RFC 6962 section 2.1.
    ///
    /// That is always 65 bytes, so the two blocks of FIPS 180-4 are laid out here: a hasher that
    /// takes any length needs twice the time, and a tree is nothing but nodes.
    #[must_use]
    pub fn of_node(left: &Self, right: &Self) -> Self {
        let mut blocks = [[0; BLOCK_BYTES]; 2];
        let [first, second] = &mut blocks;
        let (right, last) = right.0.split_at(HASH_BYTES - 1);
        first[0] = 0x01;
        first[1..=HASH_BYTES].copy_from_slice(&left.0);
        first[1 + HASH_BYTES..].copy_from_slice(right);
        second[..1].copy_from_slice(last);
        second[1] = END_MARK;
        second[BLOCK_BYTES - 2..].copy_from_slice(&NODE_BITS.to_be_bytes());
        let mut state = INITIAL_STATE;
        compress256(&mut state, &blocks);
        let mut hash = [0; HASH_BYTES];
        for (bytes, word) in hash.as_chunks_mut().0.iter_mut().zip(state) {
            *bytes = word.to_be_bytes();
        }
        Self(hash)
    }

    /// SHA-256 over nothing: the root of the empty tree, RFC 6962 section 2.1.
    #[must_use]
    pub fn of_nothing() -> Self {
        Self::of_parts(&[])
    }

    /// In standard base64 with padding, as the C2SP formats write it.
    #[must_use]
    pub fn to_base64(&self) -> String {
        STANDARD.encode(self.0)
    }

    /// Reads what [`Hash::to_base64`] writes, and nothing else.
    #[must_use]
    pub fn from_base64(text: &str) -> Option<Self> {
        let bytes = STANDARD.decode(text).ok()?;
        Some(Self(bytes.try_into().ok()?))
    }

    fn of_parts(parts: &[&[u8]]) -> Self {
        let mut hasher = Sha256::new();
        for part in parts {
            hasher.update(part);
        }
        Self(hasher.finalize().into())
    }
}

/// Why a text is not a hash.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum HashError {
    /// Too short or too long.
    #[error("a hash has 64 hex digits, found {found} bytes; give the whole hash without prefix")]
    Length {
        /// Bytes of text found.
        found: usize,
    },
    /// A character outside `0-9a-f`.
    #[error("a hash is written in 0-9 and a-f only, byte {at} is something else; use lower case")]
    Digit {
        /// Offset of the first offending byte.
        at: usize,
    },
}

/// What each byte says as a lower-case hex digit; more than 15 for those that are none.
const DIGITS: [u8; 256] = {
    let mut digits = [0xff; 256];
    let mut value = 0;
    while value < 16 {
        digits[b"0123456789abcdef"[value] as usize] = value as u8;
        value += 1;
    }
    digits
};

impl FromStr for Hash {
    type Err = HashError;

    fn from_str(text: &str) -> Result<Self, HashError> {
        if text.len() != HASH_BYTES * 2 {
            return Err(HashError::Length { found: text.len() });
        }
        let mut bytes = [0; HASH_BYTES];
        let (pairs, _) = text.as_bytes().as_chunks();
        let mut all = 0;
        for (byte, [high, low]) in bytes.iter_mut().zip(pairs) {
            let (high, low) = (DIGITS[usize::from(*high)], DIGITS[usize::from(*low)]);
            all |= high | low;
            *byte = high << 4 | low;
        }
        if all > 0x0f {
            let odd = |byte: u8| DIGITS[usize::from(byte)] > 0x0f;
            let at = text.bytes().position(odd).unwrap_or_default();
            return Err(HashError::Digit { at });
        }
        Ok(Self(bytes))
    }
}

impl fmt::Display for Hash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut digits = [0; HASH_BYTES * 2];
        hex::encode_to_slice(self.0, &mut digits).map_err(|_| fmt::Error)?;
        f.pad(str::from_utf8(&digits).map_err(|_| fmt::Error)?)
    }
}

impl fmt::Debug for Hash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Serialize for Hash {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Hash {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?
            .parse()
            .map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const DIGITS: &str = "00ff0000000000000000000000000000000000000000000000000000000000ab";

    #[test]
    fn rec_1_hash_text_is_lower_case_hex_and_nothing_else() {
        let hash: Hash = DIGITS.parse().unwrap();
        assert_eq!(hash.to_string(), DIGITS);
        assert_eq!(format!("{hash:?}"), DIGITS);
        assert_eq!(
            serde_json::to_string(&hash).unwrap(),
            format!("\"{DIGITS}\"")
        );
        assert_eq!(
            serde_json::from_str::<Hash>(&format!("\"{DIGITS}\"")).unwrap(),
            hash
        );

        let cases = [
            (DIGITS.to_uppercase(), HashError::Digit { at: 2 }),
            (DIGITS.replace("ab", "g0"), HashError::Digit { at: 62 }),
            (DIGITS[..62].to_owned(), HashError::Length { found: 62 }),
            (format!("0x{DIGITS}"), HashError::Length { found: 66 }),
            (String::new(), HashError::Length { found: 0 }),
            ("é".repeat(32), HashError::Digit { at: 0 }),
        ];
        for (text, error) in cases {
            assert_eq!(text.parse::<Hash>(), Err(error), "{text}");
        }
        assert!(serde_json::from_str::<Hash>("7").is_err());
    }

    proptest! {
        #[test]
        fn rfc6962_a_node_is_the_hash_of_a_byte_and_two_hashes(
            left: [u8; HASH_BYTES],
            right: [u8; HASH_BYTES],
        ) {
            let node = Hash::of_node(&Hash(left), &Hash(right));
            let due: [u8; HASH_BYTES] = Sha256::digest([&[0x01][..], &left, &right].concat()).into();
            prop_assert_eq!(node, Hash(due));
        }
    }

    #[test]
    fn rec_1_zero_is_sixty_four_zeros() {
        assert_eq!(Hash::ZERO.to_string(), "0".repeat(64));
    }
}
