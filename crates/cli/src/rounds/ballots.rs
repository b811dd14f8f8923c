//! Sealed votes that are kept in the home until they are revealed.

use x811_client::compose::Ballot;
use x811_client::home::HomeError;
use x811_client::round::Secret;
use x811_protocol::id::RoundId;

use super::Member;
use crate::context::Context;
use crate::failure::Failure;

/// The sealed vote, on the disk before its commitment is sent. One that was kept before is sent again.
pub(crate) fn keep(
    context: &Context,
    member: &Member<'_>,
    round: RoundId,
    ballot: Ballot,
) -> Result<Secret, Failure> {
    let name = &member.identity.name;
    let drawn = Secret::draw(round, ballot, context.now(), &*context.entropy)?;
    let file =
        serde_json::to_vec_pretty(&drawn).map_err(|error| Failure::internal(&error.to_string()))?;
    match context.home.add_ballot(name, round, &file) {
        Ok(()) => Ok(drawn),
        Err(HomeError::Exists { .. }) => {
            let before = read(context, member, round)?;
            if before.ballot == drawn.ballot {
                return Ok(before);
            }
            let path = context.home.ballot_path(name, round);
            Err(Failure::local(
                "voted",
                format!(
                    "{} has another vote of yours in this round, and a second one would be kept as \
                     evidence against you",
                    path.display()
                ),
            )
            .hint("reveal that one when the time for votes is over"))
        }
        Err(error) => Err(error.into()),
    }
}

/// The sealed vote that is kept for a round.
pub(super) fn read(
    context: &Context,
    member: &Member<'_>,
    round: RoundId,
) -> Result<Secret, Failure> {
    find(context, member, round)?.ok_or_else(|| {
        let path = context.home.ballot_path(&member.identity.name, round);
        Failure::local(
            "no_ballot",
            format!("{} does not exist: you have sealed no vote", path.display()),
        )
        .hint("vote with `x811 rounds vote`, from the home that you reveal from")
    })
}

/// The same, if there is one.
pub(crate) fn find(
    context: &Context,
    member: &Member<'_>,
    round: RoundId,
) -> Result<Option<Secret>, Failure> {
    let name = &member.identity.name;
    let Some(bytes) = context.home.ballot(name, round)? else {
        return Ok(None);
    };
    let read = serde_json::from_slice(&bytes).map_err(|error| {
        let path = context.home.ballot_path(name, round);
        Failure::local("ballot", format!("{} is damaged: {error}", path.display()))
            .hint("restore it from a copy: without it the vote cannot be revealed")
    });
    read.map(Some)
}
