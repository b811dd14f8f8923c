//! Stories that nobody finds yet.

/// By the names of their tests, and why. One that is found now has to leave.
pub(crate) const OPEN_STORIES: &[(&str, &str)] = &[
    (
        "lc_5_more_is_confirmed_than_was_seen",
        "evidence is not held to what was seen",
    ),
    (
        "lc_5_less_is_confirmed_than_was_seen_and_the_surplus_kept",
        "likewise",
    ),
    ("lc_5_one_transfer_is_split_in_two", "likewise"),
    (
        "lc_5_it_was_seen_as_enough_and_is_refuted_as_short",
        "likewise",
    ),
    (
        "lc_5_its_transfers_are_left_out_and_it_is_refuted_as_reverted",
        "likewise",
    ),
    (
        "lc_5_one_transaction_has_two_amounts",
        "a transaction's records are not held to each other",
    ),
    (
        "lc_5_a_transaction_reverted_when_it_was_seen_as_paying",
        "likewise",
    ),
    (
        "lc_5_two_hashes_are_at_one_height",
        "blocks and heads are not held to each other",
    ),
    ("lc_5_one_block_has_two_times", "likewise"),
    ("lc_5_heads_go_down_while_time_goes_on", "likewise"),
    (
        "lc_5_its_block_is_younger_than_its_record",
        "blocks are not held to the time of their record",
    ),
    (
        "lc_5_its_block_is_higher_than_any_head_of_its_time",
        "likewise",
    ),
    (
        "lc_5_a_look_is_answered_by_a_head_of_the_future",
        "likewise",
    ),
    (
        "lc_5_a_network_is_sighted_by_an_old_head",
        "the head of network_sighted is not held to its time",
    ),
    (
        "lc_5_it_is_confirmed_at_a_depth_that_no_time_was_for",
        "a depth is not held to heights and times",
    ),
    (
        "lc_5_it_is_confirmed_by_no_endpoint",
        "endpoints are not counted",
    ),
    (
        "lc_5_it_is_confirmed_by_one_endpoint_named_twice",
        "likewise",
    ),
    ("lc_5_it_is_refuted_by_no_endpoint", "likewise"),
    (
        "lc_5_it_is_confirmed_while_the_network_is_blind",
        "blindness is not asked for",
    ),
    (
        "lc_5_a_look_finds_what_nobody_saw",
        "looks are not held to what was seen",
    ),
    (
        "lc_5_a_look_says_a_depth_of_what_is_refuted_that_its_head_has_not",
        "likewise",
    ),
    (
        "rule_18_evidence_leaves_out_the_nonce_that_binds_the_payer",
        "nothing reads the nonce of evidence",
    ),
    (
        "rule_18_evidence_has_the_nonce_of_another_interaction",
        "likewise",
    ),
    (
        "lc_6_an_accept_is_hidden_and_the_provider_lapses",
        "messages of the core types in mail are not routed again",
    ),
    (
        "lc_6_a_result_is_hidden_and_the_provider_lapses",
        "likewise",
    ),
    (
        "lc_6_a_verdict_is_hidden_and_the_initiator_lapses",
        "likewise",
    ),
    (
        "lc_6_a_payment_is_hidden_and_the_initiator_lapses",
        "likewise",
    ),
    ("lc_6_a_second_payment_is_hidden", "likewise"),
    ("lc_6_an_offer_is_hidden_and_the_request_lapses", "likewise"),
    ("lc_6_a_reject_is_hidden_and_the_offer_lapses", "likewise"),
    (
        "lc_6_an_error_is_hidden_though_its_reference_is_known",
        "likewise",
    ),
    ("lc_6_a_request_is_hidden_and_nothing_opens", "likewise"),
    (
        "ax_32_a_notice_was_made_before_its_cause",
        "the time of a notice's message is not read",
    ),
    ("ax_32_a_notice_was_made_behind_its_record", "likewise"),
    (
        "ax_32_a_notice_asks_for_money",
        "the text of a notice's message is not read",
    ),
    ("ax_32_a_notice_says_more_than_it_has_to", "likewise"),
    ("ax_32_a_notice_tells_of_another_interaction", "likewise"),
    ("ax_32_a_notice_names_another_message", "likewise"),
];
