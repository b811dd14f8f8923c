//! `GET /.well-known/x811-keys` and `GET /log/refresh/{size}`: which keys the ledger has and had, and
//! papers from before it replaced one (ledger-contract.md section 8).

use crate::log::{checkpoint, covered};
use crate::receipt::policy;
use crate::rotated_keys::{paid, receipt, rotated};
use crate::world::World;
use x811_audit::receipt::{ClaimVerdict, Trusted, verify, verify_trusting};
use x811_audit::refresh::Refresh;
use x811_audit::{Options, Verdict as Proven, audit_export};
use x811_eventlog::Checkpoint;
use x811_protocol::event::LedgerRole;
use x811_server::keys::Identity;
use x811_world::keys_statement::SignedKeys;

const PATH: &str = "/.well-known/x811-keys";

/// The statement of a checkpoint over everything that is in the log now.
async fn statement(world: &World) -> SignedKeys {
    let newest = checkpoint(world).await;
    let answer = world.get(PATH).await;
    assert_eq!(answer.status, 200, "{}", answer.text);
    assert_eq!(answer.headers["content-type"], "application/json");
    assert_eq!(answer.headers["cache-control"], "public, max-age=1");
    let json = answer.text.strip_suffix('\n').unwrap();
    let signed = SignedKeys::from_json(json.as_bytes()).unwrap();
    assert!(signed.is_its_own());
    assert!(
        signed.statement.is_of(&newest),
        "it is made with each checkpoint"
    );
    signed
}

#[tokio::test]
async fn lc_8_the_keys_and_every_rotation_are_published_with_each_checkpoint() {
    let world = World::start().await;
    let first = statement(&world).await.statement;
    assert_eq!(first.rotations, []);
    let world = rotated(world, &[LedgerRole::Receipt]).await;
    let world = rotated(world, &[LedgerRole::Checkpoint]).await;
    let last = statement(&world).await.statement;
    let identity = Identity::load(world.dir.path()).unwrap().unwrap();
    assert_eq!(last.keys, identity.opened.keys);
    assert_eq!(
        (last.log_id, &last.origin),
        (identity.opened.log_id, &identity.opened.origin)
    );
    let roles = last.rotations.iter().map(|rotation| rotation.role);
    let expected = [LedgerRole::Receipt, LedgerRole::Checkpoint];
    assert_eq!(roles.collect::<Vec<_>>(), expected);
    assert_eq!(last.keys_after(first.size), first.keys);
    assert_eq!(last.contradicts(&first), None);
}

#[tokio::test]
async fn lc_8_papers_of_before_a_rotation_hold_by_what_the_ledger_says_now() {
    let (world, id) = paid().await;
    let paper = receipt(&world, id).await;
    let bundle = covered(&world, &format!("/api/v1/interactions/{id}/bundle")).await;
    assert_eq!(bundle.status, 200, "{}", bundle.text);
    let world = rotated(world, &LedgerRole::ALL).await;
    checkpoint(&world).await;
    let policy = policy(&world).await;
    assert!(!verify(&paper, Some(&policy)).trusted);

    let size = Checkpoint::claimed(&paper.checkpoint).unwrap().size;
    let answer = world.get(&format!("/log/refresh/{size}")).await;
    assert_eq!(answer.status, 200, "{}", answer.text);
    let refresh = Refresh::from_bytes(answer.text.as_bytes()).unwrap();
    let checked = verify_trusting(
        &paper,
        Trusted {
            policy: Some(&policy),
            refresh: Some(&refresh),
            agent_keys: None,
        },
    );
    assert!(checked.trusted && checked.paid.is_some(), "{checked:?}");
    assert_eq!(checked.steps[0].verdict, ClaimVerdict::Proven);

    let size = audit_export(bundle.text.as_bytes(), None).unwrap();
    let size = size.extract.unwrap().tree_size.unwrap();
    let answer = world.get(&format!("/log/refresh/{size}")).await;
    let refresh = Refresh::from_bytes(answer.text.as_bytes()).unwrap();
    let options = Options {
        trust: Some(policy.into()),
        refresh: Some(refresh.into()),
        ..Options::default()
    };
    let report = audit_export(bundle.text.as_bytes(), options).unwrap();
    assert!(report.is_clean(), "{:?}", report.findings);
    assert_eq!(report.trust.verdict, Proven::Proven);

    let beyond = world.get("/log/refresh/9999").await;
    beyond.refused(404, "X811-4001");
    for size in ["0", "01", "+1", "x"] {
        let answer = world.get(&format!("/log/refresh/{size}")).await;
        assert_eq!(answer.status, 400, "{size}: {}", answer.text);
    }
}
