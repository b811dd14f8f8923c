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
];
