//! Which streams a bundle brings besides those of its opening: what a record of one names of others
//! (machines.md section 10). Followed from the subject's own stream, the same way by who writes a bundle
//! and by who audits it.

use x811_protocol::did::Did;
use x811_protocol::envelope::AcceptedHeader;
use x811_protocol::event::{Effect, EnvelopeAccepted, Event};
use x811_protocol::facts::{CapabilityFacts, ConsensusFacts, Facts};
use x811_protocol::stream::{Stream, Subject};

/// Whether records of that stream link to others.
pub fn has_links(stream: &Stream) -> bool {
    match stream {
        Stream::Of(
            Subject::Interaction(_)
            | Subject::Session(_)
            | Subject::Agreement(_)
            | Subject::Round(_),
        ) => true,
        Stream::Of(Subject::Contract(_) | Subject::Descriptor(_) | Subject::Conduct(_))
        | Stream::Ledger
        | Stream::Network(_)
        | Stream::Agent(_)
        | Stream::Mail(_)
        | Stream::Roots => false,
    }
}

/// The streams that a message rests on.
fn said(accepted: &EnvelopeAccepted) -> Vec<Stream> {
    let of = |subject: Subject| Stream::Of(subject);
    match &accepted.facts {
        Facts::Request(_) => {
            let agreement = accepted.derived.agreement;
            let agreement = agreement.map(|agreement| of(Subject::Agreement(agreement.id)));
            agreement.into_iter().collect()
        }
        Facts::Capability(CapabilityFacts::Request(request)) => {
            vec![match request.agreement_id {
                Some(agreement) => of(Subject::Agreement(agreement)),
                None => of(Subject::Descriptor(accepted.envelope.to)),
            }]
        }
        Facts::Capability(CapabilityFacts::Agree(agree))
            if accepted.derived.signatures == Some(2) =>
        {
            vec![of(Subject::Agreement(agree.agreement_id))]
        }
        Facts::Consensus(consensus) => {
            let rounds = consensus.names().into_iter();
            let rounds = rounds.map(|round| of(Subject::Round(round)));
            let who = agents(&accepted.envelope, consensus).into_iter();
            rounds.chain(who.map(Stream::Agent)).collect()
        }
        Facts::Offer(_)
        | Facts::Accept(_)
        | Facts::Reject(_)
        | Facts::Result(_)
        | Facts::Verify(_)
        | Facts::Payment(_)
        | Facts::Error(_)
        | Facts::Negotiation(_)
        | Facts::Capability(_)
        | Facts::Custom(_) => Vec::new(),
    }
}

/// The streams that a record of `stream` rests on: a REQUEST on its agreement, a session on the descriptor
/// it was decided by and on the agreement that it makes or negotiates again, an agreement on its
/// sessions, a round on those that it names and on all who say something in it or are to vote: a human, and
/// whoever claims to lead, are no members.
pub fn links(stream: &Stream, event: &Event) -> Vec<Stream> {
    if !has_links(stream) {
        return Vec::new();
    }
    let of = |subject: Subject| Stream::Of(subject);
    match event {
        Event::EnvelopeAccepted(accepted) => said(accepted),
        Event::Effect(Effect::Agreed(agreed)) => vec![
            of(Subject::Session(agreed.session)),
            of(Subject::Descriptor(agreed.provider)),
        ],
        // Of the others none links a stream to another.
        Event::Effect(_)
        | Event::Ledger(_)
        | Event::Network(_)
        | Event::Agent(_)
        | Event::Lapsed(_)
        | Event::Settlement(_)
        | Event::NoticeIssued(_)
        | Event::CycleDrawn(_)
        | Event::StateRoot(_) => Vec::new(),
    }
}

/// Whose keys and standing a message of a round rests on. The ledger itself is in its own stream.
fn agents(envelope: &AcceptedHeader, facts: &ConsensusFacts) -> Vec<Did> {
    let mut agents = vec![envelope.from];
    if let ConsensusFacts::Propose(proposal) = facts {
        agents.extend(&proposal.participants);
        agents.extend(Some(proposal.leader).filter(|leader| *leader != envelope.to));
    }
    agents
}
