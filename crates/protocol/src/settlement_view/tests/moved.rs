//! What a reorganisation takes and brings back, and what waits although it is deep.

use super::*;

/// A look finds it deep and waiting, which only what came in too many parts does.
#[test]
fn rule_15_what_waits_in_too_many_transfers_is_told() {
    let mut look = looked(1, 7, "seen");
    look["finding"][0]["depth"] = json!(13);
    let events = [payment(7), seen(7, 14), look];
    let view = verified(&events, due_look(1));
    assert_eq!(view.standing, MoneyStanding::TooManyTransfers);
    assert_eq!(view.paid, ProviderPaid::NotYet);
    assert!(
        view.sentence
            .contains("the largest 64 do not cover the total")
    );
}

/// Confirmed, taken away, back, and away again: at each step the view says what the machine holds.
#[test]
fn sw_24_what_is_in_no_block_at_the_moment_is_not_paid() {
    let tx_hash = hash(7).parse().unwrap();
    let in_no_block = (MoneyStanding::InNoBlock { tx_hash }, ProviderPaid::NotYet);
    let reversed_now = (MoneyStanding::Reversed { tx_hash }, ProviderPaid::No);
    let steps = [
        (
            confirmed("confirmed"),
            (MoneyStanding::Confirmed, ProviderPaid::Yes),
        ),
        (named("unseen", 7), in_no_block),
        (seen(7, 21), (MoneyStanding::Confirmed, ProviderPaid::Yes)),
        (named("unseen", 7), in_no_block),
        (reversed(7), reversed_now),
        (seen(7, 23), reversed_now),
        (named("unseen", 7), reversed_now),
        (seen(7, 24), reversed_now),
        (
            named("returned", 7),
            (MoneyStanding::Returned, ProviderPaid::Yes),
        ),
        (named("unseen", 7), in_no_block),
        (reversed(7), reversed_now),
    ];
    let mut events = vec![payment(7)];
    for (place, (event, expected)) in steps.into_iter().enumerate() {
        events.push(event);
        let view = verified(&events, watch());
        assert_eq!((view.standing, view.paid), expected, "{place}");
    }
    let sentence = |until: usize| verified(&events[..=until], watch()).sentence;
    assert_eq!(
        sentence(2),
        format!(
            "confirmed, but {} is at the moment in no block: a reorganisation took it out; it counts \
             again if it comes back until 2026-01-02T00:00:06.000Z",
            hash(7)
        )
    );
    assert!(sentence(6).ends_with(
        "disappeared; it is in block 23 again, and counts once it is deep enough, if that is until \
         2026-01-02T00:00:06.000Z"
    ));
}

/// A late payment is no different: what is in no block is not there.
#[test]
fn sw_24_a_late_payment_in_no_block_is_not_paid() {
    let mut events = vec![payment(7)];
    events.extend((1..=4).map(|look| looked(look, 7, "not_found")));
    let tx_hash = hash(7).parse().unwrap();
    let steps = [
        (
            late(7, 29_725),
            (MoneyStanding::Late { in_full: true }, ProviderPaid::Yes),
        ),
        (
            named("unseen", 7),
            (MoneyStanding::InNoBlock { tx_hash }, ProviderPaid::NotYet),
        ),
        (
            reversed(7),
            (MoneyStanding::Reversed { tx_hash }, ProviderPaid::No),
        ),
    ];
    for (event, expected) in steps {
        events.push(event);
        let view = verified(&events, watch());
        assert_eq!((view.standing, view.paid), expected);
    }
    // Of a part of what is due nothing was paid before, either.
    let part = [&events[..5], &[late(7, 29_000), named("unseen", 7)]].concat();
    let view = verified(&part, watch());
    assert_eq!(view.standing, MoneyStanding::Late { in_full: false });
}
