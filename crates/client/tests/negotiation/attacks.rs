//! Who gains by changing a chain, with which keys: nobody's (bytes alone), one party's, both parties'.

use serde_json::{Value, json};
use x811_client::negotiation::{ChainError, Keys, Profile, StepFault, verify};

use crate::forger::{answer, haggled, link, seal, sign};
use crate::{ADA, BERT, EVE, REFERENCE, SDK, judge, keys, published, refused};

const PROFILES: [Profile; 2] = [Profile::Sdk, Profile::Reference];

/// Nobody's keys: every byte of both published chains, two bits each. The reference leaves its OFFER
/// unsigned, so a change there shows in the link of the next step.
#[test]
fn xn_7_every_changed_byte_is_refused_and_its_step_is_named() {
    for (profile, text) in [(Profile::Sdk, SDK), (Profile::Reference, REFERENCE)] {
        let starts: Vec<usize> = text
            .match_indices("{\"negotiation_id\"")
            .map(|found| found.0)
            .collect();
        assert_eq!(starts.len(), 4);
        for place in 0..text.trim_end().len() {
            for bit in [0x01, 0x20] {
                let mut bytes = text.as_bytes().to_vec();
                bytes[place] ^= bit;
                let index = starts
                    .iter()
                    .filter(|start| **start <= place)
                    .count()
                    .max(1)
                    - 1;
                match verify(&bytes, &keys()) {
                    Err(ChainError::Step { index: found, .. }) => {
                        // Another initiator has no key; the next step does not know it.
                        let is_due = found == index || (index, found) == (0, 1);
                        assert!(is_due, "byte {place}: step {found}");
                    }
                    Err(ChainError::Json { .. }) => {}
                    other => panic!("byte {place} of {profile}: {other:?}"),
                }
            }
        }
    }
}

/// Nobody's keys: steps dropped, doubled and moved, in chains of every length up to six.
#[test]
fn xn_7_dropped_doubled_and_moved_steps_are_named_by_index() {
    for profile in PROFILES {
        for counters in 1..=5 {
            let good = haggled(profile, counters);
            let last = counters;
            for index in 0..=last {
                let mut doubled = good.clone();
                doubled.insert(index, good[index].clone());
                assert_eq!(refused(&doubled, &keys()).0, index + 1);
                if index < last {
                    let mut dropped = good.clone();
                    dropped.remove(index);
                    assert_eq!(refused(&dropped, &keys()).0, index);
                }
                for other in 0..index {
                    let mut moved = good.clone();
                    moved.swap(index, other);
                    assert_eq!(refused(&moved, &keys()).0, other);
                    assert_eq!(refused(&moved, &Keys::default()).0, other);
                }
            }
        }
    }
}

/// Bert has his own key alone, and wants Ada's terms to have been others: he changes them, computes every
/// link anew and signs what is his.
#[test]
fn xn_7_changed_terms_with_a_rehashed_tail_need_the_others_key() {
    for profile in PROFILES {
        let good = haggled(profile, 3);
        for index in [0, 2] {
            let mut bad = good.clone();
            bad[index]["pricing"]["amount_minor_units"] = json!(1);
            for next in index..bad.len() {
                if next > 0 {
                    bad[next]["previous_state_hash"] = json!(link(profile, &bad[next - 1]));
                }
                if bad[next]["from_agent"] == BERT {
                    sign(profile, &mut bad[next], 2);
                }
            }
            let (found, fault) = refused(&bad, &keys());
            // An unsigned OFFER is nobody's word; Ada's next step, signed, is the first that denies it.
            let expected = if profile == Profile::Reference && index == 0 {
                2
            } else {
                index
            };
            assert_eq!(found, expected, "{fault}");
            assert!(matches!(fault, StepFault::Signature { .. }), "{fault}");
            // Without keys nobody can tell.
            assert!(judge(&bad, &Keys::default()).is_ok());
        }
    }
}

/// A published peer takes all of these (requirements-xap.md part 4).
#[test]
fn xn_4_nobody_else_signs_for_an_agent() {
    for profile in PROFILES {
        for index in 1..4 {
            let mut bad = published(profile);
            let other = if bad[index]["from_agent"] == ADA {
                2
            } else {
                1
            };
            sign(profile, &mut bad[index], other);
            let (found, fault) = refused(&bad, &keys());
            assert_eq!(found, index);
            assert!(matches!(fault, StepFault::Signature { .. }), "{fault}");
        }
        let mut swapped = published(profile);
        let (one, two) = (
            swapped[1]["signature"].clone(),
            swapped[3]["signature"].clone(),
        );
        (swapped[1]["signature"], swapped[3]["signature"]) = (two, one);
        assert_eq!(refused(&swapped, &keys()).0, 1);
        let mut unsigned = published(profile);
        for signature in ["", "ed25519:", "x", "AAAA"] {
            unsigned[2]["signature"] = json!(signature);
            assert_eq!(refused(&unsigned, &Keys::default()).0, 2, "{signature}");
        }
    }
}

/// A change, made with the keys of both parties, so that only the rules are left to refuse it.
type Change = fn(&mut Vec<Value>);

fn with_both_keys(profile: Profile, change: Change) -> (usize, StepFault) {
    let mut steps = haggled(profile, 2);
    steps.push(answer(profile, &steps[2], "ACCEPT", BERT));
    change(&mut steps);
    seal(profile, &mut steps, 0);
    refused(&steps, &keys())
}

#[test]
fn xx_5_an_accept_of_other_terms_is_refused() {
    let changes: [Change; 3] = [
        |steps| steps[3]["pricing"]["amount_minor_units"] = json!(1_000),
        |steps| steps[3]["sla"]["max_latency_ms"] = json!(1),
        |steps| steps[3]["task"]["type"] = json!("another"),
    ];
    for profile in PROFILES {
        for change in changes {
            let (index, fault) = with_both_keys(profile, change);
            assert_eq!((index, fault), (3, StepFault::OtherTerms));
        }
    }
}

#[test]
fn xx_3_an_answer_at_or_after_the_end_of_the_terms_is_refused() {
    for profile in PROFILES {
        let late: [(Change, bool); 3] = [
            (
                |steps| steps[3]["created_at"] = steps[2]["expires_at"].clone(),
                false,
            ),
            (
                |steps| steps[3]["created_at"] = json!("2026-03-02T12:00:00Z"),
                false,
            ),
            (
                |steps| steps[3]["created_at"] = json!("2026-03-01T12:59:59.999Z"),
                true,
            ),
        ];
        for (change, is_in_time) in late {
            let mut steps = haggled(profile, 2);
            steps.push(answer(profile, &steps[2], "ACCEPT", BERT));
            change(&mut steps);
            seal(profile, &mut steps, 0);
            match judge(&steps, &keys()) {
                Ok(_) => assert!(is_in_time),
                Err(ChainError::Step {
                    index,
                    fault: StepFault::Late { .. },
                    ..
                }) => {
                    assert!(!is_in_time && index == 3);
                }
                other => panic!("{other:?}"),
            }
        }
        // A counter that came too late, and one whose own terms nobody can answer.
        let (index, fault) = with_both_keys(profile, |steps| {
            steps[1]["created_at"] = json!("2026-03-02T12:00:00Z");
            steps[1]["expires_at"] = json!("2026-03-02T13:00:00Z");
        });
        assert!(
            index == 1 && matches!(fault, StepFault::Late { .. }),
            "{fault}"
        );
        let born = with_both_keys(profile, |steps| {
            steps[1]["expires_at"] = steps[1]["created_at"].clone();
        });
        assert_eq!(born, (1, StepFault::BornExpired));
        let born = with_both_keys(profile, |steps| {
            steps[0]["expires_at"] = steps[0]["created_at"].clone();
        });
        assert_eq!(born, (0, StepFault::BornExpired));
        for date in [
            "soon",
            "",
            "2026-02-30T12:00:00Z",
            "2026-03-01T12:00:00",
            "2026-03-01",
        ] {
            let mut steps = haggled(profile, 2);
            steps[1]["expires_at"] = json!(date);
            seal(profile, &mut steps, 0);
            assert_eq!(refused(&steps, &keys()).0, 1, "{date}");
        }
    }
}

/// It holds, for clocks differ, but it is said.
#[test]
fn xx_3_a_step_that_is_dated_before_the_one_it_answers_is_marked() {
    for profile in PROFILES {
        let mut steps = haggled(profile, 2);
        steps[2]["created_at"] = json!("2026-03-01T11:59:00Z");
        seal(profile, &mut steps, 0);
        let chain = judge(&steps, &keys()).unwrap();
        let marked: Vec<_> = chain.steps.iter().map(|step| step.is_dated_back).collect();
        assert_eq!(marked, [false, false, true]);
    }
}

#[test]
fn xx_4_the_twentieth_counter_is_refused_and_rounds_cannot_be_set_back() {
    for profile in PROFILES {
        assert!(judge(&haggled(profile, 19), &keys()).is_ok());
        let (index, fault) = refused(&haggled(profile, 20), &keys());
        assert_eq!(index, 20);
        let expected = StepFault::TooManyRounds {
            round: 21,
            max_rounds: 20,
        };
        assert_eq!(fault, expected);
        // The last terms can still be answered.
        let mut steps = haggled(profile, 19);
        steps.push(answer(profile, &steps[19], "ACCEPT", ADA));
        seal(profile, &mut steps, 20);
        assert!(judge(&steps, &keys()).is_ok());

        let rounds: [(Change, usize); 5] = [
            (|steps| steps[2]["round_number"] = json!(2), 2),
            (|steps| steps[2]["round_number"] = json!(4), 2),
            (|steps| steps[0]["round_number"] = json!(2), 0),
            (|steps| steps[2]["max_rounds"] = json!(99), 2),
            (
                |steps| {
                    steps
                        .iter_mut()
                        .for_each(|step| step["max_rounds"] = json!(2))
                },
                2,
            ),
        ];
        for (change, index) in rounds {
            assert_eq!(with_both_keys(profile, change).0, index);
        }
        // XX-4: three counts of the answer's round; each profile has its own.
        let other = match profile {
            Profile::Sdk => 3,
            Profile::Reference => 4,
        };
        let mut steps = haggled(profile, 2);
        steps.push(answer(profile, &steps[2], "ACCEPT", BERT));
        steps[3]["round_number"] = json!(other);
        seal(profile, &mut steps, 3);
        assert!(matches!(
            refused(&steps, &keys()),
            (3, StepFault::Round { .. })
        ));
    }
}

#[test]
fn xn_4_parties_stay_the_same_two() {
    let changes: [(Change, usize); 8] = [
        (|steps| steps[2]["from_agent"] = json!(EVE), 2),
        (|steps| steps[2]["to_agent"] = json!(EVE), 2),
        (|steps| steps[2]["to_agent"] = json!(ADA), 2),
        (|steps| steps[0]["to_agent"] = json!(ADA), 0),
        (
            |steps| steps[2]["negotiation_id"] = json!("neg_00000000"),
            2,
        ),
        (
            |steps| steps[2]["parent_negotiation_id"] = json!("neg_00000000"),
            2,
        ),
        (|steps| steps[0]["state"] = json!("COUNTER"), 0),
        (|steps| drop(steps.remove(0)), 0),
    ];
    for profile in PROFILES {
        for (change, index) in changes {
            let (found, fault) = with_both_keys(profile, change);
            assert_eq!(found, index, "{fault}");
        }
    }
}

#[test]
fn xn_6_links_are_to_the_step_before_and_to_no_other() {
    for profile in PROFILES {
        let zeros = format!("sha256:{}", "0".repeat(64));
        let good = haggled(profile, 3);
        let links = [
            json!(zeros),
            json!(link(profile, &good[0])),
            json!(link(profile, &good[2])),
        ];
        for other in links {
            let mut bad = good.clone();
            bad[2]["previous_state_hash"] = other;
            sign(profile, &mut bad[2], 1);
            assert_eq!(refused(&bad, &keys()), (2, StepFault::Link));
        }
        let mut none = good.clone();
        none[2]
            .as_object_mut()
            .unwrap()
            .remove("previous_state_hash");
        sign(profile, &mut none[2], 1);
        assert_eq!(refused(&none, &keys()), (2, StepFault::Link));
        let mut first = good;
        first[0]["previous_state_hash"] = json!(zeros);
        sign(profile, &mut first[0], 1);
        assert_eq!(refused(&first, &keys()), (0, StepFault::NoOffer));
    }
}

/// Profiles are never mixed, in links or in signatures.
#[test]
fn xx_1_a_chain_has_one_profile() {
    for profile in PROFILES {
        let other = match profile {
            Profile::Sdk => Profile::Reference,
            Profile::Reference => Profile::Sdk,
        };
        for from in 1..4 {
            let mut steps = published(profile);
            seal(other, &mut steps, from);
            let (index, fault) = refused(&steps, &keys());
            assert_eq!(index, from);
            assert!(
                matches!(fault, StepFault::Mixed { what: "link", found } if found == other),
                "{fault}"
            );
            let mut steps = published(profile);
            let seed = crate::forger::seed(&steps[from]["from_agent"]);
            sign(other, &mut steps[from], seed);
            let (index, fault) = refused(&steps, &keys());
            assert_eq!(index, from);
            assert!(
                matches!(fault, StepFault::Mixed { what: "signature", found } if found == other),
                "{fault}"
            );
        }
    }
}
