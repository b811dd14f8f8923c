//! Signatures that some verifiers take and others refuse, made by whoever has the secret key: two
//! honest verifiers must not disagree, so ours is the stricter reading (AE-82).

use curve25519_dalek::Scalar;
use sha2::{Digest as _, Sha512};
use x811_protocol::key::SecretKey;

/// The neutral point: under it as a key, anybody can sign anything.
pub(crate) const IDENTITY: [u8; 32] = starting_with(0x01, 0x00, 0x00);

/// The same point with a y that was not reduced, p + 1.
pub(crate) const IDENTITY_NOT_REDUCED: [u8; 32] = starting_with(0xee, 0xff, 0x7f);

/// The group's order, as it stands in a signature.
const ORDER: [u8; 32] = [
    0xed, 0xd3, 0xf5, 0x5c, 0x1a, 0x63, 0x12, 0x58, 0xd6, 0x9c, 0xf7, 0xa2, 0xde, 0xf9, 0xde, 0x14,
    0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x10,
];

const fn starting_with(first: u8, middle: u8, last: u8) -> [u8; 32] {
    let mut point = [middle; 32];
    (point[0], point[31]) = (first, last);
    point
}

/// R is the neutral point and S is 0: it verifies where the key is of small order.
pub(crate) fn of_nobody() -> [u8; 64] {
    [IDENTITY, [0; 32]].concat().try_into().unwrap()
}

/// By `key`, with the neutral point as R.
pub(crate) fn with_small_r(key: &SecretKey, message: &[u8]) -> [u8; 64] {
    let mut secret: [u8; 32] = Sha512::digest(key.seed())[..32].try_into().unwrap();
    (secret[0], secret[31]) = (secret[0] & 248, (secret[31] & 63) | 64);
    let challenge = Sha512::new()
        .chain_update(IDENTITY)
        .chain_update(key.public().as_bytes())
        .chain_update(message)
        .finalize();
    let challenge = Scalar::from_bytes_mod_order_wide(&challenge.into());
    let s = challenge * Scalar::from_bytes_mod_order(secret);
    [IDENTITY, s.to_bytes()].concat().try_into().unwrap()
}

/// The signature that `key` makes, with an S to which the group's order is added.
pub(crate) fn with_s_not_reduced(key: &SecretKey, message: &[u8]) -> [u8; 64] {
    let mut signature = *key.sign(message).as_bytes();
    let mut carry = 0;
    for (byte, order) in signature[32..].iter_mut().zip(ORDER) {
        let sum = u16::from(*byte) + u16::from(order) + carry;
        (*byte, carry) = (sum.to_le_bytes()[0], sum >> 8);
    }
    signature
}
