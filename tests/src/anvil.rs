//! A local Base for one test: the pinned Anvil on a port of its own, stopped when dropped.
//!
//! Everything here panics on failure: without its chain a test has nothing to say.

#![expect(
    clippy::expect_used,
    reason = "a harness stops the test at once, and the message names what was missing"
)]

use std::path::{Path, PathBuf};
use std::time::Duration;

use alloy::consensus::Transaction as _;
use alloy::eips::BlockId;
use alloy::network::{EthereumWallet, TransactionBuilder};
use alloy::node_bindings::{Anvil as Node, AnvilInstance};
use alloy::primitives::{Address, B256, Bytes, TxHash, U256, address, hex};
use alloy::providers::ext::AnvilApi;
use alloy::providers::{DynProvider, Provider, ProviderBuilder};
use alloy::rpc::types::{TransactionReceipt, TransactionRequest};
use alloy::signers::local::PrivateKeySigner;
use alloy::sol_types::SolCall;

/// The chain id of Base.
pub const BASE_CHAIN_ID: u64 = 8453;
/// The chain id Anvil has by default, and the ledger's `local` network.
pub const LOCAL_CHAIN_ID: u64 = 31_337;
/// Where the real USDC stands on Base.
pub const BASE_USDC: Address = address!("833589fCD6eDb6E08f4c7C32D4f71b54bdA02913");

/// The private keys of Anvil's first ten development accounts, each with 10,000 ETH. They are
/// public knowledge (mnemonic `test test … junk`) and worth nothing on any real chain.
pub const DEV_KEYS: [&str; 10] = [
    "0xac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80",
    "0x59c6995e998f97a5a0044966f0945389dc9e86dae88c7a8412f4603b6b78690d",
    "0x5de4111afa1a4b94908f83103eb1f1706367c2e68ca870fc3fb9a804cdab365a",
    "0x7c852118294e51e653712a81e05800f419141751be58f605c371e15141b007a6",
    "0x47e179ec197488593b187f80a00eb0da91f1b9d0b13f8733639f19c30a34926a",
    "0x8b3a350cf5c34c9194ca85829a2df0ec3153be0318b5e2d3348e872092edffba",
    "0x92db14e403b83dfe3df233f83dfa3a0d7096f21ca9b0d6d6b8d88b2b4ec1564e",
    "0x4bbbf85ce3377467afe5d46f804f221813b2bb87f24d81f60f1fcdbf7cbf4356",
    "0xdbda1821b80551c9d65939329250298aa3472ba22feea921c0cf5d620ea67b97",
    "0x2a871d0798f97d79848a013d4936a73bf4cc922c825d33c1cf7073dff6d409c6",
];

/// Enough for any call of the token, so that a transaction that must revert is mined as reverted
/// instead of being refused when its gas is estimated.
const TOKEN_CALL_GAS: u64 = 200_000;
const RECEIPT_POLL: Duration = Duration::from_millis(10);
const RECEIPT_TIMEOUT: Duration = Duration::from_secs(20);

/// The binding of `contracts/src/TestUsdc.sol`.
pub mod usdc {
    alloy::sol! {
        event Transfer(address indexed from, address indexed to, uint256 value);
        event AuthorizationUsed(address indexed authorizer, bytes32 indexed nonce);
        event AuthorizationCanceled(address indexed authorizer, bytes32 indexed nonce);

        function decimals() external view returns (uint8);
        function balanceOf(address account) external view returns (uint256);
        function mint(address to, uint256 amount) external returns (bool);
        function transfer(address to, uint256 value) external returns (bool);
        function approve(address spender, uint256 value) external returns (bool);
        function transferFrom(address from, address to, uint256 value) external returns (bool);

        function pause() external;
        function unpause() external;
        function blacklist(address account) external;
        function unBlacklist(address account) external;

        function DOMAIN_SEPARATOR() external view returns (bytes32);
        function authorizationState(address authorizer, bytes32 nonce) external view returns (bool);
        function transferWithAuthorization(
            address from, address to, uint256 value, uint256 validAfter, uint256 validBefore,
            bytes32 nonce, uint8 v, bytes32 r, bytes32 s
        ) external;
        function transferWithAuthorization(
            address from, address to, uint256 value, uint256 validAfter, uint256 validBefore,
            bytes32 nonce, bytes memory signature
        ) external;
        function receiveWithAuthorization(
            address from, address to, uint256 value, uint256 validAfter, uint256 validBefore,
            bytes32 nonce, bytes memory signature
        ) external;
        function cancelAuthorization(
            address authorizer, bytes32 nonce, uint8 v, bytes32 r, bytes32 s
        ) external;
    }
}

/// A running Anvil. The process ends when this is dropped.
#[derive(Debug)]
pub struct Anvil {
    /// Ends the process when dropped; `None` for one that somebody else started.
    _node: Option<AnvilInstance>,
    rpc_url: String,
    provider: DynProvider,
}

impl Anvil {
    /// Starts the pinned Anvil on a free port of 127.0.0.1. Without a block time every transaction
    /// is mined at once; with one, blocks come by the clock and [`Anvil::mine`] adds more.
    #[must_use]
    pub fn start(chain_id: u64, block_time_s: Option<u64>) -> Self {
        let mut node = Node::at(binary()).host("127.0.0.1").chain_id(chain_id);
        if let Some(block_time_s) = block_time_s {
            node = node.block_time(block_time_s);
        }
        let node = node.try_spawn().expect("the pinned anvil starts");
        let endpoint = node.endpoint();
        Self {
            _node: Some(node),
            ..Self::attach(&endpoint)
        }
    }

    /// One that somebody else started and will end.
    #[must_use]
    pub fn attach(rpc_url: &str) -> Self {
        // reqwest is built without a provider of its own; whoever comes first installs one.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let url = rpc_url.parse().expect("the endpoint has an address");
        Self {
            _node: None,
            rpc_url: rpc_url.to_owned(),
            provider: ProviderBuilder::new().connect_http(url).erased(),
        }
    }

    /// Where the ledger finds this chain, e.g. `http://127.0.0.1:41235`.
    #[must_use]
    pub fn rpc_url(&self) -> String {
        self.rpc_url.clone()
    }

    /// For everything this harness has no word for: reorgs, pool control, raw calls.
    #[must_use]
    pub fn provider(&self) -> &DynProvider {
        &self.provider
    }

    /// The signer of development account `index` (0–9).
    #[must_use]
    pub fn dev_account(index: usize) -> PrivateKeySigner {
        DEV_KEYS[index]
            .parse()
            .expect("the development keys are valid")
    }

    /// Sets an account's ETH.
    pub async fn give_gas(&self, account: Address, wei: u128) {
        self.provider
            .anvil_set_balance(account, U256::from(wei))
            .await
            .expect("anvil sets balances");
    }

    /// Waits until a transaction to `to` is in the pool; gives its input. Without blocks it stays there.
    pub async fn waiting_input(&self, to: Address) -> Bytes {
        let until = tokio::time::Instant::now() + RECEIPT_TIMEOUT;
        loop {
            let pending = self.provider.get_block(BlockId::pending()).full().await;
            let pending = pending.expect("anvil answers").expect("a pending block");
            let found = pending.transactions.txns().find_map(|transaction| {
                let is_meant = transaction.to() == Some(to);
                is_meant.then(|| transaction.input().clone())
            });
            if let Some(input) = found {
                return input;
            }
            assert!(
                tokio::time::Instant::now() < until,
                "no transaction to {to} came into the pool"
            );
            tokio::time::sleep(RECEIPT_POLL).await;
        }
    }

    /// Waits until there is a block more than now.
    pub async fn next_block(&self) {
        let number = self
            .provider
            .get_block_number()
            .await
            .expect("anvil answers");
        while self
            .provider
            .get_block_number()
            .await
            .expect("anvil answers")
            == number
        {
            tokio::time::sleep(RECEIPT_POLL).await;
        }
    }

    /// From now on a block comes every second, and not with each transaction.
    pub async fn blocks_every_second(&self) {
        self.provider
            .anvil_set_interval_mining(1)
            .await
            .expect("anvil mines by the clock");
    }

    /// Mines `blocks` blocks now.
    pub async fn mine(&self, blocks: u64) {
        self.provider
            .anvil_mine(Some(blocks), None)
            .await
            .expect("anvil mines");
    }

    /// Replaces the last `depth` blocks by as many empty ones.
    pub async fn reorg(&self, depth: u64) {
        let nothing_again: [(Bytes, u64); 0] = [];
        let params = (depth, nothing_again.as_slice());
        self.provider
            .raw_request::<_, ()>("anvil_reorg".into(), params)
            .await
            .expect("anvil reorganises");
    }

    /// Replaces the block of a transaction, the two before it and all behind it by empty ones.
    pub async fn reorg_from(&self, transaction: TxHash) {
        let receipt = self.provider.get_transaction_receipt(transaction).await;
        let receipt = receipt.expect("anvil answers");
        let block = receipt.and_then(|it| it.block_number);
        let block = block.expect("the transaction is in a block");
        let head = self.provider.get_block_number().await;
        // A block may come meanwhile.
        let depth = head.expect("anvil answers") - block + 3;
        self.reorg(depth).await;
    }

    /// Places the checked-in runtime code of `TestUsdc` at `token`.
    pub async fn deploy_usdc(&self, token: Address) {
        let runtime = include_str!("../../contracts/artifacts/TestUsdc.runtime.bin");
        self.place(token, runtime).await;
    }

    /// Places the checked-in runtime code of `TestWallet` at `wallet`, with `owner`.
    pub async fn deploy_wallet(&self, wallet: Address, owner: Address) {
        let runtime = include_str!("../../contracts/artifacts/TestWallet.runtime.bin");
        self.place(wallet, runtime).await;
        let owner = B256::left_padding_from(owner.as_slice());
        self.provider
            .anvil_set_storage_at(wallet, U256::ZERO, owner)
            .await
            .expect("anvil sets storage");
    }

    /// Places runtime code, in hex, at `address`.
    pub async fn place(&self, address: Address, runtime: &str) {
        let code = hex::decode(runtime.trim()).expect("the code is hex");
        self.provider
            .anvil_set_code(address, Bytes::from(code))
            .await
            .expect("anvil sets code");
    }

    /// Gives `to` new micro-USDC and waits until they are there.
    pub async fn mint(&self, token: Address, to: Address, amount_micro_usdc: u64) {
        let call = usdc::mintCall {
            to,
            amount: U256::from(amount_micro_usdc),
        };
        let tx_hash = self.send(DEV_KEYS[9], token, &call).await;
        assert!(
            self.receipt(tx_hash).await.status(),
            "the mint of {amount_micro_usdc} reverted"
        );
    }

    /// Sends a transfer signed by `from_key` and answers with its hash without waiting for a block.
    /// An overdraft is sent all the same and mined as reverted.
    pub async fn transfer(
        &self,
        from_key: &str,
        token: Address,
        to: Address,
        amount_micro_usdc: u64,
    ) -> TxHash {
        let call = usdc::transferCall {
            to,
            value: U256::from(amount_micro_usdc),
        };
        self.send(from_key, token, &call).await
    }

    /// The micro-USDC that `account` holds.
    pub async fn balance(&self, token: Address, account: Address) -> u64 {
        let held = self.read(token, &usdc::balanceOfCall { account }).await;
        u64::try_from(held).expect("a test balance fits 64 bits")
    }

    /// The answer of a read-only call of `token` at the latest block.
    pub async fn read<C: SolCall>(&self, token: Address, call: &C) -> C::Return {
        let request = TransactionRequest::default()
            .with_to(token)
            .with_input(call.abi_encode());
        let answer = self
            .provider
            .call(request)
            .await
            .expect("the contract answers");
        C::abi_decode_returns(&answer).expect("the answer has the declared shape")
    }

    /// The words with which `token` would refuse a call by `caller` at the latest block, or
    /// nothing where it would take it.
    pub async fn refusal<C: SolCall>(
        &self,
        caller: Address,
        token: Address,
        call: &C,
    ) -> Option<String> {
        let request = TransactionRequest::default()
            .with_from(caller)
            .with_to(token)
            .with_input(call.abi_encode());
        let error = self.provider.call(request).await.err()?;
        let answer = error.as_error_resp().expect("the refusal is the token's");
        Some(answer.message.to_string())
    }

    /// Waits for the receipt: Anvil answers a send before the receipt exists, even when it mines
    /// at once.
    pub async fn receipt(&self, tx_hash: TxHash) -> TransactionReceipt {
        let mined = async {
            loop {
                let found = self.provider.get_transaction_receipt(tx_hash).await;
                if let Some(receipt) = found.expect("anvil answers") {
                    return receipt;
                }
                tokio::time::sleep(RECEIPT_POLL).await;
            }
        };
        tokio::time::timeout(RECEIPT_TIMEOUT, mined)
            .await
            .expect("the transaction is mined")
    }

    /// Sends any call of `token`, signed by `from_key`, and answers with its hash without waiting
    /// for a block. A call that must revert is sent all the same and mined as reverted.
    pub async fn send<C: SolCall>(&self, from_key: &str, token: Address, call: &C) -> TxHash {
        let signer: PrivateKeySigner = from_key.parse().expect("the key is 32 bytes of hex");
        let request = TransactionRequest::default()
            .with_to(token)
            .with_input(call.abi_encode())
            .with_gas_limit(TOKEN_CALL_GAS);
        let sent = ProviderBuilder::new()
            .wallet(EthereumWallet::from(signer))
            .connect_http(self.rpc_url.parse().expect("the endpoint has an address"))
            .send_transaction(request)
            .await;
        *sent.expect("anvil takes the transaction").tx_hash()
    }
}

/// The checkout this test was built from.
#[must_use]
pub fn checkout() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .expect("the tests package lies in the checkout")
}

/// The real binary inside npm's platform package; the wrapper beside it would add a Node process.
#[must_use]
pub fn binary() -> PathBuf {
    let os = match std::env::consts::OS {
        "macos" => "darwin",
        "windows" => "win32",
        other => other,
    };
    let arch = match std::env::consts::ARCH {
        "x86_64" => "amd64",
        "aarch64" => "arm64",
        other => other,
    };
    let name = format!("anvil{}", std::env::consts::EXE_SUFFIX);
    let package = format!("node_modules/@foundry-rs/anvil-{os}-{arch}");
    let path = checkout().join(package).join("bin").join(name);
    assert!(
        path.is_file(),
        "the pinned anvil is not at {}: run scripts/test.sh once, it installs what tests need",
        path.display()
    );
    path
}
