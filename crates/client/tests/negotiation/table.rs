//! Whose turn it is, as a table: 4 states of the step before, 4 of the next, 3 agents.

use serde_json::Value;
use x811_client::negotiation::{Profile, StepFault};

use crate::forger::{answer, haggled, seal};
use crate::{ADA, BERT, EVE, judge, keys, refused};

/// A chain that ends with this state; the last terms are Ada's.
fn ending(profile: Profile, state: &str) -> Vec<Value> {
    let mut steps = haggled(profile, if state == "OFFER" { 0 } else { 2 });
    if ["ACCEPT", "REJECT"].contains(&state) {
        steps.push(answer(profile, &steps[2], state, BERT));
        seal(profile, &mut steps, 3);
    }
    steps
}

#[test]
fn xn_3_xn_4_only_the_other_party_answers_and_nothing_follows_an_end() {
    const STATES: [&str; 4] = ["OFFER", "COUNTER", "ACCEPT", "REJECT"];
    let mut accepted = 0;
    for profile in [Profile::Sdk, Profile::Reference] {
        for (before, next) in STATES.iter().flat_map(|one| STATES.map(|two| (*one, two))) {
            for agent in [ADA, BERT, EVE] {
                let mut steps = ending(profile, before);
                let last = steps.len();
                steps.push(answer(profile, &steps[last - 1], next, agent));
                seal(profile, &mut steps, last);
                let cell = format!("{profile} {before} {next} {agent}");
                let is_open = ["OFFER", "COUNTER"].contains(&before) && next != "OFFER";
                let is_withdrawal = profile == Profile::Reference && next == "REJECT";
                if is_open && (agent == BERT || agent == ADA && is_withdrawal) {
                    assert!(judge(&steps, &keys()).is_ok(), "{cell}");
                    accepted += 1;
                    continue;
                }
                let (index, fault) = refused(&steps, &keys());
                assert_eq!(index, last, "{cell}: {fault}");
                let is_over = ["ACCEPT", "REJECT"].contains(&before);
                let is_due = matches!(fault, StepFault::Stranger { .. }) && agent == EVE
                    || matches!(fault, StepFault::AfterTheEnd { .. }) && is_over
                    || matches!(fault, StepFault::SecondOffer) && next == "OFFER"
                    || matches!(fault, StepFault::WrongTurn { .. }) && agent == ADA;
                assert!(is_due, "{cell}: {fault}");
            }
        }
    }
    assert_eq!(accepted, 6 + 8);
}
