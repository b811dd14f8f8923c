//! Hashes as C2SP writes them: they are a third of a hash in hex shorter.

use serde::de::Error as _;
use serde::{Deserialize as _, Deserializer, Serializer};
use x811_eventlog::Hash;

pub(crate) fn serialize<S: Serializer>(hashes: &[Hash], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(hashes.iter().map(Hash::to_base64))
}

pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Vec<Hash>, D::Error> {
    let hashes = Vec::<String>::deserialize(deserializer)?;
    let hashes = hashes.iter().map(|hash| Hash::from_base64(hash));
    let hashes: Option<Vec<Hash>> = hashes.collect();
    hashes.ok_or_else(|| D::Error::custom("a hash is 32 bytes in base64"))
}
