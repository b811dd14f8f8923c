//! Reads that name the loop they are of (agents.md sections 1 and 2).

use crate::app::App;
use crate::error::ApiError;
use crate::feed::HeldRead;
use crate::passing::between;
use crate::signed_read::Reader;
use serde::{Deserialize, Deserializer, de};
use std::sync::Arc;
use x811_ledger::clock::Clock;
use x811_protocol::did::Did;

/// The longest name of a loop, in characters.
const MAX_CHARS: usize = 64;

/// How often a process that stands by asks the one that writes for a newer loop, in milliseconds.
const ASK_EVERY_MS: u64 = 2_000;

/// The name of one loop of an agent, which it made up when it began.
#[derive(Debug, Clone)]
pub(in crate::routes) struct InstanceName(String);

impl<'de> Deserialize<'de> for InstanceName {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<InstanceName, D::Error> {
        let name = String::deserialize(deserializer)?;
        let is_plain = name
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte));
        if is_plain && (1..=MAX_CHARS).contains(&name.len()) {
            return Ok(InstanceName(name));
        }
        Err(de::Error::custom(format!(
            "`instance` has 1 to {MAX_CHARS} letters, digits and `-._~`"
        )))
    }
}

/// Holds the feed of `recipient` for the loop that the read names, if it names one: 409 where another
/// one is newer, at whichever process of the ledger. Auditors and tokens may look on, but not end the
/// agent's own reads.
pub(in crate::routes) async fn hold<C: Clock>(
    app: &Arc<App<C>>,
    reader: &Reader,
    recipient: Did,
    instance: Option<&InstanceName>,
) -> Result<Option<HeldRead>, ApiError> {
    let Some(InstanceName(name)) = instance else {
        return Ok(None);
    };
    if !reader.acts_for(recipient) {
        return Err(ApiError::not_the_recipient());
    }
    let is_standby = app.role.standing().is_some();
    if is_standby && !between::is_newest(app, recipient, name).await? {
        return Err(ApiError::superseded());
    }
    let held = app.feeds.instances.claim(recipient, name);
    let held = held.map_err(|_| ApiError::superseded())?;
    Ok(Some(match is_standby {
        true => held.asking(tokio::spawn(ask_on(app.clone(), recipient, name.clone()))),
        false => held,
    }))
}

/// Asks the process that writes until it knows a newer loop. While none is reached, nothing that the
/// loop sends is, either.
async fn ask_on<C: Clock>(app: Arc<App<C>>, recipient: Did, name: String) {
    loop {
        app.clock.sleep_ms(ASK_EVERY_MS).await;
        if let Ok(false) = between::is_newest(&app, recipient, &name).await {
            app.feeds.instances.end(recipient, &name);
            return;
        }
    }
}

/// Ready when another loop is newer than the one that reads.
pub(in crate::routes) async fn superseded(held: &mut Option<HeldRead>) {
    match held {
        Some(held) => held.superseded().await,
        None => std::future::pending().await,
    }
}
