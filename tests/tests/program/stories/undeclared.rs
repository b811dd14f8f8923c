//! A transfer that was made and never declared: its file is lost before the PAYMENT was sent.

use super::stage::{Stage, text};
use alloy::primitives::{Address, B256};
use serde_json::Value;
use x811_client::clock::{Clock, SystemClock};
use x811_client::pay::{PayClient, SignedTransfer, Transfer};
use x811_client::wallet::WalletKey;
use x811_protocol::authorization::payment_nonce;
use x811_protocol::digest::Digest;
use x811_protocol::evm::{ChainId, EvmAddress};
use x811_protocol::money::MicroUsdc;
use x811_tests::anvil::{BASE_USDC, LOCAL_CHAIN_ID};

/// What the offer of these stories costs with its fee.
const TOTAL_MICRO_USDC: u64 = 29_725;

pub(crate) struct Undeclared {
    pub(crate) tx_hash: B256,
    pub(crate) payer: Address,
}

/// The nonce that an authorization for the interaction has, made of what the ledger shows to anyone.
pub(crate) fn nonce_of(stage: &Stage, interaction: &str) -> Digest {
    let status = stage.x811("", &["status"]).ok().json();
    let history = stage.x811("ada", &["history", interaction]).ok().json();
    let offer = &history["records"][1]["leaf"]["event"];
    let offer_hash: Digest = find(offer, "payload_hash").unwrap().parse().unwrap();
    payment_nonce(
        text(&status, "did").parse().unwrap(),
        interaction.parse().unwrap(),
        offer_hash,
    )
}

/// Signs what `x811 pay` signs; the client that can send it.
pub(crate) async fn sign(stage: &Stage, interaction: &str) -> (PayClient, SignedTransfer) {
    let nonce = nonce_of(stage, interaction);
    let key = WalletKey::from_hex(&stage.wallet_key("ada")).unwrap();
    let transfer = Transfer {
        payee: EvmAddress::from_bytes(stage.payee(interaction).into()),
        amount: MicroUsdc::from_micro_usdc(TOTAL_MICRO_USDC).unwrap(),
    };
    let chain_id = ChainId::new(LOCAL_CHAIN_ID);
    let token = EvmAddress::from_bytes(BASE_USDC.into());
    let rpc_url = stage.anvil.rpc_url();
    let client = PayClient::connect(&rpc_url, chain_id, token);
    let client = client.await.unwrap();
    let domain = client.token_domain().await.unwrap();
    let now = SystemClock.now();
    let signed = client.sign_authorized(&key, transfer, &domain, nonce, now);
    let signed = signed.await.unwrap();
    (client, signed)
}

/// Pays as `x811 pay` does and forgets it.
pub(crate) async fn pay(stage: &Stage, interaction: &str) -> Undeclared {
    let (client, signed) = sign(stage, interaction).await;
    client.send(&signed).await.unwrap();
    let tx_hash = B256::from(*signed.tx_hash.as_bytes());
    assert!(stage.anvil.receipt(tx_hash).await.status());
    Undeclared {
        tx_hash,
        payer: Address::from(*signed.payer.as_bytes()),
    }
}

/// The first text member of that name, however deep it lies.
fn find<'a>(json: &'a Value, name: &str) -> Option<&'a str> {
    let members = json.as_object()?;
    let here = members.get(name).and_then(Value::as_str);
    here.or_else(|| members.values().find_map(|member| find(member, name)))
}
