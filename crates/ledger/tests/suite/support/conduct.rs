//! Agreements that were broken: what is recorded against whom, who is excluded for how long, and how an
//! operator lifts that (capability.md, "Breach and exclusion").

use super::bargain::Bargain;
use super::deal::Deal;
use super::ledgerbox::{Ledgerbox, parameters};
use super::party::{Account, Party};
use serde_json::json;
use x811_ledger::sequencer::LiftRequest;
use x811_protocol::event::LiftOrder;
use x811_protocol::id::InteractionId;
use x811_protocol::parameters::{Capabilities, Exclusion};
use x811_protocol::signed_read::{ReadProof, Target, sign};

/// A day.
pub(crate) const DAY_MS: u64 = 86_400_000;

/// A ledger that excludes by this rule.
pub(crate) async fn excluding(exclusion: Option<Exclusion>) -> Ledgerbox {
    excluding_under(Capabilities {
        exclusion,
        ..Capabilities::DEFAULT
    })
    .await
}

/// The same by that block.
pub(crate) async fn excluding_under(block: Capabilities) -> Ledgerbox {
    let mut parameters = parameters();
    parameters.capabilities = Some(block);
    parameters.limits.open_per_pair = 1_000;
    Ledgerbox::with(parameters).await
}

/// Terms of a year, with room enough.
fn terms() -> serde_json::Value {
    let mut terms = Bargain::terms(31_536_000, 1_000);
    terms["requests_per_minute"] = json!(1_000);
    terms
}

/// Two consumers with an agreement each with one provider, and a second one of the first.
pub(crate) struct Scene {
    pub(crate) first: Bargain,
    pub(crate) again: Bargain,
    pub(crate) other: Bargain,
}

impl Scene {
    pub(crate) async fn set(ledgerbox: &Ledgerbox) -> Scene {
        Scene::between(ledgerbox, Bargain::new(ledgerbox).await).await
    }

    /// The same, where the first two are those.
    pub(crate) async fn between(ledgerbox: &Ledgerbox, mut first: Bargain) -> Scene {
        first.agree(ledgerbox, &terms()).await;
        let mut again = first.clone();
        again.agreement = None;
        again.agree(ledgerbox, &terms()).await;
        let consumer = ledgerbox.initiator(&Account::new(0x47)).await;
        let (provider, stranger) = (first.provider.clone(), first.stranger.clone());
        let mut other = Bargain::between(consumer, provider, stranger);
        other.agree(ledgerbox, &terms()).await;
        Scene {
            first,
            again,
            other,
        }
    }

    /// Three breaches of two consumers: the least that excludes by the defaults.
    pub(crate) async fn exclude(&self, ledgerbox: &Ledgerbox) {
        for bargain in [&self.first, &self.again, &self.other] {
            broken(ledgerbox, bargain).await;
        }
    }
}

/// From a REQUEST under the agreement to its ACCEPT.
pub(crate) async fn accepted(ledgerbox: &Ledgerbox, bargain: &Bargain) -> Deal {
    let (id, request) = bargain.use_it(ledgerbox, |_| {});
    ledgerbox.accept(&request).await;
    let (consumer, provider) = (&bargain.consumer, &bargain.provider);
    let mut deal = Deal::between(ledgerbox, consumer, provider, Account::new(0x46));
    deal.request_id = id;
    let offer = deal.offer(ledgerbox);
    ledgerbox.accept(&offer).await;
    let accept = deal.accept(ledgerbox);
    ledgerbox.accept(&accept).await;
    deal
}

/// No RESULT comes in time.
pub(crate) async fn broken(ledgerbox: &Ledgerbox, bargain: &Bargain) -> InteractionId {
    let deal = accepted(ledgerbox, bargain).await;
    let windows = &ledgerbox.parameters.windows;
    ledgerbox
        .advance_ms(windows.result_ms.max(60_000) + 1)
        .await;
    deal.id()
}

impl Party {
    /// Signs that this exclusion of that agent be lifted.
    pub(crate) fn order_lift(&self, agent: &Party, excluded: u64, created_s: u64) -> LiftOrder {
        let (path, query) = LiftOrder::target(agent.did, excluded);
        let authority = "ledger.example";
        let target = Target {
            method: "POST",
            authority,
            path: &path,
            query: Some(&query),
        };
        let fields = sign(&target, self.did, &self.key, created_s, [7; 16]);
        let (input, signature) = (fields.signature_input, fields.signature);
        let proof = ReadProof::parse(input.as_bytes(), signature.as_bytes()).unwrap();
        LiftOrder {
            authority: authority.to_owned(),
            parameters: proof.parameters().to_owned(),
            signature: proof.signature(),
        }
    }
}

/// What that operator asks for now.
pub(crate) fn lift(
    ledgerbox: &Ledgerbox,
    operator: &Party,
    agent: &Party,
    excluded: u64,
) -> LiftRequest {
    let now_s = ledgerbox.ledger().now().as_ms() / 1_000;
    LiftRequest {
        agent: agent.did,
        excluded,
        operator: operator.did,
        order: operator.order_lift(agent, excluded, now_s),
    }
}

/// The position of the exclusion that the agent is under.
pub(crate) fn exclusion_of(ledgerbox: &Ledgerbox, agent: &Party) -> Option<u64> {
    let world = ledgerbox.ledger().world();
    let live = world.conduct(agent.did)?;
    Some(live.state.exclusion?.position)
}
