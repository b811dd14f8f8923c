//! Pause, blacklist and allowances: what stops a transfer leaves no log behind, and who may not
//! stop one cannot.

use alloy::primitives::U256;
use x811_tests::anvil::{BASE_USDC, DEV_KEYS, usdc};

use super::{OPERATOR, PAYEE, PAYER, PURSE_MICRO_USDC, address, done, holds, refused, token};

const STRANGER: usize = 2;
const PAID_MICRO_USDC: u64 = 29_725;

fn transfer(value_micro_usdc: u64) -> usdc::transferCall {
    usdc::transferCall {
        to: address(PAYEE),
        value: U256::from(value_micro_usdc),
    }
}

fn transfer_from(value_micro_usdc: u64) -> usdc::transferFromCall {
    usdc::transferFromCall {
        from: address(PAYER),
        to: address(PAYEE),
        value: U256::from(value_micro_usdc),
    }
}

#[tokio::test]
async fn a_paused_token_moves_nothing_and_logs_nothing() {
    let anvil = token().await;
    done(&anvil, OPERATOR, &usdc::pauseCall {}).await;
    let words = "Pausable: paused";
    refused(&anvil, PAYER, &transfer(PAID_MICRO_USDC), words).await;
    refused(&anvil, PAYER, &transfer(0), words).await;
    refused(&anvil, STRANGER, &transfer_from(0), words).await;
    holds(&anvil, PAYER, PURSE_MICRO_USDC).await;

    done(&anvil, OPERATOR, &usdc::unpauseCall {}).await;
    done(&anvil, PAYER, &transfer(PAID_MICRO_USDC)).await;
    holds(&anvil, PAYEE, PAID_MICRO_USDC).await;
}

#[tokio::test]
async fn a_blacklisted_account_neither_pays_nor_is_paid() {
    let anvil = token().await;
    let words = "Blacklistable: account is blacklisted";
    for account in [PAYER, PAYEE] {
        let account = address(account);
        done(&anvil, OPERATOR, &usdc::blacklistCall { account }).await;
        refused(&anvil, PAYER, &transfer(PAID_MICRO_USDC), words).await;
        done(&anvil, OPERATOR, &usdc::unBlacklistCall { account }).await;
    }
    done(&anvil, PAYER, &transfer(PAID_MICRO_USDC)).await;
}

#[tokio::test]
async fn only_the_holder_of_a_role_uses_it() {
    let anvil = token().await;
    let account = address(PAYEE);
    refused(&anvil, STRANGER, &usdc::pauseCall {}, "not the pauser").await;
    refused(&anvil, STRANGER, &usdc::unpauseCall {}, "not the pauser").await;
    let words = "not the blacklister";
    let blacklist = usdc::blacklistCall { account };
    refused(&anvil, STRANGER, &blacklist, words).await;
    let un_blacklist = usdc::unBlacklistCall { account };
    refused(&anvil, STRANGER, &un_blacklist, words).await;
}

#[tokio::test]
async fn an_allowance_is_spent_and_not_exceeded() {
    let anvil = token().await;
    let approve = usdc::approveCall {
        spender: address(STRANGER),
        value: U256::from(PAID_MICRO_USDC),
    };
    done(&anvil, PAYER, &approve).await;
    done(&anvil, STRANGER, &transfer_from(PAID_MICRO_USDC)).await;
    let words = "ERC20: transfer amount exceeds allowance";
    refused(&anvil, STRANGER, &transfer_from(1), words).await;
    holds(&anvil, PAYEE, PAID_MICRO_USDC).await;
}

/// Anybody can make USDC log a transfer of nothing from anyone: the watcher must not count it.
#[tokio::test]
async fn a_stranger_logs_a_zero_transfer_from_anyone() {
    let anvil = token().await;
    let sent = anvil
        .send(DEV_KEYS[STRANGER], BASE_USDC, &transfer_from(0))
        .await;
    let receipt = anvil.receipt(sent).await;
    assert!(receipt.status());
    let log = receipt.logs()[0]
        .log_decode_validate::<usdc::Transfer>()
        .unwrap();
    assert_eq!(log.inner.from, address(PAYER));
    assert_eq!(log.inner.value, U256::ZERO);
}
