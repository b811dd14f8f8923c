//! Strict verification without its spare work.
//!
//! `VerifyingKey::verify_strict` decodes R, for which it takes a square root, only to see whether it
//! is of small order, and asks the same of the key each time. But what verifies is R byte for byte
//! as it is computed from the key, S and the message; so it is of small order if and only if it is
//! one of the eight encodings below, and a key of small order is none that was read
//! ([`PublicKey::from_bytes`](super::PublicKey::from_bytes)). The verdicts are the same,
//! without the square root.

use ed25519_dalek::{Signature, Verifier as _, VerifyingKey};

/// The points of small order as they are encoded ("Taming the many EdDSAs", table 6, 1 to 8).
pub(super) const SMALL_ORDER: [[u8; 32]; 8] = [
    with_ends(0x01, 0x00, 0x00),
    with_ends(0xec, 0xff, 0x7f),
    with_ends(0x00, 0x00, 0x00),
    with_ends(0x00, 0x00, 0x80),
    ORDER_8_LOW,
    negative(ORDER_8_LOW),
    ORDER_8_HIGH,
    negative(ORDER_8_HIGH),
];

const ORDER_8_LOW: [u8; 32] = [
    0x26, 0xe8, 0x95, 0x8f, 0xc2, 0xb2, 0x27, 0xb0, 0x45, 0xc3, 0xf4, 0x89, 0xf2, 0xef, 0x98, 0xf0,
    0xd5, 0xdf, 0xac, 0x05, 0xd3, 0xc6, 0x33, 0x39, 0xb1, 0x38, 0x02, 0x88, 0x6d, 0x53, 0xfc, 0x05,
];

const ORDER_8_HIGH: [u8; 32] = [
    0xc7, 0x17, 0x6a, 0x70, 0x3d, 0x4d, 0xd8, 0x4f, 0xba, 0x3c, 0x0b, 0x76, 0x0d, 0x10, 0x67, 0x0f,
    0x2a, 0x20, 0x53, 0xfa, 0x2c, 0x39, 0xcc, 0xc6, 0x4e, 0xc7, 0xfd, 0x77, 0x92, 0xac, 0x03, 0x7a,
];

const fn with_ends(first: u8, middle: u8, last: u8) -> [u8; 32] {
    let mut point = [middle; 32];
    (point[0], point[31]) = (first, last);
    point
}

/// The same y with the other x.
const fn negative(mut point: [u8; 32]) -> [u8; 32] {
    point[31] |= 0x80;
    point
}

/// What `verify_strict` says, for a key that is not of small order.
pub(super) fn verify(key: &VerifyingKey, message: &[u8], signature: &Signature) -> bool {
    !SMALL_ORDER.contains(signature.r_bytes()) && key.verify(message, signature).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use curve25519_dalek::constants::{ED25519_BASEPOINT_POINT, EIGHT_TORSION};
    use curve25519_dalek::edwards::EdwardsPoint;
    use curve25519_dalek::scalar::Scalar;
    use proptest::prelude::*;
    use sha2::{Digest as _, Sha512};

    fn challenge(r: &[u8; 32], key: &VerifyingKey, message: &[u8]) -> Scalar {
        let hash = Sha512::new()
            .chain_update(r)
            .chain_update(key.as_bytes())
            .chain_update(message)
            .finalize();
        Scalar::from_bytes_mod_order_wide(&hash.into())
    }

    fn signature(r: &EdwardsPoint, s: Scalar) -> Signature {
        Signature::from_components(r.compress().to_bytes(), s.to_bytes())
    }

    #[test]
    fn the_table_has_every_point_of_small_order() {
        let mut points = EIGHT_TORSION.map(|point| point.compress().to_bytes());
        let mut table = SMALL_ORDER;
        points.sort_unstable();
        table.sort_unstable();
        assert_eq!(table, points);
    }

    /// Whoever has the secret scalar can make every one of these verify without strictness, given a
    /// key with a part of small order and a message that fits.
    #[test]
    fn ae_082_what_verifies_with_an_r_of_small_order_is_refused() {
        let secret = Scalar::from(0x0123_4567_89ab_cdef_u64);
        let mut fitting = 0;
        for mixed in EIGHT_TORSION {
            let point = ED25519_BASEPOINT_POINT * secret + mixed;
            let key = VerifyingKey::from_bytes(point.compress().as_bytes()).unwrap();
            assert!(!key.is_weak());
            for r in EIGHT_TORSION {
                for number in 0..64_u8 {
                    let message = [number];
                    let k = challenge(r.compress().as_bytes(), &key, &message);
                    let signature = signature(&r, k * secret);
                    if key.verify(&message, &signature).is_ok() {
                        fitting += 1;
                        assert!(key.verify_strict(&message, &signature).is_err());
                        assert!(!verify(&key, &message, &signature));
                    }
                }
            }
        }
        assert!(fitting > 100, "{fitting}");
    }

    proptest! {
        /// Honest signatures, damaged ones, and those under keys with a part of small order.
        #[test]
        fn ae_082_the_verdict_is_that_of_verify_strict(
            secret in 1..u64::MAX,
            nonce in 1..u64::MAX,
            key_part in 0..8_usize,
            r_part in 0..8_usize,
            message in prop::collection::vec(any::<u8>(), 0..4),
            damaged in prop::option::of((0..64_usize, 0..8_u8)),
        ) {
            let (secret, nonce) = (Scalar::from(secret), Scalar::from(nonce));
            let point = ED25519_BASEPOINT_POINT * secret + EIGHT_TORSION[key_part];
            let key = VerifyingKey::from_bytes(point.compress().as_bytes()).unwrap();
            let r = ED25519_BASEPOINT_POINT * nonce + EIGHT_TORSION[r_part];
            let k = challenge(r.compress().as_bytes(), &key, &message);
            let mut bytes = signature(&r, nonce + k * secret).to_bytes();
            if let Some((byte, bit)) = damaged {
                bytes[byte] ^= 1 << bit;
            }
            let signature = Signature::from_bytes(&bytes);
            let strict = key.verify_strict(&message, &signature).is_ok();
            prop_assert_eq!(verify(&key, &message, &signature), strict);
            if key_part == 0 && r_part == 0 && damaged.is_none() {
                prop_assert!(strict);
            }
        }

        /// Any R and any S at all.
        #[test]
        fn ae_082_noise_is_judged_alike(r: [u8; 32], s: [u8; 32], point in 0..8_usize) {
            let key = ed25519_dalek::SigningKey::from_bytes(&[7; 32]).verifying_key();
            for r in [r, SMALL_ORDER[point]] {
                let signature = Signature::from_components(r, s);
                let strict = key.verify_strict(b"message", &signature).is_ok();
                prop_assert_eq!(verify(&key, b"message", &signature), strict);
            }
        }
    }
}
