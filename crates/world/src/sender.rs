//! Whose messages are taken.

use crate::World;
use crate::agent::{Agent, AgentStanding};
use std::sync::Arc;
use x811_protocol::code::Code;
use x811_protocol::did::Did;
use x811_protocol::refusal::{Kind, Refusal};
use x811_protocol::time::TimestampMs;

/// The registered agent of that DID; X811-1001 without one.
pub fn registered(world: &World, did: Did) -> Result<&Arc<Agent>, Refusal> {
    world.agent(did).ok_or_else(|| {
        Refusal::new(
            Code::DidNotFound,
            Kind::NotFound,
            "the sender's DID is not registered here: register it first",
        )
    })
}

/// The registered, active sender; anything else answers as AX-30 says.
pub fn sender(world: &World, did: Did, now: TimestampMs) -> Result<&Arc<Agent>, Refusal> {
    let agent = registered(world, did)?;
    match agent.standing(now) {
        AgentStanding::Active => Ok(agent),
        standing @ (AgentStanding::Deactivated
        | AgentStanding::Expired
        | AgentStanding::Revoked) => Err(not_taken(standing)),
    }
}

/// X811-2003 for the standing of a sender (AE-94).
pub fn not_taken(standing: AgentStanding) -> Refusal {
    let status = standing.as_str();
    Refusal::new(
        Code::SignatureInvalid,
        Kind::Authentication,
        format!("the sender's DID is {status}: its messages are not taken"),
    )
    .with_details(serde_json::json!({ "did_status": status }))
}
