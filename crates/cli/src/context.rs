//! What every verb works with: the ledger, the agent's home, the clock and randomness.

use std::sync::Arc;

use x811_client::clock::{Clock, SystemClock};
use x811_client::compose::Composer;
use x811_client::entropy::{Entropy, SystemEntropy};
use x811_client::home::Home;
use x811_client::http::{ClientError, LedgerClient, RetryPolicy};
use x811_client::identity::{AgentName, Identity};
use x811_protocol::code::Code;
use x811_protocol::time::TimestampMs;

use crate::command::Global;
use crate::failure::Failure;

/// The world around a verb.
pub(crate) struct Context {
    ledger_url: String,
    agent: Option<AgentName>,
    pub(crate) home: Home,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) entropy: Arc<dyn Entropy>,
}

impl Context {
    /// The computer's own.
    pub(crate) fn new(global: Global) -> Context {
        Context {
            ledger_url: global.ledger,
            agent: global.agent,
            home: Home::new(global.home),
            clock: Arc::new(SystemClock),
            entropy: Arc::new(SystemEntropy),
        }
    }

    pub(crate) fn client(&self) -> Result<LedgerClient, Failure> {
        let (clock, entropy) = (self.clock.clone(), self.entropy.clone());
        // A person waits: an absent ledger is reported within two seconds.
        let policy = RetryPolicy {
            attempts: 4,
            ..RetryPolicy::default()
        };
        Ok(LedgerClient::with(
            &self.ledger_url,
            policy,
            clock,
            entropy,
        )?)
    }

    /// The agent to sign as, and a client that signs its reads as that agent.
    pub(crate) async fn acting(&self) -> Result<(Identity, LedgerClient), Failure> {
        let client = self.client()?;
        let identity = self.identity(&client).await?;
        let client = client.reading_as(&identity);
        Ok((identity, client))
    }

    /// A client that signs its reads as the acting agent; unsigned, for a ledger with open reads,
    /// only while nothing says which agent that is.
    pub(crate) async fn reading_client(&self) -> Result<LedgerClient, Failure> {
        let client = self.client()?;
        if self.agent.is_none() && self.home.agents()?.len() != 1 {
            return Ok(client);
        }
        let identity = self.identity(&client).await?;
        Ok(client.reading_as(&identity))
    }

    /// The agent to sign as: the one named on the command line, else the only one there is.
    pub(crate) async fn identity(&self, client: &LedgerClient) -> Result<Identity, Failure> {
        self.identity_settled(client, None).await
    }

    /// The agent of that name, else as [`Context::identity`]. If a rotation of its key was
    /// interrupted, the ledger says whether it has the new key, and the agent's file is brought up
    /// to date; a new key it does not have may still arrive there and is kept beside the old one.
    pub(crate) async fn identity_settled(
        &self,
        client: &LedgerClient,
        name: Option<&AgentName>,
    ) -> Result<Identity, Failure> {
        let identity = self.identity_named(name)?;
        if identity.next_signing_key.is_none() {
            return Ok(identity);
        }
        let _lock = self.home.lock_agent(&identity.name)?;
        let mut identity = self.home.agent(&identity.name)?;
        let registered = match client.agent(identity.did).await {
            Ok(agent) => agent.keys,
            Err(ClientError::Refused(refused)) if refused.code == Code::DidNotFound => Vec::new(),
            Err(error) => return Err(error.into()),
        };
        if identity.settle_rotation(&registered) {
            self.home.update_agent(&identity)?;
        }
        Ok(identity)
    }

    /// The agent of that name as its file says; without a name, the one named on the command line,
    /// else the only one there is.
    pub(crate) fn identity_named(&self, name: Option<&AgentName>) -> Result<Identity, Failure> {
        if let Some(name) = name.or(self.agent.as_ref()) {
            return self.home.agent(name).map_err(|error| {
                Failure::from(error).hint("`x811 agent show` lists the agents there are")
            });
        }
        let names = self.home.agents()?;
        match names.as_slice() {
            [only] => Ok(self.home.agent(only)?),
            [] => {
                let home = self.home.path().display();
                Err(
                    Failure::local("no_agent", format!("there is no agent in {home}"))
                        .hint("make one with `x811 agent new NAME`, or name another --home"),
                )
            }
            several => {
                let names: Vec<&str> = several.iter().map(AgentName::as_str).collect();
                let message = format!("there are several agents: {}", names.join(", "));
                Err(Failure::local("which_agent", message).hint("say which with --agent NAME"))
            }
        }
    }

    pub(crate) fn composer<'a>(&'a self, identity: &'a Identity) -> Composer<'a> {
        Composer::new(identity, &*self.entropy, &*self.clock)
    }

    pub(crate) fn now(&self) -> TimestampMs {
        self.clock.now()
    }
}
