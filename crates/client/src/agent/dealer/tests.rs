use super::*;
use crate::testing::{CountingEntropy, identity};
use crate::usage::Straight;
use serde_json::json;
use x811_protocol::facts::{Category, OfferedCapability, SessionTerms};
use x811_protocol::id::{EnvelopeId, SessionId};

const TYPE: &str = "com.example.translate";

fn usage(duration_s: u64, requests: u64) -> Usage {
    Usage {
        duration_s,
        max_requests: Some(requests),
        requests_per_minute: Some(60),
        max_request_bytes: None,
    }
}

fn envelope(number: u8) -> EnvelopeId {
    EnvelopeId::from_parts(1, &[number; 10])
}

struct Scene {
    consumer: Did,
    provider: Did,
    dealer: Dealer,
    want: Want,
}

impl Scene {
    fn new() -> Scene {
        let entropy = CountingEntropy::default();
        let (consumer, provider) = (identity("ada", &entropy).did, identity("bob", &entropy).did);
        let grant = Grant {
            capability: TYPE.to_owned(),
            first: usage(600, 5),
            most: usage(3_600, 10),
            rest: Map::new(),
        };
        let version = "1.0.0".parse().unwrap();
        let want = Want {
            key: "translate".to_owned(),
            provider,
            capability: TYPE.to_owned(),
            protocol: VersionRange {
                deprecated: Vec::new(),
                max: version,
                min: version,
            },
            parameters: Map::new(),
            first: usage(3_600, 20),
            least: usage(600, 3),
            rest: Map::new(),
            orders: Vec::new(),
        };
        Scene {
            consumer,
            provider,
            dealer: Dealer {
                strategy: Arc::new(Straight),
                wants: vec![want.clone()],
                grants: vec![grant],
            },
            want,
        }
    }

    fn dealt(&self, stage: Stage) -> Dealt {
        let id = SessionId::from(envelope(1));
        Dealt {
            id,
            initiator: self.consumer,
            target: self.provider,
            capability: TYPE.to_owned(),
            consumer: self.consumer,
            agreement: id.into(),
            stage,
            proposed: Vec::new(),
            counters: 0,
            accepted_by: None,
            signed_by: Vec::new(),
            deadline: None,
            object: None,
        }
    }

    fn proposed(&self, author: Did, usage: Usage) -> Proposed {
        let terms = usage.with_rest(&Map::new());
        Proposed {
            author,
            step: envelope(2),
            facts: SessionTerms {
                data_handling_hash: None,
                duration_s: usage.duration_s,
                max_request_bytes: usage.max_request_bytes,
                max_requests: usage.max_requests,
                requests_per_minute: usage.requests_per_minute,
                terms_hash: Digest::of(&members_to_canonical(&terms)),
            },
            terms,
        }
    }

    /// What the provider does, having published that limit a minute.
    fn of_provider(&self, dealt: &Dealt, availability: Availability) -> DealMove {
        let mut descriptor = published();
        descriptor.capabilities[0].availability = availability;
        self.dealer
            .next(self.provider, dealt, None, Some(&descriptor), true)
    }
}

fn published() -> AdvertiseFacts {
    let version = "1.0.0".parse().unwrap();
    AdvertiseFacts {
        capabilities: vec![OfferedCapability {
            availability: Availability::Available,
            category: Category::Knowledge,
            deprecated: None,
            max: None,
            max_payload_bytes: None,
            min: None,
            requests_per_minute: Some(2),
            schema_hash: None,
            capability: TYPE.to_owned(),
            version,
        }],
        payload_hash: Digest::of(b""),
        protocol: VersionRange {
            deprecated: Vec::new(),
            max: version,
            min: version,
        },
        revision: 1,
    }
}

fn said(made: DealMove) -> (Act, SessionStep) {
    let DealMove::Say(act, step) = made else {
        panic!("{made:?}");
    };
    (act, step)
}

#[test]
fn cc_077_a_provider_is_willing_as_its_descriptor_says() {
    let scene = Scene::new();
    let mut dealt = scene.dealt(Stage::Requested);
    let is_willing = |dealt: &Dealt, availability| {
        let (_, step) = said(scene.of_provider(dealt, availability));
        let SessionStep::Response { willing, .. } = step else {
            panic!("{step:?}");
        };
        willing
    };
    assert!(is_willing(&dealt, Availability::Available));
    assert!(is_willing(&dealt, Availability::Busy), "CX-33");
    assert!(!is_willing(&dealt, Availability::Unavailable));
    dealt.capability = "compute.inference".to_owned();
    assert!(
        !is_willing(&dealt, Availability::Available),
        "nothing is granted of it"
    );
    let unpublished = scene.dealer.next(scene.provider, &dealt, None, None, true);
    assert_eq!(said(unpublished).0, Act::Decline);
}

#[test]
fn cc_081_counters_keep_to_what_is_granted_and_published() {
    let scene = Scene::new();
    let mut dealt = scene.dealt(Stage::Terms);
    dealt.proposed = vec![scene.proposed(scene.consumer, usage(86_400, 20))];
    let (act, step) = said(scene.of_provider(&dealt, Availability::Available));
    assert_eq!(act, Act::Terms);
    let SessionStep::Counter { terms, .. } = step else {
        panic!("{step:?}");
    };
    let due = json!({"duration_s": 600, "max_requests": 5, "requests_per_minute": 2});
    assert_eq!(Value::Object(terms), due, "the descriptor's limit a minute");
    // No counter is left: what is beyond the grant is turned down.
    dealt.counters = 5;
    let (act, _) = said(scene.of_provider(&dealt, Availability::Available));
    assert_eq!(act, Act::Decline);
    // Terms that bind to more than numbers are nobody's to accept unattended.
    let mut small = usage(60, 1);
    small.requests_per_minute = Some(1);
    dealt.proposed = vec![scene.proposed(scene.consumer, small)];
    assert_eq!(
        said(scene.of_provider(&dealt, Availability::Available)).0,
        Act::Agree
    );
    dealt.proposed[0]
        .terms
        .insert("data_handling".to_owned(), json!({}));
    assert_eq!(
        said(scene.of_provider(&dealt, Availability::Available)).0,
        Act::Decline
    );
}

/// A ledger that invents an acceptance gets no signature under terms that this agent never took.
#[test]
fn cc_084_signed_is_only_what_this_agent_proposed_or_accepted() {
    let scene = Scene::new();
    let mut dealt = scene.dealt(Stage::Agreeing);
    dealt.proposed = vec![scene.proposed(scene.consumer, usage(600, 5))];
    dealt.accepted_by = Some(scene.consumer);
    assert_eq!(
        scene.of_provider(&dealt, Availability::Available),
        DealMove::Leave
    );
    dealt.accepted_by = Some(scene.provider);
    assert_eq!(
        scene.of_provider(&dealt, Availability::Available),
        DealMove::Sign
    );
    dealt.signed_by = vec![scene.provider];
    assert_eq!(
        scene.of_provider(&dealt, Availability::Available),
        DealMove::Wait
    );
}

#[test]
fn cc_080_a_consumer_offers_what_it_wants_and_nothing_it_did_not_ask_for() {
    let scene = Scene::new();
    let next = |dealt: &Dealt, want: Option<&Want>| {
        scene.dealer.next(scene.consumer, dealt, want, None, true)
    };
    let dealt = scene.dealt(Stage::Open);
    let (_, step) = said(next(&dealt, Some(&scene.want)));
    let SessionStep::Offer { terms, .. } = step else {
        panic!("{step:?}");
    };
    assert_eq!(terms, scene.want.first.with_rest(&Map::new()));
    assert_eq!(next(&dealt, None), DealMove::Leave);
    let other = Want {
        provider: scene.consumer,
        ..scene.want.clone()
    };
    assert_eq!(
        next(&dealt, Some(&other)),
        DealMove::Leave,
        "another provider"
    );
    let agreed = scene.dealt(Stage::Closed(CloseReason::Agreed));
    assert_eq!(next(&agreed, Some(&scene.want)), DealMove::Agreed);
    let over = scene.dealt(Stage::Closed(CloseReason::Timeout));
    assert_eq!(next(&over, Some(&scene.want)), DealMove::Over);
}
