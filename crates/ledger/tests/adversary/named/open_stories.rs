//! Stories that nobody finds yet.

/// By the names of their tests, and why. One that is found now has to leave.
pub(crate) const OPEN_STORIES: &[(&str, &str)] = &[
    (
        "lc_5_one_transaction_has_two_amounts",
        "what was seen, and seen again behind a reorganisation, is not held to each other",
    ),
    (
        "lc_5_heads_go_down_while_time_goes_on",
        "the heads of looks are not held to each other",
    ),
    (
        "lc_5_its_block_is_higher_than_any_head_of_its_time",
        "a height is not held to the heads before and behind",
    ),
    (
        "lc_5_it_is_confirmed_at_a_depth_that_no_time_was_for",
        "a depth is not held to the times of block and record",
    ),
    (
        "lc_5_a_look_says_a_depth_of_what_is_refuted_that_its_head_has_not",
        "nothing reads the depth of what is refuted",
    ),
];
