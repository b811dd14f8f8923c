//! The client's payer on the test token: what it signs the token takes, once; and where something
//! was paid or cancelled by other hands, it finds out instead of paying again.

#![expect(clippy::expect_used, reason = "a test's own helpers may panic")]

use alloy::primitives::{Bytes, U256, keccak256};
use alloy::providers::Provider;
use alloy::providers::ext::AnvilApi;
use x811_client::clock::{Clock, SystemClock};
use x811_client::pay::{NonceUse, Outcome, PayClient, PayError, Receipt, SignedTransfer, Transfer};
use x811_client::wallet::WalletKey;
use x811_protocol::digest::Digest;
use x811_protocol::evm::{ChainId, EvmAddress};
use x811_protocol::money::MicroUsdc;
use x811_tests::anvil::{Anvil, BASE_CHAIN_ID, BASE_USDC, DEV_KEYS, usdc};
use x811_tests::proxy::{Act, Proxy, rules};

const PURSE_MICRO_USDC: u64 = 5_000_000;
const PAID_MICRO_USDC: u64 = 29_725;
const PAYEE: usize = 1;
const RELAYER: usize = 2;

struct Scene {
    anvil: Anvil,
    client: PayClient,
    key: WalletKey,
    nonce: Digest,
}

async fn scene() -> Scene {
    let anvil = Anvil::start(BASE_CHAIN_ID, None);
    anvil.deploy_usdc(BASE_USDC).await;
    let payer = Anvil::dev_account(0).address();
    anvil.mint(BASE_USDC, payer, PURSE_MICRO_USDC).await;
    let client = connect(&anvil).await;
    Scene {
        anvil,
        client,
        key: WalletKey::from_hex(DEV_KEYS[0]).expect("a development key is a key"),
        nonce: Digest::of(b"this interaction"),
    }
}

async fn connect(anvil: &Anvil) -> PayClient {
    connect_through(&anvil.rpc_url()).await
}

async fn connect_through(rpc_url: &str) -> PayClient {
    let token = EvmAddress::from_bytes(BASE_USDC.into());
    let connected = PayClient::connect(rpc_url, ChainId::new(BASE_CHAIN_ID), token);
    connected.await.expect("the endpoint serves the token")
}

impl Scene {
    fn due(&self) -> Transfer {
        Transfer {
            payee: EvmAddress::from_bytes(Anvil::dev_account(PAYEE).address().into()),
            amount: MicroUsdc::from_micro_usdc(PAID_MICRO_USDC).expect("an amount"),
        }
    }

    async fn signed(&self) -> Result<SignedTransfer, PayError> {
        let domain = self.client.token_domain().await?;
        let now = SystemClock.now();
        let signed = self
            .client
            .sign_authorized(&self.key, self.due(), &domain, self.nonce, now);
        signed.await
    }

    async fn nonce_use(&self) -> Result<NonceUse, PayError> {
        self.client.nonce_use(self.key.address(), self.nonce).await
    }

    async fn paid_micro_usdc(&self) -> u64 {
        let payee = Anvil::dev_account(PAYEE).address();
        self.anvil.balance(BASE_USDC, payee).await
    }

    async fn receipt(&self, signed: &SignedTransfer) -> Receipt {
        let receipt = self.client.await_mined(signed, &SystemClock, 10_000);
        let receipt = receipt.await.expect("the endpoint answers");
        receipt.expect("the transaction is mined").1
    }

    /// Sends what a signed transaction calls from another account, as anybody can who sees it.
    async fn relay(&self, signed: &SignedTransfer) -> alloy::primitives::TxHash {
        let raw: Bytes = signed.raw.parse().expect("hex");
        let envelope = <alloy::consensus::TxEnvelope as alloy::eips::Decodable2718>::decode_2718(
            &mut raw.as_ref(),
        )
        .expect("a transaction");
        let input = alloy::consensus::Transaction::input(&envelope);
        let call =
            <usdc::transferWithAuthorization_0Call as alloy::sol_types::SolCall>::abi_decode(input)
                .expect("an authorised transfer");
        let sent = self.anvil.send(DEV_KEYS[RELAYER], BASE_USDC, &call).await;
        assert!(self.anvil.receipt(sent).await.status());
        sent
    }
}

#[tokio::test]
async fn sw_18_the_token_takes_what_the_payer_signs_and_takes_it_once() {
    let scene = scene().await;
    assert_eq!(scene.nonce_use().await, Ok(NonceUse::Unused));
    let signed = scene.signed().await.unwrap();
    scene.client.send(&signed).await.unwrap();
    let Receipt::Succeeded { block_number } = scene.receipt(&signed).await else {
        panic!("the transfer reverted");
    };
    let used = NonceUse::Used {
        tx_hash: signed.tx_hash,
        block_number,
    };
    assert_eq!(scene.nonce_use().await, Ok(used));
    let again = scene.signed().await.unwrap_err();
    assert!(
        matches!(&again, PayError::Refused { cause, .. } if cause.contains("used or canceled")),
        "{again}"
    );
    assert_eq!(scene.paid_micro_usdc().await, PAID_MICRO_USDC);
}

#[tokio::test]
async fn a_transfer_made_by_a_relayer_is_found_by_its_nonce() {
    let scene = scene().await;
    let signed = scene.signed().await.unwrap();
    let relayed = scene.relay(&signed).await;
    scene.anvil.mine(2_010).await;
    scene.client.send(&signed).await.unwrap();
    assert!(matches!(
        scene.receipt(&signed).await,
        Receipt::Reverted { .. }
    ));
    let NonceUse::Used { tx_hash, .. } = scene.nonce_use().await.unwrap() else {
        panic!("the nonce is used");
    };
    assert_eq!(tx_hash.as_bytes(), &relayed.0);
    assert_eq!(scene.paid_micro_usdc().await, PAID_MICRO_USDC);
}

#[tokio::test]
async fn an_authorization_that_was_not_mined_in_time_never_pays() {
    let scene = scene().await;
    let signed = scene.signed().await.unwrap();
    assert_eq!(scene.client.outcome(&signed).await, Ok(Outcome::Open));
    let valid_before_s = signed.authorization.unwrap().valid_before_s;
    let provider = scene.anvil.provider();
    let set = provider.anvil_set_next_block_timestamp(valid_before_s);
    set.await.unwrap();
    scene.anvil.mine(1).await;

    assert_eq!(scene.client.outcome(&signed).await, Ok(Outcome::Lost));
    scene.client.send(&signed).await.unwrap();
    assert!(matches!(
        scene.receipt(&signed).await,
        Receipt::Reverted { .. }
    ));
    assert_eq!(scene.nonce_use().await, Ok(NonceUse::Unused));
    assert_eq!(scene.paid_micro_usdc().await, 0);
}

/// Two nodes behind one endpoint: one has the block of the transfer, the other does not.
#[tokio::test]
async fn ae_064_a_transfer_that_one_of_two_nodes_has_not_seen_is_not_lost() {
    let scene = scene().await;
    let signed = scene.signed().await.unwrap();
    let lags_at = scene.anvil.provider().get_block_number().await.unwrap();
    scene.client.send(&signed).await.unwrap();
    let Receipt::Succeeded { block_number } = scene.receipt(&signed).await else {
        panic!("the transfer reverted");
    };
    let proxy = Proxy::start(&scene.anvil.rpc_url()).await;
    proxy.rule(rules::lags_at(
        lags_at,
        &["eth_getTransactionReceipt", "eth_call"],
    ));
    let client = connect_through(proxy.url()).await;
    let outcome = client.outcome(&signed).await;
    assert!(
        matches!(outcome, Err(PayError::Refused { .. })),
        "{outcome:?}"
    );
    // The transaction itself is looked up at the lagging node, its account nonce at the other one.
    proxy.rule(rules::lags_at(
        lags_at,
        &[
            "eth_getTransactionReceipt",
            "eth_call",
            "eth_getTransactionByHash",
        ],
    ));
    client.send(&signed).await.unwrap();

    proxy.rule(|_| Act::Pass);
    let paid = Outcome::Paid {
        tx_hash: signed.tx_hash,
        block_number,
    };
    assert_eq!(client.outcome(&signed).await, Ok(paid));
}

/// The node has counted the transfer while it still names the block before as its newest.
#[tokio::test]
async fn ae_064_a_transfer_that_is_counted_before_its_block_is_named_is_not_lost() {
    let scene = scene().await;
    let signed = scene.signed().await.unwrap();
    scene.client.send(&signed).await.unwrap();
    scene.receipt(&signed).await;
    let proxy = Proxy::start(&scene.anvil.rpc_url()).await;
    proxy.rule(rules::counts_ahead);
    let client = connect_through(proxy.url()).await;
    assert_eq!(client.outcome(&signed).await, Ok(Outcome::Open));
}

#[tokio::test]
async fn a_cancelled_nonce_is_not_paid_under() {
    let scene = scene().await;
    let nonce = scene.nonce;
    let cancelled = super::authorization::cancelled(nonce.as_bytes().into());
    let sent = scene.anvil.send(DEV_KEYS[RELAYER], BASE_USDC, &cancelled);
    assert!(scene.anvil.receipt(sent.await).await.status());
    assert_eq!(scene.nonce_use().await, Err(PayError::Cancelled { nonce }));
}

/// As where the log lies further back than anybody looks.
#[tokio::test]
async fn a_spent_nonce_without_a_log_is_not_paid_under() {
    let scene = scene().await;
    let payer = Anvil::dev_account(0).address();
    // `authorizationState` is the token's first variable.
    let of_payer = keccak256([payer.into_word().0, [0; 32]].concat());
    let slot = keccak256([*scene.nonce.as_bytes(), of_payer.0].concat());
    let provider = scene.anvil.provider();
    let set = provider.anvil_set_storage_at(BASE_USDC, slot.into(), U256::ONE.into());
    assert!(set.await.unwrap());
    let head = provider.get_block_number().await.unwrap();
    assert_eq!(
        scene.nonce_use().await,
        Err(PayError::SpentUnseen {
            nonce: scene.nonce,
            searched_blocks: head + 1
        })
    );
}

/// Providers bound the blocks of one call; the answer names no number that holds everywhere.
#[tokio::test]
async fn ae_064_a_payment_is_found_through_a_provider_that_allows_few_blocks_a_call() {
    for most in [10, 5, 1] {
        let scene = scene().await;
        let signed = scene.signed().await.unwrap();
        scene.client.send(&signed).await.unwrap();
        let _ = scene.receipt(&signed).await;
        scene.anvil.mine(30).await;
        let proxy = Proxy::start(&scene.anvil.rpc_url()).await;
        proxy.rule(rules::lists_at_most(most));
        let used = connect_through(proxy.url())
            .await
            .nonce_use(scene.key.address(), scene.nonce)
            .await;
        let Ok(NonceUse::Used { tx_hash, .. }) = used else {
            panic!("{most}: {used:?}");
        };
        assert_eq!(tx_hash, signed.tx_hash);
    }
}

/// A node that reads the older member `data` alone, or lags behind the contract, answers a call with
/// nothing: that is no token without EIP-3009, which a plain transfer would be made for.
#[tokio::test]
async fn an_empty_answer_to_a_call_decides_nothing_and_both_members_carry_the_call() {
    let scene = scene().await;
    let proxy = Proxy::start(&scene.anvil.rpc_url()).await;
    proxy.rule(rules::ignores_input);
    let client = connect_through(proxy.url()).await;
    let _ = client.token_domain().await.unwrap();
    proxy.rule(|call| match call.method {
        "eth_call" => Act::Replace(serde_json::json!("0x")),
        _ => Act::Pass,
    });
    let error = client.token_domain().await.unwrap_err();
    assert!(
        matches!(&error, PayError::Refused { cause, .. } if cause.contains("empty")),
        "{error}"
    );
}

#[tokio::test]
async fn ae_064_fees_above_the_limit_are_not_signed() {
    let scene = scene().await;
    let signed = scene.signed().await.unwrap();
    let provider = scene.anvil.provider();
    let set = provider.anvil_set_next_block_base_fee_per_gas(100_000_000_000);
    set.await.unwrap();
    scene.anvil.mine(1).await;
    let error = scene
        .client
        .raise_fees(&scene.key, &signed)
        .await
        .unwrap_err();
    assert!(matches!(error, PayError::FeesTooHigh { .. }), "{error}");
    assert!(
        error.to_string().contains("more than 0.001000 ETH"),
        "{error}"
    );
}

/// One contract answers nothing, one has another domain than the standard one.
#[tokio::test]
async fn a_token_without_eip_3009_is_told_apart_from_an_endpoint_that_fails() {
    let scene = scene().await;
    let reverting = Bytes::from_static(&[0x5f, 0x5f, 0xfd]);
    let provider = scene.anvil.provider();
    provider.anvil_set_code(BASE_USDC, reverting).await.unwrap();
    let error = connect(&scene.anvil)
        .await
        .token_domain()
        .await
        .unwrap_err();
    assert!(
        matches!(&error, PayError::NoAuthorizations { why, .. } if why.contains("authorizationState")),
        "{error}"
    );

    scene.anvil.deploy_usdc(BASE_USDC).await;
    let set = provider.anvil_set_chain_id(BASE_CHAIN_ID + 1);
    set.await.unwrap();
    let error = scene.client.token_domain().await.unwrap_err();
    assert!(
        matches!(&error, PayError::NoAuthorizations { why, .. } if why.contains("DOMAIN_SEPARATOR")),
        "{error}"
    );

    drop(scene.anvil);
    let error = scene.client.token_domain().await.unwrap_err();
    assert!(matches!(error, PayError::Unreachable { .. }), "{error}");
}
