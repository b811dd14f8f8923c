//! The queries of lists, one form for each kind. A query is checked and described by its form; what it asks for is
//! read as a `ListRequest`, which is the same for all.

#![expect(dead_code, reason = "the members are read as those of a `ListRequest`")]

use super::lists::MAX_ROWS;
use crate::extract::{Bounded, MAX_INTEGER, OfAgent};
use serde::Deserialize;
use utoipa::IntoParams;

/// What may be asked of negotiations.
#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct OfNegotiations {
    /// UUID of the DID whose negotiations are listed; the reader's own without it, of an auditor all
    #[param(value_type = Option<String>, pattern = "^[0-9a-f]{8}-[0-9a-f]{4}-[47][0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$")]
    party: Option<OfAgent>,
    /// Negotiations behind this one, `neg-` and a UUID; from the first without it
    #[param(pattern = "^neg-[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$")]
    after: Option<String>,
    /// How many at most; 100 without it
    #[param(value_type = Option<u64>, minimum = 1, maximum = 100)]
    limit: Option<Bounded<1, MAX_ROWS>>,
    /// The answer reflects at least this record
    #[param(value_type = Option<u64>, maximum = 9_007_199_254_740_991_u64)]
    min_position: Option<Bounded<0, MAX_INTEGER>>,
}

/// What may be asked of sessions.
#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct OfSessions {
    /// UUID of the DID whose they are; the reader's own without it, of an auditor all
    #[param(value_type = Option<String>, pattern = "^[0-9a-f]{8}-[0-9a-f]{4}-[47][0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$")]
    party: Option<OfAgent>,
    /// Those behind this one; from the first without it
    #[param(pattern = "^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$")]
    after: Option<String>,
    /// How many at most; 100 without it
    #[param(value_type = Option<u64>, minimum = 1, maximum = 100)]
    limit: Option<Bounded<1, MAX_ROWS>>,
    /// The answer reflects at least this record
    #[param(value_type = Option<u64>, maximum = 9_007_199_254_740_991_u64)]
    min_position: Option<Bounded<0, MAX_INTEGER>>,
}

/// What may be asked of agreements.
#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct OfAgreements {
    /// UUID of the DID whose they are; the reader's own without it, of an auditor all
    #[param(value_type = Option<String>, pattern = "^[0-9a-f]{8}-[0-9a-f]{4}-[47][0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$")]
    party: Option<OfAgent>,
    /// UUID of the DID who uses the capability
    #[param(value_type = Option<String>, pattern = "^[0-9a-f]{8}-[0-9a-f]{4}-[47][0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$")]
    consumer: Option<OfAgent>,
    /// UUID of the DID who provides it
    #[param(value_type = Option<String>, pattern = "^[0-9a-f]{8}-[0-9a-f]{4}-[47][0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$")]
    provider: Option<OfAgent>,
    /// The type of the capability
    r#type: Option<String>,
    /// Only those in force as of this record, each with the revision that was
    #[param(value_type = Option<u64>, maximum = 9_007_199_254_740_991_u64)]
    as_of: Option<Bounded<0, MAX_INTEGER>>,
    /// Those behind this one; from the first without it
    #[param(pattern = "^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$")]
    after: Option<String>,
    /// How many at most; 100 without it
    #[param(value_type = Option<u64>, minimum = 1, maximum = 100)]
    limit: Option<Bounded<1, MAX_ROWS>>,
    /// The answer reflects at least this record
    #[param(value_type = Option<u64>, maximum = 9_007_199_254_740_991_u64)]
    min_position: Option<Bounded<0, MAX_INTEGER>>,
}

/// What may be asked of rounds.
#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct OfRounds {
    /// `me`, or the UUID of the DID whose rounds are listed; the reader's own without it, of an auditor all
    #[param(
        pattern = "^(me|[0-9a-f]{8}-[0-9a-f]{4}-[47][0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12})$"
    )]
    member: Option<String>,
    /// Rounds behind this one; from the first without it
    #[param(pattern = "^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$")]
    after: Option<String>,
    /// How many at most; 100 without it
    #[param(value_type = Option<u64>, minimum = 1, maximum = 100)]
    limit: Option<Bounded<1, MAX_ROWS>>,
    /// The answer reflects at least this record
    #[param(value_type = Option<u64>, maximum = 9_007_199_254_740_991_u64)]
    min_position: Option<Bounded<0, MAX_INTEGER>>,
}
