//! The state of an interaction in the form that is hashed, RFC 8785. It is written after every record,
//! and most of it is what was agreed, which does not change: that part is written once.

use serde::Serialize;
use x811_eventlog::{RecordError, write_canonical};
use x811_protocol::interaction::{Deal, State};

/// Appends the form of `state`: the very bytes that [`write_canonical`] makes of it.
pub(super) fn write_state(out: &mut Vec<u8>, state: &State) -> Result<(), RecordError> {
    let start = out.len();
    match state {
        State::Accepted { deadline, deal } => {
            let mut members = Members::open(out, "Accepted");
            members.add("deadline", deadline)?;
            members.add_deal(deal)?;
            members.close();
        }
        State::Delivered {
            deadline,
            deal,
            delivery,
        } => {
            let mut members = Members::open(out, "Delivered");
            members.add("deadline", deadline)?;
            members.add_deal(deal)?;
            members.add("delivery", delivery)?;
            members.close();
        }
        State::Verified {
            deal,
            delivery,
            settlement,
            verification,
        } => {
            let mut members = Members::open(out, "Verified");
            members.add_deal(deal)?;
            members.add("delivery", delivery)?;
            members.add("settlement", settlement)?;
            members.add("verification", verification)?;
            members.close();
        }
        State::Completed {
            aftermath,
            completion,
            deal,
            opener,
        } => {
            let mut members = Members::open(out, "Completed");
            members.add("aftermath", aftermath)?;
            members.add("completion", completion)?;
            members.add_deal(deal)?;
            members.add("opener", opener)?;
            members.close();
        }
        State::Pending { .. }
        | State::Offered { .. }
        | State::Expired(_)
        | State::Rejected(_)
        | State::Disputed(_)
        | State::Failed(_) => write_canonical(out, state)?,
    }
    debug_assert!(is_form_of(&out[start..], state), "{state:?}");
    Ok(())
}

fn is_form_of(bytes: &[u8], state: &State) -> bool {
    let mut whole = Vec::new();
    write_canonical(&mut whole, state).is_ok() && whole == bytes
}

/// The members of a variant, in order of their names.
struct Members<'a>(&'a mut Vec<u8>);

impl<'a> Members<'a> {
    fn open(out: &'a mut Vec<u8>, variant: &str) -> Members<'a> {
        out.extend_from_slice(b"{\"");
        out.extend_from_slice(variant.as_bytes());
        out.extend_from_slice(b"\":{");
        Members(out)
    }

    fn add(&mut self, name: &str, value: &impl Serialize) -> Result<(), RecordError> {
        self.name(name);
        write_canonical(self.0, value)
    }

    fn add_deal(&mut self, deal: &Deal) -> Result<(), RecordError> {
        self.name("deal");
        let bytes = deal.written.or_write(|| {
            let mut bytes = Vec::with_capacity(1_024);
            write_canonical(&mut bytes, deal).map(|()| bytes)
        })?;
        self.0.extend_from_slice(bytes);
        Ok(())
    }

    fn name(&mut self, name: &str) {
        if !self.0.ends_with(b"{") {
            self.0.push(b',');
        }
        self.0.push(b'"');
        self.0.extend_from_slice(name.as_bytes());
        self.0.extend_from_slice(b"\":");
    }

    fn close(self) {
        self.0.extend_from_slice(b"}}");
    }
}
