//! Two clients of one negotiation who pay no heed to each other, with somebody who takes no part, time
//! that passes and a ledger that is restarted: one outcome, one interaction at most.
//!
//! A longer run, with the number of histories:
//! `X811_TALKS=10000 cargo nextest run --profile full -p x811-ledger --test suite xn_9_whatever`.

use super::bundles::audited;
use super::ledgerbox::Ledgerbox;
use super::size::size;
use super::talks::{Talks, talking};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use x811_ledger::answer::Answer;
use x811_protocol::canonical::to_canonical;
use x811_protocol::digest::Digest;
use x811_protocol::event::{ContractWindow, Effect, Event, LapsedWindow};
use x811_protocol::facts::{Facts, NegotiationVerb};
use x811_protocol::parameters::Contracts;

/// Histories of one run.
const HISTORIES: u32 = 120;

/// Who speaks.
#[derive(Debug, Clone, Copy)]
enum Who {
    Payer,
    Payee,
    Stranger,
}

/// What happens next, whatever the other side has said meanwhile.
#[derive(Debug, Clone, Copy)]
enum Act {
    /// A message about the last terms, or about those before them.
    Say(Who, NegotiationVerb, bool),
    /// A REQUEST under the contract, to the budget agreed on or below it.
    Request(bool),
    /// Time passes, in milliseconds.
    Pass(u64),
    Restart,
}

fn act() -> impl Strategy<Value = Act> {
    let who = prop_oneof![6 => Just(Who::Payer), 6 => Just(Who::Payee), 1 => Just(Who::Stranger)];
    let verb = prop_oneof![
        5 => Just(NegotiationVerb::Counter),
        4 => Just(NegotiationVerb::Accept),
        1 => Just(NegotiationVerb::Reject),
        1 => Just(NegotiationVerb::Withdraw),
    ];
    let waits = prop_oneof![Just(1_u64), Just(20_000), Just(60_001), Just(86_400_001)];
    prop_oneof![
        12 => (who, verb, prop::bool::weighted(0.2)).prop_map(|(who, verb, stale)| {
            Act::Say(who, verb, stale)
        }),
        4 => any::<bool>().prop_map(Act::Request),
        2 => waits.prop_map(Act::Pass),
        1 => Just(Act::Restart),
    ]
}

/// Plays one history, and holds it against what must be true of all.
async fn play(acts: &[Act]) {
    let mut ledgerbox = talking(Contracts::DEFAULT).await;
    let mut talks = Talks::new(&ledgerbox).await;
    let payer = talks.payer.clone();
    talks
        .say(&ledgerbox, &payer, NegotiationVerb::Offer, "0.41")
        .await;
    let mut before = talks.step;
    let mut turn = 0_u64;
    for act in acts {
        match *act {
            Act::Say(who, verb, is_stale) => {
                turn += 1;
                let now = talks.step;
                if is_stale {
                    talks.step = before;
                }
                let from = match who {
                    Who::Payer => talks.payer.clone(),
                    Who::Payee => talks.payee.clone(),
                    Who::Stranger => talks.stranger.clone(),
                };
                let value = format!("0.{}", 41 * turn);
                let payload = talks.payload(&ledgerbox, verb, &value);
                let terms = payload
                    .get("terms")
                    .map(|terms| Digest::of(&to_canonical(terms)));
                let envelope = talks.seal(&ledgerbox, &from, verb, payload);
                talks.step = now;
                if let Ok(Answer::Accepted(accepted)) = ledgerbox.submit(&envelope).await
                    && let Some(terms) = terms
                {
                    before = talks.step;
                    talks.step = Some((accepted.envelope_id, terms));
                }
            }
            Act::Request(is_rich) => {
                let (_, request) = talks.request(&ledgerbox, |payload| {
                    if !is_rich {
                        payload["max_budget"] = 0.000_001.into();
                    }
                });
                // Refused or not: that is what is looked at below.
                let _ = ledgerbox.submit(&request).await;
            }
            Act::Pass(ms) => ledgerbox.advance_ms(ms).await,
            Act::Restart => ledgerbox.restart().await,
        }
    }
    check(&ledgerbox, &talks).await;
}

async fn check(ledgerbox: &Ledgerbox, talks: &Talks) {
    let stream = format!("contract:{}", talks.id.unwrap());
    let (mut outcomes, mut engaged, mut interactions, mut turns) = (0, 0, 0, 0);
    for (record, event) in ledgerbox.events().await {
        let is_ours = record.stream() == stream;
        match event {
            Event::EnvelopeAccepted(accepted) => match &accepted.facts {
                Facts::Negotiation(facts) => {
                    assert!(is_ours && accepted.envelope.from != talks.stranger.did);
                    match facts.verb() {
                        NegotiationVerb::Offer | NegotiationVerb::Counter => turns += 1,
                        NegotiationVerb::Accept
                        | NegotiationVerb::Reject
                        | NegotiationVerb::Withdraw => outcomes += 1,
                    }
                }
                Facts::Request(_) => interactions += u64::from(accepted.derived.contract.is_some()),
                _ => {}
            },
            Event::Lapsed(lapsed) if is_ours => {
                let LapsedWindow::Contract(window) = lapsed.window else {
                    panic!("a window of another machine");
                };
                match window {
                    ContractWindow::Contract => outcomes += 1,
                    ContractWindow::Engagement => engaged += 1,
                }
            }
            Event::Effect(Effect::Engaged(_)) => engaged += 1,
            _ => {}
        }
    }
    assert!(outcomes <= 1, "one outcome, not {outcomes}");
    assert!(engaged <= outcomes, "what was not agreed on is not engaged");
    assert!(interactions <= engaged, "one interaction at most");
    assert!(turns <= 20, "the offer, and 19 counters");
    ledgerbox.assert_log_adds_up().await;
    let report = audited(ledgerbox).await;
    assert_eq!(report.findings, []);
}

#[test]
fn xn_9_whatever_the_interleaving_there_is_one_outcome_and_one_interaction_at_most() {
    let config = Config {
        failure_persistence: None,
        ..Config::with_cases(size("X811_TALKS", HISTORIES))
    };
    let acts = prop::collection::vec(act(), 1..24);
    let mut runner = TestRunner::new(config);
    let played = runner.run(&acts, |acts| {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build();
        runtime.unwrap().block_on(play(&acts));
        Ok(())
    });
    played.unwrap();
}
