//! What every verb works with: the ledger, the agent's home, the clock and randomness.

use std::sync::Arc;

use x811_client::clock::{Clock, SystemClock};
use x811_client::compose::Composer;
use x811_client::entropy::{Entropy, SystemEntropy};
use x811_client::home::Home;
use x811_client::http::{LedgerClient, RetryPolicy};
use x811_client::identity::{AgentName, Identity};
use x811_protocol::time::TimestampMs;

use crate::command::Global;
use crate::failure::Failure;

/// The world around a verb.
pub(crate) struct Context {
    ledger_url: String,
    agent: Option<AgentName>,
    pub(crate) home: Home,
    /// Whether one JSON value is wanted instead of text.
    #[cfg(feature = "serve")]
    pub(crate) json: bool,
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
            #[cfg(feature = "serve")]
            json: global.json,
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

    /// A client that signs its reads as the acting agent; unsigned, for a ledger with open reads,
    /// only while nothing says which agent that is.
    pub(crate) fn reading_client(&self) -> Result<LedgerClient, Failure> {
        let client = self.client()?;
        if self.agent.is_none() && self.home.agents()?.len() != 1 {
            return Ok(client);
        }
        Ok(client.reading_as(&self.identity()?))
    }

    /// The agent named on the command line, else the only one there is.
    pub(crate) fn identity(&self) -> Result<Identity, Failure> {
        self.identity_named(self.agent.as_ref())
    }

    /// The agent of that name; without one, as [`Context::identity`].
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
