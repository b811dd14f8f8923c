//! What somebody makes who holds keys that the ledger replaced, or its present receipt key
//! (ledger-contract.md section 8): none of it passes for what the ledger says.

use serde_json::json;
use x811_audit::export::StreamEnd;
use x811_audit::receipt::{Checked, ClaimVerdict, Receipt, Trusted, verify, verify_trusting};
use x811_audit::receipt::{verify_compact, verify_compact_trusting};
use x811_audit::refresh::Refresh;
use x811_audit::standing::Standing;
use x811_audit::{Cause, Options, Report, Verdict as Proven, audit_export};
use x811_eventlog::note::{CosignerKey, Note};
use x811_eventlog::{Checkpoint, Hash, Multiproof, Policy, Record, root_of};
use x811_ledger::receipt::ReceiptError;
use x811_protocol::event::LedgerRole;
use x811_protocol::key::SecretKey;

use super::base::tx;
use super::bundles::{bundle, signed};
use super::deal::{Deal, TOTAL_MICRO_USDC, Until};
use super::forged_bundle::File;
use super::ledgerbox::{Ledgerbox, impatient};
use super::papers::{made, named, receipts_in_both_forms, refreshed, trusting};
use super::scene::{found, pay};

fn trusted<'a>(policy: &'a Policy, refresh: Option<&'a Refresh>) -> Trusted<'a> {
    Trusted {
        policy: Some(policy),
        refresh,
        agent_keys: None,
    }
}

/// A deal that is paid.
pub(crate) async fn paid() -> (Ledgerbox, Deal) {
    let mut ledgerbox = impatient().await;
    let deal = Deal::opened(&ledgerbox, Until::Verified).await;
    pay(&mut ledgerbox, &deal, 1, TOTAL_MICRO_USDC).await;
    ledgerbox.watch_ms(8_000).await;
    assert_eq!(ledgerbox.state(deal.id()), "completed");
    (ledgerbox, deal)
}

/// The ledger with another key in that role; gives the one that ends.
pub(crate) async fn rotated(ledgerbox: &mut Ledgerbox, role: LedgerRole, seed: u8) -> SecretKey {
    let old = match role {
        LedgerRole::Checkpoint => ledgerbox.checkpoint_key.clone(),
        LedgerRole::Receipt => ledgerbox.receipt_key.clone(),
        LedgerRole::Envelope => ledgerbox.identity.key.clone(),
    };
    ledgerbox.rotate(role, seed);
    ledgerbox.restart().await;
    old
}

async fn receipt_of(ledgerbox: &Ledgerbox, deal: &Deal) -> Receipt {
    receipts_in_both_forms(ledgerbox, deal.id())
        .await
        .0
        .unwrap()
}

/// Whether it passes for what the ledger said.
fn holds(checked: &Checked) -> bool {
    checked.paid.is_some() && checked.trusted
}

fn verdict(checked: &Checked, about: &str) -> ClaimVerdict {
    let step = checked.steps.iter().find(|step| step.about == about);
    step.unwrap().verdict
}

fn broken(checked: &Checked) -> (&'static str, &str) {
    let last = checked.steps.last().unwrap();
    assert_eq!(
        (last.verdict, checked.paid.is_none()),
        (ClaimVerdict::Broken, true),
        "{last:?}"
    );
    (last.about, &last.sentence)
}

fn judged(bytes: &[u8], policy: &Policy, refresh: Option<&Refresh>) -> Report {
    let options = Options {
        trust: Some(policy.clone().into()),
        refresh: refresh.cloned().map(Into::into),
        ..Options::default()
    };
    audit_export(bytes, options).unwrap()
}

/// The proof of the records of a receipt as they are now, from all leaves.
fn proven_anew(receipt: &mut Receipt, records: &[Record]) {
    let hashes: Vec<Hash> = records.iter().map(Record::hash).collect();
    let mut positions = vec![0, receipt.parameters.place.position];
    positions.push(receipt.confirmed.place.position);
    positions.extend(receipt.rotations.iter().map(|leaf| leaf.place.position));
    positions.sort_unstable();
    let proof = Multiproof::build(&positions, hashes.len() as u64, |node| {
        let each = 1 << node.level();
        let from = usize::try_from(node.index()).unwrap() * each;
        Ok::<_, ()>(root_of(&hashes[from..from + each]))
    });
    receipt.hashes = proof.unwrap().unwrap().hashes;
}

#[tokio::test]
async fn lc_8_a_receipt_is_issued_by_the_key_in_force_and_paid_as_of_its_checkpoint() {
    let (mut ledgerbox, deal) = paid().await;
    rotated(&mut ledgerbox, LedgerRole::Receipt, 92).await;
    let policy = trusting(&ledgerbox, &ledgerbox.checkpoint_key);
    let receipt = receipt_of(&ledgerbox, &deal).await;
    let checked = verify(&receipt, Some(&policy));
    assert!(holds(&checked), "{checked:?}");
    for about in ["checkpoint", "issuer", "standing"] {
        assert_eq!(verdict(&checked, about), ClaimVerdict::Proven, "{about}");
    }
    let as_of = checked.standing.unwrap();
    let size = ledgerbox.records().await.len() as u64;
    assert_eq!((as_of.standing, as_of.record), (Standing::Paid, size - 1));
    let alone = verify(&receipt, None);
    assert_eq!(verdict(&alone, "issuer"), ClaimVerdict::Asserted);
    assert_eq!(verdict(&alone, "standing"), ClaimVerdict::Asserted);
    let read = Receipt::from_bytes(&receipt.to_bytes()).unwrap();
    assert_eq!(read, receipt);
}

/// The record that replaced the key is left out: so the old key seems to be in force.
#[tokio::test]
async fn lc_8_an_old_receipt_seed_makes_no_receipt_that_holds() {
    let (mut ledgerbox, deal) = paid().await;
    let old = rotated(&mut ledgerbox, LedgerRole::Receipt, 92).await;
    let policy = trusting(&ledgerbox, &ledgerbox.checkpoint_key);
    let good = receipt_of(&ledgerbox, &deal).await;
    let mut cut = good.clone();
    cut.rotations.clear();
    proven_anew(&mut cut, &ledgerbox.records().await);

    let (about, why) = broken_of(&cut.clone().sign(&old), &policy);
    assert!(
        about == "issuer" && why.contains("left out"),
        "{about}: {why}"
    );
    let mut lying = cut.clone();
    let mut statement = lying.keys.statement;
    statement.rotations.clear();
    statement.keys.receipt = old.public();
    lying.keys = statement.sign(&old);
    let (about, why) = broken_of(&lying.sign(&old), &policy);
    assert!(
        about == "issuer" && why.contains("not signed"),
        "{about}: {why}"
    );
    let (about, _) = broken_of(&good.sign(&old), &policy);
    assert_eq!(about, "issuer");
}

/// A receipt of another form, an earlier or a later one, is refused with both numbers.
#[tokio::test]
async fn mach_10_a_receipt_of_another_form_is_refused_by_its_number() {
    let (ledgerbox, deal) = paid().await;
    let good = receipt_of(&ledgerbox, &deal).await;
    for version in [1, 2, 4] {
        let mut other = good.clone();
        other.version = version;
        let file = other.sign(&ledgerbox.receipt_key).to_bytes();
        let why = Receipt::from_bytes(&file).unwrap_err().to_string();
        let names = format!("`x811_receipt` is {version}, this program knows 3");
        assert!(why.contains(&names), "{why}");
    }
    let file = String::from_utf8(good.to_bytes()).unwrap();
    for version in [1, 3] {
        let other = file.replacen("\"rules\":2", &format!("\"rules\":{version}"), 1);
        let why = Receipt::from_bytes(other.as_bytes())
            .unwrap_err()
            .to_string();
        let names = format!("the rules are {version}, this program knows 2");
        assert!(why.contains(&names), "{why}");
    }
    let without = file.replacen("\"rules\":2,", "", 1);
    let why = Receipt::from_bytes(without.as_bytes())
        .unwrap_err()
        .to_string();
    assert!(why.contains("missing field `rules`"), "{why}");
}

fn broken_of(receipt: &Receipt, policy: &Policy) -> (&'static str, String) {
    let checked = verify(receipt, Some(policy));
    let (about, why) = broken(&checked);
    (about, why.to_owned())
}

/// What is done to an end.
type Change<'a> = &'a dyn Fn(&mut StreamEnd);

/// An end that is another stream's, another tree's, by another key, or says something else.
#[tokio::test]
async fn lc_8_a_receipt_whose_end_says_something_else_is_broken() {
    let (mut ledgerbox, deal) = paid().await;
    let earlier = receipt_of(&ledgerbox, &deal).await;
    rotated(&mut ledgerbox, LedgerRole::Envelope, 93).await;
    let policy = trusting(&ledgerbox, &ledgerbox.checkpoint_key);
    let good = receipt_of(&ledgerbox, &deal).await;
    let (signer, issuer) = (&ledgerbox.checkpoint_key, &ledgerbox.receipt_key);
    let end = good.end.end.clone();
    let said = |change: &dyn Fn(&mut StreamEnd), key: &SecretKey| {
        let (mut bad, mut end) = (good.clone(), end.clone());
        change(&mut end);
        bad.end = end.sign(key);
        broken_of(&bad.sign(issuer), &policy)
    };
    let reversed = |end: &mut StreamEnd| {
        end.last.as_mut().unwrap().seq += 2;
        end.standing = Some(Standing::Reversed);
    };
    let table: [(&str, Change<'_>, &SecretKey); 8] = [
        ("not signed", &|_| (), issuer),
        ("another stream", &|end| end.tree_size -= 1, signer),
        (
            "another stream",
            &|end| end.stream = "ledger".to_owned(),
            signer,
        ),
        ("REVERSED", &reversed, signer),
        (
            "nothing was confirmed",
            &|end| end.standing = Some(Standing::None),
            signer,
        ),
        ("nothing was confirmed", &|end| end.standing = None, signer),
        (
            "as its last",
            &|end| end.last.as_mut().unwrap().seq = 0,
            signer,
        ),
        ("without any", &|end| end.last = None, signer),
    ];
    for (place, (expected, change, key)) in table.into_iter().enumerate() {
        let (about, why) = said(change, key);
        assert!(
            about == "standing" && why.contains(expected),
            "{place} {about}: {why}"
        );
    }
    let mut swapped = good.clone();
    swapped.end = earlier.end;
    let (about, _) = broken_of(&swapped.sign(issuer), &policy);
    assert_eq!(about, "standing");
    let mut swapped = good.clone();
    swapped.keys = earlier.keys;
    let (about, _) = broken_of(&swapped.sign(issuer), &policy);
    assert_eq!(about, "issuer");
    let mut elsewhere = good;
    elsewhere.ask = "/api/v1/interactions/else/settlement".to_owned();
    let (about, _) = broken_of(&elsewhere.sign(issuer), &policy);
    assert_eq!(about, "reversal");
}

#[tokio::test]
async fn lc_8_a_reversed_payment_has_no_receipt_until_it_is_back() {
    let (mut ledgerbox, deal) = paid().await;
    let policy = trusting(&ledgerbox, &ledgerbox.checkpoint_key);
    let before = receipt_of(&ledgerbox, &deal).await;
    ledgerbox.base.reorganise_away(tx(1));
    ledgerbox.sweep().await;
    let (whole, compact) = receipts_in_both_forms(&ledgerbox, deal.id()).await;
    for refused in [whole.map(drop), compact.map(drop)] {
        assert!(
            matches!(refused, Err(ReceiptError::Reversed { .. })),
            "{refused:?}"
        );
    }
    let report = judged(&bundle(&ledgerbox, deal.id()).await, &policy, None);
    assert_eq!(found(&report), []);
    assert_eq!(report.extract.unwrap().standing, Some(Standing::Reversed));
    // What was said of the records before stays true of them.
    let checked = verify(&before, Some(&policy));
    assert!(holds(&checked));

    deal.mine(&mut ledgerbox, 1, &[TOTAL_MICRO_USDC]);
    ledgerbox.watch_ms(12_000).await;
    let again = verify(&receipt_of(&ledgerbox, &deal).await, Some(&policy));
    assert!(holds(&again), "{again:?}");
    assert_eq!(again.standing.unwrap().standing, Standing::Returned);
}

/// The checkpoint key's own word is held against the records too.
#[tokio::test]
async fn lc_8_an_end_with_another_standing_than_its_records_is_found() {
    let (ledgerbox, deal) = paid().await;
    let good = File::of(&bundle(&ledgerbox, deal.id()).await);
    let own = good
        .ends
        .iter()
        .position(|end| end.get("standing").is_some());
    let own = own.unwrap();
    assert_eq!(good.ends[own]["standing"], "paid");
    for other in ["none", "reversed", "returned"] {
        let mut bad = good.clone();
        bad.ends[own]["standing"] = json!(other);
        bad.sign_end(own, &ledgerbox.checkpoint_key);
        let report = audit_export(&bad.to_bytes()[..], None).unwrap();
        let found: Vec<_> = found(&report).into_iter().map(|(_, f, c)| (f, c)).collect();
        assert_eq!(
            found,
            [("end.standing", Cause::StreamEndDiffers)],
            "{other}"
        );
    }
}

/// The rotation, `confirmed` and all behind it are cut, and the ends are signed anew.
#[tokio::test]
async fn lc_8_an_old_receipt_seed_cuts_no_bundle_unnoticed() {
    let (mut ledgerbox, deal) = paid().await;
    let old = rotated(&mut ledgerbox, LedgerRole::Receipt, 92).await;
    let policy = trusting(&ledgerbox, &ledgerbox.checkpoint_key);
    let good = bundle(&ledgerbox, deal.id()).await;
    let report = judged(&good, &policy, None);
    assert_eq!(found(&report), []);
    assert_eq!(report.extract.unwrap().open_ended, 0);

    let mut cut = File::of(&good);
    cut.cut_from(|record| record["event"]["type"] == "ledger_key_rotated");
    cut.cut_from(|record| record["event"]["type"] == "confirmed");
    cut.fit_ends();
    let mut signed = cut.clone();
    signed.sign_ends(&old);
    let report = judged(&signed.to_bytes(), &policy, None);
    let causes: Vec<Cause> = report.findings.iter().map(|one| one.cause).collect();
    assert!(causes.contains(&Cause::KeysDiffer), "{causes:?}");
    assert!(causes.contains(&Cause::StreamEndDiffers), "{causes:?}");
    let mut without = cut;
    without.keys = None;
    let report = judged(&without.to_bytes(), &policy, None);
    let named = (0, "keys", Cause::Missing);
    assert!(
        found(&report)
            .iter()
            .any(|it| (it.1, it.2) == (named.1, named.2))
    );
}

/// A witness that a policy asks for.
fn witness() -> (SecretKey, CosignerKey) {
    let key = SecretKey::from_seed([31; 32]);
    let cosigner = CosignerKey::new("witness.example", *key.public().as_bytes());
    (key, cosigner.unwrap())
}

fn cosigned(note: &str) -> String {
    let (key, cosigner) = witness();
    let mut note = Note::parse(note).unwrap();
    let sign = |message: &[u8]| *key.sign(message).as_bytes();
    note.cosign(&cosigner, 1_767_225_600, sign).unwrap();
    note.encode()
}

#[tokio::test]
async fn lc_8_papers_from_before_a_rotation_hold_after_refresh_and_by_quorum() {
    let (mut ledgerbox, deal) = paid().await;
    let (whole, compact) = receipts_in_both_forms(&ledgerbox, deal.id()).await;
    let (whole, compact) = (whole.unwrap(), compact.unwrap());
    let paper = bundle(&ledgerbox, deal.id()).await;
    let size = Checkpoint::claimed(&whole.checkpoint).unwrap().size;
    rotated(&mut ledgerbox, LedgerRole::Checkpoint, 91).await;
    rotated(&mut ledgerbox, LedgerRole::Checkpoint, 92).await;
    let policy = trusting(&ledgerbox, &ledgerbox.checkpoint_key);

    // Nobody can tell without asking the ledger.
    let checked = verify(&whole, Some(&policy));
    assert_eq!((checked.trusted, checked.paid.is_some()), (false, true));
    assert_eq!(verdict(&checked, "checkpoint"), ClaimVerdict::Asserted);
    let checked = verify_compact(&compact, Some(&policy));
    assert_eq!((checked.trusted, checked.paid.is_some()), (false, true));
    let report = judged(&paper, &policy, None);
    assert_eq!(found(&report), []);
    assert_eq!(report.trust.verdict, Proven::Asserted);
    assert!(report.trust.rotated.is_some());

    let refresh = refreshed(&ledgerbox, size).await;
    let checked = verify_trusting(&whole, trusted(&policy, Some(&refresh)));
    assert!(holds(&checked), "{checked:?}");
    assert_eq!(verdict(&checked, "checkpoint"), ClaimVerdict::Proven);
    let said = "an end is by the key that was replaced since";
    assert_eq!(
        verdict(&checked, "standing"),
        ClaimVerdict::Asserted,
        "{said}"
    );
    let checked = verify_compact_trusting(&compact, trusted(&policy, Some(&refresh)));
    assert!(holds(&checked), "{checked:?}");
    let report = judged(&paper, &policy, Some(&refresh));
    assert_eq!(
        (found(&report), report.trust.verdict),
        (vec![], Proven::Proven)
    );
    assert_eq!(report.trust.records_proven, report.records);

    // The keys statement alone does not show that the log goes on, but a quorum has seen it.
    let keys = Refresh {
        link: None,
        ..refresh
    };
    assert_eq!(Refresh::from_bytes(&keys.to_bytes()), Ok(keys.clone()));
    assert!(!verify_trusting(&whole, trusted(&policy, Some(&keys))).trusted);
    let (log, witness) = (named(&ledgerbox, &ledgerbox.checkpoint_key), witness().1);
    let asking = format!(
        "log {}\nwitness w {}\nquorum w\n",
        log.to_vkey(),
        witness.to_vkey()
    );
    let asking: Policy = asking.parse().unwrap();
    let mut seen = whole.clone();
    seen.checkpoint = cosigned(&whole.checkpoint);
    let seen = seen.sign(&ledgerbox.receipt_key);
    let checked = verify_trusting(&seen, trusted(&asking, Some(&keys)));
    assert!(holds(&checked), "{checked:?}");
    for (paper, refresh) in [(&whole, Some(&keys)), (&seen, None)] {
        let checked = verify_trusting(paper, trusted(&asking, refresh));
        assert_eq!((checked.trusted, checked.paid.is_some()), (false, true));
    }
}

/// A whole log has its own rotations: a later checkpoint by the trusted key covers the earlier one.
#[tokio::test]
async fn lc_8_a_log_needs_nothing_beside_it() {
    let (mut ledgerbox, _) = paid().await;
    let size = ledgerbox.records().await.len();
    let before = signed(&ledgerbox, size).await;
    rotated(&mut ledgerbox, LedgerRole::Checkpoint, 91).await;
    let policy = trusting(&ledgerbox, &ledgerbox.checkpoint_key);
    let newest = signed(&ledgerbox, ledgerbox.records().await.len()).await;
    let both = super::scene::exported_under(&ledgerbox, Some(&newest)).await;
    let both = String::from_utf8(both).unwrap();
    let mut lines: Vec<&str> = both.lines().collect();
    let mark = format!("\"position\":{size},\"prev\"");
    let at = lines
        .iter()
        .position(|line| line.starts_with("r ") && line.contains(&mark));
    let note = format!("c {}", json!(before));
    lines.insert(at.unwrap(), &note);
    let both = lines.join("\n") + "\n";
    let report = judged(both.as_bytes(), &policy, None);
    assert_eq!(
        (found(&report), report.trust.verdict),
        (vec![], Proven::Proven)
    );
    assert_eq!(report.checkpoints.len(), 2);
    // The earlier one alone says nothing of the key that came after it; what it covers is kept.
    let alone = super::scene::exported_under(&ledgerbox, Some(&before)).await;
    let report = judged(&alone, &policy, None);
    assert_eq!(
        (found(&report), report.trust.verdict),
        (vec![], Proven::Asserted)
    );
    assert_eq!(report.trust.records_proven, 0);
    let refresh = refreshed(&ledgerbox, size as u64).await;
    let report = judged(&alone, &policy, Some(&refresh));
    assert_eq!(
        (found(&report), report.trust.verdict),
        (vec![], Proven::Proven)
    );
    assert_eq!(report.trust.records_proven, size as u64);
}

/// What the newest keys statement or the proof says otherwise.
#[tokio::test]
async fn lc_8_a_paper_that_the_newest_keys_statement_contradicts_is_broken() {
    let (mut ledgerbox, deal) = paid().await;
    let good = receipt_of(&ledgerbox, &deal).await;
    let size = Checkpoint::claimed(&good.checkpoint).unwrap().size;
    let old = rotated(&mut ledgerbox, LedgerRole::Checkpoint, 91).await;
    ledgerbox.restart().await;
    let policy = trusting(&ledgerbox, &ledgerbox.checkpoint_key);
    let refresh = refreshed(&ledgerbox, size).await;
    let refused = |paper: &Receipt, refresh: &Refresh, expected: &str| {
        let checked = verify_trusting(paper, trusted(&policy, Some(refresh)));
        let (about, why) = broken(&checked);
        assert!(
            about == "checkpoint" && why.contains(expected),
            "{about}: {why}"
        );
    };

    // A size beyond the rotation: all records are true, and the key was in force no more.
    let records = ledgerbox.records().await;
    let beyond = under_old_key(&good, &records, &ledgerbox, &old).await;
    let checked = verify(&beyond, Some(&policy));
    assert_eq!(
        (checked.trusted, checked.paid.is_some()),
        (false, true),
        "{checked:?}"
    );
    let of_it = refreshed(&ledgerbox, records.len() as u64).await;
    refused(&beyond, &of_it, "in force no more");

    // A failing proof.
    let mut failing = refresh.clone();
    failing.link.as_mut().unwrap().hashes[0] = Hash::ZERO;
    refused(&good, &failing, "does not go on");
    let mut fork = good.clone();
    let forked = Checkpoint {
        root: Hash::ZERO,
        ..Checkpoint::claimed(&good.checkpoint).unwrap()
    };
    fork.checkpoint = super::bundles::note(&forked, &old);
    refused(
        &fork.sign(&ledgerbox.receipt_key),
        &refresh,
        "does not go on",
    );

    // A statement that nobody in force signed, of another checkpoint, or of another log.
    let mut forged = refresh.clone();
    forged.keys = forged.keys.statement.sign(&old);
    refused(&good, &forged, "not signed");
    let mut apart = refresh.clone();
    let newest = made(&ledgerbox, records.len() - 1).await;
    apart.keys = newest.keys.unwrap();
    refused(&good, &apart, "not of the newest checkpoint");
    let mut elsewhere = refresh.clone();
    let mut statement = elsewhere.keys.statement;
    statement.log_id = Default::default();
    elsewhere.keys = statement.sign(&ledgerbox.checkpoint_key);
    refused(&good, &elsewhere, "another log");

    // A key that never was the ledger's.
    let stranger = SecretKey::from_seed([77; 32]);
    let mut strange = good.clone();
    strange.ledger.event["keys"]["checkpoint"] = json!(stranger.public());
    strange.checkpoint =
        super::bundles::note(&Checkpoint::claimed(&good.checkpoint).unwrap(), &stranger);
    refused(&strange.sign(&ledgerbox.receipt_key), &refresh, "never was");

    // What is of another paper, or by a key that nobody trusts, tells nothing.
    let other = refreshed(&ledgerbox, size - 1).await;
    let checked = verify_trusting(&good, trusted(&policy, Some(&other)));
    assert_eq!((checked.trusted, checked.paid.is_some()), (false, true));
    let strangers = trusting(&ledgerbox, &stranger);
    let checked = verify_trusting(&good, trusted(&strangers, Some(&refresh)));
    assert_eq!((checked.trusted, checked.paid.is_some()), (false, true));
}

/// The receipt as whoever holds the old checkpoint key makes it now, over all records there are.
async fn under_old_key(
    good: &Receipt,
    records: &[Record],
    ledgerbox: &Ledgerbox,
    old: &SecretKey,
) -> Receipt {
    let hashes: Vec<Hash> = records.iter().map(Record::hash).collect();
    let checkpoint = Checkpoint {
        size: records.len() as u64,
        root: root_of(&hashes),
        ..Checkpoint::claimed(&good.checkpoint).unwrap()
    };
    let mut beyond = good.clone();
    beyond.checkpoint = super::bundles::note(&checkpoint, old);
    let mut statement = good.keys.statement.clone();
    (statement.size, statement.root) = (checkpoint.size, checkpoint.root);
    beyond.keys = statement.sign(old);
    let mut end = good.end.end.clone();
    end.tree_size = checkpoint.size;
    beyond.end = end.sign(old);
    proven_anew(&mut beyond, records);
    beyond.sign(&ledgerbox.receipt_key)
}
