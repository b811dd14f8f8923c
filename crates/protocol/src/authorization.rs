//! EIP-3009 authorizations made for one interaction: the nonce says what a transfer pays.
//!
//! `transferWithAuthorization` takes a 32-byte nonce of the payer's choice and the token logs it
//! next to the transfer. A nonce that is derived from the ledger, the interaction and the OFFER
//! proves that this payer meant this interaction, so nobody else can claim the transfer; and the
//! token takes a nonce once only, so that the same thing is never paid twice
//! (settlement-watcher.md rule 18, ledger-contract.md section 4).

use sha3::{Digest as _, Keccak256};

use crate::did::Did;
use crate::digest::Digest;
use crate::id::InteractionId;

/// First line of the text behind the nonce of a transfer to the payee.
const PAYMENT_TITLE: &str = "x811 payment authorization v1";

/// First line of the text behind the nonce of a separate transfer to the treasury.
const FEE_TITLE: &str = "x811 fee authorization v1";

/// The nonce under which the payee of `interaction` is paid: Keccak-256 of four lines joined by LF,
/// without a final one (title, ledger DID, interaction, OFFER hash in lower-case hex).
pub fn payment_nonce(ledger: Did, interaction: InteractionId, offer_hash: Digest) -> Digest {
    nonce(PAYMENT_TITLE, ledger, interaction, offer_hash)
}

/// The nonce under which the treasury gets the fee of `interaction`, where it comes in a transfer
/// of its own; made like [`payment_nonce`] with another title.
pub fn fee_nonce(ledger: Did, interaction: InteractionId, offer_hash: Digest) -> Digest {
    nonce(FEE_TITLE, ledger, interaction, offer_hash)
}

fn nonce(title: &str, ledger: Did, interaction: InteractionId, offer_hash: Digest) -> Digest {
    let text = format!("{title}\n{ledger}\n{interaction}\n{offer_hash}");
    Digest::from_bytes(Keccak256::digest(text.as_bytes()).into())
}

#[cfg(test)]
mod tests {
    use super::*;

    const LEDGER: &str = "did:x811:019c8c61-8129-7511-9f31-aa5142e65448";
    const INTERACTION: &str = "01939c7a-2b4e-7c3d-8f5a-1b2c3d4e5f61";

    fn of(title: fn(Did, InteractionId, Digest) -> Digest) -> String {
        let offer_hash = Digest::of(b"abc");
        title(
            LEDGER.parse().unwrap(),
            INTERACTION.parse().unwrap(),
            offer_hash,
        )
        .to_string()
    }

    /// Expected values from `web3_sha3` of a node over the four lines.
    #[test]
    fn sw_18_the_nonce_names_ledger_interaction_and_offer() {
        assert_eq!(
            of(payment_nonce),
            "bf2a04f7b8b3cbd00a21abad0714c5bfddd13691cd71901f24245005ec8cfc3e"
        );
        assert_eq!(
            of(fee_nonce),
            "8e80822b4259af7751ce8526a685811856a2614559055c7ba32732d3ccfa14b0"
        );
    }
}
