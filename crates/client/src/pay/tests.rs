//! What is signed is what was asked for, and a kept transfer is sent only if it still says so.

use x811_protocol::evm::EvmAddress;

use super::*;

/// Anvil's first account (public test key of its mnemonic).
const KEY: &str = "0xac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80";

async fn signed() -> SignedTransfer {
    let key = WalletKey::from_hex(KEY).unwrap();
    let transfer = Transfer {
        payee: EvmAddress::from_bytes([2; 20]),
        amount: MicroUsdc::from_micro_usdc(29_725).unwrap(),
    };
    let token = EvmAddress::from_bytes([3; 20]);
    let call = transferCall {
        to: address(transfer.payee),
        value: U256::from(transfer.amount.as_micro_usdc()),
    };
    let request = TransactionRequest::default()
        .with_from(address(key.address()))
        .with_to(address(token))
        .with_input(Bytes::from(call.abi_encode()))
        .with_chain_id(31_337)
        .with_nonce(4)
        .with_max_fee_per_gas(2_000_000_000)
        .with_max_priority_fee_per_gas(1)
        .with_gas_limit(60_000);
    let envelope = sign_transaction(&key, request).await.unwrap();
    SignedTransfer {
        tx_hash: TxHash::from_bytes(envelope.tx_hash().0),
        chain_id: ChainId::new(31_337),
        token,
        payer: key.address(),
        transfer,
        authorization: None,
        raw: format!("0x{}", hex::encode(envelope.encoded_2718())),
        replaced: Vec::new(),
    }
}

#[tokio::test]
async fn a_signed_transfer_is_the_call_that_was_asked_for() {
    let signed = signed().await;
    let raw = signed.checked_raw().unwrap();
    let envelope = TxEnvelope::decode_2718(&mut raw.as_slice()).unwrap();
    // The selector of transfer(address,uint256), the payee, the amount in micro-USDC.
    let expected = format!(
        "a9059cbb{}{}{}{:064x}",
        "0".repeat(24),
        "02".repeat(20),
        "",
        29_725
    );
    assert_eq!(hex::encode(envelope.input()), expected);
    assert_eq!(envelope.value(), U256::ZERO, "no ETH moves");
    assert_eq!((envelope.nonce(), envelope.chain_id()), (4, Some(31_337)));
}

#[tokio::test]
async fn a_kept_transfer_that_says_something_else_is_not_sent() {
    let signed = signed().await;
    let stored = serde_json::to_vec(&signed).unwrap();
    let read: SignedTransfer = serde_json::from_slice(&stored).unwrap();
    assert_eq!(read, signed);

    let mut other_amount = signed.clone();
    other_amount.transfer.amount = MicroUsdc::ZERO;
    let mut other_payee = signed.clone();
    other_payee.transfer.payee = EvmAddress::ZERO;
    let mut cut = signed.clone();
    cut.raw.truncate(80);
    let table = [
        other_amount,
        other_payee,
        cut,
        SignedTransfer {
            payer: EvmAddress::ZERO,
            ..signed.clone()
        },
        SignedTransfer {
            token: EvmAddress::ZERO,
            ..signed.clone()
        },
        SignedTransfer {
            chain_id: ChainId::new(1),
            ..signed.clone()
        },
        SignedTransfer {
            tx_hash: TxHash::from_bytes([0; 32]),
            ..signed.clone()
        },
        SignedTransfer {
            raw: String::new(),
            ..signed
        },
    ];
    for damaged in table {
        assert_eq!(damaged.checked_raw(), Err(PayError::Damaged), "{damaged:?}");
    }
}

#[tokio::test]
async fn on_base_nothing_but_usdc_is_paid_with() {
    let token = EvmAddress::from_bytes([9; 20]);
    let error = PayClient::connect("http://127.0.0.1:1", BASE_CHAIN_ID, token)
        .await
        .unwrap_err();
    assert_eq!(error, PayError::NotUsdc { token });
    assert!(EvmAddress::parse_checksummed(BASE_USDC).is_ok());
}

#[test]
fn no_error_shows_an_endpoints_key() {
    let text = "error sending request for url (https://base.example/v2/SECRET): refused";
    assert_eq!(
        without_urls(text),
        "error sending request for url (endpoint) refused"
    );
}
