//! Receipts that say two things which cannot both be true, written by a ledger that seals everything anew:
//! each is broken, or what it does not show is counted as not checked.

use serde_json::{Value, json};
use x811_audit::receipt::{Checked, ClaimVerdict, Receipt, verify_compact};
use x811_protocol::evm::EvmAddress;
use x811_protocol::money::MicroUsdc;
use x811_protocol::time::TimestampMs;

use super::contract::paid_under_contract;
use super::covers::at;
use super::deal::TOTAL_MICRO_USDC;
use super::keys::rotated_before;
use super::paper::{Paper, impatient, paid, paid_apart};

/// Words of the sentence that shows a change, and the change.
type Change<'a> = (&'a str, &'a dyn Fn(&mut Receipt));

const YEAR_S: u64 = 31_536_000;

fn later(value: &mut Value, by: u64) {
    *value = json!(value.as_u64().unwrap() + by);
}

fn network(receipt: &mut Receipt) -> &mut Value {
    &mut receipt.parameters.event["networks"][0]
}

/// The sentence of what it says that nobody checked about that.
fn not_checked(checked: &Checked, about: &str) -> Option<String> {
    let mut steps = checked.steps.iter();
    let step = steps.find(|step| step.about == about && step.verdict == ClaimVerdict::NotChecked);
    step.map(|step| step.sentence.clone())
}

#[tokio::test]
async fn lc_5_a_block_from_later_than_its_record_breaks_a_receipt() {
    let (ledgerbox, deal) = paid().await;
    let paper = Paper::of(&ledgerbox, &deal).await;
    let block = "/evidence/0/block/timestamp_s";
    paper.on("transfers").breaks(&[
        ("a year later", "nobody could have seen it", &|bad| {
            later(at(bad, block), YEAR_S)
        }),
        (
            "twenty seconds later",
            "nobody could have seen it",
            &|bad| later(at(bad, block), 20),
        ),
        (
            "a head at the ACCEPT from later",
            "nobody could have seen it",
            &|bad| {
                bad.envelopes[1].derived.heads.as_mut().unwrap()[0].timestamp_s += YEAR_S;
            },
        ),
    ]);
    let soon = paper.forged(|good| later(at(good, block), 2));
    paper.holds(&soon);
    // Whoever runs such a chain sets its time.
    let own = paper.forged(|own| {
        network(own)["chain_id"] = json!(31_337);
        *at(own, "/claims/0/chain_id") = json!(31_337);
        later(at(own, block), YEAR_S);
    });
    let said = not_checked(&paper.holds(&own), "time").unwrap();
    assert!(said.contains("31337"), "{said}");
}

#[tokio::test]
async fn lc_5_a_block_from_later_than_its_record_breaks_a_compact_receipt() {
    let (ledgerbox, deal) = paid().await;
    let paper = Paper::of(&ledgerbox, &deal).await;
    let changes: [Change<'_>; 5] = [
        ("nobody could have seen it", &|bad| {
            later(at(bad, "/evidence/0/block/timestamp_s"), YEAR_S)
        }),
        ("surplus", &|bad| {
            bad.confirmed.event["surplus"] = json!((TOTAL_MICRO_USDC + 1).to_string());
        }),
        ("be the first one", &|bad| {
            *at(bad, "/provider_seq") = json!(1)
        }),
        ("one record for two messages", &|bad| {
            let offer = at(bad, "/records/offer").clone();
            *at(bad, "/records/result") = offer;
        }),
        ("number 3 of its stream", &|bad| {
            bad.confirmed.place.stream_seq = 3
        }),
    ];
    for (words, change) in changes {
        let mut receipt = paper.receipt.clone();
        change(&mut receipt);
        let compact = paper.compact_of(&receipt).unwrap();
        let checked = verify_compact(&compact, Some(&paper.policy));
        let last = checked.steps.last().unwrap();
        assert_eq!(last.verdict, ClaimVerdict::Broken, "{words}");
        assert!(last.sentence.contains(words), "{}", last.sentence);
    }
}

/// The signed OFFER names one account, and its record another.
#[tokio::test]
async fn lc_3_what_a_record_derives_is_what_follows_from_its_message() {
    let (ledgerbox, deal) = paid_apart().await;
    let paper = Paper::of(&ledgerbox, &deal).await;
    let body = &paper.receipt.envelopes[0].body;
    assert!(body["payload"]["payment_address"].is_string());
    let moved = |deadline: &mut Option<TimestampMs>| {
        *deadline = deadline.map(|at| at.saturating_add_ms(1));
    };
    paper.on("derived").breaks(&[
        ("another payee", "OFFER has payee", &|bad| {
            bad.envelopes[0].derived.payee = Some(EvmAddress::from_bytes([0x22; 20]));
        }),
        ("no payee", "OFFER has no payee", &|bad| {
            bad.envelopes[0].derived.payee = None
        }),
        (
            "the OFFER lives longer",
            "OFFER has deadline_at_ms",
            &|bad| moved(&mut bad.envelopes[0].derived.deadline_at_ms),
        ),
        (
            "the RESULT may come later",
            "ACCEPT has deadline_at_ms",
            &|bad| moved(&mut bad.envelopes[1].derived.deadline_at_ms),
        ),
        (
            "the PAYMENT may come later",
            "VERIFY has deadline_at_ms",
            &|bad| moved(&mut bad.envelopes[2].derived.deadline_at_ms),
        ),
        ("longer to confirm", "PAYMENT has deadline_at_ms", &|bad| {
            moved(&mut bad.envelopes[3].derived.deadline_at_ms)
        }),
        ("other windows", "deadline_at_ms", &|bad| {
            later(&mut bad.parameters.event["windows"]["result_ms"], 1)
        }),
        ("what an ACCEPT derives", "OFFER has heads", &|bad| {
            bad.envelopes[0].derived.heads = bad.envelopes[1].derived.heads.clone();
        }),
        ("what a proposal derives", "VERIFY has authority", &|bad| {
            bad.envelopes[2].derived.authority = Some(100);
        }),
        ("one network twice", "one of each network", &|bad| {
            let heads = bad.envelopes[1].derived.heads.as_mut().unwrap();
            heads.push(heads[0].clone());
        }),
    ]);
    paper
        .on("payee")
        .breaks(&[("the token is paid", "token contract", &|bad| {
            let payee = bad.envelopes[0].derived.payee.unwrap();
            network(bad)["token"] = json!(payee);
        })]);
    paper
        .on("transfers")
        .breaks(&[("too many transactions", "limit", &|bad| {
            bad.parameters.event["limits"]["hashes_per_interaction"] = json!(1);
        })]);
}

#[tokio::test]
async fn xn_9_a_contract_of_a_receipt_is_the_one_that_its_offer_fits() {
    let (ledgerbox, deal, _) = paid_under_contract(false).await;
    let paper = Paper::of(&ledgerbox, &deal).await;
    let contract = |bad: &mut Receipt| bad.envelopes[0].derived.contract.unwrap();
    let with_amount = |bad: &mut Receipt, micro_usdc: u64| {
        let amount = MicroUsdc::from_micro_usdc(micro_usdc).unwrap();
        let contract = contract(bad);
        bad.envelopes[0].derived.contract =
            Some(x811_protocol::event::EngagedContract { amount, ..contract });
    };
    paper.on("contract").breaks(&[
        ("a larger amount", "not what was agreed", &|bad| {
            with_amount(bad, TOTAL_MICRO_USDC + 1)
        }),
        ("half the amount", "not what was agreed", &|bad| {
            with_amount(bad, TOTAL_MICRO_USDC / 2)
        }),
        ("agreed on later", "after the REQUEST", &|bad| {
            let mut contract = contract(bad);
            contract.accept = bad.envelopes[0].place.position;
            bad.envelopes[0].derived.contract = Some(contract);
        }),
    ]);
    paper.on("derived").breaks(&[
        ("other parameters", "REQUEST has parameters", &|bad| {
            bad.envelopes[0].derived.parameters = Some(0)
        }),
        ("an agreement that is none", "REQUEST has", &|bad| {
            bad.envelopes[0].derived.signatures = Some(2);
        }),
    ]);
}

/// The quorum of endpoints in force at the confirmation may be a later one.
#[tokio::test]
async fn sw_26_evidence_by_fewer_endpoints_than_the_parameters_ask_for_is_not_checked() {
    let (ledgerbox, deal) = paid().await;
    let paper = Paper::of(&ledgerbox, &deal).await;
    assert_eq!(not_checked(&paper.holds(&paper.receipt), "endpoints"), None);
    for (quorum, endpoints, is_counted) in [
        (1, json!(["one"]), false),
        (2, json!(["one"]), true),
        (2, json!(["one", "two"]), false),
        (3, json!(["one", "two"]), true),
        (3, json!(["one", "three", "two"]), false),
    ] {
        let forged = paper.forged(|it| {
            network(it)["endpoint_quorum"] = json!(quorum);
            *at(it, "/evidence/0/endpoints") = endpoints.clone();
        });
        let checked = paper.holds(&forged);
        let said = not_checked(&checked, "endpoints");
        assert_eq!(said.is_some(), is_counted, "{quorum} {endpoints}");
        let mut steps = checked.steps.iter();
        assert!(!steps.any(|step| step.sentence.contains("agree")));
    }
}

#[tokio::test]
async fn lc_8_the_records_of_a_receipt_are_of_one_log() {
    let mut ledgerbox = impatient().await;
    let deal = rotated_before(&mut ledgerbox, "v").await;
    let paper = Paper::of(&ledgerbox, &deal).await;
    let accept = paper.receipt.envelopes[1].place;
    assert_eq!(
        accept.position,
        paper.receipt.envelopes[0].place.position + 1
    );
    paper.on("record").breaks(&[
        ("another record before it", "names another record", &|bad| {
            bad.envelopes[1].place.prev = bad.envelopes[0].place.prev
        }),
        ("older than the OFFER", "is older than", &|bad| {
            bad.envelopes[1].place.recorded_at_ms = bad.envelopes[0].place.recorded_at_ms - 1;
            bad.envelopes[1].derived.deadline_at_ms =
                bad.envelopes[1].derived.deadline_at_ms.map(|at| {
                    let by = accept.recorded_at_ms - bad.envelopes[1].place.recorded_at_ms;
                    at.saturating_sub_ms(by)
                });
        }),
        ("parameters from later", "is older than", &|bad| {
            bad.parameters.place.recorded_at_ms += YEAR_S * 1_000
        }),
        ("one number for two", "cannot be number", &|bad| {
            bad.envelopes[1].place.stream_seq = bad.envelopes[0].place.stream_seq
        }),
        (
            "a number that the log is too short for",
            "cannot be",
            &|bad| {
                bad.confirmed.place.stream_seq += 1_000;
                bad.end.end.last.as_mut().unwrap().seq += 1_000;
            },
        ),
        ("behind too few messages", "cannot be record", &|bad| {
            bad.confirmed.place.stream_seq = 5
        }),
    ]);
    paper.on("sequence").breaks(&[
        ("the second without a first", "be the first one", &|bad| {
            *at(bad, "/provider_seq") = json!(1)
        }),
        ("the first behind another", "follow the receipt", &|bad| {
            bad.confirmed.event["provider_prev"] = json!("5b".repeat(32))
        }),
    ]);
}

#[tokio::test]
async fn lc_8_the_result_is_the_record_before_the_verify() {
    let (ledgerbox, deal) = paid().await;
    let paper = Paper::of(&ledgerbox, &deal).await;
    paper.on("messages").breaks(&[(
        "another RESULT",
        "another RESULT than the record before",
        &|bad| *at(bad, "/records/result") = json!("5b".repeat(32)),
    )]);
}
