//! Which agreements about capabilities an agent makes by itself: what it wants, what it grants, and its
//! limits. Pure.

use std::fmt;
use std::sync::Arc;

use serde_json::{Map, Value};
use x811_protocol::canonical::members_to_canonical;
use x811_protocol::capability::version::VersionRange;
use x811_protocol::did::Did;
use x811_protocol::digest::Digest;
use x811_protocol::event::CloseReason;
use x811_protocol::facts::{AdvertiseFacts, Availability};

use super::dealt::{Dealt, Proposed, Stage};
use super::outbox::Act;
use super::run::Order;
use crate::compose::{AnsweredTerms, SessionStep};
use crate::usage::{
    LastUsage, Room, SaidUsage, Side, Usage, UsageReply, UsageStrategy, rest_of, usage_reply,
};

/// Counters of both sides together, where the ledger says no other number (CX-39).
const COUNTERS: u64 = 5;

/// What an agent that walks away gives as its reason.
const RATIONALE: &str = "these terms are beyond what this agent may agree on by itself";

/// How an agent takes part in sessions by itself.
#[derive(Clone)]
pub struct Dealer {
    /// How far it goes towards the other side.
    pub strategy: Arc<dyn UsageStrategy>,
    /// Agreements that it asks for.
    pub wants: Vec<Want>,
    /// What it grants others.
    pub grants: Vec<Grant>,
}

impl fmt::Debug for Dealer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Dealer")
            .field("wants", &self.wants)
            .field("grants", &self.grants)
            .finish_non_exhaustive()
    }
}

/// An agreement that an agent asks for, and the orders under it.
#[derive(Debug, Clone, PartialEq)]
pub struct Want {
    /// Says which one it is, at every start.
    pub key: String,
    /// Who is to provide it.
    pub provider: Did,
    /// The type of the capability, as the provider's descriptor has it.
    pub capability: String,
    /// The versions that this agent speaks.
    pub protocol: VersionRange,
    /// What the capability is to be used with.
    pub parameters: Map<String, Value>,
    /// The first terms that it names.
    pub first: Usage,
    /// The least that it takes.
    pub least: Usage,
    /// What terms say besides their numbers, `data_handling` for instance.
    pub rest: Map<String, Value>,
    /// REQUESTs that are sent once it is in force.
    pub orders: Vec<Order>,
}

/// Use of a capability that an agent grants by itself, as far as its descriptor has it.
#[derive(Debug, Clone, PartialEq)]
pub struct Grant {
    /// The type of the capability, as in the agent's own descriptor.
    pub capability: String,
    /// The first terms that it names.
    pub first: Usage,
    /// The most that it grants; the limits of its descriptor hold besides.
    pub most: Usage,
    /// What terms say besides their numbers.
    pub rest: Map<String, Value>,
}

/// What to do in a session.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum DealMove {
    /// Nothing before the other party says something, or time ends it.
    Wait,
    /// It is no business of this agent.
    Leave,
    Say(Act, SessionStep),
    /// Sign what was agreed on.
    Sign,
    /// The agreement is in force.
    Agreed,
    /// It came to nothing.
    Over,
}

/// How far this agent goes in a session, and what terms must say besides.
struct Part<'a> {
    room: Room,
    rest: &'a Map<String, Value>,
}

impl Want {
    fn room(&self) -> Room {
        Room {
            side: Side::Consumer,
            first: self.first,
            last: self.least,
        }
    }

    /// The message that opens its session.
    pub(crate) fn request(&self) -> SessionStep {
        SessionStep::Request {
            capability: self.capability.clone(),
            protocol: self.protocol.clone(),
            parameters: self.parameters.clone(),
            renews: None,
        }
    }
}

impl Grant {
    /// Its limits together with those that the agent published; `None` where it published that it does
    /// not do this now.
    fn room(&self, descriptor: &AdvertiseFacts) -> Option<Room> {
        let mut offered = descriptor.capabilities.iter();
        let offered = offered.find(|offered| offered.capability == self.capability)?;
        if offered.availability == Availability::Unavailable {
            return None;
        }
        let published = Usage {
            duration_s: u64::MAX,
            max_requests: None,
            requests_per_minute: offered.requests_per_minute,
            max_request_bytes: offered.max_payload_bytes,
        };
        let last = self.most.at_most(published);
        Some(Room {
            side: Side::Provider,
            first: self.first.at_most(last),
            last,
        })
    }
}

impl Dealer {
    /// The agreement that is asked for under that key.
    pub(crate) fn want(&self, key: &str) -> Option<&Want> {
        self.wants.iter().find(|want| want.key == key)
    }

    /// What `me` does next in a session; `want` is what it is for, where this agent began it, and
    /// `descriptor` what this agent published. `may_counter` is false where the ledger refused a counter
    /// to the last terms.
    pub(crate) fn next(
        &self,
        me: Did,
        dealt: &Dealt,
        want: Option<&Want>,
        descriptor: Option<&AdvertiseFacts>,
        may_counter: bool,
    ) -> DealMove {
        if let Stage::Closed(reason) = dealt.stage {
            return match reason {
                CloseReason::Agreed => DealMove::Agreed,
                CloseReason::Rejected
                | CloseReason::Abandoned
                | CloseReason::Timeout
                | CloseReason::Declined => DealMove::Over,
            };
        }
        if ![dealt.initiator, dealt.target].contains(&me) {
            return DealMove::Leave;
        }
        let Some(part) = self.part(me, dealt, want, descriptor) else {
            return DealMove::declined(me, dealt);
        };
        match dealt.stage {
            Stage::Requested if dealt.target == me => {
                let response = SessionStep::Response {
                    session: dealt.id,
                    willing: true,
                    lifetime_ms: None,
                };
                DealMove::Say(Act::Answer, response)
            }
            Stage::Open if dealt.initiator == me => {
                let offer = SessionStep::Offer {
                    session: dealt.id,
                    terms: part.room.first.with_rest(part.rest),
                };
                DealMove::Say(Act::Terms, offer)
            }
            Stage::Terms => self.answer(me, dealt, &part, may_counter),
            Stage::Agreeing => DealMove::signing(me, dealt),
            Stage::Requested | Stage::Open | Stage::Closed(_) => DealMove::Wait,
        }
    }

    /// This agent's part: what it wants, or what it grants.
    fn part<'a>(
        &'a self,
        me: Did,
        dealt: &Dealt,
        want: Option<&'a Want>,
        descriptor: Option<&AdvertiseFacts>,
    ) -> Option<Part<'a>> {
        if dealt.consumer == me {
            let want = want.filter(|want| {
                want.capability == dealt.capability && want.provider == dealt.counterparty(me)
            })?;
            return Some(Part {
                room: want.room(),
                rest: &want.rest,
            });
        }
        let mut grants = self.grants.iter();
        let grant = grants.find(|grant| grant.capability == dealt.capability)?;
        Some(Part {
            room: grant.room(descriptor?)?,
            rest: &grant.rest,
        })
    }

    fn answer(&self, me: Did, dealt: &Dealt, part: &Part<'_>, may_counter: bool) -> DealMove {
        let (Some(last), Some(answers)) = (dealt.last(), dealt.answers()) else {
            return DealMove::Wait;
        };
        if last.author == me {
            return DealMove::Wait;
        }
        let said = |is_own: bool| -> Vec<Usage> {
            let proposed = dealt.proposed.iter();
            let proposed = proposed.filter(|proposed| (proposed.author == me) == is_own);
            proposed
                .map(|proposed| Usage::of(&proposed.facts))
                .collect()
        };
        let (own, theirs) = (said(true), said(false));
        let said = SaidUsage {
            own: &own,
            theirs: &theirs,
        };
        let now = LastUsage {
            are_alike: rest_of(&last.terms) == *part.rest,
            may_be_countered: may_counter && dealt.counters < COUNTERS,
        };
        match usage_reply(said, &part.room, &*self.strategy, now) {
            UsageReply::Accept => DealMove::Say(Act::Agree, accept(last, answers)),
            UsageReply::Counter(usage) => {
                let terms = usage.with_rest(part.rest);
                DealMove::Say(Act::Terms, SessionStep::Counter { answers, terms })
            }
            UsageReply::Reject => {
                let rationale = RATIONALE.to_owned();
                DealMove::Say(Act::Decline, SessionStep::Reject { answers, rationale })
            }
        }
    }
}

fn accept(last: &Proposed, answers: AnsweredTerms) -> SessionStep {
    SessionStep::Accept {
        answers,
        terms_hash: Digest::of(&members_to_canonical(&last.terms)),
    }
}

impl DealMove {
    /// Whoever is asked for what it does not grant says so; nothing else is said.
    fn declined(me: Did, dealt: &Dealt) -> DealMove {
        if dealt.stage == Stage::Requested && dealt.target == me {
            let response = SessionStep::Response {
                session: dealt.id,
                willing: false,
                lifetime_ms: None,
            };
            return DealMove::Say(Act::Decline, response);
        }
        DealMove::Leave
    }

    /// Signed are terms alone that this agent proposed or accepted, by its own signature.
    fn signing(me: Did, dealt: &Dealt) -> DealMove {
        let is_mine = dealt.last().is_some_and(|last| last.author == me);
        if dealt.signed_by.contains(&me) {
            DealMove::Wait
        } else if is_mine || dealt.accepted_by == Some(me) {
            DealMove::Sign
        } else {
            DealMove::Leave
        }
    }
}

#[cfg(test)]
mod tests;
