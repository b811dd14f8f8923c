//! Test USDC on an Anvil (`contracts/src/TestUsdc.sol`), and what its roles can do to it.

use std::time::Duration;

use serde_json::{Value, json};
use x811_protocol::evm::EvmAddress;
use x811_protocol::money::MicroUsdc;

use super::AnvilError;
use super::rpc::{Anvil, text};

/// Where the real USDC stands on Base.
pub const BASE_USDC: &str = "0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913";

/// Runtime code of `contracts/src/TestUsdc.sol`.
const CODE: &str = include_str!("../../../../contracts/artifacts/TestUsdc.runtime.bin");

/// First four bytes of the Keccak-256 of the signatures.
const MINT: &str = "40c10f19";
const PAUSE: &str = "8456cb59";
const UNPAUSE: &str = "3f4ba83a";
const BLACKLIST: &str = "f9f92be4";
const UN_BLACKLIST: &str = "1a895266";
const PAUSER: &str = "9fd0506d";
const BLACKLISTER: &str = "bd102430";

/// One ETH, and more gas than anybody needs.
const ONE_ETH_WEI: u128 = 1_000_000_000_000_000_000;

/// How often a receipt is asked for, 20 ms apart: Anvil answers a send before the receipt exists.
const RECEIPT_TRIES: u32 = 250;
const RECEIPT_POLL: Duration = Duration::from_millis(20);

/// The token on an Anvil. Its calls fail as [`AnvilError`] says.
#[derive(Debug)]
pub struct Token {
    anvil: Anvil,
    address: EvmAddress,
}

impl Token {
    /// The token at an address; nothing is called yet.
    #[must_use]
    pub fn new(anvil: Anvil, address: EvmAddress) -> Token {
        Token { anvil, address }
    }

    /// Its contract.
    #[must_use]
    pub fn address(&self) -> EvmAddress {
        self.address
    }

    /// Puts the test token's code at the address.
    pub async fn place(&self) -> Result<(), AnvilError> {
        let code = format!("0x{}", CODE.trim());
        let params = json!([self.address, code]);
        self.anvil.call("anvil_setCode", params).await.map(|_| ())
    }

    /// Gives an account new USDC, and one ETH where it has less.
    pub async fn fund(&self, account: EvmAddress, amount: MicroUsdc) -> Result<(), AnvilError> {
        self.give_gas(&json!(account)).await?;
        let accounts = self.accounts().await?;
        let minter = accounts.first().cloned().unwrap_or(json!(account));
        let amount = format!("{:064x}", amount.as_micro_usdc());
        let data = format!("0x{MINT}{}{amount}", word(account));
        self.send(&minter, &data, "mint").await
    }

    /// Stops all transfers.
    pub async fn pause(&self) -> Result<(), AnvilError> {
        self.act_as(PAUSER, &format!("0x{PAUSE}"), "pause").await
    }

    /// Lets transfers happen again.
    pub async fn unpause(&self) -> Result<(), AnvilError> {
        self.act_as(PAUSER, &format!("0x{UNPAUSE}"), "unpause")
            .await
    }

    /// Refuses an account.
    pub async fn blacklist(&self, account: EvmAddress) -> Result<(), AnvilError> {
        let data = format!("0x{BLACKLIST}{}", word(account));
        self.act_as(BLACKLISTER, &data, "blacklist the account")
            .await
    }

    /// Takes an account again.
    pub async fn un_blacklist(&self, account: EvmAddress) -> Result<(), AnvilError> {
        let data = format!("0x{UN_BLACKLIST}{}", word(account));
        self.act_as(BLACKLISTER, &data, "take the account again")
            .await
    }

    /// Calls the token as whoever has the role. Where Anvil has no key of theirs, as on a fork of
    /// Base, it sends without a signature; such a transaction cannot be mined again in a reorg.
    async fn act_as(&self, role: &str, data: &str, what: &'static str) -> Result<(), AnvilError> {
        let asked = json!([{"to": self.address, "data": format!("0x{role}")}, "latest"]);
        let holder = self.anvil.call("eth_call", asked).await?;
        let holder = holder.as_str().and_then(|word| word.get(26..66));
        let holder = holder.ok_or(AnvilError::TokenRefused { what })?;
        let holder = json!(format!("0x{holder}"));
        if self.accounts().await?.contains(&holder) {
            return self.send(&holder, data, what).await;
        }
        self.give_gas(&holder).await?;
        let params = json!([holder]);
        self.anvil
            .call("anvil_impersonateAccount", params.clone())
            .await?;
        let done = self.send(&holder, data, what).await;
        self.anvil
            .call("anvil_stopImpersonatingAccount", params)
            .await?;
        done
    }

    /// Sends and mines at once, in a block of its own where the chain stands still.
    async fn send(&self, from: &Value, data: &str, what: &'static str) -> Result<(), AnvilError> {
        let transaction = json!({"from": from, "to": self.address, "data": data, "gas": "0x30d40"});
        let tx_hash = self
            .anvil
            .call("eth_sendTransaction", json!([transaction]))
            .await?;
        self.anvil.mine(1).await?;
        for _ in 0..RECEIPT_TRIES {
            let params = json!([tx_hash]);
            let receipt = self.anvil.call("eth_getTransactionReceipt", params).await?;
            if !receipt.is_null() {
                return match text(&receipt, "status").as_str() {
                    "0x1" => Ok(()),
                    _ => Err(AnvilError::TokenRefused { what }),
                };
            }
            tokio::time::sleep(RECEIPT_POLL).await;
        }
        Err(AnvilError::TokenRefused { what })
    }

    /// The accounts whose keys Anvil has.
    async fn accounts(&self) -> Result<Vec<Value>, AnvilError> {
        let accounts = self.anvil.call("eth_accounts", json!([])).await?;
        Ok(accounts.as_array().cloned().unwrap_or_default())
    }

    async fn give_gas(&self, account: &Value) -> Result<(), AnvilError> {
        let params = json!([account, "latest"]);
        let has = self.anvil.call("eth_getBalance", params).await?;
        let digits = has.as_str().unwrap_or_default().trim_start_matches("0x");
        // More than 128 bits of wei is more than enough.
        let has_wei = u128::from_str_radix(digits, 16).unwrap_or(u128::MAX);
        if has_wei >= ONE_ETH_WEI {
            return Ok(());
        }
        let params = json!([account, format!("0x{ONE_ETH_WEI:x}")]);
        self.anvil
            .call("anvil_setBalance", params)
            .await
            .map(|_| ())
    }
}

/// An address as the 32 bytes of an ABI argument.
fn word(account: EvmAddress) -> String {
    let digits = account.to_string();
    format!("{:0>64}", digits.trim_start_matches("0x"))
}
