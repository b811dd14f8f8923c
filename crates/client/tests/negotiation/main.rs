//! XAP chains: what the published implementations make verifies, and whatever breaks a rule is refused
//! with the index of its step.

#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot go on has failed, and says where"
)]

mod attacks;
mod forger;
mod limits;
mod published;
mod table;

use serde_json::Value;
use x811_client::negotiation::{Chain, ChainError, Keys, Profile, StepFault, verify};

/// Who makes the OFFER, and to whom.
pub(crate) const ADA: &str = "agent_a1a1a1a1";
pub(crate) const BERT: &str = "agent_b2b2b2b2";
pub(crate) const EVE: &str = "agent_e3e3e3e3";

pub(crate) const SDK: &str = include_str!("../vectors/xap/xap-sdk.json");
pub(crate) const REFERENCE: &str = include_str!("../vectors/xap/xap-reference.json");

/// The keys of Ada and Bert.
pub(crate) fn keys() -> Keys {
    Keys::read(include_bytes!("../vectors/xap/keys.json")).unwrap()
}

/// The vector of a profile.
pub(crate) fn published(profile: Profile) -> Vec<Value> {
    serde_json::from_str(match profile {
        Profile::Sdk => SDK,
        Profile::Reference => REFERENCE,
    })
    .unwrap()
}

/// What is said of these steps.
pub(crate) fn judge(steps: &[Value], keys: &Keys) -> Result<Chain, ChainError> {
    verify(serde_json::to_string(steps).unwrap().as_bytes(), keys)
}

/// The step that is named, and why.
#[track_caller]
pub(crate) fn refused(steps: &[Value], keys: &Keys) -> (usize, StepFault) {
    match judge(steps, keys) {
        Err(ChainError::Step { index, fault, .. }) => (index, fault),
        other => panic!("not refused by a step: {other:?}"),
    }
}
