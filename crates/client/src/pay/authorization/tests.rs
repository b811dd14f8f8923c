//! The signature is the one that an independent implementation makes, and a kept transfer is only
//! sent if its call is what it says.

use x811_protocol::evm::ChainId;
use x811_protocol::money::MicroUsdc;

use super::*;
use alloy::primitives::Address;
use x811_protocol::evm::TxHash;

/// Anvil's first account (public test key of its mnemonic).
const KEY: &str = "0xac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80";
const NONCE: &str = "bf2a04f7b8b3cbd00a21abad0714c5bfddd13691cd71901f24245005ec8cfc3e";
const USDC: &str = "0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913";
const VALID_BEFORE_S: u64 = 1_767_226_500;

fn domain() -> TokenDomain {
    TokenDomain(Eip712Domain::new(
        Some("USD Coin".into()),
        Some("2".into()),
        Some(U256::from(8_453)),
        Some(USDC.parse().unwrap()),
        None,
    ))
}

fn authorization() -> Authorization {
    Authorization {
        nonce: NONCE.parse().unwrap(),
        valid_before_s: VALID_BEFORE_S,
    }
}

fn transfer() -> Transfer {
    Transfer {
        payee: EvmAddress::from_bytes([2; 20]),
        amount: MicroUsdc::from_micro_usdc(29_725).unwrap(),
    }
}

fn call() -> transferWithAuthorizationCall {
    let key = WalletKey::from_hex(KEY).unwrap();
    authorized_call(&key, transfer(), &domain(), authorization()).unwrap()
}

/// The signature was made with the Python package eth-account 0.14.0.
#[test]
fn sw_18_an_authorization_is_the_one_an_independent_implementation_signs() {
    let call = call();
    let expected = "9993d73d86fef73400d7ca6b46bd7e7c3b9e077b87c68488e8f85b6aab197a0c\
                    25420b87d9bbc3aba046418f99437ffab9974d2122b151df21d09582b214bc9d1c";
    assert_eq!(format!("{:x}{:x}{:02x}", call.r, call.s, call.v), expected);
    assert_eq!(call.validAfter, U256::ZERO);
}

#[test]
fn a_kept_call_that_differs_in_one_member_is_another_call() {
    let signed = SignedTransfer {
        tx_hash: TxHash::from_bytes([1; 32]),
        chain_id: ChainId::new(8_453),
        token: USDC
            .parse::<Address>()
            .map(|it| EvmAddress::from_bytes(it.into()))
            .unwrap(),
        payer: WalletKey::from_hex(KEY).unwrap().address(),
        transfer: transfer(),
        authorization: Some(authorization()),
        raw: String::new(),
        replaced: Vec::new(),
    };
    assert!(signed.is_call(&call().abi_encode()));

    let good = call();
    let table = [
        transferWithAuthorizationCall {
            from: Address::ZERO,
            ..good.clone()
        },
        transferWithAuthorizationCall {
            to: Address::ZERO,
            ..good.clone()
        },
        transferWithAuthorizationCall {
            value: U256::ONE,
            ..good.clone()
        },
        transferWithAuthorizationCall {
            validBefore: U256::MAX,
            ..good.clone()
        },
        transferWithAuthorizationCall {
            nonce: B256::ZERO,
            ..good.clone()
        },
    ];
    for (index, other) in table.into_iter().enumerate() {
        assert!(!signed.is_call(&other.abi_encode()), "row {index}");
    }
    let plain = SignedTransfer {
        authorization: None,
        ..signed.clone()
    };
    assert!(
        !plain.is_call(&good.abi_encode()),
        "a plain transfer is none"
    );
    let stored = serde_json::to_value(&signed).unwrap();
    assert_eq!(stored["authorization"]["nonce"], NONCE);
    assert_eq!(
        serde_json::from_value::<SignedTransfer>(stored).unwrap(),
        signed
    );
    let stored = serde_json::to_value(&plain).unwrap();
    assert!(
        stored.get("authorization").is_none(),
        "as files were before"
    );
}
