//! Six windows: where silence leads, and when exactly (AE-18 to AE-22, AE-98 to AE-103, AX-5, AX-9,
//! AX-34, AX-35, ledger-contract.md section 1.3).

use x811_protocol::code::Code;
use x811_protocol::envelope::CoreType;
use x811_protocol::event::{Event, Lapsed, Window};
use x811_protocol::interaction::table::{LAPSES, lapse_of};
use x811_protocol::interaction::{Interaction, State, StateName};
use x811_protocol::machine::{Machine, Recorded};
use x811_protocol::time::TimestampMs;

use super::messages::Message;
use super::world::{World, hash_at};

pub(crate) const WINDOWS: [Window; 6] = [
    Window::Offer,
    Window::Accept,
    Window::Result,
    Window::Verify,
    Window::Payment,
    Window::Confirmation,
];

/// AE-98 in one place: history, window, its length, where it leads, the code, the message that is
/// awaited.
struct Row {
    requirement: &'static str,
    reached: fn() -> World,
    window: Window,
    length_ms: u64,
    to: StateName,
    code: Code,
    awaited: CoreType,
}

fn rows() -> [Row; 6] {
    [
        Row {
            requirement: "AE-18, AX-9",
            reached: || World::at(StateName::Pending),
            window: Window::Offer,
            length_ms: 60_000,
            to: StateName::Expired,
            code: Code::RequestTimeout,
            awaited: CoreType::Offer,
        },
        Row {
            requirement: "AE-19",
            reached: || World::at(StateName::Offered),
            window: Window::Accept,
            length_ms: 300_000,
            to: StateName::Expired,
            code: Code::OfferExpired,
            awaited: CoreType::Accept,
        },
        Row {
            requirement: "AE-20, AX-6",
            reached: || World::at(StateName::Accepted),
            window: Window::Result,
            length_ms: 3_600_000,
            to: StateName::Expired,
            code: Code::ResultTimeout,
            awaited: CoreType::Result,
        },
        Row {
            requirement: "AE-21",
            reached: || World::at(StateName::Delivered),
            window: Window::Verify,
            length_ms: 30_000,
            to: StateName::Failed,
            code: Code::VerifyTimeout,
            awaited: CoreType::Verify,
        },
        Row {
            requirement: "AE-22",
            reached: || World::at(StateName::Verified),
            window: Window::Payment,
            length_ms: 60_000,
            to: StateName::Disputed,
            code: Code::PaymentTimeout,
            awaited: CoreType::Payment,
        },
        Row {
            requirement: "AE-104",
            reached: World::watching,
            window: Window::Confirmation,
            length_ms: 30_000,
            to: StateName::Verified,
            code: Code::PaymentConfirmationTimeout,
            awaited: CoreType::Payment,
        },
    ]
}

#[test]
fn ae_098_the_six_windows_lead_where_the_specification_says() {
    for row in rows() {
        assert_leads(&row);
    }
}

#[test]
fn ae_018_and_ax_009_a_request_without_an_offer_for_sixty_seconds_expires() {
    assert_leads(&row(Window::Offer));
}

#[test]
fn ae_019_an_offer_without_an_answer_for_five_minutes_expires() {
    assert_leads(&row(Window::Accept));
}

#[test]
fn ae_020_an_acceptance_without_a_result_for_an_hour_expires() {
    assert_leads(&row(Window::Result));
}

#[test]
fn ae_021_a_result_without_a_verdict_for_thirty_seconds_fails() {
    assert_leads(&row(Window::Verify));
}

#[test]
fn ae_022_a_verdict_without_a_payment_for_sixty_seconds_is_disputed() {
    assert_leads(&row(Window::Payment));
}

fn row(window: Window) -> Row {
    let mut rows = rows().into_iter();
    rows.find(|row| row.window == window).unwrap()
}

fn assert_leads(row: &Row) {
    let mut world = (row.reached)();
    let (state, opener) = (world.state(0).clone(), world.state(0).opener());
    let label = format!("{}: {:?}", row.requirement, row.window);
    let deadline = world.now.saturating_add_ms(row.length_ms);
    assert_eq!(Interaction::deadline(&state), Some(deadline), "{label}");
    assert_eq!(state.open_window(), Some(row.window), "{label}");

    world.now = deadline;
    let outcome = world.tick(0);
    assert_eq!(outcome.events, [], "AX-34, {label}: at the limit");
    assert_eq!(*world.state(0), state, "AX-34, {label}: at the limit");

    world.advance_ms(1);
    let outcome = world.tick(0);
    let lapsed = Event::Lapsed(Lapsed {
        window: row.window.into(),
        code: row.code,
    });
    assert_eq!(outcome.events, [lapsed], "AE-99, AE-101, {label}");
    assert_eq!(outcome.lapses, [row.code], "AE-102, {label}");
    assert_eq!(world.name(0), row.to, "AE-101, {label}");
    assert_eq!(
        world.state(0).opener(),
        opener,
        "AX-32, {label}: notices name the opener"
    );
    if row.to.is_terminal() {
        assert_eq!(world.closing_code(0), Some(row.code), "AE-102, {label}");
    }
    assert_eq!(world.tick(0).events, [], "{label}: lapses once");
}

#[test]
fn ae_103_nothing_is_accepted_after_the_end() {
    for row in rows().into_iter().take(5) {
        for kind in super::messages::MOVES {
            let mut world = (row.reached)();
            world.advance_ms(row.length_ms + 1);
            assert_eq!(world.tick(0).types(), ["lapsed"], "{:?}", row.window);
            let message = world.draft(0, kind);
            let label = format!("AE-103, {:?}: {kind}", row.window);
            super::cells::assert_refused(&mut world, &message, &label);
        }
    }
}

#[test]
fn ax_034_a_message_at_the_limit_is_in_time_and_one_past_it_finds_the_lapse() {
    for row in rows().into_iter().take(5) {
        let label = format!("AX-34, {}: {:?}", row.requirement, row.window);
        let reached = (row.reached)();
        let message = reached.draft(0, row.awaited);

        let mut in_time = reached.clone();
        in_time.advance_ms(row.length_ms);
        let outcome = in_time.send(0, &message);
        assert_eq!(outcome.code(), None, "{label} at the limit");
        assert_eq!(
            outcome.types(),
            ["envelope_accepted"],
            "{label} at the limit"
        );

        let mut late = reached.clone();
        late.advance_ms(row.length_ms + 1);
        let outcome = late.send(0, &message);
        assert_eq!(
            outcome.code(),
            Some(row.code),
            "AX-35, {label}: gets the lapse's code"
        );
        assert_eq!(
            outcome.types(),
            ["lapsed"],
            "AX-35, {label}: the lapse is recorded"
        );
        assert_eq!(late.name(0), row.to, "{label}");
        assert_later_is_refused(&mut late, &message, &label);
    }
}

#[test]
fn ae_099_and_ae_100_a_tick_every_thirty_seconds_finds_every_lapse() {
    for row in rows() {
        let mut world = (row.reached)();
        let deadline = Interaction::deadline(world.state(0)).unwrap();
        while world.tick(0).events.is_empty() {
            assert!(world.now <= deadline, "AE-100: {:?} was missed", row.window);
            world.advance_ms(30_000);
        }
        assert!(
            world.now.since(deadline) <= 30_000,
            "AE-100: {:?}",
            row.window
        );
        assert_eq!(world.name(0), row.to, "AE-101: {:?}", row.window);
    }
}

#[test]
fn ae_102_the_lapse_says_what_both_parties_are_told() {
    for row in rows().into_iter().take(5) {
        let mut world = (row.reached)();
        world.advance_ms(row.length_ms + 1);
        let message = world.draft(0, row.awaited);
        let refusal = world.send(0, &message).refusal.unwrap();
        let label = format!("AE-102: {:?}", row.window);
        assert_eq!(refusal.code, row.code, "{label}");
        assert_eq!(refusal.http_status(), 422, "{label}");
        assert!(
            refusal.message.contains("passed"),
            "{label}: {}",
            refusal.message
        );
        let later = world.send(0, &message).refusal.unwrap();
        assert!(
            later.message.contains(row.code.as_str()),
            "{label}: {}",
            later.message
        );
    }
}

fn assert_later_is_refused(world: &mut World, message: &Message, label: &str) {
    world.advance_ms(1);
    super::cells::assert_refused(world, message, &format!("AE-103, {label}: a later one"));
}

#[test]
fn ax_035_a_message_of_any_kind_first_applies_what_is_due() {
    for row in rows().into_iter().take(5) {
        for kind in super::messages::MOVES {
            for sender in super::messages::SENDERS {
                let mut world = (row.reached)();
                world.advance_ms(row.length_ms + 1);
                let message = world.draft(0, kind).sent_by(sender);
                let outcome = world.send(0, &message);
                let label = format!("AX-35: late {kind} from {sender:?}, {:?}", row.window);
                assert_eq!(outcome.types(), ["lapsed"], "{label}");
                assert_eq!(outcome.code(), Some(row.code), "{label}");
            }
        }
    }
}

#[test]
fn ax_035_a_payment_that_finds_the_confirmation_window_passed_is_still_taken() {
    let mut world = World::watching();
    world.advance_ms(30_001);
    let outcome = world.pay(0, 2);
    assert_eq!(outcome.types(), ["lapsed", "envelope_accepted"]);
    assert_eq!(outcome.lapses, [Code::PaymentConfirmationTimeout]);
    assert_eq!(world.name(0), StateName::Verified);
}

#[test]
fn ae_101_ten_states_by_six_windows() {
    let histories = StateName::ALL.map(World::at).into_iter();
    for world in histories.chain([World::watching(), World::looking()]) {
        for window in WINDOWS {
            let rule = lapse_of(window);
            let state = world.state(0).clone();
            let is_open = state.open_window() == Some(window);
            let label = format!("AE-101: {} + {window:?}, open: {is_open}", state.name());
            match evolve_lapse(&state, window, rule.code, TimestampMs::MAX) {
                Some(after) => {
                    assert!(is_open, "{label}");
                    assert_eq!(
                        (rule.from, rule.to),
                        (state.name(), after.name()),
                        "{label}"
                    );
                }
                None => assert!(!is_open, "{label}"),
            }
            let in_time = Interaction::deadline(&state).unwrap_or(world.now);
            assert_eq!(
                evolve_lapse(&state, window, rule.code, in_time),
                None,
                "AX-34, {label}"
            );
            let other = evolve_lapse(&state, window, Code::InternalError, TimestampMs::MAX);
            assert_eq!(other, None, "AE-37, {label}: another code");
        }
    }
}

fn evolve_lapse(state: &State, window: Window, code: Code, at: TimestampMs) -> Option<State> {
    let event = Event::Lapsed(Lapsed {
        window: window.into(),
        code,
    });
    let recorded = Recorded {
        event: &event,
        position: 99,
        hash: hash_at(99),
        recorded_at_ms: at,
        parameters: None,
    };
    Interaction::evolve(Some(state.clone()), &recorded).ok()
}

#[test]
fn ae_098_one_rule_for_each_window_in_the_order_of_the_enum() {
    for (window, row) in WINDOWS.into_iter().zip(LAPSES) {
        assert_eq!(row.window, window);
        assert_eq!(*lapse_of(window), row);
    }
}

#[test]
fn ax_033_an_interaction_keeps_the_windows_it_was_opened_under() {
    let mut world = World::at(StateName::Pending);
    let mut shorter = super::world::parameters();
    shorter.windows.accept_ms = 10_000;
    shorter.windows.result_ms = 2_000;
    world.set_parameters(shorter);
    world.walk(0, &[CoreType::Offer, CoreType::Accept]);
    let expected = world.now.saturating_add_ms(3_600_000);
    assert_eq!(Interaction::deadline(world.state(0)), Some(expected));

    let second = world.open();
    world.walk(second, &[CoreType::Offer]);
    let expected = world.now.saturating_add_ms(10_000);
    assert_eq!(Interaction::deadline(world.state(second)), Some(expected));
    world.walk(second, &[CoreType::Accept]);
    let expected = world.now.saturating_add_ms(2_000);
    assert_eq!(Interaction::deadline(world.state(second)), Some(expected));
    assert_eq!(
        world.replayed(),
        [Some(world.state(0).clone()), Some(world.state(1).clone())]
    );
}

/// AX-5: (created before now, expiry, expected life from now), in ms and s.
const OFFER_LIVES: [(&str, i64, u64, u64); 7] = [
    ("created + expiry is the least", 0, 60, 60_000),
    (
        "an expiry over 300 s is capped silently",
        0,
        86_400,
        300_000,
    ),
    ("exactly 300 s", 0, 300, 300_000),
    ("created + 300 s is the least", 100_000, 86_400, 200_000),
    ("created earlier, short expiry", 40_000, 60, 20_000),
    (
        "created in the future, receipt + 300 s is the least",
        -100_000,
        86_400,
        300_000,
    ),
    ("created in the future, short expiry", -100_000, 60, 160_000),
];

#[test]
fn ax_005_an_offer_ends_at_the_earliest_of_three() {
    for (label, age_ms, expiry_s, life_ms) in OFFER_LIVES {
        let mut world = World::at(StateName::Pending);
        let mut offer = world.draft(0, CoreType::Offer);
        offer.offer().expiry_s = expiry_s;
        let created = world.now.as_ms().checked_add_signed(-age_ms).unwrap();
        offer.created_ms = Some(TimestampMs::new(created));
        let outcome = world.send_ok(0, &offer);
        let deadline = world.now.saturating_add_ms(life_ms);
        assert_eq!(
            Interaction::deadline(world.state(0)),
            Some(deadline),
            "AX-5: {label}"
        );
        let accepted = outcome.accepted();
        assert_eq!(
            accepted.derived.deadline_at_ms,
            Some(deadline),
            "AX-5: {label}"
        );

        let accept = world.draft(0, CoreType::Accept);
        let mut late = world.clone();
        world.now = deadline;
        assert_eq!(world.send(0, &accept).code(), None, "AX-5, AX-34: {label}");
        late.now = deadline.saturating_add_ms(1);
        let outcome = late.send(0, &accept);
        assert_eq!(outcome.code(), Some(Code::OfferExpired), "AX-5: {label}");
        assert_eq!(outcome.types(), ["lapsed"], "AX-5: {label}");
        let code = late.send(0, &accept).code();
        assert_eq!(
            code,
            Some(Code::InvalidStateTransition),
            "AX-5: {label}, later"
        );
    }
}

#[test]
fn ax_006_the_offer_s_end_does_not_bound_the_work() {
    let mut world = World::at(StateName::Pending);
    let mut offer = world.draft(0, CoreType::Offer);
    offer.offer().expiry_s = 10;
    world.send_ok(0, &offer);
    world.walk(0, &[CoreType::Accept]);
    world.advance_ms(3_600_000);
    world.walk(0, &[CoreType::Result]);
    assert_eq!(world.name(0), StateName::Delivered);
}
