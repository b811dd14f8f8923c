//! The two parties of the demo: keys of their own, registered over HTTP like any agent.

use super::DemoError;
use super::story::Story;
use x811_client::clock::SystemClock;
use x811_client::compose::{Composer, Payload, Registration};
use x811_client::entropy::SystemEntropy;
use x811_client::http::{Accepted, InboxRequest, Incoming, LedgerClient};
use x811_client::identity::Identity;
use x811_client::wallet::WalletKey;
use x811_protocol::did::Did;
use x811_protocol::envelope::{CoreType, MessageType};
use x811_protocol::evm::EvmAddress;

/// How long an inbox is waited on, in milliseconds.
const INBOX_WAIT_MS: u64 = 2_000;

/// How often an inbox is asked for a message that must come.
const INBOX_TRIES: u32 = 10;

/// An agent of the demo.
pub(crate) struct Agent {
    pub(crate) name: &'static str,
    pub(crate) identity: Identity,
    pub(crate) wallet: WalletKey,
    ledger: LedgerClient,
}

impl Agent {
    /// Makes keys and registers them.
    pub(crate) async fn join(
        name: &'static str,
        ledger_url: &str,
        ledger_did: Did,
        capabilities: &[&str],
    ) -> Result<Agent, DemoError> {
        let agent_name = name
            .to_lowercase()
            .parse()
            .map_err(|_| DemoError::Setup("its name"))?;
        let identity = Identity::generate(agent_name, &SystemEntropy, &SystemClock)
            .map_err(|_| DemoError::Setup("its keys"))?;
        let wallet = identity
            .wallet_key
            .clone()
            .ok_or(DemoError::Setup("its wallet"))?;
        let ledger = LedgerClient::new(ledger_url)?.reading_as(&identity);
        let agent = Agent {
            name,
            identity,
            wallet,
            ledger,
        };
        let capabilities = capabilities.iter().map(|name| (*name).to_owned()).collect();
        let registration = Registration::new(&agent.identity, ledger_did, capabilities, None)?;
        agent.send(ledger_did, &registration).await?;
        Ok(agent)
    }

    pub(crate) fn did(&self) -> Did {
        self.identity.did
    }

    pub(crate) fn account(&self) -> EvmAddress {
        self.wallet.address()
    }

    pub(crate) fn ledger(&self) -> &LedgerClient {
        &self.ledger
    }

    /// Signs and sends.
    pub(crate) async fn send(&self, to: Did, payload: &dyn Payload) -> Result<Accepted, DemoError> {
        let composer = Composer::new(&self.identity, &SystemEntropy, &SystemClock);
        let sealed = composer.seal(to, payload)?;
        Ok(self.ledger.send(&sealed).await?)
    }

    /// The newest message of that type in the inbox, its signature checked.
    pub(crate) async fn read(
        &self,
        core: CoreType,
        from_position: u64,
    ) -> Result<Incoming, DemoError> {
        for _ in 0..INBOX_TRIES {
            let found = self.inbox().await?.into_iter().find(|incoming| {
                incoming.position >= from_position
                    && incoming.envelope.header().message_type == MessageType::Core(core)
            });
            if let Some(found) = found {
                return Ok(found);
            }
        }
        Err(DemoError::Silence {
            who: self.name,
            what: core.as_str(),
        })
    }

    /// Everything in the inbox.
    pub(crate) async fn inbox(&self) -> Result<Vec<Incoming>, DemoError> {
        let mut request = InboxRequest {
            wait_ms: INBOX_WAIT_MS,
            ..InboxRequest::default()
        };
        let mut messages = Vec::new();
        loop {
            let page = self.ledger.inbox(self.did(), &request).await?;
            if let Some(bad) = page.unverified.first() {
                return Err(DemoError::Forged {
                    position: bad.position,
                });
            }
            let is_last = page.messages.is_empty() || page.next.is_none();
            messages.extend(page.messages);
            if is_last {
                return Ok(messages);
            }
            request = InboxRequest {
                after: page.next,
                wait_ms: 0,
                ..InboxRequest::default()
            };
        }
    }

    /// Tells what the ledger told this agent since `from_position`.
    pub(super) async fn tell_notices(
        &self,
        story: &Story<'_>,
        from_position: u64,
    ) -> Result<(), DemoError> {
        for incoming in self.inbox().await? {
            let is_error =
                incoming.envelope.header().message_type == MessageType::Core(CoreType::Error);
            let code = incoming
                .envelope
                .payload()
                .get("code")
                .and_then(|code| code.as_str());
            if incoming.position >= from_position
                && is_error
                && let Some(code) =
                    code.and_then(|code| code.parse::<x811_protocol::code::Code>().ok())
            {
                story.fact(
                    "notice",
                    &format!("ledger → {}: {code} {}, signed", self.name, code.name()),
                );
            }
        }
        Ok(())
    }
}
