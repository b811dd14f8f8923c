//! A key that is taken never reaches a commit: it would fail the whole batch, again and again
//! (ledger-contract.md sections 1 and 3).
//!
//! Envelope ids are known in memory for 25 minutes, and an id comes again within 20 or never: it lies
//! within 5 minutes of `created`, and that within 5 minutes of the clock, both times. Idempotency
//! tags and claims are looked up before every batch, and the batch on its way is asked besides.

use super::deal::Deal;
use super::ledgerbox::Ledgerbox;
use super::party::{Account, Party};
use proptest::prelude::*;
use serde_json::json;
use x811_ledger::answer::Answer;
use x811_protocol::code::Code;
use x811_protocol::envelope::SealedEnvelope;
use x811_protocol::id::EnvelopeId;
use x811_protocol::refusal::Refusal;
use x811_protocol::time::TimestampMs;

const MINUTE_MS: u64 = 60_000;

/// How far an id's time may be from `created`, and that from the clock.
const TOLERANCE_MS: u64 = 5 * MINUTE_MS;

fn greeting(
    ledgerbox: &Ledgerbox,
    [from, to]: [&Party; 2],
    id: EnvelopeId,
    created: TimestampMs,
) -> SealedEnvelope {
    let mut letter = ledgerbox.letter("x811.ext/greeting", to, json!({}));
    letter.id = id;
    letter.created = created;
    from.seal(&letter)
}

/// Nothing that was said brought a commit down.
#[track_caller]
fn assert_no_commit_failed(ledgerbox: &Ledgerbox, answer: &Result<Answer, Refusal>) {
    let code = answer.as_ref().err().map(|refusal| refusal.code);
    assert_ne!(code, Some(Code::InternalError), "{answer:?}");
    assert!(!ledgerbox.ledger().readiness().last_commit_failed);
}

#[tokio::test]
async fn lc_3_an_id_is_known_for_as_long_as_it_can_come_again() {
    let longest_ms = 4 * TOLERANCE_MS;
    for restarts in [false, true] {
        for (age_ms, can_come_again) in [
            (0, true),
            (longest_ms - 1_000, true),
            (longest_ms, true),
            (longest_ms + 1_000, false),
            (25 * MINUTE_MS, false),
            (26 * MINUTE_MS, false),
            (24 * 60 * MINUTE_MS, false),
        ] {
            let mut ledgerbox = Ledgerbox::open().await;
            let deal = Deal::between_new_parties(&ledgerbox).await;
            let parties = [&deal.initiator, &deal.provider];
            // As far ahead as it may be said, and then as late as it may come again.
            let created = ledgerbox.now().saturating_add_ms(TOLERANCE_MS);
            let ahead = created.saturating_add_ms(TOLERANCE_MS);
            let id = EnvelopeId::from_parts(ahead.as_ms(), &[9; 10]);
            ledgerbox
                .accept(&greeting(&ledgerbox, parties, id, created))
                .await;
            if age_ms > 0 {
                ledgerbox.advance_ms(age_ms).await;
            }
            if restarts {
                ledgerbox.restart().await;
            }
            let created = if can_come_again {
                let latest = ledgerbox.now().saturating_sub_ms(TOLERANCE_MS);
                latest.max(ahead.saturating_sub_ms(TOLERANCE_MS))
            } else {
                ledgerbox.now().saturating_sub_ms(TOLERANCE_MS)
            };
            let again = greeting(&ledgerbox, parties, id, created);
            let answer = ledgerbox.submit(&again).await;
            assert_no_commit_failed(&ledgerbox, &answer);
            let code = answer.unwrap_err().code;
            assert_eq!(code, Code::InvalidStateTransition, "{age_ms} {restarts}");
        }
    }
}

#[tokio::test]
async fn lc_3_a_tag_that_is_taken_meanwhile_is_found_wherever_it_is() {
    let mut ledgerbox = Ledgerbox::crowded().await;
    let first = Deal::between_new_parties(&ledgerbox).await;
    let order = |ledgerbox: &Ledgerbox, key: &str| {
        let payload = Deal::request_payload(key);
        ledgerbox.seal(&first.initiator, "x811/request", &first.provider, payload)
    };
    // In the same batch, in the one on its way, and in the one after that.
    let store = ledgerbox.store.clone();
    let held = store.hold_commits().await;
    let mut answers = Vec::new();
    for _ in 0..3 {
        for _ in 0..3 {
            answers.push(ledgerbox.submit_later(&order(&ledgerbox, "k")).await);
        }
        ledgerbox.settle().await;
    }
    drop(held);
    let mut recorded = 0;
    for answer in answers {
        let answer = answer.await.unwrap();
        assert_no_commit_failed(&ledgerbox, &answer);
        recorded += usize::from(matches!(answer, Ok(Answer::Accepted(_))));
    }
    assert_eq!(recorded, 1);
    // Long ago, and before a restart.
    for _ in 0..2 {
        ledgerbox.advance_ms(24 * 60 * MINUTE_MS).await;
        ledgerbox.repeat(&order(&ledgerbox, "k")).await;
        ledgerbox.restart().await;
    }
    ledgerbox.assert_log_adds_up().await;
}

#[derive(Debug, Clone, Copy)]
enum Step {
    /// A greeting with one of a few ids; how far the id and `created` lie from the clock.
    Greet {
        id: u8,
        id_ms: u64,
        created_ms: u64,
    },
    /// A REQUEST under one of a few keys.
    Order {
        key: u8,
    },
    Pass {
        ms: u64,
    },
    Restart {
        away_ms: u64,
    },
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => (0..4_u8, 0..2 * TOLERANCE_MS, 0..2 * TOLERANCE_MS).prop_map(
            |(id, id_ms, created_ms)| Step::Greet { id, id_ms, created_ms }
        ),
        2 => (0..3_u8).prop_map(|key| Step::Order { key }),
        2 => (0..8 * MINUTE_MS).prop_map(|ms| Step::Pass { ms }),
        1 => (0..30 * MINUTE_MS).prop_map(|away_ms| Step::Restart { away_ms }),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn lc_3_random_repeats_never_bring_a_commit_down(
        steps in proptest::collection::vec(step(), 1..40),
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(async {
            let mut ledgerbox = Ledgerbox::crowded().await;
            let account = Account::new(0x46);
            let parties = [ledgerbox.initiator(&account).await, ledgerbox.provider().await];
            let [from, to] = &parties;
            // The ids that were used, to be used again.
            let mut used: Vec<Option<EnvelopeId>> = vec![None; 4];
            for step in steps {
                let envelope = match step {
                    Step::Greet { id, id_ms, created_ms } => {
                        let earliest = ledgerbox.now().saturating_sub_ms(TOLERANCE_MS);
                        let created = earliest.saturating_add_ms(created_ms);
                        let at = created.saturating_sub_ms(TOLERANCE_MS).saturating_add_ms(id_ms);
                        let known = &mut used[usize::from(id)];
                        let id = known.unwrap_or_else(|| {
                            EnvelopeId::from_parts(at.as_ms(), &[id; 10])
                        });
                        *known = Some(id);
                        greeting(&ledgerbox, [from, to], id, created)
                    }
                    Step::Order { key } => {
                        let payload = Deal::request_payload(&format!("order-{key}"));
                        ledgerbox.seal(from, "x811/request", to, payload)
                    }
                    Step::Pass { ms } => {
                        ledgerbox.advance_ms(ms).await;
                        continue;
                    }
                    Step::Restart { away_ms } => {
                        ledgerbox.down_ms(away_ms).await;
                        continue;
                    }
                };
                let answer = ledgerbox.submit(&envelope).await;
                assert_no_commit_failed(&ledgerbox, &answer);
            }
            // The log's own time has to come this far too.
            let late = ledgerbox.registration(&ledgerbox.party(), &[], &[]);
            ledgerbox.accept(&late).await;
            ledgerbox.assert_log_adds_up().await;
        });
    }
}
