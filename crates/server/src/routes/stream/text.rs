//! The text of server-sent events (WHATWG HTML, section 9.2).
//!
//! A blank line ends an event. Clients such as httpx-sse also dispatch an empty message for a blank line
//! after a `retry` field, and for every blank line once an id was sent. So a blank line is written after
//! events alone, never after a comment; axum's `Event` writes one after everything.

use axum::body::Bytes;

/// The first bytes of a stream: after how many milliseconds a browser connects again, and a comment.
pub(super) const OPENING: &str = "retry: 1000\n: begun\n";

/// One line that every client ignores.
pub(super) fn comment(text: &str) -> Bytes {
    format!(": {text}\n").into()
}

/// A whole event, whose data is one line.
pub(super) fn event(id: Option<&str>, name: &str, data: &str) -> Bytes {
    debug_assert!(!data.contains(['\n', '\r']), "{data}");
    let id = id.map(|id| format!("id: {id}\n")).unwrap_or_default();
    format!("{id}event: {name}\ndata: {data}\n\n").into()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What httpx-sse 0.4 dispatches: a message for each blank line at which it knows an event, data, an
    /// id or a retry time; the id is kept.
    fn dispatched(text: &str) -> Vec<(String, String)> {
        let mut messages = Vec::new();
        let (mut name, mut data) = (String::new(), String::new());
        let (mut has_id, mut has_retry) = (false, false);
        for line in text.lines() {
            match line.split_once(": ").unwrap_or((line, "")) {
                ("event", value) => value.clone_into(&mut name),
                ("data", value) => value.clone_into(&mut data),
                ("id", _) => has_id = true,
                ("retry", _) => has_retry = true,
                ("", "") if line.is_empty() => {
                    let has_fields = !name.is_empty() || !data.is_empty();
                    if has_fields || has_id || has_retry {
                        messages.push((std::mem::take(&mut name), std::mem::take(&mut data)));
                    }
                    has_retry = false;
                }
                _ => {}
            }
        }
        messages
    }

    #[test]
    fn ae_130_and_ae_131_opening_and_comments_dispatch_nothing() {
        let pieces = [
            OPENING.as_bytes().to_vec(),
            comment("keepalive").to_vec(),
            event(None, "place", "{}").to_vec(),
            event(Some("7"), "message", "[1]").to_vec(),
            comment("keepalive").to_vec(),
            comment("over: the ledger stops").to_vec(),
        ];
        let text = String::from_utf8(pieces.concat()).unwrap();
        let message = |name: &str, data: &str| (name.to_owned(), data.to_owned());
        let due = [message("place", "{}"), message("message", "[1]")];
        assert_eq!(dispatched(&text), due);
        assert!(text.starts_with("retry: 1000\n: begun\n: keepalive\nevent: place\n"));
        assert!(text.ends_with("\n\n: keepalive\n: over: the ledger stops\n"));
    }
}
