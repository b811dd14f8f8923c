//! Ed25519 keys: who signed, and with which signature profile.
//!
//! Verification is strict everywhere, so that two honest verifiers never disagree: small-order and
//! non-canonical points are refused when a key is read, small-order R and non-canonical S when a
//! signature is checked (ledger-contract.md section 7). Many signatures may be verified together
//! ([`verify_all`]), with that same verdict.

mod batch;
mod known;
mod strict;
mod whole;

use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::str::FromStr;

use ed25519_dalek::{Signer as _, SigningKey, VerifyingKey};
use serde::{Deserialize, Serialize};
use serde_with::{DeserializeFromStr, SerializeDisplay};

pub use batch::{FEWEST_TOGETHER, Signed, verify_all, verify_all_knowing};
pub use whole::WholeKeys;

use crate::did::Did;
use crate::signature::Signature;

/// Multicodec prefix of an Ed25519 public key (varint of 0xed).
const MULTICODEC_ED25519: [u8; 2] = [0xed, 0x01];
/// Characters of `z` + base58btc of prefix and key: always the same number for this prefix.
const MULTIBASE_LEN: usize = 48;

/// An Ed25519 public key, decoded once; its text form is multibase, `z6Mk…`.
#[derive(Clone, Copy, SerializeDisplay, DeserializeFromStr)]
pub struct PublicKey(VerifyingKey);

impl PublicKey {
    /// Reads the 32 bytes of RFC 8032.
    ///
    /// # Errors
    /// Not a point of the curve, not its canonical encoding, or a point of small order.
    pub fn from_bytes(bytes: &[u8; 32]) -> Result<PublicKey, KeyError> {
        if let Some(key) = known::find(bytes) {
            return Ok(PublicKey(key));
        }
        if !is_canonical_y(bytes) {
            return Err(KeyError::NotCanonical);
        }
        let key = VerifyingKey::from_bytes(bytes).map_err(|_| KeyError::NotOnCurve)?;
        if key.is_weak() {
            return Err(KeyError::SmallOrder);
        }
        known::remember(key);
        Ok(PublicKey(key))
    }

    /// Whether the key has no part of small order. No other is registered: signatures by
    /// one with such a part cannot be checked together with others.
    #[must_use]
    pub fn is_torsion_free(&self) -> bool {
        self.0.to_edwards().is_torsion_free()
    }

    /// The 32 bytes of RFC 8032.
    pub fn as_bytes(&self) -> &[u8; 32] {
        self.0.as_bytes()
    }

    /// Whether `signature` over `message` is this key's, by strict verification.
    #[must_use]
    pub fn verify(&self, message: &[u8], signature: &Signature) -> bool {
        let signature = ed25519_dalek::Signature::from_bytes(signature.as_bytes());
        strict::verify(&self.0, message, &signature)
    }
}

impl From<PublicKey> for VerifyingKey {
    /// The decoded key, for other uses of the library.
    fn from(key: PublicKey) -> VerifyingKey {
        key.0
    }
}

/// Whether the y coordinate (all bits but the sign) is below the field's prime 2^255 - 19.
fn is_canonical_y(bytes: &[u8; 32]) -> bool {
    let all_high = bytes[31] & 0x7f == 0x7f && bytes[1..31].iter().all(|byte| *byte == 0xff);
    !(all_high && bytes[0] >= 0xed)
}

impl PartialEq for PublicKey {
    fn eq(&self, other: &PublicKey) -> bool {
        self.as_bytes() == other.as_bytes()
    }
}

impl Eq for PublicKey {}

impl PartialOrd for PublicKey {
    fn partial_cmp(&self, other: &PublicKey) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for PublicKey {
    fn cmp(&self, other: &PublicKey) -> Ordering {
        self.as_bytes().cmp(other.as_bytes())
    }
}

impl Hash for PublicKey {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.as_bytes().hash(state);
    }
}

impl fmt::Display for PublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = known::text(self.as_bytes(), || multibase(self.as_bytes()))?;
        f.write_str(str::from_utf8(&text).map_err(|_| fmt::Error)?)
    }
}

fn multibase(key: &[u8; 32]) -> Result<known::Text, fmt::Error> {
    let mut bytes = [0; 34];
    bytes[..2].copy_from_slice(&MULTICODEC_ED25519);
    bytes[2..].copy_from_slice(key);
    let mut text = [b'z'; MULTIBASE_LEN];
    let digits = bs58::encode(bytes).onto(&mut text[1..]);
    match digits {
        Ok(digits) if digits == MULTIBASE_LEN - 1 => Ok(text),
        Ok(_) | Err(_) => Err(fmt::Error),
    }
}

impl fmt::Debug for PublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PublicKey({self})")
    }
}

impl FromStr for PublicKey {
    type Err = KeyError;

    fn from_str(text: &str) -> Result<PublicKey, KeyError> {
        let base58 = text.strip_prefix('z').ok_or(KeyError::NotMultibase)?;
        if text.len() != MULTIBASE_LEN {
            return Err(KeyError::NotMultibase);
        }
        let bytes = bs58::decode(base58)
            .into_vec()
            .map_err(|_| KeyError::NotMultibase)?;
        let key = bytes
            .strip_prefix(&MULTICODEC_ED25519)
            .ok_or(KeyError::NotMultibase)?;
        PublicKey::from_bytes(key.try_into().map_err(|_| KeyError::NotMultibase)?)
    }
}

/// An Ed25519 secret key. Its memory is wiped when it is dropped and it is never printed.
#[derive(Clone, PartialEq, Eq)]
pub struct SecretKey(SigningKey);

impl SecretKey {
    /// The key of this 32-byte seed (RFC 8032 section 5.1.5).
    pub fn from_seed(seed: [u8; 32]) -> SecretKey {
        SecretKey(SigningKey::from_bytes(&seed))
    }

    /// The seed; whoever has it can sign.
    pub fn seed(&self) -> &[u8; 32] {
        self.0.as_bytes()
    }

    /// The public half.
    pub fn public(&self) -> PublicKey {
        PublicKey(self.0.verifying_key())
    }

    /// The deterministic signature over `message` (RFC 8032, plain Ed25519).
    pub fn sign(&self, message: &[u8]) -> Signature {
        Signature::from_bytes(self.0.sign(message).to_bytes())
    }
}

impl fmt::Debug for SecretKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SecretKey(of {})", self.public())
    }
}

/// A key as the key of one agent: the DID URL `<did>#<multibase key>`.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, SerializeDisplay, DeserializeFromStr,
)]
pub struct KeyId {
    /// DID of the agent whose key it is.
    pub did: Did,
    /// The key itself, so that a signature verifies from its record alone.
    pub key: PublicKey,
}

impl fmt::Display for KeyId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}#{}", self.did, self.key)
    }
}

impl FromStr for KeyId {
    type Err = KeyError;

    fn from_str(text: &str) -> Result<KeyId, KeyError> {
        let (did, key) = text.split_once('#').ok_or(KeyError::NotKeyId)?;
        Ok(KeyId {
            did: did.parse().map_err(|_| KeyError::NotKeyId)?,
            key: key.parse()?,
        })
    }
}

named! {
    /// What a key signs (AX-23). Set per key and never tried silently.
    #[derive(Default, Serialize, Deserialize)]
    #[serde(rename_all = "lowercase")]
    #[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
    pub enum Profile {
        /// The SHA-256 digest of the canonical bytes: AEEP v0.1.0, the default.
        #[default]
        Digest = "digest",
        /// The canonical bytes themselves: AEEP v0.2.1 and the upstream code.
        Direct = "direct",
    }
}

impl FromStr for Profile {
    type Err = KeyError;

    fn from_str(text: &str) -> Result<Profile, KeyError> {
        match text {
            "digest" => Ok(Profile::Digest),
            "direct" => Ok(Profile::Direct),
            _ => Err(KeyError::NotProfile),
        }
    }
}

/// A registered key of an agent with the profile it signs by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = RegisteredKey))]
pub struct AgentKey {
    /// The public key.
    pub key: PublicKey,
    /// What it signs.
    pub profile: Profile,
}

/// Why bytes or a text are not a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum KeyError {
    /// The text is no multibase form of an Ed25519 key, which begins with `z6Mk`.
    #[error("not an Ed25519 key: write it as a multibase string that begins with z6Mk")]
    NotMultibase,
    /// The bytes are no curve point.
    #[error("the 32 bytes are not a point of Ed25519: send the public key, not the secret one")]
    NotOnCurve,
    /// A second spelling of a point.
    #[error("the key is not in its canonical encoding: encode it as RFC 8032 says")]
    NotCanonical,
    /// Any message has a valid signature under such a key.
    #[error("the key is a point of small order, which proves nothing: generate a new key")]
    SmallOrder,
    /// Not a DID URL of a key.
    #[error("not a key id: write did:x811:<uuid>#<multibase key>")]
    NotKeyId,
    /// Neither of the two profiles.
    #[error("not a signature profile: write digest or direct")]
    NotProfile,
}

#[cfg(test)]
mod tests {
    use super::*;

    const MULTIBASE: &str = "z6MktwupdmLXVVqTzCw4i46r4uGyosGXRnR3XjN4Zq7oMMsw";
    const DID: &str = "did:x811:019c8c61-8129-7511-9f31-aa5142e65448";

    fn bytes<const N: usize>(hex_digits: &str) -> [u8; N] {
        hex::decode(hex_digits).unwrap().try_into().unwrap()
    }

    /// RFC 8032 section 7.1, tests 1 and 3.
    #[test]
    fn ae_082_known_answers_of_rfc_8032() {
        let table = [
            (
                "9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60",
                "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a",
                "",
                "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e065224901555fb8821590a33bac\
                 c61e39701cf9b46bd25bf5f0595bbe24655141438e7a100b",
            ),
            (
                "c5aa8df43f9f837bedb7442f31dcb7b166d38535076f094b85ce3a2e0b4458f7",
                "fc51cd8e6218a1a38da47ed00230f0580816ed13ba3303ac5deb911548908025",
                "af82",
                "6291d657deec24024827e69c3abe01a30ce548a284743a445e3680d7db5ac3ac18ff9b538d16f290\
                 ae67f760984dc6594a7c15e9716ed28dc027beceea1ec40a",
            ),
        ];
        for (seed, public, message, signature) in table {
            let secret = SecretKey::from_seed(bytes(seed));
            let message = hex::decode(message).unwrap();
            let signature = Signature::from_bytes(bytes(signature));
            assert_eq!(
                secret.public(),
                PublicKey::from_bytes(&bytes(public)).unwrap()
            );
            assert_eq!(secret.sign(&message), signature);
            assert!(secret.public().verify(&message, &signature));
            assert!(!secret.public().verify(b"another message", &signature));
        }
    }

    #[test]
    fn multibase_form_of_requirements_part_13() {
        let public = "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a";
        let key = PublicKey::from_bytes(&bytes(public)).unwrap();
        assert_eq!(key.to_string(), MULTIBASE);
        assert_eq!(MULTIBASE.parse(), Ok(key));
        assert_eq!(
            serde_json::to_value(key).unwrap(),
            serde_json::json!(MULTIBASE)
        );

        let p256 = format!(
            "z{}",
            bs58::encode([&[0x80, 0x24][..], &[7; 33]].concat()).into_string()
        );
        let short = &MULTIBASE[..47];
        let bad_digit = MULTIBASE.replace('u', "0");
        for bad in [
            "",
            "z",
            &MULTIBASE[1..],
            &MULTIBASE.replace('z', "f"),
            short,
            &bad_digit,
            &p256,
        ] {
            assert_eq!(
                bad.parse::<PublicKey>(),
                Err(KeyError::NotMultibase),
                "{bad}"
            );
        }
    }

    /// All eight points of small order and their non-canonical spellings, which other verifiers
    /// take ("Taming the many EdDSAs", table 6).
    #[test]
    fn small_order_and_non_canonical_points_are_no_keys() {
        for point in [
            "0100000000000000000000000000000000000000000000000000000000000000",
            "ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
            "0000000000000000000000000000000000000000000000000000000000000000",
            "0000000000000000000000000000000000000000000000000000000000000080",
            "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05",
            "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc85",
            "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a",
            "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac03fa",
            "0100000000000000000000000000000000000000000000000000000000000080",
            "ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff",
        ] {
            assert_eq!(
                PublicKey::from_bytes(&bytes(point)),
                Err(KeyError::SmallOrder),
                "{point}"
            );
        }
        for y in 0xed..=0xff_u8 {
            for sign in [0x7f, 0xff] {
                let mut point = [0xff; 32];
                (point[0], point[31]) = (y, sign);
                assert_eq!(
                    PublicKey::from_bytes(&point),
                    Err(KeyError::NotCanonical),
                    "{y:x}"
                );
            }
        }
        let no_point = bytes("0200000000000000000000000000000000000000000000000000000000000000");
        assert_eq!(PublicKey::from_bytes(&no_point), Err(KeyError::NotOnCurve));
    }

    /// S + L verifies in careless implementations; here every signature has one spelling.
    #[test]
    fn a_second_spelling_of_a_signature_does_not_verify() {
        const L: [u8; 32] = [
            0xed, 0xd3, 0xf5, 0x5c, 0x1a, 0x63, 0x12, 0x58, 0xd6, 0x9c, 0xf7, 0xa2, 0xde, 0xf9,
            0xde, 0x14, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x10,
        ];
        let secret = SecretKey::from_seed([7; 32]);
        let mut signature = *secret.sign(b"message").as_bytes();
        let mut carry = 0;
        for (byte, order) in signature[32..].iter_mut().zip(L) {
            let sum = u16::from(*byte) + u16::from(order) + carry;
            *byte = (sum & 0xff) as u8;
            carry = sum >> 8;
        }
        assert!(
            !secret
                .public()
                .verify(b"message", &Signature::from_bytes(signature))
        );
    }

    /// What was read before changes nothing about what is read next: another point in the same
    /// place of the memory, and one that is no key.
    #[test]
    fn a_key_that_is_remembered_stands_for_itself_only() {
        let keys = (0..=255_u8).map(|seed| SecretKey::from_seed([seed; 32]).public());
        for key in keys {
            for _ in 0..2 {
                assert_eq!(PublicKey::from_bytes(key.as_bytes()), Ok(key));
                assert_eq!(key.to_string().parse(), Ok(key));
            }
            let mut off_by_one = *key.as_bytes();
            off_by_one[31] ^= 0x80;
            let negated = PublicKey::from_bytes(&off_by_one).unwrap();
            assert_eq!(*negated.as_bytes(), off_by_one);
            let mut no_key = [0; 32];
            no_key[0] = 2;
            assert_eq!(PublicKey::from_bytes(&no_key), Err(KeyError::NotOnCurve));
        }
    }

    #[test]
    fn rec_3_a_key_id_is_a_did_url_of_the_key() {
        let text = format!("{DID}#{MULTIBASE}");
        let id: KeyId = text.parse().unwrap();
        assert_eq!(
            (id.did.to_string(), id.key.to_string()),
            (DID.into(), MULTIBASE.into())
        );
        assert_eq!(id.to_string(), text);
        assert_eq!(serde_json::to_value(id).unwrap(), serde_json::json!(text));
        assert_eq!(DID.parse::<KeyId>(), Err(KeyError::NotKeyId));
        assert_eq!(
            format!("x#{MULTIBASE}").parse::<KeyId>(),
            Err(KeyError::NotKeyId)
        );
        assert_eq!(
            format!("{DID}#key-1").parse::<KeyId>(),
            Err(KeyError::NotMultibase)
        );
    }

    #[test]
    fn rec_4_an_agent_key_is_key_and_profile() {
        let key = AgentKey {
            key: MULTIBASE.parse().unwrap(),
            profile: Profile::Direct,
        };
        let json = serde_json::json!({"key": MULTIBASE, "profile": "direct"});
        assert_eq!(serde_json::to_value(key).unwrap(), json);
        assert_eq!(serde_json::from_value::<AgentKey>(json).unwrap(), key);
        for profile in [Profile::Digest, Profile::Direct] {
            assert_eq!(profile.as_str().parse(), Ok(profile));
            assert_eq!(
                serde_json::to_value(profile).unwrap(),
                serde_json::json!(profile.as_str())
            );
        }
        assert_eq!("Digest".parse::<Profile>(), Err(KeyError::NotProfile));
    }

    #[test]
    fn a_secret_key_is_never_printed() {
        let secret = SecretKey::from_seed([7; 32]);
        assert_eq!(
            format!("{secret:?}"),
            format!("SecretKey(of {})", secret.public())
        );
    }
}
