//! What the page looks like.

use std::fmt::Write as _;

use x811_client::agent::Question;
use x811_protocol::time::TimestampMs;

use x811_protocol::narration::{moment, usdc};
use x811_protocol::shown::Escaped;

fn document(body: &str) -> String {
    format!(
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\
         <title>x811 approvals</title></head><body>\n{body}</body></html>\n"
    )
}

/// What waits, oldest first, each with a form.
pub(super) fn page(questions: &[Question], now: TimestampMs) -> String {
    let mut body = "<h1>Approvals</h1>\n".to_owned();
    let waits = |question: &&Question| question.left_ms(now) > 0 && question.decision.is_none();
    let mut count = 0;
    for question in questions.iter().filter(waits) {
        count += 1;
        body.push_str(&shown(question, now));
    }
    if count == 0 {
        body.push_str("<p>Nothing waits for a person.</p>\n");
    }
    body.push_str("<p><a href=\"/\">Look again</a></p>\n");
    document(&body)
}

fn shown(question: &Question, now: TimestampMs) -> String {
    let left_s = question.left_ms(now) / 1_000;
    let mut html = format!(
        "<h2>{} for {}</h2>\n<p><strong>{left_s} s left</strong></p>\n<dl>\n",
        Escaped(usdc(question.total)),
        Escaped(&question.task_type)
    );
    let price = format!("{}, the rest is the protocol fee", usdc(question.price));
    let mut rows = vec![
        ("interaction", question.interaction.to_string()),
        ("provider", question.provider.to_string()),
        ("price", price),
        ("budget", usdc(question.max_budget)),
        ("takes", format!("{} s", question.estimated_time_s)),
        ("delivers", question.deliverables.join("; ")),
    ];
    rows.extend(question.terms.clone().map(|terms| ("terms", terms)));
    rows.push(("offer hash", question.offer_hash.to_string()));
    rows.push(("answer by", moment(question.answer_by_ms, now)));
    for (name, value) in rows {
        // Writing to a string does not fail.
        let _ = writeln!(html, "<dt>{name}</dt><dd>{}</dd>", Escaped(value));
    }
    let (id, hash) = (question.interaction, question.offer_hash);
    let total = question.total.as_micro_usdc();
    let _ = writeln!(
        html,
        "</dl>\n<form method=\"post\" action=\"/decide\">\
         <input type=\"hidden\" name=\"interaction\" value=\"{id}\">\
         <input type=\"hidden\" name=\"offer_hash\" value=\"{hash}\">\
         <input type=\"hidden\" name=\"total_micro_usdc\" value=\"{total}\">\
         <label>Why, for the provider to read <input name=\"reason\" maxlength=\"512\"></label>\
         <button name=\"answer\" value=\"approve\">Approve</button>\
         <button name=\"answer\" value=\"reject\">Reject</button></form>"
    );
    html
}

/// Behind the link, for browsers that stay there.
pub(super) fn door() -> String {
    document("<p><a href=\"/\">Approvals</a></p>\n")
}

pub(super) fn refusal(what: &str) -> String {
    document(&format!("<p>{}</p>\n", Escaped(what)))
}
