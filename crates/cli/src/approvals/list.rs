//! `x811 approvals list`.

use serde::Serialize;
use x811_client::agent::Question;
use x811_protocol::time::TimestampMs;

use super::approvals;
use crate::context::Context;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::{Out, Report};
use x811_protocol::shown::shorten;

pub(super) fn run(context: &Context, out: &mut Out) -> Result<Exit, Failure> {
    let now = context.now();
    let mut questions = approvals(context)?.list()?;
    questions.retain(|question| question.left_ms(now) > 0);
    out.report(&Waiting { questions, now });
    Ok(Exit::Ok)
}

#[derive(Serialize)]
struct Waiting {
    questions: Vec<Question>,
    #[serde(skip)]
    now: TimestampMs,
}

impl Report for Waiting {
    fn print(&self, out: &mut Out) {
        if self.questions.is_empty() {
            out.line("nothing waits for a person");
            return;
        }
        let rows = self.questions.iter().map(|question| {
            vec![
                question.interaction.to_string(),
                shorten(&question.task_type),
                question.total.to_usdc_decimal(),
                format!("{} s", question.left_ms(self.now) / 1_000),
                match &question.decision {
                    Some(_) => "answered".to_owned(),
                    None => String::new(),
                },
            ]
        });
        let rows: Vec<Vec<String>> = rows.collect();
        out.table(&["interaction", "task", "USDC", "left", ""], &rows);
    }
}
