//! Which members, tags and words the code knows, asked of serde: the deserializers that it derives
//! say what they look for.

use std::fmt;

use serde::Deserialize;
use serde::de::{self, Deserializer, Visitor};
use serde::forward_to_deserialize_any;
use x811_protocol::capability::version::VersionRange;
use x811_protocol::capability::{agreement, conduct, descriptor, session};
use x811_protocol::contract;
use x811_protocol::envelope::AcceptedHeader;
use x811_protocol::event::{
    AgentRegistered, AgentStatusChanged, AgentUpdated, Agreed, AgreementWindow, BodiesErased,
    BreachKind, BreachRecorded, Claim, CloseReason, Confirmed, Continues, ContractWindow, Derived,
    Engaged, EngagedContract, EnvelopeAccepted, ErasureOrder, Evidence, Excluded, ExclusionLifted,
    Final, Finding, FindingStatus, KeyRotated, Lapsed, Late, LedgerKeyRotated, LedgerKeys,
    LedgerOpened, LedgerResumed, LedgerRole, Level, LiftOrder, Looked, NetworkBlind,
    NetworkSighted, NoticeIssued, PayerBinding, ReferenceSdk, Refuted, RefutedCause, Reversed,
    RevertReason, RulesChanged, Seen, SessionClosed, SessionWindow, SettlementRecords, StateRoot,
    TransactionNamed, Used, UsedAgreement, Window,
};
use x811_protocol::facts::consensus;
use x811_protocol::facts::{
    AcceptFacts, AcceptancePolicy, AdvertiseFacts, AgreementRevoke, AmountOf, Availability,
    Category, ContractAccept, ContractCounter, ContractOffer, CustomFacts, DisputeCode, ErrorFacts,
    Location, OfferFacts, OfferedCapability, PaymentFacts, RejectCode, RejectFacts, RenewalReason,
    RequestFacts, ResultFacts, SessionAccept, SessionAgree, SessionClose, SessionCounter,
    SessionOffer, SessionReject, SessionRequest, SessionResponse, SessionTerms, StepRefusal,
    TermsFacts, UsageLimits, VerifyFacts,
};
use x811_protocol::interaction::{
    Acceptance, Closing, Deal, Delivery, Dispute, Offer, OfferDeadline, Opening, RecordRef,
    Schedule, Settlement, Stage, State, Unpaid,
};
use x811_protocol::key::{AgentKey, Profile};
use x811_protocol::observation::{BlindCause, Block, ForkPoint, NetworkHead, Transfer};
use x811_protocol::parameters::{
    Anomalies, Capabilities, Contracts, CycleRule, Exclusion, LeaderPolicy, Leaders, Leniency,
    Limits, Network, Parameters, PayerBindingRule, Rounds, Windows,
};
use x811_protocol::round;
use x811_protocol::settlement::{Aftermath, Completion, Declared, DeclaredStanding, PaidTransfer};
use x811_protocol::trust::TrustCounters;
use x811_protocol::wallet::{Wallet, WalletKind};
use x811_world::agent::{Agent, Status};

type Names = Vec<&'static str>;

/// The members of every object that is a type of its own.
pub(crate) fn members() -> Vec<(&'static str, Names)> {
    let mut all = of_events();
    all.extend(of_parts());
    all.extend(of_states());
    all
}

/// Those of every event.
pub(crate) fn of_events() -> Vec<(&'static str, Names)> {
    vec![
        ("ledger_opened", asked::<LedgerOpened>()),
        ("parameters_set", asked::<Parameters>()),
        ("rules_changed", asked::<RulesChanged>()),
        ("ledger_key_rotated", asked::<LedgerKeyRotated>()),
        ("ledger_resumed", asked::<LedgerResumed>()),
        ("bodies_erased", asked::<BodiesErased>()),
        ("network_blind", asked::<NetworkBlind>()),
        ("network_sighted", asked::<NetworkSighted>()),
        ("agent_registered", asked::<AgentRegistered>()),
        ("agent_updated", asked::<AgentUpdated>()),
        ("key_rotated", asked::<KeyRotated>()),
        ("agent_deactivated", asked::<AgentStatusChanged>()),
        ("agent_reactivated", asked::<AgentStatusChanged>()),
        ("agent_revoked", asked::<AgentStatusChanged>()),
        ("envelope_accepted", asked::<EnvelopeAccepted>()),
        ("lapsed", asked::<Lapsed>()),
        ("looked", asked::<Looked>()),
        ("seen", asked::<Seen>()),
        ("unseen", asked::<TransactionNamed>()),
        ("refuted", asked::<Refuted>()),
        ("confirmed", asked::<Confirmed>()),
        ("final", asked::<Final>()),
        ("reversed", asked::<Reversed>()),
        ("returned", asked::<TransactionNamed>()),
        ("late", asked::<Late>()),
        ("notice_issued", asked::<NoticeIssued>()),
        ("state_root", asked::<StateRoot>()),
        ("engaged", asked::<Engaged>()),
        ("session_closed", asked::<SessionClosed>()),
        ("agreed", asked::<Agreed>()),
        ("used", asked::<Used>()),
        ("breach_recorded", asked::<BreachRecorded>()),
        ("excluded", asked::<Excluded>()),
        ("exclusion_lifted", asked::<ExclusionLifted>()),
        ("round_opened", asked::<round::RoundOpened>()),
        ("round_decided", asked::<round::RoundDecided>()),
        ("cycle_drawn", asked::<round::CycleDrawn>()),
        ("resubmitted", asked::<round::Resubmitted>()),
        ("round_escalated", asked::<round::RoundEscalated>()),
        ("anomaly_noted", asked::<round::AnomalyNoted>()),
    ]
}

fn of_parts() -> Vec<(&'static str, Names)> {
    vec![
        ("reference_sdk", asked::<ReferenceSdk>()),
        ("ledger_keys", asked::<LedgerKeys>()),
        ("erasure_order", asked::<ErasureOrder>()),
        ("windows", asked::<Windows>()),
        ("network", asked::<Network>()),
        ("limits", asked::<Limits>()),
        ("contracts", asked::<Contracts>()),
        ("capabilities", asked::<Capabilities>()),
        ("exclusion", asked::<Exclusion>()),
        ("lift_order", asked::<LiftOrder>()),
        ("rounds", asked::<Rounds>()),
        ("anomalies", asked::<Anomalies>()),
        ("leaders", asked::<Leaders>()),
        ("advertise_facts", asked::<AdvertiseFacts>()),
        ("offered_capability", asked::<OfferedCapability>()),
        ("version_range", asked::<VersionRange>()),
        ("engaged_contract", asked::<EngagedContract>()),
        ("used_agreement", asked::<UsedAgreement>()),
        ("session_request_facts", asked::<SessionRequest>()),
        ("session_response_facts", asked::<SessionResponse>()),
        ("session_offer_facts", asked::<SessionOffer>()),
        ("session_counter_facts", asked::<SessionCounter>()),
        ("session_accept_facts", asked::<SessionAccept>()),
        ("session_reject_facts", asked::<SessionReject>()),
        ("session_close_facts", asked::<SessionClose>()),
        ("session_agree_facts", asked::<SessionAgree>()),
        ("agreement_revoke_facts", asked::<AgreementRevoke>()),
        ("session_terms", asked::<SessionTerms>()),
        ("usage_limits", asked::<UsageLimits>()),
        ("proposal_facts", asked::<consensus::Proposal>()),
        ("threshold", asked::<consensus::Threshold>()),
        ("vote_request_facts", asked::<consensus::VoteRequest>()),
        ("ready_facts", asked::<consensus::Ready>()),
        ("vote_facts", asked::<consensus::Vote>()),
        ("reveal_facts", asked::<consensus::Reveal>()),
        ("leader_signal_facts", asked::<consensus::LeaderSignal>()),
        ("of_round_facts", asked::<consensus::OfRound>()),
        ("escalate_facts", asked::<consensus::Escalate>()),
        ("human_decision_facts", asked::<consensus::HumanDecision>()),
        ("report_facts", asked::<consensus::Report>()),
        ("tally", asked::<round::Tally>()),
        ("weight_tally", asked::<round::tally::WeightTally>()),
        ("negotiation_offer_facts", asked::<ContractOffer>()),
        ("negotiation_counter_facts", asked::<ContractCounter>()),
        ("negotiation_accept_facts", asked::<ContractAccept>()),
        ("negotiation_step_facts", asked::<StepRefusal>()),
        ("terms", asked::<TermsFacts>()),
        ("block", asked::<Block>()),
        ("network_head", asked::<NetworkHead>()),
        ("agent_key", asked::<AgentKey>()),
        ("wallet", asked::<Wallet>()),
        ("envelope", asked::<AcceptedHeader>()),
        ("derived", asked::<Derived>()),
        ("seed", asked::<round::Seed>()),
        ("request_facts", asked::<RequestFacts>()),
        ("offer_facts", asked::<OfferFacts>()),
        ("accept_facts", asked::<AcceptFacts>()),
        ("reject_facts", asked::<RejectFacts>()),
        ("result_facts", asked::<ResultFacts>()),
        ("verify_facts", asked::<VerifyFacts>()),
        ("payment_facts", asked::<PaymentFacts>()),
        ("error_facts", asked::<ErrorFacts>()),
        ("custom_facts", asked::<CustomFacts>()),
        ("finding", asked::<Finding>()),
        ("transfer", asked::<Transfer>()),
        ("fork_point", asked::<ForkPoint>()),
        ("continues", asked::<Continues>()),
        ("evidence", asked::<Evidence>()),
        ("claim", asked::<Claim>()),
        ("settlement_records", asked::<SettlementRecords>()),
    ]
}

fn of_states() -> Vec<(&'static str, Names)> {
    vec![
        // The root adds what the agent earned.
        ("agent", [asked::<Agent>(), vec!["trust"]].concat()),
        ("trust", asked::<TrustCounters>()),
        ("closing", asked::<Closing>()),
        ("dispute", asked::<Dispute>()),
        ("unpaid", asked::<Unpaid>()),
        ("record_ref", asked::<RecordRef>()),
        ("opening", asked::<Opening>()),
        ("offer_deadline", asked::<OfferDeadline>()),
        ("offer", asked::<Offer>()),
        ("deal", asked::<Deal>()),
        ("acceptance", asked::<Acceptance>()),
        ("delivery", asked::<Delivery>()),
        ("settlement", asked::<Settlement>()),
        ("declared", asked::<Declared>()),
        ("completion", asked::<Completion>()),
        ("aftermath", asked::<Aftermath>()),
        ("paid_transfer", asked::<PaidTransfer>()),
        ("negotiated", asked::<contract::Closing>()),
        ("contract_opening", asked::<contract::Opening>()),
        ("step", asked::<contract::Step>()),
        ("descriptor", asked::<descriptor::State>()),
        ("session", asked::<session::State>()),
        ("session_ending", asked::<session::Ending>()),
        ("renewal", asked::<session::Renewal>()),
        ("proposed_terms", asked::<session::ProposedTerms>()),
        ("signed", asked::<session::Signed>()),
        ("agreement", asked::<agreement::State>()),
        ("conduct", asked::<conduct::State>()),
        ("breach", asked::<conduct::Breach>()),
        ("last_exclusion", asked::<conduct::LastExclusion>()),
        ("round", asked::<round::State>()),
        ("contest", asked::<round::Contest>()),
        ("waiting", asked::<round::Waiting>()),
        ("draw", asked::<round::Draw>()),
        ("round_opening", asked::<round::Opening>()),
        ("seat", asked::<round::Seat>()),
        ("vote", asked::<round::VoteRecord>()),
        ("choice", asked::<consensus::Choice>()),
        ("verdict", asked::<round::TallyVerdict>()),
    ]
}

/// The tags of every choice.
pub(crate) fn tags() -> Vec<(&'static str, Names)> {
    vec![
        ("interaction", asked::<State>()),
        ("stage", asked::<Stage>()),
        ("standing", asked::<DeclaredStanding>()),
        ("schedule", asked::<Schedule>()),
        ("contract", asked::<contract::State>()),
        ("engagement", asked::<contract::Engagement>()),
        ("phase", asked::<round::Phase>()),
        ("ending", asked::<round::Ending>()),
        ("countersignature", asked::<round::Countersignature>()),
    ]
}

/// Every set of words.
pub(crate) fn words() -> Vec<(&'static str, Names)> {
    vec![
        ("role", asked::<LedgerRole>()),
        ("payer_binding_rule", asked::<PayerBindingRule>()),
        ("payer_binding", asked::<PayerBinding>()),
        ("leniency", asked::<Leniency>()),
        ("blind_cause", asked::<BlindCause>()),
        ("profile", asked::<Profile>()),
        ("wallet_kind", asked::<WalletKind>()),
        (
            "window",
            [
                asked::<Window>(),
                asked::<ContractWindow>(),
                asked::<SessionWindow>(),
                asked::<AgreementWindow>(),
                asked::<round::RoundWindow>(),
            ]
            .concat(),
        ),
        ("amount_of", asked::<AmountOf>()),
        ("category", asked::<Category>()),
        ("availability", asked::<Availability>()),
        ("renewal_reason", asked::<RenewalReason>()),
        ("close_reason", asked::<CloseReason>()),
        ("breach_kind", asked::<BreachKind>()),
        ("session_state", asked::<session::StateName>()),
        (
            "agreement_standing",
            asked::<agreement::AgreementStanding>(),
        ),
        ("leader_policy", asked::<LeaderPolicy>()),
        ("cycle", asked::<CycleRule>()),
        ("mechanism", asked::<consensus::Mechanism>()),
        ("voting", asked::<consensus::Voting>()),
        ("decision", asked::<consensus::Decision>()),
        ("human_ruling", asked::<consensus::HumanRuling>()),
        ("risk", asked::<consensus::Risk>()),
        ("escalation_plea", asked::<consensus::EscalationPlea>()),
        ("round_effect", asked::<round::Effect>()),
        ("outcome", asked::<round::Outcome>()),
        ("round_reason", asked::<round::Reason>()),
        ("escalation_reason", asked::<round::EscalationReason>()),
        ("anomaly", asked::<round::Anomaly>()),
        ("report", asked::<round::Reported>()),
        ("hindrance", asked::<round::tally::Hindrance>()),
        ("finding_status", asked::<FindingStatus>()),
        ("level", asked::<Level>()),
        ("refuted_cause", asked::<RefutedCause>()),
        ("revert_reason", asked::<RevertReason>()),
        ("acceptance_policy", asked::<AcceptancePolicy>()),
        ("reject_code", asked::<RejectCode>()),
        ("dispute_code", asked::<DisputeCode>()),
        ("location", asked::<Location>()),
        ("status", asked::<Status>()),
    ]
}

/// What a type asks its reader for.
fn asked<'de, T: Deserialize<'de>>() -> Names {
    match T::deserialize(Question) {
        Err(Asked::Names(names)) => names.to_vec(),
        Err(Asked::Otherwise(what)) => panic!("it asks for something else: {what}"),
        Ok(_) => panic!("nothing was there to read"),
    }
}

/// Has no value: what it is asked for is its answer.
struct Question;

#[derive(Debug)]
enum Asked {
    Names(&'static [&'static str]),
    Otherwise(String),
}

impl fmt::Display for Asked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self:?}")
    }
}

impl std::error::Error for Asked {}

impl de::Error for Asked {
    fn custom<T: fmt::Display>(message: T) -> Asked {
        Asked::Otherwise(message.to_string())
    }
}

impl<'de> Deserializer<'de> for Question {
    type Error = Asked;

    fn deserialize_any<V: Visitor<'de>>(self, _: V) -> Result<V::Value, Asked> {
        Err(Asked::Otherwise("any value".to_owned()))
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        fields: &'static [&'static str],
        _: V,
    ) -> Result<V::Value, Asked> {
        Err(Asked::Names(fields))
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        variants: &'static [&'static str],
        _: V,
    ) -> Result<V::Value, Asked> {
        Err(Asked::Names(variants))
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 u8 u16 u32 u64 f32 f64 char str string bytes byte_buf option unit
        unit_struct newtype_struct seq tuple tuple_struct map identifier ignored_any
    }
}
