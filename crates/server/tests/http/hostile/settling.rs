//! The windows that the chain's clock closes, five seconds before and after (AE-98, AE-104, AX-34):
//! the confirmation, and a look that is due. A transfer that is confirmed in time ends the wait, one
//! that is late finds what has passed recorded before it.

use super::races::{TX, events, shown};
use crate::base::Base;
use crate::world::{Agent, Deal, PATIENCE, World};
use serde_json::{Value, json};

/// From a PAYMENT to its confirmation.
const CONFIRMATION_MS: u64 = 30_000;

/// From what was not confirmed to the first look.
const FIRST_LOOK_MS: u64 = 5_000;

/// Between two blocks.
const BLOCK_MS: u64 = 2_000;

/// Blocks after the transfer's own at which it is confirmed.
const DEEPER: u64 = 2;

/// What a [`Deal`] costs.
const TOTAL_MICRO_USDC: u64 = 10_250_000;

/// Another transaction than [`TX`].
const OTHER_TX: &str = "0x00000000000000000000000000000000000000000000000000000000000000bb";

/// A network, a ledger that watches it, and two agents, once the network is seen.
async fn stage(base: &Base) -> (World, Agent, Agent) {
    let world = base.watched().await;
    let (initiator, provider) = (world.agent().await, world.agent().await);
    base.watch_ms(&world, BLOCK_MS).await;
    (world, initiator, provider)
}

/// Events of the interaction once one is of that type.
async fn until(deal: &Deal<'_>, event: &str) -> Vec<Value> {
    let happened = async {
        loop {
            let events = events(deal).await;
            if events.contains(&json!(event)) {
                break events;
            }
            tokio::task::yield_now().await;
        }
    };
    match tokio::time::timeout(PATIENCE, happened).await {
        Ok(events) => events,
        Err(_) => panic!("no {event}: {:?}", events(deal).await),
    }
}

/// How many of the events are of that type.
fn count(events: &[Value], event: &str) -> usize {
    events.iter().filter(|found| **found == event).count()
}

/// Where the first event of that type stands.
fn at(events: &[Value], event: &str) -> usize {
    events.iter().position(|found| found == event).unwrap()
}

/// How often the agent was told that the confirmation is late, once that is `times` or no more
/// comes: the inbox follows the log.
async fn told(world: &World, agent: &Agent, times: usize) -> usize {
    let notices = async || {
        let inbox = world.inbox(agent).await;
        let code = |message: &&Value| message["envelope"]["payload"]["code"] == "X811-5030";
        inbox.iter().filter(code).count()
    };
    let all_came = async {
        while notices().await < times {
            tokio::task::yield_now().await;
        }
    };
    // Late or not, the caller compares what is there.
    let _ = tokio::time::timeout(PATIENCE, all_came).await;
    notices().await
}

#[tokio::test]
async fn ae_098_a_confirmation_is_in_time_until_thirty_seconds_themselves() {
    for late_ms in [-4_000, -2_000, 0, 2_000, 4_000_i64] {
        let base = Base::serve().await;
        let (world, initiator, provider) = stage(&base).await;
        let deal = Deal::new(&world, &initiator, &provider);
        let offer = deal.verified().await;
        world.accept(&deal.payment(&offer, TX)).await;
        // Its block is the next one after what is watched here.
        let confirmed_ms = CONFIRMATION_MS.saturating_add_signed(late_ms);
        let before_ms = confirmed_ms - (1 + DEEPER) * BLOCK_MS;
        base.watch_ms(&world, before_ms).await;
        base.pay(TX, &initiator, &provider, TOTAL_MICRO_USDC);
        base.watch_ms(&world, confirmed_ms - before_ms).await;
        let events = until(&deal, "confirmed").await;
        let lapses = count(&events, "lapsed");
        assert_eq!(lapses, usize::from(late_ms > 0), "{late_ms}: {events:?}");
        assert!(late_ms <= 0 || at(&events, "lapsed") < at(&events, "confirmed"));
        assert_eq!(shown(&deal).await["state"], "completed", "{late_ms}");
        for agent in [&initiator, &provider] {
            assert_eq!(told(&world, agent, lapses).await, lapses, "{late_ms}");
        }
    }
}

#[tokio::test]
async fn ae_104_another_payment_is_taken_on_either_side_of_the_confirmation_s_end() {
    for late_ms in [-5_000, -1, 0, 1, 5_000_i64] {
        let base = Base::serve().await;
        let (world, initiator, provider) = stage(&base).await;
        let deal = Deal::new(&world, &initiator, &provider);
        let offer = deal.verified().await;
        world.accept(&deal.payment(&offer, TX)).await;
        let ms = CONFIRMATION_MS.saturating_add_signed(late_ms);
        base.watch_ms(&world, ms - ms % BLOCK_MS).await;
        world.clock.advance_ms(ms % BLOCK_MS);
        // The timer and this one race.
        world.accept(&deal.payment(&offer, OTHER_TX)).await;
        let events = events(&deal).await;
        let lapses = count(&events, "lapsed");
        assert_eq!(lapses, usize::from(late_ms > 0), "{late_ms}: {events:?}");
        assert_ne!(events.last().unwrap(), "lapsed", "{late_ms}: {events:?}");
        assert_eq!(shown(&deal).await["state"], "verified", "{late_ms}");
        for agent in [&initiator, &provider] {
            assert_eq!(told(&world, agent, lapses).await, lapses, "{late_ms}");
        }
    }
}

/// The first look is due five seconds after the lapse, and answered by the first block of that time
/// or later.
#[tokio::test]
async fn ae_104_a_look_is_answered_by_a_block_of_its_time_and_not_before() {
    for confirmed_ms in [32_000, 34_000, 36_000, 38_000, 40_000] {
        let base = Base::serve().await;
        let (world, initiator, provider) = stage(&base).await;
        let deal = Deal::new(&world, &initiator, &provider);
        let offer = deal.verified().await;
        world.accept(&deal.payment(&offer, TX)).await;
        let before_ms = confirmed_ms - (1 + DEEPER) * BLOCK_MS;
        for step_ms in (0..confirmed_ms).step_by(2_000) {
            if step_ms == before_ms {
                base.pay(TX, &initiator, &provider, TOTAL_MICRO_USDC);
            }
            if step_ms == CONFIRMATION_MS {
                world.clock.advance_ms(1);
                until(&deal, "lapsed").await;
            }
            base.watch_ms(&world, BLOCK_MS).await;
        }
        let events = until(&deal, "confirmed").await;
        // In sight and not deep enough is no failure, and it is looked for all the same.
        let looked = usize::from(confirmed_ms > CONFIRMATION_MS + FIRST_LOOK_MS + 1 + BLOCK_MS);
        assert_eq!(
            count(&events, "looked"),
            looked,
            "{confirmed_ms}: {events:?}"
        );
        assert_eq!(shown(&deal).await["state"], "completed", "{confirmed_ms}");
    }
}
