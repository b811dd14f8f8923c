//! Bundles of agreements: what binds two parties was signed by both (capability.md, "agreement"). Whoever
//! reads a bundle has nothing but it and the ledger's signatures, which the operator has too: it gains by a
//! revision that nobody agreed to, and by a contract that is used up.

use serde_json::json;
use tokio::sync::OnceCell;
use x811_audit::{Cause, Options, Outcome, Report, Unchecked, audit_export};
use x811_protocol::facts::CapabilityVerb as Verb;
use x811_protocol::parameters::{Capabilities, Contracts};
use x811_protocol::stream::Subject;

use super::super::bargain::Bargain;
use super::super::bundles::bundle_of;
use super::super::ledgerbox::{Ledgerbox, parameters};
use super::super::rarer::quiet;
use super::super::talks::Talks;
use super::Story;

/// A log, and honest bundles of it.
#[derive(Clone)]
struct Signed {
    story: Story,
    agreement: Vec<u8>,
    contract: Vec<u8>,
}

/// An agreement of one revision, whose parties also began to negotiate it again and stopped; and a contract
/// that was agreed on and waits for its REQUEST.
async fn signed() -> Signed {
    let mut parameters = parameters();
    parameters.capabilities = Some(Capabilities::DEFAULT);
    parameters.contracts = Some(Contracts::DEFAULT);
    let mut ledgerbox = Ledgerbox::with(parameters).await;
    let mut bargain = Bargain::new(&ledgerbox).await;
    bargain
        .agree(&ledgerbox, &Bargain::terms(31_536_000, 10))
        .await;
    let agreement = bargain.agreement.unwrap().0;
    let mut talks = Talks::new(&ledgerbox).await;
    talks.agree(&ledgerbox).await;
    let offers = |story: &Story| story.messages("x811.negotiation/offer")[0];
    quiet(&mut ledgerbox).await;
    let story = Story::written_by(&ledgerbox).await;
    let contract = story.get(offers(&story), "/envelope/id");
    let contract = Subject::Contract(contract.as_str().unwrap().parse().unwrap());
    Signed {
        agreement: bundle_of(&ledgerbox, Subject::Agreement(agreement)).await,
        contract: bundle_of(&ledgerbox, contract).await,
        story,
    }
}

async fn honest() -> Signed {
    static WRITTEN: OnceCell<Signed> = OnceCell::const_new();
    WRITTEN.get_or_init(signed).await.clone()
}

impl Signed {
    fn report(&self, honest: &[u8]) -> Report {
        let options = Options {
            trust: Some(self.story.trusted().clone().into()),
            ..Options::default()
        };
        audit_export(&self.story.bundle(honest)[..], options).unwrap()
    }

    /// Puts a second revision behind a record that the bundle does not have: what signed it might be there.
    fn put_revision(&mut self) -> u64 {
        let first = self.story.events("agreed")[0];
        let strangers = self.story.messages("x811.registry/register");
        let [.., before, stranger] = strangers[..] else {
            panic!("two are registered in the end");
        };
        let stream = self.story.record(first).stream.clone();
        let mut agreed = self.story.record(first).event.clone();
        agreed["previous_terms_hash"] = agreed["terms_hash"].take();
        agreed["terms_hash"] = json!("5b".repeat(32));
        agreed["reason"] = json!("resource_change");
        agreed["revision"] = json!(2);
        agreed["limits"] = json!({ "max_requests": 1 });
        let at_ms = self.story.time(stranger);
        agreed["starts_at_ms"] = json!(at_ms);
        agreed["ends_at_ms"] = json!(at_ms + 1_000_000);
        agreed["cause"] = json!(before);
        self.story.put(stranger, &stream, agreed)
    }
}

#[tokio::test]
async fn cc_86_the_honest_bundles_hold() {
    let signed = honest().await;
    assert_eq!(signed.story.report().findings, []);
    for bundle in [&signed.agreement, &signed.contract] {
        let report = signed.report(bundle);
        assert_eq!(report.findings, [], "{:#?}", report.findings);
        assert_eq!(report.verdict, Outcome::Clean);
    }
    assert_eq!(signed.story.messages(Verb::Agree.as_str()).len(), 2);
}

/// Both are said to have agreed on one REQUEST more, and no longer. Nobody signed it, and the session that is
/// named made another revision.
#[tokio::test]
async fn cc_86_a_bundle_has_a_revision_that_nobody_signed() {
    let mut signed = honest().await;
    let forged = signed.put_revision();
    let position = signed.story.position(forged);
    assert_eq!(signed.story.report().verdict, Outcome::Broken);
    let report = signed.report(&signed.agreement);
    let found = report.findings.iter().find(|it| it.position == position);
    let found = found.expect("whoever has nothing but the bundle finds it");
    assert_eq!(found.cause, Cause::ReDecisionDiffers);
}

/// Whether a REQUEST engaged a contract stands in a stream that its bundle does not bring: it says so.
#[tokio::test]
async fn xn_9_a_bundle_has_an_engagement_that_nobody_asked_for() {
    let mut signed = honest().await;
    let strangers = signed.story.messages("x811.registry/register");
    let [.., before, stranger] = strangers[..] else {
        panic!("two are registered in the end");
    };
    let offer = signed.story.messages("x811.negotiation/offer")[0];
    let stream = signed.story.record(offer).stream.clone();
    let interaction = signed.story.get(before, "/envelope/id");
    let engaged = json!({ "type": "engaged", "interaction": interaction, "cause": before });
    signed.story.put(stranger, &stream, engaged);
    assert_eq!(signed.story.report().verdict, Outcome::Broken);
    let report = signed.report(&signed.contract);
    assert_eq!(report.verdict, Outcome::Clean, "{:#?}", report.findings);
    let not_checked = &report.extract.unwrap().not_checked;
    assert_eq!(not_checked.get(&Unchecked::EffectsElsewhere), Some(&1));
}
