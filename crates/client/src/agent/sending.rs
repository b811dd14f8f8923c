//! The outbox at work: what is sealed leaves, and what comes back decides what becomes of it.

use x811_protocol::code::Code;
use x811_protocol::interaction::StateName;
use x811_protocol::time::TimestampMs;

use super::case::Case;
use super::engine::Engine;
use super::money::PaymentMove;
use super::notice::What;
use super::outbox::{Act, Entry, Fate};
use super::proof::ProofDue;
use super::state::{Outcome, State, StateError};
use super::world::{Arrival, World};
use crate::http::Accepted;

impl<W: World> Engine<W> {
    /// Sends what is due in the outbox, oldest first.
    pub(super) async fn send_due(&mut self) -> Result<(), StateError> {
        let due: Vec<_> = self
            .state
            .outbox
            .iter()
            .filter(|entry| entry.not_before_ms <= self.world.now())
            .map(|entry| entry.envelope_id)
            .collect();
        if due.is_empty() {
            return Ok(());
        }
        // Whatever is in memory alone is written before anything leaves.
        self.save()?;
        for id in due {
            let place = |state: &State| {
                let mut outbox = state.outbox.iter();
                outbox.position(|entry| entry.envelope_id == id)
            };
            if let Some(place) = place(&self.state) {
                self.send_one(place).await?;
            }
        }
        Ok(())
    }

    async fn send_one(&mut self, place: usize) -> Result<(), StateError> {
        if self.state.outbox[place].transfer.is_some() && !self.transfer_first(place).await? {
            return Ok(());
        }
        let entry = &self.state.outbox[place];
        let asks = entry.asks_first(self.world.now());
        let known = match asks {
            true => Some(entry.after_lookup(self.world.lookup(entry.envelope_id).await)),
            false => None,
        };
        // Not known, and not known to be too old: the same bytes again.
        let fate = match known.filter(|fate| entry.is_doubtful || *fate != Fate::Ask) {
            Some(fate) => fate,
            None => entry.after(self.world.send(entry).await),
        };
        self.apply(place, fate)?;
        self.save()
    }

    fn apply(&mut self, place: usize, fate: Fate) -> Result<(), StateError> {
        match fate {
            Fate::Delivered(accepted) => self.delivered(place, &accepted),
            Fate::Refused { code, message } => self.refused(place, code, &message),
            Fate::Dead => {
                let entry = self.state.settle(place, Outcome::Dead);
                let what = entry.act.as_str();
                self.alarm(
                    Some(entry.interaction),
                    format!("the {what} was never accepted, and is too old to be"),
                );
                self.declared_in_vain(&entry, "it was never accepted");
                self.unopened(&entry);
            }
            Fate::Again | Fate::Ask => {
                let now = self.world.now();
                let entry = &mut self.state.outbox[place];
                entry.is_doubtful |= fate == Fate::Ask;
                entry.not_before_ms = entry.next_try(now);
                entry.tries = entry.tries.saturating_add(1);
            }
        }
        Ok(())
    }

    fn delivered(&mut self, place: usize, accepted: &Accepted) {
        let now = self.world.now();
        let entry = self.state.settle(place, Outcome::Delivered);
        let what = format!("{}, position {}", entry.act.as_str(), accepted.position);
        self.tell(Some(entry.interaction), What::Said, what);
        if matches!(entry.act, Act::Accept | Act::Reject) {
            // A question that stays behind is answered, and goes with its interaction.
            let _ = self.world.forget_question(entry.interaction);
        }
        if entry.act.is_proven() && accepted.envelope_id == entry.envelope_id {
            self.state.proofs.push(ProofDue {
                interaction: entry.interaction,
                act: entry.act,
                envelope_id: entry.envelope_id,
                digest: entry.digest,
                position: accepted.position,
                record_hash: accepted.record_hash,
                since_ms: now,
                try_at_ms: now,
                is_alarmed: false,
            });
        }
        if let Some(opened) = accepted.interaction_id
            && opened != entry.interaction
        {
            // An equal REQUEST had been accepted before (AX-12).
            self.state.tasks.remove(&entry.interaction);
            self.state.touch(opened);
            let mut keys = self.state.requests.values_mut();
            if let Some(sealed) = keys.find(|id| **id == entry.interaction) {
                *sealed = opened;
            }
        }
        if let Some(task) = self.state.tasks.get_mut(&entry.interaction) {
            task.transfer = entry.transfer;
        }
    }

    fn refused(&mut self, place: usize, code: Code, message: &str) {
        let entry = self.state.settle(place, Outcome::Refused(code));
        let what = entry.act.as_str();
        self.alarm(
            Some(entry.interaction),
            format!("the {what} was refused: {code} {message}"),
        );
        self.declared_in_vain(&entry, code.as_str());
        self.unopened(&entry);
    }

    /// A REQUEST that opened nothing: the next start sends its order again.
    fn unopened(&mut self, entry: &Entry) {
        if entry.act == Act::Request {
            self.state.tasks.remove(&entry.interaction);
            self.state.requests.retain(|_, id| *id != entry.interaction);
        }
    }

    /// A PAYMENT that leaves the outbox without being accepted, when its transfer may have left.
    fn declared_in_vain(&mut self, entry: &Entry, why: &str) {
        let Some(transfer) = &entry.transfer else {
            return;
        };
        if transfer.may_have_left || transfer.signed.is_none() {
            let hash = transfer.tx_hash;
            self.alarm(
                Some(entry.interaction),
                format!(
                    "transaction {hash} may have paid, and its PAYMENT was not accepted ({why}): \
                     settle with the provider"
                ),
            );
            let task = self.state.tasks.entry(entry.interaction).or_default();
            task.transfer = Some(transfer.clone());
        }
    }

    /// Moves the transfer of a PAYMENT on; whether the PAYMENT is to be sent now.
    async fn transfer_first(&mut self, place: usize) -> Result<bool, StateError> {
        let id = self.state.outbox[place].interaction;
        loop {
            let deadline = match self.world.case(id).await {
                Ok(case) => end_of_payment(&case),
                // Without knowing the time left nothing leaves.
                Err(_) => return self.later(place),
            };
            let now = self.world.now();
            let Some(transfer) = &mut self.state.outbox[place].transfer else {
                return Ok(true);
            };
            match transfer.next(deadline, now) {
                PaymentMove::Declare => return Ok(true),
                PaymentMove::Mark => {
                    transfer.may_have_left = true;
                    self.save()?;
                }
                PaymentMove::Abandon => {
                    let _ = self.state.settle(place, Outcome::Abandoned);
                    self.alarm(
                        Some(id),
                        "nothing was paid: less than 20 s of the payment window were left".into(),
                    );
                    self.save()?;
                    return Ok(false);
                }
                PaymentMove::Broadcast => {
                    let sent_hash = transfer.tx_hash;
                    let sent = self.world.broadcast(&transfer.clone()).await;
                    match sent {
                        Ok(Arrival::Waiting) => self.arrived(place)?,
                        Ok(Arrival::Mined { tx_hash }) if tx_hash == sent_hash => {
                            self.arrived(place)?;
                        }
                        // The PAYMENT names a transaction that does not pay; the next move looks for
                        // the one that did.
                        Ok(Arrival::Mined { .. } | Arrival::Lost) => {
                            let _ = self.state.settle(place, Outcome::Dead);
                            self.save()?;
                            return Ok(false);
                        }
                        Err(fault) => {
                            self.alarm(Some(id), fault.text);
                            return self.later(place);
                        }
                    }
                }
            }
        }
    }

    fn arrived(&mut self, place: usize) -> Result<(), StateError> {
        if let Some(transfer) = &mut self.state.outbox[place].transfer {
            transfer.has_arrived = true;
        }
        self.save()
    }

    fn later(&mut self, place: usize) -> Result<bool, StateError> {
        self.apply(place, Fate::Again)?;
        self.save()?;
        Ok(false)
    }
}

/// Until when a PAYMENT is awaited; `None` once one is recorded, the beginning of time where none
/// is awaited (any more).
fn end_of_payment(case: &Case) -> Option<TimestampMs> {
    let never = TimestampMs::new(0);
    match (case.state == StateName::Verified, case.payments.is_empty()) {
        (true, false) => None,
        (true, true) => Some(case.deadline_at_ms.unwrap_or(never)),
        (false, _) => Some(never),
    }
}
