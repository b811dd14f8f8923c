//! Stories that are the ledger's word.

/// By the names of their tests: event and member that `tests/AUDIT.md` calls the ledger's word, and why
/// the story is not more. One that is found now has to leave.
pub(crate) const WORDS: &[(&str, &str, &str, &str)] = &[
    (
        "lc_5_one_transaction_has_two_amounts",
        "seen",
        "transfers[].amount",
        "a transaction that a reorganisation moved runs anew, and may do otherwise",
    ),
    (
        "lc_5_heads_go_down_while_time_goes_on",
        "looked",
        "head.number",
        "a reorganisation that moved nothing that was watched leaves no record: a remark",
    ),
    (
        "lc_5_its_block_is_higher_than_any_head_of_its_time",
        "seen",
        "block.number",
        "what is higher than a head of later may have been reorganised away: a remark",
    ),
    (
        "lc_5_it_is_confirmed_at_a_depth_that_no_time_was_for",
        "confirmed",
        "evidence[].depth",
        "clocks differ by minutes, and on a chain of one's own time can be set",
    ),
    (
        "lc_5_a_look_says_a_depth_of_what_is_refuted_that_its_head_has_not",
        "looked",
        "(finding[].depth of what is refuted)",
        "a reorganisation may have moved it since, without a record",
    ),
    (
        "lc_9_an_erased_request_forgets_its_contract",
        "envelope_accepted",
        "(facts of a body that was erased)",
        "nothing that is left names the contract",
    ),
    (
        "lc_9_an_erased_request_forgets_its_agreement",
        "envelope_accepted",
        "(facts of a body that was erased)",
        "nothing that is left names the agreement",
    ),
    (
        "lc_9_an_erased_request_was_under_no_agreement_that_is_broken",
        "envelope_accepted",
        "(facts of a body that was erased)",
        "nothing that is left names the agreement",
    ),
    (
        "lc_9_a_result_is_left_out_and_its_lapse_is_a_breach",
        "envelope_accepted",
        "(record)",
        "its sender has the ledger's answer, which names its record hash",
    ),
    (
        "lc_9_a_session_is_asked_for_before_the_breach_that_excludes",
        "every",
        "(order)",
        "neither record rests on the other; its messages were signed later, which is counted",
    ),
    (
        "lc_9_a_human_is_said_to_be_silent",
        "envelope_accepted",
        "(record)",
        "the human has the ledger's answer, which names its record hash",
    ),
    (
        "lc_9_a_descriptor_is_held_back_behind_a_session",
        "every",
        "(order)",
        "neither record rests on the other; its sender has the answer",
    ),
    (
        "lc_9_an_exclusion_is_spared_by_a_rule_for_a_moment",
        "parameters_set",
        "capabilities.exclusion.breaches",
        "the operator sets the rule, and the report names both changes",
    ),
    (
        "lc_9_an_excluded_agent_proposes_while_there_are_no_capabilities",
        "parameters_set",
        "capabilities",
        "the operator leaves the block out, and the report names both changes",
    ),
    (
        "lc_9_a_network_is_blind_while_a_cycle_is_closed",
        "network_blind",
        "(record)",
        "what the ledger's endpoints answered, nobody else saw",
    ),
    (
        "lc_9_no_head_was_known_when_a_cycle_was_closed",
        "envelope_accepted",
        "(derived.seed where the log has named no head)",
        "a network without endpoints has no head and is never blind",
    ),
];
