//! A failed history as one short message. Shrinking runs hundreds that fail, and a panic of the
//! harness, or one inside of a task that nobody waits for, would print whole states each time.

use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Once;

/// Characters of a message that are kept.
const MOST_CHARS: usize = 4_000;

thread_local! {
    /// What panicked on this thread since a history began; `None` outside of one.
    static PANICKED: RefCell<Option<Vec<String>>> = const { RefCell::new(None) };
}

/// What `act` gives, or what panicked in it or in its tasks on this thread, the first alone.
pub(crate) fn quietly<T>(act: impl FnOnce() -> T) -> Result<T, String> {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let usual = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            let is_kept = PANICKED.with_borrow_mut(|panicked| {
                let Some(panicked) = panicked else {
                    return false;
                };
                let at = info
                    .location()
                    .map_or_else(String::new, ToString::to_string);
                let said = info.payload_as_str().unwrap_or("no message");
                let said: String = said.chars().take(MOST_CHARS).collect();
                panicked.push(format!("{at}: {said}"));
                true
            });
            if !is_kept {
                usual(info);
            }
        }));
    });
    PANICKED.set(Some(Vec::new()));
    let result = catch_unwind(AssertUnwindSafe(act));
    let panicked = PANICKED.take().unwrap_or_default();
    match (result, panicked.into_iter().next()) {
        (Ok(value), None) => Ok(value),
        (_, Some(first)) => Err(first),
        (Err(_), None) => Err("it panicked".to_owned()),
    }
}
