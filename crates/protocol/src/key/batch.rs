//! Many signatures at once, with the verdict of strict verification.
//!
//! A single check asks whether R, byte for byte, is the encoding of E = [S]B - [k]A. For many, one
//! random combination is asked: with coefficients z of 128 bits, the sum of all z(E - R) is zero.
//! That holds by chance with a probability of 2^-128 at most, but only for the parts of prime order:
//! a part of small order, of an R or of a key, shows in that sum in half of all cases at worst.
//! So each of 64 sums over random halves of all R and keys must have no such part, which one of
//! them escapes with a probability of 2^-64 at most. What is left is the encoding of R, which is
//! canonical if it was read and is none of those refused below. So what verifies together verifies
//! alone, and what does not is for single checks to judge: somebody else's key with a part of small
//! order makes a batch fail, and the signatures in it may be good.
//!
//! The coefficients are a public hash of all that is judged, so whoever judges the same signatures
//! again has the same answer. Whoever makes the signatures can compute them too, and can try others
//! until they suit: to them the probabilities above are numbers of tries. About 2^64 tries, each a
//! signature and a hash, make a batch hold with a part of small order in it; what is gained is a
//! signature by one's own key which a single check refuses. A signature that nobody with its key made
//! takes 2^128.
//!
//! The halves cost little of their own. Bit j of the coefficients chooses the points of sum j, for
//! their lower 64 bits, and what these bits add to the combination is the sum of 2^j times sum j.
//! Five or six sums at a time come from 32 or 64 buckets, with one addition a point: of fewer, there
//! would be more times; more would take longer to add up than they save, unless a thousand points are
//! judged. What the upper 64 bits add is the library's multiplication of many points.
//!
//! A key that was in a batch that held has no part of small order, now as then: [`WholeKeys`] remembers
//! those, and the sums go without them. What escaped that batch, at 2^64 tries, would escape those
//! after it too, as long as the key is remembered.

use std::collections::BTreeMap;

use curve25519_dalek::constants::ED25519_BASEPOINT_POINT;
use curve25519_dalek::edwards::{CompressedEdwardsY, EdwardsPoint};
use curve25519_dalek::scalar::Scalar;
use curve25519_dalek::traits::{Identity as _, IsIdentity as _, VartimeMultiscalarMul as _};
use sha2::{Digest as _, Sha512};

use super::strict::SMALL_ORDER;
use super::whole::WholeKeys;
use super::{PublicKey, is_canonical_y};
use crate::signature::Signature;

/// Fewer are checked one by one, which is as fast: the sums cost as much as some 70 single checks.
pub const FEWEST_TOGETHER: usize = 128;

/// Bits of a coefficient that choose the halves, as many as there are sums.
const LOWER_BITS: usize = u64::BITS as usize;

/// From so many points on, wider windows are worth their buckets.
const MANY_POINTS: usize = 300;

/// Keeps the hash apart from all other hashes.
const DOMAIN: &[u8] = b"x811 signatures in a batch";

/// A signature, and what it is to verify with.
#[derive(Debug, Clone, Copy)]
pub struct Signed<'a> {
    /// Whose signature it is said to be.
    pub key: &'a PublicKey,
    /// What it is said to be over.
    pub message: &'a [u8],
    /// The signature that is to be checked.
    pub signature: &'a Signature,
}

impl Signed<'_> {
    /// Whether it verifies alone, by [`PublicKey::verify`].
    #[must_use]
    pub fn verify(&self) -> bool {
        self.key.verify(self.message, self.signature)
    }
}

/// Whether all of `signed` verify together: a thousand at less than half the cost of one by one.
///
/// `true` says that [`PublicKey::verify`] accepts each of them, but for a probability of 2^-64 that
/// a part of small order, of an R or of a key, was overlooked, and of 2^-128 that one is no signature
/// at all; to whoever tries signatures until that happens, these are 2^64 and 2^128 tries. `false`
/// says nothing of any one of them: they are to be verified singly. The same signatures always
/// have the same answer.
#[must_use]
pub fn verify_all(signed: &[Signed<'_>]) -> bool {
    verify_all_knowing(signed, &mut WholeKeys::default())
}

/// [`verify_all`], quicker for keys that are in `whole` already. Those of a batch that holds are put
/// there, and of fewer than [`FEWEST_TOGETHER`] none. The answer is the same, whatever is there, but for
/// the probability that one is there wrongly.
#[must_use]
pub fn verify_all_knowing(signed: &[Signed<'_>], whole: &mut WholeKeys) -> bool {
    if signed.len() < FEWEST_TOGETHER {
        return signed.iter().all(Signed::verify);
    }
    let batch = Batch::read(signed, whole).filter(Batch::verify);
    let holds = batch.is_some();
    whole.add(batch.map_or_else(Vec::new, |batch| batch.new_keys));
    holds
}

/// A coefficient of a point in the combination, of 128 bits.
#[derive(Debug, Clone, Copy)]
struct Coefficient {
    lower: u64,
    upper: u64,
}

impl Coefficient {
    /// Of a point that is in no sum.
    const NONE: Coefficient = Coefficient { lower: 0, upper: 0 };

    /// What the lower part multiplies by.
    fn lower(&self) -> Scalar {
        self.lower.into()
    }

    /// What the upper part does.
    fn upper(&self) -> Scalar {
        (u128::from(self.upper) << LOWER_BITS).into()
    }

    /// So many bits of the lower part from that one on.
    fn window(&self, from: usize, bits: usize) -> usize {
        (self.lower >> from) as usize % (1 << bits)
    }

    fn all(&self) -> Scalar {
        self.lower() + self.upper()
    }
}

/// The points of a batch, and what they are multiplied by.
struct Batch {
    /// Every R, and then each key once.
    points: Vec<EdwardsPoint>,
    /// z of each point; of a key's only the lower part is used, for the halves.
    coefficients: Vec<Coefficient>,
    /// The sum of z k of each key.
    of_keys: Vec<Scalar>,
    /// The sum of z S.
    of_base: Scalar,
    /// Keys of which it is to show that they have no part of small order.
    new_keys: Vec<[u8; 32]>,
}

impl Batch {
    /// Absent where an R or an S cannot be that of a good signature.
    fn read(signed: &[Signed<'_>], whole: &WholeKeys) -> Option<Batch> {
        let (mut places, mut keys) = (BTreeMap::new(), Vec::new());
        let mut points = Vec::with_capacity(signed.len());
        let mut factors = Vec::with_capacity(signed.len());
        let mut transcript = Sha512::new().chain_update(DOMAIN);
        for one in signed {
            let place = *places.entry(one.key.as_bytes()).or_insert_with(|| {
                keys.push(one.key.0.to_edwards());
                keys.len() - 1
            });
            let (r, s) = halves(one.signature);
            let k = challenge(one, &r);
            points.push(decode(r)?);
            let s = Option::<Scalar>::from(Scalar::from_canonical_bytes(s))?;
            for part in [one.key.as_bytes(), &r, s.as_bytes(), k.as_bytes()] {
                transcript.update(part);
            }
            factors.push((place, s, k));
        }
        points.append(&mut keys);
        let mut coefficients = coefficients(&transcript.finalize().into(), points.len());
        let mut new_keys = Vec::new();
        for (key, place) in &places {
            if whole.contains(key) {
                coefficients[signed.len() + place] = Coefficient::NONE;
            } else {
                new_keys.push(**key);
            }
        }
        let mut of_keys = vec![Scalar::ZERO; places.len()];
        let mut of_base = Scalar::ZERO;
        for ((place, s, k), z) in factors.into_iter().zip(&coefficients) {
            let z = z.all();
            of_base += z * s;
            of_keys[place] += z * k;
        }
        Some(Batch {
            points,
            coefficients,
            of_keys,
            of_base,
            new_keys,
        })
    }

    fn verify(&self) -> bool {
        let sums = self.sums();
        self.is_balanced(&sums) && sums.iter().all(is_torsion_free)
    }

    /// For each of the lower bits, from the lowest, the sum of the points in whose coefficients it is
    /// set.
    fn sums(&self) -> Vec<EdwardsPoint> {
        let in_sums = self.coefficients.iter().filter(|one| one.lower != 0);
        let bits = if in_sums.count() < MANY_POINTS { 5 } else { 6 };
        let mut sums = Vec::with_capacity(LOWER_BITS + bits);
        for from in (0..LOWER_BITS).step_by(bits) {
            let mut buckets = vec![EdwardsPoint::identity(); 1 << bits];
            for (point, coefficient) in self.points.iter().zip(&self.coefficients) {
                // What is in none of these sums is not added up.
                let window = coefficient.window(from, bits);
                if window != 0 {
                    buckets[window] += point;
                }
            }
            sums.extend(by_bit(buckets));
        }
        // The last window ends beyond the last bit.
        sums.truncate(LOWER_BITS);
        sums
    }

    /// Whether the sum of z(E - R) is zero.
    fn is_balanced(&self, sums: &[EdwardsPoint]) -> bool {
        let lower = sums
            .iter()
            .rev()
            .fold(EdwardsPoint::identity(), |sum, next| sum + sum + next);
        let (of_r, of_key) = self
            .coefficients
            .split_at(self.points.len() - self.of_keys.len());
        // The lower part of a key's own coefficient is in the sums.
        let keys = self.of_keys.iter().zip(of_key);
        let of_keys = keys.map(|(all, own)| all - own.lower());
        let upper = of_r.iter().map(Coefficient::upper);
        let rest = EdwardsPoint::vartime_multiscalar_mul(
            upper.chain(of_keys).chain([-self.of_base]),
            self.points.iter().chain([&ED25519_BASEPOINT_POINT]),
        );
        (lower + rest).is_identity()
    }
}

/// R and S.
fn halves(signature: &Signature) -> ([u8; 32], [u8; 32]) {
    let signature = ed25519_dalek::Signature::from_bytes(signature.as_bytes());
    (*signature.r_bytes(), *signature.s_bytes())
}

/// k of RFC 8032 section 5.1.7.
fn challenge(signed: &Signed<'_>, r: &[u8; 32]) -> Scalar {
    let hash = Sha512::new()
        .chain_update(r)
        .chain_update(signed.key.as_bytes())
        .chain_update(signed.message)
        .finalize();
    Scalar::from_bytes_mod_order_wide(&hash.into())
}

/// The point of these bytes, where they are its canonical encoding and it is not of small order.
fn decode(r: [u8; 32]) -> Option<EdwardsPoint> {
    // Two of small order have x = 0, which has no sign: with the sign set their encodings are not
    // canonical, and with y in its range there are no others.
    let mut unsigned = r;
    unsigned[31] &= 0x7f;
    if SMALL_ORDER.contains(&unsigned) || !is_canonical_y(&r) {
        return None;
    }
    CompressedEdwardsY(r).decompress()
}

/// As many coefficients, from the hash of all that is judged.
fn coefficients(transcript: &[u8; 64], count: usize) -> Vec<Coefficient> {
    let mut coefficients = Vec::with_capacity(count + 3);
    for block in 0_u64.. {
        if coefficients.len() >= count {
            break;
        }
        let hash = Sha512::new()
            .chain_update(transcript)
            .chain_update(block.to_le_bytes())
            .finalize();
        let (parts, _) = hash.as_chunks();
        let (pairs, _) = parts.as_chunks();
        coefficients.extend(pairs.iter().map(|[lower, upper]| Coefficient {
            lower: u64::from_le_bytes(*lower),
            upper: u64::from_le_bytes(*upper),
        }));
    }
    coefficients.truncate(count);
    coefficients
}

/// For each bit, from the lowest, the sum of the buckets in whose number it is set.
fn by_bit(mut buckets: Vec<EdwardsPoint>) -> Vec<EdwardsPoint> {
    let mut sums = Vec::new();
    while buckets.len() > 1 {
        let upper = buckets.split_off(buckets.len() / 2);
        sums.push(upper.iter().sum());
        for (lower, upper) in buckets.iter_mut().zip(&upper) {
            *lower += upper;
        }
    }
    sums.reverse();
    sums
}

/// Whether the point has no part of small order: l times it is zero, l being the prime order.
fn is_torsion_free(point: &EdwardsPoint) -> bool {
    // Scalars end at l - 1.
    let all_but_one = -Scalar::ONE;
    let multiple =
        EdwardsPoint::vartime_double_scalar_mul_basepoint(&all_but_one, point, &Scalar::ZERO);
    (multiple + point).is_identity()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::key::SecretKey;
    use curve25519_dalek::constants::EIGHT_TORSION;
    use ed25519_dalek::VerifyingKey;
    use proptest::prelude::*;

    /// What a test has of a signature.
    #[derive(Debug, Clone)]
    struct Made {
        key: PublicKey,
        message: Vec<u8>,
        signature: Signature,
    }

    impl Made {
        fn signed(&self) -> Signed<'_> {
            Signed {
                key: &self.key,
                message: &self.message,
                signature: &self.signature,
            }
        }

        /// The verdict of the library.
        fn is_strictly_good(&self) -> bool {
            let signature = ed25519_dalek::Signature::from_bytes(self.signature.as_bytes());
            let key = VerifyingKey::from(self.key);
            key.verify_strict(&self.message, &signature).is_ok()
        }

        fn damaged(mut self, byte: usize, bit: u8) -> Made {
            let mut bytes = *self.signature.as_bytes();
            bytes[byte] ^= 1 << bit;
            self.signature = Signature::from_bytes(bytes);
            self
        }
    }

    fn honest(count: u32) -> Vec<Made> {
        let one = |number: u32| {
            let secret = SecretKey::from_seed([number.to_le_bytes()[0] % 5; 32]);
            let message = number.to_le_bytes().to_vec();
            Made {
                key: secret.public(),
                signature: secret.sign(&message),
                message,
            }
        };
        (0..count).map(one).collect()
    }

    /// A signature by whoever has the secret scalar, with any R: an encoding, and what of it is
    /// the multiple of the base point.
    fn crafted(key: EdwardsPoint, secret: Scalar, r: [u8; 32], nonce: Scalar, message: u8) -> Made {
        let key = PublicKey::from_bytes(key.compress().as_bytes()).unwrap();
        let message = vec![message];
        let mut bytes = [0; 64];
        bytes[..32].copy_from_slice(&r);
        let signature = Signature::from_bytes(bytes);
        let signed = Signed {
            key: &key,
            message: &message,
            signature: &signature,
        };
        let s = nonce + challenge(&signed, &r) * secret;
        bytes[32..].copy_from_slice(s.as_bytes());
        Made {
            key,
            message,
            signature: Signature::from_bytes(bytes),
        }
    }

    /// The same with parts of small order of key and R.
    fn mixed(key_part: usize, r_part: usize, nonce: u64, message: u8) -> Made {
        let (secret, nonce) = (Scalar::from(77_u64), Scalar::from(nonce));
        let key = ED25519_BASEPOINT_POINT * secret + EIGHT_TORSION[key_part];
        let r = ED25519_BASEPOINT_POINT * nonce + EIGHT_TORSION[r_part];
        crafted(key, secret, r.compress().to_bytes(), nonce, message)
    }

    fn read(made: &[Made]) -> Option<Batch> {
        let signed: Vec<Signed<'_>> = made.iter().map(Made::signed).collect();
        Batch::read(&signed, &WholeKeys::default())
    }

    /// The verdict of the batch, however few they are.
    fn together(made: &[Made]) -> bool {
        read(made).is_some_and(|batch| batch.verify())
    }

    /// The verdict of all, and again of those that know each other's keys.
    fn all(made: &[Made]) -> bool {
        let signed: Vec<Signed<'_>> = made.iter().map(Made::signed).collect();
        let verdict = verify_all(&signed);
        let mut whole = WholeKeys::default();
        assert_eq!(verify_all_knowing(&signed, &mut whole), verdict);
        assert_eq!(verify_all_knowing(&signed, &mut whole), verdict);
        verdict
    }

    #[test]
    fn ae_082_honest_signatures_verify_together_in_any_number() {
        let made = honest(300);
        for count in [0, 1, 2, FEWEST_TOGETHER - 1, FEWEST_TOGETHER, 300] {
            assert!(all(&made[..count]), "{count}");
            assert!(together(&made[..count]), "{count}");
        }
        let twice = [&made[..], &made[..]].concat();
        assert!(all(&twice));
        let same = vec![made[0].clone(); 200];
        assert!(all(&same));
    }

    /// Bits of R, of S, and of S beyond its range.
    #[test]
    fn ae_082_one_bad_signature_among_many_is_seen() {
        let made = honest(150);
        for (place, byte, bit) in [
            (0, 0, 0),
            (149, 31, 7),
            (70, 32, 3),
            (71, 63, 4),
            (2, 63, 7),
        ] {
            let mut made = made.clone();
            made[place] = made[place].clone().damaged(byte, bit);
            assert!(!made[place].is_strictly_good());
            assert!(!all(&made), "{place}");
        }
        let mut swapped = made.clone();
        (swapped[3].signature, swapped[8].signature) = (made[8].signature, made[3].signature);
        assert!(!all(&swapped));
        let mut other_key = made.clone();
        other_key[9].key = made[10].key;
        assert!(!all(&other_key));
        let mut other_message = made;
        other_message[9].message.push(0);
        assert!(!all(&other_message));
    }

    /// Two errors that cancel each other in a sum without coefficients.
    #[test]
    fn ae_082_errors_that_cancel_each_other_are_seen() {
        let mut made = honest(150);
        for (place, change) in [(5, Scalar::ONE), (6, -Scalar::ONE)] {
            let mut bytes = *made[place].signature.as_bytes();
            let s = Scalar::from_canonical_bytes(bytes[32..].try_into().unwrap()).unwrap();
            bytes[32..].copy_from_slice((s + change).as_bytes());
            made[place].signature = Signature::from_bytes(bytes);
        }
        assert!(!all(&made));
    }

    /// In a sum of all, the parts of these cancel each other.
    #[test]
    fn ae_082_parts_of_small_order_that_cancel_each_other_are_seen() {
        for part in 1..8 {
            let mut made = honest(150);
            made[5] = mixed(0, part, 1_000, 1);
            made[6] = mixed(0, 8 - part, 2_000, 2);
            assert!(!made[5].is_strictly_good() && !made[6].is_strictly_good());
            assert!(!all(&made), "{part}");
            assert!(!together(&made[5..7]), "{part}");
        }
    }

    /// With an R that has a part of order 2, the combination is zero in about half of all cases, and
    /// so is that part of any one half; all 64 together miss none.
    #[test]
    fn ae_082_the_combination_alone_would_miss_parts_of_small_order() {
        let (mut balanced, mut missed_by_one) = (0, 0);
        for message in 0..64 {
            let made = [mixed(0, 4, 1_000, message)];
            let batch = read(&made).unwrap();
            let sums = batch.sums();
            balanced += u32::from(batch.is_balanced(&sums));
            missed_by_one += u32::from(is_torsion_free(&sums[0]));
            assert!(!batch.verify());
            assert!(!made[0].is_strictly_good());
        }
        assert!((10..55).contains(&balanced), "{balanced}");
        assert!((10..55).contains(&missed_by_one), "{missed_by_one}");
    }

    /// Strictly good, and refused together: for single checks to judge.
    #[test]
    fn ae_082_a_key_with_a_part_of_small_order_leaves_it_to_single_checks() {
        let fitting = (0..64).map(|message| mixed(4, 4, 1_000, message));
        let good: Vec<Made> = fitting.filter(Made::is_strictly_good).collect();
        assert!(good.len() > 10);
        for made in good {
            assert!(made.signed().verify());
            assert!(!together(&[made]));
        }
    }

    /// Once a batch with them held, its keys are in no sum; an R with a part of small order is.
    #[test]
    fn ae_082_keys_that_are_known_to_be_whole_are_left_out_of_the_sums() {
        let (mut whole, good) = (WholeKeys::default(), honest(150));
        let verdict = |made: &[Made], whole: &mut WholeKeys| {
            let signed: Vec<Signed<'_>> = made.iter().map(Made::signed).collect();
            let mut in_sums = Batch::read(&signed, whole).unwrap().coefficients;
            in_sums.retain(|coefficient| coefficient.lower != 0);
            (in_sums.len(), verify_all_knowing(&signed, whole))
        };
        assert_eq!(verdict(&good, &mut whole), (155, true), "five keys");
        assert_eq!(verdict(&good, &mut whole), (150, true), "known now");
        let mut other_r = good.clone();
        other_r[7] = mixed(0, 4, 1_000, 1);
        let mut other_key = good.clone();
        let fitting = (0..64).map(|message| mixed(4, 4, 1_000, message));
        other_key[7] = fitting.into_iter().find(Made::is_strictly_good).unwrap();
        for made in [other_r, other_key] {
            for _ in 0..2 {
                assert_eq!(verdict(&made, &mut whole), (151, false), "its key is new");
            }
        }
        let mut bad = good;
        bad[7] = bad[7].clone().damaged(32, 3);
        assert_eq!(verdict(&bad, &mut whole), (150, false));
    }

    /// Three spellings of zero as R, with the S that fits; strict verification takes none of them.
    #[test]
    fn ae_082_an_r_of_small_order_is_refused_in_every_spelling() {
        let mut sign_of_zero = [0; 32];
        (sign_of_zero[0], sign_of_zero[31]) = (0x01, 0x80);
        let mut beyond_the_prime = [0xff; 32];
        (beyond_the_prime[0], beyond_the_prime[31]) = (0xee, 0x7f);
        let secret = Scalar::from(77_u64);
        let key = ED25519_BASEPOINT_POINT * secret;
        let points = EIGHT_TORSION.map(|point| point.compress().to_bytes());
        for r in points.into_iter().chain([sign_of_zero, beyond_the_prime]) {
            let made = crafted(key, secret, r, Scalar::ZERO, 1);
            assert!(!made.is_strictly_good());
            assert!(decode(r).is_none(), "{r:?}");
            assert!(!together(&[made]));
        }
    }

    /// What is read as R is encoded as it was spelled.
    #[test]
    fn ae_082_an_r_that_is_read_is_in_its_canonical_encoding() {
        let mut read = 0;
        for first in 0..=255 {
            for (middle, last) in [(0x00, 0x00), (0x00, 0x80), (0xff, 0x7f), (0xff, 0xff)] {
                let mut r = [middle; 32];
                (r[0], r[31]) = (first, last);
                if let Some(point) = decode(r) {
                    read += 1;
                    assert_eq!(point.compress().to_bytes(), r);
                }
            }
        }
        assert!(read > 300, "{read}");
    }

    /// The vectors of "Taming the many EdDSAs" (ed25519-speccheck, cases.json), in their order: key,
    /// message, signature. Four of the keys are of small order. Of the others, strict verification
    /// takes one alone, and its key has a part of small order: that is for single checks.
    #[test]
    fn ae_082_the_published_edge_cases() {
        const CASES: &str = include_str!("speccheck.txt");
        let bytes = |hex_digits: &str| hex::decode(hex_digits).unwrap();
        let mut verdicts = Vec::new();
        for line in CASES.lines() {
            let parts: Vec<&str> = line.split(' ').collect();
            let Ok(key) = PublicKey::from_bytes(&bytes(parts[0]).try_into().unwrap()) else {
                verdicts.push(None);
                continue;
            };
            let made = Made {
                key,
                message: bytes(parts[1]),
                signature: Signature::from_bytes(bytes(parts[2]).try_into().unwrap()),
            };
            let strictly_good = made.is_strictly_good();
            assert_eq!(made.signed().verify(), strictly_good, "{line}");
            verdicts.push(Some(strictly_good));
            assert!(!together(std::slice::from_ref(&made)), "{line}");
            let mut among_others = honest(150);
            among_others[60] = made;
            assert!(!all(&among_others), "{line}");
        }
        let (good, bad, no_key) = (Some(true), Some(false), None);
        let expected = [
            no_key, no_key, bad, good, bad, bad, bad, bad, bad, bad, no_key, no_key,
        ];
        assert_eq!(verdicts, expected);
    }

    proptest! {
        /// A batch is good if each of its signatures is and no key has a part of small order.
        #[test]
        fn ae_082_a_batch_has_the_verdict_of_verify_strict(
            made in prop::collection::vec(made(), 0..6),
            repeated in prop::option::of(0..6_usize),
        ) {
            let mut made = made;
            if let Some(again) = repeated.and_then(|place| made.get(place).cloned()) {
                made.push(again);
            }
            let keys_are_whole = made.iter().all(|made| made.key.0.to_edwards().is_torsion_free());
            let strictly_good = made.iter().all(Made::is_strictly_good);
            prop_assert_eq!(together(&made), keys_are_whole && strictly_good);
        }

        /// Any R and any S at all.
        #[test]
        fn ae_082_noise_in_a_batch_is_refused(r: [u8; 32], s: [u8; 32]) {
            let mut made = honest(3);
            let noise = ed25519_dalek::Signature::from_components(r, s).to_bytes();
            made[1].signature = Signature::from_bytes(noise);
            prop_assert!(!made[1].is_strictly_good());
            prop_assert!(!together(&made));
        }
    }

    /// Mostly good ones, for a batch of a few is to be good often enough.
    fn made() -> impl Strategy<Value = Made> {
        let parts = prop_oneof![9 => Just((0, 0)), 1 => (0..8_usize, 0..8_usize)];
        let damage = prop_oneof![9 => Just(None), 1 => (0..64_usize, 0..8_u8).prop_map(Some)];
        (parts, 1..u64::MAX, any::<u8>(), damage).prop_map(
            |((key_part, r_part), nonce, message, damage)| {
                let made = mixed(key_part, r_part, nonce, message);
                match damage {
                    Some((byte, bit)) => made.damaged(byte, bit),
                    None => made,
                }
            },
        )
    }
}
