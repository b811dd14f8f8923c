//! Who is told what of a round: its members, humans who are named and asked, auditors. Before it is decided
//! nobody reads what others voted (round.md, "Messages and facts").

use super::subject::{humans, may_read, may_read_votes};
use crate::app::App;
use crate::error::ApiError;
use crate::signed_read::Reader;
use crate::stored;
use x811_ledger::clock::Clock;
use x811_ledger::port::ReadModel as _;
use x811_protocol::code::Code;
use x811_protocol::did::Did;
use x811_protocol::event::{Event, NoticeIssued};
use x811_protocol::facts::{ConsensusFacts, Facts};
use x811_protocol::refusal::{Kind, Refusal};
use x811_protocol::round;
use x811_protocol::stream::{Stream, Subject};
use x811_world::row::SubjectRow;

/// Whether a notice in that stream is for that agent too, which it is not addressed to: members of a round
/// get those of the round, but for what was noticed; that, and escalations, the humans get who are named.
pub(super) async fn is_told<C: Clock>(
    app: &App<C>,
    notice: &NoticeIssued,
    stream: &str,
    agent: Did,
) -> Result<bool, ApiError> {
    let Some(subject) = round_of(stream) else {
        return Ok(false);
    };
    let cause = stored::record(app, notice.cause).await?;
    let Some(news) = round::news(&stored::event(&cause)?) else {
        return Ok(false);
    };
    if round::is_for_humans(news) && humans(app).contains(&agent) {
        return Ok(true);
    }
    let row = app.ledger.read_model().subject(subject).await?;
    let is_member = |row: SubjectRow| row.members.contains(&agent);
    Ok(round::is_for_members(news) && row.is_some_and(is_member))
}

/// The round whose stream has that name.
fn round_of(stream: &str) -> Option<Subject> {
    match stream.parse() {
        Ok(Stream::Of(subject @ Subject::Round(_))) => Some(subject),
        Ok(_) | Err(_) => None,
    }
}

/// Whether it is said in a round that is theirs, and is no vote that they may not read.
pub(super) async fn may_read_message<C: Clock>(
    app: &App<C>,
    reader: &Reader,
    (event, position): (&Event, u64),
    stream: &str,
) -> Result<bool, ApiError> {
    let Some(subject) = round_of(stream) else {
        return Ok(false);
    };
    // Rows come a moment later than records.
    app.rows_reflect(position).await?;
    if let (Event::NoticeIssued(notice), Some(agent)) = (event, reader.alone())
        && is_told(app, notice, stream, agent).await?
    {
        return Ok(true);
    }
    // Notices stand in the history too, which whoever reads the round has.
    let row = app.ledger.read_model().subject(subject).await?;
    let row = row.filter(|row| may_read(app, reader, row));
    Ok(row.is_some_and(|row| !is_vote(event) || may_read_votes(app, reader, &row)))
}

/// Whether the event says what somebody voted, or committed to.
pub(super) fn is_vote(event: &Event) -> bool {
    let Event::EnvelopeAccepted(accepted) = event else {
        return false;
    };
    matches!(
        accepted.facts,
        Facts::Consensus(ConsensusFacts::Vote(_) | ConsensusFacts::Reveal(_))
    )
}

/// 422 for what would show votes.
pub(super) fn still_open() -> ApiError {
    let message = "the round, or one that it names, is open, and votes are shown once it is decided: ask again then";
    Refusal::new(Code::TooEarly, Kind::State, message).into()
}
