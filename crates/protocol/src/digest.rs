//! SHA-256 digests: the one hash of the protocol and of the record.
//!
//! Text form is 64 lower-case hex digits without prefix (record.md section 1). Upper case is
//! refused: one value has one spelling, or two honest readers would disagree about equality.

use std::fmt;
use std::str::FromStr;

use serde_with::DeserializeFromStr;
use sha2::{Digest as _, Sha256};

use crate::spelled::{Spelled, written_as_spelled};

/// A SHA-256 digest.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, DeserializeFromStr)]
pub struct Digest([u8; 32]);

impl Digest {
    /// 32 zero bytes: what the first record names as its predecessor (record.md section 1).
    pub const ZERO: Digest = Digest([0; 32]);

    /// SHA-256 of `bytes`.
    pub fn of(bytes: &[u8]) -> Digest {
        Digest(Sha256::digest(bytes).into())
    }

    /// SHA-256 of the concatenation of `parts`, nothing between them.
    pub fn of_parts(parts: &[&[u8]]) -> Digest {
        let mut hasher = Sha256::new();
        for part in parts {
            hasher.update(part);
        }
        Digest(hasher.finalize().into())
    }

    /// Wraps 32 bytes that already are a digest.
    pub const fn from_bytes(bytes: [u8; 32]) -> Digest {
        Digest(bytes)
    }

    /// The 32 bytes.
    pub const fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }

    fn spelled(&self) -> Spelled<64> {
        Spelled::hex("", &self.0)
    }
}

written_as_spelled!(Digest);

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Digest({self})")
    }
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

impl FromStr for Digest {
    type Err = DigestError;

    fn from_str(text: &str) -> Result<Digest, DigestError> {
        if text.len() != 64 {
            return Err(DigestError);
        }
        let mut bytes = [0; 32];
        let (pairs, _) = text.as_bytes().as_chunks();
        let mut all = 0;
        for (byte, [high, low]) in bytes.iter_mut().zip(pairs) {
            let (high, low) = (DIGITS[usize::from(*high)], DIGITS[usize::from(*low)]);
            all |= high | low;
            *byte = high << 4 | low;
        }
        if all > 0x0f {
            return Err(DigestError);
        }
        Ok(Digest(bytes))
    }
}

/// The text is not a digest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not a SHA-256 digest: write exactly 64 lower-case hex digits without a prefix")]
pub struct DigestError;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_answers_of_fips_180() {
        let empty = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
        let abc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(Digest::of(b"").to_string(), empty);
        assert_eq!(Digest::of(b"abc").to_string(), abc);
        assert_eq!(Digest::of_parts(&[b"a", b"", b"bc"]), Digest::of(b"abc"));
        assert_eq!(abc.parse::<Digest>().unwrap(), Digest::of(b"abc"));
    }

    #[test]
    fn rec_1_only_64_lower_case_hex_digits_are_read() {
        let good = Digest::of(b"abc").to_string();
        for bad in [
            String::new(),
            good.to_uppercase(),
            format!("0x{good}"),
            good[1..].to_owned(),
            format!("{good}0"),
            good.replace('b', "g"),
        ] {
            assert_eq!(bad.parse::<Digest>(), Err(DigestError), "{bad}");
        }
    }

    #[test]
    fn rec_1_json_form_is_the_hex_string() {
        let digest = Digest::of(b"abc");
        let json = serde_json::to_string(&digest).unwrap();
        assert_eq!(json, format!("\"{digest}\""));
        assert_eq!(serde_json::from_str::<Digest>(&json).unwrap(), digest);
    }
}
