//! The demo's own Base: an Anvil process with test USDC on it, ended when dropped.

use super::DemoError;
use serde_json::{Value, json};
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;
use tokio::io::{AsyncBufReadExt, BufReader, Lines};
use tokio::process::{Child, ChildStdout, Command};
use x811_protocol::evm::EvmAddress;
use x811_protocol::money::MicroUsdc;

/// The chain id of the `local` network.
pub(super) const CHAIN_ID: u64 = 31_337;

/// Where the test token is put: any address will do, this one is easy to recognise.
const TOKEN: &str = "0x8110000000000000000000000000000000000811";

/// Runtime code of `contracts/src/TestUsdc.sol`.
const TOKEN_CODE: &str = include_str!("../../../../contracts/artifacts/TestUsdc.runtime.bin");

/// First four bytes of keccak-256 of `mint(address,uint256)`.
const MINT_SELECTOR: &str = "40c10f19";

/// How long Anvil may take to start, and to answer.
const PATIENCE: Duration = Duration::from_secs(20);

/// A running Anvil.
pub(super) struct Chain {
    process: Child,
    rpc_url: String,
    http: reqwest::Client,
    token: EvmAddress,
}

impl Chain {
    /// Starts Anvil on a free port with a block a second, and puts the token in place.
    pub(super) async fn start(anvil: &Path) -> Result<Chain, DemoError> {
        let mut process = Command::new(anvil)
            .args(["--host", "127.0.0.1", "--port", "0", "--block-time", "1"])
            .args(["--chain-id", &CHAIN_ID.to_string()])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .kill_on_drop(true)
            .spawn()
            .map_err(|source| DemoError::Anvil {
                path: anvil.to_owned(),
                source,
            })?;
        let lines = process
            .stdout
            .take()
            .map(|stdout| BufReader::new(stdout).lines());
        let mut lines = lines.ok_or(DemoError::AnvilSilent)?;
        let listening = tokio::time::timeout(PATIENCE, listening_on(&mut lines)).await;
        let address = listening.ok().flatten().ok_or(DemoError::AnvilSilent)?;
        // Anvil stops when nobody reads what it prints.
        tokio::spawn(async move { while let Ok(Some(_)) = lines.next_line().await {} });
        let http = reqwest::Client::builder()
            .timeout(PATIENCE)
            .build()
            .map_err(DemoError::Http)?;
        let chain = Chain {
            process,
            rpc_url: format!("http://{address}"),
            http,
            token: EvmAddress::parse_lower(TOKEN).map_err(|_| DemoError::AnvilSilent)?,
        };
        let code = format!("0x{}", TOKEN_CODE.trim().trim_start_matches("0x"));
        chain.call("anvil_setCode", json!([TOKEN, code])).await?;
        Ok(chain)
    }

    pub(super) fn rpc_url(&self) -> &str {
        &self.rpc_url
    }

    pub(super) fn token(&self) -> EvmAddress {
        self.token
    }

    /// Gives an account one ETH for gas and some test USDC.
    pub(super) async fn fund(
        &self,
        account: EvmAddress,
        amount: MicroUsdc,
    ) -> Result<(), DemoError> {
        self.call("anvil_setBalance", json!([account, "0xde0b6b3a7640000"]))
            .await?;
        let accounts = self.call("eth_accounts", json!([])).await?;
        let minter = accounts.get(0).cloned().ok_or(DemoError::AnvilSilent)?;
        let account = account.to_string();
        let data = format!(
            "0x{MINT_SELECTOR}{:0>64}{:064x}",
            account.trim_start_matches("0x"),
            amount.as_micro_usdc()
        );
        let transaction = json!({"from": minter, "to": TOKEN, "data": data});
        self.call("eth_sendTransaction", json!([transaction]))
            .await?;
        self.call("anvil_mine", json!([1])).await.map(|_| ())
    }

    /// Ends Anvil and waits until it is gone.
    pub(super) async fn stop(mut self) {
        // Already gone is as good.
        let _ = self.process.kill().await;
    }

    async fn call(&self, method: &'static str, params: Value) -> Result<Value, DemoError> {
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
        let response = self.http.post(&self.rpc_url).json(&body).send().await;
        let response: Value = response
            .map_err(DemoError::Http)?
            .json()
            .await
            .map_err(DemoError::Http)?;
        match response.get("result") {
            Some(result) => Ok(result.clone()),
            None => Err(DemoError::AnvilRefused {
                method,
                answer: response.to_string(),
            }),
        }
    }
}

/// Reads on until Anvil says where it listens.
async fn listening_on(lines: &mut Lines<BufReader<ChildStdout>>) -> Option<String> {
    while let Ok(Some(line)) = lines.next_line().await {
        if let Some(address) = line.trim().strip_prefix("Listening on ") {
            return Some(address.to_owned());
        }
    }
    None
}
