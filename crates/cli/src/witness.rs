//! An endpoint that the user chose to be believed, for an audit or a receipt.

use x811_watcher::{RpcLimits, RpcSource, SourceError, Witness};

use crate::exit::Exit;
use crate::failure::Failure;

/// Asks the endpoint at `url` which chain it serves.
pub(crate) async fn call(url: &str) -> Result<Witness<RpcSource>, Failure> {
    let source = RpcSource::new(url, RpcLimits::default())
        .map_err(|error| Failure::usage(&error.to_string()))?;
    Witness::call(source).await.map_err(silent)
}

/// An endpoint that gives no answer.
pub(crate) fn silent(error: SourceError) -> Failure {
    Failure::new(Exit::Unreachable, "rpc", error.to_string())
        .hint("try again, name another endpoint, or leave --rpc and X811_RPC_URL out: transfers are asserted then")
}
