//! A contract wallet (ERC-1271) as the command line names it: the account, and the signature over
//! the text of `x811 agent binding` as the contract takes it.

use x811_protocol::wallet::{Wallet, WalletKind};

use crate::send::account;

/// Reads `ADDRESS=SIGNATURE`. Whether the contract takes the signature is for the ledger to ask.
pub(super) fn contract_wallet(text: &str) -> Result<Wallet, String> {
    let (address, signature) = text
        .split_once('=')
        .ok_or("write it as ADDRESS=SIGNATURE, the signature in hex behind 0x")?;
    let wallet = Wallet {
        address: account(address).map_err(|error| error.to_string())?,
        kind: WalletKind::Erc1271,
        proof: signature.to_ascii_lowercase(),
    };
    match wallet.contract_proof() {
        Ok(_) => Ok(wallet),
        Err(error) => Err(error.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ADDRESS: &str = "0x9d8A62f656a8d1615C1294fd71e9CFb3E4855A4F";

    #[test]
    fn an_account_and_a_signature_are_read_and_anything_else_is_not() {
        let wallet = contract_wallet(&format!("{ADDRESS}=0xAB01")).unwrap();
        assert_eq!(wallet.address.to_checksum(), ADDRESS);
        assert_eq!(wallet.kind, WalletKind::Erc1271);
        assert_eq!(wallet.proof, "0xab01");
        let lower = ADDRESS.to_lowercase();
        for bad in [
            String::new(),
            ADDRESS.to_owned(),
            format!("{ADDRESS}="),
            format!("{ADDRESS}=0x"),
            format!("{ADDRESS}=ab"),
            format!("{ADDRESS}=0xabc"),
            format!("{lower}=0xab"),
            format!("{ADDRESS}=0x{}", "00".repeat(1_025)),
        ] {
            assert!(contract_wallet(&bad).is_err(), "{bad}");
        }
    }
}
