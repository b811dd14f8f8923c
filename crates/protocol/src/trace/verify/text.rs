//! Texts and terms, held to the hashes beside them.

use serde_json::Value;

use super::{Counts, NotShown, TraceNode};
use crate::canonical::to_canonical;
use crate::digest::Digest;
use crate::trace::content::{LongText, ShownText, json_bytes};
use crate::trace::{BEGINNING_BYTES, MOST_TEXT_BYTES, TraceFault, shown_terms};

/// The most bytes of one character in JSON.
const MOST_CHAR_BYTES: usize = 6;

impl TraceNode<'_> {
    /// Holds a text to the hash in the node; one without a hash may only be blank.
    pub(super) fn text(
        &self,
        text: Option<&ShownText>,
        hash: Option<Digest>,
        counts: &mut Counts,
    ) -> Result<(), TraceFault> {
        let Some(text) = text else {
            counts.add(NotShown::Texts, usize::from(hash.is_some()));
            return Ok(());
        };
        self.text_form(text, counts)?;
        let holds = match (text, hash) {
            (ShownText::Whole(text), Some(hash)) => Digest::of(text.as_bytes()) == hash,
            (ShownText::Long(long), Some(hash)) => long.sha256 == hash,
            (ShownText::Whole(text), None) => is_blank(text),
            (ShownText::Long(long), None) => is_blank(&long.begins),
        };
        self.hold(holds, "a text is not the one of the hash beside it")
    }

    /// Holds a text that no hash is beside to the form that it has.
    pub(super) fn text_alone(
        &self,
        text: Option<&ShownText>,
        counts: &mut Counts,
    ) -> Result<(), TraceFault> {
        let Some(text) = text else {
            return Ok(());
        };
        if let ShownText::Whole(_) = text {
            counts.add(NotShown::Texts, 1);
        }
        self.text_form(text, counts)
    }

    fn text_form(&self, text: &ShownText, counts: &mut Counts) -> Result<(), TraceFault> {
        let fits = match text {
            ShownText::Whole(text) => json_bytes(text) <= MOST_TEXT_BYTES,
            ShownText::Long(LongText { begins, .. }) => {
                counts.add(NotShown::Texts, 1);
                let least = BEGINNING_BYTES - MOST_CHAR_BYTES + 1;
                (least..=BEGINNING_BYTES).contains(&json_bytes(begins))
            }
        };
        self.hold(fits, "a text is not shown as texts of its length are")
    }

    /// Holds terms to their hash, and to what a node shows of terms.
    pub(super) fn terms(
        &self,
        terms: Option<&Value>,
        hash: Digest,
        counts: &mut Counts,
    ) -> Result<(), TraceFault> {
        let Some(terms) = terms else {
            counts.add(NotShown::Terms, 1);
            return Ok(());
        };
        self.hold(
            Digest::of(&to_canonical(terms)) == hash,
            "its terms are not those of the hash beside them",
        )?;
        self.hold(
            shown_terms(Some(terms), hash).is_some(),
            "it shows terms that are too long or too deep",
        )
    }
}

fn is_blank(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_whitespace())
}
