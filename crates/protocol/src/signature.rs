//! Ed25519 signatures as envelopes and records spell them: base64url without padding (AE-78).

use std::fmt;
use std::str::FromStr;

use base64::Engine as _;
use base64::display::Base64Display;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_with::{DeserializeFromStr, SerializeDisplay};

/// The 64 bytes of an Ed25519 signature; whether they are a good one, only a key can say.
#[derive(
    Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, SerializeDisplay, DeserializeFromStr,
)]
pub struct Signature([u8; 64]);

impl Signature {
    /// Wraps the 64 bytes R ‖ S.
    pub const fn from_bytes(bytes: [u8; 64]) -> Signature {
        Signature(bytes)
    }

    /// The 64 bytes R ‖ S.
    pub const fn as_bytes(&self) -> &[u8; 64] {
        &self.0
    }
}

impl fmt::Display for Signature {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&Base64Display::new(&self.0, &URL_SAFE_NO_PAD), f)
    }
}

impl fmt::Debug for Signature {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Signature({self})")
    }
}

impl FromStr for Signature {
    type Err = SignatureError;

    fn from_str(text: &str) -> Result<Signature, SignatureError> {
        // 64 bytes are 86 characters; the engine refuses padding and set trailing bits.
        if text.len() != 86 {
            return Err(SignatureError);
        }
        let bytes = URL_SAFE_NO_PAD.decode(text).map_err(|_| SignatureError)?;
        bytes.try_into().map(Signature).map_err(|_| SignatureError)
    }
}

/// The text does not spell 64 bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not a signature: write 64 bytes as 86 characters of base64url without padding")]
pub struct SignatureError;

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str =
        "bh5WLUh1SKKd7E-un534XhRwGs0s_qRPxQlT-Tz7NKwRuqjWdfbMbwEk5bjySXk36rk8rYJBMcM1YZk6c9lmAw";

    #[test]
    fn ae_078_reads_and_writes_base64url_without_padding() {
        let signature: Signature = TEXT.parse().unwrap();
        assert_eq!(signature.to_string(), TEXT);
        assert_eq!(Signature::from_bytes(*signature.as_bytes()), signature);
        assert_eq!(
            serde_json::to_value(signature).unwrap(),
            serde_json::json!(TEXT)
        );
    }

    #[test]
    fn ae_078_one_value_has_one_spelling() {
        let trailing_bits = format!("{}x", &TEXT[..85]);
        for bad in [
            String::new(),
            format!("{TEXT}=="),
            TEXT.replace('-', "+"),
            TEXT.replace('_', "/"),
            TEXT[..85].to_owned(),
            format!("{TEXT}A"),
            trailing_bits,
        ] {
            assert_eq!(bad.parse::<Signature>(), Err(SignatureError), "{bad}");
        }
    }
}
