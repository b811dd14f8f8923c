//! `x811 approvals show`.

use serde::Serialize;
use x811_client::agent::Question;
use x811_protocol::id::InteractionId;
use x811_protocol::time::TimestampMs;

use super::{approvals, question};
use crate::context::Context;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::{Out, Report, Tone};
use x811_protocol::narration::{moment, usdc};
use x811_protocol::shown::shorten;

pub(super) fn run(
    interaction: InteractionId,
    context: &Context,
    out: &mut Out,
) -> Result<Exit, Failure> {
    let question = question(&approvals(context)?, interaction)?;
    out.report(&Shown {
        question,
        now: context.now(),
    });
    Ok(Exit::Ok)
}

#[derive(Serialize)]
#[serde(transparent)]
struct Shown {
    question: Question,
    #[serde(skip)]
    now: TimestampMs,
}

impl Report for Shown {
    fn print(&self, out: &mut Out) {
        let question = &self.question;
        let total = usdc(question.total);
        out.heading(
            Tone::Plain,
            format_args!("{total} for {}", shorten(&question.task_type)),
        );
        let mut fields = vec![
            ("provider", question.provider.to_string()),
            (
                "price",
                format!("{}, the rest is the protocol fee", usdc(question.price)),
            ),
            ("budget", usdc(question.max_budget)),
            ("takes", format!("{} s", question.estimated_time_s)),
            ("delivers", shorten(&question.deliverables.join("; "))),
        ];
        fields.extend(
            question
                .terms
                .as_ref()
                .map(|terms| ("terms", shorten(terms))),
        );
        fields.push(("offer hash", question.offer_hash.to_string()));
        fields.push(("answer by", moment(question.answer_by_ms, self.now)));
        let id = question.interaction;
        fields.push(match &question.decision {
            Some(decision) => ("answered", moment(decision.at_ms, self.now)),
            None => ("next", format!("x811 approvals approve {id}, or reject")),
        });
        out.fields(&fields);
    }
}
