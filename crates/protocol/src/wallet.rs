//! Wallets: which accounts on Base belong to which agent (ledger-contract.md section 4).
//!
//! A PAYMENT's payer must be an account bound to the initiator. The binding is a signature by the
//! account over a text that names the agent, the ledger and the account, so that it can be replayed
//! neither for another agent nor on another ledger. It is public, and that of an account with a key
//! proves itself for ever. What a contract takes for its signature (ERC-1271) is the contract's to
//! say: it was asked on every configured network when it was bound, because a payment may come on
//! any of them, and is the ledger's word from then on.

use k256::ecdsa::{RecoveryId, Signature, VerifyingKey};
use serde::{Deserialize, Serialize};
use sha3::{Digest as _, Keccak256};

use crate::did::Did;
use crate::evm::EvmAddress;

/// First line of the text that a wallet signs.
const BINDING_TITLE: &str = "x811 wallet binding v1";

/// Bytes of a proof: r, s and v.
const PROOF_BYTES: usize = 65;

/// The longest proof of a contract wallet, in bytes: with eight of them a registration stays within
/// a leaf (record.md section 1).
const MAX_CONTRACT_PROOF_BYTES: usize = 1_024;

/// An account bound to an agent, with the proof.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Wallet {
    /// Address of the account.
    pub address: EvmAddress,
    /// Who can sign for it.
    pub kind: WalletKind,
    /// For [`WalletKind::Eoa`]: the EIP-191 signature over [`binding_message`], `0x` and 130
    /// lower-case hex digits (r, s, v). For [`WalletKind::Erc1271`]: whatever the contract takes
    /// for the signature of [`binding_hash`], `0x` and 1 to 1,024 bytes in lower-case hex.
    pub proof: String,
}

/// What kind of account a wallet is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub enum WalletKind {
    /// Controlled by one secp256k1 key.
    Eoa,
    /// A contract that judges signatures itself (ERC-1271). Only a node of the chain can check it.
    Erc1271,
}

impl Wallet {
    /// Checks that the account's key signed the binding to `agent` on `ledger` (EIP-191).
    ///
    /// `v` may be 27 or 28, or 0 or 1; `s` must be in the lower half of the order (EIP-2), so that
    /// a proof has one form.
    ///
    /// # Errors
    /// Says which part of the proof does not hold; [`WalletError::NotEoa`] for a contract wallet.
    pub fn verify_eoa(&self, agent: Did, ledger: Did) -> Result<(), WalletError> {
        if self.kind != WalletKind::Eoa {
            return Err(WalletError::NotEoa);
        }
        let (signature, recovery_id) = parse_proof(&self.proof)?;
        let hash = eip_191_hash(&binding_message(agent, ledger, self.address));
        let key = VerifyingKey::recover_from_prehash(&hash, &signature, recovery_id)
            .map_err(|_| WalletError::NotRecoverable)?;
        let signer = address_of(&key);
        if signer != self.address {
            return Err(WalletError::OtherSigner { signer });
        }
        Ok(())
    }

    /// The bytes that a contract wallet is to take for its signature.
    ///
    /// # Errors
    /// [`WalletError::ContractForm`]; [`WalletError::NotContract`] for an account with a key.
    pub fn contract_proof(&self) -> Result<Vec<u8>, WalletError> {
        if self.kind != WalletKind::Erc1271 {
            return Err(WalletError::NotContract);
        }
        let digits = self
            .proof
            .strip_prefix("0x")
            .filter(|digits| (2..=2 * MAX_CONTRACT_PROOF_BYTES).contains(&digits.len()))
            .filter(|digits| !digits.bytes().any(|byte| byte.is_ascii_uppercase()))
            .ok_or(WalletError::ContractForm)?;
        hex::decode(digits).map_err(|_| WalletError::ContractForm)
    }

    /// Everything about the proof that can be known without asking a chain: all of it for an account
    /// with a key, its form for a contract.
    ///
    /// # Errors
    /// Those of [`Wallet::verify_eoa`] and [`Wallet::contract_proof`].
    pub fn verify_offline(&self, agent: Did, ledger: Did) -> Result<(), WalletError> {
        match self.kind {
            WalletKind::Eoa => self.verify_eoa(agent, ledger),
            WalletKind::Erc1271 => self.contract_proof().map(|_| ()),
        }
    }
}

/// What a contract wallet is asked about: the EIP-191 hash of [`binding_message`], the same that an
/// account with a key signs.
pub fn binding_hash(agent: Did, ledger: Did, address: EvmAddress) -> [u8; 32] {
    eip_191_hash(&binding_message(agent, ledger, address))
}

/// The text a wallet signs to be bound to `agent` on `ledger`: four lines joined by LF, without a
/// final one; the address in EIP-55 form (ledger-contract.md section 4).
pub fn binding_message(agent: Did, ledger: Did, address: EvmAddress) -> String {
    format!(
        "{BINDING_TITLE}\n{agent}\n{ledger}\n{}",
        address.to_checksum()
    )
}

/// Why a wallet is not proven.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum WalletError {
    /// A contract wallet, which cannot be checked without the chain.
    #[error("a wallet of kind erc1271 has no key to check; ask its contract")]
    NotEoa,
    /// An account with a key, which needs no chain.
    #[error("a wallet of kind eoa is no contract; check the signature of its key")]
    NotContract,
    /// Not 1 to 1,024 bytes of lower-case hex.
    #[error(
        "the proof is not 0x and 1 to 1,024 bytes in lower-case hex; give the signature as the \
         contract takes it"
    )]
    ContractForm,
    /// Not 65 bytes of lower-case hex.
    #[error("the proof is not 0x and 130 lower-case hex digits; give r, s and v of the signature")]
    Form,
    /// r or s is zero or not below the order, or v is none of 0, 1, 27, 28.
    #[error("the proof is no secp256k1 signature with v 27 or 28; sign the binding text again")]
    NotSignature,
    /// s is in the upper half of the order.
    #[error("the proof has a high s; normalise the signature (EIP-2)")]
    HighS,
    /// No key can have made the signature.
    #[error("no key fits the proof; sign the binding text again")]
    NotRecoverable,
    /// Another account, or another text, was signed.
    #[error(
        "the proof comes from {signer}, not from the wallet; sign the text that names this agent, \
         this ledger and this address, per EIP-191"
    )]
    OtherSigner {
        /// The account that the signature leads to, given this text.
        signer: EvmAddress,
    },
}

fn parse_proof(proof: &str) -> Result<(Signature, RecoveryId), WalletError> {
    let digits = proof.strip_prefix("0x").ok_or(WalletError::Form)?;
    if digits.bytes().any(|byte| byte.is_ascii_uppercase()) {
        return Err(WalletError::Form);
    }
    let mut bytes = [0; PROOF_BYTES];
    hex::decode_to_slice(digits, &mut bytes).map_err(|_| WalletError::Form)?;
    let [rs @ .., v] = bytes;
    let signature = Signature::from_slice(&rs).map_err(|_| WalletError::NotSignature)?;
    if signature.normalize_s().is_some() {
        return Err(WalletError::HighS);
    }
    let recovery_id = match v {
        0 | 27 => RecoveryId::new(false, false),
        1 | 28 => RecoveryId::new(true, false),
        _ => return Err(WalletError::NotSignature),
    };
    Ok((signature, recovery_id))
}

/// Keccak-256 of the text behind the prefix that keeps it from being a transaction (EIP-191).
fn eip_191_hash(text: &str) -> [u8; 32] {
    let prefix = format!("\u{19}Ethereum Signed Message:\n{}", text.len());
    Keccak256::new()
        .chain_update(prefix)
        .chain_update(text)
        .finalize()
        .into()
}

/// The last 20 bytes of the Keccak-256 hash of the uncompressed key.
fn address_of(key: &VerifyingKey) -> EvmAddress {
    let point = key.to_encoded_point(false);
    let hash: [u8; 32] = Keccak256::digest(&point.as_bytes()[1..]).into();
    let mut address = [0; 20];
    address.copy_from_slice(&hash[12..]);
    EvmAddress::from_bytes(address)
}

#[cfg(test)]
mod tests {
    use super::*;

    const AGENT: &str = "did:x811:019c8c61-8129-7511-9f31-aa5142e65448";
    const LEDGER: &str = "did:x811:019c8c61-8129-7511-9f31-aa5142e65449";

    /// Address and signature over the binding text, made with the Python package eth-account
    /// 0.14.0: `Account.sign_message(encode_defunct(text=...))`. The first secret key is that of
    /// Anvil's first account, the second is 32 bytes of 0x46; their `v` are 28 and 27.
    const SIGNED: [(&str, &str); 2] = [
        (
            "0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266",
            "0xf924816f168a03f781584807bfca61bd49c52002946e1ebe66302f6581a3d6c1\
             3d1ecff2a16f57c5887a2e8f3d96a2f17f275b20f03a148349c73b7bb2d693861c",
        ),
        (
            "0x9d8A62f656a8d1615C1294fd71e9CFb3E4855A4F",
            "0xfde30acde7d8eba71f132379ee42020697cc7d4809354d933d26461cd85cafd8\
             78389291cfdae37ef391a7e2e8ebefb416d1f4fa8878ef98636e832b924ea8871b",
        ),
    ];

    fn wallet(address: &str, proof: &str) -> Wallet {
        let address = EvmAddress::parse_checksummed(address).unwrap();
        Wallet {
            address,
            kind: WalletKind::Eoa,
            proof: proof.to_owned(),
        }
    }

    fn verify(wallet: &Wallet) -> Result<(), WalletError> {
        wallet.verify_eoa(AGENT.parse().unwrap(), LEDGER.parse().unwrap())
    }

    #[test]
    fn binding_text_has_four_lines_and_no_final_line_feed() {
        let [(address, _), _] = SIGNED;
        let text = binding_message(
            AGENT.parse().unwrap(),
            LEDGER.parse().unwrap(),
            EvmAddress::parse_checksummed(address).unwrap(),
        );
        assert_eq!(
            text,
            format!("x811 wallet binding v1\n{AGENT}\n{LEDGER}\n{address}")
        );
    }

    #[test]
    fn proofs_of_an_independent_implementation_hold() {
        for (address, proof) in SIGNED {
            assert_eq!(verify(&wallet(address, proof)), Ok(()));
            let raw_v = match proof.split_at(130) {
                (rs, "1b") => format!("{rs}00"),
                (rs, _) => format!("{rs}01"),
            };
            assert_eq!(verify(&wallet(address, &raw_v)), Ok(()), "v of 0 or 1");
        }
    }

    #[test]
    fn a_proof_binds_agent_ledger_and_address() {
        let [(address, proof), (other_address, _)] = SIGNED;
        let (agent, ledger) = (AGENT.parse().unwrap(), LEDGER.parse().unwrap());
        let bound = wallet(address, proof);
        let is_other = |verdict| matches!(verdict, Err(WalletError::OtherSigner { .. }));
        assert!(is_other(bound.verify_eoa(ledger, ledger)), "another agent");
        assert!(is_other(bound.verify_eoa(agent, agent)), "another ledger");
        assert!(
            is_other(verify(&wallet(other_address, proof))),
            "another account"
        );
    }

    #[test]
    fn a_proof_has_one_form() {
        let [(address, proof), _] = SIGNED;
        let (rs, v) = proof.split_at(130);
        let (r, s) = rs.split_at(66);
        let order = "fffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141";
        let zero = "0".repeat(64);
        // The order minus s, with the other v: as good an ECDSA signature, but a second form.
        let high_s = "c2e1300d5e90a83a7785d170c2695d0d3b8781c5bf0e8bb8760b23111d5fadbb";
        let table = [
            (format!("{r}{high_s}1b"), WalletError::HighS),
            (format!("{r}{zero}1b"), WalletError::NotSignature),
            (format!("0x{zero}{s}{v}"), WalletError::NotSignature),
            (format!("0x{order}{s}{v}"), WalletError::NotSignature),
            (format!("{rs}1d"), WalletError::NotSignature),
            (format!("{rs}02"), WalletError::NotSignature),
            (rs.to_owned(), WalletError::Form),
            (format!("{proof}00"), WalletError::Form),
            (proof[2..].to_owned(), WalletError::Form),
            (
                format!("0x{}", proof[2..].to_uppercase()),
                WalletError::Form,
            ),
            (String::new(), WalletError::Form),
        ];
        for (proof, expected) in table {
            assert_eq!(verify(&wallet(address, &proof)), Err(expected), "{proof}");
        }
    }

    #[test]
    fn contract_wallets_are_not_judged_here() {
        let [(address, proof), _] = SIGNED;
        let contract = Wallet {
            kind: WalletKind::Erc1271,
            ..wallet(address, proof)
        };
        assert_eq!(verify(&contract), Err(WalletError::NotEoa));
        assert_eq!(
            wallet(address, proof).contract_proof(),
            Err(WalletError::NotContract)
        );
    }

    #[test]
    fn rule_18_the_form_of_a_contract_wallets_proof() {
        let [(address, _), _] = SIGNED;
        let of = |proof: &str| {
            let contract = Wallet {
                kind: WalletKind::Erc1271,
                ..wallet(address, proof)
            };
            let checked = contract.verify_offline(AGENT.parse().unwrap(), LEDGER.parse().unwrap());
            assert_eq!(checked.is_ok(), contract.contract_proof().is_ok());
            contract.contract_proof()
        };
        let bytes = |count: usize| format!("0x{}", "0a".repeat(count));
        assert_eq!(of("0x00"), Ok(vec![0]));
        assert_eq!(of(&bytes(1_024)), Ok(vec![0x0a; 1_024]));
        for bad in [
            "",
            "0x",
            "00",
            "0x0",
            "0x0g",
            "0x000",
            "0x0A",
            "0X0a",
            " 0x0a",
            "0x0a ",
            "0x+1",
            &bytes(1_025),
        ] {
            assert_eq!(of(bad), Err(WalletError::ContractForm), "{bad}");
        }
    }

    #[test]
    fn rule_18_a_contract_is_asked_about_the_hash_that_a_key_signs() {
        let [(address, proof), _] = SIGNED;
        let bound = wallet(address, proof);
        let hash = binding_hash(
            AGENT.parse().unwrap(),
            LEDGER.parse().unwrap(),
            bound.address,
        );
        let (signature, recovery_id) = parse_proof(proof).unwrap();
        let key = VerifyingKey::recover_from_prehash(&hash, &signature, recovery_id).unwrap();
        assert_eq!(address_of(&key), bound.address);
    }

    #[test]
    fn rec_1_record_form() {
        let [(address, proof), _] = SIGNED;
        let value = serde_json::to_value(wallet(address, proof)).unwrap();
        let expected = serde_json::json!({
            "address": address.to_lowercase(), "kind": "eoa", "proof": proof,
        });
        assert_eq!(value, expected);
        let mut unknown = value;
        unknown["label"] = "mine".into();
        assert!(serde_json::from_value::<Wallet>(unknown).is_err());
    }
}
