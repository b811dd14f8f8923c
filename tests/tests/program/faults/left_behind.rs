//! The cells of the kill matrix in which a process meets the database that a promotion left behind
//! (docs/scale.md): it has slept, the server it was connected to comes back by itself with a standby
//! attached, and nothing but its peer knows better.

use super::client::{Agent, Told, ledger_did, post};
use super::cluster::Servers;
use super::hosts::{Host, both, hosts};
use super::standing::accepted;
use std::time::{Duration, Instant};
use x811_tests::postgres::Node;

const QUORUM: [&str; 4] = ["--store-quorum", "1", "--store-standby", "s2,s3"];

/// What a primary needs to have standbys.
const PRIMARY: [&str; 2] = ["wal_level=replica", "max_wal_senders=6"];

/// A hop may take as long as a lease, a look at it, and what a busy machine adds.
const HOP: Duration = Duration::from_secs(9);

/// Records in the database of the first ledger of a node.
async fn records(node: &Node) -> i64 {
    let count = "SELECT count(*) FROM ledger0.records";
    let mut session = node.stranger().await;
    let count = sqlx::query_scalar(count).fetch_one(&mut session);
    count.await.unwrap()
}

/// It ends by itself, with the refusal and what to do.
fn is_refused(host: &mut Host) {
    let ended = match host.ledger.take() {
        Some(mut ledger) => ledger.ended(),
        None => match host.place.try_start() {
            Ok(mut ledger) => ledger.ended(),
            Err(ended) => ended,
        },
    };
    assert_eq!(ended.status.code(), Some(4), "{}", ended.said);
    for words in ["left behind by the promotion", "pg_rewind"] {
        assert!(ended.said.contains(words), "{words}: {}", ended.said);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn stores_2_a_writer_that_slept_through_a_promotion_does_not_write_to_the_old_primary() {
    let mut servers = Servers::start().await;
    let mut hosts = hosts(&servers.url, &QUORUM);
    // The first host knows the first primary by its own address, and no other.
    let direct = servers.direct();
    for word in &mut hosts[0].place.options {
        if *word == servers.url {
            word.clone_from(&direct);
        }
    }
    both(&mut hosts).await;
    let [first, second] = hosts.each_ref().map(Host::url);
    let ledger = ledger_did(&first).await.unwrap();
    let mut agent = Agent::new("one");
    accepted(&first, &agent.registration(ledger)).await;
    accepted(&second, &agent.message(ledger, 10)).await;

    hosts[0].signal("STOP");
    let mut old = servers.replaced().await;
    hosts[1].becomes("writer").await;
    let after = accepted(&second, &agent.message(ledger, 10)).await;

    // By itself, and with a standby that confirms what is written there.
    old.run(&PRIMARY).await;
    let standby = old.standby("s2").await;
    let before = records(&old).await;
    hosts[0].signal("CONT");
    is_refused(&mut hosts[0]);
    assert_eq!(records(&old).await, before, "it wrote to the old primary");
    // A supervisor starts it again.
    is_refused(&mut hosts[0]);
    assert_eq!(records(&old).await, before, "it wrote to the old primary");
    drop((standby, old));

    let last = accepted(&second, &agent.message(ledger, 10)).await;
    assert!(last > after);
    hosts[1].becomes("writer").await;
    // Pointed at the server that was promoted it stands by again.
    for word in &mut hosts[0].place.options {
        if *word == direct {
            word.clone_from(&servers.url);
        }
    }
    hosts[0].start();
    hosts[0].becomes("standby").await;
    for host in &mut hosts {
        let stopped = host.ledger.take().unwrap().stop();
        assert!(stopped.status.success(), "{}", stopped.said);
    }
    hosts[1].place.clean(None);
}

/// The process that writes is frozen, and a message is passed on to it: the answer does not wait for it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn stores_5_a_message_passed_on_to_a_dead_writer_is_answered_once_the_lease_has_moved() {
    let node = Node::start(&[]).await;
    let mut hosts = hosts(&node.url().await, &[]);
    both(&mut hosts).await;
    let standby = hosts[1].url();
    let ledger = ledger_did(&standby).await.unwrap();
    let mut agent = Agent::new("one");
    accepted(&standby, &agent.registration(ledger)).await;
    let message = agent.message(ledger, 10);
    hosts[0].signal("STOP");
    let begun = Instant::now();
    let told = post(&standby, &message).await;
    let took = begun.elapsed();
    println!(
        "{} ms until a hop to a frozen writer was answered",
        took.as_millis()
    );
    if let Told::Refused(_, why) = &told {
        assert_eq!(why["code"], "X811-9002", "{why}");
    }
    assert!(!matches!(told, Told::Nothing), "{told:?}");
    assert!(took < HOP, "{took:?}");
    // The same bytes have one outcome.
    let at = accepted(&standby, &message).await;
    assert_eq!(accepted(&standby, &message).await, at);
    hosts[0].signal("CONT");
    hosts[0].becomes("standby").await;
    assert_eq!(accepted(&hosts[0].url(), &message).await, at);
}
