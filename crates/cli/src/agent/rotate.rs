//! `x811 agent rotate`.
//!
//! The new key is in the agent's file before the ledger hears of it, and the old one leaves the
//! file once the ledger has recorded the rotation. Whatever is lost between, the file holds the key
//! that counts, and the next command that needs it asks the ledger which of the two it is
//! ([`Context::identity_settled`]).

use serde::Serialize;
use x811_client::compose::Rotation;
use x811_client::http::Accepted;
use x811_client::identity::{AgentName, Identity};
use x811_protocol::did::Did;
use x811_protocol::digest::Digest;
use x811_protocol::key::PublicKey;

use super::change::Registrant;
use crate::context::Context;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::{Out, Report, Tone};
use x811_protocol::narration::short_hash;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Which agent; not needed while there is only one
    name: Option<AgentName>,
}

/// Replaces the signing key.
pub(crate) async fn run(args: Args, context: &Context, out: &mut Out) -> Result<Exit, Failure> {
    let mut registrant = Registrant::open(context, args.name.as_ref()).await?;
    // Another command may have changed the file up to here.
    let _lock = context.home.lock_agent(&registrant.identity.name)?;
    registrant.identity = context.home.agent(&registrant.identity.name)?;
    let old_key = registrant.identity.signing_key.public();

    let rotation = prepare(&mut registrant, context).await?;
    let accepted = match registrant.send(&rotation).await {
        Ok(accepted) => Some(accepted),
        Err(failure) if !is_rotated(&registrant).await => return Err(kept(failure)),
        Err(_) => None,
    };
    settle(&mut registrant.identity, context)?;
    out.report(&Rotated::new(&registrant, old_key, accepted));
    Ok(Exit::Ok)
}

/// Makes the new key, puts it in the agent's file, and says it.
async fn prepare(registrant: &mut Registrant<'_>, context: &Context) -> Result<Rotation, Failure> {
    let registered = registrant.registered().await?.keys;
    let endpoint = registrant.service_endpoint().await?;
    let new_key = registrant.identity.prepare_rotation(&*context.entropy)?;
    context.home.update_agent(&registrant.identity)?;
    let (identity, ledger) = (&registrant.identity, registrant.ledger);
    Ok(Rotation::new(
        identity,
        ledger,
        &registered,
        &new_key,
        endpoint,
    ))
}

/// Whether the ledger has the new key, for a refusal may answer the second of two tries.
async fn is_rotated(registrant: &Registrant<'_>) -> bool {
    match registrant.registered().await {
        Ok(registered) => registrant
            .identity
            .clone()
            .settle_rotation(&registered.keys),
        Err(_) => false,
    }
}

fn kept(failure: Failure) -> Failure {
    let hint = "the old and the new key are both kept; every command asks the ledger which one \
                counts, and `x811 agent rotate` tries again with the same new key";
    let hint = match failure.what_to_do.is_empty() {
        true => hint.to_owned(),
        false => format!("{}; {hint}", failure.what_to_do),
    };
    failure.hint(hint)
}

/// From here on the new key signs, and the old one is gone.
fn settle(identity: &mut Identity, context: &Context) -> Result<(), Failure> {
    let new_key = identity.next_agent_key();
    identity.settle_rotation(new_key.as_slice());
    Ok(context.home.update_agent(identity)?)
}

#[derive(Serialize)]
struct Rotated {
    name: AgentName,
    did: Did,
    ledger: Did,
    old_key: PublicKey,
    new_key: PublicKey,
    /// Absent when the answer was lost and only its effect is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    position: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    record_hash: Option<Digest>,
}

impl Rotated {
    fn new(registrant: &Registrant<'_>, old_key: PublicKey, accepted: Option<Accepted>) -> Rotated {
        let identity = &registrant.identity;
        Rotated {
            name: identity.name.clone(),
            did: identity.did,
            ledger: registrant.ledger,
            old_key,
            new_key: identity.signing_key.public(),
            position: accepted.as_ref().map(|accepted| accepted.position),
            record_hash: accepted.map(|accepted| accepted.record_hash),
        }
    }
}

impl Report for Rotated {
    fn print(&self, out: &mut Out) {
        let heading = format!("agent {} signs with a new key", self.name);
        out.heading(Tone::Good, heading);
        let mut fields = vec![
            ("did", self.did.to_string()),
            ("ledger", self.ledger.to_string()),
            ("old key", format!("{} (removed)", self.old_key)),
            ("new key", self.new_key.to_string()),
        ];
        if let (Some(position), Some(hash)) = (self.position, self.record_hash) {
            let hash = short_hash(hash);
            fields.push(("recorded", format!("position {position}, hash {hash}")));
        }
        out.fields(&fields);
    }
}
