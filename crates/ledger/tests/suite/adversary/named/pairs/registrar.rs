//! What agents do to their registrations once their business is over, and how it is told as having come before.

use serde_json::{Value, json};

use super::super::super::every_event::rotation;
use super::super::super::ledgerbox::Ledgerbox;
use super::super::super::party::Party;
use super::super::Story;

/// Sends a message to the registry.
pub(super) async fn ask(ledgerbox: &Ledgerbox, party: &Party, verb: &str, payload: Value) {
    let kind = format!("x811.registry/{verb}");
    let message = ledgerbox.seal(party, &kind, &ledgerbox.identity, payload);
    ledgerbox.accept(&message).await;
    ledgerbox.advance_ms(100).await;
}

/// Both go and come back; then the first is revoked, and the second takes another key.
pub(super) async fn leave(ledgerbox: &Ledgerbox, first: &Party, second: &Party) {
    for party in [first, second] {
        for verb in ["deactivate", "reactivate"] {
            ask(ledgerbox, party, verb, json!({})).await;
        }
    }
    ask(ledgerbox, first, "revoke", json!({})).await;
    let renewed = ledgerbox.party();
    let rotated = rotation(ledgerbox, second, &renewed);
    ledgerbox.accept(&rotated).await;
}

/// The message of that agent to the registry.
pub(super) fn of_agent(story: &Story, agent: &Value, verb: &str) -> u64 {
    let kind = format!("x811.registry/{verb}");
    story.names(|it| it.message_type() == kind && it.event["envelope"]["from"] == *agent)[0]
}

/// The agent was away from right before a record until right before another.
pub(super) fn is_away(story: &mut Story, agent: &Value, from: u64, until: u64) {
    let names = ["deactivate", "reactivate"].map(|verb| of_agent(story, agent, verb));
    story.moved(names[0], from).moved(names[1], until);
}

/// The agent was revoked before that record, and never went before.
pub(super) fn is_revoked(story: &mut Story, agent: &Value, before: u64) {
    let gone = ["deactivate", "reactivate"].map(|verb| of_agent(story, agent, verb));
    let revoked = of_agent(story, agent, "revoke");
    story.moved(revoked, before).without(gone);
}

/// The agent had its other key before that record.
pub(super) fn has_another_key(story: &mut Story, agent: &Value, before: u64) {
    let rotated = of_agent(story, agent, "rotate");
    let gone = ["deactivate", "reactivate"].map(|verb| of_agent(story, agent, verb));
    story.moved(rotated, before).without(gone);
}

/// The agent registered behind that record.
pub(super) fn is_new_behind(story: &mut Story, agent: &Value, record: u64) {
    let (registered, next) = (of_agent(story, agent, "register"), story.next(record));
    story.moved(registered, next);
}
