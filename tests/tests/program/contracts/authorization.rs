//! EIP-3009 on the test token: what a payer signed is done once, by whoever sends it, within its
//! time, and as nothing else. The digests are alloy's, so the token's own hashing is checked too.

#![expect(clippy::unwrap_used, reason = "a test's own helpers may panic")]

use alloy::primitives::{Address, B256, U256, b256};
use alloy::signers::SignerSync;
use alloy::sol_types::{Eip712Domain, SolCall, SolStruct, eip712_domain};
use x811_tests::anvil::{Anvil, BASE_CHAIN_ID, BASE_USDC, DEV_KEYS, LOCAL_CHAIN_ID, usdc};

use super::{OPERATOR, PAYEE, PAYER, PURSE_MICRO_USDC, address, done, holds, token};

const RELAYER: usize = 2;
const PAID_MICRO_USDC: u64 = 29_725;
const NONCE: B256 = b256!("bf2a04f7b8b3cbd00a21abad0714c5bfddd13691cd71901f24245005ec8cfc3e");
const USED: &str = "FiatTokenV2: authorization is used or canceled";
const INVALID_SIGNATURE: &str = "FiatTokenV2: invalid signature";

/// What is signed.
mod eip3009 {
    alloy::sol! {
        struct TransferWithAuthorization {
            address from;
            address to;
            uint256 value;
            uint256 validAfter;
            uint256 validBefore;
            bytes32 nonce;
        }

        struct ReceiveWithAuthorization {
            address from;
            address to;
            uint256 value;
            uint256 validAfter;
            uint256 validBefore;
            bytes32 nonce;
        }

        struct CancelAuthorization {
            address authorizer;
            bytes32 nonce;
        }
    }
}

use eip3009::{CancelAuthorization, ReceiveWithAuthorization, TransferWithAuthorization};

fn domain(chain_id: u64, token: Address) -> Eip712Domain {
    eip712_domain! {
        name: "USD Coin",
        version: "2",
        chain_id: chain_id,
        verifying_contract: token,
    }
}

fn signature<T: SolStruct>(signer: usize, message: &T) -> alloy::primitives::Signature {
    let digest = message.eip712_signing_hash(&domain(BASE_CHAIN_ID, BASE_USDC));
    Anvil::dev_account(signer).sign_hash_sync(&digest).unwrap()
}

fn authorized() -> TransferWithAuthorization {
    TransferWithAuthorization {
        from: address(PAYER),
        to: address(PAYEE),
        value: U256::from(PAID_MICRO_USDC),
        validAfter: U256::ZERO,
        validBefore: U256::MAX,
        nonce: NONCE,
    }
}

/// The call that does what `signer` signed (`v`, `r`, `s` form).
fn call_of(
    signed: &TransferWithAuthorization,
    signer: usize,
) -> usdc::transferWithAuthorization_0Call {
    let signature = signature(signer, signed);
    usdc::transferWithAuthorization_0Call {
        from: signed.from,
        to: signed.to,
        value: signed.value,
        validAfter: signed.validAfter,
        validBefore: signed.validBefore,
        nonce: signed.nonce,
        v: 27 + u8::from(signature.v()),
        r: signature.r().into(),
        s: signature.s().into(),
    }
}

/// The payer's cancellation of a nonce.
pub(crate) fn cancelled(nonce: B256) -> usdc::cancelAuthorizationCall {
    cancel(PAYER, nonce)
}

fn cancel_of(signer: usize) -> usdc::cancelAuthorizationCall {
    cancel(signer, NONCE)
}

fn cancel(signer: usize, nonce: B256) -> usdc::cancelAuthorizationCall {
    let message = CancelAuthorization {
        authorizer: address(PAYER),
        nonce,
    };
    let signature = signature(signer, &message);
    usdc::cancelAuthorizationCall {
        authorizer: message.authorizer,
        nonce: message.nonce,
        v: 27 + u8::from(signature.v()),
        r: signature.r().into(),
        s: signature.s().into(),
    }
}

/// The call is mined, reverts without a log, and spends no nonce.
async fn refused<C: SolCall>(anvil: &Anvil, caller: usize, call: &C, words: &str) {
    let used = is_used(anvil).await;
    super::refused(anvil, caller, call, words).await;
    assert_eq!(is_used(anvil).await, used);
}

async fn is_used(anvil: &Anvil) -> bool {
    let call = usdc::authorizationStateCall {
        authorizer: address(PAYER),
        nonce: NONCE,
    };
    anvil.read(BASE_USDC, &call).await
}

#[tokio::test]
async fn the_domain_is_that_of_this_chain_and_this_address() {
    let other_address = address(3);
    let table = [
        (BASE_CHAIN_ID, BASE_USDC),
        (LOCAL_CHAIN_ID, BASE_USDC),
        (BASE_CHAIN_ID, other_address),
    ];
    for (chain_id, token) in table {
        let anvil = Anvil::start(chain_id, None);
        anvil.deploy_usdc(token).await;
        let separator = anvil.read(token, &usdc::DOMAIN_SEPARATORCall {}).await;
        assert_eq!(separator, domain(chain_id, token).separator());
    }
}

/// The separator that USDC on Base answers with: a signature made for the real token is one that
/// the test token takes, and the other way round.
#[test]
fn the_domain_of_usdc_on_base_is_the_real_one() {
    let expected = b256!("02fa7265e7c5d81118673727957699e4d68f74cd74b7db77da710fe8a2c7834f");
    assert_eq!(domain(BASE_CHAIN_ID, BASE_USDC).separator(), expected);
}

#[tokio::test]
async fn an_authorised_transfer_logs_its_nonce_right_before_the_transfer() {
    let anvil = token().await;
    let call = call_of(&authorized(), PAYER);

    let sent = anvil.send(DEV_KEYS[RELAYER], BASE_USDC, &call).await;
    let receipt = anvil.receipt(sent).await;

    assert!(receipt.status());
    assert_eq!(receipt.from, address(RELAYER), "anybody may send it");
    assert_eq!(receipt.logs().len(), 2);
    let used = receipt.logs()[0]
        .log_decode_validate::<usdc::AuthorizationUsed>()
        .unwrap();
    assert_eq!(
        (used.inner.authorizer, used.inner.nonce),
        (address(PAYER), NONCE)
    );
    let moved = receipt.logs()[1]
        .log_decode_validate::<usdc::Transfer>()
        .unwrap();
    assert_eq!(
        (moved.inner.from, moved.inner.to, moved.inner.value),
        (address(PAYER), address(PAYEE), U256::from(PAID_MICRO_USDC))
    );
    assert!(is_used(&anvil).await);
    holds(&anvil, PAYEE, PAID_MICRO_USDC).await;
}

#[tokio::test]
async fn the_bytes_form_of_fiat_token_2_2_is_taken_too() {
    let anvil = token().await;
    let message = authorized();
    let call = usdc::transferWithAuthorization_1Call {
        from: message.from,
        to: message.to,
        value: message.value,
        validAfter: message.validAfter,
        validBefore: message.validBefore,
        nonce: message.nonce,
        signature: signature(PAYER, &message).as_bytes().into(),
    };
    let mut cut = call.clone();
    cut.signature = call.signature.slice(..64);
    refused(&anvil, RELAYER, &cut, "ECRecover: invalid signature length").await;
    done(&anvil, RELAYER, &call).await;
    assert!(is_used(&anvil).await);
}

#[tokio::test]
async fn a_nonce_is_good_once_whatever_else_it_is_used_for() {
    let anvil = token().await;
    done(&anvil, RELAYER, &call_of(&authorized(), PAYER)).await;

    refused(&anvil, RELAYER, &call_of(&authorized(), PAYER), USED).await;
    let mut more = authorized();
    more.value = U256::from(1);
    more.to = address(3);
    refused(&anvil, RELAYER, &call_of(&more, PAYER), USED).await;
    refused(&anvil, RELAYER, &cancel_of(PAYER), USED).await;
    holds(&anvil, PAYEE, PAID_MICRO_USDC).await;
}

#[tokio::test]
async fn an_authorization_holds_between_its_two_times_only() {
    let anvil = token().await;
    let mut early = authorized();
    early.validAfter = U256::MAX - U256::from(1);
    let words = "FiatTokenV2: authorization is not yet valid";
    refused(&anvil, RELAYER, &call_of(&early, PAYER), words).await;
    let mut expired = authorized();
    expired.validBefore = U256::from(1);
    let words = "FiatTokenV2: authorization is expired";
    refused(&anvil, RELAYER, &call_of(&expired, PAYER), words).await;
    assert!(!is_used(&anvil).await);
}

/// One member changed after signing, another signer, or a signature for another purpose.
#[tokio::test]
async fn only_what_the_payer_signed_is_done() {
    let anvil = token().await;
    let good = call_of(&authorized(), PAYER);
    let mut more = good.clone();
    more.value += U256::from(1);
    let mut elsewhere = good.clone();
    elsewhere.to = address(RELAYER);
    let mut other_nonce = good.clone();
    other_nonce.nonce = B256::repeat_byte(7);
    let mut longer = good.clone();
    longer.validBefore -= U256::from(1);
    let by_another = call_of(&authorized(), RELAYER);
    for call in [more, elsewhere, other_nonce, longer, by_another] {
        refused(&anvil, RELAYER, &call, INVALID_SIGNATURE).await;
    }
    refused(&anvil, RELAYER, &cancel_of(RELAYER), INVALID_SIGNATURE).await;

    let mut high_s = good.clone();
    let order = U256::from_be_bytes(
        b256!("fffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141").0,
    );
    high_s.s = (order - U256::from_be_bytes(good.s.0)).into();
    high_s.v = 27 + 28 - good.v;
    refused(&anvil, RELAYER, &high_s, "invalid signature 's' value").await;
    let mut odd = good.clone();
    odd.v -= 27;
    refused(&anvil, RELAYER, &odd, "invalid signature 'v' value").await;

    done(&anvil, RELAYER, &good).await;
}

#[tokio::test]
async fn only_the_payee_sends_what_is_to_be_received() {
    let anvil = token().await;
    let message = ReceiveWithAuthorization {
        from: address(PAYER),
        to: address(PAYEE),
        value: U256::from(PAID_MICRO_USDC),
        validAfter: U256::ZERO,
        validBefore: U256::MAX,
        nonce: NONCE,
    };
    let call = usdc::receiveWithAuthorizationCall {
        from: message.from,
        to: message.to,
        value: message.value,
        validAfter: message.validAfter,
        validBefore: message.validBefore,
        nonce: message.nonce,
        signature: signature(PAYER, &message).as_bytes().into(),
    };
    let mut as_transfer = call_of(&authorized(), PAYER);
    let signed = signature(PAYER, &message);
    (as_transfer.r, as_transfer.s) = (signed.r().into(), signed.s().into());
    as_transfer.v = 27 + u8::from(signed.v());
    refused(&anvil, RELAYER, &as_transfer, INVALID_SIGNATURE).await;
    refused(&anvil, RELAYER, &call, "caller must be the payee").await;
    done(&anvil, PAYEE, &call).await;
    assert!(is_used(&anvil).await);
}

#[tokio::test]
async fn a_cancelled_authorization_is_never_good_again() {
    let anvil = token().await;
    let sent = anvil
        .send(DEV_KEYS[RELAYER], BASE_USDC, &cancel_of(PAYER))
        .await;
    let receipt = anvil.receipt(sent).await;
    let cancelled = receipt.logs()[0]
        .log_decode_validate::<usdc::AuthorizationCanceled>()
        .unwrap();
    assert_eq!(cancelled.inner.nonce, NONCE);
    assert_eq!(receipt.logs().len(), 1);
    refused(&anvil, RELAYER, &call_of(&authorized(), PAYER), USED).await;
    refused(&anvil, RELAYER, &cancel_of(PAYER), USED).await;
}

/// A refused transfer leaves the nonce unspent: the same authorization is good once the reason is
/// gone.
#[tokio::test]
async fn pause_blacklist_and_an_empty_purse_stop_an_authorised_transfer_and_keep_its_nonce() {
    let anvil = token().await;
    let call = call_of(&authorized(), PAYER);
    done(&anvil, OPERATOR, &usdc::pauseCall {}).await;
    refused(&anvil, RELAYER, &call, "Pausable: paused").await;
    refused(&anvil, RELAYER, &cancel_of(PAYER), "Pausable: paused").await;
    done(&anvil, OPERATOR, &usdc::unpauseCall {}).await;
    for account in [address(PAYER), address(PAYEE)] {
        done(&anvil, OPERATOR, &usdc::blacklistCall { account }).await;
        refused(&anvil, RELAYER, &call, "account is blacklisted").await;
        done(&anvil, OPERATOR, &usdc::unBlacklistCall { account }).await;
    }
    let mut too_much = authorized();
    too_much.value = U256::from(PURSE_MICRO_USDC + 1);
    let words = "ERC20: transfer amount exceeds balance";
    refused(&anvil, RELAYER, &call_of(&too_much, PAYER), words).await;
    assert!(!is_used(&anvil).await);
    done(&anvil, RELAYER, &call).await;
}
