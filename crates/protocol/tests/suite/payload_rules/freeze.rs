//! The refusals of the tables, byte for byte, for `scripts/freeze.sh` to compare.

use serde_json::{Value, json};
use std::fs::OpenOptions;
use std::io::Write as _;
use x811_protocol::canonical::to_canonical;
use x811_protocol::digest::Digest;
use x811_protocol::refusal::Refusal;

/// The longest payload that is written itself and not as its hash, in bytes.
const SHOWN_BYTES: usize = 2_048;

/// Appends the refusal of `payload` to the file `refusals` of the folder that `X811_FREEZE` names. Tests run in
/// processes of their own, in any order; the script sorts the lines.
#[expect(
    clippy::disallowed_methods,
    reason = "a test has no command line of its own"
)]
pub(crate) fn refusal(kind: &str, payload: &Value, refusal: Option<&Refusal>) {
    let (Some(refusal), Ok(folder)) = (refusal, std::env::var("X811_FREEZE")) else {
        return;
    };
    let payload = match to_canonical(payload) {
        long if long.len() > SHOWN_BYTES => json!(Digest::of(&long)),
        _ => payload.clone(),
    };
    let line = json!({
        "type": kind, "payload": payload, "code": refusal.code.as_str(),
        "status": refusal.http_status(), "message": refusal.message,
        "details": refusal.details, "related": refusal.related,
    });
    let path = std::path::Path::new(&folder).join("refusals");
    let mut file = OpenOptions::new().create(true).append(true).open(path);
    let file = file.as_mut().unwrap();
    file.write_all(format!("{line}\n").as_bytes()).unwrap();
}
