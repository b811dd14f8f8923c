//! What the claimed transfers have to be: those that were declared, as deep and as young as the
//! rules ask for, and what the rule of choice takes for what was due (ledger-contract.md section 5).

use serde_json::{Value, json};
use x811_audit::receipt::Receipt;
use x811_protocol::digest::Digest;
use x811_protocol::event::PayerBinding;

use super::base::{PAYEE, TREASURY, tx};
use super::deal::TOTAL_MICRO_USDC;
use super::paper::{DEPTH, FEE_MICRO_USDC, Paper, paid, paid_apart, put};
use super::party::Account;

const STRANGER: &str = "0x00000000000000000000000000000000000000b1";
pub(crate) const PRICE_MICRO_USDC: u64 = TOTAL_MICRO_USDC - FEE_MICRO_USDC;

/// A member of the confirmation.
pub(crate) fn at<'a>(receipt: &'a mut Receipt, pointer: &str) -> &'a mut Value {
    receipt.confirmed.event.pointer_mut(pointer).unwrap()
}

fn push(receipt: &mut Receipt, pointer: &str, value: Value) {
    at(receipt, pointer).as_array_mut().unwrap().push(value);
}

fn transfer(receipt: &Receipt, ordinal: u64, to: &str, micro_usdc: u64) -> Value {
    let mut transfer = receipt.confirmed.event["evidence"][0]["transfers"][0].clone();
    transfer["ordinal"] = json!(ordinal);
    transfer["to"] = json!(to);
    transfer["amount"] = json!(micro_usdc.to_string());
    transfer
}

/// One more transfer in the first transaction, and claimed.
fn claim_more(receipt: &mut Receipt, to: &str, micro_usdc: u64) {
    let more = transfer(receipt, 1, to, micro_usdc);
    push(receipt, "/evidence/0/transfers", more);
    *at(receipt, "/evidence/0/transfer_count") = json!(2);
    let mut claim = at(receipt, "/claims/0").clone();
    claim["ordinal"] = json!(1);
    push(receipt, "/claims", claim);
}

fn network(receipt: &mut Receipt) -> &mut Value {
    &mut receipt.parameters.event["networks"][0]
}

/// The 1,000 USDC that somebody else got are nobody's payment here.
#[tokio::test]
async fn lc_5_transfers_cover_by_destination_amount_and_token() {
    let (ledgerbox, deal) = paid().await;
    let paper = Paper::of(&ledgerbox, &deal).await;
    let amount = "/evidence/0/transfers/0/amount";
    let treasury = TREASURY.to_string();
    let price = json!(PRICE_MICRO_USDC.to_string());
    let surplus = |micro_usdc: u64| json!(micro_usdc.to_string());
    let fitting = "not from the declared payer to payee or treasury";
    paper.on("transfers").breaks(&[
        ("1,000 USDC to a stranger", fitting, &|bad| {
            *at(bad, amount) = price.clone();
            claim_more(bad, STRANGER, 1_000_000_000);
        }),
        ("the whole to a stranger", fitting, &|bad| {
            *at(bad, "/evidence/0/transfers/0/to") = json!(STRANGER)
        }),
        (
            "the fee to a treasury that the ledger has not",
            fitting,
            &|bad| {
                *at(bad, amount) = price.clone();
                claim_more(bad, &treasury, FEE_MICRO_USDC);
                network(bad).as_object_mut().unwrap().remove("treasury");
            },
        ),
        (
            "the total to the treasury",
            "less than what was due",
            &|bad| *at(bad, "/evidence/0/transfers/0/to") = json!(treasury),
        ),
        ("a micro-USDC short", "less than what was due", &|bad| {
            *at(bad, amount) = json!((TOTAL_MICRO_USDC - 1).to_string())
        }),
        (
            "one more than it takes is claimed",
            "the rule of choice",
            &|bad| {
                claim_more(bad, &PAYEE.to_string(), 5);
                bad.confirmed.event["surplus"] = surplus(5);
            },
        ),
        ("a surplus that is none", "surplus", &|bad| {
            bad.confirmed.event["surplus"] = surplus(1)
        }),
        ("a surplus that is left out", "surplus", &|bad| {
            *at(bad, amount) = json!((TOTAL_MICRO_USDC + 1).to_string())
        }),
        ("a transfer of nothing", "of nothing", &|bad| {
            let more = transfer(bad, 1, &PAYEE.to_string(), 0);
            push(bad, "/evidence/0/transfers", more);
            *at(bad, "/evidence/0/transfer_count") = json!(2);
        }),
    ]);
}

#[tokio::test]
async fn lc_5_evidence_of_a_receipt_is_as_deep_and_as_young_as_the_rules_ask_for() {
    let (ledgerbox, deal) = paid().await;
    let paper = Paper::of(&ledgerbox, &deal).await;
    let heads = &paper.receipt.envelopes[1].derived.heads;
    let head = heads.as_ref().unwrap()[0].number;
    let accepted_s = paper.receipt.envelopes[1].place.recorded_at_ms / 1_000;
    let deep = "not as deep";
    paper.on("transfers").breaks(&[
        ("a block less deep", deep, &|bad| {
            *at(bad, "/evidence/0/depth") = json!(DEPTH - 1)
        }),
        ("seen alone", deep, &|bad| {
            *at(bad, "/evidence/0/level") = json!("seen")
        }),
        ("a deeper network", deep, &|bad| {
            network(bad)["confirmed_depth"] = json!(1_000)
        }),
        ("a total that waits for safe", "safe", &|bad| {
            network(bad)["safe_above"] = json!((TOTAL_MICRO_USDC - 1).to_string())
        }),
        ("depth where heads decide", "safe", &|bad| {
            network(bad)["safe_above"] = json!((TOTAL_MICRO_USDC - 1).to_string());
            network(bad)["final_by"] = json!("tag");
            *at(bad, "/evidence/0/depth") = json!(10_000);
        }),
        ("a named head where depth decides", "safe", &|bad| {
            network(bad)["safe_above"] = json!((TOTAL_MICRO_USDC - 1).to_string());
            network(bad)["final_by"] = json!("depth");
            *at(bad, "/evidence/0/level") = json!("final");
        }),
        ("at the ACCEPT's head", "older than the ACCEPT", &|bad| {
            *at(bad, "/evidence/0/block/number") = json!(head)
        }),
        (
            "no head at the ACCEPT, and before it",
            "older than the ACCEPT",
            &|bad| {
                bad.envelopes[1].derived.heads = None;
                *at(bad, "/evidence/0/block/timestamp_s") = json!(accepted_s - 3);
            },
        ),
    ]);
    let to_the_limit = paper.forged(|good| {
        network(good)["safe_above"] = json!(TOTAL_MICRO_USDC.to_string());
        *at(good, "/evidence/0/depth") = json!(DEPTH);
        *at(good, "/evidence/0/block/number") = json!(head + 1);
    });
    paper.holds(&to_the_limit);
}

#[tokio::test]
async fn lc_5_evidence_of_a_receipt_is_what_somebody_can_have_seen() {
    let (ledgerbox, deal) = paid().await;
    let paper = Paper::of(&ledgerbox, &deal).await;
    paper.on("transfers").breaks(&[
        ("nobody showed it", "no endpoint", &|bad| {
            *at(bad, "/evidence/0/endpoints") = json!([])
        }),
        ("beyond the count", "beyond", &|bad| {
            *at(bad, "/evidence/0/transfer_count") = json!(0)
        }),
        ("out of order", "in order", &|bad| {
            let more = transfer(bad, 0, &PAYEE.to_string(), 7);
            push(bad, "/evidence/0/transfers", more);
        }),
    ]);
    paper.on("network").breaks(&[(
        "another network of the ledger",
        "than the PAYMENT says",
        &|bad| {
            let mut other = network(bad).clone();
            other["name"] = json!("other");
            let networks = &mut bad.parameters.event["networks"];
            networks.as_array_mut().unwrap().push(other);
            *at(bad, "/evidence/0/network") = json!("other");
        },
    )]);
}

#[tokio::test]
async fn lc_5_each_claim_is_of_a_declared_transaction_in_its_order() {
    let (ledgerbox, deal) = paid_apart().await;
    let paper = Paper::of(&ledgerbox, &deal).await;
    let swap =
        |bad: &mut Receipt, pointer: &str| at(bad, pointer).as_array_mut().unwrap().reverse();
    paper.on("transfers").breaks(&[
        ("claims swapped", "the rule of choice", &|bad| {
            swap(bad, "/claims");
            swap(bad, "/evidence");
        }),
        ("evidence swapped", "one evidence for each", &|bad| {
            swap(bad, "/evidence")
        }),
        (
            "evidence of what is not claimed",
            "one evidence for each",
            &|bad| drop(at(bad, "/claims").as_array_mut().unwrap().pop()),
        ),
        ("two blocks of one height", "two blocks", &|bad| {
            *at(bad, "/evidence/1/block/hash") = json!(tx(9))
        }),
        ("on two chains", "several networks", &|bad| {
            *at(bad, "/claims/1/chain_id") = json!(1)
        }),
    ]);
}

/// The ledger and the initiator together: a PAYMENT that no ledger takes.
#[tokio::test]
async fn lc_4_payments_of_a_receipt_are_what_a_ledger_takes() {
    let (ledgerbox, deal) = paid().await;
    let paper = Paper::of(&ledgerbox, &deal).await;
    let stranger = Account::new(0x47).address.to_checksum();
    let payment = |member: &str, to: Value| {
        let mut body = paper.receipt.envelopes[3].body.clone();
        body["payload"][member] = to;
        let payload = body["payload"].clone();
        let letter = ledgerbox.letter("x811/payment", &deal.provider, payload);
        let sealed = deal.initiator.seal(&letter);
        move |bad: &mut Receipt, key| put(bad, 3, &sealed, key)
    };
    let key = &deal.initiator.key;
    let to_another = payment("payee_address", json!(stranger));
    let too_little = payment("amount", json!("1"));
    let by_another = payment("payer_address", json!(stranger));
    let of_another = payment("tx_hash", json!(tx(9)));
    let elsewhere = payment("network", json!("other"));
    let foreign = payment("authorization_nonce", json!(Digest::of(b"another")));
    let again = |bad: &mut Receipt| {
        let payment = bad.envelopes[3].clone();
        bad.envelopes.push(payment);
    };
    let before = |bad: &mut Receipt| bad.envelopes[2].place.position = 1;
    let binding = |bad: &mut Receipt, binding| bad.envelopes[3].derived.payer_binding = binding;
    paper.on("transfers").breaks(&[
        ("payee", "another account", &|bad| to_another(bad, key)),
        ("amount", "less was paid", &|bad| too_little(bad, key)),
        ("payer", "no PAYMENT of its payer", &|bad| {
            by_another(bad, key)
        }),
        ("hash", "no PAYMENT of its payer", &|bad| {
            of_another(bad, key)
        }),
        ("nonce", "this interaction's nonce", &|bad| {
            foreign(bad, key)
        }),
        ("not checked", "the parameters do not have", &|bad| {
            binding(bad, Some(PayerBinding::Unchecked))
        }),
        (
            "an authorization that the PAYMENT does not name",
            "does not name this interaction's nonce",
            &|bad| binding(bad, Some(PayerBinding::Authorization)),
        ),
    ]);
    paper
        .on("network")
        .breaks(&[("network", "has not", &|bad| elsewhere(bad, key))]);
    paper.on("terms").breaks(&[
        ("twice", "in the order", &again),
        ("too early", "in the order", &before),
    ]);
    paper
        .on("wallets")
        .breaks(&[("no binding", "how its payer is bound", &|bad| {
            binding(bad, None)
        })]);
}
