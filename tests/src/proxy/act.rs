//! What a rule sees, and what it can do.

use std::time::Duration;

use serde_json::{Value, json};

/// One call, alone or in a batch.
#[derive(Debug, Clone, Copy)]
pub struct Call<'a> {
    /// Its method, such as `eth_getLogs`.
    pub method: &'a str,
    /// Its parameters, as JSON.
    pub params: &'a Value,
    /// How many calls of this method there were, this one included.
    pub nth: u64,
    /// Calls in its request; 1 without a batch.
    pub batch: usize,
}

impl Call<'_> {
    /// Whether a parameter is, or holds, this text, such as a hash.
    #[must_use]
    pub fn names(&self, text: impl ToString) -> bool {
        self.params.to_string().contains(&text.to_string())
    }
}

/// What becomes of a call. [`Act::Hang`], [`Act::Close`], [`Act::Status`], [`Act::Page`], [`Act::Cut`] and
/// [`Act::Responses`] meet the whole request that it is in, the others the call alone.
pub enum Act {
    /// The node's answer.
    Pass,
    /// The node's answer, later.
    Delay(Duration),
    /// No answer, and the connection stays open.
    Hang,
    /// The connection is closed without an answer.
    Close,
    /// An HTTP status, with `Retry-After` in seconds.
    Status(u16, Option<u64>),
    /// A web page with an HTTP status, as gateways send it.
    Page(u16),
    /// Half of the answer's JSON.
    Cut,
    /// A JSON-RPC error: code and message.
    Error(i64, &'static str),
    /// This result in place of the node's own.
    Replace(Value),
    /// A result made from the node's own, which is null where it has none.
    Edit(Change<Value>),
    /// Other responses to the request, ids and order included; one where it is no batch.
    Responses(Change<Vec<Value>>),
}

/// A change that is made once.
type Change<T> = Box<dyn FnOnce(&mut T) + Send + Sync>;

impl Act {
    /// [`Act::Edit`] with `change`.
    pub fn edit(change: impl FnOnce(&mut Value) + Send + Sync + 'static) -> Act {
        Act::Edit(Box::new(change))
    }

    /// [`Act::Responses`] with `change`.
    pub fn responses(change: impl FnOnce(&mut Vec<Value>) + Send + Sync + 'static) -> Act {
        Act::Responses(Box::new(change))
    }

    /// The result null: the node does not know it.
    #[must_use]
    pub fn null() -> Act {
        Act::Replace(Value::Null)
    }

    /// Changes the response to the call.
    pub(super) fn spoil(self, answer: &mut Value) {
        match self {
            Act::Pass
            | Act::Delay(_)
            | Act::Hang
            | Act::Close
            | Act::Status(..)
            | Act::Page(_)
            | Act::Cut
            | Act::Responses(_) => {}
            Act::Error(code, message) => super::refuse(answer, code, message),
            Act::Replace(result) => {
                *answer = json!({ "jsonrpc": "2.0", "id": answer["id"], "result": result });
            }
            Act::Edit(change) => change(&mut answer["result"]),
        }
    }
}
