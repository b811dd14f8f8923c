//! What every change of a registration has in common: who asks which ledger, and what to say after.

use serde::Serialize;
use x811_client::compose::{Payload, StatusChange, service_endpoint};
use x811_client::http::{Accepted, Agent, LedgerClient};
use x811_client::identity::{AgentName, Identity};
use x811_protocol::did::Did;
use x811_protocol::digest::Digest;
use x811_protocol::envelope::MessageType;

use crate::context::Context;
use crate::failure::Failure;
use crate::output::{Out, Report, Tone};
use x811_protocol::narration::short_hash;

/// An agent in front of the ledger.
pub(super) struct Registrant<'a> {
    context: &'a Context,
    pub(super) identity: Identity,
    pub(super) client: LedgerClient,
    pub(super) ledger: Did,
}

impl<'a> Registrant<'a> {
    /// The agent of that name, else the only one.
    pub(super) async fn open(
        context: &'a Context,
        name: Option<&AgentName>,
    ) -> Result<Registrant<'a>, Failure> {
        let client = context.client()?;
        let identity = context.identity_settled(&client, name).await?;
        let ledger = client.info().await?.did;
        Ok(Registrant {
            context,
            identity,
            client,
            ledger,
        })
    }

    /// What is registered of it.
    pub(super) async fn registered(&self) -> Result<Agent, Failure> {
        Ok(self.client.agent(self.identity.did).await?)
    }

    /// Where its present document says that it can be reached.
    pub(super) async fn service_endpoint(&self) -> Result<Option<String>, Failure> {
        let document = self.client.document(self.identity.did).await?;
        Ok(service_endpoint(&document).map(str::to_owned))
    }

    /// Sends a message to the ledger and waits until it is recorded.
    pub(super) async fn send(&self, payload: &dyn Payload) -> Result<Accepted, Failure> {
        let composer = self.context.composer(&self.identity);
        let sealed = composer.seal(self.ledger, payload)?;
        Ok(self.client.send(&sealed).await?)
    }
}

/// Asks for another status and tells what came of it.
pub(super) async fn change_status(
    context: &Context,
    name: Option<&AgentName>,
    change: StatusChange,
    effect: &'static str,
    out: &mut Out,
) -> Result<(), Failure> {
    let registrant = Registrant::open(context, name).await?;
    let accepted = registrant.send(&change).await?;
    out.report(&Changed::new(
        &registrant,
        change.message_type(),
        &accepted,
        effect,
    ));
    Ok(())
}

/// A change that is recorded.
#[derive(Debug, Serialize)]
pub(super) struct Changed {
    #[serde(rename = "type")]
    message_type: MessageType,
    name: AgentName,
    did: Did,
    ledger: Did,
    position: u64,
    record_hash: Digest,
    #[serde(skip)]
    effect: &'static str,
}

impl Changed {
    pub(super) fn new(
        registrant: &Registrant<'_>,
        message_type: MessageType,
        accepted: &Accepted,
        effect: &'static str,
    ) -> Changed {
        Changed {
            message_type,
            name: registrant.identity.name.clone(),
            did: registrant.identity.did,
            ledger: registrant.ledger,
            position: accepted.position,
            record_hash: accepted.record_hash,
            effect,
        }
    }
}

impl Report for Changed {
    fn print(&self, out: &mut Out) {
        let heading = format!("agent {} {}", self.name, self.effect);
        out.heading(Tone::Good, heading);
        let hash = short_hash(self.record_hash);
        out.fields(&[
            ("did", self.did.to_string()),
            ("ledger", self.ledger.to_string()),
            (
                "recorded",
                format!("position {}, hash {hash}", self.position),
            ),
            ("look", format!("x811 agent show --did {}", self.did)),
        ]);
    }
}
