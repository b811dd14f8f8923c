//! Keys that were read or written lately on this thread: reading one takes a square root in the
//! field, writing one a long division by 58, and a log names the same few keys over and over.

use std::cell::RefCell;

use ed25519_dalek::VerifyingKey;

use super::MULTIBASE_LEN;

/// Places for keys; two keys of one place push each other out.
const PLACES: usize = 4_096;

/// A key's multibase form, in ASCII.
pub(super) type Text = [u8; MULTIBASE_LEN];

/// A key's bytes and their text.
type Written = ([u8; 32], Text);

thread_local! {
    static KNOWN: RefCell<Vec<Option<VerifyingKey>>> = const { RefCell::new(Vec::new()) };
    static WRITTEN: RefCell<Vec<Option<Written>>> = const { RefCell::new(Vec::new()) };
}

/// The key of these bytes, if it was read lately.
pub(super) fn find(bytes: &[u8; 32]) -> Option<VerifyingKey> {
    let key = KNOWN.with_borrow(|known| known.get(place(bytes)).copied().flatten())?;
    (key.as_bytes() == bytes).then_some(key)
}

/// Remembers a key that was read and found good.
pub(super) fn remember(key: VerifyingKey) {
    KNOWN.with_borrow_mut(|known| {
        if known.is_empty() {
            known.resize(PLACES, None);
        }
        known[place(key.as_bytes())] = Some(key);
    });
}

/// The text form of these bytes: what was written lately, or else what `write` makes of them.
pub(super) fn text<E>(
    bytes: &[u8; 32],
    write: impl FnOnce() -> Result<Text, E>,
) -> Result<Text, E> {
    let found = WRITTEN.with_borrow(|written| written.get(place(bytes)).copied().flatten());
    if let Some((_, text)) = found.filter(|(known, _)| known == bytes) {
        return Ok(text);
    }
    let text = write()?;
    WRITTEN.with_borrow_mut(|written| {
        if written.is_empty() {
            written.resize(PLACES, None);
        }
        written[place(bytes)] = Some((*bytes, text));
    });
    Ok(text)
}

/// Points are spread evenly already.
fn place(bytes: &[u8; 32]) -> usize {
    usize::from(u16::from_le_bytes([bytes[0], bytes[1]])) % PLACES
}
