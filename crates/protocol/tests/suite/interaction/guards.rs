//! Guards of REQUEST, OFFER, ACCEPT, RESULT and VERIFY (AE-11 to AE-16, AE-40, AE-97, AX-2, AX-15,
//! ledger-contract.md sections 3 and 4).

use x811_protocol::code::Code;
use x811_protocol::digest::Digest;
use x811_protocol::envelope::CoreType;
use x811_protocol::id::AgreementId;
use x811_protocol::interaction::StateName;
use x811_protocol::time::TimestampMs;

use super::chain::{OTHER, PAYEE, TOKEN, micro};
use super::messages::{Message, TOTAL};
use super::world::World;

/// Sends the fitting message, changed, and returns its code and HTTP status; a refused one must
/// leave no trace.
fn answer(
    state: StateName,
    kind: CoreType,
    change: impl FnOnce(&mut Message),
) -> Option<(Code, u16)> {
    let mut world = World::at(state);
    let mut message = world.draft(0, kind);
    change(&mut message);
    answer_in(&mut world, &message)
}

pub(crate) fn answer_in(world: &mut World, message: &Message) -> Option<(Code, u16)> {
    let (state, length) = (world.state(0).clone(), world.log.len());
    let refusal = world.send(0, message).refusal?;
    assert_eq!(*world.state(0), state, "AE-36: {refusal}");
    assert_eq!(world.log.len(), length, "AE-36: {refusal}");
    Some((refusal.code, refusal.http_status()))
}

const GUARD: Option<(Code, u16)> = Some((Code::InvalidStateTransition, 422));

/// A ledger that keeps no agreements takes no REQUEST under one (machines.md section 1).
#[test]
fn mach_1_a_request_under_an_agreement_that_nobody_keeps() {
    let mut world = World::new();
    let number = world.add_stream();
    let mut request = world.draft(number, CoreType::Request);
    let id = "0190a1b2-c3d4-7e5f-8901-234567890abc";
    request.request().agreement_id = Some(AgreementId::lenient(id).unwrap());
    let before = world.log.len();
    let refusal = world.send(number, &request).refusal.unwrap();
    assert_eq!((refusal.code, refusal.http_status()), GUARD.unwrap());
    assert_eq!(world.log.len(), before);
}

#[test]
fn ae_040_a_request_needs_an_active_provider_that_offers_the_task() {
    let table = [
        ("active", true, "financial-analysis", None),
        (
            "inactive",
            false,
            "financial-analysis",
            Some((Code::AgentNotFound, 404)),
        ),
        (
            "other task",
            true,
            "translation",
            Some((Code::CapabilityNotRegistered, 422)),
        ),
        (
            "other case",
            true,
            "Financial-Analysis",
            Some((Code::CapabilityNotRegistered, 422)),
        ),
        (
            "neither",
            false,
            "translation",
            Some((Code::AgentNotFound, 404)),
        ),
    ];
    for (label, active, task, expected) in table {
        let mut world = World::new();
        world.registry.provider.active = active;
        let number = world.add_stream();
        let mut request = world.draft(number, CoreType::Request);
        request.request().task_type = task.to_owned();
        let answer = world.send(number, &request).refusal;
        assert_eq!(
            answer.map(|a| (a.code, a.http_status())),
            expected,
            "AE-40: {label}"
        );
        assert_eq!(
            world.streams[0].state.is_none(),
            expected.is_some(),
            "AE-40: {label}"
        );
    }
}

#[test]
fn ax_002_the_budget_bounds_the_total_not_the_price() {
    let offer = |budget: u64| {
        let mut world = World::new();
        let number = world.add_stream();
        let mut request = world.draft(number, CoreType::Request);
        request.request().max_budget = micro(budget);
        world.send_ok(number, &request);
        let offer = world.draft(number, CoreType::Offer);
        answer_in(&mut world, &offer)
    };
    assert_eq!(offer(TOTAL), None, "AE-11, AX-2: equal");
    assert_eq!(offer(TOTAL - 1), GUARD, "AE-11, AX-2: one micro-USDC over");
    assert_eq!(
        offer(super::messages::PRICE),
        GUARD,
        "AX-2: the price alone would fit"
    );
}

#[test]
fn an_offer_with_less_than_five_seconds_to_live_is_refused() {
    let offered = |age_ms: u64, expiry_s: u64| {
        answer(StateName::Pending, CoreType::Offer, |message| {
            let created = super::world::World::new().now.saturating_sub_ms(age_ms);
            message.created_ms = Some(created);
            message.offer().expiry_s = expiry_s;
        })
    };
    assert_eq!(offered(0, 5), None, "exactly 5 s");
    assert_eq!(offered(1, 5), GUARD, "1 ms less");
    assert_eq!(offered(0, 4), GUARD);
    assert_eq!(offered(295_000, 86_400), None, "created + 300 s, 5 s left");
    assert_eq!(
        offered(295_001, 86_400),
        GUARD,
        "created + 300 s, 4.999 s left"
    );
    assert_eq!(offered(60_000, 30), GUARD, "ended before it arrived");
}

#[test]
fn ax_015_the_offer_fixes_the_payee_stated_or_registered() {
    let table = [
        ("stated", Some(OTHER), Some(PAYEE), Ok(OTHER)),
        ("stated, none registered", Some(OTHER), None, Ok(OTHER)),
        ("registered", None, Some(PAYEE), Ok(PAYEE)),
        (
            "neither",
            None,
            None,
            Err((Code::InvalidPaymentAddress, 400)),
        ),
        (
            "the token itself",
            Some(TOKEN),
            None,
            Err((Code::InvalidPaymentAddress, 400)),
        ),
        (
            "the token registered",
            None,
            Some(TOKEN),
            Err((Code::InvalidPaymentAddress, 400)),
        ),
    ];
    for (label, stated, registered, expected) in table {
        let mut world = World::at(StateName::Pending);
        world.registry.provider.wallet = registered;
        let mut offer = world.draft(0, CoreType::Offer);
        offer.offer().payment_address = stated;
        match expected {
            Err(refusal) => {
                assert_eq!(
                    answer_in(&mut world, &offer),
                    Some(refusal),
                    "AX-15: {label}"
                );
            }
            Ok(payee) => {
                let outcome = world.send_ok(0, &offer);
                let accepted = outcome.accepted();
                assert_eq!(accepted.derived.payee, Some(payee), "AX-15: {label}");
                assert_eq!(
                    world.state(0).offer().unwrap().payee,
                    payee,
                    "AX-15: {label}"
                );
            }
        }
    }
}

#[test]
fn ae_067_a_payee_registered_later_changes_nothing() {
    let mut world = World::at(StateName::Pending);
    let mut offer = world.draft(0, CoreType::Offer);
    offer.offer().payment_address = None;
    world.send_ok(0, &offer);
    world.registry.provider.wallet = Some(OTHER);
    world.walk(0, &[CoreType::Accept, CoreType::Result, CoreType::Verify]);
    assert_eq!(world.state(0).offer().unwrap().payee, PAYEE);
}

#[test]
fn ae_012_and_ae_091_an_accept_repeats_the_offer_s_hash() {
    let accepted = |hash: Digest| {
        answer(StateName::Offered, CoreType::Accept, |m| {
            m.accept().offer_hash = hash
        })
    };
    assert_eq!(accepted(Digest::of(b"offer")), None);
    let mismatch = Some((Code::OfferHashMismatch, 422));
    assert_eq!(
        accepted(Digest::of(b"")),
        mismatch,
        "the specification's own example"
    );
    assert_eq!(accepted(Digest::of(b"request")), mismatch);
}

#[test]
fn ae_030_a_provider_that_went_away_does_not_stop_a_running_interaction() {
    let mut world = World::at(StateName::Pending);
    world.registry.provider.active = false;
    world.registry.provider.capabilities = [].into();
    world.verify(0);
    assert_eq!(
        world.name(0),
        StateName::Verified,
        "ledger-contract.md section 4"
    );
}

#[test]
fn ae_015_ae_016_and_ae_097_the_hash_is_checked_whatever_the_verdict() {
    let mismatch = Some((Code::ResultHashMismatch, 422));
    let wrong = |message: &mut Message| message.verify().result_hash = Digest::of(b"other");
    assert_eq!(
        answer(StateName::Delivered, CoreType::Verify, wrong),
        mismatch,
        "AE-15, AE-62"
    );

    let mut world = World::at(StateName::Delivered);
    let mut dispute = world.draft_dispute(0);
    wrong(&mut dispute);
    assert_eq!(
        answer_in(&mut world, &dispute),
        mismatch,
        "AE-16, AE-97: 6001, not disputed"
    );
    assert_eq!(world.name(0), StateName::Delivered);
}

#[test]
fn ax_019_a_result_whose_content_does_not_match_is_still_delivered() {
    let mismatched = |message: &mut Message| message.result().content_matches = Some(false);
    assert_eq!(
        answer(StateName::Accepted, CoreType::Result, mismatched),
        None
    );
}

#[test]
fn ax_021_times_of_the_envelope_do_not_move_windows() {
    let mut world = World::at(StateName::Accepted);
    let mut result = world.draft(0, CoreType::Result);
    result.created_ms = Some(TimestampMs::new(world.now.as_ms() - 200_000));
    world.send_ok(0, &result);
    let expected = world.now.saturating_add_ms(30_000);
    assert_eq!(world.state(0).deadline(), Some(expected));
}
