//! The demo's own Base: an Anvil with test USDC on it.

use super::DemoError;
use crate::anvil::node::{self, Mining, Node};
use crate::anvil::rpc::Anvil;
use crate::anvil::token::Token;
use std::path::Path;
use x811_protocol::evm::EvmAddress;
use x811_protocol::money::MicroUsdc;

/// The chain id of the `local` network.
pub(super) const CHAIN_ID: u64 = 31_337;

/// Where the test token is put: any address will do, this one is easy to recognise.
const TOKEN: &str = "0x8110000000000000000000000000000000000811";

/// A running Anvil and the token on it.
pub(super) struct Chain {
    node: Node,
    token: Token,
}

impl Chain {
    /// Starts Anvil on a free port with a block a second, and puts the token in place.
    pub(super) async fn start(anvil: &Path) -> Result<Chain, DemoError> {
        let chain = node::Chain {
            chain_id: CHAIN_ID,
            port: 0,
            mining: Mining::EverySeconds(1),
        };
        let node = Node::start(anvil, chain).await?;
        let address =
            EvmAddress::parse_lower(TOKEN).map_err(|_| DemoError::Setup("the token's address"))?;
        let token = Token::new(Anvil::connect(node.rpc_url()).await?, address);
        token.place().await?;
        Ok(Chain { node, token })
    }

    pub(super) fn rpc_url(&self) -> &str {
        self.node.rpc_url()
    }

    pub(super) fn token(&self) -> EvmAddress {
        self.token.address()
    }

    /// Gives an account one ETH for gas and some test USDC.
    pub(super) async fn fund(
        &self,
        account: EvmAddress,
        amount: MicroUsdc,
    ) -> Result<(), DemoError> {
        Ok(self.token.fund(account, amount).await?)
    }

    /// Ends Anvil and waits until it is gone.
    pub(super) async fn stop(self) {
        self.node.stop().await;
    }
}
