//! `x811 escalations list`.

use crate::context::Context;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::Out;
use crate::rounds::{Member, Rounds};

/// Prints what waits.
pub(super) async fn run(context: &Context, out: &mut Out) -> Result<Exit, Failure> {
    let member = Member::open(context).await?;
    let rounds = member.client.escalations().await?;
    out.report(&Rounds {
        me: member.identity.did,
        now: context.now(),
        rounds,
    });
    Ok(Exit::Ok)
}
