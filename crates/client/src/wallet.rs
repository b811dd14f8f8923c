//! The agent's Ethereum key: pays on Base, and proves to the ledger whose account it is.

use std::fmt;

use k256::ecdsa::SigningKey;
use sha3::{Digest as _, Keccak256};
use x811_protocol::did::Did;
use x811_protocol::evm::EvmAddress;
use x811_protocol::wallet::{Wallet, WalletKind, binding_message};
use zeroize::Zeroizing;

use crate::entropy::{Entropy, EntropyError};

/// A secp256k1 key. Wiped from memory when dropped, never shown.
#[derive(Clone, PartialEq, Eq)]
pub struct WalletKey(SigningKey);

impl WalletKey {
    /// A new key.
    ///
    /// # Errors
    /// As [`Entropy::fill`].
    pub fn generate(entropy: &dyn Entropy) -> Result<WalletKey, EntropyError> {
        loop {
            // About one draw in 2^128 is not a key.
            let bytes = Zeroizing::new(entropy.array::<32>()?);
            if let Ok(key) = SigningKey::from_slice(bytes.as_slice()) {
                return Ok(WalletKey(key));
            }
        }
    }

    /// Reads 64 hex digits, with or without `0x`.
    ///
    /// # Errors
    /// Another form, or a number that is no key.
    pub fn from_hex(text: &str) -> Result<WalletKey, WalletKeyError> {
        let digits = text.strip_prefix("0x").unwrap_or(text);
        let mut bytes = Zeroizing::new([0_u8; 32]);
        hex::decode_to_slice(digits, bytes.as_mut_slice()).map_err(|_| WalletKeyError)?;
        let key = SigningKey::from_slice(bytes.as_slice()).map_err(|_| WalletKeyError)?;
        Ok(WalletKey(key))
    }

    /// `0x` and 64 hex digits: the secret itself.
    pub fn to_hex(&self) -> Zeroizing<String> {
        let bytes = self.secret_bytes();
        let digits = Zeroizing::new(hex::encode(bytes.as_slice()));
        Zeroizing::new(format!("0x{}", digits.as_str()))
    }

    /// The secret itself.
    pub fn secret_bytes(&self) -> Zeroizing<[u8; 32]> {
        Zeroizing::new(self.0.to_bytes().into())
    }

    /// The account this key controls.
    pub fn address(&self) -> EvmAddress {
        let point = self.0.verifying_key().to_encoded_point(false);
        let hash: [u8; 32] = Keccak256::digest(&point.as_bytes()[1..]).into();
        let [_, _, _, _, _, _, _, _, _, _, _, _, address @ ..] = hash;
        EvmAddress::from_bytes(address)
    }

    /// Proves that the account belongs to `agent` on `ledger` (EIP-191 over
    /// [`binding_message`], ledger-contract.md section 4).
    ///
    /// # Errors
    /// The signature could not be made; with a valid key that does not happen.
    pub fn bind(&self, agent: Did, ledger: Did) -> Result<Wallet, WalletKeyError> {
        let address = self.address();
        let text = binding_message(agent, ledger, address);
        let prefix = format!("\u{19}Ethereum Signed Message:\n{}", text.len());
        let hash: [u8; 32] = Keccak256::new()
            .chain_update(prefix)
            .chain_update(text)
            .finalize()
            .into();
        let proof = format!("0x{}", hex::encode(self.sign_hash(&hash)?));
        Ok(Wallet {
            address,
            kind: WalletKind::Eoa,
            proof,
        })
    }

    /// Signs a hash: `r`, `s` in the lower half, and `v` (27 or 28), as Solidity takes them.
    ///
    /// # Errors
    /// As [`WalletKey::bind`].
    pub(crate) fn sign_hash(&self, hash: &[u8; 32]) -> Result<[u8; 65], WalletKeyError> {
        let (signature, recovery) = self
            .0
            .sign_prehash_recoverable(hash)
            .map_err(|_| WalletKeyError)?;
        let mut bytes = [0; 65];
        bytes[..64].copy_from_slice(&signature.to_bytes());
        bytes[64] = 27 + u8::from(recovery.is_y_odd());
        Ok(bytes)
    }
}

impl fmt::Debug for WalletKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "WalletKey({}, secret)", self.address().to_checksum())
    }
}

/// The text is no secp256k1 key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not an Ethereum private key: give 64 hex digits, with or without 0x")]
pub struct WalletKeyError;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::CountingEntropy;

    /// Anvil's first account (public test key of its mnemonic).
    const ANVIL_KEY: &str = "0xac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80";
    const ANVIL_ADDRESS: &str = "0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266";
    const AGENT: &str = "did:x811:019c8c61-8129-7511-9f31-aa5142e65448";
    const LEDGER: &str = "did:x811:019c8c61-8129-7511-9f31-aa5142e65449";

    #[test]
    fn an_account_is_the_hash_of_its_key() {
        let key = WalletKey::from_hex(ANVIL_KEY).unwrap();
        assert_eq!(key.address().to_checksum(), ANVIL_ADDRESS);
        assert_eq!(key.to_hex().as_str(), ANVIL_KEY);
        assert_eq!(WalletKey::from_hex(&ANVIL_KEY[2..]).unwrap(), key);
    }

    /// The proof was made with the Python package eth-account 0.14.0.
    #[test]
    fn a_binding_is_the_one_an_independent_implementation_makes() {
        let key = WalletKey::from_hex(ANVIL_KEY).unwrap();
        let wallet = key
            .bind(AGENT.parse().unwrap(), LEDGER.parse().unwrap())
            .unwrap();
        let expected = "0xf924816f168a03f781584807bfca61bd49c52002946e1ebe66302f6581a3d6c1\
                        3d1ecff2a16f57c5887a2e8f3d96a2f17f275b20f03a148349c73b7bb2d693861c";
        assert_eq!(wallet.proof, expected);
        let proven = wallet.verify_eoa(AGENT.parse().unwrap(), LEDGER.parse().unwrap());
        assert_eq!(proven, Ok(()));
    }

    #[test]
    fn a_generated_key_binds_and_is_never_shown() {
        let key = WalletKey::generate(&CountingEntropy::default()).unwrap();
        let (agent, ledger) = (AGENT.parse().unwrap(), LEDGER.parse().unwrap());
        assert_eq!(
            key.bind(agent, ledger).unwrap().verify_eoa(agent, ledger),
            Ok(())
        );
        let shown = format!("{key:?}");
        assert!(!shown.contains(&key.to_hex()[2..]), "{shown}");
    }

    #[test]
    fn other_texts_are_no_keys() {
        let zero = "0".repeat(64);
        let long = format!("{ANVIL_KEY}00");
        for text in ["", "0x", "0x12", zero.as_str(), long.as_str(), "hello"] {
            assert!(WalletKey::from_hex(text).is_err(), "{text}");
        }
    }
}
