//! Two processes on one directory.

use super::client::{Acknowledged, Agent, Told, ledger_did, post};
use super::ledger::Place;

#[tokio::test]
async fn reliability_a_second_process_is_refused_and_the_first_unharmed() {
    let place = Place::new();
    let ledger = place.start();
    let did = ledger_did(&ledger.url).await.unwrap();
    let mut agent = Agent::new("anna");
    let mut acknowledged = Acknowledged::default();
    let mut due = agent.registration(did);
    for _ in 0..3 {
        place.refused(&["another process owns the data directory", "stop it"]);
        // An audit needs no ownership, beside a ledger that writes.
        let told = post(&ledger.url, &due).await;
        let Told::Accepted(answer) = told else {
            panic!("{told:?}");
        };
        acknowledged.note(&answer);
        place.clean(acknowledged.head());
        due = agent.message(did, 100);
    }
    acknowledged.assert_found(&ledger.url, || true).await;
    assert!(ledger.stop().status.success());
    place.clean(acknowledged.head());
}
