//! What a tool is.

use std::cell::RefCell;
use std::io::{self, Write};
use std::pin::Pin;
use std::rc::Rc;

use rmcp::handler::server::tool::schema_for_input;
use rmcp::model::{JsonObject, Tool as Description, ToolAnnotations};
use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::Desk;
use crate::failure::Failure;
use crate::output::{Out, Report};
use x811_protocol::shown::shorten;

/// A verb of the agent; the members are its arguments.
pub(super) trait Tool: DeserializeOwned + JsonSchema + 'static {
    /// What it is called.
    const NAME: &'static str;
    /// What it does and what that costs, for the model.
    const ABOUT: &'static str;
    /// Whether it changes nothing.
    const ONLY_READS: bool;

    /// Does it; what it has to say goes into `out`, as JSON.
    async fn call(self, desk: &Desk, out: &mut Out) -> Result<(), Failure>;
}

/// The JSON text of an answer, or why there is none.
pub(super) type Answer = Result<String, Failure>;

/// A call that goes on.
type Answering<'a> = Pin<Box<dyn Future<Output = Answer> + 'a>>;

/// A tool without its type.
pub(super) struct Entry {
    pub(super) description: Description,
    pub(super) call: for<'a> fn(JsonObject, &'a Desk) -> Answering<'a>,
}

impl Entry {
    pub(super) fn of<T: Tool>() -> Result<Entry, Failure> {
        let schema = schema_for_input::<T>().map_err(|error| Failure::internal(&error))?;
        let hints = ToolAnnotations::new().read_only(T::ONLY_READS);
        Ok(Entry {
            description: Description::new(T::NAME, T::ABOUT, schema).with_annotations(hints),
            call: |arguments, desk| Box::pin(answer::<T>(arguments, desk)),
        })
    }
}

async fn answer<T: Tool>(arguments: JsonObject, desk: &Desk) -> Answer {
    let tool: T = serde_json::from_value(Value::Object(arguments)).map_err(|error| {
        let text = shorten(&error.to_string());
        Failure::usage(&format!("the arguments of {} do not fit: {text}", T::NAME))
            .hint("tools/list says which members there are and what they hold")
    })?;
    let kept = CapturedText::default();
    let mut out = Out::new(true, Box::new(kept.clone()), Box::new(anstream::stderr()));
    tool.call(desk, &mut out).await?;
    let text = kept.0.take();
    String::from_utf8(text).map_err(|_| Failure::internal("the answer is no text"))
}

/// Keeps what a verb prints.
#[derive(Clone, Default)]
struct CapturedText(Rc<RefCell<Vec<u8>>>);

impl Write for CapturedText {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.borrow_mut().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// An answer that no verb prints.
#[derive(Serialize)]
#[serde(transparent)]
pub(super) struct Told(pub(super) Value);

impl Report for Told {
    fn print(&self, out: &mut Out) {
        out.line(&self.0);
    }
}
