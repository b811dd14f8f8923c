//! That the loop is there, said again and again (agents.md section 3). Nothing rests on it: one that is
//! lost is followed by the next.

use std::sync::Arc;

use x811_protocol::did::Did;

use crate::clock::Clock;
use crate::http::LedgerClient;

/// How long each is good, in seconds.
const TTL_S: u64 = 300;

/// Time between two, in milliseconds: two may be lost in a row.
const EVERY_MS: u64 = 100_000;

/// Sends heartbeats until it is dropped. A ledger that takes none is a ledger to which nobody is ever
/// offline.
pub(crate) async fn beat(client: Arc<LedgerClient>, clock: Arc<dyn Clock>, me: Did) {
    loop {
        let _ = client.heartbeat(me, TTL_S).await;
        clock.pause(EVERY_MS).await;
    }
}
