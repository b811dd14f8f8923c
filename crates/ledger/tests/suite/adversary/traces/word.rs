//! Members of traces that a trace alone cannot show, and those that a log cannot show either.

/// Members that only the log shows; of each, some other values are found in the trace alone.
pub(super) const ALONE: &[(&str, &str)] = &[
    ("capability_agreement_create.agreement_hash", MESSAGE),
    ("capability_agreement_create.consumer", MESSAGE),
    ("capability_agreement_create.record_hash", RECORD),
    ("capability_agreement_create.version", MESSAGE),
    ("capability_agreement_revoke.position", RECORD),
    ("capability_agreement_revoke.record_hash", RECORD),
    ("capability_agreement_revoke.revoked_by", MESSAGE),
    ("capability_negotiation_close.capability_type", MESSAGE),
    ("capability_negotiation_close.closed_by", MESSAGE),
    ("capability_negotiation_close.position", RECORD),
    ("capability_negotiation_close.rationale", MESSAGE),
    ("capability_negotiation_close.record_hash", RECORD),
    ("capability_renegotiate.agreement_hash", MESSAGE),
    ("capability_renegotiate.record_hash", RECORD),
    ("claims.recorded_at_ms", RECORD),
    ("consensus_commit.position", RECORD),
    ("consensus_commit.reason", MOMENT),
    ("consensus_commit.record_hash", RECORD),
    ("consensus_commit.seed", MOMENT),
    ("consensus_commit.tally.connected", PROPOSAL),
    ("consensus_commit.tally.eligible", PROPOSAL),
    ("consensus_commit.tally.invalid", PROPOSAL),
    ("consensus_commit.tally.quorum_met", PROPOSAL),
    ("consensus_commit.tally.quorum_required", PROPOSAL),
    ("consensus_commit.tally.weights.threshold.den", PROPOSAL),
    ("consensus_commit.tally.weights.total", PROPOSAL),
    ("consensus_commit.winner", MOMENT),
    ("consensus_escalate.position", RECORD),
    ("consensus_escalate.record_hash", RECORD),
    ("consensus_human_decision.human", MESSAGE),
    ("consensus_human_decision.position", RECORD),
    ("consensus_human_decision.record_hash", RECORD),
    ("consensus_propose.action_hash", MESSAGE),
    ("consensus_propose.action_type", MESSAGE),
    ("consensus_propose.leader", MESSAGE),
    ("consensus_propose.position", RECORD),
    ("consensus_propose.proposal_hash", MESSAGE),
    ("consensus_propose.proposer", MESSAGE),
    ("consensus_propose.record_hash", RECORD),
    ("consensus_propose.timeout_ms", MESSAGE),
    ("consensus_propose.weights_hash", MESSAGE),
    ("consensus_vote.position", RECORD),
    ("consensus_vote.record_hash", RECORD),
    ("consensus_vote.voter", MESSAGE),
    ("contract_accept.position", RECORD),
    ("contract_accept.record_hash", RECORD),
    ("contract_accept.step_id", MESSAGE),
    ("contract_counter.record_hash", RECORD),
    ("contract_counter.step_id", MESSAGE),
    ("contract_engage.interaction_id", MESSAGE),
    ("contract_engage.position", RECORD),
    ("contract_engage.record_hash", RECORD),
    ("contract_lapse.position", RECORD),
    ("contract_lapse.record_hash", RECORD),
    ("contract_offer.by", MESSAGE),
    ("contract_offer.position", RECORD),
    ("contract_offer.record_hash", RECORD),
    ("contract_reject.position", RECORD),
    ("contract_reject.record_hash", RECORD),
    ("contract_reject.step_id", MESSAGE),
    ("contract_withdraw.position", RECORD),
    ("contract_withdraw.record_hash", RECORD),
    ("contract_withdraw.step_id", MESSAGE),
    ("nodes.cut", END),
    ("nodes.drop", END),
];

const RECORD: &str = "of a record, which only the log has";
const MESSAGE: &str = "of a message, whose signature is not in the trace";
const PROPOSAL: &str =
    "of participants, weights and quorum, which only the proposal and the parameters have";
const MOMENT: &str = "of what hindered the round, or of what other rounds did to it";
const END: &str = "of the end: a trace is of a moment, and any beginning of it was one";

/// Members that nobody can show.
pub(super) const WORD: &[(&str, &str)] = &[("claims.iat", SERVED)];

const SERVED: &str =
    "of when it was served, which no record says: from the last record of the trace on";
